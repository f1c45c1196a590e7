"""Gold of every role: replies are read back and fit, say only what is shown, and hold by the book's own spans. And replies of
models: those that can be mended, and those that cannot be used."""

import json
import re
from functools import cache, partial

import pytest
from extras import refused
from llguidance import LLMatcher

import storyworld
from mindscape import roles
from mindscape.llm import Tags
from mindscape.llm.schema import checked, json_schema
from mindscape.roles import EDITS, GRAPH_ANSWER, MEMORY, REVERSE, ROLES, UPDATE, Edits, GraphAnswer, graph_state
from mindscape.text import mentions, sentences
from storyworld import teaching, training_book, weighing
from storyworld.teaching import passages
from storyworld.teaching.graphs import Reading
from storyworld.world import Chance

ACTING = [role.name for role in (EDITS, GRAPH_ANSWER, UPDATE, MEMORY, REVERSE)]
SUMMARIES = ("chunk_summary", "global_summary", "session_summary")
MOST_TOKENS = {"en": 900, "zh": 1400}
PLAIN = {f"{language}-{seed}": {"seed": seed, "language": language} for seed in (0, 7, 20) for language in ("en", "zh")}
BOOKS = PLAIN | {"en-13": {"seed": 13, "hiding": 0.2, "sharing": 1.0, "contradiction": 0.8}}
READ = ("en-0", "en-13", "zh-7")  # without "played barber to" and "The Complete Farrier", which `weighing` takes for trades


@cache
def made(name):
    return storyworld.book(tokens=15_000, **BOOKS[name])


@cache
def gold_of(name, tokenizer, role):
    """(slots, value) pairs, as `teaching.examples` makes them."""
    return list(teaching.gold(role, made(name), Chance(role, made(name).document.id, 0), tokenizer))


@pytest.fixture
def everywhere(tokenizer):
    """A role's gold in all plain books: book, slots, value."""
    return lambda role: [(made(name), *example) for name in PLAIN for example in gold_of(name, tokenizer, role)]


@pytest.fixture(params=PLAIN)
def acted(request, tokenizer):
    """A book, and its gold by role, of those that act."""
    return made(request.param), partial(gold_of, request.param, tokenizer)


@pytest.fixture(params=READ)
def read(request, tokenizer):
    """The same, of those that read and answer."""
    return made(request.param), partial(gold_of, request.param, tokenizer)


@pytest.mark.parametrize("name, role", [(name, role) for role in ROLES for name in (PLAIN if role in ACTING else READ)])
def test_gold_is_read_back_and_fits(name, role, tokenizer):
    gold, language, plays = gold_of(name, tokenizer, role), made(name).document.language, ROLES[role]
    most_asked, most_said = (MOST_TOKENS[language], 600) if role in ACTING else (900, 200)
    prompts, replies = [plays.prompt(language, **slots) for slots, _ in gold], [plays.render(value) for _, value in gold]
    assert 5 <= len(set(prompts)) == len(gold) <= 30
    assert [plays.parse(reply) for reply in replies] == [(value, []) for _, value in gold]
    for most, texts in ((most_asked, prompts), (most_said, replies)):
        assert max(len(tokenizer.encode(text)) for text in texts) <= most


@pytest.mark.parametrize("role", [*ACTING, "qa"])
def test_another_seed_gives_other_examples_and_the_same_the_same(role, tokenizer):
    first, again, other = ([e.prompt for e in teaching.examples(role, made("en-7"), tokenizer, seed)] for seed in (0, 0, 1))
    assert first == again != other


# ---- edits ----------------------------------------------------------------------------------------------------------


def shown_graph(state):
    """The ids of a graph in a prompt, and its nodes' texts."""
    return {} if state == roles.EMPTY else {node["id"]: node["content"] for node in json.loads(state)["nodes"]}


