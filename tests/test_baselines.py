"""The five baselines with a scripted model: what they read, ask and count; replies that cannot be read, budgets, windows."""

import json
import re
import sys
from functools import partial
from itertools import count, pairwise

import pytest
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from stubs import Stub

from mindscape.ask import Budget, Meter
from mindscape.errors import BudgetReached, LLMError, MindscapeError
from mindscape.llm import LanguageModel
from mindscape.llm.base import Reply
from mindscape.mindgraph import answer as interface
from mindscape.mindgraph import baselines, sandbox
from mindscape.mindgraph.answer import BRIEF, GAP, SPARE, TRIES, alone, ask_and_read, before_the_cut, clipped, fitting, groups
from mindscape.mindgraph.baselines import METHODS
from mindscape.mindgraph.communities import PROMPTS as REPORT_PROMPTS
from mindscape.mindgraph.communities import Report
from mindscape.mindgraph.comparison import RUNS, baseline_estimate
from mindscape.question import ANSWER, BUILD
from mindscape.roles import QA
from mindscape.store import Store
from mindscape.text import Document

FACT = {"en": "Ivo the miller sold the brass lamp to Ann.", "zh": "磨坊主伊沃把铜灯卖给了安。"}
QUESTION = {"en": "Who sold the brass lamp?", "zh": "谁卖了铜灯？"}
ANSWERED = {"en": "Ivo", "zh": "伊沃"}
PLAIN = {"en": "On day {i} it rained on the {place}, and nobody came to the fair."}
PLAIN |= {"zh": "第{i}天{place}下了雨，没有人来赶集。"}
PLACES = {"en": ("mill", "harbour", "church", "bridge"), "zh": ("磨坊", "港口", "教堂", "桥")}


