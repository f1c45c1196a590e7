r"""All memories of the course before one reader: the same questions, the same prompt, the same budget of tokens.

A *memory* is what stands between a long text and the model that answers. Each is asked the same: here is a question, and
here is room for `BUDGET` tokens; what do you put there? The rest, the reader and the form of the question, is equal. What takes
a model is kept in a folder, and asked for once; the same call goes on after a kill:

    python -m mindscape.side_by_side rank   --split test --out data/side_by_side
    python -m mindscape.side_by_side answer --split test --out data/side_by_side

    ranks.jsonl      for each text and memory, what it finds for each question: passages, entities, units, by number
    replies.jsonl    what the reader says to the prompts that are made of it

Memories stand on the rooms of the four papers: summaries and MiA-Emb (`mia`), signatures over sessions (`signature`), an entity
graph (`mia.graphrag`), a document memory (`mom`). MindGraph's own graphs are made for one question and cost more than the text
itself; they and the methods that it was compared with have their own file (`mindgraph.comparison`), whose questions are among
those here. Texts are novels of the storyworld, or plays with the kit's own summaries; a play has no graph and no document
memory unless somebody makes one. Taught in notebook 50_side_by_side. Nothing is averaged here.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from mindscape import assets, encoders, llm, paths
from mindscape.corpora.questions import Question
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.encoders import Encoder
from mindscape.errors import InputError, MindscapeError
from mindscape.lexical import BM25, terms
from mindscape.metrics import token_f1
from mindscape.mia import embedding
from mindscape.mia.embedding import MiaEmbedder, PlainEmbedder
from mindscape.mia.evaluation import Play, kept_summaries, play
from mindscape.mia.graph_evaluation import PASSAGE, counter
from mindscape.mia.graphrag import Graph, assembled, build, nearest
from mindscape.mindgraph.comparison import of_book, quarter
from mindscape.mom.memory import DocumentMemory
from mindscape.mom.retrieval import Layers, recall
from mindscape.mom.trials import kept, read
from mindscape.reader.evaluation import SPLITS, Answer, Kept, books, replies, value
from mindscape.roles import ROLES, passages
from mindscape.roles.answers import LETTERS, letters
from mindscape.signature import memory as sessions
from mindscape.signature.rag import Shelf
from mindscape.text import Span, mentions, sentences
from mindscape.weights import adapter_hash

Told = Book | Play
BUDGET = 640  # tokens that a memory may put before the reader, which was trained on prompts of 900 at most
SHARE = 3  # questions of each kind on a text
COMPARED = 4  # of a text that the methods of `mindgraph.comparison` answered, too
WIDTH = 6  # passages of a session: twenty, as in the paper, would leave a novel of this length five sessions
DEPTH = 12  # passages or units of a ranking that are kept
ENTITIES = 20  # of a graph, as in MiA-RAG
KINDS = {
    "plain": "a fact, by name",
    "binding": "a fact, by trade, kin or guise",
    "narrow deep": "several facts of one place or two",
    "broad shallow": "a fact found by reading much",
    "broad deep": "several facts from all over",
}
MEMORIES = {
    "none": "nothing: the question alone",
    "start": "the beginning of the text, as much as there is room for",
    "evidence": "what answers the question and says who is meant: what no memory knows",
    "bm25": "passages that share words with the question",
    "minilm": "passages near the question, by a small sentence encoder",
    "sft_emb": "passages by an embedder trained on questions (SFT-Emb)",
    "mia_emb": "passages by MiA-Emb, which reads the question in the light of the summary",
    "summary": "the summary of the whole, as a perfect summariser writes it",
    "summary_reader": "the summary of the whole, by the reader",
    "mia_rag": "MiA-RAG: the summary, then MiA-Emb's passages",
    "mia_rag_reader": "the same with the reader's summary in both places",
    "signature": "MiA-Signature: five session summaries chosen by coverage, then passages found with them",
    "graph": "an entity graph read by GraphRAG's local mode, entities by MiA-Emb",
    "units": "MoM: chunks of the document memory, three layers fused by rank",
    "cores": "MoM: the core contents of the same units, without their text",
}
ROLES_ASKED = {"choice": 180, "qa": 40}  # forms of a question, and tokens of a reply


# Questions -----------------------------------------------------------------------------------------------------------


def kind(question: Question) -> str:
    """One of `KINDS`: the quarters of MindGraph's plane, the narrow and shallow one by whether a binding is needed.

    >>> kind(Question("1", "note", "Who left?", "Ivo", (), (), (), "local", "lookup"))
    'plain'
    """
    at = quarter(question.breadth, question.depth)
    if at == ("narrow", "shallow"):
        return "binding" if question.needs_binding else "plain"
    return " ".join(at)


def asked(text: Told, share: int = SHARE) -> list[Question]:
    """At most `share` questions of each kind on a text, in the order of `mindgraph.comparison.of_book`, always the same.

    So the first `COMPARED` that were put to the methods there are among them, and fewer are part of more.
    """
    by_id, found = {question.id: question for question in text.questions}, []
    for name in [task.id for task in of_book(text, len(by_id))]:
        if sum(kind(one) == kind(by_id[name]) for one in found) < share:
            found.append(by_id[name])
    return found


def compared(text: Told) -> list[Question]:
    """The questions on a text that `mindgraph.comparison` asks by default."""
    by_id = {question.id: question for question in text.questions}
    return [by_id[task.id] for task in of_book(text, COMPARED)]


def options(question: Question) -> tuple[list[str], str]:
    """A question's options in an order of chance, and the letter of the right one."""
    drawn = Chance("side_by_side", question.id).shuffled(list(question.options))
    return drawn, LETTERS[drawn.index(question.answer)]


