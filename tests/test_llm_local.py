"""The local backend: batched and shared against plain runs of transformers, constraints, and bad input."""

import copy
from functools import partial, wraps
from typing import Literal
from unittest.mock import Mock

import pytest
import torch
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from stubs import plain, user
from tiny import saved
from transformers import AutoModelForCausalLM, GPT2Config, GraniteConfig, MptConfig, Qwen2Config, Qwen3Config

from mindscape import llm
from mindscape.errors import LLMError
from mindscape.llm import local
from mindscape.llm.base import Sampling
from mindscape.llm.local import Local
from mindscape.mia.retrieval import tokens_once
from mindscape.mindgraph.answer import held_to

SUMMARY = (
    "Hamlet learns from a ghost that his uncle Claudius murdered his father, took the crown and married his mother. "
    "He feigns madness, and kills Polonius by mistake. Ophelia drowns. "
)
PROMPTS = [
    SUMMARY + "Question: Who is the king? Answer:",
    SUMMARY + "Question: Which of them was killed by mistake, behind a curtain, in the queen's room? Answer:",
    "The capital of France is",
    "生存还是毁灭，这是一个值得考虑的问题；",
    SUMMARY + "哈姆雷特是谁？",
]
CONTINUATIONS = [" Claudius", " Polonius, of course.", "默然忍受命运的暴虐的毒箭", ""]


@pytest.fixture(scope="module")
def backend(smollm2, tokenizer):
    torch.set_num_threads(1)
    return Local(smollm2, tokenizer, "embedded")


@pytest.fixture(scope="module")
def model(backend):
    return llm.LanguageModel(backend)


def plain_text(backend, prompt, new=5):
    """One prompt alone, through transformers' own generate."""
    ids = backend.tokenizer(prompt, return_tensors="pt")["input_ids"]
    out = backend.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False)
    return backend.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)


