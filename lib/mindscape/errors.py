"""The kit's own errors: one line each, that says what was wrong, where, and what was expected.

Taught in notebook 00. Anything else that is raised is a bug in the kit and keeps its full traceback.
"""

import errno
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path


class MindscapeError(Exception):
    """Something that the reader can mend. A notebook shows its one line instead of a traceback.

    >>> raise MindscapeError("book.txt is empty: expected some text")
    Traceback (most recent call last):
    ...
    mindscape.errors.MindscapeError: book.txt is empty: expected some text
    """

    def _render_traceback_(self):
        """What IPython prints for it."""
        return [f"{type(self).__name__}: {self}"]


class InputError(MindscapeError, ValueError):
    """A file, a parameter or an argument is not what it should be."""


class AssetError(MindscapeError):
    """A model or a text that the kit fetches is missing, broken or cannot be stored."""


class LLMError(MindscapeError):
    """A model could not be reached, refused, or replied with something that cannot be used."""


class BudgetReached(MindscapeError):
    """A ledger's cap was reached; everything answered until then is cached."""


def require(holds: object, otherwise: str) -> None:
    """Raises InputError with the words of `otherwise`, unless something holds.

    >>> require(0 < 2, "size=2: expected at least 1")
    """
    if not holds:
        raise InputError(otherwise)


def one_of(known: Collection[str], **given: object) -> None:
    """Raises InputError unless each argument, which is handed over by its name, is one of those that are known.

    >>> one_of(("chunk", "node"), task="page")
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: task='page': expected one of chunk, node
    """
    for name, value in given.items():
        require(value in known, f"{name}={value!r}: expected one of {', '.join(known)}")


FREE_SPACE, WRITABLE = "free some space there", "see that it can be written"


def storage_advice(error: OSError) -> str:
    """What to do where a file could not be written.

    >>> storage_advice(OSError(errno.ENOSPC, "")), storage_advice(OSError(errno.EACCES, ""))
    ('free some space there', 'see that it can be written')
    """
    return FREE_SPACE if error.errno in (errno.ENOSPC, errno.EDQUOT) else WRITABLE


@contextmanager
def writing(folder: Path, instead: str) -> Iterator[None]:
    """Raises MindscapeError in place of an OSError, with what to do; `instead` ends it.

    >>> with writing(Path("figures"), "or set MINDSCAPE_FIGURES to another folder"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    ...
    mindscape.errors.MindscapeError: cannot write to figures: No space left on device; free some space there, or set ...
    """
    try:
        yield
    except OSError as error:
        message = f"cannot write to {folder}: {error.strerror or error}; {storage_advice(error)}, {instead}"
        raise MindscapeError(message) from error
