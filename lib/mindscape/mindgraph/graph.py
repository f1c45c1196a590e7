"""A graph of typed notes on a text, each with its place in it, and the four ways to change it (MindGraph, 3.1 and 3.2).

A graph is a value: an edit gives another graph, so the graph of any moment can be kept. What a model proposes is applied or
rejected with a reason, never mended. A quote has to be found in the block that was read, and what is kept is not the model's
copy of it but the text's own characters there: `document[node] == node.src` holds for every node and edge, and `verify` looks.

Where the paper is silent: a quote may differ from the text in case, blanks and punctuation, not in a letter or a digit; the
same edge a second time is rejected; a node may be tied to itself; an id that was deleted is free again; an edited node keeps
the place where it was introduced, since the paper's prompt (D.1) asks for no quote there, though section 3.2 has one with
every edit.

A graph goes out as JSON, as GraphML for other programs, and as one HTML page that needs no network:
it shows the graph, and beside a clicked node the passage that it was made from. A book's text and a model's words are data: in
the page they are JSON that a script reads and puts in as text, never as markup; a policy in its head forbids it to load
anything and to run any script but its own. The layout is plain: it does not know communities, and beyond some hundred nodes a
page of it is crowded; its search dims what does not match.

Taught in notebook 30_mindgraph_build. Nothing here asks a model or knows whether a note is true.
"""

import base64
import hashlib
import html
import json
import re
import reprlib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any, get_args
from xml.etree import ElementTree

import numpy as np
from pydantic import BaseModel

from mindscape.errors import require
from mindscape.plots import PALETTE
from mindscape.roles import AddEdge, AddNode, DeleteNode, EditNode
from mindscape.text import Chunk, Document, Place, Span, locate, mentions

TYPES: tuple[str, ...] = get_args(AddNode.model_fields["type"].annotation)
FIELDS = {  # what an operation has besides its name, by the forms that a model is held to
    get_args(form.model_fields["op"].annotation)[0]: tuple(name for name in form.model_fields if name != "op")
    for form in (AddNode, AddEdge, EditNode, DeleteNode)
}
REASONS = (  # for which an operation is rejected
    "malformed", "empty field", "bad type", "unknown id", "duplicate id", "dangling edge", "duplicate edge",
    "quote not in the block",
)  # fmt: skip
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxdict = _SHORT.maxlist = 10


@dataclass(frozen=True)
class Node:
    """A note: what it says, and the place that it was made from, `start` to `end` in characters of the document.

    `type` is one of `TYPES`; `src` the text at the place; `chunk` the index of the block that introduced it, `touched` of
    the block that last changed it.
    """

    id: str
    type: str
    content: str
    src: str
    start: int
    end: int
    chunk: int
    touched: int


@dataclass(frozen=True)
class Edge:
    """A directed relation in any words, from the node `source` to the node `target`, with a place of its own."""

    source: str
    target: str
    relation: str
    src: str
    start: int
    end: int
    chunk: int


@dataclass(frozen=True)
class Graph:
    """Nodes by id, and edges by (source, target, relation), of the document `doc_id`; both in the order of their making.

    Never changed in place. Two graphs are equal when they hold the same, in any order.
    """

    doc_id: str
    nodes: Mapping[str, Node] = field(default_factory=dict)
    edges: Mapping[tuple[str, str, str], Edge] = field(default_factory=dict)


@dataclass(frozen=True)
class Edit:
    """An operation and what became of it: applied where `reason` is empty, else rejected for one of `REASONS`.

    `detail` tells a person more. `operation` has the fields of `FIELDS` as the model wrote them; of one that is malformed, a
    shortened `raw` form. `block` is the index of the block it came from; `span` and `src` are the place of its quote and the
    text there.
    """

    operation: Mapping[str, str]
    block: int
    reason: str = ""
    detail: str = ""
    span: Span | None = None
    src: str = ""


