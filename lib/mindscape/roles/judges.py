"""Judges: is an answer right (MindGraph, appendix D.4), and which of two is better (MiA-RAG, Figure 14).

The gold of the first is an answer of the book in other words, or a wrong one; that of the second is an answer and the
same with facts left out, at times made longer by empty words. So a judge learns here to compare what is said. It does not
learn taste, and "diversity" and "empowerment" are no more than that facts are there. The keys are the papers', but the
reason comes before the verdict, which can then rest on it. Taught in notebook 01_the_reader.
"""

from typing import Literal

from pydantic import BaseModel

from mindscape.prompts import languages, paper, table
from mindscape.question import Question
from mindscape.roles import passages
from mindscape.roles.base import Form, Gold, Role
from mindscape.text import Tokenizer
from storyworld import Book
from storyworld.chance import Chance
from storyworld.voice import sentence

GRADES, PAIRS = 16, 8  # of one book
FACTS = {"en": 6, "zh": 4}  # of the longer answer, at most
PADDED = 0.3  # how often the poorer answer is the longer one

WORDS = table("roles", "judges")
SAID = WORDS["said"]  # in a reply
ANSWERED = WORDS["answered"]  # a short answer in a sentence
ASKED = WORDS["asked"]  # about somebody or something, so that an answer may hold much or little
EMPTY = WORDS["empty"]  # words that say nothing


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


def _grade(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    language = book.document.language
    said, conjunction = SAID[language], book.voice.say.AND
    asked = [one for one in passages.asked(book, chance) if one[0].kind != "meals"]  # whose answer is a sequence
    for question, pair in asked[:GRADES]:
        right = question.answer
        parts = right.split(conjunction)
        form = chance.pick(ANSWERED[language])
        pair_asked = question.kind in passages.PAIRS
        case = chance.pick(["same", "same", "missing", "wrong"] if pair_asked else ["same", "wrong"])
        if case == "same":
            answer = chance.pick([form.format(answer=chance.pick(_same(question))), pair.true])
            reason = said["same"].format(right=right)
        elif case == "missing":
            kept = chance.below(2)
            answer, reason = form.format(answer=parts[kept]), said["missing"].format(right=parts[1 - kept])
        else:
            other = chance.pick([option for option in question.options if option != right])
            wrong, answer = chance.pick([(pair.wrong, pair.false), (other, form.format(answer=other))])
            reason = said["wrong"].format(wrong=wrong, right=right)
        slots = {"question": question.question, "gold": right, "predicted": sentence(answer)}
        yield slots, Grade(correct=case == "same", reason=reason)


def _same(question: Question) -> list[str]:
    """The answer and what can be seen to mean the same: a part of its name, a longer name, the number in figures."""
    right = question.answer
    seen = [other for other in question.accepted if other in right or right in other or other.isdigit()]
    return [right, *seen]


def _pairwise(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    language = book.document.language
    said, voice = SAID[language], book.voice
    join = voice.words.scenes.JOIN
    known = {
        entity.name: entity.description.removesuffix(voice.say.STOP).split(voice.say.FACT_JOIN)
        for entity in book.entities
    }
    rich = [name for name, facts in known.items() if len(facts) > 2]
    for name in chance.some(rich, PAIRS):
        facts = known[name][: FACTS[language]]
        dropped = chance.some(range(len(facts)), chance.between(1, len(facts) - 1))
        kept = [fact for i, fact in enumerate(facts) if i not in dropped]
        full, less = (join.join(sentence(fact) + voice.say.STOP for fact in some) for some in (facts, kept))
        if chance.hit(PADDED):
            less = join.join([less, *chance.some(EMPTY[language], len(EMPTY[language]))])
        first = chance.hit(0.5)
        winner = "Answer 1" if first else "Answer 2"
        counts = {"more": len(facts), "less": len(kept)}
        reasons = {
            "Comprehensiveness": said["more"].format(fact=facts[dropped[0]]),
            "Diversity": said["sides"].format(**counts),
            "Empowerment": said["ground"],
            "Overall": said["overall"],
        }
        value = Pairwise(**{name: Judgement(Winner=winner, Explanation=reason) for name, reason in reasons.items()})
        question = sentence(chance.pick(ASKED[language]).format(name=name))
        yield {"question": question, "answer1": full if first else less, "answer2": less if first else full}, value


GRADE = Role("grade", languages("roles", "grade"), Grade, _grade, paper=paper("roles", "grade"))
PAIRWISE = Role(
    "pairwise", languages("roles", "pairwise"), Pairwise, _pairwise, paper=paper("roles", "pairwise"), asks=Wins
)
