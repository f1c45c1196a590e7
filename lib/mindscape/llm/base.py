"""The words that every backend and every caller share: messages, sampling, replies, scores, and the two protocols; replies in
tags, thinking before a reply, and jobs that ask side by side.

Replies in tags, as MiA-Signature and MoM ask for them: the form, a parser with named repairs, a grammar. The form is a
pydantic model. A field is a tag of its name on its own lines; a list of texts is a list of lines with a
dash; a list of models repeats the tag, once for each; a field with `BARE` stands in its parent without a tag; a field with
a default may be missing. What a text field holds may have no "<" in it. The grammar keeps a field's choices, `pattern` and
`min_length=1` of a list, and what a choice `Needs`.

    class Verdict(BaseModel):          <explanation>The lamp was sold.</explanation>
        explanation: str               <answer>TRUE</answer>
        answer: Literal["TRUE", "FALSE"]

What a reasoning model thinks before it answers stands in a reply as a block between two marks, several of them, or a closing
mark alone: many chat templates write the opening one themselves. A server that hands the thinking over beside the reply is read
by `mindscape.llm.endpoint`, into `Reply.thinking`. Thinking without any mark cannot be told from an answer.

Several jobs that ask a model one thing after the other go side by side: what they ask at a time goes to it in one batch.
Replies are those of the jobs one by one, up to the model's rounding.

Nothing here loads a model, touches the disk or knows what is asked; JSON is the business of `mindscape.llm.schema`. Taught in
notebooks 00, 01_the_reader (tags) and 32_long_reason (side by side).
"""

import json
import re
import threading
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field, replace
from math import ceil, exp, inf
from typing import Annotated, Any, Final, Literal, Protocol, cast, get_args, get_origin, overload, runtime_checkable

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mindscape.errors import InputError, LLMError, require

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
        fields, rest = _parse(self.model, said, repairs)
        if rest.strip():
            repairs.insert(0, "text around dropped")
        return fields, repairs

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
    for name, info in model.model_fields.items():
        kind = info.annotation
        many = get_origin(kind) is list
        item = get_args(kind)[0] if many else kind
        nested = item if isinstance(item, type) and issubclass(item, BaseModel) else None
        choices = get_args(item) if get_origin(item) is Literal else ()
        yield name, info, many, nested, choices


def _render(value: BaseModel) -> list[str]:
    lines = []
    for name, info, many, nested, _ in _fields(type(value)):
        held = getattr(value, name)
        if not info.is_required() and held == info.get_default(call_default_factory=True):
            continue
        if nested:
            for item in held if many else [held]:
                lines += [f"<{name}>", *_render(item), f"</{name}>"]
        elif many:
            lines += [f"<{name}>", *(f"- {line}" for line in held), f"</{name}>"]
        else:
            lines.append(str(held) if BARE in info.metadata else f"<{name}>{held}</{name}>")
    return lines


def _parse(model: type[BaseModel], text: str, repairs: list[str]) -> tuple[dict[str, Any], str]:
    """The fields found, and the text with them taken out."""
    fields: dict[str, Any] = {}
    for name, info, many, nested, choices in _fields(model):
        if BARE in info.metadata:
            continue
        inner, text = _take(name, text, repairs, all_of_them=bool(many and nested))
        if not inner:
            if info.is_required():
                raise ValueError(f"there is no <{name}>")
            continue
        if nested:
            values = [_parse(nested, content, repairs)[0] for content in inner]
            fields[name] = values if many else values[0]
        elif many:
            fields[name] = [line.strip().removeprefix("-").strip() for line in inner[0].split("\n") if line.strip()]
        else:
            fields[name] = _choice(inner[0].strip(), choices, repairs)
    for name, info, *_ in _fields(model):
        if BARE in info.metadata:
            fields[name], text = text.strip(), ""
        if (needs := _needs(info)) and name in fields:
            for tied in _tied(needs):
                if bool(fields.get(tied)) != (tied in needs.get(fields[name], ())):
                    there = "a" if fields.get(tied) else "no"
                    raise ValueError(f"the {name} is {fields[name]}, and there is {there} <{tied}>")
    return fields, text


