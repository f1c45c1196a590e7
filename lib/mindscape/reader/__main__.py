"""Train the reader: python -m mindscape.reader --out build/reader. The same call goes on after a kill.

On several GPUs: accelerate launch -m mindscape.reader --out build/reader.
"""

import argparse
import json
import sys
from dataclasses import asdict, fields
from pathlib import Path

from transformers import AutoTokenizer

from mindscape import assets, results
from mindscape.corpora import storyworld
from mindscape.errors import MindscapeError
from mindscape.reader import SHARES, mixture
from mindscape.training import Settings, train
from mindscape.weights import adapter_hash


def main() -> None:
    """Read the arguments, make the examples, train, and leave beside the adapter how it was made (`run.json`)."""
    asked = argparse.ArgumentParser(prog="python -m mindscape.reader", description="Train the embedded reader.")
    asked.add_argument("--out", required=True, help="folder for log, checkpoint and adapter")
    asked.add_argument("--base", default="", help="folder or name of a causal model; the embedded one by default")
    asked.add_argument("--start", default="", help="folder of an adapter to begin with; a fresh one by default")
    asked.add_argument("--first", type=int, default=0, help="the first of the training seeds")
    asked.add_argument("--books", type=int, default=90, help="how many training seeds")
    for field in fields(Settings):
        if field.name != "checkpointing":
            asked.add_argument(f"--{field.name.replace('_', '-')}", type=field.type, default=field.default)
    asked.add_argument("--checkpointing", action="store_true")
    try:
        print(_run(asked.parse_args()))
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> Path:
    settings = Settings(**{field.name: getattr(given, field.name) for field in fields(Settings)})
    made = {
        "base": given.base or "SmolLM2-135M-Instruct",
        "start_sha256": adapter_hash(given.start) if given.start else None,
        "shares": SHARES,
        "settings": asdict(settings) | {"dtype": str(settings.precision).removeprefix("torch.")},
        "environment": results.environment(),
    }
    base = given.base or assets.language_model()
    seeds = storyworld.TRAIN[given.first :][: given.books]
    examples = mixture(seeds, AutoTokenizer.from_pretrained(base))
    print(f"{len(examples):,} examples of {len(SHARES)} roles; the log is {given.out}/log.jsonl", flush=True)
    adapter = train(examples, given.out, base, settings, given.start or None)
    made |= {"seeds": [seeds[0], seeds[-1]], "examples": len(examples)}
    (adapter / "run.json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    return adapter


if __name__ == "__main__":
    main()
