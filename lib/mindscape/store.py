"""What a model made once need not be made again: replies, log-probabilities, rankings, and whatever else is dear to compute.

An entry is filed under a hash of all that decides it: its kind, its maker (base, adapter, template) and the question. A look-up
goes to the user's cache, then to `data/store/`, which travels with the kit, and then the thing is computed and kept, entry by
entry as each arrives. An entry says who made it, and in which precision, which is no part of its key: what one processor
computed in bfloat16 is found by another that has none.

    values = store.current().fetch("ranking", maker, questions, compute)

Three switches: `fill` writes what is computed to `data/store/` as well, `fresh` takes nothing that travels, `shard` "3/8"
begins with another eighth of what is missing, so that eight processes share one experiment. Several processes may do so at
once; a kill loses at most one batch; a damaged line is named, counted, and computed anew.

`remake` computes a random part of what was found anew and says how much of it agrees. Taught in notebook 00_start_here.
"""

import json
import math
import os
import random
import re
import sys
import time
import zlib
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from filelock import FileLock

from mindscape import paths
from mindscape.cache import Cache, digest
from mindscape.errors import FREE_SPACE, InputError, MindscapeError, require, storage_advice
from mindscape.workflow.plan import words

FORMAT = "mindscape store 1"
BATCH = 64  # of what is missing, between two looks at what others have computed meanwhile
BLOCK = 16  # entries that were asked for one after the other, and are drawn together to be computed anew
CLOSE = 1e-3  # numbers agree that differ by so much of their size
LONG_ALONE = 10  # seconds of an entry that is drawn without its neighbours
LONG = 60  # seconds that are worth a word before and while they pass
NEAR = 0.02  # nats a token by which two log-probabilities of one text may differ
SHORT = 100  # tokens of a reply that is computed anew in passing
TIMES = "seconds", "foretold"  # what a value says of its making, which may take longer the next time
LINE = re.compile(rb'\{"key": "([0-9a-f]{32})", "sum": "([0-9a-f]{8})", (.*)\}\Z', re.DOTALL)
Compute = Callable[[Sequence[int]], Iterable[tuple[int, Any]]]  # places of questions to (position among them, value)


@dataclass(frozen=True)
class Joint:
    """A way to compute values of whatever questions are put to it: those of several calls go to one `ask` when they are
    computed anew, if the calls have the same `like`, kind and maker. `ask` yields (position, value) in any order.

    >>> compute = Joint("doubled", ["3", "4"], lambda texts: ((i, 2 * text) for i, text in enumerate(texts)))
    >>> list(compute([1])), list(compute.ask(["7", "8"]))
    ([(0, '44')], [(0, '77'), (1, '88')])
    """

    like: str
    questions: Sequence[Any]
    ask: Callable[[Sequence[Any]], Iterable[tuple[int, Any]]]

    def __call__(self, places: Sequence[int]) -> Iterable[tuple[int, Any]]:
        return self.ask([self.questions[place] for place in places])


@dataclass(frozen=True)
class Maker:
    """Who makes an entry: a name for people, and in `about` all that decides what is made, precision apart.

    >>> base, tuned = Maker("smollm2", {"base": "bcc8"}), Maker("reader", {"base": "bcc8", "adapter": "91aa"}, "float32")
    >>> base.fingerprint == tuned.fingerprint, tuned == Maker("reader", tuned.about, "bfloat16")
    (False, False)
    >>> tuned.fingerprint == Maker("any name", tuned.about, "bfloat16").fingerprint
    True
    """

    name: str
    about: Mapping[str, Any]
    dtype: str = ""
    here: bool = field(default=True, compare=False)  # it can be asked: an adapter may be known by its hash alone

    @cached_property
    def fingerprint(self) -> str:
        return digest(dict(self.about))

    @cached_property
    def label(self) -> str:
        """The name as a file has it, with the beginning of the fingerprint."""
        return f"{re.sub(r'[^A-Za-z0-9_+.]+', '-', self.name).strip('-.')[:60] or 'model'}-{self.fingerprint[:8]}"

    @cached_property
    def network(self) -> str:
        """A hash of what reads texts, whatever is done with their vectors: of two that make something together, the first's.

        >>> first, other = (Maker("mia_emb", {"adapter": "fb78", "delta": delta}) for delta in (0.0, 0.5))
        >>> first.network == other.network == (other & Maker("minilm", {})).network, first.fingerprint == other.fingerprint
        (True, False)
        """
        about = self.about
        while "first" in about:
            about = about["first"]
        return digest({key: value for key, value in about.items() if key not in ("delta", "embedder", "signature")})

    def __and__(self, other: "Maker") -> "Maker":
        """Two that make something together."""
        dtypes = dict.fromkeys(dtype for dtype in (self.dtype, other.dtype) if dtype)
        about = {"first": self.about, "second": other.about}
        return Maker(f"{self.name}+{other.name}", about, "+".join(dtypes), self.here and other.here)


