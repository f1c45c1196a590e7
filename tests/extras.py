"""What many tests say: that a call is refused, that the system fails, that a module is needed beyond the kit's dependencies;
any value of JSON, and awkward texts."""

import importlib
import os
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import strategies as st

from mindscape.errors import InputError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)

# Pieces that are awkward to cut and to find again, in two languages; texts of them are not blank.
AWKWARD = [
    *("It rained. ", "Ivo left.\n\n", "home", " ", "\n\n", "\r\n", "<b>", "[MASK]", "“so”", "—"),
    *("。", "他来了。", "林黛玉", "　", "！？", "e\u0301", "\u200d", "👍🏽", "ß", "ﬁ", "\x00", "\x1f"),
]
awkward_pieces = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=4), min_size=1, max_size=30)
awkward_texts = awkward_pieces.map("".join).filter(str.strip)


def refused(call: Callable[[], object], said: str, error: type[Exception] = InputError) -> Exception:
    """A call without arguments ends in an error that says so, a regular expression; the error."""
    with pytest.raises(error, match=said) as caught:
        call()
    return caught.value


def failing(number: int) -> Callable[..., None]:
    """A function that fails as the system does, with an error of `errno`."""

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


def required(module: str, reason: str) -> ModuleType:
    """A module that an extra brings: without it the test is skipped, or fails where MINDSCAPE_NO_SKIPS is 1."""
    if os.environ.get("MINDSCAPE_NO_SKIPS") == "1":
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=reason)
