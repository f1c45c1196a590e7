"""What silver passages are worth to a reader: its answers from them, from gold ones, from half the book (MiA-RAG, Table 1).

    python -m mindscape.mia.oracle --split test --silver data/silver --out data/silver/answers.jsonl

The paper gives its reader the whole book. The window of the kit's reader holds half a novel, so it gets the half that has all
that a question needs: the evidence, and who is meant. Questions for which no half has it are left out. Replies are kept in a
file that the same call goes on with. Taught in notebook 11_silver_evidence.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, llm
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.errors import InputError, MindscapeError
from mindscape.metrics import exact_match, token_f1
from mindscape.mia import annotation, silver
from mindscape.mia.silver import Silver
from mindscape.question import Question
from mindscape.reader.evaluation import Answer, Kept, replies, value
from mindscape.roles import ROLES, passages

HALF = 7_000  # tokens of passages in a prompt
CONDITIONS = ("silver", "gold", "half")


@dataclass(frozen=True)
class Case:
    """A question and the passages that its reader is shown, by condition, in the order of the text."""

    book: Book
    question: Question
    shown: Mapping[str, tuple[int, ...]]


def halves(lengths: Sequence[int], most: int = HALF) -> tuple[range, range]:
    """The passages that fit within `most` tokens from the start of a book, and from its end; `lengths` is theirs in tokens.

    >>> halves([3, 4, 5, 2], most=8)
    (range(0, 2), range(2, 4))
    """
    first = _fitting(lengths, most)
    return range(first), range(len(lengths) - _fitting(lengths[::-1], most), len(lengths))


def _fitting(lengths: Sequence[int], most: int) -> int:
    n = total = 0
    while n < len(lengths) and total + lengths[n] <= most:
        total += lengths[n]
        n += 1
    return n


def cases(book: Book, tokenizer: PreTrainedTokenizerBase, annotated: Sequence[Silver]) -> list[Case]:
    """The annotated questions of a book that one of its halves can answer; those on the same half stand together.

    Raises InputError for an annotation of another book's question.
    """
    chunks = passages.cut(book, tokenizer)
    gap = len(tokenizer.encode("\n\n"))
    both = halves([len(tokenizer.encode(book.document[chunk].strip())) + gap for chunk in chunks])
    asked = {question.id: question for question in book.questions}
    found: list[list[Case]] = [[], []]
    for one in annotated:
        if one.question not in asked:
            raise InputError(f"{book.document.id} has no question {one.question!r}: expected annotations of its own")
        question = asked[one.question]
        needed = {chunks.index(chunk) for chunk in passages.needed(book, question, chunks) or []}
        fitting = [i for i, half in enumerate(both) if needed and needed <= set(half)]
        if fitting:
            shown = {"silver": sorted(one.silver), "gold": sorted(needed), "half": both[fitting[0]]}
            found[fitting[0]].append(Case(book, question, {name: tuple(some) for name, some in shown.items()}))
    return found[0] + found[1]


def prompt(case: Case, condition: str, tokenizer: PreTrainedTokenizerBase) -> str:
    """What the reader is asked: passages and question. Without passages the context is a dash."""
    chunks = passages.cut(case.book, tokenizer)
    context = passages.shown(case.book, [chunks[i] for i in case.shown[condition]]) or "-"
    return ROLES["qa"].prompt(case.book.document.language, context=context, question=case.question.question)


def scored(case: Case, answer: Answer) -> tuple[float, float]:
    """F1 of words and exact match; a reply that cannot be read scores 0."""
    said, language = value("qa", answer.free, answer.cut), case.book.document.language
    right = [case.question.answer, *case.question.accepted]
    return (token_f1(said, right, language), exact_match(said, right, language)) if said is not None else (0.0, 0.0)


def main() -> None:
    """Let the reader answer from silver passages, gold ones and half a book."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mia.oracle", description=main.__doc__)
    told.add_argument("--silver", required=True, help="folder of annotations, as mindscape.mia.annotation writes it")
    told.add_argument("--out", required=True, help="the file of replies; one that is there is gone on with")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--dtype", default="auto", help="precision of the reader")
    given = told.parse_args()
    try:
        if given.books < 1:
            raise InputError(f"--books {given.books}: expected at least 1")
        reader = llm.load("embedded", dtype=given.dtype, batch_size=16)
        dtype = str(reader.backend.model.dtype).removeprefix("torch.")
        kept = Kept.of(given.out, "embedded", llm.READER, dtype)
        tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
        for book in books(given.split)[: given.books]:
            _, annotated = silver.kept(annotation.path_of(given.silver, book, "chunk"))
            some = cases(book, tokenizer, annotated)
            for condition in CONDITIONS:
                answers = replies(reader, kept, "qa", [prompt(case, condition, tokenizer) for case in some])
                f1 = [scored(case, answer)[0] for case, answer in zip(some, answers, strict=True)]
                mean = f"{sum(f1) / len(f1):.3f}" if f1 else "none"
                print(f"{book.document.id} {condition}: {len(f1)} questions, F1 {mean}", flush=True)
    except MindscapeError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
