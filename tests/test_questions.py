"""The kit's questions, claims and summaries on the plays: placed in the text word for word, whole, and said to be ours."""

import json

import pytest
from extras import refused

from mindscape import paths
from mindscape.corpora import shakespeare
from mindscape.question import BREADTHS, DEPTHS, load_claims, load_questions

FILES = {name: paths.data("shakespeare", f"{name}.jsonl") for name in ("questions", "claims", "summaries", "struck")}
ROWS = {name: [*map(json.loads, path.read_text(encoding="utf-8").splitlines())] for name, path in FILES.items()}
PLAYS = sorted({row["play"] for row in ROWS["questions"]})


def test_there_are_enough():
    assert len(shakespeare.questions()) >= 240 and len(PLAYS) >= 12 and len(shakespeare.claims()) >= 60
    assert sum(any(play in PLAYS for play in series) for series in shakespeare.SERIES.values()) >= 3
    assert {question.breadth for question in shakespeare.questions()} == set(BREADTHS)
    assert {question.depth for question in shakespeare.questions()} == set(DEPTHS)


@pytest.mark.parametrize("play", PLAYS)
def test_evidence_is_verbatim(play):
    """Loading proves that every quote is there; here: the right text is at the place that was found."""
    quotes = {row["id"]: row["evidence"] for row in [*ROWS["questions"], *ROWS["claims"]]}
    text = shakespeare.play(play)
    for item in [*shakespeare.questions(play), *shakespeare.claims(play)]:
        words = sorted(text[span].split() for span in item.evidence)
        assert words == sorted(quote.split() for quote in quotes[item.id])


@pytest.mark.parametrize("play", PLAYS)
def test_breadth_fits_the_evidence(play):
    starts = [scene.start for scene in shakespeare.scenes(shakespeare.play(play))]
    for question in shakespeare.questions(play):
        scenes = {sum(start <= span.start for start in starts) for span in question.evidence}
        assert (question.breadth == "local") == (len(question.evidence) == 1)
        if question.breadth == "sparse-local":
            assert question.evidence[-1].end - question.evidence[0].start < 6000
        if question.breadth == "multi-sparse":
            assert len(scenes) > 1
        if question.breadth in ("partial", "global"):
            assert len(question.evidence) >= 3


@pytest.mark.parametrize("play", PLAYS)
def test_every_scene_has_a_summary(play):
    assert len(shakespeare.scene_summaries(play)) == len(shakespeare.scenes(shakespeare.play(play)))
    assert all(12 <= len(text.split()) <= 70 for text in shakespeare.scene_summaries(play))
    assert 100 <= len(shakespeare.summary(play).split()) <= 300


def test_all_is_ours_and_what_was_struck_is_kept_apart():
    assert all(row["written_for"] == "the mindscape kit" for rows in ROWS.values() for row in rows)
    kept = {row["id"] for row in [*ROWS["questions"], *ROWS["claims"]]}
    assert ROWS["struck"] and all(row["struck"] and row["id"] not in kept for row in ROWS["struck"])


def test_the_card_counts_right():
    card = paths.data("shakespeare", "README.md").read_text(encoding="utf-8")
    counts = [len(ROWS["questions"]), len(PLAYS), len(ROWS["claims"]), len(ROWS["summaries"]), len(ROWS["struck"])]
    assert all(f" {count} " in card for count in counts), counts


ROW = ROWS["questions"][0]
CLAIM = ROWS["claims"][0]


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"evidence": ["Not to see"]}, "line 2: {id}.*not in 'richard-ii' word for word: 'Not to see'"),
        ({"evidence": [" "]}, "line 2: {id}.*not in 'richard-ii' word for word"),
        ({"evidence": []}, "line 2: evidence: "),
        ({"options": ["a", "b", "c", "d"]}, "line 2: {id}.*'Eight thousand nobles' is not among the options"),
        ({"options": [ROW["answer"], "b", "c", "c"]}, "line 2: {id}: two options are the same"),
        ({"options": [ROW["answer"], "b", "c"]}, "line 2: options: "),
        ({"breadth": "wide"}, "line 2: breadth: .*'local'"),
        ({"depth": None}, "line 2: depth: "),
        ({"answer": 7}, "line 2: answer: "),
        ({"play": "richard-x"}, "line 2: {id}: no play 'richard-x'"),
        ({"id": "other"}, "line 2: the id 'other' is that of line 1 too"),
    ],
)
def test_bad_questions_are_named(tmp_path, changes, said):
    rows = [ROW | {"id": "other"}, ROW | changes]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    refused(lambda: load_questions(path, shakespeare.play), f"{path}, {said.format(id=ROW['id'])}")


@pytest.mark.parametrize("line", ["{", "[]", "7", '{"id": "x"}'])
def test_a_line_that_is_no_question_is_named(tmp_path, line):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n" + line, encoding="utf-8")
    refused(lambda: load_questions(path, shakespeare.play), f"{path}, line 2: ")


def test_files_that_cannot_be_used_are_named(tmp_path):
    refused(lambda: load_questions(tmp_path / "none.jsonl", shakespeare.play), "none.jsonl: cannot be read")
    refused(lambda: load_questions(tmp_path, shakespeare.play), "cannot be read")
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe9"}')
    refused(lambda: load_claims(tmp_path / "latin.jsonl", shakespeare.play), "latin.jsonl: cannot be read")
    (tmp_path / "equal.jsonl").write_text(json.dumps(CLAIM | {"false": CLAIM["true"]}), encoding="utf-8")
    refused(lambda: load_claims(tmp_path / "equal.jsonl", shakespeare.play), "line 1: .*both claims are the same")


def test_a_play_without_questions():
    assert shakespeare.questions("king-lear") == ()
    refused(lambda: shakespeare.summary("king-lear"), "no summary of 'king-lear'")
    refused(lambda: shakespeare.questions("hamlett"), "did you mean 'hamlet'")
