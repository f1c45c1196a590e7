"""How much of a text a question needs, and how many steps: MindGraph's two axes for an annotator (section 2.1, appendix C).

Five levels of breadth, the smallest part of the text that the answer rests on; four of depth, what leads from there to the
answer. A model labels each question twice and the label counts if both passes agree (section 4.1). The paper does not say how
its passes differ, nor what the annotator sees: here the second pass names the levels in the reverse order, so that a label
that hangs on the order is dropped, and the annotator sees question, answer, the length of the text, and where it is known the
evidence with its place in the text, not the text itself. The paper's "post-processing for consistency" is not described and
not done. On books of the storyworld, whose labels are known, `measured` says what the annotator is worth and what the second
pass buys.

Taught in notebook 32_long_reason. The embedded reader was not trained for this role. Nothing here selects a benchmark's items:
`mindscape.mindgraph.long_reason` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mindscape.ask import ask
from mindscape.errors import InputError, require
from mindscape.llm import LLM, Estimate, Ledger
from mindscape.prompts import languages, short_texts
from mindscape.question import BREADTHS, DEPTHS, Breadth, Depth, Question
from mindscape.roles.base import Form, Role
from mindscape.text import Document
from mindscape.text.documents import Place

BROAD, DEEP = ("partial", "global"), ("set-aggregation", "global-synthesis")
PASSES = 2
TOKENS = 200  # of a reply, at most
SHOWN = 8  # pieces of evidence that a prompt shows, evenly taken
QUOTED = 200  # characters of one
WORDS = short_texts("mindgraph", "rubric")
BREADTH_LEVELS, DEPTH_LEVELS = WORDS["breadth"], WORDS["depth"]
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
    require(
        question.language in PROMPTS, f"the question is in {question.language!r}: expected one of {', '.join(PROMPTS)}"
    )
    step = -1 if reverse else 1
    levels = {
        name: "\n".join(
            f"- {level}: {meaning}" for level, meaning in list(levels_of[question.language].items())[::step]
        )
        for name, levels_of in (("breadths", BREADTH_LEVELS), ("depths", DEPTH_LEVELS))
    }
    count = min(SHOWN, len(question.evidence))
    shown = [question.evidence[len(question.evidence) * i // count] for i in range(count)]
    lines = [f"- {percent}%: {words}" for percent, words in shown]
    if count < len(question.evidence):
        lines.append(WORDS["more"][question.language].format(n=len(question.evidence) - count))
    evidence = "\n".join(lines) or WORDS["unknown"][question.language]
    length = WORDS["length"][question.language].format(n=f"{question.length:,}")
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
        shown = [prompts(question)[i] for question in questions]
        replies = ask(llm, RUBRIC, shown, tokens=TOKENS, seed=i)
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


def agreement(gold: Sequence[str], found: Sequence[str | None], levels: Sequence[str]) -> Agreement:
    """Labels against gold. Raises InputError for unequal lengths and for a level that is not among `levels`.

    Of the four below three are right. By chance, a half of the gold is low and three quarters of what was found are, so that
    3/8 + 1/8 of them agree: κ = (0.75 - 0.5) / (1 - 0.5).

    >>> of = agreement(["low", "low", "high", "high"], ["low", "low", "high", "low"], ["low", "high"])
    >>> of.confusion.tolist(), of.accuracy, of.kappa
    ([[2, 0, 0], [1, 1, 0]], 0.75, 0.5)
    """
    require(len(gold) == len(found), f"{len(gold)} gold labels, {len(found)} others: expected one each")
    place = {level: i for i, level in enumerate(levels)}
    table = np.zeros((len(levels), len(levels) + 1), int)
    for i, (a, b) in enumerate(zip(gold, found, strict=True)):
        if a not in place or (b is not None and b not in place):
            raise InputError(f"label {i}: {a!r} and {b!r}: expected two of {', '.join(levels)}")
        table[place[a], len(levels) if b is None else place[b]] += 1
    distance = np.abs(np.subtract.outer(np.arange(len(levels)), np.arange(len(levels))))
    right = tuple(a == b for a, b in zip(gold, found, strict=True))
    labelled = table[:, :-1]
    return Agreement(tuple(levels), table, right, _kappa(labelled, distance > 0), _kappa(labelled, distance))


@dataclass(frozen=True)
class Measured:
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
    >>> of = measured([("local", "lookup"), ("local", "lookup")], [Labelled((easy, easy)), Labelled((hard, easy))])
    >>> of.breadth.accuracy, of.stable_breadth.accuracy, of.stable
    (0.5, 1.0, 0.5)
    """
    if len(gold) != len(labelled):
        raise InputError(f"{len(gold)} gold labels, {len(labelled)} labelled questions: expected one each")

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
        if breadth not in BREADTHS or depth not in DEPTHS:
            raise InputError(f"label {(breadth, depth)}: expected a breadth and a depth of the rubric")
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
