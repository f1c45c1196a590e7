"""Chance that falls the same way on every platform and in every version of Python.

Only `random.Random(seed).random()` is used, which Python promises not to change; `choice`, `sample` and `shuffle` carry
no such promise. The seed comes from the SHA-256 of a key, so that streams with different keys are independent.
"""

import hashlib
import random
from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A stream of chance with a name.

    >>> chance = Chance("book", 7)
    >>> chance.below(100), chance.pick("abc"), chance.some(range(10), 3)
    (0, 'c', [8, 2, 3])
    """

    def __init__(self, *key: Hashable):
        digest = hashlib.sha256(repr(key).encode()).digest()
        self._random = random.Random(int.from_bytes(digest)).random
        self._decks: dict[Hashable, list] = {}

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def hit(self, probability: float) -> bool:
        return self._random() < probability

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], n: int) -> list[T]:
        """`n` different items in the order in which they were drawn; all of them, shuffled, where there are fewer."""
        pool = list(items)
        n = min(n, len(pool))
        for i in range(n):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:n]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.some(items, len(items))

    def deal(self, name: Hashable, items: Sequence[T]) -> T:
        """The next card of the deck `name`, shuffled anew when it is used up: nothing comes again too soon."""
        deck = self._decks.get(name)
        if not deck:
            deck = self._decks[name] = self.shuffled(items)
        return deck.pop()
