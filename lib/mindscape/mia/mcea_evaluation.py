"""MCEA on novels: prompts as MiA-Gen reads them, the controls of each, and the factors of all of them in a file.

    python -m mindscape.mia.mcea_evaluation --split test --out data/mcea/untuned.jsonl
    python -m mindscape.mia.mcea_evaluation --split test --out data/mcea/mia_gen.jsonl --adapter data/adapters/mia_gen

The same call goes on after a kill. A prompt shows the passages that answer a question among others that do not bear on it, in
an order of chance, and the summary before them. Where Algorithm 1 has annotated a novel, some passages that it wrongly takes
for evidence are among the others: so the same prompt can be labelled by gold and by silver. Books come from the develop seeds
unless another split is named. The measure itself is `mindscape.mia.mcea`. Taught in notebook 15_mcea.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from mindscape import assets, paths
from mindscape.cache import digest
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError, MindscapeError
from mindscape.mia.annotation import path_of
from mindscape.mia.generation import answerable, write
from mindscape.mia.mcea import Layout, alignment, equal_lengths, lay_out, mcea, measured, shuffled, with_summary
from mindscape.mia.silver import kept
from mindscape.mia.supervision import MOST
from mindscape.roles import passages
from mindscape.weights import adapted, placed, quiet

CONDITIONS = ("true", "unrelated", "other", "shuffled", "equal")
SHARE = 4  # questions on a book
SHOWN = 8  # passages of a prompt
NOISE = 2  # of them no evidence of either kind, at least


@dataclass(frozen=True)
class Case:
    """A question's prompt, and its controls by name; `binding` says that the question names nobody by name.

    `silver` has a flag for each passage of the true prompt, by Algorithm 1, and is empty where that has not been run.
    """

    id: str
    book: str
    binding: bool
    layouts: Mapping[str, Layout]
    silver: tuple[bool, ...] = ()

    def named(self, kinds: Sequence[str] = CONDITIONS) -> dict[str, Layout]:
        """The layouts of some conditions by the names that `mcea.measured` keeps them under."""
        return {f"{self.id}/{kind}": self.layouts[kind] for kind in kinds}


def cases(
    books: Sequence[Book],
    tokenizer: PreTrainedTokenizerBase,
    share: int = SHARE,
    shown: int = SHOWN,
    silver: str | Path | None = None,
    reader: PreTrainedTokenizerBase | None = None,
) -> list[Case]:
    """The same `share` questions on each book, of those that a few passages and the summary answer, always the same prompts.

    Relevant are the passages that hold evidence or say who is meant. Conditions: the book's own summary (true); an unrelated
    text (a manual), or other books' summaries, cut to its length (unrelated, other); passages in another order (shuffled) or
    cut to the shortest one's length (equal).

    `tokenizer` cuts the passages, `reader` is that of the model that reads the prompts, the same by default; `silver` is the
    folder of `mia.annotation`'s files. Raises InputError for a single book, and for fewer passages than evidence and noise may
    take.

    >>> from mindscape.corpora.books import books
    >>> found = cases(books("develop")[:2], tokenizer)                                   # doctest: +SKIP
    >>> len(found), found[0].layouts["true"].relevant                                    # doctest: +SKIP
    (8, (False, True, False, False, False, False, False, False))
    """
    if shown < MOST + NOISE:
        raise InputError(f"shown={shown!r}: expected at least {MOST + NOISE} passages, evidence and noise")
    if len(books) < 2:
        raise InputError(f"{len(books)} books: expected at least two, one has the summary of another as a control")
    reader, found = reader or tokenizer, []
    for i, book in enumerate(books):
        language, chance = book.document.language, Chance("mcea", book.document.id)
        chunks, taken = passages.cut(book, tokenizer), _silver(silver, book)
        number = {chunk: j for j, chunk in enumerate(chunks)}
        others = "\n".join(books[(i + j) % len(books)].summary for j in range(1, len(books)))
        manual = paths.data("texts", f"manual_{language}.md").read_text(encoding="utf-8")
        instead = {"unrelated": _ids(manual, reader), "other": _ids(others, reader)}
        for question, _, right in islice(answerable(book, tokenizer, chance), share):
            wrong = [j for j in taken.get(question.id, ()) if j not in right][: shown - NOISE - len(right)]
            keep = [chunks[j] for j in (*right, *wrong)]
            rest = [chunk for chunk in chunks if number[chunk] not in wrong]  # none is shown twice
            some = passages.mixed(book, question, keep, rest, shown, chance)
            texts = [book.document[chunk] for chunk in some]
            relevant = [passages.relevant(book, question, chunk) for chunk in some]
            written = write("qa", {"question": question.question}, texts, book.summary, language)
            layout = lay_out(written, relevant, reader)
            layouts = {"true": layout}
            layouts |= {name: with_summary(layout, _repeated(ids, layout)) for name, ids in instead.items()}
            layouts |= {"shuffled": shuffled(layout, int(digest(question.id)[:8], 16)), "equal": equal_lengths(layout)}
            flags = tuple(number[chunk] in taken[question.id] for chunk in some) if question.id in taken else ()
            found.append(Case(question.id, book.document.id, question.needs_binding, layouts, flags))
    return found


def _silver(folder: str | Path | None, book: Book) -> dict[str, tuple[int, ...]]:
    """The passages that Algorithm 1 takes for evidence, by question; none where it has not been run."""
    path = path_of(folder, book, "chunk") if folder else None
    return {one.question: one.silver for one in kept(path)[1]} if path and path.exists() else {}


def _repeated(ids: Sequence[int], layout: Layout) -> list[int]:
    """As many tokens as the summary has, over and over where there are fewer."""
    ((start, end),) = layout.places("summary")
    return list(islice(cycle(ids), end - start))


def _ids(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    return tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]


def load(base: str | Path, adapter: str | Path | None = None) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A model in float32, and its tokenizer. An adapter stays beside the weights.

    The sum of both would differ in its last digits from machine to machine, and a file of factors belongs to a model's exact
    weights. Raises InputError for an adapter that does not fit.

    >>> model, tokenizer = load(assets.language_model(), "data/adapters/mia_gen")        # doctest: +SKIP
    """
    dtype, device = placed("float32", None)
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(base)
        model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype)
    if adapter:
        model = adapted(model, adapter).get_base_model()
    return model.to(device).eval(), tokenizer


