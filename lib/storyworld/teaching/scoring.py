"""How well a model plays the roles: gold rows from storyworld books, and scores of its replies by role.

    asked = rows("qa", books("test"), tokenizer)
    numbers = scored(asked, ask(model, ROLES["qa"], [row.prompt for row in asked], free_first=True))
    interval(asked, numbers["f1"])

Scores are from 0 to 1. A reply that cannot be read scores 0. A score is NaN where the gold leaves nothing to score (a summary
that binds nobody, a block without edges), and the scores of quotes where a reply quotes nothing.

`controlled_prompts` are prompts to measure MCEA on, as MiA-Gen reads them, and the controls of each. A prompt shows the
passages that answer a question among others that do not bear on it, in an order of chance, and the summary before them. Where
Algorithm 1 has annotated a novel, some passages that it wrongly takes for evidence are among the others: so the same prompt can
be labelled by gold and by silver. The measure itself is `mindscape.mia.mcea`. Taught in notebooks 01_the_reader and 15_mcea.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, cycle, islice
from operator import attrgetter
from typing import Any

import numpy as np

from mindscape import paths, prompts, roles
from mindscape.cache import digest
from mindscape.errors import require
from mindscape.metrics import Interval, exact_match, grouped, rouge_l, token_f1
from mindscape.mia.generation import answerable, write
from mindscape.mia.mcea import Layout, equal_lengths, lay_out, shuffled, with_summary
from mindscape.question import Answer
from mindscape.roles import QUOTES, ROLES, AddEdge, AddNode, Edits, f1, indices_f1, located
from mindscape.text import Chunk, Document, Tokenizer, split_sentences, token_ids
from storyworld import Book, Chance, weighing
from storyworld.teaching import gold, passages
from storyworld.teaching.update import MOST

CONDITIONS = ("true", "unrelated", "other", "shuffled", "equal")
SHARE = 4  # questions on a book
SHOWN = 8  # passages of a prompt
NOISE = 2  # of them no evidence of either kind, at least


@dataclass(frozen=True)
class ControlledPrompt:
    """A question's prompt, and its controls by name; `binding` says that the question names nobody by name.

    `evidence` has a flag for each passage of the true prompt: relevant, and not because it only says who is meant. `silver` has
    one by Algorithm 1, and is empty where that has not been run.
    """

    id: str
    book: str
    binding: bool
    layouts: Mapping[str, Layout]
    evidence: tuple[bool, ...] = ()
    silver: tuple[bool, ...] = ()


def controlled_prompts(
    books: Sequence[Book],
    tokenizer: Tokenizer,
    share: int = SHARE,
    shown: int = SHOWN,
    silver: Mapping[str, Sequence[int]] | None = None,
    reader: Tokenizer | None = None,
    seed: int = 0,
) -> list[ControlledPrompt]:
    """The same `share` questions on each book, of those that a few passages and the summary answer, always the same prompts;
    others for another `seed`.

    Relevant are the passages that hold evidence or say who is meant. Conditions: the book's own summary (true); an unrelated
    text (a manual), or other books' summaries, cut to its length (unrelated, other); passages in another order (shuffled) or
    cut to the shortest one's length (equal).

    `tokenizer` cuts the passages, `reader` is that of the model that reads the prompts, the same by default; `silver` has by
    question the passages that Algorithm 1 takes for evidence. Raises InputError for a single book, and for fewer passages than
    evidence and noise may take.

    >>> from storyworld import books
    >>> controlled = controlled_prompts(books("develop")[:2], tokenizer)                                   # doctest: +SKIP
    >>> len(controlled), controlled[0].layouts["true"].relevant                                    # doctest: +SKIP
    (8, (False, True, False, False, False, False, False, False))
    """
    require(shown >= MOST + NOISE, f"shown={shown!r}: expected at least {MOST + NOISE} passages, evidence and noise")
    require(len(books) >= 2, f"{len(books)} books: expected at least two, one has the summary of another as a control")
    reader, controlled = reader or tokenizer, []
    for i, book in enumerate(books):
        language, chance = book.document.language, Chance("mcea", book.document.id, *([seed] if seed else []))
        chunks, taken = passages.cut(book, tokenizer), silver or {}
        others = "\n".join(books[(i + j) % len(books)].summary for j in range(1, len(books)))
        manual = paths.data("texts", f"manual_{language}.md").read_text(encoding="utf-8")
        instead = {"unrelated": token_ids(manual, reader), "other": token_ids(others, reader)}
        for question, _, right in islice(answerable(book, tokenizer, chance), share):
            wrong = [j for j in taken.get(question.id, ()) if j not in right][: shown - NOISE - len(right)]
            rest = [chunk for chunk in chunks if chunk.index not in wrong]  # none is shown twice
            picked = passages.mixed(book, question, [chunks[j] for j in (*right, *wrong)], rest, shown, chance)
            texts = [book.document[chunk] for chunk in picked]
            relevant = [passages.relevant(book, question, chunk) for chunk in picked]
            written = write("qa", {"question": question.question}, texts, book.summary, language)
            layout = lay_out(written, relevant, reader)
            layouts = {"true": layout} | {name: with_summary(layout, _repeated(ids, layout)) for name, ids in instead.items()}
            layouts |= {"shuffled": shuffled(layout, int(digest(question.id)[:8], 16)), "equal": equal_lengths(layout)}
            held = tuple(any(passages.holds(book, chunk, span) for span in question.evidence) for chunk in picked)
            flags = tuple(chunk.index in taken[question.id] for chunk in picked) if question.id in taken else ()
            controlled.append(ControlledPrompt(question.id, book.document.id, question.needs_binding, layouts, held, flags))
    return controlled


def _repeated(ids: Sequence[int], layout: Layout) -> list[int]:
    """As many tokens as the summary has, over and over where there are fewer."""
    ((start, end),) = layout.places("summary")
    return list(islice(cycle(ids), end - start))


PLAY = 24  # blocks of a play
# Roles asked of a play, and the slot that its text goes into.
OF_PLAY = {"chunk_summary": "chunk_content", "entities": "text", "edits": "block_text", "memory": "document"}
# Gold of the roles with passages.
ANSWERS = {"qa": passages.qa, "choice": passages.choice, "claim": passages.claim_pairs}
ROWS = prompts.short_texts("roles", "shares")["asked"]
ABOUT = prompts.short_texts("roles", "about")  # of each role where it stands in its `paper`, and its main `score`
Score = Callable[[Book, Mapping[str, str], Any, Any], dict[str, float]]


def _accepted(book: Book, slots: Mapping[str, str], gold: str) -> list[str]:
    """The gold answer, and what else the book takes for one to the question, where the gold is the book's."""
    posed = next(question for question in book.questions if question.question == slots["question"])
    return [gold, *posed.accepted] if gold == posed.answer else [gold]


