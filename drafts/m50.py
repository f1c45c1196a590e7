import sys; sys.path.insert(0,"build/drafts")
from nb import Book
b=Book("50_side_by_side"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 50 · Side by side

*Four papers, four memories. Which one for which question, and what does each cost?*

Papers: MiA-RAG, MiA-Signature, MindGraph, MoM; their baselines as [12](12_mia_emb_training.ipynb), [32](32_long_reason.ipynb) and [42](42_three_layer_retrieval.ipynb) have them.

**You will** put fifteen memories before the same reader, on the same questions, with room for the same number of tokens; see for which kind of question each is good; count what it costs to make one and to ask it; set beside them the methods that answer in a way of their own; and find out how many of the differences are left when it is said how often one has looked.

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
The first question is answered by a sentence that shares its words. The second one names nobody: who "the smith" is, what was sold and where it went stand in three sentences, of which none has both ends. The summary has it in fifteen words less than the text, because whoever wrote it had read all of it.

## 2 · Fifteen memories

The same with tokens: 640 of them, which with question and options is what the kit's reader was trained on. Everything that is compared puts its pieces into the same prompt and is read by the same model; what differs is the context alone.
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
            given = of_replies.answers("choice", beside.prompts("choice", text, questions, shown))
            right = beside.marks("choice", text, questions, given)
            for one, context, mark in zip(questions, shown, right, strict=True):
                row = {"memory": memory, "text": text.document.id, "id": one.id}
                row |= {"kind": beside.kind(one), "right": mark, "tokens": context.tokens}
                row |= {"recall": context.recall(text, one), "says": float(context.says(one))}
                rows.append(row)
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
Over all questions says little, since what is good for one kind is useless for another:
""")
code('''
acc = table.pivot_table(index="memory", columns="kind", values="right").loc[MEMORIES, KINDS]
for memory in MEMORIES:
    for kind in KINDS:
        keep(f"acc.{memory}.{kind.replace(' ', '_')}", scores(memory, kind))
own = acc.drop(index=["none", "evidence"])
fig, ax = plots.subplots(height=5.6) if "plots" in globals() else (None, None)
''')
