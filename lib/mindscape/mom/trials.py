r"""What notebook 40 has measured beforehand: borders of which all is known, N readings of a text, ways to cut one.

    python -m mindscape.mom.trials borders  --out data/mom/borders.jsonl
    python -m mindscape.mom.trials paths    --out data/mom/paths.jsonl    --adapter data/adapters/memreader
    python -m mindscape.mom.trials chunkers --out data/mom/chunkers.jsonl --adapter data/adapters/memreader

The first line of a file says how it was made, each other one is a unit of work: a book and a judge, an excerpt, a book and a
chunker. The same call goes on after a kill. Books come from the develop seeds unless another split is named. Taught in notebook
40_memory_extraction. Nothing is averaged here: rows hold a value for each border, chunk and question.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, encoders, llm, records
from mindscape.ask import LONGEST
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError, MindscapeError
from mindscape.llm import LLM
from mindscape.mom import chunkers as cuts
from mindscape.mom import extraction
from mindscape.mom.chunkers import SIZE, Chunker, mean_length
from mindscape.mom.memory import DocumentMemory, resolve
from mindscape.mom.memreader import SHARE, Case, story_cases
from mindscape.mom.retrieval import TOP, Layers, context, recall, support
from mindscape.question import Question
from mindscape.roles.answers import QA
from mindscape.roles.memory import MEMORY
from mindscape.text import Chunk, Document, Span, sentences
from mindscape.weights import adapter_hash

if TYPE_CHECKING:  # PyTorch comes with it
    from mindscape.encoders import Encoder

OF = "a row with its key"  # a line of the file, in messages
PLACES = {
    "scene": "where a scene begins; a heading of a chapter does not stand there",
    "paragraph": "between two paragraphs of a scene",
    "sentence": "between two sentences of a paragraph",
    "middle": "between two words of a sentence, where windows of fixed length cut",
}
WORDS = {"en": r"(?<=[a-z,] )[a-z]", "zh": r"(?<=[\u4e00-\u9fff])[\u4e00-\u9fff]"}  # where one begins inside a sentence
REACH = 600  # characters that are shown on both sides of a place
LISTED = 256  # tokens of a listed window: a model that keeps to the form needs fewer
CHUNKERS = ("fixed", "sentences", "llama_index", "semantic", "lumber", "llm", "mom", "scenes")


# Files of rows ----------------------------------------------------------------------------------------------------


def kept(
    path: str | Path,
    about: Mapping[str, Any],
    keys: Sequence[str],
    make: Callable[[Sequence[str]], Iterable[dict[str, Any]]],
    batch: int = 1,
) -> list[dict[str, Any]]:
    """The rows of `keys`, in order: those that the file has, and the others, made `batch` at a time and appended as they come.

    `make` gives a row for each of the keys that it gets, in their order. Raises InputError for a file that was made otherwise
    than `about` says, and as `read` does.

    >>> kept("build/rows.jsonl", {"split": "develop"}, ["a"], lambda keys: [{"n": 1} for _ in keys])     # doctest: +SKIP
    [{'n': 1}]
    """
    found = dict(records.opened(path, about, _keyed, of=OF))
    lacking = [key for key in dict.fromkeys(keys) if key not in found]
    for start in range(0, len(lacking), batch):
        some = lacking[start : start + batch]
        for key, row in zip(some, make(some), strict=True):
            found[key] = row
            records.append(path, [{"key": key, **row}])
    return [found[key] for key in keys]


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What the first line of a file says, and its rows by key. Raises InputError for a file that is none of these.

    >>> about, rows = read("data/mom/borders.jsonl")                                                     # doctest: +SKIP
    """
    about, rows = records.read(path, _keyed, of=OF)
    return about, dict(rows)


