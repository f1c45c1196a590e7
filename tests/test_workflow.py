"""The front doors: papermill with parameters, the workflow's plan, a notebook that fails."""

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from mindscape.errors import InputError
from mindscape.workflow import plan

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


def run(*command, cwd=ROOT, **environment):
    """A command of the environment, in the checkout, as a newcomer would run it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, "PYTHONPATH": str(cwd / "lib"), **environment}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=600)


UNKNOWN = "unknown parameter 'sede'; valid are scale='small', seed=0"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_misspelt_parameter_fails_in_the_second_cell(notebook, monkeypatch, tmp_path, capsys):
    """And says so in one line; nothing is written for it."""
    monkeypatch.setenv("MINDSCAPE_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    given, check = [cell.source for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"][:2]
    shell = InteractiveShell.instance()
    try:
        for source in (given, "# Parameters\nsede = 3\n"):  # as papermill injects it
            shell.run_cell(source, store_history=True).raise_error()
        capsys.readouterr()
        failed = shell.run_cell(check, store_history=True).error_in_exec
    finally:
        InteractiveShell.clear_instance()
    assert isinstance(failed, InputError) and UNKNOWN in str(failed)
    (line,) = capsys.readouterr().out.strip().splitlines()
    assert f"InputError: {UNKNOWN}" in line
    assert not (tmp_path / "figures").exists()


def test_papermill_shows_what_is_wrong_with_a_parameter(tmp_path):
    """And says so in one line, in the cell after the one that it injected; nothing is written for it."""
    out = tmp_path / "out.ipynb"
    command = ["papermill", "--cwd", "notebooks", str(NOTEBOOKS[0]), str(out), "--no-progress-bar", "-p", "llm", "gpt-4o"]
    said = 'llm=\'gpt-4o\': expected "embedded", "smollm2", "hf:NAME_OR_FOLDER"'
    done = run(*command, MINDSCAPE_FIGURES=str(tmp_path / "figures"), MINDSCAPE_BUILD=str(tmp_path / "build"))
    assert done.returncode != 0 and f"InputError: {said}" in done.stderr
    ran = {cell.execution_count: cell for cell in nbformat.read(out, as_version=4).cells if cell.get("execution_count")}
    assert max(ran) == 3 and not (tmp_path / "figures").exists()
    assert ran[3].outputs[-1].output_type == "error" and len(ran[3].outputs[-1].traceback) == 1


def test_the_workflow_takes_some_notebooks_and_refuses_what_it_does_not_know():
    dry = partial(run, "snakemake", "--dry-run", "--forceall", "--nolock")
    done, huge, none = dry(ONLY="10"), dry(SCALE="huge"), dry(ONLY="99")
    said = done.stdout + done.stderr
    assert "notebooks/10_hierarchical_summaries.ipynb" in said and "notebooks/00_start_here.ipynb" not in said
    assert "SCALE=huge is unknown; expected small, full or gpu" in huge.stdout + huge.stderr
    assert "ONLY=99 fits no notebook; there are 00_start_here" in none.stdout + none.stderr
    assert done.returncode == 0 and huge.returncode != 0 and none.returncode != 0


def execute(folder, *sources, **environment):
    """What the workflow says of a notebook with these cells, and where what ran of it is kept."""
    cells = [nbformat.v4.new_code_cell(source) for source in ("scale = 'small'", *sources)]
    cells[0].metadata["tags"] = ["parameters"]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, folder / "some.ipynb")
    paths = [str(folder / name) for name in ("some.ipynb", "executed.ipynb", "log.txt")]
    return run(sys.executable, "-m", "mindscape.workflow.execute", *paths, "small", **environment), Path(paths[1])


@pytest.mark.parametrize(
    ("limits", "does", "said"),
    [
        ({}, "1 / 0", "ZeroDivisionError: division by zero"),
        ({"LIMIT": "0.6"}, "time.sleep(3000)", "it took more than 0.6 minutes (LIMIT), in code cell 4: # waits"),
        ({"CELL_LIMIT": "0.1"}, "time.sleep(3000)", "a cell took more than 0.1 minutes (CELL_LIMIT), code cell 4: # waits"),
    ],
)
def test_a_notebook_that_fails_or_waits_for_ever_is_ended_and_says_why_and_where(tmp_path, limits, does, said):
    """The cells before it end in time."""
    begun = time.monotonic()
    done, executed = execute(tmp_path, "import time", f"\n# waits\n{does}", "1", **limits)
    assert done.returncode != 0 and "some: FAILED after" in done.stdout and said in done.stdout, done.stdout
    assert str(executed) in done.stdout and executed.is_file()  # what ran until then is kept
    assert time.monotonic() - begun < 120


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGTERM to catch")
@pytest.mark.parametrize("how", ["SIGTERM", "SIGHUP"])
def test_whoever_ends_the_workflow_ends_the_notebook(tmp_path, how):
    """Papermill runs in a session of its own, which no closed terminal and no `timeout` reaches."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "papermill").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    (tmp_path / "bin" / "papermill").chmod(0o755)
    variables = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "lib")}
    names = [str(tmp_path / name) for name in ("some.ipynb", "executed.ipynb", "log.txt")]
    command = [sys.executable, "-m", "mindscape.workflow.execute", *names, "small"]
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text().strip():
            time.sleep(0.05)
        process.send_signal(getattr(signal, how))
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "some: FAILED after" in said and "interrupted" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("limit", ["soon", "inf", "nan"])
def test_a_limit_that_is_none_is_refused(tmp_path, limit):
    done, _ = execute(tmp_path, LIMIT=limit)
    assert done.returncode != 0 and f"error: LIMIT={limit}: expected minutes, 0 for no limit" in done.stderr


