r"""Three layers of a document memory, searched apart and fused, or fused and searched (MoM, section 3.2), and what it is worth.

A *unit* is a chunk with its topic and its core content; whatever layer finds it, the chunk is what the reader gets.

    "outline", "core", "chunk"  one layer alone
    "rrf", "max", "sum"         each layer searched, then ranks or similarities fused: the paper's way (HMV)
    "fused"                     the layers' vectors averaged into one for each unit, then searched (SVF)

`recall` says how much of a question's evidence the chunks hold, `support` how likely they make its answer: S_support of
section 4.4, the mean negative log-probability of the answer's tokens, lower is better.

Taught in notebook 42_three_layer_retrieval; the argument behind it in 43_hmv_theorem. Nothing is reranked here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from mindscape import prompts, store
from mindscape.ask import ask
from mindscape.cache import digest
from mindscape.errors import InputError, one_of, require
from mindscape.llm import LLM
from mindscape.llm.base import form_of
from mindscape.mom.extraction import rrf
from mindscape.mom.memory import DocumentMemory
from mindscape.question import BREADTHS, Answer, Question
from mindscape.roles import QA
from mindscape.search import FaissIndex, Index, MilvusIndex
from mindscape.text import Chunk, Document, Place, Span

if TYPE_CHECKING:  # PyTorch comes with it, and a search does without
    from mindscape.encoders import Encoder

TOP = 8  # section 4.1
LAYERS = ("outline", "core", "chunk")
FUSIONS = ("rrf", "max", "sum")
FUSED = "fused"
FRAMES = prompts.languages("mom", "support")
OPEN = {"en": "{context}\n\nAnswer:", "zh": "{context}\n\n回答："}
MakeIndex = Callable[[str, int], Index]  # of a layer's name and the length of its vectors


def in_memory(layer: str, dim: int) -> Index:
    """An index for a layer: faiss."""
    return FaissIndex(dim)


def in_milvus(folder: str | Path) -> MakeIndex:
    """Indexes for the layers in Milvus Lite, a folder LAYER.db each in `folder`; they must be new."""
    return lambda layer, dim: MilvusIndex(dim, Path(folder) / f"{layer}.db")


def fuse(vectors: Sequence[ArrayLike], weights: ArrayLike | None = None, normalised: bool = True) -> np.ndarray:
    """V_fused = Σ w_l V_l of several layers' vectors, each (units, dim); equal weights by default, of sum 1.

    `normalised`: brought to length 1, as an index by cosine does; the paper's V_fused is not, and shorter. Raises InputError
    for weights of another number, below 0 or without a sum, and vectors of different shapes.

    >>> fuse([[[1, 0]], [[0, 1]]], normalised=False).tolist()
    [[0.5, 0.5]]
    >>> fuse([[[1, 0]], [[0, 1]]]).astype(float).round(3).tolist()
    [[0.707, 0.707]]
    """
    layers = [np.asarray(rows, dtype=np.float32) for rows in vectors]
    weights = np.ones(len(layers)) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (len(layers),) or not (weights >= 0).all() or not weights.sum() > 0:
        raise InputError(f"weights={weights.tolist()}: expected {len(layers)} numbers, none below 0, one above")
    shapes = [rows.shape for rows in layers]
    require(len(set(shapes)) == 1, f"vectors of shapes {shapes}: expected one shape")
    mixed = sum(weight * rows for weight, rows in zip(weights / weights.sum(), layers, strict=True))
    norms = np.linalg.norm(mixed, axis=1, keepdims=True) if normalised else 1.0
    return (mixed / np.maximum(norms, np.finfo(np.float32).tiny)).astype(np.float32)


class Layers:
    """Units in an index for each layer, and in one for the fused vectors where there are several layers.

    `chunks[i]` is the i-th unit, `texts[layer][i]` what the layer says of it. Vectors are the encoder's, which keeps them on
    disk, and are asked for at the first search. `weights` (of the layers, in order) and `normalised` as in `fuse`. Raises
    InputError for no units and layers of other numbers; and, when it comes to a search, for blank texts.

    >>> ids, _ = Layers.of_memories([(book, memory)], encoder).search(["Who lit the lamp?"])        # doctest: +SKIP
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        texts: Mapping[str, Sequence[str]],
        encoder: "Encoder",
        index: MakeIndex = in_memory,
        weights: Sequence[float] | None = None,
        normalised: bool = True,
    ):
        require(chunks and texts, "no units: expected at least one chunk and one layer")
        for layer, unit_texts in texts.items():
            fits = len(unit_texts) == len(chunks) and layer not in (*FUSIONS, FUSED)
            require(fits, f"layer {layer!r} has {len(unit_texts)} texts: expected {len(chunks)}, and another name")
        self.chunks, self.encoder = tuple(chunks), encoder
        self.layers, self.texts = tuple(texts), {layer: list(unit_texts) for layer, unit_texts in texts.items()}
        self._index, self._mix = index, (weights, normalised)

    @cached_property
    def indexes(self) -> dict[str, Index]:
        """An index for each layer, and one for the fused vectors."""
        vectors = {layer: self.encoder.encode(unit_texts) for layer, unit_texts in self.texts.items()}
        if len(vectors) > 1:
            vectors[FUSED] = fuse([vectors[layer] for layer in self.layers], *self._mix)
        indexes: dict[str, Index] = {}
        for layer, rows in vectors.items():
            indexes[layer] = self._index(layer, rows.shape[1])
            indexes[layer].add(rows)
        return indexes

    @classmethod
    def of_memories(cls, items: Sequence[tuple[Document, DocumentMemory]], encoder: "Encoder", **options) -> Self:
        """Units of documents with their memories, all three layers. `options` as in the class."""
        chunks = [Chunk(d.id, i, chunk.start, chunk.end) for d, m in items for i, chunk in enumerate(m.chunks)]
        texts = {
            "outline": [topic for _, memory in items for topic in memory.outline],
            "core": [core for _, memory in items for core in memory.core],
            "chunk": [document[chunk].strip() for document, memory in items for chunk in memory.chunks],
        }
        return cls(chunks, texts, encoder, **options)

    @classmethod
    def of_chunks(cls, items: Sequence[tuple[Document, Sequence[Chunk]]], encoder: "Encoder", **options) -> Self:
        """Units of documents that are only cut: the layer "chunk" alone."""
        texts = [document[chunk].strip() for document, chunks in items for chunk in chunks]
        return cls([chunk for _, chunks in items for chunk in chunks], {"chunk": texts}, encoder, **options)

    @property
    def ways(self) -> tuple[str, ...]:
        """What `search` can be asked for."""
        return (*self.layers, *FUSIONS, FUSED) if len(self.layers) > 1 else self.layers

    def search(self, queries: Sequence[str] | np.ndarray, k: int = TOP, way: str = "rrf") -> tuple[np.ndarray, np.ndarray]:
        """The k best units, best first, equal ones by number: ids and scores of shape (queries, k); all where k is more.

        `queries` are texts, or vectors (queries, dim). "rrf", "max" and "sum" look at all units of each layer. Raises
        InputError for another way, and for k below 1.
        """
        one_of(self.ways, way=way)
        require(k >= 1, f"k={k}: expected at least 1")
        vectors = queries if isinstance(queries, np.ndarray) else self.encoder.encode(list(queries), "query")
        if way in (*self.layers, FUSED):
            return self.indexes[way].search(vectors, k)
        by_layer = [self.indexes[layer].search(vectors, len(self.chunks)) for layer in self.layers]
        ranks = np.array([np.argsort(ids, axis=1) for ids, _ in by_layer])  # (layers, queries, units), from 0
        if way == "rrf":
            fused = rrf(ranks + 1.0)
        else:
            scores = np.take_along_axis(np.array([values.astype(float) for _, values in by_layer]), ranks, 2)
            fused = scores.max(0) if way == "max" else scores.sum(0)
        ids = np.argsort(-fused, axis=1, kind="stable")[:, :k]
        return ids, np.take_along_axis(fused, ids, 1)

    def ranked(self, queries: Sequence[str], k: int = TOP, way: str = "rrf") -> np.ndarray:
        """The ids that `search` gives, (queries, k), out of the store where they are there: one entry for all the queries."""
        one_of(self.ways, way=way)
        weights, normalised = self._mix
        key = {"texts": digest(self.texts), "queries": digest(list(queries)), "way": way, "k": k}
        key |= {} if way != FUSED else {"weights": weights and list(weights), "normalised": normalised}
        search = store.each(lambda _: self.search(queries, k, way)[0].tolist())
        (ids,) = store.current().fetch("rankings", self.encoder.maker, [key], search, {"k": k, "way": way})
        return np.array(ids)

    def close(self) -> None:
        """Let go of indexes on disk."""
        for index in vars(self).get("indexes", {}).values():
            getattr(index, "close", lambda: None)()


