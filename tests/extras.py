"""What many tests say: that a call is refused, and that a module is needed beyond the dependencies of the kit."""

import importlib
import os
from collections.abc import Callable
from types import ModuleType

import pytest

from mindscape.errors import InputError


def refused(call: Callable[[], object], said: str, error: type[Exception] = InputError) -> None:
    """A call without arguments ends in an error that says so: a regular expression."""
    with pytest.raises(error, match=said):
        call()


def required(module: str, reason: str) -> ModuleType:
    """A module that an extra brings: without it the test is skipped, or fails where MINDSCAPE_NO_SKIPS is 1."""
    if os.environ.get("MINDSCAPE_NO_SKIPS") == "1":
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=reason)
