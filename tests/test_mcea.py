"""MCEA: equal to sums over eager attentions, and what follows from its definition for few passages, order and labels."""

from collections import Counter
from functools import partial
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import zscore
from tiny import eager_weights, tiny
from transformers import LlamaConfig, Qwen3Config

from mindscape.llm import LanguageModel
from mindscape.metrics import bootstrap
from mindscape.mia import mcea
from mindscape.mia.generation import write


@pytest.fixture(scope="module", params=[LlamaConfig, Qwen3Config], ids=["llama", "qwen3"])
def model(request):
    return tiny(request.param, 64, num_hidden_layers=3)


def layout_of(lengths=(5, 9, 4, 7), summary=8, question=3, between=2, seed=0):
    """A prompt of random tokens; every other passage is relevant."""
    rng = np.random.default_rng(seed)

    def part(kind, n, relevant=False):
        return mcea.Part(kind, tuple(rng.integers(1, 64, n).tolist()), relevant)

    parts = [part("", between), part("summary", summary), part("", between)]
    for i, n in enumerate(lengths):
        parts += [part("chunk", n, i % 2 == 0), part("", between)]
    return mcea.Layout((*parts, part("question", question), part("", between)))


def direct(model, layout):
    """Eq. 15 to 18 term by term, from the weights that the model itself gives."""
    (summary,), (question,), chunks = (layout.places(kind) for kind in ("summary", "question", "chunk"))
    a = eager_weights(model, [layout.ids])[:, 0].double().mean(1).numpy()  # (layers, n, n)

    def mean(rows, keys):
        return a[:, slice(*rows), slice(*keys)].mean((1, 2))

    m = np.stack([mean(chunk, summary) for chunk in chunks], 1)
    s = np.stack([mean(question, chunk) for chunk in chunks], 1)
    c, flags = zscore(m, 1) * zscore(s, 1), np.array(layout.relevant)
    return m, s, c[:, flags].mean(1) - c[:, ~flags].mean(1)


@pytest.mark.parametrize("lengths, between", [((5, 9, 4, 7), 2), ((3, 1, 6), 0), ((40,) * 10, 1)])
def test_equal_to_the_sums_over_eager_attentions(model, lengths, between):
    layout = layout_of(lengths, between=between)
    m, s, expected = direct(model, layout)
    factors = mcea.factors(model, layout)
    assert np.abs(factors.to_summary - m).max() < 1e-6 and np.abs(factors.from_question - s).max() < 1e-6
    assert np.abs(mcea.mcea(mcea.alignment(factors), layout.relevant) - expected).max() < 1e-5


def test_passages_do_not_see_a_summary_behind_them(model):
    layout = mcea.summary_last(layout_of())
    assert layout.places("summary")[0][0] > layout.places("chunk")[-1][1] - 1
    assert sorted(layout.ids) == sorted(layout_of().ids)
    factors = mcea.factors(model, layout)
    assert not factors.to_summary.any() and factors.from_question.all()
    assert not mcea.mcea(mcea.alignment(factors), layout.relevant).any() and not mcea.correlation(factors).any()


# -- the score ---------------------------------------------------------------------------------------------------------

numbers = st.floats(0, 1, allow_subnormal=False).map(lambda x: round(x, 3))


def rows(n):
    return st.lists(numbers, min_size=n, max_size=n)


@given(st.integers(2, 8).flatmap(lambda n: st.tuples(rows(n), rows(n))), st.floats(0.1, 9), st.floats(0, 0.5))
def test_what_follows_from_the_definition(both, scale, shift):
    factors = mcea.Factors(*(np.array([row]) for row in both))
    c, n = mcea.alignment(factors), len(both[0])
    assert np.abs(c).max() <= n - 1 + 1e-9
    moved = mcea.alignment(mcea.Factors(factors.to_summary * scale + shift, factors.from_question))
    np.testing.assert_allclose(moved, c, atol=1e-6)  # units do not matter
    mirrored = mcea.alignment(mcea.Factors(-factors.to_summary, -factors.from_question))
    np.testing.assert_allclose(mirrored, c, atol=1e-9)  # low on both is as good as high on both
    if min(np.std(row) for row in both) > 1e-6:
        assert mcea.correlation(factors)[0] == pytest.approx(np.corrcoef(*both)[0, 1], abs=1e-6)
    else:
        assert mcea.correlation(factors)[0] == 0


def test_labels_that_cannot_be():
    refused(lambda: mcea.mcea(np.zeros((1, 2)), [True, True]), "all 2 passages are relevant")
    refused(lambda: mcea.mcea(np.zeros((1, 2)), [False, False]), "all 2 .* noise")


# -- over questions ----------------------------------------------------------------------------------------------------


def test_the_null_against_all_deals():
    """One question, two of five relevant: the shares are those of the ten ways to deal."""
    rng = np.random.default_rng(0)
    c = rng.normal(size=(4, 5))
    flags = [True, False, True, False, False]
    null = mcea.permuted([c], [flags], draws=20_000)
    deals = np.array([mcea.mcea(c, [i in picked for i in range(5)]) for picked in combinations(range(5), 2)])
    np.testing.assert_allclose(null.observed, mcea.mcea(c, flags))
    apart = np.abs(deals - deals.mean(0)) / deals.std(0)
    observed = np.abs(null.observed - deals.mean(0)) / deals.std(0)
    # One deal of ten may fall on the other side: the null's mean and spread are those of its draws.
    np.testing.assert_allclose(null.p, (apart >= observed - 1e-9).mean(0), atol=0.11)
    np.testing.assert_allclose(null.p_any, (apart.max(1)[:, None] >= observed - 1e-9).mean(0), atol=0.11)
    assert (null.low <= null.high).all() and (null.p_any >= null.p - 0.02).all()


