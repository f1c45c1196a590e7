"""A graph in parts that are small enough to be told in a few sentences, and a report on each (MindGraph, section 3.3).

The parts are Leiden communities (Traag et al., 2019) of at most ten nodes, found as GraphRAG finds them: what is too large is
taken apart again. Leiden finds nothing to cut in a star or a clique, however large, so the rest of the bound is ours: such a
community is cut into runs of neighbours. Nodes without edges, of which Leiden knows nothing, come in runs as they stand in the
text: every node is in one part, and can be found.

The same graph gives the same parts with the same numbers, whatever the order in which it was made, since nodes and edges are
handed over sorted, under one seed. Another version of the library may cut otherwise. A partition takes a millisecond and is
not kept; a report costs a call, and is written when it is first asked for.

Taught in notebook 31_mindgraph_answer. Nothing here ranks parts for a question.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated

from graspologic_native import hierarchical_leiden
from pydantic import Field, StringConstraints

from mindscape.ask import ask
from mindscape.budget import Meter
from mindscape.errors import require
from mindscape.llm.base import LLM
from mindscape.mindgraph.graph import Graph
from mindscape.prompts import languages
from mindscape.roles.base import Form, Role
from mindscape.roles.edits import graph_state

SIZE, SEED = 10, 0
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
    not above 0.

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
        for found in hierarchical_leiden(listed, max_cluster_size=size, seed=seed):
            if found.is_final_cluster:
                parts.setdefault(found.cluster, []).append(int(found.node))
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
    parts = partition([node.id for node in order], edges, size, seed)
    return [Community(i, part) for i, part in enumerate(parts)]


def part_state(graph: Graph, part: Collection[str]) -> str:
    """A part as a prompt shows it: its nodes, and the edges with an end in it.

    >>> from mindscape.mindgraph.graph import Node
    >>> print(part_state(Graph("note", {"ivo": Node("ivo", "entity", "Ivo, a seller", "Ivo", 0, 3, 0, 0)}), ["ivo"]))
    {"nodes": [
    {"id": "ivo", "type": "entity", "content": "Ivo, a seller"}
    ], "edges": []}
    """
    nodes = [vars(it) for it in graph.nodes.values() if it.id in part]
    edges = [vars(it) for it in graph.edges.values() if it.source in part or it.target in part]
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

    def __init__(self, graph: Graph, llm: LLM | Meter, *, language: str = "en", tokens: int = TOKENS):
        require(language in PROMPTS, f"language={language!r}: expected one of {', '.join(PROMPTS)}")
        self.graph, self.language, self.tokens = graph, language, tokens
        self.meter = llm if isinstance(llm, Meter) else Meter(llm)
        self.communities = communities(graph)
        self.unreadable: dict[int, str] = {}
        self._read: dict[int, Report] = {}

    def read(self, ids: Iterable[int]) -> list[Report | None]:
        """The reports on some parts, in that order; None for one that could not be read. Raises InputError for no part."""
        wanted = list(ids)
        for i in wanted:
            require(0 <= i < len(self.communities), f"there is no part {i}: expected 0 to {len(self.communities) - 1}")
        new = [i for i in dict.fromkeys(wanted) if i not in self._read and i not in self.unreadable]
        if new:
            before, self.meter.stage = self.meter.stage, REPORT
            try:
                self._write(new)
            finally:
                self.meter.stage = before
        return [self._read.get(i) for i in wanted]

    def _write(self, ids: Sequence[int]) -> None:
        said = ask(self.meter, COMMUNITY_REPORT, [self._prompt(i) for i in ids], tokens=self.tokens)
        for i, it in zip(ids, said, strict=True):
            if it.value is None:
                self.unreadable[i] = it.unread[0]
            else:
                self._read[i] = it.value

    def _prompt(self, i: int) -> str:
        state = part_state(self.graph, set(self.communities[i].nodes))
        return COMMUNITY_REPORT.prompt(self.language, graph_state=state)


def _weights(rank: Mapping[str, int], edges: Iterable[tuple[str, str, float]]) -> dict[tuple[int, int], float]:
    """The weight of each pair of different nodes, the earlier one first."""
    weights: dict[tuple[int, int], float] = {}
    for source, target, weight in sorted(edges):  # sorted: sums of floats depend on their order
        for end in (source, target):
            require(end in rank, f"edge {source!r} to {target!r}: there is no node {end!r}")
        require(0 < weight < float("inf"), f"edge {source!r} to {target!r} weighs {weight}: expected more than 0")
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
    walk: list[int] = []
    seen: set[int] = set()
    for first in sorted(near, key=lambda node: (-sum(near[node].values()), node)):
        if first in seen:
            continue
        seen.add(first)
        waiting = deque([first])
        while waiting:
            node = waiting.popleft()
            walk.append(node)
            for other in sorted(near[node], key=lambda other: (-near[node][other], other)):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
    return _even(walk, size)


def _even(nodes: Sequence[int], size: int) -> list[list[int]]:
    """Runs of at most `size`, as few as will do, whose lengths differ by one at most."""
    count = ceil(len(nodes) / size)
    return [list(nodes[len(nodes) * i // count : len(nodes) * (i + 1) // count]) for i in range(count)]
