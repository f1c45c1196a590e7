"""MindGraph's answer stage: a question answered from a concept graph, with two tools (appendix D.2 and D.3).

`TOOLS` are the tools' descriptions in OpenAI's form. This module runs no tool and does not judge the answer (D.4). Taught in
notebook 01_the_reader.
"""

from typing import Any, Literal

from mindscape.llm.base import PAPER
from mindscape.prompts import languages, paper, short_texts
from mindscape.roles.base import Form, Role

WORDS = short_texts("roles", "graph_answer")
UNKNOWN = {"en": "unknown", "zh": "不知道"}


TOOLS: list[dict[str, Any]] = WORDS["tools"]
PAPER_TOOLS: list[dict[str, Any]] = short_texts("roles", "paper/tools")["tools"]


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


class Counted(Form):
    """A count: each node with whom it adds and the count so far, then the number; the kit's own form.

    >>> count = Counted(counted=["sell_ivo: Ivo, 1", "buy_ann: Ann, 2"], answer="two", confidence="high")
    >>> count.cited_nodes
    ['sell_ivo', 'buy_ann']
    """

    counted: list[str]
    answer: str
    confidence: Literal["high", "medium", "low"]

    @property
    def cited_nodes(self) -> list[str]:
        """The nodes of the lines, each once."""
        return list(dict.fromkeys(line.partition(":")[0] for line in self.counted))


def graph_stats(nodes: int, edges: int, chunks: int, language: str = "en") -> str:
    """The size of a graph in words.

    >>> graph_stats(72, 154, 21)
    '72 nodes, 154 edges, built from 21 chunks'
    """
    return WORDS["stats"][language].format(nodes=nodes, edges=edges, chunks=chunks)


GRAPH_ANSWER = Role(
    "graph_answer", languages("roles", "graph_answer"), GraphAnswer, paper=paper("roles", "graph_answer")
)
COUNTED = Role("counted", languages("roles", "counted"), Counted)  # as the counter's adapter has learned it
