"""A script in a model's place: a function writes the replies, so that what is done with them can be seen without a model.

Taught in notebooks 31_mindgraph_answer and 32_long_reason.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mindscape.llm.base import SHORT, Form, Prompt, Reply, Sampling, Tool, ToolCall, estimated_tokens


class Scripted:
    """A backend for `LanguageModel`; it keeps what it was `asked`, and dies, as of a kill, at the call `dies`.

    It is sent the papers' prompts in the given `form`, as
    the embedded model is or as others are (`mindscape.llm.base.form_of`).
    `say(messages, tools, schema)` gives a text, a ToolCall, or something for JSON; `count(prompt, tools)` counts tokens.

    >>> from mindscape.llm import LanguageModel
    >>> louder = LanguageModel(Scripted(lambda messages, *_: messages[-1]["content"].upper()))
    >>> louder.chat([{"role": "user", "content": "Who's there?"}]).text
    "WHO'S THERE?"
    """

    name, fingerprint, context = "scripted", "scripted", None
    quick = True  # nothing is computed

    def __init__(
        self,
        say: Callable[..., Any],
        *,
        dies: int | None = None,
        count: Callable[..., int] = estimated_tokens,
        form: str = SHORT,
    ):
        self.say, self.dies, self.count_tokens, self.form = say, dies, count, form
        self.asked: list[tuple[Prompt, list[Tool], Form | None]] = []

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, tools: Sequence[Tool] = (), schema: Form | None = None
    ) -> Iterator[tuple[int, Reply]]:
        for i, prompt in enumerate(prompts):
            self.asked.append((prompt, list(tools), schema))
            if len(self.asked) == self.dies:
                raise KeyboardInterrupt
            said = self.say(prompt, list(tools), schema)
            calls = (said,) if isinstance(said, ToolCall) else ()
            text = said if isinstance(said, str) else "" if calls else json.dumps(said)
            written = self.count_tokens(text + "".join(str(call.arguments) for call in calls))
            yield i, Reply(text, calls, self.count_tokens(prompt, tools), written, "tool_calls" if calls else "stop")
