"""MoM's document memory: an outline, and for each scenario a chunk by its ends and what it is about (Table 4).

Its second role is the reverse one: from a document and its memory to the path of thought between them (section 3.1.3). This
module does not find the chunks in the document, score memories or choose among them. Taught in notebook 01_the_reader.
"""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from mindscape.llm import Tags
from mindscape.llm.tags import MARK, Text
from mindscape.prompts import languages, paper
from mindscape.roles.base import Role, mended

MASK = "[MASK]"
ENDS = {"en": 5, "zh": 8}  # words or characters at each end of a chunk
SUMMARY = re.compile(r"(?:content )?summary\s*:|(?:内容)?(?:概要|摘要)\s*[:：]", re.IGNORECASE)


def ends_of(chunk: str) -> tuple[str, str]:
    """First and last words of a chunk as it was said; the last ones are "" where [MASK] is not there.

    >>> ends_of("It rained [MASK] went home."), ends_of("It rained")
    (('It rained', 'went home.'), ('It rained', ''))
    """
    head, _, tail = chunk.partition(MASK)
    return head.strip(), tail.strip()


class Scenario(BaseModel):
    """A chunk by its first and last words, and its core content."""

    chunk: str = Field(pattern=r"^[^<]*[^<\s][^<]*\[MASK\][^<]*[^<\s][^<]*$")
    core: Text = Field(min_length=1)

    @property
    def ends(self) -> tuple[str, str]:
        """The chunk's first and last words."""
        return ends_of(self.chunk)


def _entries(outline: Any) -> Any:
    """The entries of an outline; a summary on a line of its own belongs to the role before it."""
    if not isinstance(outline, list):
        return outline
    found: list[str] = []
    for line in outline:
        if found and isinstance(line, str) and SUMMARY.match(line):
            found[-1] = f"{found[-1]}; {line}"
        else:
            found.append(line)
    return found


Outline = Annotated[list[str], Field(min_length=1), BeforeValidator(_entries)]


class Extracted(BaseModel):
    """A document memory without the thoughts that led to it."""

    outline: Outline
    scenario: list[Scenario] = Field(min_length=1)


class DocumentMemory(BaseModel):
    """What the reader of a document replies (MoM, Table 4)."""

    think: str
    outline: Outline
    scenario: list[Scenario] = Field(min_length=1)


THOUGHT_REPAIRS = (("memory dropped", r"<(?:outline|scenario)>.*$", ""),)


def plain(text: str) -> tuple[str, list[str]]:
    """The path of thought in a reply, and the repairs that it took. Raises ValueError where there is none.

    >>> plain("<think>Two parts.</think>")
    ('Two parts.', ['think tags dropped'])
    """
    try:
        return mended(text, THOUGHT_REPAIRS)
    except ValueError:  # there is nothing but what stands in marks of thinking, closed or not: that is the path
        bare = MARK.sub("", text)
        path, repairs = mended(bare, THOUGHT_REPAIRS)
        return path, [*(["think tags dropped"] if bare != text else []), *repairs]


def ends(text: str, language: str = "en") -> tuple[str, str]:
    """The first words of a text and its last, as they stand; each of one line, so that they are found again.

    >>> ends("It rained all day on the hill. Then Ivo went home.\\n\\n")
    ('It rained all day on', 'hill. Then Ivo went home.')
    """
    lines = text.strip().split("\n")
    word = r"\S+" if language == "en" else r"\S"
    first = list(re.finditer(word, lines[0]))[: ENDS[language]]
    last = list(re.finditer(word, lines[-1]))[-ENDS[language] :]
    return lines[0][: first[-1].end()].strip(), lines[-1][last[0].start() :].strip()


MEMORY = Role("memory", languages("roles", "memory"), Tags(DocumentMemory), paper=paper("roles", "memory"))
REVERSE = Role("reverse_reasoning", languages("roles", "reverse_reasoning"), None, plain)
