"""CRUD-RAG: four things that retrieval is good for, on Chinese news: continue, answer, correct, summarise.

One file holds the rows of six tasks; 80,000 articles are the collection to search. Lyu et al., 2024. The rows' keys are
known from the owners' code. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import create_model

from benchmarks.reading import json_file, text_lines
from benchmarks.shapes import COLLECTION, Found, Item, Passage, Report, Row, Unusable, checked, document, rest
from mindscape.errors import InputError, require
from mindscape.text import Document

FORMS = {  # task: the keys of what asks, of what answers, of the articles that the answer is in
    "questanswer_1doc": (["questions"], "answers", ["news1"]),
    "questanswer_2docs": (["questions"], "answers", ["news1", "news2"]),
    "questanswer_3docs": (["questions"], "answers", ["news1", "news2", "news3"]),
    "event_summary": (["event"], "summary", ["text"]),
    "continuing_writing": (["beginning"], "continuing", []),
    "hallu_modified": (["newsBeginning", "hallucinatedContinuation"], "hallucinatedMod", []),
}
TEXT: Any = (str, ...)  # a field that must be there
ROWS = {  # task: its rows
    task: create_model(task, __base__=Row, ID=(int | str, ...), **dict.fromkeys([*asked, answer, *news], TEXT))
    for task, (asked, answer, news) in FORMS.items()
}
PARTS = tuple(FORMS)
DATE = re.compile(r"^\s*(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*[，,]\s*正文[：:]\s*")
BREAKS = re.compile(r"(?<![!-~\s])\s+|\s+(?![!-~\s])")  # white space with something beside it that is not ASCII
FAILED = '","msg":"request openai failed"'  # what the owners' generator left where it got no reply


def read_crud_rag(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
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
            require(isinstance(rows, list), f"{path}: {task} is no list: expected a list of rows")
            for number, row in enumerate(rows, start=1):
                with report.row(f"{path}, {task}, row {number}", row):
                    yield from _of(task, row)


def _of(task: str, row: dict) -> list[Document | Item]:
    """A row's item, after its articles, which are its evidence."""
    checked(ROWS[task], row)
    asked, answer, news = FORMS[task]
    if row[answer].strip() == FAILED:
        raise Unusable("the owners' request for its correction failed")
    texts = [_article(row[name]) for name in news]
    item = Item(
        id=f"{task}/{row['ID']}",
        doc_id="",
        question="\n".join(row[key] for key in asked),
        answers=(row[answer],),
        evidence=tuple(Passage(text.id, 0, len(text.text)) for text in texts),
        language="zh",
        part=task,
        raw=rest(row, *news),
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
