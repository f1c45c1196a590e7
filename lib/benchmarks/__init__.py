"""Long-text benchmarks, read from the files that their owners publish: documents, items that ask about them, a report.

Put the files into a folder a benchmark, and name the folder that holds these in MINDSCAPE_BENCHMARKS. Then
`python -m mindscape benchmarks` lists what is there and where the rest is published, and

>>> import benchmarks
>>> sample = benchmarks.load_dataset("nocha")                                                # doctest: +SKIP
>>> print(sample.report)                                                                     # doctest: +SKIP
nocha: 126 rows read, 126 used, 0 rejected; 4 documents

Nothing is downloaded and none of it is part of the kit: the texts stay under their owners' licences. Prompts and metrics
are named in the table, not run; a metric of `mindscape.metrics` that only comes near the owners' says so. Meant for
notebooks 10 and on, pointed at a real benchmark.

What there is to know of each benchmark, and what reads it, stands in table.toml.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from pydantic import TypeAdapter

from benchmarks.files import COLLECTION
from benchmarks.reading import Benchmark, Files, Found, Item, Metric, Passage, Prompt, Rejected, Report, fault
from mindscape import paths
from mindscape.errors import InputError, require
from mindscape.text import Document

__all__ = [
    "TABLE", "VARIABLE", "Benchmark", "Files", "Item", "Loaded", "Metric", "Passage", "Prompt", "Rejected", "Report",
    "collection", "find", "load_dataset", "named", "root", "stream",
]  # fmt: skip

VARIABLE = "MINDSCAPE_BENCHMARKS"
SAID = tomllib.loads(Path(__file__).with_name("table.toml").read_text(encoding="utf-8"))
TABLE = TypeAdapter(tuple[Benchmark, ...]).validate_python([{"name": name, **SAID[name]} for name in SAID])


@dataclass(frozen=True)
class Loaded:
    """A benchmark in memory: documents by id, items in the order of the files, and the report."""

    benchmark: Benchmark
    documents: Mapping[str, Document]
    items: tuple[Item, ...]
    report: Report


def named(name: str) -> Benchmark:
    """The line of the table. Raises InputError for a name that it lacks.

    >>> named("qmsum").licence
    'MIT; its authors ask for use in research only'
    """
    by_name = {benchmark.name: benchmark for benchmark in TABLE}
    if name not in by_name:
        close = get_close_matches(name.lower(), by_name, n=1, cutoff=0.4)
        meant = f"did you mean {close[0]!r}? " if close else ""
        raise InputError(f"no benchmark {name!r}: {meant}expected one of {', '.join(by_name)}")
    return by_name[name]


def root(folder: str | Path | None = None) -> Path:
    """The folder of all benchmarks: `folder`, or what MINDSCAPE_BENCHMARKS says, in which a relative path counts from the
    checkout. Raises InputError where there is none."""
    said = os.environ.get(VARIABLE)
    require(folder or said, f"no folder of benchmarks: set {VARIABLE}, or pass one")
    path = Path(folder).expanduser() if folder else paths.root() / Path(said or "").expanduser()
    require(path.is_dir(), f"{path}: expected a folder with a folder a benchmark in it, such as {path / TABLE[0].name}")
    return path


def find(benchmark: Benchmark, folder: str | Path | None = None) -> tuple[Found, list[str]]:
    """The files of a benchmark that are there, by key, and a sentence for each that is needed and is not."""
    home = root(folder) / benchmark.name
    present: dict[str, list[Path]] = {}
    for files in benchmark.files:
        matches = ([p for p in sorted(home.glob(name)) if p.is_file() and p.name != files.but] for name in files.names)
        present[files.key] = next(filter(None, matches), [])
    lacking = [files for files in benchmark.files if files.needed and not present[files.key]]
    return present, [_missing(benchmark, files, home) for files in lacking]


def _missing(benchmark: Benchmark, files: Files, home: Path) -> str:
    how = f" ({files.how})" if files.how else ""
    where = f"its owners publish it at {files.published}; save it in {home} as {files.save_as}{how}"
    return f"{benchmark.name} has no {files.key}: {where}"


def stream(
    name: str, folder: str | Path | None = None, part: str | None = None, report: Report | None = None
) -> Iterator[Document | Item]:
    """The documents and items of a benchmark, or of one of its parts, as they are read; nothing is kept.

    A document comes once, before the first item that asks about it; its `meta` has the benchmark and its licence. What
    was read is counted in `report`, which is whole when the stream has ended. Raises InputError for a benchmark, a part
    or a folder that there is not, a missing file (with where it is published and the name to save it under), a broken
    one, and where no row at all can be used, which means another format than the one described.

    >>> for piece in stream("longbench-v2", "benchmarks", part="short"):                     # doctest: +SKIP
    ...     if isinstance(piece, Document):
    ...         index(piece)
    """
    benchmark = named(name)
    parts = ", ".join(benchmark.parts) or "none: leave it out"
    require(part in (None, *benchmark.parts), f"{name} has no part {part!r}: expected one of {parts}")
    present, missing = find(benchmark, folder)
    require(not missing, "; ".join(missing))
    report = Report(name) if report is None else report
    report.folder = root(folder) / name
    about = {"benchmark": name, "licence": benchmark.licence}
    if benchmark.collection and not present[COLLECTION]:
        report.notes["the collection is not here: no evidence is looked for in it"] += 1
    texts, ids = set(), set()
    for piece in benchmark.read(present, report, part):
        if isinstance(piece, Document):
            if piece.id not in texts:
                texts.add(piece.id)
                report.documents += 1
                yield replace(piece, meta={**piece.meta, **about})
        elif piece.id in ids:
            report.reject("its id is that of an earlier row")
        elif reason := fault(piece):
            report.reject(reason)
        else:
            ids.add(piece.id)
            report.use(piece, looked=not benchmark.collection or report.collection is not None)
            yield piece
    if not report.items:
        raise InputError(_nothing(report, part))


def _nothing(report: Report, part: str | None) -> str:
    """What to say where not one row could be used."""
    where = f" of the part {part!r}" if part else ""
    if not report.rejected:
        return f"{report.folder}: there is no row{where} in its files: expected at least one"
    reason, most = max(report.rejected.items(), key=lambda pair: pair[1].count)
    keys = f", which has the keys {', '.join(most.keys)}" if most.keys else ""
    lost = f"none of the {report.rows} rows{where} can be used; {most.count} of them: {reason}"
    return f"{report.folder}: {lost} ({most.where}{keys})"


def load_dataset(name: str, folder: str | Path | None = None, part: str | None = None, limit: int | None = None) -> Loaded:
    """A benchmark in memory, or its first `limit` items and their documents. Errors as in `stream`.

    >>> load_dataset("loogle", "benchmarks", part="longdep_qa", limit=20).items[0].kind      # doctest: +SKIP
    'comprehension_and_reasoning'
    """
    require(limit is None or limit >= 1, f"limit is {limit}: expected 1 or more, or none")
    report, documents, items = Report(name), {}, []
    for piece in stream(name, folder, part, report):
        if isinstance(piece, Document):
            documents[piece.id] = piece
            continue
        items.append(piece)
        if len(items) == limit:
            report.notes[f"stopped after {limit} items"] += 1
            break
    return Loaded(named(name), documents, tuple(items), report)


def collection(name: str, folder: str | Path | None = None) -> Iterator[Document]:
    """The documents that a benchmark's questions are put to all together, as a stream: 80,000 articles of news, say.

    Their ids are those of the evidence. One that the files hold twice comes twice. Raises InputError for a benchmark
    whose questions have a text each, and where the collection's files are missing.
    """
    benchmark = named(name)
    alone = f"{name} has no collection to search: each of its questions is on one text, see `stream`"
    require(benchmark.collection is not None, alone)
    present, _ = find(benchmark, folder)
    files = next(files for files in benchmark.files if files.key == COLLECTION)
    require(present[files.key], _missing(benchmark, files, root(folder) / name))
    return benchmark.collection(present)
