"""MindGraph itself: a graph is built with the question in mind, then the question is answered from it (MindGraph, section 3).

`answer` does both, by the interface that the baselines share; `answer_from` answers from a graph that is there. The model sees
the graph, its size and the question, may call the two tools in at most 40 rounds, and ends with JSON: an answer, the nodes it
rests on, how sure it is. Which tool is taken at which size is said in the prompt alone, as in section 5.4.

Where the paper is silent: a graph that outgrows the window is shown as in the build (`mindscape.mindgraph.build`), and a
quarter of the window is left for the tools; when even that is full, the oldest results are taken out of the conversation; in
the last round, and when the budget allows one more call but not two, the model is told to answer, without tools; a reply that
is neither a call nor an answer costs a round and is answered with what was expected; nodes that are cited and are not in the
graph are reported, and change nothing in the answer.

The compaction ratio (section 4.2) is that of the first call of the answer stage. It leaves out the build, the reports and the
later calls: `tokens_total` and `spent` have them, however much of it was asked in an earlier, killed run.

Taught in notebook 31_mindgraph_answer. Nothing here says whether an answer is right: `mindscape.mindgraph.scoring` does.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Any, Literal

from mindscape.budget import Budget, BudgetSpent, Meter
from mindscape.errors import InputError, require
from mindscape.llm.base import LLM, Reply, ToolCall, form_of
from mindscape.llm.ledger import Estimate, Ledger
from mindscape.llm.schema import in_words
from mindscape.mindgraph.asking import block_size, cut
from mindscape.mindgraph.build import TOKENS, noted, rebuild, shown_state
from mindscape.mindgraph.communities import PARAMETERS, Refused, Reports, Tools, answer_schema, step_schema
from mindscape.mindgraph.graph import Graph, verify
from mindscape.prompts import short_texts
from mindscape.question import ANSWER, Answer
from mindscape.roles.base import Role
from mindscape.roles.edits import EDITS
from mindscape.roles.graph_answer import GRAPH_ANSWER, GraphAnswer, graph_stats, tools_of
from mindscape.text import Document

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
    rounds: int = ROUNDS,
    calling: Calling | None = None,
    graph_tokens: int | None = None,
    edit_tokens: int = TOKENS,
    answer_tokens: int = ANSWER_TOKENS,
    held: bool | None = None,
    role: Role = EDITS,
) -> GraphAnswered:
    """Build the graph of a document for a question, and answer from it; the whole method (a `Method`).

    `size`: tokens of a block, by default `block_size(llm)`. `graph_tokens` bounds the graph in a prompt, `edit_tokens` and
    `answer_tokens` a reply, with what a reasoning model thinks: such a model needs some thousand. `rounds` and `calling`: see
    `answer_from`. What is `held`, and `role`: see `noted`; by default "embedded" and "smollm2" are held.

    A budget that is spent ends the method without an answer. Raises InputError for a blank question or text and for blocks
    that leave no room for a graph, LLMError if the model fails; what was asked until then is in its store, where the same
    call finds it and counts it as if it were asked now.

    >>> told = answer("Who sent the letter?", play, llm.load("openai:gpt-4o"), Budget(tokens=500_000))  # doctest: +SKIP
    >>> told.text, told.cited, told.spent(BUILD)                                            # doctest: +SKIP
    ('Horatio', ('letter', 'horatio'), 141800)
    """
    _way(question, rounds, calling, answer_tokens, llm.name)  # before a build is paid for
    meter = Meter(llm, budget)
    blocks = cut(document, llm, block_size(llm) if size is None else size)
    held = llm.name in SMALL if held is None else held
    building: dict[str, Any] = {"budget": graph_tokens, "tokens": edit_tokens, "held": held, "role": role}
    try:
        journal = noted(document, question, meter, blocks=blocks, **building)
    except BudgetSpent as error:
        meter.note(str(error))
        return GraphAnswered(**vars(meter.answer("")), ended=str(error))
    how: dict[str, Any] = {"rounds": rounds, "calling": calling, "graph_tokens": graph_tokens, "tokens": answer_tokens}
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
    options: Sequence[str] = (),
) -> GraphAnswered:
    """Answer a question from a graph of the document that was built from so many `chunks`.

    A round is a reply that calls tools, or one that cannot be used; after `rounds` of them comes the answer, so there are at
    most `rounds` + 1 calls, and those of the reports. With `rounds=0` the graph is read without tools, by the very prompt that
    the embedded reader was trained on. `calling` is "tools" for a model that has tools, or whose template is given them in
    words, and "grammar" for one that is held to `step_schema`; the default is "grammar" for "embedded" and "smollm2". With
    `options`, which no prompt shows, "grammar" holds the answer to one of them.

    The reports that a summary needs are asked for at the stage "report". Given a meter, its
    budget holds, and what it has counted before is part of the answer's tokens. Raises InputError for a graph that is not of
    the document, a blank question, and a number of rounds below 0.

    >>> told = answer_from(graph, play, "Who sent the letter?", llm.load("embedded"), chunks=21)  # doctest: +SKIP
    >>> told.uses, told.malformed, told.confidence                                          # doctest: +SKIP
    (Counter({'lookup_source': 4}), Counter(), 'high')
    """
    meter = llm if isinstance(llm, Meter) else Meter(llm)
    calling = _way(question, rounds, calling, tokens, meter.name)
    verify(graph, document)
    require(
        not options or calling == "grammar", 'options and calling="tools": only "grammar" holds an answer to options'
    )
    reports = Reports(graph, meter, language=document.language)
    reading = _Reading(Tools(graph, document, reports), meter, calling, tokens, options)
    meter.stage = ANSWER
    shown = reading.begin(question, chunks, rounds, graph_tokens)
    final, ended = None, ""
    try:
        for done in range(rounds + 1):
            if done == rounds or not reading.affords_two() or not reading.holds_two():
                final, ended = reading.last(asked_before=done > 0)
                break
            if (final := reading.round()) is not None:
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


def _way(question: str, rounds: int, calling: Calling | None, tokens: int, name: str) -> Calling:
    """How tools are called; refused is what no answer can be asked with."""
    if rounds < 0 or not question.strip():
        raise InputError(f"rounds={rounds}, question={question!r:.60}: expected 0 rounds or more, and a question")
    require(tokens >= 1, f"{tokens} tokens for an answer: expected at least 1")
    calling = calling or ("grammar" if name in SMALL else "tools")
    require(calling in ("tools", "grammar"), f'calling={calling!r}: expected "tools" or "grammar"')
    return calling


class _Reading:
    """The conversation of the answer stage: the prompt, then replies and results in turn."""

    def __init__(self, tools: Tools, meter: Meter, calling: Calling, tokens: int, options: Sequence[str]):
        self.tools, self.meter, self.calling, self.tokens, self.options = tools, meter, calling, tokens, options
        self.language = tools.document.language
        self.messages: list[dict[str, Any]] = []
        self.results: list[int] = []  # where in the messages results stand that may be dropped
        self.step = step_schema(tools.graph, len(tools.reports.communities), options)
        self.described = tools_of(form_of(meter))
        self.frame = 0  # tokens of the tools' schemas, which stand beside the messages
        words = (DROPPED[self.language], LAST[self.language].format(form=FORM))
        self.closing: list[dict[str, Any]] = [{"role": "user", "content": text} for text in words]

    def begin(self, question: str, chunks: int, rounds: int, graph_tokens: int | None) -> int:
        """Write the prompt; how many nodes of the graph are in it."""
        graph, meter = self.tools.graph, self.meter
        stats = graph_stats(len(graph.nodes), len(graph.edges), chunks, self.language)
        if rounds and self.calling == "tools":
            self.frame = meter.count_tokens(in_words([{"role": "user", "content": ""}], self.described))

        def asked(state: str) -> list[dict[str, Any]]:
            slots = {"graph_state": state, "graph_stats": stats, "question": question}
            prompt = GRAPH_ANSWER.prompt(self.language, form_of(meter), **slots)
            how = f"\n\n{HOW[self.language]}" if rounds and self.calling == "grammar" else ""
            return [{"role": "user", "content": prompt + how}]

        def fits(state: str) -> bool:
            if graph_tokens is not None and meter.count_tokens(state) > graph_tokens:
                return False
            least = meter.count_tokens(self.closing) + self.tokens
            room = meter.context and (max(meter.context // 4, least) if rounds else 0)
            taken = self.frame + self.tokens
            return meter.context is None or meter.count_tokens(asked(state)) + taken + room <= meter.context

        state, shown = shown_state(graph, fits, self.language)
        self.messages = asked(state)
        return shown

    def affords_two(self) -> bool:
        """Whether the budget has room for the next call and the answer after it."""
        return self.meter.affords([self.messages, self.messages], self.tokens)

    def holds_two(self) -> bool:
        """Whether the window has room for another reply and the answer after it, all results taken out."""
        bare = [self.closing[0] if i in self.results else message for i, message in enumerate(self.messages)]
        window = self.meter.context
        return (
            window is None or self.meter.count_tokens([*bare, *self.closing]) + self.frame + 2 * self.tokens <= window
        )

    def round(self) -> GraphAnswer | None:
        """Ask once, and run what is called; the answer, if that is what came."""
        form = {"tools": self.described} if self.calling == "tools" else {"schema": self.step}
        reply = self.meter.chat(self._room(self.messages), max_new_tokens=self.tokens, **form)
        try:
            final, calls = (_native if self.calling == "tools" else _held)(reply)
        except Refused as error:
            self.results.append(len(self.messages))  # of no use, it may be taken out as well
            self.messages.append({"role": "assistant", "content": reply.text})
            self._result("user", self.tools.refuse(error))
            return None
        if final is not None:
            return final
        self.messages.append(reply.message if reply.tool_calls else {"role": "assistant", "content": reply.text})
        for call in calls:
            try:
                result = self.tools.call(call)
            except BudgetSpent as error:  # of a report: what is known may do for an answer
                result = json.dumps({"error": str(error), "expected": "lookup_source, or the answer"})
            self._result("tool" if reply.tool_calls else "user", result, call.id)
        return None

    def last(self, asked_before: bool) -> tuple[GraphAnswer | None, str]:
        """The answer without tools, or why there is none. `asked_before`: whether the model was."""
        messages = self.messages
        if asked_before:
            messages = [*messages, {"role": "user", "content": LAST[self.language].format(form=FORM)}]
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
            self.messages.append({"role": "user", "content": RESULT[self.language].format(result=result)})

    def _room(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The messages, the oldest results taken out for good until the rest and a reply fit into the window."""
        messages, window = list(messages), self.meter.context
        while window is not None and self.results:
            if self.meter.count_tokens(messages) + self.frame + self.tokens <= window:
                break
            oldest = self.results.pop(0)
            dropped = {**self.messages[oldest], "content": DROPPED[self.language]}
            messages[oldest] = self.messages[oldest] = dropped
        return messages


