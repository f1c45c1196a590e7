"""What an embedder is asked to find, and the grid of MiA-RAG's Table 2: questions, what is read for them, their scores.

*Finding.* A book's passages, entities or names for its questions, with one or another summary. Questions whose evidence is in
more than a few passages are left out: no ranking brings a whole book to the front. Beside passages and entities there is
`who`, which asks for nothing but the name of the one who is meant. Books are novels of the storyworld, or plays, or the texts
of a benchmark. Taught in notebook 12_mia_emb_training.

*The grid.* A question is asked as an open question, with four options, and as a true and a false claim. Which passages are
shown, and whether a summary is, an experiment says (`mindscape.mia.generation.write`). A reply that cannot be read is wrong,
and is counted. Taught in notebook 14_mia_gen.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from os.path import commonprefix
from typing import cast

import pandas as pd

from benchmarks import Loaded, asking
from mindscape.ask import ask
from mindscape.corpora import shakespeare
from mindscape.errors import one_of, require
from mindscape.llm.base import LLM, PAPER, form_of
from mindscape.metrics import normalise
from mindscape.mia.generation import JOIN, TASKS, answerable, summaries, task_prompts, write
from mindscape.mia.summaries import build_with, f1_and_exact, summarise, summarise_document
from mindscape.question import Answer, Question, Ranking
from mindscape.roles import LETTER, ROLES, letters
from mindscape.search import Retriever, search
from mindscape.text import Chunk, Document, Tokenizer, sentences, split_sentences, split_tokens
from storyworld import Book, Chance
from storyworld.teaching import passages
from storyworld.teaching.scoring import GoldRow, scored
from storyworld.teaching.update import to_find, who_is_who

TARGETS = ("chunk", "node", "who")
KINDS = ("gold", "none", "shuffled", "other", "textrank", "reader")


@dataclass(frozen=True)
class Play:
    """A play, the kit's own summary of it and questions on it, in the place of a book of the storyworld."""

    document: Document
    summary: str
    questions: tuple[Question, ...]


Books = Sequence[Book | Play]


def play(name: str) -> Play:
    """Raises InputError for a play on which the kit has no questions."""
    return Play(shakespeare.play(name), shakespeare.summary(name), shakespeare.questions(name))


def summary(books: Books, i: int, kind: str, by_reader: Mapping[str, str] | None = None) -> str | None:
    """A summary of the i-th book: its gold one, none, the gold one with its sentences shuffled, that of the next book, an
    extract of the same length (TextRank), or, by document in `by_reader`, one that a model wrote. Raises InputError for
    another kind, and where there is no next book."""
    one_of(KINDS, summary=kind)
    book, document = books[i], books[i].document
    if kind == "none":
        return None
    if kind == "gold":
        return book.summary
    if kind == "other":
        require(len(books) > 1, "summary='other' of the only book: expected at least two books")
        return books[(i + 1) % len(books)].summary
    if kind == "textrank":
        return summarise(document.text, document.language, len(book.summary))
    if kind == "reader":
        require(document.id in (by_reader or {}), f"{document.id}: no summary by a reader: expected one for each book")
        return by_reader[document.id]
    parts = [book.summary[span.start : span.end].strip() for span in sentences(book.summary, document.language)]
    return ("" if document.language == "zh" else " ").join(Chance("shuffled", document.id).shuffled(parts))


@dataclass(frozen=True)
class Sought:
    """A question on a book, the places of the units that are right among the book's, and whether it needs a binding."""

    id: str
    book: str
    question: str
    right: tuple[int, ...]
    binding: bool


def sought(book: Book | Play, task: str, tokenizer: Tokenizer) -> tuple[list[str], list[Sought]]:
    """A book's units of a task and what is sought among them. Nodes are those of the storyworld's gold, and so are the names of
    task "who".

    Raises InputError for another task, and for anything but passages of a play.

    >>> units, rows = sought(books("test")[0], "chunk", tokenizer)                        # doctest: +SKIP
    """
    one_of(TARGETS, task=task)
    known = task == "chunk" or isinstance(book, Book)
    require(known, f"{book.document.id}: expected a book of the storyworld, whose entities are known")
    book, name = cast(Book, book), book.document.id  # or a play, which has all that passages take
    if task == "who":
        names = [book.voice.name(person.id) for person in book.world.people]
        meant = ((q, names.index(q.units["node"].positives[0])) for q in who_is_who(book))
        return names, [Sought(q.id, name, q.question, (right,), True) for q, right in meant]
    units, pairs = to_find(book, tokenizer, "node" if task == "node" else "chunk")
    return units, [Sought(q.id, name, q.question, tuple(sorted(right)), q.needs_binding) for q, right in pairs]


