"""All methods on the same questions: one budget, what is needed, files that go on after a kill; bad input."""

import numpy as np
import pytest

from mindscape import side_by_side as side
from mindscape.corpora import storyworld
from mindscape.corpora.questions import Question
from mindscape.errors import InputError
from mindscape.mia.embedding import PlainEmbedder
from mindscape.signature.memory import build, given
from mindscape.signature.rag import Geometry
from mindscape.text import Chunk, Document, Span

LINES = ("Ann keeps the inn. ", "It rained on Monday. ", "Ivo is the miller. ", "Ivo bought a lamp.")


class Letters:
    """An encoder: counts of letters, length 1."""

    name, dim, fingerprint = "letters", 27, "letters"

    def encode(self, texts, kind="passage"):
        letters = "abcdefghijklmnopqrstuvwxyz"
        found = np.array([[0.1, *(text.lower().count(one) for one in letters)] for text in texts], np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def no_store(monkeypatch):
    """Vectors of the stand-in encoders are not kept."""
    monkeypatch.setattr(
        "mindscape.signature.rag.retriever", lambda m: m if hasattr(m, "steered") else Geometry(Letters())
    )


@pytest.fixture
def toy(tokenizer):
    document = Document("town", "".join(LINES))
    at = [sum(map(len, LINES[:i])) for i in range(5)]
    chunks = [Chunk("town", i, at[i], at[i + 1]) for i in range(4)]
    evidence, binding = Span(at[3], at[4]), Span(at[2], at[3])
    question = Question(
        id="q",
        doc_id="town",
        question="What did the miller buy?",
        answer="a lamp",
        accepted=(),
        options=(),
        evidence=(evidence,),
        breadth="multi-sparse",
        depth="multi-hop",
        bindings=((binding,),),
        gloss="Ivo is the miller",
    )
    memory = build(document, chunks, given(["Ivo is the miller; Ann has the inn."]), width=4)
    return side.Case("toy", "toy", memory, (question,), tokenizer, ("Ivo is the miller; Ann has the inn.",))


@pytest.fixture(scope="module")
def novels(tokenizer):
    return side.novels(1000, tokenizer, share=4)


def load(family):
    return Letters() if family == "minilm" else PlainEmbedder(Letters(), 0.5)


def test_a_budget_is_kept_and_the_piece_that_does_not_fit_is_cut(toy):
    order = [*toy.memory.chunks, "a note"]
    whole = side.filled(toy, order, 1000)
    assert whole.pieces == tuple(order) and whole.tokens == toy.tokens + 2
    for budget in range(1, whole.tokens + 1):
        assert side.filled(toy, order, budget).tokens == budget
    cut = side.filled(toy, order, 3)
    assert toy.documents["town"][cut.places[0]].strip() == "Ann keeps the"


def test_places_that_are_shown_already_cost_nothing(toy):
    first = toy.memory.chunks[0]
    inner = Chunk("town", 9, first.start + 4, first.end - 2)
    assert side.filled(toy, [first, inner, first]) == side.filled(toy, [first])


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
        of = side.needed(toy, question, side.filled(toy, order))
        assert (of.evidence, of.bindings, of.all) == expected and of.share == sum(expected[:2]) / 2


def test_half_a_span_is_no_evidence(toy):
    shown = side.filled(toy, [toy.memory.chunks[3]], 3)
    assert side.needed(toy, toy.questions[0], shown).evidence == 0


def test_a_step_along_the_edges():
    about = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], bool)
    scores = np.array([[0.9, 0.1, 0.4, 0.5]])
    assert side.stepped(scores, about)[0] == pytest.approx([0.95, 0.55, 0.45, 0.5])
    assert side.stepped(scores, about, 0.0) == pytest.approx(scores)


def test_questions_are_the_same_and_fewer_are_the_first_of_more():
    asked = storyworld.book(1000, tokens=15_000).questions
    few, more = side.picked(asked, 4), side.picked(asked, 9)
    assert few == more[:4] and [one.needs_binding for one in more] == [True, False, False] * 3
    assert sorted(one.id for one in side.picked(asked, 10_000)) == sorted(one.id for one in asked)


