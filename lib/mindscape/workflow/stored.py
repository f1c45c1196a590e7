"""Run the notebooks and store their outputs in place, or hold a fresh run to what is stored.

`python -m mindscape.workflow.stored [ONLY]` stores. It is a contract that `make test` compares: cells in order, no error, no
stderr, no trace of the machine.

`python -m mindscape.workflow.stored --compare FRESH` compares numbers, and holds the store to what was asked for. FRESH is a
folder as `build` is: `figures/NOTEBOOK/results.json` and `asked/NOTEBOOK.txt`. Values, intervals, counts and the hash of the
rows must agree, to one part in a thousand or to 0.001, and so must verdicts; only what was recorded with `varies` (speeds,
memory, what a model wrote in bf16) may differ. Every entry of data/store must have been asked for. Exit status 1 if anything
else is found.
"""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from mindscape import paths, results
from mindscape.errors import InputError
from mindscape.paper import all_claims, weighed
from mindscape.store import write_anew
from mindscape.workflow import plan


def store(only: str = "") -> None:
    """Run the notebooks whose names begin with one of ONLY, all by default, and write each in place when it is done."""
    os.environ["MINDSCAPE_STORED"] = "1"  # figures, numbers and times are published, whatever they are
    for name in plan.names(plan.ROOT, only):
        path = plan.ROOT / "notebooks" / f"{name}.ipynb"
        print(f"{name}: running", flush=True)
        notebook = nbformat.read(path, as_version=4)
        here = {"metadata": {"path": path.parent}}
        NotebookClient(notebook, kernel_name="python3", record_timing=False, resources=here).execute()
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        write_anew(path, (nbformat.writes(notebook) + "\n").encode())


def compare(fresh: Path, root: Path | None = None) -> int:
    """Print what differs, and how much was compared; 1 if anything does, or nothing was compared."""
    root, wrong, compared, varying = root or paths.root(), [], 0, 0
    for file in sorted((root / "figures").glob("*/results.json")):
        name = file.parent.name
        if "@" in name:
            continue
        try:
            old, new = (results.read(name, folder / "figures") for folder in (root, fresh))
        except InputError as error:
            wrong.append(f"{name}: no fresh results ({error})")
            continue
        if not new["finished"]:
            wrong.append(f"{name}: the fresh run did not finish")
        differing = results.differing(old, new)
        wrong += [f"{name}: {said}" for said in differing]
        free = sum("varies" in metric for metric in new["metrics"].values())
        varying += free
        compared += len(new["metrics"]) - free - len(differing)
    if (file := root / "data" / "claims.yaml").is_file():  # a number may be as stored and lie on the other side of an edge
        judged = (weighed(all_claims(file), folder / "figures") for folder in (root, fresh))
        for (claim, was), (_, now) in zip(*judged, strict=True):
            wrong += [f"{claim.notebook}: the verdict on {claim.id} was {was!r}, is {now!r}"] if was != now else []
    wrong += dead(fresh / "asked", root / "data" / "store")
    print(*wrong, sep="\n", end="\n" * bool(wrong))
    print(f"{compared} numbers as stored, {len(wrong)} findings; {varying} that vary from run to run were not compared")
    return bool(wrong) or not compared


def dead(folder: Path, store: Path) -> list[str]:
    """A line for each file of the store that holds entries which no notebook asked for."""
    keys = {key for path in folder.glob("*.txt") for key in path.read_text(encoding="ascii").split()}
    notes = []
    for path in sorted(store.glob("*.jsonl")):
        lines = path.read_bytes().split(b"\n")[1:]
        unasked = [line[9:41].decode() for line in lines if line and line[9:41].decode() not in keys]
        if unasked:
            count = f"{len(unasked)} of {len(lines) - 1} entries"
            notes.append(f"{path.name}: {count} no notebook asks for, such as {unasked[0]}")
    return notes


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"]:
        sys.exit(compare(Path(sys.argv[2])))
    store(*sys.argv[1:2])
