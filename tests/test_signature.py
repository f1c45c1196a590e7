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

from mindscape.signature.objectives import (
    WEIGHTS,
    Diversity,
    FacilityLocation,
    MarkedCoverage,
    Mixture,
    Modular,
    assignment,
    coverage,
    rank_weights,
    relevance,
    signature_objective,
    windows,
)
from mindscape.signature.selection import LARGEST, evaluate, exhaustive, first_k, greedy, lazy_greedy


def algorithm_2(query, summaries, chunks, ranks, members, k, weights=WEIGHTS):
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
        best, found = -math.inf, None  # 8
        for s in pool:  # 9
            if s not in picks:
                delta_c = sum(w[c] * m(s, c) * (1 - covered[c]) for c in members[s]) / z_c  # 11
                delta_d = 1 - max(dot(summaries[s], summaries[a]) for a in picks) if picks else 1  # 12
                delta = lambda_q * q_tilde[s] + lambda_c * delta_c + lambda_d * delta_d  # 10 and 13
                if delta > best:  # 14
                    best, found = delta, s  # 15
        if found is None:  # 18
            break
        picks.append(found)  # 19
        gains.append(best)
        for c in members[found]:  # 20
            covered[c] = 1
    return tuple(picks), tuple(gains)


# Vectors with four entries of a half have length 1 and cosines that are exact, so that there are exact ties.
SIGNED = [
    tuple(sign * (i in where) / 2 for i, sign in enumerate(signs))
    for where in itertools.combinations(range(5), 4)
    for signs in itertools.product((1, -1), repeat=5)
]
POSITIVE = [vector for vector in SIGNED if min(vector) >= 0]


@st.composite
def pools(draw, overlap=False, negative=True):
    """Query, summaries, chunks, ranks and the chunks of each summary; with `overlap` a chunk may have several."""
    vectors = st.sampled_from(SIGNED if negative else POSITIVE)
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    summaries, chunks = (draw(st.lists(vectors, min_size=size, max_size=size)) for size in (n, m))
    one = st.integers(0, n - 1)
    has = [draw(st.sets(one, min_size=1, max_size=3 if overlap else 1)) for _ in chunks]
    members = [[c for c in range(m) if s in has[c]] for s in range(n)]
    return draw(vectors), summaries, chunks, draw(st.permutations(range(1, m + 1))), members


def cover_of(members, m):
    dense = np.zeros((len(members), m))
    for s, some in enumerate(members):
        dense[s, some] = 1
    return csr_array(dense)


def objective_of(pool, weights=WEIGHTS, marked=False):
    query, summaries, chunks, ranks, members = pool
    arrays = np.array(query), np.array(summaries), np.array(chunks)
    return signature_objective(*arrays, cover_of(members, len(chunks)), ranks, weights, marked)


def random_pool(rng, n, m, dim=4, negative=True, each=1):
    """Arrays, and a cover in which each chunk has `each` summaries."""
    vectors = rng.normal(size=(1 + n + m, dim))
    vectors = vectors if negative else np.abs(vectors)
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
    rounds = [
        [0.660, 1.000, 0.588, 0.640, 0.300],
        [0.420, None, 0.300, 0.460, 0.300],
        [0.420, None, 0.300, None, 0.060],
    ]
    state = objective.start()
    for expected, pick in zip(rounds, (1, 3, 0), strict=True):
        left = [i for i, gain in enumerate(expected) if gain is not None]
        gains = objective.gains(state, np.array(left))
        assert gains.tolist() == pytest.approx([expected[i] for i in left])
        assert left[gains.argmax()] == pick
        state = objective.add(state, pick)
    found = greedy(objective, 3)
    assert found.picks == (1, 3, 0) and found.evaluations == 5 + 4 + 3
    assert found.gains == pytest.approx((1.0, 0.46, 0.42)) and found.value == pytest.approx(1.88)
    literal = algorithm_2(**FIVE, members=[[2], [0], [1], [3], [4]], k=3)
    assert found.picks == literal[0] and found.gains == pytest.approx(literal[1], abs=1e-15)


def test_three_ways_to_pick_two_of_the_five():
    """The best chunks; relevance and coverage alone; all three terms."""
    without = signature_objective(cover=assignment(SESSIONS, 5), weights=(0.3, 0.4, 0), **FIVE)
    assert first_k(SESSIONS, 2).picks == (1, 2)
    assert greedy(without, 2).picks == (1, 0)
    assert greedy(signature_objective(cover=assignment(SESSIONS, 5), **FIVE), 2).picks == (1, 3)


