"""Files of rows: gone on with after a kill at any byte, refused and left alone where they are another's."""

import json

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st

from mindscape import trail
from mindscape.errors import MindscapeError

ABOUT = {"llm": "embedded", "k": [3, 5]}
ROWS = [{"n": 0}, {"text": "磨坊主 \ud800 \n"}, {"n": 2}]


def test_rows_come_back(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    assert trail.opened(path, {"llm": "embedded", "k": (3, 5)}) == []
    trail.append(path, ROWS[:2])
    trail.append(path, ROWS[2:])
    assert trail.read_rows(path) == (ABOUT, ROWS) and trail.opened(path, ABOUT) == ROWS
    assert trail.read_rows(path, lambda row: row.get("n"))[1] == [0, None, 2]


@given(st.data())
def test_a_kill_at_any_byte(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("kill") / "rows.jsonl"
    trail.opened(path, ABOUT)
    trail.append(path, ROWS)
    whole = path.read_bytes()
    held = whole[: data.draw(st.integers(0, len(whole)))]
    path.write_bytes(held)
    kept = max(held.count(b"\n") - 1, 0)
    if b"\n" in held:
        assert trail.read_rows(path) == (ABOUT, ROWS[:kept]) and path.read_bytes() == held  # to read changes nothing
    assert trail.opened(path, ABOUT) == ROWS[:kept]
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
    refused(lambda: trail.opened(path, ABOUT, lambda row: row["n"], of="a number"), said)
    assert path.read_text() == held + "half a li"


def test_a_format_is_asked_for(tmp_path):
    trail.opened(tmp_path / "a", {"format": "rows 1"})
    assert trail.read_rows(tmp_path / "a", form="rows 1") == ({"format": "rows 1"}, [])
    said = "line 1: expected a line on the run: .*the format is 'rows 1': expected 'rows 2'"
    refused(lambda: trail.read_rows(tmp_path / "a", form="rows 2"), said)


def test_what_a_kill_left_is_not_added_to(tmp_path):
    trail.opened(tmp_path / "a", ABOUT)
    with (tmp_path / "a").open("a") as file:
        file.write('{"n": 1')
    trail.append(tmp_path / "a", ROWS)
    assert trail.read_rows(tmp_path / "a") == (ABOUT, ROWS)


def test_what_cannot_be_read_or_written(tmp_path):
    refused(lambda: trail.read_rows(tmp_path / "missing"), "cannot read .*: No such file")
    refused(lambda: trail.opened(tmp_path, ABOUT), "cannot use .*: Is a directory")
    with pytest.raises(MindscapeError, match="cannot write .*; what was there before still is"):
        trail.append(tmp_path / "missing" / "rows.jsonl", ROWS)


def test_whole_lines_cut_off_what_a_kill_left(tmp_path):
    (tmp_path / "log").write_text("1\n2\n3")
    assert trail.whole_lines(tmp_path / "log") == ["1", "2"] and (tmp_path / "log").read_text() == "1\n2\n"
