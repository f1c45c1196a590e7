"""The graph that should come out of a novel of the storyworld for a question, and how far another agrees with it; and what
was noted on *Macbeth* for this kit.

Two notes count as the same if their types are and their contents share half of their words, as on the reader's card. Taught in
notebooks 30_mindgraph_build and 31_mindgraph_answer. Nothing here knows whether a note is true of the text.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import storyworld
from mindscape import paths, records
from mindscape.corpora import shakespeare
from mindscape.errors import require
from mindscape.metrics import token_f1
from mindscape.mindgraph.build import Entry, Journal
from mindscape.mindgraph.graph import TYPES, Graph, apply_all
from mindscape.question import Question
from mindscape.roles.edits import Edits, Operation
from mindscape.roles.scores import matched
from mindscape.text import Chunk, Document, Span
from storyworld import Book
from storyworld.books import books
from storyworld.teaching.graphs import Builder, Reading

SHORT = 6  # novels of the split that three graphs are built of
LONGER = {"develop": storyworld.DEVELOP[20:34], "test": storyworld.TEST[20:34]}  # the seeds of longer novels, by split
LENGTHS = (16_000, 19_000, 23_000, 28_000)  # of longer novels, in turn
MORE = {"develop": storyworld.DEVELOP[34:68], "test": storyworld.TEST[34:68]}  # of further novels of the usual length
KINDS = ("bound", "liar", "people")  # questions that a graph is built for


@dataclass(frozen=True)
class Counts:
    """So many are in the gold graph, so many were found, and so many of these are the same."""

    gold: int
    found: int
    both: int


def shelf(split: str) -> list[Book]:
    """Six novels of a split, then fourteen longer ones. Raises InputError for a split without longer ones."""
    require(split in LONGER, f"split={split!r}: expected {', '.join(LONGER)}")
    longer = [storyworld.book(seed, LENGTHS[i % len(LENGTHS)]) for i, seed in enumerate(LONGER[split])]
    return [*books(split)[:SHORT], *longer]


def many(split: str) -> list[Book]:
    """Forty novels of 15,000 tokens each: the first six of the shelf, and 34 more. Raises InputError as `shelf` does."""
    require(split in MORE, f"split={split!r}: expected {', '.join(MORE)}")
    return [*books(split)[:SHORT], *(storyworld.book(seed, tokens=15_000) for seed in MORE[split])]


def asked(book: Book, kind: str) -> Question:
    """The question of a kind that a graph of a novel is built for.

    "bound": on one event, with a trade, kin or guise in the place of a name; "liar": who told an untruth on oath, so that two
    notes contradict each other; "people": how many different people did something in the whole book. The first in the book's
    order. Raises InputError for another kind.

    >>> asked(storyworld.book(1010, tokens=15_000), "liar").question                    # doctest: +ELLIPSIS
    'Who gave an untrue account on oath of the person who ...'
    """
    require(kind in KINDS, f"kind={kind!r}: expected {', '.join(KINDS)}")
    if kind == "bound":
        return next(question for question in _narrow(book) if question.needs_binding)
    return next(question for question in book.questions if question.kind == kind)


def more(book: Book, n: int = 4) -> list[Question]:
    """Up to n more questions on one or two events that name their answer, from all over the list; none is of `asked`."""
    taken = {asked(book, kind).id for kind in KINDS}
    rest = [question for question in _narrow(book) if question.id not in taken]
    return rest[:: max(1, len(rest) // n)][:n]


def perfect(book: Book, question: Question, blocks: Sequence[Chunk]) -> Journal:
    """What a perfect builder notes for a question, block by block: its events and its bindings, where they are first told.

    The notes are those that the reader was trained to write (`mindscape.roles.edits`), held to the same checks: of an event
    that is cut by a border within its first words the quote is not in the block, and it is rejected like any other.
    `rebuild(journal, blocks=t)` is the gold at step t. Raises InputError for blocks that are not the book's.

    >>> from mindscape.mindgraph.build import rebuild
    >>> book = storyworld.book(1010, tokens=15_000)
    >>> text = book.document.text
    >>> journal = perfect(book, asked(book, "people"), [Chunk(book.document.id, 0, 0, len(text))])
    >>> {node.type for node in rebuild(journal).nodes.values()} >= {"event", "entity"}
    True
    """
    builder, reading, graph, entries = Builder(book), Reading(), Graph(book.document.id), []
    told = sorted((book.told.events[event.id][0], event.id) for event in builder.events(question))
    for block in blocks:
        within = Span(block.start, block.end)
        operations: list[Operation] = []
        for span, event in told:
            if block.start <= span.start < block.end:
                operations += builder.event(book.world.events[event], within, reading, answer=question.answer)
        for binding in builder.bindings(question):
            span = book.told.bindings[binding.id][0]
            if block.start <= span.start < block.end:
                operations += builder.binding(binding, span, within, reading)
        reading.apply(operations)
        graph, edits = apply_all(graph, operations, book.document, block)
        entries.append(Entry(block.index, Edits(operations=operations).model_dump_json(), edits))
    return Journal({"document": book.document.id, "question": question.question}, tuple(entries))


def macbeth() -> tuple[Document, list[Chunk], list[dict[str, Any]]]:
    """The play, its blocks, and what was noted on each: the `operations`, for a `question`, and the `scenes` it is of.

    >>> len(macbeth()[1])                                                                   # doctest: +SKIP
    24
    """
    play, path = shakespeare.play("macbeth"), paths.data("shakespeare", "mindgraph_macbeth.jsonl")
    rows = [json.loads(line) for line in records.lines(path)]
    return play, [Chunk(play.id, i, row["start"], row["end"]) for i, row in enumerate(rows)], rows


def same(gold: Graph, found: Graph, language: str = "en") -> dict[str, str]:
    """The ids of found nodes with those of the gold nodes that they are; each of them once, the likest pairs first.

    >>> from mindscape.mindgraph.graph import Node
    >>> ivo, miller = (Node(name, "entity", said, "Ivo", 0, 3, 0, 0) for name, said in [("ivo", "Ivo"), ("m", "Ivo, a miller")])
    >>> same(Graph("note", {"ivo": ivo}), Graph("note", {"m": miller}))
    {'m': 'ivo'}
    """
    alike = {
        (mine.id, its.id): token_f1(its.content, mine.content, language)
        for its in found.nodes.values()
        for mine in gold.nodes.values()
        if its.type == mine.type
    }
    return {its: mine for mine, its in matched(alike).items()}


def graph_agreement(gold: Graph, found: Graph, language: str = "en") -> dict[str, Counts]:
    """How far a graph agrees with the gold one: counts by type of node, and of "node", "edge" and "tie".

    Edges are the same if their ends are and the relation is, in any case; "tie" counts pairs of nodes with an edge between
    them, whichever way and in whatever words.

    >>> graph_agreement(Graph("note"), Graph("note"))["node"]
    Counts(gold=0, found=0, both=0)
    """
    pairs = same(gold, found, language)
    counts = {}
    for name in TYPES:
        there, here = (sum(node.type == name for node in graph.nodes.values()) for graph in (gold, found))
        counts[name] = Counts(there, here, sum(found.nodes[its].type == name for its in pairs))
    counts["node"] = Counts(len(gold.nodes), len(found.nodes), len(pairs))
    for name, key in (("edge", _directed), ("tie", _undirected)):
        mine = {key(*edge) for edge in gold.edges}
        its = {key(pairs.get(source, (source,)), pairs.get(target, (target,)), label)
               for source, target, label in found.edges}  # fmt: skip
        counts[name] = Counts(len(mine), len(its), len(mine & its))
    return counts


def _narrow(book: Book) -> list[Question]:
    """Questions on one or two events whose gold notes name the answer, counts left out."""
    builder, found = Builder(book), []
    for question in book.questions:
        events = builder.events(question)
        said = [text for event in events for text in (builder.nodes[builder.key(event)].content, *builder.said(event))]
        named = question.answer.lower() in " ".join(said).lower()
        if named and len(events) <= 2 and question.depth != "set-aggregation":
            found.append(question)
    return found


def _directed(source: object, target: object, label: str) -> tuple:
    return source, target, label.lower()


def _undirected(source: object, target: object, label: str) -> frozenset:
    return frozenset((source, target))
