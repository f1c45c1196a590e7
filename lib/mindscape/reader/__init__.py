"""The embedded reader: a small language model taught the roles of `mindscape.roles` on storyworld books.

`mixture` makes the examples that `mindscape.training` tunes it on, `evaluation` weighs what it learned, and
`python -m mindscape.reader` does the former two. Taught in notebook 01_the_reader.
"""

from mindscape.reader.mixture import SHARES, mixture

__all__ = ["SHARES", "mixture"]
