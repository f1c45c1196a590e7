"""Roles that answer from passages: open questions and multiple choice (MiA-RAG, Figure 16), claims (MiA-Signature,
appendix F, NoCha).

Gold: the passages that hold the answer and those that say who is meant, among others that do not bear on it. There is no
role here for "I do not know": each context holds its answer. Taught in notebook 01_the_reader.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from pydantic import BaseModel

from mindscape.llm import Tags
from mindscape.llm.schema import parse, read
from mindscape.llm.tags import THINKING
from mindscape.prompts import languages, paper
from mindscape.question import ClaimPair, Question
from mindscape.roles import passages
from mindscape.roles.base import Form, Gold, Role, mended
from mindscape.text import Tokenizer
from storyworld import Book
from storyworld.chance import Chance
from storyworld.voice import sentence

QUESTIONS, CLAIMS = 12, 12  # asked of one book, at most
LETTERS = "ABCD"
LONGEST = 180  # tokens of a reply

CONTRARY = {"en": "not {wrong} but {right}", "zh": "不是{wrong}，而是{right}"}
PHRASE_REPAIRS = (
    ("thinking dropped", THINKING, ""),
    ("label dropped", r"^(?:(?:the )?answer(?: is)?|答案(?:是)?|答)\s*[:：]\s*", ""),
    ("first line kept", r"\s*\n.*$", ""),
    ("full stop dropped", r"[.。]$", ""),
    ("quotes dropped", r"""^["“'‘「](.*)["”'’」]$""", r"\1"),
)
HENCE = {"en": "so it is {right}", "zh": "所以是{right}"}


class Choice(BaseModel):
    """What the passages tell, and the letter of the option that is right."""

    explanation: str
    answer: Literal["A", "B", "C", "D"]


class Reasoned(Form):
    """The same as the paper has it for DetectiveQA: the letter, and how it was found."""

    answer: Literal["A", "B", "C", "D"]
    reasoning: str


class Verdict(BaseModel):
    """What the passages tell of a claim, and whether it holds."""

    explanation: str
    answer: Literal["TRUE", "FALSE"]


def letters(options: list[str]) -> str:
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


def letter(text: str) -> tuple[str, list[str]]:
    """The letter of an option and the repairs that it took. Raises ValueError where there is none, or more than one.

    A letter that is called wrong is no answer, and neither are the options themselves.

    >>> letter("The answer is (b).")
    ('B', ['text around dropped', 'case of a letter'])
    """
    text, repairs = text.strip(), []
    if len(text) > 1:
        first = re.match(r"[(（]?([A-Da-d])[)）.:：、]", text)
        alone = set(
            re.findall(r"(?<![A-Za-z])(?:[B-D]|A(?! (?!or |and |is )[a-z]))(?![A-Za-z])|(?<=[(（])[a-d](?=[)）])", text)
        )
        marked = set(re.findall(r"(?<![A-Za-z])([A-Da-d])[)）.:：、]", text))
        denied = re.search(r"(?<![A-Za-z])[A-D] is (?:wrong|not|false|incorrect)", text)
        if denied or (len(marked) > 1 if first else len(alone) != 1):
            raise ValueError(f"no single letter of A to D: {text[:40]!r}")
        text = first[1] if first else alone.pop()
        repairs.append("text around dropped")
    if text not in LETTERS:
        text = text.upper()
        repairs.append("case of a letter")
    if not text or text not in LETTERS:
        raise ValueError(f"no letter of A to D: {text!r}")
    return text, repairs


