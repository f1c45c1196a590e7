"""Recipes: what they resolve to is what was run; a small one trains, is killed and goes on; bad ones are named. And the bases
that they train on."""

import json
import sys
from functools import partial
from unittest.mock import DEFAULT, Mock

import pytest
import torch
from extras import refused
from safetensors.torch import load_file
from tiny import saved
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen3Config

from mindscape import llm, paths, store, training
from mindscape.training import Settings, recipes, with_lora
from mindscape.training import __main__ as command
from mindscape.training.recipes import CONFIG, WEIGHTS, first_layers, shallow
from mindscape.weights import adapter_hash, merged_model

RECIPES = recipes.every()
MEASURED = [
    pytest.param(recipe, i, id=f"{name}-{i}")
    for name, recipe in RECIPES.items()
    for i, stage in enumerate(recipe.stages)
    if stage.log.name.endswith("log.jsonl") and stage.log.parent.parent == paths.data("adapters")
]


def run_of(stage):
    return json.loads(stage.log.with_name(stage.log.name.replace("log.jsonl", "run.json")).read_text())


def test_each_shipped_adapter_has_a_recipe_and_each_stage_a_log():
    shipped = {path.parent.name for path in paths.data("adapters").glob("*/adapter_model.safetensors")}
    assert shipped <= set(RECIPES) and len(MEASURED) == 21
    for recipe in RECIPES.values():
        for stage in recipe.stages:
            assert stage.measured[0] == (stage.settings.until or stage.settings.steps)
        assert recipe.adapter == paths.data("adapters", recipe.name) or recipe.name not in shipped


@pytest.mark.parametrize("recipe, i", MEASURED)
def test_a_recipe_says_what_was_run(recipe, i):
    """Seeds, settings, shares, how many examples, what it began with; `compile` apart, which each machine decides."""
    stage, run = recipe.stages[i], run_of(recipe.stages[i])
    settings = {name: getattr(stage.settings, name) for name in run["settings"]}
    assert {**settings, "compile": None} == {**run["settings"], "compile": None} and not stage.settings.until
    assert [stage.seeds.start, stage.seeds.stop - 1] == run["seeds"]
    assert stage.examples == run.get("examples", run.get("questions"))
    if i == 0 and "start_sha256" in run:
        assert run["start_sha256"] == (adapter_hash(paths.data("adapters", recipe.start)) if recipe.start else None)
    record = stage.kind.described([], None)
    del record["questions" if "questions" in record else "examples"]
    record.pop("reply_tokens", None)
    assert json.loads(json.dumps(record)) == {name: run[name] for name in record}


ALIKE = ("reader", "mia_gen", "no_qa")  # as many examples of each novel: one is made of these


@pytest.mark.parametrize("name", ["memreader", "baselines", "mia_emb", *ALIKE])
def test_as_many_examples_are_made(tokenizer, name):
    for stage in RECIPES[name].stages:
        seeds = stage.seeds[:1] if name in ALIKE else stage.seeds
        assert len(stage.kind.examples(seeds, tokenizer)) * len(stage.seeds) == stage.examples * len(seeds)


# -- the command -------------------------------------------------------------------------------------------------------

TINY = """
first:
  about: two stages
  base: BASE
  stages:
    - &one
      seeds: [3, 3]
      roles: {qa: 2}
      settings: &settings {steps: 2, tokens: 600, rank: 2, warmup: 1, minutes: 1.0e-9, dtype: float32}
    - {<<: *one, seeds: [4, 4]}
second:
  about: questions, on the first layer of a model with the other merged in
  base: BASE
  merged: first
  stages:
    - seeds: [3, 3]
      retrieval: {lesson: people, form: {order: summary_first, layers: 1}, summaries: false, questions: 3}
      settings: *settings
"""


@pytest.fixture
def file(tmp_path, tokenizer, monkeypatch):
    """A file of recipes on a tiny random model, and a folder of builds."""
    saved(LlamaConfig, tokenizer, tmp_path / "base")
    monkeypatch.setenv("MINDSCAPE_BUILD", str(tmp_path / "build"))
    monkeypatch.setattr(recipes, "compiler", lambda: None)
    recipe_file = tmp_path / "recipes.yaml"
    recipe_file.write_text(TINY.replace("BASE", str(tmp_path / "base")))
    return recipe_file


