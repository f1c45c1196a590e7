"""CRUD-RAG: four things that retrieval is good for, on Chinese news: continue, answer, correct, summarise.

One file holds the rows of six tasks; 80,000 articles are the collection to search. Lyu et al., 2024. The rows' keys are
known from the owners' code. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mindscape.corpora.benchmarks.reading import json_file, text_lines
from mindscape.corpora.benchmarks.shapes import (
    COLLECTION,
    Found,
    Item,
    Passage,
    Report,
    Row,
    Unusable,
    checked,
    document,
    rest,
)
from mindscape.errors import InputError
from mindscape.text import Document

ANSWERS = {"questanswer_1doc": 1, "questanswer_2docs": 2, "questanswer_3docs": 3}  # task: articles a question
PARTS = (*ANSWERS, "event_summary", "continuing_writing", "hallu_modified")
DATE = re.compile(r"^\s*(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*[，,]\s*正文[：:]\s*")
BREAKS = re.compile(r"(?<![!-~\s])\s+|\s+(?![!-~\s])")  # white space with something beside it that is not ASCII
FAILED = '","msg":"request openai failed"'  # what the owners' generator left where it got no reply


class _Question(Row):
    ID: int | str
    questions: str
    answers: str


class _Summary(Row):
    ID: int | str
    event: str
    text: str
    summary: str


class _Continuation(Row):
    ID: int | str
    beginning: str
    continuing: str


class _Correction(Row):
    ID: int | str
    newsBeginning: str
    hallucinatedContinuation: str
    hallucinatedMod: str


def read(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The rows of all tasks. Each is put to the collection, so its doc_id is empty; where a row brings articles, they are
    documents and evidence. An article has the same id in `articles`, so that evidence is found there too.

    A summary's question is the event, a continuation's the beginning, and a correction's the beginning with the wrong
    continuation on a line of its own. Rejected: rows whose correction the owners' generator failed to write.
    """
    path = files["rows"][0]
    tasks = json_file(path)
    if not isinstance(tasks, dict) or not set(tasks) & set(PARTS):
        keys = ", ".join(sorted(map(str, tasks))) if isinstance(tasks, dict) else type(tasks).__name__
        raise InputError(f"{path} holds {keys}: expected an object with the lists {', '.join(PARTS)}")
    if files[COLLECTION]:
        report.collection = frozenset(article.id for article in articles(files))
    for task in PARTS:
        if part in (None, task):
            rows = tasks.get(task, [])
            if not isinstance(rows, list):
                raise InputError(f"{path}: {task} is no list: expected a list of rows")
            for number, row in enumerate(rows, start=1):
                with report.row(f"{path}, {task}, row {number}", row):
                    yield from _of(task, row)


def _of(task: str, row: dict) -> list[Document | Item]:
    if task in ANSWERS:
        one = checked(_Question, row)
        names = [f"news{number}" for number in range(1, ANSWERS[task] + 1)]
        absent = [name for name in names if not isinstance(row.get(name), str)]
        if absent:
            raise Unusable(f"{absent[0]}: Field required")
        return _put(task, one, one.questions, one.answers, row, names)
    if task == "event_summary":
        one = checked(_Summary, row)
        return _put(task, one, one.event, one.summary, row, ["text"])
    if task == "continuing_writing":
        one = checked(_Continuation, row)
        return _put(task, one, one.beginning, one.continuing, row)
    one = checked(_Correction, row)
    if one.hallucinatedMod.strip() == FAILED:
        raise Unusable("the owners' request for its correction failed")
    return _put(task, one, f"{one.newsBeginning}\n{one.hallucinatedContinuation}", one.hallucinatedMod, row)


def _put(
    task: str, one: Row, question: str, answer: str, row: dict, names: Sequence[str] = ()
) -> list[Document | Item]:
    """A row's item, after the articles under the keys `names`, which are its evidence."""
    texts = [_article(row[name]) for name in names]
    item = Item(
        id=f"{task}/{one.ID}",
        doc_id="",
        question=question,
        answers=(answer,),
        evidence=tuple(Passage(text.id, 0, len(text.text)) for text in texts),
        language="zh",
        part=task,
        raw=rest(row, *names),
    )
    return [*texts, item]


def _article(text: str) -> Document:
    """A news article as both the rows and the collection can have it, so that its id is the same.

    Some copies begin with a date, and the collection has no line breaks: the date goes to `meta`, and white space stays
    between Latin words alone.
    """
    date = DATE.match(text)
    bare = BREAKS.sub("", (text[date.end() :] if date else text).strip())
    return document(" ".join(bare.split()), "zh", "news", **({"date": date[1]} if date else {}))


def articles(files: Found) -> Iterator[Document]:
    """The collection: one article a line, most of them with date and time before the text; these go to `meta["date"]`.

    >>> article = _article("2023-08-01 09:30:00，正文：桥修好了。")
    >>> article.text, article.meta["date"]
    ('桥修好了。', '2023-08-01 09:30:00')
    """
    for path in files[COLLECTION]:
        for _, line in text_lines(path):
            try:
                yield _article(line)
            except Unusable:
                continue


def checks(path: str | Path, report: Report | None = None) -> dict[str, tuple[tuple[str, str], ...]]:
    """By row, the (question, answer) pairs that RAGQuestEval asks of a reply: a `*_quest_gt_save.json` of the owners.

    An answer "无法推断" says that the article does not tell. Entries without a key, or with more questions than answers
    or fewer, are left out and counted in `report`. Raises InputError for a file that is no object.

    >>> checks("src/quest_eval/QuestAnswer1Doc_quest_gt_save.json")["12"]                    # doctest: +SKIP
    (('谁修了桥？', '县里'), ('花了多少钱？', '无法推断'))
    """
    report = report or Report("crud-rag checks")
    entries = json_file(Path(path))
    if not isinstance(entries, dict):
        raise InputError(f"{path}: expected an object from row ids to their questions and answers")
    found = {}
    for name, entry in entries.items():
        with report.row(f"{path}, entry {name}", entry):
            one = checked(_Check, entry)
            if len(one.question) != len(one.answers):
                raise Unusable("it has another number of answers than of questions")
            report.items += 1
            found[name] = tuple(zip(one.question, one.answers, strict=True))
    return found


class _Check(Row):
    question: list[str]
    answers: list[str]
