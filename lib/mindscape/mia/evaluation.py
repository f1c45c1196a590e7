"""How well an embedder finds evidence: ranks of a novel's passages and entities for its questions, with one or another summary.

Ranks can be kept in a file, so that they are scored again without the model:

    python -m mindscape.mia.evaluation --adapter data/adapters/mia_emb --out ranks.jsonl

Questions whose evidence is in more than a few passages are left out: no ranking brings a whole book to the front. Books come
from the develop seeds unless another split is named. Taught in notebook 12_mia_emb_training.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerBase

from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError, MindscapeError
from mindscape.extractive import summarise
from mindscape.mia import embedding
from mindscape.mia.embedding import MiaEmbedder, Task
from mindscape.mia.supervision import MOST, bearing, evidence, nodes
from mindscape.reader.evaluation import SPLITS, books
from mindscape.roles import passages
from mindscape.store import whole_lines
from mindscape.text import sentences
from mindscape.weights import adapter_hash

DEPTH = 10  # ranks that are kept
KINDS = ("gold", "none", "shuffled", "other", "textrank")


@dataclass(frozen=True)
class Ranked:
    """The first units for a question, best first, and those that are right; `binding` says that it names nobody by name."""

    book: str
    question: str
    task: Task
    summary: str  # which kind
    ranked: tuple[int, ...]
    right: tuple[int, ...]
    binding: bool


def summary(books: Sequence[Book], i: int, kind: str) -> str | None:
    """A summary of the i-th book: its gold one, none, the gold one with its sentences shuffled, that of the next book, or an
    extract of the same length (TextRank). Raises InputError for another kind."""
    book = books[i]
    if kind == "none":
        return None
    if kind == "gold":
        return book.summary
    if kind == "other":
        return books[(i + 1) % len(books)].summary
    if kind == "textrank":
        return summarise(book.document.text, book.document.language, len(book.summary))
    if kind != "shuffled":
        raise InputError(f"summary={kind!r}: expected one of {', '.join(KINDS)}")
    parts = [book.summary[span.start : span.end].strip() for span in sentences(book.summary, book.document.language)]
    return book.voice.words.scenes.JOIN.join(Chance("shuffled", book.document.id).shuffled(parts))


def ranks(
    embedder: MiaEmbedder,
    books: Sequence[Book],
    tokenizer: PreTrainedTokenizerBase,
    kind: str = "gold",
    task: Task = "chunk",
) -> list[Ranked]:
    """The first `DEPTH` units for each question on the books; equal scores by index."""
    found = []
    for i, book in enumerate(books):
        chunks = passages.cut(book, tokenizer)
        if task == "chunk":
            units = [book.document[chunk].strip() for chunk in chunks]
            right = [evidence(book, question, chunks) for question in book.questions]
        else:
            units, right = nodes(book), [bearing(book, question) for question in book.questions]
        few = [MOST if task == "chunk" else len(units) - 1] * len(right)
        asked = [(q, r) for q, r, most in zip(book.questions, right, few, strict=True) if 0 < len(r) <= most]
        vectors = embedder.queries([q.question for q, _ in asked], summary(books, i, kind), task)
        nearest = np.argsort(-(vectors @ embedder.units(units).T), axis=1, kind="stable")[:, :DEPTH]
        for (question, answers), row in zip(asked, nearest.tolist(), strict=True):
            about = (book.document.id, question.id, task, kind)
            found.append(Ranked(*about, tuple(row), tuple(answers), question.needs_binding))
    return found


def keep(path: str | Path, about: Mapping[str, object], rows: Iterable[Ranked]) -> None:
    """Write ranks to a file whose first line says whose they are."""
    lines = [json.dumps(dict(about)), *(json.dumps(asdict(row), ensure_ascii=False) for row in rows)]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def kept(path: str | Path, adapter: str | Path | None = None) -> list[Ranked]:
    """The ranks in a file. Raises InputError for those of another adapter, and for what are no ranks."""
    try:
        first, *rows = (json.loads(line) for line in whole_lines(path))
        whose = first["adapter_sha256"]
        found = [Ranked(**{**row, "ranked": tuple(row["ranked"]), "right": tuple(row["right"])}) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: expected a line on whose ranks these are, and then one a question: {error!r}"
        ) from error
    expected = adapter_hash(adapter) if adapter else ""
    if whose != expected:
        raise InputError(f"{path} holds ranks of adapter {whose[:12]!r}: expected those of {expected[:12]!r}")
    return found


def main() -> None:
    """Rank with an adapter, or with the base as it comes, and keep the ranks."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mia.evaluation", description=main.__doc__)
    told.add_argument("--out", required=True, help="the file of ranks, written anew")
    told.add_argument("--adapter", default="", help="folder of an adapter; the base as it comes by default")
    told.add_argument("--base", default="", help="folder or name of a causal model; the embedded one by default")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--summaries", default="gold", help=f"kinds of summary, with commas: {', '.join(KINDS)}")
    told.add_argument("--dtype", default="auto", help="precision of the model")
    given = told.parse_args()
    try:
        embedder = embedding.load(given.base, given.adapter or None, dtype=given.dtype)
        of_split, rows = books(given.split)[: given.books], []
        for kind in given.summaries.split(","):
            for task in ("chunk", "node"):
                rows += ranks(embedder, of_split, embedder.tokenizer, kind, task)
                some = [row for row in rows if (row.summary, row.task) == (kind, task)]
                hits = np.mean([len(set(row.ranked[:3]) & set(row.right)) / len(row.right) for row in some])
                print(f"{kind} {task}: {len(some)} questions, recall@3 {hits:.3f}", flush=True)
    except MindscapeError as error:
        sys.exit(f"error: {error}")
    about = {"base": given.base or "SmolLM2-135M-Instruct", "split": given.split, "books": given.books}
    about |= {"adapter_sha256": adapter_hash(given.adapter) if given.adapter else "", "dtype": given.dtype}
    keep(given.out, about, rows)


if __name__ == "__main__":
    main()
