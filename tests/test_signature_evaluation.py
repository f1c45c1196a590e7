"""Rankings, replies and traces on series of books: what is asked, what is kept, what a kill leaves, the command."""

import json
from argparse import Namespace
from dataclasses import replace

import numpy as np
import pytest
from test_signature_agent import said, step_of
from test_signature_rag import ASKED, Bag, Embedder, Model, library, question

from mindscape import records
from mindscape.errors import InputError
from mindscape.metrics import recall_fraction_at_k
from mindscape.signature import agent, evaluation
from mindscape.signature.evaluation import (
    ALPHAS,
    COMPARED,
    DEPTH,
    FEEDBACK,
    MOST,
    QUERY,
    SYSTEMS,
    VARIANTS,
    answers_into,
    at,
    collections,
    freely,
    kept_answers,
    kept_ranks,
    plays,
    rank,
    ranks_into,
    share,
    system_answers,
    town,
)
from mindscape.signature.rag import ALPHA, Shelf, Situated, answers, blend, retrieve

ABOUT = {"second": "mine"}
CHOICES = [replace(one, kind="choice", options=("Ann", "Ivo", "Tom", "Eve"), right="B") for one in ASKED]
CLAIMS = [question(9, f"Claim {right}.", 3, kind="claim", right=right, pair="p") for right in ("TRUE", "FALSE")]
CLAIMS = [replace(one, id=f"c{i}") for i, one in enumerate(CLAIMS)]


@pytest.fixture
def shelf():
    return Shelf(library(), Bag(), Situated(Embedder()), weigher=Bag())


# Series -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_town(tokenizer, language):
    it = town(1000, tokenizer, width=5, size=90, language=language)
    assert it.name == it.memory.documents[0].id and len(it.memory.documents) == 2
    assert all(1 <= len(one.evidence) <= MOST for one in (*it.questions, *it.claims))
    assert len(it.claims) == 2 * len(it.questions) > 60
    assert {one.doc_id for one in it.questions} == {document.id for document in it.memory.documents}
    assert len(set(np.bincount(it.memory.pi)[:-1])) <= 2  # five passages a session, fewer at the end of a book


def test_plays(tokenizer):
    rome = plays("rome", tokenizer)
    assert len(rome.questions) > 30 and len(rome.claims) % 2 == 0 and rome.name == "julius-caesar"
    with pytest.raises(InputError, match="no series 'greece': expected one of histories"):
        plays("greece", tokenizer)


def test_what_there_is_no_corpus_of(tokenizer):
    with pytest.raises(InputError, match="corpus='novels'"):
        collections("novels", tokenizer)
    with pytest.raises(InputError, match="split='dev'"):
        collections("storyworld", tokenizer, "dev")


def test_a_share_is_of_each_book_and_keeps_pairs_whole():
    asked = [question(i, "Who?", 1) for i in range(9)] + [replace(question(i, "Who?", 1), doc_id="b") for i in (11, 12)]
    for count in range(1, 9):
        some = share(asked, count)
        assert [one.doc_id for one in some].count("town") == count and some == sorted(some, key=asked.index)
        assert {one.id for one in some} <= {one.id for one in share(asked, count + 1)}
    pairs = [replace(one, id=f"{one.id}{i}", pair=f"p{i}") for i in range(4) for one in CLAIMS]
    assert sorted(one.right for one in share(pairs, 2)) == ["FALSE", "FALSE", "TRUE", "TRUE"]


def test_only_a_choice_becomes_a_free_question():
    assert freely(CHOICES[0]) == replace(ASKED[0], right="Ivo")
    with pytest.raises(InputError, match="is a claim: expected a choice"):
        freely(CLAIMS[0])


# Rankings -----------------------------------------------------------------------------------------------------------


def test_ranks_are_those_of_both_passes(shelf):
    rows = rank(shelf, ASKED, k=2, k0=12)
    for way in COMPARED[:-1]:
        alone = retrieve(shelf, ASKED, way, k=2, k0=12)
        for row, it in zip(rows, alone, strict=True):
            assert (row.woken, row.items[way], row.found[at(way)]) == (it.woken.chunks, it.items, it.chunks)
    for row, one in zip(rows, ASKED, strict=True):
        assert set(row.found) == {QUERY, *(at("coverage", a) for a in ALPHAS), *map(at, COMPARED)}
        assert row.found[QUERY] == row.found["coverage@0"] == shelf.search([one.text], None, DEPTH)[0]
        for alpha in ALPHAS:
            told = [shelf.signature(row.items["coverage"])]
            assert row.found[at("coverage", alpha)] == shelf.search([one.text], told, DEPTH, alpha)[0]
            expected = recall_fraction_at_k(row.found[at("coverage", alpha)], one.evidence, 3)
            assert row.recall(one, at("coverage", alpha), 3) == expected
    assert rank(shelf, []) == []
    with pytest.raises(InputError, match="is not ranked by 'best@0.5'"):
        rows[0].recall(ASKED[0], "best@0.5")


