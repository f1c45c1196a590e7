"""How each notebook is built, counted in what is stored: figures/course.json.

Before its appendix a notebook is to have at most 45 cells and 2,000 words of prose, and visible cells of code of 8 lines in the
median and 15 at most; the paper's case, the drawing of its system, the settings beside the paper's, one question followed all
the way, and every prompt that it uses, whole.
"""

import json
import re
import statistics
from pathlib import Path
from typing import Any

MOST = {"cells": 45, "words": 2000, "median_lines": 8, "longest_lines": 15}
HAS = {  # what is looked for in the prose
    "case": re.compile(r"^#+ The paper's case", re.MULTILINE),
    "settings": re.compile(r"\|\s*the paper\s*\|\s*here\s*\|"),
    "question": re.compile(r"^#+ .*One question", re.MULTILINE),
}
FOLDED = re.compile("<details>.*?</details>", re.DOTALL)  # a figure in words
APPENDIX = re.compile(r"^#+ Appendix", re.MULTILINE)


def counted(notebook: dict) -> dict[str, Any]:
    """What a notebook holds before its appendix, and the words of all of it with its outputs.

    >>> texts = ["## The paper's case", "## Appendix"]
    >>> told = counted({"cells": [{"cell_type": "markdown", "source": text} for text in texts]})
    >>> told["cells"], told["words"], told["case"], told["all_words"]
    (1, 4, True, 6)
    """
    cells = notebook["cells"]
    end = next((i for i, cell in enumerate(cells) if APPENDIX.search(_prose(cell))), len(cells))
    body = cells[:end]
    prose = "\n".join(map(_prose, body))
    lines = [_lines(cell) for cell in body if cell["cell_type"] == "code" and not _folded(cell)] or [0]
    return {
        "cells": len(body),
        "words": len(prose.split()),
        "median_lines": statistics.median(lines),
        "longest_lines": max(lines),
        **{name: bool(pattern.search(prose)) for name, pattern in HAS.items()},
        "drawing": any("drawing.draw(" in _source(cell) for cell in body),
        "prompts_not_shown": prompts_not_shown(cells),
        "all_words": sum(len(_prose(cell).split()) + len(_output(cell).split()) for cell in cells),
    }


def prompts_not_shown(cells: list[dict]) -> list[str]:
    """Roles that the cells name and whose prompt no output shows: no form of it, in no language, from its first words on."""
    from mindscape.roles import ROLES

    code = "\n".join(_source(cell) for cell in cells if cell["cell_type"] == "code")
    shown = _squeezed("\n".join(map(_output, cells)))
    named = [name for name in ROLES if re.search(rf'ROLES\["{name}"\]|\b{name.upper()}\b', code)]
    return [name for name in named if not any(_squeezed(text) in shown for text in _beginnings(ROLES[name]))]


def _beginnings(role) -> list[str]:
    forms = [role.words("short"), role.words("paper")]
    return [text.partition("{")[0].replace("}}", "")[:80] for words in forms for text in words.values()]


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _source(cell: dict) -> str:
    return "".join(cell["source"])


def _prose(cell: dict) -> str:
    return _source(cell) if cell["cell_type"] == "markdown" else ""


def _lines(cell: dict) -> int:
    return sum(1 for line in _source(cell).splitlines() if line.strip())


def _folded(cell: dict) -> bool:
    return bool(cell["metadata"].get("jupyter", {}).get("source_hidden"))


def _output(cell: dict) -> str:
    """The text of a cell's outputs."""
    parts = []
    for output in cell.get("outputs", []):
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        markdown = output.get("data", {}).get("text/markdown", "")
        parts += ["".join(text), FOLDED.sub("", "".join(markdown))]
    return "\n".join(parts)


def course_page(root: Path) -> str:
    """figures/course.json: a line a notebook, and the words of all together."""
    found = {
        path.stem: counted(json.loads(path.read_text(encoding="utf-8")))
        for path in sorted((root / "notebooks").glob("[0-9]*.ipynb"))
    }
    lines = [f"  {json.dumps(name)}: {json.dumps(told)}" for name, told in found.items()]
    total = sum(told["all_words"] for told in found.values())
    return "{\n" + ",\n".join([*lines, f'  "all_words": {total}']) + "\n}\n"
