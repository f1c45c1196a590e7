"""Names and words of the storyworld, in English. The Chinese lists have the same keys and the same lengths."""

WOMEN = (
    "Mabel Letitia Agnes Hester Dorcas Philippa Rosamund Judith Harriet Winifred Cecily Beatrice Tabitha Susannah Lavinia "
    "Edith Marian Sibyl Phoebe Clemence Ursula Isobel Petronella Gwendolen Annis Thomasina Leonora Bridget Honora Minerva "
    "Drusilla Eleanor Flora Georgina Henrietta Imogen Jemima Keziah Lucinda Mildred Nerissa Olivia Pernel Rachel Selina "
    "Theodora Veronica Wilhelmina Adelaide Blanche Cordelia Damaris Euphemia Fenella Griselda Hilda Ida Josephine "
    "Kathleen Lydia"
).split()
MEN = (
    "Tobias Ambrose Barnaby Cuthbert Dunstan Everard Fergus Gilbert Hugo Ignatius Jasper Kenelm Lambert Matthias Nathaniel "
    "Osbert Percival Quentin Roderick Silas Thaddeus Valentine Wilfred Augustin Benedict Conrad Dominic Edmund Felix Gervase "
    "Humphrey Isaac Jerome Kilian Leopold Marmaduke Nicholas Oswald Piers Ralph Simeon Timothy Ulric Vincent Walter Anselm "
    "Basil Clement Desmond Ezekiel Francis Godfrey Horatio Ivo Jonas Laurence Mungo Norbert Orlando Phineas"
).split()
FAMILIES = (
    "Thorne Hallam Pettigrew Marsh Quarles Ottway Drewitt Fenwick Lovell Cardew Ashby Borrow Sallow Tremlett Wragge Yeo "
    "Kettle Dunmore Strand Vane Prowse Gale Hartnoll Inchbald Jessop Larkin Mounsey Northcott Oakes Penhale Rudge Stiles "
    "Tolliver Underhay Vosper Winch Arkell Bagshaw Crewe Dacre"
).split()
TOWNS = (
    "Saltmere Wexcombe Harrowick Candleford Greywater Ottermouth Fallowby Stonehithe Merrow Penwick Larkhampton Dunsey "
    "Brackwater Hollinsea Cresswick Thornaby Ebbsworth Kingsferry Marlstone Winterbourne"
).split()

TRADES = {  # key: what people call it; a book gives each to one person
    key: key.replace("_", " ")
    for key in (
        "apothecary baker barber beekeeper bell_founder blacksmith boatbuilder bookbinder brewer butcher button_maker "
        "candlemaker charcoal_burner clockmaker cobbler confectioner cooper cutler draper dyer "
        "engraver farrier fiddler fishmonger gardener glazier glover goldsmith grocer gunsmith harbour_master "
        "hatter herbalist innkeeper ironmonger joiner lacemaker librarian lighthouse_keeper "
        "map_maker mason midwife miller milliner notary organist papermaker pewterer piano_tuner plasterer "
        "postmaster potter printer ropemaker saddler schoolteacher sexton ship_chandler silversmith spice_merchant "
        "stationer stonecutter tailor tanner thatcher tinsmith tobacconist toymaker upholsterer "
        "vintner weaver wheelwright wigmaker woodcarver".split()
    )
}

GUISES = {  # what a person is called where the name is not: disguises and bynames
    "f": [
        "the veiled widow",
        "the woman in the pilgrim's cloak",
        "the painted fortune-teller",
        "Mother Candle",
        "the girl in breeches",
        "the lady with the borrowed title",
        "Black Peg",
        "the nameless nun",
        "the old woman with the goose",
        "the Duchess of Nowhere",
        "the masked singer",
        "the washerwoman from over the river",
    ],
    "m": [
        "the man in the sailcloth hood",
        "Old Salt",
        "the blind beggar",
        "the pedlar with the false beard",
        "the so-called Curate",
        "the bespectacled stranger",
        "Captain Nobody",
        "the booted monk",
        "the gentleman in yellow",
        "Long Shadow",
        "the scarecrow fiddler",
        "the foreign count",
    ],
}

