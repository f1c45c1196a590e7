"""How each adapter was made: `data/adapters/recipes.yaml`, one entry an adapter, and what makes it again.

    mia_emb:
      about: a line for people
      start: reader            # the recipe whose adapter it begins with; left out: a fresh one
      base: FOLDER_OR_NAME     # left out: the embedded model
      layers: 10               # only so many of the base's first layers, and of the adapter's to begin with
      merged: reader           # the recipe whose adapter is merged into the base
      sha256: 39c2...          # of an adapter whose replies are in the store, and which does not travel itself
      stages:                  # one after the other, each going on from the one before
        - seeds: [300, 359]    # novels to train on, the first and the last
          roles: {qa: 4}       # or retrieval:, answers:, memories: what the examples are, see `KINDS`
          examples: 2820       # how many that gives
          settings: {steps: 240}                        # fields of `mindscape.training.Settings`
          log: data/adapters/mia_emb/first_log.jsonl    # of the run that was measured

`python -m mindscape.training NAME` trains one. `trained` gives the language model with a recipe's adapter, also of one that
does not travel: what the store holds of it is found, and what it lacks takes the adapter.

A base need not be taken as it comes: `shallow` gives a model's first layers (MiA-RAG, Figure 3), `first_layers` those of an
adapter, so that generators of several depths begin their training alike, and `merged_base` has another adapter merged in. By
itself an adapter of the first layers answers nothing: the layers that turned its states into words are gone. Taught in
notebooks 01_the_reader, 12_mia_emb_training and 14_mia_gen.
"""

import json
import os
import re
import shutil
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from accelerate import PartialState
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from mindscape import assets, paths, results, store, trail, training, weights
from mindscape.errors import InputError, one_of, require
from mindscape.llm import LanguageModel, local
from mindscape.mia import emb_training, generation
from mindscape.mia.embedding import Form
from mindscape.mom import memreader
from mindscape.mom.chunkers import length
from mindscape.store import Maker
from mindscape.training import Settings
from mindscape.weights import adapter_hash
from storyworld import TRAIN, Book, training_book
from storyworld.teaching import baselines, building, mixture
from storyworld.teaching.update import Asked, of_story, who_is_who

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


def shallow(base: str | Path, layers: int, folder: str | Path) -> Path:
    """A model of the base's first layers, its last norm and its head, saved in a folder; what is there already is taken.

    The same base gives the same model, so that an adapter trained on it can be shipped alone. Raises InputError for fewer than
    one layer or more than the base has, and for a folder that holds another model.

    >>> shallow(assets.language_model(), 10, "build/smollm2-10")                         # doctest: +SKIP
    PosixPath('build/smollm2-10')
    """
    folder = Path(folder)
    config = AutoConfig.from_pretrained(base)
    has = config.num_hidden_layers
    require(1 <= layers <= has, f"layers={layers}: {base} has {has}; expected 1 to so many")
    if folder.exists():
        there = AutoConfig.from_pretrained(folder).num_hidden_layers if (folder / "config.json").is_file() else None
        held = f"{folder} holds {there or 'no'} layers of a model"
        require(there == layers, f"{held}: expected {layers}; name another folder")
        return folder
    cut = {"num_hidden_layers": layers}
    if kinds := getattr(config, "layer_types", None):  # Qwen's say of each layer what it is
        cut["layer_types"] = kinds[:layers]
    with _whole(folder) as scratch, weights.quiet(warnings=False):
        AutoModelForCausalLM.from_pretrained(base, dtype="auto", **cut).save_pretrained(scratch)
        AutoTokenizer.from_pretrained(base).save_pretrained(scratch)
    return folder


def merged_base(base: str | Path, adapter: str | Path, folder: str | Path) -> Path:
    """The base with an adapter added to its weights, saved in a folder; what is there already is taken.

    Raises InputError where the adapter does not fit.

    >>> merged_base(assets.language_model(), "data/adapters/reader", "build/with_reader")     # doctest: +SKIP
    PosixPath('build/with_reader')
    """
    folder = Path(folder)
    if not folder.exists():
        with _whole(folder) as scratch, weights.quiet():
            weights.merged_model(AutoModelForCausalLM.from_pretrained(base), adapter).save_pretrained(scratch)
            AutoTokenizer.from_pretrained(base).save_pretrained(scratch)
    return folder


