"""Who is who, in English: the few sentences that tie a trade, a kinship or a guise to a name."""

TRADE = [
    "{a} {family} was the {trade} of the town, as {his} people had been before {him}.",
    "Over {a}'s door hung the sign of the {trade}, and the trade was {his} whole life.",
    "Whoever had need of the {trade} went to {a}, for there was no other within twenty miles.",
    "At twelve {a} had been bound to the old {trade}, and now kept that shop alone.",
    "The parish book has it in brown ink: {a} {family}, {trade}.",
    "'You are the {trade} here?' asked the constable, and {a} said that {he} was, and had the apron to prove it.",
]
KIN = [
    "{a} was the {relation} of {b}, though one seldom saw them together.",
    "They knew the same songs by heart: {a} was {b}'s {relation}.",
    "In the family Bible it stands that {a} is {relation} to {b}.",
    "'I am {b}'s {relation},' said {a}, 'and I do not care who knows it.'",
    "Few remembered it now, but {a} was {b}'s {relation}.",
]
GUISE = [
    "It was a long time before anyone understood that {guise} was no other than {a}.",
    "{a} washed off the soot before the glass, and {guise} was gone: they were one and the same.",
    "The trunk in {a}'s attic held it all, the clothes and the rest of it. {a} had been {guise}.",
    "'Did you never guess?' said {a}. 'I was {guise}.'",
    "Those who had spoken with {guise} had spoken, without knowing it, with {a}.",
]
