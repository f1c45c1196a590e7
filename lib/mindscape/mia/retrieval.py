"""What an embedder is asked to find: a book's passages, entities or names for its questions, with one or another summary.

Questions whose evidence is in more than a few passages are left out: no ranking brings a whole book to the front. Beside
passages and entities there is `who`, which asks for nothing but the name of the one who is meant. Books are novels of the
storyworld, or plays, or the texts of a benchmark. Taught in notebook 12_mia_emb_training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from benchmarks import Item, Loaded
from mindscape.corpora import shakespeare
from mindscape.errors import InputError, one_of, require
from mindscape.extractive import summarise
from mindscape.llm import LLM
from mindscape.metrics import normalise
from mindscape.mia.summaries import build_with, summarise_document
from mindscape.question import Question, Ranking
from mindscape.search import Retriever, search
from mindscape.text import Chunk, Document, Tokenizer, sentences, split_sentences, split_tokens
from storyworld import Book, Chance
from storyworld.teaching import passages
from storyworld.teaching.supervision import to_find, who_is_who

TASKS = ("chunk", "node", "who")
KINDS = ("gold", "none", "shuffled", "other", "textrank", "reader")


@dataclass(frozen=True)
class Play:
    """A play, the kit's own summary of it and questions on it, in the place of a book of the storyworld."""

    document: Document
    summary: str
    questions: tuple[Question, ...]


Books = Sequence[Book | Play]


def play(name: str) -> Play:
    """Raises InputError for a play on which the kit has no questions."""
    return Play(shakespeare.play(name), shakespeare.summary(name), shakespeare.questions(name))


def summary(books: Books, i: int, kind: str, by_reader: Mapping[str, str] | None = None) -> str | None:
    """A summary of the i-th book: its gold one, none, the gold one with its sentences shuffled, that of the next book, an
    extract of the same length (TextRank), or, by document in `by_reader`, one that a model wrote. Raises InputError for
    another kind."""
    book = books[i]
    language = book.document.language
    if kind == "none":
        return None
    if kind == "gold":
        return book.summary
    if kind == "other":
        return books[(i + 1) % len(books)].summary
    if kind == "textrank":
        return summarise(book.document.text, language, len(book.summary))
    if kind == "reader" and by_reader and book.document.id in by_reader:
        return by_reader[book.document.id]
    require(kind != "reader", f"{book.document.id}: no summary by a reader: expected one for each book")
    require(kind == "shuffled", f"summary={kind!r}: expected one of {', '.join(KINDS)}")
    parts = [book.summary[span.start : span.end].strip() for span in sentences(book.summary, language)]
    return ("" if language == "zh" else " ").join(Chance("shuffled", book.document.id).shuffled(parts))


@dataclass(frozen=True)
class Sought:
    """A question on a book, the places of the units that are right among the book's, and whether it needs a binding."""

    id: str
    book: str
    question: str
    right: tuple[int, ...]
    binding: bool


def sought(book: Book | Play, task: str, tokenizer: Tokenizer) -> tuple[list[str], list[Sought]]:
    """A book's units of a task and what is sought among them. Nodes are those of the storyworld's gold, and so are the names of
    task "who".

    Raises InputError for another task, and for anything but passages of a play.

    >>> units, asked = sought(books("test")[0], "chunk", tokenizer)                       # doctest: +SKIP
    """
    one_of(TASKS, task=task)
    if task != "chunk" and not isinstance(book, Book):
        raise InputError(f"{book.document.id}: expected a book of the storyworld, whose entities are known")
    book, of = cast(Book, book), book.document.id  # or a play, which has all that passages take
    if task == "who":
        names = [book.voice.name(person.id) for person in book.world.people]
        meant = ((one, names.index(one.units["node"].positives[0])) for one in who_is_who(book))
        return names, [Sought(one.id, of, one.question, (right,), True) for one, right in meant]
    units, pairs = to_find(book, tokenizer, "node" if task == "node" else "chunk")
    return units, [Sought(one.id, of, one.question, tuple(sorted(right)), one.needs_binding) for one, right in pairs]