ENDS = {"max_position_embeddings": 512, "eos_token_id": 2, "bos_token_id": 1}
CONFIGS = {
    "qwen2.5": (Qwen2Config, ENDS),
    "qwen3": (Qwen3Config, {**ENDS, "head_dim": 8}),
    "sliding": (Qwen2Config, {**ENDS, "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1}),
    "scaled logits": (GraniteConfig, {**ENDS, "logits_scaling": 2.0}),
    "learned positions": (GPT2Config, ENDS),
    "distances by column": (MptConfig, {"eos_token_id": 2, "bos_token_id": 1}),
}


@pytest.fixture(scope="module", params=CONFIGS)
def random_model(request, tmp_path_factory, tokenizer):
    kind, sizes = CONFIGS[request.param]
    folder = saved(kind, tokenizer, tmp_path_factory.mktemp(request.param), **sizes)
    return llm.load(f"hf:{folder}", dtype="float32", device="cpu", cache=False)


# ---------------------------------------------------------------- batched and shared = plain


def assert_plain(model, prompts, new):
    """Texts and scores are those of one prompt at a time."""
    replies = model.complete(prompts, max_new_tokens=new)
    assert [reply.text for reply in replies] == [plain_text(model.backend, prompt, new) for prompt in prompts]
    for prompt, scores in zip(prompts, model.score(prompts, [CONTINUATIONS] * len(prompts)), strict=True):
        for continuation, score in zip(CONTINUATIONS, scores, strict=True):
            logprob, tokens = plain(model, prompt, continuation)
            assert score.logprob == pytest.approx(logprob, abs=1e-4)
            assert (score.tokens, score.prompt_tokens) == (tokens, model.count_tokens(prompt))


def test_smollm2_agrees_with_plain_runs(model):
    assert_plain(model, PROMPTS, 5)


def test_random_models_agree_with_plain_runs(random_model):
    backend = random_model.backend
    config = backend.model.config
    assert backend.shares == (not getattr(config, "use_sliding_window", False) and config.model_type != "mpt")
    assert_plain(random_model, PROMPTS, 6)


def test_a_long_continuation_is_read_in_pieces(random_model):
    text = SUMMARY * 7
    (score,) = random_model.score("Hamlet.", [text])
    logprob, tokens = plain(random_model, "Hamlet.", text)
    assert score.tokens == tokens > 200
    assert score.logprob == pytest.approx(logprob, rel=1e-6)


@pytest.fixture
def read(smollm2):
    """How many tokens each forward pass of SmolLM2 has read."""
    sizes: list[int] = []

    def count(_, given, named):
        sizes.append(named["input_ids"].numel())

    hook = smollm2.get_decoder().register_forward_pre_hook(count, with_kwargs=True)
    yield sizes
    hook.remove()


def test_a_common_head_is_read_once(smollm2, tokenizer, read):
    model = llm.LanguageModel(Local(smollm2, tokenizer, "counted", batch_size=4))
    prompts = [SUMMARY + question for question in ("Who is king?", "Who drowns?", "Who haunts whom?", "Why?", "Where?")]
    head, total = model.count_tokens(SUMMARY), sum(map(model.count_tokens, prompts))
    model.complete(prompts, max_new_tokens=1)
    assert sum(read) < head + 60 < total
    read.clear()
    model.score(prompts, [[" Yes", " No"]] * 5)
    assert sum(read) < head + 120


def test_the_next_call_goes_on_from_the_head_of_this_one(smollm2, tokenizer, read, monkeypatch):
    monkeypatch.setattr(local, "KEPT", len(tokenizer(SUMMARY)["input_ids"]))
    first, then = (f"{SUMMARY}{SUMMARY}Question: Who {what}?" for what in ("is king", "drowns"))
    backend = Local(smollm2, tokenizer, "asked twice")
    model, fresh = llm.LanguageModel(backend), llm.LanguageModel(Local(smollm2, tokenizer, "new"))
    expected = fresh.complete(then, max_new_tokens=6).text, fresh.score(then, [" Yes"])[0].logprob
    model.complete(first, max_new_tokens=1)
    assert backend._last is not None and len(backend._last.tokens) == local.KEPT
    assert backend._last.cache.layers[0].keys.untyped_storage().nbytes() == backend._last.cache.layers[0].keys.nbytes
    read.clear()
    text = model.complete(then, max_new_tokens=6).text
    assert sum(read) < model.count_tokens(then) - local.KEPT + 10
    assert (text, model.score(then, [" Yes"])[0].logprob) == (expected[0], pytest.approx(expected[1], abs=1e-4))


def test_a_head_of_other_weights_is_read_again(random_model):
    """A notebook may train the model between two calls."""
    backend = random_model.backend
    random_model.score(SUMMARY, [" Yes"])
    weights = next(backend.model.parameters())
    with torch.no_grad():
        weights.mul_(-1)
        changed = random_model.score(SUMMARY, [" Yes"])[0].logprob
        expected = plain(random_model, SUMMARY, " Yes")[0]
        weights.mul_(-1)
    assert changed == pytest.approx(expected, abs=1e-4)


@given(count=st.integers(1, 12), wide=st.integers(1, 40), out=st.integers(1, 40), bias=st.booleans())
def test_turned_products_are_the_same(count, wide, out, bias):
    torch.manual_seed(0)
    layer, states = torch.nn.Linear(wide, out, bias), torch.randn(1, count, wide)
    with torch.no_grad():
        expected, turned = layer(states), copy.deepcopy(layer)
        turned.__class__ = local._Turned
        assert turned(states).shape == expected.shape and turned(states).is_contiguous()
        assert torch.allclose(turned(states), expected, atol=1e-5)
        assert turned(states[:, :0]).shape == (1, 0, out)
    turned(states).sum().backward()  # what is trained is multiplied as ever
    assert turned.weight.grad.shape == (out, wide)


def test_the_vocabulary_is_met_by_whole_tensors_and_only_where_it_is_asked(smollm2, tokenizer):
    """A view of the last places would be multiplied row by row, with a copy of the vocabulary's weights for each."""
    model, met = llm.LanguageModel(Local(smollm2, tokenizer, "watched", batch_size=8)), []
    hook = smollm2.get_output_embeddings().register_forward_pre_hook(lambda _, states: met.append(states[0]))
    try:
        model.complete(PROMPTS, max_new_tokens=2)
        model.score(PROMPTS, [[" Yes", " No, by no means"]] * len(PROMPTS))
    finally:
        hook.remove()
    assert all(states.stride() == torch.empty(states.shape).stride() for states in met)
    written = 2 * len(PROMPTS)
    scored = sum(states.shape[0] * states.shape[1] for states in met) - written
    assert 0 < scored <= 2 * len(PROMPTS) * 5


NESTED = [  # the same passages, some more each time, as retrieval for a growing k shows them; on two texts
    f"{book}\n{''.join(f'Passage {i}: lamp {i} was sold to Ann for {i} coins. ' * 4 for i in range(first, first + k))}\nWho?"
    for book in (SUMMARY, SUMMARY.upper())
    for first in (0, 4)
    for k in (1, 2, 5)
]


def test_nested_heads_are_read_once(smollm2, tokenizer, read):
    ids = [tokenizer(prompt)["input_ids"] for prompt in NESTED]
    once = tokens_once(ids)
    for size in (1, 4, 16):
        read.clear()
        model = llm.LanguageModel(Local(smollm2, tokenizer, "counted", batch_size=size))
        model.complete(NESTED, max_new_tokens=1)
        assert once <= sum(read) <= once + len(NESTED) < 0.6 * sum(map(len, ids))


def test_neither_nested_heads_nor_the_size_of_batches_change_anything(random_model):
    loaded, drawn = random_model.backend, []
    expected = [plain_text(loaded, prompt, 4) for prompt in NESTED]
    for size, tokens in ((1, 9999), (5, 130), (5, 9999), (16, 9999)):
        model = llm.LanguageModel(Local(loaded.model, loaded.tokenizer, "m", batch_size=size, batch_tokens=tokens))
        assert [reply.text for reply in model.complete(NESTED, max_new_tokens=4)] == expected
        replies = model.complete(PROMPTS, max_new_tokens=3, temperature=0.8, top_p=0.9, seed=7)
        drawn.append([reply.text for reply in replies])
    assert all(texts == drawn[0] for texts in drawn)


@pytest.mark.parametrize("stretch", [1, 3])
def test_rows_that_have_ended_leave_the_batch(random_model, monkeypatch, stretch):
    """Free, drawn, held to a schema and cut at a stop string: as if all rows stayed to the end."""
    loaded = random_model.backend
    backend = Local(loaded.model, loaded.tokenizer, "m", batch_size=3)
    prompts = NESTED[:5]
    word = plain_text(loaded, prompts[1], 8).split()[1]
    grammar = {"enum": ["a", "bb, or more of it", "c"]}
    ways = [(Sampling(9), None), (Sampling(9, 0.9, seed=3), None), (Sampling(9), grammar)]
    ways.append((Sampling(9, stop=(word,)), None))

    def said():
        texts = []
        for sampling, schema in ways:
            replies = dict(backend.generate(prompts, sampling, schema=schema))
            texts.append([replies[i].text for i in range(len(prompts))])
        return texts

    expected = said()
    assert expected[0] == [plain_text(loaded, prompt, 9) for prompt in prompts]
    assert expected[3] != expected[0] and {*expected[2]} <= {'"a"', '"bb, or more of it"', '"c"'}
    rows, forward = [], type(loaded.model).forward

    @wraps(forward)  # its signature decides what generate passes on
    def counted(self, **kw):
        rows.append(len(kw["input_ids"]) if kw["input_ids"].shape[1] == 1 else 0)
        return forward(self, **kw)

    monkeypatch.setattr(type(loaded.model), "forward", counted)
    said()
    all_along = sum(rows)
    rows.clear()
    monkeypatch.setattr(local, "STRETCH", stretch)
    assert said() == expected
    assert sum(rows) < all_along or not loaded.shares


@settings(max_examples=30)
@given(
    rows=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=60), min_size=1, max_size=12),
    heads=st.integers(0, 50),
    size=st.integers(1, 5),
    call=st.sampled_from([0, 32, float("inf")]),
)
def test_batches_hold_every_row_once_and_share_true_heads(backend, rows, heads, size, call):
    rows = [[7] * heads + row for row in rows]
    most = [len(row) - 1 for row in rows]
    backend = Local(backend.model, backend.tokenizer, "b", batch_size=size, batch_tokens=150)
    batches = list(backend._batches(rows, most, range(len(rows)), 3, call))
    assert [i for batch, _ in batches for i in batch] == list(range(len(rows)))
    for batch, shared in batches:
        assert len(batch) <= size
        assert len(batch) == 1 or len(batch) * (max(len(rows[i]) for i in batch) + 3) <= 150
        assert all(rows[i][:shared] == rows[batch[0]][:shared] and shared <= most[i] for i in batch)


