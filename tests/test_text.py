"""Documents, splitters and `locate`: properties on any text, then a play, then bad input."""

import random
import re
import string
import unicodedata
from functools import partial
from itertools import pairwise

import pytest
import sentencex
from extras import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from mindscape import assets
from mindscape.corpora import shakespeare
from mindscape.text import Chunk, Document, Span, folded, locate, sentences, split_sentences, split_tokens, windows

# Pieces that are awkward to cut, to fold or to find, in two languages.
PIECES = [
    *["word", " ", "  ", "\n", "\r\n", "\r", "\t", "Mr. Page.", "Stop!", "“Ay,” he said.", "-", "—", "...", "'"],
    *["林黛玉", "他来了吗？", "没有。", "，", "　", "１２", "𠮷"],
    *["e\u0301", "\u0301", "ﬁ", "ß", "İ", "각", "👩\u200d🔬", "👍🏽", "❤\ufe0f", "\u200d", "😀"],
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)
sizes = st.tuples(st.integers(1, 12), st.integers(0, 11)).filter(lambda pair: pair[1] < pair[0])


@pytest.fixture(scope="module")
def wordpieces():
    """A tokenizer of the other kind: it drops blanks and folds case."""
    return AutoTokenizer.from_pretrained(assets.fetch("minilm"))


@pytest.fixture(scope="module")
def macbeth():
    return shakespeare.play("macbeth")


def length(text, tokenizer):
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def assert_no_character_is_cut(text, places):
    borders = {span.start for span in characters(text)} | {len(text)}
    assert {place.start for place in places} | {place.end for place in places} <= borders


# Documents


def test_a_document_gives_the_text_of_its_places_and_of_no_others():
    document = Document("note", "To be, or not to be")
    assert document[Span(0, 5)] == "To be"
    assert document[Chunk("note", 0, 7, 9)] == "or"
    refused(lambda: document[Span(15, 20)], "19 characters: it has no place 15:20")
    refused(lambda: document[Span(-2, 3)], "no place -2:3")
    refused(lambda: document[Chunk("other", 0, 0, 2)], "'other': expected one of 'note'")


def test_a_document_is_hashable_and_refuses_half_a_character():
    assert len({Document("a", "text", meta={"title": "A"}), Document("a", "text")}) == 1
    refused(lambda: Document("broken", "abc\ud83d"), "character 3 is half of a surrogate pair")


# Splitting


@pytest.mark.parametrize("split", [split_tokens, split_sentences])
@pytest.mark.parametrize("kind", ["tokenizer", "wordpieces"])
@settings(max_examples=150)
@given(text=texts, pair=sizes, language=st.sampled_from(["en", "zh"]))
@example(text="", pair=(1, 0), language="en")
@example(text="\u0301\u0301", pair=(1, 0), language="en")
@example(text="word", pair=(1200, 100), language="en")
def test_chunks_cover_the_text_in_order(request, split, kind, text, pair, language):
    tokenizer = request.getfixturevalue(kind)
    document, (size, overlap) = Document("any", text, language), pair
    chunks = split(document, tokenizer, size, overlap)
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert_no_character_is_cut(text, chunks)
    if overlap == 0:
        assert "".join(document[chunk] for chunk in chunks) == text
    if chunks:
        assert chunks[0].start == 0 and chunks[-1].end == len(text)
    for chunk, following in pairwise(chunks):
        assert chunk.start < following.start <= chunk.end < following.end
    for chunk in chunks:
        # Longer than allowed only where one character, with the marks on it, needs more tokens.
        whole = not any(chunk.start < span.start < chunk.end for span in characters(text))
        assert length(document[chunk], tokenizer) <= size or whole


