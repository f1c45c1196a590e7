"""What can happen, in English: four or more tellings of each kind of event, and other words for asking about it.

`tell` is what a book says. `fact`, `inf` (infinitive) and `ask` avoid the words of `tell`, so that a question does not
point at its passage by its words. Placeholders: {a} who does it, {b} the other person, {o} a thing, {p} and {q} places,
{n} a number, {x} a word of the kind's own list; {he}, {his}, {him} stand for {a}, {bhe}, {bhis}, {bhim} for {b}.
"""

EVENTS = {
    # ---- things that change hands -------------------------------------------------------------------------------
    "pawn": {
        "tell": [
            "{a} laid {o} on the broker's counter at {p} and came away with {n} shillings.",
            "The broker at {p} bit his pencil, offered {n} shillings, and {a} left {o} behind on his shelf.",
            "For {n} shillings and a ticket {a} parted from {o} at {p}, and did not look back at it.",
            "At {p} a ticket was written out, {n} shillings were counted, and {o} of {a}'s went up on the broker's shelf.",
        ],
        "fact": "{a} put {o} in hock",
        "inf": "put something in hock",
        "ask": {"o": "What did {a} put in hock?", "n": "How many shillings did {a} get by putting {o} in hock?"},
    },
    "buy": {
        "tell": [
            "{a} haggled with {b} until {n} shillings were enough, and {o} was in {his} hands.",
            "{b} asked too much for {o}, but {a} counted {n} shillings into {bhis} palm all the same.",
            "After some talk of the price {a} gave {b} {n} shillings, and {o} went home under {a}'s arm.",
            "It cost {a} {n} shillings to get {o} from {b}, who had wanted more.",
        ],
        "fact": "{a} purchased {o}, which had been the property of {b}",
        "inf": "purchase something",
        "ask": {
            "o": "What did {a} purchase?",
            "b": "Whose property was {o} before {a} purchased it?",
            "n": "For how many shillings did {a} purchase {o}?",
        },
    },
    "gift": {
        "tell": [
            "{a} pressed {o} into {b}'s hands and would take nothing for it.",
            "Without a word {a} set {o} in front of {b}. 'It is yours,' {he} said then.",
            "{b} tried to refuse, but {a} had made up {his} mind, and {o} stayed with {b} for good.",
            "'Keep it,' said {a}, and so {b} went off with {o}, red to the ears.",
        ],
        "fact": "{a} made {b} a present of {o}",
        "inf": "make somebody a present",
        "ask": {"b": "Who received a present from {a}?", "o": "Which present did {a} make to another person?"},
    },
    "lend": {
        "tell": [
            "{a} let {b} have {o} until the week was out.",
            "'Bring it back before Sunday,' said {a}, and handed {b} {o}.",
            "{b} only wanted {o} for a few days, and {a} did not grudge it {bhim}.",
            "{a} took {o} down from its nail so that {b} might have the use of it for a while.",
        ],
        "fact": "{a} made a loan of {o} to {b}",
        "inf": "make a loan of a belonging",
        "ask": {"o": "What did {a} loan out?", "b": "Who got a belonging on loan from {a}?"},
    },
    "steal": {
        "tell": [
            "While {b} bent to the fire, {a} slipped {o} into {his} sleeve.",
            "{b} turned away to cough; when {bhe} turned round again, {o} was under {a}'s coat.",
            "{a} waited until {b} dozed, and then {o} was no longer where {b} kept it, but in {a}'s bag.",
            "Quick as a bird {a} lifted {o} from {b}'s basket and walked on with an easy face.",
        ],
        "fact": "{a} pilfered {o}, robbing {b}",
        "inf": "pilfer something",
        "ask": {"o": "What was pilfered by {a}?", "b": "Who was robbed by {a}?"},
    },
    "sell": {
        "tell": [
            "{a} let {o} go to {b} for {n} shillings and was glad to be rid of it.",
            "{b} had long had an eye on {o}; for {n} shillings {a} gave way.",
            "'{n} shillings, and no more talk,' said {b}, and {a} handed {o} across.",
            "{b} shook hands with {a} on {n} shillings, and walked off with {o}.",
        ],
        "fact": "{a} made money by the sale of {o} with {b} as the customer",
        "inf": "make a sale",
        "ask": {"b": "Who was {a}'s customer in a sale?", "o": "Of what did {a} make a sale?"},
    },
    "return": {
        "tell": [
            "{a} brought {o} back to {b}, wiped clean.",
            "{b} had given up {o} for lost, and there stood {a} at the door with it.",
            "With many excuses {a} put {o} into {b}'s hands again.",
            "'This is yours, I think,' said {a}, and {b} saw {o} once more.",
        ],
        "fact": "{a} restored {o} to {b}",
        "inf": "restore a belonging to its keeper",
        "ask": {"o": "What was restored by {a} to its keeper?", "b": "To whom did {a} restore a belonging?"},
    },
    # ---- things and places --------------------------------------------------------------------------------------
    "hide": {
        "tell": [
            "{a} pushed {o} deep behind a loose board at {p} and swept the dust over it.",
            "When nobody looked, {a} wrapped {o} in sacking and wedged it under the beams of {p}.",
            "There was a hollow in the wall of {p}, and there {a} stowed {o}, out of everyone's sight.",
            "{a} left {p} without {o}: it lay now beneath the third stone from the door, and only {he} knew.",
        ],
        "fact": "{a} concealed {o} in a secret spot at {p}",
        "inf": "conceal something in a secret spot",
        "ask": {"o": "What did {a} conceal?", "p": "Which location did {a} choose to conceal {o}?"},
    },
    "find": {
        "tell": [
            "Among the rubbish at {p} something shone, and {a} drew out {o}.",
            "{a} stumbled at {p}, looked down, and there in the straw was {o}.",
            "It was {a} who picked {o} out of the gutter by {p}.",
            "Behind the barrels at {p} {a}'s fingers closed upon {o}.",
        ],
        "fact": "{a} discovered {o} by luck",
        "inf": "discover something by luck",
        "ask": {"o": "What did {a} discover by luck?", "p": "On which spot did {a} discover {o} by luck?"},
    },
    "lose": {
        "tell": [
            "Somewhere about {p} {o} must have dropped from {a}'s pocket, for in the evening it was gone.",
            "{a} turned out every bag twice, but {o} had stayed behind at {p} and nobody had seen it.",
            "It was at {p} that {a} last had {o}; after that, {he} hunted for it in vain.",
            "{o} fell from {a}'s cart near {p}, and the road kept it.",
        ],
        "fact": "{a} mislaid {o}",
        "inf": "mislay something",
        "ask": {"o": "What did {a} mislay?", "p": "In which area did {a} mislay {o}?"},
    },
    "bury": {
        "tell": [
            "With a borrowed spade {a} dug a hole behind {p}, set {o} in it, and trod the earth flat.",
            "The earth behind {p} was soft, and {a} had {o} two feet under it before the lamp burned low.",
            "{a} came from {p} with clay on {his} knees; {o} was under the turf there.",
            "Under the thorn tree by {p} {a} gave {o} to the ground, and laid the sods back one by one.",
        ],
        "fact": "{a} interred {o} as if it were a corpse",
        "inf": "inter something like a corpse",
        "ask": {"o": "What did {a} inter like a corpse?", "p": "Near which location did {a} inter {o}?"},
    },
    "break": {
        "tell": [
            "{a} caught {o} with {his} elbow at {p}, and it came down on the flags with a crack.",
            "There was a crash at {p}: {a} stood over {o}, which would never be whole again.",
            "{o} slid from {a}'s wet fingers at {p} and split from side to side.",
            "In {his} hurry at {p} {a} trod upon {o}, and something in it snapped.",
        ],
        "fact": "{a} damaged {o} by clumsiness",
        "inf": "damage something by clumsiness",
        "ask": {"o": "What did {a} damage by clumsiness?", "p": "Where did {a}'s clumsiness damage {o}?"},
    },
    "mend": {
        "tell": [
            "{a} sat a whole afternoon over {o} with glue and wire, until {b} could use it again.",
            "{b} had thought {o} past help, but {a} set it right for {bhim} and asked only for a cup of tea.",
            "With a bent nail and much patience {a} put {o} back in order for {b}.",
            "{a} had {o} of {b}'s on the bench till dusk, and when it left the bench it was sound.",
        ],
        "fact": "{a} repaired {o} as a favour to {b}",
        "inf": "repair something as a favour",
        "ask": {"o": "What did {a} repair?", "b": "As a favour to whom did {a} repair {o}?"},
    },
    "hang": {
        "tell": [
            "{a} hung {o} above the door of {p}, where everyone who came in must see it.",
            "Over the door of {p} there was a bare hook, and {a} put {o} on it.",
            "{a} climbed on a stool at {p} and fixed {o} to the lintel.",
            "From that day {o} dangled over the threshold of {p}: {a} had nailed it there.",
        ],
        "fact": "{a} displayed {o} high up at an entrance",
        "inf": "display something at an entrance",
        "ask": {
            "o": "What did {a} display at an entrance?",
            "p": "Whose entrance, of all locations, did {a} adorn with {o}?",
        },
    },
    # ---- between two people -------------------------------------------------------------------------------------
    "quarrel": {
        "tell": [
            "{a} and {b} had words at {p}, so loud that a window opened across the way.",
            "At {p} {a} called {b} a liar, {b} answered in kind, and they parted without a bow.",
            "What began as talk ended in shouting: {a} stamped out of {p}, and {b} threw {his} hat after {him}.",
            "{a} could not let the matter rest, and at {p} {he} and {b} went at each other like cats.",
        ],
        "fact": "{a} fell out with {b}",
        "inf": "fall out with someone",
        "ask": {"b": "With whom did {a} fall out?", "p": "What was the scene of {a}'s falling out with {b}?"},
    },
    "embrace": {
        "tell": [
            "{a} held out both arms, and {b} came into them, and the old grudge was over.",
            "'Let us forget it,' said {a} to {b}, and they wept a little, and laughed at themselves.",
            "After a year of silence {a} took {b} by the shoulders at {p}, and neither could speak.",
            "{a} and {b} drank from one cup at {p} to show that all was well between them.",
        ],
        "fact": "{a} made peace with {b}",
        "inf": "make peace with someone",
        "ask": {"b": "With whom did {a} make peace?"},
    },
    "dance": {
        "tell": [
            "A fiddle struck up at {p}, and {a} led {b} out on the floor for three tunes running.",
            "{a} trod on {b}'s toes twice in the reel at {p}, and begged pardon twice.",
            "Round and round went {a} and {b} at {p}, until the lamps swam.",
            "Nobody at {p} had known that {a} could waltz; {b}, in {his} arms, looked as surprised as any.",
        ],
        "fact": "{a} had {b} for a partner in a ballroom fashion",
        "inf": "take a ballroom partner",
        "ask": {"b": "Who was {a}'s ballroom partner?"},
    },
    "slap": {
        "tell": [
            "At {p} {a}'s open hand met {b}'s cheek with a noise like a dropped plate.",
            "Before anyone at {p} could step between, {a} had boxed {b} on the ear.",
            "{b} said one word too many at {p}, and {a} let fly; the mark of five fingers stayed till evening.",
            "{a} went white, then red, then gave {b} a blow in the face in front of everyone at {p}.",
        ],
        "fact": "{a} physically assaulted {b}",
        "inf": "physically assault someone",
        "ask": {"b": "Whom did {a} physically assault?", "p": "What was the scene of {a}'s assault on {b}?"},
    },
    "rescue": {
        "tell": [
            "The ice at {p} gave way under {b}, and it was {a} who crawled out with a ladder.",
            "{a} threw off {his} boots, went into the water by {p}, and came up with {b} by the collar.",
            "A beam came down at {p}; {a} dragged {b} clear with not a moment to spare.",
            "The cart would have gone over {b} at {p}, had {a} not caught {bhim} by the belt.",
        ],
        "fact": "{a} saved the life of {b}",
        "inf": "save a life",
        "ask": {"b": "Whose life was saved by {a}?", "p": "At which location was {b}'s life saved by {a}?"},
    },
    "nurse": {
        "tell": [
            "For three nights {a} sat by {b}'s bed with wet cloths until the fever turned.",
            "{b} coughed and burned, and {a} held the cup to {bhis} lips and would not go home.",
            "{a} moved {his} chair to {b}'s bedside and stayed until the shivering stopped.",
            "Broth, blankets, a bucket: {a} carried them all up to {b}, who lay hot and rambling.",
        ],
        "fact": "{a} cared for {b} in sickness",
        "inf": "care for a sick person",
        "ask": {"b": "Which patient did {a} care for in sickness?"},
    },
    "teach": {
        "tell": [
            "{a} showed {b} the beginnings of {x}, patiently, until the candle was a stump.",
            "'Again,' said {a}, and {b} tried once more; by the end of the week {bhe} had some notion of {x}.",
            "{b} wished to know about {x}, and {a} gave {bhim} an hour each evening.",
            "Under {a}'s eye {b} made {bhis} first clumsy attempts at {x}.",
        ],
        "fact": "{a} was {b}'s instructor in {x}",
        "inf": "be someone's instructor",
        "ask": {"b": "Which pupil had {a} for an instructor?", "x": "What subject had {a} for its instructor?"},
    },
    "threaten": {
        "tell": [
            "'You will be sorry for this before the month is out,' said {a} to {b}, very quietly.",
            "{a} shook a fist under {b}'s nose at {p} and promised {bhim} a bad end.",
            "{a} took {b} by the coat and told {bhim} what happens to people who talk.",
            "'I know where you sleep,' said {a}; and {b}, who was no coward, bolted the door that night.",
        ],
        "fact": "{a} menaced {b} with harm",
        "inf": "menace someone with harm",
        "ask": {"b": "Who was menaced with harm by {a}?"},
    },
    "propose": {
        "tell": [
            "{a} went down on one knee in the mud of {p} and put the question to {b}.",
            "'Will you have me?' said {a} at {p}; and {b} looked at the river and asked for time.",
            "{a} had a ring in {his} glove and a speech by heart, and at {p} {he} gave {b} both.",
            "At {p} {a} told {b} that {he} had a roof and a pension and no wish to be alone.",
        ],
        "fact": "{a} offered marriage to {b}",
        "inf": "offer marriage",
        "ask": {"b": "To whom did {a} offer marriage?", "p": "What was the scene of {a}'s offer of marriage to {b}?"},
    },
    "follow": {
        "tell": [
            "{a} kept thirty paces behind {b} all the way to {p}, and stopped when {bhe} stopped.",
            "From doorway to doorway {a} went after {b}, as far as {p}, and wrote the hour in a book.",
            "{b} did not turn round once on the road to {p}, and so did not see {a} at {bhis} heels.",
            "Wherever {b} went that day, {a} was a corner behind {bhim}, and at {p} {he} hid and watched.",
        ],
        "fact": "{a} shadowed {b} through the streets",
        "inf": "shadow someone through the streets",
        "ask": {"b": "Whom did {a} shadow through the streets?", "p": "What was the end point when {a} shadowed {b}?"},
    },
    "overhear": {
        "tell": [
            "{a} stood behind the curtain at {p} and caught every word that {b} let fall.",
            "The wall at {p} is thin, and {a}, with an ear to it, learned what {b} was about.",
            "{b} thought {bhimself} alone at {p} and spoke aloud; {a} was under the stairs.",
            "{a} dropped {his} needle at {p} on purpose, and was a long time looking for it while {b} whispered.",
        ],
        "fact": "{a} eavesdropped on {b}",
        "inf": "eavesdrop on someone",
        "ask": {"b": "On whom did {a} eavesdrop?", "p": "Where was {a} when eavesdropping on {b}?"},
    },
    "bet": {
        "tell": [
            "{a} staked {n} shillings with {b} that it would snow before Friday.",
            "'{n} shillings that you cannot,' said {a} to {b}; and {b} spat in {bhis} palm.",
            "{a} and {b} put {n} shillings each under a mug, on which of two snails would be first.",
            "There was {n} shillings between {a} and {b} on the weight of the pig.",
        ],
        "fact": "{a} made a wager of {n} shillings with {b}",
        "inf": "make a wager",
        "ask": {"b": "Who took a wager against {a}?", "n": "Of how many shillings was the wager that {a} made?"},
    },
    "cards": {
        "tell": [
            "{b} turned up the queen, and {a} was {n} shillings the poorer.",
            "By midnight {a} had let {n} shillings slide across the table to {b}.",
            "{a} swore that the pack was marked, but {b} raked in the {n} shillings all the same.",
            "Hand after hand went against {a} at {p}, until {n} of {his} shillings lay in a heap before {b}.",
        ],
        "fact": "{a} lost {n} shillings to {b} at gambling",
        "inf": "lose at gambling",
        "ask": {"b": "Who won money from {a} at gambling?", "n": "How many shillings did {a} lose at gambling?"},
    },
    "borrow": {
        "tell": [
            "{b} counted {n} shillings out for {a} and made {him} sign for them.",
            "{a} was short again, and {b} let {him} have {n} shillings till quarter day.",
            "'{n} shillings, and not a word to my family,' said {a}; and {b} opened the box.",
            "Hat in hand {a} called on {b}, and came away with {n} shillings and a date to pay by.",
        ],
        "fact": "{a} went into debt to {b} for {n} shillings",
        "inf": "go into debt",
        "ask": {"b": "Who became {a}'s creditor?", "n": "How many shillings deep did {a} go into debt?"},
    },
    "hire": {
        "tell": [
            "{a} engaged {b} for {x}, at a shilling a day and beer.",
            "For {x} {a} could find nobody but {b}, who asked double and got it.",
            "'Can you start tomorrow?' said {a}; so {b} was taken on for {x}.",
            "{b} needed work and {a} needed help with {x}, and they were soon agreed.",
        ],
        "fact": "{a} employed {b} for the job of {x}",
        "inf": "employ someone to do a job",
        "ask": {"b": "Who was employed by {a}?", "x": "To do which job did {a} employ someone?"},
    },
    "dismiss": {
        "tell": [
            "{a} told {b} to be gone by noon and to leave the apron.",
            "'I have no more use for you,' said {a}; and {b} went for {bhis} box.",
            "{a} paid {b} to the end of the week and showed {bhim} the gate.",
            "There were no reasons given: {a} sent {b} off, and by evening another had {bhis} place.",
        ],
        "fact": "{a} sacked {b} as a servant",
        "inf": "sack a servant",
        "ask": {"b": "Which servant was sacked by {a}?"},
    },
    "portrait": {
        "tell": [
            "{a} drew {b} in charcoal, with the crooked smile and all.",
            "{b} sat two hours by the window at {p} while {a} got {bhis} likeness down on a board.",
            "On the back of a bill {a} sketched {b}, who did not know it.",
            "{a} mixed three browns and a grey, and there upon the canvas was {b} to the life.",
        ],
        "fact": "{a} made a portrait and the sitter was {b}",
        "inf": "make a portrait",
        "ask": {"b": "Who is the sitter in a portrait by {a}?"},
    },
    "loveletter": {
        "tell": [
            "{a} slid a folded sheet under {b}'s door, sealed with a kiss and no name.",
            "It took {a} four drafts, but at last the verses went to {b}, in a disguised hand.",
            "{b} read the lines three times by the lamp; {a}, across the square, saw the light stay on.",
            "Tucked into {b}'s glove was a note of {a}'s, all roses and bad rhymes.",
        ],
        "fact": "{a} sent a romantic message to {b}",
        "inf": "send a romantic message",
        "ask": {"b": "Who was sent a romantic message by {a}?"},
    },
    "shelter": {
        "tell": [
            "The rain came down like gravel, and {a} and {b} stood under one umbrella at {p} for an hour.",
            "{a} pulled {b} into the porch of {p} just as the hail began.",
            "Thunder drove {a} and {b} together beneath the eaves of {p}, and they had to talk.",
            "With {a}'s coat over both their heads, {a} and {b} waited out the cloudburst at {p}.",
        ],
        "fact": "{a} shared refuge from a storm with {b}",
        "inf": "share refuge from a storm",
        "ask": {
            "b": "Who shared refuge from a storm with {a}?",
            "p": "Where did {a} and {b} share refuge from a storm?",
        },
    },
    "confess": {
        "tell": [
            "'I must tell somebody,' said {a}, and {b} heard then of {x}.",
            "It was dark, and that made it easier: {a} spoke to {b} of {x}.",
            "{b} had guessed the half; the rest, {x}, {a} brought out with {his} face turned away.",
            "{a} had carried it for years. Now {b} knew too of {x}.",
        ],
        "fact": "{a} admitted {x} to {b} as a private matter",
        "inf": "admit a private matter",
        "ask": {
            "b": "Who was the listener when {a} admitted a private matter?",
            "x": "Which private matter did {a} admit?",
        },
    },
    "toast": {
        "tell": [
            "{a} rose at {p}, knocked on the table, and drank to {b}'s health.",
            "'To {b}!' cried {a}, and everyone at {p} had to stand up.",
            "{a} made a speech about {b} at {p}, with two jokes in it, and glasses were lifted.",
            "Somebody at {p} ought to say a word for {b}, and it was {a} who filled the glasses and said it.",
        ],
        "fact": "{a} publicly honoured {b} with raised wine",
        "inf": "publicly honour someone with raised wine",
        "ask": {"b": "Who was publicly honoured by {a} with raised wine?"},
    },
    "warn": {
        "tell": [
            "'Do not go home by the bridge tonight,' said {a} in {b}'s ear.",
            "{a} chalked a cross on {b}'s shutter, which meant: they are coming.",
            "A pebble hit {b}'s window; below stood {a}, pointing down the road and shaking {his} head.",
            "{a} ran the whole way to tell {b} that the bailiffs had a paper with {bhis} name on it.",
        ],
        "fact": "{a} alerted {b} to danger",
        "inf": "alert someone to danger",
        "ask": {"b": "Who was alerted to danger by {a}?"},
    },
    "accuse": {
        "tell": [
            "'Ask that one where the money went,' said {a} at {p}, and pointed straight at {b}.",
            "{a} stood up at {p} and said before them all that {b} watered the milk.",
            "According to {a} it was {b} who had moved the boundary stones, and {he} said so aloud at {p}.",
            "{a} spoke no name at {p}, but looked so long at {b} that everybody understood.",
        ],
        "fact": "{a} publicly put blame on {b}",
        "inf": "put blame on someone in public",
        "ask": {"b": "On whom did {a} publicly put blame?", "p": "What was the stage for {a}'s putting blame on {b}?"},
    },
    "letter": {
        "tell": [
            "{a} gave {b} a sealed envelope at {p}, to be opened if {he} did not come back.",
            "At {p} {b} was handed an envelope by {a}, who begged {bhim} not to break the wax yet.",
            "'Not before Sunday,' said {a}, and put an envelope with three seals in {b}'s pocket at {p}.",
            "{b} walked from {p} with an envelope of {a}'s under {bhis} shirt.",
        ],
        "fact": "{a} entrusted {b} with a confidential document",
        "inf": "entrust someone with a confidential document",
        "ask": {"b": "Who was entrusted with a confidential document by {a}?"},
    },
    "forgive": {
        "tell": [
            "{a} tore up the paper with {b}'s {n} shillings on it and dropped the bits in the stove.",
            "'We will say no more of the {n} shillings,' said {a} to {b}.",
            "{b} had come to beg for time, and {a} struck the {n} shillings out of the ledger.",
            "{n} shillings stood against {b}'s name; {a} drew a line through them and closed the book.",
        ],
        "fact": "{a} cancelled a debt of {n} shillings that {b} owed",
        "inf": "cancel a debt",
        "ask": {"b": "Whose debt was cancelled by {a}?", "n": "Of how many shillings was the debt that {a} cancelled?"},
    },
    "cut": {
        "tell": [
            "{a} sat {b} on a barrel at {p} and took the shears to {bhis} hair.",
            "When {a} had finished at {p}, {b}'s curls lay round the stool like shavings.",
            "{b} came from {p} cropped like a sheep; it was {a} who had held the scissors.",
            "Snip went {a}'s scissors at {p}, and {b} shut {bhis} eyes till it was done.",
        ],
        "fact": "{a} played barber to {b}",
        "inf": "play barber",
        "ask": {"b": "To whom did {a} play barber?"},
    },
    # ---- one person and the world -------------------------------------------------------------------------------
    "sing": {
        "tell": [
            "{a} struck up '{x}' at {p}, and did not stop before the ninth verse.",
            "Through the fog at {p} came {a}'s voice with '{x}'.",
            "They had to ask twice, but then {a} gave them '{x}' at {p}, hand on heart.",
            "'{x}' was what {a} sang at {p}, half a tone flat.",
        ],
        "fact": "{a} performed the ballad '{x}' as music",
        "inf": "perform a ballad",
        "ask": {"x": "Which ballad did {a} perform?", "p": "On which premises did {a} perform a ballad?"},
    },
    "omen": {
        "tell": [
            "At {p} {a} saw {x}, and crossed {himself}.",
            "{a} swore that there had been {x} over {p}, clear as day.",
            "As {a} came by {p} there was {x}; {he} stood still till it had passed.",
            "Nobody believed in {x}, but {a}, who was at {p}, had it before {his} eyes.",
        ],
        "fact": "{a} witnessed the uncanny sight of {x}",
        "inf": "witness something uncanny",
        "ask": {"x": "What uncanny sight did {a} witness?", "p": "In what location did {a} witness something uncanny?"},
    },
    "fall": {
        "tell": [
            "{a} missed a step at {p} and came down on {his} {x}.",
            "The ladder slipped at {p}, and {a} went home with {his} {x} in a bandage.",
            "On the wet stones of {p} {a}'s feet went from under {him}, and {his} {x} took the worst of it.",
            "They carried {a} from {p} on a shutter, groaning about {his} {x}.",
        ],
        "fact": "{a} hurt one {x} in an accident",
        "inf": "get hurt in an accident",
        "ask": {
            "x": "Which part of the body did {a} hurt in an accident?",
            "p": "What was the scene of {a}'s accident?",
        },
    },
    "plant": {
        "tell": [
            "{a} set a row of {x} along the wall of {p}.",
            "With a dibber and a bucket {a} put {x} into the bed at {p}.",
            "There would be {x} at {p} in spring: {a} had been on {his} knees there all morning.",
            "{a} raked the soil at {p} fine as flour and pressed {x} into it.",
        ],
        "fact": "{a} grew {x} by gardening",
        "inf": "do some gardening",
        "ask": {"x": "What did {a} grow when gardening?", "p": "Which location has {a}'s gardening to thank?"},
    },
    "catch": {
        "tell": [
            "{a} came up from {p} with {x} kicking in a sack.",
            "It took {a} half the night at {p}, but then {x} was in the net.",
            "By {p} {a} threw {his} coat over {x} and sat down on the coat.",
            "{a} had set a snare behind {p}, and in the morning there was {x} in it.",
        ],
        "fact": "{a} trapped {x} alive",
        "inf": "trap an animal",
        "ask": {"x": "Which animal did {a} trap?"},
    },
    "cook": {
        "tell": [
            "{a} ladled out {x}, and {b} had three helpings.",
            "The smell of {x} brought {b} to {a}'s door, and {bhe} was let in.",
            "{a} burned {his} thumb over {x}, but {b} licked the spoon.",
            "On {a}'s table that day stood {x}, and {b} was asked to sit down to it.",
        ],
        "fact": "{a} prepared a meal of {x} with {b} as a guest",
        "inf": "prepare a meal",
        "ask": {"x": "What meal did {a} prepare?", "b": "Which guest ate a meal that {a} had prepared?"},
    },
    "dream": {
        "tell": [
            "{a} woke in a sweat: it had been {x} again.",
            "All night {x} went round in {a}'s sleep, and at breakfast {he} told it.",
            "When {a} shut {his} eyes there was {x}, as real as the bedpost.",
            "'I was lying quite still,' said {a}, 'and then came {x}, and I could not wake.'",
        ],
        "fact": "{a} had a nightmare about {x}",
        "inf": "have a nightmare",
        "ask": {"x": "What was {a}'s nightmare about?"},
    },
    "sleep": {
        "tell": [
            "{a} lay that night on sacks at {p}, with {his} boots for a pillow.",
            "Till cockcrow {a} was stretched out on the floor of {p}, and nobody sent {him} off.",
            "{a} did not go home; they found {him} in the morning at {p}, wrapped in a tarpaulin.",
            "At {p} somebody had left a blanket, and there {a} stayed until it was light.",
        ],
        "fact": "{a} spent the hours of darkness at {p}",
        "inf": "spend the hours of darkness away from bed",
        "ask": {"p": "Which location served {a} as a makeshift bedroom?"},
    },
    "pray": {
        "tell": [
            "{a} lit a candle at {p} for {x} and moved {his} lips.",
            "Down on the cold floor of {p} went {a}, on account of {x}.",
            "'For {x},' murmured {a} at {p}, and bowed {his} head upon {his} hands.",
            "{a} was seen on {his} knees at {p}, and the reason was {x}.",
        ],
        "fact": "{a} asked heaven for help about {x}",
        "inf": "ask heaven for help",
        "ask": {
            "x": "About what did {a} ask heaven for help?",
            "p": "From which location did {a} ask heaven for help?",
        },
    },
    "travel": {
        "tell": [
            "{a} took the early coach to {x} and was away for two days.",
            "There was business in {x}, said {a}, and {he} was gone before the shutters opened.",
            "{a} came home from {x} with mud to the axle and nothing to say.",
            "A ticket for {x} was in {a}'s hat, and {he} caught the coach with a minute in hand.",
        ],
        "fact": "{a} made a journey to the town of {x}",
        "inf": "make a journey to another town",
        "ask": {"x": "Which other town was the goal of {a}'s journey?"},
    },
    "count": {
        "tell": [
            "{a} went through the stock at {p} and made it {n} {x}, neither more nor less.",
            "'{n} {x},' wrote {a} in the book at {p}, and underlined it.",
            "There ought to have been more at {p}, but {a} could bring it only to {n} {x}.",
            "Twice {a} reckoned up the {x} at {p}, and twice the tally was {n}.",
        ],
        "fact": "{a} did an inventory that listed {n} {x}",
        "inf": "do an inventory",
        "ask": {"n": "What total resulted from {a}'s inventory?", "x": "What kind of goods did {a}'s inventory list?"},
    },
    "paint": {
        "tell": [
            "{a} gave the shutters of {p} two coats of {x}.",
            "The gate at {p} was {x} when {a} put the brush away.",
            "{a} stood back from the wall of {p}, {x} to the elbows.",
            "With a pot of {x} and a short ladder {a} went over every board of {p}.",
        ],
        "fact": "{a} decorated a building in the new colour of {x}",
        "inf": "decorate a building in a new colour",
        "ask": {
            "x": "What colour did {a} choose for decorating a building?",
            "p": "Which building did {a} decorate in a new colour?",
        },
    },
    "ill": {
        "tell": [
            "{a} took to {his} bed with {x} and saw nobody.",
            "It was {x}, said the doctor, and {a} must keep warm.",
            "{x} laid {a} low, just when {he} could least afford it.",
            "'Only {x},' said {a}, and then the cup fell from {his} hand.",
        ],
        "fact": "{a} suffered from {x} as a medical complaint",
        "inf": "suffer from a medical complaint",
        "ask": {"x": "From what medical complaint did {a} suffer?"},
    },
    "vow": {
        "tell": [
            "{a} laid a hand on the book at {p} and swore off {x} for ever.",
            "'Never again {x},' said {a} at {p}; and those who knew {him} smiled.",
            "From that hour, so {a} declared at {p}, there would be no more {x}.",
            "{a} made a knot in {his} handkerchief at {p}: it stood for giving up {x}.",
        ],
        "fact": "{a} resolved to abstain from {x}",
        "inf": "resolve to abstain from a pleasure",
        "ask": {"x": "From what did {a} resolve to abstain?"},
    },
    "read": {
        "tell": [
            "{a} sat at {p} over a torn copy of '{x}' and forgot the time.",
            "By the one good lamp at {p} {a} went through '{x}' to the last page.",
            "'{x}' was open on {a}'s lap at {p}, and {his} finger moved along the lines.",
            "{a} had got hold of '{x}', and at {p} {he} gave out whole chapters aloud.",
        ],
        "fact": "{a} studied the volume '{x}' as literature",
        "inf": "study a volume of literature",
        "ask": {
            "x": "Which volume of literature did {a} study?",
            "p": "On what premises did {a} study a volume of literature?",
        },
    },
    "ring": {
        "tell": [
            "{a} hung on the rope at {p} till the whole town was awake.",
            "It was {a} who set the bell going at {p}, long after hours.",
            "At {p} the clapper swung, and below it, out of breath, was {a}.",
            "Nine strokes came from {p}, and then a tenth, for {a} could not count.",
        ],
        "fact": "{a} sounded an alarm over the roofs",
        "inf": "sound an alarm",
        "ask": {"p": "Where did {a} sound an alarm?"},
    },
    "trip": {
        "tell": [
            "{a} rowed out past {p} with {b}, and they were back before the tide.",
            "{a} had the flat boat out from {p}, with {b} on the cushions, and drifted until noon.",
            "'Sit still and let me row,' said {a} to {b}; and {p} grew small behind them.",
            "There were two in the boat off {p}: {a} at the oars and {b} in the stern.",
        ],
        "fact": "{a} took {b} on a trip by water",
        "inf": "take someone on a trip by water",
        "ask": {"b": "Who was {a}'s passenger on a trip by water?"},
    },
    # ---- told in one breath: two steps, a list, a dispute -------------------------------------------------------
    "relay": {
        "tell": [
            "{a} trusted {b} with {o}, and before the hour was out {b} had carried it to {q} and left it there.",
            "From {a} {o} went to {b}, and {b}, who wanted no part of it, set it down at {q}.",
            "{a} handed {o} over to {b}; and {b} took it straight to {q}, where it stayed.",
            "{b} got {o} of {a}, walked with it to {q}, and came back with empty hands.",
        ],
        "fact": "by way of {b}, {o} got from {a} to its resting point at {q}",
        "inf": "send a belonging along by someone else",
        "ask": {"q": "After {a} had let it out of sight, what was the resting point of {o}?"},
    },
    "bill": {
        "tell": [
            "The stallkeeper wrote it down for {a}: {goods}.",
            "In {a}'s basket at {p} lay {goods}.",
            "{a} had brought a list to {p} and came away with {goods}.",
            "What {a} carried home from {p} was soon told: {goods}.",
        ],
        "fact": "{a}'s errand resulted in {n} articles altogether",
        "inf": "run an errand for articles",
        "ask": {"n": "How many articles, all kinds added up, did {a}'s errand result in?"},
    },
    "dispute": {
        "tell": [
            "At {p} {a} and {b} each claimed {o}. {a} said that it had been {his} mother's; {b} said that it was bought at "
            "the fair. They turned it over under the lamp, and there, scratched small, were {mark}.",
            "'Mine since I was a child,' said {a} of {o}. 'Mine since the fair,' said {b}. The landlord of {p} held it to "
            "the light and read out what was cut into it: {mark}.",
            "{b} would not give up {o}, nor would {a}, and half the company at {p} took sides. Then somebody rubbed away the "
            "dirt, and one could make out {mark}.",
            "Two hands were upon {o} at {p}, {a}'s and {b}'s, and two stories were told about it. What the thing itself "
            "told was shorter: {mark}, under the rim.",
        ],
        "fact": "of the two who wrangled over {o}, {w} was in the right",
        "inf": "wrangle over a belonging",
        "ask": {"w": "Of the two who wrangled over {o}, who was in the right?"},
    },
    "contest": {  # a dispute told in three places of one scene
        "tell": [
            "{a} had seen {o} on the shelf and claimed it at once: it had been {his} grandmother's.",
            "'That is mine,' said {a} of {o}, and laid {his} hand upon it.",
            "{a} wanted {o} back, which {he} said had been taken from {him} years ago.",
            "For {a} there was no doubt that {o} belonged to {him}.",
        ],
        "second": [
            "{b} laughed at that. {b} had had {o} since the flood, and could name the day.",
            "But {b} held on to {o} and said that nobody else had owned it since the flood.",
            "{b} would have none of it: {o} had come to {bhim} from a sailor, and was paid for.",
            "'Never,' said {b}. 'It has stood in my window these ten years.'",
        ],
        "mark": [
            "In the end they turned {o} upside down. Scratched into it were {mark}.",
            "Someone thought to look underneath {o}, and there, very small, were {mark}.",
            "It was settled when {o} was cleaned with sand and one could read {mark} on it.",
            "A glass was held over {o}, and the glass showed {mark}.",
        ],
        "fact": "of the two rivals for {o}, {w} was its rightful keeper",
        "inf": "be a rival over a possession",
        "ask": {"w": "Of the two rivals for {o}, who was its rightful keeper?"},
    },
    "gathering": {
        "tell": [
            "{a} had laid the long table at {p} that day.",
            "That day {a} kept open house at {p}.",
            "{a} had asked people to table at {p} that day.",
            "There was to be a dinner at {p} that day, with {a} at the head of the table.",
        ],
        "arrive": [
            "{b} was at the door before the soup was hot.",
            "{b} came in stamping off the wet.",
            "Then {b} walked in, with a jar of something under {bhis} arm.",
            "{b} came late and made no excuse.",
            "Next it was {b}, who kissed nobody and sat down.",
            "A chair was pulled up for {b}, who had not been expected.",
            "{b} slipped in by the kitchen and was at table before anyone noticed.",
            "With a great deal of noise {b} arrived.",
        ],
        "fact": "{a} entertained {n} visitors at one party",
        "inf": "give a party",
        "ask": {"n": "How many visitors, the giver not included, were at the party that {a} gave?"},
    },
}