def book(language="en", n=60):
    """Some sentences, one of which answers the question; it stands in the middle."""
    said = [PLAIN[language].format(i=i, place=PLACES[language][i % 4]) for i in range(n)]
    said[n // 2] = FACT[language]
    return Document("book", {"en": " ", "zh": ""}[language].join(said), language)


def tokens_of(text):
    """Words, and Chinese characters one by one."""
    return len(re.findall(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+", text))


PROMPTS = {
    "worker": baselines.WORKER, "extract": baselines.EXTRACT, "report": REPORT_PROMPTS, "map": baselines.MAP,
    "memorise": baselines.MEMORISE, "plan": baselines.PLAN, "integrate": baselines.INTEGRATE, "reflect": baselines.REFLECT,
    "task": baselines.TASK, "last": QA.prompts,
}  # fmt: skip


BEGINS = {name: tuple(prompt.split("{")[0] for prompt in prompts.values()) for name, prompts in PROMPTS.items()}


def kind(talk):
    """Which prompt a conversation begins with; one that continues an extraction gleans, any other is a query."""
    name = next((name for name, begins in BEGINS.items() if talk[0]["content"].startswith(begins)), "query")
    return "glean" if name == "extract" and len(talk) > 1 else name


class Scripted:
    """A model whose replies a function gives, from the conversation; it keeps what it was asked, in batches."""

    name, fingerprint = "scripted", "scripted"

    def __init__(self, reply, context=None):
        self.reply, self.context, self.batches, self.requests, self.forms = reply, context, [], [], []

    def count_tokens(self, prompt):
        if isinstance(prompt, str):
            return tokens_of(prompt)
        return sum(4 + tokens_of(message["content"]) for message in prompt)

    def chat(self, talks, *, schema=None, max_new_tokens):
        self.batches.append(talks)
        self.requests += talks
        self.forms += [schema] * len(talks)
        replies = []
        for talk in talks:
            read = self.count_tokens(talk)
            if self.context is not None:
                assert read + max_new_tokens <= self.context, f"{kind(talk)}: {read} and {max_new_tokens} tokens"
            said = self.reply(talk)
            text, finish = (said.text, said.finish) if isinstance(said, Reply) else (said, "stop")
            replies.append(Reply(text, (), read, min(tokens_of(text), max_new_tokens), finish))
        return replies

    @property
    def kinds(self):
        return [kind(talk) for talk in self.requests]

    def prompts(self, name):
        return [talk[-1]["content"] for talk in self.requests if kind(talk) == name]


def told_to_end(talk):
    return talk[-1]["content"].endswith(tuple(words["end"] for words in baselines.TOLD.values()))


def good_reader(language="en", **others):
    """What a good model replies to each prompt; keywords replace a reply, by kind: a text, or a function of the talk."""
    fact, answered = FACT[language], ANSWERED[language]
    word = {"en": "lamp", "zh": "铜灯"}[language]
    program = (
        f"I search.\n```python\nimport re\nfound = [line for line in re.split('[.。]', context) if {word!r} in line]\n"
        "FINAL(llm_query('Who sold it, in a word? ' + found[0]))\n```"
    )

    def sees_fact(talk):
        return fact in talk[-1]["content"]

    def extract(talk):
        names = [name for name in (*PLACES[language], answered) if name in talk[-1]["content"]]
        entities = [{"name": name, "description": f"{name}."} for name in names]
        if sees_fact(talk):
            entities[-1]["description"] = fact
        relations = [{"source": a, "target": b, "description": "-"} for a, b in pairwise(names)]
        return {"entities": entities, "relations": relations}

    replies = {
        "last": lambda talk: answered if answered in talk[-1]["content"] else "unknown",
        "worker": lambda talk: fact if sees_fact(talk) else baselines.NOTHING[language],
        "extract": extract,
        "glean": {"entities": [], "relations": []},
        "report": lambda talk: {"title": "t", "summary": fact * sees_fact(talk) or "-", "impact_rating": 5, "findings": []},
        "map": lambda talk: {"points": [{"description": fact, "score": 90}] * sees_fact(talk)},
        "memorise": {"header": "rain", "note": "It rained."},
        "plan": {"keywords": [word], "pages": []},
        "integrate": lambda talk: fact * sees_fact(talk) or "-",
        "reflect": {"enough": True, "request": ""},
        "task": lambda talk: answered if told_to_end(talk) else program,
        "query": answered,
    } | others

    def reply(talk):
        said = replies[kind(talk)]
        said = said(talk) if callable(said) else said
        return json.dumps(said, ensure_ascii=False) if isinstance(said, dict) else said

    return reply


FIRST = {"Direct": "last", "GraphRAG": "map", "CoA": "last", "GAM": "plan", "RLM": "task"}
METHOD = pytest.mark.parametrize("name", METHODS)


def played(method, language="en", n=60, *, reader=None, context=None, budget=None, **replies):
    """What a method answers to the question on the book, and the model that it asked: options of it, or replies by kind."""
    options = {name: replies.pop(name) for name in ("size", "iterations", "limits", "options") if name in replies}
    model = Scripted(reader or good_reader(language, **replies), context)
    return method(QUESTION[language], book(language, n), model, budget or Budget(), **options), model


def notes(answer):
    return [step.what for step in answer.trace if not step.is_call]


# ---------------------------------------------------------------- all five


@METHOD
@pytest.mark.parametrize("context", [None, 2400])
def test_each_answers_and_counts_what_it_asks(name, language, context):
    answer, model = played(METHODS[name], language, context=context)
    assert answer.text == ANSWERED[language]
    steps = [step for step in answer.trace if step.is_call]
    assert answer.calls == len(model.requests) == len(steps)
    assert answer.tokens_total == sum(step.read + step.written for step in steps)
    assert [step.read for step in steps] == [model.count_tokens(talk) for talk in model.requests]
    assert answer.tokens_first_call == model.count_tokens(next(talk for talk in model.requests if kind(talk) == FIRST[name]))
    assert {step.stage for step in steps} <= {BUILD, ANSWER, baselines.QUERY}
    assert bool(answer.spent(BUILD)) == (name in ("GraphRAG", "CoA", "GAM"))
    han = [bool(re.search("[\u4e00-\u9fff]", talk[0]["content"])) for talk in model.requests if kind(talk) != "query"]
    assert set(han) == {language == "zh"}
    assert played(METHODS[name], language, context=context)[1].batches == model.batches  # the same run asks the same


@METHOD
def test_options_hold_the_last_reply_alone_and_no_prompt_shows_them(name, language):
    """So what was asked for an open answer is found again; only the last form is another, and RLM asks once more."""
    options = ("x'quay", "甲", ANSWERED[language])
    free, before = played(METHODS[name], language)
    chosen, model = played(METHODS[name], language, options=options)
    assert chosen.text == free.text == ANSWERED[language]
    assert model.requests[: len(before.requests) - (name != "RLM")] == before.requests[: None if name == "RLM" else -1]
    assert model.forms[:-1] == before.forms[: len(model.forms) - 1]
    assert model.forms[-1] == interface.held_to(options) and "x'quay" not in str(model.requests)
    asked_to_end = [{"role": "assistant", "content": free.text}, *alone(baselines.TOLD[language]["end"])]
    assert model.requests[-1][-2:] == asked_to_end if name == "RLM" else model.requests[-1] == before.requests[-1]


def test_where_no_report_helps_an_option_is_chosen_all_the_same():
    nothing = {"map": {"points": []}, "last": "no"}
    assert played(baselines.answer_by_reports, **nothing)[0].text == ""
    chosen, model = played(baselines.answer_by_reports, options=("yes", "no"), **nothing)
    assert chosen.text == "no" and baselines.NOTHING["en"] in model.requests[-1][0]["content"]


def test_code_that_answers_nothing_or_too_much_is_asked_to_choose():
    for brought in ("", "long " * 4000):
        turn = f"```python\nFINAL({brought!r})\n```"
        say = lambda talk, turn=turn: "b" if told_to_end(talk) else turn  # noqa: E731
        chosen, model = played(baselines.answer_by_code, context=4000, task=say, options=("a", "b"))
        assert (chosen.text, len(model.requests), told_to_end(model.requests[-1])) == ("b", 2, True)


@METHOD
def test_bad_input_before_a_call(name):
    model = Scripted(good_reader())
    french, small = Document("book", "Ivo vend la lampe.", "fr"), Scripted(good_reader(), 300)
    refused(lambda: METHODS[name](" ", book(), model, Budget()), "blank")
    refused(lambda: METHODS[name]("Who?", Document("book", " \n"), model, Budget()), "no text")
    refused(lambda: METHODS[name]("Qui ?", french, model, Budget()), "'fr'")
    refused(lambda: METHODS[name]("Who " * 500 + "?", book(), small, Budget()), "window")
    assert not model.requests


@METHOD
@pytest.mark.parametrize("error", [LLMError("the server is gone"), BudgetReached("the cap of 10 tokens is reached")])
def test_what_the_model_raises_passes_through_and_so_does_the_ledger_s_cap(name, error):
    def fail(talk):
        raise error

    refused(lambda: METHODS[name](QUESTION["en"], book(), Scripted(fail), Budget()), str(error), type(error))


@METHOD
@settings(max_examples=8)
@given(calls=st.integers(1, 12), tokens=st.one_of(st.none(), st.integers(50, 6000)))
def test_no_budget_is_crossed_and_none_is_an_error(name, calls, tokens):
    answer, model = played(METHODS[name], n=30, context=2400, budget=Budget(calls, tokens))
    assert answer.calls == len(model.requests) <= calls
    assert tokens is None or answer.tokens_total <= tokens
    assert answer.text in ("Ivo", "unknown", "")
    if not answer.text:
        assert any("budget" in note for note in notes(answer))


@METHOD
@pytest.mark.parametrize("junk", ["", "I cannot do that.", "{", '{"entities": 7}', "<think>never ends", "```\n```", "\x00"])
def test_replies_that_cannot_be_read_cost_calls_and_end(name, junk):
    answer, model = played(METHODS[name], n=12, reader=lambda talk: Reply(junk, finish="length"))
    assert answer.calls == len(model.requests) <= 31
    if not junk or name == "GraphRAG":
        assert answer.text == ""
    if name in ("GraphRAG", "GAM"):
        assert any("no reply that can be used" in note for note in notes(answer))


@pytest.mark.parametrize("name", ["GraphRAG", "GAM"])
def test_a_second_question_has_the_same_build(name):
    """So a model's cache has it."""
    first, second = Scripted(good_reader()), Scripted(good_reader())
    steps = [step.stage for step in METHODS[name]("Who sold the brass lamp?", book(), first).trace if step.is_call]
    METHODS[name]("Where did it rain?", book(), second)
    built = steps.count(BUILD)
    assert first.requests[:built] == second.requests[:built] != []


@METHOD
@pytest.mark.parametrize("context", [None, 2400])
def test_what_it_takes_is_estimated_before_the_first_call(name, language, context):
    model, document = Scripted(good_reader(language), context), book(language, 200)
    estimate = baseline_estimate(name, document, model, size=300)
    assert not model.requests and list(RUNS) == list(METHODS)
    size = {} if name in ("Direct", "RLM") else {"size": 300}
    answer = METHODS[name](QUESTION[language], document, model, Budget(), **size)
    written = sum(step.written for step in answer.trace)
    assert answer.calls <= estimate.calls <= 20 * answer.calls and written <= estimate.completion_tokens
    frames = 60 * answer.calls  # the question and the frame of a talk
    assert answer.tokens_total - written <= estimate.prompt_tokens + frames
    assert estimate.money == 0
    refused(lambda: baseline_estimate("RAG", document, model), "no baseline 'RAG'")


@METHOD
def test_a_run_that_was_killed_repeats_no_call(name, tmp_path):
    def stub(dies=None):
        return Stub(lambda talk, *_: good_reader()(talk), dies=dies)

    def run(stub, store=None):
        return METHODS[name](QUESTION["en"], book(n=200), LanguageModel(stub, store=store), Budget())

    whole, last, store = stub(), stub(), Store(tmp_path / "replies.sqlite")
    expected = run(whole)
    for _ in whole.requests[1:]:  # each run gets one call further than the one before
        with pytest.raises(KeyboardInterrupt):
            run(stub(dies=2), store)
    assert run(last, store).text == expected.text == "Ivo" and len(last.requests) == 1
    again = run(stub(dies=1), store)
    assert again == run(stub(dies=1), store)
    assert again.tokens_total == expected.tokens_total  # a reply out of the cache counts as if asked anew


# ---------------------------------------------------------------- asking


def test_only_what_cannot_be_read_is_asked_again_together():
    seen = []

    def reply(talk):
        seen.append(talk[-1]["content"])
        return "fine" if len(seen) not in (2, 3, 5) else " "  # the second and third, and the second once more

    model = Scripted(reply)
    meter = Meter(model)
    assert ask_and_read(meter, [alone(name) for name in "abcd"], "en", tokens=9) == ["fine", None, "fine", "fine"]
    assert [len(batch) for batch in model.batches] == [4, 2] and TRIES == 2
    assert seen[4].startswith("b\n") and "no words" in seen[4]
    assert notes(meter.answer("")) == ["no reply that can be used: the reply has no words"]
    assert meter.calls == 6
    assert ask_and_read(meter, [], "en", tokens=9) == [] and meter.calls == 6


def test_a_reply_that_was_cut_off_is_told_so(language):
    replies = iter([Reply('{"keywords": ["a', finish="length"), Reply('{"keywords": [], "pages": [2]}')])
    model = Scripted(lambda talk: next(replies))
    [plan] = ask_and_read(Meter(model), [alone("?")], language, tokens=7, form=baselines.Plan)
    assert plan.pages == [2] and "cut off after 7 tokens" in model.requests[1][0]["content"]
    assert model.requests[1][0]["content"].startswith("?") and len(model.requests[1]) == 1


texts = st.text(st.sampled_from("ab 灯。\n"), max_size=400)


@settings(max_examples=100)
@given(texts, st.integers(1, 150), st.sampled_from(["en", "zh"]))
def test_a_text_is_cut_in_its_middle_to_fit(text, room, language):
    model = Scripted(None)
    cut, left_out = clipped(model, text, room, language)
    assert tokens_of(cut) <= room
    if tokens_of(text) <= room:
        assert (cut, left_out) == (text, 0)
    elif cut:
        gap = GAP[language].format(n=left_out)
        before, _, after = cut.partition(gap)
        assert gap in cut and text.startswith(before) and text.endswith(after)
        assert len(before) + left_out + len(after) == len(text) and len(before) - len(after) in (0, 1)
    else:
        assert left_out == len(text)
    assert clipped(model, text, None, language) == (text, 0)


@settings(max_examples=100)
@given(st.lists(texts, max_size=8), st.one_of(st.none(), st.integers(30, 150)))
def test_groups_hold_everything_that_fits(pieces, room):
    model = Scripted(None)
    joined = groups(model, pieces, room, "en", joint="|")
    assert all(room is None or tokens_of(text) <= room for text in joined)
    assert "|".join(joined) == "|".join(clipped(model, text, room, "en")[0] for text in pieces)
    kept = fitting(model, pieces, room)
    assert kept == pieces[: len(kept)] and (room is None or tokens_of("\n".join(kept)) <= room)


# ---------------------------------------------------------------- Direct


def test_direct_reads_all_of_it_or_leaves_out_the_middle(language):
    document = book(language, 100)
    answer, model = played(baselines.direct, language, 100)
    assert document.text in model.prompts("last")[0] and notes(answer) == [] and answer.calls == 1
    answer, model = played(baselines.direct, language, 100, context=1600)
    [prompt], [note] = model.prompts("last"), notes(answer)
    assert answer.text == "unknown" and FACT[language] not in prompt  # it stood in the middle
    assert document.text[:100] in prompt and document.text[-100:] in prompt
    assert "characters in the middle are left out" in note
    assert 0.9 * (1600 - BRIEF - SPARE) < answer.tokens_first_call <= 1600 - BRIEF


def test_direct_keeps_a_budget_by_reading_less():
    answer, _ = played(baselines.direct, budget=Budget(tokens=1400))
    assert answer.calls == 1 and answer.tokens_total <= 1400 and "the budget" in notes(answer)[0]
    answer, _ = played(baselines.direct, budget=Budget(tokens=100))
    assert answer.calls == 0 and answer.text == "" and answer.tokens_first_call == 0


# ---------------------------------------------------------------- Chain-of-Agents


def test_the_summary_is_handed_on(language):
    document, summaries = book(language), iter(f"S{i}" for i in range(1000))
    model = Scripted(good_reader(language, worker=lambda talk: next(summaries)))
    baselines.chain_of_agents(QUESTION[language], document, model, size=150)
    workers = model.prompts("worker")
    assert len(workers) > 3 and all(len(batch) == 1 for batch in model.batches)
    for i, prompt in enumerate(workers):
        before = f"S{i - 1}" if i else baselines.NOTHING[language]
        assert f"\n{before}\n\n" in prompt and str(len(workers)) in prompt and QUESTION[language] in prompt
        assert document.text not in prompt
    # Each block is read once, in order: taken together they are the text.
    head = {"en": f" of {len(workers)}:\n", "zh": f"共{len(workers)}块：\n"}[language]
    read = [prompt.split(head)[1] for prompt in workers]
    assert re.sub(r"\s", "", "".join(read)) == re.sub(r"\s", "", document.text)
    [prompt] = model.prompts("last")
    assert f"S{len(workers) - 1}" in prompt and document.text[:50] not in prompt


def test_a_worker_without_a_reply_hands_on_what_it_got():
    turns = iter(["S1", "", "", "S3", *["S4"] * 100])
    answer, model = played(baselines.chain_of_agents, worker=lambda talk: next(turns), size=300)
    workers = model.prompts("worker")
    assert "could not be used" in workers[2]
    assert "\nS1\n\n" in workers[3]  # the third worker has the first one's summary
    assert answer.calls == len(model.requests) and "no words" in notes(answer)[0]


def test_a_chain_that_the_budget_ends_answers_from_what_was_read():
    answer, model = played(baselines.chain_of_agents, worker="Ivo did.", budget=Budget(calls=4), size=100)
    assert model.kinds == ["worker"] * 4 and answer.text == ""
    assert any(re.search(r"4 of \d+ blocks were read", note) for note in notes(answer))
    # A bound on tokens can leave room for a manager, whose prompt is shorter.
    chain, budget = baselines.chain_of_agents, Budget(tokens=2600)
    answer, model = played(chain, worker="Ivo did.", context=4000, budget=budget, size=200)
    assert model.kinds[-1] == "last" and answer.text == "Ivo" and answer.tokens_total <= 2600


# ---------------------------------------------------------------- GraphRAG


def test_graphrag_extracts_gleans_reports_maps_and_reduces(language):
    _, model = played(baselines.answer_by_reports, language, size=150)
    order = ["extract", "glean", "report", "map", "last"]  # one batch each
    assert list(dict.fromkeys(model.kinds)) == [kind(batch[0]) for batch in model.batches] == order
    assert model.kinds.count("extract") == model.kinds.count("glean") > 3
    for talk in model.requests:
        if kind(talk) == "glean":
            assert [message["role"] for message in talk] == ["user", "assistant", "user"]
            assert baselines.Extracted.model_validate_json(talk[1]["content"]).entities
        if kind(talk) in ("extract", "report"):
            assert QUESTION[language] not in talk[0]["content"]


def test_what_is_gleaned_is_in_the_graph_and_what_cannot_be_read_is_not():
    nothing, gleaned = {"entities": [], "relations": []}, [{"name": "Ivo", "description": FACT["en"]}]
    replies = {"extract": lambda talk: "no" if "day 0 " in talk[0]["content"] else nothing}
    replies |= {"glean": {"entities": gleaned, "relations": []}}
    answer, model = played(baselines.answer_by_reports, **replies, size=300)
    # The first block had two tries and none more.
    assert model.kinds.count("extract") == model.kinds.count("glean") + TRIES
    assert answer.text == "Ivo" and "1 entities" in next(note for note in notes(answer) if "entities" in note)


def test_merged_entities_and_relations():
    def block(entities, relations):
        ends = [{"source": source, "target": target, "description": said} for source, target, said in relations]
        named = [{"name": name, "description": said} for name, said in entities]
        return baselines.Extracted(entities=named, relations=ends)

    first = block([("Ivo ", "x"), ("Ａnn", "x"), (" ", "x")], [("Ivo", "ann", "knows")])
    second = block([("IVO", "y"), ("ivo", "x")], [("ivo", "Ann", "pays")])
    third = block([], [("Ivo", "ivo", "knows"), ("", "Ivo", "knows"), ("Tom", "Ann", "knows")])
    graph = baselines.merged_blocks([first, second, third])
    assert graph.names == {"ivo": "Ivo", "ann": "Ａnn", "tom": "Tom"}
    assert [graph.statements[name] for name in graph.names] == [["x", "y"], ["x"], []]
    counts = {pair: len(graph.statements[pair]) for pair in graph.relations}
    assert list(counts.items()) == [(("ivo", "ann"), 2), (("tom", "ann"), 1)]


@settings(max_examples=40)
@given(st.integers(1, 10), st.integers(0, 60), st.integers(0, 3000), st.integers(350, 2000))
def test_a_part_is_shortened_until_it_fits(nodes, outside, length, room):
    names = [f"n{i}" for i in range(nodes + outside)]
    entities = [{"name": name, "description": "a " * (length // 2)} for name in names]
    relations = [{"source": names[0], "target": name, "description": "b " * 50} for name in names[1:]]
    graph = baselines.merged_blocks([baselines.Extracted(entities=entities, relations=relations)])
    model = Scripted(None)
    state = baselines.part_state(graph, names[:nodes], model, room)
    assert tokens_of(state) <= room
    shown = json.loads(state)
    assert [node["id"] for node in shown["nodes"]] == names[:nodes]
    inner = [edge["target"] in names[:nodes] for edge in shown["edges"]]
    assert inner == sorted(inner, reverse=True)  # the relations within the part come first
    whole = json.loads(baselines.part_state(graph, names[:nodes], model, None))
    assert len(whole["edges"]) == (len(names) - 1 if names else 0)
    assert all(edge["relation"] == "b " * 50 for edge in whole["edges"])  # cut where there is no room alone


def test_the_best_eight_reports_are_read():
    said = ["the lamp" if i in (3, 7) else "rain" for i in range(20)]
    reports = [
        Report(title=f"report {i}", summary=summary, impact_rating=i % 10, findings=[]) for i, summary in enumerate(said)
    ]
    best = baselines.top(reports, [3] * 20, "Where is the lamp?", "en")
    assert [report.title for report in best[:3]] == ["report 7", "report 3", "report 9"]
    assert len(best) == baselines.TOP == 8
    sized = baselines.top(reports[9:10] * 3, [1, 5, 3], "Where is the lamp?", "en", k=1)
    assert sized == [reports[9]] and baselines.top([], [], "Where?", "en") == []


def test_points_are_ranked_and_those_of_no_help_dropped():
    points = [{"description": f"point {score}", "score": score} for score in (10, 0, 90, 50)]
    model = Scripted(good_reader(map={"points": points}, last="so"))
    assert baselines.answer_by_reports(QUESTION["en"], book(), model).text == "so"
    assert "point 90\npoint 50\npoint 10\n" in model.prompts("last")[0] and "point 0" not in model.prompts("last")[0]
    answer, model = played(baselines.answer_by_reports, map='{"points": [{"description": "?", "score": 0}]}')
    assert answer.text == "" and "last" not in model.kinds and "no report has a point" in notes(answer)[-1]


@pytest.mark.parametrize(
    "options, kinds, said",
    [
        ({"extract": '{"entities": [], "relations": []}'}, {"extract", "glean"}, "no report has a point"),
        ({"budget": Budget(calls=2), "size": 100}, set(), "budget of 2 calls"),
    ],
)
def test_where_nothing_is_found_or_the_build_is_beyond_the_budget_there_is_no_answer(options, kinds, said):
    answer, model = played(baselines.answer_by_reports, **options)
    assert answer.text == "" and set(model.kinds) == kinds and answer.tokens_first_call == 0
    assert any(said in note for note in notes(answer))


# ---------------------------------------------------------------- GAM


def test_notes_know_those_before_them_and_the_plan_knows_all(language):
    names = iter(range(1000))
    _, model = played(baselines.gam, language, memorise=lambda _: {"header": f"H{next(names)}", "note": "N"}, size=150)
    memorised = model.prompts("memorise")
    assert len(memorised) > 3 and baselines.NOTHING[language] in memorised[0]
    for i, prompt in enumerate(memorised):
        assert re.findall(r"H\d+", prompt) == [f"H{j}" for j in range(i)] and QUESTION[language] not in prompt
    [plan], [integrate] = model.prompts("plan"), model.prompts("integrate")
    assert re.findall(r"H\d+", plan) == [f"H{j}" for j in range(len(memorised))]
    assert FACT[language] in integrate and FACT[language] not in plan


def test_the_researcher_goes_on_until_it_is_enough_and_opens_no_page_twice():
    requests, pages = iter(["the church", "the bridge", "more"]), count(1)
    replies = {"plan": lambda _: {"keywords": ["rained"], "pages": [next(pages), 1, 99, 0, -3]}}
    replies["reflect"] = lambda _: {"enough": False, "request": next(requests)}
    answer, model = played(baselines.gam, n=200, **replies, size=150)
    plans = model.prompts("plan")
    assert len(plans) == baselines.ROUNDS == 3
    assert QUESTION["en"] in plans[0] and "Still needed: the church" in plans[1]
    assert "Still needed: the bridge" in plans[2]
    opened = [re.findall(r"\d+", note) for note in notes(answer) if note.startswith("opens pages")]
    flat = [page for pages in opened for page in pages]
    assert len(flat) == len(set(flat)) and all(len(pages) <= baselines.PAGES for pages in opened) and flat[0] == "1"


def test_a_plan_that_cannot_be_read_falls_back_on_the_question_and_a_page_without_a_note_on_its_words():
    answer, model = played(baselines.gam, plan="well", size=150)
    assert answer.text == "Ivo" and model.kinds.count("plan") == TRIES
    answer, model = played(baselines.gam, memorise="{}", size=300)
    assert answer.text == "Ivo" and "Page 1: On day 0 it rained on the mill" in model.prompts("plan")[0]


def test_what_was_found_is_answered_from_where_the_budget_ends():
    more = '{"enough": false, "request": "rain"}'
    whole, _ = played(baselines.gam, reflect=more, size=150)
    built = sum(step.is_call and step.stage == BUILD for step in whole.trace)
    answer, _ = played(baselines.gam, reflect=more, budget=Budget(calls=built + 3), size=150)
    assert answer.calls == built + 3 and answer.text == ""  # nothing is left for the last call
    answer, _ = played(baselines.gam, budget=Budget(calls=3), size=150)
    assert any(re.search(r"3 of \d+ pages have notes", note) for note in notes(answer))


def test_notes_that_do_not_fit_are_shown_by_their_headers():
    long = {"header": "rain", "note": "drop " * 100}
    answer, model = played(baselines.gam, n=200, memorise=long, context=2400, size=150)
    assert any("headers" in note for note in notes(answer)) and "drop" not in model.prompts("plan")[0]
    assert answer.text == "Ivo"


# ---------------------------------------------------------------- RLM

shut_in = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot shut a process in; see sandbox")


def fenced(code):
    return f"```python\n{code}\n```"


def coded(*turns):
    """A model that writes these turns, and then gives up."""
    left = iter(turns)
    return lambda talk: next(left, "FINAL(nothing)")


def test_code_and_answers_are_found_in_a_turn():
    assert baselines.code_in("```python\nx = 1\n```\nand\n```repl\nprint(x)\n```") == "x = 1\n\nprint(x)\n"
    for turn in ("```\nprint(1)\n```", "<think>```python\n2\n```</think>```py\nprint(1)\n```"):
        assert baselines.code_in(turn) == "print(1)\n"
    assert baselines.code_in("```python\nprint(1)") == "print(1)" and baselines.code_in("print(1)") == ""
    plan = "The plan:\n```text\n1. look\n```\n\n```Python3\nprint(1)\n```\nThen I will answer.\n"
    assert baselines.code_in(plan) == "print(1)\n"  # another fence is no code, and its end opens none
    assert baselines.final_in('```json\n{"a": 1}\n```\nI think so.\nFINAL(x)') == "x"
    assert baselines.final_in("So.\nFINAL(the miller (Ivo))\n") == "the miller (Ivo)"
    assert baselines.final_in("FINAL(Ann)\n\nShe is named twice (chapters 3 and 9)") == "Ann"
    assert baselines.final_in("FINAL(Ann)\nor\nFINAL(Tom)") == "Ann" and baselines.final_in("FINAL(Ann :)") == "Ann :"
    assert baselines.final_in("FINAL(the miller (of\nFallowby)\nand Tom)") == "the miller (of\nFallowby)\nand Tom"
    assert baselines.final_in("FINAL(“磨坊主”)") == "磨坊主" and baselines.final_in("I will call FINAL later") is None
    assert baselines.final_in("```python\nFINAL(1)\n```") is None and baselines.final_in("") is None


@shut_in
def test_a_model_sees_what_its_code_printed(language):
    codes = ["half = len(context) // 2\nprint(half, context[:10])", "print(half / 0)", "x = 1"]
    turns = coded(*map(fenced, codes), "Well, I think it over.", "FINAL(half)")
    document = book(language)
    model = Scripted(good_reader(language, task=turns))
    answer = baselines.answer_by_code(QUESTION[language], document, model)
    seen = [talk[-1]["content"] for talk in model.requests]
    assert answer.text == "half" and answer.calls == 5
    assert QUESTION[language] in seen[0] and str(len(document.text)) in seen[0] and FACT[language] not in seen[0]
    assert f"{len(document.text) // 2} {document.text[:10]}" in seen[1]
    assert "line 1: ZeroDivisionError" in seen[2]
    assert seen[3] == baselines.TOLD[language]["nothing"] and seen[4] == baselines.TOLD[language]["neither"]
    assert [message["role"] for message in model.requests[-1]] == ["user", *["assistant", "user"] * 4]
    assert set(seen[1:]) <= set(notes(answer)) and "shut in by" in notes(answer)[0]


@shut_in
def test_the_second_model_sees_its_prompt_alone_and_is_no_program():
    code = "```python\nparts = [context[:20], context[-20:]]\nprint(llm_query_batched(parts))\nFINAL(llm_query('So?'))\n```"
    query = lambda talk: f"```python\nFINAL('inner')\n```{talk[0]['content'][:6]}"  # noqa: E731
    answer, model = played(baselines.answer_by_code, task=code, query=query)
    assert model.kinds == ["task", "query", "query", "query"] and [len(batch) for batch in model.batches] == [1, 2, 1]
    assert all(len(talk) == 1 for talk in model.requests)
    assert model.requests[1][0]["content"] == book().text[:20]
    assert answer.text == "```python\nFINAL('inner')\n```So?"  # what it wrote was not run
    assert answer.calls == 4 and [step.stage for step in answer.trace if step.is_call] == [ANSWER, *[baselines.QUERY] * 3]
    assert answer.tokens_first_call == model.count_tokens(model.requests[0])


@shut_in
def test_a_query_that_is_too_long_is_not_asked(language):
    code = "```python\nfor reply in llm_query_batched([context * 20, 'short']): print(reply)\n```"
    _, model = played(baselines.answer_by_code, language, 200, task=coded(code, "FINAL(x)"), context=3000)
    assert model.kinds == ["task", "query", "task"]
    assert baselines.TOLD[language]["long"].split("{")[0] in model.requests[-1][-1]["content"]


@shut_in
def test_after_the_last_turn_the_answer_is_asked_for():
    def reader(talk):
        return "Ivo" if baselines.TOLD["en"]["end"] in talk[-1]["content"] else "```python\nprint(1)\n```"

    answer, _ = played(baselines.answer_by_code, reader=reader, iterations=3)
    assert answer.calls == 4 and answer.text == "Ivo"
    assert any("no answer after 3 turns" in note for note in notes(answer))
    assert baselines.ITERATIONS == 30


@shut_in
def test_a_process_that_was_stopped_is_told_of_and_replaced():
    codes = ["kept = 1", "while True: pass", "print('kept' in globals(), len(context))", "import os\nos._exit(0)"]
    turns = coded(*map(fenced, codes), "FINAL(done)")
    answer, model = played(baselines.answer_by_code, task=turns, limits=sandbox.Limits(seconds=2))
    seen = [talk[-1]["content"] for talk in model.requests]
    assert answer.text == "done"
    assert "(time)" in seen[2] and f"False {len(book().text)}" in seen[3] and "ended itself" in seen[4]


@shut_in
def test_the_oldest_turns_fall_out_of_a_small_window():
    turns = iter(f"```python\nprint('turn {i} ' * 100)\n```" for i in range(100))
    answer, model = played(baselines.answer_by_code, task=lambda talk: next(turns), context=2400, iterations=12)
    assert any("turns do not fit" in note for note in notes(answer))
    longest = max(model.requests, key=len)
    assert len(model.requests[-1]) < 2 * 12 and "turn 11" in model.requests[-1][-1]["content"]
    assert longest[0] == model.requests[0][0]


@shut_in
def test_an_output_is_shown_with_its_middle_left_out():
    task = coded(fenced("print('begin ' + 'word ' * 50_000 + 'end')"), "FINAL(x)")
    _, model = played(baselines.answer_by_code, task=task)
    seen = model.requests[1][-1]["content"]
    assert "begin word" in seen and "left out here" in seen and "printed 250" in seen and tokens_of(seen) < 2200


@shut_in
def test_a_budget_that_ends_within_the_code():
    answer, model = played(baselines.answer_by_code, task=fenced("while True: llm_query('a')"), budget=Budget(calls=6))
    assert answer.calls == 6 and answer.text == "" and model.kinds == ["task", *["query"] * 5]
    assert any("budget of 6 calls" in note for note in notes(answer))


def test_code_is_not_run_where_it_cannot_be_shut_in(monkeypatch):
    def refuse(self):
        raise MindscapeError("its process would be open to files")

    monkeypatch.setattr(sandbox.Sandbox, "_start", refuse)
    model = Scripted(good_reader())
    refused(lambda: baselines.answer_by_code(QUESTION["en"], book(), model), "open to files", MindscapeError)
    assert not model.requests


def test_a_list_that_was_cut_off_keeps_its_whole_items(language):
    names = [{"name": f'{ANSWERED[language]} "{i}" [', "description": "a\\b}"} for i in range(4)]
    whole = json.dumps({"entities": names, "relations": []}, ensure_ascii=False)
    first_item = json.dumps(names[0], ensure_ascii=False)
    ends = [whole.index("[") + 1 + i * (len(first_item) + 2) + len(first_item) for i in range(4)]
    for at in range(len(whole)):
        kept = sum(end <= at for end in ends)
        if not kept:
            refused(partial(before_the_cut, whole[:at], baselines.Extracted), ".", ValueError)
            continue
        extracted = before_the_cut(whole[:at], baselines.Extracted)
        assert [item.model_dump() for item in extracted.entities] == names[:kept] and extracted.relations == []
        assert before_the_cut(f"```json\n{whole[:at]}", baselines.Extracted) == extracted
    points = '{"points": [{"description": "a", "score": 90}, {"description": "b", "score": 9'
    assert [item.score for item in before_the_cut(points, baselines.Points).points] == [90]
    for bad in ('["Ann", "Ivo', '{"header": "a", "note": "b', "", '{"entities": [7, 8'):
        refused(partial(before_the_cut, bad, baselines.Extracted), ".", ValueError)


def test_graphrag_goes_on_from_what_was_cut_off():
    """A model that runs to its limit in every extraction: its whole items make the graph, and nothing is asked twice."""
    begun = '{"entities": [{"name": "Ivo", "description": "A miller."}, {"name": "Ann", "descr'
    cut_off, points = Reply(begun, finish="length"), '{"points": [{"description": "Ivo sold it.", "score": 90}]}'
    answer, _ = played(baselines.answer_by_reports, extract=cut_off, glean=cut_off, map=points, last="Ivo", size=100)
    assert answer.text == "Ivo" and any("its whole items are kept" in note for note in notes(answer))
    blocks = int(re.search(r"(\d+) blocks, 1 entities", " ".join(notes(answer)))[1])
    assert sum(step.what == begun for step in answer.trace) == 2 * blocks
