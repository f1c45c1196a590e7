"""Books that are searched together, and questions on them: a series of the storyworld, or plays that share characters.

Books and passages are those of `mindscape.signature.series`. The log's graphs are searched in two ways: a concept graph
(MindGraph) for what it says, and for what it says of the same people; of entities and ties one graph is made of all books
(GraphRAG). Neither is built by a model here, and nothing is embedded. Taught in notebook 50_side_by_side.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise, zip_longest

import numpy as np
from transformers import PreTrainedTokenizerBase

import storyworld
from mindscape.corpora import shakespeare
from mindscape.errors import InputError, require
from mindscape.mia import graphrag
from mindscape.mom.memory import DocumentMemory
from mindscape.question import Question
from mindscape.signature.memory import Memory, build, gold, merged, of_series, scenes
from mindscape.signature.series import BOOKS, SEEDS, SIZE, TOKENS
from mindscape.text import Chunk, Document, Span, split_sentences
from storyworld import Book
from storyworld.chance import Chance

SHARE = 16  # questions of a book that are searched for
UNIT = 4  # passages of a unit of a play's document memory
STEP = 0.5  # what a statement gains of the best one that is about the same person


# The log's graphs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Statements:
    """Nodes and ties of concept graphs as sentences with a place, and whom each is about.

    `about`: truth values, (statements, people).
    """

    texts: tuple[str, ...]
    places: tuple[Chunk, ...]
    about: np.ndarray

    @classmethod
    def of(cls, books: Sequence[Book]) -> "Statements":
        """Events, claims, concepts and numbers, and the ties between people, disguises and trades."""
        texts, places, whom = [], [], []

        def say(text, book, span, people):
            texts.append(text)
            places.append(Chunk(book, len(places), span.start, span.end))
            whom.append({(book, person) for person in people})  # people of two books are not the same

        for book in books:
            nodes, edges = book.graph
            name, label = book.document.id, {node.id: node.content for node in nodes}
            people = {node.id for node in nodes if node.id.startswith(("person", "guise"))}
            tied: dict[str, set[str]] = {}
            for edge in edges:
                tied.setdefault(edge.source, set()).update({edge.target} & people)
            for node in nodes:
                if node.type != "entity" and not node.id.startswith("trade"):
                    say(node.content, name, node.span, tied.get(node.id, ()))
            for edge in edges:
                ends = {edge.source, edge.target}
                if ends & people and all(end in people or end.startswith("trade") for end in ends):
                    text = f"{label[edge.source]} {edge.relation} {label[edge.target]}"
                    say(text, name, edge.span, ends & people)
        people_of = sorted(set().union(*whom))
        about = np.array([[person in persons for person in people_of] for persons in whom])
        return cls(tuple(texts), tuple(places), about)


def stepped(scores: np.ndarray, about: np.ndarray, step: float = STEP) -> np.ndarray:
    """Each statement's score and `step` times the best of another one about the same person; `scores` (questions, statements).

    Taught in notebook 50_side_by_side.

    >>> about = np.array([[True], [True], [False]])
    >>> stepped(np.array([[0.8, 0.1, 0.5]]), about).round(2).tolist()
    [[0.85, 0.5, 0.5]]
    """
    near = (about.astype(int) @ about.T.astype(int)) > 0
    np.fill_diagonal(near, False)
    best = np.array([np.where(near, row, -np.inf).max(1) for row in scores]).reshape(scores.shape)
    return scores + step * np.where(np.isfinite(best), best, 0.0)


@dataclass(frozen=True)
class Joined:
    """One graph of several books, and all their passages, a line each, as one text; passages count as in the memory."""

    graph: graphrag.Graph
    document: Document
    chunks: tuple[Chunk, ...]


def joined_graph(name: str, books: Sequence[Book], memory: Memory) -> Joined:
    """The entities and ties that the log has of each book, side by side. Taught in notebook 50_side_by_side.

    >>> joined_graph("series", series.books, memory).graph.texts[0]                                # doctest: +SKIP
    'Amias Fothergill: is the miller.'
    """
    entities: list[graphrag.Entity] = []
    relations: list[graphrag.Relation] = []
    for book in books:
        at = [i for i, chunk in enumerate(memory.chunks) if chunk.doc_id == book.document.id]
        graph, offset = graphrag.of_story(book, [memory.chunks[i] for i in at]), len(entities)
        entities += [replace(entity, chunks=tuple(at[i] for i in entity.chunks)) for entity in graph.entities]
        for relation in graph.relations:
            source, target = relation.source + offset, relation.target + offset
            chunks = tuple(at[i] for i in relation.chunks)
            relations.append(replace(relation, source=source, target=target, chunks=chunks))
    ends = accumulate((len(text) + 1 for text in memory.texts), initial=0)
    places = tuple(Chunk(name, i, start, end - 1) for i, (start, end) in enumerate(pairwise(ends)))
    document = Document(name, "\n".join(memory.texts), memory.language)
    return Joined(graphrag.Graph(name, tuple(entities), tuple(relations)), document, places)


# Books and questions --------------------------------------------------------------------------------------------------


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
        return [question.question for question in self.questions]

    @property
    def tokens(self) -> int:
        """Of all books."""
        return sum(map(len, self.starts.values()))

    @cached_property
    def memories(self) -> tuple[DocumentMemory, ...]:
        """A document memory of each book: of a novel the log's, a unit a scene; of a play `UNIT` passages at a time within a
        scene, with its heading and the kit's summary of it."""
        if self.books:
            gold = (book.memory for book in self.books)
            return tuple(DocumentMemory(memory.outline, memory.core, memory.chunks) for memory in gold)
        return tuple(map(self._of_play, self.memory.documents))

    @cached_property
    def units(self) -> list[Chunk]:
        """The units of the document memories, in the order of the books."""
        both = zip(self.documents, self.memories, strict=True)
        return [Chunk(name, i, at.start, at.end) for name, memory in both for i, at in enumerate(memory.chunks)]

    def _of_play(self, document: Document) -> DocumentMemory:
        parts = shakespeare.scenes(document)
        begin = [part.start for part in parts]
        outline, core, borders = [], [], [0]
        for item in self.memory.items:
            passages = [self.memory.chunks[i] for i in item.chunks]
            if passages[0].doc_id == document.id:
                heading = parts[max(0, bisect_right(begin, passages[0].start) - 1)].heading
                for first in range(0, len(passages), UNIT):
                    outline.append(heading)
                    core.append(item.text)
                    borders.append(passages[first : first + UNIT][-1].end)
        borders[-1] = len(document.text)
        return DocumentMemory(tuple(outline), tuple(core), tuple(Span(*ends) for ends in pairwise(borders)))

    @cached_property
    def statements(self) -> Statements:
        """What the log's concept graphs say, of books that have a log."""
        return Statements.of(self.books)

    @cached_property
    def graph(self) -> Joined:
        """The log's entities and ties of all books, which have a log, as one graph."""
        return joined_graph(self.name, self.books, self.memory)


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
    chosen: list[Question] = []
    for book in dict.fromkeys(question.doc_id for question in questions):
        own = [question for question in questions if question.doc_id == book]
        own = Chance("methods", book, *[seed] * bool(seed)).shuffled(own)
        bound = _in_turn([question for question in own if question.needs_binding])
        plain = _in_turn([question for question in own if not question.needs_binding])
        of_book: list[Question] = []
        while len(of_book) < share and (bound or plain):
            turn = bound if bound and (len(of_book) % 3 == 0 or not plain) else plain
            of_book.append(turn.pop(0))
        chosen += of_book
    return chosen


