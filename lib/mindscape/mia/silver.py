"""Silver evidence: which chunks, or which entities, bear on a question whose answer is known (MiA-RAG, Algorithm 1).

A question has an answer and no evidence. So a frozen retriever is asked three times, with the question, with both, with the
answer (line 6); the lists vote (line 11); a language model that sees question and answer picks from the winners (line 12).
What it left is what the retriever of MiA-RAG is taught to tell apart from the rest (appendix B.2).

Where the paper is silent: a unit has a vote from each list that holds it, equal votes are ordered by the best rank in any
list, then by the sum of the ranks, then by index. A reply that cannot be read chooses nothing, and a number that was not shown
is dropped; both are said.

Nothing here embeds texts or asks a model by itself: both are handed in, as `mindscape.mia.annotation` does for novels of the
storyworld. Taught in notebook 11_silver_evidence.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mindscape import records
from mindscape.cache import digest
from mindscape.errors import InputError
from mindscape.llm import LLM
from mindscape.roles import ROLES
from mindscape.roles.silver import numbered

Task = Literal["chunk", "node"]
OF = "a question's annotation"  # a line of the file, in messages
HARD, SIMPLE = 5, 5  # negatives of each sort, at most (appendix B.2)
SLOT = {"chunk": "chunks", "node": "entities"}
LONGEST = 40  # tokens of a reply
Search = Callable[[Sequence[str], int], np.ndarray]  # texts and k to indices, (texts, k), best first


@dataclass(frozen=True)
class Silver:
    """What Algorithm 1 found for a question; all numbers are indices of units, best first.

    `lists` are the retrieved units for each augmentation, `candidates` those that won the vote, `silver` those that the
    model kept, `hard` and `simple` the negatives. `invalid` says what of a reply could not be used, or is empty; `asked` is a
    hash of question and answer.
    """

    question: str
    lists: Mapping[str, tuple[int, ...]]
    candidates: tuple[int, ...]
    silver: tuple[int, ...]
    hard: tuple[int, ...]
    simple: tuple[int, ...]
    invalid: str = ""
    asked: str = ""


def augmented(question: str, answer: str) -> dict[str, str]:
    """The three queries of line 6, by name.

    >>> augmented("Who has the lamp?", "Ann")
    {'q': 'Who has the lamp?', 'q+a': 'Who has the lamp? Ann', 'a': 'Ann'}
    """
    if not question.strip() or not answer.strip():
        raise InputError(f"question={question!r}, answer={answer!r}: expected text in both")
    return {"q": question, "q+a": f"{question} {answer}", "a": answer}


def vote(lists: Sequence[Sequence[int]], k: int) -> list[int]:
    """The k units with most votes (line 11): a vote from each list that holds them, ties by rank as the module says.

    >>> vote([[4, 1, 2], [1, 7, 4], [9, 1, 3]], 3)
    [1, 4, 9]
    """
    if k < 1:
        raise InputError(f"k={k}: expected at least 1")
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
    llm: LLM,
    search: Search,
    units: Sequence[str],
    questions: Sequence[tuple[str, str, str]],
    path: str | Path,
    *,
    retriever: str = "",
    model: str = "",
    k: int = 5,
    task: Task = "chunk",
    language: str = "en",
    seed: int = 0,
) -> list[Silver]:
    """Algorithm 1 for each (id, question, answer): a JSON line each in the file `path`, which a later call goes on with.

    `units` are the texts of chunks, or "name: description" of entities; `retriever` is a name for what `search` does,
    `model` one for the model; without, the file names its fingerprint, which changes with the precision. Raises
    InputError for a file of another run (model, retriever, units, language, k, seed), for a question that the file has in
    other words and for questions with equal ids; LLMError if the model fails: what was annotated before is in the file.

    >>> annotate(llm.load("embedded"), search, passages, asked, "build/silver.jsonl")    # doctest: +SKIP
    """
    if len({name for name, *_ in questions}) < len(questions):
        raise InputError("two questions have the same id: expected each once")
    path = Path(path)
    about = {"llm": model or llm.fingerprint, "retriever": retriever, "task": task, "units": digest(list(units))}
    about |= {"language": language, "k": k, "seed": seed}
    done = {one.question: one for one in records.opened(path, about, _silver, of=OF)}
    for name, question, answer in questions:
        if name in done and done[name].asked != digest(question, answer):
            raise InputError(f"{path} has question {name!r} in other words: expected {question!r}; name another file")
    new = [asked for asked in questions if asked[0] not in done]
    for one in _annotated(llm, search, units, new, k, task, language, seed):
        records.append(path, [asdict(one)])
        done[one.question] = one
    return [done[name] for name, *_ in questions]


def _annotated(llm, search, units, questions, k, task, language, seed) -> Iterator[Silver]:
    """In batches, so that a local model reads several prompts at once."""
    role = ROLES[f"silver_{task}s"]
    for start in range(0, len(questions), 8):
        batch = questions[start : start + 8]
        queries = [augmented(question, answer) for _, question, answer in batch]
        found = iter(search([text for some in queries for text in some.values()], k))
        lists = [{name: tuple(int(i) for i in next(found)) for name in some} for some in queries]
        won = [vote(list(some.values()), k) for some in lists]
        prompts = []
        for (_, question, answer), candidates in zip(batch, won, strict=True):
            shown = numbered([" ".join(units[i].split()) for i in candidates])
            prompts.append(role.prompt(language, question=question, answer=answer, **{SLOT[task]: shown}))
        talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
        replies = llm.chat(talks, schema=role.form, max_new_tokens=LONGEST)
        for (name, *asked), some, candidates, reply in zip(batch, lists, won, replies, strict=True):
            picked, invalid = chosen(reply.text, len(candidates))
            silver = [candidates[i] for i in picked]
            rng = np.random.default_rng([seed, int.from_bytes(name.encode()[-8:], "big")])
            hard, simple = negatives(candidates, silver, len(units), rng)
            yield Silver(
                name, some, tuple(candidates), tuple(silver), tuple(hard), tuple(simple), invalid, digest(*asked)
            )


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


def kept(path: str | Path) -> tuple[dict[str, object], list[Silver]]:
    """What a file says of its run, and the annotations in it. Raises InputError for what is no such file.

    >>> about, found = kept("build/silver.jsonl")                                        # doctest: +SKIP
    """
    return records.read(path, _silver, of=OF)


def _silver(row: dict[str, Any]) -> Silver:
    return Silver(**{key: _tuples(value) for key, value in row.items()})


def _tuples(value):
    """JSON's lists as the tuples that they were."""
    if isinstance(value, dict):
        return {name: _tuples(some) for name, some in value.items()}
    return tuple(value) if isinstance(value, list) else value
