"""The front doors: papermill with parameters, the workflow's plan, a notebook that fails."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


def run(*command, **environment):
    """A command of the environment, in the checkout, as a newcomer would run it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, **environment}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_misspelt_parameter_fails_in_the_second_cell(notebook, tmp_path):
    """And says so in one line; nothing is written for it."""
    out = tmp_path / "out.ipynb"
    command = ["papermill", "--cwd", "notebooks", str(notebook), str(out), "--no-progress-bar", "-p", "sede", "3"]
    done = run(*command, MINDSCAPE_FIGURES=str(tmp_path / "figures"))
    assert done.returncode != 0
    assert "InputError: unknown parameter 'sede'; valid are scale='small', seed=0" in done.stderr
    executed = [
        cell for cell in nbformat.read(out, as_version=4).cells if cell.cell_type == "code" and cell.execution_count
    ]
    ran = [cell for cell in executed if "papermill-error-cell-tag" not in cell.metadata.get("tags", [])]
    assert len(ran) == 3  # the parameters, what papermill injected, the check
    assert ran[-1].outputs[-1].output_type == "error" and len(ran[-1].outputs[-1].traceback) == 1
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SCALE": "huge"}, "SCALE=huge is unknown; expected small, full or gpu"),
        ({"ONLY": "99"}, "ONLY=99 fits no notebook; there are 00_start_here"),
    ],
)
def test_the_workflow_refuses_what_it_does_not_know(environment, message):
    done = run("snakemake", "--dry-run", "--quiet", "all", "--nolock", **environment)
    assert done.returncode != 0 and message in done.stdout + done.stderr


def test_only_some_notebooks():
    done = run("snakemake", "--dry-run", "--forceall", "--nolock", ONLY="10")
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "notebooks/10_hierarchical_summaries.ipynb" in said and "notebooks/00_start_here.ipynb" not in said


def test_a_failing_notebook_says_why_and_where(tmp_path):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("scale = 'small'", metadata={"tags": ["parameters"]})]
    )
    notebook.cells.append(nbformat.v4.new_code_cell("1 / 0"))
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, tmp_path / "failing.ipynb")
    paths = [str(tmp_path / name) for name in ("failing.ipynb", "executed.ipynb", "log.txt")]
    done = run(sys.executable, "tools/execute.py", *paths, "small")
    assert done.returncode != 0
    assert "failing: FAILED" in done.stdout and "ZeroDivisionError: division by zero" in done.stdout
    assert paths[1] in done.stdout and Path(paths[1]).is_file()  # what ran until then is kept


def test_the_plan_is_said_with_the_system_s_python_alone():
    """`tools/plan.py` imports nothing that has to be installed."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "tools/plan.py", "small", "10"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "1 notebook;" in done.stdout and "10_hierarchical_summaries: " in done.stdout
    assert " on disk" in done.stdout and " minutes on 2 cores" in done.stdout


@pytest.mark.parametrize(("scale", "only"), [("huge", ""), ("small", "99")])
def test_the_plan_refuses_what_it_does_not_know_before_anything_is_installed(scale, only):
    done = subprocess.run(
        [sys.executable, "-I", "-S", "tools/plan.py", scale, only], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode != 0 and not done.stdout and done.stderr.startswith("error: ")
