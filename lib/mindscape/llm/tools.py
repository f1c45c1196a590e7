"""Tools for models whose chat template knows none: a plain way to show them, and to read calls out of a reply.

The format is the one that Qwen's and other templates have natively, so one parser serves both: a call is a JSON object
with `name` and `arguments` between `<tool_call>` and `</tool_call>`; results come back between `<tool_response>` tags.

Taught in notebook 00. Nothing here calls a tool: the caller does, and appends a message with role "tool".
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mindscape import prompts
from mindscape.errors import InputError
from mindscape.llm.base import Message, Reply, Tool, ToolCall
from mindscape.llm.schema import parse
from mindscape.llm.thinking import dropped

INSTRUCTION = prompts.text("llm", "tools")


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
        written.append({"role": "system", "content": "\n\n".join([*before, INSTRUCTION.format(tools=listed)])})
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
    if not calls:
        return reply
    text = re.sub(r"<tool_call>.*?(</tool_call>|$)", "", said, flags=re.DOTALL).strip()
    return replace(reply, text=text, tool_calls=tuple(calls), finish="tool_calls")


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
