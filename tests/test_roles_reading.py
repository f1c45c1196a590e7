"""Roles that summarise, select, answer and judge: their gold is read again, and holds by the book's own spans."""

import json
import re

import pytest
from llguidance import LLMatcher

import storyworld
from mindscape import roles
from mindscape.llm.schema import json_schema
from mindscape.roles import ROLES as THE_KIT_S
from mindscape.text import mentions, sentences
from storyworld import teaching, training_book, weighing
from storyworld.teaching import passages
from storyworld.world import Chance

SUMMARIES = (roles.CHUNK_SUMMARY, roles.GLOBAL_SUMMARY, roles.SESSION_SUMMARY)
ANN = [{"name": "Ann", "description": ""}]
SO = roles.Verdict(explanation="So.", answer="TRUE")
THOUGHT = "thinking dropped"
LOOSE = ["tags missing", "text around dropped"]
SILVER = (roles.SILVER_CHUNKS, roles.SILVER_NODES)
ALL = [*SUMMARIES, *SILVER, roles.ENTITIES, roles.QA, roles.CHOICE, roles.CLAIM, roles.GRADE, roles.PAIRWISE]
ROLES = {role.name: role for role in ALL}
BOOKS = {  # without "played barber to" and "The Complete Farrier", which `weighing` takes for trades
    "en-0": {"seed": 0},
    "en-13": {"seed": 13, "hiding": 0.2, "sharing": 1.0, "contradiction": 0.8},
    "zh-7": {"seed": 7, "language": "zh"},
}


@pytest.fixture(scope="module", params=BOOKS)
def read(request, tokenizer):
    """A book and, for each role, its gold: (slots, value, prompt, reply)."""
    book = storyworld.book(tokens=15_000, **BOOKS[request.param])
    gold = {}
    for name, role in ROLES.items():
        gold[name] = []
        for slots, value in teaching.gold(role.name, book, Chance(name, book.document.id, 0), tokenizer):
            gold[name].append((slots, value, role.prompt(book.document.language, **slots), role.render(value)))
    return book, gold


def asked(book, slots):
    """The question of the book, and its claims, that a prompt is about."""
    for question, pair in zip(book.questions, book.claims, strict=True):
        if slots.get("question") == question.question or slots.get("claim") in (pair.true, pair.false):
            return question, pair
    raise AssertionError(slots)


def picked(letter, explanation=""):
    return roles.Choice(explanation=explanation, answer=letter)


def flat(text):
    return " ".join(text.split())


def told(book, span, text):
    """How many sentences of a span stand in a text, of how many."""
    said = book.document.text[span.start : span.end]
    parts = [flat(said[one.start : one.end]) for one in sentences(said, book.document.language)]
    parts = [part for part in parts if part]
    return sum(part in flat(text) for part in parts), len(parts)


def test_gold_replies_are_read_again_and_fit(read, tokenizer):
    _, gold = read
    for name, found in gold.items():
        assert 5 <= len(found) <= 30, name
        assert len({prompt for _, _, prompt, _ in found}) == len(found), name
        for _, value, prompt, reply in found:
            assert ROLES[name].parse(reply) == (value, []), name
            assert len(tokenizer.encode(prompt)) <= 900 and len(tokenizer.encode(reply)) <= 200, name


def test_summaries_say_what_the_prompt_shows(read):
    book, gold = read
    for role in SUMMARIES:
        for slots, value, *_ in gold[role.name]:
            (slot,) = {"chunk_content", "concatenated_summaries", "raw_text"} & set(slots)
            for entity in book.entities:
                assert mentions(entity.name, slots[slot]) or not mentions(entity.name, value)
            assert weighing.bindings(book.voice, value).wrong == 0
    assert all(len(value) < 500 for _, value, *_ in gold["chunk_summary"])


def test_a_merged_summary_keeps_every_binding(read):
    book, gold = read
    for slots, value, *_ in gold["global_summary"]:
        before, after = (weighing.bindings(book.voice, text) for text in (slots["concatenated_summaries"], value))
        assert after.right == before.right


def test_silver_chunks_hold_evidence_and_the_others_do_not(read):
    book, gold = read
    nothing = 0
    for slots, value, *_ in gold["silver_chunks"]:
        question, _ = asked(book, slots)
        spans = [span for group in (question.evidence, *question.bindings) for span in group]
        shown = slots["chunks"].split("\n")
        nothing += value == [-1]
        for i, text in enumerate(shown):
            assert text.startswith(f"[{i}] ")
            counts = [told(book, span, text) for span in spans]
            assert any(here for here, _ in counts) if i in value else all(here < of for here, of in counts)
        assert value == [-1] or set(value) <= set(range(len(shown)))
    assert nothing < len(gold["silver_chunks"]) / 2


