"""MindGraph and the five baselines on the same questions, by the same model, within the same budget.

What a method answered, and what that took, is in the store (`mindscape.store`, kind "answer"), and so are an annotator's labels
(kind "label"). Most methods ask one thing after the other, so several questions are answered side by side, and what they ask at
a time goes to the model in one batch: replies are those of questions one by one, up to the model's rounding.

Questions of the storyworld come from all four quarters of Figure 2's plane; those of benchmarks are what
`mindscape.mindgraph.long_reason` kept. Where the paper is silent: the budget is twenty times the tokens of the text.

What a method will take is estimated before its first call. How often it asks hangs on what the model replies, so something
has to be supposed: replies as long as they may be, none that has to be asked for again; for GraphRAG two parts of the graph a
block; for GAM all rounds, each with all its pages; for RLM ten turns that write 300 tokens and are shown 500, and queries that
read the whole text once, block by block; for MindGraph the paper's medians.

Taught in notebook 32_long_reason. Nothing here knows how a method answers.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from mindscape import store
from mindscape.ask import Budget, Meter
from mindscape.cache import digest
from mindscape.errors import require
from mindscape.llm import LLM, Estimate, LanguageModel, Ledger
from mindscape.llm.base import form_of, side_by_side
from mindscape.mindgraph import answer as mindgraph
from mindscape.mindgraph import baselines, long_reason, scoring
from mindscape.mindgraph.answer import BRIEF, PAPER_BLOCK, Method, block_size, cut, length, reply_tokens, with_options
from mindscape.mindgraph.baselines import METHODS
from mindscape.mindgraph.build import TOKENS as EDIT_TOKENS
from mindscape.mindgraph.build import read_operations
from mindscape.mindgraph.communities import COMMUNITY_REPORT, TOKENS
from mindscape.mindgraph.long_reason import Judged, Label, Labelled, Unlabelled
from mindscape.mindgraph.scoring import JUDGE_TOKENS, NO_ANSWER, Row, Scored, cascade, chosen
from mindscape.prompts import sent
from mindscape.question import BUILD, Answer
from mindscape.roles import BUILDER, EDITS, GRADE, LETTERS, QA
from mindscape.text import Document
from storyworld import Book
from storyworld.teaching.baselines import BLOCK
from storyworld.world import Chance

OURS = "MindGraph"
NAMES = (*METHODS, OURS)
CHOICE = "choice"  # the stage of an answer that is a letter
TIMES = 20  # tokens that a method may read and write, in those of the text
WIDTH = 16  # questions side by side
TAUGHT_REPLY, TAUGHT_TURNS = 640, 8  # an index of a block that the adapter was taught with has up to 600 tokens
NO_COST = Estimate(0, 0, 0, 0, 0.0)
SECONDS = 300.0  # that an answer of the embedded reader takes, about
ROLES = {role.name: role for role in (EDITS, BUILDER)}
NOTES, NOTED, SHOWN = 12, 160, 300  # notes of an answer; characters of one, and of a step of a trace
PROMPTS = {  # the files that a method asks in: another word is another question to the store
    "Direct": "roles/qa mindgraph/again",
    "GraphRAG": "mindgraph/graphrag_extract mindgraph/graphrag_glean mindgraph/graphrag_map mindgraph/community_report "
    "roles/qa mindgraph/again",
    "CoA": "mindgraph/coa_worker roles/qa mindgraph/again",
    "GAM": "mindgraph/gam_memorise mindgraph/gam_plan mindgraph/gam_integrate mindgraph/gam_reflect roles/qa mindgraph/again",
    "RLM": "mindgraph/rlm_task mindgraph/rlm roles/qa mindgraph/again",
    OURS: "roles/edits roles/graph_answer mindgraph/answer mindgraph/community_report",
}


@dataclass(frozen=True)
class Task:
    """A question to all methods. Any string of `gold` is right; of a choice, `letter` is that of the right option. Options are
    `shown` with the question, or else known to no prompt: the last reply is held to one of them."""

    id: str
    document: Document
    question: str
    gold: tuple[str, ...]
    breadth: str
    depth: str
    options: tuple[str, ...] = ()
    letter: str = ""
    shown: bool = True

    @property
    def query(self) -> str:
        """The question as a method gets it."""
        return with_options(self.question, self.options if self.shown else (), self.document.language)

    @property
    def held(self) -> dict[str, Sequence[str]]:
        """What a method is given beside the question: the options that its reply is held to, if any."""
        return {} if self.shown else {"options": self.options}


@dataclass(frozen=True)
class MethodSettings:
    """What the methods are given: tokens allowed, in `times` those of the text; of the baselines the tokens
    of a block (None: those of `block_size`) and of a reply (None: what each method has), and the turns of RLM; of MindGraph
    the tokens of the graph in a prompt (None: what the window holds), of a block's edits and of an answer, the rounds with
    tools, and the role of its builder, "edits" or "builder". The defaults are the paper's, as far as it tells.
    """

    times: int = TIMES
    block: int | None = None
    reply: int | None = None
    turns: int = baselines.ITERATIONS
    graph_tokens: int | None = None
    edit_tokens: int = EDIT_TOKENS
    answer_tokens: int = mindgraph.ANSWER_TOKENS
    rounds: int = mindgraph.ROUNDS
    role: str = EDITS.name

    @property
    def ours(self) -> mindgraph.Limits:
        """MindGraph's bounds, as it is given them."""
        return mindgraph.Limits(self.graph_tokens, self.edit_tokens, self.answer_tokens, self.rounds)


