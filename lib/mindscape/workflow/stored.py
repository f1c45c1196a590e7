"""Run the notebooks and store their outputs in place: python -m mindscape.workflow.stored [ONLY].

What is stored is a contract that `make test` compares: cells in order, no error, no stderr, no trace of the machine.
"""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[3]


def main(only: str = "") -> None:
    """Run the notebooks whose names begin with one of ONLY, all by default, and write each in place when it is done."""
    os.environ["MINDSCAPE_STORED"] = "1"  # figures, numbers and times are published, whatever they are
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        if only and not path.stem.startswith(tuple(only.replace(",", " ").split())):
            continue
        print(f"{path.stem}: running", flush=True)
        notebook = nbformat.read(path, as_version=4)
        here = {"metadata": {"path": path.parent}}
        client = NotebookClient(notebook, kernel_name="python3", record_timing=False, resources=here)
        client.execute()
        notebook.metadata = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        scratch = path.with_suffix(".scratch")
        nbformat.write(notebook, scratch)
        os.replace(scratch, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
