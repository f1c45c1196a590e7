"""Parameters that are wrong are refused by name; numbers are kept with their provenance; a cell that takes long shows that it
lives, where somebody looks, and leaves nothing behind."""

import json
import re
import threading
import time
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from extras import refused
from IPython.display import Image
from matplotlib import pyplot

from mindscape import paths, remeasure, results, store
from mindscape.errors import MindscapeError
from mindscape.metrics import Interval, bootstrap, paired_bootstrap

NOTEBOOK = "00_start_here"
MAKER = store.Maker("ann", {"base": "1"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where results are written as they come; what is published goes to `published` beside it."""
    for name, part in (("FIGURES", "published"), ("BUILD", "build"), ("CACHE", "cache")):
        monkeypatch.setenv(f"MINDSCAPE_{name}", str(tmp_path / part))
    yield tmp_path / "build" / "figures"
    results._run = None
    store.use(None)


def begun(notebook=NOTEBOOK):
    return results.read(notebook, paths.build_path("figures"))


@pytest.fixture
def defaults():
    return results.declared(paths.root() / "notebooks" / f"{NOTEBOOK}.ipynb")


@pytest.fixture
def run(folder, defaults):
    """The folder of results, when a run with the default parameters has begun."""
    results.begin(NOTEBOOK, **defaults)
    return folder


def line(*values):
    """A figure with a line, and its axes, which say what they show."""
    fig, ax = pyplot.subplots()
    ax.plot(values)
    ax.set(xlabel="day", ylabel="value")
    return fig, ax


def ask(count):
    """Look so many questions up in the store; the list that is returned grows with those that are computed, also later on."""
    made = []

    def compute(places):
        made.extend(places)
        return [(i, place) for i, place in enumerate(places)]

    store.current().fetch("any", MAKER, list(range(count)), compute)
    return made


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sede": 3}, "unknown parameter 'sede'; valid are scale='small', seed=0"),
        ({"seed": "3"}, "parameter seed='3' must be of type int"),
        ({"seed": True}, "seed=True must be of type int"),
        ({"seed": 1.0}, "seed=1.0 must be of type int"),
        ({"seed": -1}, "seed=-1 must be 0 or more"),
        ({"scale": "large"}, "scale='large' must be one of small, full, gpu"),
        ({"scale": 3}, "scale=3 must be of type str"),
        ({"llm": "gpt-4o"}, 'llm=\'gpt-4o\': expected "embedded", "smollm2"'),
        ({"llm": ""}, "llm='': expected"),
        ({"encoder": "glove"}, 'encoder=\'glove\': expected "embedded", "minilm"'),
    ],
)
def test_a_wrong_name_or_value_is_named_in_one_line(folder, defaults, changes, message):
    error = refused(lambda: results.begin(NOTEBOOK, **defaults | changes), message)
    assert "\n" not in str(error) and not folder.exists()  # nothing was begun


def test_a_whole_number_may_stand_for_a_float_and_what_is_no_number_may_not():
    results._check({"alpha": 1}, {"alpha": 0.5})
    for value, said in ((True, "of type float"), (float("nan"), "a number, and a finite one"), (float("inf"), "a number, and")):
        refused(lambda value=value: results._check({"alpha": value}, {"alpha": 0.5}), f"alpha={value} must be {said}")


@pytest.mark.parametrize("shard", ["3", "0/8", "9/8", "a/b", "1/2/3", "-1/3", "3/"])
def test_a_shard_that_is_none_is_refused(folder, defaults, monkeypatch, shard):
    monkeypatch.setenv("MINDSCAPE_SHARD", shard)
    said = f"shard='{shard}': expected one of so many parts, such as '3/8'"
    refused(lambda: results.begin(NOTEBOOK, **defaults), said)


def test_numbers_figures_and_provenance_are_kept(folder, defaults):
    results.begin(NOTEBOOK, defaults | {"a variable": "that is no parameter"})
    assert results.record("a.b", 0.123456789, ci=(0.1, 0.2), n=12, rows=["q1", "q2"]) == 0.123457
    assert results.record("c", Interval(0.5, 0.25, 0.75, n=8), varies="a model decides") == 0.5
    results.records("d", {"e": 1, "f": 2}, n=3)
    results.record("g", np.float32(0.5), ci=np.array([0.25, 0.75]))
    results.figure(line(1, 2)[0], "line", alt="A line that rises from one to two", caption="A line")
    assert not begun()["finished"] and not paths.figures().exists()
    results.finish()
    stored = results.read(NOTEBOOK)
    assert stored["finished"] and stored["parameters"] == {k: defaults[k] for k in stored["parameters"]}
    assert {"fill", "fresh", "shard"}.isdisjoint(stored["parameters"])
    metric = stored["metrics"]["a.b"]
    assert metric == {"value": 0.123457, "ci": [0.1, 0.2], "n": 12, "rows": metric["rows"], "from": "no model"}
    both = [stored["metrics"][key] for key in ("d.e", "d.f")]
    assert [(number["value"], number["n"]) for number in both] == [(1, 3), (2, 3)]
    about = {"n": 8, "varies": "a model decides", "from": "no model"}
    assert stored["metrics"]["c"] == {"value": 0.5, "ci": [0.25, 0.75], **about}
    assert stored["metrics"]["g"] == {"value": 0.5, "ci": [0.25, 0.75], "from": "no model"}
    assert (paths.figures() / NOTEBOOK / stored["figures"]["line"]["file"]).stat().st_size > 1000
    run = json.loads((folder / NOTEBOOK / "run.json").read_text())
    assert {"python", "platform", "cpu_threads", "versions", "commit"} <= set(run["environment"])


def published(monkeypatch, defaults, value, *, stored=False, name="line"):
    """The folder after a run that records a value, with the names and contents of what lies in it."""
    monkeypatch.setenv("MINDSCAPE_STORED", "1" if stored else "")
    results.begin(NOTEBOOK, **defaults)
    results.record("x", value)
    results.figure(line(value, 2)[0], name, alt="A line from the value up to two")
    results.finish()
    return {path.name: path.read_bytes() for path in (paths.figures() / NOTEBOOK).iterdir()}


def test_what_agrees_is_left_as_it_is(folder, defaults, monkeypatch):
    """So that a checkout stays clean: neither times nor another library's way to draw a line are differences."""
    first = published(monkeypatch, defaults, 0.5)
    assert set(first) == {"results.json", "line.png"}
    assert published(monkeypatch, defaults, 0.50001) == first
    stored = published(monkeypatch, defaults, 0.50001, stored=True)
    assert set(stored) == {"results.json", "line.png", "run.json"} and stored["results.json"] != first["results.json"]
    assert published(monkeypatch, defaults, 0.5) == stored
    other = published(monkeypatch, defaults, 0.7)
    assert other["results.json"] != stored["results.json"] and other["run.json"] == stored["run.json"]
    (paths.figures() / NOTEBOOK / "line.png").unlink()
    assert "line.png" in published(monkeypatch, defaults, 0.7)
    assert set(published(monkeypatch, defaults, 0.9, name="other")) == {"results.json", "other.png", "run.json"}


def test_what_is_published_stays_until_all_of_the_new_is_there(folder, defaults, monkeypatch):
    first = published(monkeypatch, defaults, 0.5)
    results.begin(NOTEBOOK, **defaults)
    results.record("x", 0.9)
    results.figure(line(0.9, 2)[0], "new", alt="A line from the value up to two")
    (folder / NOTEBOOK / "new.png").unlink()
    refused(results.finish, "cannot write to .*", MindscapeError)
    assert {path.name: path.read_bytes() for path in (paths.figures() / NOTEBOOK).iterdir()} == first


def test_a_number_says_which_entries_it_rests_on(run):
    results.record("before", 1)
    ask(2)
    results.record("after", 1)
    results.record("also", 2)
    results.finish()
    stored = results.read(NOTEBOOK)
    assert [entry["from"] for entry in stored["metrics"].values()] == ["no model", "s1", "s1"]
    entry = {f"any {MAKER.label}": {"computed": 2}}
    assert stored["sources"] == {"s1": entry} and json.loads((run / NOTEBOOK / "run.json").read_text())["store"] == entry
    keys = paths.build_path("asked", f"{NOTEBOOK}.txt").read_text().split()
    assert keys == sorted(store.Store.key("any", MAKER, n) for n in range(2))


def test_a_spot_check_computes_some_of_what_was_found_anew(folder, defaults):
    made = []
    for seed in (0, 0, 1):
        results.begin(NOTEBOOK, **defaults | {"seed": seed})
        made.append(ask(20))
        shown = results.spot_check(3)
        results.finish()
    assert list(map(len, made)) == [20, 3, 3] and len(shown) == 3 and set(shown["the same again"]) == {"yes"}
    share = begun()["metrics"]["store.agree"]
    assert share["value"] == share["n"] == 3 and share["varies"]
    assert begun()["metrics"]["store.agree.other_precision"]["n"] == 0  # the same keys on every processor
    assert not paths.build_path("remeasured").exists()


def reported(monkeypatch, defaults, name, value):
    """The report after two runs, of which a variable of the environment makes the second compute entries anew."""
    for setting in ("", value):
        monkeypatch.setenv(f"MINDSCAPE_{name}", setting)
        results.begin(NOTEBOOK, **defaults)
        ask(200)
        results.finish()
    remeasure.main()
    (page,) = paths.build_path("remeasured").glob("*/REPORT.md")
    return page.read_text()


@pytest.mark.parametrize(
    ("name", "value", "count"), [("REMEASURE", "0.5:7", range(32, 180)), ("REMEASURE", "1", [200]), ("TINY", "1", [1])]
)
def test_the_end_of_a_notebook_computes_anew_what_the_environment_asks_for(
    folder, defaults, monkeypatch, name, value, count, capsys
):
    page = reported(monkeypatch, defaults, name, value)
    written = remeasure.folder_of(value if name == "REMEASURE" else "") / f"{NOTEBOOK}.jsonl"
    lines = [json.loads(row) for row in written.read_text().splitlines()]
    assert len(lines) in count and {row["notebook"] for row in lines} == {NOTEBOOK}
    assert f"{len(lines)} entries, {len(lines)} agree." in capsys.readouterr().out
    assert f"| {NOTEBOOK} | {len(lines)} | " in page and "| any |" in page and f"| {MAKER.label} |" in page


def test_what_time_did_not_reach_is_told(folder, defaults, monkeypatch):
    page = reported(monkeypatch, defaults, "REMEASURE", "0.5:7:1e-9")
    assert re.search(r"0 entries, 0 agree\..* \d+ more were drawn and not computed", page)
    assert re.search(rf"\| {NOTEBOOK} \| \d+ \| 0 \| 0 \| – \| – \| 0 \|", page)


def test_a_notebook_has_its_part_of_the_time_and_what_others_left(tmp_path, monkeypatch):
    """Of those that are run now: what is there of others, or of itself, does not count; and it runs on one core."""
    monkeypatch.setenv("ONLY", "11 12 13 14")
    monkeypatch.setenv("JOBS", "2")
    name = "11_silver_evidence"

    def left(name, *seconds):
        (tmp_path / f"{name}.jsonl").write_text("".join(f'{{"seconds": {each}}}\n' for each in seconds))

    assert remeasure.allowance(0, tmp_path, name) == float("inf") and remeasure.allowance(2, tmp_path, name) == 60.0
    left(name, 50)
    left("10_hierarchical_summaries", 50)
    assert remeasure.allowance(2, tmp_path, name) == 60.0
    left("12_mia_emb_training", 17.5, 2.5)
    assert remeasure.allowance(2, tmp_path, name) == 100.0
    left("13_mia_emb_geometry")
    assert remeasure.allowance(2, tmp_path, name) == 120.0
    left("14_mia_gen", 500)
    assert remeasure.allowance(2, tmp_path, name) == 0.0


@pytest.mark.parametrize("share", ["0", "2", "-1", "half", "nan"])
def test_a_share_that_is_none_is_refused(folder, defaults, monkeypatch, share):
    monkeypatch.setenv("MINDSCAPE_REMEASURE", share)
    results.begin(NOTEBOOK, **defaults)
    refused(lambda: results.finish(), f"SHARE={share}: expected more than 0, at most 1")


def test_other_parameters_never_overwrite_the_defaults(folder, defaults):
    results.begin(NOTEBOOK, **defaults)
    results.record("x", 1)
    results.begin(NOTEBOOK, **{**defaults, "seed": 3, "llm": "openai:gpt-4o/../../x"})
    results.record("x", 2)
    assert begun()["metrics"]["x"]["value"] == 1
    results.begin(NOTEBOOK, **{**defaults, "seed": 3, "llm": "openai:gpt-4o"})
    results.begin(NOTEBOOK, **{**defaults, "llm": "hf:" + "long/" * 100})
    results.begin(NOTEBOOK, **{**defaults, "scale": "full"})
    names = {path.name for path in folder.iterdir()}
    assert len(names) == 5 and {NOTEBOOK, NOTEBOOK + "@scale=full"} <= names
    assert all(len(name) < 140 and not set(name) & set("/\\:") for name in names)
    assert not {"x", ".."} & {path.name for path in folder.parent.iterdir()}


@pytest.mark.parametrize("value", [float("nan"), [1.0, float("inf")]])
def test_what_is_not_a_number_is_refused(run, value):
    refused(lambda: results.record("x", value), "not a number")


def test_a_page_lies_beside_the_numbers_of_its_own_run(folder, defaults):
    for name, changes in ((NOTEBOOK, {}), (f"{NOTEBOOK}@seed=3", {"seed": 3})):
        results.begin(NOTEBOOK, **{**defaults, **changes})
        results.page("macbeth", f"<p>{name}</p>")
        results.finish()
        assert (paths.figures() / name / "macbeth.html").read_text() == f"<p>{name}</p>"
    assert (paths.figures() / NOTEBOOK / "macbeth.html").read_text() == f"<p>{NOTEBOOK}</p>"


WORDS = "A line that rises from one to two"


def test_a_figure_without_words_or_an_axis_without_a_label_is_refused_and_categories_need_none(run):
    refused(lambda: results.figure(pyplot.figure(), "empty", alt="a plot"), "does not say what the figure shows")
    fig, ax = line(1, 2)
    ax.set_ylabel("")
    refused(lambda: results.figure(fig, "line", WORDS), "its y axis has no label")
    ax.set_yticks([1, 2], ["low", "high"])
    results.figure(fig, "line", WORDS)


def test_caption_and_words_stand_below_the_figure(run, monkeypatch):
    outputs = []
    monkeypatch.setattr(results, "display", lambda output, raw=False: outputs.append(output))
    for caption in ("A line", ""):
        results.figure(pyplot.figure(), "none", alt="Nothing is to be seen", caption=caption)._ipython_display_()
    image, caption, alone, words = outputs
    assert isinstance(image, Image) and image.alt == "Nothing is to be seen" and isinstance(alone, Image)
    folded = "<details><summary>In words</summary>Nothing is to be seen</details>"
    assert caption == {"text/markdown": f"*A line*\n\n{folded}"} and words == {"text/markdown": folded}


def test_inner_panels_share_the_label_of_the_outer_one(run):
    fig, axes = pyplot.subplots(1, 2, sharey=True)
    for ax in axes:
        ax.plot([1, 2])
        ax.set(xlabel="day")
    refused(lambda: results.figure(fig, "lines", WORDS), "its y axis has no label")
    axes[0].set(ylabel="value")
    results.figure(fig, "lines", WORDS)
    axes[1].tick_params(labelleft=True)
    refused(lambda: results.figure(fig, "lines", WORDS), "its y axis has no label")


def test_an_interval_of_some_questions_is_the_one_that_the_metrics_give(folder, defaults):
    results.begin(NOTEBOOK, **defaults | {"seed": 3})
    a, b, mask, books = [1, 0, 1, 1, 0], [0, 0, 1, 0, 1], [True, True, True, False, True], list("aabbc")
    interval = results.interval("gain", a, b, mask, groups=books)
    expected = paired_bootstrap([1.0, 0, 1, 0], [0.0, 0, 1, 1], groups=list("aabc"), seed=3)
    assert interval == expected and results.interval("mean", a, groups=books) == bootstrap(a, groups=books, seed=3)
    assert results.interval("alone", a) == bootstrap(a, seed=3)
    stored = json.loads(next(folder.rglob("results.json")).read_text())
    assert stored["metrics"]["gain"]["ci"] == [pytest.approx(interval.low), pytest.approx(interval.high)]
    said = r"short: 5 groups, and \[1\] values: expected one of each"
    refused(lambda: results.interval("short", a, where=[True], groups=books), said)


def test_a_mean_of_a_few_is_shown_with_their_number(run):
    assert results.mean("few", (1, 0, 0.5)) == "0.50 (n = 3)" and results.mean("one", [0.25]) == "0.25 (n = 1)"
    assert begun()["metrics"]["few"] == {"value": 0.5, "n": 3, "from": "no model"}


def test_recording_before_beginning_is_refused(monkeypatch):
    monkeypatch.setattr(results, "_run", None)
    refused(lambda: results.record("x", 1), "before results.begin")


def test_missing_results_say_how_to_make_them(folder):
    refused(lambda: results.read(NOTEBOOK), "make figures ONLY=00")
    (paths.figures() / NOTEBOOK).mkdir(parents=True)
    (paths.figures() / NOTEBOOK / "results.json").write_text(json.dumps({})[:-1])
    refused(lambda: results.read(NOTEBOOK), "make figures ONLY=00")


@contextmanager
def bar(shown, **how):
    """In tqdm's place: notes what it was asked to show, and that it was taken away."""
    shown.append(how)
    yield SimpleNamespace(refresh=lambda: None)
    shown.append("gone")


@pytest.mark.parametrize(("after", "count"), [(5, 0), (0.01, 1), (0.01, 3)])
def test_a_long_cell_shows_until_its_end_or_the_next_one_and_a_short_one_nothing(after, count):
    shown, before = [], threading.active_count()
    alive = results.Alive(after=after, bar=partial(bar, shown))
    for n in range(max(count, 1)):
        alive.begin()
        time.sleep(0.3)
        assert not count or len(shown) == 2 * n + 1
    alive.end()
    assert len(shown) == 2 * count and threading.active_count() == before
    assert all(how["leave"] is False and end == "gone" for how, end in zip(shown[::2], shown[1::2], strict=True))


@pytest.mark.parametrize(("looked_at", "events"), [(True, ["pre_run_cell", "post_run_cell"]), (False, [])])
def test_it_shows_where_somebody_looks(monkeypatch, looked_at, events):
    monkeypatch.setattr(results, "_alive", None)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    if looked_at:
        monkeypatch.setenv("JPY_SESSION_NAME", "notebook")
    registered = []
    shell = SimpleNamespace(events=SimpleNamespace(register=lambda event, _: registered.append(event)))
    results.show_life(shell)
    results.show_life(shell)  # once
    assert registered == events


def test_what_jupyterlab_keeps_beside_a_notebooks_files_stays(folder, defaults):
    kept = folder / NOTEBOOK / ".ipynb_checkpoints"
    kept.mkdir(parents=True)
    (folder / NOTEBOOK / "old.png").write_bytes(b"old")
    results.begin(NOTEBOOK, **defaults)
    assert kept.is_dir() and not (folder / NOTEBOOK / "old.png").exists()