# ---------------------------------------------------------------- sampling


def test_seeds(model):
    def ask(**how):
        return model.complete("My favourite colour is", max_new_tokens=5, **how).text

    assert ask(temperature=1.0, seed=1) == ask(temperature=1.0, seed=1)
    assert len({ask(temperature=1.0, seed=seed) for seed in (2, 3)}) > 1
    assert ask(temperature=1.0, top_p=1e-6, seed=1) == ask()


def test_draws_follow_the_softmax():
    logits = torch.tensor([[0.0, 1.0, 2.0, float("-inf")]])
    drawn = torch.cat([local._Drawn([seed])(logits, logits).argmax(1) for seed in range(4000)])
    shares = torch.bincount(drawn, minlength=4) / 4000
    assert torch.allclose(shares, logits.softmax(1)[0], atol=0.03)
    assert shares[3] == 0


def test_stop_and_finish(model):
    whole = model.complete("One, two, three, four,", max_new_tokens=6)
    assert whole.finish == "length" and whole.completion_tokens == 6 and "six" in whole.text
    cut = model.complete("One, two, three, four,", max_new_tokens=6, stop=["six", "nothing"])
    assert cut.finish == "stop" and cut.text == whole.text[: whole.text.index("six")]
    assert cut.completion_tokens < 6
    ended = model.chat(user("Say hi."), max_new_tokens=40)
    assert ended.finish == "stop" and ended.completion_tokens < 40 and "<|" not in ended.text


