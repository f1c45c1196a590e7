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
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from mindscape import paths, results, trail
from mindscape.paper import all_claims, claims_table, counts_table, holds, weighed, with_interval
from mindscape.plots import markdown_table
from mindscape.roles import ROLES
from mindscape.workflow.plan import names

HAS = {  # what is looked for in the prose
    "case": re.compile(r"^#+ The paper's case", re.MULTILINE),
    "settings": re.compile(r"\|\s*the paper\s*\|\s*here\s*\|"),
    "question": re.compile(r"^#+ .*One question", re.MULTILINE),
}
FOLDED = re.compile("<details>.*?</details>", re.DOTALL)  # a figure in words
APPENDIX = re.compile(r"^#+ Appendix", re.MULTILINE)


def cells(root: Path, name: str) -> list[dict]:
    """A notebook's cells, as stored."""
    return json.loads((root / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def source(cell: dict) -> str:
    """What was written into a cell."""
    return "".join(cell["source"])


def notebooks(root: Path) -> dict[str, dict]:
    """Stored, finished results by notebook."""
    runs = {name: results.stored(name, root / "figures") for name in names(root)}
    return {name: stored for name, stored in runs.items() if stored and stored["finished"]}


def recorded(root: Path, name: str) -> dict:
    """What a notebook recorded; {} where it has not finished."""
    return notebooks(root).get(name, {"metrics": {}})["metrics"]


def first_cell(root: Path, name: str) -> tuple[str, str]:
    """A notebook's question, and the part of the papers that it is on, or nothing."""
    text = source(cells(root, name)[0])
    paper = re.search(r"^Papers?: (.+)\.$", text, re.MULTILINE)
    return re.search(r"^\*(.+)\*$", text, re.MULTILINE)[1], paper[1] if paper else ""


def course(root: Path) -> str:
    """A line for each notebook: its name and its question."""
    rows = [(f"[{name}](notebooks/{name}.ipynb)", first_cell(root, name)[0]) for name in notebooks(root)]
    return markdown_table(["notebook", "its question"], rows)


def times(root: Path) -> str:
    """TIMES.md: seconds and memory of each notebook, and the machine."""
    rows = []
    for name in notebooks(root):
        if not (run := root / "figures" / name / "run.json").is_file():
            continue  # times are published by `make stored` alone
        stored = json.loads(run.read_text(encoding="utf-8"))
        where = stored["environment"]
        threads = f"{where['cpu_threads']} thread{'s' * (where['cpu_threads'] != 1)}"
        machine = f"{where['cpu']}, {where['platform']}, {threads}"
        versions = f"Python {where['python']}, torch {where['versions']['torch']}"
        memory = f"{stored['peak_mb'] / 1000:.1f} GB"
        seconds = f"{stored['seconds']:.0f}" + " (warm cache)" * stored.get("warm_cache", False)
        rows.append([f"[{name}](../notebooks/{name}.ipynb)", seconds, memory, f"{machine}, {versions}"])
    return markdown_table(["notebook", "seconds:", "peak memory:", "measured with"], rows)


def gallery(root: Path) -> str:
    """Notebook by notebook: question, part of the papers, figures with their captions."""
    parts = []
    for name, stored in notebooks(root).items():
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
    image = f"![{drawn['alt']}](figures/50_side_by_side/{drawn['file']})"
    return textwrap.fill(image, 490, break_on_hyphens=False) + "\n"


def findings(root: Path) -> str:
    """The findings of data/findings.yaml with their numbers, those whose rules hold."""
    stored, lines = notebooks(root), []
    by_number = {name[:2]: result["metrics"] for name, result in stored.items()}

    def number(match: re.Match) -> str:
        return _in_words(by_number[match["notebook"]][match["key"]], match["sign"])

    for finding in yaml.safe_load((root / "data" / "findings.yaml").read_text(encoding="utf-8")):
        rules = [(name, rule) for name, listed in finding["holds"].items() for rule in listed]
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

    return with_interval(metric, written)


def reader(root: Path) -> str:
    """Role by role: the untuned model's score, the reader's, and how many replies could be read, free and held."""
    rows, metrics = [], recorded(root, "01_the_reader")
    for key, metric in metrics.items():
        name, _, score = key.removeprefix("reader.").partition(".")
        untuned = metrics.get(f"reader.untuned.{name}.{score}")
        if key == f"reader.{name}.{score}" and untuned and "valid" not in score:
            valid = [metrics.get(f"reader.{name}.valid_fraction{end}", {}).get("value") for end in ("_free", "")]
            shares = ("–" if share is None else f"{share:.2f}" for share in valid)
            rows.append([name, score.replace("_", " "), _interval(untuned), _interval(metric), metric["n"], *shares])
    return markdown_table(["role", "score", "untuned", "reader", "rows:", "valid, free:", "valid, held:"], rows)


_interval = partial(with_interval, written="{:.2f}".format)


def training(card: Path) -> str:
    """The runs whose files lie beside a card, in the recipes' order: those that made the adapter, and that of an ablation."""
    recipes = yaml.safe_load((card.parents[1] / "recipes.yaml").read_text(encoding="utf-8")).values()
    all_logs = (stage["log"] for recipe in recipes for stage in recipe["stages"])
    logs = [Path(log).name for log in all_logs if card.parent.name in log.split("/")]
    return "\n".join(_run(card.with_name(log.replace("log.jsonl", "run.json")), card.with_name(log)) for log in logs)


def _run(run: Path, log: Path) -> str:
    """Data, steps, tokens, hours, speed, losses in the last hundred steps."""
    made, lines = json.loads(run.read_text("utf-8")), list(map(json.loads, trail.lines(log)))
    tokens, seconds = (sum(line[key] for line in lines) for key in ("tokens", "seconds"))
    first, last = made["seeds"]
    optimiser = f"AdamW, learning rate {made['settings']['learning_rate']:g}, {made['settings']['warmup']} steps of warm-up"
    return (
        f"- **Training seeds {first} to {last}**: {_data(made)} {tokens:,} tokens read in {seconds / 3600:.1f} hours, "
        f"{tokens / seconds:.0f} a second. {optimiser}, cosine to 0. {_losses(lines[-100:])}.\n"
    )


def _data(made: dict) -> str:
    """What a stage learned from, and in how many steps; of which kind it is shows in what it tells of itself."""
    settings, lesson = made["settings"], made.get("recipe")
    if lesson:
        own = ", ".join(f"{lesson[kind]} {kind}" for kind in ("hard", "exchanged", "simple") if lesson[kind])
        return (
            f"lesson {made['lesson']}, {made['questions']:,} questions. {settings['steps']:,} steps of "
            f"{lesson['questions']} questions, each with {own or 'no'} negatives of its own and those of the others, "
            f"temperature {lesson['temperature']:g}, β {lesson['beta']:g}, δ {lesson['form']['delta']:g};"
        )
    if "shares" in made:
        shares = sorted(made["shares"].items(), key=lambda pair: -pair[1])
        what = f"examples, from each novel {', '.join(f'{share} {role}' for role, share in shares)}"
    elif "with_path" in made:
        what = f"memories {'with' if made['with_path'] else 'without'} a path of thought, at most {made['share']} from "
        what += f"each novel, the last {made['chinese']} novels told in Chinese"
    else:
        what = "blocks and answers" if "building" in made else "prompts"
        what += f" in blocks of at most {made['relevance']['size']} tokens" if "relevance" in made else ""
    steps = f"{settings['steps']:,} steps of at most {settings['tokens']:,} tokens with their padding,"
    return f"{made['examples']:,} {what}. {steps}"


def _losses(lines: list[dict]) -> str:
    """The means of what the last lines of a log tell, of an embedder or of a reader's roles."""
    losses = [line.get("roles", line) for line in lines]
    names = ("chunk", "node", "accuracy") if "roles" not in lines[0] else sorted({role for row in losses for role in row})
    means = {name: statistics.fmean(values) for name in names if (values := [row[name] for row in losses if name in row])}
    ends = ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
    when = "in the last hundred steps" if len(lines) == 100 else "in all steps"
    if "roles" in lines[0]:
        return f"Loss a token of the reply {when}, in nats: {ends}"
    return f"Losses in nats {when}, and how often the right chunk was nearest: {ends}"


def embedders(root: Path) -> str:
    """The four retrievers of notebook 12, on the test novels."""
    rows, metrics = [], recorded(root, "12_mia_emb_training")
    for name in ("vanilla", "sft_emb", "mia_emb_no_residual", "mia_emb"):
        keys = [name + end for end in (".recall@3", ".recall@3.binding", ".recall@3.plain", ".node.recall@3")]
        if metrics.keys() >= set(keys):
            rows.append([name, *(_interval(metrics[key]) for key in keys)])
    return markdown_table(["retriever", "recall@3", "questions that need a binding", "others", "nodes"], rows)


# How the notebooks are built ------------------------------------------------------------------------------------------


def counted(cells: list[dict]) -> dict[str, Any]:
    """What a notebook holds before its appendix, and the words of all of it with its outputs.

    Before its appendix a notebook is to have at most 45 cells and 2,000 words of prose, and visible cells of code of 8 lines in
    the median and 15 at most; the paper's case, the drawing of its system, the settings beside the paper's, one question
    followed all the way, and every prompt that it uses, whole.

    >>> texts = ["## The paper's case", "## Appendix"]
    >>> counts = counted([{"cell_type": "markdown", "source": text} for text in texts])
    >>> counts["cells"], counts["words"], counts["case"], counts["all_words"]
    (1, 4, True, 6)
    """
    end = next((i for i, cell in enumerate(cells) if APPENDIX.search(_prose(cell))), len(cells))
    body = cells[:end]
    prose = "\n".join(map(_prose, body))
    code = [cell for cell in body if cell["cell_type"] == "code"]
    shown = [cell for cell in code if not cell["metadata"].get("jupyter", {}).get("source_hidden")]
    lines = [sum(map(bool, map(str.strip, source(cell).splitlines()))) for cell in shown] or [0]
    return {
        "cells": len(body),
        "words": len(prose.split()),
        "median_lines": statistics.median(lines),
        "longest_lines": max(lines),
        **{name: bool(pattern.search(prose)) for name, pattern in HAS.items()},
        "drawing": any("plots.draw(" in source(cell) for cell in body),
        "prompts_not_shown": prompts_not_shown(cells),
        "all_words": sum(len(_prose(cell).split()) + len(_output(cell).split()) for cell in cells),
    }


def prompts_not_shown(cells: list[dict]) -> list[str]:
    """Roles that the cells name and whose prompt no output shows: no form of it, in no language, from its first words on."""
    code = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "code")
    shown = _squeezed("\n".join(map(_output, cells)))
    named = [name for name in ROLES if re.search(rf'ROLES\["{name}"\]|\b{name.upper()}\b', code)]
    forms = {name: [*ROLES[name].words("short").values(), *ROLES[name].words("paper").values()] for name in named}
    begin = {name: [_squeezed(text.partition("{")[0].replace("}}", "")[:80]) for text in forms[name]] for name in named}
    return [name for name in named if not any(text in shown for text in begin[name])]


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _prose(cell: dict) -> str:
    return source(cell) if cell["cell_type"] == "markdown" else ""


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
    tallies = {name: counted(cells(root, name)) for name in names(root)}
    lines = [f"  {json.dumps(name)}: {json.dumps(counts)}" for name, counts in tallies.items()]
    total = sum(counts["all_words"] for counts in tallies.values())
    return "{\n" + ",\n".join([*lines, f'  "all_words": {total}']) + "\n}\n"


# The files -------------------------------------------------------------------------------------------------------------

PARTS = {"picture": picture, "findings": findings, "counts": verdict_counts, "course": course, "reader": reader}
PARTS["embedders"] = embedders


def filled(root: Path, path: Path) -> str:
    """The file with each part between `<!-- generated: NAME -->` and `<!-- end -->` written anew."""

    def fill(match: re.Match) -> str:
        # An adapter's training is told on its card, from what lies beside it.
        part = training(path) if match[1] == "training" else PARTS[match[1]](root)
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
    made = files(root)
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        if check:
            print(f"{path.name} is not what mindscape.workflow.report would write; run `make figures`")
        else:
            path.write_text(made[path], encoding="utf-8")
    if not check:
        pages = "CLAIMS.md, GALLERY.md, TIMES.md"
        print(f"figures and numbers of {len(notebooks(root))} notebooks are under figures/: {pages}")
    return bool(check and stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
