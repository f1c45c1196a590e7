"""What a retriever is taught: questions, the units that answer them, and units that do not (MiA-RAG, appendix B.1, B.2).

`of_story` takes both from the storyworld's log, where the truth is known: positives are the chunks that hold the evidence, hard
negatives tell of the same kind of event and of somebody else. Often one verb or place gives the passage away, and who is meant
need not be known; so there are copies of the positives, too, in which somebody else does it. `who_is_who` asks for nothing but
who is meant. `of_silver` takes all from Algorithm 1, as the paper does. Taught in notebook 12_mia_emb_training.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mindscape.mia.embedding import Task
from mindscape.mia.silver import HARD, SIMPLE, Silver
from mindscape.question import Question
from mindscape.text import Span, Tokenizer, mentions
from mindscape.text.documents import Place
from storyworld import Book, Chance, sentence
from storyworld.teaching import passages
from storyworld.teaching.questions import bears_on

Places = Sequence[int]
TOLD_OF = {"en": "What is told of {}?", "zh": "书中讲了{}的什么事？"}
EXCHANGED = 4  # copies of a positive with another name, at most
# What stands before the first word of a sentence or a speech.
BEGINS = re.compile(r"(^|[.!?]['\"’”]?\s+|(^|\s)['\"‘“])$")
MOST = 4  # evidence of a question to learn from, in chunks: a question on the whole book singles out no passage


@dataclass(frozen=True)
class Units:
    """Texts that answer a question, hard and simple negatives, and `exchanged`: positives with another name in them. No text is
    in two of them."""

    positives: tuple[str, ...]
    hard: tuple[str, ...] = ()
    simple: tuple[str, ...] = ()
    exchanged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A question to learn from; `summary` is that of its text, `units` are told by task, where there are any to find."""

    id: str
    document: str
    question: str
    summary: str
    units: Mapping[Task, Units]


def nodes(book: Book) -> list[str]:
    """The book's entities as a node retriever sees them: name and description."""
    return [f"{entity.name}: {entity.description}" for entity in book.entities]


def evidence(book: Book, question: Question, chunks: Sequence[Place]) -> list[int]:
    """The chunks that hold a question's evidence."""
    return [i for i, chunk in enumerate(chunks) if any(passages.holds(book, chunk, span) for span in question.evidence)]


def bearing(book: Book, question: Question) -> list[int]:
    """The entities that a question is about: it or its answer names them, or their description tells what is asked for."""
    supporting = passages.supporting(book, question)
    return [i for i, entity in enumerate(book.entities) if bears_on(question, entity, supporting)]


def to_find(book: Book, tokenizer: Tokenizer, task: Task) -> tuple[list[str], list[tuple[Question, set[int]]]]:
    """The units of a task, and the book's questions with those that are right.

    Left out are questions that too many units answer, and those that none does. Chunks may be those of a play, too.
    """
    if task == "node":
        units = nodes(book)
        right = [set(bearing(book, question)) for question in book.questions]
        most = len(units) - 1
    else:
        chunks = passages.cut(book, tokenizer)
        units = [book.document[chunk].strip() for chunk in chunks]
        right = [set(evidence(book, question, chunks)) for question in book.questions]
        most = MOST
    return units, [(q, some) for q, some in zip(book.questions, right, strict=True) if 0 < len(some) <= most]


def exchanged(book: Book, question: Question, text: str, chance: Chance, most: int = EXCHANGED) -> list[str]:
    """Copies of a passage in which the person that a question means has another's name: one of the same sex, whom neither
    passage nor question names, and a guise for a guise.

    A question that names somebody in a way of its own means that one; any other means those whom it names. Empty where the
    passage names nobody of them.
    """
    called: dict[tuple[str, bool], list[str]] = {}  # by sex, and whether it is a guise
    for person in book.world.people:
        called.setdefault((person.sex, False), []).append(book.voice.name(person.id))
        if person.guise is not None:
            called.setdefault((person.sex, True), []).append(book.voice.guise(person.id))
    told = f"{question.resolved}\n{text}"
    copies = []
    for names in called.values():
        meant = [name for name in names if mentions(name, question.resolved) and mentions(name, text)]
        if question.needs_binding:
            meant = [name for name in meant if not mentions(name, question.question)]
        others = [name for name in names if not mentions(name, told)]
        for name in meant:
            drawn = chance.some(others, most)
            copies += [_renamed(text, name, other, book.document.language) for other in drawn]
    return chance.some(copies, most)


def by_trade(book: Book, question: Question) -> Question | None:
    """The question with one of those whom it names called by trade, so that it needs a binding; None where it needs one as it
    is, or names nobody whose trade is told."""
    if question.needs_binding:
        return None
    for binding in book.world.bindings:
        name = book.voice.name(binding.person)
        if binding.kind == "trade" and mentions(name, question.question):
            called = _renamed(question.question, name, book.voice.trade(binding.person), book.document.language)
            return replace(
                question,
                id=f"{question.id}-trade",
                question=sentence(called),
                resolved=question.question,
                gloss=book.voice.binding(binding),
                bindings=(tuple(book.told.bindings[binding.id]),),
            )
    return None


def _renamed(text: str, name: str, other: str, language: str) -> str:
    """The text with one name in the place of another, with a capital where that has one because it begins a sentence."""
    border = r"\b" if language == "en" else ""

    def put(match: re.Match) -> str:
        begins = match[0][0] != name[0] or BEGINS.search(text, 0, match.start())
        return other[0].upper() + other[1:] if begins else other

    return re.sub(f"{border}{re.escape(name)}{border}", put, text, flags=re.IGNORECASE)


