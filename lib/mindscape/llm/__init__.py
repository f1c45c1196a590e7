"""Language models behind short strings: one protocol, whatever answers.

    "embedded"              the reader: SmolLM2-135M-Instruct with the kit's adapter, on this machine, without a key
    "smollm2"               the same model as it comes, without the adapter
    "hf:NAME_OR_FOLDER"     any causal language model of transformers, on this machine
    "openai:MODEL"          any server that speaks OpenAI's protocol: OPENAI_BASE_URL, OPENAI_API_KEY
    "replay:PATH"           replies recorded earlier with `load(..., record=PATH)`

`load` makes a `LanguageModel` of such a string. Every model has `complete`, `chat`, `score` and `count_tokens` (the protocol
`LLM`), a `ledger` and an `estimate`, and JSON by schema. A reply is stored the moment it arrives (`mindscape.store`), under a
key of everything that decides it, so a run that was killed goes on where it was. A reply that cannot be used is handed over as
`invalid`; a server's is not kept.

Taught in notebooks 00 and 10, the reader in 01. This package does not serve models, train them, or stream.
"""

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mindscape import paths, store
from mindscape.cache import digest
from mindscape.errors import InputError, require
from mindscape.llm import base
from mindscape.llm import schema as json_by_schema
from mindscape.llm.base import LLM, Backend, Message, Needs, Prompt, Reply, Sampling, Schema, Score, Tags, Tool, ToolCall, Tools
from mindscape.llm.recording import PRICES, PRICES_DATE, Estimate, Ledger, Recorder
from mindscape.llm.schema import checked
from mindscape.store import Joint, Maker, Progress, Store

__all__ = [
    "LLM", "PRICES", "PRICES_DATE", "Backend", "Estimate", "LanguageModel", "Ledger", "Message", "Needs", "Prompt", "Reply",
    "Sampling", "Schema", "Score", "Tags", "Tool", "ToolCall", "load",
]  # fmt: skip

READER = paths.data("adapters", "reader")
FORMS = '"embedded", "smollm2", "hf:NAME_OR_FOLDER", "openai:MODEL" or "replay:PATH"'
OURS = ("embedded", "smollm2")
KINDS = (*OURS, "hf", "openai", "replay")
MANY = 8  # questions at once whose cost is worth counting beforehand
READS, WRITES = 400.0, 60.0  # tokens a second of the embedded model on one core, in batches


def _listed(prompts: Prompt | Sequence[Prompt]) -> list[Any]:
    """Several prompts as they are, one in a list."""
    return [prompts] if base.is_one(prompts) else list(prompts)