def _native(reply: Reply) -> tuple[GraphAnswer | None, Sequence[ToolCall]]:
    """The answer or the calls of a model that has tools. Raises Refused for what is neither."""
    if reply.tool_calls and (not reply.invalid or {call.name for call in reply.tool_calls} - set(PARAMETERS)):
        return None, reply.tool_calls  # a tool that there is not is told of when it is called
    if reply.invalid:
        raise Refused("unreadable", reply.invalid, f"a tool call, or {FORM}")
    try:
        return GRAPH_ANSWER.parse(reply.text)[0], ()
    except ValueError as error:
        raise Refused("unreadable", str(error), f"a tool call, or {FORM}") from None


def _held(reply: Reply) -> tuple[GraphAnswer | None, Sequence[ToolCall]]:
    """The answer or the call of a model that is held to `step_schema`. Raises Refused for what is neither."""
    if reply.invalid:
        raise Refused("unreadable", reply.invalid, f"{HOW['en']} Or {FORM}")
    value = reply.parsed
    if "answer" in value:
        return GraphAnswer.model_validate(value), ()
    return None, [ToolCall(value["name"], value["arguments"])]


def estimate(
    document: Document,
    llm: LLM,
    *,
    size: int | None = None,
    rounds: int = LOOKED_UP,
    graph_tokens: int | None = None,
    edit_tokens: int = TOKENS,
    answer_tokens: int = ANSWER_TOKENS,
) -> Estimate:
    """About what `answer` takes for one question, before a call: calls, tokens, money where the price is known.

    It supposes a graph of 45 nodes (the paper's median, section 5.3), or as many as `graph_tokens` hold, each with two edges,
    that grows evenly over the blocks, at most four `rounds` with a passage each (its median where the graph is small, 5.4), no
    reports, and replies as long as they may be.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(name="embedded", context=8192, count_tokens=lambda text: len(text) // 4)
    >>> print(estimate(Document("note", "Ivo sold the lamp. " * 400), model, size=500))
    9 calls (0 more are cached), 27,745 tokens to read, at most 6,656 to write, at most 0.0000 USD
    """
    blocks = cut(document, llm, block_size(llm) if size is None else size)
    text = llm.count_tokens(document.text)
    form = form_of(llm)
    frame = llm.count_tokens(EDITS.words(form)[document.language])
    node, rounds = llm.count_tokens(LINES), min(rounds, LOOKED_UP)
    graph = node * (NODES if graph_tokens is None else max(1, min(NODES, graph_tokens // max(1, node))))
    passage = ceil(1000 * text / max(1, len(document.text)))
    first = llm.count_tokens(GRAPH_ANSWER.words(form)[document.language]) + graph
    first += llm.count_tokens(json.dumps(tools_of(form)))
    read = sum(first + i * (passage + 60) for i in range(rounds + 1)) + text + len(blocks) * (frame + graph // 2)
    written = len(blocks) * edit_tokens + (rounds + 1) * answer_tokens
    return Estimate(len(blocks) + rounds + 1, 0, read, written, Ledger().cost(llm.name, read, written))


@dataclass(frozen=True)
class ToolUse:
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

    >>> told = [GraphAnswered("x", nodes=20, uses={"lookup_source": n}) for n in (3, 4)]
    >>> tool_use([*told, GraphAnswered("x", nodes=170, uses={"index": 1, "detail": 3})])[1]
    ToolUse(least=150, items=1, nodes=170, summarised=1.0, lookups=0, indexes=1, details=3)
    """
    rows = []
    for least, most in zip((0, *SIZES), (*SIZES, float("inf")), strict=True):
        group = [answer for answer in answers if least <= answer.nodes < most]
        if group:
            used = [Counter(answer.uses) for answer in group]
            lookups, indexes, details = (
                median(uses[key] for uses in used) for key in ("lookup_source", "index", "detail")
            )
            summarised = sum(bool(uses["index"] + uses["detail"]) for uses in used) / len(group)
            size = median(answer.nodes for answer in group)
            rows.append(ToolUse(least, len(group), size, summarised, lookups, indexes, details))
    return rows
