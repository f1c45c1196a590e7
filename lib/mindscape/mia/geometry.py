"""Where an embedder puts queries, and what goes on inside it as it reads one (MiA-RAG, sections 6.2 and 6.3, Figures 4 to 6).

*Angles.* A book's chunk vectors span a subspace; its r strongest directions come out of one SVD. A query q and its projection
P_r q enclose the angle

    theta_r(q) = arccos(|P_r q| / |q|),

the one principal angle between a line and a subspace. The paper gives angles and neither r nor a centre. Here r is any rank,
or follows from the share of variance that the directions hold, and a centre may be taken off first.

*Layers.* After each layer the residual stream holds what the model has made of a text so far. The decoder's last norm is put
on it, Eq. 11 is applied to a query's three states, and chunks are ranked as if the model ended there. Only the states at the
marks are kept, in the one pass that also measures how the last token's attention is shared out.

*Two curves over the layers.* Do two of them rise in the same layers? Neighbouring layers are alike, so layers cannot be
exchanged one by one: see `shift_test` and `pairing_test`.

Taught in notebook 13_mia_emb_geometry. Nothing here trains or ranks for use; that is `mindscape.mia.embedding`.
"""

import re
import unicodedata
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap
from typing import Any

import numpy as np
import torch
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from mindscape import plots, store
from mindscape.attention import Segment, segment_mass_batch, segment_mass_behind
from mindscape.cache import digest
from mindscape.errors import InputError, require
from mindscape.metrics import recall_fraction_at_k
from mindscape.mia.embedding import MiaEmbedder, Reading, Written, enriched, neighbours, unit_length, unit_readings
from mindscape.text import Tokenizer

PARTS = ("summary", "query", "first", "rest")  # where attention goes; "first" is the first token alone


# Angles -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Subspace:
    """What a book's vectors span: `directions` (ranks, dim), orthonormal, the strongest first.

    `explained[r - 1]` is the share of the variance about `centre` (dim,) that the first r directions hold.
    """

    directions: np.ndarray
    explained: np.ndarray
    centre: np.ndarray

    def rank(self, share: float) -> int:
        """The least rank that holds a share of the variance, more than 0 and at most 1.

        >>> space = subspace(np.diag([3.0, 2.0, 1.0]))          # 9, 4 and 1 of 14
        >>> [space.rank(share) for share in (0.1, 9 / 14, 0.65, 13 / 14, 0.99, 1)]
        [1, 1, 2, 2, 3, 3]
        """
        return min(int(np.searchsorted(self.explained, share - 1e-12)) + 1, len(self.explained))


def subspace(vectors: ArrayLike, centre: ArrayLike | None = None) -> Subspace:
    """The subspace that vectors, (n, dim), span about a centre, which is the origin by default. One SVD.

    Directions that hold nothing but rounding are left out, so there are at most min(n, dim) of them.

    >>> space = subspace([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> space.explained.tolist(), space.directions.shape
    ([0.8, 1.0], (2, 3))
    """
    vectors = np.asarray(vectors, dtype=float)
    centre = np.zeros(vectors.shape[1]) if centre is None else np.asarray(centre, dtype=float)
    _, strengths, directions = np.linalg.svd(vectors - centre, full_matrices=False)
    kept = strengths > strengths[0] * max(vectors.shape) * np.finfo(float).eps
    held = strengths[kept] ** 2
    return Subspace(directions[kept], held.cumsum() / held.sum(), centre)