def test_quotes_stand_in_the_block_and_ids_in_the_graph(acted):
    _, gold = acted
    for slots, value in gold("edits"):
        known = set(shown_graph(slots["graph_state"]))
        for operation in value.operations:
            if hasattr(operation, "src"):
                assert operation.src in slots["block_text"]
            if operation.op == "add_node":
                assert operation.id not in known and re.fullmatch(r"\w+", operation.id)
                known.add(operation.id)
            elif operation.op == "add_edge":
                assert {operation.source, operation.target} <= known
            else:
                assert operation.id in known


def test_every_operation_and_type_is_taught_and_so_is_silence(everywhere):
    values = [value for _, _, value in everywhere("edits")]
    operations = [operation for value in values for operation in value.operations]
    assert {operation.op for operation in operations} == {"add_node", "add_edge", "edit_node", "delete_node"}
    assert {operation.type for operation in operations if operation.op == "add_node"} >= {"entity", "event", "claim", "stat"}
    assert 0.1 < sum(not value.operations for value in values) / len(values) < 0.4


def test_an_oath_that_the_block_refutes_is_deleted(everywhere):
    for book, slots, value in everywhere("edits"):
        for operation in value.operations:
            if operation.op == "delete_node":
                claim = shown_graph(slots["graph_state"])[operation.id]
                (deed,) = [other.content for other in value.operations if getattr(other, "type", "") == "event"]
                names = [node.content for node in book.graph[0] if node.id.startswith("person")]
                rest = re.split("|".join(names), deed)[-1]
                assert claim.endswith(rest) and claim != deed, (claim, deed)


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


def test_answers_are_read_from_the_graph(acted):
    book, gold = acted
    unknown = GraphAnswer(answer=roles.UNKNOWN[book.document.language], cited_nodes=[], confidence="low")
    for slots, value in gold("graph_answer"):
        shown = shown_graph(slots["graph_state"])
        assert set(value.cited_nodes) <= set(shown)
        if value.confidence == "low":
            assert value == unknown
        else:
            assert value.cited_nodes
            assert value.answer.lower() in " ".join(shown.values()).lower(), (slots["question"], shown)
        assert slots["graph_stats"].startswith(str(len(shown)))
    assert {value.confidence for _, value in gold("graph_answer")} >= {"high", "low"}


def test_the_tools_are_tools():
    assert [tool["function"]["name"] for tool in checked(roles.TOOLS)] == ["lookup_source", "subgraph_summary"]
    assert roles.graph_stats(1, 0, 2, "zh") == "1个节点，0条边，由2块文本建成"


# ---- update ---------------------------------------------------------------------------------------------------------


def question_of(book, slots):
    """The question of the book, and its claims, that a prompt is about."""
    both = zip(book.questions, book.claims, strict=True)
    return next(
        pair
        for pair in both
        if slots.get("question") == pair[0].question or slots.get("claim") in (pair[1].true, pair[1].false)
    )


def test_the_agent_answers_when_all_is_shown_or_it_is_the_last_step(acted):
    """What is not noted from before is in a passage; what was is among the notes."""
    book, gold = acted
    for slots, value in gold("update"):
        question, _ = question_of(book, slots)
        groups = [*((span,) for span in question.evidence), *question.bindings]
        here = sum(any(book.document[span] in slots["chunks_text"] for span in group) for group in groups)
        shown = slots["evidence_memory"]
        before = 0 if shown == roles.NONE[book.document.language] else shown.count("\n") + 1
        last = slots["step"] == slots["max_steps"]
        assert before + here >= len(value.evidence_memory) >= before
        complete = len(value.evidence_memory) == len(groups)
        assert value.action == ("ANSWER" if complete or last else "REFINE")
        assert (value.confidence == "HIGH") == complete
        noted = shown.split("\n")[:before]
        assert {line.removeprefix("- ") for line in noted} <= set(value.evidence_memory)
        if not complete:
            assert here + before < len(groups) or here <= 1
    actions = [value.action for _, value in gold("update")]
    assert 0.2 < actions.count("REFINE") / len(actions) < 0.8


