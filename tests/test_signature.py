"""Signatures: Algorithm 2 by hand and letter by letter, its terms, large pools, other libraries."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from extras import refused, required
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mindscape.signature import objectives
from mindscape.signature.objectives import FacilityLocation, assignment, evaluate, greedy, lazy_greedy, signature_objective


def algorithm_2(query, summaries, chunks, ranks, members, k, weights=objectives.WEIGHTS):
    """Line by line, with the paper's letters: picks and their gains. `members[s]`: the chunks of summary s."""
    dot = lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))  # noqa: E731
    m = lambda s, c: max(0, dot(summaries[s], chunks[c]))  # noqa: E731
    lambda_q, lambda_c, lambda_d = weights
    pool = range(len(summaries))
    w = [1 / (r + 1) for r in ranks]  # 2
    q = [dot(query, summaries[s]) for s in pool]  # 3
    cov = [sum(w[c] * m(s, c) for c in members[s]) for s in pool]  # 4
    q_tilde, z_c = [x / max(q) for x in q], max(cov)  # 5
    picks, gains, covered = [], [], [0] * len(chunks)  # 6
    for _ in range(k):  # 7
        best, pick = -math.inf, None  # 8
        for s in pool:  # 9
            if s not in picks:
                delta_c = sum(w[c] * m(s, c) * (1 - covered[c]) for c in members[s]) / z_c  # 11
                delta_d = 1 - max(dot(summaries[s], summaries[a]) for a in picks) if picks else 1  # 12
                delta = lambda_q * q_tilde[s] + lambda_c * delta_c + lambda_d * delta_d  # 10 and 13
                if delta > best:  # 14
                    best, pick = delta, s  # 15
        if pick is None:  # 18
            break
        picks.append(pick)  # 19
        gains.append(best)
        for c in members[pick]:  # 20
            covered[c] = 1
    return tuple(picks), tuple(gains)


# Vectors with four entries of a half have length 1 and cosines that are exact, so that there are exact ties.
SIGNED = [
    tuple(sign * (i in where) / 2 for i, sign in enumerate(signs))
    for where in itertools.combinations(range(5), 4)
    for signs in itertools.product((1, -1), repeat=5)
]


@st.composite
def pools(draw, overlap=False):
    """Query, summaries, chunks, ranks and the chunks of each summary; with `overlap` a chunk may have several."""
    vectors, n, m = st.sampled_from(SIGNED), draw(st.integers(1, 6)), draw(st.integers(1, 8))
    summaries, chunks = (draw(st.lists(vectors, min_size=size, max_size=size)) for size in (n, m))
    index = st.integers(0, n - 1)
    has = [draw(st.sets(index, min_size=1, max_size=3 if overlap else 1)) for _ in chunks]
    members = [[c for c in range(m) if s in has[c]] for s in range(n)]
    return draw(vectors), summaries, chunks, draw(st.permutations(range(1, m + 1))), members


def objective_of(pool, marked):
    *vectors, ranks, members = pool
    cover = csr_array([[float(c in chunks) for c in range(len(ranks))] for chunks in members])
    return signature_objective(*map(np.array, vectors), cover, ranks, marked=marked)


def random_pool(rng, n, m, dim=4, each=1):
    """Arrays, and a cover in which each chunk has `each` summaries."""
    vectors = rng.normal(size=(1 + n + m, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    sessions = np.array([rng.permutation(n)[:each] for _ in range(m)])
    return vectors[0], vectors[1 : n + 1], vectors[n + 1 :], assignment(sessions, n), rng.permutation(m) + 1


def set_value(matrix, picks):
    """Eq. 8 as it stands."""
    return sum(max((matrix[s][c] for s in picks), default=0) for c in range(len(matrix[0])))


# By hand ------------------------------------------------------------------------------------------------------------

FIVE = {
    "query": np.array([0.8, 0.6]),
    "summaries": np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1], [-0.6, 0.8]]),
    "chunks": np.array([[0.8, 0.6], [-1, 0], [0.6, 0.8], [0, 1], [0.6, -0.8]]),
    "ranks": [1, 2, 3, 4, 5],
}
SESSIONS = [1, 2, 0, 3, 4]


