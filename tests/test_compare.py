"""A fresh run is held to the stored numbers, the store to what was asked for, and the comparison can fail."""

import json

import pytest

from mindscape.store import Maker, Store
from mindscape.workflow import stored as tool

STORED = {
    "a": {"value": 0.5, "ci": [0.4, 0.6], "n": 12, "rows": "x1", "from": "s1"},
    "speed": {"value": 900.0, "varies": "wall time", "from": "no model"},
}


@pytest.fixture
def compare(tmp_path, capsys):
    """The status and what is said of a run in the folder `fresh`, which is as `build` is."""

    def compare(fresh, stored=STORED, finished=True):
        for folder, metrics, whole in (("build/figures", fresh, finished), ("figures", stored, True)):
            (tmp_path / folder / "00_n").mkdir(parents=True, exist_ok=True)
            text = json.dumps({"finished": whole, "metrics": metrics})
            (tmp_path / folder / "00_n" / "results.json").write_text(text)
        return tool.compare(tmp_path / "build", tmp_path), capsys.readouterr().out

    return compare


def test_equal_numbers_pass_and_speeds_and_where_a_number_comes_from_may_differ(compare):
    fresh = {"a": {**STORED["a"], "value": 0.50001, "from": "s2"}, "speed": {"value": 1.0, "varies": "wall time"}}
    assert compare(fresh) == (0, "1 numbers as stored, 0 findings; 1 that vary from run to run were not compared\n")


CHANGES = [{"value": 0.51}, {"ci": [0.4, 0.7]}, {"n": 11}, {"rows": "x2"}, {"varies": "suddenly"}]


@pytest.mark.parametrize(
    ("fresh", "stored", "finished", "message"),
    [
        *(({**STORED, "a": STORED["a"] | change}, STORED, True, "00_n: a was") for change in CHANGES),
        ({**STORED, "new": {"value": 1}}, STORED, True, "00_n: new is only in the new run"),
        ({"speed": STORED["speed"]}, STORED, True, "a is only in the old run"),
        (STORED, STORED, False, "did not finish"),
        ({"speed": STORED["speed"]}, {"speed": STORED["speed"]}, True, "0 numbers as stored"),
    ],
)
def test_any_other_difference_an_unfinished_run_and_comparing_nothing_fail(compare, fresh, stored, finished, message):
    code, said = compare(fresh, stored, finished)
    assert code == 1 and message in said


def test_a_verdict_that_turns_fails_though_its_number_is_as_stored(compare, tmp_path):
    (tmp_path / "data").mkdir()
    claim = {"id": "a.b", "paper": "MoM", "place": "section 3", "claim": "It holds.", "paper_value": "stated"}
    claim |= {"notebook": "00_n", "metrics": ["a"], "reproduced": ["a.value >= 0.5"]}
    (tmp_path / "data" / "claims.yaml").write_text(json.dumps([claim]))
    assert compare(STORED)[0] == 0
    code, said = compare({**STORED, "a": {**STORED["a"], "value": 0.4999}})
    assert code == 1 and "00_n: the verdict on a.b was 'reproduced', is 'contradicted'" in said


def test_a_run_that_is_not_there_fails(compare, tmp_path):
    (tmp_path / "figures" / "01_m").mkdir(parents=True)
    (tmp_path / "figures" / "01_m" / "results.json").write_text("{}")
    code, said = compare(STORED)
    assert code == 1 and "01_m: no fresh results" in said


def test_an_entry_that_no_notebook_asks_for_fails(compare, tmp_path):
    store = Store(tmp_path / "cache.sqlite", tmp_path / "data" / "store", fill=True)
    maker = Maker("ann", {"base": "1"})
    keys = [Store.key("any", maker, n) for n in range(3)]
    store.put("any", maker, dict.fromkeys(keys, 1))
    store.flush()
    (tmp_path / "build" / "asked").mkdir(parents=True)
    for n, part in enumerate((keys[:2], keys[2:])):
        (tmp_path / "build" / "asked" / f"0{n}.txt").write_text("\n".join(part) + "\n")
    assert compare(STORED)[0] == 0
    (tmp_path / "build" / "asked" / "01.txt").unlink()
    code, said = compare(STORED)
    assert code == 1 and f"any.{maker.label}.jsonl: 1 of 3 entries no notebook asks for, such as {keys[2]}" in said
