"""What a notebook found: numbers with their provenance, and figures with a text for those who cannot see them.

A notebook calls `begin` in its second cell, `record` and `figure` as it goes, `finish` at the end. Everything lands in
`build/figures/<notebook>/`, written anew at each call, so an interrupted run keeps what it had (marked unfinished): numbers in
`results.json`, time and memory in `run.json`, figures beside them. `finish` puts it into `figures/<notebook>/` where a number
is another than there, or nothing is; where all agree nothing changes. A run with other parameters than the default ones gets a
folder of its own, `figures/<notebook>@<what differs>/`, and never overwrites the default's.

Each number says how it came to be (`from`): which entries of the store were found, shipped or in the cache, which were computed
in this run, and by whom; "no model" where none was asked. See `mindscape.trail`.

A cell that takes longer than a few seconds shows that it lives, by tqdm, where somebody looks: in JupyterLab. What runs by a
program, such as `make figures` and `make test`, prints nothing, so that stored outputs stay the same. Nobody knows how long a
cell will take; what is computed for the store says so itself (`mindscape.store.Progress`).

Taught in notebook 00. Intervals are those of `mindscape.metrics`; verdicts are given elsewhere (`mindscape.paper`).
"""

import ast
import html
import json
import math
import os
import platform
import random
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from IPython import get_ipython
from IPython.display import Image, display
from matplotlib import pyplot
from matplotlib.ticker import ScalarFormatter
from tqdm.auto import tqdm
from transformers.utils.logging import disable_progress_bar

from mindscape import encoders, llm, paths, plots, remeasure, store, trail
from mindscape.cache import Cache, digest
from mindscape.environment import installed, peak_bytes, processor
from mindscape.errors import InputError, require, writing
from mindscape.metrics import Interval, bootstrap, paired_bootstrap
from mindscape.workflow.plan import SCALES

ELSEWHERE = "or set MINDSCAPE_BUILD to another folder"
NUMBERED = ("labelleft", "labelright", "labelbottom", "labeltop")  # sides of an axis that may show its numbers
VERSIONS = ("torch", "transformers", "sentence-transformers", "faiss-cpu", "numpy", "pandas", "matplotlib")
AFTER, EACH = 5.0, 1.0  # seconds before something shows, and between two signs of life


# -- signs of life -----------------------------------------------------------------------------------------------------


class Alive:
    """A sign of life between `begin` and `end`, the handlers of IPython's events; `bar` makes what is shown.

    >>> import io, time
    >>> shown = io.StringIO()
    >>> alive = Alive(after=0.01, bar=lambda **how: tqdm(file=shown, **how))
    >>> alive.begin(); time.sleep(0.3); alive.end()
    >>> "still running, 00:0" in shown.getvalue()
    True
    """

    def __init__(self, after: float = AFTER, bar: Callable[..., Any] = tqdm):
        self.after, self.bar = after, bar
        self._over, self._thread = threading.Event(), threading.Thread()

    def begin(self, *_: Any) -> None:
        """A cell begins."""
        self.end()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, args=(self._over,), daemon=True)
        self._thread.start()

    def end(self, *_: Any) -> None:
        """It is over: what was shown goes."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _live(self, over: threading.Event) -> None:
        if not over.wait(self.after):
            with self.bar(bar_format="still running, {elapsed}", leave=False) as shown:
                while not over.wait(EACH):
                    shown.refresh()


_alive: Alive | None = None


def show_life(shell: Any) -> None:
    """From the next cell on, once a session and only in JupyterLab. `shell`: IPython's, None outside of it.

    >>> show_life(None)
    """
    global _alive
    if shell is not None and _alive is None and "JPY_SESSION_NAME" in os.environ:
        _alive = Alive()
        shell.events.register("pre_run_cell", _alive.begin)
        shell.events.register("post_run_cell", _alive.end)


# -- a run -------------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """One execution of one notebook."""

    notebook: str
    folder: Path
    published: Path
    parameters: dict
    environment: dict
    started: float = field(default_factory=time.perf_counter)
    metrics: dict = field(default_factory=dict)
    figures: dict = field(default_factory=dict)
    sources: dict = field(default_factory=dict)  # what numbers rest on, by the short name that they have for it

    def write(self, finished: bool = False) -> None:
        used = {metric["from"] for metric in self.metrics.values()}
        content = {"notebook": self.notebook, "finished": finished, "parameters": self.parameters}
        content |= {"metrics": self.metrics, "figures": self.figures}
        content["sources"] = {name: source for name, source in self.sources.items() if name in used}
        peak = peak_bytes()
        run = {
            "seconds": round(time.perf_counter() - self.started, 1),
            "peak_mb": peak and round(peak / 1e6),
            "warm_cache": Cache.hits > Cache.stored,  # then the seconds are not those of a first run
            "store": trail.totals(store.current().trail),
            "environment": self.environment,
        }
        with writing(self.folder, ELSEWHERE):
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, data in (("results.json", content), ("run.json", run)):
                text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
                store.write_anew(self.folder / name, text.encode(), seen=False)


_run: Run | None = None


def _begun(call: str) -> Run:
    """The notebook's run. Raises InputError where it has not begun."""
    require(_run is not None, f"results.{call} before results.begin: run the notebook's second cell first")
    return _run


