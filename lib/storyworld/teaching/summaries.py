"""Gold summaries and entities: what a passage tells, in the words of a book's gold (roles of MiA-RAG and MiA-Signature); gold
document memories of a few scenes in a row (MoM, Table 4), and the reasoning that leads to them (section 3.1.3).

A summary has the events of its passage and who is who. What only the rest of the book supports is in none of them. Entities
are the people, guises, places and things of which a passage tells an event or a binding; somebody who only stands by is left
out, and entities that are one and the same are not merged. Taught in notebook 01_the_reader.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate, takewhile

from mindscape.llm import Tags
from mindscape.prompts import short_texts
from mindscape.roles import MASK, MEMORY, REVERSE, DocumentMemory, Extracted, Scenario, ends
from mindscape.text import Chunk, Span, Tokenizer, mentions
from storyworld import Book
from storyworld.teaching import passages
from storyworld.teaching.graphs import shown_fact
from storyworld.teaching.passages import Gold
from storyworld.telling import sentence
from storyworld.world import Chance

# Tokens of an excerpt and of a prompt, examples from a book. Two scenes of Chinese seldom have fewer tokens.
LENGTHS = {"en": (300, 620), "zh": (300, 1050)}
LONGEST_PROMPT = {"en": 900, "zh": 1400}
LONGEST_REPLY = {"en": 400, "zh": 600}  # tokens
THOUGHTS = short_texts("roles", "memory")
SIZES = (200, 300, 400, 500)  # tokens of a chunk, at most
SESSION = {"en": 700, "zh": 600}  # tokens of a session's text, at most
ROOM = 550  # tokens of the summaries that are merged
LONGEST = 200  # tokens of a reply
PLOT = ("crime", "trace", "tie", "alibi", "false")  # events that a short summary keeps before others
CHARACTERS = 500  # of a chunk's summary, as its prompt asks
QUIET = short_texts("roles", "summaries")["quiet"]
ENTITY_PASSAGES = 15  # of one book
ENTITY_SIZES = (100, 150, 200)  # tokens of a passage, at most
NOBODY = 0.1  # share of the passages tell of nobody


def _spans(book: Book) -> list[Span]:
    """The scenes of a book as spans that tile it; the heading of a chapter goes with the scene that it is over."""
    scenes, chapters = book.telling.scenes, [chapter.start for chapter in book.telling.chapters]
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
        endings = [end for i in run for end in ends(text[spans[i].start : spans[i].end], book.document.language)]
        if all(excerpt.count(end) == 1 for end in endings):
            yield run, excerpt


def _extract(book: Book, run: range) -> Extracted:
    spans, text, world = _spans(book), book.document.text, book.world
    scenarios = []
    for i in run:
        blank = " " if book.document.language == "en" else ""
        chunk = f"{blank}{MASK}{blank}".join(ends(text[spans[i].start : spans[i].end], book.document.language))
        scene = world.scenes[book.telling.scenes[i].id]
        facts = [shown_fact(book, world.events[j]) for j in scene.events]
        facts += [book.voice.binding(world.bindings[j]) for j in scene.bindings]
        scenarios.append(Scenario(chunk=chunk, core=book.voice.stated(facts)))
    return Extracted(outline=[book.memory.outline[i] for i in run], scenario=scenarios)


def _thoughts(book: Book, run: range) -> str:
    """How a reader gets from the scenes to their memory, as the log knows it."""
    world, voice, say = book.world, book.voice, THOUGHTS[book.document.language]
    scenes = [world.scenes[book.telling.scenes[i].id] for i in run]
    times = voice.say.FACT_JOIN.join(voice.when(scene) for scene in scenes)
    parts = [say["parts"].format(n=say["numbers"][len(scenes) - 2], times=times)]
    bindings = [voice.binding(world.bindings[i]) for scene in scenes for i in scene.bindings]
    if bindings:
        parts.append(say["aside"].format(list=voice.say.FACT_JOIN.join(bindings)))
    outline = [book.memory.outline[i] for i in run]
    shared = [name for name in map(voice.name, range(len(world.people))) if sum(name in topic for topic in outline) > 1]
    form = say["shared_many" if len(shared) > 1 else "shared" if shared else "same"]
    parts.append(form.format(list=voice.list(shared)))
    return voice.words.scenes.JOIN.join([*parts, say["kept"]])


def _short(text: str, tokenizer: Tokenizer, most: int = LONGEST) -> bool:
    return len(tokenizer.encode(text)) <= most


def memory(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Runs of scenes and their memories: outline, chunks, scenario (MoM, Table 4)."""
    language = book.document.language
    for run, excerpt in _runs(book, chance, tokenizer):
        slots, extracted = {"document": excerpt}, _extract(book, run)
        value = DocumentMemory(think=_thoughts(book, run), outline=extracted.outline, scenario=extracted.scenario)
        prompt, reply = MEMORY.prompt(language, **slots), MEMORY.render(value)
        if _short(reply, tokenizer, LONGEST_REPLY[language]) and _short(prompt, tokenizer, LONGEST_PROMPT[language]):
            yield slots, value


