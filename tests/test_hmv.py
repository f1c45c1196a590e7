"""MoM's two theorems: closed forms against simulation, where Theorem 2 fails, and what is true instead."""

import math

import numpy as np
import pytest
from extras import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from mindscape.mom import hmv

WIDE = settings(max_examples=2000)
SOME = settings(max_examples=150)

weights = st.floats(0.001, 0.999)
angles = st.floats(1e-6, math.pi)
noises = st.floats(0, 2)
loud = st.floats(0.01, 2)
dims = st.integers(2, 4096)
correlations = st.floats(-1, 1)
gaps, parts, sds = st.floats(0.01, 2), st.floats(0.02, 0.98), st.floats(0.01, 3)
NEAR = float(np.arccos(0.9))  # two layers of one document, as alike as layers of one text may be


def drawn(n=40_000, seed=0, **setting):
    """X_HMV and X_SVF of one setting, simulated."""
    return hmv.simulate(np.random.default_rng(seed), n, **setting)


def close(values, expected, sd=None, z=4.5):
    """The mean of draws lies within z standard errors: one comparison in 100,000 errs."""
    values = np.asarray(values, dtype=float)
    return abs(values.mean() - expected) <= z * (values.std() if sd is None else sd) / math.sqrt(len(values))


def surely(values, z=4.5):
    """What the mean of draws lies above, but for one in 100,000."""
    return values.mean() - z * values.std() / math.sqrt(len(values))


SETTINGS = [
    {"w": 0.5, "theta": NEAR, "dim": 64, "sigma_q": 0.1, "sigma_v": 0.1},
    {"w": 0.2, "theta": 1.0, "dim": 8, "sigma_q": 0.3, "sigma_v": 0.2},
    {"w": 0.7, "theta": 2.5, "dim": 2, "sigma_q": 0.5, "sigma_v": 0.8},
    {"w": 0.3, "theta": 0.3, "dim": 16, "sigma_q": 0.05, "sigma_v": 0.4, "shared": 0.7},
    {"w": 0.6, "theta": 1.5, "dim": 4, "sigma_q": 0.4, "sigma_v": 0.3, "shared": -0.5},
    {"w": 0.5, "theta": NEAR, "dim": 64, "sigma_q": 0.0, "sigma_v": 0.2},
    {"w": 0.4, "theta": NEAR, "dim": 64, "sigma_q": 0.2, "sigma_v": 0.0},
]


# Closed forms against simulation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
def test_means_and_spreads_are_those_of_the_simulation(setting):
    means = hmv.expected(setting["w"], setting["theta"])
    for x, mean, sd in zip(drawn(**setting), means, hmv.spreads(**setting), strict=True):
        assert close(x, mean, sd)
        assert abs(x.std() / sd - 1) < 4.5 * math.sqrt((stats.kurtosis(x) + 2) / 4 / len(x))


@pytest.mark.parametrize("setting", SETTINGS)
def test_exact_tails_are_those_of_the_simulation(setting):
    hmv_draws, svf_draws = drawn(**setting)
    for epsilon in (0.02, 0.2, 0.6):
        for x, p in zip((hmv_draws, svf_draws), hmv.exact_tails(epsilon, **setting), strict=True):
            assert close(x < 1 - epsilon, p, math.sqrt(p * (1 - p)) + 1e-4)


@pytest.mark.parametrize("setting", SETTINGS[-2:])
def test_with_one_noise_the_gaussian_is_exact(setting):
    epsilon = np.array([0.01, 0.1, 0.5, 2.0])
    for ours, exact in zip(hmv.gaussian_tails(epsilon, **setting), hmv.exact_tails(epsilon, **setting), strict=True):
        assert np.allclose(ours, exact, rtol=1e-12)
    for x in drawn(**setting):
        assert stats.kstest((x - x.mean()) / x.std(), "norm").pvalue > 1e-4