def begin(notebook: str, variables: Mapping | None = None, **parameters) -> None:
    """Check the notebook's parameters, seed everything, and open its results.

    The valid names, and the type of each, are those of the cell tagged `parameters` in `notebooks/<notebook>.ipynb`. With
    `variables`, the notebook's `globals()`, all of them are taken from there.
    Raises InputError, one line that names the parameter and lists the valid ones, for an unknown name handed over by
    papermill, a value of another type, or an unknown scale.

    >>> begin("10_hierarchical_summaries", scale="small", seed=0)              # doctest: +SKIP
    10_hierarchical_summaries: scale='small', seed=0
    """
    global _run
    defaults = declared(paths.root() / "notebooks" / f"{notebook}.ipynb")
    parameters |= {name: variables[name] for name in defaults if variables is not None}
    _check(parameters, defaults)
    _open_store(parameters)
    seed = parameters.get("seed", 0)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    disable_progress_bar()  # of loading weights: stored outputs would differ each time
    plots.use()
    show_life(get_ipython())
    name = notebook + _variant({k: v for k, v in parameters.items() if v != defaults[k] and k not in ("fill", "shard")})
    folder = paths.build_path("figures", name)
    with writing(folder, ELSEWHERE):
        for old in filter(Path.is_file, folder.glob("*")):  # not what JupyterLab keeps in a folder of its own
            old.unlink()
    kept = {k: v for k, v in parameters.items() if k not in ("fill", "fresh", "shard")}
    _run = Run(notebook, folder, paths.figures() / name, kept, environment())
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
    run = _begun("record")
    if isinstance(value, Interval):
        value, ci, n = value.value, (value.low, value.high), value.n
    ends = None if ci is None else [_number(key, edge) for edge in ci]
    ids = None if rows is None else digest(list(rows))
    about = {"ci": ends, "n": None if n is None else int(n), "rows": ids, "varies": varies or None}
    entry = {"value": _number(key, value)} | {name: detail for name, detail in about.items() if detail is not None}
    entry["from"] = trail.source_name(trail.behind(store.current()), run.sources)
    run.metrics[key] = entry
    run.write()
    return entry["value"]


def records(prefix: str, values: Mapping, **about) -> None:
    """Keep several numbers, each under `prefix` and its own name; `about` is what `record` takes beside a value.

    >>> records("memory", {"chunks": 580, "sessions": 30}, n=6)                # doctest: +SKIP
    """
    for name, value in values.items():
        record(f"{prefix}.{name}", value, **about)


