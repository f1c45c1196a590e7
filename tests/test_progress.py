"""A cell that takes long shows that it lives, where somebody looks, and leaves nothing behind."""

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from mindscape import results


class Bar:
    """In tqdm's place: keeps what it was asked to show, and whether it was closed."""

    def __init__(self):
        self.made, self.closed = [], 0

    @contextmanager
    def __call__(self, **how):
        self.made.append(how)
        yield SimpleNamespace(refresh=lambda: None)
        self.closed += 1


def test_a_short_cell_shows_nothing():
    bar = Bar()
    alive = results.Alive(after=5, bar=bar)
    alive.begin()
    alive.end()
    assert not bar.made


def test_a_long_cell_shows_until_its_end_and_takes_it_away():
    bar = Bar()
    alive = results.Alive(after=0.01, bar=bar)
    alive.begin()
    time.sleep(0.3)
    assert len(bar.made) == 1 and not bar.closed
    alive.end()
    assert bar.closed == 1 and bar.made[0]["leave"] is False


def test_a_cell_that_begins_while_another_shows_ends_it():
    bar, before = Bar(), threading.active_count()
    alive = results.Alive(after=0.01, bar=bar)
    for _ in range(3):
        alive.begin()
        time.sleep(0.1)
    alive.end()
    assert len(bar.made) == bar.closed == 3 and threading.active_count() == before


@pytest.mark.parametrize(("looked_at", "events"), [(True, ["pre_run_cell", "post_run_cell"]), (False, [])])
def test_it_shows_where_somebody_looks(monkeypatch, looked_at, events):
    monkeypatch.setattr(results, "_alive", None)
    monkeypatch.setenv("JPY_SESSION_NAME", "notebook")
    if not looked_at:
        monkeypatch.delenv("JPY_SESSION_NAME")
    registered = []
    shell = SimpleNamespace(events=SimpleNamespace(register=lambda event, _: registered.append(event)))
    results.show_life(shell)
    results.show_life(shell)  # once
    assert registered == events