def test_the_next_query_uses_the_name_once_it_is_known(everywhere):
    named = 0
    for book, slots, value in everywhere("update"):
        question, _ = question_of(book, slots)
        known = [book.voice.binding(binding) for binding in book.world.bindings]
        known = sum(note[1:] in fact or fact[1:] in note for note in value.evidence_memory for fact in known)
        if value.action == "REFINE":
            assert value.rewritten_query != slots["current_query"]
            if question.bindings and known == len(question.bindings):
                assert question.resolved in value.rewritten_query
                named += 1
    assert named


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_chunks_tile_the_document_and_the_outline_matches(acted):
    _, gold = acted
    for slots, value in gold("memory"):
        text, reached = slots["document"], 0
        assert 2 <= len(value.scenario) == len(value.outline) <= 4
        for scenario in value.scenario:
            head, tail = scenario.ends
            assert text.count(head) == text.count(tail) == 1
            assert not text[reached : text.index(head)].strip()
            reached = text.index(tail) + len(tail)
        assert not text[reached:].strip()


def test_the_way_back_starts_from_the_memory(acted):
    book, gold = acted
    times = {book.voice.when(scene) for scene in book.world.scenes}
    for slots, value in gold("reverse_reasoning"):
        memory, repairs = Tags(roles.Extracted).parse(slots["memory"])
        assert not repairs and any(time in value for time in times)
        assert len(memory["outline"]) == len(memory["scenario"])
        for scenario in memory["scenario"]:
            assert scenario["chunk"].split("[MASK]")[0].strip() in slots["document"]


# ---- summaries, evidence, entities ----------------------------------------------------------------------------------


def told_in(book, span, text):
    """How many sentences of a span stand in a text, of how many."""
    said = book.document.text[span.start : span.end]
    parts = [" ".join(said[sentence.start : sentence.end].split()) for sentence in sentences(said, book.document.language)]
    parts, flat = [part for part in parts if part], " ".join(text.split())
    return sum(part in flat for part in parts), len(parts)


def test_summaries_say_what_the_prompt_shows(read):
    book, gold = read
    for role in SUMMARIES:
        for slots, value in gold(role):
            (slot,) = {"chunk_content", "concatenated_summaries", "raw_text"} & set(slots)
            for entity in book.entities:
                assert mentions(entity.name, slots[slot]) or not mentions(entity.name, value)
            assert weighing.bindings(book.voice, value).wrong == 0
    assert all(len(value) < 500 for _, value in gold("chunk_summary"))


def test_a_merged_summary_keeps_every_binding(read):
    book, gold = read
    for slots, value in gold("global_summary"):
        before, after = (weighing.bindings(book.voice, text) for text in (slots["concatenated_summaries"], value))
        assert after.right == before.right


def test_silver_chunks_hold_evidence_and_the_others_do_not(read):
    book, gold = read
    for slots, value in gold("silver_chunks"):
        question, _ = question_of(book, slots)
        spans = [span for group in (question.evidence, *question.bindings) for span in group]
        shown = slots["chunks"].split("\n")
        for i, text in enumerate(shown):
            assert text.startswith(f"[{i}] ")
            counts = [told_in(book, span, text) for span in spans]
            assert any(here for here, _ in counts) if i in value else all(here < whole for here, whole in counts)
        assert value == [-1] or set(value) <= set(range(len(shown)))
    values = [value for _, value in gold("silver_chunks")]
    assert values.count([-1]) < len(values) / 2


def test_silver_nodes_are_those_of_the_question_and_of_its_evidence(read):
    book, gold = read
    known = {f"{entity.name}: {entity.description}": entity for entity in book.entities}
    for slots, value in gold("silver_nodes"):
        question, _ = question_of(book, slots)
        shown = [known[re.fullmatch(r"\[(\d+)\] (.*) \[/\1\]", line)[2]] for line in slots["entities"].split("\n")]
        picked = [] if value == [-1] else [shown[i] for i in value]
        assert all(entity in picked for entity in shown if entity.name == question.answer)
        said = [question.resolved, question.answer, question.gloss, *passages.supporting(book, question)]
        for entity in picked:
            names = [other.name for other in book.entities if mentions(other.name, " ".join(said))]
            assert entity.name in names or any(mentions(name, entity.description) for name in names)


