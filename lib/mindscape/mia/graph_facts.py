"""Questions on people of a novel and what is known of them: how contexts and answers of MiA-RAG's graphs are counted (Table 9).

A question asks what a book tells of a person, by name or by trade. The log knows, so that two things are counted without a
judge: what a context holds and what an answer says (`Log`, `holdings`). A paraphrase counts where `storyworld.weighing` sees
it. Beside a model's answers stand extracts, which leave out nothing that the retrieved graph says of the person: what retrieval
is worth where the one who answers loses nothing. Taught in notebook 16_mia_graphrag.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mindscape.mia.graphrag import JOIN, TOP, Comparison, Context, Count, Graph, assembled, statements
from mindscape.text import Chunk, Span, Tokenizer, mentions, token_ids
from storyworld import Book, Chance, kinds, sentence, weighing
from storyworld.teaching import passages, questions

Way = Literal["name", "trade"]
WAYS: tuple[Way, ...] = ("name", "trade")
PASSAGE = 150  # tokens of a passage, at most
BUDGET = 1200  # tokens of a context, at most
SHARE = 8  # people of a book that are asked about
LEAST = 5  # facts on somebody who is asked about
SAID = 8  # statements of an extract, at most
PREFERRED = 6  # entities of a book of which gold preferences are made
MARKS = ";；\n"  # between statements
NOTHING = {"en": "Nothing is told.", "zh": "没有提到。"}  # an answer without words, as a judge is shown it


# -- what a book tells -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fact:
    """An event or a binding of a book's log: in the words of its gold, and where it is told."""

    id: str
    says: str
    spans: tuple[Span, ...]


class Log:
    """What a book tells of its people, fact by fact, and which of it a text repeats.

    `facts` by id: the bindings, and the events that any scene may hold. `of`: the ids of those on each person, under whatever
    name.

    >>> import storyworld
    >>> log = Log(storyworld.book(1000, tokens=15_000))
    >>> one, two = list(log.facts.values())[:2]
    >>> log.told(f"{one.says}. It rained.") == {one.id}, log.told("It rained.")
    (True, set())
    """

    def __init__(self, book: Book):
        voice, world = book.voice, book.world
        self.book, self.language = book, book.document.language
        self._events = [event for event in world.events if event.kind in kinds.SLOTS]
        told = [(f"event{it.id}", voice.fact(it), book.told.events[it.id]) for it in self._events]
        told += [(f"binding{it.id}", voice.binding(it), book.told.bindings[it.id]) for it in world.bindings]
        self.facts = {name: Fact(name, says, tuple(spans)) for name, says, spans in told}
        of: dict[int, list[str]] = defaultdict(list)
        for it in world.bindings:
            for person in dict.fromkeys(one for one in (it.person, it.other) if one is not None):
                of[person].append(f"binding{it.id}")
        for event in self._events:
            for person in dict.fromkeys(event.slots[slot] for slot in "ab" if slot in event.slots):
                of[person].append(f"event{event.id}")
        self.of = dict(of)
        self._known: dict[str, set[str]] = defaultdict(set)
        for fact in self.facts.values():
            self._known[_fold(fact.says)].add(fact.id)
        kin = [it for it in world.bindings if it.kind == "kin"]
        self._ties = {  # as graphs write a kinship
            f"{voice.name(it.person)} – {voice.relation(it)} – {voice.name(it.other)}": f"binding{it.id}" for it in kin
        }

    def names(self, person: int) -> list[str]:
        """What a person is called: the name, and the guise where there is one."""
        voice, guised = self.book.voice, self.book.world.people[person].guise is not None
        return [voice.name(person), *([voice.guise(person)] if guised else [])]

    def told(self, text: str) -> set[str]:
        """The facts that a text states, in the log's own words or in others that name everybody and what was done."""
        found = {name for tie, name in self._ties.items() if tie in text}
        rest = []
        for part in statements(text, self.language, MARKS):
            known = self._known.get(_fold(part))
            found |= known or set()
            rest += [] if known else [part]
        if rest:
            voice, text = self.book.voice, "; ".join(rest)
            right = weighing.events(voice, text).right
            found |= {f"event{event.id}" for event, kept in zip(self._events, right, strict=True) if kept}
            right = weighing.bindings(voice, text).right
            found |= {f"binding{it.id}" for it, kept in zip(self.book.world.bindings, right, strict=True) if kept}
        return found