def reverse_reasoning(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Runs of scenes with their memories, and the reasoning that leads to these (MoM, section 3.1.3)."""
    language = book.document.language
    for run, excerpt in _runs(book, chance, tokenizer):
        slots = {"document": excerpt, "memory": Tags(Extracted).render(_extract(book, run))}
        if _short(REVERSE.prompt(language, **slots), tokenizer, LONGEST_PROMPT[language]):
            yield slots, _thoughts(book, run)


def as_sentences(book: Book, statements: list[str]) -> str:
    """The statements as sentences, or that there is nothing to tell."""
    if not statements:
        return QUIET[book.document.language]
    return book.voice.words.scenes.JOIN.join(sentence(says) + book.voice.say.STOP for says in statements)


def as_summary(book: Book, statements: list[str], tokenizer: Tokenizer) -> str:
    """The statements as one summary: who is who first, then as much of the rest as `LONGEST` allows, the crime before
    all, in the order of the book."""
    voice, summary, join = book.voice, book.voice.say.SUMMARY, book.voice.words.scenes.JOIN
    who = {voice.binding(binding): binding for binding in book.world.bindings}
    bound = {says: who[says] for says in statements if says in who}  # as they come: to be read off from left to right
    trades = [binding.person for binding in bound.values() if binding.kind == "trade"]
    people = [summary["person"].format(name=voice.name(person), trade=voice.bare_trade(person)) for person in trades]
    parts = [sentence(voice.list(people)) + voice.say.STOP] if people else []
    for kind in ("kin", "guise"):
        if listed := [says for says, binding in bound.items() if binding.kind == kind]:
            parts.append(sentence(summary[kind].format(list=voice.list(listed))))
    rest = [says for says in dict.fromkeys(statements) if says not in bound]
    plot = {voice.fact(event) for event in book.world.events if event.kind in PLOT}
    kept: list[str] = []
    for says in sorted(rest, key=lambda says: says not in plot):
        longer = [fact for fact in rest if fact in kept or fact == says]
        if not _short(join.join([*parts, as_sentences(book, longer)]), tokenizer):
            break
        kept = longer
    return join.join([*parts, as_sentences(book, kept)] if kept else parts)


def _texts(book: Book, chunks: list[Chunk]) -> list[tuple[Chunk, list[str]]]:
    """The chunks that can be summarised by themselves, with what they tell."""
    pairs = [(chunk, passages.statements(book, chunk.start, chunk.end)) for chunk in chunks]
    return [(chunk, statements) for chunk, statements in pairs if statements is not None]


def chunk_summary(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Chunks that can be summarised by themselves, and their summaries (MiA-RAG, Eq. 3)."""
    quiet, chunks = 0, passages.cut(book, tokenizer, chance.pick(SIZES))
    for chunk, statements in chance.shuffled(_texts(book, chunks)):
        value = as_sentences(book, statements)
        quiet += not statements
        if (statements or quiet == 1) and _short(value, tokenizer) and len(value) < CHARACTERS:
            yield {"chunk_content": book.document[chunk].strip()}, value


def session_summary(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Sessions of a book and their summaries (MiA-Signature, appendix F)."""
    chunks = passages.cut(book, tokenizer, SESSION[book.document.language])
    for chunk, statements in chance.shuffled(_texts(book, chunks)):
        value = as_sentences(book, statements)
        if _short(value, tokenizer):
            part = {"idx": str(chunk.index + 1), "total": str(len(chunks))}
            yield {**part, "raw_text": book.document[chunk].strip()}, value


def global_summary(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Runs of neighbouring summaries, as a fold reads them, and summaries from all over the book, by turns."""
    texts = [text for text in _texts(book, passages.cut(book, tokenizer, SIZES[-1])) if text[1]]
    for i, start in enumerate(chance.shuffled(range(max(1, len(texts) - 5)))):
        order = range(start, len(texts)) if i % 2 else chance.shuffled(range(len(texts)))
        used = accumulate(len(tokenizer.encode(as_sentences(book, texts[at][1]))) + 1 for at in order)
        fit = len(list(takewhile(lambda tokens: tokens <= ROOM, used)))
        picked = [texts[at][1] for at in sorted(order[:fit])]
        value = as_summary(book, [says for statements in picked for says in statements], tokenizer)
        if _short(value, tokenizer):
            yield {"concatenated_summaries": "\n".join(as_sentences(book, statements) for statements in picked)}, value


def described(book: Book, statements: list[str], places: Mapping[str, str]) -> list[dict[str, str]]:
    """Whom and what the statements name, and their places, in the order of the statements, each with those on it."""
    facts: dict[str, list[str]] = {}
    for says in statements:
        for entity in book.entities:
            if mentions(entity.name, says) or entity.name == places.get(says):
                facts.setdefault(entity.name, []).append(says)
    return [{"name": name, "description": book.voice.stated(says)} for name, says in facts.items()]


def named_entities(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Passages and the entities that they name (MiA-RAG, section 3.2); some name nobody."""
    places, full, empty = passages.settings(book), [], []
    for size in sorted({ENTITY_SIZES[0], chance.pick(ENTITY_SIZES)}):
        for chunk in passages.cut(book, tokenizer, size):
            statements = passages.statements(book, chunk.start, chunk.end)
            if statements is not None:
                value = described(book, statements, places)
                tokens = len(tokenizer.encode(json.dumps(value, ensure_ascii=False)))
                (full if value else empty).append((tokens, chunk, value))
    nobody = chance.sample(empty, round(NOBODY * ENTITY_PASSAGES))
    somebody = chance.sample([passage for passage in full if passage[0] <= LONGEST], ENTITY_PASSAGES - len(nobody))
    for _, chunk, value in chance.shuffled([*nobody, *somebody]):
        yield {"text": book.document[chunk].strip()}, value
