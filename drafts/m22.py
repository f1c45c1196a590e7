import sys; sys.path.insert(0,"/work/main/build/mk")
from nb import Book
b=Book("22_signature_rag"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 22 · Retrieval with a signature

*A question wakes a region of a memory, and five summaries stand for it. Does a second look, in their light, find more than the first?*

Paper: MiA-Signature, sections 3.1.2, 3.2.1, 3.2.2 and 4, appendix B (Eq. 4, Tables 1 and 3).

**You will** compute the two-part score by hand and see that it is one inner product; follow a question through both passes; compare signatures made in five ways on novels that share a town and on plays that share a cast; sweep $\alpha$; ask a reader with passages alone and with the signature beside them; and find out from the paper's own tables what "query-only" stands for.

**You need** notebooks [20](20_session_memory.ipynb) and [21](21_submodular_signatures.ipynb), and [12](12_mia_emb_training.ipynb) for both retrievers.

**It takes** about a minute on one core.
""")
code('''
scale = "small"  # "full": more is retrieved and asked live; "gpu": rankings and replies of your own
seed = 0
llm = "embedded"  # whose answers these are; "openai:NAME" for any compatible server
encoder = "embedded"  # of the toy of section 1; or "hf:NAME"
kept = ""  # folder of rankings and answers; the kit's own by default
''',"parameters")
code('''
from mindscape import results

results.begin("22_signature_rag", scale=scale, seed=seed, llm=llm, encoder=encoder, kept=kept)
''')
md(r"""
## 1 · Two scores in one

The first pass, by a retriever $\mathcal E_1$ that knows the question alone, wakes $K_0 = 50$ chunks and their sessions; $K = 5$ of these sessions become the signature $\sigma$ (notebook 21). The second pass, by $\mathcal E_2$, ranks all chunks by

$$s(c \mid q, \sigma) = (1 - \alpha)\, s_{\text{qry}}(c \mid q) + \alpha\, s_{\text{sig}}(c \mid \sigma) \qquad\text{(Eq. 4)}.$$

Six passages, two of them on goats. The question has only its own words; the signature has the storyline. Cosines of a sentence encoder, the signature as the mean of its vectors:
""")
code('''
import numpy as np
import pandas as pd

from mindscape import encoders

passages = [
    "The goats were fed at dawn.",
    "Eve carried hay to the upper farm.",
    "Tom sold a lamp at the fair.",
    "The goats of the abbey broke loose.",
    "Ivo sang at the inn until midnight.",
    "Whoever keeps the upper farm wears a blue apron.",
]
question = "Who fed the goats?"
signature = ("Eve keeps the upper farm.", "On the upper farm there are goats.")
sentence_encoder = encoders.load(encoder)
e = sentence_encoder.encode(passages).astype(float)
e_q = sentence_encoder.encode([question], "query")[0].astype(float)
parts = sentence_encoder.encode(list(signature)).astype(float)
e_sigma = parts.mean(0) / np.sqrt((parts.mean(0) ** 2).sum())
s_qry = [sum(a * b for a, b in zip(e_q, c, strict=True)) for c in e]
s_sig = [sum(a * b for a, b in zip(e_sigma, c, strict=True)) for c in e]
orders = {}
for alpha in (0, 0.5, 1):
    by_hand = [(1 - alpha) * a + alpha * b for a, b in zip(s_qry, s_sig, strict=True)]
    orders[alpha] = sorted(range(6), key=lambda i: -by_hand[i])
    print(f"alpha = {alpha}: passages {orders[alpha]}")
''')
code('''
from mindscape.signature.memory import build, given
from mindscape.signature.rag import Shelf
from mindscape.text import Chunk, Document

ends = np.cumsum([0, *(len(text) + 1 for text in passages)]).tolist()
document = Document("farm", " ".join(passages) + " ")
chunks = [Chunk("farm", i, *ends[i : i + 2]) for i in range(6)]
toy = Shelf(build(document, chunks, given(["Of goats and a fair.", "Of an inn."]), width=3), sentence_encoder)
for alpha, order in orders.items():
    library = toy.search([question], [signature], 6, alpha)[0]
    print(f"alpha = {alpha}: the library ranks {list(library)}; as by hand: {list(library) == order}")
''')
md(r"""
With the question alone both passages on goats lead. The signature knows where there are goats and who keeps the place: at $\alpha = 0.5$ passage 1, which shares no word with the question but "the", is past the abbey's goats, and at $\alpha = 1$ it is first, while the sentence that was asked for has fallen to the third place.

Scores are inner products, so Eq. 4 is one, too: $(1-\alpha)\,\mathbf h_q^\top \mathbf e_c + \alpha\,\mathbf h_\sigma^\top \mathbf e_c = \big((1-\alpha)\,\mathbf h_q + \alpha\,\mathbf h_\sigma\big)^\top \mathbf e_c$. In $\alpha$ each passage's score is a straight line, and the second pass is one search with one vector:
""")
code('''
from mindscape import plots

plots.use()
alpha = 0.25
mixed = (1 - alpha) * e_q + alpha * e_sigma
print("one vector, the same scores:", np.allclose(e @ mixed, (1 - alpha) * np.array(s_qry) + alpha * np.array(s_sig)))
fig, ax = plots.subplots(height=3)
for i, colour in enumerate(list(plots.PALETTE)[:6]):
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour]}
    ax.plot([0, 1], [s_qry[i], s_sig[i]], label=passages[i], **look)
ax.set(xlabel="α", ylabel="score", xlim=(-0.02, 1.02))
fig.legend(loc="outside right upper", fontsize=7)
alt = (
    "Scores of six passages against alpha, straight lines; the first of all "
    f"is passage {np.argmax(s_qry)} at 0 and passage {np.argmax(s_sig)} at 1."
)
results.figure(fig, "lines", alt, "Eq. 4 is a straight line in α")
''')
md(r"""
That is what MiA-RAG calls the residual (its Eq. 11, notebook 12): $\delta\,\mathbf h_q + (1 - \delta)\,\mathbf h_c$ with $\delta = 1 - \alpha$; here each part is brought to length 1 first, so that $\alpha$ weighs like with like. The retriever is the same. What is new is *what* it is told: not the book's summary but sessions that the question woke.

## 2 · A question on its way

Series of two novels; SFT-Emb is $\mathcal E_1$, MiA-Emb $\mathcal E_2$, MiniLM the encoder of Eq. 7 to 9 (the paper has BGE-M3). For $\mathbf h_\sigma$ the trained retriever reads signature and question *together*, and takes its state behind both (appendix B; ours reads the signature first, and the question's own vector takes a second reading, notebook 12). What both passes found is kept.
""")
code('''
from pathlib import Path

from transformers import AutoTokenizer

from mindscape import assets, paths, records
from mindscape.errors import InputError
from mindscape.signature import evaluation
from mindscape.signature.evaluation import FEEDBACK, QUERY, at

if llm != "embedded" and not kept:
    raise InputError(f"llm={llm!r}: expected kept, a folder with its answers")
folder, home = Path(kept) if kept else paths.data("signature"), paths.data("adapters")
BOTH = {"first": home / "sft_emb", "second": home / "mia_emb"}
ranks = evaluation.kept_ranks(folder / "ranks.jsonl", **BOTH)
about, _ = records.read(folder / "ranks.jsonl")
tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
towns = evaluation.collections("storyworld", tokenizer, about["split"], about["series"])
asked = [one for it in towns for one in it.questions if one.id in ranks]
town_of = {one.id: it for it in towns for one in (*it.questions, *it.claims)}
of_book = [one.doc_id for one in asked]
bound = np.array([bool(one.bindings) for one in asked])
results.record("questions", len(asked), rows=[one.id for one in asked])
print(f"{len(asked)} questions on {len(set(of_book))} books, {bound.sum()} need a binding (who is who)")
''')
code('''
one = next(one for one in asked if one.bindings)
row, memory = ranks[one.id], town_of[one.id].memory
print(f"{one.text}   evidence in chunks {one.evidence}, bindings stated in {one.bindings}")
print("woken:", row.woken[:8], "…, sessions", memory.of(row.woken)[:8], "…")
for way in ("first_k", "coverage", "gold"):
    held = [i for i in row.items[way] if set(one.evidence) & set(memory.items[i].chunks)]
    print(f"{way:8} sessions {row.items[way]}, of which hold evidence: {held}")
print("\\nthe first of the signature:", memory.items[row.items["coverage"][0]].text[:220], "…\\n")
for name, found in (("SFT-Emb", row.woken), ("MiA-Emb", row.found[QUERY]), ("with signature", row.found[at("coverage")])):
    places = [found.index(chunk) + 1 for chunk in one.evidence if chunk in found]
    print(f"{name:15} first ten {found[:10]}; evidence at {places or 'no place'}")
''')
md(r"""
Are the kept rankings the adapters' own? Some questions' first ten chunks, ranked again among themselves:
""")
varies('''
from mindscape.mia import embedding
from mindscape.signature.rag import Situated, blend

second = Situated(embedding.load(adapter=BOTH["second"]))
few = asked[:: len(asked) // 3][:3] if scale == "small" else asked[::10]
same = []
for one in few:
    memory, ten = town_of[one.id].memory, ranks[one.id].found[at("coverage")]
    told = tuple(memory.summaries[item] for item in ranks[one.id].items["coverage"])
    vectors = second.chunks([memory.texts[chunk] for chunk in ten])
    scores = blend(second.asked([one.text]) @ vectors.T, second.steered([one.text], [told]) @ vectors.T, 0.5)
    again = [ten[i] for i in np.argsort(-scores[0], kind="stable")]
    same.append(np.mean([a == b for a, b in zip(again, ten, strict=True)]))
results.record("live.ranks.same", np.mean(same), n=len(few), varies="bf16 or fp32")
print(f"{np.mean(same):.0%} of the chunks stand where they stood, {len(few)} questions")
''')
md(r"""
## 3 · What the signature finds (Tables 1 and 3, recall)

Recall@10 of the evidence. **Query-only** is MiA-Emb with the question alone, as in the paper. Signatures: the first five sessions (**First-K**), **coverage** (Algorithm 2), five of the woken ones by **lot**, those that hold most of the evidence (**gold**, which no system can know); and **feedback**, an old trick that needs no summaries: the five best *passages* of the first pass stand in the signature's place. **SFT-Emb** is the first pass by itself. Differences are paired, intervals draw whole books.
""")
code('''
from mindscape.metrics import bootstrap, paired_bootstrap, recall_fraction_at_k

SYSTEMS = {
    "sft_only": "",
    "query_only": QUERY,
    "first_k": at("first_k"),
    "signature": at("coverage"),
    "random": at("random"),
    "gold": at("gold"),
    "feedback": at(FEEDBACK),
}
PARTS = {"": np.full(len(asked), True), ".binding": bound, ".plain": ~bound}


def recall(rows, system, some=asked, k=10):
    """Of each question; without a system that of the first pass."""
    if not system:
        return np.array([recall_fraction_at_k(rows[one.id].woken, one.evidence, k) for one in some])
    return np.array([rows[one.id].recall(one, system, k) for one in some])


''')
code('''
def keep(key, a, b=None, some=None, groups=of_book):
    """Record and return a mean over questions, or a mean difference."""
    some = np.full(len(groups), True) if some is None else some
    drawn = {"groups": [group for group, it in zip(groups, some, strict=True) if it], "seed": seed}
    pair = [np.asarray(values)[some] for values in (a, b) if values is not None]
    of = (bootstrap if b is None else paired_bootstrap)(*pair, **drawn)
    results.record(key, of)
    return of
''')
code('''
found = {name: recall(ranks, system) for name, system in SYSTEMS.items()}
rows = {}
for name, values in found.items():
    rows[name] = [str(keep(f"rag.{name}.recall@10{part}", values, some=some)) for part, some in PARTS.items()]
    less = keep(f"rag.{name}_minus_query_only.recall@10", values, found["query_only"]) if name != "query_only" else ""
    rows[name].append(str(less))
columns = ["recall@10", "binding needed", "none needed", "less query-only"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
gap = keep("rag.signature_minus_query_only.recall@10", found["signature"], found["query_only"])
relative = gap.value / found["query_only"].mean()
results.record("rag.signature_minus_query_only.relative", relative)
print(f"signature less query-only: {gap}, {relative:+.0%} relative (the paper: +10.9 %)")
for other in ("query_only", "sft_only", "first_k", "random", "feedback"):
    name = other.removesuffix("_only") if other == "sft_only" else other
    key = f"rag.coverage_minus_{name}.recall@10"
    of = keep(key, found["signature"], found[other])
    parts_of = [keep(key + part, found["signature"], found[other], some) for part, some in PARTS.items() if part]
    print(f"coverage less {other:10} {of}; binding needed {parts_of[0]}, none needed {parts_of[1]}")
''')
code('''
fig, axes = plots.subplots(columns=2, height=3.2, sharex=True)
COLOURS = ["green", "purple", "orange", "blue", "sky", "yellow", "red"]
told = []
for ax, (part, title) in zip(axes, ((".binding", "a binding is needed"), (".plain", "none is needed")), strict=True):
    drawn = {"groups": [book for book, it in zip(of_book, PARTS[part], strict=True) if it], "seed": seed}
    shown = [bootstrap(values[PARTS[part]], **drawn) for values in found.values()]
    edges = [[getattr(of, edge) for of in shown] for edge in ("value", "low", "high")]
    plots.dots(ax, list(found), *edges, COLOURS)
    ax.set(title=title, xlabel="recall@10", xlim=(0, 1))
    told += [f"{name}, {title}: {of.value:.2f}" for name, of in zip(found, shown, strict=True)]
axes[1].set_yticklabels([])
alt = f"Recall at 10 by system with 95 percent intervals; {'; '.join(told)}."
results.figure(fig, "recall", alt, "What each signature finds")
''')
md(r"""
At the paper's weight, $\alpha = 0.5$, its gain does not come out: with the signature of Algorithm 2 recall@10 is 0.02 *below* that of the question alone, and zero lies within the interval. Where no binding is needed it changes nothing, where one is needed it points down. Among signatures, coverage is ahead of First-K and behind five sessions by lot, neither beyond chance. Gold sessions, 1.3 on average, gain 0.05 [0.00, 0.10]; they are shorter than the others, so this is no ceiling. *Feedback*, five passages in the signature's place, is ahead of the signature by 0.05 [0.00, 0.10], by 0.14 [0.03, 0.26] where a binding is needed, and not of the question alone beyond chance.

And the first pass alone, SFT-Emb, needs no help: 0.88. What the second pass is to mend is mostly there.
""")
md(r"""
**Without training.** The same with MiniLM in both passes; $s_{\text{sig}}$ is the cosine with the mean of the summaries, as in section 1:
""")
code('''
plain = evaluation.kept_ranks(folder / "ranks_minilm.jsonl", first="encoder:minilm", second="encoder:minilm")
bare = {name: recall(plain, system) for name, system in SYSTEMS.items() if name != "sft_only"}
rows = {}
for name, values in bare.items():
    of = keep(f"rag.minilm.{name}.recall@10", values)
    rows[name] = [str(of), ""]
    if name != "query_only":
        rows[name][1] = str(keep(f"rag.minilm.{name}_minus_query_only.recall@10", values, bare["query_only"]))
keep("rag.minilm.coverage_minus_first_k.recall@10", bare["signature"], bare["first_k"])
pd.DataFrame.from_dict(rows, orient="index", columns=["recall@10", "less query-only"])
''')
md(r"""
An encoder that was not trained to read a signature is behind with one, by 0.05 at the edge of chance, and by 0.12 with one drawn by lot, beyond it; coverage is ahead of First-K by 0.04, not beyond chance. The paper cites the like for summaries *appended* to a query (RQ1); here vectors are averaged.
""")
md(r"""
## 4 · How much signature?

$\alpha = 0.5$ in the paper, without a sweep. At $\alpha = 0$ the second pass is query-only; at 1 the question's own vector counts nothing (the trained retriever still reads it with the signature).
""")
code('''
fig, ax = plots.subplots(height=3)
curves = {"MiA-Emb": (ranks, "blue", found), "MiniLM": (plain, "orange", bare)}
told, ALPHAS = [], evaluation.ALPHAS
for name, (rows_of, colour, own) in curves.items():
    shown = [keep(f"alpha.{name}.{a:g}.recall@10", recall(rows_of, at("coverage", a))) for a in ALPHAS]
    values, lows, highs = ([getattr(of, edge) for of in shown] for edge in ("value", "low", "high"))
    hue = plots.PALETTE[colour]
    ax.plot(ALPHAS, values, color=hue, marker=plots.MARKERS[colour], label=name)
    ax.fill_between(ALPHAS, lows, highs, color=hue, alpha=0.15, linewidth=0)
    ax.axhline(own["query_only"].mean(), color=hue, linewidth=0.8, linestyle="--", marker="")
    told += [f"{name} at {a:g} {v:.2f}" for a, v in zip(ALPHAS, values, strict=True)]
ax.set(xlabel="α", ylabel="recall@10", ylim=(0, 1))
ax.legend()
alt = f"Recall at 10 against alpha, 95 percent bands, dashed query-only: {'; '.join(told)}."
results.figure(fig, "alpha", alt, "How much signature")
''')
md(r"""
The best point of such a curve flatters: it was chosen on the questions that it is then measured on. An honest best $\alpha$ is chosen on some of the series and measured on others: on five for the sixth, six times, or on three for the other three.
""")
code('''
series = np.array([towns.index(town_of[one.id]) for one in asked])  # a series is one memory
by_alpha = {a: recall(ranks, at("coverage", a)) for a in evaluation.ALPHAS}


def chosen(folds):
    """Recall of each question at the alpha that is best on the other folds, and these alphas."""
    found, best = np.zeros(len(asked)), []
    for fold in np.unique(folds):
        best.append(max(by_alpha, key=lambda a: by_alpha[a][folds != fold].mean()))
        found[folds == fold] = by_alpha[best[-1]][folds == fold]
    return found, best


halves, of_halves = chosen(series % 2)
honest, of_series = chosen(series)
print(f"chosen on the other half: {of_halves}; on the other {len(towns) - 1} series: {of_series}")
less = keep("alpha.chosen_by_halves_minus_query_only.recall@10", halves, found["query_only"])
print(f"by halves, less query_only: {less}")
gap = keep("alpha.chosen_minus_half.recall@10", honest, by_alpha[0.5])
print(f"recall@10 {honest.mean():.3f}, less alpha = 0.5: {gap}")
for name in ("query_only", "sft_only"):
    print(f"less {name}: {keep(f'alpha.chosen_minus_{name}.recall@10', honest, found[name])}")
''')
md(r"""
$\alpha = 0.5$ is too much for this retriever. The curve is highest at a quarter, 0.90, and falls steeply beyond a half. Chosen on five series for the sixth it is always a quarter, which is ahead of 0.5 beyond chance (+0.05), and of the question alone, too: +0.03 [0.01, 0.07], 3.3 points where the paper has 4.6. That is at half of the paper's weight, and it hangs by few series: three of the six gain, three neither gain nor lose, and by halves one half chooses $\alpha = 0$ and nothing is left of it. Over the first pass, SFT-Emb, it is +0.02 [-0.03, 0.06], not beyond chance. A possible reason for the smaller weight: MiA-Emb was trained on *one* summary of 400 tokens that names who is who in the whole book, and five sessions of two books are 760; how much of them concerns the question was not counted.
""")
md(r"""
## 5 · What a good signature says

A gold summary of a session tells who is who there. A question by trade or kin can be answered once its bindings are known. So: does the signature *state* the bindings (of each, a session in which some passage states it is among the five), does it *hold* the evidence (its sessions are among them), and which of the two brings the gain?
""")
code('''
def says(one, way):
    """Whether a signature's sessions state all bindings, and whether they hold all evidence."""
    memory = town_of[one.id].memory
    held = set().union(*(memory.items[i].chunks for i in ranks[one.id].items[way]))
    return all(held & set(group) for group in one.bindings), held >= set(one.evidence)


rows = {}
for way in ("first_k", "coverage", "random", "gold"):
    told = np.array([says(one, way) for one in asked])
    states = keep(f"signature.{way}.states_bindings", told[bound, 0], groups=np.array(of_book)[bound].tolist())
    holds = keep(f"signature.{way}.holds_evidence", told[:, 1])
    rows[way] = [str(states), str(holds)]
columns = ["states all bindings (where needed)", "holds all evidence"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
told = np.array([says(one, "coverage") for one in asked])
rows = {}
for label, some in (
    ("no binding needed", ~bound),
    ("bindings stated", bound & told[:, 0]),
    ("bindings not stated", bound & ~told[:, 0]),
    ("evidence held", told[:, 1]),
    ("evidence not held", ~told[:, 1]),
):
    groups = {book for book, it in zip(of_book, some, strict=True) if it}
    if some.sum() < 2 or len(groups) < 2:
        rows[label] = [int(some.sum()), "too few"]
        continue
    key = f"gain.{label.replace(' ', '_')}"
    rows[label] = [int(some.sum()), str(keep(key, found["signature"], found["query_only"], some))]
pd.DataFrame.from_dict(rows, orient="index", columns=["questions", "signature less query-only"])
''')
md(r"""
Coverage states the bindings of 43 % of the 30 questions that need them, First-K of 23 %, and lot of 17 % (the differences are not tested). Where they are stated the second pass gains, where they are not it loses: +0.09 and $-0.18$, on 13 and 17 questions, so neither is beyond chance. (It is no experiment either: bindings that are stated may be easier ones.) Nor is it holding the evidence that helps: where the signature's sessions have it, the difference is $-0.03$ [$-0.10$, 0.01], where they have not, +0.07 [0.00, 0.18]. Gold sessions state next to none, since they were picked for the evidence; a good signature would have to hold both, who is meant and where it happens.
""")
md(r"""
## 6 · Answers (Table 1)

The embedded reader answers each question as a choice of four and in free words, and judges claims, true and false ones in pairs. It sees four passages (of 60 tokens): of the query-only ranking; of the signature's (**retrieval**); the same with the signature beside them (**both**); with a signature of sessions by lot (**lot**); or the evidence itself, as a ceiling.
""")
code('''
from mindscape.signature.rag import score

said = evaluation.kept_answers(folder / "answers.jsonl")


def sets(its, said):
    """Choices, free questions and claims that were asked, of some collections."""
    choices = [one for it in its for one in it.questions if ("query_only", "choice", one.id) in said]
    claims = [one for it in its for one in it.claims if ("query_only", "claim", one.id) in said]
    return {"choice": choices, "qa": [evaluation.freely(one) for one in choices], "claim": claims}


def scored(asked_of, said, system, kind):
    """Scores and the books behind them; of `pair` one for both claims of a pair."""
    some = asked_of["claim" if kind == "pair" else kind]
    values = [score(one, said[system, one.kind, one.id]) for one in some]
    if kind != "pair":
        return values, [one.doc_id for one in some]
    pairs = {}
    for one, value in zip(some, values, strict=True):
        pairs.setdefault((one.doc_id, one.pair), []).append(value)
    return [min(both) for both in pairs.values()], [book for book, _ in pairs]
''')
code('''
MEASURES = {"choice": "accuracy", "qa": "f1", "claim": "claims", "pair": "pair_accuracy"}


def answered(asked_of, said, prefix):
    """Scores and books by system and measure, and their table."""
    values, rows = {}, {}
    for system in evaluation.SYSTEMS:
        for kind, measure in MEASURES.items():
            of, groups = values[system, kind] = scored(asked_of, said, system, kind)
            value = keep(f"{prefix}.{system}.{measure}", of, groups=groups)
            rows.setdefault(system, []).append(str(value))
    return values, pd.DataFrame.from_dict(rows, orient="index", columns=list(MEASURES.values()))


asked_of = sets(towns, said)
values, table = answered(asked_of, said, "rag")
for system in evaluation.SYSTEMS:
    unread = [not it.value for key, it in said.items() if key[0] == system]
    results.record(f"rag.{system}.unread", np.mean(unread), n=len(unread))
    print(f"{system:10} {len(unread)} replies, {sum(unread)} unreadable")
print({kind: len(some) for kind, some in asked_of.items()}, "asked of each")
table
''')
code('''
PAIRS = {
    "signature for retrieval less query-only": ("retrieval", "query_only"),
    "signature for both less query-only": ("both", "query_only"),
    "for both less for retrieval": ("both", "retrieval"),
    "a signature less one by lot": ("both", "lot"),
    "the evidence less query-only": ("evidence", "query_only"),
}


def compared(values, prefix):
    """The differences of two systems' scores."""
    rows = {}
    for label, (a, b) in PAIRS.items():
        for kind, measure in MEASURES.items():
            (one, groups), (other, _) = values[a, kind], values[b, kind]
            of = keep(f"{prefix}.{a}_minus_{b}.{measure}", one, other, groups=groups)
            rows.setdefault(label, []).append(str(of))
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(MEASURES.values()))


compared(values, "rag")
''')
md(r"""
With the passages that the signature finds all four measures are a little higher, by 0.06 to 0.09. With the signature shown as well, choices rise once more, to 0.64, and the rest falls: there are 760 tokens of other matter to read. No signature's difference from the question alone is beyond chance, with 36 questions and 24 pairs. One from a signature *by lot* is, on choices: +0.14 [0.03, 0.28] (one of twenty in the table, unadjusted). The evidence itself is worth +0.36 and +0.46: what limits choices and free answers is the four passages. On pairs the reader gets 0.42 even with the evidence.
""")
md(r"""
A few, asked again:
""")
varies('''
from mindscape import llm as models
from mindscape.signature.evaluation import system_answers

reader = models.load(llm)
few = asked_of["choice"][: 2 if scale == "small" else 20]
again = [system_answers(reader, town_of[one.id].memory, [one], ranks, "both")[0] for one in few]
same = np.mean([it.text == said["both", "choice", one.id].text for one, it in zip(few, again, strict=True)])
results.record("live.answers.same", same, n=len(few), varies="bf16 or fp32, and ties between tokens")
print(f"{same:.0%} of {len(few)} replies are the kept ones, to the letter\\n\\n{again[0].text}")
''')
md(r"""
## 7 · Shakespeare

Two series of plays that share characters, scenes for sessions, the kit's own summaries and questions. Neither adapter was trained on plays.
""")
code('''
plays = evaluation.collections("shakespeare", tokenizer)
on_plays = {
    "MiA-Emb": evaluation.kept_ranks(folder / "plays.jsonl", **BOTH),
    "MiniLM": evaluation.kept_ranks(folder / "plays_minilm.jsonl", first="encoder:minilm"),
}
rows = {}
for name, rows_of in on_plays.items():
    some = [one for it in plays for one in it.questions if one.id in rows_of]
    groups, key = [one.doc_id for one in some], f"plays.{name.lower().replace('-', '_')}"
    shown = {system: of for system, of in SYSTEMS.items() if of or name == "MiA-Emb"}
    of = {system: recall(rows_of, where, some) for system, where in shown.items()}
    for system, numbers in of.items():
        value = keep(f"{key}.{system}.recall@10", numbers, groups=groups)
        less = keep(f"{key}.{system}_minus_query_only.recall@10", numbers, of["query_only"], groups=groups)
        rows[f"{name}, {system}"] = [str(value), "" if system == "query_only" else str(less)]
    keep(f"{key}.coverage_minus_first_k.recall@10", of["signature"], of["first_k"], groups=groups)
print(f"{len(some)} questions on {len(set(groups))} plays")
pd.DataFrame.from_dict(rows, orient="index", columns=["recall@10", "less query-only"])
''')
code('''
said_there = evaluation.kept_answers(folder / "plays_answers.jsonl")
asked_plays = sets(plays, said_there)
play_values, table = answered(asked_plays, said_there, "plays")
print({kind: len(some) for kind, some in asked_plays.items()}, "asked")
table
''')
code('''
compared(play_values, "plays")
''')
md(r"""
Nothing is won on plays. Each retriever finds a tenth to a fifth of the evidence, and with the signature less than that, not beyond chance. Feedback is not the remedy here: with MiniLM it is below the question alone, $-0.05$ [$-0.09$, $-0.01$]. Choices lie between 0.13 and 0.40, where guessing has 0.25, for fifteen questions on five plays: they decide nothing.
""")
md(r"""
## The paper says / we got / why they differ
""")
code('''
from mindscape import paper

one_table = paper.table("mia_signature_table1")


def printed(method, retriever, metric, dataset="Avg.", generator="DS-V3.2"):
    """A number of Table 1; a signature reaches the generator where the method is MiA-RAG."""
    of = one_table[(one_table.method == method) & (one_table.retriever == retriever)]
    of = of[(of.generator == generator) & (of.metric == metric) & (of.dataset == dataset)]
    return of.value.item()


OURS = {"query-only": ("Query-only RAG", "query_only", "query_only")}
OURS |= {"for retrieval": ("MiA-Emb", "signature", "retrieval"), "for both": ("MiA-RAG", "signature", "both")}
rows = {}
for label, (method, of_recall, system) in OURS.items():
    rows[label] = [f"{printed(method, 'MiA-Emb', 'R@10'):.1f}", f"{100 * found[of_recall].mean():.1f}"]
    rows[label] += [f"{printed(method, 'MiA-Emb', 'Perf'):.1f}"]
    rows[label] += [f"{100 * np.mean(values[system, kind][0]):.1f}" for kind in ("choice", "qa", "pair")]
columns = ["R@10, paper", "ours", "performance, paper", "accuracy, ours", "F1", "pair accuracy"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("signature")
''')
code('''
init = paper.table("mia_signature_table3")
init = init[(init.method == "MiA-Emb") & (init.metric == "R@10")].pivot(index="dataset", columns="init", values="value")
apart = (init["Submodular"] - init["First-K"]).round(1).to_dict()
gap = keep("rag.coverage_minus_first_k.recall@10", found["signature"], found["first_k"])
exchanged = np.mean([len(set(ranks[one.id].items["coverage"]) - set(ranks[one.id].items["first_k"])) for one in asked])
results.record("rag.coverage_not_first_k", exchanged, n=len(asked))
print("coverage less First-K, R@10 in points, the paper:", apart)
print(f"ours: {100 * gap.value:+.1f} [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]")
print(f"{exchanged:.1f} of five sessions differ")
''')
md(r"""
The order of the paper comes out in one column, choices: 50, 56 and 64 % (not beyond chance). Recall does not follow it. With two books in place of up to eight the question alone finds 86 % where the paper's finds 42, so there is little to win back; five summaries are as long as fifteen of our passages; this MiA-Emb knows summaries of one book; and who answers has 135 million parameters. Coverage is ahead of First-K by 2.3 points, and the interval is five points wide on either side.
""")
md(r"""
## Reading critically

**Which question-only retriever?** Table 1's baseline is MiA-Emb *without* the signature that it was trained to expect. Notebook 12 found that MiA-Emb without a summary is worse than SFT-Emb, which was trained to do without. The paper has SFT-Emb's recall on the same series, in Table 5, and does not put both side by side:
""")
code('''
five = paper.table("mia_signature_table5")
five = five[(five["index"] == "series-book") & (five.k == 10)].set_index("dataset").recall
rows = {}
for name in five.index:
    alone, told = (printed(method, "MiA-Emb", "R@10", name) for method in ("Query-only RAG", "MiA-Emb"))
    rows[name] = [five[name], alone, told, told - alone, told - five[name]]
columns = ["SFT-Emb", "MiA-Emb alone", "with signature", "gain, as printed", "gain over SFT-Emb"]
table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
detective = table.loc[["DetectiveQA-EN", "DetectiveQA-ZH"]].mean()
table.loc["both benchmarks"] = (detective + table.loc["NarrativeQA"]) / 2
results.record("paper.gain_over_mia_alone", table.iloc[-1, 3])
results.record("paper.gain_over_sft", table.iloc[-1, 4])
ours = [100 * (found["signature"] - found[other]).mean() for other in ("query_only", "sft_only")]
print(f"ours: {ours[0]:+.1f} points over MiA-Emb alone, {ours[1]:+.1f} over SFT-Emb alone")
table.round(1)
''')
md(r"""
On the two benchmarks for which both are printed (DetectiveQA in two languages, averaged first as the paper does), two thirds of the gain are the baseline's handicap: against SFT-Emb, which the system runs anyway as its first pass, 6.8 points become 2.4, and on DetectiveQA in Chinese the second pass finds *less* than the first. "+10.9 %" is a ratio of means (46.7 / 42.1), 4.6 points, and of the four columns behind it one has nothing and one 0.2.
""")
code('''
for name in ("DetectiveQA-EN", "DetectiveQA-ZH", "NarrativeQA", "NovelHopQA"):
    alone, told = (printed(method, "MiA-Emb", "R@10", name) for method in ("Query-only RAG", "MiA-Emb"))
    print(f"{name:15} {told - alone:+.1f}")
alone, told = (printed(method, "MiA-Emb", "R@10") for method in ("Query-only RAG", "MiA-Emb"))
print(f"the averages: {alone} and {told}, {told - alone:+.1f} points, {told / alone - 1:+.1%}")
weak = [printed("Query-only RAG", "Qwen3-Emb", "R@10", "NovelHopQA", of) for of in ("Qwen-14B", "DS-V3.2")]
print(f"Qwen3-Emb on NovelHopQA: R@10 {weak[0]} with one generator, {weak[1]} with the other")
''')
md(r"""
(Recall@10 of one retriever cannot depend on who reads what it found; one of the last two numbers is not what its row says.)

**The price of five summaries.** Whoever shows the signature to the generator could show more passages instead. How many of ours fit into the same tokens, and what would the *first* pass alone have found among so many?
""")
code('''
def length(texts):
    return sum(len(ids) for ids in tokenizer(list(texts))["input_ids"])


for_signature, for_passage = [], []
for one in asked:
    memory = town_of[one.id].memory
    for_signature.append(length(memory.summaries[i] for i in ranks[one.id].items["coverage"]))
    for_passage.append(length(memory.texts[c] for c in ranks[one.id].woken[:10]) / 10)
more = round(np.mean(for_signature) / np.mean(for_passage))
results.record("price.signature_tokens", np.mean(for_signature), n=len(asked))
results.record("price.passages", more)
wider = recall(ranks, "", k=10 + more)
gap = keep("price.signature_minus_more_passages", found["signature"], wider)
print(f"a signature has {np.mean(for_signature):.0f} tokens, as {more} passages do")
print(f"SFT-Emb, {10 + more} passages: recall {wider.mean():.3f};", end=" ")
print(f"signature, 10 passages: {found['signature'].mean():.3f}")
print(f"signature less more passages: {gap}")
''')
code('''
fig, ax = plots.subplots(height=2.8)
lines = {"SFT-Emb": ("", "green", 50), "query_only": (QUERY, "purple", 10)}
lines["signature"] = (at("coverage"), "blue", 10)
for name, (system, colour, most) in lines.items():
    ks = range(1, most + 1)
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour], "markersize": 4}
    ax.plot(ks, [recall(ranks, system, k=k).mean() for k in ks], label=name, **look)
level, blue = found["signature"].mean(), plots.PALETTE["blue"]
ax.plot([10, 10 + more], [level, level], "--", color=blue, marker="")
ax.plot([10 + more], [level], "*", color=blue, markersize=11, label="ten and a signature")
ax.set(xlabel="passages, or as many tokens", ylabel="recall", ylim=(0, 1))
ax.legend(fontsize=8)
alt = (
    f"Recall against passages. With {10 + more}, the tokens of ten and a signature, SFT-Emb has "
    f"{wider.mean():.2f}; ten with the signature {level:.2f}."
)
results.figure(fig, "price", alt, "What the same tokens buy")
''')
md(r"""
To the retriever a signature costs no passages; to a generator that is shown it, it costs fifteen. With as many tokens of passages SFT-Emb alone finds 0.09 more of the evidence than ten passages with the signature do (at $\alpha = 0.25$ it would be 0.04). Showing it must earn more than that, and section 6 does not have it.
""")
md(r"""
**Summaries, or just more words of the right book?** Sessions by lot are from the woken region, too. How do they compare, and how many sessions of each signature are of the question's own book?
""")
code('''
rows = {}
for way in ("first_k", "coverage", "random"):
    purity = []
    for one in asked:
        memory = town_of[one.id].memory
        mine = memory.books[one.evidence[0]]
        purity.append(np.mean([memory.books[memory.items[i].chunks[0]] == mine for i in ranks[one.id].items[way]]))
    pure = keep(f"signature.{way}.own_book", purity)
    gain = keep(f"rag.{way}_gain", found["signature" if way == "coverage" else way], found["query_only"])
    rows[way] = [str(pure), str(gain)]
pd.DataFrame.from_dict(rows, orient="index", columns=["sessions of the question's book", "gain over query-only"])
''')
md(r"""
Two thirds of the sessions are of the right book, of those by lot 0.55: fifty chunks wake both books. The choice by Algorithm 2 keeps the question's own book no better than First-K does, and what it gains over lot in bindings does not reach the recall.

To sum up: at the paper's weight there is no gain over the question alone, at half of it there is one of 0.03, which hangs by few series; about two thirds of the gain in the paper's own tables is the handicap of its baseline, as printed (no interval can be given). Against SFT-Emb alone none of the second passes is ahead beyond chance, feedback neither.
""")
md(r"""
## Exercises

**1.** Passage A has $s_{\text{qry}} = 0.8$ and $s_{\text{sig}} = 0.1$, passage B 0.5 and 0.6. From which $\alpha$ on is B ahead?
""")
code('''
my_alpha = None

expected = (0.8 - 0.5) / ((0.8 - 0.5) + (0.6 - 0.1))
print("right" if my_alpha is not None and abs(my_alpha - expected) < 1e-9 else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

0.375: $(1-\alpha)\cdot 0.3 = \alpha\cdot 0.5$.

</details>

**2.** Fifty chunks wake twelve sessions; the evidence lies in two of them. Five are drawn by lot. What is the chance that *both* are among the five?
""")
code('''
import math

my_chance = None

expected = math.comb(10, 3) / math.comb(12, 5)
print("right" if my_chance is not None and abs(my_chance - expected) < 1e-6 else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

$\binom{10}{3}/\binom{12}{5} = 120/792 \approx 0.152$.

</details>

**3.** Instead of adding scores, add reciprocal ranks: $\sum 1/(60 + \text{rank})$ over the ranking without a signature and that of the signature alone, ranks from 1, ties by position. Write it.
""")
code('''
def fused(one, other, k=10):
    return None  # your code: the k best of two rankings


mine = fused([4, 7, 1], [7, 9, 4], 3)
print("right" if mine is not None and list(mine) == [7, 4, 9] else "not yet")
if mine is not None:
    row = {it.id: fused(ranks[it.id].found[QUERY], ranks[it.id].found[at("coverage", 1)]) for it in asked}
    of = np.mean([recall_fraction_at_k(row[it.id], it.evidence, 10) for it in asked])
    print(f"recall@10 {of:.3f}, Eq. 4 {found['signature'].mean():.3f}")
''')
md(r"""
<details><summary>Solution</summary>

```python
def fused(one, other, k=10):
    score = {}
    for ranking in (one, other):
        for rank, chunk in enumerate(ranking, start=1):
            score[chunk] = score.get(chunk, 0) + 1 / (60 + rank)
    return sorted(score, key=lambda chunk: (-score[chunk], chunk))[:k]
```

</details>
""")
code('''
results.finish()
''')
md(r"""
**Read next:** notebook [23](23_signature_agent.ipynb), in which a model rewrites question and signature as it goes.
""")
b.save()
