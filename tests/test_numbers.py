"""What the stored results must show. Speeds are not judged here, except as ratios measured in one run."""

import json

import pytest

from mindscape import paths, results
from mindscape.training import recipes
from mindscape.weights import adapter_hash

START, SUMMARIES, TRAINING = "00_start_here", "10_hierarchical_summaries", "12_mia_emb_training"
NOTEBOOKS = sorted(path.stem for path in (paths.root() / "notebooks").glob("[0-9]*.ipynb"))


def metrics(notebook):
    return results.read(notebook, paths.root() / "figures")["metrics"]


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        ("locate.found_fraction", 0.95, 1),
        ("attention.max_abs_error", 0, 1e-5),
        ("attention.overhead_2048", 0.9, 1.25),
        ("attention.extra_mb_8192", -100, 400),  # what the allocator keeps varies by tens of MB
    ],
)
def test_the_floor_keeps_its_bounds(key, low, high):
    value = metrics(START)[key]["value"]
    assert low <= value <= high and value != 0


def test_mcea_takes_no_matrix():
    assert 0 <= metrics("15_mcea")["mcea.max_abs_error"]["value"] <= 1e-5
    assert 0.9 <= metrics("15_mcea")["mcea.overhead"]["value"] <= 1.25
    assert -200 <= metrics("15_mcea")["mcea.extra_mb_16384"]["value"] <= 1000  # a layer's matrices would take 9,664


@pytest.mark.parametrize("encoder", ["minilm", "smollm2"])
def test_an_encoder_is_as_fast_as_its_bare_model(encoder):
    found = metrics(START)
    ours, bare = (found[f"encode.tokens_per_second.{encoder}{end}"]["value"] for end in ("", ".bare"))
    assert ours >= 0.9 * bare


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_intervals_hold_their_values(notebook):
    for key, metric in metrics(notebook).items():
        if "ci" in metric:
            assert metric["ci"][0] <= metric["value"] <= metric["ci"][1] and metric["n"] > 1, key


def test_training_costs_what_the_model_costs():
    """A step of the loop beside the same batches read by the bare model, in one run."""
    assert 0.8 <= metrics(TRAINING)["training.overhead"]["value"] <= 1.15


def test_what_was_computed_anew_is_what_the_store_holds():
    """The spot checks of all stored notebooks together, each of which draws one or two entries."""
    checks = [found["store.agree"] for found in map(metrics, NOTEBOOKS) if "store.agree" in found]
    assert len(checks) >= 18 and sum(of["value"] for of in checks) >= 0.9 * sum(of["n"] for of in checks)


def test_the_extractive_baseline_obeys_and_does_not_repeat_itself():
    """The untuned model may do either: that is reported, not judged."""
    found = metrics(SUMMARIES)
    assert found["summary.textrank.under_500"]["value"] == 1
    assert found["summary.textrank.repetition"]["value"] < 0.05
    assert {"summary.untuned.under_500", "summary.untuned.repetition"} <= set(found)


def test_a_judge_is_measured_beside_what_it_says():
    found = metrics("16_mia_graphrag")
    for criterion in ("comprehensiveness", "diversity", "empowerment", "overall"):
        for kind in ("removed", "doubled", "swapped", "all"):
            assert "ci" in found[f"judge.agreement.{criterion}.{kind}"]
        for other in ("sft_emb", "vanilla"):
            assert "ci" in found[f"wins.answers.{other}.{criterion}"]
    assert found["judge.agreement"]["n"] >= 100


def test_what_travels_was_made_by_adapters_of_the_recipes():
    known = {adapter_hash(path.parent) for path in paths.data("adapters").glob("*/adapter_model.safetensors")}
    known |= {recipe.sha256 for recipe in recipes.every().values()}
    for path in paths.data("store").glob("*.jsonl"):
        maker = json.loads(path.open(encoding="utf-8").readline())["maker"]
        assert {of["adapter"] for of in (maker, *maker.values()) if isinstance(of, dict) and "adapter" in of} <= known
