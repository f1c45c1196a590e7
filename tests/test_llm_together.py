"""Threads that ask a model together."""

import threading
from functools import partial

import pytest
from stubs import user

from mindscape.errors import InputError, LLMError
from mindscape.llm.base import Reply, Together, for_each, side_by_side


class Slow:
    """A model that keeps the batches it is asked, and the threads that were inside it at once."""

    name, fingerprint, context = "slow", "slow", 100

    def __init__(self):
        self.batches, self.inside, self.most = [], 0, 0

    def count_tokens(self, prompt):
        return len(str(prompt))

    def chat(self, talks, **options):
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.batches.append([talk[0]["content"] for talk in talks])
        threading.Event().wait(0.01)
        self.inside -= 1
        if any("fail" in talk[0]["content"] for talk in talks):
            raise LLMError("no")
        return [Reply(talk[0]["content"].upper()) for talk in talks]


def test_threads_ask_together():
    """Jobs of unequal length: a batch holds what all that are left ask at that time."""

    def job(name, turns, llm):
        return [llm.chat(user(f"{name}{i}")).text for i in range(turns)] + [llm.context, llm.name]

    model = Slow()
    jobs = [lambda llm, n=n: job("abc"[n], n + 1, llm) for n in range(3)]
    said = ["A0"], ["B0", "B1"], ["C0", "C1", "C2"]
    assert side_by_side(model, jobs) == [[*texts, 100, "slow"] for texts in said]
    assert [sorted(batch) for batch in model.batches] == [["a0", "b0", "c0"], ["b1", "c1"], ["c2"]] and model.most == 1
    assert side_by_side(model, []) == []


def test_options_and_errors_stay_apart():
    model = Slow()

    def fails(llm):
        return llm.chat(user("fail"), max_new_tokens=9).text

    def several(llm):
        return [reply.text for reply in llm.chat([user("a"), user("b")], max_new_tokens=5)], llm.count_tokens("abc")

    with pytest.raises(LLMError):
        side_by_side(model, [fails, several])
    assert sorted(map(sorted, model.batches)) == [["a", "b"], ["fail"]]
    assert side_by_side(Slow(), [several, several]) == [(["A", "B"], 3)] * 2
    with pytest.raises(LLMError):  # alike, and so in one batch: both hear of it
        side_by_side(model, [fails, fails, lambda llm: llm.chat(user("a"), max_new_tokens=9)])


def test_a_thread_that_leaves_lets_the_others_go_on():
    together = Together(Slow(), 2)
    together.leave()
    assert together.chat(user("a")).text == "A"


def test_jobs_with_other_schemas_are_asked_together():
    """Each conversation keeps its own, and what is asked without one stays apart; a schema for all is passed on as it was."""
    told = []

    class Held(Slow):
        def chat(self, talks, schema=None, **options):
            told.append({talk[0]["content"]: of for talk, of in zip(talks, for_each(schema, len(talks)), strict=True)})
            return super().chat(talks, **options)

    def job(llm, texts, schema):
        return [reply.text for reply in llm.chat([user(text) for text in texts], schema=schema)]

    asked = [(["a", "b"], {"enum": [1]}), (["c"], {"enum": [2]}), (["d", "e"], None), (["f", "g"], [{"enum": [3]}, {}])]
    jobs = [partial(job, texts=texts, schema=schema) for texts, schema in asked]
    assert side_by_side(Held(), jobs) == [["A", "B"], ["C"], ["D", "E"], ["F", "G"]]
    one, two, three = ({"enum": [i]} for i in (1, 2, 3))
    held = {"a": one, "b": one, "c": two, "f": three, "g": {}}
    assert sorted(told, key=len) == [{"d": None, "e": None}, held]
    with pytest.raises(InputError, match="1 schemas for 2"):
        side_by_side(Held(), [partial(job, texts=["a", "b"], schema=[{}])])
