"""Build the course as a website from what is stored: `make site` writes build/site/html, offline, and says how large it is.

Notebooks are shown as they are stored, nothing is run. Claims, glossary, cards and the log become pages; a paper has one of its
own. Formulas become MathML, which browsers draw by themselves. Links are looked up in the pages once they are written, and a
link that leads nowhere, or a warning of Sphinx, ends it with exit status 1.
"""

import json
import posixpath
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from mindscape import paths, results
from mindscape.paper import VERDICTS, Claim, all_claims, counts_table, weighed, with_interval
from mindscape.plots import markdown_table
from mindscape.workflow.plan import names
from mindscape.workflow.report import cells, first_cell, source

PAPERS = {"MiA-RAG": "10", "MiA-Signature": "20", "MindGraph": "30", "MoM": "40"}  # and what opens its part
# Of the course: what its notebooks' names begin with.
PARTS = {"Before the papers": "0", **{f"Part {at[0]}: {paper}": at[0] for paper, at in PAPERS.items()}, "All four": "5"}
DRAWING = "system"  # the figure that a part's first notebook draws its paper's system in
CONF = """
import latex2mathml.converter

extensions = ["myst_nb"]
project, html_title = "The mindscape kit", "The mindscape kit"
html_theme, nb_execution_mode, nb_merge_streams = "sphinx_book_theme", "off", True
html_static_path, html_extra_path, html_css_files = ["_static"], ["extra"], ["kit.css"]
html_theme_options = {"use_download_button": True, "show_toc_level": 2, "use_fullscreen_button": False}
html_theme_options |= {"footer_content_items": []}
html_sidebars = {"**": ["navbar-logo.html", "search-button-field.html", "sbt-sidebar-nav.html"]}
myst_enable_extensions, myst_heading_anchors = ["dollarmath", "amsmath"], 3
html_math_renderer = "mathml"


def mathml(self, node):
    text = node.astext()
    display = "block" if node.tagname == "math_block" else "inline"
    self.body.append(latex2mathml.converter.convert(text, display=display))
    raise __import__("docutils.nodes").nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
"""
CSS = Path(__file__).with_name("page.css").read_text("utf-8")


# -- pages ----------------------------------------------------------------------------------------------------------------


def label(metric: str) -> str:
    """A metric's key as a person reads it.

    >>> label("rag.coverage_minus_query_only.recall@10.binding")
    'rag: coverage − query only, recall@10, binding'
    """
    head, *rest = [part.replace("_minus_", " − ").replace("_", " ") for part in metric.split(".")]
    return f"{head}: {', '.join(rest)}" if rest else head


def weighed_in(cells: list[dict], metrics: list[str]) -> int | None:
    """The place of the cell that records the first of these metrics: the one whose source names most of its key.

    >>> cells = [{"cell_type": "code", "source": 'results.record(f"rag.{name}.recall", of)'}]
    >>> weighed_in(cells, ["rag.signature.recall"]), weighed_in(cells, ["other"])
    (0, None)
    """
    matches = []
    for i, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            for said in re.findall(r'"([\w.@+-]{3,}?)(?:\{[^"]*)?"', "".join(cell["source"])):
                matches += [(len(said), -i) for metric in metrics[:1] if metric.startswith(said)]
    return -max(matches)[1] if matches else None


