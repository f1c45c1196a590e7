"""Books that are searched together, and questions on them: a series of the storyworld, or plays that share characters.

Books and passages are those of `mindscape.signature.series`; nothing is embedded here. Taught in notebook 50_side_by_side.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from transformers import PreTrainedTokenizerBase

import storyworld
from mindscape.corpora import shakespeare
from mindscape.errors import InputError, require
from mindscape.methods.graphs import Joined, Statements, joined
from mindscape.mom.memory import DocumentMemory
from mindscape.question import Question
from mindscape.signature.memory import Memory, build, gold, merged, of_series, scenes
from mindscape.signature.series import BOOKS, SEEDS, SIZE, TOKENS
from mindscape.text import Chunk, Document, split_sentences
from storyworld import Book
from storyworld.chance import Chance

SHARE = 16  # questions of a book that are searched for
UNIT = 4  # passages of a unit of a play's document memory


@dataclass(frozen=True)
class Case:
    """Books in one memory of passages and sessions, a summary of each, some questions on each, and the log where it is known.

    Spans of a question are of its own book. `tokenizer` is that of the reader: it counts the budget.
    """

    name: str
    corpus: str
    memory: Memory
    questions: tuple[Question, ...]
    tokenizer: PreTrainedTokenizerBase
    summaries: tuple[str, ...]
    books: tuple[Book, ...] = ()

    @cached_property
    def documents(self) -> dict[str, Document]:
        return {document.id: document for document in self.memory.documents}

    @cached_property
    def starts(self) -> dict[str, list[int]]:
        """Where each token of each document begins, in characters."""
        return {name: starts(document.text, self.tokenizer) for name, document in self.documents.items()}

    @property
    def asked(self) -> list[str]:
        """The questions' words."""
        return [one.question for one in self.questions]

    @property
    def tokens(self) -> int:
        """Of all books."""
        return sum(map(len, self.starts.values()))

    @cached_property
    def memories(self) -> tuple[DocumentMemory, ...]:
        """A document memory of each book: of a novel the log's, a unit a scene; of a play `UNIT` passages at a time within a
        scene, with its heading and the kit's summary of it."""
        if self.books:
            return tuple(DocumentMemory(it.memory.outline, it.memory.core, it.memory.chunks) for it in self.books)
        return tuple(map(self._of_play, self.memory.documents))

    @cached_property
    def units(self) -> list[Chunk]:
        """The units of the document memories, in the order of the books."""
        both = zip(self.documents, self.memories, strict=True)
        return [Chunk(name, i, it.start, it.end) for name, memory in both for i, it in enumerate(memory.chunks)]

    def _of_play(self, document: Document) -> DocumentMemory:
        parts = shakespeare.scenes(document)
        begin = [part.start for part in parts]
        outline, core, borders = [], [], [0]
        for item in self.memory.items:
            mine = [self.memory.chunks[i] for i in item.chunks]
            if mine[0].doc_id == document.id:
                heading = parts[max(0, bisect_right(begin, mine[0].start) - 1)].heading
                for first in range(0, len(mine), UNIT):
                    outline.append(heading)
                    core.append(item.text)
                    borders.append(mine[first : first + UNIT][-1].end)
        borders[-1] = len(document.text)
        return DocumentMemory(outline, core, [Chunk(document.id, i, *borders[i : i + 2]) for i in range(len(core))])

    @cached_property
    def statements(self) -> Statements:
        """What the log's concept graphs say. Raises InputError for books without a log."""
        require(self.books, f"{self.name} has no concept graph: expected books of the storyworld")
        return Statements.of(self.books)

    @cached_property
    def graph(self) -> Joined:
        """The log's entities and ties of all books as one graph. Raises InputError for books without a log."""
        require(self.books, f"{self.name} has no entities: expected books of the storyworld")
        return joined(self.name, self.books, self.memory)


