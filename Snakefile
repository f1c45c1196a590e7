# One rule: a notebook becomes figures. `make figures` calls this; a sweep on Slurm or Kubernetes calls it with a profile.
#
#   SCALE=full ONLY=10 snakemake --cores 2
#
# MODE (figures, fresh, data, tiny, remeasure...) is what the Makefile runs it for, with the variables that the notebooks read
# (MINDSCAPE_FILL and the like); each has marks of its own.
#
# The executed copy is a log, so that it is kept when a cell fails. The mark under build/done is the output; the figures
# themselves are tracked, and a mark whose figures are gone is dropped here. `--nolock` in the Makefile lets a run that was
# killed go on without a word about locks.

import json
import os
from pathlib import Path

SCALE = os.environ.get("SCALE") or "small"
MODE = os.environ.get("MODE") or "figures"
MARKS = Path("build/done") / MODE / SCALE
ONLY = os.environ.get("ONLY", "").replace(",", " ").split()
FIGURES = Path(os.environ.get("MINDSCAPE_FIGURES") or "figures")

NAMES = sorted(path.stem for path in Path("notebooks").glob("[0-9]*.ipynb"))
CHOSEN = [name for name in NAMES if not ONLY or name.startswith(tuple(ONLY))]
COMPUTING = MODE != "figures" and len(CHOSEN) == 1  # alone, so that it may have all cores
LIBRARY = sorted(str(path) for path in Path("lib").rglob("*.*") if path.suffix in (".py", ".md", ".toml", ".html"))
DATA = sorted(str(path) for path in Path("data").rglob("*") if path.is_file() and path.name[0] != ".")

if SCALE not in ("small", "full", "gpu"):
    sys.exit(f"error: SCALE={SCALE} is unknown; expected small, full or gpu")
if not CHOSEN:
    sys.exit(f"error: ONLY={' '.join(ONLY)} fits no notebook; there are {', '.join(NAMES)}")


def left(name):
    """Whether the figures that a finished notebook left are still there."""
    folder = FIGURES / (name if SCALE == "small" else f"{name}@scale={SCALE}")
    try:
        stored = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return stored["finished"] and all((folder / figure["file"]).is_file() for figure in stored["figures"].values())


def due(name):
    """Whether a notebook is run: its mark is missing, or older than what it was made from."""
    if not left(name):
        (MARKS / name).unlink(missing_ok=True)
    if not (MARKS / name).is_file():
        return True
    made = (MARKS / name).stat().st_mtime
    return any(Path(file).stat().st_mtime > made for file in [f"notebooks/{name}.ipynb", *LIBRARY, *DATA])


os.environ.update(TODO=" ".join(name for name in CHOSEN if due(name)), MARKS=str(MARKS))  # for mindscape.workflow.execute


rule all:
    input:
        expand("build/done/{mode}/{scale}/{name}", mode=MODE, scale=SCALE, name=CHOSEN),


rule assets:
    output:
        touch("build/done/assets"),
    shell:
        "python -m mindscape.assets"


rule notebook:
    input:
        "build/done/assets",
        LIBRARY,
        DATA,
        notebook="notebooks/{name}.ipynb",
    output:
        touch("build/done/{mode}/{scale}/{name}"),
    log:
        notebook="build/executed/{mode}/{scale}/{name}.ipynb",
        text="build/executed/{mode}/{scale}/{name}.log",
    threads: workflow.cores if COMPUTING else 1
    shell:
        "python -m mindscape.workflow.execute {input.notebook} {log.notebook} {log.text} {wildcards.scale}"
