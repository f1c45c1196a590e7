"""A text and the places in it.

Offsets count Unicode characters (Python's `str` indices), not bytes and not tokens; `start` is included, `end` is not.
This module reads no files: `mindscape.corpora` does. It changes no text either: no normalisation, no stripping.
Taught in notebook 00_start_here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mindscape.errors import InputError


class Place(Protocol):
    """Anything with character offsets: a Span, a Chunk, a scene of a play."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


@dataclass(frozen=True, order=True)
class Span:
    """The characters from `start` up to, not including, `end`.

    >>> Document("note", "To be, or not to be")[Span(7, 9)]
    'or'
    """

    start: int
    end: int


@dataclass(frozen=True)
class Chunk:
    """The `index`-th piece of the document `doc_id`; `document[chunk]` is its text. It holds no text itself."""

    doc_id: str
    index: int
    start: int
    end: int


@dataclass(frozen=True)
class Document:
    """A text with a name. `language` is an ISO 639-1 code; `meta` is free (title, genre, …).

    An empty text is a document (it has no chunks); the loaders in `mindscape.corpora` refuse an empty book. Raises
    InputError for a text that cannot be written as UTF-8 (it holds half of a surrogate pair): no tokenizer reads it.
    Two documents are equal when id, text and language are.

    >>> document = Document("note", "Brevity is the soul of wit.")
    >>> document[Span(15, 26)]
    'soul of wit'
    """

    id: str
    text: str
    language: str = "en"
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self):
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"document {self.id!r}: character {error.start} is half of a surrogate pair: expected Unicode text"
            ) from None

    def __getitem__(self, place: Place) -> str:
        """The text of a span, a chunk, or anything else with `start` and `end`.

        Raises InputError where the offsets are not in this text, or the chunk is of another document.
        """
        if (of := getattr(place, "doc_id", self.id)) != self.id:
            raise InputError(f"the chunk is of document {of!r}: expected one of {self.id!r}")
        if not 0 <= place.start <= place.end <= len(self.text):
            raise InputError(
                f"document {self.id!r} has {len(self.text)} characters: it has no place {place.start}:{place.end}"
            )
        return self.text[place.start : place.end]
