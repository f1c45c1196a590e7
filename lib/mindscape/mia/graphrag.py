"""MiA-RAG over a graph: entities and relations of a text, answers to questions on the whole, judged in pairs (appendix D.2).

    build_graph  what the role `entities` says of each passage, merged by name; `of_story` takes the book's gold
    assembled    the context that GraphRAG's local mode makes of retrieved entities, with relations and passages, in a budget
    sense_questions, sense_answers      questions on the whole that a segment raises, and answers (Figures 13 and 17)
    judged, win_rates                   two answers compared in both orders, ties and position bias (Figure 14, Table 9)
    gold_preferences, agreement         does the judge see a fact removed, and is it taken in by a fact said twice?
    posed, Log, holdings, extract       questions on people of a novel, whose contexts and answers are counted without a judge

The graph is plain data. Where the paper is silent: an entity's or a tie's description is what its passages say of it, at most
`SAID` statements, not a summary of them; GraphRAG's communities and their reports are left out, since its global mode is not
asked here, and their share of the budget goes to entities and ties. Graph, questions and answers are as good as the model that
makes them: replies that cannot be read are counted, not mended.

A question on a person asks what a book tells of them, by name or by trade. The log knows, so that two things are counted:
what a context holds and what an answer says. A paraphrase counts where `storyworld.weighing` sees it. Beside a model's
answers stand extracts, which leave out nothing that the retrieved graph says of the person: what retrieval is worth where the
one who answers loses nothing. Taught in notebook 16_mia_graphrag.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

from pydantic import BaseModel

from mindscape import roles
from mindscape.ask import ask, read_replies
from mindscape.errors import require
from mindscape.llm.base import LLM, Reply, form_of
from mindscape.metrics import Interval, grouped
from mindscape.prompts import languages, paper, short_texts
from mindscape.roles import ROLES, Role, mended
from mindscape.search import Told, merged_by_name
from mindscape.text import Chunk, Document, Span, Tokenizer, mentions, sentences, token_ids
from storyworld import Book, Chance, sentence, weighing
from storyworld.teaching import passages
from storyworld.teaching.passages import ASKED, FACTS
from storyworld.world import SLOTS

Count = Callable[[str], int]  # tokens of a text
TOP = 20  # entities that are retrieved (appendix D.2)
SAID = 6  # statements of a description, at most
TIES = 10  # of the ties that lead out of the retrieved entities, so many for each of those, at most
SHARES = (0.25, 0.25, 0.5)  # of the budget: entities, ties, passages
JOIN = {"en": " ", "zh": ""}
HEADINGS = short_texts("mia", "graphrag")["headings"]
CRITERIA = ("Comprehensiveness", "Diversity", "Empowerment", "Overall")
FEWEST, MOST = 3, 5  # questions of a segment: fewer count as none (Figure 13)
PASSAGE = 150  # tokens of a passage, at most
BUDGET = 1200  # tokens of a context, at most
SHARE = 8  # people of a book that are asked about
LEAST = 5  # facts on somebody who is asked about
EXTRACT = 8  # statements of an extract, at most
PREFERRED = 6  # entities of a book of which gold preferences are made
MARKS = ";；\n"  # between statements
NOTHING = {"en": "Nothing is told.", "zh": "没有提到。"}  # an answer without words, as a judge is shown it
STOP = {"en": ".", "zh": "。"}


class SenseQuestions(BaseModel):
    """Questions on the whole text that a segment raises."""

    questions: list[str]


# Roles that the reader is not taught: there is no gold for them.
SENSE_QUESTIONS = Role(
    "sense_questions", languages("mia", "sense_questions"), SenseQuestions, paper=paper("mia", "sense_questions")
)
SENSE_ANSWER = Role("sense_answer", languages("mia", "sense_answer"), None, mended, paper("mia", "sense_answer"))


# -- the graph ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entity:
    """Somebody or something with what is said of it, and the passages that say it, by index."""

    name: str
    description: str
    chunks: tuple[int, ...]


@dataclass(frozen=True)
class Relation:
    """A tie between two entities, by index, with what is said of it and the passages that say it."""

    source: int
    target: int
    description: str
    chunks: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """Entities and relations of a document. `unread` counts, by role, the replies that could not be read."""

    document: str
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    unread: Mapping[str, int] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """The entities as a retriever of nodes sees them: name and description."""
        return [f"{entity.name}: {entity.description}" for entity in self.entities]

    @property
    def degrees(self) -> list[int]:
        """How many relations each entity has."""
        ends = Counter(end for relation in self.relations for end in (relation.source, relation.target))
        return [ends[i] for i in range(len(self.entities))]


def build_graph(model: LLM, document: Document, chunks: Sequence[Chunk]) -> Graph:
    """The graph that a model makes of a document: the entities that it finds in each passage, tied as `read_off` says.

    A reply that cannot be read adds nothing and is counted. Raises InputError for a document in a language without prompts,
    LLMError if the model fails, after which the same call goes on where it was.

    >>> build_graph(llm.load("embedded"), play, split_sentences(play, tokenizer, 150))         # doctest: +SKIP
    """
    role, language = ROLES["entities"], document.language
    prompts = [role.prompt(language, form_of(model), text=document[chunk].strip()) for chunk in chunks]
    named = [answer.value for answer in ask(model, role, prompts, free_first=True)]
    findings = [read_off(i, names or [], language) for i, names in enumerate(named)]
    return merged(document.id, findings, language, {"entities": sum(names is None for names in named)})


def read_off(chunk: int, names: Sequence[Mapping[str, str]], language: str = "en") -> Told:
    """What the reply to a passage tells: its entities; those whose descriptions share a statement are tied by it, two and two.

    A statement is a sentence, or a part of it between semicolons.

    >>> both = [{"name": "Ann", "description": "She is the smith; Ann sold Tom a lamp."}]
    >>> read_off(0, [*both, {"name": "Tom", "description": "Ann sold Tom a lamp."}]).relations
    (('Ann', 'Tom', 'Ann sold Tom a lamp.'),)
    """
    entities = [(entity["name"].strip(), entity["description"].strip()) for entity in names if entity["name"].strip()]
    sharing: dict[str, tuple[str, list[str]]] = {}  # without case: a statement may begin a sentence or not
    for name, description in entities:
        for says in statements(description, language):
            says = sentence(_stopped(says, language))
            sharing.setdefault(says.lower(), (says, []))[1].append(name)
    relations = [(a, b, says) for says, sharers in sharing.values() for a, b in combinations(dict.fromkeys(sharers), 2)]
    return Told(chunk, tuple(entities), tuple(relations))


def statements(text: str, language: str, marks: str = ";；") -> list[str]:
    """The sentences of a text, and the parts of each between marks."""
    parts = (part for span in sentences(text, language) for part in re.split(f"[{marks}]", text[span.start : span.end]))
    return [part.strip() for part in parts if part.strip()]


def _stopped(text: str, language: str) -> str:
    text = text.strip()
    return text if re.search(r"\W$", text) else text + STOP[language]


def _key(name: str) -> str:
    """A name as entities are merged by: without case, article and full stop."""
    return re.sub(r"^(the|an?) ", "", " ".join(name.lower().split())).strip(" .。")


def merged(document: str, findings: Iterable[Told], language: str = "en", unread: Mapping[str, int] | None = None) -> Graph:
    """One graph of what the passages tell: entities of one name are one, ties between the same two are one, too.

    Names are compared without case and article; the first spelling stays. A tie of an entity to itself describes it.

    >>> read = [Told(0, (("Ann", "She left."),)), Told(3, (("ann", "She came back."),), (("Ann", "Tom", "Ann met Tom."),))]
    >>> graph = merged("book", read)
    >>> graph.texts, graph.entities[0].chunks
    (['Ann: She left. She came back.', 'Tom: '], (0, 3))
    >>> graph.relations
    (Relation(source=0, target=1, description='Ann met Tom.', chunks=(3,)),)
    """
    graph, join = merged_by_name(findings, _key, most=SAID), JOIN[language]
    place = {key: i for i, key in enumerate(graph.names)}
    described = {key: (join.join(graph.statements[key]), tuple(sorted(chunks))) for key, chunks in graph.chunks.items()}
    entities = tuple(Entity(name, *described[key]) for key, name in graph.names.items())
    relations = tuple(Relation(place[a], place[b], *described[a, b]) for a, b in graph.relations)
    return Graph(document, entities, relations, dict(unread or {}))


def of_story(book: Book, chunks: Sequence[Chunk]) -> Graph:
    """The graph of a storyworld book from its log: what `build_graph` would give with a perfect model.

    Its entities are the book's own, in their order and with their descriptions, so that `update.bearing` speaks of them.
    """
    nodes, edges = book.graph
    node, language = {each.id: each for each in nodes}, book.document.language
    known = {entity.name: entity.description for entity in book.entities}

    def at(place: Any) -> int:
        return next((i for i, chunk in enumerate(chunks) if chunk.start <= place.span.start < chunk.end), 0)

    findings, of_event = [Told(-1, tuple(known.items()))], defaultdict(dict)  # all first, so that they stand in their order
    for edge in edges:
        source, target = node[edge.source], node[edge.target]
        if target.type == "entity" and target.content in known:
            if source.type != "entity":
                of_event[source.id][target.content] = ""
            elif source.content in known:
                says = _stopped(f"{source.content} – {edge.relation} – {target.content}", language)
                findings.append(Told(at(edge), relations=((source.content, target.content, says),)))
    for event, part in of_event.items():
        says = _stopped(node[event].content, language)
        ties = tuple((a, b, says) for a, b in combinations(part, 2))
        findings.append(Told(at(node[event]), tuple(part.items()), ties))
    graph = merged(book.document.id, findings, language)
    return replace(graph, entities=tuple(replace(e, chunks=e.chunks[1:]) for e in graph.entities))  # -1 is the first of each


# -- retrieval and context ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Context:
    """What a question is answered from; the entities, relations and passages in it, by index; its length in tokens."""

    text: str
    entities: tuple[int, ...]
    relations: tuple[int, ...]
    chunks: tuple[int, ...]
    tokens: int


def assembled(
    graph: Graph, picked: Sequence[int], document: Document, chunks: Sequence[Chunk], budget: int, count: Count
) -> Context:
    """The context that GraphRAG's local mode makes of retrieved entities, at most `budget` tokens as `count` has them.

    Entities come in their order, then their relations (`ties`), then their passages (`sources`), each up to its share of the
    budget and what those before it left, and none after the first that does not fit.
    """
    texts = graph.texts
    lines = [
        [(i, f"- {texts[i]}") for i in dict.fromkeys(picked)],
        [(i, f"- {graph.relations[i].description}") for i in ties(graph, picked)],
        [(i, document[chunks[i]].strip()) for i in sources(graph, picked)],
    ]
    text, room, taken = "", 0.0, ([], [], [])
    for heading, share, entries, held in zip(HEADINGS[document.language], SHARES, lines, taken, strict=True):
        room += share * budget
        for i, line in entries:
            longer = f"{text}\n{line}" if held else "\n\n".join([*([text] if text else []), f"{heading}\n{line}"])
            if count(longer) > room:
                break
            text = longer
            held.append(i)
    entities, relations, passages = map(tuple, taken)
    return Context(text, entities, relations, passages, count(text) if text else 0)


def ties(graph: Graph, picked: Sequence[int]) -> list[int]:
    """Relations of the picked entities as GraphRAG orders them: first those between two of them, by the relations of both ends.

    Then those that lead out, at most `TIES` for each picked entity: first to whom most of them are tied. Equal ones by index.

    >>> relations = [Relation(*ends, "", ()) for ends in ((0, 2), (0, 1), (3, 1), (0, 3))]
    >>> ties(Graph("book", (Entity("", "", ()),) * 4, tuple(relations)), [0, 1])
    [1, 3, 2, 0]
    """
    entities, degrees = set(picked), graph.degrees
    inside, outside, linked = [], [], defaultdict(set)
    for i, tie in enumerate(graph.relations):
        if {tie.source, tie.target} <= entities:
            inside.append(i)
        elif entities & {tie.source, tie.target}:
            near, far = (tie.source, tie.target) if tie.source in entities else (tie.target, tie.source)
            outside.append((i, far))
            linked[far].add(near)

    def rank(i: int) -> int:
        return degrees[graph.relations[i].source] + degrees[graph.relations[i].target]

    inside.sort(key=lambda i: -rank(i))
    outside.sort(key=lambda pair: (-len(linked[pair[1]]), -rank(pair[0])))
    return inside + [i for i, _ in outside[: TIES * len(entities)]]


def sources(graph: Graph, picked: Sequence[int]) -> list[int]:
    """Passages of the picked entities as GraphRAG orders them: by entity, of each first those that tell most of its relations.

    >>> entities = Entity("Ann", "", (4, 7)), Entity("Tom", "", (2, 7))
    >>> sources(Graph("book", entities, (Relation(0, 1, "", (7,)),)), [0, 1])
    [7, 4, 2]
    """
    order: dict[int, None] = {}
    for entity in picked:
        tied = [set(relation.chunks) for relation in graph.relations if entity in (relation.source, relation.target)]
        chunks = graph.entities[entity].chunks
        order |= dict.fromkeys(sorted(chunks, key=lambda chunk: -sum(chunk in tie for tie in tied)))
    return list(order)


# -- questions on the whole and their answers --------------------------------------------------------------------------


@dataclass(frozen=True)
class Posed:
    """The questions that a segment raises; none where it raises too few, or the reply, as `invalid` says, cannot be read."""

    segment: int
    questions: tuple[str, ...]
    invalid: str = ""


def sense_questions(model: LLM, document: Document, segments: Sequence[Chunk], tokens: int = 320) -> list[Posed]:
    """Questions on the whole text that each segment raises, three to five, or none (Figure 13).

    Raises InputError for a language without a prompt, LLMError if the model fails.
    """
    form, language = form_of(model), document.language
    prompts = [SENSE_QUESTIONS.prompt(language, form, paragraph=document[segment].strip()) for segment in segments]
    raised = []
    for i, reply in enumerate(_replies(model, prompts, tokens, SENSE_QUESTIONS.form)):
        said = [] if reply.invalid else filter(None, map(str.strip, reply.parsed.questions))
        questions = tuple(dict.fromkeys(said))[:MOST]
        raised.append(Posed(i, questions if len(questions) >= FEWEST else (), reply.invalid))
    return raised


def sense_answers(model: LLM, pairs: Sequence[tuple[str, str]], language: str = "en", tokens: int = 240) -> list[str]:
    """Answers to (question, context) pairs (Figure 17); an empty text where the model said nothing.

    Raises InputError for a language without a prompt, LLMError if the model fails.
    """
    form = form_of(model)
    prompts = [SENSE_ANSWER.prompt(language, form, question=question, context=context) for question, context in pairs]
    return [read_replies(SENSE_ANSWER, reply.text) or "" for reply in _replies(model, prompts, tokens)]


def _replies(model: LLM, prompts: Sequence[str], tokens: int, schema: Any = None) -> list[Reply]:
    talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
    return model.chat(talks, schema=schema, max_new_tokens=tokens) if talks else []


# -- judging -----------------------------------------------------------------------------------------------------------

Side = Literal["a", "b"]
Outcome = Literal[Side, "tie", "unread"]
Spoilt = Literal["removed", "doubled", "swapped"]


@dataclass(frozen=True)
class Comparison:
    """Two answers to a question; `group` is what it belongs to (a book), for intervals."""

    question: str
    a: str
    b: str
    group: str = ""


@dataclass(frozen=True)
class Verdict:
    """Which answer won by each criterion, "a" or "b", with a shown first and with b shown first; None for an unread reply."""

    a_first: Mapping[str, Side] | None
    b_first: Mapping[str, Side] | None

    def outcome(self, criterion: str) -> Outcome:
        """The answer that won in both orders; a tie where the order decided.

        >>> Verdict({"Overall": "a"}, {"Overall": "b"}).outcome("Overall")
        'tie'
        """
        if self.a_first is None or self.b_first is None:
            return "unread"
        first, second = self.a_first[criterion], self.b_first[criterion]
        return first if first == second else "tie"


@dataclass(frozen=True)
class WinRate:
    """How two systems compare by a criterion: the shares of `n` comparisons that a won, b won, were tied, were not read.

    `score` is a's share with a tie or an unread reply as a half; `first` the share of single verdicts that went to the answer
    shown first, 0.5 without position bias, None where fewer than two were read. The score is None for one comparison.
    """

    n: int
    a: float
    b: float
    tie: float
    unread: float
    score: Interval | None
    first: Interval | None


def judged(model: LLM, comparisons: Sequence[Comparison], language: str = "en") -> list[Verdict]:
    """A judge's verdicts, each comparison shown in both orders.

    Raises LLMError if the model fails, after which the same call goes on where it was.
    """
    prompts, form = [], form_of(model)
    for comparison in comparisons:
        for x, y in ((comparison.a, comparison.b), (comparison.b, comparison.a)):
            prompts.append(ROLES["pairwise"].prompt(language, form, question=comparison.question, answer1=x, answer2=y))
    replies = [answer.value for answer in ask(model, ROLES["pairwise"], prompts, free_first=True)]
    return [Verdict(_won(x, ("a", "b")), _won(y, ("b", "a"))) for x, y in zip(replies[::2], replies[1::2], strict=True)]


def _won(said: roles.Pairwise | None, shown: tuple[Side, Side]) -> dict[str, Side] | None:
    """The winners by criterion; `shown` names the answers in their order."""
    if said is None:
        return None
    return {name: shown[int(getattr(said, name).Winner.removeprefix("Answer ")) - 1] for name in CRITERIA}


def win_rates(comparisons: Sequence[Comparison], verdicts: Sequence[Verdict], seed: int = 0) -> dict[str, WinRate]:
    """By criterion, how the first system compares with the second (Table 9), with 95 % intervals over groups.

    >>> pairs = [Comparison("Who?", "Ann.", "Tom.")] * 2
    >>> always_first = [Verdict(dict.fromkeys(CRITERIA, "a"), dict.fromkeys(CRITERIA, "b"))] * 2
    >>> rate = win_rates(pairs, always_first)["Overall"]
    >>> rate.a, rate.tie, rate.score.value, rate.first.value
    (0.0, 1.0, 0.5, 1.0)
    """
    require(comparisons, "there are no comparisons: expected at least one")
    groups = [comparison.group for comparison in comparisons]
    rates = {}
    for criterion in CRITERIA:
        outcomes = [verdict.outcome(criterion) for verdict in verdicts]
        a, b, tie, unread = (outcomes.count(name) / len(outcomes) for name in ("a", "b", "tie", "unread"))
        scores = [{"a": 1.0, "b": 0.0}.get(outcome, 0.5) for outcome in outcomes]
        score = grouped(zip(scores, groups, strict=True), seed)
        first = [
            (float(won[criterion] == name), group)
            for verdict, group in zip(verdicts, groups, strict=True)
            for won, name in ((verdict.a_first, "a"), (verdict.b_first, "b"))
            if won is not None
        ]
        rates[criterion] = WinRate(len(outcomes), a, b, tie, unread, score, grouped(first, seed))
    return rates


@dataclass(frozen=True)
class Preference:
    """A comparison whose better answer is known: it is a. `kind` says how b was spoilt."""

    kind: Spoilt
    comparison: Comparison


def gold_preferences(book: Book, most: int = 8, seed: int = 0) -> list[Preference]:
    """Answers that a book's log bears out beside the same with a fact removed, with a fact said twice, and with both.

    The second says as much in more words; the third is as long as the whole and says less. Three for each of at most `most`
    entities that have three facts or more.
    """
    chance, language = Chance("preference", book.document.id, seed), book.document.language
    join, say = book.voice.words.scenes.JOIN, book.voice.say
    known = {entity.name: entity.description.removesuffix(say.STOP).split(say.FACT_JOIN) for entity in book.entities}
    rich = {name: facts[: FACTS[language]] for name, facts in known.items() if len(facts) > 2}
    preferences = []
    for name in chance.sample(list(rich), most):
        facts = rich[name]
        question = sentence(chance.pick(ASKED[language]).format(name=name))
        dropped, said_twice = chance.sample(range(len(facts)), 2)
        less, twice = [fact for i, fact in enumerate(facts) if i != dropped], facts[said_twice]
        spoilt: dict[Spoilt, list[str]] = {"removed": less, "doubled": [*facts, twice], "swapped": [*less, twice]}
        whole, *worse = (join.join(sentence(fact) + say.STOP for fact in kept) for kept in (facts, *spoilt.values()))
        for kind, text in zip(spoilt, worse, strict=True):
            preferences.append(Preference(kind, Comparison(question, whole, text, book.document.id)))
    return preferences


def agreement(
    preferences: Sequence[Preference], verdicts: Sequence[Verdict], criterion: str = "Overall", seed: int = 0
) -> dict[str, Interval | None]:
    """How well a judge agrees with gold preferences, by kind and over all: 1 for the better answer in both orders, a half for a
    tie, 0 for the worse one and for a reply that cannot be read. A judge that tosses a coin has 0.5.

    None for a single comparison.

    >>> pairs = [Preference("removed", Comparison("Who?", "Ann. Tom.", "Ann."))] * 2
    >>> right = Verdict({"Overall": "a"}, {"Overall": "a"})
    >>> agreement(pairs, [right, Verdict({"Overall": "a"}, None)])["removed"].value
    0.5
    """
    worth = {"a": 1.0, "tie": 0.5}
    pairs = [
        (preference.kind, (worth.get(verdict.outcome(criterion), 0.0), preference.comparison.group))
        for preference, verdict in zip(preferences, verdicts, strict=True)
    ]
    intervals = {kind: grouped((score for other, score in pairs if other == kind), seed) for kind, _ in pairs}
    return intervals | {"all": grouped((score for _, score in pairs), seed)}


# -- what a book tells -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fact:
    """An event or a binding of a book's log: in the words of its gold, and where it is told."""

    says: str
    spans: tuple[Span, ...]


