import sys; sys.path.insert(0,"/work/main/build/drafts")
from nb import Book
b=Book("32_long_reason"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 32 · Six methods on questions that ask for all of a text

*Which questions need both much of a text and several steps, and what is a memory worth on them, beside methods that remember in other ways?*

Paper: MindGraph, sections 2, 4, 5.1 and 5.2, appendices C and D.4 (Figures 2 and 3, Tables 1 and 2).

**You will** sort questions by how much of a text they need and by how many steps, and measure an annotator that does it; run the recipe of LongReason-200; take a scoring cascade apart and fool it; look into five other ways to answer about a long text, one of which writes programs, and shut its programs in; compare all six on the same questions by the same model; and weigh what ten questions, and two hundred, can show.

**You need** notebooks [30](30_mindgraph_build.ipynb) and [31](31_mindgraph_answer.ipynb).

**It takes** TIME on one core.

With the embedded reader the numbers speak of a model of 135 million parameters on novels that it was trained on the likes of. With `llm="openai:NAME"` and `benchmarks`, a folder of the owners' files, the same notebook is the paper's experiment.
""")
code('''
scale = "small"  # "full": more is asked live; "gpu": the same, for a model of your own
seed = 0
llm = "embedded"  # who answers, labels and judges; "openai:NAME" for any compatible server
kept = ""  # folder of answers and labels, gone on with for another model; the kit's own by default
benchmarks = ""  # folder of the benchmarks' own files; then LongReason's questions are asked
''',"parameters")
code('''
from mindscape import results

results.begin(
    "32_long_reason", scale=scale, seed=seed, llm=llm, kept=kept, benchmarks=benchmarks
)
''')
md(r"""
## 1 · Two axes

*Breadth*: the smallest part of the text that the answer rests on. *Depth*: what leads from there to the answer. The paper has five levels of the one and four of the other (section 2.1, appendix C); in our words:
""")
code('''
from mindscape.mindgraph.rubric import BREADTH_LEVELS, DEPTH_LEVELS

for name, levels in (("breadth", BREADTH_LEVELS["en"]), ("depth", DEPTH_LEVELS["en"])):
    print(name)
    for level, told in levels.items():
        print(f"  {level:17}{told}")
''')
md(r"""
The storyworld knows where the evidence of each question stands, and so its labels. One question of a test novel for each pair of levels that occurs:
""")
code('''
import pandas as pd

from mindscape.corpora.questions import BREADTHS, DEPTHS
from mindscape.reader.evaluation import books

novels = books("test")
first = {(one.breadth, one.depth): one for one in reversed(novels[0].questions)}
rows = []
for pair in sorted(first, key=lambda pair: (BREADTHS.index(pair[0]), DEPTHS.index(pair[1]))):
    one = first[pair]
    rows.append([*pair, one.question, one.answer, len(one.support)])
columns = ["breadth", "depth", "question", "answer", "places"]
pd.DataFrame(rows, columns=columns).style.hide(axis="index")
''')
md(r"""
An annotator, a language model, labels each question twice, and a label counts if both passes agree. How the passes differ the paper does not say; ours name the levels upwards, then downwards, so that a label that hangs on the order is dropped. The second prompt's list of depths, and what the annotator knows of a question:
""")
code('''
from mindscape.mindgraph.rubric import demanding, of_question, slots

one = first["multi-sparse", "multi-hop"]
seen = of_question(novels[0].document, one)
for name in ("depths", "length", "question", "answer", "evidence"):
    print(f"{name}:\\n{slots(seen, reverse=True)[name]}")
''')
md(r"""
How good are labels? The share that agrees with gold flatters whoever always says the same. Cohen's κ takes off what chance would give: with $p_o$ the observed agreement and $p_e$ that of two who label independently with the same frequencies, $\kappa = (p_o - p_e)/(1 - p_e)$. Ten labels by hand:
""")
code('''
from mindscape.mindgraph.rubric import agreement

gold = ["local"] * 5 + ["global"] * 3 + ["partial"] * 2
found = ["local"] * 4 + ["global"] + ["global"] * 2 + ["local"] + ["partial", "global"]
observed = sum(a == b for a, b in zip(gold, found, strict=True)) / 10
chance = sum(gold.count(level) / 10 * found.count(level) / 10 for level in set(gold))
kappa = (observed - chance) / (1 - chance)
print(f"by hand: {observed:.2f} agree, {chance:.2f} by chance, kappa {kappa:.3f}")
theirs = agreement(gold, found, BREADTHS)
print(f"the library: {theirs.accuracy:.2f}, kappa {theirs.kappa:.3f}")
lazy = agreement(gold, ["local"] * 10, BREADTHS)
print(f"always local: {lazy.accuracy:.2f}, kappa {lazy.kappa:.3f}")
''')
md(r"""
Labels of twelve questions on each of ten novels, with the places of the evidence in the prompt, and without, as most benchmarks come. (The embedded reader was not trained for this.)
""")
code('''
from pathlib import Path

from mindscape import llm as models
from mindscape import paths
from mindscape.errors import InputError
from mindscape.mindgraph import comparison
from mindscape.mindgraph.rubric import measured

if llm != "embedded" and not kept:
    raise InputError(f"llm={llm!r}: expected kept, a folder for its answers and labels")
folder = Path(kept) if kept else paths.data("mindgraph")
model = models.load(llm)
if llm == "embedded":
    labels = comparison.kept_labels(folder / "labels.jsonl", models.READER)
else:
    labels = comparison.label(novels, model, folder / "labels.jsonl")
asked = {one.id: one for novel in novels for one in novel.questions}
book_of = {one.id: one.doc_id for one in asked.values()}
print(f"{len(labels)} questions were labelled, with evidence or without")
''')
code('''
of = {way: [one for one in labels if one.evidence == way] for way in (True, False)}
told = {}
for way, some in of.items():
    truth = [(asked[one.question].breadth, asked[one.question].depth) for one in some]
    told[way] = measured(truth, [one.labelled for one in some])
print(f"{len(of[True])} with evidence, {len(of[False])} without; two passes each")
''')
code('''
import numpy as np

from mindscape.metrics import bootstrap, paired_bootstrap

rows = {}
for way, label in ((True, "with evidence"), (False, "without")):
    groups = [book_of[one.question] for one in of[way]]
    for axis in ("breadth", "depth"):
        every, steady = getattr(told[way], axis), getattr(told[way], f"stable_{axis}")
        right = bootstrap(np.array(every.right, float), groups=groups, seed=seed)
        usual = every.confusion.sum(1).max() / every.n
        name = f"rubric.{axis}" if way else f"rubric.no_evidence.{axis}"
        results.record(f"{name}.accuracy", right)
        results.record(f"{name}.majority", usual, n=every.n)
        kappas = [f"{every.kappa:.2f}", f"{every.weighted:.2f}"]
        stable = [f"{steady.accuracy:.2f}", f"{steady.n} of {every.n}"]
        rows[label, axis] = [str(right), f"{usual:.2f}", *kappas, *stable]
columns = ["agrees with gold", "commonest", "κ", "κ, linear", "stable ones agree", "stable"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
def gain_of_stability(axis):
    """How much oftener stable labels are right than all labels, with an interval over novels."""
    right = np.array(getattr(told[True], axis).right, float)
    steady = np.array([one.labelled.stable for one in of[True]], float)
    names = np.array([book_of[one.question] for one in of[True]])
    sums = []
    for name in dict.fromkeys(names):
        here = names == name
        both = (right * steady)[here].sum()
        sums.append([both, steady[here].sum(), right[here].sum(), here.sum()])
    sums = np.array(sums)

    def statistic(drawn, axis):
        both, kept_of, hits, n = np.moveaxis(sums[drawn.astype(int)].sum(-2), -1, 0)
        return both / np.maximum(kept_of, 1) - hits / n

    return bootstrap(np.arange(len(sums)), statistic, seed=seed)


''')
code('''
for axis in ("breadth", "depth"):
    of_axis = gain_of_stability(axis)
    results.record(f"rubric.{axis}.stability_gain", of_axis)
    print(f"{axis}: stable labels are right more often by {of_axis}")
results.record("rubric.stable", told[True].stable, n=len(of[True]))
print("the filter of section 4.1, on stable labels:")
for way, label in ((True, "evidence"), (False, "no_evidence")):
    true, false, missed = told[way].kept
    wanted, picked = true + missed, true + false
    results.record(f"rubric.filter.{label}.precision", true / max(1, picked), n=picked)
    results.record(f"rubric.filter.{label}.recall", true / max(1, wanted), n=wanted)
    print(f"  {label}: gold has {wanted} demanding questions; it picks {picked}, {true} of them right")
''')
code('''
from mindscape import plots

plots.use()


def heat(ax, table, **where):
    """Counts as colours, with the numbers in them."""
    ax.imshow(table, **where)
    ax.grid(False)
    most = where.get("vmax", table.max())
    for (i, j), n in np.ndenumerate(table):
        colour = "white" if n < most / 2 else plots.INK
        ax.text(j, i, n, ha="center", va="center", color=colour)


fig, axes = plots.subplots(columns=2, height=3.2)
for ax, axis, levels in zip(axes, ("breadth", "depth"), (BREADTHS, DEPTHS), strict=True):
    table = getattr(told[True], axis).confusion
    heat(ax, table)
    ax.set_xticks(range(len(levels) + 1), [*levels, "none"], rotation=40, ha="right", fontsize=8)
    ax.set_yticks(range(len(levels)), levels, fontsize=8)
    ax.set(title=axis, xlabel="the annotator says", ylabel="gold")
right = [sum(getattr(told[True], axis).right) for axis in ("breadth", "depth")]
alt = f"Labels against gold levels; right are {right[0]} and {right[1]} of {len(of[True])}."
results.figure(fig, "labels", alt, "Labels and gold")
''')
md("RESULTS_LABELS")
# RESULTS_LABELS: accuracy beside the commonest level and kappa: does an untrained 135M reader label at all; what stability buys
# (agreement of two passes is agreement with oneself); with and without evidence; what the filter would select.
varies('''
from mindscape.mindgraph.rubric import annotate

some = of[True][: 2 if scale == "small" else 12]
by_book = {novel.document.id: novel.document for novel in novels}
again = annotate([of_question(by_book[book_of[it.question]], asked[it.question]) for it in some], model)


def levels_of(labelled):
    return [it and (it.breadth, it.depth) for it in labelled.passes]


alike = [levels_of(new) == levels_of(old.labelled) for new, old in zip(again, some, strict=True)]
results.record("live.labels.same", np.mean(alike), n=len(alike), varies="bf16 or fp32")
print(f"{sum(alike)} of {len(alike)} questions have their kept labels again")
''')
md(r"""
## 2 · The plane (Figure 2)

The paper places benchmarks in the plane of both axes and finds its upper right corner thin. So where are the kit's own questions?
""")
code('''
from mindscape.corpora import shakespeare
from mindscape.corpora.questions import load_questions
from mindscape.mindgraph.long_reason import FIGURE_2
from mindscape.mindgraph.rubric import plane

plays = load_questions(paths.data("shakespeare", "questions.jsonl"), shakespeare.play)
sets = {"storyworld, ten novels": list(asked.values()), "fourteen plays": plays}
fig, axes = plots.subplots(columns=2, height=3.2, sharey=True)
for ax, (name, questions) in zip(axes, sets.items(), strict=True):
    heat(ax, plane([(one.breadth, one.depth) for one in questions]), origin="lower")
    ax.set_xticks(range(4), DEPTHS, rotation=30, ha="right", fontsize=8)
    ax.set_yticks(range(5), BREADTHS, fontsize=8)
    hard = sum(demanding(one.breadth, one.depth) for one in questions)
    ax.set(title=f"{name}\\n{hard} of {len(questions)} demanding", xlabel="depth", ylabel="breadth")
    key = name.split(",")[0].replace(" ", "_")
    results.record(f"plane.{key}", hard / len(questions), n=len(questions))
alt = "Numbers of questions by breadth and depth, for the storyworld and for the plays."
results.figure(fig, "plane", alt, "Where the kit's questions lie")
''')
code('''
for corner, names in FIGURE_2.items():
    print(f"{corner:29}{', '.join(names)}")
''')
md(r"""
One thing does not fit. Section 2.1 counts OOLONG, which asks for counts over a whole text, as *low* in depth. Section 4.1 keeps set aggregation, which is counting, among the demanding levels. By the first the corner is thin; by the second OOLONG lies in it.

## 3 · LongReason-200 as a recipe (section 4.1)

Three sources; no code, no summaries; a floor on the length; labels that both passes give; most of the text or all of it, and the upper half of depth. The texts are their owners', so here the recipe runs on invented files of the same form, with a *script* that labels by the first words of a question. With `benchmarks`, the folder of the real files, it runs on those with your model.
""")
code('''
import json
import tempfile

from mindscape.llm import LanguageModel, Reply

LONG = "The wind rang the bell, and nobody else was in the house on that night in March. "
SAYS = {"Who": ("global", "global-synthesis"), "How many": ("partial", "set-aggregation")}
SAYS |= {"When": ("global", "multi-hop"), "Where": None}  # None: the passes do not agree


class Annotator:
    """Labels by the first words of a question; a script, not a model."""

    name = fingerprint = "a script, not a model"
    context = None

    def count_tokens(self, prompt, tools=()):
        return len(str(prompt)) // 4

    def generate(self, prompts, sampling, tools=(), schema=None):
        for i, prompt in enumerate(prompts):
            words = next(it for it in SAYS if f"Question: {it}" in prompt[0]["content"])
            labels_of = SAYS[words] or (("global", "local")[sampling.seed], "global-synthesis")
            said = {"reason": "so", "breadth": labels_of[0], "depth": labels_of[1]}
            yield i, Reply(json.dumps(said), (), 100, 20)


''')
code('''
from mindscape.mindgraph.long_reason import SOURCES, Source, construct, statistics

form = {"difficulty": "hard", "length": "long", "domain": "Detective", "answer": "D"}
form |= {"choice_A": "cook", "choice_B": "maid", "choice_C": "cat", "choice_D": "wind"}
items = []
for words in SAYS:
    for i, n in enumerate((3, 3, 1)):
        mine = {"_id": f"{words}{i}", "question": f"{words} rang it, {i}?", "context": LONG * n + words}
        items.append(form | mine)
items.append(items[0] | {"_id": "code", "domain": "Code Repository Understanding"})
items.append(items[0] | {"_id": "sum", "question": "Who wrote the best summary?"})
small = (Source("longbench-v2", 3, 40, "tokens"),)
with tempfile.TemporaryDirectory() as place:
    file = Path(place) / "longbench-v2" / "data.json"
    file.parent.mkdir()
    file.write_text(json.dumps(items))
    script = LanguageModel(Annotator())
    built = construct(script, Path(place) / "run.jsonl", place, sources=small)
print(built)
''')
code('''
for source in SOURCES:
    print(f"the paper: {source.wanted} of {source.name}, {source.floor:,} {source.unit} or more")
''')
code('''
from mindscape import paper

printed = paper.table("mindgraph_quoted")
printed = printed[printed.place == "Section 4.1"].set_index("quantity").value
if benchmarks:
    real = construct(model, folder / "long_reason.jsonl", benchmarks)
    about, source_of = statistics(real.kept), "the files"
    print(real)
else:
    about, source_of = statistics(built.kept), "the invented items"
rows = {
    "items": [printed["benchmark items"], about.items],
    "choices": [printed["multiple-choice items"], about.choices],
    "free": [printed["free-text items"], about.free],
    "tokens, mean": [1000 * printed["mean context"], about.mean],
    "tokens, median": [1000 * printed["median context"], about.median],
}
pd.DataFrame.from_dict(rows, orient="index", columns=["the paper", source_of]).map("{:,.0f}".format)
''')
md(r"""
What the recipe cannot give back is the paper's list: which passes, which "post-processing", which order the authors had is not told.

## 4 · Is an answer right? (section 4.2, appendix D.4)

Free answers go through a cascade: exact match, the same number, containment, containment of the first sentence, F1 of key words at least one half; a judge, a language model, decides on the rest. Each rule can only say *yes*. Section 4.2 speaks of the judge alone, the rules are in the appendix. By hand, the last rule and the third:
""")
code('''
from mindscape.mindgraph.scoring import Row, by_rules, key_phrase

gold, said = "the ivory birdcage", "It was an ivory cage for birds."
STOP = {"the", "it", "was", "an", "for"}
words = [{word.strip(".").lower() for word in text.split()} - STOP for text in (gold, said)]
common = len(words[0] & words[1])
f1 = 2 * common / (len(words[0]) + len(words[1]))
print(f"key words {words[0]} and {words[1]}: F1 {f1:.2f}, right: {f1 >= 0.5}")
print("the library's rule:", key_phrase(gold, said, "en"))
for said in ("the birdcage of ivory", "An ivory birdcage, I think.", "the birdcage"):
    print(f"{said!r}: {by_rules(Row('What?', (gold,), said)) or 'left to the judge'}")
''')
md(r"""
How much does each stage decide, and how often wrongly? The role *grade* (notebook 01) has, for a hundred questions on the test novels, an answer and whether it means what the gold answer means: the same in other words, a part of it, or something else. The judge's verdicts on them are kept with the reader.
""")
code('''
from transformers import AutoTokenizer

from mindscape import assets
from mindscape.mindgraph.scoring import Scored, cascade, stages
from mindscape.reader import evaluation

tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
graded = evaluation.rows("grade", novels, tokenizer)
posed = [it.slots for it in graded]
answers = [Row(it["question"], (it["gold"],), it["predicted"]) for it in posed]
true = [it.gold.correct for it in graded]
if llm == "embedded":
    file = paths.data("adapters") / "reader" / "replies.jsonl"
    replies = evaluation.Kept.of(file, llm, models.READER)
    said = replies.answers("grade", [it.prompt for it in graded])
    verdicts = [evaluation.value("grade", *one.best) for one in said]
    alone = [bool(it and it.correct) for it in verdicts]
    by = [(by_rules(row), right) for row, right in zip(answers, alone, strict=True)]
    scored = [Scored(True, rule) if rule else Scored(right, "judge") for rule, right in by]
else:
    scored = cascade(answers, model)
''')
code('''
rows = {}
for it in stages(scored, true):
    rows[it.name] = [it.count, f"{it.share:.0%}", it.errors, f"{it.error:.0%}"]
wrong = np.array([it.correct != right for it, right in zip(scored, true, strict=True)], float)
groups = np.array([it.book.document.id for it in graded])
results.record("cascade.error", bootstrap(wrong, groups=groups, seed=seed))
by_rule = np.array([it.stage != "judge" for it in scored])
results.record("cascade.rules.share", by_rule.mean(), n=len(scored))
of_rules = bootstrap(wrong[by_rule], groups=groups[by_rule], seed=seed)
results.record("cascade.rules.error", of_rules)
if llm == "embedded":
    judge_alone = np.array(np.not_equal(alone, true), float)
    more = paired_bootstrap(wrong, judge_alone, groups=groups, seed=seed)
    results.record("cascade.error_minus_judge_alone", more)
    print(f"errors of the cascade less those of the judge alone: {more}")
print(f"errors of the rules {of_rules}; of all {wrong.mean():.2f}")
pd.DataFrame.from_dict(rows, orient="index", columns=["answers", "share", "wrongly", "error"])
''')
code('''
for row, it, right in zip(answers, scored, true, strict=True):
    if it.correct and not right and it.stage != "judge":
        print(f"{it.stage:15}gold {row.gold[0]!r:34} said {row.predicted!r}")
''')
md(r"""
Rules decide on 55 of the hundred answers, and three times wrongly: each time the last rule, each time on half of a pair. The judge, when asked, rejects two of these three. In return the number rule mends the judge's other mistake, who does not take *8* for *eight*. On the answers that are left to it the judge is always right, and cascade and judge alone cannot be told apart by so few; what the cascade saves is calls. (This judge was trained on such pairs of answers.)

**Fooling it.** A rule that asks whether words are there does not see *not*, *or*, *perhaps*. For a question of each novel, three wrong answers that hold the right one's words:
""")
code('''
from mindscape.mindgraph.scoring import fooled

rows, tricks = {}, []
for novel in novels:
    one = next(it for it in novel.questions if it.depth == "lookup")
    others = [option for option in one.options if option != one.answer]
    for trick, said in fooled(one.answer, others).items():
        tricks.append((novel.document.id, trick, Row(one.question, (one.answer,), said)))
for trick in ("denied", "listed", "doubted"):
    some = [row for _, name, row in tricks if name == trick]
    taken = [by_rules(row) for row in some]
    count = sum(map(bool, taken))
    rows[trick] = [some[0].predicted, f"{count} of {len(some)}", max(set(taken), key=taken.count)]
    results.record(f"cascade.fooled.{trick}", count / len(some), n=len(some))
pd.DataFrame.from_dict(rows, orient="index", columns=["such as", "counted as right", "by"])
''')
varies('''
from mindscape.mindgraph.scoring import JUDGE_TOKENS
from mindscape.roles.judges import GRADE

some, talks = [row for _, _, row in tricks[: 6 if scale == "small" else None]], []
for row in some:
    told_of = {"question": row.question, "gold": row.gold[0], "predicted": row.predicted}
    talks.append([{"role": "user", "content": GRADE.prompt("en", **told_of)}])
replies_of = model.chat(talks, schema=GRADE.form, max_new_tokens=JUDGE_TOKENS)
passed = [not it.invalid and it.parsed.correct for it in replies_of]
results.record("live.judge.fooled", np.mean(passed), n=len(passed), varies="bf16 or fp32")
print(f"the judge, had it been asked: {sum(passed)} of {len(passed)} counted as right")
''')
md(r"""
**Lists.** The paper's judge is told to reject a partial list. It is not asked: let a gold list have $n$ items of as many words each, and an answer name $k$ of them and nothing else. Its precision is 1 and its recall $k/n$, so

$$F_1 = \frac{2k}{n + k} \ge \tfrac12 \iff 4k \ge n + k \iff k \ge \tfrac n3.$$

A third of the list is enough. And the rule before it asks whether the first sentence of one answer stands in the other. Read both ways, an answer of one item would be right, and so would *and*, since both stand in the gold answer; the library reads it one way, the gold answer's first sentence in the prediction. The rules on lists, and on half a pair:
""")
code('''
THINGS = ["lamp", "kettle", "mirror", "ladder", "basket", "anchor"]
accepted = {}
for n in (3, 6):
    gold = ", ".join(f"the {thing}" for thing in THINGS[:n])
    by_f1, by_any = [], []
    for k in range(1, n + 1):
        # items from all over the list, in another order
        said = ", ".join(f"the {THINGS[i]}" for i in range(n - 1, -1, -1) if i % n < k)
        by_f1.append(key_phrase(gold, said, "en"))
        by_any.append(by_rules(Row("What was there?", (gold,), said)))
    least = 1 + by_f1.index(True)
    accepted[n] = least
    results.record(f"cascade.list.least_of_{n}", least)
    print(f"{n} things: F1 is content with {least}; by number named: {by_any}")
print("n/3, rounded up:", all(accepted[n] == -(-n // 3) for n in accepted))
for said in ("Marian", "and"):
    stage = by_rules(Row("Who?", ("Winifred and Marian",), said))
    print(f"gold 'Winifred and Marian', said {said!r}: {stage or 'left to the judge'}")
''')
md("RESULTS_FIRST")
# RESULTS_FIRST: the rule is read one way now (gold's first sentence in the prediction); half a pair still passes by key phrase.
code('''
chance_words = [
    (novel.document.id, by_rules(Row(one.question, (one.answer,), one.answer.split()[-1])))
    for novel in novels
    for one in novel.questions
    if len(one.answer.split()) > 1
]
taken = np.array([bool(stage) for _, stage in chance_words], float)
share = bootstrap(taken, groups=[name for name, _ in chance_words], seed=seed)
results.record("cascade.last_word", share)
print(f"the last word of a longer gold answer alone counts as right: {share}")
''')
md(r"""
## 5 · Five other ways

All six methods answer by one interface, `answer(question, document, llm, budget) -> Answer`, and are told the same: question, text, model, and a budget of twenty times the text's tokens.

| | what is remembered | what the answer is given from |
|---|---|---|
| **Direct** | nothing | the text; its middle left out where it does not fit |
| **GraphRAG** | entities and relations of each block, without the question | reports on eight communities |
| **CoA**, Chain-of-Agents | a summary handed from block to block | the last summary |
| **GAM** | pages with a header and a note each | what a researcher found in pages that it opened |
| **RLM** | variables of a program | what the program's author makes of its outputs |
| **MindGraph** | a concept graph for the question | the graph, and passages looked up |

One of them by hand, Chain-of-Agents, with a script in the place of the model: a worker keeps a sentence that has a word of the question, and the manager says the first name of what is left.
""")
code('''
import re

from mindscape.mindgraph.answering import cut
from mindscape.mindgraph.baselines import METHODS, chain_of_agents
from mindscape.roles.answers import QA
from mindscape.text import Document


class Worker(Annotator):
    """Keeps sentences with the word `lamp`; answers with the first name. A script, not a model."""

    def generate(self, prompts, sampling, tools=(), schema=None):
        for i, prompt in enumerate(prompts):
            content = prompt[0]["content"]
            names = re.findall(r"(?:Ivo|Ann|Tom)", content.split("Question:")[0])
            kept_of = re.findall(r"[A-Z][^.\\n]*lamp[^.\\n]*\\.", content.split("Summary so far:")[-1])
            said = " ".join(kept_of) or "(nothing yet)"
            said = said if "Summary so far:" in content else (names or ["nobody"])[0]
            yield i, Reply(said, (), self.count_tokens(prompt), len(said) // 4)


told_in = "Ivo sold the lamp to Ann. It rained. " + "Nobody came to the fair. " * 6
note = Document("note", told_in + "Ann keeps the lamp. " + "The bell rang twice. " * 6)
''')
code('''
question, script = "Who sold the lamp?", LanguageModel(Worker())
summary, taken = chain_of_agents.NOTHING["en"], []


def say(prompt):
    reply = script.chat([{"role": "user", "content": prompt}])
    taken.append((reply.prompt_tokens, reply.completion_tokens))
    return reply.text


parts = cut(note, script, 30)
for part in parts:
    told_of = {"index": part.index + 1, "total": len(parts), "block": note[part].strip()}
    told_of |= {"question": question, "summary": summary}
    summary = say(chain_of_agents.WORKER["en"].format(**told_of))
answer = say(QA.prompt("en", context=summary, question=question))
mine = answer, len(taken), sum(map(sum, taken)), taken[-1][0]
theirs = chain_of_agents.answer(question, note, LanguageModel(Worker()), size=30)
print(f"{len(parts)} blocks; the last summary: {summary!r}")
print("by hand:    ", mine)
print("the library:", (theirs.text, theirs.calls, theirs.tokens_total, theirs.tokens_first_call))
''')
md(r"""
**RLM writes programs**, so its programs are shut in: a process of its own that the kernel refuses files, network, other processes and signals, with limits on time, processor time, memory and output. What each of some attempts brings (the box is tried before anything is run; where it cannot be shut, nothing is):
""")
varies('''
from mindscape.mindgraph.baselines.sandbox import Limits, Sandbox

TRIED = {
    "count": "print(context.count('lamp'))",
    "open a file": "print(open('/etc/hostname').read())",
    "reach a network": "import socket; print(socket.create_connection(('127.0.0.1', 80), 1))",
    "start a process": "import os; print(os.fork() >= 0)",
    "signal its parent": "import os; os.kill(os.getppid(), 0); print('could')",
    "run for ever": "while True: pass",
    "take all memory": "x = bytearray(1 << 33); print(len(x))",
    "answer": "FINAL('Ivo')",
}
escaped = 0
for name, program in TRIED.items():
    with Sandbox(note.text, Limits(seconds=1.5, memory=256 << 20)) as box:
        ran = box.run(program)
    got = ran.final or ran.output.strip() or ran.error or f"stopped: {ran.stopped}"
    escaped += name not in ("count", "answer") and bool(ran.output.strip())
    print(f"{name:18}{got[:76]}")
results.record("sandbox.escaped", escaped, n=len(TRIED) - 2)
print("shut in by", " and ".join(box.layers))
''')
md(r"""
## 6 · What it will take

Before the first call: calls, tokens and money of each method, for four questions on a novel with this model, and for one question on a text of the paper's length with a priced one. How often a method asks hangs on what the model replies; what is supposed stands in `baselines.estimates`.
""")
code('''
tasks = [task for novel in novels for task in comparison.of_book(novel, 4)]
if benchmarks:
    tasks = comparison.of_benchmarks(real.kept, benchmarks)
estimates = comparison.estimated(tasks[:4], model)
print(f"{len(tasks)} questions")
''')
code('''
from types import SimpleNamespace

counting = {"count_tokens": lambda it: len(str(it)) // 4}
priced = SimpleNamespace(name="openai:gpt-4.1", context=None, **counting)
long_text = Document("long", (novels[0].document.text + "\\n\\n") * 12)  # for its length alone
far = comparison.Task("far", long_text, "Who?", ("Ivo",), "global", "global-synthesis")
estimates_far = comparison.estimated([far], priced)
rows = {}
for name, one in estimates.items():
    more = estimates_far[name]
    rows[name] = [one.calls, one.prompt_tokens, one.completion_tokens]
    rows[name] += [more.calls, more.prompt_tokens, f"{more.money:.2f}"]
print(f"the long text: {priced.count_tokens(long_text.text):,} tokens")
columns = ["calls", "tokens read", "written at most", "calls, long text", "tokens read", "US dollars"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md(r"""
## 7 · The same questions, by all six

Four questions on each of ten novels, one from each quarter of the plane: broad or narrow, deep or shallow. Answers are kept, with what they took and how they were scored; the judge is the same model, as it is the only one here.
""")
code('''
path = folder / "answers.jsonl"
if llm == "embedded" and not benchmarks:
    rows_of = comparison.kept(path, models.READER)
else:
    rows_of = comparison.run(tasks, model, path, judge=model)
found = {(one.method, one.task): one for one in rows_of}
asked_of = len(tasks)
tasks = [it for it in tasks if all((name, it.id) in found for name in comparison.NAMES)]
print(f"{len(tasks)} of {asked_of} questions were answered by all six")
table = {name: [found[name, task.id] for task in tasks] for name in comparison.NAMES}
books_of = [task.document.id for task in tasks]
task = tasks[0]
print(f"the first, {task.breadth} and {task.depth}:")
print(f"{task.question}   ({task.gold[0]})")
for name, (one, *_) in table.items():
    mark = "right" if one.correct else "wrong"
    print(f"  {name:10}{one.text[:60]!r:64}{mark}, {one.calls} calls")
''')
code('''
def column(name, what):
    """A number of each answer; a first call that was never made counts as the method's others."""
    values = np.array([float(getattr(one, what)) for one in table[name]])
    made = ~np.isnan(values)
    return np.where(made, values, values[made].mean() if made.any() else 1.0)


''')
code('''
numbers, rows = {}, {}
for name in comparison.NAMES:
    keys = {"accuracy": "correct", "compaction": "compaction", "tokens_total": "tokens_total"}
    of_method = {key: column(name, what) for key, what in keys.items()}
    of_method["tokens_over_length"] = of_method["tokens_total"] / column(name, "length")
    for key, values in of_method.items():
        numbers[name, key] = bootstrap(values, groups=books_of, seed=seed)
        results.record(f"method.{name}.{key}", numbers[name, key])
    unusable = int(column(name, "unusable").sum())
    results.record(f"method.{name}.unusable", unusable, n=int(column(name, "calls").sum()))
    rows[name] = [str(numbers[name, key]) for key in of_method if key != "tokens_total"]
    silent = np.mean([not one.text.strip() for one in table[name]])
    rows[name] += [f"{column(name, 'calls').mean():.0f}", unusable, f"{silent:.0%}"]
columns = ["right", "first call / text", "all tokens / text", "calls", "unusable", "no answer"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
rows = {}
ours = column(comparison.OURS, "correct")
for name in METHODS:
    of_pair = paired_bootstrap(ours, column(name, "correct"), groups=books_of, seed=seed)
    results.record(f"method.MindGraph_minus_{name}.accuracy", of_pair)
    tokens = paired_bootstrap(
        column(comparison.OURS, "compaction"), column(name, "compaction"), groups=books_of, seed=seed
    )
    results.record(f"method.MindGraph_minus_{name}.compaction", tokens)
    rows[f"MindGraph less {name}"] = [str(of_pair), f"{of_pair.p:.2f}", str(tokens)]
columns = ["accuracy", "p", "first call / text"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md("RESULTS_METHODS")
# RESULTS_METHODS: order of methods, intervals of +-15 points with 40 questions; unusable replies: a 135M reader that was not
# trained for GraphRAG's, GAM's and RLM's forms; Direct reads 8k of 15k tokens with the middle left out.
md(r"""
By quarter of the plane. LongReason's questions are broad and deep:
""")
code('''
corners = [comparison.quarter(task.breadth, task.depth) for task in tasks]
ORDER = [("narrow", "shallow"), ("narrow", "deep"), ("broad", "shallow"), ("broad", "deep")]
share = np.zeros((len(comparison.NAMES), 4))
for i, name in enumerate(comparison.NAMES):
    right = column(name, "correct")
    for j, corner in enumerate(ORDER):
        here = [k for k, it in enumerate(corners) if it == corner]
        share[i, j] = right[here].mean()
        results.record(f"quarter.{name}.{'_'.join(corner)}", share[i, j], n=len(here))
''')
code('''
fig, ax = plots.subplots(height=3)
heat(ax, (100 * share).round().astype(int), vmin=0, vmax=100, aspect="auto")
ax.set_xticks(range(4), [f"{breadth}, {depth}" for breadth, depth in ORDER])
ax.set_yticks(range(len(comparison.NAMES)), comparison.NAMES)
ax.set(xlabel="quarter of the plane", ylabel="method", title="% right")
alt = "Right answers by method and quarter; broad and deep: " + ", ".join(
    f"{name} {value:.0%}" for name, value in zip(comparison.NAMES, share[:, 3], strict=True)
)
results.figure(fig, "quarters", f"{alt}.", "Accuracy by quarter of the plane")
''')
code('''
def in_corner(name, corner):
    """Right or wrong in a quarter, in the order of the novels that have a question there."""
    some = [task for task, it in zip(tasks, corners, strict=True) if it == corner]
    return {task.document.id: float(found[name, task.id].correct) for task in some}


for name in comparison.NAMES:
    easy, hard = in_corner(name, ORDER[0]), in_corner(name, ORDER[3])
    both = [novel for novel in easy if novel in hard]
    drop = paired_bootstrap([hard[it] for it in both], [easy[it] for it in both], seed=seed)
    results.record(f"regime.{name}", drop)
    print(f"{name:10}broad and deep, less narrow and shallow: {drop}, {len(both)} novels")
''')
code('''
from mindscape.mindgraph.scoring import pareto

at = {name: (numbers[name, "compaction"], numbers[name, "accuracy"]) for name in comparison.NAMES}
points = {name: (x.value, y.value) for name, (x, y) in at.items()}
front = pareto(points)
fig, ax = plots.subplots(height=3.4)
for (name, (x, y)), colour in zip(at.items(), plots.PALETTE, strict=False):
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour], "linestyle": ""}
    ax.errorbar(x.value, y.value, [[y.value - y.low], [y.high - y.value]], label=name, **look)
ax.plot(*zip(*[points[name] for name in front], strict=True), color=plots.GREY, marker="", zorder=0)
ax.set(xscale="log", xlabel="first call / text", ylabel="right answers", ylim=(0, 1))
ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
alt = "Accuracy over compaction: " + ", ".join(
    f"{name} {y:.2f} at {x:.2f}" for name, (x, y) in points.items()
)
results.figure(fig, "front", f"{alt}. On the Pareto front: {', '.join(front)}.", "Accuracy and compaction")
''')
code('''
rng = np.random.default_rng(seed)
names, drawn_fronts = list(dict.fromkeys(books_of)), []
where = {name: np.array([i for i, it in enumerate(books_of) if it == name]) for name in names}
values = {name: (column(name, "compaction"), column(name, "correct")) for name in comparison.NAMES}
for _ in range(2000):
    some = np.concatenate([where[it] for it in rng.choice(names, len(names))])
    means = {name: (x[some].mean(), y[some].mean()) for name, (x, y) in values.items()}
    drawn_fronts.append(pareto(means))
for name in comparison.NAMES:
    often = float(np.mean([name in it for it in drawn_fronts]))
    results.record(f"pareto.{name}", often, n=len(drawn_fronts))
    here = ", and of these" if name in front else ""
    print(f"{name:10}on the front in {often:.0%} of samples of novels{here}")
''')
md("RESULTS_FRONT")
# RESULTS_FRONT: which methods are on the front and how surely; MindGraph's compaction on 15k-token novels is high because the
# prompt alone is a few hundred tokens.
md(r"""
## The paper says / we got / why they differ
""")
code('''
theirs = paper.table("mindgraph_table2").set_index("method")
rows = {}
for name in comparison.NAMES:
    rows[name] = [f"{theirs.accuracy[name]:.0f}", f"{100 * numbers[name, 'accuracy'].value:.0f}"]
    rows[name] += [f"about {theirs.compaction[name]:.0f}", f"{100 * numbers[name, 'compaction'].value:.0f}"]
    rows[name].append(f"{100 * numbers[name, 'tokens_over_length'].value:,.0f}")
columns = ["accuracy, the paper", "ours", "compaction, the paper", "ours", "all tokens, ours"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("%")
''')
md("RESULTS_PAPER")
# RESULTS_PAPER: model (135M, trained on storyworld roles: qa, edits, graph_answer; not on the others' forms) against gpt-5.4;
# 15k-token novels against 179k-token texts; questions of all quarters against broad and deep only; the judge is the reader.
md(r"""
## Reading critically

**Ten items (Table 1).** That four methods "drop sharply" on LongBench-v2's detective stories rests on ten questions with four options each. Guessing gives 25 %. How likely is it to guess at least as many?
""")
code('''
from math import comb

one = paper.table("mindgraph_table1")
one = one[one.task == "LongBench-v2 Detective"].set_index("method").accuracy
for method, percent in one.items():
    k = round(percent / 10)
    tail = sum(comb(10, i) * 0.25**i * 0.75 ** (10 - i) for i in range(k, 11))
    results.record(f"paper.table1.p.{method}", tail, n=10)
    print(f"{method:8}{k} of 10: guessing does as well with probability {tail:.2f}")
same = sum(comb(10, i) * comb(10, 6 - i) for i in range(7) if i >= 5 or i <= 1) / comb(20, 6)
results.record("paper.table1.fisher_gam_rlm", same)
print(f"the best against the worst, 5 and 1 of 10: Fisher's exact test p = {same:.2f}")
''')
md(r"""
None of the four can be told from guessing, nor the best from the worst. The failure modes of section 2.2 may be real; this table does not show them.

**Two hundred items (Table 2).** For shares of 200 the intervals and the differences (as if unpaired, since items are not printed):
""")
code('''
def wilson(share, n, z=1.96):
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return middle - half, middle + half


p = theirs.accuracy / 100
for name in theirs.index:
    low, high = wilson(p[name], 200)
    gap = p["MindGraph"] - p[name]
    spread = 1.96 * np.sqrt((p[name] * (1 - p[name]) + p["MindGraph"] * (1 - p["MindGraph"])) / 200)
    results.record(f"paper.table2.gap_low.{name}", float(gap - spread), n=200)
    less = f"MindGraph less it {gap:+.2f} [{gap - spread:+.2f}, {gap + spread:+.2f}]"
    less = "" if name == "MindGraph" else less
    print(f"{name:10}{p[name]:.2f} [{low:.2f}, {high:.2f}]   {less}")
''')
md(r"""
Here the first place is safe, by sampling of items. It is one run of one model on items that one judge chose.

**Rounding and the front.** "MindGraph and Chain-of-Agents jointly trace the Pareto frontier" hangs on two compactions that are both printed as *about 1 %*. If GraphRAG's was the smaller, it is on the front as well:
""")
code('''
as_printed = {name: (row.compaction, row.accuracy) for name, row in theirs.iterrows()}
print("as printed:", pareto(as_printed))
with_it = 0
for _ in range(2000):
    moved = {name: (x + rng.uniform(-0.5, 0.5), y) for name, (x, y) in as_printed.items()}
    with_it += "GraphRAG" in pareto(moved)
results.record("paper.graphrag_on_front", with_it / 2000, n=2000)
print(f"within what rounding hides, GraphRAG is on the front in {with_it / 2000:.0%} of cases")
''')
md(r"""
**A ratio to the length.** The first call of Chain-of-Agents reads a summary of bounded size, that of RLM a prompt, GraphRAG's eight reports: $f_1$ does not grow with $L$, so $f_1/L$ falls like $1/L$, and two benchmarks with other lengths have other compactions for the same method. Ours, and what the very same first calls would be on a text of the paper's mean length:
""")
code('''
READ = {"Direct": "the text", "GraphRAG": "eight reports", "CoA": "one summary"}
READ |= {"GAM": "a note a page", "RLM": "the task", "MindGraph": "the graph"}
rows = {}
for name, what in READ.items():
    first_call = column(name, "tokens_first_call").mean()
    rows[name] = [what, f"{first_call:,.0f}", f"{numbers[name, 'compaction'].value:.1%}"]
    grows = what in ("the text", "a note a page")
    rows[name].append("–" if grows else f"{first_call / 179_000:.1%}")
columns = ["the first call reads", "tokens", "of our texts", "of 179,000 tokens"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md(r"""
And the ratio leaves out what was paid before: the last column but two of section 7's table. By all tokens every method but Direct and RLM reads the text at least once for each question.

**Who judged?** The share of right answers that rules alone gave, that the judge added, and how long answers are: a longer answer contains more.
""")
code('''
from mindscape.mindgraph.scoring import RULES

rows = {}
for name in comparison.NAMES:
    some = table[name]
    by_rule = np.mean([one.correct and one.stage in RULES for one in some])
    judged = np.mean([one.correct and one.stage == "judge" for one in some])
    words = float(np.mean([len(one.text.split()) for one in some]))
    opening = np.mean([one.stage == "first sentence" for one in some])
    results.record(f"judged.{name}", judged, n=len(some))
    results.record(f"first_sentence.{name}", opening, n=len(some))
    rows[name] = [f"{share:.0%}" for share in (by_rule, opening, judged)] + [f"{words:.1f}"]
columns = ["right by rules", "of these by first sentence", "right by the judge", "words"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md("RESULTS_JUDGED")
md(r"""
**A benchmark chosen by its own kind of judge.** Items stay whose labels one model gives twice alike. Section 1 says what that is worth for our annotator: two passes agree with each other more than with gold, so the filter removes doubt, not error. Which questions are lost by it is not a matter of chance:
""")
code('''
steady = np.array([one.labelled.stable for one in of[True]])
for axis, levels in (("breadth", BREADTHS), ("depth", DEPTHS)):
    gold_of = np.array([getattr(asked[one.question], axis) for one in of[True]])
    there = [level for level in levels if (gold_of == level).any()]
    shares = [f"{level} {steady[gold_of == level].mean():.0%}" for level in there]
    print(f"stable labels by gold {axis}: {', '.join(shares)}")
''')
md("RESULTS_SUM")
# RESULTS_SUM: to sum up.
md(r"""
## Exercises

**1.** An annotator says *global* to every question; 30 % of the questions are. Its accuracy is 0.3. Its κ?
""")
code('''
my_kappa = None

lazy = agreement(["global"] * 3 + ["local"] * 7, ["global"] * 10, BREADTHS)
print("right" if my_kappa is not None and abs(my_kappa - lazy.kappa) < 1e-9 else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

0: by chance one would agree on $0.3 \cdot 1 + 0.7 \cdot 0 = 0.3$, which is all that there is.

</details>

**2.** A gold list has twelve items of one word each. How many of them must an answer name for the F1 rule to count it as right?
""")
code('''
my_items = None

print("right" if my_items == 4 else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

$k \ge 12/3 = 4$. With a threshold of 0.8 it would be $2k/(12 + k) \ge 0.8$, $k \ge 8$.

</details>

**3.** Write the Pareto front: the methods such that no other has at most their compaction and at least their accuracy, and is better in one of the two.
""")
code('''
def my_front(points):
    return None  # your code: names, the smallest compaction first; points: name -> (x, y)


trial = {"a": (0.1, 0.5), "b": (0.2, 0.5), "c": (0.2, 0.7), "d": (0.05, 0.2), "e": (0.3, 0.6)}
print("right" if my_front(trial) == pareto(trial) else "not yet")
''')
md(r"""
<details><summary>Solution</summary>

```python
def my_front(points):
    found, best = [], -1
    for name in sorted(points, key=lambda it: (points[it][0], -points[it][1])):
        if points[name][1] > best:
            found.append(name)
            best = points[name][1]
    return found
```

Sorted by compaction, and by falling accuracy among equals, a method is on the front if it is better than all before it. (Two methods in the very same place are both on the library's front, and only one on this.)

</details>
""")
code('''
results.finish()
''')
md(r"""
**Read next:** MoM writes its memory the other way round: first an outline of the whole document, then chunks that follow it.
""")
b.save()
