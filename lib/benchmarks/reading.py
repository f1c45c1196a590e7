"""What every benchmark becomes: documents, and items that ask about them.

A `Report` says what was read and what was not: a row that is well formed but cannot be asked is rejected and counted with its
reason. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import ImportString

from mindscape.errors import InputError
from mindscape.text import Document, locate

LETTERS = "ABCD"
NO_ID = ("", "nan", "none", "null")  # what programs write in place of one


@dataclass(frozen=True, order=True)
class Passage:
    """The characters from `start` up to, not including, `end` of the document `doc_id`; `document[passage]` is its text."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True)
class Item:
    """A question of a benchmark; its id is unique within the benchmark.

    `doc_id` is empty where a question is put to a whole collection, or its text is not published. `answers` are strings
    any one of which is right. Of a choice, `options` are in the order of their letters, `choice` is the right letter and
    `answers` the right option's text. `evidence` is what could be placed in a document, `unplaced` what the benchmark
    gives as evidence and could not. `group` joins what is scored or read together: a pair of claims, a conversation.
    `part` is the benchmark's split or task, `kind` its own sort of question, `raw` the row as published, without its text.
    """

    id: str
    doc_id: str
    question: str
    answers: tuple[str, ...]
    options: tuple[str, ...] = ()
    choice: str = ""
    evidence: tuple[Passage, ...] = ()
    unplaced: tuple[str, ...] = ()
    language: str = "en"
    part: str = ""
    kind: str = ""
    group: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


class Unusable(Exception):
    """Why a row cannot be asked. A loader raises it within `Report.row`, which counts it."""


@dataclass
class Rejected:
    """How many rows were rejected for one reason, where the first one stands, and which keys it has."""

    count: int
    where: str
    keys: tuple[str, ...]


