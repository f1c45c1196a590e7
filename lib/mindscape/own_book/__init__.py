"""One's own book: a few questions, plain search, four memories, and what may be believed of each.

    book        a document cut once: passages, and the units of the four memories; whether an answer rests on a passage
    memories    plain search; the mindscape, the signature, the document memory, the graph of a question; what each will cost
    run         all of it, one stage after the other, and whether a memory finds as much as plain search
    report      what came of it as text and as a page

Here is the command, `python -m mindscape ask BOOK "question" …`: the estimate first, then the run, answers on screen, and a
report. What goes on is said on standard error, so that the answers can be piped. Taught in notebook 52_your_own_book.
"""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from mindscape import corpora, encoders
from mindscape import llm as models
from mindscape.errors import BudgetReached, InputError, LLMError, require
from mindscape.own_book import memories, report
from mindscape.own_book.memories import MEMORIES
from mindscape.own_book.run import OwnRun, begin, carry_out, duration, foretell, known_places, known_recall


def arguments(commands: argparse._SubParsersAction) -> None:
    """Declares the command."""
    ask = commands.add_parser("ask", help="ask a book of your own: plain search and four memories beside each other")
    ask.add_argument("book", metavar="BOOK", help="a .txt, .md or .epub file, or a folder of them")
    ask.add_argument("questions", nargs="*", metavar="QUESTION", help="in the book's language")
    ask.add_argument("--questions", dest="file", metavar="FILE", help="more questions, one a line")
    ask.add_argument("--known", metavar="FILE", help="JSON: {question: [answer, words of the book that tell it]}")
    ask.add_argument("--llm", default="embedded", help="embedded, hf:NAME, openai:NAME (any compatible server)")
    ask.add_argument("--encoder", default="minilm", help="of passages and questions: minilm, hf:NAME")
    ask.add_argument("--memory", default=",".join(MEMORIES), help=f"some of {','.join(MEMORIES)}; none for plain search")
    ask.add_argument("--cap", type=float, metavar="DOLLARS", help="no call is begun that could cross it")
    ask.add_argument("--reads", type=int, help="units that a model reads for a memory; 0 for all of the book")
    ask.add_argument("--language", default="", help="en or zh; by default what the file says or looks like")
    ask.add_argument("--encoding", default="", help="of a text file that is not UTF-8: gb18030, latin-1")
    ask.add_argument("--out", help="folder of the report; by default BOOK.answers here")
    ask.add_argument("--seed", type=int, default=0, help="of the check on the book itself")


def ask_book(given: argparse.Namespace) -> None:
    """Reads, estimates, runs, prints and writes. Raises MindscapeError for what is wrong, and says what is kept."""
    encoders.known(given.encoder)
    models.parts(given.llm)
    require(given.cap is None or given.cap >= 0, f"cap={given.cap}: expected dollars, 0 or more")
    require(0 <= given.seed < 2**63, f"seed={given.seed}: expected 0 or more, below 2**63")
    require(given.book.strip(), "no book: expected a file or a folder of them")
    questions = given.questions + _read(given.file, "", _lines, "a text file of questions, one a line")
    document = corpora.read_own(given.book, given.language, given.encoding)
    known = _read(given.known, "{}", _known, "JSON like {question: [answer, words of the book]}")
    known_places(known, document)  # what it lacks is refused before anything is paid for
    questions += [question for question in known if question not in questions]
    names = [name.strip() for name in given.memory.split(",") if name.strip() not in ("", "none")]
    run = begin(document, questions, given.llm, given.encoder, names, given.reads, given.cap, _say)
    if strange := [question for question in known if question not in run.questions]:
        raise InputError(f"{given.known}: {strange[0][:60]!r} has blanks around it or within: write it as it is asked")
    folder = Path(given.out).expanduser() if given.out else Path(f"{document.id}.answers")
    report.writable(folder)
    _estimated(run, given.cap)
    try:
        with redirect_stdout(sys.stderr):  # what the store says of long computations
            carry_out(run, given.seed)
    except (BudgetReached, LLMError) as error:
        raise type(error)(f"{error}; what was answered is kept: the same command goes on from there") from error
    print("\n".join(report.answer_lines(run)))
    if known:
        print("\nthe passage that tells is among the first ten of", end=" ")
        print(", ".join(f"{name} {share:.0%}" for name, share in known_recall(run, known).items()))
    (first, *_) = report.write_report(run, folder)
    forecast = f", foretold {duration(run.foretold)}" if run.foretold else ""
    _say(f"took {duration(sum(run.seconds.values()))}{forecast}; the report: {first}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _estimated(run: OwnRun, cap: float | None) -> None:
    table, model = run.costs(), run.model()
    total, money = table.sum(), memories.dollars(model, table)
    _say(f"{run.book.document.id}: {run.book.measured}")
    _say(f"at most {int(total.calls):,} calls, {int(total.read):,} tokens read, {int(total.written):,} written")
    if money is None:
        _say(f"the price of {run.llm} is unknown")
    elif money:
        _say(f"at most {money:.2f} dollars")
        require(cap is not None, f"{run.llm} costs up to {money:.2f} dollars for this: pass --cap DOLLARS to go on")
    if foretell(run):
        _say(f"about {duration(run.foretold)}, if nothing of it was made before")


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _known(text: str) -> dict[str, tuple[str, str]]:
    return {str(question): (str(answer), str(quote)) for question, (answer, quote) in json.loads(text).items()}


def _read(path: str | None, otherwise: str, make: Callable[[str], Any], expected: str) -> Any:
    """What `make` makes of a file's text, of `otherwise` where none is named."""
    try:
        return make(otherwise if path is None else Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: {error}; expected {expected}") from None