def notebook(path: Path, anchors: dict[int, list[str]]) -> dict:
    """A stored notebook as the site shows it: links lead to pages, images have their words, graphs stand in the page, and
    folded cells that stand together are one."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    shown: list[dict] = []
    for i, cell in enumerate(stored["cells"]):
        if ids := anchors.get(i):
            marks = "".join(f'<span id="{name}"></span>' for name in ids)
            shown.append({"cell_type": "markdown", "id": f"claims-{i}", "metadata": {}, "source": marks})
        cell["source"] = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            cell["source"] = linked(cell["source"], "notebooks")
        for output in cell.get("outputs", []):
            if alt := output.get("metadata", {}).get("image/png", {}).get("alt"):
                cell["metadata"]["mystnb"] = {"image": {"alt": alt, "width": "100%"}}
        if shown and is_folded(cell) and is_folded(shown[-1]) and not shown[-1]["outputs"]:  # one bar for what stands together
            cell["source"] = shown.pop()["source"] + "\n\n\n" + cell["source"]
        shown.append(cell)
    return stored | {"cells": shown}


def is_folded(cell: dict) -> bool:
    """Whether a cell's code is shown on demand.

    >>> is_folded({"cell_type": "code", "metadata": {"tags": ["hide-input"]}}), is_folded({"cell_type": "markdown"})
    (True, False)
    """
    return cell["cell_type"] == "code" and "hide-input" in cell["metadata"].get("tags", [])


def linked(text: str, folder: str) -> str:
    """The links of a text that stands in a folder of the kit, as they are on the site; what has no page is named."""

    def page(match: re.Match) -> str:
        said, (target, mark) = match[1], urldefrag(match[2])
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        name = posixpath.normpath(posixpath.join(folder, target))
        if name.endswith(".html"):
            at = f"../{Path(name).name}"
            return f'<a href="{at}">{said}</a>\n\n<iframe class="graph" src="{at}" title="{said}"></iframe>\n\n'
        if name in ("figures/CLAIMS.md", "lib/LOG.md"):
            return f"[{said}](/{Path(name).stem.lower()}.md)"
        if card := re.fullmatch(r"data/(?:adapters/)?(\w+)(?:/README\.md)?", name):
            return f"[{said}](/cards/{card[1]}.md)"
        if name.startswith("notebooks/"):
            return f"[{said}](/{name}{'#' + mark.lower() if mark else ''})"
        return f"{said} (`{name}`)"

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", page, text)


def weighing(claim: Claim) -> str:
    """A link to the cell that weighs a claim."""
    return f'<a href="notebooks/{claim.notebook}.html#{claim.id}">{claim.notebook[:2]}</a>'


def claim_rows(judged: list[tuple[Claim, str]], metrics: dict[str, dict]) -> str:
    """A table: claim, the paper's numbers, ours, and where it is weighed."""
    rows = []
    for claim, _ in judged:
        shown = {key: metrics[claim.notebook][key] for key in claim.metrics if key in metrics[claim.notebook]}
        ours = [f"{label(key)}: {with_interval(metric, '{:.3g}'.format)}" for key, metric in shown.items()]
        rows.append([f"{claim.claim} *{claim.place}*", claim.paper_value, "<br>".join(ours), weighing(claim)])
    return markdown_table(["claim", "the paper", "here", "weighed in"], rows)


def paper_page(paper: str, judged: list[tuple[Claim, str]], metrics: dict[str, dict], root: Path) -> str:
    """A paper: its system, the notebooks, what was found and what was not."""
    (first,) = names(root, PAPERS[paper])
    drawn = results.read(first, root / "figures")["figures"][DRAWING]
    lines = [f"# {paper}", "", f"![{drawn['alt']}](/figures/{first}/{drawn['file']})", "", "## Its notebooks", ""]
    of_part = names(root, PAPERS[paper][0])
    lines += [f"- [{name}](/notebooks/{name}.ipynb): {first_cell(root, name)[0]}" for name in of_part]
    lines += ["", f"## {len(judged)} claims", ""]
    for verdict in VERDICTS:
        if group := [pair for pair in judged if pair[1] == verdict]:
            lines += [f"### {verdict.capitalize()} ({len(group)})", "", claim_rows(group, metrics)]
    return "\n".join(lines)


def written(root: Path, home: Path) -> None:
    """All that Sphinx reads, in a new folder."""
    shutil.rmtree(home, ignore_errors=True)
    (home / "extra").mkdir(parents=True)
    other = shutil.ignore_patterns("*.json", "*.md", "*.html", "*@*")
    shutil.copytree(root / "figures", home / "figures", ignore=other)
    for page in (root / "figures").glob("[0-9]*/*.html"):
        shutil.copy(page, home / "extra")
    metrics = {name: results.read(name, root / "figures")["metrics"] for name in names(root)}
    judged = weighed(all_claims(root / "data" / "claims.yaml"), root / "figures")
    log = linked((root / "lib" / "LOG.md").read_text("utf-8"), "lib")
    pages = {"conf.py": CONF, "_static/kit.css": CSS, "log.md": log, "claims.md": claims_page(judged)}
    pages |= {"glossary.md": glossary(root), "index.md": index(root)}
    for name in metrics:
        anchors = defaultdict(list)
        for claim, _ in judged:
            if claim.notebook == name:
                anchors[weighed_in(cells(root, name), claim.metrics) or 1].append(claim.id)
        path = root / "notebooks" / f"{name}.ipynb"
        pages[f"notebooks/{path.name}"] = json.dumps(notebook(path, anchors))
    for paper in PAPERS:
        of_paper = [pair for pair in judged if pair[0].paper == paper]
        pages[f"paper_{paper.lower()}.md"] = paper_page(paper, of_paper, metrics, root)
    for name, card in cards(root):
        pages[f"cards/{name}.md"] = linked(card.read_text("utf-8"), str(card.parent.relative_to(root)))
    for name, text in pages.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text, "utf-8")


def cards(root: Path) -> Iterator[tuple[str, Path]]:
    """The cards of adapters and of Shakespeare's texts, by name."""
    yield from ((card.parent.name, card) for card in sorted((root / "data" / "adapters").glob("*/README.md")))
    yield "shakespeare", root / "data" / "shakespeare" / "README.md"


