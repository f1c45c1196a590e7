"""How much of what travels with the kit comes out again: some of a notebook's entries computed anew at its end, and a report.

    make remeasure SHARE=0.02 SEED=7        # a random share of all entries: MINDSCAPE_REMEASURE=0.02:7:4
    make data ONLY=31 TINY=1                # the smallest entry of each kind and maker: MINDSCAPE_TINY=1

Both run the notebooks with the variable set, and then `python -m mindscape.remeasure`, which writes the report. What was
computed anew is compared and not kept. The third number is MINUTES, what may be computed on each core: when they are up, the
rest of what was drawn is counted as such, and a faster machine reaches more of the same draw. Taught in notebook 00_start_here.
"""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from mindscape import paths, plots, store, trail
from mindscape.errors import InputError
from mindscape.store import Remade
from mindscape.workflow import plan

KINDS = {  # what agrees means, for a reader of the report
    "reply": "the same text",
    "score": f"log-probabilities within {store.NEAR} nats a token",
    "ranking": "the same ids in the same order; the difference is the share of other ids",
}
OTHER = f"numbers within {store.CLOSE:.1%}"


def requested() -> bool:
    """Whether the environment asks for entries to be computed anew."""
    return any(os.environ.get(f"MINDSCAPE_{name}") for name in ("REMEASURE", "TINY"))


def at_the_end(notebook: str, name: str) -> None:
    """What the environment asks for when a notebook is done; and the keys that it asked for, for those who look for dead
    entries."""
    keys = paths.build_path("asked")
    keys.mkdir(parents=True, exist_ok=True)
    (keys / f"{name}.txt").write_text("\n".join(sorted(store.current().keys)) + "\n", encoding="ascii")
    if setting := os.environ.get("MINDSCAPE_REMEASURE"):
        try:
            share, seed, minutes = plan.share_seed_minutes(setting)
        except ValueError as error:
            raise InputError(str(error)) from error
        remade = store.current().remake(share=share, seed=seed, seconds=allowance(minutes, folder_of(setting), notebook))
    elif os.environ.get("MINDSCAPE_TINY"):
        remade = store.current().remake(smallest=True)
    else:
        return
    folder = folder_of(setting)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8", buffering=1) as lines:
        for entry in remade:  # line by line: a kill leaves what was computed
            lines.write(json.dumps({"notebook": notebook, **asdict(entry)}) + "\n")


def folder_of(setting: str | None) -> Path:
    """Where notebooks leave what they computed anew, for each share, seed and minutes, or for the smallest entries, and each
    precision that was asked for one folder.

    >>> folder_of("0.02:7").name, folder_of("").name
    ('0.02-7', 'tiny')
    """
    name = setting.replace(":", "-") if setting else "tiny"
    return paths.build_path("remeasured", "-".join(filter(None, [name, os.environ.get("MINDSCAPE_DTYPE")])))


def allowance(minutes: float, folder: Path, notebook: str) -> float:
    """The seconds that a notebook may compute: its part of `minutes` on each core, and what those before it left of theirs; as
    it runs on one core, no more than those minutes.

    >>> allowance(0, Path("none"), "10_hierarchical_summaries")  # no limit
    inf
    """
    if not minutes:
        return math.inf
    chosen = plan.names(plan.ROOT, os.environ.get("ONLY", ""))
    before = [path for path in folder.glob("*.jsonl") if path.stem.partition("@")[0] in {*chosen} - {notebook}]
    spent = sum(json.loads(line)["seconds"] for path in before for line in trail.lines(path))
    total = 60 * minutes * int(os.environ.get("JOBS") or 2)
    return min(60 * minutes, max(0.0, total * (len(before) + 1) / len(chosen) - spent))


def remade_table(remade: Sequence[Remade]):
    """A row for each entry that was computed anew, as a notebook shows it."""
    rows = [(entry.kind, entry.maker.rpartition("-")[0], entry.precision, "yes" if entry.agrees else "no") for entry in remade]
    return pd.DataFrame(rows, columns=["kind", "made by", "precision", "the same again"])


def report(folder: Path) -> str:
    """What notebooks left in a folder, as a page in Markdown: how much agrees, by kind and by notebook, and what does not."""
    entries = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in trail.lines(path)]
    done = [entry for entry in entries if entry["agrees"] is not None]
    said = f"{len(done)} entries, {sum(entry['agrees'] for entry in done)} agree."
    if blocks := {(entry["notebook"], entry["block"]) for entry in done} - {(entry["notebook"], "") for entry in done}:
        said += f" They were drawn in {len(blocks)} blocks: what one call asked for together, or about the same texts."
    if late := len(entries) - len(done):
        said += f" {late} more were drawn and not computed: MINUTES were up, or too few were left for them."
    lines = ["# Entries computed anew", "", said, ""]
    if not entries:
        return "\n".join([*lines, "No notebook of this run found any entry, or none was drawn.", ""])
    for title, key in (("kind", "kind"), ("made by", "maker"), ("notebook", "notebook")):
        rows, meaning = [], ["agrees means"] * (key == "kind")
        for name, group in pd.DataFrame(entries).groupby(key):
            made = group[group["agrees"].notna()]
            off = made["off"].dropna()
            numbers = [len(group), len(made), sum(made["agrees"])]
            numbers += ["–", "–"] if off.empty else [f"{off.max():.2g}", f"{off.mean():.2g}"]
            rows.append([name, *numbers, f"{made['seconds'].sum():.0f}", *(KINDS.get(name, OTHER) for _ in meaning)])
        heads = [title, "drawn:", "computed:", "agree:", "largest difference:", "mean:", "seconds:", *meaning]
        lines.append(plots.markdown_table(heads, rows))
    if differing := [entry for entry in done if not entry["agrees"]]:
        lines += ["What does not agree:", ""]
        template = "- {notebook}: {kind} by {maker}, {key:.12}, {precision}"
        lines += [template.format(**entry) for entry in differing]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the page and print its path and its first lines."""
    page = folder_of(os.environ.get("MINDSCAPE_REMEASURE")) / "REPORT.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    text = report(page.parent)
    page.write_text(text, encoding="utf-8")
    print(*text.split("\n")[2:12], f"the whole report: {page}", sep="\n")


if __name__ == "__main__":
    main()
