"""MindGraph on novels: the perfect builder, agreement of graphs, runs that are kept and gone on with."""

import json
import re
import sys
from types import SimpleNamespace

import pytest
from stubs import Stub

from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.llm import READER, LanguageModel
from mindscape.llm.base import estimated_tokens
from mindscape.mindgraph import novels
from mindscape.mindgraph.answering import cut
from mindscape.mindgraph.graph import Edge, Graph, Node, verify
from mindscape.mindgraph.journal import counts, rebuild
from mindscape.mindgraph.novels import Counts
from mindscape.question import BUILD
from mindscape.roles.edits import Builder, Edits
from mindscape.roles.scores import node_and_edge_f1

COUNTING = SimpleNamespace(count_tokens=estimated_tokens)


@pytest.fixture(scope="module", params=["en", "zh"])
def book(request):
    return storyworld.book(1000, tokens=15_000, language=request.param)


@pytest.fixture(scope="module")
def blocks(book):
    return cut(book.document, COUNTING, 280)


def reader(book, blocks, dies=None):
    """A model that notes what the perfect builder does, and answers with the first node that it is shown."""
    said = {
        question.question: novels.perfect(book, question, blocks) for question in book.questions if question.evidence
    }

    def say(prompt, tools, schema):
        text = prompt[0]["content"]
        block = re.search(r"Block (\d+) of \d+:\n|第(\d+)块，共\d+块：\n", text)
        asked = next(it for it in said if it in text)
        if block:
            return said[asked].entries[int(block[1] or block[2]) - 1].reply
        first = re.search(r'"id": "([^"]+)"', text.split(asked)[0].rpartition('"answer"')[2])
        return {"answer": first[1] if first else "-", "cited_nodes": [first[1]] if first else [], "confidence": "low"}

    return Stub(say, name="embedded", dies=dies)


# ---------------------------------------------------------------- gold


def test_the_questions(book):
    bound, liar, people = (novels.asked(book, kind) for kind in novels.KINDS)
    assert bound.needs_binding and liar.kind == "liar" and people.kind == "people"
    rest = novels.more(book)
    assert len({it.id for it in (bound, liar, people, *rest)}) == 7
    builder = Builder(book)
    for question in (bound, liar, *rest):
        assert 1 <= len(builder.events(question)) <= 2 and question.depth != "set-aggregation"
    with pytest.raises(InputError, match="kind='who': expected bound, liar, people"):
        novels.asked(book, "who")
    with pytest.raises(InputError, match="split='hard': expected develop, test"):
        novels.shelf("hard")


def test_a_perfect_builder_notes_each_event_where_it_is_told(book, blocks):
    builder, lost = Builder(book), 0
    for question in book.questions[::3]:
        journal = novels.perfect(book, question, blocks)
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
    journal = novels.perfect(book, novels.asked(book, "people"), blocks)
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
    found = graph_of(
        [
            ("s", "event", "Ivo sold a lamp to Ann"),
            ("i", "entity", "Ivo"),
            ("i2", "entity", "Ivo"),
            ("ann", "claim", "Ann"),
        ],
        [("s", "i", "Is done by"), ("i2", "s", "knows"), ("s", "ann", "involves")],
    )
    assert novels.same(GOLD, found) == {"s": "sale", "i": "ivo"}
    told = novels.agreement(GOLD, found)
    assert (told["event"], told["entity"], told["claim"]) == (Counts(1, 1, 1), Counts(2, 2, 1), Counts(0, 1, 0))
    assert (told["node"], told["edge"], told["tie"]) == (Counts(3, 4, 2), Counts(2, 3, 1), Counts(2, 3, 1))
    assert (told["node"].precision, told["node"].recall) == (2 / 4, 2 / 3)
    assert told["node"].f1 == pytest.approx(2 * 2 / 7)
    nothing = novels.agreement(GOLD, Graph("note"))["node"]
    assert nothing.f1 == nothing.recall == 0 and nothing.precision != nothing.precision
    backwards = graph_of([("s", "event", "Ivo sold a lamp to Ann"), ("i", "entity", "Ivo")], [("i", "s", "does")])
    assert novels.agreement(GOLD, backwards)["tie"] == Counts(2, 1, 1)


