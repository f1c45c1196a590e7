"""How questions and summaries are put, in English, and the little grammar that they need."""

MARK = "the letters {i}"  # what is scratched into a thing that two people claim
FULL_NAME = "{name} {family}"
PLACE = "the {qualifier} {noun}"
PLACE_HINT = "the {hint}"
THING = "the {adjective} {noun}"
THE_TRADE = "the {trade}"
KIN_OF = "{b}'s {relation}"
ONE_WHO = "the one who {predicate}"
NUMBER_OF = "{n} {x}"
COMMA, AND = ", ", " and "
PRONOUNS = {
    "f": {"he": "she", "his": "her", "him": "her", "himself": "herself"},
    "m": {"he": "he", "his": "his", "him": "him", "himself": "himself"},
}
DAY_ANCHOR = ("?", " on the {week} {weekday}?")  # the end of a question, and the end with a day

ASIDES = [  # before a binding
    "It is as well to put down here what not everyone knew. {binding}",
    "There was talk of other things too, and among them of this. {binding}",
    "An old paper that I have seen bears on it. {binding}",
    "A stranger would not have known it. {binding}",
    "Here I must put in a word. {binding}",
    "The conversation came round to it by chance. {binding}",
]
BINDING = {  # in questions' glosses and in summaries
    "trade": "{a} is the {trade}",
    "kin": "{a} is {b}'s {relation}",
    "guise": "{guise} is {a}",
}
GLOSS = "{question} ({bindings}.)"  # a question with what it needs to know
GLOSS_JOIN = "; "

QUESTIONS = {  # builders that are not a kind of event: (question, claim with {answer})
    "twice": ("{ask} It happened on two occasions: name both.", "{answer}: that is the full reply to this: {ask}"),
    "same_occasion": ("{ask}", None),
    "belongings": (
        "Which two belongings got a new keeper {when} at {p}?",
        "The two belongings that got a new keeper {when} at {p} are {answer}.",
    ),
    "times": ("How many times did {a} {inf}?", "The number of times that {a} chose to {inf} is {answer}."),
    "people": (
        "How many different people came to {inf} in the course of the story?",
        "In the course of the story the number of different people who came to {inf} is {answer}.",
    ),
    "liar": (
        "Who gave an untrue account on oath of the person who {predicate}?",
        "The untrue account on oath of the person who {predicate} was {answer}'s.",
    ),
    "meals": (
        "What did the writer of the private diary eat, from the first entry to the last?",
        "From the first entry to the last, the writer of the private diary ate {answer}.",
    ),
    "diary_chain": (
        "By the private diary, {o} set out from {a}. Who was its keeper after the last entry?",
        "By the private diary, {o} set out from {a} and its keeper after the last entry was {answer}.",
    ),
    "unvouched": (
        "How many of those who were questioned at the hearing named nobody to vouch for them?",
        "The number of those questioned at the hearing who named nobody to vouch for them is {answer}.",
    ),
    "false_alibi": (
        "Whose statement at the hearing is refuted by the very companion that it names?",
        "The statement at the hearing that is refuted by the very companion it names is {answer}'s.",
    ),
    "refrain": (
        "What sound brings one part of the book after another to its close?",
        "The sound that brings one part of the book after another to its close is {answer}.",
    ),
    "heirloom": (
        "{o} was with {a} to begin with. Who has it when all is done?",
        "{o} was with {a} to begin with; when all is done it is with {answer}.",
    ),
    "next_keeper": (
        "{a} parted with {o}. Who got it from the person to whom it had gone?",
        "{a} parted with {o}; the person to whom it had gone passed it to {answer}.",
    ),
    "culprit": (
        "Who must be guilty of {crime}, when every trace is weighed?",
        "When every trace is weighed, the person guilty of {crime} must be {answer}.",
    ),
    "herring": (
        "As to {crime}: who comes under suspicion by every trace but one, the exception being {about}?",
        "As to {crime}, the person suspected by every trace but one, the exception being {about}, is {answer}.",
    ),
    "guise": ("Whose real identity is behind this: {guise}?", "The real identity behind {guise} is {answer}."),
}

SUMMARY = {
    "opening": "{title} is set in {town}.",
    "cast": "The people: {list}.",
    "person": "{name} ({trade})",
    "kin": "Kinship: {list}.",
    "guise": "Under other names: {list}.",
    "crime": "{crime} on the {week} {weekday} is at the heart of it: {fact}.",
    "traces": "The traces are {list}; nobody is convicted.",
    "heirloom": "{o} passes from {a} by several hands to {b}.",
    "hearing": "At a hearing at {p} the people say where they were; {c}'s statement about {d} is not borne out.",
    "journal": "A journal by {c} is quoted.",
    "session": "{when}, {p}: {facts}.",
    "nothing": "{people} talk at {p}.",
    "outline": "{when} at {p}: {people}",
}
NODES = {  # descriptions in the concept graph
    "person": "{name}, {trade}",
    "place": "{p} in {town}",
    "thing": "{o}",
    "claim": "{c} says under oath: {fact}",
    "concept": "{about}",
    "stat": "{n}: {fact}",
}
RELATIONS = {
    "a": "does",
    "b": "involves",
    "o": "concerns",
    "p": "takes place at",
    "q": "ends at",
    "w": "proves right",
    "claim": "states",
    "contradicts": "contradicts",
    "points": "points to",
    "fits": "fits",
    "value": "counts",
    "guise": "is the same person as",
}