def test_five_summaries_by_hand():
    """
    summary                        0        1        2        3        4
    cosine with the query       0.80     1.00     0.96     0.60     0.00     divided by 1
    its chunk: weight            1/4      1/2      1/3      1/5      1/6
               match             0.6      1.0        0      1.0        0     2 and 4 would be -0.6 and -1
    divided by 1/2              0.30     1.00     0.00     0.40     0.00
    0.3 and 0.4 of them        0.360    0.700    0.288    0.340    0.000
    first, + 0.3               0.660    1.000*   0.588    0.640    0.300
    cosine with 1               0.80              0.96     0.60     0.00
    second, + 0.3 of the rest  0.420             0.300    0.460*   0.300
    cosine with 3               0.00              0.80              0.80
    third                      0.420*            0.300             0.060
    """
    cover = assignment(SESSIONS, 5)
    objective = signature_objective(cover=cover, **FIVE)
    rounds = [[0.660, 1.000, 0.588, 0.640, 0.300], [0.420, None, 0.300, 0.460, 0.300], [0.420, None, 0.300, None, 0.060]]
    state = objective.start()
    for expected, pick in zip(rounds, (1, 3, 0), strict=True):
        left = [i for i, gain in enumerate(expected) if gain is not None]
        gains = objective.gains(state, np.array(left))
        assert gains.tolist() == pytest.approx([expected[i] for i in left])
        assert left[gains.argmax()] == pick
        state = objective.add(state, pick)
    chosen = greedy(objective, 3)
    assert chosen.picks == (1, 3, 0) and chosen.evaluations == 5 + 4 + 3
    assert chosen.gains == pytest.approx((1.0, 0.46, 0.42)) and chosen.value == pytest.approx(1.88)
    literal = algorithm_2(**FIVE, members=[[2], [0], [1], [3], [4]], k=3)
    assert chosen.picks == literal[0] and chosen.gains == pytest.approx(literal[1], abs=1e-15)
    without = signature_objective(cover=cover, weights=(0.3, 0.4, 0), **FIVE)
    assert greedy(without, 2).picks == (1, 0) and objectives.first_k(SESSIONS, 2).picks == (1, 2)


# The library is Algorithm 2 -----------------------------------------------------------------------------------------


@given(pools(), st.integers(1, 7))
def test_greedy_is_algorithm_2_to_the_bit(pool, k):
    """Under pi, in either reading of coverage, exact ties and cosines below zero included."""
    picks, gains = scaled(pool, k)
    for marked in (False, True):
        chosen = greedy(objective_of(pool, marked=marked), k)
        assert (chosen.picks, chosen.gains) == (picks, gains)
        assert len(chosen.picks) == min(k, len(pool[1]))


@given(pools(overlap=True), st.integers(1, 7))
def test_marked_coverage_is_line_20_where_windows_overlap(pool, k):
    chosen = greedy(objective_of(pool, marked=True), k)
    assert (chosen.picks, chosen.gains) == scaled(pool, k)


def scaled(pool, k):
    """Algorithm 2, for pools in which line 5 divides by something above zero."""
    query, summaries, chunks, _, members = pool
    dot = np.array(summaries) @ np.array([query, *chunks]).T
    assume(dot[:, 0].max() > 0 and any(dot[s, 1 + c] > 0 for s, held in enumerate(members) for c in held))
    return algorithm_2(*pool, k)


@given(pools(overlap=True), st.integers(1, 6), st.booleans())
def test_lazy_is_greedy_to_the_bit(pool, k, marked):
    objective = objective_of(pool, marked=marked)
    eager, lazy = greedy(objective, k), lazy_greedy(objective, k)
    assert (eager.picks, eager.gains) == (lazy.picks, lazy.gains)
    assert lazy.evaluations <= eager.evaluations == sum(objective.n - i for i in range(len(eager.picks)))


