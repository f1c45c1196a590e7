"""Training: labels, loss, batches, a run that was killed and goes on, several processes."""

import copy
import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import pytest
import torch
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from peft.tuners.tuners_utils import BaseTunerLayer
from tiny import log, weights
from transformers import AutoModelForCausalLM, DynamicCache

from mindscape import training
from mindscape.roles import Example
from mindscape.training import IGNORED, Encoded, Settings, collate, encode, plan, recipes, train

ROOT = Path(__file__).parents[1]
EXAMPLES = [Example("qa", f"Who has lamp {i}?", name, "book") for i, name in enumerate(["Ann", "Tom", "Eve"] * 6)]
EXAMPLES += [Example("claim", f"Is {i} a lamp? " * (1 + i % 5), "TRUE, since it burns", "book") for i in range(12)]


def test_only_the_reply_is_learned(tokenizer):
    encoded = encode(EXAMPLES[0], tokenizer)
    batch = collate([encoded, encode(EXAMPLES[-1], tokenizer)], pad=tokenizer.eos_token_id)
    learned = batch["labels"][0] != IGNORED
    assert tokenizer.decode(batch["input_ids"][0][learned]) == "Ann<|im_end|>"
    shown = tokenizer.decode(encoded.ids[: -encoded.reply])
    assert shown.endswith("Who has lamp 0?<|im_end|>\n<|im_start|>assistant\n")


def test_a_reply_ends_as_the_template_ends_it(tokenizer):
    """Whatever `eos_token` is: an adapter that learned another token for an end wrote its replies and never stopped."""
    other = copy.deepcopy(tokenizer)
    other.eos_token = "<|im_start|>"
    assert other.eos_token_id != tokenizer.eos_token_id and encode(EXAMPLES[0], other) == encode(EXAMPLES[0], tokenizer)
    assert tokenizer.decode(encode(EXAMPLES[0], other).ids[-1:]) == "<|im_end|>"
    other.chat_template = "{% for turn in messages %}{{ turn.content }}{% endfor %}"
    refused(lambda: encode(EXAMPLES[0], other), "ends a reply with nothing")


def test_no_keys_and_values_are_kept(base, tokenizer, monkeypatch):
    """A cache costs memory, and compiled layers come to a limit where each is made for its place in it."""
    model = AutoModelForCausalLM.from_pretrained(base).train()
    monkeypatch.setattr(DynamicCache, "update", lambda *_: pytest.fail("a cache was written to"))
    training.reply_loss(model, collate([encode(EXAMPLES[0], tokenizer)], pad=tokenizer.eos_token_id))


def test_loss_is_the_model_s_own(base, tokenizer):
    """Against transformers' loss on one row at a time, where no padding is."""
    model = AutoModelForCausalLM.from_pretrained(base).eval()
    encoded = [encode(example, tokenizer) for example in (EXAMPLES[0], EXAMPLES[-1], EXAMPLES[5])]
    total, counts = training.reply_loss(model, collate(encoded, pad=tokenizer.eos_token_id))
    for row, loss, n in zip(encoded, total, counts, strict=True):
        alone = model(**collate([row], pad=0))
        torch.testing.assert_close(loss / n, alone.loss, rtol=1e-5, atol=1e-5)


lengths = st.lists(st.integers(2, 300), min_size=1, max_size=200)


