"""MindGraph's answer stage: the meter, the two tools, the loop by call and by grammar, what a kill leaves, what it all took."""

import json
from dataclasses import replace
from functools import partial

import pytest
import torch
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from stubs import Stub, in_turn
from tiny import tiny
from transformers import LlamaConfig

from mindscape.ask import Budget, Meter
from mindscape.errors import BudgetReached
from mindscape.llm import LanguageModel, Ledger, Reply, ToolCall
from mindscape.llm.base import side_by_side
from mindscape.llm.local import Local
from mindscape.llm.schema import validate
from mindscape.mindgraph import answer as mindgraph
from mindscape.mindgraph.answer import GraphAnswered, Limits, answer, answer_from, compaction, cut, estimate
from mindscape.mindgraph.build import noted, rebuild
from mindscape.mindgraph.communities import AROUND, REPORT, Reports, Tools, answer_schema, checked_arguments, step_schema
from mindscape.mindgraph.graph import Edge, Graph, Node, apply_all
from mindscape.question import ANSWER, BUILD, Step
from mindscape.roles import GRAPH_ANSWER, TOOLS, AddEdge, AddNode, Edits, GraphAnswer
from mindscape.store import Store
from mindscape.text import Chunk, Document

TEXT = (
    "Ivo the miller sold a brass lamp to Ann. Ann keeps the lamp at number 12. "
    "Tom swore that Ivo stole it. The clerk found the bill; Ivo had paid 300 crowns. Tom had lied. "
) * 12
DOCUMENT = Document("note", TEXT)
ASKED = "Who lied?"
FINAL = {"answer": "Tom", "cited_nodes": ["oath", "nobody", "oath"], "confidence": "high"}
ANN = {"answer": "Ann", "cited_nodes": [], "confidence": "low"}
REPORTED = {"title": "The lamp", "summary": "Who had it.", "impact_rating": 8, "findings": ["Ann has it [ann]."]}
UNREADABLE = "the reply holds a tool call that cannot be read: not JSON"
HOSTILE = ["</script>", "a\nb", "灯", '"', "\\", "{x}", "None", "0"]


def graph_on(document, many=()):
    """Ivo, Ann, an oath and their edges; and as many more nodes as are named."""
    nodes = [("ivo", "entity", "Ivo, a miller", "Ivo"), ("ann", "entity", "Ann", "Ann")]
    nodes += [("oath", "claim", "Tom swears", "Tom swore that Ivo stole it")]
    nodes += [(name, "event", name, "lamp") for name in many]
    edges = [("ivo", "ann", "sold_to", "to Ann"), ("oath", "ivo", "accuses", "that Ivo stole it")]
    operations = [AddNode(op="add_node", id=i, type=kind, content=said, src=src) for i, kind, said, src in nodes]
    operations += [AddEdge(op="add_edge", source=a, target=b, relation=said, src=src) for a, b, said, src in edges]
    graph, edits = apply_all(Graph(document.id), operations, document, Chunk(document.id, 0, 0, len(document.text)))
    assert not any(edit.reason for edit in edits)
    return graph


GRAPH = graph_on(DOCUMENT)


def look(node="ivo"):
    return ToolCall("lookup_source", {"node_id": node}, "call_0")


def part(mode="index", **more):
    return ToolCall("subgraph_summary", {"mode": mode, **more}, "call_0")


def written(call):
    """A call as a model that is held to a grammar writes it."""
    return {"name": call.name, "arguments": call.arguments}


def report_or(*said):
    """What to say: a report where a report is asked for, else one thing after the other."""
    rest = in_turn(*said)
    return lambda *answered: REPORTED if (answered[-1] or {}).get("title") == "Report" else rest(*answered)


def answered(*said, graph=GRAPH, document=DOCUMENT, stub=None, budget=None, **options):
    """The answer of a model that says what it is told to, and the model."""
    stub = stub or Stub(report_or(*said))
    return answer_from(graph, document, ASKED, Meter(LanguageModel(stub), budget), chunks=1, **options), stub


