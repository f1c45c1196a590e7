"""The contrastive loss of MiA-Emb, and large batches of it on a small machine (MiA-RAG, Eq. 12 to 14).

InfoNCE (van den Oord et al., 2018) for one query of B: with the cosine as similarity and temperature tau, minus the log of the
softmax weight of its positive among its candidates, meaned over the batch. Its candidates are its positive and its own
negatives (Eq. 14), or everybody's, the usual in-batch negatives: a mask says which.

`cached_backward` computes the same gradients in pieces (GradCache: Gao et al., 2021): vectors first, without keeping what
their gradients need; the loss and its gradient by the vectors; then each piece again, this time backwards. Memory is that of
a piece, time about a third more. Taught in notebook 12_mia_emb_training.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from mindscape.errors import require


def info_nce(queries: Tensor, candidates: Tensor, positive: Tensor, mine: Tensor, temperature: float) -> Tensor:
    """The loss of Eq. 13, a scalar.

    `queries`: (B, dim); `candidates`: (C, dim), of all queries together; `positive`: (B,), the place of each query's
    positive among them; `mine`: (B, C), true where a query is compared with a candidate, its positive included. Vectors need
    not have length 1. Raises InputError for a positive that is not among its query's candidates, and a temperature that is
    not above 0: both would give a number.

    Two queries, each with its positive and a negative; the first is exactly as near to both:

    >>> q = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> c = torch.tensor([[1.0, 1.0], [1.0, -1.0], [0.0, 2.0], [3.0, 0.0]])
    >>> own = torch.tensor([[True, True, False, False], [False, False, True, True]])
    >>> round(info_nce(q[:1], c, torch.tensor([0]), own[:1], 1.0).item(), 4)                 # log 2
    0.6931
    >>> round(info_nce(q, c, torch.tensor([0, 2]), own, 1.0).item(), 4)    # and log(1 + 1/e), their mean
    0.5032
    """
    require(mine.gather(1, positive[:, None]).all(), "positive: expected each query's to be among its own candidates")
    require(temperature > 0, f"temperature={temperature!r}: expected more than 0")
    similar = functional.normalize(queries, dim=-1) @ functional.normalize(candidates, dim=-1).T / temperature
    return functional.cross_entropy(similar.masked_fill(~mine, float("-inf")), positive)


def cached_backward(encode: Callable[[Any], Tensor], pieces: Sequence[Any], loss: Callable[[Tensor], Tensor]) -> float:
    """Gradients of `loss(encode(piece) for all pieces, one below the other)`, a piece at a time; returns the loss.

    `encode` gives vectors (n, dim) and may draw numbers (dropout): each piece draws the same ones both times. Gradients are
    added to those that are there, as `backward` does.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> loss = cached_backward(layer, x.split(2), lambda vectors: vectors.sum())
    >>> layer.weight.grad
    tensor([[ 9., 12.]])
    """
    vectors, states = [], []
    with torch.no_grad():
        for piece in pieces:
            states.append((torch.get_rng_state(), torch.cuda.get_rng_state_all()))
            vectors.append(encode(piece))
    leaves = torch.cat(vectors).detach().requires_grad_()
    with torch.enable_grad():
        value = loss(leaves)
        (gradient,) = torch.autograd.grad(value, leaves)
    for piece, state, part in zip(pieces, states, gradient.split([len(some) for some in vectors]), strict=True):
        with torch.random.fork_rng(devices=range(len(state[1]))):  # afterwards they stand where they stand now
            torch.set_rng_state(state[0])
            torch.cuda.set_rng_state_all(state[1])
            again = encode(piece)
        again.backward(part)
    return value.item()
