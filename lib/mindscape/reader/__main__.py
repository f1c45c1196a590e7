"""Train the reader: python -m mindscape.reader --out build/reader. The same call goes on after a kill.

On several GPUs: accelerate launch -m mindscape.reader --out build/reader.
"""

import argparse
from pathlib import Path

from transformers import AutoTokenizer

from mindscape.reader import SHARES, mixture
from mindscape.training import Settings, command, train


def main() -> None:
    """Read the arguments, make the examples, train, and leave beside the adapter how it was made (`run.json`)."""
    command.run(command.arguments("mindscape.reader", "Train the embedded reader.", books=90), _train)


def _train(given: argparse.Namespace, base: str, seeds: range, settings: Settings) -> tuple[Path, dict]:
    examples = mixture(seeds, AutoTokenizer.from_pretrained(base))
    print(f"{len(examples):,} examples of {len(SHARES)} roles; the log is {given.out}/log.jsonl", flush=True)
    adapter = train(examples, given.out, base, settings, given.start or None)
    return adapter, {"examples": len(examples), "shares": SHARES}


if __name__ == "__main__":
    main()
