"""Fifteen ways to find things: what each ranks by its encoder, and the pieces that a method brings for a question.

    rankings   units for each question, found in the store or made (`mindscape.search`)
    pieces     what a method makes of them, and what takes no model at all (BM25, the beginning, passages at random)
    filled     pieces up to a budget of tokens, the same for all methods
    needed     whether what a question needs is among them

The second pass of a signature is Eq. 4 of MiA-Signature, entities are brought by GraphRAG's local mode, units of a document
memory by ranks that are fused (MoM). Whether a reader can make use of it is not asked here. Taught in notebook
50_side_by_side.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import yaml

from mindscape import paths
from mindscape.cache import digest
from mindscape.encoders import Encoder
from mindscape.errors import InputError, one_of, require
from mindscape.lexical import BM25
from mindscape.methods.books import STEP, Case, starts, stepped
from mindscape.mia import graphrag
from mindscape.mia.embedding import MiaEmbedder, PlainEmbedder
from mindscape.mom.retrieval import Layers, context, covered
from mindscape.question import Question, Ranking
from mindscape.search import by_rule, search
from mindscape.signature.rag import K0, K, Shelf, Woken
from mindscape.text import Chunk, token_ids
from storyworld.chance import Chance

DEPTH, STATEMENTS = 50, 150  # units kept of a ranking; of statements, which are shorter
LEAD = 200  # passages from the beginning
Piece = Chunk | str
Embedder = MiaEmbedder | PlainEmbedder


@dataclass(frozen=True)
class Method:
    """A way to find things, as `data/methods.yaml` lists it. `family`: by which of the `Encoders`, "" for none. `log`: it needs
    a book whose log is known.

    `readings`: how often an encoder and how often a language model reads the whole text before the first question, if
    nobody has written summaries, notes or graphs yet; `notes`: whether it shows texts that are not the book's.
    """

    label: str
    paper: str
    family: str = ""
    log: bool = False
    readings: Sequence[int] = (0, 0)
    notes: bool = False


_LISTED = yaml.safe_load(paths.data("methods.yaml").read_text(encoding="utf-8"))
METHODS = {name: Method(**of) for name, of in _LISTED.items()}


def methods_of(case: Case, methods: Iterable[str] = METHODS) -> list[str]:
    """Those methods that a case has what it takes for. Raises InputError for an unknown one.

    Taught in notebook 50_side_by_side.

    >>> "mindgraph" in methods_of(plays("rome", tokenizer))                                  # doctest: +SKIP
    False
    """
    return [name for name in methods if not known(name).log or case.books]


def known(method: str) -> Method:
    """What is known of a method. Raises InputError for an unknown one. Taught in notebook 50_side_by_side.

    >>> known("bm25").label
    'BM25'
    """
    one_of(METHODS, method=method)
    return METHODS[method]


@dataclass(frozen=True)
class Encoders:
    """Who ranks: a sentence encoder, an embedder that is told of no summary, and one that reads questions in a summary's light.

    A method's `family` names one of them.
    """

    minilm: Encoder
    sft: Embedder
    mia: Embedder


def rankings(case: Case, method: str, by: Encoders) -> list[Ranking]:
    """Units for each question of a case, best first. Of a method that shows notes beside what another one finds, the other's.

    Units are passages; of "mom" the case's `units`, of "mindgraph" its `statements`, of "graphrag" entities of its `graph`.
    Raises InputError for a method that has no encoder. Taught in notebook 50_side_by_side.

    >>> rankings(case, "minilm", by)[0].first(3)                                             # doctest: +SKIP
    (17, 4, 60)
    """
    method = {"mia_rag": "mia_emb", "signature_shown": "signature"}.get(method, method)
    texts, plain = case.memory.texts, PlainEmbedder(by.minilm)
    if method in ("minilm", "sft_emb", "mia_alone"):
        return search({"minilm": plain, "sft_emb": by.sft, "mia_alone": by.mia}[method], texts, case.asked, DEPTH)
    if method == "graphrag":
        return search(plain, case.graph.graph.texts, case.asked, graphrag.TOP)
    require(method in RULES, f"method={method!r} ranks nothing by an encoder")
    return RULES[method](case, by)


def _in_its_books_light(case: Case, by: Encoders) -> list[Ranking]:
    """Each book's passages by the question with that book's summary."""
    books, texts = case.memory.books, case.memory.texts
    rule: dict[str, Any] = {"texts": digest(texts), "books": digest(books.tolist())}
    rule |= {"summaries": digest(list(case.summaries)), "k": DEPTH}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        units = by.mia.units(texts)
        scores = np.zeros((len(questions), len(units)))
        for i, summary in enumerate(case.summaries):
            scores[:, books == i] = by.mia.queries(questions, summary) @ units[books == i].T
        return _best(scores, DEPTH)

    return by_rule(by.mia.maker, rule, case.asked, rank)


def items(case: Case, by: Encoders) -> list[Ranking]:
    """The sessions of each question's signature: five of those that the passages of a first pass, by `by.sft`, stand in
    (Algorithm 2 of MiA-Signature). Taught in notebook 50_side_by_side.

    >>> items(case, by)[0].ids                                                               # doctest: +SKIP
    (2, 19, 12, 28, 5)
    """
    memory = case.memory
    rule = {"texts": digest(memory.texts), "sessions": digest(memory.summaries), "woken": K0, "k": K}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        shelf = Shelf(memory, by.minilm, live=True)
        for question, first in zip(questions, search(by.sft, memory.texts, questions, DEPTH), strict=True):
            woken = first.first(K0)
            yield Ranking(shelf.choose(Woken(question, woken, memory.of(woken)), k=K))

    return by_rule(by.sft.maker & by.minilm.maker, rule, case.asked, rank)


def _by_signature(case: Case, by: Encoders) -> list[Ranking]:
    """Passages by the question and its signature, blended at 0.5 (Eq. 4)."""
    memory = case.memory
    items_of = dict(zip(case.asked, items(case, by), strict=True))
    rule = {"texts": digest(memory.texts), "sessions": digest(memory.summaries), "woken": K0, "items": K, "k": DEPTH}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        shelf = Shelf(memory, by.mia, live=True)
        rankings = shelf.search(questions, [shelf.signature(items_of[question].ids) for question in questions], DEPTH)
        return (Ranking(tuple(ids)) for ids in rankings)

    return by_rule(by.mia.maker & by.sft.maker & by.minilm.maker, rule, case.asked, rank)


def _by_statements(case: Case, by: Encoders) -> list[Ranking]:
    """Statements of the graph, nearest first, each with a share of the best one about the same person."""
    statements, depth = case.statements, max(DEPTH, STATEMENTS)
    rule = {"texts": digest(list(statements.texts)), "about": digest(statements.about.tolist()), "step": STEP}
    rule |= {"k": depth}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        scores = by.minilm.encode(questions, "query") @ by.minilm.encode(statements.texts).T
        return _best(stepped(scores, statements.about), depth)

    return by_rule(by.minilm.maker, rule, case.asked, rank)


def _by_layers(case: Case, by: Encoders) -> list[Ranking]:
    """Units of the document memories, by topics, core contents and chunks, whose ranks are fused."""
    memories = list(zip(case.memory.documents, case.memories, strict=True))
    layers = [[*memory.outline, *memory.core, *memory.borders] for memory in case.memories]
    return _fused(case, by, layers, lambda: Layers.of_memories(memories, by.minilm))


def _fused(case: Case, by: Encoders, told: Sequence[Sequence[str]], layers: Callable[[], Layers]) -> list[Ranking]:
    """By several `layers`, which are made where they are needed, of which `told` tells the store."""
    rule = {"texts": digest(case.memory.texts), "layers": digest(told), "way": "rrf", "k": DEPTH}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        return _ranked(layers().search(questions, DEPTH, "rrf")[0])

    return by_rule(by.minilm.maker, rule, case.asked, rank)


def short_layers(case: Case, by: Encoders) -> list[list[Piece]]:
    """Three layers with a passage for a unit: each passage has the topic and the core content of the unit that it begins in.

    What "mom" brings for a question are whole units, scenes of a novel, of which few fit a small budget; this is the same
    memory in the units that everybody else is given. Taught in notebook 50_side_by_side.

    >>> short_layers(case, by)[0][0]                                                         # doctest: +SKIP
    Chunk(doc_id='series-2010-1', index=17, start=4105, end=4390)
    """
    order = {name: i for i, name in enumerate(case.documents)}
    keys = [(order[unit.doc_id], unit.start) for unit in case.units]
    unit_of = [bisect_right(keys, (order[chunk.doc_id], chunk.start)) - 1 for chunk in case.memory.chunks]
    topics = [topic for memory in case.memories for topic in memory.outline]
    cores = [core for memory in case.memories for core in memory.core]
    texts = {"outline": [topics[i] for i in unit_of], "core": [cores[i] for i in unit_of], "chunk": case.memory.texts}
    notes = [texts["outline"], texts["core"]]
    rows = _fused(case, by, notes, lambda: Layers(case.memory.chunks, texts, by.minilm))
    return [[case.memory.chunks[i] for i in row.ids] for row in rows]


RULES = {"mia_emb": _in_its_books_light, "signature": _by_signature, "mindgraph": _by_statements, "mom": _by_layers}


def _best(scores: np.ndarray, k: int) -> Iterator[Ranking]:
    return _ranked(np.argsort(-scores, axis=1, kind="stable")[:, :k])


def _ranked(ids: np.ndarray) -> Iterator[Ranking]:
    return (Ranking(tuple(row)) for row in ids.tolist())


def pieces(case: Case, method: str, by: Encoders | None = None, budget: int = 1000, seed: int = 0) -> list[list[Piece]]:
    """What a method would show for each question of a case, best first, notes before places; more of it than a budget holds.

    `budget` is what GraphRAG deals out to entities, ties and passages, and nobody else looks at it; `seed` is of passages by
    lot. Raises InputError for an unknown method, one that has no graph to look at, and encoders that lack. Taught in notebook
    50_side_by_side.

    >>> pieces(case, "lead")[0][0].start                                                     # doctest: +SKIP
    0
    """
    about = known(method)
    if about.log and not case.books:
        raise InputError(f"{method} looks at a graph, and {case.name} has none: expected books of the storyworld")
    if not about.family:
        return _plain(case, method, seed)
    require(by is not None, f"{method} on {case.name}: expected encoders to rank by")
    memory, rows = case.memory, [ranking.ids for ranking in rankings(case, method, by)]
    if method == "graphrag":
        return [_of_graph(case, row, budget) for row in rows]
    if method in ("mom", "mindgraph"):
        places = case.units if method == "mom" else case.statements.places
        return [[places[i] for i in row] for row in rows]
    notes: list[list[str]] = [[] for _ in rows]
    if method == "mia_rag":
        notes = [[case.summaries[memory.books[row[0]]]] for row in rows]
    elif method == "signature_shown":
        notes = [[memory.items[i].text for i in shown.ids] for shown in items(case, by)]
    return [[*shown, *(memory.chunks[i] for i in row)] for shown, row in zip(notes, rows, strict=True)]


def _plain(case: Case, method: str, seed: int) -> list[list[Piece]]:
    """Of a method that takes no model."""
    memory, questions = case.memory, case.questions
    if method == "summary":
        return [list(case.summaries) for _ in questions]
    if method == "lead":
        rows: Sequence[Sequence[int]] = [range(min(LEAD, len(memory.chunks)))] * len(questions)
    elif method == "lot":
        lots = [Chance("methods", "lot", question.id, *[seed] * bool(seed)) for question in questions]
        rows = [lot.some(range(len(memory.chunks)), DEPTH) for lot in lots]
    elif method == "bm25":
        rows = BM25(memory.texts, memory.language).search(case.asked, DEPTH)[0].tolist()
    else:  # the evidence, and of each binding the place nearest to it, in the order of the text
        rows = [memory.holding(question.doc_id, question.support) for question in questions]
    return [[memory.chunks[i] for i in row] for row in rows]


def _of_graph(case: Case, entities: Sequence[int], budget: int) -> list[Piece]:
    """What GraphRAG's local mode makes of entities: descriptions and ties, a note each, and passages."""
    graph = case.graph.graph

    def count(text: str) -> int:
        return len(token_ids(text, case.tokenizer))

    context = graphrag.assembled(graph, entities, case.graph.document, case.graph.chunks, budget, count)
    notes = [f"- {graph.texts[i]}" for i in context.entities]
    notes += [f"- {graph.relations[i].description}" for i in context.relations]
    return [*notes, *(case.memory.chunks[i] for i in context.chunks)]


