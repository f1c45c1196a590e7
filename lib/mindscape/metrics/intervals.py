"""How sure is a mean? Bootstrap intervals over questions, and paired comparisons of two systems.

Questions about one book stand or fall together: with `groups` whole books are drawn, not single questions, and the
interval is as wide as it must be.

Taught in notebook 00; resamples are scipy's, the method is Efron's percentile bootstrap (Efron and Tibshirani, 1993, chapter
13). This module corrects nothing for many comparisons, and an interval says nothing about corpora, seeds or models that were
not drawn.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mindscape.errors import InputError, require

_CELLS = 1 << 20  # values drawn at a time, so that memory (about 16 MB) does not grow with the number of resamples


@dataclass(frozen=True)
class Interval:
    """A statistic of `n` values, with the ends of its bootstrap interval. As text it has two digits.

    >>> print(Interval(0.375, 0.125, 0.625, n=16))
    0.38 [0.12, 0.62]
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:z.2f} [{self.low:z.2f}, {self.high:z.2f}]"


@dataclass(frozen=True)
class Difference(Interval):
    """A difference of two means over the same `n` questions, its interval, and a two-sided p-value.

    As text it has its signs, and a third digit for an end so near to 0 that two would not tell on which side it is.

    >>> print(Difference(0.5, -0.001, 0.875, n=8, p=0.06))
    +0.50 [-0.001, +0.88]
    """

    p: float

    def __str__(self) -> str:
        return f"{self.value:+z.2f} [{_end(self.low)}, {_end(self.high)}]"


def _end(value: float) -> str:
    near = 1e-9 < abs(value) < 0.005  # less is the noise of a sum
    return f"{value:+.3f}" if near else f"{value:+z.2f}"


