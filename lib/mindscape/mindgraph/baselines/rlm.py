"""A recursive language model, RLM (Zhang et al., 2025; MindGraph, sections 2.2 and 4.2): the text is a variable of a program.

The model does not read the text. It writes Python, turn by turn, over a variable `context` that holds it, sees what the code
prints, and may hand parts of the text to a second model, which is the same model with nothing but that prompt before it: the
recursion is one deep. After at most 30 turns it answers. The code runs shut in, see `sandbox`.

Where the paper is silent: what is printed is shown up to 2,048 tokens, cut in its middle; the oldest turns fall out of the
conversation where the window does not hold it; a turn with neither code nor answer is told so and counts as one of the 30;
when those are over, or the budget is, one call more asks for the answer alone, if the budget holds it. There is no build: the
model's first turn is the answer's first call.

Taught in notebook 32_long_reason.
"""

import re
from collections.abc import Collection, Sequence

from mindscape.budget import Budget, BudgetSpent, Meter
from mindscape.llm import LLM, Message
from mindscape.mindgraph.asking import BRIEF, SPARE, alone, check_question, clipped, reply_tokens, room, said
from mindscape.mindgraph.baselines.sandbox import Limits, Ran, Sandbox
from mindscape.prompts import languages, short_texts
from mindscape.question import ANSWER, Answer
from mindscape.text import Document

ITERATIONS = 30  # section 4.2
QUERY = "query"  # the stage of the second model's calls
TURN, QUERIED, SHOWN = 2048, 1024, 2048  # tokens of a turn, of a query's reply, of what is shown of an output
LONGEST = 65_536  # tokens of a query, where the model's window is not known
FENCED = re.compile(r"```[ \t]*(?:python|py|repl)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
FINAL, END = re.compile(r"^[ \t]*FINAL\(", re.MULTILINE), re.compile(r"\)[ \t]*$", re.MULTILINE)
TASK = languages("mindgraph", "rlm_task")
TOLD = short_texts("mindgraph", "rlm")


def code_in(reply: str) -> str:
    """The code of a turn: what stands between fences, joined where there are several; empty without one.

    >>> code_in("I look first.\\n```python\\nprint(context[:100])\\n```\\nThen more.")
    'print(context[:100])\\n'
    """
    return "\n".join(FENCED.findall(said_or_empty(reply)))


def final_in(reply: str) -> str | None:
    """The answer in a turn that has FINAL(answer) outside of code, without quotes around it; None without one. It goes to the
    first bracket at the end of a line that leaves none open, else to the last.

    >>> final_in('FINAL("the miller")'), final_in("```python\\nFINAL(name)\\n```")
    ('the miller', None)
    """
    text = FENCED.sub("", said_or_empty(reply))
    begun = FINAL.search(text)
    found = [text[begun.end() : end.start()] for end in END.finditer(text, begun.end())] if begun else []
    if not found:
        return None
    answer = next((some for some in found if some.count("(") == some.count(")")), found[-1])
    return re.sub(r"""^(["'“‘「])(.*)["'”’」]$""", r"\2", answer.strip(), flags=re.DOTALL)


def said_or_empty(reply: str) -> str:
    """A reply without what was thought before it; empty where it has no words.

    >>> said_or_empty("<think>Who has it?</think>Ann."), said_or_empty(" ")
    ('Ann.', '')
    """
    try:
        return said(reply)
    except ValueError:
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
) -> Answer:
    """Answer a question with code over the text that the model writes turn by turn.

    `limits` bound the code, `accept` names what it may be open to on a machine that cannot shut it in (`sandbox.Sandbox`).
    The trace has each turn and each query with its tokens, and what the code brought.

    Raises MindscapeError, before the first call, where the code cannot be shut in; else as `reading.direct`.

    >>> answer_by_code("How often is the lamp sold?", document, model).text                             # doctest: +SKIP
    '3'
    """
    meter = Meter(llm, budget, stage=ANSWER)
    check_question(question, document, meter)
    with Sandbox(document.text, limits, accept) as sandbox:
        return meter.answer(_Loop(question, document, meter, sandbox, iterations).run())


