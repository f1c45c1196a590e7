"""Rows with gold, and scores of answers to them."""

import math

import pytest
from extras import refused

import storyworld
from mindscape.ask import LONGEST
from mindscape.corpora import shakespeare
from mindscape.question import Answer
from mindscape.roles import ROLES
from storyworld import SPLITS
from storyworld import books as of_split
from storyworld.teaching import passages
from storyworld.teaching.scoring import ANSWERS, PLAY, ROWS, interval, play_prompts, rows, scored


@pytest.fixture(scope="module")
def books():
    return [storyworld.book(seed, tokens=15_000) for seed in (1000, 1001)]


def test_passages_that_answer_alone(books, tokenizer):
    for role in ANSWERS:
        among, alone = (rows(role, books, tokenizer, 10, alone=only) for only in (False, True))
        assert len(alone) == len(among) == 20
        sizes = [sum(len(row.slots["context"]) for row in examples) for examples in (among, alone)]
        assert sizes[1] < 0.7 * sizes[0]
    chunks = {book.document.id: passages.cut(book, tokenizer) for book in books}
    for row in alone:  # of claims, the last
        shown = row.slots["context"]
        kept = [chunk for chunk in chunks[row.book.document.id] if row.book.document[chunk].strip() in shown]
        pairs = zip(row.book.questions, row.book.claims, strict=True)
        question = next(q for q, pair in pairs if row.slots["claim"] in (pair.true, pair.false))
        assert all(passages.relevant(row.book, question, chunk) for chunk in kept)
    said = "alone=True with role 'edits': expected one of qa, choice, claim"
    refused(lambda: rows("edits", books, tokenizer, alone=True), said)


def test_what_can_be_read_counts_as_valid(books, tokenizer):
    examples = rows("silver_chunks", books[:1], tokenizer, 4)
    texts = [ROLES["silver_chunks"].render(row.gold) for row in examples]
    answers = [
        Answer(texts[0], examples[0].gold, free=texts[0]),
        Answer(texts[1], examples[1].gold, free=f"```json\n{texts[1]}\n```", calls=2),
        Answer(texts[2], examples[2].gold, ("no list",), free="none", calls=2),
        Answer(texts[3], None, ("cut off",) * 2, free=texts[3], cut=True, calls=2),  # what would have come is not known
    ]
    numbers = scored(examples, answers)
    assert numbers == {"valid": [1, 1, 1, 0], "valid_free": [1, 1, 0, 0], "f1": [1, 1, 1, 0]}


def test_claims_come_in_pairs(books, tokenizer):
    examples = rows("claim", books, tokenizer, 4)
    assert [row.gold.answer for row in examples] == ["TRUE", "FALSE"] * 4
    assert all(a.slots["context"] == b.slots["context"] for a, b in zip(examples[::2], examples[1::2], strict=True))
    yes, no = (f"<explanation>So.</explanation>\n<answer>{word}</answer>" for word in ("TRUE", "FALSE"))
    said = [yes, yes, yes, no, no, yes, yes, yes]  # one pair right on both sides
    numbers = scored(examples, [Answer(text, ROLES["claim"].parse(text)[0]) for text in said])
    assert sum(numbers["accuracy"]) == 4
    assert [number for number in numbers["pair_accuracy"] if not math.isnan(number)] == [0, 1, 0, 0]
    accuracy = interval(examples, numbers["pair_accuracy"])
    assert (accuracy.value, accuracy.n) == (0.25, 4)


def test_a_play_has_prompts_for_what_can_be_counted_there(tokenizer):
    play = shakespeare.play("macbeth")
    for role in ("chunk_summary", "entities", "edits", "memory"):
        pairs = play_prompts(role, play, tokenizer)
        assert len(pairs) == PLAY == len({prompt for _, prompt in pairs})
        assert all(text in play.text and text in prompt for text, prompt in pairs)


def test_rows_are_the_same_each_time(books, tokenizer):
    for role in ("qa", "entities"):
        examples = rows(role, books, tokenizer, 3)
        assert [row.prompt for row in examples] == [row.prompt for row in rows(role, books, tokenizer, 3)]
        assert len(examples) == 6
    assert set(ROWS) == set(ROLES) <= set(LONGEST)
    refused(lambda: rows("judge", books, tokenizer), "no role 'judge'")


def test_splits_are_apart():
    seeds = {name: set(seeds) for name, (seeds, _) in SPLITS.items()}
    assert seeds["test"] <= set(storyworld.TEST) and seeds["develop"] <= set(storyworld.DEVELOP)
    assert not seeds["hard"] & {*storyworld.TRAIN, *storyworld.DEVELOP, *storyworld.TEST}
    refused(lambda: of_split("train"), "expected develop, test, hard")


def test_gold_fits_the_longest_reply(books, tokenizer):
    for role in ROLES:
        for row in rows(role, books, tokenizer, 4):
            assert len(tokenizer.encode(ROLES[role].render(row.gold))) < LONGEST[role]
