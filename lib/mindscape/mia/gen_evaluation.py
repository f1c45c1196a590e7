"""The grid of MiA-RAG's Table 2: retriever x summary x generator x number of passages, on three tasks.

A question is asked as an open question, with four options, and as a true and a false claim. Rankings and replies are kept in
files and asked for once:

    python -m mindscape.mia.gen_evaluation --out build/grid --retrievers vanilla=,mia=data/adapters/mia_emb \
        --generator mia_gen --adapter data/adapters/mia_gen

Two retrievers are none: "none" shows no passage (Summary-Only), "oracle" those that hold the evidence. A reply that cannot be
read is wrong, and is counted. Books come from the develop seeds unless another split is named. Taught in notebook 14_mia_gen.
"""

import argparse
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os.path import commonprefix
from pathlib import Path

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, encoders, llm, records
from mindscape.cache import digest
from mindscape.corpora.benchmarks import Loaded, asking
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError, MindscapeError
from mindscape.metrics import Interval, exact_match
from mindscape.mia import embedding
from mindscape.mia.embedding import MiaEmbedder, PlainEmbedder
from mindscape.mia.evaluation import DEPTH, KINDS, kept_summaries, summary
from mindscape.mia.generation import JOIN, SUMMARY, TASKS, answerable, posed, write
from mindscape.reader.evaluation import Answer, Kept, Row, ask, interval, replies, scored, value
from mindscape.roles import passages
from mindscape.roles.answers import letters
from mindscape.weights import adapter_hash

OF = "a query's passages"  # a line of the file, in messages
NONE, ORACLE = "none", "oracle"
ENCODER = "encoder:"  # before the name of an encoder that takes a retriever's place
MAIN = {"qa": "f1", "choice": "accuracy", "claim": "pair_accuracy"}  # the score of a task in Table 2
Search = Callable[[int, Sequence[str]], Sequence[Sequence[int]]]  # a book's number and queries to passages, best first
Rankings = Mapping[tuple[str, str], Sequence[int]]  # by book and query


@dataclass(frozen=True)
class Item:
    """What is asked: a row of its role, whose slots lack the context; the query for a retriever; the passages that answer."""

    id: str
    row: Row
    query: str
    right: tuple[int, ...]


@dataclass(frozen=True)
class Cell:
    """One of the grid's systems; `summary` is a kind of `mia.evaluation.KINDS`, `k` is 0 without retrieval."""

    retriever: str
    summary: str
    generator: str
    k: int

    def key(self, task: str) -> str:
        """The name of its number in `results.json`.

        >>> Cell("mia", "gold", "mia_gen", 3).key("qa"), Cell("oracle", "none", "reader", 0).key("claim")
        ('grid.mia.gold.mia_gen.qa@3', 'grid.oracle.none.reader.claim')
        """
        at = f"@{self.k}" if self.k else ""
        return f"grid.{self.retriever}.{self.summary}.{self.generator}.{task}{at}"


@dataclass(frozen=True)
class Result:
    """What a cell scores in a task: by name a number for each item, NaN where it has none; `valid` is among the names.

    `tokens` are those of each prompt, `once` those of all prompts together with common beginnings read once.
    """

    cell: Cell
    items: tuple[Item, ...]
    scores: Mapping[str, Sequence[float]]
    tokens: tuple[int, ...]
    once: int

    @property
    def task(self) -> str:
        return self.items[0].row.role

    @property
    def main(self) -> Interval | None:
        """The task's score with its interval over books."""
        return interval([item.row for item in self.items], self.scores[MAIN[self.task]])

    @property
    def unparsable(self) -> int:
        return len(self.items) - int(sum(self.scores["valid"]))


def grid(
    retrievers: Sequence[str], summaries: Sequence[str], generators: Sequence[str], ks: Sequence[int]
) -> list[Cell]:
    """The cells: each retriever with each summary, generator and k; then the summary alone, and oracle passages.

    >>> [cell.key("qa") for cell in grid(["mia"], ["none", "gold"], ["reader"], [3])]    # doctest: +NORMALIZE_WHITESPACE
    ['grid.mia.none.reader.qa@3', 'grid.mia.gold.reader.qa@3', 'grid.none.gold.reader.qa',
     'grid.oracle.none.reader.qa', 'grid.oracle.gold.reader.qa']
    """
    found = [Cell(r, s, g, k) for g in generators for r in retrievers for s in summaries for k in ks]
    found += [Cell(NONE, s, g, 0) for g in generators for s in summaries if s != "none"]
    return found + [Cell(ORACLE, s, g, 0) for g in generators for s in summaries]