@dataclass
class Access:
    """What one call asked of the store: in which cell of the notebook, of which maker, and how each entry came to be."""

    cell: int | None
    kind: str
    maker: str  # its label, or the path of a file
    shipped: int = 0
    cached: int = 0
    computed: int = 0


class Found(NamedTuple):
    """An entry that was found: the call that asked for it last, its place among the questions of that, how to compute it, the
    texts that it is about, and the seconds that it takes, where the call says so."""

    key: str
    kind: str
    maker: Maker
    call: int
    place: int
    compute: Compute
    texts: str
    seconds: float

    @property
    def like(self) -> tuple[Any, ...]:
        """What entries have in common that are computed anew in one go: the call, or what makes several calls alike."""
        common = self.kind, self.maker.fingerprint, self.maker.dtype
        return (*common, self.compute.like) if isinstance(self.compute, Joint) else (self.call,)

    def takes(self, entry: Mapping[str, Any]) -> float:
        """About how many seconds it takes, as the entry or the call says."""
        return max(self.seconds, entry.get("seconds", 0.0))


@dataclass(frozen=True)
class Remade:
    """An entry that was drawn: whether both agree, and how far they are apart where that is a number; `agrees` is None where
    time was up before it was computed anew."""

    key: str
    kind: str
    maker: str
    agrees: bool | None
    off: float | None
    seconds: float
    precision: str = ""
    block: str = ""  # entries that were drawn together have the same


