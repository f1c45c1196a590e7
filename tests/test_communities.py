"""Parts of a graph: every node in one, none too large, the same whatever the order; reports made once."""

import random
from collections import Counter
from itertools import combinations

import pytest
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from stubs import Stub

from mindscape.ask import Budget, BudgetSpent, Meter
from mindscape.errors import BudgetReached
from mindscape.llm import LanguageModel, Ledger
from mindscape.mindgraph.communities import REPORT, SIZE, Reports, communities, part_state, partition
from mindscape.mindgraph.graph import Edge, Graph, Node
from mindscape.store import Store


def graph_of(names, pairs, shuffle=None):
    """A graph whose i-th node stands at character i; made in an order of chance, if asked for."""
    rows, ties = list(enumerate(names)), list(pairs)
    if shuffle is not None:
        chance = random.Random(shuffle)
        chance.shuffle(rows)
        chance.shuffle(ties)
    nodes = {name: Node(name, "entity", f"about {name}", "x", i, i + 1, 0, 0) for i, name in rows}
    return Graph("note", nodes, {(a, b, r): Edge(a, b, r, "x", 0, 1, 0) for a, b, r in ties})


def tied(names, how):
    return [(a, b, how) for a, b in combinations(names, 2)]


names = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), unique=True, max_size=40)


@st.composite
def networks(draw):
    nodes = draw(names)
    node = st.sampled_from(nodes) if nodes else st.nothing()
    edges = draw(st.lists(st.tuples(node, node, st.sampled_from([0.5, 1.0, 3.0])), max_size=120)) if nodes else []
    return nodes, edges