def _needs(info: FieldInfo) -> Mapping[str, tuple[str, ...]] | None:
    return next((marker.fields for marker in info.metadata if isinstance(marker, Needs)), None)


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
    for field_name, info, many, nested, choices in _fields(model):
        if field_name in tied:
            continue
        needs = _needs(info)
        opened, closed = f'"<{field_name}>"', f'"</{field_name}>"'
        if needs is not None:
            tied |= set(_tied(needs))
            ways = []
            for choice in choices:
                more = (f' "\\n" "<{needed}>" TEXT "</{needed}>"' for needed in needs.get(choice, ()))
                ways.append(f'"<{field_name}>{choice}</{field_name}>"' + "".join(more))
            part = "(" + " | ".join(ways) + ")"
        elif nested:
            _rule(field_name, nested, rules)
            ended = "" if _bare(nested) else '"\\n" '
            element = f'{opened} "\\n" {field_name} {ended}{closed}'
            part = f'{element} ("\\n" {element})*' if many else element
        elif many:
            times = "+" if any(getattr(marker, "min_length", 0) for marker in info.metadata) else "*"
            part = f'{opened} "\\n" ("- " LINE "\\n"){times} {closed}'
        elif BARE in info.metadata:
            part = "TEXT" if name == "start" else "ENDED"
        else:
            inner = "(" + " | ".join(f'"{choice}"' for choice in choices) + ")" if choices else _text(info)
            part = f"{opened} {inner} {closed}"
        before = '"\\n" ' if parts else ""
        parts.append(f"{before}{part}" if info.is_required() else f"({before}{part})?")
    rules[name] = " ".join(parts)


def _bare(model: type[BaseModel]) -> bool:
    """Whether the model's last field is bare. Raises ValueError where a bare text comes before another field."""
    bare = [BARE in info.metadata for info in model.model_fields.values()]
    if any(bare[:-1]):
        raise ValueError(f"{model.__name__}: a bare text can only be the last field")
    return bare[-1]


def _text(info: FieldInfo) -> str:
    """A text, as the field's pattern has it where there is one."""
    patterns = [marker.pattern for marker in info.metadata if getattr(marker, "pattern", None)]
    return f"/{patterns[0].removeprefix('^').removesuffix('$')}/" if patterns else "TEXT"


# -- what was thought before the reply ------------------------------------------------------------------------------------

_NAMES = "think|thinking|thought|reasoning"  # tags, of which some are fields of a role's reply
_OPENS = r"\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>|<\|channel\|?>(?:analysis<\|message\|>|thought\b)"
_CLOSES = r"\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>|<\|channel\|>final<\|message\|>|<channel\|>"
MARK = re.compile(rf"<(?:seed:)?(?P<open>{_NAMES})>|</(?:seed:)?(?P<close>{_NAMES})>|(?P<opens>{_OPENS})|{_CLOSES}", re.I)


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


def unfinished(text: str) -> bool:
    """Whether a reply ends inside its thinking.

    >>> unfinished("<think>Ann? no"), unfinished("<think>Ann?</think> Hugo")
    (True, False)
    """
    try:
        split(text)
    except ValueError:
        return True
    return False


def dropped(text: str, fields: Collection[str] = ()) -> tuple[str, list[str]]:
    """A reply without its thinking, and the name of that repair if there was any. Raises ValueError as `split` does."""
    said, thought = split(text, fields)
    return said, ["thinking dropped"] if thought else []


