"""Scores for retrieval, for answers and for texts, and how sure one can be of their means.

One definition each. Scores lie between 0 and 1 and are for one question; the mean over questions is left to the
caller, who passes the scores themselves to `bootstrap` or `paired_bootstrap`.

Taught in notebook 00. This package parses no replies (a refused or unreadable one is passed as a `NoAnswer`), asks no
judge, and knows no benchmark's official script.

>>> scores = [token_f1(said, answers, "en") for said, answers in [("the king", ["a king"]), ("a ghost", ["the queen"])]]
>>> scores, bootstrap(scores).value
([1.0, 0.0], 0.5)
"""

from mindscape.metrics.answers import (
    Accuracy,
    NoAnswer,
    accuracy,
    exact_match,
    normalise,
    pair_accuracy,
    recall_any_at_k,
    recall_fraction_at_k,
    token_f1,
)
from mindscape.metrics.intervals import Difference, Interval, bootstrap, grouped, paired_bootstrap
from mindscape.metrics.overlap import Bleu, Meteor, bleu, meteor, rouge_l
from mindscape.metrics.words import segment, words

__all__ = [
    "Accuracy", "Bleu", "Difference", "Interval", "Meteor", "NoAnswer", "accuracy", "bleu", "bootstrap",
    "exact_match", "grouped", "meteor", "normalise", "pair_accuracy", "paired_bootstrap", "recall_any_at_k",
    "recall_fraction_at_k", "rouge_l", "segment", "token_f1", "words",
]  # fmt: skip
