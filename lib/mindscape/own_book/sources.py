"""Whether an answer rests on a passage: not whether its words stand there, which wrong answers' do too.

The passage that holds most of an answer's words is its source. The answer is *supported* if its likelihood falls when the
source is taken away from what the model was shown (S_support, MoM 4.4, with and without it). A model behind a server that gives
no likelihoods leaves this open. It tells where an answer was read, not that it is right. Taught in notebook 52_your_own_book.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mindscape.errors import LLMError
from mindscape.lexical import terms
from mindscape.llm import LLM
from mindscape.metrics.words import Language
from mindscape.mom.retrieval import support
from mindscape.own_book.book import OwnBook
from mindscape.roles.graph_answer import UNKNOWN
from mindscape.text import Chunk

FALL = 0.1  # nats a token; less is the processor's rounding and chance


@dataclass(frozen=True)
class OwnAnswer:
    """What came of a memory for a question. `source` is the place that holds most of the answer's words, a share of `words`;
    `fall` how much less likely an answer's token is without it, in nats; None where nobody can say."""

    memory: str
    question: str
    answer: str
    places: tuple[Chunk, ...] = ()
    tokens: int = 0
    source: Chunk | None = None
    words: float = 0.0
    fall: float | None = None

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
    some = [i for i, answer in enumerate(answers) if answer.source is not None]
    found: list[float | None] = [None] * len(answers)
    if not some:
        return found
    shown, without = [], []
    for answer in (answers[i] for i in some):
        texts = {place: book.document[place].strip() for place in answer.places}
        shown.append("\n\n".join(texts.values()))
        without.append("\n\n".join(text for place, text in texts.items() if place != answer.source))
    said, questions = [answers[i].answer for i in some], [answers[i].question for i in some]
    try:
        both = support(llm, shown + without, said * 2, questions * 2, book.language)
    except LLMError:
        return found
    for i, loss in zip(some, both[len(some) :] - both[: len(some)], strict=True):
        found[i] = float(loss)
    return found
