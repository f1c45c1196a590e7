"""OmniEval: questions on Chinese finance, by topic and by five kinds of task, among them whole conversations.

A tree of folders by topic, a file of JSON lines a task; a line of the conversations is a list of turns. Wang et al.,
2024. The format is known from the owners' code, not from the data's description. Meant for notebooks 10 and on, pointed
at a real benchmark.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.reading import json_lines, json_list
from benchmarks.shapes import COLLECTION, Found, Item, Passage, Report, Row, Unusable, checked, document, rest
from mindscape.text import Document

TASKS = {  # the files' names: ours
    "抽取类问答": "extractive",
    "多跳推理类问答": "multi-hop",
    "对比类问答": "contrast",
    "长答案形式问答": "long-form",
    "多轮对话能力": "multi-turn",
}
PARTS = tuple(TASKS.values())


class _Row(Row):
    question: str
    answer: str | list[str]
    relevant_passage: list[str] = []
    topic_name: str = ""
    task_name: str = ""


class _Entry(Row):
    id: int | str
    title: str = ""
    contents: str


def read_omnieval(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The questions; `kind` is the topic, `group` the conversation whose earlier turns a later one may need.

    The relevant passages are documents and evidence; doc_id is empty, as a question is put to the collection. The
    model's notes on how it made a question stay in `raw`, under either spelling, `thought_process` or `though_process`.
    MoM's copy is one list of questions and answers, without passages.
    """
    if files[COLLECTION]:
        report.collection = frozenset(text.id for text in passages(files, report))
    for path in files["rows"]:
        if path.suffix == ".json":
            report.notes["MoM's copy: the relevant passages are not in it"] += 1
            rows = ((where, [row]) for where, row in json_list(path))
        else:
            rows = ((where, row if isinstance(row, list) else [row]) for where, row in json_lines(path))
        for line, (where, turns) in enumerate(rows, start=1):
            talk = len(turns) > 1 or TASKS.get(path.stem) == "multi-turn"
            if not turns:
                with report.row(where):
                    raise Unusable("the conversation is empty")
            for number, row in enumerate(turns, start=1):
                task = _task(row, path)
                if part in (None, task):
                    with report.row(f"{where}, turn {number}" if talk else where, row):
                        one = checked(_Row, row)
                        name = f"{path.relative_to(report.folder).with_suffix('').as_posix()}/{line}"
                        yield from _asked(one, task, name, number if talk else 0, row)


def _task(row: Any, path: Path) -> str:
    said = row.get("task_name") if isinstance(row, dict) else None
    return TASKS.get(said if isinstance(said, str) else "") or TASKS.get(path.stem, "")


def _asked(one: _Row, task: str, name: str, turn: int, row: dict) -> list[Document | Item]:
    texts = [document(passage, "zh", "passage") for passage in dict.fromkeys(one.relevant_passage) if passage.strip()]
    item = Item(
        id=f"{name}/{turn}" if turn else name,
        doc_id="",
        question=one.question,
        answers=(one.answer,) if isinstance(one.answer, str) else tuple(one.answer),
        evidence=tuple(Passage(text.id, 0, len(text.text)) for text in texts),
        language="zh",
        part=task,
        kind=one.topic_name,
        group=name if turn else "",
        raw=rest(row, "relevant_passage"),
    )
    return [*texts, item]


def passages(files: Found, report: Report | None = None) -> Iterator[Document]:
    """The collection that questions are put to; `meta` has each entry's own id and title.

    A passage that a question names has the same id if its text is the same to the letter.
    """
    report = report or Report("omnieval collection")
    for path in files[COLLECTION]:
        for _, row in json_lines(path):
            try:
                one = checked(_Entry, row)
                yield document(one.contents, "zh", "passage", own_id=str(one.id), title=one.title)
            except Unusable as error:
                report.notes[f"an entry of the collection is passed over: {error}"] += 1
