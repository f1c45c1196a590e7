"""The five methods that MindGraph is compared with, behind one interface (MindGraph, sections 2.2 and 4.2).

    method(question, document, llm, budget) -> Answer

`METHODS` has them by the paper's names. Prompts are our own, in English and Chinese. With `options` the last reply is held to
one of them; no prompt shows them, so that what is asked before is what is asked without. A model that cannot be held to a
grammar is asked `mindscape.mindgraph.answer.with_options`.

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
and says whether that is enough; if not, what is missing, and it goes on. The answer is given from what was written down.
Where the paper is silent: the search is BM25 over headers and texts, then letter by letter, five new pages a round, three
rounds. There is no search by vectors, which GAM has as well: the interface hands over a language model and no encoder. The
paper has a smaller model take the notes; here one model does both.

`answer_by_reports`, GraphRAG (Edge et al., 2024): a graph of what stands in each block, reports on its parts.

    extract      names and relations of every block, without the question; then once more, for what was missed (one gleaning)
    merge        what has the same name is one entity; relations between the same two weigh more
    partition    Leiden communities of at most ten
    report       title, summary, rating and findings of each
    top 8        of the reports
    map, reduce  points with a score from the reports, at most 8,192 tokens of them a call; the best points, then the answer

Where the paper is silent: reports are ranked by the words they share with the question (BM25), then by rating, then by size,
which is kinder to the method than GraphRAG's own order, blind to the question; an entity's descriptions are handed on as they
came, not summed up by another call, and are shortened where the window does not hold them; of a list that was cut off the
whole items count; points with score 0 are dropped, and where no other is left there is no answer. There are no levels of
communities here, no embeddings and no claims.

`answer_by_code`, a recursive language model, RLM (Zhang et al., 2025): the text is a variable of a program. The model does not
read the text. It writes Python, turn by turn, over a variable `context` that holds it, sees what the code prints, and may hand
parts of the text to a second model, which is the same model with nothing but that prompt before it: the recursion is one deep.
After at most 30 turns it answers. The code runs shut in, see `mindscape.mindgraph.sandbox`. Where the paper is silent: what is
printed is shown up to 2,048 tokens, cut in its middle; the oldest turns fall out of the conversation where the window does not
hold it; a turn with neither code nor answer is told so and counts as one of the 30; when those are over, or the budget is, one
call more asks for the answer alone, if the budget holds it. There is no build: the first turn is the answer's first call.

GAM's notes and GraphRAG's reports do not know the question, so a second question finds them in the model's cache; they are
counted again all the same. The other methods keep nothing for a second question.

Taught in notebook 32_long_reason.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Annotated, Any

from pydantic import Field

from mindscape.ask import Budget, BudgetSpent, Meter
from mindscape.llm import LLM, Message
from mindscape.llm.base import form_of
from mindscape.mindgraph import answer
from mindscape.mindgraph.answer import Options
from mindscape.mindgraph.communities import COMMUNITY_REPORT, TOKENS, Report, partition
from mindscape.mindgraph.sandbox import Limits, Ran, Sandbox
from mindscape.prompts import languages, short_texts
from mindscape.question import ANSWER, Answer
from mindscape.roles import QA, Form, graph_state
from mindscape.search import BM25, EntityGraph, Told, merged_by_name
from mindscape.text import Document, fold

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


class _Asking:
    """A question on a document, and the model that a method asks about it. Errors as in `answer.check_question`."""

    def __init__(self, question: str, document: Document, llm: LLM, budget: Budget | None, options: Options):
        self.question, self.document, self.language, self.options = question, document, document.language, options
        self.meter = Meter(llm, budget)
        answer.check_question(question, document, self.meter)

    def ask(self, prompts: Mapping[str, str], slots: Mapping[str, Any], tokens: int, form: type | None = None) -> Any:
        """What the reply to a prompt says; None where none can be used."""
        talk = answer.alone(prompts[self.language].format(**slots))
        return answer.ask_and_read(self.meter, [talk], self.language, tokens=tokens, form=form)[0]

    def last(self, context: str) -> Answer:
        """The answer from a context."""
        self.meter.stage = ANSWER
        return self.meter.answer(answer.last(self.meter, context, self.question, self.language, self.options))


def direct(question: str, document: Document, llm: LLM, budget: Budget | None = None, *, options: Options = ()) -> Answer:
    """Answer a question from the text itself.

    Raises InputError for a blank question, a text that is blank or in another language than English and Chinese, and a window
    that does not hold the question; LLMError where the model fails.

    >>> direct("Who sold the lamp?", Document("note", "Ivo sold the lamp."), model).text         # doctest: +SKIP
    'Ivo'
    """
    return _Asking(question, document, llm, budget, options).last(document.text)


def chain_of_agents(
    question: str, document: Document, llm: LLM, budget: Budget | None = None, *, size: int | None = None, options: Options = ()
) -> Answer:
    """Answer a question from a summary that is handed from block to block, each of at most `size` tokens (`block_size`).

    A worker whose reply cannot be used hands on the summary that it got. Errors as in `direct`.

    >>> chain_of_agents("Who has the lamp?", document, model, Budget(calls=40)).calls                    # doctest: +SKIP
    13
    """
    asking = _Asking(question, document, llm, budget, options)
    meter, language = asking.meter, asking.language
    size = answer.block_size(meter) if size is None else size
    tokens, summary = answer.reply_tokens(meter, SUMMARY, size), NOTHING[language]
    slots = {"question": question, "summary": "", "index": 9999, "total": 9999, "block": ""}
    # Room for the summary that comes in and for the one that goes out.
    parts = answer.blocks(meter, document, WORKER[language].format(**slots), 2 * tokens, size)
    for part in parts:
        slots |= {"summary": summary, "index": part.index + 1, "total": len(parts), "block": document[part].strip()}
        try:
            summary = asking.ask(WORKER, slots, tokens) or summary
        except BudgetSpent as error:
            meter.note(f"{error}; {part.index} of {len(parts)} blocks were read")
            break
    return asking.last(summary)


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
    question: str, document: Document, llm: LLM, budget: Budget | None = None, *, size: int | None = None, options: Options = ()
) -> Answer:
    """Answer a question from what a researcher finds in a memory of pages, each of at most `size` tokens (`block_size`).

    `tokens_first_call` is that of the researcher's first plan, which reads the notes. Where the budget ends the research the
    answer is given from what was found, or from the notes. Errors as in `direct`.

    >>> gam("Who has the lamp?", document, model, Budget(calls=60)).tokens_first_call        # doctest: +SKIP
    1480
    """
    research = _Research(question, document, llm, budget, options)
    research.pages, research.notes = memorised(document, research.meter, size)
    research.meter.stage = ANSWER
    try:
        research.run()
    except BudgetSpent as error:
        research.meter.note(str(error))
    return research.last(research.findings or "\n".join(_lines(research.notes, document.language)))


def memorised(document: Document, meter: Meter, size: int | None = None) -> tuple[list[str], list[Note]]:
    """The pages of a document and a note on each; a page without a usable reply has its first words for a header.

    Where the budget ends, the pages after it have no notes of the model's either, and the trace says so.

    >>> pages, notes = memorised(document, Meter(model))                                    # doctest: +SKIP
    >>> notes[0].header                                                                     # doctest: +SKIP
    'Ivo the miller, at the fair in May'
    """
    language = document.language
    tokens = answer.reply_tokens(meter, NOTE)
    bound = NOTES if meter.context is None else min(NOTES, meter.context // 5)
    empty = MEMORISE[language].format(notes="", page="")
    parts = answer.blocks(meter, document, empty, tokens + bound, answer.block_size(meter) if size is None else size)
    pages, notes = [document[part].strip() for part in parts], []
    for i, page in enumerate(pages):
        # The latest notes, in order: a page is most often tied to those before it.
        kept = answer.fitting(meter, _lines(notes, language)[::-1], bound)
        prompt = MEMORISE[language].format(notes="\n".join(kept[::-1]) or NOTHING[language], page=page)
        try:
            [note] = answer.ask_and_read(meter, [answer.alone(prompt)], language, tokens=tokens, form=Note)
        except BudgetSpent as error:
            meter.note(f"{error}; {i} of {len(pages)} pages have notes")
            break
        notes.append(note or _bare(page))
    return pages, notes + [_bare(page) for page in pages[len(notes) :]]


def _bare(page: str) -> Note:
    return Note(header=" ".join(page.split())[:80], note="")


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


class _Research(_Asking):
    """A question, the memory, and what has been found; the findings stay when the budget ends the search."""

    pages: Sequence[str]
    notes: Sequence[Note]
    findings = ""

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
            slots = {"question": self.question, "findings": self._found}
            reflection = self.ask(REFLECT, slots, answer.reply_tokens(self.meter, PLANNED), Reflection)
            if reflection is None or reflection.enough:
                return
            request = reflection.request.strip() or self.question

    def plan(self, request: str) -> Plan | None:
        tokens = answer.reply_tokens(self.meter, PLANNED)
        slots = {"question": self.question, "findings": self._found, "request": request, "notes": ""}
        left = answer.room(self.meter, PLAN[self.language].format(**slots), tokens)
        slots["notes"] = "\n".join(_lines(self.notes, self.language))
        if left is not None and self.meter.count_tokens(slots["notes"]) > left:
            self.meter.note("the notes do not fit: the researcher sees the headers")
            headers = "\n".join(_headers(self.notes, self.language))
            slots["notes"], _ = answer.clipped(self.meter, headers, left, self.language)
        return self.ask(PLAN, slots, tokens, Plan)

    def integrate(self, opened: Sequence[int]) -> None:
        """Add to the findings what some pages tell, as many pages at a time as the window holds."""
        tokens = answer.reply_tokens(self.meter, FINDINGS)
        empty = INTEGRATE[self.language].format(question=self.question, findings="", pages="")
        left = answer.room(self.meter, empty, 2 * tokens)  # for the findings that go in and those that come out
        headers = _headers(self.notes, self.language)
        texts = [f"{headers[i]}\n{self.pages[i]}" for i in opened]
        for pages in answer.groups(self.meter, texts, left, self.language):
            slots = {"question": self.question, "findings": self._found, "pages": pages}
            self.findings = self.ask(INTEGRATE, slots, tokens) or self.findings

    @property
    def _found(self) -> str:
        return self.findings or NOTHING[self.language]


def _headers(notes: Sequence[Note], language: str) -> list[str]:
    return [LABEL[language].format(i=i, header=note.header) for i, note in enumerate(notes, start=1)]


def _lines(notes: Sequence[Note], language: str) -> list[str]:
    return [f"{header} – {note.note}" for header, note in zip(_headers(notes, language), notes, strict=True)]


# GraphRAG -------------------------------------------------------------------------------------------------------------


TOP = 8  # section 4.2
EXTRACTED, POINTS = 2048, 1024  # tokens of a reply, at most
SHORTEST = 40  # characters that a description is not cut below
EXTRACT = languages("mindgraph", "graphrag_extract")
GLEAN = languages("mindgraph", "graphrag_glean")
MAP = languages("mindgraph", "graphrag_map")


class Named(Form):
    name: str
    description: str


class Related(Form):
    source: str
    target: str
    description: str


class Extracted(Form):
    """What a block names and relates."""

    entities: list[Named]
    relations: list[Related]


class Point(Form):
    description: str
    score: Annotated[int, Field(ge=0, le=100)]


class Points(Form):
    """What reports have to say on the question."""

    points: list[Point]


def key(name: str) -> str:
    """What two ways to write a name have in common: case, width and blanks do not count.

    >>> key(" Ivo  the Miller ") == key("ivo the miller"), key("Ｉｖｏ")
    (True, 'ivo')
    """
    return " ".join(fold(name).casefold().split())


def merged_blocks(blocks: Sequence[Extracted]) -> EntityGraph:
    """All that was extracted in one graph. A relation makes an entity of an end that nothing else names; blank names, and
    relations of an entity with itself, are dropped.

    >>> first = Extracted(entities=[Named(name="Ivo", description="A miller.")], relations=[])
    >>> second = Extracted(entities=[Named(name="ivo", description="He sold a lamp.")],
    ...                    relations=[Related(source="IVO", target="Ann", description="sold her the lamp")])
    >>> graph = merged_blocks([first, second])
    >>> graph.names, graph.statements["ivo"], graph.relations
    ({'ivo': 'Ivo', 'ann': 'Ann'}, ['A miller.', 'He sold a lamp.'], [('ivo', 'ann')])
    """
    passages = []
    for i, block in enumerate(blocks):
        said = [(item.name, item.description if item.description.strip() else "") for item in block.entities]
        said += [(name, "") for item in block.relations for name in (item.source, item.target)]
        names = tuple((" ".join(name.split()), statement) for name, statement in said)
        ties = [(tie.source, tie.target, tie.description) for tie in block.relations if key(tie.source) != key(tie.target)]
        passages.append(Told(i, names, tuple(ties)))
    return merged_by_name(passages, key, directed=True)


def parts(graph: EntityGraph) -> list[tuple[str, ...]]:
    """The communities of the graph, each the keys of its entities; relations weigh as much as they have statements.

    >>> tie = Related(source="Ivo", target="Ann", description="sold her the lamp")
    >>> parts(merged_blocks([Extracted(entities=[], relations=[tie])]))
    [('ivo', 'ann')]
    """
    edges = [(source, target, float(len(graph.statements[source, target]))) for source, target in graph.relations]
    return partition(list(graph.names), edges)


def part_state(graph: EntityGraph, part: Sequence[str], meter: Meter, room: int | None) -> str:
    """A part of the graph as a report's prompt shows it, with the relations that lead out of it after those within.

    Where the room does not hold it, descriptions are cut shorter and the last relations left out, by halves, until it does.
    """
    inside = set(part)
    relations = [pair for pair in graph.relations if inside & set(pair)]
    relations.sort(key=lambda pair: (not inside >= set(pair), -len(graph.statements[pair])))
    described = {name: " ".join(graph.statements[name]) for name in part}
    tied = {pair: "; ".join(graph.statements[pair]) for pair in relations}
    longest, most = max(map(len, [*described.values(), *tied.values()])), len(relations)
    while True:
        nodes = [{"id": graph.names[name], "type": "entity", "content": described[name][:longest]} for name in part]
        edges = [
            {"source": graph.names[a], "target": graph.names[b], "relation": tied[a, b][: max(longest, SHORTEST)]}
            for a, b in relations[:most]
        ]
        state = graph_state(nodes, edges)
        if room is None or meter.count_tokens(state) <= room or (longest <= SHORTEST and most == 0):
            return state
        longest, most = max(SHORTEST, longest // 2), most // 2


def shown(report: Report) -> str:
    """A report as the map step reads it.

    >>> print(shown(Report(title="The lamp", summary="Ivo sold it.", impact_rating=7, findings=["Ann has it."])))
    The lamp
    Ivo sold it.
    - Ann has it.
    """
    return "\n".join([report.title, report.summary, *(f"- {finding}" for finding in report.findings)])


def top(reports: Sequence[Report], sizes: Sequence[int], question: str, language: str, k: int = TOP) -> list[Report]:
    """The `k` reports that share most with the question, by BM25; of equals those with the higher rating, then the larger.

    >>> lamp = Report(title="The lamp", summary="Ivo sold it.", impact_rating=2, findings=[])
    >>> boat = Report(title="The boat", summary="It sank.", impact_rating=9, findings=[])
    >>> [report.title for report in top([boat, lamp], [3, 3], "Who sold the lamp?", "en", k=1)]
    ['The lamp']
    """
    if not reports:
        return []
    ids, scores = BM25([shown(report) for report in reports], language).search([question], len(reports))
    score = dict(zip(ids[0].tolist(), scores[0].tolist(), strict=True))
    order = sorted(score, key=lambda i: (-score[i], -reports[i].impact_rating, -sizes[i], i))
    return [reports[i] for i in order[:k]]


def answer_by_reports(
    question: str, document: Document, llm: LLM, budget: Budget | None = None, *, size: int | None = None, options: Options = ()
) -> Answer:
    """Answer a question from reports on the parts of a graph of the text, extracted from blocks of at most `size` tokens.

    `size` is `block_size` of the model where it is not given. `tokens_first_call` is the first map call's. Where the budget
    does not hold the build there is no answer, and the trace says where it ended. Errors as in `direct`.

    >>> answer_by_reports("Who has the lamp?", document, model).spent("build")                             # doctest: +SKIP
    52310
    """
    asking = _Asking(question, document, llm, budget, options)
    try:
        reports, sizes = community_reports(document, asking.meter, size)
        asking.meter.stage = ANSWER
        return _answered(asking, top(reports, sizes, question, document.language))
    except BudgetSpent as error:
        asking.meter.note(str(error))
        return asking.meter.answer("")


def community_reports(document: Document, meter: Meter, size: int | None = None) -> tuple[list[Report], list[int]]:
    """The reports on a document's communities, and how many entities each is about; the question has no part in it.

    Raises BudgetSpent where the meter's budget does not hold the next batch of calls.

    >>> reports, sizes = community_reports(document, Meter(model))                                      # doctest: +SKIP
    >>> reports[0].title, sizes[0]                                                          # doctest: +SKIP
    ('The miller and his lamps', 10)
    """
    language = document.language
    size = answer.block_size(meter) if size is None else size
    tokens = answer.reply_tokens(meter, EXTRACTED, 2 * size)
    empty = EXTRACT[language].format(text="") + GLEAN[language]
    # What was extracted is read again where it is gleaned from.
    blocks = answer.blocks(meter, document, empty, 2 * tokens, size)
    talks = [answer.alone(EXTRACT[language].format(text=document[part].strip())) for part in blocks]
    extracted = answer.ask_and_read(meter, talks, language, tokens=tokens, form=Extracted, whole_items=True)
    more = [
        [*talk, {"role": "assistant", "content": block.model_dump_json()}, *answer.alone(GLEAN[language])]
        for talk, block in zip(talks, extracted, strict=True)
        if block is not None
    ]
    extracted += answer.ask_and_read(meter, more, language, tokens=tokens, form=Extracted, whole_items=True)
    graph = merged_blocks([block for block in extracted if block is not None])
    communities = parts(graph)
    counts = f"{len(graph.names)} entities, {len(graph.relations)} ties, {len(communities)} parts"
    meter.note(f"{len(blocks)} blocks, {counts}")
    tokens = answer.reply_tokens(meter, TOKENS)
    left = answer.room(meter, COMMUNITY_REPORT.prompt(language, graph_state=""), tokens)
    states = [part_state(graph, part, meter, left) for part in communities]
    talks = [answer.alone(COMMUNITY_REPORT.prompt(language, graph_state=state)) for state in states]
    reports = answer.ask_and_read(meter, talks, language, tokens=tokens, form=Report, whole_items=True)
    kept = [(report, len(part)) for report, part in zip(reports, communities, strict=True) if report is not None]
    return [report for report, _ in kept], [count for _, count in kept]


def _answered(asking: _Asking, reports: Sequence[Report]) -> Answer:
    """Map and reduce; among options one is chosen without a point, too."""
    question, language, meter = asking.question, asking.language, asking.meter
    tokens = answer.reply_tokens(meter, POINTS)
    left = answer.room(meter, MAP[language].format(question=question, reports=""), tokens, answer.PAPER_BLOCK)
    batches = answer.groups(meter, [shown(report) for report in reports], left, language)
    talks = [answer.alone(MAP[language].format(question=question, reports=text)) for text in batches]
    replies = answer.ask_and_read(meter, talks, language, tokens=tokens, form=Points, whole_items=True)
    points = [point for reply in replies if reply is not None for point in reply.points if point.score > 0]
    if not points:
        meter.note("no report has a point that helps")
        return asking.last(NOTHING[language]) if asking.options else meter.answer("")
    best = [point.description for point in sorted(points, key=lambda point: -point.score)]
    left = answer.room(meter, QA.prompt(language, form_of(meter), context="", question=question), answer.BRIEF)
    return asking.last("\n".join(answer.fitting(meter, best, left)))


# RLM ------------------------------------------------------------------------------------------------------------------


ITERATIONS = 30  # section 4.2
QUERY = "query"  # the stage of the second model's calls
TURN, QUERIED, SHOWN = 2048, 1024, 2048  # tokens of a turn, of a query's reply, of what is shown of an output
LONGEST = 65_536  # tokens of a query, where the model's window is not known
FENCED = re.compile(r"```[ \t]*+([\w+.-]*+)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
CODE = ("", "python", "python3", "py", "repl")  # what a fence may say that holds code to run
FINAL, END = re.compile(r"^[ \t]*FINAL\(", re.MULTILINE), re.compile(r"\)[ \t]*$", re.MULTILINE)
TASK = languages("mindgraph", "rlm_task")
TOLD = short_texts("mindgraph", "rlm")


def code_in(reply: str) -> str:
    """The code of a turn: what stands between fences, joined where there are several; empty without one. What a fence calls
    something other than Python is none.

    >>> code_in("I look first.\\n```python\\nprint(context[:100])\\n```\\nThen more.")
    'print(context[:100])\\n'
    """
    return "\n".join(code for name, code in FENCED.findall(said_or_empty(reply)) if name.lower() in CODE)


def final_in(reply: str) -> str | None:
    """The answer in a turn that has FINAL(answer) outside of code, without quotes around it; None without one. It goes to the
    first bracket at the end of a line that leaves none open, else to the last.

    >>> final_in('FINAL("the miller")'), final_in("```python\\nFINAL(name)\\n```")
    ('the miller', None)
    """
    text = FENCED.sub("", said_or_empty(reply))
    begun = FINAL.search(text)
    candidates = [text[begun.end() : end.start()] for end in END.finditer(text, begun.end())] if begun else []
    if not candidates:
        return None
    whole = next((candidate for candidate in candidates if candidate.count("(") == candidate.count(")")), candidates[-1])
    return re.sub(r"""^(["'“‘「])(.*)["'”’」]$""", r"\2", whole.strip(), flags=re.DOTALL)


def said_or_empty(reply: str) -> str:
    """A reply without what was thought before it; empty where it has no words.

    >>> said_or_empty("<think>Who has it?</think>Ann."), said_or_empty(" ")
    ('Ann.', '')
    """
    with suppress(ValueError):
        return answer.said(reply)
    return ""


def answer_by_code(
    question: str,
    document: Document,
    llm: LLM,
    budget: Budget | None = None,
    *,
    iterations: int = ITERATIONS,
    limits: Limits | None = None,
    accept: Collection[str] = (),
    options: Options = (),
) -> Answer:
    """Answer a question with code over the text that the model writes turn by turn.

    `limits` bound the code, `accept` names what it may be open to on a machine that cannot shut it in (`sandbox.Sandbox`).
    The trace has each turn and each query with its tokens, and what the code brought.

    Raises MindscapeError, before the first call, where the code cannot be shut in; else as in `direct`.

    >>> answer_by_code("How often is the lamp sold?", document, model).text                             # doctest: +SKIP
    '3'
    """
    asking = _Asking(question, document, llm, budget, options)
    with Sandbox(document.text, limits, accept) as sandbox:
        return asking.meter.answer(_Loop(asking, sandbox, iterations).run())


class _Loop:
    """The conversation between a model and its code."""

    def __init__(self, asking: _Asking, sandbox: Sandbox, iterations: int):
        meter = asking.meter
        meter.stage = ANSWER
        self.language, self.meter, self.sandbox, self.iterations = asking.language, meter, sandbox, iterations
        self.form = answer.held_to(asking.options)
        self.second = copy(meter)  # the second model's, which puts its steps among those of the first
        self.second.stage = QUERY
        self.phrases = TOLD[self.language]
        self.tokens, self.query_tokens = answer.reply_tokens(meter, TURN), answer.reply_tokens(meter, QUERIED)
        self.longest = LONGEST if meter.context is None else answer.room(meter, "", self.query_tokens)
        self.shown = SHOWN if meter.context is None else min(SHOWN, meter.context // 5)
        slots = {"turns": iterations, "longest": self.longest, "seconds": sandbox.limits.seconds}
        task = TASK[self.language].format(question=asking.question, length=len(asking.document.text), **slots)
        # Raises where a window does not hold one turn and the next.
        answer.room(meter, task, 2 * self.tokens + self.shown)
        self.task = answer.alone(task)
        self.turns: list[list[Message]] = []  # each a reply and what became of it

    def run(self) -> str:
        """The answer; empty where there is none."""
        self.meter.note(f"code is shut in by {' and '.join(self.sandbox.layers) or 'its limits alone'}")
        try:
            for _ in range(self.iterations):
                if (final := self.turn()) is not None:
                    return self.end(final) if self.form else final
            self.meter.note(f"no answer after {self.iterations} turns")
        except BudgetSpent as error:
            self.meter.note(str(error))
        return self.end()

    def turn(self) -> str | None:
        """Ask for a turn and run its code: the answer, where it brought one."""
        reply = self._asked(self.meter, [self.talk()], self.tokens)[0]
        code, final = code_in(reply), final_in(reply)
        if code.strip():
            ran = self.sandbox.run(code, self.queries)
            final = final if ran.final is None else ran.final
            became = self.became(ran)
        else:
            became = self.phrases["neither"]
        if final is None:
            self.meter.note(became)
            self.turns.append([{"role": "assistant", "content": reply}, {"role": "user", "content": became}])
        return final

    def end(self, draft: str = "") -> str:
        """One call more, for the answer alone, or for the option that is nearest to what was found."""
        if draft.strip():
            draft, _ = answer.clipped(self.meter, draft, self.shown, self.language)
            self.turns.append([{"role": "assistant", "content": draft}, *answer.alone(self.phrases["end"])])
            talk = self.talk()
        else:  # the last message is what became of the last code, or the task itself: the demand stands below it
            talk = self.talk()
            talk[-1] = {"role": "user", "content": f"{talk[-1]['content']}\n\n{self.phrases['end']}"}
        try:
            reply = self._asked(self.meter, [talk], min(self.tokens, answer.BRIEF), self.form)[0]
        except BudgetSpent as error:
            self.meter.note(str(error))
            return ""
        final = final_in(reply)
        return said_or_empty(reply) if final is None else final

    def became(self, ran: Ran) -> str:
        """What the model is told of its code."""
        output, _ = answer.clipped(self.meter, ran.output, self.shown, self.language)
        parts = [self.phrases["output"].format(n=ran.length, output=output) if ran.length else self.phrases["nothing"]]
        if ran.error:
            error, _ = answer.clipped(self.meter, ran.error, answer.SPARE // 2, self.language)
            parts.append(self.phrases["error"].format(error=error))
        if ran.stopped:
            parts.append(self.phrases["stopped"].format(why=ran.stopped))
        return "\n".join(parts)

    def queries(self, prompts: Sequence[str]) -> list[str]:
        """The replies of the second model to a batch of prompts; one that is too long is not asked."""
        counts = [self.meter.count_tokens(answer.alone(prompt)) for prompt in prompts]
        short_enough = [i for i, count in enumerate(counts) if count <= self.longest]
        replies = [self.phrases["long"].format(n=count, most=self.longest) for count in counts]
        talks = [answer.alone(prompts[i]) for i in short_enough]
        for i, text in zip(short_enough, self._asked(self.second, talks, self.query_tokens), strict=True):
            replies[i] = said_or_empty(text)
        return replies

    def talk(self) -> list[Message]:
        """The conversation until now; where the window does not hold it and a reply, without its oldest turns."""
        for first in range(len(self.turns) + 1):
            talk = [*self.task, *(message for turn in self.turns[first:] for message in turn)]
            taken = self.meter.count_tokens(talk) + self.tokens + answer.SPARE
            if self.meter.context is None or taken <= self.meter.context:
                break
        if first:
            self.meter.note(f"the first {first} turns do not fit any more")
        return talk

    def _asked(self, meter: Meter, talks: Sequence[Sequence[Message]], tokens: int, form: Any = None) -> list[str]:
        return [reply.text for reply in meter.chat(list(talks), schema=form, max_new_tokens=tokens)] if talks else []


METHODS: dict[str, answer.Method] = {
    "Direct": direct, "GraphRAG": answer_by_reports, "CoA": chain_of_agents, "GAM": gam, "RLM": answer_by_code,
}  # fmt: skip
