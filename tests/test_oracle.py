"""Silver passages against gold ones and half a book: what is compared, what is shown."""

from hypothesis import given
from hypothesis import strategies as st

from mindscape.mia import summaries
from mindscape.mia.embedding import Silver
from mindscape.question import Answer
from storyworld.teaching import passages


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
    found = summaries.cases(book, tokenizer, annotated(book))
    assert 10 < len(found) < len(book.questions)
    assert len({case.question.id for case in found}) == len(found)
    halves = [case.shown["half"] for case in found]
    assert len(set(halves)) == 2 and halves == sorted(halves)  # neighbours share the half, which is then read once
    for case in found:
        assert set(case.shown["gold"]) <= set(case.shown["half"]) and case.shown["silver"] == (3, 7)
        assert passages.readable(book, case.question, passages.shown(book, [chunks[i] for i in case.shown["gold"]]))
        for condition in summaries.CONDITIONS:
            asked = summaries.prompt(case, condition, tokenizer)
            assert case.question.question in asked
            at = [asked.index(book.document[chunks[i]].strip()) for i in case.shown[condition]]
            assert at == sorted(at)
        assert len(tokenizer.encode(summaries.prompt(case, "half", tokenizer))) < 8_192 - 40


def test_nothing_chosen_is_nothing_shown(book, tokenizer):
    case = summaries.cases(book, tokenizer, annotated(book, ()))[0]
    asked = summaries.prompt(case, "silver", tokenizer)
    assert "\n-\n" in asked and len(asked) < len(summaries.prompt(case, "gold", tokenizer))


def test_scores(book, tokenizer):
    case = summaries.cases(book, tokenizer, annotated(book))[0]
    right = case.question.answer
    assert summaries.f1_and_exact(case, Answer(right, right)) == (1.0, 1.0)
    assert summaries.f1_and_exact(case, Answer(right, None, cut=True)) == (0.0, 0.0)