def main() -> None:
    """Measure the factors of all prompts that the file lacks, and print the mean MCEA by condition."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mia.mcea_evaluation", description=main.__doc__)
    told.add_argument("--out", required=True, help="the file of factors, of one model")
    told.add_argument("--base", default="", help="folder or name of a causal model; the embedded one by default")
    told.add_argument("--adapter", default="", help="folder of an adapter; the base as it comes by default")
    told.add_argument("--silver", default=str(paths.data("silver")), help="folder of Algorithm 1's annotations")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--share", type=int, default=SHARE, help="questions on a book")
    told.add_argument("--conditions", default=",".join(CONDITIONS), help="with commas; all by default")
    try:
        _run(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> None:
    kinds = given.conditions.split(",")
    if wrong := [kind for kind in kinds if kind not in CONDITIONS]:
        raise InputError(f"--conditions {wrong[0]}: expected some of {', '.join(CONDITIONS)}")
    cutter = AutoTokenizer.from_pretrained(assets.language_model())  # the same passages for all
    model, reader = load(given.base or assets.language_model(), given.adapter or None)
    found = cases(books(given.split)[: given.books], cutter, given.share, silver=given.silver, reader=reader)
    tokens = sum(len(case.layouts[kind].ids) for case in found for kind in kinds)
    print(f"{len(found)} questions in {len(kinds)} conditions, {tokens:,} tokens", flush=True)
    means: dict[str, list[float]] = {kind: [] for kind in kinds}
    for i, case in enumerate(found, 1):
        of = measured(given.out, model, case.named(kinds))
        for kind in kinds:
            score = mcea(alignment(of[f"{case.id}/{kind}"]), case.layouts[kind].relevant)
            means[kind].append(score.mean())
        print(f"{i} of {len(found)}: {case.id} {means[kinds[0]][-1]:+.2f}", flush=True)
    for kind, some in means.items():
        print(f"{kind}: mean MCEA {np.mean(some):+.3f}")


if __name__ == "__main__":
    main()