@pytest.mark.parametrize("seed", range(20))
def test_lazy_is_greedy_on_larger_pools(seed):
    """The last one has hundreds of equal bounds, and in the end nothing but zeros."""
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, 200, 500, rng.integers(2, 9), each=1 + seed % 4)
    ties = FacilityLocation(rng.random((300, 12)) < 0.05 * (1 + seed % 10))
    for objective in (signature_objective(*pool, marked=seed % 2 == 0), FacilityLocation(rng.random((200, 60))), ties):
        eager, lazy = greedy(objective, 40), lazy_greedy(objective, 40)
        assert (eager.picks, eager.gains) == (lazy.picks, lazy.gains)
        assert lazy.evaluations < eager.evaluations / 2 or (objective is ties and eager.gains[-1] == 0)


def test_equal_summaries_are_taken_by_index():
    """Each summary stands three times in a pool of a size at which matrix products treat the last rows otherwise."""
    rng = np.random.default_rng(0)
    query, summaries, *_ = random_pool(rng, 37, 1, dim=33)
    three = np.tile(summaries, (3, 1))
    assert len(set(objectives.relevance(query, three).tolist())) == 37
    values = FacilityLocation(np.tile(rng.random((37, 9)), (3, 1)))
    for objective in (objectives.Modular(objectives.relevance(query, three)), objectives.Diversity(three), values):
        for picks in (greedy(objective, 12).picks, lazy_greedy(objective, 12).picks):
            assert all(pick < 37 or pick - 37 in picks[:i] for i, pick in enumerate(picks))


def test_gains_have_the_same_bits_whichever_rows_are_asked():
    objective = signature_objective(*random_pool(np.random.default_rng(0), 60, 300, 24, each=4))
    state = objective.add(objective.add(objective.start(), 7), 31)
    every = objective.gains(state)
    for rows in ([3], [59, 0, 17], list(range(0, 60, 7))):
        assert (objective.gains(state, np.array(rows)) == every[rows]).all()


# The terms; what they do to the bound is weighed in notebook 21 -----------------------------------------------------


def test_dividing_by_a_negative_maximum_turns_the_order_around():
    """All cosines with the query below zero: line 5 makes the farthest summary the most relevant. Ours keeps the order."""
    query, summaries = np.array([1.0, 0.0]), np.array([[-0.6, 0.8], [-1.0, 0.0]])
    chunks = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert algorithm_2(query, summaries, chunks, [1, 2], [[0], [1]], 1, (1, 0, 0)) == ((1,), (1 / 0.6,))
    chosen = greedy(signature_objective(query, summaries, chunks, assignment([0, 1], 2), [1, 2], (1, 0, 0)), 1)
    assert (chosen.picks, chosen.gains) == ((0,), (-0.6,))


def test_terms_of_nothing_but_zeros_stay_zero():
    """No chunk matches its summary, and the query is at right angles to all: only diversity is left."""
    summaries = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    objective = signature_objective(np.array([0.0, 0.0, 1.0]), summaries, -summaries, assignment([0, 1], 2), [1, 2])
    assert greedy(objective, 2).gains == (0.3, 0.3)


def test_when_line_20_is_not_eq_8():
    """A chunk that two summaries have, the first pick with the weaker match: the better one adds 0.75 more, or nothing."""
    matrix = [[0.125, 1.0], [0.875, 0.0]]
    eight, twenty = FacilityLocation(matrix), objectives.MarkedCoverage(matrix)
    assert evaluate(eight, [0, 1]).gains == (1.125, 0.75) and evaluate(eight, [1, 0]).gains == (0.875, 1.0)
    assert evaluate(twenty, [0, 1]).gains == (1.125, 0.0) and evaluate(twenty, [1, 0]).gains == (0.875, 1.0)
    weak = csr_array(([0.0, 1.0, 0.5], [0, 1, 0], [0, 2, 3]), shape=(2, 2))  # the first has chunk 0 and does not match it
    assert evaluate(FacilityLocation(weak), [0, 1]).gains == (1.0, 0.5)
    assert evaluate(objectives.MarkedCoverage(weak), [0, 1]).gains == (1.0, 0.0)


