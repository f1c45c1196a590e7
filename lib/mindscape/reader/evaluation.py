"""How well a model plays the roles: gold rows from storyworld books, the model's replies, scores by role.

Replies can be kept in a file and scored again without the model: python -m mindscape.reader.evaluation. Taught in
notebook 01_the_reader.
"""

import argparse
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, llm
from mindscape.corpora import storyworld
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError
from mindscape.llm import LanguageModel
from mindscape.metrics import Interval, bootstrap
from mindscape.roles import ROLES
from mindscape.roles.answers import claim_pairs
from mindscape.roles.scores import score
from mindscape.store import digest

TOKENS = 15_000  # a book's length, as in training
ROWS = {  # of each role from each of ten books; claims come in pairs
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
    "claim": 10,
    "grade": 10,
    "pairwise": 4,
}
LONGEST = {  # tokens of a reply: what gold takes at most, and a third more
    "chunk_summary": 144,
    "global_summary": 268,
    "session_summary": 268,
    "silver_chunks": 24,
    "silver_nodes": 24,
    "entities": 268,
    "edits": 384,
    "graph_answer": 80,
    "update": 280,
    "memory": 532,
    "reverse_reasoning": 164,
    "qa": 24,
    "choice": 8,
    "claim": 120,
    "grade": 56,
    "pairwise": 184,
}


@dataclass(frozen=True)
class Row:
    """A prompt of a role and what a perfect reader replies. `pair` is the same for a true claim and its false twin."""

    role: str
    book: Book
    slots: Mapping[str, str]
    gold: Any
    pair: int = 0

    @property
    def prompt(self) -> str:
        return ROLES[self.role].prompt(self.book.document.language, **self.slots)

    @property
    def key(self) -> str:
        """What a kept reply is found by."""
        return digest(self.role, self.prompt)[:16]


@dataclass(frozen=True)
class Answer:
    """A reply as it came, and one held to the role's form; None where the role has no form to be held to."""

    free: str
    held: str | None = None

    @property
    def best(self) -> str:
        return self.free if self.held is None else self.held


