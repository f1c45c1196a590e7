"""A text and the places in it: how it is cut, and how a quote or a name is found again.

Every place in a text is a pair of character offsets into `Document.text`: Unicode characters (Python's `str` indices), not
bytes and not tokens; `start` is included, `end` is not. Nothing here reads a file (`mindscape.corpora` does) or changes a text.

*Folding.* Texts from books hold characters that do not show (soft hyphens, zero-width blanks, marks of direction), letters in
full width, accents composed or not, and several kinds of blanks, dashes and apostrophes. Whoever compares words, for scores,
search, names or quotes, looks at the folded form.

*Quotes* (`locate`). Models and people quote with other dashes, quotation marks, line breaks and capitals, and with a wrong
letter here and there. Three looks, the strict one first: the very characters; then the same after folding, which forgets
blanks, case, widths and the kinds of quotation marks and dashes; then the most similar passage. This does not join the parts of
a quote with an ellipsis in it, knows no synonyms, and does not say how similar a passage is.

*Chunks.* A chunk's length is the number of tokens of its own text, encoded alone and without special tokens: what a model gets
when it reads the chunk. So each chunk is encoded by itself, which also keeps the time linear in the length of the text. A cut
never falls inside a character, between CR and LF, before a combining mark, or inside an emoji joined by U+200D. Flags (pairs of
regional indicators) and other rules of Unicode's UAX #29 are not looked at. The papers' settings: 1,200 tokens with an overlap
of 100, 200 tokens, 8,192 tokens. Nothing here knows chapters or topics.

Taught in notebooks 00_start_here and 10_hierarchical_summaries.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, count
from typing import Any, Protocol

import numpy as np
import sentencex
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein
from transformers import PreTrainedTokenizerBase as Tokenizer

from mindscape.errors import InputError, require

QUOTATION_MARKS = "\"'`´′″‵‶ʹʺʼ＇＂「」『』｢｣〝〞〟"  # besides Unicode's categories Pi and Pf
APOSTROPHES = "’‘ʼ′´"
HYPHENS = "\u2010\u2011"
CHINESE_STOPS = {"。": ".", "、": ","}  # the full-width ones become ASCII by NFKD


class _Table(dict):
    """What each character becomes, for `str.translate`; filled as characters are met."""

    def __init__(self, become: Callable[[str], str]):
        self.become = become

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, self.become(chr(code)))


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


class Place(Protocol):
    """Anything with character offsets: a Span, a Chunk, a scene of a play."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


@dataclass(frozen=True, order=True)
class Span:
    """The characters from `start` up to, not including, `end`.

    >>> Document("note", "To be, or not to be")[Span(7, 9)]
    'or'
    """

    start: int
    end: int


@dataclass(frozen=True)
class Chunk:
    """The `index`-th piece of the document `doc_id`; `document[chunk]` is its text. It holds no text itself."""

    doc_id: str
    index: int
    start: int
    end: int


@dataclass(frozen=True)
class Document:
    """A text with a name. `language` is an ISO 639-1 code; `meta` is free (title, genre, …).

    An empty text is a document (it has no chunks); the loaders in `mindscape.corpora` refuse an empty book. Raises
    InputError for a text that cannot be written as UTF-8 (it holds half of a surrogate pair): no tokenizer reads it.
    Two documents are equal when id, text and language are.

    >>> document = Document("note", "Brevity is the soul of wit.")
    >>> document[Span(15, 26)]
    'soul of wit'
    """

    id: str
    text: str
    language: str = "en"
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self):
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            half = f"document {self.id!r}: character {error.start} is half of a surrogate pair: expected Unicode text"
            raise InputError(half) from None

    def __getitem__(self, place: Place) -> str:
        """The text of a span, a chunk, or anything else with `start` and `end`.

        Raises InputError where the offsets are not in this text, or the chunk is of another document.
        """
        if (doc_id := getattr(place, "doc_id", self.id)) != self.id:
            raise InputError(f"the chunk is of document {doc_id!r}: expected one of {self.id!r}")
        if not 0 <= place.start <= place.end <= len(self.text):
            has = f"document {self.id!r} has {len(self.text)} characters"
            raise InputError(f"{has}: it has no place {place.start}:{place.end}")
        return self.text[place.start : place.end]


