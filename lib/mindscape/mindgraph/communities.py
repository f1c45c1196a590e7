"""What a model reads of a graph beside the graph itself: its communities, reports on them, and two tools (MindGraph, 3.3, D.3).

The *communities*, or parts, are Leiden's (Traag et al., 2019), of at most ten nodes, found as GraphRAG finds them: what is too
large is taken apart again. Leiden finds nothing to cut in a star or a clique, however large, so the rest of the bound is ours:
such a community is cut into runs of neighbours. Nodes without edges, of which Leiden knows nothing, come in runs as they stand
in the text: every node is in one part, and can be found. The same graph gives the same parts with the same numbers, whatever
the order in which it was made, since nodes and edges are handed over sorted, under one seed. Another version of the library
may cut otherwise. A partition takes a millisecond and is not kept; a report costs a call, and is written when it is first
asked for.

The *tools* are a node's passage and the reports. A model behind an endpoint calls them through its own interface, with the
schemas of `mindscape.roles.TOOLS`; a model that knows no tools, the embedded reader, is held to `step_schema`: a
call or the answer, with ids that there are. A call that cannot be run is answered with an error that says what was wrong and
what would do, and is counted by its kind in `malformed`; nothing is guessed in the model's stead. Results are JSON.

Taught in notebook 31_mindgraph_answer. Nothing here ranks parts for a question, or decides which tool is called.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from difflib import get_close_matches
from math import ceil
from typing import Annotated, Any

from graspologic_native import hierarchical_leiden
from pydantic import Field, StringConstraints

from mindscape.ask import Meter, ask
from mindscape.errors import require
from mindscape.llm.base import LLM, ToolCall
from mindscape.llm.schema import validate
from mindscape.mindgraph.graph import Graph, around
from mindscape.prompts import languages
from mindscape.roles import TOOLS, Form, GraphAnswer, Role, graph_state
from mindscape.text import Document

SIZE, SEED = 10, 0
HEAVIEST = 1e100  # weight of an edge: sums of them stay finite
TOKENS = 700  # of a report, at most
REPORT = "report"  # the stage under which a meter counts its calls

PROMPTS = languages("mindgraph", "community_report")


@dataclass(frozen=True)
class Community:
    """A part of a graph: its number, and its nodes in the order of the text."""

    id: int
    nodes: tuple[str, ...]


class Report(Form):
    """What a part is about, as GraphRAG has it (MindGraph, appendix D.3): `impact_rating` from 0 to 10.

    >>> Report(title="The lamp", summary="Ivo sells it.", impact_rating=7, findings=["Ann bought it [ann]."]).impact_rating
    7
    """

    title: Annotated[str, StringConstraints(min_length=1)]
    summary: Annotated[str, StringConstraints(min_length=1)]
    impact_rating: Annotated[int, Field(ge=0, le=10)]
    findings: Annotated[list[str], Field(max_length=10)]


COMMUNITY_REPORT = Role("community_report", PROMPTS, Report)  # no book has gold for it


def partition(
    nodes: Sequence[str], edges: Iterable[tuple[str, str, float]], size: int = SIZE, seed: int = SEED
) -> list[tuple[str, ...]]:
    """The nodes in parts of at most `size`, the largest first; of equals the one with the earlier node.

    `nodes` are in an order that matters, that of a text, say: it decides where Leiden begins, and the order within a part.
    `edges` are pairs of nodes with a weight above 0; directions are passed over, weights of one pair are added up, and what
    ties a node to itself counts for nothing. Time and memory grow with the edges.

    Raises InputError for a size below 1, a node that comes twice, an edge with an end that is no node, and a weight that is
    not above 0 or so large that sums would overflow.

    >>> two = [("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 1.0), ("d", "e", 1.0), ("c", "d", 0.1)]
    >>> partition("abcdef", two)
    [('a', 'b', 'c'), ('d', 'e'), ('f',)]
    """
    require(size >= 1, f"size={size}: expected at least one node a part")
    rank = {node: i for i, node in enumerate(nodes)}
    require(len(rank) >= len(nodes), f"{len(nodes)} nodes, {len(rank)} of them different: expected each once")
    weights = _weights(rank, edges)
    parts: dict[int | str, list[int]] = {}
    if weights:
        names = [f"{i:0{len(str(len(nodes)))}}" for i in range(len(nodes))]  # sorted as texts as they are as numbers
        listed = [(names[a], names[b], weight) for (a, b), weight in sorted(weights.items())]
        for member in hierarchical_leiden(listed, max_cluster_size=size, seed=seed):
            if member.is_final_cluster:
                parts.setdefault(member.cluster, []).append(int(member.node))
    tied = set().union(*parts.values())
    loose = [i for i in range(len(nodes)) if i not in tied]
    runs = [run for part in parts.values() for run in _runs(part, weights, size)] + _even(loose, size)
    return [tuple(nodes[i] for i in sorted(run)) for run in sorted(runs, key=lambda run: (-len(run), min(run)))]


def communities(graph: Graph, size: int = SIZE, seed: int = SEED) -> list[Community]:
    """The parts of a concept graph, numbered from 0; each relation between two nodes weighs 1. Errors as in `partition`.

    >>> communities(Graph("note"))
    []
    """
    order = sorted(graph.nodes.values(), key=lambda node: (node.start, node.end, node.id))
    edges = ((source, target, 1.0) for source, target, _ in graph.edges)
    return [Community(i, part) for i, part in enumerate(partition([node.id for node in order], edges, size, seed))]


def part_state(graph: Graph, part: Collection[str]) -> str:
    """A part as a prompt shows it: its nodes, and the edges with an end in it.

    >>> from mindscape.mindgraph.graph import Node
    >>> print(part_state(Graph("note", {"ivo": Node("ivo", "entity", "Ivo, a seller", "Ivo", 0, 3, 0, 0)}), ["ivo"]))
    {"nodes": [
    {"id": "ivo", "type": "entity", "content": "Ivo, a seller"}
    ], "edges": []}
    """
    nodes = [vars(node) for node in graph.nodes.values() if node.id in part]
    edges = [vars(edge) for edge in graph.edges.values() if edge.source in part or edge.target in part]
    return graph_state(nodes, edges)


class Reports:
    """The reports on the parts of one graph, each written by the model when it is first asked for.

    The model's store keeps what it was asked (`mindscape.store`), so a part that is as it was, with its edges, costs no call
    in the next process; the `meter` counts it again, at the stage REPORT, so that an answer's tokens do not hang on who asked
    before. A reply that is no report stands in `unreadable` with its reason, and is not asked for again by this object.

    Raises InputError for a language without a prompt; what the model raises, BudgetSpent among it, passes through.

    >>> reports = Reports(graph, Meter(model))                                              # doctest: +SKIP
    >>> reports.read([0])[0].title                                                          # doctest: +SKIP
    'The lamp'
    """

    def __init__(self, graph: Graph, llm: LLM | Meter, *, language: str = "en"):
        require(language in PROMPTS, f"language={language!r}: expected one of {', '.join(PROMPTS)}")
        self.graph, self.language = graph, language
        self.meter = copy(llm) if isinstance(llm, Meter) else Meter(llm)  # a copy puts its steps among those of the first
        self.meter.stage = REPORT
        self.communities = communities(graph)
        self.unreadable: dict[int, str] = {}
        self._read: dict[int, Report] = {}

    def read(self, ids: Iterable[int]) -> list[Report | None]:
        """The reports on some parts, in that order; None for one that could not be read. Raises InputError for no part."""
        wanted = list(ids)
        for i in wanted:
            require(0 <= i < len(self.communities), f"there is no part {i}: expected 0 to {len(self.communities) - 1}")
        new = [i for i in dict.fromkeys(wanted) if i not in self._read and i not in self.unreadable]
        states = [part_state(self.graph, self.communities[i].nodes) for i in new]
        prompts = [COMMUNITY_REPORT.prompt(self.language, graph_state=state) for state in states]
        answers = ask(self.meter, COMMUNITY_REPORT, prompts, tokens=TOKENS)
        self._read |= {i: answer.value for i, answer in zip(new, answers, strict=True) if answer.value is not None}
        self.unreadable |= {i: answer.unread[0] for i, answer in zip(new, answers, strict=True) if answer.value is None}
        return [self._read.get(i) for i in wanted]


def _weights(rank: Mapping[str, int], edges: Iterable[tuple[str, str, float]]) -> dict[tuple[int, int], float]:
    """The weight of each pair of different nodes, the earlier one first."""
    weights: dict[tuple[int, int], float] = {}
    for source, target, weight in sorted(edges):  # sorted: sums of floats depend on their order
        for end in (source, target):
            require(end in rank, f"edge {source!r} to {target!r}: there is no node {end!r}")
        known = 0 < weight <= HEAVIEST
        require(known, f"edge {source!r} to {target!r} weighs {weight}: expected more than 0, at most {HEAVIEST:g}")
        pair = (min(rank[source], rank[target]), max(rank[source], rank[target]))
        if pair[0] != pair[1]:
            weights[pair] = weights.get(pair, 0.0) + weight
    return weights


def _runs(part: Sequence[int], weights: Mapping[tuple[int, int], float], size: int) -> list[list[int]]:
    """A part as it is, or cut into runs of a walk from its heaviest node, neighbours first, where it is too large."""
    if len(part) <= size:
        return [list(part)]
    near: dict[int, dict[int, float]] = {node: {} for node in part}
    for (a, b), weight in weights.items():
        if a in near and b in near:
            near[a][b] = near[b][a] = weight
    walk: dict[int, None] = {}
    for first in sorted(near, key=lambda node: (-sum(near[node].values()), node)):
        waiting = [first]
        for node in waiting:  # which grows by the neighbours of those that are new
            if node not in walk:
                walk[node] = None
                waiting += sorted(near[node], key=lambda other: (-near[node][other], other))
    return _even(list(walk), size)


def _even(nodes: Sequence[int], size: int) -> list[list[int]]:
    """Runs of at most `size`, as few as will do, whose lengths differ by one at most."""
    count = ceil(len(nodes) / size)
    return [list(nodes[len(nodes) * i // count : len(nodes) * (i + 1) // count]) for i in range(count)]


# The two tools ------------------------------------------------------------------------------------------------------


AROUND = 1000  # characters of a passage
PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}


class Refused(Exception):
    """Why a call is not run: `kind` is "unreadable", "unknown tool", "bad arguments", "unknown node" or "unknown part",
    `expected` what would do."""

    def __init__(self, kind: str, message: str, expected: str):
        super().__init__(message)
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
            arguments = checked_arguments(call)
            if call.name == "lookup_source":
                result, use = self.lookup_source(arguments["node_id"]), call.name
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
                listed.append({"subgraph_id": part.id, "title": title, "impact_rating": rating, "n_nodes": len(part.nodes)})
            return {"subgraphs": listed}
        if subgraph_id is None or not 0 <= subgraph_id < len(parts):
            expected = f"a subgraph_id from 0 to {len(parts) - 1}" if parts else "no call: the graph has no parts"
            raise Refused("unknown part", f"there is no subgraph {subgraph_id}", expected)
        subgraph_id = int(subgraph_id)  # to a JSON schema 1.0 is an integer
        part, (report,) = parts[subgraph_id], self.reports.read([subgraph_id])
        named = {"title": self._told(part.nodes), "summary": "(there is no report)"}
        return {"subgraph_id": part.id, **(report.model_dump() if report else named), "nodes": list(part.nodes)}

    def _told(self, nodes: tuple[str, ...]) -> str:
        """In the place of a title: what the node with most edges says."""
        degree = Counter(end for edge in self.graph.edges for end in set(edge[:2]))
        return self.graph.nodes[max(nodes, key=lambda name: degree[name])].content


def checked_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call that fits its tool's schema. Raises Refused for an unknown tool and for other arguments.

    >>> checked_arguments(ToolCall("subgraph_summary", {"mode": "detail", "subgraph_id": 2}))
    {'mode': 'detail', 'subgraph_id': 2}
    >>> checked_arguments(ToolCall("subgraph_summary", {"mode": "detail"}))
    Traceback (most recent call last):
    ...
    mindscape.mindgraph.communities.Refused: mode 'detail' needs a subgraph_id
    """
    if call.name not in PARAMETERS:
        raise Refused("unknown tool", f"there is no tool {call.name!r:.80}", f"one of {', '.join(PARAMETERS)}")
    schema = PARAMETERS[call.name]
    try:
        validate(call.arguments, schema)
    except ValueError as error:
        expected = {name: about.get("enum", about["type"]) for name, about in schema["properties"].items()}
        raise Refused("bad arguments", str(error), f"arguments {json.dumps(expected)}") from None
    if call.arguments.get("mode") == "detail" and "subgraph_id" not in call.arguments:
        raise Refused("bad arguments", "mode 'detail' needs a subgraph_id", "an integer of the index")
    return call.arguments


def step_schema(graph: Graph, parts: int, options: Sequence[str] = ()) -> dict[str, Any]:
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
    ways = [lookup_schema(graph)] if graph.nodes else []
    if parts:
        which = {"type": "integer", "enum": list(range(parts))}
        modes: list[dict[str, Any]] = [{"mode": {"const": "index"}}, {"mode": {"const": "detail"}, "subgraph_id": which}]
        ways += [_call("subgraph_summary", mode) for mode in modes]
    return {"title": "a tool call or the answer", "anyOf": [*ways, answer_schema(graph, options)]}


def lookup_schema(graph: Graph) -> dict[str, Any]:
    """A call of `lookup_source` on one of a graph's nodes, of which there must be some, as a JSON schema.

    >>> from mindscape.mindgraph.graph import Node
    >>> schema = lookup_schema(Graph("note", {"ivo": Node("ivo", "entity", "Ivo", "Ivo", 0, 3, 0, 0)}))
    >>> validate({"name": "lookup_source", "arguments": {"node_id": "ivo"}}, schema)["name"]
    'lookup_source'
    """
    return _call("lookup_source", {"node_id": {"type": "string", "enum": list(graph.nodes)}})


def answer_schema(graph: Graph, options: Sequence[str] = ()) -> dict[str, Any]:
    """The last reply (D.2) as a JSON schema in which no node can be cited that there is not; given options, the answer is one.

    >>> answer_schema(Graph("note"))["properties"]["cited_nodes"]
    {'type': 'array', 'maxItems': 0}
    """
    schema = GraphAnswer.model_json_schema()
    cited = {"items": {"type": "string", "enum": list(graph.nodes)}} if graph.nodes else {"maxItems": 0}
    held = {"cited_nodes": {"type": "array", **cited}}
    if options:
        held["answer"] = {"type": "string", "enum": list(options)}
    return {**schema, "properties": {**schema["properties"], **held}}


def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return _object({"name": {"const": name}, "arguments": _object(arguments)})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False}
