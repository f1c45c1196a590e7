"""LongReason-200 as a recipe: which items of three benchmarks need most of a long text and more than a step (section 4.1),
and the annotator that says so: MindGraph's two axes, how much of a text a question needs, and how many steps (section 2.1,
appendix C).

*The annotator.* Five levels of breadth, the smallest part of the text that the answer rests on; four of depth, what leads from
there to the answer. A model labels each question twice and the label counts if both passes agree (section 4.1). The paper does
not say how its passes differ, nor what the annotator sees: here the second pass names the levels in the reverse order, so that
a label that hangs on the order is dropped, and the annotator sees question, answer, the length of the text, and where it is
known the evidence with its place in the text, not the text itself. The paper's "post-processing for consistency" is not
described and not done. On books of the storyworld, whose labels are known, `measured` says what the annotator is worth and
what the second pass buys. The embedded reader was not trained for this role.

*The recipe.* The paper takes 62 items of LongBench-v2, 118 of NarrativeQA and 20 of LooGLE: no code and no summaries, texts
above a length, labels that two passes of an annotator agree on, breadth partial or global, depth set aggregation or global
synthesis. The list of its items is not here, and neither are the texts: `construct` runs the recipe on the owners' files
(`benchmarks`) with any model as annotator. What it keeps need not be what the paper kept. Where the paper is silent: an
estimated token is four bytes of UTF-8; the items that are left are judged in an order of chance that the seed fixes, until a
source has its number; clozes are left out, since a mask is no question. Each item that was judged is a line in a file, written
at once, so a run that was killed goes on where it was; questions and texts are not in it.

Taught in notebook 32_long_reason. Nothing here downloads or answers anything.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmarks import Item, stream
from mindscape import trail
from mindscape.ask import ask
from mindscape.cache import digest
from mindscape.errors import require
from mindscape.llm import LLM, Estimate, Ledger
from mindscape.prompts import languages, short_texts
from mindscape.question import BREADTHS, DEPTHS, Breadth, Depth, Question
from mindscape.roles import Form, Role
from mindscape.text import Document, Place

BROAD, DEEP = ("partial", "global"), ("set-aggregation", "global-synthesis")
PASSES = 2
TOKENS = 200  # of a reply, at most
SHOWN = 8  # pieces of evidence that a prompt shows, evenly taken
QUOTED = 200  # characters of one
LABELLING = short_texts("mindgraph", "rubric")
PROMPTS = languages("mindgraph", "rubric")


class Label(Form):
    """Why, and the two levels.

    >>> Label(reason="One letter says it.", breadth="local", depth="lookup").breadth
    'local'
    """

    reason: str
    breadth: Breadth
    depth: Depth


@dataclass(frozen=True)
class Unlabelled:
    """A question to be labelled: what is known of it, and how long its text is, in words (characters in Chinese)."""

    question: str
    answer: str
    length: int
    evidence: tuple[tuple[int, str], ...] = ()  # place in percent of the text, and words
    language: str = "en"


@dataclass(frozen=True)
class Labelled:
    """What the passes said, in their order; None for a reply that could not be read.

    >>> once = Label(reason="", breadth="global", depth="lookup")
    >>> Labelled((once, once)).stable, Labelled((once, None)).stable, Labelled((once, None)).label.breadth
    (True, False, 'global')
    """

    passes: tuple[Label | None, ...]

    @property
    def stable(self) -> bool:
        """Whether all passes gave the same two levels."""
        return None not in self.passes and len({(label.breadth, label.depth) for label in self.passes}) == 1

    @property
    def label(self) -> Label | None:
        """That of the first pass that could be read."""
        return next((label for label in self.passes if label), None)


def shown_to_annotator(document: Document, question: str, answer: str, evidence: Sequence[Place] = ()) -> Unlabelled:
    """A question on a document as the annotator sees it; `evidence` are places in it, with `start` and `end`.

    >>> note = Document("note", "Ivo sold the lamp. Ann has it now.")
    >>> from mindscape.text import Span
    >>> shown_to_annotator(note, "Who has the lamp?", "Ann", [Span(19, 34)])
    Unlabelled(question='Who has the lamp?', answer='Ann', length=8, evidence=((56, 'Ann has it now.'),), language='en')
    """
    size = len(document.text.split()) if document.language == "en" else len(document.text)
    pieces = tuple(
        (round(100 * place.start / max(1, len(document.text))), " ".join(document[place].split())[:QUOTED])
        for place in sorted(evidence, key=lambda place: place.start)
    )
    return Unlabelled(question, answer, size, pieces, document.language)


def slots(question: Unlabelled, reverse: bool = False) -> dict[str, str]:
    """What fills the prompt; `reverse` names the levels from the most demanding down.

    >>> slots(Unlabelled("Who?", "Ann", 8), reverse=True)["depths"].splitlines()[-1]
    '- lookup: the answer stands there nearly word for word'
    """
    known = f"expected one of {', '.join(PROMPTS)}"
    require(question.language in PROMPTS, f"the question is in {question.language!r}: {known}")
    levels = {}
    for name in ("breadth", "depth"):
        lines = [f"- {level}: {meaning}" for level, meaning in LABELLING[name][question.language].items()]
        levels[f"{name}s"] = "\n".join(lines[::-1] if reverse else lines)
    count = min(SHOWN, len(question.evidence))
    shown = [question.evidence[len(question.evidence) * i // count] for i in range(count)]
    lines = [f"- {percent}%: {words}" for percent, words in shown]
    if count < len(question.evidence):
        lines.append(LABELLING["more"][question.language].format(n=len(question.evidence) - count))
    evidence = "\n".join(lines) or LABELLING["unknown"][question.language]
    length = LABELLING["length"][question.language].format(n=f"{question.length:,}")
    return {"question": question.question, "answer": question.answer, "length": length, "evidence": evidence} | levels


def annotate(questions: Sequence[Unlabelled], llm: LLM) -> list[Labelled]:
    """Each question labelled in two passes: the levels upwards with seed 0, downwards with seed 1. Two batches of calls.

    Raises InputError for a language without a prompt, LLMError if the model fails; what was answered is in its cache.

    >>> question = shown_to_annotator(play, "Who sent the letter?", "Horatio")               # doctest: +SKIP
    >>> annotate([question], llm.load("openai:gpt-4o"))[0].stable                           # doctest: +SKIP
    True
    """
    passes = []
    for i in range(PASSES):
        replies = ask(llm, RUBRIC, [prompts(question)[i] for question in questions], tokens=TOKENS, seed=i)
        passes.append([reply.value for reply in replies])
    return [Labelled(labels) for labels in zip(*passes, strict=True)]


def labelling_estimate(questions: Sequence[Unlabelled], llm: LLM) -> Estimate:
    """What `annotate` takes at most, before the first call.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(name="openai:gpt-4o", count_tokens=lambda talk: len(talk[0]["content"]) // 4)
    >>> labelling_estimate([Unlabelled("Who?", "Ann", 8)], model).calls
    2
    """
    talks = [[{"role": "user", "content": prompt}] for question in questions for prompt in prompts(question)]
    read = sum(map(llm.count_tokens, talks))
    calls = PASSES * len(questions)
    return Estimate(calls, 0, read, calls * TOKENS, Ledger().cost(llm.name, read, calls * TOKENS))


def prompts(question: Unlabelled) -> list[str]:
    """What is asked on a question, a prompt each pass: the levels upwards, then downwards."""
    return [RUBRIC.prompt(question.language, **slots(question, reverse=bool(i % 2))) for i in range(PASSES)]


@dataclass(frozen=True)
class Agreement:
    """How far labels agree with gold on one axis, over `n` questions.

    `confusion` has a row for each gold level and a column for each level found, and a last column for no label; `right` has an
    entry a question, for `mindscape.metrics.bootstrap`. `kappa` is Cohen's, `weighted` the same with disagreements weighted by
    their distance on the scale (linearly); of both, questions without a label are left out, but count as wrong in `accuracy`.
    NaN where chance alone would agree always.
    """

    levels: tuple[str, ...]
    confusion: np.ndarray
    right: tuple[bool, ...]
    kappa: float
    weighted: float

    @property
    def n(self) -> int:
        return len(self.right)

    @property
    def accuracy(self) -> float:
        return sum(self.right) / self.n if self.n else float("nan")


def agreement(gold: Sequence[str], labels: Sequence[str | None], levels: Sequence[str]) -> Agreement:
    """Labels against gold. Raises InputError for unequal lengths and for a level that is not among `levels`.

    Of the four below three are right. By chance, a half of the gold is low and three quarters of what was found are, so that
    3/8 + 1/8 of them agree: κ = (0.75 - 0.5) / (1 - 0.5).

    >>> agreed = agreement(["low", "low", "high", "high"], ["low", "low", "high", "low"], ["low", "high"])
    >>> agreed.confusion.tolist(), agreed.accuracy, agreed.kappa
    ([[2, 0, 0], [1, 1, 0]], 0.75, 0.5)
    """
    require(len(gold) == len(labels), f"{len(gold)} gold labels, {len(labels)} others: expected one each")
    place = {level: i for i, level in enumerate([*levels, None])}
    table = np.zeros((len(levels), len(levels) + 1), int)
    for i, (a, b) in enumerate(zip(gold, labels, strict=True)):
        require(a in levels and b in place, f"label {i}: {a!r} and {b!r}: expected two of {', '.join(levels)}")
        table[place[a], place[b]] += 1
    distance = np.abs(np.subtract.outer(np.arange(len(levels)), np.arange(len(levels))))
    right = tuple(a == b for a, b in zip(gold, labels, strict=True))
    labelled = table[:, :-1]
    return Agreement(tuple(levels), table, right, _kappa(labelled, distance > 0), _kappa(labelled, distance))


class Measured(NamedTuple):
    """What an annotator is worth: on each axis over all questions by the first pass, and over those whose label is stable.

    `stable` is the share of questions that the filter leaves. `kept` is how well the filter of section 4.1 (`demanding`, on
    stable labels) picks the questions that gold would: (true positives, false positives, false negatives).
    """

    breadth: Agreement
    depth: Agreement
    stable_breadth: Agreement
    stable_depth: Agreement
    stable: float
    kept: tuple[int, int, int]


def measured(gold: Sequence[tuple[str, str]], labelled: Sequence[Labelled]) -> Measured:
    """Labels against gold (breadth, depth), with and without the stability filter. Errors as in `agreement`.

    >>> easy, hard = (Label(reason="", breadth=b, depth=d) for b, d in (("local", "lookup"), ("global", "global-synthesis")))
    >>> worth = measured([("local", "lookup"), ("local", "lookup")], [Labelled((easy, easy)), Labelled((hard, easy))])
    >>> worth.breadth.accuracy, worth.stable_breadth.accuracy, worth.stable
    (0.5, 1.0, 0.5)
    """
    require(len(gold) == len(labelled), f"{len(gold)} gold labels, {len(labelled)} labelled questions: expected one each")

    def axis(i: int, rows: Sequence[int]) -> Agreement:
        answers = [(label.breadth, label.depth)[i] if (label := labelled[k].label) else None for k in rows]
        return agreement([gold[k][i] for k in rows], answers, (BREADTHS, DEPTHS)[i])

    every = range(len(gold))
    steady = [k for k in every if labelled[k].stable]
    wanted = {k for k in every if demanding(*gold[k])}
    picked = {k for k in steady if demanding(labelled[k].label.breadth, labelled[k].label.depth)}
    share = len(steady) / len(gold) if gold else float("nan")
    counts = len(wanted & picked), len(picked - wanted), len(wanted - picked)
    return Measured(axis(0, every), axis(1, every), axis(0, steady), axis(1, steady), share, counts)


def demanding(breadth: str, depth: str) -> bool:
    """Whether the filter of section 4.1 keeps such a question: most of the text or all of it, and the upper half of depth.

    "Mostly global" is partial or global, "truly global" is global (appendix C.1).

    >>> demanding("partial", "set-aggregation"), demanding("global", "multi-hop")
    (True, False)
    """
    return breadth in BROAD and depth in DEEP


def plane(labels: Sequence[tuple[str, str]]) -> np.ndarray:
    """How many questions are in each cell of Figure 2's plane: (5 breadths, 4 depths), both from the least demanding on.

    >>> plane([("local", "lookup"), ("global", "lookup")])[:, 0].tolist()
    [1, 0, 0, 0, 1]
    """
    table = np.zeros((len(BREADTHS), len(DEPTHS)), int)
    for breadth, depth in labels:
        known = breadth in BREADTHS and depth in DEPTHS
        require(known, f"label {(breadth, depth)}: expected a breadth and a depth of the rubric")
        table[BREADTHS.index(breadth), DEPTHS.index(depth)] += 1
    return table


def _kappa(table: np.ndarray, cost: np.ndarray) -> float:
    """1 - observed cost of disagreement / that of chance, for a table of counts."""
    n = table.sum()
    chance = np.outer(table.sum(1), table.sum(0)) / n if n else table
    expected = float((cost * chance).sum())
    return 1 - float((cost * table).sum()) / expected if expected else float("nan")


def of_question(document: Document, question: Question, evidence: bool = True) -> Unlabelled:
    """A question of the kit's corpora as the annotator sees it: with all places that must be read (`Question.support`), or
    with none, as most benchmarks give none.

    >>> of_question(book.document, book.questions[0]).length                                # doctest: +SKIP
    11240
    """
    return shown_to_annotator(document, question.question, question.answer, question.support if evidence else ())


RUBRIC = Role("rubric", PROMPTS, Label)


# The recipe -----------------------------------------------------------------------------------------------------------


OF = "an item that was judged"  # a line of the file, in messages
FORMAT = "mindscape long-reason 1"
BATCH = 16  # items judged side by side
SUMMARY = re.compile(r"\bsummar(?:y|ies|i[sz](?:e[sd]?|ing|ations?))\b|总结|概括|摘要", re.IGNORECASE)
REASONS = ("code", "summary", "cloze", "too short", "unreadable", "unstable", "not demanding", "not needed")

# Where section 2.1 puts benchmarks in Figure 2's plane.
FIGURE_2: dict[str, list[str]] = short_texts("mindgraph", "figure_2")


@dataclass(frozen=True)
class Source:
    """A benchmark of the kit's table: how many items are wanted of it, and how long a text has to be, at least."""

    name: str
    wanted: int
    floor: int
    unit: Literal["tokens", "words"]


SOURCES = (
    Source("longbench-v2", 62, 80_000, "tokens"),
    Source("narrativeqa", 118, 120_000, "words"),  # as its owners publish it; "narrativeqa-hub" holds the same
    Source("loogle", 20, 50_000, "tokens"),
)


class Candidate(NamedTuple):
    """An item without its text, which has so many estimated `tokens` and `words`; `reason` says why it is left out, if so."""

    source: str
    item: Item
    tokens: int
    words: int
    reason: str = ""


@dataclass(frozen=True)
class Judged:
    """What became of an item that was judged: kept where `reason` is empty. The labels are those of the first pass."""

    source: str
    id: str
    doc_id: str
    tokens: int
    words: int
    choice: bool
    breadth: str
    depth: str
    reason: str


@dataclass(frozen=True)
class LongReason:
    """The items that were kept, in the order in which they were drawn, and by source how many items came to what end.

    `ends` has for each source a count of "kept" and of `REASONS`; its counts add up to the items that were read.
    """

    kept: tuple[Judged, ...]
    ends: Mapping[str, Counter[str]]

    def __str__(self) -> str:
        """Some lines to print."""
        lines = []
        for name, ends in self.ends.items():
            why = ", ".join(f"{reason} {ends[reason]:,}" for reason in REASONS if ends[reason])
            lines.append(f"{name}: {ends['kept']} kept of {ends.total():,} ({why})")
        return "\n".join(lines)


class Statistics(NamedTuple):
    """Formats, and estimated tokens of the texts (section 4.1: 62 choices, 138 free; 179K, 159K, 56K to 469K)."""

    items: int
    choices: int
    free: int
    mean: float
    median: float
    least: int
    most: int


def gpt_tokens(text: str) -> int:
    """About as many tokens as a GPT tokenizer makes of a text: four bytes of UTF-8 each.

    >>> gpt_tokens("To be, or not to be"), gpt_tokens("生存还是毁灭")
    (5, 5)
    """
    return ceil(len(text.encode("utf-8", "replace")) / 4)


def excluded(item: Item, tokens: int, words: int, source: Source) -> str:
    """Why an item cannot be one of LongReason's, whatever its labels; empty if it can.

    >>> excluded(Item("1", "d", "Who did it?", ("Ivo",)), 90_000, 70_000, SOURCES[0])
    ''
    >>> excluded(Item("1", "d", "Who did it?", ("Ivo",)), 90_000, 70_000, SOURCES[1])
    'too short'
    """
    if "code" in item.kind.lower().split("/")[0].split():
        return "code"
    if item.part == "longdep_summarization" or SUMMARY.search(item.question):
        return "summary"
    if item.part == "shortdep_cloze":
        return "cloze"
    return "too short" if {"tokens": tokens, "words": words}[source.unit] < source.floor else ""


def candidates(source: Source, folder: str | Path | None = None) -> Iterator[Candidate]:
    """The items of a source as they are read, those that are left out among them; one text is held at a time.

    `folder` holds a folder a benchmark, by default as MINDSCAPE_BENCHMARKS says. Errors as in `benchmarks.stream`.

    >>> sum(not c.reason for c in candidates(SOURCES[2], "benchmarks"))                     # doctest: +SKIP
    310
    """
    sizes: dict[str, tuple[int, int]] = {}
    for piece in stream(source.name, folder):
        if isinstance(piece, Document):
            sizes[piece.id] = gpt_tokens(piece.text), len(piece.text.split())
            continue
        tokens, words = sizes[piece.doc_id]
        yield Candidate(source.name, piece, tokens, words, excluded(piece, tokens, words, source))


def construct(
    llm: LLM, path: str | Path, folder: str | Path | None = None, *, sources: Sequence[Source] = SOURCES, seed: int = 0
) -> LongReason:
    """Run the recipe: read the sources, judge what is long enough until each has its number, keep what is demanding.

    `path` is a JSONL file, begun or gone on with: its first line says what run it is, then comes a line an item that was
    judged. A source that has too few demanding items gives those that it has. Time: two calls an item that is judged.

    Raises InputError where files are missing or broken, and for a file of another run; LLMError if the model fails, after
    which the same call goes on where it was.

    >>> print(construct(llm.load("openai:gpt-4o"), "build/long_reason.jsonl", "benchmarks"))  # doctest: +SKIP
    longbench-v2: 62 kept of 503 (code 50, too short 260, unstable 31, not demanding 60, not needed 40)
    """
    path = Path(path)
    about = {"format": FORMAT, "seed": seed, "sources": [asdict(source) for source in sources]}
    about |= {"llm": llm.fingerprint, "prompt": digest([PROMPTS, LABELLING])}
    known = {(item.source, item.id): item for item in trail.opened(path, about, _one, noun=OF, form=FORMAT)}
    kept: list[Judged] = []
    ends: dict[str, Counter[str]] = {}
    for source in sources:
        read = list(candidates(source, folder))
        count = ends[source.name] = Counter(item.reason for item in read if item.reason)
        left = [item for item in read if not item.reason]
        left.sort(key=lambda candidate: digest(seed, source.name, candidate.item.id))  # in an order of chance
        for i in range(0, len(left), BATCH):
            if count["kept"] == source.wanted:
                count["not needed"] += len(left) - i
                break
            for item in _judged(left[i : i + BATCH], known, llm, path):
                end = item.reason or ("kept" if count["kept"] < source.wanted else "not needed")
                count[end] += 1
                if end == "kept":
                    kept.append(item)
    return LongReason(tuple(kept), ends)


def estimate(llm: LLM, folder: str | Path | None = None, *, sources: Sequence[Source] = SOURCES) -> Estimate:
    """What `construct` takes at most, before the first call: as if every item that is long enough were judged.

    >>> print(estimate(llm.load("openai:gpt-4o"), "benchmarks"))                            # doctest: +SKIP
    1,702 calls (0 more are cached), 1,100,000 tokens to read, at most 340,000 to write, at most 6.2000 USD
    """
    left = [candidate for source in sources for candidate in candidates(source, folder) if not candidate.reason]
    return labelling_estimate([_asked(candidate) for candidate in left], llm)


def items(kept: Sequence[Judged], folder: str | Path | None = None) -> Iterator[Document | Item]:
    """The items that were kept, with their texts, read anew: each document before the first item on it.

    Raises InputError where the files no longer hold one of them.

    >>> for piece in items(construct(model, path, folder).kept, folder): ...                # doctest: +SKIP
    """
    for name in dict.fromkeys(item.source for item in kept):
        wanted = {item.id for item in kept if item.source == name}
        texts = {item.doc_id for item in kept if item.source == name}
        for piece in stream(name, folder):
            if piece.id in (texts if isinstance(piece, Document) else wanted):
                if isinstance(piece, Item):
                    wanted.remove(piece.id)
                yield piece
        require(not wanted, f"{name}: the files hold no item {', '.join(sorted(wanted)[:3])}: expected those judged before")


def statistics(kept: Sequence[Judged]) -> Statistics:
    """Formats and lengths over items. Raises InputError for none.

    >>> item = Judged("loogle", "1", "d", 56_000, 40_000, False, "global", "set-aggregation", "")
    >>> statistics([item]).median
    56000
    """
    require(kept, "no items: expected at least one")
    tokens, choices = [item.tokens for item in kept], sum(item.choice for item in kept)
    return Statistics(len(kept), choices, len(kept) - choices, mean(tokens), median(tokens), min(tokens), max(tokens))


def _judged(batch: Sequence[Candidate], known: dict[tuple[str, str], Judged], llm: LLM, path: Path) -> list[Judged]:
    """What became of some candidates: as the file has it, or judged now and written to it."""
    new = [candidate for candidate in batch if (candidate.source, candidate.item.id) not in known]
    if new:
        rows = list(map(_row, new, annotate([_asked(candidate) for candidate in new], llm)))
        trail.append(path, map(asdict, rows))
        known |= {(row.source, row.id): row for row in rows}
    return [known[candidate.source, candidate.item.id] for candidate in batch]


def _asked(candidate: Candidate) -> Unlabelled:
    """An item as the annotator sees it: of a choice the gold answer among its options."""
    item = candidate.item
    options = [option for option in item.options if option not in item.answers]
    answer = item.answers[0] + (f" (not: {'; '.join(options)})" if options else "")
    return Unlabelled(item.question, answer, candidate.words, language=item.language)


def _row(candidate: Candidate, labelled: Labelled) -> Judged:
    breadth, depth = (labelled.label.breadth, labelled.label.depth) if labelled.label else ("", "")
    if None in labelled.passes:
        reason = "unreadable"
    elif not labelled.stable:
        reason = "unstable"
    else:
        reason = "" if demanding(breadth, depth) else "not demanding"
    item, size = candidate.item, (candidate.tokens, candidate.words)
    return Judged(candidate.source, item.id, item.doc_id, *size, bool(item.choice), breadth, depth, reason)


def _one(row: dict[str, Any]) -> Judged:
    item = Judged(**row)
    if item.reason not in ("", *REASONS):
        raise ValueError(f"the reason is {item.reason!r:.60}")
    return item