SIMILARITY = 0.75  # least similarity of a passage: 1 - edits / characters, both folded
SHORTEST = 20  # bytes of a folded quote (7 Chinese characters); shorter ones are similar to something by chance
LONGEST = 4000  # characters of a folded quote; the time of a fuzzy search grows with the square
N = 4  # of the n-grams that shortlist passages: characters of the folded text
HASH_BITS = 20
CANDIDATES = 5  # passages compared with a quote, character by character: so many likely ones, and so many near ones
WORD = "a-z0-9\u0300-\u036f"  # letters that go on, in a script whose words have borders; an accent is one of its own


def mentions(name: str, text: str) -> list[int]:
    """Where a name stands in a text, as whole words where the script has them; offsets in order.

    Case, width, kinds of blanks and apostrophes, line breaks and characters that do not show are passed over. Chinese has no
    blanks between words, so a Chinese name may stand anywhere. An empty name stands nowhere.

    >>> mentions("Ann", "Anna left. Ann's lamp; ann too."), mentions("剑秋", "谁要找剑秋")
    ([11, 23], [3])
    >>> mentions("Ann O'Hara", "Ann\\nO\u2019Ha\u00adra left.")
    [0]
    """
    plain, whole_words = _name(name)
    whole = (_book if len(text) > 10_000 else _passage)(text)
    if not plain or plain not in whole.text:  # quick, for most names
        return []
    return [int(whole.origin[match.start()]) for match in whole_words.finditer(whole.text)]


@lru_cache(maxsize=4096)
def _name(name: str) -> tuple[str, re.Pattern[str]]:
    """A folded name, of which nothing may be left, and the expression that finds it."""
    plain = folded(name).text.strip()
    left = f"(?<![{WORD}])" if re.match("[a-z0-9]", plain) else ""
    right = f"(?![{WORD}])" if re.search(f"[{WORD}]$", plain) else ""
    return plain, re.compile(left + re.escape(plain) + right)


_book, _passage = lru_cache(maxsize=8)(folded), lru_cache(maxsize=2048)(folded)


def locate(quote: str, document: Document, near: int | None = None) -> Span | None:
    """The place of a quote in a document, or None if it is not there.

    Of several places that fit equally well it is the one nearest to the character offset `near`, by default the
    first. A similar passage has a Levenshtein similarity of at least `SIMILARITY`, and is looked for only if the quote
    has from `SHORTEST` bytes to `LONGEST` characters; twice `CANDIDATES` passages are compared with it, so among more
    that differ a little, the best may be missed. The folded forms of the last four documents are kept, about 10 bytes a
    character. Raises InputError for an empty quote.

    >>> document = Document("hamlet", "To be, or not to be--that is\\nthe question: whether 'tis nobler in the mind")
    >>> place = locate("to be—THAT is the question", document)
    >>> place, document[place]
    (Span(start=14, end=41), 'to be--that is\\nthe question')
    >>> document[locate("that is the qestion, wether tis noble", document)]
    "that is\\nthe question: whether 'tis noble"
    >>> print(locate("The readiness is all; since no man knows", document))
    None
    """
    require(quote.strip(), f"cannot locate an empty quote in document {document.id!r}: expected some text")
    near = max(near or 0, 0)
    starts = _around(quote, document.text, near)
    if starts:
        start = min(starts, key=lambda i: abs(i - near))
        return Span(start, start + len(quote))
    needle = folded(quote, blanks=False).text
    if not needle:
        return None
    whole, grams = _fold_document(document.text)
    starts = _around(needle, whole.text, whole.index(near))
    if starts:
        start = min(starts, key=lambda i: abs(int(whole.origin[i]) - near))
        return _original(whole, start, start + len(needle), document.text)
    if len(needle.encode()) < SHORTEST or len(needle) > LONGEST:
        return None
    passage = _most_similar(needle, whole, grams, near)
    return passage and _original(whole, passage.start, passage.end, document.text)


