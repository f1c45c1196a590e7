"""Find where a quote stands in a document, also when it was not copied faithfully.

Models and people quote with other dashes, quotation marks, line breaks and capitals, and with a wrong letter here and
there. Three looks, the strict one first: the very characters; then the same after folding, which forgets blanks, case,
widths and the kinds of quotation marks and dashes; then the most similar passage. Every answer is a span of the
original text.

This does not join the parts of a quote with an ellipsis in it, knows no synonyms, and does not say how similar a
passage is. Taught in notebook 00_start_here.
"""

import re
from functools import lru_cache

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from mindscape.errors import require
from mindscape.folding import Folded, folded, unicode_codes
from mindscape.text.documents import Document, Span

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
    wanted = _name(name)
    if wanted is None or wanted[0] not in (whole := _searched(text)).text:  # quick, for most names
        return []
    return [int(whole.origin[found.start()]) for found in wanted[1].finditer(whole.text)]


@lru_cache(maxsize=4096)
def _name(name: str) -> tuple[str, re.Pattern[str]] | None:
    """A folded name and the expression that finds it; None where nothing of it is left."""
    plain = folded(name).text.strip()
    if not plain:
        return None
    left = f"(?<![{WORD}])" if re.match("[a-z0-9]", plain[0]) else ""
    right = f"(?![{WORD}])" if re.match(f"[{WORD}]", plain[-1]) else ""
    return plain, re.compile(left + re.escape(plain) + right)


def _searched(text: str) -> Folded:
    return (_book if len(text) > 10_000 else _passage)(text)


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
    margin, found, text = 8 + len(needle) // 4, [], whole.text
    for place in _shortlist(needle, grams, whole.index(near)):
        left = max(0, place - margin)
        passage = _align(needle, text[left : place + len(needle) + margin])
        start, end = left + passage.start, left + passage.end
        similarity = Levenshtein.normalized_similarity(needle, text[start:end])
        if similarity >= SIMILARITY:
            found.append((-similarity, abs(int(whole.origin[start]) - near), start, end))
    return Span(*min(found)[2:]) if found else None


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
