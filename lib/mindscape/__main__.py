"""What the kit can be asked from a shell.

    python -m mindscape ask BOOK "question" … [--llm NAME] [--memory NAMES] [--cap DOLLARS]
    python -m mindscape benchmarks [NAME ...] [--folder FOLDER]

`ask` reads a book of one's own (`mindscape.own_book`). `benchmarks` without names lists which are there and where the missing
files are published; with names it reads these and says how many rows were used, rejected and why. Training has a command of its
own: python -m mindscape.training.
"""

import argparse
import os
import sys

import benchmarks
from mindscape import own_book
from mindscape.errors import MindscapeError


def main(arguments: list[str] | None = None) -> None:
    """Read the arguments and do what they say. An error of ours is one line, and the exit code is 1."""
    parser = argparse.ArgumentParser(prog="python -m mindscape", description="The mindscape kit.")
    commands = parser.add_subparsers(dest="command", required=True)
    listed = commands.add_parser("benchmarks", help="list what is found and what is missing, or read some and report")
    listed.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to read; none to list all")
    listed.add_argument("--folder", default="", help=f"folder of all benchmarks; {benchmarks.VARIABLE} by default")
    listed.add_argument("--part", default=None, help="one split or task alone, such as test or longbook_qa_eng")
    own_book.arguments(commands)
    given, more = parser.parse_known_args(arguments)
    if more and (given.command != "ask" or any(word.startswith("-") for word in more)):
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    if more:  # argparse takes positional words from one place alone: these are questions behind an option
        given.questions += more
    try:
        if given.command == "ask":
            own_book.ask_book(given)
        elif given.names:
            for name in given.names:
                _read(name, given.folder, given.part)
        else:
            _list(given.folder)
    except MindscapeError as error:
        sys.exit(f"error: {error}")


def _list(folder: str) -> None:
    """A line a benchmark, and a line for each file of it that is missing."""
    given = folder or os.environ.get(benchmarks.VARIABLE)
    home = benchmarks.root(folder) if given else None
    print(f"folder: {home}" if home else f"no folder: set {benchmarks.VARIABLE}, or pass --folder")
    for benchmark in benchmarks.TABLE:
        present, missing = benchmarks.find(benchmark, home) if home else ({}, None)
        state = "not looked for" if missing is None else "missing" if missing else "found"
        print(f"\n{benchmark.name}: {state} ({', '.join(benchmark.languages)}; {benchmark.licence})")
        for files in benchmark.files:
            there = present.get(files.key, [])
            if there:
                first = there[0].relative_to(home / benchmark.name)
                print(f"  {files.key}: {first}{f' and {len(there) - 1:,} more' if len(there) > 1 else ''}")
            else:
                print(f"  {files.key}{'' if files.needed else ' (can be left out)'}: {files.published}")
                print(f"    save as {benchmark.name}/{files.save_as}{f'; {files.how}' if files.how else ''}")


def _read(name: str, folder: str, part: str | None) -> None:
    """What was read, and how the benchmark asks and scores."""
    report = benchmarks.Report(name)
    for _ in benchmarks.stream(name, folder or None, part, report):
        pass
    print(report)
    line = benchmarks.named(name)
    for what, metric in line.metrics.items():
        kit = f"; in the kit: {', '.join(metric.kit)}" if metric.kit else ""
        kit += f" ({metric.differs})" if metric.differs else ""
        print(f"  metric{f' of {what}' if what else ''}: {metric.name}{kit}")
    for what, prompt in line.prompts.items():
        asks = f" with {' '.join(prompt.placeholders)}" if prompt.placeholders else ""
        print(f"  prompt{f' of {what}' if what else ''}: {prompt.where}{asks}; reply: {prompt.reply}")


if __name__ == "__main__":
    main()
