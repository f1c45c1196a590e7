"""The graphs that should come out of novels: questions, the perfect builder, agreement of graphs."""

from types import SimpleNamespace

import pytest
from extras import refused

import storyworld
from mindscape.llm.base import estimated_tokens
from mindscape.mindgraph import scoring as golds
from mindscape.mindgraph.answer import cut
from mindscape.mindgraph.build import counts, rebuild
from mindscape.mindgraph.graph import Edge, Graph, Node, verify
from mindscape.mindgraph.scoring import Counts
from mindscape.roles import Edits, node_and_edge_f1
from storyworld.teaching.graphs import Builder

COUNTING = SimpleNamespace(count_tokens=estimated_tokens)


@pytest.fixture(scope="module")
def blocks(book):
    return cut(book.document, COUNTING, 280)


# ---------------------------------------------------------------- gold


def test_the_questions(book):
    bound, liar, people = (golds.asked(book, kind) for kind in golds.KINDS)
    assert bound.needs_binding and liar.kind == "liar" and people.kind == "people"
    rest = golds.more(book)
    assert len({it.id for it in (bound, liar, people, *rest)}) == 7
    builder = Builder(book)
    for question in (bound, liar, *rest):
        assert 1 <= len(builder.events(question)) <= 2 and question.depth != "set-aggregation"
    refused(lambda: golds.asked(book, "who"), "kind='who': expected bound, liar, people")
    refused(lambda: golds.shelf("hard"), "split='hard': expected develop, test")
    refused(lambda: golds.many("hard"), "split='hard': expected develop, test")


def test_the_seeds_of_novels_are_of_their_split_and_asked_once():
    for split, seeds in {"develop": storyworld.DEVELOP, "test": storyworld.TEST}.items():
        more, longer = golds.MORE[split], golds.LONGER[split]
        assert set(more) <= set(seeds) and not set(more) & set(longer) and len(set(more)) == 34


def test_a_perfect_builder_notes_each_event_where_it_is_told(book, blocks):
    builder, lost = Builder(book), 0
    for question in book.questions[::3]:
        journal = golds.perfect(book, question, blocks)
        graph, told = rebuild(journal), counts(journal)
        verify(graph, book.document)
        assert len(journal.entries) == len(blocks)
        assert told["verbatim"] == told["quoted"]  # its quotes are copied
        assert not any(told[reason] for reason in ("malformed", "empty field", "bad type", "duplicate id"))
        lost += told["quote not in the block"]
        for event in builder.events(question):
            span = book.told.events[event.id][0]
            if any(block.start <= span.start and span.end <= block.end for block in blocks):
                kind = builder.nodes[builder.key(event)].type
                assert any(node.type == kind and span.start <= node.start < span.end for node in graph.nodes.values())
    assert lost < len(book.questions)


def test_the_gold_at_a_step_has_read_no_further(book, blocks):
    journal = golds.perfect(book, golds.asked(book, "people"), blocks)
    for t in (0, 10, len(blocks)):
        nodes = rebuild(journal, blocks=t).nodes.values()
        assert all(node.end <= blocks[t - 1].end for node in nodes) if t else not nodes


# ---------------------------------------------------------------- agreement


def graph_of(nodes, edges=()):
    made = {name: Node(name, kind, content, "x", 0, 1, 0, 0) for name, kind, content in nodes}
    return Graph("note", made, {key: Edge(*key, "x", 0, 1, 0) for key in edges})


GOLD = graph_of(
    [("sale", "event", "Ivo sold the lamp to Ann"), ("ivo", "entity", "Ivo"), ("ann", "entity", "Ann")],
    [("sale", "ivo", "is done by"), ("sale", "ann", "involves")],
)


def test_agreement_by_hand():
    nodes = [("s", "event", "Ivo sold a lamp to Ann"), ("i", "entity", "Ivo"), ("i2", "entity", "Ivo")]
    edges = [("s", "i", "Is done by"), ("i2", "s", "knows"), ("s", "ann", "involves")]
    found = graph_of([*nodes, ("ann", "claim", "Ann")], edges)
    assert golds.same(GOLD, found) == {"s": "sale", "i": "ivo"}
    told = golds.graph_agreement(GOLD, found)
    assert (told["event"], told["entity"], told["claim"]) == (Counts(1, 1, 1), Counts(2, 2, 1), Counts(0, 1, 0))
    assert (told["node"], told["edge"], told["tie"]) == (Counts(3, 4, 2), Counts(2, 3, 1), Counts(2, 3, 1))
    assert golds.graph_agreement(GOLD, Graph("note"))["node"] == Counts(3, 0, 0)
    backwards = graph_of([("s", "event", "Ivo sold a lamp to Ann"), ("i", "entity", "Ivo")], [("i", "s", "does")])
    assert golds.graph_agreement(GOLD, backwards)["tie"] == Counts(2, 1, 1)


def test_agreement_is_that_of_the_reader_s_card(book, blocks):
    """Where every id of gold is in use, F1 of nodes and edges are those of `node_and_edge_f1`."""
    language = book.document.language
    for question in book.questions[:20]:
        journal = golds.perfect(book, question, blocks)
        gold = rebuild(journal)
        adds = [op for entry in journal.entries for op in Edits.model_validate_json(entry.reply).operations]
        if not gold.edges or any(op.op == "edit_node" for op in adds) or counts(journal)["rejected"]:
            continue
        part = Graph(gold.doc_id, dict(list(gold.nodes.items())[::2]))
        among = {key: it for key, it in gold.edges.items() if {*key[:2]} <= {*part.nodes}}
        part = Graph(part.doc_id, part.nodes, among)
        kept = [op for op in adds if op.op == "add_node" and op.id in part.nodes]
        kept += [op for op in adds if op.op == "add_edge" and (op.source, op.target, op.relation) in part.edges]
        nodes, edges = node_and_edge_f1(Edits(operations=adds), Edits(operations=kept), language)
        told = golds.graph_agreement(gold, part, language)
        f1 = [2 * told[of].both / (told[of].gold + told[of].found) for of in ("node", "edge")]
        assert f1 == pytest.approx([nodes, edges])