@given(st.integers(1, 5), st.integers(1, 6), st.data())
def test_facility_location_is_eq_8(n, m, data):
    row = st.lists(st.integers(0, 4), min_size=m, max_size=m)
    matrix = data.draw(st.lists(row, min_size=n, max_size=n))
    objective = FacilityLocation(matrix)
    for size in range(n + 1):
        for picks in itertools.combinations(range(n), size):
            assert evaluate(objective, picks).value == set_value(matrix, picks) == evaluate(objective, picks[::-1]).value


# First-K, and all sets ----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(1, 8))
def test_first_k(sessions, k):
    picks, short = objectives.first_k(sessions, k).picks, objectives.first_k(sessions, k, among_chunks=True).picks
    assert len(picks) == min(k, len(set(sessions))) and len(set(picks)) == len(picks)
    assert short == picks[: len(short)] and set(short) == set(sessions[:k])
    assert [sessions.index(pick) for pick in picks] == sorted(sessions.index(pick) for pick in picks)


@pytest.mark.parametrize("seed", range(30))
def test_exhaustive_against_all_sets(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 6)), int(rng.integers(1, 7))
    values = rng.integers(-3, 4, n).astype(float)
    objective = objectives.Mixture([objectives.Modular(values), FacilityLocation(rng.integers(0, 3, (n, 4)))], [1, 1])
    assert objectives.exhaustive(objective, k).picks == first_best(objective, itertools.combinations(range(n), min(k, n)))
    every = itertools.chain.from_iterable(itertools.combinations(range(n), size) for size in range(min(k, n) + 1))
    best = objectives.exhaustive(objective, k, smaller=True)
    assert best.value == max(evaluate(objective, picks).value for picks in every)
    assert best.value == evaluate(objective, best.picks).value
    assert objectives.exhaustive(objective, 0, smaller=seed % 2 == 0).picks == ()
    ordered = objectives.Mixture([objectives.MarkedCoverage(rng.integers(0, 3, (n, 4)))], [1])
    assert objectives.exhaustive(ordered, k).picks == first_best(ordered, itertools.permutations(range(n), min(k, n)))


def first_best(objective, sets):
    return max(sets, key=lambda picks: evaluate(objective, picks).value)  # max keeps the first of equals


# Covers -------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 12))
def test_windows(length, width, stride):
    stride = min(stride, width)
    cover = objectives.windows(length, width, stride).toarray()
    assert cover.any(axis=0).all() and (cover.sum(axis=1) <= width).all()
    for s, row in enumerate(cover):
        assert row[s * stride] and (row.nonzero()[0] < s * stride + width).all()
    assert all((cover[s] > cover[:s].max(axis=0)).any() for s in range(1, len(cover)))  # each holds something new


# Large pools --------------------------------------------------------------------------------------------------------

N, M, K = 10_000, 50_000, 50


def large(each, seed=0):
    """A cover of N x M with `each` summaries a chunk and values at random, without an N x M array anywhere."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(1, N // (2 * each), (M, each)).cumsum(axis=1)
    cover = assignment((rng.integers(0, N, (M, 1)) + steps) % N, N)
    return csr_array((rng.random(cover.nnz), cover.indices, cover.indptr), shape=cover.shape)


@pytest.mark.parametrize("each", [1, 2, 20])
def test_ten_thousand_summaries(each):
    """Few gains are asked for beyond the first of each summary."""
    objective = FacilityLocation(large(each))
    eager, lazy = greedy(objective, K), lazy_greedy(objective, K)
    assert (eager.picks, eager.gains) == (lazy.picks, lazy.gains)
    assert eager.evaluations == K * N - K * (K - 1) // 2 and lazy.evaluations < 1.1 * N


def peak(call):
    """What it returns, and the most bytes that were held meanwhile."""
    tracemalloc.start()
    value = call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return value, most


@pytest.mark.parametrize("select", [greedy, lazy_greedy])
def test_memory_is_linear_in_what_is_stored(select):
    """Tens of bytes a value and not 4 GB; twice the values, at most about twice the memory."""
    four, eight = large(4), large(8)
    peaks = [peak(lambda matrix=matrix: select(FacilityLocation(matrix), 5))[1] for matrix in (four, eight)]
    assert peaks[0] < 60 * four.nnz + 40 * (N + M) and peaks[1] < 60 * eight.nnz + 40 * (N + M)
    assert peaks[1] < 2.2 * peaks[0]


def test_coverage_of_a_large_pool_never_holds_all_pairs():
    """The whole objective of 10,000 summaries and 50,000 chunks: the vectors, the values, and a block of pairs."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(1 + N + M, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pool = vectors[0], vectors[1 : N + 1], vectors[N + 1 :], assignment(rng.integers(0, N, M), N), np.arange(1, M + 1)
    chosen, most = peak(lambda: lazy_greedy(signature_objective(*pool), 5))
    assert len(set(chosen.picks)) == 5
    assert most < 60e6  # of 4e9 for all pairs


