import sys; sys.path.insert(0,"/work/main/build/drafts")
from nb import Book
b=Book("40_memory_extraction"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 40 · A document memory and who says where a chunk ends

*A text becomes an outline, core contents and chunks. A model may read it in several ways: which reading is the best one, and does the score that decides know where the text turns?*

Paper: MoM, sections 3.1.1, 3.1.2 and 4.3, appendix A.3 (Tables 2 and 4).

**You will** turn a reply in MoM's form into spans that tile a text, whatever the reply says; compute clarity and completeness by hand; try five meanings of a "probability of a border" on borders that are known; see what eight readings in place of one buy; and set eight ways to cut a text side by side at one mean length.

**You need** notebook [01](01_the_reader.ipynb) for the roles. MemReader, which writes the memories, is trained in [41](41_memreader.ipynb).

**It takes** TIME on one core.
""")
code('''
scale = "small"  # "full": more is asked live; "gpu": the same, for models of your own
seed = 0
llm = "smollm2"  # whose probabilities are taken; or "hf:NAME"
adapter = ""  # folder of MemReader's adapter; the kit's own by default
kept = ""  # folder of what was measured beforehand; the kit's own by default
moc = ""  # "hf:NAME" of MoC's MetaChunker, to run it on a novel
''',"parameters")
code('''
from mindscape import results

results.begin(
    "40_memory_extraction", scale=scale, seed=seed, llm=llm, adapter=adapter, kept=kept, moc=moc
)
''')
md(r"""
## 1 · Three things of one length

A document memory $M_{\text{doc}}=\{O,C,A\}$ has $n$ topics (the *outline* $O$), $n$ *core contents* $C$ and $n$ *chunks* $A$. The chunks are places in the text that follow each other from its beginning to its end: they *tile* it.
""")
code('''
from mindscape.mom.memory import DocumentMemory, tiles
from mindscape.text import Document, Span

note = Document(
    "note",
    "It rained all morning. The mill stood still, and nobody came.\\n\\n"
    "In the evening Ivo lit the copper lamp. He read until the oil was gone.\\n\\n"
    "On Friday the bridge was opened. Ann cut the ribbon, and the band played.",
)
borders = [note.text.index(words) for words in ("In the evening", "On Friday")]
places = zip([0, *borders], [*borders, len(note.text)], strict=True)
memory = DocumentMemory(
    outline=["a wet morning", "an evening with a lamp", "the new bridge"],
    core=["Rain kept the mill still.", "Ivo read by lamplight.", "Ann opened the bridge."],
    chunks=[Span(*place) for place in places],
)
for topic, core, chunk in zip(memory.outline, memory.core, memory.chunks, strict=True):
    print(f"{chunk.start:3} to {chunk.end:3}  {topic:22}  {core}")
print("n =", len(memory), " tiles the text:", tiles(note, memory.chunks))
''')
md(r"""
A model does not write chunks out. It gives of each the first words, `[MASK]` and the last words (Table 4). By hand: a chunk begins where its first words stand.
""")
code('''
import re

reply = """<think>Three parts, told apart by their time.</think>
<outline>
- a wet morning
- an evening with a lamp
- the new bridge
</outline>
<scenario>
<chunk>It rained all morning. [MASK] and nobody came.</chunk>
Rain kept the mill still.
</scenario>
<scenario>
<chunk>In the evening Ivo [MASK] oil was gone.</chunk>
Ivo read by lamplight.
</scenario>
<scenario>
<chunk>On Friday the bridge [MASK] the band played.</chunk>
Ann opened the bridge.
</scenario>"""
heads = [it.partition("[MASK]")[0].strip() for it in re.findall(r"<chunk>(.*?)</chunk>", reply)]
print("by hand:", [note.text.index(head) for head in heads][1:])
''')
code('''
from mindscape.mom.memory import resolve
from mindscape.roles.memory import MEMORY

said, _ = MEMORY.parse(reply)
read_back = resolve(note, said)
print("the library:", list(read_back.memory.borders), " the same memory:", read_back.memory == memory)
''')
md(r"""
That was a faultless reply. Words get lost, changed, given twice or in the wrong order. One rule decides, *a chunk begins where its first words stand and lasts until the next one begins*, and every departure from it is counted under a name:
""")
code('''
RAIN = ("It rained", "nobody came.")
LAMP = ("In the evening", "was gone.")
BRIDGE = ("On Friday", "played.")
SLIPS = {
    "all right": [RAIN, LAMP, BRIDGE],
    "the middle one left out": [RAIN, BRIDGE],
    "the first runs too far": [("It rained", "was gone."), LAMP, BRIDGE],
    "begins late": [LAMP, BRIDGE],
    "first words made up": [RAIN, ("Nobody knew", "was gone."), BRIDGE],
    "last words made up": [RAIN, ("In the evening", "and slept."), BRIDGE],
    "ends the wrong way round": [RAIN, ("On Friday", "In the evening")],
    "wrong order": [RAIN, BRIDGE, LAMP],
    "one said twice": [RAIN, RAIN, LAMP, BRIDGE],
    "nothing that stands there": [("Once upon", "a time."), ("They lived", "ever after.")],
    "nothing at all": [],
}
''')
code('''
import pandas as pd

from mindscape.mom.memory import RULES, tile

rows = {}
for slip, ends in SLIPS.items():
    found = tile(note, ends)
    starts = [note[chunk].strip()[:9] for chunk in found.chunks]
    rows[slip] = [" | ".join(starts), ", ".join(found.repairs) or "–", tiles(note, found.chunks)]
pd.DataFrame.from_dict(rows, orient="index", columns=["chunks begin", "repairs", "tiles"])
''')
code('''
for name, rule in RULES.items():
    print(f"{name:16} {rule}")
''')
md(r"""
A property is worth more than a list of cases: *whatever is said, the spans tile the document.* Three thousand texts of odd pieces, with ends that stand in them, stand elsewhere, are changed, made up or empty:
""")
code('''
import random
from collections import Counter

PIECES = ["It rained. ", "Ivo left. ", "\\n\\n", "[MASK]", "<b>", "他来了。", "“so”", "ﬁ"]
chance, repairs, good, tried = random.Random(seed), Counter(), 0, 3000
for _ in range(tried):
    text = "".join(chance.choices(PIECES, k=chance.randint(1, 30))) + "end"
    ends = []
    for _ in range(chance.randint(0, 6)):
        at, size = chance.randrange(len(text)), chance.randint(1, 12)
        true = text[at : at + size]
        pick = [true, true.swapcase(), text[size:], "made up", "", "\\ud800"]
        ends.append((chance.choice(pick), chance.choice(pick)))
    odd = Document("odd", text)
    found = tile(odd, ends)
    good += tiles(odd, found.chunks)
    repairs += found.repairs
results.record("memory.tiles", good / tried, n=tried)
print(f"tiled: {good} of {tried}; repairs: {dict(repairs.most_common(6))}")
''')
md(r"""
## 2 · Two scores by hand

Of $N$ candidate memories for a text MoM keeps the one with the best two scores. **Clarity** is the mean, over the borders between neighbouring chunks, of what a language model says about a border there, $\mathcal S_{\text{clarity}} = \frac1{n-1}\sum_i P(b_{i,i+1}\mid a_i,a_{i+1})$. **Completeness** rewards core contents $c_i$ that make their chunk likely and are short, $\mathcal S_{\text{comp}} = \frac1n\sum_i \frac{1}{\mathrm{PPL}(a_i\mid c_i)\,\log|c_i|}$, with PPL the perplexity and $|c_i|$ the number of tokens.

How a model is asked for a border the paper does not say. Here is one way: as a question, whose answer is yes or no.
""")
varies('''
import numpy as np

from mindscape import llm as models
from mindscape.mom.extraction import ANSWERS, ASKED, clarity

judge = models.load(llm)
parts = [note[chunk].strip() for chunk in memory.chunks]
by_hand = []
for before, after in zip(parts, parts[1:], strict=False):
    question = ASKED["en"].format(a=before, b=after)
    scores = judge.score([{"role": "user", "content": question}], list(ANSWERS["en"]))
    yes, no = (np.exp(score.logprob) for score in scores)
    by_hand.append(yes / (yes + no))
print("borders:", np.round(by_hand, 2), f" mean {np.mean(by_hand):.3f}")
print(f"the library: {clarity(judge, note, [memory.chunks])[0]:.3f}")
''')
varies('''
from mindscape.mom.extraction import completeness

terms = []
for part, core in zip(parts, memory.core, strict=True):
    perplexity = judge.score(f"{core}\\n\\n", [part])[0].perplexity
    length = judge.count_tokens(core)
    terms.append(1 / (perplexity * np.log(length)))
    print(f"PPL {perplexity:6.1f}, |c| = {length}: {terms[-1]:.4f}")
print(f"by hand {np.mean(terms):.4f}, the library {completeness(judge, note, [memory])[0]:.4f}")
''')
md(r"""
The two have different scales, so candidates are ranked by each and the ranks are fused: $\mathcal S_{\text{RRF}} = \frac1{k+\text{rank}_{\text{clarity}}}+\frac1{k+\text{rank}_{\text{comp}}}$ with $k=60$. Three candidates:
""")
code('''
from mindscape.mom.extraction import K, choose

clear, complete = [0.62, 0.60, 0.20], [0.010, 0.300, 0.020]
fused = []
for i in range(3):
    rank_clear = 1 + sum(other > clear[i] for other in clear)
    rank_complete = 1 + sum(other > complete[i] for other in complete)
    fused.append(1 / (K + rank_clear) + 1 / (K + rank_complete))
choice = choose(clear, complete)
print("by hand:    ", np.round(fused, 5), " best:", int(np.argmax(fused)))
print("the library:", choice.fused.round(5), " best:", choice.best)
''')
md(r"""
## 3 · What is the probability of a border?

The formula has a probability, the means in Table 2 do not: two of them are negative.
""")
code('''
from mindscape import paper

table_2 = paper.table("mom_table2").set_index("method")
table_2
''')
md(r"""
So $P(b\mid a_i,a_{i+1})$ must be something else. Five readings, all larger where a border is clearer:
""")
code('''
from mindscape.mom.extraction import READINGS

# can it be below zero, by its formula?
NEGATIVE = {"yes": "never", "log_odds": "yes", "margin": "yes", "nats": "yes", "perplexity": "yes"}
printed = table_2.filter(like="clarity").to_numpy()
print(f"Table 2: from {printed.min():.3f} to {printed.max():.3f}")
for name, meaning in READINGS.items():
    print(f"{name:10} below zero: {NEGATIVE[name]:5}  {meaning}")
''')
md(r"""
The storyworld knows its borders. On test novels: places where a scene begins; between paragraphs of a scene; between sentences of a paragraph; in the middle of a sentence, where windows of fixed length cut. 600 characters on both sides were shown to two judges, the base as it comes and the kit's reader (the same with its adapter). The mean of each reading by kind of place:
""")
code('''
from pathlib import Path

from mindscape import paths
from mindscape.errors import InputError
from mindscape.mom import trials

folder = Path(kept) if kept else paths.data("mom")
about, stored = trials.read(folder / "borders.jsonl")
frames = [
    pd.DataFrame({"judge": row["judge"], "book": row["book"], "kind": row["kind"], **row["values"]})
    for row in stored.values()
]
known = pd.concat(frames, ignore_index=True).dropna()
if llm not in set(known.judge):
    raise InputError(f"{folder / 'borders.jsonl'} has no judge {llm!r}: expected one made with --judge {llm}")
JUDGES = {llm: "base", "embedded": "reader"}
means = known.groupby(["judge", "kind"])[list(READINGS)].mean()
print(f"{len(known)} values at places of {known.book.nunique()} novels")
means.reindex(pd.MultiIndex.from_product([JUDGES, trials.PLACES])).round(2)
''')
md(r"""
A reading is worth something if it tells scene borders from the rest. Pearson's correlation of its value with *a scene begins here* (1 or 0), whole novels drawn for the interval; Spearman's beside it, which a few huge values cannot rule:
""")
code('''
from scipy import stats

from mindscape.metrics import bootstrap, paired_bootstrap


def pearson(x, y, groups=None):
    # Pearson's correlation with its interval; whole groups are drawn
    x, y = np.asarray(x, float), np.asarray(y, float)

    def of(places, axis):
        a, b = x[places.astype(int)], y[places.astype(int)]
        a, b = (it - it.mean(axis, keepdims=True) for it in (a, b))
        return (a * b).sum(axis) / np.sqrt((a**2).sum(axis) * (b**2).sum(axis) + 1e-300)

    return bootstrap(np.arange(len(x)), of, groups=groups, resamples=1000, seed=seed)


''')
code('''
rows, found = {}, {}
for judge_name, label in JUDGES.items():
    some = known[known.judge == judge_name]
    is_scene, novels_of = (some.kind == "scene").to_numpy(float), list(some.book)
    for name in READINGS:
        of = found[label, name] = pearson(some[name], is_scene, novels_of)
        tag = f"clarity.{name}.pearson" + ("" if label == "base" else ".reader")
        results.record(tag, of)
        rho = stats.spearmanr(some[name], is_scene).statistic
        results.record(tag.replace("pearson", "spearman"), rho, n=len(some))
        rows[label, name] = [str(of), f"{rho:.2f}", f"{(some[name] < 0).mean():.0%}"]
columns = ["Pearson", "Spearman", "below zero"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
from mindscape import plots

plots.use()
fig, ax = plots.subplots(height=3.2)
labels = [f"{name}, {label}" for label, name in found]
of = list(found.values())
colours = ["blue"] * len(READINGS) + ["orange"] * len(READINGS)
plots.dots(ax, labels, [it.value for it in of], [it.low for it in of], [it.high for it in of], colours, zero=True)
ax.set(xlabel="correlation with known scene borders", xlim=(-0.6, 1))
told = "; ".join(f"{label} {it.value:.2f}" for label, it in zip(labels, of, strict=True))
alt = f"Pearson correlation of each reading of clarity with known borders: {told}."
results.figure(fig, "readings", alt, "Which reading knows a border")
''')
md("RESULTS_READINGS")
# Discuss: which of the five readings tells scene borders from the rest, for the base and for the reader; which have the signs of
# Table 2 (fixed windows a little below zero, the others between 0.15 and 0.5: margin or log-odds would, nats and perplexity are
# negative wherever context helps, "yes" never is); that "margin" and "yes" are monotone in log-odds only as long as P(yes)+P(no)=1.
md(r"""
The kept values are the judge's own; four places again:
""")
varies('''
from mindscape.mom.extraction import readings
from mindscape.reader.evaluation import books

novels = {book.document.id: book for book in books("test")}
row = next(row for row in stored.values() if row["judge"] == llm)
novel, few = novels[row["book"]], range(2 if scale == "small" else len(row["at"]))
pairs = [trials.sides(novel.document, row["at"][i]) for i in few]
again = readings(judge, pairs)
off = max(abs(again[name][i] - row["values"][name][i]) for name in ("yes", "nats") for i in few)
results.record("live.borders.max_error", off, n=len(few), varies="rounding")
print(f"{len(few)} places: kept and new differ by at most {off:.0e} (expected: below 1e-02)")
''')
md(r"""
## 4 · Eight readings of a text

MemReader read excerpts of test novels (two to four scenes each) eight times, with temperature 0.7 and top-p 0.8. What it wrote is kept. How many replies could be read, do all memories tile, and what had to be mended?
""")
code('''
from transformers import AutoTokenizer

from mindscape import assets
from mindscape.mom.memreader import story_cases
from mindscape.roles.scores import border_f1

tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
_, rows_of = trials.read(folder / "paths.jsonl")
cases = [case for case in story_cases(list(novels.values()), tokenizer) if case.document.id in rows_of]
sampled = [trials.candidates(case, rows_of[case.document.id]) for case in cases]
N = len(rows_of[cases[0].document.id]["replies"])
read_ = sum(len(one.memories) for one in sampled)
tiled = [tiles(one.case.document, it.chunks) for one in sampled for it in one.memories]
mended = Counter()
for one in sampled:
    mended.update(sum((Counter(it) for it in one.repairs), Counter()))
results.record("paths.valid", read_ / (N * len(cases)), n=N * len(cases))
results.record("paths.tiles", np.mean(tiled), n=len(tiled))
print(f"{len(cases)} excerpts x {N} paths: {read_ / (N * len(cases)):.0%} can be read")
print(f"of these {np.mean(tiled):.0%} tile (expected: 100%)")
print("repairs:", dict(mended.most_common(6)))
''')
md(r"""
Of the first $N$ paths one is chosen: by clarity, by completeness, by both (RRF); by lot, as the mean over all; and by somebody who knows the right borders (*best*). How near is it to the borders of the log (F1, a border may miss by 20 characters)? A reply that cannot be read gives no choice; where none can, the score is 0.
""")
code('''
def quality(one):
    return np.array([border_f1(one.case.memory.borders, it.borders) for it in one.memories])


def chosen(one, first, rule, reading="yes", short="raw"):
    # border F1 of what a rule picks among the first so many paths
    some = [i for i, path in enumerate(one.seeds) if path < first]
    if not some:
        return 0.0
    f1, clear, complete = (of[some] for of in (quality(one), one.clarity[reading], one.completeness[short]))
    if rule == "lot":
        return f1.mean()
    if rule == "best":
        return f1.max()
    if rule == "RRF":
        return f1[choose(clear, complete).best]
    scores = np.nan_to_num({"clarity": clear, "completeness": complete}[rule], nan=-np.inf)
    return f1[int(np.argmax(scores))]


''')
code('''
RULE_LOOK = dict(zip(("lot", "clarity", "completeness", "RRF", "best"), plots.PALETTE, strict=False))
in_book = [case.group for case in cases]
curves = {
    rule: np.array([[chosen(one, first, rule) for one in sampled] for first in range(1, N + 1)])
    for rule in RULE_LOOK
}
rows = {}
for rule, values in curves.items():
    of = bootstrap(values[-1], groups=in_book, seed=seed)
    gain = paired_bootstrap(values[-1], values[0], groups=in_book, seed=seed)
    lead = paired_bootstrap(values[-1], curves["lot"][-1], groups=in_book, seed=seed)
    results.record(f"paths.{rule.lower()}.boundary_f1", of)
    results.record(f"paths.{rule.lower()}.gain_over_one", gain)
    results.record(f"paths.{rule.lower()}.minus_lot", lead)
    rows[rule] = [str(of), str(gain), str(lead) if rule != "lot" else ""]
columns = [f"border F1 at N = {N}", "less N = 1", "less by lot"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
fig, ax = plots.subplots(height=3)
for rule, colour in RULE_LOOK.items():
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour], "markersize": 5}
    ax.plot(range(1, N + 1), curves[rule].mean(1), label=rule, **look)
ax.set(xlabel="paths N", ylabel="border F1 of the one chosen")
ax.legend(fontsize=8, ncols=2)
told = ", ".join(f"{rule} {values[0].mean():.2f} to {values[-1].mean():.2f}" for rule, values in curves.items())
results.figure(fig, "paths", f"Border F1 by number of paths, from 1 to {N}: {told}.", "What N buys")
''')
md("RESULTS_PATHS")
# Discuss: what is there to be had (best) against what the scores pick; whether RRF is ahead of a path by lot; what part of the gain
# comes only from replies that cannot be read (with more paths some path can be read).
md(r"""
**Do the scores know a good memory?** Within each excerpt, over its candidates, the correlation of each score with border F1 (pairs with the excerpt's mean taken off; whole novels drawn):
""")
code('''
def within(score):
    # score and border F1 of each candidate, less their means in the excerpt, and its novel
    found = [[], [], []]
    for one in sampled:
        values, f1 = score(one), quality(one)
        there = np.isfinite(values)  # neither a single chunk nor a core content of one token
        if there.sum() > 1:
            found[0] += list(values[there] - values[there].mean())
            found[1] += list(f1[there] - f1[there].mean())
            found[2] += [one.case.group] * int(there.sum())
    return found


rows = {}
for name in READINGS:
    of = pearson(*within(lambda one, name=name: one.clarity[name]))
    results.record(f"paths.clarity.{name}.pearson", of)
    rows[f"clarity, {name}"] = [str(of), of.n]
for short in ("raw", "shifted", "floored"):
    of = pearson(*within(lambda one, short=short: one.completeness[short]))
    results.record(f"paths.completeness.{short}.pearson", of)
    rows[f"completeness, {short}"] = [str(of), of.n]
pd.DataFrame.from_dict(rows, orient="index", columns=["correlation with border F1", "candidates"])
''')
md("RESULTS_KNOW")
md(r"""
## 5 · Ways to cut

Every way has one interface, `cut(document, size)`, and the same mean length, since longer chunks hold more evidence each. On the note, with about 15 tokens a chunk:
""")
varies('''
from mindscape import encoders
from mindscape.mom import chunkers as cuts

encoder = encoders.load()
WAYS = {
    "fixed": cuts.Fixed(tokenizer),
    "sentences": cuts.Sentences(tokenizer),
    "llama_index": cuts.LlamaIndex(tokenizer),
    "semantic": cuts.Semantic(encoder, tokenizer),
    "lumber": cuts.Lumber(judge, tokenizer, theta=60, by="score"),
    "mom": cuts.Remembered(lambda document: memory, tokenizer),
}
for name, way in WAYS.items():
    try:
        chunks = way.cut(note, 15).chunks
        print(f"{name:11}", " | ".join(note[chunk].strip()[-14:].replace("\\n", " ") for chunk in chunks))
    except InputError as error:
        print(f"{name:11} {str(error)[:60]}…")
''')
md(r"""
What is printed is how each chunk ends. LlamaIndex is no requirement of the kit; `sentences` does nearly what its splitter does. MoC's MetaChunker is any model that lists chunks by their ends: `meta_chunker("hf:NAME")`, with the owners' prompt as `prompts`. With the base in its place, to see the interface (a reply that is no list makes the window one chunk, and is counted):
""")
varies('''
from dataclasses import replace

source = moc or f"hf:{assets.language_model()}"
meta = replace(cuts.meta_chunker(source), max_new_tokens=24 if not moc else 512)
cut = meta.cut(note if not moc else novel.document, None)
print(f"{meta.name}: {len(cut.chunks)} chunk(s), {dict(cut.counts)}")
''')
md(r"""
On test novels, chunks of 200 tokens in the mean. *lumber* asks the base where the subject changes and takes the likeliest answer; *llm* has the base list chunks; *mom* is MemReader, one greedy path a window of 600 tokens; *scenes* are the true ones. Models cut as they like and are then merged or split to the common length. For a few questions a novel, asked with the names that their evidence uses, the best eight chunks by MiniLM are shown: recall of the evidence, $\mathcal S_{\text{support}}$ of the gold answer (nats a token, less is better; notebook [42](42_three_layer_retrieval.ipynb)) by the base and by the reader, and ROUGE-L of the reader's answer.
""")
code('''
from mindscape.metrics import rouge_l

_, cut_rows = trials.read(folder / "chunkers.jsonl")
by_question, by_cut = [], []
for row in cut_rows.values():
    asked = {question.id: question.answer for question in novels[row["book"]].questions}
    about = {"chunker": row["chunker"], "book": row["book"]}
    clear = {name: np.nanmean(np.array(values, float)) for name, values in row["clarity"].items()}
    evened = sum(row["counts"].get(name, 0) for name in ("merged", "split"))
    by_cut.append({**about, "tokens": row["mean_tokens"], "evened": evened, **clear})
    for i, one in enumerate(row["questions"]):
        of = {name: values[i] for name, values in row["support"].items()}
        rouge = rouge_l(row["answers"][i], asked[one], "en")
        by_question.append(
            {**about, "question": one, **of, "recall": row["recall"][i], "rouge": rouge}
        )
by_question, by_cut = pd.DataFrame(by_question), pd.DataFrame(by_cut)
NAMES = list(dict.fromkeys(by_cut.chunker))
print(f"{len(NAMES)} ways, {by_cut.book.nunique()} novels, {by_question.question.nunique()} questions")
''')
code('''
SCORES = {
    "s_support": llm,
    "s_support.reader": "embedded",
    "rougeL": "rouge",
    "recall@8": "recall",
}
rows, shown = {}, {}
for name in NAMES:
    cut, asked = by_cut[by_cut.chunker == name], by_question[by_question.chunker == name]
    several = {"clarity": bootstrap(cut["yes"], seed=seed)}
    for key, column in SCORES.items():
        several[key] = bootstrap(asked[column], groups=list(asked.book), seed=seed)
    for key, of in several.items():
        results.record(f"chunker.{name}.{key}", of)
    for reading in ("margin", "log_odds", "nats", "perplexity"):
        results.record(f"chunker.{name}.clarity.{reading}", cut[reading].mean(), n=len(cut))
    results.record(f"chunker.{name}.tokens", cut.tokens.mean(), n=len(cut))
    shown[name] = several
    rows[name] = [f"{cut.tokens.mean():.0f}", f"{cut.evened.mean():.0f}", *map(str, several.values())]
''')
code('''
columns = ["tokens", "merged, split", "clarity (yes)", "S_support, base", "S_support, reader"]
pd.DataFrame.from_dict(rows, orient="index", columns=[*columns, "ROUGE-L", "recall@8"])
''')
code('''
rows, fixed = {}, by_question[by_question.chunker == "fixed"].set_index("question")
windows = by_cut[by_cut.chunker == "fixed"].set_index("book")
for name in NAMES:
    if name == "fixed":
        continue
    cut = by_cut[by_cut.chunker == name].set_index("book").loc[windows.index]
    mine = by_question[by_question.chunker == name].set_index("question").loc[fixed.index]
    several = {"clarity": paired_bootstrap(cut["yes"], windows["yes"], seed=seed)}
    for key, column in SCORES.items():
        several[key] = paired_bootstrap(
            mine[column], fixed[column], groups=list(fixed.book), seed=seed
        )
    for key, of in several.items():
        results.record(f"chunker.{name}_minus_fixed.{key}", of)
    rows[name] = list(map(str, several.values()))
columns = ["clarity (yes)", "S_support, base", "S_support, reader", "ROUGE-L", "recall@8"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("less fixed windows")
''')
md("RESULTS_CHUNKERS")
# Discuss: does MoM's S_support lie below fixed windows' beyond chance, by both judges? Is any way of cutting ahead at one mean length?
# Even the true scenes? ("scenes" bounds what cutting alone can give.) How much was merged or split to meet the length.
code('''
fig, axes = plots.subplots(columns=2, height=3.2, sharey=True)
for ax, key, label in zip(axes, ("clarity", "s_support"), ("clarity (yes)", "S_support, base (nats)"), strict=True):
    of = [shown[name][key] for name in NAMES]
    colours = ["orange" if name in ("mom", "scenes") else "blue" for name in NAMES]
    plots.dots(ax, NAMES, [it.value for it in of], [it.low for it in of], [it.high for it in of], colours)
    ax.set(xlabel=label)
told = "; ".join(f"{name} {shown[name]['clarity'].value:.2f} and {shown[name]['s_support'].value:.2f}" for name in NAMES)
results.figure(fig, "chunkers", f"Clarity and S_support of each way to cut: {told}.", "Ways to cut, one mean length")
''')
md(r"""
**Does clarity foretell answers?** (Table 2.) The paper correlates five methods' mean clarity with their ROUGE-L. Over methods, ours has as few points. Over *documents* there are more: each novel cut in each way, with the novel's mean taken off both numbers, so that what makes a novel easy does not count.
""")
code('''
pairs = by_cut.merge(by_question.groupby(["chunker", "book"])[["rouge", llm]].mean().reset_index())
rows = {}
for reading in READINGS:
    over_methods = pairs.groupby("chunker")[[reading, "rouge"]].mean().corr().iloc[0, 1]
    columns = [reading, "rouge", llm]
    inner = pairs[columns] - pairs.groupby("book")[columns].transform("mean")
    with_rouge = pearson(inner[reading], inner.rouge, list(pairs.book))
    with_support = pearson(inner[reading], inner[llm], list(pairs.book))
    results.record(f"table2.{reading}.rougeL.pearson", with_rouge)
    results.record(f"table2.{reading}.s_support.pearson", with_support)
    results.record(f"table2.{reading}.rougeL.over_methods", over_methods, n=len(NAMES))
    rows[reading] = [f"{over_methods:.2f}", str(with_rouge), str(with_support)]
columns = ["ROUGE-L, over methods", "ROUGE-L, over documents", "S_support, over documents"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("clarity as")
''')
md("RESULTS_TABLE2")
md(r"""
The kept memories are MemReader's own. One excerpt, its first path again:
""")
varies('''
from mindscape.mom.extraction import paths as sample

home = Path(adapter) if adapter else paths.data("adapters") / "memreader"
reader = models.load("embedded", adapter=str(home))
shortest = min(cases, key=lambda case: len(case.document.text))
before = rows_of[shortest.document.id]["replies"][0]
(path,) = sample(reader, [shortest.document], 1)[0]
same = (path.reply if path.read else None) == before
results.record("live.paths.same", float(same), n=1, varies="sampling on another processor")
print("the kept reply:", "the same" if same else "another", f"({len(path.reply.split())} words)")
''')
md(r"""
## The paper says / we got / why they differ
""")
code('''
quoted = paper.table("mom_quoted")
rs = quoted[quoted.quantity.str.startswith("Pearson") & quoted.place.str.startswith("Table")]
rows = {}
for one in rs.itertuples():
    model = one.quantity.rpartition("@")[2]
    r = np.corrcoef(table_2.rouge_l, table_2[f"clarity@{model}"])[0, 1]
    low, high = np.tanh(np.arctanh(r) + np.array([-1.96, 1.96]) / np.sqrt(len(table_2) - 3))
    results.record(f"paper.table2.{model}.recomputed", r, ci=(low, high), n=len(table_2))
    rows[model] = [f"{one.value:.4f}", f"{r:.4f}", f"[{low:.2f}, {high:.2f}]"]
columns = ["printed", "from its five rows", "95 % (Fisher)"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
gap = paired_bootstrap(
    by_question[by_question.chunker == "mom"].set_index("question").loc[fixed.index, llm],
    fixed[llm],
    groups=list(fixed.book),
    seed=seed,
)
printed = paper.table("mom_table3").pivot(index="method", columns="evaluator", values="support")
theirs = printed.loc["MoM MemReader-3B"] - printed.loc["Original"]
theirs = theirs[["Qwen2.5-7B", "Qwen2.5-14B", "Qwen2-7B"]]
clear = [f"{table_2.loc['Original', f'clarity@Qwen2.5-{size}B']:.3f}" for size in (3, 7, 14)]
means = pairs.groupby("chunker")[["yes", "rouge"]].mean()
lead = paired_bootstrap(curves["RRF"][-1], curves["lot"][-1], groups=in_book, seed=seed)
rows = [
    ["clarity of fixed windows", ", ".join(clear), str(shown["fixed"]["clarity"])],
    ["clarity and ROUGE-L, r", "0.70, 0.76, 0.72", f"{means.corr().iloc[0, 1]:.2f}"],
    ["methods in that r", "5", str(len(NAMES))],
    ["S_support, MoM less fixed", ", ".join(f"{of:+.3f}" for of in theirs), str(gap)],
    ["paths, RRF less one by lot", "(not reported)", str(lead)],
]
pd.DataFrame(rows, columns=["", "the paper", "ours"]).set_index("")
''')
md(r"""
The three coefficients follow from the five rows above them (0.7045 for 0.7044 is rounding). Five points leave each of them anywhere from about $-0.4$ to 0.98: all three intervals hold 0.
""")
md("RESULTS_PAPER")
# Discuss: five points do not pin a correlation (all three intervals hold 0); what ours says over methods and over documents; S_support
# of MoM against fixed windows; a chunk list and judges of 135 million parameters.
md(r"""
## Reading critically

**Leaving out a border raises clarity.** It is a mean over the borders that *are* there. Take out the least clear one and the mean rises (unless all are equal): with values $p_1\le\dots\le p_m$ it goes from $\bar p$ to $\bar p+\frac{\bar p-p_1}{m-1}$. (The other values stay as they are where a judge is shown a fixed reach on both sides, as here; shown whole chunks, a merged one changes those beside it.) So the highest clarity belongs to the memory with a single border, the clearest; with none it is not defined. True scene borders of the test novels, the least clear taken out one by one:
""")
code('''
scenes = known[(known.judge == llm) & (known.kind == "scene")]
per_book = [np.sort(some["yes"].to_numpy()) for _, some in scenes.groupby("book")]
m = min(map(len, per_book))
rising = np.array([[values[-m:][dropped:].mean() for dropped in range(m)] for values in per_book])
by_formula = per_book[0][-m:].mean() + (per_book[0][-m:].mean() - per_book[0][-m]) / (m - 1)
print(f"first novel, one left out: {rising[0, 1]:.4f}, by formula {by_formula:.4f}")
for dropped in range(m):
    mean = rising[:, dropped].mean()
    results.record(f"critique.clarity.kept_{m - dropped}_of_{m}", mean, n=len(per_book))
    print(f"{m - dropped} of {m} true borders kept (recall {1 - dropped / m:.2f}): clarity {mean:.3f}")
''')
md(r"""
A score of what was cut says nothing of what was not. Do MemReader's candidates show it? Within an excerpt, the correlation of clarity with the number of chunks (below zero: few chunks have the advantage):
""")
code('''
def counted(one):
    # clarity and the number of chunks of each candidate, less their means in the excerpt
    clear, many = one.clarity["yes"], np.array([len(it) for it in one.memories], float)
    there = np.isfinite(clear)
    return [it[there] - it[there].mean() for it in (clear, many)] if there.sum() > 1 else [[], []]


clear, many = (np.concatenate(of) for of in zip(*map(counted, sampled), strict=True))
whose = [one.case.group for one in sampled for _ in counted(one)[0]]
of = pearson(clear, many, whose)
results.record("critique.clarity.chunks.pearson", of)
print("clarity (yes) and number of chunks:", of)
''')
md("RESULTS_CHUNKS")
# Discuss: whether few chunks are clearer (the formula's bias) among real candidates.
md(r"""
**Completeness and short cores.** $\log|c|$ is 0 for one token: the reward is infinite. It is never negative, as $|c|\ge1$. Between two lengths the penalty alone moves the score by a factor:
""")
code('''
from mindscape.mom.extraction import SHORT, penalty

lengths = [1, 2, 3, 5, 10, 20, 40, 80]
table = pd.DataFrame({short: penalty(lengths, short) for short in SHORT}, index=lengths)
times = penalty(40) / penalty(2)
print(f"a core of 40 tokens must lower PPL {times:.1f} times to make up for one of 2")
table.rename_axis("|c|").round(2)
''')
md(r"""
A core beats another if $\frac{\mathrm{PPL}(a\mid c)}{\mathrm{PPL}(a\mid c')} < \frac{\log|c'|}{\log|c|}$. Does a summary lower the perplexity of its text so much? One chunk of a test novel with its true core, that of another chunk, its first two words, and one word:
""")
varies('''
from mindscape.mom.extraction import conditionals

gold = novel.memory
place = next(i for i, it in enumerate(gold.chunks) if 500 < it.end - it.start < 900)
one = Document("one", novel.document[gold.chunks[place]].strip())
CORES = {
    "true": gold.core[place],
    "another chunk's": gold.core[place + 1],
    "two words": " ".join(gold.core[place].split()[:2]),
    "one word": "It",
}
whole_text = [Span(0, len(one.text))]
memories = [DocumentMemory(["part"], [core], whole_text) for core in CORES.values()]
scores = {short: completeness(judge, one, memories, short) for short in SHORT}
frame = pd.DataFrame(scores, index=list(CORES))
parts = conditionals(judge, one, memories)
frame.insert(0, "tokens", [lengths[0] for _, lengths in parts])
frame.insert(1, "PPL", [perplexity[0] for perplexity, _ in parts])
for short in SHORT:
    best = list(CORES)[int(np.argmax(scores[short]))]
    results.record(f"critique.completeness.{short}.best", best, varies="rounding")
    results.record(f"critique.completeness.{short}.true_is_best", int(best == "true"), varies="rounding")
frame.round(4)
''')
md("RESULTS_SHORT")
code('''
changed = {}
for short in ("shifted", "floored"):
    ours = [choose(one.clarity["yes"], one.completeness["raw"]).best for one in sampled if len(one.memories) > 1]
    other = [choose(one.clarity["yes"], one.completeness[short]).best for one in sampled if len(one.memories) > 1]
    changed[short] = np.mean(np.not_equal(ours, other))
    results.record(f"critique.choice_changed.{short}", changed[short], n=len(ours))
tiny = sum(np.isinf(of).sum() for one in sampled for of in [one.completeness["raw"]])
results.record("critique.infinite_completeness", int(tiny), n=read_)
print(f"candidates with an infinite score: {tiny} of {read_}")
for short, share in changed.items():
    print(f"{short}: another candidate is chosen in {share:.0%} of {len(ours)} excerpts")
''')
md(r"""
**Ranks forget margins.** A candidate that is far behind on one score and barely ahead on the other counts like any other pair of ranks. And with $k=60$ far above the number of candidates, $\frac1{60+r}$ is nearly a straight line: fused ranks are hardly more than summed ranks. For all pairs of ranks among eight candidates:
""")
code('''
from itertools import product

ranks_of = list(product(range(1, 9), repeat=2))
sums, flips, ties, extreme = [sum(pair) for pair in ranks_of], 0, 0, 0
fused = [sum(1 / (K + r) for r in pair) for pair in ranks_of]
for i, a in enumerate(ranks_of):
    for j, b_ in enumerate(ranks_of[:i]):
        if sums[i] == sums[j] and sorted(a) != sorted(b_):
            ties += 1
            extreme += (fused[i] > fused[j]) == (abs(a[0] - a[1]) > abs(b_[0] - b_[1]))
        flips += (sums[i] < sums[j]) != (fused[i] > fused[j]) and sums[i] != sums[j]
results.record("critique.rrf.flips", flips, n=len(ranks_of) * (len(ranks_of) - 1) // 2)
print(f"orders that differ from that of the sum of ranks: {flips}")
print(f"equal sums: {ties} pairs; the more one-sided candidate wins in {extreme} of them")
''')
md(r"""
Nothing is left of the scores but the sum of two ranks, and ties of that sum go to whoever is best on one score and worst on the other, since $\frac1{k+r}$ is convex. Three candidates with nearly the same clarity, of which one is thirty times less complete:
""")
code('''
clear, complete = [0.510, 0.505, 0.500], [0.010, 0.300, 0.305]
best = choose(clear, complete).best
print("ranks:", choose(clear, complete).fused.round(5), "-> the first of equals:", best)
print("the margins say candidate 1 or 2")
''')
md(r"""
**Five points.** The three correlations of Table 2 rest on the same five methods. With every order of five ROUGE scores equally likely, how often is the correlation as high?
""")
code('''
from itertools import permutations

for size in (3, 7, 14):
    clear = table_2[f"clarity@Qwen2.5-{size}B"].to_numpy()
    r = np.corrcoef(clear, table_2.rouge_l)[0, 1]
    lots = [np.corrcoef(clear, order)[0, 1] for order in permutations(table_2.rouge_l)]
    p = np.mean(np.array(lots) >= r - 1e-12)
    results.record(f"critique.table2.{size}B.p", p, n=len(lots))
    without = table_2.drop(index="Original")
    rest = np.corrcoef(without[f"clarity@Qwen2.5-{size}B"], without.rouge_l)[0, 1]
    print(f"{size:2}B: r = {r:.2f}, as high by lot in {p:.0%}; without fixed windows {rest:.2f}")
''')
md(r"""
One order in ten, drawn by lot, does as well. Fixed windows are not what carries it: without them $r$ is higher, over four points.
""")
md("RESULTS_SUM")
# A closing paragraph: which reading of clarity to take, whether to choose by it at all.
md(r"""
## Exercises

**1.** Two candidates have the ranks (1, 8) and (4, 5). Which one does RRF with $k=60$ prefer, the first or the second?
""")
code('''
my_choice = None  # 1 or 2

expected = 1 if 1 / 61 + 1 / 68 > 1 / 64 + 1 / 65 else 2
print("right" if my_choice == expected else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

The first: $\frac1{61}+\frac1{68} = 0.03110 > 0.03101 = \frac1{64}+\frac1{65}$. The function is convex, so extremes win ties of the sum.

</details>

**2.** A memory has two chunks. Their perplexities given the cores are 12 and 20, the cores have 7 and 20 tokens. Its completeness?
""")
code('''
my_score = None

expected = np.mean([1 / (12 * np.log(7)), 1 / (20 * np.log(20))])
print("right" if my_score is not None and abs(my_score - expected) < 5e-4 else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

$\frac12\left(\frac{1}{12\cdot1.946}+\frac{1}{20\cdot2.996}\right) = 0.0298$.

</details>

**3.** Write the borders that first words alone give: in the order of the text, each once, and those that stand nowhere passed over.
""")
code('''
def borders_of(text, heads):
    return None  # your code: where the second chunk begins, the third and so on


trial = ["It rained", "Nobody knew", "On Friday", "In the evening", "On Friday"]
expected = [chunk.start for chunk in tile(note, [(head, "") for head in trial]).chunks[1:]]
print("right" if borders_of(note.text, trial) == expected else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

```python
def borders_of(text, heads):
    return sorted({text.index(head) for head in heads if head in text})[1:]
```

Whatever is said first, the first chunk begins at 0: the smallest place is dropped.

</details>
""")
code('''
results.finish()
''')
md(r"""
**Read next:** notebook [41](41_memreader.ipynb) trains the model that writes these memories.
""")
b.save()
