"""LongBench v2, 503 hard choices on long texts of all sorts, and MultiFieldQA-zh, 200 rows of the first LongBench.

Bai et al., 2023 and 2024. `data.json` of v2 is one list of 465 MB and is read piece by piece; its column `length` is a
word, short, medium or long. Meant for notebooks 10 and on, pointed at a real benchmark.

LooGLE: short and long dependencies in papers, Wikipedia articles and film scripts of after 2022.

A row is a text; its questions are a string that holds a Python literal, which the owners' scripts evaluate and this reads
as a literal, nothing else. Li et al., 2023. Meant for notebooks 10 and on, pointed at a real benchmark.

QMSum: what was said on something in a meeting, answered by a summary.

Meetings of academics, product teams and parliamentary committees. Questions on the whole meeting have no evidence, those
on a part have spans of turns. Zhong et al., 2021. Meant for notebooks 10 and on, pointed at a real benchmark.

CRUD-RAG: four things that retrieval is good for, on Chinese news: continue, answer, correct, summarise.

One file holds the rows of six tasks; 80,000 articles are the collection to search. Lyu et al., 2024. The rows' keys are
known from the owners' code. Meant for notebooks 10 and on, pointed at a real benchmark.

OmniEval: questions on Chinese finance, by topic and by five kinds of task, among them whole conversations.

A tree of folders by topic, a file of JSON lines a task; a line of the conversations is a list of turns. Wang et al.,
2024. The format is known from the owners' code, not from the data's description. Meant for notebooks 10 and on, pointed
at a real benchmark.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import create_model

from benchmarks.reading import (
    COLLECTION,
    LETTERS,
    Found,
    Item,
    Passage,
    Report,
    Row,
    Unusable,
    checked,
    document,
    joined,
    json_file,
    json_lines,
    json_list,
    literal,
    place,
    rest,
    text_lines,
)
from mindscape.errors import InputError, require
from mindscape.text import Document

LONGBENCH_PARTS = ("short", "medium", "long")


class _Choice(Row):
    domain: str = ""
    difficulty: str
    length: Literal["short", "medium", "long"]
    question: str
    choice_A: str
    choice_B: str
    choice_C: str
    choice_D: str
    answer: Literal["A", "B", "C", "D"]
    context: str


def read_v2(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The choices; `part` is the length, `kind` domain and difficulty. Long texts stay in: without them scores rise."""
    for where, row in json_list(files["rows"][0]):
        if part is not None and isinstance(row, dict) and row.get("length") != part:
            continue
        with report.row(where, row):
            one = checked(_Choice, row)
            options = (one.choice_A, one.choice_B, one.choice_C, one.choice_D)
            text = document(one.context, "en")
            yield text
            yield Item(
                id=str(row.get("_id") or where.rpartition(" ")[2]),
                doc_id=text.id,
                question=one.question,
                answers=(options[LETTERS.index(one.answer)],),
                options=options,
                choice=one.answer,
                part=one.length,
                kind=f"{one.domain}/{one.difficulty}",
                raw=rest(row, "context"),
            )


class _Field(Row):
    input: str
    context: str
    answers: list[str]


class _Copied(Row):
    question: str
    answer: str