def apply(graph: Graph, operation: Any, document: Document, block: Chunk) -> tuple[Graph, Edit]:
    """The graph after an operation, and the edit that says whether it was applied; a rejected one leaves the graph.

    `operation` is a dict as JSON gives it, or one of the forms of `mindscape.roles`. The first objection counts, in the
    order: form, empty fields, type, ids, quote; the same fields, types, ids and quotes always give the same edit. Raises
    InputError where block or graph are not of the document; whatever is wrong with the operation is a reason, not an error.

    >>> text = Document("note", "Ivo sold the lamp to Ann.")
    >>> block = Chunk("note", 0, 0, 25)
    >>> add = {"op": "add_node", "id": "ivo", "type": "entity", "content": "Ivo, a seller", "src": "ivo"}
    >>> graph, edit = apply(Graph("note"), add, text, block)
    >>> graph.nodes["ivo"].src, edit.reason
    ('Ivo', '')
    >>> apply(graph, add, text, block)[1].reason
    'duplicate id'
    >>> tie = {"op": "add_edge", "source": "ivo", "target": "ann", "relation": "sold_to", "src": "to Ann"}
    >>> apply(graph, tie, text, block)[1].detail
    "there is no node 'ann'"
    """
    require(graph.doc_id == document.id, f"the graph is of document {graph.doc_id!r}: expected one of {document.id!r}")
    document[block]  # raises where it is not of this document
    fields, detail = _fields(operation)
    reason, detail = ("malformed", detail) if detail else _objection(graph, fields)
    span = None
    if not reason and "src" in fields:
        span = find(fields["src"], document, block)
        if span is None:
            reason, detail = "quote not in the block", "the block that was read does not have these words"
    edit = Edit(fields, block.index, reason, detail, span, document[span] if span else "")
    return replay(graph, edit), edit


def apply_all(graph: Graph, operations: Iterable[Any], document: Document, block: Chunk) -> tuple[Graph, tuple[Edit, ...]]:
    """The graph after the operations on a block, in their order, and an edit each. See `apply`.

    >>> apply_all(Graph("note"), [], Document("note", "Ivo sold the lamp."), Chunk("note", 0, 0, 18))[1]
    ()
    """
    edits = []
    for operation in operations:
        graph, edit = apply(graph, operation, document, block)
        edits.append(edit)
    return graph, tuple(edits)


def find(quote: str, document: Document, block: Chunk) -> Span | None:
    """Where a quote stands in a block, as a place in the document, whole words first; None where it does not, or is blank.

    `locate` also finds what is merely similar; a note that rests on another number or name than the text's is none of it. What
    it does not find, a few words that differ in a mark, is looked for letter by letter.

    >>> find("IVO  sold.", Document("note", "Then Ivo sold the lamp."), Chunk("note", 0, 5, 23))
    Span(start=5, end=13)
    """
    within = Document(document.id, document[block], document.language)
    whole = mentions(quote, within.text)  # where it is no part of a longer word: Ann before Anna
    place = locate(quote, within, near=whole[0] if whole else None) if quote.strip() else None
    if place is None or _letters(within[place]) != _letters(quote):
        place = _spelt(_letters(quote), within.text, whole_words=document.language != "zh")
    return place and Span(block.start + place.start, block.start + place.end)


def _spelt(letters: str, text: str, whole_words: bool) -> Span | None:
    """Where a text has just these letters, for `whole_words` between borders of such."""
    at = [(i, letter) for i, character in enumerate(text) for letter in _letters(character)]
    joined = "".join(letter for _, letter in at)
    for match in re.finditer(f"(?={re.escape(letters)})", joined) if letters else ():  # also those that overlap
        start, end = at[match.start()][0], at[match.start() + len(letters) - 1][0] + 1
        if not whole_words or not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
            return Span(start, end)
    return None