# What a memory shows -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """Something to show: its words, and where they stand in the text; None for what a memory says in words of its own."""

    text: str
    span: Span | None = None


@dataclass(frozen=True)
class Shown:
    """What a reader is shown, its length in tokens, and the places of the text in it."""

    text: str
    tokens: int
    spans: tuple[Span, ...]

    def recall(self, text: Told, question: Question) -> float:
        """The share of a question's evidence that stands whole in what is shown."""
        return recall(text.document, question.evidence, self.spans)

    def says(self, question: Question) -> bool:
        """Whether the answer, in any accepted wording, is among the words shown."""
        return any(mentions(words, self.text) for words in (question.answer, *question.accepted))


def fill(pieces: Sequence[Piece], budget: int, count: Callable[[str], int]) -> Shown:
    """Pieces in their order, a blank line between two, up to the first that does not fit into `budget` tokens.

    Raises InputError for a budget below 1.

    >>> shown = fill([Piece("Ann left.", Span(0, 9)), Piece("Tom came too late.")], 4, lambda text: len(text.split()))
    >>> shown.text, shown.tokens, shown.spans
    ('Ann left.', 2, (Span(start=0, end=9),))
    """
    if budget < 1:
        raise InputError(f"budget={budget}: expected at least 1 token")
    text, taken = "", []
    for piece in pieces:
        longer = f"{text}\n\n{piece.text}" if text else piece.text
        if count(longer) > budget:
            break
        text = longer
        taken.append(piece)
    return Shown(text, count(text) if text else 0, tuple(piece.span for piece in taken if piece.span is not None))


def beginning(text: str, budget: int, count: Callable[[str], int], language: str = "en") -> str:
    """A text, or where it is too long as many of its sentences as fit into `budget` tokens; "" where not even one does.

    >>> beginning("Ann left. Tom came too late.", 4, lambda text: len(text.split()))
    'Ann left.'
    """
    if count(text) <= budget:
        return text
    fitting = ""
    for span in sentences(text, language):
        if count(longer := text[: span.end].strip()) > budget:
            break
        fitting = longer
    return fitting


class Tools(Protocol):
    """What finds: a sentence encoder, an embedder of questions alone, one that reads a summary with them."""

    minilm: Encoder
    sft: MiaEmbedder | PlainEmbedder
    mia: MiaEmbedder | PlainEmbedder


