"""One way to ask: read, tried again, counted; free first where decoding may be held to a form. And a budget, which ends a
method before it is crossed, and counts the same whether replies are made or found."""

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st

from mindscape import llm
from mindscape.ask import LONGEST, WARMER, Budget, BudgetSpent, Meter, ask
from mindscape.errors import BudgetReached
from mindscape.llm.base import LLM, Reply, estimated_tokens
from mindscape.question import ANSWER, BUILD
from mindscape.roles import ROLES
from mindscape.store import Store
from tests.stubs import Stub, in_turn, user

SILVER, QA = ROLES["silver_chunks"], ROLES["qa"]


class Choosy(Stub):
    """A stub whose held decoding could have written what `could` says."""

    def __init__(self, say, could=lambda text: True):
        super().__init__(say)
        self.could, self.samplings = could, []

    def generate(self, prompts, sampling, tools=(), schema=None):
        self.samplings += [sampling] * len(prompts)
        yield from super().generate(prompts, sampling, tools, schema)

    def could_write(self, text, schema):
        return self.could(text)


def answers_of(backend, role=SILVER, prompts=("a",), **how):
    return ask(llm.LanguageModel(backend), role, prompts, **how)


def test_each_prompt_has_its_answer_and_the_same_is_asked_once():
    stub = Choosy(lambda messages, *_: f"[{len(messages[-1]['content'])}]")
    answers = answers_of(stub, prompts=["a", "bbb", "a"])
    assert [answer.value for answer in answers] == [[1], [3], [1]] and len(stub.requests) == 2
    assert all(answer.calls == 1 and not answer.unread and not answer.cut for answer in answers)
    assert answers_of(stub, prompts=[]) == []


def test_a_reply_is_held_to_the_role_s_form_and_length():
    stub = Choosy(in_turn("[1]", "[1]", "[1]"))
    answers_of(stub), answers_of(stub, prompts=["b"], constrained=False), answers_of(stub, prompts=["c"], tokens=5)
    assert [schema is not None for _, _, schema in stub.requests] == [True, False, True]
    assert [sampling.max_new_tokens for sampling in stub.samplings] == [LONGEST["silver_chunks"]] * 2 + [5]


def test_every_role_has_a_length():
    assert LONGEST.keys() >= ROLES.keys()


def test_what_cannot_be_read_is_tried_again_warmer():
    stub = Choosy(in_turn("the first", "[1]", "nothing", "no"))
    first, second = answers_of(stub, prompts=["a"], tries=3), answers_of(stub, prompts=["b"], tries=2)
    assert first[0].value == [1] and first[0].calls == 2 and len(first[0].unread) == 1
    assert second[0].value is None and second[0].calls == 2 and len(second[0].unread) == 2 and second[0].text == "no"
    assert [(sampling.temperature, sampling.seed) for sampling in stub.samplings] == [(0, 0), (WARMER, 1)] * 2
    assert first[0].completion_tokens == sum(map(estimated_tokens, ("the first", "[1]")))


def test_a_reply_that_was_cut_off_cannot_be_read():
    (answer,) = answers_of(Choosy(in_turn(Reply("[1]", finish="length"))))
    assert answer.cut and answer.value is None and answer.text == "[1]" and "cut off after" in answer.unread[0]
    (answer,) = answers_of(Choosy(in_turn("  ")), role=QA)  # nor one that says nothing
    assert answer.value is None and len(answer.unread) == 1


def test_free_first_asks_again_only_where_decoding_could_not_have_written_the_same():
    stub = Choosy(in_turn("[1]", "It is [2]", "[3]"), could=lambda text: text.startswith("["))
    kept, held = answers_of(stub, prompts=["a", "b"], free_first=True)
    assert (kept.text, kept.free, kept.value, kept.calls) == ("[1]", "[1]", [1], 1)
    assert (held.text, held.free, held.value, held.calls) == ("[3]", "It is [2]", [3], 2)
    assert [schema is not None for _, _, schema in stub.requests] == [False, False, True]


def test_a_role_without_a_form_is_asked_once():
    stub = Choosy(in_turn("the smith"), could=lambda text: False)
    (answer,) = answers_of(stub, role=QA, free_first=True)
    assert answer.value == "the smith" == answer.free and (len(stub.requests) == 1) == (QA.form is None)


def test_a_model_that_cannot_say_what_it_could_write_is_asked_twice():
    assert answers_of(Stub(in_turn("[1]", "[2]")), free_first=True)[0].value == [2]


