"""NovelHopQA: questions of one to four hops on novels in the public domain.

A row brings the paragraphs that its question was made from; the novels are not part of it. Put them, named by title,
into a folder `novels`, and the paragraphs become evidence in them. Gupta et al., 2025. The format is known from others'
loaders. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from benchmarks.reading import csv_rows, json_lines, json_list
from benchmarks.shapes import Found, Item, Passage, Report, Row, checked, document, place, rest
from mindscape.corpora import own
from mindscape.folding import fold
from mindscape.text import Document, Span, locate

PARTS = ("hop_1", "hop_2", "hop_3", "hop_4")
COLUMNS = ("book", "context", "question", "answer")


class _Row(Row):
    book: str
    context: str
    question: str
    answer: str
    id: int | str | None = None
    qid: int | str | None = None


def read_novelhopqa(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The rows of the splits that are there, on the novel where it is there, else on their own paragraphs."""
    novels = {title_key(path.stem): path for path in files["novels"] if path.suffix in own.SUFFIXES}
    texts: dict[str, Document] = {}
    for path in files["rows"]:
        if path.stem not in PARTS or part not in (None, path.stem):
            continue
        for number, (where, row) in enumerate(_rows(path), start=1):
            with report.row(where, row):
                one = checked(_Row, row)
                title = title_key(one.book)
                if title in novels:
                    if title not in texts:
                        texts = {title: own.document(novels[title], "en")}  # one at a time: mostly they come in a row
                    text = texts[title]
                    evidence, lost = _evidence(one.context, text)
                else:
                    report.notes["no novel of this title: the question is on its own paragraphs"] += 1
                    text = document(one.context, "en", "context", title=one.book)
                    evidence, lost = (), ()
                yield text
                name = next((each for each in (one.id, one.qid) if each not in (None, "")), number)
                yield Item(
                    id=f"{path.stem}/{name}",
                    doc_id=text.id,
                    question=one.question,
                    answers=(one.answer,),
                    evidence=evidence,
                    unplaced=lost,
                    part=path.stem,
                    kind=path.stem,
                    raw=rest(row, "context"),
                )


def _rows(path: Path) -> Iterator[tuple[str, dict]]:
    if path.suffix == ".csv":
        return csv_rows(path, COLUMNS)
    return json_list(path) if path.suffix == ".json" else json_lines(path)


def _evidence(context: str, novel: Document) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """Where a row's text stands in the novel: all of it at once, or paragraph by paragraph."""
    whole: Span | None = locate(context, novel) if context.strip() else None
    if whole:
        return (Passage(novel.id, whole.start, whole.end),), ()
    return place(context.split("\n\n"), novel)


def title_key(title: str) -> str:
    """A title as titles are compared: no accents, case or punctuation.

    >>> title_key("Les Misérables: Vol. I") == title_key("les miserables - vol i")
    True
    """
    bare = unicodedata.normalize("NFKD", fold(title).casefold())
    letters = "".join(character for character in bare if not unicodedata.combining(character))
    return " ".join("".join(character if character.isalnum() else " " for character in letters).split())