Message = Mapping[str, Any]  # {"role": "system" | "user" | "assistant" | "tool", "content": str, ...} as OpenAI has it
Prompt = str | Sequence[Message]  # raw text, or a conversation that goes through the model's chat template
Schema = type[BaseModel] | Mapping[str, Any] | Tags  # a pydantic model, a JSON schema, or the tags of a pydantic model
Form = Mapping[str, Any]  # what a backend is told of a schema: a JSON schema, or {"title": ..., "lark": a grammar}
Tool = Mapping[str, Any]  # {"type": "function", "function": {"name", "description", "parameters": JSON schema}}

Prompts = Sequence[Prompt]
Tools = Sequence[Tool]
Forms = Form | Sequence[Form | None] | None  # one for all prompts, or one for each
Replies = Iterator[tuple[int, "Reply"]]  # each as soon as it is there, with its prompt's position

ROLES = ("system", "user", "assistant", "tool")
SHORT: Final = "short"  # the forms that the papers' prompts have, see `form_of`
PAPER: Final = "paper"
OTHERS = ("hf:", "openai:", "replay:")  # what the names of models begin with that are not the embedded one


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen, and when to stop.

    `temperature` 0 is greedy; above 0, `top_p` keeps the smallest set of tokens that holds that probability. The same
    `seed` gives the same reply; ask with several seeds for several samples. `stop`: texts that end a reply, and are
    cut off. Raises InputError for a value out of range.

    >>> Sampling(max_new_tokens=20, stop=["END"]).stop
    ('END',)
    """

    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    stop: Sequence[str] = ()

    def __post_init__(self):
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
        object.__setattr__(self, "stop", stop)
        require(self.max_new_tokens >= 1, f"max_new_tokens={self.max_new_tokens!r}: expected at least 1")
        require(0 <= self.temperature < inf, f"temperature={self.temperature!r}: expected 0 (greedy) or more")
        require(0 < self.top_p <= 1, f"top_p={self.top_p!r}: expected more than 0, at most 1")
        require(all(isinstance(text, str) and text for text in stop), f"stop={stop!r}: expected texts that are not empty")


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model wants to be called, and the arguments it gives."""

    name: str
    arguments: dict[str, Any]
    id: str = ""


@dataclass(frozen=True)
class Reply:
    """What a model answered, and what it took.

    `finish` is "stop", "length" (cut off at `max_new_tokens`) or "tool_calls". `seconds` is this reply's share of the
    time its batch took, or the time its request took; a reply out of the cache keeps the seconds it once took.
    `invalid` says why a reply cannot be used: it does not fit the schema, calls an unknown tool, or is empty. Such a
    reply is handed over and counted by the ledger, and kept only of a local model, which would say it again. `thinking` is
    what a server told beside the text.

    >>> Reply("Elsinore", prompt_tokens=12, completion_tokens=4).text
    'Elsinore'
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish: str = "stop"
    seconds: float = 0.0
    cached: bool = False
    invalid: str = ""
    thinking: str = ""
    value: Any = field(default=None, repr=False)

    @property
    def parsed(self) -> Any:
        """The value that the schema asked for. Raises LLMError if there is none."""
        if self.invalid or self.value is None:
            raise LLMError(self.invalid or "the reply has no parsed value: it was asked for without a schema")
        return self.value

    @property
    def whole(self) -> str:
        """The text behind what was thought before it, in marks: what a role parses, one of which asks for the thinking."""
        return f"<think>{self.thinking}</think>\n{self.text}" if self.thinking else self.text

    @property
    def message(self) -> dict[str, Any]:
        """The reply as a message, to be appended to the conversation."""
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dict(call.arguments)}}
            for call in self.tool_calls
        ]
        return {"role": "assistant", "content": self.text} | ({"tool_calls": calls} if calls else {})

    def stored(self) -> dict[str, Any]:
        """What the cache and a recording keep: the parsed value is not among it, for it is parsed anew."""
        kept = asdict(replace(self, value=None, cached=False))
        return {name: value for name, value in kept.items() if name == "text" or value != getattr(Reply, name)}

    @staticmethod
    def restored(stored: Mapping[str, Any]) -> "Reply":
        """The reply that `stored` describes, marked as cached."""
        calls = tuple(ToolCall(**call) for call in stored.get("tool_calls", ()))
        return Reply(**{**stored, "tool_calls": calls, "cached": True})


@dataclass(frozen=True)
class Score:
    """How likely a model finds a continuation.

    `logprob` is the sum over the continuation's `tokens` tokens of log p(token | prompt and the tokens before), in
    nats. `prompt_tokens` counts the prompt's.

    >>> round(Score(logprob=-6.0, tokens=3).perplexity, 3)       # exp(6 / 3)
    7.389
    """

    logprob: float
    tokens: int
    prompt_tokens: int = 0
    seconds: float = 0.0
    cached: bool = False

    def stored(self) -> dict[str, Any]:
        """What the cache and a recording keep; an entry of the store has the seconds beside it."""
        return {"logprob": round(self.logprob, 5), "tokens": self.tokens, "prompt_tokens": self.prompt_tokens}

    @staticmethod
    def restored(stored: Mapping[str, Any]) -> "Score":
        """The score that `stored` describes, marked as cached."""
        return Score(**stored, cached=True)

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log-probability of a token; NaN for an empty continuation."""
        return exp(-self.logprob / self.tokens) if self.tokens else float("nan")


