"""A book, questions, and what plain search and four memories make of them, one stage after the other.

Everything dear is kept as it comes, replies in the store and vectors in the encoder's cache, so a run that was stopped goes on
where it was.

Whether a memory finds as much as plain search is asked of the book itself (`check`). Nobody knows the answers to a reader's
questions, but a *known item* can be made: a sentence of the book is drawn, some of its
words are the query, and the passage that it stands in is what is to be found (simulated queries, Azzopardi, de Rijke and Balog
2007). Sentences that a memory holds word for word are left out, so that none is found because it was copied.

A memory is used with nineteen parts of plain search and one of its own (`SHARE`), and set aside where it finds fewer than
plain search alone: what costs a call and finds less misleads. Half and half, the papers' δ and α, is for retrievers that were
trained to read a summary; it is measured beside. Such queries are nearer to the book's words than a reader's questions, and
easier, which is why no larger part is given to a memory that passes.

The same is done on books whose answers are known, plays and plays in a row as one long book (`row_of_plays`). What is dear is
one entry of the store a book: which questions' evidence each way of searching had among its first ten, and how long the run
took. Taught in notebook 52_your_own_book.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from transformers import AutoTokenizer

from mindscape import assets, corpora, encoders, paths, store
from mindscape import llm as models
from mindscape.ask import ask
from mindscape.cache import digest
from mindscape.corpora import shakespeare
from mindscape.errors import require
from mindscape.llm import Ledger
from mindscape.llm.base import form_of
from mindscape.llm.recording import price
from mindscape.metrics import Language, token_f1
from mindscape.mindgraph.graph import around
from mindscape.mom.retrieval import covered, recall
from mindscape.own_book import memories as memory_of
from mindscape.own_book.book import OwnAnswer, OwnBook, falls, open_book, source
from mindscape.own_book.memories import MEMORIES, NEAR, PLAIN, TRIES, WORDS, Finder, Read
from mindscape.question import Question
from mindscape.roles import QA
from mindscape.search import terms
from mindscape.text import Chunk, Document, Span, locate, sentences

QUERIES, DEPTH = 60, 10
SHARE, PAPERS = 0.95, 0.5  # of plain search's cosines beside a memory: as it is used, and the papers' δ and α
LENGTHS = range(6, 41)  # content words of a sentence that a query is made from
FRAMES = {"en": "What is said of {}?", "zh": "关于{}说了什么？"}
ADAPTERS = {"mindscape": "mia_gen", "document": "memreader", "graph": "builder"}  # of the embedded reader
WAYS = ("vectors", "words", PLAIN)
PLAYS = (  # of a million characters in a row
    *("antony-and-cleopatra", "hamlet", "henry-iv-part-1", "henry-iv-part-2", "henry-v", "julius-caesar"),
    *("macbeth", "othello"),
)


@dataclass(frozen=True)
class Checked:
    """Of so many `queries` how many passages were among the first ten of plain search (`plain`), and of a memory: as it is used
    (`hits`), and at the papers' share (`at_half`)."""

    memory: str
    queries: int
    plain: int
    hits: int
    at_half: int

    @property
    def passed(self) -> bool:
        """Whether the memory finds no fewer.

        >>> Checked("mindscape", 60, plain=31, hits=30, at_half=12).passed
        False
        """
        return self.hits >= self.plain

    def __str__(self) -> str:
        return f"finds {self.hits} of {self.queries} sentences where plain search finds {self.plain}"


