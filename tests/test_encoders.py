"""Encoders: the model's own vectors, whatever the batch, the padding and the cache; truncation counted; bad input."""

from itertools import count

import numpy as np
import pytest
import torch
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from tiny import saved
from transformers import AutoModelForCausalLM, AutoTokenizer, PretrainedConfig, Qwen3Config

from mindscape import assets, encoders, weights
from mindscape.cache import Cache
from mindscape.encoders import Counts, LastTokenEncoder, SentenceEncoder, last_token_pool

TEXTS = [
    "Who's there?",
    "Nay, answer me: stand, and unfold yourself.",
    "生存还是毁灭,这是一个值得考虑的问题。",
    "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer",
    "a",
    "默然忍受命运的暴虐的毒箭",
    "The slings and arrows of outrageous fortune, or to take arms against a sea of troubles. " * 4,
]


@pytest.fixture(scope="module")
def qwen_dir(tmp_path_factory, tokenizer):
    """A tiny random Qwen3 with SmolLM2's tokenizer, in a folder."""
    sizes = {"num_hidden_layers": 3, "head_dim": 16, "max_position_embeddings": 512}
    return saved(Qwen3Config, tokenizer, tmp_path_factory.mktemp("qwen3"), **sizes)


@pytest.fixture(scope="module")
def qwen(qwen_dir):
    return AutoModelForCausalLM.from_pretrained(qwen_dir), AutoTokenizer.from_pretrained(qwen_dir)


@pytest.fixture(scope="module")
def minilm():
    return encoders.load("embedded", cache=False)


def one_by_one(model, tokenizer, texts):
    """The slow way: no batch, no padding, the last position."""
    rows = []
    for text in texts:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[-1]
        rows.append(torch.nn.functional.normalize(states[0, -1], dim=-1))
    return torch.stack(rows).numpy()


def assert_alike(a, b):
    """The stated tolerance: cosines above 1 - 1e-5, and the same order of neighbours."""
    assert a.dtype == b.dtype == np.float32 and a.shape == b.shape
    assert ((a * b).sum(1) > 1 - 1e-5).all()
    assert np.array_equal(np.argsort(-(a @ a.T), axis=1), np.argsort(-(b @ b.T), axis=1))


@pytest.mark.parametrize("batch_tokens", [1, 60, 10_000])
def test_last_token_equals_one_text_at_a_time(qwen, batch_tokens):
    encoder = LastTokenEncoder(*qwen, name="tiny", batch_tokens=batch_tokens)
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 32) == (len(TEXTS), encoder.dim)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert_alike(vectors, one_by_one(*qwen, TEXTS))


def test_minilm_equals_sentence_transformers(minilm):
    theirs = SentenceTransformer(str(assets.fetch("minilm")), device="cpu").encode(TEXTS, show_progress_bar=False)
    assert minilm.name == "minilm" and minilm.dim == 384
    for minilm.batch_tokens in (1, 64, 4096):
        assert_alike(minilm.encode(TEXTS), theirs)
    minilm.batch_tokens = 4096


def test_smollm2_by_its_name():
    encoder = encoders.load("smollm2", cache=False)
    vectors = encoder.encode(["To be, or not to be", "生存还是毁灭", "To be, or not to be"])
    assert vectors.shape == (3, 576) and np.array_equal(vectors[0], vectors[2])
    assert encoder.counts.computed == 2 and encoder.max_tokens == 8192


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=4))
def test_pooling_finds_the_last_token(shapes):
    n = max(sum(shape) for shape in shapes)
    mask = torch.zeros(len(shapes), n, dtype=torch.long)
    for row, (start, length, _) in zip(mask, shapes, strict=True):
        row[start : start + length] = 1
    hidden = torch.arange(n).repeat(len(shapes), 1)[..., None]
    assert last_token_pool(hidden, mask).flatten().tolist() == [start + length - 1 for start, length, _ in shapes]


def test_batches_are_by_length_and_bounded(qwen):
    encoder = LastTokenEncoder(*qwen, name="tiny", batch_tokens=40, max_tokens=30)
    batches = encoder.batches(TEXTS)
    assert sorted(sum(batches, [])) == sorted(TEXTS)
    lengths = [[min(30, len(qwen[1](text).input_ids)) for text in batch] for batch in batches]
    flat = sum(lengths, [])
    assert flat == sorted(flat, reverse=True)
    assert all(max(batch) * len(batch) <= 40 for batch in lengths)
    assert encoder.batches([]) == []


