"""What a number rests on: which entries of the store, found or computed, and by whom.

The store notes what each cell of a notebook asked for. A number rests on what its own cell asked for, and on what those cells
did that made a name which it uses, and so on backwards: the cells are read as Python, nothing is declared. That is a little
more than the truth (two things in one cell are taken for one). It is less where a cell changes a thing under another name than
the one that is used later: the rows of a table one by one, or what it hands to a function. Outside of a notebook a number rests
on all that was asked for.

The same of a run that takes days: a file of JSON lines that it adds to, of which the first says what run it is, each other one
is a row of it. A row is in the file whole or not at all, also after a kill: what a kill left of a last line does not count, and
is cut off when the run goes on. A file of another run, or of something else, is refused and left as it is.

    rows = opened("build/rows.jsonl", {"llm": "embedded"}, dict)   # those that are there; the file is begun where there is none
    append("build/rows.jsonl", [{"n": 1}])

Two processes must not write to one file. Taught in notebook 00_start_here.
"""

import ast
import json
import os
import symtable
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, TypeVar

from mindscape import store
from mindscape.errors import InputError, MindscapeError, require
from mindscape.store import Access, Store, history

T = TypeVar("T")

# -- files of rows -----------------------------------------------------------------------------------------------------


def lines(path: str | Path) -> list[str]:
    """The lines of a text file. Line feeds alone end one: a text within JSON may hold the other ends that Unicode knows.

    Raises OSError where it cannot be read, UnicodeDecodeError where it is not UTF-8.

    >>> lines("rows.jsonl")                                                                  # doctest: +SKIP
    ['{"text": "磨坊主"}']
    """
    held = Path(path).read_text(encoding="utf-8").split("\n")
    return held if held[-1] else held[:-1]


def whole_lines(path: str | Path) -> list[str]:
    """The lines of a file that one is appended to at a time; what a kill left of a last one is cut off in the file, too.

    Raises OSError where it cannot be read.

    >>> whole_lines("log.jsonl")                                                             # doctest: +SKIP
    ['{"step": 0}', '{"step": 1}']
    """
    path = Path(path)
    held = path.read_bytes()
    whole = held[: held.rfind(b"\n") + 1]
    if whole != held:
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return whole.decode("utf-8").split("\n")[:-1]


def opened(path: str | Path, about: Mapping, make: Callable[[dict], T], *, noun: str = "a row", form: str = "") -> list[T]:
    """What `make` makes of the rows of a file that `about` begins, to go on with; the file is begun where there is none yet.

    `noun` names a row in messages; `form` is what the first line must have as its format. Raises InputError, and leaves the
    file as it is: for one that cannot be used; with the line, where nothing can be made of it (`make` raises ValueError,
    KeyError or TypeError); for a file of another run, with what it differs in.

    >>> opened("build/rows.jsonl", {"llm": "embedded"}, dict)                                # doctest: +SKIP
    []
    """
    path, about = Path(path), json.loads(json.dumps(dict(about)))
    try:
        held = path.read_bytes() if path.exists() else b""
        if b"\n" not in held and _line(about).startswith(held):  # nothing yet, or a first line that was being written
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_line(about))
            return []
        first, rows = read_rows(path, make, noun=noun, form=form)
        for key in {**about, **first}:
            difference = f"{key} is {first.get(key)!r:.80}, expected {about.get(key)!r:.80}"
            same = first.get(key) == about.get(key)
            require(same, f"{path} holds another run: {difference}; name another file, or remove it")
        whole_lines(path)  # cuts off what follows the last one, now that the file is known to be ours
    except OSError as error:
        raise InputError(f"cannot use {path}: {error.strerror}: expected a file of this kit, or none") from error
    return rows


