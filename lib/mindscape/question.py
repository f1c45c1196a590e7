"""A question on a long text, what was found for it and what was answered; the same for every corpus and every method.

Breadth and depth are MindGraph's two axes (section 2.1, appendix C): how much of the text must be read, and how many
steps lead from what was read to the answer. Taught in notebook 00_start_here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mindscape.errors import InputError, require
from mindscape.text import Document, Span, locate

Breadth = Literal["local", "sparse-local", "multi-sparse", "partial", "global"]
Depth = Literal["lookup", "multi-hop", "set-aggregation", "global-synthesis"]
BREADTHS: tuple[str, ...] = get_args(Breadth)
DEPTHS: tuple[str, ...] = get_args(Depth)
BUILD, ANSWER = "build", "answer"  # stages of a method


@dataclass(frozen=True)
class Question:
    """A question on the document `doc_id`.

    `accepted` are other strings that count as right; `options` are four, the answer among them. `evidence` is every
    place that the answer is read from, in the order of the text. `bindings` says who is meant, where the question does
    not use the name that its evidence uses: for each binding all the places that state it, any one of which will do.
    `gloss` says the same in words, and `resolved` is the question with the evidence's own names put in.
    """

    id: str
    doc_id: str
    question: str
    answer: str
    accepted: tuple[str, ...]
    options: tuple[str, ...]
    evidence: tuple[Span, ...]
    breadth: str
    depth: str
    bindings: tuple[tuple[Span, ...], ...] = ()
    gloss: str = ""
    resolved: str = ""
    kind: str = ""

    @property
    def hops(self) -> int:
        """How many places have to be joined: the evidence, and one for each binding."""
        return len(self.evidence) + len(self.bindings)

    @property
    def support(self) -> tuple[Span, ...]:
        """What must be read: all of the evidence, and for each binding the place nearest to where that begins."""
        first = self.evidence[0].start
        return (*self.evidence, *(min(group, key=lambda span: abs(span.start - first)) for group in self.bindings))

    @property
    def needs_binding(self) -> bool:
        return bool(self.bindings)


@dataclass(frozen=True)
class ClaimPair:
    """Two sentences that differ in one fact; the text bears out `true` and rules out `false`.

    `wrong` is what the false one has in place of the answer, where that is known.
    """

    id: str
    doc_id: str
    true: str
    false: str
    evidence: tuple[Span, ...]
    wrong: str = ""


@dataclass(frozen=True)
class Ranking:
    """What a retriever finds for a query: places among the units that it searched, best first, and their scores.

    >>> Ranking((4, 0, 7), (0.9, 0.8, 0.1)).first(2)
    (4, 0)
    """

    ids: tuple[int, ...]
    scores: tuple[float, ...] = ()  # empty where only the order was kept

    def first(self, k: int) -> tuple[int, ...]:
        """The best k."""
        return self.ids[:k]


@dataclass(frozen=True)
class Step:
    """One thing that a method did. `stage` is BUILD, ANSWER, or a name of the method's own.

    With `is_call` it is a call of the model that read and wrote so many tokens, and `what` is the reply; else `what` says what
    was done without the model, a tool's result or why it came to an end.
    """

    stage: str
    what: str
    read: int = 0
    written: int = 0
    is_call: bool = False


@dataclass(frozen=True)
class Answer:
    """What came of asking: the text of the last reply, what it says, and what it took.

    `value` is None where no reply could be read; `unread` says why, one each. `free` is the reply before decoding was
    constrained, where both were asked. `calls` counts all replies, tokens are those of all of them; `cut` says that the last
    one ran into its limit. `trace` has every step of a method that takes several.

    >>> built, answered = Step(BUILD, "...", 850, 40, True), Step(ANSWER, "the miller", 300, 10, True)
    >>> answer = Answer("the miller", "the miller", calls=2, prompt_tokens=1150, completion_tokens=50, trace=(built, answered))
    >>> answer.tokens_first_call, answer.tokens_total, answer.spent(BUILD)
    (300, 1200, 890)
    """

    text: str
    value: Any = None
    unread: tuple[str, ...] = ()
    free: str | None = None
    cut: bool = False
    calls: int = 1
    prompt_tokens: int = 0
    completion_tokens: int = 0
    repairs: tuple[str, ...] = ()
    trace: tuple[Step, ...] = ()

    @property
    def free_read(self) -> bool:
        """Whether the first reply, before decoding was constrained, could be read; else the same as whether the last could.

        >>> Answer("[0]", [0], ("no JSON",), free="the first", calls=2).free_read, Answer("[0]", [0], free="[0]").free_read
        (False, True)
        """
        if self.free is None or self.calls == 1:
            return self.value is not None
        return len(self.unread) == (self.value is None)

    @property
    def tokens_total(self) -> int:
        """Read and written, everything included."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def tokens_first_call(self) -> int:
        """Read by the first call of the answer stage: the f₁ of MindGraph's compaction ratio (section 4.2)."""
        return next((step.read for step in self.trace if step.is_call and step.stage == ANSWER), 0)

    def spent(self, stage: str) -> int:
        """Tokens read and written at one stage."""
        return sum(step.read + step.written for step in self.trace if step.stage == stage)


