"""The prompts' files and the calls that name them."""

import re
from pathlib import Path

import mindscape
from mindscape import prompts

HOME = Path(mindscape.__file__).parent
CALL = re.compile(r'\b(text|languages|paper|short_texts)\("(\w+)", "([\w./-]+)"\)')


def named() -> set[str]:
    """The files that some module asks for."""
    found = set()
    for module in HOME.parent.rglob("*.py"):
        for kind, room, name in CALL.findall("" if module.name == "prompts.py" else module.read_text()):
            both = [f".{one}.md" for one in prompts.LANGUAGES]
            ends = {"text": [".md"], "short_texts": [".toml"], "languages": both, "paper": [*both, ".toml"]}[kind]
            place = f"paper/{name}" if kind == "paper" else name
            found |= {f"{room}/prompts/{place}{end}" for end in ends}
    return found


def test_every_file_is_asked_for_and_every_call_names_a_file():
    files = {str(path.relative_to(HOME)) for path in HOME.glob("*/prompts/**/*") if path.is_file()}
    assert files and files == named()


def test_files_end_in_one_line_break_that_is_no_part_of_the_prompt():
    for path in HOME.glob("*/prompts/**/*.md"):
        assert path.read_bytes().endswith(b"\n") and b"\r" not in path.read_bytes(), path.name
        room, _, *below = path.relative_to(HOME).parts
        assert prompts.text(room, "/".join(below).removesuffix(".md")) == path.read_text(encoding="utf-8")[:-1]