@dataclass
class Store:
    """Entries in the user's cache (`cache`, a file) above those that travel (`shipped`, a folder).

    Raises MindscapeError, and keeps what was written, for a disk that is full or cannot be written, a folder of another
    version, and a file of another maker.

    >>> import tempfile
    >>> scratch = tempfile.TemporaryDirectory()
    >>> folder = Path(scratch.name)
    >>> store = Store(folder / "cache.sqlite", folder / "store", fill=True)
    >>> double = lambda places: ((i, 2 * [3, 4][place]) for i, place in enumerate(places))
    >>> store.fetch("double", Maker("arithmetic", {}), [{"of": 3}, {"of": 4}], double)
    [6, 8]
    >>> again = Store(folder / "other.sqlite", folder / "store")
    >>> again.fetch("double", Maker("arithmetic", {}), [{"of": 4}], double), again.trail[-1].shipped
    ([8], 1)
    """

    cache: Any = field(default_factory=lambda: paths.cache() / "entries.sqlite")  # a path becomes the `Cache` there
    shipped: Path = field(default_factory=lambda: paths.data("store"))
    fill: bool = False
    fresh: bool = False
    shard: str = "1/1"
    trail: list[Access] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)  # all that were asked for
    _files: dict[Path, dict[str, bytes]] = field(default_factory=dict, repr=False)
    _waiting: dict[Path, tuple[str, Maker, dict[str, bytes]]] = field(default_factory=dict, repr=False)
    _calls: Iterator[int] = field(default_factory=count, repr=False)
    _again: dict[str, Found] = field(default_factory=dict, repr=False)  # by key, what was asked for last as the last
    _inside: int = field(default=0, repr=False)  # of so many entries that are being computed
    _anew: int = field(default=0, repr=False)  # the same, of entries that were found: nothing is found or filed for them

    def __post_init__(self):
        self.cache = self.cache if isinstance(self.cache, Cache) else Cache(self.cache)
        part, _, parts = self.shard.partition("/")
        fits = part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)
        require(fits, f"shard={self.shard!r}: expected one of so many parts, such as '3/8'")

    # -- asking --------------------------------------------------------------------------------------------------------

    def fetch(
        self, kind: str, maker: Maker, questions: Sequence, compute: Compute, how: Mapping | None = None, seconds: float = 0.0
    ) -> list[Any]:
        """A value for each question, in order: found, or computed and kept as it arrives; equal questions once.

        `questions` and values are what JSON holds. `compute` gets places of questions and yields (position among them, value)
        in any order; questions with the same `texts` or `memory` share what is dear: those are read once. `how`: parameters
        that an entry is to say, all of which are in the questions, too. `seconds`: what an entry takes, about, to be said
        before many are computed, and for a limit in `remake`.
        """
        keys = [self.key(kind, maker, question) for question in questions]
        texts = [""] * len(keys) if seconds <= LONG_ALONE else list(keys)
        for i, question in enumerate(questions):
            if isinstance(question, Mapping):  # the hash of the texts that it is about, where it names it
                texts[i] = str(question.get("texts") or question.get("memory") or texts[i])
        values = self.get(kind, maker, keys, compute, texts, seconds)
        new = sorted(place for key, place in _first(keys).items() if key not in values)
        progress = Progress(f"entries of kind {kind} by {maker.name}", len(new), seconds * len(new))
        for places in self.missing(new, keys, values, kind, maker):
            begun = time.perf_counter()
            for position, value in self._on_the_way(compute(places)):
                key = keys[places[position]]
                values[key] = self.put(kind, maker, {key: value}, time.perf_counter() - begun, how)[key]
                begun = time.perf_counter()
                progress.done()
        return [values[key] for key in keys]

    def _on_the_way(self, values: Iterable[tuple[int, Any]], anew: bool = False) -> Iterator[tuple[int, Any]]:
        """The same values; what computing one asks for, such as the replies behind a summary, does not travel beside it, and
        `anew` it is computed, too; vectors have a cache of their own, and are found there."""
        rest, end = iter(values), object()
        while True:
            self._inside, self._anew = self._inside + 1, self._anew + anew
            try:
                value: Any = next(rest, end)
            finally:
                self._inside, self._anew = self._inside - 1, self._anew - anew
            if value is end:
                return
            yield value

    @staticmethod
    def key(kind: str, maker: Maker, question: Any) -> str:
        """All that decides a value, as a hash."""
        return digest(kind, maker.fingerprint, question)

    def missing(self, places: list[int], keys: Sequence[str], values: dict, kind: str, maker: Maker) -> Iterator[list[int]]:
        """The places whose keys have no value, some at a time, from this shard's part on; what other processes have filed
        meanwhile is put into `values` and passed over."""
        i, n = map(int, self.shard.split("/"))
        start = (i - 1) * len(places) // n
        rest = places[start:] + places[:start]
        try:
            while rest:
                batch, rest = (rest, []) if n == 1 else (rest[:BATCH], rest[BATCH:])
                if n > 1:
                    self._files.pop(self.path(kind, maker), None)
                    values.update(self._found(kind, maker, [keys[place] for place in batch])[0])
                    batch = [place for place in batch if keys[place] not in values]
                if batch:
                    yield batch
                    self.flush()
        finally:
            self.flush()

    def get(
        self,
        kind: str,
        maker: Maker,
        keys: Sequence[str],
        compute: Compute | None = None,
        texts: Sequence[str] = (),
        seconds: float = 0.0,
    ) -> dict[str, Any]:
        """Those of the keys that are there, with their values. With `compute` they can be computed anew, see `remake`, those
        about the same of `texts` together, in about so many `seconds` each."""
        if self._anew:
            return {}
        stored, shipped = self._found(kind, maker, list(dict.fromkeys(keys)))
        self.keys.update(keys)
        if self.fill and not self._inside and len(shipped) < len(stored):
            new = stored.keys() - shipped - self._entries(kind, maker).keys()
            if new:  # cached before it was to travel
                self._ship(kind, maker, self.cache.get(new))
        if stored:
            self.note(kind, maker.label, shipped=len(shipped), cached=len(stored) - len(shipped))
            if compute is not None and maker.here and not self._inside:
                first, call = _first(keys), next(self._calls)
                for key in stored:
                    place = first[key]
                    self._again.pop(key, None)
                    about = texts[place] if texts else ""
                    self._again[key] = Found(key, kind, maker, call, place, compute, about, seconds)
        return stored

    def put(self, kind: str, maker: Maker, items: Mapping, seconds: float = 0.0, how: Mapping | None = None) -> dict[str, Any]:
        """Keep values under their keys, all or none; returned as JSON gives them back. In `fill` they go to what travels,
        too."""
        bodies = {key: _body(kind, maker, value, seconds / len(items), how) for key, value in items.items()}
        if not self._anew:
            self.cache.put(bodies)
        if self.fill and not self._inside:
            self._waiting.setdefault(self.path(kind, maker), (kind, maker, {}))[2].update(bodies)
            if sum(len(held) for _, _, held in self._waiting.values()) >= BATCH:
                self.flush()
        self.keys.update(bodies)
        self.note(kind, maker.label, computed=len(items))
        return {key: json.loads(body)["value"] for key, body in bodies.items()}

    def apart(self) -> "Store":
        """A store of what is asked on the way to an entry of this one, in the user's cache alone: no notebook asks for that."""
        return Store(self.cache, self.shipped, fresh=True, _anew=self._anew)

    def read_file(self, path: str | Path) -> None:
        """Note that numbers may rest on a file: one of `data/` that holds what was measured elsewhere."""
        path = Path(path).resolve()
        inside = path.is_relative_to(paths.root())
        self.note("file", str(path.relative_to(paths.root())) if inside else path.name)

    def note(self, kind: str, maker: str, *, shipped: int = 0, cached: int = 0, computed: int = 0) -> None:
        """Put into the trail what was asked of whom, for the numbers that rest on it."""
        cell = len(history()) - 1 if history() else None
        if not self.trail or (self.trail[-1].cell, self.trail[-1].kind, self.trail[-1].maker) != (cell, kind, maker):
            self.trail.append(Access(cell, kind, maker))
        last = self.trail[-1]
        last.shipped += shipped
        last.cached += cached
        last.computed += computed

    def _found(self, kind: str, maker: Maker, keys: list[str]) -> tuple[dict[str, Any], set[str]]:
        stored = {key: json.loads(entry)["value"] for key, entry in self.cache.get(keys).items()}
        entries = {} if self.fresh or len(stored) == len(keys) else self._entries(kind, maker)
        shipped = {key for key in keys if key not in stored and key in entries}
        return stored | {key: json.loads(entries[key])["value"] for key in keys if key in shipped}, shipped

    # -- what travels ----------------------------------------------------------------------------------------------------

    def path(self, kind: str, maker: Maker) -> Path:
        """The file of a maker's entries of one kind: a line on the maker, then a line each, sorted by key."""
        return self.shipped / f"{kind}.{maker.label}.jsonl"

    def flush(self) -> None:
        """Add what waits to what travels; it is in the cache until then, from where a later run takes it."""
        waiting, self._waiting = self._waiting, {}
        for kind, maker, bodies in waiting.values():
            self._ship(kind, maker, bodies)

    def _ship(self, kind: str, maker: Maker, bodies: Mapping[str, bytes]) -> None:
        """The file is written anew beside the old one and put in its place, one process at a time."""
        path = self.path(kind, maker)
        head = {"format": FORMAT, "kind": kind, "name": maker.name, "maker": maker.about}
        try:
            self.shipped.mkdir(parents=True, exist_ok=True)
            with FileLock(self.shipped / ".lock"):
                entries = self._read(kind, maker) | dict(bodies)
                lines = [_line(key, entries[key]) for key in sorted(entries)]
                write_anew(path, b"\n".join([json.dumps(head, sort_keys=True).encode(), *lines, b""]))
                self._files[path] = entries
        except OSError as error:
            raise _explained(self.shipped, error) from error

    def _entries(self, kind: str, maker: Maker) -> dict[str, bytes]:
        path = self.path(kind, maker)
        if path not in self._files:
            self._files[path] = self._read(kind, maker)
        return self._files[path]

    def _read(self, kind: str, maker: Maker) -> dict[str, bytes]:
        """The entries of a file, each as the bytes that follow its key; {} where there is none yet."""
        path = self.path(kind, maker)
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _explained(path, error) from error
        about = _about(path, lines[0])
        if about is None:
            # A key is a hash of the maker, too, so that no entry is taken for another's; a file without any is something else.
            said = "expected what maker's entries follow"
            advice = "take the file from the repository again (git checkout), or delete it: its entries are computed anew"
            require(any(map(_entry, lines[1:])), f"{path}, line 1: {said}; {advice}")
            self.cache.tell(f"{path.name}, line 1: {said}; they are found by their keys")
        elif about["kind"] != kind or digest(about["maker"]) != maker.fingerprint:
            said = f"{path} holds entries of {about['name']!r:.60}, kind {about['kind']!r:.30}"
            raise InputError(f"{said}: expected those of {maker.name!r:.60}, kind {kind!r}")
        entries: dict[str, bytes] = {}
        for number, line in enumerate(lines[1:], start=2):
            if entry := _entry(line):
                entries[entry[0]] = entry[1]
            elif line:
                said = "expected an entry, whole and as it was written: it is computed anew"
                self.cache.tell(f"{path.name}, line {number}: {said}")
        return entries

    # -- computing anew --------------------------------------------------------------------------------------------------

    def remake(
        self,
        *,
        share: float = 0.0,
        count: int = 0,
        smallest: bool = False,
        seed: int = 0,
        kinds: Sequence[str] = (),
        seconds: float = math.inf,
    ) -> Iterator[Remade]:
        """Compute some of the entries that were found anew, and compare: a random `share` of all, or `count` of the quick ones,
        or, with `smallest`, one of each kind and maker (`_smallest`); of some kinds or all. Each is told once there; nothing is
        filed. Quick is a reply of at most `SHORT` tokens, and what took no more than `LONG_ALONE` seconds; if none is, any.

        A share is drawn in blocks, since neighbours cost little more than one alone: all rankings of the same texts by one
        network, whose vectors are computed once; of other kinds `BLOCK` that were asked for one after the other. What was drawn
        of calls that can be computed together (`Joint`) is: one that asked for each thing after the other fills a batch.

        After `seconds` it ends: parts of a block's size are computed in a random order, and none is begun that took longer than
        is left when it was made, as its entries or their call say. The rest is told as not computed.

        >>> list(Store().remake(share=0.5, seed=7))
        []
        """
        hits = [hit for hit in self._again.values() if not kinds or hit.kind in kinds]
        chosen: dict[str, str] = {}  # keys, and the block of each
        if share:
            for blocks in _blocks(hits).values():
                for name in _of_share(sorted(blocks), share, seed):
                    chosen |= dict.fromkeys(blocks[name], name)
        elif smallest:
            chosen = dict.fromkeys(self._smallest(hits), "")
        else:
            drawn = sorted(self._quick(hits)) or sorted(hit.key for hit in hits)
            chosen = dict.fromkeys(random.Random(seed).sample(drawn, min(count, len(drawn))), "")
        parts = _grouped((hit for hit in hits if hit.key in chosen), lambda hit: hit.like)
        if seconds < math.inf:
            parts = [part for group in parts for part in _parts(group)]
            parts.sort(key=lambda part: digest("order", seed, part[0].key))
        end = time.perf_counter() + seconds
        for part in parts:
            yield from self._remade(part, chosen, end)

    def _remade(self, hits: Sequence[Found], blocks: Mapping[str, str], end: float) -> Iterator[Remade]:
        """Those entries, which one call asked for, or several that are alike, computed anew, if they do not take longer than
        until `end`."""
        kind, maker, compute = hits[0].kind, hits[0].maker, hits[0].compute
        old = list(self._stored(hits))
        takes = sum(hit.takes(entry) for hit, entry in zip(hits, old, strict=True))
        begun = time.perf_counter()
        if begun + takes >= end:
            yield from (Remade(hit.key, kind, maker.label, None, None, 0.0, "", blocks[hit.key]) for hit in hits)
            return
        if isinstance(compute, Joint):
            values = compute.ask([cast(Joint, hit.compute).questions[hit.place] for hit in hits])
        else:
            values = compute([hit.place for hit in hits])
        for position, value in self._on_the_way(values, anew=True):
            took, key, entry = time.perf_counter() - begun, hits[position].key, old[position]
            agrees, off = compare_values(entry["value"], json.loads(json.dumps(value)))
            then = entry.get("dtype", "")  # the precision in which it was made
            precision = then if then == maker.dtype else f"{then}, now {maker.dtype}"
            yield Remade(key, kind, maker.label, agrees, off, round(took, 3), precision, blocks[key])
            begun = time.perf_counter()

    def _stored(self, hits: Sequence[Found]) -> Iterator[dict[str, Any]]:
        cached = self.cache.get([hit.key for hit in hits])
        return (json.loads(cached.get(hit.key) or self._entries(hit.kind, hit.maker)[hit.key]) for hit in hits)

    def _quick(self, hits: Sequence[Found]) -> Iterator[str]:
        for hit, entry in zip(hits, self._stored(hits), strict=True):
            written = entry["value"].get("completion_tokens", 0) if isinstance(entry["value"], dict) else 0
            if written <= SHORT and hit.takes(entry) <= LONG_ALONE:
                yield hit.key

    def _smallest(self, hits: Sequence[Found]) -> Iterator[str]:
        """Of each kind and maker the entry that took the fewest tokens, as it says or by its length; if several ask about the
        same texts one about those of the most: one network's vectors of these serve all, and computing them takes long."""
        groups = _grouped(hits, lambda hit: (hit.kind, hit.maker.label))
        shared = Counter(texts for group in groups for texts in {hit.texts for hit in group if hit.texts})
        for group in groups:
            entries = self._entries(group[0].kind, group[0].maker)
            size = {hit.key: _size(entries[hit.key]) if hit.key in entries else math.inf for hit in group}
            ranks = ((-shared[hit.texts], hit.texts * (shared[hit.texts] > 1), size[hit.key], hit.key) for hit in group)
            yield min(ranks, key=lambda rank: (rank[2] == math.inf, rank))[-1]  # what is cached alone comes last


