"""Every way to find things in a long text that the course has, on the same questions, within the same number of tokens.

A *method* brings *pieces* for a question, best first: places in a text, and notes (summaries, descriptions) that have no place.
All methods fill the same budget with them; what the questions need is then there or not, and one reader answers from it.

    Case       books that are searched together, a series of the storyworld or plays that share characters (as in
               `mindscape.signature.rag`); questions on them, and the log's graphs of them
    rankings   what each of `METHODS` ranks by its encoder: units for each question, found in the store or made
    pieces     what a method makes of them, and what takes no model at all (BM25, the beginning, passages at random)
    filled     pieces up to a budget of tokens, the same for all methods
    needed     whether what a question needs is among them

Summaries, sessions, graphs and document memories of novels are those that the log knows, so that methods are compared and not
their writers; of plays there are the kit's own summaries, and no graph. A concept graph (MindGraph) is searched for what it
says, and for what it says of the same people; of entities and ties one graph is made of all books, whose entities GraphRAG's
local mode brings. The second pass of a signature is Eq. 4 of MiA-Signature; units of a document memory come by ranks that are
fused (MoM). Taught in notebook 50_side_by_side; nothing is averaged, tested or answered here.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, chain, pairwise, zip_longest
from typing import Any

import numpy as np
import yaml
from transformers import PreTrainedTokenizerBase

import storyworld
from mindscape import paths
from mindscape.cache import digest
from mindscape.corpora import shakespeare
from mindscape.encoders import Encoder
from mindscape.errors import one_of, require
from mindscape.mia import graphrag
from mindscape.mia.embedding import MiaEmbedder, PlainEmbedder
from mindscape.mom.chunkers import length
from mindscape.mom.memory import DocumentMemory
from mindscape.mom.retrieval import Layers, context, covered
from mindscape.question import Question, Ranking
from mindscape.search import BM25, by_rule, search
from mindscape.signature.memory import Memory, of_series, ranked
from mindscape.signature.rag import BOOKS, K0, SEEDS, TOKENS, K, Shelf, Woken, plays_memory, series_memory
from mindscape.text import Chunk, Document, Span, windows
from storyworld import Book
from storyworld.world import Chance

SHARE = 16  # questions of a book that are searched for
UNIT = 4  # passages of a unit of a play's document memory
STEP = 0.5  # what a statement gains of the best one that is about the same person
DEPTH, STATEMENTS = 50, 150  # units kept of a ranking; of statements, which are shorter
LEAD = 200  # passages from the beginning
Piece = Chunk | str
Embedder = MiaEmbedder | PlainEmbedder


# The log's graphs


@dataclass(frozen=True)
class Statements:
    """Nodes and ties of concept graphs as sentences with a place, and whom each is about.

    `about`: truth values, (statements, people).
    """

    texts: tuple[str, ...]
    places: tuple[Chunk, ...]
    about: np.ndarray

    @classmethod
    def of_books(cls, books: Sequence[Book]) -> "Statements":
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


def stepped(scores: np.ndarray, about: np.ndarray) -> np.ndarray:
    """Each statement's score and `STEP` times the best of another one about the same person; `scores` (questions, statements).

    Taught in notebook 50_side_by_side.

    >>> about = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], bool)
    >>> stepped(np.array([[0.9, 0.1, 0.4, 0.5]]), about).round(2).tolist()
    [[0.95, 0.55, 0.45, 0.5]]
    """
    near = (about.astype(int) @ about.T.astype(int)) > 0
    np.fill_diagonal(near, False)
    best = np.array([np.where(near, row, -np.inf).max(1) for row in scores]).reshape(scores.shape)
    return scores + STEP * np.where(np.isfinite(best), best, 0.0)


@dataclass(frozen=True)
class Joined:
    """One graph of several books, and all their passages, a line each, as one text; passages count as in the memory."""

    graph: graphrag.Graph
    document: Document
    chunks: tuple[Chunk, ...]


# Books and questions


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
    def queries(self) -> list[str]:
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
                for unit in windows(passages, UNIT):
                    outline.append(heading)
                    core.append(item.text)
                    borders.append(unit[-1].end)
        borders[-1] = len(document.text)
        return DocumentMemory(tuple(outline), tuple(core), tuple(Span(*ends) for ends in pairwise(borders)))

    @cached_property
    def statements(self) -> Statements:
        """What the log's concept graphs say, of books that have a log."""
        return Statements.of_books(self.books)

    @cached_property
    def graph(self) -> Joined:
        """The log's entities and ties of all books, which have a log, side by side in one graph."""
        entities: list[graphrag.Entity] = []
        relations: list[graphrag.Relation] = []
        for book in self.books:
            at = [i for i, chunk in enumerate(self.memory.chunks) if chunk.doc_id == book.document.id]
            graph, offset = graphrag.of_story(book, [self.memory.chunks[i] for i in at]), len(entities)
            entities += [replace(entity, chunks=tuple(at[i] for i in entity.chunks)) for entity in graph.entities]
            for relation in graph.relations:
                source, target = relation.source + offset, relation.target + offset
                chunks = tuple(at[i] for i in relation.chunks)
                relations.append(replace(relation, source=source, target=target, chunks=chunks))
        ends = accumulate((len(text) + 1 for text in self.memory.texts), initial=0)
        places = tuple(Chunk(self.name, i, start, end - 1) for i, (start, end) in enumerate(pairwise(ends)))
        document = Document(self.name, "\n".join(self.memory.texts), self.memory.language)
        return Joined(graphrag.Graph(self.name, tuple(entities), tuple(relations)), document, places)


