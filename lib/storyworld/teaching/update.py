"""Gold steps of MiA-Signature's agent (appendix F, UPDATE): is what was retrieved enough, and if not, what is missing?

The agent knows what an answer takes: the evidence, and who is meant. It answers when all of that has been shown, now or in an
earlier step, and else says what is missing. Taught in notebook 01_the_reader.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mindscape.question import Question
from mindscape.roles.answers import letters
from mindscape.roles.update import NONE, SAY, UPDATE, Update
from mindscape.text import Chunk, Span, Tokenizer, windows
from storyworld import Book
from storyworld.chance import Chance
from storyworld.teaching.graphs import Builder, alike, shown_fact
from storyworld.teaching.passages import Gold, cut
from storyworld.voice import sentence
from storyworld.world import Binding, Event

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
        return [it for it in self.passages if any(p.start < it.end and it.start < p.end for p in places)]

    def need(self, what: Event | Binding, fact: str, places: Sequence[Span]) -> _Need:
        wholly = places if isinstance(what, Binding) else places[:1]
        touching = self.touching(places)
        holding = [it for it in touching if any(it.start <= p.start and p.end <= it.end for p in wholly)]
        return _Need(what, sentence(fact), tuple(holding), frozenset(it.index for it in touching))

    def needs(self, question: Question) -> list[_Need]:
        """Who is meant, then the events; empty where the question takes more than a few passages."""
        events, told = self.builder.events(question), self.book.told
        if not events or len(question.evidence) > 2 or len(question.evidence) != len(events):
            return []
        found = []
        for binding in self.builder.bindings(question):
            found.append(self.need(binding, self.book.voice.binding(binding), told.bindings[binding.id]))
        for event in events:
            fact = shown_fact(self.book, event)
            answers = [name for name in self.builder.said(event) if name in question.answer and name not in fact]
            if answers:
                fact = self.say["where"].format(fact=fact, answers=self.book.voice.list(answers))
            found.append(self.need(event, fact, told.events[event.id]))
        return found if all(need.holding for need in found) else []


def update(book: Book, chance: Chance, tokenizer: Tokenizer) -> Gold:
    """Steps of the search for a question's evidence, and what the agent does next (MiA-Signature, appendix F)."""
    shelf = _Shelf(book, tokenizer)
    asked = [(question, needs) for question in book.questions if (needs := shelf.needs(question))]
    for question, needs in chance.shuffled(asked):
        for _ in range(1 + (len(question.bindings) > 0)):
            example = _example(shelf, question, needs, chance)
            if len(tokenizer(UPDATE.prompt(shelf.language, **example[0]))["input_ids"]) <= LONGEST[shelf.language]:
                yield example


def _example(
    shelf: _Shelf, question: Question, needs: Sequence[_Need], chance: Chance
) -> tuple[dict[str, str], Update]:
    """A step of the search, with some of what is needed noted, some retrieved, and some missing."""
    book, say, voice, language = shelf.book, shelf.say, shelf.book.voice, shelf.language
    max_steps = chance.between(3, 5)
    step = max_steps if chance.hit(0.12) else chance.between(1, max_steps - 1)
    missing = [] if chance.hit(0.45) else chance.some(needs, chance.between(1, len(needs)))
    there = [need for need in needs if need not in missing]
    noted = chance.some(there, chance.below(len(there) + 1)) if step > 1 else []
    shown = [need for need in there if need not in noted][:2]
    missing = [need for need in needs if need not in noted and need not in shown]
    passages = _passages(shelf, needs, shown, missing, chance)
    seen = [need for need in needs if need in noted or any(it in passages for it in need.holding)]
    # A kinship or a guise means something only beside something else that was found.
    found = [need for need in seen if need in noted or not _loose(need, seen)]
    missing = [need for need in needs if need not in found]
    notes = [need.note for need in needs if need in noted]
    memory = [*notes, *(need.note for need in found if need not in noted)]

    free = [i for i, session in enumerate(shelf.sessions) if not _tells(session, missing)]
    sessions = sorted(chance.some(free, 2))
    earlier = [need for need in needs if need in noted]
    query = question.question if step == 1 else _query(shelf, question, needs, earlier, question.question)[0]
    last = step == max_steps
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
        "chunks_text": "\n\n".join(
            say["passage"].format(i=i, text=book.document[it].strip()) for i, it in enumerate(passages, start=1)
        ),
        "history_section": say["history"].format(query=question.question) if step > 1 else "",
    }
    facts = voice.say.FACT_JOIN.join(memory)
    head = say["found"].format(facts=facts) if memory else say["nothing"]
    join = voice.words.scenes.JOIN
    if not missing:
        thought = join.join([head, say["enough"]])
        return slots, Update(evidence_memory=memory, confidence="HIGH", thought=thought, action="ANSWER")
    told = all(need in found for need in needs if isinstance(need.what, Event))
    confidence = "MEDIUM" if told else "LOW"
    rewritten, what = _query(shelf, question, needs, found, query)
    thought = join.join([head, say["late" if last else "missing"].format(what=what)])
    said = {"evidence_memory": memory, "confidence": confidence, "thought": thought}
    if last:
        return slots, Update(**said, action="ANSWER")
    signature = say["signature" if memory else "signature_new"].format(facts=facts, what=what)
    return slots, Update(**said, action="REFINE", refined_signature=signature, rewritten_query=rewritten)