# ---------------------------------------------------------------- blocks


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["Who is there? ", "灯在磨坊。", "x" * 50, "\n\n", "Nay! ", "a b c d e f g h, "]), max_size=30),
       st.integers(1, 40), st.sampled_from(["en", "zh"]))  # fmt: skip
def test_blocks_tile_the_text_and_keep_to_their_size(pieces, size, language):
    document, model = Document("note", "".join(pieces), language), LanguageModel(Stub(None))
    blocks = cut(document, model, size)
    assert "".join(document[block] for block in blocks) == document.text
    assert [block.index for block in blocks] == list(range(len(blocks)))
    for block in blocks:
        assert block.end - block.start == 1 or model.count_tokens(document[block]) <= size


def test_sizes_questions_and_ratios():
    known = [("embedded", 8192, 280), ("openai:gpt-4o", None, 8192), ("hf:x", 131_072, 8192), ("hf:y", 4000, 1000)]
    for name, context, size in known:
        assert mindgraph.block_size(LanguageModel(Stub(None, name=name, context=context))) == size
    assert mindgraph.with_options("谁？", ["甲", "乙"], "zh").splitlines()[2:5] == ["选项：", "A. 甲", "B. 乙"]
    for options, language in [(["a"], "en"), (list("abcde"), "en"), ([], "fr")]:
        refused(partial(mindgraph.with_options, "Who?", options, language), "expected")
    refused(lambda: compaction(GraphAnswered("Tom", trace=(Step(ANSWER, "Tom", 70, 3, True),)), 0), "at least 1")
    refused(lambda: mindgraph.amortised(10, []), "no question")
    refused(lambda: cut(DOCUMENT, None, 0), "at least one token")


# ---------------------------------------------------------------- the tools


def tools_on(graph=GRAPH, say=lambda *_: REPORTED):
    return Tools(graph, DOCUMENT, Reports(graph, LanguageModel(Stub(say))))


@pytest.mark.parametrize("name", GRAPH.nodes)
def test_a_passage_is_the_text_around_the_quote(name):
    seen = json.loads(tools_on().call(look(name)))
    node = GRAPH.nodes[name]
    assert seen["quote"] == node.src and node.src in seen["passage"] and seen["passage"] in TEXT
    assert len(seen["passage"]) == AROUND


def test_the_index_and_a_part():
    tools = tools_on(graph_on(DOCUMENT, [f"e{i}" for i in range(12)]))
    index = json.loads(tools.call(part()))["subgraphs"]
    assert [set(line) for line in index] == [{"subgraph_id", "title", "impact_rating", "n_nodes"}] * len(index)
    assert sum(line["n_nodes"] for line in index) == 15 and index[0]["title"] == "The lamp"
    detail = json.loads(tools.call(part("detail", subgraph_id=0)))
    assert detail["summary"] == "Who had it." and len(detail["nodes"]) == index[0]["n_nodes"]
    assert tools.uses == {"index": 1, "detail": 1} and not tools.malformed


def test_a_part_without_a_report_is_named_by_its_hub():
    tools = tools_on(say=lambda *_: "I would rather not.")
    (line,) = json.loads(tools.call(part()))["subgraphs"]
    assert (line["title"], line["impact_rating"], line["n_nodes"]) == ("Ivo, a miller", None, 3)
    assert json.loads(tools.call(part("detail", subgraph_id=0)))["nodes"] == ["ivo", "ann", "oath"]


