"""Four memories of one's own book, each built by a model as far as it reads, else copied, beside plain search; their price.

A memory adds something to plain search's score (`FirstLook.scores`) and to the prompt:

    plain       nothing: passages alone
    mindscape   a summary of the book (MiA-RAG 3.2), mixed into the query and put before the passages
    signature   the summaries of a few sessions that the question activates (MiA-Signature 3.2.1, Eq. 4)
    document    outline and core content of each chunk (MoM 3.1, 3.2), compared with the question beside the chunk
    graph       built for one question from the likeliest blocks (MindGraph 3.1, 3.2); it finds nothing, it is read

Whether a memory is used is decided on the book itself (`run.check`). Plain search, which every memory starts from: vectors, and
words where a question shares some of weight.

    s(c | q) = cos(q, c) + w BM25(q, c) / Σ_t∈q idf_t,     w = `WORDS`

The second term is the share of the question's own weight that a passage holds: a question in other words than the book's
leaves it near 0, and vectors decide; a rare name that it shares with a passage counts. (Ranks, and scores brought to one
scale, weigh words the same for every question: on plays, where modern questions share few words with their evidence, that
loses a third of what vectors find.)

`w` was chosen on development novels and on half of the plays.

What the memories will take is said before anything is asked (`step_costs`, `dollars`, `steps_foretold`). Calls and tokens are
an upper bound: every reply is counted as long as it may be, and asked for as often. Reports on parts of a graph, which a
model other than ours may call for, are not foreseen; a cap holds them, too. Seconds are foretold from what this machine does
in a few small steps, with replies of the usual length. Of a server it is not known how long it takes.

Taught in notebook 52_your_own_book.
"""

import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, zip_longest
from math import ceil
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from mindscape.ask import Meter
from mindscape.benchmark import least
from mindscape.errors import require
from mindscape.llm import LLM, OURS, LanguageModel, Reply
from mindscape.llm.base import form_of, side_by_side
from mindscape.metrics import Language
from mindscape.mia import summaries
from mindscape.mia.generation import write
from mindscape.mindgraph.answer import LOOKED_UP, GraphAnswered, answer_from
from mindscape.mindgraph.build import Journal, noted, rebuild
from mindscape.mindgraph.graph import Graph, Node, around
from mindscape.mom import extraction, memory
from mindscape.mom.memory import DocumentMemory
from mindscape.own_book.book import OwnBook
from mindscape.question import BUILD
from mindscape.roles import BUILDER, EDITS, QA, ROLES
from mindscape.search import BM25
from mindscape.signature import rag
from mindscape.signature.memory import build, by_model, given
from mindscape.text import Chunk, Document, Span, mentions, sentences, split_sentences

if TYPE_CHECKING:
    from mindscape.encoders import Encoder

WORDS = 0.3
ENGLISH_ONLY = ("embedded", "minilm")  # encoders that read no Chinese
MEMORIES = ("mindscape", "signature", "document", "graph")
PLAIN = "plain search"
NEAR = 400  # characters around a note's quote in which its names must stand
FRAMED = ("chunk_summary", "global_summary", "session_summary", "edits", "graph_answer", "memory", "qa")
WRITTEN = 0.6  # of the longest reply, usually
TRIES = 2  # replies to a question, at most
LOOKED = 300  # tokens of a passage that is looked up
BATCHED = 2.5  # how much faster several replies are written together than one by one