def test_a_recipe_trains_is_killed_and_goes_on(file, tmp_path, monkeypatch, capsys):
    command.main(["first", "--recipes", str(file), "--out", str(tmp_path / "whole")])
    assert "not compiled: no C++ compiler" in capsys.readouterr().out
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):  # in the second step of the second stage
        patch.setattr(training, "reply_loss", Mock(wraps=training.reply_loss, side_effect=[*[DEFAULT] * 3, KeyboardInterrupt]))
        command.main(["first", "--recipes", str(file)])
    command.main(["first", "--recipes", str(file)])
    home = tmp_path / "build" / "adapters" / "first"
    assert capsys.readouterr().out.splitlines()[-1] == str(home / "adapter")
    whole, again = (load_file(place / "adapter" / "adapter_model.safetensors") for place in (tmp_path / "whole", home))
    assert all(torch.equal(matrix, again[name]) for name, matrix in whole.items())
    run = json.loads((home / "adapter" / "run.json").read_text())
    assert (run["seeds"], run["examples"], run["start_sha256"]) == ([4, 4], 2, adapter_hash(home / "first" / "adapter"))
    assert len((home / "log.jsonl").read_text().splitlines()) == 2


def test_a_recipe_on_another_s_adapter(file, tmp_path, capsys):
    with pytest.raises(SystemExit, match="train it first, python -m mindscape.training first"):
        command.main(["second", "--recipes", str(file)])
    command.main(["first", "--recipes", str(file)])
    command.main(["second", "--recipes", str(file), "--dtype", "bfloat16"])
    run = json.loads((tmp_path / "build" / "adapters" / "second" / "adapter" / "run.json").read_text())
    assert run["settings"]["dtype"] == "bfloat16" and run["recipe"]["form"]["layers"] == 1
    assert (run["lesson"], run["recipe"]["summaries"]) == ("people", False) and run["questions"] > 20


def test_adapters_that_do_not_travel_any_more_are_trained(file, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(recipes.paths, "root", lambda: tmp_path)
    command.main(["--missing", "--recipes", str(file)])
    assert capsys.readouterr().out == "" and not (tmp_path / "data").exists()  # neither travels
    home = tmp_path / "data" / "adapters" / "first"
    home.mkdir(parents=True)
    (home / "README.md").write_text("a card")
    command.main(["--missing", "--recipes", str(file)])
    assert "first: 4 steps" in capsys.readouterr().out and recipes.read_recipe("first", file).adapter == home
    assert (home / "adapter_model.safetensors").is_file() and (home / "README.md").read_text() == "a card"
    assert recipes.missing(file) == [] == recipes.missing()


def test_the_recipes_are_listed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["training"])
    command.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(RECIPES)
    assert any("580 steps, 3,367,232 tokens, 1.2 hours" in line for line in lines)


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("steps: 2", "stops: 2", "recipe 'first': Settings has no 'stops'"),
        ("steps: 2", "steps: many", "recipe 'first': steps='many': expected int"),
        ("steps: 2", "steps: 0", "recipe 'first': steps=0: expected more than 0"),
        ("seeds: [3, 3]", "seeds: [3, 2000]", "recipe 'first': seeds 3 to 2000: expected some of 0 to 999"),
        ("roles:", "rules:", "recipe 'first': a stage of nothing: expected one of roles"),
        ("{lesson: people", "{lesson: chapters", "recipe 'second': lesson='chapters'"),
        ("questions: 3", "question: 3", "recipe 'second': Recipe has no 'question'"),
        ("merged: first", "marged: first", "recipe 'second': Recipe has no 'marged'"),
        ("{qa: 2}", "{judge: 2}", "role='judge': expected one of chunk_summary"),
        ("first:\n", "first: {\n", "expected recipes in YAML"),
    ],
)
def test_a_bad_recipe_is_named(file, old, new, said, capsys):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(SystemExit, match="error: ") as error:
        command.main(["first", "--recipes", str(file)])
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_name_that_there_is_not():
    with pytest.raises(SystemExit, match="error: no recipe 'judge': expected one of reader, builder"):
        command.main(["judge"])


# -- models ------------------------------------------------------------------------------------------------------------


