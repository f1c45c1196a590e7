"""All methods on the same questions: one budget, what is needed, files that go on after a kill; bad input."""

from dataclasses import replace

import numpy as np
import pytest
from stubs import Letters

from mindscape import methods, paths
from mindscape.corpora import storyworld
from mindscape.errors import InputError
from mindscape.methods.__main__ import main
from mindscape.mia.embedding import PlainEmbedder
from mindscape.question import Question
from mindscape.signature.memory import build, given
from mindscape.text import Chunk, Document, Span

LINES = ("Ann keeps the inn. ", "It rained on Monday. ", "Ivo is the miller. ", "Ivo bought a lamp.")


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
    return methods.Case("toy", "toy", memory, (question,), tokenizer, ("Ivo is the miller; Ann has the inn.",))


@pytest.fixture(scope="module")
def novels(tokenizer):
    return methods.novels(1000, tokenizer, share=4)


@pytest.fixture(scope="module")
def ranks(novels):
    """By stand-ins for all three models."""
    found = {"minilm": methods.by_minilm(novels, load("minilm")), "sft": methods.by_sft(novels, load("sft"))}
    woken = found["sft"].found["sft_emb"]
    return found | {"mia": methods.by_mia(novels, load("mia"), load("minilm"), woken)}


def load(family):
    return Letters() if family == "minilm" else PlainEmbedder(Letters(), 0.5)


def test_a_budget_is_kept_and_the_piece_that_does_not_fit_is_cut(toy):
    order = [*toy.memory.chunks, "a note"]
    whole = methods.filled(toy, order, 1000)
    assert whole.pieces == tuple(order) and whole.tokens == toy.tokens + 2
    for budget in range(1, whole.tokens + 1):
        assert methods.filled(toy, order, budget).tokens == budget
    cut = methods.filled(toy, order, 3)
    assert toy.documents["town"][cut.places[0]].strip() == "Ann keeps the"


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
        of = methods.needed(toy, question, methods.filled(toy, order))
        assert (of.evidence, of.bindings, of.all) == expected and of.share == sum(expected[:2]) / 2


def test_a_question_without_evidence_lacks_nothing(toy):
    none = replace(toy.questions[0], evidence=(), bindings=(), gloss="")
    of = methods.needed(toy, none, methods.filled(toy, [toy.memory.chunks[0]]))
    assert (of.evidence, of.bindings, of.share, of.all) == (1.0, 1.0, 1.0, 1.0)


def test_half_a_span_is_no_evidence(toy):
    shown = methods.filled(toy, [toy.memory.chunks[3]], 3)
    assert methods.needed(toy, toy.questions[0], shown).evidence == 0


def test_a_step_along_the_edges():
    about = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], bool)
    scores = np.array([[0.9, 0.1, 0.4, 0.5]])
    assert methods.stepped(scores, about)[0] == pytest.approx([0.95, 0.55, 0.45, 0.5])
    assert methods.stepped(scores, about, 0.0) == pytest.approx(scores)


def test_questions_are_the_same_and_fewer_are_the_first_of_more():
    asked = storyworld.book(1000, tokens=15_000).questions
    few, more = methods.picked(asked, 4), methods.picked(asked, 9)
    assert few == more[:4] and [one.needs_binding for one in more] == [True, False, False] * 3
    assert sorted(one.id for one in methods.picked(asked, 10_000)) == sorted(one.id for one in asked)


def test_statements_have_the_places_of_evidence_and_of_bindings(novels):
    places = {(it.doc_id, it.start, it.end) for it in novels.statements.places}
    bound = [one for one in novels.questions if one.needs_binding]
    assert bound
    for one in bound:
        for group in one.bindings:
            assert any((one.doc_id, span.start, span.end) in places for span in group)
    assert novels.statements.about.shape[0] == len(novels.statements.texts)


def test_all_methods_fill_the_budget_and_the_evidence_suffices(novels, ranks):
    for name in methods.methods_of(novels):
        found = methods.shown(novels, name, ranks, 300)
        assert len(found) == len(novels.questions)
        assert all(0 < one.tokens <= 300 for one in found)
        assert all(bool(one.notes) <= methods.METHODS[name].notes for one in found)
        assert methods.index_bytes(novels, name, ranks) >= 0 and methods.written(novels, name) >= 0
    best = methods.shown(novels, "evidence", budget=10_000)
    assert all(methods.needed(novels, one, it).all for one, it in zip(novels.questions, best, strict=True))


def test_the_mindscape_and_the_signature_come_before_the_passages(novels, ranks):
    first = methods.shown(novels, "mia_rag", ranks, 10_000)[0]
    best = ranks["mia"].found["mia_emb"][0][0]
    assert first.notes == [novels.summaries[novels.memory.books[best]]]
    assert first.places[0] == novels.memory.chunks[best]
    items = ranks["mia"].found["items"][0]
    assert methods.shown(novels, "signature_shown", ranks, 10_000)[0].notes == [
        novels.memory.items[i].text for i in items
    ]
    assert len(items) == 5


def test_a_passage_is_read_once_by_each_adapter(novels, ranks):
    """And nothing by the other one's."""
    read = []

    class Counted(PlainEmbedder):
        def units(self, texts):
            read.extend(texts)
            return super().units(texts)

    found = methods.by_mia(novels, Counted(Letters(), 0.5), load("minilm"), ranks["sft"].found["sft_emb"])
    assert read == novels.memory.texts and found.found == ranks["mia"].found


