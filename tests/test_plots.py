"""One look: each colour has a marker of its own; dots, bands and tables are as they are asked for. Drawings of the papers'
systems: what a file may say, and that all that it says is drawn and told in words."""

import matplotlib
import pytest
from extras import refused

from mindscape import paths, plots
from mindscape.metrics import Interval


def test_each_colour_has_a_marker_of_its_own():
    assert len(set(plots.MARKERS.values())) == len(plots.PALETTE) == len(plots.MARKERS)


def test_intervals_are_drawn_as_dots_and_as_a_band():
    fig, ax = plots.subplots(height=2)
    shares = {"a": Interval(1.0, 0.5, 1.5, 8), "b": Interval(2.0, 1.5, 2.5, 8)}
    plots.intervals(ax, list(shares), list(shares.values()), zero=True)
    plots.band(ax, [3, 5], list(shares.values()), "red")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    lines = [line.get_xydata().tolist() for line in ax.lines]
    assert lines[0] == [[0.5, 1.0], [1.5, 1.0]] and [[2.0, 0.0]] in lines  # the first label is on top
    assert [[0, 0], [0, 1]] in lines and lines[-1] == [[3.0, 1.0], [5.0, 2.0]]
    ends = ax.collections[0].get_paths()[0].get_extents()
    assert (ends.ymin, ends.ymax) == (0.5, 2.5)
    matplotlib.pyplot.close(fig)


def test_a_table_of_labels_with_parts_has_an_index_of_as_many():
    table = plots.table({("q", 3): [0.5], ("q", 5): [0.75]}, "recall", name=("stage", "k"))
    assert table.index.names == ["stage", "k"] and table.loc[("q", 5), "recall"] == 0.75
    assert plots.table({("q", 3): {"recall": 0.5}, ("q", 5): {"recall": 0.75}}).loc[("q", 5), "recall"] == 0.75


SYSTEMS = sorted(path.stem for path in paths.data("paper", "systems").glob("*.toml"))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_box_and_arrow_is_drawn_and_told_and_no_box_lies_upon_another(name):
    said = plots.system(name)
    assert len({tuple(about["at"]) for about in said["boxes"].values()}) == len(said["boxes"])
    shown = " ".join(text.get_text() for text in plots.draw(name).axes[0].texts).replace("\n", " ")
    alt = plots.alt(name)
    for about in said["boxes"].values():
        words = " ".join(about["says"].split())
        assert words in shown and words in alt
    for arrow in said["arrows"]:
        assert arrow.get("says", "") in shown and arrow.get("says", "") in alt


def test_what_cannot_be_drawn():
    refused(lambda: plots.system("none"), "expected a file")
    refused(lambda: plots.draw("mia_rag", here=("nobody",)), "here")
