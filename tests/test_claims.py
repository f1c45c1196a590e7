"""Verdicts follow from the numbers by rule, and a claim that fails stays."""

import json

import pytest
from extras import refused

from mindscape import paper

GAIN = {"gain": {"value": 0.2, "ci": [0.1, 0.3], "n": 40}, "ratio": {"value": 3}}


def claim(**changes):
    entry = {"id": "x", "paper": "P", "place": "Table 1", "claim": "it gains", "paper_value": "+5", "notebook": "n"}
    return paper.Claim(**{**entry, "metrics": ["gain"], "reproduced": ["gain.low > 0"], **changes})


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "reproduced"),
        ({"reproduced": ["gain.low > 0.15"], "partly": ["gain.value > 0.15"]}, "partly"),
        ({"reproduced": ["gain.low > 0.15"]}, "undecided"),
        ({"reproduced": ["gain.high < 0.15"]}, "undecided"),
        ({"reproduced": ["gain.low > 0.3"]}, "contradicted"),
        ({"reproduced": ["gain.high <= 0.05"]}, "contradicted"),
        ({"reproduced": ["gain.low >= 0.15", "ratio.value <= 2"]}, "contradicted"),
        ({"reproduced": ["gain.low > 0", "ratio.value <= 2"]}, "contradicted"),
        ({"reproduced": ["gain.low > 0.15"], "needs_larger_model": "it is small"}, "needs a larger model"),
    ],
)
def test_verdict_by_rule(changes, verdict):
    assert paper.verdict(claim(**changes), {"finished": True, "metrics": GAIN}) == verdict


@pytest.mark.parametrize("stored", [None, {"finished": False, "metrics": GAIN}])
def test_what_was_not_measured_has_no_verdict(stored):
    assert paper.verdict(claim(), stored) == "not yet weighed"


def test_a_failed_claim_stays_in_the_table(tmp_path):
    (tmp_path / "n").mkdir()
    metrics = {"gain": {"value": -1.0, "ci": [-2.0, 0.0]}}
    (tmp_path / "n" / "results.json").write_text(json.dumps({"finished": True, "metrics": metrics}))
    text = paper.claims_table([claim()], tmp_path)
    assert "gain: -1 [-2, 0]" in text and "**contradicted** |" in text
    text = paper.claims_table([claim(needs_larger_model="see | why")], tmp_path)
    assert "**needs a larger model**: see \\| why |" in text


def test_a_rule_that_does_not_fit_is_an_error():
    refused(lambda: paper.holds("other.value > 0", GAIN), "recorded are gain, ratio")
    refused(lambda: paper.holds("ratio.low > 0", GAIN), "recorded without one")


WHOLE = "- {{id: a, paper: P, place: T, claim: c, paper_value: v, notebook: n, metrics: [], {}}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a, paper: P}", "claim a"),
        ("", "not a list of claims"),
        ("- just words", "not a list of claims"),
        ("- {id: a, paper_value: 5}", "claim a: paper_value is 5, expected a str"),
        ("- {id: a, reproduced: 'x.low > 1'}", "reproduced is 'x.low > 1', expected a list"),
        (WHOLE.format("reproduced: ['x > 1']"), "no rule"),
        (WHOLE.format("reproduced: [], oops: 1"), "oops"),
    ],
)
def test_a_malformed_ledger_names_the_claim(tmp_path, text, message):
    (tmp_path / "claims.yaml").write_text(text)
    refused(lambda: paper.all_claims(tmp_path / "claims.yaml"), message)


def test_the_papers_tables_are_typed_and_placed():
    frame = paper.table("mia_rag_table8")
    assert frame.shape == (9, 6) and frame["summary"].dtype == bool
    assert frame.attrs["place"].startswith("Table 8")
    refused(lambda: paper.table("table_99"), "there are mia_rag_table1, ")