class LanguageModel:
    """An `LLM`, which has the types of what is asked and said, around a backend. `mindscape.llm.load` makes one from a string.

    Raises LLMError if the model cannot be reached or does not answer, BudgetReached at a cap of the ledger; whatever
    was answered before is in the cache.

    >>> from mindscape import llm
    >>> model = llm.load("embedded")                                                        # doctest: +SKIP
    >>> model.complete("The capital of France is", max_new_tokens=1).text                   # doctest: +SKIP
    ' Paris'
    >>> [round(s.logprob, 1) for s in model.score("The capital of France is", [" Paris", " Rome"])]  # doctest: +SKIP
    [-0.3, -7.6]
    """

    def __init__(
        self, backend: Backend, *, ledger: Ledger | None = None, store: Store | None = None, record: Path | str | None = None
    ):
        self.backend = backend
        self.ledger = Ledger() if ledger is None else ledger
        self.store = store
        self.recorder = Recorder(record, backend.name) if record else None

    @property
    def name(self) -> str:
        """The string that loads it."""
        return self.backend.name

    @property
    def maker(self) -> Maker:
        """Who the store's entries are by: the backend's own word, or its fingerprint."""
        return getattr(self.backend, "maker", None) or Maker(self.name, {"model": self.backend.fingerprint})

    @property
    def fingerprint(self) -> str:
        """Changes with anything that may change a reply: base, adapter, chat template; server and model name."""
        return self.maker.fingerprint

    @property
    def form(self) -> str:
        """The form of the papers' prompts that it is sent, "short" or "paper"."""
        return base.form_of(self.backend)

    @property
    def context(self) -> int | None:
        """How many tokens it holds, read and written together; None for a server or a recording, which do not say."""
        return self.backend.context

    def __repr__(self) -> str:
        return f"LanguageModel({self.name!r})"

    def complete(self, prompts: str | Sequence[str], **sampling: Any) -> Any:
        """Continue raw text, without a chat template. The other parameters are the fields of `Sampling`.

        A list of prompts gives a list of replies, in the same order, the same whatever the size of the batches.
        """
        single = base.is_one(prompts)
        listed = _listed(prompts)
        for i, prompt in enumerate(listed):
            if not isinstance(prompt, str):
                raise InputError(f"prompt {i} is {prompt!r:.80}: expected text (a conversation goes to `chat`)")
            base.unicode_text(prompt, f"prompt {i}")
        replies = self._results(self._replies(listed, Sampling(**sampling)))
        return replies[0] if single else replies

    def chat(
        self,
        messages: Sequence[Message] | Sequence[Sequence[Message]],
        *,
        tools: Sequence[Tool] | None = None,
        schema: Schema | Sequence[Schema] | None = None,
        **sampling: Any,
    ) -> Any:
        """Answer a conversation, or a list of them. The other parameters are the fields of `Sampling`.

        With `schema` (a pydantic model or a JSON schema) the reply is JSON, with `Tags` it is in tags: decoding is held
        to the form where the backend can do that, the reply is parsed and validated in any case, and `reply.parsed` is
        the value. A list of schemas has one for each conversation. With `tools` the model may ask for calls: see
        `reply.tool_calls`; run them, append `reply.message` and a message with role "tool", and ask again.
        """
        require(schema is None or not tools, "chat takes tools or a schema, not both at once")
        if isinstance(messages, str) or any(isinstance(message, str) for message in messages):
            raise InputError('chat takes messages like {"role": "user", "content": "..."}: raw text goes to `complete`')
        single = base.is_one(messages)
        conversations = [base.conversation(turns) for turns in _listed(messages)]
        replies = self._results(self._replies(conversations, Sampling(**sampling), checked(tools), schema))
        return replies[0] if single else replies

    def score(self, prompt: Prompt | Sequence[Prompt], continuations: Sequence[str] | Sequence[Sequence[str]]) -> Any:
        """The log-probability of each continuation after the prompt, in nats, summed over its tokens.

        Prompt and continuation are tokenised apart and joined, so the tokens of a continuation are the same after
        every prompt (begin it with a space where the text needs one); an endpoint tokenises the joined text, and
        counts a token that straddles the seam to the continuation. A prompt may be a conversation: the continuation is
        then the assistant's reply. An empty prompt stands for the model's begin-of-text token. The end of text is not
        part of a continuation.

        A list of prompts takes a list of lists of continuations and gives a list of lists of scores.
        """
        single = base.is_one(prompt)
        prompts = _listed(prompt)
        groups: list[Any] = [continuations] if single else list(continuations)
        require(len(prompts) == len(groups), f"{len(prompts)} prompts but {len(groups)} lists of continuations")
        pairs = []
        for p, group in zip(prompts, groups, strict=True):
            if isinstance(group, str) or not all(isinstance(text, str) for text in group):
                raise InputError(f"continuations={group!r:.80}: expected a list of texts")
            pairs += [(base.conversation(p), base.unicode_text(text, "a continuation")) for text in group]
        scores = iter(self._results(self._scores(pairs)))
        nested = [[next(scores) for _ in group] for group in groups]
        return nested[0] if single else nested

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of a text, or of a conversation with what its template adds. An endpoint's are estimated."""
        return self.backend.count_tokens(base.conversation(prompt))

    def estimate(
        self, prompts: Prompt | Sequence[Prompt], *, schema: Schema | Sequence[Schema] | None = None, **sampling: Any
    ) -> Estimate:
        """What `complete` (for texts) or `chat` (for conversations without tools) would take with the same arguments."""
        listed = [base.conversation(p) for p in _listed(prompts)]
        batch = self._replies(listed, Sampling(**sampling), schema=schema, repairs=Counter())
        maker = self.maker
        keys = batch.keys(maker)
        known = self._known(batch, maker, keys)
        new = {key: batch.need(i) for i, key in enumerate(keys) if key not in known}.values()
        read, written = sum(need[0] for need in new), sum(need[1] for need in new)
        return Estimate(len(listed), len(listed) - len(new), read, written, self.ledger.cost(self.name, read, written))

    def _replies(
        self, prompts: base.Prompts, sampling: Sampling, tools: Tools = (), schema: Any = None, repairs: Counter | None = None
    ) -> "_Asked":
        schemas = base.for_each(schema, len(prompts))
        forms = [None if wanted is None else json_by_schema.json_schema(wanted) for wanted in schemas]
        repairs = self.ledger.repairs if repairs is None else repairs
        how = {name: value for name, value in asdict(sampling).items() if value != getattr(Sampling, name)}

        def generate(pairs: Sequence[tuple[Prompt, Any]]) -> Iterable[tuple[int, Reply]]:
            return self.backend.generate([p for p, _ in pairs], sampling, tools, base.shared([form for _, form in pairs]))

        alike = digest(asdict(sampling), list(tools), schema is None)  # a schema of its own each may have
        return _Asked(
            "reply",
            [base.question(prompt, sampling, tools, form) for prompt, form in zip(prompts, forms, strict=True)],
            ask=Joint(alike, list(zip(prompts, forms, strict=True)), generate),
            need=lambda i: (self.backend.count_tokens(prompts[i], tools), sampling.max_new_tokens),
            check=lambda i, reply: _checked(reply, tools, schemas[i], repairs),
            how={"max_new_tokens": sampling.max_new_tokens} | how,
        )

    def _scores(self, pairs: Sequence[tuple[Prompt, str]]) -> "_Asked":
        return _Asked(
            "score",
            [{"prompt": prompt, "continuation": text} for prompt, text in pairs],
            ask=Joint("", pairs, self.backend.score),
            need=lambda i: (sum(map(self.backend.count_tokens, pairs[i])), 0),
        )

    def _results(self, batch: "_Asked") -> list[Any]:
        """A result a question, in order: out of the store, or asked, the same question once."""
        maker = self.maker
        keys = batch.keys(maker)
        known = self._known(batch, maker, keys, anew=True)
        results = dict(known)
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        if self.recorder is not None:
            self.recorder.ready()
            for key, result in known.items():
                self.recorder.add(batch.line(first[key], result))
        new = [i for i, key in enumerate(keys) if key not in results and first[key] == i]
        progress = self._progress(batch.kind, [batch.need(i) for i in new] if len(new) >= MANY else [])
        met: dict[str, Any] = {}  # what another process has answered meanwhile
        for places in self.store.missing(new, keys, met, batch.kind, maker) if self.store is not None else [new]:
            while places:
                most = self.ledger.affordable(self.name, list(map(batch.need, places))) if self.ledger.capped else len(places)
                part, places = places[:most], places[most:]
                for position, raw in batch.ask(part):
                    i = part[position]
                    result = batch.check(i, raw)
                    self.ledger.add(self.name, result)
                    if self.store is not None and self._stays(raw, result):
                        self.store.put(batch.kind, maker, {keys[i]: raw.stored()}, raw.seconds, batch.how)
                    if self.recorder is not None:
                        self.recorder.add(batch.line(i, raw))
                    results[keys[i]] = result
                    progress.done()
        results |= {key: batch.check(first[key], batch.restore(value)) for key, value in met.items()}
        in_order = []
        for i, key in enumerate(keys):
            in_order.append(results[key])
            if key in known or key in met or first[key] != i:  # out of the store, or the same question again
                in_order[-1] = replace(results[key], cached=True)
                self.ledger.add(self.name, in_order[-1])
        return in_order

    def _progress(self, kind: str, needs: Sequence[tuple[int, int]]) -> Progress:
        """What is said before many are asked: as long as each may be, at a laptop's speed; of a server it is a guess."""
        seconds = sum(read / READS + written / WRITES for read, written in needs)
        seconds = 0.0 if getattr(self.backend, "quick", False) else seconds  # a script in a model's place
        return Progress(f"{'replies' if kind == 'reply' else 'scores'} by {self.name}", len(needs), seconds)

    def _known(self, batch: "_Asked", maker: Maker, keys: Sequence[str], anew: bool = False) -> dict[str, Any]:
        """What the store holds and the check passes: a validator may have become stricter since."""
        if self.store is None:
            return {}
        ask = None
        if anew and getattr(self.backend, "steady", False):  # a server is paid for, and need not say the same
            ask = replace(batch.ask, ask=lambda places: ((i, raw.stored()) for i, raw in batch.ask.ask(places)))
        place, results = {key: i for i, key in enumerate(keys)}, {}
        for key, value in self.store.get(batch.kind, maker, keys, ask).items():
            raw = batch.restore(value)
            result = batch.check(place[key], raw)
            if self._stays(raw, result):
                results[key] = result
        return results

    def _stays(self, raw: Any, result: Any) -> bool:
        """Whether a result is kept: one that cannot be used is what a local model says, but a server may do better next
        time."""
        if getattr(self.backend, "steady", False):
            return not getattr(raw, "invalid", "")
        cut = getattr(result, "finish", "") == "length" and base.unfinished(result.text)
        return not getattr(result, "invalid", "") and not cut


