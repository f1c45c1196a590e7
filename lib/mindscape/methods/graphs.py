"""The log's graphs of several books, as they are searched: statements with their places, and entities with their ties.

A concept graph (MindGraph) is searched for what it says, and for what it says of the same people; of entities and ties one
graph is made of all books (GraphRAG). Neither is built by a model here: `mindscape.mindgraph.build` and
`mindscape.mia.graphrag` do that. Taught in notebook 50_side_by_side.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np

from mindscape.mia import graphrag
from mindscape.signature.memory import Memory
from mindscape.text import Chunk, Document
from storyworld import Book

STEP = 0.5  # what a statement gains of the best one that is about the same person


@dataclass(frozen=True)
class Statements:
    """Nodes and ties of concept graphs as sentences with a place, and whom each is about.

    `about`: truth values, (statements, people).
    """

    texts: tuple[str, ...]
    places: tuple[Chunk, ...]
    about: np.ndarray

    @classmethod
    def of(cls, books: Sequence[Book]) -> "Statements":
        """Events, claims, concepts and numbers, and the ties between people, disguises and trades."""
        texts, places, whom = [], [], []

        def say(text, book, span, people):
            texts.append(text)
            places.append(Chunk(book, len(places), span.start, span.end))
            whom.append({(book, one) for one in people})  # people of two books are not the same

        for book in books:
            nodes, edges = book.graph
            name, label = book.document.id, {node.id: node.content for node in nodes}
            people = {node.id for node in nodes if node.id.startswith(("person", "guise"))}
            tied: dict[str, set[str]] = {}
            for edge in edges:
                tied.setdefault(edge.source, set()).update({edge.target} & people)
            for node in nodes:
                if node.type != "entity" and not node.id.startswith("trade"):
                    say(node.content, name, node.span, tied.get(node.id, ()))
            for edge in edges:
                ends = {edge.source, edge.target}
                if ends & people and all(end in people or end.startswith("trade") for end in ends):
                    text = f"{label[edge.source]} {edge.relation} {label[edge.target]}"
                    say(text, name, edge.span, ends & people)
        people_of = sorted(set().union(*whom))
        about = np.array([[one in some for one in people_of] for some in whom])
        return cls(tuple(texts), tuple(places), about)


def stepped(scores: np.ndarray, about: np.ndarray, step: float = STEP) -> np.ndarray:
    """Each statement's score and `step` times the best of another one about the same person; `scores` (questions, statements).

    Taught in notebook 50_side_by_side.

    >>> about = np.array([[True], [True], [False]])
    >>> stepped(np.array([[0.8, 0.1, 0.5]]), about).round(2).tolist()
    [[0.85, 0.5, 0.5]]
    """
    near = (about.astype(int) @ about.T.astype(int)) > 0
    np.fill_diagonal(near, False)
    best = np.array([np.where(near, row, -np.inf).max(1) for row in scores]).reshape(scores.shape)
    return scores + step * np.where(np.isfinite(best), best, 0.0)


@dataclass(frozen=True)
class Joined:
    """One graph of several books, and all their passages, a line each, as one text; passages count as in the memory."""

    graph: graphrag.Graph
    document: Document
    chunks: tuple[Chunk, ...]


def joined(name: str, books: Sequence[Book], memory: Memory) -> Joined:
    """The entities and ties that the log has of each book, side by side. Taught in notebook 50_side_by_side.

    >>> joined("series", series.books, memory).graph.texts[0]                                # doctest: +SKIP
    'Amias Fothergill: is the miller.'
    """
    entities: list[graphrag.Entity] = []
    relations: list[graphrag.Relation] = []
    for book in books:
        at = [i for i, chunk in enumerate(memory.chunks) if chunk.doc_id == book.document.id]
        of, by = graphrag.of_story(book, [memory.chunks[i] for i in at]), len(entities)
        entities += [replace(it, chunks=tuple(at[i] for i in it.chunks)) for it in of.entities]
        for it in of.relations:
            chunks = tuple(at[i] for i in it.chunks)
            relations.append(replace(it, source=it.source + by, target=it.target + by, chunks=chunks))
    ends = accumulate((len(text) + 1 for text in memory.texts), initial=0)
    places = tuple(Chunk(name, i, start, end - 1) for i, (start, end) in enumerate(pairwise(ends)))
    document = Document(name, "\n".join(memory.texts), memory.language)
    return Joined(graphrag.Graph(name, tuple(entities), tuple(relations)), document, places)
