"""MindGraph's builder: what a block of text adds to a concept graph, changes in it or takes out (appendix D.1).

Nothing here keeps a graph, looks up quotes or checks that an id exists: `mindscape.mindgraph.graph` does. Taught in notebook
01_the_reader.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field

from mindscape.prompts import languages, paper
from mindscape.roles.base import Form, Role

BLOCK = 280  # tokens at most
EMPTY = "(empty)"  # a graph without nodes, as the paper writes it
PIECE = re.compile(r"\s+|[^\W\u3040-\u9fff]+|.")  # of a block: a blank, a word, a character of Chinese, a mark
OPENING = '{"operations": ['  # of a reply


class AddNode(Form):
    op: Literal["add_node"]
    id: str
    type: Literal["entity", "event", "claim", "concept", "stat"]
    content: str
    src: str


class AddEdge(Form):
    op: Literal["add_edge"]
    source: str
    target: str
    relation: str
    src: str


class EditNode(Form):
    op: Literal["edit_node"]
    id: str
    content: str


class DeleteNode(Form):
    op: Literal["delete_node"]
    id: str


Operation = Annotated[AddNode | AddEdge | EditNode | DeleteNode, Field(discriminator="op")]


class Edits(Form):
    """What one block changes (MindGraph, appendix D.1).

    >>> Edits.model_validate({"operations": [{"op": "delete_node", "id": "oath_of_ivo"}]}).operations[0].id
    'oath_of_ivo'
    """

    operations: list[Operation]


class Noted(Form):
    """What one block tells, what of it bears on the question, and what that changes: relevance is put into words first.

    >>> Noted.model_validate({"told": ["Ivo sold the lamp"], "bears": [], "operations": []}).operations
    []
    """

    told: list[str]
    bears: list[str]
    operations: list[Operation]


def quoting(block: str, form: type[Edits] | type[Noted] = Edits) -> dict[str, Any]:
    """The form of a reply each `src` of which stands in the block: whole words and marks in a row, a space for any blank.

    A grammar (`lark`), for a model whose decoding can be held to one; others are told `form` and may quote what they like.

    >>> print(quoting("Ivo sold it.")["lark"].splitlines()[-1])
    WORDS: %regex {"substring_chunks": ["Ivo", " ", "sold", " ", "it", "."]}
    """
    pieces = [json.dumps(" " if it.isspace() else it, ensure_ascii=False)[1:-1] for it in PIECE.findall(block.strip())]
    models = [it for it in (AddNode, AddEdge, EditNode, DeleteNode) if pieces or "src" not in it.model_fields]
    if form is Noted:
        sentences = 'sentences: "[" (string (", " string)*)? "]"'
        opening = f'"{{" "\\"told\\": " sentences ", \\"bears\\": " sentences {_said(", " + OPENING[1:])}'
    else:
        sentences, opening = "", _said(OPENING)
    lines = [f'start: {opening} (op (", " op)*)? "]}}"', *filter(None, [sentences])]
    lines += ["op: " + " | ".join(_rule(model) for model in models), 'string: %json {"type": "string"}']
    if pieces:
        lines += [r'src: "\"" QUOTE "\""', r"QUOTE: WORDS & /\S|\S(.|\n)*\S/"]
        lines += [f"WORDS: %regex {json.dumps({'substring_chunks': pieces}, ensure_ascii=False)}"]
    return {"title": form.__name__, "lark": "\n".join(lines)}


def _rule(model: type[BaseModel]) -> str:
    """An operation as the grammar has it, its keys in the model's order."""
    parts, before = [], "{"
    for name, of in model.model_fields.items():
        choices = get_args(of.annotation)
        if choices:
            value = f"({' | '.join(_said(json.dumps(choice)) for choice in choices)})"
        else:
            value = "src" if name == "src" else "string"
        parts += [_said(f'{before}"{name}": '), value]
        before = ", "
    return " ".join([*parts, _said("}")])


def _said(text: str) -> str:
    """A text as a grammar's string."""
    return json.dumps(text, ensure_ascii=False)


def graph_state(nodes: Sequence[Mapping[str, str]], edges: Sequence[Mapping[str, str]]) -> str:
    """A graph as the prompts show it: JSON, a node or an edge a line; "(empty)" without nodes. Quotes are left out.

    >>> print(graph_state([{"id": "ivo", "type": "entity", "content": "Ivo", "src": "Ivo"}], []))
    {"nodes": [
    {"id": "ivo", "type": "entity", "content": "Ivo"}
    ], "edges": []}
    """
    if not nodes:
        return EMPTY
    shown = [_lines(nodes, ("id", "type", "content")), _lines(edges, ("source", "target", "relation"))]
    return '{{"nodes": {}, "edges": {}}}'.format(*shown)


def _lines(rows: Iterable[Mapping[str, str]], keys: Sequence[str]) -> str:
    lines = [json.dumps({key: row[key] for key in keys}, ensure_ascii=False) for row in rows]
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


EDITS = Role("edits", languages("roles", "edits"), Edits, paper=paper("roles", "edits"))
# The same in two steps, as the builder's adapter has learned it.
BUILDER = Role("builder", languages("roles", "builder"), Noted)
