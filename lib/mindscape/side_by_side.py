"""Every way to find things in a long text that the course has, on the same questions, within the same number of tokens.

A *method* brings *pieces* for a question, best first: places in a text, and notes (summaries, descriptions) that have no place.
All methods fill the same budget with them, `filled`; what the questions need is then there or not, `needed`, and one reader
answers from it. What takes a model is kept in a folder and asked for once; the same call goes on after a kill:

    python -m mindscape.side_by_side --out data/side_by_side

    ranks.jsonl     by family of methods (one encoder, and what is looked for with it) and case, a line: units for each
                    question, best first, seconds, bytes of vectors
    answers.jsonl   what a reader answers, a line a prompt, as `mindscape.reader.evaluation` keeps it

A *case* are books that are searched together: a series of the storyworld, or plays that share characters. Summaries,
sessions, graphs and document memories of novels are those that the log knows, so that methods are compared and not their
writers; of plays there are the kit's own summaries, and no graph. Taught in notebook 50_side_by_side; nothing is averaged or
tested here.
"""

import argparse
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, encoders, llm, paths, records
from mindscape.corpora import shakespeare, storyworld
from mindscape.corpora.questions import Question
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.encoders import Encoder
from mindscape.environment import forget_peak, peak_bytes
from mindscape.errors import InputError, MindscapeError
from mindscape.lexical import BM25, terms
from mindscape.mia import embedding, graphrag
from mindscape.mia.embedding import MiaEmbedder, PlainEmbedder
from mindscape.mom.memory import DocumentMemory
from mindscape.mom.retrieval import Layers, context, covered
from mindscape.reader.evaluation import Kept, replies
from mindscape.roles.answers import QA
from mindscape.signature import evaluation
from mindscape.signature.memory import Memory, build, gold, merged, of_series, posed, ranked, scenes
from mindscape.signature.rag import K0, Geometry, Shelf, Woken
from mindscape.store import digest
from mindscape.text import Chunk, Document, split_sentences
from mindscape.weights import adapter_hash

BUDGET = 1000  # tokens that a method may show
WINDOW = 7000  # what the embedded reader's 8,192 positions leave for a text
DEPTH, STATEMENTS = 50, 150  # units kept of a ranking; of statements, which are shorter
SHARE, ASKED = 16, 4  # questions of a book that are searched for; of these so many are answered
SERIES, ANSWERS = 5, 3  # series of the storyworld that are searched, and of these those that are answered on
UNIT = 4  # passages of a unit of a play's document memory
STEP = 0.5  # what a statement gains of the best one that is about the same person
OF = "rankings of a family of methods"  # a line of the file, in messages
Piece = Chunk | str


@dataclass(frozen=True)
class Method:
    """A way to find things. `family`: whose rankings it needs, "" for none. `log`: it needs a book whose log is known.

    `readings`: how often an encoder and how often a language model reads the whole text before the first question, if
    nobody has written summaries, notes or graphs yet; `notes`: whether it shows texts that are not the book's.
    """

    label: str
    paper: str
    family: str = ""
    log: bool = False
    readings: tuple[int, int] = (0, 0)
    notes: bool = False


METHODS = {
    "lot": Method("passages by lot", "baseline"),
    "lead": Method("the beginning", "baseline"),
    "summary": Method("summaries alone", "MiA-RAG", readings=(0, 1), notes=True),
    "bm25": Method("BM25", "baseline"),
    "minilm": Method("MiniLM", "baseline", "minilm", readings=(1, 0)),
    "sft_emb": Method("SFT-Emb", "MiA-RAG", "sft", readings=(1, 0)),
    "mia_alone": Method("MiA-Emb, no mindscape", "MiA-RAG", "mia", readings=(1, 0)),
    "mia_emb": Method("MiA-Emb", "MiA-RAG", "mia", readings=(1, 1)),
    "mia_rag": Method("MiA-Emb, mindscape shown", "MiA-RAG", "mia", readings=(1, 1), notes=True),
    "graphrag": Method("GraphRAG", "MiA-RAG", "minilm", True, (0, 1), True),
    "signature": Method("signature", "MiA-Signature", "mia", readings=(2, 1)),
    "signature_shown": Method("signature, shown", "MiA-Signature", "mia", readings=(2, 1), notes=True),
    "mindgraph": Method("concept graph", "MindGraph", "minilm", True, (0, 1)),
    "mom": Method("three layers", "MoM", "minilm", readings=(1, 1)),
    "evidence": Method("the evidence itself", "bound"),
}
FAMILIES = ("minilm", "sft", "mia")
ANSWERED = (
    *("lead", "summary", "bm25", "minilm", "sft_emb", "mia_emb", "mia_rag", "graphrag"),
    *("signature", "mindgraph", "mom", "evidence"),
)