def known_items(book: OwnBook, held: Sequence[str] = (), seed: int = 0, n: int = QUERIES) -> list[tuple[str, Span]]:
    """Queries and the sentences that they are made from, at most `n`; none of a sentence that stands in `held`.

    A query has half of its sentence's different content words, drawn with `seed`, at least three.

    >>> known_items(book, seed=1)[0]                                                         # doctest: +SKIP
    ('What is said of weather, thunder, lightning?', Span(start=120, end=171))
    """
    rng, document = np.random.default_rng(seed), book.document
    lines = sentences(document.text, book.language)
    together, items = "\n".join(held), []
    for i in rng.permutation(len(lines)).tolist():
        if len(items) == n:
            break
        text = document[lines[i]].strip()
        words = list(dict.fromkeys(terms(text, book.language)))
        if len(words) not in LENGTHS or text in together:
            continue
        places = sorted(rng.choice(len(words), max(3, len(words) // 2), replace=False).tolist())
        items.append((FRAMES[book.language].format(", ".join(words[j] for j in places)), lines[i]))
    return items


def check(plain: Finder, memories: Sequence[Finder], seed: int = 0, n: int = QUERIES) -> list[Checked]:
    """Says what each memory found, and in the memory why it is set aside.

    A book with fewer than ten sentences to ask for says nothing, and all memories are used.

    >>> [str(checked) for checked in check(plain, [with_summary])]                           # doctest: +SKIP
    ['finds 44 of 60 sentences where plain search finds 43']
    """
    items = known_items(plain.book, [memory.held for memory in memories], seed, n)
    for memory in memories:
        memory.share = SHARE
    if len(items) < 10:
        return []
    queries, spans = map(list, zip(*items, strict=True))

    def hits(memory: Finder, scores: np.ndarray) -> int:
        rows, document = memory.look.best(scores, DEPTH), memory.book.document
        return sum(covered(document, span, [memory.units[i] for i in row]) for span, row in zip(spans, rows, strict=True))

    baseline, checked = hits(plain, plain.look.scores(queries)), []
    for memory in memories:
        cosines = memory.cosines(queries)
        used, half = (hits(memory, memory.look.scores(queries, cosines, share)) for share in (SHARE, PAPERS))
        result = Checked(memory.name, len(items), baseline, used, half)
        memory.aside = "" if result.passed else str(result)
        checked.append(result)
    return checked


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

    def costs(self, tries: int = TRIES) -> pd.DataFrame:
        """The estimate: calls and tokens at most, a row a memory, with so many tries for an answer."""
        frame = memory_of.frames(self.model(), self.book.language)
        return memory_of.step_costs(self.book, frame, len(self.questions), self.names, memory_of.rounds_of(self.llm), tries)


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
    listed, names = checked_questions(questions), memory_of.chosen_memories(memories)
    ledger = Ledger(cap_money=cap)
    known = cap is None or price(llm) is not None
    require(known, f"cap={cap}: the price of {llm!r} is unknown, so no cap on dollars can hold: leave it out")
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    book = open_book(document, models.load(llm, ledger=ledger), tokenizer, reads)
    return OwnRun(memory_of.plain_search(book, encoders.load(encoder)), listed, llm, ledger, names, say=say)


def carry_out(run: OwnRun, seed: int = 0) -> OwnRun:
    """All stages, each said before it begins; `seed` draws the check. What a stage made stays in `run` if a later one fails.

    Raises BudgetReached where the cap does not hold the next call, LLMError where the model fails.

    >>> carry_out(begin(shakespeare.play("macbeth"), ["Who fled to Ireland?"])).answers         # doctest: +SKIP
    """
    stages = {
        "plain search": lambda run: run.plain.find(run.questions),
        "copied sentences and memories": _build,
        "the check on the book itself": lambda run: run.checked.extend(check(run.plain, run.built, seed)),
        "a graph for each question": _graphs,
        "answers": _answers,
        "what the answers rest on": _sources,
    }
    if "graph" not in run.names:
        del stages["a graph for each question"]
    for i, (name, stage) in enumerate(stages.items(), 1):
        left = f", about {duration(max(run.foretold - sum(run.seconds.values()), 1))} left" if run.foretold else ""
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
    speed = memory_of.machine_speed(run.plain, run.model())
    run.foretold = memory_of.steps_foretold(run.book, run.costs(tries=1), speed) if speed.read else 0.0
    return run.foretold


def duration(seconds: float) -> str:
    """For people.

    >>> duration(4), duration(100), duration(8000)
    ('5 s', '2 min', '2.2 h')
    """
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _build(run: OwnRun) -> None:
    if run.plain.look.blind:  # the memories that find have nothing to find with
        run.say("the encoder does not read the book's language: words alone decide, and no memory that finds is built")
        run.names = tuple(name for name in run.names if name == "graph")
    finders = [name for name in run.names if name != "graph"]
    copied = memory_of.copied_sessions(run.book) if finders else []
    for name in finders:
        if name == "document":
            run.built.append(memory_of.document_memory(run.plain, run.model("document"), run.questions))
        else:
            build = memory_of.mindscape if name == "mindscape" else memory_of.signature
            run.built.append(build(run.plain, run.model(), copied))


def _graphs(run: OwnRun) -> None:
    run.graphs = memory_of.graphs(run.plain, run.model("graph"), run.questions)


def answers_from(run: OwnRun, memory: Finder, places: Sequence[Sequence[Chunk]]) -> list[OwnAnswer]:
    """The model's answer to each question from the texts of some places, as a memory puts them into its prompt.

    >>> answers_from(run, run.plain, run.plain.find(run.questions))[0].answer                # doctest: +SKIP
    'Colmekill'
    """
    # A document memory's adapter reads windows alone.
    model = run.model("mindscape" if memory.name == "mindscape" else "")
    rows = list(zip(run.questions, places, strict=True))
    prompts = [memory.prompt(question, spans, form_of(model)) for question, spans in rows]
    replies = ask(model, QA, prompts, tokens=run.book.sizes.replies["phrase"], tries=TRIES)
    return [
        OwnAnswer(memory.name, question, reply.value or "", tuple(spans), reply.tokens_total, reason="".join(reply.unread[-1:]))
        for (question, spans), reply in zip(rows, replies, strict=True)
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
    return [replace(answer, fall=fall) for answer, fall in zip(placed, falls(run.book, run.model(), placed), strict=True)]


def _answers(run: OwnRun) -> None:
    for memory in run.used:
        run.answers[memory.name] = answers_from(run, memory, memory.find(run.questions))
    if run.graphs:
        run.answers["graph"] = []
    for question, read in zip(run.questions, run.graphs, strict=False):
        names = read.reply.cited or tuple(read.graph.nodes)
        around_notes = (around(run.book.document, read.graph.nodes[name], NEAR) for name in names)
        spans = [Chunk(run.book.document.id, i, span.start, span.end) for i, span in enumerate(around_notes)]
        run.answers["graph"].append(OwnAnswer("graph", question, read.reply.text, tuple(spans), read.reply.tokens_total))


def _sources(run: OwnRun) -> None:
    sourced = iter(with_sources(run, [answer for answers in run.answers.values() for answer in answers]))
    run.answers = {name: [next(sourced) for _ in answers] for name, answers in run.answers.items()}


def known_places(known: dict[str, tuple[str, str]], document: Document) -> dict[str, Span]:
    """Where the words stand that are known to tell an answer. Raises InputError for words that the book does not have, or none.

    >>> known_places({"Who fled?": ("Ivo", "Ivo fled")}, Document("note", "At dawn Ivo fled."))
    {'Who fled?': Span(start=8, end=16)}
    """
    for question, (_, quote) in known.items():
        require(quote.strip(), f"no words of the book are given for {question[:60]!r}: expected those that tell its answer")
    places = {question: locate(quote, document) for question, (_, quote) in known.items()}
    for question, (_, quote) in known.items():
        require(places[question] is not None, f"the book does not have the words {quote[:60]!r}, known for {question[:60]!r}")
    return places


def known_recall(run: OwnRun, known: dict[str, tuple[str, str]], depth: int = 10) -> dict[str, float]:
    """For questions whose passage is known, by quote, how often a memory has it among its `depth` first; by memory.

    `known`: by question the answer and words of the book. Raises InputError for words that the book does not have.

    >>> known_recall(run, {"Who fled to Ireland?": ("Donalbain", "To Ireland, I")})                # doctest: +SKIP
    {'plain search': 1.0}
    """
    document, recalls = run.book.document, {}
    spans = known_places(known, document)
    for memory in run.used:
        pairs = zip(spans.values(), memory.find(list(spans), depth), strict=True)
        recalls[memory.name] = float(np.mean([covered(document, span, row) for span, row in pairs]))
    return recalls


# Books whose answers are known


def row_of_plays(names: Sequence[str] = PLAYS) -> tuple[Document, list[Question]]:
    """Plays as one book, and the kit's questions on them with their evidence where it is in that book.

    >>> document, questions = row_of_plays(["macbeth", "hamlet"])
    >>> document[questions[-1].evidence[0]] in shakespeare.play("hamlet").text
    True
    """
    whole = corpora.joined([shakespeare.play(name) for name in names], "plays in a row")
    questions = []
    for name in names:
        at = whole.meta["parts"][name]
        for question in shakespeare.questions(name):
            spans = tuple(Span(span.start + at, span.end + at) for span in question.evidence)
            questions.append(replace(question, evidence=spans))
    return whole, questions


def first_ten(plain: Finder, texts: Sequence[str]) -> dict[str, list[list[int]]]:
    """The first ten passages for some questions by vectors alone, by words alone and by plain search.

    >>> first_ten(plain, ["Who fled to Ireland?"])["words"][0][:2]                           # doctest: +SKIP
    [112, 87]
    """
    look = plain.look
    key = {"texts": digest(look.texts), "questions": digest(list(texts)), "words": WORDS, "depth": DEPTH}

    def compute(place: int) -> dict[str, list[list[int]]]:
        scores = {"vectors": look.cosines(texts), "words": look.shared(texts), PLAIN: look.scores(texts)}
        return {way: look.best(scores[way], DEPTH) for way in WAYS}

    (rows,) = store.current().fetch("first_look", look.encoder.maker, [key], store.each(compute), seconds=60)
    return rows


def searched(plain: Finder, questions: Sequence[Question]) -> dict[str, list[float]]:
    """By each way the share of every question's evidence among its first ten passages.

    >>> {way: sum(shares) for way, shares in searched(plain, questions).items()}             # doctest: +SKIP
    {'vectors': 31.5, 'words': 12.0, 'plain search': 33.0}
    """
    rows, passages = first_ten(plain, [question.question for question in questions]), plain.book.passages
    return {way: _recalls(plain, questions, [[passages[i] for i in row] for row in rows[way]]) for way in WAYS}


def _recalls(plain: Finder, questions: Sequence[Question], rows: Sequence[Sequence[Chunk]]) -> list[float]:
    return [recall(plain.book.document, question.evidence, row) for question, row in zip(questions, rows, strict=True)]


def trial_answers(run: OwnRun) -> list[OwnAnswer]:
    """Answers from plain search's first passages, with what they rest on.

    >>> trial_answers(begin(shakespeare.play("macbeth"), ["Who fled to Ireland?"]))[0].answer     # doctest: +SKIP
    'Scone'
    """
    passages, rows = run.plain.units, first_ten(run.plain, run.questions)[PLAIN]
    places = [[passages[i] for i in row[: run.book.sizes.shown]] for row in rows]
    return with_sources(run, answers_from(run, run.plain, places))


def is_right(answer: str, question: Question, language: Language = "en") -> bool:
    """Whether an answer says what the question's answer says: half of their words in common (F1).

    >>> from types import SimpleNamespace
    >>> question = SimpleNamespace(answer="Colmekill", accepted=("Iona",))
    >>> is_right("to Colmekill", question), is_right("Scone", question)
    (True, False)
    """
    return token_f1(answer, [question.answer, *question.accepted], language) >= 0.5


def whole_run(run: OwnRun, questions: Sequence[Question], seed: int = 0) -> dict[str, Any]:
    """A run to its end, as the command does it, and what its memories find for other questions: under `recall` by memory, where
    one that is set aside is not, with `seconds` and `foretold`.

    >>> whole_run(run, questions)["seconds"]                                                 # doctest: +SKIP
    171.3
    """
    key: dict[str, Any] = {"text": digest(run.book.document.text), "run": digest(run.questions)}
    key |= {"questions": digest([question.question for question in questions]), "seed": seed}
    key |= {"words": WORDS, "share": SHARE, "queries": QUERIES}

    def compute(place: int) -> dict[str, Any]:
        foretell(run)
        begun = time.perf_counter()
        carry_out(run, seed)
        seconds = time.perf_counter() - begun
        texts = [question.question for question in questions]
        recalls = {memory.name: _recalls(run.plain, questions, memory.find(texts, DEPTH)) for memory in run.used}
        return {"recall": recalls, "seconds": round(seconds, 1), "foretold": round(run.foretold, 1)}

    maker = run.model().maker & run.plain.look.encoder.maker
    (kept,) = store.current().fetch("own_book", maker, [key], store.each(compute), seconds=240)
    return kept