def _kept(gold: weighing.Kept, reply: weighing.Kept) -> float:
    """Of what the gold keeps, the share that the reply keeps, too."""
    return weighing.Kept(tuple(right for wanted, right in zip(gold.right, reply.right, strict=True) if wanted), 0).recall


def _summary(book: Book, slots: Mapping[str, str], gold: str, reply: str) -> dict[str, float]:
    kinds = {"binding_recall": weighing.bindings, "event_recall": weighing.events}
    return {name: _kept(read(book.voice, gold), read(book.voice, reply)) for name, read in kinds.items()}


def _indices(book: Book, slots: Mapping[str, str], gold: list[int], reply: list[int]) -> dict[str, float]:
    return {"f1": indices_f1(gold, reply)}


def _entities(book: Book, slots: Mapping[str, str], gold: list[dict], reply: list[dict]) -> dict[str, float]:
    return {"f1": f1(*({entity["name"].lower() for entity in entities} for entities in (gold, reply)))}


def _edits(book: Book, slots: Mapping[str, str], gold: Edits, reply: Edits) -> dict[str, float]:
    nodes, edges = roles.node_and_edge_f1(gold, reply, book.document.language)
    quotes, block = [op.src for op in reply.operations if isinstance(op, AddNode | AddEdge)], slots["block_text"]
    quoted = {"quote_located": located(quotes, block), "quote_verbatim": roles.verbatim(quotes, block)}
    return {"node_f1": nodes, "edge_f1": edges} | quoted


def _graph_answer(book: Book, slots: Mapping[str, str], gold: Any, reply: Any) -> dict[str, float]:
    references = _accepted(book, slots, gold.answer)
    right = exact_match(reply.answer, references, book.document.language) if reply.answer.strip() else 0.0
    return {"accuracy": right, "cited_f1": f1(gold.cited_nodes, reply.cited_nodes)}


def _memory(book: Book, slots: Mapping[str, str], gold: Any, reply: Any) -> dict[str, float]:
    text, ends = slots["document"], [end for scenario in reply.scenario for end in scenario.ends if end]
    boundary = roles.border_f1(roles.borders(gold, text), roles.borders(reply, text))
    return {"boundary_f1": boundary, "ends_located": located(ends, text)}


def _qa(book: Book, slots: Mapping[str, str], gold: str, reply: str) -> dict[str, float]:
    return {"f1": token_f1(reply, _accepted(book, slots, gold), book.document.language)}


def _agrees(score: str, get: Callable[[Any], Any]) -> Score:
    """Whether gold and reply say the same in one respect."""
    return lambda book, slots, gold, reply: {score: float(get(gold) == get(reply))}


