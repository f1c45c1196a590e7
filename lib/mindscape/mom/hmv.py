r"""Two vectors a document or one? The model behind MoM's three-layer retrieval, in closed form and by simulation.

Taught in notebook 43_hmv_theorem. MoM, section 3.2 and appendix A.2: a global query q_abs and the vector V_abs of a
document's summary scatter about one centre μ_abs, local ones about μ_query; the centres have length 1 and enclose the
angle θ. *HMV* (hierarchical multi-vector) keeps V_abs and V_query, *SVF* (single-vector fusion) keeps

    V_fused = (1 - w) V_abs + w V_query.

X_HMV = q_abs · V_abs and X_SVF = q_abs · V_fused are the similarities of a global query. For a local one all formulas
hold with 1 - w in place of w. Theorem 1 compares E[X_HMV] and E[X_SVF], Theorem 2 the lower tails P(X < 1 - ε).

The paper leaves the noise open. Here it is Gaussian, independent and the same in all directions: sigma_q and sigma_v are
the standard deviations *per coordinate* of a query and of a document's vectors, both lengths on the scale of the unit
centres, and `shared` is the correlation of the noise of V_abs with that of V_query (0: the paper's silence, read as
independence). Angles are in radians. Arguments may be numbers or arrays that broadcast; what comes back is a number where
all of them are. Every function raises InputError for values outside its range.

This module retrieves nothing and reads no text.
"""

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import gammaln, hyp1f1, ndtr
from scipy.stats import ncx2

from mindscape.errors import InputError, require

Numbers = float | np.ndarray  # one, or an array of them
LEAST = 1e-3  # the smallest noise, other than none, of which `product_tail` gives the law
UNITS = ("means", "vectors", "index")  # what has length 1, see `simulate`
_NODES, _WEIGHTS = leggauss(160)
_BLOCK = 1 << 22  # coordinates drawn at a time: 32 MB each for the query and the two vectors


