"""Gold of MindGraph's roles: what each block of a book changes in a concept graph, and answers from such a graph.

The builder reads in order and has the question in mind: whoever an earlier block named keeps the id, a trade told of a known
person edits that person's node, an oath that the story refutes is deleted. Answers are from graphs small enough to be read
whole, for which the paper skips the overview. Taught in notebook 01_the_reader.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Literal

from mindscape import roles
from mindscape.question import Question
from mindscape.roles import EDITS, EMPTY, GRAPH_ANSWER, AddEdge, AddNode, DeleteNode, EditNode, Edits, GraphAnswer, Operation
from mindscape.text import Chunk, Place, Span, Tokenizer
from storyworld import Book
from storyworld.gold import Edge, Node
from storyworld.teaching.passages import Gold, cut
from storyworld.telling import sentence
from storyworld.world import FROM_B, Binding, Chance, Event

LONGEST = 900  # tokens of a prompt
MOST = 16  # examples with operations from a book; others that have none come on top
QUOTE = {"en": 8, "zh": 12}  # words or characters of a sentence that a quote has at least
OATH = {"en": "{c} says on oath: {fact}", "zh": "{c}起誓说：{fact}"}
Fact = tuple[Span, str, Event | Binding]  # where it is told, in which words, what it is
WHO = {"en": "Who {predicate}?", "zh": "谁{predicate}？"}


def shown_fact(book: Book, event: Event) -> str:
    """An event in few words, as one who has read no more than its telling can put it, without a full stop.

    An oath is not called false yet, and what ties a person to the crime is given as the book gives it.
    """
    voice = book.voice
    if event.kind == "false":
        true = book.world.events[event.slots["of"]]
        fact = voice.fact(replace(true, slots={**true.slots, "a": event.slots["a"]}))
        return OATH[book.document.language].format(c=voice.name(event.slots["c"]), fact=fact)
    if event.kind == "tie":
        return book.document[book.telling.events[event.id][0]].rstrip(voice.say.STOP)
    return voice.fact(event)


def alike(event: Event) -> set[str]:
    """The kinds that a reader could take for this one: a purchase is a sale, a trace goes with its ties."""
    kind = {"trace": "tie"}.get(event.kind, event.kind)
    return {kind, FROM_B.get(kind, kind), *(("trace",) if kind == "tie" else ())}


@dataclass
class Reading:
    """What a perfect builder of one question's graph knows after some blocks. Its ids are those of the reply."""

    nodes: dict[str, AddNode] = field(default_factory=dict)
    edges: list[AddEdge] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)  # of what the book's own graph calls by a key

    def apply(self, operations: Iterable[Operation]) -> None:
        """Do what the operations say."""
        for operation in operations:
            if isinstance(operation, AddNode):
                self.nodes[operation.id] = operation
            elif isinstance(operation, AddEdge):
                self.edges.append(operation)
            elif isinstance(operation, EditNode):
                self.nodes[operation.id] = self.nodes[operation.id].model_copy(update={"content": operation.content})
            else:
                del self.nodes[operation.id]
                self.edges = [edge for edge in self.edges if operation.id not in (edge.source, edge.target)]

    @property
    def state(self) -> str:
        return roles.graph_state(*([part.model_dump() for part in parts] for parts in (self.nodes.values(), self.edges)))


