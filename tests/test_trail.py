"""What a number rests on: the cells that made what it is computed from, as the notebook's own code says."""

import json

import pytest

from mindscape import trail
from mindscape.store import Access, Store


def behind(*cells, of=-1):
    """The cells, counted from 1, that one of them rests on."""
    sources = ("", *cells)
    return sorted(trail.cells_behind(sources, range(len(sources))[of]))


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
def test_the_cells_behind_a_cell(cells, expected):
    assert behind(*cells) == expected


def test_a_cell_does_not_rest_on_later_ones():
    assert behind("a = 1", "c = a", "a = 2", of=2) == [1, 2]


def test_outside_of_a_notebook_a_number_rests_on_all():
    store = Store()
    for n, (kind, maker) in enumerate([("reply", "a"), ("score", "a"), ("reply", "a")]):
        store.trail.append(Access(n, kind, maker, shipped=n, computed=1))
    expected = {"reply a": {"shipped": 2, "computed": 2}, "score a": {"shipped": 1, "computed": 1}}
    assert trail.behind(store) == trail.totals(store) == expected


def test_equal_sources_have_one_name():
    one, two = {"reply a": {"shipped": 2}}, {"reply a": {"shipped": 3}}
    table = {}
    assert [trail.source_name(of, table) for of in (one, {}, two, one)] == ["s1", trail.NOTHING, "s2", "s1"]
    assert table == {"s1": one, "s2": two}


NOTEBOOK = """
from mindscape import store, trail
from mindscape.store import Maker, Store
import tempfile, json
store.use(Store(tempfile.mkdtemp() + "/s", fresh=True))
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
    import nbformat
    from nbclient import NotebookClient

    cells = [nbformat.v4.new_code_cell(source.strip()) for source in NOTEBOOK.split("---")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    (of_second, _), of_first = (json.loads(cell.outputs[0]["text"]) for cell in notebook.cells[3:])
    assert [name.partition("-")[0] for name in of_second] == ["reply bob"]
    assert [name.partition("-")[0] for name in of_first] == ["reply ann"]
