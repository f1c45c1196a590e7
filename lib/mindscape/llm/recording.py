"""What a model said, and what it cost: a script in its place, recordings and their replay, an estimate, a ledger.

`Scripted`: a function writes the replies, so that what is done with them can be seen without a model.

`Recorder`, `Replay`: JSONL, a line a question with its reply or score, and the model that gave it. `load(..., record=PATH)`
writes one, `replay:PATH` answers from it: the same questions get the same answers, without the model. A question that was never
asked is an error: nothing here makes an answer up. A line that a kill or a full disk cut off is passed over, and asked again by
whoever needs it.

`Estimate` before a run, `Ledger` after it: calls, tokens, seconds, money; a cap stops the run. Prices
are those of `data/prices.yaml`, of its date, and change: override them where they matter,
`Ledger(prices=PRICES | {"my-model": (0.5, 1.5)})`. A model without a price has no cost that is known: the money is then
None, and the ledger says so. Models that run on this machine cost nothing here; electricity is not counted. Taught in notebooks
00, 31_mindgraph_answer and 32_long_reason.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from mindscape import paths
from mindscape.cache import digest
from mindscape.errors import BudgetReached, InputError, LLMError, require
from mindscape.llm import base
from mindscape.llm.base import Forms, Prompt, Prompts, Replies, Reply, Sampling, Score, ToolCall, Tools


class Scripted:
    """A backend for `LanguageModel`; it keeps what it was `asked`, and the last `sampling`, and dies, as of a kill, at the call
    `dies`.

    `say(messages, tools, schema)` gives a text, something for JSON, a ToolCall, or a whole Reply; `count(prompt, tools)` counts
    tokens. It is sent the papers' prompts in the given `form`, as the embedded model is or as others are
    (`mindscape.llm.base.form_of`).

    >>> from mindscape.llm import LanguageModel
    >>> louder = LanguageModel(Scripted(lambda messages, *_: messages[-1]["content"].upper()))
    >>> louder.chat([{"role": "user", "content": "Who's there?"}]).text
    "WHO'S THERE?"
    """

    name, fingerprint, context = "scripted", "scripted", None
    quick = True  # nothing is computed

    def __init__(
        self, say: Callable, *, dies: int | None = None, count: Callable = base.estimated_tokens, form: str = base.SHORT
    ):
        self.say, self.dies, self.count, self.form = say, dies, count, form
        self.requests: list[tuple] = []  # prompt, tools and schema, each

    def count_tokens(self, prompt: Prompt, tools: Tools = ()) -> int:
        """As the script counts them."""
        return self.count(prompt, tools)

    def hear(self, *request: Any) -> None:
        """Keep what it is asked."""
        self.requests.append(request)
        if len(self.requests) == self.dies:
            raise KeyboardInterrupt

    def generate(self, prompts: Prompts, sampling: Sampling, tools: Tools = (), schema: Forms = None) -> Replies:
        self.sampling = sampling
        for i, prompt in enumerate(prompts):
            self.hear(prompt, list(tools), schema)
            said = self.say(prompt, list(tools), schema)
            if isinstance(said, ToolCall):
                said = Reply("", (said,), finish="tool_calls")
            elif not isinstance(said, Reply):
                said = Reply(said if isinstance(said, str) else json.dumps(said))
            written = self.count(said.text + "".join(str(call.arguments) for call in said.tool_calls))
            yield i, replace(said, prompt_tokens=self.count_tokens(prompt, tools), completion_tokens=written)


BEGINS = b'{"model": '  # what every line that is written here begins with, however early it is cut off


def read_recording(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a recording, each with its number from 1.

    Raises InputError that names the file, and the line if there is one, for what cannot be read, for what is not a
    JSON object, and for replies of a second model.
    """
    try:
        lines = path.read_bytes().split(b"\n")  # other line ends may stand inside a JSON string
    except OSError as error:
        raise InputError(f"cannot read the recording {path}: {error}") from error
    first = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            recorded = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            if line.startswith(BEGINS) or BEGINS.startswith(line):
                continue  # cut off while it was written
            raise InputError(f"{path}, line {number}: not a recorded reply ({error!r:.80})") from error
        if not isinstance(recorded, dict):
            raise InputError(f"{path}, line {number}: not a recorded reply ({recorded!r:.80})")
        model = recorded.get("model", first)
        first = model if first is None else first
        require(model == first, f"{path}, line {number}: a reply of {model}, after replies of {first}: expected one model")
        yield number, recorded


