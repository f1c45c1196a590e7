"""Entities of a passage with what it tells of them (MiA-RAG, section 3.2: the nodes of its graph have a name and a
description).

Nothing is known here of other passages: entities that are one and the same are not merged. Taught in notebook 01_the_reader.
"""

from mindscape.prompts import languages
from mindscape.roles.base import Role

_SAID = {"name": {"type": "string"}, "description": {"type": "string"}}
_ENTITY = {"type": "object", "properties": _SAID, "required": list(_SAID), "additionalProperties": False}
SCHEMA = {"title": "Entities", "type": "array", "items": _ENTITY}


ENTITIES = Role("entities", languages("roles", "entities"), SCHEMA)