class Loaded:
    """The kit's own `Tools`, each loaded when it is first needed."""

    def __init__(self, dtype: str = "auto"):
        self.dtype = dtype

    @cached_property
    def minilm(self) -> Encoder:
        return encoders.load("minilm")

    @cached_property
    def sft(self) -> MiaEmbedder:
        return embedding.load(adapter=paths.data("adapters", "sft_emb"), dtype=self.dtype)

    @cached_property
    def mia(self) -> MiaEmbedder:
        return embedding.load(adapter=paths.data("adapters", "mia_emb"), dtype=self.dtype)


@dataclass(frozen=True)
class Sources:
    """What was read off the texts beforehand, by document: the reader's summaries, entity graphs, document memories."""

    tokenizer: PreTrainedTokenizerBase
    summaries: Mapping[str, str] = field(default_factory=dict)
    graphs: Mapping[str, Graph] = field(default_factory=dict)
    memories: Mapping[str, DocumentMemory] = field(default_factory=dict)

    @cached_property
    def count(self) -> Callable[[str], int]:
        """Tokens of a text."""
        return counter(self.tokenizer)

    def summary(self, memory: str, text: Told) -> str:
        """The summary that a memory steers by, or shows."""
        name = text.document.id
        return _of(self.summaries, name, memory) if memory.endswith("_reader") else text.summary

    def spans(self, text: Told, size: int = passages.SIZE) -> list[Span]:
        """The passages of a text."""
        return [Span(chunk.start, chunk.end) for chunk in passages.cut(text, self.tokenizer, size)]

    def sessions(self, text: Told) -> sessions.Memory:
        """Passages with the summary of each session: the log's of a novel, the kit's own of a play's scenes."""
        chunks = passages.cut(text, self.tokenizer)
        if isinstance(text, Book):
            return sessions.build(text.document, chunks, sessions.gold(text), WIDTH)
        return sessions.scenes(text.document.id, chunks)


def _of(found: Mapping[str, Any], name: str, memory: str) -> Any:
    if name not in found:
        raise InputError(f"memory {memory!r}: nothing was read off {name!r} for it; see `Sources`")
    return found[name]


def available(text: Told, sources: Sources) -> list[str]:
    """The memories of a text for which everything is there.

    >>> available(play("macbeth"), Sources(tokenizer))[-1]                                  # doctest: +SKIP
    'signature'
    """
    name, lacking = text.document.id, set()
    for needs, some in (
        (sources.summaries, ("summary_reader", "mia_rag_reader")),
        (sources.graphs, ("graph",)),
        (sources.memories, ("units", "cores")),
    ):
        lacking |= set() if name in needs else set(some)
    return [memory for memory in MEMORIES if memory not in lacking]


def find(memory: str, text: Told, questions: Sequence[Question], sources: Sources, tools: Tools) -> dict[str, Any]:
    """A row: for each question what a memory finds, best first, by number; `items` are the sessions of a signature.

    Raises InputError for a memory that there is not, or that lacks what it is made of.
    """
    if memory not in MEMORIES:
        raise InputError(f"no memory {memory!r}: expected one of {', '.join(MEMORIES)}")
    texts, document = [question.question for question in questions], text.document
    cut = [document[span].strip() for span in sources.spans(text)]
    if memory in ("none", "summary", "summary_reader", "evidence"):
        return {"found": [[] for _ in questions]}
    if memory == "start":
        return {"found": [list(range(min(DEPTH, len(cut)))) for _ in questions]}
    if memory == "bm25":
        return {"found": BM25(cut, document.language).search(texts, DEPTH)[0].tolist()}
    if memory == "minilm":
        return {"found": _best(tools.minilm.encode(texts, "query"), tools.minilm.encode(cut))}
    if memory == "sft_emb":
        return {"found": _best(tools.sft.queries(texts), tools.sft.units(cut))}
    if memory in ("mia_emb", "mia_rag", "mia_rag_reader"):
        return {"found": _best(tools.mia.queries(texts, sources.summary(memory, text)), tools.mia.units(cut))}
    if memory == "graph":
        graph = _of(sources.graphs, document.id, memory)
        return {"found": nearest(tools.mia, graph, texts, text.summary, ENTITIES)}
    if memory == "signature":
        shelf = Shelf(sources.sessions(text), tools.sft, tools.mia, tools.minilm)
        items = [list(shelf.choose(woken, "coverage")) for woken in shelf.wake(texts)]
        chunks = shelf.search(texts, [shelf.signature(some) for some in items], DEPTH)
        return {"found": [list(some) for some in chunks], "items": items}
    layers = Layers.of_memories([(document, _of(sources.memories, document.id, memory))], tools.minilm)
    return {"found": layers.search(texts, DEPTH, "rrf")[0].tolist()}


