"""Fifteen ways to find things: what each encoder ranks, and the pieces that a method brings for a question, best first.

    by_minilm, by_sft, by_mia   rankings of a *family*, all that is looked for with one encoder; these take a model
    pieces                      what a method makes of them, and what takes no model at all (BM25, the beginning, lots)

The second pass of a signature is Eq. 4 of MiA-Signature, entities are brought by GraphRAG's local mode, units of a document
memory by ranks that are fused (MoM). Nothing is cut to a budget here. Taught in notebook 50_side_by_side.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mindscape.corpora.storyworld.chance import Chance
from mindscape.encoders import Encoder
from mindscape.errors import InputError
from mindscape.lexical import BM25
from mindscape.methods.books import Case
from mindscape.methods.graphs import stepped
from mindscape.mia import graphrag
from mindscape.mia.embedding import MiaEmbedder, PlainEmbedder
from mindscape.mom.retrieval import Layers
from mindscape.signature.memory import ranked
from mindscape.signature.rag import ALPHA, K0, Geometry, Shelf, Situated, Woken, blend
from mindscape.text import Chunk

BUDGET = 1000  # tokens that a method may show
DEPTH, STATEMENTS = 50, 150  # units kept of a ranking; of statements, which are shorter
LEAD = 200  # passages from the beginning
FAMILIES = ("minilm", "sft", "mia")
Piece = Chunk | str
Embedder = MiaEmbedder | PlainEmbedder


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
    "signature": Method("signature", "MiA-Signature", "mia", readings=(3, 1)),
    "signature_shown": Method("signature, shown", "MiA-Signature", "mia", readings=(3, 1), notes=True),
    "mindgraph": Method("concept graph", "MindGraph", "minilm", True, (0, 1)),
    "mom": Method("three layers", "MoM", "minilm", readings=(1, 1)),
    "evidence": Method("the evidence itself", "bound"),
}


def methods_of(case: Case, some: Iterable[str] = METHODS) -> list[str]:
    """Those methods that a case has what it takes for. Raises InputError for an unknown one.

    Taught in notebook 50_side_by_side.

    >>> "mindgraph" in methods_of(plays("rome", tokenizer))                                  # doctest: +SKIP
    False
    """
    return [name for name in some if not known(name).log or case.books]


def known(method: str) -> Method:
    """What is known of a method. Raises InputError for an unknown one. Taught in notebook 50_side_by_side.

    >>> known("bm25").label
    'BM25'
    """
    if method not in METHODS:
        raise InputError(f"method={method!r}: expected one of {', '.join(METHODS)}")
    return METHODS[method]


@dataclass(frozen=True)
class Ranks:
    """What a family of methods finds for the questions of a case: by method, units for each question, best first.

    Units are passages of the case; of "mom" its `units`, of "mindgraph" its `statements`, of "graphrag" entities of its
    `graph`, of "items" (the signatures) sessions. `seconds` of processor time: "index" once, "questions" for all of them.
    `bytes` of vectors by method. `peak`: of the process, in bytes. Seconds and peaks are of the machine that ranked.
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
    begun = time.process_time()
    passages = encoder.encode(case.memory.texts)
    layers = Layers.of_memories(list(zip(case.memory.documents, case.memories, strict=True)), encoder)
    size = {"minilm": passages.nbytes, "mom": 3 * len(case.units) * passages.itemsize * passages.shape[1]}
    if case.books:
        said, entities = encoder.encode(case.statements.texts), encoder.encode(case.graph.graph.texts)
        size |= {"mindgraph": said.nbytes, "graphrag": entities.nbytes}
    middle = time.process_time()
    queries = encoder.encode([one.question for one in case.questions], "query")
    found = {"minilm": _best(queries @ passages.T, depth), "mom": layers.search(queries, depth, "rrf")[0].tolist()}
    if case.books:
        found["mindgraph"] = _best(stepped(queries @ said.T, case.statements.about), max(depth, STATEMENTS))
        found["graphrag"] = _best(queries @ entities.T, graphrag.TOP)
    return Ranks(found, _seconds(begun, middle), size)


def by_sft(case: Case, embedder: Embedder, depth: int = DEPTH) -> Ranks:
    """Passages by an embedder that is told of no summary. Taught in notebook 50_side_by_side.

    >>> by_sft(case, embedding.load(adapter="data/adapters/sft_emb")).found["sft_emb"][0][:3]  # doctest: +SKIP
    [17, 4, 60]
    """
    begun = time.process_time()
    units = embedder.units(case.memory.texts)
    middle = time.process_time()
    found = _best(embedder.queries([one.question for one in case.questions]) @ units.T, depth)
    return Ranks({"sft_emb": found}, _seconds(begun, middle), {"sft_emb": units.nbytes})


