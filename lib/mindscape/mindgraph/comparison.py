"""MindGraph and the five baselines on the same questions, by the same model, within the same budget; kept in a file.

    python -m mindscape.mindgraph.comparison answers --split test --out data/mindgraph/answers.jsonl
    python -m mindscape.mindgraph.comparison labels --split test --out data/mindgraph/labels.jsonl

A line an answer, with what it took and whether it is right; or a line a question, with the annotator's two labels. The same
call goes on after a kill. Most methods ask one thing after the other, so several questions are answered side by side, and what
they ask at a time goes to the model in one batch: replies are those of questions one by one, up to the model's rounding.

Questions of the storyworld come from all four quarters of Figure 2's plane; those of benchmarks are what
`mindscape.mindgraph.long_reason` kept. Where the paper is silent: the budget is twenty times the tokens of the text.

Taught in notebook 32_long_reason. Nothing here knows how a method answers.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from mindscape import llm as models
from mindscape import records
from mindscape.budget import Budget
from mindscape.cache import digest
from mindscape.corpora.books import SPLITS, books
from mindscape.corpora.storyworld import Book
from mindscape.corpora.storyworld.chance import Chance
from mindscape.errors import InputError, MindscapeError
from mindscape.llm import LLM, Estimate, Ledger
from mindscape.llm.together import side_by_side
from mindscape.mindgraph import answer as mindgraph
from mindscape.mindgraph import novels, rubric
from mindscape.mindgraph.answering import Method, length, posed
from mindscape.mindgraph.baselines import METHODS, rlm
from mindscape.mindgraph.baselines.estimates import estimate
from mindscape.mindgraph.build import TOKENS as EDITS
from mindscape.mindgraph.build import read_operations
from mindscape.mindgraph.long_reason import Judged, items
from mindscape.mindgraph.rubric import Label, Labelled, annotate, of_question
from mindscape.mindgraph.scoring import JUDGE_TOKENS, NO_ANSWER, Row, Scored, cascade, chosen
from mindscape.question import BUILD, Answer, Question
from mindscape.roles.judges import GRADE
from mindscape.text import Document
from mindscape.weights import adapter_hash

OF = "an answer, or a question's labels"  # a line of the file, in messages
OURS = "MindGraph"
NAMES = (*METHODS, OURS)
BROAD, DEEP = ("partial", "global"), ("set-aggregation", "global-synthesis")
CHOICE = "choice"  # the stage of an answer that is a letter
TIMES = 20  # tokens that a method may read and write, in those of the text
WIDTH = 16  # questions side by side
SMALL_BLOCK, SMALL_TURNS = 1024, 8  # of the baselines with the embedded reader
MEDIANS = 45, 4  # nodes of a graph, and passages looked up where it is small (sections 5.3 and 5.4)
NOTES, NOTED, SHOWN = 12, 160, 300  # notes of an answer; characters of one, and of a step of a trace


@dataclass(frozen=True)
class Task:
    """A question to all methods. Any string of `gold` is right; of a choice, `letter` is that of the right option."""

    id: str
    document: Document
    question: str
    gold: tuple[str, ...]
    breadth: str
    depth: str
    options: tuple[str, ...] = ()
    letter: str = ""

    @property
    def asked(self) -> str:
        """The question as a method gets it."""
        return posed(self.question, self.options, self.document.language)


@dataclass(frozen=True)
class Settings:
    """What the methods are given, and the file says: tokens allowed, in `times` those of the text; of the baselines the tokens
    of a block (None: those of `block_size`) and of a reply (None: what each method has), and the turns of RLM; of MindGraph
    the tokens of the graph in a prompt (None: what the window holds), of a block's edits and of an answer, and the rounds with
    tools. The defaults are the paper's, as far as it tells.
    """

    times: int = TIMES
    block: int | None = None
    reply: int | None = None
    turns: int = rlm.ITERATIONS
    graph_tokens: int | None = None
    edit_tokens: int = EDITS
    answer_tokens: int = mindgraph.ANSWER_TOKENS
    rounds: int = mindgraph.ROUNDS


@dataclass(frozen=True)
class Answered:
    """A line of the file: what a method answered, what it took (as `Answer` has it), how it was scored.

    `spent` has for each stage its calls and the tokens read and written. `unusable` counts replies that were of no use, see
    `unusable`; `notes` are what the method did without the model, the last ones; `trace` is there for the first question, a
    step as its stage, what was said or done, and the tokens read and written.
    """

    method: str
    task: str
    book: str
    text: str
    calls: int
    tokens_first_call: int
    tokens_total: int
    length: int
    spent: Mapping[str, Sequence[int]]
    unusable: int
    notes: Sequence[str]
    correct: bool
    stage: str
    reason: str
    nodes: int = 0
    trace: Sequence[Sequence[Any]] = ()

    @property
    def compaction(self) -> float:
        """f₁/L (section 4.2); NaN for a method that never came to its answer stage."""
        return self.tokens_first_call / self.length if self.tokens_first_call else math.nan

    @property
    def build(self) -> int:
        """Tokens of the build, read and written."""
        return sum(self.spent.get(BUILD, (0, 0, 0))[1:])


def quarter(breadth: str, depth: str) -> tuple[str, str]:
    """Where a label lies in Figure 2's plane: narrow or broad, shallow or deep; LongReason's are broad and deep.

    >>> quarter("partial", "lookup"), quarter("local", "set-aggregation")
    (('broad', 'shallow'), ('narrow', 'deep'))
    """
    return "broad" if breadth in BROAD else "narrow", "deep" if depth in DEEP else "shallow"


def of_book(book: Book, share: int = 4, first: Sequence[str] = ()) -> list[Task]:
    """Questions on a book, the quarters of the plane in turn, broad and deep first; always the same.

    Those whose ids are among `first` come before the others of their quarter.

    >>> [quarter(task.breadth, task.depth)[0] for task in of_book(book)]                    # doctest: +SKIP
    ['broad', 'broad', 'narrow', 'narrow']
    """
    chance = Chance("comparison", book.document.id)
    corners: dict[tuple[str, str], list[Task]] = {(b, d): [] for b in ("broad", "narrow") for d in ("deep", "shallow")}
    for one in sorted(chance.shuffled(book.questions), key=lambda one: one.id not in first):
        gold = (one.answer, *one.accepted)
        corners[quarter(one.breadth, one.depth)].append(
            Task(one.id, book.document, one.question, gold, one.breadth, one.depth)
        )
    in_turn = [task for some in zip_longest(*corners.values()) for task in some if task is not None]
    return in_turn[:share]


def built(book: Book) -> list[str]:
    """The ids of the questions that `mindscape.mindgraph.novels` builds a graph for: three of the quarters have one."""
    return [novels.asked(book, kind).id for kind in novels.KINDS]


def of_benchmarks(kept: Sequence[Judged], folder: str | Path | None = None) -> list[Task]:
    """The items that `long_reason.construct` kept, with their texts; free questions, and choices with their options."""
    labels = {(one.source, one.id): one for one in kept}
    found: list[Task] = []
    for source in dict.fromkeys(one.source for one in kept):
        texts: dict[str, Document] = {}
        for piece in items([one for one in kept if one.source == source], folder):
            if isinstance(piece, Document):
                texts[piece.id] = piece
                continue
            one, choice = labels[source, piece.id], piece.choice
            told = {"options": piece.options if choice else (), "letter": choice}
            document = texts[piece.doc_id]
            name = f"{source}/{piece.id}"
            found.append(Task(name, document, piece.question, piece.answers, one.breadth, one.depth, **told))
    return found


def settings_for(llm: LLM) -> Settings:
    """The paper's, but for the embedded reader: that reads small graphs, and without tools, as it was trained to, and replies
    briefly. MindGraph has the blocks that it was trained on; the baselines have larger ones, an eighth of its window, which
    take a quarter of the calls; eight turns of RLM bound what it takes.

    >>> from types import SimpleNamespace
    >>> settings_for(SimpleNamespace(name="embedded")).rounds, settings_for(SimpleNamespace(name="openai:gpt-4o")).rounds
    (0, 40)
    """
    if llm.name != "embedded":
        return Settings()
    most = novels.limits(llm)
    ours = {"graph_tokens": most.graph, "edit_tokens": most.edits, "answer_tokens": most.answer, "rounds": 0}
    return Settings(block=SMALL_BLOCK, reply=most.edits, turns=SMALL_TURNS, **ours)


def methods(settings: Settings) -> dict[str, Method]:
    """The six methods by the paper's names, as the settings have them."""
    told = {"graph_tokens": settings.graph_tokens, "edit_tokens": settings.edit_tokens, "rounds": settings.rounds}
    ours = partial(mindgraph.answer, answer_tokens=settings.answer_tokens, **told)
    in_blocks = {name: partial(METHODS[name], size=settings.block) for name in ("GraphRAG", "CoA", "GAM")}
    return {**METHODS, **in_blocks, "RLM": partial(rlm.answer, iterations=settings.turns), OURS: ours}


