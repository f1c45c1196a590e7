"""Any server that speaks OpenAI's protocol: OpenAI itself, vLLM, llama.cpp, a university's cluster.

`OPENAI_BASE_URL` says where it is (default: OpenAI), `OPENAI_API_KEY` holds the key. The key is sent to that server and
goes nowhere else: not into messages, the cache, or a recording, even if the server repeats it. `MINDSCAPE_LEAVE_OUT` names
parameters that the model refuses, `MINDSCAPE_REASONING_EFFORT` says how long it may think. Redirects are not followed.

Taught in notebook 00. Not here: streaming, images, the batch interface, a tokenizer (tokens are estimated before a call,
and counted by the server after it).
"""

import asyncio
import base64
import email.utils
import html
import json
import math
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import openai
from bs4 import BeautifulSoup
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, NonNegativeInt

from mindscape.cache import digest
from mindscape.errors import InputError, LLMError, one_of, require
from mindscape.llm import base
from mindscape.llm.base import Form, Forms, Prompt, Prompts, Replies, Reply, Sampling, Score, Tools
from mindscape.llm.schema import read_calls, tool_call, validate

OPENAI = "https://api.openai.com/v1"
OPTIONAL = ("temperature", "top_p", "seed", "max_tokens", "stop", "response_format")  # what may be left out
REFUSES = re.compile(r"support|unexpected|unknown|unrecognized|extra|permitted|allowed|deprecated", re.IGNORECASE)
LARGEST = 8 << 20  # bytes of an answer, unpacked
# Characters from which a key, a password or a value of a URL's query is masked in messages, and in replies, which "anything",
# the stand-in for a server that wants no key, must not change.
SECRET, SURE = 8, 12

Result = TypeVar("Result")
Job = Callable[[openai.AsyncOpenAI], Awaitable[Result]]


# What is read of an answer. The client passes on whatever came with status 200, so it is validated here; OpenAI's own
# types would refuse other servers, which leave much out.


