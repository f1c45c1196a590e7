"""Recall at k, in its two readings. The papers write Recall@K and do not say which one they mean.

They agree where a question has one relevant item, and part where it has several: a question with three clues of which
one is found counts 1 in the first reading and 1/3 in the second.

Taught in notebook 00. This module does not decide what is relevant: where evidence is a span of characters, the
caller says which chunks hold it.
"""

from collections.abc import Collection, Hashable, Sequence

from mindscape.errors import InputError, require


def recall_any_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """1 if any relevant item is among the first `k` of `ranked`, else 0. Also called hit rate or success at k.

    `ranked` holds ids, best first, and may be shorter than `k`. An id that comes twice takes two of the `k` places, as
    it does in a reader's prompt. Raises InputError if nothing is relevant, since recall is then undefined, or `k` < 1.

    >>> recall_any_at_k([7, 2, 9, 4], {2, 4, 8}, k=1), recall_any_at_k([7, 2, 9, 4], {2, 4, 8}, k=3)
    (0.0, 1.0)
    """
    return float(bool(_found(ranked, relevant, k)))


def recall_fraction_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Which part of the relevant items is among the first `k` of `ranked`. Arguments and errors: `recall_any_at_k`.

    It cannot reach 1 where more than `k` items are relevant.

    >>> recall_fraction_at_k([7, 2, 9, 4], {2, 4, 8}, k=3), recall_fraction_at_k([7, 2, 9, 4], {2, 4, 8}, k=4)
    (0.3333333333333333, 0.6666666666666666)
    """
    return len(_found(ranked, relevant, k)) / len(set(relevant))


def _found(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> set[Hashable]:
    if isinstance(ranked, str) or isinstance(relevant, str):
        raise InputError("ranked and relevant must be collections of ids, not one string")
    require(relevant, "relevant is empty: recall needs at least one relevant item a question")
    require(k >= 1, f"k is {k}: expected 1 or more")
    return set(ranked[:k]) & set(relevant)
