"""What a summary keeps of a book, counted against the log: bindings, events, entities.

The rules are simple and the same for every summariser. They look at words, not at meaning: a paraphrase of a name or a
trade counts as lost, and two right words put together by accident count as kept. Taught in notebook
10_hierarchical_summaries.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mindscape.corpora.storyworld import kinds
from mindscape.corpora.storyworld.voice import Voice
from mindscape.corpora.storyworld.world import Event, World
from mindscape.text import sentences

CLAUSE = {"en": r"[.,;:?!()]| and ", "zh": r"[。，、；：？！（）]|和"}
POSSESSIVE = {"en": ("{b}'s {relation}", "{relation} of {b}", "{relation} to {b}"), "zh": ("{b}的{relation}",)}
STEM = 4  # letters of an English word that tell it from others


@dataclass(frozen=True)
class Kept:
    """`right[i]`: the i-th fact of the log is in the summary. `wrong`: how many statements of the sort are not in it."""

    right: tuple[bool, ...]
    wrong: int

    @property
    def recall(self) -> float:
        """Kept facts of all facts."""
        return sum(self.right) / len(self.right) if self.right else float("nan")

    @property
    def precision(self) -> float:
        """Right statements of all statements; not a number where nothing is stated."""
        stated = sum(self.right) + self.wrong
        return sum(self.right) / stated if stated else float("nan")


def bindings(world: World, voice: Voice, summary: str, language: str) -> Kept:
    """Which trades, kinships and guises the summary states, in the order of `world.bindings`.

    A trade or a guise is bound to the nearest name in its clause, or else to the last name before it in its sentence;
    a kinship holds for "Ann's sister" or "sister of Ann" and the name nearest to that.
    """
    stated = set(_stated(world, voice, summary, language))
    gold = {}
    for binding in world.bindings:
        what = {
            "trade": lambda b: voice.bare_trade(b.person),
            "guise": lambda b: voice.guise(b.person),
            "kin": lambda b: (voice.relation(b), b.other),
        }[binding.kind](binding)
        gold[binding.id] = (binding.person, what)
    right = tuple(gold[binding.id] in stated for binding in world.bindings)
    return Kept(right, len(stated - set(gold.values())))


def _stated(world: World, voice: Voice, summary: str, language: str) -> Iterator[tuple[int, object]]:
    names = {voice.name(person.id): person.id for person in world.people}
    things = {voice.bare_trade(person.id) for person in world.people}
    things |= {voice.guise(person.id) for person in world.people if person.guise is not None}
    relations = {word for pair in voice.words.names.KIN.values() for word in pair}
    for span in sentences(summary, language):
        text = summary[span.start : span.end]
        found = [(at, names[name]) for name in names for at in _places(name, text)]
        for what in things:
            for at in _places(what, text):
                person = _nearest(found, at, text, language)
                if person is not None:
                    yield person, what
        for name, other in names.items():
            for relation in relations:
                for form in POSSESSIVE[language]:
                    for at in _places(form.format(b=name, relation=relation), text):
                        person = _nearest([(i, one) for i, one in found if one != other], at, text, language)
                        if person is not None:
                            yield person, (relation, other)


def _nearest(found: list[tuple[int, int]], at: int, text: str, language: str) -> int | None:
    """The person named nearest to `at` within its clause, or else the last one named before it in the sentence."""
    stops = [stop.start() for stop in re.finditer(CLAUSE[language], text)]
    start = max((stop for stop in stops if stop < at), default=-1)
    end = min((stop for stop in stops if stop > at), default=len(text))
    clause = [(abs(i - at), one) for i, one in found if start < i < end]
    before = [(at - i, one) for i, one in found if i < at]
    return min(clause or before, default=(0, None))[1]


def _places(name: str, text: str) -> list[int]:
    edge = r"\b" if name[0].isascii() else ""
    return [match.start() for match in re.finditer(edge + re.escape(name) + edge, text, re.IGNORECASE)]


def events(world: World, voice: Voice, summary: str, language: str) -> Kept:
    """Which events of the log the summary keeps, in the order of those that any scene may hold.

    An event is kept where one sentence names everyone and everything in it, and has a word in common with a wording of
    its kind. A statement is a sentence that names two people, or a person and a thing; it is wrong where it keeps no
    event and no binding.
    """
    plain = [event for event in world.events if event.kind in kinds.SLOTS]
    right, wrong = {event.id: False for event in plain}, 0
    words = {kind: _words(_wordings(voice, kind), language) for kind in {event.kind for event in plain}}
    people = [voice.name(person.id) for person in world.people]
    things = [voice.thing(thing.id) for thing in world.things]
    for span in sentences(summary, language):
        text = summary[span.start : span.end]
        named = [sum(bool(_places(name, text)) for name in group) for group in (people, things)]
        if named[0] + named[1] < 1:
            continue
        here = _words([text], language)
        held = [
            event for event in plain if words[event.kind] & here and all(_places(n, text) for n in _named(voice, event))
        ]
        for event in held:
            right[event.id] = True
        states = named[0] >= 2 or (named[0] and named[1])
        if states and not held and not any(bindings(world, voice, text, language).right):
            wrong += 1
    return Kept(tuple(right.values()), wrong)


def _named(voice: Voice, event: Event) -> list[str]:
    """What a sentence must name to keep an event: its people, its thing, its word."""
    fields = voice.fields(event.kind, event.slots, event.guised)
    return [fields[slot] for slot in "abox" if slot in event.slots]


def _wordings(voice: Voice, kind: str) -> list[str]:
    wording = voice.words.events.EVENTS[kind]
    return [*wording["tell"], wording["fact"], wording["inf"]]


def _words(texts: Iterable[str], language: str) -> set[str]:
    """Stems of words of four letters or more; in Chinese, pairs of characters."""
    text = " ".join(re.sub(r"\{.*?\}", " ", text).lower() for text in texts)
    if language == "zh":
        return {text[i : i + 2] for i in range(len(text) - 1) if not re.search(r"[\W\s]", text[i : i + 2])}
    return {word[: STEM + 1] for word in re.findall(r"[a-z]+", text) if len(word) >= STEM}


def entities(world: World, voice: Voice, summary: str, names: Iterable[str]) -> Kept:
    """Which of the book's people, guises, places and things the summary names; `names` are those of `Book.entities`.

    Wrong are given names that people have in other books only.
    """
    right = tuple(bool(_places(name, summary)) for name in names)
    own = {voice.name(person.id) for person in world.people}
    others = {*voice.words.names.WOMEN, *voice.words.names.MEN} - own
    return Kept(right, sum(bool(_places(name, summary)) for name in others))
