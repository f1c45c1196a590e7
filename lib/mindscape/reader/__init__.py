"""The embedded reader: a small language model taught the roles of `mindscape.roles` on storyworld books.

`mixture` makes the examples that `python -m mindscape.training reader` tunes it on, `scoring` weighs what it learned. Taught in
notebook 01_the_reader.
"""

from mindscape.reader.mixture import SHARES, mixture

__all__ = ["SHARES", "mixture"]