def who_is_who(book: Book) -> list[Asked]:
    """What is told of the baker, of the baker's niece, of the veiled widow: questions that give nothing but who is meant.

    To be found are the tellings that name the one who is meant, among chunks, and the bare names, among nodes: neither says
    who is the baker, which stands in the summary alone.
    """
    voice, of = book.voice, book.document.id
    names = [voice.name(person.id) for person in book.world.people]
    told = [book.document[span].strip() for span in tellings(book)]
    found = []
    for binding in book.world.bindings:
        if binding.kind == "kin":
            others = (voice.name(binding.other), voice.trade(binding.other))
            called = [voice.say.KIN_OF.format(b=other, relation=voice.relation(binding)) for other in others]
        else:
            called = [voice.trade(binding.person) if binding.kind == "trade" else voice.guise(binding.person)]
        name = voice.name(binding.person)
        units: dict[Task, Units] = {"node": Units((name,), simple=tuple(other for other in names if other != name))}
        if right := tuple(text for text in told if mentions(name, text)):
            units["chunk"] = Units(right, simple=tuple(text for text in told if text not in right))
        asked = [TOLD_OF[book.document.language].format(who) for who in called]
        found += [Asked(f"{of}-who{binding.id}-{i}", of, it, book.summary, units) for i, it in enumerate(asked)]
    return found


def tellings(book: Book) -> list[Span]:
    """Where something is told that happens, a few words or sentences each, in the order of the text; once for each wording."""
    spans = sorted({span for spans in book.told.events.values() for span in spans}, key=lambda span: span.start)
    return list({book.document[span].strip(): span for span in reversed(spans)}.values())[::-1]


def of_story(
    book: Book, tokenizer: Tokenizer, seed: int = 0, even: bool = False, traded: float = 0.0, alone: bool = False
) -> list[Asked]:
    """The questions of a book whose evidence is in a few chunks, always the same for the same seed.

    `traded`: how many of those that name somebody call him by trade instead. `even`: of those that need no binding only as
    many as there are that do, drawn by chance. `alone`: in the place of chunks there are the tellings by themselves.

    >>> from storyworld.books import training_book
    >>> len(of_story(training_book(0), tokenizer))                                        # doctest: +SKIP
    58
    """
    chance = Chance("supervision", book.document.id, seed)
    chunks: Sequence[Place] = tellings(book) if alone else passages.cut(book, tokenizer)
    texts = [book.document[chunk].strip() for chunk in chunks]
    entities = nodes(book)
    questions = [chance.hit(traded) and by_trade(book, question) or question for question in book.questions]
    found = []
    for question in questions:
        right = evidence(book, question, chunks)
        if not 0 < len(right) <= MOST:
            continue
        apart = {i for i, chunk in enumerate(chunks) if not passages.relevant(book, question, chunk)}
        hard = chance.some(sorted(apart & same_kind(book, question, chunks)), HARD)
        simple = chance.some(sorted(apart - set(hard)), SIMPLE)
        copies = [copy for i in right for copy in exchanged(book, question, texts[i], chance) if copy not in texts]
        units: dict[Task, Units] = {"chunk": _units(texts, right, hard, simple, copies)}
        about = bearing(book, question)
        others = [i for i in range(len(entities)) if i not in about]
        if about and others:
            units["node"] = _units(entities, about, [], chance.some(others, SIMPLE))
        found.append(Asked(question.id, book.document.id, question.question, book.summary, units))
    if not even:
        return found
    bound = {question.id for question in questions if question.needs_binding}
    plain = [one for one in found if one.id not in bound]
    kept = {one.id for one in chance.some(plain, len(found) - len(plain))}
    return [one for one in found if one.id in bound or one.id in kept]


def same_kind(book: Book, question: Question, chunks: Sequence[Place]) -> set[int]:
    """The chunks, by number, that tell of an event of the kind that the question's evidence tells of, done by whomever.

    >>> from storyworld.books import training_book
    >>> book = training_book(0)
    >>> chunks = passages.cut(book, tokenizer)                                           # doctest: +SKIP
    >>> [len(same_kind(book, question, chunks)) for question in book.questions[:3]]      # doctest: +SKIP
    [1, 2, 5]
    """
    evidence = set(question.evidence)
    told = {event.kind for event in book.world.events if not evidence.isdisjoint(book.told.events[event.id])}
    spans = [span for event in book.world.events if event.kind in told for span in book.told.events[event.id]]
    return {i for i, chunk in enumerate(chunks) if any(passages.holds(book, chunk, span) for span in spans)}


def of_silver(
    questions: Mapping[str, str],
    document: str,
    summary: str,
    units: Mapping[Task, tuple[Sequence[str], Iterable[Silver]]],
) -> list[Asked]:
    """Questions by id, with what Algorithm 1 found for each task: the texts of the units and the annotations.

    A question without silver evidence is left out.
    """
    by_question: dict[str, dict[Task, Units]] = {}
    for task, (texts, annotated) in units.items():
        for one in annotated:
            if one.silver:
                by_question.setdefault(one.question, {})[task] = _units(texts, one.silver, one.hard, one.simple)
    kept = {name: found for name, found in by_question.items() if "chunk" in found}
    return [Asked(name, document, questions[name], summary, found) for name, found in kept.items()]


def _units(
    texts: Sequence[str], positives: Places, hard: Places, simple: Places, exchanged: Iterable[str] = ()
) -> Units:
    right, near, far = (tuple(texts[i] for i in some) for some in (positives, hard, simple))
    return Units(right, near, far, tuple(exchanged))