# The library is Algorithm 2 -----------------------------------------------------------------------------------------


@given(pools(), st.integers(1, 7))
def test_greedy_is_algorithm_2_to_the_bit(pool, k):
    """Under pi, in either reading of coverage, exact ties and cosines below zero included."""
    picks, gains = scaled(pool, k)
    for marked in (False, True):
        found = greedy(objective_of(pool, marked=marked), k)
        assert (found.picks, found.gains) == (picks, gains)
        assert len(found.picks) == min(k, len(pool[1]))


@given(pools(overlap=True), st.integers(1, 7))
def test_marked_coverage_is_line_20_where_windows_overlap(pool, k):
    found = greedy(objective_of(pool, marked=True), k)
    assert (found.picks, found.gains) == scaled(pool, k)


def scaled(pool, k):
    """Algorithm 2, for pools in which line 5 divides by something above zero."""
    query, summaries, chunks, _, members = pool
    dot = np.array(summaries) @ np.array([query, *chunks]).T
    assume(dot[:, 0].max() > 0 and any(dot[s, 1 + c] > 0 for s, some in enumerate(members) for c in some))
    return algorithm_2(*pool, k)


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_greedy_is_algorithm_2_on_a_larger_pool(seed, each):
    query, summaries, chunks, cover, ranks = random_pool(np.random.default_rng(seed), 40, 90, 16, each=each)
    members = [cover.indices[cover.indptr[s] : cover.indptr[s + 1]].tolist() for s in range(40)]
    picks, gains = algorithm_2(query.tolist(), summaries.tolist(), chunks.tolist(), ranks.tolist(), members, 12)
    found = greedy(signature_objective(query, summaries, chunks, cover, ranks, marked=True), 12)
    assert found.picks == picks and found.gains == pytest.approx(gains, abs=1e-12)


@given(pools(overlap=True), st.integers(1, 6), st.booleans())
def test_lazy_is_greedy_to_the_bit(pool, k, marked):
    objective = objective_of(pool, marked=marked)
    one, other = greedy(objective, k), lazy_greedy(objective, k)
    assert (one.picks, one.gains) == (other.picks, other.gains)
    assert other.evaluations <= one.evaluations == sum(objective.n - i for i in range(len(one.picks)))


@pytest.mark.parametrize("seed", range(20))
def test_lazy_is_greedy_on_larger_pools(seed):
    """The last one has hundreds of equal bounds, and in the end nothing but zeros."""
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, 200, 500, rng.integers(2, 9), each=1 + seed % 4)
    ties = FacilityLocation(rng.random((300, 12)) < 0.05 * (1 + seed % 10))
    for objective in (signature_objective(*pool, marked=seed % 2 == 0), FacilityLocation(rng.random((200, 60))), ties):
        one, other = greedy(objective, 40), lazy_greedy(objective, 40)
        assert (one.picks, one.gains) == (other.picks, other.gains)
        assert other.evaluations < one.evaluations / 2 or (objective is ties and one.gains[-1] == 0)


def test_equal_summaries_are_taken_by_index():
    """Each summary stands three times in a pool of a size at which matrix products treat the last rows otherwise."""
    rng = np.random.default_rng(0)
    query, summaries, *_ = random_pool(rng, 37, 1, dim=33)
    three = np.tile(summaries, (3, 1))
    assert len(set(relevance(query, three).tolist())) == 37
    values = FacilityLocation(np.tile(rng.random((37, 9)), (3, 1)))
    for objective in (Modular(relevance(query, three)), Diversity(three), values):
        for picks in (greedy(objective, 12).picks, lazy_greedy(objective, 12).picks):
            assert all(pick < 37 or pick - 37 in picks[:i] for i, pick in enumerate(picks))


def test_gains_have_the_same_bits_whichever_rows_are_asked():
    rng = np.random.default_rng(0)
    objective = signature_objective(*random_pool(rng, 60, 300, 24, each=4))
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
    found = greedy(signature_objective(query, summaries, chunks, assignment([0, 1], 2), [1, 2], (1, 0, 0)), 1)
    assert (found.picks, found.gains) == ((0,), (-0.6,))


def test_terms_of_nothing_but_zeros_stay_zero():
    """No chunk matches its summary, and the query is at right angles to all: only diversity is left."""
    summaries = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    objective = signature_objective(np.array([0.0, 0.0, 1.0]), summaries, -summaries, assignment([0, 1], 2), [1, 2])
    assert greedy(objective, 2).gains == (0.3, 0.3)


