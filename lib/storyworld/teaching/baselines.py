"""Examples for what MindGraph's baselines ask of a model: what a perfect reader would reply in each of their steps.

GraphRAG extracts, gleans, reports and maps; Chain-of-Agents hands a summary on; GAM takes notes, plans, reads pages and asks
itself whether they suffice; RLM writes code and is asked by it; most give the answer from a few sentences in the end, Direct
from all that its window holds. All of it is said in the facts of the book's log, one a line, so that a step can build on the
one before. RLM's program is the kit's own: the parts of the text that hold the question's words, each put to the second
model; then the same with the names learned.

English alone. Taught in notebook 32_long_reason.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mindscape.ask import Meter
from mindscape.llm import LanguageModel
from mindscape.llm.recording import Scripted
from mindscape.mindgraph import baselines
from mindscape.mindgraph.answer import GAP, clipped, cut
from mindscape.mindgraph.baselines import Extracted, Named, Note, Plan, Point, Points, Reflection, Related
from mindscape.mindgraph.communities import COMMUNITY_REPORT, Report
from mindscape.question import Question
from mindscape.roles import QA, Example, Form
from mindscape.text import Chunk, Span, Tokenizer
from storyworld import Book
from storyworld.teaching.graphs import Builder
from storyworld.world import Binding, Chance, Event

BLOCK = 512  # tokens of a block or page
VIEW = 7300  # tokens of a text that Direct reads with its question, in a window of 8,192
STATE = 1500  # tokens of a part of GraphRAG's graph, at most: all of it is shown
PART, STEP, PARTS = 1500, 1300, 8  # characters of a part of RLM's text, and from one to the next; parts it asks about
# In RLM's task as it was taught; the method's own has a window's 7,266 tokens and 20 s.
TURNS, LONGEST, SECONDS = 8, 7680, 60
LEFT_OUT = re.compile("what|which|where|when|whom|whose|that|this|with|from|were|there|other")
NOTHING = "nothing"  # what a query of RLM's replies where a part is of no use
ASKED = f"What in this passage bears on the question? One fact a line, or: {NOTHING}\nQuestion: "  # by a program
PROGRAM = """```python
words = {words}
parts = [context[i:i + {part}] for i in range(0, len(context), {step})]
parts.sort(key=lambda part: -sum(word in part for word in words))
asked = {asked} + {question} + "\\nPassage: "
for note in llm_query_batched([asked + part for part in parts[:{parts}]]):
    if note.strip() != "{nothing}":
        print(note)
```"""


class Telling:
    """A book in blocks, with what each of them tells."""

    def __init__(self, book: Book, tokenizer: Tokenizer, size: int = BLOCK):
        self.book, self.builder = book, Builder(book)
        counts: Any = Scripted(lambda *_: "", count=lambda talk, _=(): _tokens(tokenizer, talk))  # it is never asked
        self.meter = Meter(LanguageModel(counts))
        self.chunks = cut(book.document, self.meter, size)
        self.texts = [book.document[chunk].strip() for chunk in self.chunks]

    def of_block(self, chunk: Chunk) -> list[str]:
        """What a block tells, each fact once."""
        return list(dict.fromkeys(text for _, text, _ in self.builder.within(chunk)))

    def inquiries(self, chance: Chance) -> list["Inquiry"]:
        """The questions whose evidence is some of the log's, in an order of chance."""
        inquiries = [Inquiry(self, question) for question in chance.shuffled(self.book.questions)]
        return [inquiry for inquiry in inquiries if inquiry.events]

    def others(self, pages: Sequence[int]) -> list[int]:
        """The blocks but for these."""
        return [i for i in range(len(self.chunks)) if i not in pages]


class Inquiry:
    """A question, and which facts bear on it. `events` is empty where its evidence is none of the log's (a refrain)."""

    def __init__(self, telling: Telling, question: Question):
        self.telling, self.question = telling, question
        self.events, self.bindings = telling.builder.events(question), telling.builder.bindings(question)
        self.needed = {self.line(text, entry) for _, text, entry in telling.builder.facts if self.bears(entry)}

    def bears(self, entry: Event | Binding) -> bool:
        return entry in self.events if isinstance(entry, Event) else entry in self.bindings

    def line(self, text: str, entry: Event | Binding) -> str:
        """A fact in a line, with the answer where the question asks for what the fact does not say: where it was, say."""
        answer, sparse = self.question.answer, self.question.depth != "set-aggregation" and len(self.events) == 1
        says = not isinstance(entry, Event) or not sparse or answer.lower() in text.lower()
        return text if says else f"{text} ({answer})"

    def lines(self, start: int, end: int) -> list[str]:
        """What bears on the question between two offsets."""
        facts = self.telling.builder.within(Span(start, end))
        return list(dict.fromkeys(self.line(text, entry) for _, text, entry in facts if self.bears(entry)))

    def of_page(self, i: int) -> list[str]:
        """What bears on the question in a block."""
        return self.lines(self.telling.chunks[i].start, self.telling.chunks[i].end)

    def pages(self) -> list[int]:
        """The blocks that tell something that bears."""
        return [i for i in range(len(self.telling.chunks)) if self.of_page(i)]


