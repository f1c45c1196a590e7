"""Scores for retrieval, for answers and for texts, and how sure one can be of their means.

One definition each. Scores lie between 0 and 1 and are for one question; the mean over questions is left to the
caller, who passes the scores themselves to `bootstrap` or `paired_bootstrap`. Nothing here parses a reply (a refused or
unreadable one is passed as a `NoAnswer`), asks a judge, or knows a benchmark's official script.

>>> scores = [token_f1(said, answers, "en") for said, answers in [("the king", ["a king"]), ("a ghost", ["the queen"])]]
>>> scores, bootstrap(scores).value
([1.0, 0.0], 0.5)

*Units that scores count* (`words`): English words, Chinese characters or words; not stemmed, stop words kept.

*Wording* (`bleu`, `rouge_l`, `meteor`, which MoM reports in Table 1): how much of a reference's wording a text has, each by its
maintained library, which is imported where it is used: rouge-score and nltk together take seconds to load. None of them knows
whether a text is true. One text is scored against the references of one question; there is no BLEU over a corpus.

*Retrieval.* The papers write Recall@K and do not say which of its two readings they mean. They agree where a question has one
relevant item, and part where it has several: a question with three clues of which one is found counts 1 in the first reading
(`recall_any_at_k`) and 1/3 in the second (`recall_fraction_at_k`). What is relevant is not decided here: where evidence is a
span of characters, the caller says which chunks hold it.

*Answers.* Exact match and token F1 for free answers, normalised as in SQuAD (Rajpurkar et al., 2016); accuracy for choices,
pair accuracy for claims. Whoever did not answer, did not answer rightly: a refused or unreadable reply is wrong, stays in the
denominator, and is counted apart.

*Intervals.* Bootstrap over questions, and paired comparisons of two systems. Questions about one book stand or fall together:
with `groups` whole books are drawn, not single questions, and the interval is as wide as it must be. Resamples are scipy's, the
method is Efron's percentile bootstrap (Efron and Tibshirani, 1993, chapter 13). Nothing is corrected for many comparisons, and
an interval says nothing about corpora, seeds or models that were not drawn.

Taught in notebook 00_start_here.
"""

import math
import re
import string
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from types import SimpleNamespace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mindscape.errors import InputError, require
from mindscape.text import fold, visible

Language = str  # "en" or "zh", as a document has it: `check_language` refuses others
Unit = Literal["characters", "words"]
Groups = Sequence[Hashable] | None

_ENGLISH_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(text: str, language: Language, unit: Unit = "characters") -> list[str]:
    """The units of a text in order, lower case, without punctuation, folded by `mindscape.text`.

    English: words, with apostrophes inside them. Chinese: single characters, Latin letters and digits among them
    (`unit="characters"`), or the words that jieba finds (`unit="words"`). `unit` has no meaning in English.

    >>> words("The King’s ghost -- it's he!", "en")
    ['the', "king's", 'ghost', "it's", 'he']
    >>> words("他是丹麦的王子。", "zh")
    ['他', '是', '丹', '麦', '的', '王', '子']
    >>> words("他是丹麦的王子。", "zh", unit="words")
    ['他', '是', '丹麦', '的', '王子']
    """
    check_language(language, unit)
    if language == "en":
        return _ENGLISH_WORD.findall(fold(text))
    # jieba reads punctuation as word borders, so it goes first and the punctuation after it
    units = segment(visible(text)) if unit == "words" else unicodedata.normalize("NFC", text)
    return [bare for each in units if (bare := without_punctuation(fold(each)))]


def segment(text: str) -> list[str]:
    """The Chinese words of a text by jieba, punctuation included, white space left out, otherwise as written.

    >>> segment("他是丹麦的王子。")
    ['他', '是', '丹麦', '的', '王子', '。']
    """
    return [word for word in _jieba().lcut(text) if not word.isspace()]