def _size(line: str | bytes) -> float:
    """The tokens that an entry took all in all, or its length where it does not say."""
    value = json.loads(line)["value"]
    return value.get("tokens_total", len(line)) if isinstance(value, dict) else len(line)


def _grouped(hits: Iterable[Found], by: Callable[[Found], Any]) -> list[list[Found]]:
    groups: dict[Any, list[Found]] = defaultdict(list)
    for hit in hits:
        groups[by(hit)].append(hit)
    return [*groups.values()]


def _blocks(hits: Sequence[Found]) -> dict[str, dict[str, list[str]]]:
    """Of each kind, keys by the block that they are drawn in."""
    kinds: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for group in _grouped(hits, lambda hit: hit.call):
        blocks, alone = kinds[group[0].kind], [hit.key for hit in group if not hit.texts]
        for hit in group:
            if hit.texts:
                blocks[digest(hit.kind, hit.maker.network, hit.texts)].append(hit.key)
        blocks |= {alone[start]: alone[start : start + BLOCK] for start in range(0, len(alone), BLOCK)}
    return kinds


def _parts(hits: list[Found]) -> list[list[Found]]:
    """What is begun or left whole: `BLOCK` of calls that can be computed together, of others what is about the same texts."""
    if isinstance(hits[0].compute, Joint):
        return [hits[start : start + BLOCK] for start in range(0, len(hits), BLOCK)]
    return _grouped(hits, lambda hit: hit.texts)


