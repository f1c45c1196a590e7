"""Search by inner products, in the order of exact arithmetic, ties by lowest id, by faiss and by Milvus; by words, BM25
against its formula in English and Chinese; rankings stored under all that decides them; bad input."""

import math
import subprocess
import sys
import tempfile
import tracemalloc
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from extras import refused, required
from hypothesis import given, settings
from hypothesis import strategies as st

from mindscape import search as search_module
from mindscape.question import Ranking
from mindscape.search import BM25, FaissIndex, MilvusIndex, search, terms
from mindscape.store import Maker
from tests.stubs import Letters

# By vectors


BOTH = pytest.mark.parametrize("kind", ["faiss", "milvus"])


@contextmanager
def opened(kind, dim, folder=None):
    """A new index, closed afterwards. Milvus is an extra: its tests are skipped where it is not installed."""
    if kind == "faiss":
        yield FaissIndex(dim)
        return
    required("pymilvus", "the extra `milvus` is not installed")
    with tempfile.TemporaryDirectory() as scratch, closing(MilvusIndex(dim, Path(folder or scratch) / "index.db")) as index:
        yield index


def naive(queries, vectors, ids, k):
    """All scores in float64, then one stable sort."""
    scores = (np.asarray(queries, "f8")[:, None] * np.asarray(vectors, "f8")).sum(-1)
    order = [sorted(range(len(ids)), key=lambda j: (-row[j], ids[j]))[:k] for row in scores]
    return np.asarray(ids)[order], np.take_along_axis(scores, np.array(order), 1)


def assert_same(index, queries, vectors, ids, k):
    places, scores = index.search(queries, k)
    expected, exact = naive(queries, vectors, ids, k)
    assert places.dtype == np.int64 and scores.dtype == np.float32
    assert np.array_equal(places, expected)
    assert np.allclose(scores, exact, rtol=1e-6, atol=1e-6)


SMALL_WHOLE = st.integers(-2, 2)  # few values, so that ties are the rule


@pytest.mark.parametrize(("kind", "examples"), [("faiss", 100), ("milvus", 6)])  # of the latter a database each
def test_search_equals_argsort_with_ties(kind, examples):
    @settings(max_examples=examples)
    @given(st.data())
    def check(data):
        dim, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 60))
        row = st.lists(SMALL_WHOLE, min_size=dim, max_size=dim)
        vectors = data.draw(st.lists(row, min_size=n, max_size=n))
        queries = data.draw(st.lists(row, min_size=1, max_size=3))
        ids = data.draw(st.lists(st.integers(-(2**40), 2**40), min_size=n, max_size=n, unique=True))
        with opened(kind, dim) as index:
            index.add(vectors, ids)
            assert_same(index, queries, vectors, ids, data.draw(st.integers(1, 70)))

    check()


@pytest.mark.parametrize(("kind", "held"), [("faiss", 1), ("faiss", 2000), ("faiss", 2**22), ("milvus", 2**22)])
def test_copies_of_a_vector_come_by_id_across_the_border_whatever_the_size_of_a_block(monkeypatch, kind, held):
    monkeypatch.setattr(search_module, "_HELD", held)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 37)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    copies = rng.permutation(300)[:90]
    vectors[copies] = vectors[copies[0]]
    queries = np.vstack([vectors[copies[:1]], vectors[:2], rng.normal(size=(9, 37)), vectors[:1] * 3]).astype(np.float32)
    ids = rng.permutation(10_000)[:300]
    with opened(kind, 37) as index:
        for part in range(0, 300, 100):
            index.add(vectors[part : part + 100], ids[part : part + 100])
        for k in (1, 20, 89, 250):
            assert_same(index, queries, vectors, ids, k)
        assert index.search(queries[:1], 90)[0][0].tolist() == sorted(ids[copies].tolist())


@pytest.mark.parametrize("tied", [1, 300], ids=["one", "all"])
def test_ties_do_not_fill_the_memory(tied):
    """Whole numbers, so that a plain product in float64 is exact."""
    rng = np.random.default_rng(2)
    vectors = rng.integers(-3, 4, size=(1500, 384)).astype(np.float32)
    vectors[rng.permutation(1500)[:400]] = vectors[0]
    queries = rng.integers(-3, 4, size=(300, 384)).astype(np.float32)
    queries[:tied] = vectors[0]
    index = FaissIndex(384)
    index.add(vectors)
    tracemalloc.start()
    ids, scores = index.search(queries, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    exact = queries.astype(float) @ vectors.astype(float).T
    expected = np.argsort(-exact, axis=1, kind="stable")[:, :5]
    assert np.array_equal(ids, expected) and np.array_equal(scores, np.take_along_axis(exact, expected, 1))
    assert peak < 40 * 2**20


@BOTH
def test_more_than_there_are(kind):
    with opened(kind, 2) as index:
        index.add([[1, 0], [0, 1]])
        index.add([[2, 0]])
        ids, scores = index.search([[1, 0]], 10)
        assert ids.tolist() == [[2, 0, 1]] and scores.tolist() == [[2, 1, 0]] and len(index) == 3
        assert index.search(np.empty((0, 2)), 2)[0].shape == (0, 2)


def test_a_folder_of_milvus_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(search_module, "_PAGE", 7)
    vectors = np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32)
    ids = [100, *range(-39, 0)]
    with opened("milvus", 5, tmp_path) as index:
        index.add(vectors, ids)
    with closing(MilvusIndex.load(index.path)) as again:  # closed, never saved: everything is there
        assert len(again) == 40 and again.dim == 5
        assert_same(again, vectors[:3], vectors, ids, 40)
        again.add(vectors[:1] * 10, [7])
        assert again.search(vectors[:1], 1)[0].tolist() == [[7]]
        refused(lambda: again.add(vectors[:1], [100]), "100 is there twice")


