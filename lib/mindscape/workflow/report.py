"""Write the pages CLAIMS, GALLERY and TIMES and course.json under figures/, and the generated parts of README.md and of the
adapters' cards: python -m mindscape.workflow.report.

They come from what is tracked: the stored results, the notebooks' first cells, the logs of training.

With `--check [ROOT]`, write nothing and exit with 1 if a file is not as it would be written.
"""

import json
import re
import statistics
import sys
import textwrap
from pathlib import Path
from typing import Any

import yaml

from mindscape import paths, results, trail
from mindscape.errors import InputError
from mindscape.paper import all_claims, claims_table, counts_table, holds, weighed
from mindscape.roles import ROLES

HAS = {  # what is looked for in the prose
    "case": re.compile(r"^#+ The paper's case", re.MULTILINE),
    "settings": re.compile(r"\|\s*the paper\s*\|\s*here\s*\|"),
    "question": re.compile(r"^#+ .*One question", re.MULTILINE),
}
FOLDED = re.compile("<details>.*?</details>", re.DOTALL)  # a figure in words
APPENDIX = re.compile(r"^#+ Appendix", re.MULTILINE)


def names(root: Path) -> list[str]:
    """The notebooks, in their order."""
    return [path.stem for path in sorted((root / "notebooks").glob("[0-9]*.ipynb"))]


