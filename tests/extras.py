"""What the tests need beyond the dependencies of the kit."""

import importlib
import os
from types import ModuleType

import pytest


def required(module: str, reason: str) -> ModuleType:
    """A module that an extra brings: without it the test is skipped, or fails where MINDSCAPE_NO_SKIPS is 1."""
    if os.environ.get("MINDSCAPE_NO_SKIPS") == "1":
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=reason)
