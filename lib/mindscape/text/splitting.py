"""Cut a text into chunks that a model can take, and lose nothing.

A chunk's length is the number of tokens of its own text, encoded alone and without special tokens: what a model gets
when it reads the chunk. So each chunk is encoded by itself, which also keeps the time linear in the length of the text.
A cut never falls inside a character, between CR and LF, before a combining mark, or inside an emoji joined by U+200D.
Flags (pairs of regional indicators) and other rules of Unicode's UAX #29 are not looked at.

The papers' settings: 1,200 tokens with an overlap of 100, 200 tokens, 8,192 tokens. Nothing here knows chapters or
topics. Taught in notebooks 00_start_here and 10_hierarchical_summaries.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, count

import sentencex
from transformers import PreTrainedTokenizerBase as Tokenizer

from mindscape.errors import InputError, require
from mindscape.text.documents import Chunk, Document, Span

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
        found = [start + boundary["end_index"] for boundary in boundaries]
        if start + reach < len(text):  # what stands near the end may be read otherwise with the text that follows
            found = [end for end in found if end <= start + reach // 2]
        if found:
            ends += found
            start, reach = ends[-1], STRETCH
        else:
            reach *= 2
    ends = [end for end in ends if not _joined(text, end)]
    return [Span(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def token_ids(text: str, tokenizer: Tokenizer) -> list[int]:
    """A text's tokens by themselves: nothing is put around them, a control token's name in it is read letter by letter, as data
    is, and a text beyond the model's limit is nothing to warn of."""
    return tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]


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
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(f"{type(tokenizer).__name__} gives no offsets: expected a fast tokenizer of Hugging Face")
    if size < 1 or not 0 <= overlap < size:
        raise InputError(f"size={size!r}, overlap={overlap!r}: expected 0 <= overlap < size, in tokens")
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
    end = min(start + guess, len(text))
    offsets = _offsets(text[start:end], tokenizer)
    while len(offsets) <= size and end < len(text):
        end = min(2 * end - start, len(text))
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
    text: str,
    start: int,
    end: int,
    offsets: list[tuple[int, int]],
    tokenizer: Tokenizer,
    size: int,
    borders: list[int],
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
    # verbose=False: a text beyond the model's limit is nothing to warn of here
    how = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}
    return tokenizer(text, return_offsets_mapping=True, **how)["offset_mapping"]


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
