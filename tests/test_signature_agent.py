"""The agent: Algorithm 1 by hand and against a plain loop, its ablations, replies that fail, kills, budgets, traces."""

import zlib
from dataclasses import replace
from types import SimpleNamespace

import pytest
from extras import refused
from stubs import cut, user
from test_signature_rag import ASKED, Bag, Model, library, question

from mindscape import llm
from mindscape.ask import WARMER, Budget, BudgetSpent
from mindscape.errors import LLMError
from mindscape.llm import Reply
from mindscape.roles import NONE, SAY, UPDATE, Update, letters
from mindscape.signature.agent import INPUTS, Settings, Step, Trace, counts, first_seen, run, steps_table
from mindscape.signature.memory import Posed, build
from mindscape.signature.memory import given as of_texts
from mindscape.signature.rag import FRAME, Shelf, context
from mindscape.store import Store

SMALL = Settings(top=4, k=2)


def said(action="ANSWER", query="", signature="", notes=("a note",), confidence="HIGH"):
    """A reply in the role's form."""
    more = {"refined_signature": signature, "rewritten_query": query} if action == "REFINE" else {}
    return UPDATE.render(Update(evidence_memory=list(notes), confidence=confidence, thought="So.", action=action, **more))


def step_of(prompt):
    """The number of the step in a prompt of an update, or None for one of an answer."""
    for language, words in (("en", ("Step ", " of")), ("zh", ("第", "步，共"))):
        if SAY[language]["last"] in prompt or SAY[language]["more"].split("{n}")[-1] in prompt:
            before, _, rest = prompt.rpartition(f"\n{words[0]}")
            return int(rest.split(words[1])[0]) if before else None
    return None


def scripted(*replies, answer="Tom", **options):
    """A model whose update at step t is the t-th of the replies."""
    return Model(lambda prompt, trial: answer if (t := step_of(prompt)) is None else replies[t - 1], **options)


def wandering(prompt, trial):
    """What it replies hangs on all that it reads, and now and then it is enough for an answer."""
    t, chance = step_of(prompt), zlib.crc32(prompt.encode())
    if t is None:
        return f"Answer: {chance % 97}"
    if t > 1 and chance % 2:
        return said("ANSWER", notes=[f"enough at {t}"])
    deed = ("fed the goats", "wrote a letter", "mended the well")[chance % 3]
    return said("REFINE", f"Who {deed} then?", f"Somebody {deed}, it goes on.", [f"note {t}"], "LOW")


QUESTIONS = [*ASKED, *(question(i, f"Who did something on day {i}?", i) for i in range(3, 11))]


@pytest.fixture
def shelf():
    return Shelf(library(), Bag(), live=True)


# Algorithm 1 --------------------------------------------------------------------------------------------------------


def test_two_steps_by_hand(shelf):
    first = said("REFINE", "Who fed the goats?", "Eve is on the farm; the goats.", ["Ann sold it"], "MEDIUM")
    model = scripted(first, said("ANSWER", notes=["Ann sold it", "Eve fed them"]))
    (trace,) = run(model, shelf, ASKED[:1], SMALL)
    (woken,) = shelf.wake([ASKED[0].text])
    start = shelf.choose(woken, "first_k", 2)
    assert trace.items == start and trace.stopped == "answer" and len(trace.steps) == 2
    before, after = trace.steps
    assert (before.query, before.signature) == (ASKED[0].text, shelf.signature(start))
    assert before.chunks == shelf.search([before.query], [before.signature], 4, 0.5)[0]
    assert before.items == shelf.memory.items_of(before.chunks)
    assert (before.action, before.confidence, before.thought, before.evidence) == ("REFINE", "MEDIUM", "So.", ("Ann sold it",))
    assert (after.query, after.signature) == ("Who fed the goats?", ("Eve is on the farm; the goats.",))
    assert after.chunks == trace.chunks == shelf.search([after.query], [after.signature], 4, 0.5)[0]
    assert trace.signature == after.signature and trace.evidence == ("Ann sold it", "Eve fed them")
    assert trace.calls == 2 + 4 and set(trace.answers) == set(INPUTS)
    assert trace.tokens == sum(map(len, model.requests)) + 6 * 5


def test_what_the_generator_is_given(shelf):
    model = scripted(said("ANSWER", notes=["Ann sold it"]))
    (trace,) = run(model, shelf, ASKED[:1], SMALL)
    passages = [shelf.memory.texts[i] for i in trace.chunks]
    for prompt, (signature, evidence) in zip(model.requests[1:], INPUTS.values(), strict=True):
        given_to = context(passages, trace.signature if signature else (), trace.evidence if evidence else ())
        assert given_to in prompt and ASKED[0].text in prompt
        headed = [FRAME["en"][part].format("") in prompt for part in ("signature", "evidence")]
        assert headed == [signature, evidence]


