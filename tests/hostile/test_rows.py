"""Rows of benchmarks as other programs write them: null in other words, numbers that are none, bytes that are no text."""

import json

import pytest

import benchmarks
from benchmarks.files import json_file, json_lines, json_list

ROW = {"id": 7, "context": "Rain. Ann sold the lamp.", "input": "Who sold it?", "answer": ["Ann"], "options": []}
ROW |= {"options": ["Ann", "Tom", "Ivo", "Eva"]}


def read(tmp_path, rows: list[str]) -> benchmarks.Loaded:
    home = tmp_path / "infinitebench"
    home.mkdir()
    (home / "longbook_choice_eng.jsonl").write_bytes("\n".join(rows).encode("utf-8", "surrogatepass"))
    return benchmarks.load_dataset("infinitebench", tmp_path, part="longbook_choice_eng")


def line(**changes) -> str:
    return json.dumps(ROW | changes, ensure_ascii=False)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (line(id="nan"), "it has no id of its own"),
        (line(id="None"), "it has no id of its own"),
        (line(context="Rain.\0 Ann."), "the text holds NUL"),
        (line(id=8, input="Who\0?"), "NUL within"),
        (json.dumps(ROW | {"id": 8, "input": "Who \ud800?"}), "half of a surrogate pair"),
        (json.dumps(ROW | {"context": "Rain \ud800"}), "half of a surrogate pair"),
        (line(input=float("nan")), "input: "),
        (line(answer=float("inf")), "answer: "),
        (line().replace('["Ann"]', "1e999"), "answer: "),
    ],
)
def test_a_row_costs_itself_alone_and_says_why(tmp_path, row, said):
    loaded = read(tmp_path, [line(), row])
    assert len(loaded.items) == 1
    [reason] = loaded.report.rejected
    assert said in reason and loaded.report.rejected[reason].where.endswith("line 2")


def test_a_row_without_a_number_is_called_by_its_place(tmp_path):
    rows = [line(id=None), line(id=float("nan"), input="Who bought it?"), line().replace('"id": 7', '"id": 1e999')]
    loaded = read(tmp_path, rows)
    ids = [item.id for item in loaded.items]
    assert len(set(ids)) == len(ids) and not {"nan", "None", "inf"} & set(ids)


def test_a_number_that_is_none_is_null(tmp_path):
    file, text = tmp_path / "rows.json", '[{"a": NaN, "b": [Infinity, -Infinity, 1e999, 1.5, 2]}]'
    file.write_text(text)
    row = {"a": None, "b": [None, None, None, 1.5, 2]}
    assert json_file(file) == [row] and [value for _, value in json_list(file, 1)] == [row]
    file.write_text(text[1:-1])
    assert [value for _, value in json_lines(file)] == [row]
