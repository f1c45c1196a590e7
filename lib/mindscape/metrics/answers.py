"""Is the right thing found, and are answers right? Recall at k for rankings; exact match and token F1 for free answers,
accuracy for choices, pair accuracy for claims.

The papers write Recall@K and do not say which of its two readings they mean. They agree where a question has one relevant item,
and part where it has several: a question with three clues of which one is found counts 1 in the first reading and 1/3 in the
second. What is relevant is not decided here: where evidence is a span of characters, the caller says which chunks hold it.

Free answers are normalised as in SQuAD (Rajpurkar et al., 2016). Whoever did not answer, did not answer rightly: a
refused or unreadable reply is wrong, stays in the denominator, and is counted apart.

Taught in notebook 00. This module reads no option letter or verdict out of a reply's text.
"""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mindscape.errors import InputError, require
from mindscape.folding import fold
from mindscape.metrics.words import Language, Unit, check_language, check_texts, without_punctuation, words

_ARTICLES = re.compile(r"\b(a|an|the)\b")


def recall_any_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """1 if any relevant item is among the first `k` of `ranked`, else 0. Also called hit rate or success at k.

    `ranked` holds ids, best first, and may be shorter than `k`. An id that comes twice takes two of the `k` places, as
    it does in a reader's prompt. Raises InputError if nothing is relevant, since recall is then undefined, or `k` < 1.

    >>> recall_any_at_k([7, 2, 9, 4], {2, 4, 8}, k=1), recall_any_at_k([7, 2, 9, 4], {2, 4, 8}, k=3)
    (0.0, 1.0)
    """
    return float(bool(_found(ranked, relevant, k)))