def test_feedback_reads_passages_in_the_place_of_summaries(shelf):
    (row,) = rank(shelf, ASKED[:1], [FEEDBACK], k=2)
    assert row.items[FEEDBACK] == row.woken[:2]
    told = [tuple(shelf.memory.texts[i] for i in row.woken[:2])]
    scores = blend(*shelf.scores([ASKED[0].text], told), ALPHA)[0]
    assert row.found[at(FEEDBACK)] == tuple(np.argsort(-scores, kind="stable")[:DEPTH].tolist())


def test_ranks_that_were_kept_are_not_made_again(shelf, tmp_path):
    path = tmp_path / "ranks.jsonl"
    assert ranks_into(path, ABOUT, [(shelf, ASKED[:2])], batch=1) == 2
    read = len(shelf.second.embedder.read)
    assert ranks_into(path, ABOUT, [(shelf, ASKED[:2])]) == 0 and len(shelf.second.embedder.read) == read
    assert ranks_into(path, ABOUT, [(shelf, ASKED)]) == 1
    assert list(kept_ranks(path).values()) == rank(shelf, ASKED)
    with pytest.raises(InputError, match="name another file"):
        ranks_into(path, {"second": "another"}, [(shelf, ASKED)])


@pytest.mark.parametrize("cut", [1, 15, 16, 17, 900, -1, -40])
def test_a_file_cut_in_mid_line_is_made_whole(shelf, tmp_path, cut):
    path, whole = tmp_path / "ranks.jsonl", tmp_path / "whole.jsonl"
    for file in (path, whole):
        ranks_into(file, ABOUT, [(shelf, ASKED)])
    path.write_bytes(path.read_bytes()[:cut])
    ranks_into(path, ABOUT, [(shelf, ASKED)])
    assert path.read_bytes() == whole.read_bytes()


def test_files_of_something_else(shelf, tmp_path):
    path = tmp_path / "ranks.jsonl"
    with pytest.raises(InputError, match="cannot read .*: No such file"):
        kept_ranks(path)
    path.write_text('{"second": "mine"}\n{"id": "q"}\n')
    with pytest.raises(InputError, match="line 2: expected a row"):
        kept_ranks(path)
    path.write_text('{"second": "mine"}\n')
    with pytest.raises(InputError, match="holds rankings of 'mine': expected those of 'encoder:minilm'"):
        kept_ranks(path, second="encoder:minilm")
    assert kept_ranks(path) == {}


# Answers ------------------------------------------------------------------------------------------------------------


def model_of(prompts):
    """What it says hangs on what it is asked."""
    return Model(lambda prompt, trial: prompts.append(prompt) or ("TRUE" if "Claim:" in prompt else "B. Ivo"))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_gives_its_passages_and_its_signature(shelf, system):
    rows = {row.id: row for row in rank(shelf, CHOICES, k=2)}
    passages, way = SYSTEMS[system]
    said_here, said_there = [], []
    found = system_answers(model_of(said_here), shelf.memory, CHOICES, rows, system, 3)
    chunks = [(rows[one.id].found[passages] if passages else one.evidence)[:3] for one in CHOICES]
    signatures = [shelf.signature(rows[one.id].items[way]) for one in CHOICES] if way else None
    assert found == answers(model_of(said_there), shelf.memory, CHOICES, chunks, signatures)
    assert said_here == said_there and all(("Storyline:" in prompt) == bool(way) for prompt in said_here)


def test_answers_are_kept_by_system_and_kind(shelf, tmp_path):
    path, rows = tmp_path / "answers.jsonl", {row.id: row for row in rank(shelf, [*CHOICES, *CLAIMS])}
    asked, prompts = [*CHOICES, *map(freely, CHOICES), *CLAIMS], []
    model = Model(lambda prompt, trial: prompts.append(prompt) or "<answer>B</answer>")
    some = [(shelf.memory, asked[:4])]
    assert answers_into(path, ABOUT, model, some, rows, ["both"], batch=3) == 4
    assert answers_into(path, ABOUT, model, [(shelf.memory, asked)], rows) == len(asked) * len(SYSTEMS) - 4
    count = len(prompts)
    assert answers_into(path, ABOUT, model, [(shelf.memory, asked)], rows) == 0 and len(prompts) == count
    kept = kept_answers(path)
    assert len(kept) == len(asked) * len(SYSTEMS)
    assert kept["both", "choice", "q0"].value == "B" and kept["lot", "claim", "c1"].value == ""
    assert len(kept["lot", "claim", "c1"].invalid) == 2  # the try and the retry
    with pytest.raises(InputError, match="has no ranking"):
        system_answers(model, shelf.memory, asked, {}, "both")
    with pytest.raises(InputError, match="system='all'"):
        system_answers(model, shelf.memory, asked, rows, "all")


