"""Direct: the whole text and the question in one call (MindGraph, sections 2.2 and 4.2).

Where the model's window, or the budget, does not hold the text its middle is left out, as LongBench does it, and the trace
says how many characters that are. A server does not tell its window: there the tokens of the budget are the only bound, and
without them a text that is too long is the server's to refuse.

Taught in notebook 32_long_reason. Nothing is kept for a second question.
"""

from mindscape.budget import Budget, Meter
from mindscape.llm import LLM
from mindscape.mindgraph.baselines.asking import checked, last
from mindscape.question import ANSWER, Answer
from mindscape.text import Document


def answer(question: str, document: Document, llm: LLM, budget: Budget | None = None) -> Answer:
    """Answer a question from the text itself.

    Raises InputError for a blank question, a text that is blank or in another language than English and Chinese, and a window
    that does not hold the question; LLMError where the model fails.

    >>> answer("Who sold the lamp?", Document("note", "Ivo sold the lamp."), model).text         # doctest: +SKIP
    'Ivo'
    """
    meter = Meter(llm, budget, stage=ANSWER)
    checked(question, document, meter)
    return meter.answer(last(meter, document.text, question, document.language))
