import sys; sys.path.insert(0,"/work/main/build/drafts")
from nb import Book
b=Book("16_mia_graphrag"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 16 · A mindscape-aware retriever on a graph

*"What is known of the organist?" No passage answers that. Does a summary help to find the right corner of a graph, and who is to judge the answers?*

Paper: MiA-RAG, section 5.3 and appendix D.2 (Table 9, Figures 13 and 14).

**You will** make a graph of entities and ties out of what a model says of each passage; put together a context as GraphRAG's local mode does; compare three retrievers of nodes, first by counting facts, then by a judge who sees two answers; and measure the judge before believing it.

**You need** notebook [12](12_mia_emb_training.ipynb), which trains the retrievers, and [01](01_the_reader.ipynb) for the roles `entities` and `pairwise`.

**It takes** TIME on one core.
""")
code('''
scale = "small"  # "full": more is asked live; "gpu": a graph, answers and verdicts of your own
seed = 0
llm = "embedded"  # who reads, answers and judges; "openai:NAME" for any compatible server
kept = ""  # folder of graphs, ranks, answers and verdicts; the kit's own by default
''',"parameters")
code('''
from mindscape import results

results.begin("16_mia_graphrag", scale=scale, seed=seed, llm=llm, kept=kept)
''')
md(r"""
## 1 · A graph of three passages

The role `entities` says of a passage who and what it tells of, and what. Three passages, as a model might read them:
""")
code('''
said = {
    0: [("Ann", "She is the smith; Ann sold Tom a lamp."), ("Tom", "Ann sold Tom a lamp.")],
    1: [("Eve", "Eve hid the lamp in the mill."), ("the mill", "Eve hid the lamp in the mill.")],
    2: [("Tom", "He is Eve's brother; Tom met Eve."), ("Eve", "Tom met Eve.")],
}
where, ties_by_hand = {}, {}
for passage, entities in said.items():
    told_of = {}
    for name, description in entities:
        where.setdefault(name, []).append(passage)
        for statement in description.strip(".").split("; "):
            told_of.setdefault(statement, []).append(name)
    for statement, names in told_of.items():
        if len(names) == 2:  # who is named by the same statement is tied by it
            ties_by_hand.setdefault(tuple(names), []).append(statement)
print("passages:", where)
print("ties:", ties_by_hand)
''')
code('''
from mindscape.mia.graphrag import merged, read_off

told = [
    read_off(i, [{"name": name, "description": of} for name, of in some])
    for i, some in said.items()
]
toy = merged("three passages", told)
theirs = {
    (toy.entities[it.source].name, toy.entities[it.target].name): it.description
    for it in toy.relations
}
print("the library:", theirs)
print("the same ties:", set(theirs) == set(ties_by_hand))
''')
code('''
from mindscape import plots

plots.use()
fig, ax = plots.subplots(height=2.4)
spots = dict(zip(where, [(0, 0), (1, 0.8), (2, 0), (3.2, 0.5)], strict=True))
for (one, other), description in theirs.items():
    (x, y), (u, v) = spots[one], spots[other]
    ax.plot([x, u], [y, v], color=plots.GREY, marker="", zorder=1)
    ax.text((x + u) / 2, (y + v) / 2 + 0.07, description, fontsize=8, ha="center")
for name, (x, y) in spots.items():
    ax.plot([x], [y], "o", markersize=12, color=plots.PALETTE["blue"])
    ax.text(x, y - 0.3, f"{name}\\npassages {', '.join(map(str, where[name]))}", ha="center", fontsize=8)
ax.set(xlim=(-0.5, 3.8), ylim=(-0.6, 1.15))
ax.axis("off")
alt = "Four entities, Ann, Tom, Eve and the mill, in a row of three ties, each with what is said of it."
results.figure(fig, "toy", alt, "A graph of three passages")
''')
md(r"""
## 2 · A context, as local mode has it

A retriever picks entities. What a model gets to read is put together from them in three parts, each with a share of the budget: the entities' descriptions; their *ties*, first those between two of them, the best connected first; the *passages* that tell of them. For the entities Tom and Eve:
""")
code('''
from mindscape.mia.graphrag import SHARES, assembled, ties
from mindscape.text import Chunk, Document

picked = [i for i, it in enumerate(toy.entities) if it.name in ("Tom", "Eve")]
degree = {i: sum(i in (it.source, it.target) for it in toy.relations) for i in range(4)}
inside, outside = [], []
for i, it in enumerate(toy.relations):
    ends = {it.source, it.target}
    (inside if ends <= set(picked) else outside).append((i, sum(degree[end] for end in ends)))
by_hand = [i for i, _ in sorted(inside, key=lambda it: -it[1])]
by_hand += [i for i, _ in sorted(outside, key=lambda it: -it[1])]
print("ties in order, by hand:", by_hand, " the library:", ties(toy, picked))

text = "Ann, the smith, sold Tom a lamp. Eve hid it in the mill. Tom met his sister Eve."
document = Document(toy.document, text, "en")
cuts = [0, 33, 57, len(text)]
pieces = [Chunk(a, b) for a, b in zip(cuts, cuts[1:], strict=False)]
context = assembled(toy, picked, document, pieces, 60, lambda text: len(text.split()))
print(f"shares {SHARES}, {context.tokens} of 60 words\\n\\n{context.text}")
''')
md(r"""
GraphRAG's *global* mode, which sums up whole communities of the graph, is not asked here, as in the paper.

## 3 · Ten novels, two graphs

Each test novel is cut into passages of at most 150 tokens, and the reader says what each tells of. Its replies are kept. Beside that graph stands one made from the novel's log, which is what a perfect reader would give. So the retriever can be judged apart from the reader.
""")
code('''
from pathlib import Path

from transformers import AutoTokenizer

from mindscape import assets, paths
from mindscape import llm as models
from mindscape.errors import InputError
from mindscape.mia import graph_evaluation as study
from mindscape.mia.graphrag import build, of_story
from mindscape.reader.evaluation import Kept, books
from mindscape.roles import passages

if llm != "embedded" and not kept:
    raise InputError(f"llm={llm!r}: expected kept, a folder for what it says")
PEOPLE = 6  # of a novel that are asked about
folder = Path(kept) if kept else paths.data("graphrag")
tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
own = {"adapter": str(models.READER)} if llm == "embedded" else {}
reader = models.load(llm, **own)
logs = {novel.document.id: study.Log(novel) for novel in books("test")}
asked = [one for log in logs.values() for one in study.posed(log, PEOPLE)]
chunks = {name: passages.cut(log.book, tokenizer, study.PASSAGE) for name, log in logs.items()}
''')
code('''
def replies_of(name):
    """The file of what was said, by the model that said it."""
    path = folder / f"{name}.jsonl"
    dtype = "" if path.exists() else "float32"
    return Kept.of(path, llm, own.get("adapter"), dtype)


graphs = {study.LOG: {}, study.READER: {}}
rows = {}
for name, log in logs.items():
    graphs[study.LOG][name] = of_story(log.book, chunks[name])
    graph = build(reader, replies_of("graphs"), log.book.document, chunks[name])
    graphs[study.READER][name] = graph
    known = {entity.name for entity in log.book.entities}
    named = sum(entity.name in known for entity in graph.entities)
    rows[name] = [len(chunks[name]), len(graph.entities), len(graph.relations)]
    rows[name] += [named / len(known), graph.unread["entities"]]
''')
code('''
import numpy as np
import pandas as pd

columns = ["passages", "entities", "ties", "of the log's entities", "unread replies"]
table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
for column, key in zip(columns, ("passages", "entities", "ties", "found", "unread"), strict=True):
    results.record(f"graph.reader.{key}", table[column].mean(), n=len(table))
size = np.mean([len(graph.entities) for graph in graphs[study.LOG].values()])
results.record("graph.log.entities", size, n=len(rows))
print(f"a log's graph has {size:.0f} entities")
table.round(2)
''')
md("RESULTS_3")
code('''
held = {
    sort: {name: study.holdings(logs[name], graph, chunks[name]) for name, graph in some.items()}
    for sort, some in graphs.items()
}
for sort, some in held.items():
    shares = []
    for name, of in some.items():
        stated = frozenset().union(*of.entities, *of.relations)
        shares.append(len(stated & set(logs[name].facts)) / len(logs[name].facts))
    results.record(f"graph.{sort}.facts", np.mean(shares), n=len(shares))
    print(f"{sort:6} descriptions and ties state {np.mean(shares):.0%} of a novel's facts")
''')

md('''
A few passages, asked again:
''')
varies('''
from mindscape.reader.evaluation import ask
from mindscape.roles import ROLES

novel = next(iter(logs.values())).book
few = chunks[novel.document.id][: 3 if scale == "small" else 12]
prompts = [ROLES["entities"].prompt("en", text=novel.document[it].strip()) for it in few]
same = np.mean(
    [
        new.best == old.best
        for new, old in zip(
            ask(reader, "entities", prompts),
            replies_of("graphs").answers("entities", prompts),
            strict=True,
        )
    ]
)
results.record("live.graphs.same", same, n=len(few), varies="bf16 or fp32, and ties between tokens")
print(f"{same:.0%} of {len(few)} replies are the kept ones")
''')
md('''
## 4 · Which entities? (three retrievers)

*"What is known of Kathleen?"* and *"What is known of the organist?"* ask for the same facts. Whoever does not know that the organist is Kathleen can find the second only by luck, unless an entity's description says so. Each retriever ranks all entities of a graph and the first twenty are taken: **vanilla**, the base as it comes, and **SFT-Emb** read the question; **MiA-Emb** reads the summary with it. What is counted: does the list hold the person who is meant, and how many of the novel's facts on this person does the context hold that local mode makes of the list?
''')
code('''
home = paths.data("adapters")
SOURCES = {"vanilla": "", "sft_emb": str(home / "sft_emb"), "mia_emb": str(home / "mia_emb")}
ranked = {}
for sort, some in graphs.items():
    for name, source in SOURCES.items():
        ranked[sort, name] = study.nodes(folder, name, source, sort, list(some.values()), asked)
count = study.counter(tokenizer)


def contexts_of(sort, name, questions, k=20):
    return study.contexts(
        questions, ranked[sort, name], graphs[sort], chunks, count, study.BUDGET, k
    )


def facts_in(sort, contexts, questions):
    # the share of the facts on the person that a context holds
    return np.array(
        [
            len(held[sort][one.book.document.id].of(of) & set(one.facts)) / len(one.facts)
            for one, of in zip(questions, contexts, strict=True)
        ]
    )
''')
code('''
from mindscape.metrics import bootstrap, paired_bootstrap

of_book = [one.book.document.id for one in asked]
by = {way: np.array([one.way == way for one in asked]) for way in study.WAYS}


def place(sort, name, one):
    # where the person stands in the list, from 1; beyond it where they are not in it
    graph, voice = graphs[sort][one.book.document.id], one.book.voice
    wanted = voice.name(one.person)
    found = [graph.entities[i].name for i in ranked[sort, name][one.book.document.id, one.question]]
    return found.index(wanted) + 1 if wanted in found else len(found) + 1


def keep(key, values, some, other=None):
    groups = [book for book, it in zip(of_book, some, strict=True) if it]
    values = np.asarray(values)[some]
    if other is None:
        of = bootstrap(values, groups=groups, seed=seed)
    else:
        of = paired_bootstrap(values, np.asarray(other)[some], groups=groups, seed=seed)
    results.record(key, of)
    return of
''')
code('''
first = {key: np.array([place(*key, one) == 1 for one in asked], float) for key in ranked}
facts = {key: facts_in(key[0], contexts_of(*key, asked), asked) for key in ranked}
rows = {}
for sort, name in ranked:
    mine = []
    for way, some in by.items():
        mine.append(str(keep(f"first.{sort}.{name}.{way}", first[sort, name], some)))
        mine.append(str(keep(f"facts.{sort}.{name}.{way}", facts[sort, name], some)))
    rows[sort, name] = mine
columns = [f"{what}, by {way}" for way in by for what in ("first of all", "facts")]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
for sort in graphs:
    for other in ("sft_emb", "vanilla"):
        for way, some in by.items():
            key = f"facts.{sort}.mia_minus_{other}.{way}"
            of = keep(key, facts[sort, "mia_emb"], some, facts[sort, other])
            print(f"{sort:6} MiA-Emb less {other:8} asked by {way:5}: {of} of the facts")
''')
code('''
fig, axes = plots.subplots(columns=2, height=2.6, sharex=True)
LABELS = {"vanilla": "vanilla", "sft_emb": "SFT-Emb", "mia_emb": "MiA-Emb"}
told = []
for ax, way in zip(axes, ("name", "trade"), strict=True):
    labels, found, colours = [], [], []
    for sort in graphs:
        for name, colour in zip(SOURCES, ("orange", "green", "blue"), strict=True):
            groups = [book for book, it in zip(of_book, by[way], strict=True) if it]
            found.append(bootstrap(facts[sort, name][by[way]], groups=groups, seed=seed))
            labels.append(f"{LABELS[name]}, {sort}")
            colours.append(colour)
            told.append(f"{labels[-1]} by {way} {found[-1].value:.2f}")
    values, lows, highs = zip(*[(of.value, of.low, of.high) for of in found], strict=True)
    plots.dots(ax, labels, values, lows, highs, colours)
    ax.set(title=f"asked by {way}", xlim=(0, 1), xlabel="facts in the context")
axes[1].set_yticklabels([])
alt = f"Share of the facts on a person that the context holds: {'; '.join(told)}."
results.figure(fig, "facts", alt, "What the context holds")
''')
md("RESULTS_4")
md('''
The kept ranks, checked for a few questions:
''')
varies('''
from mindscape.mia import embedding
from mindscape.mia.graphrag import nearest

for name in ("sft_emb", "mia_emb"):
    embedder, overlap = embedding.load(adapter=SOURCES[name]), []
    for book in list(graphs[study.LOG])[: 1 if scale == "small" else None]:
        graph, mine = graphs[study.LOG][book], [one for one in asked if one.book.document.id == book]
        queries = [one.question for one in mine]
        for query, row in zip(
            queries, nearest(embedder, graph, queries, mine[0].book.summary), strict=True
        ):
            before = ranked[study.LOG, name][book, query]
            overlap.append(len(set(row[:5]) & set(before[:5])) / 5)
    results.record(f"live.{name}.same", np.mean(overlap), n=len(overlap), varies="bf16 or fp32")
    print(f"{name}: {np.mean(overlap):.0%} of the first five are the kept ones, {len(overlap)} questions")
''')
md('''
## 5 · Questions on the whole, and answers

The paper has a strong model write questions that a segment of a long text raises (Figure 13); at least three good ones, or none. The embedded reader was never taught that. Two segments, to see what it makes of them:
''')
varies('''
from mindscape.mia.graphrag import sense_questions

parts = passages.cut(novel, tokenizer, 600)[1:3]
posed = sense_questions(reader, novel.document, parts)
usable = sum(bool(of.questions) for of in posed)
results.record("questions.by_reader", usable / len(posed), n=len(posed), varies="ties between tokens")
for of in posed:
    print(f"segment {of.segment}: {len(of.questions)} questions {of.invalid[:60]}")
    print("   ", *of.questions[:2])
''')
md("RESULTS_5")
code('''
example = next(one for one in asked if one.way == "trade")
(context,) = contexts_of(study.READER, "mia_emb", [example])
print(f"{example.question}   (that is: {example.resolved})")
print(f"{len(example.facts)} facts; a context of {context.tokens} tokens:")
print(context.text[:700], "…")
''')
code('''
by_trade = [one for one in asked if one.way == "trade"]
given, extracts = {}, {}
for name in SOURCES:
    shown = contexts_of(study.READER, name, by_trade)
    pairs = [(one.question, of.text) for one, of in zip(by_trade, shown, strict=True)]
    given[name] = study.answers(reader, replies_of("answers"), pairs)
    extracts[name] = [
        study.extract(
            graphs[study.READER][one.book.document.id],
            of,
            logs[one.book.document.id].names(one.person),
        )
        for one, of in zip(by_trade, shown, strict=True)
    ]
at = by_trade.index(example)
for kind, of in (("the model", given), ("extract", extracts)):
    for name in ("sft_emb", "mia_emb"):
        print(f"{kind}, {LABELS[name]}: {of[name][at][:240] or 'nothing'}\\n")
''')
md('''
*Extracts* are not written by a model: they are the statements of the retrieved entities and ties that name the person. They show what retrieval is worth where the one who answers leaves out nothing. What do both kinds of answer say, counted by the log?
''')
code('''
groups = [one.book.document.id for one in by_trade]


def stated(answers):
    # the share of the facts on the person that an answer states
    return np.array(
        [
            len(logs[one.book.document.id].told(text) & set(one.facts)) / len(one.facts)
            for one, text in zip(by_trade, answers, strict=True)
        ]
    )


rows = {}
for kind, of in (("answers", given), ("extracts", extracts)):
    shares = {name: stated(texts) for name, texts in of.items()}
    for name, share in shares.items():
        value = bootstrap(share, groups=groups, seed=seed)
        results.record(f"{kind}.{name}.facts", value)
        rows[kind, LABELS[name]] = [str(value), f"{np.mean([not text for text in of[name]]):.0%}"]
        less = paired_bootstrap(shares["mia_emb"], share, groups=groups, seed=seed)
        if name != "mia_emb":
            results.record(f"{kind}.mia_minus_{name}.facts", less)
        rows[kind, LABELS[name]].append("" if name == "mia_emb" else str(less))
columns = ["facts that it states", "empty", "MiA-Emb's less these"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md("RESULTS_6")
md('''
## 6 · The judge, judged first

A judge sees a question and two answers and says which is better in comprehensiveness, diversity, empowerment and overall (Figure 14). Ours is the embedded reader. Before it judges answers of unknown worth it judges pairs whose better one is known, made from the log: a true answer beside the same with a fact **removed**; with a fact said twice (**doubled**), which adds words and nothing else; with one fact gone and another said twice (**swapped**), as long and with less in it. Each pair is shown in both orders, and an answer wins if it wins in both.
''')
code('''
from mindscape.mia.graphrag import CRITERIA, agreement, gold_preferences, judged, win_rates

verdicts_of = replies_of("verdicts")
gold = [
    one for log in logs.values() for one in gold_preferences(log.book, study.PREFERRED)
]
verdicts = judged(reader, verdicts_of, [one.comparison for one in gold])
rows, trust = {}, {}
for criterion in CRITERIA:
    trust[criterion] = agreement(gold, verdicts, criterion)
    rows[criterion] = {kind: str(of) for kind, of in trust[criterion].items()}
    for kind, of in trust[criterion].items():
        results.record(f"judge.agreement.{criterion.lower()}.{kind}", of)
results.record("judge.agreement", trust["Overall"]["all"])
rates = win_rates([one.comparison for one in gold], verdicts)
for criterion, rate in rates.items():
    results.record(f"judge.first.{criterion.lower()}", rate.first)
    results.record(f"judge.tie.{criterion.lower()}", rate.tie, n=rate.n)
    results.record(f"judge.unread.{criterion.lower()}", rate.unread, n=rate.n)
    rows[criterion] |= {"first shown wins": str(rate.first), "ties": f"{rate.tie:.0%}"}
print(f"{len(gold)} pairs; agreement with gold, 0.5 by tossing a coin")
pd.DataFrame.from_dict(rows, orient="index")
''')
md("RESULTS_7")
md('''
## 7 · Win rates (Table 9)

MiA-Emb's answers against those of the others, on the same questions. A tie counts half. Beside each score stands the agreement that the judge reached above by the same criterion: a judge who tosses coins gives everybody 0.5, and a judge whom length impresses gives the longer answer 1.
''')
code('''
rows, scores_of, outcomes = {}, {}, {}
for kind, of in (("answers", given), ("extracts", extracts)):
    for other in ("sft_emb", "vanilla"):
        pairs_of = study.compared(by_trade, of["mia_emb"], of[other])
        outcomes[kind, other] = judged(reader, verdicts_of, pairs_of)
        for criterion, rate in win_rates(pairs_of, outcomes[kind, other]).items():
            key = f"wins.{kind}.{other}.{criterion.lower()}"
            results.record(key, rate.score)
            results.record(f"{key}.won", rate.a, n=rate.n)
            results.record(f"{key}.lost", rate.b, n=rate.n)
            scores_of[kind, other, criterion] = rate.score
            rows[kind, LABELS[other], criterion] = [
                f"{rate.a:.0%}",
                f"{rate.tie:.0%}",
                f"{rate.b:.0%}",
                str(rate.score),
                f"{trust[criterion]['all'].value:.2f}",
            ]
columns = ["won", "tied", "lost", "score", "judge's agreement"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
fig, axes = plots.subplots(columns=2, height=2.8, sharex=True)
told = []
for ax, other in zip(axes, ("sft_emb", "vanilla"), strict=True):
    labels, found, colours = [], [], []
    for kind, colour in (("answers", "blue"), ("extracts", "sky")):
        for criterion in CRITERIA:
            labels.append(f"{criterion}, {kind}")
            found.append(scores_of[kind, other, criterion])
            colours.append(colour)
            told.append(f"{labels[-1]} against {LABELS[other]} {found[-1].value:.2f}")
    values, lows, highs = zip(*[(of.value, of.low, of.high) for of in found], strict=True)
    plots.dots(ax, labels, values, lows, highs, colours)
    ax.axvline(0.5, color=plots.GREY, linewidth=1)
    ax.set(title=f"against {LABELS[other]}", xlim=(0, 1), xlabel="score, a tie is a half")
axes[1].set_yticklabels([])
alt = f"Scores of MiA-Emb in paired judgements, 0.5 is even: {'; '.join(told)}."
results.figure(fig, "wins", alt, "MiA-Emb against two baselines, as the judge has it")
''')
md("RESULTS_8")
md('''
## The paper says / we got / why they differ
''')
code('''
from mindscape import paper

printed = paper.table("mia_rag_table9")
rows = {}
for other, baseline in (("sft_emb", "SFT-Emb"), ("vanilla", "Vanilla")):
    for criterion in CRITERIA:
        dimension = "Overall Winner" if criterion == "Overall" else criterion
        of = printed[(printed.baseline == baseline) & (printed.dimension == dimension)]
        rows[f"against {baseline}", criterion] = [
            f"{of.mia_emb_wins.item():.1f}",
            *(f"{100 * scores_of[kind, other, criterion].value:.1f}" for kind in ("answers", "extracts")),
            f"{trust[criterion]['all'].value:.2f}",
        ]
columns = ["the paper, % won", "ours, score of answers", "of extracts", "our judge's agreement"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md("RESULTS_9")
md('''
## Reading critically

**One order or two?** Had each pair been shown once, MiA-Emb first, as a report might do, and had it been shown second:
''')
code('''
for other in ("sft_emb", "vanilla"):
    of = outcomes["answers", other]
    read = [it for it in of if it.a_first and it.b_first]
    shown_first = np.mean([it.a_first["Overall"] == "a" for it in read])
    shown_second = np.mean([it.b_first["Overall"] == "a" for it in read])
    results.record(f"wins.one_order.{other}.first", shown_first, n=len(read))
    results.record(f"wins.one_order.{other}.second", shown_second, n=len(read))
    print(f"against {LABELS[other]:8} first: wins {shown_first:.0%}; second: {shown_second:.0%}")
same = study.alike(by_trade, given["mia_emb"])
to_itself = win_rates(same, judged(reader, verdicts_of, same))["Overall"]
results.record("judge.first.alike", to_itself.first)
print(f"an answer beside itself: the first wins {to_itself.first}")
''')
md("RESULTS_10")
md('''
**Does the longer answer win?** Of the pairs that are decided, and of the gold pairs where length is no merit:
''')
code('''
longer = []
for other in ("sft_emb", "vanilla"):
    pairs_of = study.compared(by_trade, given["mia_emb"], given[other])
    for pair, verdict in zip(pairs_of, outcomes["answers", other], strict=True):
        if verdict.outcome("Overall") in ("a", "b") and len(pair.a) != len(pair.b):
            longer.append((verdict.outcome("Overall") == "a") == (len(pair.a) > len(pair.b)))
results.record("judge.longer_wins", np.mean(longer), n=len(longer))
print(f"the longer answer wins {np.mean(longer):.0%} of {len(longer)} decided pairs")
doubled = trust["Overall"]["doubled"]
print(f"a fact said twice: agreement {doubled}; below 0.5 the padded answer is preferred")
''')
md('''
**Who is asked?** The judge is asked by *name*, since it has not read the book and cannot know who the organist is. So it prefers an answer that is *about* somebody, whoever that is, only as far as names tell. And comprehensiveness, diversity and empowerment are hardly three things to it: how often do its verdicts on them agree?
''')
code('''
every = [it.a_first for of in outcomes.values() for it in of if it.a_first]
for i, one in enumerate(CRITERIA[:3]):
    for two in CRITERIA[i + 1 : 3]:
        agree = np.mean([of[one] == of[two] for of in every])
        results.record(f"judge.same.{one.lower()}.{two.lower()}", agree, n=len(every))
        print(f"{one} and {two}: the same winner in {agree:.0%} of {len(every)} verdicts")
''')
md('''
**Twenty of how many?** A novel's graph has few entities next to a report of 100,000 tokens. Twenty of them are a good part, and local mode's budget cuts the list short anyway. The facts in the context, asked by trade, for shorter lists:
''')
code('''
rows = {}
for name in SOURCES:
    shares = {
        k: facts_in(study.LOG, contexts_of(study.LOG, name, by_trade, k), by_trade)
        for k in (1, 3, 5, 10, 20)
    }
    for k, share in shares.items():
        results.record(f"facts.log.{name}.trade@{k}", bootstrap(share, groups=groups, seed=seed))
    rows[LABELS[name]] = [f"{share.mean():.2f}" for share in shares.values()]
pd.DataFrame.from_dict(rows, orient="index", columns=[f"k = {k}" for k in shares])
''')
md("RESULTS_11")
md('''
## Exercises

**1.** A judge prefers whatever is shown first, always. What score does a system get against any other, if both orders are asked and a tie counts half?
''')
code('''
my_score = None

print("right" if my_score is not None and abs(my_score - 0.5) < 1e-9 else "not yet")
''')
md('''
<details><summary>Solution</summary>

0.5: each pair is won once by either, a tie. The interval has no width at all, which looks like certainty; look at the share of ties.

</details>

**2.** In the toy graph of section 1, Ann alone is retrieved. Which ties does local mode show, in order?
''')
code('''
my_ties = None  # a list of indices into toy.relations

ann = [i for i, it in enumerate(toy.entities) if it.name == "Ann"]
print("right" if my_ties == ties(toy, ann) else "not yet")
''')
md('''
<details><summary>Solution</summary>

`[0]`: the one that leads out of Ann, to Tom.

</details>

**3.** A judge agrees with gold in 70 % of the pairs, whatever they are, and errs at random. System A is truly better in 90 % of all pairs. Which share of wins does the judge report?
''')
code('''
my_share = None

expected = 0.7 * 0.9 + 0.3 * 0.1
print("right" if my_share is not None and abs(my_share - expected) < 1e-9 else "not yet")
''')
md('''
<details><summary>Solution</summary>

$0.7 \\cdot 0.9 + 0.3 \\cdot 0.1 = 0.66$. A weak judge draws every share towards one half, and a win rate without the judge's agreement cannot be read.

</details>
''')
code('''
results.finish()
''')
md('''
**Read next:** MiA-Signature asks which part of the mindscape a question wakes, when the memory holds a whole series of books.
''')
b.save()
