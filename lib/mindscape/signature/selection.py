"""Which summaries to pick: First-K, greedy, lazy greedy, and all sets where they are few (MiA-Signature, appendix A).

They know nothing of what they maximise but its gains, see `Objective` in `mindscape.signature.objectives`. Each returns a
`Selection`: the picks in their order, what each added, and how many gains were asked for. Equal gains go to the lowest
index. As line 7 of Algorithm 2 does, they pick min(k, N) summaries even where a gain is negative.

Greedy and lazy greedy pick the same, to the last bit of their gains: a test says so. Neither is random, and none of them
takes costs other than one a summary. Taught in notebook 21_submodular_signatures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mindscape.errors import InputError, require
from mindscape.signature.objectives import Objective, whole

LARGEST = 2_000_000  # sets, or orders, that `exhaustive` tries at most
_BATCH = 64  # gains that lazy greedy asks for at once, at most


@dataclass(frozen=True)
class Selection:
    """Indices of the picks in their order, what each added when it came, and the gains asked for on the way.

    >>> Selection((2, 0), (1.5, 0.25), 5).value
    1.75
    """

    picks: tuple[int, ...]
    gains: tuple[float, ...]
    evaluations: int

    @property
    def value(self) -> float:
        return float(sum(self.gains))


def evaluate(objective: Objective, picks: Sequence[int]) -> Selection:
    """What given picks add one by one, in their order. Raises InputError for a pick that is not there or comes twice.

    Taught in notebook 21_submodular_signatures.

    >>> from mindscape.signature.objectives import Modular
    >>> evaluate(Modular([0.5, 0.25, 1.0]), [2, 0])
    Selection(picks=(2, 0), gains=(1.0, 0.5), evaluations=2)
    """
    picks = list(picks)
    whole = all(isinstance(pick, int | np.integer) and 0 <= pick < objective.n for pick in picks)
    if not whole or len(set(picks)) < len(picks):
        raise InputError(f"picks {picks}: expected different indices from 0 to {objective.n - 1}")
    state, gains = objective.start(), []
    for pick in picks:
        gains.append(float(objective.gains(state, np.array([pick]))[0]))
        state = objective.add(state, pick)
    return Selection(tuple(map(int, picks)), tuple(gains), len(picks))


def first_k(
    sessions: Sequence[int] | np.ndarray, k: int, *, among_chunks: bool = False, objective: Objective | None = None
) -> Selection:
    """The summaries of the best chunks: no objective asked (section 3.2.1; appendix A.1).

    `sessions`: (M,), the summary of each chunk, best chunk first. The paper says it in two ways. Section 3.2.1: the first `k`
    different summaries. Appendix A.1: the summaries of the first `k` chunks, which may be fewer (`among_chunks`). With an
    `objective` the picks' gains come with it. (The third reading, the `k` summaries most like the query, is `greedy` on
    `Modular(relevance(query, summaries))`.) Raises InputError for k < 1 and for sessions that are no indices.
    Taught in notebook 21_submodular_signatures.

    >>> first_k([4, 4, 0, 4, 2, 1], 3).picks, first_k([4, 4, 0, 4, 2, 1], 3, among_chunks=True).picks
    ((4, 0, 2), (4, 0))
    """
    whole(k, "k")
    found = np.asarray(sessions)
    if found.ndim != 1 or not found.size or not np.issubdtype(found.dtype, np.integer) or found.min() < 0:
        raise InputError(f"sessions: got {found.dtype} {found.shape}, expected the index of each chunk's summary, (M,)")
    picks = list(dict.fromkeys((found[:k] if among_chunks else found).tolist()))[:k]
    if objective is None:
        return Selection(tuple(picks), (), 0)
    return Selection(tuple(picks), evaluate(objective, picks).gains, 0)


def greedy(objective: Objective, k: int) -> Selection:
    """In each of `k` rounds, the summary that adds most (Algorithm 2, lines 6 to 22): all that are left are asked.

    Gains asked for: kN - k(k - 1)/2. Raises InputError for k < 1. Taught in notebook 21_submodular_signatures.

    >>> from mindscape.signature.objectives import FacilityLocation
    >>> greedy(FacilityLocation([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]), 2)  # 3 of 4: all sets are equal at first
    Selection(picks=(0, 1), gains=(2.0, 1.0), evaluations=5)
    """
    whole(k, "k")
    state, picks, gains = objective.start(), [], []
    for _ in range(min(k, objective.n)):
        every = objective.gains(state)
        every[picks] = -np.inf
        best = int(every.argmax())  # the first of equals
        picks.append(best)
        gains.append(float(every[best]))
        state = objective.add(state, best)
    evaluations = sum(objective.n - i for i in range(len(picks)))
    return Selection(tuple(picks), tuple(gains), evaluations)


def lazy_greedy(objective: Objective, k: int) -> Selection:
    """What `greedy` picks, with fewer gains asked for (Minoux, 1978): one that was small is not asked for again.

    Where gains only shrink, a gain of an earlier round bounds that of now. So the summaries with the highest bounds are
    asked, a few at a time, until one has both the highest bound and a gain of this round. Up to `objective.settled` picks all
    are asked. Raises InputError for k < 1. Taught in notebook 21_submodular_signatures.

    >>> from mindscape.signature.objectives import Modular
    >>> lazy_greedy(Modular(np.arange(1000.0)), 3).picks
    (999, 998, 997)
    """
    whole(k, "k")
    state, picks, gains, evaluations = objective.start(), [], [], 0
    for _ in range(min(k, objective.n)):
        if len(picks) <= objective.settled:
            bounds, evaluations = objective.gains(state), evaluations + objective.n - len(picks)
            bounds[picks] = -np.inf
            best = int(bounds.argmax())
        else:
            best, asked = _highest(objective, state, bounds)
            evaluations += asked
        picks.append(best)
        gains.append(float(bounds[best]))
        bounds[best] = -np.inf
        state = objective.add(state, best)
    return Selection(tuple(picks), tuple(gains), evaluations)


def _highest(objective: Objective, state: Any, bounds: np.ndarray) -> tuple[int, int]:
    """The summary with the largest gain, and how many gains were asked for; `bounds` are brought down to those gains."""
    stale, asked, batch = np.isfinite(bounds), 0, 1
    while stale[best := int(bounds.argmax())]:
        rows = np.array([best])
        if batch > 1:  # of equal bounds the partition may leave out the first, which is the one that must be asked
            rows = np.union1d(rows, np.argpartition(bounds, -batch)[-batch:])
            rows = rows[stale[rows]]
        bounds[rows] = objective.gains(state, rows)
        stale[rows] = False
        asked += len(rows)
        batch = min(2 * batch, _BATCH, objective.n)  # one is mostly enough; where it is not, calls cost more than gains
    return best, asked


def exhaustive(objective: Objective, k: int, *, smaller: bool = False) -> Selection:
    """The best of all sets of min(k, N) summaries, for small pools; of equal ones the lexicographically first.

    `smaller`: sets of fewer summaries compete as well, the empty one included, which matters where gains are negative. Of an
    objective that depends on the order (`ordered`), the best of all orders. Raises InputError for k < 1 and for more than
    `LARGEST` sets or orders. Taught in notebook 21_submodular_signatures.

    >>> from mindscape.signature.objectives import FacilityLocation
    >>> exhaustive(FacilityLocation([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]), 2).picks
    (1, 2)
    """
    whole(k, "k")
    n, k = objective.n, min(k, objective.n)
    sets = math.perm(n, k) if objective.ordered else math.comb(n, k)
    what = "orders" if objective.ordered else "sets"
    require(sets <= LARGEST, f"{k} of {n} summaries: {sets:,} {what}, at most {LARGEST:,}")
    best = Selection((), (), 0) if smaller else None
    highest, evaluations = 0.0 if smaller else -math.inf, 0
    waiting = [((), (), objective.start())]  # last in, first out, so sets come in lexicographic order
    while waiting:
        picks, gains, state = waiting.pop()
        left = n if objective.ordered else n - (k - len(picks) - 1) * (not smaller)
        rows = np.array(
            [i for i in range(0 if objective.ordered or not picks else picks[-1] + 1, left) if i not in picks]
        )
        if not len(rows):
            continue
        more = objective.gains(state)[rows]  # of all: pools are small
        evaluations += len(rows)
        if smaller or len(picks) == k - 1:
            first = int(more.argmax())
            total = sum(gains) + float(more[first])
            if total > highest:
                highest, best = total, Selection((*picks, int(rows[first])), (*gains, float(more[first])), 0)
        if len(picks) < k - 1:
            for row, gain in zip(rows[::-1].tolist(), more[::-1].tolist(), strict=True):
                waiting.append(((*picks, row), (*gains, gain), objective.add(state, row)))
    return Selection(best.picks, best.gains, evaluations)
