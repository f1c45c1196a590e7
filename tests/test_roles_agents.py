"""Edits, graph answers, the agent's update, document memory: gold replies are read back, and say only what is shown."""

import json
import re
from functools import cache

import pytest

import storyworld
from mindscape import roles
from mindscape.llm import Tags
from mindscape.llm.schema import checked
from mindscape.roles import EDITS, GRAPH_ANSWER, MEMORY, QA, REVERSE, UPDATE, Edits, GraphAnswer, graph_state
from storyworld import teaching
from storyworld.teaching.graphs import Reading
from storyworld.world import Chance

ROLES = [EDITS, GRAPH_ANSWER, UPDATE, MEMORY, REVERSE]
MOST_TOKENS = {"en": 900, "zh": 1400}
BOOKS = [(seed, language) for seed in (0, 7, 20) for language in ("en", "zh")]


@cache
def book(seed, language):
    return storyworld.book(seed, tokens=15_000, language=language)


@cache
def made(name, seed, language, tokenizer):
    it = book(seed, language)
    return list(teaching.gold(name, it, Chance(name, it.document.id, 0), tokenizer))


def gold(role, seed, language, tokenizer):
    """(slots, value) pairs, as `Role.examples` makes them."""
    return made(role.name, seed, language, tokenizer)


@pytest.fixture(params=BOOKS, ids=lambda it: f"{it[1]}-{it[0]}")
def seed_language(request):
    return request.param


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_gold_is_read_back_and_fits(role, seed_language, tokenizer):
    found, language = gold(role, *seed_language, tokenizer), seed_language[1]
    assert 5 <= len(found) <= 30
    for slots, value in found:
        assert role.parse(role.render(value)) == (value, [])
        assert len(tokenizer(role.prompt(language, **slots))["input_ids"]) <= MOST_TOKENS[language]
        assert len(tokenizer(role.render(value))["input_ids"]) <= 600
    assert len({json.dumps(slots) for slots, _ in found}) == len(found), "an example comes twice"


@pytest.mark.parametrize("role", [*ROLES, QA], ids=lambda role: role.name)
def test_another_seed_gives_other_examples_and_the_same_the_same(role, tokenizer):
    it = book(7, "en")
    first, again, other = ([e.prompt for e in teaching.examples(role.name, it, tokenizer, seed)] for seed in (0, 0, 1))
    assert first == again != other


# ---- edits ----------------------------------------------------------------------------------------------------------


def shown_graph(state):
    """The ids of a graph in a prompt, and its nodes' texts."""
    return {} if state == roles.EMPTY else {node["id"]: node["content"] for node in json.loads(state)["nodes"]}


def test_quotes_stand_in_the_block_and_ids_in_the_graph(seed_language, tokenizer):
    for slots, value in gold(EDITS, *seed_language, tokenizer):
        known = set(shown_graph(slots["graph_state"]))
        for it in value.operations:
            if hasattr(it, "src"):
                assert it.src in slots["block_text"]
            if it.op == "add_node":
                assert it.id not in known and re.fullmatch(r"\w+", it.id)
                known.add(it.id)
            elif it.op == "add_edge":
                assert {it.source, it.target} <= known
            else:
                assert it.id in known


def test_every_operation_and_type_is_taught_and_so_is_silence(tokenizer):
    values = [value for of in BOOKS for _, value in gold(EDITS, *of, tokenizer)]
    operations = [it for value in values for it in value.operations]
    assert {it.op for it in operations} == {"add_node", "add_edge", "edit_node", "delete_node"}
    assert {it.type for it in operations if it.op == "add_node"} >= {"entity", "event", "claim", "stat"}
    assert 0.1 < sum(not value.operations for value in values) / len(values) < 0.4


def test_an_oath_that_the_block_refutes_is_deleted(tokenizer):
    for seed, language in BOOKS:
        for slots, value in gold(EDITS, seed, language, tokenizer):
            for it in value.operations:
                if it.op == "delete_node":
                    claim = shown_graph(slots["graph_state"])[it.id]
                    (deed,) = [other.content for other in value.operations if getattr(other, "type", "") == "event"]
                    names = [n.content for n in book(seed, language).graph[0] if n.id.startswith("person")]
                    told = re.split("|".join(names), deed)[-1]
                    assert claim.endswith(told) and claim != deed, (claim, deed)


