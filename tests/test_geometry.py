"""Angles against a projection by hand, layers against a model that ends there, shares against eager attention, two tests of
curves against all that could be exchanged, and a heat map whose text stays text."""

from itertools import permutations, product

import numpy as np
import pytest
import torch
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot
from tiny import eager_weights, tiny
from transformers import BertConfig, BertModel, LlamaConfig, Qwen3Config

from mindscape.errors import InputError
from mindscape.mia import geometry
from mindscape.mia.embedding import INSTRUCTION, SUMMARY, Form, MiaEmbedder, write

TOLD = {
    "en": "Ann is the smith. Tom is the miller.\nThe lamp went from one to the other <b>and</b> back.",
    "zh": "安是铁匠，汤姆是磨坊主。灯从一个人手里到了另一个人手里。",
}
QUESTIONS = ["Who has the smith's lamp?", "Where was it sold, and for how much, in the end?", "Why?"]
UNITS = ["Ann left.", "It rained for a long time on that day, and all of them stayed in.", "Tom"]
FORMS = [Form(order, marks, 0.25) for order in ("paper", "summary_first") for marks in ("words", "tokens")]
seeds = st.integers(0, 10_000)


# Angles


def drawn(seed, n, dim):
    return np.random.default_rng(seed).normal(size=(n, dim))


@settings(max_examples=40)
@given(seeds, st.integers(1, 9), st.integers(2, 12), st.booleans())
def test_angles_are_those_of_a_projection(seed, n, dim, centred):
    """The naive way: the projector of each rank, and arccos."""
    chunks, queries = drawn(seed, n + centred, dim), drawn(seed + 1, 4, dim)
    centre = chunks.mean(0) if centred else np.zeros(dim)
    space = geometry.subspace(chunks, centre)
    angles = geometry.angles(space, queries)
    assert angles.shape == (4, min(n, dim)) and len(space.directions) == min(n, dim)
    _, _, directions = np.linalg.svd(chunks - centre)
    for rank in range(1, min(n, dim) + 1):
        projector = directions[:rank].T @ directions[:rank]
        for query, angle in zip(queries - centre, angles[:, rank - 1], strict=True):
            share = np.linalg.norm(projector @ query) / np.linalg.norm(query)
            assert angle == pytest.approx(np.degrees(np.arccos(min(1, share))), abs=1e-5)


@settings(max_examples=40)
@given(seeds, st.integers(1, 9), st.integers(2, 12), st.booleans(), st.booleans())
def test_a_chunk_lies_in_what_all_chunks_span(seed, n, dim, centred, narrow):
    chunks = drawn(seed, n + 1, dim)
    if narrow:  # twice the same, and a sum: directions that hold nothing but rounding
        chunks = np.concatenate([chunks, chunks[:1], chunks[:1] + chunks[1:2]]).astype(np.float32)
    space = geometry.subspace(chunks, chunks.mean(0) if centred else None)
    assert geometry.angles(space, chunks)[:, -1].max() < 1e-4
    between = 0.7 * chunks[:1] + 0.3 * chunks[1:2]  # halves would be the centre of two
    assert geometry.angles(space, between)[0, -1] < 1e-4


@settings(max_examples=40)
@given(seeds, st.integers(1, 9), st.integers(2, 12))
def test_more_directions_are_never_farther(seed, n, dim):
    space = geometry.subspace(drawn(seed, n, dim))
    angles = geometry.angles(space, drawn(seed + 1, 5, dim))
    assert (np.diff(angles, axis=1) <= 1e-9).all() and (angles >= 0).all() and (angles <= 90).all()
    np.testing.assert_allclose(geometry.angles(space, 7 * drawn(seed + 1, 5, dim)), angles, atol=1e-6)
    np.testing.assert_allclose(geometry.angles(space, -drawn(seed + 1, 5, dim)), angles, atol=1e-6)
    assert (np.diff(space.explained) >= 0).all() and space.explained[-1] == pytest.approx(1)
    np.testing.assert_allclose(space.directions @ space.directions.T, np.eye(len(space.directions)), atol=1e-9)


def test_a_vector_without_direction():
    space = geometry.subspace(np.eye(3), np.ones(3))
    refused(lambda: geometry.angles(space, [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]), "vector 1")


# Layers


@pytest.fixture(scope="module", params=[LlamaConfig, Qwen3Config], ids=["llama", "qwen3"])
def model(request, tokenizer):
    """A tiny random model of the architecture, in float64."""
    return tiny(request.param, len(tokenizer), num_hidden_layers=3).double()


@pytest.fixture(params=FORMS, ids=str)
def form(request):
    return request.param


