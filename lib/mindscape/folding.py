"""What two ways to write the same words have in common: one folding for scores, search, names and quotes.

Texts from books hold characters that do not show (soft hyphens, zero-width blanks, marks of direction), letters in full width,
accents composed or not, and several kinds of blanks, dashes and apostrophes. Whoever compares words looks at the folded form;
nothing here changes a document. Taught in notebook 00_start_here.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

QUOTATION_MARKS = "\"'`´′″‵‶ʹʺʼ＇＂「」『』｢｣〝〞〟"  # besides Unicode's categories Pi and Pf
APOSTROPHES = "’‘ʼ′´"
HYPHENS = "\u2010\u2011"
CHINESE_STOPS = {"。": ".", "、": ","}  # the full-width ones become ASCII by NFKD


class _Table(dict):
    """What each character becomes, for `str.translate`; filled as characters are met."""

    def __init__(self, become: Callable[[str], str]):
        super().__init__()
        self.become = become

    def __missing__(self, code: int) -> str:
        self[code] = folded = self.become(chr(code))
        return folded


def _shows(character: str) -> bool:
    """Format characters do not, nor do selectors of a variant."""
    return unicodedata.category(character) != "Cf" and not "\ufe00" <= character <= "\ufe0f"


def _plain(character: str) -> str:
    if character in APOSTROPHES:
        return "'"
    return "-" if character in HYPHENS else character if _shows(character) else ""


def _loose(character: str) -> str:
    """As quotes are compared: blanks fold to one blank, marks to one of their kind."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(map(_mark, decomposed))


def _mark(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category in ("Cc", "Cs") or not _shows(character):
        return ""
    if category in ("Pi", "Pf") or character in QUOTATION_MARKS:
        return "'"
    if category == "Pd" or character == "−":
        return "-"
    return CHINESE_STOPS.get(character, character)


_VISIBLE = _Table(lambda character: character if _shows(character) else "")
_PLAIN = _Table(_plain)
_LOOSE = _Table(_loose)
_BLANKLESS = _Table(lambda character: _loose(character).replace(" ", ""))


def visible(text: str) -> str:
    """The text without the characters that do not show.

    >>> visible("lan\\u00adtern")
    'lantern'
    """
    return text.translate(_VISIBLE)


def fold(text: str) -> str:
    """Lower case, in compatibility form, without what does not show: full-width letters, digits and signs become their plain
    ones, a blank that does not break a blank, every apostrophe "'".

    >>> fold("ＡＢＣ１２３，Ok"), fold("The mil\\u00adler\\u2019s\\xa0inn")
    ('abc123,ok', "the miller's inn")
    """
    return unicodedata.normalize("NFKC", text.translate(_PLAIN)).lower()


@dataclass(frozen=True)
class Folded:
    """A text as it is searched, and for each of its characters the index of its origin."""

    text: str
    origin: np.ndarray  # (len(text),) int32, ascending

    def index(self, offset: int) -> int:
        """The first character that comes from `offset` in the original, or from beyond."""
        return int(np.searchsorted(self.origin, offset))


def folded(text: str, blanks: bool = True) -> Folded:
    """Fold character by character (NFKD, case folded), then make one of several blanks, dashes or quotation marks in a row.
    Without `blanks` they are left out.

    >>> folded("The  King’s“").text, folded("The  King’s“", blanks=False).text
    ("the king's'", "theking's'")
    """
    table = _LOOSE if blanks else _BLANKLESS
    letters, codes = unicode_codes(text.translate(table)), unicode_codes(text)
    lengths = np.zeros(0x110000, np.int8)
    for code in map(ord, set(text)):
        lengths[code] = len(table[code])
    origin = np.repeat(np.arange(len(codes), dtype=np.int32), lengths[codes])
    again = np.zeros(len(letters), bool)
    again[1:] = (letters[1:] == letters[:-1]) & np.isin(letters[1:], (ord("-"), ord("'"), ord(" ")))
    return Folded(letters[~again].tobytes().decode("utf-32-le"), origin[~again])


def unicode_codes(text: str) -> np.ndarray:
    """The characters of a text as numbers, (len(text),) uint32.

    >>> unicode_codes("To").tolist()
    [84, 111]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
