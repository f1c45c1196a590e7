"""Summaries: of a chunk and of a whole (MiA-RAG, section 3.2, Figure 10), of a session (MiA-Signature, appendix F).

A reply is text as it comes; the length that a prompt asks for is not enforced. Taught in notebook 01_the_reader.
"""

from mindscape.llm.tags import THINKING
from mindscape.prompts import languages, paper
from mindscape.roles.base import Role, mended

# [INST]_sum_c of Eq. 3 and [INST]_sum_g of Eq. 4. The instructions come first, so that one reading of this common head
# serves every chunk.
CHUNK_PROMPT = languages("roles", "chunk_summary")
GLOBAL_PROMPT = languages("roles", "global_summary")


PROSE_REPAIRS = (
    ("thinking dropped", THINKING, ""),
    ("code fence stripped", r"^```\w*\s*\n|\n?```$", ""),
    ("label dropped", r"^[*#\s]*(?:summary|摘要|总摘要|复述)\s*[:：]\s*\**\s*", ""),
    ("tags dropped", r"</?(?:summary|text|chunk)>\s*", ""),
)


def prose(text: str) -> tuple[str, list[str]]:
    """A summary and the repairs that it took. Raises ValueError where there is none.

    >>> prose("**Summary:** Ann left the inn.")
    ('Ann left the inn.', ['label dropped'])
    """
    return mended(text, PROSE_REPAIRS)


CHUNK_SUMMARY = Role("chunk_summary", CHUNK_PROMPT, None, prose, paper("roles", "chunk_summary"))
GLOBAL_SUMMARY = Role("global_summary", GLOBAL_PROMPT, None, prose, paper("roles", "global_summary"))
SESSION_SUMMARY = Role(
    "session_summary",
    languages("roles", "session_summary"),
    None,
    prose,
    paper=paper("roles", "session_summary"),
)