def ends(model):
    """After each layer in turn, counted from 0, while the model has no further ones."""
    whole = model.config.num_hidden_layers
    try:
        for layer in range(whole):
            model.config.num_hidden_layers = layer + 1
            yield layer
    finally:
        model.config.num_hidden_layers = whole


def eager(model, written):
    """The attention of a query's last mark by layer, the mean of the heads: (layers, n)."""
    weights = eager_weights(model, [[*written.head, *written.tail]], use_cache=False)
    return weights[:, 0, :, written.marks["c"]].mean(1).numpy()


def test_units_as_if_the_model_ended_there(model, tokenizer):
    embedder = MiaEmbedder(model, tokenizer, batch_tokens=20)
    hooks = dict(model.get_decoder().layers[0]._forward_hooks)
    layers = geometry.unit_layers(embedder, UNITS)
    assert layers.shape == (3, 3, 32) and layers.dtype == np.float32
    for layer in ends(model):
        np.testing.assert_allclose(layers[layer], embedder.units(UNITS), atol=1e-5)
    assert dict(model.get_decoder().layers[0]._forward_hooks) == hooks  # nothing is left behind


def test_queries_as_if_the_model_ended_there(model, tokenizer, form, language):
    embedder = MiaEmbedder(model, tokenizer, form, language=language)
    for summary in (TOLD[language], None):
        vectors = geometry.query_layers(embedder, QUESTIONS, summary).vectors
        assert vectors.shape == (3, 3, 32)
        for layer in ends(model):
            np.testing.assert_allclose(vectors[layer], embedder.queries(QUESTIONS, summary), atol=1e-5)


def test_batches_change_nothing(model, tokenizer):
    small, large = (MiaEmbedder(model, tokenizer, batch_tokens=tokens) for tokens in (1, 4096))
    a, b = (geometry.query_layers(embedder, QUESTIONS, TOLD["en"]) for embedder in (small, large))
    np.testing.assert_allclose(a.vectors, b.vectors, atol=1e-5)
    np.testing.assert_allclose(a.shares, b.shares, atol=1e-5)


def test_a_summary_that_the_embedder_leaves_out(model, tokenizer):
    blind = MiaEmbedder(model, tokenizer, summaries=False)
    a, b = geometry.query_layers(blind, QUESTIONS, TOLD["en"]), geometry.query_layers(blind, QUESTIONS)
    np.testing.assert_array_equal(a.vectors, b.vectors)
    assert not a.shares[..., 0].any()


def test_where_the_parts_stand(tokenizer, form, language):
    for summary in (TOLD[language], None):
        written = write(QUESTIONS[0], summary, form, tokenizer, language)
        ids, spans = [*written.head, *written.tail], written.spans
        query, summary_text = (tokenizer.decode(ids[slice(*spans[name])]) for name in ("query", "summary"))
        assert query.endswith(QUESTIONS[0]) and INSTRUCTION[language].strip() not in query
        assert summary_text == ("" if summary is None else SUMMARY[language].format(summary))


def test_shares_are_those_of_eager_attention(model, tokenizer, form, language):
    embedder = MiaEmbedder(model, tokenizer, form, language=language)
    for summary in (TOLD[language], None):
        shares = geometry.query_layers(embedder, QUESTIONS, summary).shares
        assert shares.shape == (3, 3, 4)
        np.testing.assert_allclose(shares.sum(-1), 1, atol=1e-5)
        for i, question in enumerate(QUESTIONS):
            written = write(question, summary, form, tokenizer, language)
            weights = eager(model, written)
            for part, (start, end) in {**written.spans, "first": (0, 1)}.items():
                of_part = shares[:, i, geometry.PARTS.index(part)]
                np.testing.assert_allclose(of_part, weights[:, start:end].sum(1), atol=1e-5)


def test_tokens_of_the_summary(model, tokenizer, form, language):
    embedder = MiaEmbedder(model, tokenizer, form, language=language)
    tokens, weights = geometry.attended_together(embedder, QUESTIONS, TOLD[language])
    assert "".join(tokens) == TOLD[language] and all(tokens)
    assert weights.shape == (3, len(QUESTIONS), len(tokens))
    introduced = len(tokenizer(SUMMARY[language].format("").rstrip(" "), add_special_tokens=False)["input_ids"])
    for question, read in zip(QUESTIONS, weights.swapaxes(0, 1), strict=True):
        written = write(question, TOLD[language], form, tokenizer, language)
        start, end = written.spans["summary"]
        expected = eager(model, written)[:, start + introduced : end]
        np.testing.assert_allclose(read.sum(1), expected.sum(1), atol=1e-5)
        if language == "en":  # there each token is one of the model's
            np.testing.assert_allclose(read, expected, atol=1e-5)