def _first(keys: Sequence[str]) -> dict[str, int]:
    """The first place of each key."""
    return {key: place for place, key in reversed(list(enumerate(keys)))}


def _of_share(names: Sequence[str], share: float, seed: int) -> list[str]:
    """So many of them, rounded up or down at random: each has the same chance, and a larger share has all of a smaller.

    >>> len(_of_share([f"block {i}" for i in range(250)], 0.02, seed=7)), _of_share(["one"], 1.0, seed=7)
    (5, ['one'])
    """
    chance = [int(digest(seed, *parts)[:8], 16) / 2**32 for parts in (("rounding", len(names)), *zip(names, strict=True))]
    ranked = sorted(zip(chance[1:], names, strict=True))
    return [name for _, name in ranked[: int(share * len(names) + chance[0])]]


# -- arrays ---------------------------------------------------------------------------------------------------------------


def each(make: Callable[[int], Any]) -> Compute:
    """How `fetch` computes values where each is made by itself, from the place of its question.

    >>> list(each(lambda place: 2 * place)([3, 5]))
    [(0, 6), (1, 10)]
    """
    return lambda places: ((position, make(place)) for position, place in enumerate(places))


def packed(array: Any, step: float = 1) -> dict[str, Any]:
    """Numbers of any shape as a value holds them: multiples of `step`, compressed, in text.

    >>> unpacked(packed([[0.25, -1.5]], step=1e-3)).tolist(), unpacked(packed([3, 4])).tolist()
    ([[0.25, -1.5]], [3, 4])
    """
    steps = np.rint(np.asarray(array, dtype=np.float64) / step).astype("<i4")
    planes = steps.reshape(-1).view(np.uint8).reshape(-1, 4).T.tobytes()  # like bytes beside each other: half the size
    return {"array": b64encode(zlib.compress(planes, 9)).decode(), "shape": list(steps.shape), "step": step}


