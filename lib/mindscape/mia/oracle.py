"""What silver passages are worth to a reader: its answers from them, from gold ones, from half the book (MiA-RAG, Table 1).

The paper gives its reader the whole book. The window of the kit's reader holds half a novel, so it gets the half that has all
that a question needs: the evidence, and who is meant. Questions for which no half has it are left out. Taught in
notebook 11_silver_evidence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mindscape.llm.base import SHORT
from mindscape.metrics import exact_match, token_f1
from mindscape.mia.silver import Silver
from mindscape.question import Answer, Question
from mindscape.roles import ROLES
from mindscape.text import Tokenizer
from storyworld import Book
from storyworld.teaching import passages

HALF = 7_000  # tokens of passages in a prompt
CONDITIONS = ("silver", "gold", "half")


@dataclass(frozen=True)
class OracleCase:
    """A question and the passages that its reader is shown, by condition, in the order of the text."""

    book: Book
    question: Question
    shown: Mapping[str, tuple[int, ...]]


def halves(lengths: Sequence[int], most: int = HALF) -> tuple[range, range]:
    """The passages that fit within `most` tokens from the start of a book, and from its end; `lengths` is theirs in tokens.

    >>> halves([3, 4, 5, 2], most=8)
    (range(0, 2), range(2, 4))
    """
    first, last = (int(np.searchsorted(np.cumsum(of), most, side="right")) for of in (lengths, lengths[::-1]))
    return range(first), range(len(lengths) - last, len(lengths))


def cases(book: Book, tokenizer: Tokenizer, annotated: Sequence[Silver]) -> list[OracleCase]:
    """The annotated questions of a book that one of its halves can answer; those on the same half stand together."""
    chunks = passages.cut(book, tokenizer)
    gap = len(tokenizer.encode("\n\n"))
    both = halves([len(tokenizer.encode(book.document[chunk].strip())) + gap for chunk in chunks])
    asked = {question.id: question for question in book.questions}
    found: list[list[OracleCase]] = [[], []]
    for one in annotated:
        question = asked[one.question]
        needed = {chunks.index(chunk) for chunk in passages.needed(book, question, chunks) or []}
        fitting = [i for i, half in enumerate(both) if needed and needed <= set(half)]
        if fitting:
            shown = {"silver": sorted(one.silver), "gold": sorted(needed), "half": both[fitting[0]]}
            found[fitting[0]].append(OracleCase(book, question, {name: tuple(some) for name, some in shown.items()}))
    return found[0] + found[1]


def prompt(case: OracleCase, condition: str, tokenizer: Tokenizer, form: str = SHORT) -> str:
    """What the reader is asked, in the form that it is sent: passages and question. Without passages the context is a dash."""
    chunks = passages.cut(case.book, tokenizer)
    context = passages.shown(case.book, [chunks[i] for i in case.shown[condition]]) or "-"
    return ROLES["qa"].prompt(case.book.document.language, form, context=context, question=case.question.question)


def f1_and_exact(case: OracleCase, answer: Answer) -> tuple[float, float]:
    """F1 of words and exact match; a reply that cannot be read scores 0."""
    said, language = answer.value, case.book.document.language
    right = [case.question.answer, *case.question.accepted]
    return (token_f1(said, right, language), exact_match(said, right, language)) if said is not None else (0.0, 0.0)
