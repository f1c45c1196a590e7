"""What a perfect reader would write down about a book, made from its log: the gold of every role in the course.

Summaries, entities with descriptions, a concept graph, a document memory. They say what the book says and nothing more:
the culprit is never called one, since the book leaves that to its reader. Taught in notebooks 00 and 10.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap
from typing import Any, Literal

from mindscape.text import Chunk, Span
from storyworld.telling import Passage, Telling, Voice, sentence
from storyworld.world import Event


@dataclass(frozen=True)
class Entity:
    """Somebody or something in a book, as MiA-RAG's nodes have them: a name and a description."""

    name: str
    kind: str  # person, guise, place, thing
    description: str


NodeType = Literal["entity", "event", "claim", "concept", "stat"]


@dataclass(frozen=True)
class Node:
    """A node of the concept graph (MindGraph, section 3.1)."""

    id: str
    type: NodeType
    content: str
    span: Span


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    relation: str
    span: Span


@dataclass(frozen=True)
class Memory:
    """A document memory (MoM, section 3.1): n topics, n core contents, n spans that tile the document."""

    outline: tuple[str, ...]
    core: tuple[str, ...]
    chunks: tuple[Span, ...]


def global_summary(voice: Voice) -> str:
    """The whole book in 100 to 300 words: who is who, what happened, what was found."""
    say = voice.say.SUMMARY
    clues = voice.words.events.CLUES
    bindings = {kind: [b for b in voice.world.bindings if b.kind == kind] for kind in ("trade", "kin", "guise")}
    people = [say["person"].format(name=voice.name(b.person), trade=voice.bare_trade(b.person)) for b in bindings["trade"]]
    chain = [event for event in voice.world.events if event.slots.get("o") == voice.world.heirloom]
    chain.sort(key=lambda event: event.scene)
    alibis = {event.slots["c"]: event.slots["d"] for event in voice.world.events if event.kind == "alibi"}
    (liar,) = [c for c, d in alibis.items() if alibis[d] != c]
    (writer,) = {event.slots["c"] for event in voice.world.events if event.kind == "meal"}
    o, first, last = voice.world.heirloom, chain[0].slots["a"], chain[-1].slots["b"]
    parts = [
        say["opening"].format(title=voice.title),
        say["cast"].format(town=voice.town, list=voice.list(people)),
        say["kin"].format(list=voice.list([voice.binding(b) for b in bindings["kin"]])),
        say["guise"].format(list=voice.list([voice.binding(b) for b in bindings["guise"]])),
        say["crime"].format(crime=voice.crime),
        say["traces"].format(list=voice.list([clues[clue]["about"] for clue in voice.world.crime.clues])),
        say["heirloom"].format(o=voice.thing(o), a=voice.name(first), b=voice.name(last)),
        say["hearing"].format(c=voice.name(liar), d=voice.name(alibis[liar])),
        say["journal"].format(c=voice.name(writer)),
    ]
    return voice.words.scenes.JOIN.join(sentence(part) for part in parts)


def session_summaries(voice: Voice, telling: Telling, windows: Sequence[Sequence[Chunk]]) -> list[str]:
    """What is told in each window of chunks: its events and the bindings that it states, in the order of the text.

    An event that begins in one window and ends in the next is told in the first.
    """
    starts = [window[0].start for window in windows]
    facts: list[list[tuple[int, str]]] = [[] for _ in windows]
    said = [(telling.events[event.id][0].start, voice.fact(event)) for event in voice.world.events]
    said += [(span.start, voice.binding(binding)) for binding in voice.world.bindings for span in telling.bindings[binding.id]]
    for at, fact in said:
        facts[max(0, bisect_right(starts, at) - 1)].append((at, fact))
    summary, join = voice.say.SUMMARY["session"], voice.say.FACT_JOIN
    summaries = []
    for window, told_here in zip(windows, facts, strict=True):
        if not told_here:  # a window of talk and weather
            at = bisect_right([scene.start for scene in telling.scenes], window[0].start) - 1
            told_here = [(0, _headline(voice, telling, telling.scenes[max(0, at)]))]
        summaries.append(sentence(summary.format(list=join.join(dict.fromkeys(fact for _, fact in sorted(told_here))))))
    return summaries


def _headline(voice: Voice, telling: Telling, passage: Passage) -> str:
    """When a scene was and who is in it, and where, if the text says so: letters and journals do not."""
    scene = voice.world.scenes[passage.id]
    template = voice.say.SUMMARY["outline_placeless" if scene.form in ("letter", "journal") else "outline"]
    people = _present(voice, telling, passage)
    return template.format(p=voice.place(scene.place), when=voice.when(scene), people=people).rstrip(":： ")


def gold_entities(voice: Voice, telling: Telling) -> list[Entity]:
    """People, guises, places and things that the text names, with what it says of them."""
    facts: dict[tuple[str, int], list[str]] = {}
    for event in sorted(voice.world.events, key=lambda event: telling.events[event.id][0].start):
        named = ((_kind_of(slot, value, event), value) for slot, value in _said(voice, telling, event).items())
        for key in dict.fromkeys(key for key in named if key[0]):
            facts.setdefault(key, []).append(voice.fact(event))
    entities = []

    def put(kind: str, i: int, *bound: str) -> None:
        told_of = voice.stated([*bound, *facts.get((kind, i), [])[:4]])
        entities.append(Entity(_named(voice, kind, i), kind, told_of))

    for person in voice.world.people:
        bound = [b for b in voice.world.bindings if b.person == person.id]
        put("person", person.id, *(voice.binding(b) for b in bound if b.kind != "guise"))
        if person.guise is not None:
            put("guise", person.id, *(voice.binding(b) for b in bound if b.kind == "guise"))
    for kind, items in (("place", voice.world.places), ("thing", voice.world.things)):
        for item in items:
            if (kind, item.id) in facts:
                put(kind, item.id)
    return entities


