"""The contrastive loss against sentence-transformers' and a loop; cached gradients against plain ones."""

import pytest
import torch
from extras import refused
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import nn
from torch.nn.functional import cosine_similarity

from mindscape.mia.emb_training import cached_backward, info_nce


def case(queries=4, each=3, dim=5, seed=0):
    """Queries, candidates query by query with the positive first, and whose each candidate is."""
    random = torch.Generator().manual_seed(seed)
    q = torch.randn(queries, dim, dtype=torch.float64, generator=random)
    c = torch.randn(queries * each, dim, dtype=torch.float64, generator=random)
    mine = torch.repeat_interleave(torch.eye(queries, dtype=torch.bool), each, dim=1)
    return q, c, torch.arange(queries) * each, mine


@pytest.mark.parametrize("shared", [False, True])
def test_against_the_formula_term_by_term(shared):
    q, c, positive, mine = case()
    mine |= shared
    total = 0.0
    for j in range(len(q)):
        weights = {i: (cosine_similarity(q[j], c[i], dim=0) / 0.1).exp() for i in range(len(c)) if mine[j, i]}
        total -= (weights[positive[j].item()] / sum(weights.values())).log()
    torch.testing.assert_close(info_nce(q, c, positive, mine, 0.1), total / len(q))


def test_against_sentence_transformers():
    """Its loss takes everybody's candidates, positives first; ours with a mask that leaves none out and the same vectors."""
    q, c, positive, mine = case(each=2)
    theirs = MultipleNegativesRankingLoss(nn.Identity(), scale=20.0)
    of = theirs.compute_loss_from_embeddings([q, c[0::2], c[1::2]], None)
    ours = info_nce(q, c, positive, torch.ones_like(mine), 1 / 20)
    torch.testing.assert_close(ours, of.double(), rtol=1e-6, atol=1e-6)


def loss(vectors):
    """Of four queries and what they are compared with."""
    _, _, positive, mine = case()
    return info_nce(vectors[:4], vectors[4:], positive, mine, 0.05)


@pytest.mark.parametrize("size", [1, 2, 5, 16])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_cached_gradients_are_the_plain_ones(size, dropout):
    """To 1e-6 in float64, with dropout, whatever the size of the pieces."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Dropout(dropout), nn.Linear(9, 5)).double()
    texts = torch.randn(16, 7, dtype=torch.float64)

    torch.manual_seed(2)
    value = cached_backward(model, texts.split(size), loss)
    cached = [weights.grad.clone() for weights in model.parameters()]
    model.zero_grad()
    torch.manual_seed(2)
    plain = loss(torch.cat([model(piece) for piece in texts.split(size)]))
    plain.backward()
    assert value == pytest.approx(plain.item(), rel=1e-9)
    for a, b in zip(cached, (weights.grad for weights in model.parameters()), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_gradients_are_added():
    model, texts = nn.Linear(7, 5).double(), torch.randn(16, 7, dtype=torch.float64)
    cached_backward(model, [texts], loss)
    once = model.weight.grad.clone()
    cached_backward(model, [texts], loss)
    torch.testing.assert_close(model.weight.grad, 2 * once)


def test_what_would_give_a_number_is_refused():
    q, c, positive, mine = case()
    refused(lambda: info_nce(q, c, positive.roll(1), mine, 0.1), "among its own candidates")
    refused(lambda: info_nce(q, c, positive, mine, 0), "temperature=0")