def test_milvus_loads_what_a_killed_process_left(tmp_path):
    """The file that Milvus Lite derives from the vectors is cut short: it is made anew. Vectors cut short are refused."""
    with opened("milvus", 3, tmp_path) as index:
        index.add(np.eye(3), [5, 6, 7])
    derived = list(Path(index.path).rglob("*.idx"))
    for file in derived:
        file.write_bytes(file.read_bytes()[:20])
    for _ in range(2):
        with closing(MilvusIndex.load(index.path)) as again:
            assert again.search([[1, 2, 3]], 3)[0].tolist() == [[7, 6, 5]]
    for file in Path(index.path).rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:20])
    for _ in range(2):  # the first time lets go of the folder
        refused(lambda: MilvusIndex.load(index.path), "index.db cannot be (read|opened) by Milvus")


@BOTH
def test_bad_input_leaves_the_index_as_it_was(kind):
    with opened(kind, 3) as index:
        refused(lambda: index.search([[1, 2, 3]], 1), "the index is empty")
        index.add(np.eye(3), [5, 6, 7])
        refused(lambda: index.add(np.ones((2, 4)), None), r"vectors have shape \(2, 4\): expected \(n, 3\)")
        refused(lambda: index.add(np.ones(3), None), r"shape \(3,\)")
        refused(lambda: index.add([[1, 2, 3], [1, float("nan"), 3]], None), "row 1 holds NaN")
        refused(lambda: index.add([[1, 2, float("inf")]], None), "row 0 holds NaN or infinity")
        refused(lambda: index.add([["a", "b", "c"]], None), "expected numbers in 3 columns")
        refused(lambda: index.add([[1, 2], [1]], None), "expected numbers in 3 columns")
        refused(lambda: index.add(np.ones((2, 3)), [1]), "expected 2 whole numbers")
        refused(lambda: index.add(np.ones((2, 3)), [1.5, 2]), "expected 2 whole numbers")
        refused(lambda: index.add(np.ones((2, 3)), [1, 1]), "1 is there twice")
        refused(lambda: index.add(np.ones((2, 3)), [1, 6]), "6 is there twice")
        refused(lambda: index.search([[1, 2]], 1), r"queries have shape \(1, 2\)")
        refused(lambda: index.search([[1, 2, float("nan")]], 1), "queries: row 0")
        refused(lambda: index.search([[1, 2, 3]], 0), "k=0")
        index.add(np.empty((0, 3)))
        assert index.search([[1, 2, 3]], 9)[0].tolist() == [[7, 6, 5]]


def test_a_folder_of_milvus(tmp_path, capfd):
    with opened("milvus", 2, tmp_path) as index:
        index.add([[1, 0]])
        refused(lambda: MilvusIndex(2, index.path), "new folder .* MilvusIndex.load opens an old one")
        refused(lambda: MilvusIndex(2, tmp_path / "no_suffix"), "new folder that ends in .db")
        code = f"from mindscape.search import MilvusIndex; MilvusIndex.load({index.path!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert other.stderr.startswith("Traceback")  # nothing is printed besides the error
        assert "InputError" in other.stderr.splitlines()[-1] and "open elsewhere?" in other.stderr.splitlines()[-1]
    refused(lambda: MilvusIndex.load(tmp_path / "absent"), "not the folder of a Milvus index")
    assert capfd.readouterr().err == ""


def test_a_closed_folder_is_free(tmp_path, monkeypatch):
    """For other processes, too; not while it is open here a second time."""
    required("pymilvus", "the extra `milvus` is not installed")
    monkeypatch.chdir(tmp_path)
    index = MilvusIndex(2, "index.db")
    index.add([[1, 0]])
    again = MilvusIndex.load(tmp_path / "index.db")
    monkeypatch.chdir(tmp_path.parent)
    code = f"from mindscape.search import MilvusIndex; print(len(MilvusIndex.load({again.path!r})))"
    for closed in (index, index):
        closed.close()
        assert again.search([[1, 0]], 1)[0].tolist() == [[0]]
    again.close()
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (other.stdout, other.stderr) == ("1\n", "")