# ---- the crime: what was found (a trace), and what ties a person to it (a tie) --------------------------------------
CRIMES = {
    "murder_blow": {
        "tell": [
            "{b} was found at {p} before sunrise, struck down from behind, and past all help.",
            "When they opened {p} in the grey of the morning, {b} lay on the floor, dead of one blow.",
            "{b} had gone to {p} alone the evening before. Now {bhe} lay there cold, and the lamp had burned dry.",
            "It was at {p} that they found {b}, face down, killed by a single blow.",
        ],
        "title": "the killing of {b}",
        "fact": "{b} was murdered at {p}",
    },
    "murder_poison": {
        "tell": [
            "{b} sat at {p} with the cup before {bhim}, as if asleep; but {bhe} was dead, and the cup smelled of almonds.",
            "They thought that {b} had dozed off at {p}. The doctor sniffed at the glass and shook his head: poison.",
            "In the grey of the morning {b} was found at {p}, poisoned, with the bread untouched.",
            "{b} never rose from the table at {p}. There was poison in the dregs, and a great silence in the house.",
        ],
        "title": "the poisoning of {b}",
        "fact": "{b} was murdered at {p}",
    },
    "theft": {
        "tell": [
            "In the grey of the morning {b} opened the strongbox at {p} and found it empty: {o} was gone.",
            "{b} cried out so that everyone at {p} came running. The lid stood up, the velvet was bare, and {o} had vanished.",
            "{o}, which {b} had guarded at {p} for twenty years, was not in its case at sunrise.",
            "Somebody had been at {p} in the night, and when {b} came to dust the case, {o} was no longer in it.",
        ],
        "title": "the theft of {o}",
        "fact": "{o} was robbed from {b} at {p}",
    },
    "arson": {
        "tell": [
            "{b}'s half of {p} burned to the beams in the night, with all that {bhe} had in it.",
            "By sunrise there was nothing left of {b}'s store at {p} but black posts; and oil does not spill itself.",
            "They passed buckets until the grey of the morning; {p} stood, but {b}'s store did not. 'This was lit,' said {b}.",
            "{b} stood before what had been {bhis} half of {p}. Someone had poured oil there in the night and lit it.",
        ],
        "title": "the fire at {p}",
        "fact": "{b}'s goods at {p} were burned on purpose",
    },
}

