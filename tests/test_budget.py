"""A budget ends a method before it is crossed, and counts the same whether replies are made or found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindscape import llm
from mindscape.ask import Budget, BudgetSpent, Meter
from mindscape.errors import BudgetReached, InputError
from mindscape.llm.base import LLM, estimated_tokens
from mindscape.question import ANSWER, BUILD
from mindscape.store import Store
from tests.stubs import Stub, user


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
    with pytest.raises(InputError, match=rf"Budget\({name}={value}\): expected at least 1, or None for no bound"):
        Budget(**{name: value})


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
    assert isinstance(spent.value, BudgetReached) and len(meter.backend.asked) == 2
    assert meter.affords([user("three")]) and not meter.affords([user("three"), user("four")])


@given(
    st.integers(1, 400), st.lists(st.tuples(st.text("ab ", min_size=1, max_size=60), st.integers(1, 60)), max_size=12)
)
def test_a_token_budget_is_never_crossed(tokens, asked):
    meter = metered(say=lambda *_: "ab", tokens=tokens)
    for text, most in asked:
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
    assert first.steps == again.steps and again.llm.ledger.cached == 1 and not again.backend.asked
    assert first.tokens == again.tokens == estimated_tokens(user("one")) + estimated_tokens("a reply")
    assert (first.llm.ledger.tokens, again.llm.ledger.tokens) == (first.tokens, 0)


def test_what_was_built_elsewhere_may_be_counted():
    meter = metered(tokens=100)
    meter.add("a graph", 90, 5)
    assert meter.tokens == 95 and meter.calls == 1
    with pytest.raises(BudgetSpent):
        meter.complete("x", max_new_tokens=10)