def items(books: Iterable[Book], tokenizer: PreTrainedTokenizerBase, share: int = 10) -> dict[str, list[Item]]:
    """By task, the same `share` questions on each book; two claims on each, the true one first."""
    found: dict[str, list[Item]] = {task: [] for task in TASKS}
    for book in books:
        chance = Chance("grid", book.document.id)
        ways = (
            [(task, posed(book, question, pair, task, chance, tokenizer), question, right) for task in TASKS]
            for question, pair, right in answerable(book, tokenizer, chance)
        )
        for tasks in islice((some for some in ways if all(made for _, made, *_ in some)), share):
            for task, made, question, right in tasks:
                for i, (slots, gold) in enumerate(made):
                    name = f"{question.id}:{('true', 'false')[i]}" if task == "claim" else question.id
                    query = slots["claim"] if task == "claim" else question.question
                    found[task].append(Item(name, Row(task, book, slots, gold), query, tuple(right)))
    return found


# -- passages ----------------------------------------------------------------------------------------------------------


def searching(
    embedder: MiaEmbedder | PlainEmbedder,
    books: Sequence[Book],
    tokenizer: PreTrainedTokenizerBase,
    kind: str = "gold",
    by_reader: Mapping[str, str] | None = None,
) -> Search:
    """A search through a book's passages by an embedder that reads queries with a kind of summary.

    `by_reader`: the summaries that a model wrote, by document, for the kind "reader".
    """

    def search(i: int, queries: Sequence[str]) -> list[list[int]]:
        units = [books[i].document[chunk].strip() for chunk in passages.cut(books[i], tokenizer)]
        near = embedder.queries(queries, summary(books, i, kind, by_reader)) @ embedder.units(units).T
        return np.argsort(-near, axis=1, kind="stable")[:, :DEPTH].tolist()

    return search


def ranked(
    path: str | Path, about: Mapping[str, object], asked: Sequence[Item], books: Sequence[Book], search: Search
) -> dict[tuple[str, str], tuple[int, ...]]:
    """The passages for each item's query: a JSON line each in the file `path`, which a later call goes on with.

    `about` says whose they are and stands in the first line. Raises InputError for a file of others.

    >>> ranked("build/vanilla.jsonl", {"retriever": "vanilla"}, asked, books, search)    # doctest: +SKIP
    """
    rows = records.opened(path, about, lambda row: (row["book"], row["query"], tuple(row["ranked"])), of=OF)
    found = {(book, query): order for book, query, order in rows}
    for i, book in enumerate(books):
        mine = dict.fromkeys(item.query for item in asked if item.row.book.document.id == book.document.id)
        new = [query for query in mine if (book.document.id, query) not in found]
        if not new:
            continue
        lines = []
        for query, row in zip(new, search(i, new), strict=True):
            found[book.document.id, query] = tuple(int(j) for j in row)
            lines.append({"book": book.document.id, "query": query, "ranked": found[book.document.id, query]})
        records.append(path, lines)
    return found


def prompts(
    cell: Cell,
    asked: Sequence[Item],
    books: Sequence[Book],
    tokenizer: PreTrainedTokenizerBase,
    rankings: Mapping[str, Rankings],
    by_reader: Mapping[str, str] | None = None,
) -> list[str]:
    """What a cell's generator reads for each item: passages in the order of their rank.

    Raises InputError for a retriever without rankings, or with fewer passages than the cell shows.
    """
    if cell.retriever not in (NONE, ORACLE, *rankings):
        raise InputError(f"retriever={cell.retriever!r}: expected one of {', '.join((NONE, ORACLE, *rankings))}")
    told = {book.document.id: summary(books, i, cell.summary, by_reader) for i, book in enumerate(books)}
    found = []
    for item in asked:
        book, shown = item.row.book, item.right if cell.retriever == ORACLE else ()
        if cell.retriever not in (NONE, ORACLE):
            shown = rankings[cell.retriever].get((book.document.id, item.query), ())[: cell.k]
            if len(shown) < cell.k:
                raise InputError(f"{cell.retriever} ranks {len(shown)} passages for {item.id}: expected {cell.k}")
        chunks = passages.cut(book, tokenizer)
        texts = [book.document[chunks[j]] for j in shown]
        slots, language = item.row.slots, book.document.language
        found.append(write(item.row.role, slots, texts, told[book.document.id], language).text)
    return found


# -- replies and scores ------------------------------------------------------------------------------------------------


def scores(asked: Sequence[Item], given: Sequence[Answer]) -> dict[str, list[float]]:
    """By name of a score, its value for each item of one task; a reply that cannot be read scores 0.

    `valid` and `valid_free` tell what could be read. Open answers have `f1` and `em`, choices and claims `accuracy`; that of a
    pair of claims stands at the second.
    """
    found = scored([item.row for item in asked], given)
    if asked and asked[0].row.role == "qa":
        found["em"] = [_em(item, value("qa", *one.best)) for item, one in zip(asked, given, strict=True)]
    return found