def test_without_milvus_lite_there_is_a_client_to_close(tmp_path, monkeypatch):
    for name in ("milvus_lite", "milvus_lite.server_manager"):
        monkeypatch.setitem(sys.modules, name, None)
    closed = []
    monkeypatch.setattr(search_module, "_connect", lambda path: SimpleNamespace(close=lambda: closed.append(path)))
    monkeypatch.setattr(MilvusIndex, "_create", lambda self: None)
    MilvusIndex(2, tmp_path / "x.db").close()
    assert closed == [str(tmp_path / "x.db")]


def test_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    refused(lambda: MilvusIndex(2, tmp_path / "x.db"), "install the extra `milvus`")


# By words


WORDS = ("lamp", "boat", "ann", "tom", "sings")
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def by_hand(passages, question, k1=1.5, b=0.75):
    bags = [passage.split() for passage in passages]
    average = sum(map(len, bags)) / len(bags)
    scores = []
    for bag in bags:
        score = 0.0
        for term in question.split():
            holding, f = sum(term in other for other in bags), bag.count(term)
            idf = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
            score += idf * f / (f + k1 * (1 - b + b * len(bag) / average)) if f else 0.0
        scores.append(score)
    return np.array(scores)


@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_scores_are_the_formula(passages, question):
    ids, scores = BM25(passages).search([question], k=len(passages))
    expected = by_hand(passages, question)
    np.testing.assert_allclose(scores[0], expected[ids[0]], atol=1e-5)
    assert list(scores[0]) == sorted(scores[0], reverse=True)


def test_ties_stand_in_order():
    ids, _ = BM25(["a lamp", "a lamp", "a boat"]).search(["lamp", "unheard-of"], k=3)
    assert ids.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_terms():
    assert terms("The wigmaker's NIECE, and her lamp") == ["wigmaker", "niece", "lamp"]
    ids, _ = BM25(["他买了一盏灯笼。", "她丢了一顶帽子。"], "zh").search(["帽子是谁丢的？", "谁买灯笼？"], k=1)
    assert ids.ravel().tolist() == [1, 0]


def test_bad_passages():
    refused(lambda: BM25([]), "no passages")
    refused(lambda: BM25(["lamp"]).search(["lamp"], k=0), "k=0")
    refused(lambda: BM25(["lamp"], "fr"), "language")
    assert BM25(["lamp"]).search([], k=3)[0].shape == (0, 1)


# Stored rankings


OWN = pytest.mark.usefixtures("own_store")
TEXTS = ["Ann is the smith.", "It rained on the hills.", "Bob keeps bees.", "The mill burned."]


class Retriever:
    """Counts of letters; a query read with a summary is its sum with that."""

    def __init__(self, name="letters"):
        self.maker, self.letters, self.requests = Maker(name, {"by": name}), Letters(), []

    def units(self, texts):
        self.requests.append(("units", len(texts)))
        return self.letters.encode(texts)

    def queries(self, questions, summary=None, task="chunk"):
        self.requests.append(("queries", len(questions)))
        return self.letters.encode([f"{question} {summary or ''}" for question in questions])


@OWN
def test_search_is_a_plain_argsort():
    retriever, queries = Retriever(), ["Who is the smith?", "Where are the bees?"]
    rankings = search(retriever, TEXTS, queries, k=3)
    products = retriever.letters.encode([f"{query} " for query in queries]) @ retriever.letters.encode(TEXTS).T
    assert [ranking.ids for ranking in rankings] == [tuple(row) for row in np.argsort(-products, 1)[:, :3].tolist()]
    assert all(isinstance(ranking, Ranking) and len(ranking.scores) == 3 for ranking in rankings)
    np.testing.assert_allclose([rankings[0].scores[0]], [products[0].max()], atol=1e-5)


@OWN
def test_what_was_searched_is_not_embedded_again():
    first = Retriever()
    ranking = search(first, TEXTS, ["bees", "mill"], k=2)
    again = Retriever()
    assert search(again, TEXTS, ["mill", "bees", "mill"], k=2) == [ranking[1], ranking[0], ranking[1]] and not again.requests
    search(again, TEXTS, ["smith", "bees"], k=2)
    assert again.requests == [("queries", 1), ("units", 4)]


@pytest.mark.parametrize("how", [{"k": 3}, {"summary": "Of bees."}, {"task": "node"}, {"texts": TEXTS[:3]}, {"name": "other"}])
@OWN
def test_all_that_decides_a_ranking_is_in_its_key(how):
    search(Retriever(), TEXTS, ["bees"], k=2)
    retriever = Retriever(how.pop("name", "letters"))
    search(retriever, how.pop("texts", TEXTS), ["bees"], **{"k": 2} | how)
    assert retriever.requests


@OWN
def test_no_queries_and_fewer_texts_than_asked_for():
    assert search(Retriever(), TEXTS, []) == []
    assert sorted(search(Retriever(), TEXTS[:2], ["bees"], k=10)[0].ids) == [0, 1]