def unpacked(value: Mapping[str, Any]) -> Any:
    """The array in a value; whole numbers where `step` is 1."""
    planes = np.frombuffer(zlib.decompress(b64decode(value["array"])), dtype=np.uint8).reshape(4, -1)
    steps = np.ascontiguousarray(planes.T).view("<i4").reshape(value["shape"])
    return steps if value["step"] == 1 else steps * value["step"]


# -- agreement ------------------------------------------------------------------------------------------------------------


def compare_values(old: Any, new: Any) -> tuple[bool, float | None]:
    """Whether a value that was computed anew is the one that was found, and by how much it is off where that is a number.

    Replies agree if their texts do, log-probabilities within `NEAR` nats a token, rankings if their ids do, other numbers
    within one part in a thousand, whatever precision each was computed in and however long it took.

    >>> compare_values({"text": "Ann", "seconds": 2}, {"text": "Ann", "seconds": 1})
    (True, None)
    >>> compare_values({"ids": [3, 1]}, {"ids": [3, 2]})
    (False, 0.5)
    >>> compare_values({"logprob": -6.0, "tokens": 3}, {"logprob": -6.03, "tokens": 3})
    (True, 0.01)
    """
    if isinstance(old, dict) and isinstance(new, dict):
        if "text" in old:
            calls = [value.get("tool_calls") or [] for value in (old, new)]
            return old["text"] == new.get("text") and calls[0] == calls[1], None
        if "logprob" in old:
            off = abs(old["logprob"] - new["logprob"]) / max(1, old["tokens"])
            return off <= NEAR and old["tokens"] == new["tokens"], round(off, 6)
        if "ids" in old:
            both = (Counter(old["ids"]) & Counter(new["ids"])).total() / len(old["ids"]) if old["ids"] else 1.0
            return old["ids"] == new["ids"], round(1 - both, 6)
    off = _apart(old, new)
    return off <= CLOSE, None if off == float("inf") else round(off, 6)


