"""Replies kept in a file of their own, for what has not yet moved to the store (`mindscape.ask`, `mindscape.store`)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mindscape import records
from mindscape.ask import LONGEST
from mindscape.cache import digest
from mindscape.errors import InputError
from mindscape.llm import LanguageModel
from mindscape.llm.schema import json_schema
from mindscape.reader.scoring import Row, interval, rows
from mindscape.roles import ROLES
from mindscape.roles.scores import score
from mindscape.weights import adapter_hash

__all__ = ["Answer", "Kept", "Row", "ask", "interval", "replies", "rows", "scored", "value"]
OF = "role, key, free and cut of a reply"  # a line of the file, in messages


@dataclass(frozen=True)
class Answer:
    """A reply as it came, and one held to the role's form: None where the role has none, the same where it needed not be.

    `cut` says that the free reply ran into its limit.
    """

    free: str
    cut: bool = False
    held: str | None = None
    held_cut: bool = False

    @property
    def best(self) -> tuple[str, bool]:
        """The reply that counts, and whether it was cut off."""
        return (self.free, self.cut) if self.held is None else (self.held, self.held_cut)


def ask(model: LanguageModel, role: str, prompts: Sequence[str]) -> list[Answer]:
    """The model's replies to prompts of a role, free and held to the role's form.

    Where decoding held to the form could have written the free reply, it would have written that, since at each of its
    tokens the likeliest was allowed: only the other prompts are asked again. Raises LLMError if the model fails.
    """
    form, longest = ROLES[role].form, LONGEST[role]
    talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
    free = model.chat(talks, max_new_tokens=longest) if talks else []
    said = [Answer(reply.text, reply.finish == "length") for reply in free]
    if form is None:
        return said
    could_write = getattr(model.backend, "could_write", lambda text, schema: False)
    grammar = json_schema(form)
    again = [i for i, one in enumerate(said) if one.cut or not could_write(one.free, grammar)]
    held = model.chat([talks[i] for i in again], max_new_tokens=longest, schema=form) if again else []
    last = dict(zip(again, held, strict=True))
    return [
        Answer(one.free, one.cut, last[i].text, last[i].finish == "length")
        if i in last
        else Answer(one.free, one.cut, one.free, one.cut)
        for i, one in enumerate(said)
    ]


def value(role: str, text: str, cut: bool = False) -> Any | None:
    """What a reply says, or None where it cannot be read or was cut off.

    >>> value("silver_chunks", "[0, 2]"), value("silver_chunks", "the first")
    ([0, 2], None)
    """
    try:
        return None if cut else ROLES[role].parse(text)[0]
    except ValueError:
        return None


def scored(asked: Sequence[Row], answers: Sequence[Answer]) -> dict[str, list[float]]:
    """By name of a score, its value for each row; `valid` and `valid_free` tell whether the reply could be read.

    `pair_accuracy` stands at the second of two claims, and is NaN at the first.
    """
    found: dict[str, list[float]] = {"valid": [], "valid_free": []}
    for row, answer in zip(asked, answers, strict=True):
        said = value(row.role, *answer.best)
        found["valid"].append(float(said is not None))
        found["valid_free"].append(float(value(row.role, answer.free, answer.cut) is not None))
        for name, number in score(row.role, row.book, row.slots, row.gold, said).items():
            found.setdefault(name, []).append(number)
    if asked and asked[0].role == "claim":
        right = found["accuracy"]
        twins = zip(right[::2], right[1::2], strict=True)
        found["pair_accuracy"] = [number for a, b in twins for number in (math.nan, min(a, b))]
    return found


@dataclass(frozen=True)
class Kept:
    """A file of replies: its first line says whose they are, each other one is a reply. `about` is that first line."""

    path: Path
    about: Mapping[str, str]

    @classmethod
    def of(cls, path: str | Path, model: str, adapter: str | Path | None = None, dtype: str = "") -> "Kept":
        """The file as it belongs to a model with an adapter, begun where there is none if `dtype` tells its precision.

        Raises InputError for a file of another model, adapter or (if told) precision.
        """
        path = Path(path)
        about = {"model": model, "adapter_sha256": adapter_hash(adapter) if adapter else ""}
        about |= {"dtype": dtype} if dtype else {}
        if dtype:
            records.opened(path, about, of=OF)
        first = records.read(path, of=OF)[0]
        if {name: first.get(name) for name in about} != about:
            raise InputError(f"{path} holds replies of {first}: expected those of {about}; remove it, or name another")
        return cls(path, first)

    def add(self, role: str, prompts: Sequence[str], answers: Sequence[Answer]) -> None:
        """Append the replies to prompts of a role, a JSON line each."""
        lines = []
        for prompt, answer in zip(prompts, answers, strict=True):
            line: dict[str, Any] = {"role": role, "key": _key(role, prompt), "free": answer.free, "cut": answer.cut}
            if (answer.held, answer.held_cut) not in ((None, False), (answer.free, answer.cut)):
                line |= {"held": answer.held, "held_cut": answer.held_cut}
            lines.append(line)
        records.append(self.path, lines)

    def answers(self, role: str, prompts: Sequence[str]) -> list[Answer]:
        """The replies to prompts of a role. Raises InputError where there is none to one, or a line is no reply."""
        if lacking := self.lacks(role, prompts):
            raise InputError(f"{self.path} has no reply of role {role!r} to {lacking[0][-80:]!r}")
        found = self._all()
        return [found[_key(role, prompt)] for prompt in prompts]

    def lacks(self, role: str, prompts: Sequence[str]) -> list[str]:
        """The prompts without a reply."""
        found = self._all()
        return [prompt for prompt in prompts if _key(role, prompt) not in found]

    def _all(self) -> Mapping[str, Answer]:
        about = self.path.stat()
        return _replies(self.path, about.st_mtime_ns, about.st_size)


def _key(role: str, prompt: str) -> str:
    return digest(role, prompt, LONGEST[role])[:16]  # a reply that was cut off counts as long as the limit stands


@lru_cache(maxsize=16)
def _replies(path: Path, changed: int, size: int) -> dict[str, Answer]:
    return dict(records.read(path, _reply, of=OF)[1])


def _reply(it: dict[str, Any]) -> tuple[str, Answer]:
    free, cut = it["free"], it["cut"]
    held = (None, False) if ROLES[it["role"]].form is None else (it.get("held", free), it.get("held_cut", cut))
    return it["key"], Answer(free, cut, *held)


def replies(model: LanguageModel, kept: Kept, role: str, prompts: Sequence[str], batch: int = 64) -> list[Answer]:
    """A model's replies in a role: those in the file, the others asked for and kept, `batch` prompts at a time.

    Raises LLMError if the model fails, after which the same call goes on where it was.
    """
    new = list(dict.fromkeys(kept.lacks(role, prompts)))
    for start in range(0, len(new), batch):
        kept.add(role, new[start : start + batch], ask(model, role, new[start : start + batch]))
    return kept.answers(role, prompts)
