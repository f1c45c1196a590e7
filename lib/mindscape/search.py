"""What is nearest to a query, as every notebook asks for it: a retriever, the texts to be found, queries, k.

A ranking is in the store under the retriever, the texts, the query and what it is read with (`mindscape.store`); where it is
not, texts and queries are embedded, searched exactly (`mindscape.index`), and kept. Taught in notebook 12_mia_emb_training.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from mindscape import store
from mindscape.cache import digest
from mindscape.question import Ranking
from mindscape.store import Maker

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
    from mindscape.index import FaissIndex

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
    of = {"texts": _of_texts(tuple(texts)), "summary": summary, "task": task, "k": k}

    def compute(places: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        vectors = retriever.queries([queries[i] for i in places], summary, task)
        ids, scores = nearest(vectors, retriever.units(texts), k)
        for position in range(len(places)):
            yield position, {"ids": ids[position].tolist(), "scores": [round(float(x), 5) for x in scores[position]]}

    asked = [of | {"query": query} for query in queries]
    found = store.current().fetch("ranking", retriever.maker, asked, compute, {"k": k, "task": task})
    return [Ranking(tuple(row["ids"]), tuple(row.get("scores", ()))) for row in found]


@lru_cache(maxsize=64)
def _of_texts(texts: tuple[str, ...]) -> str:
    return digest(texts)
