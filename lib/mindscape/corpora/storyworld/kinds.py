"""The kinds of events and what each is made of, without words.

Slots: a who does it, b the other person, o a thing, p a place, q a second place, n a number, x a word of the kind's list.
"""

SLOTS = {  # kinds that any scene may hold
    "pawn": "aopn",
    "buy": "abon",
    "gift": "abo",
    "lend": "abo",
    "steal": "abo",
    "sell": "abon",
    "return": "abo",
    "hide": "aop",
    "find": "aop",
    "lose": "aop",
    "bury": "aop",
    "break": "aop",
    "mend": "abo",
    "hang": "aop",
    "quarrel": "abp",
    "embrace": "abp",
    "dance": "abp",
    "slap": "abp",
    "rescue": "abp",
    "nurse": "ab",
    "teach": "abx",
    "threaten": "abp",
    "propose": "abp",
    "follow": "abp",
    "overhear": "abp",
    "bet": "abn",
    "cards": "abpn",
    "borrow": "abn",
    "hire": "abx",
    "dismiss": "ab",
    "portrait": "abp",
    "loveletter": "ab",
    "shelter": "abp",
    "confess": "abx",
    "toast": "abp",
    "warn": "ab",
    "accuse": "abp",
    "letter": "abp",
    "forgive": "abn",
    "cut": "abp",
    "sing": "apx",
    "omen": "apx",
    "fall": "apx",
    "plant": "apx",
    "catch": "apx",
    "cook": "abx",
    "dream": "ax",
    "sleep": "ap",
    "pray": "apx",
    "travel": "ax",
    "count": "apnx",
    "paint": "apx",
    "ill": "ax",
    "vow": "apx",
    "read": "apx",
    "ring": "ap",
    "trip": "abp",
}

HOLDERS = {  # of the thing, before and after: the slot of a person, the place, the broker
    "pawn": ("a", "broker"),
    "buy": ("b", "a"),
    "gift": ("a", "b"),
    "lend": ("a", "b"),
    "steal": ("b", "a"),
    "sell": ("a", "b"),
    "return": ("a", "b"),
    "hide": ("a", "p"),
    "find": ("p", "a"),
    "lose": ("a", "p"),
    "bury": ("a", "p"),
    "break": ("a", "a"),
    "mend": ("b", "b"),
    "hang": ("a", "p"),
}
PASSES = ("gift", "lend", "sell")  # by which a thing goes from {a} to {b}, in chains
FOR_GOOD = ("gift", "sell")  # those after which it is not to come back
DEBTS = ("borrow", "forgive")  # between the victim and another they would be a clue by accident
ELSEWHERE = ("dream", "ill", "nurse", "travel")  # told in a place where it did not happen
FROM_B = {  # what {b} has done where such a thing is done by {a}: of some kinds both are the doers
    "quarrel": "quarrel",
    "embrace": "embrace",
    "dance": "dance",
    "shelter": "shelter",
    "bet": "bet",
    "buy": "sell",
    "sell": "buy",
}

CRIMES = ("murder_blow", "murder_poison", "theft", "arson")
DEADLY = ("murder_blow", "murder_poison")
THAT_NIGHT = ("clay", "boat")  # what ties a person to these happened in the night of the crime
CLUES = ("hand", "clay", "key", "dog", "wool", "cloves", "debt", "paper", "boat", "limp")
EVERYDAY = tuple(SLOTS)
