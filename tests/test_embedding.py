"""MiA-Emb's queries: the order of their parts, heads read once, what depends on the summary and what does not. Silver evidence:
votes, negatives, replies, and a run that was killed and goes on."""

import copy

import numpy as np
import pytest
import torch
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Model
from tiny import tiny
from tokenizers.processors import TemplateProcessing
from transformers import LlamaConfig, MistralConfig, Qwen3Config

from mindscape.mia import embedding
from mindscape.mia.embedding import WORDS, Form, MiaEmbedder, query_readings, unit_readings, write
from mindscape.store import Maker

pytestmark = pytest.mark.usefixtures("own_store")


SUMMARY = "Ann is the smith. Tom is the miller. The lamp went from one to the other, and nobody was told."
QUESTIONS = ["Who has the smith's lamp?", "Where was it sold, and for how much, in the end?", "Why?"]
FORMS = [Form(order, marks) for order in ("paper", "summary_first") for marks in ("words", "tokens")]


@pytest.fixture(scope="module", params=[LlamaConfig, Qwen3Config], ids=["llama", "qwen3"])
def model(request, tokenizer):
    """A tiny random model of the architecture, in float64."""
    return tiny(request.param, len(tokenizer), num_hidden_layers=3).double()


def states(model, readings, at):
    with torch.no_grad():
        return torch.cat([reading(model.get_decoder()) for reading in readings])[at]


def alone(model, ids):
    """The states of a text that is read by itself, (tokens, dim)."""
    with torch.no_grad():
        return model.get_decoder()(torch.tensor([ids])).last_hidden_state[0]


def test_the_parts_stand_as_equation_5_has_them(tokenizer):
    written = write(QUESTIONS[0], SUMMARY, Form("paper"), tokenizer)
    text, words = tokenizer.decode(written.tail), WORDS["en"]
    places = [text.index(part) for part in (QUESTIONS[0], words["q"], SUMMARY, words["n"], words["c"])]
    assert places == sorted(places) and not written.head
    assert tokenizer.decode(written.tail[: written.marks["q"] + 1]).endswith(words["q"])
    assert written.marks["c"] == len(written.tail) - 1
    first = write(QUESTIONS[0], SUMMARY, Form("summary_first"), tokenizer)
    assert SUMMARY in tokenizer.decode(first.head) and QUESTIONS[0] in tokenizer.decode(first.tail)
    full = Form("paper", "tokens", wording="paper")  # marks are tokens where the tokenizer has them, and letters else
    assert "<|query|>" in tokenizer.decode(write("Who?", "Ann.", full, tokenizer).tail)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_read_together_as_one_by_one(model, tokenizer, form, language):
    """Heads shared, rows padded, parts of a few tokens: the states are those of each query read alone."""
    summaries = [SUMMARY, SUMMARY, None]
    whole = states(model, *query_readings(QUESTIONS, summaries, form, tokenizer, language))
    small = states(model, *query_readings(QUESTIONS, summaries, form, tokenizer, language, tokens=60))
    torch.testing.assert_close(whole, small)
    for question, summary, vectors in zip(QUESTIONS, summaries, whole, strict=True):
        with_summary, without = (write(question, summary_of, form, tokenizer, language) for summary_of in (summary, None))
        hidden, plain = (alone(model, [*parts.head, *parts.tail]) for parts in (with_summary, without))
        torch.testing.assert_close(vectors[1:], hidden[[with_summary.marks["n"], with_summary.marks["c"]]])
        torch.testing.assert_close(vectors[0], plain[without.marks["q"]])  # in either order h_q knows no summary


def test_a_head_is_read_once(tokenizer):
    readings, _ = query_readings(QUESTIONS, [SUMMARY] * 3, Form("summary_first"), tokenizer)
    assert [bool(reading.head) for reading in readings] == [True, False]
    apart = [write(question, SUMMARY, Form("summary_first"), tokenizer) for question in QUESTIONS]
    assert readings[0].tokens < 0.7 * sum(len(query.head) + len(query.tail) for query in apart)