def _fold(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .。;；")


@dataclass(frozen=True)
class Holdings:
    """The facts in each entity, relation and passage of a graph, by id."""

    entities: tuple[frozenset[str], ...]
    relations: tuple[frozenset[str], ...]
    chunks: tuple[frozenset[str], ...]

    def of(self, context: Context) -> frozenset[str]:
        """The facts in a context."""
        parts = [self.entities[i] for i in context.entities] + [self.relations[i] for i in context.relations]
        return frozenset().union(*parts, *(self.chunks[i] for i in context.chunks))


def holdings(log: Log, graph: Graph, chunks: Sequence[Chunk]) -> Holdings:
    """What a graph's parts tell: its descriptions by their words, its passages by the places where the book tells it."""
    held = (
        frozenset(fact.id for fact in log.facts.values() if any(passages.holds(log.book, it, at) for at in fact.spans))
        for it in chunks
    )
    entities, relations = (
        tuple(frozenset(log.told(it.description)) for it in some) for some in (graph.entities, graph.relations)
    )
    return Holdings(entities, relations, tuple(held))


# -- questions, retrieval, answers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sense:
    """A question on all that a book tells of a person. `question` calls them by `way`, `resolved` by name; `facts` by id."""

    book: Book
    person: int
    way: Way
    question: str
    resolved: str
    facts: tuple[str, ...]


def posed(log: Log, share: int = SHARE, seed: int = 0) -> list[Sense]:
    """Questions on `share` people of whom a book tells `LEAST` facts or more, each by name and by trade; others for another
    seed.

    >>> import storyworld
    >>> [one.question for one in posed(Log(storyworld.book(1000, tokens=15_000)), 1)]         # doctest: +SKIP
    ['What is known of Kathleen?', 'What is known of the organist?']
    """
    book, voice = log.book, log.book.voice
    chance = Chance("graph questions", book.document.id, *([seed] if seed else []))
    rich = [person.id for person in book.world.people if len(log.of.get(person.id, ())) >= LEAST]
    found = []
    for person in chance.some(rich, share):
        form = chance.pick(questions.ASKED[log.language])
        by = {"name": voice.name(person), "trade": voice.trade(person)}
        asked = {way: sentence(form.format(name=name)) for way, name in by.items()}
        found += [Sense(book, person, way, asked[way], asked["name"], tuple(log.of[person])) for way in WAYS]
    return found


def counter(tokenizer: Tokenizer) -> Count:
    """Counts tokens line by line and remembers each line, so that a context can grow line by line without being read anew.

    >>> counter(tokenizer)("People:\\n- Ann: She is the smith.")                              # doctest: +SKIP
    11
    """

    @lru_cache(maxsize=1 << 16)
    def of_line(line: str) -> int:
        return len(token_ids(line, tokenizer))

    return lambda text: sum(of_line(line) + 1 for line in text.split("\n")) - 1


def contexts(
    asked: Sequence[Sense],
    rankings: Mapping[tuple[str, str], Sequence[int]],
    graphs: Mapping[str, Graph],
    chunks: Mapping[str, Sequence[Chunk]],
    count: Count,
    budget: int = BUDGET,
    k: int = TOP,
) -> list[Context]:
    """What each question is answered from; graphs and passages by document, rankings by document and question."""
    found = []
    for one in asked:
        name = one.book.document.id
        picked = rankings[name, one.question][:k]
        found.append(assembled(graphs[name], picked, one.book.document, chunks[name], budget, count))
    return found


def extract(graph: Graph, context: Context, names: Sequence[str], language: str = "en", most: int = SAID) -> str:
    """The first statements on somebody among the entities and ties of a context: an answer that nobody had to write.

    >>> from mindscape.mia.graphrag import Told, merged
    >>> graph = merged("book", [Told(0, (("Ann", "Ann has a forge. It rained."),), (("Eve", "Tom", "Eve met Tom."),))])
    >>> extract(graph, Context("", (0,), (0,), (), 0), ["Ann"]), extract(graph, Context("", (), (), (), 0), ["Ann"])
    ('Ann has a forge.', '')
    """
    lines = [graph.entities[i].description for i in context.entities]
    lines += [graph.relations[i].description for i in context.relations]
    parts = [part.strip(" .。") for line in lines for part in statements(line, language, MARKS)]
    kept = [sentence(part) for part in parts if any(mentions(name, part) for name in names)]
    stop = {"en": ".", "zh": "。"}[language]
    return JOIN[language].join(part + stop for part in list(dict.fromkeys(kept))[:most])


def compared(asked: Sequence[Sense], a: Sequence[str], b: Sequence[str]) -> list[Comparison]:
    """Two systems' answers side by side. A judge, who has not read the book, is asked by name."""
    none = {one.book.document.id: NOTHING[one.book.document.language] for one in asked}
    rows = ((one.resolved, one.book.document.id, x, y) for one, x, y in zip(asked, a, b, strict=True))
    return [Comparison(question, x or none[book], y or none[book], book) for question, book, x, y in rows]


def alike(asked: Sequence[Sense], given: Sequence[str]) -> list[Comparison]:
    """Each answer beside itself: whatever a judge prefers here, it prefers for its place."""
    return compared(asked, given, given)
