"""What a signature is worth: relevance, coverage and diversity of a set of summaries (MiA-Signature, appendix A.2).

A pool of N session summaries and M retrieved chunks, all as vectors of length 1; a *cover*, a sparse N x M matrix, says which
chunks a summary stands for. From them come the paper's three terms, each an objective of its own:

    f_Q  relevance   `Modular(relevance(query, summaries))`                              Eq. 7
    f_C  coverage    `FacilityLocation(coverage(summaries, chunks, cover, ranks))`       Eq. 8
    f_D  diversity   `Diversity(summaries)`                                              Eq. 9
    Eq. 10           `signature_objective(...)`, a `Mixture` of the three, scaled as line 5 of Algorithm 2 does

An objective answers one question, what each summary would add to those picked so far. `first_k`, `greedy`, `lazy_greedy` and
`exhaustive` pick, and know nothing of what they maximise but its gains. Each returns a `Selection`; equal gains go to the
lowest index. As line 7 of Algorithm 2 does, they pick min(k, N) summaries even where a gain is negative. Greedy and lazy
greedy pick the same, to the last bit of their gains: a test says so. None takes costs other than one a summary.

Coverage comes in two readings, which agree wherever each chunk has one summary: Eq. 8 keeps a chunk's best
match, `FacilityLocation`; line 20 of Algorithm 2 calls a chunk covered whatever its match, `MarkedCoverage`.

Where the paper is silent: a term whose largest value is not positive is divided by its largest absolute value, or not at
all if that is 0 (the literal division would turn its order around, or divide by zero).

Memory is linear in the cover's non-zeros and in the vectors. Nothing here embeds or retrieves; vectors are taken to be of
length 1, and nothing checks it. Taught in notebook 21_submodular_signatures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from mindscape.errors import require

WEIGHTS = (0.3, 0.4, 0.3)  # lambda of relevance, coverage, diversity (Eq. 10)
WINDOW = 20  # chunks that share a summary (appendix A.1)
LARGEST = 2_000_000  # sets, or orders, that `exhaustive` tries at most
_AT_ONCE = 1 << 20  # numbers of a block, so that pairs of vectors never stand side by side all at once
_BATCH = 64  # gains that lazy greedy asks for at once, at most


class Objective(Protocol):
    """What the optimisers ask for. A state stands for the picks so far; `add` returns a new one and leaves the old as it is.

    `n`: summaries to pick from. `settled`: with so many picks or more, another pick makes no gain larger, which is what
    lazy evaluation rests on. `ordered`: what the gains of a set add up to depends on the order of its picks, so that the
    objective is no function of the set.
    """

    n: int
    settled: int
    ordered: bool

    def start(self) -> Any: ...

    def gains(self, state: Any, rows: np.ndarray | None = None) -> np.ndarray:
        """What each of `rows`, by default all, would add now: (len(rows),) or (n,)."""

    def add(self, state: Any, pick: int) -> Any: ...


# The numbers that the terms are made of


def rank_weights(ranks: Sequence[int] | np.ndarray) -> np.ndarray:
    """The weight of a chunk by its rank in the first retrieval, w = 1/(r + 1), ranks from 1 (before Eq. 8; line 2).

    `ranks`: (M,). Taught in notebook 21_submodular_signatures.

    >>> rank_weights([1, 2, 3, 7]).tolist()
    [0.5, 0.3333333333333333, 0.25, 0.125]
    """
    return 1 / (np.asarray(ranks, dtype=np.float64) + 1)


def relevance(query: np.ndarray, summaries: np.ndarray) -> np.ndarray:
    """The cosine of each summary with the query (Eq. 7; line 3): (dim,) and (N, dim), of length 1, to (N,).

    Equal summaries get equal numbers, to the last bit, which a matrix product does not promise.
    Taught in notebook 21_submodular_signatures.

    >>> relevance(np.array([0.8, 0.6]), np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, -0.8]])).round(2).tolist()
    [0.8, 0.96, -0.96]
    """
    return _cosines(_floats(summaries), _floats(query))


def assignment(sessions: Sequence[int] | np.ndarray, n: int) -> csr_array:
    """The cover in which chunk i has the summary, or summaries, `sessions[i]`, of `n` in all: ones, (n, M).

    `sessions` is the paper's pi, (M,), or (M, k) where a chunk counts for k different summaries, such as its nearest ones.
    Taught in notebook 21_submodular_signatures.

    >>> assignment([2, 0, 2], 3).toarray().astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [1, 0, 1]]
    """
    sessions = np.sort(np.reshape(sessions, (len(sessions), -1)), axis=1)
    columns = np.repeat(np.arange(len(sessions)), sessions.shape[1])
    return csr_array((np.ones(sessions.size), (sessions.ravel(), columns)), shape=(n, len(sessions)))


def windows(length: int, width: int = WINDOW, stride: int | None = None) -> csr_array:
    """The cover of windows of `width` chunks over a source of `length` chunks, one after another (appendix A.1).

    With `stride` below `width` they overlap, which the paper's do not: then a chunk has several summaries. The last window
    may be shorter, and there is none that holds nothing new: (windows, length). Raises InputError for a width or stride below 1
    and a stride that leaves chunks out. Taught in notebook 21_submodular_signatures.

    >>> windows(5, 2).toarray().astype(int).tolist()
    [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
    >>> windows(5, 3, stride=2).toarray().astype(int).tolist()
    [[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]
    """
    stride = width if stride is None else stride
    gaps = "else chunks between windows have no summary"
    require(1 <= stride <= width, f"stride={stride}: expected 1 to width={width}, {gaps}")
    starts = np.arange(0, max(length - width + stride, 1), stride)
    ends = np.minimum(starts + width, length)
    columns = np.concatenate([np.arange(start, end) for start, end in zip(starts, ends, strict=True)])
    return csr_array((np.ones(len(columns)), columns, np.cumsum([0, *(ends - starts)])), shape=(len(starts), length))


def coverage(summaries: np.ndarray, chunks: np.ndarray, cover: csr_array, ranks: Sequence[int] | np.ndarray) -> csr_array:
    """How well a summary covers a chunk, w_i m(s, c_i) with m = max(0, cosine), where `cover` is not zero (before Eq. 8).

    `summaries`: (N, dim), `chunks`: (M, dim), of length 1; `cover`: (N, M); `ranks`: (M,). Returns (N, M) with the cover's
    places, those of a match of 0 included: line 20 marks them, too. Taught in notebook 21_submodular_signatures.

    >>> chunks = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
    >>> coverage(chunks[:2], chunks, assignment([0, 0, 0], 2), [1, 2, 3]).toarray().round(2).tolist()
    [[0.5, 0.2, 0.0], [0.0, 0.0, 0.0]]
    """
    summaries, chunks, cover, weights = _floats(summaries), _floats(chunks), _sparse(cover), rank_weights(ranks)
    rows, columns = np.repeat(np.arange(cover.shape[0]), np.diff(cover.indptr)), cover.indices
    values = np.empty(len(columns))
    block = max(_AT_ONCE // summaries.shape[1], 1)
    for i in range(0, len(columns), block):
        pairs = slice(i, i + block)
        values[pairs] = np.einsum("nd,nd->n", summaries[rows[pairs]], chunks[columns[pairs]])
    values = weights[columns] * np.maximum(values, 0)
    return csr_array((values, columns, cover.indptr), shape=cover.shape)


# Objectives


class Modular:
    """A sum over the picks, whatever else is picked: f_Q with cosines as values (Eq. 7).

    `values`: (N,), finite, also below zero; then it is not monotone. Taught in notebook 21_submodular_signatures.

    >>> objective = Modular([0.6, -0.6])
    >>> objective.gains(objective.add(objective.start(), 0)).tolist()
    [0.6, -0.6]
    """

    settled, ordered = 0, False

    def __init__(self, values: Sequence[float] | np.ndarray):
        self.values = _floats(values)
        self.n = len(self.values)

    def start(self) -> None:
        return None

    def gains(self, state: None, rows: np.ndarray | None = None) -> np.ndarray:
        return self.values.copy() if rows is None else self.values[rows]

    def add(self, state: None, pick: int) -> None:
        return None


class FacilityLocation:
    """The sum over chunks of the largest value that a pick has for it, 0 without picks: f_C (Eq. 8), and more.

    `matrix`: (N, M), sparse or dense, not negative; a value that is not stored is 0. Monotone and submodular, and modular
    where no column has two values above zero, so with the paper's pi. State: the best value of each chunk so far, (M,).
    Taught in notebook 21_submodular_signatures.

    Both summaries match the second chunk; the first pick takes part of what the other would have added:

    >>> objective = FacilityLocation([[0.5, 0.25, 0.0], [0.0, 0.5, 0.125]])
    >>> objective.gains(objective.start()).tolist()
    [0.75, 0.625]
    >>> objective.gains(objective.add(objective.start(), 0)).tolist()
    [0.0, 0.375]
    """

    settled, ordered = 0, False

    def __init__(self, matrix: csr_array | np.ndarray | Sequence[Sequence[float]]):
        self.matrix = _sparse(matrix)
        self.n = self.matrix.shape[0]

    def start(self) -> np.ndarray:
        return np.zeros(self.matrix.shape[1])

    def gains(self, state: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        values, columns, ends = self.matrix.data, self.matrix.indices, self.matrix.indptr
        if rows is None:
            lengths = np.diff(ends)
        else:
            lengths = ends[rows + 1] - ends[rows]
            places = np.arange(lengths.sum()) + np.repeat(ends[rows] - (np.cumsum(lengths) - lengths), lengths)
            values, columns = values[places], columns[places]
        more = np.maximum(values - state[columns], 0)
        # One after another, so that a gain has the same bits whichever rows are asked for: ties stay ties.
        sums = np.bincount(np.repeat(np.arange(len(lengths)), lengths), more, minlength=len(lengths))
        return sums.astype(np.float64, copy=False)  # of nothing, numpy returns whole numbers

    def add(self, state: np.ndarray, pick: int) -> np.ndarray:
        state, (columns, values) = state.copy(), self._row(pick)
        state[columns] = np.maximum(state[columns], values)
        return state

    def _row(self, pick: int) -> tuple[np.ndarray, np.ndarray]:
        row = slice(*self.matrix.indptr[pick : pick + 2])
        return self.matrix.indices[row], self.matrix.data[row]


class MarkedCoverage(FacilityLocation):
    """Coverage as Algorithm 2 keeps count of it: the first pick that has a chunk takes it, whatever its match (line 20).

    Equal to Eq. 8 where each chunk has one summary. Elsewhere a weak match bars a better one that comes later, what a set is
    worth depends on the order of its picks, and no share of the optimum is guaranteed. Every stored value counts as having
    the chunk, a stored 0 too. Taught in notebook 21_submodular_signatures.

    >>> objective = MarkedCoverage([[0.5, 0.25, 0.0], [0.0, 0.5, 0.125]])
    >>> objective.gains(objective.add(objective.start(), 0)).tolist()
    [0.0, 0.125]
    """

    ordered = True

    def add(self, state: np.ndarray, pick: int) -> np.ndarray:
        state, (columns, _) = state.copy(), self._row(pick)
        state[columns] = np.inf  # nothing is better
        return state


class Diversity:
    """f_D: 1 for the first pick, then 1 minus the largest cosine with a pick (Eq. 9; line 12).

    `vectors`: (N, dim), of length 1. Never negative. Gains shrink as picks come, but for the first one: a cosine below zero
    is worth more than 1. Their sum depends on the order of the picks. State: the largest cosine with a pick, (N,), -inf
    before the first. Taught in notebook 21_submodular_signatures.

    >>> objective = Diversity([[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8]])
    >>> objective.gains(objective.start()).tolist()
    [1.0, 1.0, 1.0]
    >>> objective.gains(objective.add(objective.start(), 0)).tolist()
    [0.0, 0.4, 1.6]
    """

    settled, ordered = 1, True

    def __init__(self, vectors: np.ndarray | Sequence[Sequence[float]]):
        self.vectors = _floats(vectors)
        self.n = len(self.vectors)

    def start(self) -> np.ndarray:
        return np.full(self.n, -np.inf)

    def gains(self, state: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        nearest = state if rows is None else state[rows]
        return np.where(np.isneginf(nearest), 1.0, 1 - nearest)

    def add(self, state: np.ndarray, pick: int) -> np.ndarray:
        return np.maximum(state, _cosines(self.vectors, self.vectors[pick]))


class Mixture:
    """A sum of objectives over the same summaries, each divided by its scale and then weighed (Eq. 10; line 13).

    `weights`: one a part, not negative, not all zero; `scales`: one a part, above 0, by default 1. Parts of weight 0 are
    left out. Raises InputError where no weight is above 0. Taught in notebook 21_submodular_signatures.

    >>> objective = Mixture([Modular([1.0, 4.0]), Diversity([[1.0, 0.0], [0.0, 1.0]])], [0.5, 0.5], [4.0, 1.0])
    >>> objective.gains(objective.start()).tolist()
    [0.625, 1.0]
    """

    def __init__(self, parts: Sequence[Objective], weights: Sequence[float], scales: Sequence[float] | None = None):
        weight = _floats(weights)
        scale = np.ones(len(weight)) if scales is None else _floats(scales)
        require((weight >= 0).all() and weight.any(), f"weights {weight.tolist()}: expected none below 0, one above")
        kept = np.flatnonzero(weight).tolist()
        self.parts, self.weights, self.scales = [parts[i] for i in kept], weight[kept], scale[kept]
        self.n = self.parts[0].n
        self.settled = max(part.settled for part in self.parts)
        self.ordered = any(part.ordered for part in self.parts)

    def start(self) -> list[Any]:
        return [part.start() for part in self.parts]

    def gains(self, state: list[Any], rows: np.ndarray | None = None) -> np.ndarray:
        terms = zip(self.parts, self.weights, self.scales, state, strict=True)
        return sum(weight * (part.gains(own, rows) / scale) for part, weight, scale, own in terms)

    def add(self, state: list[Any], pick: int) -> list[Any]:
        return [part.add(own, pick) for part, own in zip(self.parts, state, strict=True)]


def signature_objective(
    query: np.ndarray,
    summaries: np.ndarray,
    chunks: np.ndarray,
    cover: csr_array,
    ranks: Sequence[int] | np.ndarray,
    weights: Sequence[float] = WEIGHTS,
    marked: bool = False,
) -> Mixture:
    """The paper's objective (Eq. 10): relevance and coverage by their largest single value, diversity as it is, weighed.

    `query`: (dim,), `summaries`: (N, dim), `chunks`: (M, dim), all of length 1; `cover`: (N, M), such as `assignment` of the
    paper's pi; `ranks`: (M,), from 1; `weights`: of relevance, coverage, diversity. `marked` counts coverage as line 20 does
    and not as Eq. 8. What it picks does not change with the scale of the ranks' weights.
    Taught in notebook 21_submodular_signatures.

    Two summaries and three chunks, of which the second summary has the first two:

    >>> vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]])
    >>> objective = signature_objective(vectors[0], vectors[:2], vectors, assignment([1, 1, 0], 2), [1, 2, 3])
    >>> objective.gains(objective.start()).round(3).tolist()         # 0.3 + 0.4 * 0.2/0.633 + 0.3, 0.3 * 0.6 + 0.4 + 0.3
    [0.726, 0.88]
    """
    of_query = relevance(query, summaries)
    covered = (MarkedCoverage if marked else FacilityLocation)(coverage(summaries, chunks, cover, ranks))
    alone = covered.gains(covered.start())
    parts: list[Objective] = [Modular(of_query), covered, Diversity(summaries)]
    return Mixture(parts, weights, [_scale(of_query), _scale(alone), 1.0])


def _scale(values: np.ndarray) -> float:
    """What line 5 divides by, where that keeps the order."""
    largest = values.max(initial=0.0)
    return float(largest if largest > 0 else np.abs(values).max(initial=0.0) or 1.0)


def _cosines(vectors: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Row by row, so that equal rows give equal bits; BLAS treats the last rows of a block in another way."""
    return np.einsum("nd,d->n", vectors, vector)


