"""Examples for a builder of its own: what a block tells, what of it bears on the question, what that changes in the graph; and
answers from such graphs, with a look-up where a note lacks what its passage has. And examples of counting from a graph: each
node that the question asks about, whom it adds, and how many that makes.

The graph before a block is that of a builder who errs: it misses notes, drops edges, notes what does not bear. Half of the
blocks bear on the question, and of the others two in three are near it: they tell the same kind of thing, or name the same
people. (The examples of `graphs.edits` leave out every block on which a reader could be in two minds, and so most of these.)

Counting: the paper's reply has the answer before the nodes (MindGraph, appendix D.2), which asks a model for a sum before its
terms. The graphs are those of `Run`, by builders who err, after a third, two thirds and all of a book, so that the same
question has several right answers: what is counted is what the graph says. The same in the paper's order is the control.
Taught in notebooks 30_mindgraph_build and 31_mindgraph_answer.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Literal

from mindscape import roles
from mindscape.errors import require
from mindscape.mindgraph.answer import HOW, RESULT
from mindscape.mindgraph.build import shown_state
from mindscape.mindgraph.communities import Tools
from mindscape.mindgraph.graph import Graph, apply_all, around
from mindscape.question import Question
from mindscape.roles import BUILDER, GRAPH_ANSWER, UNKNOWN, AddEdge, Counted, DeleteNode, Example, GraphAnswer, Operation
from mindscape.text import Chunk, Span, Tokenizer
from storyworld import Book, world
from storyworld.teaching.graphs import Builder, Reading, bound_key, shown_fact, split_blocks, taken_for
from storyworld.world import Binding, Chance, Event

GRAPH = 400  # tokens of a graph before a block, and of one that is verified, at most
ANSWERED = 700  # of one that is answered from
LONGEST = 1300  # tokens of a builder's prompt
# How often a builder notes what does not bear on the question; 0: it makes no fault at all.
FAULTS = (0, 0.03, 0.06, 0.12)
Chunks = Sequence[Chunk]
Sure = Literal["high", "medium"]
OTHERS = ("liar", "people", "times", "twice", "culprit", "herring", "unvouched", "heirloom")


class Run:
    """A builder's way through a book for a question: what is to be noted of each block, and its own graph, right or wrong."""

    def __init__(self, book: Book, chunks: Chunks, question: Question, tokenizer: Tokenizer, chance: Chance, faults: float):
        self.book, self.builder, self.chunks, self.question = book, Builder(book), chunks, question
        self.tokenizer, self.chance, self.faults = tokenizer, chance, faults
        self.reading, self.graph = Reading(), Graph(book.document.id)
        self.wanted, self.bindings = self.builder.events(question), self.builder.bindings(question)

    def first_told(self, index: int) -> tuple[list[Event], list[tuple[Binding, Span]]]:
        """Events that a block is the first to tell, and bindings with their places."""
        facts = self.builder.within(self.chunks[index])
        events = [entry for _, _, entry in facts if isinstance(entry, Event)]
        return events, [(entry, span) for span, _, entry in facts if isinstance(entry, Binding)]

    def facts(self, index: int) -> dict[str, bool]:
        """What a block tells, in a sentence each, and whether it bears on the question."""
        facts = self.builder.within(self.chunks[index])
        bearing = {text for span, text, entry in facts if self.bears(entry, span)}
        return {text: text in bearing for _, text, _ in facts}

    def bears(self, entry: Event | Binding, span: Span) -> bool:
        """Whether something bears on the question; a binding does where it is told first."""
        if isinstance(entry, Event):
            return entry in self.wanted
        return entry in self.bindings and span == self.book.telling.bindings[entry.id][0]

    def gold(self, index: int, thin: bool = False) -> tuple[list[Operation], Graph]:
        """The operations on a block that apply to the graph as it is, and the graph after them.

        `thin`: an event's note has one edge, and the answer only where the event's own words name it.
        """
        chunk, (events, bindings) = self.chunks[index], self.first_told(index)
        operations: list[Operation] = []
        for event in events:
            if event in self.wanted:
                how = {"slots": 1} if thin else {"answer": self.question.answer}
                operations += self.builder.event(event, chunk, self.reading, **how)
        for binding, span in bindings:
            if self.bears(binding, span):
                operations += self.builder.binding(binding, span, chunk, self.reading)
        return self.applied(operations, chunk)

    def applied(self, operations: list[Operation], chunk: Chunk) -> tuple[list[Operation], Graph]:
        """The operations that apply, and the graph after them."""
        after, edits = apply_all(self.graph, operations, self.book.document, chunk)
        self._known(after)
        return [operation for operation, edit in zip(operations, edits, strict=True) if not edit.reason], after

    def go(self, index: int, operations: list[Operation], after: Graph) -> None:
        """Take the graph after a block for one's own, now and then with a fault."""
        chunk, chance = self.chunks[index], self.chance
        if operations and self.faults and chance.hit(0.2):  # missed
            after = self.graph
        elif operations and self.faults and chance.hit(0.2):
            nodes = [operation for operation in operations if not isinstance(operation, AddEdge)]
            after, _ = apply_all(self.graph, nodes, self.book.document, chunk)
        elif not operations and self.faults and chance.hit(self.faults) and (events := self.first_told(index)[0]):
            _, after = self.applied(self.builder.event(chance.pick(events), chunk, self.reading), chunk)
        self.graph = after
        self._known(after)

    def state(self, most: int = GRAPH) -> str:
        """The graph as a prompt shows it, in so many tokens at most."""

        def fits(text: str) -> bool:
            return len(self.tokenizer(text)["input_ids"]) <= most

        return shown_state(self.graph, fits, self.book.document.language)[0]

    def slots(self, chunks: int, most: int = ANSWERED) -> dict[str, str]:
        """What the prompt of an answer is filled with, after so many blocks."""
        size = roles.graph_stats(len(self.graph.nodes), len(self.graph.edges), chunks, self.book.document.language)
        return {"graph_state": self.state(most), "graph_stats": size, "question": self.question.question}

    def answered(self, role: str, prompt: str, answer: str, *history: str, cited: list[str], sure: Sure) -> Example:
        """What is replied in the end: an answer and the nodes that it rests on, or that the answer is not known."""
        known = answer != UNKNOWN[self.builder.language]
        value = GraphAnswer(answer=answer, cited_nodes=cited if known else [], confidence=sure if known else "low")
        return Example(role, prompt, GRAPH_ANSWER.render(value), self.book.document.id, history)

    def example(self, kind: str, index: int, state: str, operations: list[Operation]) -> Example:
        """A block before which the graph was `state`."""
        facts, chunk, language = self.facts(index), self.chunks[index], self.book.document.language
        bears = [text for text, on in facts.items() if on and operations]
        text, blocks = self.book.document[chunk], len(self.chunks)
        slots = roles.block_slots(self.question.question, state, text, index, blocks)
        noted = {"told": [*facts], "bears": bears, "operations": [operation.model_dump() for operation in operations]}
        reply = BUILDER.render(roles.Noted.model_validate(noted))
        return Example(f"builder {kind}", BUILDER.prompt(language, **slots), reply, self.book.document.id)

    def _known(self, graph: Graph) -> None:
        self.reading.ids = {key: name for key, name in self.reading.ids.items() if name in graph.nodes}


