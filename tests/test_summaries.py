"""The mindscape: Eq. 3 and 4 as stated, the fold where the model cannot read all, both languages, what is kept. Extracts:
verbatim, in order, within their limits. Silver passages against gold ones and half a book."""

import random
from itertools import pairwise

import numpy as np
import pytest
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from stubs import Model, cut
from sumy.summarizers.text_rank import TextRankSummarizer

from mindscape.corpora import shakespeare
from mindscape.errors import LLMError
from mindscape.llm import Reply
from mindscape.mia import summaries
from mindscape.mia.embedding import Silver
from mindscape.question import Answer
from mindscape.store import Maker
from mindscape.text import sentences
from storyworld import books
from storyworld.teaching import passages


def inside(prompt):
    """What stands in a prompt between its tags."""
    return prompt.split(">\n", 1)[1].rsplit("\n<", 1)[0]


class Echo(Model):
    """Replies with the last `words` words between the tags, reads `context` words, and dies at the call `dies`."""

    name, fingerprint, maker = "echo", "echo", Maker("echo", {})

    def __init__(self, context=10_000, words=3, dies=None):
        super().__init__(lambda prompt: " ".join(inside(prompt).split()[-words:]) + "\n", dies=dies)
        self.context = context

    def count_tokens(self, prompt):
        return len(prompt.split())

    def chat(self, talks, max_new_tokens):
        assert all(self.count_tokens(talk[0]["content"]) + max_new_tokens <= (self.context or 10**9) for talk in talks)
        return super().chat(talks, max_new_tokens)


def pieces(n, language="en"):
    return cut("toy", [f"alpha{i} beta{i} gamma{i} delta{i} " for i in range(n)], language)


def test_chunk_summaries_then_one_over_their_concatenation():
    model = Echo()
    built = summaries.summarise_document(model, *pieces(4))
    assert built.levels == (tuple(f"beta{i} gamma{i} delta{i}" for i in range(4)), ("beta3 gamma3 delta3",))
    assert built.text == "beta3 gamma3 delta3" and built.source == "echo"
    assert "\n".join(built.levels[0]) in model.requests[-1]
    head = summaries.CHUNK_PROMPT["en"].split("{chunk_content}")[0]  # common to all, so that it can be read once
    assert all(prompt.startswith(head) for prompt in model.requests[:4]) and "under 500 characters" in head


@given(st.integers(1, 60), st.integers(190, 400))
def test_the_fold_reads_every_summary_once_and_never_too_much(n, context):
    model = Echo(context)
    built = summaries.summarise_document(model, *pieces(n), chunk_tokens=40, tokens=40)
    assert len(built.levels[0]) == n and len(built.levels[-1]) == 1
    sizes = [len(level) for level in built.levels]
    assert sizes == sorted(sizes, reverse=True)
    assert "\n".join(map(inside, model.requests[n : n + sizes[1]])).splitlines() == list(built.levels[0])


@given(st.integers(1, 40), st.integers(8, 60), st.sampled_from([None, 300]))
def test_no_more_than_asked_is_merged_at_once(n, read, context):
    model = Echo(context)
    built = summaries.summarise_document(model, *pieces(n), chunk_tokens=40, tokens=40, read=read)
    assert all(len(inside(prompt).split()) <= read for prompt in model.requests[n:])
    assert built.text == summaries.summarise_document(Echo(), *pieces(n)).text


def test_novels_are_summed_up_once(own_store, tokenizer):
    novels = books("test")[:2]
    with pytest.raises(KeyboardInterrupt):
        summaries.of_books(Echo(dies=4), novels, tokenizer)
    texts = summaries.of_books(Echo(), novels, tokenizer)
    seen = own_store.trail[-1]
    assert list(texts) == [book.document.id for book in novels] and (seen.cached, seen.computed) == (1, 2)
    assert summaries.of_books(Echo(), novels, tokenizer) == texts and (seen.cached, seen.computed) == (3, 2)


def test_an_endpoint_that_does_not_say_what_it_reads_is_asked_once():
    assert len(summaries.summarise_document(Echo(context=None), *pieces(50)).levels) == 2


def test_a_model_that_cannot_read_two_summaries_is_refused():
    model, long = Echo(context=200, words=60), cut("toy", ["word " * 60] * 3)
    said = "cannot read two summaries of toy at once"
    refused(lambda: summaries.summarise_document(model, *long, chunk_tokens=5, tokens=5), said)


@pytest.mark.parametrize("reply", [Reply(" \n"), Reply("I cannot.", invalid="refused")])
def test_a_refused_or_empty_summary_is_an_error_not_a_mindscape(reply):
    model = Echo()
    model.chat = lambda conversations, max_new_tokens: [Reply("fine"), reply, Reply("fine")]
    said = "echo, summary 2 of 3: (the reply has no words|refused)"
    refused(lambda: summaries.summarise_document(model, *pieces(3)), said, LLMError)


def test_chinese_has_prompts_of_its_own():
    model = Echo()
    summaries.summarise_document(model, *cut("红楼", ["贾宝玉来了。", "林黛玉走了。"], "zh"))
    assert "贾宝玉来了。" in model.requests[0] and "不超过500个字符" in model.requests[0]
    assert "梗概" in model.requests[-1]