def interval(key: str, values, other=None, where=None, *, groups=None, varies: str | None = None) -> Interval:
    """Keep a mean over questions with its interval, or the mean of what `values` have above `other`; returns it.

    One value a question, and in `groups`, where there are any, its group: whole groups are drawn, with the run's seed. `where`,
    a mask, leaves out the other questions. Raises InputError where there is not one of each a question, as the bootstrap does.

    >>> interval("recall@3.gain", [1, 0, 1], [0, 0, 1], groups=["a", "a", "b"])    # doctest: +SKIP
    """
    sides = [np.asarray(side, dtype=float) for side in (values, other) if side is not None]
    count = len(sides[0]) if groups is None else len(groups)
    where = np.full(count, True) if where is None else np.asarray(where)
    if lengths := {len(side) for side in (*sides, where)} - {count}:
        raise InputError(f"{key}: {count} groups, and {sorted(lengths)} values: expected one of each a question")
    drawn = None if groups is None else [group for group, chosen in zip(groups, where, strict=True) if chosen]
    seed = 0 if _run is None else _run.parameters.get("seed", 0)
    sides = [side[where] for side in sides]
    estimate: Callable[..., Interval] = bootstrap if other is None else paired_bootstrap
    outcome = estimate(*sides, groups=drawn, seed=seed)
    record(key, outcome, varies=varies)
    return outcome


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
    run = _begun("figure")
    require(len(alt.split()) >= 5, f"figure {name!r}: alt={alt!r} does not say what the figure shows")
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            named = axis.get_label_text() or not isinstance(axis.get_major_formatter(), ScalarFormatter)
            numbered = any(shown for side, shown in axis.get_tick_params().items() if side in NUMBERED)
            said = f"figure {name!r}: its {axis.axis_name} axis has no label; say what it shows, and its unit"
            require(named or not numbered or not len(axis.get_ticklocs()), said)
    file = run.folder / f"{name}.png"
    about = {"Title": caption or name, "Description": alt, "Software": f"mindscape, {run.notebook}"}
    with writing(run.folder, ELSEWHERE):
        fig.savefig(file, metadata=about)
    pyplot.close(fig)
    run.figures[name] = {"file": file.name, "alt": alt, "caption": caption}
    run.write()
    return Captioned(file.read_bytes(), alt, int(fig.get_figwidth() * 100), caption)


def page(name: str, html: str) -> None:
    """Keep an HTML page beside the figures, as `<name>.html`.

    >>> page("macbeth", as_html(graph, play))                                  # doctest: +SKIP
    """
    run = _begun("page")
    with writing(run.folder, ELSEWHERE):
        (run.folder / f"{name}.html").write_text(html, encoding="utf-8")


@dataclass(frozen=True)
class Captioned:
    """A figure as a notebook shows it: the image, and below it the caption with the figure in words, an output of its own in
    Markdown: JupyterLab gives an image's alt text to nobody."""

    png: bytes = field(repr=False)
    alt: str
    width: int
    caption: str

    def _ipython_display_(self) -> None:
        display(Image(data=self.png, alt=self.alt, width=self.width))
        display({"text/markdown": in_words(self.caption, self.alt)}, raw=True)


def in_words(caption: str, alt: str) -> str:
    """A caption, and what a figure shows, folded.

    >>> in_words("What it costs", "Two lines; a < b.")
    '*What it costs*\\n\\n<details><summary>In words</summary>Two lines; a &lt; b.</details>'
    """
    text = html.escape(alt, quote=False).replace("$", "&#36;")  # no formula begins here
    said = f"<details><summary>In words</summary>{text}</details>"
    return f"*{caption}*\n\n{said}" if caption else said


def finish() -> None:
    """Mark the results as complete, and publish them where a number is another than what is there.

    With MINDSCAPE_STORED=1 they are published in any case, time and memory too (`make stored`). With MINDSCAPE_REMEASURE or
    MINDSCAPE_TINY nothing is published: some of what was found in the store is computed anew, in place of spot checks.
    """
    run = _begun("finish")
    run.write(finished=True)
    if not remeasure.requested():  # whose spot checks are those of the environment
        _publish(run, times=os.environ.get("MINDSCAPE_STORED") == "1")
    remeasure.at_the_end(run.notebook, run.folder.name)