def test_when_line_20_is_not_eq_8():
    """A chunk that two summaries have, the first pick with the weaker match: the better one adds 0.75 more, or nothing."""
    matrix = [[0.125, 1.0], [0.875, 0.0]]
    eight, twenty = FacilityLocation(matrix), MarkedCoverage(matrix)
    assert evaluate(eight, [0, 1]).gains == (1.125, 0.75) and evaluate(eight, [1, 0]).gains == (0.875, 1.0)
    assert evaluate(twenty, [0, 1]).gains == (1.125, 0.0) and evaluate(twenty, [1, 0]).gains == (0.875, 1.0)
    weak = csr_array(
        ([0.0, 1.0, 0.5], [0, 1, 0], [0, 2, 3]), shape=(2, 2)
    )  # the first has chunk 0, and does not match it
    assert evaluate(FacilityLocation(weak), [0, 1]).gains == (1.0, 0.5)
    assert evaluate(MarkedCoverage(weak), [0, 1]).gains == (1.0, 0.0)


@given(st.integers(1, 5), st.integers(1, 6), st.data())
def test_facility_location_is_eq_8(n, m, data):
    row = st.lists(st.integers(0, 4), min_size=m, max_size=m)
    matrix = data.draw(st.lists(row, min_size=n, max_size=n))
    objective = FacilityLocation(matrix)
    for size in range(n + 1):
        for picks in itertools.combinations(range(n), size):
            found = evaluate(objective, picks).value
            assert found == set_value(matrix, picks) == evaluate(objective, picks[::-1]).value


# First-K, and all sets ----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(1, 8))
def test_first_k(sessions, k):
    picks, short = first_k(sessions, k).picks, first_k(sessions, k, among_chunks=True).picks
    assert len(picks) == min(k, len(set(sessions))) and len(set(picks)) == len(picks)
    assert short == picks[: len(short)] and set(short) == set(sessions[:k])
    assert [sessions.index(pick) for pick in picks] == sorted(sessions.index(pick) for pick in picks)
    values = Modular(np.arange(10.0))
    assert first_k(sessions, k, objective=values).gains == tuple(map(float, picks))


@pytest.mark.parametrize("seed", range(30))
def test_exhaustive_against_all_sets(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 6)), int(rng.integers(1, 7))
    values = rng.integers(-3, 4, n).astype(float)
    objective = Mixture([Modular(values), FacilityLocation(rng.integers(0, 3, (n, 4)))], [1, 1])
    assert exhaustive(objective, k).picks == first_best(objective, itertools.combinations(range(n), min(k, n)))
    every = itertools.chain.from_iterable(itertools.combinations(range(n), size) for size in range(min(k, n) + 1))
    found = exhaustive(objective, k, smaller=True)
    assert found.value == max(evaluate(objective, picks).value for picks in every)
    assert found.value == evaluate(objective, found.picks).value
    ordered = Mixture([MarkedCoverage(rng.integers(0, 3, (n, 4)))], [1])
    assert exhaustive(ordered, k).picks == first_best(ordered, itertools.permutations(range(n), min(k, n)))


def first_best(objective, sets):
    return max(sets, key=lambda picks: evaluate(objective, picks).value)  # max keeps the first of equals


# Covers -------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 12))
def test_windows(length, width, stride):
    plain = windows(length, width).toarray()
    assert plain.shape == (math.ceil(length / width), length)
    for chunk in range(length):  # pi(x_l) = s_ceil(l/W), from 1
        assert plain[:, chunk].nonzero()[0].tolist() == [math.ceil((chunk + 1) / width) - 1]
    if stride <= width:
        cover = windows(length, width, stride).toarray()
        assert cover.any(axis=0).all() and (cover.sum(axis=1) <= width).all()
        for s, row in enumerate(cover):
            assert row[s * stride] and (row.nonzero()[0] < s * stride + width).all()
        assert all((cover[s] > cover[:s].max(axis=0)).any() for s in range(1, len(cover)))  # each holds something new


def test_an_assignment_to_several_summaries():
    cover = assignment(np.array([[2, 0], [1, 2]]), 3)
    assert cover.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]


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
    one, other = greedy(objective, K), lazy_greedy(objective, K)
    assert (one.picks, one.gains) == (other.picks, other.gains)
    assert one.evaluations == K * N - K * (K - 1) // 2 and other.evaluations < 1.1 * N


