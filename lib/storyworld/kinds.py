"""The kinds of events and what each is made of, without words.

Slots: a who does it, b the other person, o a thing, p a place, q a second place, n a number, x a word of the kind's list.
kinds.toml has the slots of each kind, who holds a thing before and after, and what an event is from {b}'s side.
"""

import tomllib
from pathlib import Path

_SAID = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SLOTS, HOLDERS, FROM_B = _SAID["slots"], _SAID["holders"], _SAID["from_b"]
PASSES = ("gift", "lend", "sell")  # by which a thing goes from {a} to {b}, in chains
FOR_GOOD = ("gift", "sell")  # those after which it is not to come back
DEBTS = ("borrow", "forgive")  # between the victim and another they would be a clue by accident
ELSEWHERE = ("dream", "ill", "nurse", "travel")  # told in a place where it did not happen
CRIMES = ("murder_blow", "murder_poison", "theft", "arson")
DEADLY = ("murder_blow", "murder_poison")
THAT_NIGHT = ("clay", "boat")  # what ties a person to these happened in the night of the crime
CLUES = ("hand", "clay", "key", "dog", "wool", "cloves", "debt", "paper", "boat", "limp")
EVERYDAY = tuple(SLOTS)