def angles(space: Subspace, vectors: ArrayLike) -> np.ndarray:
    """The angle between each vector and the subspace at every rank, in degrees: (vectors, ranks), rank 1 first.

    With more directions it can only get smaller, and at full rank it is 0 for each vector that the subspace was made of. It is
    taken from the lengths of both legs, P_r q and q - P_r q, since arccos loses half of its digits near 0. Raises InputError
    for a vector that is the centre itself.

    >>> space = subspace([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> angles(space, [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]).round(6).tolist()
    [[45.0, 0.0], [90.0, 90.0]]
    >>> f"{np.radians(angles(subspace([[1.0, 0.0]]), [[1.0, 1e-7]]))[0, 0]:.9e}"
    '1.000000000e-07'
    """
    vectors = np.asarray(vectors, dtype=float) - space.centre
    lengths = np.linalg.norm(vectors, axis=1)
    require(lengths.all(), f"vector {int(np.argmin(lengths))} has no direction: it is the centre")
    vectors = vectors / lengths[:, None]
    along = vectors @ space.directions.T
    outside = ((vectors - along @ space.directions) ** 2).sum(1, keepdims=True)
    held = along**2
    later = held[:, :0:-1].cumsum(1)[:, ::-1]  # of the directions beyond each rank but the last
    missed = outside + np.pad(later, ((0, 0), (0, 1)))
    return np.degrees(np.arctan2(np.sqrt(missed), np.sqrt(held.cumsum(1))))


# Layers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Inside:
    """An embedder's layers while it reads queries; the first is what its first layer has made.

    `vectors` (layers, queries, dim): the queries' vectors, of length 1, as if the model ended after that layer; the last are
    the embedder's own. `shares` (layers, queries, 4): how the last token's attention is shared out over `PARTS`, the mean
    of the heads.
    """

    vectors: np.ndarray
    shares: np.ndarray


def unit_layers(embedder: MiaEmbedder, texts: Sequence[str]) -> np.ndarray:
    """Units as each layer has them, as if the model ended there: float32 (layers, texts, dim), of length 1.

    The last are those of `embedder.units`. One pass a text, of which only the last token's states are kept. Raises
    InputError for a model whose layers cannot be told.

    >>> unit_layers(embedder, ["Ann left."]).shape                                       # doctest: +SKIP
    (30, 1, 576)
    """
    readings, at = unit_readings(texts, embedder.tokenizer, embedder.language, embedder.batch_tokens)
    return unit_length(_layers(embedder, readings)[:, at])


def query_layers(embedder: MiaEmbedder, questions: Sequence[str], summary: str | None = None) -> Inside:
    """Queries for chunks of one text as each layer has them, and where the last token looks, out of the same pass.

    A summary is left out where the embedder leaves it out. Words that introduce the question or the summary count with it;
    without a summary its share is 0. Raises InputError without questions, or for a model whose layers cannot be told.

    >>> inside = query_layers(embedder, ["Who has the lamp?"], "Ann is the smith.")      # doctest: +SKIP
    >>> inside.vectors.shape, inside.shares.shape                                        # doctest: +SKIP
    ((30, 1, 576), (30, 1, 4))
    """
    require(questions, "no question was given: expected at least one")
    form, given = embedder.form, summary if embedder.summaries else None
    h, mass = _read(embedder, embedder.written(questions, given), _asked)
    h = h.float()
    if form.order == "summary_first" and given is not None:  # then h_q comes from a reading without summary
        h[:, :, 0] = _layers(embedder, [Reading.of_ends(query.to_q for query in embedder.written(questions, None))])
    vectors = [enriched(layer, form.delta)["chunk"] for layer in h]
    query, first = mass[..., 0], mass[..., 1]
    of_summary = mass[..., 2] if given is not None else torch.zeros_like(query)
    parts = torch.stack([of_summary, query, first, 1 - of_summary - query - first], -1)
    return Inside(unit_length(torch.stack(vectors)), parts.cpu().numpy())


def recall_by_layer(queries: np.ndarray, units: np.ndarray, right: Sequence[Sequence[int]], k: int = 10) -> np.ndarray:
    """The share of each question's right units among its first k, by layer: (layers, questions); equal scores by index.

    `queries` (layers, questions, dim). `units` (layers, units, dim) are compared layer by layer, as in a model that ends
    there; (units, dim) are the same in all. `right`: unit numbers of each question. Raises InputError where nothing is right.

    >>> queries = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])         # one question, two layers
    >>> recall_by_layer(queries, np.array([[1.0, 0.0], [0.0, 1.0]]), [[1]], k=1).tolist()
    [[0.0], [1.0]]
    """
    return recall_in(_nearest(queries, units), right, k)