def peak(call):
    """What it returns, and the most bytes that were held meanwhile."""
    tracemalloc.start()
    found = call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, most


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
    found, most = peak(lambda: lazy_greedy(signature_objective(*pool), 5))
    assert len(set(found.picks)) == 5
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
    refused(lambda: rank_weights([0, 1]), "ranks: got 0, expected 1")
    refused(lambda: rank_weights([]), r"ranks: got the shape \(0,\)")
    refused(lambda: relevance(np.ones(2), np.eye(2)), "query: vector 0 has length 1.414, expected 1")
    refused(lambda: relevance(np.eye(3)[0], np.eye(2)), "query: got 3 dimensions, expected 2")
    refused(lambda: relevance(np.eye(2)[0], np.array([[1.0, np.nan]])), "summaries: a number is not finite")
    refused(lambda: assignment([0, 3], 3), "sessions: got 0 to 3, expected indices from 0 to 2")
    refused(lambda: assignment([-1, 0], 3), "sessions: got -1 to 0")
    refused(lambda: assignment([0.0, 1.0], 3), "sessions: got float64")
    refused(lambda: assignment([[1, 1]], 3), "the same summary twice")
    refused(lambda: assignment([], 3), "expected indices of summaries")
    refused(lambda: windows(0), "length=0: expected a whole number")
    refused(lambda: windows(9, 2, stride=3), "stride=3: expected at most width=2")
    refused(lambda: coverage(np.eye(2), np.eye(2), csr_array(np.eye(3)), [1, 2]), r"got a cover \(3, 3\) and 2 ranks")
    refused(lambda: coverage(np.eye(2), np.eye(2), csr_array(np.eye(2)), [1]), "and 1 ranks, expected .* and 2")
    refused(lambda: Modular([[1.0]]), r"values: got the shape \(1, 1\), expected 1 dimensions")
    refused(lambda: Modular(["a"]), "values: expected numbers")
    refused(lambda: FacilityLocation([[1.0, -0.5]]), "matrix: got -0.5, expected no value below 0")
    refused(lambda: FacilityLocation([[np.inf]]), "matrix: a number is not finite")
    refused(lambda: FacilityLocation(np.zeros((0, 3))), r"matrix: got the shape \(0, 3\)")
    refused(lambda: FacilityLocation("text"), "matrix: expected a matrix")
    refused(lambda: Diversity([[0.0, 0.0]]), "vectors: vector 0 has length 0, expected 1")
    refused(lambda: Mixture([Modular([1.0]), Modular([1.0, 2.0])], [1, 1]), r"parts over \[1, 2\] summaries")
    refused(lambda: Mixture([Modular([1.0])], [1, 1]), "2 weights")
    refused(lambda: Mixture([Modular([1.0])], [-1]), "expected no weight below 0")
    refused(lambda: Mixture([Modular([1.0])], [0]), "and one above")
    refused(lambda: Mixture([Modular([1.0])], [1], [0]), "scales above 0")
    refused(lambda: signature_objective(cover=np.eye(5), weights=(1, 1), **FIVE), "weights: got 2, expected 3")
    refused(lambda: greedy(Modular([1.0]), 0), "k=0: expected a whole number, at least 1")
    refused(lambda: lazy_greedy(Modular([1.0]), 1.5), "k=1.5")
    refused(lambda: exhaustive(Modular([1.0]), True), "k=True")
    refused(lambda: exhaustive(Modular(np.ones(60)), 5), f"5 of 60 summaries: 5,461,512 sets, at most {LARGEST:,}")
    refused(lambda: exhaustive(Diversity(np.eye(40)), 4), "2,193,360 orders")
    refused(lambda: evaluate(Modular([1.0, 2.0]), [0, 0]), r"picks \[0, 0\]: expected different indices from 0 to 1")
    refused(lambda: evaluate(Modular([1.0, 2.0]), [2]), "expected different indices")
    refused(lambda: evaluate(Modular([1.0, 2.0]), [0.5]), "expected different indices")
    refused(lambda: first_k([0, 1], 0), "k=0")
    refused(lambda: first_k([0, -1], 1), "sessions: got")
    refused(lambda: first_k([[0, 1]], 1), "sessions: got")


