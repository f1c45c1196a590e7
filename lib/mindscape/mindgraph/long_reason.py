"""LongReason-200 as a recipe: which items of three benchmarks need most of a long text and more than a step (section 4.1).

The paper takes 62 items of LongBench-v2, 118 of NarrativeQA and 20 of LooGLE: no code and no summaries, texts above a length,
labels that two passes of an annotator agree on, breadth partial or global, depth set aggregation or global synthesis. The list
of its items is not here, and neither are the texts: `construct` runs the recipe on the owners' files
(`benchmarks`) with any model as annotator. What it keeps need not be what the paper kept.

Where the paper is silent: an estimated token is four bytes of UTF-8; the items that are left are judged in an order of chance
that the seed fixes, until a source has its number; clozes are left out, since a mask is no question. Each item that was
judged is a line in a file, written at once, so a run that was killed goes on where it was; questions and texts are not in it.

Taught in notebook 32_long_reason. Nothing here downloads or answers anything.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal

from benchmarks import Item, stream
from mindscape import records
from mindscape.cache import digest
from mindscape.errors import InputError, require
from mindscape.llm import LLM, Estimate
from mindscape.mindgraph import rubric
from mindscape.mindgraph.rubric import PROMPTS, Label, Labelled, Unlabelled, annotate, demanding
from mindscape.prompts import short_texts
from mindscape.text import Document

OF = "an item that was judged"  # a line of the file, in messages
FORMAT = "mindscape long-reason 1"
BATCH = 16  # items judged side by side
SUMMARY = re.compile(r"\bsummar(?:y|ies|i[sz]e)\b|总结|概括|摘要", re.IGNORECASE)
REASONS = ("code", "summary", "cloze", "too short", "unreadable", "unstable", "not demanding", "not needed")

# Where section 2.1 puts benchmarks in Figure 2's plane.
FIGURE_2: dict[str, list[str]] = short_texts("mindgraph", "figure_2")


@dataclass(frozen=True)
class Source:
    """A benchmark of the kit's table: how many items are wanted of it, and how long a text has to be, at least."""

    name: str
    wanted: int
    floor: int
    unit: Literal["tokens", "words"]


SOURCES = (
    Source("longbench-v2", 62, 80_000, "tokens"),
    Source("narrativeqa", 118, 120_000, "words"),  # as its owners publish it; "narrativeqa-hub" holds the same
    Source("loogle", 20, 50_000, "tokens"),
)


@dataclass(frozen=True)
class Candidate:
    """An item without its text, which has so many estimated `tokens` and `words`; `reason` says why it is left out, if so."""

    source: str
    item: Item
    tokens: int
    words: int
    reason: str = ""


@dataclass(frozen=True)
class Judged:
    """What became of an item that was judged: kept where `reason` is empty. The labels are those of the first pass."""

    source: str
    id: str
    doc_id: str
    tokens: int
    words: int
    choice: bool
    breadth: str
    depth: str
    reason: str


@dataclass(frozen=True)
class LongReason:
    """The items that were kept, in the order in which they were drawn, and by source how many items came to what end.

    `ends` has for each source a count of "kept" and of `REASONS`; its counts add up to the items that were read.
    """

    kept: tuple[Judged, ...]
    ends: Mapping[str, Counter[str]]

    def __str__(self) -> str:
        """Some lines to print."""
        lines = []
        for name, ends in self.ends.items():
            why = ", ".join(f"{reason} {ends[reason]:,}" for reason in REASONS if ends[reason])
            lines.append(f"{name}: {ends['kept']} kept of {ends.total():,} ({why})")
        return "\n".join(lines)


@dataclass(frozen=True)
class Statistics:
    """Formats, and estimated tokens of the texts (section 4.1: 62 choices, 138 free; 179K, 159K, 56K to 469K)."""

    items: int
    choices: int
    free: int
    mean: float
    median: float
    least: int
    most: int


