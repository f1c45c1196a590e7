"""Exact search: the order of exact arithmetic, ties by lowest id, for faiss and for Milvus alike; bad input."""

import subprocess
import sys
import tempfile
import tracemalloc
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from extras import refused, required
from hypothesis import given, settings
from hypothesis import strategies as st

from mindscape import search as index_module
from mindscape.search import FaissIndex, MilvusIndex

BOTH = pytest.mark.parametrize("kind", ["faiss", "milvus"])


@contextmanager
def opened(kind, dim, folder=None):
    """A new index, closed afterwards. Milvus is an extra: its tests are skipped where it is not installed."""
    if kind == "faiss":
        yield FaissIndex(dim)
        return
    required("pymilvus", "the extra `milvus` is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        index = MilvusIndex(dim, Path(folder or scratch) / "index.db")
        try:
            yield index
        finally:
            index.close()


def assert_same(index, queries, vectors, k):
    """As with all scores in float64, and one stable sort."""
    found, scores = index.search(queries, k)
    exact = (np.asarray(queries, "f8")[:, None] * np.asarray(vectors, "f8")).sum(-1)
    expected = np.argsort(-exact, axis=1, kind="stable")[:, :k]
    assert found.dtype == np.int64 and scores.dtype == np.float32
    assert np.array_equal(found, expected)
    assert np.allclose(scores, np.take_along_axis(exact, expected, 1), rtol=1e-6, atol=1e-6)


SMALL_WHOLE = st.integers(-2, 2)  # few values, so that ties are the rule


def check_against_argsort(kind, data):
    dim, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 60))
    row = st.lists(SMALL_WHOLE, min_size=dim, max_size=dim)
    vectors = data.draw(st.lists(row, min_size=n, max_size=n))
    queries = data.draw(st.lists(row, min_size=1, max_size=3))
    with opened(kind, dim) as index:
        index.add(vectors)
        assert_same(index, queries, vectors, data.draw(st.integers(1, 70)))


@settings(max_examples=100)
@given(st.data())
def test_faiss_equals_argsort_with_ties(data):
    check_against_argsort("faiss", data)


@settings(max_examples=6)  # a database each
@given(st.data())
def test_milvus_equals_argsort_with_ties(data):
    check_against_argsort("milvus", data)


@BOTH
def test_copies_of_a_vector_come_by_id_across_the_border(kind):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 48)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    copies = rng.permutation(300)[:60]
    vectors[copies] = vectors[copies[0]]
    queries = np.vstack([vectors[copies[:1]], rng.normal(size=(5, 48))]).astype(np.float32)
    with opened(kind, 48) as index:
        for part in range(0, 300, 100):
            index.add(vectors[part : part + 100])
        for k in (1, 7, 59, 250):
            assert_same(index, queries, vectors, k)
        assert index.search(queries[:1], 60)[0][0].tolist() == sorted(copies.tolist())


@pytest.mark.parametrize("held", [1, 2000, 2**22])
def test_the_size_of_a_block_changes_nothing(monkeypatch, held):
    monkeypatch.setattr(index_module, "_HELD", held)
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(200, 37)).astype(np.float32)
    vectors[rng.permutation(200)[:90]] = vectors[0]
    queries = np.vstack([vectors[:2], rng.normal(size=(9, 37)), vectors[:1] * 3]).astype(np.float32)
    index = FaissIndex(37)
    index.add(vectors)
    for k in (1, 20, 89, 150):
        assert_same(index, queries, vectors, k)


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


@BOTH
def test_bad_input_leaves_the_index_as_it_was(kind):
    with opened(kind, 3) as index:
        refused(lambda: index.search([[1, 2, 3]], 1), "the index is empty")
        index.add(np.eye(3))
        for vectors, message in [
            (np.ones((2, 4)), r"vectors have shape \(2, 4\): expected \(n, 3\)"),
            (np.ones(3), r"shape \(3,\)"),
            ([[1, 2, 3], [1, float("nan"), 3]], "row 1 holds NaN"),
            ([[1, 2, float("inf")]], "row 0 holds NaN or infinity"),
            ([["a", "b", "c"]], "expected numbers in 3 columns"),
            ([[1, 2], [1]], "expected numbers in 3 columns"),
        ]:
            refused(partial(index.add, vectors), message)
        refused(lambda: index.search([[1, 2]], 1), r"queries have shape \(1, 2\)")
        refused(lambda: index.search([[1, 2, float("nan")]], 1), "queries: row 0")
        refused(lambda: index.search([[1, 2, 3]], 0), "k=0")
        index.add(np.empty((0, 3)))
        assert index.search([[1, 2, 3]], 9)[0].tolist() == [[2, 1, 0]]


def test_a_folder_of_milvus_is_new_and_its_own(tmp_path, monkeypatch, capfd):
    """Another process cannot open it before it is closed, from whatever folder."""
    required("pymilvus", "the extra `milvus` is not installed")
    monkeypatch.chdir(tmp_path)
    index = MilvusIndex(2, "index.db")
    monkeypatch.chdir(tmp_path.parent)
    index.add([[1, 0]])
    refused(lambda: MilvusIndex(2, index.path), "expected the name of a new folder that ends in .db")
    refused(lambda: MilvusIndex(2, tmp_path / "no_suffix"), "new folder that ends in .db")
    code = f"from mindscape import search; search._connect({index.path!r}).close()"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert other.stderr.startswith("Traceback")  # nothing is printed besides the error
    assert "InputError" in other.stderr.splitlines()[-1] and "open elsewhere?" in other.stderr.splitlines()[-1]
    for _ in range(2):
        index.close()
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
    assert capfd.readouterr().err == ""


def test_without_milvus_lite_there_is_a_client_to_close(tmp_path, monkeypatch):
    for name in ("milvus_lite", "milvus_lite.server_manager"):
        monkeypatch.setitem(sys.modules, name, None)
    closed = []
    monkeypatch.setattr(index_module, "_connect", lambda path: SimpleNamespace(close=lambda: closed.append(path)))
    monkeypatch.setattr(MilvusIndex, "_create", lambda self: None)
    MilvusIndex(2, tmp_path / "x.db").close()
    assert closed == [str(tmp_path / "x.db")]


def test_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    refused(lambda: MilvusIndex(2, tmp_path / "x.db"), "install the extra `milvus`")


def test_milvus_is_not_imported_before_it_is_used():
    code = "import sys, mindscape.search; sys.exit('pymilvus' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