def _best(queries: np.ndarray, units: np.ndarray) -> list[list[int]]:
    return np.argsort(-(queries @ units.T), axis=1, kind="stable")[:, :DEPTH].tolist()


def show(
    memory: str,
    text: Told,
    questions: Sequence[Question],
    row: Mapping[str, Any],
    sources: Sources,
    budget: int = BUDGET,
) -> list[Shown]:
    """What a memory puts before a reader of each question, within the budget, from a row of `find`.

    Raises InputError as `find` does, and for a row with another number of questions.
    """
    if len(row["found"]) != len(questions):
        raise InputError(f"{memory}: a row on {len(row['found'])} questions: expected {len(questions)}")
    document, count = text.document, sources.count
    if memory == "graph":
        graph, chunks = _of(sources.graphs, document.id, memory), sources.spans(text, PASSAGE)
        made = [assembled(graph, picked, document, chunks, budget, count) for picked in row["found"]]
        return [Shown(one.text, one.tokens, tuple(chunks[i] for i in one.chunks)) for one in made]
    heads: list[list[Piece]] = [[] for _ in questions]
    if memory.startswith(("summary", "mia_rag")):
        told = beginning(sources.summary(memory, text).strip(), budget, count, document.language)
        heads = [[Piece(told)] if told else [] for _ in questions]
    elif memory == "signature":
        summaries = sources.sessions(text).summaries
        heads = [[Piece(summaries[i]) for i in sorted(items)] for items in row["items"]]  # in the order of the text
    return [
        fill([*head, *_pieces(memory, text, question, found, sources)], budget, count)
        for question, head, found in zip(questions, heads, row["found"], strict=True)
    ]


def _pieces(memory: str, text: Told, question: Question, found: Sequence[int], sources: Sources) -> Iterator[Piece]:
    """What follows the summaries that a memory begins with."""
    document = text.document
    if memory == "evidence":
        for span in sorted(set(question.support)):
            yield Piece(document[span].strip(), span)
        return
    if memory in ("units", "cores"):
        of = _of(sources.memories, document.id, memory)
        for i in found:
            yield Piece(of.core[i]) if memory == "cores" else Piece(document[of.chunks[i]].strip(), of.chunks[i])
        return
    spans = sources.spans(text)
    yield from (Piece(document[spans[i]].strip(), spans[i]) for i in found)


# Files ---------------------------------------------------------------------------------------------------------------


def key(memory: str, text: Told, questions: Sequence[Question]) -> str:
    """The name of a row of `ranks.jsonl`."""
    return f"{memory} {text.document.id} {len(questions)}"


def add_ranks(
    path: str | Path,
    about: Mapping[str, Any],
    texts: Sequence[Told],
    sources: Sources,
    tools: Tools,
    share: int = SHARE,
    tell: Callable[[str], None] = print,
) -> None:
    """What every memory finds, a row a text and memory; those that the file has are not made again.

    Raises InputError for a file that was made otherwise than `about` says.
    """
    for text in texts:
        questions = asked(text, share)
        for memory in available(text, sources):

            def make(keys: Sequence[str], memory=memory, text=text, questions=questions) -> Iterator[dict[str, Any]]:
                for name in keys:
                    tell(name)
                    yield find(memory, text, questions, sources, tools)

            kept(path, about, [key(memory, text, questions)], make)