def _writable(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which JSON can hold and no file can: a token limit may cut one."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


Text = Annotated[str, AfterValidator(_writable)]


class _Told(Exception):
    """An error that came with status 200."""

    def __init__(self, error: Any):
        self.code = error.get("code") if isinstance(error, Mapping) else None
        self.status_code = int(self.code) if str(self.code).isdecimal() else 400
        super().__init__(_said(error))


def _or_nothing(given: Any) -> Any:
    """What should be an object, or an empty one: an odd part spoils a reply, if at all, and not the run."""
    return given if isinstance(given, Mapping) else {}


class _Function(BaseModel):
    name: Any = None  # looked at by `tool_call`: a call that cannot be read spoils its reply, not the run
    arguments: Any = None


class _Call(BaseModel):
    id: Text | None = None
    function: Annotated[_Function, BeforeValidator(_or_nothing)]


def _told(content: Any) -> Any:
    """The text of content that comes in parts; what else is among them, pictures say, is no part of a reply."""
    if not isinstance(content, list) or not all(isinstance(part, Mapping) for part in content):
        return content
    return "".join(part["text"] for part in content if isinstance(part.get("text"), str)) or None


def _thinking(message: Any) -> Any:
    """The message with what was thought, which some servers put beside the content and some into a part of it."""
    if not isinstance(message, Mapping):
        return message
    content = message.get("content")
    parts = [part.get("thinking") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    thought = [message.get("reasoning_content"), message.get("reasoning"), *map(_told, parts)]
    return {**message, "thinking": next((text for text in thought if isinstance(text, str)), "")}


class _Message(BaseModel):
    content: Annotated[Text | None, BeforeValidator(_told)] = None
    thinking: Text = ""
    tool_calls: list[_Call] | None = None
    refusal: Text | None = None


class _Logprobs(BaseModel):
    text_offset: list[int] | None = None
    token_logprobs: list[float | None] | None = None


class _Choice(BaseModel):
    message: Annotated[_Message | None, BeforeValidator(_thinking)] = None  # of a chat
    text: Annotated[Text | None, BeforeValidator(_told)] = None  # of a completion of raw text
    logprobs: _Logprobs | None = None
    finish_reason: Text | None = None


class _Usage(BaseModel):
    prompt_tokens: NonNegativeInt | None = None
    completion_tokens: NonNegativeInt | None = None


class _Completion(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None


class Endpoint:
    """The backend of "openai:MODEL".

    At most `concurrency` calls run at a time. A call is tried again, at most `retries` times, after a time-out, a lost
    connection, a reply that is cut off, HTTP 429 or 5xx; the wait doubles from half a second, or is what the server's
    Retry-After says. `timeout` bounds the silence of the server in one try, `total_timeout` a call with all its tries;
    both in seconds. `leave_out` names parameters of `OPTIONAL` that are not sent, in a text with commas between them;
    `reasoning_effort` is sent where it is given. Raises InputError without a key that can be sent, LLMError (one line: URL
    and cause) for a call that failed; what other calls brought is handed over first.

    >>> from mindscape import llm
    >>> llm.load("openai:gpt-4o").chat([{"role": "user", "content": "Who's there?"}]).text  # doctest: +SKIP
    'Nay, answer me.'
    """

    count_tokens = staticmethod(base.estimated_tokens)  # the model's tokenizer is not here
    context = None  # a server does not say

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        concurrency: int = 8,
        retries: int = 5,
        timeout: float = 120.0,
        total_timeout: float = 600.0,
        leave_out: str | None = None,
        reasoning_effort: str | None = None,
    ):
        self.model, self.name = model, f"openai:{model}"
        self._key = os.environ.get("OPENAI_API_KEY", "").strip()
        own = "for a server of your own that wants none, set it to any value, and OPENAI_BASE_URL to the server"
        require(self._key, f"llm={self.name!r} needs a key: set OPENAI_API_KEY ({own})")
        if wrong := re.search(r"[^!-~]|^[\"'`]|[\"'`]$", self._key):
            said = f"OPENAI_API_KEY is no key: its character {wrong.start() + 1} is U+{ord(wrong[0]):04X}"
            raise InputError(f"{said}, expected plain letters, digits and marks, without quotes")
        given = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip()
        self.url = _without_secrets(given)
        try:
            parts = urlsplit(given)
            require(parts.scheme in ("http", "https") and parts.hostname and parts.port != 0, "")
            require(given.isprintable(), "")
        except ValueError:
            raise InputError(f"base URL {self.url!r}: expected something like http://127.0.0.1:8000/v1") from None
        self.base_url = parts._replace(query="", fragment="").geturl().rstrip("/")
        self.strict = bool(re.search(r"(^|\.)(openai|azure)\.com$", parts.hostname or ""))  # which takes objects alone
        self._query = dict(parse_qsl(parts.query))
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        basic = base64.b64encode(f"{user}:{password}".encode()).decode() if password else ""
        secrets = [self._key, password, basic, *self._query.values()]
        self._secret = {most: _any_form([secret for secret in secrets if len(secret) >= most]) for most in (SECRET, SURE)}
        named = os.environ.get("MINDSCAPE_LEAVE_OUT", "") if leave_out is None else leave_out
        self.left_out = {name.strip() for name in named.split(",") if name.strip()}
        for name in self.left_out:
            one_of(OPTIONAL, leave_out=name)
        self.effort = reasoning_effort or os.environ.get("MINDSCAPE_REASONING_EFFORT") or None
        bounded = all(bound > 0 for bound in (concurrency, timeout, total_timeout)) and retries >= 0
        require(bounded, "concurrency, timeout and total_timeout must be more than 0, retries not less than 0")
        self.concurrency, self.retries = concurrency, retries
        self.timeout, self.total_timeout = timeout, total_timeout

    @property
    def fingerprint(self) -> str:
        """Server and model name: what the server runs under that name cannot be seen from here."""
        changed = [sorted(self.left_out), self.effort] if self.left_out or self.effort else []
        return digest(self.url, self.model, *changed)

    def generate(self, prompts: Prompts, sampling: Sampling, tools: Tools = (), schema: Forms = None) -> Replies:
        """Replies in the order in which they arrive."""
        options: dict[str, Any] = {name: getattr(sampling, name) for name in ("temperature", "top_p", "seed")}
        options |= {"model": self.model, "max_tokens": sampling.max_new_tokens, "stop": list(sampling.stop) or openai.omit}
        chat: dict[str, Any] = {"tools": list(tools) or openai.omit, "reasoning_effort": self.effort or openai.omit}
        if self.base_url == OPENAI:  # its newer models refuse the old name, other servers may not know the new one
            chat["max_completion_tokens"] = options.pop("max_tokens")

        async def reply(prompt: Prompt, form: Form | None, client: openai.AsyncOpenAI) -> Reply:
            completions: Any = client.completions if isinstance(prompt, str) else client.chat.completions
            if isinstance(prompt, str):
                request = options | {"prompt": prompt}
            else:
                request = options | chat | _held_to(form, self.strict) | {"messages": _messages(prompt)}
            request = {name: value for name, value in request.items() if _old(name) not in self.left_out}
            started = time.perf_counter()
            answer = await completions.create(**request)
            return self._reply(answer, prompt, time.perf_counter() - started)

        forms = base.for_each(schema, len(prompts))
        return self._gather([partial(reply, prompt, form) for prompt, form in zip(prompts, forms, strict=True)])

    def _reply(self, answer: Any, prompt: Prompt, seconds: float) -> Reply:
        raw = isinstance(prompt, str)
        completion = self._completion(answer, "text" if raw else "message")
        choice, usage = completion.choices[0], completion.usage or _Usage()
        message = _Message(content=choice.text) if raw else choice.message
        text = message.content or ""
        calls, invalid = [], ""
        for i, call in enumerate(message.tool_calls or ()):
            try:
                calls.append(tool_call(call.function.name, call.function.arguments, call.id or f"call_{i}"))
            except ValueError as error:
                invalid = f"the reply holds a tool call that cannot be read: {error}"
        if message.refusal:
            invalid = f"the model refused: {message.refusal:.200}"
        read, written = usage.prompt_tokens, usage.completion_tokens
        read = self.count_tokens(prompt) if read is None else read
        written = self.count_tokens(text) if written is None else written
        reply = Reply(text, tuple(calls), read, written, choice.finish_reason or "stop", seconds)
        reply = replace(reply, invalid=invalid, thinking=message.thinking)
        return reply if raw or calls or invalid else read_calls(reply)  # some servers leave a call in the text

    def _completion(self, answer: Any, holds: str) -> _Completion:
        """The answer, if it is a completion whose first choice holds a "message" or a "text", without what is secret."""
        answer = answer.to_dict(warnings=False) if isinstance(answer, openai.BaseModel) else answer
        answer = base.mapped(answer, partial(self._secret[SURE].sub, "***"))
        choices = answer.get("choices") if isinstance(answer, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else None
        for part in (answer, first):
            if isinstance(part, dict) and part.get("error"):
                raise _Told(part["error"])
        if isinstance(answer, str) and (words := _html_words(answer)):
            hint = "a web page: is the base URL right? it usually ends in /v1. It says"
            raise LLMError(f"{self.url}: the answer is {hint}: {self._clean(words)}")
        try:
            completion = validate(answer, _Completion)
            if getattr(completion.choices[0], holds) is None:
                raise ValueError(f"at choices.0.{holds}: there is none")
        except ValueError as error:
            said = self._clean(f"{error}: {answer!r}")
            raise LLMError(f"{self.url}: the answer is not a completion, {said}") from None
        return completion

    def score(self, pairs: Sequence[tuple[Prompt, str]]) -> Iterator[tuple[int, Score]]:
        """Log-probabilities, from a server whose completions can echo the prompt (vLLM can; many cannot).

        Tokens are those of the joined text; one that straddles the seam counts to the continuation. Raises LLMError
        if the server gives no log-probabilities of what it was sent.
        """

        async def score(prompt: Prompt, continuation: str, client: openai.AsyncOpenAI) -> Score:
            if not isinstance(prompt, str):
                raise LLMError(f"{self.url}: a server scores raw text only: pass the prompt as text")
            started, text = time.perf_counter(), prompt + continuation
            how: dict[str, Any] = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0.0}
            answer = await client.completions.create(model=self.model, prompt=text, **how)
            choice = self._completion(answer, "text").choices[0]
            given = choice.logprobs or _Logprobs()
            offsets, logprobs = given.text_offset, given.token_logprobs
            if not choice.text.startswith(text) or not offsets or not logprobs or len(offsets) != len(logprobs):
                said = "gives no log-probabilities of a given text (completions with echo and logprobs)"
                raise LLMError(f"{self.url} {said}: score with a local model, or with a server that has them, such as vLLM")
            ends = [*offsets[1:], len(choice.text)]
            places = zip(offsets, ends, logprobs, strict=True)
            ours = [logprob for start, end, logprob in places if end > len(prompt) and start < len(text)]
            if None in ours:
                raise LLMError(f"{self.url} gives no log-probability of a text's first token: the prompt is empty")
            before = sum(end <= len(prompt) for end in ends)
            return Score(float(sum(ours)), len(ours), before, time.perf_counter() - started)

        return self._gather([partial(score, *pair) for pair in pairs])

    # ---------------------------------------------------------------- calls

    def _client(self) -> openai.AsyncOpenAI:
        to: dict[str, Any] = {"api_key": self._key, "base_url": self.base_url, "default_query": self._query}
        try:
            # A redirect could take the prompt to another host, a small answer could unpack into all memory.
            http = openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [_read_bounded]})
            return openai.AsyncOpenAI(**to, timeout=self.timeout, max_retries=0, http_client=http)
        except (ImportError, ValueError) as error:  # what it says may hold the proxy's password
            said = f"the proxy that ALL_PROXY, HTTPS_PROXY or HTTP_PROXY names cannot be used ({type(error).__name__})"
            raise InputError(f"{self.url}: {said}: expected http://HOST:PORT; for SOCKS, pip install socksio") from None

    def _gather(self, jobs: Sequence[Job[Result]]) -> Iterator[tuple[int, Result]]:
        """Run the jobs side by side and yield (position, result) as they end; after a failure no new one is begun.

        They run in an event loop of a thread of their own: a notebook has a loop already. Leaving the iterator early,
        also by an interrupt, cancels what is under way.
        """
        results: SimpleQueue[tuple[int, Result] | None] = SimpleQueue()
        failures: list[LLMError] = []
        running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

        async def everything() -> None:
            running.append((asyncio.get_running_loop(), asyncio.current_task()))
            gate = asyncio.Semaphore(self.concurrency)
            async with self._client() as client:

                async def run(position: int, job: Job[Result]) -> None:
                    async with gate:
                        if failures:
                            return
                        try:
                            results.put((position, await self._patiently(job, client)))
                        except LLMError as error:
                            failures.append(error)

                await asyncio.gather(*(run(position, job) for position, job in enumerate(jobs)))

        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(asyncio.run, everything())
            done.add_done_callback(lambda _: results.put(None))
            try:
                yield from iter(results.get, None)
            finally:
                if not done.done():
                    for loop, task in running:
                        loop.call_soon_threadsafe(task.cancel)
            done.result()
        if failures:
            raise failures[0]

    # The client's own retries (`max_retries`) are not used: they do not bound a call with all its tries, do not try again
    # where a reply is cut off or no JSON, do so where money has run out, and pass over a Retry-After of more than a minute.
    async def _patiently(self, job: Job[Result], client: openai.AsyncOpenAI) -> Result:
        """The job's result, tried again where that may help. Raises LLMError when it does not."""
        begun, cause = time.monotonic(), "no answer"
        try:
            async with asyncio.timeout(self.total_timeout):
                for attempt in range(self.retries + 1):
                    try:
                        return await job(client)
                    except (openai.OpenAIError, _Told, ValueError, RecursionError) as error:  # the last two: no JSON
                        cause = self._cause(error)
                        passing, wanted = self._passing(error)
                        wait = wanted or min(0.5 * 2**attempt, 30.0) * random.uniform(0.8, 1.2)  # not all in step
                    left = begun + self.total_timeout - time.monotonic()
                    if not passing or attempt == self.retries or wait > left:
                        tries = f" ({attempt + 1} tries)" if attempt else ""
                        hint = f"; it asks to wait {wanted:.0f} s" if wanted and wanted > left else ""
                        raise LLMError(f"{self.url}: {cause}{hint}{tries}")
                    await asyncio.sleep(wait)
        except TimeoutError:
            raise LLMError(f"{self.url}: nothing usable within {self.total_timeout:g} s ({cause})") from None
        raise AssertionError("unreachable")

    def _passing(self, error: Exception) -> tuple[bool, float | None]:
        """Whether another try may help, and after how many seconds, if the server says so."""
        if isinstance(error.__cause__, LLMError):
            return False, None
        status = getattr(error, "status_code", 500)
        passing = (status in (408, 409, 429) or status >= 500) and getattr(error, "code", "") != "insufficient_quota"
        return passing, _retry_after(error.response.headers) if isinstance(error, openai.APIStatusError) else None

    def _cause(self, error: Exception) -> str:
        """What went wrong, in a few words without the key."""
        if isinstance(error, openai.APITimeoutError):
            return f"no answer within {self.timeout:g} s"
        if isinstance(error, openai.APIStatusError):
            to = _without_secrets(error.response.headers.get("location", ""))
            if 300 <= error.status_code < 400 and to:
                return f"HTTP {error.status_code}: it redirects to {self._clean(to)}: if that is right, set OPENAI_BASE_URL"
            return f"HTTP {error.status_code}: {self._clean(_said(error.body))}{self._refused(error)}"
        if isinstance(error, _Told):
            return f"HTTP 200 with an error, {error.code}: {self._clean(str(error))}"
        if isinstance(error.__cause__, LLMError):
            return str(error.__cause__)
        if isinstance(error, openai.APIConnectionError):
            return f"the connection failed: {self._clean(str(error.__cause__ or error))}"
        return f"the answer is not the JSON it claims to be: {self._clean(str(error))}"

    def _refused(self, error: openai.APIStatusError) -> str:
        """How to leave out a parameter that the server does not take."""
        said = _said(error.body)
        words = [error.param or "", *re.findall(r"\w+", said if REFUSES.search(said) else "")]
        named = next((_old(word) for word in words if _old(word) in OPTIONAL), None)
        how = f"; to leave it out: leave_out={named!r}, or MINDSCAPE_LEAVE_OUT={named}"
        return how if named and error.status_code in (400, 422) else ""

    def _clean(self, text: str) -> str:
        return f"{' '.join(self._secret[SECRET].sub('***', text).split()):.200}"


