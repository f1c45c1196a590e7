"""Passages of a storyworld book for gold examples: which of them a question needs, and what is told in them.

A question goes only with passages from which it can be answered: everyone who takes part is named there, and so is the
answer, unless it has to be counted. Makes no prompts and no replies. Taught in notebook 01_the_reader.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from mindscape.question import ClaimPair, Question
from mindscape.text import Chunk, Document, Span, Tokenizer, mentions, split_sentences
from mindscape.text.documents import Place
from storyworld import Book
from storyworld.chance import Chance
from storyworld.world import Binding, Event

Gold = Iterator[tuple[dict[str, str], Any]]  # what fills a prompt, and the value of the reply

SIZE = 120  # tokens of a passage, at most
MOST = 5  # passages in a prompt
# Questions that take more than a few passages, or are on a party: its guests come in passages that do not name the host.
WHOLE = ("meals", "unvouched", "refrain", "culprit", "herring", "heirloom", "gathering")
PAIRS = ("twice", "belongings")  # the answer is two names
COUNTED = ("times", "people", "bill")  # the answer is a number that the text does not say


def cut(book: Book, tokenizer: Tokenizer, size: int = SIZE) -> list[Chunk]:
    """The book in whole sentences, as many as fit into `size` tokens."""
    return list(_cut(book.document.id, book.document.text, book.document.language, tokenizer, size))


@lru_cache(maxsize=64)  # several roles ask for the same chunks of a book, which take a third of a second
def _cut(name: str, text: str, language: str, tokenizer: Tokenizer, size: int) -> tuple[Chunk, ...]:
    return tuple(split_sentences(Document(name, text, language), tokenizer, size))


def holds(book: Book, chunk: Place, span: Span) -> bool:
    """Whether some of a span's words stand in a chunk."""
    return bool(book.document.text[max(chunk.start, span.start) : min(chunk.end, span.end)].strip())


def relevant(book: Book, question: Question, chunk: Place) -> bool:
    """Whether a chunk holds evidence of a question, or says who is meant in it."""
    return any(holds(book, chunk, span) for spans in (question.evidence, *question.bindings) for span in spans)


def statements(book: Book, start: int, end: int) -> list[str] | None:
    """What is told between two offsets, in the words of the book's gold and the order of the text.

    None where the passage does not bear it out by itself: something is cut off at the border, somebody goes unnamed, an
    oath is told that the rest of the book gives the lie, or a debt to one who is called the victim only later.
    """
    found = []
    for spans, told, alone in _tellings(book):
        if not any(span.start < end and start < span.end for span in spans):
            continue
        if not alone or any(span.start < start or end < span.end for span in spans):
            return None
        says = book.voice.fact(told) if isinstance(told, Event) else book.voice.binding(told)
        found.append((spans[0].start, says))
    facts = list(dict.fromkeys(says for _, says in sorted(found)))
    return facts if all(_names_known(book, says, book.document.text[start:end]) for says in facts) else None


def supporting(book: Book, question: Question) -> list[str]:
    """What a question's evidence and bindings say, in the words of the book's gold."""
    glosses = question.gloss.split(book.voice.say.GLOSS_JOIN) if question.gloss else []
    told, evidence = book.told.events, set(question.evidence)
    facts = [book.voice.fact(event) for event in book.world.events if evidence & set(told[event.id])]
    return list(dict.fromkeys([*glosses, *facts]))


def needed(book: Book, question: Question, chunks: Sequence[Chunk]) -> list[Chunk] | None:
    """The chunks that hold the evidence and, for each binding, the place nearest to it.

    None where that takes `MOST` or more, or where those chunks alone do not answer the question.
    """
    if question.kind in WHOLE:
        return None
    found = [chunk for chunk in chunks if any(holds(book, chunk, span) for span in question.support)]
    if len(found) >= MOST:
        return None
    return found if readable(book, question, shown(book, found)) else None


def readable(book: Book, question: Question, text: str) -> bool:
    """Whether a text names the answer, unless it has to be counted, and everybody in what is told."""
    parts = question.answer.split(book.voice.say.AND) if question.kind in PAIRS else [question.answer]
    read = question.kind in COUNTED or all(mentions(part, text) for part in parts)
    return read and all(_names_known(book, says, text) for says in supporting(book, question))


def answerable(
    book: Book, chance: Chance, chunks: Sequence[Chunk]
) -> Iterator[tuple[Question, ClaimPair, list[Chunk]]]:
    """Questions that a few chunks answer, their claims and those chunks, in an order of chance."""
    for question, pair in questions_with_claims(book, chance):
        if (keep := needed(book, question, chunks)) is not None:
            yield question, pair, keep


def mixed(
    book: Book, question: Question, keep: Sequence[Chunk], chunks: Sequence[Chunk], count: int, chance: Chance
) -> list[Chunk]:
    """`keep` and chunks that do not bear on the question, `count` in all, in an order of chance.

    Every other stranger names somebody whom the question or its answer names, if there are such.
    """
    strangers = chance.shuffled([chunk for chunk in chunks if not relevant(book, question, chunk)])
    about = f"{question.resolved} {question.answer}"
    people = [
        entity.name for entity in book.entities if entity.kind in ("person", "guise") and mentions(entity.name, about)
    ]
    near = [chunk for chunk in strangers if any(mentions(name, book.document[chunk]) for name in people)]
    missing = max(0, count - len(keep))
    picked = list(dict.fromkeys([*near[: (missing + 1) // 2], *strangers]))[:missing]
    return chance.shuffled([*keep, *picked])


def shown(book: Book, chunks: Sequence[Chunk]) -> str:
    """The chunks as a prompt has them, a blank line between any two."""
    return "\n\n".join(book.document[chunk].strip() for chunk in chunks)


def questions_with_claims(book: Book, chance: Chance) -> list[tuple[Question, ClaimPair]]:
    """The book's questions with their claims, in an order of chance."""
    return chance.shuffled(list(zip(book.questions, book.claims, strict=True)))


def settings(book: Book) -> dict[str, str]:
    """The place of what is told, by statement, where the text names it in the telling itself."""
    found = {}
    for event in book.world.events:
        if "p" in event.slots:
            place, span = book.voice.place(event.slots["p"]), book.told.events[event.id][0]
            if mentions(place, book.document.text[span.start : span.end]):
                found[book.voice.fact(event)] = place
    return found


def _tellings(book: Book) -> Iterator[tuple[Sequence[Span], Event | Binding, bool]]:
    """Where something is told, what it is, and whether it can be said without the rest of the book."""
    for event in book.world.events:
        yield book.told.events[event.id], event, event.kind != "false" and event.slots.get("clue") != "debt"
    for binding in book.world.bindings:
        for span in book.told.bindings[binding.id]:  # told anew in each
            yield [span], binding, True


def _names_known(book: Book, says: str, text: str) -> bool:
    """Whether everybody and everything named in a statement is named in the text."""
    return all(mentions(entity.name, text) for entity in book.entities if mentions(entity.name, says))
