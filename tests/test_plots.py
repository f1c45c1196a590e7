"""One look: the colours stay apart for readers of any colour vision, and each has a marker of its own."""

from itertools import combinations

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from mindscape import plots
from mindscape.metrics import Interval

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
VISION = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color, vision):
    """CIELAB of a colour as somebody with that vision sees it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(VISION[vision]) @ linear, 0, 1)
    x, y, z = np.cbrt(XYZ @ seen / (XYZ @ np.ones(3)))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISION)
def test_colours_stay_apart(vision):
    for (a, first), (b, second) in combinations(plots.PALETTE.items(), 2):
        assert np.linalg.norm(lab(first, vision) - lab(second, vision)) > 8, f"{a} and {b} look alike"


def test_the_measure_would_notice_a_bad_pair():
    """Red and green of one lightness, the classic mistake."""
    assert np.linalg.norm(lab("#b05050", "deutan") - lab("#7d7a3c", "deutan")) < 20


def test_each_colour_has_a_marker_of_its_own():
    assert len(set(plots.MARKERS.values())) == len(plots.PALETTE) == len(plots.MARKERS)


def test_dots_are_drawn_where_they_belong():
    fig, ax = plots.subplots(height=2)
    plots.dots(ax, ["a", "b"], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], zero=True)
    bars = [line.get_xydata().tolist() for line in ax.lines]
    assert [[0.5, 1.0], [1.5, 1.0]] in bars and [[2.0, 0.0]] in bars  # the first label is on top
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    matplotlib.pyplot.close(fig)


def test_intervals_are_drawn_as_dots_and_as_a_band():
    fig, ax = plots.subplots(height=2)
    found = {"a": Interval(1.0, 0.5, 1.5, 8), "b": Interval(2.0, 1.5, 2.5, 8)}
    plots.intervals(ax, list(found), list(found.values()))
    plots.band(ax, [3, 5], list(found.values()), "red")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert ax.lines[0].get_xydata().tolist() == [[0.5, 1.0], [1.5, 1.0]]
    assert ax.lines[-1].get_xydata().tolist() == [[3.0, 1.0], [5.0, 2.0]]
    ends = ax.collections[0].get_paths()[0].get_extents()
    assert (ends.ymin, ends.ymax) == (0.5, 2.5)
    matplotlib.pyplot.close(fig)


def test_a_table_of_labels_with_parts_has_an_index_of_as_many():
    found = plots.table({("q", 3): [0.5], ("q", 5): [0.75]}, "recall", name=("stage", "k"))
    assert found.index.names == ["stage", "k"] and found.loc[("q", 5), "recall"] == 0.75
    assert plots.table({("q", 3): {"recall": 0.5}, ("q", 5): {"recall": 0.75}}).loc[("q", 5), "recall"] == 0.75
