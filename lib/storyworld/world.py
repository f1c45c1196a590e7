"""The world before the text: people, places, things, and the log of everything that happens, without a word of prose.

What a world holds are numbers and keys; `voice` gives them names in a language, `telling` makes a book of them. The
order of the scenes here is the order of time. `novelist` imagines a world.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from mindscape.errors import require

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
class Place:
    id: int
    key: str
    qualifier: int


@dataclass(frozen=True)
class Thing:
    id: int
    key: str
    adjective: int


@dataclass(frozen=True)
class Event:
    """A line of the log. `slots`: person, thing and place ids, numbers, word indices; see `kinds`.

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
    places: tuple[Place, ...]
    things: tuple[Thing, ...]
    women: tuple[int, ...]
    men: tuple[int, ...]
    trades: tuple[str, ...]
    guises: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class World:
    seed: int
    knobs: Knobs
    book: int  # which of a series
    town: int
    people: tuple[Person, ...]
    places: tuple[Place, ...]
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