def starts(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Where each token's first character that is no blank stands: a word's token holds the blank before it.

    Taught in notebook 50_side_by_side.

    >>> starts("Ann left.", tokenizer)                                                       # doctest: +SKIP
    [0, 4, 8]
    """
    told = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    return [end - len(text[start:end].lstrip()) for start, end in told["offset_mapping"]]


def picked(questions: Sequence[Question], share: int = SHARE, seed: int = 0) -> list[Question]:
    """At most `share` questions of each book, always the same of a seed: of three one that needs a binding, if there are such;
    among those and among the others each kind (breadth, depth) in turn. Fewer are the first of more.

    Taught in notebook 50_side_by_side.

    >>> import storyworld
    >>> few = picked(storyworld.book(1000, tokens=15_000).questions, 6)
    >>> [one.needs_binding for one in few], len({(one.breadth, one.depth) for one in few[1:3]})
    ([True, False, False, True, False, False], 2)
    """
    found: list[Question] = []
    for book in dict.fromkeys(one.doc_id for one in questions):
        mine = Chance("methods", book, *[seed] * bool(seed)).shuffled([one for one in questions if one.doc_id == book])
        bound, plain = (_in_turn([one for one in mine if one.needs_binding == it]) for it in (True, False))
        some: list[Question] = []
        while len(some) < share and (bound or plain):
            turn = bound if bound and (len(some) % 3 == 0 or not plain) else plain
            some.append(turn.pop(0))
        found += some
    return found


def _in_turn(questions: Sequence[Question]) -> list[Question]:
    kinds: dict[tuple[str, str], list[Question]] = {}
    for one in questions:
        kinds.setdefault((one.breadth, one.depth), []).append(one)
    return [one for some in zip_longest(*kinds.values()) for one in some if one is not None]


def novels(of: int, tokenizer: PreTrainedTokenizerBase, share: int = SHARE, seed: int = 0) -> Case:
    """The series of the storyworld whose seed is `of`; `seed` draws the questions. Taught in notebook 50_side_by_side.

    >>> novels(2010, tokenizer).name                                                         # doctest: +SKIP
    'series-2010-1'
    """
    series = storyworld.series(of, n=BOOKS, tokens=TOKENS)
    memory = merged(
        [build(book.document, split_sentences(book.document, tokenizer, SIZE), gold(book)) for book in series.books]
    )
    asked = tuple(picked(of_series(series)[0], share, seed))
    told = tuple(book.summary for book in series.books)
    return Case(memory.documents[0].id, "storyworld", memory, asked, tokenizer, told, series.books)


def plays(name: str, tokenizer: PreTrainedTokenizerBase, share: int = SHARE, seed: int = 0) -> Case:
    """A series of `shakespeare.SERIES`, plays that share characters, or one play.

    Raises InputError for another name, and for a play that the kit has not summed up, and says which there are. Taught in
    notebook 50_side_by_side.

    >>> plays("rome", tokenizer).name                                                        # doctest: +SKIP
    'rome'
    """
    check_plays([name])
    names = shakespeare.SERIES.get(name, (name,))
    told = tuple(shakespeare.summary(play) for play in names)
    built = [scenes(play, split_sentences(shakespeare.play(play), tokenizer, SIZE)) for play in names]
    asked = picked([one for play in names for one in shakespeare.questions(play)], share, seed)
    return Case(name, "shakespeare", merged(built), tuple(asked), tokenizer, told)


def check_plays(names: Sequence[str]) -> None:
    """Raises InputError for what is neither a play with questions and summaries nor a series of such."""
    single = sorted({one.doc_id for one in shakespeare.questions()})
    known = [name for name, of in shakespeare.SERIES.items() if set(of) <= set(single)] + single
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"plays={unknown[0]!r}: expected some of {', '.join(known)}, with commas")


def cases(
    tokenizer: PreTrainedTokenizerBase,
    series: int = 5,
    of_plays: Sequence[str] = ("rome",),
    share: int = SHARE,
    seed: int = 0,
) -> list[Case]:
    """The first `series` series of the test novels, and plays; a name that is "" is passed over.

    Raises InputError for more series than there are, no books at all, and a share below 1; and as `plays` does. Taught in
    notebook 50_side_by_side.

    >>> [case.name for case in cases(tokenizer, 1)]                                          # doctest: +SKIP
    ['series-2010-1', 'rome']
    """
    if not 0 <= series <= len(SEEDS["test"]):
        raise InputError(f"series={series}: expected 0 to {len(SEEDS['test'])}")
    require(share >= 1, f"share={share}: expected at least 1 question of a book")
    names = [name for name in of_plays if name]
    require(series or names, "series=0 and no plays: expected some books to search")
    check_plays(names)
    found = [novels(of, tokenizer, share, seed) for of in SEEDS["test"][:series]]
    return found + [plays(name, tokenizer, share, seed) for name in names]
