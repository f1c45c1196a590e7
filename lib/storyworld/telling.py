"""A world made into a book: scenes out of order, letters, testimony, a journal, and where each event is told.

Every event of the log is told once; the span of its sentence is kept. Between them stands what fills a scene: weather,
talk, habits. It holds no fact that a question asks for. `Voice` puts a world's people, places and things into the words of
a language, `tell` makes the book. The wording of each language is in data files beside this module, with the same names and
keys in both. Taught in notebook 00_start_here.

    bindings   who is who: a trade, a kinship, a guise tied to a name
    events     what can happen, told, stated and asked about
    names      people, places, things, and the words of each kind of event
    questions  how questions and summaries are put
    scenes     how a scene is told
"""

import re
import tomllib
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mindscape.errors import require
from mindscape.text import Span
from storyworld.world import SLOTS, Binding, Chance, Event, Scene, World

LANGUAGES = ("en", "zh")


def wording(language: str) -> SimpleNamespace:
    """A language's words: a namespace a file. Raises InputError for a language that has none.

    >>> wording("zh").names.TRADES["baker"], wording("en").questions.KIN_OF
    ('面包师', "{b}'s {relation}")
    """
    require(language in LANGUAGES, f"language {language!r}: expected one of {', '.join(LANGUAGES)}")
    return _read(language)


@cache
def _read(language: str) -> SimpleNamespace:
    files = sorted((Path(__file__).parent / "words" / language).glob("*.toml"))
    parts = {file.stem: SimpleNamespace(**tomllib.loads(file.read_text(encoding="utf-8"))) for file in files}
    return SimpleNamespace(**parts)


