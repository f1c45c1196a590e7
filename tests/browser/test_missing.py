"""What `make browser` says where there is no browser."""

import os
import shutil
import subprocess

import pytest

from tests.browser.conftest import ROOT


@pytest.mark.parametrize("named", ["", "/no/such/program"])
def test_a_missing_browser_is_told_in_one_line(tmp_path, named):
    (tmp_path / "make").symlink_to(shutil.which("make"))
    bare = {**os.environ, "PATH": str(tmp_path), "MINDSCAPE_BROWSER": named}
    command = ["make", "--silent", "--old-file=.venv/browser", "browser"]
    done = subprocess.run(command, cwd=ROOT, env=bare, capture_output=True, text=True)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith("make")]
    assert done.returncode and len(said) == 1, said
    assert (named or "no Chromium") in said[0] and "apt install chromium" in said[0]