def test_beyond_chance_or_not():
    rng = np.random.default_rng(1)
    noise = [rng.normal(size=(6, 8)) for _ in range(30)]
    flags = [[True, True, *[False] * 6]] * 30
    for alignment in noise:
        alignment[2, :2] += 1.5  # one layer holds something
    null = mcea.permuted(noise, flags)
    assert null.p_any[2] < 0.01 and (np.delete(null.p_any, 2) > 0.05).all()
    assert null.observed[2] > null.high[2]
    below = mcea.permuted([-alignment for alignment in noise], flags)  # downwards as upwards
    assert below.p_any[2] < 0.01 and below.observed[2] < below.low[2]
    again = mcea.permuted(noise, flags)
    assert all((getattr(null, name) == getattr(again, name)).all() for name in ("low", "p", "p_any"))
    two = mcea.permuted([np.ones((3, 2))] * 4, [[True, False]] * 4)  # two passages say nothing
    assert (two.p == 1).all() and (two.p_any == 1).all() and not two.observed.any()


def test_bands_are_those_of_the_bootstrap():
    curves = np.random.default_rng(0).normal(size=(12, 3))
    groups = [i // 3 for i in range(12)]
    bands = mcea.bands(curves, groups, resamples=300)
    for layer in range(3):
        mean = bootstrap(curves[:, layer], groups=groups, resamples=300)
        assert bands[:, layer].tolist() == [mean.value, mean.low, mean.high]


# -- layouts -----------------------------------------------------------------------------------------------------------

TOLD = {
    "en": ("Ann is the smith.", ["Tom took Ann's lamp.", "It rained.\n\nIt snowed."], "Who has the smith's lamp?"),
    "zh": ("剑秋是铁匠。", ["阿福拿走了剑秋的灯。", "那天下着雨。"], "铁匠的灯在谁手里？"),
}


@pytest.mark.parametrize("language", TOLD)
@pytest.mark.parametrize("task", ["qa", "choice"])
def test_a_prompt_in_tokens(task, language, tokenizer):
    summary, chunks, question = TOLD[language]
    slots = {"question": question} | ({"options_str": "A. x\nB. y\nC. z\nD. w"} if task == "choice" else {})
    written = write(task, slots, chunks, summary, language)
    layout = mcea.lay_out(written, [True, False], tokenizer)
    talk = [{"role": "user", "content": written.text}]
    text = tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
    assert list(layout.ids) == tokenizer(text, add_special_tokens=False)["input_ids"]
    assert layout.relevant == (True, False)

    def words(kind):
        return [tokenizer.decode(layout.ids[start:end]).strip() for start, end in layout.places(kind)]

    assert (words("summary"), words("chunk")) == ([summary], chunks)
    assert words("question")[0].startswith(question)
    for text_of, said in ((None, "no summary"), (f"{summary} <|im_end|>", "holds the control token '<|im_end|>'")):
        other = write(task, slots, chunks, text_of, language)
        refused(partial(mcea.lay_out, other, [True, False], tokenizer), said)


def test_controls_keep_what_they_are_to_keep():
    layout = layout_of()
    other = mcea.with_summary(layout, range(100, 120))
    assert all(other.places(kind) == layout.places(kind) for kind in ("summary", "chunk"))
    (start, end), *_ = layout.places("summary")
    assert other.ids[start:end] == tuple(range(100, 108)) and other.ids[end:] == layout.ids[end:]
    short = mcea.equal_lengths(layout)
    assert {end - start for start, end in short.places("chunk")} == {4} and short.relevant == layout.relevant
    mixed = [mcea.shuffled(layout, seed) for seed in range(20)]
    assert len({control.ids for control in mixed}) > 3 and mixed[0] == mcea.shuffled(layout, 0)
    for control in mixed:  # all passages, and what stands between them where it stood
        assert Counter(control.parts) == Counter(layout.parts)
        assert all(a == b or a.kind == b.kind == "chunk" for a, b in zip(control.parts, layout.parts, strict=True))


# -- in the store ------------------------------------------------------------------------------------------------------


def test_a_prompt_is_measured_once(model, own_store, monkeypatch):
    reader = LanguageModel(SimpleNamespace(model=model, name="toy", fingerprint="toy"))
    layouts, calls, factors = [layout_of(seed=i) for i in range(3)], [], mcea.factors
    monkeypatch.setattr(mcea, "factors", lambda *args: calls.append(args) or factors(*args))
    measured = mcea.measured(reader, layouts[:2])
    again = mcea.measured(reader, [*layouts, layouts[0]])
    assert calls == [(model, layout) for layout in layouts]
    for entry, other, layout in zip(measured, again, layouts, strict=False):
        np.testing.assert_allclose(entry.to_summary, factors(model, layout).to_summary, atol=1e-9)
        np.testing.assert_array_equal(entry.from_question, other.from_question)