def first_layers(adapter: str | Path, layers: int, folder: str | Path) -> Path:
    """The matrices of an adapter that belong to the first `layers` layers, saved as an adapter in a folder of its own.

    Numbers and their precision stay as they are; what is in the folder already is taken. Raises InputError where `adapter`
    holds no adapter, and for fewer than one layer or more than it has.

    >>> first_layers("data/adapters/reader", 10, "build/reader_10")                      # doctest: +SKIP
    PosixPath('build/reader_10')
    """
    adapter, folder = Path(adapter), Path(folder)
    for name in (WEIGHTS, CONFIG):
        require((adapter / name).is_file(), f"adapter={str(adapter)!r}: expected a folder with {name}")
    learned = load_file(adapter / WEIGHTS)
    has = 1 + max((_layer(name) for name in learned), default=-1)
    require(1 <= layers <= has, f"layers={layers}: {adapter} has {has}; expected 1 to so many")
    if not folder.exists():
        with _whole(folder) as scratch:
            kept = {name: matrix for name, matrix in learned.items() if _layer(name) < layers}
            save_file(kept, scratch / WEIGHTS, metadata={"format": "pt"})
            shutil.copyfile(adapter / CONFIG, scratch / CONFIG)
    return folder


def _layer(name: str) -> int:
    """The layer that a matrix belongs to, counted from 0.

    >>> _layer("base_model.model.model.layers.7.mlp.up_proj.lora_A.weight")
    7
    """
    match = re.search(r"\.layers\.(\d+)\.", name)
    require(match, f"{name} belongs to no layer: expected an adapter of a model's layers alone")
    return int(match[1])


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A folder beside it to write into, which is put in its place when it is whole; what a kill left there goes."""
    scratch = folder.with_name(folder.name + ".new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    yield scratch
    os.replace(scratch, folder)


FILE = paths.data("adapters", "recipes.yaml")
SCALE = [16, 32, False]  # rank, alpha and rsLoRA of an adapter that is known by its hash alone
ORDINALS = ("first", "second", "third", "fourth")  # folders of the stages before the last


# What examples are -----------------------------------------------------------------------------------------------------


# the key of a stage that says what its examples are: what it can be given, as it is by default
KINDS: dict[str, dict[str, Any]] = {
    "roles": {},  # prompts and replies of the reader's roles: of each novel so many of each
    # Questions and claims with passages, as MiA-Gen or an ablation of it is taught them.
    "answers": {"variant": "full", "most": generation.SHOWN, "language": "en"},
    # Documents and their memories, of each novel at most `share`; the last `chinese` novels are told in Chinese.
    "memories": {"with_path": True, "share": 14, "chinese": 0},
    # Blocks and what they change in a concept graph, and answers from such graphs; counts from them; answers that look up.
    "building": {"language": "en"},
    "counting": {"number_first": False},
    "verifying": {},
    # What MindGraph's five baselines ask for; what bears on a question and what does not, in blocks of `size` tokens.
    "baselines": {"direct": False, "every": 1},
    "relevance": {"size": baselines.BLOCK, "idle": 2},
    # Questions with what is to be found: the people of a novel, tellings of a sentence or two, or chunks and nodes. `even`: as
    # many questions that need no binding as that do; `traded`: how many names in questions become trades, 0 to 1. And the
    # fields of `mindscape.mia.emb_training.Recipe`.
    "retrieval": {"lesson": "chunks", "even": False, "traded": 0.0},
}


def _asked(book: Book, tokenizer: PreTrainedTokenizerBase, lesson: str, even: bool, traded: float) -> list[Asked]:
    if lesson == "people":
        return who_is_who(book)
    return of_story(book, tokenizer, even=even, traded=traded, alone=lesson == "tellings")


DRAWN: dict[str, Callable[..., list[Any]]] = {  # what draws a kind's examples from one novel
    "answers": generation.examples,
    "building": building.block_examples,
    "counting": building.count_examples,
    "verifying": building.verify_examples,
    "baselines": baselines.baseline_examples,
    "relevance": baselines.relevance_examples,
    "retrieval": _asked,
}


@dataclass(frozen=True)
class Kind:
    """What a stage's examples are: a key of `KINDS`, and all that it is given; `recipe` is a retriever's."""

    name: str
    given: Mapping[str, Any]
    recipe: emb_training.Recipe | None = None

    def examples(self, seeds: range, tokenizer: PreTrainedTokenizerBase) -> list[Any]:
        """Those of the novels of training seeds."""
        given = dict(self.given)
        if self.name == "roles":
            return mixture(seeds, tokenizer, given)
        if self.name == "memories":
            return memreader.memory_examples(seeds, tokenizer, **given)
        draw, language = DRAWN[self.name], given.pop("language", "en")
        return [example for seed in seeds for example in draw(training_book(seed, language), tokenizer, **given)]

    def described(self, made: Sequence[Any], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """What a run says of its examples."""
        if self.recipe:
            recipe = asdict(self.recipe) | {"form": self.recipe.form.stored}
            return {"questions": len(made), "recipe": recipe, **self.given}
        count = {"examples": len(made)}
        if self.name == "memories":
            return {**count, "reply_tokens": sum(length(example.reply, tokenizer) for example in made), **self.given}
        if self.name == "answers":
            return {**count, **self.given, **asdict(generation.VARIANTS[self.given["variant"]])}
        return {**count, "shares" if self.name == "roles" else self.name: self.given}


def _kind(name: str, given: dict[str, Any]) -> Kind:
    """What examples are, of a stage's key and its value."""
    if name == "roles":
        return Kind(name, given)
    of_recipe = {}
    if name == "retrieval":
        of_recipe = {key: value for key, value in given.items() if key not in KINDS[name]}
        of_recipe["form"] = _made(Form, of_recipe.get("form", {}))
    own = {key: value for key, value in given.items() if key not in of_recipe}
    _check(name, own, {key: type(value) for key, value in KINDS[name].items()})
    one_of(("people", "tellings", "chunks"), lesson=own.get("lesson", "chunks"))
    return Kind(name, KINDS[name] | own, _made(emb_training.Recipe, of_recipe) if of_recipe else None)


