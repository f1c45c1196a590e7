"""What every benchmark becomes, documents and items that ask about them, and the files that benchmarks come in.

A `Report` says what was read and what was not: a row that is well formed but cannot be asked is rejected and counted with its
reason. Files are JSON lines, lists too large for memory, CSV, pickled texts, fetched pages. Everything in them is data: nothing
is evaluated, a pickle may hold texts and nothing else, and no name in a file becomes a path. A file that is not what it should
be, or none of whose rows can be asked, is an InputError with the file and the line or row. This reads no Parquet, which would
need a package that the kit does without. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import ast
import csv
import gzip
import hashlib
import io
import json
import math
import pickle
import pickletools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from mindscape import corpora
from mindscape.errors import InputError, require
from mindscape.text import Document, locate

LETTERS = "ABCD"
NO_ID = ("", "nan", "none", "null")  # what programs write in place of one
COLLECTION = "collection"  # the key of the files that hold the documents to be searched


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
    `part` is the benchmark's split or task, `kind` its own sort of question, `raw` the row as published, less its text.
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
        >>> for number, asked in enumerate(["Who?", ""], start=1):
        ...     with report.row(f"toy.jsonl, line {number}"):
        ...         if not asked:
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
    read: Loader
    files: tuple[Files, ...]
    licence: str
    languages: tuple[str, ...]
    metrics: Mapping[str, Metric]
    prompts: Mapping[str, Prompt]
    parts: tuple[str, ...] = ()
    collection: Callable[[Found], Iterator[Document]] | None = None

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


def row_of(texts: str, **others: Any) -> Any:
    """A row as its format has it: the keys that a loader reads, of the right type; others are let through.

    `texts` are keys of strings, `others` keys with a type and a default, `...` where they must be there.
    """
    strings: Any = dict.fromkeys(texts.split(), (str, ...))
    return create_model("Row", __config__=ConfigDict(extra="allow", strict=True), **strings, **others)


def checked(model: type[BaseModel], row: Any) -> Any:
    """The row as its model. Raises Unusable, which names the first key that is missing or of another type."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        keys, value = [], row
        for part in first["loc"]:  # behind the keys come names of types, where one of several would do
            if isinstance(value, list) and isinstance(part, int):
                value = value[part]
            elif isinstance(value, Mapping):
                keys.append(str(part))
                value = value.get(part)
        raise Unusable(f"{'.'.join(keys)}: {first['msg']}" if keys else first["msg"]) from None


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
    found, lost = [], []
    for quote in filter(str.strip, quotes):
        span = locate(quote, within)
        if span is None:
            lost.append(quote)
        else:
            found.append(Passage(within.id, span.start, span.end))
    return tuple(sorted(found)), tuple(lost)


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
        "half of a surrogate pair: it is not Unicode": any("\ud800" <= it <= "\udfff" for text in texts for it in text),
        "NUL within: it is damaged, or no text": any("\0" in text for text in texts),
        "it has no id of its own": item.id.rpartition("/")[2].strip().lower() in NO_ID,
    }
    return next((said for said, holds in faults.items() if holds), "")


LARGEST = 512_000_000  # bytes of a file that is read at once, or that a gzip file unpacks to
LARGEST_ROW = 128_000_000  # characters of one element of a list that is read piece by piece
LARGEST_LITERAL = 5_000_000  # characters; a parse tree takes a hundred times that
STEP = 1 << 20  # characters read at a time
BROKEN = (ValueError, RecursionError)  # what json raises; JSONDecodeError and a bad encoding are ValueErrors
# What pickle raises for a file that is none.
UNFIT = (pickle.UnpicklingError, ValueError, TypeError, EOFError, LookupError, AttributeError, OverflowError)


def _number(text: str) -> float | None:
    """A number as JSON means it: one that is none or too large, as other writers have it, is a null."""
    value = float(text)
    return value if math.isfinite(value) else None


DECODER = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_number)
BLANKS = re.compile(r"[ \t\r\n]*")
MARKUP = re.compile(r"<(!doctype|html|head|body|pre|p|br|b|title)\b", re.IGNORECASE)