# One budget for all ----------------------------------------------------------------------------------------------------


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


def filled(case: Case, pieces: Sequence[Piece], budget: int = 1000) -> Shown:
    """As many pieces as the budget holds, in their order; a place that stands in those before it is passed over, the piece that
    does not fit is cut, and nothing follows it.

    Tokens are the reader's, of each document and note by itself; the blank lines between pieces are not counted. Raises
    InputError for a budget below 1. Taught in notebook 50_side_by_side.

    >>> filled(case, pieces(case, "lead")[0], 300).tokens                                    # doctest: +SKIP
    300
    """
    require(budget >= 1, f"budget={budget}: expected at least 1 token")
    taken: list[Piece] = []
    left = budget
    for piece in pieces:
        if left == 0:
            break
        if isinstance(piece, str):
            at, begin, end = starts(piece, case.tokenizer), 0, len(piece)
        elif covered(case.documents[piece.doc_id], piece, [place for place in taken if isinstance(place, Chunk)]):
            continue
        else:
            every, begin, end = case.starts[piece.doc_id], piece.start, piece.end
            at = every[bisect_left(every, begin) : bisect_left(every, end)]
        if len(at) > left:
            end = at[left]
        left -= min(left, len(at))
        if end > begin:
            taken.append(piece[:end] if isinstance(piece, str) else replace(piece, end=end))
    return Shown(tuple(taken), budget - left)


