"""Notebook 43 makes no widget where nobody can move it: run by a program, its messages would wait for a page."""

import json

from ipywidgets.widgets import widget

from mindscape import paths


def test_no_widget_without_a_page(monkeypatch, capsys):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    cells = json.loads((paths.root() / "notebooks" / "43_hmv_theorem.ipynb").read_text(encoding="utf-8"))["cells"]
    (source,) = ["".join(cell["source"]) for cell in cells if "ipywidgets" in "".join(cell["source"])]
    made = []
    monkeypatch.setattr(widget.Widget, "__init__", lambda self, *_, **__: made.append(self))
    exec(source, {"picture": None})
    assert not made and "in JupyterLab" in capsys.readouterr().out
