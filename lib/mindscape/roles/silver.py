"""Silver supervision for a retriever: which chunks, and which entities, bear on a question whose answer is known (MiA-RAG,
section 3.3, Figures 11 and 12).

A reply is a JSON array of indices, [-1] for none. Whether an index is among those shown is not checked here: the caller
knows how many there were. Taught in notebook 01_the_reader.
"""

from collections.abc import Sequence

from mindscape.prompts import languages, paper
from mindscape.roles.base import Role

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
