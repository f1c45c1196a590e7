"""Prompts to measure MCEA on: as MiA-Gen reads them, and the controls of each.

A prompt shows the passages that answer a question among others that do not bear on it, in an order of chance, and the summary
before them. Where Algorithm 1 has annotated a novel, some passages that it wrongly takes for evidence are among the others: so
the same prompt can be labelled by gold and by silver. The measure itself is `mindscape.mia.mcea`. Taught in notebook 15_mcea.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from mindscape import paths
from mindscape.cache import digest
from mindscape.errors import require
from mindscape.llm.base import SHORT
from mindscape.mia.generation import answerable, write
from mindscape.mia.mcea import Layout, equal_lengths, lay_out, shuffled, with_summary
from mindscape.text import Tokenizer, token_ids
from storyworld import Book, Chance
from storyworld.teaching import passages
from storyworld.teaching.supervision import MOST

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
    form: str = SHORT,
) -> list[ControlledPrompt]:
    """The same `share` questions on each book, of those that a few passages and the summary answer, always the same prompts;
    others for another `seed`. `form`: that of the prompts which the model is sent (`mindscape.llm.base.form_of`).

    Relevant are the passages that hold evidence or say who is meant. Conditions: the book's own summary (true); an unrelated
    text (a manual), or other books' summaries, cut to its length (unrelated, other); passages in another order (shuffled) or
    cut to the shortest one's length (equal).

    `tokenizer` cuts the passages, `reader` is that of the model that reads the prompts, the same by default; `silver` has by
    question the passages that Algorithm 1 takes for evidence. Raises InputError for a single book, and for fewer passages than
    evidence and noise may take.

    >>> from storyworld.books import books
    >>> found = controlled_prompts(books("develop")[:2], tokenizer)                                   # doctest: +SKIP
    >>> len(found), found[0].layouts["true"].relevant                                    # doctest: +SKIP
    (8, (False, True, False, False, False, False, False, False))
    """
    require(shown >= MOST + NOISE, f"shown={shown!r}: expected at least {MOST + NOISE} passages, evidence and noise")
    require(len(books) >= 2, f"{len(books)} books: expected at least two, one has the summary of another as a control")
    reader, found = reader or tokenizer, []
    for i, book in enumerate(books):
        language, chance = book.document.language, Chance("mcea", book.document.id, *([seed] if seed else []))
        chunks, taken = passages.cut(book, tokenizer), silver or {}
        number = {chunk: j for j, chunk in enumerate(chunks)}
        others = "\n".join(books[(i + j) % len(books)].summary for j in range(1, len(books)))
        manual = paths.data("texts", f"manual_{language}.md").read_text(encoding="utf-8")
        instead = {"unrelated": token_ids(manual, reader), "other": token_ids(others, reader)}
        for question, _, right in islice(answerable(book, tokenizer, chance), share):
            wrong = [j for j in taken.get(question.id, ()) if j not in right][: shown - NOISE - len(right)]
            keep = [chunks[j] for j in (*right, *wrong)]
            rest = [chunk for chunk in chunks if number[chunk] not in wrong]  # none is shown twice
            some = passages.mixed(book, question, keep, rest, shown, chance)
            texts = [book.document[chunk] for chunk in some]
            relevant = [passages.relevant(book, question, chunk) for chunk in some]
            written = write("qa", {"question": question.question}, texts, book.summary, language, form)
            layout = lay_out(written, relevant, reader)
            layouts = {"true": layout}
            layouts |= {name: with_summary(layout, _repeated(ids, layout)) for name, ids in instead.items()}
            layouts |= {"shuffled": shuffled(layout, int(digest(question.id)[:8], 16)), "equal": equal_lengths(layout)}
            held = tuple(any(passages.holds(book, chunk, span) for span in question.evidence) for chunk in some)
            flags = tuple(number[chunk] in taken[question.id] for chunk in some) if question.id in taken else ()
            found.append(ControlledPrompt(question.id, book.document.id, question.needs_binding, layouts, held, flags))
    return found


def _repeated(ids: Sequence[int], layout: Layout) -> list[int]:
    """As many tokens as the summary has, over and over where there are fewer."""
    ((start, end),) = layout.places("summary")
    return list(islice(cycle(ids), end - start))
