"""Recipes: what they resolve to is what was run; a small one trains, is killed and goes on; bad ones are named."""

import json
import sys
from unittest.mock import DEFAULT, Mock

import pytest
import torch
from safetensors.torch import load_file
from tiny import saved
from transformers import LlamaConfig

from mindscape import llm, paths, store, training
from mindscape.errors import InputError
from mindscape.training import __main__ as command
from mindscape.training import recipes
from mindscape.weights import adapter_hash

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
    assert shipped <= set(RECIPES) and len(MEASURED) == 20
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
    told = stage.kind.told([], None)
    del told["questions" if "questions" in told else "examples"]
    told.pop("reply_tokens", None)
    assert json.loads(json.dumps(told)) == {name: run[name] for name in told}


@pytest.mark.parametrize(
    "name, i", [("memreader", 0), *(("baselines", i) for i in range(5)), *(("mia_emb", i) for i in range(3))]
)
def test_as_many_examples_are_made(tokenizer, name, i):
    stage = RECIPES[name].stages[i]
    assert len(stage.kind.examples(stage.seeds, tokenizer)) == stage.examples


@pytest.mark.parametrize("name, i", [("reader", 0), ("reader", 1), ("reader", 2), ("mia_gen", 0), ("no_qa", 0)])
def test_as_many_examples_are_made_of_each_novel(tokenizer, name, i):
    stage = RECIPES[name].stages[i]
    assert len(stage.kind.examples(stage.seeds[:1], tokenizer)) * len(stage.seeds) == stage.examples


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
        patch.setattr(
            training, "reply_loss", Mock(wraps=training.reply_loss, side_effect=[*[DEFAULT] * 3, KeyboardInterrupt])
        )
        command.main(["first", "--recipes", str(file)])
    command.main(["first", "--recipes", str(file)])
    home = tmp_path / "build" / "adapters" / "first"
    assert capsys.readouterr().out.splitlines()[-1] == str(home / "adapter")
    whole, again = (load_file(it / "adapter" / "adapter_model.safetensors") for it in (tmp_path / "whole", home))
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
    assert recipes.maker("reader") == llm.load("embedded").maker
    assert recipes.maker("no_summary").fingerprint != recipes.maker("mia_gen").fingerprint
    here = store.Store(tmp_path / "cache.sqlite", tmp_path / "store")
    monkeypatch.setattr(store, "_current", here)
    monkeypatch.setenv("MINDSCAPE_BUILD", str(tmp_path))
    said = "python -m mindscape.training no_qa trains one anew, and fresh=True takes that"
    with pytest.raises(InputError, match=said):
        recipes.trained("no_qa").complete("Who?")
    here.fresh = True
    with pytest.raises(InputError, match="is not there: train it first"):
        recipes.trained("no_qa")
    for name in ("mia_emb", "lesson_merged"):
        with pytest.raises(InputError, match=f"recipe '{name}' makes no language model"):
            recipes.trained(name)
