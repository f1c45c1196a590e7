"""Passages of a storyworld book, which of them a question needs and what is told in them; and the gold of the roles that have
to do with questions: answers from passages, silver evidence, judging (all papers).

A question goes only with passages from which it can be answered: everyone who takes part is named there, and so is the
answer, unless it has to be counted. Others that do not bear on it stand among them. There is no example of "I do not know":
each context holds its answer. A grade is of an answer of the book in other words, or of a wrong one; a comparison is of an
answer and the same with facts left out, at times made longer by empty words. So a judge learns to compare what is said; it
does not learn taste. Taught in notebook 01_the_reader.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, Literal, cast

from mindscape.prompts import short_texts
from mindscape.question import ClaimPair, Question
from mindscape.roles import LETTERS, Choice, Grade, Judgement, Letter, Pairwise, Verdict, letters, numbered
from mindscape.text import Chunk, Document, Place, Span, Tokenizer, mentions, split_sentences
from storyworld import Book, Entity
from storyworld.telling import sentence
from storyworld.world import Binding, Chance, Event

Gold = Iterator[tuple[dict[str, str], Any]]  # what fills a prompt, and the value of the reply
Answerable = tuple[Question, ClaimPair, list[Chunk]]

SIZE = 120  # tokens of a passage, at most
MOST = 5  # passages in a prompt
# Questions that take more than a few passages, or are on a party: its guests come in passages that do not name the host.
WHOLE = ("meals", "unvouched", "refrain", "culprit", "herring", "heirloom", "gathering")
PAIRS = ("twice", "belongings")  # the answer is two names
COUNTED = ("times", "people", "bill")  # the answer is a number that the text does not say


def cut(book: Book, tokenizer: Tokenizer, size: int = SIZE) -> list[Chunk]:
    """The book in whole sentences, as many as fit into `size` tokens."""
    return list(_cut(book.document.id, book.document.text, book.document.language, tokenizer, size))


@lru_cache(maxsize=256)  # several roles ask for the same chunks of a book, which take a third of a second
def _cut(name: str, text: str, language: str, tokenizer: Tokenizer, size: int) -> tuple[Chunk, ...]:
    return tuple(split_sentences(Document(name, text, language), tokenizer, size))


def holds(book: Book, chunk: Place, span: Span) -> bool:
    """Whether some of a span's words stand in a chunk."""
    if chunk.end <= span.start or span.end <= chunk.start:  # most pairs
        return False
    return bool(book.document.text[max(chunk.start, span.start) : min(chunk.end, span.end)].strip())


def relevant(book: Book, question: Question, chunk: Place) -> bool:
    """Whether a chunk holds evidence of a question, or says who is meant in it."""
    return any(holds(book, chunk, span) for spans in (question.evidence, *question.bindings) for span in spans)


def statements(book: Book, start: int, end: int) -> list[str] | None:
    """What is told between two offsets, in the words of the book's gold and the order of the text.

    None where the passage does not bear it out by itself: something is cut off at the border, somebody goes unnamed, an
    oath is told that the rest of the book gives the lie, or a debt to one who is called the victim only later.
    """
    voice, telling, said = book.voice, book.telling, []
    tellings: list[tuple[list[Span], Event | Binding]] = [(telling.events[entry.id], entry) for entry in book.world.events]
    tellings += [([span], entry) for entry in book.world.bindings for span in telling.bindings[entry.id]]  # told anew in each
    for spans, entry in tellings:
        if any(span.start < end and start < span.end for span in spans):
            cut_off = any(span.start < start or end < span.end for span in spans)
            if cut_off or isinstance(entry, Event) and (entry.kind == "false" or entry.slots.get("clue") == "debt"):
                return None
            said.append((spans[0].start, voice.fact(entry) if isinstance(entry, Event) else voice.binding(entry)))
    facts = list(dict.fromkeys(says for _, says in sorted(said)))
    return facts if all(_names_known(book, says, book.document.text[start:end]) for says in facts) else None


def supporting(book: Book, question: Question) -> list[str]:
    """What a question's evidence and bindings say, in the words of the book's gold."""
    glosses = question.gloss.split(book.voice.say.GLOSS_JOIN) if question.gloss else []
    spans, evidence = book.telling.events, set(question.evidence)
    facts = [book.voice.fact(event) for event in book.world.events if evidence & set(spans[event.id])]
    return list(dict.fromkeys([*glosses, *facts]))


def needed(book: Book, question: Question, chunks: Sequence[Chunk]) -> list[Chunk] | None:
    """The chunks that hold the evidence and, for each binding, the place nearest to it.

    None where that takes `MOST` or more, or where those chunks alone do not answer the question.
    """
    keep = [chunk for chunk in chunks if any(holds(book, chunk, span) for span in question.support)]
    few = question.kind not in WHOLE and len(keep) < MOST
    return keep if few and readable(book, question, shown(book, keep)) else None


def readable(book: Book, question: Question, text: str) -> bool:
    """Whether a text names the answer, unless it has to be counted, and everybody in what is told."""
    parts = question.answer.split(book.voice.say.AND) if question.kind in PAIRS else [question.answer]
    read = question.kind in COUNTED or all(mentions(part, text) for part in parts)
    return read and all(_names_known(book, says, text) for says in supporting(book, question))


