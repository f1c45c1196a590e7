"""Storyworld: the gold against the log and the text, and the wording of both languages."""

import re
from bisect import bisect_right
from functools import cache
from itertools import pairwise
from string import Formatter

import pytest

import storyworld
from mindscape.text import Chunk, sentences, windows
from storyworld.telling import LANGUAGES, sentence, wording
from storyworld.world import CLUES, CRIMES, SLOTS

SAMPLE = {
    "en": (1000, 15_000),
    "en, long": (2000, 45_000),
    "en, plain": (77, 15_000, 0, 1, 1),
    "en, hidden": (9999, 30_000, 1, 0, 0),
    "zh": (3, 15_000, 0.8, 0.6, 0.3, "zh"),
    "zh, plain": (4, 30_000, 0, 1, 1, "zh"),
}
LANGUAGE = pytest.mark.parametrize("language", LANGUAGES)
NODES = {"entity", "event", "claim", "concept", "stat"}


@cache
def book(name):
    return storyworld.book(*SAMPLE[name])


@pytest.fixture(params=SAMPLE)
def novel(request):
    return book(request.param)


# Gold


def test_the_global_summary_holds_every_binding_and_accuses_nobody(novel):
    summary, voice, world = novel.summary, novel.voice, novel.world
    person = voice.say.SUMMARY["person"]
    for binding in world.bindings:
        said = voice.binding(binding)
        if binding.kind == "trade":
            said = person.format(name=voice.name(binding.person), trade=voice.bare_trade(binding.person))
        assert said.lower() in summary.lower(), said
    for event in world.events:
        if event.kind == "tie":
            assert voice.fact(event).lower() not in summary.lower()
    heart = voice.say.SUMMARY["crime"].format(crime=voice.crime)
    traces = summary[summary.index(heart) + len(heart) :].split(voice.say.STOP)[0]
    assert voice.name(world.crime.culprit) not in heart + traces


@pytest.mark.parametrize("size", [2, 8])
def test_session_summaries_hold_what_is_told_in_the_window_and_nothing_else(novel, size):
    starts = [span.start for span in sentences(novel.document.text, novel.document.language)[::25]]
    borders = enumerate(pairwise([*starts, len(novel.document.text)]))
    chunks = [Chunk(novel.document.id, i, start, end) for i, (start, end) in borders]
    parts = windows(chunks, size)
    summaries = novel.session_summaries(parts)
    assert len(summaries) == len(parts) > 3
    starts = [part[0].start for part in parts]
    due = [set() for _ in parts]
    for event in novel.world.events:
        due[bisect_right(starts, novel.telling.events[event.id][0].start) - 1].add(novel.voice.fact(event))
    for binding in novel.world.bindings:
        for span in novel.telling.bindings[binding.id]:
            due[bisect_right(starts, span.start) - 1].add(novel.voice.binding(binding))
    stop, join = novel.voice.say.STOP, novel.voice.say.FACT_JOIN
    for summary, facts in zip(summaries, due, strict=True):
        assert summary.endswith(stop)
        low = summary.lower()
        ordered = sorted(facts, key=lambda fact, low=low: low.index(fact.lower()))
        assert not facts or sentence(join.join(ordered)) + stop == summary


def test_entities_are_named_in_the_text(novel):
    text = novel.document.text.lower()
    names = [entity.name for entity in novel.entities]
    assert len(set(names)) == len(names)
    for entity in novel.entities:
        assert entity.kind in ("person", "guise", "place", "thing")
        assert entity.name.lower() in text and len(entity.description) > len(novel.voice.say.STOP)
    people = {entity.name for entity in novel.entities if entity.kind == "person"}
    assert people == {novel.voice.name(person.id) for person in novel.world.people}


def test_the_victim_is_named_only_where_the_text_names_the_victim(novel):
    victim, kinds = novel.world.crime.victim, {"tie": "event", "trace": "concept"}
    ties = {f"{kinds[event.kind]}{event.id}" for event in novel.world.events if event.kind in kinds}
    for edge in novel.graph[1]:
        if edge.source in ties and edge.target == f"person{victim}":
            assert novel.voice.name(victim) in novel.document[edge.span]


def test_the_graph_knows_the_guests(novel):
    for event in novel.world.events:
        for guest in event.slots.get("guests", ()):
            (edge,) = [e for e in novel.graph[1] if (e.source, e.target) == (f"event{event.id}", f"person{guest}")]
            assert novel.voice.name(guest) in novel.document[edge.span]


