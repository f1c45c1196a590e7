"""MoM's document memory: an outline, and for each scenario a chunk by its ends and what it is about (Table 4).

Its second role is the reverse one: from a document and its memory to the path of thought between them (section 3.1.3).
The gold is what the storyworld's log says of a few scenes in a row. Taught in notebook 01_the_reader. This module does
not find the chunks in the document, score memories or choose among them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, Field
from transformers import PreTrainedTokenizerBase

from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.corpora.storyworld.voice import sentence
from mindscape.llm import Tags
from mindscape.llm.tags import Text
from mindscape.roles.base import Role, mended
from mindscape.roles.edits import shown_fact
from mindscape.text import Span

MASK = "[MASK]"
# Tokens of an excerpt and of a prompt, examples from a book. Two scenes of Chinese seldom have fewer tokens.
LENGTHS = {"en": (300, 620), "zh": (300, 1050)}
LONGEST = {"en": 900, "zh": 1400}
MOST = {"en": 14, "zh": 8}
LONGEST_REPLY = {"en": 400, "zh": 600}  # tokens
ENDS = {"en": 5, "zh": 8}  # words or characters at each end of a chunk

PROMPTS = {
    "en": (
        "Extract the memory of a document, as an expert of its field would who has read it whole.\n"
        "First think: what holds the document together, and where does one part end and the next begin? Then write an "
        "outline, a line for each part, and for each line a scenario: the chunk of the document, and what it comes to. "
        "A chunk is complete in its sense and not too short; the chunks follow each other without a gap. Of a chunk "
        f"give only its first words, {MASK} and its last words, letter by letter.\n"
        "Reply in this form and add nothing:\n"
        "<think>your reasoning</think>\n"
        "<outline>\n- part 1\n- part 2\n</outline>\n"
        f"<scenario>\n<chunk>first words {MASK} last words</chunk>\nwhat part 1 comes to\n</scenario>\n"
        "<scenario>\n...\n</scenario>\n\n"
        "Document:\n{document}"
    ),
    "zh": (
        "请像通读全文的领域专家那样，提取文档的记忆。\n"
        "先思考：全文靠什么贯穿，各部分在哪里分界。再写大纲，每部分一行；然后每行对应一个场景：文档中的一块及其要点。"
        f"每块意思完整，不可过短，前后相接。块只写开头几个字、{MASK}和结尾几个字，逐字照抄。\n"
        "按此格式回复，不加别的：\n"
        "<think>思考过程</think>\n"
        "<outline>\n- 部分一\n- 部分二\n</outline>\n"
        f"<scenario>\n<chunk>开头{MASK}结尾</chunk>\n部分一的要点\n</scenario>\n"
        "<scenario>\n……\n</scenario>\n\n"
        "文档：\n{document}"
    ),
}
REVERSE_PROMPTS = {
    "en": (
        "Below are a document and the memory that an expert took from it: an outline, and chunks with what they come to. "
        "Set down in a few sentences the thoughts that lead from the document to this memory: how many parts there are, "
        "by what they are told apart, and what was kept or passed over. Reply with the thoughts alone.\n\n"
        "Document:\n{document}\n\n"
        "Memory:\n{memory}"
    ),
    "zh": (
        "下面是一份文档，以及专家从中提取的记忆：大纲、各块及其要点。请用几句话写出从文档到这份记忆的思路：分几部分，"
        "凭什么划分，留下什么、略过什么。只回复思路。\n\n"
        "文档：\n{document}\n\n"
        "记忆：\n{memory}"
    ),
}

THOUGHTS = {
    "en": {
        "numbers": ("two", "three", "four"),
        "parts": "There are {n} parts, told apart by their time: {times}.",
        "aside": "An aside says who is who: {list}.",
        "same": "Nothing else binds them but the town and its people.",
        "shared": "{list} comes up in more than one part.",
        "shared_many": "{list} come up in more than one part.",
        "kept": "I keep what somebody did or is, and pass over the weather and the talk.",
    },
    "zh": {
        "numbers": ("两", "三", "四"),
        "parts": "全文分{n}部分，以时间划分：{times}。",
        "aside": "有一处旁白交代身份：{list}。",
        "same": "各部分之间只有同一个镇和镇上的人相连。",
        "shared": "{list}在不止一个部分出现。",
        "shared_many": "{list}在不止一个部分出现。",
        "kept": "留下各人做了什么、是什么人，略过天气和闲谈。",
    },
}


class Scenario(BaseModel):
    """A chunk by its first and last words, and its core content."""

    chunk: str = Field(pattern=r"^[^<]*[^<\s][^<]*\[MASK\][^<]*[^<\s][^<]*$")
    core: Text = Field(min_length=1)

    @property
    def ends(self) -> tuple[str, str]:
        """The chunk's first and last words.

        >>> Scenario(chunk="It rained [MASK] went home.", core="Ivo left.").ends
        ('It rained', 'went home.')
        """
        head, _, tail = self.chunk.partition(MASK)
        return head.strip(), tail.strip()


class Extracted(BaseModel):
    """A document memory without the thoughts that led to it."""

    outline: list[str] = Field(min_length=1)
    scenario: list[Scenario] = Field(min_length=1)


class DocumentMemory(BaseModel):
    """What the reader of a document replies (MoM, Table 4)."""

    think: str
    outline: list[str] = Field(min_length=1)
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
    first, last = list(re.finditer(word, lines[0])), list(re.finditer(word, lines[-1]))
    return lines[0][: first[: ENDS[language]][-1].end()].strip(), lines[-1][
        last[-ENDS[language] :][0].start() :
    ].strip()


def _runs(book: Book, chance: Chance, tokenizer: PreTrainedTokenizerBase) -> Iterator[tuple[range, str]]:
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


def _fits(prompt: str, language: str, tokenizer: PreTrainedTokenizerBase) -> bool:
    return len(tokenizer(prompt)["input_ids"]) <= LONGEST[language]


def _gold(book: Book, chance: Chance, tokenizer: PreTrainedTokenizerBase) -> Iterator[tuple[dict[str, str], Any]]:
    made, language = 0, book.document.language
    for run, excerpt in _runs(book, chance, tokenizer):
        if made == MOST[language]:
            return
        slots, it = {"document": excerpt}, _extract(book, run)
        value = DocumentMemory(think=_thoughts(book, run), outline=it.outline, scenario=it.scenario)
        short = len(tokenizer(MEMORY.render(value))["input_ids"]) <= LONGEST_REPLY[language]
        if short and _fits(MEMORY.prompt(language, **slots), language, tokenizer):
            made += 1
            yield slots, value


def _reverse_gold(
    book: Book, chance: Chance, tokenizer: PreTrainedTokenizerBase
) -> Iterator[tuple[dict[str, str], str]]:
    made, language = 0, book.document.language
    for run, excerpt in _runs(book, chance, tokenizer):
        if made == MOST[language]:
            return
        slots = {"document": excerpt, "memory": Tags(Extracted).render(_extract(book, run))}
        if _fits(REVERSE.prompt(language, **slots), language, tokenizer):
            made += 1
            yield slots, _thoughts(book, run)


MEMORY = Role("memory", PROMPTS, Tags(DocumentMemory), _gold)
REVERSE = Role("reverse_reasoning", REVERSE_PROMPTS, None, _reverse_gold, plain)
