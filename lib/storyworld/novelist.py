"""A world imagined from a seed and four knobs: cast, plot, everyday life, and where each binding is told.

`setting` makes the town that the books of a series share, `imagine` a world in it. Everything is decided here; nothing is
put into words.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mindscape.errors import require
from storyworld import world
from storyworld.telling import wording
from storyworld.world import FROM_B, HOLDERS, PASSES, SLOTS, Chance, Event, Knobs, Scene, Setting, World

DEBTS = ("borrow", "forgive")  # between the victim and another they would be a clue by accident
SCENE = 195  # tokens that a scene takes, about
KIN = (("sibling", "parent", "spouse"), ("child", "nibling", "cousin"))  # what the second and the third of a family are
GUISED = 0.3  # share of the people who go by another name at times
MOST_BOOKS = 4  # of a series


def setting(seed: int, knobs: Knobs) -> Setting:
    """The town with its places, things, families, and names enough for a series."""
    chance, names = Chance("setting", seed, knobs), wording("en").names
    places = chance.sample(list(names.PLACES), round(20 - 12 * knobs.sharing))
    things = chance.sample(list(names.OBJECTS), round(40 - 22 * knobs.sharing))
    qualifiers, adjectives = range(len(names.QUALIFIERS)), range(len(names.ADJECTIVES))
    return Setting(
        town=chance.below(len(names.TOWNS)),
        families=tuple(chance.sample(range(len(names.FAMILIES)), 9)),
        places=tuple(world.Thing(i, key, chance.deal("q", qualifiers)) for i, key in enumerate(places)),
        things=tuple(world.Thing(i, key, chance.deal("a", adjectives)) for i, key in enumerate(things)),
        given={sex: tuple(chance.shuffled(range(len(given)))) for sex, given in (("f", names.WOMEN), ("m", names.MEN))},
        trades=tuple(chance.shuffled(list(names.TRADES))),
        guises={sex: tuple(chance.shuffled(range(len(names.GUISES[sex])))) for sex in "fm"},
    )


def imagine(seed: int, knobs: Knobs, town: Setting, book: int = 0, books: int = 1) -> World:
    """The world of a book; `book` of `books` takes its own share of the setting's names and trades."""
    return _Novelist(seed, knobs, town, book, books).made()


def _deeds(kind: str, a: int, b: int | None) -> set[tuple[str, int | None]]:
    """What an event makes people doers of: (kind, who)."""
    return {(kind, a), (FROM_B[kind], b)} if kind in FROM_B else {(kind, a)}