def baseline_examples(
    book: Book, tokenizer: Tokenizer, seed: int = 0, *, direct: bool = False, every: int = 1
) -> list[Example]:
    """What the steps of the five baselines learn from a book, always the same for the same book and seed.

    `direct`: with a question on the whole text, as long as a batch, which weighs as much in training. `every`: RLM's turns
    for each such question alone, the second, fourth and so on for 2.

    >>> sorted({example.role for example in baseline_examples(training_book(820), tokenizer)})[:2]        # doctest: +SKIP
    ['coa worker', 'coa worker, idle']
    """
    chance, telling = Chance("baselines", book.document.id, seed), Telling(book, tokenizer)
    questions = telling.inquiries(chance)
    bound = [inquiry for inquiry in questions if inquiry.bindings]
    broad = [inquiry for inquiry in questions if len(inquiry.needed) > 2]
    chosen = chance.shuffled(list(dict.fromkeys([*bound[:5], *broad[:5], *questions[:6]])))
    made: list[Example] = []
    for i, inquiry in enumerate(chosen):
        made += [*_worker(inquiry, chance, 1 + i % 2), *_answer(inquiry, chance), *_reflected(inquiry, chance)]
        if i % every == every - 1:
            made += _by_code(inquiry, chance)
        if i < 4:
            made += _integrated(inquiry, chance)
    notes = [_note(telling, i) for i in range(len(telling.chunks))]
    made += _memorised(telling, notes, chance)
    for inquiry in chosen[:3]:
        made += _planned(inquiry, notes, chance)
    made += _indexed(telling, chosen, chance)
    return [*made, *_read_whole(telling, questions)] if direct else made