def rankings(
    retriever: Retriever, books: Books, tokenizer: Tokenizer, mindscapes: Sequence[str | None] = (), task: str = "chunk"
) -> dict[str, Ranking]:
    """The first units for each question on the books, by its id, read with each book's summary in `mindscapes`, or without.
    Raises as `sought`.

    >>> ids = rankings(embedder, books("test"), tokenizer, [book.summary for book in books("test")])      # doctest: +SKIP
    """
    rankings = {}
    for book, mindscape in zip(books, mindscapes or [None] * len(books), strict=True):
        units, questions = sought(book, task, tokenizer)
        vector = "chunk" if task == "chunk" else "node"
        rows = search(retriever, units, [question.question for question in questions], summary=mindscape, task=vector)
        rankings |= {question.id: row for question, row in zip(questions, rows, strict=True)}
    return rankings


# Benchmarks


def cut_benchmark(loaded: Loaded, tokenizer: Tokenizer) -> dict[str, list[Chunk]]:
    """The passages of each text of a benchmark, of the size of those of a novel; blank ones are left out."""
    cut = {name: split_sentences(text, tokenizer, passages.SIZE) for name, text in loaded.documents.items()}
    return {name: [chunk for chunk in chunks if loaded.documents[name][chunk].strip()] for name, chunks in cut.items()}


def benchmark_summaries(loaded: Loaded, tokenizer: Tokenizer, llm: LLM | None = None) -> dict[str, str]:
    """A summary of each text of a benchmark: an extract of extracts (TextRank), or a model's, of chunks of 1,200 tokens.

    A summary that is published with the text is not used: NarrativeQA's questions were written from it.
    """
    mindscapes = {}
    for name, text in loaded.documents.items():
        chunks = [chunk for chunk in split_tokens(text, tokenizer, overlap=0) if text[chunk].strip()]
        extract = partial(summarise, language=text.language)
        mindscape = summarise_document(llm, text, chunks) if llm else build_with(extract, "textrank", text, chunks)
        mindscapes[name] = mindscape.text
    return mindscapes


def benchmark_rankings(
    retriever: Retriever, loaded: Loaded, chunks: Mapping[str, Sequence[Chunk]], mindscapes: Mapping[str, str] | None = None
) -> list[Ranking]:
    """The first passages of its own text for each item, in the items' order; `mindscapes` are summaries by text.

    >>> rows = benchmark_rankings(embedder, asking.few("detectiveqa-en"), cut_benchmark(...))   # doctest: +SKIP
    """
    rankings = {}
    for name, text in loaded.documents.items():
        items = [item for item in loaded.items if item.doc_id == name]
        texts = [text[chunk].strip() for chunk in chunks[name]]
        rows = search(retriever, texts, [item.question for item in items], summary=(mindscapes or {}).get(name))
        rankings |= {item.id: row for item, row in zip(items, rows, strict=True)}
    return [rankings[item.id] for item in loaded.items]


def benchmark_right(loaded: Loaded, chunks: Mapping[str, Sequence[Chunk]]) -> list[tuple[int, ...]]:
    """The passages that are right for each item: those that hold some of the benchmark's evidence.

    Where it gives none, those in which one of the free answers stands word for word: a weak stand-in for the papers' silver
    evidence. There may be none.
    """
    right = []
    for item in loaded.items:
        document, cut, held = loaded.documents[item.doc_id], chunks[item.doc_id], [False]
        if item.evidence:
            held = [any(at.start < chunk.end and chunk.start < at.end for at in item.evidence) for chunk in cut]
        elif not item.options:
            join = " " if item.language == "en" else ""
            answers = [f"{join}{said}{join}" for answer in item.answers if (said := normalise(answer, item.language))]
            texts = (f"{join}{normalise(document[chunk], item.language)}{join}" for chunk in cut)
            held = [any(answer in text for answer in answers) for text in texts]
        right.append(tuple(i for i, holds in enumerate(held) if holds))
    return right


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