@dataclass(frozen=True)
class Answered:
    """What a method answered, and what it took (as `Answer` has it), without all that the model said on the way.

    `length` are the tokens of the text. `spent` has for each stage its calls and the tokens read and written. `unusable`
    counts replies that were of no use, see `unusable`; `notes` are what the method did without the model, the last ones;
    `trace` has the first two steps and the last two: number, of how many, stage, what was said or done, tokens read and
    written. (Of what was answered before there was a store the trace is known for one question alone.)
    """

    text: str
    calls: int
    tokens_first_call: int
    tokens_total: int
    length: int
    spent: Mapping[str, Sequence[int]]
    unusable: int
    notes: Sequence[str]
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
    return "broad" if breadth in long_reason.BROAD else "narrow", "deep" if depth in long_reason.DEEP else "shallow"


def of_book(book: Book, share: int = 4, first: Sequence[str] = (), seed: int = 0) -> list[Task]:
    """Questions on a book, the quarters of the plane in turn, broad and deep first; the same for a seed.

    Those whose ids are among `first` come before the others of their quarter.

    >>> [quarter(task.breadth, task.depth)[0] for task in of_book(book)]                    # doctest: +SKIP
    ['broad', 'broad', 'narrow', 'narrow']
    """
    chance = Chance("comparison", book.document.id, *([seed] if seed else []))
    corners: dict[tuple[str, str], list[Task]] = {(b, d): [] for b in ("broad", "narrow") for d in ("deep", "shallow")}
    for question in sorted(chance.shuffled(book.questions), key=lambda question: question.id not in first):
        right = (question.answer, *question.accepted)
        task = Task(question.id, book.document, question.question, right, question.breadth, question.depth)
        corners[quarter(question.breadth, question.depth)].append(task)
    return [task for column in zip_longest(*corners.values()) for task in column if task is not None][:share]


def as_choice(task: Task, book: Book) -> Task:
    """One of `of_book`'s questions as a choice among its four options, which no prompt shows: for a model held to them.

    >>> as_choice(of_book(book)[0], book).letter                                            # doctest: +SKIP
    'C'
    """
    [question] = [question for question in book.questions if question.id == task.id]
    return replace(task, options=question.options, letter=LETTERS[question.options.index(question.answer)], shown=False)


def built(book: Book) -> list[str]:
    """The ids of the questions that notebook 30 builds a graph for: three of the quarters have one."""
    return [scoring.question_for(book, kind).id for kind in scoring.KINDS]


