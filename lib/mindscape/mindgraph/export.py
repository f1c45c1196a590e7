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
from string import Template
from xml.etree import ElementTree

import numpy as np

from mindscape.mindgraph.graph import TYPES, Graph, around, verify
from mindscape.plots import PALETTE
from mindscape.text import Document

KINDS = {"string": ("type", "content", "src", "relation", "name"), "int": ("start", "end", "chunk", "touched")}
MARKS = dict(zip(TYPES, zip("●▲■◆★", ("blue", "orange", "green", "purple", "red"), strict=True), strict=True))
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
        told = asdict(node)
        _data(ElementTree.SubElement(drawn, "node", id=number[node.id]), {"name": told.pop("id")} | told)
    for i, edge in enumerate(graph.edges.values()):
        told = asdict(edge)
        ends = {end: number[told.pop(end)] for end in ("source", "target")}
        _data(ElementTree.SubElement(drawn, "edge", id=f"e{i}", **ends), told)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _data(element: ElementTree.Element, told: dict[str, str | int]) -> None:
    for name, value in told.items():
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


def as_html(graph: Graph, document: Document, question: str = "", size: int = 1000) -> str:
    """A page to look at a graph in: one file, to be opened in any browser, without a network.

    `size` is about how many characters of the text stand beside a node; with all nodes' passages the page has some 2 kB a
    node. Raises InputError where the graph is not one of the document.

    >>> "<b>" in as_html(Graph("note"), Document("note", "Ivo"), question="Is <b> bold?")
    False
    """
    verify(graph, document)
    places = np.round(layout(graph), 4).tolist()
    nodes = []
    for node, (x, y) in zip(graph.nodes.values(), places, strict=True):
        seen = around(document, node, size)
        before, after = document.text[seen.start : node.start], document.text[node.end : seen.end]
        nodes.append(asdict(node) | {"x": x, "y": y, "before": before, "after": after})
    edges = [asdict(edge) for edge in graph.edges.values()]
    marks = {kind: {"mark": mark, "class": kind} for kind, (mark, _) in MARKS.items()}
    colours = "".join(
        f".{kind} {{ fill: {PALETTE[name]}; color: {PALETTE[name]} }}\n" for kind, (_, name) in MARKS.items()
    )
    style = STYLE + colours
    return PAGE.substitute(
        language=html.escape(document.language),
        title=html.escape(question or document.id),
        name=html.escape(document.id),
        policy=f"default-src 'none'; style-src '{_policy(style)}'; script-src '{_policy(SCRIPT)}'",
        style=style,
        data=_embedded({"nodes": nodes, "edges": edges, "marks": marks}),
        script=SCRIPT,
    )


