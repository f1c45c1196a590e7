"""How well an embedder finds evidence: ranks of a text's passages and entities for its questions, with one or another summary.

Ranks can be kept in a file, so that they are scored again without the model:

    python -m mindscape.mia.evaluation --adapter data/adapters/mia_emb --out ranks.jsonl

The same call goes on after a kill, with the kind of summary and the task at which it was.

Questions whose evidence is in more than a few passages are left out: no ranking brings a whole book to the front. Beside
passages and entities there is `who`, which asks for nothing but the name of the one who is meant. Books come from the develop
seeds unless another split is named, or plays. Taught in notebook 12_mia_emb_training.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, encoders, records
from mindscape.cache import digest
from mindscape.corpora import shakespeare
from mindscape.corpora.benchmarks import Item, Loaded
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError, MindscapeError
from mindscape.extractive import summarise
from mindscape.llm import LLM
from mindscape.metrics import normalise, recall_fraction_at_k
from mindscape.mia import embedding
from mindscape.mia.embedding import Form, MiaEmbedder, PlainEmbedder, Task
from mindscape.mia.summaries import build, build_with
from mindscape.mia.supervision import to_find, who_is_who
from mindscape.question import Question
from mindscape.roles import passages
from mindscape.text import Chunk, Document, sentences, split_sentences, split_tokens
from mindscape.weights import adapter_hash

OF = "a question's ranks"  # a line of the file, in messages
DEPTH = 10  # ranks that are kept
TASKS = ("chunk", "node", "who")
KINDS = ("gold", "none", "shuffled", "other", "textrank", "reader")


@dataclass(frozen=True)
class Play:
    """A play, the kit's own summary of it and questions on it, in the place of a book of the storyworld."""

    document: Document
    summary: str
    questions: tuple[Question, ...]


def play(name: str) -> Play:
    """Raises InputError for a play on which the kit has no questions."""
    return Play(shakespeare.play(name), shakespeare.summary(name), shakespeare.questions(name))


@dataclass(frozen=True)
class Ranked:
    """The first units for a question, best first, and those that are right; `binding`: whether the question needs one."""

    book: str
    question: str
    task: str
    summary: str  # which kind
    ranked: tuple[int, ...]
    right: tuple[int, ...]
    binding: bool

    def recall(self, k: int) -> float:
        """The share of the right units among the first k, at most `DEPTH`."""
        return recall_fraction_at_k(self.ranked, self.right, k)


def summary(books: Sequence[Book | Play], i: int, kind: str, by_reader: Mapping[str, str] | None = None) -> str | None:
    """A summary of the i-th book: its gold one, none, the gold one with its sentences shuffled, that of the next book, an
    extract of the same length (TextRank), or, by document in `by_reader`, one that a model wrote. Raises InputError for
    another kind."""
    book = books[i]
    language = book.document.language
    if kind == "none":
        return None
    if kind == "gold":
        return book.summary
    if kind == "other":
        return books[(i + 1) % len(books)].summary
    if kind == "textrank":
        return summarise(book.document.text, language, len(book.summary))
    if kind == "reader" and by_reader and book.document.id in by_reader:
        return by_reader[book.document.id]
    if kind == "reader":
        raise InputError(f"{book.document.id}: no summary by a reader: expected one for each book")
    if kind != "shuffled":
        raise InputError(f"summary={kind!r}: expected one of {', '.join(KINDS)}")
    parts = [book.summary[span.start : span.end].strip() for span in sentences(book.summary, language)]
    return ("" if language == "zh" else " ").join(Chance("shuffled", book.document.id).shuffled(parts))


def ranks(
    embedder: MiaEmbedder | PlainEmbedder,
    books: Sequence[Book | Play],
    tokenizer: PreTrainedTokenizerBase,
    kind: str = "gold",
    task: str = "chunk",
    by_reader: Mapping[str, str] | None = None,
) -> list[Ranked]:
    """The first `DEPTH` units for each question on the books; equal scores by index. Nodes are those of the storyworld's gold,
    and so are the names of task "who".

    Raises InputError for another task, and for anything but passages of a play.
    """
    if task not in TASKS:
        raise InputError(f"task={task!r}: expected one of {', '.join(TASKS)}")
    vector: Task = "chunk" if task == "chunk" else "node"
    found = []
    for i, book in enumerate(books):
        units, asked = _asked(book, task, tokenizer)
        told = summary(books, i, kind, by_reader)
        vectors = embedder.queries([question for _, question, *_ in asked], told, vector)
        nearest = np.argsort(-(vectors @ embedder.units(units).T), axis=1, kind="stable")[:, :DEPTH]
        for (name, _, right, binding), row in zip(asked, nearest.tolist(), strict=True):
            found.append(Ranked(book.document.id, name, task, kind, tuple(row), tuple(right), binding))
    return found


