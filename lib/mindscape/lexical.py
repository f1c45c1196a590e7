"""BM25: passages ranked by the words that they share with a question (Robertson and others, 1994).

For a question with words t and a passage d of |d| words among N passages of avgdl words on average, n_t of which hold t,

    score(d) = sum over t of idf_t * f_td / (f_td + k1 (1 - b + b |d| / avgdl)),   idf_t = ln(1 + (N - n_t + 1/2) / (n_t + 1/2))

with k1 = 1.5, b = 0.75 and f_td the times that t stands in d, as Lucene has it and the library bm25s computes it. The
words are those of `metrics.words`, in Chinese those of jieba; English stop words and a final 's are dropped. Nothing is
stemmed. Taught in notebook 00_start_here.
"""

from collections import Counter
from collections.abc import Sequence

import bm25s
import numpy as np
from bm25s.stopwords import STOPWORDS_EN_PLUS

from mindscape.errors import require
from mindscape.metrics.words import Language, words

STOP = frozenset(STOPWORDS_EN_PLUS)


def terms(text: str, language: Language = "en") -> list[str]:
    """The words of a text that BM25 compares.

    >>> terms("Which ballad did the wigmaker's niece perform?"), terms("谁买了那盏灯？", "zh")
    (['ballad', 'wigmaker', 'niece', 'perform'], ['谁', '买', '了', '那', '盏灯'])
    """
    found = words(text, language, unit="words")
    if language == "en":
        found = [word.removesuffix("'s") for word in found if word not in STOP]
    return found


class BM25:
    """An index of passages by their words; `search` answers as `mindscape.index` does, with questions for vectors.

    >>> index = BM25(["A lamp for Ann.", "A boat for Tom.", "Tom sings."])
    >>> ids, scores = index.search(["Who sings?", "Whose is the lamp?"], k=1)
    >>> ids.tolist()
    [[2], [0]]
    """

    def __init__(self, passages: Sequence[str], language: Language = "en"):
        require(passages, "no passages: expected at least one")
        self.language, self._n = language, len(passages)
        bags = [terms(passage, language) for passage in passages]
        self._held = Counter(term for bag in bags for term in set(bag))  # passages that hold a word
        self._index = bm25s.BM25() if any(bags) else None  # the library cannot index passages without words
        if self._index:
            self._index.index(bags, show_progress=False)

    def __len__(self) -> int:
        return self._n

    def search(self, questions: Sequence[str], k: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and scores of the `k` best passages for each question, shape (questions, k), best first.

        Equal scores stand in the order of their ids; a word that no passage holds counts nothing. `k` is cut to the
        number of passages. Raises InputError for k < 1.
        """
        require(k >= 1, f"k={k}: expected at least 1")
        scores = (
            np.stack([self._scores(terms(question, self.language)) for question in questions])
            if len(questions)
            else np.zeros((0, self._n))
        )
        ids = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return ids, np.take_along_axis(scores, ids, axis=1)

    def shares(self, questions: Sequence[str]) -> np.ndarray:
        """Scores of all passages as a share of the question's weight, the sum of its words' idf: (questions, passages).

        A word counts once, and also where no passage holds it; a passage of many repeats can come to more than 1.

        >>> BM25(["A lamp for Ann.", "Tom sings."]).shares(["Who sings?", "Whose harp?"]).round(2).tolist()
        [[0.0, 0.4], [0.0, 0.0]]
        """
        rows = np.zeros((len(questions), self._n))
        for row, question in zip(rows, questions, strict=True):
            wanted = list(dict.fromkeys(terms(question, self.language)))
            held = np.array([self._held[term] for term in wanted])
            weight = np.log(1 + (self._n - held + 0.5) / (held + 0.5)).sum()
            row[:] = self._scores(wanted) / (weight or 1.0)
        return rows

    def _scores(self, wanted: Sequence[str]) -> np.ndarray:
        known = [term for term in wanted if self._index and term in self._index.vocab_dict]
        return self._index.get_scores(known) if known else np.zeros(self._n, dtype=np.float32)