async def _read_bounded(response: Any) -> None:
    """Read an answer unless it is too large: the client itself would unpack whatever comes."""
    packed = response.headers.get("content-encoding", "identity").lower()
    if packed not in ("identity", "gzip", "deflate"):
        raise LLMError(f"the answer is packed as {packed[:40]!r}, which was not asked for")
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise LLMError(f"the answer has more than {LARGEST >> 20} MB")
    response._content = b"".join(parts)  # where `aread` keeps it, too


def _without_secrets(url: str) -> str:
    """A URL without user, password, query and fragment."""
    return re.sub(r"//[^/]*@", "//", re.split("[?#]", url)[0]).rstrip("/")


def _any_form(secrets: Sequence[str]) -> re.Pattern[str]:
    """What matches some secrets as they are, percent-encoded, or escaped as in a repr, JSON or HTML."""
    ways = (str, partial(quote, safe=""), html.escape, lambda text: repr(text)[1:-1], lambda text: text.replace("/", "\\/"))
    forms = sorted({way(secret) for secret in secrets for way in ways}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, forms)) or r"(?!)", re.IGNORECASE)


def _old(name: str) -> str:
    """The older of a parameter's two names."""
    return "max_tokens" if name == "max_completion_tokens" else name


def _said(body: object) -> str:
    """What the body of an error says: the message of OpenAI's form, a page's words, or whatever else is there."""
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        return body["message"] or repr(body)
    if not isinstance(body, str):
        return repr(body)
    words = _html_words(body)
    return f"an HTML page: {words}" if words else body or "it does not say why"


