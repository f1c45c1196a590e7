"""Benchmarks on articles, meetings and news, in the formats of their owners' files:

- LongBench v2, 503 hard choices on long texts of all sorts, and MultiFieldQA-zh, 200 rows of the first LongBench (Bai et al.,
  2023 and 2024). `data.json` of v2 is one list of 465 MB and is read piece by piece; its column `length` is a word, short,
  medium or long.
- LooGLE, short and long dependencies in papers, Wikipedia articles and film scripts of after 2022 (Li et al., 2023). A row is a
  text; its questions are a string that holds a Python literal, which the owners' scripts evaluate and this reads as a literal,
  nothing else.
- QMSum, what was said on something in a meeting, answered by a summary (Zhong et al., 2021). Meetings of academics, product
  teams and parliamentary committees. Questions on the whole meeting have no evidence, those on a part have spans of turns.
- CRUD-RAG, four things that retrieval is good for, on Chinese news: continue, answer, correct, summarise (Lyu et al., 2024).
  One file holds the rows of six tasks; 80,000 articles are the collection to search. The rows' keys are known from the owners'
  code.
- OmniEval, questions on Chinese finance, by topic and by five kinds of task, among them whole conversations (Wang et al.,
  2024). A tree of folders by topic, a file of JSON lines a task; a line of the conversations is a list of turns. The format is
  known from the owners' code, not from the data's description.

Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal

from benchmarks.files import COLLECTION, checked, json_file, literal, parted, row_of, rows_of, text_lines
from benchmarks.reading import LETTERS, Found, Item, Passage, Report, Unusable, document, joined, place, rest, usable, whole
from mindscape.errors import InputError, require
from mindscape.text import Document

LONGBENCH_PARTS = ("short", "medium", "long")
CHOICE = row_of(
    "difficulty question choice_A choice_B choice_C choice_D context",
    domain=(str, ""),
    length=(Literal["short", "medium", "long"], ...),
    answer=(Literal["A", "B", "C", "D"], ...),
)
FIELD = row_of("input context", answers=(list[str], ...))
COPIED = row_of("question answer")


def read_v2(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The choices; `part` is the length, `kind` domain and difficulty. Long texts stay in: without them scores rise."""
    for where, row in rows_of(files["rows"][0]):
        other = isinstance(row, dict) and row.get("length") in LONGBENCH_PARTS and row["length"] != part
        if part is not None and other:  # one of no known length is rejected below
            continue
        with report.row(where, row):
            case = checked(CHOICE, row)
            options = (case.choice_A, case.choice_B, case.choice_C, case.choice_D)
            text, name = document(case.context, "en"), str(row.get("_id") or where.rpartition(" ")[2])
            answers, kind = (options[LETTERS.index(case.answer)],), f"{case.domain}/{case.difficulty}"
            raw = rest(row, "context")
            yield text
            yield Item(name, text.id, case.question, answers, options, case.answer, part=case.length, kind=kind, raw=raw)