class _Novelist:
    """Builds a world step by step; the state is who holds what, and which events have been used."""

    def __init__(self, seed: int, knobs: Knobs, town: Setting, book: int, books: int):
        self.seed, self.knobs, self.town, self.book = seed, knobs, town, book
        self.names = wording("en").names
        self.chance = Chance("world", seed, knobs, book, books)
        self.people = self._cast(book, books)
        self.treasure, self.heirloom, self.token = len(town.things) - 1, len(town.things) - 2, len(town.things) - 3
        self.holder: dict[int, Any] = {}  # thing: a person's id, ("at", place); not there: nobody knows
        self.held: dict[int, set[int]] = defaultdict(set)  # thing: who had it before
        self.used: set[tuple[str, int]] = set()  # (kind, who has done it)
        self.undisputed: set[int] = set()  # scenes of which no witness says otherwise
        self.events: list[Event] = []
        self.scenes: list[Scene | None] = [None] * max(72, round(knobs.tokens / SCENE))
        self.plans: dict[int, Callable[[int], None]] = {}  # scenes of the plot that are filled when their time comes
        self.days = -(-len(self.scenes) // len(self.names.HOURS))  # so that no two scenes fall into the same hour
        others = [kind for kind in SLOTS if kind not in PASSES]
        self.kinds = [*PASSES, *self.chance.sample(others, round(len(SLOTS) - 26 * knobs.sharing) - len(PASSES))]

    def made(self) -> World:
        crime = self._crime()
        self._specials(crime)
        for i, scene in enumerate(self.scenes):
            if i == self.crime_at and self.deadly:  # what the dead held may be with anyone
                self.holder = {o: who for o, who in self.holder.items() if who != self.victim}
            if scene is None:
                self._everyday_scene(i)
            elif i in self.plans:
                self.plans[i](i)
        self._ties(crime)
        self._false_testimony()
        bindings = self._bindings()
        self._place_bindings(bindings)
        return World(
            seed=self.seed,
            knobs=self.knobs,
            book=self.book,
            town=self.town.town,
            people=self.people,
            places=self.town.places,
            things=self.town.things,
            treasure=self.treasure,
            heirloom=self.heirloom,
            token=self.token,
            refrain=self.chance.below(len(self.names.REFRAINS)),
            events=tuple(self.events),
            bindings=tuple(bindings),
            scenes=tuple(self.scenes),
            crime=crime,
        )

    # ---- people -------------------------------------------------------------------------------------------------

    def _cast(self, book: int, books: int) -> tuple[world.Person, ...]:
        n = min(22, 17 + self.knobs.tokens // 10_000)
        needed = f"{books} books of {self.knobs.tokens:,} tokens need {books * n} trades, and there are {len(self.town.trades)}"
        require(books * n <= len(self.town.trades), f"{needed}: expected fewer or shorter books")
        half = (n + 1) // 2
        names = {sex: list(every[book * half : (book + 1) * half]) for sex, every in self.town.given.items()}
        trades = self.town.trades[book * n : (book + 1) * n]
        sexes = self.chance.shuffled((["f", "m"] * half)[:n])
        share = len(self.names.GUISES["f"]) // max(books, 2)
        guises = {sex: list(every[book * share : (book + 1) * share]) for sex, every in self.town.guises.items()}
        disguised = set(self.chance.sample(range(n), round(GUISED * n)))
        people = []
        for i, sex in enumerate(sexes):
            guise = guises[sex].pop() if i in disguised and guises[sex] else None
            family = self.town.families[i // 3 % len(self.town.families)]
            habit, look = (self.chance.below(len(words)) for words in (self.names.HABITS, self.names.LOOKS))
            people.append(world.Person(i, sex, names[sex].pop(), family, trades[i], habit, look, guise))
        return tuple(people)

    def _bindings(self) -> list[world.Binding]:
        bindings = [world.Binding(0, "trade", person.id) for person in self.people]
        for other in self.people:
            if other.id % 3:  # families are of three, and the first is whom the others are kin of
                first = self.people[other.id // 3 * 3]
                relation = self.chance.pick(KIN[other.id % 3 - 1])
                if relation == "spouse" and other.sex == first.sex:
                    relation = "sibling"
                bindings.append(world.Binding(0, "kin", other.id, first.id, relation))
        bindings += [world.Binding(0, "guise", person.id) for person in self.people if person.guise is not None]
        return [replace(binding, id=i) for i, binding in enumerate(bindings)]

    def _alive(self, scene: int, *but: int) -> list[int]:
        """Who can act in a scene: everybody, but a murdered victim from the crime on."""
        dead = self.victim if self.deadly and scene >= self.crime_at else None
        return [person.id for person in self.people if person.id != dead and person.id not in but]

    # ---- the plot -----------------------------------------------------------------------------------------------

    def _crime(self) -> world.Crime:
        kind = self.chance.pick(world.CRIMES)
        victim, culprit, *herrings = self.chance.sample(range(len(self.people)), 6)
        clues = tuple(self.chance.sample(world.CLUES, 4))
        self.victim, self.deadly = victim, kind in world.DEADLY
        self.crime_at = round(0.4 * len(self.scenes))
        return world.Crime(kind, victim, self.chance.below(len(self.town.places)), culprit, clues, tuple(herrings))

    def _specials(self, crime: world.Crime) -> None:
        """The scenes that the plot and the questions need, before the everyday ones fill the gaps."""
        n = len(self.scenes)
        at = self._put(0.4, "crime", place=crime.place, fixed=True)
        stolen = {"o": self.treasure} if crime.kind == "theft" else {}
        self._add(at, "crime", b=crime.victim, p=crime.place, crime=crime.kind, **stolen)
        for clue in crime.clues[:2]:
            self._add(at, "trace", v=crime.victim, clue=clue)
        at = self._put(0.52, "search", place=crime.place, fixed=True)
        for clue in crime.clues[2:]:
            self._add(at, "trace", v=crime.victim, clue=clue)
        self._inquest(crime)
        self._journal()
        keepers = self.chance.sample(self._alive(n), 6)
        for k, (a, b) in enumerate(zip(keepers, keepers[1:], strict=False)):
            at = self._put(0.02 + 0.23 * k, "narrated", people=(a, b), fixed=True)
            last = k == len(keepers) - 2
            kind = self.chance.pick(world.FOR_GOOD) if last else self.chance.deal("pass", PASSES)
            self._add(at, kind, a=a, b=b, o=self.heirloom, **self._number())
        contest, dispute = (partial(self._claim, kind=kind) for kind in ("contest", "dispute"))
        plans = [self._gathering] * 2 + [contest] * 2 + [dispute] * 2 + [self._exchange] * 2
        plans += [self._relay] * 3 + [self._bill] * 3 + [self._double] * 4
        forms = ["gathering"] * 2 + ["contest"] * 2 + ["narrated"] * 14
        for plan, form in zip(plans, forms, strict=True):
            self.plans[self._put(None, form)] = plan
        for times in (2, 2, 2, 3, 4):
            self._repeat(times)
        for k in range(falsehoods := 2 + round(0.08 * self.knobs.contradiction * n)):
            self._put(0.5 + 0.48 * k / falsehoods, "false")

    def _inquest(self, crime: world.Crime) -> None:
        suspects = self.chance.shuffled((crime.culprit, *crime.herrings))
        others = self.chance.shuffled(self._alive(len(self.scenes), *suspects, crime.victim))
        liar, alone = suspects[0], suspects[1 : 2 + self.chance.between(1, 3)]
        spots = self.chance.sample(range(len(self.town.places)), 4)
        (a, b, c, d, m, k), at = others[:6], self._put(0.8, "inquest", people=(), fixed=True)
        said = [(a, b, spots[0]), (b, a, spots[0]), (c, d, spots[1]), (d, c, spots[1])]
        said += [(m, k, spots[2]), (k, m, spots[2]), (liar, m, spots[3])] + [(person, None, None) for person in alone]
        for c, d, p in self.chance.shuffled(said):
            self._add(at, "alone", c=c) if d is None else self._add(at, "alibi", c=c, d=d, p=p)

    def _journal(self) -> None:
        writer, *keepers = self.chance.sample(self._alive(len(self.scenes)), 6)
        at = self._put(0.63, "journal", people=(writer, keepers[0]), fixed=True)
        meals = self.chance.sample(range(len(self.names.WORDS["cook"])), 5)
        for a, b, x in zip(keepers, [*keepers[1:], None], meals, strict=True):
            if b is not None:
                self._add(at, self.chance.deal("pass", PASSES), a=a, b=b, o=self.token, **self._number())
            else:
                self._add(at, *self._everyday(self._alive(at, writer), self.scenes[at].place, things=False))
            self._add(at, "meal", c=writer, x=x)

    def _gathering(self, at: int) -> None:
        host, *guests = self.chance.sample(self._alive(at), 1 + self.chance.between(3, 6))
        while ("gathering", host) in self.used:
            host, guests[0] = guests[0], host
        self._talk(at, host, guests[0])
        self._add(at, "gathering", a=host, p=self.scenes[at].place, n=len(guests), guests=tuple(guests))

    def _claim(self, at: int, kind: str) -> None:
        """Two people claim one thing, and a mark upon it tells whose it is."""
        a, b = self._two(at, kind)
        while self._initial(a) == self._initial(b):
            a, b = self._two(at, kind)
        self._talk(at, a, b)
        o = self.chance.deal("claimed", range(len(self.town.things) - 3))
        winner = self.chance.pick((a, b))
        self._add(at, kind, a=a, b=b, o=o, p=self.scenes[at].place, w=winner)
        self.holder[o] = winner

    def _two(self, at: int, kind: str) -> tuple[int, int]:
        """Two people of whom the first has done nothing of the kind."""
        a, b = self.chance.sample(self._alive(at), 2)
        return (a, b) if (kind, a) not in self.used else self._two(at, kind)

    def _initial(self, who: int) -> str:
        person = self.people[who]
        return (self.names.WOMEN if person.sex == "f" else self.names.MEN)[person.name][0]

    def _talk(self, at: int, c: int, d: int) -> None:
        self.scenes[at].c, self.scenes[at].d = c, d

    def _exchange(self, at: int) -> None:
        """Two things change hands, each between two people."""
        things = self.chance.sample(self._things(lambda holder: True), 2)
        for kind, o in zip(self.chance.sample(PASSES, 2), things, strict=True):
            giver = self.holder.get(o)
            giver = giver if isinstance(giver, int) else self.chance.pick(self._alive(at))
            taker = self.chance.pick(self._alive(at, giver))
            self._add(at, kind, a=giver, b=taker, o=o, **self._number())
        self._talk(at, giver, taker)
        self.undisputed.add(at)

    def _relay(self, at: int) -> None:
        fit: list[int] = []
        while not fit:
            a, b = self._two(at, "relay")
            fit = self._things(partial(self._can_give, a))
        o = self.chance.pick(fit)
        q = self.chance.pick([place.id for place in self.town.places if place.id != self.scenes[at].place])
        self._talk(at, a, b)
        self._add(at, "relay", a=a, b=b, o=o, q=q)
        self.holder[o] = ("at", q)

    def _can_give(self, person: int, holder: Any) -> bool:
        return holder == person or not isinstance(holder, int)  # what lies about is picked up, off the page

    def _bill(self, at: int) -> None:
        a, b = self._two(at, "bill")
        goods = tuple((self.chance.between(2, 9), x) for x in self.chance.sample(range(len(self.names.WORDS["bill"])), 3))
        self._talk(at, a, b)
        self._add(at, "bill", a=a, p=self.scenes[at].place, goods=goods, n=sum(n for n, _ in goods))

    def _double(self, at: int) -> None:
        """One person does two things of different kinds in one scene."""
        a, *others = self.chance.sample(self._alive(at), 3)
        self._talk(at, a, others[0])
        self.undisputed.add(at)
        kind = ""
        for b in others:
            before = kind
            while kind == before:
                kind, slots = self._everyday([a, b], self.scenes[at].place, actor=a)
            self._add(at, kind, slots)

    def _repeat(self, times: int) -> None:
        """One person does the same kind of thing several times, in scenes far apart."""
        kind = self.chance.deal("repeat", [kind for kind in self.kinds if kind not in HOLDERS])
        free = self._alive(len(self.scenes), self.victim)
        a = self.chance.pick([person for person in free if (kind, person) not in self.used])
        self.used.add((kind, a))

        def plan(at: int) -> None:
            b = self.chance.pick(self._alive(at, a, self.victim))
            self._talk(at, a, b)
            self._add(at, kind, self._bind(kind, a, b, self.scenes[at].place))

        for k in range(times):
            self.plans[self._put((k + 0.5) / times, "narrated")] = plan

    # ---- everyday -----------------------------------------------------------------------------------------------

    def _everyday_scene(self, i: int) -> None:
        reported = ("gossip", "letter", "testimony" if i > self.crime_at else "letter")
        form = self.chance.pick(reported) if self.chance.hit(0.36) else "narrated"
        at = self._put(i / (len(self.scenes) - 1), form)
        scene = self.scenes[at]
        if form == "narrated":
            people = self.chance.sample(self._alive(i), self.chance.between(2, 3))
            scene.c, scene.d = people[0], people[1]
            hidden = [person for person in people if self.people[person].guise is not None and self.chance.hit(0.5)]
            scene.guised = frozenset(hidden[:1])
        else:
            people = self._alive(i, scene.c, scene.d)
        lying = self._things(lambda holder: isinstance(holder, tuple))
        if lying and self.chance.hit(0.25):  # someone picks it up, off the page
            self.holder.pop(self.chance.pick(lying))
        for _ in range(self.chance.pick((1, 1, 2))):
            place = scene.place if form == "narrated" else self.chance.below(len(self.town.places))
            self._add(at, *self._everyday(people, place))

    def _everyday(
        self, people: Sequence[int], place: int, actor: int | None = None, things: bool = True
    ) -> tuple[str, dict[str, Any]]:
        """A kind of event and its slots, with an actor who has done nothing of the kind so far, if there is one."""
        for attempt in range(200):
            kind = self.chance.deal("kind", self.kinds)
            a = self.chance.pick(people) if actor is None else actor
            b = self.chance.pick([person for person in people if person != a])
            barred = kind in HOLDERS and not things or kind in DEBTS and self.victim in (a, b)
            if barred or attempt < 120 and self.used & _deeds(kind, a, b):
                continue
            if bound := self._bind(kind, a, b, place):
                return kind, bound
        raise AssertionError("no kind of event fits: the kinds without a thing always do")

    def _bind(self, kind: str, a: int, b: int, place: int) -> dict[str, Any] | None:
        """Slots for an event of the kind; None where it needs a thing that none of the people can have."""
        slots, may_be = SLOTS[kind], {"a": a, "b": b, "p": place}
        bound: dict[str, Any] = {slot: may_be[slot] for slot in slots if slot in may_be}
        if "o" in slots:
            wanted = {**may_be, "p": ("at", place)}[HOLDERS[kind][0]]
            fit = self._things(lambda holder: holder is None or holder == wanted)
            if kind == "return":
                fit = [o for o in fit if self.holder.get(o) == a and b in self.held[o]]
            if not fit:
                return None
            bound["o"] = self.chance.pick(fit)
        if "x" in slots:
            bound["x"] = self.chance.deal(("word", kind), range(len(self.names.WORDS[kind])))
        if "n" in slots:
            bound |= self._number()
        return bound

    def _number(self) -> dict[str, int]:
        return {"n": self.chance.between(2, 14)}

    def _things(self, fits: Callable[[Any], bool]) -> list[int]:
        """Things with which anything may happen, and whose holder `fits`; three have a story of their own."""
        return [thing.id for thing in self.town.things[:-3] if fits(self.holder.get(thing.id))]

    def _add(self, at: int, kind: str, bound: Mapping[str, Any] | None = None, /, **slots: Any) -> None:
        """Write an event into the log and a scene, and remember who holds the thing now."""
        slots = dict(bound or slots)
        if kind in SLOTS:
            slots = {slot: slots[slot] for slot in SLOTS[kind]}
        scene = self.scenes[at]
        self.events.append(Event(len(self.events), kind, slots, at, scene.guised))
        scene.events.append(len(self.events) - 1)
        if "a" in slots:
            self.used |= _deeds(kind, slots["a"], slots.get("b"))
        if kind in HOLDERS:
            o, after = slots["o"], HOLDERS[kind][1]
            self.held[o].update(slots[slot] for slot in "ab" if slot in slots)
            if after == "broker":
                self.holder.pop(o, None)  # redeemed later, by someone, off the page
            else:
                self.holder[o] = ("at", slots["p"]) if after == "p" else slots[after]

    def _put(
        self, where: float | None, form: str, people: Sequence[int] = (), place: int | None = None, fixed: bool = False
    ) -> int:
        """Take the free scene nearest to the share `where` of the story, or any free one."""
        n = len(self.scenes)
        free = [i for i, scene in enumerate(self.scenes) if scene is None]
        at = self.chance.pick(free) if where is None else min(free, key=lambda i: (abs(i - where * (n - 1)), i))
        day, rest = divmod(at * self.days, n)
        hour = rest * len(self.names.HOURS) // n
        c, d = (*people, *self.chance.sample(self._alive(at, *people), 2))[:2]
        if place is None:
            place = self.chance.below(len(self.town.places))
        self.scenes[at] = Scene(at, form, day, hour, place, c, d, fixed=fixed)
        return at

    # ---- what is added when the scenes stand --------------------------------------------------------------------

    def _ties(self, crime: world.Crime) -> None:
        """What ties people to the traces: the culprit to all, each red herring to all but one."""
        open_scenes = [scene for scene in self.scenes if scene.form in ("narrated", "gossip", "letter")]
        ties = [(crime.culprit, clue) for clue in crime.clues]
        for missing, person in zip(crime.clues, crime.herrings, strict=True):
            ties += [(person, clue) for clue in crime.clues if clue != missing]
        for person, clue in self.chance.shuffled(ties):
            fit = [scene for scene in open_scenes if not any(self.events[e].kind == "tie" for e in scene.events)]
            fit = [scene for scene in fit if person not in (scene.c, scene.d) or scene.form == "narrated"]
            fit = [scene for scene in fit if person not in scene.guised and not scene.fixed]
            fit = [scene for scene in fit if scene.id > self.crime_at or clue not in world.THAT_NIGHT]
            self._add(self.chance.pick(fit).id, "tie", a=person, v=crime.victim, clue=clue)

    def _false_testimony(self) -> None:
        """Events that a witness swears were another's doing. The narrator's telling is the true one."""
        done = Counter((event.kind, event.slots.get("a")) for event in self.events)
        narrated = {scene.id for scene in self.scenes if scene.form == "narrated" and not scene.fixed} - self.undisputed
        plain = [event for event in self.events if event.kind in SLOTS and event.kind not in FROM_B]
        plain = [event for event in plain if event.scene in narrated and not event.guised]

        def fitness(event: Event) -> tuple[bool, bool, bool]:
            """Best is what happened once and can be told from all of its kind, since that can be asked about."""
            once = done[event.kind, event.slots["a"]] == 1
            return once, event.kind not in PASSES, self._singular(event)

        queue = sorted(self.chance.shuffled(plain), key=fitness)
        for at in [i for i, scene in enumerate(self.scenes) if scene.form == "false"]:
            event = [event for event in queue if event.scene < at - 4][-1]
            queue.remove(event)
            about = (event.slots["a"], event.slots.get("b"))
            # Those can be said to have done it who were not in it, and have done nothing of the kind if possible.
            absent = self._alive(event.scene, *about)
            accused = self.chance.pick([person for person in absent if not done[event.kind, person]] or absent)
            witness, other = self.chance.sample(self._alive(at, *about, accused), 2)
            self._talk(at, witness, other)
            self._add(at, "false", c=witness, of=event.id, a=accused)
            done[event.kind, accused] += 1

    def _singular(self, event: Event) -> bool:
        """Whether no other event of the kind has the same person, thing or word in it."""
        slots = [slot for slot in "box" if slot in event.slots]
        others = [other for other in self.events if other.kind == event.kind and other is not event]
        return all(slots and other.slots[slot] != event.slots[slot] for other in others for slot in slots or "a")

    def _place_bindings(self, bindings: Sequence[world.Binding]) -> None:
        """Tell each binding a few times or once, near the scenes of its person or far from them."""
        n, hiding = len(self.scenes), self.knobs.hiding
        times = round(5 - 4 * hiding)
        most = 2 if times * len(bindings) < 1.5 * n else 3
        room = [0 if scene.form in ("journal", "inquest") else most for scene in self.scenes]
        for binding in bindings:
            acts = [e.scene for e in self.events if binding.person in {e.slots.get(slot) for slot in "abc"}]
            near = sorted((min((abs(i - at) for at in acts), default=0), i) for i in range(n) if room[i])
            for _ in range(times):
                at = round(hiding * (len(near) - 1) + self.chance.between(-n // 12, n // 12))
                _, scene = near.pop(min(max(at, 0), len(near) - 1))
                self.scenes[scene].bindings.append(binding.id)
                room[scene] -= 1
