"""Series of books, each one memory, and what is asked on them (MiA-Signature, appendix C.1).

A series of the storyworld is some novels of one town, a series of plays shares characters. Questions whose evidence is in more
than a few passages are left out of both: a question on a whole book points nowhere. Summaries are the storyworld's gold ones,
those of plays are the kit's own. Taught in notebook 22_signature_rag.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from transformers import PreTrainedTokenizerBase

import storyworld
from benchmarks import Loaded
from mindscape.corpora import shakespeare
from mindscape.errors import require
from mindscape.question import ClaimPair, Question
from mindscape.roles.answers import LETTERS
from mindscape.signature import memory as sessions
from mindscape.signature.memory import Memory, Posed, Write, build, by_textrank, gold, merged, of_series, scenes
from mindscape.signature.objectives import WINDOW
from mindscape.text import split_sentences
from storyworld.books import SPLITS, TOKENS
from storyworld.chance import Chance

SIZE, MOST = 60, 4  # tokens of a passage; passages of evidence at most
BOOKS = 2  # of a series
SEEDS = {split: SPLITS[split][0] for split in ("develop", "test")}
BENCHMARKS = ("detectiveqa-en", "detectiveqa-zh", "narrativeqa", "narrativeqa-hub", "novelhopqa", "nocha")  # of Table 1
PLAYS = ("falstaff", "rome")  # series of which every play has questions and summaries


@dataclass(frozen=True)
class Collection:
    """Books merged into one memory; questions and claims on them whose evidence is in at most `MOST` passages."""

    memory: Memory
    questions: tuple[Posed, ...]
    claims: tuple[Posed, ...]

    @property
    def name(self) -> str:
        """Of its first book, as files are called by it."""
        return self.memory.documents[0].id


def town(
    seed: int,
    tokenizer: PreTrainedTokenizerBase,
    width: int = WINDOW,
    size: int = SIZE,
    *,
    books: int = BOOKS,
    language: str = "en",
) -> Collection:
    """A series of the storyworld: passages of `size` tokens, sessions of `width` passages with their gold summaries.

    Raises InputError as `storyworld.series` does. Taught in notebook 22_signature_rag.

    >>> town(1000, tokenizer).name                                                           # doctest: +SKIP
    'series-1000-1'
    """
    series = storyworld.series(seed, n=books, tokens=TOKENS, language=language)
    built = [
        build(book.document, split_sentences(book.document, tokenizer, size), gold(book), width)
        for book in series.books
    ]
    return _collection(merged(built), *of_series(series))


def play_collection(name: str, tokenizer: PreTrainedTokenizerBase, size: int = SIZE) -> Collection:
    """Plays that share characters: passages of `size` tokens, scenes for sessions, the kit's own summaries and questions.

    Raises InputError for a series that the kit does not know, or has not summed up. Taught in notebook 22_signature_rag.

    >>> len(play_collection("rome", tokenizer).memory.documents)                                       # doctest: +SKIP
    2
    """
    require(name in shakespeare.SERIES, f"no series {name!r}: expected one of {', '.join(shakespeare.SERIES)}")
    names = shakespeare.SERIES[name]
    built = [scenes(play, split_sentences(shakespeare.play(play), tokenizer, size)) for play in names]
    questions = [question for play in names for question in shakespeare.questions(play)]
    return _collection(merged(built), questions, [pair for play in names for pair in shakespeare.claims(play)])


def _collection(memory: Memory, questions: Iterable[Question], claims: Iterable[ClaimPair]) -> Collection:
    both = sessions.posed(memory, questions), sessions.posed_claims(memory, claims)
    narrow = (tuple(question for question in group if len(question.evidence) <= MOST) for group in both)
    return Collection(memory, *narrow)


def collections(
    corpus: str,
    tokenizer: PreTrainedTokenizerBase,
    split: str = "develop",
    count: int = 4,
    width: int = WINDOW,
    size: int = SIZE,
) -> list[Collection]:
    """The first `count` series of a corpus, "storyworld" or "shakespeare". Raises InputError for another corpus or split.

    Taught in notebook 22_signature_rag.

    >>> [one.name for one in collections("storyworld", tokenizer, count=2)]                  # doctest: +SKIP
    ['series-1000-1', 'series-1001-1']
    """
    if corpus == "shakespeare":
        return [play_collection(name, tokenizer, size) for name in PLAYS[:count]]
    require(corpus == "storyworld", f"corpus={corpus!r}: expected storyworld or shakespeare")
    require(split in SEEDS, f"split={split!r}: expected {', '.join(SEEDS)}")
    return [town(seed, tokenizer, width, size) for seed in SEEDS[split][:count]]


def of_benchmark(
    loaded: Loaded,
    tokenizer: PreTrainedTokenizerBase,
    width: int = WINDOW,
    size: int = SIZE,
    write: Write | None = None,
) -> Collection:
    """The texts of a benchmark as one memory, and what is asked on them: passages of `size` tokens, sessions of `width`.

    `write` sums up the sessions, by default extracts (`by_textrank`). Nothing is left out, however wide its evidence is.
    Taught in notebook 22_signature_rag.

    >>> it = of_benchmark(asking.few("nocha"), tokenizer)                                    # doctest: +SKIP
    >>> len(it.claims)                                                                       # doctest: +SKIP
    4
    """
    texts = loaded.documents.values()
    cut = [(text, split_sentences(text, tokenizer, size)) for text in texts]
    memory = merged([build(text, chunks, write or by_textrank(), width) for text, chunks in cut])
    items = sessions.posed_items(memory, loaded.items)
    claims = tuple(item for item in items if item.kind == "claim")
    return Collection(memory, tuple(item for item in items if item.kind != "claim"), claims)


def share(asked: Sequence[Posed], count: int, seed: int = 0) -> list[Posed]:
    """At most `count` questions on each book, in their order, the same for a seed; of claims so many pairs, whole.

    A smaller share is part of a larger one. Taught in notebook 22_signature_rag.

    >>> some = [Posed(f"q{i}", "note", "Who?", "qa", (), "Ann", (), (0,)) for i in range(9)]
    >>> [one.id for one in share(some, 3)], set(share(some, 3)) < set(share(some, 5))
    (['q1', 'q3', 'q7'], True)
    """
    units: dict[str, dict[str, None]] = {}
    for question in asked:
        units.setdefault(question.doc_id, {})[question.pair or question.id] = None
    more = [seed] if seed else []
    chosen = {unit for book, keys in units.items() for unit in Chance("signature", book, *more).some([*keys], count)}
    return [question for question in asked if (question.pair or question.id) in chosen]


def freely(question: Posed) -> Posed:
    """A choice as an open question. Raises InputError for what is none. Taught in notebook 22_signature_rag.

    >>> freely(Posed("q", "note", "Who?", "choice", ("Tom", "Ann"), "B", (), (0,))).right
    'Ann'
    """
    require(question.kind == "choice", f"question {question.id!r} is a {question.kind}: expected a choice")
    return replace(question, kind="qa", options=(), right=question.options[LETTERS.index(question.right)])