class Builder:
    """Makes the operations that note an event or a binding of a book. `book.graph` says what takes part in what."""

    def __init__(self, book: Book):
        self.book, self.voice, self.text = book, book.voice, book.document.text
        self.language = book.document.language
        nodes, edges = book.graph
        self.nodes: dict[str, Node] = {node.id: node for node in nodes}
        self.edges: dict[str, list[Edge]] = defaultdict(list)
        for edge in edges:
            self.edges[edge.source].append(edge)
        self.at = {span: book.world.events[i] for i, spans in book.telling.events.items() for span in spans}
        self.bound = {span: book.world.bindings[i] for i, spans in book.telling.bindings.items() for span in spans}

    @cached_property
    def facts(self) -> list[Fact]:
        """All that is told, in the order of the text: an event where it is told first, a binding at each of its places."""
        telling, world = self.book.telling, self.book.world
        facts: list[Fact] = [(telling.events[e.id][0], sentence(shown_fact(self.book, e)), e) for e in world.events]
        for binding in world.bindings:
            facts += [(span, sentence(self.voice.binding(binding)), binding) for span in telling.bindings[binding.id]]
        return sorted(facts, key=lambda fact: (fact[0], fact[1]))

    def within(self, place: Place) -> list[Fact]:
        """What is told between two offsets."""
        return [fact for fact in self.facts if place.start <= fact[0].start < place.end]

    def who(self, event: Event) -> str | None:
        """The question who did it; None where the telling does not begin with the one who did, or hides who that is."""
        fact = self.voice.words.events.EVENTS[event.kind]["fact"]
        if not fact.startswith("{a}") or event.guised:
            return None
        predicate = fact[3:].strip().format(**self.voice.fields(event.kind, event.slots))
        return WHO[self.language].format(predicate=predicate)

    def key(self, event: Event) -> str:
        return next(key for kind in ("event", "claim", "concept") if (key := f"{kind}{event.id}") in self.nodes)

    def events(self, question: Question) -> list[Event]:
        """What the question's evidence tells, each once; none where the evidence is no event (a refrain)."""
        return list({event.id: event for span in question.evidence if (event := self.at.get(span))}.values())

    def said(self, event: Event) -> list[str]:
        """The people, places, things and the number that the book gives an event."""
        key, number = self.key(event), f"stat{event.id}"
        keys = [edge.target for edge in self.edges[key]] + [number] * (number in self.nodes)
        return [self.nodes[end].content for end in keys if end in self.nodes and self.nodes[end].type in ("entity", "stat")]

    def bindings(self, question: Question) -> list[Binding]:
        return [self.bound[group[0]] for group in question.bindings]

    def quote(self, span: Span, within: Place) -> str:
        """The first words of a span, as many as make them stand only once in the block."""
        block, whole = self.text[within.start : within.end], self.text[span.start : span.end]
        ends = [match.end() for match in re.finditer(r"\S+" if self.language == "en" else r".", whole)]
        for end in ends[min(QUOTE[self.language], len(ends)) - 1 :]:
            if block.count(whole[:end]) == 1:
                return whole[:end]
        return whole

    def event(self, event: Event, within: Place, reading: Reading, slots: int = 2, answer: str = "") -> list[Operation]:
        """Note an event: its node, and edges to at most `slots` of those who take part and are named in the block.

        People come first, but before them what answers the question where the node's own text does not. A number that
        answers it takes the place of all but one of them, as a node of its own.
        """
        key, span = self.key(event), self.book.telling.events[event.id][0]
        node, src = self.nodes[key], self.quote(span, within)
        number = f"stat{event.id}" if answer and self._content(f"stat{event.id}") == answer else None
        part = [edge for edge in self.edges[key] if edge.target in self.nodes and self._mention(edge.target, within)]
        people = [edge for edge in part if re.match("person|guise", edge.target)]
        answering = [edge for edge in part if edge not in people and self._content(edge.target) == answer]
        answering = [edge for edge in answering if answer not in node.content]
        chosen = [*people[:1], *answering, *people[1:]][: 1 if number else slots]
        name = self._content(people[0].target) if people else event.slots.get("clue", "")
        content = node.content if node.type == "concept" else sentence(shown_fact(self.book, event))
        sort = "oath" if event.kind == "false" else event.kind
        note_id = self._id(key, f"{sort}_{_slug(name)}", reading)
        operations: list[Operation] = [AddNode(op="add_node", id=note_id, type=node.type, content=content, src=src)]
        for edge in chosen:
            operations += self._entity(edge.target, within, reading)
            operations.append(_edge(note_id, reading.ids[edge.target], edge.relation, src))
        if number:
            src = self.quote(self.nodes[number].span, within)
            own = self._id(number, f"number_of_{note_id}", reading)
            operations.append(AddNode(op="add_node", id=own, type="stat", content=answer, src=src))
            operations.append(_edge(own, note_id, self.edges[number][0].relation, src))
        return operations

    def binding(self, binding: Binding, span: Span, within: Place, reading: Reading) -> list[Operation]:
        """Note who somebody is: a trade in the person's node, a kinship or a guise as an edge."""
        src, person = self.quote(span, within), f"person{binding.person}"
        if binding.kind == "trade":
            content = sentence(self.voice.binding(binding))
            if person in reading.ids:
                return [EditNode(op="edit_node", id=reading.ids[person], content=content)]
            node_id = self._id(person, _slug(self.nodes[person].content), reading)
            return [AddNode(op="add_node", id=node_id, type="entity", content=content, src=src)]
        first, second = person, f"person{binding.other}"
        relation = self.voice.relation(binding) if binding.kind == "kin" else self.voice.say.RELATIONS["guise"]
        if binding.kind == "guise":
            first, second = f"guise{binding.person}", person
        nodes = [*self._entity(first, within, reading), *self._entity(second, within, reading)]
        return [*nodes, _edge(reading.ids[first], reading.ids[second], relation, src)]

    def _content(self, key: str) -> str:
        return self.nodes[key].content if key in self.nodes else ""

    def _mention(self, key: str, within: Place) -> str | None:
        """The name as the block has it, with a capital letter where it opens a sentence."""
        name, block = self.nodes[key].content, self.text[within.start : within.end]
        return next((form for form in (name, sentence(name)) if form in block), None)

    def _entity(self, key: str, within: Place, reading: Reading) -> list[Operation]:
        if key in reading.ids:
            return []
        name = self.nodes[key].content
        node_id, src = self._id(key, _slug(name), reading), self._mention(key, within) or name
        return [AddNode(op="add_node", id=node_id, type="entity", content=name, src=src)]

    def _id(self, key: str, wanted: str, reading: Reading) -> str:
        """A new id; the second of a name gets a number."""
        taken, node_id, n = set(reading.ids.values()), wanted, 2
        while node_id in taken:
            node_id, n = f"{wanted}_{n}", n + 1
        reading.ids[key] = node_id
        return node_id


