"""One way to ask a model in a role: render the prompt, chat, parse, try again, count, keep within a budget; and the budget, the
same for every method.

    prompt = ROLES["qa"].prompt("en", form_of(llm), context=text, question="Who sold the lamp?")
    answers = ask(llm, ROLES["qa"], [prompt])
    answers[0].value, answers[0].unread

`llm` is a `LanguageModel`, or a `Meter` around one with a method's budget; replies come out of the store where they are there
(`mindscape.store`). A reply that cannot be read, or was cut off, is tried again as `tries` says, and is counted.

A method asks its model through a `Meter`, which is a model itself, counts what each call reads and writes and stops before the
budget is crossed. A reply out of the store counts as if it were asked anew, since what is compared is what methods take, not
what a second run costs: that is the ledger's business (`mindscape.llm.recording`).

    meter = Meter(llm, Budget(tokens=2000))         # its stage is "build"
    summary = meter.chat(...).text
    meter.stage = ANSWER                            # the first call from here on is MindGraph's first call (section 4.2)
    return meter.answer(meter.chat(...).text)

Taught in notebooks 01_the_reader, 23_signature_agent and 31_mindgraph_answer.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from mindscape.errors import BudgetReached, require
from mindscape.llm.base import LLM, PAPER, Message, Prompt, Reply, Sampling, form_of, is_one
from mindscape.llm.schema import json_schema
from mindscape.question import BUILD, Answer, Step
from mindscape.roles import Role


class BudgetSpent(BudgetReached):
    """A method's own budget would be crossed, which ends the method; a cap of the ledger, BudgetReached, ends the run."""


@dataclass(frozen=True)
class Budget:
    """What a method may spend on one question: calls, and tokens read and written together; and the tokens of one reply, for a
    model that was trained on short ones. None is no bound.

    Raises InputError for a bound below 1.

    >>> Budget(calls=40, tokens=100_000)
    Budget(calls=40, tokens=100000, reply=None)
    """

    calls: int | None = None
    tokens: int | None = None
    reply: int | None = None

    def __post_init__(self):
        for name, value in vars(self).items():
            require(value is None or value >= 1, f"Budget({name}={value}): expected at least 1, or None for no bound")


class Meter:
    """A model that counts: it has the methods of `LLM`, and asks `llm`.

    `stage` is what the next calls are for; set it as the method goes on. Before a call that could cross the budget, even if
    each reply is as long as it may be, `chat` and `complete` raise BudgetSpent, and of several prompts none is asked. Tools
    and schema are not in that estimate; what a call took is the model's own count.

    >>> from mindscape import llm
    >>> meter = Meter(llm.load("embedded"), Budget(tokens=2000))                            # doctest: +SKIP
    >>> meter.chat([{"role": "user", "content": "Who's there?"}]).text                      # doctest: +SKIP
    'Nay, answer me.'
    >>> meter.calls, meter.tokens                                                           # doctest: +SKIP
    (1, 42)
    """

    def __init__(self, llm: LLM, budget: Budget | None = None, stage: str = BUILD):
        self.llm, self.budget, self.stage = llm, budget or Budget(), stage
        self.steps: list[Step] = []

    name, fingerprint, maker, backend, context, form = (  # as its model says them
        property(attrgetter(f"llm.{field}")) for field in ("name", "fingerprint", "maker", "backend", "context", "form")
    )

    def count_tokens(self, prompt: Prompt) -> int:
        """As the model counts them; no call."""
        return self.llm.count_tokens(prompt)

    @property
    def calls(self) -> int:
        """Calls until now, those out of the cache included."""
        return sum(step.is_call for step in self.steps)

    @property
    def tokens(self) -> int:
        """Tokens read and written until now, cached replies included."""
        return sum(step.read + step.written for step in self.steps)

    def chat(self, messages: Sequence[Message] | Sequence[Sequence[Message]], **options: Any) -> Any:
        """As `LLM.chat`."""
        return self._asked(self.llm.chat, messages, options)

    def complete(self, prompts: str | Sequence[str], **sampling: Any) -> Any:
        """As `LLM.complete`."""
        return self._asked(self.llm.complete, prompts, sampling)

    def _asked(self, ask: Callable[..., Any], prompts: Any, options: Mapping[str, Any]) -> Any:
        single = is_one(prompts)
        if short := self._short([prompts] if single else prompts, options.get("max_new_tokens", Sampling.max_new_tokens)):
            raise BudgetSpent(short)
        replies = ask(prompts, **options)
        for reply in [replies] if single else replies:
            called = "".join(f"\n{call.name}({call.arguments})" for call in reply.tool_calls)
            self.add((reply.text + called).strip(), reply.prompt_tokens, reply.completion_tokens)
        return replies

    def score(self, prompt: Any, continuations: Any) -> Any:
        """As `LLM.score`; a score counts as a call that read prompt and continuation, and is not checked beforehand."""
        scores = self.llm.score(prompt, continuations)
        for group in scores if scores and isinstance(scores[0], list) else [scores]:
            for score in group:
                self.add(f"log p = {score.logprob:.2f}", score.prompt_tokens + score.tokens, 0)
        return scores

    def affords(self, prompts: Sequence[Prompt], max_new_tokens: int = Sampling.max_new_tokens) -> bool:
        """Whether so many more calls stay within the budget even if each reply is as long as it may be."""
        return not self._short(prompts, max_new_tokens)

    def add(self, what: str, read: int, written: int) -> None:
        """Count a call that was not made through this meter: the build's, say, of a graph that was there already."""
        self.steps.append(Step(self.stage, what, read, written, is_call=True))

    def note(self, what: str) -> None:
        """Put something that was done without the model into the trace."""
        self.steps.append(Step(self.stage, what))

    def answer(self, text: str) -> Answer:
        """The answer, with all that was counted."""
        read, written = sum(step.read for step in self.steps), sum(step.written for step in self.steps)
        took: dict[str, Any] = {"calls": self.calls, "prompt_tokens": read, "completion_tokens": written}
        return Answer(text, text or None, **took, trace=tuple(self.steps))

    def _short(self, prompts: Sequence[Prompt], max_new_tokens: int) -> str:
        """Why the next calls could cross the budget; empty if they cannot."""
        calls, tokens = self.budget.calls, self.budget.tokens
        if calls is not None and self.calls + len(prompts) > calls:
            return f"the budget of {calls:,} calls is spent: {self.calls:,} are made, {len(prompts):,} would be next"
        if tokens is None:
            return ""
        need = sum(self.llm.count_tokens(prompt) + max_new_tokens for prompt in prompts)
        if self.tokens + need <= tokens:
            return ""
        return f"the budget of {tokens:,} tokens is spent: {self.tokens:,} are used, what is next may take {need:,}"