def _floats(numbers: Any) -> np.ndarray:
    return np.ascontiguousarray(numbers, dtype=np.float64)


def _sparse(matrix: Any) -> csr_array:
    sparse = csr_array(matrix, dtype=np.float64)
    if not sparse.has_canonical_format:
        sparse = sparse.copy()
        sparse.sum_duplicates()
    return sparse


# Which summaries to pick


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
    """What given picks, all different, add one by one, in their order. Taught in notebook 21_submodular_signatures.

    >>> evaluate(Modular([0.5, 0.25, 1.0]), [2, 0])
    Selection(picks=(2, 0), gains=(1.0, 0.5), evaluations=2)
    """
    state, gains = objective.start(), []
    for pick in picks:
        gains.append(float(objective.gains(state, np.array([pick]))[0]))
        state = objective.add(state, pick)
    return Selection(tuple(map(int, picks)), tuple(gains), len(picks))


def first_k(sessions: Sequence[int] | np.ndarray, k: int, *, among_chunks: bool = False) -> Selection:
    """The summaries of the best chunks: no objective asked (section 3.2.1; appendix A.1).

    `sessions`: (M,), the summary of each chunk, best chunk first. The paper says it in two ways. Section 3.2.1: the first `k`
    different summaries. Appendix A.1: the summaries of the first `k` chunks, which may be fewer (`among_chunks`). (The third
    reading, the `k` summaries most like the query, is `greedy` on `Modular(relevance(query, summaries))`.) Raises InputError
    for k < 1.
    Taught in notebook 21_submodular_signatures.

    >>> first_k([4, 4, 0, 4, 2, 1], 3).picks, first_k([4, 4, 0, 4, 2, 1], 3, among_chunks=True).picks
    ((4, 0, 2), (4, 0))
    """
    require(k >= 1, f"k={k}: expected at least 1")
    sessions = np.asarray(sessions)
    picks = dict.fromkeys((sessions[:k] if among_chunks else sessions).tolist())
    return Selection(tuple(picks)[:k], (), 0)