def kept_ranks(path: str | Path, texts: Sequence[Told], sources: Sources, share: int = SHARE) -> dict[str, list[dict]]:
    """By memory, its rows for the texts, in their order. A memory with no row for some of them is left out.

    Raises InputError for a file that is none.
    """
    _, rows = read(path)
    found = {}
    for memory in MEMORIES:
        names = [key(memory, text, asked(text, share)) for text in texts]
        if all(name in rows for name in names):
            found[memory] = [rows[name] for name in names]
    return found


@dataclass(frozen=True)
class Opened:
    """A file of ranks with its texts and what they are read with: `share` questions of each kind, rows by memory."""

    texts: tuple[Told, ...]
    sources: Sources
    share: int
    ranks: Mapping[str, Sequence[Mapping[str, Any]]]

    def shown(self, memory: str, i: int, budget: int = BUDGET) -> list[Shown]:
        """What a memory shows for the questions on the i-th text."""
        text = self.texts[i]
        return show(memory, text, asked(text, self.share), self.ranks[memory][i], self.sources, budget)


def opened(path: str | Path, data: str | Path | None = None) -> Opened:
    """A file of ranks by the command's own first line. Raises InputError for a file without memories for all its texts.

    >>> kept_of = opened("data/side_by_side/ranks.jsonl")                                   # doctest: +SKIP
    """
    about, _ = read(path)
    texts = texts_of(about["split"], about["books"], about["plays"])
    sources = sources_of(texts, data)
    ranks = kept_ranks(path, texts, sources, about["share"])
    if not ranks:
        raise InputError(f"{path} has no memory for all of {len(texts)} texts: python -m mindscape.side_by_side rank")
    return Opened(tuple(texts), sources, about["share"], ranks)


def prompts(role: str, text: Told, questions: Sequence[Question], shown: Sequence[Shown]) -> list[str]:
    """What the reader reads, in the role "choice" or "qa". Raises InputError for another role."""
    if role not in ROLES_ASKED:
        raise InputError(f"role={role!r}: expected one of {', '.join(ROLES_ASKED)}")
    made = []
    for question, one in zip(questions, shown, strict=True):
        slots = {"context": one.text, "question": question.question}
        slots |= {"options_str": letters(options(question)[0])} if role == "choice" else {}
        made.append(ROLES[role].prompt(text.document.language, **slots))
    return made


def marks(role: str, text: Told, questions: Sequence[Question], given: Sequence[Answer]) -> list[float]:
    """For each question whether the right option was named, or the F1 of a free answer; 0 for what cannot be read.

    >>> marks("qa", book, [question], [Answer(question.answer)])                            # doctest: +SKIP
    [1.0]
    """
    found = []
    for question, one in zip(questions, given, strict=True):
        said = value(role, *one.best)
        if said is None:
            found.append(0.0)
        elif role == "choice":
            found.append(float(said.answer == options(question)[1]))
        else:
            found.append(token_f1(said, [question.answer, *question.accepted], text.document.language))
    return found