def _apart(old: Any, new: Any) -> float:
    """The largest difference of two numbers at the same place, in parts of the larger; infinite where the shapes differ. Of
    arrays of whole numbers, the share of places that differ."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        if "array" in old:
            first, second = unpacked(old), unpacked(new)
            if first.shape != second.shape:
                return float("inf")
            return float((first != second).mean() if old["step"] == 1 else abs(first - second).max(initial=0))
        return max((_apart(old[name], new[name]) for name in old if name not in TIMES), default=0.0)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return max(map(_apart, old, new), default=0.0)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new)):
        return abs(old - new) / max(1.0, abs(old), abs(new))
    return 0.0 if old == new else float("inf")


class Progress:
    """Says before a long computation how many entries it makes and about how long it takes, and now and then what is left.

    `seconds` is the estimate; below `LONG` nothing is said. The rest is foretold by what was done until then.

    >>> Progress("replies by gpt", 120, seconds=190.0).done()
    120 replies by gpt are not in the store: they are made now, in about 3 minutes
    """

    def __init__(self, what: str, count: int, seconds: float):
        self.what, self.count, self.made = what, count, 0
        self.begun = self.printed = time.monotonic()
        self.long = seconds > LONG
        if self.long:
            print(f"{count:,} {what} are not in the store: they are made now, in about {words(seconds)}", flush=True)

    def done(self) -> None:
        """One more is made."""
        self.made += 1
        now = time.monotonic()
        if self.long and now - self.printed > LONG and self.made < self.count:
            self.printed = now
            left = (now - self.begun) / self.made * (self.count - self.made)
            print(f"  {self.made:,} of {self.count:,} {self.what}, about {words(left)} left", flush=True)


# -- lines ----------------------------------------------------------------------------------------------------------------


def _body(kind: str, maker: Maker, value: Any, seconds: float, how: Mapping[str, Any] | None) -> bytes:
    try:
        entry = {"value": value} | ({"dtype": maker.dtype} if maker.dtype else {}) | ({"how": dict(how)} if how else {})
        entry |= {"seconds": round(seconds, 2)} if seconds >= 0.01 else {}
        text = json.dumps(entry, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")  # half of a surrogate pair goes back into its escape
    except (TypeError, ValueError) as error:
        raise InputError(f"an entry of kind {kind!r} is not what JSON holds: {error}") from error


def _sum(body: bytes) -> bytes:
    return digest(body.decode("utf-8", "surrogateescape"))[:8].encode()


def _entry(line: bytes) -> tuple[str, bytes] | None:
    """Key and body of an entry's line; None for one that is not whole."""
    match = LINE.match(line)
    body = b"{%s}" % match[3] if match else b""
    return (match[1].decode(), body) if match and _sum(body) == match[2] else None


