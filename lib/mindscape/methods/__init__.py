"""Every way to find things in a long text that the course has, on the same questions, within the same number of tokens.

A *method* brings *pieces* for a question, best first: places in a text, and notes (summaries, descriptions) that have no place.
All methods fill the same budget with them; what the questions need is then there or not, and one reader answers from it.

    books     a `Case`: books that are searched together, questions on them, and what the log knows of them
    graphs    the log's graphs of several books: statements with their places, entities with their ties
    search    `METHODS`, rankings by each encoder, and the `pieces` that a method makes of them
    budget    `filled` up to so many tokens, and whether what a question needs is there
    costs     what has to be written, kept and read
    kept      rankings and answers in a folder, and what the reader is asked

What takes a model is asked for once, by `python -m mindscape.methods --out data/methods`; the same call goes on after a kill:

    ranks.jsonl     by family of methods (one encoder, and what is looked for with it) and case, a line: units for each
                    question, best first, seconds, bytes of vectors
    answers.jsonl   what a reader answers, a line a prompt, as `mindscape.reader.evaluation` keeps it

Summaries, sessions, graphs and document memories of novels are those that the log knows, so that methods are compared and not
their writers; of plays there are the kit's own summaries, and no graph. Taught in notebook 50_side_by_side; nothing is
averaged or tested here.
"""

from mindscape.methods.books import SERIES, SHARE, Case, cases, novels, picked, plays
from mindscape.methods.budget import WINDOW, Needed, Shown, filled, needed, shown, window
from mindscape.methods.costs import index_bytes, to_embed, written
from mindscape.methods.graphs import Statements, joined, stepped
from mindscape.methods.kept import (
    ANSWERED,
    ANSWERS,
    ASKED,
    add_ranks,
    answered,
    asked_of,
    kept_ranks,
    prompts,
)
from mindscape.methods.search import (
    BUDGET,
    FAMILIES,
    METHODS,
    Method,
    Piece,
    Ranks,
    by_mia,
    by_minilm,
    by_sft,
    known,
    methods_of,
    pieces,
)

__all__ = [
    "ANSWERED", "ANSWERS", "ASKED", "BUDGET", "FAMILIES", "METHODS", "SERIES", "SHARE", "WINDOW", "Case", "Method", "Needed",
    "Piece", "Ranks", "Shown", "Statements", "add_ranks", "answered", "asked_of", "by_mia", "by_minilm", "by_sft", "cases",
    "filled", "index_bytes", "joined", "kept_ranks", "known", "methods_of", "needed", "novels", "picked", "pieces", "plays",
    "prompts", "shown", "stepped", "to_embed", "window", "written",
]  # fmt: skip
