"""Where things are kept. Nothing here reads or writes a file."""

import os
from pathlib import Path


def root() -> Path:
    """The folder of the checkout: the one that holds `lib`, `notebooks` and `data`."""
    return Path(__file__).resolve().parents[2]


def cache() -> Path:
    """Where fetched assets, replies and vectors are kept: `MINDSCAPE_CACHE`, or `build/cache` in the checkout."""
    return _given("MINDSCAPE_CACHE", "build", "cache")


def figures() -> Path:
    """Where the notebooks leave figures and numbers: `MINDSCAPE_FIGURES`, or `figures` in the checkout."""
    return _given("MINDSCAPE_FIGURES", "figures")


def build_path(*parts: str) -> Path:
    """A path under `build`, which is never tracked: `MINDSCAPE_BUILD`, or `build` in the checkout."""
    return _given("MINDSCAPE_BUILD", "build").joinpath(*parts)


def data(*parts: str) -> Path:
    """A path under the checkout's `data` folder."""
    return root().joinpath("data", *parts)


def _given(variable: str, *default: str) -> Path:
    """What a variable of the environment names. A relative path counts from the checkout: processes of one run have different
    working folders."""
    return root() / Path(os.environ.get(variable) or Path(*default)).expanduser()