@pytest.mark.parametrize("role", ["silver_chunks", "silver_nodes"])
def test_some_prompts_show_nothing_relevant(role, tokenizer):
    drawn = [teaching.examples(role, made("en-0"), tokenizer, seed) for seed in range(3)]
    assert any(json.loads(example.reply) == [-1] for examples in drawn for example in examples)


def test_entities_are_in_the_text_each_once(read):
    book, gold = read
    known = {entity.name for entity in book.entities}
    for slots, value in gold("entities"):
        names = [entity["name"] for entity in value]
        assert len(set(names)) == len(names) and set(names) <= known
        for name in names:
            assert mentions(name, slots["text"])
        for entity in value:  # nobody comes in from elsewhere
            for name in known:
                assert not mentions(name, entity["description"]) or name in names
    assert any(value == [] for _, value in gold("entities"))


# ---- answers and judges ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["qa", "choice", "claim"])
def test_answers_can_be_read_from_the_context(read, role):
    book, gold = read
    for slots, _ in gold(role):
        question, _ = question_of(book, slots)
        context = slots["context"]

        def whole(span, context=context):
            here, there = told_in(book, span, context)
            return here == there

        assert all(map(whole, question.evidence))
        assert all(any(map(whole, group)) for group in question.bindings)
        if question.kind not in passages.COUNTED:
            for part in question.answer.split(book.voice.say.AND):
                assert mentions(part, context)


def test_answers_are_the_books(read):
    book, gold = read
    for slots, value in gold("qa"):
        assert value == question_of(book, slots)[0].answer
    for slots, value in gold("choice"):
        options = dict(line.split(". ", 1) for line in slots["options_str"].split("\n"))
        question, _ = question_of(book, slots)
        assert options[value.answer] == question.answer and set(options.values()) == set(question.options)
    for slots, value in gold("claim"):
        _, pair = question_of(book, slots)
        assert (value.answer == "TRUE") == (slots["claim"] == pair.true)
        shown = slots["context"] + slots["claim"]
        for entity in book.entities:
            assert mentions(entity.name, shown) or not mentions(entity.name, value.explanation)
    assert {value.answer for _, value in gold("claim")} == {"TRUE", "FALSE"}


def test_a_name_within_a_word_is_no_name():
    """There is an Ivo in ivory, and his bird cage stays what it is where another takes his place."""
    book = training_book(120)
    both = zip(book.questions, book.claims, strict=True)
    pairs = [(question, pair) for question, pair in both if "ivory" in pair.true]
    assert any(question.answer == "Ivo" for question, _ in pairs)
    for question, pair in pairs:
        assert pair.wrong in question.options and pair.wrong.lower() in pair.false.lower()


def test_grades_follow_the_gold_answer(read):
    book, gold = read
    forms = passages.ANSWERED[book.document.language]
    for slots, value in gold("grade"):
        question, pair = question_of(book, slots)
        predicted = slots["predicted"].lower()
        right = [form.format(answer=answer).lower() for form in forms for answer in (question.answer, *question.accepted)]
        assert value.correct == (predicted in [*right, pair.true.lower()])
    assert {value.correct for _, value in gold("grade")} == {True, False}


def test_the_better_answer_says_more(read):
    book, gold = read
    stop = book.voice.say.STOP
    for slots, value in gold("pairwise"):
        said = [{part.strip() for part in slots[slot].split(stop)} for slot in ("answer1", "answer2")]
        empty = {part.strip() for text in passages.EMPTY[book.document.language] for part in text.split(stop)}
        best = said[0] - empty > said[1] - empty
        assert best or said[1] - empty > said[0] - empty
        verdicts = (value.Comprehensiveness, value.Diversity, value.Empowerment, value.Overall)
        assert {verdict.Winner for verdict in verdicts} == {"Answer 1" if best else "Answer 2"}
    assert len({value.Overall.Winner for _, value in gold("pairwise")}) == 2


