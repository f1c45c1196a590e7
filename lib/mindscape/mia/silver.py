"""Silver evidence: which chunks, or which entities, bear on a question whose answer is known (MiA-RAG, Algorithm 1).

A question has an answer and no evidence. So a frozen retriever is asked three times, with the question, with both, with the
answer (line 6); the lists vote (line 11); a language model that sees question and answer picks from the winners (line 12).
What it left is what the retriever of MiA-RAG is taught to tell apart from the rest (appendix B.2).

Where the paper is silent: a unit has a vote from each list that holds it, equal votes are ordered by the best rank in any
list, then by the sum of the ranks, then by index. A reply that cannot be read chooses nothing, and a number that was not shown
is dropped; both are said.

Taught in notebook 11_silver_evidence.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mindscape import store
from mindscape.ask import ask
from mindscape.errors import InputError
from mindscape.llm import LanguageModel
from mindscape.llm.base import form_of
from mindscape.roles import ROLES, Role
from mindscape.roles.reading import numbered
from mindscape.search import DEPTH, Retriever, search

Task = Literal["chunk", "node"]
HARD, SIMPLE = 5, 5  # negatives of each sort, at most (appendix B.2)
SLOT = {"chunk": "chunks", "node": "entities"}


@dataclass(frozen=True)
class Silver:
    """What Algorithm 1 found for a question; all numbers are indices of units, best first.

    `lists` are the retrieved units for each augmentation, `candidates` those that won the vote, `silver` those that the
    model kept, `hard` and `simple` the negatives. `invalid` says what of a reply could not be used, or is empty.
    """

    question: str
    lists: Mapping[str, tuple[int, ...]]
    candidates: tuple[int, ...]
    silver: tuple[int, ...]
    hard: tuple[int, ...]
    simple: tuple[int, ...]
    invalid: str = ""


def augmented(question: str, answer: str) -> dict[str, str]:
    """The three queries of line 6, by name.

    >>> augmented("Who has the lamp?", "Ann")
    {'q': 'Who has the lamp?', 'q+a': 'Who has the lamp? Ann', 'a': 'Ann'}
    """
    return {"q": question, "q+a": f"{question} {answer}", "a": answer}


def vote(lists: Sequence[Sequence[int]], k: int) -> list[int]:
    """The k units with most votes (line 11): a vote from each list that holds them, ties by rank as the module says.

    >>> vote([[4, 1, 2], [1, 7, 4], [9, 1, 3]], 3)
    [1, 4, 9]
    """
    ranks: dict[int, list[int]] = {}
    for units in lists:
        for rank, unit in enumerate(units):
            ranks.setdefault(int(unit), []).append(rank)
    return sorted(ranks, key=lambda unit: (-len(ranks[unit]), min(ranks[unit]), sum(ranks[unit]), unit))[:k]


def negatives(
    candidates: Sequence[int], silver: Sequence[int], units: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Hard negatives, the first candidates that were not kept, and simple ones, drawn from all that is neither.

    >>> negatives([3, 1, 4], [1], 6, np.random.default_rng(0))
    ([3, 4], [5, 0, 2])
    """
    hard = [unit for unit in candidates if unit not in silver][:HARD]
    rest = np.setdiff1d(np.arange(units), [*silver, *hard])
    return hard, rng.permutation(rest)[:SIMPLE].tolist()


def annotate(
    llm: LanguageModel,
    retriever: Retriever,
    units: Sequence[str],
    questions: Sequence[tuple[str, str, str]],
    *,
    k: int = 5,
    task: Task = "chunk",
    language: str = "en",
    seed: int = 0,
) -> list[Silver]:
    """Algorithm 1 for each (id, question, answer). Rankings are in the store, and so are the model's choices (kind "choice").

    `units` are the texts of chunks, or "name: description" of entities. Raises InputError for questions with equal ids,
    LLMError if the model fails: what was annotated before is in the store.

    >>> annotate(llm.load("embedded"), PlainEmbedder(encoder, 1.0), passages, asked)       # doctest: +SKIP
    """
    if len({name for name, *_ in questions}) < len(questions):
        raise InputError("two questions have the same id: expected each once")
    queries = [augmented(question, answer) for _, question, answer in questions]
    rows = iter(search(retriever, units, [text for some in queries for text in some.values()], max(k, DEPTH)))
    lists = [{name: next(rows).first(k) for name in some} for some in queries]
    won = [vote(list(some.values()), k) for some in lists]
    role, prompts = ROLES[f"silver_{task}s"], []
    for (_, question, answer), candidates in zip(questions, won, strict=True):
        shown = numbered([" ".join(units[i].split()) for i in candidates])
        prompts.append(role.prompt(language, form_of(llm), question=question, answer=answer, **{SLOT[task]: shown}))
    found = []
    choices = _choices(llm, role, prompts, list(map(len, won)))
    for (name, *_), some, candidates, choice in zip(questions, lists, won, choices, strict=True):
        silver = [candidates[i] for i in choice["chosen"]]
        rng = np.random.default_rng([seed, int.from_bytes(name.encode()[-8:], "big")])
        hard, simple = negatives(candidates, silver, len(units), rng)
        parts = tuple(candidates), tuple(silver), tuple(hard), tuple(simple)
        found.append(Silver(name, some, *parts, choice["invalid"]))
    return found


def _choices(llm: LanguageModel, role: Role, prompts: Sequence[str], shown: Sequence[int]) -> list[dict[str, Any]]:
    def compute(places: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        answers = ask(llm, role, [prompts[i] for i in places])
        for position, (place, answer) in enumerate(zip(places, answers, strict=True)):
            numbers, invalid = chosen(answer.text, shown[place])
            yield position, {"chosen": numbers, "invalid": invalid}

    asked = [{"role": role.name, "prompt": prompt, "shown": n} for prompt, n in zip(prompts, shown, strict=True)]
    return store.current().fetch("choice", llm.maker, asked, compute, {"role": role.name}, seconds=2)


def chosen(reply: str, shown: int) -> tuple[list[int], str]:
    """The indices in a reply, each once and in order, and why it cannot be used, if so. Numbers not shown are dropped.

    >>> chosen("[2, 0, 2]", 3), chosen("[-1]", 3), chosen("[7]", 3)[0], chosen("the first", 3)[0]
    (([0, 2], ''), ([], ''), [], [])
    """
    try:
        numbers, _ = ROLES["silver_chunks"].parse(reply)
    except ValueError as error:
        return [], str(error)
    wrong = sorted({i for i in numbers if i >= shown})
    return sorted({i for i in numbers if 0 <= i < shown}), f"there is no {wrong[0]}" if wrong else ""