def test_agreement_is_that_of_the_reader_s_card(book, blocks):
    """Where every id of gold is in use, F1 of nodes and edges are those of `node_and_edge_f1`."""
    language = book.document.language
    for question in book.questions[:20]:
        journal = novels.perfect(book, question, blocks)
        gold = rebuild(journal)
        adds = [op for entry in journal.entries for op in Edits.model_validate_json(entry.reply).operations]
        if not gold.edges or any(op.op == "edit_node" for op in adds) or counts(journal)["rejected"]:
            continue
        part = Graph(gold.doc_id, dict(list(gold.nodes.items())[::2]))
        part = Graph(
            part.doc_id, part.nodes, {key: it for key, it in gold.edges.items() if {*key[:2]} <= {*part.nodes}}
        )
        kept = [
            op
            for op in adds
            if (op.id in part.nodes if op.op == "add_node" else (op.source, op.target, op.relation) in part.edges)
        ]
        nodes, edges = node_and_edge_f1(Edits(operations=adds), Edits(operations=kept), language)
        told = novels.agreement(gold, part, language)
        assert (told["node"].f1, told["edge"].f1) == pytest.approx((nodes, edges))


# ---------------------------------------------------------------- runs


def test_runs_are_kept_and_gone_on_with(book, blocks, tmp_path):
    wanted = novels.planned(book)
    assert [graph for _, graph in wanted[:3]] == ["built"] * 3 and len(wanted) == len(set(map(str, wanted)))
    stub = reader(book, blocks)
    whole = novels.runs(LanguageModel(stub), book, tmp_path / "a", wanted, work=tmp_path / "work_a")
    calls, again = len(stub.asked), reader(book, blocks, dies=len(blocks) + 20)
    with pytest.raises(KeyboardInterrupt):
        novels.runs(LanguageModel(again), book, tmp_path / "b", wanted, work=tmp_path / "work_b")
    path = novels.path_of(tmp_path / "b", book.document)
    assert len(novels.kept(path)[1]) == 1
    with path.open("a") as file:
        file.write('{"question": "half a li')
    last = reader(book, blocks)
    assert novels.runs(LanguageModel(last), book, tmp_path / "b", wanted, work=tmp_path / "work_b") == whole
    assert len(again.asked) - 1 + len(last.asked) == calls  # the call that died is made again, no other
    third = reader(book, blocks)
    assert novels.runs(LanguageModel(third), book, tmp_path / "b", wanted) == whole and not third.asked
    about, found = novels.kept(path)
    assert found == whole == novels.pick(tmp_path / "b", book, wanted) and about["document"] == book.document.id
    with pytest.raises(InputError, match="has no run on"):
        novels.pick(tmp_path / "b", book, [(novels.asked(book, "people"), "tools")])
    with pytest.raises(InputError, match="another adapter"):
        novels.pick(tmp_path / "b", book, wanted, adapter=READER)
    assert novels.pick(tmp_path / "b", book, wanted, model=LanguageModel(last)) == whole
    with pytest.raises(InputError, match="holds runs of another model than other"):
        novels.pick(tmp_path / "b", book, wanted, model=LanguageModel(Stub(last.say, name="other")))
    path.write_text(json.dumps(about | {"text": "other"}) + "\n")
    with pytest.raises(InputError, match="another text"):
        novels.pick(tmp_path / "b", book, wanted)


def test_a_graph_is_made_anew_of_the_replies(book, blocks, tmp_path):
    wanted = [(novels.asked(book, "liar"), graph) for graph in novels.GRAPHS]
    runs = novels.runs(LanguageModel(reader(book, blocks)), book, tmp_path, wanted, work=tmp_path)
    built = novels.journal(runs[0], book.document)
    gold = novels.perfect(book, wanted[0][0], blocks)
    assert rebuild(built) == rebuild(gold) and runs[0].ends == tuple(block.end for block in blocks)
    assert runs[0].longest == 300 and novels.limits(SimpleNamespace(name="openai:gpt-4o")).graph is None
    by_graph = {run.graph: run.answered for run in runs}
    sizes = {name: len(rebuild(gold).nodes) for name in ("built", "whole", "tools", "gold")} | {"empty": 0}
    assert {name: by_graph[name].nodes for name in sizes} == sizes
    assert by_graph["other"].nodes == len(rebuild(novels.perfect(book, novels.asked(book, "people"), blocks)).nodes)
    assert by_graph["built"].spent(BUILD) > 0 and not by_graph["gold"].spent(BUILD)
    with pytest.raises(InputError, match="0 replies to 0 blocks: expected a build"):
        novels.journal(runs[1], book.document)
    changed = type(book.document)(book.document.id, book.document.text[::-1], book.document.language)
    assert not rebuild(novels.journal(runs[0], changed)).edges  # no quote of the book is in another text


