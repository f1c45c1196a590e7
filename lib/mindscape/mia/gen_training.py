"""The first layers of a base: see `mindscape.training.bases`."""

from mindscape.training.bases import shallow

__all__ = ["shallow"]
