"""MindGraph's answer stage: a question answered from a concept graph, with two tools (appendix D.2 and D.3).

`TOOLS` are the tools' descriptions in OpenAI's form; the gold is the final reply on a graph small enough to be read whole,
for which the paper skips the overview. Taught in notebook 01_the_reader. This module runs no tool and does not judge the
answer (D.4).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from transformers import PreTrainedTokenizerBase

from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.corpora.storyworld.world import Binding, Event
from mindscape.question import Question
from mindscape.roles.base import Role
from mindscape.roles.edits import Builder, Reading, alike, split_blocks
from mindscape.text import Span

LONGEST = 900  # tokens of a prompt
MOST = 16  # examples from a book
STATS = {
    "en": "{nodes} nodes, {edges} edges, built from {chunks} chunks",
    "zh": "{nodes}个节点，{edges}条边，由{chunks}块文本建成",
}
UNKNOWN = {"en": "unknown", "zh": "不知道"}

PROMPTS = {
    "en": (
        "Answer a question from a concept graph that was built from a long text.\n"
        "Tools: `lookup_source(node_id)` shows the passage that a node comes from; "
        "`subgraph_summary(mode, subgraph_id)` shows what the parts of the graph are about (mode `index`) or one part in "
        "full (mode `detail`).\n"
        "- Below 50 nodes read the graph itself. From 50 to 150 take the index where the question spans several parts. "
        "Above 150 begin with the index, then the detail of one to three parts.\n"
        "- First see what the graph is about, then find the nodes that bear on the question and look up their passages, "
        "then answer, then check that no node says otherwise.\n"
        '- End with JSON alone: {{"answer": "...", "cited_nodes": ["id"], "confidence": "high|medium|low"}}. Be brief. '
        "Confidence is medium where it is not said who is meant, and low, with the answer `unknown`, where the graph has "
        "no answer.\n\n"
        "Graph:\n{graph_state}\n\n"
        "Size: {graph_stats}\n\n"
        "Question: {question}"
    ),
    "zh": (
        "请根据由长文建成的概念图回答问题。\n"
        "工具：lookup_source(node_id)显示节点的原文；subgraph_summary(mode, subgraph_id)显示各子图概况（mode为index）"
        "或某一子图详情（detail）。\n"
        "- 不足50个节点直接读图；50到150个，问题跨多处时先看index；超过150个先看index，再看一至三个子图。\n"
        "- 先通览全图，再找相关节点并查原文，然后作答，最后核对有无相反的节点。\n"
        '- 最后只回复JSON：{{"answer": "...", "cited_nodes": ["id"], "confidence": "high|medium|low"}}。答案要简短；'
        "所指是谁没有交代时用medium；图中无答案时用low，答“不知道”。\n\n"
        "图：\n{graph_state}\n\n"
        "规模：{graph_stats}\n\n"
        "问题：{question}"
    ),
}

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "lookup_source",
            "description": "Show the text around the quote that a node of the graph was made from, about 1000 characters.",
            "parameters": {
                "type": "object",
                "properties": {"node_id": {"type": "string", "description": "The node's id."}},
                "required": ["node_id"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "subgraph_summary",
            "description": "Show what the parts of the graph (its Leiden communities) are about. Mode 'index' lists every "
            "part with id, title, rating and number of nodes; mode 'detail' gives one part's summary and findings.",
            "parameters": {
                "type": "object",
                "properties": {
                    "mode": {"type": "string", "enum": ["index", "detail"], "description": "All parts, or one."},
                    "subgraph_id": {"type": "integer", "description": "The part's id in the index; for 'detail' only."},
                },
                "required": ["mode"],
                "additionalProperties": False,
            },
        },
    },
]


class GraphAnswer(BaseModel):
    """The last reply (MindGraph, appendix D.2).

    >>> GraphAnswer(answer="the kettle", cited_nodes=["hang_flora"], confidence="high").confidence
    'high'
    """

    model_config = ConfigDict(json_schema_extra={"additionalProperties": False})
    answer: str
    cited_nodes: list[str]
    confidence: Literal["high", "medium", "low"]


def graph_stats(nodes: int, edges: int, chunks: int, language: str = "en") -> str:
    """The size of a graph in words.

    >>> graph_stats(72, 154, 21)
    '72 nodes, 154 edges, built from 21 chunks'
    """
    return STATS[language].format(nodes=nodes, edges=edges, chunks=chunks)


def _gold(
    book: Book, chance: Chance, tokenizer: PreTrainedTokenizerBase
) -> Iterator[tuple[dict[str, str], GraphAnswer]]:
    builder = Builder(book)
    chunks = len(split_blocks(book, tokenizer))
    made = 0
    for question in chance.shuffled(book.questions):
        if made == MOST:
            return
        events, bindings = builder.events(question), builder.bindings(question)
        if not events or len(events) > 3 or not _readable(builder, question, events):
            continue
        fate = chance.pick(["all", "all", "all", "bindings", "events"])
        noise = [event for event in book.world.events if event.kind != "false" and not alike(event) & _kinds(events)]
        noise = chance.some(noise, chance.between(1, 4))
        while True:
            example = _example(builder, question, events, bindings, noise, fate, chunks)
            prompt = GRAPH_ANSWER.prompt(book.document.language, **example[0])
            if len(tokenizer(prompt)["input_ids"]) <= LONGEST:
                made += 1
                yield example
                break
            if not noise:
                break
            noise = noise[1:]


def _kinds(events: Sequence[Event]) -> set[str]:
    return set().union(*map(alike, events))


def _readable(builder: Builder, question: Question, events: Sequence[Event]) -> bool:
    """Whether the graph says the answer in so many words."""
    said = [builder.nodes[builder.key(event)].content for event in events]
    said += [builder.nodes[edge.target].content for event in events for edge in builder.edges[builder.key(event)]]
    return question.answer.lower() in " ".join(said).lower() and question.depth != "set-aggregation"


def _example(
    builder: Builder,
    question: Question,
    events: Sequence[Event],
    bindings: Sequence[Binding],
    noise: Sequence[Event],
    fate: str,
    chunks: int,
) -> tuple[dict[str, str], GraphAnswer]:
    """A graph of the question's events and of others, from which the events or the bindings may be missing."""
    language, reading, whole = builder.language, Reading(), Span(0, len(builder.text))
    cited = []
    shown = [*noise] if fate == "events" else [*noise, *events]
    for event in sorted(shown, key=lambda event: builder.book.told.events[event.id][0]):
        reading.apply(builder.event(event, whole, reading, slots=3, answer=question.answer))
        if event in events:
            cited.append(reading.ids[builder.key(event)])
    for binding in [] if fate == "bindings" else bindings:
        span = builder.book.told.bindings[binding.id][0]
        reading.apply(builder.binding(binding, span, whole, reading))
        cited.append(reading.ids[f"{'guise' if binding.kind == 'guise' else 'person'}{binding.person}"])
    slots = {
        "graph_state": reading.state,
        "graph_stats": graph_stats(len(reading.nodes), len(reading.edges), chunks, language),
        "question": question.question,
    }
    if fate == "events":
        return slots, GraphAnswer(answer=UNKNOWN[language], cited_nodes=[], confidence="low")
    sure = "medium" if bindings and fate == "bindings" else "high"
    return slots, GraphAnswer(answer=question.answer, cited_nodes=list(dict.fromkeys(cited)), confidence=sure)


GRAPH_ANSWER = Role("graph_answer", PROMPTS, GraphAnswer, _gold)
