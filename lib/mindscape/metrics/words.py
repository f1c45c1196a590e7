"""From a text to the units that scores count: English words, Chinese characters or words.

Taught in notebook 00. This module does not stem, drop stop words, or split sentences.
"""

import re
import string
import unicodedata
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Literal

from mindscape.errors import InputError, require
from mindscape.folding import fold, visible

Language = str  # "en" or "zh", as a document has it: `check_language` refuses others
Unit = Literal["characters", "words"]

_ENGLISH_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(text: str, language: Language, unit: Unit = "characters") -> list[str]:
    """The units of a text in order, lower case, without punctuation, folded by `mindscape.folding`.

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
    units = segment(visible(text)) if unit == "words" else text
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
    if not isinstance(prediction, str):
        raise InputError(f"the prediction is {prediction!r}: expected a string, '' where nothing was said")
    listed = [references] if isinstance(references, str) else list(references)
    require(listed, "there is no reference: expected at least one")
    for number, reference in enumerate(listed):
        if not isinstance(reference, str) or not reference.strip():
            raise InputError(f"references[{number}] is {reference!r}: expected a string that is not blank")
    return listed
