"""The embedded reader: a small language model taught the roles of `mindscape.roles` on storyworld books.

`train` runs on a laptop's CPU, and unchanged on a GPU. Taught in notebook 01_the_reader.
"""

from mindscape.reader.training import Settings, train

__all__ = ["Settings", "train"]
