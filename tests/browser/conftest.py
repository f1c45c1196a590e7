"""A real browser before JupyterLab and before the course's site, both on loopback; `make browser` runs what is here.

The browser is Chromium, found on the path or named by MINDSCAPE_BROWSER; nothing is downloaded. Runs write to a folder of their
own, and no request may leave this machine.
"""

import functools
import http.server
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from mindscape import paths

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


def found_browser() -> str:
    """The browser's path; one line ends the run where there is none."""
    named = os.environ.get("MINDSCAPE_BROWSER", "")
    path = shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        what = f"MINDSCAPE_BROWSER={named} is no program" if named else "no Chromium on the path"
        raise pytest.UsageError(f"{what}: install it (Debian: apt install chromium), or name it in MINDSCAPE_BROWSER")
    return path


def pytest_sessionstart() -> None:
    """Before anything else is started."""
    found_browser()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    options = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found_browser(), headless=True, args=options)
        yield made
        made.close()


@pytest.fixture
def page(browser) -> Iterator[Page]:
    """A page 1280 wide that asks nobody but this machine; a request to another fails the test."""
    shown, left = browser.new_page(viewport={"width": 1280, "height": 900}), []

    def guarded(route):
        local = route.request.url.startswith(("http://127.0.0.1:", "data:", "blob:", "file:"))
        if not local:
            left.append(route.request.url)
        route.continue_() if local else route.abort()

    shown.route("**/*", guarded)
    yield shown
    shown.close()
    assert not left, f"requests left the machine: {left[:3]}"


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The course's site, built where it is older than the notebooks or than what builds it, and its address."""
    home, builder = paths.build_path("site", "html"), ROOT / "lib" / "mindscape" / "workflow" / "site.py"
    newest = max(path.stat().st_mtime for path in (builder, builder.with_name("page.css"), *ROOT.glob("notebooks/*.ipynb")))
    built = home / "index.html"
    if not built.is_file() or built.stat().st_mtime < newest:
        subprocess.run([sys.executable, "-m", "mindscape.workflow.site"], cwd=ROOT, check=True)
    handler = functools.partial(Silent, directory=str(home))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        pass


class Lab:
    """JupyterLab, rooted as `make lab` roots it, on a copy of the notebooks."""

    def __init__(self, url: str, token: str, home: Path):
        self.url, self.token, self.home = url, token, home

    def open(self, page: Page, notebook: str) -> None:
        """A notebook in a workspace of its own, ready to be run."""
        place = f"lab/workspaces/t{secrets.token_hex(4)}/tree/notebooks/{notebook}.ipynb?reset&token={self.token}"
        page.goto(f"{self.url}/{place}")
        page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=90_000)
        page.evaluate(READY)

    def run(self, page: Page, source: str = "") -> list[list[str]]:
        """All cells, to the end; before it the source of the cell that holds `source`'s first line is replaced. Of each
        code cell its number, and what it printed, or its error."""
        return page.evaluate(RUN, source)


READY = """async () => {
  const app = window.jupyterapp; await app.restored;
  const panel = app.shell.currentWidget; await panel.context.ready; await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}"""
RUN = """async (source) => {
  const said = output => output.output_type === 'error' ? 'error ' + output.evalue : [output.text].flat().join('');
  const panel = window.jupyterapp.shell.currentWidget, first = source.split('\\n')[0];
  const cells = Array.from(panel.content.model.cells);
  if (source) {
    const cell = cells.find(cell => cell.sharedModel.getSource().startsWith(first));
    cell.sharedModel.setSource(source);
  }
  await window.jupyterapp.commands.execute('notebook:run-all-cells');
  return panel.content.model.toJSON().cells.filter(cell => cell.cell_type === 'code')
    .map(cell => [String(cell.execution_count), ...cell.outputs.map(said)]);
}"""


@pytest.fixture(scope="session")
def lab(tmp_path_factory) -> Iterator[Lab]:
    home, token = tmp_path_factory.mktemp("lab"), secrets.token_hex(8)
    shutil.copytree(ROOT / "notebooks", home / "notebooks")
    for name in ("data", "figures"):  # what notebooks link to
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("store", "*.safetensors"))
    (home / "settings").mkdir()
    (home / "settings" / "overrides.json").write_text(json.dumps(QUIET))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    written = {name: home / "written" / name.lower() for name in ("FIGURES", "BUILD", "CACHE")}
    assets = paths.cache() / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    written["CACHE"].mkdir(parents=True)
    (written["CACHE"] / "assets").symlink_to(assets)
    environment = {**os.environ, **{f"MINDSCAPE_{name}": str(path) for name, path in written.items()}}
    options = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0", "--allow-root"]
    options += [f"--IdentityProvider.token={token}", f"--LabApp.app_settings_dir={home / 'settings'}"]
    command = [sys.executable, "-m", "jupyterlab", "--expose-app-in-browser", *options]
    with (home / "lab.log").open("w") as log:
        process = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(f"{url}/api/status?token={token}", home / "lab.log")
            yield Lab(url, token, home)
        finally:
            process.terminate()
            process.wait(20)


def wait_for(url: str, log: Path, seconds: float = 60) -> None:
    """Until a server answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=2).read()
            return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"JupyterLab did not start: {log.read_text()[-500:]}")
