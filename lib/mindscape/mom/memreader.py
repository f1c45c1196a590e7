r"""MemReader: a small model that reads the memory of a document, with or without the path of thought (MoM, 3.1.3-3.1.4).

A `Triple` (D, P, M) is a document, the path P of thought that leads from it to its memory, and the memory M. P is made in
reverse, by a model that knows both ends (`reverse`), or known from a storyworld's log (`of_book`). The target of training is
P‖M; the ablation that the paper leaves out has M alone, with a prompt that asks for no thoughts and the same budget:

    python -m mindscape.training memreader
    python -m mindscape.training memreader_without_path

It is asked (`ask`) and scored (`memory_scores`) on what was not trained on: other storyworld books, scenes of plays without
their headings, the manuals and news pieces of the kit.

Taught in notebook 41_memreader. The training itself is `mindscape.training`'s.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise, product

from mindscape import ask as asking
from mindscape import prompts
from mindscape import roles as role
from mindscape.corpora import shakespeare
from mindscape.errors import require
from mindscape.llm import LLM, Tags
from mindscape.llm.base import PAPER, SHORT, form_of
from mindscape.metrics import token_f1, words
from mindscape.mom import memory as mom
from mindscape.mom.chunkers import length
from mindscape.mom.extraction import LONGEST
from mindscape.mom.memory import DocumentMemory, Resolved, resolve
from mindscape.question import Answer
from mindscape.roles import MEMORY, REVERSE, Example, Extracted, Role, border_f1, matched
from mindscape.text import Document, Span, Tokenizer
from storyworld import Book, Chance, books, training_book
from storyworld.teaching import gold

KINDS = ("storyworld", "play", "sample")
SHARE = 3  # cases from each book or play
LARGEST = {"en": 1200, "zh": 2000}  # tokens of an excerpt of a play or a sample: twice as long as those trained on
MOST = 4  # parts of an excerpt
PATH_TOKENS = 200  # of a path of thought
# What the prompt says of thoughts, and what stands there without them.
UNSAID = prompts.short_texts("mom", "unsaid")


def _without_thoughts(form: str) -> dict[str, str]:
    """The prompts in a form, by language."""
    prompts = dict(MEMORY.words(form))
    for language in prompts:
        for said, instead in (UNSAID[PAPER] if form == PAPER else UNSAID)[language]:
            prompts[language] = prompts[language].replace(said, instead)
    return prompts


BARE = Role("memory_bare", _without_thoughts(SHORT), Tags(Extracted), paper=_without_thoughts(PAPER))


def role_of(with_path: bool) -> Role:
    """The role that says P‖M, or M alone."""
    return MEMORY if with_path else BARE


# Triples and examples ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Triple:
    """A document, the path of thought from it to its memory, and the memory as a reply has it: (D, P, M)."""

    document: Document
    path: str
    memory: Extracted


def of_book(book: Book, tokenizer: Tokenizer, share: int | None = None) -> list[Triple]:
    """Triples from runs of scenes of a storyworld book, at most `share`: what the log knows stands for the guiding model."""
    runs = _told(book, Chance("memreader", book.document.id), tokenizer, share)
    return [Triple(document, m.think, Extracted(outline=m.outline, scenario=m.scenario)) for document, m in runs]


def _told(
    book: Book, chance: Chance, tokenizer: Tokenizer, share: int | None
) -> Iterator[tuple[Document, role.DocumentMemory]]:
    """Runs of scenes, at most `share`, and their memories."""
    for i, (slots, value) in enumerate(islice(gold("memory", book, chance, tokenizer), share)):
        yield Document(f"{book.document.id}:{i}", slots["document"], book.document.language), value


def reverse(model: LLM, items: Sequence[tuple[Document, DocumentMemory]], **sampling) -> list[Triple | None]:
    """The triples of documents with memories, the path thought up by a model; None where its reply holds no thoughts.

    Each reply is cached as it comes. Raises InputError for a memory that does not tile its document, and for a language
    without a prompt.
    """
    if not items:
        return []
    memories = [mom.said(document, memory) for document, memory in items]
    talks = []
    for (document, _), memory in zip(items, memories, strict=True):
        slots = {"document": document.text.strip(), "memory": Tags(Extracted).render(memory)}
        talks.append([{"role": "user", "content": REVERSE.prompt(document.language, **slots)}])
    replies = model.chat(talks, **({"max_new_tokens": PATH_TOKENS} | sampling))
    paths = [asking.read_replies(REVERSE, reply.whole) for reply in replies]
    return [
        None if path is None else Triple(document, path.replace("<", "‹"), memory)
        for (document, _), memory, path in zip(items, memories, paths, strict=True)
    ]


def example(triple: Triple, with_path: bool = True) -> Example:
    """What is trained: the document and its instructions, and P‖M or M alone."""
    memory = triple.memory
    value = role.DocumentMemory(think=triple.path, outline=memory.outline, scenario=memory.scenario) if with_path else memory
    task = role_of(with_path)
    prompt = task.prompt(triple.document.language, document=triple.document.text.strip())
    return Example(task.name, prompt, task.render(value), triple.document.id)


def memory_examples(
    seeds: Sequence[int], tokenizer: Tokenizer, with_path: bool = True, share: int | None = None, chinese: int = 0
) -> list[Example]:
    """The examples of the books of training seeds, the last `chinese` of them told in Chinese.

    With and without path they are of the same documents in the same order. Raises InputError for a seed that is not for
    training, and for more Chinese books than there are seeds.
    """
    require(0 <= chinese <= len(seeds), f"chinese={chinese}: expected 0 to {len(seeds)}, as many as there are books")
    languages = ["en"] * (len(seeds) - chinese) + ["zh"] * chinese
    novels = (training_book(seed, language) for seed, language in zip(seeds, languages, strict=True))
    return [example(triple, with_path) for book in novels for triple in of_book(book, tokenizer, share)]


# What is read ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A document with its memory; `group` is the book, play or text that it is from, and stands or falls as a whole."""

    kind: str
    group: str
    document: Document
    memory: DocumentMemory


