"""The two tools with which a model reads a concept graph: a node's passage, and what the parts are about (MindGraph, D.3).

A model behind an endpoint calls them through its own interface, with the schemas of `mindscape.roles.graph_answer.TOOLS`; a
model that knows no tools, the embedded reader, is held to `step_schema`: a call or the answer, with ids that there are. A call
that cannot be run is answered with an error that says what was wrong and what would do, and is counted by its kind in
`malformed`; nothing is guessed in the model's stead. Results are JSON.

Taught in notebook 31_mindgraph_answer. Which tool is called and when to stop is not decided here.
"""

import json
from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from mindscape.llm.base import ToolCall
from mindscape.llm.schema import validate
from mindscape.mindgraph.communities import Reports
from mindscape.mindgraph.graph import Graph, around
from mindscape.roles.graph_answer import TOOLS, GraphAnswer
from mindscape.text import Document

AROUND = 1000  # characters of a passage
PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}


class Refused(Exception):
    """Why a call is not run: `kind` is "unreadable", "unknown tool", "bad arguments", "unknown node" or "unknown part",
    `expected` what would do."""

    def __init__(self, kind: str, told: str, expected: str):
        super().__init__(told)
        self.kind, self.expected = kind, expected


class Tools:
    """The tools on one graph of a document; `uses` counts the calls that were run, `malformed` those that were not, by kind.

    `uses` has the keys "lookup_source", "index" and "detail". Errors of the model that writes the reports pass through.

    >>> from mindscape.mindgraph.graph import Node
    >>> graph = Graph("note", {"ivo": Node("ivo", "entity", "Ivo, a seller", "Ivo", 0, 3, 0, 0)})
    >>> tools = Tools(graph, Document("note", "Ivo sold the lamp."), reports=None)
    >>> print(tools.call(ToolCall("lookup_source", {"node_id": "ivo"})))
    {"node_id": "ivo", "quote": "Ivo", "passage": "Ivo sold the lamp."}
    >>> print(tools.call(ToolCall("lookup_source", {"node_id": "Ivo"})))
    {"error": "there is no node 'Ivo'", "expected": "the id of a node of the graph; did you mean 'ivo'?"}
    >>> tools.uses, tools.malformed
    (Counter({'lookup_source': 1}), Counter({'unknown node': 1}))
    """

    def __init__(self, graph: Graph, document: Document, reports: Reports | None, *, size: int = AROUND):
        self.graph, self.document, self.reports, self.size = graph, document, reports, size
        self.uses: Counter[str] = Counter()
        self.malformed: Counter[str] = Counter()

    def call(self, call: ToolCall) -> str:
        """The result of a call, or the error, as JSON text."""
        try:
            arguments = checked(call)
            if call.name == "lookup_source":
                result, use = self.lookup_source(arguments["node_id"]), "lookup_source"
            else:
                use = arguments["mode"]
                result = self.subgraph_summary(use, arguments.get("subgraph_id"))
        except Refused as error:
            return self.refuse(error)
        self.uses[use] += 1
        return json.dumps(result, ensure_ascii=False)

    def refuse(self, error: Refused) -> str:
        """Count a call that is not run, and say why, as JSON text."""
        self.malformed[error.kind] += 1
        return json.dumps({"error": str(error), "expected": error.expected}, ensure_ascii=False)

    def lookup_source(self, node_id: str) -> dict[str, Any]:
        """About `size` characters of the text around the place of a node. Raises Refused where there is no such node."""
        node = self.graph.nodes.get(node_id)
        if node is None:
            folded = {name.lower(): name for name in self.graph.nodes}
            close = [folded[name] for name in get_close_matches(node_id.lower()[:80], folded, n=3, cutoff=0.6)]
            hint = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
            raise Refused("unknown node", f"there is no node {node_id!r:.80}", f"the id of a node of the graph{hint}")
        return {"node_id": node.id, "quote": node.src, "passage": self.document[around(self.document, node, self.size)]}

    def subgraph_summary(self, mode: str, subgraph_id: int | None = None) -> dict[str, Any]:
        """A line for each part of the graph ("index"), or the report on one ("detail"), with its nodes.

        A part whose report could not be read has none, and says so; its nodes are still there. Raises Refused where there is
        no such part.
        """
        if self.reports is None:
            raise Refused("unknown tool", "there are no reports on this graph", "lookup_source, or the answer")
        parts = self.reports.communities
        if mode == "index":
            listed = []
            for part, report in zip(parts, self.reports.read(range(len(parts))), strict=True):
                title, rating = (report.title, report.impact_rating) if report else (self._told(part.nodes), None)
                about = {"title": title, "impact_rating": rating, "n_nodes": len(part.nodes)}
                listed.append({"subgraph_id": part.id, **about})
            return {"subgraphs": listed}
        if subgraph_id is None or not 0 <= subgraph_id < len(parts):
            expected = f"a subgraph_id from 0 to {len(parts) - 1}" if parts else "no call: the graph has no parts"
            raise Refused("unknown part", f"there is no subgraph {subgraph_id}", expected)
        part, (report,) = parts[subgraph_id], self.reports.read([subgraph_id])
        told = report.model_dump() if report else {"title": self._told(part.nodes), "summary": "(there is no report)"}
        return {"subgraph_id": part.id, **told, "nodes": list(part.nodes)}

    def _told(self, nodes: tuple[str, ...]) -> str:
        """In the place of a title: what the node with most edges says."""
        degree = Counter(end for edge in self.graph.edges for end in set(edge[:2]))
        return self.graph.nodes[max(nodes, key=lambda name: degree[name])].content


