"""MindGraph on novels of the storyworld: the graph that should come out, how far another agrees with it, runs that are kept.

    python -m mindscape.mindgraph.novels --split test --out data/mindgraph

builds a graph for each of three questions on six novels of 15,000 tokens and for one on each of fourteen longer ones, answers
from each, and answers from other graphs besides: all of the built one, with tools, the gold one, the gold one of another
question, none. A file a novel, a line a run; the same call goes on after a kill, in the middle of a build, too. Graphs are
built side by side, `--width` at a time, and what they ask goes to the model in one batch; `--part 0/2` and `--part 1/2` share
the novels between two processes. Only replies are kept: graphs are made of them anew, quote by quote. The embedded model reads
with the reader's adapter, or with that of `--adapter`, and quotes nothing that does not stand in the block; `--free` leaves
its quotes to it.

Two notes count as the same if their types are and their contents share half of their words, as on the reader's card. Taught in
notebooks 30_mindgraph_build and 31_mindgraph_answer. Nothing here knows whether a note is true of the text.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from mindscape import llm, records
from mindscape.budget import Budget, Meter
from mindscape.cache import digest
from mindscape.corpora import storyworld
from mindscape.corpora.books import books
from mindscape.corpora.storyworld import Book
from mindscape.errors import InputError, MindscapeError
from mindscape.llm import LLM, Estimate
from mindscape.llm.together import side_by_side
from mindscape.metrics import token_f1
from mindscape.mindgraph.answer import ANSWER_TOKENS, LINES, ROUNDS, SMALL, GraphAnswered, answer, answer_from, estimate
from mindscape.mindgraph.answering import block_size, cut
from mindscape.mindgraph.build import TOKENS, read_operations
from mindscape.mindgraph.graph import TYPES, Graph, apply
from mindscape.mindgraph.journal import Entry, Journal, rebuild
from mindscape.question import BUILD, Question, Step
from mindscape.roles.edits import Builder, Edits, Reading
from mindscape.roles.scores import ALIKE
from mindscape.text import Chunk, Document, Span
from mindscape.weights import adapter_hash

OF = "a run"  # a line of the file, in messages
FORMAT = "mindscape runs on a novel 1"
SHORT = 6  # novels of the split that three graphs are built of
LONGER = {"develop": storyworld.DEVELOP[20:34], "test": storyworld.TEST[20:34]}  # the seeds of longer novels, by split
LENGTHS = (16_000, 19_000, 23_000, 28_000)  # of longer novels, in turn
KINDS = ("bound", "liar", "people")  # questions that a graph is built for
WIDTH = 16  # graphs or novels side by side
CALL = 1_300  # tokens of a prompt and its reply, about
GRAPHS = ("built", "whole", "tools", "gold", "other", "empty")  # what is answered from


@dataclass(frozen=True)
class Limits:
    """How much at most: tokens of the graph in a prompt (None: what the window leaves), of a reply with edits, of an answer;
    rounds with tools. The defaults are those of `mindscape.mindgraph.answer`."""

    graph: int | None = None
    edits: int = TOKENS
    answer: int = ANSWER_TOKENS
    rounds: int = ROUNDS


@dataclass(frozen=True)
class Counts:
    """So many are in the gold graph, so many were found, and so many of these are the same."""

    gold: int
    found: int
    both: int

    @property
    def precision(self) -> float:
        """NaN where nothing was found."""
        return self.both / self.found if self.found else math.nan

    @property
    def recall(self) -> float:
        """NaN where there is nothing to find."""
        return self.both / self.gold if self.gold else math.nan

    @property
    def f1(self) -> float:
        """NaN where there is nothing to find; 0 where nothing was found."""
        return 2 * self.both / (self.gold + self.found) if self.gold else math.nan


@dataclass(frozen=True)
class Run:
    """A question answered from a graph, one of `GRAPHS`; `question` is its id.

    "built": the whole method, within the `limits` of the model. From the same graph: "whole", all of it shown, and "tools",
    with them. "gold" is the graph of a perfect builder, "other" the one that it makes for the question of kind "people",
    "empty" has no node. `ends` are those of the blocks that a graph was built from, in characters; `longest` is what a reply
    with edits may have, in tokens.
    """

    question: str
    graph: str
    answered: GraphAnswered
    ends: tuple[int, ...] = ()
    longest: int = 0


def limits(model: LLM) -> Limits:
    """What a model may read and write: the embedded reader was trained on prompts of 900 tokens at most.

    >>> from types import SimpleNamespace
    >>> limits(SimpleNamespace(name="embedded"))
    Limits(graph=300, edits=300, answer=96, rounds=4)
    """
    return Limits(300, 300, 96, 4) if model.name == "embedded" else Limits()


def shelf(split: str) -> list[Book]:
    """Six novels of a split, then fourteen longer ones. Raises InputError for a split without longer ones."""
    if split not in LONGER:
        raise InputError(f"split={split!r}: expected {', '.join(LONGER)}")
    longer = [storyworld.book(seed, LENGTHS[i % len(LENGTHS)]) for i, seed in enumerate(LONGER[split])]
    return [*books(split)[:SHORT], *longer]


def asked(book: Book, kind: str) -> Question:
    """The question of a kind that a graph of a novel is built for.

    "bound": on one event, with a trade, kin or guise in the place of a name; "liar": who told an untruth on oath, so that two
    notes contradict each other; "people": how many different people did something in the whole book. The first in the book's
    order. Raises InputError for another kind.

    >>> asked(storyworld.book(1010, tokens=15_000), "liar").question                    # doctest: +ELLIPSIS
    'Who gave an untrue account on oath of the person who ...'
    """
    if kind not in KINDS:
        raise InputError(f"kind={kind!r}: expected {', '.join(KINDS)}")
    if kind == "bound":
        return next(question for question in _narrow(book) if question.needs_binding)
    return next(question for question in book.questions if question.kind == kind)


def more(book: Book, n: int = 4) -> list[Question]:
    """Up to n more questions on one or two events that name their answer, from all over the list; none is of `asked`."""
    taken = {asked(book, kind).id for kind in KINDS}
    rest = [question for question in _narrow(book) if question.id not in taken]
    return rest[:: max(1, len(rest) // n)][:n]


def perfect(book: Book, question: Question, blocks: Sequence[Chunk]) -> Journal:
    """What a perfect builder notes for a question, block by block: its events and its bindings, where they are first told.

    The notes are those that the reader was trained to write (`mindscape.roles.edits`), held to the same checks: of an event
    that is cut by a border within its first words the quote is not in the block, and it is rejected like any other.
    `rebuild(journal, blocks=t)` is the gold at step t. Raises InputError for blocks that are not the book's.

    >>> book = storyworld.book(1010, tokens=15_000)
    >>> text = book.document.text
    >>> journal = perfect(book, asked(book, "people"), [Chunk(book.document.id, 0, 0, len(text))])
    >>> {node.type for node in rebuild(journal).nodes.values()} >= {"event", "entity"}
    True
    """
    builder, reading, graph, entries = Builder(book), Reading(), Graph(book.document.id), []
    told = sorted((book.told.events[event.id][0], event.id) for event in builder.events(question))
    for block in blocks:
        within, operations = Span(block.start, block.end), []
        for span, event in told:
            if block.start <= span.start < block.end:
                operations += builder.event(book.world.events[event], within, reading, answer=question.answer)
        for binding in builder.bindings(question):
            span = book.told.bindings[binding.id][0]
            if block.start <= span.start < block.end:
                operations += builder.binding(binding, span, within, reading)
        reading.apply(operations)
        edits = []
        for operation in operations:
            graph, edit = apply(graph, operation, book.document, block)
            edits.append(edit)
        entries.append(Entry(block.index, Edits(operations=operations).model_dump_json(), tuple(edits)))
    return Journal({"document": book.document.id, "question": question.question}, tuple(entries))


def same(gold: Graph, found: Graph, language: str = "en") -> dict[str, str]:
    """The ids of found nodes with those of the gold nodes that they are; each of them once, the likest pairs first.

    >>> from mindscape.mindgraph.graph import Node
    >>> ivo, miller = (Node(name, "entity", said, "Ivo", 0, 3, 0, 0) for name, said in [("ivo", "Ivo"), ("m", "Ivo, a miller")])
    >>> same(Graph("note", {"ivo": ivo}), Graph("note", {"m": miller}))
    {'m': 'ivo'}
    """
    alike = {
        (mine.id, its.id): token_f1(its.content, mine.content, language)
        for its in found.nodes.values()
        for mine in gold.nodes.values()
        if its.type == mine.type
    }
    pairs: dict[str, str] = {}
    for mine, its in sorted(alike, key=lambda pair: -alike[pair]):
        if alike[mine, its] >= ALIKE and its not in pairs and mine not in pairs.values():
            pairs[its] = mine
    return pairs


def agreement(gold: Graph, found: Graph, language: str = "en") -> dict[str, Counts]:
    """How far a graph agrees with the gold one: counts by type of node, and of "node", "edge" and "tie".

    Edges are the same if their ends are and the relation is, in any case; "tie" counts pairs of nodes with an edge between
    them, whichever way and in whatever words.

    >>> agreement(Graph("note"), Graph("note"))["node"]
    Counts(gold=0, found=0, both=0)
    """
    pairs = same(gold, found, language)
    counts = {}
    for name in TYPES:
        sizes = [sum(node.type == name for node in graph.nodes.values()) for graph in (gold, found)]
        counts[name] = Counts(*sizes, sum(found.nodes[its].type == name for its in pairs))
    counts["node"] = Counts(len(gold.nodes), len(found.nodes), len(pairs))
    for name, key in (("edge", _directed), ("tie", _undirected)):
        mine = {key(*edge) for edge in gold.edges}
        its = {key(pairs.get(source, (source,)), pairs.get(target, (target,)), label)
               for source, target, label in found.edges}  # fmt: skip
        counts[name] = Counts(len(mine), len(its), len(mine & its))
    return counts


def blocks_of(run: Run, document: Document) -> list[Chunk]:
    """The blocks that a run built its graph from; they tile the text."""
    starts = (0, *run.ends)
    return [Chunk(document.id, i, *cut) for i, cut in enumerate(zip(starts, run.ends, strict=False))]


def journal(run: Run, document: Document) -> Journal:
    """What became of each block of a run that built its graph: made anew of its replies, with every quote looked for.

    How many nodes a prompt showed is not known any more: `shown` of every entry is 0. Raises InputError for a run that built
    nothing, or another text's.
    """
    steps = [step for step in run.answered.trace if step.stage == BUILD and step.asked]
    if not run.ends or len(steps) != len(run.ends):
        raise InputError(
            f"the run on {run.question} has {len(steps)} replies to {len(run.ends)} blocks: expected a build"
        )
    graph, entries = Graph(document.id), []
    for block, step in zip(blocks_of(run, document), steps, strict=True):
        operations, invalid = read_operations(step.what)
        edits = []
        for operation in operations:
            graph, edit = apply(graph, operation, document, block)
            edits.append(edit)
        finish = "length" if step.written >= run.longest else "stop"
        entries.append(Entry(block.index, step.what, tuple(edits), invalid, finish=finish))
    return Journal({"document": document.id, "question": run.question}, tuple(entries))


def planned(book: Book, longer: bool = False) -> list[tuple[Question, str]]:
    """The runs on a novel: questions, and which graph each is answered from. Of a longer one a single graph is built."""
    bound, liar, people = (asked(book, kind) for kind in KINDS)
    if longer:
        return [(people, "built")]
    built = [(question, "built") for question in (bound, liar, people)]
    others = [(question, graph) for question in (bound, liar) for graph in GRAPHS[1:]] + [(people, "gold")]
    return built + others + [(question, graph) for question in more(book) for graph in ("gold", "other", "empty")]


def estimated(wanted: Iterable[tuple[Book, Sequence[tuple[Question, str]]]], model: LLM) -> Estimate:
    """About what the runs on some novels take, before the first call; what is supposed stands at `answer.estimate`.

    >>> print(estimated([(book, planned(book)) for book in shelf("test")[:SHORT]], llm.load("openai:gpt-4o")))  # doctest: +SKIP
    372 calls (0 more are cached), 1,220,000 tokens to read, at most 340,000 to write, at most 6.4000 USD
    """
    most, total = limits(model), Estimate(0, 0, 0, 0, 0.0)
    sizes = {} if most.graph is None else {"nodes": max(1, most.graph // max(1, model.count_tokens(LINES)))}
    told = {"edit_tokens": most.edits, "answer_tokens": most.answer, **sizes}
    for book, runs_of in wanted:
        for _, graph in runs_of:
            rounds = most.rounds if graph == "tools" else 0
            total += estimate(book.document, model, rounds=rounds, built=graph != "built", **told)
    return total


def path_of(folder: str | Path, document: Document) -> Path:
    """Where the runs on a novel are."""
    return Path(folder) / f"{document.id}.jsonl"


def runs(
    model: LLM,
    book: Book,
    folder: str | Path,
    wanted: Iterable[tuple[Question, str]],
    *,
    work: str | Path | None = None,
    adapter: str | Path | None = None,
    held: bool | None = None,
) -> list[Run]:
    """Runs on a novel: those that its file in `folder` has, and those that it lacks, made now and appended one by one.

    `work` keeps the journals of builds, by default in the cache; the file keeps the hash of the model's `adapter`, a folder.
    What is answered from a built graph comes after the build; for `held` see `mindscape.mindgraph.answer.answer`.
    Raises InputError for a file of another text, model or form, LLMError if the model fails; what was made is kept.

    >>> runs(model, book, "data/mindgraph", planned(book))                              # doctest: +SKIP
    """
    path, document = path_of(folder, book.document), book.document
    size = block_size(model)
    about = {"format": FORMAT, "document": document.id, "text": digest(document.text), "llm": model.fingerprint}
    about |= {"adapter_sha256": adapter_hash(adapter) if adapter else "", "size": size, "limits": asdict(limits(model))}
    about |= {"held": model.name in SMALL if held is None else held}
    found = records.opened(path, about, _run, of=OF, form=FORMAT)
    have, blocks = {(run.question, run.graph): run for run in found}, []
    listed = list(wanted)
    for question, graph in listed:
        if (question.id, graph) not in have:
            blocks = blocks or cut(document, model, size)
            base = have.get((question.id, "built"))
            run = _made(model, book, question, graph, blocks, base, work, held)
            records.append(path, [_row(run)])
            have[question.id, graph] = run
    return [have[question.id, graph] for question, graph in listed]


def kept(path: str | Path) -> tuple[dict, list[Run]]:
    """What a file of runs says of itself, and the runs. Raises InputError for a file that is none.

    >>> about, found = kept("data/mindgraph/storyworld-2010.jsonl")                     # doctest: +SKIP
    """
    return records.read(path, _run, of=OF, form=FORMAT)


def pick(
    folder: str | Path,
    book: Book,
    wanted: Iterable[tuple[Question, str]],
    *,
    adapter: str | Path | None = None,
    model: LLM | None = None,
) -> list[Run]:
    """Runs on a novel out of its file in `folder`. Raises InputError where one is lacking, the text is another, or they were
    made with another `adapter` or by another `model`, where one is given.

    The embedded model is another in another precision, so of that the adapter is to be asked for.

    >>> pick("data/mindgraph", book, [(asked(book, "liar"), "built")], adapter=llm.READER)  # doctest: +SKIP
    """
    path = path_of(folder, book.document)
    about, found = kept(path)
    if about.get("text") != digest(book.document.text):
        raise InputError(f"{path} holds runs on another text than {book.document.id}: make them again")
    if adapter is not None and about.get("adapter_sha256") != adapter_hash(adapter):
        raise InputError(f"{path} is of another adapter than {adapter}: make it anew with mindscape.mindgraph.novels")
    if model is not None and about.get("llm") != model.fingerprint:
        raise InputError(f"{path} holds runs of another model than {model.name}: expected its own")
    have = {(run.question, run.graph): run for run in found}
    try:
        return [have[question.id, graph] for question, graph in wanted]
    except KeyError as error:
        raise InputError(f"{path} has no run on {error}: python -m mindscape.mindgraph.novels makes it") from None


def _narrow(book: Book) -> list[Question]:
    """Questions on one or two events whose gold notes name the answer, counts left out."""
    builder, found = Builder(book), []
    for question in book.questions:
        events = builder.events(question)
        said = [text for event in events for text in (builder.nodes[builder.key(event)].content, *builder.said(event))]
        named = question.answer.lower() in " ".join(said).lower()
        if named and len(events) <= 2 and question.depth != "set-aggregation":
            found.append(question)
    return found


def _directed(source: object, target: object, label: str) -> tuple:
    return source, target, label.lower()


def _undirected(source: object, target: object, label: str) -> frozenset:
    return frozenset((source, target))


def _made(
    model: LLM,
    book: Book,
    question: Question,
    graph: str,
    blocks: Sequence[Chunk],
    base: Run | None,
    work: str | Path | None,
    held: bool | None,
) -> Run:
    most, asked_of = limits(model), question.question
    if graph == "built":
        told_of = {"graph_tokens": most.graph, "edit_tokens": most.edits, "answer_tokens": most.answer, "held": held}
        told = answer(asked_of, book.document, model, folder=work, rounds=0, **told_of)
        return Run(question.id, graph, told, tuple(block.end for block in blocks), most.edits)
    if graph in ("whole", "tools"):
        if base is None:
            raise InputError(f"{question.id}, graph={graph!r}: expected a run on it with graph='built' before")
        shown = rebuild(journal(base, book.document))
    elif graph == "empty":
        shown = Graph(book.document.id)
    else:
        shown = rebuild(perfect(book, question if graph == "gold" else asked(book, "people"), blocks))
    rounds = most.rounds if graph == "tools" else 0
    tokens = {"graph_tokens": None if graph == "whole" else most.graph, "tokens": most.answer}
    meter = Meter(model, Budget(calls=4 * most.rounds))  # reports are calls, too
    told = answer_from(shown, book.document, asked_of, meter, chunks=len(blocks), rounds=rounds, **tokens)
    return Run(question.id, graph, told)


def _row(run: Run) -> dict:
    told = vars(run.answered) | {
        "trace": [vars(step) for step in run.answered.trace],
        "uses": dict(run.answered.uses),
        "malformed": dict(run.answered.malformed),
    }
    return {"question": run.question, "graph": run.graph, "ends": run.ends, "longest": run.longest, "answered": told}


def _run(row: dict) -> Run:
    told = dict(row["answered"])
    told["trace"] = tuple(Step(**step) for step in told["trace"])
    told |= {name: tuple(told[name]) for name in ("cited", "unknown")}
    return Run(row["question"], row["graph"], GraphAnswered(**told), tuple(row["ends"]), row["longest"])


def main() -> None:
    """Make the runs on the novels of a split that are not there yet."""
    told = argparse.ArgumentParser(prog="python -m mindscape.mindgraph.novels", description=main.__doc__)
    told.add_argument("--out", required=True, help="the folder of the files, one a novel")
    told.add_argument("--split", default="develop", choices=list(LONGER))
    told.add_argument("--llm", default="embedded", help="the model that builds and answers")
    told.add_argument("--adapter", default="", help="folder of its adapter; the reader's for the embedded one")
    told.add_argument("--dtype", default="", help="its precision, where it is a local one")
    told.add_argument("--part", default="0/1", help="this one of so many parts of the novels: 0/2, 1/2")
    told.add_argument("--width", type=int, default=WIDTH, help="graphs, and novels, side by side")
    told.add_argument("--free", action="store_true", help="do not hold the embedded model to quotes from the block")
    told.add_argument("--novels", default="all", choices=["all", "short", "longer"], help="which of them")
    given = told.parse_args()
    try:
        part, parts = _part(given.part)
        if given.width < 1:
            raise InputError(f"--width {given.width}: expected at least 1")
        adapter = given.adapter or (llm.READER if given.llm == "embedded" else None)
        told_of = {"dtype": given.dtype, "adapter": adapter}
        if not given.llm.startswith(("openai:", "replay:")):
            # what is asked side by side is read and written in one batch
            told_of |= {"batch_size": given.width, "batch_tokens": CALL * given.width}
        model = llm.load(given.llm, **{name: value for name, value in told_of.items() if value})
        many = shelf(given.split)
        kinds = {"all": (False, True), "short": (False,), "longer": (True,)}[given.novels]
        mine = [i for i in range(len(many)) if i % parts == part and (i >= SHORT) in kinds]
        wanted = [(many[i], planned(many[i], longer=i >= SHORT)) for i in mine]
        print(f"about {estimated(wanted, model)}", flush=True)
        held = False if given.free else None
        builds = [(book, question) for book, runs_of in wanted for question in _unbuilt(given.out, book, runs_of)]
        for some in (builds[i : i + given.width] for i in range(0, len(builds), given.width)):
            side_by_side(model, [partial(_built, book, question, held) for book, question in some])
            print(f"{len(some)} graphs built", flush=True)
        for some in (wanted[i : i + given.width] for i in range(0, len(wanted), given.width)):
            jobs = [partial(_runs, book, runs_of, given.out, adapter, held) for book, runs_of in some]
            for (book, _), found in zip(some, side_by_side(model, jobs), strict=True):
                tokens = sum(run.answered.tokens_total for run in found)
                print(f"{book.document.id}: {len(found)} runs, {tokens:,} tokens", flush=True)
        print(model.ledger)
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _unbuilt(folder: str, book: Book, wanted: Sequence[tuple[Question, str]]) -> list[Question]:
    """The questions whose graph is to be built, and is not in the file."""
    path = path_of(folder, book.document)
    have = {(run.question, run.graph) for run in kept(path)[1]} if path.exists() else set()
    return [question for question, graph in wanted if graph == "built" and (question.id, graph) not in have]


def _built(book: Book, question: Question, held: bool | None, model: LLM) -> None:
    """Build a graph into the cache, where the run that it belongs to finds it."""
    _made(model, book, question, "built", cut(book.document, model, block_size(model)), None, None, held)


def _runs(
    book: Book,
    wanted: Sequence[tuple[Question, str]],
    folder: str,
    adapter: str | Path | None,
    held: bool | None,
    model: LLM,
) -> list[Run]:
    return runs(model, book, folder, wanted, adapter=adapter, held=held)


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and int(part) < int(parts)):
        raise InputError(f"--part {text}: expected one of so many, such as 0/2 and 1/2")
    return int(part), int(parts)


if __name__ == "__main__":
    main()
