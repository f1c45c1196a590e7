import sys; sys.path.insert(0,"/work/main/build/mk")
from nb import Book
b=Book("20_session_memory"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 20 · A session memory

*Several books of one series lie in one memory. Which summary stands for which passage, and what do the neighbouring books do to retrieval?*

Paper: MiA-Signature, section 3.1, appendices A.1 and C (Tables 4 and 5).

**You will** cut a source into windows and write down the map from a passage to its summary; merge two books into one memory; measure what the other book costs a retriever that knows nothing but the question, and prove that it can only cost; compare a book of the same series with a stranger's; and build memories in which a passage has several summaries, so that the map is a map no more.

**You need** notebook [10](10_hierarchical_summaries.ipynb) for summaries and [12](12_mia_emb_training.ipynb) for the retriever SFT-Emb. This notebook opens part 2: [21](21_submodular_signatures.ipynb) picks summaries, [22](22_signature_rag.ipynb) retrieves with them, [23](23_signature_agent.ipynb) rewrites them.

**It takes** about a minute on one core.
""")
code('''
scale = "small"  # "full": the encoder reads all series; "gpu": the same, for one of your own
seed = 0
encoder = "embedded"  # reads questions, passages and summaries here; or "hf:NAME"
llm = "embedded"  # retells two windows; "openai:NAME" for any compatible server
kept = ""  # folder of rankings; the kit's own by default
''',"parameters")
code('''
from mindscape import results

results.begin("20_session_memory", scale=scale, seed=seed, encoder=encoder, llm=llm, kept=kept)
''')
md(r"""
## 1 · Seven passages, three sessions

A source is cut into *chunks* $x_1, \dots, x_L$, in its order. Every $W$ of them make a *session*, and each session has one summary: $J = \lceil L/W\rceil$ summaries $s_1, \dots, s_J$, and the map

$$\pi(x_\ell) = s_{\lceil \ell / W\rceil} \qquad\text{(appendix A.1)}$$

from a chunk to its summary. The paper has $W = 20$; here $W = 3$ and $L = 7$:
""")
code('''
import math

from mindscape.signature.memory import build, given
from mindscape.text import Chunk, Document


def note(name, sentences):
    """A document of one sentence a chunk."""
    ends = [0]
    for sentence in sentences:
        ends.append(ends[-1] + len(sentence) + 1)
    places = zip(ends, ends[1:], strict=False)
    chunks = [Chunk(name, i, *place) for i, place in enumerate(places)]
    return Document(name, " ".join(sentences) + " "), chunks


''')
code('''
W = 3
said = ["Ann left.", "Tom came.", "Ivo sang.", "It rained.", "Eve slept.", "Ann is back.", "Tom left."]
document, chunks = note("one", said)
summaries = ["Ann goes, Tom comes; Ivo sings.", "Rain, sleep, and Ann again.", "Tom goes."]
memory = build(document, chunks, given(summaries), width=W)
by_hand = [math.ceil(place / W) for place in range(1, len(said) + 1)]  # counted from 1, as in the paper
print("by hand, from 1:    ", by_hand, " J =", math.ceil(len(said) / W))
print("the library, from 0:", memory.pi.tolist(), " items:", len(memory.items))
print("equal:", [session - 1 for session in by_hand] == memory.pi.tolist())
''')
md(r"""
A question retrieves chunks, best first. Their summaries, each once and in the order in which the chunks bring them up, are what the agent calls $\textsc{Summaries}(P_t)$ (Algorithm 1, line 5), and the pool that a signature is picked from:
""")
code('''
retrieved = [6, 0, 4, 1, 3]
pool = []
for chunk in retrieved:
    session = math.ceil((chunk + 1) / W) - 1
    if session not in pool:
        pool.append(session)
print("by hand:", pool, " the library:", memory.of(retrieved))
''')
md(r"""
**Two books, one memory.** Books of a series are merged into one long document. The paper does not say whether a window may begin in one book and end in the next. With the formula on the merged source it may; the library begins anew with each book:
""")
code('''
from mindscape.signature.memory import merged

other, other_chunks = note("two", ["Eve wrote.", "It snowed.", "Ivo fell.", "Eve read."])
second = build(other, other_chunks, given(["Eve writes in the snow; Ivo falls.", "Eve reads."]), width=W)
both = merged([memory, second])
books = both.books.tolist()
literal = [math.ceil(place / W) - 1 for place in range(1, len(books) + 1)]
print("book of each chunk:     ", books)
print("pi over the whole:      ", literal)
print("pi, anew with each book:", both.pi.tolist())
mixed = [s for s in set(literal) if len({books[i] for i, of in enumerate(literal) if of == s}) > 1]
print("sessions of two books, by the first way:", mixed)
''')
md(r"""
## 2 · A series

`town` writes two novels of one place: the same families, inns and habits, other crimes. Passages have at most 60 tokens, sessions 20 passages; the summaries are *gold*, told from the novel's log. The series are those whose rankings are kept in `data/signature`.
""")
code('''
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import AutoTokenizer

from mindscape import assets, paths, records
from mindscape.signature import evaluation

folder = Path(kept) if kept else paths.data("signature")
adapter = paths.data("adapters", "sft_emb")
ranks = evaluation.kept_ranks(folder / "ranks.jsonl", first=adapter)
about, _ = records.read(folder / "ranks.jsonl")
tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
towns = evaluation.collections(
    "storyworld", tokenizer, about["split"], about["series"], about["width"], about["size"]
)
asked = [[one for one in it.questions if one.id in ranks] for it in towns]
print(f"{len(towns)} series of {evaluation.BOOKS} books, {sum(map(len, asked))} questions")
''')
code('''
def tokens(texts):
    return sum(len(ids) for ids in tokenizer(list(texts))["input_ids"])


rows = {}
for it in towns:
    words = np.array([len(text.split()) for text in it.memory.summaries])
    read, told = tokens(it.memory.texts), tokens(it.memory.summaries)
    rows[it.name] = [len(it.memory.chunks), len(it.memory.items), read, told, words.mean()]
    rows[it.name] += [((words >= 50) & (words <= 100)).mean()]
columns = ["chunks", "sessions", "tokens", "of summaries", "words a summary", "50 to 100 words"]
table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
for column, key in zip(columns, ("chunks", "sessions", "tokens", "told", "words", "fit"), strict=True):
    results.record(f"memory.{key}", table[column].mean(), n=len(table))
shorter = table["of summaries"].sum() / table["tokens"].sum()
results.record("memory.share", shorter)
print(f"the summaries are {shorter:.0%} as long as the books")
table.round(2)
''')
md(r"""
A gold summary has 94 to 99 words in the mean, and about half of them keep to the 50 to 100 that the paper's prompt asks for (Appendix F): they list events and *bindings* (who is who: "Jerome is the brewer"), and are the longer the more happens. All together they are 15 % as long as the books.
""")
md(r"""
**Who writes them?** In the paper GPT-4o, once for each window. Here there are three: the log (gold), TextRank, which copies sentences, and the embedded reader, which retells two windows live. What does each keep of what the log tells of a window? (`mindscape.corpora.storyworld.weighing` counts words and not meaning, see notebook 10.)
""")
code('''
from mindscape.corpora import storyworld
from mindscape.corpora.storyworld import weighing
from mindscape.signature.memory import by_textrank

first = evaluation.SEEDS[about["split"]][0]
novel = storyworld.series(first, evaluation.BOOKS, evaluation.TOKENS).books[0]
here = [chunk for chunk in towns[0].memory.chunks if chunk.doc_id == novel.document.id]
sessions = [here[i : i + about["width"]] for i in range(0, len(here), about["width"])]
gold = [item.text for item in towns[0].memory.items[: len(sessions)]]


def kept_of(summary, reference):
    # how many events and bindings of the reference a summary states, and how many there are
    counted = []
    for count in (weighing.events, weighing.bindings):
        wanted, found = (count(novel.voice, text).right for text in (reference, summary))
        counted.append([sum(a and b for a, b in zip(wanted, found, strict=True)), sum(wanted)])
    return np.array(counted)
''')
code('''
extracts = by_textrank(500)(novel.document, sessions)
opening = [novel.document.text[some[0].start : some[-1].end].strip()[:500] for some in sessions]
rows = {}
for name, texts in (("log", gold), ("TextRank", extracts), ("its first 500 characters", opening)):
    counted = sum(kept_of(text, of) for text, of in zip(texts, gold, strict=True))
    for (found, of), what in zip(counted.tolist(), ("events", "bindings"), strict=True):
        results.record(f"summary.{name.split()[-1].lower()}.{what}", found / of, n=of)
    rows[name] = [f"{found / of:.0%} of {of}" for found, of in counted.tolist()]
    rows[name].append(f"{np.mean([len(text.split()) for text in texts]):.0f}")
columns = ["events", "bindings", "words a summary"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis(f"{len(gold)} sessions")
''')
varies('''
from mindscape import llm as models
from mindscape.signature.memory import by_model

reader = models.load(llm)
few = sessions[1:3] if scale == "small" else sessions
retold = by_model(reader)(novel.document, few)
counted = sum(kept_of(text, of) for text, of in zip(retold, gold[1:], strict=False))
VARIES = "ties between tokens"
for (found, of), what in zip(counted.tolist(), ("events", "bindings"), strict=True):
    results.record(f"summary.reader.{what}", found / max(of, 1), n=max(of, 1), varies=VARIES)
    print(f"the reader keeps {found} of {of} {what} in {len(few)} sessions")
print(f"\\n{retold[0]}\\n\\ngold: {gold[1]}")
''')
md(r"""
TextRank copies whole sentences and keeps a quarter of the events and next to no bindings. The first 500 characters keep more bindings than that. In the two windows that it retold the reader keeps 8 of 13 bindings and 4 of 18 events: it learned on windows of at most 700 tokens, and these have some 960. So the rest of this part takes the gold summaries, and asks what a signature is good for apart from who writes it.
""")
md(r"""
## 3 · What another book can do (a proof before a table)

The paper's Table 5 asks the same questions of the book alone and of the merged series, with a retriever that reads the question alone, and finds less in the series, always. Could it have been otherwise?

**Claim.** *Let a score $s(q, c)$ depend on nothing but question and chunk. Then recall@$k$ in a larger index is at most recall@$k$ in a part of it that holds the evidence, for every question and every $k$.*

**Proof.** The rank of an evidence chunk $e$ is one more than the number of chunks before it: those of a higher score, and of those of the same score the ones that a fixed order of all chunks puts first. Chunks added to the index can enlarge this number and cannot make it smaller. So each $e$ that is among the first $k$ of the larger index is among the first $k$ of the part. (With exact search, the same cutting into chunks, and one order of ties.) ∎

So that a series lowers recall, or leaves it as it is, is no finding about series: it holds for any text that is added. What can be found out is *how much*, and whether a *related* book costs more than another one. By hand, for one question, with cosines of the encoder:
""")
code('''
from mindscape import encoders

LIVE = towns[: {"small": 2}.get(scale, len(towns))]
sentence_encoder = encoders.load(encoder)
vectors, scores = {}, {}
for it in LIVE:
    vectors[it.name] = sentence_encoder.encode(it.memory.texts).astype(np.float64)
    questions = sentence_encoder.encode([one.text for one in it.questions], "query")
    scores[it.name] = np.einsum("qd,cd->qc", questions.astype(np.float64), vectors[it.name])
it, one = LIVE[0], LIVE[0].questions[0]
row, own = scores[it.name][0], it.memory.books == 0
print(one.text)
for chunk in one.evidence:
    above = row > row[chunk]
    print(f"evidence in chunk {chunk}: {above[own].sum()} chunks of its book score higher,", end=" ")
    print(f"{above.sum()} of the series; ranks {1 + above[own].sum()} and {1 + above.sum()}")
''')
code('''
from mindscape.signature.memory import recalls

by_hand = [
    np.mean([(row > row[e]).sum() < 10 for e in one.evidence])
    for one, row in zip(it.questions, scores[it.name], strict=True)
]
library = recalls(it.memory, it.questions, scores[it.name], 10)
print("recall@10 in the series, by hand and by the library, equal:", np.allclose(by_hand, library))
alone = recalls(it.memory, it.questions, scores[it.name], 10, own_book=True)
hurt = np.subtract(alone, library)
helped, worse = (hurt < 0).sum(), (hurt > 0).sum()
print(f"{len(hurt)} questions: helped by the other book {helped} (expected: 0), hurt {worse}")
''')
md(r"""
BM25 is no such score: how rare a word is and how long passages are on average depend on the whole index. There the claim does not hold, if each index counts its own words:
""")
code('''
from mindscape.lexical import BM25
from mindscape.metrics import recall_fraction_at_k


def lexical(texts, questions, evidence, k=10):
    """Recall@k of each question with an index of these texts alone; evidence as places in them."""
    found, _ = BM25(texts).search([one.text for one in questions], k)
    return [recall_fraction_at_k(row.tolist(), of, k) for row, of in zip(found, evidence, strict=True)]


def by_bm25(memory, questions, k=10):
    """Recall@k of each question with an index of its own book, and with one of the whole memory."""
    whole = lexical(memory.texts, questions, [one.evidence for one in questions], k)
    own = {}
    for number, document in enumerate(memory.documents):
        places = np.flatnonzero(memory.books == number)
        mine = [one for one in questions if one.doc_id == document.id]
        evidence = [[i - places[0] for i in one.evidence] for one in mine]
        values = lexical([memory.texts[i] for i in places], mine, evidence, k) if mine else []
        own |= dict(zip([one.id for one in mine], values, strict=True))
    return [own[one.id] for one in questions], whole
''')
code('''
bm25 = {k: ([], []) for k in (5, 10)}
for it in towns:
    for k, sides in bm25.items():
        for side, values in zip(sides, by_bm25(it.memory, it.questions, k), strict=True):
            side.extend(values)
bm25_books = [one.doc_id for it in towns for one in it.questions]
gap = np.subtract(*bm25[10])
print(f"BM25, {len(gap)} questions: hurt {(gap > 0).sum()}, helped {(gap < 0).sum()}")
''')
md(r"""
## 4 · One book or the series (Table 5)

Three retrievers: BM25; the sentence encoder, which reads some of the series here; SFT-Emb, whose first 50 chunks for each question are kept. Of those 50 the ones of the question's own book, in their order, are what it would find in that book alone. Where they are fewer than ten, some evidence of the book alone may be missing from the count, and the drop is *under*stated.
""")
code('''
from mindscape.metrics import bootstrap, paired_bootstrap


def both_ways(it, questions, woken, k):
    """Recall@k in the own book and in the series, from rankings of the series."""
    own, whole = [], []
    for one in questions:
        book = it.memory.books[one.evidence[0]]
        mine = [chunk for chunk in woken[one.id].woken if it.memory.books[chunk] == book]
        own.append(recall_fraction_at_k(mine, one.evidence, k))
        whole.append(recall_fraction_at_k(woken[one.id].woken, one.evidence, k))
    return own, whole


found = {("BM25", k): (*sides, bm25_books) for k, sides in bm25.items()}
for k in (5, 10):
    own, whole, groups = [], [], []
    for it in LIVE:
        own += recalls(it.memory, it.questions, scores[it.name], k, own_book=True)
        whole += recalls(it.memory, it.questions, scores[it.name], k)
        groups += [one.doc_id for one in it.questions]
    found["encoder", k] = own, whole, groups
    pairs = [both_ways(it, some, ranks, k) for it, some in zip(towns, asked, strict=True)]
    own, whole = ([value for pair in pairs for value in pair[side]] for side in (0, 1))
    found["SFT-Emb", k] = own, whole, [one.doc_id for some in asked for one in some]
''')
code('''
key_of = {"BM25": "bm25", "encoder": "encoder", "SFT-Emb": "sft_emb"}
drops, rows = {}, {}
for name, k in sorted(found, key=lambda key: list(key_of).index(key[0])):
    own, whole, groups = found[name, k]
    drop = drops[name, k] = paired_bootstrap(own, whole, groups=groups, seed=seed)
    values = [bootstrap(of, groups=groups, seed=seed) for of in (own, whole)]
    for of, where in zip((*values, drop), ("single", "series", "drop"), strict=True):
        results.record(f"series.{key_of[name]}.recall@{k}.{where}", of)
    if (name, k) == ("SFT-Emb", 10):
        results.record("series.recall@10.drop", drop)
    rows[f"{name}, k = {k}"] = [drop.n, len(set(groups)), *map(str, (*values, drop))]
few_own = [
    sum(it.memory.books[c] == it.memory.books[one.evidence[0]] for c in ranks[one.id].woken) < 10
    for it, some in zip(towns, asked, strict=True)
    for one in some
]
results.record("series.sft_emb.short_lists", np.mean(few_own), n=len(few_own))
print(f"SFT-Emb has fewer than ten of the own book's chunks for {np.mean(few_own):.0%} of them")
columns = ["questions", "books", "single book", "series", "drop"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
from mindscape import paper, plots

printed = paper.table("mia_signature_table5")
fig, axes = plots.subplots(columns=2, height=2.8, sharex=True)
colours, told = ["orange", "purple", "blue"] + ["green"] * 3, []
for ax, k in zip(axes, (5, 10), strict=True):
    of = [drops[name, k] for name in key_of]
    at_k = printed[printed.k == k].pivot(index="dataset", columns="index", values="recall")
    theirs = ((at_k["single-book"] - at_k["series-book"]) / 100).to_dict()
    labels = [*key_of, *(f"paper, {name}" for name in theirs)]
    edges = ([getattr(it, edge) for it in of] for edge in ("value", "low", "high"))
    values, lows, highs = ([*ours, *theirs.values()] for ours in edges)
    plots.dots(ax, labels, values, lows, highs, colours, zero=True)
    ax.set(title=f"k = {k}", xlabel="recall lost to the series")
    ax.locator_params(axis="x", nbins=5)
    told += [f"{name} at {k} {value:.3f}" for name, value in zip(labels, values, strict=True)]
axes[1].set_yticklabels([])
alt = f"Recall lost by merging the books of a series, ours with intervals: {'; '.join(told)}."
results.figure(fig, "drop", alt, "One book or the series")
''')
md(r"""
SFT-Emb loses 0.06 at $k = 5$ and 0.05 at 10, the encoder 0.02 and 0.04: within the paper's range of 0.01 to 0.08, with two books in place of up to eight. BM25 loses 0.02 at 5; at 10 it loses 0.01, not beyond chance: 27 questions lose, 22 gain. No list was too short, so nothing is understated.
""")
md(r"""
**More books.** Two here, up to eight in the paper. With series of two, three and four books, by words:
""")
code('''
seeds = list(evaluation.SEEDS[about["split"]])[: {"small": 3}.get(scale, 10)]
rows = {}
for count in (2, 3, 4):
    own, whole, groups = [], [], []
    for number in seeds:
        it = evaluation.town(number, tokenizer, books=count)
        for side, values in zip((own, whole), by_bm25(it.memory, it.questions), strict=True):
            side += values
        groups += [one.doc_id for one in it.questions]
    drop = paired_bootstrap(own, whole, groups=groups, seed=seed)
    results.record(f"series.bm25.recall@10.drop.books_{count}", drop)
    rows[count] = [drop.n, f"{np.mean(own):.2f}", f"{np.mean(whole):.2f}", str(drop)]
columns = ["questions", "single book", "series", "drop"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("books")
''')
md(r"""
With two books the drop is not beyond chance on these three towns; with three and four it is 0.03 and 0.04. The questions are not the same ones, so the growth itself is not tested.
""")
# Run once in full (seed 0): +0.01 [-0.01, +0.02], +0.03 [+0.02, +0.05], +0.04 [+0.02, +0.05]; check against the stored table.
md(r"""
## 5 · Related, or only larger?

The paper reads the drop as *semantic interference* by related books. By the claim above any book would do. So: to each question's book is added, as many passages each time, (a) the other book of its series, (b) a book of another town. If interference is what hurts, (a) must cost more than (b).
""")
code('''
def added(its, lists):
    """What the other book of the series, and as much of a stranger's, cost each question."""
    related, stranger, groups = [], [], []
    for number, it in enumerate(its):
        unknown = its[(number + 1) % len(its)]
        for book, document in enumerate(it.memory.documents):
            own, other = (np.flatnonzero((it.memory.books == book) == side) for side in (True, False))
            size = min(len(other), int((unknown.memory.books == 0).sum()))
            mine = [i for i, one in enumerate(it.questions) if one.doc_id == document.id]
            alone, with_other, with_stranger = lists(it, unknown, mine, own, other[:size], size)
            related += np.subtract(alone, with_other).tolist()
            stranger += np.subtract(alone, with_stranger).tolist()
            groups += [document.id] * len(mine)
    return related, stranger, groups
''')
code('''
def by_words(it, unknown, mine, own, other, size):
    asked_here = [it.questions[i] for i in mine]
    evidence = [[place - own[0] for place in one.evidence] for one in asked_here]
    texts = [it.memory.texts[i] for i in own]
    more = [[it.memory.texts[i] for i in other], unknown.memory.texts[:size]]
    return [lexical(texts + some, asked_here, evidence) for some in ([], *more)]


def by_vectors(it, unknown, mine, own, other, size):
    texts = [it.questions[i].text for i in mine]
    asked_here = sentence_encoder.encode(texts, "query").astype(np.float64)
    there = asked_here @ vectors[unknown.name][:size].T
    recalled = [[], [], []]
    for i, strangers in zip(mine, there, strict=True):
        row = scores[it.name][i]
        piles, evidence = (row[own], row[other], strangers), it.questions[i].evidence
        own_above, *others = np.array([[(of > row[e]).sum() for e in evidence] for of in piles])
        for into, more in zip(recalled, (0, *others), strict=True):
            into.append(np.mean(own_above + more < 10))
    return recalled
''')
code('''
rows = {}
for name, its, how in (("BM25", towns, by_words), ("encoder", LIVE, by_vectors)):
    related, stranger, groups = added(its, how)
    of = [bootstrap(values, groups=groups, seed=seed) for values in (related, stranger)]
    more = paired_bootstrap(related, stranger, groups=groups, seed=seed)
    key = f"series.{key_of[name]}"
    for it, what in zip((*of, more), ("related", "stranger", "related_minus_stranger"), strict=True):
        results.record(f"{key}.recall@10.drop.{what}", it)
    rows[name] = [more.n, *map(str, (*of, more))]
columns = ["questions", "lost to the series' other book", "to a stranger's", "difference"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("recall@10")
''')
md(r"""
With vectors the size of the index explains all of it that can be seen: the other book of the series costs 0.04, a stranger's costs 0.04 (four books). By words size costs nothing, and what is lost, one hundredth, is the related book's doing. One limit: all towns share one novelist and one stock of names, so our stranger is half a relation.
""")
md(r"""
## 6 · Shakespeare's histories

Eight plays of kings, with the same people from one to the next; the kit has questions on the first four. BM25 in all eight; the encoder and SFT-Emb from kept rankings, in two smaller series: *falstaff* (both parts of Henry IV and the Merry Wives) and *rome* (two plays).
""")
code('''
from mindscape.corpora import shakespeare
from mindscape.signature.memory import posed
from mindscape.text import split_sentences


def opening(document, windows):
    """A session's first words stand for it: no summaries are needed here."""
    return [document[some[0]].strip()[:60] or "-" for some in windows]


parts = [shakespeare.play(name) for name in shakespeare.SERIES["histories"]]
kings = merged([build(of, split_sentences(of, tokenizer, about["size"]), opening) for of in parts])
on_kings = [one for of in parts for one in posed(kings, shakespeare.questions(of.id))]
on_kings = [one for one in on_kings if len(one.evidence) <= evaluation.MOST]
groups = [one.doc_id for one in on_kings]
of_plays = {("BM25, eight histories", k): (*by_bm25(kings, on_kings, k), groups) for k in (5, 10)}
print(f"{len(parts)} plays, {len(kings.chunks):,} chunks, {len(on_kings)} questions")
''')
code('''
plays = evaluation.collections("shakespeare", tokenizer, size=about["size"])
for name, file in (("encoder", "plays_minilm"), ("SFT-Emb", "plays")):
    first = {"first": adapter} if name == "SFT-Emb" else {}
    rows_of = evaluation.kept_ranks(folder / f"{file}.jsonl", **first)
    asked_of = [[one for one in it.questions if one.id in rows_of] for it in plays]
    groups = [one.doc_id for mine in asked_of for one in mine]
    for k in (5, 10):
        pairs = [both_ways(it, mine, rows_of, k) for it, mine in zip(plays, asked_of, strict=True)]
        sides = ([value for pair in pairs for value in pair[side]] for side in (0, 1))
        of_plays[f"{name}, falstaff and rome", k] = (*sides, groups)
rows = {}
for (name, k), (own, whole, groups) in of_plays.items():
    drop = paired_bootstrap(own, whole, groups=groups, seed=seed)
    results.record(f"plays.{key_of[name.split(',')[0]]}.recall@{k}.drop", drop)
    rows[f"{name}, k = {k}"] = [drop.n, f"{np.mean(own):.2f}", f"{np.mean(whole):.2f}", str(drop)]
columns = ["questions", "one play", "series", "drop"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md(r"""
There is little to lose: modern questions and Elizabethan lines share few words, so BM25 finds 0.03 of the evidence in the histories; in the other five plays SFT-Emb finds 0.14 and the encoder as it comes 0.20 (not tested here; notebook 12 has these two in the same order, not beyond chance). One to three points of that are lost; for the two that read vectors the intervals begin at zero, where the proof ends them.
""")
md(r"""
## 7 · A redundant memory

The paper wants signatures to work on *overcomplete* memories, too: items that repeat and overlap, sometimes more of them than the source has parts. (Ours stay below that: at most 172 items for some 580 chunks.) Three ways to have too much: windows that overlap (a new one every ten chunks), windows of two sizes, an item for every person and thing. Then a chunk stands in several items, and $\pi$ is a relation:
""")
code('''
from mindscape.signature.memory import entities, stacked
from mindscape.signature.memory import gold as from_log

HOW = {}, {"stride": 10}, {"width": 100, "kind": "part"}
KINDS = ("sessions", "overlapping", "two sizes", "entities", "all of them")


def memories(number):
    """One town's memory in each of the ways."""
    found = {name: [] for name in KINDS}
    for book in storyworld.series(number, evaluation.BOOKS, evaluation.TOKENS).books:
        cut = split_sentences(book.document, tokenizer, about["size"])
        plain, half, wide = (build(book.document, cut, from_log(book), **how) for how in HOW)
        people = entities(book.document, cut, [(of.name, of.description) for of in book.entities])
        ways = plain, half, stacked([plain, wide]), people, stacked([half, wide, people])
        for name, of in zip(KINDS, ways, strict=True):
            found[name].append(of)
    return {name: merged(some) for name, some in found.items()}


seeds_live = list(evaluation.SEEDS[about["split"]])[: len(LIVE)]
too_much = [memories(number) for number in seeds_live]
print("the plain one is the town's:", too_much[0]["sessions"].pi.tolist() == towns[0].memory.pi.tolist())
''')
code('''
from mindscape.errors import InputError

rows = {}
for name in KINDS:
    some = [of[name] for of in too_much]
    a_chunk = np.concatenate([np.diff(of.cover.tocsc().indptr) for of in some])
    length = sum(tokens(of.summaries) for of in some) / sum(tokens(of.texts) for of in some)
    try:
        map_or_not = f"a function onto {len(set(some[0].pi.tolist()))} items"
    except InputError as error:
        map_or_not = str(error).split(":")[0]
    rows[name] = [np.mean([len(of.items) for of in some]), a_chunk.mean(), a_chunk.max()]
    rows[name] += [f"{length:.0%}", map_or_not]
    results.record(f"overcomplete.{name.replace(' ', '_')}.items_per_chunk", a_chunk.mean())
columns = ["items", "items a chunk", "at most", "as long as the text", "pi"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(1)
''')
md(r"""
What becomes of a signature? A question wakes its 50 nearest chunks and their items; five are picked, by First-K or by greedy on Eq. 10 with coverage as Eq. 8 has it (notebook 21). Counted: the pool; how much of the rank-weighted chunks woken the five stand for; how alike the five are (mean cosine); what share of the *evidence* belongs to one of them; words.
""")
code('''
from mindscape.signature.objectives import rank_weights
from mindscape.signature.rag import Shelf

def of_signature(memory, one, woken, items, alike):
    """Pool, share of the woken weight that items stand for, likeness, evidence in them, words."""
    weight = rank_weights(np.arange(1, len(woken.chunks) + 1))
    held = memory.cover[items].sum(0) > 0
    covered = (weight * held[list(woken.chunks)]).sum() / weight.sum()
    pairs = alike[items][:, items][np.triu_indices(len(items), 1)]
    words = sum(len(memory.items[i].text.split()) for i in items)
    return len(woken.items), covered, pairs.mean(), held[list(one.evidence)].mean(), words


''')
code('''
SOME = {"small": 15}.get(scale, 1000)  # questions on each book
measured = {}
for name in KINDS:
    for of, it in zip(too_much, LIVE, strict=True):
        shelf, mine = Shelf(of[name], sentence_encoder), evaluation.share(it.questions, SOME)
        told = sentence_encoder.encode(of[name].summaries)
        alike = told @ told.T
        for one, woken in zip(mine, shelf.wake([one.text for one in mine]), strict=True):
            for way in ("first_k", "coverage"):
                items = list(shelf.choose(woken, way))
                line = of_signature(of[name], one, woken, items, alike)
                measured.setdefault((name, way), []).append((one.doc_id, *line))
''')
code('''
WHAT, rows = ("covered", "alike", "evidence", "words"), {}
for name in KINDS:
    for way in ("first_k", "coverage"):
        groups, *columns_of = zip(*measured[name, way], strict=True)
        rows[f"{name}, {way}"] = [f"{np.mean(columns_of[0]):.0f}"]
        for values, what in zip(columns_of[1:], WHAT, strict=True):
            of = bootstrap(values, groups=groups, seed=seed)
            key = f"overcomplete.{name.replace(' ', '_')}.{way}.{what}"
            results.record(key, of, varies="rounding" if what == "alike" else None)
            rows[f"{name}, {way}"].append(f"{of.value:.0f}" if what == "words" else str(of))
    a, b = (np.array([line[2] for line in measured[name, way]]) for way in ("coverage", "first_k"))
    more = paired_bootstrap(a, b, groups=groups, seed=seed)
    results.record(f"overcomplete.{name.replace(' ', '_')}.covered.coverage_minus_first_k", more)
    rows[f"{name}, first_k"].append("")
    rows[f"{name}, coverage"].append(str(more))
columns = ["pool", "woken weight covered", "alike", "evidence in them", "words", "covered, less First-K"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md(r"""
In the plain memory First-K stands for a little more of what was woken. Where windows overlap it falls behind, 0.42 and 0.57 of the weight: it picks windows that hold the same few chunks, and coverage does not. So the remark on overcomplete memories holds for the weight, which is what the objective itself rewards; for evidence the intervals overlap.

Watch the words, though. With two sizes coverage takes the widest windows, 1,440 words, because $K$ counts items and not words; the fair row is *overlapping*, where all items are of one size. And *evidence in them* says that a chunk belongs to an item, not that the item's text tells of it: five people, in 183 words, stand for many chunks and say little of each.
""")
md(r"""
## The paper says / we got / why they differ
""")
code('''
rows = {}
for name in ("DetectiveQA-EN", "DetectiveQA-ZH", "NarrativeQA"):
    for k in (5, 10):
        of = printed[(printed.dataset == name) & (printed.k == k)].set_index("index").recall
        rows[f"paper, {name}, k = {k}"] = [of["single-book"], of["series-book"]]
for name in key_of:
    for k in (5, 10):
        rows[f"ours, {name}, k = {k}"] = [100 * np.mean(side) for side in found[name, k][:2]]
table = pd.DataFrame.from_dict(rows, orient="index", columns=["single book", "series"])
table["lost"] = table["single book"] - table["series"]
table["of what was found, %"] = 100 * table["lost"] / table["single book"]
table.round(1).rename_axis("recall, %")
''')
md(r"""
The sign is a theorem, for a score of question and chunk (so not for BM25). The size is within the paper's range, with fewer books; SFT-Emb starts from 0.92 where it starts from 0.61 or less there, on made-up towns against real novels, and by a retriever that was trained on such towns.
""")
md(r"""
## Reading critically

**A drop that cannot be a gain.** Section 3 has the proof, and the encoder's numbers bear it out: of the first town's questions none was helped. The paper calls its control a sanity check, and it is one: of the code. "Confirming that cross-book context acts as semantic interference" (its caption) asks for section 5's comparison, which Table 5 does not have.

**How many questions is that?** DetectiveQA has 150 questions in Table 4 (81 and 69), so 0.7 points are one question:
""")
code('''
books_of = paper.table("mia_signature_table4")
of_detective = int(books_of[books_of.benchmark == "DetectiveQA"].questions.sum())
of_narrative = int(books_of[books_of.benchmark == "NarrativeQA"].questions.sum())
sizes = dict.fromkeys(("DetectiveQA-EN", "DetectiveQA-ZH"), of_detective)
for name, n in {**sizes, "NarrativeQA": of_narrative}.items():
    for k in (5, 10):
        of = printed[(printed.dataset == name) & (printed.k == k)].set_index("index").recall / 100
        lost = (of["single-book"] - of["series-book"]) * n
        margin = 100 * 1.96 * math.sqrt(of["series-book"] * (1 - of["series-book"]) / n)
        print(f"{name:15} @{k:2}: {lost:4.1f} of {n} questions; ± {margin:.0f} points for either")
rows_total = books_of[books_of.benchmark == "Total"].iloc[0]
parts = books_of[books_of.benchmark != "Total"]
print("Table 4 adds up:", parts.books.sum() == rows_total.books, parts.questions.sum() == rows_total.questions)
''')
md(r"""
(If recall is 0 or 1 for a question; where it is a share of several passages the count is one of whole questions' worth.) In English the whole drop at $k = 5$ is one question. Since the sign is given beforehand, no test of significance applies to it; since questions on one novel stand or fall together, the margins above are too narrow.

**A session is a length in disguise.** $W = 20$ counts chunks, and the paper does not say how long its chunks are. In MiA-RAG they had 1,200 tokens on NarrativeQA (with 100 in common). If they have here, a session is some 22,000 tokens, told in 50 to 100 words, and a novel of 100,000 tokens has five: of a book alone, a signature of $K = 5$ would be all. The same series, cut otherwise, and what the 50 chunks nearest by words wake (where fewer share a word with the question, the first of the book fill up):
""")
code('''
rows = {}
for size in (30, 60, 120, 240):
    pools, counts = [], []
    for number in seeds_live:
        it = evaluation.town(number, tokenizer, size=size)
        near, _ = BM25(it.memory.texts).search([one.text for one in it.questions], 50)
        pools += [len(it.memory.of(row.tolist())) for row in near]
        counts += [len(it.memory.items)] * len(near)
    share_woken = np.mean(np.array(pools) / counts)
    rows[size] = [np.mean(counts), np.mean(pools), f"{share_woken:.0%}"]
    rows[size].append(f"{np.mean(np.array(pools) <= 5):.0%}")
    results.record(f"woken.size_{size}.share", share_woken, n=len(pools))
columns = ["sessions", "woken by 50 chunks", "of all sessions", "no more than K = 5"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(1).rename_axis("tokens a chunk")
''')
md(r"""
The longer a chunk, the less is selected by waking fifty: 40 % of all sessions at 30 tokens, 89 % at 240. Over eight novels the first pass does select (in appendix E ten sessions stand behind the fifty chunks); over few, with long chunks, it wakes nearly everything, and what is left of the choice is $K$.
""")
# Run once in full (BM25, two towns, seed 0): 40, 65, 84, 89 %; check against the stored table.
md(r"""
**Windows that know no chapters.** A window ends where the count ends, in mid-scene. On plays the library takes scenes for sessions instead. How many windows of 20 passages end inside a scene, and how many scenes does one window mix?
""")
code('''
from mindscape.signature.objectives import windows

mixed, inside = [], []
for it in plays:
    for number in range(len(it.memory.documents)):
        scene_of = it.memory.pi[it.memory.books == number]
        cover = windows(len(scene_of))
        bounds = list(zip(cover.indptr, cover.indptr[1:], strict=False))
        mixed += [len(set(scene_of[cover.indices[a:b]])) for a, b in bounds]
        inside += [scene_of[b - 1] == scene_of[b] for a, b in bounds[:-1]]
results.record("windows.scenes", np.mean(mixed), n=len(mixed))
results.record("windows.end_inside_a_scene", np.mean(inside), n=len(inside))
print(f"{len(mixed)} windows: {np.mean(mixed):.1f} scenes each")
print(f"{np.mean(inside):.0%} end inside a scene")
''')
md(r"""
Nearly every window ends in mid-scene. Whether that hurts is not tested here: the kit's summaries of plays follow scenes.

To sum up: $\pi$ is bookkeeping of positions; the sign of Table 5 is a theorem, and its size the finding; whether it is the likeness of the books that hurts takes section 5's comparison; and what $K = 5$ means hangs on the length of a chunk.
""")
# Run once in full: 225 windows, 1.5 scenes each, 99 % end inside a scene.
md(r"""
## Exercises

**1.** A book has 101 chunks, $W = 20$. How many summaries has it, and which one, counted from 1, stands for $x_{100}$?
""")
code('''
my_summaries, my_session = None, None

print("right" if (my_summaries, my_session) == (math.ceil(101 / 20), math.ceil(100 / 20)) else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

Six, and the fifth: $\lceil 101/20\rceil = 6$, $\lceil 100/20\rceil = 5$. The sixth stands for a single chunk.

</details>

**2.** 100 chunks, windows of 20, a new one every ten. How many chunks stand in one item only?
""")
code('''
my_chunks = None

expected = int((windows(100, 20, stride=10).sum(0) == 1).sum())
print("right" if my_chunks == expected else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

20: the first ten and the last ten. All others stand in two.

</details>

**3.** Windows run over the merged chunks of several books, without beginning anew. Given the books' lengths in chunks, how many windows hold chunks of more than one book?
""")
code('''
def straddling(lengths, width):
    return None  # your code


trials = ([7, 4], 3), ([40, 20, 33], 20), ([5, 5, 5], 20), ([19, 1, 20], 20)
print("right" if [straddling(*trial) for trial in trials] == [1, 0, 1, 1] else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

```python
def straddling(lengths, width):
    books = [book for book, length in enumerate(lengths) for _ in range(length)]
    return sum(len(set(books[i : i + width])) > 1 for i in range(0, len(books), width))
```

Mostly one for each border between two books, and fewer where books are short or end with a window.

</details>
""")
code('''
results.finish()
''')
md(r"""
**Read next:** notebook [21](21_submodular_signatures.ipynb): which five of the woken summaries, and what the theory behind the choice is worth.
""")
b.save()
