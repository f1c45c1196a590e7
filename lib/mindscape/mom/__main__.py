"""Train MemReader: python -m mindscape.mom --out build/memreader. The same call goes on after a kill.

With `--without-path` it learns the memory alone. Both have the budget that the settings say: steps of so many tokens. On
several GPUs: accelerate launch -m mindscape.mom --out ... Taught in notebook 41_memreader.
"""

import argparse
from pathlib import Path

from transformers import AutoTokenizer

from mindscape.mom.chunkers import length
from mindscape.mom.memreader import examples
from mindscape.training import Settings, command, train


def main() -> None:
    """Read the arguments, make the examples, train, and leave beside the adapter how it was made (`run.json`)."""
    asked = command.arguments("mindscape.mom", "Train MemReader.", books=60)
    asked.add_argument("--without-path", action="store_true", help="learn the memory alone, without a path of thought")
    asked.add_argument("--share", type=int, default=14, help="examples from each book, at most")
    asked.add_argument(
        "--chinese", type=int, default=0, help="so many of the books, the last ones, are told in Chinese"
    )
    command.run(asked, _train)


def _train(given: argparse.Namespace, base: str, seeds: range, settings: Settings) -> tuple[Path, dict]:
    tokenizer = AutoTokenizer.from_pretrained(base)
    made = examples(seeds, tokenizer, not given.without_path, given.share, given.chinese)
    learned = sum(length(one.reply, tokenizer) for one in made)
    print(f"{len(made):,} examples, replies of {learned:,} tokens; the log is {given.out}/log.jsonl", flush=True)
    adapter = train(made, given.out, base, settings, given.start or None)
    about = {"with_path": not given.without_path, "share": given.share, "chinese": given.chinese}
    return adapter, {"examples": len(made), "reply_tokens": learned} | about


if __name__ == "__main__":
    main()
