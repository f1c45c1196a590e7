"""Execute /tmp/try/<NN>/NN*.ipynb made from the draft, in a scratch notebooks folder: python drafts/try.py NN [param=value]. Prints outputs."""
import sys, os, subprocess, re
from pathlib import Path
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
ROOT = Path("/work/main")
name = sys.argv[1]
out = Path(os.environ["T52"])/"notebooks"; out.mkdir(parents=True, exist_ok=True)
subprocess.run([sys.executable, ROOT/"drafts/nb.py", name, "--out", out], check=True)
# results.begin reads the parameters from <root>/notebooks: so a scratch root with links
root = out.parent
if not (root/"data").exists(): (root/"data").symlink_to(ROOT/"data")
import shutil
shutil.rmtree(root/"lib", ignore_errors=True)
shutil.copytree(ROOT/"lib", root/"lib", ignore=shutil.ignore_patterns("__pycache__"))
for f in ("pyproject.toml",):
    if not (root/f).exists(): (root/f).symlink_to(ROOT/f)
os.environ.setdefault("MINDSCAPE_CACHE", str(ROOT/"build/cache"))
os.environ["MINDSCAPE_FIGURES"] = str(root/"figures")
os.environ["PYTHONPATH"] = f"{root}/lib" 
os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
path = next(p for p in out.glob(f"{name}*.ipynb") if ".out." not in p.name)
nb = nbformat.read(path, as_version=4)
for c in nb.cells:
    if "parameters" in c.metadata.get("tags", []):
        for a in sys.argv[2:]:
            k, _, v = a.partition("=")
            c.source = re.sub(rf"(?m)^{k} = [^#\n]*", f"{k} = {v}  ", c.source)
client = NotebookClient(nb, kernel_name="python3", resources={"metadata": {"path": str(out)}}, timeout=1200)
bad = False
import time; t=time.time()
try: client.execute()
except CellExecutionError as e: bad = True
for i, c in enumerate(nb.cells):
    if c.cell_type != "code": continue
    print(f"--- [{i}] {c.source.splitlines()[0][:100] if c.source else ''}")
    for o in c.get("outputs", []):
        if o.output_type == "stream": print(o.name.upper()+":" if o.name=="stderr" else "", o.text[:6000])
        elif o.output_type == "error": print("ERROR", re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(o.traceback))[-3000:])
        else: print(o.data.get("text/plain", "")[:6000])
nbformat.write(nb, str(path).replace(".ipynb", ".out.ipynb"))
print("seconds", round(time.time()-t), "FAILED" if bad else "ok")