def _em(item: Item, said: str | None) -> float:
    book = item.row.book
    accepted = next(question.accepted for question in book.questions if question.id == item.id)
    return exact_match(said, [item.row.gold, *accepted], book.document.language) if said is not None else 0.0


def tokens_once(rows: Iterable[Sequence[int]]) -> int:
    """How many tokens are read of some prompts if each common beginning is read once.

    >>> tokens_once([[1, 2, 3], [1, 2, 4, 5], [9]])
    6
    """
    read, before = 0, []
    for row in sorted(map(list, rows)):
        read += len(row) - len(commonprefix([before, row]))
        before = row
    return read


def result(
    cell: Cell,
    asked: Sequence[Item],
    shown: Sequence[str],
    given: Sequence[Answer],
    tokenizer: PreTrainedTokenizerBase,
) -> Result:
    """A cell's scores in a task, and what it read (Table 8): prompts as texts, without a chat template's frame."""
    rows = [tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in shown]
    return Result(cell, tuple(asked), scores(asked, given), tuple(map(len, rows)), tokens_once(rows))


def average_ranks(scores: Mapping[str, Mapping[Hashable, float]]) -> dict[str, float]:
    """Each system's rank, 1 for the highest score, averaged over the settings (Figure 1); equal scores share their ranks.

    `scores`: by system and setting (a task at a k, say). Raises InputError where a system lacks a setting of another.

    >>> average_ranks({"mia": {"qa@3": 0.5, "claim@3": 0.3}, "vanilla": {"qa@3": 0.4, "claim@3": 0.3}})
    {'mia': 1.25, 'vanilla': 1.75}
    """
    settings = list(dict.fromkeys(setting for of in scores.values() for setting in of))
    for system, of in scores.items():
        if lacking := [setting for setting in settings if setting not in of]:
            raise InputError(f"{system!r} has no score for {lacking[0]!r}: expected one for every setting")
    if not settings:
        raise InputError("there are no scores: expected at least one system and one setting")
    ranks: dict[str, list[float]] = {system: [] for system in scores}
    for setting in settings:
        column = [of[setting] for of in scores.values()]
        for system, of in scores.items():
            better = sum(other > of[setting] for other in column)
            ranks[system].append(1 + better + (column.count(of[setting]) - 1) / 2)
    return {system: sum(some) / len(some) for system, some in ranks.items()}


# -- benchmarks --------------------------------------------------------------------------------------------------------


def benchmark_answers(
    model: llm.LanguageModel,
    loaded: Loaded,
    shown: Sequence[Sequence[str]],
    told: Mapping[str, str] | None = None,
    template: str = "",
) -> list[str]:
    """What a generator says to a benchmark's items from passages, best first, and from the text's summary, if `told` has it.

    A letter, a verdict or a phrase; empty where the reply cannot be read, as `benchmarks.asking.scores` takes it. `template` is
    the owners' prompt, if it is there; the summary then stands before the passages in what it shows. Raises LLMError if the
    model fails.

    >>> said = benchmark_answers(model, asking.few("nocha"), [["Tilde lit the lamp."]] * 4)  # doctest: +SKIP
    """
    found = [""] * len(loaded.items)
    by_kind: dict[str, list[int]] = {}
    for i, item in enumerate(loaded.items):
        by_kind.setdefault(asking.kind(item), []).append(i)
    for kind, places in by_kind.items():
        prompted = []
        for i in places:
            item, summary_of = loaded.items[i], (told or {}).get(loaded.items[i].doc_id)
            if template:
                head = SUMMARY[item.language].format(summary=summary_of) if summary_of else ""
                prompted.append(asking.fill(template, head + JOIN.join(shown[i]), item.question))
            else:
                slots = {"claim" if kind == "claim" else "question": item.question}
                slots |= {"options_str": letters(list(item.options))} if kind == "choice" else {}
                prompted.append(write(kind, slots, shown[i], summary_of, item.language).text)
        for i, answer in zip(places, ask(model, kind, prompted), strict=True):
            said = value(kind, *answer.best)
            found[i] = "" if said is None else getattr(said, "answer", said)
    return found