def read_multifieldqa(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """LongBench's own rows; or MoM's copy, a list of questions and answers without their texts, and so without doc_id."""
    path = files["rows"][0]
    for number, (where, row) in enumerate(rows_of(path), start=1):
        with report.row(where, row):
            if path.suffix == ".json":
                copied = checked(COPIED, row)
                report.notes["MoM's copy: the question's text is not in it"] += 1
                yield Item(str(number), "", copied.question, (copied.answer,), language="zh", raw=row)
            else:
                example = checked(FIELD, row)
                text, name = document(example.context, "zh"), str(row.get("_id") or number)
                yield text
                yield Item(name, text.id, example.input, tuple(example.answers), language="zh", raw=rest(row, "context"))


LOOGLE_PARTS = ("shortdep_qa", "shortdep_cloze", "longdep_qa", "longdep_summarization")
NAMES = {part: part for part in LOOGLE_PARTS} | {"summarization": "longdep_summarization"}  # the file's newer name
NONE = ("none", "")
SUMMARISE = "Summarise the paper."  # ours; the rows hold no question


LOOGLE = row_of("input", title=(str, ""), qa_pairs=(str | list, ...), output=(str, ""))
PAIR = row_of("Q", A=(str | dict[str, str], ...), S=(str | list[str], []), type=(str, ""))


def read_loogle(files: Found, report: Report, part: str | None) -> Iterator[Document | Item]:
    """The questions of the tasks that are there; `kind` is LooGLE's type of a long dependency.

    A cloze has one answer, the entities by mask as JSON. Evidence is often not word for word: what is not found even
    as a similar passage is in `unplaced`. Rejected: a string that is no literal, whatever it might do if it were run.
    """
    for task, line, where, row in parted(files["rows"], part, NAMES.get):
        with report.holder(where, row):
            article, name = checked(LOOGLE, row), f"{task}/{line}"
            text = document(article.input, "en", title=article.title.strip())
            pairs = _pairs(article.qa_pairs) if task != "longdep_summarization" else []
            yield text
            if task == "longdep_summarization":
                with report.row(where, row):
                    usable(article.output.strip().lower() not in NONE, "there is no summary")
                    yield Item(name, text.id, SUMMARISE, (article.output,), part=task, raw={"title": article.title})
            for number, pair in enumerate(pairs, start=1):
                with report.row(f"{where}, question {number}", pair):
                    yield _item(f"{name}/{number}", text, task, pair)


def _pairs(pairs: str | list) -> list:
    """The questions of a row. The owners' description shows a list, their files hold a string."""
    if isinstance(pairs, str):
        usable(pairs.strip().lower() not in NONE, "there are no questions: qa_pairs is 'none'")
        try:
            pairs = literal(pairs)
        except ValueError as error:
            raise Unusable(f"qa_pairs: {error}") from None
    usable(isinstance(pairs, list) and pairs, "qa_pairs: expected a list of questions")
    return list(pairs)


def _item(name: str, text: Document, task: str, raw: Any) -> Item:
    pair = checked(PAIR, raw)
    answers = (pair.A if isinstance(pair.A, str) else json.dumps(pair.A, ensure_ascii=False),)
    passages, lost = place([pair.S] if isinstance(pair.S, str) else pair.S, text)
    return Item(name, text.id, pair.Q, answers, evidence=passages, unplaced=lost, part=task, kind=pair.type, raw=raw)


QMSUM_PARTS = ("train", "val", "test")
QUERIES = {"general_query_list": "general", "specific_query_list": "specific"}  # key: on the whole meeting, on a part
DOMAINS = ("ALL", "Academic", "Committee", "Product")  # the folders; the first holds the others' meetings too
TURN = row_of("speaker content")
QUERY = row_of("query answer", relevant_text_span=(list[list[str | int]], []))
MEETING = row_of("", **dict.fromkeys(("topic_list", *QUERIES), (list | None, None)), meeting_transcripts=(list[TURN], ...))  # type: ignore[valid-type]


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
        rows = rows_of(path) if lines else [(str(path), json_file(path))]
        for number, (where, row) in enumerate(rows, start=1):
            name = f"{domain}/{split}/{number if lines else path.stem}"
            with report.holder(where, row):
                yield from _meeting(checked(MEETING, row), name, split, where, report)


def _meeting(meeting: Any, name: str, split: str, where: str, report: Report) -> Iterator[Document | Item]:
    usable(meeting.meeting_transcripts, "the meeting has no turns")
    text, turns = joined([f"{turn.speaker}: {turn.content}" for turn in meeting.meeting_transcripts], "\n", name)
    yield document(text, "en", name=name, topics=meeting.topic_list or [])
    for key, kind in QUERIES.items():
        for number, row in enumerate(getattr(meeting, key) or (), start=1):
            with report.row(f"{where}, {kind} query {number}", row):
                query, each = checked(QUERY, row), f"{name}/{kind}/{number}"
                passages, lost = _spans(query.relevant_text_span, turns)
                about = (query.query, (query.answer,))
                yield Item(each, name, *about, evidence=passages, unplaced=lost, part=split, kind=kind, raw=row)


def _spans(spans: list[list[str | int]], turns: list[Passage]) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """Spans of turns as passages. Their ends are inclusive, and strings: "9" comes before "10"."""
    passages, lost = [], []
    for span in spans:
        try:
            first, last = map(int, span)
        except ValueError:
            first, last = 1, 0
        if 0 <= first <= last < len(turns):
            passages.append(Passage(turns[first].doc_id, turns[first].start, turns[last].end))
        else:
            lost.append(f"turns {json.dumps(span)}")
    return tuple(sorted(passages)), tuple(lost)


FORMS = {  # task: the keys of what asks, of what answers, of the articles that the answer is in
    "questanswer_1doc": (["questions"], "answers", ["news1"]),
    "questanswer_2docs": (["questions"], "answers", ["news1", "news2"]),
    "questanswer_3docs": (["questions"], "answers", ["news1", "news2", "news3"]),
    "event_summary": (["event"], "summary", ["text"]),
    "continuing_writing": (["beginning"], "continuing", []),
    "hallu_modified": (["newsBeginning", "hallucinatedContinuation"], "hallucinatedMod", []),
}
ROWS = {  # task: its rows
    task: row_of(" ".join([*query, answer, *news]), ID=(int | str, ...)) for task, (query, answer, news) in FORMS.items()
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
    query, answer, news = FORMS[task]
    usable(row[answer].strip() != FAILED, "the owners' request for its correction failed")
    texts, question = [_article(row[name]) for name in news], "\n".join(row[key] for key in query)
    about = (f"{task}/{row['ID']}", "", question, (row[answer],))
    return [*texts, Item(*about, evidence=whole(texts), language="zh", part=task, raw=rest(row, *news))]


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
            with suppress(Unusable):
                yield _article(line)


TASKS = {  # the files' names: ours
    "抽取类问答": "extractive",
    "多跳推理类问答": "multi-hop",
    "对比类问答": "contrast",
    "长答案形式问答": "long-form",
    "多轮对话能力": "multi-turn",
}

ASKED = row_of(
    "question", answer=(str | list[str], ...), relevant_passage=(list[str], []), topic_name=(str, ""), task_name=(str, "")
)
ENTRY = row_of("contents", id=(int | str, ...), title=(str, ""))


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
        for line, (where, row) in enumerate(rows_of(path), start=1):
            turns = row if isinstance(row, list) else [row]
            with report.holder(where):
                usable(turns, "the conversation is empty")
            name = f"{path.relative_to(report.folder).with_suffix('').as_posix()}/{line}"
            talk = len(turns) > 1 or TASKS.get(path.stem) == "multi-turn"
            for number, turn in enumerate(turns, start=1):
                said = turn.get("task_name") if isinstance(turn, dict) else ""
                task = TASKS.get(str(said)) or TASKS.get(path.stem, "")
                if part in (None, task):
                    with report.row(f"{where}, turn {number}" if talk else where, turn):
                        yield from _answered(turn, task, name, number if talk else 0)


def _answered(row: Any, task: str, name: str, turn: int) -> list[Document | Item]:
    example, raw = checked(ASKED, row), rest(row, "relevant_passage")
    texts = [document(passage, "zh", "passage") for passage in dict.fromkeys(example.relevant_passage) if passage.strip()]
    answers = (example.answer,) if isinstance(example.answer, str) else tuple(example.answer)
    about = (f"{name}/{turn}" if turn else name, "", example.question, answers)
    labels = {"language": "zh", "part": task, "kind": example.topic_name, "group": name if turn else ""}
    return [*texts, Item(*about, evidence=whole(texts), **labels, raw=raw)]


def omnieval_passages(files: Found, report: Report | None = None) -> Iterator[Document]:
    """The collection that questions are put to; `meta` has each entry's own id and title.

    A passage that a question names has the same id if its text is the same to the letter.
    """
    report = report or Report("omnieval collection")
    for path in files[COLLECTION]:
        for _, row in rows_of(path):
            try:
                entry = checked(ENTRY, row)
                yield document(entry.contents, "zh", "passage", own_id=str(entry.id), title=entry.title)
            except Unusable as error:
                report.notes[f"an entry of the collection is passed over: {error}"] += 1