def checked(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call that fits its tool's schema. Raises Refused for an unknown tool and for other arguments.

    >>> checked(ToolCall("subgraph_summary", {"mode": "detail", "subgraph_id": 2}))
    {'mode': 'detail', 'subgraph_id': 2}
    >>> checked(ToolCall("subgraph_summary", {"mode": "detail"}))
    Traceback (most recent call last):
    ...
    mindscape.mindgraph.tools.Refused: mode 'detail' needs a subgraph_id
    """
    if call.name not in PARAMETERS:
        raise Refused("unknown tool", f"there is no tool {call.name!r:.80}", f"one of {', '.join(PARAMETERS)}")
    schema = PARAMETERS[call.name]
    try:
        validate(call.arguments, schema)
    except ValueError as error:
        told = {name: about.get("enum", about["type"]) for name, about in schema["properties"].items()}
        raise Refused("bad arguments", str(error), f"arguments {json.dumps(told)}") from None
    if call.arguments.get("mode") == "detail" and "subgraph_id" not in call.arguments:
        raise Refused("bad arguments", "mode 'detail' needs a subgraph_id", "an integer of the index")
    return call.arguments


def step_schema(graph: Graph, parts: int) -> dict[str, Any]:
    """What a model without tools of its own may write next, as a JSON schema: a call that can be run, or the answer.

    A call is `{"name": ..., "arguments": {...}}`. Ids of nodes and the numbers of `parts` parts are listed, so a model that
    is held to the schema calls nothing, and cites nothing, that there is not.

    >>> from mindscape.mindgraph.graph import Node
    >>> schema = step_schema(Graph("note", {"ivo": Node("ivo", "entity", "Ivo", "Ivo", 0, 3, 0, 0)}), parts=1)
    >>> validate({"name": "lookup_source", "arguments": {"node_id": "ann"}}, schema)      # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: at ...
    >>> validate({"answer": "Ivo", "cited_nodes": ["ivo"], "confidence": "high"}, schema)["answer"]
    'Ivo'
    """
    ids = list(graph.nodes)
    ways = []
    if ids:
        ways.append(_call("lookup_source", {"node_id": {"type": "string", "enum": ids}}))
    if parts:
        ways.append(_call("subgraph_summary", {"mode": {"const": "index"}}))
        which = {"type": "integer", "enum": list(range(parts))}
        ways.append(_call("subgraph_summary", {"mode": {"const": "detail"}, "subgraph_id": which}))
    return {"title": "a tool call or the answer", "anyOf": [*ways, answer_schema(graph)]}


def answer_schema(graph: Graph) -> dict[str, Any]:
    """The last reply (D.2) as a JSON schema in which no node can be cited that there is not.

    >>> answer_schema(Graph("note"))["properties"]["cited_nodes"]
    {'type': 'array', 'maxItems': 0}
    """
    schema = GraphAnswer.model_json_schema()
    cited = {"items": {"type": "string", "enum": list(graph.nodes)}} if graph.nodes else {"maxItems": 0}
    return {**schema, "properties": {**schema["properties"], "cited_nodes": {"type": "array", **cited}}}


def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return _object({"name": {"const": name}, "arguments": _object(arguments)})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    told = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return told | {"additionalProperties": False}
