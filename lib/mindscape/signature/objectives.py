"""What a signature is worth: relevance, coverage and diversity of a set of summaries (MiA-Signature, appendix A.2).

A pool of N session summaries and M retrieved chunks, all as vectors of length 1; a *cover*, a sparse N x M matrix, says which
chunks a summary stands for. From them come the paper's three terms, each an objective of its own:

    f_Q  relevance   `Modular(relevance(query, summaries))`                              Eq. 7
    f_C  coverage    `FacilityLocation(coverage(summaries, chunks, cover, ranks))`       Eq. 8
    f_D  diversity   `Diversity(summaries)`                                              Eq. 9
    Eq. 10           `signature_objective(...)`, a `Mixture` of the three, scaled as line 5 of Algorithm 2 does

An objective answers one question, what each summary would add to those picked so far; `mindscape.signature.selection` does
the picking. Coverage comes in two readings, which agree wherever each chunk has one summary: Eq. 8 keeps a chunk's best
match, `FacilityLocation`; line 20 of Algorithm 2 calls a chunk covered whatever its match, `MarkedCoverage`.

Where the paper is silent: a term whose largest value is not positive is divided by its largest absolute value, or not at
all if that is 0 (the literal division would turn its order around, or divide by zero).

Memory is linear in the cover's non-zeros and in the vectors. Nothing here embeds, retrieves or picks.
Taught in notebook 21_submodular_signatures.
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from mindscape.errors import InputError, require

WEIGHTS = (0.3, 0.4, 0.3)  # lambda of relevance, coverage, diversity (Eq. 10)
WINDOW = 20  # chunks that share a summary (appendix A.1)
_AT_ONCE = 1 << 20  # numbers of a block, so that pairs of vectors never stand side by side all at once


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

    `ranks`: (M,). Raises InputError for a rank below 1. Taught in notebook 21_submodular_signatures.

    >>> rank_weights([1, 2, 3, 7]).tolist()
    [0.5, 0.3333333333333333, 0.25, 0.125]
    """
    ranks = _finite(ranks, "ranks", 1)
    if (ranks < 1).any():
        raise InputError(f"ranks: got {ranks.min():g}, expected 1 for the best chunk and more for the others")
    return 1 / (ranks + 1)


def relevance(query: np.ndarray, summaries: np.ndarray) -> np.ndarray:
    """The cosine of each summary with the query (Eq. 7; line 3): (dim,) and (N, dim), of length 1, to (N,).

    Equal summaries get equal numbers, to the last bit, which a matrix product does not promise. Raises InputError for
    shapes that do not fit and vectors that are not of length 1. Taught in notebook 21_submodular_signatures.

    >>> relevance(np.array([0.8, 0.6]), np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, -0.8]])).round(2).tolist()
    [0.8, 0.96, -0.96]
    """
    summaries = _unit(summaries, "summaries")
    query = _unit(np.reshape(query, (1, -1)), "query", summaries.shape[1])
    return _cosines(summaries, query[0])


def assignment(sessions: Sequence[int] | np.ndarray, n: int) -> csr_array:
    """The cover in which chunk i has the summary, or summaries, `sessions[i]`, of `n` in all: ones, (n, M).

    `sessions` is the paper's pi, (M,), or (M, k) where a chunk counts for k summaries, such as its nearest ones. Raises
    InputError for an index that is not among 0 ... n - 1 and for a chunk that has a summary twice.
    Taught in notebook 21_submodular_signatures.

    >>> assignment([2, 0, 2], 3).toarray().astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [1, 0, 1]]
    """
    whole(n, "n")
    sessions = np.asarray(sessions)
    indices = sessions.ndim in (1, 2) and sessions.size and np.issubdtype(sessions.dtype, np.integer)
    got = f"{sessions.dtype} {sessions.shape}"
    require(indices, f"sessions: got {got}, expected indices of summaries, (M,) or (M, k)")
    if sessions.min() < 0 or sessions.max() >= n:
        raise InputError(f"sessions: got {sessions.min()} to {sessions.max()}, expected indices from 0 to {n - 1}")
    sessions = np.sort(sessions.reshape(len(sessions), -1), axis=1)
    if (sessions[:, 1:] == sessions[:, :-1]).any():
        raise InputError("sessions: a chunk has the same summary twice, expected each once")
    columns = np.repeat(np.arange(len(sessions)), sessions.shape[1])
    return csr_array((np.ones(sessions.size), (sessions.ravel(), columns)), shape=(n, len(sessions)))


