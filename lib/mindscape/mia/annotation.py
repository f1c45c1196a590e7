"""Algorithm 1 on novels of the storyworld, whose questions have gold evidence to weigh the silver by.

    python -m mindscape.mia.annotation --split test --books 4 --out data/silver

writes two files a novel, `NOVEL.chunk.jsonl` and `NOVEL.node.jsonl`, a line a question; the same call goes on after a kill.
The annotations are read again with `silver.kept`. Questions whose evidence is in more than a few passages are left out, as in
training. Taught in notebook 11_silver_evidence.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, encoders, llm
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.errors import InputError, MindscapeError
from mindscape.mia import silver
from mindscape.mia.silver import Search, Silver, Task
from mindscape.mia.supervision import to_find
from mindscape.weights import adapter_hash


def searching(encode: Callable[..., np.ndarray], units: Sequence[str]) -> Search:
    """A search among units by the cosine of an encoder's vectors; equal ones by index.

    `encode(texts)` and `encode(texts, "query")` give vectors of length 1, as `Encoder.encode` does.
    """
    vectors = encode(units)

    def search(queries: Sequence[str], k: int) -> np.ndarray:
        return np.argsort(-(encode(queries, "query") @ vectors.T), axis=1, kind="stable")[:, :k]

    return search


def path_of(folder: str | Path, book: Book, task: Task) -> Path:
    """Where the annotations of a novel are."""
    return Path(folder) / f"{book.document.id}.{task}.jsonl"


def annotate(
    model: llm.LLM,
    encoder: encoders.Encoder,
    book: Book,
    tokenizer: PreTrainedTokenizerBase,
    folder: str | Path,
    task: Task,
) -> list[Silver]:
    """Algorithm 1 for the questions of a novel; see `silver.annotate` for what it raises.

    >>> annotate(model, encoder, book, tokenizer, "build/silver", "chunk")               # doctest: +SKIP
    """
    units, questions = to_find(book, tokenizer, task)
    triples = [(question.id, question.question, question.answer) for question, _ in questions]
    search = searching(encoder.encode, units)
    path, language = path_of(folder, book, task), book.document.language
    about = {"retriever": encoder.name, "model": named(model), "task": task, "language": language}
    return silver.annotate(model, search, units, triples, path, **about)


def named(model: llm.LLM) -> str:
    """What a file says of the model: of the reader its adapter, so that a machine of another precision goes on with the file;
    of any other its fingerprint."""
    return f"embedded {adapter_hash(llm.READER)}" if model.name == "embedded" else model.fingerprint


def main() -> None:
    """Annotate novels, chunks and nodes."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mia.annotation", description=main.__doc__)
    told.add_argument("--out", required=True, help="the folder of the files")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=4, help="the first so many of the split")
    told.add_argument("--encoder", default="embedded", help="the frozen retriever")
    told.add_argument("--llm", default="embedded", help="the model that refines")
    given = told.parse_args()
    try:
        if given.books < 1:
            raise InputError(f"--books {given.books}: expected at least 1")
        model, encoder = llm.load(given.llm), encoders.load(given.encoder)
        tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
        for book in books(given.split)[: given.books]:
            for task in ("chunk", "node"):
                found = annotate(model, encoder, book, tokenizer, given.out, task)
                unusable = sum(bool(one.invalid) for one in found)
                print(f"{book.document.id} {task}: {len(found)} questions, {unusable} unusable replies", flush=True)
    except MindscapeError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
