"""Drawings of the papers' systems: what a file may say, and that all that it says is drawn and told in words."""

import pytest
from extras import refused

from mindscape import paths, plots

SYSTEMS = sorted(path.stem for path in paths.data("paper", "systems").glob("*.toml"))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_box_and_arrow_is_drawn_and_told(name):
    said = plots.system(name)
    shown = " ".join(text.get_text() for text in plots.draw(name).axes[0].texts).replace("\n", " ")
    told = plots.alt(name)
    for about in said["boxes"].values():
        words = " ".join(about["says"].split())
        assert words in shown and words in told
    for arrow in said["arrows"]:
        assert arrow.get("says", "") in shown and arrow.get("says", "") in told


@pytest.mark.parametrize("name", SYSTEMS)
def test_boxes_do_not_lie_upon_each_other(name):
    places = [tuple(about["at"]) for about in plots.system(name)["boxes"].values()]
    assert len(set(places)) == len(places)


def test_what_cannot_be_drawn():
    refused(lambda: plots.system("none"), "expected a file")
    refused(lambda: plots.draw("mia_rag", here=("nobody",)), "here")