class _Row(BaseModel):
    """What a line of a question file must hold."""

    model_config = ConfigDict(extra="allow", strict=True)
    id: str = Field(min_length=1)
    play: str = Field(min_length=1)
    evidence: list[str] = Field(min_length=1)


class _QuestionRow(_Row):
    question: str = Field(min_length=1)
    answer: str = Field(min_length=1)
    accepted: list[str]
    options: list[str] = Field(min_length=4, max_length=4)
    breadth: Breadth
    depth: Depth


class _ClaimRow(_Row):
    true: str = Field(min_length=1)
    false: str = Field(min_length=1)


def load_questions(path: str | Path, document: Callable[[str], Document]) -> list[Question]:
    """The questions of a JSONL file; `document` gives the text that a row's `play` names.

    A row has id, play, question, answer, accepted, options, evidence (quotes, word for word), breadth and depth; keys
    beyond these are passed over. Raises InputError, with the file and the line, for a row that is no JSON object or
    lacks a key, an id that comes twice, an answer that is not among its four different options, a quote that is not in
    the text.

    >>> from mindscape import paths
    >>> from mindscape.corpora import shakespeare
    >>> question = load_questions(paths.data("shakespeare", "questions.jsonl"), shakespeare.play)[0]
    >>> len(question.options), question.breadth in BREADTHS
    (4, True)
    """
    questions = []
    for where, row in _rows(path, _QuestionRow):
        different, there = len(set(row.options)) == 4, row.answer in row.options
        require(different, f"{where}: {row.id}: two options are the same: expected four different ones")
        require(there, f"{where}: {row.id}: the answer {row.answer!r} is not among the options {row.options}")
        fields = row.id, row.play, row.question, row.answer, tuple(row.accepted), tuple(row.options)
        evidence = _places(row, where, document)
        questions.append(Question(*fields, evidence, row.breadth, row.depth, resolved=row.question))
    return questions


def load_claims(path: str | Path, document: Callable[[str], Document]) -> list[ClaimPair]:
    """The claim pairs of a JSONL file: id, play, true, false, evidence. Errors as in `load_questions`."""
    pairs = []
    for where, row in _rows(path, _ClaimRow):
        require(row.true != row.false, f"{where}: {row.id}: both claims are the same: expected two that differ in one fact")
        pairs.append(ClaimPair(row.id, row.play, row.true, row.false, _places(row, where, document)))
    return pairs


def _rows(path: str | Path, model: type[_Row]) -> Iterator[tuple[str, Any]]:
    """The rows of a file, each with its place for an error message."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = model.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise InputError(f"{where}: {key + ': ' if key else ''}{first['msg']}") from None
        line_before = seen.setdefault(row.id, number)
        require(line_before == number, f"{where}: the id {row.id!r} is that of line {line_before} too: expected each once")
        yield where, row


def _places(row: _Row, where: str, document: Callable[[str], Document]) -> tuple[Span, ...]:
    """Where the quotes stand, in the order of the text; blanks and line breaks alone may differ."""
    try:
        text = document(row.play)
    except InputError as error:
        raise InputError(f"{where}: {row.id}: {error}") from None
    spans = []
    for quote in row.evidence:
        place = locate(quote, text) if quote.strip() else None
        if place is None or text[place].split() != quote.split():
            raise InputError(f"{where}: {row.id}: this quote is not in {row.play!r} word for word: {quote!r}")
        spans.append(place)
    return tuple(sorted(spans))