def _asked(
    book: Book | Play, task: str, tokenizer: PreTrainedTokenizerBase
) -> tuple[list[str], list[tuple[str, str, list[int], bool]]]:
    """A text's units, and its questions: id, wording, the units that are right, and whether it needs a binding."""
    if task != "chunk" and not isinstance(book, Book):
        raise InputError(f"{book.document.id}: expected a book of the storyworld, whose entities are known")
    if task == "who":
        names = [book.voice.name(person.id) for person in book.world.people]
        return names, [
            (one.id, one.question, [names.index(*one.units["node"].positives)], True) for one in who_is_who(book)
        ]
    units, pairs = to_find(book, tokenizer, task)
    return units, [(one.id, one.question, sorted(right), one.needs_binding) for one, right in pairs]


# Benchmarks


def cut_benchmark(loaded: Loaded, tokenizer: PreTrainedTokenizerBase) -> dict[str, list[Chunk]]:
    """The passages of each text of a benchmark, of the size of those of a novel; blank ones are left out."""
    cut = {name: split_sentences(text, tokenizer, passages.SIZE) for name, text in loaded.documents.items()}
    return {name: [chunk for chunk in chunks if loaded.documents[name][chunk].strip()] for name, chunks in cut.items()}


def benchmark_summaries(
    loaded: Loaded, tokenizer: PreTrainedTokenizerBase, llm: LLM | None = None, size: int = 1200
) -> dict[str, str]:
    """A summary of each text of a benchmark: an extract of extracts (TextRank), or a model's, of chunks of `size` tokens.

    A summary that is published with the text is not used: NarrativeQA's questions were written from it.
    """
    found = {}
    for name, text in loaded.documents.items():
        chunks = [chunk for chunk in split_tokens(text, tokenizer, size, 0) if text[chunk].strip()]
        extract = partial(summarise, language=text.language)
        found[name] = (build(llm, text, chunks) if llm else build_with(extract, "textrank", text, chunks)).text
    return found


def benchmark_ranks(
    embedder: MiaEmbedder | PlainEmbedder,
    loaded: Loaded,
    chunks: Mapping[str, Sequence[Chunk]],
    told: Mapping[str, str] | None = None,
    kind: str = "none",
) -> list[Ranked]:
    """The first `DEPTH` passages of its own text for each item, in the items' order; `told` are summaries by text, of a kind.

    Right are the passages that hold some of the benchmark's evidence. Where it gives none, those in which one of the free
    answers stands word for word: a weak stand-in for the papers' silver evidence. There may be none.

    >>> rows = benchmark_ranks(embedder, asking.few("detectiveqa-en"), cut_benchmark(...))   # doctest: +SKIP
    """
    found = {}
    for name, text in loaded.documents.items():
        items = [item for item in loaded.items if item.doc_id == name]
        texts = [text[chunk].strip() for chunk in chunks[name]]
        near = embedder.queries([item.question for item in items], (told or {}).get(name)) @ embedder.units(texts).T
        order = np.argsort(-near, axis=1, kind="stable")[:, :DEPTH].tolist()
        for item, row in zip(items, order, strict=True):
            right = _holding(item, chunks[name], texts)
            found[item.id] = Ranked(name, item.id, "chunk", kind, tuple(row), right, False)
    return [found[item.id] for item in loaded.items]


def _holding(item: Item, chunks: Sequence[Chunk], texts: Sequence[str]) -> tuple[int, ...]:
    if item.evidence:
        return tuple(
            i for i, it in enumerate(chunks) if any(at.start < it.end and it.start < at.end for at in item.evidence)
        )
    if item.options:
        return ()
    join = " " if item.language == "en" else ""
    answers = [f"{join}{normalise(answer, item.language)}{join}" for answer in item.answers]
    said = [f"{join}{normalise(text, item.language)}{join}" for text in texts]
    return tuple(i for i, text in enumerate(said) if any(answer.strip() and answer in text for answer in answers))


# Files


def keep(path: str | Path, about: Mapping[str, object], rows: Iterable[Ranked]) -> None:
    """Write ranks to a file whose first line says whose they are; what was there stays until all is written."""
    lines = [json.dumps(dict(about)), *(json.dumps(asdict(row), ensure_ascii=False) for row in rows)]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.new")
    scratch.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.replace(scratch, path)