def _line(key: str, body: bytes) -> bytes:
    return b'{"key": "%s", "sum": "%s", %s' % (key.encode(), _sum(body), body[1:])


def _about(path: Path, line: bytes) -> dict[str, Any] | None:
    """What the first line of a file says; None where it says nothing. Raises InputError for a file of another version."""
    try:
        about = json.loads(line)
        version = about["format"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    said = f"{path} is of format {version!r:.40}: expected {FORMAT!r}, which this version of the kit reads"
    require(version == FORMAT, said)
    return about if {"kind", "name", "maker"} <= about.keys() else None


def write_anew(path: Path, content: bytes, seen: bool = True) -> None:
    """Write a file anew, whole or not at all; `seen`: it is on the disk before it takes the old one's place.

    >>> write_anew(Path("results.json"), b"{}")                                              # doctest: +SKIP
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with scratch.open("wb") as file:
            file.write(content)
            if seen:
                file.flush()
                os.fsync(file.fileno())
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def _explained(path: Path, error: OSError) -> MindscapeError:
    full = storage_advice(error) == FREE_SPACE
    advice = FREE_SPACE if full else "see that it can be read and written, or leave out fill"
    return MindscapeError(f"cannot use the store {path}: {error.strerror}; {advice}; what was computed is in the cache")


# -- one for a process ------------------------------------------------------------------------------------------------------

_current: Store | None = None


def history() -> list[str]:
    """The cells of this notebook that have run, the one that runs as the last; [] outside of a notebook.

    >>> history()
    []
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return [] if shell is None else shell.user_ns.get("In", [])


def current() -> Store:
    """The store of this process: that of `use`, or one with the settings of the environment.

    MINDSCAPE_FILL=1 and MINDSCAPE_FRESH=1 are `fill` and `fresh`; see `mindscape.results.begin` for the parameters of
    notebooks.
    """
    global _current
    if _current is None:
        _current = Store(fill=bool(os.environ.get("MINDSCAPE_FILL")), fresh=bool(os.environ.get("MINDSCAPE_FRESH")))
    return _current


def watch(network: Any, label: str) -> Any:
    """The network, each pass of whose decoder is noted in the trail from now on: numbers may rest on it without an entry."""
    decoder = network.get_decoder() if hasattr(network, "get_decoder") else network
    if not getattr(decoder, "_watched", False):
        decoder._watched = True
        decoder.register_forward_pre_hook(lambda *_: current().note("pass", label, computed=1))
    return network


def use(store: Store | None) -> None:
    """Make a store that of this process; None for a new one when it is next asked for."""
    global _current
    _current = store
