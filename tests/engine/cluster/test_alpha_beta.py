"""α and β from timed collectives: found again where they made the rows, held at 0 where rows would have them below, by hand."""

import math

import pytest

from ironlaw.engine.cluster.alpha_beta import Timed, Wire, fit, mean_error
from ironlaw.engine.cluster.collectives import time
from ironlaw.errors import BadValue


def test_two_rows_give_two_numbers() -> None:
    """2 steps and 10 bytes in 7 s, 4 steps and 10 bytes in 9 s: a second a step, 2 bytes a second."""
    found = fit([Timed(2, 10, 7.0), Timed(4, 10, 9.0)])
    assert found == pytest.approx(Wire(1.0, 2.0)) and found.seconds(3, 4) == pytest.approx(5.0)
    assert mean_error(found, [Timed(2, 10, 7.0), Timed(4, 10, 18.0)]) == pytest.approx(0.25)


def test_the_fit_finds_the_wire_that_made_the_rows() -> None:
    true, rows = Wire(5e-6, 50e9), []
    for algorithm in ("ring", "binomial", "recursive_doubling"):
        for size in (1e3, 1e5, 1e7, 1e9):
            terms = time("all_reduce", algorithm, 8, size, true.alpha, true.beta)
            rows.append(Timed(terms.latency / true.alpha, terms.bandwidth * true.beta, terms.total))
    assert fit(rows) == pytest.approx(true) and mean_error(fit(rows), rows) == pytest.approx(0, abs=1e-9)


def test_neither_is_below_zero() -> None:
    """Steps that made no difference, or made it faster: α is 0 and β the best alone. Bytes that made none: β is infinite."""
    fewer = fit([Timed(1, 10, 5.0), Timed(5, 10, 4.0)])
    assert fewer.alpha == 0.0 and 1 / fewer.beta == pytest.approx((10 / 5 + 10 / 4) / ((10 / 5) ** 2 + (10 / 4) ** 2))
    flat = fit([Timed(2, 1, 2.0), Timed(2, 9, 1.9)])
    assert flat.beta == math.inf and flat.alpha == pytest.approx((2 / 2 + 2 / 1.9) / ((2 / 2) ** 2 + (2 / 1.9) ** 2))
    assert flat.seconds(2, 1e9) == 2 * flat.alpha


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_rows_that_can_not_be_told_apart_are_refused(scale: float) -> None:
    for rows in ([Timed(2, 10 * scale, 7.0)], [Timed(2, 10 * scale, 7.0), Timed(4, 20 * scale, 9.0)], [Timed(2, 10 * scale, 7.0)] * 3):
        with pytest.raises(BadValue, match="time at least two sizes that are far apart"):
            fit(rows)
    assert fit([Timed(2, 10 * scale, 7.0), Timed(4, 10 * scale, 9.0)]).alpha == pytest.approx(1.0)
