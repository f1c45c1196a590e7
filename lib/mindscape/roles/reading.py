"""Roles that read: summaries of a chunk and of a whole (MiA-RAG, section 3.2, Figure 10), of a session (MiA-Signature,
appendix F); entities of a passage (MiA-RAG, section 3.2); silver evidence (MiA-RAG, section 3.3, Figures 11 and 12).

A summary is text as it comes; the length that a prompt asks for is not enforced. Of a passage's entities nothing is known of
other passages: those that are one and the same are not merged. Silver evidence is a JSON array of indices, [-1] for none;
whether an index is among those shown is not checked here: the caller knows how many there were. Taught in notebook
01_the_reader.
"""

from collections.abc import Sequence

from mindscape.prompts import languages, paper
from mindscape.roles.base import Role, label, mended

# [INST]_sum_c of Eq. 3 and [INST]_sum_g of Eq. 4. The instructions come first, so that one reading of this common head
# serves every chunk.
CHUNK_PROMPT = languages("roles", "chunk_summary")
GLOBAL_PROMPT = languages("roles", "global_summary")

PROSE_REPAIRS = (label("summary|摘要|总摘要|复述"), ("tags dropped", r"</?(?:summary|text|chunk)>\s*", ""))


def prose(text: str) -> tuple[str, list[str]]:
    """A summary and the repairs that it took. Raises ValueError where there is none.

    >>> prose("**Summary:** Ann left the inn.")
    ('Ann left the inn.', ['label dropped'])
    """
    return mended(text, PROSE_REPAIRS)


CHUNK_SUMMARY = Role("chunk_summary", CHUNK_PROMPT, None, prose, paper("roles", "chunk_summary"))
GLOBAL_SUMMARY = Role("global_summary", GLOBAL_PROMPT, None, prose, paper("roles", "global_summary"))
SESSION_SUMMARY = Role(
    "session_summary", languages("roles", "session_summary"), None, prose, paper("roles", "session_summary")
)


_SAID = {"name": {"type": "string"}, "description": {"type": "string"}}
_ENTITY = {"type": "object", "properties": _SAID, "required": list(_SAID), "additionalProperties": False}
SCHEMA = {"title": "Entities", "type": "array", "items": _ENTITY}

ENTITIES = Role("entities", languages("roles", "entities"), SCHEMA)


_INDEX = {"type": "integer", "minimum": -1, "maximum": 999}
INDICES = {"title": "Indices", "type": "array", "items": _INDEX, "minItems": 1}


def numbered(texts: Sequence[str]) -> str:
    """Texts with their indices, as a prompt has them: before each, and behind it, where a model has read it.

    >>> numbered(["It rained.", "He sang."])
    '[0] It rained. [/0]\\n[1] He sang. [/1]'
    """
    return "\n".join(f"[{i}] {text} [/{i}]" for i, text in enumerate(texts))


SILVER_CHUNKS = Role(
    "silver_chunks", languages("roles", "silver_chunks"), INDICES, paper=paper("roles", "silver_chunks")
)
SILVER_NODES = Role("silver_nodes", languages("roles", "silver_nodes"), INDICES, paper=paper("roles", "silver_nodes"))
