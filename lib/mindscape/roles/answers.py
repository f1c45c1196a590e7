"""Roles that answer from passages: open questions and multiple choice (MiA-RAG, Figure 16), claims (MiA-Signature,
appendix F, NoCha).

There is no role here for "I do not know". Taught in notebook 01_the_reader.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, cast

from pydantic import BaseModel

from mindscape.llm import Tags
from mindscape.llm.schema import parse, read
from mindscape.llm.tags import dropped, taken
from mindscape.prompts import languages, paper
from mindscape.roles.base import Form, Role, label, mended

Letter = Literal["A", "B", "C", "D"]
LETTERS = "ABCD"
DENIED = re.compile(  # a letter that is called wrong
    r"(?<![A-Za-z])[A-D] is (?:wrong|not|false|incorrect)"
    r"|[A-D][)）]?(?:选项|项)?(?:明显|显然|也|都|并|就)*(?:是|为)?(?:不对|不是|不正确|不成立|错)"
    r"|(?:不|非)(?:应该|应|能|可以|会|要)?(?:选择?|是|为)?(?:选项)?[(（]?[A-D]"
)

PHRASE_REPAIRS = (
    label("(?:(?:the |final )*answer(?: is)?|最终答案|答案(?:是)?|答)"),
    ("tags dropped", r"</?answer>", ""),
    ("first line kept", r"\n.*$", ""),
    ("emphasis dropped", r"\*\*|__|^[*_`]+|[*_`]+$", ""),
    ("full stop dropped", r"[.。]$", ""),
    ("quotes dropped", r"""^["“'‘「](.*)["”'’」]$""", r"\1"),
)


class Choice(BaseModel):
    """What the passages tell, and the letter of the option that is right."""

    explanation: str
    answer: Letter


class Reasoned(Form):
    """The same as the paper has it for DetectiveQA: the letter, and how it was found."""

    answer: Letter
    reasoning: str


class Verdict(BaseModel):
    """What the passages tell of a claim, and whether it holds."""

    explanation: str
    answer: Literal["TRUE", "FALSE"]


def letters(options: Sequence[str]) -> str:
    """The options as a prompt has them.

    >>> letters(["an inn", "a mill"])
    'A. an inn\\nB. a mill'
    """
    return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def phrase(text: str) -> tuple[str, list[str]]:
    """A short answer and the repairs that it took. Raises ValueError where there is none.

    >>> phrase("Answer: the old mill.\\nIt is told in the second passage.")
    ('the old mill', ['label dropped', 'first line kept', 'full stop dropped'])
    """
    return mended(text, PHRASE_REPAIRS)


def letter(text: str) -> tuple[Letter, list[str]]:
    """The letter of an option and the repairs that it took. Raises ValueError where there is none, or more than one.

    A letter that is called wrong is no answer, and neither are the options themselves.

    >>> letter("The answer is (b).")
    ('B', ['text around dropped', 'case of a letter'])
    """
    plain = unicodedata.normalize("NFKC", text).strip()  # full-width letters
    repairs = [] if plain == text.strip() else ["full-width letters"]
    text = plain
    if len(text) > 1:
        first = re.match(r"[(（]?([A-Da-d])[)）.:：、]", text)
        alone = set(
            re.findall(r"(?<![A-Za-z])(?:[B-D]|A(?! (?!or |and |is )[a-z]))(?![A-Za-z])|(?<=[(（])[a-d](?=[)）])", text)
        )
        marked = set(re.findall(r"(?<![A-Za-z])([A-Da-d])[)）.:：、]", text))
        denied = DENIED.search(text)
        if denied or (len(marked) > 1 if first else len(alone) != 1):
            raise ValueError(f"no single letter of A to D: {text[:40]!r}")
        text = first[1] if first else alone.pop()
        repairs.append("text around dropped")
    if text not in LETTERS:
        text = text.upper()
        repairs.append("case of a letter")
    if not text or text not in LETTERS:
        raise ValueError(f"no letter of A to D: {text!r}")
    return cast(Letter, text), repairs


def read_choice(text: str) -> tuple[Choice, list[str]]:
    """The choice that a reply makes and the repairs that it took: in tags, in JSON as the paper's form asks for it, or by the
    letter alone, which many models give.

    Raises ValueError where there is no letter, or more than one.

    >>> read_choice("B. the mill")
    (Choice(explanation='', answer='B'), ['tags missing', 'text around dropped'])
    >>> read_choice('{"answer": "B", "reasoning": "Ann walks to the mill."}')
    (Choice(explanation='Ann walks to the mill.', answer='B'), [])
    """
    try:
        return read(text, Tags(Choice))
    except ValueError:
        try:
            said, repairs = parse(text)
        except ValueError:
            said = None
        if isinstance(said, dict) and isinstance(said.get("answer"), str):
            answer, more = letter(said["answer"])
            return Choice(explanation=str(said.get("reasoning", "")).strip(), answer=answer), [*repairs, *more]
        rest, repairs = dropped(text)
        explained, rest = taken("explanation", rest)
        tagged = re.search(r"<answer>([^<]*)", rest, re.IGNORECASE)
        answer, more = letter(tagged[1] if tagged else rest)
        repairs += more if tagged else ["tags missing", *more]
        return Choice(explanation="".join(explained).strip(), answer=answer), repairs


QA = Role("qa", languages("roles", "qa"), None, phrase, paper=paper("roles", "qa"))
CHOICE = Role("choice", languages("roles", "choice"), Tags(Choice), read_choice, paper("roles", "choice"), Reasoned)
LETTER = Role("letter", languages("roles", "choice"), None, plain=read_choice, paper=paper("roles", "letter"))
CLAIM = Role("claim", languages("roles", "claim"), Tags(Verdict), paper=paper("roles", "claim"))
