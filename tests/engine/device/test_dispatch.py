"""The queue against a simulation that keeps events, not sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.device.dispatch import Run, Schedule, graph_replay, queued, synchronous, utilization
from ironlaw.engine.device.dispatch import simulate as simulate_schedule
from ironlaw.errors import UnknownName

times = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=12)


def idle_gaps(launches, kernels):
    """Where the device waits, from the starts of a queued run: (start, length) of each gap."""
    gaps, end = [], 0.0
    for start, kernel in zip(queued(launches, kernels).starts, kernels, strict=True):
        if start > end:
            gaps.append((end, start - end))
        end = start + kernel
    return gaps


def simulate(launches, kernels, tick=None):
    """A host that issues and a device that takes from a queue, event by event: wall, and when each kernel ran."""
    arrivals, now = [], 0.0
    for cost in launches:
        now += cost
        arrivals.append(now)
    queue = list(zip(arrivals, kernels, strict=True))
    clock, ran = 0.0, []
    while queue:
        arrival, length = queue.pop(0)
        while clock < arrival:  # the device waits for the event
            clock = arrival
        ran.append((clock, clock + length))
        clock += length
    return clock, ran


@given(times)
def test_queued_equals_the_simulation(pairs):
    launches, kernels = [p[0] for p in pairs], [p[1] for p in pairs]
    wall, ran = simulate(launches, kernels)
    line = queued(launches, kernels)
    assert line.wall == pytest.approx(wall, abs=1e-9)
    assert line.busy == pytest.approx(sum(end - start for start, end in ran), abs=1e-9)


@given(times)
def test_gaps_are_where_the_simulated_device_waits(pairs):
    launches, kernels = [p[0] for p in pairs], [p[1] for p in pairs]
    wall, ran = simulate(launches, kernels)
    ends = [0.0, *(end for _, end in ran)]
    expected = [(end, start - end) for end, (start, _) in zip(ends, ran, strict=False) if start > end]
    gaps = idle_gaps(launches, kernels)
    assert [g[0] for g in gaps] == pytest.approx([e[0] for e in expected])
    assert [g[1] for g in gaps] == pytest.approx([e[1] for e in expected])
    assert sum(length for _, length in gaps) == pytest.approx(wall - sum(kernels), abs=1e-9)


@given(times)
def test_queued_lies_between_its_limits_and_under_synchronous(pairs):
    launches, kernels = [p[0] for p in pairs], [p[1] for p in pairs]
    wall = queued(launches, kernels).wall
    assert wall <= synchronous(launches, kernels).wall + 1e-9
    assert wall >= sum(launches) + kernels[-1] - 1e-9
    assert wall >= launches[0] + sum(kernels) - 1e-9


def test_launch_bound_is_all_launches_and_the_last_kernel():
    assert queued([2.0] * 5, [1.0] * 5) == Run(11.0, 5.0)


def test_device_bound_is_one_launch_and_all_kernels():
    assert queued([1.0] * 5, [3.0] * 5) == Run(16.0, 15.0)


def test_mixed_by_hand():
    # launched at 2, 3, 4; runs 2–7, 7–8, 8–9
    assert queued([2.0, 1.0, 1.0], [5.0, 1.0, 1.0]) == Run(9.0, 7.0)
    # launched at 1, 5, 6; runs 1–3, 5–6, 6–7: the device waits 0–1 and 3–5
    assert queued([1.0, 4.0, 1.0], [2.0, 1.0, 1.0]) == Run(7.0, 4.0)
    assert idle_gaps([1.0, 4.0, 1.0], [2.0, 1.0, 1.0]) == [(0.0, 1.0), (3.0, 2.0)]
    assert idle_gaps([0.0, 1.0], [1.0, 1.0]) == []


def test_synchronous_adds():
    line = synchronous([10.0] * 4, [5.0] * 4)
    assert line == Run(60.0, 20.0)
    assert line.idle == 40.0
    assert line.utilization == pytest.approx(1 / 3)


def test_graph_is_one_launch_and_a_gap_per_kernel():
    assert graph_replay(10.0, [1.0, 2.0, 3.0], [1, 2, 1]) == Run(16.0, 6.0)
    assert graph_replay(10.0, [1.0, 2.0, 3.0], [1, 2, 1], gap=0.5) == Run(18.0, 6.0)
    assert graph_replay(10.0, [1.0, 2.0, 3.0], [1, 2, 1], gap=0.5).idle == 12.0


def test_arrays_equal_scalars():
    launches = [np.array([1.0, 2.0, 0.1]), 4.0, np.array([1.0, 0.0, 3.0])]
    kernels = [2.0, np.array([1.0, 3.0, 9.0]), 1.0]
    for run in (queued, synchronous):
        many = run(launches, kernels)
        for i in range(3):
            one = run([float(np.broadcast_to(v, 3)[i]) for v in launches], [float(np.broadcast_to(v, 3)[i]) for v in kernels])
            assert many.wall[i] == pytest.approx(one.wall)
            assert np.broadcast_to(many.busy, 3)[i] == pytest.approx(one.busy)
    assert np.all(queued([np.array([1.0, 1.0])], [2.0]).busy == 2.0)


def test_rows_of_one_array_are_kernels_too():
    kernels = np.arange(12.0).reshape(3, 4)
    assert queued(np.ones((3, 4)), kernels).busy.tolist() == [12.0, 15.0, 18.0, 21.0]


def test_a_launch_without_a_kernel_is_an_error():
    for run in (queued, idle_gaps):
        with pytest.raises(ValueError, match="zip"):
            run([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="zip"):
        queued([np.array([1.0]), 2.0], [1.0])


@pytest.mark.parametrize(
    ("count", "kernel", "share"),
    [(1000, 5e-6, 1 / 3), (200, 50e-6, 5 / 6), (20, 500e-6, 50 / 51)],  # errata 6, 22: KWS 33%, ResNet 83%, GPT-2 98%
)
def test_utilization_when_the_cpu_waits(count, kernel, share):
    assert utilization(count, kernel, 10e-6, mode="synchronous") == pytest.approx(share)


def test_utilization_with_a_queue():
    # 1,000 launches of 10 µs and the last kernel of 5 µs: 5,000 of 10,005
    assert utilization(1000, 5e-6, 10e-6) == pytest.approx(5000 / 10005)
    # device-bound: one launch of 10 µs, then 20 kernels of 500 µs
    assert utilization(20, 500e-6, 10e-6, mode="queued") == pytest.approx(10000 / 10010)
    assert utilization(1000, 5e-6, 50e-6, mode="synchronous") == pytest.approx(1 / 11)  # erratum 30


def test_utilization_with_memory_time():
    # 4 kernels of 3 s and launches of 1 s, 8 s of memory: 12 of 24
    assert utilization(4, 3.0, 1.0, 8.0, "synchronous") == 0.5
    # queued, device-bound: 1 + 4·(3 + 2) = 21
    assert utilization(4, 3.0, 1.0, 8.0) == pytest.approx(12 / 21)
    # queued, launch-bound: 4·9 + (3 + 2) = 41
    assert utilization(4, 3.0, 9.0, 8.0) == pytest.approx(12 / 41)


@given(st.integers(1, 40), st.floats(0.01, 10), st.floats(0.01, 10), st.floats(0, 10))
def test_utilization_agrees_with_the_scan(count, kernel, launch, memory):
    share = memory / count
    wall, _ = simulate([launch] * count, [kernel + share] * count)
    assert utilization(count, kernel, launch, memory) == pytest.approx(count * kernel / wall)
    both = synchronous([launch] * count, [kernel + share] * count).wall
    assert utilization(count, kernel, launch, memory, "synchronous") == pytest.approx(count * kernel / both)


def test_utilization_knows_two_ways_to_launch():
    with pytest.raises(UnknownName, match=r"^no dispatch 'graph'; known: queued, synchronous$"):
        utilization(1, 1.0, 1.0, mode="graph")


def test_utilization_over_arrays():
    launches = np.array([1.0, 5.0])
    assert utilization(4, 3.0, launches).tolist() == pytest.approx([12 / 13, 12 / 23])


def test_a_schedule_is_one_of_three():
    with pytest.raises(UnknownName, match=r"^no dispatch 'sometimes'; known: queued, replayed, synchronous$"):
        Schedule("sometimes")


@given(times)
def test_what_a_schedule_leaves_out_takes_no_time(pairs):
    kernels = [p[1] for p in pairs]
    for dispatch in ("queued", "synchronous", "replayed"):
        assert simulate_schedule(Schedule(dispatch), ()).wall == 0.0
    replayed = simulate_schedule(Schedule("replayed", counts=[1] * len(kernels)), kernels)
    assert (replayed.wall, replayed.idle) == (sum(kernels), 0.0)
    assert replayed.starts == (0.0, *np.cumsum(kernels)[:-1])


def test_a_run_by_itself_is_two_times_and_has_no_starts():
    assert repr(queued([2.0], [1.0])) == repr(Run(3.0, 1.0)) == "Run(wall=3.0, busy=1.0)"
    assert Run(3.0, 1.0).starts == ()


def test_when_the_host_launches():
    """Three launches of 2 s before kernels of 3, 1 and 1 s: waited for, run ahead, or one of 5 s for all."""
    assert synchronous([2.0] * 3, [3.0, 1.0, 1.0]).launching == ((0.0, 2.0), (5.0, 7.0), (8.0, 10.0))
    assert queued([2.0] * 3, [3.0, 1.0, 1.0]).launching == ((0.0, 2.0), (2.0, 4.0), (4.0, 6.0))
    assert graph_replay(5.0, [3.0, 1.0], [1, 1]).launching == ((0.0, 5.0),)


def test_a_run_over_many_points_knows_its_schedule():
    run = queued([np.array([1.0, 2.0])], [np.array([3.0, 4.0])])
    assert run.schedule.dispatch == "queued" and len(run.schedule.launches) == len(run.kernels) == 1


def test_an_op_that_the_host_waits_for_drains_the_queue():
    """By hand: launches of 1 and kernels of 4; the host waits for the second, so the third starts one launch after it."""
    schedule = Schedule("queued", [1.0, 1.0, 1.0], waits=[False, True, False])
    run = simulate_schedule(schedule, [4.0, 4.0, 4.0])
    assert run.wall == 14.0 and run.starts == (1.0, 5.0, 10.0) and run.launching == ((0.0, 1.0), (1.0, 2.0), (9.0, 10.0))
    many = simulate_schedule(schedule, [np.array([4.0, 0.5])] * 3)
    assert many.wall.tolist() == [14.0, 4.0]