def bootstrap(
    values: ArrayLike,
    statistic: Callable[..., np.ndarray] = np.mean,
    *,
    groups: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """The percentile interval of a statistic: its quantiles over `resamples` samples drawn with replacement.

    `values` has shape (n,), one score a question, n ≥ 2. `statistic` takes an array and `axis`, as np.mean and
    np.median do. `groups` gives each value its group (book, play, series): at least two, and better twenty, since with
    few the interval is too narrow. The same seed gives the same interval.

    If all values are equal the interval is a point, which is not certainty: of 20 right answers out of 20, all that is
    known is that at least 86 % of such questions are answered rightly (95 %).

    Raises InputError for fewer than two values or groups, NaN or infinity, lengths that differ, a level outside (0, 1),
    and a statistic that is not finite.

    Four of eight right. The closed form is 0.5 ± 1.96 · √(0.25 / 8) = 0.5 ± 0.35:

    >>> bootstrap([1, 0, 1, 1, 0, 0, 1, 0])
    Interval(value=0.5, low=0.125, high=0.875, n=8)
    """
    values = _checked("values", values)
    draws = _draws(values, statistic, groups, resamples, seed)
    low, high = _ends(draws, level)
    return Interval(float(statistic(values, axis=-1)), low, high, len(values))


def grouped(pairs: Iterable[tuple[float, Hashable]], seed: int = 0) -> Interval | None:
    """The mean of numbers that each come with their group, and its interval; None for fewer than two numbers. NaN is left out.

    Whole groups are drawn where there are more than one.

    >>> grouped([(1.0, "a"), (math.nan, "b"), (0.0, "a")]).value
    0.5
    """
    kept = [(number, group) for number, group in pairs if not math.isnan(number)]
    if len(kept) < 2:
        return None
    groups = [group for _, group in kept]
    return bootstrap([number for number, _ in kept], groups=groups if len(set(groups)) > 1 else None, seed=seed)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Difference:
    """The mean of a - b over the same questions, its interval, and a two-sided p-value.

    `a` and `b` have shape (n,), the scores of two systems for the same questions in the same order. Questions are drawn
    once for both, so what makes a question hard for both cancels. p is twice the share of samples in which the
    difference is ≤ 0, or ≥ 0, whichever is smaller; the observed one is counted in, so p is never 0. It agrees with the
    interval: an interval that leaves out zero goes with p < 1 - level. With as few as ten groups p is far too small in the
    tail: it does not bear a correction for many comparisons. Other arguments and errors: `bootstrap`; also a and b of unequal
    lengths.

    The differences below are four ones and four zeros, so a sample without a one has probability 0.5⁸: p = 2 · 0.5⁸.

    >>> of = paired_bootstrap([1, 1, 1, 0, 1, 1, 0, 1], [0, 1, 0, 0, 1, 0, 0, 0])
    >>> of.value, of.low, of.high, of.n, round(of.p, 3)
    (0.5, 0.125, 0.875, 8, 0.008)
    """
    a, b = _checked("a", a), _checked("b", b)
    require(len(a) == len(b), f"a has {len(a)} values and b has {len(b)}: expected the same questions in both")
    draws = _draws(a - b, np.mean, groups, resamples, seed)
    low, high = _ends(draws, level)
    fewer = int(min((draws <= 0).sum(), (draws >= 0).sum()))
    return Difference(float(np.mean(a - b)), low, high, len(a), p=min(1.0, 2 * (fewer + 1) / (resamples + 1)))


def _checked(name: str, values: ArrayLike) -> np.ndarray:
    try:
        values = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds something that is not a number: {error}") from error
    if values.ndim != 1 or len(values) < 2:
        raise InputError(f"{name} has shape {values.shape}: expected one dimension with at least two values")
    odd = np.flatnonzero(~np.isfinite(values))
    if len(odd):
        raise InputError(f"{name}[{odd[0]}] is {values[odd[0]]}: expected finite numbers")
    return values


def _draws(
    values: np.ndarray, statistic: Callable, groups: Sequence[Hashable] | None, resamples: int, seed: int
) -> np.ndarray:
    """The statistic of each resample: shape (resamples,). Whole groups are drawn where there are groups."""
    require(resamples >= 1, f"resamples is {resamples}: expected 1 or more")
    drawn, of_drawn, batch = values, statistic, max(1, _CELLS // len(values))
    if groups is not None:
        members = _members(groups, len(values))
        drawn = np.arange(len(members))
        if statistic is np.mean:  # the same from each group's sum and size, for many samples at a time
            sums, sizes = np.array([(values[some].sum(), len(some)) for some in members]).T

            def of_drawn(chosen, axis):
                return sums[chosen].sum(axis) / sizes[chosen].sum(axis)
        else:
            batch = 1

            def of_drawn(chosen, axis):
                return statistic(values[np.concatenate([members[i] for i in chosen.ravel()])][np.newaxis], axis=axis)

    options = {"n_resamples": resamples, "batch": batch, "vectorized": True, "method": "percentile"}
    with warnings.catch_warnings(action="ignore"):  # of a statistic that is not finite, which is an error below
        draws = stats.bootstrap((drawn,), of_drawn, rng=np.random.default_rng(seed), **options).bootstrap_distribution
    require(np.isfinite(draws).all(), "the statistic is not finite in every resample: an interval has no meaning then")
    # What rounding leaves of a zero is zero, so that an interval that ends there does not leave it out.
    return np.where(np.abs(draws) < 1e-12 * np.abs(values).max(), 0.0, draws)


def _members(groups: Sequence[Hashable], n: int) -> list[np.ndarray]:
    """The indices of each group's values."""
    require(len(groups) == n, f"{len(groups)} groups for {n} values: expected one each")
    members: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    if len(members) < 2:
        raise InputError(f"all values belong to one group ({next(iter(members))!r}): expected at least two groups")
    return [np.array(indices) for indices in members.values()]


def _ends(draws: np.ndarray, level: float) -> tuple[float, float]:
    require(0 < level < 1, f"level is {level}: expected something between 0 and 1, such as 0.95")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
