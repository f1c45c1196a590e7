"""The reader's examples: of training seeds alone, of every role, always the same."""

import pytest
from extras import refused

import storyworld
from mindscape.roles import ROLES
from storyworld.teaching import mixture


def test_every_role_is_taught_and_the_list_is_always_the_same(tokenizer):
    found = mixture([3], tokenizer, dict.fromkeys(ROLES, 2))
    assert {example.role for example in found} == set(ROLES)
    assert all(sum(example.role == role for example in found) <= 2 for role in ROLES)
    assert found == mixture([3], tokenizer, dict.fromkeys(ROLES, 2))
    assert all(ROLES[example.role].parse(example.reply)[1] == [] for example in found)


@pytest.mark.parametrize("seed", [storyworld.DEVELOP[0], storyworld.TEST[0], -1])
def test_other_seeds_are_refused(seed, tokenizer):
    refused(lambda: mixture([seed], tokenizer, {"qa": 1}), f"seed {seed} is not for training")


def test_an_unknown_role_is_refused(tokenizer):
    refused(lambda: mixture([0], tokenizer, {"poet": 1}), "role='poet': expected one of chunk_summary")