def _edge(source: str, target: str, relation: str, src: str) -> AddEdge:
    return AddEdge(op="add_edge", source=source, target=target, relation=relation, src=src)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower().removeprefix("the ").replace("'", "")).strip("_")


@dataclass
class _Block:
    """A block, and what is told wholly within it: events, and bindings with their places. `cut`: something is not."""

    chunk: Chunk
    events: list[Event]
    bindings: list[tuple[Binding, Span]]
    cut: bool


def split_blocks(book: Book, tokenizer: Tokenizer) -> list[Chunk]:
    """The blocks that the graph of a book is built from: whole sentences, at most `roles.BLOCK` tokens."""
    return cut(book, tokenizer, roles.BLOCK)


def _blocks(builder: Builder, chunks: Sequence[Chunk]) -> list[_Block]:
    blocks = []
    for chunk in chunks:
        near = [span for span in (*builder.at, *builder.bound) if span.start < chunk.end and span.end > chunk.start]
        whole = [span for span in near if chunk.start <= span.start and span.end <= chunk.end]
        touched = {event.id: event for span in sorted(near) if (event := builder.at.get(span))}
        events = [e for e in touched.values() if set(builder.book.telling.events[e.id]) <= set(whole)]
        bindings = [(builder.bound[span], span) for span in sorted(whole) if span in builder.bound]
        cut_off = len(whole) < len(near) or len(events) < len(touched)
        blocks.append(_Block(chunk, events, bindings, cut_off))
    return blocks


