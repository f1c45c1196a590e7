"""One visual language for the whole course.

Colours are Okabe and Ito's, which readers with any colour vision can tell apart; each also has a marker of its own, so
that no figure rests on colour alone. The rest of the look is seaborn's. Figures are drawn at the width of a page's column.
Taught in notebook 00; saving a figure with its alt text is `mindscape.results.figure`. An *interval* has a `value`, a `low`
and a `high` (`mindscape.metrics`).
"""

import matplotlib
import numpy as np
import pandas as pd
import seaborn
from matplotlib import pyplot

INK, GREY, PALE = "#222222", "#8a8a8a", "#d9d9d9"
PALETTE = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "red": "#D55E00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
}
MARKERS = dict(zip(PALETTE, "osD^vPX", strict=True))
WIDTH = 7.2  # inches: a text column
SEQUENTIAL = "cividis"  # for heat maps


def use() -> None:
    """Set seaborn's theme to the course's look, for every figure drawn from here on.

    >>> use()
    >>> matplotlib.rcParams["axes.spines.top"], matplotlib.rcParams["image.cmap"]
    (False, 'cividis')
    """
    ours = {
        "figure.figsize": (WIDTH, 3.6),
        "savefig.dpi": 200,
        "figure.constrained_layout.use": True,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GREY,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": PALE,
        "lines.linewidth": 1.6,
        "lines.markersize": 6,
        "legend.frameon": False,
        "image.cmap": SEQUENTIAL,
        "axes.prop_cycle": matplotlib.rcsetup.cycler(color=list(PALETTE.values()), marker=list(MARKERS.values())),
    }
    # A font that comes with matplotlib: the same figure on every machine.
    seaborn.set_theme(context="paper", style="whitegrid", font="DejaVu Sans", font_scale=1.05, rc=ours)


def heat(ax, values, rows, columns, texts=None, most: float = 1, slant: float = 0, **options):
    """A heat map of values (rows, columns) from 0 to `most`, with `texts` written into its cells and the columns' labels at
    `slant` degrees; options are seaborn's.

    >>> fig, ax = subplots(height=2)
    >>> [label.get_text() for label in heat(ax, [[0, 1]], ["question"], ["first layer", "last"]).get_xticklabels()]
    ['first layer', 'last']
    """
    shown = pd.DataFrame(values, index=list(rows), columns=list(columns))
    written = {"annot": texts, "fmt": ""} if texts is not None else {}
    seaborn.heatmap(shown, ax=ax, vmin=0, vmax=most, cmap=SEQUENTIAL, **{"cbar": False} | written | options)
    ax.tick_params(axis="y", rotation=0)
    if slant:
        pyplot.setp(ax.get_xticklabels(), rotation=slant, ha="right")
    return ax


def look(colour: str, **more) -> dict:
    """A colour and its marker, as a line of matplotlib takes them.

    >>> look("blue", markersize=3)
    {'color': '#0072B2', 'marker': 'o', 'markersize': 3}
    """
    return {"color": PALETTE[colour], "marker": MARKERS[colour], **more}


def subplots(rows: int = 1, columns: int = 1, height: float = 3.6, **options):
    """`pyplot.subplots` at the column's width; `height` in inches for the whole figure.

    >>> fig, ax = subplots(height=2)
    >>> float(fig.get_figwidth())
    7.2
    """
    return pyplot.subplots(rows, columns, figsize=(WIDTH, height), **options)


def dots(ax, labels, values, lows, highs, colors=None, zero: bool = False):
    """A dot with its interval for each label, first label on top. Values, lows, highs: sequences of equal length."""
    places = np.arange(len(labels))[::-1]
    names = list(PALETTE)
    colors = colors or names[: len(labels)]
    for place, value, low, high, color in zip(places, values, lows, highs, colors, strict=True):
        ax.plot([low, high], [place, place], color=PALETTE[color], linewidth=2.2, marker="", solid_capstyle="round")
        ax.plot([value], [place], color=PALETTE[color], marker=MARKERS[color], markersize=8)
    ax.set_yticks(places, labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    ax.grid(axis="y", visible=False)
    if zero:
        ax.axvline(0, color=GREY, linewidth=1)
    return ax


def intervals(ax, labels, found, colors=None, zero: bool = False):
    """`dots` for intervals as `mindscape.results.interval` gives them, one a label."""
    value, low, high = ([getattr(it, end) for it in found] for end in ("value", "low", "high"))
    return dots(ax, labels, value, low, high, colors, zero)


def band(ax, x, found, colour: str, **line):
    """A curve of intervals over x, (n,) each, with a band from their low to their high ends."""
    ax.plot(x, [of.value for of in found], **look(colour, **line))
    ax.fill_between(
        x, [of.low for of in found], [of.high for of in found], color=PALETTE[colour], alpha=0.18, linewidth=0
    )
    return ax


def table(rows, *columns, name: str | tuple[str, ...] | None = None) -> pd.DataFrame:
    """Rows by their labels, a list or a dict of cells each, as a table; `name` stands above the labels, one for each part of
    labels that have several.

    >>> print(table({"SFT-Emb": [0.5, 8], "MiA-Emb": [0.75, 8]}, "recall@3", "n"))
             recall@3  n
    SFT-Emb      0.50  8
    MiA-Emb      0.75  8
    """
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns or None)
    if isinstance(name, tuple):
        frame.index = pd.MultiIndex.from_tuples(list(rows), names=name)
    return frame.rename_axis(name) if isinstance(name, str) else frame
