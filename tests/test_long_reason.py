"""LongReason's recipe on small invented files: floors, exclusions, two passes, numbers wanted, a run that was killed; and the
annotator of breadth and depth: prompts, agreement with gold against sums by hand."""

import json
import math
import re
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Stub

import storyworld
from benchmarks import Item
from mindscape import trail
from mindscape.llm import LanguageModel
from mindscape.mindgraph import long_reason
from mindscape.mindgraph.long_reason import SOURCES, Labelled, Source, Unlabelled, agreement, annotate, gpt_tokens, slots
from mindscape.question import BREADTHS, DEPTHS
from mindscape.text import Document, Span

WANTED = ("longbench-v2", 3, 40, "tokens"), ("narrativeqa-hub", 2, 20, "words"), ("loogle", 2, 40, "tokens")
SMALL = tuple(Source(*wanted) for wanted in WANTED)
LONG = "The wind rang the bell, and nobody else was in the house on that night in March. "
# What the annotator says of a question, in the first and in the second pass.
SAYS = {
    "Who rang": [("global", "global-synthesis")] * 2,
    "How many": [("partial", "set-aggregation")] * 2,
    "When did": [("global", "multi-hop")] * 2,
    "Where is": [("global", "global-synthesis"), ("multi-sparse", "global-synthesis")],
    "Why did": [("global", "global-synthesis"), None],
}


def annotator(prompt, tools, schema):
    content = prompt[0]["content"]
    (words,) = [words for words in SAYS if f"Question: {words}" in content]
    down = content.index("- global:") < content.index("- local:")
    said = SAYS[words][down]
    return {"reason": "so", "breadth": said[0], "depth": said[1]} if said else "I do not know"


