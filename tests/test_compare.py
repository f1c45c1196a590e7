"""A fresh run is held to the stored numbers, and the comparison can fail."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STORED = {
    "a": {"value": 0.5, "ci": [0.4, 0.6], "n": 12, "rows": "x1"},
    "speed": {"value": 900.0, "varies": "wall time"},
}


def compare(folder, fresh, stored=STORED, finished=True):
    for name, metrics, whole in (("fresh", fresh, finished), ("stored", stored, True)):
        (folder / name / "00_n").mkdir(parents=True)
        (folder / name / "00_n" / "results.json").write_text(json.dumps({"finished": whole, "metrics": metrics}))
    command = [sys.executable, "tools/compare.py", str(folder / "fresh"), str(folder / "stored")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_equal_numbers_pass_and_speeds_may_differ(tmp_path):
    fresh = {**STORED, "a": {**STORED["a"], "value": 0.50001}, "speed": {"value": 1.0, "varies": "wall time"}}
    code, said = compare(tmp_path, fresh)
    assert code == 0 and "1 numbers as stored, 0 not; 1 that vary" in said


@pytest.mark.parametrize(
    "change",
    [
        {"a": {**STORED["a"], "value": 0.51}},
        {"a": {**STORED["a"], "ci": [0.4, 0.7]}},
        {"a": {**STORED["a"], "n": 11}},
        {"a": {**STORED["a"], "rows": "x2"}},
        {"a": {**STORED["a"], "varies": "suddenly"}},
        {"new": {"value": 1}},
    ],
)
def test_any_other_difference_fails(tmp_path, change):
    code, said = compare(tmp_path, {**STORED, **change})
    assert code == 1 and f"00_n: {next(iter(change))}" in said


def test_a_missing_number_or_an_unfinished_run_fails(tmp_path):
    code, said = compare(tmp_path / "1", {"speed": STORED["speed"]})
    assert code == 1 and "a is only in the stored run" in said
    code, said = compare(tmp_path / "2", STORED, finished=False)
    assert code == 1 and "did not finish" in said


def test_comparing_nothing_is_a_failure(tmp_path):
    assert compare(tmp_path, {"speed": STORED["speed"]}, {"speed": STORED["speed"]})[0] == 1