def block_examples(book: Book, tokenizer: Tokenizer, seed: int = 0) -> list[Example]:
    """What a builder and answerer learns from a book, always the same for the same book and seed.

    Roles are `builder full`, `builder empty`, `builder refuted`, and `answer ...` by what the graph says.

    >>> [example.role for example in block_examples(training_book(600), tokenizer)][:2]            # doctest: +SKIP
    ['builder full', 'builder full']
    """
    chance = Chance("builder", book.document.id, seed)
    builder, chunks = Builder(book), split_blocks(book, tokenizer)
    made, ended = [], []
    for question in _chosen(book, builder, chance):
        run = Run(book, chunks, question, tokenizer, chance, chance.pick(FAULTS))
        made += _read(run, thin=chance.hit(0.2))
        ended.append(run)
    for question in chance.shuffled([question for question in book.questions if _lacking(book, builder, question)])[:5]:
        run = Run(book, chunks, question, tokenizer, chance, chance.pick(FAULTS[:3]))
        for index in range(len(chunks)):
            run.go(index, *run.gold(index, thin=True))
        ended.append(run)
    for lie in chance.sample([event for event in book.world.events if event.kind == "false"], 3):
        made += _refuted(book, chunks, lie, tokenizer, chance)
    made = [example for example in made if len(tokenizer(example.prompt)["input_ids"]) <= LONGEST]
    chance = Chance("builder answers", book.document.id, seed)
    return [*made, *(example for run in ended for example in _answers(run, chance))]


