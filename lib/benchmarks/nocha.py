"""NoCha: is a claim about a novel true? Pairs that differ in one fact, and only both halves right count.

The public sample alone: 126 claims on four classics; the other books' claims are kept private. Karpinska et al., 2024.
Meant for notebooks 10 and on, pointed at a real benchmark.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from benchmarks.reading import json_list, pickled_texts
from benchmarks.shapes import Found, Item, Report, Row, Unusable, checked, fault
from mindscape.text import Document

VERDICTS = {True: "TRUE", False: "FALSE", "True": "TRUE", "False": "FALSE", "TRUE": "TRUE", "FALSE": "FALSE"}


class _Claim(Row):
    book_title: str
    claim: str
    type: bool | Literal["True", "False", "TRUE", "FALSE"]  # the file has booleans, its description strings
    index: int | str
    length_group: str = ""
    length_bucket: str = ""  # the description's name for it


def read_nocha(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The claims, two with the same `group` a pair; answers are "TRUE" and "FALSE". `raw` keeps the models' replies.

    Rejected: a claim on a book that the pickle lacks, and one whose pair is not one true and one false claim, both fit to
    be asked: half a pair could not be scored.
    """
    texts = pickled_texts(files["books"][0])
    books = {name: Document(name, text, "en") for name, text in texts.items()}
    rows = list(json_list(files["claims"][0]))
    claims = [_claim(row, books) for _, row in rows]
    halves = Counter((claim.group, claim.answers[0]) for claim in claims if isinstance(claim, Item))
    for (where, row), claim in zip(rows, claims, strict=True):
        with report.row(where, row):
            if isinstance(claim, Unusable):
                raise claim
            if [halves[claim.group, verdict] for verdict in ("TRUE", "FALSE")] != [1, 1]:
                raise Unusable("its pair is not one true and one false claim")
            yield books[claim.doc_id]
            yield claim


def _claim(row: Any, books: Mapping[str, Document]) -> Item | Unusable:
    """The claim, or why it cannot be asked; pairs are looked at when all claims are known."""
    try:
        one = checked(_Claim, row)
        if one.book_title not in books:
            raise Unusable(f"no text of {one.book_title!r}: expected one of the pickle's {sorted(books)}")
        verdict, group = VERDICTS[one.type], f"{one.book_title}/{one.index}"
        item = Item(
            id=f"{group}/{verdict.lower()}",
            doc_id=one.book_title,
            question=one.claim,
            answers=(verdict,),
            options=("TRUE", "FALSE"),
            kind=one.length_group or one.length_bucket,
            group=group,
            raw=row,
        )
        if fault(item):
            raise Unusable(fault(item))
        return item
    except Unusable as error:
        return error
