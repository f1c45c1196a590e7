"""The file of a recording: JSONL, a line a question with its reply or score, and the model that gave it.

Taught in notebook 00. `load(..., record=PATH)` writes one, `replay:PATH` answers from it. A line that a kill or a full
disk cut off is passed over, and asked again by whoever needs it. Not here: which question a line answers; that is
`mindscape.llm.replay`'s.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mindscape.cache import digest
from mindscape.errors import InputError

BEGINS = b'{"model": '  # what every line that is written here begins with, however early it is cut off


def read_recording(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a recording, each with its number from 1.

    Raises InputError that names the file, and the line if there is one, for what cannot be read, for what is not a
    JSON object, and for replies of a second model.
    """
    try:
        lines = path.read_bytes().split(b"\n")  # other line ends may stand inside a JSON string
    except OSError as error:
        raise InputError(f"cannot read the recording {path}: {error}") from error
    first = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            recorded = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            if line.startswith(BEGINS) or BEGINS.startswith(line):
                continue  # cut off while it was written
            raise InputError(f"{path}, line {number}: not a recorded reply ({error!r:.80})") from error
        if not isinstance(recorded, dict):
            raise InputError(f"{path}, line {number}: not a recorded reply ({recorded!r:.80})")
        model = recorded.get("model", first)
        first = model if first is None else first
        if model != first:
            raise InputError(f"{path}, line {number}: a reply of {model}, after replies of {first}: expected one model")
        yield number, recorded


class Recorder:
    """Appends to a recording what it does not hold yet.

    Raises InputError if the file cannot be appended to, is no recording, or is one of another model.

    >>> recorder = Recorder("recorded.jsonl", "embedded")                                   # doctest: +SKIP
    >>> recorder.add({"prompt": "Who's there?", "reply": {"text": "Nay, answer me."}})      # doctest: +SKIP
    """

    def __init__(self, path: str | Path, model: str):
        self.path, self.model = Path(path), model
        self._held: set[str] = set()
        self._size = 0  # of the file when `_held` was true of it: others may write to it, or delete it

    def ready(self) -> None:
        """See that the file can be appended to, and know what it holds: before a model is asked, and paid."""
        self._append(b"")

    def add(self, line: dict[str, Any]) -> None:
        """Append a question with its reply or score, unless the file holds just that."""
        line = {"model": self.model, **line}
        key = digest(line)
        if key not in self._held:
            self._append(json.dumps(line).encode() + b"\n")  # ASCII: half a surrogate pair can be written, too
            self._held.add(key)

    def _append(self, data: bytes) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                size = file.seek(0, 2)
                if size != self._size:
                    self._read()
                if data and size:
                    file.seek(size - 1)
                    data = data if file.read(1) == b"\n" else b"\n" + data  # after a line that was cut off
                file.write(data)
                self._size = file.seek(0, 2)
        except OSError as error:
            raise InputError(f"cannot record to {self.path}: {error.strerror or error}") from error

    def _read(self) -> None:
        lines = [line for _, line in read_recording(self.path)]
        others = [line["model"] for line in lines if line.get("model", self.model) != self.model]
        if others:
            raise InputError(f"{self.path} holds replies of {others[0]}: record {self.model} to another file")
        self._held = {digest(line) for line in lines}
