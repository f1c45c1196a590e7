"""The ledger of claims: what the papers say, what the notebooks found, and a verdict by rule.

A claim stands in `data/claims.yaml`:

    - id: mia.mindscape.abstraction
      paper: MiA-RAG
      place: section 3.2
      claim: what is claimed, in our words
      paper_value: the paper's numbers, as text
      notebook: 10_hierarchical_summaries
      metrics: [gain_over_unrelated.untuned]     # shown under "ours"
      reproduced: [gain_over_unrelated.untuned.low > 0]
      partly: [gain_over_unrelated.untuned.value > 0]         # optional
      needs_larger_model: why we think so        # optional: what a failed rule means; shown in the table

A rule is a list of comparisons that must all hold, `<metric>.<value|low|high> <op> <number>`; `low` and `high` are the
ends of the metric's interval. The first of `reproduced`, `partly` that holds is the verdict. Where neither does it is "needs a
larger model" if that is set; "undecided" if the rule of `reproduced` fails at one end of an interval and holds at the other,
so that the numbers speak neither for the claim nor against it; else "contradicted". A claim whose notebook has no finished
results is "not yet weighed".

Taught in notebook 00. Nothing is evaluated as code.
"""

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import yaml

from mindscape import paths, results
from mindscape.errors import InputError, require

VERDICTS = ("reproduced", "partly", "undecided", "contradicted", "needs a larger model")
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
RULE = re.compile(
    r"^(?P<key>[\w.@+-]+)\.(?P<edge>value|low|high)\s*(?P<op><=|>=|<|>)\s*(?P<bound>-?\d+(\.\d+)?(e-?\d+)?)$"
)


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
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path.name} is not a list of claims, each with its fields")
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
    part = RULE.match(rule).groupdict()
    if part["key"] not in metrics:
        raise InputError(f"the rule {rule!r} names a metric that was not recorded; recorded are {', '.join(metrics)}")
    metric = metrics[part["key"]]
    if part["edge"] != "value" and "ci" not in metric:
        raise InputError(f"the rule {rule!r} needs an interval, and {part['key']} was recorded without one")
    number = metric["value"] if part["edge"] == "value" else metric["ci"][part["edge"] == "high"]
    return OPERATORS[part["op"]](number, float(part["bound"]))


def verdict(claim: Claim, stored: dict | None) -> str:
    """`reproduced`, `partly`, `undecided`, `contradicted`, `needs a larger model`, or `not yet weighed`."""
    if not stored or not stored["finished"]:
        return "not yet weighed"
    for name in ("reproduced", "partly"):
        rules = getattr(claim, name)
        if rules and all(holds(rule, stored["metrics"]) for rule in rules):
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


def _measured(metric: dict) -> str:
    value, *ends = (f"{x:.3g}" if isinstance(x, float) else str(x) for x in (metric["value"], *metric.get("ci", ())))
    interval = f" [{', '.join(ends)}]" if ends else ""
    return f"{value}{interval}" + (f", n = {metric['n']}" if "n" in metric else "")


def weighed(claims: list[Claim], folder: Path | None = None) -> list[tuple[Claim, str]]:
    """Each claim with its verdict, from the results under `folder`."""
    return [(claim, verdict(claim, _stored(claim, folder))) for claim in claims]


def _stored(claim: Claim, folder: Path | None) -> dict | None:
    try:
        return results.read(claim.notebook, folder)
    except InputError:
        return None


def counts_table(weighed: list[tuple[Claim, str]], pages: Mapping[str, str] = MappingProxyType({})) -> str:
    """A Markdown table: how many claims of each paper came to which verdict. `pages` has links in place of the papers' names.

    >>> claim = Claim("a.b", "MoM", "section 3", "It holds.", "stated", "43_hmv_theorem", [], ["a.value > 0"])
    >>> print(counts_table([(claim, "partly")]).splitlines()[-1])
    | MoM | 0 | 1 | 0 | 0 | 0 | 1 |
    """
    lines = [f"| paper | {' | '.join(VERDICTS)} | all |", "|---|" + "---:|" * (len(VERDICTS) + 1)]
    for paper in dict.fromkeys(claim.paper for claim, _ in weighed):
        found = [judged for claim, judged in weighed if claim.paper == paper]
        counts = [str(found.count(judged)) for judged in VERDICTS]
        lines.append(f"| {pages.get(paper, paper)} | {' | '.join(counts)} | {len(found)} |")
    return "\n".join(lines) + "\n"


def claims_table(claims: list[Claim] | None = None, folder: Path | None = None) -> str:
    """The Markdown table *paper / ours / verdict* over all claims, with the results under `folder`."""
    lines = ["| paper | claim | the paper says | we got | verdict |", "|---|---|---|---|---|"]
    for claim in claims if claims is not None else all_claims():
        stored = _stored(claim, folder)
        judged = verdict(claim, stored)
        why = f": {claim.needs_larger_model}" if judged == "needs a larger model" else ""
        place, got = f"{claim.paper}, {claim.place}", ours(claim, stored)
        cells = [place, claim.claim, claim.paper_value, got, f"**{judged}**{why}"]
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