def test_the_law_of_the_product_by_another_route():
    """Given q, q · V is Gaussian; so P is a mean over q, here an integral over its length and its angle in two dimensions."""
    mean, s, t, level = np.array([1.0, 0.0]), 0.5, 0.4, 0.7
    other = np.array([0.6, 0.5])

    def density(y, x):
        q = np.array([x, y])
        p = stats.norm.cdf((level - q @ other) / (t * math.hypot(x, y, 1e-9)))
        return p * math.exp(-((q - mean) ** 2).sum() / (2 * s * s)) / (2 * math.pi * s * s)

    by_hand, _ = integrate.dblquad(density, -3, 5, -4, 4, epsabs=1e-8)
    ours = hmv.product_tail(level, 2, float(mean @ other), (1.0, float(np.linalg.norm(other))), (s, t))
    assert abs(ours - by_hand) < 1e-7


@settings(max_examples=40)
@given(dims, st.floats(-1, 1), loud, loud)
def test_the_law_of_the_product_has_its_cumulants(dim, dot, s, t):
    """Mean and variance from the distribution function alone: integrals of the tails."""
    mean, variance, skewness, kurtosis = hmv.cumulants(dim, dot, (1.0, 1.0), (s, t))
    assert kurtosis > 0 and skewness * dot >= 0
    sd = math.sqrt(variance)
    step = 0.1
    z = (np.arange(-250, 250) + 0.5) * step
    below = hmv.product_tail(mean + z * sd, dim, dot, (1.0, 1.0), (s, t))
    assert (np.diff(below) > -1e-9).all() and below[0] < 1e-6 and below[-1] > 1 - 1e-6
    away = (z > 0) - below
    assert abs(away.sum() * step) < 2e-3  # E[Z] is the integral of 1[z > 0] - F(z)
    assert abs(2 * (z * away).sum() * step - 1) < 2e-2  # and E[Z²] twice that of z times it


@pytest.mark.parametrize("dim, s, t", [(2, 0.5, 0.5), (64, 0.2, 0.1)])
def test_a_product_of_two_gaussians_is_not_gaussian(dim, s, t):
    x, _ = drawn(400_000, w=0.5, theta=1.0, dim=dim, sigma_q=s, sigma_v=t)
    _, _, skewness, kurtosis = hmv.cumulants(dim, 1.0, (1.0, 1.0), (s, t))
    assert abs(stats.skew(x) / skewness - 1) < 0.1 and abs(stats.kurtosis(x) / kurtosis - 1) < 0.15
    assert stats.kstest((x - 1) / x.std(), "norm").pvalue < 1e-6


@pytest.mark.parametrize("dim, ratio", [(2, 0.5), (8, 1.0), (64, 8.0), (384, 10.0)])
def test_the_mean_cosine_is_that_of_the_simulation(dim, ratio):
    v = np.random.default_rng(0).standard_normal((20_000, dim))
    v[:, 0] += ratio
    assert close(v[:, 0] / np.linalg.norm(v, axis=1), hmv.mean_cosine(dim, ratio))


@SOME
@given(st.integers(2, 2000), st.floats(1e-3, 1e4))
def test_the_mean_cosine_lies_near_its_limit(dim, ratio):
    value, limit = hmv.mean_cosine(dim, ratio), ratio / math.hypot(ratio, math.sqrt(dim))
    assert 0 < value < 1 + 1e-12 and abs(value / limit - 1) < 0.25 / dim + 1e-9


def test_simulate_scales_what_it_says():
    setting = {"w": 0.3, "theta": 1.0, "dim": 16, "sigma_q": 0.2, "sigma_v": 0.2}
    means, vectors, index = (drawn(1000, unit=unit, **setting) for unit in hmv.UNITS)
    assert means[0].max() > 1 and vectors[0].max() <= 1 + 1e-12
    assert np.array_equal(vectors[0], index[0])
    assert (index[1] / vectors[1] >= 1 - 1e-12).all()  # a mean of unit vectors is shorter than they are
    assert [x.shape for x in means] == [(1000,), (1000,)]


