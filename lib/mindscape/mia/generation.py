"""MiA-Gen: retrieved passages are read in the light of a summary of the whole text (MiA-RAG, section 3.4, Eq. 6).

    instruction; summary S; retrieved chunks C; question q  ->  answer

The prompts are those of the roles qa, choice and claim with the summary before the passages; without a summary they are those
of the roles to the letter. What is asked on one text in one role begins alike up to the end of the summary, so that a decoder
reads it once.

`examples` makes what MiA-Gen is taught: the passages that hold a question's evidence, silver or gold, among others that do not
bear on it, in varying number and order. Who is meant by "the smith" is often not in the passages at all: the summary says it.
Where the paper is silent: a passage that says it is there, too, in `BOUND` of the cases; the variants of Table 5 have equally
many examples, and those without summary are asked the same questions on the same passages. Multiple choice counts as question
answering. Taught in notebook 14_mia_gen; its training is a recipe (`mindscape.training.recipes`).
"""

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mindscape import prompts, roles
from mindscape.errors import one_of, require
from mindscape.llm.base import PAPER, SHORT
from mindscape.question import ClaimPair, Question
from mindscape.roles import LETTER, ROLES, Example
from mindscape.text import Chunk, Span, Tokenizer
from storyworld import Book, Chance
from storyworld.teaching import passages
from storyworld.teaching.update import MOST, evidence, same_kind

TASKS = ("qa", "choice", "claim")
SHOWN = 10  # passages of an example, at most: the largest k of Table 2
BOUND = 0.3  # how often a passage that says who is meant is among them
SUMMARY = prompts.languages("mia", "with_summary")
CONTEXT = "<context>\n{context}\n</context>\n\n"  # as the roles' prompts have it
Found = Mapping[str, Sequence[int]]  # by question, the passages that Algorithm 1 found
JOIN = "\n\n"  # between passages, as `passages.shown` has it


@dataclass(frozen=True)
class Variant:
    """What an ablation is taught: how many examples of each task from a book, and whether a summary is shown."""

    shares: Mapping[str, int]
    summary: bool = True


VARIANTS = {  # Table 5: 24 examples of a book in each
    "full": Variant({"qa": 8, "choice": 8, "claim": 8}),
    "no_summary": Variant({"qa": 8, "choice": 8, "claim": 8}, summary=False),
    "no_claims": Variant({"qa": 12, "choice": 12}),
    "no_qa": Variant({"claim": 24}),
}


@dataclass(frozen=True)
class Written:
    """A prompt, and where in it the summary, the passages and the question stand (with options, if there are any)."""

    text: str
    summary: Span | None
    chunks: tuple[Span, ...]
    question: Span


def write(
    task: str,
    slots: Mapping[str, str],
    chunks: Sequence[str],
    summary: str | None = None,
    language: str = "en",
    form: str = SHORT,
) -> Written:
    """The prompt of a task, passages in the order given, in the `form` that the model is sent (`mindscape.llm.base.form_of`).

    `slots` are those of the role but for its context: question (qa), question and options_str (choice), claim. Without
    `chunks` the summary is all there is to read. Raises InputError for another task or language, and slots that do not fit.

    >>> written = write("qa", {"question": "Who has the smith's lamp?"}, ["Tom took Ann's lamp."], "Ann is the smith.")
    >>> [written.text[span.start : span.end] for span in (written.summary, *written.chunks, written.question)]
    ['Ann is the smith.', "Tom took Ann's lamp.", "Who has the smith's lamp?"]
    """
    one_of((*TASKS, LETTER.name), task=task)
    role = LETTER if task == LETTER.name else ROLES[task]
    role.prompt(language, form, context="", **slots)  # says what is wrong with the language or the slots
    before, after = role.words(form)[language].split(CONTEXT)
    text = before.format()

    def put(opened: str, words: str, closed: str = "") -> Span:
        nonlocal text
        start = len(text) + len(opened)
        text += opened + words + closed
        return Span(start, start + len(words))

    place = None
    if summary is not None:
        opened, closed = summaries(form)[language].split("{summary}")
        place = put(opened, summary.strip(), closed)
    opened, closed = CONTEXT.split("{context}")
    places = [put(JOIN if i else opened, chunk.strip()) for i, chunk in enumerate(chunks)]
    text += closed if chunks else ""
    said = list(string.Formatter().parse(after))
    last = max(i for i, (_, name, _, _) in enumerate(said) if name)
    demands = "".join(words for words, *_ in said[last + 1 :])  # the paper's form has some behind the question
    start = len(text) + len(said[0][0])
    text += after.format(**slots)
    return Written(text, place, tuple(places), Span(start, len(text) - len(demands)))


def summaries(form: str = SHORT) -> Mapping[str, str]:
    """How a summary is shown before the passages, by language; in the paper's form as Figure 16 does.

    >>> summaries()["en"].splitlines()[0], summaries("paper")["en"].splitlines()[0]
    ('The whole story in short:', 'Summary of the book:')
    """
    return prompts.paper("mia", "with_summary") if form == PAPER else SUMMARY