def _html_words(text: str) -> str:
    """The title of an HTML page, or all its words if it has none; nothing for a text that is no page."""
    if not re.match(r"\s*<(!doctype html|html|\?xml)", text, flags=re.IGNORECASE):
        return ""
    soup = BeautifulSoup("<html>" + text, "html.parser")  # or it warns of pages that begin as XML
    title = soup.title.get_text(strip=True) if soup.title else ""
    return title or soup.get_text(" ", strip=True) or "an empty one"


def _messages(prompt: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The conversation with the arguments of calls as strings, as the protocol wants them."""

    def written(call: dict[str, Any]) -> dict[str, Any]:
        return call | {"function": call["function"] | {"arguments": json.dumps(call["function"]["arguments"])}}

    calls = [[written(call) for call in message.get("tool_calls") or ()] for message in prompt]
    return [dict(turn) | ({"tool_calls": made} if made else {}) for turn, made in zip(prompt, calls, strict=True)]


def _held_to(form: Form | None, objects: bool = False) -> dict[str, Any]:
    """A JSON schema as the protocol has it. OpenAI's strict mode takes only schemas whose objects are closed and complete, and
    knows no oneOf; other servers do not care. A grammar is no part of the protocol, and OpenAI takes no list at the top
    (`objects`): these are asked for in the prompt alone, and checked when they come.
    """
    if form is None or "lark" in form or (objects and form.get("type") != "object"):
        return {}
    name = re.sub(r"[^A-Za-z0-9_-]", "", str(form.get("title", "reply"))) or "reply"
    schema = {"name": name, "schema": _any_of(form), "strict": _closed(form)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _any_of(schema: Any) -> Any:
    """The schema with anyOf in the place of oneOf, which pydantic writes where a field tells the forms apart."""
    if isinstance(schema, list):
        return list(map(_any_of, schema))
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: value for key, value in schema.items() if not (key == "discriminator" and "oneOf" in schema)}
    return {"anyOf" if key == "oneOf" else key: _any_of(value) for key, value in kept.items()}


def _closed(schema: Any) -> bool:
    """Whether all objects of a schema are closed and complete."""
    if isinstance(schema, list):
        return all(map(_closed, schema))
    if not isinstance(schema, Mapping):
        return True
    complete = set(schema.get("required", ())) == set(schema.get("properties", ()))
    closed = schema.get("type") != "object" or (schema.get("additionalProperties") is False and complete)
    return closed and all(map(_closed, schema.values()))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, in any of the three forms in use."""
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif re.fullmatch(r"[0-9]+(\.[0-9]*)?", value := headers.get("retry-after", "")):
            seconds = float(value)
        else:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
