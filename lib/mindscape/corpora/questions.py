"""A question on a long text, with what it takes to answer it; the same for every corpus.

Breadth and depth are MindGraph's two axes (section 2.1, appendix C): how much of the text must be read, and how many
steps lead from what was read to the answer. Taught in notebook 00_start_here.
"""

from dataclasses import dataclass

from mindscape.text import Span

BREADTHS = ("local", "sparse-local", "multi-sparse", "partial", "global")
DEPTHS = ("lookup", "multi-hop", "set-aggregation", "global-synthesis")


@dataclass(frozen=True)
class Question:
    """A question on the document `doc_id`.

    `accepted` are other strings that count as right; `options` are four, the answer among them. `evidence` is every
    place that the answer is read from, in the order of the text. `bindings` says who is meant, where the question does
    not use the name that its evidence uses: for each binding all the places that state it, any one of which will do;
    `gloss` says the same in words, and `resolved` is the question with the evidence's own names put in. `hops` counts the statements that have to be joined.
    """

    id: str
    doc_id: str
    question: str
    answer: str
    accepted: tuple[str, ...]
    options: tuple[str, ...]
    evidence: tuple[Span, ...]
    breadth: str
    depth: str
    hops: int = 1
    bindings: tuple[tuple[Span, ...], ...] = ()
    gloss: str = ""
    resolved: str = ""
    kind: str = ""

    @property
    def needs_binding(self) -> bool:
        return bool(self.bindings)


@dataclass(frozen=True)
class ClaimPair:
    """Two sentences that differ in one fact; the text bears out `true` and rules out `false`."""

    id: str
    doc_id: str
    true: str
    false: str
    evidence: tuple[Span, ...]