class Voice:
    """Names for what a world holds. Ids in, words out."""

    def __init__(self, world: World, language: str):
        self.world, self.language, self.words = world, language, wording(language)
        self.say = self.words.questions

    # ---- people -------------------------------------------------------------------------------------------------

    def name(self, person: int, guised: Collection[int] = ()) -> str:
        """What a scene calls a person: the given name, or the guise where the person is in disguise."""
        who = self.world.people[person]
        given = self.words.names.WOMEN if who.sex == "f" else self.words.names.MEN
        return self.guise(person) if person in guised else given[who.name]

    def family(self, person: int) -> str:
        return self.words.names.FAMILIES[self.world.people[person].family]

    def full_name(self, person: int) -> str:
        return self.say.FULL_NAME.format(name=self.name(person), family=self.family(person))

    def bare_trade(self, person: int) -> str:
        return self.words.names.TRADES[self.world.people[person].trade]

    def trade(self, person: int) -> str:
        return self.say.THE_TRADE.format(trade=self.bare_trade(person))

    def guise(self, person: int) -> str:
        who = self.world.people[person]
        return self.words.names.GUISES[who.sex][who.guise]

    def relation(self, binding: Binding) -> str:
        return self.words.names.KIN[binding.relation][self.world.people[binding.person].sex == "m"]

    def pronouns(self, person: int, prefix: str = "") -> dict[str, str]:
        return {prefix + form: word for form, word in self.say.PRONOUNS[self.world.people[person].sex].items()}

    # ---- places, things, words, numbers -------------------------------------------------------------------------

    def place(self, place: int) -> str:
        spot, names = self.world.places[place], self.words.names
        return self.say.PLACE.format(qualifier=names.QUALIFIERS[spot.adjective], noun=names.PLACES[spot.key][0])

    def place_hint(self, place: int) -> str:
        return self.say.PLACE_HINT.format(hint=self.words.names.PLACES[self.world.places[place].key][1])

    def thing(self, thing: int) -> str:
        item, names = self.world.things[thing], self.words.names
        if thing == self.world.treasure:
            return names.TREASURES[item.adjective % len(names.TREASURES)]
        return self.say.THING.format(adjective=names.ADJECTIVES[item.adjective], noun=names.OBJECTS[item.key][0])

    def thing_hint(self, thing: int) -> str:
        if thing == self.world.treasure:
            return self.thing(thing)
        return self.words.names.OBJECTS[self.world.things[thing].key][1]

    def word(self, kind: str, x: int) -> str:
        return self.words.names.WORDS[kind][x]

    def number(self, n: int) -> str:
        return self.words.names.NUMBERS[n] if n < len(self.words.names.NUMBERS) else str(n)

    def list(self, items: list[str]) -> str:
        *first, last = items or [""]
        return self.say.COMMA.join(first) + self.say.AND + last if first else last

    def calendar(self, scene: Scene) -> dict[str, str]:
        (week, weekday), names = divmod(scene.day, 7), self.words.names
        return {"hour": names.HOURS[scene.hour], "week": names.WEEKS[week], "weekday": names.WEEKDAYS[weekday]}

    def when(self, scene: Scene) -> str:
        return self.words.scenes.WHEN.format(**self.calendar(scene))

    # ---- sentences ----------------------------------------------------------------------------------------------

    def fields(self, kind: str, slots: Mapping[str, Any], guised: Collection[int] = ()) -> dict[str, str]:
        """What the placeholders of an event's sentences stand for."""
        naming = dict.fromkeys("abcdvw", lambda person: self.name(person, guised))
        naming |= {"p": self.place, "q": self.place, "o": self.thing, "n": self.number}
        naming |= {"x": partial(self.word, "cook" if kind == "meal" else kind), "goods": self._goods}
        fields = {slot: naming[slot](value) for slot, value in slots.items() if slot in naming}
        for slot, prefix in (("a", ""), ("b", "b"), ("w", "w")):
            if slot in slots:
                fields |= self.pronouns(slots[slot], prefix)
        if "w" in slots:
            name, family = self.name(slots["w"]), self.family(slots["w"])
            fields["mark"] = self.say.MARK.format(i=f"{name[0]} {family[0]}", name=name)
        return fields

    def _goods(self, goods: Iterable[tuple[int, int]]) -> str:
        return self.list([self.say.NUMBER_OF.format(n=self.number(n), x=self.word("bill", x)) for n, x in goods])

    def fact(self, event: Event) -> str:
        """The event in the words of questions and summaries, without a full stop."""
        fields, summary = self.fields(event.kind, event.slots, event.guised), self.say.SUMMARY
        if event.kind == "trace":
            return summary["trace"].format(about=self.entry(event)["about"])
        if event.kind == "false":
            true = self.world.events[event.slots["of"]]
            sworn = self.fact(replace(true, slots={**true.slots, "a": event.slots["a"]}))
            return summary["false"].format(c=fields["c"], fact=sworn)
        if event.kind in ("alibi", "alone", "meal"):
            return summary[event.kind].format(**fields)
        return self.entry(event)["fact"].format(**fields)

    def entry(self, event: Event) -> dict[str, Any]:
        """What the data files say of an event: of its crime, its clue, or else its kind."""
        events, slots = self.words.events, event.slots
        if event.kind == "crime":
            return events.CRIMES[slots["crime"]]
        return events.CLUES[slots["clue"]] if event.kind in ("trace", "tie") else events.EVENTS[event.kind]

    def stated(self, facts: Iterable[str]) -> str:
        """Facts as one sentence, with its full stop."""
        return sentence(self.say.FACT_JOIN.join(facts)) + self.say.STOP

    def binding(self, binding: Binding) -> str:
        """Who is who, in a few words, without a full stop."""
        return self.say.BINDING[binding.kind].format(**self.binding_fields(binding))

    def binding_fields(self, binding: Binding) -> dict[str, str]:
        person = binding.person
        fields = {"a": self.name(person), "trade": self.bare_trade(person), "family": self.family(person)}
        fields |= self.pronouns(person)
        if binding.kind == "kin":
            fields |= {"b": self.name(binding.other), "relation": self.relation(binding)}
        if binding.kind == "guise":
            fields["guise"] = self.guise(person)
        return fields

    @cached_property
    def title(self) -> str:
        return self.words.scenes.TITLE.format(town=self.town, crime=self.crime)

    @property
    def town(self) -> str:
        return self.words.names.TOWNS[self.world.town]

    @cached_property
    def crime(self) -> str:
        crime = self.world.crime
        slots = {"b": crime.victim, "p": crime.place, "o": self.world.treasure}
        return self.words.events.CRIMES[crime.kind]["title"].format(**self.fields("crime", slots))


