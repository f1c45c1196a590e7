"""Drawings of the papers' systems: what a file may say, and that all that it says is drawn and told in words."""

import pytest

from mindscape import drawing, paths
from mindscape.errors import InputError

SYSTEMS = sorted(path.stem for path in paths.data("paper", "systems").glob("*.toml"))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_box_and_arrow_is_drawn_and_told(name):
    said = drawing.system(name)
    shown = " ".join(text.get_text() for text in drawing.draw(name).axes[0].texts).replace("\n", " ")
    told = drawing.alt(name)
    for about in said["boxes"].values():
        words = " ".join(about["says"].split())
        assert words in shown and words in told
    for arrow in said["arrows"]:
        assert arrow.get("says", "") in shown and arrow.get("says", "") in told


@pytest.mark.parametrize("name", SYSTEMS)
def test_boxes_do_not_lie_upon_each_other(name):
    places = [tuple(about["at"]) for about in drawing.system(name)["boxes"].values()]
    assert len(set(places)) == len(places)


def test_bad_files_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "data", lambda *parts: tmp_path.joinpath(*parts))
    folder = tmp_path / "paper" / "systems"
    folder.mkdir(parents=True)
    box = '[boxes.a]\nat = [0, 0]\nsays = "a"\nmade = "{}"\n'
    (folder / "odd.toml").write_text('title = "odd"\narrows = []\n' + box.format("never"))
    (folder / "loose.toml").write_text('title = "loose"\narrows = [{from = "a", to = "b"}]\n' + box.format("text"))
    for name, said in (("none", "expected a file"), ("odd", "box 'a'"), ("loose", "arrow's to")):
        with pytest.raises(InputError, match=said):
            drawing.system(name)


def test_only_boxes_can_be_marked():
    with pytest.raises(InputError, match="here"):
        drawing.draw("mia_rag", here=("nobody",))