@settings(max_examples=40)
@given(lengths, st.integers(1, 2000), st.integers(0, 3), st.integers(0, 3))
def test_every_example_is_in_one_batch(lengths, tokens, seed, epoch):
    examples = [Encoded("qa", (0,) * n, 1) for n in lengths]
    batches = plan(examples, tokens, seed, epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(len(examples)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= tokens
    assert batches == plan(examples, tokens, seed, epoch)


SHORT = Settings(steps=8, tokens=400, rank=2, warmup=2, learning_rate=5e-3, minutes=1e-9, dtype="float32")


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory):
    """The folder of a run that nothing disturbed."""
    return train(EXAMPLES, tmp_path_factory.mktemp("whole"), base, SHORT).parent


def log_of(out):
    return [(line["step"], line["loss"], line["roles"], line["tokens"]) for line in log(out)]


def assert_same(out, other):
    """Adapters and logs."""
    ours, theirs = weights(out / "adapter"), weights(other / "adapter")
    assert all(torch.equal(matrix, theirs[name]) for name, matrix in ours.items()) and log_of(out) == log_of(other)


def assert_close(out, other, **tolerance):
    two = weights(other / "adapter")
    for name, matrix in weights(out / "adapter").items():
        torch.testing.assert_close(matrix, two[name], **tolerance)


def test_a_killed_run_ends_with_the_same_adapter(base, tmp_path, monkeypatch, whole):
    """Killed two steps after a checkpoint, in the middle of a line of the log."""
    save, killed = training._save, Mock(wraps=training.reply_loss, side_effect=[*[DEFAULT] * 5, KeyboardInterrupt])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(training, "_save", lambda out, run, step, *rest: step % 3 or save(out, run, step, *rest))
        patch.setattr(training, "reply_loss", killed)
        train(EXAMPLES, tmp_path, base, SHORT)
    assert [line["step"] for line in log(tmp_path)] == [0, 1, 2, 3, 4]
    (tmp_path / "log.jsonl").open("a").write('{"step": 99, "lo')
    train(EXAMPLES, tmp_path, base, SHORT)
    assert_same(whole, tmp_path)
    assert {role for line in log(whole) for role in line["roles"]} == {"qa", "claim"}


def test_a_run_that_stops_early_goes_on_also_after_a_kill_while_a_checkpoint_is_put_in_its_place(
    base, tmp_path, monkeypatch, whole
):
    """As far as the whole run, at the same rates; from the checkpoint that is left; and then to its end."""
    train(EXAMPLES, tmp_path, base, replace(SHORT, until=3))
    assert log_of(tmp_path) == log_of(whole)[:3]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", Mock(side_effect=KeyboardInterrupt))
        train(EXAMPLES, tmp_path, base, SHORT)
    assert [line["step"] for line in log(tmp_path)] == [0, 1, 2, 3]
    train(EXAMPLES, tmp_path, base, SHORT)
    assert_same(whole, tmp_path)


def test_checkpointing_of_gradients_changes_no_gradient(base, tmp_path, whole):
    spared = train(EXAMPLES, tmp_path, base, replace(SHORT, checkpointing=True))
    assert_close(whole, tmp_path, rtol=1e-2, atol=1e-3)
    assert any(a.abs().sum() > 0 for name, a in weights(spared).items() if "lora_B" in name)


@pytest.mark.skipif(recipes.compiler() is None, reason="torch.compile takes a C++ compiler and Python's headers")
def test_compiled_layers_learn_the_same(base, tmp_path, whole):
    train(EXAMPLES, tmp_path, base, replace(SHORT, compile=True))
    losses = [[line["loss"] for line in log(out)] for out in (whole, tmp_path)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert_close(whole, tmp_path, rtol=0.05, atol=5e-3)


def gradients(model, rows):
    model.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=model.dtype == torch.bfloat16):
        total, _ = training.reply_loss(model, rows)
    total.sum().backward()
    return {name: matrix.grad.clone() for name, matrix in model.named_parameters() if matrix.grad is not None}


def test_inputs_that_are_not_cast_change_no_gradient(base, tokenizer):
    rows = collate([encode(example, tokenizer) for example in EXAMPLES[-4:]], pad=tokenizer.eos_token_id)
    model = training.with_lora(AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16), Settings(rank=4))
    for name, matrix in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(matrix, generator=torch.Generator().manual_seed(0))
    ours = gradients(model, rows)
    for module in model.modules():
        if isinstance(module, BaseTunerLayer):
            module.cast_input_dtype_enabled = True
    theirs = gradients(model, rows)
    assert ours and all(torch.equal(matrix, theirs[name]) for name, matrix in ours.items())


def test_both_kinds_of_attention_learn_the_same(base, tokenizer):
    rows = collate([encode(example, tokenizer) for example in EXAMPLES[-4:]], pad=tokenizer.eos_token_id)
    bare = AutoModelForCausalLM.from_pretrained(base)
    model, by_kind = training.with_lora(bare, Settings(rank=4, dtype="float32")), {}
    for tokens, kind in ((training.SHORT, "eager"), (training.SHORT + 1, "sdpa")):
        training.attend(bare, tokens)
        assert bare.config._attn_implementation == kind
        by_kind[kind] = gradients(model, rows)
    for name, gradient in by_kind["eager"].items():
        torch.testing.assert_close(gradient, by_kind["sdpa"][name], rtol=1e-3, atol=1e-4)


