"""The user's cache: bytes by key in one SQLite file, for what is dear to compute. `mindscape.store` keeps replies in it,
encoders their vectors.

Keys are hashes of everything that decides the value, so an entry is never stale. Values are bytes: no pickles.
It does not evict; delete the file to start afresh. Notebook 00_start_here fills the first one.
"""

import hashlib
import json
import os
import sqlite3
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

from mindscape.errors import FREE_SPACE, WRITABLE, MindscapeError, storage_advice


def digest(*parts) -> str:
    """A content hash (32 hex digits) of strings, numbers, lists and dicts, the same on every platform.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a1")
    (True, False)
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


ADVICE = {"SQLITE_FULL": FREE_SPACE, "SQLITE_BUSY": "another process has been writing to it for a minute; try again"}
# Words in the names of errors that are no damage.
USUAL = ("BUSY", "LOCKED", "FULL", "READONLY", "CANTOPEN", "IOERR", "PERM", "NOMEM", "AUTH", "INTERRUPT")
LARGEST = 128_000_000  # bytes of a file whose pages are looked over when it is opened: a millisecond a megabyte
SUM = 8  # bytes of a value's check sum
TABLE = "CREATE TABLE IF NOT EXISTS checked (key TEXT PRIMARY KEY, value BLOB)"
INSERT = "INSERT OR REPLACE INTO checked VALUES (?, ?)"


class Cache:
    """Bytes by key, in one SQLite file that several processes may share.

    A value is there whole or not at all, also after a kill. Each has a check sum: one that is damaged counts as absent, and is
    named in `damaged` and on stderr; one whose key is damaged is not found. A file that is damaged, or no cache, is set aside
    under another name, and what can be read of it goes into a new one. Raises MindscapeError, and keeps what was written, when
    the disk is full or cannot be written.

    >>> cache = Cache("replies.sqlite")                                                      # doctest: +SKIP
    >>> cache.put({"k": b"v"}); cache.get(["k", "absent"])                                   # doctest: +SKIP
    {'k': b'v'}
    """

    hits = stored = 0  # over all caches of this process: how much of a run's work was already done

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.damaged: list[str] = []
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()  # threads may share a cache

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Those of the keys that are there, with their values."""
        listed, entries = list(dict.fromkeys(keys)), {}
        for i in range(0, len(listed), 500):  # SQLite limits the number of variables in a statement
            part = listed[i : i + 500]
            marks = ",".join("?" * len(part))
            for key, value in self._done(f"SELECT key, value FROM checked WHERE key IN ({marks})", part):
                if key not in part or not _whole(key, value):
                    self.tell(f"{self.path}: entry {key} is damaged: it is computed anew")
                else:
                    entries[key] = value[SUM:]
        Cache.hits += len(entries)
        return entries

    def put(self, items: Mapping[str, bytes]) -> None:
        """Write all items, or none of them."""
        self._done(INSERT, [(key, _check_sum(key, value) + value) for key, value in items.items()])
        Cache.stored += len(items)

    def __len__(self) -> int:
        return self._done("SELECT COUNT(*) FROM checked")[0][0]

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _done(self, statement: str, values: Sequence[Any] = (), again: bool = False) -> list[Any]:
        """The rows that a statement gives, or [] once it has inserted some; when a damaged file was set aside it is tried
        `again`."""
        with self._lock:
            try:
                with self._open() as connection:
                    act = connection.executemany if statement == INSERT else connection.execute
                    return act(statement, values).fetchall()
            except (sqlite3.Error, UnicodeError, OSError) as error:
                if again or not _is_damage(error):
                    raise self._explained(error) from error
                self._set_aside(error)
            return self._done(statement, values, again=True)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = _connected(self.path)
            try:
                if size := self.path.stat().st_size:
                    # Without the table the file is damaged, or no cache.
                    connection.execute("SELECT key FROM checked LIMIT 1")
                    said = connection.execute("PRAGMA integrity_check(1)").fetchone()[0] if size < LARGEST else "ok"
                    if said != "ok":
                        raise sqlite3.DatabaseError(" ".join(str(said).split()))
                else:
                    connection.execute(TABLE)
            except Exception:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _set_aside(self, error: Exception) -> None:
        """Keep a damaged file under another name, and put into a new one what can be read of it. Where that fails the damaged
        one stays in its place, for the next try."""
        self.close()
        kept, scratch = dict(_readable(self.path)), self.path.with_name(f"{self.path.name}.rescued")
        try:
            scratch.unlink(missing_ok=True)
            with closing(_connected(scratch)) as connection:
                connection.execute(TABLE)
                connection.executemany(INSERT, kept.items())
                connection.commit()
        except (sqlite3.Error, OSError) as problem:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)
            raise self._explained(problem) from error
        places = (self.path.with_name(f"{self.path.name}.damaged-{number}") for number in count(1))
        aside = next(place for place in places if not place.exists())
        for beside in ("", "-journal", "-wal", "-shm"):
            part = self.path.with_name(self.path.name + beside)
            if part.exists():
                part.rename(aside.with_name(aside.name + beside))
        os.replace(scratch, self.path)
        said = f"{self.path} is damaged ({error}): it is kept as {aside.name}; {len(kept)} entries of it could be read"
        self.tell(f"{said}, the others are computed anew")

    def tell(self, said: str) -> None:
        """Name a damage, once: in `damaged` and on stderr."""
        if said not in self.damaged:
            self.damaged.append(said)
            print(said, file=sys.stderr)

    def _explained(self, error: Exception) -> MindscapeError:
        name = getattr(error, "sqlite_errorname", "")
        advice = ADVICE.get(name) or (storage_advice(error) if isinstance(error, OSError) else WRITABLE)
        said = f"cannot use the cache {self.path}: {error}; {advice}, or set MINDSCAPE_CACHE to another folder"
        return MindscapeError(said)


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")  # a damaged key is none, and no error
    return connection


def _readable(path: Path) -> Iterator[tuple[str, bytes]]:
    """What is whole in a damaged file, read from both ends."""
    for order in ("ASC", "DESC"):
        connection = _connected(path)
        with suppress(sqlite3.Error, UnicodeError), closing(connection):
            for key, value in connection.execute(f"SELECT key, value FROM checked ORDER BY rowid {order}"):
                if _whole(key, value):
                    yield key, value


def _is_damage(error: Exception) -> bool:
    """Whether the file is to blame, and neither the disk nor another process."""
    name = getattr(error, "sqlite_errorname", "")
    return isinstance(error, sqlite3.Error | UnicodeError) and not any(word in name for word in USUAL)


def _check_sum(key: str, value: bytes) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace") + value).digest()[:SUM]


def _whole(key: Any, value: Any) -> bool:
    both = isinstance(key, str) and isinstance(value, bytes)
    return both and len(value) >= SUM and value[:SUM] == _check_sum(key, value[SUM:])
