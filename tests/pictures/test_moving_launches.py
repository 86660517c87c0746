"""Host and device as two lanes: every bar stands where the engine's run has it, and what is counted is what has run."""

from pytest import approx

from ironlaw.engine.device.dispatch import graph_replay, queued, synchronous
from ironlaw.pictures.moving.launches import FEW, SOME, Way, launches, window
from ironlaw.widget.motion import Bar, Counter

KERNELS = [3e-6, 1e-6, 2e-6]
COSTS = [2e-6] * 3


def ways(kernels, costs):
    return [
        Way("eager", synchronous(costs, kernels), ["compute"]),
        Way("queued", queued(costs, kernels), ["memory"]),
        Way("replay", graph_replay(4e-6, kernels, [1] * len(kernels)), ["compute"]),
    ]


def bars(motion, colour=None):
    """(start, end) in µs of each panel's lane, in order."""
    lanes: dict[float, list[tuple[float, float]]] = {}
    for thing in motion.things:
        if isinstance(thing, Bar):
            lanes.setdefault(thing.y, []).append((round(1e6 * thing.start, 6), round(1e6 * thing.end, 6)))
    return [lanes[y] for y in sorted(lanes)]


def test_a_short_pass_is_drawn_whole():
    motion = launches(ways(KERNELS, COSTS))
    assert motion.end == approx(12e-6)  # three launches of 2 µs, and 6 µs of kernels
    assert bars(motion) == [
        [(0, 2), (5, 7), (8, 10)], [(2, 5), (7, 8), (10, 12)],
        [(0, 2), (2, 4), (4, 6)], [(2, 5), (5, 6), (6, 8)],
        [(0, 4)], [(4, 7), (7, 8), (8, 10)],
    ]  # fmt: skip
    assert motion.title == "Eager takes 12 µs, queued 8 µs".replace(" µs", "\u202fµs")


def test_what_is_counted_is_what_has_run():
    first = ways(KERNELS, COSTS)[0]
    assert [first.done(at) for at in (0.0, 2e-6, 5e-6, 7.5e-6, 12e-6)] == approx([0, 0, 3 / 6, 3.5 / 6, 1])
    counter = next(thing for thing in launches([first]).things if isinstance(thing, Counter))
    for at, percent in counter.points:
        assert percent == approx(100 * first.done(at))


def test_a_long_pass_is_drawn_until_the_slowest_way_has_run_some_kernels():
    many = ways([5e-6] * 1000, [10e-6] * 1000)
    motion = launches(many)
    assert motion.end == window(many) == approx(SOME * 15e-6) and "first 240" in motion.note
    assert [len(lane) for lane in bars(motion)] == [SOME, SOME, 24, 23, 1, 48]
    assert f"{many[2].done(motion.end):.3f}" == f"{(240 - 4) / 5000:.3f}"
    assert max(end for lane in bars(motion) for _, end in lane) <= 240


def test_kernels_finer_than_the_eye_are_one_bar():
    fine = launches(ways([1e-9] * 5000, [10e-6] * 5000))
    assert len(bars(fine)[-1]) == 1 and len(fine.things) < 10 * FEW


def test_no_gap_no_loss():
    assert "almost nothing" in launches(ways([1e-3] * 50, [1e-6] * 50)[1:]).title
