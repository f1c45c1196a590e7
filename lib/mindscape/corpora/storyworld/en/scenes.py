"""How a scene is told, in English: where and when, weather, talk, letters, testimony, a journal.

None of it states a fact that a question asks for. {c} and {d} are people who are there, or bystanders; {p} the place;
{when} the time; {habit} a habit of {c}'s; {topic} something to talk about.
"""

OPENINGS = [
    "{When}, {p} was almost empty. {weather}",
    "{weather} {When}, whoever had business at {p} went about it with a bent head.",
    "{When} one could hear the talk from {p} three doors off.",
    "It was at {p}, {when}. {weather}",
    "{When} the door of {p} stood open. {weather}",
    "{weather} At {p}, {when}, a lamp was burning all the same.",
    "Nobody has ever got rich at {p}; but {when} there were people there, and they were not idle.",
    "There are places that draw a town together, and {p} was one. {When} it drew a few.",
    "{When} there was a coming and going at {p}. {weather}",
    "At {p} things went their usual way, {when}. {weather}",
]
FLASHBACKS = [
    "We must go back a little, for something had been passed over.",
    "Some of this had begun earlier, and it is time to tell it.",
    "That same matter has a beginning which was left out.",
    "Before going on, the reader has to hear of an earlier day.",
]
WHEN = "{hour} on the {week} {weekday}"
PRESENT = [
    "{c} was there, {look}, and {d} not far off.",
    "{c} and {d} had come, each for a reason that went unsaid.",
    "One saw {c} by the wall, and near the door {d}.",
    "{d} nodded to {c}, who {habit}.",
    "{c}, {look}, had found the only dry seat, and {d} stood.",
]
WEATHER = [
    "A thin rain had been falling for hours.",
    "Fog lay on the river and would not lift.",
    "The wind had gone round to the east and cut like wire.",
    "It was mild for the season, and the gulls were loud.",
    "Hail had rattled on the slates an hour before.",
    "It had cleared for a little, and the puddles shone.",
    "There was frost on the ropes.",
    "A warm wind brought the smell of seaweed up the lanes.",
    "The sky hung low and yellow, as before snow.",
    "Every gutter in the town was running over.",
    "It was so still that the smoke stood straight up from the chimneys.",
    "Clouds went over fast, and the light kept changing.",
    "A storm was on its way; the old people felt it in their knees.",
    "The air was still, and it smelled of wet earth.",
    "There had been thunder in the hills, and the air was no clearer for it.",
    "Mist came in under the doors and put a ring round each flame.",
]
PLACES = {
    "mill": ["The great wheel groaned, and everything was white with meal.", "Under the floor the water ran and ran."],
    "chapel": ["A single candle showed the worn faces on the tombs.", "It smelled of damp hassocks and cold wax."],
    "quay": [
        "Tar barrels stood about, and a crane swung slowly overhead.",
        "Between the hulls the water slapped and sucked.",
    ],
    "inn": [
        "The fire was banked, and the pewter winked on its hooks.",
        "Someone had spilled ale, and the cat was seeing to it.",
    ],
    "market": ["The stalls were half struck, and cabbage leaves lay about.", "A woman cried the last of her mackerel."],
    "bridge": [
        "The parapet was slick, and below it the river talked.",
        "Carts went over it at a walk, for the planks were bad.",
    ],
    "tower": ["A hundred and nine steps went up into the dark.", "Jackdaws quarrelled in the top of it."],
    "granary": ["Dust hung in the slanting light like smoke.", "Something small ran along the beam and stopped."],
    "laundry": [
        "Steam rolled along the ceiling, and the mangle thumped.",
        "Sheets hung in rows, and one could not see who was behind.",
    ],
    "orchard": ["The branches were bare but for a few wrinkled fruit.", "Wasps were busy in the windfalls."],
    "theatre": [
        "The curtain was patched, and there was straw in the pit.",
        "A cardboard moon leaned against the wall.",
    ],
    "school": [
        "The slates were stacked, and chalk lay over everything.",
        "From the wall a map of the world looked down, with two holes in it.",
    ],
    "forge": ["Sparks flew up whenever the bellows sighed.", "Horseshoes hung in rows, like black moons."],
    "cemetery": ["The yews dripped, and the newest mound had no stone yet.", "Ivy had eaten half the names."],
    "lighthouse": [
        "The great lamp turned, and the walls hummed with it.",
        "Far down the swell broke white upon the rocks.",
    ],
    "bathhouse": ["Voices echoed from the tiles as in a cave.", "The boiler knocked, and the windows wept."],
    "stables": [
        "A mare blew through her nose and shifted in the straw.",
        "Harness creaked on its pegs in the draught.",
    ],
    "brewery": ["The vats ticked, and the air alone made one merry.", "Empty casks stood three deep along the wall."],
    "almshouse": ["Twelve doors in a row, and twelve scrubbed steps.", "Somebody's canary sang as if it were paid to."],
    "library": [
        "The shelves went up into the gloom, and nothing stirred but dust.",
        "A page was turned somewhere, and then no more.",
    ],
    "tannery": [
        "The pits stank so that strangers held their sleeves to their faces.",
        "Hides hung stiff upon the poles.",
    ],
    "ropewalk": ["The shed was so long that its far end lay in mist.", "Hemp lay about in yellow heaps."],
    "pump": [
        "The spring tasted of iron, and people drank it with closed eyes.",
        "Under the dome every cough came back twice.",
    ],
    "hospital": ["White beds stood along the wall, and most were empty.", "A sister went by on soft shoes."],
    "customs": [
        "Ledgers lay open, and there was sealing-wax on every sleeve.",
        "Behind the grille a clerk dipped his pen and waited.",
    ],
    "glasshouse": [
        "Drops fell from leaf to leaf, and the panes were blind.",
        "Inside it was summer, and one unbuttoned one's coat.",
    ],
}
HABITS = [
    "{c} {habit}.",
    "All the while {c} {habit}, as half the town did.",
    "{c} {habit}, and did not know it.",
    "Waiting, {c} {habit}.",
    "For an answer {c} {habit}.",
    "{c} looked at {d} and {habit}.",
]
BYSTANDERS = {  # who talks and muses in the background; none of them has a name or a part in the plot
    "f": [
        "the basket seller",
        "the girl who sold eggs",
        "the seamstress",
        "the landlady",
        "the lady from the coach",
        "the beadle's wife",
        "the nurse with the child",
        "the deaf aunt",
        "the chambermaid",
        "the oyster woman",
        "the maid in a hurry",
        "the rector's cook",
    ],
    "m": [
        "the coachman",
        "the carter",
        "the boy with the hoop",
        "the ferryman",
        "the man with the pipe",
        "the night watchman",
        "the soldier on leave",
        "the lame porter",
        "the drover",
        "the clerk with the cold",
        "the traveller in buttons",
        "the eldest of the fishermen",
    ],
}
TOPICS = [
    "the price of coal",
    "the new curate",
    "the road to the coast",
    "the mayor's speech",
    "the winter herrings",
    "the leak in the town hall roof",
    "the circus that never came",
    "the drainage of the marsh",
    "the election",
    "the autumn cough",
    "the late coach",
    "the music at the Assembly Rooms",
    "the tax on windows",
    "the tuning of the bells",
    "the parson's bees",
    "the comet",
    "the trouble with the sluice",
    "the wedding over at the farm",
]
CRIME_TOPICS = [  # when it has happened
    "{crime}",
    "the magistrate and his questions",
    "the question of who had done it",
    "the constable with his lens",
]
TALK = [
    "'You have cut yourself,' said {d}.\n\n'It is nothing,' said {c}. 'A slate. Tell me about {topic}.'",
    "'I would give a good deal,' said {c}, 'never to hear of {topic} again.'\n\n'Then do not bring it up,' said {d}.",
    "{d} wanted to know how old the house was. 'Older than {topic},' said {c}, 'and better built.'",
    "'Are you expecting someone?' asked {d}.\n\n'Always,' said {c}.",
    "'If it were not for {topic},' said {c}, 'I should have left this town long ago.'\n\n'You would not,' said {d}.",
    "{c} offered a bet that {topic} would come to nothing. {d} would not take it.",
    "'They ought to be ashamed,' said {d}.\n\n'Who?'\n\n'Everyone who has had a hand in {topic}.'",
    "'One hears that you have changed your mind about {topic},' said {c}.\n\n'One hears wrong,' said {d}.",
    "'How is your cough?' asked {c}.\n\n'Better than {topic},' said {d}, and coughed.",
    "'My grandmother used to say,' said {c}, and then could not recall what. It had to do with {topic}.",
    "{d} told the story about {topic} that everybody knew, and {c} laughed in the right place.",
    "'Listen,' said {c}. They listened. 'No,' said {d}, 'it has stopped.'",
    "'Will you be at church on Sunday?' asked {d}.\n\n'If they preach on {topic}, no,' said {c}.",
    "'I have it from two people,' said {d}, 'that {topic} will be settled by Christmas.'\n\n'Which Christmas?' asked {c}.",
    "{c} broke a biscuit in two and gave {d} the larger half. They did not mention {topic}.",
    "'You never say what you think,' said {c}.\n\n'I think that it is going to rain,' said {d}.",
    "'A penny for your thoughts,' said {d}. {c} held out a hand for the penny, and then owned that it was {topic}.",
    "'It was better under the old mayor,' said {c}. {d} pointed out that under the old mayor {che} had said the same.",
    "'Have you read what they write about {topic}?' asked {d}. {c} had used it to light the stove.",
    "'Do you trust that one?' {c} asked, when a third person had gone by. 'As far as the corner,' said {d}.",
    "'And what do they say about {topic}?' asked {c}.\n\n'They say a great deal,' said {d}, 'and know nothing.'",
    "'You look tired,' said {d}.\n\n'I slept badly,' said {c}. 'It is {topic}. One lies and thinks of it.'",
    "{c} said something about {topic}.\n\n'There you have it,' said {d}. 'Nobody listens until it is too late.'",
    "'I never understood {topic},' said {c}.\n\n'Nor did those who talk about it,' said {d}, and laughed.",
    "'Do you still owe me an answer?' said {c}.\n\n'If I do, it can wait,' said {d}. 'Tell me rather about {topic}.'",
    "They spoke of {topic}, as one does. {c} was for it and {d} was against it, and next week it might be the other way.",
    "'Mind my words,' said {d}, 'it will end with {topic}.' {c} let that pass.",
    "{c} asked whether it was true about {topic}, and {d} said that half of it was.",
    "'Not so loud,' said {c}.\n\n'Why? I am only speaking of {topic}.'\n\n'One begins with that,' said {c}, 'and one goes on.'",
    "'In my father's time,' {d} began, and went on about {topic} until {c} coughed.",
    "'Shut the door,' said {c}. {d} shut it, and for a moment it was quiet.",
    "'I have no opinion,' said {c}, when it came to {topic}; and then gave it.",
    "{c} and {d} had known each other too long to be polite. 'You are wrong about {topic},' said {c}. 'I hope so,' said {d}.",
    "'What day is it?' asked {c}.\n\n'{weekday},' said {d}, 'all day long.'",
    "'Somebody ought to write it down,' said {d}, meaning {topic}.\n\n'Somebody will,' said {c}, 'and get it wrong.'",
    "There was a silence. Then {d} said, 'Well, and {topic}?' and everyone breathed again.",
]
MUSINGS = [
    "{c} looked out of the window, where there was nothing to see, and saw it for a good while.",
    "Whenever {c} laughed, {che} put a hand before {chis} mouth, as if the laugh were borrowed.",
    "{c} had mud on {chis} hem, and a leaf in it.",
    "{c} had a way of listening with {chis} head aslant, like a thrush on a lawn.",
    "Somewhere a door banged, and {c} started.",
    "{d} had brought a basket, and nobody asked what was in it.",
    "{c} found a crumb in {chis} pocket and gave it to the sparrows.",
    "It smelled of wet dog and oranges. {d} said so, and {c} said that it always had.",
    "{c} read the notice on the wall, though {che} knew it by heart.",
    "The stairs creaked. {c} and {d} looked up, but no one came.",
    "{d} moved a chair a little nearer to the warmth, and {c} took it.",
    "If {c} had one fault it was that {che} remembered everything, and if {d} had one it was the opposite.",
    "A spider let itself down between {c} and {d}, thought better of it, and went up again.",
    "{c} yawned, and then {d} did.",
    "The light moved over the wall by the breadth of a hand before {c} spoke again.",
    "{c} had learned early that one is asked fewer questions if one carries something.",
    "{c} thought of the years that were gone and what had been made of them.",
    "It came to {c} that one can live in a street for a lifetime and not know who sleeps behind the next wall.",
    "{c} gave no sign whether {che} was glad of the company.",
    "In such a town, thought {c}, a secret is a thing that everyone keeps for everyone.",
    "{c} would have liked to be elsewhere, and could not have said where.",
    "{c} noticed that {chis} hands were cold, and put them away.",
    "For a moment {c} had a feeling of having stood here before, with the same light on the floor.",
    "'One day,' said {c} to nobody, 'I shall tell all of it.'",
    "{c} had meant to leave an hour ago.",
    "It is not the big things that wear us out, thought {c}, but the stairs.",
    "There was something that {c} wished to ask, but the moment went by.",
    "A child ran past with a hoop. {c} looked after it for a long time.",
    "{c} listened with half an ear; the other half was out in the street.",
    "Old friends are like old boots, thought {c}: one forgives them the leak.",
]
AFTERWARDS = [  # {c} has just done something
    "{c} said no more about it.",
    "{c} looked almost pleased, and then did not.",
    "Afterwards {c} stood still for a moment, like one who has forgotten something.",
    "{c} would not be drawn on it later.",
    "It was like {c} to make nothing of it.",
    "When it was over {c} drew a long breath.",
    "{c} went on as though nothing had happened.",
    "Some thought that they knew why. {c} gave no reason.",
    "{c} shrugged, and that was all.",
    "Nobody had expected it of {c}.",
    "{c} seemed to listen for something, and did not hear it.",
    "Had anyone asked, {c} would have denied it.",
]
LINKS = [
    "Not long after that",
    "A little later",
    "Before the lamp was trimmed again",
    "Then, to the surprise of some",
    "As if that were not enough",
    "When the others had gone",
    "In the same hour",
    "Hard upon that",
]
LINK = "{link}, there was this. {tell}"
CLOSINGS = [
    "Then they went their ways.",
    "After that there was not much more to say.",
    "The talk turned to other things.",
    "Someone put out the lamp.",
    "And so that was that.",
    "On the way home nobody spoke.",
    "It was noticed, and by evening it was known in three streets.",
    "By then it had grown late.",
    "Nobody thought of it again for a good while.",
    "The clock struck, and there was work to do.",
]
GOSSIP = [
    '{When}, {c} met {d} at {p} and had news. "You have not heard?" said {c}. "{tell}"',
    '"Sit down," said {c} to {d} at {p}, {when}, "for it is worth sitting down to. {tell}"',
    '{When} {c} told it to {d} at {p}, not for the first time that day. "{tell}"',
    '{d} wanted to know what had happened, and at {p}, {when}, {c} was only too willing. "{tell}"',
]
GOSSIP_MORE = ['"And there is more," said {c}. "{tell}"', '{c} lowered {chis} voice. "{tell}"']
LETTER = [
    "A letter of {c}'s to {d} has been kept. It was written {when}, on a page torn from an almanac.",
    "{When} {c} wrote to {d}, and the letter lies before us.",
    "This is what {c} wrote to {d} {when}, with a bad pen.",
]
LETTER_OPEN = ["My dear {d},", "{d}, my friend,", "Dear {d},"]
LETTER_BODY = [
    "you ask for news, and here it is. {tell}",
    "I promised to write down what goes on here. {tell}",
    "the days are long and I have a little ink left, so listen. {tell}",
]
LETTER_MORE = ["And that is not the end of it. {tell}", "I must tell you this too. {tell}"]
LETTER_TALK = [
    "As to {topic}, one hears this and that, and I believe neither.",
    "The evenings are long, and the lamp smokes. I think too much of {topic}.",
    "Here they talk of nothing but {topic}, and I nod and think of supper.",
    "My hand is cold; forgive the blots.",
    "Somebody is going by below with a lantern. Now it is dark again.",
    "I have begun this page twice. One ought to be sure of {topic} before one writes of it, and I am not.",
    "The roof lets in the wet over my bed, and I have put a basin there.",
    "There was a knock just now, but it was only the wind.",
    "I had meant to say something about {topic}; it will keep.",
    "They say that a quiet life is a long one. Mine will be very long.",
    "The church clock is slow again, and the whole town is late with it.",
    "I lay awake over {topic} and in the morning had forgotten why.",
]
LETTER_CLOSE = ["Burn this when you have read it. {c}", "Yours in all weathers, {c}", "Remember me to the cat. {c}"]
TESTIMONY = [
    '{When} the magistrate had {c} called to {p} and asked what {che} knew. "I will tell you how it was," said {c}. "{tell}"',
    '"Speak up," said the magistrate at {p}, {when}. {c} stood before the table. "It was like this," {che} said. "{tell}"',
]
TESTIMONY_MORE = ['The pen scratched. "And further?" asked the magistrate. {c} went on. "{tell}"']
FALSE_TESTIMONY = [  # {c} says it; {tell} is a telling with another person in the actor's place
    '{When}, at {p}, {c} was asked about it under oath and did not blink. "{tell} That I swear," said {c}.',
    '{c} had another story for the magistrate, {when}, at {p}. "{tell} I was there," {che} said, and kissed the book.',
]
JOURNAL = [
    "{c} kept a journal in those days, and some leaves of it follow here as they were found.",
    "From {c}'s journal, which came to light behind the wainscot, these are the leaves for that time.",
]
JOURNAL_ENTRY = ["{When}. {tell} {meal}", "{When}. {weather} {tell} {meal}"]
MEAL = ["For supper I had {x}.", "Had {x}, alone.", "Ate {x} by the fire."]
COURT = [
    "The clerk asked the witness to speak slower.",
    "There was a murmur on the benches, and the usher called for quiet.",
    "The magistrate turned back a page and read something over.",
    "Somebody laughed at the back, and was looked at.",
    "The witness held on to the rail with both hands.",
    '"We are not here to talk about {topic}," said the magistrate.',
    "A window was opened, for the stove was too hot.",
    "Someone in the second row stood up and sat down again.",
    "The clerk sharpened his quill, and everyone waited until it was done.",
    "The witness drank some water. It could be heard.",
    '"I ask because I must," said the magistrate, and took off his glasses.',
    "Outside a cart went by with iron on it, and nothing could be understood till it was past.",
]
INQUEST = [
    "The hearing was held at {p}, {when}, and all who could walk were there. The magistrate asked one after "
    "another where they had been that night.",
    '{When} the benches at {p} were full before the doors were open. "Where were you that night?" asked the magistrate, '
    "and asked it of one after another.",
]
ALIBI = [
    '"At {p}," said {c}, "with {d}, from supper until the cock crew."',
    '{c} stood up. "I was with {d} at {p} and did not stir from there."',
    '"{d} and I sat at {p} all night," said {c}, "over a bottle."',
    '{c} answered at once. "At {p}. Ask {d}, who was there."',
]
ALONE = [
    '"Alone in my bed," said {c}, "and I have no witness but the mattress."',
    "{c} said that {che} had been at home, and alone.",
    '"By myself," said {c}. "Is that a crime?"',
    "{c} had been in {chis} own four walls, {che} said, with the door barred and no company.",
]
DISCOVERY = [
    "It was {weekday} when the town woke to it.",
    "Nobody who lived through that {weekday} forgot it.",
]
TRACE = ["The constable went over the place on his knees.", "They looked for traces, and there were some."]
CHARACTERS = 3.8  # per token
JOIN = " "  # between sentences
CHAPTER = "Chapter {n}. {title}"
TITLES = [
    "In which more is seen than said",
    "A bad week for locks",
    "What the rain left",
    "Several people are mistaken",
    "Of debts and neighbours",
    "An evening with witnesses",
    "The matter is looked at from behind",
    "Old shoes and new promises",
    "Something is put away",
    "The wind changes",
    "Talk on the stairs",
    "Who was where",
    "A page is turned back",
    "Small change",
    "Nobody asks the cat",
    "Light under a door",
    "The long way round",
    "What was carried past the window",
    "Two versions",
    "Almost an answer",
    "The town at table",
    "Things found in pockets",
    "A matter of handwriting",
    "Low water",
    "The ladder and the ledge",
    "Those who stayed up",
    "Between two bells",
    "A cold supper",
    "The back of the looking-glass",
    "Neither here nor there",
    "Letters and other weather",
    "What everybody knew",
]
TITLE = "The Affair of {town}, or {crime}"
PROLOGUE = (
    "This is the story of what happened in {town} in the autumn of a wet year, set down by one who lived there. I have put "
    "things in the order in which I came to know them, which is not the order in which they were done. People are called here "
    "what they were called by those who spoke of them. Whoever reads to the end will have before them everything that I had."
)
EPILOGUE = (
    "Here my papers end. No name was ever read out in court, for the magistrate wanted a confession and got none. But one who "
    "lays the traces side by side, and asks of each person in turn whether every one of them fits, will not be long in doubt. "
    "I was not."
)
