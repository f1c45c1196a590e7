r"""The memory of a document: an outline, core contents and chunks that tile the text (MoM, section 3.1.1).

A model gives a chunk by its first and its last words, "head [MASK] tail" (Table 4), and may be wrong about either. `tile`
makes spans out of whatever was said, and they always tile the document. One rule decides, *a chunk begins where its first
words stand and lasts until the next one begins*; `RULES` names what else happens, and each time is counted. `resolve` does
the same for a whole reply, `said` is the way back, `join` puts the memories of a text's parts together.

Taught in notebooks 40_memory_extraction and 41_memreader. This module asks no model and scores nothing.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

from mindscape import corpora, paths, prompts, trail
from mindscape import roles as role
from mindscape.errors import InputError, require
from mindscape.question import Question
from mindscape.text import Document, Place, Span, locate, sentences

CLOSING = ".,;:!?…)]。，；：！？）】”’」』"
RULES = prompts.short_texts("mom", "terms")["rules"]


@dataclass(frozen=True)
class DocumentMemory:
    """M_doc = {O, C, A}: n topics, n core contents and n spans, which follow each other from 0 on without a gap.

    Raises InputError where the three are not of one length, are none, hold a blank text, or spans do not follow each other.

    >>> memory = DocumentMemory(["rain", "home"], ["It rained.", "Ivo went home."], [Span(0, 11), Span(11, 25)])
    >>> len(memory), memory.borders
    (2, (11,))
    """

    outline: tuple[str, ...]
    core: tuple[str, ...]
    chunks: tuple[Span, ...]

    def __post_init__(self):
        for name in ("outline", "core", "chunks"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        sizes = [len(self.outline), len(self.core), len(self.chunks)]
        fits = len(set(sizes)) == 1 and self.chunks
        require(fits, f"{sizes} topics, core contents and chunks: expected one number of each, at least 1")
        if blank := [name for name in ("outline", "core") if not all(text.strip() for text in getattr(self, name))]:
            raise InputError(f"{blank[0]} holds a blank text: expected one for each chunk")
        if not _follow(self.chunks):
            raise InputError(f"chunks {self.chunks}: expected the first from 0 and each from where the one before ends")

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def borders(self) -> tuple[int, ...]:
        """Where the second chunk begins, the third and so on."""
        return tuple(chunk.start for chunk in self.chunks[1:])


@dataclass(frozen=True)
class Tiling:
    """Spans that tile a document, for each the indices of what was said of it, and how often each of `RULES` was needed."""

    chunks: tuple[Span, ...]
    groups: tuple[tuple[int, ...], ...]
    repairs: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Resolved:
    """A memory, and how often what was mended to make it of a reply, or of several: `RULES`, and what their reader adds."""

    memory: DocumentMemory
    repairs: Counter[str] = field(default_factory=Counter)


def tiles(document: Document, chunks: Sequence[Place]) -> bool:
    """Whether the chunks follow each other from the beginning of the document to its end, none of them empty.

    >>> tiles(Document("note", "It rained."), [Span(0, 3), Span(3, 10)])
    True
    """
    return bool(chunks) and _follow(chunks) and chunks[-1].end == len(document.text)


def tile(document: Document, ends: Sequence[tuple[str, str]]) -> Tiling:
    """Spans that tile the document, from the first and last words of chunks as a model said them. They never fail to tile.

    A head is looked for behind the head of the chunk before, and where it is not there in the whole text; a tail behind its
    head, as near as can be to the next one; both as `text.locate` does. Without ends the document is one chunk. Raises
    InputError for a document without text.

    >>> note = Document("note", "It rained all day. The mill stood still. Then Ivo went home.")
    >>> tiling = tile(note, [("It rained", "all day."), ("Then Ivo", "went home.")])
    >>> [note[chunk] for chunk in tiling.chunks], dict(tiling.repairs)
    (['It rained all day. The mill stood still. ', 'Then Ivo went home.'], {'gap': 1})
    """
    text, repairs = document.text, Counter()
    require(text.strip(), f"document {document.id!r} has no text: expected some to be cut into chunks")
    ends = [(_known(head), _known(tail)) for head, tail in ends]
    starts, stops = _places(text, ends, repairs)
    groups = _groups(starts, repairs)
    borders = [0, *(start for start, _ in groups[1:]), len(text)]
    for (start, members), end in zip(groups, borders[1:], strict=True):
        stop = max([stops[i] for i in members if stops[i] is not None and starts[i] == start], default=end)
        if _words(text[min(stop, end) : max(stop, end)]):  # between where it was said to end and where it does
            repairs["ends early" if end == len(text) else "gap" if stop < end else "overlap"] += 1
    if ends and _words(text[: groups[0][0]]):
        repairs["begins late"] += 1
    spans = tuple(Span(start, end) for start, end in pairwise(borders))
    return Tiling(spans, tuple(tuple(sorted(members)) for _, members in groups), repairs)


def resolve(document: Document, said: role.DocumentMemory | role.Extracted) -> Resolved:
    """The memory that a reply means, in places of the document; n is the number of chunks that could be told apart.

    Raises InputError for a document without text.

    >>> note = Document("note", "It rained all day. Then Ivo went home.")
    >>> rain, home = role.Scenario(chunk="It [MASK] day.", core="Rain."), role.Scenario(chunk="Then [MASK] home.", core="Home.")
    >>> resolved = resolve(note, role.Extracted(outline=["The weather", "The way", "The end"], scenario=[rain, home]))
    >>> resolved.memory.outline, resolved.memory.borders, dict(resolved.repairs)
    (('The weather', 'The way'), (19,), {'topic left over': 1})
    """
    tiling = tile(document, [scenario.ends for scenario in said.scenario])
    repairs, outline, core = tiling.repairs, [], []
    topics = [topic.strip() for topic in said.outline]
    for chunk, group in zip(tiling.chunks, tiling.groups, strict=True):
        content = _joined((said.scenario[i].core for i in group), document.language)
        topic = _joined((topics[i] for i in group if i < len(topics)), document.language, "; ")
        if not topic:
            repairs["topic missing"] += 1
            topic = _first_sentence(content or document[chunk], document.language)
        if not content:
            repairs["core missing"] += 1
        outline.append(topic)
        core.append(content or topic)
    if len(topics) > len(said.scenario):
        repairs["topic left over"] += len(topics) - len(said.scenario)
    return Resolved(DocumentMemory(tuple(outline), tuple(core), tiling.chunks), repairs)


def whole(document: Document) -> DocumentMemory:
    """The memory that says nothing: one chunk, with its first sentence for topic and core content. Errors as in `tile`.

    >>> whole(Document("note", "It rained. Ivo went home.")).outline
    ('It rained.',)
    """
    return resolve(document, role.Extracted.model_construct(outline=[], scenario=[])).memory


def said(document: Document, memory: DocumentMemory) -> role.Extracted:
    """The reply that means a memory: each chunk by its first and last words, as `roles.memory.ends` takes them.

    "<" becomes "‹", for the reply is in tags. Raises InputError where the chunks do not tile the document, or one is blank.

    >>> note = Document("note", "It rained all day on the old mill. Then Ivo and Ann went home.")
    >>> memory = DocumentMemory(["Rain", "Home"], ["Rain.", "They left."], [Span(0, 35), Span(35, 62)])
    >>> said(note, memory).scenario[1].chunk
    'Then Ivo and Ann went [MASK] Ivo and Ann went home.'
    """
    require(tiles(document, memory.chunks), f"the chunks of the memory do not tile document {document.id!r}")
    if blank := [i for i, chunk in enumerate(memory.chunks) if not document[chunk].strip()]:
        raise InputError(f"chunk {blank[0]} of document {document.id!r} is blank: expected some words in each")
    language = "zh" if document.language == "zh" else "en"
    between = role.MASK if language == "zh" else f" {role.MASK} "
    scenarios = []
    for chunk, core in zip(memory.chunks, memory.core, strict=True):
        head, tail = role.ends(document[chunk], language)
        scenarios.append(role.Scenario(chunk=_bare(f"{head}{between}{tail}"), core=_bare(core)))
    return role.Extracted(outline=[" ".join(_bare(topic).split()) for topic in memory.outline], scenario=scenarios)


def join(document: Document, parts: Sequence[Place], memories: Sequence[DocumentMemory]) -> DocumentMemory:
    """The memory of a document of which `memories[i]` is that of `parts[i]`; the parts tile the document.

    Raises InputError where they do not, or a memory does not tile its part.

    >>> note = Document("note", "It rained. Ivo went home.")
    >>> parts = [Span(0, 11), Span(11, 25)]
    >>> join(note, parts, [whole(Document("part", note[part])) for part in parts]).chunks
    (Span(start=0, end=11), Span(start=11, end=25))
    """
    pairs = list(zip(parts, memories, strict=True))
    spans = tuple(Span(part.start + span.start, part.start + span.end) for part, memory in pairs for span in memory.chunks)
    require(tiles(document, spans), f"{len(memories)} memories of parts do not tile document {document.id!r} together")
    outline, core = (tuple(chain(*lists)) for lists in zip(*((m.outline, m.core) for m in memories), strict=True))
    return DocumentMemory(outline, core, spans)


def excerpt(document: Document, memory: DocumentMemory, first: int, last: int) -> tuple[Document, DocumentMemory]:
    """The chunks `first` to `last` (not included) as a document of their own, and their memory; blanks at its end are cut.

    >>> note = Document("note", "It rained. Ivo left. Ann stayed.")
    >>> memory = DocumentMemory("abc", "abc", [Span(0, 11), Span(11, 21), Span(21, 32)])
    >>> part, its = excerpt(note, memory, 1, 3)
    >>> part.id, part.text, its.borders
    ('note:1-3', 'Ivo left. Ann stayed.', (10,))
    """
    chunks = memory.chunks[first:last]
    require(chunks, f"chunks {first} to {last} of {len(memory)}: expected at least one")
    start = chunks[0].start
    text = document.text[start : chunks[-1].end].rstrip()
    spans = [Span(chunk.start - start, min(chunk.end - start, len(text))) for chunk in chunks]
    part = Document(f"{document.id}:{first}-{last}", text, document.language, document.meta)
    return part, DocumentMemory(memory.outline[first:last], memory.core[first:last], tuple(spans))


@dataclass(frozen=True)
class Sample:
    """A text of the kit with the memory that was written for it, and questions on it; `breadth` is local or global."""

    document: Document
    memory: DocumentMemory
    questions: tuple[Question, ...]


def samples() -> list[Sample]:
    """The texts in `data/texts`: two manuals and two news pieces, en and zh.

    >>> [(len(sample.memory), sample.document.language) for sample in samples()]
    [(9, 'en'), (7, 'zh'), (9, 'en'), (8, 'zh')]
    """
    texts = []
    for row in map(json.loads, trail.lines(paths.data("texts", "memories.jsonl"))):
        document = corpora.document(paths.data("texts", f"{row['id']}.md"), row["language"])
        questions = tuple(_question(document, i, row_of) for i, row_of in enumerate(row["questions"]))
        memory = DocumentMemory(row["outline"], row["core"], tuple(Span(**chunk) for chunk in row["chunks"]))
        texts.append(Sample(document, memory, questions))
    return texts


def _question(document: Document, number: int, row: Mapping[str, Any]) -> Question:
    starts = [(document.text.index(quote), len(quote)) for quote in (row["evidence"], *row["further"])]
    places = sorted(Span(start, start + length) for start, length in starts)
    fields = (f"{document.id}-{number}", document.id, row["question"], row["answer"], (), ())
    return Question(*fields, tuple(places), row["scope"], "")


def _follow(chunks: Sequence[Place]) -> bool:
    starts = [0, *(chunk.end for chunk in chunks)]
    return all(chunk.start == start < chunk.end for chunk, start in zip(chunks, starts, strict=False))


def _known(words: str) -> str:
    """Words that can be looked for: a reply out of JSON may hold half a surrogate pair, no document does."""
    return words.encode("utf-8", "replace").decode("utf-8").strip()


def _bare(text: str) -> str:
    return text.replace("<", "‹")


def _find(words: str, text: str, start: int, near: int | None = None) -> Span | None:
    """Where words stand from `start` on; of several places the one nearest to `near`, by default the first."""
    if not words or not text[start:].strip():
        return None
    place = locate(words, Document("shown", text[start:]), None if near is None else max(0, near - start))
    return place and Span(start + place.start, start + place.end)


def _heads(text: str, heads: Sequence[str]) -> list[Span | None]:
    places, behind = [], 0
    for head in heads:
        place = _find(head, text, behind) or (_find(head, text, 0) if behind else None)
        behind = place.end if place else behind
        places.append(place)
    return places


def _places(text: str, ends: Sequence[tuple[str, str]], repairs: Counter[str]) -> tuple[list[int | None], list[int | None]]:
    """Where each chunk begins and ends, as far as that can be told; counts what cannot."""
    heads = _heads(text, [head for head, _ in ends])
    starts: list[int | None] = []
    stops: list[int | None] = []
    behind = 0
    for i, (head, (_, tail)) in enumerate(zip(heads, ends, strict=True)):
        start = head.start if head else _after(text, stops[-1] if stops else 0)
        if not head:
            repairs["head not found"] += 1
        behind = behind if start is None else start
        following = next((place.start for place in heads[i + 1 :] if place and place.start > behind), len(text))
        place = _find(tail, text, behind, near=following - len(tail))
        if not place:
            repairs["ends reversed" if _find(tail, text[:behind], 0) else "tail not found"] += 1
        starts.append(start)
        stops.append(place.end if place else None)
    return starts, stops


def _after(text: str, stop: int | None) -> int | None:
    """The first character behind `stop` that begins something: neither blank nor what closes a sentence, which a model may have
    left off its tail. None where there is none, or no `stop`."""
    if stop is None:
        return None
    return next((i for i in range(stop, len(text)) if not text[i].isspace() and text[i] not in CLOSING), None)


def _groups(starts: Sequence[int | None], repairs: Counter[str]) -> list[tuple[int, list[int]]]:
    """The chunks in the order of the text, at least one: where each begins, and the indices of what was said of it."""
    groups: dict[int, list[int]] = {}
    last, waiting = None, []  # where the chunk said before begins; what was said before the first that has a place
    for i, start in enumerate(starts):
        if start is None:
            repairs["unplaced"] += 1
            (waiting if last is None else groups[last]).append(i)
            continue
        if start in groups:
            repairs["same place"] += 1
        elif last is not None and start < last:
            repairs["out of order"] += 1
        groups.setdefault(start, []).append(i)
        last = start
    (_, first), *_ = in_order = sorted(groups.items()) or [(0, [])]
    first += waiting
    return in_order


def _words(text: str) -> bool:
    """Whether a text is more than blanks and punctuation."""
    return any(character.isalnum() for character in text)


def _joined(texts: Iterable[str], language: str, between: str = " ") -> str:
    """The texts that are not blank, each once."""
    kept = dict.fromkeys(text.strip() for text in texts if text.strip())
    return ("；" if between == "; " else "").join(kept) if language == "zh" else between.join(kept)


def _first_sentence(text: str, language: str) -> str:
    spans = sentences(text, language)
    return next(sentence for span in spans if (sentence := " ".join(text[span.start : span.end].split())))