def recall_in(order: np.ndarray, right: Sequence[Sequence[int]], k: int = 10) -> np.ndarray:
    """The same from the units' numbers, the nearest first: `order` (layers, questions, k or more).

    >>> recall_in(np.array([[[1, 0]], [[0, 1]]]), [[1]], k=1).tolist()
    [[1.0], [0.0]]
    """
    rows = (zip(layer, right, strict=True) for layer in np.asarray(order)[..., :k].tolist())
    return np.array([[recall_fraction_at_k(row, evidence, k) for row, evidence in pairs] for pairs in rows])


def _nearest(queries: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Numbers of units by layer and query, (layers, queries, units), the nearest first, equal scores by index."""
    return np.argsort(-(queries @ np.swapaxes(units, -1, -2)), axis=-1, kind="stable")


@dataclass(frozen=True, eq=False)
class Seen:
    """What notebook 13 asks about queries on one text; small enough to be kept.

    `units` (units, dim) and `vectors` (queries, dim) are those of the last layer; `shares` (layers, queries, 4) as in `Inside`.
    The FIRST units nearest to each layer's query, the nearest first, (layers, queries, FIRST at most): `same` by the units'
    states in that layer, `last` by their vectors at the last one.
    """

    units: np.ndarray
    vectors: np.ndarray
    shares: np.ndarray
    same: np.ndarray
    last: np.ndarray


FIRST = 10  # units of each ranking that are kept
Told = tuple[Sequence[str], Sequence[str], Mapping[str, str | None]]  # a text's units, questions, and summaries by name


def seen(embedder: MiaEmbedder, texts: Sequence[Told]) -> dict[str, list[Seen]]:
    """What an embedder makes of queries with each kind of summary: by its name, one `Seen` a text.

    In the store, a text each (kind "layers"): the states of all layers take minutes, and what is asked of them is small.
    Vectors and shares are in millionths.
    """
    keys = [{"units": digest(list(part)), "questions": list(posed), "summaries": dict(summed)} for part, posed, summed in texts]
    look = store.each(lambda place: _look(embedder, *texts[place]))
    by_summary: dict[str, list[Seen]] = {name: [] for name in texts[0][2]}
    for value in store.current().fetch("layers", embedder.maker, keys, look, seconds=40):
        units = store.unpacked(value["units"]).astype(np.float32)
        for name, rows in by_summary.items():
            parts = {part: store.unpacked(array) for part, array in value[name].items()}
            rows.append(Seen(units, parts["vectors"].astype(np.float32), parts["shares"], parts["same"], parts["last"]))
    return by_summary


def _look(
    embedder: MiaEmbedder, units: Sequence[str], questions: Sequence[str], summaries: Mapping[str, str | None]
) -> dict[str, Any]:
    """One text's entry of the store."""
    states = unit_layers(embedder, units)
    value: dict[str, Any] = {"units": store.packed(states[-1], 1e-6)}
    for name, summary in summaries.items():
        inside = query_layers(embedder, questions, summary)
        same, last = (_nearest(inside.vectors, vectors)[..., :FIRST] for vectors in (states, states[-1]))
        value[name] = {"vectors": store.packed(inside.vectors[-1], 1e-6), "shares": store.packed(inside.shares, 1e-6)}
        value[name] |= {"same": store.packed(same), "last": store.packed(last)}
    return value


def attended(embedder: MiaEmbedder, question: str, summary: str) -> tuple[list[str], np.ndarray]:
    """A summary's tokens and the last token's attention to each, by layer: float32 (layers, tokens), the mean of the heads.

    The tokens make up the summary, letter by letter; those that are parts of one character are one. Raises InputError for an
    empty summary.

    >>> tokens, weights = attended(embedder, "Who has the lamp?", "Ann is the smith.")   # doctest: +SKIP
    >>> "".join(tokens), weights.shape                                                   # doctest: +SKIP
    ('Ann is the smith.', (30, 5))
    """
    tokens, weights = attended_together(embedder, [question], summary)
    return tokens, weights[:, 0]


def attended_together(embedder: MiaEmbedder, questions: Sequence[str], summary: str) -> tuple[list[str], np.ndarray]:
    """The same for several questions on a text, (layers, questions, tokens): a summary that stands before them is read once.

    Raises InputError for an empty summary, or without questions.
    """
    require(summary.strip(), "the summary is empty: expected some text")
    require(questions, "no question was given: expected at least one")
    tokens, segments = _tokens(summary, embedder.tokenizer, embedder.form.texts[2][embedder.language])

    def places(query: Written) -> list[Segment]:
        start = query.spans["summary"][0]
        return [(start + first, start + last) for first, last in segments]

    return tokens, _read(embedder, embedder.written(questions, summary), places)[1].cpu().numpy()


def _tokens(summary: str, tokenizer: Tokenizer, shown: str) -> tuple[list[str], list[Segment]]:
    """A summary cut into its tokens, and the range of each from the summary's first introducing word on; it is `shown` so."""
    text = shown.format(summary)
    done = len(text) - len(summary)
    how: Any = {"add_special_tokens": False, "split_special_tokens": True, "return_offsets_mapping": True, "verbose": False}
    offsets = tokenizer(text, **how)["offset_mapping"]
    tokens: list[str] = []
    segments: list[Segment] = []
    for i, (_, end) in enumerate(offsets):
        if end > done:
            tokens.append(text[done:end])
            segments.append((i, i + 1))
            done = end
        elif tokens:  # another part of the same character
            segments[-1] = (segments[-1][0], i + 1)
    tokens[-1] += text[done:]
    return tokens, segments


def _asked(written: Written) -> list[Segment]:
    """The segments whose mass is asked for: query, first token, and the summary where there is one."""
    start, end = summary = written.spans["summary"]
    return [written.spans["query"], (0, 1), *([summary] if start < end else [])]


def _read(
    embedder: MiaEmbedder, written: Sequence[Written], segments: Callable[[Written], list[Segment]]
) -> tuple[Tensor, Tensor]:
    """Queries' states at their marks (layers, queries, 3, dim), and the mass of each one's segments for the last mark
    (layers, queries, segments)."""
    model, decoder, states, shares = embedder.model, embedder.model.get_decoder(), [], []
    for group in neighbours(written, embedder.batch_tokens):
        reading = Reading.of_queries(group)
        where = [[query.marks["c"]] for query in group], [segments(query) for query in group]
        with _kept(decoder, reading.inputs(decoder)[1]) as kept:
            if reading.head:
                masses = segment_mass_behind(model, reading.head, reading.rows, *where, average_heads=True)
            else:
                rows = [torch.tensor(row) for row in reading.rows]
                ids, mask = (pad_sequence(tensors, batch_first=True) for tensors in (rows, list(map(torch.ones_like, rows))))
                masses = segment_mass_batch(model, ids, mask, *where, average_heads=True)
        states.append(torch.stack(kept).unflatten(1, (-1, 3)))
        shares.append(torch.stack(masses, 1)[:, :, 0])
    return torch.cat(states, 1), torch.cat(shares, 1)


def _layers(embedder: MiaEmbedder, readings: Sequence[Reading]) -> Tensor:
    """Each layer's states at the places of readings, (layers, places, dim)."""
    decoder, states = embedder.model.get_decoder(), []
    for reading in readings:
        inputs, places = reading.inputs(decoder)
        with torch.no_grad(), _kept(decoder, places) as kept:
            decoder(**inputs, use_cache=False)
        states.append(torch.stack(kept))
    return torch.cat(states, 1)


@contextmanager
def _kept(decoder: nn.Module, at: Tensor) -> Iterator[list[Tensor]]:
    """While the decoder reads: each layer's states at numbered places of the batch, behind the last norm, (places, dim)."""
    layers, norm = getattr(decoder, "layers", None), getattr(decoder, "norm", None)
    if layers is None or norm is None:
        raise InputError(f"{type(decoder).__name__}: expected a decoder with `layers` and a `norm` behind them")
    kept: list[Tensor] = []

    def keep(module: nn.Module, given: tuple, made: Tensor | tuple) -> None:
        states = made if isinstance(made, Tensor) else made[0]
        kept.append(norm(states.flatten(0, 1)[at]))

    hooks = [layer.register_forward_hook(keep) for layer in layers]
    try:
        yield kept
    finally:
        for hook in hooks:
            hook.remove()


# Two curves over the layers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tested:
    """A correlation, the share `p` of the null's correlations that are as large or larger, and how many are exchanged, `n`."""

    value: float
    p: float
    n: int


def shift_test(a: ArrayLike, b: ArrayLike) -> Tested:
    """Pearson's correlation of two curves over the layers, (layers,), against one of them shifted around by 0, 1, 2, … layers.

    The null: each curve has its shape, and where along the layers it has it is independent of the other. Exchanging single
    layers would break the shape: two smooth curves that have nothing to do with each other would look related. All questions
    have run through the same layers, so their mean curve is one draw and not many: the smallest p is 1 / layers.

    A shift joins the last layer to the first. Curves that only rise correlate wherever they do, shifted or not; whether they
    rise in the *same* layers is asked by handing in their rises, `np.diff(a)` and `np.diff(b)`. Raises InputError for fewer
    than three layers, lengths that differ, and a curve that is constant or not finite.

    >>> shift_test([0, 0, 1, 0, 0, 0], [0, 0, 2, 0, 0, 0])                       # the largest of six
    Tested(value=1.0, p=0.16666666666666666, n=6)
    """
    a, b = (_standard(curve - curve.mean()) for curve in _curves(a, b))
    shifted = np.array([a @ np.roll(b, by) for by in range(len(b))])
    return Tested(float(shifted[0]), float((shifted >= shifted[0] - 1e-9).mean()), len(b))


def pairing_test(
    a: ArrayLike, b: ArrayLike, groups: Sequence[Hashable] | None = None, *, resamples: int = 10_000, seed: int = 0
) -> Tested:
    """Do the curves of one question go together more than those of two? `a`, `b`: (questions, layers).

    What all questions of a group (a book) have in common at a layer is taken off, and what a question has in common at all
    layers: what is left is by how much more *this* question rises *here*. The correlation of what is left is held against that
    with the questions of `b` exchanged within their groups. Curves stay whole, so that likeness of neighbouring layers is in
    the null as well; and the layers' common profile, which `shift_test` is about, has no part in it. Raises InputError as
    `shift_test`, and where nothing is left.

    >>> rises = np.eye(6)                                        # question i rises at layer i, in both
    >>> pairing_test(rises, rises, resamples=999).p
    0.002
    """
    both = _curves(a, b)
    groups = [0] * len(both[0]) if groups is None else list(groups)
    members = [np.array([i for i, label in enumerate(groups) if label == group]) for group in dict.fromkeys(groups)]
    both = both - both.mean(-1, keepdims=True)
    for rows in members:
        both[:, rows] -= both[:, rows].mean(1, keepdims=True)
    a, b = map(_standard, both)
    rng, null = np.random.default_rng(seed), np.zeros(resamples)
    for rows in members:
        products = a[rows] @ b[rows].T
        order = rng.permuted(np.tile(np.arange(len(rows)), (resamples, 1)), axis=1)
        null += products[np.arange(len(rows)), order].sum(1)
    value = float((a * b).sum())
    return Tested(value, float((1 + (null >= value - 1e-9).sum()) / (resamples + 1)), len(a))


def _curves(*curves: ArrayLike) -> np.ndarray:
    both = np.asarray(curves, dtype=float)
    require(both.shape[-1] >= 3, f"curves of {both.shape[-1]} layers: expected at least 3 layers")
    require(np.isfinite(both).all(), "a curve holds something that is not a finite number")
    return both


def _standard(curves: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(curves)
    require(length > 1e-12, "a curve is constant: its correlation is not defined")
    return curves / length


# A heat map of tokens ---------------------------------------------------------------------------------------------

COLOUR = plots.PALETTE["red"]
DEEPEST = 0.75  # opacity behind the heaviest token: its letters can still be read
COLUMNS = 100  # characters in a line of the figure


def heat_figure(tokens: Sequence[str], weights: ArrayLike, title: str = "") -> Figure:
    """A text whose tokens are coloured by weight, the heaviest deepest, with its scale. Nothing in it is read as mathematics.

    Letters are those of matplotlib's monospaced font, which has no Chinese ones: set `font.monospace` to one that has.
    """
    most = max(np.max(weights), 1e-12)
    opacity = DEEPEST * np.asarray(weights, dtype=float) / most
    placed, rows = _laid_out(tokens, COLUMNS)
    heading = wrap(title, 76)
    figure, ax = plots.subplots(height=0.19 * rows + 0.9 + 0.25 * len(heading))
    ax.set(xlim=(0, COLUMNS), ylim=(rows, 0), xticks=[], yticks=[])
    ax.set_axis_off()
    if heading:
        ax.set_title("\n".join(heading), fontsize=10, parse_math=False)
    for i, row, column, text in placed:
        ax.add_patch(Rectangle((column, row), _width(text), 0.94, color=COLOUR, alpha=opacity[i], linewidth=0))
        ax.text(column, row + 0.47, text, parse_math=False, family="monospace", verticalalignment="center")
    shades = LinearSegmentedColormap.from_list("shades", [to_rgba(COLOUR, 0), to_rgba(COLOUR, DEEPEST)])
    scale = ScalarMappable(Normalize(0, most), shades)
    figure.colorbar(scale, ax=ax, location="bottom", label="attention", shrink=0.5, aspect=30)
    figure.draw_without_rendering()  # now the width of a column is known, and a letter is to fill it
    letter = TextPath((0, 0), "m" * COLUMNS, size=1, prop=FontProperties(family="monospace")).get_extents().width
    points = 72 * ax.get_window_extent().width / figure.dpi / letter
    for label in ax.texts:
        label.set_fontsize(points)
    return figure


def _laid_out(tokens: Sequence[str], columns: int) -> tuple[list[tuple[int, int, int, str]], int]:
    """Where tokens stand in lines of so many columns, broken between words: (token, row, column, text); how many lines."""
    text = "".join(c if c.isprintable() or c == "\n" else " " for c in "".join(tokens))
    owner = [i for i, token in enumerate(tokens) for _ in token]
    wide = re.escape("".join({c for c in text if _width(c) == 2})) or "\n"
    placed, row, column = [], 0, 0
    for word in re.finditer(rf"\n|[{wide}]| ?[^ \n{wide}]{{1,{columns - 1}}}| ", text):
        if word[0] == "\n" or (column and column + _width(word[0]) > columns):
            row, column = row + 1, 0
        start = word.start() + (not column and word[0][0].isspace())  # no blank begins a line
        for i, places in groupby(range(start, word.end()), key=owner.__getitem__):
            piece = "".join(text[place] for place in places)
            placed.append((i, row, column, piece))
            column += _width(piece)
    return placed, row + 1


def _width(text: str) -> int:
    """Columns that a text takes: two for a wide character, as Chinese ones are."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
