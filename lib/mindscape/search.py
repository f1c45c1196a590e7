"""Search: passages by their words (BM25), vectors by inner product, and a graph of what passages tell.

*BM25* (Robertson and others, 1994). For a question with words t and a passage d of |d| words among N passages of avgdl words on
average, n_t of which hold t,

    score(d) = sum over t of idf_t * f_td / (f_td + k1 (1 - b + b |d| / avgdl)),   idf_t = ln(1 + (N - n_t + 1/2) / (n_t + 1/2))

with k1 = 1.5, b = 0.75 and f_td the times that t stands in d, as Lucene has it and the library bm25s computes it. The
words are those of `metrics.words`, in Chinese those of jieba; English stop words and a final 's are dropped. Nothing is
stemmed.

*Vectors.* The k with the largest inner product, exactly, and in an order that never changes. `FaissIndex` holds its vectors in
memory: what the notebooks use. `MilvusIndex` holds them in a folder (Milvus Lite) or on a Milvus server, as MoM does: for what
does not fit. Both give what `argsort(-(Q @ D.T))` gives in exact arithmetic, equal scores in the order of their ids, whatever
the library, its threads or its batches do. Nothing is approximate, deletes vectors, filters, or turns text into vectors
(`mindscape.encoders` does).

*A retriever* is asked for texts, queries and k (`search`). A ranking is in the store under the retriever, the texts, the query
and what it is read with (`mindscape.store`); where it is not, texts and queries are embedded, searched, and kept.

*A graph* of entities and relations that passages tell, merged by name: what both GraphRAGs stand on (Edge et al., 2024).
`mindscape.mia.graphrag` retrieves its entities (MiA-RAG, appendix D.2), `mindscape.mindgraph.baselines` writes reports on its
communities (MindGraph, section 2.2). They differ in what counts as one name and whether a relation has a direction. It is plain
data; nothing here asks a model.

Taught in notebooks 00_start_here (BM25, vectors), 12_mia_emb_training (retrievers) and 16_mia_graphrag (the graph).
"""

import logging
import os
import sys
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self
from weakref import WeakKeyDictionary

import bm25s
import faiss
import numpy as np
from bm25s.stopwords import STOPWORDS_EN_PLUS

from mindscape import store
from mindscape.cache import digest
from mindscape.errors import InputError, require
from mindscape.metrics import Language, words
from mindscape.question import Ranking
from mindscape.store import Maker

STOP = frozenset(STOPWORDS_EN_PLUS)


def terms(text: str, language: Language = "en") -> list[str]:
    """The words of a text that BM25 compares: of English ones none that are in every text, and none with a 's, which is cut
    off after that (*it's* leaves *it*).

    >>> terms("Which ballad did the wigmaker's niece perform?"), terms("谁买了那盏灯？", "zh")
    (['ballad', 'wigmaker', 'niece', 'perform'], ['谁', '买', '了', '那', '盏灯'])
    """
    tokens = words(text, language, unit="words")
    return [word.removesuffix("'s") for word in tokens if word not in STOP] if language == "en" else tokens


