import sys; sys.path.insert(0,"/work/main/build/drafts")
from nb import Book
b=Book("42_three_layer_retrieval"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 42 · Three layers, searched apart or as one

*A chunk can be found by its topic, by its core content or by its words. Should a retriever search the three apart and fuse what it finds, or fuse them first? And does it matter how the text was cut?*

Paper: MoM, sections 3.2, 4.2 and 4.4 (Tables 1 and 3).

**You will** search three layers of a toy by hand, in seven ways; find the same in faiss and in Milvus; compute $\mathcal S_{\text{support}}$, with the question and without it; compare the seven ways on test novels, for global questions and for local ones; then all ways to cut of notebook 40 under one reader; and ask what the score of support measures.

**You need** notebooks [40](40_memory_extraction.ipynb) and [41](41_memreader.ipynb), which make the memories.

**It takes** TIME on one core.
""")
code('''
scale = "small"  # "full": more is asked live; "gpu": the same, for models of your own
seed = 0
encoder = "embedded"  # who searches; or "hf:NAME"
llm = "embedded"  # who answers; or "hf:NAME", "openai:NAME"
kept = ""  # folder of memories, rankings and replies on the test novels; the kit's own by default
''',"parameters")
code('''
from mindscape import results

results.begin(
    "42_three_layer_retrieval", scale=scale, seed=seed, encoder=encoder, llm=llm, kept=kept
)
''')
md(r"""
## 1 · Three units, three layers

A *unit* is a chunk with its topic and its core content. Each has a vector in three *layers*: outline, core, chunk. Here are three units in the plane, all vectors of length 1, and a query $q$; $s_l(u) = q\cdot V_l(u)$ is a unit's similarity in a layer.
""")
code('''
import numpy as np

ANGLES = {"outline": [10, 50, 80], "core": [70, 22, 65], "chunk": [60, 42, 8]}  # of units 0, 1, 2


def arrow(degrees):
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


V = {layer: np.array([arrow(of) for of in some]) for layer, some in ANGLES.items()}
q = arrow(15)
s = {layer: vectors @ q for layer, vectors in V.items()}
for layer, values in s.items():
    print(f"{layer:8} {values.round(2)}  best unit: {values.argmax()}")
''')
md(r"""
The layers disagree. MoM searches each *apart and fuses* what they found; the paper does not say how. Three ways: reciprocal ranks, $\sum_l \frac1{60+\text{rank}_l(u)}$; the *maximum* of the similarities; their *sum*. The other strategy *fuses first*: one vector a unit, the mean of its three, scaled to length 1 as an index by cosine has it.
""")
code('''
def ranks(values):
    return np.array([1 + sum(other > mine for other in values) for mine in values])


by_hand = {
    "rrf": sum(1 / (60 + ranks(values)) for values in s.values()),
    "max": np.maximum.reduce(list(s.values())),
    "sum": sum(s.values()),
}
mean = sum(V.values()) / 3
by_hand["fused"] = (mean / np.linalg.norm(mean, axis=1, keepdims=True)) @ q
for way, values in by_hand.items():
    print(f"{way:5} {values.round(4)}  order: {np.argsort(-values, kind='stable')}")
''')
md(r"""
The library takes texts and an encoder; this encoder looks its vectors up.
""")
code('''
from mindscape.mom.retrieval import Layers
from mindscape.text import Chunk


class Table:
    """An encoder that knows nine texts by heart."""

    name = fingerprint = "table"
    dim = 2

    def encode(self, texts, kind="passage"):
        return np.array([V[text[:-2]][int(text[-1])] for text in texts], dtype=np.float32)


units = [Chunk("toy", i, 10 * i, 10 * i + 10) for i in range(3)]
toy = Layers(units, {layer: [f"{layer} {i}" for i in range(3)] for layer in V}, Table())
for way, values in by_hand.items():
    ids, found = toy.search(q[None].astype(np.float32), 3, way)
    same = np.allclose(found[0], np.sort(values)[::-1], atol=1e-6)
    print(f"{way:5} {ids[0]}  as by hand: {same}")
''')
code('''
from mindscape import plots

plots.use()
fig, ax = plots.subplots(height=3)
for i, colour in enumerate(("blue", "orange", "green")):
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour], "linestyle": ""}
    places = np.array([V[layer][i] for layer in V])
    ax.plot(*places.T, label=f"unit {i}", **look)
    for layer, place in zip(V, places, strict=True):
        ax.annotate(layer, place, xytext=(6, 0), textcoords="offset points", fontsize=8)
    ax.plot(*mean[i], markersize=11, markerfacecolor="white", **look)
ax.annotate("", q, (0, 0), arrowprops={"arrowstyle": "->", "color": plots.INK})
ax.annotate("q", 0.6 * q, xytext=(0, 5), textcoords="offset points")
ax.set(xlabel="first coordinate", ylabel="second coordinate", aspect="equal")
ax.set(xlim=(0, 1.35), ylim=(0, 1.1))
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
alt = (
    "Nine vectors on the unit circle, three a unit, and the mean of each unit, hollow, inside it. "
    "The query at 15 degrees is nearest to unit 0 by outline, unit 1 by core and unit 2 by chunk."
)
results.figure(fig, "toy", alt, "Three units in three layers (hollow: their means)")
''')
md(r"""
## 2 · A real index, twice

The first test novel with the memory that its log knows, three layers of about seventy units, searched through faiss and through Milvus Lite, which the paper uses (an extra of the kit):
""")
code('''
from pathlib import Path

from mindscape import encoders, paths
from mindscape.mom.comparison import Folder, picked, scope

files = Folder(Path(kept) if kept else paths.data("mom"))
novel, model = files.books[0], encoders.load(encoder)
asked = [question.question for question in novel.questions]
in_faiss = files.layers("gold", [novel], model)
print(f"{len(in_faiss.chunks)} units, {len(asked)} questions; ways:", ", ".join(in_faiss.ways))
''')
varies('''
import os
import tempfile
from importlib.util import find_spec

from mindscape.mom.retrieval import in_milvus

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # Milvus Lite's client would log its closing
if find_spec("pymilvus"):
    with tempfile.TemporaryDirectory() as place:
        there = files.layers("gold", [novel], model, index=in_milvus(place))
        pairs = [(in_faiss.search(asked, 8, way)[0], there.search(asked, 8, way)[0]) for way in in_faiss.ways]
        there.close()
    same = np.mean([np.array_equal(ours, theirs) for ours, theirs in pairs])
    results.record("milvus.same", same, n=len(pairs), varies="the extra may be missing")
    print(f"the same first eight in the same order in {same:.0%} of the ways (expected: 100%)")
else:
    print("pymilvus is not installed: pip install -r requirements-milvus.txt")
''')
md(r"""
## 3 · What a context is worth

Four scores. **Recall** of the evidence: the share of a question's evidence that stands whole in the units shown. **BLEU, ROUGE-L, METEOR** of a reader's answer against the right one (Table 1). And **informational support** of the right answer $\mathcal A = a_1\dots a_m$ by a context $\mathcal C$ (Table 3), in nats a token, less is better:

$$\mathcal S_{\text{support}}(\mathcal A\mid\mathcal C) = -\frac1m\sum_{i=1}^m\log P(a_i\mid a_1,\dots,a_{i-1},\mathcal C).$$

As printed the question is no part of the condition. By hand with the base, with the question and without it:
""")
varies('''
from mindscape import llm as models
from mindscape.mom.retrieval import FRAMES, OPEN, support

judge = models.load("smollm2")
context = "In the evening Ivo lit the copper lamp. He read until the oil was gone."
asked_for, answer = "What did Ivo light?", "the copper lamp"
for label, prompt, question in (
    ("told", FRAMES["en"].format(context=context, question=asked_for), [asked_for]),
    ("untold", OPEN["en"].format(context=context), None),
):
    score = judge.score(prompt, [f" {answer}"])[0]
    library = support(judge, [context], [answer], question)[0]
    by_sum = -score.logprob / score.tokens
    print(f"{label:6} m = {score.tokens}: by hand {by_sum:.2f}, the library {library:.2f}")
''')
code('''
from mindscape.metrics import bleu, meteor, rouge_l

for said in ("the copper lamp", "a lamp", "copper", "He lit the old copper lamp in the evening."):
    of = bleu(said, answer, "en")
    row = (of.bleu_1, of.average, rouge_l(said, answer, "en"), meteor(said, answer, "en", synonyms=False).value)
    print(f"{said:44}", *(f"{name} {value:.2f}" for name, value in zip(("B-1", "B-avg", "R-L", "MET"), row, strict=True)))
''')
md(r"""
A longer answer that is right scores less than a shorter one: these scores are about wording. The reader was taught to answer in a short phrase, as the gold answers are.

## 4 · Seven ways to search (test novels)

Rankings of the units for every question on some test novels, by MiniLM, are kept. *Gold* units are those of the novel's log, *memory* those that MemReader wrote. *Global* questions need evidence from all over the text, *local* ones from one or a few places.
""")
code('''
import pandas as pd

from mindscape.metrics import bootstrap, paired_bootstrap
from mindscape.mom.retrieval import FUSED, FUSIONS, LAYERS, TOP, recall

WAYS, SCOPES = (*LAYERS, *FUSIONS, FUSED), ("all", "global", "local")
novels = files.books
of_book = [book.document.id for book in novels for _ in book.questions]
kinds = np.array([scope(question) for book in novels for question in book.questions])
MASK = {"all": kinds != "", "global": kinds == "global", "local": kinds == "local"}


def recalls(units, way, k=TOP):
    """The recall of each question, with k units shown."""
    found = []
    for book in novels:
        chunks, ranked = files.chunks(units, book), files.found(units, way, book)
        for question in book.questions:
            shown = [chunks[i] for i in ranked[question.id][:k]]
            found.append(recall(book.document, question.evidence, shown))
    return np.array(found)


at_8 = {(units, way): recalls(units, way) for units in ("gold", "memory") for way in WAYS}
print(f"{len(of_book)} questions, {(kinds == 'global').sum()} of them global, {len(novels)} novels")
''')
code('''
def groups_of(mask):
    return [book for book, it in zip(of_book, mask, strict=True) if it]


rows = {}
for (units, way), values in at_8.items():
    rows[units, way] = []
    for name, mask in MASK.items():
        of = bootstrap(values[mask], groups=groups_of(mask), seed=seed)
        results.record(f"recall@8.{units}.{way}.{name}", of)
        rows[units, way].append(str(of))
pd.DataFrame.from_dict(rows, orient="index", columns=SCOPES).rename_axis("recall@8")
''')
code('''
rows = {}
for units in ("gold", "memory"):
    for other in (FUSED, *LAYERS, "max", "sum"):
        rows[units, other] = []
        for name, mask in MASK.items():
            a, b_ = at_8[units, "rrf"][mask], at_8[units, other][mask]
            of = paired_bootstrap(a, b_, groups=groups_of(mask), seed=seed)
            results.record(f"rrf_minus_{other}.recall@8.{units}.{name}", of)
            rows[units, other].append(str(of))
pd.DataFrame.from_dict(rows, orient="index", columns=SCOPES).rename_axis("RRF of three layers, less")
''')
code('''
fig, axes = plots.subplots(columns=2, height=3, sharey=True)
DEPTHS = (1, 2, 4, 8, 16)
COLOURS = dict(zip(("chunk", "core", "outline", "rrf", FUSED), plots.PALETTE, strict=False))
told = []
for ax, units in zip(axes, ("gold", "memory"), strict=True):
    for way, colour in COLOURS.items():
        curve = [recalls(units, way, k).mean() for k in DEPTHS]
        look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour], "markersize": 5}
        ax.plot(DEPTHS, curve, label=way, **look)
        told.append(f"{units} {way} {curve[3]:.2f}")
    ax.set(title=f"{units} units", xlabel="units shown", ylabel="recall of evidence", xscale="log")
    ax.set_xticks(DEPTHS, DEPTHS)
    ax.minorticks_off()
axes[0].legend(fontsize=8)
results.figure(fig, "recall", f"Recall by units shown; at 8: {'; '.join(told)}.", "Ways to search")
''')
md("RESULTS_WAYS")
# Discuss: fused after against fused before (the paper's claim) with intervals; against the best single layer; global and local apart;
# gold against memory (what MemReader's errors cost).
md(r"""
## 5 · Who cuts, and what it is worth to a reader

All ways to cut of notebook 40, and the three layers. A *system* is units, a way to search and how many are shown: `fixed.chunk@8` is the paper's "Original", `memory.rrf@8` is MoM. For two local and two global questions a novel the kit's reader answered, and two models weighed the right answer: the base as it comes and the reader. All is kept.
""")
code('''
from mindscape.errors import InputError
from mindscape.mom.comparison import System, systems

SHARE = 2  # questions of each scope on a novel, as many as replies are kept of
chosen = {book.document.id: picked(book, SHARE) for book in novels}


def answered(system):
    try:
        return [files.replies(system, book, chosen[book.document.id]) for book in novels]
    except InputError:  # a system that was left out
        return None


ALL = [system for system in systems(files.cuts) if answered(system)]
print("no replies are kept of:", [of.name for of in systems(files.cuts) if of not in ALL])
''')
code('''
rows = []
for system in ALL:
    for book in novels:
        some = chosen[book.document.id]
        shown, contexts = files.shown(system, book), files.contexts(system, book, some)
        for question, text, it in zip(some, contexts, files.replies(system, book, some), strict=True):
            row = {"system": system.name, "book": book.document.id, "question": question.id}
            row |= {"scope": scope(question), "answer": question.answer, "said": it["said"]}
            row |= {"words": len(text.split())}
            row["recall"] = recall(book.document, question.evidence, shown[question.id])
            row |= {f"told.{name}": value for name, value in it["told"].items()}
            row |= {f"untold.{name}": value for name, value in it["untold"].items()}
            rows.append(row)
frame = pd.DataFrame(rows)
print(f"{len(ALL)} systems, {frame.question.nunique()} questions")
print(f"replies without an answer: {frame.said.isna().sum()} of {len(frame)}")
''')
code('''
def scores_of(row):
    """BLEU-1, the mean of BLEU-1 to 4, ROUGE-L and METEOR of an answer; 0 where there is none."""
    said, right = row.said, row.answer
    if not said:
        return [0.0] * 4
    of = bleu(said, right, "en")
    return [of.bleu_1, of.average, rouge_l(said, right, "en"), meteor(said, right, "en", synonyms=False).value]


ANSWERS = ["bleu1", "bleu_avg", "rougeL", "meteor"]
frame[ANSWERS] = [scores_of(row) for row in frame.itertuples()]
''')
code('''
MODELS = {"smollm2": "base", "embedded": "reader"}
SUPPORT = [f"{kind}.{name}" for kind in ("told", "untold") for name in MODELS]
rows = {}
for system in ALL:
    some = frame[frame.system == system.name]
    several = {key: bootstrap(some[key], groups=list(some.book), seed=seed) for key in ("recall", *ANSWERS)}
    for key, of in several.items():
        results.record(f"system.{system.name}.{key}", of)
    rows[system.name] = [f"{some.words.mean():.0f}", *map(str, several.values())]
columns = ["words shown", "recall", "BLEU-1", "BLEU-avg", "ROUGE-L", "METEOR"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
rows = {}
for system in ALL:
    some = frame[frame.system == system.name]
    several = {key: bootstrap(some[key], groups=list(some.book), seed=seed) for key in SUPPORT}
    for key, of in several.items():
        results.record(f"system.{system.name}.s_support.{key}", of)
    rows[system.name] = list(map(str, several.values()))
columns = [f"{kind}, {label}" for kind in ("with the question", "without") for label in MODELS.values()]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("S_support")
''')
md(r"""
Against fixed windows of the same number, on the same questions. Support is a cost: below zero is better.
""")
code('''
by_question = {name: some.set_index("question") for name, some in frame.groupby("system")}
fixed = by_question["fixed.chunk@8"]
books_of, against = list(fixed.book), {}


def less_fixed(name, key, some=None):
    mask = np.ones(len(fixed), bool) if some is None else (fixed.scope == some).to_numpy()
    a, b_ = by_question[name].loc[fixed.index, key][mask], fixed[key][mask]
    return paired_bootstrap(a, b_, groups=list(fixed.book[mask]), seed=seed)


KEYS = ["told.smollm2", "told.embedded", "untold.smollm2", "untold.embedded", "rougeL", "recall"]
rows = {}
for system in ALL:
    if system.name != "fixed.chunk@8":
        for key in KEYS:
            against[system.name, key] = less_fixed(system.name, key)
            results.record(f"minus_fixed.{system.name}.{key}", against[system.name, key])
        rows[system.name] = [str(against[system.name, key]) for key in KEYS]
pd.DataFrame.from_dict(rows, orient="index", columns=KEYS).rename_axis("less fixed.chunk@8")
''')
code('''
MOM = "memory.rrf@8"
for key, label in (("told.smollm2", "base"), ("told.embedded", "reader")):
    results.record(f"s_support.mom_minus_fixed.{label}", against[MOM, key])
    print(f"S_support of MoM less fixed windows, by the {label}: {against[MOM, key]}")
cut = against["mom.chunk@8", "told.smollm2"]
print(f"its chunks at the windows' length, found by their words: {cut}")
''')
code('''
fig, axes = plots.subplots(columns=2, height=3.8, sharey=True)
names = [system.name for system in ALL if system.name != "fixed.chunk@8"]
PANELS = (("told.smollm2", "S_support, base, nats"), ("rougeL", "ROUGE-L"))
for ax, (key, label) in zip(axes, PANELS, strict=True):
    of = [against[name, key] for name in names]
    values, lows, highs = zip(*[(it.value, it.low, it.high) for it in of], strict=True)
    colours = ["orange" if name.startswith("memory") else "blue" for name in names]
    plots.dots(ax, names, values, lows, highs, colours, zero=True)
    ax.set(title=label, xlabel="less fixed.chunk@8")
told = "; ".join(f"{name} {against[name, 'told.smollm2'].value:+.2f}" for name in names)
alt = f"Differences to fixed windows with intervals; support by the base: {told}."
results.figure(fig, "systems", alt, "Systems against fixed windows")
''')
md("RESULTS_SYSTEMS")
# Discuss: MoM's support below fixed windows' by both models? Is it the cut, the search, or the length of what is shown (words)?
# fixed@4 and fixed@16 say what length alone does. Answers (ROUGE-L).
md(r"""
## 6 · Global and local questions apart
""")
code('''
rows = {}
for name in (MOM, "memory.fused@8", "memory.chunk@8", "gold.rrf@8", "gold.fused@8"):
    rows[name] = []
    for key in ("recall", "told.smollm2", "rougeL"):
        for kind in ("global", "local"):
            of = less_fixed(name, key, kind)
            results.record(f"minus_fixed.{name}.{key}.{kind}", of)
            rows[name].append(str(of))
columns = [f"{key}, {kind}" for key in ("recall", "support", "ROUGE-L") for kind in ("global", "local")]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("less fixed.chunk@8")
''')
code('''
rows = {}
for units in ("memory", "gold"):
    a, b_ = (by_question[f"{units}.{way}@8"].loc[fixed.index] for way in ("rrf", FUSED))
    for key in ("recall", "told.smollm2", "told.embedded", "rougeL"):
        rows.setdefault(units, []).append(str(paired_bootstrap(a[key], b_[key], groups=books_of, seed=seed)))
        of = paired_bootstrap(a[key], b_[key], groups=books_of, seed=seed)
        results.record(f"rrf_minus_fused.{units}.{key}", of)
columns = ["recall", "support, base", "support, reader", "ROUGE-L"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("fused after less before")
''')
md("RESULTS_SCOPES")
md(r"""
The kept rankings and replies are the models' own. One way of the first novel, and one question asked again:
""")
varies('''
from mindscape.reader.evaluation import ask, value
from mindscape.roles import ROLES

again, _ = in_faiss.search(asked, TOP, "rrf")
before = [files.found("gold", "rrf", novel)[question.id][:TOP] for question in novel.questions]
same = np.mean([len(set(a) & set(b_)) / TOP for a, b_ in zip(again.tolist(), before, strict=True)])
results.record("live.ranks.same", same, n=len(before), varies="rounding")
reader, system = models.load(llm), System.of(MOM)
few = chosen[novel.document.id][: 1 if scale == "small" else 8]
texts, alike = files.contexts(system, novel, few), []
for question, text, old in zip(few, texts, files.replies(system, novel, few), strict=True):
    prompt = ROLES["qa"].prompt("en", context=text, question=question.question)
    alike.append(value("qa", *ask(reader, "qa", [prompt])[0].best) == old["said"])
results.record("live.replies.same", np.mean(alike), n=len(alike), varies="rounding")
print(f"{same:.0%} of the first eight are the kept ones; {sum(alike)} of {len(alike)} answers")
''')
md(r"""
## The paper says / we got / why they differ
""")
code('''
from mindscape import paper

table_3 = paper.table("mom_table3").pivot(index="method", columns="evaluator", values="support")
JUDGES, SETS = ["Qwen2.5-7B", "Qwen2.5-14B", "Qwen2-7B"], ["CRUD", "OmniEval", "MultiFieldQA"]
theirs = (table_3.loc["MoM MemReader-3B"] - table_3.loc["Original"])[JUDGES]
table_1 = paper.table("mom_table1")
rouge = table_1[table_1.metric == "ROUGE-L"].pivot(index="method", columns="dataset", values="value")
gain = (rouge.loc["MoM MemReader-3B"] - rouge.loc["Original"])[SETS]
after = paired_bootstrap(at_8["memory", "rrf"], at_8["memory", FUSED], groups=of_book, seed=seed)
rows = [
    ["support, MoM less fixed", ", ".join(f"{of:+.3f}" for of in theirs), "told.smollm2"],
    ["the same, second model", "", "told.embedded"],
    ["the same, without the question", "(as printed)", "untold.smollm2"],
    ["ROUGE-L, MoM less fixed", ", ".join(f"{of:+.3f}" for of in gain), "rougeL"],
]
rows = [[label, printed, str(against[MOM, key])] for label, printed, key in rows]
rows += [
    ["fused after less before, recall@8", "(argued, not measured)", str(after)],
]
pd.DataFrame(rows, columns=["", "the paper", "ours"]).set_index("")
''')
code('''
order = table_3.rank().astype(int)
results.record("paper.table3.mom_first", int((order.loc["MoM MemReader-3B"] == 1).sum()), n=3)
print("rank of MoM in Table 3:", order.loc["MoM MemReader-3B"].tolist(), "of", len(order))
print("what Table 1 compares:", ", ".join(rouge.index))
order.rename_axis("rank by S_support")
''')
md("RESULTS_PAPER")
# Discuss: sizes, datasets (news, finance, Chinese) against English novels; a reader of 135 M; the paper's comparison is of chunkers, its
# argument of section 3.2 has no experiment; ours has.
md(r"""
## Reading critically

**Support without the question.** The model must guess *what* is answered. Does the order of systems survive if it is told? Kendall's $\tau$ between the two orders, and between the two models':
""")
code('''
from scipy import stats

means = frame.groupby("system")[SUPPORT + ["rougeL", "recall"]].mean()
COMPARED = {
    "told and untold, base": ("told.smollm2", "untold.smollm2"),
    "told and untold, reader": ("told.embedded", "untold.embedded"),
    "base and reader, told": ("told.smollm2", "told.embedded"),
    "support (base) and recall": ("told.smollm2", "recall"),
    "support (base) and ROUGE-L": ("told.smollm2", "rougeL"),
}
rows = {}
for label, (one, two) in COMPARED.items():
    of = stats.kendalltau(means[one], means[two])
    inside = stats.spearmanr(frame[one], frame[two]).statistic
    results.record(f"critique.tau.{one}.{two}", of.statistic, n=len(means))
    rows[label] = [f"{of.statistic:+.2f}", f"{of.pvalue:.2f}", f"{inside:+.2f}"]
columns = ["Kendall's tau over systems", "p", "Spearman over questions"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md("RESULTS_TAU")
# Discuss: a good support score should go with recall (negative tau) and with answers; two models that share a base are one opinion and
# a half.
md(r"""
**Support and answers in the paper's own tables.** Both were measured on MultiFieldQA, eight methods each. Good support is low, good answers are high: the correlation should be well below zero.
""")
code('''
answers = table_1[table_1.dataset == "MultiFieldQA"]
answers = answers.pivot(index="method", columns="metric", values="value").loc[table_3.index]
rows = {}
for name in JUDGES:
    for metric in ("ROUGE-L", "METEOR"):
        of = stats.kendalltau(table_3[name], answers[metric])
        results.record(f"paper.table3.tau.{name}.{metric}", of.statistic, n=len(answers))
        rows[f"support by {name}, {metric}"] = [f"{of.statistic:+.2f}", f"{of.pvalue:.2f}"]
print("rank of fixed windows in support:", order.loc["Original", JUDGES].tolist(), "of", len(order))
pd.DataFrame.from_dict(rows, orient="index", columns=["Kendall's tau", "p"])
''')
md(r"""
It is below zero and, with eight methods, hardly beyond chance but for one of the three models. Fixed windows are third and second by support with two of them and sixth by answers: what a small difference in support is worth, the paper's own tables leave open.
""")
md(r"""
**How much is it the length?** The top eight of longer chunks are a longer context, which makes any name in it likelier and a small reader more confused. Fixed windows, four, eight and sixteen of them:
""")
code('''
SHOWN, rows = ["words", "recall", "told.smollm2", "untold.smollm2", "rougeL"], {}
for k in (4, 8, 16):
    some = frame[frame.system == f"fixed.chunk@{k}"]
    rows[f"fixed.chunk@{k}"] = [some[key].mean() for key in SHOWN]
per_doubling = paired_bootstrap(
    by_question["fixed.chunk@16"].loc[fixed.index, "told.smollm2"],
    fixed["told.smollm2"],
    groups=books_of,
    seed=seed,
)
results.record("critique.length.16_minus_8.s_support", per_doubling)
print(f"twice as many windows move support by {per_doubling}")
ratio = frame[frame.system == MOM].words.mean() / frame[frame.system == "fixed.chunk@8"].words.mean()
results.record("critique.length.mom_over_fixed", ratio)
print(f"MoM shows {ratio:.2f} times the words of fixed windows")
columns = ["words", "recall", "support", "support, untold", "ROUGE-L"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(2)
''')
md("RESULTS_LENGTH")
md(r"""
**Are three layers three views?** If the layers bring up the same units, fusing them has nothing to fuse; if they are hardly better than chance, RRF gives each of them a vote all the same. Units in common among the first eight, and recall of each layer beside units drawn by lot:
""")
code('''
def by_lot(units):
    # the mean recall of eight units drawn by lot
    rng, found = np.random.default_rng(seed), []
    for book in novels:
        chunks = files.chunks(units, book)
        for it in book.questions:
            drawn = [chunks[i] for i in rng.permutation(len(chunks))[:TOP]]
            found.append(recall(book.document, it.evidence, drawn))
    return np.mean(found)


rows = {}
for units in ("gold", "memory"):
    shared = {}
    for one, two in (("outline", "core"), ("outline", "chunk"), ("core", "chunk")):
        of = []
        for book in novels:
            a, b_ = files.found(units, one, book), files.found(units, two, book)
            of += [len(set(a[it.id][:TOP]) & set(b_[it.id][:TOP])) / TOP for it in book.questions]
        shared[f"{one} and {two}"] = np.mean(of)
        results.record(f"critique.shared.{units}.{one}.{two}", np.mean(of), n=len(of))
    layers = {f"recall, {layer}": at_8[units, layer].mean() for layer in LAYERS}
    rows[units] = shared | layers | {"recall, by lot": by_lot(units)}
    results.record(f"critique.lot.{units}.recall@8", rows[units]["recall, by lot"])
pd.DataFrame.from_dict(rows, orient="index").round(2).T
''')
md("RESULTS_VIEWS")
md(r"""
**What is "retrieved"?** The paper retrieves memories of three layers and does not say whether a reader is shown topic, core content or chunk, nor whether one unit found in three layers counts once. Here it counts once, and the chunk is shown. Had each layer filled its own places (the first three of each, then duplicates dropped), fewer units would be left:
""")
code('''
rows = {}
for units in ("gold", "memory"):
    sizes, found = [], []
    for book in novels:
        chunks = files.chunks(units, book)
        ranked = {layer: files.found(units, layer, book) for layer in LAYERS}
        for it in book.questions:
            three = [ranked[layer][it.id][:3] for layer in LAYERS]
            some = list(dict.fromkeys(i for place in zip(*three, strict=True) for i in place))[:TOP]
            sizes.append(len(some))
            found.append(recall(book.document, it.evidence, [chunks[i] for i in some]))
    lead = paired_bootstrap(found, at_8[units, "rrf"], groups=of_book, seed=seed)
    results.record(f"critique.slots_minus_rrf.{units}.recall", lead)
    rows[units] = [f"{np.mean(sizes):.1f}", f"{np.mean(found):.2f}", str(lead)]
columns = ["different units", "recall", "less RRF of eight"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("three places a layer")
''')
md(r"""
**Many comparisons.** Of so many systems against fixed windows one in twenty comes out "significant" by luck. With Holm's correction over all of them:
""")
code('''
rows = {}
for key in ("told.smollm2", "told.embedded", "rougeL"):
    p = np.array([against[name, key].p for name in names])
    order, adjusted, worst = np.argsort(p), np.ones(len(p)), 0.0
    for place, i in enumerate(order):
        worst = max(worst, min(1.0, (len(p) - place) * p[i]))
        adjusted[i] = worst
    results.record(f"critique.holm.{key}", int((adjusted < 0.05).sum()), n=len(p))
    kept_names = [name for name, of in zip(names, adjusted, strict=True) if of < 0.05]
    rows[key] = [int((p < 0.05).sum()), int((adjusted < 0.05).sum()), ", ".join(kept_names[:4]) or "–"]
pd.DataFrame.from_dict(rows, orient="index", columns=["p < 0.05", "after Holm", "which"])
''')
md("RESULTS_SUM")
# A closing paragraph: cut, search or length.
md(r"""
## Exercises

**1.** A unit is 1st by outline, 9th by core and 9th by chunk; another is 4th, 4th and 5th. Which one does RRF with $k = 60$ prefer, the first or the second?
""")
code('''
my_choice = None  # 1 or 2

expected = 1 if 1 / 61 + 2 / 69 > 2 / 64 + 1 / 65 else 2
print("right" if my_choice == expected else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

The second: $\frac1{61}+\frac2{69} = 0.0454 < 0.0466 = \frac2{64}+\frac1{65}$. One layer that is sure is outvoted by two that are not.

</details>

**2.** An answer of three tokens has the probabilities 0.5, 0.9 and 0.1. $\mathcal S_{\text{support}}$, in nats a token?
""")
code('''
my_support = None

expected = -np.log([0.5, 0.9, 0.1]).mean()
print("right" if my_support is not None and abs(my_support - expected) < 5e-3 else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

$-\frac13\ln(0.5\cdot0.9\cdot0.1) = 1.03$. A single surprising token (a name) decides.

</details>

**3.** Write the search by the *median* of the three layers' similarities, for the toy: the units' numbers, best first.
""")
code('''
def by_median(s):
    return None  # your code: s maps each layer to the similarities of the units


mine = by_median(s)
right = [1, 0, 2] if mine is None else np.argsort(-np.median(np.array(list(s.values())), axis=0)).tolist()
print("right" if mine is not None and list(mine) == right else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

```python
def by_median(s):
    middle = np.median(np.array(list(s.values())), axis=0)
    return np.argsort(-middle)
```

A median asks two layers to agree, where the maximum asks one and the sum all.

</details>
""")
code('''
results.finish()
''')
md(r"""
**Read next:** notebook [43](43_hmv_theorem.ipynb) puts the theorem to the test that is to justify this search.
""")
b.save()
