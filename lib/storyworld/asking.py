"""Questions that a book raises, made from the log: answer, options, evidence and a pair of claims for each.

A question's words are those of `fact`, `inf` and `ask`, which avoid the words of the telling. The wrong options are true
of someone else in the book wherever the log has such a one. Nothing is asked about an event that a witness disputes,
except who gave the false account of it. Taught in notebook 00_start_here.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from mindscape.question import ClaimPair, Question
from mindscape.text import Span
from storyworld.telling import Telling, Voice, sentence
from storyworld.world import ELSEWHERE, FROM_B, HOLDERS, PASSES, SLOTS, Binding, Chance, Event

# Questions on one event: by name, by trade, by kinship, on a person in disguise.
PLAIN, TRADES, KIN, GUISES = 9, 9, 6, 4
LOCATED = 0.9  # how often a question on one event says where it was
OPEN = "{answer}"  # stands in a claim until it is filled in
HINTED = 0.25  # how often a thing or a place is paraphrased where a question names it
Fields = dict[str, str]  # what the placeholders of a question stand for
Words = Sequence[str]
Spans = Iterable[Span]


def questions_and_claims(voice: Voice, telling: Telling, doc_id: str) -> tuple[list[Question], list[ClaimPair]]:
    """The questions on a book, and one pair of claims for each, in the same order."""
    return _Asker(voice, telling, doc_id).all()


class _Asker:
    def __init__(self, voice: Voice, telling: Telling, doc_id: str):
        world = voice.world
        self.world, self.voice, self.telling, self.doc_id = world, voice, telling, doc_id
        self.say, self.kinds = voice.say, voice.words.events.EVENTS
        self.chance = Chance("asking", world.seed, world.knobs, doc_id)
        self.questions: list[Question] = []
        self.claims: list[ClaimPair] = []
        self.starts = [passage.start for passage in telling.scenes]
        self.by_kind: dict[str, list[Event]] = defaultdict(list)
        for event in world.events:
            self.by_kind[event.kind].append(event)
        self.false = {event.id: world.events[event.slots["of"]] for event in self.by_kind["false"]}
        disputed = {event.id for event in self.false.values()}
        blamed = {(self.false[event.id].kind, event.slots["a"]) for event in self.by_kind["false"]}
        plain = [event for event in world.events if event.kind in SLOTS and event.id not in disputed]
        self.clean = [event for event in plain if (event.kind, event.slots["a"]) not in blamed]
        self.done: dict[tuple[str, int], list[Event]] = defaultdict(list)  # (kind, who has done it): the events
        for event in world.events:
            for deed in self._readings(event):
                self.done[deed.kind, deed.slots.get("a")].append(event)
        self.trades, self.guises, self.kin = (
            {binding.person: binding for binding in world.bindings if binding.kind == kind}
            for kind in ("trade", "guise", "kin")
        )

    def all(self) -> tuple[list[Question], list[ClaimPair]]:
        self._events()
        for kind, slot in (("relay", "q"), ("bill", "n"), ("dispute", "w"), ("gathering", "n"), ("contest", "w")):
            for event in self.by_kind[kind]:
                self._about(event, slot)
        self._belongings()
        self._same_occasion()
        self._twice()
        self._times()
        self._people()
        self._liars()
        self._journal()
        self._hearing()
        self._refrain()
        self._heirloom()
        self._crime()
        return self.questions, self.claims

    def _readings(self, event: Event) -> list[Event]:
        """An event, and the same seen from {b}'s side where both do something: a purchase is a sale."""
        if event.kind not in FROM_B:
            return [event]
        turned = {**event.slots, "a": event.slots["b"], "b": event.slots["a"]}
        return [event, replace(event, kind=FROM_B[event.kind], slots=turned)]

    # ---- one event ----------------------------------------------------------------------------------------------

    def _events(self) -> None:
        """On single events: by name, by trade, by kinship, and on a person in disguise."""
        single = [event for event in self.clean if len(self.done[event.kind, event.slots["a"]]) == 1]
        bare = self.chance.shuffled([event for event in single if event.slots["a"] not in event.guised])
        guised = self.chance.shuffled([event for event in single if event.slots["a"] in event.guised])
        related = [event for event in bare if event.slots["a"] in self.kin]
        for event in guised[:GUISES]:
            self._by_trade(event, self.guises[event.slots["a"]])
        for event in related[:KIN]:
            bound = self.kin[event.slots["a"]]
            who = self.say.KIN_OF.format(b=self.voice.trade(bound.other), relation=self.voice.relation(bound))
            self._about(event, who=who, bindings=[self.trades[bound.other], bound])
        rest = [event for event in bare if event not in related[:KIN]]
        for event in rest[:TRADES]:
            self._by_trade(event)
        for event in rest[TRADES : TRADES + PLAIN]:
            self._about(event)

    def _by_trade(self, event: Event, *more: Binding) -> None:
        a = event.slots["a"]
        self._about(event, who=self.voice.trade(a), bindings=[self.trades[a], *more])

    def _about(
        self, event: Event, slot: str = "", who: str = "", bindings: Sequence[Binding] = (), after: Event | None = None
    ) -> None:
        """A question for one slot of an event, its actor called `who`: by what that one did before, if `after` is given."""
        asks, fact = self.kinds[event.kind]["ask"], self.kinds[event.kind]["fact"]
        if not slot:
            if not (slots := self._asked(event)):
                return
            slot = self.chance.pick(slots)
        bare, answer = self._fields(event, slot), self._value(event.kind, slot, event.slots[slot])
        fields = bare | ({"a": who} if who else {})
        depth = {"relay": "multi-hop", "bill": "set-aggregation", "gathering": "set-aggregation"}.get(event.kind)
        depth = "global-synthesis" if slot == "w" else depth or ("multi-hop" if bindings or after else "lookup")
        located, question = self._located(event, slot), asks[slot].format(**fields)
        if f"{{{slot}}}" in fact and event.kind != "count":
            claim = fact.format(**fields | {slot: OPEN})
        else:
            claim = self.say.REPLY.format(ask=question, answer=OPEN)
        kind, events = ("same_occasion", [event, after]) if after else (event.kind, [event])
        wrong, accepted = self._options(event, slot), self._accepted(slot, event.slots[slot])
        resolved = located.format(question=asks[slot].format(**bare)) if bindings else ""
        more = {"bindings": bindings, "accepted": accepted, "resolved": resolved}
        self._put(kind, located.format(question=question), answer, wrong, self._spans(events), depth, claim, **more)

    def _asked(self, event: Event) -> list[str]:
        """The slots of an event that can be asked for; who is in disguise is not said."""
        asks = self.kinds[event.kind]["ask"]
        return [slot for slot in asks if slot != "b" or event.slots[slot] not in event.guised]

    def _located(self, event: Event, slot: str) -> str:
        """A frame with the place of the event, where the book says it and the question does not ask for it."""
        place = event.slots.get("p", self.world.scenes[event.scene].place)
        span = self.telling.events[event.id][0]
        placed = self.world.scenes[event.scene].form == "narrated"
        placed |= self.voice.place(place).lower() in self.telling.text[span.start : span.end].lower()
        anywhere = event.kind not in SLOTS or event.kind in ELSEWHERE or slot == "p"
        if anywhere or not placed or not self.chance.hit(LOCATED):
            return "{question}"
        name = self.voice.place_hint if self.chance.hit(HINTED) else self.voice.place
        return self.say.LOCATED.replace("{p}", name(place))

    def _fields(self, event: Event, slot: str) -> dict[str, str]:
        """The placeholders of a question; things and places at times in other words than the book's."""
        fields = self.voice.fields(event.kind, event.slots, event.guised)
        for other in ("o", "p", "q"):
            if other in event.slots and other != slot and self.chance.hit(HINTED):
                name = self.voice.thing_hint if other == "o" else self.voice.place_hint
                fields[other] = name(event.slots[other])
        return fields

    def _value(self, kind: str, slot: str, value: int) -> str:
        return self.voice.fields(kind, {slot: value})[slot]

    def _accepted(self, slot: str, value: int) -> tuple[str, ...]:
        if slot in ("b", "w"):
            return (self.voice.full_name(value), self.voice.trade(value))
        if slot in ("p", "q"):
            return (self.voice.words.names.PLACES[self.world.places[value].key][0],)
        if slot == "o" and value != self.world.treasure:
            return (self.voice.words.names.OBJECTS[self.world.things[value].key][0],)
        return (str(value),) if slot == "n" else ()

    def _options(self, event: Event, slot: str) -> list[str]:
        """Wrong answers: of events of the same kind first, then of the same sort."""
        if event.kind in ("gathering", "bill"):
            return self._near(event.slots[slot])
        same = [other.slots[slot] for other in self.by_kind[event.kind] if slot in other.slots]
        sort = "b" if slot in ("b", "w") else "p" if slot in ("p", "q") else slot
        listed = {"b": self.world.people, "p": self.world.places, "x": self.voice.words.names.WORDS.get(event.kind, ())}
        others = [other.slots[slot] for other in self.world.events if slot in other.slots]
        every = range(len(listed[sort])) if sort in listed else others
        named = {event.slots.get("a"), event.slots.get("b")} - {event.slots[slot]} if slot == "b" else set()
        rivals = [event.slots[key] for key in "ab"] if slot == "w" else []
        first = [*rivals, *same] if rivals else self.chance.shuffled(list(dict.fromkeys(same)))
        values = [*first, *self.chance.shuffled(list(dict.fromkeys(every)))]
        return [self._value(event.kind, slot, value) for value in values if value not in named]

    def _near(self, n: int) -> list[str]:
        others = self.chance.shuffled([m for m in range(max(1, n - 3), n + 4) if m != n])
        return [self.voice.number(m) for m in others]

    # ---- several events -----------------------------------------------------------------------------------------

    def _belongings(self) -> None:
        for scene in self.world.scenes:
            passes = [event for event in self.world.events_in(scene) if event.kind in HOLDERS]
            things = [event.slots["o"] for event in passes]
            two = len(set(things)) == 2 and {event.kind for event in passes} <= {*PASSES}
            if scene.form != "narrated" or not two or not self._all_clean(passes):
                continue
            names = [self.voice.thing(o) for o in things]
            others = [self.voice.thing(e.slots["o"]) for e in self.chance.shuffled(self.clean) if "o" in e.slots]
            fields = {"when": self.voice.when(scene), "p": self.voice.place(scene.place)}
            self._pair("belongings", fields, names, others, passes)

    def _pair(self, kind: str, fields: dict, both: list[str], others: list[str], events: list[Event]) -> None:
        """A question whose answer is two things."""
        others = [name for name in dict.fromkeys(others) if name not in both]
        wrong = [self.voice.list(pair) for pair in ([both[0], others[0]], [others[1], both[1]], others[2:4])]
        swapped = (self.voice.list(both[::-1]),)
        self._form(kind, fields, self.voice.list(both), wrong, self._spans(events), "lookup", accepted=swapped)

    def _spans(self, events: Iterable[Event]) -> list[Span]:
        """Where events are told."""
        return [span for event in events for span in self.telling.events[event.id]]

    def _all_clean(self, events: Iterable[Event]) -> bool:
        return all(event in self.clean for event in events)

    def _same_occasion(self) -> None:
        """What one who did the one thing did next, in the same scene: the name is what joins them."""
        for scene in self.chance.shuffled(self.world.scenes):
            if sum(question.kind == "same_occasion" for question in self.questions) == 5:
                break
            events = [event for event in self.world.events_in(scene) if event.kind in SLOTS]
            if scene.form != "narrated" or len(events) < 2 or events[0].slots["a"] != events[1].slots["a"]:
                continue
            first, second = events[:2]
            once = len(self.done[second.kind, second.slots["a"]]) == 1
            slots = [slot for slot in self._asked(second) if first.slots.get(slot) != second.slots[slot]]
            if not self._all_clean((first, second)) or first.kind == second.kind or not once or not slots:
                continue
            if predicate := self._predicate(first):
                who = self.say.ONE_WHO.format(predicate=predicate)
                self._about(second, self.chance.pick(slots), who, after=first)

    def _predicate(self, event: Event) -> str | None:
        """The fact without its subject; None where it is not true of one person alone."""
        fact = self.kinds[event.kind]["fact"]
        if not fact.startswith("{a}"):
            return None
        predicate = fact[3:].strip().format(**self.voice.fields(event.kind, event.slots, event.guised))
        alike = {kind for kind, other in FROM_B.items() if other == event.kind} | {event.kind}
        same = [deed for kind in alike for e in self.by_kind[kind] for deed in self._readings(e)]
        same = [deed for deed in same if deed.kind == event.kind and self.voice.fact(deed).endswith(predicate)]
        return predicate if len(same) == 1 else None

    def _twice(self) -> None:
        done = 0
        for (kind, a), events in self._repeated():
            if any((e.kind, e.slots["a"]) != (kind, a) for e in events):
                continue  # asked from {b}'s side
            slots = [s for s in self.kinds[kind]["ask"] if s != "n" and all(e.slots[s] not in e.guised for e in events)]
            asks = {s: self.kinds[kind]["ask"][s] for s in slots}
            slots = [s for s in slots if not any(f"{{{o}}}" in asks[s] for o in "bopx")]
            apart = len(events) == len({e.scene for e in events}) == 2
            if not slots or not apart or any(a in e.guised for e in events):
                continue
            slot = self.chance.pick(slots)
            both = [self._value(kind, slot, e.slots[slot]) for e in events]
            if both[0] == both[1] or done == 4:
                continue
            others = [name for name in self._options(events[0], slot) if name not in both]
            if len(others) < 4:
                continue
            self._pair("twice", {"ask": asks[slot].format(a=self.voice.name(a))}, both, others, events)
            done += 1

    def _times(self) -> None:
        often = sorted(self._repeated(), key=lambda item: -len(item[1]))
        often = [row for row in often if len({e.scene for e in row[1]}) > 1 and not any(row[0][1] in e.guised for e in row[1])]
        for i, ((kind, a), events) in enumerate(often[:5]):
            bindings = [self.trades[a]] if i % 2 else []
            who = self.voice.trade(a) if bindings else self.voice.name(a)
            fields = {"a": who, "inf": self.kinds[kind]["inf"], "name": self.voice.name(a)}
            self._count("times", fields, len(events), events, bindings=bindings)

    def _repeated(self) -> list[tuple[tuple[str, int], list[Event]]]:
        """What somebody has done more than once, none of it disputed."""
        return [(deed, events) for deed, events in self.done.items() if len(events) > 1 and self._all_clean(events)]

    def _people(self) -> None:
        blamed = {event.kind for event in self.false.values()}
        doers = {kind: {a for k, a in self.done if k == kind} for kind in self.by_kind if kind in SLOTS}
        every = self.chance.shuffled([kind for kind in doers if kind not in blamed])
        every = [kind for kind in sorted(every, key=lambda kind: len(doers[kind]) > 12) if len(doers[kind]) > 2]
        for kind in every[:3]:
            people = doers[kind]
            events = list({e.id: e for a in sorted(people) for e in self.done[kind, a]}.values())
            hidden = {a for a in people for e in self.done[kind, a] if a in e.guised}
            bindings = [self.guises[a] for a in sorted(hidden)]
            fields = {"inf": self.kinds[kind]["inf"]}
            self._count("people", fields, len(people), events, bindings=bindings, breadth="global")

    def _liars(self) -> None:
        lies = [(lie, self.false[lie.id]) for lie in self.chance.shuffled(self.by_kind["false"])]
        cases = [(lie, true, predicate) for lie, true in lies if (predicate := self._predicate(true))]
        others = [lie.slots["c"] for lie in self.by_kind["false"]] + [person.id for person in self.world.people]
        for lie, true, predicate in cases[:4]:
            wrong = [c for c in others if c not in true.slots.values()]
            self._who("liar", {"predicate": predicate}, lie.slots["c"], wrong, [lie, true], "global-synthesis")

    def _journal(self) -> None:
        (scene,) = [scene for scene in self.world.scenes if scene.form == "journal"]
        events = self.world.events_in(scene)
        meals = [event for event in events if event.kind == "meal"]
        dishes = [self.voice.word("cook", event.slots["x"]) for event in meals]
        orders = [dishes[::-1], [*dishes[1:], dishes[0]], [dishes[1], dishes[0], *dishes[2:]]]
        mixed_up = list(map(self.voice.list, orders))
        self._form("meals", {}, self.voice.list(dishes), mixed_up, self._spans(meals), "lookup", breadth="partial")
        chain = [event for event in events if event.kind in PASSES and event.slots["o"] == self.world.token]
        first, last = chain[0].slots["a"], chain[-1].slots["b"]
        fields = {"o": self.voice.thing(self.world.token), "a": self.voice.name(first)}
        wrong = [event.slots["b"] for event in chain[:-1]]
        self._who("diary_chain", fields, last, wrong, chain, "multi-hop", breadth="partial")

    def _hearing(self) -> None:
        alibis, alone = self.by_kind["alibi"], self.by_kind["alone"]
        self._count("unvouched", {}, len(alone), [*alibis, *alone], breadth="partial")
        says = {event.slots["c"]: event for event in alibis}
        (liar,) = [c for c, event in says.items() if says[event.slots["d"]].slots["d"] != c]
        named = says[liar].slots["d"]
        third = says[named].slots["d"]
        events, wrong = [says[c] for c in (liar, named, third)], [named, third, *self.chance.shuffled(list(says))]
        self._who("false_alibi", {}, liar, wrong, events, "global-synthesis", breadth="partial")

    def _refrain(self) -> None:
        answers = [answer for _, answer in self.voice.words.names.REFRAINS]
        right, wrong = answers.pop(self.world.refrain), self.chance.shuffled(answers)
        self._form("refrain", {}, right, wrong, self.telling.refrains, "lookup", breadth="global")

    def _heirloom(self) -> None:
        o = self.world.heirloom
        chain = [event for event in self.world.events if event.slots.get("o") == o and event.kind in PASSES]
        chain.sort(key=lambda event: event.scene)
        first, last = chain[0].slots["a"], chain[-1].slots["b"]
        fields = {"o": self.voice.thing_hint(o), "a": self.voice.trade(first), "name": self.voice.name(first)}
        wrong, bindings = [event.slots["b"] for event in chain[:-1]], [self.trades[first]]
        self._who("heirloom", fields, last, wrong, chain, "multi-hop", bindings=bindings, breadth="global")
        for first, second in list(pairwise(chain))[:3]:
            a, b, c = first.slots["a"], second.slots["a"], second.slots["b"]
            wrong = [x for e in chain for x in (e.slots["a"], e.slots["b"]) if x not in (a, b, c)]
            fields = {"a": self.voice.name(a), "o": self.voice.thing_hint(o)}
            self._who("next_keeper", fields, c, wrong, [first, second], "multi-hop")

    def _crime(self) -> None:
        crime, clues = self.world.crime, self.voice.words.events.CLUES
        suspects = [crime.culprit, *crime.herrings]
        for i, person in enumerate(suspects):
            ties = [event for event in self.by_kind["tie"] if event.slots["a"] == person]
            events, wrong = [*self.by_kind["trace"], *ties], self.chance.shuffled(suspects)
            kind, fields = "culprit", {"crime": self.voice.crime}
            if i:
                kind, fields = "herring", fields | {"about": clues[crime.clues[i - 1]]["about"]}
            self._who(kind, fields, person, wrong, events, "global-synthesis", breadth="global")

    # ---- putting it down ----------------------------------------------------------------------------------------

    def _count(self, kind: str, fields: Fields, n: int, events: Iterable[Event], **more: Any) -> None:
        """A question whose answer is a number."""
        number, spans = self.voice.number(n), self._spans(events)
        self._form(kind, fields, number, self._near(n), spans, "set-aggregation", accepted=(str(n),), **more)

    def _who(
        self, kind: str, fields: Fields, who: int, others: Iterable[int], events: Iterable[Event], depth: str, **more: Any
    ) -> None:
        """A question whose answer is a person."""
        wrong, accepted = [self.voice.name(other) for other in others], self._accepted("b", who)
        self._form(kind, fields, self.voice.name(who), wrong, self._spans(events), depth, accepted=accepted, **more)

    def _form(self, kind: str, fields: Fields, answer: str, wrong: Words, spans: Spans, depth: str, **more: Any) -> None:
        """A question of a kind that is no single event's; `more` as in `_put`."""
        question, claim = self.say.QUESTIONS[kind]
        resolved = question.format(**(fields | {"a": fields["name"]})) if "name" in fields else ""
        claim = claim.format(**fields, answer=OPEN)
        self._put(kind, question.format(**fields), answer, wrong, spans, depth, claim, resolved=resolved, **more)

    def _put(
        self, kind: str, question: str, answer: str, wrong: Words, spans: Spans, depth: str, claim: str, **more: Any
    ) -> None:
        """Write down a question and its claims; `claim` has the answer open.

        `more`: `bindings`, `accepted` (other answers), `resolved` (the question by name), and `breadth` where that does
        not follow from the spans.
        """
        bindings, breadth = more.get("bindings", ()), more.get("breadth", "")
        wrong = [option for option in dict.fromkeys(wrong) if option != answer][:3]
        if len(wrong) < 3:
            raise AssertionError(f"{self.doc_id}: {question!r} has only {len(wrong)} wrong options")
        name, stop = f"{self.doc_id}-q{len(self.questions) + 1:03d}", self.say.STOP
        posed = Question(
            id=name,
            doc_id=self.doc_id,
            question=sentence(question),
            answer=answer,
            accepted=tuple(dict.fromkeys(other for other in more.get("accepted", ()) if other != answer)),
            options=tuple(self.chance.shuffled([answer, *wrong])),
            evidence=tuple(sorted(spans)),
            breadth=breadth,
            depth=depth,
            bindings=tuple(tuple(self.telling.bindings[binding.id]) for binding in bindings),
            gloss=self.say.GLOSS_JOIN.join(self.voice.binding(binding) for binding in bindings),
            resolved=sentence(more.get("resolved") or question),
            kind=kind,
        )
        self.questions.append(posed if breadth else replace(posed, breadth=self._breadth(posed)))
        true, false = (sentence(claim.format(answer=reply)).rstrip(stop) + stop for reply in (answer, wrong[0]))
        self.claims.append(ClaimPair(name, self.doc_id, true, false, posed.evidence, wrong[0]))

    def _breadth(self, question: Question) -> str:
        """Local, sparse-local (one scene) or multi-sparse, by where the support of a question stands."""
        scenes = {bisect_right(self.starts, span.start) for span in question.support}
        return "local" if len(question.support) == 1 else "sparse-local" if len(scenes) == 1 else "multi-sparse"