# Recipes ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """One training run: on examples of the training seeds, with settings; the log of the run that was measured."""

    seeds: range
    kind: Kind
    settings: Settings
    examples: int = 0
    log: Path | None = None

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The log of the run that was measured, a line a step: losses, tokens and seconds. [] where there is none yet."""
        if self.log is None or not self.log.exists():
            return []
        store.current().read_file(self.log)
        return [json.loads(line) for line in trail.lines(self.log)]

    @property
    def measured(self) -> tuple[int, int, float]:
        """Steps, tokens and seconds of the logged run. Without a log: steps, tokens at most, 0.0."""
        if not self.lines:
            steps = self.settings.until or self.settings.steps
            return steps, steps * self.settings.tokens, 0.0
        tokens, seconds = (sum(line[key] for line in self.lines) for key in ("tokens", "seconds"))
        return len(self.lines), tokens, seconds


@dataclass(frozen=True)
class Recipe:
    """How one adapter is made. `start` and `merged` are names of other recipes."""

    name: str
    about: str
    stages: tuple[Stage, ...]
    base: str = ""
    start: str = ""
    merged: str = ""
    layers: int = 0
    sha256: str = ""

    @property
    def built(self) -> Path:
        """Where the command leaves the adapter."""
        return paths.build_path("adapters", self.name, "adapter")

    @property
    def home(self) -> Path:
        """Where the adapter is if it travels."""
        return paths.data("adapters", self.name)

    @property
    def adapter(self) -> Path:
        """The adapter's folder: the one that travels, or the one that was trained here, whether it is there or not."""
        return self.home if (self.home / WEIGHTS).is_file() else self.built

    @property
    def cost(self) -> str:
        """Steps, tokens, and the time that the logged runs took.

        >>> read_recipe("layers_10").cost
        '270 steps, 385,512 tokens, 0.3 hours'
        """
        steps, tokens, seconds = (sum(column) for column in zip(*(stage.measured for stage in self.stages), strict=True))
        hours = f"{seconds / 3600:.1f} hours" if seconds else "not measured yet"
        return f"{steps:,} steps, {tokens:,} tokens, {hours}"


def every(file: str | Path = FILE) -> dict[str, Recipe]:
    """All recipes of a file, by name. Raises InputError that names the recipe and the key that is wrong."""
    try:
        entries = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file}: expected recipes in YAML: {' '.join(str(error).split()):.200}") from error
    require(isinstance(entries, dict), f"{file}: expected recipes by name")
    return {name: _recipe(name, entry) for name, entry in entries.items()}


