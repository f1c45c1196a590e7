"""Files of JSON lines that a run adds to: the first line says what run it is, each other one is a row of it.

A row is in the file whole or not at all, also after a kill: what a kill left of a last line does not count, and is cut off when
the run goes on. A file of another run, or of something else, is refused and left as it is.

    rows = opened("build/rows.jsonl", {"llm": "embedded"})      # those that are there; the file is begun where there is none
    append("build/rows.jsonl", [{"n": 1}])

Two processes must not write to one file. Notebook 00_start_here says why replies are kept.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mindscape import store
from mindscape.errors import InputError, MindscapeError, require

T = TypeVar("T")
About = dict[str, Any]
PLAIN: Any = dict  # makes a row of itself


def lines(path: str | Path) -> list[str]:
    """The lines of a text file. Line feeds alone end one: a text within JSON may hold the other ends that Unicode knows.

    Raises OSError where it cannot be read, UnicodeDecodeError where it is not UTF-8.

    >>> lines("rows.jsonl")                                                                  # doctest: +SKIP
    ['{"text": "磨坊主"}']
    """
    held = Path(path).read_text(encoding="utf-8").split("\n")
    return held if held[-1] else held[:-1]


def whole_lines(path: str | Path) -> list[str]:
    """The lines of a file that one is appended to at a time; what a kill left of a last one is cut off in the file, too.

    Raises OSError where it cannot be read.

    >>> whole_lines("log.jsonl")                                                             # doctest: +SKIP
    ['{"step": 0}', '{"step": 1}']
    """
    path = Path(path)
    held = path.read_bytes()
    whole = held[: held.rfind(b"\n") + 1]
    if whole != held:
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return whole.decode("utf-8").split("\n")[:-1]


def read_rows(
    path: str | Path, make: Callable[[About], T] = PLAIN, *, of: str = "a row", form: str = ""
) -> tuple[About, list[T]]:
    """What the first line says, and what `make` makes of each other one; the file is left as it is.

    `of` names a row in messages; `form` is what the first line must have as its format. Raises InputError, with the line, for a
    file that cannot be read, and for a line of which nothing can be made (`make` raises ValueError, KeyError or TypeError).

    >>> about, rows = read_rows("build/rows.jsonl")                                               # doctest: +SKIP
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}: expected a file of this kit") from error
    store.current().read_file(path)
    require(lines, f"{path} holds no whole line: expected one on the run, and then {of} each")
    about: About = {}
    rows: list[T] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"no object: {row!r:.60}")
            if number > 1:
                rows.append(make(row))
            elif form and row["format"] != form:
                raise ValueError(f"the format is {row['format']!r:.60}: expected {form!r}")
            else:
                about = row
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            what = "a line on the run" if number == 1 else of
            raise InputError(f"{path}, line {number}: expected {what}: {error!r:.200}") from error
    return about, rows


def opened(
    path: str | Path, about: Mapping[str, Any], make: Callable[[About], T] = PLAIN, *, of: str = "a row", form: str = ""
) -> list[T]:
    """The rows of a file that `about` begins, to go on with; begun where there is none yet.

    Raises InputError as `read_rows` does, and for a file of another run: says in what it differs.

    >>> opened("build/rows.jsonl", {"llm": "embedded"})                                      # doctest: +SKIP
    []
    """
    path, about = Path(path), json.loads(json.dumps(dict(about)))
    try:
        held = path.read_bytes() if path.exists() else b""
        if b"\n" not in held and _line(about).startswith(held):  # nothing yet, or a first line that was being written
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_line(about))
            return []
        first, rows = read_rows(path, make, of=of, form=form)
        for key in {**about, **first}:
            if first.get(key) != about.get(key):
                told = f"{key} is {first.get(key)!r:.80}, expected {about.get(key)!r:.80}"
                raise InputError(f"{path} holds another run: {told}; name another file, or remove it")
        whole_lines(path)  # cuts off what follows the last one, now that the file is known to be ours
    except OSError as error:
        raise InputError(f"cannot use {path}: {error.strerror}: expected a file of this kit, or none") from error
    return rows


def append(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add rows, and see them on the disk, in the place of what a kill left of a last line.

    Raises MindscapeError where that fails; a part of a line does no harm.

    >>> append("build/rows.jsonl", [{"n": 1}])                                               # doctest: +SKIP
    """
    try:
        with Path(path).open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    whole_lines(path)
            file.write(b"".join(map(_line, rows)))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise MindscapeError(f"cannot write {path}: {error.strerror}; what was there before still is") from error


def _line(row: Mapping[str, Any]) -> bytes:
    # Half of a surrogate pair, which a model can write in JSON, goes back into the escape that it came from.
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
