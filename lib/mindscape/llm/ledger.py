"""What a run costs: calls, tokens, seconds, money; an estimate before it, a ledger after it, a cap that stops it.

Taught in notebook 00. Prices are those of `data/prices.yaml`, of its date, and change: override them where they matter,
`Ledger(prices=PRICES | {"my-model": (0.5, 1.5)})`. A model without a price has no cost that is known: the money is then
None, and the ledger says so. Models that run on this machine cost nothing here; electricity is not counted.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from mindscape import paths
from mindscape.errors import BudgetReached, require
from mindscape.llm.base import Reply, Score

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
        read, written = result.prompt_tokens, 0
        if isinstance(result, Reply):
            written = result.completion_tokens
            self.rejects += bool(result.invalid)
        else:
            read += result.tokens
        self.calls += 1
        if result.cached:
            self.cached += 1
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
        if not self.capped:
            return len(needs)
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
                raise BudgetReached(
                    f"the cap of {cap} is reached: {used} are used, and the next call may read {read:,} tokens and write "
                    f"{written:,}; {len(needs)} calls are left; what was answered is cached"
                )
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