def test_a_start_says_how_many_are_done_and_what_is_left(tmp_path):
    (tmp_path / "51_paper_audit").touch()
    todo = "43_hmv_theorem 50_side_by_side 51_paper_audit 52_your_own_book"
    begun = ROOT / "build" / "begun"
    done, _ = execute(tmp_path, TODO=todo, MARKS=str(tmp_path), JOBS="2")
    assert done.returncode == 0
    count = 1 if not begun.is_file() or begun.stat().st_mtime < (tmp_path / "51_paper_audit").stat().st_mtime else 0
    assert re.search(rf"some: started \({count} of 4 done, about (a|\d+) minutes? left\)", done.stdout), done.stdout
    assert "some: started\n" in execute(tmp_path, TODO="43_hmv_theorem", MARKS=str(tmp_path))[0].stdout


def test_the_plan_is_said_with_the_system_s_python_alone():
    """The plan imports nothing that has to be installed."""
    done = run(sys.executable, "-I", "-S", "lib/mindscape/workflow/plan.py", "small", "10")
    assert done.returncode == 0, done.stderr
    assert "1 notebook;" in done.stdout and "10_hierarchical_summaries: " in done.stdout
    assert " on disk" in done.stdout and " minutes on 2 cores" in done.stdout


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("fresh", ["40 of kind ranking by m: about a minute", "100 of kind reply by m: about 5 minutes"]),
        ("data", ["40 of kind ranking by m: about a minute", "90 of kind reply by m: about 4 minutes"]),
        ("tiny", ["1 of kind reply by m: about a minute"]),
        ("remeasure", ["20 of kind ranking by m: about a minute", "50 of kind reply by m: about 2 minutes"]),
    ],
)
def test_the_plan_says_what_would_be_computed(tmp_path, monkeypatch, mode, expected):
    lines = ['{"format": "..."}', *(f'{{"key": "{n}", "value": {{}}, "seconds":{2 + n % 2 * 2}}}' for n in range(10))]
    (tmp_path / "reply.m.jsonl").write_text("\n".join(lines) + "\n")
    wanted = {"reply m": {"shipped": 80, "computed": 20}, "ranking m": {"cached": 40}, "pass m": {"computed": 9}}
    monkeypatch.setenv("MINDSCAPE_REMEASURE", "0.5:7:4")
    said = plan.computed([{"store": wanted}, {"store": {"reply m": {"shipped": 7}}}, {}], mode, tmp_path)
    assert [line.strip() for line in said[:-1]] == expected and "of one core for what is computed" in said[-1]
    assert said[-1].endswith("; it ends after MINUTES=4 on each core") == (mode == "remeasure")
    assert "nothing has to be computed" in plan.computed([], mode, tmp_path)[0]