def _publish(run: Run, times: bool) -> None:
    """Put the results in the place of those that are published, unless these are the same and whole; with `times` always."""
    old, new = (stored(folder.name, folder.parent) for folder in (run.published, run.folder))
    files = [figure["file"] for figure in new["figures"].values()]
    files += [*(path.name for path in run.folder.glob("*.html")), *["run.json"] * times, "results.json"]
    whole = old and old["finished"] and all((run.published / drawn["file"]).is_file() for drawn in old["figures"].values())
    if whole and not times and not differing(old, new):
        return
    with writing(run.published, "or set MINDSCAPE_FIGURES to another folder"):
        run.published.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=run.published) as scratch:  # what was there stays until all is there
            for name in files:
                shutil.copyfile(run.folder / name, Path(scratch) / name)
            for name in files:
                os.replace(Path(scratch) / name, run.published / name)
        for old_file in (*run.published.glob("*.png"), *run.published.glob("*.html")):
            if old_file.name not in files:
                old_file.unlink()


def differing(old: dict, new: dict) -> list[str]:
    """In words, where the numbers of two runs are not the same: values, intervals, counts and rows, to one part in a thousand
    or to 0.001, whichever is more. What was recorded with `varies` in both may differ.

    >>> old, new = ({"metrics": {"recall@3": {"value": value, "n": 9}}} for value in (0.5, 0.7))
    >>> differing(old, old), differing(old, new)
    ([], ["recall@3 was {'value': 0.5, 'n': 9}, is {'value': 0.7, 'n': 9}"])
    """
    differences = []
    for key in sorted(old["metrics"].keys() | new["metrics"].keys()):
        pair = [run["metrics"].get(key) for run in (old, new)]
        if None in pair:
            differences.append(f"{key} is only in the {'new' if pair[0] is None else 'old'} run")
        elif not all("varies" in metric for metric in pair):
            was, now = ({name: metric[name] for name in metric if name != "from"} for metric in pair)
            differences += [] if _same(was, now) else [f"{key} was {was}, is {now}"]
    return differences


def _same(a, b) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-3)
    return a == b


def spot_check(count: int = 3, kinds: Sequence[str] = ()):
    """Compute a few of the entries that this notebook found in the store anew, drawn with the run's seed, and say how many
    agree. `kinds`: those that are drawn from, by default all; a ranking takes the vectors of all texts that it ranks. Long
    replies are left to `make remeasure`, which draws from all.

    Records `store.agree`, which varies with processor and precision, and the same of entries that were made in another
    precision. Returns a table, a row an entry.

    >>> results.spot_check()                                                   # doctest: +SKIP
    """
    seed = _begun("spot_check").parameters.get("seed", 0)
    count = 0 if remeasure.requested() else count
    remade = list(store.current().remake(count=count, seed=seed, kinds=kinds))
    why = "processor, precision, what is found"
    record("store.agree", sum(entry.agrees for entry in remade), n=len(remade), varies=why)
    other = [entry.agrees for entry in remade if ", now " in entry.precision]  # none on some processors, which is told, too
    record("store.agree.other_precision", sum(other), n=len(other), varies=why)
    return remeasure.remade_table(remade)


def read(notebook: str, folder: Path | None = None) -> dict:
    """The results of a notebook, as stored. Raises InputError if there are none or they are no JSON."""
    file = (folder or paths.figures()) / notebook / "results.json"
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"no results of {notebook} in {file}: {error}; run `make figures ONLY={notebook[:2]}`"
        raise InputError(message) from error


def stored(notebook: str, folder: Path | None = None) -> dict | None:
    """The same, or None where there are none."""
    with suppress(InputError):
        return read(notebook, folder)
    return None