def gpt_tokens(text: str) -> int:
    """About as many tokens as a GPT tokenizer makes of a text: four bytes of UTF-8 each.

    >>> gpt_tokens("To be, or not to be"), gpt_tokens("生存还是毁灭")
    (5, 5)
    """
    return ceil(len(text.encode("utf-8", "replace")) / 4)


def excluded(item: Item, tokens: int, words: int, source: Source) -> str:
    """Why an item cannot be one of LongReason's, whatever its labels; empty if it can.

    >>> excluded(Item("1", "d", "Who did it?", ("Ivo",)), 90_000, 70_000, SOURCES[0])
    ''
    >>> excluded(Item("1", "d", "Who did it?", ("Ivo",)), 90_000, 70_000, SOURCES[1])
    'too short'
    """
    if "code" in item.kind.lower().split("/")[0].split():
        return "code"
    if item.part == "longdep_summarization" or SUMMARY.search(item.question):
        return "summary"
    if item.part == "shortdep_cloze":
        return "cloze"
    return "too short" if {"tokens": tokens, "words": words}[source.unit] < source.floor else ""


def candidates(source: Source, folder: str | Path | None = None) -> Iterator[Candidate]:
    """The items of a source as they are read, those that are left out among them; one text is held at a time.

    `folder` holds a folder a benchmark, by default as MINDSCAPE_BENCHMARKS says. Errors as in `benchmarks.stream`.

    >>> sum(not one.reason for one in candidates(SOURCES[2], "benchmarks"))                 # doctest: +SKIP
    310
    """
    sizes: dict[str, tuple[int, int]] = {}
    for piece in stream(source.name, folder):
        if isinstance(piece, Document):
            sizes[piece.id] = gpt_tokens(piece.text), len(piece.text.split())
            continue
        tokens, words = sizes[piece.doc_id]
        yield Candidate(source.name, piece, tokens, words, excluded(piece, tokens, words, source))


def construct(
    llm: LLM, path: str | Path, folder: str | Path | None = None, *, sources: Sequence[Source] = SOURCES, seed: int = 0
) -> LongReason:
    """Run the recipe: read the sources, judge what is long enough until each has its number, keep what is demanding.

    `path` is a JSONL file, begun or gone on with: its first line says what run it is, then comes a line an item that was
    judged. A source that has too few demanding items gives those that it has. Time: two calls an item that is judged.

    Raises InputError where files are missing or broken, and for a file of another run; LLMError if the model fails, after
    which the same call goes on where it was.

    >>> print(construct(llm.load("openai:gpt-4o"), "build/long_reason.jsonl", "benchmarks"))  # doctest: +SKIP
    longbench-v2: 62 kept of 503 (code 50, too short 260, unstable 31, not demanding 60, not needed 40)
    """
    path = Path(path)
    about = {"format": FORMAT, "seed": seed, "sources": [asdict(source) for source in sources]}
    about |= {"llm": llm.fingerprint, "prompt": digest(PROMPTS)}
    known = {(item.source, item.id): item for item in records.opened(path, about, _one, of=OF, form=FORMAT)}
    kept: list[Judged] = []
    ends: dict[str, Counter[str]] = {}
    for source in sources:
        read = list(candidates(source, folder))
        ends[source.name] = Counter(item.reason for item in read if item.reason)
        left = _in_order([item for item in read if not item.reason], source, seed)
        chosen: list[Judged] = []
        for batch in (left[i : i + BATCH] for i in range(0, len(left), BATCH)):
            if len(chosen) == source.wanted:
                ends[source.name]["not needed"] += len(batch)
                continue
            for item in _judged(batch, known, llm, path):
                full = not item.reason and len(chosen) == source.wanted
                ends[source.name]["not needed" if full else item.reason or "kept"] += 1
                if not item.reason and not full:
                    chosen.append(item)
        kept += chosen
    return LongReason(tuple(kept), ends)