@cache
def _jieba():
    """A jieba of our own, with its dictionary read but not cached on disk.

    jieba's global one keeps a marshal file under a fixed name in the shared temporary folder, which is no quicker to
    read and which anyone may have put there, and it logs to stderr.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba imports pkg_resources and holds invalid escapes
        import jieba
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


def without_punctuation(text: str) -> str:
    """The text without white space at its ends, ASCII punctuation and signs, and all other Unicode punctuation.

    >>> without_punctuation("«Why, “he” … 《哈姆雷特》！»")
    'Why he  哈姆雷特'
    """
    return "".join(c for c in text if c not in string.punctuation and unicodedata.category(c)[0] != "P").strip()


def check_language(language: str, unit: str = "characters") -> None:
    """Raise InputError for a language or a unit that the scores do not know."""
    require(language in ("en", "zh"), f"unknown language {language!r}: expected 'en' or 'zh'")
    require(unit in ("characters", "words"), f"unknown unit {unit!r}: expected 'characters' or 'words'")


def check_texts(prediction: str, references: str | Sequence[str]) -> list[str]:
    """The references as a list; a single string is one reference. Raises InputError if there is nothing to compare."""
    require(isinstance(prediction, str), f"the prediction is {prediction!r}: expected a string, '' where nothing was said")
    listed = [references] if isinstance(references, str) else list(references)
    require(listed, "there is no reference: expected at least one")
    for number, reference in enumerate(listed):
        fits = isinstance(reference, str) and reference.strip()
        require(fits, f"references[{number}] is {reference!r}: expected a string that is not blank")
    return listed


def _said(prediction: str) -> str:
    """What was answered: nothing, where a `NoAnswer` stands."""
    return "" if isinstance(prediction, NoAnswer) else prediction


def _shown(prediction: str, references: str | Sequence[str], language: Language, unit: Unit) -> list[str]:
    """The prediction and its references without what does not show."""
    check_language(language, unit)
    return [visible(text) for text in (_said(prediction), *check_texts(prediction, references))]


@dataclass(frozen=True)
class Bleu:
    """BLEU-1 to BLEU-4 of one text, and what they are made of: n-gram precisions (unsmoothed) and brevity penalty."""

    bleu_1: float
    bleu_2: float
    bleu_3: float
    bleu_4: float
    precisions: tuple[float, ...]
    brevity_penalty: float

    @property
    def average(self) -> float:
        """The arithmetic mean of BLEU-1 to BLEU-4."""
        return (self.bleu_1 + self.bleu_2 + self.bleu_3 + self.bleu_4) / 4


def bleu(prediction: str, references: str | Sequence[str], language: Language, unit: Unit = "characters") -> Bleu:
    """BLEU-n: the geometric mean of the precisions of 1- to n-grams, times the brevity penalty (Papineni et al., 2002).

    By sacrebleu, sentence level, case kept. Tokens: 13a in English; in Chinese sacrebleu's `zh` (every Han character is
    a token) or jieba's words. Smoothing: `exp` (an order without a match counts half as much as the one before it),
    and orders longer than the text are left out (`effective_order`). Raises InputError without references or with a
    blank one.

    "BLEU average" is no fixed term. Here it is the mean of BLEU-1 to BLEU-4. CRUD-RAG's script instead reports
    `precisions[0]` as BLEU-1 and the geometric mean of all four `precisions` as the average, both over jieba's words
    and without brevity penalty.

    Below, 3 of 3 words, 1 of 2 bigrams and no trigram (smoothed to 1/2) match; the text has 3 words of 4, so the
    penalty is exp(1 - 4/3) = 0.7165.

    >>> scores = bleu("the ghost speaks", ["speaks the ghost tonight"], "en")
    >>> [round(score, 4) for score in (scores.bleu_1, scores.bleu_2, scores.bleu_3, scores.brevity_penalty)], scores.precisions
    ([0.7165, 0.5067, 0.4514, 0.7165], (1.0, 0.5, 0.0, 0.0))
    """
    prediction, *listed = _shown(prediction, references, language, unit)
    if language == "zh" and unit == "words":
        prediction, *listed = (" ".join(segment(text)) for text in (prediction, *listed))
    tokenize = "13a" if language == "en" else "zh" if unit == "characters" else "none"
    scores = [scorer.sentence_score(prediction, listed) for scorer in _bleu_scorers(tokenize)]
    bleu_1, bleu_2, bleu_3, bleu_4 = (min(score.score / 100, 1.0) for score in scores)  # rounding can leave it a hair above 1
    last = scores[-1]
    precisions = tuple(hits / total if total else 0.0 for hits, total in zip(last.counts, last.totals, strict=True))
    return Bleu(bleu_1, bleu_2, bleu_3, bleu_4, precisions, last.bp)


@cache
def _bleu_scorers(tokenize: str) -> list:
    """One scorer an order, 1 to 4."""
    from sacrebleu.metrics import BLEU

    return [BLEU(tokenize=tokenize, smooth_method="exp", effective_order=True, max_ngram_order=n) for n in range(1, 5)]


def rouge_l(prediction: str, references: str | Sequence[str], language: Language, unit: Unit = "characters") -> float:
    """ROUGE-L: the F1 of the longest common subsequence of tokens, best over the references (Lin, 2004).

    By rouge-score, without stemming. Tokens: lower-case runs of a–z and 0–9 in English; those of `words` in Chinese, of
    which rouge-score by itself would drop every character. Time and memory grow with the product of both lengths (about
    0.2 s and 10 MB for 1,000 tokens each). Raises InputError without references or with a blank one.

    Below, "the ghost speaks" has 3 of 3 and 3 of 5 tokens in the same order: 2 · 3 / (3 + 5).

    >>> round(rouge_l("The ghost speaks.", ["the old ghost speaks again"], "en"), 4)
    0.75
    >>> round(rouge_l("王子死了", ["王子没有死"], "zh"), 4)
    0.6667
    """
    prediction, *listed = _shown(prediction, references, language, unit)
    return _rouge_scorer(language, unit).score_multi(listed, prediction)["rougeL"].fmeasure


@cache
def _rouge_scorer(language: Language, unit: Unit):
    from rouge_score.rouge_scorer import RougeScorer

    tokenizer = SimpleNamespace(tokenize=partial(words, language=language, unit=unit)) if language == "zh" else None
    return RougeScorer(["rougeL"], use_stemmer=False, tokenizer=tokenizer)


@dataclass(frozen=True)
class Meteor:
    """A METEOR score and how words were matched: "exact+stem" or "exact+stem+synonym". The two do not compare."""

    value: float
    matching: str


def meteor(
    prediction: str, references: str | Sequence[str], language: Language, unit: Unit = "characters", synonyms: bool = True
) -> Meteor:
    """METEOR: F-mean of matched words, 9 parts recall, minus a penalty for broken order; best over the references.

    By nltk, with its parameters (α 0.9, β 3, γ 0.5: Lavie and Agarwal, 2007), on the tokens of `words`. Words match
    exactly, then by Porter stem, then, in English, as synonyms in WordNet (nltk looks up the stems, and so misses that
    an automobile is a car), if nltk finds WordNet's data on this machine and `synonyms` does not forbid it. Nothing is
    downloaded. In Chinese there are no synonyms, and only Latin words have stems.

    Raises InputError without references or with a blank one, and for a WordNet with files missing.

    Below, the and was match, 2 of 4 words on both sides: the F-mean is 1/2. They stand apart, in 2 chunks, so the
    penalty is 0.5 · (2/2)³. WordNet adds quick = fast: 3 of 4 words in 2 chunks, (1 - 0.5 · (2/3)³) · 3/4 = 0.6389.

    >>> meteor("the automobile was quick", ["the car was fast"], "en", synonyms=False)
    Meteor(value=0.25, matching='exact+stem')
    """
    from nltk.translate.meteor_score import meteor_score

    listed = check_texts(prediction, references)
    wordnet = _wordnet() if language == "en" and synonyms else None
    said, *gold = (words(each, language, unit) for each in (_said(prediction), *listed))
    value = meteor_score(gold, said, wordnet=wordnet or SimpleNamespace(synsets=lambda word: []))
    return Meteor(value, "exact+stem+synonym" if wordnet else "exact+stem")


@cache
def _wordnet():
    """nltk's WordNet reader, or None where its data is not on this machine."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    except OSError as error:
        raise InputError(f"nltk's WordNet lacks a file: {error}") from error
    return wordnet


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
    text = isinstance(ranked, str) or isinstance(relevant, str)
    require(not text, "ranked and relevant must be collections of ids, not one string")
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
    return " ".join(_ARTICLES.sub(" ", bare).split()) if language == "en" else "".join(bare.split())


