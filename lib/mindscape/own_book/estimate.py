"""What the memories of a book will take, at most, before anything is asked: calls, tokens, dollars, seconds.

Calls and tokens are an upper bound: every reply is counted as long as it may be, and asked for as often. Reports on parts of a
graph, which a model other than ours may call for, are not foreseen; a cap holds them, too. Seconds are foretold from what this
machine does in a few small steps, with replies of the usual length. Of a server it is not known how long it takes. Taught in
notebook 52_your_own_book.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import cast

import pandas as pd

from mindscape.llm import LanguageModel, Reply
from mindscape.own_book.book import OwnBook
from mindscape.own_book.memories import PLAIN, Finder, copies
from mindscape.roles import ROLES

FRAMED = ("chunk_summary", "global_summary", "session_summary", "edits", "graph_answer", "memory", "qa")
WRITTEN = 0.6  # of the longest reply, usually
TRIES = 2  # replies to a question, at most
LOOKED = 300  # tokens of a passage that is looked up
BATCHED = 2.5  # how much faster several replies are written together than one by one


def frames(llm: LanguageModel, language: str) -> dict[str, int]:
    """Tokens of a role's instructions alone.

    >>> frames(llm.load("embedded"), "en")["qa"]                                             # doctest: +SKIP
    58
    """
    bare = {name: ROLES[name].prompts[language].format_map(defaultdict(str)) for name in FRAMED}
    return {name: llm.count_tokens([{"role": "user", "content": text}]) for name, text in bare.items()}


def costs(
    book: OwnBook,
    frame: dict[str, int],
    questions: int,
    memories: Sequence[str],
    rounds: int = 0,
    tries: int = TRIES,
) -> pd.DataFrame:
    """Calls, tokens read and tokens written at most, to build a memory and to answer: a row each, with plain search's first.

    Each answer is weighed twice by its likelihood, with and without its source. `rounds` with tools come before an answer from
    a graph, `tries` are replies to a question.

    >>> costs(book, frames(model, "en"), 3, ["graph"]).loc["graph"].to_dict()                # doctest: +SKIP
    {'calls': 15, 'read': 9200, 'written': 2088}
    """
    sizes, reply = book.sizes, book.sizes.replies
    rows = {}

    def units(kind: str) -> int:
        every = len(book.units(kind))
        return min(every, book.reads) if book.reads else every

    def size(kind: str) -> int:
        return getattr(sizes, kind) * sizes.passage

    weighed = frame["qa"] + 30 + sizes.shown * sizes.passage + reply["phrase"]
    support = [2 * questions, 2 * questions * weighed, 0]

    def answered(extra: int) -> list[int]:
        read = frame["qa"] + 30 + sizes.shown * sizes.passage + extra
        return [tries * questions, tries * questions * read, tries * questions * reply["phrase"]]

    def add(name: str, *parts: Sequence[int]) -> None:
        rows[name] = [sum(column) for column in zip(support, *parts, strict=True)]

    add(PLAIN, answered(0))
    if "mindscape" in memories:
        pieces = units("piece")
        chunks = [pieces, pieces * (frame["chunk_summary"] + size("piece")), pieces * reply["piece"]]
        add("mindscape", chunks, _folds(pieces * reply["piece"], book, frame), answered(reply["whole"]))
    if "signature" in memories:
        some = 0 if book.reads else units("session")
        sessions = [some, some * (frame["session_summary"] + size("session")), some * reply["session"]]
        add("signature", sessions, answered(sizes.items * max(sizes.copied, reply["session"] * (not book.reads))))
    if "document" in memories:
        some = units("window")
        add("document", [some, some * (frame["memory"] + size("window")), some * reply["window"]], answered(0))
    if "graph" in memories:
        some, turns = questions * units("block"), rounds + 1
        read = frame["edits"] + size("block") + sizes.graph // 2
        last = frame["graph_answer"] + sizes.graph + (LOOKED + reply["answer"]) * rounds
        asks = [questions * turns, questions * turns * last, questions * turns * reply["answer"]]
        add("graph", [some, some * read, some * reply["edits"]], asks)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["calls", "read", "written"])


def _folds(level: int, book: OwnBook, frame: dict[str, int]) -> list[int]:
    """Summaries of summaries, until one is left."""
    groups, reply = ceil(level / book.sizes.merged), book.sizes.replies["whole"]
    these = [groups, groups * frame["global_summary"] + level, groups * reply]
    if groups == 1:
        return these
    return [a + b for a, b in zip(these, _folds(groups * reply, book, frame), strict=True)]


def dollars(llm: LanguageModel, table: pd.DataFrame) -> float | None:
    """What so many tokens cost; 0 for a model on this machine, None where the price is unknown.

    >>> dollars(llm.load("embedded"), table)                                                 # doctest: +SKIP
    0.0
    """
    total = table.sum()
    return llm.ledger.cost(llm.name, int(total.read), int(total.written))


@dataclass(frozen=True)
class Speed:
    """Seconds that this machine takes for a passage's vector, for copying from a session, and for a token read and written."""

    vector: float
    copy: float
    read: float
    write: float


def machine_speed(plain: Finder, llm: LanguageModel) -> Speed:
    """In a few small steps whose results are not kept; of a server nothing is known, and reading and writing count 0.

    >>> machine_speed(plain, llm.load("embedded")).write > 0                                      # doctest: +SKIP
    True
    """
    book, texts = plain.book, plain.book.texts[:16]

    def seconds(step) -> float:
        begun = time.perf_counter()
        step()
        return time.perf_counter() - begun

    encoder = plain.look.encoder
    encoder.encode(["once before"])  # what is loaded at the first call is no speed
    copies(book, book.texts[0], book.sizes.copied)
    vector = seconds(lambda: encoder.encode([f"{text} " for text in texts])) / len(texts)
    copy = seconds(lambda: copies(book, book.document[book.units("session")[0]], book.sizes.copied))
    read = write = 0.0
    if not llm.name.startswith(("openai:", "replay:")):
        bare = LanguageModel(llm.backend)
        first = cast(Reply, bare.complete(book.document.text[:2000], max_new_tokens=1))
        more = cast(Reply, bare.complete("Once upon a time", max_new_tokens=24))
        read, write = first.seconds / first.prompt_tokens, more.seconds / more.completion_tokens
    return Speed(vector, copy, read, write)


def foretold(book: OwnBook, table: pd.DataFrame, speed: Speed) -> float:
    """Seconds of a run that finds nothing in the cache, about; `table` with one try for each answer, which is the usual.

    >>> foretold(book, costs(book, frame, 3, MEMORIES), machine_speed(plain, model))       # doctest: +SKIP
    140.0
    """
    passages, sessions = len(book.passages), len(book.units("session"))
    vectors = passages * (1 + ("document" in table.index) * 0.6) * speed.vector
    copying = (sessions + ("document" in table.index) * passages / book.sizes.session) * speed.copy
    total = table.sum()
    models = total.read * speed.read + total.written * WRITTEN * speed.write / BATCHED
    return vectors + copying + models