def _around(quote: str, text: str, near: int) -> list[int]:
    """The starts of the last occurrence before `near` and of the first one from there on, of those that there are."""
    starts = text.rfind(quote, 0, near + len(quote) - 1), text.find(quote, near)
    return [start for start in starts if start >= 0]


@lru_cache(maxsize=4)
def _fold_document(text: str) -> tuple[Folded, np.ndarray]:
    """A folded document and the hashes of its n-grams."""
    without = folded(text, blanks=False)
    return without, _grams(without.text)


def _original(whole: Folded, start: int, end: int, text: str) -> Span:
    """The span of the original text behind whole[start:end], with what was dropped after it but for blanks."""
    last = int(whole.origin[end - 1])
    following = int(whole.origin[end]) if end < len(whole.text) else len(text)
    return Span(int(whole.origin[start]), last + max(1, len(text[last:following].rstrip())))


def _most_similar(needle: str, whole: Folded, grams: np.ndarray, near: int) -> Span | None:
    """The folded passage that is most similar to `needle`, if similar enough; of equals the one nearest to `near`."""
    margin, matches, text = 8 + len(needle) // 4, [], whole.text
    for place in _shortlist(needle, grams, whole.index(near)):
        left = max(0, place - margin)
        passage = _align(needle, text[left : place + len(needle) + margin])
        start, end = left + passage.start, left + passage.end
        similarity = Levenshtein.normalized_similarity(needle, text[start:end])
        if similarity >= SIMILARITY:
            matches.append((-similarity, abs(int(whole.origin[start]) - near), start, end))
    return Span(*min(matches)[2:]) if matches else None