def sentence(text: str) -> str:
    """With a capital letter at the start and after a full stop, where the script has them.

    >>> sentence("the veiled widow coughed. she left."), sentence("'no,' she said."), sentence("她笑了。")
    ('The veiled widow coughed. She left.', "'No,' she said.", '她笑了。')
    """
    return re.sub(r"^\W*[a-z]|(?<=[.!?] )[a-z]|(?<=[.]['\"] )[a-z]", lambda match: match[0].upper(), text)


WEIGHTS = {"inquest": 6, "journal": 5, "gathering": 3, "gossip": 1.4, "testimony": 1.2, "false": 1}  # others 2
MOVED = 0.14  # share of the scenes that are told after later ones
CHAPTER = 14  # scenes
UNBROKEN = ("letter", "journal", "contest")  # forms after which, and not within which, a binding is told

Mark = tuple[str, int] | None  # what a piece of text tells: ("event", id), ("binding", id)
Piece = tuple[str, Mark]
Paragraph = list[Piece]


@dataclass(frozen=True)
class Passage:
    """A scene or a chapter as a place in the text. `id` is that of the scene in the log, or the chapter's number."""

    id: int
    heading: str
    start: int
    end: int


@dataclass
class Telling:
    """The text, and what is where in it."""

    text: str = ""
    chapters: list[Passage] = field(default_factory=list)
    scenes: list[Passage] = field(default_factory=list)  # in the order of the text
    events: dict[int, list[Span]] = field(default_factory=dict)
    bindings: dict[int, list[Span]] = field(default_factory=dict)
    refrains: list[Span] = field(default_factory=list)


def tell(voice: Voice) -> Telling:
    """The book of a world. The same world gives the same text, always."""
    return _Narrator(voice).book()


