"""NarrativeQA: questions on whole books and film scripts, written by people who had read a summary only.

As its owners publish it: `documents.csv`, `qaps.csv`, summaries, and a script that fetches the stories into
`tmp/<document_id>.content`. As on Hugging Face: rows that hold all of it, the story again for each question. Kočiský et
al., 2018. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.reading import csv_rows, json_lines, text_of_page, unmarked, unpacked
from benchmarks.shapes import Found, Item, Report, Row, Unusable, checked, document, rest
from mindscape.errors import InputError
from mindscape.text import Document

PARTS = ("train", "valid", "test")
SETS = {"validation": "valid"}  # Hugging Face's name: the owners'
DOCUMENTS = ("document_id", "set", "kind", "story_file_size", "wiki_title", "story_start", "story_end")
QUESTIONS = ("document_id", "set", "question", "answer1", "answer2")
TOO_SHORT = 0.5  # of the published size; their own check asks for 3.5 % more or less, sites have changed since


def read_narrativeqa(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The owners' CSV files with the fetched stories. A story's published summary is in `meta["summary"]`.

    Rejected: questions whose story is missing, or less than half as long as published (a site's error page, most
    likely). What precedes the story's first words and follows its last is cut off.
    """
    about = {row["document_id"]: row for _, row in csv_rows(files["documents"][0], DOCUMENTS)}
    summaries = {
        row["document_id"]: row["summary"]
        for path in files["summaries"]
        for _, row in csv_rows(path, ("document_id", "summary"))
    }
    stories = {path.stem: path for path in files["stories"]}  # found by name: no id becomes a path
    faults, asked = {}, Counter()
    for where, row in csv_rows(files["questions"][0], QUESTIONS):
        name, split = row["document_id"], SETS.get(row["set"], row["set"])
        if part not in (None, split):
            continue
        with report.row(where, row):
            if name not in faults:
                try:
                    story = _story(about.get(name), stories.get(name), summaries.get(name, ""), report)
                    faults[name] = ""
                    yield story
                except Unusable as error:
                    faults[name] = str(error)
            if faults[name]:
                raise Unusable(faults[name])
            asked[name] += 1
            answers = tuple(dict.fromkeys(filter(str.strip, (row["answer1"], row["answer2"]))))
            kind = about[name]["kind"]
            yield Item(f"{name}/{asked[name]}", name, row["question"], answers, part=split, kind=kind, raw=row)


def _story(about: Mapping[str, str] | None, path: Path | None, summary: str, report: Report) -> Document:
    if about is None:
        raise Unusable("documents.csv has no line for its document_id")
    if path is None:
        raise Unusable("its story has not been fetched: expected tmp/<document_id>.content")
    try:
        data = unpacked(path)
        if len(data) < TOO_SHORT * _size(about["story_file_size"]):
            raise Unusable("its story is less than half as long as published: an error page? Fetch it again")
        text = text_of_page(data, str(path))
    except InputError as error:
        raise Unusable(str(error)) from None
    text = trimmed(text, about["story_start"], about["story_end"], report)
    meta = {"title": about["wiki_title"], "kind": about["kind"], "summary": summary}
    return document(text, "en", name=about["document_id"], **meta)


def _size(cell: str) -> int:
    """A number of bytes; 0 for a cell that holds none."""
    return int(cell) if re.fullmatch(r"\s*[0-9]{1,12}\s*", cell) else 0


def trimmed(text: str, first: str, last: str, report: Report) -> str:
    """The text from its first words to its last, which are given as tokens with blanks between them.

    >>> trimmed("Fetched by X. Call me Ann. The end. Licence.", "Call me", "The end .", Report("toy"))
    'Call me Ann. The end.'
    """
    starts, ends = (re.compile(r"\s*".join(map(re.escape, words.split()))) for words in (first, last))
    start = starts.search(text) if first.strip() else None
    begin = start.start() if start else 0
    end = next(reversed([found.end() for found in ends.finditer(text, begin)] if last.strip() else []), None)
    if start is None or end is None:
        report.notes["a story's first or last words are not in it: not cut there"] += 1
    return text[begin:end]


class _Text(Row):
    text: str


class _Document(Row):
    id: str
    kind: str = ""
    start: str = ""
    end: str = ""
    text: str
    summary: dict


class _Asked(Row):
    document: _Document
    question: _Text
    answers: list[_Text]


def read_hub(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """Hugging Face's rows, saved as JSON lines, one file a split. A story is kept once, however often it comes."""
    seen, asked = set(), Counter()
    for path in files["rows"]:
        split = SETS.get(path.stem.split("-")[0], path.stem.split("-")[0])
        if part not in (None, split):
            continue
        for where, row in json_lines(path):
            with report.row(where, row):
                one = checked(_Asked, row)
                name, kind = one.document.id, one.document.kind
                if name not in seen:
                    text = unmarked(one.document.text, where)
                    text = trimmed(text, one.document.start, one.document.end, report)
                    about = one.document.summary
                    meta = {"title": about.get("title", ""), "kind": kind, "summary": about.get("text", "")}
                    yield document(text, "en", name=name, **meta)
                    seen.add(name)
                asked[name] += 1
                answers = tuple(dict.fromkeys(each.text for each in one.answers))
                raw = row | {"document": rest(row["document"], "text")}
                yield Item(f"{name}/{asked[name]}", name, one.question.text, answers, part=split, kind=kind, raw=raw)
