"""Some of a benchmark's questions, as a notebook asks them: the task of a paper's table, the owners' prompt, their metric.

A *task* is a data set as the papers' tables name it: a benchmark of `TABLE`, or some parts of one. `sample` reads a few of its
questions; `tell` says in a line what would be read, where its owners publish it and what is missing. A question is put in the
owners' own words where their prompt is a text file that lies with the data (`template`, `fill`), else in the kit's for the same
form of reply: a letter, a verdict in tags, a phrase. `scores` gives what a paper reports and what the owners score, as far as
the kit has it. Nothing here asks a model. Used in notebooks 12_mia_emb_training, 14_mia_gen, 22_signature_rag and
23_signature_agent.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks import Loaded, find, named, root, stream
from benchmarks.reading import Benchmark, Item, Report
from mindscape.errors import InputError, require
from mindscape.metrics import NoAnswer, accuracy, bleu, exact_match, meteor, pair_accuracy, rouge_l, token_f1
from mindscape.text import Document

Kind = Literal["choice", "qa", "claim"]
VERDICTS = {"TRUE": True, "FALSE": False}


@dataclass(frozen=True)
class Task:
    """Which benchmark, which of its parts (none: all), and what the papers call it."""

    benchmark: str
    parts: tuple[str, ...]
    paper: str


TASKS = {
    "narrativeqa": Task("narrativeqa", ("test",), "NarrativeQA"),
    "narrativeqa-hub": Task("narrativeqa-hub", ("test",), "NarrativeQA"),
    "infinitebench": Task("infinitebench", ("longbook_choice_eng",), "∞Bench"),
    "detectiveqa-en": Task("detectiveqa", ("en/human_anno", "en/AIsup_anno"), "DetectiveQA-EN"),
    "detectiveqa-zh": Task("detectiveqa", ("zh/human_anno", "zh/AIsup_anno"), "DetectiveQA-ZH"),
    "novelhopqa": Task("novelhopqa", (), "NovelHopQA"),
    "nocha": Task("nocha", (), "NoCha"),
}
SLOTS = {"[book_text]": "context", "[claim]": "question"}  # what stands for what in a prompt that is a text file
FREE: dict[str, Callable[..., float]] = {  # scores of a reply to answers in a language; the first two are the papers'
    "exact_match": exact_match,
    "token_f1": token_f1,
    "rouge_l": rouge_l,
    "bleu": lambda said, answers, language: bleu(said, answers, language).bleu_4,
    "meteor": lambda said, answers, language: meteor(said, answers, language).value,
}


def task(name: str) -> Task:
    """A task by its name. Raises InputError, with those that there are.

    >>> task("detectiveqa-zh").paper
    'DetectiveQA-ZH'
    """
    require(name in TASKS, f"no task {name!r}: expected one of {', '.join(TASKS)}")
    return TASKS[name]


def tell(name: str, folder: str | Path | None = None) -> str:
    """A line on a task: what is read, where its owners publish it, what is missing here, how they score and ask."""
    chosen = task(name)
    benchmark, part = named(chosen.benchmark), (chosen.parts or ("",))[0]
    parts = f" ({', '.join(chosen.parts)})" if chosen.parts else ""
    try:
        present, missing = find(benchmark, folder)
        there = "; ".join(missing) or f"{sum(map(len, present.values())):,} of its files are there"
    except InputError as error:
        there = f"{error}, with {benchmark.name}/ in it; {_published(benchmark)}"
    prompt = benchmark.prompt(part)
    wording = " ".join([prompt.where, *prompt.placeholders])
    return f"{name}{parts}: {there}. Score: {benchmark.metric(part).name}. Prompt: {wording}; reply: {prompt.reply}."


def overview(loaded: Loaded | None, corpus: str, known: Sequence[str], folder: str | Path | None = None) -> str:
    """A line on each task that a notebook knows; where `sample` has read questions of one, on that, and what was read.

    >>> overview(None, "storyworld", ["nocha", "novelhopqa"]).count("Score:")
    2
    """
    lines = [tell(name, folder) for name in (known if loaded is None else [corpus])]
    return "\n".join(lines if loaded is None else [*lines, str(loaded.report)])


def _published(benchmark: Benchmark) -> str:
    places = dict.fromkeys(files.published for files in benchmark.files if files.needed)
    return f"its owners publish it at {', '.join(places)}"


def sample(corpus: str, home: str, known: Sequence[str], folder: str | Path | None = None, most: int = 4) -> Loaded | None:
    """What a notebook's parameter `corpus` names: None for `home`, its own corpus, else `few` questions of a task it knows.

    Raises InputError for another name, and as `few` does.

    >>> sample("storyworld", "storyworld", ["nocha"]) is None
    True
    >>> sample("nochas", "storyworld", ["nocha", "narrativeqa"])
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: corpus='nochas': expected storyworld, nocha, narrativeqa
    """
    if corpus == home:
        return None
    require(corpus in known, f"corpus={corpus!r}: expected {', '.join((home, *known))}")
    return few(corpus, folder, most)


def few(name: str, folder: str | Path | None = None, most: int = 4) -> Loaded:
    """The first `most` questions of a task with their texts; of claims whole pairs, so that there may be one more.

    The report counts what was read until then. Raises InputError as `stream` does; for a missing folder or file it says where
    the owners publish it.

    >>> few("nocha", "benchmarks", 2).items[0].group                                         # doctest: +SKIP
    'Sherlock/1'
    """
    require(most >= 1, f"most is {most}: expected 1 or more")
    chosen = task(name)
    benchmark = named(chosen.benchmark)
    try:
        root(folder)
    except InputError as error:
        raise InputError(f"{name}: {error}; {_published(benchmark)}") from None
    report, texts, items, half = Report(chosen.benchmark), {}, [], set()
    for piece in stream(chosen.benchmark, folder, chosen.parts[0] if len(chosen.parts) == 1 else None, report):
        if isinstance(piece, Document):
            texts[piece.id] = piece
        elif chosen.parts and piece.part not in chosen.parts:
            report.notes["another part"] += 1
        elif len(items) + len(half) < most or piece.group in half:
            items.append(piece)
            if kind(piece) == "claim":
                half ^= {piece.group}
            if len(items) >= most and not half:
                report.notes[f"stopped after {len(items)} items"] += 1
                break
    expected = ", ".join(chosen.parts)
    require(items, f"{report.folder}: no row of {name} among {report.rows:,}: expected one of {expected}")
    wanted = {item.doc_id for item in items}
    return Loaded(benchmark, {name: text for name, text in texts.items() if name in wanted}, tuple(items), report)


def kind(item: Item) -> Kind:
    """In which form an item is answered: a letter, a verdict, or free words.

    >>> kind(Item("1/true", "emma", "She rides.", ("TRUE",), ("TRUE", "FALSE"), group="emma/1"))
    'claim'
    """
    if item.choice:
        return "choice"
    return "claim" if item.group and item.answers[0] in VERDICTS else "qa"


def right(item: Item) -> str:
    """The right letter or verdict, or the first of the right answers.

    >>> right(Item("1", "emma", "Who rides?", ("Emma", "Miss Emma")))
    'Emma'
    """
    return item.choice or item.answers[0]


def template(name: str, folder: str | Path | None = None) -> str:
    """The owners' prompt, where it is a text file that lies with the data under the owners' name; else an empty string.

    Raises InputError for a file without one of the placeholders that are known of it.
    """
    chosen = task(name)
    benchmark = named(chosen.benchmark)
    prompt = benchmark.prompt((chosen.parts or ("",))[0])
    path = root(folder) / benchmark.name / prompt.where
    if not prompt.where.endswith(".txt") or not set(prompt.placeholders) <= set(SLOTS) or not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8-sig")
    lacking = [mark for mark in prompt.placeholders if mark not in text]
    require(not lacking, f"{path} has no {', '.join(lacking)}: expected the owners' prompt as published")
    return text


def fill(template: str, context: str, question: str) -> str:
    """A prompt of the owners with a text and a question or claim in it. What these hold is left as it is.

    >>> fill("[book_text] Is it so that [claim]?", "Ann said: [claim].", "Ann left")
    'Ann said: [claim]. Is it so that Ann left?'
    """
    slots = {"context": context, "question": question}
    return re.sub("|".join(map(re.escape, SLOTS)), lambda mark: slots[SLOTS[mark[0]]], template)


def scores(items: Sequence[Item], said: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
    """By name of a score, one for each item, of `pair_accuracy` one for each pair. An empty reply is one that was not read.

    A choice has `accuracy`; a claim has it, and pairs; a free answer has `exact_match` and `token_f1`, as the papers report
    them, and the owners' `rouge_l`, and for English `bleu` (BLEU-4) and `meteor`. Raises InputError for items of several forms,
    half a pair, and another number of replies.

    >>> items = [Item("1", "emma", "Who rides?", ("Miss Emma",)), Item("2", "emma", "Who walks?", ("Ann",))]
    >>> marks = scores(items, ["Emma", ""])
    >>> marks["exact_match"], [round(value, 2) for value in marks["token_f1"]]
    ((0.0, 0.0), [0.67, 0.0])
    """
    kinds = {kind(item) for item in items}
    given = f"{len(said)} replies to {len(items)} items asked as {sorted(kinds)}"
    require(len(kinds) == 1 and len(said) == len(items), f"{given}: expected one each, one form")
    (form,) = kinds
    if form == "qa":
        pairs = list(zip(items, said, strict=True))
        return {
            name: tuple(score(reply, list(item.answers), item.language) if reply else 0.0 for item, reply in pairs)
            for name, score in FREE.items()
            if items[0].language == "en" or name not in ("bleu", "meteor")
        }
    read = [reply or NoAnswer.UNPARSABLE for reply in said]
    marks = {"accuracy": accuracy(read, [right(item) for item in items]).right}
    if form == "claim":
        verdicts = [VERDICTS.get(reply, NoAnswer.UNPARSABLE) for reply in said]
        gold = [{"pair": item.group, "answer": VERDICTS[right(item)]} for item in items]
        marks["pair_accuracy"] = pair_accuracy(row | {"prediction": v} for row, v in zip(gold, verdicts, strict=True)).right
    return {name: tuple(map(float, values)) for name, values in marks.items()}