def test_half_a_surrogate_pair_in_an_answer_survives(shelf, tmp_path):
    path, rows = tmp_path / "answers.jsonl", {row.id: row for row in rank(shelf, ASKED[:1])}
    model = Model(lambda prompt, trial: "Ann \ud83d")
    answers_into(path, ABOUT, model, [(shelf.memory, ASKED[:1])], rows, ["both"])
    assert kept_answers(path)["both", "qa", "q0"].text == "Ann \ud83d"


# The command --------------------------------------------------------------------------------------------------------


@pytest.fixture
def stubbed(monkeypatch, tokenizer):
    """The command with an embedder and a model of a few lines."""
    monkeypatch.setattr(evaluation, "_tokenizer", lambda: tokenizer)
    monkeypatch.setattr(evaluation, "_retrievers", lambda given: (Bag(), Embedder(), Bag()))
    monkeypatch.setattr(evaluation, "_whose", lambda source: source)

    def says(prompt, trial):
        if step_of(prompt) == 1:
            return said("REFINE", "Who was it?", "It goes on.")
        return said() if step_of(prompt) else "TRUE" if "Claim:" in prompt else "A"

    monkeypatch.setattr(evaluation, "_model", lambda given: Model(says))


def test_the_command_from_ranks_to_answers(stubbed, tmp_path, capsys):
    ranks, out = str(tmp_path / "ranks.jsonl"), str(tmp_path / "answers.jsonl")
    given = ["rank", "--out", ranks, "--series", "1", "--share", "3", "--pairs", "1"]
    evaluation.main(given)
    assert "series-1000-1: 10 of 10 ranked now" in capsys.readouterr().out  # 2 books: 3 questions, 2 claims each
    evaluation.main(given)
    assert "series-1000-1: 0 of 10 ranked now" in capsys.readouterr().out
    first = json.loads(records.whole_lines(ranks)[0])
    assert (first["split"], first["width"], first["second"]) == ("develop", 20, "encoder:minilm")
    rows = kept_ranks(ranks)
    ways = {len(row.items) for name, row in rows.items() if name.endswith(("-true", "-false"))}
    assert len(rows) == 10 and ways == {2}  # claims are ranked with what is answered from
    evaluation.main(["answer", "--ranks", ranks, "--out", out, "--share", "2", "--pairs", "1"])
    assert "60 answers to 12 questions and claims" in capsys.readouterr().out  # 4 + 4 + 4, five systems
    with pytest.raises(SystemExit, match="error: question .* has no ranking"):
        evaluation.main(["answer", "--ranks", ranks, "--out", out, "--share", "9", "--pairs", "1"])


def test_the_command_of_the_agent(stubbed, tmp_path, capsys):
    given = ["agent", "--out", str(tmp_path), "--series", "1", "--share", "1", "--pairs", "1"]
    evaluation.main(given)
    for name, settings in VARIANTS.items():
        traces = agent.read(tmp_path / f"{name}_series-1000-1.jsonl")
        assert len(traces) == 6 and all(set(trace.answers) == set(settings.inputs) for trace in traces)
        assert all(len(trace.steps) == (1 if name == "once" else 2) for trace in traces)
    assert capsys.readouterr().out.count("series-1000-1: 6 questions") == len(VARIANTS)
    with pytest.raises(SystemExit, match="error: --variants best"):
        evaluation.main([*given, "--variants", "full,best"])


def test_how_many_replies_are_written_side_by_side(monkeypatch):
    asked = []
    monkeypatch.setattr("mindscape.llm.load", lambda name, **options: asked.append((name, options)))
    for name in ("embedded", "openai:gpt-4o"):
        evaluation._model(Namespace(llm=name, adapter="", batch=4))
    assert asked == [("embedded", {"batch_size": 4, "batch_tokens": 8192}), ("openai:gpt-4o", {})]
    with pytest.raises(InputError, match="--batch 0: expected at least 1"):
        evaluation._model(Namespace(llm="embedded", adapter="", batch=0))
