"""Plain search, which every memory starts from: vectors, and words where a question shares some of weight.

    s(c | q) = cos(q, c) + w BM25(q, c) / Σ_t∈q idf_t,     w = `WORDS`

The second term is the share of the question's own weight that a passage holds: a question in other words than the book's
leaves it near 0, and vectors decide; a rare name that it shares with a passage counts. (Ranks, and scores brought to one
scale, weigh words the same for every question: on plays, where modern questions share few words with their evidence, that
loses a third of what vectors find.)

`w` was chosen on development novels and on half of the plays. Taught in notebook 52_your_own_book.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mindscape.lexical import BM25
from mindscape.metrics.words import Language

if TYPE_CHECKING:
    from mindscape.encoders import Encoder

WORDS = 0.3
ENGLISH_ONLY = ("embedded", "minilm")  # encoders that read no Chinese


class FirstLook:
    """Units of a book with their vectors and an index of their words.

    `blind`: the encoder does not read the book's language, and words alone decide.

    >>> look = FirstLook(texts, "en", encoders.load("minilm"))                               # doctest: +SKIP
    >>> look.best(look.scores(["Who fled to Ireland?"]), 3)                                  # doctest: +SKIP
    [[112, 87, 90]]
    """

    def __init__(self, texts: Sequence[str], language: Language, encoder: "Encoder"):
        self.texts, self.language, self.encoder = list(texts), language, encoder
        self.blind = language == "zh" and encoder.name in ENGLISH_ONLY

    @cached_property
    def vectors(self) -> np.ndarray:
        """(units, dim)."""
        return self.encoder.encode(self.texts)

    @cached_property
    def _words(self) -> BM25:
        return BM25(self.texts, self.language)

    def cosines(self, questions: Sequence[str]) -> np.ndarray:
        """(questions, units); zeros where the encoder is blind."""
        if self.blind:
            return np.zeros((len(questions), len(self.texts)))
        return self.encoder.encode(list(questions), "query") @ self.vectors.T

    def shared(self, questions: Sequence[str]) -> np.ndarray:
        """The second term: (questions, units)."""
        return WORDS * self._words.shares(questions)

    def scores(self, questions: Sequence[str], memory: np.ndarray | None = None, share: float = 1.0) -> np.ndarray:
        """s of every unit, (questions, units). With a memory's cosines of the same shape these take 1 - `share` of the first
        term: MiA-RAG's δ (Eq. 11) and MiA-Signature's 1 - α (Eq. 4) are such shares."""
        cosines = self.cosines(questions)
        if memory is not None:
            cosines = share * cosines + (1 - share) * memory
        return cosines + self.shared(questions)

    def best(self, scores: np.ndarray, k: int) -> list[list[int]]:
        """The k best units of each row, equal ones in the order of the book."""
        return np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
