"""What the papers ask a language model to do, one role a name; see `base`. Taught in notebook 01_the_reader.

summaries     a chunk, the whole, a session (MiA-RAG, MiA-Signature)
silver        which chunks and which entities bear on a question (MiA-RAG)
entities      names and descriptions (MiA-RAG)
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
from mindscape.roles.entities import ENTITIES
from mindscape.roles.graph_answer import GRAPH_ANSWER
from mindscape.roles.judges import GRADE, PAIRWISE
from mindscape.roles.memory import MEMORY, REVERSE
from mindscape.roles.silver import SILVER_CHUNKS, SILVER_NODES
from mindscape.roles.summaries import CHUNK_SUMMARY, GLOBAL_SUMMARY, SESSION_SUMMARY
from mindscape.roles.update import UPDATE

_READING = (CHUNK_SUMMARY, GLOBAL_SUMMARY, SESSION_SUMMARY, SILVER_CHUNKS, SILVER_NODES, ENTITIES)
_ACTING = (EDITS, GRAPH_ANSWER, UPDATE, MEMORY, REVERSE, QA, CHOICE, CLAIM, GRADE, PAIRWISE)
ROLES: dict[str, Role] = {role.name: role for role in (*_READING, *_ACTING)}

__all__ = ["ROLES", "Example", "Role"]
