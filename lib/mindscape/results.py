"""What a notebook found: numbers with their provenance, and figures with a text for those who cannot see them.

A notebook calls `begin` in its second cell, `record` and `figure` as it goes, `finish` at the end. Everything lands in
`figures/<notebook>/results.json` and PNGs beside it, written anew at each call, so an interrupted run keeps what it had
(marked unfinished). A run with other parameters than the default ones gets a folder of its own,
`figures/<notebook>@<what differs>/`, and never overwrites the default's.

Taught in notebook 00. Intervals are those of `mindscape.metrics`; verdicts are given elsewhere (`mindscape.claims`).
"""

import ast
import json
import os
import platform
import random
import re
import subprocess
import time
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import torch
from IPython.display import Image, display
from matplotlib import pyplot
from matplotlib.ticker import ScalarFormatter
from transformers.utils.logging import disable_progress_bar

from mindscape import paths, plots
from mindscape.environment import peak_bytes
from mindscape.errors import InputError
from mindscape.metrics import Interval, bootstrap, paired_bootstrap
from mindscape.store import Store, digest

SCALES = ("small", "full", "gpu")
NUMBERED = ("labelleft", "labelright", "labelbottom", "labeltop")  # sides of an axis that may show its numbers
VERSIONS = ("torch", "transformers", "sentence-transformers", "faiss-cpu", "numpy", "pandas", "matplotlib")