@pytest.mark.parametrize(
    "call, kind, message, expected",
    [
        (ToolCall("search", {"query": "x"}), "unknown tool", "no tool 'search'", "lookup_source, subgraph_summary"),
        (ToolCall("lookup_source", {}), "bad arguments", "'node_id' is a required property", '"node_id": "string"'),
        (ToolCall("lookup_source", {"node_id": 7}), "bad arguments", "not of type 'string'", "node_id"),
        (ToolCall("lookup_source", {"node_id": "ivo", "x": 1}), "bad arguments", "'x'", "node_id"),
        (look("Ivo "), "unknown node", "no node 'Ivo '", "did you mean 'ivo'"),
        (look("x" * 9999), "unknown node", "no node", "the id of a node of the graph"),
        (part("all"), "bad arguments", "'all' is not one of", '["index", "detail"]'),
        (part("detail"), "bad arguments", "needs a subgraph_id", "integer of the index"),
        (part("detail", subgraph_id="0"), "bad arguments", "not of type 'integer'", "subgraph_id"),
        (part("detail", subgraph_id=True), "bad arguments", "not of type 'integer'", "subgraph_id"),
        (part("detail", subgraph_id=9), "unknown part", "no subgraph 9", "from 0 to 0"),
        (part("detail", subgraph_id=-1), "unknown part", "no subgraph -1", "from 0 to 0"),
    ],
)  # fmt: skip
def test_a_bad_call_is_answered_with_what_would_do(call, kind, message, expected):
    tools = tools_on()
    error = json.loads(tools.call(call))
    assert message in error["error"] and expected in error["expected"] and len(json.dumps(error)) < 600
    assert tools.malformed == {kind: 1} and not tools.uses


def test_the_schema_lets_through_what_can_be_run_and_nothing_else():
    schema = step_schema(GRAPH, 2)
    calls = [look(name) for name in GRAPH.nodes] + [part(), part("detail", subgraph_id=1)]
    for good in [*map(written, calls), {**FINAL, "cited_nodes": ["oath"]}]:
        assert validate(good, schema) == good
    for call in calls:
        assert checked_arguments(call) == call.arguments
    bad = [look("tom"), part("detail", subgraph_id=2), part("detail"), ToolCall("search", {})]
    for wrong in [*map(written, bad), FINAL, {}, []]:
        refused(partial(validate, wrong, schema), ".", ValueError)
    assert set(GraphAnswer.model_fields) == set(answer_schema(GRAPH)["properties"]) == set(FINAL)
    assert step_schema(Graph("note"), 0)["anyOf"] == [answer_schema(Graph("note"))]


# ---------------------------------------------------------------- the loop


def test_a_model_with_tools_looks_up_and_answers():
    result, stub = answered(look("ivo"), part(), part("detail", subgraph_id=0), look("oath"), json.dumps(FINAL))
    assert (result.text, result.confidence, result.cited, result.unknown) == ("Tom", "high", ("oath",), ("nobody",))
    assert result.uses == {"lookup_source": 2, "index": 1, "detail": 1} and not result.malformed and not result.ended
    assert (result.nodes, result.edges, result.shown) == (3, 2, 3)
    answering = [(messages, tools, schema) for messages, tools, schema in stub.requests if tools]
    assert [tools == TOOLS for _, tools, _ in answering] == [True] * 5
    prompt = answering[0][0][0]["content"]
    assert "3 nodes, 2 edges, built from 1 chunks" in prompt and '"id": "oath"' in prompt and ASKED in prompt
    last = answering[-1][0]
    assert [message["role"] for message in last] == ["user", *["assistant", "tool"] * 4]
    assert last[2]["tool_call_id"] == "call_0" and "Ivo the miller" in last[2]["content"]
    assert result.calls == 6 == len(stub.requests) and result.spent(REPORT) > 0
    assert result.tokens_first_call == stub.count_tokens(*answering[0][:2])
    assert result.tokens_total == result.spent(ANSWER) + result.spent(REPORT)
    assert result.tokens_total == sum(step.read + step.written for step in result.trace)


def test_several_calls_in_one_reply_cost_one_round():
    both = Reply("I look.", (look("ivo"), replace(look("ann"), id="call_1")), finish="tool_calls")
    result, stub = answered(both, FINAL, rounds=1)
    assert result.uses == {"lookup_source": 2}
    assert [m["role"] for m in stub.requests[1][0]] == [*("user", "assistant", "tool", "tool", "user")]
    assert stub.requests[1][1] == [] and stub.requests[1][2]["title"] == "GraphAnswer"  # the last round has no tools