@runtime_checkable
class LLM(Protocol):
    """What a notebook may ask of a model, whichever it is. `mindscape.llm.load` gives one.

    `complete` and `chat` take one prompt and give one Reply, or take a list of them and give a list in the same order.
    """

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def context(self) -> int | None: ...

    @overload
    def complete(self, prompts: str, **sampling: Any) -> Reply: ...
    @overload
    def complete(self, prompts: Sequence[str], **sampling: Any) -> list[Reply]: ...

    @overload
    def chat(self, messages: Sequence[Message], **options: Any) -> Reply: ...
    @overload
    def chat(self, messages: Sequence[Sequence[Message]], **options: Any) -> list[Reply]: ...

    @overload
    def score(self, prompt: Prompt, continuations: Sequence[str]) -> list[Score]: ...
    @overload
    def score(self, prompt: Sequence[Prompt], continuations: Sequence[list[str]]) -> list[list[Score]]: ...

    def count_tokens(self, prompt: Prompt) -> int: ...


class Backend(Protocol):
    """What reaches a model. It neither caches nor counts: `LanguageModel` does, around any backend.

    `generate` and `score` yield (position, result) in any order, each as soon as it is there. A `schema` is for all prompts,
    a list of them has one for each (`for_each`).
    """

    name: str

    @property
    def context(self) -> int | None: ...

    @property
    def fingerprint(self) -> str: ...

    def generate(self, prompts: Prompts, sampling: Sampling, tools: Tools = (), schema: Forms = None) -> Replies: ...

    def score(self, pairs: Sequence[tuple[Prompt, str]]) -> Iterator[tuple[int, Score]]: ...

    def count_tokens(self, prompt: Prompt, tools: Sequence[Tool] = ()) -> int: ...


def question(prompt: Prompt, sampling: Sampling, tools: Tools = (), schema: Form | None = None) -> dict[str, Any]:
    """All that decides a reply of a given model, as JSON has it: what the cache's key and a recording are made of."""
    return {"prompt": prompt, "sampling": asdict(sampling), "tools": list(tools), "schema": schema}


def form_of(model: Any) -> str:
    """In which form the papers' prompts are sent to a model: "short" to the embedded one, which was trained on it with all its
    adapters, "paper", with all that the papers demand, to any other. What the model or its backend says (`form`) goes first.

    >>> from types import SimpleNamespace
    >>> form_of(SimpleNamespace(name="openai:gpt-4o")), form_of(SimpleNamespace(name="embedded"))
    ('paper', 'short')
    """
    return getattr(model, "form", None) or (PAPER if getattr(model, "name", "").startswith(OTHERS) else SHORT)