def test_what_a_state_shows_was_built_by_the_operations():
    reading = Reading()
    operations = [
        {"op": "add_node", "id": "ivo", "type": "entity", "content": "Ivo", "src": "Ivo"},
        {"op": "add_node", "id": "oath", "type": "claim", "content": "Ivo swears", "src": "swears"},
        {"op": "add_edge", "source": "oath", "target": "ivo", "relation": "is said by", "src": "Ivo swears"},
        {"op": "edit_node", "id": "ivo", "content": "Ivo is the weaver"},
        {"op": "delete_node", "id": "oath"},
    ]
    reading.apply(Edits.model_validate({"operations": operations}).operations)
    assert reading.state == graph_state([{"id": "ivo", "type": "entity", "content": "Ivo is the weaver"}], [])


# ---- answers from a graph -------------------------------------------------------------------------------------------


def test_answers_are_read_from_the_graph(seed_language, tokenizer):
    sure = set()
    for slots, value in gold(GRAPH_ANSWER, *seed_language, tokenizer):
        shown = shown_graph(slots["graph_state"])
        sure.add(value.confidence)
        assert set(value.cited_nodes) <= set(shown)
        if value.confidence == "low":
            assert value == GraphAnswer(answer=roles.UNKNOWN[seed_language[1]], cited_nodes=[], confidence="low")
        else:
            assert value.cited_nodes
            assert value.answer.lower() in " ".join(shown.values()).lower(), (slots["question"], shown)
        assert slots["graph_stats"].startswith(str(len(shown)))
    assert sure >= {"high", "low"}


def test_the_tools_are_tools():
    assert [tool["function"]["name"] for tool in checked(roles.TOOLS)] == ["lookup_source", "subgraph_summary"]
    assert roles.graph_stats(1, 0, 2, "zh") == "1个节点，0条边，由2块文本建成"


# ---- update ---------------------------------------------------------------------------------------------------------


def asked(slots, seed, language):
    return next(it for it in book(seed, language).questions if it.question == slots["question"])


def test_the_agent_answers_when_all_is_shown_or_it_is_the_last_step(seed_language, tokenizer):
    """What is not noted from before is in a passage; what was is among the notes."""
    it = book(*seed_language)
    actions = []
    for slots, value in gold(UPDATE, *seed_language, tokenizer):
        question = asked(slots, *seed_language)
        groups = [*((span,) for span in question.evidence), *question.bindings]
        here = sum(any(it.document[span] in slots["chunks_text"] for span in group) for group in groups)
        shown = slots["evidence_memory"]
        before = 0 if shown == roles.NONE[seed_language[1]] else shown.count("\n") + 1
        last = slots["step"] == slots["max_steps"]
        actions.append(value.action)
        assert before + here >= len(value.evidence_memory) >= before
        complete = len(value.evidence_memory) == len(groups)
        assert value.action == ("ANSWER" if complete or last else "REFINE")
        assert (value.confidence == "HIGH") == complete
        noted = shown.split("\n")[:before]
        assert {line.removeprefix("- ") for line in noted} <= set(value.evidence_memory)
        if not complete:
            assert here + before < len(groups) or here <= 1
    assert 0.2 < actions.count("REFINE") / len(actions) < 0.8


def test_the_next_query_uses_the_name_once_it_is_known(tokenizer):
    named = 0
    for seed, language in BOOKS:
        for slots, value in gold(UPDATE, seed, language, tokenizer):
            question = asked(slots, seed, language)
            known = [book(seed, language).voice.binding(b) for b in book(seed, language).world.bindings]
            known = sum(note[1:] in fact or fact[1:] in note for note in value.evidence_memory for fact in known)
            if value.action == "REFINE":
                assert value.rewritten_query != slots["current_query"]
                if question.bindings and known == len(question.bindings):
                    assert question.resolved in value.rewritten_query
                    named += 1
    assert named


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_chunks_tile_the_document_and_the_outline_matches(seed_language, tokenizer):
    for slots, value in gold(MEMORY, *seed_language, tokenizer):
        text, reached = slots["document"], 0
        assert 2 <= len(value.scenario) == len(value.outline) <= 4
        for scenario in value.scenario:
            head, tail = scenario.ends
            assert text.count(head) == text.count(tail) == 1
            assert not text[reached : text.index(head)].strip()
            reached = text.index(tail) + len(tail)
        assert not text[reached:].strip()


