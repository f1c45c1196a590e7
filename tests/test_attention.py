"""Segment attention mass: equal to the sums of eager attention weights, whatever the model, mask and padding."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

import pytest
import torch
import transformers
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import eager_weights, tiny

from mindscape import attention
from mindscape.attention import mean_segment_mass, segment_mass, segment_mass_batch, segment_mass_behind

WORDS = 64


@pytest.fixture(scope="module")
def llama():
    return tiny(transformers.LlamaConfig, WORDS, num_hidden_layers=3)


MODELS = {
    "llama": (transformers.LlamaConfig, {}),
    "qwen2": (transformers.Qwen2Config, {}),
    "qwen3": (transformers.Qwen3Config, {"head_dim": 16}),
    "sliding window": (transformers.MistralConfig, {"sliding_window": 7}),
    "bidirectional": (transformers.BertConfig, {"auto": transformers.AutoModel}),
}


def model_of(name):
    kind, sizes = MODELS[name]
    return tiny(kind, WORDS, num_hidden_layers=3, **sizes)


def eager_mass(model, ids, rows, segments):
    """The slow way: all attention weights, then sums. (layers, heads, rows, segments) of the first text."""
    weights = eager_weights(model, ids)[:, 0]
    return torch.stack([weights[:, :, list(rows), start:end].sum(-1) for start, end in segments], -1)


def ids_of(n, seed=1):
    return torch.randint(0, 64, (1, n), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rows", [[0, 5, 29, 29, 3], range(30), [-1]], ids=["few", "all", "last"])
@pytest.mark.parametrize("name", MODELS)
def test_equals_eager_attention(name, rows):
    model, ids = model_of(name), ids_of(30)
    segments = [(0, 4), (2, 11), (11, 30), (7, 8)]  # overlapping, one token, far apart
    mass = segment_mass(model, ids, rows, segments)
    assert mass.shape == (3, 4, len(rows), 4)
    assert (mass - eager_mass(model, ids, rows, segments)).abs().max() < 1e-5
    assert torch.allclose(segment_mass(model, ids, rows, segments, average_heads=True), mass.mean(1), atol=1e-6)


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "sliding window"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(name, side):
    model = model_of(name)
    lengths, n = (5, 19, 12), 19
    rows = [[0, 4], range(19), [-1, 3, 7]]
    segments = [[(0, 2), (2, 5)], [(0, 19)], [(1, 4), (4, 5), (0, 12)]]
    ids, mask = torch.zeros(3, n, dtype=torch.long), torch.zeros(3, n, dtype=torch.long)
    for i, length in enumerate(lengths):
        place = slice(n - length, n) if side == "left" else slice(0, length)
        ids[i, place], mask[i, place] = ids_of(length, seed=i), 1
    for queries in (rows, [range(length) for length in lengths]):  # SDPA beside it, and all rows by blocks
        batch = segment_mass_batch(model, ids, mask, queries, segments)
        for i, length in enumerate(lengths):
            assert (batch[i] - eager_mass(model, ids_of(length, seed=i), queries[i], segments[i])).abs().max() < 1e-5


@settings(max_examples=30)
@given(st.data())
def test_tiles_sum_to_one(llama, data):
    n = data.draw(st.integers(1, 40))
    cuts = sorted({0, n, *data.draw(st.lists(st.integers(1, n), max_size=5))})
    rows = data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=n))
    mass = segment_mass(llama, ids_of(n), rows, list(zip(cuts, cuts[1:], strict=False)))
    assert torch.allclose(mass.sum(-1), torch.ones(()), atol=1e-5)
    assert mass.min() >= 0
    for i, row in enumerate(rows):  # what comes after the row has exactly no mass
        later = [j for j, start in enumerate(cuts[:-1]) if start > row % n]
        assert not mass[:, :, i, later].any()


def test_several_blocks_of_rows_equal_one(llama, monkeypatch):
    ids, segments = ids_of(100), [(0, 10), (40, 90)]
    once = segment_mass(llama, ids, range(100), segments)
    monkeypatch.setattr(attention, "_BLOCK", 1)  # 32 rows at a time
    assert (segment_mass(llama, ids, range(100), segments) - once).abs().max() < 1e-5
    assert (segment_mass(llama, ids, range(0, 100, 3), segments) - once[:, :, ::3]).abs().max() < 1e-5


def test_mean_between_segments(llama):
    ids, summary, chunks, question = ids_of(40), (0, 8), [(8, 20), (18, 33)], (33, 40)
    mean = mean_segment_mass(llama, ids, [*chunks, question], [summary, *chunks])
    mass = segment_mass(llama, ids, range(40), [summary, *chunks]).mean(1)
    assert mean.shape == (3, 3, 3)
    for i, (start, end) in enumerate([*chunks, question]):
        assert torch.allclose(mean[:, i], mass[:, start:end].mean(1), atol=1e-6)


def test_no_matrix_is_kept(llama):
    """Peak memory is not a matter for a unit test; that no n x n tensor outlives a block is."""
    sizes, real = [], torch.Tensor.softmax
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "_BLOCK", 1)
        patch.setattr(torch.Tensor, "softmax", lambda x, *a, **k: sizes.append(x.shape) or real(x, *a, **k))
        segment_mass(llama, ids_of(200), range(200), [(0, 200)])
    assert max(shape[1] for shape in sizes) == 32


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_the_model_is_left_as_it_was(llama, implementation):
    llama.set_attn_implementation(implementation)
    try:
        segment_mass(llama, ids_of(9), [1], [(0, 3)])
        assert llama.config._attn_implementation == implementation
        with pytest.raises(IndexError):  # id 99 is not in the vocabulary: the forward pass itself fails
            segment_mass(llama, [1, 99], [1], [(0, 1)])
        assert llama.config._attn_implementation == implementation
        assert attention._active.get() is None
    finally:
        llama.set_attn_implementation("sdpa")


def test_threads_do_not_mix(llama):
    texts = [ids_of(n, seed=n) for n in range(5, 17)]

    def measured(ids):
        with torch.no_grad():
            llama(ids)  # others may just run the model meanwhile
        return segment_mass(llama, ids, [-1], [(0, 2), (2, 5)])

    alone = list(map(measured, texts))
    with ThreadPoolExecutor(len(texts)) as pool:
        together = list(pool.map(measured, texts))
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))


def test_bad_rows_and_segments(llama):
    def measured(rows, segments):
        return lambda: segment_mass(llama, ids_of(12), rows, segments)

    refused(measured([0], [(0, 2), (3, 3)]), r"segment 1 \(3, 3\) is out of range")
    refused(measured([0], [(0, 13)]), r"segment 0 \(0, 13\) is out of range: .* 12 tokens")
    refused(measured([0], [(-1, 3)]), r"segment 0 \(-1, 3\) is out of range")
    refused(measured([0], []), "no segment was given")
    refused(measured([], [(0, 2)]), "at least one token position")
    refused(measured([0.5], [(0, 2)]), "at least one token position")
    refused(measured([12], [(0, 2)]), "row 12 is out of range: the text has 12 tokens")
    refused(measured([-13], [(0, 2)]), "row -13 is out of range")


def test_a_mask_with_a_hole_is_refused(llama):
    ids, mask = torch.ones(2, 4, dtype=torch.long), torch.tensor([[1, 1, 1, 1], [1, 0, 1, 1]])
    refused(lambda: segment_mass_batch(llama, ids, mask, [[0]] * 2, [[(0, 1)]] * 2), "has a hole")


def test_other_kinds_of_attention_are_refused():
    sinks = tiny(transformers.GptOssConfig, WORDS, head_dim=8, num_local_experts=2, num_experts_per_tok=1)
    refused(lambda: segment_mass(sinks, ids_of(9), [1], [(0, 3)]), "cannot run SDPA")
    capped = tiny(transformers.Gemma2Config, WORDS, head_dim=8, attn_logit_softcapping=50.0)
    refused(lambda: segment_mass(capped, ids_of(9), [1], [(0, 3)]), "cannot run SDPA")
    training = tiny(transformers.LlamaConfig, WORDS).train()
    refused(lambda: segment_mass(training, ids_of(9), [1], [(0, 3)]), "training mode")


@pytest.mark.parametrize("name", ["softcap", "s_aux", "position_bias"])
def test_a_layer_that_changes_its_scores_is_refused(llama, name):
    layer, states, recorded = llama.model.layers[0].self_attn, torch.ones(1, 4, 3, 8), copy_context()
    recorded.run(attention._active.set, object())
    attend = partial(attention._attention, layer, states, states, states, None, **{name: torch.ones(1)})
    refused(partial(recorded.run, attend), f"LlamaAttention uses {name}")


def test_the_measurements_run(tmp_path, llama, capfd):
    llama.save_pretrained(tmp_path)
    capfd.readouterr()
    assert attention.overhead(llama, tokens=64, runs=2) > 0
    assert abs(attention.extra_megabytes(tmp_path, tokens=64)) < 200
    assert capfd.readouterr().err == ""


# -- texts behind a shared head ----------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(data=st.data(), average=st.booleans())
def test_behind_a_head_as_apart(llama, data, average):
    tokens = st.integers(0, WORDS - 1)
    head = data.draw(st.lists(tokens, min_size=1, max_size=9))
    tails = data.draw(st.lists(st.lists(tokens, min_size=1, max_size=7), min_size=1, max_size=4))
    rows, segments = [], []
    for tail in tails:
        n = len(head) + len(tail)
        rows.append(data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=5)))
        pairs = st.tuples(st.integers(0, n - 1), st.integers(1, n)).filter(lambda pair: pair[0] < pair[1])
        segments.append(data.draw(st.lists(pairs, min_size=1, max_size=4)))
    masses = segment_mass_behind(llama, head, tails, rows, segments, average_heads=average)
    for tail, row, spans, mass in zip(tails, rows, segments, masses, strict=True):
        expected = segment_mass(llama, [*head, *tail], row, spans, average_heads=average)
        torch.testing.assert_close(mass, expected, atol=1e-5, rtol=0)


def test_what_cannot_stand_behind_a_head(llama):
    behind = partial(segment_mass_behind, llama, [1, 2], [[3]])
    refused(lambda: behind([[3]], [[(0, 1)]]), "row 3 is out of range: the text has 3 tokens")
    refused(lambda: behind([[0]], [[(0, 4)]]), "segment 0 .* is out of range")
    narrow = partial(segment_mass_behind, model_of("sliding window"), [1] * 6, [[3], [4]])
    refused(lambda: narrow([[0], [0]], [[(0, 1)], [(0, 1)]]), "sees 7 tokens at a time")


def test_smollm2_on_a_play(smollm2, tokenizer):
    text = "HAMLET. To be, or not to be, that is the question. 哈姆雷特:生存还是毁灭,这是一个问题。\n" * 6
    ids = tokenizer(text, return_tensors="pt").input_ids[:, :180]
    segments = [(0, 1), (0, 90), (90, 120), (100, 180)]
    naive = eager_mass(smollm2, ids, range(180), segments)
    assert (segment_mass(smollm2, ids, range(180), segments) - naive).abs().max() < 1e-5
    assert (segment_mass(smollm2, ids, [7, -1], segments) - naive[:, :, [7, -1]]).abs().max() < 1e-5
