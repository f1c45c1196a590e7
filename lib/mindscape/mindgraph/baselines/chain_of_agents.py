"""Chain-of-Agents (Zhang et al., 2024; MindGraph, sections 2.2 and 4.2): workers read in turn, a manager answers.

Each worker has the question, the next block, and the summary that the worker before it left; it leaves a new one. The manager
has the last summary and no text. The summary is bounded, so a later worker can lose what an earlier one wrote: that is the
method. Where the budget ends the chain early, the manager answers from what was read, and the trace says how far that is.

Taught in notebook 32_long_reason. Nothing is kept for a second question, since the summaries have the first one in view.
"""

from mindscape.budget import Budget, BudgetSpent, Meter
from mindscape.llm import LLM
from mindscape.mindgraph.answering import block_size
from mindscape.mindgraph.baselines.asking import alone, ask, blocks, checked, last, reply_tokens
from mindscape.prompts import languages
from mindscape.question import ANSWER, Answer
from mindscape.text import Document

SUMMARY = 1024  # tokens of a summary, at most
NOTHING = {"en": "(nothing yet)", "zh": "（尚无）"}
WORKER = languages("mindgraph", "coa_worker")


def answer(
    question: str, document: Document, llm: LLM, budget: Budget | None = None, *, size: int | None = None
) -> Answer:
    """Answer a question from a summary that is handed from block to block, each of at most `size` tokens (`block_size`).

    A worker whose reply cannot be used hands on the summary that it got. Errors as in `direct.answer`.

    >>> answer("Who has the lamp?", document, model, Budget(calls=40)).calls                    # doctest: +SKIP
    13
    """
    meter, language = Meter(llm, budget), document.language
    checked(question, document, meter)
    size = block_size(meter) if size is None else size
    tokens, summary = reply_tokens(meter, SUMMARY, size), NOTHING[language]
    slots = {"question": question, "summary": "", "index": 9999, "total": 9999, "block": ""}
    # Room for the summary that comes in and for the one that goes out.
    parts = blocks(meter, document, WORKER[language].format(**slots), 2 * tokens, size)
    for part in parts:
        slots |= {"summary": summary, "index": part.index + 1, "total": len(parts), "block": document[part].strip()}
        try:
            [new] = ask(meter, [alone(WORKER[language].format(**slots))], language, tokens=tokens)
        except BudgetSpent as error:
            meter.note(f"{error}; {part.index} of {len(parts)} blocks were read")
            break
        summary = new or summary
    meter.stage = ANSWER
    return meter.answer(last(meter, summary, question, language))
