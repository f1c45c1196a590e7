"""Replies in tags: what is rendered is parsed again, what is nearly right is mended by name, decoding is held to it. And
threads that ask a model together."""

import random
import threading
from functools import partial
from itertools import islice
from typing import Annotated, Literal

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from stubs import accepts, user

import storyworld
from mindscape import llm as models
from mindscape.errors import LLMError
from mindscape.llm.base import Needs, Reply, Tags, Text, for_each, side_by_side
from mindscape.llm.schema import json_schema, read
from mindscape.roles import ROLES
from storyworld import teaching


class Scenario(BaseModel):
    chunk: str
    core: Text


class Memory(BaseModel):
    think: str
    outline: list[str]
    scenario: list[Scenario]


class Update(BaseModel):
    notes: list[str]
    confidence: Literal["HIGH", "LOW"]
    query: str = ""


letters = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="<")
texts = st.text(letters, min_size=1).map(str.strip).filter(bool)
lines = st.lists(texts.filter(lambda text: not text.startswith("-")), max_size=4)
scenarios = st.lists(st.builds(Scenario, chunk=texts, core=texts), min_size=1, max_size=3)
memories = st.builds(Memory, think=texts, outline=lines, scenario=scenarios)
updates = st.builds(Update, notes=lines, confidence=st.sampled_from(["HIGH", "LOW"]), query=st.just("") | texts)


@given(memories | updates)
def test_what_is_rendered_is_read_again(value):
    form = Tags(type(value))
    assert read(form.render(value), form) == (value, [])


@pytest.mark.parametrize(
    "text, repairs",
    [
        ("<notes>\n- a\n</notes>\n<confidence>HIGH</confidence>", []),
        ("Sure!\n<notes>\n- a\n</notes>\n<confidence>HIGH</confidence>", ["text around dropped"]),
        ("<notes>\na\n<confidence>HIGH</confidence>", ["tag closed"]),
        ("<NOTES>\n- a\n</NOTES>\n<confidence>high</confidence>", ["case of a choice"]),
    ],
)
def test_repairs_have_names(text, repairs):
    assert read(text, Tags(Update)) == (Update(notes=["a"], confidence="HIGH"), repairs)


def test_what_is_not_there_is_named():
    form, neither = Tags(Update), "<notes>\n</notes>\n<confidence>SO</confidence>"
    refused(lambda: read("nothing", form), "there is no <notes>", ValueError)
    refused(lambda: read(neither, form), "at confidence: Input should be 'HIGH' or 'LOW'", ValueError)
    refused(lambda: read("<notes>\n</notes>", form), "there is no <confidence>", ValueError)


class Step(BaseModel):
    names: list[str] = Field(min_length=1)
    code: str = Field(pattern=r"^[a-z]+\[X\][0-9]$")
    action: Annotated[Literal["STOP", "GO", "TURN"], Needs({"GO": ("where", "when"), "TURN": ("where",)})]
    where: str = ""
    when: str = ""


FRAME = "<names>\n- Ivo\n</names>\n<code>ab[X]7</code>\n"


@pytest.mark.parametrize(
    "text, fits",
    [
        (FRAME + "<action>STOP</action>", True),
        (FRAME + "<action>TURN</action>\n<where>left</where>", True),
        (FRAME + "<action>GO</action>\n<where>on</where>\n<when>now</when>", True),
        (FRAME + "<action>GO</action>\n<where>on</where>", False),
        (FRAME + "<action>STOP</action>\n<where>on</where>", False),
        (FRAME.replace("- Ivo\n", "") + "<action>STOP</action>", False),
        (FRAME.replace("[X]", "") + "<action>STOP</action>", False),
        (FRAME + "<action>TURN</action>\n<where> \n</where>", False),  # a blank is no text
    ],
)
def test_the_grammar_keeps_patterns_and_what_a_choice_needs(tokenizer, text, fits):
    assert accepts(json_schema(Tags(Step)), text, tokenizer) == fits


@pytest.mark.parametrize("name", [name for name, role in ROLES.items() if isinstance(role.form, Tags)])
def test_the_grammars_of_the_roles_take_their_gold(tokenizer, name, language):
    book = storyworld.book(1004, tokens=15_000, language=language)
    examples = list(islice(teaching.examples(name, book, tokenizer), 6))
    assert examples
    assert all(accepts(json_schema(ROLES[name].form), example.reply, tokenizer) for example in examples)


