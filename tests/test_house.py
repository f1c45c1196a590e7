"""Guards of the house: versions in one place, imports declared, notebooks stored well, reports up to date."""

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from importlib.metadata import packages_distributions
from io import BytesIO
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from ipywidgets.widgets import widget

from mindscape import paper, results
from mindscape.workflow import report

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*groups: list[str]) -> dict[str, str]:
    """Package -> version, over lists of dependencies, by default all; one that is no pin fails."""
    pins = {}
    for line in sum(groups or (PROJECT["dependencies"], *EXTRAS.values()), []):
        name, version = re.fullmatch(r"([\w.-]+)==([^\s;]+)", line).groups()
        pins[canonical(name)] = version
    return pins


def sources() -> dict[str, str]:
    """The code of the library, the tests and every notebook, by file name."""
    texts = {}
    for folder in ("lib", "tests"):
        texts |= {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / folder).rglob("*.py")}
    for path in NOTEBOOKS:
        code = [report.source(cell) for cell in report.cells(ROOT, path.stem) if cell["cell_type"] == "code"]
        texts[path.name] = "\n".join(line for source in code for line in source.splitlines() if line[:1] not in "%!")
    return texts


def imported() -> dict[str, set[str]]:
    """Top-level module -> the files that import it, the kit's own and the standard library left out."""
    importers = {}
    for name, source in sources().items():
        for node in ast.walk(ast.parse(source)):
            modules = [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                importers.setdefault(module.split(".")[0], set()).add(name)
    own = {"tests", *sys.stdlib_module_names, *(path.name for path in (ROOT / "lib").iterdir())}
    own |= {path.stem for path in (ROOT / "tests").glob("*.py")}
    return {module: files for module, files in importers.items() if module not in own}


def test_every_import_is_declared():
    distributions, core = packages_distributions(), declared(PROJECT["dependencies"])
    for module, files in imported().items():
        names = {canonical(name) for name in distributions.get(module, [module])}
        if module == "pymilvus":  # an extra: the one module that offers it imports it when asked for it
            assert files <= {"lib/mindscape/search.py", "tests/test_search.py"}
            assert names & set(declared(EXTRAS["milvus"]))
        elif module in ("playwright", "axe_playwright_python"):  # an extra too, of what `make browser` runs
            assert all(file.startswith("tests/browser/") for file in files)
            assert names & set(declared(EXTRAS["browser"])) or module not in distributions
        else:
            assert names & set(core), f"{module} is imported in {', '.join(sorted(files))} and pyproject.toml lacks it"


def test_every_declared_package_is_imported_or_called():
    """Called: by its command in the Makefile or the workflow. Else its line must say who imports it."""
    distributions, used = packages_distributions(), imported()
    by_import = {canonical(name) for module in used for name in distributions.get(module, [module])}  # or not installed
    texts = [ROOT / "Makefile", ROOT / "Snakefile", *(ROOT / "lib" / "mindscape" / "workflow").glob("*.py")]
    called = " ".join(path.read_text() for path in texts)
    text = (ROOT / "pyproject.toml").read_text()
    commands = {"jupyterlab": "jupyter lab", "ipykernel": "--kernel", "pytest-xdist": "--dist", "nbval": "--nbval"}
    unused = [
        name
        for name in declared()
        if name not in by_import
        and not re.search(rf"(?<!\w){re.escape(commands.get(name, name))}\b", called)
        and not re.search(rf'^ +"{re.escape(name)}==.*#  ?not imported', text, re.MULTILINE)
    ]
    assert not unused, f"declared and used by nothing: {', '.join(unused)}"


def test_the_locks_hold_the_declared_versions():
    locks = [(ROOT / "requirements" / name).read_text() for name in ("core.lock", "extras.lock", "browser.lock")]
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", "\n".join(locks), re.MULTILINE))
    for name, version in declared().items():
        if name != "torch":  # its build is the user's choice, see the Makefile
            assert locked.get(name) == version, f"{name}: {version} is declared; run `make lock`"
    for lock in locks:
        for pin in re.split(r"\n(?=\w)", lock.strip()):
            assert "--hash=sha256:" in pin, f"no hash: {pin:.60}"


def test_conda_reads_the_same_versions():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = next(entry["pip"] for entry in dependencies if isinstance(entry, dict))
    assert pip == ["-e ."]
    named = [entry for entry in dependencies if isinstance(entry, str) and not entry.startswith("python=")]
    assert not [entry for entry in named if "=" in entry]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_figure_is_shown_where_it_is_made(path):
    shown = "".join(
        "".join(output.get("data", {}).get("text/markdown", ""))
        for cell in report.cells(ROOT, path.stem)
        for output in cell.get("outputs", [])
    )
    for name, drawn in results.read(path.stem, ROOT / "figures")["figures"].items():
        said = results.in_words(drawn["caption"], drawn["alt"])
        assert said in shown, f"{name} is saved, and the notebook does not show it"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_a_contract(path):
    """Executed in order, free of errors and of stderr, no trace of a machine or an executor, nothing longer than a page."""
    cells = report.cells(ROOT, path.stem)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), "run `make stored`"
    tagged = [i for i, cell in enumerate(code) if "parameters" in cell["metadata"].get("tags", [])]
    assert tagged == [0], "the first code cell, and no other, is tagged `parameters`"
    assert "results.begin(" in "".join(code[1]["source"]), "the second code cell checks the parameters"
    for i, cell in enumerate(cells):
        place, source = f"cell {i}", "".join(cell["source"])
        assert not {"papermill", "execution"} & set(cell["metadata"]), f"{place}: executor metadata"
        assert "injected-parameters" not in cell["metadata"].get("tags", []), f"{place}: injected parameters"
        assert not MACHINE.search(source), f"{place}: a path of one machine"
        if cell["cell_type"] == "code":
            lines = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
            assert len(lines) <= 25, f"{place}: {len(lines)} lines of code"
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error", f"{place}: {output.get('evalue')}"
            assert output.get("name") != "stderr", f"{place}: {output.get('text')}"
            data = output.get("data", {})
            text = "".join([*output.get("text", []), *data.get("text/plain", []), *data.get("text/html", [])])
            assert not MACHINE.search(text), f"{place}: a path of one machine in the output"
            assert len(text) <= 4000 or "text/html" in data, f"{place}: {len(text)} characters of output"
            if "image/png" in data:
                assert output["metadata"].get("image/png", {}).get("alt"), f"{place}: a figure without alt text"


