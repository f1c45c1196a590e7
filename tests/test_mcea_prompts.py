"""Prompts for MCEA and their controls."""

import pytest
from extras import refused

import storyworld
from storyworld.teaching import passages
from storyworld.teaching.scoring import CONDITIONS, NOISE, SHOWN, controlled_prompts
from storyworld.teaching.update import evidence, to_find


@pytest.fixture(scope="module", params=["en", "zh"])
def two_books(request):
    return [storyworld.book(seed, tokens=15_000, language=request.param) for seed in (1000, 1001)]


def shown(layout, tokenizer):
    """The passages of a prompt as texts, without blanks."""
    return ["".join(tokenizer.decode(part.ids).split()) for part in layout.parts if part.kind == "chunk"]


def test_prompts_and_their_controls(two_books, tokenizer):
    cases = controlled_prompts(two_books, tokenizer, share=3)
    assert [case.book for case in cases] == [book.document.id for book in two_books for _ in range(3)]
    assert cases == controlled_prompts(two_books, tokenizer, share=3)
    assert cases != controlled_prompts(two_books, tokenizer, share=3, seed=1)
    for case in cases:
        book = next(book for book in two_books if book.document.id == case.book)
        question = next(q for q in book.questions if q.id == case.id)
        assert tuple(case.layouts) == CONDITIONS and case.binding == question.needs_binding and case.silver == ()
        true = case.layouts["true"]
        assert len(true.relevant) == SHOWN and 0 < sum(true.relevant) <= SHOWN - NOISE
        texts = shown(true, tokenizer)
        assert len(set(texts)) == SHOWN
        chunks = {"".join(book.document[chunk].split()): chunk for chunk in passages.cut(book, tokenizer)}
        assert [passages.relevant(book, question, chunks[text]) for text in texts] == list(true.relevant)
        held = [any(passages.holds(book, chunks[text], span) for span in question.evidence) for text in texts]
        assert held == list(case.evidence) and any(held)
        ((start, end),) = true.places("summary")
        assert tokenizer.decode(true.ids[start:end]).strip() == book.summary.strip()
        for name in ("unrelated", "other"):
            layout = case.layouts[name]
            assert layout.ids[:start] + layout.ids[end:] == true.ids[:start] + true.ids[end:]
            assert layout.ids[start:end] != true.ids[start:end]
        assert sorted(shown(case.layouts["shuffled"], tokenizer)) == sorted(texts)
        assert len({end - start for start, end in case.layouts["equal"].places("chunk")}) == 1
    assert any(sum(case.layouts["true"].relevant) > 1 for case in controlled_prompts(two_books, tokenizer, share=12))


def test_silver_labels(two_books, tokenizer):
    """Of one book, where Algorithm 1 has taken the evidence of every other question, a passage that only says who is meant,
    and two that are none."""
    book = two_books[0]
    _, questions = to_find(book, tokenizer, "chunk")
    chunks, taken = passages.cut(book, tokenizer), {}
    for n, (question, right) in enumerate(questions):
        far = [i for i, chunk in enumerate(chunks) if not passages.relevant(book, question, chunk)][:2]
        bears = {i for i, chunk in enumerate(chunks) if passages.relevant(book, question, chunk)}
        only_who = sorted(bears - {*evidence(book, question, chunks)})
        taken[question.id] = [*sorted(right)[: n % 2], *only_who[:1], *far]
    cases = controlled_prompts(two_books, tokenizer, share=6, silver=taken)
    assert [len(case.silver) for case in cases] == [SHOWN] * 6 + [0] * 6
    places = {"".join(book.document[chunk].split()): i for i, chunk in enumerate(chunks)}
    for case in cases[:6]:
        numbers = [places[text] for text in shown(case.layouts["true"], tokenizer)]
        assert len(set(numbers)) == SHOWN
        assert [i in taken[case.id] for i in numbers] == list(case.silver)
        assert set(taken[case.id][-2:]) <= set(numbers)
        both = zip(case.silver, case.layouts["true"].relevant, strict=True)
        assert sum(flag and not gold for flag, gold in both) == 2
    assert any(sum(case.layouts["true"].relevant) > sum(case.evidence) > 0 for case in cases[:6])


def test_prompts_that_cannot_be(two_books, tokenizer):
    refused(lambda: controlled_prompts(two_books[:1], tokenizer), "1 books: expected at least two")
    refused(lambda: controlled_prompts(two_books, tokenizer, shown=5), "shown=5: expected at least 6 passages")
