"""The wording of each language, read from the data files beside this module; the two have the same names and keys.

    bindings   who is who: a trade, a kinship, a guise tied to a name
    events     what can happen, told, stated and asked about
    names      people, places, things, and the words of each kind of event
    questions  how questions and summaries are put
    scenes     how a scene is told

Taught in notebook 00_start_here.
"""

import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from mindscape.errors import require

LANGUAGES = ("en", "zh")


def wording(language: str) -> SimpleNamespace:
    """A language's words: a namespace a file. Raises InputError for a language that has none.

    >>> wording("zh").names.TRADES["baker"], wording("en").questions.KIN_OF
    ('面包师', "{b}'s {relation}")
    """
    require(language in LANGUAGES, f"language {language!r}: expected one of {', '.join(LANGUAGES)}")
    return _read(language)


@cache
def _read(language: str) -> SimpleNamespace:
    files = sorted(Path(__file__).with_name(language).glob("*.toml"))
    parts = {file.stem: SimpleNamespace(**tomllib.loads(file.read_text(encoding="utf-8"))) for file in files}
    return SimpleNamespace(**parts)
