"""What the stored results must show. Speeds are not judged here, except as ratios measured in one run."""

import json

import pytest

from mindscape import paths, results
from mindscape.training import recipes
from mindscape.weights import adapter_hash

START, SUMMARIES = "00_start_here", "10_hierarchical_summaries"
NOTEBOOKS = sorted(path.stem for path in (paths.root() / "notebooks").glob("[0-9]*.ipynb"))


def metrics(notebook):
    return results.read(notebook, paths.root() / "figures")["metrics"]


@pytest.mark.parametrize(
    ("notebook", "key", "low", "high"),
    [
        (START, "locate.found_fraction", 0.95, 1),
        (START, "attention.max_abs_error", 1e-12, 1e-5),
        (START, "attention.overhead_2048", 0.9, 1.25),
        (START, "attention.extra_mb_8192", -100, 400),  # what the allocator keeps varies by tens of MB
        ("15_mcea", "mcea.max_abs_error", 0, 1e-5),
        ("15_mcea", "mcea.overhead", 0.9, 1.25),
        ("15_mcea", "mcea.extra_mb_16384", -200, 1000),  # a layer's matrices would take 9,664
        ("12_mia_emb_training", "training.overhead", 0.8, 1.15),  # a step beside its batches read by the bare model
        (SUMMARIES, "summary.textrank.under_500", 1, 1),
        (SUMMARIES, "summary.textrank.repetition", 0, 0.05),
        (SUMMARIES, "summary.untuned.under_500", 0, 1),  # what the untuned model does is reported
        (SUMMARIES, "summary.untuned.repetition", 0, 1),
    ],
)
def test_a_number_keeps_its_bounds(notebook, key, low, high):
    assert low <= metrics(notebook)[key]["value"] <= high


@pytest.mark.parametrize("encoder", ["minilm", "smollm2"])
def test_an_encoder_is_as_fast_as_its_bare_model(encoder):
    recorded = metrics(START)
    ours, bare = (recorded[f"encode.tokens_per_second.{encoder}{end}"]["value"] for end in ("", ".bare"))
    assert ours >= 0.9 * bare


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_intervals_hold_their_values(notebook):
    for key, metric in metrics(notebook).items():
        if "ci" in metric:
            assert metric["ci"][0] <= metric["value"] <= metric["ci"][1] and metric["n"] > 1, key


def test_what_was_computed_anew_is_what_the_store_holds():
    """The spot checks of all stored notebooks together, each of which draws one or two entries. What is read in another
    precision than it was made in may come out otherwise; the rest may not."""
    recorded = [metrics(name) for name in NOTEBOOKS]
    checks = [numbers["store.agree"] for numbers in recorded if "store.agree" in numbers]
    other = [numbers["store.agree.other_precision"] for numbers in recorded if "store.agree" in numbers]
    agree, n = (sum(numbers[key] for numbers in checks) - sum(numbers[key] for numbers in other) for key in ("value", "n"))
    assert n >= 25 and agree >= 0.95 * n
    assert len(checks) >= 18 and sum(numbers["value"] for numbers in checks) >= 0.85 * sum(numbers["n"] for numbers in checks)


def test_a_judge_is_measured_beside_what_it_says():
    recorded = metrics("16_mia_graphrag")
    for criterion in ("comprehensiveness", "diversity", "empowerment", "overall"):
        for kind in ("removed", "doubled", "swapped", "all"):
            assert "ci" in recorded[f"judge.agreement.{criterion}.{kind}"]
        for other in ("sft_emb", "vanilla"):
            assert "ci" in recorded[f"wins.answers.{other}.{criterion}"]
    assert recorded["judge.agreement"]["n"] >= 100


def test_what_travels_was_made_by_adapters_of_the_recipes():
    known = {adapter_hash(path.parent) for path in paths.data("adapters").glob("*/adapter_model.safetensors")}
    known |= {recipe.sha256 for recipe in recipes.every().values()}
    for path in paths.data("store").glob("*.jsonl"):
        maker = json.loads(path.open(encoding="utf-8").readline())["maker"]
        assert {part["adapter"] for part in (maker, *maker.values()) if isinstance(part, dict) and "adapter" in part} <= known