@pytest.mark.parametrize("name", ["tiny", "minilm"])
def test_truncation_is_counted_also_from_the_cache(qwen, tmp_path, name, capfd):
    tiny = LastTokenEncoder(*qwen, name=name, max_tokens=20)
    encoder = tiny if name == "tiny" else encoders.load(name, max_tokens=20)
    encoder.store = Cache(tmp_path / "vectors.sqlite")
    long = "word " * 600
    texts = ["a short one", long, long, "another"]
    vectors = encoder.encode(texts)
    first = encoder.counts
    assert (first.texts, first.computed, first.truncated) == (4, 3, 2)
    assert np.array_equal(encoder.encode(texts), vectors)
    assert encoder.counts == Counts(texts=4, computed=0, truncated=2, tokens=first.tokens)
    cut = encoder.tokenizer.decode(encoder.tokenizer(long)["input_ids"][:19], skip_special_tokens=True)
    assert encoder.encode([cut + " word" * 9])[0] @ vectors[1] > 1 - 1e-5  # the end counts for nothing
    assert capfd.readouterr().err == ""


def test_prompts_stand_before_the_text(qwen, tmp_path):
    prompts = {"query": "Instruct: find the passage\nQuery: ", "summary": "Gist: "}
    encoder = LastTokenEncoder(*qwen, name="tiny", prompts=prompts, store=Cache(tmp_path / "v.sqlite"))
    plain = LastTokenEncoder(*qwen, name="tiny")
    for kind, prompt in {**prompts, "passage": ""}.items():
        assert_alike(encoder.encode(TEXTS, kind), plain.encode([prompt + text for text in TEXTS]))
    assert encoder.counts.computed == len(TEXTS)  # a vector of one kind is not taken for another's


