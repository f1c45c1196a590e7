"""A world's people, places and things put into the words of a language.

Taught in notebook 00_start_here.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from storyworld.words import wording
from storyworld.world import Binding, Event, Scene, World


class Voice:
    """Names for what a world holds. Ids in, words out."""

    def __init__(self, world: World, language: str):
        self.world, self.language, self.words = world, language, wording(language)
        self.say = self.words.questions

    # ---- people -------------------------------------------------------------------------------------------------

    def name(self, person: int, guised: Collection[int] = ()) -> str:
        """What a scene calls a person: the given name, or the guise where the person is in disguise."""
        who = self.world.people[person]
        if person in guised:
            return self.guise(person)
        return (self.words.names.WOMEN if who.sex == "f" else self.words.names.MEN)[who.name]

    def full_name(self, person: int) -> str:
        family = self.words.names.FAMILIES[self.world.people[person].family]
        return self.say.FULL_NAME.format(name=self.name(person), family=family)

    def bare_trade(self, person: int) -> str:
        return self.words.names.TRADES[self.world.people[person].trade]

    def trade(self, person: int) -> str:
        return self.say.THE_TRADE.format(trade=self.bare_trade(person))

    def guise(self, person: int) -> str:
        who = self.world.people[person]
        return self.words.names.GUISES[who.sex][who.guise]

    def relation(self, binding: Binding) -> str:
        return self.words.names.KIN[binding.relation][self.world.people[binding.person].sex == "m"]

    def pronouns(self, person: int, prefix: str = "") -> dict[str, str]:
        return {prefix + form: word for form, word in self.say.PRONOUNS[self.world.people[person].sex].items()}

    # ---- places, things, words, numbers -------------------------------------------------------------------------

    def place(self, place: int) -> str:
        it = self.world.places[place]
        return self.say.PLACE.format(
            qualifier=self.words.names.QUALIFIERS[it.qualifier], noun=self.words.names.PLACES[it.key][0]
        )

    def place_hint(self, place: int) -> str:
        return self.say.PLACE_HINT.format(hint=self.words.names.PLACES[self.world.places[place].key][1])

    def thing(self, thing: int) -> str:
        it = self.world.things[thing]
        if thing == self.world.treasure:
            return self.words.names.TREASURES[it.adjective % len(self.words.names.TREASURES)]
        adjective, noun = self.words.names.ADJECTIVES[it.adjective], self.words.names.OBJECTS[it.key][0]
        return self.say.THING.format(adjective=adjective, noun=noun)

    def thing_hint(self, thing: int) -> str:
        if thing == self.world.treasure:
            return self.thing(thing)
        return self.words.names.OBJECTS[self.world.things[thing].key][1]

    def word(self, kind: str, x: int) -> str:
        return self.words.names.WORDS[kind][x]

    def number(self, n: int) -> str:
        return self.words.names.NUMBERS[n] if n < len(self.words.names.NUMBERS) else str(n)

    def list(self, items: list[str]) -> str:
        if len(items) < 2:
            return "".join(items)
        return self.say.COMMA.join(items[:-1]) + self.say.AND + items[-1]

    def calendar(self, scene: Scene) -> dict[str, str]:
        week, weekday = divmod(scene.day, 7)
        return {
            "hour": self.words.names.HOURS[scene.hour],
            "week": self.words.names.WEEKS[week],
            "weekday": self.words.names.WEEKDAYS[weekday],
        }

    def when(self, scene: Scene) -> str:
        return self.words.scenes.WHEN.format(**self.calendar(scene))

    # ---- sentences ----------------------------------------------------------------------------------------------

    def fields(self, kind: str, slots: Mapping[str, Any], guised: Collection[int] = ()) -> dict[str, str]:
        """What the placeholders of an event's sentences stand for."""
        found = {}
        for slot, value in slots.items():
            if slot in ("a", "b", "c", "d", "v", "w"):
                found[slot] = self.name(value, guised)
            elif slot in ("p", "q"):
                found[slot] = self.place(value)
            elif slot == "o":
                found[slot] = self.thing(value)
            elif slot == "n":
                found[slot] = self.number(value)
            elif slot == "x":
                found[slot] = self.word("cook" if kind == "meal" else kind, value)
            elif slot == "goods":
                goods = [self.say.NUMBER_OF.format(n=self.number(n), x=self.word("bill", x)) for n, x in value]
                found[slot] = self.list(goods)
        for slot, prefix in (("a", ""), ("b", "b"), ("w", "w")):
            if slot in slots:
                found |= self.pronouns(slots[slot], prefix)
        if "w" in slots:
            who = self.world.people[slots["w"]]
            initials = [self.name(who.id), self.words.names.FAMILIES[who.family]]
            found["mark"] = self.say.MARK.format(i=f"{initials[0][0]} {initials[1][0]}", name=initials[0])
        return found

    def fact(self, event: Event) -> str:
        """The event in the words of questions and summaries, without a full stop."""
        events, summary = self.words.events, self.say.SUMMARY
        fields = self.fields(event.kind, event.slots, event.guised)
        if event.kind == "crime":
            return events.CRIMES[event.slots["crime"]]["fact"].format(**fields)
        if event.kind == "tie":
            return events.CLUES[event.slots["clue"]]["fact"].format(**fields)
        if event.kind == "trace":
            return summary["trace"].format(about=events.CLUES[event.slots["clue"]]["about"])
        if event.kind == "false":
            true = self.world.events[event.slots["of"]]
            told = self.fact(replace(true, slots={**true.slots, "a": event.slots["a"]}))
            return summary["false"].format(c=fields["c"], fact=told)
        if event.kind in ("alibi", "alone", "meal"):
            return summary[event.kind].format(**fields)
        return events.EVENTS[event.kind]["fact"].format(**fields)

    def binding(self, binding: Binding) -> str:
        """Who is who, in a few words, without a full stop."""
        return self.say.BINDING[binding.kind].format(**self.binding_fields(binding))

    def binding_fields(self, binding: Binding) -> dict[str, str]:
        found = {"a": self.name(binding.person), "trade": self.bare_trade(binding.person)}
        found |= {"family": self.words.names.FAMILIES[self.world.people[binding.person].family]}
        found |= self.pronouns(binding.person)
        if binding.kind == "kin":
            found |= {"b": self.name(binding.other), "relation": self.relation(binding)}
        if binding.kind == "guise":
            found["guise"] = self.guise(binding.person)
        return found

    @cached_property
    def title(self) -> str:
        scenes = self.words.scenes
        return scenes.TITLE.format(town=self.words.names.TOWNS[self.world.town], crime=self.crime)

    @cached_property
    def crime(self) -> str:
        crime = self.world.crime
        slots = {"b": crime.victim, "p": crime.place, "o": self.world.treasure}
        return self.words.events.CRIMES[crime.kind]["title"].format(**self.fields("crime", slots))


def sentence(text: str) -> str:
    """With a capital letter at the start and after a full stop, where the script has them.

    >>> sentence("the veiled widow coughed. she left."), sentence("'no,' she said."), sentence("她笑了。")
    ('The veiled widow coughed. She left.', "'No,' she said.", '她笑了。')
    """
    return re.sub(r"^\W*[a-z]|(?<=[.!?] )[a-z]|(?<=[.]['\"] )[a-z]", lambda found: found[0].upper(), text)
