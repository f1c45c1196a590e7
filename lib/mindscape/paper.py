"""The papers' own numbers: typed tables of them, claims that are weighed by what the notebooks found, and an audit.

**Tables**, out of `data/paper`, as printed (notebook 10).

**Claims** stand in `data/claims.yaml`, each with a rule that gives its verdict (notebook 00); nothing is evaluated as code:

    - id: mia.mindscape.abstraction
      paper: MiA-RAG
      place: section 3.2
      claim: what is claimed, in our words
      paper_value: the paper's numbers, as text
      notebook: 10_hierarchical_summaries
      metrics: [gain_over_title.untuned]     # shown under "ours"
      reproduced: [gain_over_title.untuned.low > 0]
      partly: [gain_over_title.untuned.value > 0]         # optional
      needs_larger_model: why we think so        # optional: what a failed rule means; shown in the table

A rule is a list of comparisons that must all hold, `<metric>.<value|low|high> <op> <number>`; `low` and `high` are the
ends of the metric's interval. The first of `reproduced`, `partly` that holds is the verdict. Where neither does it is "needs a
larger model" if that is set; "undecided" if the rule of `reproduced` fails at one end of an interval and holds at the other,
so that the numbers speak neither for the claim nor against it; else "contradicted". A claim whose notebook has no finished
results is "not yet weighed".

**Audit**: does a printed number follow from other printed numbers (notebook 51_paper_audit)? A number printed with d decimals
stands for all numbers within half a unit of its last place. So a result that is recomputed from printed numbers is a range, not
a point, and there are three verdicts:

    agrees     the formula at the printed inputs, rounded, is what is printed
    rounds     not so, but there are inputs that print the same and give what is printed
    differs    there are none

That a number follows from others does not say that any of them was measured well; why one differs is not known here.

>>> import numpy as np
>>> follows(41.1, 1, np.mean, [28.6, 39.1, 55.6]).verdict, follows(40.1, 1, np.mean, [28.6, 39.1, 55.6]).verdict
('agrees', 'differs')
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from numpy.typing import ArrayLike

from mindscape import paths, plots, results
from mindscape.errors import InputError, require

# -- tables ------------------------------------------------------------------------------------------------------------


def table(name: str) -> pd.DataFrame:
    """A table of a paper; `frame.attrs` holds its `paper` and `place`.

    Raises InputError for an unknown name, or a column that is missing or of another type.

    >>> table("mia_rag_table6").loc[0, "recall@10"]
    np.float64(88.09)
    """
    index = yaml.safe_load(paths.data("paper", "index.yaml").read_text(encoding="utf-8"))
    require(name in index, f"no table {name!r} in data/paper; there are {', '.join(index)}")
    about = index[name]
    try:
        frame = pd.read_csv(paths.data("paper", f"{name}.csv")).astype(about["columns"])[list(about["columns"])]
    except (KeyError, ValueError) as error:
        raise InputError(f"data/paper/{name}.csv does not fit its columns in index.yaml: {error}") from error
    frame.attrs.update(paper=about["paper"], place=about["place"])
    return frame


# -- claims ------------------------------------------------------------------------------------------------------------

VERDICTS = ("reproduced", "partly", "undecided", "contradicted", "needs a larger model")
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
RULE = re.compile(r"^([\w.@+-]+)\.(value|low|high)\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)$")


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, with the rule that weighs it."""

    id: str
    paper: str
    place: str
    claim: str
    paper_value: str
    notebook: str
    metrics: list[str]
    reproduced: list[str]
    partly: list[str] = field(default_factory=list)
    needs_larger_model: str = ""


def all_claims(path: Path | None = None) -> list[Claim]:
    """The claims of `data/claims.yaml`. Raises InputError that names the claim and the key that is wrong."""
    path = path or paths.data("claims.yaml")
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    fits = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    require(fits, f"{path.name} is not a list of claims, each with its fields")
    claims: dict[str, Claim] = {}
    for i, entry in enumerate(entries):
        where = f"{path.name}, claim {entry.get('id', f'number {i + 1}')}"
        for key, value in entry.items():
            expected = list if key in ("metrics", "reproduced", "partly") else str
            require(isinstance(value, expected), f"{where}: {key} is {value!r}, expected a {expected.__name__}")
        try:
            claim = Claim(**entry)
        except TypeError as error:
            raise InputError(f"{where}: {str(error).split('.')[-1]}") from error
        require(claim.reproduced, f"{where}: no rule says when it is reproduced")
        for rule in claim.reproduced + claim.partly:
            require(RULE.match(rule), f"{where}: {rule!r} is no rule; expected `metric.value <= 1.5`")
        require(claim.id not in claims, f"{path.name}: the id {claim.id} occurs twice")
        claims[claim.id] = claim
    return list(claims.values())


