"""Replies in tags, as MiA-Signature and MoM ask for them: the form, a parser with named repairs, a grammar.

The form is a pydantic model. A field is a tag of its name on its own lines; a list of texts is a list of lines with a
dash; a list of models repeats the tag, once for each; a field with `BARE` stands in its parent without a tag; a field with
a default may be missing. What a text field holds may have no "<" in it. The grammar keeps a field's choices, `pattern` and
`min_length=1` of a list, and what a choice `Needs`.

    class Verdict(BaseModel):          <explanation>The lamp was sold.</explanation>
        explanation: str               <answer>TRUE</answer>
        answer: Literal["TRUE", "FALSE"]

What a reasoning model thinks before it answers stands in a reply as a block between two marks, several of them, or a closing
mark alone: many chat templates write the opening one themselves. A server that hands the thinking over beside the reply is read
by `mindscape.llm.endpoint`, into `Reply.thinking`. Thinking without any mark cannot be told from an answer.

Taught in notebook 01_the_reader. JSON is the business of `mindscape.llm.schema`.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

BARE = "bare"  # Annotated[str, BARE]: the text of a field without a tag
Text = Annotated[str, BARE]


@dataclass(frozen=True)
class Needs:
    """In the annotation of a field of choices: the later fields, texts with a default, that each choice must have.

    With a choice that is not named here, or not for them, those fields are not there.

    >>> class Step(BaseModel):
    ...     action: Annotated[Literal["STOP", "GO"], Needs({"GO": ("where",)})]
    ...     where: str = ""
    >>> print(Tags(Step).lark().splitlines()[0])
    start: ("<action>STOP</action>" | "<action>GO</action>" "\\n" "<where>" TEXT "</where>")
    """

    fields: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Tags:
    """A reply in the tags of a pydantic model; give it to `llm.chat` as `schema`.

    >>> class Verdict(BaseModel):
    ...     explanation: str
    ...     answer: Literal["TRUE", "FALSE"]
    >>> Tags(Verdict).render(Verdict(explanation="It was sold.", answer="TRUE"))
    '<explanation>It was sold.</explanation>\\n<answer>TRUE</answer>'
    >>> Tags(Verdict).parse("Well: <explanation>It was sold. <answer>true</answer>")
    ({'explanation': 'It was sold.', 'answer': 'TRUE'}, ['text around dropped', 'tag closed', 'case of a choice'])
    """

    model: type[BaseModel]

    def render(self, value: BaseModel) -> str:
        """The reply that says the value; its texts must not contain "<"."""
        return "\n".join(_render(value))

    def parse(self, text: str) -> tuple[dict[str, Any], list[str]]:
        """What the tags hold, as keywords of the model, and the names of the repairs that it took.

        Raises ValueError where a tag that must be there is not.
        """
        said, repairs = self._said(text)
        found, rest = _parse(self.model, said, repairs)
        if rest.strip():
            repairs.insert(0, "text around dropped")
        return found, repairs

    def _said(self, text: str) -> tuple[str, list[str]]:
        """The reply without its thinking; where that is a field, with the last that was thought in the field's own tag."""
        if "think" not in self.model.model_fields:
            return dropped(text, self.model.model_fields)
        try:
            said, thought = split(text)
        except ValueError:
            return text, []  # a tag that is not closed
        if not thought or (len(thought) == 1 and "<think>" in text):
            return text, []
        return f"<think>{thought[-1]}</think>\n{said}", ["thinking dropped"] if len(thought) > 1 else []

    def lark(self) -> str:
        """The form as a Lark grammar, to which decoding can be held."""
        _bare(self.model)
        rules: dict[str, str] = {}
        _rule("start", self.model, rules)
        lines = [f"{name}: {rule}" for name, rule in rules.items()]
        # Texts are not blank. Each takes every line break up to the next tag, so the break after a bare one is its own.
        text, line = r"[^<]*[^<\s][^<]*", r"[^<\n]*[^<\s][^<\n]*"
        return "\n".join([*lines, f"TEXT: /{text}/", rf"ENDED: /{text}\n/", f"LINE: /{line}/"])


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, bool, type[BaseModel] | None, tuple[str, ...]]]:
    """Name, field, whether it is a list, the model of its items, the choices it leaves."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        many = get_origin(kind) is list
        item = get_args(kind)[0] if many else kind
        nested = item if isinstance(item, type) and issubclass(item, BaseModel) else None
        choices = get_args(item) if get_origin(item) is Literal else ()
        yield name, field, many, nested, choices


def _render(value: BaseModel) -> list[str]:
    lines = []
    for name, field, many, nested, _ in _fields(type(value)):
        held = getattr(value, name)
        if not field.is_required() and held == field.get_default(call_default_factory=True):
            continue
        if nested:
            for one in held if many else [held]:
                lines += [f"<{name}>", *_render(one), f"</{name}>"]
        elif many:
            lines += [f"<{name}>", *(f"- {line}" for line in held), f"</{name}>"]
        else:
            lines.append(str(held) if BARE in field.metadata else f"<{name}>{held}</{name}>")
    return lines


def _parse(model: type[BaseModel], text: str, repairs: list[str]) -> tuple[dict[str, Any], str]:
    """The fields found, and the text with them taken out."""
    found: dict[str, Any] = {}
    for name, field, many, nested, choices in _fields(model):
        if BARE in field.metadata:
            continue
        inner, text = _take(name, text, repairs, all_of_them=bool(many and nested))
        if not inner:
            if field.is_required():
                raise ValueError(f"there is no <{name}>")
            continue
        if nested:
            values = [_parse(nested, one, repairs)[0] for one in inner]
            found[name] = values if many else values[0]
        elif many:
            found[name] = [line.strip().removeprefix("-").strip() for line in inner[0].split("\n") if line.strip()]
        else:
            found[name] = _choice(inner[0].strip(), choices, repairs)
    for name, field, *_ in _fields(model):
        if BARE in field.metadata:
            found[name], text = text.strip(), ""
        if (needs := _needs(field)) and name in found:
            for tied in _tied(needs):
                if bool(found.get(tied)) != (tied in needs.get(found[name], ())):
                    there = "a" if found.get(tied) else "no"
                    raise ValueError(f"the {name} is {found[name]}, and there is {there} <{tied}>")
    return found, text


def _needs(field: FieldInfo) -> Mapping[str, tuple[str, ...]] | None:
    return next((it.fields for it in field.metadata if isinstance(it, Needs)), None)


def _tied(needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The fields that stand with some choice only."""
    return list(dict.fromkeys(name for names in needs.values() for name in names))


