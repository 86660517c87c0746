"""Memory levels from a bandwidth curve: steps are found, noise is not taken for one, the system's sizes are held against it."""

import random

import pytest

from ironlaw.measure.machine.cache_levels import falling, levels, plateaus

SIZES = [2**13 * 2 ** (i / 2) for i in range(33)]  # 8 KiB to 512 MiB


def curve(*steps, noise=0.0, seed=1):
    """steps: (up to this size, bandwidth)."""
    rng = random.Random(seed)
    return [(s, next(b for end, b in steps if s <= end) * (1 + rng.uniform(-noise, noise))) for s in SIZES]


THREE = ((128e3, 200e9), (2e6, 100e9), (32e6, 60e9), (1e12, 40e9))


def test_a_flat_curve_is_one_plateau():
    assert len(plateaus(curve((1e12, 50e9), noise=0.03))) == 1


@pytest.mark.parametrize("seed", range(5))
def test_steps_are_found_in_noise(seed):
    found = plateaus(curve(*THREE, noise=0.04, seed=seed))
    assert [rate for _, rate in found] == pytest.approx([200e9, 100e9, 60e9, 40e9], rel=0.06)
    for (end, _), (true, _) in zip(found[:-1], THREE, strict=False):
        assert true / 2 < end <= true


def test_without_reports_each_plateau_but_the_last_is_a_level():
    found = levels(curve(*THREE), {})
    assert [level.name for level in found] == ["l1", "l2", "l3"]
    assert not any(level.reported for level in found)


def test_reported_sizes_are_the_levels_and_the_curve_confirms_them():
    found = levels(curve(*THREE), {"l1": 128e3, "l2": 2e6, "l3": 32e6})
    assert [(level.name, level.size, level.has_step) for level in found] == [("l1", 128e3, True), ("l2", 2e6, True), ("l3", 32e6, True)]
    assert [level.bandwidth for level in found] == pytest.approx([200e9, 100e9, 60e9])


def test_a_reported_cache_without_a_step_is_kept_and_said():
    flat = curve((128e3, 200e9), (1e12, 40e9))
    l1, l3 = levels(flat, {"l1": 128e3, "l3": 32e6})
    assert (l1.has_step, l3.has_step) == (True, False)
    assert l3.bandwidth == pytest.approx(40e9)


def test_a_rise_at_the_start_is_overhead_not_a_level():
    points = [(s, 10e9 if s < 40e3 else b) for s, b in curve(*THREE)]
    assert falling(points)[0][1] == 200e9
    assert len(plateaus(points)) == 4


def test_nothing_measured():
    assert plateaus([]) == []
    assert levels([], {"l1": 1e5}) == []
