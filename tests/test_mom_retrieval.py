"""Three layers: fast against slow, faiss against Milvus, evidence and S_support by hand, bad input."""

import numpy as np
import pytest
from extras import refused, required
from hypothesis import given, settings
from hypothesis import strategies as st
from stubs import Letters, Stub, cut, plain

from mindscape import llm, store
from mindscape.mom import retrieval
from mindscape.mom.memory import DocumentMemory
from mindscape.mom.retrieval import FUSED, FUSIONS, LAYERS, Layers, covered, fuse, recall, scope, support
from mindscape.store import Store
from mindscape.text import Chunk, Document, Span

PARTS = ["It rained all day. ", "Ivo lit the copper lamp. ", "安娜去了学校。", "Nobody paid the debt."]
BOOK, CHUNKS = cut("book", PARTS)
SPANS = [Span(chunk.start, chunk.end) for chunk in CHUNKS]
MEMORY = DocumentMemory(["weather", "the lamp", "学校", "money"], ["Rain.", "Ivo had light.", "安娜上学。", "A debt."], SPANS)
OTHER = Document("other", "The lamp went out. Rain again.")
OTHERS = DocumentMemory(["lamp", "rain"], ["It was dark.", "Rain."], [Span(0, 19), Span(19, 30)])
ITEMS = [(BOOK, MEMORY), (OTHER, OTHERS)]


class Marked(Letters):
    """Queries have letters of their own."""

    def encode(self, texts, kind="passage"):
        return super().encode([f"{text} qqq" if kind == "query" else text for text in texts])


@pytest.fixture(scope="module")
def layers():
    return Layers.of_memories(ITEMS, Marked())


def slow(way, queries, weights=None, k=60.0):
    """Scores (queries, units) with loops, all units."""
    texts = {
        "outline": [*MEMORY.outline, *OTHERS.outline],
        "core": [*MEMORY.core, *OTHERS.core],
        "chunk": [*(part.strip() for part in PARTS), "The lamp went out.", "Rain again."],
    }
    vectors = {layer: Marked().encode(items).astype(float) for layer, items in texts.items()}
    if way == FUSED:
        mean = sum(vectors.values())
        return queries @ (mean / np.linalg.norm(mean, axis=1, keepdims=True)).T
    scores = {layer: queries @ items.T for layer, items in vectors.items()}
    if way in LAYERS:
        return scores[way]
    if way in ("max", "sum"):
        return getattr(np, way)(list(scores.values()), axis=0)
    fused = np.zeros(scores["core"].shape)
    for values in scores.values():
        for q, row in enumerate(values):
            for rank, unit in enumerate(sorted(range(len(row)), key=lambda i: (-row[i], i)), 1):
                fused[q, unit] += 1 / (k + rank)
    return fused


QUERIES = ["Who lit the lamp?", "What was the weather?", "谁去了学校？", "debts"]


@pytest.mark.parametrize("way", [*LAYERS, *FUSIONS, FUSED])
def test_a_search_is_the_slow_one(layers, way):
    vectors = Marked().encode(QUERIES, "query")
    expected = slow(way, vectors.astype(float))
    ids, scores = layers.search(QUERIES, k=4, way=way)
    assert ids.shape == scores.shape == (4, 4)
    assert np.allclose(scores, -np.sort(-expected, axis=1)[:, :4], atol=1e-5)
    assert np.allclose(np.take_along_axis(expected, ids, 1), scores, atol=1e-5)
    same, _ = layers.search(vectors, k=4, way=way)
    assert np.array_equal(same, ids)
    assert layers.search(QUERIES[0:1], k=50, way=way)[0].shape == (1, 6)


def test_units_carry_their_documents(layers):
    assert layers.chunks[1] == Chunk("book", 1, SPANS[1].start, SPANS[1].end) and layers.chunks[4].doc_id == "other"
    assert layers.ways == (*LAYERS, *FUSIONS, FUSED)
    flat = Layers.of_chunks([(BOOK, layers.chunks[:4]), (OTHER, layers.chunks[4:])], Marked())
    assert flat.ways == ("chunk",)
    assert np.array_equal(flat.search(QUERIES, 3, "chunk")[0], layers.search(QUERIES, 3, "chunk")[0])


def test_milvus_finds_what_faiss_does(layers, tmp_path):
    required("pymilvus", "the extra `milvus` is not installed")
    other = Layers.of_memories(ITEMS, Marked(), index=retrieval.in_milvus(tmp_path))
    try:
        for way in layers.ways:
            theirs, ours = other.search(QUERIES, 6, way), layers.search(QUERIES, 6, way)
            assert np.array_equal(theirs[0], ours[0]) and np.allclose(theirs[1], ours[1], atol=1e-6)
    finally:
        other.close()


@settings(max_examples=100)
@given(st.integers(1, 4), st.integers(1, 5), st.data())
def test_fused_vectors(layers, units, data):
    number = st.floats(-1, 1, width=32)
    vectors = st.lists(st.lists(number, min_size=3, max_size=3), min_size=units, max_size=units)
    drawn = [data.draw(vectors) for _ in range(layers)]
    weights = data.draw(st.lists(st.floats(0.1, 3), min_size=layers, max_size=layers))
    mixed = fuse(drawn, weights, normalised=False)
    by_hand = sum(w / sum(weights) * np.array(vector) for w, vector in zip(weights, drawn, strict=True))
    assert mixed.dtype == np.float32 and np.allclose(mixed, by_hand, atol=1e-6)
    lengths = np.linalg.norm(fuse(drawn, weights), axis=1)
    assert np.allclose(lengths[np.linalg.norm(mixed, axis=1) > 1e-6], 1, atol=1e-3, rtol=0)


