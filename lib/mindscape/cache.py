"""The user's cache: bytes by key in one SQLite file, for what is dear to compute. `mindscape.store` keeps replies in it,
encoders their vectors.

Keys are hashes of everything that decides the value, so an entry is never stale. Values are bytes: no pickles.
It does not evict; delete the file to start afresh. Notebook 00_start_here fills the first one.
"""

import errno
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from mindscape.errors import MindscapeError


def digest(*parts) -> str:
    """A content hash (32 hex digits) of strings, numbers, lists and dicts, the same on every platform.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a1")
    (True, False)
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


ADVICE = {
    "SQLITE_FULL": "free some space there",
    "ENOSPC": "free some space there",
    "SQLITE_NOTADB": "delete it if it is not a cache of this kit",
    "SQLITE_CORRUPT": "delete it, it is damaged",
    "SQLITE_BUSY": "another process has been writing to it for a minute; try again",
}


class Cache:
    """Bytes by key, in one SQLite file that several processes may share.

    A value is there whole or not at all, also after a kill. Raises MindscapeError, and keeps what was written, when the
    disk is full or the file is not a cache.

    >>> cache = Cache("replies.sqlite")                                                      # doctest: +SKIP
    >>> cache.put({"k": b"v"}); cache.get(["k", "absent"])                                   # doctest: +SKIP
    {'k': b'v'}
    """

    found = stored = 0  # over all caches of this process: how much of a run's work was already done

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._connection = None
        self._lock = threading.RLock()  # threads may share a cache

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
                self._connection.execute("CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value BLOB)")
            except (sqlite3.Error, OSError) as error:
                self._connection = None
                raise self._explained(error) from error
        return self._connection

    def _explained(self, error: Exception) -> MindscapeError:
        kind = getattr(error, "sqlite_errorname", "") or errno.errorcode.get(getattr(error, "errno", 0) or 0, "")
        advice = ADVICE.get(kind, "see that the folder can be written")
        return MindscapeError(
            f"cannot use the cache {self.path}: {error}; {advice}, or set MINDSCAPE_CACHE to another folder"
        )

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Those of the keys that are there, with their values."""
        found, keys = {}, list(dict.fromkeys(keys))
        for i in range(0, len(keys), 500):  # SQLite limits the number of variables in a statement
            some = keys[i : i + 500]
            marks = ",".join("?" * len(some))
            try:
                with self._lock:
                    found.update(self._open().execute(f"SELECT key, value FROM entry WHERE key IN ({marks})", some))
            except sqlite3.Error as error:
                raise self._explained(error) from error
        Cache.found += len(found)
        return found

    def put(self, items: Mapping[str, bytes]) -> None:
        """Write all items, or none of them."""
        try:
            with self._lock, self._open() as connection:
                connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?)", items.items())
                Cache.stored += len(items)
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def __len__(self) -> int:
        return self._open().execute("SELECT COUNT(*) FROM entry").fetchone()[0]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