def test_the_vocabulary_is_read_once_for_the_same_stop_strings(backend, monkeypatch):
    """Not for each batch: it takes a second."""
    backend, sampling = Local(backend.model, backend.tokenizer, "b", batch_size=1), Sampling(2, stop=("six",))
    monkeypatch.setattr(backend.tokenizer, "get_vocab", Mock(wraps=backend.tokenizer.get_vocab))
    list(backend.generate(["One, two,"], sampling))
    once = backend.tokenizer.get_vocab.call_count
    list(backend.generate(NESTED[:3], sampling))
    assert backend.tokenizer.get_vocab.call_count == once


# ---------------------------------------------------------------- schema


class Place(BaseModel):
    kind: Literal["castle", "churchyard"]
    rooms: list[str] = Field(min_length=1, max_length=2)
    age: int = Field(ge=0, le=999)
    名: str = Field(max_length=5)


ASKED = [user(text) for text in ("Tell me about Elsinore.", "讲讲墓地。", "Rooms?")]


def test_decoding_is_held_to_a_pydantic_model(model):
    for reply in model.chat(ASKED[:2], schema=Place, max_new_tokens=40, temperature=1.0, seed=3):
        # A string without a bound may run into the limit of tokens; what ends by itself always fits.
        assert reply.finish == "length" or isinstance(reply.parsed, Place)


def test_every_conversation_may_have_its_own_schema(random_model):
    """JSON schemas and grammars beside each other in a batch, the rows in another order than the conversations."""
    schemas = [{"enum": ["a"]}, {"title": "b", "lark": 'start: "\\"" ("b" | "c") "\\""'}, {"enum": ["d", "dd"]}]
    talks = [*reversed(ASKED), *ASKED]
    replies = random_model.chat(talks, schema=[*schemas, *schemas], max_new_tokens=9)
    allowed = [{"a"}, {"b", "c"}, {"d", "dd"}] * 2
    assert all(reply.parsed in choices for reply, choices in zip(replies, allowed, strict=True))
    refused(lambda: random_model.chat(talks, schema=schemas), "3 schemas for 6 conversations")


def test_plain_words_are_held_to_options(random_model):
    """Quotes, line breaks and Chinese in them; what comes out is one of them as it stands, and no JSON is looked for."""
    options = ['the "Crown"', "back\\slash", "a\nbreak", "磨坊主", "x: [1] | y"]
    replies = random_model.chat(ASKED, schema=held_to(options), max_new_tokens=30)
    assert all(reply.parsed in options and reply.text == reply.parsed and not reply.invalid for reply in replies)
    assert all(random_model.backend.could_write(option, held_to(options)) for option in options)
    assert not random_model.backend.could_write("the Crown", held_to(options)) and held_to([]) is None


def test_a_form_that_has_changed_is_another_one(backend):
    form = {"enum": ["a"]}
    assert backend.could_write('"a"', form)
    assert not any(backend.could_write(text, form) for text in ('"b"', '"a', '"a" So there.'))
    form["enum"] = ["b"]
    assert backend.could_write('"b"', form) and not backend.could_write('"a"', form)
    fields = [
        {"type": "object", "properties": dict.fromkeys(names, {"enum": [1]}), "required": ["a", "b"]} for names in ("ab", "ba")
    ]
    assert [backend.could_write('{"a": 1, "b": 1}', schema) for schema in fields] == [True, False]  # equal as dicts


def test_a_reply_cut_off_is_invalid(model):
    reply = model.chat(user("Elsinore?"), schema=Place, max_new_tokens=3)
    assert "does not fit Place (cut off after 3 tokens)" in reply.invalid
    refused(lambda: reply.parsed, "cut off", LLMError)


