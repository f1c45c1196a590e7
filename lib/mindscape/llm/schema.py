"""JSON by schema: the schema's form, a parser with named repairs, and the check of what was parsed.

Taught in notebook 00. A repair mends the frame around a value, never the value: what a model left unsaid stays unsaid.
Decoding that cannot leave the schema in the first place is the business of `mindscape.llm.local`.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from mindscape.errors import InputError
from mindscape.llm.base import Schema
from mindscape.llm.tags import THINKING, Tags

STRING = r'"(?:\\.|[^"\\])*"'


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


def _drop_thinking(text: str) -> str:
    return re.sub(THINKING, "", text, flags=re.DOTALL)


def _strip_fence(text: str) -> str:
    fenced = re.search(r"```[a-zA-Z]*\s*\n(.*?)\n?\s*```", text, flags=re.DOTALL)
    return fenced[1] if fenced else text


def _drop_around(text: str) -> str:
    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=0)
    end = text.rfind("}" if text[start : start + 1] == "{" else "]") + 1
    return text[start:end] if end > start else text


def _outside_strings(pattern: str, repl: Any, text: str) -> str:
    """`re.sub` where the pattern's group 1 matched; strings are stepped over."""
    return re.sub(f"{STRING}|{pattern}", lambda m: repl(m[1]) if m[1] is not None else m[0], text)


def _drop_trailing_commas(text: str) -> str:
    return _outside_strings(r"(,)(?=\s*[}\]])", lambda _: "", text)


def _python_constants(text: str) -> str:
    words = {"True": "true", "False": "false", "None": "null"}
    return _outside_strings(r"\b(True|False|None)\b", words.__getitem__, text)


def _escape_newlines(text: str) -> str:
    escape = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return re.sub(STRING, lambda m: re.sub("[\n\r\t]", lambda c: escape[c[0]], m[0]), text, flags=re.DOTALL)


REPAIRS = {  # in the order in which they are tried; each works on what the one before left
    "thinking dropped": _drop_thinking,
    "code fence stripped": _strip_fence,
    "text around dropped": _drop_around,
    "trailing comma removed": _drop_trailing_commas,
    "Python constant": _python_constants,
    "line break in a string": _escape_newlines,
}


def _loads(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read(text: str, schema: Schema) -> tuple[Any, list[str]]:
    """The value that a reply gives, as the schema has it, and the repairs that it took. Raises ValueError."""
    value, repairs = schema.parse(text) if isinstance(schema, Tags) else parse(text)
    return validate(value, schema), repairs


def parse(text: str) -> tuple[Any, list[str]]:
    """The JSON value in `text`, and the names of the repairs that it took. Raises ValueError if there is none.

    >>> parse('Here it is:\\n```json\\n{"age": 30,}\\n```')
    ({'age': 30}, ['code fence stripped', 'trailing comma removed'])
    """
    try:
        return _loads(text), []
    except ValueError as error:
        problem = error
    made = []
    for name, repair in REPAIRS.items():
        repaired = repair(text)
        if repaired != text:
            text = repaired
            made.append(name)
            try:
                return _loads(text), made
            except ValueError:
                continue
    raise ValueError(f"not JSON: {problem}")


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
