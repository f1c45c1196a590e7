"""BM25 against its formula, in English and Chinese."""

import math

import numpy as np
from extras import refused
from hypothesis import given
from hypothesis import strategies as st

from mindscape.search import BM25, terms

WORDS = ("lamp", "boat", "ann", "tom", "sings")
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def by_hand(passages, question, k1=1.5, b=0.75):
    bags = [passage.split() for passage in passages]
    average = sum(map(len, bags)) / len(bags)
    scores = []
    for bag in bags:
        score = 0.0
        for term in question.split():
            holding, f = sum(term in other for other in bags), bag.count(term)
            idf = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
            score += idf * f / (f + k1 * (1 - b + b * len(bag) / average)) if f else 0.0
        scores.append(score)
    return np.array(scores)


@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_scores_are_the_formula(passages, question):
    ids, scores = BM25(passages).search([question], k=len(passages))
    expected = by_hand(passages, question)
    np.testing.assert_allclose(scores[0], expected[ids[0]], atol=1e-5)
    assert list(scores[0]) == sorted(scores[0], reverse=True)


def test_ties_stand_in_order():
    ids, _ = BM25(["a lamp", "a lamp", "a boat"]).search(["lamp", "unheard-of"], k=3)
    assert ids.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_terms():
    assert terms("The wigmaker's NIECE, and her lamp") == ["wigmaker", "niece", "lamp"]
    ids, _ = BM25(["他买了一盏灯笼。", "她丢了一顶帽子。"], "zh").search(["帽子是谁丢的？", "谁买灯笼？"], k=1)
    assert ids.ravel().tolist() == [1, 0]


def test_bad_input():
    refused(lambda: BM25([]), "no passages")
    refused(lambda: BM25(["lamp"]).search(["lamp"], k=0), "k=0")
    refused(lambda: BM25(["lamp"], "fr"), "language")
    assert BM25(["lamp"]).search([], k=3)[0].shape == (0, 1)