def read_rows(
    path: str | Path, make: Callable[[dict], Any] = dict, *, noun: str = "a row", form: str = ""
) -> tuple[dict, list]:
    """What the first whole line says, and what `make` makes of each other one; the file is left as it is.

    Errors as in `opened`, and OSError where it cannot be read.

    >>> about, rows = read_rows("build/rows.jsonl")                                          # doctest: +SKIP
    """
    held, rows = Path(path).read_bytes().split(b"\n")[:-1], []
    store.current().read_file(path)
    require(held, f"{path} holds no whole line: expected one on the run, and then {noun} each")
    for number, line in enumerate(held, start=1):
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"no object: {row!r:.60}")
            if number == 1 and form and row["format"] != form:
                raise ValueError(f"the format is {row['format']!r:.60}: expected {form!r}")
            rows.append(make(row) if number > 1 else row)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            what = "a line on the run" if number == 1 else noun
            raise InputError(f"{path}, line {number}: expected {what}: {error!r:.200}") from error
    return rows[0], rows[1:]


def append(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add rows, and see them on the disk, in the place of what a kill left of a last line.

    Raises MindscapeError where that fails; a part of a line does no harm.

    >>> append("build/rows.jsonl", [{"n": 1}])                                               # doctest: +SKIP
    """
    try:
        with Path(path).open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    whole_lines(path)
            file.write(b"".join(map(_line, rows)))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise MindscapeError(f"cannot write {path}: {error.strerror}; what was there before still is") from error


def _line(row: Mapping[str, Any]) -> bytes:
    # Half of a surrogate pair, which a model can write in JSON, goes back into the escape that it came from.
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


# -- the cells behind a number -----------------------------------------------------------------------------------------

READS = """
    chat complete score count_tokens estimate queries units encode prompt parse render first spent record
    items keys values get index count copy join split strip splitlines format lower upper startswith endswith replace
    mean sum max min std any all round tolist astype reshape head groupby merge agg reset_index set_index to_html
"""
RUN = ("time", "timeit", "prun", "capture")  # magics that run the Python behind them
LEAVE = frozenset(READS.split())  # methods that leave what they are called on as it is; any other may change it


def behind(store: Store) -> dict[str, dict[str, int]]:
    """What a number that is recorded now rests on: by kind and maker, how many entries were shipped, cached, computed.

    >>> store = Store()
    >>> store.note("reply", "reader-1f", shipped=2); behind(store)
    {'reply reader-1f': {'shipped': 2}}
    """
    sources = tuple(history())
    cells = cells_behind(sources, len(sources) - 1) if sources else set()
    return totals([access for access in store.trail if not sources or access.cell in cells])


def cells_behind(sources: tuple[str, ...], last: int) -> set[int]:
    """The cells that a cell rests on, itself among them: those that made, or changed, a name that it uses, and theirs.

    >>> cells = ("", "ask = 1", "found = ask + 1", "rows = {}; rows['a'] = found", "other = 3", "rows = {}; rows['b'] = other")
    >>> sorted(cells_behind(cells, 3)), sorted(cells_behind(cells, 5))
    ([1, 2, 3], [4, 5])
    """
    seen: set[tuple[int, str]] = set()
    modules = frozenset().union(*(_names(source).imported for source in sources))
    cells, open_ = {last}, [(last, name) for name in _names(sources[last]).used]
    while open_:
        at, name = open_.pop()
        for cell in range(at - 1, -1, -1):
            names = _names(sources[cell])
            if name in names.set or name in names.made or (name in names.called and name not in modules):
                if (cell, name) in seen or (name in names.imported and name in names.made):  # an import alone links no cells
                    break
                seen.add((cell, name))
                if cell not in cells:
                    cells.add(cell)
                    open_ += [(cell, other) for other in names.used]
                if name in names.made:
                    break
    return cells


class _Names(NamedTuple):
    """The names that a cell uses from before it, those that it sets or sets a part of, those whose methods it calls, which may
    change them, those that it makes anew, and those that it imports."""

    used: frozenset[str] = frozenset()
    set: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()


@lru_cache(maxsize=4096)
def _names(source: str) -> _Names:
    try:
        tree = _without_magics(ast.parse(source))
        used, made = _flow(tree.body, frozenset())
    except SyntaxError:
        return _Names()
    changed, called, imported = set(), set(), set()
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.comprehension) for part in ast.walk(node.target)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            changed |= _base(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in LEAVE:
            called |= _base(node.func)  # rows.append(...) changes rows
        elif _is_plain(node) and id(node) not in inner:
            changed.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported |= _made(node)
    return _Names(*map(frozenset, (used, changed, called, made, imported)))


def _without_magics(tree: ast.Module) -> ast.Module:
    """The cell with the Python behind `%time` and its like, before the call that IPython has made of them."""
    body: list[ast.stmt] = []
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("get_ipython().run_"):
                name, *_, code = map(ast.literal_eval, node.args)
                body += ast.parse(code).body if name in RUN else []
        body.append(statement)
    return ast.Module(body, [])


def _flow(statements: Sequence[ast.stmt], before: Set[str]) -> tuple[set[str], set[str]]:
    """The names that statements use from before them, and those that they make, with `before`: loops are taken to run, of two
    branches neither."""
    used, made = set(), set(before)

    def through(body: Sequence[ast.stmt]) -> set[str]:
        inside, after = _flow(body, made)
        used.update(inside)
        return after

    for node in statements:
        if isinstance(node, ast.For | ast.With):
            heads = [(node.iter, node.target)] if isinstance(node, ast.For) else [(ctx.context_expr, ctx) for ctx in node.items]
            for source, target in heads:
                used |= _referenced(ast.unparse(source)) - made
                made |= _targets(target)
            made |= through(node.body)
            through(getattr(node, "orelse", []))
        elif isinstance(node, ast.If):
            used |= _referenced(ast.unparse(node.test)) - made
            through(node.body)
            through(node.orelse)
        else:
            used |= _referenced(ast.unparse(node)) - made
            made |= _made(node)
    return used, made


def _made(node: ast.stmt) -> set[str]:
    """The names that a statement makes anew."""
    if isinstance(node, ast.Assign):
        return {name for target in node.targets for name in _targets(target)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return {node.target.id}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return set()


def _targets(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if _is_plain(part)}


def _referenced(source: str) -> set[str]:
    """The names of the cell's own, or of cells before, that a statement refers to, also from inside of functions."""
    table = symtable.symtable(source, "cell", "exec")
    names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    inside = list(table.get_children())
    for inner in inside:
        inside += inner.get_children()
        names |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global() and symbol.is_referenced()}
    return names


