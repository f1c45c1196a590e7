"""Judges: is an answer right (MindGraph, appendix D.4), and which of two is better (MiA-RAG, Figure 14).

The keys are the papers', but in the short form the reason comes before the verdict, which can then rest on it. Taught in
notebook 01_the_reader.
"""

from typing import Literal

from pydantic import BaseModel

from mindscape.prompts import languages, paper
from mindscape.roles.base import Form, Role


class Grade(BaseModel):
    """Why an answer means what the gold answer means or does not, and which it is."""

    reason: str
    correct: bool


class Judgement(BaseModel):
    """Why an answer is better in one respect, and which."""

    Explanation: str
    Winner: Literal["Answer 1", "Answer 2"]


class Won(Form):
    """The same in the order of the paper's form, in which the verdict comes first."""

    Winner: Literal["Answer 1", "Answer 2"]
    Explanation: str


class Pairwise(BaseModel):
    """Which of two answers is better, by three criteria and on the whole."""

    Comprehensiveness: Judgement
    Diversity: Judgement
    Empowerment: Judgement
    Overall: Judgement


class Wins(Form):
    """`Pairwise` as the paper's form asks for it."""

    Comprehensiveness: Won
    Diversity: Won
    Empowerment: Won
    Overall: Won


GRADE = Role("grade", languages("roles", "grade"), Grade, paper=paper("roles", "grade"))
PAIRWISE = Role("pairwise", languages("roles", "pairwise"), Pairwise, paper=paper("roles", "pairwise"), asks=Wins)