def test_the_graph_of_several_books_keeps_their_passages_and_ties(novels):
    of = novels.graph
    assert [of.document[chunk] for chunk in of.chunks] == novels.memory.texts
    ends = [(it.source, it.target, it.chunks) for it in of.graph.relations]
    split = len(novels.books[0].entities)
    assert len(of.graph.entities) == split + len(novels.books[1].entities)
    for source, target, chunks in ends:
        assert (source < split) == (target < split)
        assert {novels.memory.books[i] for i in chunks} <= {int(source >= split)}


def test_rankings_are_kept_and_a_kill_loses_none(novels, ranks, tmp_path):
    about, loaded = {"split": "develop"}, []

    def dies(family):
        loaded.append(family)
        if family == "mia":
            raise KeyboardInterrupt
        return load(family)

    with pytest.raises(KeyboardInterrupt):
        methods.add_ranks(tmp_path, about, [novels], dies, lambda text: None)
    assert loaded == ["minilm", "sft", "mia"]
    with pytest.raises(InputError, match="no line 'mia"):
        methods.kept_ranks(tmp_path, [novels])
    assert set(methods.kept_ranks(tmp_path, [novels], ["sft"])[novels.name]) == {"sft"}
    again = []
    methods.add_ranks(tmp_path, about, [novels], lambda it: again.append(it) or load(it), lambda text: None)
    assert again == ["mia", "minilm"]
    found = methods.kept_ranks(tmp_path, [novels])[novels.name]
    assert all(found[family].found == ranks[family].found for family in methods.FAMILIES)
    assert len(methods.prompts(novels, "mindgraph", found, 200, 1)) == 2
    with pytest.raises(InputError, match="another run"):
        methods.add_ranks(tmp_path, {"split": "test"}, [novels], load)


def test_rankings_by_other_adapters_are_refused(novels, tmp_path):
    methods.add_ranks(tmp_path, {"sft": "0" * 64}, [novels], load, lambda text: None)
    with pytest.raises(InputError, match="family 'sft' are not by"):
        methods.kept_ranks(tmp_path, [novels], sft=paths.data("adapters", "sft_emb"))


def test_a_play_has_a_memory_of_scenes_and_no_graph(tokenizer):
    case = methods.plays("macbeth", tokenizer, 2)
    (document,), (memory,) = case.memory.documents, case.memories
    assert case.units[0].start == 0 and case.units[-1].end == len(document.text) and len(memory) == len(case.units)
    assert memory.outline[0].startswith("SCENE I")
    assert "mindgraph" not in methods.methods_of(case) and "mom" in methods.methods_of(case)
    for name in ("mindgraph", "graphrag"):
        with pytest.raises(InputError, match="has none"):
            methods.pieces(case, name)


def test_what_cannot_be(novels, tokenizer, tmp_path):
    for call, said in (
        (lambda: methods.pieces(novels, "tarot"), "method='tarot'"),
        (lambda: methods.methods_of(novels, ["tarot"]), "method='tarot'"),
        (lambda: methods.written(novels, "tarot"), "method='tarot'"),
        (lambda: methods.index_bytes(novels, "tarot"), "method='tarot'"),
        (lambda: methods.index_bytes(novels, "mom"), "rankings of family 'minilm'"),
        (lambda: methods.pieces(novels, "sft_emb", {}), "rankings of family 'sft'"),
        (lambda: methods.filled(novels, [], 0), "budget=0"),
        (lambda: methods.cases(tokenizer, 1, (), split="dev"), "split='dev'"),
        (lambda: methods.cases(tokenizer, 11, ()), "series=11: expected 0 to 10"),
        (lambda: methods.cases(tokenizer, 0, [""]), "no plays"),
        (lambda: methods.cases(tokenizer, 1, (), 0), "share=0"),
        (lambda: methods.plays("hamlett", tokenizer), "did you mean 'hamlet'"),
        (lambda: methods.kept_ranks(tmp_path, [novels]), "cannot read"),
    ):
        with pytest.raises(InputError, match=said):
            call()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--methods", "lead,tarot"], "--methods tarot: expected some of lot"),
        (["--only", "all"], "--only all: expected some of ranks, answers"),
        (["--batch", "0"], "--batch 0: expected at least 1"),
        (["--answered", "-1"], "--answered -1: expected at least 0"),
        (["--series", "0", "--plays", ""], "no plays"),
        (["--sft", "nowhere", "--series", "0", "--plays", "macbeth"], "expected a folder with adapter_model"),
    ],
)
def test_the_command_tells_what_it_cannot_do(words, said, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["methods", "--out", str(tmp_path), *words])
    with pytest.raises(SystemExit, match=said):
        main()


def test_the_command_tells_what_it_would_read(monkeypatch, capsys, tmp_path):
    words = ["--series", "0", "--plays", "macbeth", "--methods", "lead,mindgraph", "--asked", "3", "--estimate"]
    monkeypatch.setattr("sys.argv", ["methods", "--out", str(tmp_path / "new"), *words])
    main()
    said = capsys.readouterr().out
    assert "answers: 3 prompts, at most about 3,360 tokens" in said  # a play has no graph
    assert not (tmp_path / "new").exists()
