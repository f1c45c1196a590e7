"""Rankings in a folder, found again and added to, and what a reader is asked about them.

`ranks.jsonl` begins with a line on the run (`mindscape.records`); answers are kept by `mindscape.reader.evaluation`. Taught in
notebook 50_side_by_side.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mindscape import records
from mindscape.environment import forget_peak, peak_bytes
from mindscape.errors import InputError
from mindscape.methods.books import Case
from mindscape.methods.budget import shown
from mindscape.methods.search import BUDGET, FAMILIES, Ranks, by_mia, by_minilm, by_sft
from mindscape.roles.answers import QA
from mindscape.weights import adapter_hash

ASKED, ANSWERS = 4, 5  # questions of a book that are answered, and series of the storyworld that are answered on
ANSWERED = (
    *("lead", "summary", "bm25", "minilm", "sft_emb", "mia_emb", "mia_rag", "graphrag"),
    *("signature", "mindgraph", "mom", "evidence"),
)
FILE = "ranks.jsonl"
OF = "rankings of a family of methods"  # a line of the file, in messages


def kept_ranks(
    folder: str | Path, of: Iterable[Case], families: Sequence[str] = FAMILIES, **adapters: str | Path
) -> dict[str, dict[str, Ranks]]:
    """The rankings in a folder by case and family. With `sft=` or `mia=`, folders of adapters, those of these alone.

    Raises InputError for those that lack, and says what writes them; and for a file by other adapters. Taught in notebook
    50_side_by_side.

    >>> kept_ranks("data/methods", [case])[case.name]["sft"].found["sft_emb"][0][:3]         # doctest: +SKIP
    [17, 4, 60]
    """
    path = Path(folder) / FILE
    about, rows = records.read(path, _ranks, of=OF)
    for family, adapter in adapters.items():
        if about.get(family) != adapter_hash(adapter):
            raise InputError(f"{path}: its rankings of family {family!r} are not by {adapter}: expected another file")
    by_key, found = dict(rows), {}
    for case in of:
        keys = {family: _key(family, case) for family in families}
        if lacking := [key for key in keys.values() if key not in by_key]:
            raise InputError(f"{path} has no line {lacking[0]!r}: python -m mindscape.methods --out {folder} adds it")
        found[case.name] = {family: by_key[key] for family, key in keys.items()}
    return found


def add_ranks(
    folder: str | Path,
    about: Mapping[str, Any],
    of: Sequence[Case],
    load: Callable[[str], Any],
    tell: Callable[[str], None] = print,
) -> None:
    """Rank what the folder lacks, a family and case at a time, each of which is then in it; one family after another, so that
    a family's model need not be held for longer. `load` gives the model of a family.

    Raises InputError for a file that was made otherwise than `about` says. Taught in notebook 50_side_by_side.

    >>> add_ranks("build/methods", {"dtype": "float32"}, [case], load)                       # doctest: +SKIP
    """
    path = Path(folder) / FILE
    found = dict(records.opened(path, about, _ranks, of=OF))
    for family in FAMILIES:
        for case in of:
            if (key := _key(family, case)) in found:
                continue
            tell(f"{key}: {len(case.questions)} questions, {case.tokens:,} tokens")
            model = load(family)
            forget_peak()
            if family == "minilm":
                made = by_minilm(case, model)
            elif family == "sft":
                made = by_sft(case, model)
            else:
                made = by_mia(case, model, load("minilm"), found[_key("sft", case)].found["sft_emb"])
            found[key] = replace(made, peak=peak_bytes() or 0)
            records.append(path, [{"key": key, **asdict(found[key])}])


def _key(family: str, case: Case) -> str:
    """Changes with what is ranked and what for."""
    return f"{family} {case.name} {case.fingerprint}"


def _ranks(row: Mapping[str, Any]) -> tuple[str, Ranks]:
    return row["key"], Ranks(row["found"], row["seconds"], row["bytes"], row["peak"])


def answered(of: Sequence[Case], series: int = ANSWERS) -> list[Case]:
    """The first `series` of the storyworld's cases, and all plays. Taught in notebook 50_side_by_side.

    >>> [case.name for case in answered(cases(tokenizer), 1)]                                # doctest: +SKIP
    ['series-2010-1', 'rome']
    """
    first = [case.name for case in of if case.books][:series]
    return [case for case in of if not case.books or case.name in first]


def asked_of(case: Case, share: int = ASKED) -> list[int]:
    """The positions of the questions that are answered: the first `share` of each book.

    Taught in notebook 50_side_by_side.

    >>> asked_of(case, 1)                                                                    # doctest: +SKIP
    [0, 16]
    """
    of_book: dict[str, list[int]] = {}
    for i, one in enumerate(case.questions):
        of_book.setdefault(one.doc_id, []).append(i)
    return [i for some in of_book.values() for i in some[:share]]


def prompts(
    case: Case,
    method: str,
    ranks: Mapping[str, Ranks] | None = None,
    budget: int = BUDGET,
    share: int = ASKED,
) -> list[str]:
    """What the reader is asked in the role `qa` from what a method shows, for the questions of `asked_of`.

    Errors as in `budget.shown`. Taught in notebook 50_side_by_side.

    >>> case.questions[0].question in prompts(case, "lead")[0]                               # doctest: +SKIP
    True
    """
    some = asked_of(case, share)
    of_these = shown(case, method, ranks, budget)
    return [
        QA.prompt(case.memory.language, context=of_these[i].text(case), question=case.questions[i].question)
        for i in some
    ]
