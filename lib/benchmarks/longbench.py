"""LongBench v2, 503 hard choices on long texts of all sorts, and MultiFieldQA-zh, 200 rows of the first LongBench.

Bai et al., 2023 and 2024. `data.json` of v2 is one list of 465 MB and is read piece by piece; its column `length` is a
word, short, medium or long. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

from collections.abc import Iterator
from typing import Literal

from benchmarks.reading import json_lines, json_list
from benchmarks.shapes import LETTERS, Found, Item, Report, Row, checked, document, rest
from mindscape.text import Document

PARTS = ("short", "medium", "long")


class _Choice(Row):
    domain: str = ""
    difficulty: str
    length: Literal["short", "medium", "long"]
    question: str
    choice_A: str
    choice_B: str
    choice_C: str
    choice_D: str
    answer: Literal["A", "B", "C", "D"]
    context: str


def read_v2(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The choices; `part` is the length, `kind` domain and difficulty. Long texts stay in: without them scores rise."""
    for where, row in json_list(files["rows"][0]):
        if part is not None and isinstance(row, dict) and row.get("length") != part:
            continue
        with report.row(where, row):
            one = checked(_Choice, row)
            options = (one.choice_A, one.choice_B, one.choice_C, one.choice_D)
            text = document(one.context, "en")
            yield text
            yield Item(
                id=str(row.get("_id") or where.rpartition(" ")[2]),
                doc_id=text.id,
                question=one.question,
                answers=(options[LETTERS.index(one.answer)],),
                options=options,
                choice=one.answer,
                part=one.length,
                kind=f"{one.domain}/{one.difficulty}",
                raw=rest(row, "context"),
            )


class _Field(Row):
    input: str
    context: str
    answers: list[str]


class _Copied(Row):
    question: str
    answer: str


def read_multifieldqa(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """LongBench's own rows; or MoM's copy, a list of questions and answers without their texts, and so without doc_id."""
    path = files["rows"][0]
    if path.suffix == ".json":
        for number, (where, row) in enumerate(json_list(path), start=1):
            with report.row(where, row):
                copied = checked(_Copied, row)
                report.notes["MoM's copy: the question's text is not in it"] += 1
                yield Item(str(number), "", copied.question, (copied.answer,), language="zh", raw=row)
        return
    for number, (where, row) in enumerate(json_lines(path), start=1):
        with report.row(where, row):
            one = checked(_Field, row)
            text = document(one.context, "zh")
            yield text
            name = str(row.get("_id") or number)
            yield Item(name, text.id, one.input, tuple(one.answers), language="zh", raw=rest(row, "context"))
