"""Verdicts follow from the numbers by rule, and a claim that fails stays. Verdicts on rounded numbers: sound for whatever was
rounded, equal to trying all corners; the papers' tables, pinned."""

import hashlib
import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from mindscape import paper, paths

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
def test_verdict_by_rule_and_none_for_what_was_not_measured(changes, verdict):
    assert paper.verdict(claim(**changes), {"finished": True, "metrics": GAIN}) == verdict
    for stored in (None, {"finished": False, "metrics": GAIN}):
        assert paper.verdict(claim(**changes), stored) == "not yet weighed"


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
    weighed = claim(reproduced=["gain.low > 0.3", "other.value > 0"], needs_larger_model="it is small")
    refused(lambda: paper.verdict(weighed, {"finished": True, "metrics": GAIN}), "recorded are gain, ratio")


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


FORMULAS = {"mean": np.mean, "sum": np.sum, "greatest": np.max, "difference": lambda x: x[0] - x[-1]}
FORMULAS |= {"quotient": lambda x: x[0] / x[-1], "gain": lambda x: 100 * (x[0] / x[-1] - 1)}
formulas = st.sampled_from(sorted(FORMULAS))
scores = st.floats(1, 100, allow_nan=False)


@settings(max_examples=300)
@given(formulas, st.lists(scores, min_size=2, max_size=12), st.integers(1, 3), st.integers(-1, 3))
def test_what_was_only_rounded_never_differs(name, true, given_decimals, decimals):
    formula = FORMULAS[name]
    printed = round(float(formula(np.array(true))), decimals)
    inputs = [round(x, given_decimals) for x in true]
    assert paper.follows(printed, decimals, formula, inputs, given_decimals).verdict in ("agrees", "rounds")
    assert paper.follows(printed, decimals, formula, true, paper.EXACT).verdict == "agrees"


@settings(max_examples=100)
@given(formulas, st.lists(scores, min_size=2, max_size=6), st.integers(1, 3))
def test_two_corners_are_as_good_as_all(name, x, decimals):
    half = 0.5 * 10.0**-decimals
    corners = [FORMULAS[name](np.array(c)) for c in product(*[(x_i - half, x_i + half) for x_i in x])]
    low, high = paper.spread(FORMULAS[name], x, decimals)
    assert low == pytest.approx(min(corners), abs=1e-9) and high == pytest.approx(max(corners), abs=1e-9)
    if len(set(x)) > 1:  # each input with decimals of its own
        each = [decimals, *[paper.EXACT] * (len(x) - 1)]
        narrow = paper.spread(FORMULAS[name], x, each)
        assert low - 1e-9 <= narrow[0] <= narrow[1] <= high + 1e-9


def test_the_range_of_a_correlation_holds_what_is_drawn_inside_the_box():
    table = paper.table("mom_table2")
    x = np.concatenate([table["rouge_l"], table["clarity@Qwen2.5-7B"]])

    def pearson(x):
        return np.corrcoef(x[:5], x[5:])[0, 1]

    low, high = paper.spread(pearson, x, 4)
    rng = np.random.default_rng(0)
    drawn = [pearson(x + rng.uniform(-0.00005, 0.00005, x.shape)) for _ in range(500)]
    assert low < min(drawn) and max(drawn) < high and high - low < 0.01


def test_half_way_agrees_with_either_side():
    verdicts = [paper.follows(printed, 1, np.mean, [54.2, 54.3], 1).verdict for printed in (54.1, 54.2, 54.3, 54.4)]
    assert verdicts == ["differs", "agrees", "agrees", "differs"]
    assert paper.follows(50, -1, np.mean, [54.2, 54.3], 1).verdict == "agrees"


def test_a_verdict_is_the_same_from_above_and_below_zero():
    for printed, verdict in ((2.0, "agrees"), (2.1, "rounds"), (2.2, "differs")):
        for sign in (1, -1):
            outcome = paper.follows(sign * printed, 1, lambda x: x[0] - x[1], [[52.2, 54.2], [54.2, 52.2]][sign > 0])
            assert outcome.verdict == verdict


