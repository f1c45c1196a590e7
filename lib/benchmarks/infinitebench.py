"""InfiniteBench: twelve tasks of 100,000 tokens and more, one file of JSON lines a task.

Five are on books and dialogues; the others are code, arithmetic and needles. Zhang et al., 2024. Meant for notebooks 10
and on, pointed at a real benchmark.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.reading import json_lines
from benchmarks.shapes import LETTERS, Found, Item, Report, Row, Unusable, checked, document, rest
from mindscape.errors import InputError
from mindscape.text import Document

PARTS = (
    *("longbook_qa_eng", "longbook_choice_eng", "longbook_sum_eng", "longbook_qa_chn", "longdialogue_qa_eng"),
    *("code_debug", "code_run", "kv_retrieval", "math_calc", "math_find", "number_string", "passkey"),
)
CHOICES = ("longbook_choice_eng", "code_debug")
ASKED = {  # the question where a row has none and the owners' prompt asks it; in our words
    "longbook_sum_eng": "Summarise the book.",
    "longdialogue_qa_eng": "Which character's name stood where $$MASK$$ stands?",
    "code_debug": "Which of these functions has an error that was put there on purpose?",
    "math_calc": "What are the intermediate values of this expression, in order?",
}


class _Row(Row):
    id: int | str | None = None
    context: str | None = None
    content: str | None = None  # older copies' name for it
    input: str = ""
    answer: Any
    options: list[str] | None = None


def read_infinitebench(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The rows of the tasks that are there. A book comes once, however many questions and tasks ask about it.

    Rejected: rows without a text, a choice without four options, and an answer that is none of them or at odds with its
    letter.
    """
    known = [path for path in files["rows"] if path.stem in PARTS]
    if not known:
        names = ", ".join(path.name for path in files["rows"])
        raise InputError(f"{files['rows'][0].parent} holds {names}: expected a task's file, such as {PARTS[0]}.jsonl")
    for path in known:
        task = path.stem
        if part not in (None, task):
            continue
        for number, (where, row) in enumerate(json_lines(path), start=1):
            with report.row(where, row):
                one = checked(_Row, row)
                text = one.context if one.context is not None else one.content
                if text is None:
                    raise Unusable("context: Field required")
                language = "zh" if task.endswith("_chn") else "en"
                book = document(text, language, "book")
                choice, answers = answered(task, one.answer, one.options or [])
                yield book
                yield Item(
                    id=f"{task}/{number if one.id is None else one.id}",
                    doc_id=book.id,
                    question=one.input.strip() or ASKED.get(task, ""),
                    answers=answers,
                    options=tuple(one.options) if choice else (),
                    choice=choice,
                    language=language,
                    part=task,
                    raw=rest(row, "context", "content"),
                )


def answered(task: str, answer: Any, options: list[str]) -> tuple[str, tuple[str, ...]]:
    """The right letter, empty but for choices, and the right answers, from any shape that the files hold.

    A choice's answer is its text, a list of it, or a list of text and letter; math_calc's is one list of numbers, which
    is kept as one answer. Raises Unusable for what is neither.

    >>> answered("longbook_choice_eng", ["a lamp", "B"], ["a book", "a lamp", "a key", "a hat"])
    ('B', ('a lamp',))
    >>> answered("longbook_qa_eng", ["a lamp", "the lamp"], []), answered("math_calc", [1, 4, 8], [])
    (('', ('a lamp', 'the lamp')), ('', ('1, 4, 8',)))
    """
    listed = answer if isinstance(answer, list) else [answer]
    if not all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in listed) or not listed:
        raise Unusable("answer: expected strings or numbers")
    words = [str(each) for each in listed]
    if task == "math_calc":
        return "", (", ".join(words),)
    if task not in CHOICES:
        return "", tuple(words)
    if len(options) != len(LETTERS):
        raise Unusable("a choice without four options")
    right = [letter for letter, option in zip(LETTERS, options, strict=True) if option == words[0]]
    if not right and len(words) == 1 and words[0] in tuple(LETTERS):
        right = words
    if len(words) == 2:
        right = [letter for letter in right if letter == words[1]]
    if len(words) > 2 or len(right) != 1:
        raise Unusable("the answer is not one of the options, or at odds with its letter")
    return right[0], (options[LETTERS.index(right[0])],)
