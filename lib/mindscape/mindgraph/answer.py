"""MindGraph itself, and what it has in common with its five baselines (MindGraph, sections 3 and 4.2).

`method(question, document, llm, budget) -> Answer` is the interface of all six; first come the words of a question, the cut of
a text into blocks, how the baselines ask, and what is counted. A baseline's reply that cannot be read costs a second call, in
which the model is told what was wrong; after that it counts as none. Of a list that was cut off in the middle the whole items
can be kept. Every call goes through the method's `Meter`.

MindGraph builds a graph with the question in mind, then answers the question from it. `answer` does both; `answer_from`
answers from a graph that is there. The model sees the graph, its size and the question, may call the two tools in at most 40
rounds, and ends with JSON: an answer, the nodes it rests on, how sure it is. Which tool is taken at which size is said in the
prompt alone, as in section 5.4.

Where the paper is silent: a graph that outgrows the window is shown as in the build (`mindscape.mindgraph.build`), and a
quarter of the window is left for the tools; when even that is full, the oldest results are taken out of the conversation; in
the last round, and when the budget allows one more call but not two, the model is told to answer, without tools; a reply that
is neither a call nor an answer costs a round and is answered with what was expected; nodes that are cited and are not in the
graph are reported, and change nothing in the answer.

The compaction ratio (section 4.2) is that of the first call of the answer stage. It leaves out the build, the reports and the
later calls: `tokens_total` and `spent` have them, however much of it was asked in an earlier, killed run.

Taught in notebooks 31_mindgraph_answer and 32_long_reason. Nothing here says whether an answer is right:
`mindscape.mindgraph.scoring` does.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from math import ceil
from statistics import median
from typing import Any, Literal, NamedTuple, get_origin

from mindscape.ask import Budget, BudgetSpent, Meter
from mindscape.errors import InputError, one_of, require
from mindscape.llm import Message
from mindscape.llm.base import LLM, Reply, ToolCall, dropped, form_of
from mindscape.llm.recording import Estimate, Ledger
from mindscape.llm.schema import in_words, read
from mindscape.mindgraph.build import TOKENS, fitting_graph, noted, rebuild, shown_state
from mindscape.mindgraph.communities import PARAMETERS, Refused, Reports, Tools, answer_schema, lookup_schema, step_schema
from mindscape.mindgraph.graph import Graph, verify
from mindscape.prompts import languages, short_texts
from mindscape.question import ANSWER, Answer
from mindscape.roles import BLOCK, EDITS, GRAPH_ANSWER, LETTERS, QA, GraphAnswer, Role, graph_stats, letters, tools_of
from mindscape.text import Chunk, Document, Span, sentences

PAPER_BLOCK = 8192  # tokens
SAMPLE = 8000  # characters of a text by which an endpoint's count of its tokens is scaled
CHOICES = languages("mindgraph", "choices")
Options = Sequence[str]  # of a choice: the last reply is held to one of them; none of an open question
# A way to answer a question about a document: method(question, document, llm, budget). Raises LLMError where the model fails; a
# budget is no error.
Method = Callable[..., Answer]


def compaction(answer: Answer, length: int) -> float:
    """The compaction ratio f₁/L: tokens of the first call over tokens of the document (section 4.2), as a fraction.

    `length` must be counted as the model counts; see `length`.

    >>> from mindscape.question import ANSWER, Step
    >>> first = Step(ANSWER, "the miller", read=300, written=4, is_call=True)
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


def with_options(question: str, options: Options = (), language: str = "en") -> str:
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
    one_of(CHOICES, language=language)
    if not options:
        return question
    require(2 <= len(options) <= len(LETTERS), f"{len(options)} options: expected 2 to {len(LETTERS)}, or none")
    return CHOICES[language].format(question=question, options=letters(list(options)))


