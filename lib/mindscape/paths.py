"""Where things are kept. Nothing here reads or writes a file."""

import os
from pathlib import Path


def root() -> Path:
    """The folder of the checkout: the one that holds `lib`, `notebooks` and `data`."""
    return Path(__file__).resolve().parents[2]


def cache() -> Path:
    """Where fetched assets, replies and vectors are kept: `MINDSCAPE_CACHE`, or `build/cache` in the checkout."""
    return Path(os.environ.get("MINDSCAPE_CACHE") or root() / "build" / "cache").expanduser()


def figures() -> Path:
    """Where the notebooks leave figures and numbers: `MINDSCAPE_FIGURES`, or `figures` in the checkout."""
    return Path(os.environ.get("MINDSCAPE_FIGURES") or root() / "figures").expanduser()


def build_path(*parts: str) -> Path:
    """A path under `build`, which is never tracked: `MINDSCAPE_BUILD`, or `build` in the checkout."""
    return Path(os.environ.get("MINDSCAPE_BUILD") or root() / "build").expanduser().joinpath(*parts)


def data(*parts: str) -> Path:
    """A path under the checkout's `data` folder."""
    return root().joinpath("data", *parts)