def holds(rule: str, metrics: dict) -> bool:
    """Whether a comparison holds for a notebook's metrics.

    >>> holds("gain.low > 0", {"gain": {"value": 0.2, "ci": [0.1, 0.3]}})
    True
    """
    key, edge, compare, bound = RULE.match(rule).groups()
    require(key in metrics, f"the rule {rule!r} names a metric that was not recorded; recorded are {', '.join(metrics)}")
    metric = metrics[key]
    require(edge == "value" or "ci" in metric, f"the rule {rule!r} needs an interval, and {key} was recorded without one")
    number = metric["value"] if edge == "value" else metric["ci"][edge == "high"]
    return OPERATORS[compare](number, float(bound))


def verdict(claim: Claim, stored: dict | None) -> str:
    """`reproduced`, `partly`, `undecided`, `contradicted`, `needs a larger model`, or `not yet weighed`."""
    if not stored or not stored["finished"]:
        return "not yet weighed"
    for name in ("reproduced", "partly"):
        held = [holds(rule, stored["metrics"]) for rule in getattr(claim, name)]  # all of them: one may name nothing recorded
        if held and all(held):
            return name
    if claim.needs_larger_model:
        return "needs a larger model"
    return "undecided" if all(holds(_at_best(rule), stored["metrics"]) for rule in claim.reproduced) else "contradicted"


def _at_best(rule: str) -> str:
    """A rule at the end of the interval that is kinder to the claim."""
    return re.sub(r"\.high(?=\s*<)", ".low", re.sub(r"\.low(?=\s*>)", ".high", rule))


def ours(claim: Claim, stored: dict | None) -> str:
    """The measured values as text, intervals included."""
    metrics = (stored or {}).get("metrics", {})
    return "<br>".join(f"{key}: {_measured(metrics[key]) if key in metrics else '–'}" for key in claim.metrics)


def with_interval(metric: Mapping, written: Callable[[Any], str]) -> str:
    """A metric's value, and its interval if it has one, each number as `written` has it.

    >>> with_interval({"value": 0.25, "ci": [0.125, 0.5], "n": 8}, "{:.2g}".format)
    '0.25 [0.12, 0.5]'
    """
    return written(metric["value"]) + (f" [{', '.join(map(written, metric['ci']))}]" if "ci" in metric else "")


def _measured(metric: dict) -> str:
    said = with_interval(metric, lambda number: f"{number:.3g}" if isinstance(number, float) else str(number))
    return said + (f", n = {metric['n']}" if "n" in metric else "")


def weighed(claims: list[Claim], folder: Path | None = None) -> list[tuple[Claim, str]]:
    """Each claim with its verdict, from the results under `folder`."""
    return [(claim, verdict(claim, results.stored(claim.notebook, folder))) for claim in claims]


def counts_table(weighed: list[tuple[Claim, str]], pages: Mapping[str, str] = MappingProxyType({})) -> str:
    """A Markdown table: how many claims of each paper came to which verdict. `pages` has links in place of the papers' names.

    >>> claim = Claim("a.b", "MoM", "section 3", "It holds.", "stated", "43_hmv_theorem", [], ["a.value > 0"])
    >>> print(counts_table([(claim, "partly")]).splitlines()[-1])
    | MoM | 0 | 1 | 0 | 0 | 0 | 1 |
    """
    rows = []
    for paper in dict.fromkeys(claim.paper for claim, _ in weighed):
        verdicts = [judged for claim, judged in weighed if claim.paper == paper]
        rows.append([pages.get(paper, paper), *map(verdicts.count, VERDICTS), len(verdicts)])
    return plots.markdown_table(["paper", *(f"{judged}:" for judged in VERDICTS), "all:"], rows)


def claims_table(claims: list[Claim], folder: Path | None = None) -> str:
    """The Markdown table *paper / ours / verdict* over some claims, with the results under `folder`."""
    rows = []
    for claim in claims:
        stored = results.stored(claim.notebook, folder)
        judged = verdict(claim, stored)
        why = f": {claim.needs_larger_model}" if judged == "needs a larger model" else ""
        place, got = f"{claim.paper}, {claim.place}", ours(claim, stored)
        rows.append([place, claim.claim, claim.paper_value, got, f"**{judged}**{why}"])
    return plots.markdown_table(["paper", "claim", "the paper says", "we got", "verdict"], rows)


# -- audit -------------------------------------------------------------------------------------------------------------

OUTCOMES = ("agrees", "rounds", "differs")
Formula = Callable[[np.ndarray], float]  # of inputs, (n,)
EXACT = math.inf  # decimals of an input that was never rounded: a count
_SLACK = 1e-9  # of binary fractions: 0.3 - 0.2 is not 0.1