def greedy(objective: Objective, k: int) -> Selection:
    """In each of `k` rounds, the summary that adds most (Algorithm 2, lines 6 to 22): all that are left are asked.

    Gains asked for: kN - k(k - 1)/2. Taught in notebook 21_submodular_signatures.

    >>> greedy(FacilityLocation([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]), 2)  # 3 of 4: all sets are equal at first
    Selection(picks=(0, 1), gains=(2.0, 1.0), evaluations=5)
    """
    return _in_rounds(objective, k, settled=k)


def lazy_greedy(objective: Objective, k: int) -> Selection:
    """What `greedy` picks, with fewer gains asked for (Minoux, 1978): one that was small is not asked for again.

    Where gains only shrink, a gain of an earlier round bounds that of now. So the summaries with the highest bounds are
    asked, a few at a time, until one has both the highest bound and a gain of this round. Up to `objective.settled` picks all
    are asked. Taught in notebook 21_submodular_signatures.

    >>> lazy_greedy(Modular(np.arange(1000.0)), 3).picks
    (999, 998, 997)
    """
    return _in_rounds(objective, k, objective.settled)


def _in_rounds(objective: Objective, k: int, settled: int) -> Selection:
    """The summary that adds most, k times; all that are left are asked as long as at most `settled` are picked."""
    state, picks, gains, evaluations = objective.start(), [], [], 0
    for _ in range(min(k, objective.n)):
        if len(picks) <= settled:
            bounds, evaluations = objective.gains(state), evaluations + objective.n - len(picks)
            bounds[picks] = -np.inf
            best = int(bounds.argmax())  # the first of equals
        else:
            best, evaluated = _highest(objective, state, bounds)
            evaluations += evaluated
        picks.append(best)
        gains.append(float(bounds[best]))
        bounds[best] = -np.inf
        state = objective.add(state, best)
    return Selection(tuple(picks), tuple(gains), evaluations)