def held_to(options: Options) -> dict[str, str] | None:
    """The form of a reply in plain words that is one of the options, for a model whose decoding can be held to a grammar; None
    without options.

    >>> print(held_to(["at the inn", "at the mill"])["lark"])
    start: "at the inn" | "at the mill"
    """
    listed = " | ".join(json.dumps(option, ensure_ascii=False) for option in options)
    return {"title": "one of the options", "type": "string", "lark": f"start: {listed}"} if options else None


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
    text = document.text
    pieces = [piece for span in sentences(text, document.language) for piece in _pieces(text, span, llm, size)]
    sums = [0, *accumulate(tokens for _, tokens in pieces)]
    chunks: list[Chunk] = []
    i = 0
    while i < len(pieces):
        start, j = pieces[i][0].start, max(i + 1, bisect_right(sums, sums[i] + size) - 1)
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
    at = text.rfind(" ", span.start, middle) + 1 or middle
    yield from _pieces(text, Span(span.start, at), llm, size)
    yield from _pieces(text, Span(at, span.end), llm, size)


# How the baselines ask ------------------------------------------------------------------------------------------------


BRIEF = 512  # tokens of an answer, at most
TRIES = 2  # calls for one reply, at most
AGAIN = languages("mindgraph", "again")
WHY = 60  # characters of what was wrong
SPARE = 256  # tokens of a window that are kept free: for asking again, and for what texts grow by where they are joined
OPENS = {"{": "}", "[": "]"}
TOKEN = re.compile(r'([][{}])|("(?:[^"\\]|\\.)*+")|".*', re.DOTALL)  # of JSON: a bracket, a string, or one that was cut off
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
    require(document.language in AGAIN, f"{document.id} is in {document.language!r}: expected one of {', '.join(AGAIN)}")
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
    meter: Meter, talks: Sequence[Sequence[Message]], language: str, *, tokens: int, form: Any = None, whole_items: bool = False
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

    >>> from pydantic import BaseModel
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
    whole = ""
    for token in TOKEN.finditer(text):
        mark, string = token.groups()
        if mark in OPENS:
            open_until.append(OPENS[mark])
        elif mark and open_until:
            open_until.pop()
        if (string or mark == "}") and open_until[-1:] == ["]"]:
            whole = text[: token.end()] + "".join(reversed(open_until))
    value = json.loads(whole)
    if not isinstance(value, dict):
        raise ValueError("the reply is no JSON object")
    lists = {name: [] for name, field in form.model_fields.items() if get_origin(field.annotation) is list}
    return form.model_validate(lists | value)


