"""What an adapter is trained on where that is not the base as it comes: its first layers alone, or another adapter merged in.

`shallow` gives a model's first layers (MiA-RAG, Figure 3), `first_layers` those of an adapter, so that generators of several
depths begin their training alike. By itself such an adapter answers nothing: the layers that turned its states into words
are gone. Taught in notebooks 12_mia_emb_training and 14_mia_gen.
"""

import os
import re
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from mindscape import weights
from mindscape.errors import InputError, require

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


def shallow(base: str | Path, layers: int, folder: str | Path) -> Path:
    """A model of the base's first layers, its last norm and its head, saved in a folder; what is there already is taken.

    The same base gives the same model, so that an adapter trained on it can be shipped alone. Raises InputError for fewer than
    one layer or more than the base has, and for a folder that holds another model.

    >>> shallow(assets.language_model(), 10, "build/smollm2-10")                         # doctest: +SKIP
    PosixPath('build/smollm2-10')
    """
    folder = Path(folder)
    config = AutoConfig.from_pretrained(base)
    if not 1 <= layers <= config.num_hidden_layers:
        raise InputError(f"layers={layers}: {base} has {config.num_hidden_layers}; expected 1 to so many")
    if folder.exists():
        there = AutoConfig.from_pretrained(folder).num_hidden_layers if (folder / "config.json").is_file() else None
        held = f"{folder} holds {there or 'no'} layers of a model"
        require(there == layers, f"{held}: expected {layers}; name another folder")
        return folder
    cut = {"num_hidden_layers": layers}
    if kinds := getattr(config, "layer_types", None):  # Qwen's say of each layer what it is
        cut["layer_types"] = kinds[:layers]
    scratch = _scratch(folder)
    with weights.quiet(warnings=False):
        AutoModelForCausalLM.from_pretrained(base, dtype="auto", **cut).save_pretrained(scratch)
    AutoTokenizer.from_pretrained(base).save_pretrained(scratch)
    os.replace(scratch, folder)
    return folder


def merged_base(base: str | Path, adapter: str | Path, folder: str | Path) -> Path:
    """The base with an adapter added to its weights, saved in a folder; what is there already is taken.

    Raises InputError where the adapter does not fit.

    >>> merged_base(assets.language_model(), "data/adapters/reader", "build/with_reader")     # doctest: +SKIP
    PosixPath('build/with_reader')
    """
    folder = Path(folder)
    if not folder.exists():
        scratch = _scratch(folder)
        with weights.quiet():
            weights.merged_model(AutoModelForCausalLM.from_pretrained(base), adapter).save_pretrained(scratch)
        AutoTokenizer.from_pretrained(base).save_pretrained(scratch)
        os.replace(scratch, folder)
    return folder


def first_layers(adapter: str | Path, layers: int, folder: str | Path) -> Path:
    """The matrices of an adapter that belong to the first `layers` layers, saved as an adapter in a folder of its own.

    Numbers and their precision stay as they are; what is in the folder already is taken. Raises InputError where `adapter`
    holds no adapter, and for fewer than one layer or more than it has.

    >>> first_layers("data/adapters/reader", 10, "build/reader_10")                      # doctest: +SKIP
    PosixPath('build/reader_10')
    """
    adapter, folder = Path(adapter), Path(folder)
    if missing := [name for name in (WEIGHTS, CONFIG) if not (adapter / name).is_file()]:
        raise InputError(f"adapter={str(adapter)!r}: expected a folder with {missing[0]}")
    learned = load_file(adapter / WEIGHTS)
    has = 1 + max((_layer(name) for name in learned), default=-1)
    require(1 <= layers <= has, f"layers={layers}: {adapter} has {has}; expected 1 to so many")
    if not folder.exists():
        scratch = _scratch(folder)
        scratch.mkdir(parents=True)
        kept = {name: matrix for name, matrix in learned.items() if _layer(name) < layers}
        save_file(kept, scratch / WEIGHTS, metadata={"format": "pt"})
        shutil.copyfile(adapter / CONFIG, scratch / CONFIG)
        os.replace(scratch, folder)
    return folder


def _layer(name: str) -> int:
    """The layer that a matrix belongs to, counted from 0.

    >>> _layer("base_model.model.model.layers.7.mlp.up_proj.lora_A.weight")
    7
    """
    found = re.search(r"\.layers\.(\d+)\.", name)
    require(found, f"{name} belongs to no layer: expected an adapter of a model's layers alone")
    return int(found[1])


def _scratch(folder: Path) -> Path:
    """A folder beside it to write into; what a kill left there goes."""
    scratch = folder.with_name(folder.name + ".new")
    shutil.rmtree(scratch, ignore_errors=True)
    return scratch
