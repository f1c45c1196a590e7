"""Train MiA-Gen: python -m mindscape.mia.gen_training --out build/mia_gen. The same call goes on after a kill.

The loss is that of Eq. 7 on the reply alone, weighed by its length as `mindscape.training.sft` has it. With `--variant` it
trains an ablation of Table 5 (no_summary, no_claims, no_qa): the same steps on equally many examples. With `--start` it begins
with an adapter, say the reader's, which has the replies' forms. With `--layers` the base's first layers alone are trained, a
smaller generator (Figure 3). On several GPUs: accelerate launch -m mindscape.mia.gen_training --out ... Taught in notebook
14_mia_gen.
"""

import argparse
import os
import shutil
from dataclasses import asdict
from pathlib import Path

from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from mindscape.corpora.books import training_book
from mindscape.corpora.storyworld.voice import LANGUAGES
from mindscape.errors import InputError
from mindscape.mia.generation import SHOWN, VARIANTS, examples
from mindscape.training import Settings, command, train
from mindscape.weights import quiet


def main() -> None:
    """Read the arguments, make the examples, train, and leave beside the adapter how it was made (`run.json`)."""
    asked = command.arguments("mindscape.mia.gen_training", "Train MiA-Gen, or an ablation of it.", books=60)
    asked.add_argument("--variant", default="full", choices=list(VARIANTS), help="what is left out (Table 5)")
    asked.add_argument("--most", type=int, default=SHOWN, help="passages of a prompt, at most")
    asked.add_argument("--language", default="en", choices=list(LANGUAGES))
    asked.add_argument("--layers", type=int, default=0, help="so many first layers of the base; all by default")
    command.run(asked, _train)


def _train(given: argparse.Namespace, base: str, seeds: range, settings: Settings) -> tuple[Path, dict]:
    base = shallow(base, given.layers, Path(given.out) / "base") if given.layers else base
    tokenizer = AutoTokenizer.from_pretrained(base)
    books = (training_book(seed, given.language) for seed in seeds)
    made = [one for book in books for one in examples(book, tokenizer, given.variant, given.most)]
    print(f"{len(made):,} examples of {len(seeds)} novels; the log is {given.out}/log.jsonl", flush=True)
    adapter = train(made, given.out, base, settings, given.start or None)
    more = {"variant": given.variant, **asdict(VARIANTS[given.variant]), "most": given.most}
    return adapter, more | {"language": given.language, "layers": given.layers, "examples": len(made)}


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
        if there != layers:
            raise InputError(
                f"{folder} holds {there or 'no'} layers of a model: expected {layers}; name another folder"
            )
        return folder
    scratch = folder.with_name(folder.name + ".new")
    shutil.rmtree(scratch, ignore_errors=True)  # what a kill left
    cut = {"num_hidden_layers": layers}
    if kinds := getattr(config, "layer_types", None):  # Qwen's say of each layer what it is
        cut["layer_types"] = kinds[:layers]
    with quiet(warnings=False):
        tokenizer = AutoTokenizer.from_pretrained(base)
        AutoModelForCausalLM.from_pretrained(base, dtype="auto", **cut).save_pretrained(scratch)
    tokenizer.save_pretrained(scratch)
    os.replace(scratch, folder)
    return folder


if __name__ == "__main__":
    main()
