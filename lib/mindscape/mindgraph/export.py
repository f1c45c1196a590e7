"""A graph for other programs and for people: GraphML, and one HTML page that needs no network (JSON is in `graph`).

The page shows the graph, and beside a clicked node the passage that it was made from. A book's text and a model's words are
data: in the page they are JSON that a script reads and puts in as text, never as markup; a policy in its head forbids it to
load anything and to run any script but its own. Taught in notebook 30_mindgraph_build. The layout is plain: it does not
know communities, and beyond some hundred nodes a page of it is crowded; its search dims what does not match.
"""

import base64
import hashlib
import html
import json
import re
from dataclasses import asdict
from pathlib import Path
from string import Template
from xml.etree import ElementTree

import numpy as np

from mindscape.mindgraph.graph import TYPES, Graph, around, verify
from mindscape.plots import PALETTE
from mindscape.text import Document, Span
from mindscape.text.documents import Place

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
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


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
    if n == 0:
        return np.zeros((0, 2))
    turn, size = np.arange(n) * np.pi * (3 - np.sqrt(5)), 1 / np.sqrt(n)
    at = (np.sqrt(np.arange(n) + 0.5) * size)[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
    index = {name: i for i, name in enumerate(graph.nodes)}
    ties = {frozenset((index[edge.source], index[edge.target])) for edge in graph.edges.values()}
    ends = np.array(sorted(sorted(tie) for tie in ties if len(tie) == 2), dtype=int).reshape(-1, 2)
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
    return (at - low) / np.maximum(high - low, 1e-9) if n > 1 else np.full((1, 2), 0.5)


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
        before, after = document.text[seen.start : node.start], document.text[node.end : seen.end]
        nodes.append(asdict(node) | {"x": x, "y": y, "before": before, "after": after})
    edges = [asdict(edge) for edge in graph.edges.values()]
    marks = {kind: {"mark": mark, "class": kind} for kind, (mark, _) in MARKS.items()}
    colour_of = {kind: PALETTE[name] for kind, (_, name) in MARKS.items()}
    colours = "".join(f".{kind} {{ fill: {colour}; color: {colour} }}\n" for kind, colour in colour_of.items())
    page, style, script = (PAGE.joinpath(f"page.{end}").read_text(encoding="utf-8") for end in ("html", "css", "js"))
    style += colours
    return Template(page).substitute(
        language=html.escape(document.language),
        title=html.escape(question or document.id),
        name=html.escape(document.id),
        policy=f"default-src 'none'; style-src '{_policy(style)}'; script-src '{_policy(script)}'",
        style=style,
        data=_embedded({"nodes": nodes, "edges": edges, "marks": marks}),
        script=script,
    )


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