def read_recipe(name: str, file: str | Path = FILE) -> Recipe:
    """The recipe of a name. Raises InputError for one that there is not.

    >>> read_recipe("mia_gen").start, read_recipe("mia_gen").stages[0].settings.steps
    ('reader', 270)
    """
    recipes = every(file)
    require(name in recipes, f"no recipe {name!r}: expected one of {', '.join(recipes)}")
    return recipes[name]


def _recipe(name: str, entry: Any) -> Recipe:
    try:
        entry = dict(entry)
        stages = tuple(_stage(dict(stage)) for stage in entry.pop("stages"))
        require(1 <= len(stages) <= len(ORDINALS) + 1, f"{len(stages)} stages: expected 1 to {len(ORDINALS) + 1}")
        return _made(Recipe, {"name": name, "stages": stages, **entry})
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        why = f"expected {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"recipe {name!r}: {why}") from error


def _stage(entry: dict[str, Any]) -> Stage:
    kinds = [key for key in entry if key in KINDS]
    require(len(kinds) == 1, f"a stage of {', '.join(kinds) or 'nothing'}: expected one of {', '.join(KINDS)}")
    (first, last), least, most = entry["seeds"], TRAIN[0], TRAIN[-1]
    require(least <= first <= last <= most, f"seeds {first} to {last}: expected some of {least} to {most}")
    entry |= {"seeds": range(first, last + 1), "kind": _kind(kinds[0], entry.pop(kinds[0]))}
    entry["settings"] = _made(Settings, entry.get("settings", {}))
    entry["log"] = paths.root() / entry["log"] if entry.get("log") else None
    return _made(Stage, entry)


def _made(kind: type, given: Mapping[str, Any]) -> Any:
    """The dataclass of these fields. Raises InputError as `_check` does."""
    _check(kind.__name__, given, {field.name: field.type for field in fields(kind)})
    return kind(**given)