def of_benchmarks(kept: Sequence[Judged], folder: str | Path | None = None) -> list[Task]:
    """The items that `long_reason.construct` kept, with their texts; free questions, and choices with their options."""
    tasks: list[Task] = []
    for source in dict.fromkeys(label.source for label in kept):
        labels = {label.id: label for label in kept if label.source == source}
        texts: dict[str, Document] = {}
        for piece in long_reason.items(list(labels.values()), folder):
            if isinstance(piece, Document):
                texts[piece.id] = piece
                continue
            fields = f"{source}/{piece.id}", texts[piece.doc_id], piece.question, piece.answers
            label, options = labels[piece.id], piece.options if piece.choice else ()
            tasks.append(Task(*fields, label.breadth, label.depth, options, piece.choice))
    return tasks


def settings_for_builder() -> MethodSettings:
    """MindGraph's, of the adapter that was trained for its two stages (data/adapters/builder): as it was trained, with tools.

    >>> settings_for_builder().rounds
    4
    """
    return MethodSettings(graph_tokens=400, edit_tokens=512, answer_tokens=96, rounds=4, role=BUILDER.name)


def settings_for_baselines() -> MethodSettings:
    """The baselines', of the adapter that was trained for their steps (data/adapters/baselines): as it was trained.

    >>> settings_for_baselines().block
    512
    """
    return MethodSettings(block=BLOCK, reply=TAUGHT_REPLY, turns=TAUGHT_TURNS)


def methods(settings: MethodSettings) -> dict[str, Method]:
    """The six methods by the paper's names, as the settings have them."""
    in_blocks = {name: partial(METHODS[name], size=settings.block) for name in ("GraphRAG", "CoA", "GAM")}
    in_turns = partial(baselines.answer_by_code, iterations=settings.turns)
    ours = partial(mindgraph.answer, most=settings.ours, role=ROLES[settings.role])
    return {**METHODS, **in_blocks, "RLM": in_turns, OURS: ours}


def estimated(
    tasks: Sequence[Task], llm: LLM, names: Sequence[str] = NAMES, settings: MethodSettings | None = None
) -> dict[str, Estimate]:
    """About what each method takes for all tasks, before the first call: see the module for what is supposed.

    The settings are by default the paper's.

    >>> print(estimated(tasks, llm.load("openai:gpt-4o"))["CoA"])                           # doctest: +SKIP
    4,600 calls (0 more are cached), 42,000,000 tokens to read, at most 4,700,000 to write, at most 152.0000 USD
    """
    settings, estimates = settings or MethodSettings(), {}
    ours = partial(mindgraph.estimate, most=settings.ours)
    theirs = partial(baseline_estimate, size=settings.block, reply=settings.reply)
    for name in names:
        method = ours if name == OURS else partial(theirs, name)
        each = {key: method(document, llm) for key, document in _documents(tasks).items()}
        estimates[name] = sum((each[task.document.id] for task in tasks), NO_COST)
    return estimates


def estimated_judge(tasks: Sequence[Task], judge: LLM, names: Sequence[str] = NAMES) -> Estimate:
    """What judging takes at most: a call for each free answer of each method, as if no rule decided on any.

    >>> print(estimated_judge(tasks, llm.load("openai:gpt-4o-mini")))                       # doctest: +SKIP
    1,200 calls (0 more are cached), 260,000 tokens to read, at most 77,000 to write, at most 0.0850 USD
    """
    total, n = NO_COST, len(names)
    for task in (task for task in tasks if not task.letter):
        slots = {"question": task.question, "gold": task.gold[0], "predicted": task.gold[0]}
        talk = [{"role": "user", "content": GRADE.prompt(task.document.language, form_of(judge), **slots)}]
        read, written = n * judge.count_tokens(talk), n * JUDGE_TOKENS
        total += Estimate(n, 0, read, written, Ledger().cost(judge.name, read, written))
    return total