def test_a_bare_text_before_another_field_is_refused():
    class Inner(BaseModel):
        core: Text
        chunk: str

    class Wrong(BaseModel):
        scenario: list[Inner]

    refused(Tags(Wrong).lark, "Inner: a bare text can only be the last field", ValueError)


def test_a_reply_cut_off_in_its_last_part_is_not_whole():
    whole = Tags(Memory).render(Memory(think="So.", outline=["a"], scenario=[Scenario(chunk="x", core="y")] * 2))
    for end in range(whole.index("<scenario>", whole.index("</scenario>")) + len("<scenario>"), len(whole) - 12):
        refused(partial(read, whole[:end], Tags(Memory)), "a <scenario> is not closed", ValueError)


@pytest.mark.parametrize("name", [name for name, role in ROLES.items() if isinstance(role.form, Tags)])
def test_what_the_grammar_allows_can_be_read(tokenizer, name):
    """Gold replies with pieces cut out, blanked or put in: what the grammar still takes, the form reads."""
    book, form, rng = storyworld.book(1005, tokens=15_000), json_schema(ROLES[name].form), random.Random(0)
    gold = [example.reply for example in islice(teaching.examples(name, book, tokenizer), 5)]
    taken = 0
    for _ in range(150):
        text = rng.choice(gold)
        start = rng.randrange(len(text))
        end = min(len(text), start + rng.choice([0, 1, 5, 40]))
        put = rng.choice(["", " ", "\n", "- ", "  \n", "x", "[MASK]", " " * (end - start)])
        text = text[:start] + put + text[end:]
        if accepts(form, text, tokenizer):
            taken += 1
            read(text, ROLES[name].form)
    assert taken >= 10 or name == "choice"


class Letter(BaseModel):
    letter: Literal["A", "B"]


def test_decoding_is_held_to_the_tags():
    reader = models.load("smollm2", cache=False)
    talk = [{"role": "user", "content": "Which letter comes first in the alphabet, and why? Explain at length."}]
    free, held = (reader.chat(talk, max_new_tokens=12, schema=schema) for schema in (None, Tags(Letter)))
    assert (held.finish, free.finish) == ("stop", "length")
    assert held.text == f"<letter>{held.parsed.letter}</letter>"


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

    refused(lambda: side_by_side(model, [fails, several]), "no", LLMError)
    assert sorted(map(sorted, model.batches)) == [["a", "b"], ["fail"]]
    assert side_by_side(Slow(), [several, several]) == [(["A", "B"], 3)] * 2
    alike = [fails, fails, lambda llm: llm.chat(user("a"), max_new_tokens=9)]  # and so in one batch: all hear of it
    refused(lambda: side_by_side(model, alike), "no", LLMError)


def test_jobs_with_other_schemas_are_asked_together():
    """Each conversation keeps its own, and what is asked without one stays apart; a schema for all is passed on as it was."""
    calls = []

    class Held(Slow):
        def chat(self, talks, schema=None, **options):
            calls.append({talk[0]["content"]: form for talk, form in zip(talks, for_each(schema, len(talks)), strict=True)})
            return super().chat(talks, **options)

    def job(llm, texts, schema):
        return [reply.text for reply in llm.chat([user(text) for text in texts], schema=schema)]

    groups = [(["a", "b"], {"enum": [1]}), (["c"], {"enum": [2]}), (["d", "e"], None), (["f", "g"], [{"enum": [3]}, {}])]
    jobs = [partial(job, texts=texts, schema=schema) for texts, schema in groups]
    assert side_by_side(Held(), jobs) == [["A", "B"], ["C"], ["D", "E"], ["F", "G"]]
    first, second, third = ({"enum": [i]} for i in (1, 2, 3))
    held = {"a": first, "b": first, "c": second, "f": third, "g": {}}
    assert sorted(calls, key=len) == [{"d": None, "e": None}, held]
    refused(lambda: side_by_side(Held(), [partial(job, texts=["a", "b"], schema=[{}])]), "1 schemas for 2")