def is_one(prompts: Prompt | Sequence[Prompt]) -> bool:
    """Whether this is one prompt, a text or the messages of a conversation, and not several.

    >>> is_one([{"role": "user", "content": "Who's there?"}]), is_one("To be"), is_one(["To be"]), is_one([])
    (True, True, False, False)
    """
    return isinstance(prompts, str) or (len(prompts) > 0 and isinstance(prompts[0], Mapping))


def for_each(schema: Any, prompts: int) -> list[Any]:
    """The schema of each of so many prompts: a list's own, or the one for all. Raises InputError for a list of another length.

    >>> for_each(None, 2)
    [None, None]
    """
    if not isinstance(schema, list | tuple):
        return [schema] * prompts
    require(len(schema) == prompts, f"{len(schema)} schemas for {prompts} conversations: expected one for each, or one for all")
    return list(schema)


def shared(schemas: list[Any]) -> Any:
    """The schema that all prompts share, or the list: what `for_each` takes apart.

    >>> shared([None, None]), shared([{"type": "string"}, None])
    (None, [{'type': 'string'}, None])
    """
    return schemas[0] if schemas and all(schema == schemas[0] for schema in schemas) else schemas


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A value as JSON has it, with all its texts changed, but not its objects' names.

    >>> mapped([{"a": "b", "c": 1}], str.upper)
    [{'a': 'B', 'c': 1}]
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [mapped(item, change) for item in value]
    return {name: mapped(item, change) for name, item in value.items()} if isinstance(value, Mapping) else value


def conversation(prompt: Prompt) -> str | list[dict[str, Any]]:
    """A text as it is; messages as plain dicts, in which content that is null beside tool calls, as OpenAI has it, becomes an
    empty text.

    Raises InputError, with the place, for what is not a message.

    >>> conversation([{"role": "user", "content": "Who's there?"}])
    [{'role': 'user', 'content': "Who's there?"}]
    """
    if isinstance(prompt, str):
        return unicode_text(prompt, "the prompt")
    require(prompt, "the conversation is empty: expected at least one message")
    messages = []
    for i, message in enumerate(prompt):
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise InputError(f"message {i} is {message!r:.80}: expected a dict whose role is one of {', '.join(ROLES)}")
        absent = message.get("content") is None and message.get("tool_calls")
        text = absent or isinstance(message.get("content"), str)
        require(text, f"message {i} ({message['role']}): expected its content to be text")
        content = unicode_text(message.get("content") or "", f"message {i} ({message['role']})")
        messages.append({**message, "content": content, **_tool_calls(message, i)})
    return messages