def test_a_head_before_a_window(tokenizer):
    """Told by a mask, a layer that sees a window only would see all: refused beyond the window, not read wrongly."""
    decoder = tiny(MistralConfig, len(tokenizer), sliding_window=100).get_decoder()
    (beyond, *_), _ = query_readings(QUESTIONS, [4 * SUMMARY] * 3, Form("summary_first"), tokenizer)
    refused(lambda: beyond(decoder), "MistralModel sees 100 tokens at a time")
    query_readings(["Who?", "Why?"], ["It rained."] * 2, Form("summary_first"), tokenizer)[0][0](decoder)


def test_units_in_their_order(model, tokenizer):
    texts = ["Ann left.", "It rained for a long time on that day, and all of them stayed in.", "Tom"]
    for tokens in (20, 4096):
        for text, vector in zip(texts, states(model, *unit_readings(texts, tokenizer, tokens=tokens)), strict=True):
            torch.testing.assert_close(vector, alone(model, tokenizer(text + WORDS["en"]["unit"])["input_ids"])[-1])


def test_no_token_of_the_tokenizers_own(model, tokenizer, language):
    """A tokenizer that puts an end token behind every text, as Qwen3-Embedding's does, changes nothing: in training as in use
    vectors are read at the marks."""
    ending = copy.deepcopy(tokenizer)
    end = "<|im_end|>", tokenizer.convert_tokens_to_ids("<|im_end|>")
    ending.backend_tokenizer.post_processor = TemplateProcessing(single="$A <|im_end|>", special_tokens=[end])
    assert ending("Ann left.").input_ids[-1] != tokenizer("Ann left.").input_ids[-1]
    texts = ["Ann left.", "汤姆走了。"]
    assert unit_readings(texts, ending, language)[0] == unit_readings(texts, tokenizer, language)[0]
    plain, other = (MiaEmbedder(model, tokens, language=language) for tokens in (tokenizer, ending))
    np.testing.assert_array_equal(plain.units(texts), other.units(texts))
    np.testing.assert_array_equal(plain.queries(QUESTIONS, SUMMARY), other.queries(QUESTIONS, SUMMARY))


def test_new_tokens_come_without_a_word(language_model_dir, caplog, capfd):
    bare, tokenizer = embedding.loaded(language_model_dir, Form(marks="tokens", layers=1), torch.float32)
    mark = tokenizer.convert_tokens_to_ids("<|query|>")
    rows = bare.get_input_embeddings().weight.detach()
    assert (rows[mark] - rows[:mark].mean(0)).abs().max() < 0.1 * rows[:mark].std()
    assert not caplog.records and not capfd.readouterr().err


def test_the_embedder(model, tokenizer):
    embedder = MiaEmbedder(model, tokenizer, Form("summary_first", delta=0.25))
    with_summary, without = embedder.queries(QUESTIONS, SUMMARY), embedder.queries(QUESTIONS)
    h = states(model, *query_readings(QUESTIONS, [SUMMARY] * 3, embedder.form, tokenizer))
    for vectors, mark in ((with_summary, 2), (embedder.queries(QUESTIONS, SUMMARY, task="node"), 1)):
        by_hand = torch.nn.functional.normalize(0.25 * h[:, 0] + 0.75 * h[:, mark], dim=-1)
        np.testing.assert_allclose(vectors, by_hand, rtol=1e-4, atol=1e-6)
    assert np.abs(with_summary - without).max() > 1e-3
    blind = MiaEmbedder(model, tokenizer, embedder.form, summaries=False)
    np.testing.assert_array_equal(blind.queries(QUESTIONS, SUMMARY), without)
    by_hand = torch.nn.functional.normalize(states(model, *unit_readings(["Ann left."], tokenizer)), dim=-1)
    np.testing.assert_allclose(embedder.units(["Ann left."]), by_hand, rtol=1e-4, atol=1e-6)
    assert embedder.queries([]).shape == (0, 32)


def test_what_cannot_be(model, tokenizer):
    refused(lambda: Form(order="mixed"), "order")
    refused(lambda: Form(marks="none"), "marks")
    refused(lambda: Form(delta=1.5), "delta")
    refused(lambda: write("Qui?", None, Form(), tokenizer, "fr"), "'fr'")
    refused(lambda: MiaEmbedder(model, tokenizer, language="fr"), "'fr'")


