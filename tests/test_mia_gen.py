"""MiA-Gen: prompts with a summary before the passages, what the variants are taught, the grid of replies and its scores."""

import json
import math
import sys
from functools import partial
from os.path import commonprefix
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from stubs import Model

from mindscape.corpora import storyworld
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError
from mindscape.metrics import bootstrap
from mindscape.mia import gen_evaluation
from mindscape.mia.gen_evaluation import (
    MAIN,
    Cell,
    average_ranks,
    grid,
    items,
    prompts,
    ranked,
    replies,
    result,
    scores,
    searching,
    tokens_once,
)
from mindscape.mia.generation import JOIN, TASKS, VARIANTS, answerable, examples, mixed, write
from mindscape.mia.supervision import MOST, evidence, same_kind
from mindscape.reader.evaluation import Answer, Kept
from mindscape.roles import ROLES, passages

SLOTS = {
    "qa": {"question": "Who has the lamp?"},
    "choice": {"question": "Who has the lamp?", "options_str": "A. Ann\nB. Tom\nC. Eve\nD. Ivo"},
    "claim": {"claim": "Ann has the lamp."},
}
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)


@pytest.fixture(scope="module", params=["en", "zh"])
def book(request):
    return storyworld.book(1000, tokens=15_000, language=request.param)


@pytest.fixture(scope="module")
def two_books():
    return [storyworld.book(seed, tokens=15_000) for seed in (1000, 1001)]


# -- prompts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("task", TASKS)
def test_without_a_summary_the_prompt_is_the_roles_own(task, language):
    chunks = ["Tom took it. ", "It {rained}."]
    context = JOIN.join(chunk.strip() for chunk in chunks)
    assert write(task, SLOTS[task], chunks, language=language).text == ROLES[task].prompt(
        language, context=context, **SLOTS[task]
    )


@given(st.sampled_from(TASKS), st.lists(words, max_size=4), st.none() | words, st.sampled_from(["en", "zh"]))
def test_every_part_is_where_it_is_said_to_be(task, chunks, summary, language):
    """Whatever the texts hold, braces and tags included; and in the order of Eq. 6."""
    written = write(task, SLOTS[task], chunks, summary, language)
    places = [*([written.summary] if summary is not None else []), *written.chunks, written.question]
    assert places == sorted(places)
    found = [written.text[place.start : place.end] for place in places]
    told = [] if summary is None else [summary.strip()]
    assert found[:-1] == told + [chunk.strip() for chunk in chunks]
    assert found[-1] == "\n".join(SLOTS[task].values()) and written.question.end == len(written.text)
    cut = written.summary
    own = written.text[: cut.start] + written.text[cut.end :] if summary is not None else written.text
    assert ("<context>" in own) >= bool(chunks)


def test_questions_on_one_text_begin_alike_to_the_end_of_the_summary():
    summary = "Ann is the smith. Tom is the miller."
    some = [write("qa", {"question": "Who?"}, ["A."], summary), write("qa", {"question": "Why?"}, ["B."], summary)]
    assert len(commonprefix([one.text for one in some])) > some[0].summary.end


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"task": "grade"}, "task='grade': expected one of qa, choice, claim"),
        ({"language": "fr"}, "no prompt in 'fr'"),
        ({"slots": {"claim": "It rained."}}, "got slots"),
        ({"chunks": ["It rained.", "\n"]}, "passage 1 is blank"),
        ({"summary": " "}, "the summary is blank"),
    ],
)
def test_prompts_that_cannot_be(changed, said):
    with pytest.raises(InputError, match=said):
        write(**{"task": "qa", "slots": SLOTS["qa"], "chunks": ["It rained."], **changed})


# -- what is taught ----------------------------------------------------------------------------------------------------