def drawn_questions(books: Iterable[Book], tokenizer: Tokenizer, share: int = 10, seed: int = 0) -> dict[str, list[Asked]]:
    """By task, the same `share` questions on each book; two claims on each, the true one first. Another `seed` draws others.

    >>> {task: len(questions) for task, questions in drawn_questions(books("test"), tokenizer, 2).items()}  # doctest: +SKIP
    {'qa': 20, 'choice': 20, 'claim': 40}
    """
    questions: dict[str, list[Asked]] = {task: [] for task in TASKS}
    for book in books:
        chance = Chance("grid", book.document.id, *([seed] if seed else []))
        ways = (
            [(task, task_prompts(book, question, pair, task, chance, tokenizer), question, right) for task in TASKS]
            for question, pair, right in answerable(book, tokenizer, chance)
        )
        for tasks in islice((drawn for drawn in ways if all(made for _, made, *_ in drawn)), share):
            for task, made, question, right in tasks:
                for slots, gold in made:
                    query = slots.get("claim", question.question)
                    questions[task].append(Asked(task, book, slots, gold, question, query, tuple(right)))
    return questions


def scores(questions: Sequence[Asked], given: Sequence[Answer]) -> dict[str, list[float]]:
    """By name of a score, its value for each question of one task; a reply that cannot be read scores 0.

    `valid` and `valid_free` tell what could be read, `valid_free` before decoding was constrained. Open answers have `f1` and
    `em`, choices and claims `accuracy`; `pair_accuracy` of two claims stands at the second, and is NaN at the first.
    """
    measures = scored(questions, given)
    if questions and questions[0].task == "qa":
        measures["em"] = [f1_and_exact(*pair)[1] for pair in zip(questions, given, strict=True)]
    return measures


def tokens_once(rows: Iterable[Sequence[int]]) -> int:
    """How many tokens are read of some prompts if each common beginning is read once.

    >>> tokens_once([[1, 2, 3], [1, 2, 4, 5], [9]])
    6
    """
    return sum(len(row) - len(commonprefix([before, row])) for before, row in pairwise([[], *sorted(map(list, rows))]))


def average_ranks(scores: Mapping[str, Mapping[Hashable, float]]) -> dict[str, float]:
    """Each system's rank, 1 for the highest score, averaged over the settings (Figure 1); equal scores share their ranks.

    `scores`: by system and setting (a task at a k, say). Raises InputError where a system lacks a setting of another.

    >>> average_ranks({"mia": {"qa@3": 0.5, "claim@3": 0.3}, "vanilla": {"qa@3": 0.4, "claim@3": 0.3}})
    {'mia': 1.25, 'vanilla': 1.75}
    """
    table = pd.DataFrame(scores)
    for system, values in table.items():
        require(values.notna().all(), f"{system!r} has no score for {values.isna().idxmax()!r}: expected one for every setting")
    return table.rank(axis=1, ascending=False).mean().to_dict()


def benchmark_answers(
    model: LLM, loaded: Loaded, shown: Sequence[Sequence[str]], mindscapes: Mapping[str, str] | None = None, template: str = ""
) -> list[str]:
    """What a generator says to a benchmark's items from passages, best first, and the text's summary, if `mindscapes` has it.

    A letter, a verdict or a phrase; empty where the reply cannot be read, as `benchmarks.asking.scores` takes it. `template` is
    the owners' prompt, if it is there; the summary then stands before the passages in what it shows. Raises LLMError if the
    model fails.

    >>> said = benchmark_answers(model, asking.few("nocha"), [["Tilde lit the lamp."]] * 4)  # doctest: +SKIP
    """
    answers, form = [""] * len(loaded.items), form_of(model)
    kinds = list(map(asking.kind, loaded.items))
    for kind in dict.fromkeys(kinds):
        places = [i for i, k in enumerate(kinds) if k == kind]
        alone = kind == "choice" and form == PAPER and loaded.benchmark.name == "infinitebench"  # Figure 16 (3)
        role, prompted = LETTER if alone else ROLES[kind], []
        for i in places:
            item, summary_of = loaded.items[i], (mindscapes or {}).get(loaded.items[i].doc_id)
            if template:
                head = summaries(form)[item.language].format(summary=summary_of) if summary_of else ""
                prompted.append(asking.fill(template, head + JOIN.join(shown[i]), item.question))
            else:
                slots = {"claim" if kind == "claim" else "question": item.question}
                slots |= {"options_str": letters(list(item.options))} if kind == "choice" else {}
                prompted.append(write(role.name, slots, shown[i], summary_of, item.language, form).text)
        for i, answer in zip(places, ask(model, role, prompted, free_first=True), strict=True):
            answers[i] = "" if answer.value is None else getattr(answer.value, "answer", answer.value)
    return answers
