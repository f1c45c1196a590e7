"""A gated builder, ours beside the paper's: a retriever chooses blocks, the model says what each tells, code makes the graph.

MindGraph's builder reads every block with the graph so far in its prompt, and decides ids, types, edges and merges itself
(section 3.2). Here the model reads only the blocks that a search for the question finds, each after an empty graph and so many
at once, and says in sentences who did what to whom and where, with a quote. The rest is done by rules:

    links      "X is the T", where the question says T: X is meant, and so is A by "A is X"; for each of them the question is
               asked again with the name in it, and half as many blocks are read
    kept       what bears on the question and names somebody linked, or all of it where there is no link; of events those that
               share words with the question, half as many as the best at least, and of oaths as many as the best
    nodes      a sentence, as a *claim* where somebody says it on oath, else as an *event*; and everybody whom it names
    edges      the first one named "is done by", others "involves", who swears "is said by", a guise "is really"
    merges     one node for the same words

It is no part of the paper, and its rules know the sentences that the builder's adapter was taught, in English alone. Taught in
notebook 30_mindgraph_build.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mindscape.ask import read_replies
from mindscape.errors import require
from mindscape.llm import LLM
from mindscape.llm.base import form_of
from mindscape.metrics import words
from mindscape.mindgraph.build import Entry, Journal
from mindscape.mindgraph.graph import Graph, apply_all
from mindscape.roles.edits import BUILDER, EMPTY, AddNode, Noted, quoting
from mindscape.search import Retriever, search
from mindscape.text import Chunk, Document, mentions, sentences

BLOCKS = 24  # that are read for the question
OATH = re.compile(r"(.+?) says on oath: (.+)")
TRADE = re.compile(r"(.+?) is (the [a-z].*)")
GUISE = re.compile(r"(.+?) is ([A-Z]\w*)")
NAME = re.compile(r"(?:\b[Tt]he )?[A-Z]\w*(?: (?:of )?[A-Z]\w*)*")
ASKED = frozenset(
    words("a an the of in to at by with for from and it was were who what which how many different people person", "en")
)


def noted(
    document: Document,
    question: str,
    llm: LLM,
    retriever: Retriever,
    *,
    blocks: Sequence[Chunk],
    k: int = BLOCKS,
    tokens: int = 512,
) -> Journal:
    """The graph that answers a question, as the journal of a builder who wrote it block by block.

    `blocks` are in the order of the text; `k` of them are read for the question, half as many for each name that it turns out
    to mean; `tokens` bounds a reply. Raises InputError for a text that is not in English, and for k < 1.

    >>> rebuild(noted(novel, "Who paid the hatter?", builder, embedder, blocks=blocks)).nodes     # doctest: +SKIP
    """
    require(
        document.language == "en", f"{document.id} is in {document.language!r}: the rules know English sentences alone"
    )
    require(k >= 1, f"k={k}: expected at least one block")
    texts = [document[block].strip() for block in blocks]
    read: dict[int, Noted] = {}
    asked, waiting = set(), {question: k}
    while waiting:
        query, most = waiting.popitem()
        asked.add(query)
        [ranking] = search(retriever, texts, [query], k=min(most, len(texts)))
        new = [i for i in sorted(ranking.ids) if i not in read]
        read |= dict(zip(new, _read(question, texts, new, llm, tokens), strict=True))
        waiting |= {again: max(1, k // 2) for again in _asked_again(question, read.values()) if again not in asked}
    return journal(question, document, blocks, read)


def _read(question: str, texts: Sequence[str], some: Sequence[int], llm: LLM, tokens: int) -> list[Noted]:
    """What the model says of some blocks; nothing of one whose reply cannot be read."""
    slots = {"question": question, "graph_state": EMPTY, "total_blocks": str(len(texts))}
    prompts = [BUILDER.prompt("en", form_of(llm), block_text=texts[i], block_idx=str(i + 1), **slots) for i in some]
    talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
    replies = llm.chat(talks, schema=[quoting(texts[i], Noted) for i in some], max_new_tokens=tokens) if some else []
    assert isinstance(replies, list)  # one a conversation
    nothing = Noted(told=[], bears=[], operations=[])
    return [read_replies(BUILDER, reply.text) or nothing for reply in replies]


def journal(question: str, document: Document, blocks: Sequence[Chunk], read: Mapping[int, Noted]) -> Journal:
    """The graph of what some blocks tell, by their places, as a journal whose `about` has the blocks that were read; see the
    module.

    >>> from mindscape.text import laid_out
    >>> document, blocks = laid_out("note", ["It rained.", "Ivo sold the lamp to Ann."])
    >>> fact = "Ivo sold the lamp to Ann"
    >>> told = journal("Who sold the lamp?", document, blocks, {1: Noted(told=[fact], bears=[fact], operations=[])})
    >>> [edit.operation.get("relation", edit.operation.get("content")) for edit in told.entries[1].edits]
    ['Ivo sold the lamp to Ann', 'Ivo', 'is done by', 'Ann', 'involves']
    """
    told = list(dict.fromkeys(fact for of in read.values() for fact in of.told))
    kept = _kept(question, told, read)
    guises = [match[1] for fact in told if (match := GUISE.fullmatch(fact))]
    trades = {match[1]: fact for fact in kept if (match := TRADE.fullmatch(fact))}
    graph, entries = Graph(document.id), []
    for block in blocks:
        operations: list[dict[str, Any]] = []
        for fact in (fact for fact, at in kept.items() if at == block.index):
            operations += _operations(
                fact, guises, trades, document[block], _quote(fact, read[block.index], document[block])
            )
        known = [it for it in operations if it.get("id") not in graph.nodes]
        graph, edits = apply_all(graph, list({str(it | {"src": ""}): it for it in known}.values()), document, block)
        entries.append(Entry(block.index, "", edits))
    about = {"document": document.id, "question": question, "read": sorted(read)}
    return Journal(about, tuple(entries))


def _meant(question: str, told: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Who is meant by what the question says of a trade: names with the words that stand for them; and facts that say so."""
    told = list(told)
    trades = {fact: match for fact in told if (match := TRADE.fullmatch(fact)) and mentions(match[2], question)}
    people = {match[1]: match[2] for match in trades.values()}
    guises = {fact: match for fact in told if (match := GUISE.fullmatch(fact)) and match[2] in people}
    return people | {match[1]: people[match[2]] for match in guises.values()}, [*trades, *guises]


