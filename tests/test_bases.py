"""Models and adapters cut to their first layers, and a model with an adapter merged in: they are what they were."""

import pytest
import torch
from extras import refused
from safetensors.torch import load_file
from tiny import saved
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen3Config

from mindscape.errors import InputError
from mindscape.training import Settings, recipes, with_lora
from mindscape.training.recipes import CONFIG, WEIGHTS, first_layers, shallow
from mindscape.weights import merged_model


@pytest.fixture(scope="module", params=[LlamaConfig, Qwen3Config], ids=["llama", "qwen3"])
def base(request, tmp_path_factory, tokenizer):
    """A tiny random model of three layers."""
    folder = tmp_path_factory.mktemp("sizes") / "base"
    return saved(request.param, tokenizer, folder, num_hidden_layers=3, max_position_embeddings=4096)


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
    theirs = merged_model(AutoModelForCausalLM.from_pretrained(base), adapter).state_dict()
    ours = merged_model(AutoModelForCausalLM.from_pretrained(shallow(base, 2, tmp_path / "base")), folder).state_dict()
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
    refused(lambda: first_layers(tmp_path, 1, tmp_path / "none"), "expected a folder with adapter_model.safetensors")
    refused(lambda: recipes._layer("base_model.model.model.embed_tokens.lora_A"), "belongs to no layer")


def test_the_first_layers_make_a_smaller_model(base, tmp_path):
    folder = shallow(base, 2, tmp_path / "two")
    whole, cut = (AutoModelForCausalLM.from_pretrained(it) for it in (base, folder))
    assert cut.config.num_hidden_layers == 2
    theirs = dict(whole.named_parameters())
    assert all(torch.equal(weights, theirs[name]) for name, weights in cut.named_parameters())
    stamp = (folder / "config.json").stat().st_mtime_ns
    assert shallow(base, 2, folder) == folder and (folder / "config.json").stat().st_mtime_ns == stamp
    refused(lambda: shallow(base, 1, folder), "holds 2 layers of a model: expected 1")
    for layers in (0, 4):
        with pytest.raises(InputError, match=f"layers={layers}: .* has 3"):
            shallow(base, layers, tmp_path / "none")
    (tmp_path / "other").mkdir()
    refused(lambda: shallow(base, 1, tmp_path / "other"), "holds no layers")


def test_an_adapter_is_merged_once(base, adapter, tmp_path):
    folder = recipes.merged_base(base, adapter, tmp_path / "both")
    theirs = merged_model(AutoModelForCausalLM.from_pretrained(base), adapter).state_dict()
    ours = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    assert all(torch.equal(weights, theirs[name]) for name, weights in ours.items())
    assert recipes.merged_base(base, tmp_path, folder) == folder  # what is there is taken
