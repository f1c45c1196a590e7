"""Evaluation of the reader: rows, replies held to a form only where they must be, kept replies."""

import json
import math

import pytest

from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.llm import Ledger
from mindscape.llm.base import Reply
from mindscape.reader import evaluation
from mindscape.reader.evaluation import Answer, ask, interval, keep, kept, rows, scored
from mindscape.roles import ROLES


@pytest.fixture(scope="module")
def books():
    return [storyworld.book(seed, tokens=15_000) for seed in (1000, 1001)]


class Model:
    """Replies by script: free ones, and the gold where it is held to a form."""

    def __init__(self, asked, free):
        self.of = {row.prompt: (row, text) for row, text in zip(asked, free, strict=True)}
        self.held, self.ledger = [], Ledger()

    def chat(self, talks, max_new_tokens, schema=None):
        found = []
        for (message,) in talks:
            row, text = self.of[message["content"]]
            if schema is not None:
                self.held.append(row)
                text = ROLES[row.role].render(row.gold)
            cut = len(text.split()) > max_new_tokens
            found.append(Reply(text, (), 1, 1, "length" if cut else "stop", 0.0))
        return found


def test_only_what_is_not_in_the_form_is_asked_again(books, tokenizer):
    asked = rows("silver_chunks", books, tokenizer, 2)
    free = [ROLES["silver_chunks"].render(asked[0].gold), "```json\n[0]\n```", "none of them", "[0,1]"]
    model = Model(asked, free)
    answers = ask(model, asked)
    assert model.held == asked[1:]  # fenced, no JSON, and JSON that is spaced otherwise
    assert [answer.free for answer in answers] == free
    numbers = scored(asked, answers)
    assert numbers["valid"] == [1, 1, 1, 1]
    assert numbers["valid_free"] == [1, 1, 0, 1]
    assert numbers["f1"] == [1, 1, 1, 1]


def test_a_role_without_form_is_asked_once(books, tokenizer):
    asked = rows("choice", books, tokenizer, 2)
    answers = ask(Model(asked, ["A", "(b)", "I do not know", "C."]), asked)
    assert [answer.held for answer in answers] == [None] * 4
    assert scored(asked, answers)["valid"] == [1, 1, 0, 1]


def test_claims_come_in_pairs(books, tokenizer):
    asked = rows("claim", books, tokenizer, 4)
    assert [row.gold.answer for row in asked] == ["TRUE", "FALSE"] * 4
    assert all(a.slots["context"] == b.slots["context"] for a, b in zip(asked[::2], asked[1::2], strict=True))
    yes = "<explanation>So it is.</explanation>\n<answer>TRUE</answer>"
    numbers = scored(asked, [Answer(yes, yes)] * 8)
    assert sum(numbers["accuracy"]) == 4
    assert [number for number in numbers["pair_accuracy"] if not math.isnan(number)] == [0] * 4
    assert interval(asked, numbers["pair_accuracy"]).n == 4


def test_kept_replies_are_found_again(books, tokenizer, tmp_path):
    path = tmp_path / "replies.jsonl"
    silver, choice = rows("silver_nodes", books, tokenizer, 2), rows("choice", books, tokenizer, 1)
    first = [Answer("[0]", "[0]"), Answer("none", "[-1]"), Answer("", "[1]"), Answer("[2]", "[2]")]
    second = [Answer("A"), Answer("是B")]
    keep(path, silver, first)
    keep(path, choice, second)
    assert kept(path, silver) == first
    assert kept(path, choice) == second
    other = rows("silver_nodes", books, tokenizer, 2, seed=1)
    with pytest.raises(InputError, match="has no reply for a row of role 'silver_nodes' of storyworld-1000"):
        kept(path, other)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"role": "choice"}) + "\n")
    with pytest.raises(InputError, match="line 7: expected role, key and free"):
        kept(path, choice)


def test_rows_are_the_same_each_time(books, tokenizer):
    for role in ("qa", "entities"):
        asked = rows(role, books, tokenizer, 3)
        assert [row.key for row in asked] == [row.key for row in rows(role, books, tokenizer, 3)]
        assert len(asked) == 6
    assert set(evaluation.ROWS) == set(evaluation.LONGEST) == set(ROLES)
    with pytest.raises(InputError, match="no role 'judge'"):
        rows("judge", books, tokenizer)


def test_gold_fits_the_longest_reply(books, tokenizer):
    for role in ROLES:
        for row in rows(role, books, tokenizer, 4):
            assert len(tokenizer.encode(ROLES[role].render(row.gold))) < evaluation.LONGEST[role]
