"""All methods on the same questions: one budget, what is needed, rankings out of the store; bad input."""

from dataclasses import replace

import pytest
from extras import refused
from stubs import Letters, cut

import storyworld
from mindscape import methods, store
from mindscape.mia.embedding import PlainEmbedder
from mindscape.question import Question
from mindscape.signature.memory import build, given
from mindscape.text import Chunk, Span

pytestmark = pytest.mark.usefixtures("own_store")
LINES = ("Ann keeps the inn. ", "It rained on Monday. ", "Ivo is the miller. ", "Ivo bought a lamp.")


@pytest.fixture
def toy(tokenizer):
    document, chunks = cut("town", LINES)
    binding, evidence = (Span(chunk.start, chunk.end) for chunk in chunks[2:])
    about = {"question": "What did the miller buy?", "answer": "a lamp", "accepted": (), "options": ()}
    spans = {"evidence": (evidence,), "bindings": ((binding,),), "gloss": "Ivo is the miller"}
    question = Question("q", "town", **about, **spans, breadth="multi-sparse", depth="multi-hop")
    memory = build(document, chunks, given(["Ivo is the miller; Ann has the inn."]), width=4)
    return methods.Case("toy", "toy", memory, (question,), tokenizer, ("Ivo is the miller; Ann has the inn.",))


@pytest.fixture(scope="module")
def novels(tokenizer):
    return methods.novels(1000, tokenizer, share=4)


@pytest.fixture(scope="module")
def by():
    """Stand-ins for all three models."""
    return methods.Encoders(Letters(), PlainEmbedder(Letters(), 0.4), PlainEmbedder(Letters(), 0.5))


def test_a_budget_is_kept_and_the_piece_that_does_not_fit_is_cut(toy):
    order = [*toy.memory.chunks, "a note"]
    whole = methods.filled(toy, order, 1000)
    assert whole.pieces == tuple(order) and whole.tokens == toy.tokens + 2
    for budget in range(1, whole.tokens + 1):
        assert methods.filled(toy, order, budget).tokens == budget
    assert toy.documents["town"][methods.filled(toy, order, 3).places[0]].strip() == "Ann keeps the"


def test_places_that_are_shown_already_cost_nothing(toy):
    first = toy.memory.chunks[0]
    inner = Chunk("town", 9, first.start + 4, first.end - 2)
    assert methods.filled(toy, [first, inner, first]) == methods.filled(toy, [first])


def test_a_binding_is_known_by_its_place_or_by_a_note_and_evidence_by_its_place_alone(toy):
    (question,) = toy.questions
    chunks = toy.memory.chunks
    for order, expected in (
        ([chunks[3]], (1.0, 0.0, 0.0)),
        ([chunks[2]], (0.0, 1.0, 0.0)),
        ([chunks[2], chunks[3]], (1.0, 1.0, 1.0)),
        ([toy.summaries[0], chunks[3]], (1.0, 1.0, 1.0)),
        (["Ivo bought a lamp."], (0.0, 0.0, 0.0)),
    ):
        need = methods.needed(toy, question, methods.filled(toy, order))
        assert (need.evidence, need.bindings, need.all) == expected and need.share == sum(expected[:2]) / 2


def test_half_a_span_is_no_evidence_and_a_question_without_evidence_lacks_nothing(toy):
    shown = methods.filled(toy, [toy.memory.chunks[3]], 3)
    assert methods.needed(toy, toy.questions[0], shown).evidence == 0
    need = methods.needed(toy, replace(toy.questions[0], evidence=(), bindings=(), gloss=""), shown)
    assert (need.evidence, need.bindings, need.share, need.all) == (1.0, 1.0, 1.0, 1.0)


def test_questions_are_the_same_and_fewer_are_the_first_of_more(novels):
    questions = storyworld.book(1000, tokens=15_000).questions
    few, more = methods.picked(questions, 4), methods.picked(questions, 9)
    assert few != methods.picked(questions, 4, seed=1)
    assert methods.pieces(novels, "random") != methods.pieces(novels, "random", seed=1)
    assert few == more[:4] and [question.needs_binding for question in more] == [True, False, False] * 3
    assert sorted(question.id for question in methods.picked(questions, 10_000)) == sorted(
        question.id for question in questions
    )