# Books that are searched together --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Books in one memory of passages and sessions, some questions on each, and the log where it is known.

    Spans of a question are of its own book, `memory.documents`. `tokenizer` is that of the reader: it counts the budget.
    """

    name: str
    corpus: str
    memory: Memory
    questions: tuple[Question, ...]
    tokenizer: PreTrainedTokenizerBase
    summaries: tuple[str, ...]
    books: tuple[Book, ...] = ()
    _counted: dict[str, list[int]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def documents(self) -> dict[str, Document]:
        return {document.id: document for document in self.memory.documents}

    def starts(self, doc_id: str) -> list[int]:
        """Where each token of a document begins, in characters."""
        if doc_id not in self._counted:
            self._counted[doc_id] = _starts(self.documents[doc_id].text, self.tokenizer)
        return self._counted[doc_id]

    @property
    def tokens(self) -> int:
        """Of all books."""
        return sum(len(self.starts(document.id)) for document in self.memory.documents)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with passages, sessions, summaries and questions."""
        asked = [[one.id, one.question] for one in self.questions]
        return digest(self.memory.fingerprint, list(self.summaries), asked)[:12]

    @cached_property
    def evidence(self) -> list[tuple[int, ...]]:
        """The passages that hold some of each question's evidence."""
        return [one.evidence for one in posed(self.memory, self.questions, "qa")]

    @cached_property
    def units(self) -> tuple[list[Chunk], list[tuple[Document, DocumentMemory]]]:
        """A document memory of each book, and its chunks in the order of the case: of a novel the log's, a unit a scene; of a
        play `UNIT` passages at a time within a scene, with its heading and the kit's summary of it."""
        of: list[tuple[Document, DocumentMemory]] = []
        if self.books:
            of = [
                (it.document, DocumentMemory(it.memory.outline, it.memory.core, it.memory.chunks)) for it in self.books
            ]
        else:
            of = [(document, self._of_play(document)) for document in self.memory.documents]
        return [Chunk(d.id, i, it.start, it.end) for d, m in of for i, it in enumerate(m.chunks)], of

    def _of_play(self, document: Document) -> DocumentMemory:
        heading = {scene.start: scene.heading for scene in shakespeare.scenes(document)}
        outline, core, at = [], [], [0]
        for item in self.memory.items:
            mine = [self.memory.chunks[i] for i in item.chunks]
            if mine[0].doc_id != document.id:
                continue
            title = heading[max(start for start in heading if start <= mine[0].start or start == min(heading))]
            for first in range(0, len(mine), UNIT):
                outline.append(title)
                core.append(item.text)
                at.append(mine[min(first + UNIT, len(mine)) - 1].end)
        at[-1] = len(document.text)
        chunks = [Chunk(document.id, i, *ends) for i, ends in enumerate(zip(at, at[1:], strict=False))]
        return DocumentMemory(outline, core, chunks)

    @cached_property
    def statements(self) -> "Statements":
        """What the log's concept graphs say."""
        if not self.books:
            raise InputError(f"{self.name} has no concept graph: expected books of the storyworld")
        return Statements.of(self.books)

    @cached_property
    def graph(self) -> tuple[graphrag.Graph, Document, list[Chunk]]:
        """The log's entities and ties of all books as one graph, and the books as one text with the same passages."""
        if not self.books:
            raise InputError(f"{self.name} has no entities: expected books of the storyworld")
        entities: list[graphrag.Entity] = []
        relations: list[graphrag.Relation] = []
        text, chunks = "", []
        for book in self.books:
            mine = [chunk for chunk in self.memory.chunks if chunk.doc_id == book.document.id]
            of, by, before = graphrag.of_story(book, mine), len(entities), len(chunks)
            for it in of.entities:
                entities.append(graphrag.Entity(it.name, it.description, tuple(i + before for i in it.chunks)))
            for it in of.relations:
                places = tuple(i + before for i in it.chunks)
                relations.append(graphrag.Relation(it.source + by, it.target + by, it.description, places))
            chunks += [Chunk(self.name, before + i, c.start + len(text), c.end + len(text)) for i, c in enumerate(mine)]
            text += book.document.text
        document = Document(self.name, text, self.memory.language)
        return graphrag.Graph(self.name, tuple(entities), tuple(relations)), document, chunks


