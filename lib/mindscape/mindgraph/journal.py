"""Every edit of a graph, applied or rejected, in a file that is only appended to; any earlier graph can be had from it.

The first line says what run it is, then comes a line a block: the model's reply as it was, and the edits that were made of
it, each with its place or with the reason for which it was rejected. A line is written at once, so what a kill leaves is
whole lines and at most a part of one, which does not count. Of the paper's G_t (MindGraph, section 3.2) t counts blocks;
`rebuild` also stops after any number of edits. Taught in notebook 30_mindgraph_build.

It does not undo: a graph that went wrong is rebuilt up to the edit before. Two processes must not write to one file; where
they did, the file is refused.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from mindscape import records
from mindscape.errors import InputError, require
from mindscape.mindgraph.graph import REASONS, Edit, Graph, replay
from mindscape.text import Span

FORMAT = "mindscape graph journal 1"
OF = "what became of a block"  # a line of the file, in messages


@dataclass(frozen=True)
class Entry:
    """What became of a block: the reply and its edits; `invalid` says why the reply could not be read, or is empty.

    `shown` counts the nodes of the graph that the model was shown; `finish` is "length" for a reply that was cut off.
    """

    block: int
    reply: str
    edits: tuple[Edit, ...]
    invalid: str = ""
    shown: int = 0
    finish: str = "stop"


@dataclass(frozen=True)
class Journal:
    """What a file holds: `about` the run (its `document` is the document's id), and an entry a block, from block 0 on."""

    about: Mapping[str, Any]
    entries: tuple[Entry, ...] = ()


def read(path: str | Path) -> Journal:
    """The journal in a file, without a last line that is not finished; the file is left as it is.

    Raises InputError, with the line's number, for a file that is not a journal.

    >>> read("build/hamlet.jsonl").about["question"]                                            # doctest: +SKIP
    'Who sent the letter?'
    """
    blocks = count()
    about, entries = records.read(path, lambda row: _entry(row, next(blocks)), of=OF, form=FORMAT)
    return Journal(_checked(path, about), tuple(entries))


def opened(path: str | Path, about: Mapping[str, Any]) -> Journal:
    """The journal of a run, to go on with; begun where there is none yet. A line that is not finished is cut off.

    Raises InputError for a journal of another run, and says in what it differs.

    >>> opened("build/hamlet.jsonl", {"document": "hamlet", "question": "Who sent the letter?"})    # doctest: +SKIP
    """
    blocks, about = count(), {"format": FORMAT} | dict(about)
    entries = records.opened(path, about, lambda row: _entry(row, next(blocks)), of=OF, form=FORMAT)
    return Journal(_checked(path, about), tuple(entries))


def append(path: str | Path, entry: Entry) -> None:
    """Add a block's line and see it on the disk. Raises MindscapeError where that fails; a part of a line does no harm.

    >>> append("build/hamlet.jsonl", Entry(0, '{"operations": []}', ()))                        # doctest: +SKIP
    """
    edits = []
    for edit in entry.edits:
        told = {"operation": dict(edit.operation), "reason": edit.reason, "detail": edit.detail}
        edits.append(told | {"span": edit.span and [edit.span.start, edit.span.end], "src": edit.src})
    row = {"block": entry.block, "reply": entry.reply, "invalid": entry.invalid, "shown": entry.shown}
    records.append(path, [row | {"finish": entry.finish, "edits": edits}])


def rebuild(journal: Journal, *, blocks: int | None = None, edits: int | None = None) -> Graph:
    """The graph after so many blocks (the paper's G_t), or after so many edits, rejected ones counted; else the last one.

    Raises InputError for a number that the journal does not reach, and where its edits do not fit together.

    >>> add = {"op": "add_node", "id": "ivo", "type": "entity", "content": "Ivo", "src": "Ivo"}
    >>> first = Entry(0, "...", (Edit(add, 0, span=Span(0, 3), src="Ivo"), Edit({"raw": "7"}, 0, "malformed")))
    >>> then = Entry(1, "...", (Edit({"op": "delete_node", "id": "ivo"}, 1),))
    >>> journal = Journal({"document": "note"}, (first, then))
    >>> [len(rebuild(journal, edits=t).nodes) for t in range(4)], len(rebuild(journal, blocks=1).nodes)
    ([0, 1, 1, 0], 1)
    """
    require(blocks is None or edits is None, "blocks and edits are both given: expected one of them")
    if blocks is not None and not 0 <= blocks <= len(journal.entries):
        raise InputError(f"blocks={blocks}: expected 0 to {len(journal.entries)}")
    made = [edit for entry in journal.entries[:blocks] for edit in entry.edits]
    require(edits is None or 0 <= edits <= len(made), f"edits={edits}: expected 0 to {len(made)}")
    graph = Graph(journal.about["document"])
    for edit in made[:edits]:
        graph = replay(graph, edit)
    return graph


def counts(journal: Journal) -> dict[str, int]:
    """What became of a run's blocks and edits.

    `blocks` that were asked on, replies `unreadable` and `cut off`; edits `applied`, of those `quoted` with a quote and
    `verbatim` with one that is the text's to the letter; edits `rejected`, and how many for each reason.

    >>> counts(Journal({"document": "note"}, (Entry(0, "Well", (), "not JSON"),)))["unreadable"]
    1
    """
    edits = [edit for entry in journal.entries for edit in entry.edits]
    reasons = Counter(edit.reason for edit in edits if edit.reason)
    return {
        "blocks": len(journal.entries),
        "unreadable": sum(bool(entry.invalid) for entry in journal.entries),
        "cut off": sum(entry.finish == "length" for entry in journal.entries),
        "applied": len(edits) - reasons.total(),
        "quoted": sum(edit.span is not None for edit in edits),
        "verbatim": sum(edit.span is not None and edit.operation["src"] == edit.src for edit in edits),
        "rejected": reasons.total(),
        **{reason: reasons[reason] for reason in REASONS},
    }


def _checked(path: str | Path, about: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(about.get("document"), str):
        raise InputError(f"{path}, line 1: expected the id of a document, got {about.get('document')!r:.60}")
    return about


def _entry(row: Mapping[str, Any], block: int) -> Entry:
    if row["block"] != block:
        raise ValueError(f"it is on block {row['block']!r}")
    edits = tuple(_edit(edit, block) for edit in row["edits"])
    return Entry(block, row["reply"], edits, row["invalid"], row["shown"], row["finish"])


def _edit(row: Mapping[str, Any], block: int) -> Edit:
    if row["reason"] and row["reason"] not in REASONS:
        raise ValueError(f"the reason is {row['reason']!r:.60}")
    span = Span(*row["span"]) if row["span"] else None
    if span and not (type(span.start) is type(span.end) is int):
        raise ValueError(f"the span is {row['span']!r:.60}: expected two integers")
    return Edit(dict(row["operation"]), block, row["reason"], row["detail"], span, row["src"])
