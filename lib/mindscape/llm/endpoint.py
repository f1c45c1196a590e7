"""Any server that speaks OpenAI's protocol: OpenAI itself, vLLM, llama.cpp, a university's cluster.

`OPENAI_BASE_URL` says where it is (default: OpenAI), `OPENAI_API_KEY` holds the key. The key is sent to that server and
goes nowhere else: not into messages, the cache, or a recording.

Taught in notebook 00. Not here: streaming, images, the batch interface, a tokenizer (tokens are estimated before a call,
and counted by the server after it).
"""

import asyncio
import email.utils
import json
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import openai
from bs4 import BeautifulSoup
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeInt

from mindscape.cache import digest
from mindscape.errors import InputError, LLMError, require
from mindscape.llm.base import Form, Forms, Prompt, Replies, Reply, Sampling, Score, Tool, estimated_tokens, for_each
from mindscape.llm.schema import validate
from mindscape.llm.tools import tool_call

OPENAI = "https://api.openai.com/v1"

Result = TypeVar("Result")
Job = Callable[[openai.AsyncOpenAI], Awaitable[Result]]


# What is read of an answer. The client passes on whatever came with status 200, so it is validated here; OpenAI's own
# types would refuse other servers, which leave much out.


def _writable(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which JSON can hold and no file can: a token limit may cut one."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


Text = Annotated[str, AfterValidator(_writable)]


class _Read(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class _Function(_Read):
    name: Any = None  # looked at by `tool_call`: a call that cannot be read spoils its reply, not the run
    arguments: Any = None


class _Call(_Read):
    id: Text | None = None
    function: _Function


class _Message(_Read):
    content: Text | None = None
    tool_calls: list[_Call] | None = None
    refusal: Text | None = None


class _Logprobs(_Read):
    text_offset: list[int] | None = None
    token_logprobs: list[float | None] | None = None


class _Choice(_Read):
    message: _Message | None = None  # of a chat
    text: Text | None = None  # of a completion of raw text
    logprobs: _Logprobs | None = None
    finish_reason: Text | None = None


class _Usage(_Read):
    prompt_tokens: NonNegativeInt | None = None
    completion_tokens: NonNegativeInt | None = None


class _Completion(_Read):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None


class Endpoint:
    """The backend of "openai:MODEL".

    At most `concurrency` calls run at a time. A call is tried again, at most `retries` times, after a time-out, a lost
    connection, a reply that is cut off, HTTP 429 or 5xx; the wait doubles from half a second, or is what the server's
    Retry-After says. `timeout` bounds the silence of the server in one try, `total_timeout` a call with all its tries;
    both in seconds. Raises InputError without a key, LLMError (one line: URL and cause) for a call that failed; what
    other calls brought is handed over first.

    >>> from mindscape import llm
    >>> llm.load("openai:gpt-4o").chat([{"role": "user", "content": "Who's there?"}]).text  # doctest: +SKIP
    'Nay, answer me.'
    """

    count_tokens = staticmethod(estimated_tokens)  # the model's tokenizer is not here
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
    ):
        self.model, self.name = model, f"openai:{model}"
        self.base_url = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"base URL {self.base_url!r}: expected something like http://127.0.0.1:8000/v1")
        self._key = os.environ.get("OPENAI_API_KEY", "").strip()
        own = "for a server of your own that wants none, set it to any value, and OPENAI_BASE_URL to the server"
        require(self._key, f"llm={self.name!r} needs a key: set OPENAI_API_KEY ({own})")
        self.url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # a URL may hold a password
        if min(concurrency, timeout, total_timeout) <= 0 or retries < 0:
            raise InputError("concurrency, timeout and total_timeout must be more than 0, retries not less than 0")
        self.concurrency, self.retries = concurrency, retries
        self.timeout, self.total_timeout = timeout, total_timeout

    @property
    def fingerprint(self) -> str:
        """Server and model name: what the server runs under that name cannot be seen from here."""
        return digest(self.url, self.model)

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, tools: Sequence[Tool] = (), schema: Forms = None
    ) -> Replies:
        """Replies in the order in which they arrive."""
        options: dict[str, Any] = {
            "model": self.model,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "stop": list(sampling.stop) or openai.omit,
        }
        chat = {
            # OpenAI's newer models refuse the old name, other servers may not know the new one.
            "max_completion_tokens" if self.base_url == OPENAI else "max_tokens": sampling.max_new_tokens,
            "tools": list(tools) or openai.omit,
        }

        def job(prompt: Prompt, form: Form | None) -> Job[Reply]:
            raw = isinstance(prompt, str)
            asked = {"prompt": prompt, "max_tokens": sampling.max_new_tokens}
            asked = asked if raw else {**chat, **_held_to(form), "messages": _messages(prompt)}

            async def call(client: openai.AsyncOpenAI) -> Reply:
                started = time.perf_counter()
                answer = await (client if raw else client.chat).completions.create(**options, **asked)
                return self._reply(answer, prompt, time.perf_counter() - started)

            return call

        return self._gather(list(map(job, prompts, for_each(schema, len(prompts)))))

    def _reply(self, answer: Any, prompt: Prompt, seconds: float) -> Reply:
        completion = self._completion(answer, "text" if isinstance(prompt, str) else "message")
        choice, usage = completion.choices[0], completion.usage or _Usage()
        message = _Message(content=choice.text) if isinstance(prompt, str) else choice.message
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
        return Reply(
            text=text,
            tool_calls=tuple(calls),
            prompt_tokens=self.count_tokens(prompt) if read is None else read,
            completion_tokens=self.count_tokens(text) if written is None else written,
            finish=choice.finish_reason or "stop",
            seconds=seconds,
            invalid=invalid,
        )

    def _completion(self, answer: Any, holds: str) -> _Completion:
        """The answer, if it is a completion whose first choice holds a "message" or a "text"."""
        if isinstance(answer, str) and (words := _html_words(answer)):
            hint = "a web page: is the base URL right? it usually ends in /v1. It says"
            raise LLMError(f"{self.url}: the answer is {hint}: {self._clean(words)}")
        try:
            completion = validate(answer, _Completion)
            if getattr(completion.choices[0], holds) is None:
                raise ValueError(f"at choices.0.{holds}: there is none")
        except ValueError as error:
            got = answer.to_dict(warnings=False) if isinstance(answer, openai.BaseModel) else answer
            raise LLMError(f"{self.url}: the answer is not a completion, {self._clean(f'{error}: {got!r}')}") from error
        return completion

    def score(self, pairs: Sequence[tuple[Prompt, str]]) -> Iterator[tuple[int, Score]]:
        """Log-probabilities, from a server whose completions can echo the prompt (vLLM can; many cannot).

        Tokens are those of the joined text; one that straddles the seam counts to the continuation. Raises LLMError
        if the server gives no log-probabilities of what it was sent.
        """

        def job(prompt: Prompt, continuation: str) -> Job[Score]:
            async def call(client: openai.AsyncOpenAI) -> Score:
                if not isinstance(prompt, str):
                    raise LLMError(f"{self.url}: a server scores raw text only: pass the prompt as text")
                started = time.perf_counter()
                text = prompt + continuation
                answer = await client.completions.create(
                    model=self.model, prompt=text, echo=True, logprobs=1, max_tokens=1, temperature=0.0
                )
                choice = self._completion(answer, "text").choices[0]
                given = choice.logprobs or _Logprobs()
                offsets, logprobs = given.text_offset, given.token_logprobs
                if not choice.text.startswith(text) or not offsets or not logprobs or len(offsets) != len(logprobs):
                    raise LLMError(
                        f"{self.url} gives no log-probabilities of a given text (completions with echo and logprobs): "
                        "score with a local model, or with a server that has them, such as vLLM"
                    )
                ends = [*offsets[1:], len(choice.text)]
                places = zip(offsets, ends, logprobs, strict=True)
                ours = [logprob for start, end, logprob in places if end > len(prompt) and start < len(text)]
                if None in ours:
                    raise LLMError(f"{self.url} gives no log-probability of a text's first token: the prompt is empty")
                before = sum(end <= len(prompt) for end in ends)
                return Score(float(sum(ours)), len(ours), before, time.perf_counter() - started)

            return call

        return self._gather([job(prompt, continuation) for prompt, continuation in pairs])

    # ---------------------------------------------------------------- calls

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
            async with openai.AsyncOpenAI(
                api_key=self._key, base_url=self.base_url, timeout=self.timeout, max_retries=0
            ) as client:

                async def one(position: int, job: Job[Result]) -> None:
                    async with gate:
                        if failures:
                            return
                        try:
                            results.put((position, await self._patiently(job, client)))
                        except LLMError as error:
                            failures.append(error)

                await asyncio.gather(*(one(position, job) for position, job in enumerate(jobs)))

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
                    except (openai.OpenAIError, ValueError, RecursionError) as error:  # the last two: no JSON
                        cause = self._cause(error)
                        wait = self._wait(error, attempt)
                    left = begun + self.total_timeout - time.monotonic()
                    if wait is None or attempt == self.retries or wait > left:
                        tries = f" ({attempt + 1} tries)" if attempt else ""
                        asked = f"; it asks to wait {wait:.0f} s" if wait is not None and wait > left else ""
                        raise LLMError(f"{self.url}: {cause}{asked}{tries}")
                    await asyncio.sleep(wait)
        except TimeoutError:
            raise LLMError(f"{self.url}: nothing usable within {self.total_timeout:g} s ({cause})") from None
        raise AssertionError("unreachable")

    def _wait(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the next try; None if another try cannot help."""
        if isinstance(error, openai.APIStatusError):
            passing = error.status_code in (408, 409, 429) or error.status_code >= 500
            if not passing or error.code == "insufficient_quota":
                return None
            asked = _retry_after(error.response.headers)
            if asked is not None:
                return asked
        return min(0.5 * 2**attempt, 30.0) * random.uniform(0.8, 1.2)  # spread, so that calls do not return in step

    def _cause(self, error: Exception) -> str:
        """What went wrong, in a few words without the key."""
        if isinstance(error, openai.APITimeoutError):
            return f"no answer within {self.timeout:g} s"
        if isinstance(error, openai.APIStatusError):
            return f"HTTP {error.status_code}: {self._clean(_said(error.body))}"
        if isinstance(error, openai.APIConnectionError):
            return f"the connection failed: {self._clean(str(error.__cause__ or error))}"
        return f"the answer is not the JSON it claims to be: {self._clean(str(error))}"

    def _clean(self, text: str) -> str:
        if len(self._key) >= 8:  # a shorter one is a stand-in for a server that wants none, and may be part of a word
            text = text.replace(self._key, "***")
        return f"{' '.join(text.split()):.200}"


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
    messages = []
    for message in prompt:
        message = dict(message)
        if message.get("tool_calls"):
            message["tool_calls"] = [
                call | {"function": call["function"] | {"arguments": json.dumps(call["function"]["arguments"])}}
                for call in message["tool_calls"]
            ]
        messages.append(message)
    return messages


def _held_to(form: Form | None) -> dict[str, Any]:
    """A grammar is no part of the protocol: tags are asked for in the prompt alone, and checked when they come."""
    return {} if form is None or "lark" in form else {"response_format": _response_format(form)}


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """OpenAI's strict mode takes only schemas whose objects are closed and complete; other servers do not care."""
    name = re.sub(r"[^A-Za-z0-9_-]", "", str(schema.get("title", "reply"))) or "reply"
    return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema), "strict": _closed(schema)}}


def _closed(schema: Any) -> bool:
    if isinstance(schema, list):
        return all(map(_closed, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        complete = set(schema.get("required", ())) == set(schema.get("properties", ()))
        if schema.get("additionalProperties") is not False or not complete:
            return False
    return all(map(_closed, schema.values()))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, in any of the three forms in use."""
    try:
        if "retry-after-ms" in headers:
            return float(headers["retry-after-ms"]) / 1000
        asked = headers.get("retry-after", "")
        if asked.replace(".", "", 1).isdigit():
            return float(asked)
        return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