@dataclass
class Report:
    """What was read. Every row is an item or rejected: rows = items + the counts of `rejected`.

    `given` counts the pieces of evidence that the items name, `placed` those that stand in a document. Where a benchmark
    has a collection to search, `collection` holds the ids of its documents, and evidence counts as placed if its document
    is among them. `notes` are things to know that cost no row, with how often they occurred; `folder` holds the files.
    """

    name: str
    folder: Path = Path()
    rows: int = 0
    items: int = 0
    documents: int = 0
    given: int = 0
    placed: int = 0
    rejected: dict[str, Rejected] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    collection: frozenset[str] | None = None
    _at: tuple[str, tuple[str, ...]] = field(default=("", ()), repr=False)

    @contextmanager
    def row(self, where: str, row: Any = None) -> Iterator[None]:
        """Count a row; one whose body raises Unusable is rejected.

        >>> report = Report("toy")
        >>> for number, question in enumerate(["Who?", ""], start=1):
        ...     with report.row(f"toy.jsonl, line {number}"):
        ...         if not question:
        ...             raise Unusable("the question is blank")
        >>> report.rows, report.rejected
        (2, {'the question is blank': Rejected(count=1, where='toy.jsonl, line 2', keys=())})
        """
        self.rows += 1
        self._at = where, tuple(map(str, row)) if isinstance(row, Mapping) else ()
        try:
            yield
        except Unusable as error:
            self.reject(str(error))

    @contextmanager
    def holder(self, where: str, row: Any = None) -> Iterator[None]:
        """For what holds rows and is none itself, a meeting or a novel: unusable, it counts as one rejected row."""
        try:
            yield
        except Unusable as error:
            with self.row(where, row):
                raise error

    def reject(self, reason: str) -> None:
        """Count the row at hand as rejected."""
        where, keys = self._at
        self.rejected.setdefault(reason, Rejected(0, where, keys)).count += 1

    def use(self, item: Item, looked: bool = True) -> None:
        """Count the row at hand as an item, and its evidence if that was looked for."""
        self.items += 1
        if looked:
            known = self.collection
            self.given += len(item.evidence) + len(item.unplaced)
            self.placed += sum(known is None or passage.doc_id in known for passage in item.evidence)

    def __str__(self) -> str:
        """Some lines to print."""
        lost = f"{sum(each.count for each in self.rejected.values()):,} rejected"
        lines = [f"{self.name}: {self.rows:,} rows read, {self.items:,} used, {lost}; {self.documents:,} documents"]
        for reason, each in sorted(self.rejected.items(), key=lambda pair: -pair[1].count):
            lines.append(f"  rejected {each.count:,}: {reason} (first: {each.where})")
        if self.given:
            lines.append(f"  evidence placed: {self.placed:,} of {self.given:,} ({self.placed / self.given:.1%})")
        lines += [f"  note ({count:,}): {note}" for note, count in self.notes.most_common()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Files:
    """One or more files that a benchmark consists of.

    `names` are globs below the benchmark's folder; the first that matches anything is taken. `published` is where the
    owner offers them, `save_as` the name to save them under, `how` what else there is to know. A file called `but` is
    none of them, though a glob may match it.
    """

    key: str
    names: tuple[str, ...]
    published: str
    save_as: str
    how: str = ""
    needed: bool = True
    but: str = ""


@dataclass(frozen=True)
class Metric:
    """A benchmark's own score. `kit` names the functions of `mindscape.metrics` that compute it, or come nearest to it."""

    name: str
    kit: tuple[str, ...] = ()
    differs: str = ""


@dataclass(frozen=True)
class Prompt:
    """How the owners ask: the file with their wording, its placeholders, and what a reply has to look like."""

    where: str
    placeholders: tuple[str, ...] = ()
    reply: str = "free text"


Found = Mapping[str, list[Path]]
Loader = Callable[[Found, Report, str | None], Iterator[Document | Item]]


@dataclass(frozen=True)
class Benchmark:
    """A line of the table of benchmarks.

    `read` gives documents and items as a stream, a document before the first item that asks about it. `parts` are the
    splits or tasks that can be read alone; `collection` reads the documents to be searched, where questions are put to
    all of them together. Of `metrics` and `prompts` the keys are parts; "" stands for all others.
    """

    name: str
    read: ImportString[Loader]
    files: tuple[Files, ...]
    licence: str
    languages: tuple[str, ...]
    metrics: Mapping[str, Metric]
    prompts: Mapping[str, Prompt]
    parts: ImportString[tuple[str, ...]] = ()
    collection: ImportString[Callable[[Found], Iterator[Document]]] | None = None

    def metric(self, part: str = "") -> Metric:
        """The score of a part."""
        return self.metrics.get(part) or self.metrics[""]

    def prompt(self, part: str = "") -> Prompt:
        """The prompt format of a part."""
        return self.prompts.get(part) or self.prompts[""]


def usable(holds: object, otherwise: str) -> None:
    """Raises Unusable with the words of `otherwise`, unless something holds."""
    if not holds:
        raise Unusable(otherwise)


def rest(row: Mapping[str, Any], *text: str) -> dict[str, Any]:
    """The row without the keys whose value is the document's text."""
    return {key: value for key, value in row.items() if key not in text}


def document(text: str, language: str, prefix: str = "doc", name: str = "", **meta: Any) -> Document:
    """A document; without a name it is called by a fingerprint of its text, so that the same text is the same document.

    Raises Unusable for a text that is blank, holds NUL, or is not Unicode.

    >>> document("Once upon a time.", "en").id == document("Once upon a time.", "en", title="A tale").id
    True
    """
    usable(text.strip(), "the text is blank")
    usable("\0" not in text, "the text holds NUL: it is damaged, or no text")
    fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    try:
        return Document(name or f"{prefix}-{fingerprint}", text, language, meta)
    except InputError:
        raise Unusable("the text has half of a surrogate pair: it is not Unicode") from None


def place(quotes: list[str], within: Document) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """Where quotes stand in a document, in the order of the text, and those that stand nowhere in it.

    >>> place(["a time", "for ever"], document("Once upon a time.", "en", name="tale"))
    ((Passage(doc_id='tale', start=10, end=16),), ('for ever',))
    """
    passages, lost = [], []
    for quote in filter(str.strip, quotes):
        span = locate(quote, within)
        if span is None:
            lost.append(quote)
        else:
            passages.append(Passage(within.id, span.start, span.end))
    return tuple(sorted(passages)), tuple(lost)


def whole(texts: Iterable[Document]) -> tuple[Passage, ...]:
    """Evidence that is whole documents."""
    return tuple(Passage(text.id, 0, len(text.text)) for text in texts)


def joined(pieces: Sequence[str], between: str, name: str) -> tuple[str, list[Passage]]:
    """Pieces as one text, and where each stands in the document that it will be.

    >>> joined(["Rain.", "The end."], "\\n\\n", "tale")[1]
    [Passage(doc_id='tale', start=0, end=5), Passage(doc_id='tale', start=7, end=15)]
    """
    starts = accumulate((len(piece) + len(between) for piece in pieces), initial=0)
    places = [Passage(name, start, start + len(piece)) for start, piece in zip(starts, pieces, strict=False)]
    return between.join(pieces), places


def fault(item: Item) -> str:
    """Why an item cannot be asked, or an empty string."""
    texts = (item.question, *item.answers, *item.options)
    faults = {
        "the question is blank": not item.question.strip(),
        "there is no answer": not item.answers or not all(map(str.strip, item.answers)),
        "half of a surrogate pair: it is not Unicode": any("\ud800" <= letter <= "\udfff" for text in texts for letter in text),
        "NUL within: it is damaged, or no text": any("\0" in text for text in texts),
        "it has no id of its own": item.id.rpartition("/")[2].strip().lower() in NO_ID,
    }
    return next((said for said, holds in faults.items() if holds), "")
