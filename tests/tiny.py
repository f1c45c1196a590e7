"""Random models of a real architecture, a few kilobytes each, and what training them left."""

import json

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,  # so large that attention is far from uniform
}


def tiny(kind, words, auto=AutoModelForCausalLM, **sizes):
    """A model with so many words in its vocabulary: `kind` is the class of its configuration."""
    torch.manual_seed(0)
    return auto.from_config(kind(**{**SIZES, "vocab_size": words, **sizes}), dtype=torch.float32).eval()


def eager_weights(model, ids, **inputs):
    """The slow way: all attention weights of a causal model or a decoder, (layers, texts, heads, n, n)."""
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return torch.stack(model(torch.as_tensor(ids), output_attentions=True, **inputs).attentions)
    finally:
        model.set_attn_implementation("sdpa")


def saved(kind, tokenizer, folder, **sizes):
    """The folder, now with such a model and its tokenizer in it."""
    tiny(kind, len(tokenizer), **sizes).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def weights(folder):
    """An adapter's tensors by name."""
    return load_file(folder / "adapter_model.safetensors")


def log(out):
    """What a run wrote at each step."""
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
