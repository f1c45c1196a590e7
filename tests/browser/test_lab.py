"""JupyterLab in a real browser: a notebook runs to its end, a slider moves its figure, an exercise says when it is right."""

import json
import re

from playwright.sync_api import expect

from tests.browser.conftest import ROOT


def errors(outputs):
    return [text for cell in outputs for text in cell if text.startswith("error")]


def sources(path):
    return ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def test_the_first_notebook_runs_to_its_end(lab, page):
    lab.open(page, "00_start_here")
    page.set_default_timeout(600_000)
    outputs = lab.run(page)
    assert [cell[0] for cell in outputs] == [str(i + 1) for i in range(len(outputs))], "each was run, in order"
    assert not errors(outputs)


def test_a_slider_moves_its_figure(lab, page):
    lab.open(page, "43_hmv_theorem")
    page.set_default_timeout(600_000)
    assert not errors(lab.run(page))
    page.set_default_timeout(20_000)
    image, value = page.locator(".widget-output img").first, page.locator(".widget-readout").first
    value.scroll_into_view_if_needed()
    before = image.get_attribute("src")
    value.fill("0.80")
    value.press("Enter")
    expect(image).not_to_have_attribute("src", before, timeout=30_000)


def test_an_exercise_says_when_it_is_right(lab, page):
    """The solutions of notebook 51, as a student would write them."""
    blank, cells = "my_verdict, my_least = None, None", sources(ROOT / "notebooks" / "51_paper_audit.ipynb")
    (exercise,) = [source for source in cells if blank in source]
    answered = exercise.replace(blank, 'my_verdict, my_least = "rounds", 71.4')
    lab.open(page, "51_paper_audit")
    page.set_default_timeout(300_000)
    assert any("1 right\n2 right" in text for cell in lab.run(page, answered) for text in cell)


def test_a_figure_says_in_words_what_it_shows(lab, page):
    lab.open(page, "51_paper_audit")
    page.locator(".jp-RenderedImage img").first.wait_for()
    page.locator("summary", has_text="In words").first.click()
    assert len(page.locator("details[open]").first.inner_text().split()) > 10


def test_links_that_leave_the_notebooks_arrive(lab, page):
    """As JupyterLab resolves them, all; and one is clicked."""
    links = {}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        links |= dict.fromkeys(re.findall(r"\]\((\.\./[^)\s#]+)", "\n".join(sources(path))), path.stem)
    lab.open(page, "51_paper_audit")
    status = {link: page.evaluate(STATUS, link) for link in links}
    assert len(links) > 4 and set(status.values()) == {200}, status
    page.evaluate(SCROLL, "CLAIMS.md")
    page.locator('.jp-RenderedMarkdown a[href*="CLAIMS.md"]').first.click()
    expect(page.locator(".lm-TabBar-tabLabel", has_text="CLAIMS.md")).to_be_visible()


def test_a_graphs_page_shows_once_it_is_trusted(lab, page):
    """As notebooks 30 and 52 say; before, a line says that its script is off."""
    lab.open(page, "30_mindgraph_build")
    graph = "figures/30_mindgraph_build/macbeth.html"
    page.evaluate("async path => { await window.jupyterapp.commands.execute('docmanager:open', {path}); }", graph)
    shown = page.frame_locator(".jp-HTMLViewer iframe")
    expect(shown.locator("noscript")).to_be_visible()
    page.get_by_role("button", name="Trust HTML").click()
    expect(shown.locator("g.node").first).to_be_visible()


STATUS = """async link => {
  const resolver = window.jupyterapp.shell.currentWidget.content.rendermime.resolver;
  return (await fetch(await resolver.getDownloadUrl(await resolver.resolveUrl(link)))).status;
}"""
SCROLL = """said => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.scrollToItem(Array.from(notebook.model.cells).findIndex(cell => cell.sharedModel.getSource().includes(said)));
}"""
