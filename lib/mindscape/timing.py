"""How long things take beside each other, on a machine that does other work as well.

Taught in notebook 00_start_here.
"""

import time
from collections.abc import Callable
from typing import Any

AGREE = 1.03  # the least time stands when another is at most so many times as long


def least(
    *calls: Callable[[], Any],
    runs: int = 3,
    most: int = 9,
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """Seconds that each of `calls` takes, by `clock` (processor time): the least of several runs, in turn.

    What else the machine does only ever adds to a run, so the least is the one that tells. Each is called at least `runs`
    times, then until the least time of each has been met twice (within three in a hundred), at most `most` times.

    >>> short, long = least(lambda: sum(range(20_000)), lambda: sum(range(200_000)))
    >>> short < long
    True
    """
    seconds: list[list[float]] = [[] for _ in calls]
    for run in range(most):
        if run >= max(runs, 2) and all(_settled(of) for of in seconds):
            break
        for call, of in zip(calls, seconds, strict=True):
            begun = clock()
            call()
            of.append(clock() - begun)
    return [min(of) for of in seconds]


def _settled(seconds: list[float]) -> bool:
    first, second = sorted(seconds)[:2]
    return second <= AGREE * first
