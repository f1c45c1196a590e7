"""Benchmarks on novels and film scripts, in the formats of their owners' files:

- NarrativeQA, questions on whole books and film scripts, written by people who had read a summary only (Kočiský et al., 2018).
  As its owners publish it: `documents.csv`, `qaps.csv`, summaries, and a script that fetches the stories into
  `tmp/<document_id>.content`. As on Hugging Face: rows that hold all of it, the story again for each question.
- NoCha: is a claim about a novel true? Pairs that differ in one fact, and only both halves right count (Karpinska et al.,
  2024). The public sample alone: 126 claims on four classics; the other books' claims are kept private.
- DetectiveQA: who did it, and by which steps one sees it; four options, and the paragraphs that hold the clues (Xu et al.,
  2024). English and Chinese; annotated by people alone, or with a model's help. The novels are in copyright: keep them to
  yourself. The format is known from others' loaders, not from the owners' files.
- NovelHopQA, questions of one to four hops on novels in the public domain (Gupta et al., 2025). A row brings the paragraphs
  that its question was made from; the novels are not part of it. Put them, named by title, into a folder `novels`, and the
  paragraphs become evidence in them. The format is known from others' loaders.
- InfiniteBench, twelve tasks of 100,000 tokens and more, one file of JSON lines a task (Zhang et al., 2024). Five are on books
  and dialogues; the others are code, arithmetic and needles.

Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from benchmarks.files import checked, csv_rows, json_file, parted, pickled, row_of, rows_of, text_of_page, unmarked, unpacked
from benchmarks.reading import LETTERS, Found, Item, Passage, Report, Unusable, document, fault, joined, place, rest, usable
from mindscape import corpora
from mindscape.errors import InputError, require
from mindscape.text import Document, fold, locate

SETS = {"validation": "valid"}  # Hugging Face's name: the owners'
DOCUMENTS = ("document_id", "set", "kind", "story_file_size", "wiki_title", "story_start", "story_end")
QUESTIONS = ("document_id", "set", "question", "answer1", "answer2")
TOO_SHORT = 0.5  # of the published size; their own check asks for 3.5 % more or less, sites have changed since


def read_narrativeqa(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The owners' CSV files with the fetched stories. A story's published summary is in `meta["summary"]`.

    Rejected: questions whose story is missing, or less than half as long as published (a site's error page, most
    likely). What precedes the story's first words and follows its last is cut off.
    """
    about = {row["document_id"]: row for _, row in csv_rows(files["documents"][0], DOCUMENTS)}
    rows = (row for path in files["summaries"] for _, row in csv_rows(path, ("document_id", "summary")))
    summaries = {row["document_id"]: row["summary"] for row in rows}
    stories = {path.stem: path for path in files["stories"]}  # found by name: no id becomes a path
    faults, counts = {}, Counter()
    for where, row in csv_rows(files["questions"][0], QUESTIONS):
        name, split = row["document_id"], SETS.get(row["set"], row["set"])
        if part not in (None, split):
            continue
        with report.row(where, row):
            if name not in faults:
                try:
                    story = _story(about.get(name), stories.get(name), summaries.get(name, ""), report)
                    faults[name] = ""
                    yield story
                except Unusable as error:
                    faults[name] = str(error)
            usable(not faults[name], faults[name])
            counts[name] += 1
            answers = tuple(dict.fromkeys(filter(str.strip, (row["answer1"], row["answer2"]))))
            kind = about[name]["kind"]
            yield Item(f"{name}/{counts[name]}", name, row["question"], answers, part=split, kind=kind, raw=row)


def _story(about: Mapping[str, str] | None, path: Path | None, summary: str, report: Report) -> Document:
    usable(about is not None, "documents.csv has no line for its document_id")
    usable(path, "its story has not been fetched: expected tmp/<document_id>.content")
    size = about["story_file_size"].strip()
    published = int(size) if re.fullmatch("[0-9]{1,12}", size) else 0  # 0 for a cell that holds no number
    try:
        data = unpacked(path)
        short = "its story is less than half as long as published: an error page? Fetch it again"
        usable(len(data) >= TOO_SHORT * published, short)
        text = text_of_page(data, str(path))
    except InputError as error:
        raise Unusable(str(error)) from None
    text = trimmed(text, about["story_start"], about["story_end"], report)
    meta = {"title": about["wiki_title"], "kind": about["kind"], "summary": summary}
    return document(text, "en", name=about["document_id"], **meta)


