"""What a retriever is taught: questions, the units that answer them, and units that do not (MiA-RAG, appendix B.1, B.2).

`of_story` takes both from the storyworld's log, where the truth is known: positives are the chunks that hold the evidence, hard
negatives tell of the same kind of event and of somebody else. `of_silver` takes both from Algorithm 1, as the paper does.
Taught in notebook 12_mia_emb_training.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

from mindscape.corpora.questions import Question
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.mia.embedding import Task
from mindscape.mia.silver import HARD, SIMPLE, Silver
from mindscape.roles import passages
from mindscape.roles.silver import bears_on
from mindscape.text import Chunk

MOST = 4  # evidence of a question to learn from, in chunks: a question on the whole book singles out no passage


@dataclass(frozen=True)
class Units:
    """Texts that answer a question, hard and simple negatives; no text is in two of them."""

    positives: tuple[str, ...]
    hard: tuple[str, ...] = ()
    simple: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A question to learn from; `summary` is that of its text, `units` are told by task, where there are any to find."""

    id: str
    document: str
    question: str
    summary: str
    units: Mapping[Task, Units]


def nodes(book: Book) -> list[str]:
    """The book's entities as a node retriever sees them: name and description."""
    return [f"{entity.name}: {entity.description}" for entity in book.entities]


def evidence(book: Book, question: Question, chunks: Sequence[Chunk]) -> list[int]:
    """The chunks that hold a question's evidence."""
    return [i for i, chunk in enumerate(chunks) if any(passages.holds(book, chunk, span) for span in question.evidence)]


def bearing(book: Book, question: Question) -> list[int]:
    """The entities that a question is about: it or its answer names them, or their description tells what is asked for."""
    supporting = passages.supporting(book, question)
    return [i for i, entity in enumerate(book.entities) if bears_on(question, entity, supporting)]


def of_story(book: Book, tokenizer: PreTrainedTokenizerBase, seed: int = 0) -> list[Asked]:
    """The questions of a book whose evidence is in a few chunks, always the same for the same seed.

    >>> from mindscape.reader import training_book
    >>> len(of_story(training_book(0), tokenizer))                                        # doctest: +SKIP
    58
    """
    chance = Chance("supervision", book.document.id, seed)
    chunks = passages.cut(book, tokenizer)
    texts = [book.document[chunk].strip() for chunk in chunks]
    entities = nodes(book)
    held = {
        event.id: {i for i, chunk in enumerate(chunks) if any(passages.holds(book, chunk, span) for span in spans)}
        for event in book.world.events
        if (spans := book.told.events[event.id])
    }
    found = []
    for question in book.questions:
        right = evidence(book, question, chunks)
        if len(right) > MOST:
            continue
        apart = {i for i, chunk in enumerate(chunks) if not passages.relevant(book, question, chunk)}
        told = {
            event.kind
            for event in book.world.events
            if not set(question.evidence).isdisjoint(book.told.events[event.id])
        }
        alike = [held[event.id] for event in book.world.events if event.kind in told and event.id in held]
        same_kind = sorted(apart & set().union(*alike))
        hard = chance.some(same_kind, min(HARD, len(same_kind)))
        simple = chance.some(sorted(apart - set(hard)), SIMPLE)
        units: dict[Task, Units] = {"chunk": _units(texts, right, hard, simple)}
        about = bearing(book, question)
        others = [i for i in range(len(entities)) if i not in about]
        if about and others:
            units["node"] = _units(entities, about, [], chance.some(others, min(SIMPLE, len(others))))
        found.append(Asked(question.id, book.document.id, question.question, book.summary, units))
    return found


def of_silver(
    questions: Mapping[str, str],
    document: str,
    summary: str,
    units: Mapping[Task, tuple[Sequence[str], Iterable[Silver]]],
) -> list[Asked]:
    """Questions by id, with what Algorithm 1 found for each task: the texts of the units and the annotations.

    A question without silver evidence is left out.
    """
    by_question: dict[str, dict[Task, Units]] = {}
    for task, (texts, annotated) in units.items():
        for one in annotated:
            if one.silver:
                by_question.setdefault(one.question, {})[task] = _units(texts, one.silver, one.hard, one.simple)
    return [
        Asked(name, document, questions[name], summary, found)
        for name, found in by_question.items()
        if "chunk" in found
    ]


def _units(texts: Sequence[str], positives: Sequence[int], hard: Sequence[int], simple: Sequence[int]) -> Units:
    return Units(*(tuple(texts[i] for i in some) for some in (positives, hard, simple)))
