"""Run one notebook for the workflow: python -m mindscape.workflow.execute NOTEBOOK EXECUTED LOG SCALE.

Papermill runs it in `notebooks/`; one line is printed when it starts, with how many are done and how long the others take, and
one when it ends; on failure also where to look. No cell may take longer than CELL_LIMIT minutes, no notebook longer than LIMIT;
0 is no limit.

The workflow says in TODO which notebooks it runs, in MARKS where each leaves a mark when it is done, in JOBS how many at once.
"""

import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from mindscape.workflow import plan

LIMITS = {"CELL_LIMIT": 30.0, "LIMIT": 60.0}  # minutes


def main(notebook: Path, executed: Path, log: Path, scale: str) -> int:
    """Run it, within the limits; papermill's exit status, 1 where a limit was met, 130 where it was interrupted."""
    print(f"  {notebook.stem}: started{progress(scale)}", flush=True)
    cell_limit, limit = (minutes(name) for name in LIMITS)
    command = ["papermill", "--cwd", "notebooks", "--kernel", "python3", "--no-progress-bar", "-p", "scale", scale]
    command += [str(notebook), str(executed)]
    command += ["--execution-timeout", str(max(1, round(60 * cell_limit)))] if cell_limit else []
    start = time.monotonic()
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(60 * limit or None)
            why = cause(executed, log, cell_limit) if code else ""
        except subprocess.TimeoutExpired:
            why, code = f"it took more than {limit:g} minutes (LIMIT), in {running(executed)}", 1
        except KeyboardInterrupt:
            why, code = "interrupted", 130
        finally:
            stop(process)
    took = f"{time.monotonic() - start:.0f} s"
    outcome = f"FAILED after {took}: {why}\n    see {executed} and {log}" if code else f"done in {took}"
    print(f"  {notebook.stem}: {outcome}", flush=True)
    return code


def minutes(name: str) -> float:
    """A limit that the environment sets, or the usual one."""
    try:
        limit = float(os.environ.get(name) or LIMITS[name])
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        sys.exit(f"error: {name}={os.environ[name]}: expected minutes, 0 for no limit")
    return max(0.0, limit)


def progress(scale: str) -> str:
    """How many notebooks of this run are done, and how long the others take, as the stored times have it."""
    todo = os.environ.get("TODO", "").split()
    if len(todo) < 2:
        return ""
    begun = Path("build/begun")
    since = begun.stat().st_mtime if begun.is_file() else 0.0
    marks = {name: Path(os.environ["MARKS"]) / name for name in todo}
    left = [name for name, mark in marks.items() if not mark.is_file() or mark.stat().st_mtime < since]
    known = [run["seconds"] for name in left if (run := plan.stored(name, scale))]
    takes = max([sum(known) / int(os.environ.get("JOBS") or 2), *known], default=0.0)
    about = f", about {plan.words(takes)} left" if takes and os.environ.get("MODE", "figures") == "figures" else ""
    return f" ({len(todo) - len(left)} of {len(todo)} done{about})"


def stop(process: subprocess.Popen) -> None:
    """End papermill and the kernel that it started, first by asking."""
    for how in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, how)
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)


def cells(executed: Path) -> list[dict]:
    """The cells that were run, as far as they were."""
    try:
        return json.loads(executed.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError):
        return []


def running(executed: Path) -> str:
    """The cell that was begun last, by its number and its first line."""
    code = [cell for cell in cells(executed) if cell["cell_type"] == "code"]
    begun = [n for n, cell in enumerate(code) if cell["metadata"].get("papermill", {}).get("start_time")]
    if not begun:
        return "before its first cell"
    first = "".join(code[begun[-1]]["source"]).strip().partition("\n")[0].strip()
    return f"code cell {begun[-1] + 1}: {first}"


def cause(executed: Path, log: Path, cell_limit: float) -> str:
    """The failing cell's error, or the log's last line if no cell failed."""
    said = log.read_text(encoding="utf-8").strip().splitlines() or ["nothing was logged"]
    if any(line.startswith("Timeout waiting for execute reply") for line in said):
        return f"a cell took more than {cell_limit:g} minutes (CELL_LIMIT), {running(executed)}"
    outputs = (output for cell in cells(executed) for output in cell.get("outputs", []))
    errors = (f"{output['ename']}: {output['evalue']}" for output in outputs if output["output_type"] == "error")
    return next(errors, said[-1])


def interrupted(*_: object) -> None:
    """What a signal to end does: papermill runs in a session of its own, and has to be ended, too."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has not both
            signal.signal(getattr(signal, name), interrupted)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]))