def cells(root: Path, name: str) -> list[dict]:
    """A notebook's cells, as stored."""
    return json.loads((root / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def source(cell: dict) -> str:
    """What was written into a cell."""
    return "".join(cell["source"])


def notebooks(root: Path) -> list[tuple[str, dict]]:
    """Stored, finished results by notebook."""
    found = []
    for name in names(root):
        try:
            stored = results.read(name, root / "figures")
        except InputError:
            continue
        if stored["finished"]:
            found.append((name, stored))
    return found


def first_cell(root: Path, name: str) -> tuple[str, str]:
    """A notebook's question, and the part of the papers that it is on, or nothing."""
    text = source(cells(root, name)[0])
    paper = re.search(r"^Papers?: (.+)\.$", text, re.MULTILINE)
    return re.search(r"^\*(.+)\*$", text, re.MULTILINE)[1], paper[1] if paper else ""


def course(root: Path) -> str:
    """A line for each notebook: its name and its question."""
    lines = ["| notebook | its question |", "|---|---|"]
    lines += [f"| [{name}](notebooks/{name}.ipynb) | {first_cell(root, name)[0]} |" for name, _ in notebooks(root)]
    return "\n".join(lines) + "\n"


def times(root: Path) -> str:
    """TIMES.md: seconds and memory of each notebook, and the machine."""
    lines = ["| notebook | seconds | peak memory | measured with |", "|---|---:|---:|---|"]
    for name, _ in notebooks(root):
        stored = json.loads((root / "figures" / name / "run.json").read_text(encoding="utf-8"))
        where = stored["environment"]
        threads = f"{where['cpu_threads']} thread{'s' * (where['cpu_threads'] != 1)}"
        machine = f"{where['cpu']}, {where['platform']}, {threads}"
        versions = f"Python {where['python']}, torch {where['versions']['torch']}"
        memory = f"{stored['peak_mb'] / 1000:.1f} GB"
        seconds = f"{stored['seconds']:.0f}" + " (warm cache)" * stored.get("warm_cache", False)
        lines.append(f"| [{name}](../notebooks/{name}.ipynb) | {seconds} | {memory} | {machine}, {versions} |")
    return "\n".join(lines) + "\n"


def gallery(root: Path) -> str:
    """Notebook by notebook: question, part of the papers, figures with their captions."""
    parts = []
    for name, stored in notebooks(root):
        question, paper = first_cell(root, name)
        parts.append(f"## [{name}](../notebooks/{name}.ipynb)\n\n*{question}*{f' {paper}.' if paper else ''}\n\n")
        for figure in stored["figures"].values():
            parts.append(f"**{figure['caption']}**\n\n![{figure['alt']}]({name}/{figure['file']})\n\n")
    return "".join(parts).rstrip() + "\n"


def verdicts(root: Path) -> str:
    """CLAIMS.md: each claim of the papers, what they have, what was measured here, and the verdict."""
    return claims_table(all_claims(root / "data" / "claims.yaml"), root / "figures")


def verdict_counts(root: Path) -> str:
    """How many claims of each paper came to which verdict."""
    return counts_table(weighed(all_claims(root / "data" / "claims.yaml"), root / "figures"))


def picture(root: Path) -> str:
    """The drawing of the four memories, with its words in lines of a length that the README may have."""
    drawn = results.read("50_side_by_side", root / "figures")["figures"]["system"]
    return (
        textwrap.fill(f"![{drawn['alt']}](figures/50_side_by_side/{drawn['file']})", 490, break_on_hyphens=False) + "\n"
    )


def findings(root: Path) -> str:
    """The findings of data/findings.yaml with their numbers, those whose rules hold."""
    stored, lines = dict(notebooks(root)), []
    by_number = {name[:2]: (name, results["metrics"]) for name, results in stored.items()}

    def number(match: re.Match) -> str:
        return _in_words(by_number[match["notebook"]][1][match["key"]], match["sign"])

    for finding in yaml.safe_load((root / "data" / "findings.yaml").read_text(encoding="utf-8")):
        rules = [(name, rule) for name, some in finding["holds"].items() for rule in some]
        if all(name in stored and holds(rule, stored[name]["metrics"]) for name, rule in rules):
            text = re.sub(r"\{(?P<sign>\+?)(?P<notebook>\d\d):(?P<key>[\w.@+-]+)\}", number, finding["text"])
            where = ", ".join(f"[{name[:2]}](notebooks/{name}.ipynb)" for name in finding["holds"])
            lines.append(f"- {text} ({where})")
    return "\n".join(lines) + "\n"


def _in_words(metric: dict, sign: str) -> str:
    """A number, with its interval if it has one: `+0.11 [+0.05, +0.16]`; counts as they are."""

    def written(value: float) -> str:
        if isinstance(value, int):
            return f"{value:,d}"
        return f"{value:{sign}.2f}".replace("-", "−") if round(value, 2) else "0"

    ends = f" [{', '.join(written(end) for end in metric['ci'])}]" if "ci" in metric else ""
    return written(metric["value"]) + ends


def reader(root: Path) -> str:
    """Role by role: the untuned model's score, the reader's, and how many replies could be read, free and held."""
    lines = [
        "| role | score | untuned | reader | rows | valid, free | valid, held |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    metrics = dict(notebooks(root)).get("01_the_reader", {"metrics": {}})["metrics"]
    for key, of in metrics.items():
        name, _, score = key.removeprefix("reader.").partition(".")
        untuned = metrics.get(f"reader.untuned.{name}.{score}")
        if key == f"reader.{name}.{score}" and untuned and "valid" not in score:
            valid = [metrics.get(f"reader.{name}.valid_fraction{end}", {}).get("value") for end in ("_free", "")]
            cells = [name, score.replace("_", " "), _interval(untuned), _interval(of), str(of["n"])]
            cells += ["–" if share is None else f"{share:.2f}" for share in valid]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _interval(of: dict) -> str:
    return f"{of['value']:.2f} [{of['ci'][0]:.2f}, {of['ci'][1]:.2f}]"


def training(card: Path) -> str:
    """The runs whose files lie beside a card, in the recipes' order: those that made the adapter, and that of an ablation."""
    recipes = yaml.safe_load((card.parents[1] / "recipes.yaml").read_text(encoding="utf-8")).values()
    logs = [
        Path(stage["log"]).name
        for recipe in recipes
        for stage in recipe["stages"]
        if card.parent.name in stage["log"].split("/")
    ]
    return "\n".join(_run(card.with_name(log.replace("log.jsonl", "run.json")), card.with_name(log)) for log in logs)


def _run(run: Path, log: Path) -> str:
    """Data, steps, tokens, hours, speed, losses in the last hundred steps."""
    made, lines = json.loads(run.read_text("utf-8")), [json.loads(line) for line in trail.lines(log)]
    tokens, seconds = (sum(line[key] for line in lines) for key in ("tokens", "seconds"))
    data, ends = next(tell for kind, tell in TOLD.items() if kind in made)(made, lines[-100:])
    first, last = made["seeds"]
    of = f"AdamW, learning rate {made['settings']['learning_rate']:g}, {made['settings']['warmup']} steps of warm-up"
    return (
        f"- **Training seeds {first} to {last}**: {data} {tokens:,} tokens read in {seconds / 3600:.1f} hours, "
        f"{tokens / seconds:.0f} a second. {of}, cosine to 0. {ends}.\n"
    )


def _losses(lines: list[dict]) -> str:
    losses: dict[str, list[float]] = {}
    for line in lines:
        for role, loss in line["roles"].items():
            losses.setdefault(role, []).append(loss)
    ends = ", ".join(f"{role} {sum(some) / len(some):.2f}" for role, some in sorted(losses.items()))
    return f"Loss a token of the reply {_last(lines)}, in nats: {ends}"


def _last(lines: list[dict]) -> str:
    return "in the last hundred steps" if len(lines) == 100 else "in all steps"


def _steps(settings: dict) -> str:
    return f"{settings['steps']:,} steps of at most {settings['tokens']:,} tokens with their padding,"


def _of_memories(made: dict, lines: list[dict]) -> tuple[str, str]:
    data = f"{made['examples']:,} memories {'with' if made['with_path'] else 'without'} a path of thought, at most "
    data += f"{made['share']} from each novel, the last {made['chinese']} novels told in Chinese. {_steps(made['settings'])}"
    return data, _losses(lines)


def _of_roles(made: dict, lines: list[dict]) -> tuple[str, str]:
    shares = ", ".join(f"{share} {role}" for role, share in sorted(made["shares"].items(), key=lambda pair: -pair[1]))
    return f"{made['examples']:,} examples, from each novel {shares}. {_steps(made['settings'])}", _losses(lines)


def _of_prompts(made: dict, lines: list[dict]) -> tuple[str, str]:
    what = "blocks and answers" if "building" in made else "prompts"
    if "relevance" in made:
        what += f" in blocks of at most {made['relevance']['size']} tokens"
    return f"{made['examples']:,} {what}. {_steps(made['settings'])}", _losses(lines)


def _of_questions(made: dict, lines: list[dict]) -> tuple[str, str]:
    recipe = made["recipe"]
    data = f"lesson {made['lesson']}, {made['questions']:,} questions. {made['settings']['steps']:,} steps of "
    own = ", ".join(f"{recipe[kind]} {kind}" for kind in ("hard", "exchanged", "simple") if recipe[kind])
    data += f"{recipe['questions']} questions, each with {own or 'no'} negatives of its own and those of the others, "
    data += f"temperature {recipe['temperature']:g}, β {recipe['beta']:g}, δ {recipe['form']['delta']:g};"
    means = {
        key: sum(of) / len(of)
        for key in ("chunk", "node", "accuracy")
        if (of := [line[key] for line in lines if key in line])
    }
    ends = ", ".join(f"{key} {mean:.2f}" for key, mean in means.items())
    return data, f"Losses in nats {_last(lines)}, and how often the right chunk was nearest: {ends}"


TOLD = {  # by what a stage of the kind alone tells of itself
    "shares": _of_roles,
    "with_path": _of_memories,
    "recipe": _of_questions,
    **dict.fromkeys(("building", "baselines", "relevance", "counting"), _of_prompts),
}


def embedders(root: Path) -> str:
    """The four retrievers of notebook 12, on the test novels."""
    lines = ["| retriever | recall@3 | questions that need a binding | others | nodes |", "|---|---|---|---|---|"]
    metrics = dict(notebooks(root)).get("12_mia_emb_training", {"metrics": {}})["metrics"]
    for name in ("vanilla", "sft_emb", "mia_emb_no_residual", "mia_emb"):
        ends = (".recall@3", ".recall@3.binding", ".recall@3.plain", ".node.recall@3")
        if all(name + end in metrics for end in ends):
            lines.append(f"| {' | '.join([name, *(_interval(metrics[name + end]) for end in ends)])} |")
    return "\n".join(lines) + "\n"


# How the notebooks are built ------------------------------------------------------------------------------------------


def counted(cells: list[dict]) -> dict[str, Any]:
    """What a notebook holds before its appendix, and the words of all of it with its outputs.

    Before its appendix a notebook is to have at most 45 cells and 2,000 words of prose, and visible cells of code of 8 lines in
    the median and 15 at most; the paper's case, the drawing of its system, the settings beside the paper's, one question
    followed all the way, and every prompt that it uses, whole.

    >>> texts = ["## The paper's case", "## Appendix"]
    >>> told = counted([{"cell_type": "markdown", "source": text} for text in texts])
    >>> told["cells"], told["words"], told["case"], told["all_words"]
    (1, 4, True, 6)
    """
    end = next((i for i, cell in enumerate(cells) if APPENDIX.search(_prose(cell))), len(cells))
    body = cells[:end]
    prose = "\n".join(map(_prose, body))
    shown = [cell for cell in body if cell["cell_type"] == "code" and not _folded(cell)]
    lines = [sum(map(bool, map(str.strip, source(cell).splitlines()))) for cell in shown] or [0]
    return {
        "cells": len(body),
        "words": len(prose.split()),
        "median_lines": statistics.median(lines),
        "longest_lines": max(lines),
        **{name: bool(pattern.search(prose)) for name, pattern in HAS.items()},
        "drawing": any("drawing.draw(" in source(cell) for cell in body),
        "prompts_not_shown": prompts_not_shown(cells),
        "all_words": sum(len(_prose(cell).split()) + len(_output(cell).split()) for cell in cells),
    }


def prompts_not_shown(cells: list[dict]) -> list[str]:
    """Roles that the cells name and whose prompt no output shows: no form of it, in no language, from its first words on."""
    code = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "code")
    shown = _squeezed("\n".join(map(_output, cells)))
    named = [name for name in ROLES if re.search(rf'ROLES\["{name}"\]|\b{name.upper()}\b', code)]
    return [name for name in named if not any(_squeezed(text) in shown for text in _beginnings(ROLES[name]))]


def _beginnings(role) -> list[str]:
    forms = [role.words("short"), role.words("paper")]
    return [text.partition("{")[0].replace("}}", "")[:80] for words in forms for text in words.values()]


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _prose(cell: dict) -> str:
    return source(cell) if cell["cell_type"] == "markdown" else ""


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
    found = {name: counted(cells(root, name)) for name in names(root)}
    lines = [f"  {json.dumps(name)}: {json.dumps(told)}" for name, told in found.items()]
    total = sum(told["all_words"] for told in found.values())
    return "{\n" + ",\n".join([*lines, f'  "all_words": {total}']) + "\n}\n"


# The files -------------------------------------------------------------------------------------------------------------

PARTS = {
    "picture": picture,
    "findings": findings,
    "counts": verdict_counts,
    "course": course,
    "reader": reader,
    "embedders": embedders,
}
OF_CARDS = {"training": training}  # parts of an adapter's card, made from what lies beside it


def filled(root: Path, path: Path) -> str:
    """The file with each part between `<!-- generated: NAME -->` and `<!-- end -->` written anew."""

    def fill(match: re.Match) -> str:
        part = OF_CARDS[match[1]](path) if match[1] in OF_CARDS else PARTS[match[1]](root)
        return f"<!-- generated: {match[1]} -->\n{part}<!-- end -->"

    text = path.read_text(encoding="utf-8")
    return re.sub(r"<!-- generated: (\w+) -->\n.*?<!-- end -->", fill, text, flags=re.DOTALL)


PAGES = {  # name: what makes it, its title, what it comes from
    "CLAIMS": (verdicts, "The papers' claims, weighed", "data/claims.yaml and figures/*/results.json"),
    "GALLERY": (gallery, "What the notebooks show", "figures/*/results.json"),
    "TIMES": (times, "What the notebooks take", "figures/*/run.json, which `make stored` writes"),
}


def files(root: Path) -> dict[Path, str]:
    """What each generated file should hold."""
    written = [root / "README.md", *sorted((root / "data" / "adapters").glob("*/README.md"))]
    pages = {
        root / "figures" / f"{name}.md": f"# {title}\n\nGenerated by `make figures` from {source}.\n\n{make(root)}"
        for name, (make, title, source) in PAGES.items()
    }
    pages[root / "figures" / "course.json"] = course_page(root)
    return pages | {path: filled(root, path) for path in written}


def main(words: list[str]) -> int:
    """Write the files, or with --check name those that would change."""
    check = words[:1] == ["--check"]
    root = Path(words[1]) if len(words) > 1 else paths.root()
    stale = [
        (path, text) for path, text in files(root).items() if not path.is_file() or path.read_text("utf-8") != text
    ]
    for path, text in stale:
        if check:
            print(f"{path.name} is not what mindscape.workflow.report would write; run `make figures`")
        else:
            path.write_text(text, encoding="utf-8")
    if not check:
        print(
            f"figures and numbers of {len(notebooks(root))} notebooks are under figures/: CLAIMS.md, GALLERY.md, TIMES.md"
        )
    return bool(check and stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