def answered(
    tasks: Sequence[Task], llm: LanguageModel, names: Sequence[str] = NAMES, settings: MethodSettings | None = None
) -> dict[str, list[Answered]]:
    """Each method's answers to all tasks, in their order: out of the store, or asked for now, `WIDTH` tasks side by side.

    What the methods ask on their way is kept in the user's cache alone, where a run that was killed finds it. Raises
    InputError for an unknown method, LLMError if the model fails.

    >>> answered(tasks, llm.load("openai:gpt-4o"))["CoA"][0].text                           # doctest: +SKIP
    'Ivo'
    """
    settings = settings or MethodSettings()
    unknown = sorted(set(names) - set(NAMES))
    require(not unknown, f"no method {''.join(unknown[:1])!r}: expected some of {', '.join(NAMES)}")
    of_text = {key: length(document, llm) for key, document in _documents(tasks).items()}
    lengths = [of_text[task.document.id] for task in tasks]
    budgets = [Budget(None, settings.times * n, settings.reply) for n in lengths]
    seconds = 0.0 if getattr(llm.backend, "quick", False) else SECONDS

    def answers_by(name: str) -> list[Answered]:
        method = methods(settings)[name]

        def compute(places: Sequence[int]) -> Iterator[tuple[int, Any]]:
            for start in range(0, len(places), WIDTH):
                batch = [(tasks[i], budgets[i]) for i in places[start : start + WIDTH]]
                jobs = [partial(method, task.query, task.document, budget=most, **task.held) for task, most in batch]
                for k, answer in enumerate(side_by_side(_apart(llm), jobs)):
                    yield start + k, _row(name, answer, batch[k][0].document.language)

        questions = [_question(name, task, settings, form_of(llm)) for task in tasks]
        rows = store.current().fetch("answer", llm.maker, questions, compute, seconds=seconds)
        return [Answered(**row, length=n) for row, n in zip(rows, lengths, strict=True)]

    return {name: answers_by(name) for name in names}


def _documents(tasks: Sequence[Task]) -> dict[str, Document]:
    return {task.document.id: task.document for task in tasks}


def _question(name: str, task: Task, settings: MethodSettings, form: str) -> dict[str, Any]:
    """All that decides an answer, but for the model."""
    language, given = task.document.language, asdict(settings)
    paths = PROMPTS[name].split() + ["roles/paper/tools"] * (name == OURS and form == "paper")
    files = [path.replace(f"/{EDITS.name}", f"/{given['role']}").partition("/") for path in paths]
    words = digest([text for room, _, file in files for text in sent(room, file, language, form)])
    question = {"method": name, "question": task.query, "text": digest(task.document.text, language), "prompts": words}
    if settings.role == EDITS.name:  # as answers were kept before there was a choice
        del given["role"]
    return question | given | task.held


def _apart(llm: LanguageModel) -> LanguageModel:
    return LanguageModel(llm.backend, ledger=llm.ledger, store=store.current().apart())


def scored(tasks: Sequence[Task], answers: Sequence[Answer | Answered], judge: LLM | None) -> list[Scored]:
    """Whether answers are right: choices by their letter, others by the cascade (section 4.2)."""
    free = [i for i, task in enumerate(tasks) if not task.letter]
    rows = [Row(tasks[i].question, tasks[i].gold, answers[i].text, tasks[i].document.language) for i in free]
    scores: dict[int, Scored] = dict(zip(free, cascade(rows, judge), strict=True))
    for i, task in enumerate(tasks):
        if task.letter:
            letter = chosen(answers[i].text, task.options, task.document.language) if answers[i].text else NO_ANSWER
            scores[i] = Scored(letter == task.letter, CHOICE, str(letter))
    return [scores[i] for i in range(len(tasks))]


def unusable(name: str, answer: Answer, language: str) -> int:
    """How many replies a method could do nothing with, in the end: no JSON where it was asked for, a turn without code.

    >>> from mindscape.question import Step
    >>> unusable("CoA", Answer("", trace=(Step("build", "no reply that can be used: the reply has no words"),)), "en")
    1
    """
    if name == OURS:
        built = [step.what for step in answer.trace if step.is_call and step.stage == BUILD]
        return sum(bool(read_operations(reply)[1]) for reply in built) + sum(getattr(answer, "malformed", {}).values())
    neither = baselines.TOLD[language]["neither"]
    done = [step.what for step in answer.trace if not step.is_call]
    return sum(what == neither or what.startswith("no reply that can be used") for what in done)


