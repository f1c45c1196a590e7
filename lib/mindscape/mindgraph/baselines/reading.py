"""Three of the baselines, which read the text itself (MindGraph, sections 2.2 and 4.2).

`direct` puts the whole text and the question into one call. Where the model's window, or the budget, does not hold the text
its middle is left out, as LongBench does it, and the trace says how many characters that are. A server does not tell its
window: there the tokens of the budget are the only bound, and without them a text that is too long is the server's to refuse.

`chain_of_agents` (Zhang et al., 2024): workers read in turn, a manager answers. Each worker has the question, the next block,
and the summary that the worker before it left; it leaves a new one. The manager has the last summary and no text. The summary
is bounded, so a later worker can lose what an earlier one wrote: that is the method. Where the budget ends the chain early,
the manager answers from what was read, and the trace says how far that is.

`gam`, General Agentic Memory (Yan et al., 2025): pages with notes, and a researcher. A memoriser reads the text page by page,
with the notes so far, and gives each page a header and a note; the pages themselves are kept. When the question is there, a
researcher looks at the notes, says what to search for and which pages to open, reads the pages, writes down what they tell,
and says whether that is enough; if not, what is missing, and it goes on. The answer is given from what was written down. The
notes do not know the question, so a second question finds them in the model's cache; they are counted again all the same.
Where the paper is silent: the search is BM25 over headers and texts, then letter by letter, five new pages a round, three
rounds. There is no search by vectors, which GAM has as well: the interface hands over a language model and no encoder. The
paper has a smaller model take the notes; here one model does both.

Taught in notebook 32_long_reason. `direct` and `chain_of_agents` keep nothing for a second question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mindscape.budget import Budget, BudgetSpent, Meter
from mindscape.lexical import BM25
from mindscape.llm import LLM
from mindscape.mindgraph.asking import (
    alone,
    ask_and_read,
    block_size,
    blocks,
    check_question,
    clipped,
    fitting,
    groups,
    last,
    reply_tokens,
    room,
)
from mindscape.prompts import languages
from mindscape.question import ANSWER, Answer
from mindscape.roles.base import Form
from mindscape.text import Document

SUMMARY = 1024  # tokens of a summary, at most
WORKER = languages("mindgraph", "coa_worker")
ROUNDS, PAGES = 3, 5  # of a researcher; new pages a round
NOTE, PLANNED, FINDINGS = 256, 256, 1024  # tokens of a reply, at most
NOTES = 4096  # tokens of the notes that the memoriser sees
NOTHING = {"en": "(nothing yet)", "zh": "（尚无）"}
MEMORISE = languages("mindgraph", "gam_memorise")
PLAN = languages("mindgraph", "gam_plan")
INTEGRATE = languages("mindgraph", "gam_integrate")
REFLECT = languages("mindgraph", "gam_reflect")
LABEL = {"en": "Page {i}: {header}", "zh": "第{i}页：{header}"}


def direct(question: str, document: Document, llm: LLM, budget: Budget | None = None) -> Answer:
    """Answer a question from the text itself.

    Raises InputError for a blank question, a text that is blank or in another language than English and Chinese, and a window
    that does not hold the question; LLMError where the model fails.

    >>> direct("Who sold the lamp?", Document("note", "Ivo sold the lamp."), model).text         # doctest: +SKIP
    'Ivo'
    """
    meter = Meter(llm, budget, stage=ANSWER)
    check_question(question, document, meter)
    return meter.answer(last(meter, document.text, question, document.language))


def chain_of_agents(
    question: str, document: Document, llm: LLM, budget: Budget | None = None, *, size: int | None = None
) -> Answer:
    """Answer a question from a summary that is handed from block to block, each of at most `size` tokens (`block_size`).

    A worker whose reply cannot be used hands on the summary that it got. Errors as in `direct`.

    >>> chain_of_agents("Who has the lamp?", document, model, Budget(calls=40)).calls                    # doctest: +SKIP
    13
    """
    meter, language = Meter(llm, budget), document.language
    check_question(question, document, meter)
    size = block_size(meter) if size is None else size
    tokens, summary = reply_tokens(meter, SUMMARY, size), NOTHING[language]
    slots = {"question": question, "summary": "", "index": 9999, "total": 9999, "block": ""}
    # Room for the summary that comes in and for the one that goes out.
    parts = blocks(meter, document, WORKER[language].format(**slots), 2 * tokens, size)
    for part in parts:
        slots |= {"summary": summary, "index": part.index + 1, "total": len(parts), "block": document[part].strip()}
        try:
            [new] = ask_and_read(meter, [alone(WORKER[language].format(**slots))], language, tokens=tokens)
        except BudgetSpent as error:
            meter.note(f"{error}; {part.index} of {len(parts)} blocks were read")
            break
        summary = new or summary
    meter.stage = ANSWER
    return meter.answer(last(meter, summary, question, language))


# GAM ------------------------------------------------------------------------------------------------------------------


class Note(Form):
    """What the memory keeps of a page, beside the page itself."""

    header: str
    note: str


class Plan(Form):
    """What the researcher looks up."""

    keywords: list[str]
    pages: list[int]


class Reflection(Form):
    """Whether the findings suffice, and what is missing if not."""

    enough: bool
    request: str


def gam(
    question: str, document: Document, llm: LLM, budget: Budget | None = None, *, size: int | None = None
) -> Answer:
    """Answer a question from what a researcher finds in a memory of pages, each of at most `size` tokens (`block_size`).

    `tokens_first_call` is that of the researcher's first plan, which reads the notes. Where the budget ends the research the
    answer is given from what was found, or from the notes. Errors as in `direct`.

    >>> gam("Who has the lamp?", document, model, Budget(calls=60)).tokens_first_call        # doctest: +SKIP
    1480
    """
    meter, language = Meter(llm, budget), document.language
    check_question(question, document, meter)
    research = _Research(question, language, meter, *memorised(document, meter, size))
    meter.stage = ANSWER
    try:
        research.run()
    except BudgetSpent as error:
        meter.note(str(error))
    return meter.answer(last(meter, research.findings or _listed(research.notes, language), question, language))


def memorised(document: Document, meter: Meter, size: int | None = None) -> tuple[list[str], list[Note]]:
    """The pages of a document and a note on each; a page without a usable reply has its first words for a header.

    Where the budget ends, the pages after it have no notes of the model's either, and the trace says so.

    >>> pages, notes = memorised(document, Meter(model))                                    # doctest: +SKIP
    >>> notes[0].header                                                                     # doctest: +SKIP
    'Ivo the miller, at the fair in May'
    """
    language = document.language
    tokens = reply_tokens(meter, NOTE)
    bound = NOTES if meter.context is None else min(NOTES, meter.context // 5)
    empty = MEMORISE[language].format(notes="", page="")
    parts = blocks(meter, document, empty, tokens + bound, block_size(meter) if size is None else size)
    pages, notes, ended = [document[part].strip() for part in parts], [], False
    for i, page in enumerate(pages):
        note = None
        if not ended:
            # The latest notes, in order: a page is most often tied to those before it.
            kept = fitting(meter, [_line(j, notes[j], language) for j in reversed(range(i))], bound)
            prompt = MEMORISE[language].format(notes="\n".join(kept[::-1]) or NOTHING[language], page=page)
            try:
                [note] = ask_and_read(meter, [alone(prompt)], language, tokens=tokens, form=Note)
            except BudgetSpent as error:
                meter.note(f"{error}; {i} of {len(pages)} pages have notes")
                ended = True
        notes.append(note or Note(header=" ".join(page.split())[:80], note=""))
    return pages, notes


def searched(plan: Plan, index: BM25, texts: Sequence[str], opened: set[int]) -> list[int]:
    """The pages that a plan opens, from 0, at most `PAGES` and none a second time.

    First those that it names, then those that BM25 finds by its keywords, the best first, then those that hold a keyword
    letter by letter: Chinese words are not always cut out of the text as the model writes them.

    >>> texts = ["a lamp", "a boat", "a lamp and a boat", "lamplight"]
    >>> searched(Plan(keywords=["lamp"], pages=[2, 9]), BM25(texts), texts, opened={0})
    [1, 2, 3]
    """
    named = [i - 1 for i in plan.pages if 1 <= i <= len(texts)]
    words = [word.strip().casefold() for word in plan.keywords if word.strip()]
    ids, scores = index.search([" ".join(words)], len(texts))
    hits = [int(i) for i, score in zip(ids[0], scores[0], strict=True) if score > 0]
    literal = [i for i, text in enumerate(texts) if any(word in text.casefold() for word in words)]
    return [i for i in dict.fromkeys([*named, *hits, *literal]) if i not in opened][:PAGES]


@dataclass
class _Research:
    """A question, the memory, and what has been found; the findings stay when the budget ends the search."""

    question: str
    language: str
    meter: Meter
    pages: Sequence[str]
    notes: Sequence[Note]
    findings: str = ""

    def run(self) -> None:
        """Plan, open pages, write down what they tell, and see whether it is enough. Raises BudgetSpent."""
        texts = [f"{note.header}\n{page}" for note, page in zip(self.notes, self.pages, strict=True)]
        index, request, opened = BM25(texts, self.language), self.question, set()
        for _ in range(ROUNDS):
            plan = self.plan(request) or Plan(keywords=[request], pages=[])
            opening = searched(plan, index, texts, opened)
            self.meter.note(f"opens pages {', '.join(str(i + 1) for i in opening) or '(none)'}")
            if not opening:
                return
            opened |= set(opening)
            self.integrate(sorted(opening))
            reflection = self.reflect()
            if reflection is None or reflection.enough:
                return
            request = reflection.request.strip() or self.question

    def plan(self, request: str) -> Plan | None:
        tokens = reply_tokens(self.meter, PLANNED)
        slots = {"question": self.question, "findings": self._found, "request": request, "notes": ""}
        left = room(self.meter, PLAN[self.language].format(**slots), tokens)
        slots["notes"] = _overview(self.notes, self.language, self.meter, left)
        return self._ask(PLAN, tokens, Plan, slots)

    def integrate(self, opened: Sequence[int]) -> None:
        """Add to the findings what some pages tell, as many pages at a time as the window holds."""
        tokens = reply_tokens(self.meter, FINDINGS)
        empty = INTEGRATE[self.language].format(question=self.question, findings="", pages="")
        left = room(self.meter, empty, 2 * tokens)  # for the findings that go in and those that come out
        texts = [f"{_header(i, self.notes[i], self.language)}\n{self.pages[i]}" for i in opened]
        for pages in groups(self.meter, texts, left, self.language):
            slots = {"question": self.question, "findings": self._found, "pages": pages}
            self.findings = self._ask(INTEGRATE, tokens, None, slots) or self.findings

    def reflect(self) -> Reflection | None:
        slots = {"question": self.question, "findings": self._found}
        return self._ask(REFLECT, reply_tokens(self.meter, PLANNED), Reflection, slots)

    @property
    def _found(self) -> str:
        return self.findings or NOTHING[self.language]

    def _ask(self, prompts: Mapping[str, str], tokens: int, form: type | None, slots: Mapping[str, str]) -> Any:
        talk = alone(prompts[self.language].format(**slots))
        return ask_and_read(self.meter, [talk], self.language, tokens=tokens, form=form)[0]


def _overview(notes: Sequence[Note], language: str, meter: Meter, room: int | None) -> str:
    """All notes; where the room does not hold them the headers alone, and of those what it holds."""
    listed = _listed(notes, language)
    if room is None or meter.count_tokens(listed) <= room:
        return listed
    headers = "\n".join(_header(i, note, language) for i, note in enumerate(notes))
    meter.note("the notes do not fit: the researcher sees the headers")
    return clipped(meter, headers, room, language)[0]


def _listed(notes: Sequence[Note], language: str) -> str:
    return "\n".join(_line(i, note, language) for i, note in enumerate(notes))


def _header(i: int, note: Note, language: str) -> str:
    return LABEL[language].format(i=i + 1, header=note.header)


def _line(i: int, note: Note, language: str) -> str:
    return f"{_header(i, note, language)} – {note.note}"
