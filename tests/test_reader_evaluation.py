"""Evaluation of the reader: rows, replies held to a form only where they must be, kept replies."""

import json
import math
import sys

import pytest

from mindscape.corpora import shakespeare, storyworld
from mindscape.errors import InputError
from mindscape.llm.base import Reply
from mindscape.reader import evaluation
from mindscape.reader.evaluation import Answer, Kept, ask, interval, rows, scored
from mindscape.roles import ROLES, passages


@pytest.fixture(scope="module")
def books():
    return [storyworld.book(seed, tokens=15_000) for seed in (1000, 1001)]


class Model:
    """Replies by script: free ones, and another where it is held to a form; its form is JSON as json.dumps writes it."""

    def __init__(self, free, held="[0]", cut=()):
        self.free, self.held, self.cut, self.asked_again = dict(free), held, cut, []
        self.backend = self

    def could_write(self, text, schema):
        try:
            return json.dumps(json.loads(text)) == text
        except ValueError:
            return False

    def chat(self, talks, max_new_tokens, schema=None):
        prompts = [message["content"] for (message,) in talks]
        if schema is not None:
            self.asked_again += prompts
            return [Reply(self.held, (), 1, 1, "stop", 0.0) for _ in prompts]
        finish = ["length" if self.free[prompt] in self.cut else "stop" for prompt in prompts]
        return [Reply(self.free[prompt], (), 1, 1, end, 0.0) for prompt, end in zip(prompts, finish, strict=True)]


def test_only_what_the_form_does_not_allow_is_asked_again():
    said = ["[2]", "```json\n[0]\n```", "none of them", "[0,1]", "[1, 2]"]
    model = Model(zip("abcde", said, strict=True), cut=["[1, 2]"])
    answers = ask(model, "silver_chunks", list("abcde"))
    assert model.asked_again == list("bcde")  # fenced, no JSON, spaced otherwise, cut off
    assert [answer.free for answer in answers] == said
    assert [answer.best for answer in answers] == [("[2]", False), *[("[0]", False)] * 4]
    assert answers[-1].cut
    assert ask(model, "silver_chunks", []) == []


def test_passages_that_answer_alone(books, tokenizer):
    for role in evaluation.ANSWERS:
        among, alone = (rows(role, books, tokenizer, 10, alone=only) for only in (False, True))
        assert len(alone) == len(among) == 20
        sizes = [sum(len(row.slots["context"]) for row in some) for some in (among, alone)]
        assert sizes[1] < 0.7 * sizes[0]
    chunks = {book.document.id: passages.cut(book, tokenizer) for book in books}
    for row in alone:  # of claims, the last
        shown = row.slots["context"]
        kept = [chunk for chunk in chunks[row.book.document.id] if row.book.document[chunk].strip() in shown]
        questions = [
            q
            for q, pair in zip(row.book.questions, row.book.claims, strict=True)
            if row.slots["claim"] in (pair.true, pair.false)
        ]
        assert all(passages.relevant(row.book, questions[0], chunk) for chunk in kept)
    with pytest.raises(InputError, match="alone=True with role 'edits': expected one of qa, choice, claim"):
        rows("edits", books, tokenizer, alone=True)


def test_what_can_be_read_counts_as_valid(books, tokenizer):
    asked = rows("silver_chunks", books[:1], tokenizer, 4)
    gold = [ROLES["silver_chunks"].render(row.gold) for row in asked]
    answers = [
        Answer(gold[0], False, gold[0]),
        Answer(f"```json\n{gold[1]}\n```", False, gold[1]),
        Answer("none", False, gold[2]),
        Answer(gold[3], True, gold[3], True),  # the limit cut it off: what would have come is not known
    ]
    numbers = scored(asked, answers)
    assert numbers == {"valid": [1, 1, 1, 0], "valid_free": [1, 1, 0, 0], "f1": [1, 1, 1, 0]}


def test_a_role_without_form_is_asked_once(books, tokenizer):
    asked = rows("qa", books, tokenizer, 2)
    model = Model({row.prompt: text for row, text in zip(asked, ["x", "y", "so on and on", "z"], strict=True)})
    model.cut = ["so on and on"]
    answers = ask(model, "qa", [row.prompt for row in asked])
    assert not model.asked_again
    assert [answer.held for answer in answers] == [None] * 4
    assert scored(asked, answers)["valid"] == [1, 1, 0, 1]


def test_claims_come_in_pairs(books, tokenizer):
    asked = rows("claim", books, tokenizer, 4)
    assert [row.gold.answer for row in asked] == ["TRUE", "FALSE"] * 4
    assert all(a.slots["context"] == b.slots["context"] for a, b in zip(asked[::2], asked[1::2], strict=True))
    yes, no = (f"<explanation>So.</explanation>\n<answer>{word}</answer>" for word in ("TRUE", "FALSE"))
    said = [yes, yes, yes, no, no, yes, yes, yes]  # one pair right on both sides
    numbers = scored(asked, [Answer(text, False, text) for text in said])
    assert sum(numbers["accuracy"]) == 4
    assert [number for number in numbers["pair_accuracy"] if not math.isnan(number)] == [0, 1, 0, 0]
    of = interval(asked, numbers["pair_accuracy"])
    assert (of.value, of.n) == (0.25, 4)