# Costs and tests -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What it takes to make a memory of a text: calls of a model, tokens that it reads and writes, tokens that encoders read;
    and what has to be kept beside the text, in bytes."""

    calls: int = 0
    read: int = 0
    written: int = 0
    encoded: int = 0
    stored: int = 0


def building(memory: str, text: Told, sources: Sources) -> Cost:
    """About what a memory takes, before the first question.

    Counted are the text, the frames of the prompts, what is kept of the replies, and vectors of 384 or 576 numbers of four
    bytes. Of replies of which only a part is kept that part counts; gold summaries count as if a model had written them.
    """
    document, count = text.document, sources.count
    length, pieces = count(document.text), len(sources.spans(text))
    small, large = 4 * 384, 4 * 576
    if memory == "bm25":
        terms_of = sum(len(set(terms(document[span], document.language))) for span in sources.spans(text))
        return Cost(stored=8 * terms_of)
    if memory == "minilm":
        return Cost(encoded=length, stored=small * pieces)
    if memory in ("sft_emb", "mia_emb"):
        steered = _summing(text, sources, memory) if memory == "mia_emb" else Cost()
        return Cost(steered.calls, steered.read, steered.written, length, steered.stored + large * pieces)
    if memory in ("summary", "summary_reader"):
        return _summing(text, sources, memory)
    if memory in ("mia_rag", "mia_rag_reader"):
        of = _summing(text, sources, memory)
        return Cost(of.calls, of.read, of.written, length, of.stored + large * pieces)
    if memory == "signature":
        items = [item.text for item in sources.sessions(text).items]
        said, frame = sum(map(count, items)), _frame("session_summary", text, sources)
        stored = 2 * large * pieces + small * (pieces + len(items)) + _bytes(items)
        return Cost(len(items), length + len(items) * frame, said, 3 * length + said, stored)
    if memory == "graph":
        graph = _of(sources.graphs, document.id, memory)
        kept_texts = [*graph.texts, *(tie.description for tie in graph.relations)]
        calls, said = len(sources.spans(text, PASSAGE)), sum(map(count, kept_texts))
        read_of = length + calls * _frame("entities", text, sources)
        named = sum(map(count, graph.texts))
        return Cost(calls, read_of, said, named, _bytes(kept_texts) + large * len(graph.entities))
    if memory in ("units", "cores"):
        of = _of(sources.memories, document.id, memory)
        own = [*of.outline, *of.core]
        said, calls = sum(map(count, own)) + 20 * len(of.chunks), -(-length // 600)  # heads and tails; windows
        return Cost(
            calls,
            length + calls * _frame("memory", text, sources),
            said,
            length + sum(map(count, own)),
            _bytes(own) + 3 * small * len(of.chunks),
        )
    return Cost()


def _summing(text: Told, sources: Sources, memory: str) -> Cost:
    """A summary of summaries (MiA-RAG, Eq. 3 and 4) of passages of 400 tokens, of which each becomes 60 or so."""
    length, said = sources.count(text.document.text), sources.count(sources.summary(memory, text))
    calls = -(-length // 400)
    chunks, whole = (_frame(role, text, sources) for role in ("chunk_summary", "global_summary"))
    return Cost(
        calls + 1, length + calls * (chunks + 60) + whole, 60 * calls + said, 0, _bytes([sources.summary(memory, text)])
    )


def _frame(role: str, text: Told, sources: Sources) -> int:
    return sources.count(ROLES[role].prompts[text.document.language])


def _bytes(texts: Sequence[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def holm(p: ArrayLike) -> np.ndarray:
    """p-values corrected for their number by Holm's step-down method (1979), in the order given.

    The i-th smallest of m is multiplied by m - i + 1, and none may be below a smaller one's: so the chance of even one false
    alarm is bounded, however the tests hang together. Raises InputError for what is no p-value.

    >>> holm([0.01, 0.04, 0.03, 0.005]).round(3).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p, dtype=float)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("expected p-values in a row, each from 0 to 1")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(stepped, 1.0)
    return found


# The command ---------------------------------------------------------------------------------------------------------


def texts_of(split: str, count: int = 10, plays: Sequence[str] = ()) -> list[Told]:
    """The first novels of a split, or plays. Raises InputError for a split or a play that there is not."""
    return [play(name) for name in plays] if plays else list(books(split)[:count])


