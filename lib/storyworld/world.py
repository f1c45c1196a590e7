"""The world before the text: people, places, things, and the log of everything that happens, without a word of prose.

What a world holds are numbers and keys; `telling` gives them names in a language and makes a book of them. The order of
the scenes here is the order of time. `novelist` imagines a world. Taught in notebook 00_start_here.

Slots of an event: a who does it, b the other person, o a thing, p a place, q a second place, n a number, x a word of the
kind's list. kinds.toml has the slots of each kind, who holds a thing before and after, and what an event is from {b}'s side.

`Chance` falls the same way on every platform and in every version of Python: only `random.Random(seed).random()` is used,
which Python promises not to change; `choice`, `sample` and `shuffle` carry no such promise. The seed comes from the SHA-256
of a key, so that streams with different keys are independent.
"""

import hashlib
import random
import tomllib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

from mindscape.errors import require

_SAID = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text(encoding="utf-8"))
SLOTS, HOLDERS, FROM_B = _SAID["slots"], _SAID["holders"], _SAID["from_b"]
PASSES = ("gift", "lend", "sell")  # by which a thing goes from {a} to {b}, in chains
FOR_GOOD = ("gift", "sell")  # those after which it is not to come back
ELSEWHERE = ("dream", "ill", "nurse", "travel")  # told in a place where it did not happen
CRIMES = ("murder_blow", "murder_poison", "theft", "arson")
DEADLY = ("murder_blow", "murder_poison")
THAT_NIGHT = ("clay", "boat")  # what ties a person to these happened in the night of the crime
CLUES = ("hand", "clay", "key", "dog", "wool", "cloves", "debt", "paper", "boat", "limp")

T = TypeVar("T")


class Chance:
    """A stream of chance with a name.

    >>> chance = Chance("book", 7)
    >>> chance.below(100), chance.pick("abc"), chance.sample(range(10), 3)
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

    def sample(self, items: Sequence[T], n: int) -> list[T]:
        """`n` different items in the order in which they were drawn; all of them, shuffled, where there are fewer."""
        pool = list(items)
        n = min(n, len(pool))
        for i in range(n):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:n]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.sample(items, len(items))

    def deal(self, name: Hashable, items: Sequence[T]) -> T:
        """The next card of the deck `name`, shuffled anew when it is used up: nothing comes again too soon."""
        deck = self._decks.get(name)
        if not deck:
            deck = self._decks[name] = self.shuffled(items)
        return deck.pop()


TOKENS = (15_000, 150_000)  # the shortest and the longest book


@dataclass(frozen=True)
class Knobs:
    """What makes a book hard, and how long it is.

    `tokens` is the length, in tokens of the embedded model's tokenizer. `hiding` (0 to 1): how far from the scenes that
    need it a trade, a kinship or a disguise is told, and how seldom (five times at 0, once at 1). `sharing` (0 to 1):
    how many people share the same places, things and kinds of events. `contradiction` (0 to 1): how many events are
    told otherwise under oath; two are at 0, since the plot needs them.
    """

    tokens: int = 30_000
    hiding: float = 0.8
    sharing: float = 0.6
    contradiction: float = 0.3

    def __post_init__(self):
        low, high = TOKENS
        whole = isinstance(self.tokens, Integral) and low <= self.tokens <= high
        require(whole, f"tokens={self.tokens!r}: expected a whole number from {low:,} to {high:,}")
        object.__setattr__(self, "tokens", int(self.tokens))
        for name in ("hiding", "sharing", "contradiction"):
            value = getattr(self, name)
            number = isinstance(value, Real) and not isinstance(value, bool)
            require(number and 0 <= value <= 1, f"{name}={value!r}: expected a number from 0 to 1")
            # 1, 1.0 and a numpy 1 give the same book, and -0.0 that of 0.
            object.__setattr__(self, name, float(value) + 0.0)


@dataclass(frozen=True)
class Person:
    id: int
    sex: str  # "f" or "m"
    name: int  # index into the list of names of that sex
    family: int
    trade: str
    habit: int
    look: int
    guise: int | None  # index into the list of guises of that sex


@dataclass(frozen=True)
class Thing:
    """A place or a thing: what it is, by the key of its names, and which of its sort, by an index of adjectives."""

    id: int
    key: str
    adjective: int


@dataclass(frozen=True)
class Event:
    """A line of the log. `slots`: person, thing and place ids, numbers, word indices; see kinds.toml.

    `guised` are the people who go by their guise in the scene, so that no name is said.
    """

    id: int
    kind: str
    slots: Mapping[str, Any]
    scene: int = -1
    guised: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Binding:
    """Who is who: a person's trade, what a person is to the `other`, or the guise that is that person."""

    id: int
    kind: str  # "trade", "kin", "guise"
    person: int
    other: int | None = None
    relation: str | None = None


@dataclass
class Scene:
    """A scene in its place in time; `c` and `d` are the ones who tell and listen, or who fill the talk."""

    id: int
    form: str  # narrated, gossip, letter, testimony, false, journal, inquest, crime, search, gathering, contest
    day: int
    hour: int
    place: int
    c: int
    d: int
    events: list[int] = field(default_factory=list)
    bindings: list[int] = field(default_factory=list)
    guised: frozenset[int] = frozenset()
    fixed: bool = False  # not moved out of its order


@dataclass(frozen=True)
class Crime:
    kind: str
    victim: int
    place: int
    culprit: int
    clues: tuple[str, ...]
    herrings: tuple[int, ...]  # herrings[i] fits every clue but clues[i]


@dataclass(frozen=True)
class Setting:
    """What the books of a series share, and the names that each may give to its own people."""

    town: int
    families: tuple[int, ...]
    places: tuple[Thing, ...]
    things: tuple[Thing, ...]
    given: Mapping[str, tuple[int, ...]]  # names of each sex
    trades: tuple[str, ...]
    guises: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class World:
    seed: int
    knobs: Knobs
    book: int  # which of a series
    town: int
    people: tuple[Person, ...]
    places: tuple[Thing, ...]
    things: tuple[Thing, ...]
    treasure: int  # id of the thing that a thief would take
    heirloom: int
    token: int  # the thing that goes through the journal
    refrain: int
    events: tuple[Event, ...]
    bindings: tuple[Binding, ...]
    scenes: tuple[Scene, ...]
    crime: Crime

    def events_in(self, scene: Scene) -> list[Event]:
        """The events of a scene, in their order."""
        return [self.events[i] for i in scene.events]
