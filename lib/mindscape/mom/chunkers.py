"""Ways to cut a document into chunks, under one interface and at one mean length (MoM, section 4.1 and appendix A.3).

    Fixed         windows of tokens, wherever they end                                    the paper's "Original"
    Sentences     whole sentences, as many as fit                                         ours
    LlamaIndex    the same by LlamaIndex's SentenceSplitter, where it is installed        "Llama_index"
    Semantic      borders where neighbouring sentences are furthest apart for an encoder  "Semantic Chunking"
    Lumber        a model says at which paragraph the subject changes                     LumberChunker
    Listing       a model lists all chunks by their first and last words                  "Qwen2.5-14B", MoC's MetaChunker
    Remembered    the chunks of a document memory                                         MoM

`chunker.cut(document, size)` gives chunks that tile the document, whatever a model replies, with about
tokens(document) / size of them: longer chunks hold more evidence each, so ways to cut compare only at one mean length. Rules
meet it by their own knob. Models cut as they see fit (`size=None`); for a given size `evened` merges or splits, and counts it.

Taught in notebook 40_memory_extraction, used in 42_three_layer_retrieval. Overlaps, headings and tables are not known here.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from mindscape import llm, prompts, store
from mindscape.cache import digest
from mindscape.errors import InputError, require
from mindscape.llm import LLM
from mindscape.llm.base import dropped
from mindscape.llm.schema import read
from mindscape.mom.extraction import text_windows
from mindscape.mom.memory import DocumentMemory, tile
from mindscape.roles import ends_of
from mindscape.store import Maker
from mindscape.text import Chunk, Document, Place, Span, Tokenizer, sentences, split_sentences, split_tokens, token_ids

if TYPE_CHECKING:  # PyTorch comes with it, and the rules do without
    from mindscape.encoders import Encoder

Read = Callable[[Document], DocumentMemory]
SIZE = 200  # tokens of a chunk, on average
LIST = {"title": "a list of chunks", "type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
LISTED, SHIFT = prompts.languages("mom", "listing"), prompts.languages("mom", "lumber")


@dataclass(frozen=True)
class Cut:
    """Chunks that tile a document, and what had to be done for it: repairs, replies that were no use, merges and splits."""

    chunks: tuple[Chunk, ...]
    counts: Counter[str] = field(default_factory=Counter)


class Chunker(Protocol):
    """What a notebook asks of each of them."""

    @property
    def name(self) -> str: ...

    def cut(self, document: Document, size: int | None = SIZE) -> Cut: ...


def length(text: str, tokenizer: Tokenizer) -> int:
    """Tokens of a text by itself."""
    return len(token_ids(text, tokenizer))


def mean_length(document: Document, chunks: Sequence[Place], tokenizer: Tokenizer) -> float:
    """The mean number of tokens of the chunks, each encoded by itself."""
    return float(np.mean([length(document[chunk], tokenizer) for chunk in chunks]))


def wanted(document: Document, size: int | None, tokenizer: Tokenizer) -> int:
    """How many chunks have a mean length of `size` tokens: at least one. Raises InputError for a size below 1, and for none."""
    require(size is not None, "size=None: a rule has no length of its own; expected tokens a chunk")
    require(size >= 1, f"size={size}: expected at least one token a chunk")
    return max(1, round(length(document.text, tokenizer) / size))


def at_borders(document: Document, borders: Sequence[int]) -> tuple[Chunk, ...]:
    """The chunks between borders, which come in any order; one with nothing but blanks on a side of it is passed over.

    Raises InputError for a document without text.

    >>> note = Document("note", "It rained. Ivo left.")
    >>> [note[chunk] for chunk in at_borders(note, [11, 10])]
    ['It rained.', ' Ivo left.']
    """
    require(document.text.strip(), f"document {document.id!r} has no text: expected some to be cut into chunks")
    kept = [0]
    for border in sorted(set(borders)):
        if document.text[kept[-1] : border].strip() and document.text[border:].strip():
            kept.append(border)
    return tuple(Chunk(document.id, i, *ends) for i, ends in enumerate(pairwise([*kept, len(document.text)])))


def evened(document: Document, chunks: Sequence[Place], n: int) -> Cut:
    """About as many chunks as `n`: neighbours that are shortest together are merged, the longest is split at the end of a
    sentence near its middle. As many as there are sentences, at most.

    >>> note = Document("note", "It rained. Ivo left. Ann and all the others stayed behind.")
    >>> made = evened(note, [Span(0, 11), Span(11, 21), Span(21, 58)], 2)
    >>> [note[chunk] for chunk in made.chunks], dict(made.counts)
    (['It rained. Ivo left. ', 'Ann and all the others stayed behind.'], {'merged': 1})
    """
    borders, counts = [0, *(chunk.end for chunk in chunks)], Counter()
    while len(borders) - 1 > n:
        joint = [borders[i + 1] - borders[i - 1] for i in range(1, len(borders) - 1)]
        del borders[1 + int(np.argmin(joint))]
        counts["merged"] += 1
    inner = [chunk.start for chunk in at_borders(document, _sentence_ends(document))[1:]]
    while len(borders) - 1 < n:
        cuts = []
        for start, end in pairwise(borders):
            text = document.text[start:end]
            first, last = start + len(text) - len(text.lstrip()), start + len(text.rstrip())
            places = inner[bisect_right(inner, first) : bisect_left(inner, last)]  # neither side is blank
            if places:
                cuts.append((end - start, min(places, key=lambda at: abs(2 * at - start - end))))
        if not cuts:
            break
        borders = sorted([*borders, max(cuts)[1]])
        counts["split"] += 1
    return Cut(at_borders(document, borders[1:-1]), counts)


def _sentence_ends(document: Document) -> list[int]:
    return [span.end for span in sentences(document.text, document.language)]


# Rules -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    """What a rule has as its only knob is a limit of tokens: the number of chunks that is wanted tells where it stands."""

    tokenizer: Tokenizer

    def borders(self, document: Document, limit: int) -> Sequence[int]:
        """The borders of chunks of at most so many tokens."""
        raise NotImplementedError

    def cut(self, document: Document, size: int | None = SIZE) -> Cut:
        """The cut whose number of chunks is nearest to the one that is wanted.

        Raises InputError for a size below 1, none, and a document without text.
        """
        n, best = wanted(document, size, self.tokenizer), None
        low, high = max(1, size // 2), 4 * size
        while low <= high:
            limit = (low + high) // 2
            chunks = at_borders(document, self.borders(document, limit))
            if best is None or abs(len(chunks) - n) < abs(len(best) - n):
                best = chunks
            if len(chunks) == n:
                break
            low, high = (limit + 1, high) if len(chunks) > n else (low, limit - 1)
        return Cut(best)


@dataclass(frozen=True)
class Fixed(_Rule):
    """Windows of as many tokens each, wherever they end."""

    name: str = "fixed"

    def borders(self, document: Document, limit: int) -> Sequence[int]:
        return [chunk.end for chunk in split_tokens(document, self.tokenizer, limit, 0)]


@dataclass(frozen=True)
class Sentences(_Rule):
    """Whole sentences, as many as fit into a limit."""

    name: str = "sentences"

    def borders(self, document: Document, limit: int) -> Sequence[int]:
        return [chunk.end for chunk in split_sentences(document, self.tokenizer, limit)]


@dataclass(frozen=True)
class LlamaIndex(_Rule):
    """LlamaIndex's SentenceSplitter without overlap, its tokens counted by our tokenizer.

    llama-index-core comes with the extra `peers`; where it is missing, an InputError says so.
    """

    name: str = "llama_index"

    def borders(self, document: Document, limit: int) -> Sequence[int]:
        try:
            splitter = import_module("llama_index.core.node_parser").SentenceSplitter
        except ImportError as error:
            missing = "LlamaIndex's splitter needs llama-index-core: pip install it, or take Sentences, nearly the same"
            raise InputError(missing) from error
        count = partial(token_ids, tokenizer=self.tokenizer)
        pieces = splitter(chunk_size=limit, chunk_overlap=0, tokenizer=count).split_text(document.text)
        return _starts(document.text, pieces)


def _starts(text: str, pieces: Sequence[str]) -> list[int]:
    """Where pieces of a text begin that follow each other; blanks at their ends may be lost."""
    starts, behind = [], 0
    for piece in pieces:
        at = text.find(piece.strip(), behind)
        if at >= 0:
            starts.append(at)
            behind = at + len(piece.strip())
    return starts


@dataclass(frozen=True)
class Semantic:
    """Borders where neighbouring sentences are furthest apart; as many borders as the size asks for, and so the threshold.

    A sentence is read with `buffer` sentences on both sides, as LlamaIndex's semantic splitter does. Raises as the rules do.
    """

    encoder: "Encoder"
    tokenizer: Tokenizer
    buffer: int = 1
    name: str = "semantic"

    def cut(self, document: Document, size: int | None = SIZE) -> Cut:
        n = wanted(document, size, self.tokenizer)
        parts = at_borders(document, _sentence_ends(document))
        apart = self.distances([document[part] for part in parts])
        furthest = np.argsort(-apart, kind="stable")[: n - 1]
        return Cut(at_borders(document, [parts[i].end for i in furthest]))

    def distances(self, texts: Sequence[str]) -> np.ndarray:
        """1 - cos between the vectors of each sentence and the next, shape (sentences - 1,)."""
        shown = ["".join(texts[max(0, i - self.buffer) : i + self.buffer + 1]).strip() for i in range(len(texts))]
        vectors = self.encoder.encode(shown)
        return 1 - (vectors[:-1] * vectors[1:]).sum(1)


# Models ------------------------------------------------------------------------------------------------------------


def _finished(document: Document, cut: Cut, size: int | None, tokenizer: Tokenizer) -> Cut:
    """As the model cut it, or evened to a size."""
    if size is None:
        return cut
    even = evened(document, cut.chunks, wanted(document, size, tokenizer))
    return Cut(even.chunks, cut.counts + even.counts)


def paragraphs(document: Document) -> list[Span]:
    """Paragraphs that tile a document: between blank lines; else, where there is only one, lines; else sentences.

    >>> note = Document("note", "It rained.\\n\\nIvo left.\\nAnn stayed.")
    >>> [note[span] for span in paragraphs(note)]
    ['It rained.\\n\\n', 'Ivo left.\\nAnn stayed.']
    """
    for pattern in (r"\n\s*\n", r"\n"):
        chunks = at_borders(document, [match.end() for match in re.finditer(pattern, document.text)])
        if len(chunks) > 1:
            break
    else:
        chunks = at_borders(document, _sentence_ends(document))
    return [Span(chunk.start, chunk.end) for chunk in chunks]


@dataclass(frozen=True)
class Lumber:
    """LumberChunker (Duarte et al., 2024): paragraphs with numbers, and where does the content turn?

    Paragraphs are shown until they have `theta` tokens, by default twice the size, or 400. The one that the model names begins
    the next group. What is left at the end and fits into one group is a chunk. `by="reply"` reads the model's words; an answer
    that names no paragraph shown is counted and the whole group becomes a chunk. `by="score"` takes the likeliest of the
    answers there are: for models too small to keep to a form.
    """

    model: LLM
    tokenizer: Tokenizer
    theta: int | None = None
    by: Literal["reply", "score"] = "reply"
    name: str = "lumber"

    def __post_init__(self):
        require(self.by in ("reply", "score"), f"by={self.by!r}: expected reply or score")

    def cut(self, document: Document, size: int | None = SIZE) -> Cut:
        theta = self.theta or 2 * (size or SIZE)
        units = paragraphs(document)
        ends = [0, *accumulate(length(document[unit], self.tokenizer) for unit in units)]  # in tokens
        starts, counts = [0], Counter()
        while ends[-1] - ends[starts[-1]] > theta:
            first = starts[-1]
            last = max(first + 2, bisect_right(ends, ends[first] + theta) - 1)  # the first paragraph that is not shown
            if last > len(units):
                break
            turn = self._turn(document, units, first, last)
            if turn is None:
                counts["no answer"] += 1
            if (turn or last) >= len(units):
                break
            starts.append(turn or last)
        cut = Cut(at_borders(document, [units[i].start for i in starts]), counts)
        return _finished(document, cut, size, self.tokenizer)

    def _turn(self, document: Document, units: Sequence[Span], first: int, last: int) -> int | None:
        """The number of the paragraph where the content turns, after `first` and before `last`; None without an answer."""
        shown = "\n".join(f"ID {i:04d}: {' '.join(document[units[i]].split())}" for i in range(first, last))
        prompt = SHIFT["zh" if document.language == "zh" else "en"].format(first=f"{first:04d}", paragraphs=shown)
        talk = [{"role": "user", "content": prompt}]
        choices = range(first + 1, last)
        if self.by == "score":
            scores = self.model.score(talk, [f"Answer: ID {i:04d}" for i in choices])
            return max(zip(scores, choices, strict=True), key=lambda pair: (pair[0].logprob, -pair[1]))[1]
        try:
            match = re.search(r"ID\s*(\d+)", dropped(self.model.chat(talk, max_new_tokens=24).text)[0])
        except ValueError:  # it thinks to its end
            return None
        return int(match[1]) if match and int(match[1]) in choices else None


@dataclass(frozen=True)
class Listing:
    """A model lists the chunks of a window by their first and last words; the windows are cut at the ends of sentences.

    `prompts` has {document} in it. `held`: decoding is held to a JSON list, where the backend can do that. A window whose
    reply is no list is one chunk, counted as "not read"; what else is wrong is mended by the rules of `memory.tile`.
    """

    model: LLM
    tokenizer: Tokenizer
    prompts: Mapping[str, str] = field(default_factory=lambda: LISTED)
    window: int | None = None
    max_new_tokens: int = 512
    held: bool = True
    name: str = "llm"

    def cut(self, document: Document, size: int | None = SIZE) -> Cut:
        """Raises InputError for a language without a prompt and a document without text."""
        known = ", ".join(self.prompts)
        require(document.language in self.prompts, f"no prompt in {document.language!r}: expected one of {known}")
        parts = text_windows(document, self.tokenizer, self.window)
        prompt = self.prompts[document.language]
        talks = [[{"role": "user", "content": prompt.replace("{document}", document[part].strip())}] for part in parts]
        replies = self.model.chat(talks, schema=LIST if self.held else None, max_new_tokens=self.max_new_tokens)
        borders, counts = [], Counter()
        for part, reply in zip(parts, replies, strict=True):
            try:
                listed, repairs = read(reply.text, LIST)
            except ValueError:
                listed, repairs = [], ["not read"]
            tiling = tile(Document("window", document[part], document.language), [ends_of(chunk) for chunk in listed])
            borders += [part.start + chunk.start for chunk in tiling.chunks]
            counts.update(repairs)
            counts.update(tiling.repairs)
        return _finished(document, Cut(at_borders(document, borders), counts), size, self.tokenizer)


def meta_chunker(
    source: str, *, prompts: Mapping[str, str] = LISTED, window: int | None = None, max_new_tokens: int = 512, **options
) -> Listing:
    """MoC's MetaChunker (Zhao et al., 2025), a small model tuned to list chunks: "hf:NAME_OR_FOLDER", or another model.

    It does best with the words that it was tuned with, which its owners publish beside the weights: hand them over as
    `prompts`, {"zh": "... {document} ..."}. `window` and `max_new_tokens` are those of `Listing`, `options` go to `llm.load`.
    Of MoC's four experts and their router, this is one expert. Raises as `llm.load` does, and InputError for a model that is
    not on this machine, whose tokens cannot be counted.
    """
    model = llm.load(source, **options)
    tokenizer = getattr(model.backend, "tokenizer", None)
    require(tokenizer is not None, f"{source!r} is not on this machine: take Listing with a tokenizer of your own")
    return Listing(model, tokenizer, prompts, window, max_new_tokens, held=False, name="moc")


@dataclass(frozen=True)
class Remembered:
    """The chunks of a document memory; `read` makes one of a document, as `extraction.extract` does."""

    read: Read
    tokenizer: Tokenizer
    name: str = "mom"

    def cut(self, document: Document, size: int | None = SIZE) -> Cut:
        return _finished(document, Cut(at_borders(document, self.read(document).borders)), size, self.tokenizer)


# All of them ------------------------------------------------------------------------------------------------------


def rivals(tokenizer: Tokenizer, encoder: "Encoder", judge: LLM, read: Read, gold: Read) -> dict[str, Chunker]:
    """The ways to cut that notebooks 40 and 42 compare, by name.

    `judge` says where the subject changes and lists chunks, `read` makes a memory of a document, and `gold` knows the true one:
    "scenes".
    """
    return {
        "fixed": Fixed(tokenizer),
        "llama_index": LlamaIndex(tokenizer),
        "semantic": Semantic(encoder, tokenizer),
        "lumber": Lumber(judge, tokenizer, by="score"),
        "llm": Listing(judge, tokenizer, max_new_tokens=256),  # a model that keeps to the form needs fewer
        "mom": Remembered(read, tokenizer),
        "scenes": Remembered(gold, tokenizer, "scenes"),
    }


def cuts(chunker: Chunker, documents: Sequence[Document], size: int | None = SIZE) -> list[Cut]:
    """What a chunker makes of each document. What a model, an encoder or another package is needed for is in the store.

    >>> cuts(Lumber(model, tokenizer, by="score"), [book])                                       # doctest: +SKIP
    [Cut(chunks=(Chunk(doc_id='book', index=0, start=0, end=811), ...
    """
    if isinstance(chunker, Fixed | Sentences | Remembered):
        return [chunker.cut(document, size) for document in documents]
    settings = {"size": size} | _settings(chunker)
    keys = [settings | {"language": document.language, "text": digest(document.text)} for document in documents]

    def compute(place: int) -> dict[str, Any]:
        cut = chunker.cut(documents[place], size)
        return {"starts": [chunk.start for chunk in cut.chunks], "counts": dict(cut.counts)}

    by = getattr(chunker, "model", None) or getattr(chunker, "encoder", None)
    maker = by.maker if by else Maker(chunker.name, {"chunker": chunker.name}, here=bool(find_spec("llama_index")))
    pairs = zip(documents, store.current().fetch("cut", maker, keys, store.each(compute)), strict=True)
    return [Cut(at_borders(document, row["starts"][1:]), Counter(row["counts"])) for document, row in pairs]


def _settings(chunker: Any) -> dict[str, Any]:
    """What decides a cut beside the document, its size and the model."""
    given = {knob.name: getattr(chunker, knob.name) for knob in fields(chunker)}
    rules = json.loads(chunker.tokenizer.backend_tokenizer.to_str()) | {"padding": None, "truncation": None}
    plain = {name: value for name, value in given.items() if isinstance(value, str | int | Mapping | None)}
    wording = {"prompts": digest(SHIFT)} if isinstance(chunker, Lumber) else {}
    return plain | {"chunker": chunker.name, "tokenizer": digest(rules)} | wording
