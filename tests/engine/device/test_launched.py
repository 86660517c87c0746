"""A pass by hand: a thousand kernels of 5 µs behind launches of 10 µs, and the ops of a prediction behind other launches than its own."""

import pytest
from pytest import approx

import ironlaw as il
from ironlaw.engine.device.launched import Launched, as_predicted, equal_kernels

SPOTTER = equal_kernels(1000, 10e-6, 4e-3, 1e-3)


@pytest.mark.parametrize(
    ("run", "wall"),
    [(SPOTTER.run(is_queued=False), 15e-3), (SPOTTER.run(is_queued=True), 10.005e-3), (SPOTTER.replayed(10e-6), 5.01e-3),
     (SPOTTER.replayed(10e-6, gap=1e-6), 6.01e-3)],
)  # fmt: skip
def test_where_the_wall_time_of_equal_kernels_goes(run, wall):
    spent = SPOTTER.spent(run)
    assert (spent.wall, spent.compute, spent.memory, spent.floor, spent.launches) == (approx(wall), 4e-3, 1e-3, 0.0, 1000)
    assert spent.busy == approx(5e-3) and spent.dispatch == approx(wall - 5e-3)


def test_a_gap_is_paid_for_every_kernel_however_few_entries_there_are():
    assert Launched([1.0, 1.0], [2.0, 3.0], 10, 4.0, 1.0).replayed(1.0, gap=0.5).wall == 1 + 5 + 10 * 0.5


def test_the_ops_of_a_prediction_behind_other_launches():
    machine = il.hardware("h200_sxm")
    whole = il.predict(il.workload("dscnn_kws", batch=1, dtype="fp16"), machine)
    own = as_predicted(whole, round(whole.kernels))
    assert sum(own.launches) == approx(sum(row.launch_s for row in whole.ops)) and sum(own.kernels) == approx(whole.busy_s)
    assert own.compute + own.memory + own.floor == approx(sum(own.kernels)) and own.floor == approx(sum(row.floor_s for row in whole.ops))
    twice = as_predicted(whole, 2 * round(whole.kernels), speed=4.0)
    assert sum(twice.launches) == approx(2 * sum(own.launches)) and sum(twice.kernels) == approx(sum(own.kernels) / 4)
    assert (twice.compute, twice.floor) == (approx(own.compute / 4), approx(own.floor / 4))