# ---- replies --------------------------------------------------------------------------------------------------------


def picked(letter, explanation=""):
    return roles.Choice(explanation=explanation, answer=letter)


ANN = [{"name": "Ann", "description": ""}]
SO = roles.Verdict(explanation="So.", answer="TRUE")
THOUGHT, FENCED = "thinking dropped", "code fence stripped"
LOOSE, UNTHOUGHT = ["tags missing", "text around dropped"], ["think tags dropped", "memory dropped"]
NOTED = "<evidence_memory>\n- Ivo wept\n</evidence_memory>\n<confidence>LOW</confidence>\n<thought>So.</thought>\n"
UPDATED = roles.Update(evidence_memory=["Ivo wept"], confidence="LOW", thought="So.", action="ANSWER")
HEAD = "<think>a</think>\n<outline>\n- b\n</outline>\n"
REMEMBERED = f"{HEAD}<scenario>\n<chunk>It [MASK] ends.</chunk>\nIvo left.\n</scenario>"
WHOLE = roles.DocumentMemory.model_validate(MEMORY.form.parse(REMEMBERED)[0])


@pytest.mark.parametrize(
    "role, text, value, repairs",
    [
        ("qa", "the mill", "the mill", []),
        ("qa", "答案：“磨坊”。", "磨坊", ["label dropped", "full stop dropped", "quotes dropped"]),
        ("qa", "The answer is: the mill\nbecause it says so", "the mill", ["label dropped", "first line kept"]),
        ("qa", "Answer:\nThe old mill", "The old mill", ["label dropped"]),
        ("choice", "<think>A?</think>B", picked("B"), [THOUGHT, "tags missing"]),
        ("claim", "<think><answer>FALSE</answer></think><explanation>So.</explanation>\n<answer>TRUE</answer>", SO, [THOUGHT]),
        ("qa", "<think>Hm.</think> the mill", "the mill", [THOUGHT]),
        ("choice", "<explanation>So.</explanation>\n<answer>B</answer>", picked("B", "So."), []),
        ("choice", "<explanation>So.</explanation><answer>(b) the mill", picked("B", "So."), [LOOSE[1], "case of a letter"]),
        ("choice", "B", picked("B"), ["tags missing"]),
        ("choice", "c", picked("C"), ["tags missing", "case of a letter"]),
        ("choice", "B. the mill", picked("B"), LOOSE),
        ("choice", "A good guess is (D)", picked("D"), LOOSE),
        ("choice", "b.", picked("B"), [*LOOSE, "case of a letter"]),
        ("choice", "(D)", picked("D"), LOOSE),
        ("choice", "The answer is A, a mill.", picked("A"), LOOSE),
        ("choice", "答案是B。", picked("B"), LOOSE),
        ("choice", "不能确定，应选B", picked("B"), ["tags missing", "full-width letters", "text around dropped"]),
        ("choice", "毫无疑问是B", picked("B"), LOOSE),
        ("chunk_summary", "Summary: Ann left.", "Ann left.", ["label dropped"]),
        ("global_summary", "```\nAnn left.\n```", "Ann left.", [FENCED]),
        ("session_summary", "<text>\n安离开了。\n</text>", "安离开了。", ["tags dropped"]),
        ("silver_chunks", "```json\n[0, 2,]\n```", [0, 2], [FENCED, "trailing comma removed"]),
        ("silver_nodes", "None fits: [-1].", [-1], ["text around dropped"]),
        ("entities", 'Here: [{"name": "Ann", "description": ""}]', ANN, ["text around dropped"]),
        ("claim", "<explanation>So. <answer>true</answer>", SO, ["tag closed", "case of a choice"]),
        ("grade", '{"correct": True, "reason": "same"}', roles.Grade(correct=True, reason="same"), ["Python constant"]),
        ("edits", '```json\n{"operations": []}\n```', Edits(operations=[]), [FENCED]),
        ("edits", 'Here: {"operations": [],}', Edits(operations=[]), ["text around dropped", "trailing comma removed"]),
        ("update", f"Well.\n{NOTED}<action>answer", UPDATED, ["text around dropped", "tag closed", "case of a choice"]),
        ("reverse_reasoning", "Two parts.", "Two parts.", []),
        ("reverse_reasoning", "```\nTwo parts.\n```", "Two parts.", [FENCED]),
        ("reverse_reasoning", f"<think>Two parts.</think>\n{HEAD[17:]}", "Two parts.", UNTHOUGHT),
        ("memory", f"Sure!\n{REMEMBERED}", WHOLE, ["text around dropped"]),
    ],
)  # fmt: skip
def test_mangled_replies_are_mended(role, text, value, repairs):
    assert ROLES[role].parse(text) == (value, repairs)


