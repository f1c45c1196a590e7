import sys; sys.path.insert(0,"/work/main/build/drafts")
from nb import Book
b=Book("52_your_own_book"); md,code,varies=b.md,b.code,b.varies
md(r"""
# 52 · Your own book

*What do the four memories make of a book that nobody prepared, and how much of what they say should be believed?*

Papers: all four; their methods as the notebooks of the four parts have them.

**You will** name a file (text, Markdown or EPUB, English or Chinese) and type questions; see what it will cost before anything is paid for; make a mindscape, a signature, a mind graph and a document memory of the book; get answers with the places that they rest on; and find out which of them a small reader has made up.

**You need** nothing but a book; without one, a play is taken. Notebooks [10](10_hierarchical_summaries.ipynb), [22](22_signature_rag.ipynb), [30](30_mindgraph_build.ipynb) and [40](40_memory_extraction.ipynb) teach the methods.

**It takes** TIME for a play; for a novel of 1 MB under five minutes on two cores (section 8 has the measurement).
""")
code('''
scale = "small"  # "full": 1 MB of plays, if no book is named; "gpu": the model reads all of the book
seed = 0
book = ""  # your file: .txt, .md or .epub; by default a play
language = ""  # "en" or "zh"; by default what the file says or looks like
questions = ""  # yours, with | between them; by default some of the kit's on the play
llm = "embedded"  # who reads and answers; "openai:NAME" for any compatible server
dollars = 1.0  # no call is made that could cost more than this, all in all
parts = 12  # pieces of the book that the summary is made of; 0: all there are
blocks = 4  # blocks that the graph is built from; 0: all there are
windows = 4  # windows that the document memory is made of; 0: all there are
''',"parameters")
code('''
from mindscape import results

given = {"scale": scale, "seed": seed, "book": book, "language": language, "questions": questions}
given |= {"llm": llm, "dollars": dollars, "parts": parts, "blocks": blocks, "windows": windows}
results.begin("52_your_own_book", **given)
''')
md(r"""
## 1 · Four memories of seven sentences

By hand, for the question *Who has what the smith sold?*
""")
code('''
TALE = """Ann opened her smithy before dawn. It rained on the mill.
Tom came in and bought a lamp from Ann. Nobody else called on the smith.

Eve lost a wager and sulked. Tom gave Eve what he had bought.
Eve hung it over the mill door."""
mindscape = "Ann the smith sells Tom a lamp, which he gives to Eve at the mill."
sessions = ["Tom buys a lamp from Ann, the smith.", "Eve, who lost a wager, gets Tom's gift."]
signature = sessions  # both parts of the tale are needed; of a long one five sessions are chosen
graph = {"Ann": "the smith", "lamp": "sold by Ann to Tom, then given to Eve"}
memory = {"outline": ["At the smithy", "At the mill"], "core": sessions, "chunks": TALE.split("\\n\\n")}
for name, it in (("mindscape", mindscape), ("signature", signature), ("mind graph", graph)):
    print(f"{name:11}{it}")
for topic, core, chunk in zip(*memory.values(), strict=True):
    print(f"{'memory':11}{topic} | {core} | {chunk[:34]!r}…")
''')
md(r"""
The tale as three files: `own.load` takes a text as it is, marks and all, and an EPUB as the text of its pages. A file is data; nothing in it is run.
""")
code('''
import tempfile
import zipfile
from pathlib import Path

from mindscape.corpora import own

box = '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'
package = """<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>A lamp</dc:title>
<dc:language>en</dc:language></metadata><manifest><item id="a" href="a.xhtml"/></manifest>
<spine><itemref idref="a"/></spine></package>"""
with tempfile.TemporaryDirectory() as folder:
    home = Path(folder)
    (home / "lamp.txt").write_text(TALE, encoding="utf-8")
    (home / "lamp_zh.md").write_text("# 灯\\n\\n铁匠安把灯卖给了汤姆。汤姆把灯送给了伊芙。", encoding="utf-8")
    with zipfile.ZipFile(home / "lamp_epub.epub", "w") as archive:
        archive.writestr("META-INF/container.xml", box)
        archive.writestr("p.opf", package)
        page = "".join(f"<p>{text}</p>" for text in TALE.split("\\n\\n"))
        archive.writestr("a.xhtml", f"<html><body><script>alert(1)</script>{page}</body></html>")
    for document in own.load_folder(home):
        print(f"{document.id:10}{document.language}  {document.meta}  {document.text[-30:]!r}")
''')
md(r"""
## 2 · The book
""")
code('''
from mindscape.corpora import shakespeare
from mindscape.errors import InputError
from mindscape.text import Document

PLAY, LARGE = "macbeth", 1_000_000
if book:
    document = own.load(book, language or None)
elif scale == "full":
    order = [PLAY, *shakespeare.SERIES["histories"]]
    whole = "\\n\\n".join(shakespeare.play(name).text for name in order)
    document = Document("plays", whole.encode()[:LARGE].decode("utf-8", "ignore"), "en")
else:
    document = shakespeare.play(PLAY)
size = len(document.text.encode())
print(f"{document.id}: {size:,} bytes, {document.language}, meta {document.meta}")
''')
code('''
QUESTIONS = [one.strip() for one in questions.split("|") if one.strip()]  # or type yours here
GOLD = {}
if not book and not QUESTIONS:
    some = shakespeare.questions(PLAY)
    GOLD = {one.question: one for one in (some[0], some[3], some[6])}
    QUESTIONS = list(GOLD)
if not QUESTIONS:
    raise InputError(f"book={book!r} has no questions: expected some in `questions`, with | between them")
print("\\n".join(QUESTIONS))
''')
varies('''
import time

from transformers import AutoTokenizer

from mindscape import assets, encoders
from mindscape import llm as models
from mindscape.text import Chunk, split_sentences

SPENT, begun = {}, time.perf_counter()
ledger = models.Ledger(cap_money=dollars)
reader = models.load(llm, ledger=ledger)
encoder = encoders.load("minilm")
tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
passages = split_sentences(document, tokenizer, 120)
texts = [document[chunk].strip() or "-" for chunk in passages]
TOKENS = len(tokenizer(document.text, verbose=False)["input_ids"])
SPENT["loading, cutting"] = time.perf_counter() - begun
results.record("own.bytes", size)
results.record("own.tokens", TOKENS)
print(f"{TOKENS:,} tokens in {len(passages):,} passages of at most 120")
''')
md(r"""
## 3 · What it will cost

A small reader on two cores reads some hundreds of tokens in a second, and a novel of 1 MB has about 240,000. So the reader cannot read all of it within minutes; the encoder, which is a tenth of its size, can. What the reader reads is chosen: for the *mindscape*, pieces of the sentences that TextRank finds central, from all over the book; for the *mind graph* and the *document memory*, what was found for the questions; the *signature* needs no reader, its session summaries are TextRank's. A model behind a server can be given all of it (`parts=0, blocks=0, windows=0`).

With $r$, $w$, $e$ the tokens that are read, written and encoded in a second, a step takes $R/r + W/w + E/e$. By hand for the graph; then for all steps:
""")
varies('''
def taken(do, *given, **options):
    start = time.process_time()
    done = do(*given, **options)
    return time.process_time() - start, done


def said(prompt):
    return [{"role": "user", "content": prompt}]


RATES = {"read": 5000.0, "written": 50.0, "written alone": 50.0}  # a guess: servers differ
if not llm.startswith("openai:"):
    fresh = models.load(llm, cache=False)
    trial = [said(f"{i} {' '.join(texts[i : i + 3])}") for i in range(4)]
    short, one = taken(fresh.chat, trial, max_new_tokens=1)
    RATES["read"] = sum(it.prompt_tokens for it in one) / short
    for name, some in (("written", trial), ("written alone", trial[:1])):
        long, many = taken(fresh.chat, some, max_new_tokens=13)
        tokens = sum(it.completion_tokens - 1 for it in many)
        RATES[name] = max(tokens, 1) / max(long - short * len(some) / len(trial), 0.01)
''')
varies('''
few = texts[:: max(1, len(texts) // 24)][:24]
fast = encoders.load("minilm", cache=False)
spent, _ = taken(fast.encode, few)
RATES["encoded"] = sum(len(tokenizer(text)["input_ids"]) for text in few) / spent
for name, rate in RATES.items():
    results.record(f"own.rate.{name.replace(' ', '_')}", rate, varies="processor time")
    print(f"{rate:7,.0f} tokens {name} in a second of one processor")
''')
code('''
from mindscape.extractive import summarise
from mindscape.mia import summaries
from mindscape.mindgraph.answering import block_size, cut
from mindscape.mom import extraction
from mindscape.roles import ROLES

LANG, WIDTH, ROOM = document.language, 20, 640
SMALL = llm in ("embedded", "smollm2")  # reads as much at a time as it was trained on
parts, blocks, windows = (0, 0, 0) if scale == "gpu" else (parts, blocks, windows)
BLOCK = block_size(reader)
ASKED = ("chunk_summary", "global_summary", "edits", "graph_answer", "memory", "qa")
if LANG not in ROLES["qa"].prompts:
    raise InputError(f"{document.id} is in {LANG!r}: expected one of {', '.join(ROLES['qa'].prompts)}")
FRAME = {role: reader.count_tokens(ROLES[role].prompts[LANG]) for role in ASKED}
WINDOW = extraction.WINDOWS.get(LANG, 600)
''')
code('''
steps = {"passages": (0, 0, 0, TOKENS)}
n = parts or -(-TOKENS // 400)
told = n * (FRAME["chunk_summary"] + 400) + n * 60 + FRAME["global_summary"]
steps["mindscape"] = (n + 1, told, n * 160 + 320, 0)
steps["signature"] = (0, 0, 0, TOKENS // (WIDTH * 120) * 130 + 130)
n = blocks or -(-TOKENS // BLOCK)
by_hand = n * (FRAME["edits"] + BLOCK + 300), n * 300
print(f"graph by hand: {by_hand[0]:,} read, {by_hand[1]:,} written at most")
steps["mind graph"] = (n + 1, by_hand[0] + FRAME["graph_answer"] + 300, by_hand[1] + 96, 0)
n = windows or -(-TOKENS // WINDOW)
steps["document memory"] = (n, n * (FRAME["memory"] + WINDOW), n * extraction.LONGEST.get(LANG, 532), n * 900)
n = 3 * len(QUESTIONS)
steps["answers"] = (n, n * (FRAME["qa"] + ROOM), n * 40, 0)
''')
varies('''
import pandas as pd

plan = pd.DataFrame.from_dict(steps, orient="index", columns=["calls", "read", "written", "encoded"])
typical = 0.5 if SMALL else 1.0  # of the longest reply, about half is written
speed = pd.Series(RATES["written"], plan.index)
speed["mind graph"] = RATES["written alone"]  # a block waits for what the one before it has changed
plan["seconds"] = plan["read"] / RATES["read"] + typical * plan["written"] / speed
plan["seconds"] += plan["encoded"] / RATES["encoded"]
plan.loc["all"] = plan.sum()
for name in ("calls", "read", "written", "encoded"):
    results.record(f"own.plan.{name}", int(plan.loc["all", name]))
results.record("own.plan.seconds", plan.loc["all", "seconds"], varies="processor time")
results.record("own.plan.share_read", plan.loc["all", "read"] / TOKENS)
money = ledger.cost(reader.name, int(plan.loc["all", "read"]), int(plan.loc["all", "written"]))
print("money at most:", "price unknown" if money is None else f"{money:.2f} USD; the cap is {dollars:.2f}")
print(f"{plan.loc['all', 'seconds'] / 60:.1f} minutes of one processor")
plan.round().astype(int)
''')
md(r"""
If that is too much, set `parts`, `blocks` and `windows` lower and begin anew; nothing has been asked yet but four trial prompts.

## 4 · What is found

Passages that share words with a question (BM25) and passages near to it (the encoder), both lists fused by rank: $\sum_i 1/(60 + \text{rank}_i)$. The encoder knows English; in a Chinese book BM25 does the work. By hand on five passages, then the library:
""")
code('''
import numpy as np

first, second = [1, 2, 3, 4, 5], [3, 1, 2, 5, 4]  # ranks of five passages in both lists
by_hand = [round(1 / (60 + a) + 1 / (60 + b), 5) for a, b in zip(first, second, strict=True)]
print("by hand:    ", by_hand)
print("the library:", extraction.rrf([first, second]).round(5).tolist())
''')
varies('''
from mindscape.lexical import BM25

begun = time.perf_counter()
vectors = encoder.encode(texts)
asked = encoder.encode(QUESTIONS, "query")
by_words = BM25(texts, LANG).search(QUESTIONS, len(texts))[0]
FOUND = []
for question, words in zip(asked, by_words, strict=True):
    ranks = np.full((2, len(texts)), np.inf)
    ranks[0, np.argsort(-(vectors @ question), kind="stable")] = np.arange(1, len(texts) + 1)
    ranks[1, words] = np.arange(1, len(words) + 1)
    FOUND.append(np.argsort(-extraction.rrf(ranks), kind="stable")[:12])
SPENT["passages"] = time.perf_counter() - begun
for question, found in zip(QUESTIONS, FOUND, strict=True):
    at = 100 * passages[found[0]].start / len(document.text)
    print(f"{question}\\n   at {at:.0f} %: {' '.join(texts[found[0]].split())[:80]}…")
''')
md(r"""
## 5 · Mindscape and signature

The book in sessions of twenty passages, of each the sentences that TextRank finds central. From these, `parts` pieces go to the reader, which sums up each, and then the summaries:
""")
varies('''
from mindscape.signature import memory as session
from mindscape.signature.rag import Shelf

begun = time.perf_counter()
held = session.build(document, passages, session.by_textrank(500), WIDTH)
SPENT["sessions"] = time.perf_counter() - begun
begun = time.perf_counter()
if parts:
    groups = np.array_split(np.arange(len(held.items)), min(parts, len(held.items)))
    most = 1600 if LANG == "en" else 400  # characters: about 400 tokens
    digest = [summarise("\\n".join(held.summaries[i] for i in some), LANG, most) for some in groups]
    source = Document(f"{document.id} in parts", "\\n".join(digest), LANG)
    ends = np.cumsum([len(text) + 1 for text in digest])
    starts = [0, *ends[:-1].tolist()]
    spans = list(zip(starts, [*ends[:-1].tolist(), len(source.text)], strict=True))
    pieces = [Chunk(source.id, i, *span) for i, span in enumerate(spans)]
else:
    source, pieces = document, split_sentences(document, tokenizer, 400)
MINDSCAPE = summaries.build(reader, source, pieces, tokens=268, read=550 if SMALL else None)
SPENT["mindscape"] = time.perf_counter() - begun
print([len(level) for level in MINDSCAPE.levels], "summaries; the last one:\\n", MINDSCAPE.text)
''')
varies('''
begun = time.perf_counter()
shelf = Shelf(held, encoder)
woken = shelf.wake(QUESTIONS)
SIGNATURES = [tuple(sorted(shelf.choose(one, "coverage"))) for one in woken]
STEERED = shelf.search(QUESTIONS, [shelf.signature(items) for items in SIGNATURES], 12)
SPENT["signature"] = time.perf_counter() - begun
for question, items in zip(QUESTIONS, SIGNATURES, strict=True):
    print(question)
    for i in items:
        print(f"   session {i + 1:3} of {len(held.items)}: {' '.join(held.summaries[i].split())[:78]}…")
''')
md(r"""
## 6 · Mind graph

A graph is made for one question: the first. The reader goes through `blocks` of the book in their order and says what each adds; every note must quote its block, or it is refused.
""")
varies('''
from mindscape import paths
from mindscape.mindgraph import answer as mindgraph
from mindscape.mindgraph.build import build
from mindscape.store import digest as hashed

begun = time.perf_counter()
every = cut(document, reader, BLOCK)
borders = np.array([block.start for block in every])
best = [int(np.searchsorted(borders, passages[i].start, "right")) - 1 for i in FOUND[0]]
chosen = sorted(list(dict.fromkeys(best))[:blocks]) if blocks else range(len(every))
read = [Chunk(document.id, i, every[j].start, every[j].end) for i, j in enumerate(chosen)]
limits = {"budget": 300, "tokens": 300} if SMALL else {}
name = hashed(document.text, QUESTIONS[0], reader.fingerprint, [[it.start, it.end] for it in read])
journal = paths.cache() / "own_book" / f"{name[:16]}.jsonl"
journal.parent.mkdir(parents=True, exist_ok=True)
''')
varies('''
GRAPH = build(document, QUESTIONS[0], reader, journal, blocks=read, **limits)
small = {"rounds": 0, "graph_tokens": 300, "tokens": 96} if SMALL else {}
FROM_GRAPH = mindgraph.answer_from(GRAPH, document, QUESTIONS[0], reader, chunks=len(read), **small)
SPENT["mind graph"] = time.perf_counter() - begun
print(f"{len(GRAPH.nodes)} notes, {len(GRAPH.edges)} ties from {len(read)} of {len(every)} blocks")
for node in list(GRAPH.nodes.values())[:8]:
    print(f"   {node.type:10}{node.content[:44]:46}{' '.join(node.src.split())[:40]!r}")
''')
varies('''
from mindscape import plots
from mindscape.mindgraph.export import MARKS, as_html, layout
from mindscape.mindgraph.journal import read as journal_of

refused = [edit for entry in journal_of(journal).entries for edit in entry.edits if edit.reason]
for edit in refused[:5]:
    print(f"refused in block {edit.block + 1}: {edit.reason} {edit.detail[:70]}")
page = journal.with_suffix(".html")
page.write_text(as_html(GRAPH, document, QUESTIONS[0]), encoding="utf-8")
print("to be opened in a browser:", page.name)
at = dict(zip(GRAPH.nodes, layout(GRAPH), strict=True))
fig, ax = plots.subplots(height=3.2)
for start, end, _ in GRAPH.edges:
    ax.annotate("", at[end], at[start], arrowprops={"arrowstyle": "-|>", "color": plots.GREY})
for node in GRAPH.nodes.values():
    colour = MARKS[node.type][1]
    ax.plot(*at[node.id], plots.MARKERS[colour], color=plots.PALETTE[colour], markersize=9)
    ax.annotate(node.id, at[node.id], fontsize=8, xytext=(6, 4), textcoords="offset points")
ax.set(xticks=[], yticks=[], frame_on=False)
ax.margins(0.2)
alt = f"A graph of {len(GRAPH.nodes)} notes and {len(GRAPH.edges)} ties for the first question."
results.figure(fig, "graph", alt, QUESTIONS[0])
''')
md(r"""
## 7 · Document memory

The windows of 600 tokens in which most was found are read by the reader as MoM has it: an outline, and for each part its core content and its chunk. Found is what is near in any of the three layers:
""")
varies('''
from mindscape.mom.memory import whole
from mindscape.mom.retrieval import Layers

begun = time.perf_counter()
spans = extraction.windows(document, tokenizer, WINDOW if SMALL else 4 * WINDOW)
ends = np.array([span.end for span in spans])
ranked = [passages[i].start for turn in zip(*FOUND, strict=True) for i in turn]
picked = list(dict.fromkeys(int(np.searchsorted(ends, at, "right")) for at in ranked))
picked = sorted(picked[:windows]) if windows else range(len(spans))
read_of = [Document(f"{document.id}:{spans[i].start}", document[spans[i]], LANG) for i in picked]
paths_of = extraction.paths(reader, read_of, 1, temperature=0.0, top_p=1.0)
MEMORIES = [(text, (one.read.memory if one.read else whole(text)))
            for text, (one,) in zip(read_of, paths_of, strict=True)]
unread = sum(one.read is None for (one,) in paths_of)
''')
varies('''
layers = Layers.of_memories(MEMORIES, encoder)
UNITS = layers.search(QUESTIONS, 4, "rrf")[0]
SPENT["document memory"] = time.perf_counter() - begun
print(f"{len(layers.chunks)} parts in {len(read_of)} windows; {unread} replies could not be read")
for _, memory in MEMORIES[:2]:
    for topic, core in list(zip(memory.outline, memory.core, strict=True))[:2]:
        print(f"   {topic[:40]:42}{core[:60]}")
''')
md(r"""
## 8 · Answers, and where they come from

Three memories put at most 640 tokens before the reader, the graph answers in its own way. An answer has a *source* if its words stand in a passage that was shown; where they stand only in what the reader itself wrote before, or nowhere, it has none.
""")
code('''
from mindscape.reader.evaluation import value
from mindscape.side_by_side import Piece, fill
from mindscape.text import Span, mentions

POSITION = {text.id: int(text.id.rpartition(":")[2]) for text, _ in MEMORIES}


def shown(j):
    """What each memory shows for the j-th question: pieces with their places in the book."""
    plain = [Piece(texts[i], Span(passages[i].start, passages[i].end)) for i in FOUND[j]]
    steered = [Piece(texts[i], Span(passages[i].start, passages[i].end)) for i in STEERED[j]]
    told = [Piece(held.summaries[i]) for i in SIGNATURES[j]]
    found = []
    for i in UNITS[j]:
        chunk = layers.chunks[i]
        start = POSITION[chunk.doc_id]
        span = Span(start + chunk.start, start + chunk.end)
        found.append(Piece(document[span].strip(), span))
    pieces = {"mindscape": [Piece(MINDSCAPE.text), *plain], "signature": [*told, *steered]}
    return {name: fill(some, ROOM, reader.count_tokens) for name, some in (pieces | {"memory": found}).items()}


def places(answer, spans):
    """Where in the book the answer's words stand, among the spans that were shown."""
    hits = [(span, mentions(answer, document[span])) for span in spans]
    return [span.start + at[0] for span, at in hits if at]
''')
varies('''
begun = time.perf_counter()
CONTEXTS = [shown(j) for j in range(len(QUESTIONS))]
prompts, at = [], []
for j, question in enumerate(QUESTIONS):
    for name, one in CONTEXTS[j].items():
        prompts.append(said(ROLES["qa"].prompt(LANG, context=one.text, question=question)))
        at.append((j, name))
ANSWERS = {}
for (j, name), reply in zip(at, reader.chat(prompts, max_new_tokens=40), strict=True):
    answer = value("qa", reply.text, reply.finish == "length") or ""
    ANSWERS[j, name] = answer, places(answer, CONTEXTS[j][name].spans) if answer else []
cited = [GRAPH.nodes[name] for name in FROM_GRAPH.cited]
quoted = places(FROM_GRAPH.text, [Span(it.start, it.end) for it in cited]) if FROM_GRAPH.text else []
ANSWERS[0, "graph"] = FROM_GRAPH.text, quoted or [it.start for it in cited]
SPENT["answers"] = time.perf_counter() - begun
rows = []
for (j, name), (answer, where) in sorted(ANSWERS.items()):
    here = ", ".join(f"{100 * place / len(document.text):.1f} %" for place in where[:3]) or "none"
    rows.append([QUESTIONS[j], name, answer or "(no reply that can be read)", here])
pd.set_option("display.max_colwidth", None)
pd.DataFrame(rows, columns=["question", "memory", "answer", "source"]).set_index("question")
''')
varies('''
sourced = [bool(where) for _, where in ANSWERS.values()]
results.record("own.answers.sourced", np.mean(sourced), n=len(sourced), varies="rounding")
print(f"{sum(sourced)} of {len(sourced)} answers have a source")
if GOLD:
    from mindscape.metrics import token_f1

    marks = {}
    for (j, name), (answer, where) in ANSWERS.items():
        one = GOLD[QUESTIONS[j]]
        mark = token_f1(answer, [one.answer, *one.accepted], LANG)
        marks.setdefault(bool(where), []).append(mark)
        print(f"{name:10} F1 {mark:.2f}  {answer[:40]:42} gold: {one.answer}")
    for source, values in marks.items():
        name = "with" if source else "without"
        results.record(f"own.f1.{name}_source", np.mean(values), n=len(values), varies="rounding")
        print(f"F1 {name} a source: {np.mean(values):.2f} (n = {len(values)})")
for j, name in [(0, "mindscape"), (0, "signature")]:
    answer, where = ANSWERS[j, name]
    for place in where[:1]:
        print(f"…{' '.join(document.text[max(0, place - 90) : place + 90].split())}…")
''')
md("RESULTS_ANSWERS")  # what the reader got right on the play; whether a source tells right from wrong (it need not: a name may stand in a passage and be the wrong one)
varies('''
took = pd.DataFrame({"seconds, by the clock": SPENT}).round(1)
took.loc["all"] = took.sum()
for name, seconds in took["seconds, by the clock"].items():
    results.record(f"own.seconds.{name.replace(', ', '_').replace(' ', '_')}", seconds, varies="the clock")
print(f"a book of {size / 1e6:.2f} MB: {took.loc['all'].item() / 60:.1f} minutes; {ledger}")
print(f"the reader read {ledger.prompt_tokens:,} tokens, planned were {plan.loc['all', 'read']:,.0f}")
print("what was in the cache from an earlier run took no time, and is not among these tokens")
took
''')
md("RESULTS_TIME")  # for 1 MB (scale="full", empty cache, two cores): the minutes, to be stated here and in the head; where the estimate was off
md(r"""
## The paper says / we got / why they differ

The four papers run these methods with larger models and read all of the text. What is different here, in one table:
""")
code('''
SORT = " of TextRank's sentences" if parts else ", all there are"
rows = [
    ["summary", "GPT-4o reads all chunks", f"{llm}: {len(pieces)} pieces{SORT}"],
    ["session", "20 chunks, summed up by a model", f"{WIDTH} passages, TextRank"],
    ["signature", "5 of what 50 chunks wake", f"{max(map(len, SIGNATURES))} of what 50 chunks wake"],
    ["block of a graph", "8,192 tokens, all of them", f"{BLOCK} tokens, {len(read)} of {len(every)}"],
    ["document memory", "a 3B MemReader, several paths", f"{llm}, {len(read_of)} windows, one path"],
]
pd.DataFrame(rows, columns=["", "the papers", "here"]).set_index("")
''')
md("RESULTS_PAPER")  # with parts=blocks=windows=0 and a server's model the second column comes near the first; no number of the papers can be weighed on one book
md(r"""
## Reading critically

**Does it know what it does not know?** Questions that no book answers:
""")
varies('''
NONSENSE = {"en": ["What is the telephone number of the spaceship?", "Which brand of computer does the hero own?"]}
NONSENSE["zh"] = ["飞船的电话号码是多少？", "主人公用的是什么牌子的电脑？"]
begun = time.perf_counter()
made_up = []
for question in NONSENSE[LANG]:
    context = fill([Piece(MINDSCAPE.text), *[Piece(texts[i]) for i in FOUND[0]]], ROOM, reader.count_tokens)
    prompt = ROLES["qa"].prompt(LANG, context=context.text, question=question)
    reply = reader.chat(said(prompt), max_new_tokens=40).text.strip()
    where = mentions(reply, document.text) if reply else []
    made_up.append(reply)
    print(f"{question} -> {reply[:60]!r}, stands in the book {len(where)} times")
told = ("not", "no ", "unknown", "cannot", "没有", "不", "未")
refused = [any(word in reply.lower() for word in told) for reply in made_up]
results.record("own.nonsense.refused", np.mean(refused), n=len(refused), varies="rounding")
print(f"{sum(refused)} of {len(refused)} refused; {time.perf_counter() - begun:.0f} s")
''')
md("RESULTS_NONSENSE")  # the reader was never taught to refuse; a source is no proof either, since any name of the book has places
md(r"""
**How much of the summary is in the book?** Its names, and its words, looked up in the text. What is not there was made up, or is the reader's own way of saying it:
""")
varies('''
import re

from mindscape.lexical import terms


def names_of(text):
    """Words with a capital that do not begin a sentence."""
    return set(re.findall(r"(?<=[a-z,;] )[A-Z][a-z]+", text))


known = set(terms(document.text, LANG))
written = {"mindscape": MINDSCAPE.text, "pieces": "\\n".join(MINDSCAPE.levels[0])}
written["cores"] = "\\n".join(core for _, memory in MEMORIES for core in memory.core)
written["session"] = held.summaries[0]
for name, text in written.items():
    words = terms(text, LANG)
    strange = sorted({word for word in words if word not in known})
    share = np.mean([word in known for word in words]) if words else 0.0
    foreign = sorted(one for one in names_of(text) if not mentions(one, document.text))
    results.record(f"own.words_known.{name}", share, n=len(words), varies="rounding")
    results.record(f"own.foreign_names.{name}", len(foreign), varies="rounding")
    print(f"{name:10} {share:.0%} of {len(words)} words are the book's, not: {', '.join(strange[:6])}")
    print(f"{'':10} names that the book has not: {', '.join(foreign[:8]) or 'none'}")
''')
md("RESULTS_MADE_UP")  # the reader was trained on novels of the storyworld and takes its habits (names, trades) to other books; TextRank's sessions cannot make up anything
md(r"""
**Whose choice was it?** The graph and the document memory have read what BM25 and the encoder found. What these do not find, no memory built on it can know. How much of the book did the reader see at all, and how near to a found passage is the rest?
""")
code('''
seen = np.zeros(len(document.text), bool)
for place in (*read, *(spans[i] for i in picked)):
    seen[place.start : place.end] = True
share = float(seen.mean())
results.record("own.share_seen", share, varies="which passages are found")
fig, ax = plots.subplots(height=1.9)
ax.imshow(seen[None, :: max(1, len(seen) // 2000)], aspect="auto", cmap="Greys", vmax=3, extent=(0, 100, 0, 1))
for j, found in enumerate(FOUND):
    colour = list(plots.PALETTE)[j % len(plots.PALETTE)]
    look = {"color": plots.PALETTE[colour], "marker": plots.MARKERS[colour], "linestyle": ""}
    at = [100 * passages[i].start / len(document.text) for i in found]
    ax.plot(at, [0.5] * len(at), markersize=5, label=f"found, question {j + 1}", **look)
ax.set(yticks=[], xlabel="place in the book, %")
fig.legend(fontsize=7, ncols=3, loc="outside upper center")
alt = f"The reader itself read {share:.1%} of the book; marks show the passages found."
results.figure(fig, "seen", alt, "What the reader has seen of the book")
''')
md("RESULTS_SEEN")
md(r"""
**Chinese.** The prompts, the splitters and BM25 know Chinese. The embedded reader does not: its adapter saw none, and its tokenizer makes about two tokens of a character. The encoder reads single characters that it hardly knows. So for a Chinese book name another model; what can be counted here is the price:
""")
code('''
for text in ("铁匠安把灯卖给了汤姆。汤姆把灯送给了伊芙。", "Ann the smith sold Tom a lamp. Tom gave Eve the lamp."):
    count = len(tokenizer(text)["input_ids"])
    print(f"{text[:12]}…: {len(text)} characters, {count} tokens, {count / len(text):.2f} a character")
''')
md(r'''
## Exercises

**1.** A book has 300,000 tokens, a model reads 450 in a second. How many minutes for reading all of it once?
''')
code('''
my_minutes = None

expected = 300_000 / 450 / 60
print("right" if my_minutes is not None and abs(my_minutes - expected) < 0.2 else "not yet")
''')
md(r'''
<details><summary>Solution</summary>

$300{,}000 / 450 = 667$ seconds, so 11.1 minutes; and MindGraph reads it once for *each* question.

</details>

**2.** A passage is third by words and first by meaning, another second and second. Which is ahead by the fusion of section 4? `"first"`, `"second"`, or `"equal"`?
''')
code('''
my_ahead = None

one, other = extraction.rrf([[3, 2], [1, 2]])
expected = "first" if one > other else "second" if other > one else "equal"
print("right" if my_ahead == expected else "not yet")
''')
md(r'''
<details><summary>Solution</summary>

`"first"`: $1/63 + 1/61 = 0.03227$ and $2/62 = 0.03226$. The reciprocal is convex, so of equal sums of ranks the more unequal pair is ahead, by a hair.

</details>

**3.** Write a stricter notion of a source: the answer's words *and* a word of the question (one that BM25 compares) in the same passage.
''')
code('''
def strict(answer, question, passage):
    return None  # your code: True or False


tests = [
    (("the lamp", "What did Tom buy?", "Tom came in and bought the lamp."), True),
    (("the lamp", "What did Tom buy?", "The lamp hung over the door."), False),
    (("a boat", "What did Tom buy?", "Tom came in and bought the lamp."), False),
]
print("right" if all(strict(*given) is expected for given, expected in tests) else "not yet")
''')
md(r'''
<details><summary>Solution</summary>

```python
def strict(answer, question, passage):
    shared = set(terms(question)) & set(terms(passage))
    return bool(mentions(answer, passage)) and bool(shared)
```

Try it on `ANSWERS`: how many sources are left?

</details>
''')
code('''
results.finish()
''')
md(r'''
**Read next:** notebook [50](50_side_by_side.ipynb) has the same memories on books of which everything is known.
''')
b.save()
