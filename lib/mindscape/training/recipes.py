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
does not travel: what the store holds of it is found, and what it lacks takes the adapter. Taught in notebook 01_the_reader.

What an adapter is trained on where that is not the base as it comes: its first layers alone, or another adapter merged in.

`shallow` gives a model's first layers (MiA-RAG, Figure 3), `first_layers` those of an adapter, so that generators of several
depths begin their training alike. By itself such an adapter answers nothing: the layers that turned its states into words
are gone. Taught in notebooks 12_mia_emb_training and 14_mia_gen.
"""

import json
import os
import re
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from accelerate import PartialState
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

import storyworld
from mindscape import assets, paths, results, store, trail, training, weights
from mindscape.errors import InputError, require
from mindscape.llm import LanguageModel, local
from mindscape.mia import emb_training, generation
from mindscape.mia.embedding import Form
from mindscape.mom import memreader
from mindscape.mom.chunkers import length
from mindscape.roles import Example
from mindscape.store import Maker
from mindscape.training import Settings
from mindscape.weights import adapter_hash
from storyworld import training_book
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
    if not 1 <= layers <= config.num_hidden_layers:
        raise InputError(f"layers={layers}: {base} has {config.num_hidden_layers}; expected 1 to so many")
    if folder.exists():
        there = AutoConfig.from_pretrained(folder).num_hidden_layers if (folder / "config.json").is_file() else None
        held = f"{folder} holds {there or 'no'} layers of a model"
        require(there == layers, f"{held}: expected {layers}; name another folder")
        return folder
    cut = {"num_hidden_layers": layers}
    if kinds := getattr(config, "layer_types", None):  # Qwen's say of each layer what it is
        cut["layer_types"] = kinds[:layers]
    scratch = _scratch(folder)
    with weights.quiet(warnings=False):
        AutoModelForCausalLM.from_pretrained(base, dtype="auto", **cut).save_pretrained(scratch)
    AutoTokenizer.from_pretrained(base).save_pretrained(scratch)
    os.replace(scratch, folder)
    return folder


def merged_base(base: str | Path, adapter: str | Path, folder: str | Path) -> Path:
    """The base with an adapter added to its weights, saved in a folder; what is there already is taken.

    Raises InputError where the adapter does not fit.

    >>> merged_base(assets.language_model(), "data/adapters/reader", "build/with_reader")     # doctest: +SKIP
    PosixPath('build/with_reader')
    """
    folder = Path(folder)
    if not folder.exists():
        scratch = _scratch(folder)
        with weights.quiet():
            weights.merged_model(AutoModelForCausalLM.from_pretrained(base), adapter).save_pretrained(scratch)
        AutoTokenizer.from_pretrained(base).save_pretrained(scratch)
        os.replace(scratch, folder)
    return folder


def first_layers(adapter: str | Path, layers: int, folder: str | Path) -> Path:
    """The matrices of an adapter that belong to the first `layers` layers, saved as an adapter in a folder of its own.

    Numbers and their precision stay as they are; what is in the folder already is taken. Raises InputError where `adapter`
    holds no adapter, and for fewer than one layer or more than it has.

    >>> first_layers("data/adapters/reader", 10, "build/reader_10")                      # doctest: +SKIP
    PosixPath('build/reader_10')
    """
    adapter, folder = Path(adapter), Path(folder)
    if missing := [name for name in (WEIGHTS, CONFIG) if not (adapter / name).is_file()]:
        raise InputError(f"adapter={str(adapter)!r}: expected a folder with {missing[0]}")
    learned = load_file(adapter / WEIGHTS)
    has = 1 + max((_layer(name) for name in learned), default=-1)
    require(1 <= layers <= has, f"layers={layers}: {adapter} has {has}; expected 1 to so many")
    if not folder.exists():
        scratch = _scratch(folder)
        scratch.mkdir(parents=True)
        kept = {name: matrix for name, matrix in learned.items() if _layer(name) < layers}
        save_file(kept, scratch / WEIGHTS, metadata={"format": "pt"})
        shutil.copyfile(adapter / CONFIG, scratch / CONFIG)
        os.replace(scratch, folder)
    return folder


def _layer(name: str) -> int:
    """The layer that a matrix belongs to, counted from 0.

    >>> _layer("base_model.model.model.layers.7.mlp.up_proj.lora_A.weight")
    7
    """
    found = re.search(r"\.layers\.(\d+)\.", name)
    require(found, f"{name} belongs to no layer: expected an adapter of a model's layers alone")
    return int(found[1])


def _scratch(folder: Path) -> Path:
    """A folder beside it to write into; what a kill left there goes."""
    scratch = folder.with_name(folder.name + ".new")
    shutil.rmtree(scratch, ignore_errors=True)
    return scratch


FILE = paths.data("adapters", "recipes.yaml")
SCALE = [16, 32, False]  # rank, alpha and rsLoRA of an adapter that is known by its hash alone
ORDINALS = ("first", "second", "third", "fourth")  # folders of the stages before the last


# What examples are -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roles:
    """Prompts and replies of the reader's roles: of each novel so many of each."""

    shares: Mapping[str, int]

    def examples(self, seeds: range, tokenizer: PreTrainedTokenizerBase) -> list[Example]:
        return mixture(seeds, tokenizer, self.shares)

    def told(self, made: Sequence[Example], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        return {"examples": len(made), "shares": dict(self.shares)}


class _OfEachNovel:
    """Examples that are drawn from one training novel after another, told with the kind's own fields."""

    language = "en"

    def examples(self, seeds: range, tokenizer: PreTrainedTokenizerBase) -> list[Any]:
        return [one for seed in seeds for one in self.of_novel(training_book(seed, self.language), tokenizer)]

    def of_novel(self, book: storyworld.Book, tokenizer: PreTrainedTokenizerBase) -> list[Any]:
        raise NotImplementedError

    def told(self, made: Sequence[Any], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        return {"examples": len(made), type(self).__name__.lower(): vars(self)}


@dataclass(frozen=True)
class Answers(_OfEachNovel):
    """Questions and claims with passages, as MiA-Gen or an ablation of it is taught them."""

    variant: str = "full"
    most: int = generation.SHOWN
    language: str = "en"

    def of_novel(self, book: storyworld.Book, tokenizer: PreTrainedTokenizerBase) -> list[Example]:
        return generation.examples(book, tokenizer, self.variant, self.most)

    def told(self, made: Sequence[Example], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        return asdict(self) | asdict(generation.VARIANTS[self.variant]) | {"examples": len(made)}


@dataclass(frozen=True)
class Memories:
    """Documents and their memories, of each novel at most `share`; the last `chinese` novels are told in Chinese."""

    with_path: bool = True
    share: int = 14
    chinese: int = 0

    def examples(self, seeds: range, tokenizer: PreTrainedTokenizerBase) -> list[Example]:
        return memreader.memory_examples(seeds, tokenizer, self.with_path, self.share, self.chinese)

    def told(self, made: Sequence[Example], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        return {"examples": len(made), "reply_tokens": sum(length(one.reply, tokenizer) for one in made)} | asdict(self)


@dataclass(frozen=True)
class Building(_OfEachNovel):
    """Blocks and what they change in a concept graph, and answers from such graphs: see `storyworld.teaching.building`."""

    language: str = "en"

    def of_novel(self, book: storyworld.Book, tokenizer: PreTrainedTokenizerBase) -> list[Example]:
        return building.block_examples(book, tokenizer)


@dataclass(frozen=True)
class Baselines(_OfEachNovel):
    """What MindGraph's five baselines ask for: see `storyworld.teaching.baselines`."""

    direct: bool = False
    every: int = 1

    def of_novel(self, book: storyworld.Book, tokenizer: PreTrainedTokenizerBase) -> list[Example]:
        return baselines.baseline_examples(book, tokenizer, direct=self.direct, every=self.every)


@dataclass(frozen=True)
class Relevance(_OfEachNovel):
    """What bears on a question and what does not, in blocks of `size` tokens: see `storyworld.teaching.baselines`."""

    size: int
    idle: int = 2

    def of_novel(self, book: storyworld.Book, tokenizer: PreTrainedTokenizerBase) -> list[Example]:
        return baselines.relevance_examples(book, tokenizer, size=self.size, idle=self.idle)


@dataclass(frozen=True)
class Counting(_OfEachNovel):
    """Counts from concept graphs: see `storyworld.teaching.building`."""

    number_first: bool = False

    def of_novel(self, book: storyworld.Book, tokenizer: PreTrainedTokenizerBase) -> list[Example]:
        return building.count_examples(book, tokenizer, number_first=self.number_first)


@dataclass(frozen=True)
class Retrieval(_OfEachNovel):
    """Questions with what is to be found: the people of a novel, tellings of a sentence or two, or chunks and nodes.

    `even`: as many questions that need no binding as that do; `traded`: how many names in questions become trades, 0 to 1.
    """

    recipe: emb_training.Recipe
    lesson: str = "chunks"
    even: bool = False
    traded: float = 0.0

    def __post_init__(self):
        if self.lesson not in ("people", "tellings", "chunks"):
            raise InputError(f"lesson={self.lesson!r}: expected people, tellings or chunks")

    def of_novel(self, book: storyworld.Book, tokenizer: PreTrainedTokenizerBase) -> list[Asked]:
        if self.lesson == "people":
            return who_is_who(book)
        return of_story(book, tokenizer, even=self.even, traded=self.traded, alone=self.lesson == "tellings")

    def told(self, made: Sequence[Asked], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        recipe = asdict(self.recipe) | {"form": self.recipe.form.told}
        return {"questions": len(made), **asdict(self), "recipe": recipe}


Kind = Roles | Answers | Memories | Building | Baselines | Relevance | Counting | Retrieval


def _retrieval(given: Mapping[str, Any]) -> Retrieval:
    own = {field.name for field in fields(Retrieval)} - {"recipe"}
    of_recipe = {name: value for name, value in given.items() if name not in own}
    form = _made(Form, of_recipe.pop("form", {}))
    return Retrieval(_made(emb_training.Recipe, {**of_recipe, "form": form}), **{n: given[n] for n in own & set(given)})


KINDS = {  # the key of a stage that says what its examples are, and what is made of its value
    "roles": lambda given: Roles(given),
    "answers": lambda given: _made(Answers, given),
    "memories": lambda given: _made(Memories, given),
    "building": lambda given: _made(Building, given),
    "baselines": lambda given: _made(Baselines, given),
    "relevance": lambda given: _made(Relevance, given),
    "counting": lambda given: _made(Counting, given),
    "retrieval": _retrieval,
}


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
        steps, tokens, seconds = (sum(column) for column in zip(*(one.measured for one in self.stages), strict=True))
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
    found = every(file)
    require(name in found, f"no recipe {name!r}: expected one of {', '.join(found)}")
    return found[name]


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
    first, last = entry.pop("seeds")
    if not storyworld.TRAIN[0] <= first <= last <= storyworld.TRAIN[-1]:
        raise InputError(f"seeds {first} to {last}: expected some of {storyworld.TRAIN[0]} to {storyworld.TRAIN[-1]}")
    log = entry.pop("log", "")
    of = {"seeds": range(first, last + 1), "kind": KINDS[kinds[0]](entry.pop(kinds[0]))}
    of |= {"settings": _made(Settings, entry.pop("settings", {})), "log": paths.root() / log if log else None}
    return _made(Stage, {**entry, **of})


def _made(kind: type, given: Mapping[str, Any]) -> Any:
    """The dataclass of these fields. Raises InputError for a field that it has not, or one of another type."""
    valid = {field.name: field for field in fields(kind)}
    for name, value in given.items():
        require(name in valid, f"{kind.__name__} has no {name!r}: expected some of {', '.join(valid)}")
        of = valid[name].type
        if of in (int, float, str, bool) and type(value) is not of and not (of is float and type(value) is int):
            raise InputError(f"{name}={value!r}: expected {of.__name__}")
    return kind(**given)


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
    found = compiler()
    how = f"compiled, by {found}" if found else "not compiled: no C++ compiler is found, or no headers of Python"
    PartialState().print(f"{recipe.name}: {recipe.cost} where it was measured; layers are {how}")
    tokenizer = AutoTokenizer.from_pretrained(base)
    for i, stage in enumerate(recipe.stages):
        folder = out if stage is recipe.stages[-1] else out / ORDINALS[i]
        settings = replace(stage.settings, compile=found is not None)
        settings = replace(settings, dtype=dtype) if dtype else settings
        made: list[Any] = stage.kind.examples(stage.seeds, tokenizer)
        PartialState().print(f"{len(made):,} examples of {len(stage.seeds)} novels; the log is {folder}/log.jsonl")
        if isinstance(stage.kind, Retrieval):
            adapter = emb_training.train(made, folder, base, stage.kind.recipe, settings, start=start)
        else:
            adapter = training.train(made, folder, base, settings, start)
        told = {
            "base": recipe.base or "SmolLM2-135M-Instruct",
            "start_sha256": adapter_hash(start) if start else None,
            "seeds": [stage.seeds.start, stage.seeds.stop - 1],
            "settings": asdict(settings) | {"dtype": str(settings.precision).removeprefix("torch.")},
            "environment": results.environment(),
        }
        told |= stage.kind.told(made, tokenizer) | ({"layers": recipe.layers} if recipe.layers else {})
        if PartialState().is_main_process:
            (adapter / "run.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
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
    if not recipe.start:
        return None
    start = _there(recipe.start, file)
    return first_layers(start, recipe.layers, out / "start") if recipe.layers else start


def _there(name: str, file: str | Path) -> Path:
    """The folder of another recipe's adapter."""
    adapter = read_recipe(name, file).adapter
    if not (adapter / WEIGHTS).is_file():
        raise InputError(f"{adapter} is not there: train it first, python -m mindscape.training {name}")
    return adapter


def compiler() -> str | None:
    """A C++ compiler, if one is found, and the headers of Python that torch.compile takes with it."""
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return next((name for name in ("c++", "g++", "clang++") if shutil.which(name) and headers.is_file()), None)


# Models ----------------------------------------------------------------------------------------------------------------


def trained(name: str, dtype: str = "float32", **options: Any) -> LanguageModel:
    """The language model with a recipe's adapter. What the store holds of it is found without the adapter.

    An adapter that does not travel is known by the hash that the store's entries have (`sha256`); a store that is `fresh` takes
    the one that was trained here instead. Options go to `mindscape.llm.local.Local`. Raises InputError for a recipe that there
    is not, for one of a retriever (`mindscape.mia.embedding.embedder`), and, when weights are needed, where they are not there.

    >>> trained("no_summary").maker.name
    'no_summary'
    """
    recipe = read_recipe(name)
    if isinstance(recipe.stages[-1].kind, Retrieval) or recipe.base or recipe.merged:
        raise InputError(f"recipe {name!r} makes no language model on the embedded base")
    known, (precision, device) = recipe.sha256, weights.placed(dtype, None)
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
        return local.pretrained(made, name, adapter=recipe.adapter, dtype=dtype, device=device).model

    maker = Maker(name, about, str(precision).removeprefix("torch."), here)
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    backend = local.Local(local.Weights(network, config), tokenizer, name, maker=maker, **options)
    return LanguageModel(backend, store=store.current())


def maker(name: str, dtype: str = "float32") -> Maker:
    """Who makes what a recipe's language model writes, as the store files it.

    >>> maker("layers_10").about["layers"], maker("mia_gen", "bfloat16").dtype
    (10, 'bfloat16')
    """
    return trained(name, dtype).maker