def plainly(model, shelf, posed, steps=3, top=4, k=2, alpha=0.5):
    """Algorithm 1 for one question as it stands; what each step searched with, and what was answered from: a signature that
    comes with the last step is for the generator alone."""
    (woken,) = shelf.wake([posed.text])
    q, sigma, evidence, seen = posed.text, shelf.signature(shelf.choose(woken, "first_k", k)), [], []  # 1, 2
    for t in range(steps):  # 3
        passages = shelf.search([q], [sigma], top, alpha)[0]  # 4
        summaries = [shelf.memory.items[i].text for i in shelf.memory.items_of(passages)]  # 5
        earlier = [query for query in dict.fromkeys(query for query, *_ in seen) if query != q]
        slots = {"question": posed.text, "options_str": NONE["en"], "step": str(t + 1), "max_steps": str(steps)}
        left = steps - t - 1
        slots["remaining_steps_hint"] = SAY["en"]["more"].format(n=left) if left else SAY["en"]["last"]
        slots |= {"signature": "\n".join(sigma), "current_query": q}
        slots["summaries_text"] = "\n".join(f"- {text}" for text in summaries)
        slots["evidence_memory"] = "\n".join(f"- {note}" for note in evidence) or NONE["en"]
        shown = [f"[{i}] {shelf.memory.texts[c]}" for i, c in enumerate(passages, start=1)]
        slots["chunks_text"] = "\n\n".join(shown)
        slots["history_section"] = SAY["en"]["history"].format(query="\n- ".join(earlier)) if earlier else ""
        (reply,) = model.chat([user(UPDATE.prompt("en", **slots))])
        update, _ = UPDATE.parse(reply.text)  # 6
        seen.append((q, sigma, passages))
        evidence = update.evidence_memory
        if update.action == "ANSWER":  # 7
            return seen, sigma, evidence, "answer"
        q, sigma = update.rewritten_query, (update.refined_signature,)
    return seen, sigma, evidence, "steps"


@pytest.mark.parametrize("batch", [1, 4, 50])
def test_many_questions_against_a_plain_loop(shelf, batch):
    traces = run(Model(wandering), shelf, QUESTIONS, SMALL, batch=batch)
    assert [trace.id for trace in traces] == [posed.id for posed in QUESTIONS]
    for posed, trace in zip(QUESTIONS, traces, strict=True):
        seen, sigma, evidence, stopped = plainly(Model(wandering), shelf, posed)
        assert [(step.query, step.signature, step.chunks) for step in trace.steps] == seen
        assert (trace.signature, list(trace.evidence), trace.stopped) == (sigma, evidence, stopped)
    assert {trace.stopped for trace in traces} == {"answer", "steps"}
    assert {len(trace.steps) for trace in traces} >= {2, 3}


def test_without_rewriting_the_signature_still_evolves(shelf):
    model = scripted(said("REFINE", "other", "signature 1"), said("REFINE", "another", "signature 2"), said())
    (trace,) = run(model, shelf, ASKED[:1], replace(SMALL, rewrite=False))
    assert {step.query for step in trace.steps} == {ASKED[0].text}
    assert [step.signature for step in trace.steps[1:]] == [("signature 1",), ("signature 2",)]
    assert not any("Earlier queries" in prompt for prompt in model.requests)


def test_without_a_signature_nobody_sees_one(shelf):
    model = scripted(said("REFINE", "Who fed the goats?", "The storyline of goats."), said("ANSWER", notes=["x"]))
    (trace,) = run(model, shelf, ASKED[:1], replace(SMALL, signature=False, inputs=()))
    assert trace.signature is None and trace.items == () and [step.signature for step in trace.steps] == [None, None]
    assert trace.steps[1].chunks == shelf.search(["Who fed the goats?"], None, 4)[0]
    assert list(trace.answers) == ["chunks", "evi"]
    assert not any("storyline of goats" in prompt for prompt in model.requests)
    assert all(f"Signature: {NONE['en']}" in prompt for prompt in model.requests[:2])


def test_of_a_question_only_what_is_asked_is_read(shelf):
    bare = [SimpleNamespace(id=posed.id, text=posed.text, kind=posed.kind, options=posed.options) for posed in QUESTIONS]
    whole = run(Model(wandering), shelf, QUESTIONS, SMALL)
    assert run(Model(wandering), shelf, bare, SMALL) == whole


