"""A summary that only picks sentences: the baseline for summaries written by a model.

TextRank (Mihalcea and Tarau, 2004) by the library `sumy`: a sentence is central if it shares words with many others, and
more so if those are central themselves. (`sumy` counts a sentence's likeness to itself too, so one that shares nothing
keeps an average rank.) `sumy`'s LexRank was tried on three plays: at 500 characters a chunk it kept a little less of the
chunk's content words, since it fills them with short rejoinders, and it divides by zero where two sentences are all.

Taught in notebook 10. This module writes nothing of its own, resolves no pronoun, and does not keep two picks from
saying the same in other words. It is meant for chunks: time grows with the square of the number of sentences.
"""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

from sumy.summarizers.text_rank import TextRankSummarizer
from sumy.utils import get_stop_words

from mindscape.errors import require
from mindscape.metrics import words
from mindscape.metrics.words import Language, check_language
from mindscape.text import Span, sentences

_BETWEEN = {"en": " ", "zh": ""}  # what joins two picked sentences


@dataclass(frozen=True, eq=False)  # by identity: sumy keeps ratings in a dict, and a sentence may recur
class _Sentence:
    span: Span
    text: str
    words: list[str]


def summarise(text: str, language: Language, max_characters: int = 500) -> str:
    """The picked sentences of a text, verbatim and in the order of the source, as one string.

    It is never empty and never longer than `max_characters`. Arguments and errors: `select`.

    >>> text = "The ghost walks. The dead king walks again. Guards call the prince. The prince meets the dead king."
    >>> summarise(text, "en", 60)
    'The dead king walks again. The prince meets the dead king.'
    """
    picked = select(text, language, max_characters)
    return _BETWEEN[language].join(text[span.start : span.end] for span in picked)


def select(text: str, language: Language, max_characters: int = 500) -> list[Span]:
    """The places of the most central sentences, in source order, without the blanks around them.

    Sentences are taken from the most central down, passing over those that do not fit any more and those whose words
    were picked already. `max_characters` counts what `summarise` puts between
    sentences. If not even one sentence fits, the most central is cut at the last blank that fits, or at the limit.
    Deterministic; about 10 ms for 1,200 tokens of a play.

    Raises InputError for an empty text, an unknown language, and a limit below 1.

    >>> text = "他是王子。下雨了。王子见到鬼魂。鬼魂是老国王。"
    >>> [text[span.start : span.end] for span in select(text, "zh", 7)]
    ['王子见到鬼魂。']
    """
    check_language(language)
    require(max_characters >= 1, f"max_characters is {max_characters}: expected 1 or more")
    require(text.strip(), "the text to summarise is empty: expected at least one sentence")
    stripped = [_stripped(text, span) for span in sentences(text, language)]
    candidates = [
        _Sentence(span, text[span.start : span.end], words(text[span.start : span.end], language, unit="words"))
        for span in stripped
        if span.start < span.end
    ]

    def fitting(ranked: list) -> list:
        """From sumy's ratings, best first, those that fit."""
        picked, said, left = [], set(), max_characters
        for rated in ranked:
            sentence = rated.sentence
            length = len(sentence.text) + (len(_BETWEEN[language]) if picked else 0)
            if length <= left and tuple(sentence.words) not in said:
                picked.append(rated)
                said.add(tuple(sentence.words))
                left -= length
        return picked or ranked[:1]

    picked = _textrank(language)(SimpleNamespace(sentences=candidates), fitting)
    spans = [sentence.span for sentence in picked]
    if len(picked[0].text) > max_characters:  # then it is the only one
        spans = [_cut(text, spans[0], max_characters)]
    return spans


@cache
def _textrank(language: Language) -> TextRankSummarizer:
    summariser = TextRankSummarizer()
    summariser.stop_words = get_stop_words({"en": "english", "zh": "chinese"}[language])
    return summariser


def _stripped(text: str, span: Span) -> Span:
    """The span without blanks at its ends."""
    inner = text[span.start : span.end]
    start = span.start + len(inner) - len(inner.lstrip())
    return Span(start, max(start, span.start + len(inner.rstrip())))


def _cut(text: str, span: Span, length: int) -> Span:
    """The beginning of a span, at most `length` characters, up to a blank where there is one."""
    inner = text[span.start : span.start + length + 1]
    blank = max((i for i, character in enumerate(inner) if character.isspace()), default=length)
    return _stripped(text, Span(span.start, span.start + blank))