def test_kept_replies_are_found_again(books, tokenizer, tmp_path):
    path = tmp_path / "replies.jsonl"
    kept = Kept.of(path, "smollm2", dtype="bfloat16")
    silver, qa = (
        [row.prompt for row in rows(role, books, tokenizer, n)] for role, n in (("silver_nodes", 2), ("qa", 1))
    )
    first = [
        Answer("[0]", False, "[0]"),
        Answer("none\u2028or one", True, "[-1]", False),
        Answer("", False, "[1"),
        Answer("[2]", True, "[2]", True),
    ]
    second = [Answer("A"), Answer("是B", True)]
    assert kept.lacks("silver_nodes", silver) == silver
    kept.add("silver_nodes", silver, first)
    kept.add("qa", qa, second)
    again = Kept.of(path, "smollm2")
    assert again.about["dtype"] == "bfloat16"
    assert (again.answers("silver_nodes", silver), again.answers("qa", qa)) == (first, second)
    assert again.lacks("silver_nodes", silver) == []
    assert again.lacks("silver_chunks", silver) == silver  # the same prompt in another role is another question
    with pytest.raises(InputError, match="has no reply of role 'qa' to 'Who else"):
        again.answers("qa", ["Who else?"])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"role": "qa", "key": "8')  # killed in the middle of a line
    assert Kept.of(path, "smollm2", dtype="bfloat16").answers("qa", qa) == second
    kept.add("qa", ["Who else?"], [Answer("Ann")])
    assert kept.answers("qa", ["Who else?"]) == [Answer("Ann")]
    with pytest.raises(InputError, match="has no reply of role 'qa' to 'And who"):
        again.answers("qa", ["And who?"])
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"role": "choice"}) + "\n")
    with pytest.raises(InputError, match="line 9: expected role, key, free and cut"):
        again.answers("qa", qa)


def test_a_play_has_prompts_for_what_can_be_counted_there(tokenizer):
    play = shakespeare.play("macbeth")
    for role in ("chunk_summary", "entities", "edits", "memory"):
        found = evaluation.play_prompts(role, play, tokenizer)
        assert len(found) == evaluation.PLAY == len({prompt for _, prompt in found})
        assert all(text in play.text and text in prompt for text, prompt in found)


@pytest.mark.parametrize(
    "given, said",
    [
        (["--play", "macbeth", "--roles", "qa"], "role 'qa' is not asked of a play: expected one of chunk_summary"),
        (["--play", "macbeth", "--alone"], "--play has no gold, and so no --alone"),
        (["--roles", "judge", "--books", "1"], "no role 'judge'"),
        (["--alone", "--roles", "edits", "--books", "1"], "alone=True with role 'edits'"),
    ],
)
def test_what_cannot_be_asked_is_said_before_a_model_is(given, said, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["evaluation", "--out", str(tmp_path / "replies.jsonl"), *given])
    monkeypatch.setattr(evaluation.llm, "load", None)
    with pytest.raises(SystemExit, match=f"error: {said}"):
        evaluation.main()
    assert not list(tmp_path.iterdir())


def test_replies_of_another_adapter_are_not_taken(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapter_model.safetensors").write_text(name)
    path = tmp_path / "replies.jsonl"
    Kept.of(path, "embedded", tmp_path / "a", "float32")
    Kept.of(path, "embedded", tmp_path / "a")
    for other in ({"adapter": tmp_path / "b"}, {"adapter": tmp_path / "a", "dtype": "bfloat16"}, {}):
        with pytest.raises(InputError, match="holds (replies of|another run)"):
            Kept.of(path, "embedded", **other)
    with pytest.raises(InputError, match="cannot read .*none.jsonl"):
        Kept.of(tmp_path / "none.jsonl", "smollm2")


def test_rows_are_the_same_each_time(books, tokenizer):
    for role in ("qa", "entities"):
        asked = rows(role, books, tokenizer, 3)
        assert [row.prompt for row in asked] == [row.prompt for row in rows(role, books, tokenizer, 3)]
        assert len(asked) == 6
    assert set(evaluation.ROWS) == set(evaluation.LONGEST) == set(ROLES)
    with pytest.raises(InputError, match="no role 'judge'"):
        rows("judge", books, tokenizer)


def test_splits_are_apart():
    seeds = {name: set(seeds) for name, (seeds, _) in evaluation.SPLITS.items()}
    assert seeds["test"] <= set(storyworld.TEST) and seeds["develop"] <= set(storyworld.DEVELOP)
    assert not seeds["hard"] & {*storyworld.TRAIN, *storyworld.DEVELOP, *storyworld.TEST}
    with pytest.raises(InputError, match="expected develop, test, hard"):
        evaluation.books("train")


def test_gold_fits_the_longest_reply(books, tokenizer):
    for role in ROLES:
        for row in rows(role, books, tokenizer, 4):
            assert len(tokenizer.encode(ROLES[role].render(row.gold))) < evaluation.LONGEST[role]
