"""The annotator of breadth and depth: prompts, two passes, agreement with gold against scikit-learn-like sums by hand."""

import json
import math
import re

import numpy as np
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Stub

import storyworld
from mindscape.errors import InputError
from mindscape.llm import LanguageModel
from mindscape.mindgraph import long_reason
from mindscape.mindgraph.long_reason import (
    RUBRIC,
    Labelled,
    Unlabelled,
    agreement,
    annotate,
    measured,
    shown_to_annotator,
    slots,
)
from mindscape.question import BREADTHS, DEPTHS
from mindscape.text import Document, Span


def label(breadth="global", depth="global-synthesis"):
    return long_reason.Label(reason="", breadth=breadth, depth=depth)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_level_is_told_once_and_in_the_order_of_the_scale(language):
    assert (
        tuple(long_reason.BREADTH_LEVELS[language]) == BREADTHS and tuple(long_reason.DEPTH_LEVELS[language]) == DEPTHS
    )
    it = Unlabelled("Who?", "Ann", 1200, language=language)
    up, down = slots(it), slots(it, reverse=True)
    for name, levels in (("breadths", BREADTHS), ("depths", DEPTHS)):
        named = re.findall(r"^- ([\w-]+)[:：]", up[name], re.MULTILINE)
        assert tuple(named) == levels and up[name].splitlines() == down[name].splitlines()[::-1]
    prompt = RUBRIC.prompt(language, **up)
    assert "1,200" in prompt and "Who?" in prompt and not re.search(r"\{\w+\}", prompt.replace('{"reason"', ""))
    refused(lambda: slots(Unlabelled("Qui?", "Anne", 3, language="fr")), "expected one of en, zh")


def test_evidence_is_shown_with_its_place_and_not_too_much_of_it():
    document = Document("note", "".join(f"Sentence {i:03}. " for i in range(100)))
    places = [Span(14 * i, 14 * i + 13) for i in reversed(range(100))]
    shown = slots(shown_to_annotator(document, "Who?", "Ann", places))["evidence"].splitlines()
    assert (
        shown[0] == "- 0%: Sentence 000." and shown[4] == "- 50%: Sentence 050." and len(shown) == long_reason.SHOWN + 1
    )
    assert shown[-1] == "(92 more pieces are not shown)"
    assert slots(shown_to_annotator(document, "Who?", "Ann"))["evidence"] == "(not known)"


def test_two_passes_and_what_a_model_that_takes_the_first_level_is_worth():
    """An annotator that says whatever is named first is never stable."""

    def first(prompt, *_):
        content = prompt[0]["content"]
        breadth, depth = (re.search(rf"{of}\n- ([\w-]+):", content, re.DOTALL)[1] for of in ("", "Depth.*?"))
        return {"reason": "it is the first", "breadth": breadth, "depth": depth}

    stub = Stub(first)
    told = annotate([Unlabelled("Who?", "Ann", 9), Unlabelled("Where?", "here", 9)], LanguageModel(stub))
    assert len(stub.asked) == 4 and [one.stable for one in told] == [False, False]
    assert told[0].passes[0].breadth == "local" and told[0].passes[1].breadth == "global"
    steady = annotate([Unlabelled("Who?", "Ann", 9)], LanguageModel(Stub(lambda *_: json.dumps(label().model_dump()))))
    assert steady[0].stable and steady[0].label == label()
    unread = annotate([Unlabelled("Who?", "Ann", 9)], LanguageModel(Stub(lambda *_: "global, I should say")))
    assert unread[0].passes == (None, None) and not unread[0].stable and unread[0].label is None
    assert annotate([], LanguageModel(Stub(None))) == []
    assert Labelled((label(), label(depth="lookup"))).stable is False


levels = ("low", "middle", "high")
pairs = st.lists(st.tuples(st.sampled_from(levels), st.sampled_from([*levels, None])), min_size=1, max_size=40)


@given(pairs)
def test_agreement_by_hand(both):
    gold, found = zip(*both, strict=True)
    of = agreement(gold, found, levels)
    assert of.accuracy == sum(a == b for a, b in both) / len(both) and of.n == of.confusion.sum() == len(both)
    labelled = [(levels.index(a), levels.index(b)) for a, b in both if b is not None]

    def kappa(cost):
        seen = np.mean([cost(a, b) for a, b in labelled]) if labelled else math.nan
        chance = np.mean([cost(a, b) for a, _ in labelled for _, b in labelled]) if labelled else 0
        return 1 - seen / chance if chance else math.nan

    assert of.kappa == pytest.approx(kappa(lambda a, b: a != b), nan_ok=True)
    assert of.weighted == pytest.approx(kappa(lambda a, b: abs(a - b)), nan_ok=True)
    assert agreement(gold, gold, levels).accuracy == 1


def test_what_stability_buys():
    """Right where it is sure, a coin where it is not: the filter leaves the sure half."""
    hard, easy = label(), label("local", "lookup")
    gold = [("global", "global-synthesis")] * 4 + [("local", "lookup")] * 4
    said = [(hard, hard), (hard, hard), (easy, hard), (hard, easy)]
    said += [(easy, easy), (easy, easy), (hard, easy), (easy, None)]
    of = measured(gold, [Labelled(one) for one in said])
    assert of.breadth.accuracy == 6 / 8 == of.depth.accuracy
    assert of.stable == 4 / 8 and of.stable_breadth.accuracy == of.stable_depth.accuracy == 1
    assert of.kept == (2, 0, 2)
    none = measured(gold[:1], [Labelled((None, hard))])
    assert none.breadth.right == (True,) and none.stable == 0 and math.isnan(none.stable_breadth.accuracy)


def test_the_filter_and_the_plane():
    kept = {(b, d) for b in BREADTHS for d in DEPTHS if long_reason.demanding(b, d)}
    assert kept == {(b, d) for b in BREADTHS[3:] for d in DEPTHS[2:]}
    book = storyworld.book(1003, tokens=15_000)
    table = long_reason.plane([(question.breadth, question.depth) for question in book.questions])
    assert table.shape == (5, 4) and table.sum() == len(book.questions) and table[0, 0] > 0 < table[4, 3]


def test_bad_input():
    for wrong in [
        lambda: agreement(["low"], [], levels),
        lambda: agreement(["none"], ["low"], levels),
        lambda: agreement(["low"], ["none"], levels),
        lambda: measured([("local", "lookup")], []),
        lambda: long_reason.plane([("local", "local")]),
    ]:
        with pytest.raises(InputError, match="expected"):
            wrong()