class FirstLook:
    """Units of a book with their vectors and an index of their words.

    `blind`: the encoder does not read the book's language, and words alone decide.

    >>> look = FirstLook(texts, "en", encoders.load("minilm"))                               # doctest: +SKIP
    >>> look.best(look.scores(["Who fled to Ireland?"]), 3)                                  # doctest: +SKIP
    [[112, 87, 90]]
    """

    def __init__(self, texts: Sequence[str], language: Language, encoder: "Encoder"):
        self.texts, self.language, self.encoder = list(texts), language, encoder
        self.blind = language == "zh" and encoder.name in ENGLISH_ONLY

    @cached_property
    def vectors(self) -> np.ndarray:
        """(units, dim)."""
        return self.encoder.encode(self.texts)

    @cached_property
    def _words(self) -> BM25:
        return BM25(self.texts, self.language)

    def cosines(self, questions: Sequence[str]) -> np.ndarray:
        """(questions, units); zeros where the encoder is blind."""
        if self.blind:
            return np.zeros((len(questions), len(self.texts)))
        return self.encoder.encode(list(questions), "query") @ self.vectors.T

    def shared(self, questions: Sequence[str]) -> np.ndarray:
        """The second term: (questions, units)."""
        return WORDS * self._words.shares(questions)

    def scores(self, questions: Sequence[str], memory: np.ndarray | None = None, share: float = 1.0) -> np.ndarray:
        """s of every unit, (questions, units). With a memory's cosines of the same shape these take 1 - `share` of the first
        term: MiA-RAG's δ (Eq. 11) and MiA-Signature's 1 - α (Eq. 4) are such shares."""
        cosines = self.cosines(questions)
        if memory is not None:
            cosines = share * cosines + (1 - share) * memory
        return cosines + self.shared(questions)

    def best(self, scores: np.ndarray, k: int) -> list[list[int]]:
        """The k best units of each row, equal ones in the order of the book."""
        return np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()


@dataclass
class Finder:
    """What finds passages: by itself plain search, and what the four memories that find are made from.

    `units` are what is shown, one for each text of `look`. `aside` says why it is not used, empty where it is. `tokens` is what
    a model read and wrote for it, `held` the text that it has from the book word for word.
    """

    name: str
    book: OwnBook
    look: FirstLook
    units: Sequence[Chunk]
    tokens: int = 0
    note: str = ""
    held: str = ""
    share: float = 1.0
    aside: str = ""

    def cosines(self, questions: Sequence[str]) -> np.ndarray | None:
        """What the memory says of each unit, (questions, units); None: nothing."""
        return None

    def find(self, questions: Sequence[str], k: int | None = None) -> list[list[Chunk]]:
        """The k best units for each question, best first; by default as many as are shown, of no more tokens than passages
        would have."""
        sizes = self.book.sizes
        rows = self.look.best(self.look.scores(questions, self.cosines(questions), self.share), k or sizes.shown)
        best = [[self.units[i] for i in row] for row in rows]
        if k is not None or self.units is self.book.passages:
            return best
        room = sizes.shown * sizes.passage * self.book.per_token  # characters
        kept = []
        for row in best:
            lengths = np.cumsum([unit.end - unit.start for unit in row])
            kept.append(row[: max(1, int((lengths <= room).sum()))])
        return kept

    def signature(self, question: str) -> tuple[str, ...]:
        """The summaries that stand before the passages: none."""
        return ()

    def prompt(self, question: str, places: Sequence[Chunk], form: str) -> str:
        """What a model is asked, with the texts of some places."""
        context = rag.context(self.texts_of(places), self.signature(question), language=self.book.language)
        return QA.prompt(self.book.language, form, context=context, question=question)

    def texts_of(self, places: Sequence[Chunk]) -> list[str]:
        return [self.book.document[place].strip() for place in places]


@dataclass
class Mindscape(Finder):
    """`summary`: of the book, written or copied. The query is read with it (Eq. 11), the passages behind it (Eq. 6)."""

    summary: str = ""

    def cosines(self, questions: Sequence[str]) -> np.ndarray | None:
        return self.look.cosines([f"{question}\n{self.summary}" for question in questions])

    def prompt(self, question: str, places: Sequence[Chunk], form: str) -> str:
        return write("qa", {"question": question}, self.texts_of(places), self.summary, self.book.language, form).text