def _highest(objective: Objective, state: Any, bounds: np.ndarray) -> tuple[int, int]:
    """The summary with the largest gain, and how many gains were asked for; `bounds` are brought down to those gains."""
    stale, evaluated, batch = np.isfinite(bounds), 0, 1
    while stale[best := int(bounds.argmax())]:
        rows = np.array([best])
        if batch > 1:  # of equal bounds the partition may leave out the first, which is the one that must be asked
            rows = np.union1d(rows, np.argpartition(bounds, -batch)[-batch:])
            rows = rows[stale[rows]]
        bounds[rows] = objective.gains(state, rows)
        stale[rows] = False
        evaluated += len(rows)
        batch = min(2 * batch, _BATCH, objective.n)  # one is mostly enough; where it is not, calls cost more than gains
    return best, evaluated


def exhaustive(objective: Objective, k: int, *, smaller: bool = False) -> Selection:
    """The best of all sets of min(k, N) summaries, for small pools; of equal ones of a size the lexicographically first.

    `smaller`: sets of fewer summaries compete as well, the empty one included, which matters where gains are negative. Of an
    objective that depends on the order (`ordered`), the best of all orders. Raises InputError where more than `LARGEST` sets or
    orders would be tried. Taught in notebook 21_submodular_signatures.

    >>> exhaustive(FacilityLocation([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]), 2).picks
    (1, 2)
    """
    n, k = objective.n, min(k, objective.n)
    if k < 1:
        return Selection((), (), 0)
    count = math.perm if objective.ordered else math.comb
    sets = sum(count(n, size) for size in range(1 if smaller else k, k + 1))
    what = "orders" if objective.ordered else "sets"
    require(sets <= LARGEST, f"{k} of {n} summaries: {sets:,} {what}, at most {LARGEST:,}")
    best: tuple[tuple[int, ...], tuple[float, ...]] = (), ()
    highest, evaluations = 0.0 if smaller else -math.inf, 0
    # Last in, first out, so sets come in lexicographic order.
    waiting: list[tuple[tuple[int, ...], tuple[float, ...], Any]] = [((), (), objective.start())]
    while waiting:
        picks, gains, state = waiting.pop()
        first = 0 if objective.ordered or not picks else picks[-1] + 1
        last = n if objective.ordered else n - (k - len(picks) - 1) * (not smaller)
        rows = np.array([i for i in range(first, last) if i not in picks])
        if not len(rows):
            continue
        more = objective.gains(state)[rows]  # of all: pools are small
        evaluations += len(rows)
        if smaller or len(picks) == k - 1:
            most = int(more.argmax())
            total = sum(gains) + float(more[most])
            if total > highest:
                highest, best = total, ((*picks, int(rows[most])), (*gains, float(more[most])))
        if len(picks) < k - 1:
            for row, gain in zip(rows[::-1].tolist(), more[::-1].tolist(), strict=True):
                waiting.append(((*picks, row), (*gains, gain), objective.add(state, row)))
    return Selection(*best, evaluations)