def ranked(
    path: str | Path,
    about: Mapping[str, object],
    embedder: MiaEmbedder | PlainEmbedder,
    books: Sequence[Book | Play],
    tokenizer: PreTrainedTokenizerBase,
    kinds: Sequence[str] = ("gold",),
    tasks: Sequence[str] = TASKS,
    by_reader: Mapping[str, str] | None = None,
) -> list[Ranked]:
    """`ranks` for each kind of summary and each task, kept in a file that the same call goes on with.

    `about` says whose they are and stands in the first line. Raises InputError for a file of others.

    >>> ranked("build/mia_emb.jsonl", {"retriever": "mia_emb"}, embedder, books, tokenizer)    # doctest: +SKIP
    """
    rows = records.opened(path, about, _ranked, of=OF)
    done = {(row.summary, row.task) for row in rows}
    for kind in kinds:
        for task in tasks:
            if (kind, task) not in done:
                rows += ranks(embedder, books, tokenizer, kind, task, by_reader)
                keep(path, about, rows)
    return [row for row in rows if row.summary in kinds and row.task in tasks]


def _ranked(row: dict[str, Any]) -> Ranked:
    return Ranked(**{**row, "ranked": tuple(row["ranked"]), "right": tuple(row["right"])})


def kept(path: str | Path, adapter: str | Path | None = None) -> list[Ranked]:
    """The ranks in a file; with `adapter`, its folder, those of that adapter. Raises InputError for another one's, and for
    what are no ranks."""
    first, found = records.read(path, _ranked, of=OF)
    whose = first.get("adapter_sha256", "")
    if adapter and whose != (expected := adapter_hash(adapter)):
        raise InputError(f"{path} holds ranks of adapter {whose[:12]!r}: expected those of {expected[:12]!r}")
    return found


def kept_summaries(path: str | Path) -> dict[str, str]:
    """Summaries by document, from lines {"document": ..., "summary": ...}. Raises InputError for other lines."""
    try:
        return {row["document"]: row["summary"] for row in map(json.loads, records.whole_lines(path))}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: expected a document and its summary a line: {error!r}") from error


def main() -> None:
    """Rank with an adapter, or with the base as it comes, and keep the ranks."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mia.evaluation", description=main.__doc__)
    told.add_argument("--out", required=True, help="the file of ranks; one that is there is gone on with")
    told.add_argument("--adapter", default="", help="folder of an adapter; the base as it comes by default")
    told.add_argument("--base", default="", help="folder or name of a causal model; the embedded one by default")
    told.add_argument("--layers", type=int, default=0, help="of the base as it comes: its first so many")
    told.add_argument("--encoder", default="", help='instead of a causal model: any encoder, such as "minilm"')
    told.add_argument("--delta", type=float, help="share of h_q in Eq. 11; as trained, or 0.5, by default")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--plays", default="", help="plays instead of books, with commas")
    told.add_argument("--summaries", default="gold", help=f"kinds of summary, with commas: {', '.join(KINDS)}")
    told.add_argument("--tasks", default="", help=f"with commas: {', '.join(TASKS)}; all of the text by default")
    told.add_argument("--by-reader", default="", help="file of the summaries that a model wrote, for kind reader")
    told.add_argument("--dtype", default="auto", help="precision of the model")
    given = told.parse_args()
    try:
        if given.encoder and (given.adapter or given.base):
            raise InputError("--encoder goes without --base and --adapter")
        if given.encoder:
            encoder = encoders.load(given.encoder, dtype=given.dtype)
            embedder = PlainEmbedder(encoder, 0.5 if given.delta is None else given.delta)
        else:
            if given.layers and given.adapter:
                raise InputError("--layers goes without --adapter, whose layers are those that it was trained with")
            form = {"form": Form(layers=given.layers)} if given.layers else {}
            options = {"dtype": given.dtype, "delta": given.delta, **form}
            embedder = embedding.load(given.base, given.adapter or None, **options)
        tokenizer = AutoTokenizer.from_pretrained(assets.language_model())  # the same passages for all
        names = given.plays.split(",") if given.plays else []
        tasks = given.tasks.split(",") if given.tasks else TASKS[:1] if names else TASKS
        texts = [play(name) for name in names] or books(given.split)[: given.books]
        by_reader = kept_summaries(given.by_reader) if given.by_reader else None
        about = {"base": given.encoder or given.base or "SmolLM2-135M-Instruct", "delta": given.delta}
        about |= {"plays": names} if names else {"split": given.split, "books": given.books}
        about |= {"adapter_sha256": adapter_hash(given.adapter) if given.adapter else "", "dtype": given.dtype}
        about |= {"layers": given.layers} if given.layers else {}
        about |= {"summaries_sha256": digest(by_reader)} if by_reader else {}
        kinds = given.summaries.split(",")
        rows = ranked(given.out, about, embedder, texts, tokenizer, kinds, tasks, by_reader)
        for key in dict.fromkeys((row.summary, row.task) for row in rows):
            recall = [row.recall(3) for row in rows if (row.summary, row.task) == key]
            print(f"{' '.join(key)}: {len(recall)} questions, recall@3 {np.mean(recall):.3f}")
    except MindscapeError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