def test_simulate_is_the_same_for_the_same_seed_and_whatever_the_blocks(monkeypatch):
    setting = {"w": 0.3, "theta": 1.0, "dim": 16, "sigma_q": 0.2, "sigma_v": 0.2, "n": 1000}
    first = drawn(**setting)
    assert np.array_equal(first, drawn(**setting)) and not np.array_equal(first, drawn(**setting, seed=1))
    monkeypatch.setattr(hmv, "_BLOCK", 16 * 300)
    assert [len(x) for x in drawn(**setting)] == [1000, 1000]


# Theorem 1 --------------------------------------------------------------------------------------------------------


@WIDE
@given(weights, angles)
@example(0.001, 1e-6)
@example(0.999, math.pi)
def test_theorem_1_holds_under_its_assumptions(w, theta):
    for weight in (w, 1 - w):  # the global query and the local one
        gap = hmv.shortfall(weight, theta)
        assert gap > 0
        assert gap == pytest.approx(weight * (1 - math.cos(theta)), rel=1e-9, abs=1e-15)
        ours, fused = hmv.expected(weight, theta)
        assert ours == 1 and fused <= 1 and ours - fused == pytest.approx(gap, abs=1e-15)


@WIDE
@given(st.integers(2, 64), weights, st.integers(0, 2**32 - 1))
def test_theorem_1_for_any_two_directions(dim, w, seed):
    """With vectors and not with the formula."""
    first, second = np.random.default_rng(seed).standard_normal((2, dim))
    first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
    fused = (1 - w) * first + w * second
    assert first @ first > first @ fused and second @ second > second @ fused
    angle = float(np.arccos(np.clip(first @ second, -1, 1)))
    assert first @ fused == pytest.approx(1 - hmv.shortfall(w, angle), abs=1e-7)
    assert np.linalg.norm(fused) == pytest.approx(hmv.fused_length(w, angle), abs=1e-7)


@WIDE
@given(weights, st.floats(1e-3, math.pi - 1e-3), st.floats(0.01, 1), st.floats(0.01, 1))
def test_theorem_1_with_shorter_means_asks_for_more_than_an_angle(w, theta, first, second):
    ours, fused = hmv.expected(w, theta, (first, second))
    margin = first - second * math.cos(theta)
    if abs(margin) > 1e-9:
        assert (ours > fused) == (margin > 0)


def test_theorem_1_fails_in_a_normalised_index_with_noise():
    """By the mean cosines of each vector's mean and its noise; the query's own cosine is a factor of both."""
    at, length = hmv.break_even(0.5, NEAR), hmv.fused_length(0.5, NEAR)
    assert at == pytest.approx(0.0475 / 0.4025)
    for factor, wins in ((0.8, True), (1.25, False)):
        t = math.sqrt(at * factor / 4096)
        fused = hmv.mean_cosine(4096, length / (t * math.sqrt(0.5))) * (1 - hmv.shortfall(0.5, NEAR)) / length
        assert (hmv.mean_cosine(4096, 1 / t) > fused) == wins
    ours, fused = drawn(20_000, w=0.5, theta=NEAR, dim=64, sigma_q=0.05, sigma_v=0.1, unit="index")
    assert surely(fused - ours) > 0.03


@WIDE
@given(weights, angles)
def test_break_even_is_finite_exactly_where_the_noise_outweighs_the_turn(w, theta):
    at, cosine = hmv.break_even(w, theta), math.cos(theta)
    side = 2 * (1 - w) * cosine - w * (1 - cosine**2)
    if abs(side) > 1e-9 and 1 - hmv.shortfall(w, theta) > 0:
        assert np.isfinite(at) == (side > 0)


# Theorem 2 --------------------------------------------------------------------------------------------------------