class BM25:
    """An index of passages by their words; `search` answers as `mindscape.search` does, with questions for vectors.

    >>> index = BM25(["A lamp for Ann.", "A boat for Tom.", "Tom sings."])
    >>> ids, scores = index.search(["Who sings?", "Whose is the lamp?"], k=1)
    >>> ids.tolist()
    [[2], [0]]
    """

    def __init__(self, passages: Sequence[str], language: Language = "en"):
        require(passages, "no passages: expected at least one")
        self.language, self._n = language, len(passages)
        bags = [terms(passage, language) for passage in passages]
        self._held = Counter(term for bag in bags for term in set(bag))  # passages that hold a word
        self._index = bm25s.BM25() if any(bags) else None  # the library cannot index passages without words
        if self._index:
            self._index.index(bags, show_progress=False)

    def search(self, questions: Sequence[str], k: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and scores of the `k` best passages for each question, shape (questions, k), best first.

        Equal scores stand in the order of their ids; a word that no passage holds counts nothing. `k` is cut to the
        number of passages. Raises InputError for k < 1.
        """
        require(k >= 1, f"k={k}: expected at least 1")
        rows = [self._scores(terms(question, self.language)) for question in questions]
        scores = np.array(rows, dtype=np.float32).reshape(len(questions), self._n)
        ids = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return ids, np.take_along_axis(scores, ids, axis=1)

    def shares(self, questions: Sequence[str]) -> np.ndarray:
        """Scores of all passages as a share of the question's weight, the sum of its words' idf: (questions, passages).

        A word counts once, and also where no passage holds it; a passage of many repeats can come to more than 1.

        >>> BM25(["A lamp for Ann.", "Tom sings."]).shares(["Who sings?", "Whose harp?"]).round(2).tolist()
        [[0.0, 0.4], [0.0, 0.0]]
        """
        rows = np.zeros((len(questions), self._n))
        for row, question in zip(rows, questions, strict=True):
            wanted = list(dict.fromkeys(terms(question, self.language)))
            held = np.array([self._held[term] for term in wanted])
            weight = np.log(1 + (self._n - held + 0.5) / (held + 0.5)).sum()
            row[:] = self._scores(wanted) / (weight or 1.0)
        return rows

    def _scores(self, wanted: Sequence[str]) -> np.ndarray:
        known = [term for term in wanted if self._index and term in self._index.vocab_dict]
        return self._index.get_scores(known) if known else np.zeros(self._n, dtype=np.float32)


class Index(ABC):
    """What the kit asks of an index. `dim`: numbers a vector has. `len(index)`: vectors in it.

    Here are checking and exact ordering around a library's search, whose rounding and order of ties are its own affair.
    """

    def __init__(self, dim: int):
        require(dim >= 1, f"dim={dim}: expected at least 1")
        self.dim = dim
        self._known: set[int] = set()
        self._longest = 0.0  # largest norm of a vector: it bounds the rounding of a score

    def __len__(self) -> int:
        return len(self._known)

    def add(self, vectors: np.ndarray, ids: Sequence[int] | np.ndarray | None = None) -> None:
        """Add vectors (n, dim) under `ids`, by default the next n numbers. All are added, or none.

        Raises InputError for another shape, for numbers that are not finite, and for an id that is there already.
        """
        vectors = self._checked(vectors, "vectors")
        if ids is None:
            ids = range(len(self), len(self) + len(vectors))
        ids = np.asarray(ids)
        if ids.shape != (len(vectors),) or (len(ids) and not np.issubdtype(ids.dtype, np.integer)):
            raise InputError(f"ids: expected {len(vectors)} whole numbers, one a vector")
        new = set(ids.tolist())
        if len(new) < len(ids) or new & self._known:
            seen = self._known if new & self._known else {}
            twice = next(i for n, i in enumerate(ids.tolist()) if i in seen or i in ids[:n])
            raise InputError(f"ids: {twice} is there twice; expected every id once")
        if len(vectors):
            self._insert(vectors, ids.astype(np.int64))
            self._known |= new
            self._longest = max(self._longest, float(np.linalg.norm(vectors, axis=1).max()))

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The ids (q, k) and scores (q, k), best first, equal scores by lowest id; all n of them where k > n.

        `queries`: (q, dim). ids are int64, scores float32. Raises InputError for another shape, numbers that are not
        finite, k < 1, and an empty index.

        >>> index = FaissIndex(dim=2)
        >>> index.add([[0, 1], [1, 0], [0, 1]])
        >>> ids, scores = index.search([[0, 2]], k=2)
        >>> ids.tolist(), scores.tolist()
        ([[0, 2]], [[2.0, 2.0]])
        """
        queries = self._checked(queries, "queries")
        require(k >= 1, f"k={k}: expected at least 1")
        require(len(self), "the index is empty: add vectors before searching")
        k = min(k, len(self))
        ids, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
        # A float32 sum of dim products is off by at most dim * eps / 2 * |q| * |d|, for either of two scores.
        doubt = self.dim * np.finfo(np.float32).eps * np.linalg.norm(queries, axis=1) * self._longest
        rows, wanted = np.arange(len(queries)), k + _SPARE
        while len(rows):  # take more candidates, until no rounding can have hidden a better one
            wanted = min(wanted, len(self))
            step = max(1, _HELD // (wanted * self.dim))
            open_rows = []
            for part in (rows[i : i + step] for i in range(0, len(rows), step)):
                rough, candidates, vectors = self._candidates(queries[part], wanted)
                sure = (rough[:, k - 1] - rough[:, -1] > doubt[part]) | (wanted == len(self))
                exact = _exact_scores(queries[part[sure]], vectors[sure])
                order = np.lexsort((candidates[sure], -exact))[:, :k]
                ids[part[sure]] = np.take_along_axis(candidates[sure], order, 1)
                scores[part[sure]] = np.take_along_axis(exact, order, 1)
                open_rows.append(part[~sure])
            rows, wanted = np.concatenate(open_rows), wanted * 4
        return ids, scores

    def _checked(self, vectors: np.ndarray, what: str) -> np.ndarray:
        try:
            vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError(f"{what}: expected numbers in {self.dim} columns") from None
        require(vectors.shape[1:] == (self.dim,), f"{what} have shape {vectors.shape}: expected (n, {self.dim})")
        finite = np.isfinite(vectors).all(1)
        if not finite.all():
            raise InputError(f"{what}: row {int(finite.argmin())} holds NaN or infinity")
        return vectors

    @abstractmethod
    def _insert(self, vectors: np.ndarray, ids: np.ndarray) -> None: ...

    @abstractmethod
    def _candidates(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The library's k best: its scores (q, k), falling; ids (q, k); vectors (q, k, dim)."""


_SPARE = 16  # candidates beyond k, so that a tie at the border seldom needs a second search
_HELD = 2**22  # numbers of candidates held at a time, or one query's candidates if they are more


def _exact_scores(queries: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """float64 (q, n) of queries (q, dim) and the candidates of each (q, n, dim).

    Products of float32 are exact in float64, and every row is added up in the same order, so equal vectors score
    alike. Piece by piece: a float64 copy of all candidates would take twice their memory.
    """
    q, n, dim = vectors.shape
    flat, wide, scores = vectors.reshape(-1, dim), queries.astype(np.float64), np.empty(q * n)
    step = max(1, 2**17 // dim)
    for i in range(0, q * n, step):
        place = np.arange(i, min(i + step, q * n))
        scores[place] = (wide[place // n] * flat[place]).sum(1)
    return scores.reshape(q, n)


class FaissIndex(Index):
    """Vectors in memory, searched by faiss (IndexFlatIP).

    >>> index = FaissIndex(dim=384)
    >>> len(index)
    0
    """

    def __init__(self, dim: int):
        super().__init__(dim)
        self._flat = faiss.IndexFlatIP(dim)
        self._ids = np.empty(0, np.int64)

    def _insert(self, vectors: np.ndarray, ids: np.ndarray) -> None:
        self._flat.add(vectors)
        self._ids = np.concatenate([self._ids, ids])

    def _candidates(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scores, places = self._flat.search(queries, k)
        vectors = self._flat.reconstruct_batch(places.ravel()).reshape(*places.shape, self.dim)
        return scores, self._ids[places], vectors


class MilvusIndex(Index):
    """Vectors in Milvus, searched without approximation (FLAT, IP). It needs the extra `milvus`.

    `path`: a new folder NAME.db, for Milvus Lite inside this process; or the address of a server ("http://..."), which is
    handed on to pymilvus and not covered by the kit's tests. What was added is on disk at once. One process at a time
    may open a folder; `close` lets go of it.

    >>> index = MilvusIndex(dim=384, path="passages.db")                                 # doctest: +SKIP
    """

    def __init__(self, dim: int, path: str | Path):
        super().__init__(dim)
        self.path = str(path)
        new = not Path(path).exists() and Path(path).suffix == ".db"
        said = f"{path}: expected the name of a new folder that ends in .db; MilvusIndex.load opens an old one"
        require(new or self._remote, said)
        self._open()
        if self._remote and self._client.has_collection(_COLLECTION):
            self.close()
            raise InputError(f"{path} holds a collection {_COLLECTION!r} already: MilvusIndex.load opens it")
        self._create()

    def _open(self) -> None:
        self._client = _connect(self.path)
        if not self._remote:
            _OPENED[self] = os.path.abspath(self.path)

    def _create(self) -> None:
        from pymilvus import DataType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self.dim)
        schema.add_field("norm", DataType.DOUBLE)
        index = self._index_params()
        self._client.create_collection(_COLLECTION, schema=schema, index_params=index, consistency_level="Strong")

    def _index_params(self):
        return self._client.prepare_index_params("vector", index_type="FLAT", metric_type="IP")

    @property
    def _step(self) -> int:
        """Rows a message may hold: at most 64 MB."""
        return max(1, 2**22 // self.dim)

    @property
    def _remote(self) -> bool:
        return "://" in self.path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Open what an index that was closed, or killed, left. Raises InputError if there is none."""
        index = cls.__new__(cls)
        index.path = str(path)
        if not index._remote and not (Path(path) / "collections" / _COLLECTION).is_dir():
            raise InputError(f"{path} is not the folder of a Milvus index")
        index._open()
        from pymilvus.exceptions import MilvusException  # `_open` says so where it is not installed

        try:
            index._read()
        except BaseException as error:
            index.close()
            if isinstance(error, MilvusException):
                raise InputError(f"{path} cannot be read by Milvus: {error.message}") from error
            raise
        return index

    def _read(self) -> None:
        from pymilvus.exceptions import MilvusException

        require(self._client.has_collection(_COLLECTION), f"{self.path} holds no collection {_COLLECTION!r}")
        fields = self._client.describe_collection(_COLLECTION)["fields"]
        Index.__init__(self, next(field["params"]["dim"] for field in fields if field["name"] == "vector"))
        try:
            self._client.load_collection(_COLLECTION)
        except MilvusException:
            if self._remote:
                raise
            # A process was killed while it wrote what Milvus Lite derives from the vectors: derive it anew.
            self._client.drop_index(_COLLECTION, "vector")
            self._client.create_index(_COLLECTION, self._index_params())
            self._client.load_collection(_COLLECTION)
        page = {"batch_size": min(_PAGE, self._step), "output_fields": ["id", "norm"]}  # so many as a message holds
        with closing(self._client.query_iterator(_COLLECTION, **page)) as pages:
            while rows := pages.next():
                self._known.update(row["id"] for row in rows)
                self._longest = max(self._longest, *(row["norm"] for row in rows))

    def close(self) -> None:
        """Let go of the folder or the server. Milvus Lite serves a folder until its last index here is closed."""
        self._client.close()
        folder = _OPENED.pop(self, None)
        lite = sys.modules.get("milvus_lite.server_manager")  # pymilvus has imported it where it has begun to serve
        if folder and lite and folder not in _OPENED.values():
            lite.server_manager_instance.release_server(folder)

    def _insert(self, vectors: np.ndarray, ids: np.ndarray) -> None:
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        for i in range(0, len(ids), self._step):
            part = slice(i, i + self._step)
            rows = zip(ids[part].tolist(), vectors[part], norms[part].tolist(), strict=True)
            self._client.insert(_COLLECTION, [{"id": id, "vector": vector, "norm": norm} for id, vector, norm in rows])

    def _candidates(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = self._client.search(_COLLECTION, data=list(queries), limit=k, output_fields=["vector"])
        scores = np.array([[hit["distance"] for hit in hits] for hits in rows], np.float32)
        ids = np.array([[hit["id"] for hit in hits] for hits in rows], np.int64)
        vectors = np.array([[hit["entity"]["vector"] for hit in hits] for hits in rows], np.float32)
        return scores, ids, vectors


_COLLECTION = "mindscape"
_OPENED: WeakKeyDictionary[MilvusIndex, str] = WeakKeyDictionary()  # indexes in this process, and their folders
_PAGE = 10_000  # rows a message of the server may hold


def _connect(path: str):
    """A client of Milvus, imported only now: it is an extra, and takes half a second."""
    try:
        from pymilvus import MilvusClient
        from pymilvus.exceptions import MilvusException
    except ImportError as error:
        raise InputError("MilvusIndex needs pymilvus and milvus-lite: install the extra `milvus`") from error
    for name in ("pymilvus", "milvus_lite", "grpc._server"):  # what goes wrong is raised; they would print it as well
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return MilvusClient(path)
    except MilvusException as error:
        raise InputError(f"{path} cannot be opened by Milvus: {error.message}; is it open elsewhere?") from error


@dataclass(frozen=True)
class Told:
    """What one passage tells: (name, statement on it) and (name, name, statement that relates them)."""

    chunk: int
    entities: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()


@dataclass
class EntityGraph:
    """Entities by the key of their name, in the order in which they come up; relations by the keys of both ends.

    `names`: the first spelling of each entity. `statements` and `chunks`: of an entity or a relation, each once; a relation
    has its own key, (source, target).
    """

    names: dict[str, str] = field(default_factory=dict)
    statements: dict[Any, list[str]] = field(default_factory=lambda: defaultdict(list))
    chunks: dict[Any, list[int]] = field(default_factory=lambda: defaultdict(list))

    @property
    def relations(self) -> list[tuple[str, str]]:
        return [key for key in self.chunks if isinstance(key, tuple)]

    def add(self, key: Any, statement: str, chunk: int, most: float) -> None:
        statements, chunks = self.statements[key], self.chunks[key]
        if chunk not in chunks:
            chunks.append(chunk)
        if statement not in statements and len(statements) < most:
            statements.append(statement)


def merged_by_name(
    passages: Iterable[Told], key: Callable[[str], str], directed: bool = False, most: float = float("inf")
) -> EntityGraph:
    """One graph of what the passages tell: names of one `key` are one entity, relations of the same two are one.

    `directed`: the two directions of a relation are two. `most`: statements of an entity or a relation. A relation of an entity
    to itself describes it; names with an empty key, and relations with one, are passed over. Taught in notebook
    16_mia_graphrag.

    >>> passages = [Told(0, (("Ann", "She left."),)), Told(3, (("ann", "She came back."),), (("Ann", "Tom", "Ann met Tom."),))]
    >>> graph = merged_by_name(passages, str.lower)
    >>> graph.names, graph.statements["ann"], graph.chunks["ann", "tom"]
    ({'ann': 'Ann', 'tom': 'Tom'}, ['She left.', 'She came back.'], [3])
    """
    graph = EntityGraph()
    for passage in passages:
        alone = [(name, name, statement) for name, statement in passage.entities]  # what is told of it, as of one with itself
        for source, target, statement in (*alone, *passage.relations):
            ends = key(source), key(target)
            if not all(ends):
                continue
            itself = ends[0] == ends[1]
            for end, name in zip(ends, (source, target), strict=True):
                graph.names.setdefault(end, name)
                graph.add(end, statement, passage.chunk, most if itself and statement else 0)
            if not itself:
                known = not directed and ends not in graph.chunks and ends[::-1] in graph.chunks
                graph.add(ends[::-1] if known else ends, statement, passage.chunk, most)
    return graph


DEPTH = 10  # how far rankings go, unless more is asked for


class Retriever(Protocol):
    """An embedder: `mindscape.mia.embedding.MiaEmbedder`, or any encoder in a `PlainEmbedder`."""

    @property
    def maker(self) -> Maker: ...

    def units(self, texts: Sequence[str]) -> np.ndarray: ...

    def queries(self, questions: Sequence[str], summary: str | None = None, task: Any = "chunk") -> np.ndarray: ...


def nearest(queries: np.ndarray, units: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The places (q, k) of the units with the largest inner products, best first, equal ones by place; and the products.

    >>> nearest(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]), 2)[0].tolist()
    [[1, 2]]
    """
    index = FaissIndex(units.shape[1])
    index.add(units)
    return index.search(queries, k)


def search(
    retriever: Retriever,
    texts: Sequence[str],
    queries: Sequence[str],
    k: int = DEPTH,
    *,
    summary: str | None = None,
    task: str = "chunk",
) -> list[Ranking]:
    """The k nearest of some texts for each query, which is read with `summary` if there is one.

    `task`: "chunk" or "node", which of the two vectors of Eq. 11 (MiA-RAG) is searched with.

    >>> search(embedder, ["Ann is the smith.", "It rained."], ["Who is the smith?"], k=1)     # doctest: +SKIP
    [Ranking(ids=(0,), scores=(0.61,))]
    """
    rule = {"texts": _of_texts(tuple(texts)), "summary": summary, "task": task, "k": k}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        ids, scores = nearest(retriever.queries(questions, summary, task), retriever.units(texts), k)
        return (Ranking(tuple(row), tuple(row_scores)) for row, row_scores in zip(ids.tolist(), scores.tolist(), strict=True))

    return by_rule(retriever.maker, rule, queries, rank, {"k": k, "task": task})


def by_rule(
    maker: Maker,
    rule: Mapping[str, Any],
    queries: Sequence[str],
    rank: Callable[[Sequence[str]], Iterable[Ranking]],
    how: Mapping[str, Any] | None = None,
) -> list[Ranking]:
    """A ranking for each query by any rule: found in the store under maker, rule and query, or made by `rank` of those that
    are not there.

    `rule` holds all that decides a ranking beside its query, as JSON; `how` as in `Store.fetch`.

    >>> by_rule(Maker("by place", {}), {"of": 3}, ["Who left?"], lambda queries: [Ranking((0, 1, 2)) for _ in queries])
    [Ranking(ids=(0, 1, 2), scores=())]
    """

    def compute(places: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        for position, hits in enumerate(rank([queries[i] for i in places])):
            yield position, {"ids": list(hits.ids)} | ({"scores": [round(x, 5) for x in hits.scores]} if hits.scores else {})

    questions = [{**rule, "query": query} for query in queries]
    rows = store.current().fetch("ranking", maker, questions, compute, how)
    return [Ranking(tuple(row["ids"]), tuple(row.get("scores", ()))) for row in rows]


_of_texts = lru_cache(maxsize=64)(digest)  # of a tuple of texts
