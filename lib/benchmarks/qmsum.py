"""QMSum: what was said on something in a meeting, answered by a summary.

Meetings of academics, product teams and parliamentary committees. Questions on the whole meeting have no evidence, those
on a part have spans of turns. Zhong et al., 2021. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import json
from collections.abc import Iterator

from benchmarks.reading import json_file, json_lines
from benchmarks.shapes import Found, Item, Passage, Report, Row, Unusable, checked, document, joined
from mindscape.text import Document

PARTS = ("train", "val", "test")
DOMAINS = ("ALL", "Academic", "Committee", "Product")  # the folders; the first holds the others' meetings too
WHOLE, PARTIAL = "general", "specific"


class _Turn(Row):
    speaker: str
    content: str


class _Query(Row):
    query: str
    answer: str
    relevant_text_span: list[list[str | int]] = []


class _Meeting(Row):
    topic_list: list = []
    general_query_list: list = []
    specific_query_list: list = []
    meeting_transcripts: list[_Turn]


def read_qmsum(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The queries of the splits that are there. A text is a line a turn, "speaker: content"; `meta` has its topics.

    Evidence is the passage from the first to the last turn of each span. A span that runs backwards or out of the
    meeting is not placed. A meeting has no name in the files: it is called by split and line, or by its own file.
    """
    for path in files["meetings"]:
        lines = path.suffix == ".jsonl"
        split = path.stem if lines else path.parent.name
        if split not in PARTS or part not in (None, split):
            continue
        domain = path.parents[1].name if path.parents[1].name in DOMAINS else DOMAINS[0]
        rows = json_lines(path) if lines else [(str(path), json_file(path))]
        for number, (where, row) in enumerate(rows, start=1):
            name = f"{domain}/{split}/{number if lines else path.stem}"
            with report.holder(where, row):
                yield from _meeting(checked(_Meeting, row), name, split, where, report)


def _meeting(meeting: _Meeting, name: str, split: str, where: str, report: Report) -> Iterator[Document | Item]:
    if not meeting.meeting_transcripts:
        raise Unusable("the meeting has no turns")
    text, turns = joined([f"{turn.speaker}: {turn.content}" for turn in meeting.meeting_transcripts], "\n", name)
    yield document(text, "en", name=name, topics=meeting.topic_list)
    for kind, queries in ((WHOLE, meeting.general_query_list), (PARTIAL, meeting.specific_query_list)):
        for number, row in enumerate(queries, start=1):
            with report.row(f"{where}, {kind} query {number}", row):
                query = checked(_Query, row)
                evidence, lost = _spans(query.relevant_text_span, turns)
                yield Item(
                    id=f"{name}/{kind}/{number}",
                    doc_id=name,
                    question=query.query,
                    answers=(query.answer,),
                    evidence=evidence,
                    unplaced=lost,
                    part=split,
                    kind=kind,
                    raw=row,
                )


def _spans(spans: list[list[str | int]], turns: list[Passage]) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """Spans of turns as passages. Their ends are inclusive, and strings: "9" comes before "10"."""
    found, lost = [], []
    for span in spans:
        try:
            first, last = map(int, span)
        except ValueError:
            first, last = 1, 0
        if 0 <= first <= last < len(turns):
            found.append(Passage(turns[first].doc_id, turns[first].start, turns[last].end))
        else:
            lost.append(f"turns {json.dumps(span)}")
    return tuple(sorted(found)), tuple(lost)
