"""Silver evidence: votes, negatives, replies, and a run that was killed and goes on."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindscape.errors import InputError
from mindscape.llm.base import Reply
from mindscape.mia.silver import HARD, SIMPLE, annotate, augmented, chosen, negatives, vote

units = st.integers(0, 20)
ranked = st.lists(units, unique=True, max_size=8)


@given(st.lists(ranked, min_size=1, max_size=4), st.integers(1, 10))
def test_votes_against_a_count_by_hand(lists, k):
    won = vote(lists, k)
    assert won == vote(lists, 100)[:k] and len(set(won)) == len(won)
    votes = {unit: sum(unit in some for some in lists) for some in lists for unit in some}
    assert set(vote(lists, 100)) == set(votes)
    assert all(votes[a] >= votes[b] for a, b in zip(won, won[1:], strict=False))
    assert len(lists) > 1 or won == list(lists[0])[:k]  # one list: its own order


@given(ranked, st.data(), st.integers(0, 100))
def test_negatives_are_apart_from_silver_and_from_each_other(candidates, data, seed):
    silver = data.draw(st.lists(st.sampled_from(candidates), unique=True)) if candidates else []
    hard, simple = negatives(candidates, silver, 21, np.random.default_rng(seed))
    groups = [set(silver), set(hard), set(simple)]
    assert sum(map(len, groups)) == len(set().union(*groups)) == len(silver) + len(hard) + len(simple)
    assert hard == [unit for unit in candidates if unit not in silver][:HARD]
    assert len(simple) == min(SIMPLE, 21 - len(silver) - len(hard))


@pytest.mark.parametrize(
    "reply, found",
    [("[2, 0, 2]", [0, 2]), ("[-1]", []), ("```json\n[1]\n```", [1]), ("[1, 9]", [1]), ("none", []), ("[]", [])],
)
def test_what_a_reply_chooses(reply, found):
    picked, invalid = chosen(reply, 3)
    assert picked == found
    assert bool(invalid) == (reply in ("[1, 9]", "none", "[]"))


class Model:
    """Picks the first passage that it is shown, and dies at the call that it is told to."""

    fingerprint = "first"

    def __init__(self, dies=99):
        self.calls, self.dies = 0, dies

    def chat(self, talks, schema, max_new_tokens):
        self.calls += 1
        if self.calls == self.dies:
            raise KeyboardInterrupt
        return [Reply("[0]", (), 1, 1, "stop", 0.0) for _ in talks]


UNITS = [f"passage {i}" for i in range(12)]
ASKED = [(f"q{i}", f"What is in passage {i % 12}?", f"thing {i}") for i in range(20)]


def search(texts, k):
    """Starts at the number that the text ends with, or holds."""
    first = [int("".join(filter(str.isdigit, text)) or 0) % 12 for text in texts]
    return np.array([[(i + j) % 12 for j in range(k)] for i in first])


def test_a_killed_run_asks_for_the_rest_alone(tmp_path):
    whole = annotate(Model(), search, UNITS, ASKED, tmp_path / "whole.jsonl")
    with pytest.raises(KeyboardInterrupt):
        annotate(Model(dies=3), search, UNITS, ASKED, tmp_path / "killed.jsonl")
    with (tmp_path / "killed.jsonl").open("a") as file:
        file.write('{"question": "q16", "lis')  # the line that was being written
    model = Model()
    again = annotate(model, search, UNITS, ASKED, tmp_path / "killed.jsonl")
    assert model.calls == 1  # the last four of twenty
    assert again == whole
    assert (tmp_path / "killed.jsonl").read_text() == (tmp_path / "whole.jsonl").read_text()


def test_one_question_by_hand(tmp_path):
    (one,) = annotate(Model(), search, UNITS, [("x", "Who is in passage 3?", "7")], tmp_path / "a.jsonl", k=3)
    assert one.lists == {"q": (3, 4, 5), "q+a": (1, 2, 3), "a": (7, 8, 9)}
    assert one.candidates == (3, 1, 7)  # two votes; then the best rank, then the index
    assert (one.silver, one.hard) == ((3,), (1, 7))
    assert len(one.simple) == 5 and not set(one.simple) & {1, 3, 7}


def test_bad_input(tmp_path):
    path = tmp_path / "a.jsonl"
    annotate(Model(), search, UNITS, ASKED[:1], path)
    with pytest.raises(InputError, match="k is 5, expected 4"):
        annotate(Model(), search, UNITS, ASKED[:1], path, k=4)
    for other in ({"language": "zh"}, {"retriever": "bm25"}, {"units": [*UNITS[1:], "another"]}):
        with pytest.raises(InputError, match="holds another run: .*, expected"):
            annotate(Model(), search, **{"units": UNITS, "questions": ASKED[:1], "path": path, **other})
    with pytest.raises(InputError, match="has question 'q0' in other words: expected 'What else"):
        annotate(Model(), search, UNITS, [("q0", "What else?", "thing 0")], path)
    with pytest.raises(InputError, match="same id"):
        annotate(Model(), search, UNITS, ASKED[:1] * 2, path)
    path.write_text(path.read_text() + json.dumps({"question": "q"}) + "\n")
    with pytest.raises(InputError, match="line 3: expected a question's annotation"):
        annotate(Model(), search, UNITS, ASKED[:1], path)
    with pytest.raises(InputError, match="expected text in both"):
        augmented("Who?", " ")
    with pytest.raises(InputError, match="k=0"):
        vote([[1]], 0)