# -- parameters --------------------------------------------------------------------------------------------------------


def declared(notebook: Path) -> dict:
    """Names and default values of a notebook's `parameters` cell; the defaults are literals."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            return {name: ast.literal_eval(value) for name, value in _assigned("".join(cell["source"]))}
    raise InputError(f"{notebook} has no cell tagged 'parameters'")


def _assigned(source: str) -> list[tuple[str, ast.expr]]:
    """The names that a cell assigns to, each with the expression behind it."""
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    return [(ast.unparse(node.targets[0]), node.value) for node in nodes]


def _check(parameters: dict, defaults: dict) -> None:
    """Refuse what a notebook does not know, also where papermill injected it: in a cell that begins with its own comment."""
    valid = ", ".join(f"{name}={value!r}" for name, value in defaults.items())
    injected = [source for source in store.history() if source.startswith("# Parameters\n")]
    for name in [*(name for source in injected for name, _ in _assigned(source)), *parameters]:
        require(name in defaults, f"unknown parameter {name!r}; valid are {valid}")

    def expect(holds: bool, name: str, what: str) -> None:
        require(holds, f"parameter {name}={parameters.get(name)!r} must be {what}; valid are {valid}")

    for name, value in parameters.items():
        expected = type(defaults[name])
        of_type = type(value) is expected or (expected is float and type(value) is int)
        expect(of_type, name, f"of type {expected.__name__}")
        expect(not isinstance(value, float) or math.isfinite(value), name, "a number, and a finite one")
    expect(parameters.get("scale", "small") in SCALES, "scale", f"one of {', '.join(SCALES)}")
    for name, known in (("llm", llm.parts), ("encoder", encoders.known)):
        if name in parameters:
            known(parameters[name])
    expect(0 <= parameters.get("seed", 0) < 2**63, "seed", "0 or more, below 2**63")


def _open_store(parameters: dict) -> None:
    """A store of the notebook's own with what its parameters say; those of the environment hold, too."""

    def given(name: str):
        return parameters.get(name) or os.environ.get(f"MINDSCAPE_{name.upper()}")

    store.use(store.Store(fill=bool(given("fill")), fresh=bool(given("fresh")), shard=given("shard") or "1/1"))


def _variant(differing: dict) -> str:
    """What a folder's name ends with for parameters: readable, and with a hash where reading does not tell two apart."""
    exact = ",".join(f"{name}={value}" for name, value in sorted(differing.items()))
    plain = re.sub(r"[^\w.+=,-]+", "-", exact)[:100].strip("-.")
    return "@" * bool(exact) + (plain if plain == exact else f"{plain}-{digest(exact)[:8]}")


# -- numbers and the machine -------------------------------------------------------------------------------------------


def _number(key: str, value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_number(key, v) for v in value]
    if isinstance(value, float):
        require(math.isfinite(value), f"results.record({key!r}, {value}): not a number; count what failed instead")
        return float(f"{value:.6g}")
    return value


def environment() -> dict:
    """Python, platform, processor and its threads, accelerator, versions of the packages that compute, commit."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": processor() + (" with AMX" if torch.cpu._is_amx_tile_supported() else ""),  # that decides most of the speed
        "cpu_threads": torch.get_num_threads(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "versions": {name: installed(name) for name in VERSIONS},  # None for conda's faiss, which is not faiss-cpu
        "commit": _commit(),
    }


def _commit() -> str | None:
    """The checkout's commit, with `+changes` where code or data differ from it."""

    def git(*words):
        return subprocess.run(["git", "-C", paths.root(), *words], capture_output=True, text=True, check=True).stdout.strip()

    with suppress(OSError, subprocess.CalledProcessError):  # no git here, or no checkout
        changed = git("status", "--porcelain", "--", "lib", "data", "notebooks")
        return git("rev-parse", "--short=12", "HEAD") + "+changes" * bool(changed)
    return None
