"""What came of a run: lines for a terminal, a page for a browser, JSON for programs.

For each question the quoted passages come first, then the answers beside each other with what they rest on: a small model's
answer is worth less than the passage that it was shown. The book's text and the model's words are data: in the page they are
escaped, and nothing in it is run or loaded. Taught in notebook 52_your_own_book.
"""

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jinja2 import Template

from mindscape import errors, results
from mindscape.errors import MindscapeError
from mindscape.llm import OURS
from mindscape.metrics import Language
from mindscape.mindgraph.graph import as_html
from mindscape.own_book import memories
from mindscape.own_book.book import OwnAnswer, is_silent
from mindscape.own_book.memories import PLAIN
from mindscape.own_book.run import OwnRun, duration
from mindscape.search import terms
from mindscape.text import Chunk, mentions

QUOTED = 2  # passages that are quoted for a question before its answers
EXCERPT, SHORT = 130, 120  # characters of a source, and of a passage on a terminal
OTHER_FOLDER = "or name another folder with --out"


def line(text: str) -> str:
    """A text in one line.

    >>> line("Out,\\n  damned spot!")
    'Out, damned spot!'
    """
    return " ".join(text.split())


def excerpt(run: OwnRun, place: Chunk, answer: str) -> str:
    """Some words of a place, around the first of an answer's words that it has.

    >>> excerpt(run, place, "Colmekill")                                                     # doctest: +SKIP
    "… Where is Duncan's body? MACDUFF Carried to Colmekill, The sacred storehouse …"
    """
    text = line(run.book.document[place])
    at = [i for word in terms(answer, run.book.language) for i in mentions(word, text)[:1]]
    start = max(0, min(at, default=0) - EXCERPT // 2)
    end = start + EXCERPT
    return ("… " if start else "") + text[start:end] + (" …" if end < len(text) else "")


def trust(run: OwnRun) -> str:
    """One line on how far answers can be trusted: measured on plays, in notebook 52, for the embedded reader.

    >>> trust(run)                                                                           # doctest: +SKIP
    'The embedded reader has 135 million parameters … on plays it was right 15% of the time …'
    """
    if run.llm not in OURS:
        return ""
    try:
        metrics = results.read("52_your_own_book")["metrics"]
        right, supported, other = (metrics[f"plays.right{kind}"] for kind in ("", ".supported", ".unsupported"))
        measured = (
            f"on plays it was right {right['value']:.0%} of the time (n = {right['n']}), {supported['value']:.0%} where its "
            f"answer is supported and {other['value']:.0%} where it is not"
        )
    except (MindscapeError, KeyError, TypeError):
        measured = "how often it is right is measured in notebook 52"
    return (
        "The embedded reader has 135 million parameters and knows one kind of English prose: read the quoted passages first, "
        f"its answers last; {measured}."
    )


def rests(answer: OwnAnswer, language: Language = "en") -> str:
    """What is known of an answer's source, in words; `language` is the answer's.

    >>> rests(OwnAnswer("plain search", "Who fled?", "Ivo")), rests(OwnAnswer("graph", "Who fled?", ""))
    ('its words are in no passage that was shown', 'no answer')
    """
    if is_silent(answer.answer, language):
        return f"no answer: {answer.reason}" if answer.reason else "no answer"
    if answer.source is None:
        return "its words are in no passage that was shown"
    if answer.supported is None:
        return "support not measured: no likelihoods"
    return "supported" if answer.supported else "not supported: as likely without its source"


def set_aside(run: OwnRun) -> list[str]:
    """A line for each memory that is not used, and what each used one was checked for.

    >>> set_aside(run)                                                                       # doctest: +SKIP
    ['mindscape: set aside: finds 31 of 60 sentences where plain search finds 43']
    """
    lines = []
    checked = {check.memory: check for check in run.checked}
    for memory in run.built:
        unchecked = checked.get(memory.name, "not checked, the book has too few sentences")
        said = f"set aside: {memory.aside}" if memory.aside else unchecked
        lines.append(f"{memory.name}: {said}" + (f"; {memory.note}" if memory.note else ""))
    if run.graphs:
        notes = sum(len(read.graph.nodes) for read in run.graphs)
        dropped = sum(len(read.dropped) for read in run.graphs)
        more = f", {dropped} more were dropped: names that are not where their quotes are" if dropped else ""
        lines.append(f"graph: {notes} notes{more}")
    return lines


def cost_rows(run: OwnRun) -> list[list[str]]:
    """For each memory the calls and tokens that were estimated at most, and what it took; then all together.

    >>> cost_rows(run)[-1][0]                                                                # doctest: +SKIP
    'together'
    """
    table = run.costs()
    rows = []
    for name in table.index:
        answered = sum(answer.tokens for answer in run.answers.get(name, []))
        estimated = int(table.read[name] + table.written[name])
        rows.append([name, f"{table.calls[name]:,}", f"{estimated:,}", f"{run.tokens_of(name) + answered:,}"])
    money = memories.dollars(run.model(), table)
    price = "price unknown" if money is None else f"at most {money:.2f} $"
    took = duration(sum(run.seconds.values()))
    forecast = f"foretold {duration(run.foretold)}, " if run.foretold else ""
    rows.append(["together", f"{int(table.calls.sum()):,}", price, f"{forecast}took {took}; {run.ledger}"])
    return rows


def answer_lines(run: OwnRun) -> Iterable[str]:
    """For a terminal: each question, the passages that plain search puts first, all answers with their sources.

    >>> print("\\n".join(answer_lines(run)))                                                         # doctest: +SKIP
    """
    for i, question in enumerate(run.questions):
        yield f"\n{question}"
        for place in run.answers[PLAIN][i].places[:QUOTED]:
            yield f"  at {run.book.where(place)}: {line(run.book.document[place])[:SHORT]} …"
        quoted: set[str] = set()
        for name, answers in run.answers.items():
            answer = answers[i]
            yield f"  {name}: {answer.answer or '–'} ({rests(answer, run.book.language)})"
            if answer.source is not None:
                where, said = run.book.where(answer.source), excerpt(run, answer.source, answer.answer)
                yield f"      {where}: {'as above' if said in quoted else said}"
                quoted.add(said)
    yield ""
    yield from set_aside(run)
    if said := trust(run):
        yield said


def report_page(run: OwnRun, links: Sequence[str] = ()) -> str:
    """One HTML file, to be opened in any browser, without a network. `links`: for each question its graph's file.

    >>> "<script" in report_page(run)                                                               # doctest: +SKIP
    False
    """
    source = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    page = Template(source, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    aside = [said.split(": ", 1) for said in set_aside(run)]
    used = {"plain": PLAIN, "quoted": QUOTED, "excerpt": excerpt, "rests": rests}
    return page.render(run=run, links=links, warning=trust(run), aside=aside, costs=cost_rows(run), **used)


def as_json(run: OwnRun) -> str:
    """Questions, answers with their places and sources, the check, seconds.

    >>> json.loads(as_json(run))["questions"]                                                # doctest: +SKIP
    ['Who fled to Ireland?']
    """
    book = run.book

    def row(answer: OwnAnswer) -> dict[str, Any]:
        texts = [{"start": p.start, "end": p.end, "text": book.document[p].strip()} for p in answer.places]
        return asdict(answer) | {"places": texts, "supported": answer.supported}

    content = {
        "book": book.document.id,
        "characters": len(book.document.text),
        "llm": run.llm,
        "questions": run.questions,
        "answers": {name: [row(answer) for answer in answers] for name, answers in run.answers.items()},
        "check": [asdict(check) for check in run.checked],
        "set_aside": {memory.name: memory.aside for memory in run.built if memory.aside},
        "foretold_seconds": round(run.foretold),
        "seconds": {name: round(seconds, 1) for name, seconds in run.seconds.items()},
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def writable(folder: Path) -> None:
    """Raises MindscapeError where no report could be written, before what it would say is paid for; leaves no folder behind."""
    with errors.writing(folder, OTHER_FOLDER):
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if new:
            folder.rmdir()


def write_report(run: OwnRun, folder: Path) -> list[Path]:
    """report.html, answers.json and a page for each question's graph, in a folder. Raises MindscapeError where it cannot be
    written.

    >>> [path.name for path in write_report(run, Path("macbeth.answers"))]                          # doctest: +SKIP
    ['report.html', 'answers.json', 'graph_1.html']
    """
    names = [f"graph_{i}.html" for i in range(1, len(run.graphs) + 1)]
    files = {"report.html": report_page(run, names), "answers.json": as_json(run)}
    for name, question, read in zip(names, run.questions, run.graphs, strict=False):  # none where none is asked for
        files[name] = as_html(read.graph, run.book.document, question)
    with errors.writing(folder, OTHER_FOLDER):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in files]