def _embedded(value: object) -> str:
    """JSON that stands between script tags and cannot close them, open a comment, or break a line of JavaScript."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _policy(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


PAGE = Template("""<!doctype html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header>
<h1 dir="auto">$title</h1>
<p><span dir="auto">$name</span>: <span id="size"></span> <span id="legend"></span></p>
<input id="search" type="search" placeholder="search" aria-label="Search the nodes">
</header>
<main>
<svg id="map" viewBox="0 0 1000 700" aria-label="The graph; each node can be chosen"></svg>
<aside id="side" aria-live="polite"></aside>
</main>
<noscript>This page draws a graph with its own script, which is switched off here.</noscript>
<script type="application/json" id="graph">$data</script>
<script>$script</script>
</body>
</html>
""")

STYLE = """
* { box-sizing: border-box }
body { margin: 0; height: 100vh; display: flex; flex-direction: column; font: 15px/1.45 system-ui, sans-serif;
  color: #222; background: #fff }
header { padding: .6rem 1rem; border-bottom: 1px solid #d9d9d9 }
h1 { font-size: 1.1rem; margin: 0 } header p { margin: .2rem 0 }
#legend span { margin-left: .8rem }
main { flex: 1; display: flex; min-height: 0 }
#map { flex: 3; min-width: 0; touch-action: none; cursor: grab }
#side { flex: 2; overflow: auto; padding: 1rem; border-left: 1px solid #d9d9d9; overflow-wrap: anywhere }
.edge { stroke: #8a8a8a; stroke-width: 1 } .edge.near { stroke: #222; stroke-width: 2 }
.node { cursor: pointer; text-anchor: middle; font-size: 20px } .node:focus { outline: none }
.node .label { font-size: 11px; fill: #222 } .node.chosen .label, .node:focus .label { font-weight: bold; font-size: 14px }
.dim { opacity: .12 }
.passage { white-space: pre-wrap; border-left: 3px solid #d9d9d9; padding-left: .8rem }
.fact { color: #666 } button { font: inherit; border: 1px solid #d9d9d9; background: #f6f6f6; cursor: pointer }
"""

SCRIPT = """
"use strict";
// All text of book and model goes in by textContent: none of it is read as markup.
const graph = JSON.parse(document.getElementById("graph").textContent);
const map = document.getElementById("map"), side = document.getElementById("side");
const byId = new Map(graph.nodes.map((node, i) => [node.id, i]));
const place = graph.nodes.map(node => [60 + 880 * node.x, 40 + 620 * node.y]);

function element(tag, text, style) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (style) made.className = style;
  made.dir = "auto";
  return made;
}
function drawn(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
function short(text) { const all = Array.from(text); return all.length > 28 ? all.slice(0, 27).join("") + "…" : text; }

// An arrow's head, and lines that end before the mark that they point to.
const defs = drawn("defs", {}), head = drawn("marker", {id: "head", viewBox: "0 0 8 8", refX: 8, refY: 4,
  markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto"});
head.append(drawn("path", {d: "M0 0L8 4L0 8z", fill: "#8a8a8a"}));
defs.append(head);
map.append(defs);
const lines = graph.edges.map(edge => {
  const line = drawn("path", {class: "edge", fill: "none", "marker-end": "url(#head)"});
  line.append(drawn("title", {}, edge.source + " – " + edge.relation + " → " + edge.target));
  map.append(line);
  return line;
});
const marks = graph.nodes.map((node, i) => {
  const group = drawn("g", {class: "node", tabindex: 0, role: "button"});
  group.append(drawn("text", {class: graph.marks[node.type].class, dy: 7}, graph.marks[node.type].mark));
  group.append(drawn("text", {class: "label", dy: 21}, short(node.id)));
  group.append(drawn("title", {}, node.content));
  group.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") choose(i); });
  group.addEventListener("pointerdown", event => { event.stopPropagation(); hold(event, i); });
  map.append(group);
  return group;
});

function redraw() {
  marks.forEach((mark, i) => mark.setAttribute("transform", "translate(" + place[i].join(",") + ")"));
  lines.forEach((line, k) => {
    const i = byId.get(graph.edges[k].source), [x, y] = place[i], [u, v] = place[byId.get(graph.edges[k].target)];
    const far = Math.hypot(u - x, v - y), gap = Math.min(14, far / 3) / (far || 1);
    const loop = "M" + (x + 8) + " " + (y - 8) + "c30 -30 -46 -30 -16 0";
    line.setAttribute("d", graph.edges[k].source === graph.edges[k].target ? loop :
      "M" + x + " " + y + "L" + (u - (u - x) * gap) + " " + (v - (v - y) * gap));
  });
}

// The window on the map: drag to move it, or a node; turn the wheel to come nearer.
const view = {x: 0, y: 0, w: 1000, h: 700};
function look() { map.setAttribute("viewBox", [view.x, view.y, view.w, view.h].join(" ")); }
function scale() { return Math.max(view.w / map.clientWidth, view.h / map.clientHeight) || 1; }
let held = null;
function hold(event, i) {
  held = {i: i, x: event.clientX, y: event.clientY, moved: false};
  map.setPointerCapture(event.pointerId);
}
map.addEventListener("pointerdown", event => hold(event, null));
map.addEventListener("pointermove", event => {
  if (!held) return;
  const dx = event.clientX - held.x, dy = event.clientY - held.y;
  if (!held.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(held, {x: event.clientX, y: event.clientY, moved: true});
  if (held.i === null) { view.x -= dx * scale(); view.y -= dy * scale(); look(); }
  else { place[held.i][0] += dx * scale(); place[held.i][1] += dy * scale(); redraw(); }
});
map.addEventListener("pointerup", () => { if (held && held.i !== null && !held.moved) choose(held.i); held = null; });
map.addEventListener("pointercancel", () => { held = null; });
map.addEventListener("wheel", event => {
  event.preventDefault();
  const box = map.getBoundingClientRect(), factor = Math.exp(event.deltaY / 500);
  const left = (event.clientX - box.left) / box.width, top = (event.clientY - box.top) / box.height;
  view.x += view.w * (1 - factor) * left; view.y += view.h * (1 - factor) * top;
  view.w *= factor; view.h *= factor;
  look();
}, {passive: false});

function choose(i) {
  const node = graph.nodes[i];
  marks.forEach((mark, k) => mark.classList.toggle("chosen", k === i));
  side.replaceChildren(element("h2", node.id), element("p", node.content));
  const later = node.touched === node.chunk ? "" : ", last changed by block " + (node.touched + 1);
  side.append(element("p", node.type + ", from block " + (node.chunk + 1) + later + "; characters " +
    node.start + " to " + node.end, "fact"));
  const passage = element("div", undefined, "passage");
  passage.append(node.before, element("mark", node.src), node.after);
  side.append(passage);
  const list = element("ul");
  graph.edges.forEach((edge, k) => {
    const out = edge.source === node.id, near = out || edge.target === node.id;
    lines[k].classList.toggle("near", near);
    if (!near) return;
    const other = out ? edge.target : edge.source, item = element("li"), button = element("button", other);
    button.addEventListener("click", () => choose(byId.get(other)));
    item.append(out ? "→ " : "← ", element("b", edge.relation), " ", button, element("div", edge.src, "fact"));
    list.append(item);
  });
  side.append(list);
}

document.getElementById("search").addEventListener("input", event => {
  const wanted = event.target.value.toLowerCase();
  graph.nodes.forEach((node, i) => {
    const text = (node.id + " " + node.content + " " + node.src).toLowerCase();
    marks[i].classList.toggle("dim", !text.includes(wanted));
  });
});
const legend = document.getElementById("legend");
for (const [kind, mark] of Object.entries(graph.marks)) {
  const item = element("span");
  item.append(element("b", mark.mark, mark.class), " ", kind);
  legend.append(item);
}
document.getElementById("size").textContent = graph.nodes.length + " nodes, " + graph.edges.length + " edges";
redraw();
if (graph.nodes.length) choose(0); else side.append(element("p", "The graph is empty."));
"""