def _keyed(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return row.pop("key"), row


def _short(values: Iterable[float]) -> list[float | None]:
    """Six digits of each; None in the place of what is not finite, which JSON does not have."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in np.asarray(list(values), dtype=float)]


# Borders ----------------------------------------------------------------------------------------------------------


def places(book: Book, share: int = 8, reach: int = REACH) -> list[tuple[int, str]]:
    """Places of a book and the kind of each, `share` of every kind in `PLACES`, in the order of the text.

    Each has `reach` characters on both sides. The same arguments give the same places. Taught in notebook 40.
    """
    document, language = book.document, book.document.language
    text, scenes = document.text, book.told.scenes
    found: dict[str, list[int]] = {kind: [] for kind in PLACES}
    for before, after in pairwise(scenes):
        if not text[before.end : after.start].strip():
            found["scene"].append(after.start)
    for scene in scenes:
        inside = text[scene.start : scene.end]
        breaks = [match.end() for match in re.finditer(r"\n\s*\n", inside)]
        found["paragraph"] += [scene.start + at for at in breaks]
        ends = [span.end for span in sentences(inside, language)[:-1]]
        ends = [at for at in ends if "\n" not in inside[max(0, at - 2) : at + 1]]
        found["sentence"] += [scene.start + at for at in ends]
        found["middle"] += [scene.start + match.start() for match in re.finditer(WORDS[language], inside)]
    drawn = []
    for kind, some in found.items():
        some = [at for at in some if reach <= at <= len(text) - reach]
        drawn += [(at, kind) for at in Chance("trials", kind, document.id).some(some, share)]
    return sorted(drawn)


def sides(document: Document, at: int, reach: int = REACH) -> tuple[str, str]:
    """What stands before a place and behind it, `reach` characters of each.

    >>> sides(Document("note", "It rained. Ivo left."), 11, reach=7)
    ('rained.', 'Ivo lef')
    """
    return extraction.around(document, Span(0, at), Span(at, len(document.text)), reach)


def borders(judge: LLM, book: Book, share: int = 8, reach: int = REACH) -> dict[str, Any]:
    """A row: where the places of a book are, their kinds, and every reading of P(b | a_i, a_{i+1}) at each."""
    at, kinds = zip(*places(book, share, reach), strict=True)
    pairs = [sides(book.document, place, reach) for place in at]
    values = extraction.readings(judge, pairs, book.document.language)
    return {"at": at, "kind": kinds, "values": {name: _short(some) for name, some in values.items()}}


# Paths ------------------------------------------------------------------------------------------------------------


def paths(model: LLM, judge: LLM, cases: Sequence[Case], n: int = 8) -> Iterator[dict[str, Any]]:
    """A row for each case: N sampled readings, as replies, and what both scores are made of.

    `replies[i]` is text, or None with the reason in `invalid[i]`. `clarity`, `perplexity` and `tokens` are of the gold memory
    first and then of the replies that can be read, in order: values of each reading at each border, PPL(a_i | c_i) and |c_i|
    of each chunk.
    """
    sampled = extraction.paths(model, [case.document for case in cases], n)
    for case, some in zip(cases, sampled, strict=True):
        memories = [case.memory, *(path.read.memory for path in some if path.read)]
        pairs = [[extraction.around(case.document, a, b) for a, b in pairwise(it.chunks)] for it in memories]
        flat = [pair for of in pairs for pair in of]
        values = extraction.readings(judge, flat, case.document.language)
        cut = np.cumsum([len(of) for of in pairs])[:-1]
        of_chunks = extraction.conditionals(judge, case.document, memories)
        yield {
            "replies": [path.reply if path.read else None for path in some],
            "invalid": [path.invalid for path in some],
            "clarity": {name: [_short(of) for of in np.split(all_, cut)] for name, all_ in values.items()},
            "perplexity": [_short(perplexity) for perplexity, _ in of_chunks],
            "tokens": [tokens.tolist() for _, tokens in of_chunks],
        }


@dataclass(frozen=True)
class Candidates:
    """The readings of a case that could be read, with their scores; `seeds[i]` is the number of the path, from 0.

    `clarity` by reading and `completeness` by treatment of short cores have a value for each memory, NaN where there is none;
    `gold` has the same two of the gold memory. `invalid` counts the replies that could not be read.
    """

    case: Case
    memories: tuple[DocumentMemory, ...]
    seeds: tuple[int, ...]
    repairs: tuple[Mapping[str, int], ...]
    clarity: Mapping[str, np.ndarray]
    completeness: Mapping[str, np.ndarray]
    gold: Mapping[str, float]
    invalid: int


def candidates(case: Case, row: Mapping[str, Any]) -> Candidates:
    """The candidates that a row of `paths` holds. Raises InputError for a row of another case, or a broken one."""
    try:
        read_as = [
            (i, resolve(case.document, MEMORY.parse(text)[0]))
            for i, text in enumerate(row["replies"])
            if text is not None
        ]
        if any(len(row[name]) != 1 + len(read_as) for name in ("perplexity", "tokens")):
            raise ValueError("scores of another number of memories")
        memories = [case.memory, *(found.memory for _, found in read_as)]
        if [len(some) for some in row["tokens"]] != [len(memory) for memory in memories]:
            raise ValueError("scores of other chunks")
        clear = {
            name: np.array([np.mean(np.array(of, dtype=float)) if of else np.nan for of in some])
            for name, some in row["clarity"].items()
        }
        complete = {short: _completeness(row["perplexity"], row["tokens"], short) for short in extraction.SHORT}
        invalid = sum(text is None for text in row["replies"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a row of paths of {case.document.id}: {error!r}") from error
    gold = {name: float(of[0]) for name, of in (clear | complete).items()}
    return Candidates(
        case,
        tuple(memories[1:]),
        tuple(i for i, _ in read_as),
        tuple(found.repairs for _, found in read_as),
        {name: of[1:] for name, of in clear.items()},
        {name: of[1:] for name, of in complete.items()},
        gold,
        invalid,
    )


def _completeness(perplexities: Sequence[Sequence[float]], tokens: Sequence[Sequence[int]], short: str) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.array(
            [
                np.mean(1 / (np.array(of, dtype=float) * extraction.penalty(n, short)))
                for of, n in zip(perplexities, tokens, strict=True)
            ]
        )


# Chunkers ---------------------------------------------------------------------------------------------------------


def chunkers(
    tokenizer: PreTrainedTokenizerBase,
    encoder: "Encoder",
    judge: LLM,
    reader: LLM,
    gold: Mapping[str, DocumentMemory],
) -> dict[str, Chunker]:
    """The ways to cut by name, `CHUNKERS` as far as this machine has them.

    `judge` says where the subject changes and lists chunks, `reader` extracts memories, one reading a window and no chance in
    it, and `gold` has the memories of known documents by their ids: "scenes".
    """

    def remembered(document: Document) -> DocumentMemory:
        return extraction.extract(reader, document, tokenizer, n=1, temperature=0.0, top_p=1.0).memory

    found: dict[str, Chunker] = {
        "fixed": cuts.Fixed(tokenizer),
        "sentences": cuts.Sentences(tokenizer),
        "llama_index": cuts.LlamaIndex(tokenizer),
        "semantic": cuts.Semantic(encoder, tokenizer),
        "lumber": cuts.Lumber(judge, tokenizer, by="score"),
        "llm": cuts.Listing(judge, tokenizer, max_new_tokens=LISTED),
        "mom": cuts.Remembered(remembered, tokenizer),
        "scenes": cuts.Remembered(lambda document: gold[document.id], tokenizer, "scenes"),
    }
    if find_spec("llama_index") is None:
        del found["llama_index"]
    return found


def asked(book: Book, share: int = 6) -> list[Question]:
    """Questions on a book that one or two places answer; the same each time."""
    some = [question for question in book.questions if len(question.evidence) <= 2]
    return Chance("trials", "questions", book.document.id).some(some, share)


def spread(chunks: Sequence[Chunk], most: int) -> list[tuple[Chunk, Chunk]]:
    """At most so many pairs of neighbouring chunks, from all over a document.

    >>> chunks = [Chunk("note", i, i, i + 1) for i in range(7)]
    >>> [a.index for a, _ in spread(chunks, 3)]
    [0, 2, 5]
    """
    pairs = list(pairwise(chunks))
    return [pairs[int(i)] for i in dict.fromkeys(np.linspace(0, len(pairs) - 1, min(most, len(pairs))).astype(int))]


def measured(
    chunker: Chunker,
    book: Book,
    tokenizer: PreTrainedTokenizerBase,
    encoder: "Encoder",
    judge: LLM,
    answering: Mapping[str, LLM],
    size: int = SIZE,
    at_borders: int = 12,
    questions: int = 6,
    k: int = TOP,
) -> dict[str, Any]:
    """A row: where a chunker cuts a book, how clear some of its borders are, and what its chunks do for some questions.

    Questions go out with the names that their evidence uses, so that what is weighed is the cut; `k` chunks come back. The
    models of `answering` each give S_support of the gold answer, the last of them also answers.
    """
    document, language = book.document, book.document.language
    cut = chunker.cut(document, size)
    pairs = [extraction.around(document, a, b) for a, b in spread(cut.chunks, at_borders)]
    values = extraction.readings(judge, pairs, language)
    some = asked(book, questions)
    queries = [question.resolved or question.question for question in some]
    ids, _ = Layers.of_chunks([(document, cut.chunks)], encoder).search(queries, k, "chunk")
    shown = [[cut.chunks[i] for i in row] for row in ids]
    contexts = [context({document.id: document}, row) for row in shown]
    right = [question.answer for question in some]
    of = {name: support(model, contexts, right, queries, language) for name, model in answering.items()}
    talks = [
        [{"role": "user", "content": QA.prompt(language, context=text, question=query)}]
        for text, query in zip(contexts, queries, strict=True)
    ]
    *_, last = answering.values()
    replies = last.chat(talks, max_new_tokens=LONGEST["qa"])
    return {
        "starts": [chunk.start for chunk in cut.chunks],
        "mean_tokens": round(mean_length(document, cut.chunks, tokenizer), 1),
        "counts": dict(cut.counts),
        "clarity": {name: _short(of_borders) for name, of_borders in values.items()},
        "questions": [question.id for question in some],
        "recall": [round(recall(document, q.evidence, row), 3) for q, row in zip(some, shown, strict=True)],
        "support": {name: _short(numbers) for name, numbers in of.items()},
        "answers": [_phrase(reply.text) for reply in replies],
    }


def _phrase(text: str) -> str:
    try:
        return QA.parse(text)[0]
    except ValueError:
        return ""


# The command ------------------------------------------------------------------------------------------------------


def main() -> None:
    """Measure what a file lacks, a unit at a time. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mom.trials", description=main.__doc__)
    told.add_argument("part", choices=["borders", "paths", "chunkers"])
    told.add_argument("--out", required=True, help="the file of rows")
    told.add_argument("--adapter", default="", help="folder of MemReader's adapter, for paths and chunkers")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--judge", default="smollm2", help="the model whose probabilities are taken")
    told.add_argument("--reader", default="embedded", help="a second judge of borders; who answers, in chunkers")
    told.add_argument("--n", type=int, default=8, help="readings of an excerpt")
    told.add_argument("--excerpts", type=int, default=SHARE, help="of each book, for paths")
    told.add_argument("--share", type=int, default=8, help="places of each kind in a book")
    told.add_argument("--questions", type=int, default=6, help="on each book, for chunkers")
    told.add_argument("--borders", type=int, default=12, help="of each cut book, for chunkers")
    told.add_argument("--chunkers", default=",".join(CHUNKERS), help="some of them, with commas")
    told.add_argument("--moc", default="", help="a MetaChunker for chunkers, hf:NAME_OR_FOLDER")
    told.add_argument("--dtype", default="auto", help="precision of the models on this machine")
    told.add_argument("--batch", type=int, default=8, help="rows that a model reads at once")
    given = told.parse_args()
    try:
        if unknown := [name for name in given.chunkers.split(",") if name not in CHUNKERS]:
            raise InputError(f"--chunkers {unknown[0]}: expected some of {', '.join(CHUNKERS)}")
        if given.part != "borders" and not given.adapter:
            raise InputError(f"{given.part} needs --adapter: the folder of MemReader's adapter")
        {"borders": _borders, "paths": _paths, "chunkers": _chunkers}[given.part](given)
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _loaded(given: argparse.Namespace, name: str, **options: Any) -> llm.LanguageModel:
    local = {} if name.startswith(("openai:", "replay:")) else {"dtype": given.dtype, "batch_size": given.batch}
    return llm.load(name, **local, **options)


def _about(given: argparse.Namespace, *names: str) -> dict[str, Any]:
    """What decides the rows."""
    about = {name: getattr(given, name) for name in ("part", "split", "dtype", *names)}
    about["reader_sha256"] = adapter_hash(llm.READER) if given.reader == "embedded" else ""
    return about | ({"adapter_sha256": adapter_hash(given.adapter)} if given.part != "borders" else {})


def _borders(given: argparse.Namespace) -> None:
    judges = {name: _loaded(given, name) for name in dict.fromkeys([given.judge, given.reader])}
    found = {
        f"{name} {book.document.id}": (name, book) for name in judges for book in books(given.split)[: given.books]
    }

    def make(keys: Sequence[str]) -> Iterator[dict[str, Any]]:
        for key in keys:
            name, book = found[key]
            print(key, flush=True)
            yield {"judge": name, "book": book.document.id} | borders(judges[name], book, given.share)

    kept(given.out, _about(given, "judge", "reader", "share"), list(found), make)


def _paths(given: argparse.Namespace) -> None:
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    some = story_cases(books(given.split)[: given.books], tokenizer, given.excerpts)
    cases = {case.document.id: case for case in some}
    model, judge = _loaded(given, "embedded", adapter=given.adapter), _loaded(given, given.judge)

    def make(keys: Sequence[str]) -> Iterator[dict[str, Any]]:
        for key, row in zip(keys, paths(model, judge, [cases[key] for key in keys], given.n), strict=True):
            print(key, flush=True)
            yield row

    kept(given.out, _about(given, "judge", "n"), list(cases), make, given.batch)


def _chunkers(given: argparse.Namespace) -> None:
    tokenizer, encoder = AutoTokenizer.from_pretrained(assets.language_model()), encoders.load()
    some = {book.document.id: book for book in books(given.split)[: given.books]}
    gold = {
        name: DocumentMemory(book.memory.outline, book.memory.core, book.memory.chunks) for name, book in some.items()
    }
    judge, reader = _loaded(given, given.judge), _loaded(given, given.reader)
    mine = _loaded(given, "embedded", adapter=given.adapter)
    ways = chunkers(tokenizer, encoder, judge, mine, gold)
    ways = {name: ways[name] for name in given.chunkers.split(",") if name in ways}
    if given.moc:
        ways[given.moc] = cuts.meta_chunker(given.moc, dtype=given.dtype, batch_size=given.batch)
    found = {f"{way} {name}": (way, book) for name, book in some.items() for way in ways}
    answering = {given.judge: judge, given.reader: reader}

    def make(keys: Sequence[str]) -> Iterator[dict[str, Any]]:
        for key in keys:
            way, book = found[key]
            row = measured(
                ways[way],
                book,
                tokenizer,
                encoder,
                judge,
                answering,
                at_borders=given.borders,
                questions=given.questions,
            )
            print(key, row["mean_tokens"], row["counts"], flush=True)
            yield {"chunker": way, "book": book.document.id} | row

    about = _about(given, "judge", "reader", "questions", "borders") | {"size": SIZE, "k": TOP}
    kept(given.out, about, list(found), make)


if __name__ == "__main__":
    main()
