"""How the baselines ask: replies that are read or asked for again, texts that are made to fit, the last question of all.

A reply that cannot be read costs a second call, in which the model is told what was wrong; after that it counts as none. Of
a list that was cut off in the middle the whole items can be kept.
Every call goes through the method's `Meter`. Taught in notebook 32_long_reason. Nothing here knows a method.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, get_origin

from pydantic import BaseModel

from mindscape.budget import BudgetSpent, Meter
from mindscape.errors import InputError, require
from mindscape.llm import Message
from mindscape.llm.base import form_of
from mindscape.llm.schema import read
from mindscape.llm.tags import THINKING
from mindscape.mindgraph.answering import cut
from mindscape.prompts import languages
from mindscape.roles.answers import QA
from mindscape.text import Chunk, Document

BRIEF = 512  # tokens of an answer, at most
TRIES = 2  # calls for one reply, at most
AGAIN = languages("mindgraph", "again")
WHY = 60  # characters of what was wrong
SPARE = 256  # tokens of a window that are kept free: for asking again, and for what texts grow by where they are joined
GAP = {"en": "\n[... {n} characters are left out here ...]\n", "zh": "\n[……此处略去{n}个字符……]\n"}


def checked(question: str, document: Document, meter: Meter) -> None:
    """See that there is a question that the window holds, and a text in a language that there are prompts for.

    Raises InputError where there is not, before anything is paid for.

    >>> checked(" ", Document("note", "Ivo sold the lamp."), meter)                         # doctest: +SKIP
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
    words = re.sub(THINKING, "", text, flags=re.DOTALL).strip()
    if not words:
        raise ValueError("the reply has no words")
    return words


def ask(
    meter: Meter,
    talks: Sequence[Sequence[Message]],
    language: str,
    *,
    tokens: int,
    form: type[BaseModel] | None = None,
    tries: int = TRIES,
    whole_items: bool = False,
) -> list[Any]:
    """What the replies to some conversations say, asked side by side: values of `form`, or plain words without one.

    Those that cannot be read are asked for again, together, at most `tries` times in all; what still cannot is None, with a
    note in the trace. `tokens` bounds a reply; with `whole_items` one that is cut off there is taken for what it has until
    then, see `before_the_cut`, with a note. Raises BudgetSpent where the method's budget does not hold a batch, of which
    none is then asked; LLMError where the model fails.

    >>> ask(meter, [alone("Who sold the lamp?"), alone("Who has it?")], "en", tokens=20)        # doctest: +SKIP
    ['Ivo', 'Ann']
    """
    values: list[Any] = [None] * len(talks)
    asked = dict(enumerate(talks))
    wrong: dict[int, str] = {}
    for _ in range(tries):
        if not asked:
            break
        wrong = {}
        replies = meter.chat(list(asked.values()), schema=form, max_new_tokens=tokens)
        for i, reply in zip(asked, replies, strict=True):
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
        asked = {i: [*talks[i][:-1], *alone(prompt)] for i, prompt in again.items()}
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
    lists = {name: [] for name, of in form.model_fields.items() if get_origin(of.annotation) is list}
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
        [text] = ask(meter, [alone(prompt)], language, tokens=BRIEF)
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
        some = fitting(meter, rest, room, joint) or rest[:1]
        joined.append(joint.join(some))
        rest = rest[len(some) :]
    return joined
