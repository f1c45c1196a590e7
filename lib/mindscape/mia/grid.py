"""The grid of MiA-RAG's Table 2: questions that are asked in three ways, what their answers score, what is read for them.

A question is asked as an open question, with four options, and as a true and a false claim. Which passages are shown, and
whether a summary is, an experiment says (`mindscape.mia.generation.write`). A reply that cannot be read is wrong, and is
counted. Taught in notebook 14_mia_gen.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os.path import commonprefix

import pandas as pd

from benchmarks import Loaded, asking
from mindscape.ask import ask
from mindscape.errors import require
from mindscape.llm.base import LLM, PAPER, form_of
from mindscape.metrics import exact_match
from mindscape.mia.generation import JOIN, TASKS, answerable, summaries, task_prompts, write
from mindscape.question import Answer, Question
from mindscape.roles import ROLES
from mindscape.roles.answers import LETTER, letters
from mindscape.text import Tokenizer
from storyworld import Book, Chance
from storyworld.teaching.scoring import GoldRow, scored

MAIN = {"qa": "f1", "choice": "accuracy", "claim": "pair_accuracy"}  # the score of a task in Table 2


@dataclass(frozen=True)
class Asked(GoldRow):
    """A question as a task, which is a role, asks it: `slots` are those of its prompt but for the context, `query` is for a
    retriever, `right` are the passages that answer, by their numbers in `passages.cut`."""

    question: Question
    query: str
    right: tuple[int, ...]

    @property
    def task(self) -> str:
        return self.role


def asked(books: Iterable[Book], tokenizer: Tokenizer, share: int = 10, seed: int = 0) -> dict[str, list[Asked]]:
    """By task, the same `share` questions on each book; two claims on each, the true one first. Another `seed` draws others.

    >>> {task: len(some) for task, some in asked(books("test"), tokenizer, 2).items()}   # doctest: +SKIP
    {'qa': 20, 'choice': 20, 'claim': 40}
    """
    found: dict[str, list[Asked]] = {task: [] for task in TASKS}
    for book in books:
        chance = Chance("grid", book.document.id, *([seed] if seed else []))
        ways = (
            [(task, task_prompts(book, question, pair, task, chance, tokenizer), question, right) for task in TASKS]
            for question, pair, right in answerable(book, tokenizer, chance)
        )
        for tasks in islice((some for some in ways if all(made for _, made, *_ in some)), share):
            for task, made, question, right in tasks:
                for slots, gold in made:
                    query = slots.get("claim", question.question)
                    found[task].append(Asked(task, book, slots, gold, question, query, tuple(right)))
    return found


def scores(asked: Sequence[Asked], given: Sequence[Answer]) -> dict[str, list[float]]:
    """By name of a score, its value for each question of one task; a reply that cannot be read scores 0.

    `valid` and `valid_free` tell what could be read, `valid_free` before decoding was constrained. Open answers have `f1` and
    `em`, choices and claims `accuracy`; `pair_accuracy` of two claims stands at the second, and is NaN at the first.
    """
    found = scored(asked, given)
    if asked and asked[0].task == "qa":
        found["em"] = [_em(one, answer.value) for one, answer in zip(asked, given, strict=True)]
    return found


def _em(one: Asked, said: str | None) -> float:
    accepted = [one.gold, *one.question.accepted]
    return exact_match(said, accepted, one.book.document.language) if said is not None else 0.0


def tokens_once(rows: Iterable[Sequence[int]]) -> int:
    """How many tokens are read of some prompts if each common beginning is read once.

    >>> tokens_once([[1, 2, 3], [1, 2, 4, 5], [9]])
    6
    """
    read = 0
    before: list[int] = []
    for row in sorted(map(list, rows)):
        read += len(row) - len(commonprefix([before, row]))
        before = row
    return read


def average_ranks(scores: Mapping[str, Mapping[Hashable, float]]) -> dict[str, float]:
    """Each system's rank, 1 for the highest score, averaged over the settings (Figure 1); equal scores share their ranks.

    `scores`: by system and setting (a task at a k, say). Raises InputError where a system lacks a setting of another.

    >>> average_ranks({"mia": {"qa@3": 0.5, "claim@3": 0.3}, "vanilla": {"qa@3": 0.4, "claim@3": 0.3}})
    {'mia': 1.25, 'vanilla': 1.75}
    """
    table = pd.DataFrame(scores)
    for system, of in table.items():
        lacking = of.isna().idxmax()
        require(of.notna().all(), f"{system!r} has no score for {lacking!r}: expected one for every setting")
    return table.rank(axis=1, ascending=False).mean().to_dict()


def benchmark_answers(
    model: LLM,
    loaded: Loaded,
    shown: Sequence[Sequence[str]],
    told: Mapping[str, str] | None = None,
    template: str = "",
) -> list[str]:
    """What a generator says to a benchmark's items from passages, best first, and from the text's summary, if `told` has it.

    A letter, a verdict or a phrase; empty where the reply cannot be read, as `benchmarks.asking.scores` takes it. `template` is
    the owners' prompt, if it is there; the summary then stands before the passages in what it shows. Raises LLMError if the
    model fails.

    >>> said = benchmark_answers(model, asking.few("nocha"), [["Tilde lit the lamp."]] * 4)  # doctest: +SKIP
    """
    found, form = [""] * len(loaded.items), form_of(model)
    by_kind: dict[str, list[int]] = {}
    for i, item in enumerate(loaded.items):
        by_kind.setdefault(asking.kind(item), []).append(i)
    for kind, places in by_kind.items():
        alone = kind == "choice" and form == PAPER and loaded.benchmark.name == "infinitebench"  # Figure 16 (3)
        role, prompted = LETTER if alone else ROLES[kind], []
        for i in places:
            item, summary_of = loaded.items[i], (told or {}).get(loaded.items[i].doc_id)
            if template:
                head = summaries(form)[item.language].format(summary=summary_of) if summary_of else ""
                prompted.append(asking.fill(template, head + JOIN.join(shown[i]), item.question))
            else:
                slots = {"claim" if kind == "claim" else "question": item.question}
                slots |= {"options_str": letters(list(item.options))} if kind == "choice" else {}
                prompted.append(write(role.name, slots, shown[i], summary_of, item.language, form).text)
        for i, answer in zip(places, ask(model, role, prompted, free_first=True), strict=True):
            found[i] = "" if answer.value is None else getattr(answer.value, "answer", answer.value)
    return found