def read_multifieldqa(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """LongBench's own rows; or MoM's copy, a list of questions and answers without their texts, and so without doc_id."""
    path = files["rows"][0]
    if path.suffix == ".json":
        for number, (where, row) in enumerate(json_list(path), start=1):
            with report.row(where, row):
                copied = checked(_Copied, row)
                report.notes["MoM's copy: the question's text is not in it"] += 1
                yield Item(str(number), "", copied.question, (copied.answer,), language="zh", raw=row)
        return
    for number, (where, row) in enumerate(json_lines(path), start=1):
        with report.row(where, row):
            one = checked(_Field, row)
            text = document(one.context, "zh")
            yield text
            name = str(row.get("_id") or number)
            yield Item(name, text.id, one.input, tuple(one.answers), language="zh", raw=rest(row, "context"))


LOOGLE_PARTS = ("shortdep_qa", "shortdep_cloze", "longdep_qa", "longdep_summarization")
NAMES = {part: part for part in LOOGLE_PARTS} | {"summarization": "longdep_summarization"}  # the file's newer name
NONE = ("none", "")
SUMMARISE = "Summarise the paper."  # ours; the rows hold no question


class _LoogleRow(Row):
    input: str
    title: str = ""
    qa_pairs: str | list
    output: str = ""


class _Pair(Row):
    Q: str
    A: str | dict[str, str]
    S: str | list[str] = []
    type: str = ""


def read_loogle(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The questions of the tasks that are there; `kind` is LooGLE's type of a long dependency.

    A cloze has one answer, the entities by mask as JSON. Evidence is often not word for word: what is not found even
    as a similar passage is in `unplaced`. Rejected: a string that is no literal, whatever it might do if it were run.
    """
    for path in files["rows"]:
        task = NAMES.get(path.stem)
        if task is None or part not in (None, task):
            continue
        for line, (where, row) in enumerate(json_lines(path), start=1):
            with report.holder(where, row):
                one = checked(_LoogleRow, row)
                text = document(one.input, "en", title=one.title.strip())
                asked = _pairs(one.qa_pairs) if task != "longdep_summarization" else []
                yield text
                if task == "longdep_summarization":
                    with report.row(where, row):
                        if one.output.strip().lower() in NONE:
                            raise Unusable("there is no summary")
                        raw = {"title": one.title}
                        yield Item(f"{task}/{line}", text.id, SUMMARISE, (one.output,), part=task, raw=raw)
                for number, pair in enumerate(asked, start=1):
                    with report.row(f"{where}, question {number}", pair):
                        yield _item(f"{task}/{line}/{number}", checked(_Pair, pair), text, task, pair)


def _pairs(pairs: str | list) -> list:
    """The questions of a row. The owners' description shows a list, their files hold a string."""
    if isinstance(pairs, str):
        if pairs.strip().lower() in NONE:
            raise Unusable("there are no questions: qa_pairs is 'none'")
        try:
            pairs = literal(pairs)
        except ValueError as error:
            raise Unusable(f"qa_pairs: {error}") from None
    if not isinstance(pairs, list) or not pairs:
        raise Unusable("qa_pairs: expected a list of questions")
    return pairs


def _item(name: str, pair: _Pair, text: Document, task: str, raw: Any) -> Item:
    answer = pair.A if isinstance(pair.A, str) else json.dumps(pair.A, ensure_ascii=False)
    evidence, lost = place([pair.S] if isinstance(pair.S, str) else pair.S, text)
    return Item(
        id=name,
        doc_id=text.id,
        question=pair.Q,
        answers=(answer,),
        evidence=evidence,
        unplaced=lost,
        part=task,
        kind=pair.type,
        raw=raw,
    )


QMSUM_PARTS = ("train", "val", "test")
DOMAINS = ("ALL", "Academic", "Committee", "Product")  # the folders; the first holds the others' meetings too
WHOLE, PARTIAL = "general", "specific"


class _Turn(Row):
    speaker: str
    content: str


class _Query(Row):
    query: str
    answer: str
    relevant_text_span: list[list[str | int]] = []


class _Meeting(Row):
    topic_list: list = []
    general_query_list: list = []
    specific_query_list: list = []
    meeting_transcripts: list[_Turn]


def read_qmsum(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The queries of the splits that are there. A text is a line a turn, "speaker: content"; `meta` has its topics.

    Evidence is the passage from the first to the last turn of each span. A span that runs backwards or out of the
    meeting is not placed. A meeting has no name in the files: it is called by split and line, or by its own file.
    """
    for path in files["meetings"]:
        lines = path.suffix == ".jsonl"
        split = path.stem if lines else path.parent.name
        if split not in QMSUM_PARTS or part not in (None, split):
            continue
        domain = path.parents[1].name if path.parents[1].name in DOMAINS else DOMAINS[0]
        rows = json_lines(path) if lines else [(str(path), json_file(path))]
        for number, (where, row) in enumerate(rows, start=1):
            name = f"{domain}/{split}/{number if lines else path.stem}"
            with report.holder(where, row):
                yield from _meeting(checked(_Meeting, row), name, split, where, report)


def _meeting(meeting: _Meeting, name: str, split: str, where: str, report: Report) -> Iterator[Document | Item]:
    if not meeting.meeting_transcripts:
        raise Unusable("the meeting has no turns")
    text, turns = joined([f"{turn.speaker}: {turn.content}" for turn in meeting.meeting_transcripts], "\n", name)
    yield document(text, "en", name=name, topics=meeting.topic_list)
    for kind, queries in ((WHOLE, meeting.general_query_list), (PARTIAL, meeting.specific_query_list)):
        for number, row in enumerate(queries, start=1):
            with report.row(f"{where}, {kind} query {number}", row):
                query = checked(_Query, row)
                evidence, lost = _spans(query.relevant_text_span, turns)
                yield Item(
                    id=f"{name}/{kind}/{number}",
                    doc_id=name,
                    question=query.query,
                    answers=(query.answer,),
                    evidence=evidence,
                    unplaced=lost,
                    part=split,
                    kind=kind,
                    raw=row,
                )


def _spans(spans: list[list[str | int]], turns: list[Passage]) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """Spans of turns as passages. Their ends are inclusive, and strings: "9" comes before "10"."""
    found, lost = [], []
    for span in spans:
        try:
            first, last = map(int, span)
        except ValueError:
            first, last = 1, 0
        if 0 <= first <= last < len(turns):
            found.append(Passage(turns[first].doc_id, turns[first].start, turns[last].end))
        else:
            lost.append(f"turns {json.dumps(span)}")
    return tuple(sorted(found)), tuple(lost)


FORMS = {  # task: the keys of what asks, of what answers, of the articles that the answer is in
    "questanswer_1doc": (["questions"], "answers", ["news1"]),
    "questanswer_2docs": (["questions"], "answers", ["news1", "news2"]),
    "questanswer_3docs": (["questions"], "answers", ["news1", "news2", "news3"]),
    "event_summary": (["event"], "summary", ["text"]),
    "continuing_writing": (["beginning"], "continuing", []),
    "hallu_modified": (["newsBeginning", "hallucinatedContinuation"], "hallucinatedMod", []),
}
TEXT: Any = (str, ...)  # a field that must be there
ROWS = {  # task: its rows
    task: create_model(task, __base__=Row, ID=(int | str, ...), **dict.fromkeys([*asked, answer, *news], TEXT))
    for task, (asked, answer, news) in FORMS.items()
}
CRUD_RAG_PARTS = tuple(FORMS)
DATE = re.compile(r"^\s*(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*[，,]\s*正文[：:]\s*")
BREAKS = re.compile(r"(?<![!-~\s])\s+|\s+(?![!-~\s])")  # white space with something beside it that is not ASCII
FAILED = '","msg":"request openai failed"'  # what the owners' generator left where it got no reply


def read_crud_rag(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The rows of all tasks. Each is put to the collection, so its doc_id is empty; where a row brings articles, they are
    documents and evidence. An article has the same id in `articles`, so that evidence is found there too.

    A summary's question is the event, a continuation's the beginning, and a correction's the beginning with the wrong
    continuation on a line of its own. Rejected: rows whose correction the owners' generator failed to write.
    """
    path = files["rows"][0]
    tasks = json_file(path)
    if not isinstance(tasks, dict) or not set(tasks) & set(CRUD_RAG_PARTS):
        keys = ", ".join(sorted(map(str, tasks))) if isinstance(tasks, dict) else type(tasks).__name__
        raise InputError(f"{path} holds {keys}: expected an object with the lists {', '.join(CRUD_RAG_PARTS)}")
    if files[COLLECTION]:
        report.collection = frozenset(article.id for article in crud_articles(files))
    for task in CRUD_RAG_PARTS:
        if part in (None, task):
            rows = tasks.get(task, [])
            require(isinstance(rows, list), f"{path}: {task} is no list: expected a list of rows")
            for number, row in enumerate(rows, start=1):
                with report.row(f"{path}, {task}, row {number}", row):
                    yield from _of(task, row)


def _of(task: str, row: dict) -> list[Document | Item]:
    """A row's item, after its articles, which are its evidence."""
    checked(ROWS[task], row)
    asked, answer, news = FORMS[task]
    if row[answer].strip() == FAILED:
        raise Unusable("the owners' request for its correction failed")
    texts = [_article(row[name]) for name in news]
    item = Item(
        id=f"{task}/{row['ID']}",
        doc_id="",
        question="\n".join(row[key] for key in asked),
        answers=(row[answer],),
        evidence=tuple(Passage(text.id, 0, len(text.text)) for text in texts),
        language="zh",
        part=task,
        raw=rest(row, *news),
    )
    return [*texts, item]


def _article(text: str) -> Document:
    """A news article as both the rows and the collection can have it, so that its id is the same.

    Some copies begin with a date, and the collection has no line breaks: the date goes to `meta`, and white space stays
    between Latin words alone.
    """
    date = DATE.match(text)
    bare = BREAKS.sub("", (text[date.end() :] if date else text).strip())
    return document(" ".join(bare.split()), "zh", "news", **({"date": date[1]} if date else {}))


def crud_articles(files: Found) -> Iterator[Document]:
    """The collection: one article a line, most of them with date and time before the text; these go to `meta["date"]`.

    >>> article = _article("2023-08-01 09:30:00，正文：桥修好了。")
    >>> article.text, article.meta["date"]
    ('桥修好了。', '2023-08-01 09:30:00')
    """
    for path in files[COLLECTION]:
        for _, line in text_lines(path):
            try:
                yield _article(line)
            except Unusable:
                continue


TASKS = {  # the files' names: ours
    "抽取类问答": "extractive",
    "多跳推理类问答": "multi-hop",
    "对比类问答": "contrast",
    "长答案形式问答": "long-form",
    "多轮对话能力": "multi-turn",
}
OMNIEVAL_PARTS = tuple(TASKS.values())


class _OmniRow(Row):
    question: str
    answer: str | list[str]
    relevant_passage: list[str] = []
    topic_name: str = ""
    task_name: str = ""


class _Entry(Row):
    id: int | str
    title: str = ""
    contents: str


def read_omnieval(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The questions; `kind` is the topic, `group` the conversation whose earlier turns a later one may need.

    The relevant passages are documents and evidence; doc_id is empty, as a question is put to the collection. The
    model's notes on how it made a question stay in `raw`, under either spelling, `thought_process` or `though_process`.
    MoM's copy is one list of questions and answers, without passages.
    """
    if files[COLLECTION]:
        report.collection = frozenset(text.id for text in omnieval_passages(files, report))
    for path in files["rows"]:
        if path.suffix == ".json":
            report.notes["MoM's copy: the relevant passages are not in it"] += 1
            rows = ((where, [row]) for where, row in json_list(path))
        else:
            rows = ((where, row if isinstance(row, list) else [row]) for where, row in json_lines(path))
        for line, (where, turns) in enumerate(rows, start=1):
            talk = len(turns) > 1 or TASKS.get(path.stem) == "multi-turn"
            if not turns:
                with report.row(where):
                    raise Unusable("the conversation is empty")
            for number, row in enumerate(turns, start=1):
                task = _task(row, path)
                if part in (None, task):
                    with report.row(f"{where}, turn {number}" if talk else where, row):
                        one = checked(_OmniRow, row)
                        name = f"{path.relative_to(report.folder).with_suffix('').as_posix()}/{line}"
                        yield from _asked(one, task, name, number if talk else 0, row)


def _task(row: Any, path: Path) -> str:
    said = row.get("task_name") if isinstance(row, dict) else None
    return TASKS.get(said if isinstance(said, str) else "") or TASKS.get(path.stem, "")


def _asked(one: _OmniRow, task: str, name: str, turn: int, row: dict) -> list[Document | Item]:
    texts = [document(passage, "zh", "passage") for passage in dict.fromkeys(one.relevant_passage) if passage.strip()]
    item = Item(
        id=f"{name}/{turn}" if turn else name,
        doc_id="",
        question=one.question,
        answers=(one.answer,) if isinstance(one.answer, str) else tuple(one.answer),
        evidence=tuple(Passage(text.id, 0, len(text.text)) for text in texts),
        language="zh",
        part=task,
        kind=one.topic_name,
        group=name if turn else "",
        raw=rest(row, "relevant_passage"),
    )
    return [*texts, item]


def omnieval_passages(files: Found, report: Report | None = None) -> Iterator[Document]:
    """The collection that questions are put to; `meta` has each entry's own id and title.

    A passage that a question names has the same id if its text is the same to the letter.
    """
    report = report or Report("omnieval collection")
    for path in files[COLLECTION]:
        for _, row in json_lines(path):
            try:
                one = checked(_Entry, row)
                yield document(one.contents, "zh", "passage", own_id=str(one.id), title=one.title)
            except Unusable as error:
                report.notes[f"an entry of the collection is passed over: {error}"] += 1
