"""Replies in tags: what is rendered is parsed again, what is nearly right is mended by name, decoding is held to it."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLMatcher
from pydantic import BaseModel

from mindscape import llm as models
from mindscape.llm.schema import read
from mindscape.llm.tags import Tags, Text


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


texts = (
    st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="<"), min_size=1)
    .map(str.strip)
    .filter(bool)
)
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


@pytest.mark.parametrize(
    "text, said",
    [
        ("nothing", "there is no <notes>"),
        ("<notes>\n</notes>\n<confidence>SO</confidence>", "at confidence: Input should be 'HIGH' or 'LOW'"),
        ("<notes>\n</notes>", "there is no <confidence>"),
    ],
)
def test_what_is_not_there_is_named(text, said):
    with pytest.raises(ValueError, match=said):
        read(text, Tags(Update))


@pytest.mark.parametrize("model", [Memory, Update])
def test_the_grammar_is_one(model):
    assert not LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(Tags(model).lark()))


def test_decoding_is_held_to_the_tags(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDSCAPE_CACHE", str(tmp_path))
    reader = models.load("embedded", cache=False)
    reply = reader.chat(
        [{"role": "user", "content": "Is it snowing? Two notes, then how sure you are."}],
        schema=Tags(Update),
        max_new_tokens=60,
    )
    assert reply.invalid.startswith("the reply does not fit Update (cut off") or reply.parsed.confidence in (
        "HIGH",
        "LOW",
    )
    assert reply.text.startswith("<notes>\n")