@dataclass
class Signed(Finder):
    """The signature: of the sessions of `shelf` whose passages a question activates, those few that stand for all of them."""

    shelf: rag.Shelf | None = None
    chosen: dict[str, tuple[int, ...]] = field(default_factory=dict)  # sessions by question

    def signature(self, question: str) -> tuple[str, ...]:
        """The summaries that a question activates (Algorithm 2)."""
        if question not in self.chosen:
            (woken,) = self.shelf.wake([question])
            self.chosen[question] = self.shelf.choose(woken, "coverage", self.book.sizes.items)
        return self.shelf.signature(self.chosen[question])

    def cosines(self, questions: Sequence[str]) -> np.ndarray | None:
        signatures = [self.signature(question) for question in questions]
        return rag.Geometry(self.look.encoder).steered(questions, signatures) @ self.look.vectors.T


@dataclass
class Outlined(Finder):
    """The document memory: topics and core contents beside the chunks, which are the units."""

    memory: DocumentMemory | None = None

    @cached_property
    def _layers(self) -> list[np.ndarray]:
        return [self.look.encoder.encode(list(texts)) for texts in (self.memory.outline, self.memory.core)]

    def cosines(self, questions: Sequence[str]) -> np.ndarray | None:
        vectors = self.look.encoder.encode(list(questions), "query")
        return np.mean([vectors @ layer.T for layer in self._layers], axis=0)


# Copying


def copies(book: OwnBook, text: str, tokens: int) -> str:
    """The most central sentences of a text (TextRank), of about so many tokens.

    >>> copies(book, book.document.text[:9000], 110)                                          # doctest: +SKIP
    'Thunder and lightning. …'
    """
    return summaries.summarise(text, book.language, max(1, int(tokens * book.per_token)))


def copied_sessions(book: OwnBook) -> list[str]:
    """Of each session its central sentences.

    >>> len(copied_sessions(book)) == len(book.units("session"))                             # doctest: +SKIP
    True
    """
    return [copies(book, book.document[unit], book.sizes.copied) for unit in book.units("session")]


# Building


def plain_search(book: OwnBook, encoder) -> Finder:
    """Passages, and nothing beside them.

    >>> plain_search(book, encoder).find(["Who fled to Ireland?"], 1)                        # doctest: +SKIP
    [[Chunk(doc_id='macbeth', index=112, start=41877, end=42300)]]
    """
    return Finder(PLAIN, book, FirstLook(book.texts, book.language, encoder), book.passages)


def mindscape(plain: Finder, llm: LLM, copied: Sequence[str]) -> Mindscape:
    """A summary of the book by a model: of a digest of the copied sentences where its reading is bounded, else of all pieces.

    One that must not guide anything (`summaries.unfit`) gives way to copied sentences, which `note` says.

    >>> mindscape(plain, llm.load("openai:gpt-4o"), copied).summary                          # doctest: +SKIP
    """
    book, sizes, together = plain.book, plain.book.sizes, "\n".join(copied)
    document, pieces, bound = book.document, book.units("piece"), {}
    if book.reads:
        text = copies(book, together, book.reads * sizes.piece * sizes.passage)
        document = Document(f"{document.id}: digest", text, document.language)
        pieces = split_sentences(document, book.tokenizer, sizes.passage * sizes.piece)[: book.reads]
        bound = {"read": sizes.merged}
    meter = Meter(llm, stage=BUILD)
    lengths = {"chunk_tokens": sizes.replies["piece"], "tokens": sizes.replies["whole"]}
    summary, said, held = summaries.summarise_document(meter, document, pieces, **lengths, **bound).text, "", ""
    if wrong := summaries.unfit(summary, book.document):
        summary = held = copies(book, together, 300)
        said = f"the model's summary is not used: {wrong}; copied sentences stand in its place"
    return Mindscape("mindscape", book, plain.look, book.passages, meter.tokens, said, held, summary=summary)


def signature(plain: Finder, llm: LLM, copied: Sequence[str]) -> Signed:
    """Sessions with their summaries: copied sentences where the model's reading is bounded, else the model's.

    >>> signature(plain, llm.load("openai:gpt-4o"), copied).signature("Who fled to Ireland?")      # doctest: +SKIP
    """
    book, meter = plain.book, Meter(llm, stage=BUILD)
    writer = given(copied) if book.reads else by_model(meter, book.sizes.replies["session"])
    sessions = build(book.document, book.passages, writer, width=book.sizes.session)
    held = "\n".join(copied) if book.reads else ""
    shelf = rag.Shelf(sessions, plain.look.encoder, live=True)
    return Signed("signature", book, plain.look, book.passages, meter.tokens, "", held, shelf=shelf)


