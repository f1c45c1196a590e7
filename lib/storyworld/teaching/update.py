"""What an agent and a retriever are taught. Taught in notebooks 01_the_reader and 12_mia_emb_training.

Gold steps of MiA-Signature's agent (appendix F, UPDATE): is what was retrieved enough, and if not, what is missing? The agent
knows what an answer takes: the evidence, and who is meant. It answers when all of that has been shown, now or in an earlier
step, and else says what is missing.

For a retriever: questions, the units that answer them, and units that do not (MiA-RAG, appendix B.1, B.2). `of_story` takes
both from the storyworld's log, where the truth is known: positives are the chunks that hold the evidence, hard negatives tell
of the same kind of event and of somebody else. Often one verb or place gives the passage away, and who is meant need not be
known; so there are copies of the positives, too, in which somebody else does it. `who_is_who` asks for nothing but who is
meant.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mindscape.mia.embedding import HARD, SIMPLE, Task
from mindscape.question import Question
from mindscape.roles import NONE, SAY, UPDATE, Update, letters
from mindscape.text import Chunk, Place, Span, Tokenizer, mentions, windows
from storyworld import Book
from storyworld.teaching import passages
from storyworld.teaching.graphs import Builder, alike, shown_fact
from storyworld.teaching.passages import Gold, bears_on, cut
from storyworld.telling import sentence
from storyworld.world import Binding, Chance, Event

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
        units, right = nodes(book), [(question, set(bearing(book, question))) for question in book.questions]
        most = len(units) - 1
    else:
        chunks = cut(book, tokenizer)
        units, most = [book.document[chunk].strip() for chunk in chunks], MOST
        right = [(question, set(evidence(book, question, chunks))) for question in book.questions]
    return units, [(question, places) for question, places in right if 0 < len(places) <= most]


def exchanged(book: Book, question: Question, text: str, chance: Chance) -> list[str]:
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
    context = f"{question.resolved}\n{text}"
    copies = []
    for names in called.values():
        meant = [name for name in names if mentions(name, question.resolved) and mentions(name, text)]
        if question.needs_binding:
            meant = [name for name in meant if not mentions(name, question.question)]
        others = [name for name in names if not mentions(name, context)]
        pairs = ((name, other) for name in meant for other in chance.sample(others, EXCHANGED))
        copies += [_renamed(text, name, other, book.document.language) for name, other in pairs]
    return chance.sample(copies, EXCHANGED)


def by_trade(book: Book, question: Question) -> Question | None:
    """The question with one of those whom it names called by trade, so that it needs a binding; None where it needs one as it
    is, or names nobody whose trade is told."""
    text, voice = question.question, book.voice
    trades = [binding for binding in book.world.bindings if binding.kind == "trade"]
    named = (binding for binding in trades if mentions(voice.name(binding.person), text))
    if question.needs_binding or (binding := next(named, None)) is None:
        return None
    called = _renamed(text, voice.name(binding.person), voice.trade(binding.person), book.document.language)
    bindings, gloss = (tuple(book.telling.bindings[binding.id]),), voice.binding(binding)
    by: dict[str, Any] = {"question": sentence(called), "resolved": text, "gloss": gloss, "bindings": bindings}
    return replace(question, id=f"{question.id}-trade", **by)


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
    voice, book_id = book.voice, book.document.id
    names = [voice.name(person.id) for person in book.world.people]
    texts = [book.document[span].strip() for span in tellings(book)]
    rows = []
    for binding in book.world.bindings:
        if binding.kind == "kin":
            others = (voice.name(binding.other), voice.trade(binding.other))
            called = [voice.say.KIN_OF.format(b=other, relation=voice.relation(binding)) for other in others]
        else:
            called = [voice.trade(binding.person) if binding.kind == "trade" else voice.guise(binding.person)]
        name = voice.name(binding.person)
        units: dict[Task, Units] = {"node": Units((name,), simple=tuple(other for other in names if other != name))}
        if right := tuple(text for text in texts if mentions(name, text)):
            units["chunk"] = Units(right, simple=tuple(text for text in texts if text not in right))
        questions = [TOLD_OF[book.document.language].format(who) for who in called]
        rows += [Asked(f"{book_id}-who{binding.id}-{i}", book_id, q, book.summary, units) for i, q in enumerate(questions)]
    return rows


def tellings(book: Book) -> list[Span]:
    """Where something is told that happens, a few words or sentences each, in the order of the text; once for each wording."""
    spans = sorted({span for spans in book.telling.events.values() for span in spans}, key=lambda span: span.start)
    return list({book.document[span].strip(): span for span in reversed(spans)}.values())[::-1]


def of_story(
    book: Book, tokenizer: Tokenizer, seed: int = 0, even: bool = False, traded: float = 0.0, alone: bool = False
) -> list[Asked]:
    """The questions of a book whose evidence is in a few chunks, always the same for the same seed.

    `traded`: how many of those that name somebody call him by trade instead. `even`: of those that need no binding only as
    many as there are that do, drawn by chance. `alone`: in the place of chunks there are the tellings by themselves.

    >>> from storyworld import training_book
    >>> len(of_story(training_book(0), tokenizer))                                        # doctest: +SKIP
    58
    """
    chance = Chance("supervision", book.document.id, seed)
    chunks: Sequence[Place] = tellings(book) if alone else cut(book, tokenizer)
    texts, entities = [book.document[chunk].strip() for chunk in chunks], nodes(book)
    questions = [chance.hit(traded) and by_trade(book, question) or question for question in book.questions]
    rows = []
    for question in questions:
        right = evidence(book, question, chunks)
        if not 0 < len(right) <= MOST:
            continue
        apart = {i for i, chunk in enumerate(chunks) if not passages.relevant(book, question, chunk)}
        hard = chance.sample(sorted(apart & same_kind(book, question, chunks)), HARD)
        simple = chance.sample(sorted(apart - set(hard)), SIMPLE)
        copies = [copy for i in right for copy in exchanged(book, question, texts[i], chance) if copy not in texts]
        units: dict[Task, Units] = {"chunk": _units(texts, right, hard, simple, copies)}
        about = bearing(book, question)
        others = [i for i in range(len(entities)) if i not in about]
        if about and others:
            units["node"] = _units(entities, about, [], chance.sample(others, SIMPLE))
        rows.append(Asked(question.id, book.document.id, question.question, book.summary, units))
    if not even:
        return rows
    bound = {question.id for question in questions if question.needs_binding}
    plain = [row for row in rows if row.id not in bound]
    kept = {row.id for row in chance.sample(plain, len(rows) - len(plain))}
    return [row for row in rows if row.id in bound or row.id in kept]


def same_kind(book: Book, question: Question, chunks: Sequence[Place]) -> set[int]:
    """The chunks, by number, that tell of an event of the kind that the question's evidence tells of, done by whomever.

    >>> from storyworld import training_book
    >>> book = training_book(0)
    >>> chunks = passages.cut(book, tokenizer)                                           # doctest: +SKIP
    >>> [len(same_kind(book, question, chunks)) for question in book.questions[:3]]      # doctest: +SKIP
    [1, 2, 5]
    """
    evidence = set(question.evidence)
    kinds = {event.kind for event in book.world.events if not evidence.isdisjoint(book.telling.events[event.id])}
    spans = [span for event in book.world.events if event.kind in kinds for span in book.telling.events[event.id]]
    return {i for i, chunk in enumerate(chunks) if any(passages.holds(book, chunk, span) for span in spans)}


def _units(texts: Sequence[str], positives: Places, hard: Places, simple: Places, exchanged: Iterable[str] = ()) -> Units:
    right, near, far = (tuple(texts[i] for i in places) for places in (positives, hard, simple))
    return Units(right, near, far, tuple(exchanged))


# The agent's steps -----------------------------------------------------------------------------------------------------

PASSAGE = {"en": 90, "zh": 120}  # tokens
WINDOW = 3  # passages of which a session is made
LONGEST = {"en": 900, "zh": 1300}  # tokens of a prompt; the Chinese frame alone has some 500


@dataclass(frozen=True)
class _Need:
    """Something that the answer rests on: what is told of it, and every place that tells it."""

    what: Event | Binding
    note: str
    holding: tuple[Chunk, ...]  # the passages of which any one tells it whole
    touched: frozenset[int]  # the passages that tell it in whole or in part


Needs = Sequence[_Need]


class _Shelf:
    """A book's passages and sessions, and what is told where."""

    def __init__(self, book: Book, tokenizer: Tokenizer):
        self.book, self.builder, self.language = book, Builder(book), book.document.language
        self.say = SAY[self.language]
        self.passages = cut(book, tokenizer, PASSAGE[self.language])
        self.sessions = windows(self.passages, WINDOW)
        self.summaries = book.session_summaries(self.sessions)
        self.kinds: dict[int, set[str]] = defaultdict(set)  # of the events that a passage tells in whole or in part
        for span, event in self.builder.at.items():
            for passage in self.touching([span]):
                self.kinds[passage.index] |= alike(event)

    def touching(self, places: Sequence[Span]) -> list[Chunk]:
        return [passage for passage in self.passages if any(p.start < passage.end and passage.start < p.end for p in places)]

    def need(self, what: Event | Binding, fact: str, places: Sequence[Span]) -> _Need:
        wholly = places if isinstance(what, Binding) else places[:1]
        touching = self.touching(places)
        holding = [passage for passage in touching if any(passage.start <= p.start and p.end <= passage.end for p in wholly)]
        return _Need(what, sentence(fact), tuple(holding), frozenset(passage.index for passage in touching))

    def needs(self, question: Question) -> list[_Need]:
        """Who is meant, then the events; empty where the question takes more than a few passages."""
        events, telling = self.builder.events(question), self.book.telling
        if not events or len(question.evidence) > 2 or len(question.evidence) != len(events):
            return []
        meant = self.builder.bindings(question)
        needs = [self.need(binding, self.book.voice.binding(binding), telling.bindings[binding.id]) for binding in meant]
        for event in events:
            fact = shown_fact(self.book, event)
            answers = [name for name in self.builder.said(event) if name in question.answer and name not in fact]
            if answers:
                fact = self.say["where"].format(fact=fact, answers=self.book.voice.list(answers))
            needs.append(self.need(event, fact, telling.events[event.id]))
        return needs if all(need.holding for need in needs) else []


