"""What MindGraph and its five baselines have in common (section 4.2): how they are asked and ask, how a text is cut for them,
what is counted.

`method(question, document, llm, budget) -> Answer` is the interface of all six.

A baseline's reply that cannot be read costs a second call, in which the model is told what was wrong; after that it counts as
none. Of a list that was cut off in the middle the whole items can be kept. Every call goes through the method's `Meter`.

Taught in notebooks 31_mindgraph_answer and 32_long_reason. Nothing here knows a method or says whether an answer is right.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, get_origin

from pydantic import BaseModel

from mindscape.budget import Budget, BudgetSpent, Meter
from mindscape.errors import InputError, require
from mindscape.llm import Message
from mindscape.llm.base import LLM, form_of
from mindscape.llm.schema import read
from mindscape.llm.tags import dropped
from mindscape.prompts import languages
from mindscape.question import Answer
from mindscape.roles.answers import LETTERS, QA, letters
from mindscape.roles.edits import BLOCK
from mindscape.text import Chunk, Document, Span, sentences

PAPER_BLOCK = 8192  # tokens
SAMPLE = 8000  # characters of a text by which an endpoint's count of its tokens is scaled
CHOICES = languages("mindgraph", "choices")


class Method(Protocol):
    """A way to answer a question about a document. Raises LLMError where the model fails; a budget is no error."""

    def __call__(self, question: str, document: Document, llm: LLM, budget: Budget) -> Answer: ...


def compaction(answer: Answer, length: int) -> float:
    """The compaction ratio f₁/L: tokens of the first call over tokens of the document (section 4.2), as a fraction.

    `length` must be counted as the model counts; see `length`.

    >>> from mindscape.question import ANSWER, Step
    >>> first = Step(ANSWER, "the miller", read=300, written=4, asked=True)
    >>> compaction(Answer("the miller", trace=(first,)), 30_000)
    0.01
    """
    require(length >= 1, f"length={length}: expected the tokens of a document, at least 1")
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
    require(answers, "there is no question to share the build among: expected at least one")
    return build / len(answers) + sum(answers) / len(answers)


def with_options(question: str, options: Sequence[str] = (), language: str = "en") -> str:
    """A question as methods are asked it: with its options by letter where there are some.

    Raises InputError for another language than English and Chinese, and for one option or more than four.

    >>> print(with_options("Where is the lamp?", ["at the inn", "at the mill"]))
    Where is the lamp?
    <BLANKLINE>
    Options:
    A. at the inn
    B. at the mill
    <BLANKLINE>
    Answer with the letter of the right option.
    """
    require(language in CHOICES, f"language={language!r}: expected one of {', '.join(CHOICES)}")
    if not options:
        return question
    require(2 <= len(options) <= len(LETTERS), f"{len(options)} options: expected 2 to {len(LETTERS)}, or none")
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
    require(size >= 1, f"size={size}: expected at least one token a block")
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


# How the baselines ask ------------------------------------------------------------------------------------------------


BRIEF = 512  # tokens of an answer, at most
TRIES = 2  # calls for one reply, at most
AGAIN = languages("mindgraph", "again")
WHY = 60  # characters of what was wrong
SPARE = 256  # tokens of a window that are kept free: for asking again, and for what texts grow by where they are joined
GAP = {"en": "\n[... {n} characters are left out here ...]\n", "zh": "\n[……此处略去{n}个字符……]\n"}


def check_question(question: str, document: Document, meter: Meter) -> None:
    """See that there is a question that the window holds, and a text in a language that there are prompts for.

    Raises InputError where there is not, before anything is paid for.

    >>> check_question(" ", Document("note", "Ivo sold the lamp."), meter)                         # doctest: +SKIP
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: the question is blank: expected what is to be answered
    """
    require(question.strip(), "the question is blank: expected what is to be answered")
    require(document.text.strip(), f"{document.id} has no text: expected some to answer from")
    if document.language not in AGAIN:
        raise InputError(f"{document.id} is in {document.language!r}: expected one of {', '.join(AGAIN)}")
    room(meter, QA.prompt(document.language, form_of(meter), context="", question=question), BRIEF)


def alone(prompt: str) -> list[Message]:
    """A conversation that begins with a prompt.

    >>> alone("Who's there?")
    [{'role': 'user', 'content': "Who's there?"}]
    """
    return [{"role": "user", "content": prompt}]


def said(text: str) -> str:
    """The words of a plain reply, without what a reasoning model thinks before it. Raises ValueError where there are none.

    >>> said("<think>Who has it?</think> The miller. ")
    'The miller.'
    """
    words = dropped(text)[0].strip()
    if not words:
        raise ValueError("the reply has no words")
    return words


def ask_and_read(
    meter: Meter,
    talks: Sequence[Sequence[Message]],
    language: str,
    *,
    tokens: int,
    form: type[BaseModel] | None = None,
    whole_items: bool = False,
) -> list[Any]:
    """What the replies to some conversations say, asked side by side: values of `form`, or plain words without one.

    Those that cannot be read are asked for again, together, at most `TRIES` times in all; what still cannot is None, with a
    note in the trace. `tokens` bounds a reply; with `whole_items` one that is cut off there is taken for what it has until
    then, see `before_the_cut`, with a note. Raises BudgetSpent where the method's budget does not hold a batch, of which
    none is then asked; LLMError where the model fails.

    >>> ask_and_read(meter, [alone("Who sold the lamp?"), alone("Who has it?")], "en", tokens=20)        # doctest: +SKIP
    ['Ivo', 'Ann']
    """
    values: list[Any] = [None] * len(talks)
    waiting = dict(enumerate(talks))
    wrong: dict[int, str] = {}
    for _ in range(TRIES):
        if not waiting:
            break
        wrong = {}
        replies = meter.chat(list(waiting.values()), schema=form, max_new_tokens=tokens)
        for i, reply in zip(waiting, replies, strict=True):
            try:
                if form and whole_items and reply.finish == "length":
                    values[i] = before_the_cut(reply.text, form)
                    meter.note(f"a reply was cut off after {tokens} tokens: its whole items are kept")
                else:
                    values[i] = read(reply.text, form)[0] if form else said(reply.text)
            except ValueError as error:
                why = f"it was cut off after {tokens} tokens" if reply.finish == "length" else str(error)
                wrong[i] = " ".join(why.split())[:WHY]
        again = {i: AGAIN[language].format(prompt=talks[i][-1]["content"], why=why) for i, why in wrong.items()}
        waiting = {i: [*talks[i][:-1], *alone(prompt)] for i, prompt in again.items()}
    for why in wrong.values():
        meter.note(f"no reply that can be used: {why}")
    return values


def before_the_cut(text: str, form: type[Any]) -> Any:
    """What a reply in JSON that was cut off in the middle of a list has of it: the items that are whole, and empty lists for
    those that it did not come to. Raises ValueError where no item is whole, or something else is missing.

    >>> class Names(BaseModel):
    ...     people: list[str]
    ...     places: list[str]
    >>> before_the_cut('{"people": ["Ann", "Ivo", "To', Names)
    Names(people=['Ann', 'Ivo'], places=[])
    """
    text, _ = dropped(text)
    text = text[max(0, text.find("{")) :]  # behind a fence
    # pydantic's own parser of partial JSON would keep a number that was cut off, 9 of 90
    open_until: list[str] = []  # the marks that would close what is open
    whole, quoted, escaped = "", False, False
    for i, mark in enumerate(text):
        if quoted:
            quoted, escaped = escaped or mark != '"', not escaped and mark == "\\"
        elif mark in "{[":
            open_until.append("}" if mark == "{" else "]")
        elif mark in "}]" and open_until:
            open_until.pop()
        else:
            quoted = mark == '"'
            continue
        if not quoted and mark in '"}' and open_until[-1:] == ["]"]:
            whole = text[: i + 1] + "".join(reversed(open_until))
    value = json.loads(whole)
    if not isinstance(value, dict):
        raise ValueError("the reply is no JSON object")
    lists = {name: [] for name, field in form.model_fields.items() if get_origin(field.annotation) is list}
    return form.model_validate(lists | value)


def last(meter: Meter, context: str, question: str, language: str) -> str:
    """The answer to a question from a context: the last call of every baseline but one, in the same words for all.

    Where window or budget do not hold the context it is cut in its middle, and the trace says so. Empty where the budget does
    not hold the call, or no reply can be used.

    >>> last(meter, "Ivo sold the lamp.", "Who sold the lamp?", "en")                       # doctest: +SKIP
    'Ivo'
    """
    form = form_of(meter)
    empty = QA.prompt(language, form, context="", question=question)
    left = room(meter, empty, BRIEF)
    if meter.budget.tokens is not None:
        affordable = meter.budget.tokens - meter.tokens - meter.count_tokens(alone(empty)) - BRIEF - SPARE
        left = max(1, affordable if left is None else min(left, affordable))
    context, left_out = clipped(meter, context, left, language)
    if left_out:
        meter.note(f"{left_out:,} characters in the middle are left out: the window or the budget does not hold them")
    try:
        prompt = QA.prompt(language, form, context=context, question=question)
        [text] = ask_and_read(meter, [alone(prompt)], language, tokens=BRIEF)
    except BudgetSpent as error:
        meter.note(str(error))
        return ""
    return text or ""


def reply_tokens(meter: Meter, most: int, size: int | None = None) -> int:
    """Tokens that a reply may have: `most`, but at most a fifth of the model's window, what the budget has for one reply, and
    `size` where that is above 256.

    >>> from types import SimpleNamespace
    >>> free, brief = SimpleNamespace(reply=None), SimpleNamespace(reply=300)
    >>> reply_tokens(SimpleNamespace(context=8192, budget=free), 2048)
    1638
    >>> reply_tokens(SimpleNamespace(context=8192, budget=brief), 2048)
    300
    >>> reply_tokens(SimpleNamespace(context=None, budget=free), 2048, size=280)
    280
    """
    bounds = [most, meter.context and meter.context // 5, meter.budget.reply, size and max(size, 256)]
    return max(1, min(bound for bound in bounds if bound is not None))


def room(meter: Meter, prompt: str, tokens: int, most: int | None = None) -> int | None:
    """Tokens that a prompt without its texts, and `tokens` more, leave in the model's window, but `most` at most.

    None where neither bounds them. Raises InputError where nothing is left.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(context=1000, count_tokens=lambda talk: 4 + len(talk[0]["content"].split()))
    >>> room(model, "Who has the lamp? Answer from this:", 100), room(model, "Who?", 100, most=280)
    (633, 280)
    """
    if meter.context is None:
        return most
    taken = meter.count_tokens(alone(prompt)) + tokens + SPARE
    left = meter.context - taken
    if left < 1:
        need = f"without any text a prompt and its reply need {taken}: expected a larger window or a shorter question"
        raise InputError(f"{meter.name} holds {meter.context} tokens, and {need}")
    return left if most is None else min(left, most)


def blocks(meter: Meter, document: Document, prompt: str, tokens: int, size: int) -> list[Chunk]:
    """The document in blocks of at most `size` tokens that each stand in the window beside a prompt and `tokens` more."""
    return cut(document, meter, room(meter, prompt, tokens, size))


def clipped(meter: Meter, text: str, room: int | None, language: str) -> tuple[str, int]:
    """The text cut in its middle so that it takes at most `room` tokens, and how many characters are left out.

    Beginning and end are kept in equal parts, and a line between them says how much is missing; where the room does not even
    hold that line, nothing is kept. Time: about ten counts of twice the room.

    >>> from types import SimpleNamespace
    >>> words = SimpleNamespace(count_tokens=lambda text: len(text.split()))
    >>> clipped(words, "one two three", 3, "en")
    ('one two three', 0)
    >>> clipped(words, "one two three four five six seven eight nine ten " * 10, 12, "en")
    ('one two \\n[... 474 characters are left out here ...]\\nine ten ', 474)
    """
    tokens = meter.count_tokens(text) if room is not None else 0
    if room is None or tokens <= room:
        return text, 0

    def some(kept: int) -> str:
        tail = kept // 2
        return text[: kept - tail] + GAP[language].format(n=len(text) - kept) + text[len(text) - tail :]

    fits, over = 0, len(text)
    guess = 2 * len(text) * room // tokens + 1  # most texts have as many tokens a character everywhere
    if guess < over and meter.count_tokens(some(guess)) > room:
        over = guess
    while over - fits > max(1, fits // 200):
        kept = (fits + over) // 2
        if meter.count_tokens(some(kept)) <= room:
            fits = kept
        else:
            over = kept
    return (some(fits) if fits else ""), len(text) - fits


def fitting(meter: Meter, texts: Sequence[str], room: int | None, joint: str = "\n") -> list[str]:
    """As many of the texts, from the first on, as stand joined in `room` tokens.

    >>> from types import SimpleNamespace
    >>> words = SimpleNamespace(count_tokens=lambda text: len(text.split()))
    >>> fitting(words, ["one two", "three", "four five"], 4)
    ['one two', 'three']
    """
    kept: list[str] = []
    for text in texts:
        if room is not None and meter.count_tokens(joint.join([*kept, text])) > room:
            break
        kept.append(text)
    return kept


def groups(meter: Meter, texts: Sequence[str], room: int | None, language: str, joint: str = "\n\n") -> list[str]:
    """The texts in their order, joined to as few as hold `room` tokens each; one that is longer is cut in its middle.

    >>> from types import SimpleNamespace
    >>> words = SimpleNamespace(count_tokens=lambda text: len(text.split()))
    >>> groups(words, ["one two", "three", "four five"], 3, "en", joint=" ")
    ['one two three', 'four five']
    """
    rest, joined = [clipped(meter, text, room, language)[0] for text in texts], []
    while rest:
        group = fitting(meter, rest, room, joint) or rest[:1]
        joined.append(joint.join(group))
        rest = rest[len(group) :]
    return joined
