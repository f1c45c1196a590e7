"""MindGraph's answer stage: a question answered from a concept graph, with two tools (appendix D.2 and D.3).

`TOOLS` are the tools' descriptions in OpenAI's form; the gold is the final reply on a graph small enough to be read whole,
for which the paper skips the overview. Taught in notebook 01_the_reader. This module runs no tool and does not judge the
answer (D.4).
"""

from collections.abc import Sequence
from typing import Any, Literal

from mindscape.llm.base import PAPER
from mindscape.prompts import languages, paper, table
from mindscape.question import Question
from mindscape.roles.base import Form, Gold, Role, first
from mindscape.roles.edits import Builder, Reading, alike, split_blocks
from mindscape.text import Span, Tokenizer
from storyworld import Book
from storyworld.chance import Chance
from storyworld.world import Binding, Event

LONGEST = 900  # tokens of a prompt
MOST = 16  # examples from a book
WORDS = table("roles", "graph_answer")
UNKNOWN = {"en": "unknown", "zh": "不知道"}


TOOLS: list[dict[str, Any]] = WORDS["tools"]
PAPER_TOOLS: list[dict[str, Any]] = table("roles", "paper/tools")["tools"]


def tools_of(form: str) -> list[dict[str, Any]]:
    """The tools' descriptions in a form, "short" or "paper" (D.3); names and parameters are the same in both.

    >>> [len(tool["function"]["description"]) for form in ("short", "paper") for tool in tools_of(form)]
    [93, 195, 159, 426]
    """
    return PAPER_TOOLS if form == PAPER else TOOLS


class GraphAnswer(Form):
    """The last reply (MindGraph, appendix D.2).

    >>> GraphAnswer(answer="the kettle", cited_nodes=["hang_flora"], confidence="high").confidence
    'high'
    """

    answer: str
    cited_nodes: list[str]
    confidence: Literal["high", "medium", "low"]


def graph_stats(nodes: int, edges: int, chunks: int, language: str = "en") -> str:
    """The size of a graph in words.

    >>> graph_stats(72, 154, 21)
    '72 nodes, 154 edges, built from 21 chunks'
    """
    return WORDS["stats"][language].format(nodes=nodes, edges=edges, chunks=chunks)


def _gold(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    builder = Builder(book)
    chunks = len(split_blocks(book, tokenizer))
    for question in chance.shuffled(book.questions):
        events, bindings = builder.events(question), builder.bindings(question)
        if not events or len(events) > 3 or not _readable(builder, question, events):
            continue
        fate = chance.pick(["all", "all", "all", "bindings", "events"])
        noise = [event for event in book.world.events if event.kind != "false" and not alike(event) & _kinds(events)]
        noise = chance.some(noise, chance.between(1, 4))
        for i in range(len(noise) + 1):
            example = _example(builder, question, events, bindings, noise[i:], fate, chunks)
            prompt = GRAPH_ANSWER.prompt(book.document.language, **example[0])
            if len(tokenizer(prompt)["input_ids"]) <= LONGEST:
                yield example
                break


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


GRAPH_ANSWER = Role(
    "graph_answer",
    languages("roles", "graph_answer"),
    GraphAnswer,
    first(MOST, _gold),
    paper=paper("roles", "graph_answer"),
)