# By role: a function of the book, what the prompt showed, the gold value and the value of the reply.
SCORES: dict[str, Score] = {
    **dict.fromkeys(("chunk_summary", "global_summary", "session_summary"), _summary),
    **dict.fromkeys(("silver_chunks", "silver_nodes"), _indices),
    "entities": _entities,
    "edits": _edits,
    "graph_answer": _graph_answer,
    "update": _agrees("action_accuracy", attrgetter("action")),
    "memory": _memory,
    "reverse_reasoning": lambda book, _, gold, reply: {"rouge_l": rouge_l(reply, gold, book.document.language)},
    "qa": _qa,
    **dict.fromkeys(("choice", "claim"), _agrees("accuracy", attrgetter("answer"))),
    "grade": _agrees("accuracy", attrgetter("correct")),
    "pairwise": _agrees("accuracy", attrgetter("Overall.Winner")),
}


def score(role: str, book: Book, slots: Mapping[str, str], gold: Any, reply: Any | None) -> dict[str, float]:
    """The scores of a reply's value, or of None where it could not be read.

    >>> import storyworld
    >>> book = storyworld.book(1000, tokens=15_000)
    >>> score("silver_chunks", book, {}, [0, 2], [0]), score("silver_chunks", book, {}, [0, 2], None)
    ({'f1': 0.6666666666666666}, {'f1': 0.0})
    """
    if reply is None:  # what was not said is not quoted, either
        best = SCORES[role](book, slots, gold, gold).items()
        return {name: math.nan if math.isnan(value) or name in QUOTES else 0.0 for name, value in best}
    return SCORES[role](book, slots, gold, reply)


@dataclass(frozen=True)
class GoldRow:
    """A prompt of a role and what a perfect reader replies."""

    role: str
    book: Book
    slots: Mapping[str, str]
    gold: Any

    @property
    def prompt(self) -> str:
        """What the embedded reader is asked."""
        return ROLES[self.role].prompt(self.book.document.language, **self.slots)


def rows(
    role: str, books: Iterable[Book], tokenizer: Tokenizer, share: int | None = None, alone: bool = False
) -> list[GoldRow]:
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
    share, cases = ROWS[role] if share is None else share, []
    make: Callable[..., Any] = partial(ANSWERS[role], alone=alone) if role in ANSWERS else partial(gold, role)
    for book in books:
        chance = Chance("evaluation", role, book.document.id)
        made = make(book, chance, tokenizer)
        examples = chain.from_iterable(islice(made, share // 2)) if role == "claim" else islice(made, share)
        cases += [GoldRow(role, book, *example) for example in examples]
    return cases


def scored(cases: Sequence[GoldRow], answers: Sequence[Answer]) -> dict[str, list[float]]:
    """By name of a score, its value for each row; `valid` and `valid_free` tell whether the reply could be read.

    `pair_accuracy` stands at the second of two claims, and is NaN at the first.
    """
    scores: dict[str, list[float]] = {"valid": [], "valid_free": []}
    for row, answer in zip(cases, answers, strict=True):
        read = {"valid": float(answer.value is not None), "valid_free": float(answer.free_read)}
        for name, number in (read | score(row.role, row.book, row.slots, row.gold, answer.value)).items():
            scores.setdefault(name, []).append(number)
    if cases and cases[0].role == "claim":
        right = scores["accuracy"]
        twins = zip(right[::2], right[1::2], strict=True)
        scores["pair_accuracy"] = [number for a, b in twins for number in (math.nan, min(a, b))]
    return scores


def interval(cases: Sequence[GoldRow], numbers: Sequence[float], seed: int = 0) -> Interval | None:
    """The mean of a score over the rows that have one, with a 95 % interval; None for fewer than two such rows.

    Books are drawn whole where there are more than one, since questions on one book stand or fall together.
    """
    return grouped(zip(numbers, (row.book.document.id for row in cases), strict=True), seed)


def play_prompts(role: str, play: Document, tokenizer: Tokenizer) -> list[tuple[str, str]]:
    """Blocks from all over a play and the prompts of a role on them: pairs of block and prompt, `PLAY` many.

    There is no gold, but what a reply quotes is in the block or not. Raises InputError for a role that is not in `OF_PLAY`.
    """
    require(role in OF_PLAY, f"role {role!r} is not asked of a play: expected one of {', '.join(OF_PLAY)}")
    blocks = _blocks(play, tokenizer)
    picked = [blocks[round(i)] for i in np.linspace(0, len(blocks) - 1, PLAY)]
    graph = {"graph_state": roles.EMPTY, "total_blocks": str(len(blocks))}
    graph["question"] = f"What becomes of the people of {play.meta['title']}?"
    pairs = []
    for block in picked:
        text, more = play[block].strip(), {**graph, "block_idx": str(block.index + 1)} if role == "edits" else {}
        pairs.append((text, ROLES[role].prompt(play.language, **{OF_PLAY[role]: text}, **more)))
    return pairs


@lru_cache(maxsize=2)
def _blocks(play: Document, tokenizer: Tokenizer) -> list[Chunk]:
    return split_sentences(play, tokenizer, 300)