@dataclass(frozen=True)
class Needed:
    """What a question needs and was shown: the share of its evidence; of its bindings; of both, each span and each binding
    counted once (1 where there are none); and whether all of it is there.

    A binding is there where one of the places that state it is shown, or a note says it in its words.
    """

    evidence: float
    bindings: float
    share: float

    @property
    def all(self) -> float:
        return float(self.evidence == 1 and self.bindings == 1)


def needed(case: Case, question: Question, what: Shown) -> Needed:
    """Whether what is shown holds what a question needs. Taught in notebook 50_side_by_side.

    >>> needed(case, question, filled(case, pieces(case, "evidence")[0])).all               # doctest: +SKIP
    1.0
    """
    document, places = case.documents[question.doc_id], what.places
    evidence = [covered(document, span, places) for span in question.evidence]
    bindings = [any(covered(document, span, places) for span in group) for group in question.bindings]
    notes = " ".join(what.notes).lower()
    glosses = [part.strip().lower() for part in question.gloss.replace("；", ";").split(";") if part.strip()]
    if len(glosses) == len(bindings):  # a gloss for each binding
        bindings = [there or gloss in notes for there, gloss in zip(bindings, glosses, strict=True)]
    both = [*evidence, *bindings]
    return Needed(*(sum(there) / len(there) if there else 1.0 for there in (evidence, bindings, both)))
