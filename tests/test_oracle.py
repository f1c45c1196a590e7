"""Silver passages against gold ones and half a book: what is compared, what is shown, a run that breaks off."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindscape import llm
from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.llm.base import Reply
from mindscape.mia import annotation, oracle, silver
from mindscape.mia.silver import Silver
from mindscape.reader.evaluation import Answer
from mindscape.roles import passages


@pytest.fixture(scope="module", params=["en", "zh"])
def book(request):
    return storyworld.book(1000, tokens=15_000, language=request.param)


def annotated(book, chosen=(7, 3)):
    return [Silver(question.id, {}, (), chosen, (), ()) for question in book.questions]


@given(st.lists(st.integers(1, 9), max_size=12), st.integers(0, 40))
def test_halves_hold_what_fits(lengths, most):
    first, last = oracle.halves(lengths, most)
    for half, following in ((first, first.stop), (last, last.start - 1)):
        read = sum(lengths[i] for i in half)
        assert read <= most
        assert not 0 <= following < len(lengths) or read + lengths[following] > most
    assert first.start == 0 and last.stop == len(lengths)


def test_a_half_has_all_that_is_needed(book, tokenizer):
    chunks = passages.cut(book, tokenizer)
    found = oracle.cases(book, tokenizer, annotated(book))
    assert 10 < len(found) < len(book.questions)
    assert len({case.question.id for case in found}) == len(found)
    halves = [case.shown["half"] for case in found]
    assert len(set(halves)) == 2 and halves == sorted(halves)  # neighbours share the half, which is then read once
    for case in found:
        assert set(case.shown["gold"]) <= set(case.shown["half"]) and case.shown["silver"] == (3, 7)
        assert passages.readable(book, case.question, passages.shown(book, [chunks[i] for i in case.shown["gold"]]))
        for condition in oracle.CONDITIONS:
            asked = oracle.prompt(case, condition, tokenizer)
            assert case.question.question in asked
            at = [asked.index(book.document[chunks[i]].strip()) for i in case.shown[condition]]
            assert at == sorted(at)
        assert len(tokenizer.encode(oracle.prompt(case, "half", tokenizer))) < 8_192 - 40


def test_nothing_chosen_is_nothing_shown(book, tokenizer):
    case = oracle.cases(book, tokenizer, annotated(book, ()))[0]
    asked = oracle.prompt(case, "silver", tokenizer)
    assert "\n-\n" in asked and len(asked) < len(oracle.prompt(case, "gold", tokenizer))
    with pytest.raises(InputError, match="no question 'x'"):
        oracle.cases(book, tokenizer, [Silver("x", {}, (), (), (), ())])


def test_scores(book, tokenizer):
    case = oracle.cases(book, tokenizer, annotated(book))[0]
    assert oracle.scored(case, Answer(case.question.answer, False)) == (1.0, 1.0)
    assert oracle.scored(case, Answer(case.question.answer, True)) == (0.0, 0.0)  # cut off
    assert oracle.scored(case, Answer("", False)) == (0.0, 0.0)


def test_the_command_goes_on(tmp_path, monkeypatch, capsys):
    book, calls = storyworld.book(1000, tokens=15_000), []

    class Reader:
        class backend:
            class model:
                dtype = "torch.float32"

        def chat(self, talks, **_):
            calls.append(len(talks))
            if len(calls) == 3:
                raise KeyboardInterrupt
            return [Reply("Ann", 0, 0) for _ in talks]

    monkeypatch.setattr(llm, "load", lambda *_, **__: Reader())
    path = annotation.path_of(tmp_path, book, "chunk")
    about = {"llm": "x"}
    monkeypatch.setattr(silver, "kept", lambda of: (about, annotated(book)) if of == path else 1 / 0)
    words = ["oracle", "--silver", str(tmp_path), "--books", "1", "--out", str(tmp_path / "answers.jsonl")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(KeyboardInterrupt):
        oracle.main()
    oracle.main()
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in told] == ["silver:", "gold:", "silver:", "gold:", "half:"]
    n = len(calls)
    oracle.main()  # everything is in the file
    assert len(calls) == n and capsys.readouterr().out.splitlines() == told[2:]
    monkeypatch.setattr(sys, "argv", [*words[:-3], "0", *words[-2:]])
    with pytest.raises(SystemExit, match="--books 0"):
        oracle.main()
