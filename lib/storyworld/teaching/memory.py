"""Gold document memories (MoM, Table 4), and the reasoning that leads to them (section 3.1.3): of a few scenes in a row.

Taught in notebook 01_the_reader.
"""

from bisect import bisect_right
from collections.abc import Iterator

from mindscape.llm import Tags
from mindscape.prompts import short_texts
from mindscape.roles.memory import MASK, MEMORY, REVERSE, DocumentMemory, Extracted, Scenario, ends
from mindscape.text import Span, Tokenizer
from storyworld import Book
from storyworld.chance import Chance
from storyworld.teaching.graphs import shown_fact
from storyworld.teaching.passages import Gold
from storyworld.voice import sentence

# Tokens of an excerpt and of a prompt, examples from a book. Two scenes of Chinese seldom have fewer tokens.
LENGTHS = {"en": (300, 620), "zh": (300, 1050)}
LONGEST = {"en": 900, "zh": 1400}
LONGEST_REPLY = {"en": 400, "zh": 600}  # tokens
THOUGHTS = short_texts("roles", "memory")


def _spans(book: Book) -> list[Span]:
    """The scenes of a book as spans that tile it; the heading of a chapter goes with the scene that it is over."""
    scenes, chapters = book.told.scenes, [chapter.start for chapter in book.told.chapters]
    starts = [0]
    for before, scene in zip(scenes, scenes[1:], strict=False):
        heading = chapters[bisect_right(chapters, scene.start) - 1]
        starts.append(heading if heading >= before.end else scene.start)
    return [Span(start, end) for start, end in zip(starts, [*starts[1:], len(book.document.text)], strict=True)]


def _runs(book: Book, chance: Chance, tokenizer: Tokenizer) -> Iterator[tuple[range, str]]:
    """Runs of two to four scenes of a fitting length, each with its text; their chunks' ends stand once in it."""
    spans, text = _spans(book), book.document.text
    least, most = LENGTHS[book.document.language]
    lengths = [len(tokenizer(text[span.start : span.end])["input_ids"]) for span in spans]
    runs = [range(i, i + n) for n in (2, 3, 4) for i in range(len(spans) - n + 1)]
    runs = [run for run in runs if least <= sum(lengths[i] for i in run) <= most]
    for run in chance.shuffled(runs):
        excerpt = text[spans[run[0]].start : spans[run[-1]].end].strip()
        found = [end for i in run for end in ends(text[spans[i].start : spans[i].end], book.document.language)]
        if all(excerpt.count(end) == 1 for end in found):
            yield run, excerpt


def _extract(book: Book, run: range) -> Extracted:
    spans, text, world = _spans(book), book.document.text, book.world
    scenarios = []
    for i in run:
        head, tail = ends(text[spans[i].start : spans[i].end], book.document.language)
        chunk = f"{head} {MASK} {tail}" if book.document.language == "en" else f"{head}{MASK}{tail}"
        scene = world.scenes[book.told.scenes[i].id]
        facts = [shown_fact(book, world.events[j]) for j in scene.events]
        facts += [book.voice.binding(world.bindings[j]) for j in scene.bindings]
        core = sentence(book.voice.say.FACT_JOIN.join(facts)) + book.voice.say.STOP
        scenarios.append(Scenario(chunk=chunk, core=core))
    return Extracted(outline=[book.memory.outline[i] for i in run], scenario=scenarios)


def _thoughts(book: Book, run: range) -> str:
    """How a reader gets from the scenes to their memory, as the log knows it."""
    world, voice, say = book.world, book.voice, THOUGHTS[book.document.language]
    scenes = [world.scenes[book.told.scenes[i].id] for i in run]
    times = voice.say.FACT_JOIN.join(voice.when(scene) for scene in scenes)
    parts = [say["parts"].format(n=say["numbers"][len(scenes) - 2], times=times)]
    bindings = [voice.binding(world.bindings[i]) for scene in scenes for i in scene.bindings]
    if bindings:
        parts.append(say["aside"].format(list=voice.say.FACT_JOIN.join(bindings)))
    named = [
        {name for name in map(voice.name, range(len(world.people))) if name in book.memory.outline[i]} for i in run
    ]
    shared = [name for name in map(voice.name, range(len(world.people))) if sum(name in it for it in named) > 1]
    if shared:
        parts.append(say["shared_many" if len(shared) > 1 else "shared"].format(list=voice.list(shared)))
    else:
        parts.append(say["same"])
    return voice.words.scenes.JOIN.join([*parts, say["kept"]])


def _fits(prompt: str, language: str, tokenizer: Tokenizer) -> bool:
    return len(tokenizer(prompt)["input_ids"]) <= LONGEST[language]


def memory(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Runs of scenes and their memories: outline, chunks, scenario (MoM, Table 4)."""
    language = book.document.language
    for run, excerpt in _runs(book, chance, tokenizer):
        slots, it = {"document": excerpt}, _extract(book, run)
        value = DocumentMemory(think=_thoughts(book, run), outline=it.outline, scenario=it.scenario)
        short = len(tokenizer(MEMORY.render(value))["input_ids"]) <= LONGEST_REPLY[language]
        if short and _fits(MEMORY.prompt(language, **slots), language, tokenizer):
            yield slots, value


def reverse_reasoning(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Runs of scenes with their memories, and the reasoning that leads to these (MoM, section 3.1.3)."""
    language = book.document.language
    for run, excerpt in _runs(book, chance, tokenizer):
        slots = {"document": excerpt, "memory": Tags(Extracted).render(_extract(book, run))}
        if _fits(REVERSE.prompt(language, **slots), language, tokenizer):
            yield slots, _thoughts(book, run)
