"""MiA-Signature's agent: is what was retrieved enough to answer, and if not, what to look for next (appendix F, UPDATE).

This module does not retrieve, keep the memory or answer. Taught in notebook 01_the_reader.
"""

from typing import Annotated, Literal

from pydantic import BaseModel

from mindscape.llm import Needs, Tags
from mindscape.prompts import languages, paper, short_texts
from mindscape.roles.base import Role

NONE = {"en": "(none)", "zh": "（无）"}


SAY = short_texts("roles", "update")


class Update(BaseModel):
    """What the agent replies at each step. A signature and a query must be there to REFINE, and must not to ANSWER.

    >>> Update(evidence_memory=["Ivo is the weaver"], confidence="HIGH", thought="Enough.", action="ANSWER").action
    'ANSWER'
    """

    evidence_memory: list[str]
    confidence: Literal["HIGH", "MEDIUM", "LOW"]
    thought: str
    action: Annotated[Literal["ANSWER", "REFINE"], Needs({"REFINE": ("refined_signature", "rewritten_query")})]
    refined_signature: str = ""
    rewritten_query: str = ""


UPDATE = Role("update", languages("roles", "update"), Tags(Update), paper=paper("roles", "update"))