@dataclass(frozen=True)
class _Asked:
    """Questions of one kind, "reply" or "score", to a backend. Of each by its place: `ask` asks some, with those of other calls
    if need be, `need` tells the tokens that one may take, `check` what becomes of a result; `how` is what an entry of the store
    says beside it."""

    kind: str
    questions: list[dict[str, Any]]
    ask: Joint
    need: Callable[[int], tuple[int, int]]
    check: Callable[[int, Any], Any] = lambda i, result: result
    how: Mapping[str, Any] = field(default_factory=dict)

    def keys(self, maker: Maker) -> list[str]:
        return [Store.key(self.kind, maker, question) for question in self.questions]

    def restore(self, stored: Mapping[str, Any]) -> Any:
        """The result that the store has."""
        return (Reply if self.kind == "reply" else Score).restored(stored)

    def line(self, i: int, answered: Reply | Score) -> dict[str, Any]:
        """A line of a recording, which `replay:PATH` reads."""
        return {**self.questions[i], self.kind: answered.stored()}


def _checked(reply: Reply, tools: Sequence[Tool], schema: Schema | None, repairs: Counter[str]) -> Reply:
    """The reply with its parsed value, or with the reason why it cannot be used; counts what was mended."""
    if reply.invalid:
        return reply
    unknown = {call.name for call in reply.tool_calls} - {tool["function"]["name"] for tool in tools}
    if unknown:
        return replace(reply, invalid=f"the reply calls tools that there are not: {', '.join(sorted(unknown))}")
    if not reply.text.strip() and not reply.tool_calls:
        return replace(reply, invalid="the reply ends inside its thinking" if reply.thinking else "the reply is empty")
    if schema is None:
        return reply
    try:
        value, mended = json_by_schema.read(reply.whole, schema)
    except ValueError as error:
        cut = f" (cut off after {reply.completion_tokens} tokens)" if reply.finish == "length" else ""
        name = json_by_schema.title(schema)
        return replace(reply, invalid=f"the reply does not fit {name}{cut}: {error}: {reply.text!r:.120}")
    repairs.update(mended)
    return replace(reply, value=value)


