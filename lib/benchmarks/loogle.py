"""LooGLE: short and long dependencies in papers, Wikipedia articles and film scripts of after 2022.

A row is a text; its questions are a string that holds a Python literal, which the owners' scripts evaluate and this reads
as a literal, nothing else. Li et al., 2023. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.reading import json_lines, literal
from benchmarks.shapes import Found, Item, Report, Row, Unusable, checked, document, place
from mindscape.text import Document

PARTS = ("shortdep_qa", "shortdep_cloze", "longdep_qa", "longdep_summarization")
NAMES = {part: part for part in PARTS} | {"summarization": "longdep_summarization"}  # the file's newer name
NONE = ("none", "")
SUMMARISE = "Summarise the paper."  # ours; the rows hold no question


class _Row(Row):
    input: str
    title: str = ""
    qa_pairs: str | list
    output: str = ""


class _Pair(Row):
    Q: str
    A: str | dict[str, str]
    S: str | list[str] = []
    type: str = ""


def read_loogle(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The questions of the tasks that are there; `kind` is LooGLE's type of a long dependency.

    A cloze has one answer, the entities by mask as JSON. Evidence is often not word for word: what is not found even
    as a similar passage is in `unplaced`. Rejected: a string that is no literal, whatever it might do if it were run.
    """
    for path in files["rows"]:
        task = NAMES.get(path.stem)
        if task is None or part not in (None, task):
            continue
        for line, (where, row) in enumerate(json_lines(path), start=1):
            with report.holder(where, row):
                one = checked(_Row, row)
                text = document(one.input, "en", title=one.title.strip())
                asked = _pairs(one.qa_pairs) if task != "longdep_summarization" else []
                yield text
                if task == "longdep_summarization":
                    with report.row(where, row):
                        if one.output.strip().lower() in NONE:
                            raise Unusable("there is no summary")
                        raw = {"title": one.title}
                        yield Item(f"{task}/{line}", text.id, SUMMARISE, (one.output,), part=task, raw=raw)
                for number, pair in enumerate(asked, start=1):
                    with report.row(f"{where}, question {number}", pair):
                        yield _item(f"{task}/{line}/{number}", checked(_Pair, pair), text, task, pair)


def _pairs(pairs: str | list) -> list:
    """The questions of a row. The owners' description shows a list, their files hold a string."""
    if isinstance(pairs, str):
        if pairs.strip().lower() in NONE:
            raise Unusable("there are no questions: qa_pairs is 'none'")
        try:
            pairs = literal(pairs)
        except ValueError as error:
            raise Unusable(f"qa_pairs: {error}") from None
    if not isinstance(pairs, list) or not pairs:
        raise Unusable("qa_pairs: expected a list of questions")
    return pairs


def _item(name: str, pair: _Pair, text: Document, task: str, raw: Any) -> Item:
    answer = pair.A if isinstance(pair.A, str) else json.dumps(pair.A, ensure_ascii=False)
    evidence, lost = place([pair.S] if isinstance(pair.S, str) else pair.S, text)
    return Item(
        id=name,
        doc_id=text.id,
        question=pair.Q,
        answers=(answer,),
        evidence=evidence,
        unplaced=lost,
        part=task,
        kind=pair.type,
        raw=raw,
    )
