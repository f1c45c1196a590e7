"""What every method that answers a question about a long text has in common: a budget, a meter, an answer.

`answer(question, document, llm, budget) -> Answer` is the interface of MindGraph and of the five baselines (MindGraph,
section 4.2). A method asks its model through a `Meter`, which is a model itself, counts what each call reads and writes and
stops before the budget is crossed. A reply out of the cache counts as if it were asked anew, since what is compared is what
methods take, not what a second run costs: that is the ledger's business (`mindscape.llm.ledger`).

    def answer(question, document, llm, budget):
        meter = Meter(llm, budget)                      # its stage is "build"
        summary = meter.chat(...).text
        meter.stage = ANSWER                            # the first call from here on is the paper's first call
        return meter.answer(meter.chat(...).text)

Taught in notebooks 31_mindgraph_answer and 32_long_reason. Nothing here knows a method or says whether an answer is right.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mindscape.errors import BudgetReached, InputError
from mindscape.llm.base import LLM, Message, Prompt, Reply, Sampling, Score
from mindscape.roles.answers import LETTERS, letters
from mindscape.roles.edits import BLOCK
from mindscape.text import Chunk, Document, Span, sentences

BUILD, ANSWER = "build", "answer"
PAPER_BLOCK = 8192  # tokens
SAMPLE = 8000  # characters of a text by which an endpoint's count of its tokens is scaled
CHOICES = {
    "en": "{question}\n\nOptions:\n{options}\n\nAnswer with the letter of the right option.",
    "zh": "{question}\n\n选项：\n{options}\n\n请回答正确选项的字母。",
}


class BudgetSpent(BudgetReached):
    """A method's own budget would be crossed, which ends the method; a cap of the ledger, BudgetReached, ends the run."""


@dataclass(frozen=True)
class Budget:
    """What a method may spend on one question: calls, and tokens read and written together; and the tokens of one reply, for a
    model that was trained on short ones. None is no bound.

    Raises InputError for a bound below 1.

    >>> Budget(calls=40, tokens=100_000)
    Budget(calls=40, tokens=100000, reply=None)
    """

    calls: int | None = None
    tokens: int | None = None
    reply: int | None = None

    def __post_init__(self):
        for name, value in vars(self).items():
            if value is not None and value < 1:
                raise InputError(f"Budget({name}={value}): expected at least 1, or None for no bound")


@dataclass(frozen=True)
class Step:
    """One thing that a method did. `stage` is BUILD, ANSWER, or a name of the method's own.

    With `asked` it is a call of the model that read and wrote so many tokens, and `what` is the reply; else `what` says what
    was done without the model, a tool's result or why it came to an end.
    """

    stage: str
    what: str
    read: int = 0
    written: int = 0
    asked: bool = False


@dataclass(frozen=True)
class Answer:
    """What a method answers and what it took; `text` is empty where the budget, or the method, left no answer.

    `tokens_first_call` are those that the first call of the answer stage read: the f₁ of the compaction ratio (section 4.2).
    `tokens_total` are all that were read and written, the build included. `trace` has every step.

    >>> built, answered = Step(BUILD, "...", 850, 40, True), Step(ANSWER, "the miller", 300, 10, True)
    >>> told = Answer("the miller", 2, 300, 1200, (built, answered))
    >>> told.spent(BUILD), told.spent(ANSWER)
    (890, 310)
    """

    text: str
    calls: int
    tokens_first_call: int
    tokens_total: int
    trace: tuple[Step, ...] = ()

    def spent(self, stage: str) -> int:
        """Tokens read and written at one stage."""
        return sum(step.read + step.written for step in self.trace if step.stage == stage)


class Method(Protocol):
    """A way to answer a question about a document. Raises LLMError where the model fails; a budget is no error."""

    def __call__(self, question: str, document: Document, llm: LLM, budget: Budget) -> Answer: ...


