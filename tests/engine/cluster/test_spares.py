"""Spare hosts: by hand, against the chain of states solved as such, and against a simulation with fixed times away."""

import math
import random

import pytest

from ironlaw.engine.cluster.spares import waiting
from ironlaw.errors import BadValue


def test_without_spares_it_is_the_time_away_over_the_whole() -> None:
    assert waiting(0, 100.0, 25.0) == pytest.approx(0.2) and waiting(3, 100.0, 0.0) == 0.0
    assert waiting(1, 1.0, 1.0) == pytest.approx(0.2)  # 1 : 1 : 1/2


@pytest.mark.parametrize(("spares", "load"), [(2, 0.5), (8, 7.8), (20, 7.8), (60, 62.0)])
def test_the_chain_of_states(spares: int, load: float) -> None:
    """With n hosts away for an exponential time, the next comes back at n times the rate: Poisson's law, cut off where the job stops."""
    weights = [math.exp(n * math.log(load) - math.lgamma(n + 1)) for n in range(spares + 2)]
    assert waiting(spares, 1.0, load) == pytest.approx(weights[-1] / sum(weights), rel=1e-12)


@pytest.mark.parametrize("spares", [0, 2])
def test_a_simulation_in_which_every_host_is_away_for_the_same_time(spares: int) -> None:
    draws, away, now, stopped, back = random.Random(5), 1.5, 0.0, 0.0, []
    for _ in range(100_000):
        now += draws.expovariate(1.0)
        back = [moment for moment in back if moment > now] + [now + away]
        if len(back) > spares:
            stopped += min(back) - now
            now = min(back)
    assert stopped / now == pytest.approx(waiting(spares, 1.0, away), rel=0.02)


@pytest.mark.parametrize(("spares", "between", "away"), [(-1, 1.0, 1.0), (1.5, 1.0, 1.0), (True, 1.0, 1.0), (1, 0.0, 1.0), (1, 1.0, -1.0)])
def test_what_is_not_a_number_of_hosts_or_a_time_is_refused(spares, between, away) -> None:
    with pytest.raises(BadValue):
        waiting(spares, between, away)
