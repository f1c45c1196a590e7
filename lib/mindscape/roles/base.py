"""A role that a language model plays in the papers' pipelines: what it is asked, and in what form it answers.

What a perfect reader of a novel would reply is `storyworld.teaching`'s.

Where a paper prints the prompt, it has two forms, both ours: the short one, which the embedded reader was trained on, and the
paper's, with each of its demands, for every other model; see `mindscape.prompts`. Which one a model is sent is what
`mindscape.llm.base.form_of` says, and nothing else decides it. Taught in notebook 01_the_reader.
"""

import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from mindscape.errors import InputError, one_of, require
from mindscape.llm import Schema, Tags
from mindscape.llm.base import PAPER, SHORT
from mindscape.llm.schema import read
from mindscape.llm.tags import dropped

FENCES = ("code fence stripped", r"^```\w*[^\S\n]*\n|\n?```$", "")


def label(words: str) -> tuple[str, str, str]:
    """The repair of a plain reply that begins with what it is, such as "**Answer:** ", in any of some words."""
    return "label dropped", rf"^[*#_\s]*(?:{words})[*_\s]*[:：][*_\s]*", ""


def mended(text: str, repairs: Sequence[tuple[str, str, str]] = ()) -> tuple[str, list[str]]:
    """A plain reply without thinking and fences, after the further repairs that it took, and the names of all:
    (name, pattern, what it is replaced by) in their order.

    Raises ValueError where no words are left, or the reply ends inside its thinking.

    >>> mended("**Answer:** a mill", [label("answer"), ("full stop dropped", r"\\.$", "")])
    ('a mill', ['label dropped'])
    """
    text, taken = dropped(text)
    text = text.strip()
    for name, pattern, kept in (FENCES, *repairs):
        clean = re.sub(pattern, kept, text, flags=re.DOTALL | re.IGNORECASE)
        if clean != text:
            taken.append(name)
            text = clean.strip()
    if not text:
        raise ValueError("the reply has no words")
    return text, taken


class Form(BaseModel):
    """A reply in JSON; it may have more keys than asked for, but decoding that is held to it adds none."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": False})


@dataclass(frozen=True)
class Example:
    """A prompt and what a perfect reader replies; `book` is the id of the document that it was made from.

    `history` is what was said between the two, the reader's turn first: a tool call and its result, say.
    """

    role: str
    prompt: str
    reply: str
    book: str
    history: tuple[str, ...] = ()


@dataclass(frozen=True)
class Role:
    """A prompt for each language, and the form of the reply.

    `form` is None where the reply is plain text, a pydantic model where it is JSON, `Tags` where it is in tags. `plain`
    parses a text; a role that has both is held to its form when it is written and read by `plain`. `paper` are the prompts in
    the paper's form, `asks` the form of the reply where that asks for another one, which `plain` then reads, too.

    >>> numbers = {"type": "array", "items": {"type": "integer"}}
    >>> role = Role("even", {"en": "Which of these are even? {numbers}"}, numbers)
    >>> role.prompt(numbers="3 4"), role.parse("```json\\n[4]\\n```")
    ('Which of these are even? 3 4', ([4], ['code fence stripped']))
    """

    name: str
    prompts: Mapping[str, str]
    form: Schema | None
    plain: Callable[[str], tuple[Any, list[str]]] | None = None
    paper: Mapping[str, str] | None = None
    asks: Schema | None = None

    def words(self, form: str = SHORT) -> Mapping[str, str]:
        """The prompts in a form, "short" or "paper", by language; a role that no paper prints has the short one alone."""
        one_of((SHORT, PAPER), form=form)
        return self.paper if form == PAPER and self.paper else self.prompts

    def reply(self, form: str = SHORT) -> Schema | None:
        """The form of the reply that a prompt in a form asks for."""
        return self.asks if form == PAPER and self.asks else self.form

    def prompt(self, language: str = "en", form: str = SHORT, **slots: str) -> str:
        """The user's message, in the form that `mindscape.llm.base.form_of` tells of the model that is asked.

        Raises InputError for another form, a language without a prompt, a slot too many or one missing.
        """
        prompts = self.words(form)
        if language not in prompts:
            raise InputError(f"role {self.name!r} has no prompt in {language!r}: expected one of {', '.join(prompts)}")
        wanted = {name for _, name, _, _ in string.Formatter().parse(prompts[language]) if name}
        require(wanted == set(slots), f"role {self.name!r}: got slots {sorted(slots)}: expected {sorted(wanted)}")
        return prompts[language].format(**slots)

    def parse(self, text: str) -> tuple[Any, list[str]]:
        """What a reply says, and the names of the repairs that it took. Raises ValueError where it says nothing usable."""
        return self.plain(text) if self.plain else read(text, self.form)

    def render(self, value: Any) -> str:
        """The reply that says a value, as the model is trained to write it."""
        if isinstance(self.form, Tags):
            return self.form.render(value)
        if self.plain:
            return value
        value = value.model_dump(exclude_defaults=True) if isinstance(value, BaseModel) else value
        return json.dumps(value, ensure_ascii=False)
