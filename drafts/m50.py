import sys; sys.path.insert(0,"/work/main/build/drafts")
from nb import Book
b=Book("50_side_by_side"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 50 · Side by side

*Four papers, four memories. Which one for which question, and what does each cost?*

Papers: MiA-RAG, MiA-Signature, MindGraph, MoM; their baselines as [12](12_mia_emb_training.ipynb), [32](32_long_reason.ipynb) and [42](42_three_layer_retrieval.ipynb) have them.

**You will** put fifteen memories before the same reader, on the same questions, with room for the same number of tokens; see for which kind of question each is good; count what it costs to make one and to ask it; set beside them the methods that answer in a way of their own; and see how many differences are left once it is counted how often one has looked.

**You need** the notebooks of the four parts for the methods. Nothing is trained or built here.

**It takes** TIME on one core.
""")
code('''
scale = "small"  # "full": more is asked live; "gpu": the same, with a reader of your own
seed = 0
llm = "embedded"  # the reader; "openai:NAME" for any compatible server
kept = ""  # folder of ranks and replies; the kit's own by default
''',"parameters")
code('''
from mindscape import results

results.begin("50_side_by_side", scale=scale, seed=seed, llm=llm, kept=kept)
''')
md(r"""
## 1 · Room for sixteen words

A text of six sentences, two questions, and four memories that may each put at most sixteen words before a reader: the text from its beginning; the sentences that share words with the question; a summary; notes on who did what, with those on the question's people first.
""")
code('''
TEXT = [
    "Rain fell on the mill all morning.",
    "Ann opened her smithy before dawn.",
    "Tom came in and bought a lamp.",
    "Nobody else called on the smith.",
    "Eve lost a wager and sulked.",
    "That night Tom gave Eve what he had bought.",
]
SUMMARY = "Ann is the smith; Tom buys her lamp for Eve."
NOTES = {"Tom": "Tom bought lamp from Ann", "Eve": "Tom gave Eve lamp", "Ann": "Ann is smith"}
ASKED = {
    "Which thing did Tom buy?": "lamp",
    "Who has the thing that the smith sold?": "Eve",
}


def shared(question):
    words = set(question.lower().strip("?").split()) - {"the", "did", "that"}
    return sorted(TEXT, key=lambda line: -len(words & set(line.lower().strip(".").split())))


def noted(question):
    return sorted(NOTES.values(), key=lambda note: -sum(word in question for word in note.split()))
''')
md(r"""
A memory gives *pieces*, best first; they are taken in their order up to the first that does not fit. By hand, and as the library has it:
""")
code('''
from mindscape.side_by_side import Piece, fill

BUDGET = 16


def by_hand(pieces):
    taken, used = [], 0
    for piece in pieces:
        used += len(piece.split())
        if used > BUDGET:
            break
        taken.append(piece)
    return "\\n\\n".join(taken)


for question, answer in ASKED.items():
    memories = {"start": TEXT, "words": shared(question), "summary": [SUMMARY], "notes": noted(question)}
    print(f"{question}  ({answer})")
    for name, pieces in memories.items():
        shown = fill([Piece(text) for text in pieces], BUDGET, lambda text: len(text.split()))
        same = shown.text == by_hand(pieces)
        print(f"  {name:8} {shown.tokens:2} words, answer there: {answer in shown.text!s:5} same: {same}")
''')
md(r"""
The first question is answered by a sentence that shares its words. The second one names nobody: who "the smith" is, what was sold and where it went stand in three sentences, of which none has both ends, and words find two at most. The summary has all of it in ten words of the text's 41, because whoever wrote it had read the whole; the notes are so few that all of them fit.

## 2 · Fifteen memories

The same with tokens: 640 of them, which with question and options is what the kit's reader was trained on. Everything that is compared puts its pieces into the same prompt and is read by the same model; what differs is the context alone.

The novels are asked one by one, since the graphs and document memories in the kept data are of single books; what the neighbours in a series do to retrieval is measured in notebook [22](22_signature_rag.ipynb).
""")
code('''
from pathlib import Path

import pandas as pd

from mindscape import llm as models
from mindscape import paths
from mindscape import side_by_side as beside
from mindscape.reader.evaluation import Kept

pd.set_option("display.max_colwidth", None)
folder = Path(kept) if kept else paths.data("side_by_side")
novels = beside.opened(folder / "ranks.jsonl")
adapter = models.READER if llm == "embedded" else None
replies = Kept.of(folder / "replies.jsonl", llm, adapter)
asked = [beside.asked(text, novels.share) for text in novels.texts]
MEMORIES = list(novels.ranks)
print(f"{len(novels.texts)} novels, {sum(map(len, asked))} questions, {len(MEMORIES)} memories")
left_out = [name for name in beside.MEMORIES if name not in MEMORIES]
print("not there:", ", ".join(left_out) or "none")
pd.Series(beside.MEMORIES, name="what it shows").loc[MEMORIES].to_frame()
''')
code('''
i, question = next((i, q) for i, some in enumerate(asked) for q in some if q.needs_binding)
at = asked[i].index(question)
print(f"{question.question}  ({question.answer})")
for memory in MEMORIES:
    shown = novels.shown(memory, i)[at]
    found = f"{shown.recall(novels.texts[i], question):.0%} of the evidence"
    told = "answer said" if shown.says(question) else ""
    print(f"{memory:15}{shown.tokens:4} tokens, {found:20} {told:12}{' '.join(shown.text.split())[:44]}")
''')
md(r"""
"Answer said" means that the answer's words stand in what is shown. That is less than it sounds: a name may stand there for another reason, as it does at the beginning of the novel, where everybody is introduced. Evidence is the stricter count, but only for what is quoted from the text: a summary has none of it, by definition, and may say the answer all the same.
""")
md("RESULTS_2")  # what the example shows: which memories have the evidence, which say the answer without it
md(r"""
## 3 · Which memory for which question

Five kinds of question: MindGraph's plane of breadth and depth in four quarters, and the quarter of plain facts once more by whether the question says *who* in other words than the text (a binding). Each is asked with four options; a reply that cannot be read is wrong.
""")
code('''
import numpy as np


def told_of(opened, of_replies):
    """A row for each question and memory: what was shown of it, and whether the reader was right."""
    rows = []
    for i, text in enumerate(opened.texts):
        questions = beside.asked(text, opened.share)
        for memory in opened.ranks:
            shown = opened.shown(memory, i)
            prompts = beside.prompts("choice", text, questions, shown)
            right = beside.marks("choice", text, questions, of_replies.answers("choice", prompts))
            for one, context, prompt, mark in zip(questions, shown, prompts, right, strict=True):
                row = {"memory": memory, "text": text.document.id, "id": one.id}
                row |= {"kind": beside.kind(one), "right": mark, "tokens": context.tokens}
                row |= {"recall": context.recall(text, one), "says": float(context.says(one))}
                rows.append(row | {"asked": opened.sources.count(prompt)})
    return pd.DataFrame(rows)


table = told_of(novels, replies)
KINDS = [name for name in beside.KINDS if name in set(table["kind"])]
print(table.groupby("kind", sort=False)["id"].nunique().loc[KINDS].to_dict())
''')
code('''
from mindscape.metrics import bootstrap, paired_bootstrap


def scores(memory, kind=None, column="right"):
    some = table[(table["memory"] == memory) & ((table["kind"] == kind) | (kind is None))]
    return some.set_index(["text", "id"])[column].sort_index()


def keep(key, values, other=None):
    options = {"groups": values.index.get_level_values("text"), "seed": seed}
    of = bootstrap(values, **options) if other is None else paired_bootstrap(values, other, **options)
    results.record(key, of)
    return of


rows = {}
for memory in MEMORIES:
    rows[memory] = [str(keep(f"acc.{memory}", scores(memory)))]
    for column in ("recall", "says"):
        rows[memory].append(str(keep(f"{column}.{memory}", scores(memory, column=column))))
    rows[memory].append(round(scores(memory, column="tokens").mean()))
columns = ["right, of four options", "evidence shown", "answer said", "tokens shown"]
overall = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
overall
''')
md("RESULTS_3A")  # order over all; none against 25 %: do options give something away; evidence as ceiling at 640 tokens; recall against accuracy
md(r"""
A mean over all questions says little, since what is good for one kind may be useless for another. By kind, with the best of each column in a frame, and a dot where the best is not shown to be better (the 95 % interval of the paired difference has zero in it):
""")
code('''
from textwrap import fill as wrapped

from mindscape import plots

LISTED = [memory for memory in MEMORIES if memory not in ("none", "evidence")]
acc = table.pivot_table(index="memory", columns="kind", values="right").loc[MEMORIES, KINDS]
best = acc.loc[LISTED].idxmax()
near = pd.DataFrame(False, index=MEMORIES, columns=KINDS)
for kind in KINDS:
    slug = kind.replace(" ", "_")
    for memory in MEMORIES:
        keep(f"acc.{memory}.{slug}", scores(memory, kind))
    for memory in LISTED:
        behind = keep(f"behind.{memory}.{slug}", scores(best[kind], kind), scores(memory, kind))
        near.loc[memory, kind] = behind.low <= 0
    print(f"{kind:14} best {best[kind]:15} as good for all we know: {near.loc[LISTED, kind].sum() - 1}")
''')
code('''
fig, ax = plots.subplots(height=5.6)
ax.imshow(acc, vmin=0, vmax=1, cmap=plots.SEQUENTIAL, aspect="auto")
ax.grid(False)
for y, memory in enumerate(MEMORIES):
    for x, kind in enumerate(KINDS):
        share = acc.loc[memory, kind]
        text = f"{share:.0%}" + (" •" if near.loc[memory, kind] and best[kind] != memory else "")
        ax.text(x, y, text, color=plots.INK if share > 0.5 else "white", ha="center", va="center")
for x, kind in enumerate(KINDS):
    corner = (x - 0.46, MEMORIES.index(best[kind]) - 0.46)
    look = {"fill": False, "edgecolor": plots.PALETTE["red"], "linewidth": 2.5}
    ax.add_patch(plots.pyplot.Rectangle(corner, 0.92, 0.92, **look))
ax.set_xticks(range(len(KINDS)), [wrapped(beside.KINDS[kind], 18) for kind in KINDS], fontsize=8)
ax.set_yticks(range(len(MEMORIES)), MEMORIES)
ax.set(xlabel="kind of question", ylabel="memory")
told = "; ".join(f"{kind}: {best[kind]} {acc.loc[best[kind], kind]:.0%}" for kind in KINDS)
alt = f"Share of right answers by memory and kind of question. Best of each kind: {told}."
results.figure(fig, "which", alt, "Which memory for which question")
''')
md("RESULTS_3B")  # the figure to remember: what wins where; whether a summary helps with bindings and broad questions, passages with plain facts; where nothing is above `none`; how many dots
code('''
rec = table.pivot_table(index="memory", columns="kind", values="recall").loc[MEMORIES, KINDS]
for memory in MEMORIES:
    for kind in KINDS:
        keep(f"recall.{memory}.{kind.replace(' ', '_')}", scores(memory, kind, "recall"))
print("share of the evidence that is shown, as it stands in the text")
rec.round(2)
''')
md("RESULTS_3C")  # recall by kind: summaries and cores have 0 by definition and still answer; broad questions: 640 tokens cannot hold the evidence; where recall and accuracy part
md(r"""
Are the kept replies the model's own? Some are asked for again:
""")
varies('''
some = ("none", "mia_rag") if scale == "small" else MEMORIES
if llm.startswith("openai:"):
    print("a server's model: nothing is asked again")
    reader = models.load("embedded", cache=False)  # for the rates of section 4
else:
    reader = models.load(llm, cache=False)
    alike = []
    for memory in [name for name in some if name in MEMORIES]:
        shown = novels.shown(memory, 0)[:2]
        prompts = beside.prompts("choice", novels.texts[0], asked[0][:2], shown)
        talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
        new = reader.chat(talks, max_new_tokens=24)
        for reply, old in zip(new, replies.answers("choice", prompts), strict=True):
            alike.append(old.free.strip().startswith(reply.text.strip()[:60]))
    results.record("live.alike", np.mean(alike), n=len(alike), varies="rounding")
    print(f"{sum(alike)} of {len(alike)} begin as the kept ones do")
''')
md(r"""
## 4 · What each costs

The budget is the same when a question is asked. It was not when the memory was made. Let $B$ be the tokens that a language model reads and writes to make a memory of a text of $L$ tokens, and $a$ those of asking one question with it. After $q$ questions

$$C(q) = B + q\,a, \qquad \text{and reading all of it every time costs } q\,L .$$

With $a < L$ the memory is the cheaper way from $q^* = B / (L - a)$ on. By hand, for a text of 15,000 tokens that a model reads once to write 2,000 tokens about it, and 900 tokens a question:
""")
code('''
L, B, a = 15_000, 17_000, 900
q = 0
while B + q * a > q * L:
    q += 1
print(f"counted: the memory is no dearer from question {q} on; B / (L - a) = {B / (L - a):.2f}")
''')
code('''
costs = {}
for memory in MEMORIES:
    each = [vars(beside.building(memory, text, novels.sources)) for text in novels.texts]
    costs[memory] = pd.DataFrame(each).mean()
costs = pd.DataFrame(costs).T
length = np.mean([novels.sources.count(text.document.text) for text in novels.texts])
costs["asking"] = table.groupby("memory")["asked"].mean()
costs["from question"] = np.ceil((costs["read"] + costs["written"]) / (length - costs["asking"]))
for memory, row in costs.iterrows():
    for name in ("calls", "read", "written", "encoded", "stored", "asking"):
        results.record(f"cost.{memory}.{name}", float(row[name]), n=len(novels.texts))
print(f"a novel has {length:,.0f} tokens; all numbers are means of a novel, `stored` in bytes")
costs.round().astype(int)
''')
md(r'''
`calls`, `read` and `written` are a language model's, `encoded` the tokens that encoders read, `stored` what lies beside the text afterwards: index, summaries, notes. Gold summaries count as if a model had written them, and BM25 has its index for nothing. To turn tokens into seconds takes four rates of this machine:
''')
varies('''
import time

from mindscape import encoders
from mindscape.mia import embedding


def taken(do, *given, **options):
    start = time.process_time()
    done = do(*given, **options)
    return time.process_time() - start, done


mini = encoders.load("minilm", cache=False)
mia = embedding.load(adapter=paths.data("adapters", "mia_emb"), dtype="float32", cache=False)
''')
varies('''
prompts = [beside.prompts("choice", novels.texts[0], asked[0][:1], novels.shown(m, 0)[:1])[0] for m in MEMORIES[:4]]
talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
one, _ = taken(reader.chat, talks, max_new_tokens=1)
many, wrote = taken(reader.chat, talks, max_new_tokens=25)
cut = [novels.texts[0].document[it].strip() for it in novels.sources.spans(novels.texts[0])][:32]
RATES = {"reads": sum(map(reader.count_tokens, talks)) / one}
RATES["writes"] = sum(it.completion_tokens - 1 for it in wrote) / max(many - one, 0.01)
for name, encode, texts in (("minilm", mini.encode, cut), ("mia", mia.units, cut[:8])):
    RATES[name] = sum(map(novels.sources.count, texts)) / taken(encode, texts)[0]
for name, value in RATES.items():
    results.record(f"rate.{name}", value, varies="processor time")
    print(f"{name:7}{value:7,.0f} tokens in a second of one processor")
''')
varies('''
SMALL = ("minilm", "units", "cores")  # all others are encoded by a language model, or not at all
rows = {}
for memory, of in costs.iterrows():
    by = RATES["minilm" if memory in SMALL else "mia"]
    making = of["read"] / RATES["reads"] + of["written"] / RATES["writes"] + of["encoded"] / by
    asking = of["asking"] / RATES["reads"] + 60 / RATES["writes"]  # a reply has about 60 tokens
    rows[memory] = [making / 60, asking, of["stored"] / 1e6]
    results.record(f"cost.{memory}.minutes", making / 60, varies="processor time")
    results.record(f"cost.{memory}.seconds_a_question", asking, varies="processor time")
sizes = {"reader": reader.backend.model, "MiA-Emb": mia.model, "MiniLM": mini.model}
for name, of in sizes.items():
    held = sum(it.numel() * it.element_size() for it in of.parameters()) / 1e6
    print(f"{name} holds {held:,.0f} MB of weights")
columns = ["minutes to make, a novel", "seconds a question", "MB beside the text"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(2)
''')
code('''
fig, ax = plots.subplots(height=4)
times = np.array([1, 3, 10, 30, 100, 300])
looks = zip(plots.PALETTE, plots.MARKERS.values(), strict=True)
drawn = [name for name in ("bm25", "mia_emb", "mia_rag", "signature", "graph", "units") if name in MEMORIES]
for memory, (colour, marker) in zip(drawn, looks, strict=False):
    making = costs.loc[memory, "read"] + costs.loc[memory, "written"]
    each = making / times + costs.loc[memory, "asking"]
    label = f"{memory}, right {scores(memory).mean():.0%}"
    ax.plot(times, each, color=plots.PALETTE[colour], marker=marker, label=label)
ax.axhline(length, color=plots.GREY, linestyle="--", label="the whole text each time")
ax.set(xscale="log", yscale="log", xlabel="questions asked of a novel", ylabel="tokens a question")
ax.legend(fontsize=8, ncols=2)
dearest = costs.loc[drawn, "from question"].idxmax()
alt = (
    "Tokens that a language model reads and writes for a question, by how many are asked. "
    f"The dearest to make is {dearest}, cheaper than the whole text from question "
    f"{costs.loc[dearest, 'from question']:.0f} on."
)
results.figure(fig, "costs", alt, "A memory is paid for once")
''')
md("RESULTS_4")  # which memories cost nothing to make; from how many questions on the others are cheaper than the text; whether the dear ones are better (accuracy in the legend); our reader could not read a whole novel at all, so the dashed line is another model's
md(r'''
## 5 · Methods that answer in a way of their own

MindGraph makes a graph for one question, and the methods that it was compared with are agents: none of them puts 640 tokens before a reader once. They were asked the first four of our questions on each novel, without options (notebook [32](32_long_reason.ipynb)). The memories of this notebook were asked the same, freely. The score is the F1 of the words.
''')
code('''
from mindscape.metrics import token_f1
from mindscape.mindgraph import comparison

free, spent = {}, {memory: [] for memory in MEMORIES}
for i, text in enumerate(novels.texts):
    ids, few = [one.id for one in asked[i]], beside.compared(text)
    at = [ids.index(one.id) for one in few]
    for memory in MEMORIES:
        shown = novels.shown(memory, i)
        prompts = beside.prompts("qa", text, few, [shown[j] for j in at])
        marks = beside.marks("qa", text, few, replies.answers("qa", prompts))
        free |= {(memory, text.document.id, q.id): m for q, m in zip(few, marks, strict=True)}
        made = costs.loc[memory, ["read", "written"]].sum() / len(few)
        spent[memory] += [made + novels.sources.count(prompt) for prompt in prompts]
gold = {q.id: (q, text) for text in novels.texts for q in beside.compared(text)}
file = (Path(kept) if kept else paths.data()) / "mindgraph" / "answers.jsonl"
answered = [one for one in comparison.kept(file) if one.task in gold] if file.exists() else []
METHODS = [m for m in comparison.NAMES if sum(one.method == m for one in answered) == len(gold)]
for one in (one for one in answered if one.method in METHODS):
    q, text = gold[one.task]
    mark = token_f1(one.text, [q.answer, *q.accepted], text.document.language)
    free[one.method, text.document.id, q.id] = mark
    spent.setdefault(one.method, []).append(one.tokens_total)
print(f"{len(gold)} questions; methods with an answer to each: {', '.join(METHODS) or 'none'}")
''')
code('''
freely = pd.Series(free).rename_axis(["memory", "text", "id"]).sort_index()
rows = {}
for name in (*MEMORIES, *METHODS):
    of = keep(f"f1.{name}", freely[name])
    results.record(f"tokens.{name}", float(np.mean(spent[name])), n=len(spent[name]))
    rows[name] = [of.value, of.low, of.high, np.mean(spent[name])]
side = pd.DataFrame.from_dict(rows, orient="index", columns=["F1", "low", "high", "tokens"])
side.round(2)
''')
code('''
ordered = side.sort_values("F1", ascending=False, kind="stable")
labels = [f"{name}, {row['tokens'] / 1000:.1f}k" for name, row in ordered.iterrows()]
colours = ["orange" if name in METHODS else "blue" for name in ordered.index]
fig, ax = plots.subplots(height=5)
plots.dots(ax, labels, ordered["F1"], ordered["low"], ordered["high"], colours)
ax.set(xlabel="F1 of free answers (orange: in a way of its own)", ylabel="thousands of tokens a question")
told = f"best {ordered.index[0]} at {side['F1'].max():.2f}, last {ordered.index[-1]}"
alt = f"F1 of free answers, with the tokens of a question if four share the making: {told}."
results.figure(fig, "free", alt, "Free answers, and what they cost")
''')
md("RESULTS_5")  # whether any method with its own way beats the memories at many times the tokens; F1 level of this reader; 40 questions only, wide intervals
md(r'''
## 6 · How often one has looked

With $m$ memories there are $m(m-1)/2$ comparisons. If no two differed and each test gave a false alarm in one of twenty, several would be "significant". Holm's rule keeps the chance of even one false alarm at 5 %: sort the $p$-values, multiply the smallest by $n$, the next by $n - 1$, and so on, and let none be below one before it. By hand on five:
''')
code('''
p = [0.004, 0.030, 0.011, 0.200, 0.020]
by_hand, least = {}, 0.0
for i, j in enumerate(sorted(range(len(p)), key=p.__getitem__)):
    least = max(least, min(1.0, (len(p) - i) * p[j]))
    by_hand[j] = round(least, 3)
print("by hand:    ", [by_hand[j] for j in range(len(p))])
print("the library:", beside.holm(p).round(3).tolist())
''')
code('''
from itertools import combinations

pairs = list(combinations(LISTED, 2))
tests = [paired_bootstrap(scores(a), scores(b), groups=scores(a).index.get_level_values("text"), seed=seed) for a, b in pairs]
alone = np.array([of.p for of in tests])
corrected = beside.holm(alone)
results.record("pairs.significant", int((alone < 0.05).sum()), n=len(pairs))
results.record("pairs.significant.holm", int((corrected < 0.05).sum()), n=len(pairs))
print(f"{len(pairs)} pairs; p < 0.05: {(alone < 0.05).sum()} alone, {(corrected < 0.05).sum()} by Holm")
order = np.argsort(corrected, kind="stable")[:12]
pd.DataFrame(
    [[*pairs[i], str(tests[i]), round(alone[i], 4), round(corrected[i], 3)] for i in order],
    columns=["first", "second", "first less second", "p alone", "p by Holm"],
)
''')
md(r'''
And where nothing is to be found? In each novel the results are dealt out anew among the memories, all answers of a memory on a novel together. Then no memory is better than another, though novels are as hard and answers hang together as before. How often does at least one pair look significant all the same? Besides the bootstrap over novels, Student's test on the novels' means is tried:
''')
code('''
from scipy import stats


def by_t(values):
    """Two-sided p of Student's test that means over novels, (novels, pairs), are zero."""
    spread = values.std(0, ddof=1) / np.sqrt(len(values))
    t = values.mean(0) / np.where(spread > 0, spread, np.inf)  # no spread: nothing is claimed
    return 2 * stats.t.sf(np.abs(t), len(values) - 1)


rng = np.random.default_rng(seed)
right = np.array([scores(memory) for memory in LISTED])  # (memories, questions)
texts = scores(LISTED[0]).index.get_level_values("text")
each = np.array([texts == name for name in dict.fromkeys(texts)])  # (novels, questions)
drawn = rng.multinomial(len(each), np.full(len(each), 1 / len(each)), size=10_000)
first, second = np.transpose(list(combinations(range(len(LISTED)), 2)))
''')
code('''
trials, alarms = (100 if scale == "small" else 1000), dict.fromkeys(("alone", "Holm", "t, Holm"), 0)
for _ in range(trials):
    dealt = right.copy()
    for novel in each:
        dealt[:, novel] = right[rng.permutation(len(LISTED))][:, novel]
    by_novel = each @ dealt.T  # right answers, (novels, memories)
    differ = by_novel[:, first] - by_novel[:, second]  # (novels, pairs)
    resampled = drawn @ differ  # (10,000, pairs)
    fewer = np.minimum((resampled <= 0).sum(0), (resampled >= 0).sum(0))
    p = np.minimum(1, 2 * (fewer + 1) / (len(drawn) + 1))  # as `paired_bootstrap` has it
    alarms["alone"] += p.min() < 0.05
    alarms["Holm"] += beside.holm(p).min() < 0.05
    alarms["t, Holm"] += beside.holm(by_t(differ)).min() < 0.05
for name, count in alarms.items():
    results.record(f"alarms.{name.lower().replace(', ', '_')}", count / trials, n=trials)
    print(f"{name:8}: a false alarm or more in {count} of {trials} worlds without differences")
''')
md("RESULTS_6")  # how many survive and which; worlds without differences: alone nearly always an alarm. By Holm it should be one in twenty; in a simulation of 13 memories, 10 novels and 15 questions with coins for answers it was 0.40 with the bootstrap's p: resampling ten novels makes the far tails too thin, and a correction looks at nothing but far tails. Student's test over the novels' means had 0.04 there. So the last column of the table is not to be believed, and what counts is `pairs.significant.t.holm` below
md(r"""
## 7 · Plays

The same memories on text that no program wrote: plays, with the kit's own summaries of plays and scenes (no graph, no document memory, no summary by the reader). The first columns are what they show, the last what the reader makes of it.
""")
code("""
file = folder / "plays_ranks.jsonl"
plays = beside.opened(file) if file.exists() else None
if plays is None:
    print(f"{file.name} is not there: nothing to compare")
else:
    of_plays = told_of(plays, Kept.of(folder / "plays_replies.jsonl", llm, adapter))
    rows, both = {}, [memory for memory in MEMORIES if memory in plays.ranks]
    for memory in both:
        some = of_plays[of_plays["memory"] == memory]
        rows[memory] = []
        for column in ("recall", "says", "right"):
            of = bootstrap(some[column].tolist(), groups=some["text"].tolist(), seed=seed)
            results.record(f"plays.{column}.{memory}", of)
            rows[memory].append(str(of))
    names = ", ".join(text.document.id for text in plays.texts)
    print(f"{of_plays['id'].nunique()} questions on {names}")
    display(pd.DataFrame.from_dict(rows, orient="index", columns=["evidence", "answer said", "right"]))
""")
code("""
if plays is not None:
    ranked = {}
    for name, of in (("novels", table), ("plays", of_plays)):
        means = of[of["memory"].isin(both)].groupby("memory")["right"].mean()
        ranked[name] = means.drop(["none", "evidence"]).rank()
    alike = float(np.corrcoef(ranked["novels"], ranked["plays"][ranked["novels"].index])[0, 1])
    results.record("plays.order_correlation", alike, n=len(ranked["plays"]))
    print(f"Spearman's correlation of both orders: {alike:.2f} over {len(ranked['plays'])} memories")
""")
md("RESULTS_7")  # does the order carry over; evidence of plays is short quotes; intervals over few plays are to be taken with care
md(r"""
## 8 · A memory for each kind

If each kind of question has its own best memory, one might choose by kind. But the best of a column in the figure was chosen on the very questions that it is praised for. So it is chosen on all novels but one, and tried on that one; likewise the best single memory.
""")
code("""
def tried(by_kind):
    # rows of the memory that is best on the other novels, of each kind or over all
    found = []
    for name in dict.fromkeys(table["text"]):
        others = table[(table["text"] != name) & table["memory"].isin(LISTED)]
        here = table[table["text"] == name]
        for kind in KINDS:
            known = others[others["kind"] == kind] if by_kind else others
            chosen = known.groupby("memory", sort=False)["right"].mean().idxmax()
            found.append(here[(here["memory"] == chosen) & (here["kind"] == kind)])
    found = pd.concat(found)
    return found.set_index(["text", "id"])["right"].sort_index(), set(found["memory"])


(routed, some), (single, one) = tried(True), tried(False)
keep("router.by_kind", routed)
keep("router.single", single)
print("chosen by kind among", ", ".join(sorted(some)), "; over all", ", ".join(sorted(one)))
print(f"by kind {routed.mean():.2f}, a single one {single.mean():.2f}: ", end="")
print(keep("router.by_kind_minus_single", routed, single))
hindsight = table[table["memory"].isin(LISTED)].groupby(["kind", "memory"])["right"].mean()
print(f"in hindsight it would be {hindsight.groupby(level='kind').max().mean():.2f} (mean of the kinds)")
""")
md("RESULTS_8")  # whether choosing by kind pays out of sample, how much of the gain in hindsight is luck; a kind is not known beforehand in practice
md(r"""
## The paper says / we got / why they differ

None of the papers compares with the others. What they say of neighbouring memories can be laid beside this table:
""")
code("""
from mindscape import paper

gen, sig = paper.table("mia_rag_table2"), paper.table("mia_signature_table1")
gen = gen[(gen["dataset"] == "Avg.") & (gen["generator"] == "Qwen2.5-72B")].set_index("model")["value"]
sig = sig[(sig["dataset"] == "Avg.") & (sig["metric"] == "Perf") & (sig["generator"] == "DS-V3.2")]
sig = sig[sig["retriever"] == "MiA-Emb"].set_index("method")["value"]
crud = paper.table("mom_table1").set_index(["dataset", "metric", "method"])["value"]
crud = crud.sort_index()["CRUD", "ROUGE-L"]
ours, rest = "MoM MemReader-3B", [name for name in crud.index if "MemReader" not in name]
""")
code("""
SAID = [
    ("mia_emb", "sft_emb", "MiA-RAG: retrieval", gen["MiA (Emb-Only)"] - gen["Vanilla"]),
    ("mia_rag", "mia_emb", "MiA-RAG: summary shown", gen["MiA"] - gen["MiA (Emb-Only)"]),
    ("summary", "minilm", "MiA-RAG: summary alone", gen["Summary-Only"] - gen["Vanilla"]),
    ("signature", "sft_emb", "MiA-Signature", sig["MiA-RAG"] - sig["Query-only RAG"]),
    ("units", "minilm", "MoM, 100 ROUGE-L", 100 * (crud[ours] - crud[rest].max())),
]
rows = {}
for a, b, what, points in SAID:
    if {a, b} <= set(MEMORIES):
        of = keep(f"diff.{a}_minus_{b}", scores(a), scores(b))
        rows[f"{a} less {b}"] = [what, f"{points:+.1f} points", str(of), round(of.p, 4)]
columns = ["paper", "the paper", "ours, share of right choices", "p alone"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
""")
md("RESULTS_PAPER")  # the five differences; ours compares within one budget where the papers add the summary on top; a reader of 135M parameters; MindGraph's Table 2 beside section 5 if it is there
md(r"""
## Reading critically

**The budget decides.** With more room passages catch up. What they show can be counted for any budget without asking the reader (a summary that is longer than the budget loses sentences from its end):
""")
code("""
BUDGETS = (160, 320, 640, 1280)
few = range(min(3, len(novels.texts)) if scale == "small" else len(novels.texts))
drawn = [m for m in ("minilm", "mia_emb", "mia_rag", "signature", "graph", "units") if m in MEMORIES]
curves = {}
for memory in drawn:
    for budget in BUDGETS:
        found = []
        for i in few:
            for one, context in zip(asked[i], novels.shown(memory, i, budget), strict=True):
                found.append([context.recall(novels.texts[i], one), context.says(one)])
        curves[memory, budget] = np.mean(found, axis=0)
        for name, share in zip(("recall", "says"), curves[memory, budget], strict=True):
            results.record(f"budget.{memory}.{budget}.{name}", share, n=len(found))
""")
code("""
fig, axes = plots.subplots(columns=2, height=3.4, sharex=True)
for memory, colour in zip(drawn, plots.PALETTE, strict=False):
    values = np.array([curves[memory, budget] for budget in BUDGETS])
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour], "label": memory}
    for ax, column in zip(axes, values.T, strict=True):
        ax.plot(BUDGETS, column, **look)
for ax, title in zip(axes, ("evidence shown", "answer said"), strict=True):
    ax.set(title=title, xlabel="budget, tokens", ylabel="share of questions", xscale="log", ylim=(0, 1))
    ax.set_xticks(BUDGETS, BUDGETS)
axes[0].legend(fontsize=8)
last = {memory: curves[memory, BUDGETS[-1]] for memory in drawn}
told = "; ".join(f"{memory} {a:.2f} and {b:.2f}" for memory, (a, b) in last.items())
alt = f"Evidence shown and answers said by budget; at {BUDGETS[-1]} tokens: {told}."
results.figure(fig, "budget", alt, "More room")
""")
md("RESULTS_BUDGET")  # which curves cross; where 640 favours summaries; 1,280 is bounded by the twelve passages that are kept
md(r"""
**The reader is part of the result.** What does it make of an answer that stands before it, and how often is it right without?
""")
code("""
rows = {}
for memory in MEMORIES:
    some = table[table["memory"] == memory]
    there = some.groupby("says")["right"].agg(["mean", "size"])
    rows[memory] = [f"{row['mean']:.0%} of {row['size']:.0f}" for _, row in there.reindex([1.0, 0.0]).fillna(0).iterrows()]
    for says, row in there.iterrows():
        name = "said" if says else "not_said"
        results.record(f"right_if.{name}.{memory}", float(row["mean"]), n=int(row["size"]))
pd.DataFrame.from_dict(rows, orient="index", columns=["right if the answer is said", "right if it is not"])
""")
md("RESULTS_READER")  # even with the evidence the reader errs: that is the ceiling; without the answer it is above 25 %: options give something away, or bindings are resolved
md(r"""
**Gold summaries.** `summary`, `mia_rag` and `signature` read what the novel's log tells. A real reader's summary is not that good:
""")
code("""
for memory in ("summary", "mia_rag"):
    if f"{memory}_reader" in MEMORIES:
        of = keep(f"gold_minus_reader.{memory}", scores(memory), scores(f"{memory}_reader"))
        says = keep(f"gold_minus_reader.{memory}.says", scores(memory, None, "says"), scores(f"{memory}_reader", None, "says"))
        print(f"{memory:8} gold less reader's: right {of}, answer said {says}")
""")
md("RESULTS_GOLD")  # how much of the mindscape's gain hangs on a perfect summariser
md(r"""
**Ten novels are few.** A test that asks for nothing but exchangeable novels turns the sign of each novel's difference: $2^{10}$ ways, of which two are the most extreme. So its $p$ is never below $2/1024 \approx 0.002$, and times 78 that is 0.15: **with ten novels no pair among 78 can be significant by Holm's rule, however large its difference**. From how many novels on can one be?
""")
code("""
count = len(pairs)
least = next(n for n in range(1, 60) if 2 / 2**n * count <= 0.05)
print(f"{count} pairs: {least} novels at least")
by_novel = {m: scores(m).groupby("text").mean() for m in LISTED}
signs = 1 - 2 * ((np.arange(2 ** len(each))[:, None] >> np.arange(len(each))) & 1)  # (ways, novels)
differ = np.transpose([by_novel[a] - by_novel[b] for a, b in pairs])  # (novels, pairs)
p, t = [], by_t(differ)
for a, b in pairs:
    sums = np.abs(signs @ (by_novel[a] - by_novel[b]).to_numpy())
    p.append(np.mean(sums >= sums[0] - 1e-12))
results.record("pairs.significant.signs", int((np.array(p) < 0.05).sum()), n=count)
results.record("pairs.significant.signs.holm", int((beside.holm(p) < 0.05).sum()), n=count)
results.record("pairs.significant.t", int((t < 0.05).sum()), n=count)
results.record("pairs.significant.t.holm", int((beside.holm(t) < 0.05).sum()), n=count)
results.record("pairs.novels_needed", least)
for name, of in (("signs turned", p), ("Student's", t), ("bootstrap", alone)):
    found = np.sum(np.array(of) < 0.05), np.sum(beside.holm(of) < 0.05)
    print(f"{name:12} {found[0]:2} pairs alone, {found[1]:2} by Holm")
""")
md("RESULTS_TESTS")  # the bootstrap's p-values are too small with ten groups (false alarms of section 6 above 5 %); what is left to say is the size of differences and their intervals, not stars
md(r"""
## Exercises

**1.** Pieces of 5, 9 and 3 words, best first, and room for 8. How many words are shown?
""")
code("""
my_words = None

three = [Piece(" ".join(["word"] * n)) for n in (5, 9, 3)]
expected = fill(three, 8, lambda text: len(text.split())).tokens
print("right" if my_words == expected else "not yet")
""")
md(r"""
<details><summary>Solution</summary>

5. The second piece does not fit, and what comes behind it is not taken either, though it would fit: a memory is not to gain by having short pieces at the end.

</details>

**2.** A graph took 40,000 tokens to make, a text has 15,000, and a question with the graph takes 1,000. From which question on is it cheaper than reading the text each time?
""")
code("""
my_question = None

counted = next(q for q in range(1, 100) if 40_000 + 1000 * q < 15_000 * q)
print("right" if my_question == counted else "not yet")
""")
md(r"""
<details><summary>Solution</summary>

$40{,}000 / (15{,}000 - 1{,}000) = 2.9$, so from the third on. A graph that is made for *one* question, as MindGraph's, never gets there: $q = 1$.

</details>

**3.** Write a memory of your own: two rankings taken in turn, nothing twice.
""")
code("""
def in_turn(first, second):
    return None  # your code: numbers of passages, best first, of both


right_order = [1, 2, 4, 3, 5]
print("right" if in_turn([1, 2, 3], [2, 4, 5]) == right_order else "not yet")
""")
md(r"""
<details><summary>Solution</summary>

```python
def in_turn(first, second):
    return list(dict.fromkeys(n for pair in zip(first, second) for n in pair))
```

With `row = {"found": [in_turn(a, b) for a, b in zip(novels.ranks["bm25"][0]["found"], novels.ranks["mia_emb"][0]["found"])]}` and `beside.show("bm25", novels.texts[0], asked[0], row, novels.sources)` you see what it shows, and `.says(question)` whether the answer is in it.

</details>
""")
code("""
results.finish()
""")
md(r"""
**Read next:** notebook [51](51_paper_audit.ipynb) looks at the papers' own numbers, [52](52_your_own_book.ipynb) at a book of yours.
""")
b.save()