def windows(length: int, width: int = WINDOW, stride: int | None = None) -> csr_array:
    """The cover of windows of `width` chunks over a source of `length` chunks, one after another (appendix A.1).

    With `stride` below `width` they overlap, which the paper's do not: then a chunk has several summaries. The last window
    may be shorter, and there is none that holds nothing new: (windows, length). Raises InputError for numbers below 1 and a
    stride that leaves chunks out. Taught in notebook 21_submodular_signatures.

    >>> windows(5, 2).toarray().astype(int).tolist()
    [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
    >>> windows(5, 3, stride=2).toarray().astype(int).tolist()
    [[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]
    """
    stride = width if stride is None else stride
    for name, number in (("length", length), ("width", width), ("stride", stride)):
        whole(number, name)
    gaps = "else chunks between windows have no summary"
    require(stride <= width, f"stride={stride}: expected at most width={width}, {gaps}")
    starts = np.arange(0, max(length - width + stride, 1), stride)
    ends = np.minimum(starts + width, length)
    columns = np.concatenate([np.arange(start, end) for start, end in zip(starts, ends, strict=True)])
    return csr_array((np.ones(len(columns)), columns, np.cumsum([0, *(ends - starts)])), shape=(len(starts), length))


def coverage(
    summaries: np.ndarray, chunks: np.ndarray, cover: csr_array, ranks: Sequence[int] | np.ndarray
) -> csr_array:
    """How well a summary covers a chunk, w_i m(s, c_i) with m = max(0, cosine), where `cover` is not zero (before Eq. 8).

    `summaries`: (N, dim), `chunks`: (M, dim), of length 1; `cover`: (N, M); `ranks`: (M,). Returns (N, M) with the cover's
    places, those of a match of 0 included: line 20 marks them, too. Raises InputError for shapes that do not fit and vectors
    that are not of length 1. Taught in notebook 21_submodular_signatures.

    >>> chunks = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
    >>> coverage(chunks[:2], chunks, assignment([0, 0, 0], 2), [1, 2, 3]).toarray().round(2).tolist()
    [[0.5, 0.2, 0.0], [0.0, 0.0, 0.0]]
    """
    summaries = _unit(summaries, "summaries")
    chunks = _unit(chunks, "chunks", summaries.shape[1])
    weights = rank_weights(ranks)
    cover = _sparse(cover, "cover")
    n, m = len(summaries), len(chunks)
    got = f"{n} summaries, {m} chunks: got a cover {cover.shape} and {len(weights)} ranks"
    require(cover.shape == (n, m) and len(weights) == m, f"{got}, expected {(n, m)} and {m}")
    rows, columns = np.repeat(np.arange(cover.shape[0]), np.diff(cover.indptr)), cover.indices
    values = np.empty(len(columns))
    block = max(_AT_ONCE // summaries.shape[1], 1)
    for i in range(0, len(columns), block):
        some = slice(i, i + block)
        values[some] = np.einsum("nd,nd->n", summaries[rows[some]], chunks[columns[some]])
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
        self.values = _finite(values, "values", 1)
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
    Raises InputError for negative values and numbers that are not finite. Taught in notebook 21_submodular_signatures.

    Both summaries match the second chunk; the first pick takes part of what the other would have added:

    >>> objective = FacilityLocation([[0.5, 0.25, 0.0], [0.0, 0.5, 0.125]])
    >>> objective.gains(objective.start()).tolist()
    [0.75, 0.625]
    >>> objective.gains(objective.add(objective.start(), 0)).tolist()
    [0.0, 0.375]
    """

    settled, ordered = 0, False

    def __init__(self, matrix: csr_array | np.ndarray | Sequence[Sequence[float]]):
        self.matrix = _sparse(matrix, "matrix")
        if (self.matrix.data < 0).any():
            raise InputError(f"matrix: got {self.matrix.data.min():g}, expected no value below 0")
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
        some = slice(*self.matrix.indptr[pick : pick + 2])
        return self.matrix.indices[some], self.matrix.data[some]


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
    before the first. Raises InputError for vectors that are not of length 1. Taught in notebook 21_submodular_signatures.

    >>> objective = Diversity([[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8]])
    >>> objective.gains(objective.start()).tolist()
    [1.0, 1.0, 1.0]
    >>> objective.gains(objective.add(objective.start(), 0)).tolist()
    [0.0, 0.4, 1.6]
    """

    settled, ordered = 1, True

    def __init__(self, vectors: np.ndarray | Sequence[Sequence[float]]):
        self.vectors = _unit(vectors, "vectors")
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
    left out. Raises InputError for other numbers and for parts over different numbers of summaries.
    Taught in notebook 21_submodular_signatures.

    >>> objective = Mixture([Modular([1.0, 4.0]), Diversity([[1.0, 0.0], [0.0, 1.0]])], [0.5, 0.5], [4.0, 1.0])
    >>> objective.gains(objective.start()).tolist()
    [0.625, 1.0]
    """

    def __init__(
        self, parts: Sequence[Objective], weights: Sequence[float], scales: Sequence[float] | None = None
    ) -> None:
        weights = _finite(weights, "weights", 1)
        scales = np.ones(len(weights)) if scales is None else _finite(scales, "scales", 1)
        got = f"parts over {[part.n for part in parts]} summaries, {len(weights)} weights, {len(scales)} scales"
        alike = len(parts) == len(weights) == len(scales) and len({part.n for part in parts}) == 1
        require(alike, f"{got}: expected one weight and one scale a part, all over the same summaries")
        got = f"weights {weights.tolist()}, scales {scales.tolist()}"
        good = (weights >= 0).all() and weights.any() and (scales > 0).all()
        require(good, f"{got}: expected no weight below 0 and one above, scales above 0")
        kept = np.flatnonzero(weights)
        self.parts, self.weights, self.scales = [parts[i] for i in kept], weights[kept], scales[kept]
        self.n = self.parts[0].n
        self.settled = max(part.settled for part in self.parts)
        self.ordered = any(part.ordered for part in self.parts)

    def start(self) -> list[Any]:
        return [part.start() for part in self.parts]

    def gains(self, state: list[Any], rows: np.ndarray | None = None) -> np.ndarray:
        terms = zip(self.parts, self.weights, self.scales, state, strict=True)
        return sum(weight * (part.gains(one, rows) / scale) for part, weight, scale, one in terms)

    def add(self, state: list[Any], pick: int) -> list[Any]:
        return [part.add(one, pick) for part, one in zip(self.parts, state, strict=True)]


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
    and not as Eq. 8. What it picks does not change with the scale of the ranks' weights. Errors: as the parts'.
    Taught in notebook 21_submodular_signatures.

    Two summaries and three chunks, of which the second summary has the first two:

    >>> vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]])
    >>> objective = signature_objective(vectors[0], vectors[:2], vectors, assignment([1, 1, 0], 2), [1, 2, 3])
    >>> objective.gains(objective.start()).round(3).tolist()         # 0.3 + 0.4 * 0.2/0.633 + 0.3, 0.3 * 0.6 + 0.4 + 0.3
    [0.726, 0.88]
    """
    require(len(weights) == 3, f"weights: got {len(weights)}, expected 3, of relevance, coverage and diversity")
    of_query = relevance(query, summaries)
    covered = (MarkedCoverage if marked else FacilityLocation)(coverage(summaries, chunks, cover, ranks))
    alone = covered.gains(covered.start())
    parts = [Modular(of_query), covered, Diversity(summaries)]
    return Mixture(parts, weights, [_scale(of_query), _scale(alone), 1.0])


def _scale(values: np.ndarray) -> float:
    """What line 5 divides by, where that keeps the order."""
    largest = values.max()
    return float(largest if largest > 0 else np.abs(values).max() or 1.0)


def _cosines(vectors: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Row by row, so that equal rows give equal bits; BLAS treats the last rows of a block in another way."""
    return np.einsum("nd,d->n", vectors, vector)


# Checks


def whole(number: int, name: str) -> None:
    """Raises InputError for what is no whole number above 0. Taught in notebook 21_submodular_signatures.

    >>> whole(5, "k")
    """
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise InputError(f"{name}={number!r}: expected a whole number, at least 1")


def _finite(values: Any, name: str, ndim: int) -> np.ndarray:
    try:
        found = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected numbers in {ndim} dimensions: {error}") from error
    if np.ndim(values) != ndim or not found.size:
        raise InputError(
            f"{name}: got the shape {np.shape(values)}, expected {ndim} dimensions and at least one number"
        )
    require(np.isfinite(found).all(), f"{name}: a number is not finite, expected finite numbers")
    return found


def _unit(vectors: Any, name: str, dim: int | None = None) -> np.ndarray:
    vectors = _finite(vectors, name, 2)
    if dim is not None and vectors.shape[1] != dim:
        raise InputError(f"{name}: got {vectors.shape[1]} dimensions, expected {dim} as the summaries have")
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    worst = int(np.abs(lengths - 1).argmax())
    if not math.isclose(lengths[worst], 1, abs_tol=1e-3):  # what half precision leaves
        raise InputError(f"{name}: vector {worst} has length {lengths[worst]:.4g}, expected 1; divide it by its length")
    return vectors


def _sparse(matrix: Any, name: str) -> csr_array:
    try:
        found = csr_array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected a matrix of numbers: {error}") from error
    if found.ndim != 2 or not all(found.shape):
        raise InputError(f"{name}: got the shape {found.shape}, expected summaries by chunks, at least one of each")
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    require(np.isfinite(found.data).all(), f"{name}: a number is not finite, expected finite numbers")
    return found
