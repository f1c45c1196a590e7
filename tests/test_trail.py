"""What a number rests on: the cells that made what it is computed from, as the notebook's own code says. Files of rows: gone on
with after a kill at any byte, refused and left alone where they are another's."""

import json

import nbformat
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from nbclient import NotebookClient

from mindscape import trail
from mindscape.errors import MindscapeError
from mindscape.store import Access, Store


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["a = 1", "b = a", "c = b"], [1, 2, 3]),
        (["a = 1", "b = 2", "c = a"], [1, 3]),
        (["a = 1", "a = 2", "c = a"], [2, 3]),  # made anew: what was before does not count
        (["a = 1", "a += 1", "c = a"], [1, 2, 3]),
        (["a = []", "a.append(1)", "c = a"], [1, 2, 3]),
        (["a = {}", "a['x'] = 1", "c = a"], [1, 2, 3]),
        (["a = {}", "b = a", "c = 1"], [3]),
        (["a, b = 1, 2", "c = b"], [1, 2]),
        (["a = 1", "def f(): return a", "c = f()"], [1, 2, 3]),
        (["a = 1", "def f(a): return a", "c = f(2)"], [2, 3]),
        (["a = 1", "f = lambda: a", "c = [f() for _ in 'x']"], [1, 2, 3]),
        (["a = 1", "b = [x for x in 'ab']", "c = b"], [2, 3]),
        (["a = 1", "class A:\n    b = a", "c = A()"], [1, 2, 3]),
        (["import numpy as np", "a = np.ones(2)", "np.random.seed(0)", "c = a"], [2, 4]),
        (["for a in 'xy': pass", "c = a"], [1, 2]),
        (["with open('x') as a: pass", "c = a"], [1, 2]),
        (["a: int = 1", "c = a"], [1, 2]),
        (["a = 1", "(b := a)", "c = b"], [1, 2, 3]),
        (["get_ipython().run_line_magic('matplotlib', 'inline')\na = 1", "c = a"], [1, 2]),
        (["a = 1", "get_ipython().run_line_magic('time', 'b = a')", "c = b"], [1, 2, 3]),
        (["a = 1", "get_ipython().run_cell_magic('time', '', 'b = a\\nd = b')", "c = d"], [1, 2, 3]),
        (["a = 1", "get_ipython().run_cell_magic('bash', '', 'b = a; done')", "c = a"], [1, 3]),
        (["a = 1", "def f(b, b): return a", "c = a"], [1, 3]),  # Python by its grammar, and refused
        (["a = 1", "what is this", "c = a"], [1, 3]),  # no Python
        (["a = 1", "if True:\n    a = 2", "c = a"], [1, 2, 3]),
        (["a = 1", "b = 1; print(b)", "c = 3"], [3]),
        (["import m", "m.record(1)", "b = 2", "m.record(b)"], [3, 4]),  # a module is no result of what was called in it
        (["a = 1", "for x in [a]: pass", "for x in [2]: y = x"], [3]),  # loops of their own
        (["a = [1]", "b = [x for x in a]", "x = 2", "c = x"], [3, 4]),
        (["m = 1", "a = m.chat(1)", "c = m.chat(2)"], [1, 3]),  # nor does a model change with what it is asked
        (["m = 1", "a = m.train(1)", "c = m.chat(2)"], [1, 2, 3]),
    ],
)
def test_the_cells_behind_the_last_cell(cells, expected):
    """Counted from 1. What comes after it changes nothing."""
    for later in ([], ["a = 2"]):
        assert sorted(trail.cells_behind(("", *cells, *later), len(cells))) == expected


def test_outside_of_a_notebook_a_number_rests_on_all():
    store = Store()
    for n, (kind, maker) in enumerate([("reply", "a"), ("score", "a"), ("reply", "a")]):
        store.trail.append(Access(n, kind, maker, shipped=n, computed=1))
    expected = {"reply a": {"shipped": 2, "computed": 2}, "score a": {"shipped": 1, "computed": 1}}
    assert trail.behind(store) == trail.totals(store.trail) == expected


