"""MoM's document memory: an outline, and for each scenario a chunk by its ends and what it is about (Table 4).

Its second role is the reverse one: from a document and its memory to the path of thought between them (section 3.1.3).
The gold is what the storyworld's log says of a few scenes in a row. Taught in notebook 01_the_reader. This module does
not find the chunks in the document, score memories or choose among them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from mindscape.llm import Tags
from mindscape.llm.tags import Text
from mindscape.prompts import languages, paper, table
from mindscape.roles.base import Gold, Role, first, mended
from mindscape.roles.edits import shown_fact
from mindscape.text import Span, Tokenizer
from storyworld import Book
from storyworld.chance import Chance
from storyworld.voice import sentence

MASK = "[MASK]"
# Tokens of an excerpt and of a prompt, examples from a book. Two scenes of Chinese seldom have fewer tokens.
LENGTHS = {"en": (300, 620), "zh": (300, 1050)}
LONGEST = {"en": 900, "zh": 1400}
MOST = {"en": 14, "zh": 8}
LONGEST_REPLY = {"en": 400, "zh": 600}  # tokens
ENDS = {"en": 5, "zh": 8}  # words or characters at each end of a chunk


THOUGHTS = table("roles", "memory")


def ends_of(chunk: str) -> tuple[str, str]:
    """First and last words of a chunk as it was said; the last ones are "" where [MASK] is not there.

    >>> ends_of("It rained [MASK] went home."), ends_of("It rained")
    (('It rained', 'went home.'), ('It rained', ''))
    """
    head, _, tail = chunk.partition(MASK)
    return head.strip(), tail.strip()


class Scenario(BaseModel):
    """A chunk by its first and last words, and its core content."""

    chunk: str = Field(pattern=r"^[^<]*[^<\s][^<]*\[MASK\][^<]*[^<\s][^<]*$")
    core: Text = Field(min_length=1)

    @property
    def ends(self) -> tuple[str, str]:
        """The chunk's first and last words."""
        return ends_of(self.chunk)


def _entries(outline: Any) -> Any:
    """The entries of an outline; a summary on a line of its own belongs to the role before it."""
    if not isinstance(outline, list):
        return outline
    found: list[str] = []
    for line in outline:
        if (
            found
            and isinstance(line, str)
            and re.match(r"(?:content )?summary\s*:|(?:内容)?(?:概要|摘要)\s*[:：]", line, re.I)
        ):
            found[-1] = f"{found[-1]}; {line}"
        else:
            found.append(line)
    return found


Outline = Annotated[list[str], Field(min_length=1), BeforeValidator(_entries)]


class Extracted(BaseModel):
    """A document memory without the thoughts that led to it."""

    outline: Outline
    scenario: list[Scenario] = Field(min_length=1)


class DocumentMemory(BaseModel):
    """What the reader of a document replies (MoM, Table 4)."""

    think: str
    outline: Outline
    scenario: list[Scenario] = Field(min_length=1)


THOUGHT_REPAIRS = (
    ("code fence stripped", r"^```\w*\n(.*?)\n?```$", r"\1"),
    ("think tags dropped", r"</?think>", ""),
    ("memory dropped", r"<(?:outline|scenario)>.*$", ""),
)


def plain(text: str) -> tuple[str, list[str]]:
    """The path of thought in a reply, and the repairs that it took. Raises ValueError where there is none.

    >>> plain("<think>Two parts.</think>")
    ('Two parts.', ['think tags dropped'])
    """
    return mended(text, THOUGHT_REPAIRS)


def _spans(book: Book) -> list[Span]:
    """The scenes of a book as spans that tile it; the heading of a chapter goes with the scene that it is over."""
    scenes, chapters = book.told.scenes, [chapter.start for chapter in book.told.chapters]
    starts = [0]
    for before, scene in zip(scenes, scenes[1:], strict=False):
        heading = chapters[bisect_right(chapters, scene.start) - 1]
        starts.append(heading if heading >= before.end else scene.start)
    return [Span(start, end) for start, end in zip(starts, [*starts[1:], len(book.document.text)], strict=True)]


def ends(text: str, language: str = "en") -> tuple[str, str]:
    """The first words of a text and its last, as they stand; each of one line, so that they are found again.

    >>> ends("It rained all day on the hill. Then Ivo went home.\\n\\n")
    ('It rained all day on', 'hill. Then Ivo went home.')
    """
    lines = text.strip().split("\n")
    word = r"\S+" if language == "en" else r"\S"
    first = list(re.finditer(word, lines[0]))[: ENDS[language]]
    last = list(re.finditer(word, lines[-1]))[-ENDS[language] :]
    return lines[0][: first[-1].end()].strip(), lines[-1][last[0].start() :].strip()


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


def _gold(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    language = book.document.language
    for run, excerpt in _runs(book, chance, tokenizer):
        slots, it = {"document": excerpt}, _extract(book, run)
        value = DocumentMemory(think=_thoughts(book, run), outline=it.outline, scenario=it.scenario)
        short = len(tokenizer(MEMORY.render(value))["input_ids"]) <= LONGEST_REPLY[language]
        if short and _fits(MEMORY.prompt(language, **slots), language, tokenizer):
            yield slots, value


def _reverse_gold(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    language = book.document.language
    for run, excerpt in _runs(book, chance, tokenizer):
        slots = {"document": excerpt, "memory": Tags(Extracted).render(_extract(book, run))}
        if _fits(REVERSE.prompt(language, **slots), language, tokenizer):
            yield slots, _thoughts(book, run)


MEMORY = Role(
    "memory", languages("roles", "memory"), Tags(DocumentMemory), first(MOST, _gold), paper=paper("roles", "memory")
)
REVERSE = Role("reverse_reasoning", languages("roles", "reverse_reasoning"), None, first(MOST, _reverse_gold), plain)