class _Loop:
    """The conversation between a model and its code."""

    def __init__(self, question: str, document: Document, meter: Meter, sandbox: Sandbox, iterations: int):
        self.language, self.meter, self.sandbox, self.iterations = document.language, meter, sandbox, iterations
        self.told = TOLD[self.language]
        self.tokens, self.query_tokens = reply_tokens(meter, TURN), reply_tokens(meter, QUERIED)
        self.longest = LONGEST if meter.context is None else room(meter, "", self.query_tokens)
        self.shown = SHOWN if meter.context is None else min(SHOWN, meter.context // 5)
        slots = {"turns": iterations, "longest": self.longest, "seconds": sandbox.limits.seconds}
        task = TASK[self.language].format(question=question, length=len(document.text), **slots)
        room(meter, task, 2 * self.tokens + self.shown)  # raises where a window does not hold one turn and the next
        self.task = alone(task)
        self.turns: list[list[Message]] = []  # each a reply and what became of it

    def run(self) -> str:
        """The answer; empty where there is none."""
        self.meter.note(f"code is shut in by {' and '.join(self.sandbox.layers) or 'its limits alone'}")
        try:
            for _ in range(self.iterations):
                done, text = self.turn()
                if done:
                    return text
            self.meter.note(f"no answer after {self.iterations} turns")
        except BudgetSpent as error:
            self.meter.note(str(error))
        return self.end()

    def turn(self) -> tuple[bool, str]:
        """Ask for a turn and run its code: whether it brought the answer, and the answer."""
        reply = self._asked([self.talk()], self.tokens)[0]
        code, final = code_in(reply), final_in(reply)
        if code.strip():
            ran = self.sandbox.run(code, self.queries)
            if ran.final is not None:
                return True, ran.final
            became = self.became(ran)
        else:
            became = self.told["neither"]
        if final is not None:
            return True, final
        self.meter.note(became)
        self.turns.append([{"role": "assistant", "content": reply}, {"role": "user", "content": became}])
        return False, ""

    def end(self) -> str:
        """One call more, for the answer alone."""
        talk = self.talk()
        # The last message is what became of the last code, or the task itself: the demand stands below it.
        talk[-1] = {"role": "user", "content": f"{talk[-1]['content']}\n\n{self.told['end']}"}
        try:
            reply = self._asked([talk], min(self.tokens, BRIEF))[0]
        except BudgetSpent as error:
            self.meter.note(str(error))
            return ""
        final = final_in(reply)
        return said_or_empty(reply) if final is None else final

    def became(self, ran: Ran) -> str:
        """What the model is told of its code."""
        output, _ = clipped(self.meter, ran.output, self.shown, self.language)
        parts = [self.told["output"].format(n=ran.length, output=output) if ran.length else self.told["nothing"]]
        if ran.error:
            parts.append(self.told["error"].format(error=clipped(self.meter, ran.error, SPARE // 2, self.language)[0]))
        if ran.stopped:
            parts.append(self.told["stopped"].format(why=ran.stopped))
        return "\n".join(parts)

    def queries(self, prompts: Sequence[str]) -> list[str]:
        """The replies of the second model to a batch of prompts; one that is too long is not asked."""
        counts = [self.meter.count_tokens(alone(prompt)) for prompt in prompts]
        short_enough = [i for i, count in enumerate(counts) if count <= self.longest]
        replies = [self.told["long"].format(n=count, most=self.longest) for count in counts]
        talks = [alone(prompts[i]) for i in short_enough]
        before, self.meter.stage = self.meter.stage, QUERY
        try:
            for i, text in zip(short_enough, self._asked(talks, self.query_tokens), strict=True):
                replies[i] = said_or_empty(text)
        finally:
            self.meter.stage = before
        return replies

    def talk(self) -> list[Message]:
        """The conversation until now; where the window does not hold it and a reply, without its oldest turns."""
        first = 0
        while True:
            talk = [*self.task, *(message for turn in self.turns[first:] for message in turn)]
            taken = self.meter.count_tokens(talk) + self.tokens + SPARE
            if first == len(self.turns) or self.meter.context is None or taken <= self.meter.context:
                if first:
                    self.meter.note(f"the first {first} turns do not fit any more")
                return talk
            first += 1

    def _asked(self, talks: Sequence[Sequence[Message]], tokens: int) -> list[str]:
        return [reply.text for reply in self.meter.chat(list(talks), max_new_tokens=tokens)] if talks else []