@dataclass(frozen=True)
class Outcome:
    """A number as `printed` with so many `decimals`, the `value` that follows, and the range that rounding allows it."""

    printed: float
    decimals: int
    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """`agrees`, `rounds` or `differs`. A value half-way between two printed numbers agrees with either."""
        reach = half_unit(self.decimals) + _SLACK * max(1.0, abs(self.printed))
        if abs(self.value - self.printed) <= reach:
            return "agrees"
        return "rounds" if self.low - reach <= self.printed <= self.high + reach else "differs"


def half_unit(decimals: ArrayLike) -> np.ndarray:
    """Half a unit of the last place: how far a number may be from the one that was rounded to it.

    Negative decimals round to tens or hundreds; `EXACT` gives 0. Any shape.

    >>> half_unit([1, -2, EXACT]).tolist()
    [0.05, 50.0, 0.0]
    """
    return 0.5 * 10.0 ** -np.asarray(decimals, dtype=float)


def spread(formula: Formula, inputs: ArrayLike, decimals: ArrayLike) -> tuple[float, float]:
    """The least and the greatest value that a formula can have over all inputs that print as these do.

    `formula` takes an array of shape (n,) and gives a number; `inputs` has shape (n,), `decimals` is one number or one
    an input. The ends lie at two corners of the box of possible inputs, found by moving one input at a time: exact for a
    formula that rises or falls with each input throughout the box (sum, mean, difference, greatest, quotient of positive
    numbers), and to first order for others that are smooth (a correlation).

    Raises InputError for inputs that are not finite.

    A gain of 54.2 - 52.2, each printed with one decimal:

    >>> low, high = spread(lambda x: x[0] - x[1], [54.2, 52.2], 1)
    >>> f"{low:.1f} to {high:.1f}"
    '1.9 to 2.1'
    """
    x = np.asarray(inputs, dtype=float)
    require(np.isfinite(x).all(), f"inputs={inputs!r}: expected finite numbers")
    up = np.broadcast_to(half_unit(decimals), x.shape).copy()
    for i, move in enumerate(np.diag(up)):
        if formula(x + move) < formula(x - move):
            up[i] = -up[i]
    ends = [float(formula(at)) for at in (x - up, x, x + up)]
    return min(ends), max(ends)


def follows(printed: float, decimals: int, formula: Formula, inputs: ArrayLike, given: Any = None) -> Outcome:
    """Hold a printed number to a formula over other printed numbers.

    `printed` stands with `decimals` decimals, the `inputs` of shape (n,) with `given` (the same, if not said; `EXACT`
    for counts). See `spread` for what a formula is, and for the errors.

    The gain that a paper puts at 3.8 %, from averages of 54.2 and 52.2:

    >>> outcome = follows(3.8, 1, lambda x: 100 * (x[0] / x[1] - 1), [54.2, 52.2])
    >>> f"{outcome.value:.2f}, from {outcome.low:.2f} to {outcome.high:.2f}: {outcome.verdict}"
    '3.83, from 3.64 to 4.03: agrees'
    """
    low, high = spread(formula, inputs, decimals if given is None else given)
    return Outcome(float(printed), decimals, float(formula(np.asarray(inputs, dtype=float))), low, high)


def percent(printed: float, decimals: int, n: int) -> Outcome:
    """Hold a percentage to the number of questions behind it: it must be k / n for a whole k.

    The nearest such share is the value; there is no range, since n is a count. (Brown and Heathers, 2017, call this test
    GRIM.) From n = 10^(2 + decimals) on, every percentage is possible, and the test says nothing.

    Of 600 questions, 429 or 430 can be answered rightly, which print as 71.50 and 71.67:

    >>> percent(71.67, 2, 600).verdict, percent(71.57, 2, 600).verdict
    ('agrees', 'differs')
    """
    value = 100 * round(printed * n / 100) / n
    return Outcome(float(printed), decimals, value, value, value)


def exceeds(left: ArrayLike, right: ArrayLike, decimals: int) -> Outcome:
    """Hold a sentence to a table: in how many of n comparisons is `left` the greater, where it says in all?

    Both have shape (n,) and are printed with so many decimals. `printed` is n; the range leaves out what rounding may
    have reversed and adds what it may have hidden, such as ties. So the verdict is `agrees` where all hold as printed,
    `rounds` where the others are ties, and `differs` where one is the smaller.

    >>> exceeds([3.1, 2.0], [3.0, 2.0], 1)
    Outcome(printed=2.0, decimals=0, value=1.0, low=0.0, high=2.0)
    """
    a, b = np.atleast_1d(np.asarray(left, dtype=float)), np.atleast_1d(np.asarray(right, dtype=float))
    require(np.isfinite([a, b]).all(), "cannot compare: a number is missing or infinite")
    unit = 2 * half_unit(decimals)
    surely, possibly = (a - b > unit + _SLACK).sum(), (a - b > -unit + _SLACK).sum()
    return Outcome(float(len(a)), 0, float((a - b > _SLACK).sum()), float(surely), float(possibly))