@dataclass
class Run:
    """One execution of one notebook."""

    notebook: str
    folder: Path
    parameters: dict
    environment: dict
    started: float
    metrics: dict = field(default_factory=dict)
    figures: dict = field(default_factory=dict)

    def write(self, finished: bool = False) -> None:
        content = {
            "notebook": self.notebook,
            "finished": finished,
            "parameters": self.parameters,
            "metrics": self.metrics,
            "figures": self.figures,
            "seconds": round(time.perf_counter() - self.started, 1),
            "peak_mb": _peak_mb(),
            "warm_cache": Store.found > Store.stored,  # then the seconds are not those of a first run
            "environment": self.environment,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        scratch = self.folder / ".results.json"
        scratch.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(scratch, self.folder / "results.json")


_run: Run | None = None


def begin(notebook: str, **parameters) -> None:
    """Check the notebook's parameters, seed everything, and open its results.

    The valid names, and the type of each, are those of the cell tagged `parameters` in `notebooks/<notebook>.ipynb`.
    Raises InputError, one line that names the parameter and lists the valid ones, for an unknown name handed over by
    papermill, a value of another type, or an unknown scale.

    >>> begin("10_hierarchical_summaries", scale="small", seed=0)              # doctest: +SKIP
    10_hierarchical_summaries: scale='small', seed=0
    """
    global _run
    defaults = declared(paths.root() / "notebooks" / f"{notebook}.ipynb")
    _check(parameters, defaults, _handed_over())
    differing = {k: v for k, v in parameters.items() if v != defaults[k]}
    name = notebook + ("@" + _variant(differing) if differing else "")
    _seed(parameters.get("seed", 0))
    disable_progress_bar()  # of loading weights: stored outputs would differ each time
    plots.use()
    _run = Run(notebook, paths.figures() / name, parameters, environment(), time.perf_counter())
    _run.write()
    print(f"{notebook}: " + ", ".join(f"{k}={v!r}" for k, v in parameters.items()))


def record(key: str, value, ci: tuple | None = None, n: int | None = None, rows=None, varies: str | None = None):
    """Keep one number under `key`; returns it, rounded for print.

    `ci` is a 95 % interval (low, high), `n` how many questions (or chunks, or runs) stand behind it, `rows` their ids,
    of which a hash is kept; an `Interval` brings its own ends and n. Values are Python or NumPy numbers, text, or lists of
    them. NaN is refused. `varies` says why another run may give another value ("processor time"); without it, `make test`
    holds a fresh run to this one.

    >>> record("recall@3", 0.4512, ci=(0.38, 0.52), n=240)                     # doctest: +SKIP
    0.4512
    """
    if _run is None:
        raise InputError("results.record before results.begin: run the notebook's second cell first")
    if isinstance(value, Interval):
        value, ci, n = value.value, (value.low, value.high), value.n
    entry = {"value": _number(key, value)}
    if ci is not None:
        entry["ci"] = [_number(key, edge) for edge in ci]
    if n is not None:
        entry["n"] = int(n)
    if rows is not None:
        entry["rows"] = digest(list(rows))
    if varies:
        entry["varies"] = varies
    _run.metrics[key] = entry
    _run.write()
    return entry["value"]


def interval(key: str, values, other=None, some=None, *, groups, varies: str | None = None) -> Interval:
    """Keep a mean over questions with its interval, or the mean of what `values` have above `other`; returns it.

    One value a question, and its group in `groups`: whole groups are drawn, with the run's seed. `some`, a mask, leaves out
    the other questions. Raises InputError where there is not one of each a question, and as the bootstrap does.

    >>> interval("recall@3.gain", [1, 0, 1], [0, 0, 1], groups=["a", "a", "b"])    # doctest: +SKIP
    """
    some = np.full(len(groups), True) if some is None else np.asarray(some)
    sides = [np.asarray(side, dtype=float) for side in (values, other) if side is not None]
    if lengths := {len(side) for side in (*sides, some)} - {len(groups)}:
        raise InputError(f"{key}: {len(groups)} groups, and {sorted(lengths)} values: expected one of each a question")
    drawn = {"groups": [group for group, it in zip(groups, some, strict=True) if it], "seed": 0}
    if _run is not None:
        drawn["seed"] = _run.parameters.get("seed", 0)
    of = (bootstrap if other is None else paired_bootstrap)(*(side[some] for side in sides), **drawn)
    record(key, of, varies=varies)
    return of


def mean(key: str, values) -> str:
    """Keep the mean of a few questions' values, which may be of one text; returns it to be shown, with n.

    No interval: it would be over questions, which share texts. See `interval` for more than a few.

    >>> mean("benchmark.accuracy", [1, 0])                                     # doctest: +SKIP
    '0.50 (n = 2)'
    """
    value = record(key, float(np.mean(values)), n=len(values))
    return f"{value:.2f} (n = {len(values)})"


def figure(fig, name: str, alt: str, caption: str = ""):
    """Save a matplotlib figure as `<name>.png` beside the results, with its alt text, and return it for display.

    A page shows the caption below the figure. `alt` says in words what it shows; it is required, and so is a label on each
    axis with numbers, which inner panels of shared axes do not show.
    """
    if _run is None:
        raise InputError("results.figure before results.begin: run the notebook's second cell first")
    if len(alt.split()) < 5:
        raise InputError(f"figure {name!r}: alt={alt!r} does not say what the figure shows")
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            named = axis.get_label_text() or not isinstance(axis.get_major_formatter(), ScalarFormatter)
            numbered = any(shown for side, shown in axis.get_tick_params().items() if side in NUMBERED)
            if numbered and len(axis.get_ticklocs()) and not named:
                raise InputError(
                    f"figure {name!r}: its {axis.axis_name} axis has no label; say what it shows, and its unit"
                )
    file = _run.folder / f"{name}.png"
    about = {"Title": caption or name, "Description": alt, "Software": f"mindscape, {_run.notebook}"}
    fig.savefig(file, metadata=about)
    pyplot.close(fig)
    _run.figures[name] = {"file": file.name, "alt": alt, "caption": caption}
    _run.write()
    return Captioned(file.read_bytes(), alt, int(fig.get_figwidth() * 100), caption)


@dataclass(frozen=True)
class Captioned:
    """A figure as a notebook shows it: the image, and below it the caption, an output of its own in Markdown."""

    png: bytes = field(repr=False)
    alt: str
    width: int
    caption: str

    def _ipython_display_(self) -> None:
        display(Image(data=self.png, alt=self.alt, width=self.width))
        if self.caption:
            display({"text/markdown": f"*{self.caption}*"}, raw=True)


def finish() -> None:
    """Mark the results as complete."""
    if _run is None:
        raise InputError("results.finish before results.begin: run the notebook's second cell first")
    _run.write(finished=True)


def read(notebook: str, folder: Path | None = None) -> dict:
    """The results of a notebook, as stored. Raises InputError if there are none or they are no JSON."""
    file = (folder or paths.figures()) / notebook / "results.json"
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"no results of {notebook} in {file}: {error}; run `make figures ONLY={notebook[:2]}`"
        ) from error


