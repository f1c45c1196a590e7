"""What the reader is taught: gold examples of every role, from books of the training seeds with all sorts of knobs.

Only the training seeds (0-999) are taken; asking for others is an error, so that a test seed cannot slip in. Taught in
notebook 01_the_reader.
"""

from collections.abc import Iterable, Mapping
from itertools import islice

from mindscape import prompts
from mindscape.errors import InputError
from mindscape.roles import ROLES, Example
from mindscape.text import Tokenizer
from storyworld.books import training_book

SHARES = prompts.table("reader", "shares")["taught"]


def mixture(
    seeds: Iterable[int], tokenizer: Tokenizer, shares: Mapping[str, int] = SHARES, language: str = "en"
) -> list[Example]:
    """The examples of the books of `seeds`: for each book at most `shares[role]` of each role.

    The same arguments give the same list. Raises InputError for a seed that is not for training and for a role that there
    is not.
    """
    if unknown := sorted(set(shares) - set(ROLES)):
        raise InputError(f"no role {unknown[0]!r}: expected some of {', '.join(ROLES)}")
    found = []
    for seed in seeds:
        book = training_book(seed, language)
        for role, share in shares.items():
            found += islice(ROLES[role].examples(book, tokenizer), share)
    return found