def estimate(llm: LLM, folder: str | Path | None = None, *, sources: Sequence[Source] = SOURCES) -> Estimate:
    """What `construct` takes at most, before the first call: as if every item that is long enough were judged.

    >>> print(estimate(llm.load("openai:gpt-4o"), "benchmarks"))                            # doctest: +SKIP
    1,702 calls (0 more are cached), 1,100,000 tokens to read, at most 340,000 to write, at most 6.2000 USD
    """
    left = [candidate for source in sources for candidate in candidates(source, folder) if not candidate.reason]
    return rubric.labelling_estimate([_asked(candidate) for candidate in left], llm)


def items(kept: Sequence[Judged], folder: str | Path | None = None) -> Iterator[Document | Item]:
    """The items that were kept, with their texts, read anew: each document before the first item on it.

    Raises InputError where the files no longer hold one of them.

    >>> for piece in items(construct(model, path, folder).kept, folder): ...                # doctest: +SKIP
    """
    for name in dict.fromkeys(item.source for item in kept):
        wanted = {item.id for item in kept if item.source == name}
        texts = {item.doc_id for item in kept if item.source == name}
        for piece in stream(name, folder):
            if piece.id in (texts if isinstance(piece, Document) else wanted):
                if isinstance(piece, Item):
                    wanted.remove(piece.id)
                yield piece
        if wanted:
            raise InputError(
                f"{name}: the files hold no item {', '.join(sorted(wanted)[:3])}: expected those judged before"
            )


def statistics(kept: Sequence[Judged]) -> Statistics:
    """Formats and lengths over items. Raises InputError for none.

    >>> one = Judged("loogle", "1", "d", 56_000, 40_000, False, "global", "set-aggregation", "")
    >>> statistics([one]).median
    56000
    """
    require(kept, "no items: expected at least one")
    tokens, choices = [item.tokens for item in kept], sum(item.choice for item in kept)
    return Statistics(len(kept), choices, len(kept) - choices, mean(tokens), median(tokens), min(tokens), max(tokens))


def _judged(batch: Sequence[Candidate], known: dict[tuple[str, str], Judged], llm: LLM, path: Path) -> list[Judged]:
    """What became of some candidates: as the file has it, or judged now and written to it."""
    new = [candidate for candidate in batch if (candidate.source, candidate.item.id) not in known]
    for candidate, labelled in zip(new, annotate([_asked(waiting) for waiting in new], llm), strict=True):
        row = _row(candidate, labelled)
        records.append(path, [asdict(row)])
        known[candidate.source, candidate.item.id] = row
    return [known[candidate.source, candidate.item.id] for candidate in batch]


def _in_order(left: Sequence[Candidate], source: Source, seed: int) -> list[Candidate]:
    """Candidates as they are judged: shuffled, always in the same way."""
    return sorted(left, key=lambda candidate: digest(seed, source.name, candidate.item.id))


def _asked(candidate: Candidate) -> Unlabelled:
    """An item as the annotator sees it: of a choice the gold answer among its options."""
    item = candidate.item
    options = [option for option in item.options if option not in item.answers]
    answer = item.answers[0] + (f" (not: {'; '.join(options)})" if options else "")
    return Unlabelled(item.question, answer, candidate.words, language=item.language)


def _row(candidate: Candidate, labelled: Labelled) -> Judged:
    label = labelled.label or Label.model_construct(breadth="", depth="")
    if None in labelled.passes:
        reason = "unreadable"
    elif not labelled.stable:
        reason = "unstable"
    else:
        reason = "" if demanding(label.breadth, label.depth) else "not demanding"
    item, size = candidate.item, (candidate.tokens, candidate.words)
    levels = label.breadth, label.depth
    return Judged(candidate.source, item.id, item.doc_id, *size, bool(item.choice), *levels, reason)


def _one(row: dict[str, Any]) -> Judged:
    item = Judged(**row)
    if item.reason not in ("", *REASONS):
        raise ValueError(f"the reason is {item.reason!r:.60}")
    return item