@pytest.mark.parametrize(("kind", "mean"), [("reply", 30.0), ("answer", 30.0), ("ranking", 12.0)])
def test_the_first_of_a_text_s_rankings_says_what_all_share(tmp_path, kind, mean):
    path = tmp_path / f"{kind}.m.jsonl"
    lines = [f'{{"key":"{n}"' + ',"seconds":30.0' * (n < 4) + "}" for n in range(10)]
    path.write_text("\n".join(['{"format":"..."}', *lines, ""]))
    assert plan.contents(path) == (10, mean)


@pytest.mark.parametrize(
    ("words", "share", "wrong"),
    [
        (["huge", ""], "1", "SCALE=huge is unknown; expected small, "),
        (["small", "99"], "1", "ONLY=99 fits no notebook; "),
        (["small", "51,99"], "1", "ONLY=99 fits no notebook; "),
        (["small", "10", "remeasure"], "2:7", "SHARE=2: expected "),
        (["small", "10", "remeasure"], "some:7", "SHARE=some: expected "),
        (["small", "10", "remeasure"], "0.02:x", "SEED=x: expected "),
        (["small", "10", "remeasure"], "0.02:7:soon", "MINUTES=soon: expected minutes, 0 for no limit"),
        (["small", "10", "remeasure"], "0.02:7:-5", "MINUTES=-5: expected minutes, 0 for no limit"),
        (["small", "10", "remeasure"], "0.02:7:inf", "MINUTES=inf: expected minutes, 0 for no limit"),
    ],
)
def test_the_plan_refuses_what_it_does_not_know_before_anything_is_installed(words, share, wrong):
    done = run(sys.executable, "-I", "-S", "lib/mindscape/workflow/plan.py", *words, MINDSCAPE_REMEASURE=share)
    assert done.returncode != 0 and not done.stdout and done.stderr.startswith(f"error: {wrong}")


def test_a_checkout_stays_clean(tmp_path):
    """Two notebooks are run in a copy, and the reports written: nothing that is tracked has changed, nothing new lies there."""
    changed = subprocess.run([*["git", "ls-files", "-zmdo", "--exclude-standard"]], cwd=ROOT, capture_output=True, text=True)
    if changed.returncode:
        pytest.skip("not a git checkout")
    copy = tmp_path / "kit"
    assert run("git", "clone", "--quiet", "--shared", str(ROOT), str(copy)).returncode == 0
    for name in filter(None, changed.stdout.split("\0")):
        (copy / name).unlink(missing_ok=True)
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    for words in (["add", "-A"], ["commit", "-qm", "all", "--allow-empty"]):
        assert run(*git, *words, cwd=copy).returncode == 0
    cache = os.environ.get("MINDSCAPE_CACHE") or str(ROOT / "build" / "cache")
    done = run("snakemake", "--cores", "1", "--nolock", "--quiet", "all", cwd=copy, ONLY="22 51", MINDSCAPE_CACHE=cache)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "51_paper_audit: done in" in done.stdout and "of 2 done" in done.stdout
    assert run(sys.executable, "-m", "mindscape.workflow.report", cwd=copy).returncode == 0
    assert run("git", "status", "--porcelain", cwd=copy).stdout == ""


HELD = """
import sys
from pathlib import Path
from mindscape.environment import give_memory_back
megabytes = lambda: int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) // 1024
assert sys.argv[1] == "as it is" or give_memory_back()
for _ in range(2):
    bytearray(b"x" * (2 << 20))  # from now on glibc keeps blocks of this size
blocks = [bytearray(b"x" * (2 << 20)) for _ in range(100)]
full, last = megabytes(), blocks.pop()
blocks.clear()
print(full - megabytes())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that keeps freed blocks")
def test_freed_blocks_go_back_to_the_system():
    freed = {how: int(run(sys.executable, "-c", HELD, how).stdout) for how in ("as it is", "back")}
    assert freed["back"] > 150 > freed["as it is"]
