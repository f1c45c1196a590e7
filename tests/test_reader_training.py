"""Training of the reader: labels, loss, batches, and a run that was killed and goes on."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, LlamaConfig

from mindscape.errors import InputError
from mindscape.reader import Settings, batches, train, training
from mindscape.reader.batches import IGNORED, Encoded, collate, encode, plan
from mindscape.roles import Example

EXAMPLES = [Example("qa", f"Who has lamp {i}?", name, "book") for i, name in enumerate(["Ann", "Tom", "Eve"] * 6)]
EXAMPLES += [Example("claim", f"Is {i} a lamp? " * (1 + i % 5), "TRUE, since it burns", "book") for i in range(12)]


@pytest.fixture(scope="module")
def base(tmp_path_factory, tokenizer):
    """A tiny random Llama, which is what SmolLM2 is."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(**sizes, num_key_value_heads=2, vocab_size=len(tokenizer), initializer_range=0.3)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("base")
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_only_the_reply_is_learned(tokenizer):
    one = encode(EXAMPLES[0], tokenizer)
    batch = collate([one, encode(EXAMPLES[-1], tokenizer)], pad=tokenizer.eos_token_id)
    learned = batch["labels"][0] != IGNORED
    assert tokenizer.decode(batch["input_ids"][0][learned]) == "Ann<|im_end|>"
    asked = tokenizer.decode(one.ids[: -one.reply])
    assert asked.endswith("Who has lamp 0?<|im_end|>\n<|im_start|>assistant\n")


def test_loss_is_the_model_s_own(base, tokenizer):
    """Against transformers' loss on one row at a time, where no padding is."""
    model = AutoModelForCausalLM.from_pretrained(base).eval()
    encoded = [encode(example, tokenizer) for example in (EXAMPLES[0], EXAMPLES[-1], EXAMPLES[5])]
    total, counts = training.reply_loss(model, collate(encoded, pad=tokenizer.eos_token_id))
    for one, loss, n in zip(encoded, total, counts, strict=True):
        alone = model(**collate([one], pad=0))
        torch.testing.assert_close(loss / n, alone.loss, rtol=1e-5, atol=1e-5)


lengths = st.lists(st.integers(2, 300), min_size=1, max_size=200)


@settings(max_examples=40)
@given(lengths, st.integers(1, 2000), st.integers(0, 3), st.integers(0, 3))
def test_every_example_is_in_one_batch(lengths, tokens, seed, epoch):
    examples = [Encoded("qa", (0,) * n, 1) for n in lengths]
    found = plan(examples, tokens, seed, epoch)
    assert sorted(i for batch in found for i in batch) == list(range(len(examples)))
    for batch in found:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= tokens
    assert found == plan(examples, tokens, seed, epoch)


SHORT = Settings(steps=8, tokens=400, rank=2, warmup=2, learning_rate=5e-3, minutes=1e-9, dtype="float32")


def weights(folder):
    return load_file(folder / "adapter_model.safetensors")


def log(out):
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def test_a_killed_run_ends_with_the_same_adapter(base, tmp_path, monkeypatch):
    whole = train(EXAMPLES, tmp_path / "whole", base, SHORT)

    def killed(*args, rest=[5]):  # noqa: B006 a counter of steps
        rest[0] -= 1
        if not rest[0]:
            raise KeyboardInterrupt
        return real(*args)

    real = training.reply_loss
    monkeypatch.setattr(training, "reply_loss", killed)
    with pytest.raises(KeyboardInterrupt):
        train(EXAMPLES, tmp_path / "killed", base, SHORT)
    monkeypatch.setattr(training, "reply_loss", real)
    (tmp_path / "killed" / "log.jsonl").open("a").write('{"step": 99, "lo')  # the line that was being written
    again = train(EXAMPLES, tmp_path / "killed", base, SHORT)
    assert all(torch.equal(a, weights(again)[name]) for name, a in weights(whole).items())
    for a, b in zip(log(tmp_path / "whole"), log(tmp_path / "killed"), strict=True):
        assert (a["step"], a["loss"], a["roles"]) == (b["step"], b["loss"], b["roles"])


def test_it_learns(base, tmp_path):
    steps = Settings(steps=60, tokens=600, rank=8, warmup=5, learning_rate=1e-2, dtype="float32")
    adapter = train(EXAMPLES, tmp_path, base, steps)
    lines = log(tmp_path)
    assert sum(line["loss"] for line in lines[-5:]) < 0.7 * sum(line["loss"] for line in lines[:5])
    assert {role for line in lines for role in line["roles"]} == {"qa", "claim"}
    assert all(w.dtype == torch.bfloat16 for w in weights(adapter).values())


def test_another_run_in_the_same_folder_is_refused(base, tmp_path):
    train(EXAMPLES[:3], tmp_path, base, SHORT)
    with pytest.raises(InputError, match="holds a run with other examples, settings or base"):
        train(EXAMPLES[:4], tmp_path, base, SHORT)


@pytest.mark.parametrize("name, value", [("steps", 0), ("dtype", "fp8"), ("learning_rate", -1), ("minutes", 0)])
def test_settings_that_cannot_be(name, value):
    with pytest.raises(InputError, match=f"{name}={value!r}"):
        Settings(**{name: value})


def test_examples_that_cannot_be(base, tmp_path, tokenizer):
    with pytest.raises(InputError, match="no examples"):
        train([], tmp_path, base)
    with pytest.raises(InputError, match="role 'qa' from 'book' has an empty reply"):
        batches.encode(Example("qa", "Who?", "", "book"), tokenizer)
