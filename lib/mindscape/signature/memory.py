"""A session memory: what the chunks of a source are summed up in, and which chunk stands in what (MiA-Signature, sections
3.1 and A.1, appendix C).

The chunks x_1 ... x_L of a source, in its order, are taken W = 20 at a time; each window is a *session* with one summary, and
pi(x_l) = s_ceil(l / W) is the summary of a chunk. Books of a series are merged into one memory, in their order.

A memory may be *overcomplete*: windows that overlap, windows of several widths, entities, all over the same chunks. Then a
chunk stands in several items, and pi is no function but a relation, `Memory.cover`.

    build                       windows of one document, their summaries by `gold`, `by_model`, `by_textrank` or `given`
    grouped, scenes, entities   items that are no windows
    stacked, merged             items over the same chunks side by side; documents one after another
    posed, posed_claims         questions, and the chunks that hold what answers them
    recalls                     whether these are found, in the whole memory or in the question's own book

Where the paper is silent: windows begin anew with each book, so that none straddles two. Chunks and items are called by their
positions in the memory, from 0. Taught in notebook 20_session_memory. Nothing here embeds; `mindscape.signature.rag` does.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from benchmarks import Item as Asked
from benchmarks import asking
from mindscape.cache import digest
from mindscape.corpora import shakespeare
from mindscape.errors import require
from mindscape.llm.base import LLM, form_of
from mindscape.metrics import recall_fraction_at_k
from mindscape.mia.summaries import retold, summarise
from mindscape.question import ClaimPair, Question
from mindscape.roles import LETTERS, SESSION_SUMMARY
from mindscape.signature.objectives import WINDOW, windows
from mindscape.text import Chunk, Document, Place, mentions
from storyworld import Book, Series

Write = Callable[[Document, Sequence[Sequence[Chunk]]], Sequence[str]]  # a document and its windows: a summary a window
BLANK = "-"  # stands for a chunk of white space alone, which no encoder takes


@dataclass(frozen=True)
class Item:
    """A unit of a memory: a text, and the chunks that it stands for, as rising positions. `kind`: session, entity, ..."""

    text: str
    chunks: tuple[int, ...]
    kind: str = "session"


@dataclass(frozen=True)
class Memory:
    """The chunks of documents, one document after another, and the items that stand for them.

    `Item.chunks` rise, and the chunks stand in the order of their documents. Raises InputError for documents with equal ids
    or of two languages, for no items, and for one without words.

    >>> document = Document("note", "Ann left. Tom came. Ivo sang. It rained.")
    >>> chunks = [Chunk("note", i, 10 * i, 10 * i + 10) for i in range(4)]
    >>> memory = build(document, chunks, given(["Ann and Tom pass each other.", "Ivo sings in the rain."]), width=2)
    >>> memory.pi.tolist(), memory.texts[2], memory.summaries[memory.pi[2]]
    ([0, 0, 1, 1], 'Ivo sang.', 'Ivo sings in the rain.')
    """

    documents: tuple[Document, ...]
    chunks: tuple[Chunk, ...]
    items: tuple[Item, ...]

    def __post_init__(self):
        ids = [document.id for document in self.documents]
        require(len(set(ids)) == len(ids), f"documents {ids}: expected different ids")
        languages = sorted({document.language for document in self.documents})
        require(len(languages) <= 1, f"documents in {languages}: expected one language")
        own = list(dict.fromkeys(chunk.doc_id for chunk in self.chunks))
        require(own == ids and ids, f"expected chunks of {ids}, all of them and in this order")
        require(self.items, "the memory has no items: expected at least one")
        blank = [item.kind for item in self.items if not item.text.strip()]
        require(not blank, f"an item ({''.join(blank[:1])}) is blank: expected some text")

    @property
    def language(self) -> str:
        return self.documents[0].language

    @cached_property
    def _documents(self) -> dict[str, Document]:
        return {document.id: document for document in self.documents}

    @cached_property
    def texts(self) -> list[str]:
        """The chunks' texts without blanks around them; `BLANK` for one that is nothing else."""
        return [self._documents[chunk.doc_id][chunk].strip() or BLANK for chunk in self.chunks]

    @property
    def summaries(self) -> list[str]:
        """The items' texts."""
        return [item.text for item in self.items]

    @cached_property
    def cover(self) -> csr_array:
        """Which item stands for which chunk: ones, (items, chunks)."""
        ends = np.cumsum([0, *(len(item.chunks) for item in self.items)])
        columns = np.fromiter(chain.from_iterable(item.chunks for item in self.items), dtype=np.int64)
        return csr_array((np.ones(len(columns)), columns, ends), shape=(len(self.items), len(self.chunks)))

    @cached_property
    def _items_of(self) -> list[list[int]]:
        """The items of each chunk, by position."""
        columns = self.cover.tocsc()
        return [sorted(ids.tolist()) for ids in np.split(columns.indices, columns.indptr[1:-1])]

    @property
    def pi(self) -> np.ndarray:
        """The item of each chunk, (chunks,). Raises InputError where a chunk has none, or several."""
        for chunk, items in enumerate(self._items_of):
            require(len(items) == 1, f"chunk {chunk} stands in {len(items)} items: pi is no function here; see `cover`")
        return np.concatenate(self._items_of)

    @cached_property
    def books(self) -> np.ndarray:
        """The number of each chunk's document, (chunks,)."""
        ids = list(self._documents)
        return np.array([ids.index(chunk.doc_id) for chunk in self.chunks])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that is in it."""
        items = [[item.kind, item.text, list(item.chunks)] for item in self.items]
        return digest(self.language, [document.id for document in self.documents], self.texts, items)

    def items_of(self, chunks: Iterable[int]) -> tuple[int, ...]:
        """The items that stand for chunks, in the order in which they come; those of one chunk by position.

        This is what Algorithm 1 calls SUMMARIES(P_t) (line 5), and the order of First-K.
        """
        return tuple(dict.fromkeys(item for chunk in chunks for item in self._items_of[chunk]))

    def holding(self, doc_id: str, spans: Iterable[Place]) -> tuple[int, ...]:
        """The chunks that hold some words of spans of a document, rising. Raises InputError for a document not in it."""
        names = ", ".join(self._documents)
        require(doc_id in self._documents, f"document {doc_id!r} is not in the memory: expected one of {names}")
        text, spans = self._documents[doc_id].text, list(spans)

        def holds(chunk: Chunk) -> bool:
            return any(text[max(chunk.start, span.start) : min(chunk.end, span.end)].strip() for span in spans)

        return tuple(i for i, chunk in enumerate(self.chunks) if chunk.doc_id == doc_id and holds(chunk))


# Who writes a summary


def given(texts: Sequence[str]) -> Write:
    """Summaries that are there already, one a window in its order. Taught in notebook 20_session_memory.

    >>> given(["Ann left."])(Document("note", "Ann left."), [[Chunk("note", 0, 0, 9)]])
    ['Ann left.']
    """
    return lambda document, windows: list(texts)


def gold(book: Book) -> Write:
    """What a storyworld book's log tells of each window, also where windows overlap or leave something out.

    An event that begins in a window is told there. Raises InputError for windows of another document.
    Taught in notebook 20_session_memory.

    >>> memory = build(novel.document, chunks, gold(novel))                                  # doctest: +SKIP
    """

    def write(document: Document, windows: Sequence[Sequence[Chunk]]) -> list[str]:
        own = book.document
        require(document == own, f"the log of {own.id!r} tells nothing of {document.id!r}: expected its own book")
        borders = [0, *(window[-1].end for window in windows)]
        if borders == [*(window[0].start for window in windows), len(document.text)]:  # they tile it: all at once
            return book.session_summaries(windows)
        summaries = []
        for window in windows:
            before = Chunk(document.id, 0, 0, window[0].start)
            after = Chunk(document.id, 0, window[-1].end, len(document.text))
            summaries.append(book.session_summaries([[before], window, [after]])[1])
        return summaries

    return write


def by_model(llm: LLM, tokens: int = 256) -> Write:
    """Each window retold by a language model in the role `session_summary` (appendix F), in replies of at most `tokens`.

    A model with a cache keeps each reply as it comes, so an interrupted run goes on where it was. Raises LLMError, with the
    window's number, for a reply that cannot be used. Taught in notebook 20_session_memory.

    >>> memory = build(play, chunks, by_model(llm.load("openai:gpt-4o")))                    # doctest: +SKIP
    """

    def write(document: Document, windows: Sequence[Sequence[Chunk]]) -> list[str]:
        prompts, form = [], form_of(llm)
        for i, window in enumerate(windows, start=1):
            slots = {"idx": str(i), "total": str(len(windows)), "raw_text": _raw(document, window)}
            prompts.append(SESSION_SUMMARY.prompt(document.language, form, **slots))
        return retold(llm, prompts, tokens, f"{document.id}, session", SESSION_SUMMARY.parse)

    return write


def by_textrank(characters: int = 500) -> Write:
    """The most central sentences of each window, at most so many characters. Taught in notebook 20_session_memory.

    >>> write = by_textrank(20)
    >>> write(Document("note", "Ann left the inn. It rained."), [[Chunk("note", 0, 0, 28)]])
    ['Ann left the inn.']
    """

    def write(document: Document, windows: Sequence[Sequence[Chunk]]) -> list[str]:
        return [summarise(_raw(document, window), document.language, characters) for window in windows]

    return write


def _raw(document: Document, window: Sequence[Chunk]) -> str:
    """The text of a window, what its chunks have in common once."""
    return document.text[window[0].start : window[-1].end].strip()


# Memories


def build(
    document: Document,
    chunks: Sequence[Chunk],
    write: Write,
    width: int = WINDOW,
    stride: int | None = None,
    kind: str = "session",
) -> Memory:
    """Windows of `width` chunks of a document, each with the summary that `write` gives it (appendix A.1); one of white space
    alone has `BLANK`, unasked.

    With a `stride` below `width` they overlap, and pi is a relation. Raises InputError for a document without chunks, for
    widths and strides that cannot be, and for another number of summaries. Taught in notebook 20_session_memory.

    >>> memory = build(novel.document, chunks, by_textrank(), width=20, stride=10)           # doctest: +SKIP
    """
    require(chunks, f"{document.id} has no chunks to remember")
    cover = windows(len(chunks), width, stride)
    groups = [cover.indices[start:end].tolist() for start, end in pairwise(cover.indptr)]
    sessions = [[chunks[i] for i in group] for group in groups]
    blank = [i for i, session in enumerate(sessions) if not _raw(document, session)]
    texts = list(write(document, [session for i, session in enumerate(sessions) if i not in blank]))
    for i in blank:
        texts.insert(i, BLANK)
    return grouped(document, chunks, groups, texts, kind)


def grouped(
    document: Document, chunks: Sequence[Chunk], groups: Sequence[Sequence[int]], texts: Sequence[str], kind: str = "session"
) -> Memory:
    """Items of which each stands for the chunks that its group lists. Raises InputError where texts and groups do not match.

    Taught in notebook 20_session_memory.

    >>> document = Document("note", "Ann left. Tom came.")
    >>> chunks = [Chunk("note", 0, 0, 10), Chunk("note", 1, 10, 19)]
    >>> grouped(document, chunks, [[0, 1]], ["Two people pass."], "whole").cover.toarray().tolist()
    [[1.0, 1.0]]
    """
    same = len(texts) == len(groups)
    require(same, f"{document.id}: {len(texts)} summaries for {len(groups)} sessions: expected one each")
    items = (Item(text, tuple(group), kind) for text, group in zip(texts, groups, strict=True))
    return Memory((document,), tuple(chunks), tuple(items))


def scenes(name: str, chunks: Sequence[Chunk]) -> Memory:
    """A play of Shakespeare with its scenes for sessions, and the kit's own summary of each.

    A chunk belongs to the scene in which it begins; a scene in which none begins is left out. Raises InputError for a play
    that the kit has no summaries of. Taught in notebook 20_session_memory.

    >>> play = shakespeare.play("macbeth")
    >>> cuts = [*range(0, len(play.text), 2000), len(play.text)]
    >>> chunks = [Chunk("macbeth", i, *at) for i, at in enumerate(zip(cuts, cuts[1:]))]
    >>> len(scenes("macbeth", chunks).items), len(shakespeare.scenes(play))
    (26, 28)
    """
    document = shakespeare.play(name)
    starts = [scene.start for scene in shakespeare.scenes(document)]
    groups: list[list[int]] = [[] for _ in starts]
    for i, chunk in enumerate(chunks):
        groups[max(0, bisect_right(starts, chunk.start) - 1)].append(i)
    texts = shakespeare.scene_summaries(name)
    kept = [i for i, group in enumerate(groups) if group]
    return grouped(document, chunks, [groups[i] for i in kept], [texts[i] for i in kept], "scene")


def entities(document: Document, chunks: Sequence[Chunk], described: Iterable[tuple[str, str]]) -> Memory:
    """People, places and things, each for the chunks that name it; what no chunk names is left out.

    `described`: names and descriptions, such as those of a storyworld book's `entities`. Raises InputError where nothing is
    named anywhere. Taught in notebook 20_session_memory.

    >>> document = Document("note", "Ann left. Tom came. Ann sang.")
    >>> chunks = [Chunk("note", i, 10 * i, min(10 * i + 10, 29)) for i in range(3)]
    >>> entities(document, chunks, [("Ann", "A singer."), ("Ivo", "A miller.")]).items
    (Item(text='Ann: A singer.', chunks=(0, 2), kind='entity'),)
    """
    texts = [document[chunk] for chunk in chunks]
    items = []
    for name, description in described:
        named = tuple(i for i, text in enumerate(texts) if mentions(name, text))
        if named:
            items.append(Item(f"{name}: {description}", named, "entity"))
    return Memory((document,), tuple(chunks), tuple(items))


def stacked(memories: Sequence[Memory]) -> Memory:
    """The items of several memories over the same chunks, side by side: an overcomplete memory.

    Raises InputError for memories of other documents or chunks. Taught in notebook 20_session_memory.

    >>> both = stacked([build(document, chunks, write), build(document, chunks, write, width=100)])  # doctest: +SKIP
    """
    first = memories[0]
    same = all((other.documents, other.chunks) == (first.documents, first.chunks) for other in memories)
    require(same, "the memories are of other documents or chunks: expected the same, or see `merged`")
    return Memory(first.documents, first.chunks, tuple(item for memory in memories for item in memory.items))


def merged(memories: Sequence[Memory]) -> Memory:
    """Memories of different books as one, in their order (appendix C.1). Raises InputError for a book that comes twice.

    Taught in notebook 20_session_memory.

    >>> a, b = (Document(name, "Ann left. Tom came.") for name in "ab")
    >>> first, second = (build(text, [Chunk(text.id, 0, 0, 19)], given([f"Book {text.id}."])) for text in (a, b))
    >>> merged([first, second]).items[1]
    Item(text='Book b.', chunks=(1,), kind='session')
    """
    documents, chunks, items = [], [], []
    for memory in memories:
        items += [replace(item, chunks=tuple(i + len(chunks) for i in item.chunks)) for item in memory.items]
        documents += memory.documents
        chunks += memory.chunks
    return Memory(tuple(documents), tuple(chunks), tuple(items))


# Questions on a memory


@dataclass(frozen=True)
class Posed:
    """A question or a claim on a memory.

    `kind` says in what form it is answered: "choice" (by one of `options`), "qa" (freely), "claim" (`text` is one). What
    follows `options` is gold: `right` is the letter of an option, the answer, or TRUE or FALSE; `accepted` are other answers
    that count; `evidence` are the chunks that hold it, `bindings` for each binding those that state it, of which any one will
    do; two claims of a pair have the same `pair`. A retriever or an agent is never shown any of it.
    """

    id: str
    doc_id: str
    text: str
    kind: Literal["choice", "qa", "claim"]
    options: tuple[str, ...]
    right: str
    accepted: tuple[str, ...]
    evidence: tuple[int, ...]
    bindings: tuple[tuple[int, ...], ...] = ()
    pair: str = ""


def of_series(series: Series) -> tuple[list[Question], list[ClaimPair]]:
    """The questions and the claims of a storyworld series, worded as they are asked of the series, with places in their books.

    Taught in notebook 20_session_memory.

    >>> import storyworld
    >>> town = storyworld.series(1000, n=2, tokens=15_000)
    >>> questions, claims = of_series(town)
    >>> questions[-1].doc_id, len(questions) == len(claims) == len(town.questions)
    ('series-1000-2', True)
    """
    own = [pair for book in series.books for pair in zip(book.questions, book.claims, strict=True)]
    questions, claims = [], []
    for (question, claim), reworded, reworded_claim in zip(own, series.questions, series.claims, strict=True):
        questions.append(replace(question, question=reworded.question, resolved=reworded.resolved))
        claims.append(replace(claim, doc_id=question.doc_id, true=reworded_claim.true, false=reworded_claim.false))
    return questions, claims


def posed(memory: Memory, questions: Iterable[Question], kind: Literal["choice", "qa"] = "choice") -> list[Posed]:
    """Questions on the documents of a memory, with the chunks that hold evidence and bindings.

    Raises InputError for a question on another document, one whose evidence no chunk holds, and a choice without the answer.
    Taught in notebook 20_session_memory.

    >>> questions = posed(memory, of_series(town)[0])                                        # doctest: +SKIP
    """
    require(kind in ("choice", "qa"), f"kind={kind!r}: expected choice or qa")
    posed_questions = []
    for question in questions:
        right, options = question.answer, question.options if kind == "choice" else ()
        if kind == "choice":
            answerable = right in options[: len(LETTERS)]
            require(answerable, f"question {question.id!r}: the answer is not among options {LETTERS}: expected it")
            right = LETTERS[options.index(right)]
        evidence = _evidence(memory, question)
        bindings = tuple(memory.holding(question.doc_id, group) for group in question.bindings)
        shown = question.id, question.doc_id, question.question, kind, options
        posed_questions.append(Posed(*shown, right, question.accepted, evidence, bindings))
    return posed_questions


def posed_claims(memory: Memory, claims: Iterable[ClaimPair]) -> list[Posed]:
    """Claims on the documents of a memory, the true one of a pair before the false one; otherwise as `posed`.

    Taught in notebook 20_session_memory.

    >>> [claim.right for claim in posed_claims(memory, of_series(town)[1])[:2]]              # doctest: +SKIP
    ['TRUE', 'FALSE']
    """
    posed_statements = []
    for claim in claims:
        places = _evidence(memory, claim)
        for statement, right in ((claim.true, "TRUE"), (claim.false, "FALSE")):
            name = f"{claim.id}-{right.lower()}"
            posed_statements.append(Posed(name, claim.doc_id, statement, "claim", (), right, (), places, pair=claim.id))
    return posed_statements


def posed_items(memory: Memory, items: Iterable[Asked]) -> list[Posed]:
    """The questions or claims of a benchmark on the documents of a memory; `evidence` is empty where the benchmark gives none.

    Raises InputError for a question on another document. Taught in notebook 22_signature_rag.

    >>> document = Document("emma", "She rides. It rains.")
    >>> memory = build(document, [Chunk("emma", 0, 0, 11), Chunk("emma", 1, 11, 20)], given(["A ride in the rain."]))
    >>> claim = Asked("1/true", "emma", "She rides.", ("TRUE",), ("TRUE", "FALSE"), group="emma/1")
    >>> (item,) = posed_items(memory, [claim])
    >>> item.kind, item.right, item.options, item.evidence, item.pair
    ('claim', 'TRUE', (), (), 'emma/1')
    """
    posed_questions = []
    for item in items:
        kind, evidence = asking.kind(item), memory.holding(item.doc_id, item.evidence)
        shown = item.id, item.doc_id, item.question, kind, item.options if kind == "choice" else ()
        accepted, pair = item.answers[1:] if kind == "qa" else (), item.group if kind == "claim" else ""
        posed_questions.append(Posed(*shown, asking.right(item), accepted, evidence, pair=pair))
    return posed_questions


def _evidence(memory: Memory, question: Question | ClaimPair) -> tuple[int, ...]:
    chunks = memory.holding(question.doc_id, question.evidence)
    require(chunks, f"question {question.id!r}: no chunk holds its evidence: expected chunks of all of its document")
    return chunks


# Retrieval in the whole memory and in one book


def ranked(scores: np.ndarray, k: int, among: np.ndarray | None = None) -> np.ndarray:
    """The positions of the `k` highest of some scores, (chunks,), best first, equal ones by position.

    `among`: (chunks,) of truth values, those that count. Fewer than `k` where there are fewer. Raises InputError for k < 1.
    Taught in notebook 20_session_memory.

    >>> ranked(np.array([0.5, 0.9, 0.9, 0.1]), 2), ranked(np.array([0.5, 0.9, 0.9, 0.1]), 9, np.array([1, 0, 1, 0], bool))
    (array([1, 2]), array([2, 0]))
    """
    require(k >= 1, f"k={k}: expected at least 1")
    places = np.arange(len(scores)) if among is None else np.flatnonzero(among)
    return places[np.argsort(-scores[places], kind="stable")[:k]]


def recalls(memory: Memory, questions: Sequence[Posed], scores: np.ndarray, k: int, *, own_book: bool = False) -> list[float]:
    """Recall@k of each question's evidence, in the whole memory or, `own_book`, in the question's book alone (Table 5).

    `scores`: (questions, chunks), the higher the better. Since the same scores are ranked both ways, the difference is what the
    other books do, and nothing else; with scores that depend on the whole index, as those of BM25, they are the series' ones in
    both. Taught in notebook 20_session_memory.

    >>> alone, whole = (recalls(memory, questions, s, 10, own_book=own) for own in (True, False))  # doctest: +SKIP
    """
    ids, values = [document.id for document in memory.documents], []
    for question, row in zip(questions, scores, strict=True):
        among = memory.books == ids.index(question.doc_id) if own_book else None
        values.append(recall_fraction_at_k(ranked(row, k, among).tolist(), question.evidence, k))
    return values