def recall_fraction_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Which part of the relevant items is among the first `k` of `ranked`. Arguments and errors: `recall_any_at_k`.

    It cannot reach 1 where more than `k` items are relevant.

    >>> recall_fraction_at_k([7, 2, 9, 4], {2, 4, 8}, k=3), recall_fraction_at_k([7, 2, 9, 4], {2, 4, 8}, k=4)
    (0.3333333333333333, 0.6666666666666666)
    """
    return len(_found(ranked, relevant, k)) / len(set(relevant))


def _found(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> set[Hashable]:
    if isinstance(ranked, str) or isinstance(relevant, str):
        raise InputError("ranked and relevant must be collections of ids, not one string")
    require(relevant, "relevant is empty: recall needs at least one relevant item a question")
    require(k >= 1, f"k is {k}: expected 1 or more")
    return set(ranked[:k]) & set(relevant)


def normalise(answer: str, language: Language) -> str:
    """An answer as it is compared: lower case, no punctuation; no articles in English, no white space in Chinese.

    On ASCII text, SQuAD's own normalisation. Beyond it, curly quotes, dashes and full-width signs are punctuation too.

    >>> normalise("The  King’s Ghost!", "en"), normalise(" 《哈姆雷特》，第 １ 幕。", "zh")
    ('kings ghost', '哈姆雷特第1幕')
    """
    check_language(language)
    bare = without_punctuation(fold(answer))
    if language == "en":
        return " ".join(_ARTICLES.sub(" ", bare).split())
    return "".join(bare.split())


def exact_match(prediction: str, references: str | Sequence[str], language: Language) -> float:
    """1 if the normalised prediction equals any normalised reference, else 0.

    An option letter is no free answer: "A" normalises to nothing. Use `accuracy`. Raises InputError without references
    or with a blank one.

    >>> exact_match("The Ghost.", ["a ghost", "Hamlet's father"], "en"), exact_match("丹麦王子", ["丹麦的王子"], "zh")
    (1.0, 0.0)
    """
    said = normalise(prediction, language) if isinstance(prediction, str) else prediction
    return float(any(said == normalise(each, language) for each in check_texts(prediction, references)))


def token_f1(prediction: str, references: str | Sequence[str], language: Language, unit: Unit = "characters") -> float:
    """The best F1, over the references, between the bags of tokens of prediction and reference.

    Tokens are the words of the normalised answer in English; single characters (as ∞Bench counts) or jieba's words (as
    LongBench counts) in Chinese. If normalisation leaves nothing of one side the score is 0, and 1 if of both (the
    rule of SQuAD 2.0). Raises InputError without references or with a blank one.

    Below, king and Hamlet are 2 of 3 words said and 2 of 4 words asked for: F1 = 2 · 2 / (3 + 4). In Chinese, 4 of 4 and
    4 of 5 characters, 2 · 4 / (4 + 5); as words 丹麦/王子 and 丹麦/的/王子, 2 · 2 / (2 + 3).

    >>> round(token_f1("old king Hamlet", ["Hamlet the king of Denmark"], "en"), 4)
    0.5714
    >>> round(token_f1("丹麦王子", ["丹麦的王子"], "zh"), 4), token_f1("丹麦王子", ["丹麦的王子"], "zh", unit="words")
    (0.8889, 0.8)
    """
    listed = check_texts(prediction, references)
    said = _bag(prediction, language, unit)
    return max(_f1(said, _bag(each, language, unit)) for each in listed)


def _bag(answer: str, language: Language, unit: Unit) -> Counter[str]:
    check_language(language, unit)
    return Counter(normalise(answer, "en").split() if language == "en" else words(answer, "zh", unit))


def _f1(a: Counter[str], b: Counter[str]) -> float:
    if not a or not b:
        return float(a == b)
    return 2 * (a & b).total() / (a.total() + b.total())


class NoAnswer(StrEnum):
    """What stands in place of an answer that was not given. Equal to its plain string, as JSON stores it."""

    REFUSED = "refused"
    UNPARSABLE = "unparsable"


_NO_ANSWER = frozenset(NoAnswer)


@dataclass(frozen=True)
class Accuracy:
    """`value` is the mean of `right`, which has one entry a question (or a pair) for `bootstrap`.

    asked = answered + refused + unparsable; of pairs, these count the claims.
    """

    value: float
    right: tuple[bool, ...]
    asked: int
    refused: int
    unparsable: int

    @property
    def answered(self) -> int:
        return self.asked - self.refused - self.unparsable


def accuracy(predictions: Sequence[Hashable], answers: Sequence[Hashable]) -> Accuracy:
    """How many predictions equal their answers (option letters, labels, truth values), of all that were asked.

    A question without an answer holds a `NoAnswer`. Raises InputError for empty input, unequal lengths, and for None,
    which does not say why there is no answer.

    >>> of = accuracy(["B", "C", NoAnswer.REFUSED, "a"], ["B", "D", "A", "A"])
    >>> of.value, of.right, of.answered, of.refused, of.unparsable
    (0.25, (True, False, False, False), 3, 1, 0)
    """
    if len(predictions) != len(answers):
        raise InputError(f"{len(predictions)} predictions for {len(answers)} answers: expected one each")
    for number, prediction in enumerate(predictions):
        require(prediction is not None, f"predictions[{number}] is None: expected an answer or a NoAnswer")
    right = tuple(said == answer for said, answer in zip(predictions, answers, strict=True))
    return _accuracy(right, predictions)


def pair_accuracy(records: Iterable[Mapping]) -> Accuracy:
    """How many pairs of claims were judged rightly on both sides (NoCha: Karpinska et al., 2024).

    A record is a mapping with `pair` (any key), `answer` (True or False) and `prediction` (True, False or a
    `NoAnswer`). Each pair holds one true and one false claim. A pair without its other half is an error, not a pair
    that is easier than the others. `right` follows the pairs in order of first appearance. For the accuracy over single
    claims, use `accuracy`.

    Raises InputError for empty input, a missing key, a pair that is not one true and one false claim, and a prediction
    that is neither: an unread reply must not pass for a wrong one.

    >>> said = [(1, True, True), (1, False, False), (2, True, "unparsable"), (2, False, False)]
    >>> of = pair_accuracy({"pair": pair, "answer": answer, "prediction": reply} for pair, answer, reply in said)
    >>> of.value, of.right, of.asked, of.unparsable
    (0.5, (True, False), 4, 1)
    """
    pairs: dict[Hashable, dict[bool, bool]] = {}  # key -> answer -> right?
    predictions = []
    for number, record in enumerate(records):
        absent = [key for key in ("pair", "answer", "prediction") if key not in record]
        require(not absent, f"record {number} lacks {', '.join(absent)}: expected pair, answer and prediction")
        key, answer, prediction = record["pair"], record["answer"], record["prediction"]
        require(isinstance(answer, bool), f"record {number}: the answer is {answer!r}: expected True or False")
        if not isinstance(prediction, bool) and prediction not in _NO_ANSWER:
            raise InputError(f"record {number}: the prediction is {prediction!r}: expected True, False or a NoAnswer")
        halves = pairs.setdefault(key, {})
        if answer in halves:
            raise InputError(f"record {number}: pair {key!r} has a second claim that is {answer}: expected one of each")
        halves[answer] = prediction is answer
        predictions.append(prediction)
    for key, halves in pairs.items():
        if len(halves) == 1:
            raise InputError(f"pair {key!r} has no claim that is {not next(iter(halves))}: expected one of each")
    return _accuracy(tuple(all(halves.values()) for halves in pairs.values()), predictions)


def _accuracy(right: tuple[bool, ...], predictions: Sequence[Hashable]) -> Accuracy:
    require(right, "there are no predictions: expected at least one")
    absent = (predictions.count(why) for why in (NoAnswer.REFUSED, NoAnswer.UNPARSABLE))
    return Accuracy(sum(right) / len(right), right, len(predictions), *absent)