def test_silver_nodes_are_those_of_the_question_and_of_its_evidence(read):
    book, gold = read
    known = {f"{entity.name}: {entity.description}": entity for entity in book.entities}
    for slots, value, *_ in gold["silver_nodes"]:
        question, _ = asked(book, slots)
        shown = [known[re.fullmatch(r"\[(\d+)\] (.*) \[/\1\]", line)[2]] for line in slots["entities"].split("\n")]
        picked = [] if value == [-1] else [shown[i] for i in value]
        assert all(entity in picked for entity in shown if entity.name == question.answer)
        said = [question.resolved, question.answer, question.gloss, *passages.supporting(book, question)]
        for entity in picked:
            names = [other.name for other in book.entities if mentions(other.name, " ".join(said))]
            assert entity.name in names or any(mentions(name, entity.description) for name in names)


@pytest.mark.parametrize("role", SILVER, ids=lambda role: role.name)
def test_some_prompts_show_nothing_relevant(role, tokenizer):
    book = storyworld.book(0, tokens=15_000)
    made = [teaching.examples(role.name, book, tokenizer, seed) for seed in range(3)]
    assert any(json.loads(one.reply) == [-1] for some in made for one in some)


def test_entities_are_in_the_text_each_once(read):
    book, gold = read
    known = {entity.name for entity in book.entities}
    for slots, value, *_ in gold["entities"]:
        names = [entity["name"] for entity in value]
        assert len(set(names)) == len(names) and set(names) <= known
        for name in names:
            assert mentions(name, slots["text"])
        for entity in value:  # nobody comes in from elsewhere
            for name in known:
                assert not mentions(name, entity["description"]) or name in names
    assert any(value == [] for _, value, *_ in gold["entities"])


@pytest.mark.parametrize("name", ["qa", "choice", "claim"])
def test_answers_can_be_read_from_the_context(read, name):
    book, gold = read
    for slots, *_ in gold[name]:
        question, _ = asked(book, slots)
        context = slots["context"]

        def whole(span, context=context):
            here, of = told(book, span, context)
            return here == of

        assert all(map(whole, question.evidence))
        assert all(any(map(whole, group)) for group in question.bindings)
        if question.kind not in passages.COUNTED:
            for part in question.answer.split(book.voice.say.AND):
                assert mentions(part, context)


def test_answers_are_the_books(read):
    book, gold = read
    for slots, value, *_ in gold["qa"]:
        assert value == asked(book, slots)[0].answer
    for slots, value, *_ in gold["choice"]:
        options = dict(line.split(". ", 1) for line in slots["options_str"].split("\n"))
        question, _ = asked(book, slots)
        assert options[value.answer] == question.answer and set(options.values()) == set(question.options)
    for slots, value, *_ in gold["claim"]:
        _, pair = asked(book, slots)
        assert (value.answer == "TRUE") == (slots["claim"] == pair.true)
        shown = slots["context"] + slots["claim"]
        for entity in book.entities:
            assert mentions(entity.name, shown) or not mentions(entity.name, value.explanation)
    assert {value.answer for _, value, *_ in gold["claim"]} == {"TRUE", "FALSE"}


def test_a_name_within_a_word_is_no_name():
    """There is an Ivo in ivory, and his bird cage stays what it is where another takes his place."""
    book = training_book(120)
    asked = zip(book.questions, book.claims, strict=True)
    found = [(question, pair) for question, pair in asked if "ivory" in pair.true]
    assert any(question.answer == "Ivo" for question, _ in found)
    for question, pair in found:
        assert pair.wrong in question.options and pair.wrong.lower() in pair.false.lower()


def test_grades_follow_the_gold_answer(read):
    book, gold = read
    forms = passages.ANSWERED[book.document.language]
    for slots, value, *_ in gold["grade"]:
        question, pair = asked(book, slots)
        predicted = slots["predicted"].lower()
        right = [form.format(answer=one).lower() for form in forms for one in (question.answer, *question.accepted)]
        assert value.correct == (predicted in [*right, pair.true.lower()])
    assert {value.correct for _, value, *_ in gold["grade"]} == {True, False}