def _in_turn(questions: Sequence[Question]) -> list[Question]:
    kinds: dict[tuple[str, str], list[Question]] = {}
    for question in questions:
        kinds.setdefault((question.breadth, question.depth), []).append(question)
    return [question for column in zip_longest(*kinds.values()) for question in column if question is not None]


def novels(series_seed: int, tokenizer: PreTrainedTokenizerBase, share: int = SHARE, seed: int = 0) -> Case:
    """The series of the storyworld whose seed is `series_seed`; `seed` draws the questions. Taught in notebook 50_side_by_side.

    >>> novels(2010, tokenizer).name                                                         # doctest: +SKIP
    'series-2010-1'
    """
    series = storyworld.series(series_seed, n=BOOKS, tokens=TOKENS)
    memory = merged(
        [build(book.document, split_sentences(book.document, tokenizer, SIZE), gold(book)) for book in series.books]
    )
    questions = tuple(picked(of_series(series)[0], share, seed))
    summaries = tuple(book.summary for book in series.books)
    return Case(memory.documents[0].id, "storyworld", memory, questions, tokenizer, summaries, series.books)


def plays(name: str, tokenizer: PreTrainedTokenizerBase, share: int = SHARE, seed: int = 0) -> Case:
    """A series of `shakespeare.SERIES`, plays that share characters, or one play.

    Raises InputError for another name, and for a play that the kit has not summed up, and says which there are. Taught in
    notebook 50_side_by_side.

    >>> plays("rome", tokenizer).name                                                        # doctest: +SKIP
    'rome'
    """
    check_plays([name])
    names = shakespeare.SERIES.get(name, (name,))
    summaries = tuple(shakespeare.summary(play) for play in names)
    built = [scenes(play, split_sentences(shakespeare.play(play), tokenizer, SIZE)) for play in names]
    questions = picked([question for play in names for question in shakespeare.questions(play)], share, seed)
    return Case(name, "shakespeare", merged(built), tuple(questions), tokenizer, summaries)


def check_plays(names: Sequence[str]) -> None:
    """Raises InputError for what is neither a play with questions and summaries nor a series of such."""
    single = sorted({question.doc_id for question in shakespeare.questions()})
    known = [name for name, titles in shakespeare.SERIES.items() if set(titles) <= set(single)] + single
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
    of_novels = [novels(series_seed, tokenizer, share, seed) for series_seed in SEEDS["test"][:series]]
    return of_novels + [plays(name, tokenizer, share, seed) for name in names]