def _asked_again(question: str, read: Iterable[Noted]) -> list[str]:
    """The question with each name that it turns out to mean."""
    people, _ = _meant(question, (fact for of in read for fact in of.told))
    return [question.replace(said, name, 1) for name, said in people.items()]


def _kept(question: str, told: Sequence[str], read: Mapping[int, Noted]) -> dict[str, int]:
    """The facts that become notes, each with the first block that tells it."""
    people, links = _meant(question, told)
    links_at: dict[str, int] = {}
    bearing: dict[str, int] = {}
    for at, of in sorted(read.items()):
        for fact in of.told:
            if fact in links:
                links_at.setdefault(fact, at)
        for fact in of.bears:
            named = not people or any(mentions(name, fact) for name in people)
            if named and not TRADE.fullmatch(fact) and not GUISE.fullmatch(fact):
                bearing.setdefault(fact, at)
    shared = {fact: _shared(question, fact) for fact in bearing}
    oaths = {fact for fact in bearing if OATH.fullmatch(fact)}
    enough: set[str] = set()
    for some, share in ((oaths, 1.0), (bearing.keys() - oaths, 0.5)):
        best = max((shared[fact] for fact in some), default=0)
        enough |= {fact for fact in some if shared[fact] >= share * best}
    return links_at | {fact: at for fact, at in bearing.items() if fact in enough}


def _shared(question: str, fact: str) -> int:
    """How many words of a deed, names left out, the question has."""
    oath = OATH.fullmatch(fact)
    deed = NAME.sub(" ", oath[2] if oath else fact)
    return len((set(words(deed, "en")) & set(words(question, "en"))) - ASKED)


def _operations(
    fact: str, guises: Sequence[str], trades: Mapping[str, str], block: str, quote: str
) -> list[dict[str, Any]]:
    """The edits that note a fact: its node, those of the people in it, and the edges between them."""

    def person(name: str) -> dict[str, Any]:
        at = mentions(name, block)
        src = block[at[0] : at[0] + len(name)] if at else quote
        content = trades.get(name, name if name[:4] != "The " else f"the {name[4:]}")
        return {"op": "add_node", "id": _id(name), "type": "entity", "content": content, "src": src}

    def edge(source: str, target: str, relation: str) -> dict[str, Any]:
        return {"op": "add_edge", "source": _id(source), "target": _id(target), "relation": relation, "src": quote}

    if TRADE.fullmatch(fact):
        return [person(TRADE.fullmatch(fact)[1])]
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


def _quote(fact: str, of: Noted, block: str) -> str:
    """The words that the model quoted for a fact, or the sentence of the block that shares most words with it."""
    for it in of.operations:
        if isinstance(it, AddNode) and it.content == fact and it.src.strip() and it.src in block:
            return it.src
    wanted = set(words(fact, "en"))
    spans = sentences(block)
    best = max(spans, key=lambda span: len(wanted & set(words(block[span.start : span.end], "en"))))
    return block[best.start : best.end].strip()