@dataclass(frozen=True)
class Statements:
    """Nodes and ties of concept graphs as sentences with a place, and whom each is about.

    `about`: (statements, people), truth values.
    """

    texts: tuple[str, ...]
    places: tuple[Chunk, ...]
    about: np.ndarray

    @classmethod
    def of(cls, books: Sequence[Book]) -> "Statements":
        """Events, claims, concepts and numbers, and the ties between people, disguises and trades."""
        texts, places, whom = [], [], []
        for book in books:
            nodes, edges = book.graph
            name, label = book.document.id, {node.id: node.content for node in nodes}
            people = {node.id for node in nodes if node.id.startswith(("person", "guise"))}
            tied: dict[str, set[str]] = {}
            for edge in edges:
                tied.setdefault(edge.source, set()).update({edge.target} & people)
            for node in nodes:
                if node.type != "entity" and not node.id.startswith("trade"):
                    texts.append(node.content)
                    places.append(Chunk(name, len(places), node.span.start, node.span.end))
                    whom.append({(name, one) for one in tied.get(node.id, ())})
            for edge in edges:
                ends = {edge.source, edge.target}
                if ends & people and all(end in people or end.startswith("trade") for end in ends):
                    texts.append(f"{label[edge.source]} {edge.relation} {label[edge.target]}")
                    places.append(Chunk(name, len(places), edge.span.start, edge.span.end))
                    whom.append({(name, end) for end in ends & people})
        people_of = sorted(set().union(*whom))
        about = np.array([[one in some for one in people_of] for some in whom])
        return cls(tuple(texts), tuple(places), about)


def stepped(scores: np.ndarray, about: np.ndarray, step: float = STEP) -> np.ndarray:
    """Each statement's score and `step` times the best of another one about the same person; `scores` (questions, statements).

    Taught in notebook 50_side_by_side.

    >>> about = np.array([[True], [True], [False]])
    >>> stepped(np.array([[0.8, 0.1, 0.5]]), about).round(2).tolist()
    [[0.85, 0.5, 0.5]]
    """
    near = (about.astype(int) @ about.T.astype(int)) > 0
    np.fill_diagonal(near, False)
    best = np.where(near[None], scores[:, None, :], -np.inf).max(2)
    return scores + step * np.where(np.isfinite(best), best, 0.0)