def chosen(text: str) -> tuple[Choice, list[str]]:
    """The choice that a reply makes and the repairs that it took: in tags, in JSON as the paper's form asks for it, or by the
    letter alone, which many models give.

    Raises ValueError where there is no letter, or more than one.

    >>> chosen("B. the mill")
    (Choice(explanation='', answer='B'), ['tags missing', 'text around dropped'])
    >>> chosen('{"answer": "B", "reasoning": "Ann walks to the mill."}')
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
        rest = re.sub(THINKING, "", text, flags=re.DOTALL)
        repairs = [] if rest == text else ["thinking dropped"]
        explained = re.search(r"<explanation>(.*?)</explanation>", rest, re.DOTALL | re.IGNORECASE)
        rest = rest.replace(explained[0], "") if explained else rest
        tagged = re.search(r"<answer>([^<]*)", rest, re.IGNORECASE)
        answer, more = letter(tagged[1] if tagged else rest)
        repairs += more if tagged else ["tags missing", *more]
        return Choice(explanation=explained[1].strip() if explained else "", answer=answer), repairs


def _contexts(
    book: Book, chance: Chance, tokenizer: Tokenizer, most: int, alone: bool
) -> Iterator[tuple[Question, ClaimPair, str]]:
    """Questions and claims with the passages that answer them and, if not `alone`, others: 1 to 5, in an order of chance."""
    chunks = passages.cut(book, tokenizer)
    for question, pair, keep in islice(passages.answerable(book, chance, chunks), most):
        count = len(keep) if alone else chance.between(len(keep), passages.MOST)
        yield question, pair, passages.shown(book, passages.mixed(book, question, keep, chunks, count, chance))


def qa(book: Book, chance: Chance, tokenizer: Tokenizer, alone: bool = False) -> Gold:
    """Questions with passages that answer them, and the answers."""
    for question, _, context in _contexts(book, chance, tokenizer, QUESTIONS, alone):
        yield {"context": context, "question": question.question}, question.answer


def choice(book: Book, chance: Chance, tokenizer: Tokenizer, alone: bool = False) -> Gold:
    """The same with four options, the reason for one and its letter."""
    for question, _, context in _contexts(book, chance, tokenizer, QUESTIONS, alone):
        options = chance.shuffled(question.options)
        slots = {"context": context, "question": question.question, "options_str": letters(options)}
        gold = gold_choice(book, question, options)
        if len(tokenizer.encode(gold.explanation)) <= LONGEST:
            yield slots, gold


def claim_pairs(
    book: Book, chance: Chance, tokenizer: Tokenizer, alone: bool = False
) -> Iterator[tuple[dict[str, str], str, Verdict, str, Verdict]]:
    """Passages; a true claim on them and its verdict; the same claim made false and its verdict."""
    for question, pair, context in _contexts(book, chance, tokenizer, CLAIMS, alone):
        true, false = gold_verdicts(book, question, pair)
        if len(tokenizer.encode(false.explanation)) <= LONGEST:
            yield {"context": context}, pair.true, true, pair.false, false


def _claim(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    for context, true, yes, false, no in claim_pairs(book, chance, tokenizer):
        claim, verdict = chance.pick([(true, yes), (false, no)])
        yield {**context, "claim": claim}, verdict


def gold_choice(book: Book, question: Question, options: Sequence[str]) -> Choice:
    """What is told, what follows from it, and the letter that the right option has among these."""
    hence = HENCE[book.document.language].format(right=question.answer)
    explanation = _explained(book, [*passages.supporting(book, question), hence])
    return Choice(explanation=explanation, answer=LETTERS[options.index(question.answer)])


def gold_verdicts(book: Book, question: Question, pair: ClaimPair) -> tuple[Verdict, Verdict]:
    """The verdict on the true claim of a pair, and that on the false one."""
    facts = passages.supporting(book, question)
    contrary = CONTRARY[book.document.language].format(wrong=pair.wrong, right=question.answer)
    true = Verdict(explanation=_explained(book, facts), answer="TRUE")
    return true, Verdict(explanation=_explained(book, [*facts, contrary]), answer="FALSE")


def _explained(book: Book, facts: Sequence[str]) -> str:
    return sentence(book.voice.say.FACT_JOIN.join(facts)) + book.voice.say.STOP


QA = Role("qa", languages("roles", "qa"), None, qa, phrase, paper=paper("roles", "qa"))
CHOICE = Role("choice", languages("roles", "choice"), Tags(Choice), choice, chosen, paper("roles", "choice"), Reasoned)
LETTER = Role("letter", languages("roles", "choice"), None, plain=chosen, paper=paper("roles", "letter"))
CLAIM = Role("claim", languages("roles", "claim"), Tags(Verdict), _claim, paper=paper("roles", "claim"))