class Recorder:
    """Appends to a recording what it does not hold yet.

    Raises InputError if the file cannot be appended to, is no recording, or is one of another model.

    >>> recorder = Recorder("recorded.jsonl", "embedded")                                   # doctest: +SKIP
    >>> recorder.add({"prompt": "Who's there?", "reply": {"text": "Nay, answer me."}})      # doctest: +SKIP
    """

    def __init__(self, path: str | Path, model: str):
        self.path, self.model = Path(path), model
        self._held: set[str] = set()
        self._size = 0  # of the file when `_held` was true of it: others may write to it, or delete it

    def ready(self) -> None:
        """See that the file can be appended to, and know what it holds: before a model is asked, and paid."""
        self._append(b"")

    def add(self, line: dict[str, Any]) -> None:
        """Append a question with its reply or score, unless the file holds just that."""
        line = {"model": self.model, **line}
        key = digest(line)
        if key not in self._held:
            self._append(json.dumps(line).encode() + b"\n")  # ASCII: half a surrogate pair can be written, too
            self._held.add(key)

    def _append(self, data: bytes) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                size = file.seek(0, 2)
                if size != self._size:
                    self._read()
                if data and size:
                    file.seek(size - 1)
                    data = data if file.read(1) == b"\n" else b"\n" + data  # after a line that was cut off
                file.write(data)
                self._size = file.seek(0, 2)
        except OSError as error:
            raise InputError(f"cannot record to {self.path}: {error.strerror or error}") from error

    def _read(self) -> None:
        lines = [line for _, line in read_recording(self.path)]
        models = [line["model"] for line in lines if "model" in line] or [self.model]
        said = f"{self.path} holds replies of {models[0]}: record {self.model} to another file"
        require(models[0] == self.model, said)  # a recording is of one model
        self._held = {digest(line) for line in lines}


class Replay:
    """The backend of "replay:PATH". A later line for the same question replaces an earlier one.

    Raises InputError that names file and line if the recording cannot be read, LLMError for a question it does not hold.

    >>> from mindscape import llm
    >>> llm.load("replay:recorded.jsonl").complete("Who's there?").text                     # doctest: +SKIP
    'Nay, answer me.'
    """

    count_tokens = staticmethod(base.estimated_tokens)  # the model's tokenizer is not here
    context = None  # a recording does not say

    def __init__(self, path: str | Path):
        self.path = Path(path).expanduser()
        self.name = f"replay:{path}"
        self.answers: dict[str, Reply | Score] = {}
        lines = list(read_recording(self.path))
        self.fingerprint = digest(lines)
        recorded = next((line["model"] for _, line in lines if "model" in line), self.name)
        self.form = base.form_of(SimpleNamespace(name=recorded))  # what the model was asked, that is found again
        for number, line in lines:
            question = {name: value for name, value in line.items() if name != "model"}
            try:
                kind = "score" if "score" in question else "reply"
                answer = (Score if kind == "score" else Reply).restored(question.pop(kind))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(f"{self.path}, line {number}: not a recorded reply ({error!r:.80})") from error
            self.answers[digest(question)] = answer

    def _answer(self, question: dict[str, Any], prompt: Prompt) -> Any:
        if (key := digest(question)) not in self.answers:
            text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
            said = f"{self.path} holds no answer to {text!r:.80} with these parameters"
            raise LLMError(f"{said}: record it with the model itself, load(..., record=PATH)")
        return self.answers[key]

    def generate(self, prompts: Prompts, sampling: Sampling, tools: Tools = (), schema: Forms = None) -> Replies:
        """The recorded replies."""
        for i, (prompt, form) in enumerate(zip(prompts, base.for_each(schema, len(prompts)), strict=True)):
            yield i, self._answer(base.question(prompt, sampling, tools, form), prompt)

    def score(self, pairs: Sequence[tuple[Prompt, str]]) -> Iterator[tuple[int, Score]]:
        """The recorded scores."""
        for i, (prompt, continuation) in enumerate(pairs):
            yield i, self._answer({"prompt": prompt, "continuation": continuation}, prompt)


_LISTED = yaml.safe_load(paths.data("prices.yaml").read_text(encoding="utf-8"))
PRICES_DATE: str = _LISTED["date"]
PRICES: dict[str, tuple[float, float]] = {model: tuple(prices) for model, prices in _LISTED["models"].items()}


def price(name: str, prices: Mapping[str, tuple[float, float]] = PRICES) -> tuple[float, float] | None:
    """Dollars for a million tokens read and written by the model `name`, a string that `load` takes; None if unknown.

    >>> price("openai:gpt-4o-2024-08-06"), price("embedded"), price("openai:unheard-of")
    ((2.5, 10.0), (0.0, 0.0), None)
    """
    backend, _, model = name.partition(":")
    if backend != "openai":
        return (0.0, 0.0)
    undated = re.sub(r"-\d{4}-\d{2}-\d{2}$", "", model)
    return prices.get(model, prices.get(undated))


@dataclass(frozen=True)
class Estimate:
    """What a run will take at most: `completion_tokens` supposes that each reply is as long as it may be.

    Replies that are cached already are not among the tokens or the money.

    >>> print(Estimate(calls=10, cached=4, prompt_tokens=6000, completion_tokens=1200, money=0.027))
    6 calls (4 more are cached), 6,000 tokens to read, at most 1,200 to write, at most 0.0270 USD
    """

    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    money: float | None

    def __add__(self, other: "Estimate") -> "Estimate":
        money = None if self.money is None or other.money is None else self.money + other.money
        calls, cached, read, written = (getattr(self, name) + getattr(other, name) for name in list(vars(self))[:4])
        return Estimate(calls, cached, read, written, money)

    def __str__(self) -> str:
        tokens = f"{self.prompt_tokens:,} tokens to read, at most {self.completion_tokens:,} to write"
        calls = f"{self.calls - self.cached} {'call' if self.calls - self.cached == 1 else 'calls'}"
        return f"{calls} ({self.cached} more are cached), {tokens}, at most {_dollars(self.money)}"


