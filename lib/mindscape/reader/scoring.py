"""How well a model plays the roles: gold rows from storyworld books, and scores of its answers by role.

    asked = rows("qa", books("test"), tokenizer)
    numbers = scored(asked, ask(model, ROLES["qa"], [row.prompt for row in asked], free_first=True))
    interval(asked, numbers["f1"])

Taught in notebook 01_the_reader.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import numpy as np

from mindscape import prompts
from mindscape.errors import require
from mindscape.llm.base import SHORT
from mindscape.metrics import Interval, grouped
from mindscape.question import Answer
from mindscape.roles import ROLES, answers, edits
from mindscape.roles.scores import score
from mindscape.text import Chunk, Document, Tokenizer, split_sentences
from storyworld import Book, Chance

PLAY = 24  # blocks of a play
# Roles asked of a play, and the slot that its text goes into.
OF_PLAY = {"chunk_summary": "chunk_content", "entities": "text", "edits": "block_text", "memory": "document"}
ANSWERS = {"qa": answers.qa, "choice": answers.choice, "claim": answers.claim_pairs}  # gold of the roles with passages
ROWS = prompts.table("reader", "shares")["asked"]
ABOUT = prompts.table("roles", "about")  # of each role where it stands in its `paper`, and its main `score`


@dataclass(frozen=True)
class Row:
    """A prompt of a role and what a perfect reader replies."""

    role: str
    book: Book
    slots: Mapping[str, str]
    gold: Any

    @property
    def prompt(self) -> str:
        """What the embedded reader is asked."""
        return self.asked()

    def asked(self, form: str = SHORT) -> str:
        """What a model is asked that is sent this form of the prompts (`mindscape.llm.base.form_of`)."""
        return ROLES[self.role].prompt(self.book.document.language, form, **self.slots)


def rows(
    role: str, books: Iterable[Book], tokenizer: Tokenizer, share: int | None = None, alone: bool = False
) -> list[Row]:
    """At most `share` gold rows of a role from each book (`ROWS[role]` by default), always the same.

    `alone`: qa, choice and claim with no passages but those that answer. Of claims the true one and the false one of a pair
    follow each other. Raises InputError for a role that there is not, or that has no passages to leave out.

    >>> rows("judge", [], None)                                                     # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: no role 'judge': expected some of chunk_summary, ...
    """
    require(role in ROLES, f"no role {role!r}: expected some of {', '.join(ROLES)}")
    require(not alone or role in ANSWERS, f"alone=True with role {role!r}: expected one of {', '.join(ANSWERS)}")
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


def scored(asked: Sequence[Row], answers: Sequence[Answer]) -> dict[str, list[float]]:
    """By name of a score, its value for each row; `valid` and `valid_free` tell whether the reply could be read.

    `pair_accuracy` stands at the second of two claims, and is NaN at the first.
    """
    found: dict[str, list[float]] = {"valid": [], "valid_free": []}
    for row, answer in zip(asked, answers, strict=True):
        found["valid"].append(float(answer.value is not None))
        found["valid_free"].append(float(answer.free_read))
        for name, number in score(row.role, row.book, row.slots, row.gold, answer.value).items():
            found.setdefault(name, []).append(number)
    if asked and asked[0].role == "claim":
        right = found["accuracy"]
        twins = zip(right[::2], right[1::2], strict=True)
        found["pair_accuracy"] = [number for a, b in twins for number in (math.nan, min(a, b))]
    return found


def interval(asked: Sequence[Row], numbers: Sequence[float], seed: int = 0) -> Interval | None:
    """The mean of a score over the rows that have one, with a 95 % interval; None for fewer than two such rows.

    Books are drawn whole where there are more than one, since questions on one book stand or fall together.
    """
    return grouped(zip(numbers, (row.book.document.id for row in asked), strict=True), seed)


def play_prompts(role: str, play: Document, tokenizer: Tokenizer, form: str = SHORT) -> list[tuple[str, str]]:
    """Blocks from all over a play and the prompts of a role on them: pairs of block and prompt, `PLAY` many.

    `form` as in `Row.asked`. There is no gold, but what a reply quotes is in the block or not. Raises InputError for a role
    that is not in `OF_PLAY`.
    """
    require(role in OF_PLAY, f"role {role!r} is not asked of a play: expected one of {', '.join(OF_PLAY)}")
    blocks = _blocks(play, tokenizer)
    picked = [blocks[round(i)] for i in np.linspace(0, len(blocks) - 1, PLAY)]
    graph = {"graph_state": edits.EMPTY, "total_blocks": str(len(blocks))}
    graph["question"] = f"What becomes of the people of {play.meta['title']}?"
    found = []
    for block in picked:
        text = play[block].strip()
        more = {**graph, "block_idx": str(block.index + 1)} if role == "edits" else {}
        found.append((text, ROLES[role].prompt(play.language, form, **{OF_PLAY[role]: text}, **more)))
    return found


@lru_cache(maxsize=2)
def _blocks(play: Document, tokenizer: Tokenizer) -> list[Chunk]:
    return split_sentences(play, tokenizer, 300)
