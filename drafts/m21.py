import sys; sys.path.insert(0,"/work/main/build/mk")
from nb import Book
b=Book("21_submodular_signatures"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 21 · Submodular signatures

*A question wakes a pool of summaries, and five of them are to stand for all. Which five, and what does the theory that comes with the choice guarantee?*

Paper: MiA-Signature, sections 3.1.1 and 3.2.1, appendix A (Eq. 2, 3, 7 to 11, Algorithm 2, Propositions 1 and 2, Table 3).

**You will** run the algorithm by hand on five summaries; keep what is maximised apart from how; weigh every property that the paper claims for its objective on random pools; prove that without the diversity term nothing is left to be approximated; find out what the diversity term is, and what it does to the bound; bring submodularity back and see whether it retrieves better; and pick fifty of ten thousand summaries in hundredths of a second.

**You need** notebook [20](20_session_memory.ipynb), where the sessions and the map $\pi$ come from.

**It takes** about a minute on one core.
""")
code('''
scale = "small"  # "full": more instances, ten series; "gpu": the same, for your own encoder
seed = 0
encoder = "embedded"  # e_q, e_s and e_c of Eq. 7 to 9; or "hf:NAME"
''',"parameters")
code('''
from mindscape import results

results.begin("21_submodular_signatures", scale=scale, seed=seed, encoder=encoder)
''')
md(r"""
## 1 · Five summaries

A first retrieval has found chunks $c_1, \dots, c_M$ of ranks $r_i$; each has one summary, $\pi(c)$, and $\mathrm{Cov}(s) = \pi^{-1}(s)$ are the chunks of a summary $s$. With vectors $\mathbf e$ of length 1, weights $w_i = 1/(r_i + 1)$ and the match $m(s, c) = \max(0, \mathbf e_s \cdot \mathbf e_c)$,

$$f_Q(\mathcal A) = \sum_{s \in \mathcal A} \mathbf e_q \cdot \mathbf e_s \quad\text{(Eq. 7)}, \qquad f_C(\mathcal A) = \sum_i w_i \max_{s \in \mathcal A,\; c_i \in \mathrm{Cov}(s)} m(s, c_i) \quad\text{(Eq. 8)},$$

$$f_D(s \mid \mathcal A) = 1 - \max_{s' \in \mathcal A} \mathbf e_s \cdot \mathbf e_{s'}, \text{ and 1 for the first} \quad\text{(Eq. 9)}.$$

A summary's gain is $\lambda_Q \tilde q_s + \lambda_C \Delta\tilde f_C + \lambda_D f_D$ with $\lambda = (0.3, 0.4, 0.3)$ (Eq. 10), the first two divided by the largest that any summary has alone. Algorithm 2 takes the largest gain, $K$ times. In the plane, five summaries with a chunk each:
""")
code('''
import numpy as np
import pandas as pd

query = [0.8, 0.6]
summaries = [[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0], [-0.6, 0.8]]
chunks = [[0.8, 0.6], [-1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.6, -0.8]]
ranks = [1, 2, 3, 4, 5]
pi = [1, 2, 0, 3, 4]  # the summary of each chunk
members = [[c for c in range(5) if pi[c] == s] for s in range(5)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))
''')
code('''
def algorithm_2(query, summaries, chunks, ranks, members, K, weights=(0.3, 0.4, 0.3)):
    """Line by line: the picks, and the gains of each round."""
    pool, (lambda_q, lambda_c, lambda_d) = range(len(summaries)), weights
    w = [1 / (r + 1) for r in ranks]  # 2
    q = [dot(query, s) for s in summaries]  # 3
    m = [[max(0, dot(s, c)) for c in chunks] for s in summaries]
    cov = [sum(w[c] * m[s][c] for c in members[s]) for s in pool]  # 4
    q, Z = [x / max(q) for x in q], max(cov)  # 5
    picks, rounds, covered = [], [], [0] * len(chunks)  # 6
    for _ in range(K):  # 7
        gains = {}
        for s in pool:  # 9
            if s not in picks:
                new = sum(w[c] * m[s][c] * (1 - covered[c]) for c in members[s])  # 11
                near = max((dot(summaries[s], summaries[a]) for a in picks), default=0)  # 12
                gains[s] = lambda_q * q[s] + lambda_c * new / Z + lambda_d * (1 - near)  # 13
        best = max(gains, key=gains.get)  # 14 and 15: of equals the first
        picks, rounds = [*picks, best], [*rounds, gains]  # 19
        for c in members[best]:  # 20
            covered[c] = 1
    return picks, rounds
''')
code('''
picks, rounds = algorithm_2(query, summaries, chunks, ranks, members, 3)
told = [{s: f"{gain:.3f}" for s, gain in gains.items()} for gains in rounds]
print("picks:", picks)
table = pd.DataFrame(told, index=["first", "second", "third"]).T
table.fillna("picked").rename_axis("gain of summary")
''')
code('''
from mindscape.signature.objectives import Modular, assignment, signature_objective
from mindscape.signature.selection import evaluate, exhaustive, first_k, greedy, lazy_greedy

arrays = [np.array(of) for of in (query, summaries, chunks)]
objective = signature_objective(*arrays, assignment(pi, 5), ranks)
library = greedy(objective, 3)
print("the library:", library.picks, [round(gain, 3) for gain in library.gains])
by_hand = [of[pick] for of, pick in zip(rounds, picks, strict=True)]
print("pick by pick equal:", list(library.picks) == picks and np.allclose(library.gains, by_hand))
print("equal gains go to the lowest index:", greedy(Modular([0.5, 1.0, 1.0]), 2).picks, "(expected: (1, 2))")
''')
code('''
from mindscape import plots

plots.use()
fig, ax = plots.subplots(height=3.6)
turn = np.linspace(-0.25, 2.4, 200)
ax.plot(np.cos(turn), np.sin(turn), color=plots.PALE, marker="")
for i, (x, y) in enumerate(summaries):
    picked = i in picks
    look = {"color": plots.PALETTE["blue" if picked else "sky"], "marker": "o" if picked else "D"}
    ax.plot([x], [y], markersize=11, linestyle="", **look)
    label = f"summary {i}" + (f", pick {picks.index(i) + 1}" if picked else "")
    ax.text(1.1 * x - 0.02, 1.1 * y, label, fontsize=9, va="center")
ax.plot([0, 0.8], [0, 0.6], color=plots.PALETTE["red"], marker="")
ax.text(0.34, 0.2, "query", color=plots.PALETTE["red"], fontsize=9)
ax.set(xlabel="first coordinate", ylabel="second coordinate", xlim=(-1.1, 1.9), ylim=(-0.3, 1.25))
ax.set_aspect("equal")
told = ", ".join(map(str, picks))
alt = f"Five summaries and a query on the unit circle; picked in this order: {told}."
results.figure(fig, "five", alt, "Five summaries, three picks")
''')
md(r"""
Summary 2 is the second nearest to the query and is not picked: it nearly repeats the first pick, and its chunk does not match it at all.

**First-K** is said in three ways. Section 3.2.1: the first $K$ different summaries in the order of the chunks. Appendix A.1: the summaries of the first $K$ chunks, which may be fewer. The opening of appendix A, which lets relevance alone decide: the $K$ summaries most like the query. On one ranking of chunks:
""")
code('''
ranking = [1, 1, 3, 1, 4, 0]  # the summary of each chunk, best chunk first
print("first three different ones:", first_k(ranking, 3).picks)
print("of the first three chunks: ", first_k(ranking, 3, among_chunks=True).picks)
print("most like the query:       ", greedy(Modular(arrays[1] @ arrays[0]), 3).picks)
''')
md(r"""
The kit's First-K is the first of these: it asks no second encoder, as section 4.2 demands.

**Objective and optimiser.** An objective says what each summary would add to the picks so far; an optimiser knows nothing else. *Greedy* asks all that are left in every round. *Lazy greedy* asks again only where an old gain, which bounds the new one, is still the largest. *Exhaustive* tries all sets, or all orders where the order counts.
""")
code('''
for name, found in (
    ("greedy", greedy(objective, 3)),
    ("lazy greedy", lazy_greedy(objective, 3)),
    ("exhaustive", exhaustive(objective, 3)),
):
    print(f"{name:12} {found.picks}  value {found.value:.3f}, {found.evaluations} gains asked for")
''')
md(r"""
Exhaustive search finds more than greedy with the *same* three, in another order: the last term counts a summary against those before it. More on that in section 4.

## 2 · What the paper claims of its objective

Proposition 1: $f_Q$ is modular (a sum over the picks), hence submodular and monotone. Proposition 2: $f_C$ is monotone and submodular: what a summary adds falls, or stays, as others are picked. So greedy on $f_Q + f_C$ has at least $1 - 1/e \approx 0.632$ of the optimum (Eq. 11). $f_D$ is excused: "not monotone", a tie-breaker.

Weighed on random pools of four summaries and ten chunks. For every order in which the four can be picked: is the sum of gains a function of the *set*? Are no gains negative (monotone)? Do gains only shrink (submodular)? Do they stay the same (modular)?
""")
code('''
from itertools import permutations


def properties(objective, eps=1e-9):
    """Four truths on an objective, checked for every order of all of its picks."""
    value, a_set, monotone, shrinks, constant = {}, True, True, True, True
    for order in permutations(range(objective.n)):
        state, total = objective.start(), 0.0
        gains = objective.gains(state)
        for i, pick in enumerate(order):
            total += gains[pick]
            seen = frozenset(order[: i + 1])
            a_set &= abs(value.setdefault(seen, total) - total) < eps
            monotone &= gains[pick] > -eps
            state, left = objective.add(state, pick), list(order[i + 1 :])
            now = objective.gains(state)
            shrinks &= (now[left] < gains[left] + eps).all()
            constant &= (abs(now[left] - gains[left]) < eps).all()
            gains = now
    return a_set, monotone, shrinks, constant
''')
code('''
from scipy.sparse import csr_array

from mindscape.signature.objectives import (
    Diversity,
    FacilityLocation,
    MarkedCoverage,
    coverage,
    relevance,
    windows,
)


def instance(rng, n, m, dim=4, positive=False):
    """A query, summaries and chunks of length 1, and ranks."""
    vectors = rng.normal(size=(1 + n + m, dim))
    vectors = np.abs(vectors) if positive else vectors
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors[0], vectors[1 : n + 1], vectors[n + 1 :], rng.permutation(m) + 1


def covers(rng, n, m, s, c):
    """Which summaries stand for a chunk: by pi, overlapping windows, the two nearest, all."""
    step = m // (n + 1)
    return {
        "pi": assignment(rng.integers(0, n, m), n),
        "windows": windows(m, 2 * step, step),
        "nearest": assignment(np.argsort(-(c @ s.T), axis=1)[:, :2], n),
        "all": csr_array(np.ones((n, m))),
    }
''')
code('''
TRIALS = {"small": 500}.get(scale, 3000)
rng = np.random.default_rng(seed)
counted = {}
for _ in range(TRIALS):
    for sign in ("any", "none below 0"):
        q, s, c, r = instance(rng, 4, 10, positive=sign != "any")
        of = {name: coverage(s, c, cover, r) for name, cover in covers(rng, 4, 10, s, c).items()}
        terms = {
            "f_Q": Modular(relevance(q, s)),
            "f_C, each chunk one summary": FacilityLocation(of["pi"]),
            "f_C, overlapping windows": FacilityLocation(of["windows"]),
            "line 20, overlapping windows": MarkedCoverage(of["windows"]),
            "f_D": Diversity(s),
        }
        for name, term in terms.items():
            counted.setdefault((name, sign), []).append(properties(term))
''')
code('''
columns = ["a function of the set", "monotone", "gains shrink", "gains stay"]
keys = ("a_set", "monotone", "shrinks", "stays")
rows = {}
for (name, sign), flags in counted.items():
    shares = np.mean(flags, axis=0)
    rows[f"{name}; cosines {sign}"] = [f"{share:.0%}" for share in shares]
    short = name.replace("f_C, each chunk one summary", "f_C.pi").replace(", overlapping windows", ".windows")
    for key, share in zip(keys, shares, strict=True):
        where = "any" if sign == "any" else "positive"
        results.record(f"theory.{short.replace(' ', '_')}.{where}.{key}", share, n=len(flags))
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("term")
''')
md(r"""
Three things stand out. $f_Q$ is modular always and monotone only where no cosine is below zero. $f_C$ with the paper's $\pi$ is not only submodular: its gains never move at all. And $f_D$ is not a function of the set.

## 3 · Nothing to approximate

**Proposition.** *Let $\pi$ send each chunk to exactly one summary. Then $f_C$ is modular: $f_C(\mathcal A) = \sum_{s \in \mathcal A} \mathrm{cov}_s$ with $\mathrm{cov}_s = \sum_{c_i \in \pi^{-1}(s)} w_i\, m(s, c_i)$.*

**Proof.** Fix $c_i$. Among all summaries only $\pi(c_i)$ has $c_i \in \mathrm{Cov}(s)$. So the maximum in Eq. 8 runs over one summary or none: it is $m(\pi(c_i), c_i)$ if $\pi(c_i) \in \mathcal A$, and 0 if not. Summed over $i$ and put in order by $\pi(c_i)$ that is the claim. ∎

**Corollary.** *Greedy on $f_{QC} = \lambda_Q \tilde f_Q + \lambda_C \tilde f_C$ is exactly optimal among sets of $K$; it sorts.* For $f_{QC}$ is a sum of single values $v_s = \lambda_Q \tilde q_s + \lambda_C \widetilde{\mathrm{cov}}_s$; exchanging a pick for one of smaller value cannot gain. The factor $1 - \mathrm{covered}(c)$ in line 11 is 1 whenever it is asked: a chunk of $s$ is covered only once $s$ is picked. The ratio in Eq. 11 is 1 (where the optimum is above 0), and 0.632 is never in play. ∎

So the factor $1 - \mathrm{covered}(c)$ of line 11 can be left out, and line 20 with it; what line 11 adds is line 5's $\widetilde{\mathrm{cov}}_s$. And $f_{QC}$ takes a sort, $\mathcal O(M + N\log N)$, in place of $\mathcal O(KNM)$. How near does greedy come to the optimum under each cover? Pools of seven, three picks; with $\pi$ for $f_Q + f_C$, under the other covers for $f_C$ alone; for line 20 the set that it picks, valued by Eq. 8:
""")
code('''
POOLS, N, K = {"small": 2000}.get(scale, 10_000), 7, 3
rng = np.random.default_rng(seed + 1)
ratios, sorts = {}, []
for trial in range(POOLS):
    q, s, c, r = instance(rng, N, 16, positive=trial % 2 == 0)
    for name, cover in covers(rng, N, 16, s, c).items():
        if name == "pi":
            objective = signature_objective(q, s, c, cover, r, weights=(0.3, 0.4, 0))
            by_value = np.argsort(-objective.gains(objective.start()), kind="stable")[:K]
            sorts.append(greedy(objective, K).picks == tuple(by_value.tolist()))
        else:
            objective = FacilityLocation(coverage(s, c, cover, r))
        best = exhaustive(objective, K).value
        ratios.setdefault(name, []).append((greedy(objective, K).value, best))
        if name == "windows":
            marked = greedy(MarkedCoverage(objective.matrix), K).picks
            ratios.setdefault("line 20", []).append((evaluate(objective, marked).value, best))
results.record("signature.greedy_is_a_sort", np.mean(sorts), n=len(sorts))
print(f"{len(sorts)} pools; with pi, greedy picks what a sort picks in {np.mean(sorts):.0%}")
''')
code('''
ratios = {name: np.array(of) for name, of in ratios.items()}
equal = np.isclose(ratios["pi"][:, 0], ratios["pi"][:, 1], rtol=0, atol=1e-12)
results.record("signature.greedy_equals_optimum_fraction", equal.mean(), n=len(equal))
rows = {}
for name, of in ratios.items():
    share = of[of[:, 1] > 0]
    share = share[:, 0] / share[:, 1]
    optimal = (share > 1 - 1e-9).mean()
    results.record(f"ratio.{name.replace(' ', '_')}.worst", share.min(), n=len(share))
    results.record(f"ratio.{name.replace(' ', '_')}.optimal", optimal, n=len(share))
    rows[name] = [len(share), f"{optimal:.1%}", f"{share.mean():.4f}", f"{share.min():.3f}"]
print(f"f_Q + f_C with pi: greedy is optimal in {equal.mean():.0%} of {len(equal)} (expected: 100%)")
columns = ["pools with an optimum above 0", "greedy is optimal", "mean ratio", "worst ratio"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md(r"""
True coverage, where a chunk may be covered by several, loses something to greed: seldom much, and far less than the bound allows. The bound is no less true: it is reached by pools that are made for it (in the form $1 - (1 - 1/K)^K$, which falls to $1 - 1/e$ as $K$ grows). There are $k = K$ rows of chunks, each row worth 1. Of each row, summary $t$ holds a $k$-th of what the summaries before it left; $k$ others hold a whole row each:
""")
code('''
def worst_case(k):
    """2k summaries: greedy takes the first k, by a billionth each; the last k are optimal."""
    heights = [(1 - 1 / k) ** t / k for t in range(k)] + [(1 - 1 / k) ** k]
    matrix = np.zeros((2 * k, k, k + 1))
    for t in range(k):
        matrix[t, :, t] = heights[t] * (1 + 1e-9)
        matrix[k + t, t] = heights
    return FacilityLocation(matrix.reshape(2 * k, -1))


reached = {}
for k in (2, 3, 5, 8, 12):
    trap = worst_case(k)
    reached[k] = greedy(trap, k).value / evaluate(trap, range(k, 2 * k)).value
    bound = 1 - (1 - 1 / k) ** k
    print(f"K = {k:2}: greedy has {reached[k]:.3f} of the optimum; the bound is {bound:.3f}")
''')
code('''
fig, ax = plots.subplots(height=3)
bound, told = 1 - np.exp(-1), []
for name, colour in zip(ratios, plots.PALETTE, strict=False):
    of = ratios[name][ratios[name][:, 1] > 0]
    share = np.sort(of[:, 0] / of[:, 1])
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour], "markevery": 0.1}
    ax.plot(share, np.arange(1, len(share) + 1) / len(share), label=name, markersize=5, **look)
    told.append(f"{name} {share.min():.2f}")
ax.plot(list(reached.values()), [0] * len(reached), "k*", clip_on=False, label="made for it")
ax.axvline(bound, color=plots.GREY, linewidth=1)
ax.text(bound + 0.003, 0.6, "1 − 1/e", fontsize=9)
ax.set(xlabel="greedy's share of the optimum", ylabel="share of pools", ylim=(0, 1.1))
ax.set_yscale("symlog", linthresh=0.01)
fig.legend(loc="outside right upper", fontsize=8)
alt = f"Distribution of greedy over optimum by cover; the worst: {', '.join(told)}. Bound 0.632."
results.figure(fig, "ratios", alt, "How much greed costs")
''')
md(r"""
With $\pi$ there is nothing to lose. Where chunks have several summaries greed finds the optimum in 72 to 89 % of these pools and never less than 0.84 of it; the pools on the bound had to be built. Line 20, under the same overlapping windows and valued by the same Eq. 8, is optimal in 76 % in place of 89 %, and at worst has 0.69.
""")
# The numbers are those of 2,000 pools, seed 0 (run once in full); check them against the stored table.
md(r"""
## 4 · Reading critically: three terms

**Cosines below zero.** Proposition 1 calls $f_Q$ monotone because it is modular. It is, where no cosine is negative: picking a summary with $\mathbf e_q \cdot \mathbf e_s < 0$ lowers the sum, and line 7 picks until $K$ whatever the gain.
""")
code('''
e_q, e_s = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [-0.8, 0.6]])
only_relevance = Modular(relevance(e_q, e_s))
two, best = greedy(only_relevance, 2), exhaustive(only_relevance, 2, smaller=True)
print(f"greedy: {two.picks}, value {two.value:.1f}; at most two: {best.picks}, value {best.value:.1f}")
print(f"share of the optimum: {two.value / best.value:.2f}, the bound: 0.63")
far, near = np.array([[-0.6, 0.8], [-1.0, 0.0]]), np.array([[0.0, 1.0], [-1.0, 0.0]])
picked, _ = algorithm_2(e_q, far, near, [1, 2], [[0], [1]], 1, (1, 0, 0))
ours = signature_objective(e_q, far, near, assignment([0, 1], 2), [1, 2], (1, 0, 0))
print(f"all cosines negative: line 5 picks the farther one, {picked};", end=" ")
print(f"the library keeps the order, {greedy(ours, 1).picks}")
''')
md(r"""
With the constraint $|\mathcal A| \le K$ of Eq. 2 and 3 the best set may have fewer than $K$; Algorithm 2 always takes $K$ (or all), and against such a set not even modularity saves the bound. Against the best set of exactly $K$, as Eq. 11 has it, greedy is optimal, though the inequality as written fails where that optimum is negative. And where *all* cosines are negative, line 5 divides by a negative number and turns the order around; the library divides by the largest absolute value instead. (Vectors of sentence encoders rarely get there: counted below.)

**Line 20 and Eq. 8.** Line 20 calls a chunk covered as soon as a pick has it, whatever its match; Eq. 8 keeps the best match.

**Proposition.** *For picks $s_1, s_2, \dots$ in this order, Eq. 8 is worth $\sum_i w_i \max_t m(s_t, c_i)$ over the picks that have $c_i$, line 20 $\sum_i w_i\, m(s_{t(i)}, c_i)$ with $t(i)$ the first pick that has it. So line 20 never counts more, and the same exactly where no later pick matches a chunk better than the first that has it. Under $\pi$ there is no later one, and they agree.* The gains in line 11 add up chunk by chunk, each at its first pick; the rest is the definition. ∎
""")
code('''
matrix = np.array([[0.125, 1.0], [0.875, 0.0]])  # summaries by chunks: w times m
for order in ([0, 1], [1, 0]):
    eight, twenty = (evaluate(kind(matrix), order).gains for kind in (FacilityLocation, MarkedCoverage))
    print(f"picked {order}: by Eq. 8 {eight}, by line 20 {twenty}")
k = 5
one_for_all = np.vstack([np.full(k, 1 / k), np.zeros((k - 1, k)), np.eye(k)])
best = exhaustive(FacilityLocation(one_for_all), k).value
for name, kind in (("Eq. 8", FacilityLocation), ("line 20", MarkedCoverage)):
    picks = greedy(kind(one_for_all), k).picks
    value = evaluate(FacilityLocation(one_for_all), picks).value
    print(f"one has all chunks, weakly; greedy by {name}: {picks}, {value / best:.2f} of the optimum")
''')
md(r"""
Where chunks have several summaries, line 20 can end with a $K$-th of the optimum of $f_C$, so no constant bound holds for it. (Never with less: its first pick is the best single summary, and $K$ summaries are worth at most $K$ times that.) The paper's windows do not overlap, so nothing went wrong; whoever takes the algorithm to an *overcomplete* memory, which section 1 of the paper has in mind, must take Eq. 8 and leave line 20.

**What is $f_D$?** The paper calls it not monotone: a similar summary can lower its value. But Eq. 9 is a gain, $1 - \cos \ge 0$, and gains are added up: the sum never falls. What is missing is something else.

**Proposition.** *There are pools without any set function $F$ such that $F(\mathcal A \cup \{s\}) - F(\mathcal A) = f_D(s \mid \mathcal A)$ for all $\mathcal A$ and $s$.* If there were one, the gains along two orders of the same set would add up to the same. Take directions at 0°, 30° and 90°: in this order $1 + (1 - \cos 30°) + (1 - \cos 60°)$; with the middle one last $1 + (1 - \cos 90°) + (1 - \cos 30°)$. They differ by $\cos 60° = 1/2$. ∎
""")
code('''
angles = np.radians([0, 30, 90])
diversity = Diversity(np.column_stack([np.cos(angles), np.sin(angles)]))
for order in ((0, 1, 2), (0, 2, 1)):
    print(f"{order}: {evaluate(diversity, order).value:.3f}")
''')
md(r"""
So Eq. 3 with the $\mathcal F$ behind Eq. 10 asks for the maximum of something that is not defined; Algorithm 2 is a rule, and a sensible one, not an approximation of an optimum.

**And the bound?** "Still holds for the $f_Q + f_C$ sub-objective": for the set that greedy finds with $\lambda_D = 0$. Algorithm 2 runs with $\lambda_D = 0.3$ and returns another set. How bad can *that* set be? A summary $s_0$ equal to the query, four that nearly repeat it, four that have nothing to do with anything:
""")
code('''
axis = np.eye(7)
close = np.array([0.999, 0, 0, 0, 0, 0, np.sqrt(1 - 0.999**2)])
pool = np.vstack([axis[0], *[close] * 4, *axis[1:5]])
weak = [0.02 * axis[i] + np.sqrt(1 - 0.02**2) * axis[5] for i in range(1, 5)]
unlike = [axis[5]] * 4  # chunks that do not match their summary at all
found = np.vstack([axis[0], *weak, *unlike])  # weak: a chunk of each stranger, which hardly matches it
given = axis[0], pool, found, assignment([0, 5, 6, 7, 8, 1, 2, 3, 4], 9), range(1, 10)
whole, without = signature_objective(*given), signature_objective(*given, weights=(0.3, 0.4, 0))
picks, best = greedy(whole, 5).picks, exhaustive(without, 5)
value = evaluate(without, picks).value
results.record("bound.of_algorithm_2", value / best.value)
print(f"Algorithm 2 picks {picks}; by f_Q + f_C {value:.3f}")
print(f"the optimum of f_Q + f_C: {best.picks}, {best.value:.3f}")
least = (pool @ pool.T).min()
print(f"share {value / best.value:.2f}, below 0.632; the least cosine in the pool: {least:.1f}")
''')
md(r"""
Well under two thirds, with no cosine below zero. (The picks are arguably the better signature. But it is not the bound that says so.) The bound is about a set that the algorithm does not return, and that set needs no bound: it is optimal.

**A tie-breaker?** On real pools: how often does the diversity term change the picks, and how much of the best $f_Q + f_C$ do Algorithm 2's picks keep? Questions on two series of the storyworld, fifty chunks, five picks, all three terms by the sentence encoder:
""")
code('''
from transformers import AutoTokenizer

from mindscape import assets, encoders
from mindscape.signature.evaluation import collections, share
from mindscape.signature.rag import Shelf

COUNT, EACH = {"small": (2, 30)}.get(scale, (10, 60))
sentence_encoder = encoders.load(encoder)
tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
towns = collections("storyworld", tokenizer, "test", COUNT)
shelves = [Shelf(it.memory, sentence_encoder) for it in towns]
asked = [share(it.questions, EACH) for it in towns]
woken = [shelf.wake([one.text for one in some]) for shelf, some in zip(shelves, asked, strict=True)]
every = [
    (shelf, one, it)
    for shelf, *rest in zip(shelves, asked, woken, strict=True)
    for one, it in zip(*rest, strict=True)
]
of_book = [one.doc_id for _, one, _ in every]
sizes = [len(it.items) for _, _, it in every]
print(f"{len(every)} questions on {len(set(of_book))} books; {np.mean(sizes):.0f} summaries woken")
''')
code('''
from mindscape.metrics import bootstrap, paired_bootstrap

lines = []
for shelf, _, it in every:
    whole, without = shelf.objective(it), shelf.objective(it, (0.3, 0.4, 0))
    picks, plain = greedy(whole, 5).picks, greedy(without, 5)
    sort = np.argsort(-without.gains(without.start()), kind="stable")[:5]
    lines.append(
        {
            "negative": (whole.parts[0].values < 0).mean(),
            "same_set": set(picks) == set(plain.picks),
            "exchanged": len(set(picks) - set(plain.picks)),
            "share": evaluate(without, picks).value / plain.value,
            "first_k": len(set(picks) - set(range(5))),
            "sorted": plain.picks == tuple(sort.tolist()),
        }
    )
in_pools = pd.DataFrame(lines)
for name in ("negative", "same_set", "exchanged", "share", "first_k"):
    of = bootstrap(in_pools[name].astype(float), groups=of_book, seed=seed)
    results.record(f"pools.{name}", of, varies="rounding" if name == "share" else None)
''')
code('''
print(f"cosines of summary and query below zero: {in_pools.negative.mean():.2%}")
print(f"greedy on f_Q + f_C is a sort: {in_pools.sorted.mean():.0%} (expected: 100%)")
print(f"diversity leaves the five as they are in {in_pools.same_set.mean():.0%} of the pools;")
print(f"   it exchanges {in_pools.exchanged.mean():.2f} of five on average")
results.record("pools.share.worst", in_pools.share.min(), n=len(in_pools), varies="rounding")
mean, least = in_pools.share.mean(), in_pools.share.min()
print(f"of the best f_Q + f_C it keeps {mean:.3f}, at least {least:.3f}")
print(f"of Algorithm 2's five, {in_pools.first_k.mean():.2f} are not First-K's")
''')
md(r"""
A tie-breaker, as the paper says, among summaries that are nearly as good, and often called upon: in two pools of five it changes the set, mostly by one summary, at a cost of 0.3 % of $f_Q + f_C$ in the mean and 3 % at worst. One cosine in some 2,900 is below zero in these pools: what was said of them above hardly touches this encoder. And it is another signature than First-K's, by 1.4 of five.
""")
md(r"""
## 5 · Where submodularity returns, and whether it helps

A chunk must be able to count for several summaries. *Overlapping windows* do that (a new one every ten chunks, notebook 20), and so does *soft coverage* with the same windows: a chunk counts for the three summaries of the pool that match it best, or for all (facility location). For each, five summaries by greedy on Eq. 10 with Eq. 8 as it stands; then the signature steers the second pass of notebook 22 (here by the encoder alone, $\alpha = 0.5$). Beside them line 20 on the overlapping windows, First-K, five by lot, and the question without a signature.
""")
code('''
from mindscape.corpora import storyworld
from mindscape.metrics import recall_fraction_at_k
from mindscape.signature import evaluation
from mindscape.signature.memory import build, gold, merged
from mindscape.text import split_sentences


def overlapping(number):
    """A town's memory with a window every ten chunks."""
    built = []
    for book in storyworld.series(number, evaluation.BOOKS, evaluation.TOKENS).books:
        cut = split_sentences(book.document, tokenizer, evaluation.SIZE)
        built.append(build(book.document, cut, gold(book), stride=10))
    return merged(built)


numbers = evaluation.SEEDS["test"][:COUNT]
wide = [Shelf(overlapping(number), sentence_encoder) for number in numbers]
print(f"{len(wide[0].memory.items)} windows that overlap, {len(shelves[0].memory.items)} that do not")
''')
code('''
texts = [one.text for _, one, _ in every]
e_q = dict(zip(texts, sentence_encoder.encode(texts, "query"), strict=True))
e_s = [sentence_encoder.encode(shelf.memory.summaries) for shelf in shelves]
e_c = [sentence_encoder.encode(shelf.memory.texts) for shelf in shelves]
wide_woken = {}
for shelf, some in zip(wide, asked, strict=True):
    wide_woken |= {it.question: it for it in shelf.wake([one.text for one in some])}
''')
code('''
def soft(town, it, nearest):
    """Eq. 10 over the woken pool; a chunk counts for its `nearest` best summaries, or for all."""
    items, chunk = list(it.items), list(it.chunks)
    order = np.argsort(-(e_c[town][chunk] @ e_s[town][items].T), axis=1, kind="stable")
    cover = assignment(order[:, : nearest or None], len(items))
    vectors = e_q[it.question], e_s[town][items], e_c[town][chunk]
    return signature_objective(*vectors, cover, range(1, len(chunk) + 1))


def signature_of(way, town, it):
    """The memory whose items are picked, and the items."""
    if way in ("three nearest", "all"):
        picks = greedy(soft(town, it, 3 if way == "three nearest" else 0), 5).picks
        return shelves[town].memory, [it.items[pick] for pick in picks]
    if way in ("windows", "line 20"):
        again = wide_woken[it.question]
        picks = greedy(wide[town].objective(again, marked=way == "line 20"), 5).picks
        return wide[town].memory, [again.items[pick] for pick in picks]
    way = "coverage" if way == "pi" else way
    return shelves[town].memory, list(shelves[town].choose(it, way, 5, seed=seed))
''')
code('''
WAYS = ("pi", "windows", "three nearest", "all", "line 20", "first_k", "random")
recall, inside, chosen = {}, {}, {}
for way in WAYS:
    for town, (shelf, some) in enumerate(zip(shelves, asked, strict=True)):
        picked = [signature_of(way, town, it) for it in woken[town]]
        told = [tuple(memory.summaries[item] for item in items) for memory, items in picked]
        rows = shelf.search([one.text for one in some], told, 10)
        for one, row, (memory, items) in zip(some, rows, picked, strict=True):
            recall.setdefault(way, []).append(recall_fraction_at_k(row, one.evidence, 10))
            held = memory.cover[items].sum(0) > 0
            inside.setdefault(way, []).append(held[list(one.evidence)].mean())
            chosen.setdefault(way, []).append(frozenset(items))
for shelf, some in zip(shelves, asked, strict=True):
    for one, row in zip(some, shelf.search([one.text for one in some], None, 10), strict=True):
        recall.setdefault("query", []).append(recall_fraction_at_k(row, one.evidence, 10))
''')
code('''
rows, less = {}, {}
for way, values in recall.items():
    key = way.replace(" ", "_")
    of = bootstrap(values, groups=of_book, seed=seed)
    results.record(f"cover.{key}.recall@10", of)
    rows[way] = [str(of)]
    less[way] = paired_bootstrap(values, recall["pi"], groups=of_book, seed=seed)
    if way != "pi":
        results.record(f"cover.{key}_minus_pi.recall@10", less[way])
    rows[way].append("" if way == "pi" else str(less[way]))
    if way == "query":
        rows[way] += ["", ""]
    else:
        there = bootstrap(inside[way], groups=of_book, seed=seed)
        results.record(f"cover.{key}.evidence", there)
        same = np.mean([a == b for a, b in zip(chosen[way], chosen["pi"], strict=True)])
        rows[way] += [str(there), f"{same:.0%}" if way not in ("windows", "line 20") else "–"]
twins = zip(chosen["line 20"], chosen["windows"], strict=True)
agree = results.record("cover.line_20.same_as_eq_8", np.mean([a == b for a, b in twins]), n=len(every))
print(f"line 20 picks the same five windows as Eq. 8 in {agree:.0%} of the pools")
columns = ["recall@10", "less pi", "evidence in a session", "the same five as pi"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
fig, ax = plots.subplots(height=2.8)
labels = [way for way in less if way != "pi"]
edges = [[getattr(less[way], edge) for way in labels] for edge in ("value", "low", "high")]
colours = ["blue", "sky", "green", "red", "orange", "purple", "yellow"]
plots.dots(ax, labels, *edges, colours, zero=True)
ax.set(xlabel="recall@10 less that of the paper's cover")
told = "; ".join(f"{way} {less[way].value:+.3f}" for way in labels)
alt = f"Recall at 10 of the second pass by cover, less that with pi, with intervals: {told}."
results.figure(fig, "covers", alt, "Does true coverage retrieve better?")
''')
md(r"""
True coverage picks other summaries, the same five in 2 % of the pools, and retrieves as well: +0.01 for each of them, for soft covers not beyond chance, for overlapping windows 0.007 [0.002, 0.010], on four books. Line 20 picks what Eq. 8 picks in 98 %: on sessions of a text the trap of section 4 is rare.

Whether it matters to *this* retriever which sessions it is told, four books cannot tell: coverage less First-K is 0.01, and even five by lot, which hold 0.18 of the evidence in place of 0.62, are 0.04 behind, neither beyond chance. The last row hints at why: **without any signature it finds more**, by 0.07 [0.03, 0.11]. The mean of five summaries may blur the question for an encoder that was never taught to read one in the light of the other. Notebook [22](22_signature_rag.ipynb) asks one that was.
""")
md(r"""
## 6 · Ten thousand summaries

A memory far larger than the paper's: $N = 10{,}000$ summaries, $M = 50{,}000$ chunks, $K = 50$, each chunk with four summaries. What counts is how many gains are asked for, and what one costs. First the whole objective of Eq. 10, with $\pi$ and with overlap:
""")
code('''
BIG_N, BIG_M, BIG_K, DIM = 10_000, 50_000, 50, 64


def large(each, of=0):
    """A cover of BIG_N x BIG_M with `each` summaries a chunk."""
    rng = np.random.default_rng([seed, of])
    steps = rng.integers(1, BIG_N // (2 * each), (BIG_M, each)).cumsum(axis=1)
    return assignment((rng.integers(0, BIG_N, (BIG_M, 1)) + steps) % BIG_N, BIG_N)


rng = np.random.default_rng(seed)
vectors = rng.normal(size=(1 + BIG_N + BIG_M, DIM))
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
parts = vectors[0], vectors[1 : BIG_N + 1], vectors[BIG_N + 1 :]
pools = {each: signature_objective(*parts, large(each), range(1, BIG_M + 1)) for each in (1, 4)}
for each, pool in pools.items():
    one, other = greedy(pool, BIG_K), lazy_greedy(pool, BIG_K)
    results.record(f"large.each_{each}.greedy.evaluations", one.evaluations)
    results.record(f"large.each_{each}.lazy.evaluations", other.evaluations)
    print(f"{each} a chunk: greedy {one.evaluations:,} gains, lazy {other.evaluations:,};", end=" ")
    print(f"same picks: {one.picks == other.picks}")
''')
varies('''
import time


def fastest(call, times=3):
    """Processor seconds of the fastest of some calls, and what it returned."""
    seconds = []
    for _ in range(times):
        begun = time.process_time()
        found = call()
        seconds.append(time.process_time() - begun)
    return min(seconds), found


for each, pool in pools.items():
    for name, select in (("greedy", greedy), ("lazy", lazy_greedy)):
        seconds, _ = fastest(lambda select=select, pool=pool: select(pool, BIG_K))
        results.record(f"large.each_{each}.{name}.seconds", seconds, varies="processor time")
        print(f"Eq. 10, {each} a chunk, {name:6} {1000 * seconds:6.0f} ms")
''')
md(r"""
**Against what?** Two textbook versions in plain Python, of the same $f_C$ (Eq. 8, four windows a chunk): greedy that recomputes every gain, and lazy greedy with a heap.
""")
code('''
import heapq


def gain_of(row, best):
    return sum(value - best[c] for c, value in row if value > best[c])


def textbook(rows, m, k, lazy):
    """Picks and the number of gains asked for; `rows`: (chunk, value) pairs of each summary."""
    best, picks, asked, heap = [0.0] * m, [], len(rows), []
    if lazy:
        heap = [(-gain_of(row, best), i, 0) for i, row in enumerate(rows)]
        heapq.heapify(heap)
    while len(picks) < k:
        if lazy:
            bound, pick, when = heapq.heappop(heap)
            if when < len(picks):
                heapq.heappush(heap, (-gain_of(rows[pick], best), pick, len(picks)))
                asked += 1
                continue
        else:
            left = [i for i in range(len(rows)) if i not in picks]
            pick = max(left, key=lambda i: gain_of(rows[i], best))
            asked += len(left) if picks else 0
        picks.append(pick)
        for c, value in rows[pick]:
            best[c] = max(best[c], value)
    return tuple(picks), asked
''')
varies('''
matrix = coverage(parts[1], parts[2], large(4), range(1, BIG_M + 1))
ends = zip(matrix.indptr, matrix.indptr[1:], strict=False)
rows = [list(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True)) for a, b in ends]
location, seconds = FacilityLocation(matrix), {}
for name, select in (("greedy", greedy), ("lazy greedy", lazy_greedy)):
    seconds[name], found = fastest(lambda select=select: select(location, BIG_K))
    lazy = name != "greedy"
    plain, (picks, _) = fastest(lambda lazy=lazy: textbook(rows, BIG_M, BIG_K, lazy), 1 if not lazy else 3)
    seconds[f"textbook {name}"] = plain
    print(f"{name:12} {found.evaluations:,} gains, ours {1000 * seconds[name]:.1f} ms,", end=" ")
    print(f"textbook {1000 * plain:.1f} ms, same picks: {found.picks == picks}")
for name in ("greedy", "lazy greedy"):
    times = seconds[f"textbook {name}"] / seconds["lazy greedy"]
    results.record(f"signature.speedup_vs_textbook_{name.split()[0]}", times, varies="processor time")
''')
md(r"""
**apricot and submodlib** are the libraries for this. They are no requirement of the kit (an extra: `requirements-peers.txt`), so they are asked where they are installed and not missed where they are not. What both can count, and we too, is maximum coverage, each chunk worth 1. Each question brings a pool of its own, so the time that counts is that from the sparse matrix to the picks, with what has to be built in between (submodlib wants Python sets); the choice alone stands beside it. apricot compiles its loops anew at every fit; here they are kept from the first.
""")
varies('''
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from scipy.sparse import csr_matrix

unit = large(4, of=1)
alone, whole, worth = {}, {}, {}


def compare(name, build, select, times=3):
    """Seconds of the choice alone, and with what is built for it from the matrix; chunks covered."""
    built, ready = fastest(build, times)
    alone[name], worth[name] = fastest(lambda: select(ready), times)
    whole[name] = built + alone[name]


for how in (greedy, lazy_greedy):
    name = f"ours, {how.__name__}"
    compare(name, lambda: FacilityLocation(unit), lambda of, how=how: how(of, BIG_K).value)
''')
varies('''
if find_spec("apricot"):
    inside = import_module("apricot.functions.maxCoverage")
    for name in ("calculate_gains_sparse", "calculate_gains_sieve_sparse"):
        setattr(inside, name, cache(getattr(inside, name)))  # compiled once, not at every fit
    as_matrix = csr_matrix((unit.data, unit.indices, unit.indptr), shape=unit.shape)
    for how in ("naive", "lazy"):
        fit = inside.MaxCoverageSelection(BIG_K, optimizer=how).fit
        compare(f"apricot, {how}", lambda: as_matrix, lambda of, fit=fit: sum(fit(of).gains))
if find_spec("submodlib"):
    of_sets = import_module("submodlib").SetCoverFunction
    bounds = [*zip(unit.indptr, unit.indptr[1:], strict=False)]
    for how in ("NaiveGreedy", "LazyGreedy"):
        ask = {"optimizer": how, "show_progress": False}
        compare(
            f"submodlib, {how}",
            lambda: of_sets(BIG_N, [set(unit.indices[a:b].tolist()) for a, b in bounds], BIG_M),
            lambda of, ask=ask: sum(gain for _, gain in of.maximize(BIG_K, **ask)),
        )
''')
varies('''
peers = [name for name in alone if not name.startswith("ours")]
if peers:
    peer, times = min(peers, key=whole.get), min(alone[name] for name in peers)
    chosen_in = times / alone["ours, lazy_greedy"]
    times = whole[peer] / whole["ours, lazy_greedy"]
else:  # then the faster of both textbook versions stands in, on the objective of the cell before
    peer = min((name for name in seconds if name.startswith("textbook")), key=seconds.get)
    times = chosen_in = seconds[peer] / seconds["lazy greedy"]
VARIES = "processor time; which peers are installed"
results.record("signature.peer", peer if peers else f"no peer installed: {peer}", varies=VARIES)
results.record("signature.speedup_vs_best_peer", times, varies=VARIES)
results.record("signature.speedup_vs_best_peer.choice_alone", chosen_in, varies=VARIES)
here = "" if peers else " (no peer library is installed here)"
print(f"ours, lazy, against {peer}{here}: {times:.1f} times as fast;", end=" ")
print(f"the choice alone, against the fastest: {chosen_in:.1f}")
columns = ["from the matrix, ms", "choice alone, ms", "chunks covered"]
rows = {name: [1000 * whole[name], 1000 * alone[name], worth[name]] for name in alone}
pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(1)
''')
md(r"""
From the matrix to the picks ours is more than ten times as fast as the faster of the two libraries. **The choice alone is not**: once its sets are built, submodlib's lazy greedy in C++ is the faster one. There is a reason. Lazy greedy asks for hardly more than $N$ gains (10,091 on the pool before), 10,000 of them the first look at each summary; it reads each of the 200,000 stored values about once, so there is little left to save on a program in C++ that does the same. What the factor counts is the building: a Python set for each summary, and every question brings a pool of its own. What neither library has is Eq. 10 in one objective: relevance, weighted matches, diversity.

Against plain Python, laziness saves 49 of 50 gains, and vectors a factor of four to fourteen on the time of each way.
""")
md(r"""
**Memory** is linear in what is stored, never $N \times M$ (4 GB here):
""")
varies('''
import tracemalloc

for each in (4, 8):
    dense = large(each, of=2)
    tracemalloc.start()
    lazy_greedy(FacilityLocation(dense), 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    results.record(f"large.bytes_per_value.each_{each}", peak / dense.nnz, varies="allocator")
    print(f"{dense.nnz:,} values: at most {peak / 1e6:.0f} MB, {peak / dense.nnz:.0f} bytes a value")
''')
md(r"""
## The paper says / we got / why they differ
""")
code('''
from mindscape import paper

quoted = paper.table("mia_signature_quoted").set_index("quantity").value
init = paper.table("mia_signature_table3")
average = init[(init.dataset == "Avg.") & (init.metric == "R@10") & (init.method == "MiA-Emb")]
average = average.set_index("init").value
worst = ratios["windows"][ratios["windows"][:, 1] > 0]
monotone = np.mean(counted["f_Q", "any"], axis=0)[1]
print(f"greedy on f_Q + f_C: paper at least {quoted['bound of the greedy selection']}, ours 1, always")
print(f"the worst with overlapping windows: ours {(worst[:, 0] / worst[:, 1]).min():.3f}")
print(f"f_Q monotone: paper yes, ours in {monotone:.0%} of the pools with cosines of any sign")
changed = 1 - in_pools.same_set.mean()
print(f"diversity: paper mainly a tie-breaker, ours changes {changed:.0%} of the sets")
print(f"coverage less First-K, R@10: paper {average['Submodular'] - average['First-K']:+.1f} points,", end=" ")
print(f"ours {-100 * less['first_k'].value:+.1f}")
''')
md(r"""
The theory is right where it says *submodular* and empty where it says *bound*: with $\pi$ there is nothing to approximate, without $\pi$ Algorithm 2's line 20 is another function, and the set that the algorithm returns is not the one that the bound is about. What the choice brings is measured, not proved: +1.4 points of recall@10 over First-K here, with an interval that holds zero.
""")
md(r"""
**What the paper's own table can tell.** Table 3 has three methods, and average R@10 rises with coverage "across all three". The three share one retriever:
""")
code('''
recall_of = init[init.metric == "R@10"].copy()
recall_of["who"] = recall_of.method + " " + recall_of.generator.fillna("")
wide_table = recall_of.pivot_table(index="dataset", columns=["init", "who"], values="value")
apart = wide_table["Submodular"] - wide_table["First-K"]
alike = (wide_table.T.groupby("init").nunique() == 1).all().all()
print("the three methods have the same R@10 everywhere:", bool(alike))
apart.iloc[:, :1].round(1).set_axis(["coverage less First-K, points"], axis=1)
''')
md(r"""
It is one measurement printed three times, and it comes from one of the three benchmarks with recall: NarrativeQA has +1.6 points, DetectiveQA exactly nothing in both languages, NovelHopQA −0.2.

## Exercises

**1.** A pool has summaries with $f_Q$ values 0.9, 0.5, −0.2 and $K = 3$; $\lambda_C = \lambda_D = 0$. What does greedy have of the optimum with at most $K$ picks (as a share, $f_Q$ not normalised)?
""")
code('''
my_share = None

values = Modular([0.9, 0.5, -0.2])
expected = greedy(values, 3).value / exhaustive(values, 3, smaller=True).value
print("right" if my_share is not None and abs(my_share - expected) < 5e-3 else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

$(0.9 + 0.5 - 0.2) / (0.9 + 0.5) = 1.2 / 1.4 \approx 0.857$.

</details>

**2.** Under $\pi$, five picks of $N$ summaries by $f_Q + f_C$: write it without greedy, from the single values.
""")
code('''
def five_best(values):
    return None  # your code: indices, best first, equal values by index


trial = np.array([0.3, 0.9, 0.3, 0.1, 0.9, 0.5, 0.3])
mine = five_best(trial)
print("right" if mine is not None and tuple(mine) == greedy(Modular(trial), 5).picks else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

```python
def five_best(values):
    return np.argsort(-values, kind="stable")[:5].tolist()
```

</details>

**3.** Make a diversity that *is* a function of the set, monotone and submodular: the number of different *books* that the picks come from is one. Write its gains for a given list of books and picks so far.
""")
code('''
def book_gains(books, picks):
    return None  # your code: what each summary would add, a list


books_of_pool = [0, 0, 1, 2, 1]
mine = book_gains(books_of_pool, [0, 2])
theirs = FacilityLocation(np.eye(3)[books_of_pool])
state = theirs.add(theirs.add(theirs.start(), 0), 2)
print("right" if mine is not None and np.allclose(mine, theirs.gains(state)) else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

```python
def book_gains(books, picks):
    seen = {books[pick] for pick in picks}
    return [float(book not in seen) for book in books]
```

It is facility location with a column for each book; greedy on it has a bound that means something.

</details>
""")
code('''
results.finish()
''')
md(r"""
**Read next:** notebook [22](22_signature_rag.ipynb), where the signature steers a retriever that has learned to be steered.
""")
b.save()
