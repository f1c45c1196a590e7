"""Which novels of the storyworld are for what: to train on, to develop with, to test with.

Taught in notebook 00_start_here.
"""

from typing import Any

import storyworld
from mindscape.errors import require
from storyworld import Book
from storyworld.chance import Chance

TOKENS = 15_000  # a book's length: short ones, and more of them
HARD = {"hiding": 1.0, "sharing": 1.0, "contradiction": 1.0}
# Books to evaluate on: seeds and knobs; those of "hard" belong to no other split.
SPLITS: dict[str, tuple[range, dict[str, Any]]] = {
    "develop": (storyworld.DEVELOP[:10], {}),
    "test": (storyworld.TEST[10:20], {}),  # the first ten were looked at before the last training run
    "hard": (range(5000, 5005), HARD),
}


def books(split: str) -> list[Book]:
    """The books of a split. Raises InputError for one that there is not."""
    require(split in SPLITS, f"split={split!r}: expected {', '.join(SPLITS)}")
    seeds, knobs = SPLITS[split]
    return [storyworld.book(seed, TOKENS, **knobs) for seed in seeds]


def training_book(seed: int, language: str = "en") -> Book:
    """The book of a training seed as the mixture has it: knobs are drawn anew for each, so that the reader meets easy and
    hard ones. Raises InputError for a seed that is not for training.

    >>> training_book(2000)
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: seed 2000 is not for training: expected 0 to 999
    """
    require(seed in storyworld.TRAIN, f"seed {seed} is not for training: expected 0 to {storyworld.TRAIN[-1]}")
    chance = Chance("mixture", seed)
    knobs = {name: chance.below(11) / 10 for name in ("hiding", "sharing", "contradiction")}
    return storyworld.book(seed, TOKENS, **knobs, language=language)
