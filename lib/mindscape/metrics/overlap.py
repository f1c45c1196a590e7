"""How much of a reference's wording a text has: BLEU, ROUGE-L, METEOR, each by its maintained library.

Taught in notebook 00; MoM reports all three (Table 1). None of them knows whether a text is true. This module scores
one text against the references of one question; it computes no BLEU over a corpus.

The libraries are imported where they are used: rouge-score and nltk together take seconds to load.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace

from mindscape.errors import InputError
from mindscape.folding import visible
from mindscape.metrics.words import Language, Unit, check_language, check_texts, segment, words


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

    >>> of = bleu("the ghost speaks", ["speaks the ghost tonight"], "en")
    >>> [round(score, 4) for score in (of.bleu_1, of.bleu_2, of.bleu_3, of.brevity_penalty)], of.precisions
    ([0.7165, 0.5067, 0.4514, 0.7165], (1.0, 0.5, 0.0, 0.0))
    """
    prediction, *listed = map(visible, (prediction, *check_texts(prediction, references)))
    check_language(language, unit)
    if language == "zh" and unit == "words":
        prediction, *listed = (" ".join(segment(text)) for text in (prediction, *listed))
    tokenize = "13a" if language == "en" else "zh" if unit == "characters" else "none"
    scores = [scorer.sentence_score(prediction, listed) for scorer in _bleu_scorers(tokenize)]
    one, two, three, four = (min(score.score / 100, 1.0) for score in scores)  # rounding can leave it a hair above 1
    last = scores[-1]
    precisions = tuple(hits / total if total else 0.0 for hits, total in zip(last.counts, last.totals, strict=True))
    return Bleu(one, two, three, four, precisions, last.bp)


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
    prediction, *listed = map(visible, (prediction, *check_texts(prediction, references)))
    check_language(language, unit)
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
    prediction: str,
    references: str | Sequence[str],
    language: Language,
    unit: Unit = "characters",
    synonyms: bool = True,
) -> Meteor:
    """METEOR: F-mean of matched words, 9 parts recall, less a penalty for broken order; best over the references.

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
    check_language(language, unit)
    wordnet = _wordnet() if language == "en" and synonyms else None
    value = meteor_score(
        [words(each, language, unit) for each in listed],
        words(prediction, language, unit),
        wordnet=wordnet or SimpleNamespace(synsets=lambda word: []),
    )
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