@pytest.mark.parametrize("content", [None, "{", "{}", '{"form": {"deltas": 1}, "summaries": true}', "[]"])
def test_a_folder_that_holds_no_trained_embedder_is_one_line(tmp_path, content):
    if content is not None:
        (tmp_path / "form.json").write_text(content)
    refused(lambda: embedding.embedder("base", tmp_path), "form.json: expected the form of a trained embedder")
    refused(lambda: embedding.named("hf:gpt2", str(tmp_path)), "expected a folder with sft_emb/form.json")


ranked = st.lists(st.integers(0, 20), unique=True, max_size=8)


@given(st.lists(ranked, min_size=1, max_size=4), st.integers(1, 10))
def test_votes_against_a_count_by_hand(lists, k):
    won = embedding.vote(lists, k)
    assert won == embedding.vote(lists, 100)[:k] and len(set(won)) == len(won)
    votes = {unit: sum(unit in ranking for ranking in lists) for ranking in lists for unit in ranking}
    assert set(embedding.vote(lists, 100)) == set(votes)
    assert all(votes[a] >= votes[b] for a, b in zip(won, won[1:], strict=False))
    assert len(lists) > 1 or won == list(lists[0])[:k]  # one list: its own order


@given(ranked, st.data(), st.integers(0, 100))
def test_negatives_are_apart_from_silver_and_from_each_other(candidates, data, seed):
    silver = data.draw(st.lists(st.sampled_from(candidates), unique=True)) if candidates else []
    hard, simple = embedding.negatives(candidates, silver, 21, np.random.default_rng(seed))
    groups = [set(silver), set(hard), set(simple)]
    assert sum(map(len, groups)) == len(set().union(*groups)) == len(silver) + len(hard) + len(simple)
    assert hard == [unit for unit in candidates if unit not in silver][: embedding.HARD]
    assert len(simple) == min(embedding.SIMPLE, 21 - len(silver) - len(hard))


class First(Model):
    """Picks the first passage that it is shown."""

    name, maker = "first", Maker("first", {})

    def __init__(self, dies=None):
        super().__init__(lambda prompt: "[0]", dies=dies)


class Places:
    """A retriever: passages stand around a circle, a query at the number that it holds, or ends with."""

    maker = Maker("places", {})

    def units(self, texts):
        return self.queries(texts)

    def queries(self, questions, summary=None, task="chunk"):
        at = np.array([int("".join(filter(str.isdigit, text)) or 0) % 12 for text in questions])
        angle = at * np.pi / 6
        return np.stack([np.cos(angle + 0.01), np.sin(angle + 0.01)], 1).astype(np.float32)


UNITS = [f"passage {i}" for i in range(12)]
ASKED = [(f"q{i}", f"What is in passage {i % 12}?", f"thing {i}") for i in range(20)]


def test_what_is_in_the_store_is_not_asked_again():
    model = First()
    part = embedding.annotate(model, Places(), UNITS, ASKED[:8])
    whole = embedding.annotate(model, Places(), UNITS, ASKED)
    assert (
        model.calls == 2 and whole[:8] == part and [annotation.question for annotation in whole] == [name for name, *_ in ASKED]
    )
    with pytest.raises(KeyboardInterrupt):
        embedding.annotate(First(dies=1), Places(), UNITS, [("new", "What is new?", "3")])
    assert embedding.annotate(First(dies=1), Places(), UNITS, ASKED) == whole


def test_one_question_by_hand():
    (annotation,) = embedding.annotate(First(), Places(), UNITS, [("x", "Who is in passage 3?", "7")], k=3)
    asked_at = {"q": 3, "q+a": 37 % 12, "a": 7}
    near = {name: {(at + by) % 12 for by in (-1, 0, 1)} for name, at in asked_at.items()}
    assert {name: set(units) for name, units in annotation.lists.items()} == near
    assert annotation.candidates == tuple(embedding.vote(list(annotation.lists.values()), 3))
    assert annotation.silver == annotation.candidates[:1] and annotation.hard == annotation.candidates[1:]
    assert len(annotation.simple) == 5 and not set(annotation.simple) & set(annotation.candidates)
    refused(lambda: embedding.annotate(First(), Places(), UNITS, ASKED[:1] * 2), "same id")