def answerable(
    book: Book, tokenizer: Tokenizer, chance: Chance, silver: Found | None = None
) -> Iterator[tuple[Question, ClaimPair, list[int]]]:
    """Questions that a few passages and the book's summary answer, their claims and those passages, in an order of chance.

    The passages are numbers in `passages.cut(book, tokenizer)`: those that hold the evidence, or what Algorithm 1 found, where
    `silver` tells it by the question's id.
    """
    chunks = passages.cut(book, tokenizer)
    for question, pair in passages.questions_with_claims(book, chance):
        right = list(silver.get(question.id, ())) if silver is not None else evidence(book, question, chunks)
        if not 0 < len(right) <= MOST or question.kind in passages.WHOLE:
            continue
        text = f"{passages.shown(book, [chunks[i] for i in right])}\n{book.summary}"
        if silver is not None or passages.readable(book, question, text):
            yield question, pair, right


def mixed(
    book: Book, tokenizer: Tokenizer, chance: Chance, most: int = SHOWN, silver: Found | None = None
) -> Iterator[tuple[Question, ClaimPair, list[Chunk]]]:
    """Answerable questions with passages as a retriever may give them: what answers, and noise, at most `most`, shuffled.

    Half of the noise tells of the same kind of event, of somebody else or of another time; half of the rest names somebody whom
    the question or the answer names; if there are such. Raises InputError for fewer than `MOST` passages.
    """
    require(most >= MOST, f"most={most!r}: expected at least {MOST} passages, which the evidence of a question may take")
    chunks = passages.cut(book, tokenizer)
    for question, pair, right in answerable(book, tokenizer, chance, silver):
        first, keep = question.evidence[0].start, dict.fromkeys(right)
        for group in question.bindings:
            span = min(group, key=lambda span: abs(span.start - first))
            said = [i for i, chunk in enumerate(chunks) if passages.holds(book, chunk, span)]
            if chance.hit(BOUND) and len({*keep, *said}) <= most:
                keep |= dict.fromkeys(said)
        count = chance.between(len(keep), most)
        like = same_kind(book, question, chunks) - {*keep}
        others = [i for i in sorted(like) if not passages.relevant(book, question, chunks[i])]
        alike = chance.sample(others, (count - len(keep) + 1) // 2)
        rest = [chunk for i, chunk in enumerate(chunks) if i not in {*keep, *alike}]
        yield question, pair, passages.mixed(book, question, [chunks[i] for i in (*keep, *alike)], rest, count, chance)


def task_prompts(
    book: Book, question: Question, pair: ClaimPair, task: str, chance: Chance, tokenizer: Tokenizer
) -> list[tuple[dict[str, str], Any]]:
    """A question as a task asks it: the slots of the prompt and the reply's gold value; of a claim the true and the false one.

    Empty where the explanation of the reply would be too long.
    """
    if task == "qa":
        return [({"question": question.question}, question.answer)]
    if task == "choice":
        options = chance.shuffled(question.options)
        last: roles.Choice | roles.Verdict = passages.gold_choice(book, question, options)
        slots = {"question": question.question, "options_str": roles.letters(options)}
        cases: list[tuple[dict[str, str], Any]] = [(slots, last)]
    else:
        true, last = passages.gold_verdicts(book, question, pair)
        cases = [({"claim": pair.true}, true), ({"claim": pair.false}, last)]
    return cases if len(tokenizer.encode(last.explanation)) <= passages.LONGEST else []


def examples(
    book: Book, tokenizer: Tokenizer, variant: str = "full", most: int = SHOWN, silver: Found | None = None, seed: int = 0
) -> list[Example]:
    """What a variant of MiA-Gen is taught of a book: at most so many examples of each task as `VARIANTS` says.

    The same arguments give the same list, and the same questions come in the same order in each variant that has their task.
    Raises InputError for a variant that there is not.

    >>> from storyworld import training_book
    >>> len(examples(training_book(0), tokenizer))                                       # doctest: +SKIP
    24
    """
    one_of(VARIANTS, variant=variant)
    setup, taught = VARIANTS[variant], []
    summary, language = book.summary if setup.summary else None, book.document.language
    for task, share in setup.shares.items():
        chance = Chance("mia_gen", task, book.document.id, seed)
        ways = (
            (task_prompts(book, question, pair, task, chance, tokenizer), chunks)
            for question, pair, chunks in mixed(book, tokenizer, chance, most, silver)
        )
        cases = ((*chance.pick(choices), chunks) for choices, chunks in ways if choices)  # of two claims one by chance
        for slots, value, chunks in islice(cases, share):
            prompt = write(task, slots, [book.document[chunk] for chunk in chunks], summary, language).text
            taught.append(Example(task, prompt, ROLES[task].render(value), book.document.id))
    return taught