def test_passages_hold_the_evidence_among_noise(book, tokenizer):
    counts, places, alone, alike, missing = set(), set(), 0, 0, 0
    chunks = passages.cut(book, tokenizer)
    for question, _, shown in mixed(book, tokenizer, Chance("test"), 6):
        right = {chunks[i] for i in evidence(book, question, chunks)}
        assert right <= set(shown) and len(shown) <= 6 and len(set(shown)) == len(shown)
        noise = [chunk for chunk in shown if not passages.relevant(book, question, chunk)]
        said = [chunk for chunk in shown if chunk not in right and chunk not in noise]
        assert len(said) <= 2 * len(question.bindings)  # who is meant
        alone += bool(question.bindings) and not said
        kind = {chunks[i] for i in same_kind(book, question, chunks)}
        assert right <= kind
        told = sum(chunk in kind for chunk in noise)
        there = sum(not passages.relevant(book, question, chunk) for chunk in kind)
        assert told >= min(there, len(noise) // 2)
        alike, missing = alike + told, missing + len(noise)
        counts.add(len(shown))
        places |= {i for i, chunk in enumerate(shown) if chunk in right}
    assert len(counts) > 3 and len(places) > 3 and alone and 0.3 < alike / missing < 0.8
    with pytest.raises(InputError, match=f"most=2: expected at least {MOST}"):
        next(mixed(book, tokenizer, Chance("test"), 2))


def test_what_summary_and_evidence_answer_names_the_answer(book, tokenizer):
    chunks, n = passages.cut(book, tokenizer), 0
    for question, _, right in answerable(book, tokenizer, Chance("test")):
        text = passages.shown(book, [chunks[i] for i in right]) + book.summary
        parts = question.answer.split(book.voice.say.AND) if question.kind in passages.PAIRS else [question.answer]
        assert question.kind in passages.COUNTED or all(part.lower() in text.lower() for part in parts)
        n += 1
    assert n >= 24  # enough for one task alone


def test_silver_takes_the_place_of_gold(book, tokenizer):
    chunks = passages.cut(book, tokenizer)
    some = book.questions[:30]
    silver = {question.id: [3, 5] for question in some if question.kind not in passages.WHOLE}  # mostly wrong
    found = list(mixed(book, tokenizer, Chance("test"), silver=silver))
    assert {question.id for question, *_ in found} == set(silver)
    assert all({chunks[3], chunks[5]} <= set(shown) and len(set(shown)) == len(shown) for _, _, shown in found)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_has_its_share_of_each_task(variant, book, tokenizer):
    found = examples(book, tokenizer, variant)
    assert found == examples(book, tokenizer, variant)
    told = VARIANTS[variant]
    assert {task: sum(one.role == task for one in found) for task in told.shares} == told.shares
    assert len(found) == sum(VARIANTS["full"].shares.values())
    for one in found:
        assert (f"<summary>\n{book.summary}\n</summary>" in one.prompt) == told.summary
        assert one.book == book.document.id
        _, repairs = ROLES[one.role].parse(one.reply)
        assert not repairs


def test_variants_are_asked_the_same(book, tokenizer):
    full = examples(book, tokenizer)
    bare = examples(book, tokenizer, "no_summary")
    assert [one.reply for one in full] == [one.reply for one in bare]
    for one, other in zip(full, bare, strict=True):
        assert other.prompt.split("<context>")[1] == one.prompt.split("<context>")[1]
        assert len(other.prompt) < len(one.prompt) - len(book.summary)
    for variant, task in (("no_claims", "qa"), ("no_qa", "claim")):
        more = [one for one in examples(book, tokenizer, variant) if one.role == task]
        mine = [one for one in full if one.role == task]
        assert more[: len(mine)] == mine and len(more) > len(mine)
    with pytest.raises(InputError, match="variant='half': expected one of full, no_summary"):
        examples(book, tokenizer, "half")


def test_claims_are_true_as_often_as_false(tokenizer):
    book = storyworld.book(1000, tokens=15_000)
    verdicts = [ROLES["claim"].parse(one.reply)[0].answer for one in examples(book, tokenizer, "no_qa")]
    assert 6 <= verdicts.count("TRUE") <= 18


# -- the grid ----------------------------------------------------------------------------------------------------------


def ann(prompt):
    return "Ann"


class Embedder:
    """Finds passages by a hash of query and summary."""

    def units(self, texts):
        return np.eye(len(texts))

    def queries(self, questions, summary=None, task="chunk"):
        return np.array([np.random.default_rng(len(q) + len(summary or "")).random(self.n) for q in questions])


def search_of(calls):
    def search(i, queries):
        calls.append((i, list(queries)))
        return [[(len(query) + j) % 90 for j in range(10)] for query in queries]

    return search


def test_the_same_questions_in_each_task(two_books, tokenizer):
    asked = items(two_books, tokenizer, 4)
    assert {task: len(some) for task, some in asked.items()} == {"qa": 8, "choice": 8, "claim": 16}
    assert asked == items(two_books, tokenizer, 4)
    assert [item.id for item in asked["qa"]] == [item.id for item in asked["choice"]]
    for item, true, false in zip(asked["qa"], asked["claim"][::2], asked["claim"][1::2], strict=True):
        assert (true.id, false.id) == (f"{item.id}:true", f"{item.id}:false")
        assert (true.row.gold.answer, false.row.gold.answer) == ("TRUE", "FALSE")
        assert item.query != true.query != false.query and item.right == true.right
    more = items(two_books, tokenizer, 6)["qa"]
    assert [item.id for item in more[:4]] == [item.id for item in asked["qa"][:4]]


def test_rankings_are_asked_for_once(two_books, tokenizer, tmp_path):
    asked = [item for some in items(two_books, tokenizer, 3).values() for item in some]
    path, about, calls = tmp_path / "ranks.jsonl", {"retriever": "toy"}, []
    whole = ranked(path, about, asked, two_books, search_of(calls))
    assert len(whole) == 2 * 3 * 3 and [i for i, _ in calls] == [0, 1]  # a question once, though two tasks ask it
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:13]) + "\n" + lines[13][:20])  # killed in the middle of a line
    calls.clear()
    assert ranked(path, about, asked, two_books, search_of(calls)) == whole
    assert [(i, len(some)) for i, some in calls] == [(1, 18 - 12)]
    with pytest.raises(InputError, match="holds another run: retriever is .toy., expected .other."):
        ranked(path, {"retriever": "other"}, asked, two_books, search_of(calls))
    path.write_text(json.dumps(about) + '\n{"book": "x"}\n')
    with pytest.raises(InputError, match="line 2: expected a query's passages"):
        ranked(path, about, asked, two_books, search_of(calls))


