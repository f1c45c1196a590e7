"""The course's site in a real browser: its search, its ways on, a narrow screen, and what axe-core finds."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from mindscape import paths
from mindscape.mindgraph.graph import Graph, apply_all, as_html
from mindscape.text import Chunk, Document
from tests.browser.conftest import ROOT

PAGES = ("index.html", "notebooks/10_hierarchical_summaries.html", "notebooks/43_hmv_theorem.html", "claims.html")


def test_the_search_finds_a_term(site, page):
    page.goto(f"{site}/search.html?q=MCEA")
    expect(page.locator('#search-results li a[href*="notebooks/15_mcea"]').first).to_be_visible(timeout=30_000)


def test_one_comes_to_the_next_chapter_and_back(site, page):
    page.goto(f"{site}/notebooks/10_hierarchical_summaries.html")
    page.locator("a.right-next").first.click()
    expect(page).to_have_url(f"{site}/notebooks/11_silver_evidence.html")
    page.locator("a.left-prev").first.click()
    expect(page).to_have_url(f"{site}/notebooks/10_hierarchical_summaries.html")


def test_no_page_scrolls_sideways_on_a_narrow_screen(site, page):
    """Nor does any page ask another machine for something, see `page`."""
    home, width_of = paths.build_path("site", "html"), {}
    page.set_viewport_size({"width": 400, "height": 800})
    for path in home.rglob("*.html"):
        if "_static" not in path.parts:
            page.goto(f"{site}/{path.relative_to(home).as_posix()}")
            width_of[path.name] = page.evaluate("document.documentElement.scrollWidth")
    assert len(width_of) > 40 and not {name: width for name, width in width_of.items() if width > 400}


def test_no_line_of_code_is_cut_on_a_laptop(site, page):
    page.set_viewport_size({"width": 1440, "height": 900})
    cut = {}
    for path in paths.build_path("site", "html", "notebooks").glob("*.html"):
        page.goto(f"{site}/notebooks/{path.name}")
        cut[path.name] = page.evaluate(CUT)
    assert len(cut) > 20 and not any(cut.values()), cut


CUT = "[...document.querySelectorAll('div.cell pre')].filter(pre => pre.scrollWidth > pre.clientWidth + 1).length"


def test_nobody_is_shut_out(site, page, capsys):
    """No serious fault by axe-core on any kind of page."""
    serious = []
    for name in PAGES:
        page.goto(f"{site}/{name}")
        for fault in Axe().run(page).response["violations"]:
            if fault["impact"] in ("serious", "critical"):
                first = fault["nodes"][0]
                serious.append(f"{name}: {fault['id']} ({len(fault['nodes'])}), such as {first['html'][:160]}")
    with capsys.disabled():
        print(f"\nsite.axe.serious = {len(serious)}")
    assert not serious, "\n".join(serious)


def test_the_keyboard_reaches_the_text(site, page):
    page.goto(f"{site}/index.html")
    page.keyboard.press("Tab")
    assert "Skip" in page.evaluate("document.activeElement.innerText")


def test_a_node_of_a_graph_shows_its_passage(page, tmp_path):
    text = "It rained in May. " + "Nobody sang. " * 100 + "Ivo sold the brass lamp to Ann at the fair."
    document, block = Document("note", text), Chunk("note", 0, 0, len(text))
    quotes = {"rain": "It rained in May", "lamp": "Ivo sold the brass lamp"}
    add = [{"op": "add_node", "id": key, "type": "event", "content": key, "src": src} for key, src in quotes.items()]
    graph, _ = apply_all(Graph("note"), add, document, block)
    (tmp_path / "graph.html").write_text(as_html(graph, document, "Who sold the lamp?"), encoding="utf-8")
    page.goto((tmp_path / "graph.html").as_uri())
    expect(page.locator("#side")).not_to_contain_text("to Ann at the fair")
    page.locator("g.node", has_text="lamp").click()
    expect(page.locator("#side")).to_contain_text("to Ann at the fair")


def test_no_label_of_a_graph_lies_on_another(page):
    page.goto((ROOT / "figures" / "30_mindgraph_build" / "macbeth.html").as_uri())
    boxes = page.locator("text.label:not(.lapped)").evaluate_all(BOXES)
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if lie_on_one_another(a, b)]
    assert len(boxes) > 60 and not pairs, pairs[:3]


BOXES = """labels => labels.filter(label => !label.closest('.chosen')).map(label => {
  const box = label.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom, label.textContent];
})"""


def lie_on_one_another(a, b, slack=3):
    """By more than a few pixels each way: letters are narrower than their box."""
    return min(a[1], b[1]) - max(a[0], b[0]) > slack and min(a[3], b[3]) - max(a[2], b[2]) > slack