QUALIFIERS = (
    "old upper lower north drowned crooked bishop's widow's broken long green silent copper fishers' whitewashed"
).split()
PLACES = {  # key: (name, other words for it)
    "mill": ("mill", "building where corn is ground"),
    "chapel": ("chapel", "house of worship"),
    "quay": ("quay", "place where ships unload"),
    "inn": ("inn", "public house"),
    "market": ("market hall", "building full of stalls"),
    "bridge": ("bridge", "crossing above the river"),
    "tower": ("tower", "tallest of the town's structures"),
    "granary": ("granary", "store for corn"),
    "laundry": ("laundry", "place where linen is washed"),
    "orchard": ("orchard", "garden of fruit trees"),
    "theatre": ("theatre", "playhouse"),
    "school": ("school", "place of lessons"),
    "forge": ("forge", "workshop with the anvil"),
    "cemetery": ("cemetery", "resting place of the dead"),
    "lighthouse": ("lighthouse", "guide of sailors"),
    "bathhouse": ("bathhouse", "place to soak and scrub"),
    "stables": ("stables", "quarters of the horses"),
    "brewery": ("brewery", "place where beer is made"),
    "almshouse": ("almshouse", "refuge of the poor"),
    "library": ("library", "collection of printed volumes"),
    "tannery": ("tannery", "place where hides are cured"),
    "ropewalk": ("ropewalk", "shed where hemp is twisted"),
    "pump": ("pump room", "hall with the mineral spring"),
    "hospital": ("hospital", "ward for invalids"),
    "customs": ("customs house", "office of import duty"),
    "glasshouse": ("glasshouse", "heated shelter of tropical flowers"),
}

ADJECTIVES = (
    "silver brass painted ivory cracked tarnished black carved little heavy enamelled plain gilded battered blue crimson "
    "worn polished foreign dented"
).split()
OBJECTS = {  # key: (name, other words for it)
    "thimble": ("thimble", "the sewing finger's cap"),
    "lantern": ("lantern", "the portable light"),
    "compass": ("compass", "the instrument that tells north"),
    "clock": ("clock", "the household timepiece"),
    "mirror": ("looking-glass", "the reflector of faces"),
    "flute": ("flute", "the wind instrument"),
    "kettle": ("kettle", "the vessel that boils"),
    "locket": ("locket", "the case for a curl"),
    "snuffbox": ("snuffbox", "the container for powdered tobacco"),
    "knife": ("penknife", "the folding blade"),
    "spyglass": ("spyglass", "the seafarer's telescope"),
    "doll": ("doll", "the child's toy figure"),
    "drum": ("drum", "the percussion instrument"),
    "inkstand": ("inkstand", "the writer's desk piece"),
    "comb": ("comb", "the untangler of tresses"),
    "bell": ("handbell", "the tinkling caller"),
    "candlestick": ("candlestick", "the taper holder"),
    "chess": ("chessboard", "the sixty-four squares"),
    "umbrella": ("umbrella", "the protection from showers"),
    "globe": ("globe", "the round model of the earth"),
    "teapot": ("teapot", "the pouring vessel"),
    "violin": ("violin", "the bowed instrument"),
    "ring": ("signet ring", "the jewel for sealing"),
    "saddle": ("saddle", "the rider's seat"),
    "barometer": ("barometer", "the weather gauge"),
    "quilt": ("quilt", "the patchwork bedcover"),
    "chain": ("watch-chain", "the waistcoat ornament"),
    "fan": ("fan", "the cooler of hot cheeks"),
    "hourglass": ("hourglass", "the measure with running sand"),
    "pistol": ("pistol", "the firearm"),
    "medal": ("medal", "the award for bravery"),
    "birdcage": ("birdcage", "the finch's prison"),
    "razor": ("razor", "the shaver"),
    "goblet": ("goblet", "the stemmed drinking vessel"),
    "brooch": ("brooch", "the pinned ornament"),
    "anchor": ("toy anchor", "the miniature mooring iron"),
    "scales": ("pair of scales", "the weighing device"),
    "trumpet": ("ear-trumpet", "the aid of the deaf"),
    "psalter": ("psalter", "the volume of holy songs"),
    "sampler": ("sampler", "the framed needlework"),
}
TREASURES = [
    "the bishop's emerald",
    "the Lammas cup",
    "the pearl of the guild",
    "the founder's sceptre",
    "the pilgrim's crown",
]

