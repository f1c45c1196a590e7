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
LOCATED = "{question} It was at {p}."
COMMA, AND, STOP = ", ", " and ", "."
PRONOUNS = {
    "f": {"he": "she", "his": "her", "him": "her", "himself": "herself"},
    "m": {"he": "he", "his": "his", "him": "him", "himself": "himself"},
}

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
GLOSS_JOIN = "; "

REPLY = "The right reply to '{ask}' is: {answer}."  # a claim where the kind's `fact` does not hold the answer

QUESTIONS = {  # builders that are not a kind of event: (question, claim with {answer})
    "twice": ("{ask} It happened on two occasions: name both.", "The full reply to '{ask}' is: {answer}."),
    "belongings": (
        "Which two belongings got a new keeper {when} at {p}?",
        "The two belongings that got a new keeper {when} at {p} are {answer}.",
    ),
    "times": ("How many times did {a} {inf}?", "The number of times that {a} came to {inf} is {answer}."),
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
}

SUMMARY = {
    "opening": "{title}.",
    "cast": "The people of {town}: {list}.",
    "person": "{name} is the {trade}",
    "kin": "Kinship: {list}.",
    "guise": "Under other names: {list}.",
    "crime": "At the heart of it is {crime}.",
    "traces": "The traces are {list}; nobody is convicted.",
    "heirloom": "{o} passes from {a} by several hands to {b}.",
    "hearing": "At the hearing, what {c} says of {d} is not borne out.",
    "journal": "A journal of {c}'s is quoted.",
    "session": "{list}.",
    "outline": "{p}, {when}: {people}",
    "outline_placeless": "{when}: {people}",
    "trace": "a trace is found: {about}",
    "false": "{c} swears that {fact}, which is not so",
    "alibi": "{c} claims to have been with {d} at {p}",
    "alone": "{c} names nobody to vouch for the night",
    "meal": "{c} eats {x}",
}
FACT_JOIN = "; "
RELATIONS = {  # labels of the edges in the concept graph
    "a": "is done by",
    "b": "involves",
    "c": "is said by",
    "d": "names",
    "o": "concerns",
    "p": "takes place at",
    "q": "ends at",
    "v": "concerns",
    "w": "proves right",
    "contradicts": "contradicts",
    "fits": "points at the one whom it ties",
    "guise": "is really",
    "trade": "has the trade of",
    "counts": "counts",
}
SERIES_HEADING = "Book {n}"
SERIES_QUESTION = "In book {n}: {question}"
