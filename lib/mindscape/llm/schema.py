"""JSON by schema: the schema's form, a parser with named repairs, and the check of what was parsed.

Taught in notebook 00. A repair mends the frame around a value, never the value: what a model left unsaid stays unsaid.
Decoding that cannot leave the schema in the first place is the business of `mindscape.llm.local`.

Calls of tools are JSON, too: for models whose chat template knows none there is a plain way to show tools, and to read calls
out of a reply. The format is the one that Qwen's and other templates have natively, so one parser serves both: a call is an
object with `name` and `arguments` between `<tool_call>` and `</tool_call>`; results come back between `<tool_response>`
tags. Nothing here calls a tool: the caller does, and appends a message with role "tool".
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from mindscape import prompts
from mindscape.errors import InputError
from mindscape.llm.base import Message, Reply, Schema, Tags, Tool, ToolCall, dropped

# All patterns here take time in proportion to the text, whatever it holds: what is matched is never given back ("*+").
STRING = r'"(?:\\.|[^"\\])*+"?'  # one that is cut off goes on to the end
PARTS = re.compile(rf"{STRING}|[{{}}\[\]]", re.DOTALL)
# Not "{see above}".
OPENS = re.compile(r"""\{(?=\s*["'}])|\[(?=\s*(?:["'{\[\]\d/-]|true|false|null|True|False|None))""")
FENCE = re.compile(r"```\w*\s*\Z")


def json_schema(schema: Schema) -> dict[str, Any]:
    """What a backend is told: the JSON schema of a pydantic model, a JSON schema as it is, the grammar of `Tags`.

    Raises InputError for anything else.

    >>> json_schema({"type": "integer"})
    {'type': 'integer'}
    """
    if isinstance(schema, Tags):
        return {"title": title(schema), "lark": schema.lark()}
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_json_schema()
    if isinstance(schema, Mapping):
        return dict(schema)
    raise InputError(f"schema={schema!r:.80}: expected a pydantic model, a JSON schema as a dict, or Tags")


def title(schema: Schema) -> str:
    """What a message calls the schema."""
    if isinstance(schema, Tags):
        return schema.model.__name__
    return schema.__name__ if isinstance(schema, type) else str(schema.get("title", "the JSON schema"))


def _outside_strings(pattern: str, repl: Any, text: str) -> str:
    """`re.sub` where the pattern's group 1 matched; strings are stepped over."""
    return re.sub(f"{STRING}|{pattern}", lambda m: repl(m[1]) if m[1] is not None else m[0], text, flags=re.DOTALL)


def _escape_newlines(text: str) -> str:
    escape = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
    return re.sub(STRING, lambda m: m[0].translate(escape), text, flags=re.DOTALL)


WORDS = {"True": "true", "False": "false", "None": "null"}
# Of a value, in the order in which they are tried; each works on what the one before left.
REPAIRS: dict[str, Callable[[str], str]] = {
    "trailing comma removed": partial(_outside_strings, r"(,)(?=\s*[}\]])", lambda _: ""),
    "Python constant": partial(_outside_strings, r"\b(True|False|None)\b", WORDS.__getitem__),
    "line break in a string": _escape_newlines,
}


def _loads(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _mended(text: str) -> tuple[Any, list[str]]:
    """The value that a text is, and the repairs that it took. Raises ValueError."""
    try:
        return _loads(text), []
    except ValueError as error:
        problem = error
    made = []
    for name, repair in REPAIRS.items():
        before, text = text, repair(text)
        if text != before:
            made.append(name)
            with suppress(ValueError):
                return _loads(text), made
    raise ValueError(f"not JSON: {problem}")


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where something begins as objects and lists do and ends at its closing bracket; none after one that never ends."""
    end = 0
    while opened := OPENS.search(text, end):
        depth = 0
        for part in PARTS.finditer(text, opened.start()):
            depth += (part[0] in "{[") - (part[0] in "}]")
            if not depth:
                break
        else:
            return  # cut off: a part of it is not what was meant
        end = part.end()
        yield opened.start(), end


def _values(text: str) -> list[tuple[Any, list[str]]]:
    """The values in a reply with the repairs that each took, what is meant first: the last object, before the longest list, for
    lists in prose may be citations. Raises ValueError where there is none, or no longest one."""
    try:
        return [_mended(text)]
    except ValueError:
        text, thought = dropped(text)
    parsed: dict[str, list] = {"{": [], "[": []}
    broken: dict[str, ValueError] = {}
    for start, end in _spans(text):
        fenced = FENCE.search(text[max(0, start - 40) : start])
        frame = "code fence stripped" if fenced else "text around dropped" if text.strip() != text[start:end] else ""
        try:
            value, made = _mended(text[start:end])
            parsed[text[start]].append((value, [*thought, *filter(None, [frame]), *made]))
        except ValueError as error:
            broken[text[start]] = error
    objects, lists = ([pair for pair in pairs if pair[0]] or pairs for pairs in parsed.values())
    if objects or lists and not broken:
        longest = max((len(value) for value, _ in lists), default=0)
        lists = [pair for pair in lists if len(pair[0]) == longest]
        if objects or len(lists) == 1:
            return [*reversed(objects), *lists[:1]]
        raise ValueError(f"not JSON: {len(lists)} lists, none of them the longest")
    if broken:
        raise broken.get("{") or broken["["]
    value, made = _mended(text)
    return [(value, [*thought, *made])]


def read(text: str, schema: Schema) -> tuple[Any, list[str]]:
    """The value that a reply gives, as the schema has it, and the repairs that it took. Raises ValueError.

    >>> read(" at the inn", {"type": "string", "lark": 'start: "at the inn" | "at sea"'})  # plain words, held to a grammar
    ('at the inn', [])
    """
    if isinstance(schema, Mapping) and "lark" in schema and schema.get("type") == "string":
        return text.strip(), []
    wrong = None
    for value, repairs in [schema.parse(text)] if isinstance(schema, Tags) else _values(text):
        try:
            return validate(value, schema), repairs
        except ValueError as error:
            wrong = wrong or error
    raise wrong


def parse(text: str) -> tuple[Any, list[str]]:
    """The JSON value in `text`, and the names of the repairs that it took. Raises ValueError if there is none.

    >>> parse('As passage [2] says:\\n```json\\n{"age": 30,}\\n```')
    ({'age': 30}, ['code fence stripped', 'trailing comma removed'])
    """
    return _values(text)[0]


def validate(value: Any, schema: Schema) -> Any:
    """The value as the schema has it: an instance of a pydantic model, or the value itself for a JSON schema.

    Raises ValueError, one line that names the place, if it does not fit.

    >>> validate("six", {"type": "integer"})
    Traceback (most recent call last):
    ...
    ValueError: at the top: 'six' is not of type 'integer'
    """
    schema = schema.model if isinstance(schema, Tags) else schema
    if isinstance(schema, type):
        try:
            return schema.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise ValueError(f"at {_place(first['loc'])}: {first['msg']}") from None
    if "lark" in schema:
        return value  # a grammar says how a reply is written, not what it holds
    import jsonschema

    first = jsonschema.exceptions.best_match(jsonschema.validators.validator_for(schema)(schema).iter_errors(value))
    if first is not None:
        raise ValueError(f"at {_place(first.absolute_path)}: {first.message:.200}")
    return value


def _place(path: Any) -> str:
    return ".".join(map(str, path)) or "the top"


# -- tools -----------------------------------------------------------------------------------------------------------------


def checked(tools: Sequence[Tool] | None) -> list[dict[str, Any]]:
    """The tools as plain dicts. Raises InputError, with the place, for what is not a tool in OpenAI's form."""
    for i, tool in enumerate(tools or ()):
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            form = '{"type": "function", "function": {"name": ..., "description": ..., "parameters": JSON schema}}'
            raise InputError(f"tool {i} is {tool!r:.80}: expected {form}")
    return [{"type": "function", "function": dict(tool["function"])} for tool in tools or ()]


def in_words(messages: Sequence[Message], tools: Sequence[Tool]) -> list[dict[str, str]]:
    """The conversation with tools, calls and results written out as text, for a template that has no place for them.

    >>> search = {"function": {"name": "search", "parameters": {}}}
    >>> shown = in_words([{"role": "user", "content": "Who is Yorick?"}], [search])
    >>> [message["role"] for message in shown], '{"name": "search", "parameters": {}}' in shown[0]["content"]
    (['system', 'user'], True)
    """
    messages, written = list(messages), []
    if tools:
        listed = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
        before = [messages.pop(0)["content"]] if messages and messages[0]["role"] == "system" else []
        shown = prompts.text("llm", "tools").format(tools=listed)
        written.append({"role": "system", "content": "\n\n".join([*before, shown])})
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "tool":
            role, content = "user", f"<tool_response>\n{content}\n</tool_response>"
        for call in message.get("tool_calls") or ():
            content += f"\n<tool_call>\n{json.dumps(call['function'], ensure_ascii=False)}\n</tool_call>"
        written.append({"role": role, "content": content.strip()})
    return written


def read_calls(reply: Reply) -> Reply:
    """The reply with the calls in its text taken out of it; `invalid` says so if one cannot be read.

    >>> read_calls(Reply('<tool_call>{"name": "search", "arguments": {"query": "Yorick"}}</tool_call>')).tool_calls
    (ToolCall(name='search', arguments={'query': 'Yorick'}, id='call_0'),)
    """
    try:
        said, calls = dropped(reply.text)[0], []
    except ValueError:
        return reply  # it thinks to its end
    for i, block in enumerate(re.findall(r"<tool_call>(.*?)(?:</tool_call>|$)", said, flags=re.DOTALL)):
        try:
            call, _ = parse(block)
            arguments = call.get("arguments", call.get("parameters", {}))
            calls.append(tool_call(call["name"], arguments, f"call_{i}"))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            return replace(reply, invalid=f"the reply holds a tool call that cannot be read: {error}")
    text = re.sub(r"<tool_call>.*?(</tool_call>|$)", "", said, flags=re.DOTALL).strip()
    return replace(reply, text=text, tool_calls=tuple(calls), finish="tool_calls") if calls else reply


def tool_call(name: Any, arguments: Any, call_id: str) -> ToolCall:
    """A call as the model wrote it. Raises ValueError if there is no name or no object of arguments.

    >>> tool_call("search", '{"query": "Yorick"}', "call_0").arguments
    {'query': 'Yorick'}
    """
    if isinstance(arguments, str):  # OpenAI's own format writes the object as a string
        arguments = parse(arguments or "{}")[0]
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ValueError("expected a name and an object of arguments")
    json.dumps([name, arguments], ensure_ascii=False).encode()  # raises ValueError for half a surrogate pair
    return ToolCall(name, arguments, call_id)