def test_malformed_calls_and_replies_are_told_of_and_counted():
    unreadable = Reply("<tool_call>{", invalid=UNREADABLE)
    result, stub = answered(ToolCall("search", {}), look("tom"), unreadable, "It was Tom.", "", look("oath"), FINAL)
    assert result.text == "Tom" and result.uses == {"lookup_source": 1}
    assert result.malformed == {"unknown tool": 1, "unknown node": 1, "unreadable": 3}
    results = [message["content"] for message in stub.requests[-1][0] if message["role"] in ("tool", "user")][1:]
    assert len(results) == 6 and all('"error"' in text and '"expected"' in text for text in results[:5])
    assert sum("error" in step.what for step in result.trace if not step.is_call) == 5


def test_a_call_that_cannot_be_read_beside_one_that_can_is_told_of():
    result, stub = answered(Reply("", (look(),), finish="tool_calls", invalid=UNREADABLE), FINAL)
    assert result.malformed == {"unreadable": 1} and not result.uses
    assert [message["role"] for message in stub.requests[1][0]] == ["user", "assistant", "user"]
    assert "cannot be read" in stub.requests[1][0][2]["content"]


@pytest.mark.parametrize("calling", ["tools", "grammar"])
def test_rounds_end(calling):
    again = look() if calling == "tools" else written(look())
    result, stub = answered(*[again] * 40, {**FINAL, "cited_nodes": []}, calling=calling)
    assert result.uses == {"lookup_source": 40} and result.calls == 41 and result.text == "Tom"
    assert "without tools" in stub.requests[-1][0][-1]["content"] and not stub.requests[-1][1]
    result, stub = answered(*[again] * 3, "no idea", calling=calling, rounds=3)
    assert result.text == "" and "does not fit" in result.ended and result.malformed == {"unreadable": 1}
    assert result.confidence == ""


def test_without_rounds_the_prompt_is_the_one_that_the_reader_learned():
    for calling in ("tools", "grammar"):
        result, stub = answered({**FINAL, "cited_nodes": ["ann"]}, rounds=0, calling=calling)
        ((messages, tools, schema),) = stub.requests
        assert result.cited == ("ann",) and not tools and schema["title"] == "GraphAnswer" and len(messages) == 1
        stats = "3 nodes, 2 edges, built from 1 chunks"
        before, after = GRAPH_ANSWER.prompt(graph_state="\0", graph_stats=stats, question=ASKED).split("\0")
        assert messages[0]["content"].startswith(before) and messages[0]["content"].endswith(after)


def test_a_model_that_is_held_to_a_grammar():
    steps = [look("oath"), part(), part("detail", subgraph_id=0), ToolCall("search", {})]
    result, stub = answered(*map(written, steps), {**FINAL, "cited_nodes": ["oath"]}, calling="grammar")
    assert result.uses == {"lookup_source": 1, "index": 1, "detail": 1} and result.malformed == {"unreadable": 1}
    assert result.cited == ("oath",) and not result.unknown
    answering = [row for row in stub.requests if row[2]["title"] != "Report"]
    assert all(not tools and schema == step_schema(GRAPH, 1) for _, tools, schema in answering)
    assert '{"name": "lookup_source"' in answering[0][0][0]["content"]
    assert [message["role"] for message in answering[-1][0]] == ["user", *["assistant", "user"] * 4]
    reader = answered({**FINAL, "cited_nodes": []}, stub=Stub(in_turn({**FINAL, "cited_nodes": []}), name="embedded"))[1]
    assert reader.requests[0][2]["title"] == "a tool call or the answer"


@pytest.mark.parametrize("rounds", [0, 2])
def test_an_answer_is_held_to_its_options_where_there_are_some(rounds):
    result, stub = answered(ANN, rounds=rounds, calling="grammar", options=("Tom", "Ann"))
    schema = stub.requests[0][2]
    held = schema["anyOf"][-1] if rounds else schema
    assert result.text == "Ann" and held["properties"]["answer"]["enum"] == ["Tom", "Ann"]
    assert validate(ANN, schema) == ANN and "Tom, Ann" not in stub.requests[0][0][0]["content"]
    refused(lambda: validate({**ANN, "answer": "Ivo"}, schema), "Ivo", ValueError)
    refused(lambda: answered(ANN, calling="tools", options=("Tom", "Ann")), 'only "grammar" holds a reply')


