"""LongReason's recipe on small invented files: floors, exclusions, two passes, numbers wanted, a run that was killed."""

import json
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Stub

from benchmarks import Item
from mindscape import trail
from mindscape.errors import InputError
from mindscape.llm import LanguageModel
from mindscape.mindgraph import long_reason
from mindscape.mindgraph.long_reason import FIGURE_2, SOURCES, Source, excluded, gpt_tokens, statistics
from mindscape.text import Document

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
    rows += [
        {**rows[0], "_id": "short", "context": "Too short."},
        {**rows[0], "_id": "code", "domain": "Code Repository Understanding"},
        {**rows[0], "_id": "sum", "question": "Which summary is right?"},
    ]
    (tmp_path / "longbench-v2").mkdir()
    (tmp_path / "longbench-v2" / "data.json").write_text(json.dumps(rows))
    (tmp_path / "narrativeqa-hub").mkdir()
    stories, empty = [], {"kind": "gutenberg", "start": "", "end": "", "summary": {}}
    for words, (name, n) in product(("Who rang", "When did"), (("a", 2), ("b", 2), ("c", 1))):
        asked = {"question": {"text": f"{words} the bell in {name * 40}?"}, "answers": [{"text": "the wind"}]}
        stories.append({"document": {"id": name * 40, "text": LONG * n, **empty}, **asked})
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
    told = run(folder, stub)
    longbench, stories, loogle = (told.ends[source.name] for source in SMALL)
    ends = {"kept": 3, "not needed": 1, "not demanding": 2, "unstable": 2, "unreadable": 2}
    assert longbench == ends | {"code": 1, "summary": 1, "too short": 1}
    assert stories == {"kept": 2, "not demanding": 2, "too short": 2}
    assert loogle == {"kept": 1, "cloze": 1, "too short": 1}
    assert [ends.total() for ends in told.ends.values()] == [13, 6, 3]
    assert Counter(one.source for one in told.kept) == {"longbench-v2": 3, "narrativeqa-hub": 2, "loogle": 1}
    assert all((one.breadth, one.depth) in (SAYS["Who rang"][0], SAYS["How many"][0]) for one in told.kept)
    assert len(stub.asked) == 2 * (10 + 4 + 1)
    about = statistics(told.kept)
    assert (about.items, about.choices, about.free) == (6, 3, 3) and about.least <= about.median <= about.most
    assert "longbench-v2: 3 kept of 13 (code 1, summary 1, too short 1, unreadable 2" in str(told)


def test_what_it_takes_is_estimated_before_a_call(folder):
    stub = Stub(annotator)
    told = long_reason.estimate(LanguageModel(stub), folder, sources=SMALL)
    assert not stub.asked and told.calls == 30
    run(folder, stub)
    assert len(stub.asked) == told.calls  # here all that is long enough is judged


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
    assert again == once and len(second.asked) == 30 - finished
    third = Stub(annotator)
    assert run(folder, third) == once and not third.asked
    assert (folder / "run.jsonl").read_bytes() == (folder / "once.jsonl").read_bytes()


def test_the_order_is_one_of_chance_and_fixed(folder):
    runs = [run(folder, Stub(annotator), folder / f"{i}.jsonl", seed=i % 3) for i in range(4)]
    orders = [[one.id for one in told.kept] for told in runs]
    assert orders[0] == orders[3] and len({tuple(order) for order in orders}) > 1


def test_a_source_that_has_its_number_asks_no_more(folder):
    stub = Stub(lambda *_: {"reason": "so", "breadth": "global", "depth": "set-aggregation"})
    wanted = tuple(replace(source, wanted=1) for source in SMALL)
    many = json.loads((folder / "longbench-v2" / "data.json").read_text())
    rows = [{**many[0], "_id": str(i), "question": f"Who {i}?"} for i in range(40)]
    (folder / "longbench-v2" / "data.json").write_text(json.dumps(rows))
    told = run(folder, stub, sources=wanted[:1])
    assert told.ends["longbench-v2"] == {"kept": 1, "not needed": 39} and len(stub.asked) == 32  # a batch, twice