class Line(NamedTuple):
    """One check: what is printed and where, the arithmetic in words, and how it came out."""

    what: str
    arithmetic: str
    outcome: Outcome


class Ledger:
    """All checks of one paper, in order, each under a key of its own; most of its numbers have so many `decimals`.

    Keys are written with small letters, digits and `.@+_`, whatever they are made of; parts are set off by points.

    >>> ledger = Ledger("A paper", decimals=1)
    >>> ledger.follows("table1.average", "Table 1, average", "(2.0 + 3.0) / 2", 2.8, np.mean, [2.0, 3.0])
    >>> ledger.percent("table1.first", "Table 1, first score", 33.3, 3)
    >>> ledger.tally(), ledger.tally("table1.f")
    ({'agrees': 1, 'rounds': 0, 'differs': 1}, {'agrees': 1, 'rounds': 0, 'differs': 0})
    >>> ledger.table(only=["differs"]).loc[0, "could be"]
    '2.45 to 2.55'
    """

    def __init__(self, paper: str, decimals: int):
        self.paper, self.decimals = paper, decimals
        self.lines: dict[str, Line] = {}

    def add(self, key: str, what: str, arithmetic: str, outcome: Outcome) -> None:
        """Enter a check. Raises InputError for a key that is there already."""
        key = re.sub(r"[^a-z0-9.@+]+", "_", key.lower()).strip("_")
        if key in self.lines:
            raise InputError(f"the ledger of {self.paper} has a check {key!r} already: {self.lines[key].what}")
        self.lines[key] = Line(what, arithmetic, outcome)

    def follows(self, key, what, arithmetic, printed, formula, inputs, *, decimals=None, given=None) -> None:
        """Enter `follows(...)`; `decimals` are the ledger's if not said."""
        decimals = self.decimals if decimals is None else decimals
        self.add(key, what, arithmetic, follows(printed, decimals, formula, inputs, given))

    def counts(self, key: str, what: str, printed: int, parts: Sequence[int]) -> None:
        """Enter that a whole number is the sum of others."""
        arithmetic = " + ".join(f"{part:g}" for part in parts)
        self.follows(key, what, arithmetic, printed, np.sum, parts, decimals=0, given=EXACT)

    def same(self, key: str, what: str, where: str, printed: float, source: float) -> None:
        """Enter that a number is the one printed elsewhere."""
        self.follows(key, what, f"{source:.{self.decimals}f}, {where}", printed, np.sum, [source])

    def percent(self, key: str, what: str, printed: float, n: int) -> None:
        """Enter `percent(...)`, with the nearest k of n as its arithmetic."""
        outcome = percent(printed, self.decimals, n)
        self.add(key, what, f"100 * {round(outcome.value * n / 100)} / {n}", outcome)

    def says(self, key: str, what: str, where: str, left: ArrayLike, right: ArrayLike) -> None:
        """Enter `exceeds(...)`: a sentence, and the table that it is about. A lone number, or a row, is held to every other
        number, or row, of a table."""
        left, right = np.broadcast_arrays(*(np.asarray(side, dtype=float) for side in (left, right)))
        self.add(key, what, where, exceeds(left.ravel(), right.ravel(), self.decimals))

    def tally(self, *starts: str) -> dict[str, int]:
        """How many checks have each verdict, of those whose keys begin with one of `starts` (all, if none is given)."""
        verdicts = [line.outcome.verdict for line in self._some(starts).values()]
        return {verdict: verdicts.count(verdict) for verdict in OUTCOMES}

    def table(self, *starts: str, only: Sequence[str] = OUTCOMES) -> pd.DataFrame:
        """These checks as text to look at, one a row; only those with some verdicts, if asked for."""
        rows = []
        for what, arithmetic, outcome in self._some(starts).values():
            decimals = max(outcome.decimals, 0)  # two more than is printed are shown, and no zeros at the end
            numbers = (f"{number:.{decimals + 2}f}" for number in (outcome.value, outcome.low, outcome.high))
            value, low, high = (number.rstrip("0").rstrip(".") for number in numbers)
            rows.append([what, arithmetic, f"{outcome.printed:.{decimals}f}", value, f"{low} to {high}", outcome.verdict])
        frame = pd.DataFrame(rows, columns=["what", "arithmetic", "printed", "gives", "could be", "verdict"])
        return frame[frame["verdict"].isin(only)].reset_index(drop=True)

    def _some(self, starts: tuple[str, ...]) -> dict[str, Line]:
        chosen = {key: line for key, line in self.lines.items() if not starts or key.startswith(starts)}
        require(chosen or not starts, f"the ledger of {self.paper} has no key that begins with {' or '.join(starts)}")
        return chosen