def test_to_a_schema_a_number_of_a_part_may_end_in_nought():
    result, _ = answered(part("detail", subgraph_id=0.0), ANN)
    assert result.text == "Ann" and result.uses["detail"] == 1


def test_a_lookup_can_be_made_to_come_first():
    result, stub = answered(written(look()), ANN, rounds=2, calling="grammar", lookups_first=1)
    first, then = (schema for _, _, schema in stub.requests)
    assert result.text == "Ann" and result.uses == {"lookup_source": 1}
    assert validate(written(look()), first) and then == step_schema(GRAPH, 1)
    for reply in (ANN, written(part())):
        refused(partial(validate, reply, first), ".", ValueError)
    empty = Graph(DOCUMENT.id)
    assert answered(ANN, graph=empty, rounds=1, calling="grammar", lookups_first=1)[0].text == "Ann"  # nothing to look up
    refused(lambda: answered(ANN, calling="tools", lookups_first=1), 'only "grammar" holds a reply')
    refused(lambda: answered(ANN, rounds=0, calling="grammar", lookups_first=1), "lookups_first=1: expected 0 to rounds=0")


@pytest.mark.parametrize("layers", [1, 2])
def test_a_random_model_that_is_held_to_the_grammar_says_nothing_else(tokenizer, layers):
    """Noise in the form of a step: every call is run, every citation is a node, whatever a reply that is cut off holds."""
    torch.set_num_threads(1)
    random = tiny(LlamaConfig, len(tokenizer), num_hidden_layers=layers, max_position_embeddings=8192)
    model = LanguageModel(Local(random, tokenizer, "hf:random"))
    result = answer_from(GRAPH, DOCUMENT, ASKED, model, chunks=1, rounds=2, calling="grammar", tokens=60)
    assert set(result.malformed) <= {"unreadable"} and not result.unknown and set(result.cited) <= set(GRAPH.nodes)
    assert result.calls >= 1 and sum(result.uses.values()) + sum(result.malformed.values()) <= 3
    native = answer_from(GRAPH, DOCUMENT, ASKED, model, chunks=1, rounds=1, calling="tools", tokens=40)
    assert native.calls == 2 and native.malformed["unreadable"] >= 1


def test_a_small_window_drops_the_oldest_results():
    stub = Stub(report_or(*[look("ivo"), look("oath"), look("ann"), look("ivo"), look("ann"), FINAL]), context=2600)
    result, _ = answered(stub=stub, tokens=100)
    assert result.text == "Tom"
    for messages, tools, _ in stub.requests:
        assert stub.count_tokens(messages, tools) + 100 <= 2600
    last = [message["content"] for message in stub.requests[-1][0] if message["role"] == "tool"]
    assert last[0] == mindgraph.DROPPED["en"] and "passage" in last[-1]


@pytest.mark.parametrize("calling", ["tools", "grammar"])
@pytest.mark.parametrize("rambling", [False, True])
def test_a_long_conversation_ends_before_the_window_is_full(calling, rambling):
    """With look-ups alone, or replies of no use, for forty rounds."""

    def say(messages, tools, schema):
        if (schema or {}).get("title") == "GraphAnswer":
            return FINAL | {"cited_nodes": ["oath"]}
        if rambling:
            return "I think it over. " * 15
        return look("ivo") if tools else json.dumps(written(look("ivo")))

    stub = Stub(say, context=3400)
    result, _ = answered(stub=stub, tokens=100, calling=calling, rounds=40)
    assert result.text == "Tom" and 3 < len(stub.requests) <= 41
    for messages, tools, _ in stub.requests:
        assert stub.count_tokens(messages, tools) + 100 <= 3400


def test_a_graph_that_outgrows_the_window_is_shown_in_part():
    graph = graph_on(DOCUMENT, [f"an_event_of_some_length_{i}" for i in range(60)])
    result, stub = answered(FINAL, stub=Stub(in_turn(FINAL), context=2400), graph=graph, tokens=100)
    assert 0 < result.shown < 63 == result.nodes and "more nodes are not shown" in stub.requests[0][0][0]["content"]
    result, stub = answered(FINAL, graph=graph, graph_tokens=300)
    assert 0 < result.shown < 12