def test_claims_and_choices_together(shelf):
    options = ("Ann", "Ivo", "Tom", "Eve")
    choice = replace(ASKED[0], kind="choice", options=options, right="C")
    claim = replace(ASKED[1], kind="claim", right="TRUE")

    def says(prompt, trial):
        if step_of(prompt):
            return said()
        return "<explanation>It is so.</explanation><answer>TRUE</answer>" if "Claim:" in prompt else "C. Tom"

    model = Model(says)
    traces = run(model, shelf, [choice, claim], SMALL)
    assert [trace.answers["sig"].value for trace in traces] == ["C", "TRUE"]
    first, second = (next(prompt for prompt in model.requests if posed.text in prompt) for posed in (choice, claim))
    assert letters(list(options)) in first and letters(list(options)) not in second


def test_in_chinese():
    document, chunks = cut("书", ["安娜卖了一盏灯。", "汤姆喂了羊。", "夏娃写了信。", "伊沃唱了歌。"], "zh")
    shelf = Shelf(build(document, chunks, of_texts(["卖灯喂羊。", "写信唱歌。"]), 2), Bag(), live=True)
    posed = Posed("q", "书", "谁喂了羊？", "qa", (), "汤姆", (), (1,))
    first, second = said("REFINE", "谁在喂羊？", "羊的主线", ["安娜卖灯"]), said(notes=["汤姆喂羊"])
    model = scripted(first, second, answer="答案：汤姆。")
    (trace,) = run(model, shelf, [posed], Settings(top=2, k=1))
    assert [step_of(prompt) for prompt in model.requests] == [1, 2, None, None, None, None]
    assert f"查询：谁在喂羊？\n\n分段摘要：\n- {shelf.memory.summaries[0]}" in model.requests[1]
    assert "以往的查询：\n- 谁喂了羊？" in model.requests[1] and "- 安娜卖灯" in model.requests[1]
    assert {answer.value for answer in trace.answers.values()} == {"汤姆"} and trace.steps[1].chunks[0] == 1
    assert "主线：\n羊的主线\n\n笔记：\n- 汤姆喂羊\n\n段落：\n" in model.requests[-1]


# Replies that fail --------------------------------------------------------------------------------------------------