def test_a_search_by_vectors(two_books, tokenizer):
    embedder = Embedder()
    embedder.n = len(passages.cut(two_books[0], tokenizer))
    found = searching(embedder, two_books, tokenizer)(0, ["Who?", "Why not?"])
    near = embedder.queries(["Who?", "Why not?"], two_books[0].summary)
    assert [row[0] for row in found] == near.argmax(1).tolist() and len(found[0]) == 10


def test_what_each_cell_reads(two_books, tokenizer):
    asked = items(two_books, tokenizer, 2)
    rankings = {"toy": {(i.row.book.document.id, i.query): tuple(range(7, 17)) for s in asked.values() for i in s}}
    for task, some in asked.items():
        item, book = some[0], some[0].row.book
        chunks = passages.cut(book, tokenizer)

        def shown(*cell, some=some):
            return prompts(Cell(*cell), some, two_books, tokenizer, rankings)

        texts = [book.document[chunk] for chunk in chunks]
        assert shown("toy", "gold", "x", 3)[0] == write(task, item.row.slots, texts[7:10], book.summary).text
        assert shown("toy", "none", "x", 3)[0] == write(task, item.row.slots, texts[7:10]).text
        assert shown("none", "gold", "x", 0)[0] == write(task, item.row.slots, [], book.summary).text
        right = [texts[i] for i in item.right]
        assert shown("oracle", "none", "x", 0)[0] == write(task, item.row.slots, right).text
        by_reader = {one.document.id: f"It is about {one.document.id}." for one in two_books}
        (first, *_) = prompts(Cell("none", "reader", "x", 0), some, two_books, tokenizer, {}, by_reader)
        assert by_reader[book.document.id] in first
        other = two_books[1].summary
        assert shown("toy", "other", "x", 1)[0] == write(task, item.row.slots, texts[7:8], other).text
        with pytest.raises(InputError, match="retriever='bm25': expected one of none, oracle, toy"):
            shown("bm25", "none", "x", 3)
        with pytest.raises(InputError, match="ranks 10 passages for .*: expected 11"):
            shown("toy", "none", "x", 11)