def last(meter: Meter, context: str, question: str, language: str, options: Options = ()) -> str:
    """The answer to a question from a context: the last call of every baseline but one, in the same words for all. With
    options, which the prompt does not show, the reply is held to one of them.

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
        [text] = ask_and_read(meter, [alone(prompt)], language, tokens=BRIEF, form=held_to(options))
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

    def shortened(kept: int) -> str:
        tail = kept // 2
        return text[: kept - tail] + GAP[language].format(n=len(text) - kept) + text[len(text) - tail :]

    fits, over = 0, len(text)
    guess = 2 * len(text) * room // tokens + 1  # most texts have as many tokens a character everywhere
    if guess < over and meter.count_tokens(shortened(guess)) > room:
        over = guess
    while over - fits > max(1, fits // 200):
        kept = (fits + over) // 2
        if meter.count_tokens(shortened(kept)) <= room:
            fits = kept
        else:
            over = kept
    return (shortened(fits) if fits else ""), len(text) - fits


def fitting(meter: Meter, texts: Sequence[str], room: int | None, joint: str = "\n") -> list[str]:
    """As many of the texts, from the first on, as stand joined in `room` tokens.

    >>> from types import SimpleNamespace
    >>> words = SimpleNamespace(count_tokens=lambda text: len(text.split()))
    >>> fitting(words, ["one two", "three", "four five"], 4)
    ['one two', 'three']
    """
    n = 0
    while n < len(texts) and (room is None or meter.count_tokens(joint.join(texts[: n + 1])) <= room):
        n += 1
    return list(texts[:n])


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


ROUNDS = 40  # with tools, at most (section 4.2)
ANSWER_TOKENS = 512  # of a reply in the answer stage, at most
NODES, LOOKED_UP = 45, 4  # nodes of a graph, and passages looked up where it is small: medians (sections 5.3 and 5.4)
SIZES = (50, 150)  # nodes from which a graph is of middle size, and large (section 5.4)
FORM = '{"answer": "...", "cited_nodes": ["id"], "confidence": "high|medium|low"}'
Calling = Literal["tools", "grammar"]

WORDS = short_texts("mindgraph", "answer")
LINES = WORDS["lines"]  # a node and two edges as prompts show them
HOW = WORDS["how"]  # added to the prompt of a model that has no tools of its own
SMALL = ("embedded", "smollm2")  # models whose decoding is held to a grammar unless a call says otherwise
RESULT, LAST, DROPPED = WORDS["result"], WORDS["last"], WORDS["dropped"]


@dataclass(frozen=True)
class Limits:
    """How much at most: tokens of the graph in a prompt (None: what the window leaves), of a reply with edits, of an answer;
    rounds with tools."""

    graph: int | None = None
    edits: int = TOKENS
    answer: int = ANSWER_TOKENS
    rounds: int = ROUNDS


def limits(model: LLM) -> Limits:
    """What a model may read and write: the embedded reader was trained on prompts of 900 tokens at most.

    >>> from types import SimpleNamespace
    >>> limits(SimpleNamespace(name="embedded"))
    Limits(graph=300, edits=300, answer=96, rounds=4)
    """
    return Limits(300, 300, 96, 4) if model.name == "embedded" else Limits()


@dataclass(frozen=True)
class GraphAnswered(Answer):
    """An answer from a graph of so many `nodes` and `edges`.

    `cited` are the nodes it cites that there are, `unknown` the ids that there are not; `confidence` is high, medium, low, or
    empty where there is no answer. `uses` counts the tool calls that were run ("lookup_source", "index", "detail"),
    `malformed` the calls and replies that could not be used, by the kinds of `communities.Refused`. `shown` is the number of
    nodes in the prompt, `ended` says why there is no answer.
    """

    nodes: int = 0
    edges: int = 0
    shown: int = 0
    cited: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    confidence: str = ""
    uses: Mapping[str, int] = field(default_factory=dict)
    malformed: Mapping[str, int] = field(default_factory=dict)
    ended: str = ""


def answer(
    question: str,
    document: Document,
    llm: LLM,
    budget: Budget | None = None,
    *,
    size: int | None = None,
    most: Limits | None = None,
    role: Role = EDITS,
    options: Options = (),
) -> GraphAnswered:
    """Build the graph of a document for a question, and answer from it; the whole method (a `Method`).

    `size`: tokens of a block, by default `block_size(llm)`. `most` bounds what is read and written, by default as the paper
    does; a reply's tokens have what a reasoning model thinks in them: such a model needs some thousand. `role`: see `noted`;
    the edits of "embedded" and "smollm2" are held to quotes. `options`: see `answer_from`.

    A budget that is spent ends the method without an answer. Raises InputError for a blank question or text and for blocks
    that leave no room for a graph, LLMError if the model fails; what was asked until then is in its store, where the same
    call finds it and counts it as if it were asked now.

    >>> result = answer("Who sent the letter?", play, llm.load("openai:gpt-4o"), Budget(tokens=500_000))  # doctest: +SKIP
    >>> result.text, result.cited, result.spent(BUILD)                                      # doctest: +SKIP
    ('Horatio', ('letter', 'horatio'), 141800)
    """
    most = most or Limits()
    _way(question, most.rounds, None, most.answer, llm.name, bool(options))  # before a build is paid for
    require(document.text.strip(), f"{document.id} has no text: expected some to answer from")
    meter = Meter(llm, budget)
    blocks = cut(document, llm, block_size(llm) if size is None else size)
    about: dict[str, Any] = {"budget": most.graph, "tokens": most.edits, "held": llm.name in SMALL, "role": role}
    try:
        journal = noted(document, question, meter, blocks=blocks, **about)
    except BudgetSpent as error:
        meter.note(str(error))
        return GraphAnswered(**vars(meter.answer("")), ended=str(error))
    how: dict[str, Any] = {"rounds": most.rounds, "graph_tokens": most.graph, "tokens": most.answer, "options": options}
    return answer_from(rebuild(journal), document, question, meter, chunks=len(blocks), **how)


def answer_from(
    graph: Graph,
    document: Document,
    question: str,
    llm: LLM | Meter,
    *,
    chunks: int,
    rounds: int = ROUNDS,
    calling: Calling | None = None,
    graph_tokens: int | None = None,
    tokens: int = ANSWER_TOKENS,
    options: Options = (),
    lookups_first: int = 0,
) -> GraphAnswered:
    """Answer a question from a graph of the document that was built from so many `chunks`.

    A round is a reply that calls tools, or one that cannot be used; after `rounds` of them comes the answer, so there are at
    most `rounds` + 1 calls, and those of the reports. With `rounds=0` the graph is read without tools, by the very prompt that
    the embedded reader was trained on. `calling` is "tools" for a model that has tools, or whose template is given them in
    words, and "grammar" for one that is held to `step_schema`; the default is "grammar" for "embedded" and "smollm2". With
    `options`, which no prompt shows, "grammar" holds the answer to one of them; with `lookups_first` it holds so
    many rounds to a call of `lookup_source`, which the paper leaves to the model; without any node there is nothing to look up.

    The reports that a summary needs are asked for at the stage "report". Given a meter, its
    budget holds, and what it has counted before is part of the answer's tokens. Raises InputError for a graph that is not of
    the document, a blank question, and a number of rounds below 0.

    >>> result = answer_from(graph, play, "Who sent the letter?", llm.load("embedded"), chunks=21)  # doctest: +SKIP
    >>> result.uses, result.malformed, result.confidence                                    # doctest: +SKIP
    (Counter({'lookup_source': 4}), Counter(), 'high')
    """
    meter = llm if isinstance(llm, Meter) else Meter(llm)
    calling = _way(question, rounds, calling, tokens, meter.name, bool(options or lookups_first))
    verify(graph, document)
    require(0 <= lookups_first <= rounds, f"lookups_first={lookups_first}: expected 0 to rounds={rounds}")
    reports = Reports(graph, meter, language=document.language)
    reading = _Reading(Tools(graph, document, reports), meter, calling, tokens, options)
    meter.stage = ANSWER
    shown = reading.begin(question, chunks, rounds, graph_tokens)
    final, ended = None, ""
    try:
        for done in range(rounds + 1):
            if done == rounds or not reading.holds_two():
                final, ended = reading.last(asked_before=done > 0)
                break
            if (final := reading.round(done < lookups_first)) is not None:
                break
    except BudgetSpent as error:
        ended = str(error)
    if ended:
        meter.note(ended)
    cited = list(dict.fromkeys(final.cited_nodes)) if final else []
    return GraphAnswered(
        **vars(meter.answer(final.answer.strip() if final else "")),
        nodes=len(graph.nodes),
        edges=len(graph.edges),
        shown=shown,
        cited=tuple(name for name in cited if name in graph.nodes),
        unknown=tuple(name for name in cited if name not in graph.nodes),
        confidence=final.confidence if final else "",
        uses=reading.tools.uses,
        malformed=reading.tools.malformed,
        ended=ended,
    )


def _way(question: str, rounds: int, calling: Calling | None, tokens: int, name: str, held: bool) -> Calling:
    """How tools are called; refused is what no answer can be asked with. `held`: whether replies are, to options or a call."""
    message = f"rounds={rounds}, question={question!r:.60}: expected 0 rounds or more, and a question"
    require(rounds >= 0 and question.strip(), message)
    require(tokens >= 1, f"{tokens} tokens for an answer: expected at least 1")
    calling = calling or ("grammar" if name in SMALL else "tools")
    require(calling in ("tools", "grammar"), f'calling={calling!r}: expected "tools" or "grammar"')
    message = 'options, or lookups_first, and calling="tools": only "grammar" holds a reply to a form'
    require(calling == "grammar" or not held, message)
    return calling


class _Reading:
    """The conversation of the answer stage: the prompt, then replies and results in turn."""

    def __init__(self, tools: Tools, meter: Meter, calling: Calling, tokens: int, options: Options):
        self.tools, self.meter, self.calling, self.tokens, self.options = tools, meter, calling, tokens, options
        self.language = tools.document.language
        self.messages: list[Message] = []
        self.results: list[int] = []  # where in the messages results stand that may be dropped
        self.step = step_schema(tools.graph, len(tools.reports.communities), options)
        self.described = tools_of(form_of(meter))
        self.frame = 0  # tokens of the tools' schemas, which stand beside the messages
        self.closing = [*alone(DROPPED[self.language]), *alone(LAST[self.language].format(form=FORM))]

    def begin(self, question: str, chunks: int, rounds: int, graph_tokens: int | None) -> int:
        """Write the prompt; how many nodes of the graph are in it."""
        graph, meter = self.tools.graph, self.meter
        stats = graph_stats(len(graph.nodes), len(graph.edges), chunks, self.language)
        if rounds and self.calling == "tools":
            self.frame = meter.count_tokens(in_words(alone(""), self.described))

        def messages(state: str) -> list[Message]:
            slots = {"graph_state": state, "graph_stats": stats, "question": question}
            prompt = GRAPH_ANSWER.prompt(self.language, form_of(meter), **slots)
            how = f"\n\n{HOW[self.language]}" if rounds and self.calling == "grammar" else ""
            return alone(prompt + how)

        taken, context = self.frame + self.tokens, meter.context
        if rounds and context is not None:  # room for results, and for the end of the conversation
            taken += max(context // 4, meter.count_tokens(self.closing) + self.tokens)
        fits = fitting_graph(meter, graph_tokens, taken)
        state, shown = shown_state(graph, partial(fits, messages), self.language)
        self.messages = messages(state)
        return shown

    def holds_two(self) -> bool:
        """Whether budget and window have room for the next reply and the answer after it, all results taken out."""
        if not self.meter.affords([self.messages, self.messages], self.tokens):
            return False
        bare = [self.closing[0] if i in self.results else message for i, message in enumerate(self.messages)]
        taken = self.meter.count_tokens([*bare, *self.closing]) + self.frame + 2 * self.tokens
        return self.meter.context is None or taken <= self.meter.context

    def round(self, lookup_only: bool) -> GraphAnswer | None:
        """Ask once, and run what is called; the answer, if that is what came."""
        step = lookup_schema(self.tools.graph) if lookup_only and self.tools.graph.nodes else self.step
        form = {"tools": self.described} if self.calling == "tools" else {"schema": step}
        reply = self.meter.chat(self._room(self.messages), max_new_tokens=self.tokens, **form)
        try:
            parsed = self.said_in(reply)
        except Refused as error:
            self.results.append(len(self.messages))  # of no use, it may be taken out as well
            self.messages.append({"role": "assistant", "content": reply.text})
            self._result("user", self.tools.refuse(error))
            return None
        if isinstance(parsed, GraphAnswer):
            return parsed
        self.messages.append(reply.message)
        for call in parsed:
            try:
                result = self.tools.call(call)
            except BudgetSpent as error:  # of a report: what is known may do for an answer
                result = json.dumps({"error": str(error), "expected": "lookup_source, or the answer"})
            self._result("tool" if reply.tool_calls else "user", result, call.id)
        return None

    def said_in(self, reply: Reply) -> GraphAnswer | Sequence[ToolCall]:
        """The answer, or the calls. Raises Refused for what is neither."""
        native = self.calling == "tools"
        expected = f"a tool call, or {FORM}" if native else f"{HOW['en']} Or {FORM}"
        unknown = {call.name for call in reply.tool_calls} - set(PARAMETERS)  # told of when they are called
        if native and reply.tool_calls and (unknown or not reply.invalid):
            return reply.tool_calls
        if reply.invalid:
            raise Refused("unreadable", reply.invalid, expected)
        if native:
            try:
                return GRAPH_ANSWER.parse(reply.text)[0]
            except ValueError as error:
                raise Refused("unreadable", str(error), expected) from None
        value = reply.parsed  # of `step_schema` or `lookup_schema`
        return GraphAnswer.model_validate(value) if "answer" in value else [ToolCall(**value)]

    def last(self, asked_before: bool) -> tuple[GraphAnswer | None, str]:
        """The answer without tools, or why there is none. `asked_before`: whether the model was."""
        messages = [*self.messages, self.closing[1]] if asked_before else self.messages
        schema = answer_schema(self.tools.graph, self.options) if self.calling == "grammar" else GraphAnswer
        reply = self.meter.chat(self._room(messages), schema=schema, max_new_tokens=self.tokens)
        if reply.invalid:
            self.tools.malformed["unreadable"] += 1
            return None, reply.invalid
        return GraphAnswer.model_validate(reply.parsed), ""

    def _result(self, role: str, result: str, call_id: str = "") -> None:
        self.meter.note(result)
        self.results.append(len(self.messages))
        if role == "tool":
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})
        else:
            self.messages += alone(RESULT[self.language].format(result=result))

    def _room(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The messages, the oldest results taken out for good until the rest and a reply fit into the window."""
        messages, window = list(messages), self.meter.context
        while window is not None and self.results and self.meter.count_tokens(messages) + self.frame + self.tokens > window:
            oldest = self.results.pop(0)
            dropped = {**self.messages[oldest], "content": DROPPED[self.language]}
            messages[oldest] = self.messages[oldest] = dropped
        return messages