CLUES = {
    "hand": {
        "trace": [
            "The bolt had been forced from the left, said the locksmith, as only a left-handed person would stand to it.",
            "All the marks on the wood slanted one way: whoever held the tool held it in the left hand.",
            "The constable tried it himself, with his right, and could not do it; it was the work of a left hand.",
            "'Look at the scratches,' said the locksmith. 'A left hand made those, or I am no judge.'",
        ],
        "tie": [
            "{a} took the pen in {his} left hand, as {he} had from a child, and signed.",
            "{a} cut the loaf left-handed, and the slices came out crooked for the others.",
            "As always {a} dealt with the left hand, which put everyone out.",
            "The schoolmaster had beaten {a} for it in vain: {he} wrote with {his} left hand to this day.",
        ],
        "fact": "{a} favours the side of the heart",
        "about": "the favoured side",
    },
    "clay": {
        "trace": [
            "There were smears of red clay on the sill, and red clay is dug only at the brick pits.",
            "On the floor was a print in red clay, still damp; it could have come from nowhere but the brick pits.",
            "Red clay, such as they have at the brick pits and nowhere else, lay in crumbs under the window.",
            "The constable scraped red clay from the step into an envelope, and wrote on it: brick pits.",
        ],
        "tie": [
            "{a} had been at the brick pits that same evening, for the carter met {him} coming up the path.",
            "On the evening before it happened {a} was seen to climb the fence of the brick pits.",
            "{a} went down to the brick pits towards dusk that day, and would not say for what.",
            "The boy who minds the kiln said that {a} had walked across the brick pits at nightfall, just that evening.",
        ],
        "fact": "{a} had gone where earth for walls is got",
        "about": "the coloured earth",
    },
    "key": {
        "trace": [
            "The lock was not hurt. Whoever came in had turned the small iron key, or a copy of it.",
            "No window was broken and no hinge was sprung: somebody had used the small iron key.",
            "The locksmith found the lock well oiled and whole. 'Opened with the small iron key,' he said.",
            "The door had been locked again behind the visitor, which takes the small iron key.",
        ],
        "tie": [
            "The small iron key had hung for a night in {a}'s kitchen, where it had no business.",
            "{a} had had the small iron key in wax, and the wax was still in {his} drawer.",
            "It was {a} who kept the small iron key over the feast days, and was slow to give it up.",
            "A copy of the small iron key was on {a}'s ring, between the cellar and the gate.",
        ],
        "fact": "{a} had the means of entry",
        "about": "the means of entry",
    },
    "dog": {
        "trace": [
            "The yard dog, which flies at strangers, had not barked once all night.",
            "What puzzled the constable was the yard dog: it had slept, as it does only for those who feed it.",
            "Nobody had heard the yard dog, and the yard dog is silent for its friends alone.",
            "The yard dog had let the visitor pass. It does that for one who has fed it, and for no one else.",
        ],
        "tie": [
            "{a} saved the bacon rind for the yard dog, which came to {him} like a lamb.",
            "Every second day {a} had something in {his} pocket for the yard dog.",
            "The yard dog rolled on its back for {a}, who was seldom without a bone for it.",
            "{a} scratched the yard dog behind the ears; it had long been eating from {his} hand.",
        ],
        "fact": "{a} was on good terms with the watch animal",
        "about": "the silence of the watch animal",
    },
    "wool": {
        "trace": [
            "A thread of green wool hung on the nail by the door.",
            "Caught in the latch was a tuft of green wool, freshly torn.",
            "The constable picked a wisp of green wool from the hinge and held it to the light.",
            "Between two boards a few strands of green wool had stayed behind.",
        ],
        "tie": [
            "{a} wore the green wool scarf that {his} aunt had knitted, and wore it in all weathers.",
            "{a}'s green wool stockings were a joke in the town.",
            "There was a hole in {a}'s green wool sleeve, which {he} hid with {his} other hand.",
            "{a} sat in the corner in {his} green wool jacket, picking at a loose end.",
        ],
        "fact": "{a} owned a garment of a matching fibre",
        "about": "the snagged fibre",
    },
    "cloves": {
        "trace": [
            "A smell of cloves hung in the room, though nobody had baked.",
            "The constable put his nose to the curtain. 'Cloves,' he said, and wrote it down.",
            "On the boards lay a chewed clove, and then another.",
            "Whoever had waited behind the curtain had left the air full of cloves.",
        ],
        "tie": [
            "{a} chewed cloves against the toothache, and one knew it three steps off.",
            "{a} kept a tin of cloves in {his} waistcoat and offered it round; nobody took any.",
            "As {a} leaned over there came that whiff of cloves which went with {him} everywhere.",
            "'You and your cloves,' they said to {a}, who slipped another between {his} teeth.",
        ],
        "fact": "{a} habitually had a certain spice in the mouth",
        "about": "the scent of spice",
    },
    "debt": {
        "trace": [
            "One page had been cut from {v}'s account book: the page of those who owed.",
            "Of all {v}'s papers only the list of debtors was missing.",
            "{v}'s account book lay open, and the leaf with the debtors' names was gone.",
            "Nothing else of {v}'s had been touched, only the sheet on which the debts stood.",
        ],
        "tie": [
            "{a} owed {v} more than {he} could pay, and both of them knew it.",
            "There was a bond for sixty pounds between {v} and {a}, and {a} had signed it.",
            "Quarter day after quarter day {a} had put {v} off with promises about the money.",
            "{v} had {a}'s note of hand, long past its day, and had begun to ask for it.",
        ],
        "fact": "{a} was in arrears with the victim",
        "about": "the absent folio",
    },
    "paper": {
        "trace": [
            "The note that had lured the watchman off was on blue paper, of a kind that costs.",
            "In the grate was a corner of blue paper, not quite burned.",
            "The watchman had been called away by a few lines on blue paper, without a name.",
            "A scrap of blue paper, torn in two, lay behind the door.",
        ],
        "tie": [
            "{a} bought blue paper by the quire and thought it genteel.",
            "{a} wrote all {his} bills on blue paper, which the town laughed at.",
            "On {a}'s desk was a sheaf of blue paper, with the top sheet gone.",
            "{a} folded a piece of blue paper into a boat for the child; {he} had plenty of it.",
        ],
        "fact": "{a} used tinted stationery",
        "about": "the tinted stationery",
    },
    "boat": {
        "trace": [
            "There was a keel mark in the mud below: somebody had come by water and gone by water.",
            "The visitor had not used the road, for the gate was watched; there were oar marks on the bank.",
            "A boat had been drawn up in the reeds that night, and pushed off again before light.",
            "The reeds below the wall were pressed flat in the shape of a boat.",
        ],
        "tie": [
            "{a}'s boat was not at its ring that night; the ferryman had noticed the loose chain.",
            "Towards midnight {a} had untied {his} boat, and {his} oars were still wet in the morning.",
            "The ferryman saw {a} in {his} boat that night, without a light.",
            "{a} had taken {his} boat out that night, and came home by the back stairs.",
        ],
        "fact": "{a} was afloat at the time",
        "about": "the means of arrival",
    },
    "limp": {
        "trace": [
            "The prints in the ash were uneven: a long step, a short step, a long step.",
            "One shoe had dragged. Whoever it was had walked lame.",
            "The watchman had seen nobody, but heard a lame step upon the gravel.",
            "In the dust ran a line beside every second footmark, as a lame leg draws it.",
        ],
        "tie": [
            "{a} dragged one leg a little since the winter, when the weather changed.",
            "One always heard {a} coming: a long step, a short step.",
            "{a} leaned on the rail, for {his} leg was lame and the stairs were many.",
            "{a} walked lame that week and said it was the damp.",
        ],
        "fact": "{a} had an irregular gait",
        "about": "the gait",
    },
}
