"""The embedded reader: a small language model taught the roles of `mindscape.roles` on storyworld books.

`mixture` makes the examples, `train` the adapter, on a laptop's CPU, and unchanged on a GPU. Taught in notebook
01_the_reader.
"""

from mindscape.reader.mixture import mixture
from mindscape.reader.training import Settings, train

__all__ = ["Settings", "mixture", "train"]
