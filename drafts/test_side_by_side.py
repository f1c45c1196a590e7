"""Memories before one reader: budgets by hand, rows that go on after a kill, Holm against its definition; bad input."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindscape import llm, side_by_side
from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.llm import Reply
from mindscape.mia.embedding import PlainEmbedder
from mindscape.mia.evaluation import play
from mindscape.mia.graphrag import of_story
from mindscape.mindgraph.comparison import of_book
from mindscape.mom.memory import DocumentMemory
from mindscape.reader.evaluation import Answer, Kept
from mindscape.roles import passages
from mindscape.side_by_side import (
    KINDS,
    MEMORIES,
    Piece,
    Sources,
    asked,
    available,
    beginning,
    building,
    compared,
    fill,
    find,
    holm,
    kind,
    marks,
    options,
    prompts,
    show,
)
from mindscape.text import Span

BOOK = storyworld.book(1000, tokens=15_000)
NAME = BOOK.document.id


def count(text):
    return len(text.split())


class Letters:
    """An encoder: counts of letters, length 1."""

    name, dim, fingerprint = "letters", 27, "letters"

    def encode(self, texts, kind="passage"):
        letters = "abcdefghijklmnopqrstuvwxyz"
        found = np.array([[0.1, *(text.lower().count(one) for one in letters)] for text in texts], np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


class Backend:
    """Always names the first option, or the first word that it is shown."""

    name = fingerprint = "one"
    context = None

    def __init__(self, breaks_at=None):
        self.breaks_at, self.asked = breaks_at, []

    def generate(self, prompts, sampling, tools=(), schema=None):
        for i, prompt in enumerate(prompts):
            if len(self.asked) == self.breaks_at:
                raise KeyboardInterrupt
            self.asked.append(prompt[-1]["content"])
            free = "<answer>" not in self.asked[-1]
            text = "Ann" if free else "<explanation>It is told.</explanation>\n<answer>A</answer>"
            yield i, Reply(text, prompt_tokens=1, completion_tokens=1)

    def score(self, pairs):
        raise NotImplementedError


@pytest.fixture(scope="module")
def sources(tokenizer):
    gold = DocumentMemory(BOOK.memory.outline, BOOK.memory.core, BOOK.memory.chunks)
    graph = of_story(BOOK, passages.cut(BOOK, tokenizer, side_by_side.PASSAGE))
    return Sources(tokenizer, {NAME: "The reader's summary."}, {NAME: graph}, {NAME: gold})


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDSCAPE_CACHE", str(tmp_path / "cache"))
    return SimpleNamespace(minilm=Letters(), sft=PlainEmbedder(Letters()), mia=PlainEmbedder(Letters()))


def test_questions_are_of_all_kinds_and_fewer_are_among_more():
    few, more = asked(BOOK, 1), asked(BOOK, 3)
    assert [kind(one) for one in few] and {kind(one) for one in few} == set(KINDS)
    assert {one.id for one in few} < {one.id for one in more}
    assert max(sum(kind(one) == name for one in more) for name in KINDS) == 3
    assert {one.id for one in compared(BOOK)} <= {one.id for one in few}
    assert [one.id for one in compared(BOOK)] == [task.id for task in of_book(BOOK)]


def test_options_are_dealt_once():
    question = BOOK.questions[0]
    drawn, letter = options(question)
    assert sorted(drawn) == sorted(question.options) and drawn["ABCD".index(letter)] == question.answer
    assert options(question) == (drawn, letter)
    assert len({options(one)[1] for one in BOOK.questions}) == 4


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), max_size=8), st.integers(1, 20))
def test_a_budget_is_kept_and_no_piece_is_passed_over(lengths, budget):
    pieces = [Piece(" ".join(["word"] * n), Span(10 * i, 10 * i + 5)) for i, n in enumerate(lengths)]
    shown = fill(pieces, budget, count)
    fits = next((i for i in range(len(lengths)) if sum(lengths[: i + 1]) > budget), len(lengths))
    assert shown.tokens == sum(lengths[:fits]) <= budget and shown.spans == tuple(it.span for it in pieces[:fits])


@settings(deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(1, 20))
def test_a_summary_that_is_too_long_loses_sentences_from_its_end(lengths, budget):
    text = " ".join(" ".join(["Word", *["word"] * (n - 1)]) + "." for n in lengths)
    fits = [sum(lengths[:i]) for i in range(len(lengths) + 1) if sum(lengths[:i]) <= budget]
    found = beginning(text, budget, count)
    assert text.startswith(found) and count(found) == fits[-1]


def test_every_memory_shows_no_more_than_its_budget(sources, tools):
    questions = asked(BOOK, 1)
    for memory in MEMORIES:
        row = json.loads(json.dumps(find(memory, BOOK, questions, sources, tools)))
        for budget in (60, 300):
            shown = show(memory, BOOK, questions, row, sources, budget)
            assert len(shown) == len(questions) and all(one.tokens <= budget for one in shown)
            for one in shown:
                assert all(BOOK.document[span].strip() in one.text for span in one.spans)
        assert memory == "none" or any(one.text for one in shown)


def test_what_is_shown_is_what_the_memory_is_made_of(sources, tools):
    questions = asked(BOOK, 1)

    def shown(memory, budget=600):
        return show(memory, BOOK, questions, find(memory, BOOK, questions, sources, tools), sources, budget)

    assert [one.text for one in shown("none")] == [""] * len(questions)
    for question, one in zip(questions, shown("evidence", 5000), strict=True):
        assert one.recall(BOOK, question) == 1.0
    assert shown("summary")[0].text == BOOK.summary.strip() and shown("summary")[0].spans == ()
    assert shown("summary_reader")[0].text == "The reader's summary."
    both, alone = shown("mia_rag")[0], shown("mia_emb")[0]
    assert both.text.startswith(BOOK.summary.strip()) and len(both.spans) < len(alone.spans)
    assert shown("mia_rag_reader")[0].text.startswith("The reader's summary.\n\n")
    session = sources.sessions(BOOK).summaries
    assert shown("signature")[0].text.split("\n\n")[0] in session
    assert shown("cores")[0].text.split("\n\n")[0] in BOOK.memory.core
    units = shown("units")[0]
    assert units.text.startswith(BOOK.document[units.spans[0]].strip()) and len(units.spans) > 1
    assert shown("graph")[0].text.startswith("People, places and things:")


def test_plays_have_what_they_have(sources):
    macbeth = play("macbeth")
    assert available(BOOK, sources) == list(MEMORIES)
    lacking = {"summary_reader", "mia_rag_reader", "graph", "units", "cores"}
    assert set(available(macbeth, sources)) == set(MEMORIES) - lacking
    with pytest.raises(InputError, match="memory 'graph': nothing was read off 'macbeth'"):
        find("graph", macbeth, asked(macbeth, 1), sources, SimpleNamespace())
    assert sources.sessions(macbeth).items[0].kind == "scene"


def test_ranks_and_replies_go_on_after_a_kill(sources, tools, tmp_path):
    path, told = tmp_path / "ranks.jsonl", []
    some = Sources(sources.tokenizer)
    side_by_side.add_ranks(path, {"share": 1}, [BOOK], some, tools, share=1, tell=told.append)
    lines = path.read_bytes()
    whole = lines.split(b"\n")
    path.write_bytes(b"\n".join(whole[:3]) + b"\n" + whole[3][:40])
    told.clear()
    side_by_side.add_ranks(path, {"share": 1}, [BOOK], some, tools, share=1, tell=told.append)
    assert path.read_bytes() == lines and len(told) == len(available(BOOK, some)) - 2
    with pytest.raises(InputError, match="holds another run: share"):
        side_by_side.add_ranks(path, {"share": 2}, [BOOK], some, tools, share=1)
    rows = side_by_side.kept_ranks(path, [BOOK], some, share=1)
    assert list(rows) == available(BOOK, some) and side_by_side.kept_ranks(path, [BOOK], some, share=2) == {}

    file = Kept.of(tmp_path / "replies.jsonl", "one", dtype="float32")
    dying = llm.LanguageModel(Backend(breaks_at=7))
    with pytest.raises(KeyboardInterrupt):
        side_by_side.add_replies(path, dying, file, [BOOK], some, share=1, batch=3, tell=told.append)
    backend = Backend()
    side_by_side.add_replies(path, llm.LanguageModel(backend), file, [BOOK], some, share=1, batch=3, tell=told.append)
    everything = Backend()
    again = Kept.of(tmp_path / "more.jsonl", "one", dtype="float32")
    side_by_side.add_replies(path, llm.LanguageModel(everything), again, [BOOK], some, share=1, tell=told.append)
    assert 0 < len(backend.asked) < len(everything.asked)
    questions = asked(BOOK, 1)
    shown = show("bm25", BOOK, questions, rows["bm25"][0], some)
    given = file.answers("choice", prompts("choice", BOOK, questions, shown))
    assert marks("choice", BOOK, questions, given) == [float(options(one)[1] == "A") for one in questions]
    free = prompts("qa", BOOK, compared(BOOK), [shown[questions.index(one)] for one in compared(BOOK)])
    assert len(file.answers("qa", free)) == 4


def test_marks_of_what_cannot_be_read():
    question = BOOK.questions[0]
    right = f"<explanation>So.</explanation>\n<answer>{options(question)[1]}</answer>"
    assert marks("choice", BOOK, [question] * 2, [Answer(right), Answer("")]) == [1.0, 0.0]
    assert marks("qa", BOOK, [question] * 2, [Answer(question.answer), Answer("")]) == [1.0, 0.0]
    with pytest.raises(InputError, match="role='claim'"):
        prompts("claim", BOOK, [], [])


def test_costs_grow_with_what_is_made(sources):
    costs = {memory: building(memory, BOOK, sources) for memory in MEMORIES}
    length = sources.count(BOOK.document.text)
    assert costs["none"] == costs["start"] == costs["evidence"] == side_by_side.Cost()
    assert costs["minilm"].encoded == length and costs["minilm"].calls == 0 < costs["bm25"].stored
    for memory in ("summary", "signature", "graph", "units"):
        assert costs[memory].read > length and costs[memory].calls > 5 and costs[memory].written > 100
    assert costs["mia_rag"].stored > costs["mia_emb"].stored - 1 and costs["units"] == costs["cores"]


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_its_definition(p):
    found = holm(p)
    for level in (0.01, 0.05, 0.2):
        rejected, left = set(), sorted(range(len(p)), key=lambda i: p[i])
        while left and p[left[0]] * len(left) <= level:
            rejected.add(left.pop(0))
        assert {i for i, q in enumerate(found) if q <= level} == rejected
    assert (found >= np.asarray(p) - 1e-15).all() and (found <= 1).all()


@pytest.mark.parametrize("p", [[1.2], [-0.1], [[0.1]], [float("nan")]])
def test_what_is_no_p_value_is_refused(p):
    with pytest.raises(InputError, match="p-values"):
        holm(p)


def test_bad_input(sources):
    with pytest.raises(InputError, match="no memory 'dream'"):
        find("dream", BOOK, [], sources, SimpleNamespace())
    with pytest.raises(InputError, match="budget=0"):
        fill([], 0, count)
    with pytest.raises(InputError, match="a row on 1 questions: expected 0"):
        show("bm25", BOOK, [], {"found": [[0]]}, sources)
