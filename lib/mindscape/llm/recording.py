"""Recordings of a model: JSONL, a line a question with its reply or score, and the model that gave it; and their replay.

Taught in notebook 00. `load(..., record=PATH)` writes one, `replay:PATH` answers from it: the same questions get the same
answers, without the model. A question that was never asked is an error: nothing here makes an answer up. A line that a kill or
a full disk cut off is passed over, and asked again by whoever needs it.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mindscape.cache import digest
from mindscape.errors import InputError, LLMError
from mindscape.llm import base
from mindscape.llm.base import Forms, Prompt, Replies, Reply, Sampling, Score, Tool

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


class Replay:
    """The backend of "replay:PATH". A later line for the same question replaces an earlier one.

    Raises InputError that names file and line if the recording cannot be read, LLMError for a question it does not hold.

    >>> from mindscape import llm
    >>> llm.load("replay:recorded.jsonl").complete("Who's there?").text                     # doctest: +SKIP
    'Nay, answer me.'
    """

    count_tokens = staticmethod(base.estimated_tokens)  # the model's tokenizer is not here
    context = None  # a recording does not say

    def __init__(self, path: str | Path):
        self.path = Path(path).expanduser()
        self.name = f"replay:{path}"
        self.answers: dict[str, Reply | Score] = {}
        lines = list(read_recording(self.path))
        self.fingerprint = digest(lines)
        recorded = next((line["model"] for _, line in lines if "model" in line), self.name)
        self.form = base.form_of(SimpleNamespace(name=recorded))  # what the model was asked, that is found again
        for number, line in lines:
            asked = {name: value for name, value in line.items() if name != "model"}
            try:
                kind = "score" if "score" in asked else "reply"
                answer = (Score if kind == "score" else Reply).restored(asked.pop(kind))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(f"{self.path}, line {number}: not a recorded reply ({error!r:.80})") from error
            self.answers[digest(asked)] = answer

    def _answer(self, asked: dict[str, Any], prompt: Prompt) -> Any:
        key = digest(asked)
        if key not in self.answers:
            text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
            raise LLMError(
                f"{self.path} holds no answer to {text!r:.80} with these parameters: "
                "record it with the model itself, load(..., record=PATH)"
            )
        return self.answers[key]

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, tools: Sequence[Tool] = (), schema: Forms = None
    ) -> Replies:
        """The recorded replies."""
        for i, (prompt, form) in enumerate(zip(prompts, base.for_each(schema, len(prompts)), strict=True)):
            yield i, self._answer(base.question(prompt, sampling, tools, form), prompt)

    def score(self, pairs: Sequence[tuple[Prompt, str]]) -> Iterator[tuple[int, Score]]:
        """The recorded scores."""
        for i, (prompt, continuation) in enumerate(pairs):
            yield i, self._answer({"prompt": prompt, "continuation": continuation}, prompt)
