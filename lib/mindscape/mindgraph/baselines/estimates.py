"""What a baseline will take, before its first call (MindGraph itself: `mindscape.mindgraph.answer.estimate`).

How often a method asks hangs on what the model replies, so something has to be supposed: replies as long as they may be, none
that has to be asked for again; for GraphRAG two parts of the graph a block; for GAM all rounds, each with all its pages; for
RLM ten turns that write 300 tokens and are shown 500, and queries that read the whole text once, block by block.

Taught in notebook 32_long_reason.
"""

from collections.abc import Callable, Mapping
from math import ceil

from mindscape.budget import Budget, Meter
from mindscape.errors import require
from mindscape.llm import LLM, Estimate, Ledger
from mindscape.llm.base import form_of
from mindscape.mindgraph.answering import PAPER_BLOCK, block_size, cut
from mindscape.mindgraph.baselines import chain_of_agents, gam, graphrag, rlm
from mindscape.mindgraph.baselines.asking import BRIEF, reply_tokens
from mindscape.mindgraph.communities import COMMUNITY_REPORT, TOKENS
from mindscape.roles.answers import QA
from mindscape.text import Document

PARTS, PART = 2, 600  # parts of GraphRAG's graph a block; tokens of one as a report's prompt shows it
TURNS, WRITTEN, SHOWN = 10, 300, 500  # of RLM: turns, tokens of one, tokens shown of its output


class _Run:
    """What a method would ask: `ask` adds calls that read and write so many tokens each."""

    def __init__(self, document: Document, llm: LLM, size: int | None, reply: int | None):
        self.llm, self.language = Meter(llm, Budget(reply=reply)), document.language
        self.size = block_size(llm) if size is None else size
        self.text, self.blocks = llm.count_tokens(document.text), len(cut(document, llm, self.size))
        self.calls = self.read = self.written = 0

    def ask(self, prompts: Mapping[str, str], read: int, written: int, calls: int = 1) -> None:
        self.calls += calls
        self.read += calls * (self.llm.count_tokens(prompts[self.language]) + self.fitting(read))
        self.written += calls * written

    def fitting(self, tokens: int) -> int:
        return tokens if self.llm.context is None else min(tokens, self.llm.context)

    def reply(self, most: int, size: int | None = None) -> int:
        return reply_tokens(self.llm, most, size)


def _direct(run: _Run) -> None:
    run.ask(QA.words(form_of(run.llm)), run.text, BRIEF)


def _graphrag(run: _Run) -> None:
    extracted, gleaned = run.reply(graphrag.EXTRACTED, 2 * run.size), run.llm.count_tokens(graphrag.GLEAN[run.language])
    report, points, parts = run.reply(TOKENS), run.reply(graphrag.POINTS), PARTS * run.blocks
    run.ask(graphrag.EXTRACT, run.size, extracted, run.blocks)
    run.ask(graphrag.EXTRACT, run.size + extracted + gleaned, extracted, run.blocks)
    run.ask(COMMUNITY_REPORT.prompts, PART, report, parts)
    reports = min(graphrag.TOP, parts) * report
    maps = ceil(reports / run.fitting(PAPER_BLOCK))
    run.ask(graphrag.MAP, ceil(reports / maps), points, maps)
    run.ask(QA.words(form_of(run.llm)), maps * points, BRIEF)


def _chain_of_agents(run: _Run) -> None:
    summary = run.reply(chain_of_agents.SUMMARY, run.size)
    run.ask(chain_of_agents.WORKER, run.size + summary, summary, run.blocks)
    run.ask(QA.words(form_of(run.llm)), summary, BRIEF)


def _gam(run: _Run) -> None:
    note, planned, findings = run.reply(gam.NOTE), run.reply(gam.PLANNED), run.reply(gam.FINDINGS)
    run.ask(gam.MEMORISE, run.size + min(gam.NOTES, run.blocks * note // 2), note, run.blocks)
    opened = 0
    for _ in range(gam.ROUNDS):
        pages = min(gam.PAGES, run.blocks - opened)
        opened += pages
        run.ask(gam.PLAN, run.blocks * note + findings, planned)
        if not pages:
            break
        reads = ceil(pages * run.size / run.fitting(pages * run.size))
        run.ask(gam.INTEGRATE, ceil(pages * run.size / reads) + findings, findings, reads)
        run.ask(gam.REFLECT, findings, planned)
    run.ask(QA.words(form_of(run.llm)), findings, BRIEF)


def _rlm(run: _Run) -> None:
    for turn in range(TURNS):
        run.ask(rlm.TASK, turn * (WRITTEN + SHOWN), WRITTEN)
    run.ask(NO_FRAME, run.size, run.reply(rlm.QUERIED), run.blocks)


NO_FRAME = {"en": "", "zh": ""}  # a query is what the code makes it
RUNS: dict[str, Callable[[_Run], None]] = {
    "Direct": _direct, "GraphRAG": _graphrag, "CoA": _chain_of_agents, "GAM": _gam, "RLM": _rlm,
}  # fmt: skip


def estimate(name: str, document: Document, llm: LLM, *, size: int | None = None, reply: int | None = None) -> Estimate:
    """About what one question takes with the baseline `name`, a key of `METHODS`: calls, tokens, money where it has a price.

    `size` is that of the method, `reply` what its budget has for a reply. The tokens of the question are left out. Raises
    InputError for an unknown name.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(name="embedded", context=8192, count_tokens=lambda text: len(text) // 4)
    >>> note = Document("note", "Ivo sold the lamp. " * 400)
    >>> print(estimate("Direct", note, model))
    1 call (0 more are cached), 1,938 tokens to read, at most 512 to write, at most 0.0000 USD
    >>> estimate("CoA", note, model, size=500).calls
    5
    """
    require(name in RUNS, f"there is no baseline {name!r}: expected one of {', '.join(RUNS)}")
    run = _Run(document, llm, size, reply)
    RUNS[name](run)
    return Estimate(run.calls, 0, run.read, run.written, Ledger().cost(llm.name, run.read, run.written))