MACHINE = re.compile(r"(?<![\w.:/])/(work|farm|root|home|tmp|Users)/")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_how_a_page_is_opened(path):
    """JupyterLab shows a page with a script once it is trusted, and blank before."""
    text = "\n".join(map(report.source, report.cells(ROOT, path.stem)))
    leads_there = re.search(r"\]\([^)]*figures/[^)]*\.html\)|write_report\(", text)
    assert not leads_there or "Trust HTML" in text


def test_the_workflow_knows_every_notebook():
    """No notebook hides in a folder that the workflow and the checks do not read."""
    tracked = subprocess.run(["git", "ls-files", "*.ipynb"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert set(tracked) <= {f"notebooks/{path.name}" for path in NOTEBOOKS}
    assert all(re.match(r"\d\d_[a-z0-9_]+$", path.stem) for path in NOTEBOOKS)


def check_reports(*root):
    command = [sys.executable, "-m", "mindscape.workflow.report", "--check", *root]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_reports_are_what_the_results_say():
    check_reports()


def test_the_committed_reports_are_what_the_committed_results_say(tmp_path):
    """Also where `make figures` has just written both anew."""
    parts = ["README.md", "figures", "data", "notebooks"]
    archive = subprocess.run(["git", "archive", "--format=zip", "-0", "HEAD", *parts], cwd=ROOT, capture_output=True)
    if archive.returncode:
        pytest.skip("not a git checkout")
    with zipfile.ZipFile(BytesIO(archive.stdout)) as packed:
        packed.extractall(tmp_path)
    check_reports(str(tmp_path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_stored_results_are_finished_and_whole(path):
    stored = results.read(path.stem, ROOT / "figures")
    assert stored["finished"] and stored["parameters"]["scale"] == "small"
    for figure in stored["figures"].values():
        assert (ROOT / "figures" / path.stem / figure["file"]).is_file() and len(figure["alt"].split()) >= 5


def kit_modules(tree: ast.Module) -> dict[str, ModuleType]:
    """The kit's modules that a notebook imports, by the name that it calls each."""
    modules = {}
    for node in ast.walk(tree):
        for alias in getattr(node, "names", []) if isinstance(node, ast.Import | ast.ImportFrom) else []:
            path = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            if path.split(".")[0] not in ("mindscape", "storyworld", "benchmarks"):
                continue
            holder = import_module(path.rpartition(".")[0] or path)
            if not isinstance(value := getattr(holder, alias.name, None), ModuleType) and value is not None:
                continue  # a function, a class, a number
            modules[alias.asname or alias.name] = import_module(path)  # raises where there is nothing of this name
    return modules


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_takes_of_a_module_is_the_module_s_own(path):
    """Also in cells that do nothing at default parameters: there, no number shows that another function is called."""
    tree = ast.parse(sources()[path.name])
    modules = kit_modules(tree)
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules.keys() - bound:
            module = modules[node.value.id]
            value, said = getattr(module, node.attr), f"{node.value.id}.{node.attr}"
            own = getattr(value, "__module__", module.__name__) == module.__name__
            assert own or not callable(value) or node.attr in getattr(module, "__all__", ()), said


def test_every_notebook_is_short_and_has_the_parts_of_a_lesson():
    course = json.loads((ROOT / "figures" / "course.json").read_text())
    notebooks = {name: about for name, about in course.items() if isinstance(about, dict)}
    assert set(notebooks) == {path.stem for path in NOTEBOOKS}
    for name, about in notebooks.items():
        assert about["cells"] <= 45 and about["words"] <= 2000, name
        parts = [] if name < "10" else ["case", "settings", "question", "drawing"]
        assert all(about[part] for part in parts), f"{name}: {about}"
    assert sum(about["all_words"] for about in notebooks.values()) <= 100_000


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150 and max(map(len, lines)) < 500


def test_what_a_claim_names_was_recorded():
    for claim in paper.all_claims():
        rules = [paper.RULE.match(rule).group(1) for rule in claim.reproduced + claim.partly]
        recorded = results.read(claim.notebook, ROOT / "figures")["metrics"]
        assert {*claim.metrics, *rules} <= recorded.keys(), claim.id


def test_every_finding_is_borne_by_its_numbers():
    findings = yaml.safe_load((ROOT / "data" / "findings.yaml").read_text())
    shown = report.findings(ROOT).splitlines()
    assert len(shown) == len(findings) == 5 and not any("{" in line for line in shown)


def test_a_finding_ends_with_its_numbers(tmp_path):
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    (tmp_path / "data").symlink_to(ROOT / "data")
    stored = results.read("43_hmv_theorem", ROOT / "figures")
    at = tmp_path / "figures" / "43_hmv_theorem" / "results.json"
    at.parent.mkdir(parents=True)
    at.write_text(json.dumps(stored))
    assert "counterexamples to Theorem 2" in report.findings(tmp_path)  # the others' notebooks have no results there
    stored["metrics"]["hmv.theorem2.counterexamples"]["value"] = 0
    at.write_text(json.dumps(stored))
    assert report.findings(tmp_path).strip() == ""


LATE = {"mindscape": "torch", "mindscape.encoders": "sentence_transformers", "mindscape.search": "pymilvus"}


@pytest.mark.parametrize(("module", "late"), LATE.items())
def test_what_is_slow_to_import_waits_until_it_is_used(module, late):
    """And the package is imported in a moment."""
    code = f"import sys, time; t = time.time(); import {module}; print(time.time() - t, '{late}' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "lib", capture_output=True, text=True, check=True)
    seconds, imported = done.stdout.split()
    assert imported == "False" and (float(seconds) < 1 or module != "mindscape")


def test_commands_that_are_named_can_be_run():
    """`python -m mindscape...`, in notebooks, pages and docstrings: a module, or a package with a __main__."""
    pages = [*NOTEBOOKS, *(ROOT / "data").rglob("*.md"), *(ROOT / "lib").rglob("*.py")]
    text = "\n".join(page.read_text("utf-8") for page in [*pages, ROOT / "README.md", ROOT / "Makefile"])
    named = set(re.findall(r" -m (mindscape(?:[.]\w+)*)", text))
    assert {"mindscape", "mindscape.training"} <= named
    for name in named:
        place = ROOT / "lib" / name.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), name


def test_the_files_that_a_workflow_of_github_names_are_there():
    named = re.findall(r"\btests/[\w/]+\.py\b", (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    assert len(named) > 5 and [name for name in named if not (ROOT / name).is_file()] == []


def test_library_modules_say_where_they_are_taught():
    """Every module of the library with public functions names a notebook."""
    for path in (ROOT / "lib").rglob("*.py"):
        tree = ast.parse(path.read_text())
        public = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
        assert ast.get_docstring(tree), f"{path.name} has no docstring"
        if len(public) > 1 and path.stem != "paths" and path.parent.name != "workflow":
            assert re.search(r"\d\d_\w+|notebooks?\s+\d\d", path.read_text()), f"{path.name} names no notebook"
        for node in public:
            assert ast.get_docstring(node), f"{path.name}: {node.name} has no docstring"


def test_no_widget_without_a_page(monkeypatch, capsys):
    """Notebook 43 makes none where nobody can move it: run by a program, its messages would wait for a page."""
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    (source,) = (said for said in map(report.source, report.cells(ROOT, "43_hmv_theorem")) if "ipywidgets" in said)
    made = []
    monkeypatch.setattr(widget.Widget, "__init__", lambda self, *_, **__: made.append(self))
    exec(source, {"picture": None})
    assert not made and "in JupyterLab" in capsys.readouterr().out


def test_line_ends_stay_as_they_are_on_every_system():
    """An entry of the store whose line ends with CR LF would be no entry."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    command = ["git", "check-attr", "--stdin", "-z", "text"]
    attributes = subprocess.run(command, cwd=ROOT, input=files, capture_output=True, check=True).stdout
    assert set(attributes.split(b"\0")[2::3]) == {b"unset"}


NOBODYS = {"one", "it", "told", "asked", "found", "some", "of", "mine"}  # words that do not say what they hold


def _named(tree):
    """The variables, parameters, functions and fields of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def test_names_say_what_they_hold():
    sources = [
        (path, path.read_text(encoding="utf-8")) for folder in ("lib", "tests") for path in (ROOT / folder).rglob("*.py")
    ]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources += [(path, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    vague = {(path.name, name) for path, source in sources for name in _named(ast.parse(source)) if name in NOBODYS}
    assert vague == {("__init__.py", "told")}  # a key of the replies that builders were trained on: roles.Noted
