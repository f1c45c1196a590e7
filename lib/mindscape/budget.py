"""What a question may cost, counted call by call, for every method alike.

A method asks its model through a `Meter`, which is a model itself, counts what each call reads and writes and stops before the
budget is crossed. A reply out of the store counts as if it were asked anew, since what is compared is what methods take, not
what a second run costs: that is the ledger's business (`mindscape.llm.ledger`).

    meter = Meter(llm, Budget(tokens=2000))         # its stage is "build"
    summary = meter.chat(...).text
    meter.stage = ANSWER                            # the first call from here on is MindGraph's first call (section 4.2)
    return meter.answer(meter.chat(...).text)

Taught in notebooks 23_signature_agent and 31_mindgraph_answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from mindscape.errors import BudgetReached, require
from mindscape.llm.base import LLM, Message, Prompt, Sampling, is_one
from mindscape.question import BUILD, Answer, Step


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


# What a meter says of itself as its model does.
FORWARDED = ("name", "fingerprint", "maker", "backend", "context", "form")


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

    name, fingerprint, maker, backend, context, form = (property(attrgetter(f"llm.{of}")) for of in FORWARDED)

    def count_tokens(self, prompt: Prompt) -> int:
        """As the model counts them; no call."""
        return self.llm.count_tokens(prompt)

    @property
    def calls(self) -> int:
        """Calls until now, those out of the cache included."""
        return sum(step.asked for step in self.steps)

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
        one = is_one(prompts)
        if short := self._short([prompts] if one else prompts, options.get("max_new_tokens", Sampling.max_new_tokens)):
            raise BudgetSpent(short)
        replies = ask(prompts, **options)
        for reply in [replies] if one else replies:
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
        self.steps.append(Step(self.stage, what, read, written, asked=True))

    def note(self, what: str) -> None:
        """Put something that was done without the model into the trace."""
        self.steps.append(Step(self.stage, what))

    def answer(self, text: str) -> Answer:
        """The answer, with all that was counted."""
        read, written = (sum(getattr(step, name) for step in self.steps) for name in ("read", "written"))
        return Answer(
            text, text or None, calls=self.calls, prompt_tokens=read, completion_tokens=written, trace=tuple(self.steps)
        )

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