def _starts(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Where each token's first character that is no blank stands: a word's token holds the blank before it."""
    told = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    return [end - len(text[start:end].lstrip()) for start, end in told["offset_mapping"]]


def picked(questions: Sequence[Question], share: int = SHARE) -> list[Question]:
    """At most `share` questions of each book, always the same: of three one that needs a binding, if there are such; among
    those and among the others each kind (breadth, depth) in turn. Fewer are the first of more.

    Taught in notebook 50_side_by_side.

    >>> from mindscape.corpora import storyworld
    >>> few = picked(storyworld.book(1000, tokens=15_000).questions, 6)
    >>> [one.needs_binding for one in few], len({(one.breadth, one.depth) for one in few[1:3]})
    ([True, False, False, True, False, False], 2)
    """
    found: list[Question] = []
    for book in dict.fromkeys(one.doc_id for one in questions):
        mine = Chance("side_by_side", book).shuffled([one for one in questions if one.doc_id == book])
        bound, plain = (_in_turn([one for one in mine if one.needs_binding == it]) for it in (True, False))
        some: list[Question] = []
        while len(some) < share and (bound or plain):
            turn = bound if bound and (len(some) % 3 == 0 or not plain) else plain
            some.append(turn.pop(0))
        found += some
    return found


def _in_turn(questions: Sequence[Question]) -> list[Question]:
    kinds: dict[tuple[str, str], list[Question]] = {}
    for one in questions:
        kinds.setdefault((one.breadth, one.depth), []).append(one)
    return [one for some in zip_longest(*kinds.values()) for one in some if one is not None]


def novels(seed: int, tokenizer: PreTrainedTokenizerBase, share: int = SHARE) -> Case:
    """A series of the storyworld, its books and passages those of `mindscape.signature.evaluation.town`.

    Taught in notebook 50_side_by_side.

    >>> novels(2010, tokenizer).name                                                         # doctest: +SKIP
    'series-2010-1'
    """
    series = storyworld.series(seed, n=evaluation.BOOKS, tokens=evaluation.TOKENS)
    built = []
    for book in series.books:
        built.append(build(book.document, split_sentences(book.document, tokenizer, evaluation.SIZE), gold(book)))
    memory = merged(built)
    asked = tuple(picked(of_series(series)[0], share))
    told = tuple(book.summary for book in series.books)
    return Case(memory.documents[0].id, "storyworld", memory, asked, tokenizer, told, series.books)


def plays(name: str, tokenizer: PreTrainedTokenizerBase, share: int = SHARE) -> Case:
    """Plays that share characters, a series of `shakespeare.SERIES` on which the kit has questions, or one play.

    Raises InputError for another name. Taught in notebook 50_side_by_side.

    >>> plays("rome", tokenizer).name                                                        # doctest: +SKIP
    'rome'
    """
    names = shakespeare.SERIES.get(name, (name,))
    built = [scenes(play, split_sentences(shakespeare.play(play), tokenizer, evaluation.SIZE)) for play in names]
    asked = picked([one for play in names for one in shakespeare.questions(play)], share)
    told = tuple(shakespeare.summary(play) for play in names)
    return Case(name, "shakespeare", merged(built), tuple(asked), tokenizer, told)


def cases(
    tokenizer: PreTrainedTokenizerBase,
    series: int = SERIES,
    of_plays: Sequence[str] = ("rome",),
    share: int = SHARE,
    split: str = "test",
) -> list[Case]:
    """The first `series` series of a split, and plays. Raises InputError for an unknown split.

    Taught in notebook 50_side_by_side.

    >>> [case.name for case in cases(tokenizer, 1)]                                          # doctest: +SKIP
    ['series-2010-1', 'rome']
    """
    if split not in evaluation.SEEDS:
        raise InputError(f"split={split!r}: expected {', '.join(evaluation.SEEDS)}")
    found = [novels(seed, tokenizer, share) for seed in evaluation.SEEDS[split][:series]]
    return found + [plays(name, tokenizer, share) for name in of_plays if name]


# What a method finds ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranks:
    """What a family of methods finds for the questions of a case: by method, units for each question, best first.

    Units are passages of the case; of "mom" its `units`, of "mindgraph" its `statements`, of "graphrag" entities of its
    `graph`, of "items" (the signatures) sessions. `seconds`: "index" once, "questions" for all of them. `bytes` of vectors by
    method. `peak`: of the process, in bytes. Seconds and peaks are those of the machine that wrote the file.
    """

    found: Mapping[str, Sequence[Sequence[int]]]
    seconds: Mapping[str, float] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)
    peak: int = 0


def by_minilm(case: Case, encoder: Encoder, depth: int = DEPTH) -> Ranks:
    """Passages, three layers, statements of the graph and entities, all by one sentence encoder.

    Taught in notebook 50_side_by_side.

    >>> by_minilm(case, encoders.load("minilm")).found["minilm"][0][:3]                      # doctest: +SKIP
    [17, 4, 60]
    """
    asked = [one.question for one in case.questions]
    begun = time.perf_counter()
    passages = encoder.encode(case.memory.texts)
    layers = Layers.of_memories(case.units[1], encoder)
    size = {"minilm": passages.nbytes, "mom": 3 * len(case.units[0]) * passages.shape[1] * 4}
    if case.books:
        said, of = encoder.encode(list(case.statements.texts)), PlainEmbedder(encoder)
        entities = of.units(case.graph[0].texts)
        size |= {"mindgraph": said.nbytes, "graphrag": entities.nbytes}
    middle = time.perf_counter()
    queries = encoder.encode(asked, "query")
    found = {"minilm": _best(queries @ passages.T, depth), "mom": layers.search(queries, depth, "rrf")[0].tolist()}
    if case.books:
        found["mindgraph"] = _best(stepped(queries @ said.T, case.statements.about), max(depth, STATEMENTS))
        found["graphrag"] = _best(queries @ entities.T, graphrag.TOP)
    seconds = {"index": middle - begun, "questions": time.perf_counter() - middle}
    return Ranks(found, seconds, size)


def by_sft(case: Case, embedder: MiaEmbedder | PlainEmbedder, depth: int = DEPTH) -> Ranks:
    """Passages by an embedder that is told of no summary. Taught in notebook 50_side_by_side.

    >>> by_sft(case, embedding.load(adapter="data/adapters/sft_emb")).found["sft_emb"][0][:3]  # doctest: +SKIP
    [17, 4, 60]
    """
    begun = time.perf_counter()
    units = embedder.units(case.memory.texts)
    middle = time.perf_counter()
    found = _best(embedder.queries([one.question for one in case.questions]) @ units.T, depth)
    seconds = {"index": middle - begun, "questions": time.perf_counter() - middle}
    return Ranks({"sft_emb": found}, seconds, {"sft_emb": units.nbytes})


def by_mia(
    case: Case,
    embedder: MiaEmbedder | PlainEmbedder,
    weigher: Encoder,
    woken: Sequence[Sequence[int]],
    depth: int = DEPTH,
) -> Ranks:
    """Passages by an embedder that reads a question alone, with each book's summary for that book's passages, and with a
    signature: five sessions of those that `woken`, the passages of a first pass, stand in (Algorithm 2), blended at 0.5.

    Taught in notebook 50_side_by_side.

    >>> by_mia(case, embedder, encoders.load("minilm"), first.found["sft_emb"]).found["items"][0]  # doctest: +SKIP
    [2, 19, 12, 28, 5]
    """
    asked = [one.question for one in case.questions]
    begun = time.perf_counter()
    shelf = Shelf(case.memory, Geometry(weigher), embedder)
    units = shelf.second.chunks(case.memory.texts)
    middle = time.perf_counter()
    scores = np.zeros((len(asked), len(units)))
    for i, summary in enumerate(case.summaries):
        mine = case.memory.books == i
        scores[:, mine] = embedder.queries(asked, summary, "chunk") @ units[mine].T
    found = {
        "mia_alone": _best(embedder.queries(asked, None, "chunk") @ units.T, depth),
        "mia_emb": _best(scores, depth),
    }
    items = []
    for question, chunks in zip(asked, woken, strict=True):
        first = tuple(chunks[:K0])
        items.append(list(shelf.choose(Woken(question, first, case.memory.of(first)))))
    found["items"] = items
    found["signature"] = [list(row) for row in shelf.search(asked, [shelf.signature(some) for some in items], depth)]
    seconds = {"index": middle - begun, "questions": time.perf_counter() - middle}
    sizes = dict.fromkeys(("mia_alone", "mia_emb", "mia_rag"), units.nbytes)
    sessions = 4 * weigher.dim * (len(case.memory.items) + len(case.memory.chunks))
    return Ranks(found, seconds, sizes | dict.fromkeys(("signature", "signature_shown"), 2 * units.nbytes + sessions))


def _best(scores: np.ndarray, k: int) -> list[list[int]]:
    return [ranked(row, k).tolist() for row in scores]


def pieces(
    case: Case, method: str, ranks: Mapping[str, Ranks] | None = None, budget: int = BUDGET
) -> list[list[Piece]]:
    """What a method would show for each question of a case, best first, notes before places; without an end to some of it.

    `ranks` by family. Raises InputError for an unknown method, one that has no graph to look at, and rankings that lack.
    Taught in notebook 50_side_by_side.

    >>> pieces(case, "lead")[0][0].start                                                     # doctest: +SKIP
    0
    """
    if method not in METHODS:
        raise InputError(f"method={method!r}: expected one of {', '.join(METHODS)}")
    of, memory, n = METHODS[method], case.memory, len(case.questions)
    if of.log and not case.books:
        raise InputError(f"{method} looks at a graph, and {case.name} has none: expected books of the storyworld")
    if of.family and of.family not in (ranks or {}):
        raise InputError(f"{method} on {case.name}: expected rankings of family {of.family!r}")
    found = ranks[of.family].found if of.family and ranks else {}
    passages = memory.chunks
    if method == "lot":
        lots = [Chance("side_by_side", "lot", one.id) for one in case.questions]
        return [[passages[i] for i in lot.some(range(len(passages)), DEPTH)] for lot in lots]
    if method == "lead":
        return [list(passages[: 4 * DEPTH])] * n
    if method == "summary":
        return [list(case.summaries)] * n
    if method == "bm25":
        rows = BM25(memory.texts, memory.language).search([one.question for one in case.questions], DEPTH)[0]
        return [[passages[i] for i in row] for row in rows.tolist()]
    if method == "evidence":
        return [_evident(case, one, chunks) for one, chunks in zip(case.questions, case.evidence, strict=True)]
    if method == "mom":
        return [[case.units[0][i] for i in row] for row in found["mom"]]
    if method == "mindgraph":
        return [[case.statements.places[i] for i in row] for row in found["mindgraph"]]
    if method == "graphrag":
        return [_of_graph(case, row, budget) for row in found["graphrag"]]
    rows = found["mia_emb" if method == "mia_rag" else "signature" if of.notes else method]
    placed = [[passages[i] for i in row] for row in rows]
    if method == "mia_rag":
        return [[case.summaries[memory.books[row[0]]], *some] for row, some in zip(rows, placed, strict=True)]
    if method == "signature_shown":
        told = [[memory.items[i].text for i in row] for row in found["items"]]
        return [[*notes, *some] for notes, some in zip(told, placed, strict=True)]
    return placed


def _evident(case: Case, question: Question, chunks: Sequence[int]) -> list[Piece]:
    """The passages of the bindings nearest to the evidence, and of the evidence, in the order of the text."""
    support = case.memory.holding(question.doc_id, question.support)
    return [case.memory.chunks[i] for i in sorted({*chunks, *support})]


def _of_graph(case: Case, entities: Sequence[int], budget: int) -> list[Piece]:
    graph, document, chunks = case.graph

    def count(text: str) -> int:
        return len(case.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    of = graphrag.assembled(graph, entities, document, chunks, budget, count)
    notes = [f"- {graph.texts[i]}" for i in of.entities] + [f"- {graph.relations[i].description}" for i in of.relations]
    return [*notes, *(case.memory.chunks[i] for i in of.chunks)]


# What is shown, and whether it suffices --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """What a reader gets: pieces, the last of them cut where the budget ends, and the tokens in them."""

    pieces: tuple[Piece, ...]
    tokens: int

    @property
    def places(self) -> list[Chunk]:
        return [piece for piece in self.pieces if isinstance(piece, Chunk)]

    @property
    def notes(self) -> list[str]:
        return [piece for piece in self.pieces if isinstance(piece, str)]

    def text(self, case: Case) -> str:
        """Notes, a line each, and places, a blank line between two."""
        return "\n\n".join(part for part in ("\n".join(self.notes), context(case.documents, self.places)) if part)


def filled(case: Case, found: Sequence[Piece], budget: int = BUDGET) -> Shown:
    """As many pieces as the budget holds, in their order; a place that stands in those before it is passed over, the piece that
    does not fit is cut, and nothing follows it.

    Tokens are the reader's, of each document and note by itself; the blank lines between pieces are not counted. Raises
    InputError for a budget below 1. Taught in notebook 50_side_by_side.

    >>> filled(case, pieces(case, "lead")[0], 300).tokens                                    # doctest: +SKIP
    300
    """
    if budget < 1:
        raise InputError(f"budget={budget}: expected at least 1 token")
    taken: list[Piece] = []
    left = budget
    for piece in found:
        if left == 0:
            break
        if isinstance(piece, str):
            starts, shift, end = _starts(piece, case.tokenizer), 0, len(piece)
        else:
            mine = [it for it in taken if isinstance(it, Chunk) and it.doc_id == piece.doc_id]
            if covered(case.documents[piece.doc_id], piece, mine):
                continue
            every = case.starts(piece.doc_id)
            first, last = bisect_left(every, piece.start), bisect_left(every, piece.end)
            starts, shift, end = every[first:last], piece.start, piece.end
        if len(starts) > left:
            end = starts[left]
        left -= min(left, len(starts))
        whole = piece[:end] if isinstance(piece, str) else Chunk(piece.doc_id, piece.index, shift, end)
        if isinstance(whole, str) or whole.end > whole.start:
            taken.append(whole)
    return Shown(tuple(taken), budget - left)


@dataclass(frozen=True)
class Needed:
    """What a question needs and was shown: the share of its evidence; of its bindings (1 where it needs none); of both, each
    span and each binding counted once; and whether all of it is there.

    A binding is there where one of the places that state it is shown, or a note says it in its words.
    """

    evidence: float
    bindings: float
    share: float

    @property
    def all(self) -> float:
        return float(self.evidence == 1 and self.bindings == 1)


def needed(case: Case, question: Question, shown: Shown) -> Needed:
    """Whether what is shown holds what a question needs. Taught in notebook 50_side_by_side.

    >>> needed(case, question, filled(case, pieces(case, "evidence")[0])).all                # doctest: +SKIP
    1.0
    """
    document, places = case.documents[question.doc_id], shown.places
    mine = [place for place in places if place.doc_id == question.doc_id]
    evidence = [covered(document, span, mine) for span in question.evidence]
    notes = " ".join(shown.notes).lower()
    glosses = [part.strip().lower() for part in question.gloss.replace("；", ";").split(";") if part.strip()]
    told = [gloss in notes for gloss in glosses] if len(glosses) == len(question.bindings) else []
    bound = [any(covered(document, span, mine) for span in group) for group in question.bindings]
    either = [a or b for a, b in zip(bound, told or [False] * len(bound), strict=True)]
    both = [*evidence, *either]
    of_bindings = sum(either) / len(either) if either else 1.0
    return Needed(sum(evidence) / len(evidence), of_bindings, sum(both) / len(both))


def window(case: Case, tokens: int = WINDOW) -> list[Needed]:
    """What a reader of the first `tokens` of the books would have been shown: outside the budget, for comparison.

    Taught in notebook 50_side_by_side.

    >>> np.mean([one.all for one in window(case)])                                           # doctest: +SKIP
    0.2
    """
    shown = filled(case, case.memory.chunks, tokens)
    return [needed(case, one, shown) for one in case.questions]


def index_bytes(case: Case, method: str, ranks: Mapping[str, Ranks] | None = None) -> int:
    """Of vectors as float32, and of BM25 eight bytes for each word of each passage; texts are not counted.

    Taught in notebook 50_side_by_side.

    >>> index_bytes(case, "bm25") // 1000                                                    # doctest: +SKIP
    98
    """
    of = METHODS[method]
    if method == "bm25":
        return 8 * sum(len(set(terms(text, case.memory.language))) for text in case.memory.texts)
    return int((ranks or {})[of.family].bytes[method]) if of.family else 0


def written(case: Case, method: str) -> int:
    """Tokens of the texts that somebody has to write before the first question: summaries, sessions, notes, memories.

    Taught in notebook 50_side_by_side.

    >>> written(case, "summary")                                                             # doctest: +SKIP
    740
    """
    texts: list[str] = []
    if method in ("summary", "mia_emb", "mia_rag"):
        texts = list(case.summaries)
    elif method in ("signature", "signature_shown"):
        texts = case.memory.summaries
    elif method == "mom":
        texts = [text for _, memory in case.units[1] for text in (*memory.outline, *dict.fromkeys(memory.core))]
    elif METHODS[method].log:
        graph = case.graph[0] if method == "graphrag" else None
        texts = [*graph.texts, *(it.description for it in graph.relations)] if graph else list(case.statements.texts)
    return sum(len(_starts(text, case.tokenizer)) for text in texts)


# What is kept ----------------------------------------------------------------------------------------------------------


def rank_key(family: str, case: Case) -> str:
    """Changes with what is ranked and what for."""
    return f"{family} {case.name} {case.fingerprint}"


def kept_ranks(folder: str | Path, case: Case, families: Sequence[str] = FAMILIES) -> dict[str, Ranks]:
    """The rankings of a case in a folder, by family. Raises InputError for those that lack, and says what writes them.

    Taught in notebook 50_side_by_side.

    >>> kept_ranks("data/side_by_side", case)["sft"].found["sft_emb"][0][:3]                 # doctest: +SKIP
    [17, 4, 60]
    """
    path = Path(folder) / "ranks.jsonl"
    _, rows = records.read(path, of=OF)
    by_key = {row["key"]: row for row in rows}
    found = {}
    for family in families:
        if (key := rank_key(family, case)) not in by_key:
            raise InputError(f"{path} has no line {key!r}: python -m mindscape.side_by_side --out {folder} adds it")
        row = by_key[key]
        found[family] = Ranks(row["found"], row["seconds"], row["bytes"], row["peak"])
    return found


def add_ranks(
    folder: str | Path,
    about: Mapping[str, Any],
    of: Iterable[Case],
    load: Callable[[str], Any],
    tell: Callable[[str], None] = print,
) -> None:
    """Rank what the folder lacks, a family and case at a time. `load` gives the model of a family when it is first needed.

    Raises InputError for a file that was made otherwise than `about` says. Taught in notebook 50_side_by_side.

    >>> add_ranks("build/side", {"dtype": "float32"}, [case], load)                          # doctest: +SKIP
    """
    path = Path(folder) / "ranks.jsonl"
    found = {row["key"]: row for row in records.opened(path, about, of=OF)}
    for case in of:
        for family in FAMILIES:
            key = rank_key(family, case)
            if key in found:
                continue
            tell(f"{key}: {len(case.questions)} questions, {case.tokens:,} tokens")
            model = load(family)
            forget_peak()
            if family == "minilm":
                made = by_minilm(case, model)
            elif family == "sft":
                made = by_sft(case, model)
            else:
                made = by_mia(case, model, load("minilm"), found[rank_key("sft", case)]["found"]["sft_emb"])
            seconds = {name: round(value, 3) for name, value in made.seconds.items()}
            row = {"key": key, "found": made.found, "seconds": seconds, "bytes": made.bytes, "peak": peak_bytes() or 0}
            records.append(path, [row])
            found[key] = row


def asked_of(case: Case, share: int = ASKED) -> list[int]:
    """The positions of the questions that are answered: the first `share` of each book.

    Taught in notebook 50_side_by_side.

    >>> asked_of(case, 1)                                                                    # doctest: +SKIP
    [0, 16]
    """
    of_book: dict[str, list[int]] = {}
    for i, one in enumerate(case.questions):
        of_book.setdefault(one.doc_id, []).append(i)
    return [i for some in of_book.values() for i in some[:share]]


def answered(of: Sequence[Case], series: int = ANSWERS) -> list[Case]:
    """The first `series` of the storyworld's cases, and all plays. Taught in notebook 50_side_by_side.

    >>> [case.name for case in answered(cases(tokenizer), 1)]                                # doctest: +SKIP
    ['series-2010-1', 'rome']
    """
    first = [case.name for case in of if case.books][:series]
    return [case for case in of if not case.books or case.name in first]


def methods_of(case: Case, some: Iterable[str] = METHODS) -> list[str]:
    """Those methods that a case has what it takes for. Taught in notebook 50_side_by_side.

    >>> "mindgraph" in methods_of(plays("rome", tokenizer))                                  # doctest: +SKIP
    False
    """
    return [name for name in some if case.books or not METHODS[name].log]


def prompts(
    case: Case,
    method: str,
    ranks: Mapping[str, Ranks] | None = None,
    budget: int = BUDGET,
    share: int = ASKED,
) -> list[str]:
    """What the reader is asked in the role `qa` from a method's pieces, for the questions of `asked_of`.

    Taught in notebook 50_side_by_side.

    >>> prompts(case, "lead")[0].endswith(case.questions[0].question)                        # doctest: +SKIP
    True
    """
    found, language = pieces(case, method, ranks, budget), case.memory.language
    shown = [(case.questions[i].question, filled(case, found[i], budget).text(case)) for i in asked_of(case, share)]
    return [QA.prompt(language, context=text, question=question) for question, text in shown]


def main() -> None:
    """Rank and answer what the folder lacks. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.side_by_side", description=main.__doc__)
    told.add_argument("--out", required=True, help="the folder of rankings and answers; those there are kept")
    told.add_argument("--split", default="test", choices=list(evaluation.SEEDS))
    told.add_argument("--series", type=int, default=SERIES, help="series of the storyworld, two novels each")
    told.add_argument("--answered", type=int, default=ANSWERS, help="of these, so many are answered on")
    told.add_argument("--plays", default="rome", help="series of plays or plays, with commas; empty for none")
    told.add_argument("--share", type=int, default=SHARE, help="questions of a book that are searched for")
    told.add_argument("--asked", type=int, default=ASKED, help="of these, so many are answered")
    told.add_argument("--budget", type=int, default=BUDGET, help="tokens that a method may show the reader")
    told.add_argument("--methods", default=",".join(ANSWERED), help="those that are answered from, with commas")
    told.add_argument("--only", default="ranks,answers", help="parts to make, with commas")
    told.add_argument("--llm", default="embedded", help="who answers")
    told.add_argument("--first", default=str(paths.data("adapters", "sft_emb")), help="adapter of SFT-Emb")
    told.add_argument("--second", default=str(paths.data("adapters", "mia_emb")), help="adapter of MiA-Emb")
    told.add_argument("--dtype", default="float32", help="precision of models on this machine")
    told.add_argument("--batch", type=int, default=8, help="rows that the model reads at once")
    told.add_argument("--estimate", action="store_true", help="tell how many tokens are read, and do nothing")
    try:
        _run(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> None:
    folder, parts, names = Path(given.out), given.only.split(","), given.methods.split(",")
    if unknown := [part for part in parts if part not in ("ranks", "answers")]:
        raise InputError(f"--only {unknown[0]}: expected ranks, answers")
    if unknown := [name for name in names if name not in METHODS]:
        raise InputError(f"--methods {unknown[0]}: expected some of {', '.join(METHODS)}")
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    of = cases(tokenizer, given.series, given.plays.split(","), given.share, given.split)
    if given.estimate:
        once = 2 * sum(case.tokens for case in of)
        told = sum(len(case.questions) * 900 for case in of)  # a signature and a question
        asked = sum(
            len(asked_of(case, given.asked)) * len(methods_of(case, names)) for case in answered(of, given.answered)
        )
        print(f"ranks: {once + told:,} tokens to embed (MiniLM not counted)")
        print(f"answers: {asked:,} prompts, at most {asked * (given.budget + 120):,} tokens to read")
        return
    models: dict[str, Any] = {}

    def load(family: str) -> Any:
        if family not in models:
            if family == "minilm":
                models[family] = encoders.load("minilm")
            else:
                adapter = given.first if family == "sft" else given.second
                models[family] = embedding.load(adapter=adapter, dtype=given.dtype)
        return models[family]

    if "ranks" in parts:
        about = {"split": given.split, "dtype": given.dtype, "depth": DEPTH}
        about |= {"first": adapter_hash(given.first), "second": adapter_hash(given.second)}
        add_ranks(folder, about, of, load)
    if "answers" in parts:
        models.clear()
        local = not given.llm.startswith(("openai:", "replay:"))
        model = llm.load(given.llm, **({"dtype": given.dtype, "batch_size": given.batch} if local else {}))
        adapter = llm.READER if given.llm == "embedded" else None
        dtype = given.dtype if local else "unknown"
        kept = Kept.of(folder / "answers.jsonl", given.llm, adapter, dtype)
        for case in answered(of, given.answered):
            ranks = kept_ranks(folder, case)
            for name in methods_of(case, names):
                some = prompts(case, name, ranks, given.budget, given.asked)
                print(f"{name} {case.name}: {len(kept.lacks('qa', some))} of {len(some)} to ask", flush=True)
                replies(model, kept, "qa", some, batch=given.batch)


if __name__ == "__main__":
    main()
