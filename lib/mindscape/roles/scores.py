"""How well a reply of a role agrees with the gold: a score from 0 to 1 for each of a few names, per reply.

A reply that cannot be read scores 0. A score is NaN where the gold leaves nothing to score (a summary that binds nobody, a
block without edges), and the scores of quotes where a reply quotes nothing. Taught in notebook 01_the_reader.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from mindscape.metrics import exact_match, rouge_l, token_f1
from mindscape.roles.edits import AddEdge, AddNode, EditNode, Edits, Operation
from mindscape.roles.memory import DocumentMemory, Extracted
from mindscape.text import Document, locate
from storyworld import Book, weighing

T = TypeVar("T")
ALIKE = 0.5  # token F1 from which the contents of two nodes are taken for the same
NEAR = 20  # characters by which a border may miss
Score = Callable[[Book, Mapping[str, str], Any, Any], dict[str, float]]
QUOTES = ("quote_located", "quote_verbatim", "ends_located")


def f1(gold: Collection, found: Collection) -> float:
    """The F1 of two sets; 1 where both are empty.

    >>> f1({1, 2}, {2, 3}), f1([], [])
    (0.5, 1.0)
    """
    gold, found = set(gold), set(found)
    return 2 * len(gold & found) / (len(gold) + len(found)) if gold or found else 1.0


def indices_f1(gold: Sequence[int], found: Sequence[int]) -> float:
    """The F1 of two lists of indices in which [-1] is none.

    >>> indices_f1([-1], [-1]), indices_f1([0, 2], [2])
    (1.0, 0.6666666666666666)
    """
    return f1(set(gold) - {-1}, set(found) - {-1})


def node_and_edge_f1(gold: Edits, found: Edits, language: str = "en") -> tuple[float, float]:
    """F1 of the operations on nodes, and of the added edges, each matched to one at most, the likest first.

    Two added nodes are the same if their types are and their contents share half of their words; two edits if their ids
    are and the contents share half; two deletions if their ids are. Two edges are the same if their relations are, and
    the nodes at both ends are the same or have the same id. NaN for edges where the gold adds none; 1 for nodes where
    neither side has an operation.

    >>> gold = Edits.model_validate({"operations": [{"op": "delete_node", "id": "oath_of_ivo"}]})
    >>> node_and_edge_f1(gold, Edits(operations=[]))
    (0.0, nan)
    """
    nodes = [[op for op in edits.operations if not isinstance(op, AddEdge)] for edits in (gold, found)]
    edges = [[op for op in edits.operations if isinstance(op, AddEdge)] for edits in (gold, found)]
    alike = {(i, j): _likeness(a, b, language) for i, a in enumerate(nodes[0]) for j, b in enumerate(nodes[1])}
    pairs = matched(alike)
    same = {nodes[1][j].id: nodes[0][i].id for i, j in pairs.items() if isinstance(nodes[1][j], AddNode)}
    ends = [
        Counter((names.get(e.source, e.source), names.get(e.target, e.target), e.relation.lower()) for e in some)
        for names, some in zip(({}, same), edges, strict=True)
    ]
    both = (ends[0] & ends[1]).total()
    sizes = len(nodes[0]) + len(nodes[1])
    of_edges = 2 * both / (len(edges[0]) + len(edges[1])) if edges[0] else math.nan
    return 2 * len(pairs) / sizes if sizes else 1.0, of_edges


def matched(likeness: Mapping[tuple[T, T], float]) -> dict[T, T]:
    """Pairs that are at least `ALIKE`, the likest first, each side in one of them.

    >>> matched({("ivo", "i"): 0.9, ("ivo", "a"): 1.0, ("ann", "i"): 0.6})
    {'ivo': 'a', 'ann': 'i'}
    """
    pairs: dict[T, T] = {}
    for one, other in sorted(likeness, key=lambda pair: -likeness[pair]):
        if likeness[one, other] >= ALIKE and one not in pairs and other not in pairs.values():
            pairs[one] = other
    return pairs


def _likeness(a: Operation, b: Operation, language: str) -> float:
    if a.op != b.op or (isinstance(a, AddNode) and a.type != b.type):
        return 0.0
    if not isinstance(a, AddNode) and a.id != b.id:
        return 0.0
    if isinstance(a, AddNode | EditNode):
        return token_f1(b.content, a.content, language) if b.content.strip() else 0.0
    return 1.0


def located(quotes: Sequence[str], text: str) -> float:
    """The share of quotes that `locate` finds in a text; NaN for none.

    >>> located(["It rained", "It snowed all night on the hill"], "It rained. Ivo went home.")
    0.5
    """
    document = Document("shown", text)
    return _share(quotes, lambda quote: locate(quote, document) is not None)


def verbatim(quotes: Sequence[str], text: str) -> float:
    """The share of quotes that stand in a text letter by letter, blanks apart; NaN for none.

    >>> verbatim(["rained.  Ivo went", "It poured"], "It rained. Ivo went home.")
    0.5
    """
    shown = " ".join(text.split())
    return _share(quotes, lambda quote: " ".join(quote.split()) in shown)


def _share(quotes: Sequence[str], right: Callable[[str], bool]) -> float:
    return sum(bool(one.strip()) and right(one) for one in quotes) / len(quotes) if quotes else math.nan


def borders(memory: DocumentMemory | Extracted, text: str) -> list[int]:
    """Where the second chunk of a memory begins, the third and so on: the places of their first words, where found.

    Each is looked for behind the one before it, and only where it is not there in the whole text.
    """
    found, behind = [], 0
    for i, scenario in enumerate(memory.scenario):
        head = scenario.ends[0]
        for start in (behind, 0):
            place = locate(head, Document("shown", text[start:])) if head else None
            if place:
                behind = start + place.end
                found += [start + place.start] if i else []
                break
    return found


def border_f1(gold: Sequence[int], found: Sequence[int]) -> float:
    """The F1 of borders, each found one matched to at most one of gold that is `NEAR`; NaN where there are none.

    >>> border_f1([100, 400], [95, 380, 700])
    0.8
    """
    free, right = sorted(gold), 0
    for place in sorted(found):
        hit = next((one for one in free if abs(one - place) <= NEAR), None)
        if hit is not None:
            free.remove(hit)
            right += 1
    return 2 * right / (len(gold) + len(found)) if gold or found else math.nan


def _accepted(book: Book, slots: Mapping[str, str], gold: str) -> list[str]:
    """The gold answer, and what else the book takes for one to the question, where the gold is the book's."""
    asked = next(question for question in book.questions if question.question == slots["question"])
    return [gold, *asked.accepted] if gold == asked.answer else [gold]


