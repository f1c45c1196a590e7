r"""Ways to search a document memory, and ways to cut a text, compared on books (MoM, section 3.2, Tables 1 and 3).

A *system* is units, a way to search them and how many are shown, as in "memory.rrf@8". What is dear is kept in a folder, and
asked for once; the same call goes on after a kill:

    python -m mindscape.mom.trials chunkers --out data/mom/chunkers.jsonl --adapter data/adapters/memreader
    python -m mindscape.mom.comparison      --out data/mom                --adapter data/adapters/memreader

    chunkers.jsonl   where each way to cut cuts each book, as `mindscape.mom.trials` leaves it
    memories.jsonl   the document memory that a model read of each book
    ranks.jsonl      the best units for all questions on a book, for each kind of units and way to search
    replies.jsonl    for some questions: what a reader answers with the units before it, and S_support by several models

Units are the chunks of a way to cut; or "memory", the memory as it was read, and "gold", the one that the book's log knows,
which have three layers. Taught in notebook 42_three_layer_retrieval. Nothing is averaged here.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, encoders, llm
from mindscape.cache import digest
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.encoders import Encoder
from mindscape.errors import InputError, MindscapeError
from mindscape.llm import LLM, LanguageModel
from mindscape.mom.chunkers import at_borders
from mindscape.mom.extraction import extract
from mindscape.mom.memory import DocumentMemory
from mindscape.mom.retrieval import FUSED, FUSIONS, LAYERS, TOP, Layers, context, support
from mindscape.mom.trials import kept, read
from mindscape.question import BREADTHS, Question
from mindscape.reader.evaluation import ask, value
from mindscape.roles import ROLES
from mindscape.text import Chunk
from mindscape.weights import adapter_hash

LAYERED = ("memory", "gold")  # units with three layers
DEPTH = 16  # units kept of a ranking
SHARE = 4  # questions of each scope that a model is asked on a book
PARTS = ("memories", "ranks", "replies")
SCORERS = ("smollm2", "embedded")


@dataclass(frozen=True)
class System:
    """Units, a way to search them, and how many of them are shown.

    >>> System.of("memory.rrf@8"), System("fixed", "chunk", 4).name
    (System(units='memory', way='rrf', k=8), 'fixed.chunk@4')
    """

    units: str
    way: str
    k: int = TOP

    @property
    def name(self) -> str:
        return f"{self.units}.{self.way}@{self.k}"

    @classmethod
    def of(cls, name: str) -> "System":
        """The system of a name. Raises InputError for another form, a way that its units lack, k not from 1 to `DEPTH`."""
        said, _, k = name.rpartition("@")
        units, _, way = said.rpartition(".")  # a model's name may have dots
        if not (units and way in ways(units) and k.isdecimal() and 1 <= int(k) <= DEPTH):
            raise InputError(f"system {name!r}: expected UNITS.WAY@K with K from 1 to {DEPTH}, as in memory.rrf@8")
        return cls(units, way, int(k))


def ways(units: str) -> tuple[str, ...]:
    """The ways to search that units have.

    >>> ways("fixed"), len(ways("memory"))
    (('chunk',), 7)
    """
    return (*LAYERS, *FUSIONS, FUSED) if units in LAYERED else ("chunk",)


def systems(cuts: Sequence[str]) -> list[System]:
    """Those that models are asked about: each way to cut, three layers apart, fused after and before the search, and windows of
    fixed length by fours and sixteens.

    >>> [one.name for one in systems(["fixed"])][:4]
    ['fixed.chunk@8', 'memory.chunk@8', 'memory.rrf@8', 'memory.fused@8']
    """
    found = [System(cut, "chunk") for cut in cuts]
    found += [System(units, way) for units in LAYERED for way in ("chunk", "rrf", FUSED)]
    return found + [System("fixed", "chunk", k) for k in (4, 16) if "fixed" in cuts]


def scope(question: Question) -> str:
    """Whether a question is "global" or "local" (section 3.2), read off MindGraph's breadths: partial and global, or not.

    >>> scope(Question("1", "note", "Who left?", "Ivo", (), (), (), "partial", "lookup"))
    'global'
    """
    return "global" if question.breadth in BREADTHS[3:] else "local"


def picked(book: Book, share: int = SHARE) -> list[Question]:
    """The same questions on a book each time, `share` of each scope; fewer are the first of more."""
    some = Chance("comparison", book.document.id).shuffled(book.questions)
    return [one for name in ("local", "global") for one in [q for q in some if scope(q) == name][:share]]


# What is kept --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Folder:
    """The files of a comparison. What is asked for and lacks raises InputError, which says what writes it."""

    path: Path

    @cached_property
    def _cuts(self) -> dict[str, dict[str, Any]]:
        return read(self.path / "chunkers.jsonl")[1]

    @cached_property
    def _memories(self) -> dict[str, dict[str, Any]]:
        return read(self.path / "memories.jsonl")[1]

    @cached_property
    def _ranks(self) -> dict[str, dict[str, Any]]:
        return read(self.path / "ranks.jsonl")[1]

    @cached_property
    def _replies(self) -> dict[str, dict[str, Any]]:
        return read(self.path / "replies.jsonl")[1]

    @cached_property
    def books(self) -> list[Book]:
        """The books that are compared: those of the split of which there is a memory."""
        return [book for book in books(self.about("memories")["split"]) if book.document.id in self._memories]

    @property
    def cuts(self) -> tuple[str, ...]:
        """The ways to cut that there are."""
        return tuple(dict.fromkeys(row["chunker"] for row in self._cuts.values()))

    def about(self, part: str) -> dict[str, Any]:
        """How one of the files was made."""
        return read(self.path / f"{part}.jsonl")[0]

    def memory(self, units: str, book: Book) -> DocumentMemory:
        """The memory behind units with three layers."""
        if units == "gold":
            return DocumentMemory(book.memory.outline, book.memory.core, book.memory.chunks)
        return DocumentMemory.restored(self._got(self._memories, book.document.id, "memories.jsonl"))

    def chunks(self, units: str, book: Book) -> list[Chunk]:
        """The units of a book, in the order of the text."""
        name = book.document.id
        if units in LAYERED:
            return [Chunk(name, i, it.start, it.end) for i, it in enumerate(self.memory(units, book).chunks)]
        return list(at_borders(book.document, self._got(self._cuts, f"{units} {name}", "chunkers.jsonl")["starts"][1:]))

    def layers(self, units: str, of: Sequence[Book], encoder: Encoder, **options: Any) -> Layers:
        """Indexes over the units of books; `options` as in `retrieval.Layers`."""
        if units in LAYERED:
            return Layers.of_memories([(book.document, self.memory(units, book)) for book in of], encoder, **options)
        return Layers.of_chunks([(book.document, self.chunks(units, book)) for book in of], encoder, **options)

    def rank_key(self, units: str, way: str, book: Book) -> str:
        """Changes with what is ranked."""
        of = self.memory(units, book).stored() if units in LAYERED else [it.start for it in self.chunks(units, book)]
        return f"{units} {way} {book.document.id} {digest(of, [q.question for q in book.questions])[:8]}"

    def found(self, units: str, way: str, book: Book) -> dict[str, list[int]]:
        """By question, the best units of a book, best first: `DEPTH` of them, or all where there are fewer."""
        rows = self._got(self._ranks, self.rank_key(units, way, book), "ranks.jsonl")["found"]
        return {question.id: row for question, row in zip(book.questions, rows, strict=True)}

    def shown(self, system: System, book: Book) -> dict[str, list[Chunk]]:
        """By question, the units that a system shows, best first."""
        chunks = self.chunks(system.units, book)
        rows = self.found(system.units, system.way, book)
        return {name: [chunks[i] for i in row[: system.k]] for name, row in rows.items()}

    def contexts(self, system: System, book: Book, questions: Sequence[Question]) -> list[str]:
        """What a reader is shown for each question."""
        shown = self.shown(system, book)
        return [context({book.document.id: book.document}, shown[question.id]) for question in questions]

    def replies(self, system: System, book: Book, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """For each question `said`, None for a reply that was no answer, and by model S_support with the question (`told`) and
        without it (`untold`)."""
        keys = reply_keys(book, questions, self.contexts(system, book, questions))
        return [self._got(self._replies, key, "replies.jsonl") for key in keys]

    def _got(self, found: Mapping[str, Any], key: str, file: str) -> Any:
        if key not in found:
            command = "trials chunkers" if file == "chunkers.jsonl" else "comparison"
            raise InputError(f"{self.path / file} has no line {key!r}: python -m mindscape.mom.{command} adds it")
        return found[key]


def reply_keys(book: Book, questions: Sequence[Question], contexts: Sequence[str]) -> list[str]:
    """The keys of replies: systems that show the same text share them."""
    pairs = zip(questions, contexts, strict=True)
    return [f"{question.id} {digest(question.question, question.answer, text)[:16]}" for question, text in pairs]


# What is made --------------------------------------------------------------------------------------------------------


def add_memories(
    folder: Path, about: Mapping[str, Any], of: Sequence[Book], model: LLM, tokenizer: PreTrainedTokenizerBase
) -> None:
    """A model's memory of each book: one reading a window and no chance in it, as the cut "mom" of `trials` has it."""
    by_id = {book.document.id: book for book in of}

    def make(keys: Sequence[str]) -> Iterator[dict[str, Any]]:
        for key in keys:
            made = extract(model, by_id[key].document, tokenizer, n=1, temperature=0.0, top_p=1.0)
            yield {"windows": len(made.parts), "repairs": dict(made.repairs), **made.memory.stored()}

    kept(folder / "memories.jsonl", about, list(by_id), make)