class Meter:
    """A model that counts: it has the methods of `LLM`, and asks `llm`.

    `stage` is what the next calls are for; set it as the method goes on. Before a call that could cross the budget, even if
    each reply is as long as it may be, `chat` and `complete` raise BudgetSpent, and of several prompts none is asked. Tools
    and schema are not in that estimate; what a call took is the model's own count.

    >>> from mindscape import llm
    >>> meter = Meter(llm.load("embedded"), Budget(tokens=2000))                            # doctest: +SKIP
    >>> meter.chat([{"role": "user", "content": "Who's there?"}]).text                      # doctest: +SKIP
    'Nay, answer me.'
    >>> meter.calls, meter.tokens                                                           # doctest: +SKIP
    (1, 42)
    """

    def __init__(self, llm: LLM, budget: Budget | None = None, stage: str = BUILD):
        self.llm, self.budget, self.stage = llm, budget or Budget(), stage
        self.steps: list[Step] = []

    @property
    def name(self) -> str:
        return self.llm.name

    @property
    def fingerprint(self) -> str:
        return self.llm.fingerprint

    @property
    def context(self) -> int | None:
        return self.llm.context

    @property
    def calls(self) -> int:
        """Calls until now, those out of the cache included."""
        return sum(step.asked for step in self.steps)

    @property
    def tokens(self) -> int:
        """Tokens read and written until now, cached replies included."""
        return sum(step.read + step.written for step in self.steps)

    def count_tokens(self, prompt: Prompt) -> int:
        """As the model counts them; no call."""
        return self.llm.count_tokens(prompt)

    def chat(self, messages: Sequence[Message] | Sequence[Sequence[Message]], **options: Any) -> Reply | list[Reply]:
        """As `LLM.chat`."""
        one = bool(messages) and isinstance(messages[0], Mapping)
        self._check([messages] if one else messages, options)
        replies = self.llm.chat(messages, **options)
        self._count([replies] if one else replies)
        return replies

    def complete(self, prompts: str | Sequence[str], **sampling: Any) -> Reply | list[Reply]:
        """As `LLM.complete`."""
        one = isinstance(prompts, str)
        self._check([prompts] if one else prompts, sampling)
        replies = self.llm.complete(prompts, **sampling)
        self._count([replies] if one else replies)
        return replies

    def score(self, prompt: Any, continuations: Any) -> list[Score] | list[list[Score]]:
        """As `LLM.score`; a score counts as a call that read prompt and continuation, and is not checked beforehand."""
        scores = self.llm.score(prompt, continuations)
        for group in scores if scores and isinstance(scores[0], list) else [scores]:
            for score in group:
                self.add(f"log p = {score.logprob:.2f}", score.prompt_tokens + score.tokens, 0)
        return scores

    def affords(self, prompts: Sequence[Prompt], max_new_tokens: int = Sampling.max_new_tokens) -> bool:
        """Whether so many more calls stay within the budget even if each reply is as long as it may be."""
        return not self._short(prompts, max_new_tokens)

    def add(self, what: str, read: int, written: int) -> None:
        """Count a call that was not made through this meter: the build's, say, of a graph that was there already."""
        self.steps.append(Step(self.stage, what, read, written, asked=True))

    def note(self, what: str) -> None:
        """Put something that was done without the model into the trace."""
        self.steps.append(Step(self.stage, what))

    def answer(self, text: str) -> Answer:
        """The answer, with all that was counted."""
        first = next((step.read for step in self.steps if step.asked and step.stage == ANSWER), 0)
        return Answer(text, self.calls, first, self.tokens, tuple(self.steps))

    def _check(self, prompts: Sequence[Prompt], options: Mapping[str, Any]) -> None:
        if short := self._short(prompts, options.get("max_new_tokens", Sampling.max_new_tokens)):
            raise BudgetSpent(short)

    def _short(self, prompts: Sequence[Prompt], max_new_tokens: int) -> str:
        """Why the next calls could cross the budget; empty if they cannot."""
        calls, tokens = self.budget.calls, self.budget.tokens
        if calls is not None and self.calls + len(prompts) > calls:
            return f"the budget of {calls:,} calls is spent: {self.calls:,} are made, {len(prompts):,} would be next"
        if tokens is None:
            return ""
        need = sum(self.llm.count_tokens(prompt) + max_new_tokens for prompt in prompts)
        if self.tokens + need <= tokens:
            return ""
        return f"the budget of {tokens:,} tokens is spent: {self.tokens:,} are used, what is next may take {need:,}"

    def _count(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            called = "".join(f"\n{call.name}({call.arguments})" for call in reply.tool_calls)
            self.add((reply.text + called).strip(), reply.prompt_tokens, reply.completion_tokens)


def compaction(answer: Answer, length: int) -> float:
    """The compaction ratio f₁/L: tokens of the first call over tokens of the document (section 4.2), as a fraction.

    `length` must be counted as the model counts; see `length`.

    >>> compaction(Answer("the miller", 2, 300, 1200), 30_000)
    0.01
    """
    if length < 1:
        raise InputError(f"length={length}: expected the tokens of a document, at least 1")
    return answer.tokens_first_call / length


def length(document: Document, llm: LLM) -> int:
    """The tokens of a document, at least 1. An endpoint's own count of a text is an estimate, too high by up to a half, while
    what a call read is what the server says: so a call is made that reads some of the text, and the estimate scaled by it.

    >>> from types import SimpleNamespace
    >>> words = SimpleNamespace(name="embedded", count_tokens=lambda text: len(text.split()))
    >>> length(Document("note", "Ivo sold the lamp."), words)
    4
    """
    counted = max(1, llm.count_tokens(document.text))
    if not llm.name.startswith(("openai:", "replay:")):
        return counted
    sample = document.text[:SAMPLE]
    read = llm.chat([{"role": "user", "content": sample}], max_new_tokens=1).prompt_tokens
    return max(1, round(counted * read / max(1, llm.count_tokens(sample))))


def amortised(build: int, answers: Sequence[int]) -> float:
    """Tokens a question where one build serves several: what the paper's ratio leaves out.

    `build` are the tokens of the build, `answers` those of each question without it. Raises InputError without a question.

    >>> amortised(60_000, [3000, 5000])
    34000.0
    """
    if not answers:
        raise InputError("there is no question to share the build among: expected at least one")
    return build / len(answers) + sum(answers) / len(answers)


def posed(question: str, options: Sequence[str] = (), language: str = "en") -> str:
    """A question as methods are asked it: with its options by letter where there are some.

    Raises InputError for another language than English and Chinese, and for one option or more than four.

    >>> print(posed("Where is the lamp?", ["at the inn", "at the mill"]))
    Where is the lamp?
    <BLANKLINE>
    Options:
    A. at the inn
    B. at the mill
    <BLANKLINE>
    Answer with the letter of the right option.
    """
    if language not in CHOICES:
        raise InputError(f"language={language!r}: expected one of {', '.join(CHOICES)}")
    if not options:
        return question
    if not 2 <= len(options) <= len(LETTERS):
        raise InputError(f"{len(options)} options: expected 2 to {len(LETTERS)}, or none")
    return CHOICES[language].format(question=question, options=letters(list(options)))


def block_size(llm: LLM) -> int:
    """How many tokens a block has, for all methods alike: 8,192 (section 4.2), or a quarter of a window that is smaller.

    The embedded reader gets the blocks that it was trained on, of 280 tokens.

    >>> from types import SimpleNamespace
    >>> block_size(SimpleNamespace(name="openai:gpt-4o", context=None)), block_size(SimpleNamespace(name="mine", context=4096))
    (8192, 1024)
    """
    if llm.name == "embedded":
        return BLOCK
    return PAPER_BLOCK if llm.context is None else max(1, min(PAPER_BLOCK, llm.context // 4))


def cut(document: Document, llm: LLM, size: int) -> list[Chunk]:
    """The document in blocks of whole sentences, each of at most `size` tokens as the model counts them; they tile the text.

    A sentence that is longer is cut at a blank, or where there is none in the middle.
    Raises InputError for a size below 1.

    >>> from types import SimpleNamespace
    >>> words = SimpleNamespace(count_tokens=lambda text: len(text.split()))
    >>> note = Document("note", "Who is there? Nay, answer me. Stand, and unfold yourself.")
    >>> [note[chunk] for chunk in cut(note, words, size=6)]
    ['Who is there? Nay, answer me. ', 'Stand, and unfold yourself.']
    """
    if size < 1:
        raise InputError(f"size={size}: expected at least one token a block")
    text, pieces = document.text, []
    for span in sentences(document.text, document.language):
        pieces += _pieces(text, span, llm, size)
    chunks: list[Chunk] = []
    i = 0
    while i < len(pieces):
        j, tokens = i, 0
        while j < len(pieces) and (j == i or tokens + pieces[j][1] <= size):
            tokens += pieces[j][1]
            j += 1
        start = pieces[i][0].start
        while j > i + 1 and llm.count_tokens(text[start : pieces[j - 1][0].end]) > size:  # joined, they may have more
            j -= 1
        chunks.append(Chunk(document.id, len(chunks), start, pieces[j - 1][0].end))
        i = j
    return chunks


def _pieces(text: str, span: Span, llm: LLM, size: int) -> Iterator[tuple[Span, int]]:
    """A sentence with its tokens, or its halves until each has at most `size` or is a single character."""
    tokens = llm.count_tokens(text[span.start : span.end])
    if tokens <= size or span.end - span.start < 2:
        yield span, tokens
        return
    middle = (span.start + span.end) // 2
    blank = text.rfind(" ", span.start, middle) + 1
    at = blank if blank > span.start else max(middle, span.start + 1)
    yield from _pieces(text, Span(span.start, at), llm, size)
    yield from _pieces(text, Span(at, span.end), llm, size)