def estimate(document: Document, llm: LLM, *, size: int | None = None, most: Limits | None = None) -> Estimate:
    """About what `answer` takes for one question, before a call: calls, tokens, money where the price is known.

    It supposes a graph of 45 nodes (the paper's median, section 5.3), or as many as `most` has room for, each with two edges,
    that grows evenly over the blocks, at most four rounds with a passage each (its median where the graph is small, 5.4), no
    reports, and replies as long as they may be. `most` are by default the paper's limits.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(name="embedded", context=8192, count_tokens=lambda text: len(text) // 4)
    >>> print(estimate(Document("note", "Ivo sold the lamp. " * 400), model, size=500))
    9 calls (0 more are cached), 27,745 tokens to read, at most 6,656 to write, at most 0.0000 USD
    """
    most, text = most or Limits(), llm.count_tokens(document.text)
    blocks = cut(document, llm, block_size(llm) if size is None else size)
    form = form_of(llm)
    frame = llm.count_tokens(EDITS.words(form)[document.language])
    node, rounds = llm.count_tokens(LINES), min(most.rounds, LOOKED_UP)
    graph = node * (NODES if most.graph is None else max(1, min(NODES, most.graph // max(1, node))))
    passage = ceil(1000 * text / max(1, len(document.text)))
    first = graph + llm.count_tokens(GRAPH_ANSWER.words(form)[document.language]) + llm.count_tokens(json.dumps(tools_of(form)))
    read = sum(first + i * (passage + 60) for i in range(rounds + 1)) + text + len(blocks) * (frame + graph // 2)
    written = len(blocks) * most.edits + (rounds + 1) * most.answer
    return Estimate(len(blocks) + rounds + 1, 0, read, written, Ledger().cost(llm.name, read, written))


class ToolUse(NamedTuple):
    """How the tools were used on graphs of `least` nodes and more, below the next size: a row of section 5.4.

    `items` answers from graphs of so many `nodes` in the median; `summarised` is the share that called subgraph_summary at
    all; `lookups`, `indexes` and `details` are medians of calls over these items, those without a call among them.
    """

    least: int
    items: int
    nodes: float
    summarised: float
    lookups: float
    indexes: float
    details: float


def tool_use(answers: Sequence[GraphAnswered]) -> list[ToolUse]:
    """Tool use by the size of the graph: under 50 nodes, 50 to 149, 150 and more; a group without items is left out.

    >>> results = [GraphAnswered("x", nodes=20, uses={"lookup_source": n}) for n in (3, 4)]
    >>> tool_use([*results, GraphAnswered("x", nodes=170, uses={"index": 1, "detail": 3})])[1]
    ToolUse(least=150, items=1, nodes=170, summarised=1.0, lookups=0, indexes=1, details=3)
    """
    rows = []
    for least, most in zip((0, *SIZES), (*SIZES, float("inf")), strict=True):
        group = [answer for answer in answers if least <= answer.nodes < most]
        if group:
            used = [Counter(answer.uses) for answer in group]
            calls = [median(uses[key] for uses in used) for key in ("lookup_source", "index", "detail")]
            summarised = sum(bool(uses["index"] + uses["detail"]) for uses in used) / len(group)
            rows.append(ToolUse(least, len(group), median(answer.nodes for answer in group), summarised, *calls))
    return rows
