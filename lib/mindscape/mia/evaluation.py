"""Ranks as notebook 14 has them until it uses `mindscape.mia.retrieval`, where all else of this module is now."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mindscape import records
from mindscape.errors import InputError
from mindscape.mia.retrieval import (  # noqa: F401
    KINDS,
    benchmark_found,
    benchmark_right,
    benchmark_summaries,
    cut_benchmark,
    summary,
)
from mindscape.search import DEPTH  # noqa: F401


@dataclass(frozen=True)
class Ranked:
    """The first passages for a benchmark's question, and those that are right."""

    book: str
    question: str
    ranked: tuple[int, ...]
    right: tuple[int, ...]


def benchmark_ranks(embedder, loaded, chunks, told=None, kind="none") -> list[Ranked]:
    """As `benchmark_found`, with what is right."""
    pairs = zip(
        loaded.items, benchmark_found(embedder, loaded, chunks, told), benchmark_right(loaded, chunks), strict=True
    )
    return [Ranked(item.doc_id, item.id, row.ids, right) for item, row, right in pairs]


def kept_summaries(path: str | Path) -> Mapping[str, str]:
    """Summaries by document, from lines {"document": ..., "summary": ...}. Raises InputError for other lines."""
    try:
        return {row["document"]: row["summary"] for row in map(json.loads, records.whole_lines(path))}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: expected a document and its summary a line: {error!r}") from error
