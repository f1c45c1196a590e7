"""The least time of several runs."""

import pytest

from mindscape.benchmark import least


class Clock:
    """A clock that calls move on."""

    def __init__(self, *takes):
        self.now, self.takes = 0.0, list(takes)

    def __call__(self):
        return self.now

    def work(self):
        self.now += self.takes.pop(0)


def test_the_least_time_has_to_be_met_twice():
    clock = Clock(5.0, 3.0, 4.0, 3.05)
    assert least(clock.work, runs=2, clock=clock) == [3.0] and not clock.takes


def test_calls_take_turns_until_all_have_settled():
    clock = Clock(1.0, 9.0, 1.0, 8.0, 1.0, 8.0, 7.0)
    assert least(clock.work, clock.work, runs=2, clock=clock) == [1.0, 8.0] and clock.takes == [7.0]


@pytest.mark.parametrize("most", [2, 4])
def test_noise_without_end_is_given_up(most):
    clock = Clock(*(2.0**-i for i in range(most)))
    assert least(clock.work, runs=2, most=most, clock=clock) == [2.0 ** (1 - most)]
