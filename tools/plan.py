"""Say what `make figures` will do before it does anything: python tools/plan.py SCALE ONLY.

It needs nothing but Python, since it runs before anything is installed. Times are those of the stored results.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCALES = ("small", "full", "gpu")


def main(scale: str, only: str) -> None:
    names = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
    chosen = [name for name in names if not only or name.startswith(tuple(only.replace(",", " ").split()))]
    if scale not in SCALES:
        sys.exit(f"error: SCALE={scale} is unknown; expected {', '.join(SCALES)}")
    if not chosen:
        sys.exit(f"error: ONLY={only} fits no notebook; there are {', '.join(names)}")
    installed = (ROOT / ".venv" / "core").is_file()
    print(
        f"make figures, scale {scale}: {len(chosen)} notebook{'s' * (len(chosen) != 1)}; what is up to date is skipped"
    )
    if not installed:
        print(
            "  first, an environment in .venv: about 2 minutes; 2.1 GB with a CPU build of PyTorch, several GB more without"
        )
    print("  models and texts under build/, once: 0.2 GB to fetch, 0.7 GB on disk, half a minute")
    seconds = [_stored(name, scale) for name in chosen]
    for name, stored in zip(chosen, seconds, strict=True):
        cost = "not measured yet"
        if stored:
            cost = f"{stored['seconds']:.0f} s, {stored['peak_mb'] / 1000:.1f} GB of memory"
            cost += ", measured with a warm cache" * stored.get("warm_cache", False)
        print(f"  {name}: {cost}")
    known = [stored["seconds"] for stored in seconds if stored]
    if known:
        total = max(sum(known) / 2, max(known)) / 60
        print(f"  about {total:.0f} to {total + 1:.0f} minutes on 2 cores, notebooks side by side", flush=True)


def _stored(name: str, scale: str) -> dict | None:
    folder = name if scale == "small" else f"{name}@scale={scale}"
    try:
        return json.loads((ROOT / "figures" / folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


if __name__ == "__main__":
    main(*sys.argv[1:3])
