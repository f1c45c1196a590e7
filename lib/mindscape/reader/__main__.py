"""Train the reader: python -m mindscape.reader --out build/reader. The same call goes on after a kill.

On several GPUs: accelerate launch -m mindscape.reader --out build/reader.
"""

import argparse

from transformers import AutoTokenizer

from mindscape import assets
from mindscape.corpora import storyworld
from mindscape.reader import Settings, mixture, train
from mindscape.roles import ROLES


def main() -> None:
    """Read the arguments, make the examples, train."""
    asked = argparse.ArgumentParser(prog="python -m mindscape.reader", description="Train the embedded reader.")
    asked.add_argument("--out", required=True, help="folder for log, checkpoint and adapter")
    asked.add_argument("--base", default="", help="folder or name of a causal model; the embedded one by default")
    asked.add_argument("--books", type=int, default=100, help="training seeds from 0 on")
    asked.add_argument("--steps", type=int, default=Settings.steps)
    asked.add_argument("--tokens", type=int, default=Settings.tokens, help="tokens a batch")
    asked.add_argument("--dtype", default=Settings.dtype)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    base = given.base or assets.language_model()
    tokenizer = AutoTokenizer.from_pretrained(base)
    examples = mixture(storyworld.TRAIN[: given.books], tokenizer)
    settings = Settings(steps=given.steps, tokens=given.tokens, dtype=given.dtype, seed=given.seed)
    print(f"{len(examples):,} examples of {len(ROLES)} roles; the log is {given.out}/log.jsonl", flush=True)
    print(train(examples, given.out, base, settings))


if __name__ == "__main__":
    main()
