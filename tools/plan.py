"""Say what `make figures` will do before it does it: python tools/plan.py SCALE ONLY.

Times are those of the stored results, measured on 2 cores.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(scale: str, only: str) -> None:
    chosen = [
        path.stem
        for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
        if not only or path.stem.startswith(tuple(only.replace(",", " ").split()))
    ]
    print(
        f"make figures, scale {scale}: runs {len(chosen)} notebook{'s' * (len(chosen) != 1)}, skips what is up to date"
    )
    for name in chosen:
        print(f"  {name:32} {_cost(name, scale)}")
    print(
        "  disk: 0.8 GB under build/ (models and texts, caches; 0.2 GB of it fetched once), 2.5 GB in .venv", flush=True
    )


def _cost(name: str, scale: str) -> str:
    folder = name if scale == "small" else f"{name}@scale={scale}"
    try:
        stored = json.loads((ROOT / "figures" / folder / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "not measured yet"
    return f"about {stored['seconds']:.0f} s on 2 cores, {stored['peak_mb'] / 1000:.1f} GB of memory"


if __name__ == "__main__":
    main(*sys.argv[1:3])
