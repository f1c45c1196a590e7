"""A procedural novelist: mysteries of which every fact is known.

`book(seed)` imagines a world (people with trades, kin and disguises; places and things that many share; a crime with its
traces) and tells it as a novel, out of order, with letters, testimony and a journal. Since the log of events is known,
so is the answer to every question, the span that holds it, and what a perfect reader would note down. Four knobs make a
book harder or easier; see `Knobs`.

    scenes use first names:       "Leonora needed work and Kathleen needed help with cleaning the well"
    questions use trades and kin: "Which person was employed by the organist?"
    a few scenes far away bind:   "Over Leonora's door hung the sign of the organist"

Seeds 0-999 are for training, 1000-1099 for developing, 2000-2099 for testing; nothing may be trained or tuned on the
last. The same seed and knobs give the same text on every platform. The prose is the kit's own, and repeats its turns
in a long book; it is a laboratory, not literature. Taught in notebook 00_start_here.

    words     the wording of each language, in data files
    world     what a world is made of: people, places, things, events, and chance
    novelist  a world imagined from a seed
    telling   the log told as a book, in the words of a language
    asking    questions and claims
    gold      summaries, entities, graph, memory
    weighing  what a summary keeps of a book
    teaching  gold examples of the roles that the papers give a language model
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

from mindscape.errors import require
from mindscape.question import ClaimPair, Question
from mindscape.text import Chunk, Document, Span
from storyworld import gold
from storyworld.asking import questions_and_claims
from storyworld.gold import Edge, Entity, Memory, Node
from storyworld.novelist import MOST_BOOKS, imagine, setting
from storyworld.telling import Telling, Voice, sentence, tell, wording
from storyworld.world import Chance, Knobs, World

TRAIN, DEVELOP, TEST = range(1000), range(1000, 1100), range(2000, 2100)
# Questions that hold in one book only: they name nobody who is in that book alone, or ask how it ends.
OF_ONE_BOOK = (
    *("belongings", "same_occasion", "people", "liar", "meals", "unvouched", "false_alibi", "refrain"),
    *("culprit", "herring", "dispute", "contest", "heirloom"),
)

__all__ = [
    *("TRAIN", "DEVELOP", "TEST", "Book", "Series", "Knobs", "World", "Telling", "Question", "ClaimPair"),
    *("Entity", "Node", "Edge", "Memory", "book", "series", "Chance"),
    "sentence",
]


@dataclass(frozen=True)
class Book:
    """A book with its log and its questions. The gold is made when it is asked for.

    `claims[i]` is the pair of claims of `questions[i]`. Spans are of `document.text`.
    """

    document: Document
    world: World
    telling: Telling
    questions: tuple[Question, ...]
    claims: tuple[ClaimPair, ...]

    @cached_property
    def voice(self) -> Voice:
        return Voice(self.world, self.document.language)

    @cached_property
    def summary(self) -> str:
        """The global summary, bindings included."""
        return gold.global_summary(self.voice)

    @cached_property
    def entities(self) -> list[Entity]:
        """People, guises, places and things with descriptions."""
        return gold.gold_entities(self.voice, self.telling)

    @cached_property
    def graph(self) -> tuple[list[Node], list[Edge]]:
        """The concept graph: nodes of five types, edges, each with its place."""
        return gold.graph(self.voice, self.telling)

    @cached_property
    def memory(self) -> Memory:
        """The document memory: outline, core contents, spans that tile the text."""
        return gold.memory(self.voice, self.telling)

    def session_summaries(self, windows: Sequence[Sequence[Chunk]]) -> list[str]:
        """One summary a window of chunks, as `text.windows` gives them."""
        return gold.session_summaries(self.voice, self.telling, windows)


@dataclass(frozen=True)
class Series:
    """Books that share a town, its families, places and things, and the document that they are merged into.

    Spans of `questions` and `claims` are of the merged `document`; `books` keep their own.
    """

    document: Document
    books: tuple[Book, ...]
    starts: tuple[int, ...]  # where each book begins in the merged document
    questions: tuple[Question, ...]
    claims: tuple[ClaimPair, ...]


def book(
    seed: int, tokens: int = 30_000, hiding: float = 0.8, sharing: float = 0.6, contradiction: float = 0.3, language: str = "en"
) -> Book:
    """The book of a seed (0 or above) and knobs. Raises InputError for a seed or a knob that cannot be.

    >>> whodunit = book(1000, tokens=15_000)
    >>> whodunit.document.text.splitlines()[0]
    'The Affair of Fallowby, or the fire at the north brewery'
    """
    seed, knobs = _checked(seed, language, tokens, hiding, sharing, contradiction)
    return _book(imagine(seed, knobs, setting(seed, knobs)), language, _id(seed, language))


def series(
    seed: int,
    n: int = 3,
    tokens: int = 30_000,
    hiding: float = 0.8,
    sharing: float = 0.6,
    contradiction: float = 0.3,
    language: str = "en",
) -> Series:
    """`n` books (2 to 4) of one town, merged. Trades and given names are each one person's in the whole series.

    A question that would hold in every book says which one it means. Raises InputError as `book` does, and where the
    books would need more trades than there are.
    """
    require(isinstance(n, int) and 2 <= n <= MOST_BOOKS, f"n={n!r}: expected 2 to {MOST_BOOKS} books")
    seed, knobs = _checked(seed, language, tokens, hiding, sharing, contradiction)
    town, name, say = setting(seed, knobs), _id(seed, language, "series"), wording(language).questions
    books = tuple(_book(imagine(seed, knobs, town, i, n), language, f"{name}-{i + 1}") for i in range(n))
    text, starts, questions, claims = "", [], [], []
    for i, novel in enumerate(books):
        text += say.SERIES_HEADING.format(n=i + 1) + "\n\n"
        starts.append(len(text))
        text += novel.document.text + "\n\n" * (i + 1 < n)
        for question, pair in zip(novel.questions, novel.claims, strict=True):
            said = [question.question, question.resolved, pair.true, pair.false]
            if question.kind in OF_ONE_BOOK:
                said = [say.SERIES_QUESTION.format(n=i + 1, question=x) for x in said]
            query, resolved, true, false = said
            evidence, *bindings = (_shift(spans, starts[i]) for spans in (question.evidence, *question.bindings))
            adapted = replace(question, doc_id=name, question=query, resolved=resolved)
            questions.append(replace(adapted, evidence=evidence, bindings=tuple(bindings)))
            claims.append(ClaimPair(pair.id, name, true, false, evidence, pair.wrong))
    document = Document(name, text, language, {"title": name, "books": [novel.document.id for novel in books]})
    return Series(document, books, tuple(starts), tuple(questions), tuple(claims))


def _checked(seed: int, language: str, *knobs: Any) -> tuple[int, Knobs]:
    whole = isinstance(seed, Integral) and not isinstance(seed, bool) and seed >= 0
    require(whole, f"seed={seed!r}: expected a whole number, 0 or above")
    wording(language)
    return int(seed), Knobs(*knobs)


def _id(seed: int, language: str, sort: str = "storyworld") -> str:
    return f"{sort}-{seed}" + ("" if language == "en" else f"-{language}")


def _book(world: World, language: str, name: str) -> Book:
    voice = Voice(world, language)
    telling = tell(voice)
    questions, claims = questions_and_claims(voice, telling, name)
    document = Document(name, telling.text, language, {"title": voice.title, "seed": world.seed})
    return Book(document, world, telling, tuple(questions), tuple(claims))


def _shift(spans: Sequence[Span], by: int) -> tuple[Span, ...]:
    return tuple(Span(span.start + by, span.end + by) for span in spans)


TOKENS = 15_000  # a book's length: short ones, and more of them
HARD = {"hiding": 1.0, "sharing": 1.0, "contradiction": 1.0}
# Books to evaluate on: seeds and knobs; those of "hard" belong to no other split.
SPLITS: dict[str, tuple[range, dict[str, Any]]] = {
    "develop": (DEVELOP[:10], {}),
    "test": (TEST[10:20], {}),  # the first ten were looked at before the last training run
    "hard": (range(5000, 5005), HARD),
}


def books(split: str) -> list[Book]:
    """The books of a split. Raises InputError for one that there is not."""
    require(split in SPLITS, f"split={split!r}: expected {', '.join(SPLITS)}")
    seeds, knobs = SPLITS[split]
    return [book(seed, TOKENS, **knobs) for seed in seeds]


def training_book(seed: int, language: str = "en") -> Book:
    """The book of a training seed as the mixture has it: knobs are drawn anew for each, so that the reader meets easy and
    hard ones. Raises InputError for a seed that is not for training.

    >>> training_book(2000)
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: seed 2000 is not for training: expected 0 to 999
    """
    require(seed in TRAIN, f"seed {seed} is not for training: expected 0 to {TRAIN[-1]}")
    chance = Chance("mixture", int(seed))  # of numpy's, too
    knobs = {name: chance.below(11) / 10 for name in ("hiding", "sharing", "contradiction")}
    return book(seed, TOKENS, **knobs, language=language)
