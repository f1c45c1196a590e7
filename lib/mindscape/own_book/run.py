"""A book, questions, and what plain search and four memories make of them, one stage after the other.

Everything dear is kept as it comes, replies in the store and vectors in the encoder's cache, so a run that was stopped goes on
where it was. Taught in notebook 52_your_own_book.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from transformers import AutoTokenizer

from mindscape import assets, encoders, paths
from mindscape import llm as models
from mindscape.ask import ask
from mindscape.errors import InputError, require
from mindscape.llm import Ledger
from mindscape.llm.base import form_of
from mindscape.llm.ledger import price
from mindscape.mindgraph.graph import around
from mindscape.mom.retrieval import covered
from mindscape.own_book import estimate
from mindscape.own_book.book import OwnBook, open_book
from mindscape.own_book.check import Checked, check
from mindscape.own_book.memories import (
    MEMORIES,
    NEAR,
    Finder,
    Read,
    chosen_memories,
    copied_sessions,
    document_memory,
    graphs,
    mindscape,
    plain_search,
    rounds_of,
    signature,
)
from mindscape.own_book.sources import OwnAnswer, falls, source
from mindscape.roles.answers import QA
from mindscape.text import Chunk, Document, Span, locate

ADAPTERS = {"mindscape": "mia_gen", "document": "memreader", "graph": "builder"}  # of the embedded reader


@dataclass
class OwnRun:
    """What is used and what came of it, as far as it went. `built` are the memories that find, those set aside too; `answers`
    by memory in the order of the questions; `seconds` by stage; `foretold` seconds and `costs` what was estimated."""

    plain: Finder
    questions: list[str]
    llm: str
    ledger: Ledger
    names: tuple[str, ...] = MEMORIES
    built: list[Finder] = field(default_factory=list)
    checked: list[Checked] = field(default_factory=list)
    graphs: list[Read] = field(default_factory=list)
    answers: dict[str, list[OwnAnswer]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    foretold: float = 0.0
    say: Callable[[str], None] = lambda text: None

    @property
    def book(self) -> OwnBook:
        return self.plain.book

    @property
    def used(self) -> list[Finder]:
        """Plain search and the memories that find no less."""
        return [self.plain, *(memory for memory in self.built if not memory.aside)]

    def model(self, memory: str = "") -> models.LanguageModel:
        """The model for a memory: the embedded reader with the adapter of its task, any other as it is."""
        if self.llm == "embedded" and memory in ADAPTERS:
            return models.load(self.llm, ledger=self.ledger, adapter=paths.data("adapters", ADAPTERS[memory]))
        return models.load(self.llm, ledger=self.ledger)

    def tokens_of(self, name: str) -> int:
        """What a model read and wrote to build a memory."""
        built = {memory.name: memory.tokens for memory in self.built}
        return sum(read.built for read in self.graphs) if name == "graph" else built.get(name, 0)

    def costs(self, tries: int = estimate.TRIES) -> pd.DataFrame:
        """The estimate: calls and tokens at most, a row a memory, with so many tries for an answer."""
        reader = self.model()
        frame = estimate.frames(reader, self.book.language)
        return estimate.costs(self.book, frame, len(self.questions), self.names, rounds_of(self.llm), tries)


def checked_questions(questions: Sequence[str]) -> list[str]:
    """Questions without blanks around them. Raises InputError for none, an empty one, and one that is asked twice.

    >>> checked_questions([" Who fled?"])
    ['Who fled?']
    """
    listed = [" ".join(question.split()) for question in questions]
    require(listed, "no question: expected at least one")
    for i, question in enumerate(listed, 1):
        require(question, f"question {i} is empty: expected some words")
        require(listed.index(question) == i - 1, f"question {i} is asked twice: {question[:60]!r}")
    return listed


def begin(
    document: Document,
    questions: Sequence[str],
    llm: str = "embedded",
    encoder: str = "minilm",
    memories: Sequence[str] = MEMORIES,
    reads: int | None = None,
    cap: float | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> OwnRun:
    """A run of which nothing is done yet. `cap`: dollars. Raises InputError for what is wrong with questions, names, `reads`
    and `cap`, LLMError for a model that cannot be had.

    >>> begin(shakespeare.play("macbeth"), ["Who fled to Ireland?"]).costs()                 # doctest: +SKIP
    """
    listed, names = checked_questions(questions), chosen_memories(memories)
    ledger = Ledger(cap_money=cap)
    if cap is not None and price(llm) is None:
        raise InputError(f"cap={cap}: the price of {llm!r} is unknown, so no cap on dollars can hold: leave it out")
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    book = open_book(document, models.load(llm, ledger=ledger), tokenizer, reads)
    return OwnRun(plain_search(book, encoders.load(encoder)), listed, llm, ledger, names, say=say)


def carry_out(run: OwnRun, seed: int = 0) -> OwnRun:
    """All stages, each said before it begins; `seed` draws the check. What a stage made stays in `run` if a later one fails.

    Raises BudgetReached where the cap does not hold the next call, LLMError where the model fails.

    >>> carry_out(begin(shakespeare.play("macbeth"), ["Who fled to Ireland?"])).answers         # doctest: +SKIP
    """
    stages = {
        "plain search": _look,
        "copied sentences and memories": _build,
        "the check on the book itself": lambda run: run.checked.extend(check(run.plain, run.built, seed)),
        "a graph for each question": _graphs,
        "answers": _answers,
        "what the answers rest on": _sources,
    }
    if "graph" not in run.names:
        del stages["a graph for each question"]
    for i, (name, stage) in enumerate(stages.items(), 1):
        done = sum(run.seconds.values())
        left = f", about {duration(max(run.foretold - done, 1))} left" if run.foretold else ""
        run.say(f"[{i}/{len(stages)}] {name}{left}")
        begun = time.perf_counter()
        stage(run)
        run.seconds[name] = time.perf_counter() - begun
    return run


def foretell(run: OwnRun) -> float:
    """Seconds that the run will take here, about, if nothing of it was made before; 0 for a model behind a server.

    >>> foretell(run)                                                                        # doctest: +SKIP
    140.0
    """
    model = run.model()
    speed = estimate.machine_speed(run.plain, model)
    run.foretold = estimate.foretold(run.book, run.costs(tries=1), speed) if speed.read else 0.0
    return run.foretold


def duration(seconds: float) -> str:
    """For people.

    >>> duration(4), duration(100), duration(8000)
    ('5 s', '2 min', '2.2 h')
    """
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _look(run: OwnRun) -> None:
    run.plain.find(run.questions)


def _build(run: OwnRun) -> None:
    if run.plain.look.blind:  # the memories that find have nothing to find with
        run.say("the encoder does not read the book's language: words alone decide, and only the graph is built")
        run.names = tuple(name for name in run.names if name == "graph")
    finders = [name for name in run.names if name != "graph"]
    copied = copied_sessions(run.book) if finders else []
    for name in finders:
        model = run.model("document" if name == "document" else "")
        if name == "document":
            run.built.append(document_memory(run.plain, model, run.questions))
        else:
            run.built.append((mindscape if name == "mindscape" else signature)(run.plain, model, copied))


def _graphs(run: OwnRun) -> None:
    run.graphs = graphs(run.plain, run.model("graph"), run.questions)


def answers_from(run: OwnRun, memory: Finder, places: Sequence[Sequence[Chunk]]) -> list[OwnAnswer]:
    """The model's answer to each question from the texts of some places, as a memory puts them into its prompt.

    >>> answers_from(run, run.plain, run.plain.find(run.questions))[0].answer                # doctest: +SKIP
    'Colmekill'
    """
    model = run.model(
        "mindscape" if memory.name == "mindscape" else ""
    )  # a document memory's adapter reads windows alone
    rows = list(zip(run.questions, places, strict=True))
    prompts = [memory.prompt(question, found, form_of(model)) for question, found in rows]
    replies = ask(model, QA, prompts, tokens=run.book.sizes.replies["phrase"], tries=estimate.TRIES)
    return [
        OwnAnswer(memory.name, question, reply.value or "", tuple(found), reply.tokens_total)
        for (question, found), reply in zip(rows, replies, strict=True)
    ]


def with_sources(run: OwnRun, answers: Sequence[OwnAnswer]) -> list[OwnAnswer]:
    """Answers with the place that each rests on, and how much less likely it is without.

    >>> with_sources(run, answers)[0].supported                                              # doctest: +SKIP
    True
    """
    placed = []
    for answer in answers:
        place, words = source(run.book, answer.answer, answer.places)
        placed.append(replace(answer, source=place, words=words))
    found = zip(placed, falls(run.book, run.model(), placed), strict=True)
    return [replace(answer, fall=fall) for answer, fall in found]


def _answers(run: OwnRun) -> None:
    for memory in run.used:
        run.answers[memory.name] = answers_from(run, memory, memory.find(run.questions))
    if run.graphs:
        run.answers["graph"] = []
    for question, read in zip(run.questions, run.graphs, strict=False):
        names = read.reply.cited or tuple(read.graph.nodes)
        around_notes = (around(run.book.document, read.graph.nodes[name], NEAR) for name in names)
        spans = [Chunk(run.book.document.id, i, span.start, span.end) for i, span in enumerate(around_notes)]
        answer = OwnAnswer("graph", question, read.reply.text, tuple(spans), read.reply.tokens_total)
        run.answers["graph"].append(answer)


def _sources(run: OwnRun) -> None:
    found = iter(with_sources(run, [answer for answers in run.answers.values() for answer in answers]))
    run.answers = {name: [next(found) for _ in answers] for name, answers in run.answers.items()}


def known_places(known: dict[str, tuple[str, str]], document: Document) -> dict[str, Span]:
    """Where the words stand that are known to tell an answer. Raises InputError for words that the book does not have.

    >>> known_places({"Who fled?": ("Ivo", "Ivo fled")}, Document("note", "At dawn Ivo fled."))
    {'Who fled?': Span(start=8, end=16)}
    """
    places = {}
    for question, (_, quote) in known.items():
        place = locate(quote, document)
        if place is None:
            raise InputError(f"the book does not have the words {quote[:60]!r}, known for {question[:60]!r}")
        places[question] = place
    return places


def recall(run: OwnRun, known: dict[str, tuple[str, str]], depth: int = 10) -> dict[str, float]:
    """For questions whose passage is known, by quote, how often a memory has it among its `depth` first; by memory.

    `known`: by question the answer and words of the book. Raises InputError for words that the book does not have.

    >>> recall(run, {"Who fled to Ireland?": ("Donalbain", "To Ireland, I")})                # doctest: +SKIP
    {'plain search': 1.0}
    """
    document, found = run.book.document, {}
    spans = known_places(known, document)
    for memory in run.used:
        rows = memory.find(list(spans), depth)
        found[memory.name] = float(
            np.mean([covered(document, s, row) for s, row in zip(spans.values(), rows, strict=True)])
        )
    return found
