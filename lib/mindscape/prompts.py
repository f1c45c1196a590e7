"""The words that a model is asked in, as files beside the code: a folder `prompts` a room, a prompt and a language a file.

    text("mom", "answer")            mindscape/mom/prompts/answer.md, as it stands there
    languages("roles", "qa")         {"en": mindscape/roles/prompts/qa.en.md, "zh": mindscape/roles/prompts/qa.zh.md}
    paper("roles", "edits")          {"en": mindscape/roles/prompts/paper/edits.en.md, ...}: its other form
    short_texts("roles", "judges")   mindscape/roles/prompts/judges.toml, for short words and what is said in a reply

A prompt that a paper prints has two forms. The short one is what the embedded model was trained on; the paper's form, which all
other models are sent (`mindscape.llm.base.form_of`), has in the kit's words every demand, phase, slot and format that the paper
prints. Beside it paper/NAME.toml says where that is and lists the demands: `demands`, `left_out`.

A file is read when it is first asked for, and kept. Braces are those of `str.format`. A changed letter is another prompt: what
the store holds for the old one is not found any more. Every file is named by some call in full, so that a search finds it.
Nothing here fills a prompt: `mindscape.roles` does. Taught in notebook 01_the_reader.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from mindscape.errors import require

LANGUAGES = ("en", "zh")


@cache
def text(room: str, name: str) -> str:
    """A prompt without the line break that ends its file.

    >>> text("roles", "qa.en").splitlines()[-1]
    'Question: {question}'
    """
    return _file(room, f"{name}.md").removesuffix("\n")


def languages(room: str, name: str) -> dict[str, str]:
    """A prompt in each language.

    >>> languages("roles", "qa")["zh"].splitlines()[-1]
    '问题：{question}'
    """
    return {language: text(room, f"{name}.{language}") for language in LANGUAGES}


def paper(room: str, name: str) -> dict[str, str]:
    """A prompt in the form that has all its paper's demands, in each language.

    >>> paper("roles", "qa")["en"].splitlines()[-1]
    'Answer:'
    """
    return languages(room, f"paper/{name}")


def sent(room: str, name: str, language: str, form: str) -> list[str]:
    """The texts of a name that a model is sent in a language and a form, and its short ones: what an answer hangs on.

    >>> sent("mindgraph", "again", "zh", "paper") == [text("mindgraph", "again.zh")]  # no paper prints it
    True
    >>> [len(sent("roles", "graph_answer", "en", "paper")), sent("roles", "qa", "en", "paper")[0].splitlines()[-1]]
    [2, 'Answer:']
    """
    home = Path(__file__).parent / room / "prompts"
    names = [f"paper/{name}.{language}"] * (form == "paper") + [f"{name}.{language}"]
    texts = [text(room, stem) for stem in names if (home / f"{stem}.md").is_file()][:1]
    return [*texts, _file(room, f"{name}.toml")] if (home / f"{name}.toml").is_file() else texts


def demands(name: str) -> list[dict[str, Any]]:
    """What the paper demands in a prompt: of each demand what it `says`, the words that make it in the paper's form (`en`,
    `zh`), and in the `short` form, in both languages, where that makes it. Raises InputError for a prompt that no paper prints.

    >>> demands("grade")[0]["says"]
    'a judge who is strict but fair'
    """
    return _about(name)["demands"]


def left_out(name: str) -> list[str]:
    """What the short form of a prompt leaves out of its paper's demands. Errors as in `demands`.

    >>> left_out("grade")[0]
    'a judge who is strict but fair'
    """
    return [demand["says"] for demand in demands(name) if "short" not in demand]


def place(name: str) -> str:
    """Where its paper prints a prompt. Errors as in `demands`.

    >>> place("grade")
    'MindGraph, appendix D.4'
    """
    return _about(name)["place"]


@cache
def printed() -> dict[str, str]:
    """The prompts that the papers print, in the order of their names, and the room of each.

    >>> printed()["edits"]
    'roles'
    """
    files = Path(__file__).parent.glob("*/prompts/paper/*.toml")
    return {path.stem: path.parts[-4] for path in sorted(files, key=lambda path: path.stem)}


def _about(name: str) -> dict[str, Any]:
    require(name in printed(), f"no paper prints a prompt {name!r}: expected one of {', '.join(printed())}")
    return short_texts(printed()[name], f"paper/{name}")


@cache
def short_texts(room: str, name: str) -> dict[str, Any]:
    """Short texts by name; not to be changed, since all who ask get the same.

    >>> sorted(short_texts("roles", "judges")["answered"])
    ['en', 'zh']
    """
    return tomllib.loads(_file(room, f"{name}.toml"))


def _file(room: str, name: str) -> str:
    return (Path(__file__).parent / room / "prompts" / name).read_text(encoding="utf-8")