def test_statements_have_the_places_of_evidence_and_of_bindings(novels):
    places = {(it.doc_id, it.start, it.end) for it in novels.statements.places}
    bound = [one for one in novels.questions if one.needs_binding]
    assert bound
    for one in bound:
        for group in one.bindings:
            assert any((one.doc_id, span.start, span.end) in places for span in group)
    assert novels.statements.about.shape[0] == len(novels.statements.texts)


def test_all_methods_fill_the_budget_and_the_evidence_suffices(novels):
    ranks = {"minilm": side.by_minilm(novels, load("minilm")), "sft": side.by_sft(novels, load("sft"))}
    ranks["mia"] = side.by_mia(novels, load("mia"), load("minilm"), ranks["sft"].found["sft_emb"])
    for name in side.methods_of(novels):
        found = side.pieces(novels, name, ranks, 300)
        assert len(found) == len(novels.questions)
        for pieces in found:
            assert 0 < side.filled(novels, pieces, 300).tokens <= 300
        assert side.index_bytes(novels, name, ranks) >= 0 and side.written(novels, name) >= 0
    best = side.pieces(novels, "evidence")
    for one, pieces in zip(novels.questions, best, strict=True):
        assert side.needed(novels, one, side.filled(novels, pieces, 10_000)).all == 1


def test_rankings_are_kept_and_a_kill_loses_none(novels, tmp_path):
    about, loaded = {"split": "develop"}, []

    def dies(family):
        loaded.append(family)
        if family == "mia":
            raise KeyboardInterrupt
        return load(family)

    with pytest.raises(KeyboardInterrupt):
        side.add_ranks(tmp_path, about, [novels], dies, lambda text: None)
    assert loaded == ["minilm", "sft", "mia"]
    with pytest.raises(InputError, match="no line 'mia"):
        side.kept_ranks(tmp_path, novels)
    again = []
    side.add_ranks(tmp_path, about, [novels], lambda it: again.append(it) or load(it), lambda text: None)
    assert again == ["mia", "minilm"]
    found = side.kept_ranks(tmp_path, novels)
    assert found["minilm"].found == side.by_minilm(novels, load("minilm")).found
    assert len(side.prompts(novels, "mindgraph", found, 200, 1)) == 2
    with pytest.raises(InputError, match="another run"):
        side.add_ranks(tmp_path, {"split": "test"}, [novels], load)


def test_a_play_has_a_memory_of_scenes_and_no_graph(tokenizer):
    case = side.plays("macbeth", tokenizer, 2)
    chunks, ((document, memory),) = case.units
    assert chunks[0].start == 0 and chunks[-1].end == len(document.text) and len(memory) == len(chunks)
    assert memory.outline[0].startswith("SCENE I")
    assert "mindgraph" not in side.methods_of(case) and "mom" in side.methods_of(case)
    for name in ("mindgraph", "graphrag"):
        with pytest.raises(InputError, match="has none"):
            side.pieces(case, name)


def test_what_cannot_be(novels, tokenizer):
    with pytest.raises(InputError, match="method='tarot'"):
        side.pieces(novels, "tarot")
    with pytest.raises(InputError, match="rankings of family 'sft'"):
        side.pieces(novels, "sft_emb", {})
    with pytest.raises(InputError, match="budget=0"):
        side.filled(novels, [], 0)
    with pytest.raises(InputError, match="split='dev'"):
        side.cases(tokenizer, 1, (), split="dev")


def test_the_command_tells_what_it_cannot_do(monkeypatch, capsys, tmp_path):
    for words, said in ((["--methods", "tarot"], "--methods tarot"), (["--only", "all"], "--only all")):
        monkeypatch.setattr("sys.argv", ["side_by_side", "--out", str(tmp_path), *words])
        with pytest.raises(SystemExit, match=said):
            side.main()
