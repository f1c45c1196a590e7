"""The same on books whose answers are known: plays in a row as one long book, and novels of the storyworld.

What is dear is one entry of the store a book: which questions' evidence each way of searching had among its first ten, and how
long the run took. Taught in notebook 52_your_own_book.
"""

import time
from collections.abc import Sequence
from typing import Any

from mindscape import store
from mindscape.cache import digest
from mindscape.corpora import own, shakespeare
from mindscape.metrics import token_f1
from mindscape.metrics.words import Language
from mindscape.mom.retrieval import recall
from mindscape.own_book.check import DEPTH, QUERIES, SHARE
from mindscape.own_book.look import WORDS
from mindscape.own_book.memories import PLAIN, Finder
from mindscape.own_book.run import OwnRun, answers_from, carry_out, foretell, with_sources
from mindscape.own_book.sources import OwnAnswer
from mindscape.question import Question
from mindscape.text import Document, Span

PLAYS = (  # of a million characters in a row
    *("antony-and-cleopatra", "hamlet", "henry-iv-part-1", "henry-iv-part-2", "henry-v", "julius-caesar"),
    *("macbeth", "othello"),
)
WAYS = ("vectors", "words", PLAIN)


def row_of_plays(names: Sequence[str] = PLAYS) -> tuple[Document, list[Question]]:
    """Plays as one book, and the kit's questions on them with their evidence where it is in that book.

    >>> document, questions = row_of_plays(["macbeth", "hamlet"])
    >>> document[questions[-1].evidence[0]] in shakespeare.play("hamlet").text
    True
    """
    whole = own.joined([shakespeare.play(name) for name in names], "plays in a row")
    questions = []
    for name in names:
        at = whole.meta["parts"][name]
        for question in shakespeare.questions(name):
            spans = tuple(Span(span.start + at, span.end + at) for span in question.evidence)
            questions.append(Question(**{**vars(question), "evidence": spans}))
    return whole, questions


def first_ten(plain: Finder, texts: Sequence[str]) -> dict[str, list[list[int]]]:
    """The first ten passages for some questions by vectors alone, by words alone and by plain search.

    >>> first_ten(plain, ["Who fled to Ireland?"])["words"][0][:2]                           # doctest: +SKIP
    [112, 87]
    """
    look = plain.look
    asked = {"texts": digest(look.texts), "questions": digest(list(texts)), "words": WORDS, "depth": DEPTH}

    def compute(place: int) -> dict[str, list[list[int]]]:
        scores = {"vectors": look.cosines(texts), "words": look.shared(texts), PLAIN: look.scores(texts)}
        return {way: look.best(scores[way], DEPTH) for way in WAYS}

    (rows,) = store.current().fetch("first_look", look.encoder.maker, [asked], store.each(compute), seconds=60)
    return rows


def searched(plain: Finder, questions: Sequence[Question]) -> dict[str, list[float]]:
    """By each way the share of every question's evidence among its first ten passages.

    >>> {way: sum(shares) for way, shares in searched(plain, questions).items()}             # doctest: +SKIP
    {'vectors': 31.5, 'words': 12.0, 'plain search': 33.0}
    """
    rows = first_ten(plain, [question.question for question in questions])
    passages, document = plain.book.passages, plain.book.document
    found = {}
    for way in WAYS:
        pairs = zip(questions, rows[way], strict=True)
        found[way] = [recall(document, item.evidence, [passages[i] for i in row]) for item, row in pairs]
    return found


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
    asked: dict[str, Any] = {"text": digest(run.book.document.text), "run": digest(run.questions)}
    asked |= {"questions": digest([question.question for question in questions]), "seed": seed}
    asked |= {"words": WORDS, "share": SHARE, "queries": QUERIES}

    def compute(place: int) -> dict[str, Any]:
        foretell(run)
        begun = time.perf_counter()
        carry_out(run, seed)
        seconds = time.perf_counter() - begun
        texts, document = [question.question for question in questions], run.book.document
        found = {}
        for memory in run.used:
            rows = memory.find(texts, DEPTH)
            pairs = zip(questions, rows, strict=True)
            found[memory.name] = [recall(document, question.evidence, row) for question, row in pairs]
        return {"recall": found, "seconds": round(seconds, 1), "foretold": round(run.foretold, 1)}

    maker = run.model().maker & run.plain.look.encoder.maker
    (kept,) = store.current().fetch("own_book", maker, [asked], store.each(compute), seconds=240)
    return kept