@pytest.fixture
def folder(tmp_path):
    """Three benchmarks; questions stand five times on texts that are long enough, and on some that are not."""
    choice = {"difficulty": "hard", "length": "long", "domain": "Detective", "answer": "D"}
    choice |= {"choice_A": "the cook", "choice_B": "the maid", "choice_C": "the cat", "choice_D": "the wind"}
    rows = []
    for i, words in product(range(2), SAYS):
        own = {"_id": f"{words[:5].strip()}{i}", "question": f"{words} bell {i}?", "context": LONG * 3 + str(i)}
        rows.append(choice | own)
    out = {"short": {"context": "Too short."}, "code": {"domain": "Code Repository Understanding"}}
    out |= {"sum": {"question": "Which summary is right?"}}
    rows += [{**rows[0], "_id": name, **change} for name, change in out.items()]
    (tmp_path / "longbench-v2").mkdir()
    (tmp_path / "longbench-v2" / "data.json").write_text(json.dumps(rows))
    (tmp_path / "narrativeqa-hub").mkdir()
    stories, empty = [], {"kind": "gutenberg", "start": "", "end": "", "summary": {}}
    for words, (name, n) in product(("Who rang", "When did"), (("a", 2), ("b", 2), ("c", 1))):
        question = {"question": {"text": f"{words} the bell in {name * 40}?"}, "answers": [{"text": "the wind"}]}
        stories.append({"document": {"id": name * 40, "text": LONG * n, **empty}, **question})
    (tmp_path / "narrativeqa-hub" / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in stories))
    (tmp_path / "loogle").mkdir()
    tasks = ("longdep_qa", 3, "How many"), ("shortdep_cloze", 3, "Who rang"), ("shortdep_qa", 1, "Who rang")
    for task, n, words in tasks:
        pairs = [{"Q": f"{words} bells?", "A": "one", "S": "", "type": "x"}]
        row = {"input": LONG * n + task, "title": task, "qa_pairs": repr(pairs), "output": "none"}
        (tmp_path / "loogle" / f"{task}.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path


def run(folder, stub, path=None, **options):
    options = {"sources": SMALL, **options}
    return long_reason.construct(LanguageModel(stub), path or folder / "run.jsonl", folder, **options)


def test_the_recipe(folder):
    stub = Stub(annotator)
    estimate = long_reason.estimate(LanguageModel(stub), folder, sources=SMALL)
    assert not stub.requests
    built = run(folder, stub)
    longbench, stories, loogle = (built.ends[source.name] for source in SMALL)
    ends = {"kept": 3, "not needed": 1, "not demanding": 2, "unstable": 2, "unreadable": 2}
    assert longbench == ends | {"code": 1, "summary": 1, "too short": 1}
    assert stories == {"kept": 2, "not demanding": 2, "too short": 2}
    assert loogle == {"kept": 1, "cloze": 1, "too short": 1}
    assert [ends.total() for ends in built.ends.values()] == [13, 6, 3]
    assert Counter(item.source for item in built.kept) == {"longbench-v2": 3, "narrativeqa-hub": 2, "loogle": 1}
    assert all((item.breadth, item.depth) in (SAYS["Who rang"][0], SAYS["How many"][0]) for item in built.kept)
    assert len(stub.requests) == estimate.calls == 2 * (10 + 4 + 1)  # here all that is long enough is judged
    about = long_reason.statistics(built.kept)
    assert (about.items, about.choices, about.free) == (6, 3, 3) and about.least <= about.median <= about.most
    assert "longbench-v2: 3 kept of 13 (code 1, summary 1, too short 1, unreadable 2" in str(built)


def test_what_was_judged_is_in_the_file_and_nothing_of_the_texts(folder):
    run(folder, Stub(annotator))
    _, rows = trail.read_rows(folder / "run.jsonl")
    ends = {"": 7, "not demanding": 4, "unstable": 2, "unreadable": 2}
    assert len(rows) == 15 and Counter(row["reason"] for row in rows) == ends
    held = (folder / "run.jsonl").read_text()
    assert "bell" not in held and "wind" not in held and "reason" in held


@pytest.mark.parametrize("dies", [1, 7, 20, 25, 30])
def test_a_run_that_was_killed_goes_on(folder, dies):
    """Batches are ten, four and one items here, a pass after the other: a batch that was not finished is judged anew."""
    once = run(folder, Stub(annotator), folder / "once.jsonl")
    first, second = Stub(annotator, dies=dies), Stub(annotator)
    with pytest.raises(KeyboardInterrupt):
        run(folder, first)
    with (folder / "run.jsonl").open("ab") as file:
        file.write(b'{"source": "loog')
    again = run(folder, second)
    finished = 20 if 20 < dies <= 28 else 28 if dies > 28 else 0
    assert again == once and len(second.requests) == 30 - finished
    third = Stub(annotator)
    assert run(folder, third) == once and not third.requests
    assert (folder / "run.jsonl").read_bytes() == (folder / "once.jsonl").read_bytes()


def test_the_order_is_one_of_chance_and_fixed(folder):
    runs = [run(folder, Stub(annotator), folder / f"{i}.jsonl", seed=i % 3) for i in range(4)]
    orders = [[item.id for item in built.kept] for built in runs]
    assert orders[0] == orders[3] and len({tuple(order) for order in orders}) > 1


def test_a_source_that_has_its_number_asks_no_more(folder):
    stub = Stub(lambda *_: {"reason": "so", "breadth": "global", "depth": "set-aggregation"})
    wanted = tuple(replace(source, wanted=1) for source in SMALL)
    many = json.loads((folder / "longbench-v2" / "data.json").read_text())
    rows = [{**many[0], "_id": str(i), "question": f"Who {i}?"} for i in range(40)]
    (folder / "longbench-v2" / "data.json").write_text(json.dumps(rows))
    built = run(folder, stub, sources=wanted[:1])
    assert built.ends["longbench-v2"] == {"kept": 1, "not needed": 39} and len(stub.requests) == 32  # a batch, twice


def test_kept_items_are_read_again_with_their_texts(folder):
    built = run(folder, Stub(annotator))
    pieces = list(long_reason.items(built.kept, folder))
    texts = {piece.id: piece for piece in pieces if isinstance(piece, Document)}
    items = [piece for piece in pieces if isinstance(piece, Item)]
    assert {(item.id, item.doc_id) for item in items} == {(item.id, item.doc_id) for item in built.kept}
    for item in built.kept:
        assert (gpt_tokens(texts[item.doc_id].text), len(texts[item.doc_id].text.split())) == (item.tokens, item.words)
    for i, piece in enumerate(pieces):
        assert isinstance(piece, Document) or piece.doc_id in {document.id for document in pieces[:i]}
    gone = replace(built.kept[0], id="gone")
    refused(lambda: list(long_reason.items([gone], folder)), "the files hold no item gone")


def test_the_paper_s_numbers():
    assert sum(source.wanted for source in SOURCES) == 200
    figure = long_reason.FIGURE_2
    assert sum(map(len, figure.values())) == len(set().union(*figure.values()))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_estimated_tokens_grow_with_the_text(text):
    assert len(text) / 4 <= gpt_tokens(text) <= len(text) + 1 and gpt_tokens(text + "x" * 4) == gpt_tokens(text) + 1


@pytest.mark.parametrize(
    "change, tokens, reason",
    [
        ({}, 79_999, "too short"), ({}, 80_000, ""), ({"part": "shortdep_cloze"}, 90_000, "cloze"),
        ({"kind": "Code Repository Understanding/hard"}, 90_000, "code"), ({"kind": "Decoded letters/hard"}, 90_000, ""),
        ({"question": "Summarise the first chapter."}, 90_000, "summary"), ({"question": "请总结全文。"}, 90_000, "summary"),
        ({"part": "longdep_summarization"}, 90_000, "summary"), ({"question": "Who is best summarised so?"}, 90_000, "summary"),
        ({"question": "Which option best summarizes the novel?"}, 90_000, "summary"),
    ],
)  # fmt: skip
def test_exclusions(change, tokens, reason):
    item = replace(Item("1", "d", "Who did it?", ("Ivo",)), **change)
    assert long_reason.excluded(item, tokens, tokens, SOURCES[0]) == reason
    assert long_reason.excluded(item, 10, 200_000, SOURCES[1]) == reason.replace("too short", "")


def test_bad_files_are_refused_and_left_alone(folder):
    path = folder / "run.jsonl"
    run(folder, Stub(annotator))
    lines = path.read_bytes().splitlines(keepends=True)
    refused(lambda: run(folder, Stub(annotator, name="another")), "holds another run: llm is")
    refused(lambda: run(folder, Stub(annotator), seed=1), "seed is 0, expected 1")
    refused(lambda: run(folder, Stub(annotator), sources=SMALL[:1]), "sources is")
    for content, message in [
        (lines[0] + b"{}\n", "line 2: expected an item"),
        (lines[0] + lines[1].replace(b'"reason": "', b'"reason": "mood '), "line 2.*mood"),
    ]:
        path.write_bytes(content)
        refused(lambda: run(folder, Stub(annotator)), message)
        assert path.read_bytes() == content

    refused(lambda: long_reason.statistics([]), "at least one")
    missing = {"sources": (Source("qmsum", 1, 1, "words"),)}
    refused(lambda: run(folder, Stub(annotator), folder / "new.jsonl", **missing), "folder of benchmarks|expected|publish")


# ---------------------------------------------------------------- the annotator


def label(breadth="global", depth="global-synthesis"):
    return long_reason.Label(reason="", breadth=breadth, depth=depth)


def test_every_level_is_told_once_and_in_the_order_of_the_scale(language):
    question = Unlabelled("Who?", "Ann", 1200, language=language)
    up, down = slots(question), slots(question, reverse=True)
    for name, levels in (("breadths", BREADTHS), ("depths", DEPTHS)):
        named = re.findall(r"^- ([\w-]+)[:：]", up[name], re.MULTILINE)
        assert tuple(named) == levels and up[name].splitlines() == down[name].splitlines()[::-1]
    prompt = long_reason.RUBRIC.prompt(language, **up)
    assert "1,200" in prompt and "Who?" in prompt and not re.search(r"\{\w+\}", prompt.replace('{"reason"', ""))
    refused(lambda: slots(Unlabelled("Qui?", "Anne", 3, language="fr")), "expected one of en, zh")


def test_evidence_is_shown_with_its_place_and_not_too_much_of_it():
    document = Document("note", "".join(f"Sentence {i:03}. " for i in range(100)))
    places = [Span(14 * i, 14 * i + 13) for i in reversed(range(100))]
    shown = slots(long_reason.shown_to_annotator(document, "Who?", "Ann", places))["evidence"].splitlines()
    assert (shown[0], shown[4]) == ("- 0%: Sentence 000.", "- 50%: Sentence 050.")
    assert len(shown) == long_reason.SHOWN + 1
    assert shown[-1] == "(92 more pieces are not shown)"
    assert slots(long_reason.shown_to_annotator(document, "Who?", "Ann"))["evidence"] == "(not known)"


def test_two_passes_and_what_a_model_that_takes_the_first_level_is_worth():
    """An annotator that says whatever is named first is never stable."""

    def first(prompt, *_):
        content = prompt[0]["content"]
        breadth, depth = (re.search(rf"{prefix}\n- ([\w-]+):", content, re.DOTALL)[1] for prefix in ("", "Depth.*?"))
        return {"reason": "it is the first", "breadth": breadth, "depth": depth}

    stub = Stub(first)
    labelled = annotate([Unlabelled("Who?", "Ann", 9), Unlabelled("Where?", "here", 9)], LanguageModel(stub))
    assert len(stub.requests) == 4 and [row.stable for row in labelled] == [False, False]
    assert labelled[0].passes[0].breadth == "local" and labelled[0].passes[1].breadth == "global"
    steady = annotate([Unlabelled("Who?", "Ann", 9)], LanguageModel(Stub(lambda *_: json.dumps(label().model_dump()))))
    assert steady[0].stable and steady[0].label == label()
    unread = annotate([Unlabelled("Who?", "Ann", 9)], LanguageModel(Stub(lambda *_: "global, I should say")))
    assert unread[0].passes == (None, None) and not unread[0].stable and unread[0].label is None
    assert annotate([], LanguageModel(Stub(None))) == []
    assert Labelled((label(), label(depth="lookup"))).stable is False


levels = ("low", "middle", "high")
pairs = st.lists(st.tuples(st.sampled_from(levels), st.sampled_from([*levels, None])), min_size=1, max_size=40)


@given(pairs)
def test_agreement_by_hand(both):
    gold, labels = zip(*both, strict=True)
    agreed = agreement(gold, labels, levels)
    assert agreed.accuracy == sum(a == b for a, b in both) / len(both) and agreed.n == agreed.confusion.sum() == len(both)
    labelled = [(levels.index(a), levels.index(b)) for a, b in both if b is not None]

    def kappa(cost):
        seen = np.mean([cost(a, b) for a, b in labelled]) if labelled else math.nan
        chance = np.mean([cost(a, b) for a, _ in labelled for _, b in labelled]) if labelled else 0
        return 1 - seen / chance if chance else math.nan

    assert agreed.kappa == pytest.approx(kappa(lambda a, b: a != b), nan_ok=True)
    assert agreed.weighted == pytest.approx(kappa(lambda a, b: abs(a - b)), nan_ok=True)
    assert agreement(gold, gold, levels).accuracy == 1


def test_what_stability_buys():
    """Right where it is sure, a coin where it is not: the filter leaves the sure half."""
    hard, easy = label(), label("local", "lookup")
    gold = [("global", "global-synthesis")] * 4 + [("local", "lookup")] * 4
    said = [(hard, hard), (hard, hard), (easy, hard), (hard, easy)]
    said += [(easy, easy), (easy, easy), (hard, easy), (easy, None)]
    worth = long_reason.measured(gold, [Labelled(passes) for passes in said])
    assert worth.breadth.accuracy == 6 / 8 == worth.depth.accuracy
    assert worth.stable == 4 / 8 and worth.stable_breadth.accuracy == worth.stable_depth.accuracy == 1
    assert worth.kept == (2, 0, 2)
    none = long_reason.measured(gold[:1], [Labelled((None, hard))])
    assert none.breadth.right == (True,) and none.stable == 0 and math.isnan(none.stable_breadth.accuracy)


def test_the_filter_and_the_plane():
    kept = {(b, d) for b in BREADTHS for d in DEPTHS if long_reason.demanding(b, d)}
    assert kept == {(b, d) for b in BREADTHS[3:] for d in DEPTHS[2:]}
    book = storyworld.book(1003, tokens=15_000)
    table = long_reason.plane([(question.breadth, question.depth) for question in book.questions])
    assert table.shape == (5, 4) and table.sum() == len(book.questions) and table[0, 0] > 0 < table[4, 3]


def test_bad_input():
    for gold, labels in ((["low"], []), (["none"], ["low"]), (["low"], ["none"])):
        refused(lambda gold=gold, labels=labels: agreement(gold, labels, levels), "expected")
    refused(lambda: long_reason.measured([("local", "lookup")], []), "expected")
    refused(lambda: long_reason.plane([("local", "local")]), "expected")