def exact_match(prediction: str, references: str | Sequence[str], language: Language) -> float:
    """1 if the normalised prediction equals any normalised reference, else 0.

    An option letter is no free answer: "A" normalises to nothing. Use `accuracy`. A `NoAnswer` is never right.
    Raises InputError without references or with a blank one.

    >>> exact_match("The Ghost.", ["a ghost", "Hamlet's father"], "en"), exact_match("丹麦王子", ["丹麦的王子"], "zh")
    (1.0, 0.0)
    """
    said, *gold = (normalise(each, language) for each in (prediction, *check_texts(prediction, references)))
    return float(not isinstance(prediction, NoAnswer) and said in gold)


def token_f1(prediction: str, references: str | Sequence[str], language: Language, unit: Unit = "characters") -> float:
    """The best F1, over the references, between the bags of tokens of prediction and reference.

    Tokens are the words of the normalised answer in English; single characters (as ∞Bench counts) or jieba's words (as
    LongBench counts) in Chinese. If normalisation leaves nothing of one side the score is 0, and 1 if of both (the
    rule of SQuAD 2.0); a `NoAnswer` scores 0. Raises InputError without references or with a blank one.

    Below, king and Hamlet are 2 of 3 words said and 2 of 4 words asked for: F1 = 2 · 2 / (3 + 4). In Chinese, 4 of 4 and
    4 of 5 characters, 2 · 4 / (4 + 5); as words 丹麦/王子 and 丹麦/的/王子, 2 · 2 / (2 + 3).

    >>> round(token_f1("old king Hamlet", ["Hamlet the king of Denmark"], "en"), 4)
    0.5714
    >>> round(token_f1("丹麦王子", ["丹麦的王子"], "zh"), 4), token_f1("丹麦王子", ["丹麦的王子"], "zh", unit="words")
    (0.8889, 0.8)
    """
    listed = check_texts(prediction, references)
    if isinstance(prediction, NoAnswer):
        return 0.0
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


