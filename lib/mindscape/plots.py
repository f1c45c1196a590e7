"""One visual language for the whole course.

Colours are Okabe and Ito's, which readers with any colour vision can tell apart; each also has a marker of its own, so
that no figure rests on colour alone. The rest of the look is seaborn's. Figures are drawn at the width of a page's column.
An *interval* has a `value`, a `low` and a `high` (`mindscape.metrics`). Saving a figure with its alt text is
`mindscape.results.figure`.

`draw` shows a paper's system, from a file of `data/paper/systems`: boxes, arrows, and the paper's numbers on them.

    title = "MiA-RAG"
    [boxes.book]                    # its name in arrows
    at = [0, 1]                     # column and row; row 0 is the lowest
    says = "a book"
    made = "text"                   # once a "text", once a "question", or a "model"
    [[arrows]]
    from = "book"
    to = "chunks"
    says = "1,200 tokens each"

The first notebook of a part draws the whole, the others mark with `here` where they stand in it. Taught in notebook 00, and
systems in 10_hierarchical_summaries.
"""

import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn
from matplotlib import pyplot
from matplotlib.patches import FancyBboxPatch, Patch

from mindscape import paths
from mindscape.errors import one_of, require

INK, GREY, PALE = "#222222", "#8a8a8a", "#d9d9d9"
PALETTE = {"blue": "#0072B2", "orange": "#E69F00", "green": "#009E73", "purple": "#CC79A7"}
PALETTE |= {"red": "#D55E00", "sky": "#56B4E9", "yellow": "#F0E442"}
MARKERS = dict(zip(PALETTE, "osD^vPX", strict=True))
WIDTH = 7.2  # inches: a text column
SEQUENTIAL = "cividis"  # for heat maps