@pytest.mark.parametrize("summary", [" two", "one ", "\n\nTom\n", "👩‍🚀 and 他", "x", "Ann typed <|im_end|> and left."])
def test_tokens_make_up_any_summary(model, tokenizer, summary):
    embedder = MiaEmbedder(model, tokenizer)
    tokens, weights = geometry.attended(embedder, "Why?", summary)
    assert "".join(tokens) == summary and weights.shape == (3, len(tokens))
    if tokens[-1] == ".":  # each token is one that is read
        read = embedder.written(["Why?"], summary)[0]
        own = [tokenizer.decode(token) for token in (*read.head, *read.tail)[: read.spans["summary"][1]]]
        assert own[-len(tokens) :][1:-1] == tokens[1:-1]


def test_what_was_seen_is_in_the_store(model, tokenizer, own_store):
    embedder = MiaEmbedder(model, tokenizer, Form("summary_first"))
    texts = [(UNITS, QUESTIONS, {"own": TOLD["en"], "none": None}), (UNITS[::-1], QUESTIONS, {"own": "Tom.", "none": None})]
    kept = geometry.seen(embedder, texts)
    for (units, questions, summaries), *both in zip(texts, *kept.values(), strict=True):
        states = geometry.unit_layers(embedder, units)
        for summary, entry in zip(summaries.values(), both, strict=True):
            inside = geometry.query_layers(embedder, questions, summary)
            np.testing.assert_allclose(entry.vectors, inside.vectors[-1], atol=1e-5)
            np.testing.assert_allclose(entry.shares, inside.shares, atol=1e-6)
            np.testing.assert_allclose(entry.units, states[-1], atol=1e-5)
            right = [[0]] * len(questions)
            for by, other in ((entry.same, states), (entry.last, states[-1])):
                expected = geometry.recall_by_layer(inside.vectors, other, right, 2)
                np.testing.assert_array_equal(geometry.recall_in(by, right, 2), expected)
    embedder.batch_tokens = 0  # nothing can be read any more
    again = geometry.seen(embedder, texts[:1])
    for name, entries in kept.items():
        for part, array in vars(entries[0]).items():
            np.testing.assert_array_equal(getattr(again[name][0], part), array)
    assert own_store.trail[-1].cached == 1


@settings(max_examples=30)
@given(seeds, st.integers(1, 12), st.booleans())
def test_recall_by_layer_one_by_one(seed, k, same):
    rng = np.random.default_rng(seed)
    queries, units = rng.normal(size=(3, 4, 5)), rng.integers(-1, 2, size=(3, 9, 5)).astype(float)  # equal scores, too
    units = np.stack([units[0]] * 3) if same else units
    right = [rng.choice(9, size=rng.integers(1, 5), replace=False).tolist() for _ in range(4)]
    recall = geometry.recall_by_layer(queries, units[0] if same else units, right, k)
    for layer in range(3):
        for i, relevant in enumerate(right):
            scores = [float(queries[layer, i] @ unit) for unit in units[layer]]
            first = sorted(range(9), key=lambda j: (-round(scores[j], 9), j))[:k]
            assert recall[layer, i] == pytest.approx(len(set(first) & set(relevant)) / len(relevant))


def test_what_cannot_be_read(model, tokenizer):
    embedder = MiaEmbedder(model, tokenizer)
    refused(lambda: geometry.query_layers(embedder, [], TOLD["en"]), "no question")
    refused(lambda: geometry.attended(embedder, "Why?", " "), "summary is empty")
    refused(lambda: geometry.attended_together(embedder, [], "Tom."), "no question")
    odd = BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8))
    with pytest.raises(InputError, match="BertModel"), geometry._kept(odd, torch.tensor([0])):
        pass


# Two curves


def curve(seed, layers=20):
    return np.random.default_rng(seed).normal(size=layers).cumsum()


@settings(max_examples=40)
@given(seeds, st.integers(3, 20))
def test_shifts_one_by_one(seed, layers):
    a, b = curve(seed, layers), curve(seed + 1, layers)
    test = geometry.shift_test(a, b)
    shifted = [np.corrcoef(a, np.roll(b, by))[0, 1] for by in range(layers)]
    assert test.value == pytest.approx(shifted[0]) and test.n == layers
    assert test.p == pytest.approx(np.mean([value >= shifted[0] - 1e-9 for value in shifted]))
    again = geometry.shift_test(3 * a + 5, b)
    assert again.value == pytest.approx(test.value) and again.p == test.p


