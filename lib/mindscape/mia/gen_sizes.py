"""An adapter for a smaller generator: the first layers of one that was trained for the whole model (MiA-RAG, Figure 3).

    python -m mindscape.mia.gen_sizes --adapter data/adapters/reader --layers 10 --out build/reader_10

What comes out fits the model of `gen_training.shallow` with as many layers, so that generators of several depths begin their
training alike: `python -m mindscape.mia.gen_training --layers 10 --start build/reader_10 --out build/layers_10`. By itself it
answers nothing: the layers that turned its states into words are gone. Taught in notebook 14_mia_gen.
"""

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

from mindscape.errors import InputError, MindscapeError

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


def first_layers(adapter: str | Path, layers: int, folder: str | Path) -> Path:
    """The matrices of an adapter that belong to the first `layers` layers, saved as an adapter in a folder of its own.

    Numbers and their precision stay as they are. Raises InputError where `adapter` holds no adapter, for fewer than one layer
    or more than it has, and where the folder is there already.

    >>> first_layers("data/adapters/reader", 10, "build/reader_10")                      # doctest: +SKIP
    PosixPath('build/reader_10')
    """
    adapter, folder = Path(adapter), Path(folder)
    if missing := [name for name in (WEIGHTS, CONFIG) if not (adapter / name).is_file()]:
        raise InputError(f"adapter={str(adapter)!r}: expected a folder with {missing[0]}")
    if folder.exists():
        raise InputError(f"{folder} is there already: remove it, or name another folder")
    learned = load_file(adapter / WEIGHTS)
    has = 1 + max((_layer(name) for name in learned), default=-1)
    if not 1 <= layers <= has:
        raise InputError(f"layers={layers}: {adapter} has {has}; expected 1 to so many")
    scratch = folder.with_name(folder.name + ".new")
    shutil.rmtree(scratch, ignore_errors=True)  # what a kill left
    scratch.mkdir(parents=True)
    kept = {name: weights for name, weights in learned.items() if _layer(name) < layers}
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
    if not found:
        raise InputError(f"{name} belongs to no layer: expected an adapter of a model's layers alone")
    return int(found[1])


def main() -> None:
    """Cut an adapter to its first layers."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mia.gen_sizes", description=main.__doc__)
    told.add_argument("--adapter", required=True, help="folder of the adapter")
    told.add_argument("--layers", type=int, required=True, help="how many of its first layers")
    told.add_argument("--out", required=True, help="the folder to write")
    given = told.parse_args()
    try:
        print(first_layers(given.adapter, given.layers, given.out))
    except MindscapeError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
