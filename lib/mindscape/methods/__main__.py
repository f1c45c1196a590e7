"""Rank and answer by all methods: python -m mindscape.methods --out data/methods. The same call goes on after a kill.

Vectors are computed anew and not taken out of the cache, so that the seconds in the file say what they take. Taught in
notebook 50_side_by_side.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from mindscape import assets, encoders, llm, methods, paths
from mindscape.errors import InputError, MindscapeError
from mindscape.methods.books import Case
from mindscape.methods.search import DEPTH, METHODS, STATEMENTS
from mindscape.mia import embedding
from mindscape.reader.evaluation import Kept, replies
from mindscape.signature.series import SEEDS
from mindscape.weights import adapter_hash

PARTS = ("ranks", "answers")
ASKING = 120  # tokens of a prompt beside what is shown, about


def main() -> None:
    """Rank and answer what the folder lacks. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.methods", description=main.__doc__)
    told.add_argument("--out", required=True, help="the folder of rankings and answers; those there are kept")
    told.add_argument("--split", default="test", choices=list(SEEDS))
    told.add_argument("--series", type=int, default=methods.SERIES, help="series of the storyworld, two novels each")
    told.add_argument("--plays", default="rome", help="series of plays or plays, with commas; empty for none")
    told.add_argument("--share", type=int, default=methods.SHARE, help="questions of a book that are searched for")
    told.add_argument("--only", default=",".join(PARTS), help="parts to make, with commas")
    told.add_argument("--sft", default=str(paths.data("adapters", "sft_emb")), help="adapter of SFT-Emb")
    told.add_argument("--mia", default=str(paths.data("adapters", "mia_emb")), help="adapter of MiA-Emb")
    told.add_argument("--answered", type=int, default=methods.ANSWERS, help="of the series, so many are answered on")
    told.add_argument("--asked", type=int, default=methods.ASKED, help="of a book's questions, so many are answered")
    told.add_argument("--methods", default=",".join(methods.ANSWERED), help="those that are answered from, with commas")
    told.add_argument("--budget", type=int, default=methods.BUDGET, help="tokens that a method may show the reader")
    told.add_argument("--llm", default="embedded", help="who answers")
    told.add_argument("--dtype", default="float32", help="precision of models on this machine")
    told.add_argument("--batch", type=int, default=8, help="rows that the reader reads at once")
    told.add_argument("--estimate", action="store_true", help="tell how many tokens are read, and do nothing")
    try:
        _run(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _run(given: argparse.Namespace) -> None:
    parts, names = given.only.split(","), given.methods.split(",")
    for option, some, known in (("only", parts, PARTS), ("methods", names, METHODS)):
        if unknown := [one for one in some if one not in known]:
            raise InputError(f"--{option} {unknown[0]}: expected some of {', '.join(known)}")
    for option, least in {"answered": 0, "asked": 1, "budget": 1, "batch": 1}.items():
        if getattr(given, option) < least:
            raise InputError(f"--{option} {getattr(given, option)}: expected at least {least}")
    tokenizer = AutoTokenizer.from_pretrained(assets.language_model())
    of = methods.cases(tokenizer, given.series, given.plays.split(","), given.share, given.split)
    to_answer = methods.answered(of, given.answered)
    if given.estimate:
        read = sum(map(methods.to_embed, of))
        asked = sum(
            len(methods.asked_of(case, given.asked)) * len(methods.methods_of(case, names)) for case in to_answer
        )
        print(f"ranks: about {read:,} tokens to embed (MiniLM not counted)")
        print(f"answers: {asked:,} prompts, at most about {asked * (given.budget + ASKING):,} tokens to read")
        return
    if "ranks" in parts:
        about = {"split": given.split, "dtype": given.dtype, "depth": DEPTH, "statements": STATEMENTS}
        about |= {"sft": adapter_hash(given.sft), "mia": adapter_hash(given.mia)}
        methods.add_ranks(given.out, about, of, _loader(given), _clock())
    if "answers" in parts:
        _answer(given, to_answer, names)


def _loader(given: argparse.Namespace) -> Callable[[str], Any]:
    """The model of a family; of the two adapters only the one asked for last is held."""
    held: dict[str, Any] = {}

    def load(family: str) -> Any:
        if family == "minilm" and family not in held:
            held[family] = encoders.load("minilm", cache=False)
        elif family not in held:
            held.pop("sft", None)
            held[family] = embedding.load(adapter=getattr(given, family), dtype=given.dtype, cache=False)
        return held[family]

    return load


def _answer(given: argparse.Namespace, of: Sequence[Case], names: Sequence[str]) -> None:
    families = sorted({METHODS[name].family for name in names} - {""})
    ranks = methods.kept_ranks(given.out, of, families, sft=given.sft, mia=given.mia) if families else {}
    local = not given.llm.startswith(("openai:", "replay:"))
    options = {"dtype": given.dtype, "batch_size": given.batch, "batch_tokens": 2048 * given.batch} if local else {}
    model, tell = llm.load(given.llm, **options), _clock()
    adapter = llm.READER if given.llm == "embedded" else None
    dtype = str(model.backend.model.dtype).removeprefix("torch.") if local else "unknown"
    kept = Kept.of(Path(given.out) / "answers.jsonl", given.llm, adapter, dtype)
    for case in of:
        for name in methods.methods_of(case, names):
            some = methods.prompts(case, name, ranks.get(case.name), given.budget, given.asked)
            tell(f"{name} {case.name}: {len(kept.lacks('qa', some))} of {len(some)} to ask")
            replies(model, kept, "qa", some, batch=given.batch)


def _clock() -> Callable[[str], None]:
    """Prints lines with the seconds since now."""
    begun = time.perf_counter()
    return lambda text: print(f"{time.perf_counter() - begun:6.0f} s  {text}", flush=True)


if __name__ == "__main__":
    main()