@dataclass
class Ledger:
    """Counts what models were asked, across as many of them as share it, and stops them at a cap.

    `cap_tokens` bounds tokens read and written, `cap_money` US dollars. No call is begun that could cross a cap: a run
    that comes to it raises BudgetReached, and what was answered until then is cached. Cached replies cost nothing and
    are counted apart. `repairs` counts what the JSON parser mended, by name; `rejects` counts replies that could not be
    used. `seconds` adds up what each call took: with calls side by side that is more than the clock says.

    >>> ledger = Ledger()
    >>> ledger.add("openai:gpt-4o", Reply("Elsinore", prompt_tokens=400, completion_tokens=4, seconds=0.5))
    >>> print(ledger)
    1 call (0 cached), 400 tokens read, 4 written, 0.5 s, 0.0010 USD
    """

    cap_tokens: int | None = None
    cap_money: float | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=lambda: PRICES, repr=False)
    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    repairs: Counter[str] = field(default_factory=Counter)
    rejects: int = 0
    spent: float = 0.0  # dollars, by models whose price is known
    unpriced: set[str] = field(default_factory=set)  # models whose price is not

    def __post_init__(self):
        for name in ("cap_tokens", "cap_money"):
            cap = getattr(self, name)
            require(cap is None or cap >= 0, f"{name}={cap!r}: expected a number from 0 on, or None for no cap")

    @property
    def money(self) -> float | None:
        """US dollars spent; None if a model was asked whose price is unknown."""
        return None if self.unpriced else self.spent

    @property
    def tokens(self) -> int:
        """Tokens read and written, cached replies left out."""
        return self.prompt_tokens + self.completion_tokens

    def cost(self, name: str, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars for so many tokens of the model `name`; None if its price is unknown."""
        known = price(name, self.prices)
        return known and (prompt_tokens * known[0] + completion_tokens * known[1]) / 1e6

    def add(self, name: str, result: Reply | Score) -> None:
        """Count one reply or score of the model `name`."""
        if isinstance(result, Reply):
            read, written = result.prompt_tokens, result.completion_tokens
            self.rejects += bool(result.invalid)
        else:
            read, written = result.prompt_tokens + result.tokens, 0
        self.calls += 1
        self.cached += result.cached
        if result.cached:
            return
        self.prompt_tokens += read
        self.completion_tokens += written
        self.seconds += result.seconds
        cost = self.cost(name, read, written)
        if cost is None:
            self.unpriced.add(name)
        else:
            self.spent += cost

    @property
    def capped(self) -> bool:
        """Whether there is a cap at all."""
        return self.cap_tokens is not None or self.cap_money is not None

    def affordable(self, name: str, needs: Sequence[tuple[int, int]]) -> int:
        """How many of the next calls stay under the caps even if each reply is as long as it may be.

        `needs`: tokens read and at most written, a pair a call. Raises BudgetReached if not even the first does, and
        InputError for a cap on money when the model's price is unknown.

        >>> Ledger(cap_tokens=1000).affordable("embedded", [(300, 100), (300, 100), (300, 100)])
        2
        """
        known = self.cap_money is None or price(name, self.prices) is not None
        require(known, f"cap_money={self.cap_money}: the price of {name!r} is unknown: add it to Ledger(prices=...)")
        tokens, money = self.tokens, self.spent
        for count, (read, written) in enumerate(needs):
            tokens += read + written
            money += self.cost(name, read, written) or 0.0
            over_tokens = self.cap_tokens is not None and tokens > self.cap_tokens
            if over_tokens or (self.cap_money is not None and money > self.cap_money):
                if count:
                    return count
                cap = f"{self.cap_tokens:,} tokens" if over_tokens else _dollars(self.cap_money)
                used = f"{self.tokens:,} tokens" if over_tokens else _dollars(self.spent)
                need = f"the next call may read {read:,} tokens and write {written:,}; {len(needs)} calls are left"
                raise BudgetReached(f"the cap of {cap} is reached: {used} are used, and {need}; what was answered is cached")
        return len(needs)

    def __str__(self) -> str:
        parts = [
            f"{self.calls:,} {'call' if self.calls == 1 else 'calls'} ({self.cached:,} cached)",
            f"{self.prompt_tokens:,} tokens read",
            f"{self.completion_tokens:,} written",
            f"{self.seconds:.1f} s",
            _dollars(self.money) if not self.unpriced else f"price of {', '.join(sorted(self.unpriced))} unknown",
        ]
        if self.repairs:
            parts.append("repairs: " + ", ".join(f"{name} {count}" for name, count in sorted(self.repairs.items())))
        if self.rejects:
            parts.append(f"{self.rejects} rejected")
        return ", ".join(parts)


def _dollars(money: float | None) -> str:
    return "price unknown" if money is None else f"{money:.4f} USD"