def test_a_recipe_s_model_is_known_without_its_adapter(tmp_path, monkeypatch):
    makers = {name: recipes.trained(name).maker for name in ("reader", "no_summary", "mia_gen")}
    assert makers["reader"] == llm.load("embedded").maker and len({maker.fingerprint for maker in makers.values()}) == 3
    here = store.Store(tmp_path / "cache.sqlite", tmp_path / "store")
    monkeypatch.setattr(store, "_current", here)
    monkeypatch.setenv("MINDSCAPE_BUILD", str(tmp_path))
    said = "python -m mindscape.training no_qa trains one anew, and fresh=True takes that"
    refused(lambda: recipes.trained("no_qa").complete("Who?"), said)
    here.fresh = True
    refused(lambda: recipes.trained("no_qa"), "is not there: train it first")
    for name in ("mia_emb", "lesson_merged"):
        refused(partial(recipes.trained, name), f"recipe '{name}' makes no language model")


# -- the first layers of models and adapters, and a model with an adapter merged in: they are what they were -----------


@pytest.fixture(scope="module", params=[LlamaConfig, Qwen3Config], ids=["llama", "qwen3"])
def base(request, tmp_path_factory, tokenizer):
    """A tiny random model of three layers."""
    folder = tmp_path_factory.mktemp("sizes") / "base"
    return saved(request.param, tokenizer, folder, num_hidden_layers=3, max_position_embeddings=4096)


@pytest.fixture(scope="module")
def adapter(base):
    """An adapter of it in which no number is zero."""
    model = with_lora(AutoModelForCausalLM.from_pretrained(base), Settings(rank=2, alpha=4, dtype="float32"))
    with torch.no_grad():
        for weights in model.parameters():
            if weights.requires_grad:
                weights.normal_()
    model.save_pretrained(base.parent / "adapter", save_embedding_layers=False)
    return base.parent / "adapter"


def test_the_first_layers_fit_the_shallow_model(base, adapter, tmp_path):
    folder = first_layers(adapter, 2, tmp_path / "two")
    assert sorted(place.name for place in folder.iterdir()) == [CONFIG, WEIGHTS]
    assert (folder / CONFIG).read_bytes() == (adapter / CONFIG).read_bytes()
    whole, cut = (load_file(place / WEIGHTS) for place in (adapter, folder))
    assert set(cut) == {name for name in whole if ".layers.2." not in name} and 0 < len(cut) < len(whole)
    assert all(torch.equal(weights, whole[name]) for name, weights in cut.items())
    theirs = merged_model(AutoModelForCausalLM.from_pretrained(base), adapter).state_dict()
    ours = merged_model(AutoModelForCausalLM.from_pretrained(shallow(base, 2, tmp_path / "base")), folder).state_dict()
    assert all(torch.equal(weights, theirs[name]) for name, weights in ours.items())  # and so each layer's states


def test_what_cannot_be_cut(adapter, tmp_path):
    for layers in (0, 4):
        refused(partial(first_layers, adapter, layers, tmp_path / "none"), f"layers={layers}: .* has 3; expected 1 to so many")
    assert not (tmp_path / "none").exists()
    refused(lambda: first_layers(tmp_path, 1, tmp_path / "none"), "expected a folder with adapter_model.safetensors")
    refused(lambda: recipes._layer("base_model.model.model.embed_tokens.lora_A"), "belongs to no layer")


def test_the_first_layers_make_a_smaller_model(base, tmp_path):
    folder = shallow(base, 2, tmp_path / "two")
    whole, cut = (AutoModelForCausalLM.from_pretrained(place) for place in (base, folder))
    assert cut.config.num_hidden_layers == 2
    theirs = dict(whole.named_parameters())
    assert all(torch.equal(weights, theirs[name]) for name, weights in cut.named_parameters())
    stamp = (folder / "config.json").stat().st_mtime_ns
    assert shallow(base, 2, folder) == folder and (folder / "config.json").stat().st_mtime_ns == stamp
    refused(lambda: shallow(base, 1, folder), "holds 2 layers of a model: expected 1")
    for layers in (0, 4):
        refused(partial(shallow, base, layers, tmp_path / "none"), f"layers={layers}: .* has 3")
    (tmp_path / "other").mkdir()
    refused(lambda: shallow(base, 1, tmp_path / "other"), "holds no layers")


def test_an_adapter_is_merged_once(base, adapter, tmp_path):
    folder = recipes.merged_base(base, adapter, tmp_path / "both")
    theirs = merged_model(AutoModelForCausalLM.from_pretrained(base), adapter).state_dict()
    ours = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    assert all(torch.equal(weights, theirs[name]) for name, weights in ours.items())
    assert recipes.merged_base(base, tmp_path, folder) == folder  # what is there is taken