@dataclass(frozen=True)
class Accuracy:
    """`value` is the mean of `right`, which has one entry a question (or a pair) for `bootstrap`.

    total = answered + refused + unparsable; of pairs, these count the claims.
    """

    value: float
    right: tuple[bool, ...]
    total: int
    refused: int
    unparsable: int

    @property
    def answered(self) -> int:
        return self.total - self.refused - self.unparsable


def accuracy(predictions: Sequence[Hashable], answers: Sequence[Hashable]) -> Accuracy:
    """How many predictions equal their answers (option letters, labels, truth values), of all that were asked.

    A question without an answer holds a `NoAnswer`. Raises InputError for empty input, unequal lengths, and for None,
    which does not say why there is no answer.

    >>> share = accuracy(["B", "C", NoAnswer.REFUSED, "a"], ["B", "D", "A", "A"])
    >>> share.value, share.right, share.answered, share.refused, share.unparsable
    (0.25, (True, False, False, False), 3, 1, 0)
    """
    count = len(answers)
    require(len(predictions) == count, f"{len(predictions)} predictions for {count} answers: expected one each")
    for number, prediction in enumerate(predictions):
        require(prediction is not None, f"predictions[{number}] is None: expected an answer or a NoAnswer")
    pairs = zip(predictions, answers, strict=True)
    return _accuracy(tuple(said == answer and said not in tuple(NoAnswer) for said, answer in pairs), predictions)


def pair_accuracy(records: Iterable[Mapping]) -> Accuracy:
    """How many pairs of claims were judged rightly on both sides (NoCha: Karpinska et al., 2024).

    A record is a mapping with `pair` (any key), `answer` (True or False) and `prediction` (True, False or a
    `NoAnswer`). Each pair holds one true and one false claim. A pair without its other half is an error, not a pair
    that is easier than the others. `right` follows the pairs in order of first appearance. For the accuracy over single
    claims, use `accuracy`.

    Raises InputError for empty input, a missing key, a pair that is not one true and one false claim, and a prediction
    that is neither: an unread reply must not pass for a wrong one.

    >>> said = [(1, True, True), (1, False, False), (2, True, "unparsable"), (2, False, False)]
    >>> share = pair_accuracy({"pair": pair, "answer": answer, "prediction": reply} for pair, answer, reply in said)
    >>> share.value, share.right, share.total, share.unparsable
    (0.5, (True, False), 4, 1)
    """
    pairs: dict[Hashable, dict[bool, bool]] = {}  # key -> answer -> right?
    predictions = []
    for number, record in enumerate(records):
        absent = [key for key in ("pair", "answer", "prediction") if key not in record]
        require(not absent, f"record {number} lacks {', '.join(absent)}: expected pair, answer and prediction")
        key, answer, prediction = record["pair"], record["answer"], record["prediction"]
        require(isinstance(answer, bool), f"record {number}: the answer is {answer!r}: expected True or False")
        read = isinstance(prediction, bool) or prediction in set(NoAnswer)
        require(read, f"record {number}: the prediction is {prediction!r}: expected True, False or a NoAnswer")
        halves = pairs.setdefault(key, {})
        second = f"record {number}: pair {key!r} has a second claim that is {answer}: expected one of each"
        require(answer not in halves, second)
        halves[answer] = prediction is answer
        predictions.append(prediction)
    for key, halves in pairs.items():
        lacking = not next(iter(halves))
        require(len(halves) == 2, f"pair {key!r} has no claim that is {lacking}: expected one of each")
    return _accuracy(tuple(all(halves.values()) for halves in pairs.values()), predictions)


