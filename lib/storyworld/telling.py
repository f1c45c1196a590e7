"""A world made into a book: scenes out of order, letters, testimony, a journal, and where each event is told.

Every event of the log is told once; the span of its sentence is kept. Between them stands what fills a scene: weather,
talk, habits. It holds no fact that a question asks for. Taught in notebook 00_start_here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from mindscape.text import Span
from storyworld import kinds
from storyworld.chance import Chance
from storyworld.voice import Voice, sentence
from storyworld.world import Event, Scene

WEIGHTS = {
    "inquest": 6,
    "journal": 5,
    "crime": 2,
    "gathering": 3,
    "gossip": 1.4,
    "testimony": 1.2,
    "false": 1,
}  # others 2
MOVED = 0.14  # share of the scenes that are told after later ones
CHAPTER = 14  # scenes
UNBROKEN = ("letter", "journal", "contest")  # forms after which, and not within which, a binding is told

Mark = tuple[str, int] | None  # what a piece of text tells: ("event", id), ("binding", id), ("refrain", 0)
Paragraph = list[tuple[str, Mark]]


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
        self.found = Telling()

    def book(self) -> Telling:
        order = self._order()
        weights = [WEIGHTS.get(scene.form, 2) for scene, _ in order]
        *_, heavy = accumulate(weights)  # `sum` rounds otherwise from Python 3.12 on, and would give other novels
        chapters = max(5, len(order) // CHAPTER)
        firsts = {round(k * len(order) / chapters): k for k in range(chapters)}
        titles = self.chance.shuffled(self.words.TITLES)
        whole, spent = self.world.knobs.tokens * self.words.CHARACTERS, 0.0
        names = self.voice.words.names
        self._write(self.voice.title + "\n\n")
        self._write(self.words.PROLOGUE.format(town=names.TOWNS[self.world.town]) + "\n\n")
        for i, (scene, moved) in enumerate(order):
            if i in firsts:
                self._chapter(firsts[i], titles[firsts[i] % len(titles)])
            spent += weights[i]
            self._scene(scene, moved, due=int(whole * spent / heavy))
        self._close_chapter()
        self._write(self.words.EPILOGUE)
        self.found.text = "".join(self.pieces)
        return self.found

    # ---- order and writing --------------------------------------------------------------------------------------

    def _order(self) -> list[tuple[Scene, bool]]:
        """The scenes as they are told, and whether each was moved behind later ones."""
        scenes = self.world.scenes
        movable = [scene.id for scene in scenes if scene.form == "narrated" and not scene.fixed]
        moved = set(self.chance.some(movable, round(MOVED * len(scenes))))
        place = {
            scene.id: scene.id + (self.chance.between(6, 15) + 0.5 if scene.id in moved else 0) for scene in scenes
        }
        return [(scene, scene.id in moved) for scene in sorted(scenes, key=lambda scene: place[scene.id])]

    def _write(self, text: str, mark: Mark = None) -> None:
        span = Span(self.length, self.length + len(text))
        if mark:
            kind, which = mark
            if kind == "refrain":
                self.found.refrains.append(span)
            else:
                told = self.found.events if kind == "event" else self.found.bindings
                told.setdefault(which, []).append(span)
        self.pieces.append(text)
        self.length = span.end

    def _chapter(self, number: int, title: str) -> None:
        if number:
            self._close_chapter()
        heading = self.words.CHAPTER.format(n=number + 1, title=title)
        self.found.chapters.append(Passage(number, heading, self.length, self.length))
        self._write(heading + "\n\n")

    def _close_chapter(self) -> None:
        refrain, _ = self.voice.words.names.REFRAINS[self.world.refrain]
        self._write(refrain, ("refrain", 0))
        self._write("\n\n")
        last = self.found.chapters[-1]
        self.found.chapters[-1] = Passage(last.id, last.heading, last.start, self.length - 2)

    # ---- scenes -------------------------------------------------------------------------------------------------

    def _scene(self, scene: Scene, moved: bool, due: int) -> None:
        start = self.length
        head, body, foot = getattr(self, f"_{scene.form}")(scene)
        if moved:
            head.insert(0, [(self.chance.deal("flashback", self.words.FLASHBACKS), None)])
        for binding in scene.bindings:
            part = foot if scene.form in UNBROKEN else body
            part.insert(len(foot) if part is foot else self.chance.between(0, len(body)), self._aside(binding))
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
        self.found.scenes.append(Passage(scene.id, self.voice.when(scene), start, self.length - 2))

    def _spread(self, body: list[Paragraph], fillers: list[Paragraph]) -> list[Paragraph]:
        """The fillers between the paragraphs, evenly."""
        found = []
        for i, paragraph in enumerate(body):
            found += fillers[i * len(fillers) // len(body) : (i + 1) * len(fillers) // len(body)]
            found.append(paragraph)
        return found

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
        people = (scene.c, scene.d)
        c, d = people if self.chance.hit(0.6) or scene.form not in ("narrated", "contest") else people[::-1]
        when = self.voice.when(scene)
        return {
            **self._people(c, d, scene),
            **self.voice.calendar(scene),
            "p": self.voice.place(scene.place),
            "when": when,
            "When": sentence(when),
            "weather": self.chance.deal("weather", self.words.WEATHER),
            "topic": self._topic(scene),
        }

    def _topic(self, scene: Scene) -> str:
        """Something to talk about; from the crime on that is often the crime."""
        if self.after <= scene.id and self.chance.hit(0.3):
            return self.chance.deal("crime topic", self.words.CRIME_TOPICS).format(crime=self.voice.crime)
        return self.chance.deal("topic", self.words.TOPICS)

    def _people(self, c: int, d: int, scene: Scene) -> dict[str, str]:
        names = self.voice.words.names
        pronouns = self.voice.pronouns(c)
        return {
            "c": self.voice.name(c, scene.guised),
            "d": self.voice.name(d, scene.guised),
            **self.voice.pronouns(c, "c"),
            "habit": names.HABITS[self.world.people[c].habit].format(**pronouns),
            "look": names.LOOKS[self.world.people[c].look].format(**pronouns),
        }

    def _bystanders(self) -> dict[str, str]:
        """Two people without names, for the talk in the background."""
        sexes = self.chance.pick("fm"), self.chance.pick("fm")
        c, d = (self.chance.deal(("bystander", sex), self.words.BYSTANDERS[sex]) for sex in sexes)
        while d == c:  # the last of the deck and the first of the next
            d = self.chance.deal(("bystander", sexes[1]), self.words.BYSTANDERS[sexes[1]])
        pronouns = self.voice.say.PRONOUNS[sexes[0]]
        return {"c": c, "d": d, **{"c" + form: word for form, word in pronouns.items()}}

    def _tell(self, event: Event, **other: Any) -> tuple[str, Mark]:
        """The sentence of an event. `other` replaces slots, where a witness says that it was someone else."""
        events = self.voice.words.events
        if event.kind == "crime":
            wordings = events.CRIMES[event.slots["crime"]]["tell"]
        elif event.kind in ("trace", "tie"):
            wordings = events.CLUES[event.slots["clue"]][event.kind]
        else:
            wordings = events.EVENTS[event.kind]["tell"]
        wording = self.chance.deal((event.kind, event.slots.get("clue")), wordings)
        fields = self.voice.fields(event.kind, {**event.slots, **other}, event.guised)
        return sentence(wording.format(**fields)), ("event", event.id)

    def _around(
        self, template: str, inner: tuple[str, Mark], fields: Mapping[str, str], slot: str = "{tell}"
    ) -> Paragraph:
        """A paragraph with a marked piece in it."""
        before, after = template.split(slot)
        return [(sentence(before.format(**fields)), None), inner, (after.format(**fields), None)]

    def _aside(self, binding: int) -> Paragraph:
        it, bindings = self.world.bindings[binding], self.voice.words.bindings
        wording = self.chance.deal(("binding", binding), getattr(bindings, it.kind.upper()))
        text = wording.format(**self.voice.binding_fields(it))
        template = self.chance.deal("aside", self.voice.say.ASIDES)
        return self._around(template, (sentence(text), ("binding", binding)), {}, "{binding}")

    # ---- the forms: each gives what opens the scene, its paragraphs, and what ends it -----------------------------

    def _opening(self, scene: Scene) -> list[Paragraph]:
        fields = self._frame(scene)
        opening = self._fill("OPENINGS", fields)
        lines = self.words.PLACES[self.world.places[scene.place].key]
        sight = self.chance.deal(("place", scene.place), lines)
        head: list[Paragraph] = [[(opening + self.words.JOIN + sight, None)]]
        return [*head, [(self._fill("PRESENT", fields), None)]] if self.chance.hit(0.3) else head

    def _closing(self) -> list[Paragraph]:
        return [[(self.chance.deal("closing", self.words.CLOSINGS), None)]]

    def _narrated(self, scene: Scene):
        body = []
        for event in self.world.events_in(scene):
            fields = self._frame(scene) | {"link": self.chance.deal("link", self.words.LINKS)}
            told = self._tell(event)
            body.append(self._around(self.words.LINK, told, fields) if body else [told])
            if event.kind in kinds.SLOTS and self.chance.hit(0.7):
                afterwards = self._fill("AFTERWARDS", {"c": self.voice.name(event.slots["a"], scene.guised)})
                body[-1].append((self.words.JOIN + afterwards, None))
        return self._opening(scene), body, self._closing()

    def _crime(self, scene: Scene):
        crime, *traces = self.world.events_in(scene)
        head = [[(self._fill("DISCOVERY", self._frame(scene)), None)]]
        body = [[self._tell(crime)], [(self._fill("TRACE", {}), None)], *([self._tell(trace)] for trace in traces)]
        return head, body, self._closing()

    def _search(self, scene: Scene):
        head = self._opening(scene)
        body = [[(self._fill("TRACE", {}), None)], *([self._tell(trace)] for trace in self.world.events_in(scene))]
        return head, body, self._closing()

    def _gossip(self, scene: Scene):
        first, *rest = [self._tell(event) for event in self.world.events_in(scene)]
        head = [self._around(self.chance.deal("gossip", self.words.GOSSIP), first, self._frame(scene))]
        template = self.words.GOSSIP_MORE
        fields = self._people(scene.c, scene.d, scene)
        return head, [self._around(self.chance.deal("more", template), told, fields) for told in rest], self._closing()

    def _letter(self, scene: Scene):
        first, *rest = [self._tell(event) for event in self.world.events_in(scene)]
        fields = self._frame(scene)
        head = [[(self._fill("LETTER", fields), None)], [(self._fill("LETTER_OPEN", fields), None)]]
        body = [self._around(self.chance.deal("letter", self.words.LETTER_BODY), first, fields)]
        body += [self._around(self.chance.deal("letter more", self.words.LETTER_MORE), told, fields) for told in rest]
        return head, body, [[(self._fill("LETTER_CLOSE", fields), None)]]

    def _testimony(self, scene: Scene):
        first, *rest = [self._tell(event) for event in self.world.events_in(scene)]
        fields = self._frame(scene)
        head = [self._around(self.chance.deal("testimony", self.words.TESTIMONY), first, fields)]
        body = [self._around(self.chance.deal("further", self.words.TESTIMONY_MORE), told, fields) for told in rest]
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
            day = Scene(scene.id, "journal", scene.day + k, scene.hour, scene.place, scene.c, scene.d)
            fields = self._frame(day)
            x = self.voice.word("cook", meal.slots["x"])
            entry = self.chance.deal("entry", self.words.JOURNAL_ENTRY)
            start, end = entry.split("{meal}")
            supper = self.chance.deal("meal", self.words.MEAL).format(x=x)
            paragraph = self._around(start, self._tell(event), fields)
            body.append([*paragraph, (supper, ("event", meal.id)), (end, None)])
        return [[(self._fill("JOURNAL", self._frame(scene)), None)]], body, []

    def _inquest(self, scene: Scene):
        body = []
        for event in self.world.events_in(scene):
            wordings = self.words.ALONE if event.kind == "alone" else self.words.ALIBI
            c, d = event.slots["c"], event.slots.get("d", scene.d)
            fields = self._people(c, d, scene) | {"p": self.voice.place(event.slots.get("p", scene.place))}
            text = self.chance.deal(event.kind, wordings).format(**fields)
            body.append([(sentence(text), ("event", event.id))])
        return [[(self._fill("INQUEST", self._frame(scene)), None)]], body, self._closing()

    def _gathering(self, scene: Scene):
        (event,) = self.world.events_in(scene)
        body = [[self._tell(event)]]
        for guest in event.slots["guests"]:
            fields = self.voice.fields("gathering", {"b": guest})
            arrival = self.chance.deal("arrive", self.voice.words.events.EVENTS["gathering"]["arrive"])
            body.append([(sentence(arrival.format(**fields)), ("event", event.id))])
        return self._opening(scene), body, self._closing()

    def _contest(self, scene: Scene):
        (event,) = self.world.events_in(scene)
        parts = self.voice.words.events.EVENTS["contest"]
        fields = self.voice.fields("contest", event.slots)
        body = [[self._tell(event)]]
        for part in ("second", "mark"):
            text = self.chance.deal(part, parts[part]).format(**fields)
            body.append([(sentence(text), ("event", event.id))])
        return self._opening(scene), body, self._closing()