def _shortlist(needle: str, grams: np.ndarray, near: int) -> list[int]:
    """Where the windows as long as the needle begin that may hold the most similar passage.

    First up to `CANDIDATES` that share most n-grams with it, and none that shares less than half of what the best one
    does. Then as many more, the nearest of those that the count alone cannot put behind the best one: a single edit
    costs up to N n-grams. Of equals the nearest to `near` comes first.
    """
    size = len(needle)
    wanted = np.zeros(1 << HASH_BITS, bool)
    wanted[_grams(needle)] = True
    hits = np.concatenate([np.zeros(size, np.int32), wanted[grams], np.zeros(size, np.int32)])
    total = np.cumsum(hits, dtype=np.int32)
    shared = total[size:] - total[:-size]  # shared[i]: of the window that begins at i + 1 - size
    starts, most = [], int(shared.max())
    for i in range(2 * CANDIDATES):
        enough = int(shared.max()) if i < CANDIDATES else most - N
        places = np.flatnonzero(shared >= max(1, most // 2, enough))
        if not len(places):
            break
        best = int(places[np.abs(places + 1 - size - near).argmin()])
        starts.append(max(0, best + 1 - size))
        shared[max(0, best - size // 2) : best + size // 2 + 1] = 0
    return starts


def _grams(text: str) -> np.ndarray:
    """The hash of the n-gram at each place of a text, (len(text) - N + 1,) integers of HASH_BITS bits."""
    codes = unicode_codes(text)
    hashes = np.zeros(max(0, len(codes) - N + 1), np.uint32)
    for i in range(N):
        hashes = (hashes + codes[i : i + len(hashes)]) * np.uint32(2654435761)  # Knuth's multiplier
    return hashes >> np.uint32(32 - HASH_BITS)


def _align(needle: str, window: str) -> Span:
    """The passage of a short window that is most similar to the needle."""
    coarse = fuzz.partial_ratio_alignment(needle, window)  # as long as the needle: both ends may be some characters off
    start, end = coarse.dest_start, coarse.dest_end
    reach = 8 + min(len(needle) // 8, 32)
    for _ in range(2):
        starts = range(max(0, start - reach), min(end, start + reach) + 1)
        start = min(starts, key=lambda i: Levenshtein.distance(needle, window[i:end]))
        ends = range(min(len(window), end + reach), max(start, end - reach) - 1, -1)
        end = min(ends, key=lambda i: Levenshtein.distance(needle, window[start:i]))
    return Span(start, end)


JOINER = "\u200d"  # zero width joiner, between the parts of a composed emoji
STRETCH = 3000  # characters that sentencex sees at once: beyond 10 kB it misses borders, and slows down on Chinese
SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def split_tokens(document: Document, tokenizer: Tokenizer, size: int = 1200, overlap: int = 100) -> list[Chunk]:
    """Windows of at most `size` tokens; each begins `overlap` tokens before its predecessor ends.

    With `overlap=0` the chunks tile the text exactly. A chunk is longer than `size` only where a single character needs
    more tokens than that. Where a cut has to move, an overlap is a token or two longer than asked for. `tokenizer` is a
    fast tokenizer of Hugging Face. An empty document has no chunks. Raises InputError unless 0 <= overlap < size.

    >>> from mindscape import assets
    >>> from transformers import AutoTokenizer
    >>> tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    >>> document = Document("note", "Brevity is the soul of wit.")
    >>> [document[chunk] for chunk in split_tokens(document, tokenizer, size=4, overlap=0)]
    ['Brevity is the', ' soul of wit.']
    >>> [document[chunk] for chunk in split_tokens(document, tokenizer, size=4, overlap=1)]
    ['Brevity is the', ' the soul of wit', ' wit.']
    """
    return _split(document, tokenizer, size, overlap, borders=None)


def split_sentences(document: Document, tokenizer: Tokenizer, size: int = 1200, overlap: int = 0) -> list[Chunk]:
    """Whole sentences, as many as fit into `size` tokens.

    A sentence longer than `size` is cut by tokens. With `overlap` a chunk opens with the last sentences of its
    predecessor, as many whole ones as fit into `overlap` tokens. With `overlap=0` the chunks tile the text exactly.
    Everything else is as in `split_tokens`.

    >>> from mindscape import assets
    >>> from transformers import AutoTokenizer
    >>> tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    >>> document = Document("note", "Who's there? Nay, answer me. Stand, and unfold yourself.")
    >>> [document[chunk] for chunk in split_sentences(document, tokenizer, size=15)]
    ["Who's there? ", 'Nay, answer me. Stand, and unfold yourself.']
    """
    borders = [span.end for span in sentences(document.text, document.language)]
    return _split(document, tokenizer, size, overlap, borders)


def sentences(text: str, language: str = "en") -> list[Span]:
    """The sentences of a text, as spans that tile it. Blanks after a sentence belong to it.

    By the rules of the library `sentencex` for some 240 languages; `language` is an ISO 639-1 code, and one that it
    does not know gets the English rules. Blank lines between paragraphs are a span of their own.

    >>> text = "Mr. Page is here. 他来了吗？没有。"
    >>> [text[span.start : span.end] for span in sentences(text)]
    ['Mr. Page is here. ', '他来了吗？', '没有。']
    """
    ends, start, reach = [], 0, STRETCH
    while start < len(text):
        boundaries = sentencex.get_sentence_boundaries(language, text[start : start + reach])
        breaks = [start + boundary["end_index"] for boundary in boundaries]
        if start + reach < len(text):  # what stands near the end may be read otherwise with the text that follows
            breaks = [end for end in breaks if end <= start + reach // 2]
        if breaks:
            ends += breaks
            start, reach = ends[-1], STRETCH
        else:
            reach *= 2
    ends = [end for end in ends if not _joined(text, end)]
    return [Span(start, end) for start, end in zip([0, *ends], ends, strict=False)]


_ALONE = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}


def token_ids(text: str, tokenizer: Tokenizer) -> list[int]:
    """A text's tokens by themselves: nothing is put around them, a control token's name in it is read letter by letter, as data
    is, and a text beyond the model's limit is nothing to warn of."""
    return tokenizer(text, **_ALONE)["input_ids"]


def windows(chunks: Sequence[Chunk], size: int) -> list[list[Chunk]]:
    """The chunks in order, `size` at a time; the last window may be shorter (MiA-Signature's windows of W chunks).

    >>> chunks = [Chunk("note", i, 10 * i, 10 * i + 10) for i in range(5)]
    >>> [[chunk.index for chunk in window] for window in windows(chunks, 2)]
    [[0, 1], [2, 3], [4]]
    """
    require(size >= 1, f"size={size!r}: expected at least one chunk a window")
    return [list(chunks[i : i + size]) for i in range(0, len(chunks), size)]


def laid_out(name: str, lines: Sequence[str]) -> tuple[Document, list[Chunk]]:
    """A document of some sentences and a chunk for each, with the blank that follows it: the text of a toy.

    >>> document, chunks = laid_out("note", ["Ann left.", "Tom came."])
    >>> document[chunks[1]]
    'Tom came. '
    """
    ends = [0, *accumulate(len(line) + 1 for line in lines)]
    chunks = [Chunk(name, i, *ends[i : i + 2]) for i in range(len(lines))]
    return Document(name, "".join(f"{line} " for line in lines)), chunks


def _split(document: Document, tokenizer: Tokenizer, size: int, overlap: int, borders: list[int] | None) -> list[Chunk]:
    """Windows of tokens; where `borders` (sorted offsets) are given, they begin and end at borders if they can."""
    fast = getattr(tokenizer, "is_fast", False)
    require(fast, f"{type(tokenizer).__name__} gives no offsets: expected a fast tokenizer of Hugging Face")
    require(0 <= overlap < size, f"size={size!r}, overlap={overlap!r}: expected 0 <= overlap < size, in tokens")
    text, chunks = document.text, []
    start, reached, guess = 0, 0, 8 * size  # guess: characters that may hold a chunk
    while start < len(text):
        end, offsets = _fill(text, start, guess, tokenizer, size)
        if borders is not None:
            end, offsets = _retreat(text, start, end, offsets, tokenizer, size, borders)
        if end <= reached:  # the overlap alone fills a chunk: go on without it
            start = reached
            continue
        chunks.append(Chunk(document.id, len(chunks), start, end))
        reached, guess = end, 64 + (end - start) * 9 // 8
        if end < len(text) and 0 < overlap < len(offsets):
            again = _cut(text, start, start + offsets[-overlap - 1][1])
            start = again if borders is None else min(end, borders[bisect_left(borders, again)])
        else:
            start = end
    return chunks


def _fill(text: str, start: int, guess: int, tokenizer: Tokenizer, size: int) -> tuple[int, list[tuple[int, int]]]:
    """The end of a chunk of `size` tokens from `start`, and the offsets of its tokens within it."""
    end, offsets = start, []
    while len(offsets) <= size and end < len(text):
        end = min(max(2 * end - start, start + guess), len(text))
        offsets = _offsets(text[start:end], tokenizer)
    while len(offsets) > size:
        # Encoded alone, the last word before a cut may fall into more tokens than in its context: look again.
        shorter = _cut(text, start, min(start + offsets[size - 1][1], end - 1))
        if shorter >= end:
            break
        end = shorter
        offsets = _offsets(text[start:end], tokenizer)
    return end, offsets


def _retreat(
    text: str, start: int, end: int, offsets: list[tuple[int, int]], tokenizer: Tokenizer, size: int, borders: list[int]
) -> tuple[int, list[tuple[int, int]]]:
    """The last border up to `end` that leaves a chunk of at most `size` tokens; `end` itself where there is none."""
    for i in range(bisect_right(borders, end) - 1, -1, -1):
        if borders[i] <= start or borders[i] == end:
            break
        shorter = _offsets(text[start : borders[i]], tokenizer)
        if len(shorter) <= size:
            return borders[i], shorter
    return end, offsets


def _offsets(text: str, tokenizer: Tokenizer) -> list[tuple[int, int]]:
    return tokenizer(text, return_offsets_mapping=True, **_ALONE)["offset_mapping"]


def _cut(text: str, start: int, at: int) -> int:
    """The last place up to `at` where a cut is allowed; the first one after `start` if there is none."""
    back = next((i for i in range(at, start, -1) if not _joined(text, i)), None)
    return back or next(i for i in count(start + 1) if not _joined(text, i))


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of `at` belong together."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if after < "\u0300":  # quick, for most text
        return after == "\n" and before == "\r"
    return unicodedata.category(after)[0] == "M" or JOINER in (before, after) or after in SKIN_TONES