def found(
    retriever: Retriever, books: Books, tokenizer: Tokenizer, told: Sequence[str | None] = (), task: str = "chunk"
) -> dict[str, Ranking]:
    """The first units for each question on the books, by its id, read with a summary of each book in `told`, or without.
    Raises as `sought`.

    >>> rankings = found(embedder, books("test"), tokenizer, [book.summary for book in books("test")])   # doctest: +SKIP
    """
    rankings = {}
    for book, of in zip(books, told or [None] * len(books), strict=True):
        units, asked = sought(book, task, tokenizer)
        vector = "chunk" if task == "chunk" else "node"
        rows = search(retriever, units, [one.question for one in asked], summary=of, task=vector)
        rankings |= {one.id: row for one, row in zip(asked, rows, strict=True)}
    return rankings


# Benchmarks


def cut_benchmark(loaded: Loaded, tokenizer: Tokenizer) -> dict[str, list[Chunk]]:
    """The passages of each text of a benchmark, of the size of those of a novel; blank ones are left out."""
    cut = {name: split_sentences(text, tokenizer, passages.SIZE) for name, text in loaded.documents.items()}
    return {name: [chunk for chunk in chunks if loaded.documents[name][chunk].strip()] for name, chunks in cut.items()}


def benchmark_summaries(loaded: Loaded, tokenizer: Tokenizer, llm: LLM | None = None) -> dict[str, str]:
    """A summary of each text of a benchmark: an extract of extracts (TextRank), or a model's, of chunks of 1,200 tokens.

    A summary that is published with the text is not used: NarrativeQA's questions were written from it.
    """
    found = {}
    for name, text in loaded.documents.items():
        chunks = [chunk for chunk in split_tokens(text, tokenizer, overlap=0) if text[chunk].strip()]
        extract = partial(summarise, language=text.language)
        found[name] = (
            summarise_document(llm, text, chunks) if llm else build_with(extract, "textrank", text, chunks)
        ).text
    return found


def benchmark_found(
    retriever: Retriever, loaded: Loaded, chunks: Mapping[str, Sequence[Chunk]], told: Mapping[str, str] | None = None
) -> list[Ranking]:
    """The first passages of its own text for each item, in the items' order; `told` are summaries by text.

    >>> rows = benchmark_found(embedder, asking.few("detectiveqa-en"), cut_benchmark(...))   # doctest: +SKIP
    """
    rankings = {}
    for name, text in loaded.documents.items():
        items = [item for item in loaded.items if item.doc_id == name]
        texts = [text[chunk].strip() for chunk in chunks[name]]
        rows = search(retriever, texts, [item.question for item in items], summary=(told or {}).get(name))
        rankings |= {item.id: row for item, row in zip(items, rows, strict=True)}
    return [rankings[item.id] for item in loaded.items]


def benchmark_right(loaded: Loaded, chunks: Mapping[str, Sequence[Chunk]]) -> list[tuple[int, ...]]:
    """The passages that are right for each item: those that hold some of the benchmark's evidence.

    Where it gives none, those in which one of the free answers stands word for word: a weak stand-in for the papers' silver
    evidence. There may be none.
    """
    texts = {name: [loaded.documents[name][chunk].strip() for chunk in some] for name, some in chunks.items()}
    return [_holding(item, chunks[item.doc_id], texts[item.doc_id]) for item in loaded.items]


def _holding(item: Item, chunks: Sequence[Chunk], texts: Sequence[str]) -> tuple[int, ...]:
    if item.evidence:
        return tuple(
            i for i, it in enumerate(chunks) if any(at.start < it.end and it.start < at.end for at in item.evidence)
        )
    if item.options:
        return ()
    join = " " if item.language == "en" else ""
    answers = [f"{join}{normalise(answer, item.language)}{join}" for answer in item.answers]
    said = [f"{join}{normalise(text, item.language)}{join}" for text in texts]
    return tuple(i for i, text in enumerate(said) if any(answer.strip() and answer in text for answer in answers))