def sources_of(texts: Sequence[Told], folder: str | Path | None = None) -> Sources:
    """What the other notebooks' kept data hold on these texts, under `folder` (`data`): summaries, graphs, memories."""
    folder, tokenizer = Path(folder or paths.data()), AutoTokenizer.from_pretrained(assets.language_model())
    file = folder / "summaries" / "reader.jsonl"
    summaries = kept_summaries(file) if file.exists() else {}
    names = [text.document.id for text in texts]
    graphs, file = {}, folder / "graphrag" / "graphs.jsonl"
    if file.exists() and all(isinstance(text, Book) for text in texts):
        replies_of = Kept.of(file, "embedded", llm.READER)
        for text in texts:
            chunks = passages.cut(text, tokenizer, PASSAGE)
            slots = [{"text": text.document[chunk].strip()} for chunk in chunks]
            shown = [ROLES["entities"].prompt(text.document.language, **one) for one in slots]
            if not replies_of.lacks("entities", shown):
                graphs[text.document.id] = build(None, replies_of, text.document, chunks)  # nothing is asked
    memories, file = {}, folder / "mom" / "memories.jsonl"
    if file.exists():
        rows = read(file)[1]
        memories = {name: DocumentMemory.restored(rows[name]) for name in names if name in rows}
    return Sources(tokenizer, {name: summaries[name] for name in names if name in summaries}, graphs, memories)


def add_replies(
    path: str | Path,
    model: llm.LanguageModel,
    about: Kept,
    texts: Sequence[Told],
    sources: Sources,
    share: int = SHARE,
    budget: int = BUDGET,
    batch: int = 16,
    tell: Callable[[str], None] = print,
) -> None:
    """The reader's replies for every memory whose ranks are in the file `path`: choices to all questions, free answers to
    those of `compared`. Raises LLMError if the model fails, after which the same call goes on."""
    rows = kept_ranks(path, texts, sources, share)
    for i, text in enumerate(texts):
        questions = asked(text, share)
        few = {question.id for question in compared(text)}
        for memory, found in rows.items():
            shown = show(memory, text, questions, found[i], sources, budget)
            replies(model, about, "choice", prompts("choice", text, questions, shown), batch)
            some = [(question, one) for question, one in zip(questions, shown, strict=True) if question.id in few]
            free = prompts("qa", text, [question for question, _ in some], [one for _, one in some])
            replies(model, about, "qa", free, batch)
        tell(f"{text.document.id}: {len(rows)} memories, {len(questions)} questions")


def main() -> None:
    """Find with every memory, or ask the reader with what was found. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.side_by_side", description=main.__doc__)
    told.add_argument("what", choices=["rank", "answer"])
    told.add_argument("--out", required=True, help="the folder of ranks and replies")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--plays", default="", help="plays instead of novels, with commas; files are then plays_...")
    told.add_argument("--share", type=int, default=SHARE, help="questions of each kind on a text")
    told.add_argument("--data", default="", help="folder with graphrag, mom and summaries; the kit's own by default")
    told.add_argument("--llm", default="embedded", help="the reader, as mindscape.llm.load has it")
    told.add_argument("--dtype", default="float32", help="precision of models on this machine")
    told.add_argument("--batch", type=int, default=16, help="rows that the reader reads at once")
    try:
        _run(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> None:
    names = given.plays.split(",") if given.plays else []
    texts, folder, start = texts_of(given.split, given.books, names), Path(given.out), "plays_" if given.plays else ""
    sources, ranks = sources_of(texts, given.data or None), folder / f"{start}ranks.jsonl"
    if given.what == "rank":
        about = {"split": given.split, "books": given.books, "plays": names, "share": given.share, "dtype": given.dtype}
        for name in ("sft_emb", "mia_emb"):
            about[name] = adapter_hash(paths.data("adapters", name))
        add_ranks(ranks, about, texts, sources, Loaded(given.dtype), given.share)
        return
    local = {} if given.llm.startswith(("openai:", "replay:")) else {"dtype": given.dtype, "batch_size": given.batch}
    model = llm.load(given.llm, **local)
    adapter = llm.READER if given.llm == "embedded" else None
    kept_of = Kept.of(folder / f"{start}replies.jsonl", given.llm, adapter, given.dtype if local else "unknown")
    add_replies(ranks, model, kept_of, texts, sources, given.share, batch=given.batch)


if __name__ == "__main__":
    main()