def by_mia(
    case: Case, embedder: Embedder, weigher: Encoder, woken: Sequence[Sequence[int]], depth: int = DEPTH
) -> Ranks:
    """Passages by an embedder that reads a question alone, with each book's summary for that book's passages, and with a
    signature: five sessions of those that `woken`, the passages of a first pass, stand in (Algorithm 2), blended at 0.5.

    Each passage is read once for all three. Taught in notebook 50_side_by_side.

    >>> by_mia(case, embedder, encoders.load("minilm"), first.found["sft_emb"]).found["items"][0]  # doctest: +SKIP
    [2, 19, 12, 28, 5]
    """
    asked, memory = [one.question for one in case.questions], case.memory
    firsts = [tuple(chunks[:K0]) for chunks in woken]
    wakes = [Woken(text, first, memory.of(first)) for text, first in zip(asked, firsts, strict=True)]
    begun = time.process_time()
    units = embedder.units(memory.texts)
    shelf = Shelf(memory, Geometry(weigher), live=True)
    shelf.objective(wakes[0])  # here the weigher reads passages and sessions, once for all questions
    middle = time.process_time()
    scores = np.zeros((len(asked), len(units)))
    for i, summary in enumerate(case.summaries):
        mine = memory.books == i
        scores[:, mine] = embedder.queries(asked, summary) @ units[mine].T
    items = [shelf.choose(it) for it in wakes]
    reader = Situated(embedder)
    told = reader.steered(asked, [shelf.signature(some) for some in items])
    found = {
        "mia_alone": _best(embedder.queries(asked) @ units.T, depth),
        "mia_emb": _best(scores, depth),
        "items": [list(some) for some in items],
        "signature": _best(blend(reader.asked(asked) @ units.T, told @ units.T, ALPHA), depth),
    }
    size = dict.fromkeys(("mia_alone", "mia_emb", "mia_rag"), units.nbytes)
    weighed = 4 * weigher.dim * (len(memory.items) + len(memory.chunks))
    of_signature = 2 * units.nbytes + weighed  # those of both passes
    return Ranks(found, _seconds(begun, middle), size | dict.fromkeys(("signature", "signature_shown"), of_signature))


def _best(scores: np.ndarray, k: int) -> list[list[int]]:
    return [ranked(row, k).tolist() for row in scores]


def _seconds(begun: float, middle: float) -> dict[str, float]:
    return {"index": round(middle - begun, 3), "questions": round(time.process_time() - middle, 3)}


def pieces(
    case: Case, method: str, ranks: Mapping[str, Ranks] | None = None, budget: int = BUDGET
) -> list[list[Piece]]:
    """What a method would show for each question of a case, best first, notes before places; more of it than a budget holds.

    `ranks` by family; `budget` is what GraphRAG deals out to entities, ties and passages, and nobody else looks at it. Raises
    InputError for an unknown method, one that has no graph to look at, and rankings that lack. Taught in notebook
    50_side_by_side.

    >>> pieces(case, "lead")[0][0].start                                                     # doctest: +SKIP
    0
    """
    of = known(method)
    if of.log and not case.books:
        raise InputError(f"{method} looks at a graph, and {case.name} has none: expected books of the storyworld")
    return _ranked(case, method, ranks_of(case, method, ranks).found, budget) if of.family else _plain(case, method)


def ranks_of(case: Case, method: str, ranks: Mapping[str, Ranks] | None = None) -> Ranks:
    """Of those by family, the rankings that a method needs; empty ones if it needs none. Taught in notebook 50_side_by_side.

    Raises InputError for an unknown method, and for rankings that lack.

    >>> ranks_of(case, "lead").found                                                         # doctest: +SKIP
    {}
    """
    family, ranks = known(method).family, ranks or {}
    if family and family not in ranks:
        raise InputError(f"{method} on {case.name}: expected rankings of family {family!r}")
    return ranks[family] if family else Ranks({})


def _plain(case: Case, method: str) -> list[list[Piece]]:
    """Of a method that takes no model."""
    memory, asked = case.memory, case.questions
    if method == "summary":
        return [list(case.summaries) for _ in asked]
    if method == "lead":
        rows = [range(min(LEAD, len(memory.chunks)))] * len(asked)
    elif method == "lot":
        rows = [Chance("methods", "lot", one.id).some(range(len(memory.chunks)), DEPTH) for one in asked]
    elif method == "bm25":
        rows = BM25(memory.texts, memory.language).search([one.question for one in asked], DEPTH)[0].tolist()
    else:  # the evidence, and of each binding the place nearest to it, in the order of the text
        rows = [memory.holding(one.doc_id, one.support) for one in asked]
    return [[memory.chunks[i] for i in row] for row in rows]


def _ranked(case: Case, method: str, found: Mapping[str, Sequence[Sequence[int]]], budget: int) -> list[list[Piece]]:
    memory = case.memory
    if method == "graphrag":
        return [_of_graph(case, row, budget) for row in found[method]]
    if method in ("mom", "mindgraph"):
        places = case.units if method == "mom" else case.statements.places
        return [[places[i] for i in row] for row in found[method]]
    rows = found[{"mia_rag": "mia_emb", "signature_shown": "signature"}.get(method, method)]
    notes: list[list[str]] = [[] for _ in rows]
    if method == "mia_rag":
        notes = [[case.summaries[memory.books[row[0]]]] for row in rows]
    elif method == "signature_shown":
        notes = [[memory.items[i].text for i in some] for some in found["items"]]
    return [[*some, *(memory.chunks[i] for i in row)] for some, row in zip(notes, rows, strict=True)]


def _of_graph(case: Case, entities: Sequence[int], budget: int) -> list[Piece]:
    """What GraphRAG's local mode makes of entities: descriptions and ties, a note each, and passages."""
    graph = case.graph.graph

    def count(text: str) -> int:
        return len(case.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    of = graphrag.assembled(graph, entities, case.graph.document, case.graph.chunks, budget, count)
    notes = [f"- {graph.texts[i]}" for i in of.entities] + [f"- {graph.relations[i].description}" for i in of.relations]
    return [*notes, *(case.memory.chunks[i] for i in of.chunks)]
