"""The k vectors with the largest inner product, exactly, and in an order that never changes.

`FaissIndex` holds its vectors in memory: what the notebooks use. `MilvusIndex` holds them in a folder (Milvus Lite) or
on a Milvus server, as MoM does: for what does not fit. Both give what `argsort(-(Q @ D.T))` gives in exact arithmetic,
equal scores in the order of their ids, whatever the library, its threads or its batches do. Taught in notebook 00.

Nothing here is approximate, deletes vectors, filters, or turns text into vectors (`mindscape.encoders` does).
"""

import logging
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self
from weakref import WeakKeyDictionary

import faiss
import numpy as np

from mindscape.errors import InputError, require


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
                rough, found, vectors = self._candidates(queries[part], wanted)
                sure = (rough[:, k - 1] - rough[:, -1] > doubt[part]) | (wanted == len(self))
                exact = _exact_scores(queries[part[sure]], vectors[sure])
                order = np.lexsort((found[sure], -exact))[:, :k]
                ids[part[sure]] = np.take_along_axis(found[sure], order, 1)
                scores[part[sure]] = np.take_along_axis(exact, order, 1)
                open_rows.append(part[~sure])
            rows, wanted = np.concatenate(open_rows), wanted * 4
        return ids, scores

    def _checked(self, vectors: np.ndarray, what: str) -> np.ndarray:
        try:
            vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError(f"{what}: expected numbers in {self.dim} columns") from None
        if vectors.ndim != 2 or vectors.shape[1] != self.dim:
            raise InputError(f"{what} have shape {vectors.shape}: expected (n, {self.dim})")
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
        if not self._remote:
            _new(path)
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
        self._client.create_collection(
            _COLLECTION, schema=schema, index_params=self._index_params(), consistency_level="Strong"
        )

    def _index_params(self):
        params = self._client.prepare_index_params()
        params.add_index("vector", index_type="FLAT", metric_type="IP")
        return params

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
        for rows in self._pages(["id", "norm"]):
            self._known.update(row["id"] for row in rows)
            self._longest = max(self._longest, max(row["norm"] for row in rows))

    def _pages(self, fields: list[str]) -> Iterator[list[dict]]:
        """All rows, so many at a time as a message holds."""
        pages = self._client.query_iterator(_COLLECTION, batch_size=min(_PAGE, self._step), output_fields=fields)
        try:
            while rows := pages.next():
                yield rows
        finally:
            pages.close()

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
        found = self._client.search(_COLLECTION, data=list(queries), limit=k, output_fields=["vector"])
        scores = np.array([[hit["distance"] for hit in hits] for hits in found], np.float32)
        ids = np.array([[hit["id"] for hit in hits] for hits in found], np.int64)
        vectors = np.array([[hit["entity"]["vector"] for hit in hits] for hits in found], np.float32)
        return scores, ids, vectors


_COLLECTION = "mindscape"
_OPENED: WeakKeyDictionary[MilvusIndex, str] = WeakKeyDictionary()  # indexes in this process, and their folders
_PAGE = 10_000  # rows a message of the server may hold


def _new(path: str | Path) -> Path:
    path = Path(path)
    new = not path.exists() and path.suffix == ".db"
    require(new, f"{path}: expected the name of a new folder that ends in .db; MilvusIndex.load opens an old one")
    return path


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