class _Narrator:
    def __init__(self, voice: Voice):
        world, language = voice.world, voice.language
        self.world, self.voice = world, voice
        self.words = self.voice.words.scenes
        self.chance = Chance("telling", world.seed, world.knobs, world.book, language)
        self.after = next(scene.id for scene in world.scenes if scene.form == "crime")
        self.pieces: list[str] = []
        self.length = 0
        self.telling = Telling()

    def book(self) -> Telling:
        order = self._order()
        # Not by `sum`, which rounds otherwise from Python 3.12 on, and would give other novels.
        spent = list(accumulate(WEIGHTS.get(scene.form, 2) for scene, _ in order))
        chapters = max(5, len(order) // CHAPTER)
        firsts = {round(k * len(order) / chapters): k for k in range(chapters)}
        titles, whole = self.chance.shuffled(self.words.TITLES), self.world.knobs.tokens * self.words.CHARACTERS
        self._write(f"{self.voice.title}\n\n{self.words.PROLOGUE.format(town=self.voice.town)}\n\n")
        for i, (scene, moved) in enumerate(order):
            if i in firsts:
                self._chapter(firsts[i], titles[firsts[i] % len(titles)])
            self._scene(scene, moved, due=int(whole * spent[i] / spent[-1]))
        self._close_chapter()
        self._write(self.words.EPILOGUE)
        self.telling.text = "".join(self.pieces)
        return self.telling

    # ---- order and writing --------------------------------------------------------------------------------------

    def _order(self) -> list[tuple[Scene, bool]]:
        """The scenes as they are told, and whether each was moved behind later ones."""
        scenes = self.world.scenes
        movable = [scene.id for scene in scenes if scene.form == "narrated" and not scene.fixed]
        moved = set(self.chance.sample(movable, round(MOVED * len(scenes))))
        place = [at + (self.chance.between(6, 15) + 0.5 if at in moved else 0) for at in range(len(scenes))]
        return [(scene, scene.id in moved) for scene in sorted(scenes, key=lambda scene: place[scene.id])]

    def _write(self, text: str, mark: Mark = None) -> None:
        span = Span(self.length, self.length + len(text))
        if mark:
            spans = self.telling.events if mark[0] == "event" else self.telling.bindings
            spans.setdefault(mark[1], []).append(span)
        self.pieces.append(text)
        self.length = span.end

    def _chapter(self, number: int, title: str) -> None:
        if number:
            self._close_chapter()
        heading = self.words.CHAPTER.format(n=number + 1, title=title)
        self.telling.chapters.append(Passage(number, heading, self.length, self.length))
        self._write(heading + "\n\n")

    def _close_chapter(self) -> None:
        refrain, _ = self.voice.words.names.REFRAINS[self.world.refrain]
        self.telling.refrains.append(Span(self.length, self.length + len(refrain)))
        self._write(refrain + "\n\n")
        self.telling.chapters[-1] = replace(self.telling.chapters[-1], end=self.length - 2)

    # ---- scenes -------------------------------------------------------------------------------------------------

    def _scene(self, scene: Scene, moved: bool, due: int) -> None:
        start = self.length
        head, body, foot = getattr(self, f"_{scene.form}")(scene)
        if moved:
            head.insert(0, [(self.chance.deal("flashback", self.words.FLASHBACKS), None)])
        for binding in scene.bindings:
            if scene.form in UNBROKEN:
                foot.append(self._aside(binding))
            else:
                body.insert(self.chance.between(0, len(body)), self._aside(binding))
        length = start + sum(len(text) for part in (head, body, foot) for paragraph in part for text, _ in paragraph)
        fillers: list[Paragraph] = []
        while length < due - 60 and len(fillers) < 60:
            filler = self._filler(scene)
            if not fillers and scene.form in ("narrated", "contest", "gathering") and self.chance.hit(0.5):
                filler += self.words.JOIN + self._fill("HABITS", self._frame(scene))
            fillers.append([(filler, None)])
            length += len(filler) + 2
        for paragraph in [*head, *self._spread(body, fillers), *foot]:
            for text, mark in paragraph:
                self._write(text, mark)
            self._write("\n\n")
        self.telling.scenes.append(Passage(scene.id, self.voice.when(scene), start, self.length - 2))

    def _spread(self, body: list[Paragraph], fillers: list[Paragraph]) -> list[Paragraph]:
        """The fillers between the paragraphs, evenly."""
        paragraphs = []
        for i, paragraph in enumerate(body):
            paragraphs += fillers[i * len(fillers) // len(body) : (i + 1) * len(fillers) // len(body)]
            paragraphs.append(paragraph)
        return paragraphs

    def _filler(self, scene: Scene) -> str:
        fields = self._frame(scene)
        if scene.form in ("letter", "journal"):
            return self._fill("LETTER_TALK", fields)
        if scene.form in ("testimony", "false", "inquest"):
            return self._fill("COURT", fields)
        fields |= self._bystanders()
        return self._fill(self.chance.deal("filler", ("TALK", "TALK", "MUSINGS")), fields)

    def _fill(self, name: str, fields: Mapping[str, str]) -> str:
        return sentence(self.chance.deal(name, getattr(self.words, name)).format(**fields))

    def _frame(self, scene: Scene) -> dict[str, str]:
        """What the placeholders of a scene's frame stand for."""
        people, when = (scene.c, scene.d), self.voice.when(scene)
        c, d = people if self.chance.hit(0.6) or scene.form not in ("narrated", "contest") else people[::-1]
        fields = {**self._people(c, d, scene), **self.voice.calendar(scene), "p": self.voice.place(scene.place)}
        fields |= {"when": when, "When": sentence(when), "weather": self.chance.deal("weather", self.words.WEATHER)}
        return fields | {"topic": self._topic(scene)}

    def _topic(self, scene: Scene) -> str:
        """Something to talk about; from the crime on that is often the crime."""
        if self.after <= scene.id and self.chance.hit(0.3):
            return self.chance.deal("crime topic", self.words.CRIME_TOPICS).format(crime=self.voice.crime)
        return self.chance.deal("topic", self.words.TOPICS)

    def _people(self, c: int, d: int, scene: Scene) -> dict[str, str]:
        names, who, pronouns = self.voice.words.names, self.world.people[c], self.voice.pronouns(c)
        called = {"c": self.voice.name(c, scene.guised), "d": self.voice.name(d, scene.guised)}
        ways = {"habit": names.HABITS[who.habit].format(**pronouns), "look": names.LOOKS[who.look].format(**pronouns)}
        return called | self.voice.pronouns(c, "c") | ways

    def _bystanders(self) -> dict[str, str]:
        """Two people without names, for the talk in the background."""
        sexes = self.chance.pick("fm"), self.chance.pick("fm")
        c, d = (self.chance.deal(("bystander", sex), self.words.BYSTANDERS[sex]) for sex in sexes)
        while d == c:  # the last of the deck and the first of the next
            d = self.chance.deal(("bystander", sexes[1]), self.words.BYSTANDERS[sexes[1]])
        pronouns = self.voice.say.PRONOUNS[sexes[0]]
        return {"c": c, "d": d, **{"c" + form: word for form, word in pronouns.items()}}

    def _tell(self, event: Event, **other: Any) -> Piece:
        """The sentence of an event. `other` replaces slots, where a witness says that it was someone else."""
        wordings = self.voice.entry(event)[event.kind if event.kind in ("trace", "tie") else "tell"]
        fields = self.voice.fields(event.kind, {**event.slots, **other}, event.guised)
        return self._put((event.kind, event.slots.get("clue")), wordings, fields, ("event", event.id))

    def _put(self, deck: Hashable, wordings: Sequence[str], fields: Mapping[str, str], mark: Mark) -> Piece:
        """The next of several wordings as a sentence, and what it tells."""
        return sentence(self.chance.deal(deck, wordings).format(**fields)), mark

    def _around(self, template: str, inner: Piece, fields: Mapping[str, str], slot: str = "{tell}") -> Paragraph:
        """A paragraph with a marked piece in it."""
        before, after = template.split(slot)
        return [(sentence(before.format(**fields)), None), inner, (after.format(**fields), None)]

    def _aside(self, binding: int) -> Paragraph:
        entry, mark = self.world.bindings[binding], ("binding", binding)
        piece = self._put(mark, getattr(self.voice.words.bindings, entry.kind.upper()), self.voice.binding_fields(entry), mark)
        return self._around(self.chance.deal("aside", self.voice.say.ASIDES), piece, {}, "{binding}")

    # ---- the forms: each gives what opens the scene, its paragraphs, and what ends it -----------------------------

    def _opening(self, scene: Scene) -> list[Paragraph]:
        fields = self._frame(scene)
        opening, lines = self._fill("OPENINGS", fields), self.words.PLACES[self.world.places[scene.place].key]
        sight = self.chance.deal(("place", scene.place), lines)
        head: list[Paragraph] = [[(opening + self.words.JOIN + sight, None)]]
        return [*head, self._plain("PRESENT", fields)] if self.chance.hit(0.3) else head

    def _closing(self) -> list[Paragraph]:
        return [[(self.chance.deal("closing", self.words.CLOSINGS), None)]]

    def _plain(self, name: str, fields: Mapping[str, str]) -> Paragraph:
        """A paragraph that tells nothing of the log."""
        return [(self._fill(name, fields), None)]

    def _all_told(self, scene: Scene) -> list[Piece]:
        return [self._tell(event) for event in self.world.events_in(scene)]

    def _narrated(self, scene: Scene):
        body = []
        for event in self.world.events_in(scene):
            fields = self._frame(scene) | {"link": self.chance.deal("link", self.words.LINKS)}
            piece = self._tell(event)
            body.append(self._around(self.words.LINK, piece, fields) if body else [piece])
            if event.kind in SLOTS and self.chance.hit(0.7):
                afterwards = self._fill("AFTERWARDS", {"c": self.voice.name(event.slots["a"], scene.guised)})
                body[-1].append((self.words.JOIN + afterwards, None))
        return self._opening(scene), body, self._closing()

    def _crime(self, scene: Scene):
        crime, *traces = self.world.events_in(scene)
        head = [self._plain("DISCOVERY", self._frame(scene))]
        body = [[self._tell(crime)], self._plain("TRACE", {}), *([self._tell(trace)] for trace in traces)]
        return head, body, self._closing()

    def _search(self, scene: Scene):
        head, traces = self._opening(scene), self._plain("TRACE", {})
        return head, [traces, *([piece] for piece in self._all_told(scene))], self._closing()

    def _gossip(self, scene: Scene):
        first, *rest = self._all_told(scene)
        head = [self._around(self.chance.deal("gossip", self.words.GOSSIP), first, self._frame(scene))]
        fields = self._people(scene.c, scene.d, scene)
        body = [self._around(self.chance.deal("more", self.words.GOSSIP_MORE), piece, fields) for piece in rest]
        return head, body, self._closing()

    def _letter(self, scene: Scene):
        (first, *rest), fields = self._all_told(scene), self._frame(scene)
        head = [self._plain("LETTER", fields), self._plain("LETTER_OPEN", fields)]
        body = [self._around(self.chance.deal("letter", self.words.LETTER_BODY), first, fields)]
        body += [self._around(self.chance.deal("letter more", self.words.LETTER_MORE), piece, fields) for piece in rest]
        return head, body, [self._plain("LETTER_CLOSE", fields)]

    def _testimony(self, scene: Scene):
        (first, *rest), fields = self._all_told(scene), self._frame(scene)
        head = [self._around(self.chance.deal("testimony", self.words.TESTIMONY), first, fields)]
        body = [self._around(self.chance.deal("further", self.words.TESTIMONY_MORE), piece, fields) for piece in rest]
        return head, body, self._closing()

    def _false(self, scene: Scene):
        (event,) = self.world.events_in(scene)
        text, _ = self._tell(self.world.events[event.slots["of"]], a=event.slots["a"])
        template = self.chance.deal("false", self.words.FALSE_TESTIMONY)
        return [], [self._around(template, (text, ("event", event.id)), self._frame(scene))], self._closing()

    def _journal(self, scene: Scene):
        """Five leaves, a day each: what was done, and what there was for supper."""
        events = self.world.events_in(scene)
        body = []
        for k, (event, meal) in enumerate(zip(events[::2], events[1::2], strict=True)):
            fields = self._frame(replace(scene, day=scene.day + k, guised=frozenset()))
            start, end = self.chance.deal("entry", self.words.JOURNAL_ENTRY).split("{meal}")
            supper = self.chance.deal("meal", self.words.MEAL).format(x=self.voice.word("cook", meal.slots["x"]))
            paragraph = self._around(start, self._tell(event), fields)
            body.append([*paragraph, (supper, ("event", meal.id)), (end, None)])
        return [self._plain("JOURNAL", self._frame(scene))], body, []

    def _inquest(self, scene: Scene):
        body = []
        for event in self.world.events_in(scene):
            wordings = self.words.ALONE if event.kind == "alone" else self.words.ALIBI
            c, d = event.slots["c"], event.slots.get("d", scene.d)
            fields = self._people(c, d, scene) | {"p": self.voice.place(event.slots.get("p", scene.place))}
            body.append([self._put(event.kind, wordings, fields, ("event", event.id))])
        return [self._plain("INQUEST", self._frame(scene))], body, self._closing()

    def _gathering(self, scene: Scene):
        (event,) = self.world.events_in(scene)
        arrivals, body = self.voice.words.events.EVENTS["gathering"]["arrive"], [[self._tell(event)]]
        for guest in event.slots["guests"]:
            fields = self.voice.fields("gathering", {"b": guest})
            body.append([self._put("arrive", arrivals, fields, ("event", event.id))])
        return self._opening(scene), body, self._closing()

    def _contest(self, scene: Scene):
        (event,) = self.world.events_in(scene)
        parts, fields = self.voice.words.events.EVENTS["contest"], self.voice.fields("contest", event.slots)
        more = (self._put(part, parts[part], fields, ("event", event.id)) for part in ("second", "mark"))
        body = [[piece] for piece in (self._tell(event), *more)]
        return self._opening(scene), body, self._closing()