def relevance_examples(book: Book, tokenizer: Tokenizer, seed: int = 0, *, size: int = BLOCK, idle: int = 2) -> list[Example]:
    """What bears on a question and what does not, in blocks of at most `size` tokens: for workers and queries above all.

    A worker that hands on what it was given is right about most of a reply and has read nothing. So here half of the
    summaries are empty yet; three blocks of a question bear on it and `idle` do not, of which every second has most of its
    words. With one, a worker comes to say more: short replies weigh more in training, a token each, and idle ones are
    short. A few of the other steps keep them from being forgotten.

    >>> len(relevance_examples(training_book(876), tokenizer))                                            # doctest: +SKIP
    94
    """
    chance, telling = Chance("relevance", book.document.id, seed), Telling(book, tokenizer, size)
    made: list[Example] = []
    for k, inquiry in enumerate(telling.inquiries(chance)[:12]):
        pages, words = inquiry.pages(), words_of(inquiry.question.question)
        others = telling.others(pages)
        likely = sorted(others, key=lambda i: -sum(word in telling.texts[i] for word in words))[:6]
        blocks = [*chance.sample(pages, 3), *chance.sample(others, idle - idle // 2), *chance.sample(likely, idle // 2)]
        for i in blocks:
            before = [] if chance.hit(0.5) else inquiry.lines(0, telling.chunks[i].start)
            made.append(_handed_on(inquiry, i, before))
        made += [_queried(inquiry, telling.texts[i], inquiry.of_page(i)) for i in chance.sample(blocks, 2)]
        if k % 2:
            made += _answer(inquiry, chance)
        if k % 4 == 0:
            made += [*_reflected(inquiry, chance), *_by_code(inquiry, chance)]
        if k == 0:
            made += _integrated(inquiry, chance)
    return made


def _tokens(tokenizer: Tokenizer, talk: str | Sequence[dict[str, str]]) -> int:
    texts = [talk] if isinstance(talk, str) else [turn["content"] for turn in talk]
    return sum(len(tokenizer(text)["input_ids"]) for text in texts)


def _example(source: Inquiry | Telling, role: str, prompt: str, reply: str | Form, *history: str) -> Example:
    book = (source.telling if isinstance(source, Inquiry) else source).book
    text = reply if isinstance(reply, str) else json.dumps(reply.model_dump(), ensure_ascii=False)
    return Example(role, prompt, text, book.document.id, history)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or baselines.NOTHING["en"]


# Chain-of-Agents, and the answer from a few sentences ------------------------------------------------------------------


def _worker(inquiry: Inquiry, chance: Chance, idle: int) -> Iterator[Example]:
    """Blocks that bear on the question, and others, each with a summary that may lack something or have too much."""
    telling, pages = inquiry.telling, inquiry.pages()
    for i in [*chance.sample(pages, 2), *chance.sample(telling.others(pages), idle)]:
        chunk = telling.chunks[i]
        before = [line for line in inquiry.lines(0, chunk.start) if not chance.hit(0.1)]
        if chance.hit(0.3) and i:
            before = chance.shuffled([*before, *chance.sample(telling.of_block(telling.chunks[chance.below(i)]), 1)])
        yield _handed_on(inquiry, i, before)


def _handed_on(inquiry: Inquiry, i: int, before: Sequence[str]) -> Example:
    """A worker's summary of a block, from the one before."""
    telling, new = inquiry.telling, inquiry.of_page(i)
    slots = {"question": inquiry.question.question, "summary": _listed(before), "index": i + 1}
    prompt = baselines.WORKER["en"].format(**slots, total=len(telling.chunks), block=telling.texts[i])
    after = list(dict.fromkeys([*before, *new]))
    return _example(inquiry, "coa worker" if new else "coa worker, idle", prompt, _listed(after))


def _answer(inquiry: Inquiry, chance: Chance) -> Iterator[Example]:
    """The answer from all that bears on it, among other facts, as a list or a line."""
    question = inquiry.question
    others = chance.sample([text for _, text, e in inquiry.telling.builder.facts if not inquiry.bears(e)], chance.below(4))
    bearing = inquiry.lines(0, len(inquiry.telling.book.document.text))
    facts = chance.shuffled([*bearing, *others]) if chance.hit(0.5) else [*bearing, *others]
    context = _listed(facts) if chance.hit(0.6) else "\n".join(facts)
    yield _example(inquiry, "answer", QA.prompt("en", context=context, question=question.question), question.answer)


def _read_whole(telling: Telling, questions: Sequence[Inquiry]) -> Iterator[Example]:
    """A question on the whole text, or on the two ends that the window holds, to the first that these answer."""
    text = telling.book.document.text
    context, left_out = clipped(telling.meter, text, VIEW, "en")
    head = context.index(GAP["en"].format(n=left_out)) if left_out else len(text)
    for inquiry in questions:
        if not any(head - PART < span.start < head + left_out for span in inquiry.question.support):
            prompt = QA.prompt("en", context=context, question=inquiry.question.question)
            yield _example(inquiry, "direct", prompt, inquiry.question.answer)
            return


# GAM -------------------------------------------------------------------------------------------------------------------


def _note(telling: Telling, i: int) -> Note:
    """Who and what a page is about, and the first four facts of it."""
    facts = telling.builder.within(telling.chunks[i])
    said = [name for _, _, entry in facts if isinstance(entry, Event) for name in telling.builder.said(entry)]
    said += [telling.book.voice.name(entry.person) for _, _, entry in facts if not isinstance(entry, Event)]
    header = ", ".join(list(dict.fromkeys(said))[:5]) or "Talk and weather"
    return Note(header=header, note="; ".join(telling.of_block(telling.chunks[i])[:4]))


def _noted(notes: Sequence[Note], places: Sequence[int]) -> str:
    lines = [f"{baselines.LABEL['en'].format(i=i + 1, header=notes[i].header)} – {notes[i].note}" for i in places]
    return "\n".join(lines) or baselines.NOTHING["en"]


def _memorised(telling: Telling, notes: Sequence[Note], chance: Chance) -> Iterator[Example]:
    for k, i in enumerate(chance.sample(range(len(notes)), 5)):
        shown = range(max(0, i - (4, 4, 4, 8, 16)[k]), i)
        prompt = baselines.MEMORISE["en"].format(notes=_noted(notes, shown), page=telling.texts[i])
        yield _example(telling, "gam memorise", prompt, notes[i])


def _planned(inquiry: Inquiry, notes: Sequence[Note], chance: Chance) -> Iterator[Example]:
    """Pages whose notes bear on what is still needed, and words of the question that stand in the passages."""
    telling, pages = inquiry.telling, inquiry.pages()
    known = chance.sample(pages, len(pages) // 2) if chance.hit(0.4) else []
    wanted = [i for i in pages if i not in known]
    noted = [i for i in wanted if any(line.partition(" (")[0] in notes[i].note for line in inquiry.of_page(i))]
    passages = " ".join(telling.texts[i] for i in wanted)
    every = words_of(inquiry.question.question)
    words = [word for word in every if word in passages] or every
    slots = {"findings": _found(inquiry, known), "notes": _noted(notes, range(len(notes)))}
    slots |= dict.fromkeys(("question", "request"), inquiry.question.question)
    plan = Plan(keywords=words[:4], pages=[i + 1 for i in noted[: baselines.PAGES]])
    yield _example(inquiry, "gam plan", baselines.PLAN["en"].format(**slots), plan)


def _found(inquiry: Inquiry, pages: Sequence[int]) -> str:
    return _listed([f"{line} (page {i + 1})" for i in sorted(pages) for line in inquiry.of_page(i)])


def _integrated(inquiry: Inquiry, chance: Chance) -> Iterator[Example]:
    """Findings before and after up to five pages, of which some bear on the question, or none."""
    telling, pages = inquiry.telling, inquiry.pages()
    known = chance.sample(pages, len(pages) // 2) if chance.hit(0.4) else []
    rest = [i for i in pages if i not in known]
    opened = [] if chance.hit(0.2) else rest[:3]
    opened = sorted([*opened, *chance.sample(telling.others(pages), chance.between(1, 4 - len(opened)))])
    label = baselines.LABEL["en"]
    pages_of = [f"{label.format(i=i + 1, header=_note(telling, i).header)}\n{telling.texts[i]}" for i in opened]
    slots = {"question": inquiry.question.question, "findings": _found(inquiry, known), "pages": "\n\n".join(pages_of)}
    reply = _found(inquiry, [*known, *(i for i in opened if i in pages)])
    yield _example(inquiry, "gam integrate", baselines.INTEGRATE["en"].format(**slots), reply)


def _reflected(inquiry: Inquiry, chance: Chance) -> Iterator[Example]:
    """Whether findings suffice: all that bears, or some of it."""
    pages = inquiry.pages()
    missing = chance.sample(pages, chance.between((len(pages) + 1) // 2, len(pages))) if chance.hit(0.6) else []
    findings = _found(inquiry, [i for i in pages if i not in missing])
    enough = all(line in findings for line in inquiry.needed)
    reply = Reflection(enough=enough, request="" if enough else inquiry.question.question)
    slots = {"question": inquiry.question.question, "findings": findings}
    yield _example(inquiry, "gam reflect", baselines.REFLECT["en"].format(**slots), reply)


# GraphRAG --------------------------------------------------------------------------------------------------------------


def extracted(telling: Telling, chunk: Chunk) -> Extracted:
    """Who and what a block names, and what it relates: each event from who does it to whom and what it has to do with."""
    entities, relations = {}, []
    for _, text, entry in telling.builder.within(chunk):
        if isinstance(entry, Event):
            names = telling.builder.said(entry)[:3] or [text.partition(" ")[0]]
            for name in names:
                entities.setdefault(name, "" if len(names) > 1 else text)
            others = [name for name in names[1:] if name != names[0]]
            relations += [Related(source=names[0], target=name, description=text) for name in others]
        else:
            entities[telling.book.voice.name(entry.person)] = text
    named = [Named(name=name, description=description) for name, description in entities.items()]
    return Extracted(entities=named, relations=relations)


def _indexed(telling: Telling, chosen: Sequence[Inquiry], chance: Chance) -> Iterator[Example]:
    blocks = [extracted(telling, chunk) for chunk in telling.chunks]
    for k, i in enumerate(chance.sample(range(len(blocks)), 6)):
        prompt, whole = baselines.EXTRACT["en"].format(text=telling.texts[i]), blocks[i]
        if k < 4:
            yield _example(telling, "graphrag extract", prompt, whole)
            continue
        kept, missed = [*whole.relations], []
        if k == 4 and len(kept) > 1:
            missed.append(kept.pop(chance.below(len(kept))))
        first = Extracted(entities=whole.entities, relations=kept).model_dump_json()
        rest = Extracted(entities=[], relations=missed)
        yield _example(telling, "graphrag glean", prompt, rest, first, baselines.GLEAN["en"])
    graph = baselines.merged_blocks(blocks)
    parts = baselines.parts(graph)
    reports, sizes = [_report(graph, part) for part in parts], [len(part) for part in parts]
    states = [baselines.part_state(graph, part, telling.meter, None) for part in parts]
    short = [i for i, state in enumerate(states) if telling.meter.count_tokens(state) <= STATE]
    for i in chance.sample(short, 3):
        yield _example(telling, "graphrag report", COMMUNITY_REPORT.prompt("en", graph_state=states[i]), reports[i])
    for inquiry in chosen[:5]:
        best = baselines.top(reports, sizes, inquiry.question.question, "en", k=chance.between(2, 6))
        text = "\n\n".join(map(baselines.shown, best))
        facts = [(fact, entry) for _, fact, entry in telling.builder.facts if inquiry.bears(entry) and fact in text]
        lines = dict.fromkeys((fact, inquiry.line(fact, entry)) for fact, entry in facts)
        points = [Point(description=line, score=90) for _, line in lines]
        prompt = baselines.MAP["en"].format(question=inquiry.question.question, reports=text)
        yield _example(inquiry, "graphrag map" if points else "graphrag map, idle", prompt, Points(points=points))


def _report(graph: baselines.EntityGraph, part: Sequence[str]) -> Report:
    """The facts of a part, at most ten, the best tied name first."""
    inside = [pair for pair in graph.relations if set(part) & set(pair)]
    ties = {name: sum(name in pair for pair in inside) for name in part}
    first = sorted(part, key=lambda name: -ties[name])
    facts = {text: graph.names[name] for name in first for text in graph.statements[name] if text}
    facts |= {text: graph.names[pair[0]] for pair in inside for text in graph.statements[pair]}
    findings = [f"{text} [{name}]" for text, name in facts.items()][:10]
    title = " and ".join(graph.names[name] for name in first[:2])
    summary = ". ".join(list(facts)[:2]) or title
    return Report(title=title, summary=summary, impact_rating=min(10, len(facts)), findings=findings)


# RLM -------------------------------------------------------------------------------------------------------------------


def words_of(question: str) -> list[str]:
    """The words of a question by which its passages can be found: names first, then what is left without small words.

    >>> words_of("What did the butcher conceal? It was at the crooked granary.")
    ['butcher', 'conceal', 'crooked', 'granary']
    """
    words = re.findall(r"[A-Za-z][\w'-]*", question)
    long = [word for word in dict.fromkeys(words) if len(word) > 3 and not LEFT_OUT.fullmatch(word.lower())]
    return [word.removesuffix("'s") for word in sorted(long, key=lambda word: word[0].islower())]


def program(words: Sequence[str], question: str) -> str:
    """A turn of RLM's: the parts of the text that hold most of some words, each put to the second model."""
    slots = {"part": PART, "step": STEP, "parts": PARTS, "nothing": NOTHING, "asked": json.dumps(ASKED)}
    return PROGRAM.format(words=json.dumps(list(words)), question=json.dumps(question), **slots)


def _by_code(inquiry: Inquiry, chance: Chance) -> Iterator[Example]:
    """Program after program until all is found that bears, then the answer; and queries as the programs make them."""
    book, question, words = inquiry.telling.book, inquiry.question, words_of(inquiry.question.question)
    text = book.document.text
    slots = {"turns": TURNS, "longest": LONGEST, "seconds": SECONDS, "length": len(text)}
    task = baselines.TASK["en"].format(question=question.question, **slots)
    history: list[str] = []
    known: list[str] = []
    for _ in range(2):
        # The parts that the program asks about, in its order.
        parts = sorted(range(0, len(text), STEP), key=lambda i: -sum(word in text[i : i + PART] for word in words))[:PARTS]
        code = program(words, question.question)
        yield _example(inquiry, "rlm program", task, code, *history)
        notes = {start: inquiry.lines(start, start + PART) for start in parts}
        findings = [line for lines in notes.values() for line in lines]
        known += findings
        bearing, idle = ([start for start in parts if bool(notes[start]) == bears] for bears in (True, False))
        for start in [*chance.sample(bearing, 1), *chance.sample(idle, 1)]:
            yield _queried(inquiry, text[start : start + PART], notes[start])
        printed, said = "".join(f"{line}\n" for line in findings), baselines.TOLD["en"]
        output = said["output"].format(n=len(printed), output=printed) if printed else said["nothing"]
        history += [code, output]
        if inquiry.needed <= set(known):
            yield _example(inquiry, "rlm answer", task, f"FINAL({question.answer})", *history)
            return
        people = [*(b.person for b in inquiry.bindings), *(b.other for b in inquiry.bindings if b.other is not None)]
        names = map(book.voice.name, people)
        words = [name for name in dict.fromkeys(names) if any(name in line for line in known)]
        if not words:
            return


def _queried(inquiry: Inquiry, passage: str, lines: Sequence[str]) -> Example:
    """What a query of the program's is to be told of a passage."""
    prompt = f"{ASKED}{inquiry.question.question}\nPassage: {passage}"
    return _example(inquiry, "rlm query" if lines else "rlm query, idle", prompt, "\n".join(lines) or NOTHING)
