"""A book of one's own, cut once for all memories.

Passages of whole sentences tile the text; a memory's unit is so many passages in a row. A small reader reads short units, a
large one the papers'. What the embedded reader reads is bounded (`reads`), since a novel would take it more than a day; what
it does not read is copied (TextRank). Taught in notebook 52_your_own_book.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import cast

from mindscape.errors import require
from mindscape.llm import OURS, LanguageModel
from mindscape.metrics.words import Language
from mindscape.mindgraph.asking import block_size
from mindscape.text import Chunk, Document, Tokenizer, split_sentences, windows

READS = 2  # pieces, blocks or windows that the embedded reader reads for a memory


@dataclass(frozen=True)
class Sizes:
    """Of a passage in tokens, of units in passages, of what is shown in passages, of replies and of what is read in tokens."""

    passage: int = 200
    piece: int = 6
    session: int = 20
    block: int = 40
    window: int = 10
    shown: int = 10
    items: int = 5
    graph: int = 6000  # tokens of a graph in a prompt
    merged: int = 100_000  # tokens of summaries that are merged at once
    copied: int = 110  # tokens of a session's copied sentences
    replies: Mapping[str, int] | None = None


LARGE = Sizes(
    replies={"piece": 200, "whole": 320, "session": 256, "edits": 1024, "answer": 512, "window": 1600, "phrase": 48}
)
SMALL = Sizes(
    *(120, 3, 20, 2, 3, 4, 3, 300, 550),
    replies={"piece": 64, "whole": 96, "session": 128, "edits": 300, "answer": 96, "window": 400, "phrase": 48},
)
KINDS = ("piece", "session", "block", "window")
DENSE = {"en": 1, "zh": 2}  # tokens of a Chinese character, by a tokenizer that was made for English


@dataclass(frozen=True)
class OwnBook:
    """A document, the tokenizer that measures it, the sizes of its units, and how many units are read for a memory.

    `reads` 0 is no bound.
    """

    document: Document
    tokenizer: Tokenizer
    sizes: Sizes
    reads: int = 0

    def __post_init__(self):
        require(self.reads >= 0, f"reads={self.reads}: expected 0 for all of the book, or a number of units")
        require(self.document.text.strip(), f"{self.document.id} has no text: expected a book")

    @property
    def language(self) -> Language:
        return cast(Language, self.document.language)

    @cached_property
    def passages(self) -> list[Chunk]:
        """They tile the text, blanks and all."""
        spans = split_sentences(self.document, self.tokenizer, self.sizes.passage)
        filled = [span for span in spans if self.document[span].strip()]
        edges = [0, *(span.start for span in filled[1:]), len(self.document.text)]
        return [Chunk(self.document.id, i, *ends) for i, ends in enumerate(pairwise(edges))]

    @cached_property
    def texts(self) -> list[str]:
        """Of the passages."""
        return [self.document[passage].strip() for passage in self.passages]

    @cached_property
    def tokens(self) -> int:
        """Of all the text."""
        return len(self.tokenizer(self.document.text, verbose=False)["input_ids"])

    @property
    def per_token(self) -> float:
        """Characters of a token, on average."""
        return len(self.document.text) / self.tokens

    def groups(self, kind: str) -> list[list[Chunk]]:
        """Passages in a row, as many as a unit of this kind has."""
        return windows(self.passages, getattr(self.sizes, kind))

    def units(self, kind: str) -> list[Chunk]:
        """Pieces, sessions, blocks or windows; they tile the text too.

        >>> [unit.start for unit in book.units("session")][:2]                               # doctest: +SKIP
        [0, 9120]
        """
        return [Chunk(self.document.id, i, row[0].start, row[-1].end) for i, row in enumerate(self.groups(kind))]

    def where(self, place: Chunk) -> str:
        """How far into the book a place is, and in which file of a folder.

        >>> book.where(book.passages[-1])                                                    # doctest: +SKIP
        '100 %'
        """
        share = f"{100 * place.start / len(self.document.text):.0f} %"
        parts = self.document.meta.get("parts", {})
        names = [name for name, start in parts.items() if start <= place.start]
        return f"{names[-1]}, {share}" if names else share


def open_book(document: Document, llm: LanguageModel, tokenizer: Tokenizer, reads: int | None = None) -> OwnBook:
    """A document in units that a model can read; by default the kit's own models read `READS` of them, others all.

    Raises InputError for an empty text and for `reads` below 0. Taught in notebook 52_your_own_book.

    >>> len(open_book(shakespeare.play("macbeth"), llm.load("embedded"), tokenizer).passages)       # doctest: +SKIP
    303
    """
    own = llm.name in OURS
    dense = DENSE.get(document.language, 1)
    sizes = SMALL if own else LARGE
    scaled = {name: getattr(sizes, name) * dense for name in ("passage", "graph", "merged", "copied")}
    sizes = replace(sizes, **scaled, replies={name: n * dense for name, n in sizes.replies.items()})
    if not own:  # as many passages as the model's window allows
        block = max(1, min(sizes.block, block_size(llm) // sizes.passage))
        sizes = replace(sizes, block=block, window=min(sizes.window, block))
    return OwnBook(document, tokenizer, sizes, (READS if own else 0) if reads is None else reads)