def characters(text):
    """Every place where a cut is allowed, one by one: the slow definition."""
    starts = [0]
    for i in range(1, len(text)):
        mark = unicodedata.category(text[i]).startswith("M") or "🏻" <= text[i] <= "🏿"
        joiner = "\u200d" in text[i - 1 : i + 1] and text[i] >= "\u0300"
        if not (mark or joiner or text[i - 1 : i + 1] == "\r\n"):
            starts.append(i)
    return [Span(start, end) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


@given(text=texts, language=st.sampled_from(["en", "zh", "de", "xx"]))
def test_sentences_tile_the_text(text, language):
    spans = sentences(text, language)
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert all(span.start < span.end for span in spans)
    assert_no_character_is_cut(text, spans)


def test_sentences_do_not_depend_on_where_they_stand(macbeth):
    """Those of a long text are those of its paragraphs, each looked at alone.

    But for one in a thousand: an apostrophe may pass for an opening quotation mark, if the look begins within a speech.
    """
    chinese = "“林黛玉来了。她在哪里？”他问。没有人说话！\n\n" * 1_000
    for text, language, most in ((macbeth.text, "en", 2), (chinese, "zh", 0)):
        alone, at = set(), 0
        for part in re.split(r"(\n\n)", text):
            alone |= {at + sentence["end_index"] for sentence in sentencex.get_sentence_boundaries(language, part)}
            at += len(part)
        assert len(alone) > 2_000
        assert len(alone ^ {span.end for span in sentences(text, language)}) <= most


def test_sentences_of_one_endless_paragraph():
    text = "“林黛玉来了。她在哪里？”他问。没有人说话！" * 2_000
    spans = sentences(text, "zh")
    assert len({text[span.start : span.end] for span in spans}) == len(spans) / 2_000
    assert sentences("word " * 10_000) == [Span(0, 50_000)]


def test_token_windows_are_full_and_overlap_as_asked(macbeth, tokenizer):
    chunks = split_tokens(macbeth, tokenizer)  # the papers' 1200 and 100
    assert all(1190 <= length(macbeth[chunk], tokenizer) <= 1200 for chunk in chunks[:-1])
    for chunk, following in pairwise(chunks):
        assert 98 <= length(macbeth[Span(following.start, chunk.end)], tokenizer) <= 102


def test_windows_of_tokens_equal_one_encoding_cut_in_pieces(macbeth, tokenizer):
    """Encoded in pieces or at once: the cuts stay together while they fall between words."""
    whole = tokenizer(macbeth.text, return_offsets_mapping=True, verbose=False)["offset_mapping"]
    assert split_tokens(macbeth, tokenizer, 200, 0)[0].end == whole[199][1]


def test_sentence_chunks_end_at_sentences(macbeth, tokenizer):
    borders = {span.end for span in sentences(macbeth.text)}
    chunks = split_sentences(macbeth, tokenizer, 200, overlap=50)
    assert all(chunk.end in borders for chunk in chunks)
    overlaps = [Span(following.start, chunk.end) for chunk, following in pairwise(chunks)]
    assert any(span.start < span.end for span in overlaps)
    assert all(length(macbeth[span], tokenizer) <= 51 for span in overlaps)


def quick(pre_tokenizer):
    """A fast tokenizer that gives every piece the same token, so that tests of long texts take seconds."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizer
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


WORDS = quick(pre_tokenizers.WhitespaceSplit())
CHARACTERS = quick(pre_tokenizers.Split("", "isolated"))


def test_ten_megabytes_are_split_and_searched(macbeth):
    document = Document("long", macbeth.text * 100 + "The very last words.")
    assert len(document.text) > 10_000_000
    chunks = split_tokens(document, WORDS, size=1200, overlap=0)
    assert "".join(document[chunk] for chunk in chunks) == document.text
    assert document[locate("the VERY last words", document)] == "The very last words"


@pytest.mark.parametrize("language, tokenizer, megabytes", [("en", WORDS, 10), ("zh", CHARACTERS, 1)], ids=["en", "zh"])
def test_megabytes_are_split_at_sentences(macbeth, language, tokenizer, megabytes):
    """Ten of English and one of Chinese, where each character is a token: time grows with the tokens."""
    text = macbeth.text if language == "en" else "“林黛玉来了。她在哪里？”他问。没有人说话！\n\n" * 1_000
    document = Document("long", text * (megabytes * 1_000_000 // len(text.encode()) + 1), language)
    assert len(document.text.encode()) > megabytes * 1_000_000
    chunks = split_sentences(document, tokenizer, size=1200)
    assert "".join(document[chunk] for chunk in chunks) == document.text
    borders = {span.end for span in sentences(document.text, language)}
    assert all(chunk.end in borders for chunk in chunks)
    assert all(1000 < length(document[chunk], tokenizer) <= 1200 for chunk in [*chunks[:20], *chunks[-21:-1]])


def test_windows_hold_at_least_one_chunk():
    assert windows([], 3) == []
    refused(lambda: windows([Chunk("note", 0, 0, 1)], 0), "at least one chunk")


@pytest.mark.parametrize("size, overlap", [(0, 0), (-1, 0), (10, 10), (10, 11), (10, -1)])
def test_sizes_that_make_no_sense_are_refused(tokenizer, size, overlap):
    for split in (split_tokens, split_sentences):
        refused(partial(split, Document("note", "some text"), tokenizer, size, overlap), "expected 0 <= overlap < size")


def test_a_tokenizer_without_offsets_is_refused():
    refused(lambda: split_tokens(Document("note", "some text"), str.split), "expected a fast tokenizer")


# Locating


@settings(max_examples=300)
@given(text=texts.filter(str.strip), data=st.data())
def test_a_slice_is_found_as_it_stands(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    quote = text[start : data.draw(st.integers(start + 1, len(text)))]
    if not quote.strip():
        return
    document = Document("any", text)
    assert document[locate(quote, document)] == quote
    nearest = min((i for i in range(len(text)) if text.startswith(quote, i)), key=lambda i: abs(i - start))
    assert nearest == start and locate(quote, document, near=start).start == start


REWORKED = {
    "capitals": str.upper,
    "small letters": str.lower,
    "composed": lambda text: unicodedata.normalize("NFC", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "compatible": lambda text: unicodedata.normalize("NFKC", text),
    "other blanks": lambda text: "\n\t ".join(text.split()),
    "no blanks": lambda text: "".join(text.split()),
    "straight quotation marks": lambda text: text.translate(str.maketrans("“”‘’「」", '""\'\'""')),
    "other dashes": lambda text: text.replace("—", "--").replace("-", "–"),
}


@pytest.mark.parametrize("rework", REWORKED.values(), ids=REWORKED)
@settings(max_examples=100)
@given(words=st.lists(st.sampled_from(PIECES[:27]) | st.text("abcß𝔄éⅫ林，。", min_size=1), min_size=1))
def test_a_reworked_quote_is_found_where_it_was(rework, words):
    """The folded quote is somewhere between two fences that it cannot hold, so its place is known."""
    text = "".join(words)
    if not folded(text, blanks=False).text or unicodedata.category(text[0]).startswith("M"):
        return
    document = Document("any", "☞ " + text + " ☜")
    place = locate(rework(text), document)
    assert place is not None
    assert folded(document[place], blanks=False).text == folded(text, blanks=False).text


@pytest.mark.parametrize(
    "quote, expected",
    [
        ("“Is that you?”", '"Is that you?"'),
        ("the ﬁsh", "the\nfish"),
        ("STRASSE", "Straße"),
        ("istanbul", None),  # İ folds to i with a dot above: not the same letter
        ("i\u0307stanbul", "İstanbul"),
        ("well--then", "well—then"),
        ("他说,「走吧.」", "他说，“走吧。”"),
        ("ABC 12", "ＡＢＣ　１２"),
        ("café", "cafe\u0301"),
        ("co\u00adoperate", "cooperate"),
        ("well—", "well--"),
    ],
)
def test_what_a_quote_may_differ_in(quote, expected):
    text = 'He said "Is that you?" to the\nfish. Straße, İstanbul. 他说，“走吧。” cafe\u0301 cooperate ＡＢＣ　１２ '
    document = Document("mixed", text + ("well--" if quote == "well—" else "well—then"))
    place = locate(quote, document)
    assert (place and document[place]) == expected


REFRAINS = {
    "en": ("Quoth the raven, nevermore, at my chamber door", "Quoth the ravn, nevernore, at my chaber door"),
    "zh": ("满纸荒唐言，一把辛酸泪！都云作者痴，谁解其中味？", "满纸荒唐言，一把心酸泪！都说作者痴，谁解其味？"),
}


@pytest.mark.parametrize("language", REFRAINS)
@pytest.mark.parametrize("look", ["exact", "folded", "misquoted"])
def test_every_one_of_twelve_refrains_is_reached(look, language):
    refrain, misquoted = REFRAINS[language]
    quote = {"exact": refrain, "folded": "\n ".join(refrain.upper()), "misquoted": misquoted}[look]
    rng = random.Random(7)
    document, starts = between_verses([refrain] * 12, rng)
    assert document[locate(quote, document)] == refrain
    assert locate(quote, document).start == locate(quote, document, near=-5).start == starts[0]
    assert locate(quote, document, near=10**9).start == starts[-1]
    for start in starts:
        for near in (start, start + len(refrain), start - rng.randint(1, 400), start + rng.randint(1, 400)):
            assert locate(quote, document, near) == Span(start, start + len(refrain))


def between_verses(refrains: list[str], rng: random.Random) -> tuple[Document, list[int]]:
    """A document of refrains with 1000 letters before each and after the last one, and where they begin."""
    text, starts = "", []
    for refrain in refrains:
        text += "".join(rng.choice("bfgjklpwxz 何处") for _ in range(1_000))
        starts.append(len(text))
        text += refrain
    return Document("song", text + "b" * 1_000), starts


def test_the_nearest_place_may_share_fewer_n_grams():
    """A wrong letter costs most n-grams in the middle of a quote, and is one edit wherever it stands."""
    quote = "Quoth the raven, nevermore, at my chamber door"
    variants = [quote.replace("Quoth", "Qioth")] * 6 + [quote.replace("nevermore", "neverwore")] * 6
    document, starts = between_verses(variants, random.Random(8))
    for start in starts:
        assert locate(quote, document, near=start + 9) == Span(start, start + len(quote))


@pytest.mark.parametrize("quote", ["AND MISCHIEF WITH A MORTAL SWORD", "and mischeif with a mrtal sword"])
def test_blanks_count_for_what_is_nearest(quote):
    document = Document("note", "And mischief with a mortal sword." + " " * 100 + "And mischief with a mortal sword.")
    assert locate(quote, document, near=60).start == 0
    assert locate(quote, document, near=70).start == 133


def perturb(quote: str, rate: float, rng: random.Random) -> str:
    """The quote with a share of its characters replaced, deleted, or preceded by another one."""
    characters = list(quote)
    alphabet = string.ascii_lowercase + " " if quote.isascii() else quote
    for i in rng.sample(range(len(characters)), round(rate * len(characters))):
        characters[i] = rng.choice(["", rng.choice(alphabet), rng.choice(alphabet) + characters[i]])
    return "".join(characters)


def found_fraction(document: Document, rate: float, shortest: int, longest: int, n: int, seed: int) -> float:
    """How many of n perturbed quotes are found within 5 characters of both ends."""
    rng, hits = random.Random(seed), 0
    for _ in range(n):
        text = ""
        while text != text.strip() or not text:
            size = rng.randint(shortest, longest)
            start = rng.randrange(len(document.text) - size)
            text = document.text[start : start + size]
        place = locate(perturb(text, rate, rng), document)
        hits += place is not None and abs(place.start - start) <= 5 and abs(place.end - start - size) <= 5
    return hits / n


@pytest.mark.parametrize("play", ["macbeth", "hamlet", "pericles"])
def test_perturbed_quotes_of_a_play_are_found(play):
    document = shakespeare.play(play)
    assert found_fraction(document, 0.05, 40, 300, n=300, seed=1) >= 0.98
    assert found_fraction(document, 0.15, 40, 300, n=100, seed=2) >= 0.95


def test_perturbed_chinese_quotes_are_found():
    rng = random.Random(3)
    common = [chr(0x4E00 + rng.randrange(2500)) for _ in range(800)]
    text = "".join(rng.choice(common) if rng.random() > 0.1 else rng.choice("，。？") for _ in range(30_000))
    assert found_fraction(Document("zh", text, "zh"), 0.05, 20, 120, n=200, seed=4) >= 0.98


def test_quotes_of_other_plays_are_not_found(macbeth):
    rng, hits = random.Random(5), 0
    for play in shakespeare.plays():
        if play.id != "macbeth":
            text = shakespeare.play(play.id).text
            start = rng.randrange(len(text) - 400)
            for size in (40, 100, 300):
                hits += locate(text[start : start + size], macbeth) is not None
    assert hits == 0


def slow_best(needle: str, text: str) -> int:
    """The least edit distance of the needle to any passage of the text (Sellers 1980), cell by cell."""
    row = [0] * (len(text) + 1)
    for i, a in enumerate(needle, start=1):
        above, row = row, [i]
        for j, b in enumerate(text):
            row.append(min(above[j] + (a != b), above[j + 1] + 1, row[j] + 1))
    return min(row)


def test_no_passage_is_more_similar_than_the_one_found(macbeth):
    rng = random.Random(6)
    document = Document("part", macbeth.text[20_000:24_000])
    whole = folded(document.text, blanks=False).text
    for _ in range(15):
        start = rng.randrange(3_800)
        quote = perturb(document.text[start : start + rng.randint(40, 150)], 0.1, rng)
        needle, place = folded(quote, blanks=False).text, folded(document[locate(quote, document)], blanks=False).text
        assert slow_best(needle, place) <= slow_best(needle, whole) + 1


def test_a_quote_longer_than_the_document_and_other_edges():
    document = Document("note", "When shall we three meet again")
    assert document[locate("xx When shall we three meet again? xx", document)] == document.text
    assert locate("xx" * 200 + document.text, document) is None
    assert locate("hurlyburly", document) is None
    assert locate("\u200b", document) is None
    assert locate("When shall we", Document("empty", "")) is None
    assert locate("When shall we three meet " * 400, document) is None


@pytest.mark.parametrize("quote", ["", "  \n"])
def test_an_empty_quote_is_refused(macbeth, quote):
    refused(lambda: locate(quote, macbeth), "empty quote in document 'macbeth'")