def _chosen(book: Book, builder: Builder, chance: Chance) -> list[Question]:
    """Questions of all kinds: behind a binding, untruths on oath, counts, others."""

    def drawn(fits: Callable[..., bool]) -> list[Question]:
        return chance.shuffled([question for question in book.questions if fits(question) and builder.events(question)])

    bound = drawn(lambda question: question.needs_binding and question.depth != "set-aggregation")
    chosen = [question for question in bound if len(builder.events(question)) <= 2][:6]
    for kinds in (("liar",), ("people",), ("times", "twice")):
        chosen += drawn(lambda question, kinds=kinds: question.kind in kinds)[:2]
    return chosen + drawn(lambda question: not question.needs_binding and question.kind not in OTHERS)[:2]


def _read(run: Run, thin: bool) -> list[Example]:
    """Read a book to its end: every block that bears on the question, and as many others."""
    kinds, people = taken_for(run.wanted, run.bindings)
    full, near, far = [], [], []
    for index in range(len(run.chunks)):
        state = run.state()
        operations, after = run.gold(index, thin)
        events, bindings = run.first_told(index)
        if operations and not thin:
            full.append(run.example("full", index, state, operations))
        if not operations and not any(run.facts(index).values()):  # else it was noted before, or its quote is cut
            alike = {event.kind for event in events} & kinds or {binding.person for binding, _ in bindings} & people
            (near if alike else far).append(run.example("empty", index, state, []))
        run.go(index, operations, after)
    most = max(2, len(full))
    empty = run.chance.shuffled(near)[: (2 * most + 1) // 3]
    return full + empty + run.chance.shuffled(far)[: most - len(empty)]


def _decided_by(question: Question) -> Literal["count", "liar", "passage"]:
    """What decides an answer: how many notes there are, two that contradict each other (who swore falsely), or one passage."""
    return "count" if question.depth == "set-aggregation" else "liar" if question.kind == "liar" else "passage"


def _lacking(book: Book, builder: Builder, question: Question) -> bool:
    """Whether a note of the question's one event does not name the answer, and the passage does."""
    events = builder.events(question)
    alone = len(events) == 1 and _decided_by(question) == "passage"
    return alone and question.answer.lower() not in shown_fact(book, events[0]).lower()


def _refuted(book: Book, chunks: Sequence[Chunk], lie: Event, tokenizer: Tokenizer, chance: Chance) -> list[Example]:
    """Somebody has sworn that another did it, and the block tells who did: the oath goes, the deed comes."""
    builder, true = Builder(book), book.world.events[lie.slots["of"]]
    text = builder.who(true)
    if text is None:
        return []
    question = replace(book.questions[0], question=text, answer="", evidence=(), bindings=())
    run = Run(book, chunks, question, tokenizer, chance, 0)
    starts = [chunk.start for chunk in chunks]
    sworn, telling = (bisect_right(starts, book.telling.events[event.id][0].start) - 1 for event in (lie, true))
    if sworn == telling:
        return []
    run.wanted = [lie]
    _, run.graph = run.gold(sworn)
    if builder.key(lie) not in run.reading.ids:
        return []
    state, run.wanted, chunk = run.state(), [true], chunks[telling]
    operations: list[Operation] = [DeleteNode(op="delete_node", id=run.reading.ids[builder.key(lie)])]
    operations += builder.event(true, chunk, run.reading, slots=1)
    operations, _ = run.applied(operations, chunk)
    return [run.example("refuted", telling, state, operations)] if len(operations) > 1 else []


def _answers(run: Run, chance: Chance) -> Iterator[Example]:
    """The answer from a finished graph, with tools and without; a look-up before it where only the passage has it."""
    book, question, graph, language = run.book, run.question, run.graph, run.builder.language
    slots, ids, names = run.slots(len(run.chunks)), run.reading.ids, graph.nodes
    state = slots["graph_state"]
    noted = [ids[key] for key in map(run.builder.key, run.wanted) if ids.get(key) in names]
    shown = [name for name in noted if f'"id": "{name}"' in state]
    bound = [ids[key] for key in map(bound_key, run.bindings) if key in ids]
    decided, whole = _decided_by(question), len(noted) == len(run.wanted)
    parts = question.answer.lower().split(run.builder.voice.say.AND)
    says = noted and all(part in state.lower() for part in parts) and (whole or decided != "liar")
    if decided == "count":
        says = whole and len(shown) == len(noted)
    plain = GRAPH_ANSWER.prompt(language, **slots)
    tools = f"{plain}\n\n{HOW[language]}"
    cited = list(dict.fromkeys([*shown, *(name for name in bound if f'"id": "{name}"' in state)]))
    example = partial(run.answered, cited=cited, sure="high" if len(bound) == len(run.bindings) else "medium")
    if says or not noted:
        kind, answer = ("says", question.answer) if says else ("nothing", UNKNOWN[language])
        yield example(f"answer {kind}", plain, answer)
        yield example(f"answer {kind}, tools", tools, answer)
    elif decided == "passage":
        passages = {name: book.document[around(book.document, names[name])].lower() for name in shown}
        looked = next((name for name, passage in passages.items() if question.answer.lower() in passage), None)
        if looked:
            call, result = _looked_up(run, looked)
            yield Example("answer lacks, look-up", tools, call, book.document.id)
            yield example("answer looked up", tools, question.answer, call, result)
            if chance.hit(0.5):
                yield example("answer lacks", plain, UNKNOWN[language])


def verify_examples(book: Book, tokenizer: Tokenizer, seed: int = 0) -> list[Example]:
    """Answers that look up first what one passage can verify, and go by it; always the same for the same book and seed.

    Kinds in the shares that questions have: who swore falsely, one event's doer or other words, a count. What one event tells
    is looked up, from two graphs a question, one with persons taken for others; in two of five a note may lack the answer that
    its passage has. Roles are `verify look`, `verify right` and `verify mended` by what the notes say. No single passage
    decides `verify liar`, where two notes contradict each other, and `verify count`; `verify nothing` is where notes say
    nothing. Raises InputError for a book that is not in English, whose names are not words of their own.

    >>> [example.role for example in verify_examples(training_book(960), tokenizer)][:2]           # doctest: +SKIP
    ['verify look', 'verify right']
    """
    require(book.document.language == "en", f"{book.document.id} is in {book.document.language!r}: expected English")
    chance, chunks, builder = Chance("verifying", book.document.id, seed), split_blocks(book, tokenizer), Builder(book)
    questions = chance.shuffled([question for question in book.questions if builder.events(question)])
    names = _names(book)
    narrow = [question for question in questions if _decided_by(question) == "passage"]
    chosen = [question for question in narrow if question.answer in names and question.needs_binding][:2]
    chosen += [question for question in narrow if question.answer in names and not question.needs_binding][:1]
    chosen += [question for question in narrow if question.answer not in names][:1]
    for kind in ("liar", "people"):
        chosen += [question for question in questions if question.kind == kind][:3]
    made = []
    for question in chosen:
        decided = _decided_by(question)
        run = Run(book, chunks, question, tokenizer, chance, 0 if decided == "count" else chance.pick(FAULTS))
        thin = decided == "passage" and chance.hit(0.4)
        for index in range(len(chunks)):
            run.go(index, *run.gold(index, thin))
        made += _verified(run, {})
        if run.graph.nodes and decided == "passage":
            made += _verified(run, _taken_for_others(run, chance))
    return made


def _names(book: Book) -> list[str]:
    return [book.voice.name(person) for person in range(len(book.world.people))]


def _taken_for_others(run: Run, chance: Chance) -> dict[str, str]:
    """Other names for the answer, if it is one, and half of the persons that the notes name."""
    names, said = _names(run.book), " ".join(node.content for node in run.graph.nodes.values())
    here = [name for name in names if name in said]
    others = chance.shuffled([name for name in names if name not in here])
    chosen = [name for name in here if name == run.question.answer or chance.hit(0.5)]
    return dict(zip(chosen, others, strict=False))


def _verified(run: Run, wrong: Mapping[str, str]) -> Iterator[Example]:
    """The look-up, and the answer after it, from the graph with names exchanged for `wrong` ones."""
    book, question, language = run.book, run.question, run.builder.language
    words = {**wrong, **{old.lower(): new.lower() for old, new in wrong.items()}}

    def said(text: str) -> str:
        return re.sub(r"[^\W_]+", lambda word: words.get(word[0], word[0]), text)

    ids = {key: said(name) for key, name in run.reading.ids.items()}
    nodes = {said(name): replace(node, id=said(name), content=said(node.content)) for name, node in run.graph.nodes.items()}
    ties = [replace(edge, source=said(edge.source), target=said(edge.target)) for edge in run.graph.edges.values()]
    edges = {(edge.source, edge.target, edge.relation): edge for edge in ties}
    mistaken, decided = copy(run), _decided_by(question)
    mistaken.graph = Graph(book.document.id, nodes, edges)
    slots = mistaken.slots(len(run.chunks), ANSWERED if decided == "count" else GRAPH)
    prompt, state = f"{GRAPH_ANSWER.prompt(language, **slots)}\n\n{HOW[language]}", slots["graph_state"]

    def shown(keys: Iterable[str]) -> list[str]:
        return [ids[key] for key in keys if key in ids and f'"id": "{ids[key]}"' in state]

    deeds, who = shown(map(run.builder.key, run.wanted)), shown(map(bound_key, run.bindings))
    example = partial(run.answered, cited=[*dict.fromkeys([*deeds, *who])], sure="high")
    if not deeds:
        if not wrong:
            yield example("verify nothing", prompt, UNKNOWN[language])
        return
    if decided != "passage":
        if len(deeds) == len(run.wanted):
            yield example(f"verify {decided}", prompt, question.answer)
        return
    answer = question.answer.lower()
    passages = {name: book.document[around(book.document, nodes[name])].lower() for name in (*deeds, *who)}
    holding, known = [name for name, passage in passages.items() if answer in passage], answer in state.lower()
    if holding or known:
        call, result = _looked_up(mistaken, (holding or deeds)[0])
        yield Example("verify look", prompt, call, book.document.id)
        yield example(f"verify {'right' if known else 'mended'}", prompt, question.answer, call, result)


def _looked_up(run: Run, name: str) -> tuple[str, str]:
    """The call of `lookup_source` on a node, and what comes back."""
    call = json.dumps({"name": "lookup_source", "arguments": {"node_id": name}}, ensure_ascii=False)
    result = json.dumps(Tools(run.graph, run.book.document, None).lookup_source(name), ensure_ascii=False)
    return call, RESULT[run.builder.language].format(result=result)


def count_examples(book: Book, tokenizer: Tokenizer, seed: int = 0, number_first: bool = False) -> list[Example]:
    """Three of each question and builder, two builders a question, always the same for the same book and seed.

    `number_first` asks for the same counts in the paper's form: the number, then the nodes.

    >>> len(count_examples(training_book(930), tokenizer))                                             # doctest: +SKIP
    18
    """
    chance, chunks = Chance("counting", book.document.id, seed), split_blocks(book, tokenizer)
    made = []
    for question in (question for question in book.questions if question.kind == "people"):
        for faults in (0.0, chance.pick(FAULTS)):
            run = Run(book, chunks, question, tokenizer, chance, faults)
            stops = {len(chunks) // 3, 2 * len(chunks) // 3, len(chunks)}
            for index in range(len(chunks)):
                run.go(index, *run.gold(index))
                if index + 1 in stops:
                    made.append(counted(run, index + 1, number_first))
    return made


def counted(run: Run, chunks: int, number_first: bool = False) -> Example:
    """The example of a graph as it is after so many blocks."""
    language, slots, deed = run.builder.language, run.slots(chunks), _deed(run.book, run.question)
    state = slots["graph_state"]
    ids = {name: key for key, name in run.reading.ids.items()}
    events = {run.builder.key(event): event for event in run.wanted}
    people, lines = [], []
    for name in run.graph.nodes:
        if ids.get(name) in events and f'"id": "{name}"' in state:
            for who in _who(run, events[ids[name]], deed, state):
                people += [who] if who not in people else []
                lines.append(f"{name}: {who}, {len(people)}")
    answer = run.builder.voice.number(len(people)) if people else UNKNOWN[language]
    value: Counted | GraphAnswer = Counted(counted=lines, answer=answer, confidence="high" if people else "low")
    if number_first:
        value = GraphAnswer(answer=answer, cited_nodes=value.cited_nodes, confidence=value.confidence)
    role = GRAPH_ANSWER if number_first else roles.COUNTED
    return Example(role.name, role.prompt(language, **slots), role.render(value), run.book.document.id)


def _deed(book: Book, question: Question) -> str:
    """The kind of event whose doers a question counts: the longest whose words it has."""
    said = {kind: book.voice.words.events.EVENTS[kind]["inf"] for kind in world.SLOTS}
    return max((kind for kind in said if said[kind] in question.question), key=lambda kind: len(said[kind]))


def _who(run: Run, event: Event, deed: str, state: str) -> list[str]:
    """Who does the deed in an event, seen from either side; somebody in disguise by name where the graph says who it is."""
    ids, names = run.reading.ids, []
    for slot, kind in (("a", event.kind), ("b", world.FROM_B.get(event.kind))):
        if kind == deed:
            guise, named = (json.dumps(ids.get(f"{what}{event.slots[slot]}")) for what in ("guise", "person"))
            known = f'"source": {guise}, "target": {named}' in state
            names.append(run.builder.voice.name(event.slots[slot], () if known else event.guised))
    return names