def test_bad_files(book, blocks, tmp_path):
    bound = novels.asked(book, "bound")
    model = LanguageModel(reader(book, blocks))
    with pytest.raises(InputError, match="graph='whole': expected a run on it with graph='built' before"):
        novels.runs(model, book, tmp_path, [(bound, "whole")])
    path = novels.path_of(tmp_path, book.document)
    first = json.loads(path.read_text())
    for key, wrong in (("llm", "other"), ("text", "other"), ("limits", {}), ("format", "diary")):
        path.write_text(json.dumps(first | {key: wrong}) + "\n")
        with pytest.raises(InputError, match=key):
            novels.runs(model, book, tmp_path, [(bound, "gold")])
    head = json.dumps(first)
    for wrong, told in (
        ("a diary\n", "line 1: expected a line on the run"),
        (f"{head}\n[]\n", f"line 2: expected {novels.OF}"),
        (f'{head}\n{{"question": "x"}}\n', f"line 2: expected {novels.OF}"),
    ):
        path.write_text(wrong)
        with pytest.raises(InputError, match=told):
            novels.kept(path)
    with pytest.raises(InputError, match="cannot read"):
        novels.kept(tmp_path / "missing.jsonl")


def test_novels_are_read_side_by_side(book, blocks, tmp_path, monkeypatch, capsys):
    """Two at a time give the files that one at a time gives, and the model hears of both at once."""
    other = storyworld.book(1001, tokens=15_000, language=book.document.language)
    both = {one.document.id: cut(one.document, COUNTING, 280) for one in (book, other)}
    says = [reader(one, both[one.document.id]).say for one in (book, other)]

    def say(prompt, *told):
        mine = sum(it.question in prompt[0]["content"] for it in other.questions if it.evidence)
        return says[bool(mine)](prompt, *told)

    monkeypatch.setattr(novels, "shelf", lambda split: [book, other])
    monkeypatch.setattr(novels, "planned", lambda one, longer: [(novels.asked(one, "liar"), "built")])
    files = []
    for width in ("1", "2"):
        monkeypatch.setenv("MINDSCAPE_CACHE", str(tmp_path / f"cache{width}"))
        monkeypatch.setattr(novels.llm, "load", lambda *_, **__: LanguageModel(Stub(say, name="embedded")))
        monkeypatch.setattr(sys, "argv", ["novels", "--out", str(tmp_path / width), "--width", width])
        novels.main()
        files.append([path.read_text() for path in sorted((tmp_path / width).glob("*.jsonl"))])
    assert files[0] == files[1] and len(files[0]) == 2 and len({len(text.splitlines()) for text in files[0]}) == 1
    told = capsys.readouterr().out
    assert "1 runs" in told and told.index("about ") < told.index("1 runs")  # what it takes is said first


def test_what_runs_take_is_estimated(book, blocks):
    """No call is made, and the calls are those that a run without tools makes."""
    stub, wanted = reader(book, blocks), [it for it in novels.planned(book) if it[1] != "tools"]
    told = novels.estimated([(book, wanted)], LanguageModel(stub))
    assert told.calls == 3 * len(blocks) + len(wanted) and not stub.asked and told.money == 0
    read = novels.estimated([(book, [(novels.asked(book, "liar"), "built")])], LanguageModel(stub)).prompt_tokens
    assert read > estimated_tokens(book.document.text)


def test_bad_arguments(tmp_path, monkeypatch):
    for wrong, told in (
        (["--part", "2/2"], "--part 2/2"),
        (["--part", "x"], "--part x"),
        (["--llm", "gpt"], "gpt"),
        (["--width", "0"], "--width 0"),
    ):
        monkeypatch.setattr(sys, "argv", ["novels", "--out", str(tmp_path), *wrong])
        with pytest.raises(SystemExit, match=told):
            novels.main()
