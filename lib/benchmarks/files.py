"""The files that benchmarks come in, JSON lines, lists too large for memory, CSV, pickled texts, fetched pages; and their rows.

Everything in them is data: nothing is evaluated, a pickle may hold texts and nothing else, and no name in a file becomes a
path. A file that is not what it should be is an InputError with the file and the line or row. This reads no Parquet, which
would need a package that the kit does without. Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import ast
import csv
import gzip
import io
import json
import math
import pickle
import pickletools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from benchmarks.reading import Unusable
from mindscape import corpora
from mindscape.errors import InputError, require

COLLECTION = "collection"  # the key of the files that hold the documents to be searched
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
        with corpora.reading(path), path.open(mode, **how) as file:
            yield file
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        raise InputError(f"{path}: {byte} is not UTF-8: expected the file as published") from None


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
        require(mark == "]", f"{path}, after row {number}: expected ',' or ']', found {mark!r}. Is the download complete?")
        require(not window.next_character(), f"{path}: something follows the list's ']': expected one JSON list of rows")


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
        character = self.next_character()
        self.at += 1
        return character

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


def rows_of(path: Path, columns: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The rows of one JSON list (.json), of CSV with some columns (.csv) or of JSON lines, each with its place. Errors as in
    `json_list`, `csv_rows` and `json_lines`."""
    if path.suffix == ".csv":
        return csv_rows(path, columns)
    return json_list(path) if path.suffix == ".json" else json_lines(path)


def parted(
    paths: Iterable[Path], part: str | None, part_of: Callable[[str], str | None] = str, columns: tuple[str, ...] = ()
) -> Iterator[tuple[str, int, str, Any]]:
    """The rows of files that hold a part each, or of those that hold `part`: the part, the row's number and place, the row.

    `part_of` tells the part by a file's name without its suffix; where it is None, the file is passed over. `columns` are those
    of CSV.
    """
    for path in paths:
        its = part_of(path.stem)
        if its is not None and part in (None, its):
            for number, (where, row) in enumerate(rows_of(path, columns), start=1):
                yield its, number, where, row


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
            require(not absent, f"{path}, line 1: no column {', '.join(absent)}: expected it in the header, which has {has}")
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                require(None not in row, f"{where} has more cells than the header: expected {len(names)}")
                yield where, row
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}: expected CSV as published") from None
    finally:
        csv.field_size_limit(before)


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


def pickled(path: Path) -> dict[str, str]:
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
    require(len(data) <= LARGEST, f"{path} is larger than {LARGEST / 1e6:.0f} MB: expected the file as published")
    return data
