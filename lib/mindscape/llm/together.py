"""Several jobs that ask a model one thing after the other, side by side: what they ask at a time goes to it in one batch.

Replies are those of the jobs one by one, up to the model's rounding. Taught in notebook 32_long_reason. Nothing here knows what
is asked.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

from mindscape.llm.base import LLM, Message, Prompt, Reply, for_each, is_one, shared


def _in_turn(name: str) -> property:
    """What the model says of itself, to one thread at a time."""

    def told(together: "Together") -> Any:
        with together._turn:
            return getattr(together.llm, name)

    return property(told)


class Together:
    """An `LLM` that several threads ask: once all of them wait, what they ask goes to the model, a batch for each kind of
    options, schemas aside. Each thread must `leave` in the end. Only one thread at a time is inside the model.
    """

    def __init__(self, llm: LLM, threads: int):
        self.llm, self._left = llm, threads
        self._turn, self._asked = threading.Condition(), []

    name, fingerprint, maker, context, form = map(_in_turn, ("name", "fingerprint", "maker", "context", "form"))

    def count_tokens(self, prompt: Prompt) -> int:
        with self._turn:
            return self.llm.count_tokens(prompt)

    def chat(self, messages: Sequence[Message] | Sequence[Sequence[Message]], **options: Any) -> Any:
        """As `LLM.chat`; waits for the others."""
        one = is_one(messages)
        asked = _Asked(cast(list[Sequence[Message]], [messages] if one else list(messages)), options)
        with self._turn:
            self._asked.append(asked)
            self._answer()
            while asked.replies is None:
                self._turn.wait()
        if isinstance(asked.replies, Exception):
            raise asked.replies
        return asked.replies[0] if one else asked.replies

    def leave(self) -> None:
        """What a thread says when it will ask no more."""
        with self._turn:
            self._left -= 1
            self._answer()

    def _answer(self) -> None:
        """Ask the model, if nobody is left who may still ask."""
        if not self._asked or len(self._asked) < self._left:
            return
        asked, self._asked = self._asked, []
        while asked:
            alike = [one for one in asked if one.kind == asked[0].kind]
            asked = [one for one in asked if one.kind != asked[0].kind]
            options = dict(alike[0].options)
            if options.get("schema") is not None:
                forms = [form for one in alike for form in for_each(one.options["schema"], len(one.talks))]
                options["schema"] = shared(forms)
            try:
                replies = iter(self.llm.chat([talk for one in alike for talk in one.talks], **options))
                for one in alike:
                    one.replies = [next(replies) for _ in one.talks]
            except Exception as error:
                for one in alike:
                    one.replies = error
        self._turn.notify_all()


class _Asked:
    """What a thread asks, and the replies or the error, once they are there."""

    def __init__(self, talks: list[Sequence[Message]], options: dict[str, Any]):
        self.talks, self.options = talks, options
        self.kind = options | {"schema": options.get("schema") is not None}  # what must be alike to be asked together
        self.replies: list[Reply] | Exception | None = None


def side_by_side(llm: LLM, jobs: Sequence[Callable[[LLM], Any]]) -> list[Any]:
    """The results of jobs that each ask a model, in their order, in threads that ask it together.

    Raises what a job raised, the first of them, when all have come to their end. An interrupt leaves them behind.

    >>> side_by_side(model, [lambda llm: llm.chat(hello).text, lambda llm: llm.chat(hello).text])   # doctest: +SKIP
    ['Hello.', 'Hello.']
    """
    together = Together(llm, len(jobs))
    results: dict[int, Any] = {}
    errors: dict[int, Exception] = {}

    def work(i: int) -> None:
        try:
            results[i] = jobs[i](cast(LLM, together))  # all but `complete` and `score`
        except Exception as error:
            errors[i] = error
        finally:
            together.leave()

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[i] for i in range(len(jobs))]