def story_cases(books: Sequence[Book], tokenizer: Tokenizer, share: int = SHARE, seed: int = 0) -> list[Case]:
    """Runs of scenes of storyworld books, the same each time by one seed and others than `of_book` gives."""
    others = [seed] if seed else []
    return [
        Case("storyworld", book.document.id, document, resolve(document, value).memory)
        for book in books
        for document, value in _told(book, Chance("evaluation", "memory", book.document.id, *others), tokenizer, share)
    ]


def play_cases(tokenizer: Tokenizer, names: Sequence[str] | None = None, share: int = SHARE) -> list[Case]:
    """Runs of scenes of plays without their headings; topic and core content are the first sentence and the whole of the
    kit's summary of a scene. By default of all plays that have summaries."""
    cases = []
    for name in names or sorted({question.doc_id for question in shakespeare.questions()}):
        play = shakespeare.play(name)
        scenes = zip(shakespeare.scenes(play), shakespeare.scene_summaries(name), strict=True)
        bodies = [(play[scene].removeprefix(scene.heading).strip(), summary) for scene, summary in scenes]
        document, memory = _put_together(play, [body for body in bodies if body[0]])
        cases += _runs("play", document, memory, tokenizer)[:share]
    return cases


def _put_together(play: Document, bodies: Sequence[tuple[str, str]]) -> tuple[Document, DocumentMemory]:
    texts, summaries = [body for body, _ in bodies], [" ".join(summary.split()) for _, summary in bodies]
    document = Document(play.id, "\n\n".join(texts), play.language)
    starts = accumulate((len(text) + 2 for text in texts[:-1]), initial=0)
    spans = [Span(*ends) for ends in pairwise([*starts, len(document.text)])]
    topics = [mom.whole(Document("summary", summary, play.language)).outline[0] for summary in summaries]
    return document, DocumentMemory(tuple(topics), tuple(summaries), tuple(spans))


def sample_cases(tokenizer: Tokenizer) -> list[Case]:
    """Runs of parts of the kit's manuals and news pieces, en and zh."""
    return [case for sample in mom.samples() for case in _runs("sample", sample.document, sample.memory, tokenizer)]


def _runs(kind: str, document: Document, memory: DocumentMemory, tokenizer: Tokenizer) -> list[Case]:
    """Neighbouring parts that fit into `LARGEST` tokens, two to `MOST` of them, none in two runs."""
    largest = LARGEST.get(document.language, LARGEST["en"])
    ends = [0, *accumulate(length(document[chunk], tokenizer) for chunk in memory.chunks)]  # in tokens
    first, cases = 0, []
    while first < len(memory):
        last = min(first + MOST, max(first + 1, bisect_right(ends, ends[first] + largest) - 1))
        if last - first >= 2:
            cases.append(Case(kind, document.id, *mom.excerpt(document, memory, first, last)))
        first = last
    return cases


# Asking ------------------------------------------------------------------------------------------------------------