def answerable(book: Book, chance: Chance, chunks: Sequence[Chunk]) -> Iterator[Answerable]:
    """Questions that a few chunks answer, their claims and those chunks, in an order of chance."""
    for question, pair in questions_with_claims(book, chance):
        if (keep := needed(book, question, chunks)) is not None:
            yield question, pair, keep


def mixed(
    book: Book, question: Question, keep: Sequence[Chunk], chunks: Sequence[Chunk], count: int, chance: Chance
) -> list[Chunk]:
    """`keep` and chunks that do not bear on the question, `count` in all, in an order of chance.

    Every other stranger names somebody whom the question or its answer names, if there are such.
    """
    strangers = chance.shuffled([chunk for chunk in chunks if not relevant(book, question, chunk)])
    about = f"{question.resolved} {question.answer}"
    people = [entity.name for entity in book.entities if entity.kind in ("person", "guise") and mentions(entity.name, about)]
    near = [chunk for chunk in strangers if any(mentions(name, book.document[chunk]) for name in people)]
    missing = max(0, count - len(keep))
    picked = list(dict.fromkeys([*near[: (missing + 1) // 2], *strangers]))[:missing]
    return chance.shuffled([*keep, *picked])


def shown(book: Book, chunks: Sequence[Chunk]) -> str:
    """The chunks as a prompt has them, a blank line between any two."""
    return "\n\n".join(book.document[chunk].strip() for chunk in chunks)


def questions_with_claims(book: Book, chance: Chance) -> list[tuple[Question, ClaimPair]]:
    """The book's questions with their claims, in an order of chance."""
    return chance.shuffled(list(zip(book.questions, book.claims, strict=True)))


def settings(book: Book) -> dict[str, str]:
    """The place of what is told, by statement, where the text names it in the telling itself."""
    places = {}
    for event in book.world.events:
        if "p" in event.slots:
            place, span = book.voice.place(event.slots["p"]), book.telling.events[event.id][0]
            if mentions(place, book.document.text[span.start : span.end]):
                places[book.voice.fact(event)] = place
    return places


def _names_known(book: Book, says: str, text: str) -> bool:
    """Whether everybody and everything named in a statement is named in the text."""
    return all(mentions(entity.name, text) for entity in book.entities if mentions(entity.name, says))


SHARE = 12  # questions or claims of one book, at most
LONGEST = 180  # tokens of a reply
NONE_SHOWN = 0.15  # how often nothing that is shown is relevant
ENTITY_ROOM, MOST_ENTITIES = 500, 10  # tokens and number of the entities in a prompt
GRADES, COMPARED = 16, 8  # of one book
FACTS = {"en": 6, "zh": 4}  # of the longer answer, at most
PADDED = 0.3  # how often the poorer answer is the longer one
CONTRARY = {"en": "not {wrong} but {right}", "zh": "不是{wrong}，而是{right}"}
HENCE = {"en": "so it is {right}", "zh": "所以是{right}"}
WORDS = short_texts("roles", "judges")
SAID = WORDS["said"]  # in a reply
ANSWERED = WORDS["answered"]  # a short answer in a sentence
ASKED = WORDS["asked"]  # about somebody or something, so that an answer may hold much or little
EMPTY = WORDS["empty"]  # words that say nothing


def _contexts(book: Book, chance: Chance, tokenizer: Tokenizer, alone: bool) -> Iterator[tuple[Question, ClaimPair, str]]:
    """Questions and claims with the passages that answer them and, if not `alone`, others: 1 to 5, in an order of chance."""
    chunks = cut(book, tokenizer)
    for question, pair, keep in islice(answerable(book, chance, chunks), SHARE):
        count = len(keep) if alone else chance.between(len(keep), MOST)
        yield question, pair, shown(book, mixed(book, question, keep, chunks, count, chance))


def qa(book: Book, chance: Chance, tokenizer: Tokenizer, alone: bool = False) -> Gold:
    """Questions with passages that answer them, and the answers."""
    for question, _, context in _contexts(book, chance, tokenizer, alone):
        yield {"context": context, "question": question.question}, question.answer


def choice(book: Book, chance: Chance, tokenizer: Tokenizer, alone: bool = False) -> Gold:
    """The same with four options, the reason for one and its letter."""
    for question, _, context in _contexts(book, chance, tokenizer, alone):
        options = chance.shuffled(question.options)
        slots = {"context": context, "question": question.question, "options_str": letters(options)}
        gold = gold_choice(book, question, options)
        if len(tokenizer.encode(gold.explanation)) <= LONGEST:
            yield slots, gold


def claim_pairs(
    book: Book, chance: Chance, tokenizer: Tokenizer, alone: bool = False
) -> Iterator[list[tuple[dict[str, str], Verdict]]]:
    """Passages with a true claim on them and its verdict, and the same with the claim made false."""
    for question, pair, context in _contexts(book, chance, tokenizer, alone):
        verdicts = gold_verdicts(book, question, pair)
        if len(tokenizer.encode(verdicts[1].explanation)) <= LONGEST:
            slots = ({"context": context, "claim": claim} for claim in (pair.true, pair.false))
            yield list(zip(slots, verdicts, strict=True))


def claim(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Claims with the passages that bear on them, and whether they hold (MiA-Signature, appendix F)."""
    yield from map(chance.pick, claim_pairs(book, chance, tokenizer))


def gold_choice(book: Book, question: Question, options: Sequence[str]) -> Choice:
    """What is told, what follows from it, and the letter that the right option has among these."""
    hence = HENCE[book.document.language].format(right=question.answer)
    explanation = book.voice.stated([*supporting(book, question), hence])
    return Choice(explanation=explanation, answer=cast(Letter, LETTERS[options.index(question.answer)]))


def gold_verdicts(book: Book, question: Question, pair: ClaimPair) -> tuple[Verdict, Verdict]:
    """The verdict on the true claim of a pair, and that on the false one."""
    facts = supporting(book, question)
    contrary = CONTRARY[book.document.language].format(wrong=pair.wrong, right=question.answer)
    true = Verdict(explanation=book.voice.stated(facts), answer="TRUE")
    return true, Verdict(explanation=book.voice.stated([*facts, contrary]), answer="FALSE")


def bears_on(question: Question, entity: Entity, supporting: Sequence[str]) -> bool:
    """Whether the question or its answer names an entity, or its description says what the evidence or a binding says."""
    described = entity.description.lower()
    text = f"{question.question}\n{question.answer}"
    return bool(mentions(entity.name, text)) or any(says.lower() in described for says in supporting)


def _picked(flags: Iterable[bool]) -> list[int]:
    return [i for i, flag in enumerate(flags) if flag] or [-1]


def silver_chunks(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Questions with numbered passages, and which of these are relevant (MiA-RAG, Figure 11)."""
    chunks = cut(book, tokenizer)
    for question, _, keep in islice(answerable(book, chance, chunks), SHARE):
        keep = [] if chance.hit(NONE_SHOWN) else chance.sample(keep, chance.between(1, len(keep)))
        listed = mixed(book, question, keep, chunks, chance.between(max(3, len(keep)), MOST), chance)
        texts = [" ".join(book.document[chunk].split()) for chunk in listed]
        value = _picked(relevant(book, question, chunk) for chunk in listed)
        yield {"question": question.question, "answer": question.answer, "chunks": numbered(texts)}, value


def silver_nodes(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Questions with numbered entities, and which of these are relevant (MiA-RAG, Figure 12)."""
    narrow = (q for q, _ in questions_with_claims(book, chance) if q.kind not in WHOLE)
    for question in islice(narrow, SHARE):
        facts = supporting(book, question)
        entities = [(f"{entity.name}: {entity.description}", bears_on(question, entity, facts)) for entity in book.entities]
        keep = [] if chance.hit(NONE_SHOWN) else [entity for entity in entities if entity[1]]
        keep = chance.sample(keep, MOST_ENTITIES // 2)
        others = chance.sample([entity for entity in entities if not entity[1]], chance.between(3, MOST_ENTITIES - len(keep)))
        picked = [*keep, *others]
        used = accumulate(len(tokenizer.encode(text)) for text, _ in picked)
        picked = chance.shuffled(picked[: sum(tokens <= ENTITY_ROOM for tokens in used)])
        listed, value = numbered([text for text, _ in picked]), _picked(bears for _, bears in picked)
        yield {"question": question.question, "answer": question.answer, "entities": listed}, value


def grade(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Right and wrong answers to questions, and the judge's verdict on each (MindGraph, appendix D.4)."""
    language = book.document.language
    said = SAID[language]
    rows = [row for row in questions_with_claims(book, chance) if row[0].kind != "meals"]  # whose answer is a sequence
    for question, pair in rows[:GRADES]:
        right, form = question.answer, chance.pick(ANSWERED[language])
        parts = right.split(book.voice.say.AND)
        case = chance.pick(["same", "same", "missing", "wrong"] if question.kind in PAIRS else ["same", "wrong"])
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


def pairwise(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Two answers to a question, one of them poorer, and which wins (MiA-RAG, Figure 14)."""
    language, voice = book.document.language, book.voice
    said, join, stop = SAID[language], voice.words.scenes.JOIN, voice.say.STOP
    known = {entity.name: entity.description.removesuffix(stop).split(voice.say.FACT_JOIN) for entity in book.entities}
    rich = [name for name, facts in known.items() if len(facts) > 2]
    for name in chance.sample(rich, COMPARED):
        facts = known[name][: FACTS[language]]
        dropped = chance.sample(range(len(facts)), chance.between(1, len(facts) - 1))
        kept = [fact for i, fact in enumerate(facts) if i not in dropped]
        full, less = (join.join(sentence(fact) + stop for fact in listed) for listed in (facts, kept))
        if chance.hit(PADDED):
            less = join.join([less, *chance.sample(EMPTY[language], len(EMPTY[language]))])
        first = chance.hit(0.5)
        winner: Literal["Answer 1", "Answer 2"] = "Answer 1" if first else "Answer 2"
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