def likeliest(plain: Finder, questions: Sequence[str], kind: str) -> list[list[int]]:
    """For each question the units that hold its best passages: as many as are read, all where that is not bounded; best first.

    >>> likeliest(plain, ["Who fled to Ireland?"], "block")                                  # doctest: +SKIP
    [[56, 43]]
    """
    every = plain.look.best(plain.look.scores(questions), len(plain.units))
    size, reads = getattr(plain.book.sizes, kind), plain.book.reads
    return [list(dict.fromkeys(i // size for i in row))[: reads or None] for row in every]


def document_memory(plain: Finder, llm: LLM, questions: Sequence[str]) -> Outlined:
    """Outline, core contents and chunks: by the model of the windows that the questions point to, as many as it reads; of all
    other windows, and where its reply cannot be read, copied.

    >>> len(document_memory(plain, llm.load("openai:gpt-4o"), questions).units)              # doctest: +SKIP
    """
    book, parts = plain.book, plain.book.units("window")
    turns = zip_longest(*likeliest(plain, questions, "window"))
    wanted = dict.fromkeys(i for i in chain.from_iterable(turns) if i is not None)
    chosen = sorted(list(wanted)[: book.reads or None])
    meter = Meter(llm, stage=BUILD)
    texts = [Document(f"{book.document.id}:{i}", book.document[parts[i]], book.document.language) for i in chosen]
    sampled = extraction.paths(meter, texts, 1, temperature=0.0, top_p=1.0, max_new_tokens=book.sizes.replies["window"])
    read = [paths[0].read for paths in sampled]
    memories = [_copied_memory(book, group, part) for group, part in zip(book.groups("window"), parts, strict=True)]
    for i, resolved in zip(chosen, read, strict=True):
        memories[i] = resolved.memory if resolved else memories[i]
    whole = memory.join(book.document, [Span(part.start, part.end) for part in parts], memories)
    units = [Chunk(book.document.id, i, chunk.start, chunk.end) for i, chunk in enumerate(whole.chunks)]
    look = FirstLook([book.document[unit].strip() for unit in units], book.language, plain.look.encoder)
    said = f"{sum(map(bool, read))} of {len(read)} windows could be read by the model; of {len(parts)}, the rest is copied"
    held = "\n".join((*whole.outline, *whole.core))
    return Outlined("document", book, look, units, meter.tokens, said, held, memory=whole)


def _copied_memory(book: OwnBook, passages: Sequence[Chunk], part: Chunk) -> DocumentMemory:
    """Each passage is a chunk, its first sentence the topic, its most central ones the core content."""
    texts = [book.document[passage].strip() for passage in passages]
    topics = [text[: sentences(text, book.language)[0].end].strip() for text in texts]
    cores = [summaries.summarise(text, book.language, 160) for text in texts]
    spans = (Span(passage.start - part.start, passage.end - part.start) for passage in passages)
    return DocumentMemory(tuple(topics), tuple(cores), tuple(spans))


# The graph of a question


@dataclass(frozen=True)
class Read:
    """A question's graph and the answer from it. `dropped`: notes that their quotes did not bear out."""

    graph: Graph
    journal: Journal
    dropped: tuple[Node, ...]
    reply: GraphAnswered
    built: int  # tokens that its building took


def borne_out(node: Node, document: Document) -> bool:
    """Whether a note's names stand in its quote or the `NEAR` characters around it; in Chinese, whether half of its words do.

    A model that knows other books notes their people; a quote that is in the text does not make them stand there. A first word
    that the text has in small letters is no name.

    >>> play = Document("play", "The doctor spoke. Out, damned spot!")
    >>> place = ("Out, damned spot!", 18, 35, 0, 0)
    >>> [borne_out(Node("note", "event", what, *place), play) for what in ("Sibyl speaks", "Spot, seen by the doctor")]
    [False, True]
    """
    near = document[around(document, node, NEAR)]
    if document.language == "zh":
        wanted = re.findall("[\u4e00-\u9fff]{2}", node.content)
        return sum(word in near for word in wanted) >= len(wanted) / 2
    names = re.findall(r"\b[A-Z][a-z]{2,}", node.content)
    if names and node.content.startswith(names[0]) and re.search(rf"\b{names[0].lower()}\b", document.text):
        del names[0]
    return all(mentions(name, near) for name in names)


def supported_graph(graph: Graph, document: Document) -> tuple[Graph, tuple[Node, ...]]:
    """A graph without the notes that are not borne out, nor their edges; and these notes.

    >>> supported_graph(Graph("note"), Document("note", "It rained."))
    (Graph(doc_id='note', nodes={}, edges={}), ())
    """
    dropped = tuple(node for node in graph.nodes.values() if not borne_out(node, document))
    gone = {node.id for node in dropped}
    nodes = {name: node for name, node in graph.nodes.items() if name not in gone}
    edges = {key: edge for key, edge in graph.edges.items() if not gone & {edge.source, edge.target}}
    return Graph(graph.doc_id, nodes, edges), dropped


def graphs(plain: Finder, llm: LLM, questions: Sequence[str]) -> list[Read]:
    """A graph for each question from its likeliest blocks, in the order of the book, and the answer from it.

    The kit's own builder is asked as it was trained, a block's relevance first and answers without tools; another model may
    look up sources and call for reports.

    >>> graphs(plain, llm.load("openai:gpt-4o"), ["Who fled to Ireland?"])[0].reply.text     # doctest: +SKIP
    """
    units = plain.book.units("block")
    jobs = []
    for question, row in zip(questions, likeliest(plain, questions, "block"), strict=True):
        blocks = [replace(units[j], index=n) for n, j in enumerate(sorted(row))]
        jobs.append(partial(_read, plain.book, question, blocks))
    return side_by_side(llm, jobs)


def _read(book: OwnBook, question: str, blocks: Sequence[Chunk], llm: LLM) -> Read:
    own, sizes = llm.name in OURS, book.sizes
    meter = Meter(llm, stage=BUILD)
    role = BUILDER if llm.name == "embedded" else EDITS
    limits = {"budget": sizes.graph, "tokens": sizes.replies["edits"]}
    journal = noted(book.document, question, meter, blocks=blocks, held=own, role=role, **limits)
    graph, dropped = supported_graph(rebuild(journal), book.document)
    if graph.nodes:
        rounds, longest = rounds_of(llm.name), sizes.replies["answer"]
        about = (graph, book.document, question, Meter(llm))
        reply = answer_from(*about, chunks=len(blocks), rounds=rounds, graph_tokens=sizes.graph, tokens=longest)
    else:
        reply = GraphAnswered("", ended="no note is left to answer from")
    return Read(graph, journal, dropped, reply, meter.tokens)


def rounds_of(llm: str) -> int:
    """Rounds with tools, at most: none for a model of ours, which is trained to answer without; for others the paper's median
    of look-ups in small graphs, which keeps the bill small.

    >>> rounds_of("embedded"), rounds_of("openai:gpt-4o")
    (0, 4)
    """
    return 0 if llm in OURS else LOOKED_UP


def chosen_memories(names: Sequence[str]) -> tuple[str, ...]:
    """Those memories that are asked for, in the kit's order. Raises InputError for another name.

    >>> chosen_memories(["graph", "mindscape"])
    ('mindscape', 'graph')
    """
    for name in names:
        require(name in MEMORIES, f"memory={name!r}: expected some of {', '.join(MEMORIES)}")
    return tuple(name for name in MEMORIES if name in names)


# What it will take


def frames(llm: LanguageModel, language: str) -> dict[str, int]:
    """Tokens of a role's instructions alone, in the form that the model is sent.

    >>> frames(llm.load("embedded"), "en")["qa"]                                             # doctest: +SKIP
    58
    """
    bare = {name: ROLES[name].words(form_of(llm))[language].format_map(defaultdict(str)) for name in FRAMED}
    return {name: llm.count_tokens([{"role": "user", "content": text}]) for name, text in bare.items()}


def step_costs(
    book: OwnBook, frame: dict[str, int], questions: int, memories: Sequence[str], rounds: int = 0, tries: int = TRIES
) -> pd.DataFrame:
    """Calls, tokens read and tokens written at most, to build a memory and to answer: a row each, with plain search's first.

    Each answer is weighed twice by its likelihood, with and without its source. `rounds` with tools come before an answer from
    a graph, `tries` are replies to a question.

    >>> costs(book, frames(model, "en"), 3, ["graph"]).loc["graph"].to_dict()                # doctest: +SKIP
    {'calls': 15, 'read': 9200, 'written': 2088}
    """
    sizes, reply = book.sizes, book.sizes.replies
    prompt = frame["qa"] + 30 + sizes.shown * sizes.passage

    def calls(n: int, read: int, written: int) -> np.ndarray:
        return n * np.array([1, read, written])

    def read(kind: str, role: str, written: str, beside: int = 0) -> np.ndarray:
        """The units that a model reads, each with so many tokens beside its text."""
        units, size = len(book.units(kind)), getattr(sizes, kind) * sizes.passage
        return calls(min(units, book.reads or units), frame[role] + size + beside, reply[written])

    def answered(extra: int) -> np.ndarray:
        return calls(tries * questions, prompt + extra, reply["phrase"])

    rows = {PLAIN: answered(0)}
    if "mindscape" in memories:
        pieces = read("piece", "chunk_summary", "piece")
        rows["mindscape"] = pieces + _folds(pieces[-1], book, frame) + answered(reply["whole"])
    if "signature" in memories:
        sessions = 0 if book.reads else read("session", "session_summary", "session")
        rows["signature"] = sessions + answered(sizes.items * max(sizes.copied, reply["session"] * (not book.reads)))
    if "document" in memories:
        rows["document"] = read("window", "memory", "window") + answered(0)
    if "graph" in memories:
        last = frame["graph_answer"] + sizes.graph + (LOOKED + reply["answer"]) * rounds
        asks = calls(questions * (rounds + 1), last, reply["answer"])
        rows["graph"] = questions * read("block", "edits", "edits", sizes.graph // 2) + asks
    support = calls(2 * questions, prompt + reply["phrase"], 0)
    every = {name: row + support for name, row in rows.items()}
    return pd.DataFrame.from_dict(every, orient="index", columns=["calls", "read", "written"])


def _folds(level: int, book: OwnBook, frame: dict[str, int]) -> np.ndarray:
    """Summaries of summaries, until one is left."""
    groups, reply = ceil(level / book.sizes.merged), book.sizes.replies["whole"]
    these = np.array([groups, groups * frame["global_summary"] + level, groups * reply])
    return these if groups == 1 else these + _folds(groups * reply, book, frame)


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
    book, texts, encode = plain.book, plain.book.texts[:16], plain.look.encoder.encode
    encode(["once before"])  # what is loaded at the first call is no speed
    copies(book, book.texts[0], book.sizes.copied)
    session, once = book.document[book.units("session")[0]], partial(least, runs=1, most=1, clock=time.perf_counter)
    vectors, copy = once(lambda: encode([f"{text} " for text in texts]), lambda: copies(book, session, book.sizes.copied))
    read = write = 0.0
    if not llm.name.startswith(("openai:", "replay:")):
        bare = LanguageModel(llm.backend)
        text = book.document.text[:2000]
        text = " ".join([text] * (2000 // len(text)))  # what a pass costs by itself is no cost of a few tokens
        first = cast(Reply, bare.complete(text, max_new_tokens=1))
        more = cast(Reply, bare.complete("Once upon a time", max_new_tokens=24))
        read, write = first.seconds / first.prompt_tokens, more.seconds / more.completion_tokens
    return Speed(vectors / len(texts), copy, read, write)


def steps_foretold(book: OwnBook, table: pd.DataFrame, speed: Speed) -> float:
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