# ---------------------------------------------------------------- budgets


def test_the_last_call_that_the_budget_allows_is_for_the_answer():
    result, stub = answered(look(), look("ann"), FINAL, budget=Budget(calls=3))
    assert result.text == "Tom" and result.calls == 3 and not stub.requests[-1][1]
    result, _ = answered(budget=Budget(tokens=5))
    assert result.text == "" and result.calls == 0 and result.ended.startswith("the budget of 5 tokens")
    assert result.trace[-1].what == result.ended


def test_a_report_that_the_budget_does_not_allow_is_an_error_to_the_model():
    result, stub = answered(part(), FINAL, graph=graph_on(DOCUMENT, [f"e{i}" for i in range(12)]), budget=Budget(calls=2))
    assert result.text == "Tom" and not result.uses and not result.malformed
    assert "the budget of 2 calls" in [m for m in stub.requests[-1][0] if m["role"] == "tool"][0]["content"]


def test_a_cap_of_the_run_is_no_answer():
    capped = LanguageModel(Stub(lambda *_: FINAL), ledger=Ledger(cap_tokens=20))
    refused(lambda: answer_from(GRAPH, DOCUMENT, ASKED, capped, chunks=1), "the cap of 20 tokens", BudgetReached)


# ---------------------------------------------------------------- the whole method


def builder(prompt, tools, schema):
    """Notes the first word of each block, and answers at once."""
    content = prompt[0]["content"]
    if (schema or {}).get("title") == Edits.__name__:
        block, words = content.rpartition("Block ")[2].split(" ")[0], content.rpartition(":\n")[2].split()
        add = {"op": "add_node", "id": f"n{block}", "type": "event", "content": f"event {block}", "src": words[0]}
        return {"operations": [add]}
    return {**FINAL, "cited_nodes": ["n1"]}


def whole(stub, cache=None, **options):
    store = cache and Store(cache, cache.with_name("travels"))
    return answer(ASKED, DOCUMENT, LanguageModel(stub, store=store), size=100, **options)


@pytest.mark.parametrize("dies", [1, 2, 5])
def test_a_run_that_was_killed_repeats_no_call_and_counts_them_all(tmp_path, dies):
    once, cache = whole(Stub(builder)), tmp_path / "killed.sqlite"
    first, second = Stub(builder, dies=dies), Stub(builder)
    with pytest.raises(KeyboardInterrupt):
        whole(first, cache)
    again = whole(second, cache)
    blocks = len(cut(DOCUMENT, LanguageModel(second), 100))
    assert again == once and again.cited == ("n1",) and again.nodes == blocks > 5
    assert (dies - 1) + len(second.requests) == blocks + 1 == again.calls
    third = Stub(builder)
    assert whole(third, cache) == once and not third.requests


def test_several_builds_side_by_side_are_those_one_by_one():
    model = LanguageModel(Stub(builder))
    blocks = cut(DOCUMENT, model, 100)

    def job(question, llm):
        assert llm.maker == model.maker
        return noted(DOCUMENT, question, llm, blocks=blocks, budget=300)

    jobs = [partial(job, question) for question in (ASKED, "Who sold the lamp?")]
    assert side_by_side(model, jobs) == [job(model) for job in jobs]


def test_the_build_is_the_build_and_its_tokens_are_its_own():
    result = whole(Stub(builder))
    model = LanguageModel(Stub(builder))
    graph = rebuild(noted(DOCUMENT, ASKED, model, blocks=cut(DOCUMENT, model, 100)))
    assert len(graph.nodes) == result.nodes and model.ledger.tokens == result.spent(BUILD)
    assert compaction(result, model.count_tokens(TEXT)) > 0 and result.tokens_first_call < result.tokens_total


def test_a_budget_that_ends_in_the_build(tmp_path):
    cache = tmp_path / "replies.sqlite"
    result = whole(Stub(builder), cache, budget=Budget(calls=4))
    assert (result.text, result.calls, result.tokens_first_call) == ("", 4, 0) and result.ended == result.trace[-1].what
    second = Stub(builder)
    assert whole(second, cache, budget=Budget(calls=4)).calls == 4 and not second.requests
    assert whole(second, cache).text == "Tom"