def test_kept_items_are_read_again_with_their_texts(folder):
    told = run(folder, Stub(annotator))
    pieces = list(long_reason.items(told.kept, folder))
    texts = {piece.id: piece for piece in pieces if isinstance(piece, Document)}
    found = [piece for piece in pieces if isinstance(piece, Item)]
    assert {(one.id, one.doc_id) for one in found} == {(one.id, one.doc_id) for one in told.kept}
    for one in told.kept:
        assert (gpt_tokens(texts[one.doc_id].text), len(texts[one.doc_id].text.split())) == (one.tokens, one.words)
    for i, piece in enumerate(pieces):
        assert isinstance(piece, Document) or piece.doc_id in {it.id for it in pieces[:i]}
    gone = replace(told.kept[0], id="gone")
    refused(lambda: list(long_reason.items([gone], folder)), "the files hold no item gone")


def test_the_paper_s_numbers():
    assert [(source.name, source.wanted, source.floor, source.unit) for source in SOURCES] == [
        ("longbench-v2", 62, 80_000, "tokens"), ("narrativeqa", 118, 120_000, "words"), ("loogle", 20, 50_000, "tokens"),
    ]  # fmt: skip
    assert sum(source.wanted for source in SOURCES) == 200
    assert sum(map(len, FIGURE_2.values())) == len(set().union(*FIGURE_2.values()))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_estimated_tokens_grow_with_the_text(text):
    assert len(text) / 4 <= gpt_tokens(text) <= len(text) + 1 and gpt_tokens(text + "x" * 4) == gpt_tokens(text) + 1


@pytest.mark.parametrize(
    "change, tokens, reason",
    [
        ({}, 79_999, "too short"),
        ({}, 80_000, ""),
        ({"kind": "Code Repository Understanding/hard"}, 90_000, "code"),
        ({"kind": "Decoded letters/hard"}, 90_000, ""),
        ({"question": "Summarise the first chapter."}, 90_000, "summary"),
        ({"question": "请总结全文。"}, 90_000, "summary"),
        ({"part": "longdep_summarization"}, 90_000, "summary"),
        ({"part": "shortdep_cloze"}, 90_000, "cloze"),
    ],
)
def test_exclusions(change, tokens, reason):
    item = replace(Item("1", "d", "Who did it?", ("Ivo",)), **change)
    assert excluded(item, tokens, tokens, SOURCES[0]) == reason
    assert excluded(item, 10, 200_000, SOURCES[1]) == reason.replace("too short", "")


def test_a_stream_is_read_once_and_holds_no_texts(folder):
    read = list(long_reason.candidates(SMALL[0], folder))
    assert len(read) == 13 and all("context" not in one.item.raw for one in read)
    assert all((one.tokens, one.words) != (0, 0) for one in read)


def test_bad_files_are_refused_and_left_alone(folder):
    path = folder / "run.jsonl"
    run(folder, Stub(annotator))
    lines = path.read_bytes().splitlines(keepends=True)
    other = Stub(annotator, name="another")
    for stub, options, told in [
        (other, {}, "holds another run: llm is"),
        (Stub(annotator), {"seed": 1}, "seed is 0, expected 1"),
        (Stub(annotator), {"sources": SMALL[:1]}, "sources is"),
    ]:
        with pytest.raises(InputError, match=told):
            run(folder, stub, **options)
    for content, told in [
        (lines[0] + b"{}\n", "line 2: expected an item"),
        (lines[0] + lines[1].replace(b'"reason": "', b'"reason": "mood '), "line 2.*mood"),
    ]:
        path.write_bytes(content)
        refused(lambda: run(folder, Stub(annotator)), told)
        assert path.read_bytes() == content

    refused(lambda: statistics([]), "at least one")
    (folder / "loogle" / "longdep_qa.jsonl").unlink()
    with pytest.raises(InputError, match="folder of benchmarks|expected|publish"):
        run(folder, Stub(annotator), folder / "new.jsonl", sources=(Source("qmsum", 1, 1, "words"),))


def test_one_item_by_hand():
    one = long_reason.Judged("loogle", "1", "d", 56_000, 40_000, False, "global", "set-aggregation", "")
    assert statistics([one, replace(one, tokens=469_000, choice=True)]).mean == 262_500