@pytest.mark.parametrize("seed", range(10))
def test_lazy_is_greedy_among_many_ties(seed):
    """Hundreds of equal bounds, and in the end nothing but zeros."""
    matrix = np.random.default_rng(seed).random((300, 12)) < 0.05 * (1 + seed)
    one, other = greedy(FacilityLocation(matrix), 40), lazy_greedy(FacilityLocation(matrix), 40)
    assert (one.picks, one.gains) == (other.picks, other.gains) and one.gains[-1] == 0


@given(pools(), st.data())
def test_under_pi_relevance_and_coverage_are_modular(pool, data):
    """A gain has the same bits whatever was picked before: line 11's factor is 1 for all that are left."""
    n = len(pool[1])
    picked = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    for marked in (False, True):
        objective = objective_of(pool, (0.3, 0.4, 0), marked)
        state = objective.start()
        alone = objective.gains(state)
        for pick in picked:
            state = objective.add(state, pick)
        left = [s for s in range(n) if s not in picked]
        assert (objective.gains(state)[left] == alone[left]).all()


def test_without_diversity_greedy_sorts_and_is_optimal():
    """On 2,000 pools: the k largest single gains, and nothing above them among all sets of k, or all orders."""
    rng = np.random.default_rng(0)
    for i in range(2000):
        n = int(rng.integers(2, 7))
        objective = signature_objective(*random_pool(rng, n, 12), weights=(0.3, 0.4, 0), marked=i % 2 == 0)
        k = int(rng.integers(1, 4))
        found = greedy(objective, k)
        assert found.picks == tuple(np.argsort(-objective.gains(objective.start()), kind="stable")[:k].tolist())
        assert found.value == pytest.approx(exhaustive(objective, k).value, abs=1e-12)


BOUND = 1 - 1 / math.e


def test_a_cosine_below_zero_breaks_monotony_and_the_bound():
    """f_Q({0}) = 1 and f_Q({0, 1}) = 0.2: greedy must pick two, as the algorithm says, and has a fifth of the best."""
    query, summaries = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [-0.8, 0.6]])
    objective = Modular(relevance(query, summaries))
    found, best = greedy(objective, 2), exhaustive(objective, 2, smaller=True)
    assert found.gains == (1.0, -0.8) and best.picks == (0,)
    assert found.value / best.value == pytest.approx(0.2)  # and not 0.632
    # With two of two there is no choice, so greedy is optimal; where the optimum is below zero, Eq. 11 fails all the same.
    worse = Modular([-0.5, -0.5])
    assert greedy(worse, 2).value == exhaustive(worse, 2).value == -1 < BOUND * -1


@given(pools(overlap=True, negative=False), st.booleans(), st.data())
def test_without_negative_cosines_all_gains_shrink(pool, marked, data):
    """Eq. 10 has diminishing returns and no gain is below zero: what it lacks is a function of the set behind it (below)."""
    objective = objective_of(pool, marked=marked)
    picks = data.draw(st.permutations(range(objective.n)))
    state = objective.start()
    before = objective.gains(state)
    for pick in picks:
        state = objective.add(state, pick)
        gains = objective.gains(state)
        assert (gains <= before + 1e-12).all() and (gains >= 0).all()
        before = gains


def test_a_negative_cosine_makes_the_second_gain_larger_than_the_first():
    objective = Diversity([[1.0, 0.0], [-0.6, 0.8]])
    assert objective.gains(objective.start())[1] == 1
    assert objective.gains(objective.add(objective.start(), 0))[1] == 1.6


def test_diversity_is_no_function_of_the_set():
    """Three directions at 0, 30 and 90 degrees: with the middle one last the same three add up to 1/2 more."""
    angles = np.radians([0, 30, 90])
    objective = Diversity(np.column_stack([np.cos(angles), np.sin(angles)]))
    sums = {order: evaluate(objective, order).value for order in itertools.permutations(range(3))}
    root = math.sqrt(3) / 2
    assert sums[0, 1, 2] == pytest.approx(3 - root - 1 / 2)  # 1.634
    assert sums[0, 2, 1] == pytest.approx(3 - root)  # 2.134
    assert max(sums.values()) - min(sums.values()) == pytest.approx(1 / 2)
    assert objective.ordered and signature_objective(cover=assignment(SESSIONS, 5), **FIVE).ordered


