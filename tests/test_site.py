"""The course as a website: links, images, claims, and the whole of it without a warning."""

import json
from pathlib import Path

import pytest

from mindscape.workflow import site

ROOT = Path(__file__).resolve().parents[1]
GRAPH = '<iframe class="graph" src="../macbeth.html" title="it"></iframe>'


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[12](12_mia_emb_training.ipynb)", "[12](/notebooks/12_mia_emb_training.ipynb)"),
        ("[terms](00_start_here.ipynb#Glossary)", "[terms](/notebooks/00_start_here.ipynb#glossary)"),
        ("[claims](../figures/CLAIMS.md)", "[claims](/claims.md)"),
        ("[card](../data/adapters/mia_emb/README.md)", "[card](/cards/mia_emb.md)"),
        ("[table](../data/paper/table.csv)", "table (`data/paper/table.csv`)"),
        ("[up](https://example.org/a.md)", "[up](https://example.org/a.md)"),
        ("[here](#below)", "[here](#below)"),
        ("[it](../figures/30_x/macbeth.html)", f'<a href="../macbeth.html">it</a>\n\n{GRAPH}\n\n'),
        ("![words](figure.png)", "![words](figure.png)"),
    ],
)
def test_links_lead_to_pages(text, expected):
    assert site.linked(text, "notebooks") == expected


def test_an_image_has_its_words_and_a_claim_its_mark(tmp_path):
    output = {"output_type": "display_data", "data": {"image/png": ""}, "metadata": {"image/png": {"alt": "Two bars."}}}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["See [12]", "(12_mia.ipynb)"]},
        {"cell_type": "code", "metadata": {}, "source": [], "outputs": [output]},
    ]
    path = tmp_path / "10_x.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    said, mark, drawn = site.notebook(path, {1: ["mia.claim"]})["cells"]
    assert said["source"] == "See [12](/notebooks/12_mia.ipynb)"
    assert mark["source"] == '<span id="mia.claim"></span>'
    assert drawn["metadata"]["mystnb"]["image"]["alt"] == "Two bars."


def test_folded_cells_that_stand_together_have_one_bar(tmp_path):
    folded, shown = {"metadata": {"tags": ["hide-input"]}}, {"metadata": {}}
    said = [{"output_type": "stream", "name": "stdout", "text": "5"}]
    cells = [(folded, "a = 2", []), (folded, "b = 3", []), (folded, "print(a + b)", said)]
    cells += [(folded, "c = 1", []), (shown, "c", [])]
    cells = [{"cell_type": "code", **look, "source": source, "outputs": outputs} for look, source, outputs in cells]
    path = tmp_path / "10_x.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    code = [(cell["source"], len(cell["outputs"])) for cell in site.notebook(path, {})["cells"]]
    assert code == [("a = 2\n\n\nb = 3\n\n\nprint(a + b)", 1), ("c = 1", 0), ("c", 0)]
    marked = [cell["source"] for cell in site.notebook(path, {1: ["mia.claim"]})["cells"]]
    assert marked[:2] == ["a = 2", '<span id="mia.claim"></span>']  # a claim's mark stays where it leads


def test_links_that_lead_nowhere_are_found(tmp_path):
    links = '<a href="#here">x</a> <a href="b.html#there">y</a> <a href="c.html">z</a>'
    (tmp_path / "a.html").write_text(f'<p id="here">{links}')
    (tmp_path / "b.html").write_text('<p id="other"><img src="none.png"><a href="https://example.org">out</a>')
    assert site.broken(tmp_path) == ["a.html: b.html#there", "a.html: c.html", "b.html: none.png"]


def test_the_whole_site(tmp_path, monkeypatch, capsys):
    """Without a warning and a broken link, small, and with what a reader looks for."""
    monkeypatch.setenv("MINDSCAPE_BUILD", str(tmp_path))
    assert site.main() == 0, capsys.readouterr().out
    html = tmp_path / "site" / "html"
    record = json.loads((tmp_path / "site" / "site.json").read_text())
    assert record["site.warnings"] == record["site.broken"] == 0 and record["site.mb"] < 40
    pages = {path.relative_to(html).as_posix(): path.read_text("utf-8") for path in html.rglob("*.html")}
    for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        page = pages[f"notebooks/{path.stem}.html"]
        assert f'href="../_sources/notebooks/{path.name}"' in page  # download this notebook
        assert "$" not in page.partition("<h1>")[2].partition("</h1>")[0]
    formulas = pages["notebooks/51_paper_audit.html"]
    assert '<math tabindex="0" xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in formulas
    assert "<summary>" in formulas
    assert all("<table border" not in page and "Toggle hidden content" not in page for page in pages.values())
    assert "MCEA" in pages["glossary.html"] and "mcea" in (html / "searchindex.js").read_text("utf-8")
    assert 'src="../macbeth.html"' in pages["notebooks/30_mindgraph_build.html"]
    for page in pages.values():
        assert "https://cdn" not in page
