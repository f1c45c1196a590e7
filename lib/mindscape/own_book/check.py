"""Whether a memory finds as much as plain search, asked of the book itself.

Nobody knows the answers to a reader's questions, but a *known item* can be made: a sentence of the book is drawn, some of its
words are the query, and the passage that it stands in is what is to be found (simulated queries, Azzopardi, de Rijke and Balog
2007). Sentences that a memory holds word for word are left out, so that none is found because it was copied.

A memory gets the smallest share of plain search (`SHARES`) at which it finds no fewer of them than plain search, and is set
aside where there is none: what costs a call and finds less misleads. Such queries are nearer to the book's words than a
reader's questions, and the check is about finding alone. Taught in notebook 52_your_own_book.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mindscape.lexical import terms
from mindscape.mom.retrieval import covered
from mindscape.own_book.book import OwnBook
from mindscape.own_book.memories import Memory
from mindscape.text import Span, sentences

QUERIES, DEPTH = 60, 10
SHARES = (0.5, 0.7, 0.9)  # of plain search's cosines; 0.5 is the papers' δ and α
LENGTHS = range(6, 41)  # content words of a sentence that a query is made from
FRAMES = {"en": "What is said of {}?", "zh": "关于{}说了什么？"}


@dataclass(frozen=True)
class Checked:
    """Of so many `queries` what plain search found among its first ten passages, and what a memory did at each share."""

    memory: str
    queries: int
    plain: int
    found: dict[float, int]

    @property
    def share(self) -> float | None:
        """The smallest share at which the memory finds no fewer; None where there is none.

        >>> Checked("mindscape", 60, 31, {0.5: 12, 0.7: 26, 0.9: 31}).share
        0.9
        """
        return next((share for share, found in self.found.items() if found >= self.plain), None)

    def __str__(self) -> str:
        best = max(self.found, key=lambda share: (self.found[share], -share))
        share = self.share if self.share is not None else best
        return f"finds {self.found[share]} of {self.queries} sentences where plain search finds {self.plain}"


def known_items(book: OwnBook, held: Sequence[str] = (), seed: int = 0, n: int = QUERIES) -> list[tuple[str, Span]]:
    """Queries and the sentences that they are made from, at most `n`; none of a sentence that stands in `held`.

    A query has half of its sentence's different content words, drawn with `seed`, at least three.

    >>> known_items(book, seed=1)[0]                                                         # doctest: +SKIP
    ('What is said of weather, thunder, lightning?', Span(start=120, end=171))
    """
    rng, document = np.random.default_rng(seed), book.document
    lines = sentences(document.text, book.language)
    together, found = "\n".join(held), []
    for i in rng.permutation(len(lines)).tolist():
        if len(found) == n:
            break
        text = document[lines[i]].strip()
        words = list(dict.fromkeys(terms(text, book.language)))
        if len(words) not in LENGTHS or text in together:
            continue
        some = sorted(rng.choice(len(words), max(3, len(words) // 2), replace=False).tolist())
        found.append((FRAMES[book.language].format(", ".join(words[j] for j in some)), lines[i]))
    return found


def check(plain: Memory, memories: Sequence[Memory], seed: int = 0, n: int = QUERIES) -> list[Checked]:
    """Sets each memory's share of plain search, or why it is set aside; and says what each found.

    A book with fewer than ten sentences to ask for says nothing, and the memories keep their papers' share.

    >>> [str(of) for of in check(plain, [with_summary])]                                     # doctest: +SKIP
    ['finds 44 of 60 sentences where plain search finds 43']
    """
    items = known_items(plain.book, [memory.held for memory in memories], seed, n)
    for memory in memories:
        memory.share = SHARES[0]
        if plain.look.blind:
            memory.aside = "the encoder does not read the book's language: name another one (encoder hf:NAME)"
    if len(items) < 10 or plain.look.blind:
        return []
    queries, spans = map(list, zip(*items, strict=True))

    def found(memory: Memory, scores: np.ndarray) -> int:
        rows = memory.look.best(scores, DEPTH)
        document = memory.book.document
        hits = [covered(document, span, [memory.units[i] for i in row]) for span, row in zip(spans, rows, strict=True)]
        return sum(hits)

    baseline, checked = found(plain, plain.look.scores(queries)), []
    for memory in memories:
        cosines = memory.cosines(queries)
        by_share = {share: found(memory, memory.look.scores(queries, cosines, share)) for share in SHARES}
        result = Checked(memory.name, len(items), baseline, by_share)
        if result.share is None:
            memory.aside = str(result)
        else:
            memory.share = result.share
        checked.append(result)
    return checked
