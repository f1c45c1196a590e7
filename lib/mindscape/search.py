"""What is nearest to a query, as every notebook asks for it: a retriever, the texts to be found, queries, k.

A ranking is in the store under the retriever, the texts, the query and what it is read with (`mindscape.store`); where it is
not, texts and queries are embedded, searched exactly (`mindscape.index`), and kept. Taught in notebook 12_mia_emb_training.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    rule = {"texts": _of_texts(tuple(texts)), "summary": summary, "task": task, "k": k}

    def rank(some: Sequence[str]) -> Iterator[Ranking]:
        ids, scores = nearest(retriever.queries(some, summary, task), retriever.units(texts), k)
        return (Ranking(tuple(row), tuple(of)) for row, of in zip(ids.tolist(), scores.tolist(), strict=True))

    return by_rule(retriever.maker, rule, queries, rank, {"k": k, "task": task})


def by_rule(
    maker: Maker,
    rule: Mapping[str, Any],
    queries: Sequence[str],
    rank: Callable[[Sequence[str]], Iterable[Ranking]],
    how: Mapping[str, Any] | None = None,
    seconds: float = 0.0,
) -> list[Ranking]:
    """A ranking for each query by any rule: found in the store under maker, rule and query, or made by `rank` of those that
    are not there.

    `rule` holds all that decides a ranking beside its query, as JSON; `how` and `seconds` as in `Store.fetch`.

    >>> by_rule(Maker("by place", {}), {"of": 3}, ["Who left?"], lambda some: [Ranking((0, 1, 2)) for _ in some])
    [Ranking(ids=(0, 1, 2), scores=())]
    """

    def compute(places: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        for position, of in enumerate(rank([queries[i] for i in places])):
            yield position, {"ids": list(of.ids)} | ({"scores": [round(x, 5) for x in of.scores]} if of.scores else {})

    asked = [{**rule, "query": query} for query in queries]
    found = store.current().fetch("ranking", maker, asked, compute, how, seconds)
    return [Ranking(tuple(row["ids"]), tuple(row.get("scores", ()))) for row in found]


@lru_cache(maxsize=64)
def _of_texts(texts: tuple[str, ...]) -> str:
    return digest(texts)