def edits(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Blocks read with a question in mind, and the changes that each makes to its graph (MindGraph, appendix D.1)."""
    builder, language = Builder(book), book.document.language
    blocks = _blocks(builder, split_blocks(book, tokenizer))

    def fitting(examples: list[tuple[dict[str, str], Edits]]) -> list[tuple[dict[str, str], Edits]]:
        """One of those that fit, if there is one."""
        fit = (e for e in chance.shuffled(examples) if len(tokenizer.encode(EDITS.prompt(language, **e[0]))) <= LONGEST)
        return list(islice(fit, 1))

    full, empty = [], []
    # Those first that hang on who is who: in their blocks people are refined.
    for question in sorted(chance.shuffled(book.questions), key=lambda question: not question.needs_binding):
        if len(full) >= MOST:
            break
        read = list(_read(builder, question, blocks))
        telling = [example for example in read if example[1].operations]
        editing = [example for example in telling if any(operation.op == "edit_node" for operation in example[1].operations)]
        later = [example for example in telling if example[0]["graph_state"] != EMPTY]
        if question.needs_binding and not editing and chance.hit(0.6):
            continue
        full += fitting(editing) or (fitting(later) if chance.hit(0.5) else []) or fitting(telling)
        if len(empty) < len(full) / 4:
            empty += fitting([example for example in read if not example[1].operations])
    lies = chance.sample([event for event in book.world.events if event.kind == "false"], 3)
    refuted = [example for lie in lies for example in fitting(list(_refuted(builder, lie, blocks)))]
    yield from [*full, *empty, *refuted]


def _read(builder: Builder, question: Question, blocks: Sequence[_Block]) -> Gold:
    """What each block does to the graph of a question. Blocks are left out where a reader could be in two minds."""
    wanted, bindings = builder.events(question), builder.bindings(question)
    if not wanted:
        return
    kinds, people = taken_for(wanted, bindings)
    reading, noted = Reading(), set()
    for block in blocks:
        before, operations, doubtful = reading.state, [], block.cut
        for event in block.events:
            if event in wanted:
                operations += builder.event(event, block.chunk, reading, answer=question.answer)
            else:
                doubtful |= event.kind in kinds
        for binding, span in block.bindings:
            bears = binding in bindings
            # A trade is named in the question; kin and guises mean something once one of the two is known.
            of_it = {f"person{binding.person}", f"guise{binding.person}", f"person{binding.other}"}
            known = binding.kind == "trade" or bool(of_it & reading.ids.keys())
            if bears and known and binding not in noted:
                noted.add(binding)
                operations += builder.binding(binding, span, block.chunk, reading)
            else:
                doubtful |= not bears and bool({binding.person, binding.other} & people) or bears and not known
        reading.apply(operations)
        if not doubtful and len(operations) <= 6:
            text, index = builder.book.document[block.chunk], block.chunk.index
            slots = roles.block_slots(question.question, before, text, index, len(blocks))
            yield slots, Edits(operations=operations)


def _refuted(builder: Builder, lie: Event, blocks: Sequence[_Block]) -> Gold:
    """Somebody has sworn that another did it, and the block tells who did: the oath goes, the deed comes."""
    true = builder.book.world.events[lie.slots["of"]]
    question = builder.who(true)
    telling = [block for block in blocks if true in block.events and lie not in block.events and not block.cut]
    sworn = [block for block in blocks if lie in block.events]
    if not telling or not sworn or question is None:
        return
    reading = Reading()
    reading.apply(builder.event(lie, sworn[0].chunk, reading))
    before, claim = reading.state, reading.ids[builder.key(lie)]
    operations = [DeleteNode(op="delete_node", id=claim), *builder.event(true, telling[0].chunk, reading, slots=1)]
    text, index = builder.book.document[telling[0].chunk], telling[0].chunk.index
    yield roles.block_slots(question, before, text, index, len(blocks)), Edits(operations=operations)


def graph_answer(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Graphs of a question, and the answer that they allow with the nodes that it rests on (MindGraph, appendix D.2)."""
    builder = Builder(book)
    chunks = len(split_blocks(book, tokenizer))
    for question in chance.shuffled(book.questions):
        events = builder.events(question)
        if not events or len(events) > 3 or not _readable(builder, question, events):
            continue
        fate = chance.pick(["all", "all", "all", "bindings", "events"])
        kinds, _ = taken_for(events, [])
        noise = [event for event in book.world.events if event.kind != "false" and not alike(event) & kinds]
        noise = chance.sample(noise, chance.between(1, 4))
        for i in range(len(noise) + 1):
            slots, value = _example(builder, question, noise[i:], fate, chunks)
            if len(tokenizer.encode(GRAPH_ANSWER.prompt(book.document.language, **slots))) <= LONGEST:
                yield slots, value
                break


def taken_for(events: Iterable[Event], bindings: Iterable[Binding]) -> tuple[set[str], set[int | None]]:
    """What a reader could take for what is asked: kinds of events, and the people in these and in the bindings."""
    people = {person for binding in bindings for person in (binding.person, binding.other)}
    people |= {value for event in events for slot, value in event.slots.items() if slot in "abcdw"}
    return set().union(*map(alike, events)), people


def bound_key(binding: Binding) -> str:
    """What the book's graph calls the node that says who somebody is."""
    return f"{'guise' if binding.kind == 'guise' else 'person'}{binding.person}"


def _readable(builder: Builder, question: Question, events: Sequence[Event]) -> bool:
    """Whether the graph says the answer in so many words."""
    keys = [builder.key(event) for event in events]
    keys += [edge.target for key in keys for edge in builder.edges[key]]
    said = [builder.nodes[key].content for key in keys]
    return question.answer.lower() in " ".join(said).lower() and question.depth != "set-aggregation"


def _example(
    builder: Builder, question: Question, noise: Sequence[Event], fate: str, chunks: int
) -> tuple[dict[str, str], GraphAnswer]:
    """A graph of the question's events and of others, from which the events or the bindings may be missing."""
    language, reading, whole = builder.language, Reading(), Span(0, len(builder.text))
    events, bindings, cited = builder.events(question), builder.bindings(question), []
    shown = [*noise] if fate == "events" else [*noise, *events]
    for event in sorted(shown, key=lambda event: builder.book.telling.events[event.id][0]):
        reading.apply(builder.event(event, whole, reading, slots=3, answer=question.answer))
        if event in events:
            cited.append(reading.ids[builder.key(event)])
    for binding in [] if fate == "bindings" else bindings:
        span = builder.book.telling.bindings[binding.id][0]
        reading.apply(builder.binding(binding, span, whole, reading))
        cited.append(reading.ids[bound_key(binding)])
    size = roles.graph_stats(len(reading.nodes), len(reading.edges), chunks, language)
    slots = {"graph_state": reading.state, "graph_stats": size, "question": question.question}
    if fate == "events":
        return slots, GraphAnswer(answer=roles.UNKNOWN[language], cited_nodes=[], confidence="low")
    sure: Literal["high", "medium"] = "medium" if bindings and fate == "bindings" else "high"
    return slots, GraphAnswer(answer=question.answer, cited_nodes=list(dict.fromkeys(cited)), confidence=sure)