NO_LETTER = ["A. an inn\nB. a mill\nC. a barn", "A) or B)", "A is wrong, so it is the mill", "I cannot tell"]
NO_LETTER += ["A man went in.", "选项A是错误的。", "不选A", "没有一个正确，A也不对"]
NO_LETTER += ["<explanation>他没有来。</explanation><answer>不是A</answer>"]
UNUSABLE = {
    "qa": [" \n", "Answer:"],
    "choice": ["", "E", "AB", "A or B", "the mill"],
    "chunk_summary": ["<think>Hm.</think>"],
    "silver_chunks": ["[]", "[-2]"],
    "silver_nodes": ['["0"]'],
    "entities": ['[{"name": "Ann"}]', '{"name": "Ann", "description": ""}'],
    "claim": ["<answer>TRUE</answer>", "<explanation>So.</explanation><answer>PERHAPS</answer>"],
    "grade": ['{"correct": "perhaps", "reason": ""}'],
    "pairwise": ['{"Comprehensiveness": {"Winner": "Answer 3", "Explanation": ""}}'],
}


@pytest.mark.parametrize(
    "role, text, said",
    [
        *((role, text, ".") for role, texts in UNUSABLE.items() for text in texts),
        *(("choice", text, "letter") for text in NO_LETTER),
        ("edits", "no", "not JSON"),
        ("edits", '{"operations": [{"op": "rename_node", "id": "a"}]}', "at operations.0: .*rename_node"),
        ("edits", '{"operations": [{"op": "delete_node"}]}', "at operations.0.delete_node.id: Field required"),
        ("edits", '{"operations": [{"op": "add_node", "id": "a", "type": "fact", "content": "", "src": ""}]}', "type"),
        ("graph_answer", '{"answer": "a", "cited_nodes": [], "confidence": "sure"}', "at confidence: "),
        ("update", f"{NOTED}<action>REFINE</action>", "REFINE, and there is no <refined_signature>"),
        ("update", f"{NOTED}<action>ANSWER</action>\n<rewritten_query>Who?</rewritten_query>", "ANSWER, and there is a"),
        ("update", NOTED, "there is no <action>"),
        ("update", "So be it.", "there is no <evidence_memory>"),
        *(("reverse_reasoning", text, "the reply has no words") for text in ("", "<think> </think>", "```\n\n```")),
        ("memory", HEAD, "there is no <scenario>|scenario"),
        ("memory", f"{HEAD}<scenario><chunk>no mask</chunk>c</scenario>", "scenario.0.chunk"),
        ("memory", f"{HEAD}<scenario><chunk>a [MASK] b</chunk></scenario>", "scenario.0.core"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(role, text, said):
    assert "\n" not in str(refused(lambda: ROLES[role].parse(text), said, ValueError))


@pytest.mark.parametrize("role", [r for r in ROLES.values() if r.form is not None], ids=lambda role: role.name)
def test_forms_can_be_held_to(role):
    form = json_schema(role.form)
    grammar = LLMatcher.grammar_from_lark(form["lark"]) if "lark" in form else LLMatcher.grammar_from_json_schema(form)
    assert not LLMatcher.validate_grammar(grammar)