def _is_plain(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _base(node: ast.AST) -> set[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def totals(trail: Iterable[Access]) -> dict[str, dict[str, int]]:
    """By kind and maker, how many entries were shipped, cached, computed.

    >>> totals([Access(0, "reply", "reader-1f", shipped=2), Access(3, "reply", "reader-1f", shipped=1, cached=1)])
    {'reply reader-1f': {'shipped': 3, 'cached': 1}}
    """
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for access in trail:
        sums[f"{access.kind} {access.maker}"].update(shipped=access.shipped, cached=access.cached, computed=access.computed)
    return {name: dict(+counts) for name, counts in sorted(sums.items())}


def source_name(source: dict[str, dict[str, int]], table: dict[str, dict[str, dict[str, int]]]) -> str:
    """The short name that a source has in the table, which it is added to: s1, s2, ...; "no model" for an empty one.

    >>> first, second, table = {"reply reader-1f": {"shipped": 2}}, {"reply reader-1f": {"shipped": 3}}, {}
    >>> [source_name(source, table) for source in (first, {}, second, first)], table == {"s1": first, "s2": second}
    (['s1', 'no model', 's2', 's1'], True)
    """
    if not source:
        return "no model"
    name = next((name for name, known in table.items() if known == source), f"s{len(table) + 1}")
    table[name] = source
    return name