def test_a_killed_run_asks_for_the_rest_alone(tmp_path):
    wanted = [f"Who is number {i}?" for i in range(10)]
    kept = Kept.of(tmp_path / "replies.jsonl", "toy", dtype="float32")
    first = Model(ann, dies=3)
    with pytest.raises(KeyboardInterrupt):
        replies(first, kept, "qa", [*wanted, wanted[0]], batch=3)
    with kept.path.open("a") as file:
        file.write('{"role": "qa", "key')  # the line that was being written
    again = Model(ann)
    found = replies(again, Kept.of(kept.path, "toy"), "qa", [*wanted, wanted[0]], batch=3)
    assert first.asked == wanted[:6] and again.asked == wanted[6:]
    assert found == [Answer("Ann")] * 11
    none = Model(ann)
    assert replies(none, kept, "qa", wanted) == found[:10] and not none.asked


def test_scores_and_what_cannot_be_read(two_books, tokenizer):
    asked = items(two_books, tokenizer, 3)
    right = {task: [ROLES[task].render(item.row.gold) for item in some] for task, some in asked.items()}
    for task, some in asked.items():
        form = None if task == "qa" else True
        given = [Answer(text, False, text if form else None, False) for text in right[task]]
        found = scores(some, given)
        numbers = [number for number in found[MAIN[task]] if not math.isnan(number)]
        assert numbers == [1.0] * 6 and found["valid"] == [1.0] * len(some)
        given[1] = Answer("", False, "" if form else None, False)
        worse = scores(some, given)
        assert sum(worse["valid"]) == len(some) - 1
        assert sum(number for number in worse[MAIN[task]] if not math.isnan(number)) == 5
    assert scores(asked["qa"], [Answer(text) for text in right["qa"]])["em"] == [1.0] * 6
    half = [Answer(text + " and nobody else at all") for text in right["qa"]]
    assert set(scores(asked["qa"], half)["em"]) == {0.0} and 0 < sum(scores(asked["qa"], half)["f1"]) < 6
    held = [Answer("no idea", False, text, False) for text in right["choice"]]
    assert sum(scores(asked["choice"], held)["accuracy"]) == 6


def test_results(two_books, tokenizer):
    asked = items(two_books, tokenizer, 4)["claim"]
    shown = [f"{item.row.slots['claim']} Is it so?" for item in asked]
    yes, no = (f"<explanation>So.</explanation>\n<answer>{word}</answer>" for word in ("TRUE", "FALSE"))
    good, poor = ([Answer(text, False, text) for text in some] for some in ([yes, no] * 8, [yes, yes] * 8))
    cells = Cell("mia", "gold", "x", 3), Cell("mia", "none", "x", 3)
    a, b = (result(cell, asked, shown, of, tokenizer) for cell, of in zip(cells, (good, poor), strict=True))
    assert a.task == "claim" and a.main.value == 1.0 and b.main.value == 0.0 and a.unparsable == 0
    assert a.tokens == tuple(len(tokenizer(text)["input_ids"]) for text in shown) and a.once <= sum(a.tokens)


@given(st.lists(st.lists(st.integers(0, 2), max_size=6), max_size=6))
def test_tokens_read_once_are_the_distinct_beginnings(rows):
    assert tokens_once(rows) == len({tuple(row[: i + 1]) for row in rows for i in range(len(row))})


