"""A cell that takes longer than a few seconds shows that it lives, where somebody looks: in JupyterLab, by tqdm.

What runs by a program, such as `make figures` and `make test`, prints nothing, so that stored outputs stay the same; the
workflow has lines of its own. Nobody knows how long a cell will take; what is computed for the store says so itself
(`mindscape.store.Progress`). Taught in notebook 00_start_here.
"""

import os
import threading
from collections.abc import Callable
from typing import Any

from tqdm.auto import tqdm

AFTER, EACH = 5.0, 1.0  # seconds before something shows, and between two signs of life
FORM = "still running, {elapsed}"


class Alive:
    """A sign of life between `begin` and `end`, the handlers of IPython's events; `bar` makes what is shown.

    >>> import io, time
    >>> shown = io.StringIO()
    >>> alive = Alive(after=0.01, bar=lambda **how: tqdm(file=shown, **how))
    >>> alive.begin(); time.sleep(0.3); alive.end()
    >>> "still running, 00:0" in shown.getvalue()
    True
    """

    def __init__(self, after: float = AFTER, bar: Callable[..., Any] = tqdm):
        self.after, self.bar = after, bar
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, *_: Any) -> None:
        """A cell begins."""
        self.end()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, args=(self._over,), daemon=True)
        self._thread.start()

    def end(self, *_: Any) -> None:
        """It is over: what was shown goes."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _live(self, over: threading.Event) -> None:
        if over.wait(self.after):
            return
        with self.bar(bar_format=FORM, leave=False) as shown:
            while not over.wait(EACH):
                shown.refresh()


_alive: Alive | None = None


def show_life(shell: Any) -> None:
    """From the next cell on, once a session and only in JupyterLab. `shell`: IPython's, None outside of it.

    >>> show_life(None)
    """
    global _alive
    if shell is not None and _alive is None and "JPY_SESSION_NAME" in os.environ:
        _alive = Alive()
        shell.events.register("pre_run_cell", _alive.begin)
        shell.events.register("post_run_cell", _alive.end)