def _backend(kind: str, source: str | Path, model: str, options: dict[str, Any]) -> Backend:
    """What reaches a model. Raises InputError for an option that is not among the backend's, its keyword-only parameters."""
    if kind == "embedded":
        options = {"adapter": READER, **options}
        require(options["adapter"], 'adapter=None: without its adapter "embedded" is "smollm2", expected that name')
    elif kind == "smollm2" and "adapter" in options:
        raise InputError('"smollm2" is the model without an adapter: expected "embedded" with adapter=FOLDER')
    make: Callable[..., Backend]
    if kind == "openai":
        from mindscape.llm.endpoint import Endpoint as make
    elif kind == "replay":
        from mindscape.llm.recording import Replay as make
    else:
        from mindscape.llm.local import pretrained as make
    known = sorted(inspect.getfullargspec(make).kwonlyargs)
    for option in options:
        require(option in known, f"llm={model!r} has no option {option!r}: expected {', '.join(known) or 'none'}")
    if kind in ("openai", "replay"):
        return make(source, **options)
    if kind in OURS:
        from mindscape import assets

        # fp32 unless asked otherwise: the notebooks' stored outputs must not depend on the reader's CPU.
        options = {"dtype": os.environ.get("MINDSCAPE_DTYPE") or "float32", **options}
        source = assets.language_model()
    return make(source, model, **options)


def parts(model: str) -> tuple[str, str]:
    """What a short string says: the kind of model, and which one. Raises InputError for a string of another form.

    >>> parts("hf:Qwen/Qwen2.5-7B-Instruct"), parts("embedded")
    (('hf', 'Qwen/Qwen2.5-7B-Instruct'), ('embedded', ''))
    """
    kind, _, source = str(model).partition(":")
    source = source.strip()
    require(kind in KINDS and (kind in OURS) == (not source), f"llm={model!r}: expected {FORMS}")
    return kind, source


def load(
    model: str = "embedded",
    *,
    ledger: Ledger | None = None,
    cache: bool = True,
    record: str | Path | None = None,
    **options: Any,
) -> LanguageModel:
    """The model that a short string names.

    `ledger`: share one among several models, or give it a cap. `cache=False` asks anew each time. `record`: a JSONL file of
    one model, to which questions and replies are appended, for `replay:PATH`. Other options go to the backend: `adapter` (a
    LoRA adapter's folder), `dtype`, `device`, `batch_size`, `batch_tokens` to a local model
    (`mindscape.llm.local.pretrained`), `base_url`, `concurrency`, `timeout`, `total_timeout`, `retries`, `leave_out`
    (parameters that a newer model refuses), `reasoning_effort` to a server (`mindscape.llm.endpoint.Endpoint`). `dtype` is
    "float32" for "embedded" and "smollm2", so that they write the same on every machine (MINDSCAPE_DTYPE=auto: what is
    quick here, to fill the store), and "auto" for "hf:...".

    Raises InputError for a string of another form and for an option that the backend does not have, LLMError if the
    model cannot be had.

    >>> load("gpt-4o")                                              # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: llm='gpt-4o': expected "embedded", "smollm2", "hf:NAME_OR_FOLDER", ...
    """
    kind, source = parts(model)
    backend = _backend(kind, source, f"{kind}:{source}" if source else kind, options)
    of_process = store.current() if cache and kind != "replay" else None
    return LanguageModel(backend, ledger=ledger, store=of_process, record=record)
