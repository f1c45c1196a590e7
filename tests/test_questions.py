"""The questions on the plays: placed in the text word for word, and said to be ours."""

import json

import pytest

from mindscape import paths
from mindscape.corpora import shakespeare
from mindscape.text import locate

ROWS = [
    json.loads(line) for line in paths.data("shakespeare", "questions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_evidence_is_verbatim(row):
    play = shakespeare.play(row["play"])
    for quote in row["evidence"]:
        place = locate(quote, play)
        assert place and play[place].split() == quote.split()


def test_rows_are_whole():
    assert len({row["id"] for row in ROWS}) == len(ROWS) >= 16
    for row in ROWS:
        assert row["question"].endswith("?") and row["answer"] and row["evidence"]
        assert row["written_for"] == "the mindscape kit"
