"""Evaluation of the reader: rows, replies held to a form only where they must be, kept replies."""

import json

import pytest

from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.llm.base import Reply
from mindscape.reader.evaluation import Answer, Kept, ask, rows, scored


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


def test_a_role_without_form_is_asked_once(books, tokenizer):
    asked = rows("qa", books, tokenizer, 2)
    model = Model({row.prompt: text for row, text in zip(asked, ["x", "y", "so on and on", "z"], strict=True)})
    model.cut = ["so on and on"]
    answers = ask(model, "qa", [row.prompt for row in asked])
    assert not model.asked_again
    assert [answer.held for answer in answers] == [None] * 4
    assert scored(asked, answers)["valid"] == [1, 1, 0, 1]


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
