"""Where annotations of novels were kept, until `mindscape.mia.mcea_evaluation` finds them in the store."""

from pathlib import Path

from mindscape.corpora.storyworld import Book
from mindscape.mia.embedding import Task


def path_of(folder: str | Path, book: Book, task: Task) -> Path:
    """Where the annotations of a novel are."""
    return Path(folder) / f"{book.document.id}.{task}.jsonl"