def test_an_unknown_language_and_no_chunks_are_refused():
    document, chunks = pieces(2, language="fr")
    refused(lambda: summaries.summarise_document(Echo(), document, chunks), "no prompt in 'fr': expected one of en, zh")
    refused(lambda: summaries.summarise_document(Echo(), document, []), "toy has no chunks")


def check(text, language, limit):
    """What holds for every summary."""
    spans, whole = summaries.select(text, language, limit), sentences(text, language)
    summaries._ranked.cache_clear()  # or the second time would not be one
    assert spans and spans == sorted(spans) == summaries.select(text, language, limit)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    picked = [text[span.start : span.end] for span in spans]
    assert all(piece and piece == piece.strip() for piece in picked)
    summary = summaries.summarise(text, language, limit)
    assert summary == (" " if language == "en" else "").join(picked) and 0 < len(summary) <= limit
    for span in spans:
        sentence = next(sentence for sentence in whole if sentence.start <= span.start < sentence.end)
        assert span.end <= sentence.end and not text[sentence.start : span.start].strip()
        assert len(spans) == 1 or not text[span.end : sentence.end].strip()  # only a lone sentence is ever cut


@pytest.mark.parametrize("limit", [5, 20, 60, 100, 150, 500])
def test_a_scene_of_a_play_and_a_story(limit, book):
    check(shakespeare.play("macbeth").text[5000:9300], "en", limit)  # many short verse lines, speakers, stage directions
    check(book.document.text[:1000], book.document.language, limit)


WORD = st.sampled_from(["king", "ghost", "the", "walks", "Speak", "Mr.", "3", "王子", "鬼魂", "他"])
BETWEEN = st.sampled_from([" ", ". ", "! ", "。", "\n", "\n\n", "\r\n"])
TEXT = st.lists(st.tuples(WORD, BETWEEN), min_size=1, max_size=40)
ODD = st.text(min_size=1).filter(str.strip)


@settings(max_examples=150)
@given(ODD | TEXT.map(lambda pieces: "".join(map("".join, pieces))), st.sampled_from(["en", "zh"]), st.integers(1, 80))
def test_any_text(text, language, limit):
    check(text, language, limit)


def test_a_limit_beyond_the_text_takes_all_of_it():
    text = "贾宝玉来了。林黛玉走了！"
    assert summaries.summarise(text, "zh", len(text)) == text


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


def test_the_last_digits_of_a_rating_decide_nothing(monkeypatch):
    """They come from a matrix product, and differ by processor; in a novel of like sentences many ratings are ties."""
    text, power_method = books("develop")[0].document.text, TextRankSummarizer.power_method
    whole = summaries.select(text, "en", 9000)
    for seed in range(3):
        noise = 1e-15 * np.random.default_rng(seed).choice([-1, 0, 1], 10_000)

        def noisy(matrix, epsilon, noise=noise):
            return power_method(matrix, epsilon) * (1 + noise[: len(matrix)])

        monkeypatch.setattr(TextRankSummarizer, "power_method", staticmethod(noisy))
        summaries._ranked.cache_clear()
        assert summaries.select(text, "en", 9000) == whole
    summaries._ranked.cache_clear()


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


def annotated(book, chosen=(7, 3)):
    return [Silver(question.id, {}, (), chosen, (), ()) for question in book.questions]


@given(st.lists(st.integers(1, 9), max_size=12), st.integers(0, 40))
def test_halves_hold_what_fits(lengths, most):
    first, last = summaries.halves(lengths, most)
    for half, following in ((first, first.stop), (last, last.start - 1)):
        read = sum(lengths[i] for i in half)
        assert read <= most
        assert not 0 <= following < len(lengths) or read + lengths[following] > most
    assert first.start == 0 and last.stop == len(lengths)


def test_a_half_has_all_that_is_needed(book, tokenizer):
    chunks = passages.cut(book, tokenizer)
    cases = summaries.cases(book, tokenizer, annotated(book))
    assert 10 < len(cases) < len(book.questions)
    assert len({case.question.id for case in cases}) == len(cases)
    halves = [case.shown["half"] for case in cases]
    assert len(set(halves)) == 2 and halves == sorted(halves)  # neighbours share the half, which is then read once
    for case in cases:
        assert set(case.shown["gold"]) <= set(case.shown["half"]) and case.shown["silver"] == (3, 7)
        assert passages.readable(book, case.question, passages.shown(book, [chunks[i] for i in case.shown["gold"]]))
        for condition in summaries.CONDITIONS:
            prompt = summaries.prompt(case, condition, tokenizer)
            assert case.question.question in prompt
            at = [prompt.index(book.document[chunks[i]].strip()) for i in case.shown[condition]]
            assert at == sorted(at)
        assert len(tokenizer.encode(summaries.prompt(case, "half", tokenizer))) < 8_192 - 40


def test_nothing_chosen_is_nothing_shown(book, tokenizer):
    case = summaries.cases(book, tokenizer, annotated(book, ()))[0]
    prompt = summaries.prompt(case, "silver", tokenizer)
    assert "\n-\n" in prompt and len(prompt) < len(summaries.prompt(case, "gold", tokenizer))


def test_scores(book, tokenizer):
    case = summaries.cases(book, tokenizer, annotated(book))[0]
    right = case.question.answer
    assert summaries.f1_and_exact(case, Answer(right, right)) == (1.0, 1.0)
    assert summaries.f1_and_exact(case, Answer(right, None, cut=True)) == (0.0, 0.0)