# What is asked -----------------------------------------------------------------------------------------------------


def scope(question: Question) -> str:
    """Whether a question is "global" or "local" (section 3.2), read off MindGraph's breadths: partial and global, or not.

    >>> scope(Question("1", "note", "Who left?", "Ivo", (), (), (), "partial", "lookup"))
    'global'
    """
    return "global" if question.breadth in BREADTHS[3:] else "local"


# What was found ----------------------------------------------------------------------------------------------------


def covered(document: Document, span: Place, chunks: Sequence[Place]) -> bool:
    """Whether every word of a span stands in one of the chunks of the same document, or some of it in each of several.

    >>> note = Document("note", "It rained. Ivo left.")
    >>> covered(note, Span(3, 14), [Span(0, 10), Span(11, 20)]), covered(note, Span(3, 14), [Span(0, 10)])
    (True, False)
    """
    own = [chunk for chunk in chunks if getattr(chunk, "doc_id", document.id) == document.id]
    at, missing = span.start, ""
    for chunk in sorted(own, key=lambda chunk: chunk.start):
        if chunk.start < span.end and chunk.end > at:
            missing += document.text[at : max(at, chunk.start)]
            at = max(at, chunk.end)
    return not (missing + document.text[at : span.end]).strip()


def recall(document: Document, evidence: Sequence[Span], chunks: Sequence[Place]) -> float:
    """The share of a question's evidence that stands whole in the chunks. Raises InputError for no evidence.

    A cut through a span takes both sides to be found: that is how a way to cut can lose.
    """
    require(evidence, "no evidence: recall needs at least one span a question")
    return sum(covered(document, span, chunks) for span in evidence) / len(evidence)


