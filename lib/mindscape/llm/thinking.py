"""What a reasoning model thinks before it answers: the one place that knows how it stands in a reply.

A block between two marks, several of them, or a closing mark alone: many chat templates write the opening one themselves. A
server that hands the thinking over beside the reply is read by `mindscape.llm.endpoint`, into `Reply.thinking`.

Taught in notebook 01_the_reader. Thinking without any mark cannot be told from an answer.
"""

import re
from collections.abc import Collection

_NAMES = "think|thinking|thought|reasoning"  # tags, of which some are fields of a role's reply
_OPENS = (
    r"\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>|<\|channel\|?>(?:analysis<\|message\|>|thought\b)"
)
_CLOSES = r"\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>|<\|channel\|>final<\|message\|>|<channel\|>"
MARK = re.compile(
    rf"<(?:seed:)?(?P<open>{_NAMES})>|</(?:seed:)?(?P<close>{_NAMES})>|(?P<opens>{_OPENS})|{_CLOSES}", re.I
)


def split(text: str, fields: Collection[str] = ()) -> tuple[str, list[str]]:
    """What a reply says, and each thing that was thought before it; tags that are `fields` of the reply are left in it.

    Raises ValueError for a reply that ends inside its thinking.

    >>> split("<think>Ann?</think> Hugo"), split("Ann? No. </think>Hugo")
    (('Hugo', ['Ann?']), ('Hugo', ['Ann? No.']))
    """
    said, thought, start, thinking = [], [], 0, False
    for mark in MARK.finditer(text):
        if (mark["open"] or mark["close"] or "").lower() in fields:
            continue
        if mark["open"] or mark["opens"]:
            if not thinking:
                said.append(text[start : mark.start()])
                start, thinking = mark.end(), True
            continue
        before = text[start : mark.start()]
        if not thinking:  # the template has opened it
            before = "".join([*said, before])
            said.clear()
        thought.append(before.strip())
        start, thinking = mark.end(), False
    if thinking:
        raise ValueError("the reply ends inside its thinking")
    return ("".join([*said, text[start:]]).strip(), thought) if thought else (text, [])


def dropped(text: str, fields: Collection[str] = ()) -> tuple[str, list[str]]:
    """A reply without its thinking, and the name of that repair if there was any. Raises ValueError as `split` does."""
    said, thought = split(text, fields)
    return said, ["thinking dropped"] if thought else []
