"""The words that every backend and every caller share: messages, sampling, replies, scores, and the two protocols.

Taught in notebook 00. Nothing here loads a model or touches the disk.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, exp, inf
from typing import Any, Final, Protocol, overload, runtime_checkable

from pydantic import BaseModel

from mindscape.errors import InputError, LLMError, require
from mindscape.llm.tags import Tags

Message = Mapping[str, Any]  # {"role": "system" | "user" | "assistant" | "tool", "content": str, ...} as OpenAI has it
Prompt = str | Sequence[Message]  # raw text, or a conversation that goes through the model's chat template
Schema = type[BaseModel] | Mapping[str, Any] | Tags  # a pydantic model, a JSON schema, or the tags of a pydantic model
Form = Mapping[str, Any]  # what a backend is told of a schema: a JSON schema, or {"title": ..., "lark": a grammar}
Tool = Mapping[str, Any]  # {"type": "function", "function": {"name", "description", "parameters": JSON schema}}

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
        texts = all(isinstance(one, str) and one for one in stop)
        require(texts, f"stop={stop!r}: expected texts that are not empty")


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
    reply is handed over, never cached, and counted by the ledger. `thinking` is what a server told beside the text.

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
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dict(call.arguments)}}
                for call in self.tool_calls
            ]
        return message

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

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, tools: Sequence[Tool] = (), schema: Forms = None
    ) -> Replies: ...

    def score(self, pairs: Sequence[tuple[Prompt, str]]) -> Iterator[tuple[int, Score]]: ...

    def count_tokens(self, prompt: Prompt, tools: Sequence[Tool] = ()) -> int: ...


def question(
    prompt: Prompt, sampling: Sampling, tools: Sequence[Tool] = (), schema: dict[str, Any] | None = None
) -> dict[str, Any]:
    """All that decides a reply of a given model, as JSON has it: what the cache's key and a recording are made of."""
    return {"prompt": prompt, "sampling": asdict(sampling), "tools": list(tools), "schema": schema}


def form_of(model: Any) -> str:
    """In which form the papers' prompts are sent to a model: "short" to the embedded one, which was trained on it with all its
    adapters, "paper", with all that the papers demand, to any other. What the model or its backend says (`form`) goes first.

    >>> from types import SimpleNamespace
    >>> form_of(SimpleNamespace(name="openai:gpt-4o")), form_of(SimpleNamespace(name="embedded"))
    ('paper', 'short')
    """
    own = getattr(model, "form", None)
    return own or (PAPER if getattr(model, "name", "").startswith(OTHERS) else SHORT)


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
    if len(schema) != prompts:
        raise InputError(f"{len(schema)} schemas for {prompts} conversations: expected one for each, or one for all")
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
        return [mapped(one, change) for one in value]
    return {name: mapped(one, change) for name, one in value.items()} if isinstance(value, Mapping) else value


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
        raise InputError(
            f"{which}: character {error.start} is half of a surrogate pair: expected Unicode text"
        ) from None
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