NOTEBOOK = """
from mindscape import store, trail
from mindscape.store import Maker, Store
import tempfile, json
scratch = tempfile.TemporaryDirectory()
store.use(Store(scratch.name + "/s", fresh=True))
def ask(name, n):
    maker = Maker(name, {"by": name})
    return store.current().fetch("reply", maker, list(range(n)), lambda places: [(i, i) for i in range(len(places))])
---
first = ask("ann", 2)
---
second = ask("bob", 3)
---
print(json.dumps([list(trail.behind(store.current())), sum(second)]))
---
third = sum(first); print(json.dumps(list(trail.behind(store.current()))))
"""


def test_in_a_notebook_a_number_rests_on_the_cells_behind_it():
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in NOTEBOOK.split("---")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    (of_second, _), of_first = (json.loads(cell.outputs[0]["text"]) for cell in notebook.cells[3:])
    assert [name.partition("-")[0] for name in of_second] == ["reply bob"]
    assert [name.partition("-")[0] for name in of_first] == ["reply ann"]


ABOUT = {"llm": "embedded", "k": [3, 5]}
ROWS = [{"n": 0}, {"text": "磨坊主 \ud800 \n"}, {"n": 2}]


def test_rows_come_back(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    assert trail.opened(path, {"llm": "embedded", "k": (3, 5)}, dict) == []
    trail.append(path, ROWS[:2])
    with path.open("a") as file:
        file.write('{"n": 1')  # what a kill left is not added to
    trail.append(path, ROWS[2:])
    assert trail.read_rows(path) == (ABOUT, ROWS) and trail.opened(path, ABOUT, dict) == ROWS
    assert trail.read_rows(path, lambda row: row.get("n"))[1] == [0, None, 2]


@given(st.data())
def test_a_kill_at_any_byte(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("kill") / "rows.jsonl"
    trail.opened(path, ABOUT, dict)
    trail.append(path, ROWS)
    whole = path.read_bytes()
    held = whole[: data.draw(st.integers(0, len(whole)))]
    path.write_bytes(held)
    kept = max(held.count(b"\n") - 1, 0)
    if b"\n" in held:
        assert trail.read_rows(path) == (ABOUT, ROWS[:kept]) and path.read_bytes() == held  # to read changes nothing
    assert trail.opened(path, ABOUT, dict) == ROWS[:kept]
    trail.append(path, ROWS[kept:])
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("a diary", "line 1|no whole line"),
        ("a diary\nof mine\n", "line 1: expected a line on the run"),
        ("[]\n", "line 1: expected a line on the run: .*no object"),
        ('{"llm": "embedded", "k": [3]}\n', r"another run: k is \[3\], expected \[3, 5\]; name another file"),
        ('{"llm": "embedded", "k": [3, 5], "more": 1}\n', "another run: more is 1, expected None"),
        (json.dumps(ABOUT) + "\n7\n", "line 2: expected a number: .*no object: 7"),
        (json.dumps(ABOUT) + '\n{"n": 1}\n{"m": 1}\n', "line 3: expected a number: KeyError"),
        (json.dumps(ABOUT) + '\n{"n": 1\n', "line 2: expected a number: .*JSON"),
    ],
)
def test_what_is_another_s_is_refused_and_left_alone(tmp_path, held, said):
    path = tmp_path / "rows.jsonl"
    path.write_text(held + "half a li")
    refused(lambda: trail.opened(path, ABOUT, lambda row: row["n"], noun="a number"), said)
    assert path.read_text() == held + "half a li"


def test_a_format_is_asked_for(tmp_path):
    trail.opened(tmp_path / "a", {"format": "rows 1"}, dict)
    assert trail.read_rows(tmp_path / "a", form="rows 1") == ({"format": "rows 1"}, [])
    said = "line 1: expected a line on the run: .*the format is 'rows 1': expected 'rows 2'"
    refused(lambda: trail.read_rows(tmp_path / "a", form="rows 2"), said)


def test_what_cannot_be_read_or_written(tmp_path):
    refused(lambda: trail.opened(tmp_path, ABOUT, dict), "cannot use .*: Is a directory")
    said = "cannot write .*; what was there before still is"
    refused(lambda: trail.append(tmp_path / "missing" / "rows.jsonl", ROWS), said, MindscapeError)


def test_whole_lines_cut_off_what_a_kill_left(tmp_path):
    (tmp_path / "log").write_text("1\n2\n3")
    assert trail.whole_lines(tmp_path / "log") == ["1", "2"] and (tmp_path / "log").read_text() == "1\n2\n"
