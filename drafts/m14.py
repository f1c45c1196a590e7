import sys; sys.path.insert(0,"/work/main/build/mk")
from nb import Book
b=Book("14_mia_gen"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 14 · MiA-Gen

*The passage says that Eve sold the lamp. The question asks what the miller's sister sold. Does a generator do better when it is shown the summary, and must it be trained to use it?*

Paper: MiA-RAG, sections 3.4, 5.2, 5.4 and 6.1, appendices C and D (Eq. 6 and 7, Tables 2, 5, 7, 8 and 10, Figures 1, 2 and 3).

**You will** write the prompt of Eq. 6 and the loss of Eq. 7 by hand; train for a few steps; weigh retrievers, summaries, generators and numbers of passages against each other on three tasks; take parts of the training away; make the generator smaller; and count what is read.

**You need** notebook [12](12_mia_emb_training.ipynb), which trains the retriever. The adapter is described in its [card](../data/adapters/mia_gen/README.md).

**It takes** a minute and a half on one core.
""")
code('''
scale = "small"  # "full": a longer live run; "gpu": 2,000 steps at the rate of Table 7
seed = 0
llm = "embedded"  # the generator's base; or "hf:NAME"
adapter = ""  # folder of MiA-Gen for that base; the kit's own by default
kept = ""  # folder of ranks and replies on the test novels; the kit's own by default
''',"parameters")
code('''
from mindscape import results

results.begin("14_mia_gen", scale=scale, seed=seed, llm=llm, adapter=adapter, kept=kept)
''')
md(r"""
## 1 · A prompt in four parts

MiA-Gen reads (Eq. 6)

$$x = [\,\text{instruction};\; S;\; \hat C_{\text{ret}};\; q\,],$$

the summary *before* the retrieved passages, so that a causal model can read them in its light. Three people, two passages, and a question that names nobody:
""")
code('''
from mindscape.mia.generation import CONTEXT, JOIN, SUMMARY, write
from mindscape.roles import ROLES

summary = "Ann is the smith. Tom is the miller. Eve is Tom's sister."
chunks = ["Eve sold a lamp to a stranger.", "It rained in the valley."]
slots = {"question": "What did the miller's sister sell?"}

instruction, asking = ROLES["qa"].prompts["en"].split(CONTEXT)
by_hand = instruction.format() + SUMMARY["en"].format(summary=summary)
by_hand += CONTEXT.format(context=JOIN.join(chunks)) + asking.format(**slots)
written = write("qa", slots, chunks, summary)
print(by_hand)
print("\\nthe library's is the same:", written.text == by_hand)
''')
md(r"""
Open questions, multiple choice and claims each have a prompt and a form of reply of their own. A reply that cannot be read counts as wrong, and is counted.

## 2 · What it learns from

A question of a training novel with the passages that hold its evidence, mixed with others that do not bear on it, as a retriever might give them: between one and ten, in an order of chance. Who "the miller's sister" is mostly stands in none of them.
""")
code('''
from transformers import AutoTokenizer

from mindscape import assets
from mindscape.mia.generation import examples
from mindscape.reader import training_book

base = assets.language_model() if llm == "embedded" else llm.removeprefix("hf:")
tokenizer = AutoTokenizer.from_pretrained(base)
novel = training_book(360)
taught = examples(novel, tokenizer, seed=seed)
for task in ("qa", "choice", "claim"):
    one = next(it for it in taught if it.role == task)
    print(f"-- {task}: …{one.prompt[-150:]}\\n-> {one.reply}\\n")
''')
code('''
import numpy as np

from mindscape.corpora.storyworld.chance import Chance
from mindscape.mia.generation import mixed
from mindscape.roles import passages

counts, places = [], []
for question, _, shown in mixed(novel, tokenizer, Chance("qa", novel.document.id)):
    counts.append(len(shown))
    for i, chunk in enumerate(shown):
        if any(passages.holds(novel, chunk, span) for span in question.evidence):
            places.append((i + 0.5) / len(shown))
lengths = [len(tokenizer.encode(it.prompt)) for it in taught]
print(f"{len(counts)} questions, {min(counts)} to {max(counts)} passages, mean {np.mean(counts):.1f}")
thirds = np.histogram(places, [0, 1 / 3, 2 / 3, 1])[0] / len(places)
print("evidence in the first, middle and last third:", thirds.round(2))
print(f"prompts of {min(lengths)} to {max(lengths)} tokens, mean {np.mean(lengths):.0f}")
results.record("prompt.tokens", np.mean(lengths), n=len(lengths))
''')
md(r"""
The loss (Eq. 7) is that of the reply's tokens, $-\sum_t \log p(y_t \mid x, y_{<t})$, and of nothing in the prompt. Across replies of different lengths it is weighed by $n^{-1/2}$, so that one letter counts beside a sentence (notebook [01](01_the_reader.ipynb)). By hand, from all logits, for one example:
""")
code('''
import torch

from mindscape.mia.mcea_evaluation import load
from mindscape.training.batches import collate, encode
from mindscape.training.sft import reply_loss

model, _ = load(base)
one = encode(next(it for it in taught if it.role == "choice"), tokenizer)
ids = torch.tensor([one.ids])
with torch.no_grad():
    logprobs = model(ids).logits[0].log_softmax(-1)
    total = -sum(logprobs[t - 1, ids[0, t]] for t in range(len(one.ids) - one.reply, len(one.ids)))
    theirs, n = reply_loss(model, collate([one], tokenizer.eos_token_id))
print(f"{one.reply} reply tokens of {len(one.ids)}: by hand {total:.3f}, the library {theirs[0]:.3f}")
''')
md(r"""
## 3 · A few steps, live
""")
varies('''
import json
import tempfile
from pathlib import Path

from mindscape import paths
from mindscape.training import Settings, train

steps = {"small": 2, "full": 40, "gpu": 2000}[scale]
few = {"warmup": 1, "checkpointing": True}  # activations anew on the way back: less memory
settings = Settings(steps=steps, tokens=2048, learning_rate=7e-4, seed=seed, **few)
if scale == "gpu":
    more = {"tokens": 8192, "rank": 128, "alpha": 256, "learning_rate": 1e-5, "warmup": 100}
    settings = Settings(steps=steps, seed=seed, **more)
start = paths.data("adapters") / "reader" if llm == "embedded" and scale != "gpu" else None
with tempfile.TemporaryDirectory() as folder:
    train(taught, folder, base, settings, start=start)
    lines = [json.loads(line) for line in (Path(folder) / "log.jsonl").open()]
speed = lines[-1]["tokens_per_second"]
results.record("training.tokens_per_second", speed, varies="wall time")
print(f"{speed:.0f} tokens a second, losses by task {lines[-1]['roles']}")
''')

md('''
`scale="gpu"` takes the steps, the warm-up and the learning rate of Table 7 on this one novel, and an adapter as MiA-Emb has it (the paper trains all weights); nothing below uses it. For a training on all novels, on several GPUs, `accelerate launch -m mindscape.mia.gen_training`.

The shipped adapter, three *ablations* (Table 5) and two smaller generators (section 6) had 270 steps of at most 2,048 tokens each, begun from the reader. The ablations: without summary; without claims; without open questions and choices. The same novels and steps, and about as many tokens. Shorter prompts fit more often two to a step, so the one without summary saw 461 examples, MiA-Gen 316, the others 321 and 329. The mean of their losses over the last thirty steps, in nats a token:
''')
code('''
from mindscape.errors import InputError

if llm != "embedded" and not (adapter and kept):
    raise InputError(f"llm={llm!r}: expected adapter, MiA-Gen of that base, and kept, a folder")
home = Path(adapter) if adapter else paths.data("adapters") / "mia_gen"
folder = Path(kept) if kept else paths.data("grid")
ABLATED = {"no_summary": "none", "no_claims": "gold", "no_qa": "gold"}  # the summary each is shown
logs = {"mia_gen": home / "log.jsonl"}
logs |= {name: folder / f"log_{name}.jsonl" for name in (*ABLATED, "layers_10", "layers_20")}
rows = {}
for name, path in logs.items():
    steps = [json.loads(line) for line in path.open()]
    rows[name] = [len(steps), f"{sum(step['tokens'] for step in steps):,}"]
    for task in ("qa", "choice", "claim"):
        ends = [step["roles"][task] for step in steps[-30:] if task in step["roles"]]
        rows[name].append(f"{np.mean(ends):.2f}" if ends else "–")
        if ends:
            results.record(f"training.loss.{name}.{task}", np.mean(ends), n=len(ends))
''')
code('''
import pandas as pd

LABELS = {
    "untuned": "untuned",
    "reader": "reader",
    "mia_gen": "MiA-Gen",
    "no_summary": "without summary",
    "no_claims": "without claims",
    "no_qa": "without QA",
    "layers_20": "20 of 30 layers",
    "layers_10": "10 of 30 layers",
}
columns = ["steps", "tokens", "open questions", "choices", "claims"]
pd.DataFrame.from_dict({LABELS[name]: row for name, row in rows.items()}, orient="index", columns=columns)
''')
md(r"""
The four of 30 layers end about where they began, at 0.6 to 0.7 nats for an open question and 0.1 for a choice: the reader already had the form. Differences of 0.1 between means of ten to fifteen steps say nothing. Those that lack layers do not get there.
""")
md('''
## 4 · The grid (Table 2)

Ten test novels; of each the first two questions, in an order of chance, that a few passages and the summary answer. The same questions are asked three times: openly (F1 and exact match), with four options (accuracy, 0.25 by lot), and as a true and a false claim (pair accuracy: both right; 0.25 by lot). Retrievers: the untrained base (**vanilla**) and **MiA-Emb**. Generators: the base as it comes (**untuned**), the kit's **reader**, which was taught these roles without summaries, and **MiA-Gen**. 3, 5 or 10 passages; beside them the summary alone, and *oracle* passages. Replies are kept; some are asked for again below.
''')
code('''
from mindscape.mia import gen_evaluation as study
from mindscape.reader.evaluation import Kept, books

KS, SHARE = (3, 5, 10), 2  # questions of a novel
RETRIEVERS = ("vanilla", "mia_emb")
ADAPTERS = {"untuned": None, "reader": paths.data("adapters") / "reader", "mia_gen": home}
novels = books("test")
cutter = AutoTokenizer.from_pretrained(assets.language_model())
asked = study.items(novels, cutter, SHARE)
print({task: len(some) for task, some in asked.items()})


def rankings_of(name):
    lines = [json.loads(line) for line in (folder / f"ranks_{name}.jsonl").open()][1:]
    return {(line["book"], line["query"]): line["ranked"] for line in lines}


ranks = {path.stem[6:]: rankings_of(path.stem[6:]) for path in folder.glob("ranks_*.jsonl")}
print("retrievers:", ", ".join(sorted(ranks)))
''')
code('''
from functools import cache


@cache
def replies_of(name):
    adapter_of = ADAPTERS.get(name)
    path = folder / f"{name}.jsonl"
    about = json.loads(path.open().readline())
    return Kept(path, about) if name not in ADAPTERS else Kept.of(path, about["model"], adapter_of)


def results_of(cells):
    # by cell and task: scores for each question, tokens, what could not be read
    found = {}
    for cell in cells:
        for task, some in asked.items():
            shown = study.prompts(cell, some, novels, cutter, ranks)
            given = replies_of(cell.generator).answers(task, shown)
            found[cell, task] = study.result(cell, some, shown, given, cutter)
    return found


SYSTEMS = study.grid(RETRIEVERS, ("none", "gold"), tuple(ADAPTERS), KS)
found = results_of(SYSTEMS)
for (cell, task), of in found.items():
    results.record(cell.key(task), of.main)
print(f"{len(found)} numbers")
''')
code('''
SHORT = {"vanilla": "vanilla", "minilm": "MiniLM", "sft_emb": "SFT-Emb", "mia_emb": "MiA-Emb"}
SHORT |= {study.ORACLE: "oracle", study.NONE: "no passages"}


def name_of(retriever, summary, generator):
    shown = ["summary"] if summary == "gold" else []
    return " · ".join([LABELS[generator], SHORT[retriever], *shown])


def line(retriever, summary, generator):
    row = []
    for task in asked:
        cells = [study.Cell(retriever, summary, generator, k) for k in KS]
        if retriever in (study.NONE, study.ORACLE):
            cells = [study.Cell(retriever, summary, generator, 0)]
        row.append(" / ".join(f"{100 * found[cell, task].main.value:.0f}" for cell in cells))
    return row


rows = {}
for generator in ADAPTERS:
    for retriever in (*RETRIEVERS, study.NONE, study.ORACLE):
        for summary in ("none", "gold"):
            if (retriever, summary) != (study.NONE, "none"):
                label = name_of(retriever, summary, generator)
                rows[label] = line(retriever, summary, generator)
columns = ["open questions, F1", "choices, accuracy", "claims, pairs"]
print("in %, for 3 / 5 / 10 passages")
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md(r"""
On open questions the retriever makes the difference: with MiA-Emb's passages the reader has twice the F1 that it has with vanilla's, and with the oracle's up to 80 %. On choices and claims it is not so clear. The untuned base does not play: of 135 million parameters, it rambles or breaks the form. So what stands against it is won easily; the row that counts is the reader's, and **the reader is ahead of MiA-Gen** in most of it.
""")
md('''
What is beyond chance? Paired differences over questions, intervals over novels. Each question gets its mean over 3, 5 and 10 passages first.
''')
code('''
from mindscape.metrics import bootstrap, paired_bootstrap


def mean_of(retriever, summary, generator, task, of=None):
    # each question's score, mean over k; questions without one (the first of two claims) left out
    ks = (0,) if retriever in (study.NONE, study.ORACLE) else KS
    cells = [study.Cell(retriever, summary, generator, k) for k in ks]
    values = np.mean([(of or found)[cell, task].scores[study.MAIN[task]] for cell in cells], 0)
    return values[~np.isnan(values)]


def books_of(task):
    some = asked[task][1::2] if task == "claim" else asked[task]
    return [item.row.book.document.id for item in some]


def compare(key, one, other, of=None):
    row = []
    for task in asked:
        pair = (mean_of(*system, task, of) for system in (one, other))
        diff = paired_bootstrap(*pair, groups=books_of(task), seed=seed)
        results.record(f"diff.{key}.{task}", diff)
        row.append(str(diff))
    pooled = [np.concatenate([mean_of(*system, task, of) for task in asked]) for system in (one, other)]
    groups = [book for task in asked for book in books_of(task)]
    diff = paired_bootstrap(*pooled, groups=groups, seed=seed)
    results.record(f"diff.{key}", diff)
    return [*row, str(diff)]
''')
code('''
best, plain = ("mia_emb", "gold", "mia_gen"), ("vanilla", "none", "untuned")
PAIRS = {
    "mia_rag_minus_vanilla": (best, plain),
    "retriever.untuned": (("mia_emb", "none", "untuned"), plain),
    "retriever.mia_gen": (best, ("vanilla", "gold", "mia_gen")),
    "summary.untuned": (("mia_emb", "gold", "untuned"), ("mia_emb", "none", "untuned")),
    "summary.reader": (("mia_emb", "gold", "reader"), ("mia_emb", "none", "reader")),
    "summary.mia_gen": (best, ("mia_emb", "none", "mia_gen")),
    "mia_gen_minus_untuned": (best, ("mia_emb", "gold", "untuned")),
    "mia_gen_minus_reader": (best, ("mia_emb", "gold", "reader")),
    "summary_alone_minus_vanilla": (
        (study.NONE, "gold", "reader"), ("vanilla", "none", "reader")
    ),
    "summary_on_oracle.mia_gen": (
        (study.ORACLE, "gold", "mia_gen"), (study.ORACLE, "none", "mia_gen")
    ),
    "summary_on_oracle.reader": (
        (study.ORACLE, "gold", "reader"), (study.ORACLE, "none", "reader")
    ),
}
''')
code('''
rows = {}
for key, (one, other) in PAIRS.items():
    rows[f"{name_of(*one)}, less {name_of(*other)}"] = compare(key, one, other)
columns = ["open questions", "choices", "claims", "all"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md(r"""
Beyond chance: the full system is ahead of plain retrieval with the untuned base, and MiA-Gen ahead of the untuned base on the same passages and summary, on each task. Both mostly say that the untuned base cannot answer in these forms; on claim pairs MiA-Gen's 0.20 is no better than lot.

Not beyond chance: what a summary adds on MiA-Emb's passages, for none of the three generators, though a gain of up to a tenth is not excluded. On the oracle's passages it *takes* about a tenth from both that were trained, beyond chance: 400 tokens more, and nothing in them that is still needed. Nor is MiA-Gen better than the reader it was begun from: $-0.10$, and an interval that holds zero. It is a result that falls short.
""")
code('''
from mindscape import plots

plots.use()
names = {
    ("vanilla", "none", "untuned"): "vanilla RAG",
    ("vanilla", "none", "reader"): "vanilla RAG, reader",
    ("vanilla", "gold", "reader"): "summary, reader",
    ("vanilla", "gold", "mia_gen"): "MiA-Gen alone",
    ("mia_emb", "none", "untuned"): "MiA-Emb, untuned",
    ("mia_emb", "none", "reader"): "MiA-Emb, reader",
    ("mia_emb", "gold", "reader"): "MiA-Emb and summary, reader",
    ("mia_emb", "gold", "mia_gen"): "MiA-RAG",
}
settings_of = {
    label: {
        (task, k): found[study.Cell(*system, k), task].main.value for task in asked for k in KS
    }
    for system, label in names.items()
}
ranks_of = study.average_ranks(settings_of)
ranks_of = dict(sorted(ranks_of.items(), key=lambda it: it[1]))
for place, (label, rank) in enumerate(ranks_of.items(), 1):
    key = label.replace(" ", "_").lower()
    results.record(f"rank.{key}", rank, n=len(asked) * len(KS))
    results.record(f"rank.place.{key}", place, n=len(names))
''')
code('''
fig, ax = plots.subplots(height=3)
labels = list(ranks_of)[::-1]
colours = [plots.PALETTE["blue"] if "MiA-Gen" in of or of == "MiA-RAG" else plots.GREY for of in labels]
ax.barh(labels, [ranks_of[label] for label in labels], color=colours)
ax.set(xlabel="average rank over three tasks and 3, 5, 10 passages (1 is best)", xlim=(0, len(names)))
told = "; ".join(f"{label} {rank:.1f}" for label, rank in ranks_of.items())
results.figure(fig, "ranks", f"Average ranks: {told}.", "Average ranks of eight systems")
''')
md('''
MiA-RAG is third of eight, behind two systems of the kit's reader, and first of the four without it.

Replies that cannot be read, of all in the grid, free and after decoding was held to the form; and the kept replies asked for again. Held to the form the untuned base fails more often at choices, not less: it fills the explanation until it is cut off.
''')
code('''
rows = {}
for generator in ADAPTERS:
    some = [of for (cell, _), of in found.items() if cell.generator == generator]
    for task in asked:
        mine = [of for of in some if of.task == task]
        total = sum(len(of.items) for of in mine)
        unread = sum(of.unparsable for of in mine) / total
        free = 1 - sum(sum(of.scores["valid_free"]) for of in mine) / total
        results.record(f"unparsable.{generator}.{task}", unread, n=total)
        results.record(f"unparsable_free.{generator}.{task}", free, n=total)
        rows.setdefault(LABELS[generator], []).append(f"{free:.1%}, held {unread:.1%}")
pd.DataFrame.from_dict(rows, orient="index", columns=list(asked))
''')
varies('''
from mindscape import llm as models
from mindscape.reader.evaluation import ask

options = {"adapter": str(home)} if home.exists() else {}
generator = models.load(llm, **options)
again = []
for task in asked:
    cell = study.Cell("mia_emb", "gold", "mia_gen", 3)
    shown = study.prompts(cell, asked[task], novels, cutter, ranks)[: 2 if scale == "small" else 20]
    pairs = zip(ask(generator, task, shown), replies_of("mia_gen").answers(task, shown), strict=True)
    again += [new.best == old.best for new, old in pairs]
results.record("live.same", np.mean(again), n=len(again), varies="bf16 or fp32, and ties between tokens")
print(f"{np.mean(again):.0%} of {len(again)} replies are the kept ones")
''')
md('''
## 5 · What the training hangs on (Table 5)

The ablations, each used as it was trained, on MiA-Emb's passages; the mean over 3, 5 and 10 of them.
''')
code('''
cells = [study.Cell("mia_emb", told, name, k) for name, told in ABLATED.items() for k in KS]
ablated = found | results_of(cells)
for cell in cells:
    for task in asked:
        results.record(cell.key(task), ablated[cell, task].main)
rows = {}
for name, told in {"mia_gen": "gold", **ABLATED}.items():
    mine = [100 * mean_of("mia_emb", told, name, task, ablated).mean() for task in asked]
    rows[LABELS[name]] = [f"{value:.1f}" for value in mine]
    if name != "mia_gen":
        rows[f"MiA-Gen less {LABELS[name]}"] = compare(
            f"mia_gen_minus_{name}", best, ("mia_emb", told, name), ablated
        )[:3]
pd.DataFrame.from_dict(rows, orient="index", columns=["open questions", "choices", "claims"])
''')
md(r"""
The paper's order does not come out. Without the summary no difference is found; without claims the generator is worse on claims and on open questions, neither beyond chance; and **without questions it answers questions better**, choices beyond chance by its interval (one of nine, unadjusted). That is the sign of what went wrong: the reader, where all four began, had read 6.2 million tokens, four examples in ten of these tasks. 385,512 more at a high learning rate (7e-4) take away some of it, we think, and questions that are not trained are not harmed. A lower rate and ten times the tokens are what to try next; `--learning-rate` and `--steps` of the command are there.
""")
md('''
## 6 · Smaller generators (Figure 3)

The base's first 10 or 20 of 30 layers, each begun with the reader's first layers and trained in the same way, beside the whole, on MiA-Emb's passages with the summary:
''')
code('''
SIZES = {10: "layers_10", 20: "layers_20", 30: "mia_gen"}
cells = [study.Cell("mia_emb", "gold", name, k) for name in SIZES.values() for k in KS]
sized = found | results_of([cell for cell in cells if cell.generator != "mia_gen"])
fig, ax = plots.subplots(height=3.2)
told = []
for task, colour in zip(asked, ("blue", "orange", "green"), strict=True):
    every = [mean_of("mia_emb", "gold", name, task, sized) for name in SIZES.values()]
    curve = [bootstrap(values, groups=books_of(task), seed=seed) for values in every]
    for layers, of in zip(SIZES, curve, strict=True):
        results.record(f"size.{layers}.{task}", of)
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour]}
    ax.plot(list(SIZES), [of.value for of in curve], label=task, **look)
    ax.fill_between(
        list(SIZES), [of.low for of in curve], [of.high for of in curve],
        color=look["color"], alpha=0.15, linewidth=0,
    )
    told.append(f"{task} {', '.join(f'{of.value:.2f}' for of in curve)}")
ax.set(xlabel="layers", ylabel="score", xticks=list(SIZES), ylim=(0, 1))
ax.legend()
alt = f"Scores of generators with 10, 20 and 30 layers: {'; '.join(told)}."
results.figure(fig, "sizes", alt, "How large a generator?")
''')
code('''
rows = {}
for layers in (10, 20):
    smaller = ("mia_emb", "gold", SIZES[layers])
    rows[f"30 layers less {layers}"] = compare(f"30_minus_{layers}_layers", best, smaller, sized)
pair = (("mia_emb", "gold", SIZES[layers]) for layers in (20, 10))
rows["20 layers less 10"] = compare("20_minus_10_layers", *pair, sized)
pd.DataFrame.from_dict(rows, orient="index", columns=["open questions", "choices", "claims", "all"])
''')
md("""
A smaller generator is, here, a damaged one: it loses its last layers and has 270 steps to make up for them, in which the losses come down to 7.2 and 4.6 nats a token of an open answer, where the whole has 0.7. From 10 to 20 layers F1 rises from 0.00 to 0.11, choices fall from 0.30 to 0.15, and all together do not move. The whole is ahead of both over all tasks, not on claims. What this curve shows is what cutting costs.
""")
md('''
## 7 · Another retriever (Figure 2, Table 10)

The paper scales the retriever from 0.6 to 8 billion parameters. Here, with MiA-Gen as generator and five passages: an encoder of 22 million parameters that was trained on other texts (MiniLM), the retriever that was trained without summaries (SFT-Emb), and both from above.
''')
code('''
def seen(retriever, item, k):
    """Whether any passage that holds the evidence is among the first k."""
    ranked = ranks[retriever][item.row.book.document.id, item.query]
    return bool(set(ranked[:k]) & set(item.right))


others = ("vanilla", "minilm", "sft_emb", "mia_emb")
cells = [study.Cell(name, told, "mia_gen", 5) for name in others for told in ("none", "gold")]
wider = found | results_of([cell for cell in cells if cell.retriever not in RETRIEVERS])
rows = {}
for cell in cells:
    row = [f"{np.mean([seen(cell.retriever, item, 5) for item in asked['qa']]):.2f}"]
    for task in asked:
        of = wider[cell, task].main
        results.record(cell.key(task), of)
        row.append(str(of))
    rows[name_of(cell.retriever, cell.summary, "mia_gen")] = row
columns = ["evidence seen", "open questions", "choices", "claims"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
def pooled_at_five(retriever):
    cell = study.Cell(retriever, "gold", "mia_gen", 5)
    values = np.concatenate([wider[cell, task].scores[study.MAIN[task]] for task in asked])
    return values[~np.isnan(values)]


groups = [book for task in asked for book in books_of(task)]
for other in ("vanilla", "minilm", "sft_emb"):
    pair = (pooled_at_five(name) for name in ("mia_emb", other))
    less = paired_bootstrap(*pair, groups=groups, seed=seed)
    results.record(f"diff.retriever.mia_minus_{other}@5", less)
    print(f"MiA-Emb less {other:8}, summary shown, all tasks: {less}")
''')
md(r"""
SFT-Emb and MiA-Emb both put evidence among the first five for 19 of 20 questions, and first of all for 15. The answers do not follow: MiA-Emb is not ahead of vanilla beyond chance with five passages, and behind SFT-Emb by an interval that just leaves zero out (one of three, unadjusted), though both show the generator the evidence. And with MiniLM's, where the evidence is shown for 9 of 20, F1 is the highest of all, not beyond chance. A generator that finds the answer in less than half of what it is shown is a poor judge of retrievers; notebook [12](12_mia_emb_training.ipynb) weighs them by what they find, on 649 questions.
""")
md('''
## 8 · What is read (Table 8)

Tokens of a prompt, open questions; and of all prompts together if each common beginning is read once, which is how the decoder here reads them: heads within heads, instruction, summary, first passages.
''')
code('''
rows = {}
systems = [
    ("vanilla", "none", "untuned", 10),
    ("mia_emb", "gold", "untuned", 10),
    ("mia_emb", "gold", "mia_gen", 3),
    ("mia_emb", "gold", "mia_gen", 10),
    (study.NONE, "gold", "mia_gen", 0),
]
for system in systems:
    of = found[study.Cell(*system), "qa"]
    tokens, once = np.mean(of.tokens), of.once / len(of.items)
    key = ".".join(map(str, system))
    results.record(f"tokens.{key}", tokens, n=len(of.items))
    results.record(f"tokens.once.{key}", once, n=len(of.items))
    em = np.mean(of.scores["em"])
    label = f"{name_of(*system[:3])}, {system[3]} passages"
    rows[label] = [f"{em:.2f}", str(of.main), f"{tokens:.0f}", f"{once:.0f}"]
whole = np.mean([len(cutter.encode(novel.document.text)) for novel in novels])
print(f"a whole novel: {whole:,.0f} tokens")
columns = ["EM", "F1", "tokens of a prompt", "read, heads once"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
code('''
few, many = study.Cell(*best, 3), study.Cell(*plain, 10)
less = paired_bootstrap(found[few, "qa"].scores["f1"], found[many, "qa"].scores["f1"], groups=books_of("qa"), seed=seed)
results.record("diff.few_minus_many.f1", less)
print(f"F1 of MiA-RAG with 3 passages less vanilla RAG with 10: {less}")
for name, cell in (("few", few), ("many", many)):
    results.record(f"tokens.{name}", np.mean(found[cell, "qa"].tokens), n=len(asked["qa"]))
''')
md(r"""
Three passages and a summary are shorter than ten passages, 69 % (a third in the paper), and better, but what they are better than is the untuned base at its floor. Read once, the head saves three tenths of a prompt of three passages, and half of one that has none; with more than two questions on a novel it saves more.
""")
md('''
## The paper says / we got / why they differ
''')
code('''
from mindscape import paper

two, five = paper.table("mia_rag_table2"), paper.table("mia_rag_table5")


def printed(model, generator="Qwen2.5-14B"):
    of = two[(two.scale == "14B") & (two.generator == generator) & (two.dataset == "Avg.")]
    return of[of.model == model].value.item()


def ours(retriever, summary, generator):
    return 100 * np.mean([mean_of(retriever, summary, generator, task).mean() for task in asked])


MINE = "MiA-Gen-14B"
rows = {
    "summary alone": [printed("Summary-Only"), ours(study.NONE, "gold", "untuned")],
    "vanilla": [printed("Vanilla"), ours("vanilla", "none", "untuned")],
    "vanilla, summary": [printed("MiA (Gen-Only)"), ours("vanilla", "gold", "untuned")],
    "vanilla, summary, MiA-Gen": [
        printed("MiA (Gen-Only)", MINE), ours("vanilla", "gold", "mia_gen")
    ],
    "MiA-Emb": [printed("MiA (Emb-Only)"), ours("mia_emb", "none", "untuned")],
    "MiA-Emb, summary": [printed("MiA"), ours("mia_emb", "gold", "untuned")],
    "MiA-Emb, summary, MiA-Gen": [printed("MiA-RAG", MINE), ours(*best)],
}
rows = {label: [f"{value:.1f}" for value in of] for label, of in rows.items()}
columns = ["the paper, 14B, mean of five sets", "ours, mean of three tasks"]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
''')
md(r"""
The direction is the paper's for the whole system and for MiA-Gen over the untuned base, and for MiA-Emb's passages in sign only; for the summary alone it is reversed (see below). The sizes are not to be compared. Their untuned base has 14 billion parameters and gets half of the points, ours hardly any; so the paper's gain of a summary without training (+5.9, +2.5) could not show here.
""")

code("""
rows = {}
for method, name in (
    ("MiA-Gen-14B", "mia_gen"), ("w/o Summary", "no_summary"), ("w/o Claim.", "no_claims"), ("w/o QA", "no_qa")
):
    of = five[five.method == method].set_index("dataset").value
    told = ABLATED.get(name, "gold")
    mine = [100 * mean_of("mia_emb", told, name, task, ablated).mean() for task in asked]
    pairs = zip((of["NarrativeQA"], of[["∞Bench", "DetectiveQA"]].mean(), of["NoCha"]), mine, strict=True)
    rows[LABELS[name]] = [f"{theirs:.1f} · {value:.1f}" for theirs, value in pairs]
columns = ["open questions", "choices", "claims"]
print("the paper · ours")
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
""")
md(r"""
In the paper each part that is left out costs something in the mean, the summary most; without claims ∞Bench gains 3.05, which its text passes over. Here none does but, perhaps, claims. Theirs is a training of all of 14 billion parameters on real novels; ours an adapter and 316 examples.
""")
md("""
## Reading critically

**Does the summary help where it must?** Only some questions call somebody by something else than the name. What the summary adds (MiA-Emb's passages, MiA-Gen), for these and for the others, open questions and choices:
""")
code("""
needs = {
    novel.document.id: {one.id for one in novel.questions if one.needs_binding} for novel in novels
}
for task in ("qa", "choice"):
    bound = np.array([item.id in needs[item.row.book.document.id] for item in asked[task]])
    added = mean_of(*best, task) - mean_of("mia_emb", "none", "mia_gen", task)
    trained = mean_of(*best, task) - mean_of("mia_emb", "none", "no_summary", task, ablated)
    for part, some in (("binding", bound), ("plain", ~bound)):
        groups = [book for book, it in zip(books_of(task), some, strict=True) if it]
        for key, values in (("added", added), ("added_to_trained", trained)):
            of = bootstrap(values[some], groups=groups, seed=seed)
            results.record(f"summary.{key}.{task}.{part}", of)
            print(f"{task:6} {part:8} {key:17} {of}, {of.n} questions")
""")
md(r"""
Nothing beyond chance, where a binding is needed or elsewhere: the summary adds 0.04 of F1 and 0.08 of accuracy there, and takes 0.04 and 0.03 here. Against the generator that was trained without summaries it is the other way round, $-0.17$ [$-0.46$, 0.29] of F1 where a binding is needed. Eight questions cannot carry more than that.
""")
md("""
**Does the summary give the answer away?** With the summary and no passage at all, and with the passages of the oracle and no summary:
""")
code("""
rows = {}
for generator in ADAPTERS:
    row = []
    for task in asked:
        for system in ((study.NONE, "gold"), (study.ORACLE, "none")):
            row.append(str(found[study.Cell(*system, generator, 0), task].main))
    rows[LABELS[generator]] = row
columns = [f"{task}, {what}" for task in asked for what in ("summary alone", "oracle alone")]
pd.DataFrame.from_dict(rows, orient="index", columns=columns)
""")
md(r"""
The summary alone answers some, the oracle's passages most. The paper compares it with plain retrieval (section 6.1: below it); here the reader has +0.04 [$-0.07$, 0.15] with the summary alone (above), F1 0.23 and 0.24, choices 0.50 and 0.42: neither borne out nor refuted. That choices from the summary alone are twice what lot gives may be because it names who is who, and an option that is a name can be picked by that.
""")
md("""
**Where the evidence stands.** Retrieved passages come in the order of their rank. Open questions at ten passages, by the place of the first one that holds evidence:
""")
code("""
cell = study.Cell("mia_emb", "gold", "mia_gen", 10)
f1 = found[cell, "qa"].scores["f1"]
places = []
for item in asked["qa"]:
    shown = ranks["mia_emb"][item.row.book.document.id, item.query][:10]
    hits = [i for i, passage in enumerate(shown) if passage in item.right]
    places.append(hits[0] if hits else 10)
places = np.array(places)
for name, some in (
    ("first", places == 0), ("second or third", (places > 0) & (places < 3)),
    ("fourth to tenth", (places > 2) & (places < 10)), ("not there", places == 10)
):
    if some.any():
        value = np.mean(np.array(f1)[some])
        results.record(f"place.{name.replace(' ', '_')}.f1", value, n=int(some.sum()))
        print(f"{name:16} F1 {value:.2f}, {some.sum()} questions")
""")
md(r"""
The first passage is the right one for 15 of 20 questions, F1 0.51; for the other five it is 0.04. That suggests that it reads the first passage, and that what looks like robustness to many passages (39 % at three and at ten) is the retriever's work; five questions cannot show it.
""")
md("""
**An average rank hides how far apart systems are.** It would be the same if the first were ahead by a hair or by far, and it changes when a system is added that nobody asked about. Without the four systems of the reader:
""")
code("""
fewer = {label: of for label, of in settings_of.items() if "reader" not in label}
for label, rank in sorted(study.average_ranks(fewer).items(), key=lambda it: it[1]):
    mean = 100 * np.mean(list(settings_of[label].values()))
    before = f"{ranks_of[label]:.1f} of {len(names)}"
    print(f"{label:20} rank {rank:.1f} of {len(fewer)}, {before}; mean score {mean:.1f}")
""")
md("""
**What is a pair worth?** A generator that says *true* to everything gets half of the claims and no pair. Accuracy by claim, pair accuracy, and what pair accuracy would be if both verdicts of a pair were independent:
""")
code("""
for generator in ADAPTERS:
    of = found[study.Cell("mia_emb", "gold", generator, 5), "claim"]
    right = np.array(of.scores["accuracy"])
    true, false = right[::2].mean(), right[1::2].mean()
    results.record(f"claims.{generator}.true", true, n=len(right) // 2)
    results.record(f"claims.{generator}.false", false, n=len(right) // 2)
    pair = np.nanmean(of.scores["pair_accuracy"])
    both = f"pairs {pair:.2f}; if independent {true * false:.2f}"
    print(f"{LABELS[generator]:8} true {true:.2f}, false {false:.2f}, {both}")
""")
md(r"""
Verdicts of a pair are *less* often both right than if they were independent: 0.20 and 0.36. Sixteen of MiA-Gen's twenty pairs get one right and one wrong, four both, none neither; 0.20 is the least that 13 and 11 right ones allow. Each claim fetches its own passages, most of them shared, and the verdict follows them and not the claim. Accuracy over claims would call MiA-Gen 0.60; pairs show that it hardly tells them apart, and lot would get 0.25.
""")
md(r"""
**Like with like?** The paper's +11.16 for its trained generator "under identical inputs" is the mean of 65.61 − 51.93 and 68.11 − 59.48, against generators *without* the summary. With it on both sides Table 2 has 65.61 − 57.79 and 68.11 − 62.01: +7.82 and +6.10.

To sum up: the full system is ahead of plain retrieval because the base was taught the forms and, on open questions, by its retriever. That its generator reads passages in the light of the summary is not shown here by any of the tests: not by what the summary adds, nor by the ablation, nor by the questions that need it. What the attention says is the next notebook's subject, and it does not show it either.
""")
md("""
## Exercises

**1.** Three systems, two settings: A has 0.5 and 0.4, B 0.5 and 0.6, C 0.1 and 0.2. Their average ranks?
""")
code("""
my_ranks = None  # {"A": ..., "B": ..., "C": ...}

three = {"A": {1: 0.5, 2: 0.4}, "B": {1: 0.5, 2: 0.6}, "C": {1: 0.1, 2: 0.2}}
print("right" if my_ranks == study.average_ranks(three) else "not yet")
""")
md("""
<details><summary>Solution</summary>

A and B share the first two ranks in the first setting, 1.5 each; so A 1.75, B 1.25, C 3.

</details>

**2.** Ten questions on one text, a head of 500 tokens (instruction and summary), 800 of passages and question each. How many tokens are read if the head is read once?
""")
code("""
my_tokens = None

heads = [[0] * 500 + [i + 1] * 800 for i in range(10)]
print("right" if my_tokens == study.tokens_once(heads) else "not yet")
""")
md("""
<details><summary>Solution</summary>

$500 + 10 \\cdot 800 = 8{,}500$, in place of 13,000. Summary last would share the instruction alone.

</details>

**3.** Write the prompt of a claim with the summary *behind* the passages, as a string. What must come first so that a decoder reads it once for all questions on a book, and what does the summary behind the passages cost?
""")
code("""
def summary_behind(claim, passages_of, summary):
    return None  # your code


mine = summary_behind("Eve sold a lamp.", chunks, summary)
if mine is None:
    print("not yet")
else:
    spots = [mine.index(part) for part in (chunks[0], chunks[1], summary, "Eve sold a lamp.")]
    print("right" if spots == sorted(spots) else "not yet")
""")
md("""
<details><summary>Solution</summary>

```python
def summary_behind(claim, passages_of, summary):
    before, after = ROLES["claim"].prompts["en"].split(CONTEXT)
    text = before.format() + CONTEXT.format(context=JOIN.join(passages_of))
    return text + SUMMARY["en"].format(summary=summary) + after.format(claim=claim)
```

What is common must come first. Passages are common to prompts on the same question only, the summary to all of a book; so the summary stands in front, and a causal model reads the passages in its light.

</details>
""")
code("""
results.finish()
""")
md("""
**Read next:** notebook [15](15_mcea.ipynb) asks whether the generator's attention shows that it reads passages in the light of the summary.
""")
b.save()