def test_statements_have_the_places_of_evidence_and_of_bindings(novels):
    places = {(place.doc_id, place.start, place.end) for place in novels.statements.places}
    bound = [question for question in novels.questions if question.needs_binding]
    assert bound
    for question in bound:
        for group in question.bindings:
            assert any((question.doc_id, span.start, span.end) in places for span in group)
    assert novels.statements.about.shape[0] == len(novels.statements.texts)


def test_all_methods_fill_the_budget_and_the_evidence_suffices(novels, by):
    for name in methods.methods_of(novels):
        contexts = [methods.filled(novels, order, 300) for order in methods.pieces(novels, name, by)]
        assert len(contexts) == len(novels.questions)
        assert all(0 < context.tokens <= 300 for context in contexts)
        assert all(bool(context.notes) <= methods.METHODS[name].notes for context in contexts)
    best = [methods.filled(novels, order, 10_000) for order in methods.pieces(novels, "evidence")]
    assert all(
        methods.needed(novels, context, best_context).all for context, best_context in zip(novels.questions, best, strict=True)
    )


def test_the_mindscape_and_the_signature_come_before_the_passages(novels, by):
    first = methods.pieces(novels, "mia_rag", by)[0]
    best = methods.rankings(novels, "mia_emb", by)[0].ids[0]
    assert first[:2] == [novels.summaries[novels.memory.books[best]], novels.memory.chunks[best]]
    first, plain = (methods.pieces(novels, name, by)[0] for name in ("signature_shown", "signature"))
    assert first[:5] == [novels.memory.items[i].text for i in methods.items(novels, by)[0].ids]
    assert first[5:] == plain


def test_rankings_are_found_again_question_by_question(novels, by):
    names = [name for name in methods.methods_of(novels) if methods.METHODS[name].family]
    made = {name: methods.rankings(novels, name, by) for name in names}
    before = sum(access.computed for access in store.current().trail)
    fewer = replace(novels, questions=novels.questions[2:5])
    assert all(methods.rankings(fewer, name, by) == made[name][2:5] for name in names)
    assert sum(access.computed for access in store.current().trail) == before


def test_the_graph_of_several_books_keeps_their_passages_and_ties(novels):
    joined = novels.graph
    assert [joined.document[chunk] for chunk in joined.chunks] == novels.memory.texts
    split = len(novels.books[0].entities)
    assert len(joined.graph.entities) == split + len(novels.books[1].entities)
    for tie in joined.graph.relations:
        assert (tie.source < split) == (tie.target < split)
        assert {novels.memory.books[i] for i in tie.chunks} <= {int(tie.source >= split)}


def test_a_play_has_a_memory_of_scenes_and_no_graph(tokenizer):
    case = methods.plays("macbeth", tokenizer, 2)
    (document,), (memory,) = case.memory.documents, case.memories
    assert case.units[0].start == 0 and case.units[-1].end == len(document.text) and len(memory) == len(case.units)
    assert memory.outline[0].startswith("SCENE I")
    assert "mindgraph" not in methods.methods_of(case) and "mom" in methods.methods_of(case)
    refused(lambda: methods.pieces(case, "mindgraph"), "has none")
    refused(lambda: methods.pieces(case, "graphrag"), "has none")


def test_what_cannot_be(novels, tokenizer, by):
    refused(lambda: methods.pieces(novels, "tarot"), "method='tarot'")
    refused(lambda: methods.methods_of(novels, ["tarot"]), "method='tarot'")
    refused(lambda: methods.pieces(novels, "sft_emb"), "expected encoders")
    refused(lambda: methods.rankings(novels, "lead", by), "ranks nothing")
    refused(lambda: methods.filled(novels, [], 0), "budget=0")
    refused(lambda: methods.cases(tokenizer, 11, ()), "series=11: expected 0 to 10")
    refused(lambda: methods.cases(tokenizer, 0, [""]), "no plays")
    refused(lambda: methods.cases(tokenizer, 1, ["hamlett"]), "plays='hamlett': expected some of falstaff, rome")
    refused(lambda: methods.plays("histories", tokenizer), "plays='histories': expected some of falstaff")
