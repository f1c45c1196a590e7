"""Entities and relations that passages tell, merged by name: the graph that both GraphRAGs stand on (Edge et al., 2024).

`mindscape.mia.graphrag` retrieves its entities (MiA-RAG, appendix D.2), `mindscape.mindgraph.baselines.graphrag` writes reports
on its communities (MindGraph, section 2.2). They differ in what counts as one name and whether a relation has a direction. The
graph is plain data; nothing here asks a model. Taught in notebook 16_mia_graphrag.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Told:
    """What one passage tells: (name, statement on it) and (name, name, statement that relates them)."""

    chunk: int
    entities: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()


@dataclass
class EntityGraph:
    """Entities by the key of their name, in the order in which they come up; relations by the keys of both ends.

    `names`: the first spelling of each entity. `statements` and `chunks`: of an entity or a relation, each once; a relation
    has its own key, (source, target).
    """

    names: dict[str, str] = field(default_factory=dict)
    statements: dict[Any, list[str]] = field(default_factory=lambda: defaultdict(list))
    chunks: dict[Any, list[int]] = field(default_factory=lambda: defaultdict(list))

    @property
    def relations(self) -> list[tuple[str, str]]:
        return [key for key in self.chunks if isinstance(key, tuple)]

    def add(self, key: Any, statement: str, chunk: int, most: float) -> None:
        statements, chunks = self.statements[key], self.chunks[key]
        if chunk not in chunks:
            chunks.append(chunk)
        if statement not in statements and len(statements) < most:
            statements.append(statement)


def merged_by_name(
    passages: Iterable[Told], key: Callable[[str], str], directed: bool = False, most: float = float("inf")
) -> EntityGraph:
    """One graph of what the passages tell: names of one `key` are one entity, relations of the same two are one.

    `directed`: the two directions of a relation are two. `most`: statements of an entity or a relation. A relation of an entity
    to itself describes it; names with an empty key, and relations with one, are passed over. Taught in notebook
    16_mia_graphrag.

    >>> passages = [Told(0, (("Ann", "She left."),)), Told(3, (("ann", "She came back."),), (("Ann", "Tom", "Ann met Tom."),))]
    >>> graph = merged_by_name(passages, str.lower)
    >>> graph.names, graph.statements["ann"], graph.chunks["ann", "tom"]
    ({'ann': 'Ann', 'tom': 'Tom'}, ['She left.', 'She came back.'], [3])
    """
    graph = EntityGraph()

    def entity(name: str, statement: str, chunk: int) -> None:
        graph.names.setdefault(key(name), name)
        graph.add(key(name), statement, chunk, most if statement else 0)

    for passage in passages:
        for name, statement in passage.entities:
            if key(name):
                entity(name, statement, passage.chunk)
        for source, target, statement in passage.relations:
            ends = key(source), key(target)
            if not all(ends):
                continue
            for name in (source, target):
                entity(name, statement if ends[0] == ends[1] else "", passage.chunk)
            if ends[0] != ends[1]:
                known = not directed and ends not in graph.chunks and ends[::-1] in graph.chunks
                graph.add(ends[::-1] if known else ends, statement, passage.chunk, most)
    return graph