def test_weights_move_the_fused_layer():
    alone = [Layers.of_memories(ITEMS, Marked(), weights=[float(i == j) for j in range(3)]) for i in range(3)]
    for layers, layer in zip(alone, LAYERS, strict=True):
        assert np.array_equal(layers.search(QUERIES, 6, FUSED)[0], layers.search(QUERIES, 6, layer)[0])


# Evidence ---------------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(
    st.text("ab \n", min_size=1, max_size=20),
    st.tuples(st.integers(0, 20), st.integers(0, 20)),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=4),
)
def test_covered_is_the_set_of_characters(text, ends, chunks):
    clip = [tuple(sorted(min(at, len(text)) for at in pair)) for pair in [ends, *chunks]]
    (start, end), rest = clip[0], clip[1:]
    held = {i for a, b in rest for i in range(a, b)}
    slow = all(i in held or text[i].isspace() for i in range(start, end))
    assert covered(Document("any", text), Span(start, end), [Span(a, b) for a, b in rest]) == slow


def test_recall_of_evidence(layers):
    both = [Span(3, 9), Span(19, 42)]
    assert recall(BOOK, both, layers.chunks[:1]) == 0.5 and recall(BOOK, both, layers.chunks[:2]) == 1
    assert recall(BOOK, [Span(10, 30)], layers.chunks[:1]) == 0  # cut through: half of it is not enough
    assert recall(OTHER, [Span(0, 5)], layers.chunks[:4]) == 0  # the same places of another document
    refused(lambda: recall(BOOK, [], layers.chunks), "no evidence")


# Support ----------------------------------------------------------------------------------------------------------


def model_of():
    """A word costs 1 nat where the prompt has it, and 3 elsewhere."""

    def weigh(prompt, continuation):
        return -sum(1.0 if word in prompt else 3.0 for word in continuation.split())

    return llm.LanguageModel(Stub(weigh=weigh))


def test_support_is_its_formula():
    model = model_of()
    got = support(model, ["Ivo lit the lamp."] * 2, ["Ivo did", "Ann"], ["Who lit it?"] * 2)
    assert got.tolist() == [2.0, 3.0]
    prompt, continuation = model.backend.requests[0]
    assert prompt == "Ivo lit the lamp.\n\nQuestion: Who lit it?\nAnswer:" and continuation == " Ivo did"
    support(model, ["他点了灯。"], ["他"], language="zh")
    assert model.backend.requests[-1] == ("他点了灯。\n\n回答：", "他")
    assert support(model, [], []).shape == (0,)


def test_a_context_is_data():
    model = model_of()
    support(model, ["{question} {0} {context}"], ["Ivo"], ["{context}?"])
    assert model.backend.requests[0][0].startswith("{question} {0} {context}\n\nQuestion: {context}?")


def test_rankings_are_found_again(own_store, tmp_path):
    kept = Store(tmp_path / "cache.sqlite", tmp_path / "store", fill=True)
    store.use(kept)
    queries, first = ["Who lit the lamp?", "学校"], Layers.of_memories(ITEMS, Marked())
    for way in first.ways:
        assert (first.ranked(queries, 3, way) == first.search(queries, 3, way)[0]).all()
    again = Layers.of_memories(ITEMS, None)
    again.encoder = type("Silent", (), {"maker": Marked.maker})()  # encodes nothing
    assert (again.ranked(queries, 3) == first.ranked(queries, 3)).all()
    assert len(kept.keys) == len(first.ways)
    again._mix = ([1.0, 0.0, 0.0], True)  # other weights are other fused vectors, and the same ranks
    again.ranked(queries, 3)
    refused(lambda: again.ranked(queries, 3, FUSED), "encode", AttributeError)


def test_scopes_of_questions(book):
    assert {question.breadth for question in book.questions if scope(question) == "global"} == {"partial", "global"}


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda layers: retrieval.context({"book": BOOK}, layers.chunks), "of document 'other': expected one of book"),
        (lambda layers: layers.ranked(["a"], way="mean"), "way='mean': expected one of outline"),
        (lambda layers: layers.search(QUERIES, way="mean"), "way='mean': expected one of outline"),
        (lambda layers: layers.search(QUERIES, k=0), "expected at least 1"),
        (lambda layers: Layers([], {"chunk": []}, Marked()), "no units"),
        (lambda layers: Layers(layers.chunks, {"core": ["a"]}, Marked()), "has 1 texts: expected 6"),
        (lambda layers: Layers(layers.chunks[:1], {"sum": ["a"]}, Marked()), "another name"),
        (lambda layers: fuse([[[1.0]], [[1.0]]], [1.0]), "expected 2 numbers"),
        (lambda layers: fuse([[[1.0]], [[1.0]]], [0.0, 0.0]), "one above"),
        (lambda layers: fuse([[[1.0]], [[1.0, 2.0]]]), "expected one shape"),
        (lambda layers: support(None, ["a"], []), r"\(1, 0, 0\) contexts, answers, questions"),
        (lambda layers: support(None, ["a"], [" "]), "answer 0 is blank"),
        (lambda layers: support(None, ["a"], ["b"], language="fr"), "language='fr'"),
    ],
)
def test_bad_input(layers, call, message):
    refused(lambda: call(layers), message)


def test_support_of_a_real_architecture(tiny):
    """As a plain forward pass over one row has it."""
    logprob, n = plain(tiny, "Ivo lit the lamp.\n\nQuestion: Who lit it?\nAnswer:", " Ivo, they say")
    (got,) = support(tiny, ["Ivo lit the lamp."], ["Ivo, they say"], ["Who lit it?"])
    assert got == pytest.approx(-logprob / n, abs=1e-4)