def _loose(need: _Need, seen: Sequence[_Need]) -> bool:
    return isinstance(need.what, Binding) and need.what.kind != "trade" and len(seen) == 1


def _tells(passages: Sequence[Chunk], needs: Sequence[_Need]) -> bool:
    return any(it.index in need.touched for it in passages for need in needs)


def _passages(
    shelf: _Shelf, needs: Sequence[_Need], shown: Sequence[_Need], missing: Sequence[_Need], chance: Chance
) -> list[Chunk]:
    """Three or so, in any order: those that tell what is shown, and others that tell nothing of what is missing.

    Where it is not known who is meant, none of the others tells of a deed of the same kind.
    """
    chosen: list[Chunk] = []
    for need in shown:
        holding = [it for it in need.holding if not _tells([it], missing)]
        if holding and not set(holding) & set(chosen):
            chosen.append(chance.pick(holding))
    deeds = [need.what for need in needs if isinstance(need.what, Event)]
    named = all(isinstance(need.what, Event) for need in needs)
    kinds = set() if named else set().union(*map(alike, deeds))
    others = [it for it in shelf.passages if it not in chosen and not _tells([it], needs)]
    others = [it for it in others if not kinds & shelf.kinds[it.index]]
    return chance.shuffled([*chosen, *chance.some(others, 3 - len(chosen))])


def _query(
    shelf: _Shelf, question: Question, needs: Sequence[_Need], found: Sequence[_Need], current: str
) -> tuple[str, str]:
    """What to search for, in other words than the last query, and what is missing."""
    what = _missing(shelf, question, needs, found)
    return (shelf.say["again"].format(question=what) if what == current else what), what


def _missing(shelf: _Shelf, question: Question, needs: Sequence[_Need], found: Sequence[_Need]) -> str:
    """What is missing, as a question: who is meant first, then the deed, by the names known by now."""
    voice, say = shelf.book.voice, shelf.say
    lacking = [need.what for need in needs if isinstance(need.what, Binding) and need not in found]
    told = any(need in found for need in needs if isinstance(need.what, Event))
    trades = [need.what for need in needs if isinstance(need.what, Binding) and need.what.kind == "trade"]
    for it in lacking:
        if it.kind == "trade":
            return say["trade"].format(trade=voice.trade(it.person))
        if it.kind == "kin":
            return say["kin"].format(b=voice.name(it.other), relation=voice.relation(it))
        if told:  # the deed was found, and with it the name that its doer goes by
            return sentence(say["guise"].format(guise=voice.guise(it.person)))
    if not lacking:
        return question.resolved
    asked = question.question
    for it in trades:
        trade, name = voice.trade(it.person), voice.name(it.person)
        asked = asked.replace(trade, name).replace(sentence(trade), name)
    return asked
