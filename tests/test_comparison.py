"""Six methods on the same questions: what the store keeps, a run that was cut short, labels."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from extras import refused
from stubs import Stub

import storyworld
from benchmarks import Item
from mindscape import prompts, store
from mindscape.ask import Budget
from mindscape.errors import LLMError
from mindscape.llm import LanguageModel
from mindscape.llm.base import estimated_tokens
from mindscape.mindgraph import answer, baselines, comparison, long_reason
from mindscape.mindgraph.answer import BRIEF, length
from mindscape.mindgraph.comparison import NAMES, MethodSettings, estimated, labels, of_book, scored, unusable
from mindscape.mindgraph.long_reason import Judged
from mindscape.question import ANSWER, BUILD, Answer, Step
from mindscape.roles import LETTERS
from mindscape.store import Store
from mindscape.text import Document

NOTE = Document("note", "Ivo the miller sold the brass lamp to Ann. Ann keeps it at the inn. " * 4)
TASKS = [
    comparison.Task("lamp", NOTE, "Who sold the brass lamp?", ("Ivo",), "local", "lookup"),
    comparison.Task("inn", NOTE, "Where is the lamp?", ("at the inn",), "local", "lookup"),
]
REPLIES = (  # what a patient model writes, by the keys that are asked for
    ({"entities", "relations"}, {"entities": [{"name": "Ivo", "description": "A miller."}], "relations": []}),
    ({"title"}, {"title": "Ivo", "summary": "He sold a lamp.", "impact_rating": 5, "findings": []}),
    ({"points"}, {"points": [{"description": "Ivo sold it.", "score": 90}]}),
    ({"header"}, {"header": "Ivo", "note": "He sold a lamp."}),
    ({"keywords"}, {"keywords": ["lamp"], "pages": []}),
    ({"enough"}, {"enough": True, "request": ""}),
    ({"operations"}, {"operations": []}),
    ({"correct"}, {"reason": "so", "correct": False}),
    ({"breadth"}, {"reason": "so", "breadth": "global", "depth": "set-aggregation"}),
)


def say(prompt, tools, schema):
    if "at a Python prompt" in prompt[0]["content"]:
        return "```python\nFINAL('Ivo')\n```"
    if tools:
        return json.dumps({"answer": "Ivo", "cited_nodes": [], "confidence": "low"})
    keys = set((schema or {}).get("properties", {}))
    return next((reply for wanted, reply in REPLIES if wanted <= keys), "Ivo")


@pytest.fixture
def answers_of(own_store, tmp_path):
    """Answers to the two questions, with a store of its own."""
    store.use(Store(tmp_path / "cache.sqlite", tmp_path / "travels", fill=True))

    def go(stub, **options):
        options = {"settings": MethodSettings(times=500, turns=2)} | options
        return comparison.answered(TASKS, LanguageModel(stub), **options)

    return go


def test_six_methods_answer_and_say_what_it_took(answers_of):
    stub = Stub(say)
    answers = answers_of(stub)
    assert list(answers) == list(NAMES)
    for name, (lamp, inn) in answers.items():
        right, wrong = scored(TASKS, [lamp, inn], LanguageModel(Stub(say)))
        assert (lamp.text, right.correct, right.stage) == ("Ivo", True, "exact"), name
        assert (wrong.correct, wrong.stage, wrong.reason) == (False, "judge", "so")
        assert lamp.calls == sum(cost[0] for cost in lamp.spent.values()) and lamp.unusable == 0
        assert lamp.tokens_total == sum(sum(cost[1:]) for cost in lamp.spent.values()) <= 500 * lamp.length
        assert 0 < lamp.compaction < 20 and bool(lamp.build) == (name not in ("Direct", "RLM"))
        assert 0 < len(lamp.trace) <= 4 and lamp.trace[0][0] == 1
    kept, calls = store.current(), len(stub.requests)
    assert [path.name.split(".")[0] for path in kept.shipped.glob("*.jsonl")] == ["answer"]  # no reply travels
    store.use(Store(kept.cache.path.with_name("empty.sqlite"), kept.shipped))
    assert answers_of(stub) == answers and len(stub.requests) == calls
    assert answers_of(stub, settings=MethodSettings(times=500, turns=3), names=["RLM"])["RLM"] and len(stub.requests) > calls


@pytest.mark.parametrize("dies", [1, 2, 9, 20])
def test_a_run_that_was_cut_short_goes_on(answers_of, dies):
    calls = []

    def failing(*prompt):
        calls.append(1)
        if len(calls) >= dies:
            raise LLMError("the server is gone")
        return say(*prompt)

    refused(lambda: answers_of(Stub(failing)), "gone", LLMError)
    again, whole = Stub(say), Stub(say)
    answers = answers_of(again)
    store.use(Store(store.current().cache.path.with_name("empty.sqlite"), store.current().shipped.with_name("none")))
    assert answers == answers_of(whole) and len(again.requests) + dies - 1 <= len(whole.requests) + 1


def test_a_method_without_an_answer_stage_has_no_compaction(answers_of):
    refused(lambda: answers_of(Stub(say), names=["RAG"]), "no method 'RAG'")
    direct, _ = answers_of(Stub(say), names=["Direct"])["Direct"]
    assert math.isnan(replace(direct, tokens_first_call=0).compaction) and direct.compaction > 0


def test_what_it_takes_is_estimated_for_all_tasks():
    model = LanguageModel(Stub(say))
    estimates, once = estimated(TASKS, model), estimated(TASKS[:1], model)
    assert list(estimates) == list(NAMES) and all(estimates[name].calls == 2 * once[name].calls for name in NAMES)
    bounds = MethodSettings(graph_tokens=300, rounds=0, answer_tokens=96)
    small = estimated(TASKS, model, ["MindGraph"], bounds)["MindGraph"]
    assert small.prompt_tokens < estimates["MindGraph"].prompt_tokens and small.calls < estimates["MindGraph"].calls
    longer = estimated(TASKS, model, ["MindGraph"], replace(bounds, answer_tokens=100))["MindGraph"]
    assert longer.completion_tokens - small.completion_tokens == 4 * len(TASKS)


def test_labels_and_judging_are_estimated_before_a_call():
    stub, novel = Stub(say), storyworld.book(storyworld.DEVELOP[0], tokens=15_000)
    assert comparison.estimated_judge(TASKS, LanguageModel(stub)).calls == len(NAMES) * len(TASKS)
    estimate = comparison.estimated_labels([novel], LanguageModel(stub), share=3)
    assert estimate.calls == 12 and estimate.prompt_tokens > 0 and not stub.requests


def test_the_length_of_a_text_is_in_the_server_s_tokens():
    """An endpoint that reads a token for six bytes, where three were supposed, has half as many in the text."""
    model = SimpleNamespace(name="openai:m", count_tokens=estimated_tokens)
    model.chat = lambda talk, **_: SimpleNamespace(prompt_tokens=estimated_tokens(talk[0]["content"]) // 2)
    text = Document("note", "Ivo sold the lamp to Ann. " * 1000)
    assert length(text, model) == pytest.approx(estimated_tokens(text.text) / 2, rel=0.01)
    model.name = "embedded"
    assert length(text, model) == estimated_tokens(text.text)


def test_choices_are_scored_by_letter():
    options = ("at the mill", "at the inn")
    choice = comparison.Task("c", NOTE, "Where?", ("at the inn",), "local", "lookup", options, "B")
    assert "B. at the inn" in choice.query
    said = [Answer(text) for text in ("The answer is B.", "A", "", "Ivo")]
    verdicts = scored([choice, choice, choice, TASKS[0]], said, None)
    assert [(row.correct, row.reason) for row in verdicts] == [(True, "B"), (False, "A"), (False, "no answer"), (True, "")]
    assert [row.stage for row in verdicts] == ["choice", "choice", "choice", "exact"]


def test_a_choice_that_no_prompt_shows_is_held_scored_and_kept_apart(own_store, tmp_path):
    """A small model is held to the options of a choice, and the answer is kept beside the open one."""
    book = storyworld.book(2000)
    task = of_book(book)[0]
    choice = comparison.as_choice(task, book)
    shown, right = replace(choice, shown=True), choice.options[LETTERS.index(choice.letter)]
    assert (right, choice.query, choice.held) == (task.gold[0], task.question, {"options": choice.options})
    assert (shown.query, shown.held) == (answer.with_options(task.question, choice.options), {})
    first = choice.options[0]

    def choose(prompt, tools, schema):
        chosen = schema.get("properties", {}).get("answer", {}).get("enum", ["smoke"])[0] if schema else "smoke"
        if schema and "lark" in schema:
            return first if schema.get("type") == "string" else '{"operations": []}'
        return json.dumps({"answer": chosen, "cited_nodes": [], "confidence": "low"}) if schema else "smoke"

    store.use(Store(tmp_path / "cache.sqlite", tmp_path / "travels", fill=True))
    stub = Stub(choose, name="embedded")
    given = {"llm": LanguageModel(stub), "names": ["Direct", "MindGraph"], "settings": MethodSettings(rounds=0)}
    for said, posed in (("smoke", task), (first, choice)):
        answers = comparison.answered([posed], **given)
        assert [row[0].text for row in answers.values()][:1] == [said]
        calls = len(stub.requests)
        assert comparison.answered([posed], **given) == answers and len(stub.requests) == calls
    assert answers["MindGraph"][0].text == first
    [verdict] = scored([choice], answers["Direct"], None)
    assert (verdict.stage, verdict.correct) == ("choice", choice.letter == "A")


def test_replies_of_no_use_are_counted():
    built = [Step(BUILD, reply, 1, 1, True) for reply in ('{"operations": []}', "I see a lamp.", "{")]
    assert unusable("MindGraph", Answer("", trace=tuple(built)), "en") == 2
    turns = [Step(ANSWER, "hm", 1, 1, True), Step(ANSWER, baselines.TOLD["zh"]["neither"])]
    assert unusable("RLM", Answer("", trace=tuple(turns)), "zh") == 1


def test_questions_come_from_all_quarters_and_are_the_same_each_time():
    novel = storyworld.book(storyworld.DEVELOP[0], tokens=15_000)
    tasks = of_book(novel, 8)
    corners = [comparison.quarter(task.breadth, task.depth) for task in tasks]
    assert corners[:4] == corners[4:] and len(set(corners)) == 4 and corners[0] == ("broad", "deep")
    assert of_book(novel, 8, seed=1) == of_book(novel, 8, seed=1) != tasks
    assert of_book(novel) == tasks[:4] and len({task.id for task in of_book(novel, 1000)}) == len(novel.questions)
    assert set(of_book(novel, 1000)[0].gold) > {
        next(question.answer for question in novel.questions if question.id == tasks[0].id)
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_filed_under_the_words_that_its_model_was_sent(name, monkeypatch):
    def filed():
        return {form: comparison._question(name, TASKS[0], MethodSettings(), form) for form in ("short", "paper")}

    before, tools = filed(), "roles/paper/tools"  # which the short form does not send
    assert before["short"]["prompts"] != before["paper"]["prompts"]  # each has the role of the answer, in two forms
    assert filed() == before
    for path in comparison.PROMPTS[name].split() + [tools] * (name == "MindGraph"):
        other = lambda *parts, path=path: ["Another"] if f"{parts[0]}/{parts[1]}" == path else prompts.sent(*parts)  # noqa: E731
        with monkeypatch.context() as patch:
            patch.setattr(comparison, "sent", other)
            after = filed()
        for form, keys in before.items():
            changed = {key for key in keys if keys[key] != after[form][key]}
            assert changed == (set() if (path, form) == (tools, "short") else {"prompts"}), path


def test_benchmarks_items_become_tasks(monkeypatch):
    free = Item("1", "note", "Who?", ("Ivo", "the miller"))
    choice = Item("2", "note", "Who?", ("Ivo",), ("Ann", "Ivo"), "B")
    monkeypatch.setattr(long_reason, "stream", lambda name, folder: iter([NOTE, free, choice]))
    about = ("note", 56_000, 40_000, False, "global", "set-aggregation", "")
    first, second = comparison.of_benchmarks([Judged("loogle", "1", *about), Judged("loogle", "2", *about)])
    assert (first.id, first.gold, first.options, first.breadth) == ("loogle/1", ("Ivo", "the miller"), (), "global")
    assert (second.letter, second.options, second.document.id) == ("B", ("Ann", "Ivo"), "note")


def test_labels_with_evidence_and_without(answers_of):
    novel, stub = storyworld.book(storyworld.DEVELOP[0], tokens=15_000), Stub(say)
    labelled = labels([novel], LanguageModel(stub), share=3)
    assert len(labelled) == 6 and len(stub.requests) == 12 and all(label.labelled.stable for label in labelled)
    assert {label.evidence for label in labelled} == {True, False} and labelled[0].labelled.label.breadth == "global"
    assert labels([novel], LanguageModel(stub), share=3) == labelled and len(stub.requests) == 12
    junk = labels([novel], LanguageModel(Stub(lambda *_: "hm", name="junk")), share=1)
    assert [label.labelled.passes for label in junk] == [(None, None)] * 2


def test_the_budget_is_a_multiple_of_the_text(answers_of, monkeypatch):
    budgets = []

    def spy(question, document, llm, budget):
        budgets.append(budget)
        return Answer("Ivo")

    monkeypatch.setattr(comparison, "methods", lambda settings: dict.fromkeys(NAMES, spy))
    answers = answers_of(Stub(say), names=["Direct"])["Direct"]
    assert budgets == [Budget(tokens=500 * answers[0].length)] * 2


def test_a_reply_is_as_long_as_the_settings_allow(answers_of):
    longest = []

    class Counting(Stub):
        def generate(self, prompts, sampling, *settings):
            longest.append(sampling.max_new_tokens)
            return super().generate(prompts, sampling, *settings)

    names = ["GraphRAG", "CoA", "GAM", "RLM"]
    answers_of(Counting(say), settings=MethodSettings(times=500, turns=2, reply=64, block=50), names=names)
    assert set(longest) - {BRIEF} == {64}
    model, settings = LanguageModel(Stub(say)), {"turns": 2, "times": 500}
    short, long = (estimated(TASKS, model, ["GAM"], MethodSettings(reply=most, **settings))["GAM"] for most in (64, None))
    assert short.completion_tokens < long.completion_tokens
    blocks = [estimated(TASKS, model, ["CoA"], MethodSettings(block=most))["CoA"].calls for most in (20, None)]
    assert blocks[0] > blocks[1]