# w, cos θ, dim, sigma_q, sigma_v, ε -> P(X_HMV < 1 - ε) and P(X_SVF < 1 - ε), one noise only: no approximation
COUNTEREXAMPLES = [
    (0.5, 0.9, 64, 0.0, 0.2, 0.25, 0.105650, 0.078650),
    (0.5, 0.8, 64, 0.0, 0.2, 0.4, 0.022750, 0.016947),
    (0.1, 0.95, 64, 0.0, 0.05, 0.06, 0.115070, 0.112231),
    (0.5, 0.9, 64, 1.0, 0.0, 2.5, 0.006210, 0.005974),
]


@pytest.mark.parametrize("w, cosine, dim, s, t, epsilon, ours, fused", COUNTEREXAMPLES)
def test_counterexamples_of_theorem_2(w, cosine, dim, s, t, epsilon, ours, fused):
    setting = {"w": w, "theta": np.arccos(cosine), "dim": dim, "sigma_q": s, "sigma_v": t}
    for tails in (hmv.gaussian_tails(epsilon, **setting), hmv.exact_tails(epsilon, **setting)):
        assert tails == pytest.approx((ours, fused), abs=1e-6)
        assert tails[0] > tails[1]
    assert epsilon > hmv.critical_epsilon(**setting)


def test_case_1_fails_too_once_the_product_is_taken_for_what_it_is():
    """ε ≤ C, where the proof says P(X_SVF < 1 - ε) ≥ 1/2: so it is, and P(X_HMV < 1 - ε) is larger."""
    setting = {"w": 0.5, "theta": np.arccos(0.99), "dim": 2, "sigma_q": 1.0, "sigma_v": 0.5}
    assert hmv.shortfall(0.5, setting["theta"]) == pytest.approx(0.005)
    ours, fused = hmv.exact_tails(0.005, **setting)
    assert (ours, fused) == (pytest.approx(0.5526, abs=1e-4), pytest.approx(0.5385, abs=1e-4))
    ours, fused = hmv.gaussian_tails(0.005, **setting)
    assert ours < fused == pytest.approx(0.5)
    x, y = drawn(200_000, **setting)
    assert surely((x < 0.995).astype(float) - (y < 0.995)) > 0


@WIDE
@given(weights, st.floats(1e-3, math.pi), dims, noises, loud, st.floats(-1, 1), st.floats(0.001, 20))
def test_critical_epsilon_says_exactly_where_theorem_2_holds(w, theta, dim, s, t, shared, epsilon):
    at = hmv.critical_epsilon(w, theta, dim, s, t, shared)
    ours, fused = hmv.spreads(w, theta, dim, s, t, shared)
    if fused < 1e-9 or abs(epsilon / at - 1) < 1e-6:
        return
    by_z = -epsilon / ours < (hmv.shortfall(w, theta) - epsilon) / fused  # Φ is increasing: no tail underflows
    assert by_z == (epsilon < at)
    below, above = hmv.gaussian_tails(epsilon, w, theta, dim, s, t, shared)
    if max(below, above) > 1e-12 and min(below, above) < 1 - 1e-12 and abs(below - above) > 1e-12:
        assert (below < above) == by_z


@WIDE
@given(weights, st.floats(1e-3, math.pi), dims, noises, loud)
def test_fusing_always_narrows_the_spread_when_noises_are_independent(w, theta, dim, s, t):
    ours, fused = hmv.spreads(w, theta, dim, s, t)
    assert fused < ours
    share = hmv.query_share(dim, s, t)
    rho = fused / ours
    assert rho**2 == pytest.approx(1 - 2 * w * (1 - w) * (1 - share * math.cos(theta)), abs=1e-9)
    assert rho >= 1 - 2 * w - 1e-9  # the step on which the corrected condition rests


# What is true instead ---------------------------------------------------------------------------------------------


@WIDE
@given(weights, st.floats(1e-3, math.pi), dims, noises, loud, correlations, st.floats(1e-3, 0.999))
def test_the_corrected_condition_is_never_violated(w, theta, dim, s, t, shared, part):
    """ε below `safe_epsilon`: whatever w, noise and dimension, for the global query and for the local one."""
    safe = hmv.safe_epsilon(theta, hmv.query_share(dim, s, t), shared)
    if not np.isfinite(safe):
        safe = 100.0
    for weight in (w, 1 - w):
        assert part * safe < hmv.critical_epsilon(weight, theta, dim, s, t, shared)