class Log:
    """What a book tells of its people, fact by fact, and which of it a text repeats.

    `facts` by id: the bindings, and the events that any scene may hold. `of`: the ids of those on each person, under whatever
    name.

    >>> import storyworld
    >>> log = Log(storyworld.book(1000, tokens=15_000))
    >>> name, fact = next(iter(log.facts.items()))
    >>> log.stated(f"{fact.says}. It rained.") == {name}, log.stated("It rained.")
    (True, set())
    """

    def __init__(self, book: Book):
        voice, world = book.voice, book.world
        self.book, self.language = book, book.document.language
        events = [event for event in world.events if event.kind in SLOTS]
        self.facts = {f"event{event.id}": Fact(voice.fact(event), tuple(book.telling.events[event.id])) for event in events}
        self.facts |= {f"binding{b.id}": Fact(voice.binding(b), tuple(book.telling.bindings[b.id])) for b in world.bindings}
        people = [(f"binding{b.id}", (b.person, b.other)) for b in world.bindings]
        people += [(f"event{event.id}", (event.slots.get("a"), event.slots.get("b"))) for event in events]
        facts_of: dict[int, list[str]] = defaultdict(list)
        for name, pair in people:
            for person in dict.fromkeys(who for who in pair if who is not None):
                facts_of[person].append(name)
        self.facts_of = dict(facts_of)
        self._known: dict[str, set[str]] = defaultdict(set)
        for name, fact in self.facts.items():
            self._known[_fold(fact.says)].add(name)
        kin = [b for b in world.bindings if b.kind == "kin"]
        self._ties = {  # as graphs write a kinship
            f"{voice.name(b.person)} – {voice.relation(b)} – {voice.name(b.other)}": f"binding{b.id}" for b in kin
        }

    def names(self, person: int) -> list[str]:
        """What a person is called: the name, and the guise where there is one."""
        voice, guised = self.book.voice, self.book.world.people[person].guise is not None
        return [voice.name(person), *([voice.guise(person)] if guised else [])]

    def stated(self, text: str) -> set[str]:
        """The facts that a text states, in the log's own words or in others that name everybody and what was done."""
        facts = {name for tie, name in self._ties.items() if tie in text}
        rest = []
        for part in statements(text, self.language, MARKS):
            known = self._known.get(_fold(part), set())
            facts |= known
            rest += [] if known else [part]
        if rest:
            voice, text = self.book.voice, "; ".join(rest)
            right = [*weighing.events(voice, text).right, *weighing.bindings(voice, text).right]
            facts |= {name for name, kept in zip(self.facts, right, strict=True) if kept}
        return facts