def test_a_schema_that_cannot_be_held_to(model):
    refused(lambda: model.chat(user("?"), schema={"type": "nonsense"}), "cannot be held to the schema")


# ---------------------------------------------------------------- chat, tools

SEARCH = {"type": "function", "function": {"name": "search", "description": "Find a passage.", "parameters": {}}}


def test_tools_in_words_where_the_template_has_none(backend):
    text = backend.tokenizer.decode(backend._tokens(user("Who is Yorick?"), [SEARCH]))
    assert '{"name": "search"' in text and text.count("<|im_start|>system") == 1
    assert text.endswith("<|im_start|>assistant\n")


def templated(backend, template):
    """The same model with another chat template."""
    tokenizer = copy.deepcopy(backend.tokenizer)
    tokenizer.chat_template = template
    return Local(backend.model, tokenizer, "templated")


def test_tools_go_to_a_template_that_has_them(backend):
    native = templated(backend, "{{ tools | tojson }}{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}")
    text = native.tokenizer.decode(native._tokens(user("Who?"), [SEARCH]))
    assert text.startswith('[{"type": "function"') and text.endswith("user: Who?")


@pytest.mark.parametrize(
    ("prompt", "read"), [(user("Is snow white?"),) * 2, ("", "<|im_start|>")], ids=["conversation", "beginning"]
)
def test_scores_of_a_conversation_and_of_an_empty_prompt(model, prompt, read):
    (score,) = model.score(prompt, ["Once upon a time"])
    assert score.logprob == pytest.approx(plain(model, read, "Once upon a time")[0], abs=1e-4)


# ---------------------------------------------------------------- fingerprint, bad input


def test_the_fingerprint_tells_weights_precision_and_template_apart(random_model, monkeypatch, tokenizer):
    backend = random_model.backend
    before = random_model.fingerprint
    with monkeypatch.context() as edited:
        edited.setattr(backend.tokenizer, "chat_template", "{{ messages }}")
        other_template = random_model.fingerprint
    assert before == random_model.fingerprint
    weights = next(backend.model.parameters())
    with torch.no_grad():
        weights.add_(1e-3)
        changed = random_model.fingerprint
        weights.sub_(1e-3)
    half = Local(AutoModelForCausalLM.from_config(backend.model.config, dtype=torch.bfloat16), tokenizer, "half")
    assert len({before, other_template, changed, half.fingerprint}) == 4


def test_nothing_is_cut_off_in_silence(model):
    long = "word " * 9000
    holds = r"embedded holds 8,192"
    refused(lambda: model.complete(["short", long]), rf"prompt 1 has 9,00\d tokens and may write 256 .*: {holds}")
    refused(lambda: model.score(long, [" end"]), rf"prompt 0 with its continuation has 9,00\d tokens: {holds}")


def test_bad_input(model, backend, tmp_path):
    refused(lambda: model.complete(["fine", ""]), "prompt 1 is empty")
    fussy = "{{ raise_exception('no system role') }}"
    for template, said in ((None, "no chat template"), (fussy, "refuses the conversation: no system role")):
        refused(partial(llm.LanguageModel(templated(backend, template)).chat, user("?")), said)
    refused(lambda: llm.load("embedded", dtype="int7"), "dtype='int7': expected auto, float32")
    refused(lambda: llm.load(f"hf:{tmp_path}"), "cannot load hf:.*: expected a folder or a name on the hub", LLMError)


def test_loading_and_asking_print_nothing(tmp_path, tokenizer, capfd):
    folder = saved(Qwen3Config, tokenizer, tmp_path, head_dim=8)
    capfd.readouterr()
    loaded = llm.load(f"hf:{folder}", cache=False)
    loaded.complete(["Hello", "Hello there"], max_new_tokens=2, stop=["x"])
    loaded.complete("Hello", max_new_tokens=2, temperature=0.7, top_p=0.5)
    loaded.score("Hello", [" you"])
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not torch.cpu._is_amx_tile_supported(), reason="elsewhere a rare token moves by more")
def test_bf16_scores_are_near_fp32(model, language_model_dir):
    half = llm.LanguageModel(local.pretrained(language_model_dir, name="half", dtype="bfloat16", device="cpu"))
    for exact, near in zip(model.score(SUMMARY, CONTINUATIONS), half.score(SUMMARY, CONTINUATIONS), strict=True):
        assert near.logprob == pytest.approx(exact.logprob, abs=0.1 * max(1, exact.tokens))
