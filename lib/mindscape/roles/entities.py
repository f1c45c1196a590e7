"""Entities of a passage with what it tells of them (MiA-RAG, section 3.2: the nodes of its graph have a name and a
description).

Gold names the people, guises, places and things of which a passage tells an event or a binding. Somebody who only stands
by is left out, and nothing is known here of other passages: entities that are one and the same are not merged. Taught in
notebook 01_the_reader.
"""

import json
from collections.abc import Mapping

from mindscape.prompts import languages
from mindscape.roles import passages
from mindscape.roles.base import Gold, Role
from mindscape.text import Tokenizer, mentions
from storyworld import Book
from storyworld.chance import Chance
from storyworld.voice import sentence

PASSAGES = 15  # of one book
SIZES = (100, 150, 200)  # tokens of a passage, at most
LONGEST = 200  # tokens of a reply
EMPTY = 0.1  # share of the passages tell of nobody

_SAID = {"name": {"type": "string"}, "description": {"type": "string"}}
_ENTITY = {"type": "object", "properties": _SAID, "required": list(_SAID), "additionalProperties": False}
SCHEMA = {"title": "Entities", "type": "array", "items": _ENTITY}


def described(book: Book, statements: list[str], places: Mapping[str, str]) -> list[dict[str, str]]:
    """Whom and what the statements name, and their places, in the order of the statements, each with those on it."""
    found: dict[str, list[str]] = {}
    for says in statements:
        for entity in book.entities:
            if mentions(entity.name, says) or entity.name == places.get(says):
                found.setdefault(entity.name, []).append(says)
    join, stop = book.voice.say.FACT_JOIN, book.voice.say.STOP
    return [{"name": name, "description": sentence(join.join(says)) + stop} for name, says in found.items()]


def _entities(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    places, full, empty = passages.settings(book), [], []
    for size in sorted({SIZES[0], chance.pick(SIZES)}):
        for chunk in passages.cut(book, tokenizer, size):
            told = passages.statements(book, chunk.start, chunk.end)
            if told is not None:
                value = described(book, told, places)
                tokens = len(tokenizer.encode(json.dumps(value, ensure_ascii=False)))
                (full if value else empty).append((tokens, chunk, value))
    nobody = chance.some(empty, round(EMPTY * PASSAGES))
    somebody = chance.some([one for one in full if one[0] <= LONGEST], PASSAGES - len(nobody))
    for _, chunk, value in chance.shuffled([*nobody, *somebody]):
        yield {"text": book.document[chunk].strip()}, value


ENTITIES = Role("entities", languages("roles", "entities"), SCHEMA, _entities)
