"""Replies that were recorded earlier: the same questions get the same answers, without the model.

Taught in notebook 00. A recording is made with `load(..., record=PATH)`, of one model. A question that was never asked
is an error: nothing here makes an answer up.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mindscape.cache import digest
from mindscape.errors import InputError, LLMError
from mindscape.llm import recording
from mindscape.llm.base import Forms, Prompt, Replies, Reply, Sampling, Score, Tool, estimated_tokens, for_each, form_of
from mindscape.llm.model import question


class Replay:
    """The backend of "replay:PATH". A later line for the same question replaces an earlier one.

    Raises InputError that names file and line if the recording cannot be read, LLMError for a question it does not hold.

    >>> from mindscape import llm
    >>> llm.load("replay:recorded.jsonl").complete("Who's there?").text                     # doctest: +SKIP
    'Nay, answer me.'
    """

    count_tokens = staticmethod(estimated_tokens)  # the model's tokenizer is not here
    context = None  # a recording does not say

    def __init__(self, path: str | Path):
        self.path = Path(path).expanduser()
        self.name = f"replay:{path}"
        self.answers: dict[str, Reply | Score] = {}
        lines = list(recording.read_recording(self.path))
        self.fingerprint = digest(lines)
        recorded = next((line["model"] for _, line in lines if "model" in line), self.name)
        self.form = form_of(SimpleNamespace(name=recorded))  # what the model was asked, that is found again
        for number, line in lines:
            self._read(line, number)

    def _read(self, recorded: dict[str, Any], number: int) -> None:
        recorded = {name: value for name, value in recorded.items() if name != "model"}
        try:
            kind = "score" if "score" in recorded else "reply"
            answer = (Score if kind == "score" else Reply).restored(recorded.pop(kind))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{self.path}, line {number}: not a recorded reply ({error!r:.80})") from error
        self.answers[digest(recorded)] = answer

    def _answer(self, asked: dict[str, Any], prompt: Prompt) -> Any:
        try:
            return self.answers[digest(asked)]
        except KeyError:
            text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
            raise LLMError(
                f"{self.path} holds no answer to {text!r:.80} with these parameters: "
                "record it with the model itself, load(..., record=PATH)"
            ) from None

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, tools: Sequence[Tool] = (), schema: Forms = None
    ) -> Replies:
        """The recorded replies."""
        for i, (prompt, form) in enumerate(zip(prompts, for_each(schema, len(prompts)), strict=True)):
            yield i, self._answer(question(prompt, sampling, tools, form), prompt)

    def score(self, pairs: Sequence[tuple[Prompt, str]]) -> Iterator[tuple[int, Score]]:
        """The recorded scores."""
        for i, (prompt, continuation) in enumerate(pairs):
            yield i, self._answer({"prompt": prompt, "continuation": continuation}, prompt)
