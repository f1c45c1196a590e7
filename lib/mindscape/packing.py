"""Texts that begin alike, in one sequence: what they share is read once.

The shared head comes first, then what follows it in each text, its tail. A tail sees the head and itself, and its positions
count from the head's end, so that states and attention are those of the texts read apart. For models that are told by a mask
what a token sees; one whose attention ends after a window is refused where the sequence is longer.

Taught in notebook 12_mia_emb_training.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import torch
from torch import Tensor
from transformers import PreTrainedModel

from mindscape.errors import InputError


@dataclass(frozen=True)
class Packed:
    """A head and the tails behind it, as token ids.

    >>> two = Packed((7, 8), ((1, 2, 3), (4, 5)))
    >>> two.ids.tolist(), two.positions.tolist()
    ([7, 8, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 2, 3])
    >>> two.place(1, 0), two.place(1, 3)        # token 0 of the second text is in the head, its token 3 the last of all
    (0, 6)
    >>> two.seen[5].int().tolist()              # the second tail's first token does not see the first tail
    [1, 1, 0, 0, 0, 1, 0]
    """

    head: tuple[int, ...]
    tails: tuple[tuple[int, ...], ...]

    @cached_property
    def starts(self) -> list[int]:
        """Where each tail begins, and where the last one ends."""
        return list(accumulate(map(len, self.tails), initial=len(self.head)))

    @property
    def ids(self) -> Tensor:
        """(n,)"""
        return torch.tensor([*self.head, *(token for tail in self.tails for token in tail)])

    @property
    def positions(self) -> Tensor:
        """(n,): where each token stands in its own text."""
        n = len(self.head)
        return torch.cat([torch.arange(n), *(torch.arange(n, n + len(tail)) for tail in self.tails)])

    @property
    def seen(self) -> Tensor:
        """(n, n), bool: whether a token (row) sees another (column)."""
        n = self.starts[-1]
        seen = torch.zeros(n, n, dtype=torch.bool)
        seen[:, : len(self.head)] = True
        for start, end in pairwise(self.starts):
            seen[start:end, start:end] = True
        return seen.tril_()

    def place(self, text: int, position: int) -> int:
        """Where a token of a text stands in the sequence."""
        return position if position < len(self.head) else self.starts[text] + position - len(self.head)

    def inputs(self, decoder: PreTrainedModel) -> dict[str, Tensor]:
        """What a decoder is called with to read it, on its device. Raises InputError for one that sees a shorter window."""
        window, n = getattr(decoder.config, "sliding_window", None), self.starts[-1]
        if window and n > window:
            raise InputError(
                f"{type(decoder).__name__} sees {window} tokens at a time, not {n}: read its texts apart, without a head"
            )
        device, dtype = decoder.device, decoder.dtype
        if torch.is_autocast_enabled(device.type):
            dtype = torch.get_autocast_dtype(device.type)
        told = {"input_ids": self.ids[None], "attention_mask": self.mask(dtype), "position_ids": self.positions[None]}
        return {name: values.to(device) for name, values in told.items()}

    def mask(self, dtype: torch.dtype) -> Tensor:
        """(1, 1, n, n): what is added to a score, 0 where a token is seen."""
        seen = self.seen
        return torch.zeros(seen.shape, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)[None, None]