LONGEST = {  # tokens of a reply: what gold takes at most and a third more, and room for talk around what is short
    "chunk_summary": 144, "global_summary": 268, "session_summary": 268, "silver_chunks": 40, "silver_nodes": 40,
    "entities": 268, "edits": 384, "graph_answer": 96, "counted": 244, "update": 280, "memory": 532,
    "reverse_reasoning": 164, "qa": 40, "choice": 120, "claim": 120, "grade": 72, "pairwise": 184,
}  # fmt: skip
PAPER_LONGEST = 1024  # the same, of a model that is sent the papers' forms and was not trained to be as brief as gold
WARMER = 0.7  # temperature of a second try


def ask(
    llm: LLM,
    role: Role,
    prompts: Sequence[str],
    *,
    tokens: int | None = None,
    constrained: bool = True,
    free_first: bool = False,
    tries: int = 1,
    **sampling: Any,
) -> list[Answer]:
    """An answer to each prompt of a role, all asked at once; the same prompt once.

    `tokens` bounds a reply, by default `LONGEST[role.name]`, or `PAPER_LONGEST` of a model that is sent the papers' forms.
    `constrained`: decoding follows the form of reply that the prompt asks for, where there is one and the model can.
    `free_first`: without that first, and again with it only where it could not have written the same (`Answer.free` is the
    first). `tries`: replies a prompt at most; the first is greedy, further ones are drawn at temperature `WARMER`, each with a
    seed of its own. `sampling`: another temperature or seed of the first. Raises BudgetSpent before calls that a meter's budget
    does not hold, LLMError if the model fails.

    >>> ask(model, ROLES["qa"], [prompt])[0].value                                          # doctest: +SKIP
    'the smith'
    """
    if tokens is None:
        tokens = PAPER_LONGEST if form_of(llm) == PAPER else LONGEST[role.name]
    talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
    answers: list[Answer] = [Answer("", calls=0)] * len(prompts)
    form = role.reply(form_of(llm)) if constrained else None
    waiting = list(range(len(prompts)))
    if free_first:
        free = llm.chat(talks, max_new_tokens=tokens) if talks else []
        answers = [replace(_added(Answer("", calls=0), reply, role), free=reply.text) for reply in free]
        if form is None:
            return answers
        schema = json_schema(form)
        waiting = [i for i, reply in enumerate(free) if not _could_write(llm, reply, schema)]
    for trial in range(1 if free_first else tries):
        if not waiting:
            break
        how = {"temperature": WARMER, "seed": trial} if trial else sampling
        replies = llm.chat([talks[i] for i in waiting], schema=form, max_new_tokens=tokens, **how)
        for i, reply in zip(waiting, replies, strict=True):
            answers[i] = _added(answers[i], reply, role)
        waiting = [i for i in waiting if answers[i].value is None]
    return answers


def read_replies(role: Role, text: str) -> Any | None:
    """What a reply says, or None where it cannot be read.

    >>> from mindscape.roles import ROLES
    >>> read_replies(ROLES["silver_chunks"], "[0, 2]"), read_replies(ROLES["silver_chunks"], "the first")
    ([0, 2], None)
    """
    with suppress(ValueError):
        return role.parse(text)[0]
    return None


def _added(before: Answer, reply: Reply, role: Role) -> Answer:
    """An answer after one more reply."""
    value, repairs, unread, cut = None, [], before.unread, reply.finish == "length"
    try:
        if cut:
            raise ValueError(f"cut off after {reply.completion_tokens} tokens")
        if reply.invalid and role.form is None:
            raise ValueError(reply.invalid)
        value, repairs = role.parse(reply.whole)
    except ValueError as error:
        unread = (*unread, str(error))
    read, written = before.prompt_tokens + reply.prompt_tokens, before.completion_tokens + reply.completion_tokens
    took: dict[str, Any] = {"calls": before.calls + 1, "prompt_tokens": read, "completion_tokens": written}
    return replace(before, text=reply.text, value=value, unread=unread, cut=cut, repairs=tuple(repairs), **took)


def _could_write(llm: LLM, reply: Reply, schema: Any) -> bool:
    """Whether constrained decoding would have written this reply: at each of its tokens the likeliest was allowed."""
    could = getattr(getattr(llm, "backend", None), "could_write", None)
    return reply.finish != "length" and could is not None and could(reply.text, schema)
