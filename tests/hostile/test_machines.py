"""Machines other than the one that the kit was written on."""

import pytest

from mindscape import paths


@pytest.mark.parametrize(
    ("variable", "path"),
    [("MINDSCAPE_FIGURES", paths.figures), ("MINDSCAPE_CACHE", paths.cache), ("MINDSCAPE_BUILD", paths.build_path)],
)
def test_a_relative_folder_is_the_same_in_every_working_folder(tmp_path, monkeypatch, variable, path):
    monkeypatch.setenv(variable, "mine")
    before = path()
    monkeypatch.chdir(tmp_path)
    assert path() == before == before.absolute()