def test_chinese():
    document = Document("灯", "安娜把灯卖给了伊沃。伊沃付了三百元。汤姆起誓说伊沃偷了灯。" * 20, "zh")

    def say(prompt, tools, schema):
        if (schema or {}).get("title") == Edits.__name__:
            return {"operations": [{"op": "add_node", "id": "安娜", "type": "entity", "content": "卖灯的人", "src": "安娜"}]}
        if len(prompt) < 3:
            return look("安娜")
        return {"answer": "安娜", "cited_nodes": ["安娜"], "confidence": "medium"}

    stub = Stub(say)
    result = answer("谁卖了灯？", document, LanguageModel(stub), size=200)
    assert (result.text, result.cited, result.confidence) == ("安娜", ("安娜",), "medium") and result.nodes == 1
    assert "规模：1个节点" in stub.requests[-1][0][0]["content"] and "passage" in stub.requests[-1][0][2]["content"]


def test_bad_input():
    """Refused before anything is asked, and before a build is paid for."""
    model = LanguageModel(Stub(builder))
    on_graph, method = partial(answer_from, GRAPH, DOCUMENT, ASKED, model, chunks=1), partial(answer, ASKED, DOCUMENT, model)
    refused(partial(on_graph, rounds=-1), "rounds=-1")
    refused(partial(on_graph, calling="json"), "calling='json': expected \"tools\"")
    refused(partial(method, most=Limits(rounds=-1)), "rounds=-1")
    refused(partial(method, most=Limits(answer=0)), "0 tokens")
    refused(partial(method, options=("Tom", "Ann")), 'only "grammar" holds a reply')
    refused(lambda: answer(ASKED, Document("e", " \n "), model), "e has no text")
    refused(lambda: answer_from(GRAPH, DOCUMENT, " ", model, chunks=1), "and a question")
    refused(lambda: answer_from(GRAPH, replace(DOCUMENT, text=TEXT.upper()), ASKED, model, chunks=1), "expected 'Ivo'")
    for document, question in [(DOCUMENT, " "), (Document("e", ""), ASKED), (replace(DOCUMENT, language="fr"), ASKED)]:
        refused(partial(answer, question, document, model), "expected|no blocks")
    assert not model.backend.requests


@settings(max_examples=25)
@given(st.lists(st.sampled_from(HOSTILE), unique=True, min_size=1), st.sampled_from(["tools", "grammar"]))
def test_ids_of_any_kind(ids, calling):
    nodes = {name: Node(name, "entity", name, "Ivo", 0, 3, 0, 0) for name in ids}
    graph = Graph("note", nodes, {(ids[0], ids[-1], "x"): Edge(ids[0], ids[-1], "x", "Ivo", 0, 3, 0)})
    first = look(ids[0]) if calling == "tools" else written(look(ids[0]))
    result, _ = answered(first, {"answer": ids[0], "cited_nodes": ids, "confidence": "low"}, graph=graph, calling=calling)
    assert result.cited == tuple(ids) and result.uses == {"lookup_source": 1} and not result.malformed


def test_an_estimate_and_the_use_of_tools():
    model = LanguageModel(Stub(builder, name="openai:gpt-4o"))
    small, large = estimate(DOCUMENT, model, size=200), estimate(DOCUMENT, model, size=100)
    assert large.calls > small.calls and large.prompt_tokens > small.prompt_tokens > model.count_tokens(TEXT)
    assert small.money > 0 and not model.backend.requests
    sizes = (10, 49, 50, 149, 150)
    rows = [GraphAnswered("x", 1, 1, 1, nodes=n, uses={"lookup_source": n, "index": n > 99}) for n in sizes]
    bands = [(row.least, row.items, row.summarised, row.lookups) for row in mindgraph.tool_use(rows)]
    assert bands == [(0, 2, 0.0, 29.5), (50, 2, 0.5, 99.5), (150, 1, 1.0, 150)]
    assert mindgraph.tool_use([]) == []
