"""MoM's paths and scores: formulas by hand, fast against slow, batches, resuming, and what cannot be read."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Stub, plain

from mindscape import llm
from mindscape.llm.base import estimated_tokens
from mindscape.mom import extraction
from mindscape.mom.extraction import ANSWERS, choose, completeness, conditionals, extract, paths, places, readings, rrf
from mindscape.mom.memory import DocumentMemory, tiles
from mindscape.text import Document, Span

NOTE = Document("note", "It rained all day. The mill stood still. Then Ivo went home. Ann stayed behind.")
CHINESE = Document("记", "清晨下了大雨。磨坊停了工。午后林剑秋提着灯回家。众人都走了。", "zh")
TWO = DocumentMemory(["Rain", "Home"], ["Rain.", "Ivo left."], [Span(0, 41), Span(41, 79)])
ONE = DocumentMemory(["All"], ["A day in the rain."], [Span(0, 79)])


def reply(*scenarios, think="Two parts."):
    """A reply in the form of the role; each scenario is head, tail, core."""
    outline = "\n".join(f"- part {i}" for i in range(len(scenarios)))
    parts = [f"<scenario>\n<chunk>{a} [MASK] {b}</chunk>\n{core}\n</scenario>" for a, b, core in scenarios]
    return "\n".join([f"<think>{think}</think>", f"<outline>\n{outline}\n</outline>", *parts])


GOOD = reply(("It rained", "stood still.", "Rain."), ("Then Ivo", "behind.", "Ivo left."))


class Backend(Stub):
    """Replies by seed; log-probabilities by a rule: words that the prompt has cost less; a token is a word."""

    def __init__(self, replies=(GOOD,), **options):
        super().__init__(lambda *_: replies[self.sampling.seed % len(replies)], weigh=self.logprob, **options)

    def logprob(self, prompt, continuation):
        shown = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        return sum(-1.0 if word in shown else -3.0 for word in continuation.split() or [continuation])

    def count_tokens(self, prompt, tools=()):
        return len(prompt.split()) if isinstance(prompt, str) else 1


# Paths ------------------------------------------------------------------------------------------------------------


def test_n_paths_are_sampled_as_the_paper_does():
    backend = Backend([GOOD, reply(("It rained", "behind.", "All of it."))])
    sampled = paths(llm.LanguageModel(backend), [NOTE, NOTE], n=3)
    assert [[path.seed for path in drawn] for drawn in sampled] == [[0, 1, 2]] * 2
    assert (backend.sampling.temperature, backend.sampling.top_p) == (0.7, 0.8)
    assert [len(path.read.memory) for path in sampled[0]] == [2, 1, 2]
    assert sampled[0][0].read.memory == DocumentMemory(["part 0", "part 1"], TWO.core, TWO.chunks)
    assert [path.reply for path in sampled[0][:2]] == [path.reply for path in paths(llm.LanguageModel(backend), [NOTE], n=2)[0]]


@pytest.mark.parametrize(
    "said, why",
    [
        ("I cannot.", "no <think>"),
        (GOOD[:-40], "not closed"),
        (llm.Reply(GOOD, finish="length"), f"cut off after {estimated_tokens(GOOD)} tokens"),
    ],
)
def test_a_reply_that_cannot_be_read_says_why(said, why):
    (drawn,) = paths(llm.LanguageModel(Backend([said])), [NOTE], n=1)
    assert drawn[0].read is None and why in drawn[0].invalid


def test_languages_are_asked_in_their_own_words():
    backend = Backend()
    assert [len(drawn) for drawn in paths(llm.LanguageModel(backend), [NOTE, CHINESE, NOTE], n=2)] == [2, 2, 2]
    refused(lambda: paths(llm.LanguageModel(backend), [Document("f", "Il pleut.", "fr")], n=1), "no prompt in 'fr'")
    refused(lambda: paths(llm.LanguageModel(backend), [NOTE], n=0), "at least one path")


# Readings and clarity ---------------------------------------------------------------------------------------------


def test_the_readings_are_their_formulas():
    class Known(Backend):
        def logprob(self, prompt, continuation):
            if continuation in ANSWERS["en"]:
                return math.log({"Yes": 0.3, "No": 0.1}[continuation])
            return -6.0 if prompt.strip() else -8.0  # of two words

    got = {name: value.item() for name, value in readings(llm.LanguageModel(Known()), [("It rained.", "Ivo left.")]).items()}
    assert set(got) == set(extraction.READINGS)
    assert got["yes"] == pytest.approx(0.75) and got["log_odds"] == pytest.approx(math.log(3))
    assert got["margin"] == pytest.approx(0.2) and got["nats"] == pytest.approx(3 - 4)
    assert got["perplexity"] == pytest.approx(math.exp(3) - math.exp(4))


@given(st.lists(st.tuples(st.floats(-60, -0.01), st.floats(-60, -0.01)), min_size=1, max_size=8))
def test_the_readings_keep_their_ranges(values):
    class Drawn(Backend):
        def logprob(self, prompt, continuation):
            place = int(prompt[-1]["content"].split("number ")[1].split()[0])
            return values[place][ANSWERS["en"].index(continuation)]

    pairs = [(f"It rained number {i} .", "Ivo left.") for i in range(len(values))]
    got = readings(llm.LanguageModel(Drawn()), pairs, names=["yes", "log_odds", "margin"])
    assert ((got["yes"] >= 0) & (got["yes"] <= 1)).all() and (np.abs(got["margin"]) <= 1).all()
    assert np.allclose(got["yes"], 1 / (1 + np.exp(-got["log_odds"])))
    assert (np.sign(got["margin"]) == np.sign(got["log_odds"])).all()


@pytest.mark.parametrize("document", [NOTE, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("reading", extraction.READINGS)
def test_clarity_in_one_call_as_one_by_one(document, reading):
    n = len(document.text)
    chunkings = [[Span(0, n)], [Span(0, 7), Span(7, n)], [Span(0, 7), Span(7, 13), Span(13, n)]]
    backend = Backend()
    got = extraction.clarity(llm.LanguageModel(backend), document, chunkings, reading)
    assert math.isnan(got[0])
    for chunks, value in zip(chunkings[1:], got[1:], strict=True):
        texts = [document[chunk].strip() for chunk in chunks]
        each = [readings(llm.LanguageModel(Backend()), [pair], document.language, [reading]) for pair in pairwise(texts)]
        assert value == pytest.approx(np.mean([scores[reading].item() for scores in each]))
    assert extraction.clarity(llm.LanguageModel(backend), document, []).shape == (0,)


def test_bad_readings():
    model = llm.LanguageModel(Backend())
    for call, message in [
        (lambda: readings(model, [("a", "b")], names=["odds"]), "reading='odds': expected some of yes"),
        (lambda: readings(model, [("a", "b")], "fr"), "language='fr'"),
        (lambda: readings(model, [("a", " ")]), "is blank"),
        (lambda: completeness(model, NOTE, [TWO], short="none"), "short='none': expected one of raw"),
        (lambda: extraction.penalty([0]), "expected at least 1"),
        (lambda: rrf([[1]], k=-1), "expected 0 or more"),
        (lambda: choose([], []), "expected one number"),
        (lambda: choose([1.0], [1.0, 2.0]), "expected one number"),
        (lambda: extraction.text_windows(Document("blank", "\n"), None), "has no text"),
    ]:
        refused(call, message)
    assert all(value.shape == (0,) for value in readings(model, []).values())


# Completeness -----------------------------------------------------------------------------------------------------


def test_completeness_is_its_formula():
    """Words that the core has cost 1 nat, others 3."""
    (terms,) = conditionals(llm.LanguageModel(Backend()), NOTE, [TWO])
    words = [NOTE[chunk].split() for chunk in TWO.chunks]
    pairs = zip(words, TWO.core, strict=True)
    nats = [sum(1 if word in core else 3 for word in passage) / len(passage) for passage, core in pairs]
    assert np.allclose(terms[0], np.exp(nats)) and terms[1].tolist() == [1, 2]
    with np.errstate(divide="ignore"):
        assert completeness(llm.LanguageModel(Backend()), NOTE, [TWO]).tolist() == [math.inf]
    by_hand = np.mean(1 / (np.exp(nats) * np.log([2, 3])))
    assert completeness(llm.LanguageModel(Backend()), NOTE, [TWO], short="shifted")[0] == pytest.approx(by_hand)
    floored = completeness(llm.LanguageModel(Backend()), NOTE, [ONE, TWO], short="floored")
    assert np.isfinite(floored).all() and floored.shape == (2,)


def test_tokens_that_a_tokenizer_puts_before_every_text_do_not_count():
    class Marked(Backend):
        def count_tokens(self, prompt, tools=()):
            return 1 + len(prompt.split())

    ((_, lengths),) = conditionals(llm.LanguageModel(Marked()), NOTE, [TWO])
    assert lengths.tolist() == [1, 2]


def test_short_cores_are_rewarded_without_bound():
    """The longer the core the less it is worth, and the raw form pays two tokens more than any other number."""
    lengths = np.arange(1, 200)
    with np.errstate(divide="ignore"):
        worth = {short: 1 / extraction.penalty(lengths, short) for short in extraction.SHORT}
    assert math.isinf(worth["raw"][0]) and worth["raw"][1] > 1
    for short in ("shifted", "floored"):
        assert np.isfinite(worth[short]).all() and (np.diff(worth[short]) <= 0).all()


# The choice -------------------------------------------------------------------------------------------------------

numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(numbers, min_size=1, max_size=9))
def test_ranks_are_those_of_sorting(scores):
    got, valid = extraction.ranks(scores), [-math.inf if math.isnan(score) else score for score in scores]
    assert got.tolist() == [1 + sum(other > score for other in valid) for score in valid]


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=9))
def test_the_choice_is_the_slow_one(pairs):
    clear, complete = zip(*pairs, strict=True)
    chosen = choose(clear, complete)
    slow = [1 / (60 + a) + 1 / (60 + b) for a, b in zip(*map(extraction.ranks, (clear, complete)), strict=True)]
    assert np.allclose(chosen.fused, slow) and chosen.best == int(np.argmax(chosen.fused))


# All of it --------------------------------------------------------------------------------------------------------


def test_a_long_document_is_read_in_windows(tokenizer):
    days = [f"Day {i}. It rained all day. Then Ivo went home and slept." for i in range(40)]
    document = Document("long", "\n\n".join(days))
    parts = extraction.text_windows(document, tokenizer, 100)
    assert tiles(document, parts) and len(parts) > 4
    texts = [document[part] for part in parts]
    assert all(len(tokenizer(text)["input_ids"]) <= 100 for text in texts[:-1])
    two = reply(("It rained", "home", "Rain."), ("Then", "slept.", "Sleep."))
    backend = Backend([reply(("Day", "slept.", "A day.")), "nothing", two])
    extracted = extract(llm.LanguageModel(backend), document, tokenizer, n=3, size=100)
    assert tiles(document, extracted.memory.chunks)
    texts = [Document("part", text) for text in texts]
    for part, text, (whole, _, two) in zip(parts, texts, paths(llm.LanguageModel(backend), texts, n=3), strict=True):
        own = [chunk for chunk in extracted.memory.chunks if part.start <= chunk.start < part.end]
        both = [whole.read.memory, two.read.memory]
        clear = extraction.clarity(llm.LanguageModel(backend), text, [memory.chunks for memory in both])
        best = both[choose(clear, completeness(llm.LanguageModel(backend), text, both)).best]
        assert [chunk.start - part.start for chunk in own] == [chunk.start for chunk in best.chunks]
    made = extract(llm.LanguageModel(Backend(["nothing"])), document, tokenizer, n=2, size=100)
    assert made.memory.chunks == tuple(parts) and made.repairs == Counter({"not read": len(parts)})


def test_a_window_is_never_blank(tokenizer):
    document = Document("gaps", "\n\n\n" + "It rained. " * 30 + "\n" * 300 + "Ivo left.\n" + "\n" * 400)
    parts = extraction.text_windows(document, tokenizer, 20)
    assert tiles(document, parts) and all(document[part].strip() for part in parts)


def test_a_single_reading_is_not_weighed(tokenizer):
    backend = Backend()
    extract(llm.LanguageModel(backend), NOTE, tokenizer, n=1)
    assert len(backend.requests) == 1


# A real architecture ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", [NOTE, CHINESE], ids=["en", "zh"])
def test_scores_of_a_model_are_those_of_plain_forward_passes(tiny, document):
    half = len(document.text) // 2
    a, b = extraction.around(document, Span(0, half), Span(half, len(document.text)))
    got = {name: value.item() for name, value in readings(tiny, [(a, b)], document.language).items()}
    talk = [{"role": "user", "content": extraction.ASKED[document.language].format(a=a, b=b)}]
    yes, no = (plain(tiny, talk, word)[0] for word in ANSWERS[document.language])
    assert got["log_odds"] == pytest.approx(yes - no, abs=1e-3)
    assert got["margin"] == pytest.approx(math.exp(yes) - math.exp(no), abs=1e-6)
    given, alone = plain(tiny, f"{a}\n\n", b), plain(tiny, "\n\n", b)
    assert got["nats"] == pytest.approx(-given[0] / given[1] + alone[0] / alone[1], abs=1e-4)
    memory = DocumentMemory(["part", "part"], ["Rain.", "离开。"], [Span(0, half), Span(half, len(document.text))])
    ((perplexities, lengths),) = conditionals(tiny, document, [memory])
    slow = [plain(tiny, f"{core}\n\n", text) for core, text in zip(memory.core, (a, b), strict=True)]
    assert np.allclose(np.log(perplexities), [-logprob / n for logprob, n in slow], atol=1e-4)
    assert lengths.tolist() == [len(tiny.backend._encode(core)) for core in memory.core]


def test_a_model_is_held_to_the_form(tiny, tokenizer):
    """A random model writes memories that can be read, or runs into its limit."""
    (drawn,) = paths(tiny, [NOTE], n=2, max_new_tokens=120)
    assert all(path.read or "cut off" in path.invalid for path in drawn)
    for path in drawn:
        assert path.read is None or tiles(NOTE, path.read.memory.chunks)


def test_places_are_of_their_kind(book):
    points = places(book, share=5)
    assert points == places(book, share=5) != places(book, share=5, seed=1) and points == sorted(points)
    assert {kind: sum(k == kind for _, k in points) for kind in extraction.PLACES} == dict.fromkeys(extraction.PLACES, 5)
    text, starts = book.document.text, {scene.start for scene in book.telling.scenes}
    for at, kind in points:
        assert extraction.REACH <= at <= len(text) - extraction.REACH
        assert (at in starts) == (kind == "scene")
        if kind in ("scene", "paragraph"):
            assert text[at - 1] == "\n" and not text[at].isspace()
        else:
            assert "\n" not in text[at - 1 : at + 1] and not text[at].isspace()
        if kind == "sentence":
            assert text[:at].rstrip()[-1] in ".!?'…。！？”’」』" + '"' or book.document.language == "zh"
        if kind == "middle":
            assert text[at].isalnum() and text[:at].rstrip(" ,")[-1].isalnum()
        before, after = extraction.sides(book.document, at)
        assert before and after and len(before) <= extraction.REACH and text[at:].startswith(after)


def test_no_heading_stands_at_a_scene_s_place(book):
    headings = [chapter.start for chapter in book.telling.chapters]
    ends = {scene.start: before.end for before, scene in zip(book.telling.scenes, book.telling.scenes[1:], strict=False)}
    for at, kind in places(book, share=100):
        assert kind != "scene" or not any(ends[at] <= heading <= at for heading in headings)