# -- labels ------------------------------------------------------------------------------------------------------------


class Labels(NamedTuple):
    """What an annotator says of a question of the storyworld, and whether it saw where the answer stands."""

    question: str
    evidence: bool
    labelled: Labelled


def labels(novels: Iterable[Book], llm: LanguageModel, *, share: int = 12, seed: int = 0) -> list[Labels]:
    """`share` questions of each book labelled twice, with their evidence and without it: out of the store, or asked for now.

    The questions are `of_book`'s first ones for the seed. Raises LLMError if the model fails.

    >>> labels(books("test"), llm.load("openai:gpt-4o"))[0].labelled.stable                 # doctest: +SKIP
    True
    """
    wanted = list(_to_label(novels, share, seed))

    def compute(places: Sequence[int]) -> Iterator[tuple[int, Any]]:
        for k, labelled in enumerate(long_reason.annotate([wanted[i][2] for i in places], _apart(llm))):
            yield k, [label and [label.breadth, label.depth] for label in labelled.passes]

    asking = [{"prompts": long_reason.prompts(question), "tokens": long_reason.TOKENS} for *_, question in wanted]
    rows, answers = store.current().fetch("label", llm.maker, asking, compute), []
    for (name, evidence, _), passes in zip(wanted, rows, strict=True):
        of_one = tuple(levels and Label(reason="", breadth=levels[0], depth=levels[1]) for levels in passes)
        answers.append(Labels(name, evidence, Labelled(of_one)))
    return answers


def estimated_labels(novels: Iterable[Book], llm: LLM, share: int = 12) -> Estimate:
    """What `labels` takes at most, before the first call.

    >>> print(estimated_labels(books("test"), llm.load("openai:gpt-4o")))                   # doctest: +SKIP
    480 calls (0 more are cached), 250,000 tokens to read, at most 96,000 to write, at most 1.6000 USD
    """
    return long_reason.labelling_estimate([question for *_, question in _to_label(novels, share)], llm)


def _to_label(novels: Iterable[Book], share: int, seed: int = 0) -> Iterator[tuple[str, bool, Unlabelled]]:
    """Questions by their id, whether they are shown with their evidence, and as the annotator sees them."""
    for book in novels:
        by_id = {question.id: question for question in book.questions}
        for evidence in (True, False):
            for task in of_book(book, share, seed=seed):
                yield task.id, evidence, long_reason.of_question(book.document, by_id[task.id], evidence)


def _row(name: str, answer: Answer, language: str) -> dict[str, Any]:
    """What the store keeps of an answer."""
    spent: dict[str, list[int]] = {}
    for step in answer.trace:
        if step.is_call:
            calls, read, written = spent.get(step.stage, (0, 0, 0))
            spent[step.stage] = [calls + 1, read + step.read, written + step.written]
    n, notes = len(answer.trace), [step.what[:NOTED] for step in answer.trace if not step.is_call]
    steps = [[i, n, step.stage, step.what[:SHOWN], step.read, step.written] for i, step in enumerate(answer.trace, start=1)]
    row = {key: getattr(answer, key) for key in ("text", "calls", "tokens_first_call", "tokens_total")}
    row |= {"spent": spent, "unusable": unusable(name, answer, language), "notes": notes[-NOTES:]}
    return row | {"nodes": getattr(answer, "nodes", 0), "trace": steps[:2] + steps[2:][-2:]}


# -- what a baseline will take -----------------------------------------------------------------------------------------


PARTS, PART = 2, 600  # parts of GraphRAG's graph a block; tokens of one as a report's prompt shows it
TURNS, WRITTEN, PRINTED = 10, 300, 500  # of RLM: turns, tokens of one, tokens shown of its output


