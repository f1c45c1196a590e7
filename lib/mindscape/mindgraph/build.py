"""Build a graph: a model reads the text block by block and says what each changes (MindGraph, section 3.2 and D.1).

One call a block, with the question, the graph so far and the block. What came back is in the model's store before the next
block is read, so a run that was killed goes on with the first block that is not there, and ends with the same graph. A reply
that cannot be read changes nothing and is counted; a reply with one bad operation loses that one alone.

Where the graph outgrows its room in the prompt, which the paper does not treat (its graphs have 45 nodes in the median, about
200 at most, section 5.3), nodes are taken in turn from two lists: those that were touched last, which the next block is most
likely to be about, and those with most edges, which hold the rest together (D.2 begins with them, too). A node that does not
fit any more is passed over, and after `MISSES` in a row no more are tried. Edges are shown between shown nodes; how many
nodes are not shown is said.

Every edit, applied or rejected, stands in the *journal*: an entry a block, with the model's reply as it was and the edits that
were made of it, each with its place or with the reason for its rejection. Of the paper's G_t (section 3.2) t counts blocks;
`rebuild` also stops after any number of edits.

`noted_gated` is a gated builder, ours beside the paper's: a retriever chooses blocks, the model says what each tells, code
makes the graph. MindGraph's builder reads every block with the graph so far in its prompt, and decides ids, types, edges and
merges itself (section 3.2). Here the model reads only the blocks that a search for the question finds, each after an empty
graph and so many at once, and says in sentences who did what to whom and where, with a quote. The rest is done by rules:

    links      "X is the T", where the question says T: X is meant, and so is A by "A is X"; for each of them the question is
               asked again with the name in it, and half as many blocks are read
    kept       what bears on the question and names somebody linked, or all of it where there is no link; of events those that
               share words with the question, half as many as the best at least, and of oaths as many as the best
    nodes      a sentence, as a *claim* where somebody says it on oath, else as an *event*; and everybody whom it names
    edges      the first one named "is done by", others "involves", who swears "is said by", a guise "is really"
    merges     one node for the same words

It is no part of the paper, and its rules know the sentences that the builder's adapter was taught, in English alone.

Taught in notebook 30_mindgraph_build. Nothing here splits the text (`mindscape.text` does) or answers the question.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import chain
from typing import Any, cast

from mindscape.ask import read_replies
from mindscape.errors import require
from mindscape.llm import LLM
from mindscape.llm.base import form_of
from mindscape.llm.schema import parse
from mindscape.metrics import words
from mindscape.mindgraph.graph import REASONS, Edit, Graph, apply_all, replay
from mindscape.roles import BUILDER, EDITS, EMPTY, AddNode, Noted, Role, block_slots, graph_state, quoting
from mindscape.search import Retriever, search
from mindscape.text import Chunk, Document, mentions, sentences

TOKENS = 1024  # of a reply, at most
SEAMS = 16  # tokens that a text and its frame may have together, and not apart
MISSES = 4  # nodes in a row that do not fit, after which no more are tried
FIRST = 8  # nodes that are tried at once; then twice as many, as long as they fit
LEFT_OUT = {"en": "({n} more nodes are not shown)", "zh": "（另有{n}个节点未列出）"}


# The journal ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """What became of a block: the reply and its edits; `invalid` says why the reply could not be read, or is empty.

    `shown` counts the nodes of the graph that the model was shown; `finish` is "length" for a reply that was cut off.
    """

    block: int
    reply: str
    edits: tuple[Edit, ...]
    invalid: str = ""
    shown: int = 0
    finish: str = "stop"


@dataclass(frozen=True)
class Journal:
    """`about` the run (its `document` is the document's id), and an entry a block, from block 0 on."""

    about: Mapping[str, Any]
    entries: tuple[Entry, ...] = ()


def rebuild(journal: Journal, *, blocks: int | None = None, edits: int | None = None) -> Graph:
    """The graph after so many blocks (the paper's G_t), or after so many edits, rejected ones counted; else the last one.

    Raises InputError for a number that the journal does not reach, and where its edits do not fit together.

    >>> from mindscape.text import Span
    >>> add = {"op": "add_node", "id": "ivo", "type": "entity", "content": "Ivo", "src": "Ivo"}
    >>> first = Entry(0, "...", (Edit(add, 0, span=Span(0, 3), src="Ivo"), Edit({"raw": "7"}, 0, "malformed")))
    >>> then = Entry(1, "...", (Edit({"op": "delete_node", "id": "ivo"}, 1),))
    >>> journal = Journal({"document": "note"}, (first, then))
    >>> [len(rebuild(journal, edits=t).nodes) for t in range(4)], len(rebuild(journal, blocks=1).nodes)
    ([0, 1, 1, 0], 1)
    """
    require(blocks is None or edits is None, "blocks and edits are both given: expected one of them")
    require(blocks is None or 0 <= blocks <= len(journal.entries), f"blocks={blocks}: expected 0 to {len(journal.entries)}")
    all_edits = [edit for entry in journal.entries[:blocks] for edit in entry.edits]
    require(edits is None or 0 <= edits <= len(all_edits), f"edits={edits}: expected 0 to {len(all_edits)}")
    return reduce(replay, all_edits[:edits], Graph(journal.about["document"]))


def counts(journal: Journal) -> dict[str, int]:
    """What became of a run's blocks and edits.

    `blocks` that were asked on, replies `unreadable` and `cut off`; edits `applied`, of those `quoted` with a quote and
    `verbatim` with one that is the text's to the letter; edits `rejected`, and how many for each reason.

    >>> counts(Journal({"document": "note"}, (Entry(0, "Well", (), "not JSON"),)))["unreadable"]
    1
    """
    edits = [edit for entry in journal.entries for edit in entry.edits]
    reasons = Counter(edit.reason for edit in edits if edit.reason)
    return {
        "blocks": len(journal.entries),
        "unreadable": sum(bool(entry.invalid) for entry in journal.entries),
        "cut off": sum(entry.finish == "length" for entry in journal.entries),
        "applied": len(edits) - reasons.total(),
        "quoted": sum(edit.span is not None for edit in edits),
        "verbatim": sum(edit.span is not None and edit.operation["src"] == edit.src for edit in edits),
        "rejected": reasons.total(),
        **{reason: reasons[reason] for reason in REASONS},
    }


# The build -----------------------------------------------------------------------------------------------------------


def noted(
    document: Document,
    question: str,
    llm: LLM,
    *,
    blocks: Sequence[Chunk],
    budget: int | None = None,
    tokens: int = TOKENS,
    held: bool = False,
    role: Role = EDITS,
) -> Journal:
    """The journal of the graph that a model builds of a document with a question in mind; `rebuild` gives the graph.

    `blocks` are the document's chunks in order, say of `split_sentences(document, tokenizer, 8192)`, the paper's size.
    `budget` bounds the tokens of the graph in the prompt, `tokens` those of a reply; without a budget the graph has what the
    model's window leaves, and all of it is shown where the model does not tell its window. A reply that is `held` can only
    quote what stands in the block (`quoting`): for a model on this machine, whose decoding can be held to a grammar. `role` is
    what the model is asked: EDITS, or BUILDER, by which it says first what a block tells.

    Raises InputError for blocks that are not the document's, a blank question, and a block that leaves no room for a graph,
    before anything is asked; LLMError if the model fails, after which the same call goes on where it was.

    >>> rebuild(noted(play, "Who sent the letter?", llm.load("openai:gpt-4o"), blocks=blocks)).nodes    # doctest: +SKIP
    """
    require(question.strip(), "the question is blank: expected what the graph is to answer")
    require(budget is None or budget >= 1, f"budget={budget}: expected at least 1")
    require(tokens >= 1, f"tokens={tokens}: expected at least 1")
    _check_blocks(document, blocks)

    def talk(block: Chunk, state: str) -> list[dict[str, str]]:
        slots = block_slots(question, state, document[block], block.index, len(blocks))
        return [{"role": "user", "content": role.prompt(document.language, form_of(llm), **slots)}]

    fits = fitting_graph(llm, budget, tokens)
    least = _rendered(Graph(document.id), set(), 9999, document.language)
    room = f"the model's window is {llm.context}, budget={budget}, tokens={tokens}"
    for block in blocks:
        said = f"block {block.index} leaves no room for a graph: {room}: expected shorter blocks or more room"
        require(fits(partial(talk, block), least), said)
    graph, entries, form = Graph(document.id), [], cast(Any, role.form)
    for block in blocks:
        state, shown = shown_state(graph, partial(fits, partial(talk, block)), document.language)
        schema = quoting(document[block], form) if held else form
        reply = llm.chat(talk(block, state), schema=schema, max_new_tokens=tokens)
        operations, invalid = read_operations(reply.text)
        graph, edits = apply_all(graph, operations, document, block)
        entries.append(Entry(block.index, reply.text, edits, invalid, shown, reply.finish))
    return Journal({"document": document.id, "question": question}, tuple(entries))


def fitting_graph(llm: LLM, budget: int | None, tokens: int) -> Callable[[Callable[[str], list[Any]], str], bool]:
    """A function that says whether a graph has at most `budget` tokens and the prompt that shows it, with `tokens` more,
    stands in the model's window; it is given the prompt as a function of the graph. What it counts once it remembers.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(context=40, count_tokens=lambda said: len(str(said)))
    >>> fits = fitting_graph(model, budget=9, tokens=2)
    >>> fits(lambda state: [{"content": f"Graph: {state}"}], "a graph"), fits(lambda state: [], "a large graph")
    (True, False)
    """
    count, frame = cache(llm.count_tokens), llm.count_tokens([{"role": "user", "content": ""}]) + SEAMS

    def fits(talk: Callable[[str], list[Any]], state: str) -> bool:
        if budget is not None and count(state) > budget:
            return False
        if llm.context is None or frame + len(talk(state)[0]["content"].encode()) + tokens <= llm.context:
            return True  # a token has a byte at least
        return llm.count_tokens(talk(state)) + tokens <= llm.context

    return fits


def _check_blocks(document: Document, blocks: Sequence[Chunk]) -> None:
    """See that blocks are those of a document in a language that there are prompts for, in their order."""
    known = f"expected one of {', '.join(LEFT_OUT)}"
    require(document.language in LEFT_OUT, f"{document.id} is in {document.language!r}: {known}")
    require(blocks, f"{document.id} has no blocks to build a graph from")
    for i, block in enumerate(blocks):
        document[block]  # raises where it is not of this document
        at = f"block {i} has index {block.index} and starts at {block.start}"
        require(block.index == i and block.start >= blocks[max(0, i - 1)].start, f"{at}: expected blocks in order")


def read_operations(reply: str) -> tuple[list[Any], str]:
    """The operations in a reply, as JSON has them and not looked at, and why there are none to be read, if so.

    >>> read_operations('{"operations": [{"op": "delete_node", "id": "ivo"}]}'), read_operations("[]")[1]
    (([{'op': 'delete_node', 'id': 'ivo'}], ''), 'expected {"operations": [...]}')
    """
    try:
        value, _ = parse(reply)
    except ValueError as error:
        return [], str(error)
    operations = value.get("operations") if isinstance(value, dict) else None
    return (operations, "") if isinstance(operations, list) else ([], 'expected {"operations": [...]}')


def shown_state(graph: Graph, fits: Callable[[str], bool], language: str = "en") -> tuple[str, int]:
    """What a prompt shows of a graph, and how many nodes of it: all, or by the module's rule as many as `fits`.

    Nodes and edges stand in the order of their making, whichever were chosen. What fits is taken to fit with fewer nodes, too:
    so `fits` is called a few times for each node that is shown, however many there are.

    >>> from mindscape.mindgraph.graph import Node
    >>> nodes = {name: Node(name, "entity", name, name, 0, 3, i, i) for i, name in enumerate(["Ann", "Ivo", "Tom"])}
    >>> print(shown_state(Graph("note", nodes), lambda text: len(text) < 120)[0])
    {"nodes": [
    {"id": "Tom", "type": "entity", "content": "Tom"}
    ], "edges": []}
    (2 more nodes are not shown)
    """
    order = ranked(graph)

    def text(names: Sequence[str]) -> str:
        return _rendered(graph, set(names), len(order) - len(names), language)

    n, size = 0, FIRST
    while n < len(order) and fits(text(order[:size])):
        n, size = min(size, len(order)), 2 * size
    kept, missed = order[:n], 0
    for name in order[n:]:
        if missed == MISSES:
            break
        if fits(text([*kept, name])):
            kept.append(name)
            missed = 0
        else:
            missed += 1
    return text(kept), len(kept)


def ranked(graph: Graph) -> list[str]:
    """The ids of a graph as they are taken into a prompt: in turn the one touched last and the one with most edges.

    A node is touched by the block that added or edited it or tied an edge to it. Of nodes touched by one block the younger
    comes first, of those with equally many edges the one touched later.

    >>> from mindscape.mindgraph.graph import Edge, Node
    >>> nodes = {name: Node(name, "entity", name, name, 0, 1, i, i) for i, name in enumerate("abcd")}
    >>> edges = {("a", end, "knows"): Edge("a", end, "knows", "x", 0, 1, 1) for end in "bc"}
    >>> ranked(Graph("note", nodes, edges))
    ['d', 'a', 'c', 'b']
    """
    touched = {name: node.touched for name, node in graph.nodes.items()}
    degree: Counter[str] = Counter()
    for edge in graph.edges.values():
        for end in {edge.source, edge.target}:
            degree[end] += 1
            touched[end] = max(touched[end], edge.chunk)
    youngest = list(graph.nodes)[::-1]
    recent = sorted(youngest, key=lambda name: -touched[name])
    linked = sorted(recent, key=lambda name: -degree[name])
    return list(dict.fromkeys(chain.from_iterable(zip(recent, linked, strict=True))))


def _rendered(graph: Graph, kept: set[str], left_out: int, language: str) -> str:
    nodes = [vars(node) for node in graph.nodes.values() if node.id in kept]
    edges = [vars(edge) for edge in graph.edges.values() if edge.source in kept and edge.target in kept]
    state = graph_state(nodes, edges)
    return f"{state}\n{LEFT_OUT[language].format(n=left_out)}" if left_out else state


# The gated builder ----------------------------------------------------------------------------------------------------


BLOCKS = 24  # that are read for the question
TOLD = 512  # tokens of a reply on one of them, at most
OATH = re.compile(r"(.+?) says on oath: (.+)")
TRADE = re.compile(r"(.+?) is (the [a-z].*)")
GUISE = re.compile(r"(.+?) is ([A-Z]\w*)")
NAME = re.compile(r"(?:\b[Tt]he )?[A-Z]\w*(?: (?:of )?[A-Z]\w*)*")
LITTLE = "a an the of in to at by with for from and it was were who what which how many different people person"
ASKED = frozenset(LITTLE.split())


def noted_gated(
    document: Document, question: str, llm: LLM, retriever: Retriever, *, blocks: Sequence[Chunk], k: int = BLOCKS
) -> Journal:
    """The graph that answers a question, as the journal of a builder who wrote it block by block.

    `blocks` are in the order of the text; `k` of them are read for the question, half as many for each name that it turns out
    to mean. Raises InputError for a text that is not in English, and for k < 1.

    >>> rebuild(noted(novel, "Who paid the hatter?", builder, embedder, blocks=blocks)).nodes     # doctest: +SKIP
    """
    require(document.language == "en", f"{document.id} is in {document.language!r}: the rules know English sentences alone")
    require(k >= 1, f"k={k}: expected at least one block")
    texts = [document[block].strip() for block in blocks]
    read: dict[int, Noted] = {}
    tried, waiting = set(), {question: k}
    while waiting:
        query, most = waiting.popitem()
        tried.add(query)
        [ranking] = search(retriever, texts, [query], k=min(most, len(texts)))
        new = [i for i in sorted(ranking.ids) if i not in read]
        read |= dict(zip(new, _read(question, texts, new, llm), strict=True))
        people, _ = _meant(question, (fact for notes in read.values() for fact in notes.told))
        again = [re.sub(re.escape(said), name, question, count=1, flags=re.IGNORECASE) for name, said in people.items()]
        waiting |= {query: max(1, k // 2) for query in again if query not in tried}
    return journal(question, document, blocks, read)


def _read(question: str, texts: Sequence[str], places: Sequence[int], llm: LLM) -> list[Noted]:
    """What the model says of some blocks; nothing of one whose reply cannot be read."""
    slots = (block_slots(question, EMPTY, texts[i], i, len(texts)) for i in places)
    prompts = [BUILDER.prompt("en", form_of(llm), **filled) for filled in slots]
    talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
    replies = llm.chat(talks, schema=[quoting(texts[i], Noted) for i in places], max_new_tokens=TOLD) if places else []
    assert isinstance(replies, list)  # one a conversation
    return [read_replies(BUILDER, reply.text) or Noted(told=[], bears=[], operations=[]) for reply in replies]


def journal(question: str, document: Document, blocks: Sequence[Chunk], read: Mapping[int, Noted]) -> Journal:
    """The graph of what some blocks tell, by their places, as a journal whose `about` has the blocks that were read; see the
    module.

    >>> from mindscape.text import laid_out
    >>> document, blocks = laid_out("note", ["It rained.", "Ivo sold the lamp to Ann."])
    >>> fact = "Ivo sold the lamp to Ann"
    >>> written = journal("Who sold the lamp?", document, blocks, {1: Noted(told=[fact], bears=[fact], operations=[])})
    >>> [edit.operation.get("relation", edit.operation.get("content")) for edit in written.entries[1].edits]
    ['Ivo sold the lamp to Ann', 'Ivo', 'is done by', 'Ann', 'involves']
    """
    facts = list(dict.fromkeys(fact for notes in read.values() for fact in notes.told))
    kept = _kept(question, facts, read)
    guises = [match[1] for fact in facts if (match := GUISE.fullmatch(fact))]
    trades = {match[1]: fact for fact in kept if (match := TRADE.fullmatch(fact))}
    graph, entries = Graph(document.id), []
    for block in blocks:
        operations: list[dict[str, Any]] = []
        for fact in (fact for fact, at in kept.items() if at == block.index):
            quote = _quote(fact, read[block.index], document[block])
            operations += _operations(fact, guises, trades, document[block], quote)
        known = [op for op in operations if op.get("id") not in graph.nodes]
        graph, edits = apply_all(graph, list({str(op | {"src": ""}): op for op in known}.values()), document, block)
        entries.append(Entry(block.index, "", edits))
    return Journal({"document": document.id, "question": question, "read": sorted(read)}, tuple(entries))


def _meant(question: str, facts: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Who is meant by what the question says of a trade: names with the words that stand for them; and facts that say so."""
    facts = list(facts)
    trades = {fact: match for fact in facts if (match := TRADE.fullmatch(fact)) and mentions(match[2], question)}
    people = {match[1]: match[2] for match in trades.values()}
    guises = {fact: match for fact in facts if (match := GUISE.fullmatch(fact)) and match[2] in people}
    return people | {match[1]: people[match[2]] for match in guises.values()}, [*trades, *guises]


def _kept(question: str, facts: Sequence[str], read: Mapping[int, Noted]) -> dict[str, int]:
    """The facts that become notes, each with the first block that tells it."""
    people, links = _meant(question, facts)
    links_at: dict[str, int] = {}
    bearing: dict[str, int] = {}
    for at, notes in sorted(read.items()):
        for fact in notes.told:
            if fact in links:
                links_at.setdefault(fact, at)
        for fact in notes.bears:
            named = not people or any(mentions(name, fact) for name in people)
            if named and not TRADE.fullmatch(fact) and not GUISE.fullmatch(fact):
                bearing.setdefault(fact, at)
    shared = {fact: _shared(question, fact) for fact in bearing}
    oaths = {fact for fact in bearing if OATH.fullmatch(fact)}
    enough: set[str] = set()
    for group, share in ((oaths, 1.0), (bearing.keys() - oaths, 0.5)):
        best = max((shared[fact] for fact in group), default=0)
        enough |= {fact for fact in group if shared[fact] >= share * best}
    return links_at | {fact: at for fact, at in bearing.items() if fact in enough}


def _shared(question: str, fact: str) -> int:
    """How many words of a deed, names left out, the question has."""
    oath = OATH.fullmatch(fact)
    deed = NAME.sub(" ", oath[2] if oath else fact)
    return len((set(words(deed, "en")) & set(words(question, "en"))) - ASKED)


def _operations(fact: str, guises: Sequence[str], trades: Mapping[str, str], block: str, quote: str) -> list[dict[str, Any]]:
    """The edits that note a fact: its node, those of the people in it, and the edges between them."""

    def person(name: str) -> dict[str, Any]:
        at = mentions(name, block)
        src = block[at[0] : at[0] + len(name)] if at else quote
        content = trades.get(name, name if name[:4] != "The " else f"the {name[4:]}")
        return {"op": "add_node", "id": _id(name), "type": "entity", "content": content, "src": src}

    def edge(source: str, target: str, relation: str) -> dict[str, Any]:
        return {"op": "add_edge", "source": _id(source), "target": _id(target), "relation": relation, "src": quote}

    if trade := TRADE.fullmatch(fact):
        return [person(trade[1])]
    if guise := GUISE.fullmatch(fact):
        return [person(guise[1]), person(guise[2]), edge(guise[1], guise[2], "is really")]
    oath = OATH.fullmatch(fact)
    deed = oath[2] if oath else fact
    people = sorted({at[0]: name for name in (*NAME.findall(deed), *guises) if (at := mentions(name, deed))}.items())
    named = list(dict.fromkeys(name for _, name in people))
    made = [{"op": "add_node", "id": _id(fact), "type": "claim" if oath else "event", "content": fact, "src": quote}]
    if oath:
        made += [person(oath[1]), edge(fact, oath[1], "is said by")]
    for i, name in enumerate(named if not oath else named[:1]):
        made += [person(name), edge(fact, name, "involves" if i else "is done by")]
    return made


def _id(text: str) -> str:
    return "_".join(words(text.removeprefix("The ").removeprefix("the "), "en"))


def _quote(fact: str, notes: Noted, block: str) -> str:
    """The words that the model quoted for a fact, or the sentence of the block that shares most words with it."""
    for operation in notes.operations:
        if isinstance(operation, AddNode) and operation.content == fact and operation.src.strip() and operation.src in block:
            return operation.src
    wanted = set(words(fact, "en"))
    best = max(sentences(block), key=lambda span: len(wanted & set(words(block[span.start : span.end], "en"))))
    return block[best.start : best.end].strip()