def unicode_text(text: str, which: str) -> str:
    """The text, if every model can read it. Raises InputError, which names it by `which`, where it is not Unicode.

    >>> unicode_text("Who's there?", "prompt 0")
    "Who's there?"
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{which}: character {error.start} is half of a surrogate pair: expected Unicode text") from None
    return text


def _tool_calls(message: Message, i: int) -> dict[str, Any]:
    """The calls of message `i` with their arguments as a dict; OpenAI has them as a string of JSON."""
    calls = []
    try:
        for call in message.get("tool_calls") or ():
            function = dict(call["function"])
            if isinstance(function["arguments"], str):
                function["arguments"] = json.loads(function["arguments"] or "{}")
            if not isinstance(function["name"], str) or not isinstance(function["arguments"], Mapping):
                raise ValueError("no name, or no object of arguments")
            calls.append({**call, "function": function})
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        form = '[{"id": ..., "type": "function", "function": {"name": ..., "arguments": JSON object}}]'
        raise InputError(f"message {i}: tool_calls is {message['tool_calls']!r:.80}: expected {form}") from error
    return {"tool_calls": calls} if calls else {}


def estimated_tokens(prompt: Prompt, tools: Sequence[Tool] = ()) -> int:
    """A count for models whose tokenizer is not at hand: a token for three bytes of UTF-8, four for a message's frame.

    English prose has four to five bytes a token, verse and names about three, Chinese three to five: it rather counts
    too many, which is what a cap wants.

    >>> estimated_tokens("To be, or not to be"), estimated_tokens("生存还是毁灭")
    (7, 6)
    """
    if isinstance(prompt, str):
        return ceil(len(prompt.encode("utf-8", "replace")) / 3)
    frame = 4 * len(prompt) + estimated_tokens("".join(map(str, tools)))
    return frame + sum(estimated_tokens(message["content"] + str(message.get("tool_calls", ""))) for message in prompt)


class Together:
    """An `LLM` that several threads ask: once all of them wait, what they ask goes to the model, a batch for each kind of
    options, schemas aside. Each thread must `leave` in the end. Only one thread at a time is inside the model.
    """

    def __init__(self, llm: LLM, threads: int):
        self.llm, self._left = llm, threads
        self._turn = threading.Lock()
        self._asked: list[tuple[list[Sequence[Message]], dict[str, Any], Future]] = []
        # Jobs ask for these all the time, and threads that wait for each other cost more than what they wait for.
        self.name, self.context, self.form = llm.name, llm.context, getattr(llm, "form", None)

    @property
    def maker(self) -> Any:
        with self._turn:
            return cast(Any, self.llm).maker

    def count_tokens(self, prompt: Prompt) -> int:
        with self._turn:
            return self.llm.count_tokens(prompt)

    def chat(self, messages: Sequence[Message] | Sequence[Sequence[Message]], **options: Any) -> Any:
        """As `LLM.chat`; waits for the others."""
        single, replies = is_one(messages), Future()
        with self._turn:
            self._asked.append((cast(list, [messages] if single else list(messages)), options, replies))
            self._answer()
        return replies.result()[0] if single else replies.result()

    def leave(self) -> None:
        """What a thread says when it will ask no more."""
        with self._turn:
            self._left -= 1
            self._answer()

    def _answer(self) -> None:
        """Ask the model, if nobody is left who may still ask."""
        if not self._asked or len(self._asked) < self._left:
            return
        waiting, self._asked = self._asked, []
        while waiting:
            alike = [request for request in waiting if _kind(request[1]) == _kind(waiting[0][1])]
            waiting = [request for request in waiting if _kind(request[1]) != _kind(alike[0][1])]
            options = dict(alike[0][1])
            try:
                if options.get("schema") is not None:
                    forms = [form for talks, given, _ in alike for form in for_each(given["schema"], len(talks))]
                    options["schema"] = shared(forms)
                said = iter(self.llm.chat([talk for talks, *_ in alike for talk in talks], **options))
                for (*_, future), replies in [(request, [next(said) for _ in request[0]]) for request in alike]:
                    future.set_result(replies)
            except Exception as error:
                for *_, future in alike:
                    future.set_exception(error)


def _kind(options: Mapping[str, Any]) -> dict[str, Any]:
    """What must be alike to be asked together."""
    return {**options, "schema": options.get("schema") is not None}


def side_by_side(llm: LLM, jobs: Sequence[Callable[[LLM], Any]]) -> list[Any]:
    """The results of jobs that each ask a model, in their order, in threads that ask it together.

    Raises what a job raised, the first of them, when all have come to their end. An interrupt leaves them behind.

    >>> side_by_side(model, [lambda llm: llm.chat(hello).text, lambda llm: llm.chat(hello).text])   # doctest: +SKIP
    ['Hello.', 'Hello.']
    """
    together, results = Together(llm, len(jobs)), [Future() for _ in jobs]

    def work(job: Callable[[LLM], Any], result: Future) -> None:
        try:
            result.set_result(job(cast(LLM, together)))  # all but `complete` and `score`
        except Exception as error:
            result.set_exception(error)
        finally:
            together.leave()

    threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in zip(jobs, results, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [result.result() for result in results]
