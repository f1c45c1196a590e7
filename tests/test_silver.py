"""Silver evidence: votes, negatives, replies, and a run that was killed and goes on."""

import numpy as np
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Model

from mindscape.mia.embedding import HARD, SIMPLE, annotate, chosen, negatives, vote
from mindscape.store import Maker

pytestmark = pytest.mark.usefixtures("own_store")
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


class First(Model):
    """Picks the first passage that it is shown."""

    name, maker = "first", Maker("first", {})

    def __init__(self, dies=None):
        super().__init__(lambda prompt: "[0]", dies=dies)


class Places:
    """A retriever: passages stand around a circle, a query at the number that it holds, or ends with."""

    maker = Maker("places", {})

    def units(self, texts):
        return self.queries(texts)

    def queries(self, questions, summary=None, task="chunk"):
        at = np.array([int("".join(filter(str.isdigit, text)) or 0) % 12 for text in questions])
        angle = at * np.pi / 6
        return np.stack([np.cos(angle + 0.01), np.sin(angle + 0.01)], 1).astype(np.float32)


UNITS = [f"passage {i}" for i in range(12)]
ASKED = [(f"q{i}", f"What is in passage {i % 12}?", f"thing {i}") for i in range(20)]


def test_what_is_in_the_store_is_not_asked_again():
    model = First()
    some = annotate(model, Places(), UNITS, ASKED[:8])
    whole = annotate(model, Places(), UNITS, ASKED)
    assert model.calls == 2 and whole[:8] == some and [one.question for one in whole] == [name for name, *_ in ASKED]
    with pytest.raises(KeyboardInterrupt):
        annotate(First(dies=1), Places(), UNITS, [("new", "What is new?", "3")])
    assert annotate(First(dies=1), Places(), UNITS, ASKED) == whole


def test_one_question_by_hand():
    (one,) = annotate(First(), Places(), UNITS, [("x", "Who is in passage 3?", "7")], k=3)
    near = {at: [at, (at + 1) % 12, (at - 1) % 12] for at in (3, 1, 7)}
    assert {name: set(found) for name, found in one.lists.items()} == {
        "q": set(near[3]),
        "q+a": set(near[1]),  # 37 mod 12
        "a": set(near[7]),
    }
    assert one.candidates == tuple(vote(list(one.lists.values()), 3))
    assert one.silver == one.candidates[:1] and one.hard == one.candidates[1:]
    assert len(one.simple) == 5 and not set(one.simple) & set(one.candidates)


def test_bad_input():
    refused(lambda: annotate(First(), Places(), UNITS, ASKED[:1] * 2), "same id")
