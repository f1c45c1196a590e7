"""MiA-Gen: prompts with a summary before the passages, what variants are taught, the questions of the grid and their scores."""

import math
from collections import Counter
from dataclasses import replace
from os.path import commonprefix

import numpy as np
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

import storyworld
from mindscape.ask import read_replies
from mindscape.mia.generation import JOIN, TASKS, VARIANTS, answerable, examples, mixed, write
from mindscape.mia.retrieval import MAIN, average_ranks, drawn_questions, scores, tokens_once
from mindscape.question import Answer
from mindscape.roles import ROLES
from storyworld.teaching import passages
from storyworld.teaching.update import MOST, evidence, same_kind
from storyworld.world import Chance

SLOTS = {
    "qa": {"question": "Who has the lamp?"},
    "choice": {"question": "Who has the lamp?", "options_str": "A. Ann\nB. Tom\nC. Eve\nD. Ivo"},
    "claim": {"claim": "Ann has the lamp."},
}
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)


@pytest.fixture(scope="module")
def two_books():
    return [storyworld.book(seed, tokens=15_000) for seed in (1000, 1001)]


# -- prompts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_without_a_summary_the_prompt_is_the_roles_own(task, language):
    chunks = ["Tom took it. ", "It {rained}."]
    context = JOIN.join(chunk.strip() for chunk in chunks)
    expected = ROLES[task].prompt(language, context=context, **SLOTS[task])
    assert write(task, SLOTS[task], chunks, language=language).text == expected


@given(st.sampled_from(TASKS), st.lists(words, max_size=4), st.none() | words, st.sampled_from(["en", "zh"]))
def test_every_part_is_where_it_is_said_to_be(task, chunks, summary, language):
    """Whatever the texts hold, braces and tags included; and in the order of Eq. 6."""
    written = write(task, SLOTS[task], chunks, summary, language)
    places = [place for place in (written.summary, *written.chunks, written.question) if place]
    assert places == sorted(places) and places[-1].end == len(written.text)
    texts = [text for text in (summary, *chunks, "\n".join(SLOTS[task].values())) if text is not None]
    assert [written.text[place.start : place.end] for place in places] == list(map(str.strip, texts))
    cut = written.summary
    own = written.text[: cut.start] + written.text[cut.end :] if summary is not None else written.text
    assert ("<context>" in own) >= bool(chunks)