@WIDE
@given(st.floats(1e-3, math.pi), st.floats(0, 1))
def test_a_threshold_below_half_the_squared_distance_is_safe(theta, share):
    first, second = hmv.centres(2, theta)
    assert hmv.safe_epsilon(theta, share) >= min(1, ((first - second) ** 2).sum() / 2) * (1 - 1e-9)


@pytest.mark.parametrize("cosine", [-0.5, 0.2, 0.9])
@pytest.mark.parametrize("s, t", [(0.0, 0.2), (0.1, 0.1), (0.3, 0.0)])
def test_no_larger_threshold_is_safe_for_every_weight(cosine, s, t):
    theta = np.arccos(cosine)
    safe = hmv.safe_epsilon(theta, hmv.query_share(64, s, t))
    at = hmv.critical_epsilon(np.array([0.5, 0.1, 0.01, 1e-4]), theta, 64, s, t)
    assert (np.diff(at) < 0).all() and safe < at[-1] < safe * 1.001


def test_noise_shared_as_much_as_the_centres_makes_every_threshold_safe():
    for cosine in (0.1, 0.5, 0.9):
        theta = np.arccos(cosine)
        assert (hmv.safe_epsilon(theta, np.linspace(0, 1, 11), shared=cosine) >= 1 - 1e-9).all()
        assert hmv.safe_epsilon(theta, 0.0, shared=cosine - 0.05) < 1
    assert hmv.safe_epsilon(1.0, 0.0, shared=1.0) == np.inf


def two_points(mean, sd, at):
    """The law on two points with this mean and spread, one of them `at`: ((point, probability), (point, probability))."""
    other = mean + sd**2 / (mean - at)
    p = (mean - other) / (at - other)
    assert p * at + (1 - p) * other == pytest.approx(mean, abs=1e-9)
    assert p * (at - mean) ** 2 + (1 - p) * (other - mean) ** 2 == pytest.approx(sd**2)
    return (at, p), (other, 1 - p)


@WIDE
@given(gaps, parts, sds, sds, st.floats(-3, 3), st.floats(-3, 3))
def test_the_condition_for_any_law_is_never_violated_by_laws_on_two_points(gap, part, first, second, x, y):
    epsilon = part * gap
    level = -epsilon  # E[X_HMV] is 0 here
    tail = lambda law: sum(p for point, p in law if point < level - 1e-12)  # noqa: E731
    ours = two_points(0, first, at=x if abs(x) > 1e-3 else 1.0)
    fused = two_points(-gap, second, at=-gap + (y if abs(y) > 1e-3 else 1.0))
    if hmv.surely_holds(epsilon, gap, first, second):
        assert tail(ours) < tail(fused)


@WIDE
@given(gaps, parts, sds, sds)
def test_and_no_weaker_condition_on_the_moments_is_enough(gap, part, first, second):
    epsilon = part * gap
    if first * second < epsilon * (gap - epsilon) * 1.01:
        return
    (_, ours), _ = two_points(0, first, at=-epsilon * (1 + 1e-9))
    _, (_, fused) = two_points(-gap, second, at=-epsilon)
    assert not hmv.surely_holds(epsilon, gap, first, second)
    assert ours > fused


@SOME
@given(weights, st.floats(0.3, math.pi), st.sampled_from([2, 8, 64]), loud, loud, st.floats(0.05, 0.95))
def test_the_condition_for_any_law_holds_for_the_product(w, theta, dim, s, t, part):
    epsilon = part * hmv.shortfall(w, theta)
    if hmv.surely_holds(epsilon, hmv.shortfall(w, theta), *hmv.spreads(w, theta, dim, s, t)):
        ours, fused = hmv.exact_tails(epsilon, w, theta, dim, s, t)
        assert ours < fused


