import sys; sys.path.insert(0,"/work/main/build/drafts")
from nb import Book
b=Book("15_mcea"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 15 · Mindscape-Coherent Evidence Alignment

*Does a generator that was trained with summaries look at passages in the light of the summary, and can attention tell?*

Paper: MiA-RAG, section 6.4 and appendix E (Eq. 15 to 18, Figure 7).

**You will** compute MCEA on twelve tokens by hand, and for a real model from one forward pass that keeps no attention matrix; follow it through the layers of three generators, with the true summary and with others; find out which layers are beyond chance; and take the definition apart: what it cannot tell, where passages stand, where attention sinks.

**You need** notebook [14](14_mia_gen.ipynb), which trains MiA-Gen, and [00](00_start_here.ipynb) for attention by segments.

**It takes** TIME on one core.
""")
code('''
scale = "small"  # "full": every prompt is measured anew; "gpu": the same, for a model of your own
seed = 0
llm = "embedded"  # the generator as it comes; or "hf:NAME"
adapter = ""  # folder of MiA-Gen for it; the kit's own by default
kept = ""  # folder of measured factors, which a run goes on with; the kit's own by default
''',"parameters")
code('''
from mindscape import results

results.begin("15_mcea", scale=scale, seed=seed, llm=llm, adapter=adapter, kept=kept)
''')
md(r"""
## 1 · Twelve tokens

A prompt holds a summary $S$, passages $c_1, \dots, c_n$ and a question $Q$. $A[t, s]$ is the attention weight that token $t$ puts on token $s$ at some layer (mean of the heads). Here three tokens of summary, three passages of two, three of question, and weights drawn at random; a causal model looks back only.
""")
code('''
import numpy as np

SUMMARY, PASSAGES, QUESTION = range(3), [range(3, 5), range(5, 7), range(7, 9)], range(9, 12)
rng = np.random.default_rng(seed + 3)
scores = rng.normal(size=(12, 12))
scores[np.triu_indices(12, 1)] = -np.inf
A = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
print("rows sum to one:", np.allclose(A.sum(1), 1), "(expected: True)")
''')
md(r"""
Two numbers for each passage: how much it looks at the summary (Eq. 15), and how much the question looks at it (Eq. 16),

$$\mathcal M(c) = \frac1{|S|}\sum_{s \in S}\frac1{|c|}\sum_{t \in c} A[t, s], \qquad \mathcal S(c) = \frac1{|Q|}\sum_{q \in Q}\frac1{|c|}\sum_{t \in c} A[q, t].$$

Each is made comparable by a z-score over the passages, and the product is the alignment of a passage (Eq. 17), $\mathcal C(c) = z(\mathcal M(c))\,z(\mathcal S(c))$. MCEA is its mean over the relevant passages $\mathcal R$ less that over the others $\mathcal N$ (Eq. 18). Say the first passage is the relevant one:
""")
code('''
M, S = [], []
for passage in PASSAGES:
    M.append(sum(sum(A[t, s] for t in passage) / len(passage) for s in SUMMARY) / len(SUMMARY))
    S.append(sum(sum(A[q, t] for t in passage) / len(passage) for q in QUESTION) / len(QUESTION))


def z(values):
    mean = sum(values) / len(values)
    spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return [(value - mean) / spread for value in values]


C = [a * b for a, b in zip(z(M), z(S), strict=True)]
by_hand = C[0] - (C[1] + C[2]) / 2
print("C:", [round(float(of), 3) for of in C], f" MCEA: {by_hand:.3f}")
''')
code('''
from mindscape.mia.mcea import Factors, alignment, mcea

library = mcea(alignment(Factors(np.array([M]), np.array([S]))), [True, False, False])[0]
print(f"the library: {library:.3f}")
''')
code('''
from mindscape import plots

plots.use()
fig, ax = plots.subplots(height=3.6)
ax.imshow(np.where(np.isfinite(scores), A, np.nan), vmin=0)
ax.grid(False)
for passage in PASSAGES:
    for rows, columns, colour in ((passage, SUMMARY, "red"), (QUESTION, passage, "sky")):
        corner = columns[0] - 0.5, rows[0] - 0.5
        size = {"width": len(columns), "height": len(rows)}
        box = {"fill": False, "edgecolor": plots.PALETTE[colour], "linewidth": 2}
        ax.add_patch(plots.pyplot.Rectangle(corner, **size, **box))
names = ["S"] * 3 + [f"c{i}" for i in (1, 1, 2, 2, 3, 3)] + ["Q"] * 3
ax.set_xticks(range(12), names)
ax.set_yticks(range(12), names)
ax.set(xlabel="is looked at", ylabel="looks")
alt = (
    "Causal attention weights among twelve tokens. Boxed: passages looking at the summary, and "
    "the question looking at passages."
)
results.figure(fig, "toy", alt, "What MCEA reads of an attention matrix")
''')
md(r"""
Two kinds of boxes of a triangle are all it needs. The rest of the matrix, most of it, is thrown away, so why compute it?

## 2 · One forward pass

A novel of the storyworld, a question, and passages as MiA-Gen reads them: those that hold the evidence among others that do not bear on it, in an order of chance.
""")
code('''
from transformers import AutoTokenizer

from mindscape import assets, paths
from mindscape.mia.mcea_evaluation import cases, load
from mindscape.reader.evaluation import books

base = assets.language_model() if llm == "embedded" else llm.removeprefix("hf:")
cutter, reader = (AutoTokenizer.from_pretrained(of) for of in (assets.language_model(), base))
asked = cases(books("test"), cutter, silver=paths.data("silver"), reader=reader)
print(f"{len(asked)} questions on {len({case.book for case in asked})} novels")
layout = asked[0].layouts["true"]
for part in layout.parts:
    if part.kind:
        text = " ".join(reader.decode(part.ids).split())
        mark = "relevant" if part.relevant else ""
        print(f"{part.kind:9}{len(part.ids):4} tokens {mark:9} {text[:56]}…")
''')
md(r"""
`transformers` can hand out all weights: layers × heads × n × n numbers. For a short prompt that is possible, and gives something to compare with. The sums of Eq. 15 and 16, straight from those matrices:
""")
code('''
import torch
from transformers import AutoModelForCausalLM

from mindscape.mia.mcea import Layout, factors

short = Layout(tuple(p for i, p in enumerate(layout.parts) if p.kind != "chunk" or i < 9))
ids = torch.tensor([short.ids])
eager = AutoModelForCausalLM.from_pretrained(base, attn_implementation="eager").eval()
with torch.no_grad():
    weights = eager(ids, output_attentions=True, use_cache=False).attentions
del eager
(summary,), (question,), chunks = (short.places(of) for of in ("summary", "question", "chunk"))
direct_M, direct_S = [], []
for layer in weights:
    A = layer[0].double().mean(0).numpy()  # the heads' mean, (n, n)
    direct_M.append([A[slice(*chunk), slice(*summary)].mean() for chunk in chunks])
    direct_S.append([A[slice(*question), slice(*chunk)].mean() for chunk in chunks])
LAYERS, size = len(weights), sum(layer.numel() for layer in weights) * 4 / 1e6
print(f"{ids.shape[1]} tokens, {len(chunks)} passages; the matrices take {size:.0f} MB")
del weights
''')
varies('''
model, _ = load(base)
ours = factors(model, short)
direct = Factors(np.array(direct_M), np.array(direct_S))
gaps = [
    np.abs(ours.to_summary - direct.to_summary).max(),
    np.abs(ours.from_question - direct.from_question).max(),
    np.abs(mcea(alignment(ours), short.relevant) - mcea(alignment(direct), short.relevant)).max(),
]
results.record("mcea.max_abs_error", max(gaps[:2]), n=LAYERS, varies="rounding")
results.record("mcea.max_abs_error.score", gaps[2], n=LAYERS, varies="rounding")
print(f"largest difference: factors {max(gaps[:2]):.0e}, MCEA {gaps[2]:.0e} (expected: below 1e-05 and 1e-04)")
''')
md(r"""
`factors` computes a block of rows at a time, sums it by segment and forgets it (`mindscape.attention`). What does that cost over a plain forward pass, in processor time, at 2,048 tokens? And in memory at 16,384, where one layer's matrices would take 9.7 GB? (That is measured with the first two layers, since memory does not grow with depth.)
""")
varies('''
import tempfile
import time
from pathlib import Path

from mindscape.attention import extra_megabytes
from mindscape.mia.gen_training import shallow
from mindscape.mia.mcea import Part


def long_layout(tokens, passages=10):
    """A prompt of any length with the shares of an ordinary one; which words does not matter."""
    sizes = {"summary": tokens // 5, "chunk": tokens * 3 // 4 // passages, "question": tokens // 40}
    kinds = ["summary", *["chunk"] * passages, "question"]
    parts = [Part(kind, tuple(range(100, 100 + sizes[kind])), i == 1) for i, kind in enumerate(kinds)]
    rest = tokens - sum(len(part.ids) for part in parts)
    return Layout((Part("", tuple(range(rest))), *parts))


''')
varies('''
whole = long_layout(2048)
ids, plain, measuring = torch.tensor([whole.ids]), [], []
for _ in range(3):
    moments = [time.process_time()]
    with torch.no_grad():
        model.get_decoder()(ids, use_cache=False)
    moments.append(time.process_time())
    factors(model, whole)
    moments.append(time.process_time())
    plain.append(moments[1] - moments[0])
    measuring.append(moments[2] - moments[1])
''')
varies('''
overhead = min(measuring) / min(plain)
results.record("mcea.overhead", overhead, n=3, varies="processor time")
with tempfile.TemporaryDirectory() as folder:
    two_layers = shallow(base, 2, Path(folder) / "two")
    extra = extra_megabytes(two_layers, tokens=16_384)
results.record("mcea.extra_mb_16384", extra, varies="what the allocator keeps")
print(f"{ids.shape[1]:,} tokens: {overhead:.2f} of a plain pass (expected: at most 1.25)")
print(f"16,384 tokens: {extra:.0f} MB above a plain pass; an n x n matrix of a layer 9,664 MB")
''')
md(r"""
## 3 · Three generators, layer by layer (Figure 7)

**untuned** is the base as it comes. **MiA-Gen** was trained to answer from summary and passages. The paper compares these two, and so cannot say whether a gap comes from the *summary* or from training on *passages*. So there is a third: **no summary** had the same questions and passages, the same number of steps, and never a summary (notebook 14).

The control of the paper is a *replaced* summary: an unrelated text of the same length (part of a manual). Ours, beside it: other novels' summaries, which are the same kind of text about other people; the same passages in another order; passages cut to one length. Measuring takes one pass a prompt; the factors of all of them are kept, and a few are measured again here.
""")
code('''
from mindscape.errors import InputError
from mindscape.mia.mcea import measured

if llm != "embedded" and not (adapter and kept):
    raise InputError(f"llm={llm!r}: expected adapter, MiA-Gen of that base, and kept, a folder")
folder = Path(kept) if kept else paths.data("mcea")
home = Path(adapter) if adapter else paths.data("adapters") / "mia_gen"
LABELS = {"untuned": "untuned", "no_summary": "no summary", "mia_gen": "MiA-Gen"}
KINDS = dict.fromkeys(LABELS, ("true", "unrelated", "other", "shuffled", "equal"))
KINDS["no_summary"] = ("true", "unrelated")
if not (folder / "no_summary.jsonl").exists():
    LABELS.pop("no_summary")
found, loaded = {}, {"untuned": model, "mia_gen": load(base, home)[0]}
for name in LABELS:
    layouts = {key: of for case in asked for key, of in case.named(KINDS[name]).items()}
    if name in loaded:
        found[name] = measured(folder / f"{name}.jsonl", loaded[name], layouts)
    else:  # its adapter is not shipped
        found[name] = measured(folder / f"{name}.jsonl", None, layouts)
tokens = sum(len(of.ids) for of in layouts.values())
print(f"{len(layouts)} prompts of MiA-Gen, {tokens:,} tokens")
''')

varies('''
checked = ("mia_gen", "untuned")
off = [
    np.abs(factors(loaded[name], of).from_question - found[name][key].from_question).max()
    for name in checked
    for key, of in list(layouts.items())[: 1 if scale == "small" else 4]
]
print(f"measured again: the kept factors differ by {max(off):.0e} at most (expected: below 1e-05)")
''')
code('''
from mindscape.metrics import bootstrap, paired_bootstrap
from mindscape.mia.mcea import bands

of_book, numbers = [case.book for case in asked], {}


def curve(name, kind="true", score=alignment):
    # MCEA by question and layer
    rows = [
        mcea(score(found[name][f"{case.id}/{kind}"]), case.layouts[kind].relevant) for case in asked
    ]
    return np.array(rows)


def keep(key, values, other=None):
    # records the mean over questions, or the mean difference, with its interval over novels
    options = {"groups": of_book, "seed": seed}
    of = (
        bootstrap(values, **options)
        if other is None
        else paired_bootstrap(values, other, **options)
    )
    results.record(key, of)
    numbers[key] = of
    return of
''')
code('''
import pandas as pd

rows, drops = {}, {}
for name, label in LABELS.items():
    true = curve(name).mean(1)
    rows[label] = [str(keep(f"mcea.{name}.mean", true))]
    for kind in ("unrelated", "other"):
        if kind in KINDS[name]:
            replaced = curve(name, kind).mean(1)
            drops[name, kind] = true - replaced
            rows[label].append(str(keep(f"mcea.{name}.drop.{kind}", true, replaced)))
        else:
            rows[label].append("–")
columns = ["true summary", "drop, unrelated text", "drop, other novels' summaries"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("MCEA, mean of layers")
''')
code('''
mia, base_curve = curve("mia_gen"), curve("untuned")
pairs = {"untuned": base_curve} | (
    {"no_summary": curve("no_summary")} if "no_summary" in LABELS else {}
)
for name, of in pairs.items():
    print(f"MiA-Gen less {LABELS[name]}: {keep(f'mcea.mia_gen_minus_{name}', mia.mean(1), of.mean(1))}")
    more = keep(f"mcea.drop.mia_gen_minus_{name}", drops["mia_gen", "unrelated"], drops[name, "unrelated"])
    print(f"   drop under an unrelated text, less that of {LABELS[name]}: {more}")
''')
code('''
LOOK = {
    name: {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour]}
    for name, colour in zip(("untuned", "no_summary", "mia_gen"), ("orange", "green", "blue"), strict=True)
}
at = np.arange(1, LAYERS + 1)
fig, axes = plots.subplots(columns=2, height=3.6, sharex=True)
for name, label in LABELS.items():
    mean, low, high = bands(curve(name), of_book)
    axes[0].plot(at, mean, markevery=3, markersize=5, label=label, **LOOK[name])
    axes[0].fill_between(at, low, high, color=LOOK[name]["color"], alpha=0.18, linewidth=0)
    axes[0].plot(at, curve(name, "unrelated").mean(0), ":", color=LOOK[name]["color"], marker="")
for name, of in pairs.items():
    mean, low, high = bands(mia - of, of_book)
    axes[1].plot(at, mean, markevery=3, markersize=5, label=f"less {LABELS[name]}", **LOOK[name])
    axes[1].fill_between(at, low, high, color=LOOK[name]["color"], alpha=0.18, linewidth=0)
for ax, title in zip(axes, ("MCEA", "difference of MCEA"), strict=True):
    ax.axhline(0, color=plots.GREY, linewidth=1)
    ax.set(title=title, xlabel="layer", ylabel=title)
    ax.legend(fontsize=8)
''')
code('''
def runs(flags):
    # layers that are set, as ranges counted from 1
    text, at_start = [], None
    for i, flag in enumerate([*flags, False]):
        if flag and at_start is None:
            at_start = i
        elif not flag and at_start is not None:
            text.append(f"{at_start + 1}" if i == at_start + 1 else f"{at_start + 1} to {i}")
            at_start = None
    return ", ".join(text) or "none"


above = {}
for name, of in pairs.items():
    _, low, _ = bands(mia - of, of_book)
    above[name] = low > 0
    results.record(f"mcea.layers_above.{name}", int(above[name].sum()), n=LAYERS)
told = "; ".join(f"above {LABELS[name]} in layers {runs(of)}" for name, of in above.items())
alt = (
    "MCEA by layer with 95 % bands over novels; dotted with an unrelated text for summary. "
    f"MiA-Gen is {told}."
)
results.figure(fig, "layers", alt, "MCEA layer by layer")
''')
code('''
for name, of in above.items():
    print(f"MiA-Gen's interval is above {LABELS[name]}'s in {of.sum()} of {LAYERS} layers: {runs(of)}")
thirds = np.array_split(np.arange(LAYERS), 3)
for which, some in zip(("early", "middle", "late"), thirds, strict=True):
    of = keep(f"mcea.gap.{which}", mia[:, some].mean(1), base_curve[:, some].mean(1))
    print(f"{which:6} third, MiA-Gen less untuned: {of}")
''')
md("RESULTS_3")
md(r'''
## 4 · Whose labels? (silver and gold)

The paper has no gold evidence: relevant are the *silver* passages that Algorithm 1 picked. Here both are known for the same prompts. Some passages in them are such as Algorithm 1 wrongly took for evidence.
''')
code('''
both = [i for i, case in enumerate(asked) if 0 < sum(case.silver) < len(case.silver)]
agree = np.mean(
    [np.mean(np.equal(asked[i].silver, asked[i].layouts["true"].relevant)) for i in both]
)
print(f"{len(both)} of {len(asked)} prompts have silver passages and others; labels agree on {agree:.0%}")
groups = [of_book[i] for i in both]
for name in ("untuned", "mia_gen"):
    scores_of = [alignment(found[name][f"{asked[i].id}/true"]) for i in both]
    silver = [mcea(of, asked[i].silver).mean() for of, i in zip(scores_of, both, strict=True)]
    gold = curve(name)[both].mean(1)
    for label, values in (("silver", silver), ("gold", gold)):
        of = bootstrap(values, groups=groups, seed=seed)
        results.record(f"mcea.{name}.by_{label}", of)
        print(f"{LABELS[name]:8} by {label:6} labels: {of}")
''')
md("RESULTS_4")
md(r'''
## 5 · Controls: order and length

The same passages in another order, and cut to the length of the shortest:
''')
code('''
rows = {}
for name in ("untuned", "mia_gen"):
    of = {kind: curve(name, kind).mean(1) for kind in ("true", "shuffled", "equal")}
    rows[LABELS[name]] = [str(keep(f"mcea.{name}.{kind}", values)) for kind, values in of.items()]
    alike = np.corrcoef(of["true"], of["shuffled"])[0, 1]
    results.record(f"mcea.{name}.order_correlation", alike, n=len(asked))
    rows[LABELS[name]].append(f"{alike:.2f}")
    keep(f"mcea.{name}.true_minus_shuffled", of["true"], of["shuffled"])
    keep(f"mcea.{name}.true_minus_equal", of["true"], of["equal"])
columns = ["as it was", "another order", "equal lengths", "correlation with another order"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("MCEA")
''')
md("RESULTS_5")
md(r'''
## 6 · Beyond chance, layer by layer

How large is MCEA if passages are called relevant by lot? Within each prompt the labels are dealt out anew, two thousand times; the spread of the mean is the null. Among thirty layers one or two are beyond a 95 % band by luck, so there is also the chance that the *best* of all layers stands out as far.
''')
code('''
from mindscape.mia.mcea import permuted

fig, axes = plots.subplots(columns=2, height=3.2, sharey=True)
told = []
for ax, name in zip(axes, ("untuned", "mia_gen"), strict=True):
    scores_of = [alignment(found[name][f"{case.id}/true"]) for case in asked]
    null = permuted(scores_of, [case.layouts["true"].relevant for case in asked], seed=seed)
    ax.fill_between(at, null.low, null.high, color=plots.PALE, linewidth=0)
    ax.plot(at, null.observed, markevery=3, markersize=5, **LOOK[name])
    ax.axhline(0, color=plots.GREY, linewidth=1)
    ax.set(title=LABELS[name], xlabel="layer", ylabel="MCEA")
    beyond = null.p_any < 0.05
    results.record(f"mcea.{name}.layers_beyond_chance", int(beyond.sum()), n=LAYERS)
    told.append(f"{LABELS[name]}: {runs(beyond)}")
    print(f"{LABELS[name]:8} layers beyond chance, all layers considered: {runs(beyond)}")
alt = f"MCEA by layer over the 95 % band of dealt-out labels. Beyond chance: {'; '.join(told)}."
results.figure(fig, "null", alt, "MCEA and chance")
''')
md("RESULTS_6")
md(r'''
## The paper says / we got / why they differ
''')
code('''
def said(key):
    return str(numbers[key])


rows = [
    ["MiA-Gen less untuned", "above, at all layers", said("mcea.mia_gen_minus_untuned")],
    ["the gap, early third", "small", said("mcea.gap.early")],
    ["the gap, middle third", "larger", said("mcea.gap.middle")],
    ["the gap, late third", "largest", said("mcea.gap.late")],
    ["drop under an unrelated text, MiA-Gen", "sharp", said("mcea.mia_gen.drop.unrelated")],
    ["drop under an unrelated text, untuned", "negligible", said("mcea.untuned.drop.unrelated")],
]
pd.DataFrame(rows, columns=["", "the paper (a figure, no numbers)", "ours"]).set_index("")
''')
md("RESULTS_PAPER")
md(r'''
## Reading critically

**Low times low is high.** The product of two z-scores is positive for a passage that is below the mean on both factors. How often is a relevant passage's alignment above zero for that reason? And do relevant passages stand higher on each factor by itself?
''')
code('''
from mindscape.mia.mcea import correlation, gaps, zscores

rows = {}
for name in ("untuned", "mia_gen"):
    factor_gaps, low_low, positive = [], 0, 0
    for case in asked:
        of, flags = found[name][f"{case.id}/true"], np.array(case.layouts["true"].relevant)
        factor_gaps.append([gap.mean() for gap in gaps(of, flags)])
        z_m, z_s = (zscores(values)[:, flags] for values in (of.to_summary, of.from_question))
        positive += (z_m * z_s > 0).sum()
        low_low += ((z_m < 0) & (z_s < 0)).sum()
    to_summary, from_question = np.transpose(factor_gaps)
    results.record(f"mcea.{name}.low_low", low_low / positive, n=int(positive))
    rows[LABELS[name]] = [
        f"{low_low / positive:.0%}",
        str(keep(f"mcea.{name}.z_gap.to_summary", to_summary)),
        str(keep(f"mcea.{name}.z_gap.from_question", from_question)),
    ]
columns = ["positive by low × low", "z(M), relevant less others", "z(S), relevant less others"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md("RESULTS_LOW")
code('''
rows = {}
for name in ("untuned", "mia_gen"):
    together = np.array([correlation(found[name][f"{case.id}/true"]) for case in asked])
    replaced = np.array([correlation(found[name][f"{case.id}/unrelated"]) for case in asked])
    rows[LABELS[name]] = [
        str(keep(f"mcea.{name}.correlation", together.mean(1))),
        str(keep(f"mcea.{name}.correlation.drop", together.mean(1), replaced.mean(1))),
    ]
columns = ["correlation of M and S", "drop, unrelated text"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md("RESULTS_CORR")
md(r'''
**With few passages a z-score says nothing.** Factors drawn at random, one relevant passage among $n$; a thousand prompts each:
''')
code('''
rng = np.random.default_rng(seed)
for n in (2, 3, 5, 8, 20):
    lots = Factors(rng.normal(size=(1000, n)), rng.normal(size=(1000, n)))
    by_lot = mcea(alignment(lots), [True] + [False] * (n - 1))
    results.record(f"mcea.by_lot.spread.{n}", by_lot.std(), n=1000)
    print(f"n = {n:2}: spread of MCEA {by_lot.std():.2f}, largest |C| {np.abs(alignment(lots)).max():.2f}")
''')
md(r'''
With two passages $z$ is $\pm1$ for one and $\mp1$ for the other, on both factors: C is the same for both, and MCEA is 0 whatever the model does. With three it is a coarse number; $|C|$ can never exceed $n - 1$. A mean over prompts with different $n$, as retrieval gives them, mixes scales.

**Where a passage stands.** A causal model's first passages are nearer to the summary, the last ones to the question. The mean z of both factors by place, over all layers and prompts:
''')
code('''
fig, axes = plots.subplots(columns=2, height=3, sharey=True)
places = {}
for ax, name in zip(axes, ("untuned", "mia_gen"), strict=True):
    for factor, style in (("to_summary", "-"), ("from_question", "--")):
        by_place = np.mean(
            [zscores(getattr(found[name][f"{case.id}/true"], factor)).mean(0) for case in asked], 0
        )
        places[name, factor] = by_place
        label = {"to_summary": "looks at the summary (M)", "from_question": "is looked at (S)"}[factor]
        ax.plot(range(1, len(by_place) + 1), by_place, style, label=label, **LOOK[name])
    ax.set(title=LABELS[name], xlabel="place of the passage", ylabel="mean z")
axes[0].legend(fontsize=8)
trend = "; ".join(
    f"{LABELS[name]} {factor} from {of[0]:+.2f} to {of[-1]:+.2f}" for (name, factor), of in places.items()
)
alt = f"Mean z-score of both factors by place of the passage, first to last: {trend}."
results.figure(fig, "places", alt, "Both factors hang on the place")
''')
code('''
def without_place(name):
    # MCEA when the mean of each place, layer by layer, is taken off both factors' z first
    some = {case.id: found[name][f"{case.id}/true"] for case in asked}
    z_of = {
        factor: np.array([zscores(getattr(of, factor)) for of in some.values()])
        for factor in ("to_summary", "from_question")
    }
    left = {factor: of - of.mean(0) for factor, of in z_of.items()}
    pairs_of = zip(left["to_summary"], left["from_question"], asked, strict=True)
    return np.array(
        [mcea(zscores(m) * zscores(s), case.layouts["true"].relevant) for m, s, case in pairs_of]
    )


for name in ("untuned", "mia_gen"):
    of = without_place(name).mean(1)
    of = keep(f"mcea.{name}.without_place", of)
    print(f"{LABELS[name]:8} {of}, as defined {curve(name).mean():+.3f}")
gap = keep("mcea.without_place.mia_gen_minus_untuned", without_place("mia_gen").mean(1), without_place("untuned").mean(1))
print(f"MiA-Gen less untuned, without place: {gap}")
''')
md("RESULTS_PLACE")
md(r'''
**Sinks.** Many models park attention that they have no use for on the first token. It belongs to no passage, and what is left differs from token to token. Its share, and MCEA with the weights of each row divided by what is not on the first token, for a few questions:
''')
varies('''
from mindscape.attention import segment_mass


def without_sink(model, layout):
    # the factors of a layout with each row's weight on the first token taken out; and that weight
    (summary,), (question,), chunks = (layout.places(of) for of in ("summary", "question", "chunk"))
    rows = list(range(chunks[0][0], question[1]))
    mass = segment_mass(model, layout.ids, rows, [summary, *chunks, (0, 1)], average_heads=True)
    mass = mass.double().numpy()
    sink = mass[..., -1]
    rest = mass[..., :-1] / (1 - sink[..., None])
    part = [slice(start - rows[0], end - rows[0]) for start, end in (*chunks, question)]
    m = np.stack([rest[:, of, 0].mean(1) for of in part[:-1]], 1) / (summary[1] - summary[0])
    lengths = np.array([end - start for start, end in chunks])
    return Factors(m, rest[:, part[-1], 1:].mean(1) / lengths), sink.mean(1)


''')
varies('''
few = asked[:: len(asked) // 4][:4] if scale == "small" else asked
VARIES = "rounding"
for name in ("untuned", "mia_gen"):
    told = [without_sink(loaded[name], case.layouts["true"]) for case in few]
    share = np.mean([sink for _, sink in told], 0)
    with_it = np.mean([curve(name)[asked.index(case)].mean() for case in few])
    pairs_of = zip(told, few, strict=True)
    without = np.mean(
        [mcea(alignment(of), case.layouts["true"].relevant).mean() for (of, _), case in pairs_of]
    )
    results.record(f"mcea.{name}.sink", share.mean(), n=len(few), varies=VARIES)
    results.record(f"mcea.{name}.without_sink", without, n=len(few), varies=VARIES)
    results.record(f"mcea.{name}.with_sink", with_it, n=len(few), varies=VARIES)
    print(f"{LABELS[name]:8} on the first token {share.mean():.0%} (up to {share.max():.0%})")
    print(f"{'':8} MCEA of these questions {with_it:+.3f}, without the sink {without:+.3f}")
''')
md("RESULTS_SINK")
md(r'''
**Order matters.** A passage cannot look at a summary that comes after it. With the summary behind the passages, as some prompts have it:
''')
code('''
from mindscape.mia.mcea import summary_last

of = factors(loaded["mia_gen"], summary_last(short))
print("largest M:", of.to_summary.max(), " MCEA:", mcea(alignment(of), short.relevant).max())
''')
md(r'''
MCEA is then zero by construction, however well the summary is used. It cannot compare prompts of different make, nor models that see both ways with causal ones.
''')
md("RESULTS_SUM")
md(r'''
## Exercises

**1.** Two passages, one of them relevant. A model looks at it ten times as much as at the other, and it at the summary likewise. MCEA?
''')
code('''
my_mcea = None

two_passages = Factors(np.array([[10.0, 1.0]]), np.array([[10.0, 1.0]]))
expected = mcea(alignment(two_passages), [True, False])[0]
print("right" if my_mcea is not None and abs(my_mcea - expected) < 1e-9 else "not yet")
''')
md(r'''
<details><summary>Solution</summary>

0: both passages have $C = (\pm1)(\pm1) = 1$.

</details>

**2.** Eight passages. What is the largest alignment that one of them can have?
''')
code('''
my_largest = None

one_stands_out = np.array([[1.0] + [0.0] * 7])
expected = alignment(Factors(one_stands_out, one_stands_out)).max()
print("right" if my_largest is not None and abs(my_largest - expected) < 1e-9 else "not yet")
''')
md(r'''
<details><summary>Solution</summary>

$n - 1 = 7$: a single one that stands out has $z = \sqrt{n - 1}$, the others $-1/\sqrt{n - 1}$.

</details>

**3.** Write an alignment that is high only where *both* factors are above the mean: the lesser of both z-scores, cut off at 0.
''')
code('''
def both_high(of):
    return None  # your code: from Factors, shape (layers, passages)


trial = Factors(np.array([[1.0, 2.0, 3.0, 6.0]]), np.array([[1.0, 2.0, 7.0, 6.0]]))
mine = both_high(trial)
right = [[0.0, 0.0, 0.0, 0.784465]]
print("right" if mine is not None and np.allclose(mine, right, atol=1e-4) else "not yet")
''')
md(r'''
<details><summary>Solution</summary>

```python
def both_high(of):
    lesser = np.minimum(zscores(of.to_summary), zscores(of.from_question))
    return np.maximum(lesser, 0)
```

`curve("mia_gen", score=both_high)` gives the figure of section 3 with it.

</details>
''')
code('''
results.finish()
''')
md(r'''
**Read next:** notebook [16](16_mia_graphrag.ipynb) puts the mindscape-aware retriever on a graph.
''')
b.save()