def test_a_budget_is_kept():
    meter = Meter(llm.LanguageModel(Choosy(in_turn("[1]", "[2]"))), Budget(calls=2))
    assert [answer.value for answer in ask(meter, SILVER, ["a", "b"])] == [[1], [2]] and meter.calls == 2
    with pytest.raises(BudgetSpent, match="the budget of 2 calls is spent: 2 are made, 1 would be next"):
        ask(meter, SILVER, ["c"])


def test_free_first_sees_through_a_meter():
    stub = Choosy(in_turn("[1]"))
    assert ask(Meter(llm.LanguageModel(stub)), SILVER, ["a"], free_first=True)[0].calls == 1 == len(stub.requests)


def metered(tmp_path=None, say=lambda *_: "a reply", **bounds):
    store = Store(tmp_path / "s.sqlite") if tmp_path else None
    return Meter(llm.LanguageModel(Stub(say, weigh=lambda *_: -1.0), store=store), Budget(**bounds))


def test_a_meter_is_a_model():
    meter = metered()
    assert isinstance(meter, LLM) and meter.name == meter.llm.name and meter.fingerprint == meter.llm.fingerprint
    assert meter.maker == meter.llm.maker and meter.context is None and meter.backend is meter.llm.backend
    assert meter.count_tokens("abc") == 1 and meter.calls == 0
    assert meter.chat(user("a")).text == meter.complete("a").text == "a reply"
    assert [reply.text for reply in meter.chat([user("a"), user("b")])] == ["a reply"] * 2


@pytest.mark.parametrize("name", ["calls", "tokens", "reply"])
@pytest.mark.parametrize("value", [0, -5])
def test_a_bound_below_one_is_refused(name, value):
    refused(lambda: Budget(**{name: value}), rf"Budget\({name}={value}\): expected at least 1, or None for no bound")


def test_calls_and_tokens_are_counted_by_stage():
    meter = metered()
    meter.chat([user("one"), user("two")])
    meter.stage = ANSWER
    meter.complete("three")
    meter.score("p", ["a", "b"])
    meter.note("looked around")
    answer = meter.answer("a reply")
    assert meter.calls == answer.calls == 5 and meter.tokens == answer.tokens_total
    assert answer.spent(BUILD) + answer.spent(ANSWER) == answer.tokens_total and answer.value == "a reply"
    assert answer.tokens_first_call == meter.steps[2].read and answer.trace[-1].what == "looked around"
    assert metered().answer("").value is None


def test_no_prompt_is_asked_where_one_of_them_would_cross():
    meter = metered(calls=3)
    meter.chat([user("one"), user("two")])
    with pytest.raises(BudgetSpent, match="the budget of 3 calls is spent: 2 are made, 2 would be next") as spent:
        meter.chat([user("three"), user("four")])
    assert isinstance(spent.value, BudgetReached) and len(meter.backend.requests) == 2
    assert meter.affords([user("three")]) and not meter.affords([user("three"), user("four")])


@given(st.integers(1, 400), st.lists(st.tuples(st.text("ab ", min_size=1, max_size=60), st.integers(1, 60)), max_size=12))
def test_a_token_budget_is_never_crossed(tokens, cases):
    meter = metered(say=lambda *_: "ab", tokens=tokens)
    for text, most in cases:
        afforded = meter.affords([text], most)
        try:
            meter.complete(text, max_new_tokens=most)
        except BudgetSpent as spent:
            assert not afforded and f"the budget of {tokens:,} tokens is spent" in str(spent)
        else:
            assert afforded
        assert meter.tokens <= tokens


def test_a_reply_out_of_the_store_counts_as_if_it_were_asked_anew(tmp_path):
    first, again = metered(tmp_path), metered(tmp_path)
    for meter in (first, again):
        meter.chat(user("one"))
    assert first.steps == again.steps and again.llm.ledger.cached == 1 and not again.backend.requests
    assert first.tokens == again.tokens == estimated_tokens(user("one")) + estimated_tokens("a reply")
    assert (first.llm.ledger.tokens, again.llm.ledger.tokens) == (first.tokens, 0)


def test_what_was_built_elsewhere_may_be_counted():
    meter = metered(tokens=100)
    meter.add("a graph", 90, 5)
    assert meter.tokens == 95 and meter.calls == 1
    with pytest.raises(BudgetSpent):
        meter.complete("x", max_new_tokens=10)