@contextmanager
def _opened(path: Path, mode: str = "rb", **how: Any) -> Iterator[Any]:
    try:
        with path.open(mode, **how) as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02x}"
        raise InputError(f"{path}: {found} is not UTF-8: expected the file as published") from None


def text_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a text file that are not blank, each with its place. Raises InputError for one that is not UTF-8."""
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            where = f"{path}, line {number}"
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError:
                raise InputError(f"{where} is not UTF-8: expected the file as published") from None
            if text:
                yield where, text


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Each line's value with its place, for messages. Blank lines are passed over, a byte order mark too.

    Raises InputError for a line that is not JSON, as the last one of a broken download is.

    >>> list(json_lines(Path("rows.jsonl")))                                                 # doctest: +SKIP
    [('rows.jsonl, line 1', {'id': 0, 'input': 'Who rang?'})]
    """
    for where, line in text_lines(path):
        yield where, _decoded(line, where)


def _decoded(data: str | bytes, where: str) -> Any:
    try:
        return DECODER.decode(data if isinstance(data, str) else data.decode("utf-8-sig"))
    except BROKEN as error:
        raise InputError(f"{where} is not JSON: {error}. Is the download complete?") from None


def json_list(path: Path, step: int = STEP) -> Iterator[tuple[str, Any]]:
    """The elements of a file that is one JSON list, each with its place; memory grows with the largest one alone.

    At most twice an element's characters and `step` more are held. Raises InputError for a file that is no list or ends
    too early, and for an element that is not JSON or longer than `LARGEST_ROW`.

    >>> list(json_list(Path("data.json")))                                                   # doctest: +SKIP
    [('data.json, row 1', {'_id': 'a', 'answer': 'C'}), ('data.json, row 2', {'_id': 'b', 'answer': 'A'})]
    """
    with _opened(path, "r", encoding="utf-8-sig") as file:
        window = _Window(file, step)
        require(window.take() == "[", f"{path} does not begin with '[': expected one JSON list of rows")
        number, mark = 0, window.take() if window.next_character() == "]" else ","
        while mark == ",":
            number += 1
            value = window.value(f"{path}, row {number}")
            yield f"{path}, row {number}", value
            mark = window.take()
        said = f"{path}, after row {number}: expected ',' or ']', found {mark!r}. Is the download complete?"
        require(mark == "]", said)
        ended = not window.next_character()
        require(ended, f"{path}: something follows the list's ']': expected one JSON list of rows")


class _Window:
    """A stretch of a file that moves on: `at` is the next character of `text` to be read."""

    def __init__(self, file, step: int):
        self.file, self.step, self.text, self.at = file, step, "", 0

    def more(self) -> bool:
        """Read on, as much again as is waiting, so that a long element is tried a few times only; False at the end."""
        piece = self.file.read(max(self.step, len(self.text) - self.at))
        self.text, self.at = self.text[self.at :] + piece, 0
        return bool(piece)

    def next_character(self) -> str:
        """The next one that is not blank, and stays to be read; empty at the end."""
        while True:
            self.at = BLANKS.match(self.text, self.at).end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self) -> str:
        """The same, read."""
        found = self.next_character()
        self.at += 1
        return found

    def value(self, where: str) -> Any:
        """The one that begins here. A number is whole only where a comma, a bracket or a blank follows: "0." may go on."""
        self.next_character()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
                fault, whole = "the file ends after it", not isinstance(value, int | float)
            except BROKEN as error:
                fault, end = str(error), len(self.text)
            if end < len(self.text) and (whole or self.text[end] in ", ]\t\r\n"):
                self.at = end
                return value
            if len(self.text) - self.at > LARGEST_ROW or not self.more():
                raise InputError(f"{where} is not JSON: {fault}. Is the download complete?")


def json_file(path: Path) -> Any:
    """What a JSON file holds, read at once. Raises InputError for one that is not JSON or larger than `LARGEST`."""
    return _decoded(_bytes(path), str(path))