def _kept(gold: weighing.Kept, found: weighing.Kept) -> float:
    """Of what the gold keeps, the share that the reply keeps, too."""
    asked = [right for wanted, right in zip(gold.right, found.right, strict=True) if wanted]
    return sum(asked) / len(asked) if asked else math.nan


def _summary(book: Book, slots: Mapping[str, str], gold: str, found: str) -> dict[str, float]:
    kinds = {"binding_recall": weighing.bindings, "event_recall": weighing.events}
    return {name: _kept(of(book.voice, gold), of(book.voice, found)) for name, of in kinds.items()}


def _entities(book: Book, slots: Mapping[str, str], gold: list[dict], found: list[dict]) -> dict[str, float]:
    return {"f1": f1(*({one["name"].lower() for one in some} for some in (gold, found)))}


def _edits(book: Book, slots: Mapping[str, str], gold: Edits, found: Edits) -> dict[str, float]:
    nodes, edges = node_and_edge_f1(gold, found, book.document.language)
    quotes = [op.src for op in found.operations if isinstance(op, AddNode | AddEdge)]
    block = slots["block_text"]
    found_quotes = {"quote_located": located(quotes, block), "quote_verbatim": verbatim(quotes, block)}
    return {"node_f1": nodes, "edge_f1": edges} | found_quotes


def _graph_answer(book: Book, slots: Mapping[str, str], gold: Any, found: Any) -> dict[str, float]:
    references = _accepted(book, slots, gold.answer)
    right = exact_match(found.answer, references, book.document.language) if found.answer.strip() else 0.0
    return {"accuracy": right, "cited_f1": f1(gold.cited_nodes, found.cited_nodes)}


def _memory(book: Book, slots: Mapping[str, str], gold: Any, found: Any) -> dict[str, float]:
    text = slots["document"]
    return {
        "boundary_f1": border_f1(borders(gold, text), borders(found, text)),
        "ends_located": located([end for one in found.scenario for end in one.ends if end], text),
    }


def _agrees(score: str, get: Callable[[Any], Any]) -> Score:
    """Whether gold and reply say the same in one respect."""
    return lambda book, slots, gold, found: {score: float(get(gold) == get(found))}


# By role: a function of the book, what the prompt showed, the gold value and the value of the reply.
SCORES: dict[str, Score] = {
    "chunk_summary": _summary,
    "global_summary": _summary,
    "session_summary": _summary,
    "silver_chunks": lambda book, slots, gold, found: {"f1": indices_f1(gold, found)},
    "silver_nodes": lambda book, slots, gold, found: {"f1": indices_f1(gold, found)},
    "entities": _entities,
    "edits": _edits,
    "graph_answer": _graph_answer,
    "update": _agrees("action_accuracy", lambda it: it.action),
    "memory": _memory,
    "reverse_reasoning": lambda book, _, gold, found: {"rouge_l": rouge_l(found, gold, book.document.language)},
    "qa": lambda book, slots, gold, found: {
        "f1": token_f1(found, _accepted(book, slots, gold), book.document.language)
    },
    "choice": _agrees("accuracy", lambda it: it.answer),
    "claim": _agrees("accuracy", lambda it: it.answer),
    "grade": _agrees("accuracy", lambda it: it.correct),
    "pairwise": _agrees("accuracy", lambda it: it.Overall.Winner),
}


def score(role: str, book: Book, slots: Mapping[str, str], gold: Any, found: Any | None) -> dict[str, float]:
    """The scores of a reply's value, or of None where it could not be read.

    >>> import storyworld
    >>> book = storyworld.book(1000, tokens=15_000)
    >>> score("silver_chunks", book, {}, [0, 2], [0]), score("silver_chunks", book, {}, [0, 2], None)
    ({'f1': 0.6666666666666666}, {'f1': 0.0})
    """
    if found is None:  # what was not said is not quoted, either
        best = SCORES[role](book, slots, gold, gold).items()
        return {name: math.nan if math.isnan(value) or name in QUOTES else 0.0 for name, value in best}
    return SCORES[role](book, slots, gold, found)