def test_fingerprint_tells_what_changes_a_vector(qwen_dir, qwen):
    encoder = LastTokenEncoder(*qwen, name="tiny")
    again = AutoModelForCausalLM.from_pretrained(qwen_dir)
    same = LastTokenEncoder(again, qwen[1], name="other", batch_tokens=9)
    encoder.encode(TEXTS)
    assert encoder.fingerprint == same.fingerprint
    others = [
        LastTokenEncoder(*qwen, name="tiny", max_tokens=99),
        LastTokenEncoder(*qwen, name="tiny", prompts={"query": "Q: "}),
        LastTokenEncoder(AutoModelForCausalLM.from_pretrained(qwen_dir, dtype=torch.bfloat16), qwen[1], name="tiny"),
    ]
    with torch.no_grad():
        same.model.model.layers[1].mlp.up_proj.weight.mul_(1.01)
    assert len({encoder.fingerprint, same.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_fingerprint_tells_the_modules_behind_the_transformer(tmp_path):
    """Pooling holds no weights, yet it decides every vector: one store must keep the two apart."""
    store, vectors, fingerprints = Cache(tmp_path / "v.sqlite"), {}, set()
    model = SentenceTransformer(str(assets.fetch("minilm")), device="cpu")
    for mode in ("mean", "cls"):
        model[1].pooling_mode = mode
        encoder = SentenceEncoder(model, name="mine", store=store)
        vectors[mode] = encoder.encode(TEXTS)
        fingerprints.add(encoder.fingerprint)
        assert encoder.counts.computed == len(TEXTS)
    assert ((vectors["mean"] * vectors["cls"]).sum(1) < 0.99).any()
    model.set_pooling_include_prompt(False)
    fingerprints.add(encoder.fingerprint)
    model.truncate_dim = 64
    fingerprints.add(SentenceEncoder(model, name="mine").fingerprint)
    del model[2]  # Normalize
    fingerprints.add(SentenceEncoder(model, name="mine").fingerprint)
    assert len(fingerprints) == 5


def test_fingerprint_notices_training():
    """Of what is no parameter, too, and where the tensors' version counters stay: at a fused step, which transformers' Trainer
    takes by default."""
    layer = torch.nn.BatchNorm1d(64)
    fingerprints = [weights.fingerprint(layer, PretrainedConfig()) for _ in range(2)]
    layer(torch.randn(8, 64))  # moves its averages
    fingerprints.append(weights.fingerprint(layer, PretrainedConfig()))
    layer.weight.grad = torch.ones_like(layer.weight)
    torch.optim.AdamW([layer.weight], weight_decay=0, fused=True).step()
    fingerprints.append(weights.fingerprint(layer, PretrainedConfig()))
    assert fingerprints[0] == fingerprints[1] and len(set(fingerprints)) == 3


@settings(max_examples=100)
@given(
    st.sampled_from([torch.float32, torch.bfloat16, torch.float16, torch.float64]),
    st.lists(st.integers(1, 40), max_size=2),
    st.integers(0, 3),
    st.data(),
)
def test_fingerprint_notices_any_one_number(dtype, shape, offset, data):
    """Whatever the size and wherever the tensor begins in its memory: the smallest step of one number."""
    module = torch.nn.Module()
    n = int(np.prod(shape))
    module.weight = torch.nn.Parameter(torch.ones(offset + n, dtype=dtype)[offset:].view(shape))
    before = weights.fingerprint(module, PretrainedConfig())
    number = module.weight.data.view(-1)[data.draw(st.integers(0, n - 1))]
    number += torch.finfo(dtype).eps
    assert before != weights.fingerprint(module, PretrainedConfig())


def test_fingerprint_does_not_depend_on_layout():
    """A transposed tensor with the same numbers is the same weight."""
    layer, other = torch.nn.Linear(3, 5, bias=False), torch.nn.Linear(3, 5, bias=False)
    other.weight.data = layer.weight.data.t().contiguous().t()
    assert weights.fingerprint(layer, PretrainedConfig()) == weights.fingerprint(other, PretrainedConfig())


def test_a_run_that_was_stopped_keeps_its_finished_batches(qwen, tmp_path, monkeypatch):
    """It stops inside its third batch."""
    store, begun = Cache(tmp_path / "vectors.sqlite"), count(1)
    encoder = LastTokenEncoder(*qwen, name="tiny", batch_tokens=1, store=store)
    real = encoder._vectors

    def stopping(*args):
        if next(begun) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(encoder, "_vectors", stopping)
    with pytest.raises(KeyboardInterrupt):
        encoder.encode(TEXTS)
    assert len(store) == 2
    vectors = encoder.encode(TEXTS)
    assert encoder.counts.computed == len(TEXTS) - 2 and len(store) == len(TEXTS)
    assert_alike(vectors, one_by_one(*qwen, TEXTS))


def test_a_folder_with_modules_is_a_sentence_encoder(qwen_dir, capfd):
    encoder = encoders.load(f"hf:{assets.fetch('minilm')}", cache=False)
    assert isinstance(encoder, SentenceEncoder) and encoder.dim == 384
    assert isinstance(encoders.load(f"hf:{qwen_dir}", cache=False), LastTokenEncoder)
    assert capfd.readouterr().err == ""


BEGUN = ["minilm:", "embedded:", "smollm2: ", "hf", ":minilm"]  # like an encoder, and no more


@pytest.mark.parametrize("name", ["", "bert", "hf:", "hf: ", "openai:text-embedding-3-small", None, *BEGUN])
def test_unknown_names(name):
    refused(lambda: encoders.load(name), 'expected "embedded", "minilm", "smollm2" or "hf:NAME_OR_FOLDER"')


def test_no_texts_and_bad_input(minilm, qwen, tmp_path):
    assert minilm.encode([]).shape == (0, 384) and minilm.counts == Counts(0, 0, 0, 0)
    refused(lambda: minilm.encode("one text"), "expected a list")
    refused(lambda: minilm.encode(["fine", ""]), "text 1 is empty")
    refused(lambda: minilm.encode(["fine", " \n"]), "text 1 is empty")
    refused(lambda: minilm.encode(["fine", None]), "text 1 is a NoneType")
    refused(lambda: minilm.encode(["fine"], "question"), "kind='question': expected one of passage, query")
    refused(lambda: encoders.load(f"hf:{tmp_path}"), r"encoder='hf:.*cannot be loaded")
    refused(lambda: encoders.load("minilm", dtype="float8"), "dtype='float8'")
    refused(lambda: LastTokenEncoder(*qwen, name="tiny", batch_tokens=0), "batch_tokens=0")