# Other libraries ----------------------------------------------------------------------------------------------------


def test_against_apricot():
    """Maximum coverage (ties included, its plain greedy takes the lowest index, too), and facility location on itself."""
    apricot = required("apricot", "apricot-select is not installed")
    rng = np.random.default_rng(0)
    has = (rng.random((60, 80)) < 0.1).astype(float)
    theirs = apricot.MaxCoverageSelection(10, optimizer="naive").fit(has)
    ours = greedy(FacilityLocation(has), 10)
    assert ours.picks == tuple(theirs.ranking) and ours.gains == pytest.approx(theirs.gains)
    similar = rng.random((60, 60))
    similar += similar.T
    for optimizer in ("naive", "lazy"):
        theirs = apricot.FacilityLocationSelection(10, metric="precomputed", optimizer=optimizer).fit(similar)
        for select in (greedy, lazy_greedy):
            ours = select(FacilityLocation(similar), 10)
            assert ours.picks == tuple(theirs.ranking) and ours.gains == pytest.approx(theirs.gains)


def test_against_submodlib():
    """Weighted set cover, and facility location of summaries for chunks; it counts in single precision."""
    submodlib = required("submodlib", "submodlib-py is not installed")
    rng = np.random.default_rng(0)
    has, weights = rng.random((60, 80)) < 0.1, rng.random(80)
    concepts = [set(row.nonzero()[0].tolist()) for row in has]
    set_cover = submodlib.SetCoverFunction(60, cover_set=concepts, num_concepts=80, concept_weights=weights.tolist())
    values = rng.random((60, 80))
    location = submodlib.FacilityLocationFunction(60, "dense", separate_rep=True, n_rep=80, sijs=values.T.copy())
    for theirs, matrix in ((set_cover, has * weights), (location, values)):
        ours = lazy_greedy(FacilityLocation(matrix), 10)
        for optimizer in ("NaiveGreedy", "LazyGreedy"):
            picks, gains = zip(*theirs.maximize(10, optimizer, show_progress=False), strict=True)
            assert ours.picks == picks and ours.gains == pytest.approx(gains, rel=1e-4)


# Bad input ----------------------------------------------------------------------------------------------------------


def test_bad_input():
    refused(lambda: objectives.windows(9, 2, stride=3), "stride=3: expected 1 to width=2")
    refused(lambda: objectives.windows(9, 2, stride=0), "stride=0")
    refused(lambda: objectives.Mixture([objectives.Modular([1.0])], [-1]), "expected none below 0")
    refused(lambda: objectives.Mixture([objectives.Modular([1.0])], [0]), "one above")
    refused(lambda: objectives.exhaustive(objectives.Modular([1] * 60), 5), "60 summaries: 5,461,512 sets, at most 2,000,000")
    refused(lambda: objectives.exhaustive(objectives.Diversity(np.eye(40)), 4), "2,193,360 orders")
    every = objectives.Modular([1] * 30)  # of 30 there is one set, and a billion smaller ones
    refused(lambda: objectives.exhaustive(every, 30, smaller=True), "30 of 30 summaries: 1,073,741,823 sets")
    assert objectives.exhaustive(objectives.Modular([]), 3).picks == () and objectives.exhaustive(every, 30).value == 30
    refused(lambda: objectives.first_k([0, 1], 0), "k=0")