def rows(
    role: str, books: Iterable[Book], tokenizer: PreTrainedTokenizerBase, share: int | None = None, seed: int = 0
) -> list[Row]:
    """At most `share` gold rows of a role from each book (`ROWS[role]` by default), always the same.

    Raises InputError for a role that there is not.

    >>> rows("judge", [], None)
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: no role 'judge': expected some of chunk_summary, ...      # doctest: +ELLIPSIS
    """
    if role not in ROLES:
        raise InputError(f"no role {role!r}: expected some of {', '.join(ROLES)}")
    share, found = ROWS[role] if share is None else share, []
    for book in books:
        chance = Chance("evaluation", role, book.document.id, seed)
        if role == "claim":
            pairs = claim_pairs(book, chance, tokenizer)
            for i, (context, true, yes, false, no) in enumerate(islice(pairs, share // 2)):
                found.append(Row(role, book, {**context, "claim": true}, yes, i))
                found.append(Row(role, book, {**context, "claim": false}, no, i))
        else:
            made = ROLES[role].gold(book, chance, tokenizer)
            found += [Row(role, book, slots, gold) for slots, gold in islice(made, share)]
    return found


def ask(model: LanguageModel, asked: Sequence[Row]) -> list[Answer]:
    """The model's replies to rows of one role, free and held to the role's form.

    A free reply that is written exactly as the form has it is what decoding held to the form writes, too, since at each
    of its tokens the likeliest was allowed: only the other rows are asked again. Raises LLMError if the model fails.
    """
    (name,) = {row.role for row in asked}
    role = ROLES[name]
    talks = [[{"role": "user", "content": row.prompt}] for row in asked]
    free = model.chat(talks, max_new_tokens=LONGEST[name])
    if role.form is None:
        return [Answer(reply.text) for reply in free]
    again = [i for i, reply in enumerate(free) if reply.finish != "stop" or not _as_rendered(name, reply.text)]
    held = {i: reply.text for i, reply in enumerate(free)}
    replies = model.chat([talks[i] for i in again], max_new_tokens=LONGEST[name], schema=role.form) if again else []
    held |= {i: reply.text for i, reply in zip(again, replies, strict=True)}
    return [Answer(reply.text, held[i]) for i, reply in enumerate(free)]


def _as_rendered(name: str, text: str) -> bool:
    try:
        value, repairs = ROLES[name].parse(text)
        return not repairs and ROLES[name].render(value) == text
    except ValueError:
        return False


def value(role: str, text: str) -> Any | None:
    """What a reply says, or None where it cannot be read.

    >>> value("silver_chunks", "[0, 2]"), value("silver_chunks", "the first")
    ([0, 2], None)
    """
    try:
        return ROLES[role].parse(text)[0]
    except ValueError:
        return None


def scored(asked: Sequence[Row], answers: Sequence[Answer]) -> dict[str, list[float]]:
    """By name of a score, its value for each row; `valid` and `valid_free` tell whether the reply could be read.

    `pair_accuracy` stands at the second of two claims, and is NaN at the first.
    """
    found: dict[str, list[float]] = {"valid": [], "valid_free": []}
    for row, answer in zip(asked, answers, strict=True):
        said = value(row.role, answer.best)
        found["valid"].append(float(said is not None))
        found["valid_free"].append(float(value(row.role, answer.free) is not None))
        for name, number in score(row.role, row.book, row.slots, row.gold, said).items():
            found.setdefault(name, []).append(number)
    if asked and asked[0].role == "claim":
        right = found["accuracy"]
        twins = zip(right[::2], right[1::2], strict=True)
        found["pair_accuracy"] = [number for a, b in twins for number in (math.nan, min(a, b))]
    return found


def interval(asked: Sequence[Row], numbers: Sequence[float]) -> Interval | None:
    """The mean of a score over the rows that have one, with a 95 % interval by bootstrap over rows; None for fewer than 2.

    `asked` gives each row its book: books are drawn whole where there are more than one.
    """
    kept = [
        (row.book.document.id, number) for row, number in zip(asked, numbers, strict=True) if not math.isnan(number)
    ]
    if len(kept) < 2:
        return None
    groups = [book for book, _ in kept] if len({book for book, _ in kept}) > 1 else None
    return bootstrap([number for _, number in kept], groups=groups)


def keep(path: str | Path, asked: Sequence[Row], answers: Sequence[Answer]) -> None:
    """Append replies to a file, one JSON line each."""
    lines = [
        {"role": row.role, "key": row.key, "free": answer.free}
        | ({} if answer.held in (None, answer.free) else {"held": answer.held})
        for row, answer in zip(asked, answers, strict=True)
    ]
    with Path(path).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def kept(path: str | Path, asked: Sequence[Row]) -> list[Answer]:
    """The kept replies to rows. Raises InputError where the file has none for a row, or a line that is no reply."""
    found = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            it = json.loads(line)
            held = None if ROLES[it["role"]].form is None else it.get("held", it["free"])
            found[it["key"]] = Answer(it["free"], held)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: expected role, key and free of a reply: {error}") from error
    for row in asked:
        if row.key not in found:
            raise InputError(f"{path} has no reply for a row of role {row.role!r} of {row.book.document.id}")
    return [found[row.key] for row in asked]


def main() -> None:
    """Ask a model for the replies to the rows of ten test books and keep them. Goes on after a kill: replies are cached."""
    told = argparse.ArgumentParser(prog="python -m mindscape.reader.evaluation", description=main.__doc__)
    told.add_argument("--out", required=True, help="the file of replies, written anew")
    told.add_argument("--llm", default="embedded", help="as in a notebook")
    told.add_argument("--books", type=int, default=10, help="test seeds from 2000 on")
    told.add_argument("--roles", default=",".join(ROLES))
    told.add_argument("--share", type=int, default=0, help="rows of each role from each book; 0: as many as usual")
    given = told.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    model = llm.load(given.llm)
    books = [storyworld.book(seed, TOKENS) for seed in storyworld.TEST[: given.books]]
    Path(given.out).unlink(missing_ok=True)
    for role in given.roles.split(","):
        asked = rows(role, books, tokenizer, given.share or None)
        answers = ask(model, asked)
        keep(given.out, asked, answers)
        means = {name: interval(asked, numbers) for name, numbers in scored(asked, answers).items()}
        said = {name: f"{of.value:.2f} [{of.low:.2f}, {of.high:.2f}]" for name, of in means.items() if of}
        print(role, len(asked), said, flush=True)


if __name__ == "__main__":
    main()