def estimated(
    tasks: Sequence[Task], llm: LLM, names: Sequence[str] = NAMES, settings: Settings | None = None
) -> dict[str, Estimate]:
    """About what each method takes for all tasks, before the first call: see `baselines.estimates` for what is supposed.

    The settings are by default those of `settings_for`.

    >>> print(estimated(tasks, llm.load("openai:gpt-4o"))["CoA"])                           # doctest: +SKIP
    4,600 calls (0 more are cached), 42,000,000 tokens to read, at most 4,700,000 to write, at most 152.0000 USD
    """
    counts = Counter(task.document.id for task in tasks)
    documents = {task.document.id: task.document for task in tasks}
    settings, found = settings or settings_for(llm), {}
    for name in names:
        total = Estimate(0, 0, 0, 0, 0.0)
        for key, n in counts.items():
            told = {"size": settings.block, "reply": settings.reply}
            one = _ours(documents[key], llm, settings) if name == OURS else estimate(name, documents[key], llm, **told)
            total = sum([one] * n, total)
        found[name] = total
    return found


def estimated_judge(tasks: Sequence[Task], judge: LLM, names: Sequence[str] = NAMES) -> Estimate:
    """What judging takes at most: a call for each free answer of each method, as if no rule decided on any.

    >>> print(estimated_judge(tasks, llm.load("openai:gpt-4o-mini")))                       # doctest: +SKIP
    1,200 calls (0 more are cached), 260,000 tokens to read, at most 77,000 to write, at most 0.0850 USD
    """
    total = Estimate(0, 0, 0, 0, 0.0)
    for task in (task for task in tasks if not task.letter):
        told = {"question": task.question, "gold": task.gold[0], "predicted": task.gold[0]}
        talk = [{"role": "user", "content": GRADE.prompt(task.document.language, **told)}]
        read, n = judge.count_tokens(talk), len(names)
        money = Ledger().cost(judge.name, n * read, n * JUDGE_TOKENS)
        total += Estimate(n, 0, n * read, n * JUDGE_TOKENS, money)
    return total