def add_ranks(
    folder: Path, about: Mapping[str, Any], of: Sequence[Book], units: Sequence[str], encoder: Encoder
) -> None:
    """The `DEPTH` best units for each question on each book, for each way to search."""
    files = Folder(folder)
    for book in of:
        for one in units:
            keys = {files.rank_key(one, way, book): way for way in ways(one)}

            def make(lacking: Sequence[str], one=one, book=book, keys=keys) -> Iterator[dict[str, Any]]:
                layers = files.layers(one, [book], encoder)
                asked = encoder.encode([question.question for question in book.questions], "query")
                for key in lacking:
                    yield {"found": layers.search(asked, DEPTH, keys[key])[0].tolist()}

            kept(folder / "ranks.jsonl", about, list(keys), make, batch=len(keys))


def add_replies(
    folder: Path,
    about: Mapping[str, Any],
    of: Sequence[Book],
    wanted: Sequence[System],
    models: Callable[[], tuple[LanguageModel, Mapping[str, LLM]]],
    share: int = SHARE,
    tell: Callable[[str], None] = print,
) -> None:
    """For each system, what a reader answers with its units before it, and S_support with the question and without it.

    `models` gives the one that answers and those that weigh; it is called where something lacks, and not before.
    """
    files = Folder(folder)
    for system in wanted:
        for book in of:
            asked = picked(book, share)
            contexts = files.contexts(system, book, asked)
            shown = dict(zip(reply_keys(book, asked, contexts), zip(asked, contexts, strict=True), strict=True))

            def make(lacking: Sequence[str], shown=shown, system=system, book=book) -> Iterator[dict[str, Any]]:
                reader, scorers = models()
                tell(f"{system.name} {book.document.id}: {len(lacking)}")
                yield from _replied(reader, scorers, book.document.language, [shown[key] for key in lacking])

            kept(folder / "replies.jsonl", about, list(shown), make, batch=len(shown))