WORDS = {  # the slot {x} of each kind
    "teach": "lacemaking|navigation|Latin|fencing|bookkeeping|knot-tying|astronomy|wood carving|shorthand|the harpsichord",
    "hire": "cleaning the well|carting hay|copying deeds|mending nets|keeping the gate|sweeping chimneys|whitewashing|"
    "minding the geese|digging a drain|stacking barrels",
    "confess": "a child put out to nurse|a forged will|a marriage in another county|three years in gaol|a false name|"
    "a ship sunk for the insurance|desertion from the army|a stolen sermon|a poisoned horse|a burned testament",
    "sing": "The Drowned Fiddler|Nine Mile Bridge|My Love Went Over the Salt|The Miller's Wager|Harvest Home Again|"
    "The Widow of the Weir|Cold Blows the Morning|The Tinker and the Queen|Seven Grey Geese|Farewell to the Lamp",
    "omen": "a white hare|a ship without a crew|two moons|a hearse with no horses|a burning wheel|a headless drummer|"
    "a black swan|a rain of feathers|a lady in green flame|a dog that spoke",
    "fall": "wrist|forearm|shoulder|collarbone|cheekbone|elbow|hand|thumb",
    "plant": "leeks|tulips|raspberries|beans|lavender|marigolds|pear saplings|garlic|foxgloves|sweet peas",
    "catch": "a pike|an otter|a badger|a goshawk|a hedgehog|an eel|a fox cub|a heron|a stoat|a salmon",
    "cook": "pigeon pie|barley broth|stewed eels|plum duff|onion tart|mutton hash|crab soup|rice pudding|fried herring|"
    "apple dumplings",
    "dream": "a flooded staircase|a room without doors|a horse with hands|teeth falling like hail|a funeral of clocks|"
    "an endless bridge|a crowd without faces|snow in the bedroom|a talking well|a burning wedding dress",
    "pray": "rain|a ship overdue|an unborn child|a bad conscience|a lawsuit|the soul of a brother|a sick cow|"
    "a safe crossing|a good price|forgiveness",
    "travel": "Aldport|Norwell|Castle Brede|Tamsford|Great Orme|Lyddon|Sarnwick|Hexmouth|Pole Abbey|Rushy Cross",
    "count": "barrels of tar|sacks of malt|coils of rope|bolts of linen|casks of vinegar|boxes of tallow|hymn books|"
    "crates of glass|bales of wool|sheets of lead",
    "paint": "ochre|sea green|ox-blood red|white lead|sky blue|mustard yellow|slate grey|violet|tar black|salmon pink",
    "ill": "the quinsy|a tertian ague|shingles|the gout|pleurisy|scarlet fever|the mumps|sciatica|jaundice|a putrid throat",
    "vow": "brandy|snuff|dice|red meat|gossip|oysters|dancing|pipe tobacco|swearing|horse races",
    "read": "The Complete Farrier|A Voyage to the Ice|Sermons for Sailors|The Castle of Malvern|On the Cure of Bees|"
    "Lives of the Pirates|The Lady's Herbal|A Treatise on Tides|The Orphan of Prague|Letters from a Gaol",
    "bill": "candles|spools of thread|eggs|herrings|nails|lemons|buttons|bread rolls|corks|onions|needles|cakes of soap",
}
WORDS = {kind: words.split("|") for kind, words in WORDS.items()}

HABITS = [  # after a name, in the past tense; many share them
    "counted the steps under {his} breath",
    "hummed a psalm",
    "bit {his} thumbnail",
    "turned a coin over and over",
    "tugged at {his} ear",
    "wound a watch that did not go",
    "smoothed {his} gloves",
    "sucked a liquorice root",
    "whistled through {his} teeth",
    "polished {his} spectacles",
    "cracked {his} knuckles",
    "looked behind {him} at every corner",
    "knotted and unknotted a bit of string",
    "spoke to the cat first",
    "touched wood",
    "blinked as if at strong light",
]
LOOKS = [
    "tall and stooped",
    "broad in the shoulder",
    "small and quick",
    "freckled to the wrists",
    "grey before {his} time",
    "pale, with a scar at the chin",
    "round-faced and short of breath",
    "thin as a lath",
    "dark-browed",
    "red-haired",
    "hollow in the cheek",
    "loud and handsome",
]
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
WEEKS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
).split()
HOURS = ["early", "in the forenoon", "at noon", "in the afternoon", "at dusk", "after dark"]
NUMBERS = (
    "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty twenty-one twenty-two twenty-three twenty-four twenty-five twenty-six twenty-seven twenty-eight "
    "twenty-nine thirty"
).split()
REFRAINS = [
    ("Far off the tide bell struck, and the chapter of that day was closed.", "the stroke of the tide bell"),
    (
        "And above the roofs the weathercock creaked, as it did at the end of everything.",
        "the creak of the weathercock",
    ),
    (
        "Then the night coach blew its horn upon the hill, and there was no more to be done.",
        "the horn of the night coach",
    ),
    ("Down by the water a heron cried once, as if to sign its name to the day.", "the cry of a heron"),
    ("Somewhere a shutter banged three times, and the town took that for good night.", "the banging of a shutter"),
    ("The lamplighter's song went by under the windows, and that was the last of it.", "the song of the lamplighter"),
]
KIN = {  # what a person is to the other: (woman, man)
    "sibling": ("sister", "brother"),
    "parent": ("mother", "father"),
    "child": ("daughter", "son"),
    "spouse": ("wife", "husband"),
    "cousin": ("cousin", "cousin"),
    "nibling": ("niece", "nephew"),
}
