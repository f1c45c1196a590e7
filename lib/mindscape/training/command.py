"""What the commands that train have in common: their arguments, errors in a line, how an adapter was made.

Taught in notebook 01_the_reader.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from mindscape import assets, results
from mindscape.corpora import storyworld
from mindscape.errors import MindscapeError
from mindscape.training.loop import Settings
from mindscape.weights import adapter_hash


def arguments(name: str, description: str, books: int) -> argparse.ArgumentParser:
    """The parser of `python -m name`: where to, what from, which training seeds, and the fields of `Settings`."""
    asked = argparse.ArgumentParser(prog=f"python -m {name}", description=description)
    asked.add_argument("--out", required=True, help="folder for log, checkpoint and adapter")
    asked.add_argument("--base", default="", help="folder or name of a causal model; the embedded one by default")
    asked.add_argument("--start", default="", help="folder of an adapter to begin with; a fresh one by default")
    asked.add_argument("--first", type=int, default=0, help="the first of the training seeds")
    asked.add_argument("--books", type=int, default=books, help="how many training seeds")
    fielded(asked, Settings)
    return asked


def fielded(asked: argparse.ArgumentParser, of: type, but: tuple[str, ...] = ()) -> None:
    """An argument for each field of a dataclass, those `but` apart: a switch for what is false by default."""
    for field in fields(of):
        if field.name not in but:
            how: dict[str, Any] = {"type": field.type, "default": field.default}
            if field.type is bool:
                how = {"action": "store_true"}
            elif get_origin(field.type) is Literal:
                how |= {"type": str, "choices": get_args(field.type)}
            asked.add_argument(f"--{field.name.replace('_', '-')}", **how)


def of(given: argparse.Namespace, kind: type, **more: Any) -> Any:
    """The dataclass whose fields the arguments hold."""
    return kind(**{field.name: getattr(given, field.name) for field in fields(kind) if field.name not in more}, **more)


def run(
    asked: argparse.ArgumentParser, train: Callable[[argparse.Namespace, str, range, Settings], tuple[Path, dict]]
) -> None:
    """Train as the arguments say and leave `run.json` beside the adapter. An error of ours is one line.

    `train` gets the arguments, the base, the seeds and the settings, and returns the adapter's folder and what else `run.json`
    is to say.
    """
    given = asked.parse_args()
    try:
        settings = of(given, Settings)
        seeds = storyworld.TRAIN[given.first :][: given.books]
        made = {
            "base": given.base or "SmolLM2-135M-Instruct",
            "start_sha256": adapter_hash(given.start) if given.start else None,
            "seeds": [seeds.start, seeds.stop - 1],
            "settings": asdict(settings) | {"dtype": str(settings.precision).removeprefix("torch.")},
            "environment": results.environment(),
        }
        adapter, more = train(given, given.base or assets.language_model(), seeds, settings)
        (adapter / "run.json").write_text(json.dumps(made | more, indent=2) + "\n", encoding="utf-8")
    except MindscapeError as error:
        sys.exit(f"error: {error}")
    print(adapter)