def use() -> None:
    """Set seaborn's theme to the course's look, for every figure drawn from here on.

    >>> use()
    >>> matplotlib.rcParams["axes.spines.top"], matplotlib.rcParams["image.cmap"]
    (False, 'cividis')
    """
    cycle = matplotlib.rcsetup.cycler(color=list(PALETTE.values()), marker=list(MARKERS.values()))
    ours = {"figure.figsize": (WIDTH, 3.6), "figure.constrained_layout.use": True, "savefig.dpi": 200}
    ours |= {"text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.labelcolor": INK, "axes.edgecolor": GREY}
    ours |= {"axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "grid.color": PALE}
    ours |= {"lines.linewidth": 1.6, "lines.markersize": 6, "legend.frameon": False, "image.cmap": SEQUENTIAL}
    ours |= {"axes.prop_cycle": cycle}
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
    usual = {"cmap": SEQUENTIAL, "cbar": False} | ({} if texts is None else {"annot": texts, "fmt": ""})
    seaborn.heatmap(shown, ax=ax, vmin=0, vmax=most, **usual | options)
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
    colors = colors or list(PALETTE)[: len(labels)]
    for place, value, low, high, color in zip(places, values, lows, highs, colors, strict=True):
        ax.plot([low, high], [place, place], color=PALETTE[color], linewidth=2.2, marker="", solid_capstyle="round")
        ax.plot([value], [place], color=PALETTE[color], marker=MARKERS[color], markersize=8)
    ax.set_yticks(places, labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    ax.grid(axis="y", visible=False)
    if zero:
        ax.axvline(0, color=GREY, linewidth=1)
    return ax


def intervals(ax, labels, estimates, colors=None, zero: bool = False):
    """`dots` for intervals as `mindscape.results.interval` gives them, one a label."""
    value, low, high = ([getattr(interval, end) for interval in estimates] for end in ("value", "low", "high"))
    return dots(ax, labels, value, low, high, colors, zero)


def band(ax, x, estimates, colour: str, **line):
    """A curve of intervals over x, (n,) each, with a band from their low to their high ends."""
    ax.plot(x, [interval.value for interval in estimates], **look(colour, **line))
    low, high = [interval.low for interval in estimates], [interval.high for interval in estimates]
    ax.fill_between(x, low, high, color=PALETTE[colour], alpha=0.18, linewidth=0)
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


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in Markdown; a column whose head ends with a colon holds numbers.

    >>> print(markdown_table(["paper", "claims:"], [["MoM", 3]]), end="")
    | paper | claims |
    |---|---:|
    | MoM | 3 |
    """
    cells = [[head.removesuffix(":") for head in heads], *rows]
    lines = [" | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) for row in cells]
    rule = "".join("---:|" if head.endswith(":") else "---|" for head in heads)
    return "\n".join([f"| {lines[0]} |", f"|{rule}", *(f"| {line} |" for line in lines[1:])]) + "\n"


# -- a paper's system --------------------------------------------------------------------------------------------------

FILLS = {"text": "#D6E9F5", "question": "#FBE8C8", "model": "#EDEDED"}
MADE = {"text": "made once a text", "question": "made once a question", "model": "a model"}
ACROSS, UP = 2.1, 1.15  # inches from box to box
WIDE, HIGH = 1.3, 0.62  # of a box


def system(name: str) -> dict:
    """What a file says: `title`, `boxes` by name and `arrows`. Raises InputError for a file that there is not.

    >>> system("mia_rag")["title"]
    'MiA-RAG'
    """
    path = paths.data("paper", "systems", f"{name}.toml")
    require(path.is_file(), f"system {name!r}: expected a file {path}")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def alt(name: str) -> str:
    """The same in words, for those who do not see it.

    >>> alt("mia_rag")[:30]
    'The system of MiA-RAG. Once a '
    """
    drawn = system(name)
    words = {box: about["says"].replace("\n", " ") for box, about in drawn["boxes"].items()}
    parts = [f"The system of {drawn['title']}."]
    for made in ("text", "question"):
        listed = [words[box] for box, about in drawn["boxes"].items() if about["made"] == made]
        parts.append(f"Once a {made}: {', '.join(listed)}.")
    arrows = (
        f"{words[arrow['from']]} to {words[arrow['to']]}" + (f" ({arrow['says']})" if "says" in arrow else "")
        for arrow in drawn["arrows"]
    )
    return " ".join([*parts, f"Arrows: {'; '.join(arrows)}."])


def draw(name: str, here: tuple[str, ...] = ()):
    """A figure of a system; the boxes named in `here` have a thick frame, and the rest is pale if there are any. Errors as in
    `system`, and InputError for a box in `here` that there is not."""
    drawn = system(name)
    boxes = drawn["boxes"]
    for box in here:
        one_of(boxes, here=box)
    columns, rows = np.max([about["at"] for about in boxes.values()], axis=0)
    scale = WIDTH / (columns * ACROSS + WIDE + 0.2)
    fig, ax = subplots(height=(rows * UP + HIGH + 0.55) * scale)
    centres = {box: (about["at"][0] * ACROSS, about["at"][1] * UP) for box, about in boxes.items()}
    for box, about in boxes.items():
        thick = box in here
        says = textwrap.fill(about["says"], 18) if "\n" not in about["says"] else about["says"]
        alpha = 1 if thick or not here else 0.75
        ax.annotate(says, centres[box], ha="center", va="center", fontsize=7.5, alpha=alpha)
        x, y = centres[box][0] - WIDE / 2, centres[box][1] - HIGH / 2
        frame = ax.add_patch(FancyBboxPatch((x, y), WIDE, HIGH, boxstyle="round,pad=0,rounding_size=0.08", zorder=0))
        colour = PALETTE["red"] if thick else GREY
        frame.set(facecolor=FILLS[about["made"]], edgecolor=colour, linewidth=2.2 if thick else 0.8)
    for arrow in drawn["arrows"]:
        _arrow(ax, centres[arrow["from"]], centres[arrow["to"]], arrow.get("says", ""), arrow.get("bend", 0.0))
    left, low = -WIDE / 2 - 0.1, -HIGH / 2 - 0.1
    ax.set(xlim=(left, columns * ACROSS - left), ylim=(low, rows * UP + HIGH / 2 + 0.45), aspect="equal")
    ax.set(xticks=[], yticks=[])  # an axis without numbers needs no label
    ax.axis("off")
    kinds = [Patch(facecolor=FILLS[made], edgecolor=GREY, label=says) for made, says in MADE.items()]
    ax.legend(handles=kinds, loc="upper left", ncols=3, fontsize=7.5, borderaxespad=0, handlelength=1.2)
    return fig


def _arrow(ax, begin, end, says: str, bend: float) -> None:
    """From the edge of one box to that of another, with words beside its middle."""
    edges = [_edge(begin, end), _edge(end, begin)]
    look = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", edges[1], edges[0], arrowprops={**look, "connectionstyle": f"arc3,rad={bend}"})
    if says:
        x, y = ((first + second) / 2 for first, second in zip(*edges, strict=True))
        y, x = y - bend * (edges[1][0] - edges[0][0]) / 2, x + bend * (edges[1][1] - edges[0][1]) / 2
        flat = abs(begin[1] - end[1]) < 0.1
        place = {"ha": "center", "va": "bottom"} if flat else {"ha": "center", "va": "center"}
        room = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        ax.text(x, y + 0.03 * flat, textwrap.fill(says, 12), fontsize=6.3, linespacing=0.95, bbox=room, **place)


def _edge(begin, end) -> tuple[float, float]:
    """Where the line from the middle of one box to another leaves the first."""
    across, up = end[0] - begin[0], end[1] - begin[1]
    share = min(WIDE / 2 / abs(across) if across else 9, HIGH / 2 / abs(up) if up else 9)
    return begin[0] + share * across, begin[1] + share * up