GARBAGE = [
    "I would search for the lamp.",
    "<action>ANSWER</action>",
    said().replace("ANSWER", "STOP"),
    said("REFINE", "q", "s").replace("<rewritten_query>q</rewritten_query>", ""),
    said().replace("</evidence_memory>", ""),
    Reply(said(), (), 9, 512, "length"),
    "",
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_reply_that_does_not_parse_costs_a_retry(shelf, garbage):
    def says(prompt, trial):
        if step_of(prompt) is None:
            return "Tom"
        return garbage if trial == 0 else said("ANSWER", notes=["second"])

    model = Model(says)
    (trace,) = run(model, shelf, ASKED[:1], SMALL)
    (step,) = trace.steps
    if step.tries == 1:  # what a tag that is not closed holds can be read after all
        assert "evidence_memory" in garbage and step.invalid == ()
        return
    assert (step.tries, len(step.invalid), step.evidence) == (2, 1, ("second",)) and trace.calls == 6
    assert model.how[:2] == [(0.0, 0), (WARMER, 1)]
    assert counts([trace])["unreadable replies"] == 1 and counts([trace])["replies"] == 6


def test_when_nothing_can_be_read_it_answers_from_what_it_has(shelf):
    def says(prompt, trial):
        t = step_of(prompt)
        if t is None:
            return "Tom"
        return said("REFINE", "Who fed the goats?", "The goats.", ["kept"]) if t == 1 else "Well."

    (trace,) = run(Model(says), shelf, ASKED[:1], replace(SMALL, retries=2))
    assert (trace.stopped, len(trace.steps), trace.evidence) == ("unreadable", 2, ("kept",))
    assert (trace.steps[1].action, trace.steps[1].tries, len(trace.steps[1].invalid)) == ("", 3, 3)
    assert trace.chunks == trace.steps[1].chunks and trace.signature == ("The goats.",)
    assert {answer.value for answer in trace.answers.values()} == {"Tom"}
    total = counts([trace])
    assert (total["stopped: unreadable"], total["unreadable replies"], total["unreadable answers"]) == (1, 3, 0)


def test_a_short_window_drops_the_worst_passages(shelf):
    model = scripted(said())
    run(model, shelf, ASKED[:1], SMALL)
    narrow = scripted(said(), context=len(model.requests[0]) - 1 + SMALL.tokens)
    (trace,) = run(narrow, shelf, ASKED[:1], SMALL)
    (step,) = trace.steps
    assert (len(step.chunks), step.shown) == (4, 3) and step.items == shelf.memory.items_of(step.chunks[:3])
    assert counts([trace])["passages left out"] == 1
    refused(lambda: run(scripted(said(), context=600), shelf, ASKED[:1], SMALL), "scripted holds 600 tokens")


# Kills and budgets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, LLMError("the server is gone")])
@pytest.mark.parametrize("batch", [1, 8])
def test_what_a_kill_cuts_short_is_not_paid_for_again(shelf, tmp_path, batch, error):
    store = Store(tmp_path / "replies.sqlite")
    killed = Model(wandering, dies=30, error=error)
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        run(llm.LanguageModel(killed, store=store), shelf, QUESTIONS, SMALL, batch=batch)
    again = Model(wandering)
    traces = run(llm.LanguageModel(again, store=store), shelf, QUESTIONS, SMALL, batch=batch)
    assert traces == run(Model(wandering), shelf, QUESTIONS, SMALL)
    prompts = [*killed.requests, *again.requests]
    assert len(prompts) == len(set(prompts)) and len(killed.requests) == 30


@pytest.mark.parametrize("batch", [1, 8])
def test_a_budget_of_calls(shelf, tmp_path, batch):
    backend, store = Model(wandering), Store(tmp_path / "replies.sqlite")
    for _ in range(2):  # what is in the store counts
        with pytest.raises(BudgetSpent, match=r"the budget of 30 calls is spent: \d+ are made, \d would be next"):
            model = llm.LanguageModel(backend, store=store)
            run(model, shelf, QUESTIONS, SMALL, batch=batch, budget=Budget(calls=30))
        assert 20 < len(backend.requests) <= 30
    more = run(llm.LanguageModel(backend, store=store), shelf, QUESTIONS, SMALL, budget=Budget(calls=200))
    assert more == run(Model(wandering), shelf, QUESTIONS, SMALL)
    assert len(backend.requests) == len(set(backend.requests))


def test_what_cannot_be_run(shelf):
    refused(lambda: run(Model(wandering), shelf, QUESTIONS[:1] * 2, SMALL), "same id")
    refused(lambda: run(Model(wandering), shelf, QUESTIONS, SMALL, batch=0), "batch=0")


def test_bad_settings():
    refused(lambda: Settings(steps=0), "steps=0")
    refused(lambda: Settings(retries=-1), "retries=-1: expected at least 0")
    refused(lambda: Settings(alpha=2), "alpha=2")
    refused(lambda: Settings(way="gold"), "way='gold': expected one of first_k, relevance, coverage, random$")
    refused(lambda: Settings(way="best"), "way='best'")
    refused(lambda: Settings(inputs=("all",)), "inputs='all': expected some of chunks, sig, evi, sig_evi")
    without = "inputs='sig' without a signature: expected some of chunks, evi"
    refused(lambda: Settings(inputs=("sig",), signature=False), without)


# What a trace shows -------------------------------------------------------------------------------------------------


def test_what_changed_and_which_evidence_was_found_when():
    first = Step("Who?", ("s1",), (1, 5, 9), 3, (0,), "REFINE", "LOW", "So.", ("a",), (), 1, 100, 10)
    second = replace(first, signature=("s2",), chunks=(5, 2, 7), evidence=("a", "b"))
    last = replace(second, query="Where?", chunks=(3,), evidence=("b",))
    trace = Trace("q", (0,), (first, second, last), last.signature, last.evidence, "steps")
    posed = question(0, "Who?", 2, 3, 9, 11, bindings=((7, 8), (12,)))
    rows = steps_table(trace, posed)
    assert [row["new query"] for row in rows] == [True, False, True]
    assert [row["new signature"] for row in rows] == [True, True, False]
    assert [(row["notes added"], row["notes dropped"]) for row in rows] == [(["a"], []), (["b"], []), ([], ["a"])]
    assert [row["evidence now"] for row in rows] == [[9], [2], [3]]
    assert [row["evidence so far"] for row in rows] == ["1 of 4", "2 of 4", "3 of 4"]
    assert [row["bindings now"] for row in rows] == [[], [0], []] and rows[2]["bindings so far"] == "1 of 2"
    assert [first_seen(trace, [chunk]) for chunk in (5, 3, 11)] == [1, 3, None] and first_seen(trace, []) is None


def test_counts_add_up(shelf):
    traces = run(Model(wandering), shelf, QUESTIONS, SMALL)
    total = counts(traces)
    assert total["questions"] == 11 == total["stopped: answer"] + total["stopped: steps"] + total["stopped: unreadable"]
    assert total["replies"] == total["steps"] + total["answers"] and total["answers"] == 44
    assert total["tokens"] == sum(trace.tokens for trace in traces) and total["unreadable replies"] == 0
