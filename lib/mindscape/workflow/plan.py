"""Say what the workflow will do before it does anything: python plan.py SCALE ONLY [MODE].

MODE is figures, fresh, data, tiny or remeasure, see the Makefile. It needs nothing but Python, since it runs before anything is
installed. Times are those of the stored results; what would be computed is what those asked of the store (`run.json`) and
`data/store` does not hold.
"""

import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCALES = ("small", "full", "gpu")
# Of an entry that does not say what it took.
SECONDS = {"answer": 300.0, "choice": 2.0, "layers": 40.0, "mindscape": 120.0, "ranking": 0.02, "reply": 2.0, "score": 0.5}
TAKEN = re.compile(rb'"seconds":([0-9.]+)\}$')
WHAT = {
    "figures": "what is up to date is skipped",
    "fresh": "what travels in data/store is not used, all is computed",
    "data": "what data/store lacks is computed and added to it",
    "tiny": "the smallest entry of each kind and model is computed anew and compared",
    "remeasure": "a random share of all entries is computed anew and compared, until MINUTES are up",
}


def main(scale: str, only: str, mode: str = "figures") -> None:
    """Print the plan, or end with one line that says what is wrong with SCALE or ONLY."""
    chosen = names(ROOT, only)
    if scale not in SCALES:
        sys.exit(f"error: SCALE={scale} is unknown; expected {', '.join(SCALES)}")
    for word in only.replace(",", " ").split() or [only]:
        if not names(ROOT, word):
            sys.exit(f"error: ONLY={word} fits no notebook; there are {', '.join(names(ROOT))}")
    try:
        share_seed_minutes(os.environ.get("MINDSCAPE_REMEASURE", "1"))
    except ValueError as error:
        sys.exit(f"error: {error}")
    command = {"fresh": "figures", "tiny": "data"}.get(mode, mode)
    print(f"make {command}, scale {scale}: {len(chosen)} notebook{'s' * (len(chosen) != 1)}; {WHAT[mode]}")
    if not (ROOT / ".venv" / "core").is_file():
        size = "2.1 GB with a CPU build of PyTorch, several GB more without"
        print(f"  first, an environment in .venv: about 2 minutes; {size}")
    print("  models and texts under build/, once: 0.2 GB to fetch, 0.7 GB on disk, half a minute")
    runs = {name: stored(name, scale) for name in chosen}
    for name, run in runs.items():
        cost = "not measured yet"
        if run:
            cost = f"{run['seconds']:.0f} s, {run['peak_mb'] / 1000:.1f} GB of memory"
            cost += ", measured with a warm cache" * run.get("warm_cache", False)
        print(f"  {name}: {cost}")
    known = [run["seconds"] for run in runs.values() if run]
    if known:
        total = max(sum(known) / 2, max(known)) / 60
        print(f"  about {total:.0f} to {total + 1:.0f} minutes on 2 cores, notebooks side by side", flush=True)
    if mode != "figures":
        print(*computed(list(filter(None, runs.values())), mode), sep="\n", flush=True)


def names(root: Path, only: str = "") -> list[str]:
    """The notebooks in their order; with `only` those that begin with one of its words."""
    stems = sorted(path.stem for path in (root / "notebooks").glob("[0-9]*.ipynb"))
    return [name for name in stems if not only or name.startswith(tuple(only.replace(",", " ").split()))]


def computed(runs: list[dict], mode: str, store: Path = ROOT / "data" / "store") -> list[str]:
    """A line for each kind and maker of entries that are to be computed, with about how long it takes, and one for all."""
    entries: dict[str, int] = {}
    for run in runs:
        for name, counts in run.get("store", {}).items():
            if name.partition(" ")[0] not in ("vector", "pass", "file"):
                entries[name] = max(entries.get(name, 0), sum(counts.values()))
    lines, total = [], 0.0
    share, _, minutes = share_seed_minutes(os.environ.get("MINDSCAPE_REMEASURE", "1"))
    for name, count in sorted(entries.items()):
        kind, _, maker = name.partition(" ")
        held, seconds = contents(store / f"{kind}.{maker}.jsonl")
        due = {"data": max(0, count - held), "tiny": min(1, held), "remeasure": round(share * count)}
        if count := due.get(mode, count):
            takes = count * (SECONDS.get(kind, 1.0) if seconds is None else seconds)
            total += takes
            lines.append(f"  {count:,} of kind {kind} by {maker}: about {words(takes)}")
    if not lines:
        return ["  nothing has to be computed for it: data/store holds what these notebooks are known to ask for"]
    ends = f"; it ends after MINUTES={minutes:g} on each core" if mode == "remeasure" and minutes else ""
    return [*lines, f"  about {words(total)} of one core for what is computed, besides{ends}"]


def share_seed_minutes(setting: str) -> tuple[float, int, float]:
    """The three of SHARE:SEED:MINUTES; 0 minutes is no limit. Raises ValueError, which says what cannot be drawn.

    >>> share_seed_minutes("0.02:7:5"), share_seed_minutes("0.02")
    ((0.02, 7, 5.0), (0.02, 0, 0.0))
    >>> share_seed_minutes("2:7")
    Traceback (most recent call last):
    ...
    ValueError: SHARE=2: expected more than 0, at most 1
    """
    share, seed, minutes = (setting.split(":") + ["", ""])[:3]
    if not 0 < _number(share) <= 1:
        raise ValueError(f"SHARE={share}: expected more than 0, at most 1")
    if not re.fullmatch("[0-9]*", seed):
        raise ValueError(f"SEED={seed}: expected a whole number, 0 or more")
    if not 0 <= _number(minutes or "0") < float("inf"):
        raise ValueError(f"MINUTES={minutes}: expected minutes, 0 for no limit")
    return float(share), int(seed or 0), float(minutes or 0)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def contents(path: Path) -> tuple[int, float | None]:
    """How many entries a file of the store holds, and the mean of the seconds that they took, of those that say so; of rankings
    the first says what all that are about the same texts share, and the rest nothing."""
    try:
        lines = path.read_bytes().splitlines()[1:]
    except OSError:
        return 0, None
    taken = [float(match[1]) for line in lines if (match := TAKEN.search(line[-40:]))]
    telling = lines if path.name.startswith("ranking") else taken
    return len(lines), sum(taken) / len(telling) if taken else None


def words(seconds: float) -> str:
    """A time in words.

    >>> words(40), words(300), words(20000)
    ('a minute', '5 minutes', '5.6 hours')
    """
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} hours"
    return "a minute" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def stored(name: str, scale: str) -> dict | None:
    """Time, memory and what was asked of the store, of the run whose results are stored."""
    folder = name if scale == "small" else f"{name}@scale={scale}"
    try:
        return json.loads((ROOT / "figures" / folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


if __name__ == "__main__":
    main(*sys.argv[1:4])