def _named(voice: Voice, kind: str, i: int) -> str:
    return {"person": voice.name, "guise": voice.guise, "place": voice.place, "thing": voice.thing}[kind](i)


def _kind_of(slot: str, value: int, event: Event) -> str:
    """What a slot of an event holds: person, guise, place, thing; "" if none of these."""
    if slot in "abcdvw":
        return "guise" if value in event.guised else "person"
    return {"p": "place", "q": "place", "o": "thing"}.get(slot, "")


def _said(voice: Voice, telling: Telling, event: Event) -> dict[str, Any]:
    """The slots of an event that the book gives: not every letter says where it was, nor every trace whose it is."""
    span = telling.events[event.id][0]
    doubtful: dict[str, Callable[[int], str]] = {"v": voice.name}
    if voice.world.scenes[event.scene].form in ("gossip", "letter", "testimony", "journal"):
        doubtful["p"] = voice.place

    def said(slot: str, value: Any) -> bool:
        return slot not in doubtful or _find(telling.text, doubtful[slot](value), span.start, span.end) >= 0

    return {slot: value for slot, value in event.slots.items() if said(slot, value)}


def _find(text: str, name: str, start: int = 0, end: int | None = None) -> int:
    """Where a name stands first, at the beginning of a sentence or within it; -1 if nowhere."""
    places = [text.find(form, start, end) for form in (name, sentence(name))]
    return min((at for at in places if at >= 0), default=-1)


def _present(voice: Voice, telling: Telling, passage: Passage) -> str:
    """The people who are named in a scene."""
    scene = voice.world.scenes[passage.id]
    slots = [event.slots for event in voice.world.events_in(scene)]
    people = [scene.c, scene.d, *(values[slot] for values in slots for slot in "abcd" if slot in values)]
    people += [guest for values in slots for guest in values.get("guests", ())]
    names = dict.fromkeys(voice.name(person, scene.guised) for person in people)
    return voice.list([name for name in names if _find(telling.text, name, passage.start, passage.end) >= 0])


def graph(voice: Voice, telling: Telling) -> tuple[list[Node], list[Edge]]:
    """The concept graph of the whole book, every node and edge with its place in the text."""
    nodes, edges, clues = {}, [], voice.words.events.CLUES
    relations = voice.say.RELATIONS
    types: dict[str, NodeType] = {"false": "claim", "alibi": "claim", "alone": "claim", "trace": "concept"}

    def entity(kind: str, i: int, span: Span) -> str:
        name, key = _named(voice, kind, i), f"{kind}{i}"
        if key not in nodes:
            start = _find(telling.text, name, span.start, span.end)
            start = _find(telling.text, name) if start < 0 else start
            nodes[key] = Node(key, "entity", name, Span(start, start + len(name)))
        return key

    for event in sorted(voice.world.events, key=lambda event: telling.events[event.id][0].start):
        first, last = telling.events[event.id][0], telling.events[event.id][-1]
        span = Span(first.start, last.end)
        kind = types.get(event.kind, "event")
        content = clues[event.slots["clue"]]["about"] if kind == "concept" else voice.fact(event)
        key = f"{kind}{event.id}"
        nodes[key] = Node(key, kind, sentence(content), first)
        for slot, value in _said(voice, telling, event).items():
            if slot in relations:
                edges.append(Edge(key, entity(_kind_of(slot, value, event), value, span), relations[slot], first))
        for guest, arrival in zip(event.slots.get("guests", ()), telling.events[event.id][1:], strict=False):
            edges.append(Edge(key, entity("person", guest, arrival), relations["b"], arrival))
        if "n" in event.slots:
            number = f"stat{event.id}"
            nodes[number] = Node(number, "stat", voice.number(event.slots["n"]), last)
            edges.append(Edge(number, key, relations["counts"], last))
    traces = {event.slots["clue"]: event for event in voice.world.events if event.kind == "trace"}
    for event in voice.world.events:
        span = telling.events[event.id][0]
        if event.kind == "false":
            edges.append(Edge(f"claim{event.id}", f"event{event.slots['of']}", relations["contradicts"], span))
        if event.kind == "tie":
            trace = traces[event.slots["clue"]]
            edges.append(Edge(f"concept{trace.id}", f"event{event.id}", relations["fits"], span))
    for binding in voice.world.bindings:
        span = telling.bindings[binding.id][0]
        person = entity("person", binding.person, span)
        if binding.kind == "kin":
            edges.append(Edge(person, entity("person", binding.other, span), voice.relation(binding), span))
        elif binding.kind == "guise":
            edges.append(Edge(entity("guise", binding.person, span), person, relations["guise"], span))
        else:
            trade = f"trade{binding.person}"
            nodes[trade] = Node(trade, "concept", voice.bare_trade(binding.person), span)
            edges.append(Edge(person, trade, relations["trade"], span))
    return list(nodes.values()), edges


def memory(voice: Voice, telling: Telling) -> Memory:
    """The book as a document memory, a topic for each scene."""
    borders = [0, *(passage.start for passage in telling.scenes[1:]), len(telling.text)]
    outline, core = [], []
    for passage in telling.scenes:
        scene = voice.world.scenes[passage.id]
        outline.append(sentence(_headline(voice, telling, passage)))
        facts = [voice.fact(event) for event in voice.world.events_in(scene)]
        facts += [voice.binding(voice.world.bindings[i]) for i in scene.bindings]
        core.append(voice.stated(facts))
    return Memory(tuple(outline), tuple(core), tuple(starmap(Span, pairwise(borders))))