def _accuracy(right: tuple[bool, ...], predictions: Sequence[Hashable]) -> Accuracy:
    require(right, "there are no predictions: expected at least one")
    absent = (predictions.count(why) for why in (NoAnswer.REFUSED, NoAnswer.UNPARSABLE))
    return Accuracy(sum(right) / len(right), right, len(predictions), *absent)


_CELLS = 1 << 20  # values drawn at a time, so that memory (about 16 MB) does not grow with the number of resamples


@dataclass(frozen=True)
class Interval:
    """A statistic of `n` values, with the ends of its bootstrap interval. As text it has two digits.

    >>> print(Interval(0.375, 0.125, 0.625, n=16))
    0.38 [0.12, 0.62]
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:z.2f} [{self.low:z.2f}, {self.high:z.2f}]"


@dataclass(frozen=True)
class Difference(Interval):
    """A difference of two means over the same `n` questions, its interval, and a two-sided p-value.

    As text it has its signs, and a third digit for an end so near to 0 that two would not tell on which side it is.

    >>> print(Difference(0.5, -0.001, 0.875, n=8, p=0.06))
    +0.50 [-0.001, +0.88]
    """

    p: float

    def __str__(self) -> str:
        return f"{self.value:+z.2f} [{_end(self.low)}, {_end(self.high)}]"


def _end(value: float) -> str:
    near = 1e-9 < abs(value) < 0.005  # less is the noise of a sum
    return f"{value:+.3f}" if near else f"{value:+z.2f}"


def bootstrap(
    values: ArrayLike,
    statistic: Callable[..., np.ndarray] = np.mean,
    *,
    groups: Groups = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """The percentile interval of a statistic: its quantiles over `resamples` samples drawn with replacement.

    `values` has shape (n,), one score a question, n ≥ 2. `statistic` takes an array and `axis`, as np.mean and
    np.median do. `groups` gives each value its group (book, play, series): at least two, and better twenty, since with
    few the interval is too narrow. The same seed gives the same interval.

    If all values are equal the interval is a point, which is not certainty: of 20 right answers out of 20, all that is
    known is that at least 86 % of such questions are answered rightly (95 %).

    Raises InputError for fewer than two values or groups, NaN or infinity, lengths that differ, a level outside (0, 1),
    and a statistic that is not finite.

    Four of eight right. The closed form is 0.5 ± 1.96 · √(0.25 / 8) = 0.5 ± 0.35:

    >>> bootstrap([1, 0, 1, 1, 0, 0, 1, 0])
    Interval(value=0.5, low=0.125, high=0.875, n=8)
    """
    values = _checked("values", values)
    _, low, high = _drawn(values, statistic, groups, resamples, seed, level)
    return Interval(float(statistic(values, axis=-1)), low, high, len(values))


def grouped(pairs: Iterable[tuple[float, Hashable]], seed: int = 0) -> Interval | None:
    """The mean of numbers that each come with their group, and its interval; None for fewer than two numbers. NaN is left out.

    Whole groups are drawn where there are more than one.

    >>> grouped([(1.0, "a"), (math.nan, "b"), (0.0, "a")]).value
    0.5
    """
    kept = [(number, group) for number, group in pairs if not math.isnan(number)]
    if len(kept) < 2:
        return None
    groups = [group for _, group in kept]
    return bootstrap([number for number, _ in kept], groups=groups if len(set(groups)) > 1 else None, seed=seed)


def paired_bootstrap(
    a: ArrayLike, b: ArrayLike, *, groups: Groups = None, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Difference:
    """The mean of a - b over the same questions, its interval, and a two-sided p-value.

    `a` and `b` have shape (n,), the scores of two systems for the same questions in the same order. Questions are drawn
    once for both, so what makes a question hard for both cancels. p is twice the share of samples in which the
    difference is ≤ 0, or ≥ 0, whichever is smaller; the observed one is counted in, so p is never 0. It agrees with the
    interval, whose ends are interpolated, but for ties close to zero: one that leaves out zero goes with p < 1 - level. With as
    few as ten groups p is far too small in the tail: it does not bear a correction for many comparisons. Other arguments and
    errors: `bootstrap`; also a and b of unequal lengths.

    The differences below are four ones and four zeros, so a sample without a one has probability 0.5⁸: p = 2 · 0.5⁸.

    >>> difference = paired_bootstrap([1, 1, 1, 0, 1, 1, 0, 1], [0, 1, 0, 0, 1, 0, 0, 0])
    >>> difference.value, difference.low, difference.high, difference.n, round(difference.p, 3)
    (0.5, 0.125, 0.875, 8, 0.008)
    """
    a, b = _checked("a", a), _checked("b", b)
    require(len(a) == len(b), f"a has {len(a)} values and b has {len(b)}: expected the same questions in both")
    draws, low, high = _drawn(a - b, np.mean, groups, resamples, seed, level)
    fewer = int(min((draws <= 0).sum(), (draws >= 0).sum()))
    return Difference(float(np.mean(a - b)), low, high, len(a), p=min(1.0, 2 * (fewer + 1) / (resamples + 1)))


def _checked(name: str, values: ArrayLike) -> np.ndarray:
    try:
        values = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds something that is not a number: {error}") from error
    several = values.ndim == 1 and len(values) > 1
    require(several, f"{name} has shape {values.shape}: expected one dimension with at least two values")
    for odd in np.flatnonzero(~np.isfinite(values)):
        raise InputError(f"{name}[{odd}] is {values[odd]}: expected finite numbers")
    return values


def _drawn(
    values: np.ndarray, statistic: Callable, groups: Groups, resamples: int, seed: int, level: float
) -> tuple[np.ndarray, float, float]:
    """The statistic of each resample, shape (resamples,), and the ends of its interval. Whole groups are drawn where there
    are groups."""
    require(0 < level < 1, f"level is {level}: expected something between 0 and 1, such as 0.95")
    require(resamples >= 1, f"resamples is {resamples}: expected 1 or more")
    drawn, of_drawn, batch = values, statistic, max(1, _CELLS // len(values))
    if groups is not None:
        members = _members(groups, len(values))
        drawn = np.arange(len(members))
        if statistic is np.mean:  # the same from each group's sum and size, for many samples at a time
            sums, sizes = np.array([(values[group].sum(), len(group)) for group in members]).T

            def of_drawn(chosen, axis):
                return sums[chosen].sum(axis) / sizes[chosen].sum(axis)
        else:
            batch = 1

            def of_drawn(chosen, axis):
                return statistic(values[np.concatenate([members[i] for i in chosen.ravel()])][np.newaxis], axis=axis)

    options = {"n_resamples": resamples, "batch": batch, "vectorized": True, "method": "percentile"}
    with warnings.catch_warnings(action="ignore"):  # of a statistic that is not finite, which is an error below
        draws = stats.bootstrap((drawn,), of_drawn, rng=np.random.default_rng(seed), **options).bootstrap_distribution
    require(np.isfinite(draws).all(), "the statistic is not finite in every resample: an interval has no meaning then")
    # What rounding leaves of a zero is zero, so that an interval that ends there does not leave it out.
    draws = np.where(np.abs(draws) < 1e-12 * np.abs(values).max(), 0.0, draws)
    return draws, *np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()


def _members(groups: Sequence[Hashable], n: int) -> list[np.ndarray]:
    """The indices of each group's values."""
    require(len(groups) == n, f"{len(groups)} groups for {n} values: expected one each")
    members: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    require(len(members) > 1, f"all values belong to one group ({next(iter(members))!r}): expected at least two groups")
    return [np.array(indices) for indices in members.values()]
