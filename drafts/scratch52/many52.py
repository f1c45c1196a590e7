"""Cells of the draft in one process, for several books. MANY=loop|real"""
import os, sys, time, re, traceback, resource, ast, contextlib
mode = sys.argv[1]
root = "/tmp/own52/t_many_" + mode
os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", MINDSCAPE_FIGURES=root + "/figures")
import subprocess
from pathlib import Path
Path(root, "notebooks").mkdir(parents=True, exist_ok=True)
subprocess.run([sys.executable, "/work/main/drafts/nb.py", "52", "--out", root + "/notebooks"], check=True)
import shutil
if Path(root,"lib").is_symlink(): Path(root,"lib").unlink()
shutil.rmtree(root+"/lib",ignore_errors=True); shutil.copytree("/work/main/lib", root+"/lib", ignore=shutil.ignore_patterns("__pycache__"))
for f in ("data", "pyproject.toml"):
    if not Path(root, f).exists(): Path(root, f).symlink_to("/work/main/" + f)
import nbformat
nb = nbformat.read(root + "/notebooks/52_your_own_book.ipynb", 4)
os.chdir(root + "/notebooks"); sys.path[:0] = [root + "/lib", "/work/main/tests"]
src = Path("/tmp/loop52.py").read_text().split("with Scripted")[0]
exec(src)
EXTRA = "what the notebook costs without these"
SKIP = ("def first_hits", "from mindscape import paper", "my_calls", "def quoted", "fig, ax = plots.subplots(height=3.2)") 
def go(label, all_=0, **params):
    print(f"\n=================== {label} {params}", flush=True)
    began = time.process_time(); ns = {"__name__": "__main__"}
    for cell in nb.cells:
        if cell.cell_type != "code": continue
        s = cell.source
        if any(x in s for x in SKIP) and not all_: continue
        if "parameters" in cell.metadata.get("tags", []):
            for k, v in params.items(): s = re.sub(rf"(?m)^{k} = [^#\n]*", lambda m: f"{k} = {v!r}  ", s)
        try:
            tree = ast.parse(s); last = None
            if tree.body and isinstance(tree.body[-1], ast.Expr): last = ast.Expression(tree.body.pop().value)
            t = time.process_time()
            exec(compile(tree, s.splitlines()[0][:60], "exec"), ns)
            if last is not None:
                v = eval(compile(last, "last", "eval"), ns)
                if v is not None and "Image" not in str(type(v)): print(v)
            t = time.process_time() - t
            if t > 2: print(f"      [{t:.1f} s cpu] {s.splitlines()[0][:60]}", flush=True)
        except Exception as e:
            print("FAILED in", s.splitlines()[0][:80], "->", type(e).__name__, str(e)[:400])
            if type(e).__name__ != "InputError" : traceback.print_exc(limit=-4, file=sys.stdout)
            break
    print(f"------------------- {label}: {time.process_time()-began:.0f} s cpu, peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss//1024} MB", flush=True)
import pandas as pd; pd.set_option("display.width", 150, "display.max_columns", 12)
exec(Path("/tmp/own52/scen_" + mode + ".py").read_text())
