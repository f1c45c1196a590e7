"""Edits, graph answers, the agent's update, document memory: gold replies are read back, and say only what is shown."""

import json
import re
from functools import cache

import pytest
from llguidance import LLMatcher

from mindscape.corpora import storyworld
from mindscape.corpora.storyworld.chance import Chance
from mindscape.llm import Tags
from mindscape.llm.schema import json_schema
from mindscape.llm.tools import checked
from mindscape.roles.edits import EDITS, EMPTY, Edits, Reading, graph_state
from mindscape.roles.graph_answer import GRAPH_ANSWER, TOOLS, UNKNOWN, GraphAnswer, graph_stats
from mindscape.roles.memory import MEMORY, REVERSE, DocumentMemory, Extracted
from mindscape.roles.update import NONE, UPDATE, Update

ROLES = [EDITS, GRAPH_ANSWER, UPDATE, MEMORY, REVERSE]
MOST_TOKENS = {"en": 900, "zh": 1400}
BOOKS = [(seed, language) for seed in (0, 7, 20) for language in ("en", "zh")]


@cache
def book(seed, language):
    return storyworld.book(seed, tokens=15_000, language=language)


_MADE = {}


def gold(role, seed, language, tokenizer, chance=0):
    """(slots, value) pairs, as `Role.examples` makes them."""
    key = role.name, seed, language, chance
    if key not in _MADE:
        it = book(seed, language)
        stream = Chance(role.name, it.document.id, chance)
        _MADE[key] = list(role.gold(it, stream, tokenizer))
    return _MADE[key]


