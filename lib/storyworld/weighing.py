"""What a summary keeps of a book, counted against the log: bindings, events, entities.

The rules are simple and the same for every summariser. They look at words, not at meaning: a paraphrase of a name or a
trade counts as lost, and right words put together by accident count as kept. A statement is a sentence, or a part of it
between semicolons. Taught in notebook 10_hierarchical_summaries.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mindscape.text import mentions, sentences
from storyworld.telling import Voice
from storyworld.world import SLOTS, Event

CLAUSE = {"en": r"[.,:?!()]| and ", "zh": r"[。，、：？！（）]|和"}
POSSESSIVE = {"en": ("{b}'s {relation}", "{relation} of {b}", "{relation} to {b}"), "zh": ("{b}的{relation}",)}
STEM = 4  # letters of an English word that tell it from others
STATEMENTS = 4096  # that are remembered: summaries of one book say much the same
COMMON = 5  # a word that more kinds of events than that share is a sign of none


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


def bindings(voice: Voice, summary: str) -> Kept:
    """Which trades, kinships and guises the summary states, in the order of `world.bindings`.

    A trade or a guise is bound to the nearest name in its clause, or else to the last name before it in its statement;
    a kinship holds for "Ann's sister" or "sister of Ann" and the name nearest to that. A guise that takes part in an
    event that the statement keeps is bound to nobody there.

    >>> import storyworld
    >>> book = storyworld.book(1000, tokens=15_000)
    >>> bindings(book.voice, book.summary).recall
    1.0
    """
    lexicon, gold = _lexicon(voice), _gold(voice)
    stated = {binding for text in _statements(summary, voice.language) for binding in _stated(lexicon, text)}
    return Kept(tuple(binding in stated for binding in gold), len(stated - set(gold)))


def events(voice: Voice, summary: str) -> Kept:
    """Which events of the log the summary keeps, in the order of those that any scene may hold.

    An event is kept where one statement names everyone and everything in it, and has a word in common with a wording of
    its kind; names, trades and the words of many kinds do not count. What can be wrong is a statement that names two
    people, or a person and a thing: it is where it keeps no event and no binding, and does not name two parts of some
    other line of the log (the crime, a testimony, a contest). So a sentence of small talk is wrong, too, and so is one
    that sums up several events.
    """
    lexicon, gold = _lexicon(voice), set(_gold(voice))
    right, wrong = {event.id: False for event, _ in lexicon.events}, 0
    for text in _statements(summary, voice.language):
        held = _keeping(lexicon, text)
        right |= {event.id: True for event, _ in held}
        here = _people_in(lexicon, text)
        people, things = len(here & lexicon.names.keys()), len(here.intersection(lexicon.things))
        if held or not people or people + things < 2 or any(len(names & here) > 1 for names in lexicon.rest):
            continue
        wrong += gold.isdisjoint(_stated(lexicon, text))
    return Kept(tuple(right.values()), wrong)


def entities(voice: Voice, summary: str, names: Iterable[str]) -> Kept:
    """Which of the book's people, guises, places and things the summary names; `names` are those of `Book.entities`.

    Wrong are given names that people have in other books only.
    """
    right = tuple(bool(mentions(name, summary)) for name in names)
    own = {voice.name(person.id) for person in voice.world.people}
    others = {*voice.words.names.WOMEN, *voice.words.names.MEN} - own
    return Kept(right, sum(bool(mentions(name, summary)) for name in others))


class _Lexicon:
    """What a statement about a book is searched for."""

    def __init__(self, voice: Voice):
        world, self.language = voice.world, voice.language
        self.names = {voice.name(person.id): person.id for person in world.people}
        self.trades = {voice.bare_trade(person.id) for person in world.people}
        self.guises = {voice.guise(person.id) for person in world.people if person.guise is not None}
        self.things = [voice.thing(thing.id) for thing in world.things]
        self.relations = {word for pair in voice.words.names.KIN.values() for word in pair}
        said = {kind: voice.words.events.EVENTS[kind] for kind in SLOTS}
        words = {kind: _words([*forms["tell"], forms["fact"], forms["inf"]], voice.language) for kind, forms in said.items()}
        shared = Counter(word for of_kind in words.values() for word in of_kind)
        self.words = {kind: {word for word in words[kind] if shared[word] <= COMMON} for kind in words}
        named = [(event, frozenset(_named(voice, event))) for event in world.events]
        self.events = [(event, names) for event, names in named if event.kind in SLOTS]
        self.rest = [names for event, names in named if event.kind not in SLOTS]
        called = {*self.names, *self.trades, *self.guises, *self.things, *self.relations}
        longest_first = sorted(called, key=lambda term: (-len(term), term))
        self.called = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
        # People, things, words of events.
        self.terms = {*self.names, *self.things}.union(*(names for _, names in named))


_lexicon = lru_cache(maxsize=16)(_Lexicon)  # once for all summaries of a book: making it takes longer than a search


def _statements(summary: str, language: str) -> Iterator[str]:
    for span in sentences(summary, language):
        yield from re.split("[;；]", summary[span.start : span.end])


def _gold(voice: Voice) -> list[tuple[int, object]]:
    """Each binding as (person, trade), (person, guise) or (person, (relation, other))."""
    called = {"trade": voice.bare_trade, "guise": voice.guise}
    kin = {binding.id: (voice.relation(binding), binding.other) for binding in voice.world.bindings if binding.kind == "kin"}
    return [(binding.person, kin.get(binding.id) or called[binding.kind](binding.person)) for binding in voice.world.bindings]


@lru_cache(maxsize=STATEMENTS)
def _stated(lexicon: _Lexicon, text: str) -> frozenset[tuple[int, object]]:
    """The bindings in a statement, right or wrong."""
    return frozenset(_binding(lexicon, text))


def _binding(lexicon: _Lexicon, text: str) -> Iterator[tuple[int, object]]:
    people = [(at, person) for name, person in lexicon.names.items() for at in mentions(name, text)]
    if not people:
        return
    guised = [(at, at + len(guise)) for guise in lexicon.guises for at in mentions(guise, text)]
    stops = _stops(lexicon, text)
    for what in (*lexicon.trades, *lexicon.guises):
        for at in mentions(what, text):
            if what in lexicon.trades and any(start <= at < end for start, end in guised):
                continue  # "the scarecrow fiddler" says of nobody that he is the fiddler
            acts = what in lexicon.guises and any(what in named for event, named in _keeping(lexicon, text))
            person = None if acts else _nearest(people, at, text, stops)
            if person is not None:
                yield person, what
    for relation in lexicon.relations:
        if not mentions(relation, text):
            continue
        for name, other in lexicon.names.items():
            for form in POSSESSIVE[lexicon.language]:
                for at in mentions(form.format(b=name, relation=relation), text):
                    person = _nearest([(i, who) for i, who in people if who != other], at, text, stops)
                    if person is not None:
                        yield person, (relation, other)


def _stops(lexicon: _Lexicon, text: str) -> list[int]:
    """Where clauses of a statement end; what stands within a name ends none (the 和 of 和尚)."""
    within = [match.span() for match in lexicon.called.finditer(text)]
    stops = [stop.start() for stop in re.finditer(CLAUSE[lexicon.language], text)]
    return [stop for stop in stops if not any(start <= stop < end for start, end in within)]


def _nearest(people: list[tuple[int, int]], at: int, text: str, stops: Sequence[int]) -> int | None:
    """The person named nearest to `at` within its clause, or else the last one named before it in the statement."""
    start = max((stop for stop in stops if stop < at), default=-1)
    end = min((stop for stop in stops if stop > at), default=len(text))
    clause = [(abs(i - at), person) for i, person in people if start < i < end]
    before = [(at - i, person) for i, person in people if i < at]
    return min(clause or before, default=(0, None))[1]


@lru_cache(maxsize=STATEMENTS)
def _people_in(lexicon: _Lexicon, text: str) -> frozenset[str]:
    return frozenset(term for term in lexicon.terms if mentions(term, text))


def _keeping(lexicon: _Lexicon, text: str) -> list[tuple[Event, frozenset[str]]]:
    """The events that a statement keeps, each with what it names."""
    here = _people_in(lexicon, text)
    present = [(event, named) for event, named in lexicon.events if named <= here]
    if not present:
        return []
    left = _words([lexicon.called.sub(" ", text)], lexicon.language)
    return [(event, named) for event, named in present if lexicon.words[event.kind] & left]


def _named(voice: Voice, event: Event) -> list[str]:
    """What a statement must name to keep an event: its people, its thing, its word."""
    fields = voice.fields(event.kind, event.slots, event.guised)
    return [fields[slot] for slot in "abcdvwox" if slot in event.slots]


def _words(texts: Iterable[str], language: str) -> set[str]:
    """Stems of words of four letters or more; in Chinese, pairs of characters."""
    text = " ".join(re.sub(r"\{.*?\}", " ", text).lower() for text in texts)
    if language == "zh":
        return {text[i : i + 2] for i in range(len(text) - 1) if not re.search(r"[\W\s]", text[i : i + 2])}
    return {word[: STEM + 1] for word in re.findall(r"[a-z]+", text) if len(word) >= STEM}