@settings(max_examples=200)
@given(networks(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_every_node_is_in_one_part_whatever_the_order_of_the_edges(network, size, chance):
    nodes, edges = network
    parts = partition(nodes, edges, size)
    assert Counter(node for part in parts for node in part) == Counter(nodes)
    assert all(1 <= len(part) <= size for part in parts)
    rank = {node: i for i, node in enumerate(nodes)}
    assert all(list(part) == sorted(part, key=rank.get) for part in parts)
    assert parts == sorted(parts, key=lambda part: (-len(part), rank[part[0]]))
    turned = [(b, a, weight) if chance.random() < 0.5 else (a, b, weight) for a, b, weight in edges]
    chance.shuffle(turned)
    assert partition(nodes, turned, size) == parts


@settings(max_examples=50)
@given(networks(), st.integers(0, 99))
def test_equal_graphs_have_equal_parts(network, shuffle):
    nodes, edges = network
    ties = sorted({(a, b, f"r{weight}") for a, b, weight in edges})
    assert communities(graph_of(nodes, ties)) == communities(graph_of(nodes, ties, shuffle))


def test_what_hangs_together_stays_together():
    """Three cliques tied by single edges, and two nodes without any."""
    groups = ["abcdef", "ghijk", "lmnop"]
    edges = [edge for group in groups for edge in tied(group, 1.0)] + [("f", "g", 1.0), ("k", "l", 1.0)]
    assert partition("abcdefghijklmnopqr", edges) == [*map(tuple, groups), ("q", "r")]


def test_stars_cliques_and_rings_are_cut_where_leiden_does_not():
    many = [f"n{i:03}" for i in range(60)]
    star = [("n000", name, 1.0) for name in many[1:]]
    for edges in (star, tied(many, 1.0), [(many[i], many[(i + 1) % 60], 1.0) for i in range(60)], []):
        parts = partition(many, edges)
        assert sum(map(len, parts)) == 60 and max(map(len, parts)) <= SIZE
        assert len(parts) >= 6
    first = partition(many, star)
    assert len(first) == 6 and "n000" in first[0]  # the hub is with its first neighbours


def test_a_part_that_is_cut_is_cut_along_its_edges():
    """A complete graph of 30 with heavy triples: the walk keeps neighbours with weight near each other."""
    many = [f"n{i:02}" for i in range(30)]
    edges = tied(many, 1.0) + [(many[i], many[i + 15], 50.0) for i in range(15)]
    together = sum(bool({many[i], many[i + 15]} <= set(part)) for part in partition(many, edges) for i in range(15))
    assert together >= 12


def test_weights_and_loops():
    assert partition("abc", [("a", "a", 9.0), ("b", "c", 1.0)]) == [("b", "c"), ("a",)]
    assert partition("abcd", [("a", "b", 1.0), ("b", "c", 0.01), ("c", "d", 1.0)]) == [("a", "b"), ("c", "d")]
    assert partition("", []) == [] and communities(Graph("note")) == []


def test_bad_input():
    for weight in (0.0, float("nan")):
        refused(lambda weight=weight: partition("ab", [("a", "b", weight)]), "expected more than 0")
    refused(lambda: partition("ab", [("a", "z", 1.0)]), "there is no node 'z'")
    refused(lambda: partition("aa", []), "expected each once")
    refused(lambda: partition("ab", [], 0), "at least one node")


def test_a_part_is_shown_with_the_edges_that_leave_it():
    shown = part_state(graph_of("abc", [("a", "b", "knows"), ("b", "c", "跟随")]), {"a", "b"})
    assert '"id": "c"' not in shown and '"source": "b", "target": "c", "relation": "跟随"' in shown


# ---------------------------------------------------------------- reports

GRAPH = graph_of("abcdefgh", [*tied("abcd", "knows"), *tied("efgh", "r")])
GOOD = {"title": "Four friends", "summary": "They know each other.", "impact_rating": 6, "findings": ["So it is [a]."]}


def reporter(graph=GRAPH, store=None, say=None, **options):
    stub = Stub(say or (lambda *_: GOOD))
    ledger = Ledger(cap_tokens=options.pop("cap", None))
    meter = Meter(LanguageModel(stub, ledger=ledger, store=store), options.pop("budget", None))
    return Reports(graph, meter, **options), stub, meter


def test_a_report_is_written_when_it_is_asked_for_and_once(tmp_path):
    reports, stub, meter = reporter(store=Store(tmp_path / "reports.sqlite", tmp_path))
    assert len(reports.communities) == 2 and not stub.requests
    meter.stage = "answer"
    assert reports.read([1])[0].title == "Four friends" and len(stub.requests) == 1
    assert "about e" in stub.requests[0][0][0]["content"] and "about a" not in stub.requests[0][0][0]["content"]
    assert [report.impact_rating for report in reports.read([0, 1, 0])] == [6, 6, 6] and len(stub.requests) == 2
    assert meter.stage == "answer" and {step.stage for step in meter.steps} == {REPORT}
    again, idle, counted = reporter(store=Store(tmp_path / "reports.sqlite", tmp_path))
    again.read([0, 1])
    assert not idle.requests and (counted.calls, counted.tokens) == (meter.calls, meter.tokens) == (2, meter.tokens)


def test_a_part_that_changed_gets_another_report(tmp_path):
    store = Store(tmp_path / "reports.sqlite", tmp_path)
    reporter(store=store)[0].read([0, 1])
    changed = graph_of("abcdefgh", [*tied("abcd", "hates"), *tied("efgh", "hates")])
    half = graph_of("abcdefgh", [*tied("abcd", "hates"), *tied("efgh", "r")])
    for graph, options, calls in [(GRAPH, {}, 0), (half, {}, 1), (changed, {}, 1), (GRAPH, {"language": "zh"}, 2)]:
        reports, stub, _ = reporter(graph, store, **options)
        reports.read([0, 1])
        assert len(stub.requests) == calls


@pytest.mark.parametrize(
    "bad", ["Well, they are friends.", {**GOOD, "impact_rating": 11}, {**GOOD, "title": ""}, {"title": "x"}]
)
def test_what_is_no_report_is_kept_nowhere(tmp_path, bad):
    def say(messages, *_):
        return bad if "about a" in messages[0]["content"] else GOOD

    store = Store(tmp_path / "reports.sqlite", tmp_path)
    reports, stub, _ = reporter(store=store, say=say)
    assert [report is None for report in reports.read([0, 1])] == [True, False] == [i in reports.unreadable for i in (0, 1)]
    reports.read([0, 1])
    assert len(stub.requests) == 2 and len(store.cache) == 1
    again, stub, _ = reporter(store=store)
    assert None not in again.read([0, 1]) and len(stub.requests) == 1


def test_caps_pass_through_and_the_stage_comes_back():
    reports, stub, meter = reporter(budget=Budget(calls=1))
    refused(lambda: reports.read([0, 1]), "budget of 1 calls", BudgetSpent)
    assert not stub.requests and meter.stage == "build" and reports.read([0])[0]
    reports, _, _ = reporter(cap=10)
    assert not isinstance(refused(lambda: reports.read([0]), "cap", BudgetReached), BudgetSpent)
    refused(lambda: reports.read([2]), "no part 2: expected 0 to 1")
    refused(lambda: reporter(language="fr"), "expected one of en, zh")