# -- the command -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Rank with the retrievers, ask a generator for what the files lack, and print the scores. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mia.gen_evaluation", description=main.__doc__)
    told.add_argument("--out", required=True, help="the folder of ranks and replies")
    told.add_argument("--generator", required=True, help="a name for the model that answers, and for its file")
    told.add_argument("--llm", default="embedded", help="the model that answers, as mindscape.llm.load has it")
    told.add_argument("--adapter", default="", help="folder of its adapter; the reader's by default where it has one")
    told.add_argument(
        "--retrievers",
        default="vanilla=",
        help="with commas NAME=ADAPTER, NAME= for the base as it comes, NAME=encoder:minilm for any encoder",
    )
    told.add_argument("--query-summary", default="gold", choices=KINDS, help="what adapters read with a query")
    told.add_argument("--summaries", default="none,gold", help=f"of prompts, with commas: {', '.join(KINDS)}")
    told.add_argument("--by-reader", default="", help="file of the summaries that a model wrote, for kind reader")
    told.add_argument("--k", default="3,5,10", help=f"with commas, at most {DEPTH}")
    told.add_argument("--retrieved", action="store_true", help="without the summary alone and the oracle")
    told.add_argument("--dtype", default="auto", help="precision of the models")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--share", type=int, default=10, help="questions on a book")
    told.add_argument("--batch", type=int, default=16, help="rows that the model reads at once")
    try:
        _run(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> None:
    retrievers = dict(part.partition("=")[::2] for part in given.retrievers.split(","))
    kinds = given.summaries.split(",")
    if not given.k.replace(",", "").isdigit():
        raise InputError(f"--k {given.k}: expected whole numbers with commas between")
    ks = [int(part) for part in given.k.split(",")]
    if not all(1 <= k <= DEPTH for k in ks):
        raise InputError(f"--k {given.k}: expected 1 to {DEPTH}")
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(f"--summaries {kind}: expected one of {', '.join(KINDS)}")
    tokenizer, of_split = AutoTokenizer.from_pretrained(assets.language_model()), books(given.split)[: given.books]
    asked = items(of_split, tokenizer, given.share)
    everything = [item for some in asked.values() for item in some]
    by_reader = kept_summaries(given.by_reader) if given.by_reader else None
    rankings = {}
    for name, source in retrievers.items():
        tuned = source and not source.startswith(ENCODER)
        kind = given.query_summary if tuned else "none"
        about = {
            "retriever": name if tuned else source or "SmolLM2-135M-Instruct",
            "adapter_sha256": adapter_hash(source) if tuned else "",
        }
        about |= {"dtype": given.dtype, "summary": kind, "passage_tokens": passages.SIZE}
        about |= {"summaries_sha256": digest(by_reader)} if kind == "reader" and by_reader else {}
        search = _loaded_late(
            source, given.dtype, lambda e, kind=kind: searching(e, of_split, tokenizer, kind, by_reader)
        )
        path = Path(given.out) / f"ranks_{name}.jsonl"
        rankings[name] = ranked(path, about, everything, of_split, search)
    options = {"adapter": given.adapter} if given.adapter else {}
    if given.llm == "embedded":
        options = {"adapter": str(llm.READER), **options}
    local = {} if given.llm.startswith(("openai:", "replay:")) else {"dtype": given.dtype, "batch_size": given.batch}
    model = llm.load(given.llm, **options, **local)
    dtype = str(model.backend.model.dtype).removeprefix("torch.") if local else "unknown"
    kept = Kept.of(Path(given.out) / f"{given.generator}.jsonl", given.llm, options.get("adapter"), dtype)
    cells = [cell for cell in grid(list(retrievers), kinds, [given.generator], ks) if cell.k or not given.retrieved]
    for kind in kinds:  # all that share a summary are neighbours, so that it is read once for them
        for task, some in asked.items():
            for book in of_split:
                mine = [item for item in some if item.row.book is book]
                alike = [cell for cell in cells if cell.summary == kind]
                found = [prompts(cell, mine, of_split, tokenizer, rankings, by_reader) for cell in alike]
                replies(model, kept, task, [prompt for shown in found for prompt in shown])
    for cell in cells:
        for task, some in asked.items():
            shown = prompts(cell, some, of_split, tokenizer, rankings, by_reader)
            of = result(cell, some, shown, kept.answers(task, shown), tokenizer)
            read = f"{np.mean(of.tokens):.0f} tokens a prompt, {of.unparsable} of {len(some)} unparsable"
            print(f"{cell.key(task)}: {of.main}; {read}", flush=True)


def _loaded_late(source: str, dtype: str, searching_with: Callable[[MiaEmbedder | PlainEmbedder], Search]) -> Search:
    """The search of a retriever that is loaded when something is looked for, and not if all of it is in the file."""
    made: list[Search] = []

    def search(i: int, queries: Sequence[str]) -> Sequence[Sequence[int]]:
        if not made:
            if source.startswith(ENCODER):
                embedder = PlainEmbedder(encoders.load(source.removeprefix(ENCODER), dtype=dtype))
            else:
                delta = None if source else 1.0  # as trained; the base as it comes is h_q alone
                embedder = embedding.load(adapter=source or None, delta=delta, dtype=dtype)
            made.append(searching_with(embedder))
        return made[0](i, queries)

    return search


if __name__ == "__main__":
    main()