def trimmed(text: str, first: str, last: str, report: Report) -> str:
    """The text from its first words to its last, which are given as tokens with blanks between them.

    >>> trimmed("Fetched by X. Call me Ann. The end. Licence.", "Call me", "The end .", Report("toy"))
    'Call me Ann. The end.'
    """
    starts, ends = (re.compile(r"\s*".join(map(re.escape, words.split()))) for words in (first, last))
    start = starts.search(text) if first.strip() else None
    begin = start.start() if start else 0
    matches = list(ends.finditer(text, begin)) if last.strip() else []
    if not start or not matches:
        report.notes["a story's first or last words are not in it: not cut there"] += 1
    return text[begin : matches[-1].end() if matches else None]


DOCUMENT = row_of("id", kind=(str, ""), start=(str, ""), end=(str, ""), text=(str, ...), summary=(dict, ...))
TEXT = row_of("text")
ASKED = row_of("", document=(DOCUMENT, ...), question=(TEXT, ...), answers=(list[TEXT], ...))  # type: ignore[valid-type]


def read_hub(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """Hugging Face's rows, saved as JSON lines, one file a split. A story is kept once, however often it comes."""
    seen, counts = set(), Counter()
    for split, _, where, row in parted(files["rows"], part, lambda stem: SETS.get(stem.split("-")[0], stem.split("-")[0])):
        with report.row(where, row):
            example = checked(ASKED, row)
            name, kind, about = example.document.id, example.document.kind, example.document.summary
            if name not in seen:
                try:
                    text = unmarked(example.document.text, where)
                except InputError as error:  # of one page, which others need not share
                    raise Unusable(str(error)) from None
                text = trimmed(text, example.document.start, example.document.end, report)
                meta = {"title": about.get("title", ""), "kind": kind, "summary": about.get("text", "")}
                yield document(text, "en", name=name, **meta)
                seen.add(name)
            counts[name] += 1
            answers = tuple(dict.fromkeys(each.text for each in example.answers if each.text.strip()))
            raw = row | {"document": rest(row["document"], "text")}
            yield Item(f"{name}/{counts[name]}", name, example.question.text, answers, part=split, kind=kind, raw=raw)


VERDICTS = {True: "TRUE", False: "FALSE", "True": "TRUE", "False": "FALSE", "TRUE": "TRUE", "FALSE": "FALSE"}


CLAIM = row_of(
    "book_title claim",
    type=(bool | Literal["True", "False", "TRUE", "FALSE"], ...),  # the file has booleans, its description strings
    index=(int | str, ...),
    length_group=(str, ""),
    length_bucket=(str, ""),  # the description's name for it
)


def read_nocha(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The claims, two with the same `group` a pair; answers are "TRUE" and "FALSE". `raw` keeps the models' replies.

    Rejected: a claim on a book that the pickle lacks, and one whose pair is not one true and one false claim, both fit to
    be asked: half a pair could not be scored.
    """
    texts = pickled(files["books"][0])
    books = {name: Document(name, text, "en") for name, text in texts.items()}
    rows = list(rows_of(files["claims"][0]))
    claims = [_claim(row, books) for _, row in rows]
    halves = Counter((claim.group, claim.answers[0]) for claim in claims if isinstance(claim, Item))
    for (where, row), claim in zip(rows, claims, strict=True):
        with report.row(where, row):
            if isinstance(claim, Unusable):
                raise claim
            whole = halves[claim.group, "TRUE"] == halves[claim.group, "FALSE"] == 1
            usable(whole, "its pair is not one true and one false claim")
            yield books[claim.doc_id]
            yield claim


def _claim(row: Any, books: Mapping[str, Document]) -> Item | Unusable:
    """The claim, or why it cannot be asked; pairs are looked at when all claims are known."""
    try:
        example = checked(CLAIM, row)
        book, verdict = example.book_title, VERDICTS[example.type]
        usable(book in books, f"no text of {book!r}: expected one of the pickle's {sorted(books)}")
        group, kind = f"{book}/{example.index}", example.length_group or example.length_bucket
        about = (f"{group}/{verdict.lower()}", book, example.claim, (verdict,), ("TRUE", "FALSE"))
        item = Item(*about, kind=kind, group=group, raw=row)
        usable(not fault(item), fault(item))
        return item
    except Unusable as error:
        return error


MARK = re.compile(r"^\[(\d{1,7})\][ \t]*", re.MULTILINE)
NO_CLUE = -1


NOVEL = row_of("", novel_id=(int, ...), num_paragraphs=(int | None, None), questions=(list, ...))
QUESTION = row_of("question", options=(dict[str, str], ...), answer=(str, ...), clue_position=(list[int], []))


def read_detectiveqa(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The questions; evidence are the clues' paragraphs. The text has a blank line between paragraphs and no marks.

    A clue at -1 is a step of reasoning that no paragraph states: it is no evidence. Rejected: questions on a novel that
    is missing, and an answer that is none of the four letters.
    """
    novels = {}
    for path in files["novels"]:
        language, number = path.parent.name.removeprefix("novel_data_"), path.name.split("-")[0]
        if number.isdecimal() and novels.setdefault((language, int(number)), path) is not path:
            report.notes[f"two files of one novel: {path.name} is passed over"] += 1
    for path in files["questions"]:
        language, annotation = path.parts[-3].removeprefix("anno_data_"), path.parts[-2]
        if part in (None, f"{language}/{annotation}"):
            value = json_file(path)  # a list with one object; the object alone is taken as well
            for place, held in enumerate(value if isinstance(value, list) else [value], start=1):
                with report.holder(f"{path}, novel {place}", held):
                    yield from _questions(checked(NOVEL, held), f"{language}/{annotation}", path, novels, report)


def _questions(novel: Any, part: str, path: Path, novels: dict, report: Report) -> Iterator[Document | Item]:
    language, number = part.split("/")[0], novel.novel_id
    text, paragraphs, missing = None, {}, f"its novel is missing: expected novel_data_{language}/<novel_id>-<title>.txt"
    if (language, number) in novels:
        text, paragraphs = numbered(novel_of(novels[language, number], language), f"{language}/{number}")
        if novel.num_paragraphs not in (None, len(paragraphs)):
            report.notes["a novel has another number of paragraphs than its annotation says"] += 1
        yield text
    for index, row in enumerate(novel.questions):
        with report.row(f"{path}, question {index + 1}", row):
            example = checked(QUESTION, row)
            usable(text is not None, missing)
            fits = sorted(example.options) == list(LETTERS) and example.answer in example.options
            usable(fits, "the options are not A to D, or the answer is none of them")
            clues = [clue for clue in dict.fromkeys(example.clue_position) if clue != NO_CLUE]
            passages = {clue: paragraphs[clue] for clue in clues if clue in paragraphs and text[paragraphs[clue]]}
            lost = tuple(f"paragraph {clue}" for clue in clues if clue not in passages)
            name, options = f"{part}/{number}/{index}", tuple(example.options[letter] for letter in LETTERS)
            about = (name, text.id, example.question.strip(), (example.options[example.answer],), options, example.answer)
            yield Item(*about, evidence=tuple(sorted(passages.values())), unplaced=lost, language=language, part=part, raw=row)


def novel_of(path: Path, language: str) -> Document:
    """A novel's file. Raises Unusable for one that cannot be read: others may be whole."""
    try:
        return corpora.document(path, language)
    except InputError as error:
        raise Unusable(str(error)) from None


def numbered(novel: Document, name: str) -> tuple[Document, dict[int, Passage]]:
    """A novel without the marks [n] before its paragraphs, and where each paragraph stands.

    A mark begins a line and counts on: [7] in the third paragraph's text is text. A number may be left out, if it comes
    nowhere later.

    >>> text, paragraphs = numbered(Document("n", "[1] Rain.\\n[2] See note\\n[7] below.\\n[3] The end."), "n")
    >>> [text[place] for place in paragraphs.values()]
    ['Rain.', 'See note\\n[7] below.', 'The end.']
    """
    marks = [(int(mark[1]), mark) for mark in MARK.finditer(novel.text)]
    last_place = {number: index for index, (number, _) in enumerate(marks)}
    chosen = []
    for index, (number, mark) in enumerate(marks):
        due = chosen[-1][0] + 1 if chosen else number
        if number == due or (number > due and last_place.get(due, -1) < index):
            chosen.append((number, mark))
    usable(chosen, "its novel has no paragraphs marked [n]")
    ends = [mark.start() for _, mark in chosen[1:]] + [len(novel.text)]
    pieces = [novel.text[mark.end() : end].strip() for (_, mark), end in zip(chosen, ends, strict=True)]
    text, places = joined(pieces, "\n\n", name)
    paragraphs = dict(zip([number for number, _ in chosen], places, strict=True))
    return document(text, novel.language, name=name, title=novel.id.partition("-")[2]), paragraphs


NOVELHOPQA_PARTS = ("hop_1", "hop_2", "hop_3", "hop_4")
COLUMNS = ("book", "context", "question", "answer")


HOP = row_of(" ".join(COLUMNS), id=(int | str | None, None), qid=(int | str | None, None))


def read_novelhopqa(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The rows of the splits that are there, on the novel where it is there, else on their own paragraphs."""
    novels = {title_key(path.stem): path for path in files["novels"] if path.suffix in corpora.SUFFIXES}
    texts: dict[str, Document] = {}
    hops = {name: name for name in NOVELHOPQA_PARTS}
    for hop, number, where, row in parted(files["rows"], part, hops.get, COLUMNS):
        with report.row(where, row):
            example = checked(HOP, row)
            title = title_key(example.book)
            if title in novels:
                if title not in texts:  # one at a time: mostly they come in a row
                    texts = {title: novel_of(novels[title], "en")}
                text = texts[title]
                passages, lost = _evidence(example.context, text)
            else:
                report.notes["no novel of this title: the question is on its own paragraphs"] += 1
                text = document(example.context, "en", "context", title=example.book)
                passages, lost = (), ()
            yield text
            name = next((each for each in (example.id, example.qid) if each not in (None, "")), number)
            about, raw = (f"{hop}/{name}", text.id, example.question, (example.answer,)), rest(row, "context")
            yield Item(*about, evidence=passages, unplaced=lost, part=hop, kind=hop, raw=raw)


def _evidence(context: str, novel: Document) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """Where a row's text stands in the novel: all of it at once, or paragraph by paragraph."""
    if whole := locate(context, novel) if context.strip() else None:
        return (Passage(novel.id, whole.start, whole.end),), ()
    return place(re.split(r"\r?\n[ \t]*\r?\n", context), novel)


def title_key(title: str) -> str:
    """A title as titles are compared: no accents, case or punctuation.

    >>> title_key("Les Misérables: Vol. I") == title_key("les miserables - vol i")
    True
    """
    bare = unicodedata.normalize("NFKD", fold(title).casefold())
    letters = "".join(character for character in bare if not unicodedata.combining(character))
    return " ".join("".join(character if character.isalnum() else " " for character in letters).split())


INFINITEBENCH_PARTS = (
    *("longbook_qa_eng", "longbook_choice_eng", "longbook_sum_eng", "longbook_qa_chn", "longdialogue_qa_eng"),
    *("code_debug", "code_run", "kv_retrieval", "math_calc", "math_find", "number_string", "passkey"),
)
CHOICES = ("longbook_choice_eng", "code_debug")
ASKS = {  # the question where a row has none and the owners' prompt asks it; in our words
    "longbook_sum_eng": "Summarise the book.",
    "longdialogue_qa_eng": "Which character's name stood where $$MASK$$ stands?",
    "code_debug": "Which of these functions has an error that was put there on purpose?",
    "math_calc": "What are the intermediate values of this expression, in order?",
}


BENCH = row_of(  # `content` is older copies' name for the context
    "",
    **dict.fromkeys(("context", "content"), (str | None, None)),
    id=(int | str | None, None),
    input=(str, ""),
    answer=(Any, ...),
    options=(list[str] | None, None),
)


def read_infinitebench(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The rows of the tasks that are there. A book comes once, however many questions and tasks ask about it.

    Rejected: rows without a text, a choice without four options, and an answer that is none of them or at odds with its
    letter.
    """
    known = [path for path in files["rows"] if path.stem in INFINITEBENCH_PARTS]
    held = f"{files['rows'][0].parent} holds {', '.join(path.name for path in files['rows'])}"
    require(known, f"{held}: expected a task's file, such as {INFINITEBENCH_PARTS[0]}.jsonl")
    for task, number, where, row in parted(known, part):
        with report.row(where, row):
            example, language = checked(BENCH, row), "zh" if task.endswith("_chn") else "en"
            text = example.context if example.context is not None else example.content
            usable(text is not None, "context: Field required")
            book = document(text, language, "book")
            choice, answers = answered(task, example.answer, example.options or [])
            name, question = number if example.id is None else example.id, example.input.strip() or ASKS.get(task, "")
            options, raw = tuple(example.options) if choice else (), rest(row, "context", "content")
            about = (f"{task}/{name}", book.id, question, answers, options, choice)
            yield book
            yield Item(*about, language=language, part=task, raw=raw)


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
    fits = listed and all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in listed)
    usable(fits, "answer: expected strings or numbers")
    words = [str(each) for each in listed]
    if task == "math_calc":
        return "", (", ".join(words),)
    if task not in CHOICES:
        return "", tuple(words)
    usable(len(options) == len(LETTERS), "a choice without four options")
    right = [letter for letter, option in zip(LETTERS, options, strict=True) if option == words[0]]
    if not right and len(words) == 1 and words[0] in tuple(LETTERS):
        right = words
    if len(words) == 2:
        right = [letter for letter in right if letter == words[1]]
    usable(len(words) <= 2 and len(right) == 1, "the answer is not one of the options, or at odds with its letter")
    return right[0], (options[LETTERS.index(right[0])],)
