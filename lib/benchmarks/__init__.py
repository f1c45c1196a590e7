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
"""

from benchmarks.loading import TABLE, VARIABLE, Loaded, collection, find, load_dataset, named, root, stream
from benchmarks.reading import Benchmark, Files, Item, Metric, Passage, Prompt, Rejected, Report

__all__ = [
    "TABLE", "VARIABLE", "Benchmark", "Files", "Item", "Loaded", "Metric", "Passage", "Prompt", "Rejected", "Report",
    "collection", "find", "load_dataset", "named", "root", "stream",
]  # fmt: skip
