"""Adapters: added to a model's weights, refused where they do not fit."""

import json
import shutil
from functools import partial

import pytest
import torch
from extras import refused
from peft import LoraConfig, get_peft_model
from tiny import saved
from transformers import AutoModelForCausalLM, LlamaConfig

from mindscape import llm
from mindscape.errors import LLMError
from mindscape.llm import local
from mindscape.training.recipes import CONFIG, WEIGHTS
from mindscape.weights import merged_model, placed


@pytest.fixture(scope="module")
def adapter(tmp_path_factory, base):
    """An adapter that changes what the model says, and the model with it, as peft runs it."""
    folder = tmp_path_factory.mktemp("adapter")
    lora = LoraConfig(r=2, target_modules=["q_proj", "up_proj"])
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), lora)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "lora_B" in name:
                weights.normal_(std=0.5)
    model.save_pretrained(folder)
    return folder, model.eval()


def test_merged_is_what_peft_computes(base, adapter):
    folder, beside = adapter
    ids = torch.tensor([[5, 17, 300, 4]])
    with torch.inference_mode():
        plain = AutoModelForCausalLM.from_pretrained(base)
        alone = plain(ids).logits
        added = merged_model(plain, folder)(ids).logits
        torch.testing.assert_close(added, beside(ids).logits, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(added, alone, atol=1e-2)


def test_the_sum_is_rounded_not_the_parts(base, adapter):
    whole = local.pretrained(base, "x", adapter=adapter[0], dtype="float32").model.state_dict()
    half = local.pretrained(base, "x", adapter=adapter[0], dtype="bfloat16").model.state_dict()
    assert set(whole) == set(half)
    assert all(torch.equal(half[name], weights.to(torch.bfloat16)) for name, weights in whole.items())


def test_another_adapter_is_another_model(base, adapter):
    plain, tuned = (llm.load(f"hf:{base}", dtype="float32", **more) for more in ({}, {"adapter": adapter[0]}))
    assert plain.fingerprint != tuned.fingerprint


def test_what_is_no_adapter_of_this_model_is_refused(base, adapter, tokenizer, tmp_path):
    refused(lambda: local.pretrained(base, "x", adapter=tmp_path), "expected a folder with adapter_config.json")
    for i, size in enumerate(({"hidden_size": 64}, {"num_hidden_layers": 3}, {"num_hidden_layers": 1})):
        other = saved(LlamaConfig, tokenizer, tmp_path / f"other{i}", **size)
        refused(partial(local.pretrained, other, "x", adapter=adapter[0]), "does not fit the model")
    for i, (name, content) in enumerate(((CONFIG, b"{}"), (CONFIG, b"[]"), (WEIGHTS, b"\x10" * 20))):
        strange = shutil.copytree(adapter[0], tmp_path / f"strange{i}")
        (strange / name).write_bytes(content)
        refused(partial(local.pretrained, base, "x", adapter=strange), "does not fit the model")


def test_a_quantised_model_whose_library_is_not_here_is_one_line(base, tmp_path):
    folder = shutil.copytree(base, tmp_path / "awq")
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "awq", "bits": 4, "group_size": 32}
    (folder / "config.json").write_text(json.dumps(config))
    refused(lambda: llm.load(f"hf:{folder}").complete("Once", max_new_tokens=1), "cannot load hf:", LLMError)


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_here_is_one_line(device):
    refused(lambda: placed("float32", device), f"device='{device}': expected cpu, or cuda where there is a GPU")