BOTH = """
import sys
sys.path.insert(0, {tests!r})
from test_training import EXAMPLES, SHORT
from mindscape.training import train
train(EXAMPLES, {out!r}, {base!r}, SHORT)
"""


def test_two_processes_learn_what_one_does(base, tmp_path, whole):
    """Each takes every other row of a batch; the log tells the whole batch."""
    (tmp_path / "both.py").write_text(BOTH.format(tests=str(ROOT / "tests"), out=str(tmp_path), base=str(base)))
    launch = f"{sys.executable} -m accelerate.commands.launch --cpu --num_processes 2 --num_machines 1"
    launch += f" --mixed_precision no --dynamo_backend no {tmp_path / 'both.py'}"
    done = subprocess.run(shlex.split(launch), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert_close(whole, tmp_path, rtol=2e-2, atol=2e-3)
    for a, b in zip(log(whole), log(tmp_path), strict=True):
        assert (a["step"], a["tokens"]) == (b["step"], b["tokens"])
        assert a["loss"] == pytest.approx(b["loss"], abs=2e-3)


def test_what_is_shipped_names_no_folder_of_this_machine(base, tmp_path):
    adapter = train(EXAMPLES[:3], tmp_path, base, SHORT)
    assert {path.name for path in adapter.iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}
    assert json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"] == base.name
    assert all(matrix.dtype == torch.bfloat16 for matrix in weights(adapter).values())


def test_a_run_learns_and_another_begins_with_its_adapter(base, tmp_path):
    first = train(EXAMPLES[:3], tmp_path / "first", base, replace(SHORT, steps=40))
    on = train(EXAMPLES[:3], tmp_path / "on", base, replace(SHORT, steps=1), start=first)
    afresh = train(EXAMPLES[:3], tmp_path / "afresh", base, replace(SHORT, steps=1))
    went, began = log(tmp_path / "first"), log(tmp_path / "on")[0]
    assert began["loss"] < 0.7 * went[0]["loss"] == 0.7 * log(tmp_path / "afresh")[0]["loss"]
    assert began["loss"] == pytest.approx(went[-1]["loss"], rel=0.2)
    assert any(not torch.equal(a, weights(first)[name]) for name, a in weights(on).items())
    assert not torch.equal(*(next(iter(weights(adapter).values())) for adapter in (on, afresh)))
    again, other = partial(train, EXAMPLES[:3]), tmp_path / "other"
    said = "with other data, settings, base or start"
    refused(partial(again, tmp_path / "on", base, replace(SHORT, steps=1)), said)
    said = "has rank 2 and alpha 32: expected 4 and 32"
    refused(partial(again, other, base, replace(SHORT, rank=4), start=first), said)
    refused(partial(again, other, base, SHORT, start=tmp_path), "expected a folder with adapter_model")


def test_another_run_in_the_same_folder_is_refused(base, tmp_path):
    train(EXAMPLES[:3], tmp_path, base, SHORT)
    for examples, other in ((EXAMPLES[:4], SHORT), (EXAMPLES[:3], replace(SHORT, seed=1))):
        refused(partial(train, examples, tmp_path, base, other), "holds a run with other data, settings, base or start")
    train(EXAMPLES[:3], tmp_path, base, replace(SHORT, minutes=7))  # how often it is saved is no other run


@pytest.mark.parametrize(
    "name, value", [("steps", 0), ("dtype", "fp8"), ("dtype", "float16"), ("clip", -1), ("minutes", 0), ("until", 1001)]
)
def test_settings_that_cannot_be(name, value):
    refused(lambda: Settings(**{name: value}), f"{name}=.?{value}")


def test_examples_that_cannot_be(base, tmp_path, tokenizer):
    refused(lambda: train([], tmp_path, base), "no examples")
    refused(lambda: encode(Example("qa", "Who?", "", "book"), tokenizer), "role 'qa' from 'book' has an empty reply")