def context(documents: Mapping[str, Document], chunks: Sequence[Chunk]) -> str:
    """What a reader is shown: the chunks as they were found, a blank line between two.

    >>> note = Document("note", "It rained. Ivo left.")
    >>> context({"note": note}, [Chunk("note", 1, 11, 20), Chunk("note", 0, 0, 11)])
    'Ivo left.\\n\\nIt rained.'
    """
    for chunk in chunks:
        require(chunk.doc_id in documents, f"a chunk is of document {chunk.doc_id!r}: expected one of {', '.join(documents)}")
    return "\n\n".join(documents[chunk.doc_id][chunk].strip() for chunk in chunks)


def support(
    model: LLM, contexts: Sequence[str], answers: Sequence[str], questions: Sequence[str | None] = (), language: str = "en"
) -> np.ndarray:
    """S_support(A | C) of each answer: -1/m Σ log P(a_i | a_<i, C), in nats a token; shape (answers,).

    As printed the question is no part of the condition, and the model has to guess what is answered; with `questions` it is
    told, but for those that are None. Answers are weighed as text that follows, not as replies in a chat, so that models
    compare. Raises InputError for lists of different lengths, blank answers and another language.

    >>> support(model, ["Ivo lit the lamp."], ["Ivo"], ["Who lit the lamp?"])                       # doctest: +SKIP
    array([0.9])
    """
    one_of(FRAMES, language=language)
    conditions = list(questions or [None] * len(answers))
    sizes = len(contexts), len(answers), len(conditions)
    require(len(set(sizes)) == 1, f"{sizes} contexts, answers, questions: expected one each")
    for i, answer in enumerate(answers):
        require(answer.strip(), f"answer {i} is blank: expected some text")
    prompts = [
        (OPEN if question is None else FRAMES)[language].format(context=shown, question=question)
        for shown, question in zip(contexts, conditions, strict=True)
    ]
    if not prompts:
        return np.zeros(0)
    before = "" if language == "zh" else " "
    scores = model.score(prompts, [[before + answer.strip()] for answer in answers])
    return np.array([-score.logprob / score.tokens for (score,) in scores])


def answers(model: LLM, contexts: Sequence[str], questions: Sequence[str], language: str = "en") -> list[Answer]:
    """What a model answers in a phrase with each context before it. Errors as in `ask`.

    >>> answers(model, ["Ivo lit the lamp."], ["Who lit the lamp?"])[0].value                        # doctest: +SKIP
    'Ivo'
    """
    pairs = zip(contexts, questions, strict=True)
    return ask(model, QA, [QA.prompt(language, form_of(model), context=shown, question=question) for shown, question in pairs])
