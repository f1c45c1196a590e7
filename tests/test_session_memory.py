"""Session memories: windows and pi, whoever writes the summaries, books merged, memories with too much in them, recall."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import stubs
from extras import refused
from hypothesis import given
from hypothesis import strategies as st
from stubs import Stub, to_last

import storyworld
from mindscape import llm
from mindscape.corpora import shakespeare
from mindscape.errors import LLMError
from mindscape.mia.summaries import summarise
from mindscape.signature import memory as sessions
from mindscape.signature.memory import BLANK, Item, Posed, build, entities, gold, grouped, merged, posed, ranked, recalls
from mindscape.signature.memory import given as of_texts
from mindscape.text import Chunk, Document, Span


def toy(length, name="toy", language="en"):
    """A document of so many chunks of ten characters."""
    return stubs.cut(name, [f"chunk {i:03} " for i in range(length)], language)


def numbered(document, windows):
    """A summary that says which chunks it is of."""
    return [f"{document.id} {window[0].index}-{window[-1].index}" for window in windows]


@cache
def town():
    return storyworld.series(storyworld.DEVELOP[4], n=2, tokens=15_000)


def cut(document, size=300):
    """Chunks of so many characters, the last one shorter."""
    starts = range(0, len(document.text), size)
    return [Chunk(document.id, i, at, min(at + size, len(document.text))) for i, at in enumerate(starts)]


# Windows and pi -----------------------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 25))
def test_pi_is_the_formula_of_appendix_a1(length, width):
    memory = build(*toy(length), numbered, width)
    assert len(memory.items) == math.ceil(length / width)
    assert memory.pi.tolist() == [math.ceil(i / width) - 1 for i in range(1, length + 1)]
    for i, item in enumerate(memory.items):
        assert item.text == f"toy {i * width}-{min(i * width + width, length) - 1}"


@given(st.integers(1, 40), st.integers(1, 12), st.data())
def test_overlapping_windows_make_pi_a_relation(length, width, data):
    stride = data.draw(st.integers(1, width))
    memory = build(*toy(length), numbered, width, stride)
    dense = memory.cover.toarray()
    assert dense.shape == (len(memory.items), length) and (dense.sum(0) >= 1).all()
    for item, row in zip(memory.items, dense, strict=True):
        assert np.flatnonzero(row).tolist() == list(item.chunks) == list(range(item.chunks[0], item.chunks[-1] + 1))
    if (dense.sum(0) > 1).any():
        refused(lambda: memory.pi, "stands in . items: pi is no function here")
    chosen = data.draw(st.lists(st.integers(0, length - 1), max_size=6))
    slowly = []
    for chunk in chosen:
        slowly += [i for i in range(len(memory.items)) if dense[i, chunk] and i not in slowly]
    assert memory.items_of(chosen) == tuple(slowly)


def test_chunk_texts_have_no_blanks_around_them():
    memory = build(*stubs.cut("note", ["Ann left.\n\n", "   \n\n", "Tom came."]), of_texts(["All."]), width=3)
    assert memory.texts == ["Ann left.", BLANK, "Tom came."] and memory.summaries == ["All."]


@given(
    st.text(alphabet="ab \n", min_size=30, max_size=30),
    st.lists(st.integers(1, 29), unique=True, min_size=1, max_size=6),
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=4),
)
def test_chunks_that_hold_a_span_against_looking_at_every_character(text, cuts, overlap, places):
    cuts = [0, *sorted(cuts), 30]
    document = Document("d", text)
    chunks = [Chunk("d", i, max(0, a - overlap), b) for i, (a, b) in enumerate(zip(cuts, cuts[1:], strict=False))]
    memory = grouped(document, chunks, [list(range(len(chunks)))], ["all"])
    spans = [Span(start, min(30, start + length)) for start, length in places]
    marked = {i for span in spans for i in range(span.start, span.end) if not text[i].isspace()}
    slowly = [i for i, chunk in enumerate(chunks) if not marked.isdisjoint(range(chunk.start, chunk.end))]
    assert list(memory.holding("d", spans)) == slowly


# Who writes ---------------------------------------------------------------------------------------------------------


def test_gold_summaries_are_the_books_own(book, language):
    chunks = cut(book.document, 300 if language == "en" else 120)
    memory = build(book.document, chunks, gold(book), width=20)
    windows = [chunks[i : i + 20] for i in range(0, len(chunks), 20)]
    assert memory.summaries == book.session_summaries(windows)
    assert memory.pi.tolist() == [i // 20 for i in range(len(chunks))] and memory.language == language


def test_gold_summaries_of_overlapping_windows_are_those_of_their_layers(book):
    chunks = cut(book.document)
    memory = build(book.document, chunks, gold(book), width=20, stride=10)
    even = book.session_summaries([chunks[i : i + 20] for i in range(0, len(chunks), 20)])
    odd = book.session_summaries([chunks[:10], *(chunks[i : i + 20] for i in range(10, len(chunks), 20))])[1:]
    for i, text in enumerate(memory.summaries[:-1]):
        assert text == (odd if i % 2 else even)[i // 2]
    facts = {book.voice.fact(event).lower(): book.telling.events[event.id][0].start for event in book.world.events}
    for item in memory.items:  # what begins in a window is told there
        start, end = chunks[item.chunks[0]].start, chunks[item.chunks[-1]].end
        for fact, at in facts.items():
            if start <= at < end:
                assert fact in item.text.lower()


def test_gold_tells_of_its_own_book_alone(book):
    refused(lambda: build(*toy(3), gold(book)), "tells nothing of 'toy'")


def test_textrank_reads_the_window_as_one_text(book, language):
    chunks = cut(book.document)[:40]
    memory = build(book.document, chunks, sessions.by_textrank(200))
    raw = book.document.text[: chunks[19].end].strip()
    assert memory.summaries[0] == summarise(raw, language, 200) and all(len(text) <= 200 for text in memory.summaries)
    blank = stubs.cut("note", ["Ann left. ", "\n\n   \n", "Tom came."])  # a window of white space alone is asked of nobody
    assert build(*blank, sessions.by_textrank(), width=1).summaries == ["Ann left.", BLANK, "Tom came."]


@pytest.mark.parametrize(("language", "part"), [("en", "part 2 of 3"), ("zh", "第2部分，共3部分")])
def test_a_model_retells_each_window(language, part):
    document, chunks = toy(45, language=language)
    backend = Stub(lambda *_: "Summary: Ann left.")
    memory = build(document, chunks, sessions.by_model(llm.LanguageModel(backend)))
    assert memory.summaries == ["Ann left."] * 3  # its label is dropped
    ((message,), *_) = backend.requests[1]
    assert part in message["content"] and document.text[200:400].strip() in message["content"]
    assert "chunk 019" not in message["content"] and "chunk 040" not in message["content"]


def test_a_reply_that_says_nothing_names_its_session():
    silent = llm.LanguageModel(Stub(to_last(lambda prompt: "  " if "part 2" in prompt else "Ann left."), name="teller"))
    refused(lambda: build(*toy(60), sessions.by_model(silent)), "teller, toy, session 2 of 3: the reply is empty", LLMError)


# Several books, and too much memory ---------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(1, 5))
def test_merged_books_keep_their_items(lengths, width):
    memories = [build(*toy(length, f"book{i}"), numbered, width) for i, length in enumerate(lengths)]
    whole = merged(memories)
    assert [document.id for document in whole.documents] == [f"book{i}" for i in range(len(lengths))]
    assert whole.texts == [text for memory in memories for text in memory.texts]
    assert whole.summaries == [text for memory in memories for text in memory.summaries]
    assert whole.books.tolist() == [i for i, length in enumerate(lengths) for _ in range(length)]
    for i, item in enumerate(whole.pi.tolist()):  # a chunk's session is one of its own book
        assert whole.summaries[item].startswith(f"book{whole.books[i]} ")
    first = 0
    for memory, length in zip(memories, lengths, strict=True):
        assert (whole.pi[first : first + length] - whole.pi[first]).tolist() == memory.pi.tolist()
        first += length
    assert len(merged(memories[:1]).items) == len(memories[0].items)


def test_a_stack_holds_windows_of_several_widths_and_entities():
    document, chunks = stubs.cut("note", ["Ann left. ", "Tom came. ", "Ann sang. ", "It rained. ", "Tom left. "])
    people = entities(document, chunks, [("Ann", "A singer."), ("Tom", "A miller."), ("Ivo", "Nobody.")])
    both = sessions.stacked([build(document, chunks, numbered, 2), build(document, chunks, numbered, 5, kind="whole"), people])
    assert [item.kind for item in both.items] == ["session"] * 3 + ["whole"] + ["entity"] * 2
    assert both.cover.toarray().sum(0).tolist() == [3, 3, 3, 2, 3]
    assert both.items_of([2]) == (1, 3, 4) and both.items[5] == Item("Tom: A miller.", (1, 4), "entity")


def test_entities_of_a_novel_stand_for_the_chunks_that_name_them(book):
    memory = entities(book.document, cut(book.document), [(entity.name, entity.description) for entity in book.entities])
    assert 0.9 * len(book.entities) <= len(memory.items) <= len(book.entities)
    for item in memory.items:
        name = item.text.split(": ")[0].lower()
        assert all(name in memory.texts[i].lower() for i in item.chunks)


def test_scenes_of_a_play_are_sessions():
    play = shakespeare.play("macbeth")
    chunks = cut(play, 400)
    memory = sessions.scenes("macbeth", chunks)
    every = shakespeare.scenes(play)
    by_text = dict(zip(shakespeare.scene_summaries("macbeth"), every, strict=True))
    for i, chunk in enumerate(chunks):
        scene = by_text[memory.summaries[memory.pi[i]]]
        assert scene.start <= chunk.start or memory.pi[i] == 0
        assert not [other for other in every if scene.start < other.start <= chunk.start]


def test_a_fingerprint_tells_memories_apart():
    document, chunks = toy(8)
    memory = build(document, chunks, numbered, 4)
    others = [build(document, chunks, numbered, 4, 2), build(document, chunks, of_texts(["a", "b"]), 4)]
    assert memory.fingerprint == build(document, chunks, numbered, 4).fingerprint
    assert len({memory.fingerprint, *(other.fingerprint for other in others)}) == 3


def test_bad_memories():
    d, c = toy(4)
    refused(lambda: ranked(np.zeros(3), 0), "k=0")
    refused(lambda: build(d, [], numbered), "toy has no chunks")
    refused(lambda: build(d, c, of_texts(["one"]), 2), "1 summaries for 2 sessions")
    refused(lambda: grouped(d, c, [[0]], [" "]), "is blank")
    refused(lambda: grouped(d, [Chunk("other", 0, 0, 9)], [[0]], ["x"]), "expected chunks of")
    refused(lambda: entities(d, c, [("Ivo", "Nobody.")]), "no items")
    refused(lambda: merged([build(d, c, numbered)] * 2), "expected different ids")
    refused(lambda: sessions.stacked([build(d, c, numbered), build(d, c[:2], numbered)]), "other documents or chunks")
    refused(lambda: build(d, c, numbered).holding("else", []), "'else' is not in the memory: expected one of toy")
    refused(lambda: merged([build(d, c, numbered), build(*toy(2, "b", "zh"), numbered)]), "expected one language")


# Questions ----------------------------------------------------------------------------------------------------------


def test_questions_of_a_series_and_the_chunks_that_hold_their_evidence():
    series = town()
    memory = merged([build(book.document, cut(book.document), gold(book)) for book in series.books])
    questions, claims = sessions.of_series(series)
    items = posed(memory, questions)
    assert [item.text for item in items] == [question.question for question in series.questions]
    for item, question, whole in zip(items, questions, series.questions, strict=True):
        book = next(novel for novel in series.books if novel.document.id == item.doc_id)
        assert {memory.documents[i].id for i in memory.books[list(item.evidence)]} == {item.doc_id}
        held = "".join(book.document[memory.chunks[i]] for i in item.evidence)
        for span, same in zip(question.evidence, whole.evidence, strict=True):
            assert book.document[span] == series.document[same]
            assert len(question.evidence) > 1 or book.document[span] in held
        assert item.options["ABCD".index(item.right)] == question.answer
        assert len(item.bindings) == len(question.bindings) and all(item.bindings)
    said = sessions.posed_claims(memory, claims)
    assert len(said) == 2 * len(claims) and [item.right for item in said[:2]] == ["TRUE", "FALSE"]
    assert {item.kind for item in said} == {"claim"} and said[0].pair == said[1].pair != said[2].pair
    assert [item.text for item in said[::2]] == [pair.true for pair in series.claims]
    assert [item.evidence for item in said[::2]] == [item.evidence for item in items]


def test_free_questions(book):
    memory = build(book.document, cut(book.document), numbered)
    for item, question in zip(posed(memory, book.questions, "qa"), book.questions, strict=True):
        assert (item.kind, item.options, item.right, item.accepted) == ("qa", (), question.answer, question.accepted)


def test_bad_questions():
    series = town()
    memory = build(series.books[0].document, cut(series.books[0].document), numbered)
    questions, _ = sessions.of_series(series)
    refused(lambda: posed(memory, questions), r"series-1004-2' is not in the memory")
    lost = replace(questions[0], options=("Nobody", "No one", "None", "Nil"))
    refused(lambda: posed(memory, [lost]), "the answer is not among options ABCD")
    refused(lambda: posed(memory, questions, "essay"), "kind='essay'")
    part = build(series.books[0].document, cut(series.books[0].document)[:3], numbered)
    refused(lambda: posed(part, questions[:40]), "no chunk holds its evidence")


# Recall -------------------------------------------------------------------------------------------------------------


def asking(doc_id, *evidence):
    return Posed("q", doc_id, "Who?", "qa", (), "Ann", (), evidence)


def test_other_books_take_places_by_hand():
    memory = merged([build(*toy(3, name), numbered) for name in "ab"])
    scores = np.array([[0.1, 0.5, 0.4, 0.9, 0.45, 0.0]])
    items = [asking("a", 1, 2)]
    assert ranked(scores[0], 6).tolist() == [3, 1, 4, 2, 0, 5]
    assert [recalls(memory, items, scores, k) for k in (1, 2, 3, 4)] == [[0.0], [0.5], [0.5], [1.0]]
    assert [recalls(memory, items, scores, k, own_book=True) for k in (1, 2, 3, 4)] == [[0.5], [1.0], [1.0], [1.0]]


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_merging_never_finds_more(seed, k):
    """In one book alone a chunk's rank can only be better, so recall too; for any scores, with ties."""
    rng = np.random.default_rng(seed)
    memory = merged([build(*toy(int(n), f"b{i}"), numbered) for i, n in enumerate(rng.integers(1, 7, size=3))])
    scores = rng.integers(0, 5, size=(4, len(memory.chunks))) / 4
    items = []
    for _ in range(4):
        places = np.flatnonzero(memory.books == rng.integers(3))
        evidence = rng.choice(places, size=rng.integers(1, len(places) + 1), replace=False)
        items.append(asking(f"b{memory.books[evidence[0]]}", *sorted(evidence.tolist())))
    alone, whole = (recalls(memory, items, scores, k, own_book=own) for own in (True, False))
    assert all(a >= b for a, b in zip(alone, whole, strict=True))
    for item, row in zip(items, scores, strict=True):  # in the book alone: as in a memory of that book
        number = int(item.doc_id[1:])
        first = int((memory.books < number).sum())
        part = row[memory.books == number]
        assert (ranked(row, k, memory.books == number) - first).tolist() == ranked(part, k).tolist()


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20), st.integers(1, 25))
def test_ranks_are_those_of_a_stable_sort(values, k):
    slowly = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    assert ranked(np.array(values, dtype=float), k).tolist() == slowly
