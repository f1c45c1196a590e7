"""Examples of counting from a concept graph: each node that the question asks about, whom it adds, and how many that makes.

The paper's reply has the answer before the nodes (MindGraph, appendix D.2), which asks a model for a sum before its terms. The
graphs are those of `building.Run`, by builders who err, after a third, two thirds and all of a book, so that the same question
has several right answers: what is counted is what the graph says. The same in the paper's order is the control. Taught in
notebook 31_mindgraph_answer.
"""

import json
from collections.abc import Mapping

from mindscape.question import Question
from mindscape.roles import Example, Role
from mindscape.roles.graph_answer import COUNTED, GRAPH_ANSWER, UNKNOWN, Counted, GraphAnswer
from mindscape.text import Tokenizer
from storyworld import Book, kinds
from storyworld.chance import Chance
from storyworld.teaching.building import FAULTS, Run
from storyworld.teaching.graphs import split_blocks
from storyworld.world import Event


def count_examples(book: Book, tokenizer: Tokenizer, seed: int = 0, number_first: bool = False) -> list[Example]:
    """Three of each question and builder, two builders a question, always the same for the same book and seed.

    `number_first` asks for the same counts in the paper's form: the number, then the nodes.

    >>> len(count_examples(training_book(930), tokenizer))                                             # doctest: +SKIP
    18
    """
    chance, chunks = Chance("counting", book.document.id, seed), split_blocks(book, tokenizer)
    made = []
    for question in (question for question in book.questions if question.kind == "people"):
        for faults in (0.0, chance.pick(list(FAULTS))):
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
    value = Counted(counted=lines, answer=answer, confidence="high" if people else "low")
    if number_first:
        reply = GraphAnswer(answer=answer, cited_nodes=value.cited_nodes, confidence=value.confidence)
        return _example(GRAPH_ANSWER, reply, run, slots)
    return _example(COUNTED, value, run, slots)


def _example(role: Role, reply: GraphAnswer | Counted, run: Run, slots: Mapping[str, str]) -> Example:
    prompt = role.prompt(run.builder.language, **slots)
    return Example(role.name, prompt, role.render(reply), run.book.document.id)


def _deed(book: Book, question: Question) -> str:
    """The kind of event whose doers a question counts: the longest whose words it has."""
    said = book.voice.words.events.EVENTS
    return max(
        (kind for kind in kinds.SLOTS if said[kind]["inf"] in question.question), key=lambda k: len(said[k]["inf"])
    )


def _who(run: Run, event: Event, deed: str, state: str) -> list[str]:
    """Who does the deed in an event, seen from either side; somebody in disguise by name where the graph says who it is."""
    ids, found = run.reading.ids, []
    for slot, kind in (("a", event.kind), ("b", kinds.FROM_B.get(event.kind))):
        if kind == deed:
            guise, named = (json.dumps(ids.get(f"{what}{event.slots[slot]}")) for what in ("guise", "person"))
            known = f'"source": {guise}, "target": {named}' in state
            found.append(run.builder.voice.name(event.slots[slot], () if known else event.guised))
    return found
