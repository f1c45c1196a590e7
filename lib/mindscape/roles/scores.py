"""How far two replies of a role agree, from 0 to 1: indices, operations on a graph, quotes, the borders of a memory.

NaN where there is nothing to score. Scores of each role against the gold of a novel are `storyworld.teaching.scoring`'s. Taught
in notebook 01_the_reader.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from mindscape.metrics import token_f1
from mindscape.roles.edits import AddEdge, AddNode, DeleteNode, EditNode, Edits, Operation
from mindscape.roles.memory import DocumentMemory, Extracted
from mindscape.text import Document, locate

T = TypeVar("T")
ALIKE = 0.5  # token F1 from which the contents of two nodes are taken for the same
NEAR = 20  # characters by which a border may miss
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
    if isinstance(a, DeleteNode) and isinstance(b, DeleteNode):
        return float(a.id == b.id)
    if isinstance(a, AddNode) and isinstance(b, AddNode):
        same = a.type == b.type
    elif isinstance(a, EditNode) and isinstance(b, EditNode):
        same = a.id == b.id
    else:
        return 0.0
    return token_f1(b.content, a.content, language) if same and b.content.strip() else 0.0


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
