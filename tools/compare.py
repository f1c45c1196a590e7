"""Hold the numbers of a fresh run to the stored ones: python tools/compare.py FRESH [STORED].

Both are folders like `figures`. Values, intervals, counts and the hash of the rows must agree, to one part in a thousand;
only what was recorded with `varies` (speeds, memory, what a model wrote in bf16) may differ. Exit status 1 if anything does.
"""

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(fresh: Path, stored: Path = ROOT / "figures") -> int:
    differing, compared, varying = [], 0, 0
    for file in sorted(stored.glob("*/results.json")):
        name = file.parent.name
        if "@" in name:
            continue
        try:
            new = json.loads((fresh / name / "results.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            differing.append(f"{name}: no fresh results ({error})")
            continue
        old = json.loads(file.read_text(encoding="utf-8"))
        if not new["finished"]:
            differing.append(f"{name}: the fresh run did not finish")
        for key in sorted(old["metrics"].keys() | new["metrics"].keys()):
            pair = [run["metrics"].get(key) for run in (old, new)]
            if None in pair:
                differing.append(f"{name}: {key} is only in the {'fresh' if pair[0] is None else 'stored'} run")
            elif "varies" in pair[0] and "varies" in pair[1]:
                varying += 1
            elif _same(*pair):
                compared += 1
            else:
                differing.append(f"{name}: {key} was {pair[0]}, is {pair[1]}")
    print(*differing, sep="\n", end="\n" * bool(differing))
    print(f"{compared} numbers as stored, {len(differing)} not; {varying} that vary from run to run were not compared")
    return bool(differing) or not compared


def _same(a, b) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-3)
    return a == b


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
