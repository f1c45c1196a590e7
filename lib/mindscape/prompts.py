"""The words that a model is asked in, as files beside the code: a folder `prompts` a room, a prompt and a language a file.

    load("mom", "answer")            mindscape/mom/prompts/answer.md, as it stands there
    languages("roles", "qa")         {"en": mindscape/roles/prompts/qa.en.md, "zh": mindscape/roles/prompts/qa.zh.md}
    table("roles", "judges")         mindscape/roles/prompts/judges.toml, for short words and what is said in a reply

A file is read when it is first asked for, and kept. Braces are those of `str.format`. A changed letter is another prompt: what
the store holds for the old one is not found any more. Every file is named by some call in full, so that a search finds it.
Nothing here fills a prompt: `mindscape.roles.base` does. Taught in notebook 01_the_reader.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh")


@cache
def load(room: str, name: str) -> str:
    """A prompt without the line break that ends its file.

    >>> load("roles", "qa.en").splitlines()[-1]
    'Question: {question}'
    """
    return _file(room, f"{name}.md").removesuffix("\n")


def languages(room: str, name: str) -> dict[str, str]:
    """A prompt in each language.

    >>> languages("roles", "qa")["zh"].splitlines()[-1]
    '问题：{question}'
    """
    return {language: load(room, f"{name}.{language}") for language in LANGUAGES}


@cache
def table(room: str, name: str) -> dict[str, Any]:
    """Short texts by name; not to be changed, since all who ask get the same.

    >>> sorted(table("roles", "judges")["answered"])
    ['en', 'zh']
    """
    return tomllib.loads(_file(room, f"{name}.toml"))


def _file(room: str, name: str) -> str:
    return (Path(__file__).parent / room / "prompts" / name).read_text(encoding="utf-8")