def centres(dim: int, theta: float) -> np.ndarray:
    """μ_abs and μ_query: two unit vectors of `dim` coordinates at the angle θ, shape (2, dim), dim ≥ 2.

    >>> centres(3, np.pi / 2).round(6).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    _whole("dim", dim, 2)
    (theta,) = _checked(theta=theta)
    means = np.zeros((2, dim))
    means[0, 0], means[1, 0], means[1, 1] = 1, np.cos(theta), np.sin(theta)
    return means


# Means ------------------------------------------------------------------------------------------------------------


def shortfall(w: Numbers, theta: Numbers) -> Numbers:
    """C = w (1 - cos θ), by which the mean of X_SVF lies below 1 (appendix A.2). Exact for small angles, too.

    >>> round(float(shortfall(0.5, np.pi / 3)), 6)
    0.25
    """
    w, theta = _checked(w=w, theta=theta)
    return 2 * w * np.sin(theta / 2) ** 2


def expected(w: Numbers, theta: Numbers, lengths: tuple = (1.0, 1.0)) -> tuple:
    """E[X_HMV] and E[X_SVF], for q independent of V (Theorem 1), in lengths of E[q].

    The proof takes means of length 1. `lengths` are those of E[V_abs] and E[V_query]: a mean of unit vectors that scatter is
    shorter than 1, and then HMV has the larger mean only while lengths[0] > lengths[1] · cos θ.

    >>> [round(float(x), 6) for x in expected(0.5, np.pi / 3)]
    [1.0, 0.75]
    >>> [round(float(x), 6) for x in expected(0.5, np.arccos(0.8), lengths=(0.6, 0.9))]
    [0.6, 0.66]
    """
    w, theta = _checked(w=w, theta=theta)
    first, second = _checked(length_abs=lengths[0], length_query=lengths[1])
    return first, first - w * (first - second) - second * shortfall(w, theta)


def fused_length(w: Numbers, theta: Numbers) -> Numbers:
    """m, the length of μ_fused: m² = 1 - 2 w (1 - w) (1 - cos θ). Below 1: a mean lies inside the sphere.

    >>> round(float(fused_length(0.5, np.arccos(0.9)) ** 2), 6)
    0.95
    """
    return np.hypot(1 - shortfall(w, theta), np.multiply(w, np.sin(theta)))


def mean_cosine(dim: int, ratio: Numbers) -> Numbers:
    """E[u · V / |V|] for V with mean ratio · u, u a unit vector, and a standard normal in each of `dim` coordinates.

    That is the length of the mean of projected normal vectors, about ratio / √(ratio² + dim) in many dimensions. In
    closed form with Kummer's function (Presnell, Morrison and Littell, 1998, for the law itself).

    >>> round(float(mean_cosine(2, 0.001)), 6), round(float(mean_cosine(64, 8.0)), 3)
    (0.000627, 0.708)
    """
    _whole("dim", dim, 2)
    (ratio,) = _checked(ratio=ratio)
    factor = np.exp(gammaln((dim + 1) / 2) - gammaln(dim / 2 + 1)) / np.sqrt(2)
    return ratio * factor * hyp1f1(0.5, dim / 2 + 1, -(ratio**2) / 2)


def break_even(w: Numbers, theta: Numbers) -> Numbers:
    """dim · sigma_v² from which on fusing raises the mean cosine of a normalised index, in many dimensions.

    w² sin²θ / ((1 - C)² - v), with v of `kept_noise`; infinite where no noise is enough. Fusing turns the vector away
    from its centre by a fixed angle and averages the noise away: the second wins where noise is large.

    >>> round(float(break_even(0.5, np.arccos(0.9))), 4), float(break_even(0.5, np.arccos(0.4)))
    (0.118, inf)
    """
    below = np.maximum(1 - shortfall(w, theta), 0) ** 2 - kept_noise(w)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, np.multiply(w, np.sin(theta)) ** 2 / below, np.inf)[()]


# Spreads ----------------------------------------------------------------------------------------------------------


def kept_noise(w: Numbers, shared: Numbers = 0.0) -> Numbers:
    """v, the share of a vector's noise variance that fusing keeps: 1 - 2 w (1 - w) (1 - shared), between 0 and 1.

    >>> float(kept_noise(0.5)), float(kept_noise(0.5, shared=1.0))
    (0.5, 1.0)
    """
    w, shared = _checked(w=w, shared=shared)
    return np.maximum(1 - 2 * w * (1 - w) * (1 - shared), 0)


def cumulants(dim: int, dot: float, lengths: tuple, noises: tuple) -> tuple:
    """Mean, variance, skewness and excess kurtosis of q · V for independent q and V with Gaussian noise.

    `dot` is the product of the two means, `lengths` are their lengths and `noises` the standard deviations per
    coordinate. From the logarithm of the moment-generating function,
    -(dim/2) log(1 - k²s²t²) + (k·dot + k²(t²|a|² + s²|b|²)/2) / (1 - k²s²t²). A Gaussian has two zeros at the end.

    >>> [round(float(x), 4) for x in cumulants(2, 1.0, (1.0, 1.0), (0.5, 0.5))]
    [1.0, 0.625, 0.7589, 1.08]
    """
    _whole("dim", dim, 1)
    (a, b), (s, t) = lengths, noises
    a, b, s, t = _checked(length_q=a, length_v=b, sigma_q=s, sigma_v=t)
    both, cross = (s * t) ** 2, (t * a) ** 2 + (s * b) ** 2
    variance = dim * both + cross
    require(not np.any(variance == 0), "no noise: q · V is a number and has no spread")
    return dot, variance, 6 * dot * both / variance**1.5, (6 * dim * both**2 + 12 * both * cross) / variance**2


def spreads(w: Numbers, theta: Numbers, dim: Numbers, sigma_q: Numbers, sigma_v: Numbers, shared: Numbers = 0.0) -> tuple:
    """σ_HMV and σ_SVF, the standard deviations of X_HMV and X_SVF (appendix A.2 names them and leaves them open).

    σ_HMV² = sigma_q² + sigma_v² + dim·sigma_q²·sigma_v²; in σ_SVF² the first term is multiplied by m² and the others by
    v, so that σ_SVF is the smaller one for every w in (0, 1) unless there is nothing to average.

    >>> [round(float(x), 4) for x in spreads(0.5, np.arccos(0.9), 64, 0.0, 0.2)]
    [0.2, 0.1414]
    """
    dim, sigma_q, sigma_v = _checked(dim=dim, sigma_q=sigma_q, sigma_v=sigma_v)
    of_query, of_vector = sigma_q**2, sigma_v**2 * (1 + dim * sigma_q**2)
    fused = fused_length(w, theta) ** 2 * of_query + kept_noise(w, shared) * of_vector
    return np.sqrt(of_query + of_vector), np.sqrt(fused)


def query_share(dim: Numbers, sigma_q: Numbers, sigma_v: Numbers) -> Numbers:
    """α, the share of σ_HMV² that comes from the query alone: sigma_q² / σ_HMV², between 0 and 1.

    >>> float(query_share(64, 0.1, 0.0)), round(float(query_share(100, 0.1, 0.1)), 6)
    (1.0, 0.333333)
    """
    dim, sigma_q, sigma_v = _checked(dim=dim, sigma_q=sigma_q, sigma_v=sigma_v)
    total = sigma_q**2 + sigma_v**2 * (1 + dim * sigma_q**2)
    require(not np.any(total == 0), "sigma_q = sigma_v = 0: there is no variance to share out")
    return sigma_q**2 / total


# Tails ------------------------------------------------------------------------------------------------------------


def gaussian_tails(
    epsilon: Numbers, w: Numbers, theta: Numbers, dim: Numbers, sigma_q: Numbers, sigma_v: Numbers, shared: Numbers = 0.0
) -> tuple:
    """P(X_HMV < 1 - ε) and P(X_SVF < 1 - ε) as the paper takes them: Φ(-ε / σ_HMV) and Φ((C - ε) / σ_SVF).

    Exact if sigma_q or sigma_v is 0, for then X is Gaussian; else an approximation, see `exact_tails`.

    >>> [round(float(p), 4) for p in gaussian_tails(0.25, 0.5, np.arccos(0.9), 64, 0.0, 0.2)]
    [0.1056, 0.0786]
    """
    (epsilon,) = _checked(epsilon=epsilon)
    hmv, svf = spreads(w, theta, dim, sigma_q, sigma_v, shared)
    require(np.all(hmv) and np.all(svf), "a spread is 0: without noise a tail is 0 or 1, and there is nothing to compare")
    return ndtr(-epsilon / hmv), ndtr((shortfall(w, theta) - epsilon) / svf)


def product_tail(level: Numbers, dim: int, dot: float, lengths: tuple, noises: tuple) -> Numbers:
    """P(q · V < level) for independent Gaussian q and V: the exact law, to about 1e-10. Arguments as in `cumulants`.

    Each noise is 0 or at least `LEAST`; a smaller one would ask for too long a sum.

    Since 4 q·V = |q + V|² - |q - V|², a product of two Gaussian vectors is a difference of two independent noncentral
    χ² variables once each is measured in its own noise: (s t / 2) (U - W) with U of mean square |a/s + b/t|² / 2 and W of
    |a/s - b/t|² / 2. The distribution function of U is averaged over √W by Gauss's rule.

    >>> round(float(product_tail(1.0, 2, 1.0, (1.0, 1.0), (0.5, 0.5))), 4)  # below the mean: more than a half
    0.5544
    """
    _whole("dim", dim, 1)
    a, b, s, t = _checked(length_q=lengths[0], length_v=lengths[1], sigma_q=noises[0], sigma_v=noises[1])
    alone = not any(np.ndim(x) for x in (dot, a, b, s, t))
    require(alone, f"dot is {dot!r}: expected it, lengths and noises to be one number each")
    require(abs(dot) <= a * b + 1e-9, f"dot is {dot!r}: expected a number within the product of the lengths, {a * b:g}")
    level = np.asarray(level, dtype=float)
    if s == 0 or t == 0:
        return ndtr((level - dot) / np.sqrt(cumulants(dim, dot, (a, b), (s, t))[1]))
    require(min(s, t) >= LEAST, f"noise {min(s, t):g} is too small for this sum: expected 0, or {LEAST} or more")
    squares, product = ((a / s) ** 2 + (b / t) ** 2) / 2, dot / (s * t)
    more, less = squares + product, max(squares - product, 1e-12)
    middle = np.sqrt(less + dim - 1)
    low, high = max(0.0, middle - 10), middle + 10  # √W strays from there with probability 1e-22
    root = (low + high) / 2 + (high - low) / 2 * _NODES
    weights = (high - low) / 2 * _WEIGHTS * 2 * root * ncx2.pdf(root**2, dim, less)
    reach = 2 * level[..., np.newaxis] / (s * t) + root**2
    below = np.where(reach > 0, ncx2.cdf(np.maximum(reach, 1e-300), dim, max(more, 1e-12)), 0.0)
    return np.clip(below @ weights, 0, 1)[()]


def exact_tails(
    epsilon: Numbers, w: float, theta: float, dim: int, sigma_q: float, sigma_v: float, shared: float = 0.0
) -> tuple:
    """P(X_HMV < 1 - ε) and P(X_SVF < 1 - ε) by the law of the product; ε may be an array, the rest are numbers.

    >>> [round(float(p), 4) for p in exact_tails(0.25, 0.5, np.arccos(0.9), 64, 0.05, 0.2)]
    [0.1282, 0.104]
    """
    epsilon, w, theta, shared = _checked(epsilon=epsilon, w=w, theta=theta, shared=shared)
    mean, length = 1 - shortfall(w, theta), fused_length(w, theta)
    less_noise = sigma_v * np.sqrt(kept_noise(w, shared))
    hmv = product_tail(1 - epsilon, dim, 1.0, (1.0, 1.0), (sigma_q, sigma_v))
    return hmv, product_tail(1 - epsilon, dim, float(mean), (1.0, float(length)), (sigma_q, float(less_noise)))


# Where Theorem 2 holds --------------------------------------------------------------------------------------------


def critical_epsilon(
    w: Numbers, theta: Numbers, dim: Numbers, sigma_q: Numbers, sigma_v: Numbers, shared: Numbers = 0.0
) -> Numbers:
    """ε*: with Gaussian X, P(X_HMV < 1 - ε) < P(X_SVF < 1 - ε) if and only if ε < ε* = C / (1 - σ_SVF / σ_HMV).

    Infinite where σ_SVF ≥ σ_HMV. Above ε* Theorem 2 fails.

    >>> round(float(critical_epsilon(0.5, np.arccos(0.9), 64, 0.0, 0.2)), 4)
    0.1707
    """
    hmv, svf = spreads(w, theta, dim, sigma_q, sigma_v, shared)
    require(not np.any(hmv == 0), "sigma_q = sigma_v = 0: without noise there are no tails")
    less = 1 - svf / hmv
    with np.errstate(divide="ignore"):
        return np.where(less > 0, shortfall(w, theta) / np.where(less > 0, less, 1), np.inf)[()]


def safe_epsilon(theta: Numbers, share: Numbers, shared: Numbers = 0.0) -> Numbers:
    """A threshold up to which Theorem 2 holds for every w, noise and dimension with that `query_share`, X Gaussian.

    (1 - cos θ) / (α (1 - cos θ) + (1 - α) (1 - shared)), which `critical_epsilon` exceeds and reaches as w goes to 0.
    With shared = 0 it is at least min(1, 1 - cos θ), and 1 - cos θ is half the squared distance of the two centres. (For
    opposite centres and noise in the query only, ε* can be equal to it, and Theorem 2 holds below it.)

    >>> round(float(safe_epsilon(np.arccos(0.9), 0.0)), 6), round(float(safe_epsilon(np.arccos(0.9), 1.0)), 6)
    (0.1, 1.0)
    """
    theta, share, shared = _checked(theta=theta, share=share, shared=shared)
    apart = 2 * np.sin(theta / 2) ** 2
    below = share * apart + (1 - share) * (1 - shared)
    with np.errstate(divide="ignore"):
        return np.where(below > 0, apart / np.where(below > 0, below, 1), np.inf)[()]


def surely_holds(epsilon: Numbers, gap: Numbers, sigma_hmv: Numbers, sigma_svf: Numbers) -> Numbers:
    """Whether σ_HMV · σ_SVF ≤ ε (gap - ε) and 0 < ε < gap: then Theorem 2 holds for *any* two laws with these moments.

    `gap` is E[X_HMV] - E[X_SVF], C in the paper, and ε is counted from E[X_HMV]. By Cantelli's inequality, so that
    neither Gaussians nor independence are needed. No weaker condition on the moments is enough: where it fails with both
    spreads above 0, two laws on two points each have these moments and break the theorem.

    >>> bool(surely_holds(0.25, 0.5, 0.2, 0.2)), bool(surely_holds(0.25, 0.5, 0.3, 0.3))
    (True, False)
    """
    epsilon, sigma_hmv, sigma_svf = _checked(epsilon=epsilon, sigma_hmv=sigma_hmv, sigma_svf=sigma_svf)
    gap = np.asarray(gap, dtype=float)
    return ((epsilon < gap) & (sigma_hmv * sigma_svf <= epsilon * (gap - epsilon)))[()]


# Simulation -------------------------------------------------------------------------------------------------------


def simulate(
    rng: np.random.Generator,
    n: int,
    w: float,
    theta: float,
    dim: int,
    sigma_q: float,
    sigma_v: float,
    shared: float = 0.0,
    unit: str = "means",
) -> tuple[np.ndarray, np.ndarray]:
    """n draws of (X_HMV, X_SVF), two arrays of shape (n,). Both share the query and V_abs, so that they pair.

    `unit` says what has length 1: "means", only the two centres, as in the proofs; "vectors", also q, V_abs and V_query,
    each scaled after its noise, and V_fused is their mix as it comes; "index", V_fused is scaled as well.

    >>> hmv, svf = simulate(np.random.default_rng(0), 10_000, 0.5, np.pi / 3, 16, 0.1, 0.1)
    >>> round(float(hmv.mean()), 2), round(float(svf.mean()), 2)
    (1.0, 0.75)
    """
    _whole("n", n, 1)
    w, theta, sigma_q, sigma_v, shared = _checked(w=w, theta=theta, sigma_q=sigma_q, sigma_v=sigma_v, shared=shared)
    require(unit in UNITS, f"unit is {unit!r}: expected one of {', '.join(UNITS)}")
    first, second = centres(dim, theta)
    drawn, most = [], max(1, _BLOCK // dim)
    for start in range(0, n, most):
        q, v_abs, v_query = (rng.standard_normal((min(most, n - start), dim)) for _ in range(3))
        v_query = second + sigma_v * (shared * v_abs + np.sqrt(1 - shared**2) * v_query)
        q, v_abs = first + sigma_q * q, first + sigma_v * v_abs
        if unit != "means":
            q, v_abs, v_query = (_unit(x) for x in (q, v_abs, v_query))
        fused = (1 - w) * v_abs + w * v_query
        if unit == "index":
            fused = _unit(fused)
        drawn.append(np.stack([(q * v_abs).sum(1), (q * fused).sum(1)]))
    hmv, svf = np.concatenate(drawn, axis=1)
    return hmv, svf


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


_RANGES = {  # name: (whether it holds, what was expected)
    "w": (lambda x: (x > 0) & (x < 1), "between 0 and 1, both excluded"),
    "theta": (lambda x: (x > 0) & (x <= np.pi), "above 0 and at most pi, in radians (Hypothesis 1)"),
    "epsilon": (lambda x: x > 0, "above 0"),
    "dim": (lambda x: x >= 1, "1 or more"),
    "shared": (lambda x: abs(x) <= 1, "between -1 and 1"),
    "share": (lambda x: (x >= 0) & (x <= 1), "between 0 and 1"),
}


def _checked(**values) -> tuple:
    """The values as floats or arrays of them, each inside its range; what has no range of its own is 0 or more."""
    checked = []
    for name, value in values.items():
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} is {value!r}: expected a number or an array of them") from error
        holds, wanted = _RANGES.get(name, (lambda x: x >= 0, "0 or more"))
        wrong = ~(np.isfinite(array) & holds(array))
        if wrong.any():
            raise InputError(f"{name} is {array[wrong].flat[0]:g}: expected {wanted}")
        checked.append(array[()])
    return tuple(checked)


def _whole(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} is {value!r}: expected a whole number, {least} or more")
