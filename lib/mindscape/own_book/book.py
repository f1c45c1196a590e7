"""A book of one's own, cut once for all memories, and whether an answer rests on a passage of it.

Passages of whole sentences tile the text; a memory's unit is so many passages in a row. A small reader reads short units, a
large one the papers'. What the embedded reader reads is bounded (`reads`), since a novel would take it more than a day; what
it does not read is copied (TextRank).

That its words stand in a passage does not make an answer rest on it: wrong answers' do too. The passage that holds most of an
answer's words is its source. The answer is *supported* if its likelihood falls when the source is taken away from what the
model was shown (S_support, MoM 4.4, with and without it). A model behind a server that gives no likelihoods leaves this open.
It tells where an answer was read, not that it is right. Taught in notebook 52_your_own_book.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from mindscape.errors import LLMError, require
from mindscape.llm import LLM, OURS, LanguageModel
from mindscape.metrics import Language
from mindscape.mindgraph.answer import block_size
from mindscape.mom.extraction import text_windows
from mindscape.mom.retrieval import support
from mindscape.roles import UNKNOWN
from mindscape.search import terms
from mindscape.text import Chunk, Document, Tokenizer, windows

READS = 2  # pieces, blocks or windows that the embedded reader reads for a memory
FALL = 0.1  # nats a token; less is the processor's rounding and chance


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


LARGE = Sizes(replies={"piece": 200, "whole": 320, "session": 256, "edits": 1024, "answer": 512, "window": 1600, "phrase": 512})
SMALL = Sizes(
    *(120, 3, 20, 2, 3, 4, 3, 300, 550),
    replies={"piece": 64, "whole": 96, "session": 128, "edits": 300, "answer": 96, "window": 400, "phrase": 48},
)
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
        spans = text_windows(self.document, self.tokenizer, self.sizes.passage)
        return [Chunk(self.document.id, i, span.start, span.end) for i, span in enumerate(spans)]

    @cached_property
    def texts(self) -> list[str]:
        """Of the passages."""
        return [self.document[passage].strip() for passage in self.passages]

    @cached_property
    def tokens(self) -> int:
        """Of all the text."""
        return len(self.tokenizer(self.document.text, verbose=False)["input_ids"])

    @property
    def measured(self) -> str:
        """How long it is, for people."""
        return f"{len(self.document.text):,} characters, {self.tokens:,} tokens, {len(self.passages):,} passages"

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
        names = [name for name, start in self.document.meta.get("parts", {}).items() if start <= place.start]
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


@dataclass(frozen=True)
class OwnAnswer:
    """What came of a memory for a question. `source` is the place that holds most of the answer's words, a share of `words`;
    `fall` how much less likely an answer's token is without it, in nats; None where nobody can say. `reason`: why there is no
    answer."""

    memory: str
    question: str
    answer: str
    places: tuple[Chunk, ...] = ()
    tokens: int = 0
    source: Chunk | None = None
    words: float = 0.0
    fall: float | None = None
    reason: str = ""

    @property
    def supported(self) -> bool | None:
        """Whether it rests on its source.

        >>> OwnAnswer("plain search", "Who fled?", "Ivo", fall=1.2).supported
        True
        """
        return None if self.fall is None else self.fall > FALL


def is_silent(answer: str, language: Language = "en") -> bool:
    """Whether an answer says nothing, or that it does not know.

    >>> is_silent(" "), is_silent("Unknown."), is_silent("Ivo")
    (True, True, False)
    """
    return " ".join(terms(answer, language)) in ("", " ".join(terms(UNKNOWN[language], language)))


def share_of_words(answer: str, text: str, language: Language = "en") -> float:
    """The share of an answer's content words that stand in a text.

    >>> share_of_words("the castle of Scone", "They rode to Scone.")
    0.5
    """
    wanted = set(terms(answer, language))
    return len(wanted & set(terms(text, language))) / max(1, len(wanted))


def source(book: OwnBook, answer: str, places: Sequence[Chunk]) -> tuple[Chunk | None, float]:
    """The place that holds most of an answer's words, the first of equals, and the share; None for an answer that says nothing.

    >>> source(book, "Colmekill", places)                                                    # doctest: +SKIP
    (Chunk(doc_id='macbeth', index=131, start=49012, end=49487), 1.0)
    """
    if is_silent(answer, book.language) or not places:
        return None, 0.0
    shares = [share_of_words(answer, book.document[place], book.language) for place in places]
    best = int(np.argmax(shares))
    return (places[best], shares[best]) if shares[best] else (None, 0.0)


def falls(book: OwnBook, llm: LLM, answers: Sequence[OwnAnswer]) -> list[float | None]:
    """How much less likely a token of each answer is without its source; None without a source, and where the model's server
    gives no likelihoods.

    >>> falls(book, llm.load("embedded"), answers)                                           # doctest: +SKIP
    [1.31, None, 0.02]
    """
    nothing: list[float | None] = [None] * len(answers)
    answered = [answer for answer in answers if answer.source is not None]
    if not answered:
        return nothing
    shown, without = [], []
    for answer in answered:
        texts = {place: book.document[place].strip() for place in answer.places}
        shown.append("\n\n".join(texts.values()))
        without.append("\n\n".join(text for place, text in texts.items() if place != answer.source))
    said, questions = [answer.answer for answer in answered], [answer.question for answer in answered]
    try:
        both = support(llm, shown + without, said * 2, questions * 2, book.language)
    except LLMError:
        return nothing
    losses = iter((both[len(answered) :] - both[: len(answered)]).tolist())
    return [None if answer.source is None else next(losses) for answer in answers]