def test_the_graph_stands_on_the_text(novel):
    nodes, edges = novel.graph
    ids = {node.id for node in nodes}
    assert {node.type for node in nodes} == NODES and len(ids) == len(nodes)
    for place in (*nodes, *edges):
        assert 0 <= place.span.start < place.span.end <= len(novel.document.text)
    for edge in edges:
        assert {edge.source, edge.target} <= ids and edge.relation
    for node in nodes:
        if node.type == "entity":
            assert node.content.lower() in novel.document[node.span].lower()
    for event in novel.world.events:
        (node,) = [node for node in nodes if re.fullmatch(rf"(event|claim|concept){event.id}", node.id)]
        assert node.span in novel.telling.events[event.id]


def test_the_memory_tiles_the_document_and_cuts_at_scenes(novel):
    memory = novel.memory
    assert len(memory.outline) == len(memory.core) == len(memory.chunks) == len(novel.world.scenes)
    assert memory.chunks[0].start == 0 and memory.chunks[-1].end == len(novel.document.text)
    assert all(before.end == after.start for before, after in pairwise(memory.chunks))
    assert {chunk.start for chunk in memory.chunks[1:]} == {scene.start for scene in novel.telling.scenes[1:]}


def test_the_memory_says_who_is_there_and_what_happens(novel):
    names = {entity.name for entity in novel.entities if entity.kind in ("person", "guise")}
    memory = novel.memory
    for passage, outline, core, chunk in zip(novel.telling.scenes, memory.outline, memory.core, memory.chunks, strict=True):
        scene = novel.world.scenes[passage.id]
        place = novel.voice.place(scene.place).lower()
        assert (place in outline.lower()) == (scene.form not in ("letter", "journal"))
        assert place not in outline.lower() or place in novel.document[chunk].lower()
        for name in names:
            if re.search(rf"\b{name}\b" if novel.document.language == "en" else name, outline, re.IGNORECASE):
                assert name.lower() in novel.document[chunk].lower(), (outline, novel.document[chunk])
        for i in scene.events:
            assert novel.voice.fact(novel.world.events[i]).lower() in core.lower()


# The text


def test_every_event_and_binding_is_told_in_its_scene(novel):
    passages = {passage.id: passage for passage in novel.telling.scenes}
    assert set(passages) == {scene.id for scene in novel.world.scenes}
    for event in novel.world.events:
        for span in novel.telling.events[event.id]:
            assert passages[event.scene].start <= span.start < span.end <= passages[event.scene].end
    for scene in novel.world.scenes:
        for i in scene.bindings:
            inside = [s for s in novel.telling.bindings[i] if passages[scene.id].start <= s.start <= passages[scene.id].end]
            assert len(inside) == scene.bindings.count(i)
    assert len(novel.telling.refrains) == len(novel.telling.chapters)


def test_a_letter_is_not_broken_by_the_narrator(novel):
    """Who is who is told after a letter, a journal, a contest; each time in other words."""
    for passage in novel.telling.scenes:
        scene = novel.world.scenes[passage.id]
        if scene.form in ("letter", "journal", "contest"):
            ends = [span.end for i in scene.events for span in novel.telling.events[i]]
            spans = [span for i in scene.bindings for span in novel.telling.bindings[i]]
            assert all(span.start > max(ends) for span in spans if passage.start <= span.start <= passage.end)
    for spans in novel.telling.bindings.values():
        assert len({novel.document[span] for span in spans}) == len(spans)


def test_english_sentences_begin_with_a_capital(novel):
    if novel.document.language != "en":
        return
    text = novel.document.text
    for pattern in (r"[.!?] +[a-z].{20}", r"(?<=\n)[\"']?[a-z].{20}", r"[.]['\"] [a-z].{20}", r"\ba [aeio]\w+.{20}"):
        assert re.findall(rf".{{0,40}}{pattern}", text) == []
    assert not re.search(r"\b(the|a|an) (the|a|an)\b|\.\.|,\.|\.,", text)


def test_two_bystanders_are_two(novel):
    """Nobody answers himself."""
    for talker in [who for group in novel.voice.words.scenes.BYSTANDERS.values() for who in group]:
        assert not re.search(rf"\b{talker}\b and {talker}\b", novel.document.text, re.IGNORECASE)


# The wording


def shape(value, lengths=False):
    """Keys and types, without the words; with the lengths of lists, if asked for."""
    if isinstance(value, dict):
        return {key: shape(item, lengths) for key, item in value.items()}
    return type(value).__name__, lengths and not isinstance(value, str) and len(value)


@LANGUAGE
def test_languages_have_the_same_names_and_keys(language):
    ours, theirs = (vars(wording(novel)) for novel in ("en", language))
    for module in ours:
        here, there = vars(ours[module]), vars(theirs[module])
        assert shape(here, module == "names") == shape(there, module == "names")
        for name, words in here.items() if module == "names" else ():
            flat = list(words.values()) if isinstance(words, dict) else list(there[name])
            if all(isinstance(item, str) for item in flat):
                assert len(set(flat)) == len(flat), name