def _take(name: str, text: str, repairs: list[str], all_of_them: bool) -> tuple[list[str], str]:
    """What stands in the tags of a name, and the text without; a tag that is not closed ends where the next tag begins."""
    inner, rest = taken(name, text, all_of_them)
    opened = re.search(rf"<{name}>([^<]*)", rest, re.IGNORECASE) if all_of_them or not inner else None
    if opened and inner:  # cut off in the last one: something was lost
        raise ValueError(f"a <{name}> is not closed")
    if opened:
        repairs.append("tag closed")
        return [opened[1]], rest[: opened.start()] + rest[opened.end() :]
    return inner, rest


def taken(name: str, text: str, all_of_them: bool = False) -> tuple[list[str], str]:
    """What stands between the tags of a name, the first or all of them, and the text without.

    >>> taken("b", "<b>one</b>, <B>two</B>")
    (['one'], ', <B>two</B>')
    """
    inner, rest, end = [], [], 0
    opening, closing = (re.compile(rf"<{mark}{name}>", re.IGNORECASE) for mark in ("", "/"))
    # Two searches rather than one pattern: where nothing is closed, that would go through the text from each opening tag.
    while (all_of_them or not inner) and (opened := opening.search(text, end)):
        closed = closing.search(text, opened.end())
        if closed is None:
            break
        inner.append(text[opened.end() : closed.start()])
        rest.append(text[end : opened.start()])
        end = closed.end()
    return inner, "".join([*rest, text[end:]])


def _choice(text: str, choices: tuple[str, ...], repairs: list[str]) -> str:
    if text in choices or not choices:
        return text
    bare = unicodedata.normalize("NFKC", text).strip("*_`\"'().: \n")  # full-width letters, and marks around
    same = next((choice for choice in choices if choice.lower() == bare.lower()), text)
    if same != text:
        repairs.append("case of a choice" if same.lower() == text.lower() else "marks around dropped")
    return same


