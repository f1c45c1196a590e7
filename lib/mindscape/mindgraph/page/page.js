
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
  label();
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
function look() { map.setAttribute("viewBox", [view.x, view.y, view.w, view.h].join(" ")); label(); }

// A label that would lie on another one is left out, that of the node with fewer edges; nearer by, there is room for more.
const degree = new Map(graph.nodes.map(node => [node.id, 0]));
for (const edge of graph.edges) for (const end of [edge.source, edge.target]) degree.set(end, degree.get(end) + 1);
const order = Array.from(graph.nodes.keys()).sort((a, b) => degree.get(graph.nodes[b].id) - degree.get(graph.nodes[a].id));
function label() {
  const zoom = view.w / 1000, taken = [];
  map.style.setProperty("--zoom", zoom);
  for (const i of order) {
    const half = 3.2 * zoom * Array.from(short(graph.nodes[i].id)).length, [x, y] = place[i];
    const box = [x - half, x + half, y + 21 - 10 * zoom, y + 21 + 3 * zoom];
    const lapped = taken.some(other => box[0] < other[1] && other[0] < box[1] && box[2] < other[3] && other[2] < box[3]);
    marks[i].querySelector(".label").classList.toggle("lapped", lapped);
    if (!lapped) taken.push(box);
  }
}
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