def test_diversity_alone_is_below_the_bound():
    """A summary amid three at right angles comes first, by its index: 0.615 of the optimum, with no cosine below zero."""
    objective = Diversity(np.vstack([np.full(3, 1 / math.sqrt(3)), np.eye(3)]))
    found, best = greedy(objective, 3), exhaustive(objective, 3)
    assert found.picks == (0, 1, 2) and best.picks == (1, 2, 3)
    assert (
        found.value / best.value == pytest.approx((1 + 2 * (1 - 1 / math.sqrt(3))) / 3)
        and found.value / best.value < BOUND
    )


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=5), st.data())
def test_line_20_differs_where_a_later_pick_matches_better(rows, data):
    """And never gains more; the same where no pick matches a chunk better than the first that has it."""
    matrix = np.array(rows, dtype=float)
    order = data.draw(st.permutations(range(len(matrix))))
    eight, twenty = (evaluate(kind(matrix), order).gains for kind in (FacilityLocation, MarkedCoverage))
    assert all(a >= b for a, b in zip(eight, twenty, strict=True))
    column = matrix[list(order)]
    first = np.take_along_axis(column, (column > 0).argmax(axis=0)[None], axis=0)
    assert (eight == twenty) == (column.max(axis=0) == first[0]).all()


def test_line_20_keeps_a_kth_of_the_optimum():
    """One summary has all chunks at a weak match and takes them all; then what adds nothing comes by its index."""
    k = 5
    matrix = np.vstack([np.full(k, 1 / k), np.zeros((k - 1, k)), np.eye(k)])
    best = exhaustive(FacilityLocation(matrix), k)
    assert best.value == k
    marked, eight = greedy(MarkedCoverage(matrix), k), greedy(FacilityLocation(matrix), k)
    assert marked.picks == (0, 1, 2, 3, 4) and set_value(matrix, marked.picks) / best.value == pytest.approx(1 / k)
    assert eight.value / best.value == pytest.approx(0.84)  # (1/5 + 4)/5


@pytest.mark.parametrize("case", ["overlapping windows", "soft coverage"])
def test_where_submodularity_returns(case):
    """On 300 pools the gain of a summary falls once others are picked; with the paper's windows it never does."""
    rng = np.random.default_rng(0)
    fell = 0
    for _ in range(300):
        query, summaries, chunks, _, ranks = random_pool(rng, 5, 12, negative=False)
        cover = windows(12, 4, stride=2) if case == "overlapping windows" else csr_array(np.ones((5, 12)))
        objective = FacilityLocation(coverage(summaries, chunks, cover, ranks))
        gains = objective.gains(objective.start()) - objective.gains(objective.add(objective.start(), 2))
        assert (gains >= 0).all()
        fell += (np.delete(gains, 2) > 1e-9).any()
        plain = FacilityLocation(coverage(summaries[:3], chunks, windows(12, 4), ranks))
        rest = np.array([0, 1])
        assert (plain.gains(plain.add(plain.start(), 2), rest) == plain.gains(plain.start(), rest)).all()
    assert fell > 290


def test_greedy_on_facility_location_keeps_the_bound():
    """4,000 pools, dense, sparse and of whole numbers: at least 1 - (1 - 1/k)^k of the optimum, which is more than 0.632."""
    rng = np.random.default_rng(0)
    worst = 1.0
    for i in range(4000):
        n, m, k = rng.integers(3, 8), rng.integers(3, 8), int(rng.integers(2, 5))
        matrix = rng.random((n, m)) if i % 2 else rng.integers(0, 3, (n, m)).astype(float)
        objective = FacilityLocation(matrix * (rng.random((n, m)) < 0.5))
        best = exhaustive(objective, k).value
        if best > 0:
            ratio = greedy(objective, k).value / best
            assert ratio >= 1 - (1 - 1 / k) ** k - 1e-12 > BOUND
            worst = min(worst, ratio)
    assert worst < 0.85  # greedy is not optimal any more


@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_bound_is_reached(k):
    """k columns of chunks, worth 1 each: summary t has a k-th of what is left of each, the other k have a column each."""
    heights = [(1 - 1 / k) ** t / k for t in range(k)] + [(1 - 1 / k) ** k]
    matrix = np.zeros((2 * k, k, k + 1))
    for t in range(k):
        matrix[t, :, t] = heights[t]
        matrix[k + t, t] = heights
    objective = FacilityLocation(matrix.reshape(2 * k, -1))
    found = greedy(objective, k)
    assert found.picks == tuple(range(k))
    assert evaluate(objective, range(k, 2 * k)).value == k
    assert found.value / k == pytest.approx(1 - (1 - 1 / k) ** k)  # 0.75, 0.684, 0.656