def _check(owner: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raises InputError for a name that is not known, or a value of another type."""
    for name, value in given.items():
        require(name in known, f"{owner} has no {name!r}: expected some of {', '.join(known)}")
        kind = known[name]
        fits = kind not in (int, float, str, bool) or type(value) is kind or (kind is float and type(value) is int)
        require(fits, f"{name}={value!r}: expected {getattr(kind, '__name__', kind)}")


# Training --------------------------------------------------------------------------------------------------------------


def train_recipe(recipe: Recipe, out: str | Path = "", dtype: str = "", file: str | Path = FILE) -> Path:
    """Train a recipe's adapter, stage after stage; returns its folder `out`/adapter. The same call goes on after a kill.

    `out` is build/adapters/NAME by default; stages before the last are in folders of their own below it. `dtype` in the place
    of the recipe's precision. Layers are compiled where a C++ compiler is found. Beside each adapter is how it was made
    (`run.json`). Raises InputError where an adapter to begin with is not there, and where `out` holds another run.

    >>> train_recipe(read_recipe("mia_gen"))                                                           # doctest: +SKIP
    PosixPath('build/adapters/mia_gen/adapter')
    """
    out = Path(out or recipe.built.parent)
    with PartialState().local_main_process_first():
        base, start = _base(recipe, out, file), _start(recipe, out, file)
    cxx = compiler()
    by = f"compiled, by {cxx}" if cxx else "not compiled: no C++ compiler is found, or no headers of Python"
    PartialState().print(f"{recipe.name}: {recipe.cost} where it was measured; layers are {by}")
    tokenizer = AutoTokenizer.from_pretrained(base)
    for i, stage in enumerate(recipe.stages):
        folder = out if stage is recipe.stages[-1] else out / ORDINALS[i]
        settings = replace(stage.settings, compile=cxx is not None, dtype=dtype or stage.settings.dtype)
        made: list[Any] = stage.kind.examples(stage.seeds, tokenizer)
        PartialState().print(f"{len(made):,} examples of {len(stage.seeds)} novels; the log is {folder}/log.jsonl")
        if stage.kind.recipe:
            adapter = emb_training.train(made, folder, base, stage.kind.recipe, settings, start=start)
        else:
            adapter = training.train(made, folder, base, settings, start)
        run: dict[str, Any] = {
            "base": recipe.base or "SmolLM2-135M-Instruct",
            "start_sha256": adapter_hash(start) if start else None,
            "seeds": [stage.seeds.start, stage.seeds.stop - 1],
            "settings": asdict(settings) | {"dtype": str(settings.precision).removeprefix("torch.")},
            "environment": results.environment(),
        }
        run |= stage.kind.described(made, tokenizer) | ({"layers": recipe.layers} if recipe.layers else {})
        if PartialState().is_main_process:
            (adapter / "run.json").write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
        start = adapter
    return start


def missing(file: str | Path = FILE) -> list[Recipe]:
    """Recipes whose adapter is one that travels, which has a folder in `data/adapters`, and is not there."""
    return [recipe for recipe in every(file).values() if recipe.home.is_dir() and not (recipe.home / WEIGHTS).is_file()]


def complete(file: str | Path = FILE) -> None:
    """Train what is `missing`, in the recipes' order, each after a word on what it takes, and put it where it travels."""
    for recipe in missing(file):
        shutil.copytree(train_recipe(recipe, file=file), recipe.home, dirs_exist_ok=True)


def _base(recipe: Recipe, out: Path, file: str | Path) -> str | Path:
    base = recipe.base or assets.language_model()
    if recipe.merged:
        base = merged_base(base, _there(recipe.merged, file), out / "merged")
    return shallow(base, recipe.layers, out / "base") if recipe.layers else base


def _start(recipe: Recipe, out: Path, file: str | Path) -> Path | None:
    start = _there(recipe.start, file) if recipe.start else None
    return first_layers(start, recipe.layers, out / "start") if start and recipe.layers else start


def _there(name: str, file: str | Path) -> Path:
    """The folder of another recipe's adapter."""
    adapter = read_recipe(name, file).adapter
    require((adapter / WEIGHTS).is_file(), f"{adapter} is not there: train it first, python -m mindscape.training {name}")
    return adapter


def compiler() -> str | None:
    """A C++ compiler, if one is found, and the headers of Python that torch.compile takes with it."""
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return next((name for name in ("c++", "g++", "clang++") if shutil.which(name) and headers.is_file()), None)


# Models ----------------------------------------------------------------------------------------------------------------


def trained(name: str, **options: Any) -> LanguageModel:
    """The language model with a recipe's adapter. What the store holds of it is found without the adapter.

    An adapter that does not travel is known by the hash that the store's entries have (`sha256`); a store that is `fresh` takes
    the one that was trained here instead. By name it is "embedded", as with all adapters on that base: it is sent the short
    forms and held to grammars. Options go to `mindscape.llm.local.Local`. Raises InputError for a recipe that there is not, for
    one of a retriever (`mindscape.mia.embedding.embedder`), and, when weights are needed, where they are not there.

    >>> (model := trained("no_summary")).name, model.maker.name
    ('embedded', 'no_summary')
    """
    recipe = read_recipe(name)
    other = recipe.stages[-1].kind.recipe or recipe.base or recipe.merged
    require(not other, f"recipe {name!r} makes no language model on the embedded base")
    known = recipe.sha256
    if not known or store.current().fresh:
        known = adapter_hash(_there(name, FILE))
    here = (recipe.adapter / WEIGHTS).is_file() and adapter_hash(recipe.adapter) == known
    about: dict[str, Any] = {"base": assets.ASSETS["smollm2"].sha256, "adapter": known, "scale": SCALE}
    about |= {"layers": recipe.layers} if recipe.layers else {}
    config = AutoConfig.from_pretrained(assets.language_model())
    config.num_hidden_layers = recipe.layers or config.num_hidden_layers

    def network() -> PreTrainedModel:
        anew = f"python -m mindscape.training {name} trains one anew, and fresh=True takes that"
        require(here, f"the adapter of {name} that made what the store holds does not travel: {anew}")
        made = _base(recipe, recipe.built.parent, FILE)
        return local.pretrained(made, name, adapter=recipe.adapter, dtype="float32").model

    maker = Maker(name, about, "float32", here)
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    backend = local.Local(local.Weights(network, config), tokenizer, "embedded", maker=maker, **options)
    return LanguageModel(backend, store=store.current())
