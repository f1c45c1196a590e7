"""One way to ask a model in a role: render the prompt, chat, parse, try again, count, keep within a budget.

    prompt = ROLES["qa"].prompt("en", form_of(llm), context=text, question="Who sold the lamp?")
    answers = ask(llm, ROLES["qa"], [prompt])
    answers[0].value, answers[0].unread

`llm` is a `LanguageModel`, or a `Meter` around one with a method's budget (`mindscape.budget`); replies come out of the store
where they are there (`mindscape.store`). A reply that cannot be read, or was cut off, is tried again as `again` says, and is
counted. Taught in notebook 01_the_reader.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mindscape.llm.base import LLM, PAPER, Reply, form_of
from mindscape.llm.schema import json_schema
from mindscape.question import Answer
from mindscape.roles import Role

LONGEST = {  # tokens of a reply: what gold takes at most and a third more, and room for talk around what is short
    "chunk_summary": 144,
    "global_summary": 268,
    "session_summary": 268,
    "silver_chunks": 40,
    "silver_nodes": 40,
    "entities": 268,
    "edits": 384,
    "graph_answer": 96,
    "counted": 244,
    "update": 280,
    "memory": 532,
    "reverse_reasoning": 164,
    "qa": 40,
    "choice": 120,
    "claim": 120,
    "grade": 72,
    "pairwise": 184,
}
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
    found: list[Answer] = [Answer("", calls=0)] * len(prompts)
    form = role.reply(form_of(llm)) if constrained else None
    waiting = list(range(len(prompts)))
    if free_first:
        free = llm.chat(talks, max_new_tokens=tokens) if talks else []
        found = [replace(_added(Answer("", calls=0), reply, role), free=reply.text) for reply in free]
        waiting = [] if form is None else [i for i, reply in enumerate(free) if not _could_write(llm, reply, form)]
    for trial in range(tries if not free_first else 1):
        if not waiting:
            break
        how = {"temperature": WARMER, "seed": trial} if trial else sampling
        replies = llm.chat([talks[i] for i in waiting], schema=form, max_new_tokens=tokens, **how)
        for i, reply in zip(waiting, replies, strict=True):
            found[i] = _added(found[i], reply, role)
        waiting = [i for i in waiting if found[i].value is None]
    return found


def read_replies(role: Role, text: str, cut: bool = False) -> Any | None:
    """What a reply says, or None where it cannot be read or was cut off.

    >>> from mindscape.roles import ROLES
    >>> read_replies(ROLES["silver_chunks"], "[0, 2]"), read_replies(ROLES["silver_chunks"], "the first")
    ([0, 2], None)
    """
    try:
        return None if cut else role.parse(text)[0]
    except ValueError:
        return None


def _added(before: Answer, reply: Reply, role: Role) -> Answer:
    """An answer after one more reply."""
    value, repairs, why, cut = None, [], [], reply.finish == "length"
    try:
        if cut:
            raise ValueError(f"cut off after {reply.completion_tokens} tokens")
        if reply.invalid and role.form is None:
            raise ValueError(reply.invalid)
        value, repairs = role.parse(reply.whole)
    except ValueError as error:
        why = [str(error)]
    return replace(
        before,
        text=reply.text,
        value=value,
        unread=(*before.unread, *why),
        cut=cut,
        calls=before.calls + 1,
        prompt_tokens=before.prompt_tokens + reply.prompt_tokens,
        completion_tokens=before.completion_tokens + reply.completion_tokens,
        repairs=tuple(repairs),
    )


def _could_write(llm: LLM, reply: Reply, form: Any) -> bool:
    """Whether constrained decoding would have written this reply: at each of its tokens the likeliest was allowed."""
    could = getattr(getattr(llm, "backend", None), "could_write", None)
    return reply.finish != "length" and could is not None and could(reply.text, json_schema(form))