@pytest.fixture(params=BOOKS, ids=lambda it: f"{it[1]}-{it[0]}")
def seed_language(request):
    return request.param


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_gold_is_read_back_and_fits(role, seed_language, tokenizer):
    seed, language = seed_language
    made = gold(role, seed, language, tokenizer)
    assert 5 <= len(made) <= 30
    for slots, value in made:
        assert role.parse(role.render(value)) == (value, [])
        assert len(tokenizer(role.prompt(language, **slots))["input_ids"]) <= MOST_TOKENS[language]
        assert len(tokenizer(role.render(value))["input_ids"]) <= 600
    assert len({json.dumps(slots) for slots, _ in made}) == len(made), "an example comes twice"


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_another_seed_gives_other_examples_and_the_same_the_same(role, tokenizer):
    it = book(7, "en")
    first, again, other = ([e.prompt for e in role.examples(it, tokenizer, seed)] for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("role", ROLES[:-1], ids=lambda role: role.name)
def test_decoding_can_be_held_to_the_form(role, tokenizer):
    schema = json_schema(role.form)
    if isinstance(role.form, Tags):
        grammar = LLMatcher.grammar_from_lark(schema["lark"])
    else:
        grammar = LLMatcher.grammar_from_json_schema(schema)
    assert not LLMatcher.validate_grammar(grammar)


# ---- edits ----------------------------------------------------------------------------------------------------------


def shown_graph(state):
    """The ids of a graph in a prompt, and its nodes' texts."""
    return {} if state == EMPTY else {node["id"]: node["content"] for node in json.loads(state)["nodes"]}


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
    made = [value for seed, language in BOOKS for _, value in gold(EDITS, seed, language, tokenizer)]
    operations = [it for value in made for it in value.operations]
    assert {it.op for it in operations} == {"add_node", "add_edge", "edit_node", "delete_node"}
    assert {it.type for it in operations if it.op == "add_node"} >= {"entity", "event", "claim", "stat"}
    assert 0.1 < sum(not value.operations for value in made) / len(made) < 0.4


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
    reading.apply(
        Edits.model_validate(
            json.loads("""{"operations": [
        {"op": "add_node", "id": "ivo", "type": "entity", "content": "Ivo", "src": "Ivo"},
        {"op": "add_node", "id": "oath", "type": "claim", "content": "Ivo swears", "src": "swears"},
        {"op": "add_edge", "source": "oath", "target": "ivo", "relation": "is said by", "src": "Ivo swears"},
        {"op": "edit_node", "id": "ivo", "content": "Ivo is the weaver"},
        {"op": "delete_node", "id": "oath"}]}""")
        ).operations
    )
    assert reading.state == graph_state([{"id": "ivo", "type": "entity", "content": "Ivo is the weaver"}], [])


@pytest.mark.parametrize(
    "text, repairs",
    [
        ('```json\n{"operations": []}\n```', ["code fence stripped"]),
        ('Here: {"operations": [],}', ["text around dropped", "trailing comma removed"]),
    ],
)
def test_mangled_edits_are_mended(text, repairs):
    assert EDITS.parse(text) == (Edits(operations=[]), repairs)


@pytest.mark.parametrize(
    "text, said",
    [
        ("no", "not JSON"),
        ('{"operations": [{"op": "rename_node", "id": "a"}]}', "at operations.0: .*rename_node"),
        ('{"operations": [{"op": "delete_node"}]}', "at operations.0.delete_node.id: Field required"),
        ('{"operations": [{"op": "add_node", "id": "a", "type": "fact", "content": "", "src": ""}]}', "type"),
    ],
)
def test_bad_edits_are_named(text, said):
    with pytest.raises(ValueError, match=said) as caught:
        EDITS.parse(text)
    assert "\n" not in str(caught.value)


# ---- answers from a graph -------------------------------------------------------------------------------------------


def test_answers_are_read_from_the_graph(seed_language, tokenizer):
    sure = set()
    for slots, value in gold(GRAPH_ANSWER, *seed_language, tokenizer):
        shown = shown_graph(slots["graph_state"])
        sure.add(value.confidence)
        assert set(value.cited_nodes) <= set(shown)
        if value.confidence == "low":
            assert value == GraphAnswer(answer=UNKNOWN[seed_language[1]], cited_nodes=[], confidence="low")
        else:
            assert value.cited_nodes
            assert value.answer.lower() in " ".join(shown.values()).lower(), (slots["question"], shown)
        assert slots["graph_stats"].startswith(str(len(shown)))
    assert sure >= {"high", "low"}


def test_the_tools_are_tools():
    assert [tool["function"]["name"] for tool in checked(TOOLS)] == ["lookup_source", "subgraph_summary"]
    assert graph_stats(1, 0, 2, "zh") == "1个节点，0条边，由2块文本建成"


def test_a_confidence_that_is_none_is_named():
    with pytest.raises(ValueError, match="at confidence: "):
        GRAPH_ANSWER.parse('{"answer": "a", "cited_nodes": [], "confidence": "sure"}')


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
        before = 0 if slots["evidence_memory"] == NONE[seed_language[1]] else slots["evidence_memory"].count("\n") + 1
        last = slots["step"] == slots["max_steps"]
        actions.append(value.action)
        assert before + here >= len(value.evidence_memory) >= before
        complete = len(value.evidence_memory) == len(groups)
        assert value.action == ("ANSWER" if complete or last else "REFINE")
        assert (value.confidence == "HIGH") == complete
        assert all(
            line.removeprefix("- ") in value.evidence_memory for line in slots["evidence_memory"].split("\n")[:before]
        )
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


REPLY = "<evidence_memory>\n- Ivo wept\n</evidence_memory>\n<confidence>LOW</confidence>\n<thought>So.</thought>\n"


@pytest.mark.parametrize(
    "text, said",
    [
        (REPLY + "<action>REFINE</action>", "REFINE, and there is no <refined_signature>"),
        (REPLY + "<action>ANSWER</action>\n<rewritten_query>Who?</rewritten_query>", "ANSWER, and there is a"),
        (REPLY, "there is no <action>"),
        ("So be it.", "there is no <evidence_memory>"),
    ],
)
def test_bad_updates_are_named(text, said):
    with pytest.raises(ValueError, match=said):
        UPDATE.parse(text)


def test_mangled_updates_are_mended():
    value, repairs = UPDATE.parse("Well.\n" + REPLY + "<action>answer")
    assert value == Update(evidence_memory=["Ivo wept"], confidence="LOW", thought="So.", action="ANSWER")
    assert repairs == ["text around dropped", "tag closed", "case of a choice"]


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
        found, repairs = Tags(Extracted).parse(slots["memory"])
        assert not repairs
        times = [book(*seed_language).voice.when(scene) for scene in book(*seed_language).world.scenes]
        assert sum(time in value for time in set(times)) >= 1
        assert len(found["outline"]) == len(found["scenario"])
        assert all(
            head in slots["document"] for head in (it["chunk"].split("[MASK]")[0].strip() for it in found["scenario"])
        )


@pytest.mark.parametrize(
    "text, repairs",
    [
        ("Two parts.", []),
        ("```\nTwo parts.\n```", ["code fence stripped"]),
        ("<think>Two parts.</think>\n<outline>\n- a\n</outline>", ["think tags dropped", "memory dropped"]),
    ],
)
def test_thoughts_are_read(text, repairs):
    assert REVERSE.parse(text) == ("Two parts.", repairs)


@pytest.mark.parametrize("text", ["", "<think> </think>", "```\n\n```"])
def test_no_thoughts_are_an_error(text):
    with pytest.raises(ValueError, match="the reply has no words"):
        REVERSE.parse(text)


@pytest.mark.parametrize(
    "text, said",
    [
        ("<think>a</think><outline>\n- b\n</outline>", "there is no <scenario>|scenario"),
        ("<think>a</think><outline>\n- b\n</outline><scenario><chunk>no mask</chunk>c</scenario>", "scenario.0.chunk"),
        ("<think>a</think><outline>\n- b\n</outline><scenario><chunk>a [MASK] b</chunk></scenario>", "scenario.0.core"),
    ],
)
def test_bad_memories_are_named(text, said):
    with pytest.raises(ValueError, match=said):
        MEMORY.parse(text)


def test_a_memory_without_its_last_tag_is_mended():
    text = "<think>a</think>\n<outline>\n- b\n</outline>\n<scenario>\n<chunk>It [MASK] ends.</chunk>\nIvo left.\n</scenario>"
    value, repairs = MEMORY.parse("Sure!\n" + text)
    assert repairs == ["text around dropped"]
    assert value == DocumentMemory.model_validate(MEMORY.form.parse(text)[0])
