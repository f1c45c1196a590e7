"""One budget of tokens for all methods: what of their pieces is shown, and whether what a question needs is among it.

Whether a reader can make use of it is not asked here. Taught in notebook 50_side_by_side.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mindscape.errors import require
from mindscape.methods.books import Case, starts
from mindscape.methods.search import Piece
from mindscape.mom.retrieval import context, covered
from mindscape.question import Question
from mindscape.text import Chunk


@dataclass(frozen=True)
class Shown:
    """What a reader gets: pieces, the last of them cut where the budget ends, and the tokens in them."""

    pieces: tuple[Piece, ...]
    tokens: int

    @property
    def places(self) -> list[Chunk]:
        return [piece for piece in self.pieces if isinstance(piece, Chunk)]

    @property
    def notes(self) -> list[str]:
        return [piece for piece in self.pieces if isinstance(piece, str)]

    def text(self, case: Case) -> str:
        """Notes, a line each, and places, a blank line between two."""
        return "\n\n".join(part for part in ("\n".join(self.notes), context(case.documents, self.places)) if part)


def filled(case: Case, found: Sequence[Piece], budget: int = 1000) -> Shown:
    """As many pieces as the budget holds, in their order; a place that stands in those before it is passed over, the piece that
    does not fit is cut, and nothing follows it.

    Tokens are the reader's, of each document and note by itself; the blank lines between pieces are not counted. Raises
    InputError for a budget below 1. Taught in notebook 50_side_by_side.

    >>> filled(case, pieces(case, "lead")[0], 300).tokens                                    # doctest: +SKIP
    300
    """
    require(budget >= 1, f"budget={budget}: expected at least 1 token")
    taken: list[Piece] = []
    left = budget
    for piece in found:
        if left == 0:
            break
        if isinstance(piece, str):
            at, begin, end = starts(piece, case.tokenizer), 0, len(piece)
        elif covered(case.documents[piece.doc_id], piece, [it for it in taken if isinstance(it, Chunk)]):
            continue
        else:
            every, begin, end = case.starts[piece.doc_id], piece.start, piece.end
            at = every[bisect_left(every, begin) : bisect_left(every, end)]
        if len(at) > left:
            end = at[left]
        left -= min(left, len(at))
        if end > begin:
            taken.append(piece[:end] if isinstance(piece, str) else replace(piece, end=end))
    return Shown(tuple(taken), budget - left)


@dataclass(frozen=True)
class Needed:
    """What a question needs and was shown: the share of its evidence; of its bindings; of both, each span and each binding
    counted once (1 where there are none); and whether all of it is there.

    A binding is there where one of the places that state it is shown, or a note says it in its words.
    """

    evidence: float
    bindings: float
    share: float

    @property
    def all(self) -> float:
        return float(self.evidence == 1 and self.bindings == 1)


def needed(case: Case, question: Question, what: Shown) -> Needed:
    """Whether what is shown holds what a question needs. Taught in notebook 50_side_by_side.

    >>> needed(case, question, filled(case, pieces(case, "evidence")[0])).all               # doctest: +SKIP
    1.0
    """
    document, places = case.documents[question.doc_id], what.places
    evidence = [covered(document, span, places) for span in question.evidence]
    bindings = [any(covered(document, span, places) for span in group) for group in question.bindings]
    notes = " ".join(what.notes).lower()
    glosses = [part.strip().lower() for part in question.gloss.replace("；", ";").split(";") if part.strip()]
    if len(glosses) == len(bindings):  # a gloss for each binding
        bindings = [there or gloss in notes for there, gloss in zip(bindings, glosses, strict=True)]
    both = [*evidence, *bindings]
    return Needed(*(sum(some) / len(some) if some else 1.0 for some in (evidence, bindings, both)))
