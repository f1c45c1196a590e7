"""Adapters cut to their first layers: they fit the model of as many layers, and are what they were."""

import sys

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, LlamaConfig

from mindscape.errors import InputError
from mindscape.mia import gen_sizes
from mindscape.mia.gen_sizes import CONFIG, WEIGHTS, first_layers
from mindscape.mia.gen_training import shallow
from mindscape.training import Settings
from mindscape.training.loop import with_lora
from mindscape.weights import merged


@pytest.fixture(scope="module")
def base(tmp_path_factory, tokenizer):
    """A tiny random model of three layers."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4}
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("sizes") / "base"
    AutoModelForCausalLM.from_config(LlamaConfig(**sizes, vocab_size=len(tokenizer))).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def adapter(base):
    """An adapter of it in which no number is zero."""
    model = with_lora(AutoModelForCausalLM.from_pretrained(base), Settings(rank=2, alpha=4, dtype="float32"))
    with torch.no_grad():
        for weights in model.parameters():
            if weights.requires_grad:
                weights.normal_()
    model.save_pretrained(base.parent / "adapter", save_embedding_layers=False)
    return base.parent / "adapter"


def test_the_first_layers_fit_the_shallow_model(base, adapter, tmp_path):
    folder = first_layers(adapter, 2, tmp_path / "two")
    assert sorted(it.name for it in folder.iterdir()) == [CONFIG, WEIGHTS]
    assert (folder / CONFIG).read_bytes() == (adapter / CONFIG).read_bytes()
    whole, cut = (load_file(it / WEIGHTS) for it in (adapter, folder))
    assert set(cut) == {name for name in whole if ".layers.2." not in name} and 0 < len(cut) < len(whole)
    assert all(torch.equal(weights, whole[name]) for name, weights in cut.items())
    theirs = merged(AutoModelForCausalLM.from_pretrained(base), adapter).state_dict()
    ours = merged(AutoModelForCausalLM.from_pretrained(shallow(base, 2, tmp_path / "base")), folder).state_dict()
    assert all(torch.equal(weights, theirs[name]) for name, weights in ours.items())  # and so each layer's states


def test_training_begins_with_it(base, adapter, tmp_path):
    folder = first_layers(adapter, 1, tmp_path / "one")
    model = AutoModelForCausalLM.from_pretrained(shallow(base, 1, tmp_path / "base"))
    tuned = with_lora(model, Settings(rank=2, alpha=4, dtype="float32"), folder)
    learned = [weights for weights in tuned.parameters() if weights.requires_grad]
    assert len(learned) == len(load_file(folder / WEIGHTS))


def test_what_cannot_be_cut(adapter, tmp_path):
    for layers in (0, 4):
        with pytest.raises(InputError, match=f"layers={layers}: .* has 3; expected 1 to so many"):
            first_layers(adapter, layers, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(InputError, match="expected a folder with adapter_model.safetensors"):
        first_layers(tmp_path, 1, tmp_path / "none")
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="is there already"):
        first_layers(adapter, 1, tmp_path / "there")
    with pytest.raises(InputError, match="belongs to no layer"):
        gen_sizes._layer("base_model.model.model.embed_tokens.lora_A")


def test_the_command(adapter, tmp_path, monkeypatch, capsys):
    out = tmp_path / "one"
    monkeypatch.setattr(sys, "argv", ["sizes", "--adapter", str(adapter), "--layers", "1", "--out", str(out)])
    gen_sizes.main()
    assert capsys.readouterr().out.strip() == str(out) and (out / WEIGHTS).is_file()
    with pytest.raises(SystemExit, match="error: .* is there already"):
        gen_sizes.main()
