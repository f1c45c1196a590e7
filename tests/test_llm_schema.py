"""The JSON parser with its named repairs, the check against a schema, and tools in words."""

import json
from functools import partial

import pytest
from extras import JSON, refused
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from mindscape.llm.base import MARK, Reply, conversation
from mindscape.llm.schema import checked, in_words, json_schema, parse, read_calls, validate

OBJECTS = st.dictionaries(st.text(), JSON, min_size=1)


@given(JSON)
def test_what_is_json_is_not_repaired(value):
    assert parse(json.dumps(value, ensure_ascii=False)) == (value, [])


@settings(max_examples=40)
@given(OBJECTS, st.text("abc \n:.,'中", max_size=20), st.text("abc \n:.,'中", max_size=20))
def test_frames_are_dropped_and_the_value_is_untouched(value, before, after):
    written = json.dumps(value, ensure_ascii=False, indent=1)
    assume(not MARK.search(written))  # in talk, marks of thinking are taken for what they are
    fenced = f"{before}\n```json\n{written}\n```\n{after}"
    assert "```" in written or parse(fenced)[0] == value
    assert parse(f"{before}{written}{after}")[0] == value
    assert parse(f"<think>{{not this}}</think>{written}") == (value, ["thinking dropped"])


@settings(max_examples=40)
@given(OBJECTS)
def test_trailing_commas_are_found_outside_strings_only(value):
    written = json.dumps({**value, "s": ', } ,] "\\"'}, ensure_ascii=False)
    assert parse(written[:-1] + ",\n}") == ({**value, "s": ', } ,] "\\"'}, ["trailing comma removed"])


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('{"a": True, "b": None, "c": "None"}', {"a": True, "b": None, "c": "None"}, ["Python constant"]),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}, ["line break in a string"]),
        ("Sure! [1, 2,] Done.", [1, 2], ["text around dropped", "trailing comma removed"]),
        ('```\n{"名": "哈姆雷特"}\n```', {"名": "哈姆雷特"}, ["code fence stripped"]),
    ],
)
def test_repairs_by_name(text, value, repairs):
    assert parse(text) == (value, repairs)


NONE = ["", "no JSON here", '{"a": 1', '{"a" 1}', '{"a": NaN}', "[" * 100_000, '{"a": "cut off in the midd', "}{"]
NONE += ["[0] and [2]", '[{"name": "Ann"}, {"name": "Ivo"', '{"age": 3, [1]', '{"age" 30} by [2]', "{", "{see above}"]


@pytest.mark.parametrize("text", NONE)
def test_what_cannot_be_mended_is_refused_and_no_part_is_taken_for_it(text):
    refused(lambda: parse(text), "not JSON", ValueError)


@given(st.text())
def test_any_text_is_parsed_or_refused(text):
    try:
        parse(text)
    except ValueError as error:
        assert "\n" not in str(error)


class Person(BaseModel):
    name: str
    age: int


def test_validation_names_the_place():
    assert validate({"name": "Bob", "age": 3}, Person) == Person(name="Bob", age=3)
    refused(lambda: validate({"name": "Bob", "age": "three"}, Person), "^at age: Input should be a valid integer", ValueError)
    nested = {"type": "object", "properties": {"ages": {"type": "array", "items": json_schema({"type": "integer"})}}}
    assert validate({"ages": [1]}, nested) == {"ages": [1]}
    refused(lambda: validate({"ages": [1, "x"]}, nested), r"^at ages\.1: 'x' is not of type 'integer'", ValueError)
    refused(lambda: json_schema("a person"), "expected a pydantic model, a JSON schema")


SEARCH = {"type": "function", "function": {"name": "search", "parameters": {}}}


@settings(max_examples=40)
@given(st.dictionaries(st.text(), JSON), st.text("abc中 \n", max_size=10))
def test_a_call_written_out_is_read_back(arguments, before):
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": arguments}}
    shown = in_words([{"role": "assistant", "content": before, "tool_calls": [call]}], [SEARCH])[-1]["content"]
    if "tool_call>" not in json.dumps(arguments, ensure_ascii=False):
        reply = read_calls(Reply(shown))
        assert [(c.name, c.arguments) for c in reply.tool_calls] == [("search", arguments)]
        assert reply.text == before.strip() and reply.finish == "tool_calls"


def test_results_and_instructions_in_words():
    said = (("system", "Be brief."), ("user", "Yorick?"), ("tool", "a skull"))
    messages = [{"role": role, "content": text} for role, text in said]
    shown = in_words(messages, [SEARCH])
    assert [m["role"] for m in shown] == ["system", "user", "user"]
    assert shown[0]["content"].startswith("Be brief.\n\n") and "<tool_response>\na skull" in shown[2]["content"]
    assert in_words(messages[:2], []) == messages[:2]


LONE = r'{"name": "f", "arguments": {"query": "\ud800"}}'  # half a surrogate pair


@pytest.mark.parametrize("block", ["{oops", '{"arguments": {}}', '{"name": "f", "arguments": 3}', "[1]", '{"name": 1}', LONE])
def test_calls_that_cannot_be_read(block):
    assert "cannot be read" in read_calls(Reply(f"<tool_call>{block}</tool_call>")).invalid


def test_bad_tools_and_messages():
    refused(lambda: checked([SEARCH, {"name": "search"}]), 'tool 1 is .*expected {"type": "function"')
    for messages, said in (
        ([], "empty"),
        ([{"role": "user", "content": None}], r"message 0 \(user\): expected its content to be text"),
        ([{"role": "user"}], r"message 0 \(user\): expected its content to be text"),
        ([{"role": "user", "content": "?"}, {"role": "bard", "content": "!"}], "message 1 .* one of system, user"),
    ):
        refused(partial(conversation, messages), said)
    as_text = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]}
    assert conversation([as_text])[0]["tool_calls"][0]["function"]["arguments"] == {"a": 1}
    assert conversation([{**as_text, "content": None}]) == conversation([as_text])  # as OpenAI has it


CALLS = [[3], "f", 7, [{}], [{"function": "f"}]]
CALLS += [[{"function": function}] for function in ({"name": "f"}, {"arguments": "{}"}, {"name": 1, "arguments": "{}"})]
CALLS += [[{"function": {"name": "f", "arguments": text}}] for text in ("{", "[1]", None, "[" * 100_000)]


@pytest.mark.parametrize("calls", CALLS)
def test_calls_of_a_message_that_are_none(calls):
    question = {"role": "user", "content": "?"}
    called = {"role": "assistant", "content": "", "tool_calls": calls}
    error = refused(lambda: conversation([question, called]), r'message 1: tool_calls is .*: expected \[{"id"')
    assert "\n" not in str(error)