def test_the_way_back_starts_from_the_memory(seed_language, tokenizer):
    for slots, value in gold(REVERSE, *seed_language, tokenizer):
        found, repairs = Tags(roles.Extracted).parse(slots["memory"])
        assert not repairs
        times = [book(*seed_language).voice.when(scene) for scene in book(*seed_language).world.scenes]
        assert sum(time in value for time in set(times)) >= 1
        assert len(found["outline"]) == len(found["scenario"])
        for scenario in found["scenario"]:
            assert scenario["chunk"].split("[MASK]")[0].strip() in slots["document"]


# ---- replies --------------------------------------------------------------------------------------------------------

NONE_DONE = Edits(operations=[])
NOTED = "<evidence_memory>\n- Ivo wept\n</evidence_memory>\n<confidence>LOW</confidence>\n<thought>So.</thought>\n"
UPDATED = roles.Update(evidence_memory=["Ivo wept"], confidence="LOW", thought="So.", action="ANSWER")
HEAD = "<think>a</think>\n<outline>\n- b\n</outline>\n"
REMEMBERED = f"{HEAD}<scenario>\n<chunk>It [MASK] ends.</chunk>\nIvo left.\n</scenario>"
WHOLE = roles.DocumentMemory.model_validate(MEMORY.form.parse(REMEMBERED)[0])


@pytest.mark.parametrize(
    "role, text, value, repairs",
    [
        (EDITS, '```json\n{"operations": []}\n```', NONE_DONE, ["code fence stripped"]),
        (EDITS, 'Here: {"operations": [],}', NONE_DONE, ["text around dropped", "trailing comma removed"]),
        (UPDATE, f"Well.\n{NOTED}<action>answer", UPDATED, ["text around dropped", "tag closed", "case of a choice"]),
        (REVERSE, "Two parts.", "Two parts.", []),
        (REVERSE, "```\nTwo parts.\n```", "Two parts.", ["code fence stripped"]),
        (REVERSE, f"<think>Two parts.</think>\n{HEAD[17:]}", "Two parts.", ["think tags dropped", "memory dropped"]),
        (MEMORY, f"Sure!\n{REMEMBERED}", WHOLE, ["text around dropped"]),
    ],
)
def test_mangled_replies_are_mended(role, text, value, repairs):
    assert role.parse(text) == (value, repairs)


@pytest.mark.parametrize(
    "role, text, said",
    [
        (EDITS, "no", "not JSON"),
        (EDITS, '{"operations": [{"op": "rename_node", "id": "a"}]}', "at operations.0: .*rename_node"),
        (EDITS, '{"operations": [{"op": "delete_node"}]}', "at operations.0.delete_node.id: Field required"),
        (EDITS, '{"operations": [{"op": "add_node", "id": "a", "type": "fact", "content": "", "src": ""}]}', "type"),
        (GRAPH_ANSWER, '{"answer": "a", "cited_nodes": [], "confidence": "sure"}', "at confidence: "),
        (UPDATE, f"{NOTED}<action>REFINE</action>", "REFINE, and there is no <refined_signature>"),
        (UPDATE, f"{NOTED}<action>ANSWER</action>\n<rewritten_query>Who?</rewritten_query>", "ANSWER, and there is a"),
        (UPDATE, NOTED, "there is no <action>"),
        (UPDATE, "So be it.", "there is no <evidence_memory>"),
        *((REVERSE, text, "the reply has no words") for text in ("", "<think> </think>", "```\n\n```")),
        (MEMORY, HEAD, "there is no <scenario>|scenario"),
        (MEMORY, f"{HEAD}<scenario><chunk>no mask</chunk>c</scenario>", "scenario.0.chunk"),
        (MEMORY, f"{HEAD}<scenario><chunk>a [MASK] b</chunk></scenario>", "scenario.0.core"),
    ],
)
def test_bad_replies_are_named(role, text, said):
    with pytest.raises(ValueError, match=said) as caught:
        role.parse(text)
    assert "\n" not in str(caught.value)