def claims_page(judged: list[tuple[Claim, str]]) -> str:
    """How many claims of each paper came to which verdict."""
    pages = {paper: f"[{paper}](paper_{paper.lower()}.md)" for paper in PAPERS}
    lines = ["# The papers' claims, weighed", "", counts_table(judged, pages)]
    for verdict in VERDICTS:
        claims = [claim for claim, outcome in judged if outcome == verdict]
        lines += ["", f"## {verdict.capitalize()}", ""]
        lines += [f"- {claim.claim} *{claim.paper}, {claim.place}* ({weighing(claim)})" for claim in claims]
    return "\n".join(lines) + "\n"


def glossary(root: Path) -> str:
    """The glossary of notebook 00, as a page."""
    text = next(said for said in map(source, cells(root, "00_start_here")) if "### Glossary" in said)
    return "# Glossary\n" + linked(text.partition("### Glossary")[2], "notebooks")


def index(root: Path) -> str:
    """The front page, with the table of contents."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    about = readme.partition("\n\n")[2].partition("\n## ")[0]
    lines, contents = ["# The mindscape kit", "", about.strip(), ""], {}
    for part, begin in PARTS.items():
        paper = part.partition(": ")[2]
        pages = [f"paper_{paper.lower()}"] if paper else []
        contents[part] = [*pages, *(f"notebooks/{name}" for name in names(root, begin))]
    contents |= {"To look up": ["claims", "glossary", "log"], "Cards": [f"cards/{name}" for name, _ in cards(root)]}
    for caption, pages in contents.items():
        lines += ["```{toctree}", f":caption: {caption}", ":maxdepth: 1", *pages, "```", ""]
    return "\n".join(lines)


def accessible(html: str) -> str:
    """A page that a keyboard and a screen reader get through: what scrolls can be reached, what is shown names a button.

    >>> accessible('<table border="1"><summary aria-label="Toggle hidden content">Show</summary>')
    '<table tabindex="0" border="1"><summary>Show</summary>'
    """
    html = re.sub(r'<(table|math(?=[^>]* display="block"))\b', r'<\1 tabindex="0"', html)
    return re.sub(r'(<(?:summary|button)\b[^>]*?) aria-label="(?:Toggle hidden content|Search)"', r"\1", html)


# -- links ----------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The ids of a page and the links that it has."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, and what is linked or loaded."""
        for name, value in attrs:
            if value and name in ("id", "name"):
                self.ids.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def broken(html: Path) -> list[str]:
    """Links of the pages in a folder that lead nowhere; other hosts are not asked."""
    files = [path for path in html.rglob("*.html") if "_static" not in path.parts]
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in files}
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            target, mark = urldefrag(unquote(link))
            if re.match(r"(https?:)?//|data:|mailto:|javascript:", target):
                continue
            there = (path.parent / target.partition("?")[0]).resolve() if target else path
            if not there.exists() or (mark and there in pages and mark not in pages[there].ids):
                wrong.append(f"{path.relative_to(html.resolve())}: {link}")
    return sorted(set(wrong))


def main() -> int:
    """Write the sources, build, look at links; a line on what came of it, kept in build/site/site.json."""
    root, begun = paths.root(), time.perf_counter()
    home = paths.build_path("site")
    written(root, home / "source")
    shutil.rmtree(home / "html", ignore_errors=True)
    folders = map(str, (home / "doctrees", home / "source", home / "html"))
    command = [sys.executable, "-m", "sphinx", "-q", "-j", "2", "-d", *folders]
    built = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    warnings = [line for line in built.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
    for path in (home / "html").rglob("*.html"):
        path.write_text(accessible(path.read_text("utf-8")), "utf-8")
    wrong = broken(home / "html") if built.returncode == 0 else [built.stderr[-2000:]]
    for path in (home / "html").rglob("*.map"):  # for those who mend the theme
        path.unlink()
    size = sum(path.stat().st_size for path in (home / "html").rglob("*") if path.is_file()) / 1e6
    numbers = {"seconds": round(time.perf_counter() - begun, 1), "mb": round(size, 1)}
    numbers |= {"warnings": len(warnings), "broken": len(wrong)}
    (home / "site.json").write_text(json.dumps({f"site.{key}": value for key, value in numbers.items()}) + "\n", "utf-8")
    print(*warnings, *wrong, sep="\n", end="\n" * bool(warnings or wrong))
    print(f"{home / 'html' / 'index.html'}:", ", ".join(f"{name} {value}" for name, value in numbers.items()))
    return bool(warnings or wrong)


if __name__ == "__main__":
    sys.exit(main())