@LANGUAGE
def test_given_names_can_be_told_apart(language):
    names = wording(language).names
    given = [*names.WOMEN, *names.MEN]
    assert len(set(given)) == len(given) == 120
    if language == "zh":
        assert not [(a, b) for a in given for b in given if a != b and a in b]


@LANGUAGE
def test_there_are_sixty_kinds_in_several_wordings(language):
    events, least = wording(language).events, 4 if language == "en" else 2
    wordings = [entry["tell"] for entry in (*events.EVENTS.values(), *events.CRIMES.values())]
    wordings += [clue[sort] for clue in events.CLUES.values() for sort in ("trace", "tie")]
    assert len(wordings) >= 60 and all(len(set(tells)) == len(tells) >= least for tells in wordings)
    assert set(events.CRIMES) == set(CRIMES) and set(events.CLUES) == set(CLUES)
    assert set(SLOTS) <= set(events.EVENTS)


def slots(template):
    return {name for _, name, _, _ in Formatter().parse(template) if name}


IN_PARTS = ("gathering", "bill", "dispute", "contest", "relay")


@LANGUAGE
def test_what_is_asked_is_told(language):
    for kind, entry in wording(language).events.EVENTS.items():
        told_of = set.intersection(*map(slots, entry["tell"]))
        assert slots(entry["fact"]) <= {*SLOTS.get(kind, "abopqnw")}
        assert slots(entry["ask"][next(iter(entry["ask"]))]) | {*entry["ask"]} <= {*SLOTS.get(kind, "abopqnw")}
        if kind not in IN_PARTS:
            for slot, ask in entry["ask"].items():
                assert slot in told_of and slots(ask) <= told_of and slot not in slots(ask), (kind, slot)
            assert slots(entry["fact"]) <= told_of, kind
    for clue in wording(language).events.CLUES.values():
        assert all("a" in slots(tie) for tie in clue["tie"])


STOP = """
a an the of to in at on by for with from as into off out up who whom whose what which where how when did do does was were
is it be been had has have having one some someone somebody something another other than that this many much and or not no
all his her him she he own after before between through over upon get got make made take took s two
"""
ALLOWED = {"shillings"}  # the coin has no other name


def stems(texts):
    """The content words, without endings."""
    words = re.findall(r"[a-z]+", " ".join(re.sub(r"{\w+}", " ", text) for text in texts).lower())
    return {re.sub(r"(ing|ed|es|s|e)$", "", word) for word in words if word not in {*STOP.split(), *ALLOWED}}


@pytest.mark.parametrize("kind", list(wording("en").events.EVENTS))
def test_questions_avoid_the_words_of_the_telling(kind):
    entry = wording("en").events.EVENTS[kind]
    tells = [tell for part in ("tell", "second", "mark", "arrive") for tell in entry.get(part, ())]
    assert not stems(tells) & stems([entry["fact"], entry["inf"], *entry["ask"].values()])


@pytest.mark.parametrize("clue", CLUES)
def test_what_is_said_of_a_clue_avoids_the_words_of_its_telling(clue):
    entry = wording("en").events.CLUES[clue]
    assert not stems([*entry["trace"], *entry["tie"]]) & stems([entry["fact"], entry["about"]])


def test_no_event_looks_like_a_tie():
    """What ties a person to a trace is told of that person by a tie only."""
    told_of = " ".join(tell for entry in wording("en").events.EVENTS.values() for tell in entry["tell"])
    signs = "limp|lame|left hand|cloves|blue paper|green wool|brick pits|iron key|yard dog"
    assert not re.findall(signs, told_of)
    assert not {"ankle", "knee", "hip", "leg", "foot"} & {*wording("en").names.WORDS["fall"]}


def test_chinese_questions_avoid_the_verbs_of_the_telling():
    """No run of two characters of a `fact` or `inf` stands in a telling of its kind."""
    overlaps = {}
    for kind, entry in wording("zh").events.EVENTS.items():
        tells = re.sub(r"{\w+}", " ", " ".join(entry["tell"]))
        asks = re.sub(r"{\w+}", " ", " ".join([entry["fact"], entry["inf"]]))
        pairs = {asks[i : i + 2] for i in range(len(asks) - 1) if re.fullmatch(r"[\u4e00-\u9fff]{2}", asks[i : i + 2])}
        if shared := {pair for pair in pairs if pair in tells}:
            overlaps[kind] = shared
    assert not overlaps