def declared(notebook: Path) -> dict:
    """Names and default values of a notebook's `parameters` cell; the defaults are literals."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            return _assignments("".join(cell["source"]))
    raise InputError(f"{notebook} has no cell tagged 'parameters'")


def _assignments(source: str) -> dict:
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def _handed_over() -> list[str]:
    """The names that papermill injected: in a cell that begins with its own comment, found in the kernel's history."""
    try:
        from IPython import get_ipython

        history = get_ipython().user_ns["In"]
    except (ImportError, AttributeError, KeyError):
        return []
    injected = [ast.parse(source) for source in history if source.startswith("# Parameters\n")]
    return [node.targets[0].id for tree in injected for node in tree.body if isinstance(node, ast.Assign)]


def _check(parameters: dict, defaults: dict, handed_over: list[str]) -> None:
    valid = ", ".join(f"{name}={value!r}" for name, value in defaults.items())
    for name in [*handed_over, *parameters]:
        if name not in defaults:
            raise InputError(f"unknown parameter {name!r}; valid are {valid}")
    for name, value in parameters.items():
        expected = type(defaults[name])
        if type(value) is not expected and not (expected is float and type(value) is int):
            raise InputError(f"parameter {name}={value!r} must be of type {expected.__name__}; valid are {valid}")
    if parameters.get("scale", "small") not in SCALES:
        raise InputError(
            f"parameter scale={parameters['scale']!r} must be one of {', '.join(SCALES)}; valid are {valid}"
        )
    if parameters.get("seed", 0) < 0:
        raise InputError(f"parameter seed={parameters['seed']} must be 0 or more; valid are {valid}")


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _variant(differing: dict) -> str:
    """A folder's name for parameters: readable, and with a hash where reading is not enough to tell two apart."""
    exact = ",".join(f"{name}={value}" for name, value in sorted(differing.items()))
    plain = re.sub(r"[^\w.+=,-]+", "-", exact)[:100].strip("-.")
    return plain if plain == exact else f"{plain}-{digest(exact)[:8]}"


def _number(key: str, value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_number(key, v) for v in value]
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise InputError(f"results.record({key!r}, {value}): not a number; count what failed instead")
        return float(f"{value:.6g}")
    return value


def _peak_mb() -> int | None:
    peak = peak_bytes()
    return peak and round(peak / 1e6)


def environment() -> dict:
    """Python, platform, processor and its threads, accelerator, versions of the packages that compute, commit."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cpu_threads": torch.get_num_threads(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "versions": {name: _version(name) for name in VERSIONS},
        "commit": _commit(),
    }


def _cpu() -> str:
    """The processor's name, and whether it multiplies bf16 matrices in hardware (AMX): that decides most of the speed."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return name + (" with AMX" if torch.cpu._is_amx_tile_supported() else "")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The checkout's commit, with `+changes` where code or data differ from it."""

    def git(*words):
        done = subprocess.run(["git", "-C", paths.root(), *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        head = git("rev-parse", "--short=12", "HEAD")
        return head and head + ("+changes" if git("status", "--porcelain", "--", "lib", "data", "notebooks") else "")
    except OSError:  # no git here
        return None