def replay(graph: Graph, edit: Edit) -> Graph:
    """The graph after an edit that was judged before; deleting a node takes its edges. Needs no text.

    Raises InputError where an edit that was applied does not fit this graph.

    >>> graph = replay(Graph("note"), Edit({"op": "add_node", "id": "ivo", "type": "entity", "content": "Ivo", "src": "Ivo"},
    ...                                    block=0, span=Span(0, 3), src="Ivo"))
    >>> list(graph.nodes), replay(graph, Edit({"op": "delete_node", "id": "ivo"}, block=1)).nodes
    (['ivo'], {})
    """
    if edit.reason:
        return graph
    fields, detail = _fields(edit.operation)
    detail = detail or _objection(graph, fields)[1]
    if not detail and ("src" in fields) != (edit.span is not None):
        detail = "it has a quote without a place, or the reverse"
    require(not detail, f"the edit {fields} does not fit the graph: {detail}")
    nodes, edges = dict(graph.nodes), dict(graph.edges)
    if fields["op"] == "delete_node":
        del nodes[fields["id"]]
        edges = {key: edge for key, edge in edges.items() if fields["id"] not in (edge.source, edge.target)}
    elif fields["op"] == "edit_node":
        nodes[fields["id"]] = replace(nodes[fields["id"]], content=fields["content"], touched=edit.block)
    else:
        place: dict[str, Any] = {"src": edit.src, "start": edit.span.start, "end": edit.span.end, "chunk": edit.block}
        contents: dict[str, Any] = {name: fields[name] for name in FIELDS[fields["op"]] if name != "src"}
        if fields["op"] == "add_node":
            nodes[fields["id"]] = Node(**contents, **place, touched=edit.block)
        else:
            edges[fields["source"], fields["target"], fields["relation"]] = Edge(**contents, **place)
    return Graph(graph.doc_id, nodes, edges)


def verify(graph: Graph, document: Document) -> None:
    """See that a graph is one of this document: every place is sliced and compared, no edge dangles, types are known.

    Raises InputError that names the first node or edge for which this does not hold.

    >>> verify(Graph("note", {"x": Node("x", "entity", "Ivo", "Ivo", 4, 7, 0, 0)}), Document("note", "Ivo sold the lamp."))
    Traceback (most recent call last):
    ...
    mindscape.errors.InputError: node 'x': the text at 4:7 is 'sol', expected 'Ivo'
    """
    require(graph.doc_id == document.id, f"the graph is of document {graph.doc_id!r}: expected one of {document.id!r}")
    for key, node in graph.nodes.items():
        wrong = f"has id {node.id!r} and type {node.type!r}: expected one of {', '.join(TYPES)}"
        require(key == node.id and node.type in TYPES, f"node {key!r}: {wrong}")
    for tie, edge in graph.edges.items():
        for end in tie[:2]:
            require(end in graph.nodes, f"edge {tie}: there is no node {end!r}")
        require(tie == (edge.source, edge.target, edge.relation), f"edge {tie}: is filed under another name than its own")
    named: list[tuple[str, Node | Edge]] = [(f"node {key!r}", node) for key, node in graph.nodes.items()]
    for name, noted in [*named, *((f"edge {tie}", edge) for tie, edge in graph.edges.items())]:
        at, text = f"{noted.start}:{noted.end}", document[noted]
        require(text == noted.src and text, f"{name}: the text at {at} is {text!r:.60}, expected {noted.src!r:.60}")