def _fold(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .。;；")


@dataclass(frozen=True)
class Holdings:
    """The facts in each entity, relation and passage of a graph, by id."""

    entities: tuple[frozenset[str], ...]
    relations: tuple[frozenset[str], ...]
    chunks: tuple[frozenset[str], ...]

    def facts(self, context: Context) -> frozenset[str]:
        """The facts in a context."""
        parts = [self.entities[i] for i in context.entities] + [self.relations[i] for i in context.relations]
        return frozenset().union(*parts, *(self.chunks[i] for i in context.chunks))


def holdings(log: Log, graph: Graph, chunks: Sequence[Chunk]) -> Holdings:
    """What a graph's parts tell: its descriptions by their words, its passages by the places where the book tells it."""
    held = (
        frozenset(name for name, fact in log.facts.items() if any(passages.holds(log.book, chunk, at) for at in fact.spans))
        for chunk in chunks
    )

    def facts_of(parts: Iterable[Entity | Relation]) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(log.stated(part.description)) for part in parts)

    return Holdings(facts_of(graph.entities), facts_of(graph.relations), tuple(held))


# -- questions, retrieval, answers -------------------------------------------------------------------------------------


Way = Literal["name", "trade"]
WAYS: tuple[Way, ...] = ("name", "trade")


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
    >>> [question.question for question in posed(Log(storyworld.book(1000, tokens=15_000)), 1)]  # doctest: +SKIP
    ['What is known of Kathleen?', 'What is known of the organist?']
    """
    book, voice = log.book, log.book.voice
    chance = Chance("graph questions", book.document.id, *([seed] if seed else []))
    rich = [person.id for person in book.world.people if len(log.facts_of.get(person.id, ())) >= LEAST]
    questions = []
    for person in chance.sample(rich, share):
        form = chance.pick(passages.ASKED[log.language])
        by = {"name": voice.name(person), "trade": voice.trade(person)}
        wordings = {way: sentence(form.format(name=name)) for way, name in by.items()}
        questions += [Sense(book, person, way, wordings[way], wordings["name"], tuple(log.facts_of[person])) for way in WAYS]
    return questions


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
    questions: Sequence[Sense],
    rankings: Mapping[tuple[str, str], Sequence[int]],
    graphs: Mapping[str, Graph],
    chunks: Mapping[str, Sequence[Chunk]],
    count: Count,
    budget: int = BUDGET,
    k: int = TOP,
) -> list[Context]:
    """What each question is answered from; graphs and passages by document, rankings by document and question."""

    def context(document: Document, question: str) -> Context:
        picked = rankings[document.id, question][:k]
        return assembled(graphs[document.id], picked, document, chunks[document.id], budget, count)

    return [context(sense.book.document, sense.question) for sense in questions]


def extract(graph: Graph, context: Context, names: Sequence[str], language: str = "en", most: int = EXTRACT) -> str:
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
    return JOIN[language].join(part + STOP[language] for part in list(dict.fromkeys(kept))[:most])


def compared(questions: Sequence[Sense], a: Sequence[str], b: Sequence[str]) -> list[Comparison]:
    """Two systems' answers side by side. A judge, who has not read the book, is asked by name."""
    comparisons = []
    for question, x, y in zip(questions, a, b, strict=True):
        nothing = NOTHING[question.book.document.language]
        comparisons.append(Comparison(question.resolved, x or nothing, y or nothing, question.book.document.id))
    return comparisons


def alike(questions: Sequence[Sense], given: Sequence[str]) -> list[Comparison]:
    """Each answer beside itself: whatever a judge prefers here, it prefers for its place."""
    return compared(questions, given, given)