@settings(max_examples=300)
@given(st.integers(1, 400), st.integers(0, 2), st.floats(0, 100))
def test_a_percentage_is_possible_exactly_if_some_count_gives_it(n, decimals, number):
    printed = round(number, decimals)
    reach = 0.5 * 10.0**-decimals + 1e-7
    possible = any(abs(100 * k / n - printed) <= reach for k in range(n + 1))
    assert (paper.percent(printed, decimals, n).verdict == "agrees") == possible


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=20), st.integers(0, 2))
def test_a_true_order_is_within_what_its_table_allows(pairs, decimals):
    holds = sum(a > b for a, b in pairs)
    left, right = ([round(x, decimals) for x in side] for side in zip(*pairs, strict=True))
    outcome = paper.exceeds(left, right, decimals)
    assert outcome.low <= outcome.value <= outcome.high <= outcome.printed == len(pairs)
    assert outcome.low <= holds <= outcome.high
    if holds == len(pairs):
        assert outcome.verdict != "differs"


def test_a_tie_is_no_counterexample():
    verdicts = [paper.exceeds([2.0, 3.0], [1.0, other], 1).verdict for other in (3.0, 3.1, 2.9)]
    assert verdicts == ["rounds", "differs", "agrees"]


def test_bad_input_is_one_clear_error():
    refused(lambda: paper.spread(np.mean, [1.0, float("nan")], 1), "expected finite numbers")
    refused(lambda: paper.exceeds([float("nan")], [1], 0), "missing or infinite")


def test_a_ledger_keeps_checks_in_order_and_counts_them():
    ledger = paper.Ledger("P", decimals=1)
    ledger.follows("Table 1.Avg.", "average", "(1.0 + 2.0) / 2", 1.5, np.mean, [1.0, 2.0])
    ledger.counts("count.books", "books", 14, [8, 5])
    ledger.same("repeat.x", "x", "Table 2", 48.8, 48.8)
    ledger.percent("share.x", "x", 66.7, 3)
    ledger.says("says.best", "always above", "Table 1", 2.0, [1.0, 2.0, 1.5])
    assert list(ledger.lines) == ["table_1.avg.", "count.books", "repeat.x", "share.x", "says.best"]
    assert ledger.tally() == {"agrees": 3, "rounds": 1, "differs": 1} and tuple(ledger.tally()) == paper.OUTCOMES
    assert ledger.tally("count", "says") == {"agrees": 0, "rounds": 1, "differs": 1}
    table = ledger.table()
    assert table["arithmetic"].tolist() == ["(1.0 + 2.0) / 2", "8 + 5", "48.8, Table 2", "100 * 2 / 3", "Table 1"]
    assert table["printed"].tolist() == ["1.5", "14", "48.8", "66.7", "3"]
    assert table.loc[4, "could be"] == "2 to 3" and table.loc[3, "gives"] == "66.667"
    assert ledger.table("count", only=["differs"])["what"].tolist() == ["books"]


def test_a_ledger_refuses_a_key_twice_and_names_what_it_lacks():
    ledger = paper.Ledger("P", decimals=1)
    ledger.counts("count.Books", "books", 13, [8, 5])
    refused(lambda: ledger.counts("count.books", "again", 13, [8, 5]), "has a check 'count.books' already: books")
    refused(lambda: ledger.table("share", "mark"), "no key that begins with share or mark")
    assert paper.Ledger("Q", decimals=1).table().empty


# The papers' tables, as both passes over the papers' text left them: rows, columns, the beginning of the file's SHA-256.
TABLES = pd.read_csv(Path(__file__).with_name("paper_tables.csv"), index_col="table")


def test_all_tables_are_pinned():
    assert {path.stem for path in paths.data("paper").glob("*.csv")} == set(TABLES.index)


@pytest.mark.parametrize("name", TABLES.index)
def test_a_table_is_what_was_checked_against_its_paper(name):
    rows, columns, digest = TABLES.loc[name]
    assert paper.table(name).shape == (rows, columns)
    content = paths.data("paper", f"{name}.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest().startswith(digest), f"{name}.csv changed: check it against the paper"