def ask(model: LLM, cases: Sequence[Case], with_path: bool = True) -> list[Answer]:
    """The model's replies, free; and held to the form, which is another one only where the free one cannot be read.

    >>> ask(model, cases)[0].free[:7]                                                            # doctest: +SKIP
    '<think>'
    """
    task, form, said = role_of(with_path), form_of(model), {}
    for language in dict.fromkeys(case.document.language for case in cases):
        places = [i for i, case in enumerate(cases) if case.document.language == language]
        prompts = {i: task.prompt(language, form, document=cases[i].document.text.strip()) for i in places}
        free = asking.ask(model, task, list(prompts.values()), tokens=LONGEST[language], constrained=False)
        said |= {i: replace(answer, free=answer.text) for i, answer in zip(places, free, strict=True)}
        again = [i for i in places if said[i].value is None]
        held = asking.ask(model, task, [prompts[i] for i in again], tokens=LONGEST[language])
        for i, answer in zip(again, held, strict=True):
            said[i] = replace(answer, free=said[i].free, unread=(*said[i].unread, *answer.unread), calls=2)
    return [said[i] for i in range(len(cases))]


# Scoring -----------------------------------------------------------------------------------------------------------


def resolved_memory(case: Case, answer: Answer) -> Resolved | None:
    """The memory that a reply means, in places of the case's document; None where it cannot be read or was cut off."""
    return None if answer.value is None else resolve(case.document, answer.value)


def outline_recall(gold: Sequence[str], topics: Sequence[str], language: str = "en") -> float:
    """The share of gold topics that a found one says, too: with a token F1 of `ALIKE`, each of them for one, the likest first.

    >>> outline_recall(["rain at the mill", "Ivo went home"], ["The rain, at a mill", "rain"])
    0.5
    """
    pairs = product(enumerate(gold), enumerate(topics))
    likeness = {(i, j): token_f1(topic, wanted, language) for (i, wanted), (j, topic) in pairs}
    return len(matched(likeness)) / len(gold)


def core_support(document: Document, memory: DocumentMemory) -> float:
    """The mean over chunks of the share of their core content's words that stand in them; it knows no paraphrase.

    In English words of four letters and more, in Chinese pairs of characters; a core content without any has no share. NaN
    where none has one.

    >>> note = Document("note", "It rained all day. Ivo went home.")
    >>> core_support(note, DocumentMemory("ab", ["It rained heavily.", "Ivo went home."], [Span(0, 19), Span(19, 33)]))
    0.75
    """
    shares = []
    for chunk, core in zip(memory.chunks, memory.core, strict=True):
        said, there = (_marks(text, document.language) for text in (core, document[chunk]))
        if said:
            shares.append(len(said & there) / len(said))
    return sum(shares) / len(shares) if shares else math.nan


def _marks(text: str, language: str) -> set[str]:
    if language == "zh":
        units = words(text, "zh")
        return {a + b for a, b in zip(units, units[1:], strict=False)}
    return {word for word in words(text, "en") if len(word) >= 4}


def memory_scores(cases: Sequence[Case], answers: Sequence[Answer]) -> dict[str, list[float]]:
    """By name of a score, its value for each case.

    `valid` and `valid_free`: the reply can be read, held to the form or free; `boundary_f1`: borders within
    `roles.scores.NEAR` characters of the gold ones; `outline_recall`; `core_support`, NaN for a reply that cannot be read;
    `unrepaired`: no end had to be mended. All others are 0 for such a reply.
    """
    names = ("valid", "valid_free", "boundary_f1", "outline_recall", "core_support", "unrepaired")
    scores: dict[str, list[float]] = {name: [] for name in names}
    for case, answer in zip(cases, answers, strict=True):
        resolved = resolved_memory(case, answer)
        row = (0.0, 0.0, 0.0, 0.0, math.nan, 0.0)
        if resolved:
            borders = border_f1(case.memory.borders, resolved.memory.borders)
            topics = outline_recall(case.memory.outline, resolved.memory.outline, case.document.language)
            row = (1.0, answer.calls == 1, borders, topics, core_support(case.document, resolved.memory), not resolved.repairs)
        for name, number in zip(names, row, strict=True):
            scores[name].append(float(number))
    return scores


def cases_of(kind: str, split: str, count: int, tokenizer: Tokenizer, share: int = SHARE) -> list[Case]:
    """The cases of a kind, at most `share` from each book or play; storyworld's from the first `count` books of a split.

    Raises InputError for another kind.

    >>> cases_of("letter", "develop", 1, None)
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: kind='letter': expected storyworld, play, sample
    """
    require(kind in KINDS, f"kind={kind!r}: expected {', '.join(KINDS)}")
    if kind == "storyworld":
        return story_cases(books(split)[:count], tokenizer, share)
    return play_cases(tokenizer, share=share) if kind == "play" else sample_cases(tokenizer)
