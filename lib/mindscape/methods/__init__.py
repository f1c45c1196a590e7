"""Every way to find things in a long text that the course has, on the same questions, within the same number of tokens.

A *method* brings *pieces* for a question, best first: places in a text, and notes (summaries, descriptions) that have no place.
All methods fill the same budget with them; what the questions need is then there or not, and one reader answers from it.

    books     a `Case`: books that are searched together, questions on them, and the log's graphs of them
    search    `METHODS`, what each ranks by its encoder, the `pieces` that it makes of that, `filled` up to so many tokens, and
              whether what a question needs is there

Summaries, sessions, graphs and document memories of novels are those that the log knows, so that methods are compared and not
their writers; of plays there are the kit's own summaries, and no graph. Taught in notebook 50_side_by_side; nothing is
averaged, tested or answered here.
"""

from mindscape.methods.books import Case, cases, novels, picked, plays, starts, stepped
from mindscape.methods.search import METHODS, Encoders, filled, methods_of, needed, pieces, rankings, short_layers

__all__ = [
    "METHODS", "Case", "Encoders", "cases", "filled", "methods_of", "needed", "novels", "picked", "pieces", "plays",
    "rankings", "short_layers", "starts", "stepped",
]  # fmt: skip