# Arrays and bad input ---------------------------------------------------------------------------------------------


def test_numbers_give_numbers_and_arrays_broadcast():
    w, theta = np.array([[0.2], [0.5]]), np.array([0.5, 1.0, 2.0])
    for function in (hmv.shortfall, hmv.fused_length, hmv.break_even, lambda w, theta: hmv.expected(w, theta)[1]):
        assert function(w, theta).shape == (2, 3)
    assert hmv.critical_epsilon(w, theta, 64, 0.1, 0.1).shape == (2, 3)
    assert hmv.gaussian_tails(0.1, w, theta, 64, 0.1, 0.1)[1].shape == (2, 3)
    for value in (hmv.shortfall(0.5, 1.0), hmv.critical_epsilon(0.5, 1.0, 64, 0.1, 0.1), hmv.break_even(0.5, 1.0)):
        assert np.ndim(value) == 0 and float(value)
    assert hmv.product_tail(np.zeros((2, 3)), 8, 1.0, (1.0, 1.0), (0.1, 0.1)).shape == (2, 3)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: hmv.shortfall(0, 1.0), "w is 0: expected between 0 and 1"),
        (lambda: hmv.shortfall(np.array([0.5, 1.0]), 1.0), "w is 1: "),
        (lambda: hmv.shortfall("half", 1.0), "w is 'half': expected a number"),
        (lambda: hmv.shortfall(0.5, 0.0), "theta is 0: .*Hypothesis 1"),
        (lambda: hmv.shortfall(0.5, 90), "theta is 90: .*radians"),
        (lambda: hmv.shortfall(math.nan, 1.0), "w is nan"),
        (lambda: hmv.centres(1, 1.0), "dim is 1: expected a whole number, 2 or more"),
        (lambda: hmv.centres(2.5, 1.0), "dim is 2.5: "),
        (lambda: hmv.spreads(0.5, 1.0, 64, -0.1, 0.1), "sigma_q is -0.1: expected 0 or more"),
        (lambda: hmv.spreads(0.5, 1.0, 64, 0.1, math.inf), "sigma_v is inf"),
        (lambda: hmv.spreads(0.5, 1.0, 64, 0.1, 0.1, shared=2), "shared is 2: expected between -1 and 1"),
        (lambda: hmv.gaussian_tails(0, 0.5, 1.0, 64, 0.1, 0.1), "epsilon is 0: expected above 0"),
        (lambda: hmv.gaussian_tails(0.1, 0.5, 1.0, 64, 0, 0), "a spread is 0"),
        (lambda: hmv.critical_epsilon(0.5, 1.0, 64, 0, 0), "without noise"),
        (lambda: hmv.query_share(64, 0, 0), "no variance"),
        (lambda: hmv.cumulants(8, 1.0, (1.0, 1.0), (0, 0)), "no noise"),
        (lambda: hmv.product_tail(0.5, 8, 2.0, (1.0, 1.0), (0.1, 0.1)), "dot is 2.0: .*product of the lengths, 1"),
        (lambda: hmv.product_tail(0.5, 8, 1.0, (np.ones(2), 1.0), (0.1, 0.1)), "dot is 1.0: .*one number each"),
        (lambda: hmv.product_tail(0.5, 8, 1.0, (1.0, 1.0), (0.1, 1e-6)), "noise 1e-06 is too small"),
        (lambda: hmv.expected(0.5, 1.0, lengths=(-1, 1)), "length_abs is -1"),
        (lambda: hmv.safe_epsilon(1.0, 1.5), "share is 1.5: "),
        (lambda: hmv.surely_holds(-1, 0.5, 0.1, 0.1), "epsilon is -1"),
        (lambda: drawn(0, **SETTINGS[0]), "n is 0: "),
        (lambda: drawn(9, **SETTINGS[0], unit="all"), "unit is 'all': expected one of"),
    ],
)
def test_bad_input_is_one_clear_error(call, message):
    refused(call, message)