def update(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Steps of the search for a question's evidence, and what the agent does next (MiA-Signature, appendix F)."""
    shelf = _Shelf(book, tokenizer)
    pairs = [(question, needs) for question in book.questions if (needs := shelf.needs(question))]
    for question, needs in chance.shuffled(pairs):
        for _ in range(1 + (len(question.bindings) > 0)):
            slots, value = _example(shelf, question, needs, chance)
            if len(tokenizer.encode(UPDATE.prompt(shelf.language, **slots))) <= LONGEST[shelf.language]:
                yield slots, value


def _example(shelf: _Shelf, question: Question, needs: Needs, chance: Chance) -> tuple[dict[str, str], Update]:
    """A step of the search, with some of what is needed noted, some retrieved, and some missing."""
    book, say, voice, language = shelf.book, shelf.say, shelf.book.voice, shelf.language
    max_steps = chance.between(3, 5)
    step = max_steps if chance.hit(0.12) else chance.between(1, max_steps - 1)
    missing = [] if chance.hit(0.45) else chance.sample(needs, chance.between(1, len(needs)))
    there = [need for need in needs if need not in missing]
    noted = chance.sample(there, chance.below(len(there) + 1)) if step > 1 else []
    shown = [need for need in there if need not in noted][:2]
    missing = [need for need in needs if need not in noted and need not in shown]
    retrieved = _passages(shelf, needs, shown, missing, chance)
    seen = [need for need in needs if need in noted or any(passage in retrieved for passage in need.holding)]
    # A kinship or a guise means something only beside something else that was found.
    alone = len(seen) == 1 and isinstance(seen[0].what, Binding) and seen[0].what.kind != "trade"
    met = [need for need in seen if need in noted or not alone]
    missing = [need for need in needs if need not in met]
    notes = [need.note for need in needs if need in noted]
    memory = [*notes, *(need.note for need in met if need not in noted)]

    free = [i for i, session in enumerate(shelf.sessions) if not _tells(session, missing)]
    sessions = sorted(chance.sample(free, 2))
    query = question.question if step == 1 else _query(shelf, question, needs, noted, question.question)[0]
    last = step == max_steps
    texts = [book.document[passage].strip() for passage in retrieved]
    slots = {
        "question": question.question,
        "options_str": letters(question.options) if chance.hit(0.5) else NONE[language],
        "step": str(step),
        "max_steps": str(max_steps),
        "remaining_steps_hint": say["last"] if last else say["more"].format(n=max_steps - step),
        "signature": shelf.summaries[chance.pick(free)],
        "current_query": query,
        "summaries_text": "\n".join(f"- {shelf.summaries[i]}" for i in sessions),
        "evidence_memory": "\n".join(f"- {note}" for note in notes) or NONE[language],
        "chunks_text": "\n\n".join(say["passage"].format(i=i, text=passage) for i, passage in enumerate(texts, start=1)),
        "history_section": say["history"].format(query=question.question) if step > 1 else "",
    }
    facts = voice.say.FACT_JOIN.join(memory)
    head, join = say["found"].format(facts=facts) if memory else say["nothing"], voice.words.scenes.JOIN
    if not missing:
        thought = join.join([head, say["enough"]])
        return slots, Update(evidence_memory=memory, confidence="HIGH", thought=thought, action="ANSWER")
    confidence = "LOW" if any(isinstance(need.what, Event) for need in missing) else "MEDIUM"
    rewritten, what = _query(shelf, question, needs, met, query)
    thought = join.join([head, say["late" if last else "missing"].format(what=what)])
    said = {"evidence_memory": memory, "confidence": confidence, "thought": thought}
    if last:
        return slots, Update(**said, action="ANSWER")
    signature = say["signature" if memory else "signature_new"].format(facts=facts, what=what)
    return slots, Update(**said, action="REFINE", refined_signature=signature, rewritten_query=rewritten)


def _tells(chunks: Sequence[Chunk], needs: Needs) -> bool:
    return any(chunk.index in need.touched for chunk in chunks for need in needs)


def _passages(shelf: _Shelf, needs: Needs, shown: Needs, missing: Needs, chance: Chance) -> list[Chunk]:
    """Three or so, in any order: those that tell what is shown, and others that tell nothing of what is missing.

    Where it is not known who is meant, none of the others tells of a deed of the same kind.
    """
    chosen: list[Chunk] = []
    for need in shown:
        holding = [passage for passage in need.holding if not _tells([passage], missing)]
        if holding and not set(holding) & set(chosen):
            chosen.append(chance.pick(holding))
    deeds = [need.what for need in needs if isinstance(need.what, Event)]
    kinds = set().union(*map(alike, deeds)) if len(deeds) < len(needs) else set()
    others = [passage for passage in shelf.passages if passage not in chosen and not _tells([passage], needs)]
    others = [passage for passage in others if not kinds & shelf.kinds[passage.index]]
    return chance.shuffled([*chosen, *chance.sample(others, 3 - len(chosen))])


def _query(shelf: _Shelf, question: Question, needs: Needs, met: Needs, current: str) -> tuple[str, str]:
    """What to search for, in other words than the last query, and what is missing."""
    what = _missing(shelf, question, needs, met)
    return (shelf.say["again"].format(question=what) if what == current else what), what


def _missing(shelf: _Shelf, question: Question, needs: Needs, met: Needs) -> str:
    """What is missing, as a question: who is meant first, then the deed, by the names known by now."""
    voice, say, text = shelf.book.voice, shelf.say, question.question
    lacking = [need.what for need in needs if isinstance(need.what, Binding) and need not in met]
    deed_found = any(isinstance(need.what, Event) for need in met)
    for binding in lacking:
        if binding.kind == "trade":
            return say["trade"].format(trade=voice.trade(binding.person))
        if binding.kind == "kin":
            return say["kin"].format(b=voice.name(binding.other), relation=voice.relation(binding))
        if deed_found:  # the deed was found, and with it the name that its doer goes by
            return sentence(say["guise"].format(guise=voice.guise(binding.person)))
    if not lacking:
        return question.resolved
    for need in needs:
        if isinstance(need.what, Binding) and need.what.kind == "trade":
            trade, name = voice.trade(need.what.person), voice.name(need.what.person)
            text = text.replace(trade, name).replace(sentence(trade), name)
    return text
