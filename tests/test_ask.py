"""One way to ask: read, tried again, counted; free first where decoding may be held to a form."""

import pytest

from mindscape import llm
from mindscape.ask import LONGEST, WARMER, Budget, BudgetSpent, Meter, ask, read_replies
from mindscape.llm.base import Reply, estimated_tokens
from mindscape.roles import ROLES
from mindscape.store import Store
from tests.stubs import Stub, in_turn

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


def asked(backend, role=SILVER, prompts=("a",), **how):
    return ask(llm.LanguageModel(backend), role, prompts, **how)


def test_each_prompt_has_its_answer_and_the_same_is_asked_once():
    stub = Choosy(lambda messages, *_: f"[{len(messages[-1]['content'])}]")
    answers = asked(stub, prompts=["a", "bbb", "a"])
    assert [answer.value for answer in answers] == [[1], [3], [1]] and len(stub.asked) == 2
    assert all(answer.calls == 1 and not answer.unread and not answer.cut for answer in answers)
    assert asked(stub, prompts=[]) == []


def test_a_reply_is_held_to_the_role_s_form_and_length():
    stub = Choosy(in_turn("[1]", "[1]", "[1]"))
    asked(stub), asked(stub, prompts=["b"], constrained=False), asked(stub, prompts=["c"], tokens=5)
    assert [schema is not None for _, _, schema in stub.asked] == [True, False, True]
    assert [of.max_new_tokens for of in stub.samplings] == [LONGEST["silver_chunks"]] * 2 + [5]


def test_every_role_has_a_length():
    assert LONGEST.keys() >= ROLES.keys()


def test_what_cannot_be_read_is_tried_again_warmer():
    stub = Choosy(in_turn("the first", "[1]", "nothing", "no"))
    first, second = asked(stub, prompts=["a"], tries=3), asked(stub, prompts=["b"], tries=2)
    assert first[0].value == [1] and first[0].calls == 2 and len(first[0].unread) == 1
    assert second[0].value is None and second[0].calls == 2 and len(second[0].unread) == 2 and second[0].text == "no"
    assert [(of.temperature, of.seed) for of in stub.samplings] == [(0, 0), (WARMER, 1)] * 2
    assert first[0].completion_tokens == sum(map(estimated_tokens, ("the first", "[1]")))


def test_a_reply_that_was_cut_off_cannot_be_read():
    stub = Choosy(in_turn(Reply("[1]", finish="length")))
    (answer,) = asked(stub)
    assert answer.cut and answer.value is None and answer.text == "[1]" and "cut off after" in answer.unread[0]
    (answer,) = asked(Choosy(in_turn("  ")), role=QA)  # nor one that says nothing
    assert answer.value is None and len(answer.unread) == 1


def test_free_first_asks_again_only_where_decoding_could_not_have_written_the_same():
    stub = Choosy(in_turn("[1]", "It is [2]", "[3]"), could=lambda text: text.startswith("["))
    kept, held = asked(stub, prompts=["a", "b"], free_first=True)
    assert (kept.text, kept.free, kept.value, kept.calls) == ("[1]", "[1]", [1], 1)
    assert (held.text, held.free, held.value, held.calls) == ("[3]", "It is [2]", [3], 2)
    assert [schema is not None for _, _, schema in stub.asked] == [False, False, True]


def test_a_role_without_a_form_is_asked_once():
    stub = Choosy(in_turn("the smith"), could=lambda text: False)
    (answer,) = asked(stub, role=QA, free_first=True)
    assert answer.value == "the smith" == answer.free and (len(stub.asked) == 1) == (QA.form is None)


def test_a_model_that_cannot_say_what_it_could_write_is_asked_twice():
    stub = Stub(in_turn("[1]", "[2]"))
    assert asked(stub, free_first=True)[0].value == [2]


def test_replies_come_out_of_the_store(tmp_path):
    first, second = Choosy(in_turn("[1]")), Choosy(in_turn("[1]"))
    for stub in (first, second):
        model = llm.LanguageModel(stub, store=Store(tmp_path / "s.sqlite"))
        assert ask(model, SILVER, ["a"])[0].value == [1]
    assert len(first.asked) == 1 and second.asked == []


def test_a_budget_is_kept():
    meter = Meter(llm.LanguageModel(Choosy(in_turn("[1]", "[2]"))), Budget(calls=2))
    assert [answer.value for answer in ask(meter, SILVER, ["a", "b"])] == [[1], [2]] and meter.calls == 2
    with pytest.raises(BudgetSpent, match="the budget of 2 calls is spent: 2 are made, 1 would be next"):
        ask(meter, SILVER, ["c"])


def test_free_first_sees_through_a_meter():
    stub = Choosy(in_turn("[1]"))
    assert ask(Meter(llm.LanguageModel(stub)), SILVER, ["a"], free_first=True)[0].calls == 1 == len(stub.asked)


def test_reading():
    assert read_replies(SILVER, "[0, 2]") == [0, 2]
    assert read_replies(SILVER, "the first") is None and read_replies(SILVER, "[0]", cut=True) is None