class _Run:
    """What a method would ask: `ask` adds calls that read and write so many tokens each."""

    def __init__(self, document: Document, llm: LLM, size: int | None, reply: int | None):
        self.llm, self.language = Meter(llm, Budget(reply=reply)), document.language
        self.size = block_size(llm) if size is None else size
        self.text, self.blocks = llm.count_tokens(document.text), len(cut(document, llm, self.size))
        self.calls = self.read = self.written = 0

    def ask(self, prompts: Mapping[str, str], read: int, written: int, calls: int = 1) -> None:
        self.calls += calls
        self.read += calls * (self.llm.count_tokens(prompts[self.language]) + self.fitting(read))
        self.written += calls * written

    def fitting(self, tokens: int) -> int:
        return tokens if self.llm.context is None else min(tokens, self.llm.context)

    def reply(self, most: int, size: int | None = None) -> int:
        return reply_tokens(self.llm, most, size)


def _direct(run: _Run) -> int:
    return run.text


def _graphrag(run: _Run) -> int:
    extracted = run.reply(baselines.EXTRACTED, 2 * run.size)
    gleaned = run.llm.count_tokens(baselines.GLEAN[run.language])
    report, points, parts = run.reply(TOKENS), run.reply(baselines.POINTS), PARTS * run.blocks
    run.ask(baselines.EXTRACT, run.size, extracted, run.blocks)
    run.ask(baselines.EXTRACT, run.size + extracted + gleaned, extracted, run.blocks)
    run.ask(COMMUNITY_REPORT.prompts, PART, report, parts)
    reports = min(baselines.TOP, parts) * report
    maps = max(1, math.ceil(reports / run.fitting(PAPER_BLOCK)))
    run.ask(baselines.MAP, math.ceil(reports / maps), points, maps)
    return maps * points


def _chain_of_agents(run: _Run) -> int:
    summary = run.reply(baselines.SUMMARY, run.size)
    run.ask(baselines.WORKER, run.size + summary, summary, run.blocks)
    return summary


def _gam(run: _Run) -> int:
    note, planned, findings = run.reply(baselines.NOTE), run.reply(baselines.PLANNED), run.reply(baselines.FINDINGS)
    run.ask(baselines.MEMORISE, run.size + min(baselines.NOTES, run.blocks * note // 2), note, run.blocks)
    opened = 0
    for _ in range(baselines.ROUNDS):
        pages = min(baselines.PAGES, run.blocks - opened)
        opened += pages
        run.ask(baselines.PLAN, run.blocks * note + findings, planned)
        if not pages:
            break
        reads = math.ceil(pages * run.size / run.fitting(pages * run.size))
        run.ask(baselines.INTEGRATE, math.ceil(pages * run.size / reads) + findings, findings, reads)
        run.ask(baselines.REFLECT, findings, planned)
    return findings


def _rlm(run: _Run) -> None:
    for turn in range(TURNS):
        run.ask(baselines.TASK, turn * (WRITTEN + PRINTED), WRITTEN)
    run.ask({run.language: ""}, run.size, run.reply(baselines.QUERIED), run.blocks)  # a query is what the code makes it


RUNS = {"Direct": _direct, "GraphRAG": _graphrag, "CoA": _chain_of_agents, "GAM": _gam, "RLM": _rlm}


def baseline_estimate(
    name: str, document: Document, llm: LLM, *, size: int | None = None, reply: int | None = None
) -> Estimate:
    """About what one question takes with the baseline `name`, a key of `METHODS`: calls, tokens, money where it has a price.

    `size` is that of the method, `reply` what its budget has for a reply. The tokens of the question are left out. Raises
    InputError for an unknown name.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(name="embedded", context=8192, count_tokens=lambda text: len(text) // 4)
    >>> note = Document("note", "Ivo sold the lamp. " * 400)
    >>> print(baseline_estimate("Direct", note, model))
    1 call (0 more are cached), 1,938 tokens to read, at most 512 to write, at most 0.0000 USD
    >>> baseline_estimate("CoA", note, model, size=500).calls
    5
    """
    require(name in RUNS, f"there is no baseline {name!r}: expected one of {', '.join(RUNS)}")
    run = _Run(document, llm, size, reply)
    if (context := RUNS[name](run)) is not None:
        run.ask(QA.words(form_of(llm)), context, BRIEF)
    return Estimate(run.calls, 0, run.read, run.written, Ledger().cost(llm.name, run.read, run.written))
