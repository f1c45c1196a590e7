"""JupyterLab in a real browser: a notebook runs to its end, a slider moves its figure, an exercise says when it is right."""

import json

import pytest

from tests.browser.conftest import ROOT


def test_the_first_notebook_runs_to_its_end(lab, page):
    lab.open(page, "00_start_here")
    page.set_default_timeout(600_000)
    outputs = lab.run(page)
    assert len(outputs) > 20 and outputs[-1], "the last cell printed something"
    assert not [kind for cell in outputs for kind in cell if kind.startswith("error")]


def test_a_slider_moves_its_figure(lab, page):
    lab.open(page, "43_hmv_theorem")
    page.set_default_timeout(600_000)
    outputs = lab.run(page)
    assert not [kind for cell in outputs for kind in cell if kind.startswith("error")]
    handle = page.locator(".jp-OutputArea .noUi-handle").first
    handle.scroll_into_view_if_needed()
    image = page.locator(".jp-OutputArea:has(.noUi-handle) img").first
    before = image.get_attribute("src")
    handle.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "([image, before]) => image.src !== before", arg=[image.element_handle(), before], timeout=30_000
    )


def test_an_exercise_says_when_it_is_right(lab, page):
    """The solutions of notebook 51, as a student would write them."""
    cells = json.loads((ROOT / "notebooks" / "51_paper_audit.ipynb").read_text(encoding="utf-8"))["cells"]
    (exercise,) = [
        "".join(cell["source"]) for cell in cells if "my_verdict, my_least = None, None" in "".join(cell["source"])
    ]
    answered = exercise.replace("my_verdict, my_least = None, None", 'my_verdict, my_least = "rounds", 71.4')
    lab.open(page, "51_paper_audit")
    page.set_default_timeout(300_000)
    lab.run(page, answered)
    printed = page.locator(".jp-Cell", has_text="my_verdict").locator(".jp-OutputArea-output").all_inner_texts()
    assert "1 right\n2 right" in "\n".join(printed)


@pytest.mark.parametrize("link", ["figures/CLAIMS.md", "data/shakespeare/README.md"])
def test_what_lies_above_the_notebooks_opens(lab, page, link):
    answer = page.request.get(f"{lab.url}/files/{link}?token={lab.token}")
    assert answer.ok