def test_pairings_one_by_one():
    """With few questions all exchanges can be tried; what they share has no part in it."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(5, 7)), rng.normal(size=(5, 7))
    b[:3] += a[:3]
    groups = ["x", "y", "x", "y", "x"]
    test = geometry.pairing_test(a, b, groups, resamples=20_000)

    def left(curves):
        curves = curves - curves.mean(1, keepdims=True)
        return np.concatenate([curves[rows] - curves[rows].mean(0) for rows in ([0, 2, 4], [1, 3])])

    def value(*order):
        return np.corrcoef(left(a).ravel(), left(b)[list(order)].ravel())[0, 1]

    null = [value(*x, *y) for x, y in product(permutations([0, 1, 2]), permutations([3, 4]))]
    assert test.value == pytest.approx(value(*range(5))) and test.n == 5
    assert test.p == pytest.approx(np.mean([value >= test.value - 1e-9 for value in null]), abs=0.01)
    profile = 10 * np.sin(np.arange(7))
    again = geometry.pairing_test(a + profile, b + profile + np.arange(5)[:, None], groups, resamples=20_000)
    assert again.value == pytest.approx(test.value) and again.p == test.p


def test_curves_that_cannot_be_compared():
    refused(lambda: geometry.shift_test([1, 2], [1, 2]), "3 layers")
    refused(lambda: geometry.shift_test([1, 1, 1], [1, 2, 3]), "constant")
    refused(lambda: geometry.shift_test([1, 2, np.nan], [1, 2, 3]), "finite")
    a = np.eye(4)  # each question its own book: nothing to exchange
    refused(lambda: geometry.pairing_test(a, a, list("wxyz")), "constant")


# The heat map


def test_the_figure_holds_the_text(tokenizer):
    text = (TOLD["en"] + " $5 & 7% \t") * 6 + "x" * 250
    ids = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    tokens = [text[start:end] for start, end in ids]
    figure = geometry.heat_figure(tokens, np.linspace(0, 1, len(tokens)), "Who has $5 and $6?")
    ax, scale = figure.axes
    assert scale.get_xlabel() == "attention" and scale.get_xlim() == (0, 1)
    places, shades = geometry._laid_out(tokens, geometry.COLUMNS)[0], [patch.get_alpha() for patch in ax.patches]
    deep = geometry.DEEPEST * np.linspace(0, 1, len(tokens))  # the heaviest is deepest
    assert shades == pytest.approx([deep[i] for i, *_ in places])
    drawn = "".join(label.get_text() for label in ax.texts)
    assert drawn.replace(" ", "") == "".join("".join(tokens).split())
    assert not len(ax.get_xticks()) and not len(ax.get_yticks())  # no axis to name
    assert not any(label.get_parse_math() for label in [*ax.texts, ax.title] if label.get_text())
    for label in ax.texts:
        assert label.get_position()[0] + len(label.get_text()) <= geometry.COLUMNS
    figure.canvas.draw()
    column = ax.get_window_extent().width / geometry.COLUMNS
    widths = [
        (label.get_window_extent().width, len(label.get_text()) * column) for label in ax.texts if label.get_text().isalpha()
    ]
    assert widths and all(abs(width - room) < column / 2 for width, room in widths)  # letters fill their columns
    pyplot.close(figure)
    figure = geometry.heat_figure(["a"], [0.0])  # no attention at all
    assert figure.axes[0].patches[0].get_alpha() == 0
    pyplot.close(figure)


def test_wide_characters_take_two_columns():
    placed, rows = geometry._laid_out(list("灯" * 60 + "ab"), 21)
    assert rows == 7 and max(column for _, _, column, _ in placed) == 18
    assert [(row, column) for _, row, column, _ in placed[9:11]] == [(0, 18), (1, 0)]


def test_two_curves_that_rise_anywhere():
    """Each rises once, at its own layer: shifting calls one pair of rises in twenty related, and most that rise together."""
    rng, layers, pairs = np.random.default_rng(0), np.arange(30), 200

    def risen(at, width, noise=0.03):
        return 1 / (1 + np.exp((at - layers) / width)) + noise * rng.normal(size=30)

    wrongly = together = 0
    for _ in range(pairs):
        a, b = (risen(rng.uniform(4, 26), rng.uniform(0.5, 3)) for _ in range(2))
        wrongly += geometry.shift_test(np.diff(a), np.diff(b)).p <= 0.05
        at = rng.uniform(4, 26)
        together += geometry.shift_test(np.diff(risen(at, 1.5, 0.01)), np.diff(risen(at, 1.5, 0.01))).p <= 0.05
    assert wrongly <= 0.08 * pairs and together > 0.8 * pairs


def test_a_shared_profile_is_no_pairing():
    """Mean curves that agree, questions that do not: the pairing test does not say more than chance does."""
    rng, profile = np.random.default_rng(0), 3 * np.sin(np.arange(12))
    ps = [
        geometry.pairing_test(*(profile + rng.normal(size=(8, 12)).cumsum(1) for _ in range(2)), resamples=199).p
        for _ in range(200)
    ]
    assert np.mean(np.array(ps) <= 0.05) <= 0.1