def rows_of(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of one JSON list (.json) or of JSON lines, each with its place. Errors as in `json_list` and `json_lines`."""
    return json_list(path) if path.suffix == ".json" else json_lines(path)


def csv_rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its place. A cell that is missing is an empty string.

    Raises InputError for a header without one of the columns, which names those that it has, and for a row with more
    cells than the header.
    """
    before = csv.field_size_limit(LARGEST_ROW)  # the module's own is 128 kB, less than a chapter
    try:
        with _opened(path, "r", encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            names = reader.fieldnames or []
            absent, has = [name for name in columns if name not in names], ", ".join(names) or "nothing"
            said = f"{path}, line 1: no column {', '.join(absent)}: expected it in the header, which has {has}"
            require(not absent, said)
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                require(None not in row, f"{where} has more cells than the header: expected {len(names)}")
                yield where, row
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}: expected CSV as published") from None
    finally:
        csv.field_size_limit(before)


def literal(text: str) -> Any:
    """The value that a Python literal stands for: strings, numbers, lists, dicts. Nothing in it can be called.

    Raises ValueError for anything else. The owners' own scripts hand such strings to `eval`.

    >>> literal("[{'Q': \\"Who's there?\\", 'A': 'a ghost'}]")
    [{'Q': "Who's there?", 'A': 'a ghost'}]
    >>> literal("__import__('os').getcwd()")
    Traceback (most recent call last):
    ...
    ValueError: not a literal
    """
    if len(text) > LARGEST_LITERAL:
        raise ValueError(f"longer than {LARGEST_LITERAL} characters")
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError("not a literal") from None


class _TextsOnly(pickle.Unpickler):
    """Loads what needs no class and no function: everything else in a pickle is code that its author chose."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def pickled_texts(path: Path) -> dict[str, str]:
    """A pickled dict from names to texts. Nothing in the pickle is imported or called.

    Raises InputError for one that asks for a class or a function, holds anything but strings, or is broken.
    """
    data = _bytes(path)
    try:
        for code, argument, _ in pickletools.genops(data):
            # A store under a huge number would make the unpickler clear gigabytes for it.
            if code.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(argument) > len(data):
                raise pickle.UnpicklingError(f"it stores under the number {argument}")
        value = _TextsOnly(io.BytesIO(data)).load()
    except UNFIT as error:
        fit = "expected a pickled dict from names to texts, and no code"
        raise InputError(f"{path}: refused, {error}: {fit}") from None
    except MemoryError:
        raise InputError(f"{path}: refused, it asks for more memory than there is: expected a dict of texts") from None
    fits = isinstance(value, dict) and all(isinstance(part, str) for pair in value.items() for part in pair)
    require(fits, f"{path}: expected a pickled dict from names to texts, found something else in it")
    return value


def unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is gzip, whatever its name says.

    Raises InputError for a gzip file that is broken or unpacks to more than `LARGEST`.
    """
    data = _bytes(path)
    if data.startswith(b"\x1f\x8b"):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(LARGEST + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path} cannot be unpacked: {error}. Is the download complete?") from None
        require(len(data) <= LARGEST, f"{path} unpacks to more than {LARGEST / 1e6:.0f} MB: expected a story")
    return data


def text_of_page(data: bytes, where: str) -> str:
    """The text of a fetched page or text file: UTF-8, or else Windows-1252, as browsers read old pages; no HTML in it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    return unmarked(text.replace("\r\n", "\n").replace("\r", "\n"), where)


def unmarked(text: str, where: str) -> str:
    """A text without HTML's marks, if its beginning has some. Raises InputError, with `where`, for what is no page.

    >>> unmarked("<html><head><title>A play</title></head><body><pre>ANN\\nWho&#39;s there?</pre></body></html>", "play")
    "ANN\\nWho's there?"
    """
    return corpora.page(text, where) if MARKUP.search(text[:4000]) else text


def _bytes(path: Path) -> bytes:
    with _opened(path) as file:
        data = file.read(LARGEST + 1)
    large = f"{path} is larger than {LARGEST / 1e6:.0f} MB: expected the file as published"
    require(len(data) <= LARGEST, large)
    return data
