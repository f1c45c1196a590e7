"""The extractive baseline: verbatim, in order, within its limits, the same every time."""

import random
import re

import pytest
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from mindscape import assets
from mindscape.mia import summaries
from mindscape.text import sentences

STORY = (  # the opening of the Story of the Stone, in the public domain
    "此开卷第一回也。作者自云：因曾历过一番梦幻之后，故将真事隐去，而借通灵之说，撰此《石头记》一书也。故曰“甄士隐”云云。"
    "但书中所记何事何人？自又云：今风尘碌碌，一事无成，忽念及当日所有之女子，一一细考较去，觉其行止见识皆出于我之上。"
    "何我堂堂须眉，诚不若彼裙钗哉？实愧则有余，悔又无益之大无可如何之日也！"
    "虽我未学，下笔无文，又何妨用假语村言，敷演出一段故事来，亦可使闺阁昭传，复可悦世之目，破人愁闷，不亦宜乎？"
)


@pytest.fixture(scope="module")
def scene():
    """About 1,200 tokens of a play: many short verse lines, speakers, stage directions."""
    play = (assets.fetch("plays") / "tragedies" / "macbeth.md").read_text(encoding="utf-8")
    return re.sub(r"[*_#]", "", play[play.index("## SCENE III") :])[:4300]


def check(text, language, limit, spans):
    """What holds for every summary."""
    whole = [(span.start, span.end) for span in sentences(text, language)]
    assert spans and spans == sorted(spans, key=lambda span: span.start)
    assert all(a.end <= b.start for a, b in zip(spans, spans[1:], strict=False))
    picked = [text[span.start : span.end] for span in spans]
    assert all(piece and piece == piece.strip() for piece in picked)
    summary = summaries.summarise(text, language, limit)
    assert summary == (" " if language == "en" else "").join(picked) and 0 < len(summary) <= limit
    for span in spans:
        start, end = next((start, end) for start, end in whole if start <= span.start < end)
        assert span.end <= end and not text[start : span.start].strip()
        assert len(spans) == 1 or not text[span.end : end].strip()  # only a lone sentence is ever cut


def test_a_scene_of_a_play_and_a_story(scene):
    for text, language, limits in ((scene, "en", (20, 100, 500)), (STORY, "zh", (5, 60, 150))):
        for limit in limits:
            spans = summaries.select(text, language, limit)
            check(text, language, limit, spans)
            assert spans == summaries.select(text, language, limit)


WORD = st.sampled_from(["king", "ghost", "the", "walks", "Speak", "Mr.", "3", "王子", "鬼魂", "他"])
TEXT = st.lists(
    st.tuples(WORD, st.sampled_from([" ", ". ", "! ", "。", "\n", "\n\n", "\r\n"])), min_size=1, max_size=40
)


ODD = st.text(min_size=1).filter(str.strip)


@settings(max_examples=150)
@given(ODD | TEXT.map(lambda pieces: "".join(map("".join, pieces))), st.sampled_from(["en", "zh"]), st.integers(1, 80))
def test_any_text(text, language, limit):
    check(text, language, limit, summaries.select(text, language, limit))


def test_a_limit_beyond_the_text_takes_all_of_it():
    assert summaries.summarise(STORY, "zh", len(STORY)) == STORY


def test_the_central_sentence_is_picked():
    others = ["The king met a captain.", "Rain fell on the hill.", "A witch saw the captain.", "The hill was dark."]
    centre = "The witch met the king and the captain on the dark hill."
    for seed in range(5):
        order = [*others, centre]
        random.Random(seed).shuffle(order)
        assert summaries.summarise(" ".join(order), "en", len(centre)) == centre


def test_what_recurs_is_picked_once():
    text = "The king is dead! " * 5 + "The king was old. The queen is not dead."
    assert summaries.summarise(text, "en").count("The king is dead") == 1


def test_one_sentence():
    assert summaries.summarise("  Only this.\n", "en", 500) == "Only this."
    assert summaries.summarise("只有这个", "zh", 500) == "只有这个"
    assert summaries.summarise("one two three", "en", 9) == "one two"  # cut at a blank
    assert summaries.summarise("one two three", "en", 7) == "one two"
    assert summaries.summarise("unbroken", "en", 2) == "un"
    assert summaries.summarise("只有这个", "zh", 2) == "只有"
    assert summaries.summarise("?!", "en", 500) == "?!"


def test_refuses():
    refused(lambda: summaries.summarise("", "en"), "empty")
    refused(lambda: summaries.summarise(" \n\t", "zh"), "empty")
    refused(lambda: summaries.summarise("a", "fr"), "unknown language 'fr'")
    refused(lambda: summaries.summarise("a", "en", 0), "max_characters is 0")


def test_where_nothing_fits_the_central_sentence_is_cut():
    text = "Rain fell on hills. The king met the witch on hills of rain. The witch met rain."
    assert summaries.summarise(text, "en", 12) == "The king met"
