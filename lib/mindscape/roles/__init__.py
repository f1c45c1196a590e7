"""What the papers ask a language model to do, one role a name; see `base`. Taught in notebook 01_the_reader.

reading       summaries, entities, which chunks and entities bear on a question (MiA-RAG, MiA-Signature)
edits         changes to a concept graph (MindGraph)
graph_answer  an answer from a graph, with two tools (MindGraph)
update        an agent's next step (MiA-Signature)
memory        a document's memory, and the reasoning that leads to it (MoM)
answers       open questions, multiple choice, claims
judges        grading an answer, comparing two
"""

from mindscape.roles.answers import CHOICE, CLAIM, QA
from mindscape.roles.base import Example, Role
from mindscape.roles.edits import EDITS
from mindscape.roles.graph_answer import GRAPH_ANSWER
from mindscape.roles.judges import GRADE, PAIRWISE
from mindscape.roles.memory import MEMORY, REVERSE
from mindscape.roles.reading import (
    CHUNK_SUMMARY,
    ENTITIES,
    GLOBAL_SUMMARY,
    SESSION_SUMMARY,
    SILVER_CHUNKS,
    SILVER_NODES,
)
from mindscape.roles.update import UPDATE

_READING = (CHUNK_SUMMARY, GLOBAL_SUMMARY, SESSION_SUMMARY, SILVER_CHUNKS, SILVER_NODES, ENTITIES)
_ACTING = (EDITS, GRAPH_ANSWER, UPDATE, MEMORY, REVERSE, QA, CHOICE, CLAIM, GRADE, PAIRWISE)
ROLES: dict[str, Role] = {role.name: role for role in (*_READING, *_ACTING)}

__all__ = ["ROLES", "Example", "Role"]