@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_average_ranks_against_scipy(systems, settings, data):
    table = [[data.draw(st.sampled_from([0.1, 0.2, 0.3])) for _ in range(settings)] for _ in range(systems)]
    found = average_ranks({f"s{i}": dict(enumerate(row)) for i, row in enumerate(table)})
    expected = rankdata(-np.array(table), axis=0).mean(1)
    np.testing.assert_allclose(list(found.values()), expected)


def test_ranks_that_cannot_be():
    with pytest.raises(InputError, match="'b' has no score for 'qa@5'"):
        average_ranks({"a": {"qa@3": 1.0, "qa@5": 1.0}, "b": {"qa@3": 1.0}})
    with pytest.raises(InputError, match="no scores"):
        average_ranks({})


def test_the_cells_of_the_grid():
    cells = grid(["vanilla", "mia"], ["none", "gold"], ["untuned", "reader", "mia_gen"], [3, 5, 10])
    keys = [cell.key("qa") for cell in cells]
    assert len(set(keys)) == len(keys) == 2 * 2 * 3 * 3 + 3 + 2 * 3
    assert {"grid.mia.gold.mia_gen.qa@10", "grid.none.gold.reader.qa", "grid.oracle.none.untuned.qa"} <= set(keys)


def test_the_evaluation_command(two_books, tokenizer, tmp_path, monkeypatch, capsys):
    model = Model(lambda prompt: "<explanation>So.</explanation>\n<answer>A</answer>")
    model.model = SimpleNamespace(dtype=torch.float32)
    embedder, loaded = Embedder(), []
    embedder.n = max(len(passages.cut(book, tokenizer)) for book in two_books)
    embedder.units = lambda texts: np.eye(embedder.n)[: len(texts)]
    monkeypatch.setattr("mindscape.reader.scoring.bootstrap", partial(bootstrap, resamples=20))  # quick
    monkeypatch.setattr(gen_evaluation, "books", lambda split: two_books)
    monkeypatch.setattr(gen_evaluation.llm, "load", lambda *a, **k: model)
    monkeypatch.setattr(gen_evaluation.embedding, "load", lambda **k: loaded.append(k) or embedder)
    told = ["gen", "--out", str(tmp_path), "--generator", "toy", "--llm", "smollm2", "--k", "2,3", "--share", "2"]
    monkeypatch.setattr(sys, "argv", told)
    gen_evaluation.main()
    said = capsys.readouterr().out
    assert "grid.vanilla.gold.toy.claim@3: " in said and "grid.none.gold.toy.qa: " in said
    assert "0 of 4 unparsable" in said and "8 of 8 unparsable" in said  # a letter is no verdict
    asked, files = len(model.asked), sorted(path.name for path in tmp_path.iterdir())
    assert files == ["ranks_vanilla.jsonl", "toy.jsonl"] and len(loaded) == 1
    gen_evaluation.main()  # nothing is asked or loaded again
    assert len(model.asked) == asked and len(loaded) == 1 and capsys.readouterr().out == said
    encoder = SimpleNamespace(encode=lambda texts, kind="passage": np.eye(embedder.n)[: len(texts)])
    monkeypatch.setattr(gen_evaluation.encoders, "load", lambda name, **k: loaded.append(name) or encoder)
    monkeypatch.setattr(sys, "argv", [*told, "--retrievers", "mini=encoder:minilm", "--summaries", "none"])
    gen_evaluation.main()
    assert loaded[-1] == "minilm" and "grid.mini.none.toy.qa@3" in capsys.readouterr().out
    for more, wrong in ((["--k", "11"], "--k 11: expected 1 to 10"), (["--summaries", "long"], "--summaries long")):
        monkeypatch.setattr(sys, "argv", told + more)
        with pytest.raises(SystemExit, match=f"error: {wrong}"):
            gen_evaluation.main()