def test_questions_on_one_text_begin_alike_to_the_end_of_the_summary():
    summary = "Ann is the smith. Tom is the miller."
    prompts = [write("qa", {"question": "Who?"}, ["A."], summary), write("qa", {"question": "Why?"}, ["B."], summary)]
    assert len(commonprefix([written.text for written in prompts])) > prompts[0].summary.end


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"task": "grade"}, "task='grade': expected one of qa, choice, claim"),
        ({"language": "fr"}, "no prompt in 'fr'"),
        ({"slots": {"claim": "It rained."}}, "got slots"),
    ],
)
def test_prompts_that_cannot_be(changed, said):
    refused(lambda: write(**{"task": "qa", "slots": SLOTS["qa"], "chunks": ["It rained."], **changed}), said)


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
        count = sum(chunk in kind for chunk in noise)
        there = sum(not passages.relevant(book, question, chunk) for chunk in kind)
        assert count >= min(there, len(noise) // 2)
        alike, missing = alike + count, missing + len(noise)
        counts.add(len(shown))
        places |= {i for i, chunk in enumerate(shown) if chunk in right}
    assert len(counts) > 3 and len(places) > 3 and alone and 0.3 < alike / missing < 0.8
    refused(lambda: next(mixed(book, tokenizer, Chance("test"), 2)), f"most=2: expected at least {MOST}")


def test_what_summary_and_evidence_answer_names_the_answer(book, tokenizer):
    chunks, cases = passages.cut(book, tokenizer), list(answerable(book, tokenizer, Chance("test")))
    for question, _, right in cases:
        text = passages.shown(book, [chunks[i] for i in right]) + book.summary
        parts = question.answer.split(book.voice.say.AND) if question.kind in passages.PAIRS else [question.answer]
        assert question.kind in passages.COUNTED or all(part.lower() in text.lower() for part in parts)
    assert len(cases) >= 24  # enough for one task alone


def test_silver_takes_the_place_of_gold(book, tokenizer):
    chunks = passages.cut(book, tokenizer)
    silver = {question.id: [3, 5] for question in book.questions[:30] if question.kind not in passages.WHOLE}  # mostly wrong
    cases = list(mixed(book, tokenizer, Chance("test"), silver=silver))
    assert {question.id for question, *_ in cases} == set(silver)
    assert all({chunks[3], chunks[5]} <= set(shown) and len(set(shown)) == len(shown) for _, _, shown in cases)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_has_its_share_of_each_task(variant, book, tokenizer):
    drawn = examples(book, tokenizer, variant)
    assert drawn == examples(book, tokenizer, variant)
    recipe = VARIANTS[variant]
    assert Counter(example.role for example in drawn) == recipe.shares
    assert len(drawn) == sum(VARIANTS["full"].shares.values())
    for example in drawn:
        assert (f"<summary>\n{book.summary}\n</summary>" in example.prompt) == recipe.summary
        assert example.book == book.document.id and not ROLES[example.role].parse(example.reply)[1]  # no repairs


def test_variants_are_asked_the_same(book, tokenizer):
    full, bare = examples(book, tokenizer), examples(book, tokenizer, "no_summary")
    assert [example.reply for example in full] == [example.reply for example in bare]
    for example, other in zip(full, bare, strict=True):
        assert other.prompt.split("<context>")[1] == example.prompt.split("<context>")[1]
        assert len(other.prompt) < len(example.prompt) - len(book.summary)
    for variant, task in (("no_claims", "qa"), ("no_qa", "claim")):
        more = [example for example in examples(book, tokenizer, variant) if example.role == task]
        fewer = [example for example in full if example.role == task]
        assert more[: len(fewer)] == fewer and len(more) > len(fewer)
    refused(lambda: examples(book, tokenizer, "half"), "variant='half': expected one of full, no_summary")


def test_claims_are_true_as_often_as_false(two_books, tokenizer):
    verdicts = [ROLES["claim"].parse(example.reply)[0].answer for example in examples(two_books[0], tokenizer, "no_qa")]
    assert 6 <= verdicts.count("TRUE") <= 18


# -- the grid ----------------------------------------------------------------------------------------------------------


def test_the_same_questions_in_each_task(two_books, tokenizer):
    drawn = drawn_questions(two_books, tokenizer, 4)
    assert {task: len(cases) for task, cases in drawn.items()} == {"qa": 8, "choice": 8, "claim": 16}
    assert drawn == drawn_questions(two_books, tokenizer, 4) != drawn_questions(two_books, tokenizer, 4, seed=1)
    assert [posed.question for posed in drawn["qa"]] == [posed.question for posed in drawn["choice"]]
    for posed, true, false in zip(drawn["qa"], drawn["claim"][::2], drawn["claim"][1::2], strict=True):
        assert posed.question == true.question == false.question
        assert (true.gold.answer, false.gold.answer) == ("TRUE", "FALSE")
        assert posed.query != true.query != false.query and posed.right == true.right
    more = drawn_questions(two_books, tokenizer, 6)["qa"]
    assert [posed.question for posed in more[:4]] == [posed.question for posed in drawn["qa"][:4]]


def said(task, texts):
    """Answers as `ask` makes them of replies that needed no second try."""
    values = [read_replies(ROLES[task], text) for text in texts]
    pairs = zip(texts, values, strict=True)
    return [Answer(text, value, ("why",) if value is None else (), free=text) for text, value in pairs]


def test_scores_and_what_cannot_be_read(two_books, tokenizer):
    for task, cases in drawn_questions(two_books, tokenizer, 3).items():
        right = [ROLES[task].render(case.gold) for case in cases]
        marks = scores(cases, said(task, right))
        numbers = [number for number in marks[MAIN[task]] if not math.isnan(number)]
        assert numbers == [1.0] * 6 and marks["valid"] == marks["valid_free"] == [1.0] * len(cases)
        worse = scores(cases, said(task, [right[0], "", *right[2:]]))
        assert sum(worse["valid"]) == sum(worse["valid_free"]) == len(cases) - 1
        assert np.nansum(worse[MAIN[task]]) == 5
        if task == "qa":
            assert marks["em"] == [1.0] * 6
            half = scores(cases, said(task, [text + " and nobody else at all" for text in right]))
            assert set(half["em"]) == {0.0} and 0 < sum(half["f1"]) < 6
        else:
            held = [replace(case, free="no idea", calls=2, unread=("why",)) for case in said(task, right)]
            assert sum(scores(cases, held)["valid"]) == len(cases) and not sum(scores(cases, held)["valid_free"])


@given(st.lists(st.lists(st.integers(0, 2), max_size=6), max_size=6))
def test_tokens_read_once_are_the_distinct_beginnings(rows):
    assert tokens_once(rows) == len({tuple(row[: i + 1]) for row in rows for i in range(len(row))})


@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_average_ranks_against_scipy(systems, settings, data):
    table = [[data.draw(st.sampled_from([0.1, 0.2, 0.3])) for _ in range(settings)] for _ in range(systems)]
    ranks = average_ranks({f"s{i}": dict(enumerate(row)) for i, row in enumerate(table)})
    np.testing.assert_allclose(list(ranks.values()), rankdata(-np.array(table), axis=0).mean(1))


def test_ranks_that_cannot_be():
    refused(lambda: average_ranks({"a": {"qa@3": 1.0, "qa@5": 1.0}, "b": {"qa@3": 1.0}}), "'b' has no score for 'qa@5'")