def around(document: Document, place: Place, size: int = 1000) -> Span:
    """About `size` characters of a document with a place in their middle (MindGraph, section 3.3, `lookup_source`).

    At either end of the text the window is moved, not shortened; a place longer than `size` is its own window.

    >>> around(Document("note", "x" * 5000), Span(2000, 2100)), around(Document("note", "x" * 5000), Span(10, 20))
    (Span(start=1550, end=2550), Span(start=0, end=1000))
    """
    document[place]  # raises where there is no such place
    if place.end - place.start >= size:
        return Span(place.start, place.end)
    start = max(0, min((place.start + place.end - size) // 2, len(document.text) - size))
    return Span(start, min(start + size, len(document.text)))


def as_json(graph: Graph) -> str:
    """A graph as JSON text: the document's id, nodes and edges with places as `start` and `end`, in characters.

    >>> as_json(Graph("note"))
    '{"document": "note", "nodes": [], "edges": []}'
    """
    nodes, edges = ([asdict(part) for part in mapping.values()] for mapping in (graph.nodes, graph.edges))
    return json.dumps({"document": graph.doc_id, "nodes": nodes, "edges": edges}, ensure_ascii=False)


def _fields(operation: Any) -> tuple[dict[str, str], str]:
    """The fields of an operation, and what is wrong with its form; more fields than asked for are dropped."""
    raw = operation.model_dump() if isinstance(operation, BaseModel) else operation
    op = raw.get("op") if isinstance(raw, Mapping) else None
    if not isinstance(op, str) or op not in FIELDS:
        return {"raw": _SHORT.repr(raw)}, f"expected an object whose op is one of {', '.join(FIELDS)}"
    for name in FIELDS[op]:
        if not isinstance(raw.get(name), str):
            return {"raw": _SHORT.repr(raw)}, f"{op}: expected text in {name!r}"
        if re.search("[\ud800-\udfff]", raw[name]):
            return {"raw": _SHORT.repr(raw)}, f"{op}: {name!r} holds half of a surrogate pair"
    return {"op": op} | {name: raw[name] for name in FIELDS[op]}, ""


def _objection(graph: Graph, fields: Mapping[str, str]) -> tuple[str, str]:
    """Why the graph, whatever the text says, does not take an operation: a reason and a detail, or empty texts."""
    op = fields["op"]
    for name in FIELDS[op]:
        if not fields[name].strip():
            return "empty field", f"{name!r} is blank"
    if op == "add_node" and fields["type"] not in TYPES:
        return "bad type", f"{fields['type']!r:.60} is none of {', '.join(TYPES)}"
    if op == "add_node" and fields["id"] in graph.nodes:
        return "duplicate id", f"there is a node {fields['id']!r:.60}; edit_node changes it"
    if op in ("edit_node", "delete_node") and fields["id"] not in graph.nodes:
        return "unknown id", f"there is no node {fields['id']!r:.60}"
    if op == "add_edge":
        if absent := [fields[end] for end in ("source", "target") if fields[end] not in graph.nodes]:
            return "dangling edge", f"there is no node {absent[0]!r:.60}"
        if (fields["source"], fields["target"], fields["relation"]) in graph.edges:
            return "duplicate edge", "there is the same relation between the same nodes"
    return "", ""


def _letters(text: str) -> str:
    """Letters, marks and numbers alone, whatever their case and width."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in plain if unicodedata.category(character)[0] in "LMN")


KINDS = {"string": ("type", "content", "src", "relation", "name"), "int": ("start", "end", "chunk", "touched")}
MARKS = dict(zip(TYPES, zip("●▲■◆★", ("blue", "orange", "green", "purple", "red"), strict=True), strict=True))
PAGE = Path(__file__).parent / "page"  # with page.html, which has places that are filled, page.css and page.js
LATIN = re.compile("[A-Za-z0-9\u00c0-\u024f'\u2019]")  # letters of a word that has blanks around it
WORK = 100_000_000  # pairs of nodes that a layout looks at, at most
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_graphml(graph: Graph) -> str:
    """A graph as GraphML, which networkx, Gephi, Cytoscape and yEd read. A node's id is its attribute `name`.

    XML's own ids are n0, n1, …, since an id of ours may hold anything; a character that XML cannot hold becomes U+FFFD.

    >>> as_graphml(Graph("note")).count("<key "), "<node" in as_graphml(Graph("note"))
    (9, False)
    """
    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for kind, names in KINDS.items():
        for name in names:
            # One declaration for nodes and edges: what only one of them has is simply not there on the other.
            ElementTree.SubElement(root, "key", {"id": name, "for": "all", "attr.name": name, "attr.type": kind})
    drawn = ElementTree.SubElement(root, "graph", id="G", edgedefault="directed")
    number = {name: f"n{i}" for i, name in enumerate(graph.nodes)}
    for node in graph.nodes.values():
        attributes = asdict(node)
        _data(ElementTree.SubElement(drawn, "node", id=number[node.id]), {"name": attributes.pop("id")} | attributes)
    for i, edge in enumerate(graph.edges.values()):
        attributes = asdict(edge)
        ends = {end: number[attributes.pop(end)] for end in ("source", "target")}
        _data(ElementTree.SubElement(drawn, "edge", {"id": f"e{i}"} | ends), attributes)
    ElementTree.indent(root)
    # A bare one would be read as a line break.
    written = ElementTree.tostring(root, encoding="unicode").replace("\r", "&#13;")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{written}\n'


def _data(element: ElementTree.Element, attributes: dict[str, str | int]) -> None:
    for name, value in attributes.items():
        ElementTree.SubElement(element, "data", key=name).text = NOT_XML.sub("\ufffd", str(value))


def layout(graph: Graph, steps: int = 200) -> np.ndarray:
    """Places to draw the nodes at, (nodes, 2) in [0, 1], by Fruchterman and Reingold's forces (1991).

    Every node pushes every other off, an edge pulls its ends together, and a little pulls all to the middle, so that parts
    without an edge between them stay on the page. It starts from a spiral: the same graph is drawn the same. Time grows with
    the square of the nodes: under a second for 200; beyond 700 it takes fewer steps.

    >>> layout(Graph("note")).shape
    (0, 2)
    """
    n = len(graph.nodes)
    if n < 2:
        return np.full((n, 2), 0.5)
    turn, size = np.arange(n) * np.pi * (3 - np.sqrt(5)), 1 / np.sqrt(n)
    at = (np.sqrt(np.arange(n) + 0.5) * size)[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
    index = {name: i for i, name in enumerate(graph.nodes)}
    ties = {tuple(sorted((index[source], index[target]))) for source, target, _ in graph.edges if source != target}
    ends = np.array(sorted(ties), dtype=int).reshape(-1, 2)
    steps = max(10, min(steps, WORK // n**2))
    for step in range(steps):
        apart = at[:, None] - at[None]
        move = (apart * (size**2 / np.maximum((apart**2).sum(2), 1e-6))[..., None]).sum(1)
        along = at[ends[:, 1]] - at[ends[:, 0]]
        pull = along * (np.sqrt((along**2).sum(1)) / size)[:, None]
        np.add.at(move, ends[:, 0], pull)
        np.add.at(move, ends[:, 1], -pull)
        move -= at * size * n / 10
        far = np.sqrt((move**2).sum(1, keepdims=True))
        at = at + move / np.maximum(far, 1e-9) * np.minimum(far, 0.2 * (1 - step / steps))
    low, high = at.min(0), at.max(0)
    return (at - low) / np.maximum(high - low, 1e-9)


def as_html(graph: Graph, document: Document, question: str = "") -> str:
    """A page to look at a graph in: one file, to be opened in any browser, without a network.

    About a thousand characters of the text stand beside a node; with all nodes' passages the page has some 2 kB a node.
    Raises InputError where the graph is not one of the document.

    >>> "<b>" in as_html(Graph("note"), Document("note", "Ivo"), question="Is <b> bold?")
    False
    """
    verify(graph, document)
    places = np.round(layout(graph), 4).tolist()
    nodes = []
    for node, (x, y) in zip(graph.nodes.values(), places, strict=True):
        seen = on_words(document, around(document, node), node)
        passage = {"before": document.text[seen.start : node.start], "after": document.text[node.end : seen.end]}
        nodes.append(asdict(node) | {"x": x, "y": y} | passage)
    edges = [asdict(edge) for edge in graph.edges.values()]
    marks = {kind: {"mark": mark, "class": kind} for kind, (mark, _) in MARKS.items()}
    page, style, script = (PAGE.joinpath(f"page.{end}").read_text(encoding="utf-8") for end in ("html", "css", "js"))
    for kind, (_, colour) in MARKS.items():
        style += f".{kind} {{ fill: {PALETTE[colour]}; color: {PALETTE[colour]} }}\n"
    data = _embedded({"nodes": nodes, "edges": edges, "marks": marks})
    policy = f"default-src 'none'; style-src '{_policy(style)}'; script-src '{_policy(script)}'"
    labels = {"language": document.language, "title": question or document.id, "name": document.id}
    escaped = {name: html.escape(text) for name, text in labels.items()}
    return Template(page).substitute(escaped, policy=policy, style=style, data=data, script=script)


def on_words(document: Document, seen: Span, node: Place) -> Span:
    """A window without the parts of words at its two ends; it keeps the node's place. Chinese has no blanks to be cut at.

    >>> note = Document("note", "Then Ivo sold the lamp.")
    >>> note[on_words(note, Span(2, 20), Span(5, 8))]
    ' Ivo sold the '
    """
    text, start, end = document.text, seen.start, seen.end
    if start > 0 and LATIN.match(text[start - 1]):
        while start < node.start and LATIN.match(text[start]):
            start += 1
    if end < len(text) and LATIN.match(text[end]):
        while end > node.end and LATIN.match(text[end - 1]):
            end -= 1
    return Span(start, end)


def _embedded(value: object) -> str:
    """JSON that stands between script tags and cannot close them, open a comment, or break a line of JavaScript."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029\x00-\x1f\x7f]", lambda match: f"\\u{ord(match[0]):04x}", text)


def _policy(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