def _rule(name: str, model: type[BaseModel], rules: dict[str, str]) -> None:
    """Add the rule of a model and those of the models within it. Fields stand on lines of their own."""
    rules[name] = ""  # keeps the order: a rule before those that it uses
    parts: list[str] = []
    tied: set[str] = set()  # fields that stand with a choice that needs them
    for field_name, field, many, nested, choices in _fields(model):
        if field_name in tied:
            continue
        needs = _needs(field)
        opened, closed = f'"<{field_name}>"', f'"</{field_name}>"'
        if needs is not None:
            tied |= set(_tied(needs))
            ways = []
            for choice in choices:
                more = (f' "\\n" "<{it}>" TEXT "</{it}>"' for it in needs.get(choice, ()))
                ways.append(f'"<{field_name}>{choice}</{field_name}>"' + "".join(more))
            part = "(" + " | ".join(ways) + ")"
        elif nested:
            _rule(field_name, nested, rules)
            ended = "" if _bare(nested) else '"\\n" '
            one = f'{opened} "\\n" {field_name} {ended}{closed}'
            part = f'{one} ("\\n" {one})*' if many else one
        elif many:
            times = "+" if any(getattr(it, "min_length", 0) for it in field.metadata) else "*"
            part = f'{opened} "\\n" ("- " LINE "\\n"){times} {closed}'
        elif BARE in field.metadata:
            part = "TEXT" if name == "start" else "ENDED"
        else:
            inner = "(" + " | ".join(f'"{choice}"' for choice in choices) + ")" if choices else _text(field)
            part = f"{opened} {inner} {closed}"
        before = '"\\n" ' if parts else ""
        parts.append(f"{before}{part}" if field.is_required() else f"({before}{part})?")
    rules[name] = " ".join(parts)


def _bare(model: type[BaseModel]) -> bool:
    """Whether the model's last field is bare. Raises ValueError where a bare text comes before another field."""
    bare = [BARE in field.metadata for field in model.model_fields.values()]
    if any(bare[:-1]):
        raise ValueError(f"{model.__name__}: a bare text can only be the last field")
    return bare[-1]


def _text(field: FieldInfo) -> str:
    """A text, as the field's pattern has it where there is one."""
    patterns = [it.pattern for it in field.metadata if getattr(it, "pattern", None)]
    return f"/{patterns[0].removeprefix('^').removesuffix('$')}/" if patterns else "TEXT"


# -- what was thought before the reply ------------------------------------------------------------------------------------

_NAMES = "think|thinking|thought|reasoning"  # tags, of which some are fields of a role's reply
_OPENS = (
    r"\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>|<\|channel\|?>(?:analysis<\|message\|>|thought\b)"
)
_CLOSES = r"\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>|<\|channel\|>final<\|message\|>|<channel\|>"
MARK = re.compile(
    rf"<(?:seed:)?(?P<open>{_NAMES})>|</(?:seed:)?(?P<close>{_NAMES})>|(?P<opens>{_OPENS})|{_CLOSES}", re.I
)


def split(text: str, fields: Collection[str] = ()) -> tuple[str, list[str]]:
    """What a reply says, and each thing that was thought before it; tags that are `fields` of the reply are left in it.

    Raises ValueError for a reply that ends inside its thinking.

    >>> split("<think>Ann?</think> Hugo"), split("Ann? No. </think>Hugo")
    (('Hugo', ['Ann?']), ('Hugo', ['Ann? No.']))
    """
    said, thought, start, thinking = [], [], 0, False
    for mark in MARK.finditer(text):
        if (mark["open"] or mark["close"] or "").lower() in fields:
            continue
        if mark["open"] or mark["opens"]:
            if not thinking:
                said.append(text[start : mark.start()])
                start, thinking = mark.end(), True
            continue
        before = text[start : mark.start()]
        if not thinking:  # the template has opened it
            before = "".join([*said, before])
            said.clear()
        thought.append(before.strip())
        start, thinking = mark.end(), False
    if thinking:
        raise ValueError("the reply ends inside its thinking")
    return ("".join([*said, text[start:]]).strip(), thought) if thought else (text, [])


def dropped(text: str, fields: Collection[str] = ()) -> tuple[str, list[str]]:
    """A reply without its thinking, and the name of that repair if there was any. Raises ValueError as `split` does."""
    said, thought = split(text, fields)
    return said, ["thinking dropped"] if thought else []