def test_the_better_answer_says_more(read):
    book, gold = read
    stop = book.voice.say.STOP
    for slots, value, *_ in gold["pairwise"]:
        said = [{part.strip() for part in slots[slot].split(stop)} for slot in ("answer1", "answer2")]
        empty = {part.strip() for text in passages.EMPTY[book.document.language] for part in text.split(stop)}
        best = said[0] - empty > said[1] - empty
        assert best or said[1] - empty > said[0] - empty
        verdicts = (value.Comprehensiveness, value.Diversity, value.Empowerment, value.Overall)
        assert {one.Winner for one in verdicts} == {"Answer 1" if best else "Answer 2"}
    assert len({value.Overall.Winner for _, value, *_ in gold["pairwise"]}) == 2


@pytest.mark.parametrize(
    "role, text, value, repairs",
    [
        ("qa", "the mill", "the mill", []),
        ("qa", "答案：“磨坊”。", "磨坊", ["label dropped", "full stop dropped", "quotes dropped"]),
        ("qa", "The answer is: the mill\nbecause it says so", "the mill", ["first line kept", "label dropped"]),
        ("qa", "Answer:\nThe old mill", "The old mill", ["label dropped"]),
        ("choice", "<think>A?</think>B", picked("B"), ["thinking dropped", "tags missing"]),
        ("claim", "<think><answer>FALSE</answer></think><explanation>So.</explanation>\n<answer>TRUE</answer>", SO, [THOUGHT]),
        ("qa", "<think>Hm.</think> the mill", "the mill", ["thinking dropped"]),
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
        ("choice", "不能确定，应选B", picked("B"), ["full-width letters", *LOOSE]),
        ("choice", "毫无疑问是B", picked("B"), LOOSE),
        ("chunk_summary", "Summary: Ann left.", "Ann left.", ["label dropped"]),
        ("global_summary", "```\nAnn left.\n```", "Ann left.", ["code fence stripped"]),
        ("session_summary", "<text>\n安离开了。\n</text>", "安离开了。", ["tags dropped"]),
        ("silver_chunks", "```json\n[0, 2,]\n```", [0, 2], ["code fence stripped", "trailing comma removed"]),
        ("silver_nodes", "None fits: [-1].", [-1], ["text around dropped"]),
        ("entities", 'Here: [{"name": "Ann", "description": ""}]', ANN, ["text around dropped"]),
        ("claim", "<explanation>So. <answer>true</answer>", SO, ["tag closed", "case of a choice"]),
        ("grade", '{"correct": True, "reason": "same"}', roles.Grade(correct=True, reason="same"), ["Python constant"]),
    ],
)  # fmt: skip
def test_repairs_have_names(role, text, value, repairs):
    found, made = ROLES[role].parse(text)
    assert found == value and sorted(made) == sorted(repairs)


NO_LETTER = ["A. an inn\nB. a mill\nC. a barn", "A) or B)", "A is wrong, so it is the mill", "I cannot tell"]
NO_LETTER += ["A man went in.", "选项A是错误的。", "不选A", "没有一个正确，A也不对"]
NO_LETTER += ["<explanation>他没有来。</explanation><answer>不是A</answer>"]
UNUSABLE = {
    "qa": [" \n", "Answer:"],
    "choice": ["", "E", "AB", "A or B", "the mill", *NO_LETTER],
    "chunk_summary": ["<think>Hm.</think>"],
    "silver_chunks": ["[]", "[-2]"],
    "silver_nodes": ['["0"]'],
    "entities": ['[{"name": "Ann"}]', '{"name": "Ann", "description": ""}'],
    "claim": ["<answer>TRUE</answer>", "<explanation>So.</explanation><answer>PERHAPS</answer>"],
    "grade": ['{"correct": "perhaps", "reason": ""}'],
    "pairwise": ['{"Comprehensiveness": {"Winner": "Answer 3", "Explanation": ""}}'],
}


@pytest.mark.parametrize("role, text", [(role, text) for role, texts in UNUSABLE.items() for text in texts])
def test_what_cannot_be_used_is_refused_in_one_line(role, text):
    with pytest.raises(ValueError, match="letter" if text in NO_LETTER else ".") as refused:
        ROLES[role].parse(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("role", [it for it in THE_KIT_S.values() if it.form is not None], ids=lambda role: role.name)
def test_forms_can_be_held_to(role):
    form = json_schema(role.form)
    grammar = LLMatcher.grammar_from_lark(form["lark"]) if "lark" in form else LLMatcher.grammar_from_json_schema(form)
    assert not LLMatcher.validate_grammar(grammar)
