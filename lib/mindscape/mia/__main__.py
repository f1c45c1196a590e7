"""Train MiA-Emb: python -m mindscape.mia --out build/mia_emb. The same call goes on after a kill.

What is to be found is told by `--lesson`: the people of a book, tellings of a sentence or two, or chunks; each can begin with
the adapter of the one before (`--start`). With `--blind` it trains SFT-Emb, which sees no summary. On several GPUs: accelerate
launch -m mindscape.mia --out ...
"""

import argparse
from dataclasses import asdict
from pathlib import Path

from transformers import AutoTokenizer

from mindscape.corpora.books import training_book
from mindscape.corpora.storyworld import Book
from mindscape.mia.emb_training import Recipe, train
from mindscape.mia.embedding import Form
from mindscape.mia.supervision import Asked, of_story, who_is_who
from mindscape.training import Settings, command


def main() -> None:
    """Read the arguments, make the questions, train, and leave beside the adapter how it was made (`run.json`)."""
    asked = command.arguments("mindscape.mia", "Train MiA-Emb, or SFT-Emb.", books=60)
    command.fielded(asked, Form)
    command.fielded(asked, Recipe, but=("form", "summaries", "shared"))
    asked.add_argument("--blind", action="store_true", help="train and use without summaries: SFT-Emb")
    asked.add_argument(
        "--lesson", choices=("people", "tellings", "chunks"), default="chunks", help="what is to be found"
    )
    asked.add_argument("--traded", type=float, default=0.0, help="how many names in questions become trades, 0 to 1")
    asked.add_argument("--even", action="store_true", help="as many questions that need no binding as that do")
    asked.add_argument(
        "--own", action="store_true", help="compare a question with its own negatives alone, as Eq. 14 does"
    )
    command.run(asked, _train)


def _train(given: argparse.Namespace, base: str, seeds: range, settings: Settings) -> tuple[Path, dict]:
    form = command.of(given, Form)
    recipe = command.of(given, Recipe, form=form, summaries=not given.blind, shared=not given.own)
    tokenizer = AutoTokenizer.from_pretrained(base)

    def lesson(book: Book) -> list[Asked]:
        if given.lesson == "people":
            return who_is_who(book)
        return of_story(book, tokenizer, even=given.even, traded=given.traded, alone=given.lesson == "tellings")

    asked = [one for seed in seeds for one in lesson(training_book(seed))]
    print(f"{len(asked):,} questions on {len(seeds)} novels; the log is {given.out}/log.jsonl", flush=True)
    adapter = train(asked, given.out, base, recipe, settings, start=given.start or None)
    told = {"questions": len(asked), "lesson": given.lesson, "even": given.even, "traded": given.traded}
    return adapter, told | {"recipe": asdict(recipe)}


if __name__ == "__main__":
    main()
