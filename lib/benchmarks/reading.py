"""Read the files that benchmarks come in: JSON lines, lists too large for memory, CSV, pickled texts, fetched pages.

Everything is data: nothing is evaluated, a pickle may hold texts and nothing else, and no name in a file becomes a path.
A file that is not what it should be raises InputError with the file and the line or row; a row that is well formed but
cannot be asked is the loaders' business. This reads no Parquet, which would need a package that the kit does without.
Meant for notebooks 10 and on, pointed at a real benchmark.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mindscape.corpora import own
from mindscape.errors import InputError

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
        raise InputError(
            f"{path}: byte 0x{error.object[error.start]:02x} is not UTF-8: expected the file as published"
        ) from None


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
        try:
            value = DECODER.decode(line)
        except BROKEN as error:
            raise InputError(f"{where} is not JSON: {error}. Is the download complete?") from None
        yield where, value


def json_list(path: Path, step: int = STEP) -> Iterator[tuple[str, Any]]:
    """The elements of a file that is one JSON list, each with its place; memory grows with the largest one alone.

    At most twice an element's characters and `step` more are held. Raises InputError for a file that is no list or ends
    too early, and for an element that is not JSON or longer than `LARGEST_ROW`.

    >>> list(json_list(Path("data.json")))                                                   # doctest: +SKIP
    [('data.json, row 1', {'_id': 'a', 'answer': 'C'}), ('data.json, row 2', {'_id': 'b', 'answer': 'A'})]
    """
    with _opened(path, "r", encoding="utf-8-sig") as file:
        window = _Window(file, step)
        if window.next_character() != "[":
            raise InputError(f"{path} does not begin with '[': expected one JSON list of rows")
        window.at += 1
        number, mark = 0, ","
        if window.next_character() == "]":
            window.at += 1
            mark = "]"
        while mark == ",":
            number += 1
            value = window.value(f"{path}, row {number}")
            yield f"{path}, row {number}", value
            mark = window.next_character()
            window.at += 1
        if mark != "]":
            raise InputError(
                f"{path}, after row {number}: expected ',' or ']', found {mark!r}. Is the download complete?"
            )
        if window.next_character():
            raise InputError(f"{path}: something follows the list's ']': expected one JSON list of rows")


class _Window:
    """A stretch of a file that moves on: `at` is the next character of `text` to be read."""

    def __init__(self, file, step: int):
        self.file, self.step, self.text, self.at = file, step, "", 0
        self.decode = DECODER.raw_decode

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

    def value(self, where: str) -> Any:
        """The one that begins here. A number is whole only where a comma, a bracket or a blank follows: "0." may go on."""
        self.next_character()
        while True:
            try:
                value, end = self.decode(self.text, self.at)
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
    data = _bytes(path)
    try:
        return DECODER.decode(data.decode("utf-8-sig"))
    except BROKEN as error:
        raise InputError(f"{path} is not JSON: {error}. Is the download complete?") from None


def csv_rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its place. A cell that is missing is an empty string.

    Raises InputError for a header without one of the columns, which names those that it has, and for a row with more
    cells than the header.
    """
    before = csv.field_size_limit(LARGEST_ROW)  # the module's own is 128 kB, less than a chapter
    try:
        with _opened(path, "r", encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            absent = [name for name in columns if name not in (reader.fieldnames or [])]
            if absent:
                has = ", ".join(reader.fieldnames or []) or "nothing"
                raise InputError(
                    f"{path}, line 1: no column {', '.join(absent)}: expected it in the header, which has {has}"
                )
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                if None in row:
                    raise InputError(f"{where} has more cells than the header: expected {len(reader.fieldnames)}")
                yield where, row
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}: expected CSV as published") from None
    finally:
        csv.field_size_limit(before)


def literal(text: str, limit: int = LARGEST_LITERAL) -> Any:
    """The value that a Python literal stands for: strings, numbers, lists, dicts. Nothing in it can be called.

    Raises ValueError for anything else. The owners' own scripts hand such strings to `eval`.

    >>> literal("[{'Q': \\"Who's there?\\", 'A': 'a ghost'}]")
    [{'Q': "Who's there?", 'A': 'a ghost'}]
    >>> literal("__import__('os').getcwd()")
    Traceback (most recent call last):
    ...
    ValueError: not a literal
    """
    if len(text) > limit:
        raise ValueError(f"longer than {limit} characters")
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
        raise InputError(
            f"{path}: refused, {error}: expected a pickled dict from names to texts, and no code"
        ) from None
    except MemoryError:
        raise InputError(f"{path}: refused, it asks for more memory than there is: expected a dict of texts") from None
    if not isinstance(value, dict) or not all(isinstance(part, str) for pair in value.items() for part in pair):
        raise InputError(f"{path}: expected a pickled dict from names to texts, found something else in it")
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
        if len(data) > LARGEST:
            raise InputError(f"{path} unpacks to more than {LARGEST / 1e6:.0f} MB: expected a story")
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
    return own.page(text, where) if MARKUP.search(text[:4000]) else text


def _bytes(path: Path) -> bytes:
    with _opened(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST / 1e6:.0f} MB: expected the file as published")
    return data
