"""Judges: is an answer right (MindGraph, appendix D.4), and which of two is better (MiA-RAG, Figure 14).

The gold of the first is an answer of the book in other words, or a wrong one; that of the second is an answer and the
same with facts left out, at times made longer by empty words. So a judge learns here to compare what is said. It does not
learn taste, and "diversity" and "empowerment" are no more than that facts are there. The keys are the papers', but the
reason comes before the verdict, which can then rest on it. Taught in notebook 01_the_reader.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel
from transformers import PreTrainedTokenizerBase

from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.corpora.storyworld.voice import sentence
from mindscape.question import Question
from mindscape.roles import passages
from mindscape.roles.base import Role

GRADES, PAIRS = 16, 8  # of one book
FACTS = {"en": 6, "zh": 4}  # of the longer answer, at most
PADDED = 0.3  # how often the poorer answer is the longer one

GRADE_PROMPT = {
    "en": (
        "Grade an answer against the gold answer. It is correct if it means the same, in whatever words and at whatever "
        "length; of a list, every item must be there and no other.\n"
        'Reply with JSON alone: {{"reason": "one short sentence", "correct": true or false}}\n\n'
        "Question: {question}\nGold: {gold}\nAnswer: {predicted}"
    ),
    "zh": (
        "对照标准答案给一个回答评分。意思相同即为正确，措辞和长短不限；如果是列举，须项项都有，不多不少。\n"
        '只回复JSON：{{"reason": "一句短话", "correct": true或false}}\n\n'
        "问题：{question}\n标准答案：{gold}\n回答：{predicted}"
    ),
}
PAIRWISE_PROMPT = {
    "en": (
        "Compare two answers to a question.\n"
        "- Comprehensiveness: which one covers more of what was asked?\n"
        "- Diversity: which one shows more sides of it?\n"
        "- Empowerment: from which one can a reader judge better?\n"
        "Reply with JSON alone: for each of these and for Overall an Explanation in a few words and a Winner, Answer 1 or "
        "Answer 2.\n\n"
        "Question: {question}\n\nAnswer 1: {answer1}\n\nAnswer 2: {answer2}"
    ),
    "zh": (
        "比较对同一问题的两个回答。\n"
        "- Comprehensiveness：哪个覆盖得更全？\n"
        "- Diversity：哪个展示的方面更多？\n"
        "- Empowerment：哪个更能帮助读者判断？\n"
        "只回复JSON：对以上各项和Overall，给出简短的Explanation和Winner（Answer 1或Answer 2）。\n\n"
        "问题：{question}\n\nAnswer 1：{answer1}\n\nAnswer 2：{answer2}"
    ),
}
SAID = {  # in a reply
    "en": {
        "same": "It says {right}, as the gold answer does.",
        "wrong": "It says {wrong}, where the gold answer says {right}.",
        "missing": "It leaves out {right}.",
        "more": "It alone says that {fact}.",
        "sides": "It tells {more} things, the other {less}.",
        "ground": "More facts to judge by.",
        "overall": "It leaves out nothing that the other says.",
    },
    "zh": {
        "same": "说的是{right}，与标准答案一致。",
        "wrong": "说的是{wrong}，而标准答案是{right}。",
        "missing": "漏掉了{right}。",
        "more": "只有它说到{fact}。",
        "sides": "它讲了{more}件事，另一个讲了{less}件。",
        "ground": "判断的依据更多。",
        "overall": "另一个说的它都有。",
    },
}
ANSWERED = {  # a short answer in a sentence
    "en": ("{answer}", "It is {answer}.", "The answer is: {answer}", "According to the story, {answer}."),
    "zh": ("{answer}", "是{answer}。", "答案是：{answer}", "据书中所说，{answer}。"),
}
ASKED = {  # about somebody or something, so that an answer may hold much or little
    "en": (
        "What does the story tell of {name}?",
        "What part has {name} in the story?",
        "What is known of {name}?",
    ),
    "zh": ("书中讲了{name}的哪些事？", "书里哪些情节与{name}有关？", "关于{name}，我们知道些什么？"),
}
EMPTY = {  # words that say nothing
    "en": (
        "This is a matter of great interest, to which the book comes back more than once, and much could be said of it.",
        "It is a rich and many-sided question, and every reader will find an answer of one kind or another to it.",
        "All in all it is an important part of the story, with many meanings that are well worth thinking about.",
    ),
    "zh": (
        "这是个很有意思的话题，书里不止一次提起，可说的话实在很多，值得细细体会。",
        "这个问题内容丰富，层次很多，每个读者都能从中读出自己的看法来。",
        "总而言之，这是故事里十分重要的一部分，意味深长，值得反复思考。",
    ),
}


class Grade(BaseModel):
    """Why an answer means what the gold answer means or does not, and which it is."""

    reason: str
    correct: bool


class Judgement(BaseModel):
    """Why an answer is better in one respect, and which."""

    Explanation: str
    Winner: Literal["Answer 1", "Answer 2"]


class Pairwise(BaseModel):
    """Which of two answers is better, by three criteria and on the whole."""

    Comprehensiveness: Judgement
    Diversity: Judgement
    Empowerment: Judgement
    Overall: Judgement


def _grade(book: Book, chance: Chance, tokenizer: PreTrainedTokenizerBase) -> Iterator[tuple[dict[str, str], Grade]]:
    language = book.document.language
    said, conjunction = SAID[language], book.voice.say.AND
    asked = [one for one in passages.asked(book, chance) if one[0].kind != "meals"]  # whose answer is a sequence
    for question, pair in asked[:GRADES]:
        right = question.answer
        parts = right.split(conjunction)
        form = chance.pick(ANSWERED[language])
        case = chance.pick(
            ["same", "same", "missing", "wrong"] if question.kind in passages.PAIRS else ["same", "wrong"]
        )
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


def _pairwise(
    book: Book, chance: Chance, tokenizer: PreTrainedTokenizerBase
) -> Iterator[tuple[dict[str, str], Pairwise]]:
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


GRADE = Role("grade", GRADE_PROMPT, Grade, _grade)
PAIRWISE = Role("pairwise", PAIRWISE_PROMPT, Pairwise, _pairwise)