def _replied(
    reader: LanguageModel, scorers: Mapping[str, LLM], language: str, shown: Sequence[tuple[Question, str]]
) -> Iterator[dict[str, Any]]:
    asked, contexts = [question.question for question, _ in shown], [text for _, text in shown]
    prompts = [
        ROLES["qa"].prompt(language, context=text, question=question)
        for question, text in zip(asked, contexts, strict=True)
    ]
    said = [value("qa", *answer.best) for answer in ask(reader, "qa", prompts)]
    # With the question and without it in one call: what both prompts begin with is read once.
    answers, questions, n = [question.answer for question, _ in shown] * 2, [*asked, *[None] * len(shown)], len(shown)
    weighed = {name: support(model, contexts * 2, answers, questions, language) for name, model in scorers.items()}
    for i, text in enumerate(said):
        told, untold = ({name: round(float(values[at]), 5) for name, values in weighed.items()} for at in (i, n + i))
        yield {"said": text, "told": told, "untold": untold}


# The command ---------------------------------------------------------------------------------------------------------


def main() -> None:
    """Add what a folder lacks: memories, ranks, replies. It must hold chunkers.jsonl. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mom.comparison", description=main.__doc__)
    told.add_argument("--out", required=True, help="the folder")
    told.add_argument("--adapter", default="", help="folder of MemReader's adapter; the reader's by default")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--only", default=",".join(PARTS), help="some of the parts, with commas")
    told.add_argument("--systems", default="", help="whose answers are asked for, with commas; all by default")
    told.add_argument("--share", type=int, default=SHARE, help="questions of each scope on a book that are answered")
    told.add_argument("--llm", default="embedded", help="the model that answers, as mindscape.llm.load has it")
    told.add_argument("--scorers", default=",".join(SCORERS), help="models that weigh answers, with commas")
    told.add_argument("--encoder", default="embedded", help="as mindscape.encoders.load has it")
    told.add_argument("--dtype", default="auto", help="precision of models on this machine")
    told.add_argument("--batch", type=int, default=8, help="rows that a model reads at once")
    try:
        _run(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> None:
    path, only, scorers = Path(given.out), given.only.split(","), given.scorers.split(",")
    if unknown := [name for name in only if name not in PARTS]:
        raise InputError(f"--only {unknown[0]}: expected some of {', '.join(PARTS)}")
    wanted = [System.of(name) for name in given.systems.split(",")] if given.systems else systems(Folder(path).cuts)
    of = books(given.split)[: given.books]
    loaded: dict[tuple[str, str], LanguageModel] = {}

    def model(name: str, adapter: str = "") -> LanguageModel:
        if (name, adapter) not in loaded:
            local = {} if name.startswith(("openai:", "replay:")) else {"dtype": given.dtype, "batch_size": given.batch}
            loaded[name, adapter] = llm.load(name, **local, **({"adapter": adapter} if adapter else {}))
        return loaded[name, adapter]

    reader_sha256 = adapter_hash(llm.READER)
    if "memories" in only:
        about = {
            "split": given.split,
            "dtype": given.dtype,
            "adapter_sha256": adapter_hash(given.adapter or llm.READER),
        }
        tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
        add_memories(path, about, of, model("embedded", given.adapter), tokenizer)
    if "ranks" in only:
        about = {"split": given.split, "encoder": given.encoder, "depth": DEPTH}
        add_ranks(path, about, of, (*Folder(path).cuts, *LAYERED), encoders.load(given.encoder))
    if "replies" in only:
        about = {"split": given.split, "dtype": given.dtype, "llm": given.llm, "scorers": scorers}
        about |= {"reader_sha256": reader_sha256 if "embedded" in (given.llm, *scorers) else ""}

        def both() -> tuple[LanguageModel, dict[str, LLM]]:
            return model(given.llm), {name: model(name) for name in scorers}

        add_replies(path, about, of, wanted, both, given.share)


if __name__ == "__main__":
    main()