def _ours(document: Document, llm: LLM, settings: Settings) -> Estimate:
    """What MindGraph takes: the paper's medians, in so far as the settings have room for them."""
    nodes, rounds = MEDIANS
    if settings.graph_tokens is not None:
        nodes = max(1, min(nodes, settings.graph_tokens // max(1, llm.count_tokens(mindgraph.LINES))))
    told = {"edit_tokens": settings.edit_tokens, "answer_tokens": settings.answer_tokens}
    return mindgraph.estimate(document, llm, nodes=nodes, rounds=min(rounds, settings.rounds), **told)


def run(
    tasks: Sequence[Task],
    llm: LLM,
    path: str | Path,
    *,
    judge: LLM | None = None,
    names: Sequence[str] = NAMES,
    settings: Settings | None = None,
    adapter: str | Path | None = None,
    dtype: str = "",
    width: int = WIDTH,
    runs: str | Path | None = None,
) -> list[Answered]:
    """Answer each task by each method, but those that the file `path` has; the file is begun, or gone on with.

    `judge` grades what the rules of the cascade leave; the file keeps the hash of the model's `adapter`, a folder, and the
    `dtype` of its numbers. `width` tasks are answered side by side, and are written together. Where the folder `runs`, of
    `mindscape.mindgraph.novels`, has MindGraph's answer to a question, by the same model or adapter and within the same limits,
    it is taken from there. Raises InputError for an unknown method and a file of another model or other settings; LLMError if
    the model fails, after which the same call goes on.

    >>> run(tasks, llm.load("openai:gpt-4o"), "build/answers.jsonl", judge=llm.load("openai:gpt-4o-mini"))  # doctest: +SKIP
    """
    settings, path = settings or settings_for(llm), Path(path)
    if unknown := set(names) - set(NAMES):
        raise InputError(f"no method {sorted(unknown)[0]!r}: expected some of {', '.join(NAMES)}")
    about = {"what": "answers", "llm": llm.name, "judge": judge.name if judge else ""}
    about |= {"adapter_sha256": adapter_hash(adapter) if adapter else "", "dtype": dtype, **asdict(settings)}
    rows = records.opened(path, about, of=OF)
    found = {(row["method"], row["task"]) for row in rows}
    lengths = {task.document.id: 0 for task in tasks}
    for task in tasks:
        lengths[task.document.id] = lengths[task.document.id] or length(task.document, llm)
    made_before = _made_before(runs, tasks, llm, settings, adapter) if runs and OURS in names else {}
    for name in names:
        method = methods(settings)[name]
        new = [task for task in tasks if (name, task.id) not in found]
        for some in (new[i : i + width] for i in range(0, len(new), width)):
            asked = [task for task in some if name != OURS or task.id not in made_before]
            jobs = [
                partial(_answer, method, task, Budget(None, settings.times * lengths[task.document.id], settings.reply))
                for task in asked
            ]
            answered = dict(zip((task.id for task in asked), side_by_side(llm, jobs), strict=True))
            answers = [answered[task.id] if task in asked else made_before[task.id] for task in some]
            scores = scored(some, answers, judge)
            made = []
            for task, answer, score in zip(some, answers, scores, strict=True):
                told = {"length": lengths[task.document.id], "traced": task is tasks[0]}
                made.append(asdict(_row(name, task, answer, score, **told)))
            records.append(path, made)
            rows += made
    at = {task.id: i for i, task in enumerate(tasks)}
    wanted = [Answered(**row) for row in rows if row["task"] in at and row["method"] in names]
    return sorted(wanted, key=lambda one: (names.index(one.method), at[one.task]))


def kept(path: str | Path, adapter: str | Path | None = None) -> list[Answered]:
    """The answers in a file. Raises InputError where there are none, a line is none, or they are of another adapter.

    >>> kept("data/mindgraph/answers.jsonl")[0].method                                      # doctest: +SKIP
    'Direct'
    """
    return _rows(path, lambda row: Answered(**row), "answers", adapter)


def scored(tasks: Sequence[Task], answers: Sequence[Answer], judge: LLM | None) -> list[Scored]:
    """Whether answers are right: choices by their letter, others by the cascade (section 4.2)."""
    free = [i for i, task in enumerate(tasks) if not task.letter]
    rows = [Row(tasks[i].question, tasks[i].gold, answers[i].text, tasks[i].document.language) for i in free]
    found: dict[int, Scored] = dict(zip(free, cascade(rows, judge), strict=True))
    for i, task in enumerate(tasks):
        if task.letter:
            said = chosen(answers[i].text, task.options, task.document.language) if answers[i].text else NO_ANSWER
            found[i] = Scored(said == task.letter, CHOICE, str(said))
    return [found[i] for i in range(len(tasks))]


def unusable(name: str, answer: Answer, language: str) -> int:
    """How many replies a method could do nothing with, in the end: no JSON where it was asked for, a turn without code.

    >>> from mindscape.question import Step
    >>> unusable("CoA", Answer("", 2, 9, 99, (Step("build", "no reply that can be used: the reply has no words"),)), "en")
    1
    """
    if name == OURS:
        built = [step.what for step in answer.trace if step.asked and step.stage == BUILD]
        return sum(bool(read_operations(reply)[1]) for reply in built) + sum(getattr(answer, "malformed", {}).values())
    neither = rlm.TOLD[language]["neither"]
    done = [step.what for step in answer.trace if not step.asked]
    return sum(what == neither or what.startswith("no reply that can be used") for what in done)


def _answer(method: Method, task: Task, budget: Budget, llm: LLM) -> Answer:
    return method(task.asked, task.document, llm, budget)


def _made_before(
    folder: str | Path, tasks: Sequence[Task], llm: LLM, settings: Settings, adapter: str | Path | None
) -> dict[str, Answer]:
    """MindGraph's answers in a folder of `novels`, by task; those of another text or model or of other limits are not taken.

    The embedded model is another in another precision: there the adapter says whose they are.
    """
    found: dict[str, Answer] = {}
    limits = {"graph": settings.graph_tokens, "edits": settings.edit_tokens, "answer": settings.answer_tokens}
    for document in {task.document.id: task.document for task in tasks}.values():
        path = novels.path_of(folder, document)
        about, kept_runs = novels.kept(path) if path.exists() else ({}, [])
        same = about.get("text") == digest(document.text) and limits.items() <= about["limits"].items()
        if same and adapter:
            same = about["adapter_sha256"] == adapter_hash(adapter)
        elif same:
            same = about["llm"] == llm.fingerprint
        if same and not settings.rounds:
            found |= {run.question: run.answered for run in kept_runs if run.graph == "built"}
    return found


# -- labels ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labels:
    """What an annotator says of a question of the storyworld, and whether it saw where the answer stands."""

    question: str
    evidence: bool
    labelled: Labelled


def label(
    of: Iterable[Book],
    llm: LLM,
    path: str | Path,
    *,
    share: int = 12,
    adapter: str | Path | None = None,
    dtype: str = "",
) -> list[Labels]:
    """Label `share` questions of each book twice, with their evidence and without it; those that the file has are not asked.

    The questions are `of_book`'s first ones. Errors as in `run`.
    """
    path, of = Path(path), list(of)
    about = {
        "what": "labels",
        "llm": llm.name,
        "adapter_sha256": adapter_hash(adapter) if adapter else "",
        "dtype": dtype,
    }
    rows = records.opened(path, about, of=OF)
    known = {(row["question"], row["evidence"]) for row in rows}
    for book in of:
        for evidence in (True, False):
            new = [one for one in _labelled(book, share) if (one.id, evidence) not in known]
            found = annotate([of_question(book.document, one, evidence) for one in new], llm)
            passes = [[it and (it.breadth, it.depth) for it in one.passes] for one in found]
            made = [
                {"question": one.id, "evidence": evidence, "passes": said}
                for one, said in zip(new, passes, strict=True)
            ]
            records.append(path, made)
            rows += made
    return [_labels(row) for row in rows]


def estimated_labels(of: Iterable[Book], llm: LLM, share: int = 12) -> Estimate:
    """What `label` takes at most, before the first call.

    >>> print(estimated_labels(books("test"), llm.load("openai:gpt-4o")))                   # doctest: +SKIP
    480 calls (0 more are cached), 250,000 tokens to read, at most 96,000 to write, at most 1.6000 USD
    """
    asked = [
        of_question(book.document, one, evidence)
        for book in of
        for one in _labelled(book, share)
        for evidence in (True, False)
    ]
    return rubric.estimate(asked, llm)


def _labelled(book: Book, share: int) -> list[Question]:
    by_id = {one.id: one for one in book.questions}
    return [by_id[task.id] for task in of_book(book, share)]


def kept_labels(path: str | Path, adapter: str | Path | None = None) -> list[Labels]:
    """The labels in a file. Errors as in `kept`."""
    return _rows(path, _labels, "labels", adapter)


def _labels(row: Mapping[str, Any]) -> Labels:
    passes = [said and Label(reason="", breadth=said[0], depth=said[1]) for said in row["passes"]]
    return Labels(row["question"], row["evidence"], Labelled(tuple(passes)))


# -- the file ----------------------------------------------------------------------------------------------------------


def _row(name: str, task: Task, answer: Answer, score: Scored, length: int, traced: bool) -> Answered:
    spent: dict[str, list[int]] = {}
    for step in answer.trace:
        if step.asked:
            of = spent.setdefault(step.stage, [0, 0, 0])
            for i, n in enumerate((1, step.read, step.written)):
                of[i] += n
    done = [step.what[:NOTED] for step in answer.trace if not step.asked][-NOTES:]
    steps = [[step.stage, step.what[:SHOWN], step.read, step.written] for step in answer.trace if traced]
    return Answered(
        method=name,
        task=task.id,
        book=task.document.id,
        text=answer.text,
        calls=answer.calls,
        tokens_first_call=answer.tokens_first_call,
        tokens_total=answer.tokens_total,
        length=length,
        spent=spent,
        unusable=unusable(name, answer, task.document.language),
        notes=done,
        correct=score.correct,
        stage=score.stage,
        reason=score.reason,
        nodes=getattr(answer, "nodes", 0),
        trace=steps,
    )


def _rows(path: str | Path, make: Callable[..., Any], what: str, adapter: str | Path | None) -> list[Any]:
    first, _ = records.read(path)
    if first.get("what") != what:
        raise InputError(f"{path} holds {first.get('what')!r:.40}: expected {what}")
    if adapter is not None and first.get("adapter_sha256") != adapter_hash(adapter):
        raise InputError(
            f"{path} is of another adapter than {adapter}: make it anew with mindscape.mindgraph.comparison"
        )
    return records.read(path, make, of=OF)[1]


# -- the command -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Ask for what the file lacks, and print what came of it. Goes on after a kill."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mindgraph.comparison", description=main.__doc__)
    told.add_argument("what", choices=["answers", "labels"])
    told.add_argument("--out", required=True, help="the file, begun or gone on with")
    told.add_argument("--split", default="develop", choices=list(SPLITS))
    told.add_argument("--books", type=int, default=10, help="the first so many of the split")
    told.add_argument("--share", type=int, default=0, help="questions a book; 4 to answer and 12 to label by default")
    told.add_argument("--llm", default="embedded", help="the model, as mindscape.llm.load has it")
    told.add_argument("--judge", default="", help="who grades what rules leave; the model itself by default")
    told.add_argument("--adapter", default="", help="folder of the embedded model's; the reader's by default")
    told.add_argument("--dtype", default="auto", help="precision of a model of this machine")
    told.add_argument("--batch", type=int, default=16, help="rows that a model of this machine reads at once")
    told.add_argument("--batch-tokens", type=int, default=16_384, help="and tokens of them that it keeps at a time")
    told.add_argument("--methods", default=",".join(NAMES), help="with commas")
    told.add_argument("--times", type=int, default=TIMES, help="tokens of a method, in those of the text")
    told.add_argument("--turns", type=int, help="of RLM; as `settings_for` the model has it by default")
    told.add_argument(
        "--runs", default="", help="folder of mindscape.mindgraph.novels, for answers that are there already"
    )
    told.add_argument("--width", type=int, default=WIDTH, help="questions side by side")
    try:
        _command(told.parse_args())
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _command(given: argparse.Namespace) -> None:
    for name in ("books", "times", "turns", "width", "batch"):
        if getattr(given, name) is not None and getattr(given, name) < 1:
            raise InputError(f"--{name} {getattr(given, name)}: expected at least 1")
    of_split = books(given.split)[: given.books]
    options: dict[str, Any] = {"adapter": given.adapter} if given.adapter else {}
    if given.llm == "embedded":
        options = {"adapter": str(models.READER), **options}
    local = {"dtype": given.dtype, "batch_size": given.batch, "batch_tokens": given.batch_tokens}
    local = {} if given.llm.startswith(("openai:", "replay:")) else local
    model, adapter = models.load(given.llm, **options, **local), options.get("adapter")
    dtype = str(model.backend.model.dtype).removeprefix("torch.") if local else ""
    if given.what == "labels":
        share = given.share or 12
        print(f"at most {estimated_labels(of_split, model, share)}", flush=True)
        found = label(of_split, model, given.out, share=share, adapter=adapter, dtype=dtype)
        steady = sum(one.labelled.stable for one in found)
        print(f"{len(found)} labels, {steady} of them stable")
        return
    judge = models.load(given.judge) if given.judge else model
    tasks = [task for book in of_split for task in of_book(book, given.share or 4, built(book))]
    names = given.methods.split(",")
    settings = settings_for(model)
    settings = replace(settings, times=given.times, turns=given.turns or settings.turns)
    for name, one in estimated(tasks, model, [name for name in names if name in NAMES], settings).items():
        print(f"{name}: {one}", flush=True)
    print(f"judge: {estimated_judge(tasks, judge, names)}", flush=True)
    for name in names:
        told = {"judge": judge, "names": [name], "settings": settings, "width": given.width, "runs": given.runs or None}
        found = run(tasks, model, given.out, adapter=adapter, dtype=dtype, **told)
        right, tokens = sum(one.correct for one in found), sum(one.tokens_total for one in found)
        print(f"{name}: {right} of {len(found)} right, {tokens:,} tokens", flush=True)


if __name__ == "__main__":
    main()
