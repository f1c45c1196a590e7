"""What many tests say: that a call is refused, that the system fails, that a module is needed beyond the kit's dependencies;
and any value of JSON."""

import importlib
import os
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import strategies as st

from mindscape.errors import InputError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def refused(call: Callable[[], object], said: str, error: type[Exception] = InputError) -> None:
    """A call without arguments ends in an error that says so: a regular expression."""
    with pytest.raises(error, match=said):
        call()


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
