"""DetectiveQA: who did it, and by which steps one sees it; four options, and the paragraphs that hold the clues.

English and Chinese; annotated by people alone, or with a model's help. The novels are in copyright: keep them to
yourself. Xu et al., 2024. The format is known from others' loaders, not from the owners' files. Meant for notebooks 10
and on, pointed at a real benchmark.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.reading import json_file
from benchmarks.shapes import LETTERS, Found, Item, Passage, Report, Row, Unusable, checked, document, joined
from mindscape.corpora import own
from mindscape.text import Document

PARTS = ("en/human_anno", "en/AIsup_anno", "zh/human_anno", "zh/AIsup_anno")
MARK = re.compile(r"^\[(\d{1,7})\][ \t]*", re.MULTILINE)
NO_CLUE = -1


class _Novel(Row):
    novel_id: int
    num_paragraphs: int | None = None
    questions: list


class _Asked(Row):
    question: str
    options: dict[str, str]
    answer: str
    clue_position: list[int] = []


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
                    yield from _questions(checked(_Novel, held), f"{language}/{annotation}", path, novels, report)


def _questions(novel: _Novel, part: str, path: Path, novels: dict, report: Report) -> Iterator[Document | Item]:
    language, number = part.split("/")[0], novel.novel_id
    text, paragraphs, missing = None, {}, f"its novel is missing: expected novel_data_{language}/<novel_id>-<title>.txt"
    if (language, number) in novels:
        text, paragraphs = numbered(own.document(novels[language, number], language), f"{language}/{number}")
        if novel.num_paragraphs not in (None, len(paragraphs)):
            report.notes["a novel has another number of paragraphs than its annotation says"] += 1
        yield text
    for index, row in enumerate(novel.questions):
        with report.row(f"{path}, question {index + 1}", row):
            asked = checked(_Asked, row)
            if text is None:
                raise Unusable(missing)
            if sorted(asked.options) != list(LETTERS) or asked.answer not in asked.options:
                raise Unusable("the options are not A to D, or the answer is none of them")
            clues = [clue for clue in dict.fromkeys(asked.clue_position) if clue != NO_CLUE]
            found = {clue: paragraphs[clue] for clue in clues if clue in paragraphs and text[paragraphs[clue]]}
            yield Item(
                id=f"{part}/{number}/{index}",
                doc_id=text.id,
                question=asked.question.strip(),
                answers=(asked.options[asked.answer],),
                options=tuple(asked.options[letter] for letter in LETTERS),
                choice=asked.answer,
                evidence=tuple(sorted(found.values())),
                unplaced=tuple(f"paragraph {clue}" for clue in clues if clue not in found),
                language=language,
                part=part,
                raw=row,
            )


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
    if not chosen:
        raise Unusable("its novel has no paragraphs marked [n]")
    ends = [mark.start() for _, mark in chosen[1:]] + [len(novel.text)]
    pieces = [novel.text[mark.end() : end].strip() for (_, mark), end in zip(chosen, ends, strict=True)]
    text, places = joined(pieces, "\n\n", name)
    paragraphs = dict(zip([number for number, _ in chosen], places, strict=True))
    return document(text, novel.language, name=name, title=novel.id.partition("-")[2]), paragraphs
