"""How well a model plays the roles: gold rows from storyworld books, the model's replies, scores by role.

Replies can be kept in a file, so that they are scored again without asking the model:

    python -m mindscape.reader.evaluation --llm embedded --split test --out replies.jsonl

Rows come from books of the develop seeds unless another split is named. Taught in notebook 01_the_reader.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, llm, records
from mindscape.ask import LONGEST
from mindscape.cache import digest
from mindscape.corpora import shakespeare
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError, MindscapeError
from mindscape.llm import LanguageModel
from mindscape.llm.schema import json_schema
from mindscape.metrics import Interval, bootstrap
from mindscape.roles import ROLES, answers, edits
from mindscape.roles.scores import score
from mindscape.text import Chunk, Document, split_sentences
from mindscape.weights import adapter_hash

OF = "role, key, free and cut of a reply"  # a line of the file, in messages
PLAY = 24  # blocks of a play
# Roles asked of a play, and the slot that its text goes into.
OF_PLAY = {"chunk_summary": "chunk_content", "entities": "text", "edits": "block_text", "memory": "document"}
ANSWERS = {"qa": answers.qa, "choice": answers.choice, "claim": answers.claim_pairs}  # gold of the roles with passages
ROWS = {  # of each role from each book; a pair of claims is two
    "chunk_summary": 5,
    "global_summary": 3,
    "session_summary": 3,
    "silver_chunks": 10,
    "silver_nodes": 10,
    "entities": 6,
    "edits": 6,
    "graph_answer": 10,
    "update": 5,
    "memory": 3,
    "reverse_reasoning": 3,
    "qa": 10,
    "choice": 10,
    "claim": 20,
    "grade": 10,
    "pairwise": 4,
}


@dataclass(frozen=True)
class Row:
    """A prompt of a role and what a perfect reader replies."""

    role: str
    book: Book
    slots: Mapping[str, str]
    gold: Any

    @property
    def prompt(self) -> str:
        return ROLES[self.role].prompt(self.book.document.language, **self.slots)


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


def rows(
    role: str,
    books: Iterable[Book],
    tokenizer: PreTrainedTokenizerBase,
    share: int | None = None,
    alone: bool = False,
) -> list[Row]:
    """At most `share` gold rows of a role from each book (`ROWS[role]` by default), always the same.

    `alone`: qa, choice and claim with no passages but those that answer. Of claims the true one and the false one of a pair
    follow each other. Raises InputError for a role that there is not, or that has no passages to leave out.

    >>> rows("judge", [], None)                                                     # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: no role 'judge': expected some of chunk_summary, ...
    """
    if role not in ROLES:
        raise InputError(f"no role {role!r}: expected some of {', '.join(ROLES)}")
    if alone and role not in ANSWERS:
        raise InputError(f"alone=True with role {role!r}: expected one of {', '.join(ANSWERS)}")
    share, found = ROWS[role] if share is None else share, []
    gold = partial(ANSWERS[role], alone=alone) if role in ANSWERS else ROLES[role].gold
    for book in books:
        chance = Chance("evaluation", role, book.document.id)
        if role == "claim":
            for context, true, yes, false, no in islice(gold(book, chance, tokenizer), share // 2):
                found.append(Row(role, book, {**context, "claim": true}, yes))
                found.append(Row(role, book, {**context, "claim": false}, no))
        else:
            found += [Row(role, book, *made) for made in islice(gold(book, chance, tokenizer), share)]
    return found


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


def interval(asked: Sequence[Row], numbers: Sequence[float]) -> Interval | None:
    """The mean of a score over the rows that have one, with a 95 % interval; None for fewer than two such rows.

    Books are drawn whole where there are more than one, since questions on one book stand or fall together.
    """
    kept = [
        (row.book.document.id, number) for row, number in zip(asked, numbers, strict=True) if not math.isnan(number)
    ]
    if len(kept) < 2:
        return None
    groups = [book for book, _ in kept] if len({book for book, _ in kept}) > 1 else None
    return bootstrap([number for _, number in kept], groups=groups)


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


def play_prompts(role: str, play: Document, tokenizer: PreTrainedTokenizerBase) -> list[tuple[str, str]]:
    """Blocks from all over a play and the prompts of a role on them: pairs of block and prompt, `PLAY` many.

    There is no gold, but what a reply quotes is in the block or not. Raises InputError for a role that is not in
    `OF_PLAY`.
    """
    if role not in OF_PLAY:
        raise InputError(f"role {role!r} is not asked of a play: expected one of {', '.join(OF_PLAY)}")
    blocks = _blocks(play, tokenizer)
    picked = [blocks[round(i)] for i in np.linspace(0, len(blocks) - 1, PLAY)]
    graph = {"graph_state": edits.EMPTY, "total_blocks": str(len(blocks))}
    graph["question"] = f"What becomes of the people of {play.meta['title']}?"
    found = []
    for block in picked:
        text = play[block].strip()
        more = {**graph, "block_idx": str(block.index + 1)} if role == "edits" else {}
        found.append((text, ROLES[role].prompt(play.language, **{OF_PLAY[role]: text}, **more)))
    return found


@lru_cache(maxsize=2)
def _blocks(play: Document, tokenizer: PreTrainedTokenizerBase) -> list[Chunk]:
    return split_sentences(play, tokenizer, 300)


def main() -> None:
    """Ask a model for what a file of replies lacks, role by role, and print the scores. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.reader.evaluation", description=main.__doc__)
    told.add_argument("--out", required=True, help="the file of replies; others of the same model are kept")
    told.add_argument("--llm", default="embedded", choices=["embedded", "smollm2"])
    told.add_argument("--adapter", default=str(llm.READER), help="folder of the adapter of `embedded`")
    told.add_argument("--dtype", default="auto", help="precision of the model")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument(
        "--alone", action="store_true", help="qa, choice and claim with no passages but those that answer"
    )
    told.add_argument("--play", default="", help="a play instead of the books of a split: nothing is scored")
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--roles", default="", help="some of the roles, with commas; all by default")
    told.add_argument("--batch", type=int, default=16, help="rows that the model reads at once")
    try:
        _run(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> None:
    if given.play and given.alone:
        raise InputError("--play has no gold, and so no --alone: expected one of them")
    play = shakespeare.play(given.play) if given.play else None
    named = given.roles.split(",") if given.roles else OF_PLAY if play else ANSWERS if given.alone else ROLES
    of_split = [] if play else books(given.split)[: given.books]
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    asked: dict[str, list[Row]] = {}
    prompts: dict[str, list[str]] = {}
    for role in named:  # all of them before a model is asked: what cannot be asked is said at once
        asked[role] = [] if play else rows(role, of_split, tokenizer, alone=given.alone)
        shown = play_prompts(role, play, tokenizer) if play else [("", row.prompt) for row in asked[role]]
        prompts[role] = [prompt for _, prompt in shown]
    options = {"adapter": given.adapter} if given.llm == "embedded" else {}
    model = llm.load(given.llm, dtype=given.dtype, batch_size=given.batch, **options)
    dtype = str(model.backend.model.dtype).removeprefix("torch.")
    kept = Kept.of(given.out, given.llm, options.get("adapter"), dtype)
    for role in named:
        new = kept.lacks(role, prompts[role])
        kept.add(role, new, ask(model, role, new))
        of = scored(asked[role], kept.answers(role, prompts[role])) if asked[role] else {}
        means = {name: interval(asked[role], numbers) for name, numbers in of.items()}
        said = {name: f"{of.value:.2f} [{of.low:.2f}, {of.high:.2f}]" for name, of in means.items() if of}
        print(role, len(prompts[role]), said, flush=True)


if __name__ == "__main__":
    main()
