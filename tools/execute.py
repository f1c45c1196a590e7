"""Run one notebook for the workflow: python tools/execute.py NOTEBOOK EXECUTED LOG SCALE.

Papermill runs it in `notebooks/`; one line is printed when it starts and one when it ends, and on failure where to look.
"""

import json
import subprocess
import sys
import time
from pathlib import Path


def main(notebook: Path, executed: Path, log: Path, scale: str) -> int:
    print(f"  {notebook.stem}: started", flush=True)
    start = time.monotonic()
    command = [
        "papermill",
        "--cwd",
        "notebooks",
        "--kernel",
        "python3",
        "--no-progress-bar",
        str(notebook),
        str(executed),
    ]
    command += ["-p", "scale", scale]
    with log.open("w", encoding="utf-8") as out:
        code = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode
    took = f"{time.monotonic() - start:.0f} s"
    if code:
        print(
            f"  {notebook.stem}: FAILED after {took}: {_cause(executed, log)}\n    see {executed} and {log}", flush=True
        )
    else:
        print(f"  {notebook.stem}: done in {took}", flush=True)
    return code


def _cause(executed: Path, log: Path) -> str:
    """The failing cell's error, or the log's last line if no cell failed."""
    if executed.is_file():
        for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                if output["output_type"] == "error":
                    return f"{output['ename']}: {output['evalue']}"
    return (log.read_text(encoding="utf-8").strip().splitlines() or ["nothing was logged"])[-1]


if __name__ == "__main__":
    sys.exit(main(*(Path(word) for word in sys.argv[1:4]), sys.argv[4]))
