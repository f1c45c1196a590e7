"""Whether a memory finds as much as plain search, asked of the book itself.

Nobody knows the answers to a reader's questions, but a *known item* can be made: a sentence of the book is drawn, some of its
words are the query, and the passage that it stands in is what is to be found (simulated queries, Azzopardi, de Rijke and Balog
2007). Sentences that a memory holds word for word are left out, so that none is found because it was copied.

A memory is used with nineteen parts of plain search and one of its own (`SHARE`), and set aside where it finds fewer than
plain search alone: what costs a call and finds less misleads. Half and half, the papers' δ and α, is for retrievers that were
trained to read a summary; it is measured beside. Such queries are nearer to the book's words than a reader's questions, and
easier, which is why no larger part is given to a memory that passes. Taught in notebook 52_your_own_book.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mindscape.lexical import terms
from mindscape.mom.retrieval import covered
from mindscape.own_book.book import OwnBook
from mindscape.own_book.memories import Finder
from mindscape.text import Span, sentences

QUERIES, DEPTH = 60, 10
SHARE, PAPERS = 0.95, 0.5  # of plain search's cosines beside a memory: as it is used, and the papers' δ and α
LENGTHS = range(6, 41)  # content words of a sentence that a query is made from
FRAMES = {"en": "What is said of {}?", "zh": "关于{}说了什么？"}


@dataclass(frozen=True)
class Checked:
    """Of so many `queries` how many passages were among the first ten of plain search (`plain`), and of a memory: as it is used
    (`found`), and at the papers' share (`at_half`)."""

    memory: str
    queries: int
    plain: int
    found: int
    at_half: int

    @property
    def passed(self) -> bool:
        """Whether the memory finds no fewer.

        >>> Checked("mindscape", 60, plain=31, found=30, at_half=12).passed
        False
        """
        return self.found >= self.plain

    def __str__(self) -> str:
        return f"finds {self.found} of {self.queries} sentences where plain search finds {self.plain}"


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


def check(plain: Finder, memories: Sequence[Finder], seed: int = 0, n: int = QUERIES) -> list[Checked]:
    """Says what each memory found, and in the memory why it is set aside.

    A book with fewer than ten sentences to ask for says nothing, and all memories are used.

    >>> [str(of) for of in check(plain, [with_summary])]                                     # doctest: +SKIP
    ['finds 44 of 60 sentences where plain search finds 43']
    """
    items = known_items(plain.book, [memory.held for memory in memories], seed, n)
    for memory in memories:
        memory.share = SHARE
        if plain.look.blind:
            memory.aside = "the encoder does not read the book's language: name another one (encoder hf:NAME)"
    if len(items) < 10 or plain.look.blind:
        return []
    queries, spans = map(list, zip(*items, strict=True))

    def found(memory: Finder, scores: np.ndarray) -> int:
        rows = memory.look.best(scores, DEPTH)
        document = memory.book.document
        hits = [covered(document, span, [memory.units[i] for i in row]) for span, row in zip(spans, rows, strict=True)]
        return sum(hits)

    baseline, checked = found(plain, plain.look.scores(queries)), []
    for memory in memories:
        cosines = memory.cosines(queries)
        used, half = (found(memory, memory.look.scores(queries, cosines, share)) for share in (SHARE, PAPERS))
        result = Checked(memory.name, len(items), baseline, used, half)
        memory.aside = "" if result.passed else str(result)
        checked.append(result)
    return checked