def starts(text: str, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Where each token's first character that is no blank stands: a word's token holds the blank before it.

    Taught in notebook 50_side_by_side.

    >>> starts("Ann left.", tokenizer)                                                       # doctest: +SKIP
    [0, 4, 8]
    """
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    return [end - len(text[start:end].lstrip()) for start, end in encoding["offset_mapping"]]


def picked(questions: Sequence[Question], share: int = SHARE, seed: int = 0) -> list[Question]:
    """At most `share` questions of each book, always the same of a seed: of three one that needs a binding, if there are such;
    among those and among the others each kind (breadth, depth) in turn. Fewer are the first of more.

    Taught in notebook 50_side_by_side.

    >>> import storyworld
    >>> few = picked(storyworld.book(1000, tokens=15_000).questions, 6)
    >>> [q.needs_binding for q in few], len({(q.breadth, q.depth) for q in few[1:3]})
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
    memory = series_memory(series.books, tokenizer)
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
    single = sorted({question.doc_id for question in shakespeare.questions()})
    searched = [series for series, titles in shakespeare.SERIES.items() if set(titles) <= set(single)] + single
    require(name in searched, f"plays={name!r}: expected some of {', '.join(searched)}, with commas")
    names = shakespeare.SERIES.get(name, (name,))
    summaries = tuple(shakespeare.summary(play) for play in names)
    questions = picked([*chain(*map(shakespeare.questions, names))], share, seed)
    return Case(name, "shakespeare", plays_memory(names, tokenizer), tuple(questions), tokenizer, summaries)


def cases(
    tokenizer: PreTrainedTokenizerBase, series: int = 5, of_plays: Sequence[str] = ("rome",), seed: int = 0
) -> list[Case]:
    """The first `series` series of the test novels, and plays; a name that is "" is passed over.

    Raises InputError for more series than there are and for no books at all, and as `plays` does. Taught in notebook
    50_side_by_side.

    >>> [case.name for case in cases(tokenizer, 1)]                                          # doctest: +SKIP
    ['series-2010-1', 'rome']
    """
    require(0 <= series <= len(SEEDS["test"]), f"series={series}: expected 0 to {len(SEEDS['test'])}")
    names = [name for name in of_plays if name]
    require(series or names, "series=0 and no plays: expected some books to search")
    on_plays = [plays(name, tokenizer, seed=seed) for name in names]  # first: a wrong name is told before any novel is cut
    return [novels(series_seed, tokenizer, seed=seed) for series_seed in SEEDS["test"][:series]] + on_plays


# What each method finds


@dataclass(frozen=True)
class Method:
    """A way to find things, as `data/methods.yaml` lists it. `family`: by which of the `Encoders`, "" for none. `log`: it needs
    a book whose log is known.

    `readings`: how often an encoder and how often a language model reads the whole text before the first question, if
    nobody has written summaries, notes or graphs yet; `notes`: whether it shows texts that are not the book's.
    """

    label: str
    paper: str
    family: str = ""
    log: bool = False
    readings: Sequence[int] = (0, 0)
    notes: bool = False


_LISTED = yaml.safe_load(paths.data("methods.yaml").read_text(encoding="utf-8"))
METHODS = {name: Method(**entry) for name, entry in _LISTED.items()}


def methods_of(case: Case, methods: Iterable[str] = METHODS) -> list[str]:
    """Those methods that a case has what it takes for. Raises InputError for an unknown one.

    Taught in notebook 50_side_by_side.

    >>> "mindgraph" in methods_of(plays("rome", tokenizer))                                  # doctest: +SKIP
    False
    """
    return [name for name in methods if not known(name).log or case.books]


def known(method: str) -> Method:
    """What is known of a method. Raises InputError for an unknown one. Taught in notebook 50_side_by_side.

    >>> known("bm25").label
    'BM25'
    """
    one_of(METHODS, method=method)
    return METHODS[method]


@dataclass(frozen=True)
class Encoders:
    """Who ranks: a sentence encoder, an embedder that is told of no summary, and one that reads questions in a summary's light.

    A method's `family` names one of them.
    """

    minilm: Encoder
    sft: Embedder
    mia: Embedder


def rankings(case: Case, method: str, by: Encoders) -> list[Ranking]:
    """Units for each question of a case, best first. Of a method that shows notes beside what another one finds, the other's.

    Units are passages; of "mom" the case's `units`, of "mindgraph" its `statements`, of "graphrag" entities of its `graph`.
    Raises InputError for a method that has no encoder. Taught in notebook 50_side_by_side.

    >>> rankings(case, "minilm", by)[0].first(3)                                             # doctest: +SKIP
    (17, 4, 60)
    """
    method = {"mia_rag": "mia_emb", "signature_shown": "signature"}.get(method, method)
    texts, plain = case.memory.texts, PlainEmbedder(by.minilm)
    if method in ("minilm", "sft_emb", "mia_alone"):
        return search({"minilm": plain, "sft_emb": by.sft, "mia_alone": by.mia}[method], texts, case.queries, DEPTH)
    if method == "graphrag":
        return search(plain, case.graph.graph.texts, case.queries, graphrag.TOP)
    require(method in RULES, f"method={method!r} ranks nothing by an encoder")
    return RULES[method](case, by)


def _in_its_books_light(case: Case, by: Encoders) -> list[Ranking]:
    """Each book's passages by the question with that book's summary."""
    books, texts = case.memory.books, case.memory.texts
    rule: dict[str, Any] = {"texts": digest(texts), "books": digest(books.tolist())}
    rule |= {"summaries": digest(list(case.summaries)), "k": DEPTH}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        units = by.mia.units(texts)
        scores = np.zeros((len(questions), len(units)))
        for i, summary in enumerate(case.summaries):
            scores[:, books == i] = by.mia.queries(questions, summary) @ units[books == i].T
        return _best(scores, DEPTH)

    return by_rule(by.mia.maker, rule, case.queries, rank)


def items(case: Case, by: Encoders) -> list[Ranking]:
    """The sessions of each question's signature: five of those that the passages of a first pass, by `by.sft`, stand in
    (Algorithm 2 of MiA-Signature). Taught in notebook 50_side_by_side.

    >>> items(case, by)[0].ids                                                               # doctest: +SKIP
    (2, 19, 12, 28, 5)
    """
    memory = case.memory
    rule = {"texts": digest(memory.texts), "sessions": digest(memory.summaries), "woken": K0, "k": K}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        shelf = Shelf(memory, by.minilm, live=True)
        for question, first in zip(questions, search(by.sft, memory.texts, questions, DEPTH), strict=True):
            woken = first.first(K0)
            yield Ranking(shelf.choose(Woken(question, woken, memory.items_of(woken)), k=K))

    return by_rule(by.sft.maker & by.minilm.maker, rule, case.queries, rank)


def _by_signature(case: Case, by: Encoders) -> list[Ranking]:
    """Passages by the question and its signature, blended at 0.5 (Eq. 4)."""
    memory = case.memory
    signatures = dict(zip(case.queries, (row.ids for row in items(case, by)), strict=True))
    rule = {"texts": digest(memory.texts), "sessions": digest(memory.summaries), "woken": K0, "items": K, "k": DEPTH}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        shelf = Shelf(memory, by.mia, live=True)
        return map(Ranking, shelf.search(questions, [shelf.signature(signatures[question]) for question in questions], DEPTH))

    return by_rule(by.mia.maker & by.sft.maker & by.minilm.maker, rule, case.queries, rank)


def _by_statements(case: Case, by: Encoders) -> list[Ranking]:
    """Statements of the graph, nearest first, each with a share of the best one about the same person."""
    statements, depth = case.statements, max(DEPTH, STATEMENTS)
    rule = {"texts": digest(list(statements.texts)), "about": digest(statements.about.tolist()), "step": STEP, "k": depth}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        scores = by.minilm.encode(questions, "query") @ by.minilm.encode(statements.texts).T
        return _best(stepped(scores, statements.about), depth)

    return by_rule(by.minilm.maker, rule, case.queries, rank)


def _by_layers(case: Case, by: Encoders) -> list[Ranking]:
    """Units of the document memories, by topics, core contents and chunks, whose ranks are fused."""
    memories = list(zip(case.memory.documents, case.memories, strict=True))
    layers = [[*memory.outline, *memory.core, *memory.borders] for memory in case.memories]
    return _fused(case, by, layers, lambda: Layers.of_memories(memories, by.minilm))


def _fused(case: Case, by: Encoders, units: Sequence[Sequence[object]], layers: Callable[[], Layers]) -> list[Ranking]:
    """By several `layers`, which are made where they are needed; the store knows them by their `units`."""
    rule = {"texts": digest(case.memory.texts), "layers": digest(units), "way": "rrf", "k": DEPTH}

    def rank(questions: Sequence[str]) -> Iterator[Ranking]:
        return (Ranking(tuple(ids)) for ids in layers().search(questions, DEPTH, "rrf")[0].tolist())

    return by_rule(by.minilm.maker, rule, case.queries, rank)


def short_layers(case: Case, by: Encoders) -> list[list[Piece]]:
    """Three layers with a passage for a unit: each passage has the topic and the core content of the unit that it begins in.

    What "mom" brings for a question are whole units, scenes of a novel, of which few fit a small budget; this is the same
    memory in the units that everybody else is given. Taught in notebook 50_side_by_side.

    >>> short_layers(case, by)[0][0]                                                         # doctest: +SKIP
    Chunk(doc_id='series-2010-1', index=17, start=4105, end=4390)
    """
    order = {name: i for i, name in enumerate(case.documents)}
    keys = [(order[unit.doc_id], unit.start) for unit in case.units]
    unit_of = [bisect_right(keys, (order[chunk.doc_id], chunk.start)) - 1 for chunk in case.memory.chunks]
    topics = [topic for memory in case.memories for topic in memory.outline]
    cores = [core for memory in case.memories for core in memory.core]
    notes = {"outline": [topics[i] for i in unit_of], "core": [cores[i] for i in unit_of]}
    texts = notes | {"chunk": case.memory.texts}
    rows = _fused(case, by, [*notes.values()], lambda: Layers(case.memory.chunks, texts, by.minilm))
    return [[case.memory.chunks[i] for i in row.ids] for row in rows]


RULES = {"mia_emb": _in_its_books_light, "signature": _by_signature, "mindgraph": _by_statements, "mom": _by_layers}


def _best(scores: np.ndarray, k: int) -> Iterator[Ranking]:
    return (Ranking(tuple(ranked(row, k).tolist())) for row in scores)


def pieces(case: Case, method: str, by: Encoders | None = None, budget: int = 1000, seed: int = 0) -> list[list[Piece]]:
    """What a method would show for each question of a case, best first, notes before places; more of it than a budget holds.

    `budget` is what GraphRAG deals out to entities, ties and passages, and nobody else looks at it; `seed` is of random
    passages. Raises InputError for an unknown method, one that has no graph to look at, and encoders that lack. Taught in
    notebook 50_side_by_side.

    >>> pieces(case, "lead")[0][0].start                                                     # doctest: +SKIP
    0
    """
    about = known(method)
    graphless = f"{method} looks at a graph, and {case.name} has none: expected books of the storyworld"
    require(case.books or not about.log, graphless)
    if not about.family:
        return _plain(case, method, seed)
    require(by is not None, f"{method} on {case.name}: expected encoders to rank by")
    memory, rows = case.memory, [ranking.ids for ranking in rankings(case, method, by)]
    if method == "graphrag":
        return [_of_graph(case, row, budget) for row in rows]
    if method in ("mom", "mindgraph"):
        places = case.units if method == "mom" else case.statements.places
        return [[places[i] for i in row] for row in rows]
    notes: list[list[str]] = [[] for _ in rows]
    if method == "mia_rag":
        notes = [[case.summaries[memory.books[row[0]]]] for row in rows]
    elif method == "signature_shown":
        notes = [[memory.items[i].text for i in shown.ids] for shown in items(case, by)]
    return [[*shown, *(memory.chunks[i] for i in row)] for shown, row in zip(notes, rows, strict=True)]


def _plain(case: Case, method: str, seed: int) -> list[list[Piece]]:
    """Of a method that takes no model."""
    memory, questions = case.memory, case.questions
    if method == "summary":
        return [list(case.summaries) for _ in questions]
    if method == "lead":
        rows: Sequence[Sequence[int]] = [range(min(LEAD, len(memory.chunks)))] * len(questions)
    elif method == "random":  # "lot" is what its draws are seeded with
        draws = [Chance("methods", "lot", question.id, *[seed] * bool(seed)) for question in questions]
        rows = [draw.sample(range(len(memory.chunks)), DEPTH) for draw in draws]
    elif method == "bm25":
        rows = BM25(memory.texts, memory.language).search(case.queries, DEPTH)[0].tolist()
    else:  # the evidence, and of each binding the place nearest to it, in the order of the text
        rows = [memory.holding(question.doc_id, question.support) for question in questions]
    return [[memory.chunks[i] for i in row] for row in rows]


def _of_graph(case: Case, entities: Sequence[int], budget: int) -> list[Piece]:
    """What GraphRAG's local mode makes of entities: descriptions and ties, a note each, and passages."""
    joined, graph, count = case.graph, case.graph.graph, partial(length, tokenizer=case.tokenizer)
    context = graphrag.assembled(graph, entities, joined.document, joined.chunks, budget, count)
    notes = [graph.texts[i] for i in context.entities] + [graph.relations[i].description for i in context.relations]
    return [*(f"- {note}" for note in notes), *(case.memory.chunks[i] for i in context.chunks)]


# One budget for all


@dataclass(frozen=True)
class Shown:
    """What a reader gets: pieces, the last of them cut where the budget ends, and the tokens in them."""

    pieces: tuple[Piece, ...]
    tokens: int

    @property
    def places(self) -> list[Chunk]:
        return [piece for piece in self.pieces if isinstance(piece, Chunk)]

    @property
    def notes(self) -> list[str]:
        return [piece for piece in self.pieces if isinstance(piece, str)]

    def text(self, case: Case) -> str:
        """Notes, a line each, and places, a blank line between two."""
        return "\n\n".join(part for part in ("\n".join(self.notes), context(case.documents, self.places)) if part)


def filled(case: Case, pieces: Sequence[Piece], budget: int = 1000) -> Shown:
    """As many pieces as the budget holds, in their order; a place that stands in those before it is passed over, the piece that
    does not fit is cut, and nothing follows it.

    Tokens are the reader's, of each document and note by itself; the blank lines between pieces are not counted. Raises
    InputError for a budget below 1. Taught in notebook 50_side_by_side.

    >>> filled(case, pieces(case, "lead")[0], 300).tokens                                    # doctest: +SKIP
    300
    """
    require(budget >= 1, f"budget={budget}: expected at least 1 token")
    taken: list[Piece] = []
    left = budget
    for piece in pieces:
        if left == 0:
            break
        if isinstance(piece, str):
            at, begin, end = starts(piece, case.tokenizer), 0, len(piece)
        elif covered(case.documents[piece.doc_id], piece, [place for place in taken if isinstance(place, Chunk)]):
            continue
        else:
            every, begin, end = case.starts[piece.doc_id], piece.start, piece.end
            at = every[bisect_left(every, begin) : bisect_left(every, end)]
        if len(at) > left:
            end = at[left]
        left -= min(left, len(at))
        if end > begin:
            taken.append(piece[:end] if isinstance(piece, str) else replace(piece, end=end))
    return Shown(tuple(taken), budget - left)


@dataclass(frozen=True)
class Needed:
    """What a question needs and was shown: the share of its evidence; of its bindings; of both, each span and each binding
    counted once (1 where there are none); and whether all of it is there.

    A binding is there where one of the places that state it is shown, or a note says it in its words.
    """

    evidence: float
    bindings: float
    share: float

    @property
    def all(self) -> float:
        return float(self.evidence == 1 and self.bindings == 1)


def needed(case: Case, question: Question, what: Shown) -> Needed:
    """Whether what is shown holds what a question needs. Taught in notebook 50_side_by_side.

    >>> needed(case, question, filled(case, pieces(case, "evidence")[0])).all               # doctest: +SKIP
    1.0
    """
    document, places = case.documents[question.doc_id], what.places
    evidence = [covered(document, span, places) for span in question.evidence]
    bindings = [any(covered(document, span, places) for span in group) for group in question.bindings]
    notes = " ".join(what.notes).lower()
    glosses = [part.strip().lower() for part in question.gloss.replace("；", ";").split(";") if part.strip()]
    if len(glosses) == len(bindings):  # a gloss for each binding
        bindings = [there or gloss in notes for there, gloss in zip(bindings, glosses, strict=True)]
    both = [*evidence, *bindings]
    return Needed(*(sum(there) / len(there) if there else 1.0 for there in (evidence, bindings, both)))
