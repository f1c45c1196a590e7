"""Search is a plain argsort of inner products; its rankings are stored under all that decides them."""

import numpy as np
import pytest

from mindscape.question import Ranking
from mindscape.search import search
from mindscape.store import Maker
from tests.stubs import Letters

pytestmark = pytest.mark.usefixtures("own_store")
TEXTS = ["Ann is the smith.", "It rained on the hills.", "Bob keeps bees.", "The mill burned."]


class Retriever:
    """Counts of letters; a query read with a summary is its sum with that."""

    def __init__(self, name="letters"):
        self.maker, self.letters, self.asked = Maker(name, {"by": name}), Letters(), []

    def units(self, texts):
        self.asked.append(("units", len(texts)))
        return self.letters.encode(texts)

    def queries(self, questions, summary=None, task="chunk"):
        self.asked.append(("queries", len(questions)))
        return self.letters.encode([f"{question} {summary or ''}" for question in questions])


def test_search_is_a_plain_argsort():
    retriever, queries = Retriever(), ["Who is the smith?", "Where are the bees?"]
    found = search(retriever, TEXTS, queries, k=3)
    products = retriever.letters.encode([f"{query} " for query in queries]) @ retriever.letters.encode(TEXTS).T
    assert [ranking.ids for ranking in found] == [tuple(row) for row in np.argsort(-products, 1)[:, :3].tolist()]
    assert all(isinstance(ranking, Ranking) and len(ranking.scores) == 3 for ranking in found)
    np.testing.assert_allclose([found[0].scores[0]], [products[0].max()], atol=1e-5)


def test_what_was_searched_is_not_embedded_again():
    first = Retriever()
    one = search(first, TEXTS, ["bees", "mill"], k=2)
    again = Retriever()
    assert search(again, TEXTS, ["mill", "bees", "mill"], k=2) == [one[1], one[0], one[1]] and not again.asked
    search(again, TEXTS, ["smith", "bees"], k=2)
    assert again.asked == [("queries", 1), ("units", 4)]


@pytest.mark.parametrize("how", [{"k": 3}, {"summary": "Of bees."}, {"task": "node"}, {"texts": TEXTS[:3]}, {"name": "other"}])
def test_all_that_decides_a_ranking_is_in_its_key(how):
    search(Retriever(), TEXTS, ["bees"], k=2)
    retriever = Retriever(how.pop("name", "letters"))
    search(retriever, how.pop("texts", TEXTS), ["bees"], **{"k": 2} | how)
    assert retriever.asked


def test_no_queries_and_fewer_texts_than_asked_for():
    assert search(Retriever(), TEXTS, []) == []
    assert sorted(search(Retriever(), TEXTS[:2], ["bees"], k=10)[0].ids) == [0, 1]
