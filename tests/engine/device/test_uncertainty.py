"""How errors of operators add up: against random draws, and against the laws that any such sum must obey."""

import math
from statistics import quantiles

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.dispatch import Schedule, simulate
from ironlaw.engine.device.intervals import HOST, intervals, judged
from ironlaw.engine.device.predict import OpRow
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE, SURE, Doubt, Scatter, around, combined_sd, combined_sds, matern, materns, shares

SECONDS = st.floats(1e-7, 1.0)
SDS = st.floats(0.01, 1.0)


def part(seconds, sd=0.1, family="a", at=(0.0,), place="inside"):
    return seconds, Doubt(sd, family, at, place)


def test_four_in_five_of_a_normal_error():
    rng = np.random.default_rng(0)
    assert (abs(rng.standard_normal(200_000)) < FOUR_IN_FIVE).mean() == pytest.approx(0.8, abs=0.005)


# ---- one operator


@given(SECONDS, SDS, st.floats(-0.5, 0.5))
def test_the_interval_holds_the_time(seconds, sd, bias):
    low, high = around(seconds, sd, bias)
    assert 0 < low <= seconds <= high


@given(SECONDS, SDS, SDS)
def test_less_sure_is_wider(seconds, a, b):
    narrow, wide = around(seconds, min(a, b)), around(seconds, max(a, b))
    assert wide[0] <= narrow[0] and narrow[1] <= wide[1]


@given(SECONDS, SDS, st.floats(0.0, 2.0))
def test_nothing_lies_below_the_least(seconds, sd, share):
    assert around(seconds, sd, least=share * seconds)[0] >= min(share, 1.0) * seconds


def test_a_factor_too_long_and_one_too_short_are_alike():
    low, high = around(1.0, 0.3)
    assert low * high == pytest.approx(1.0)
    assert around(1.0, math.inf) == (0.0, math.inf)


def test_an_error_beyond_all_numbers_leaves_the_end_open():
    assert around(1.0, 1000.0) == (0.0, math.inf)  # e^1281 is no float
    assert [around(1.0, 0.0, bias)[1] for bias in (699.0, 700.0)] == [math.exp(699.0), math.inf]


# ---- a total


@given(SECONDS, SDS, st.integers(2, 60))
def test_equal_halves_err_together(seconds, sd, count):
    """Fifty equal layers are no surer than one."""
    assert combined_sd([part(seconds * count, sd)], 0.3) == pytest.approx(sd)
    assert combined_sd([part(seconds, sd)] * count, 0.3) == pytest.approx(sd)


@given(SDS, st.integers(2, 60))
def test_families_that_share_nothing_cancel(sd, count):
    ops = [part(1.0, sd, family=str(i)) for i in range(count)]
    assert combined_sd(ops, 0.7) == pytest.approx(sd / math.sqrt(count))


@given(st.lists(st.tuples(SECONDS, SDS, st.sampled_from("abc"), st.floats(0, 5)), min_size=1, max_size=12))
def test_a_total_lies_between_apart_and_together(drawn):
    ops = [part(seconds, sd, family, (at,)) for seconds, sd, family, at in drawn]
    apart, together = combined_sds(ops)
    whole = sum(seconds for seconds, *_ in drawn)
    least = math.sqrt(sum((seconds * sd) ** 2 for seconds, sd, *_ in drawn)) / whole
    assert least <= apart * (1 + 1e-9) and apart <= together * (1 + 1e-9) and together <= max(sd for _, sd, *_ in drawn) * (1 + 1e-9)
    assert apart - 1e-12 <= combined_sd(ops, 0.4) <= together + 1e-12


def test_nearer_ops_err_more_alike():
    far, near, same = (combined_sd([part(1.0), part(1.0, at=(gap,))], 0.0) for gap in (9.0, 0.5, 0.0))
    assert 0.1 / math.sqrt(2) == pytest.approx(far, rel=1e-3)
    assert far < near < same == pytest.approx(0.1)


def test_against_random_draws():
    """A hundred thousand models whose operators err as the law says: the sum's scatter is the one that is foretold."""
    rng = np.random.default_rng(1)
    seconds, sds = np.array([3.0, 1.0, 2.0, 4.0]), np.array([0.05, 0.1, 0.08, 0.04])
    families, at, common = ["a", "a", "a", "b"], [0.0, 0.4, 2.0, 0.0], 0.25
    covariance = np.array([
        [(common + (1 - common) * matern(abs(at[i] - at[j]))) * sds[i] * sds[j] * (families[i] == families[j]) for j in range(4)]
        for i in range(4)
    ])  # fmt: skip
    totals = np.exp(rng.multivariate_normal(np.zeros(4), covariance, 100_000)) @ seconds
    sd = combined_sd([part(t, s, f, (x,)) for t, s, f, x in zip(seconds, sds, families, at, strict=True)], common)
    low, high = around(10.0, sd)
    assert np.log(totals).std() == pytest.approx(sd, rel=0.02)
    assert ((low <= totals) & (totals <= high)).mean() == pytest.approx(0.8, abs=0.01)
    tenths = quantiles(totals, n=10)
    assert (tenths[0], tenths[-1]) == pytest.approx((low, high), rel=0.01)


def test_a_sweep_is_each_of_its_points():
    sizes = np.array([1.0, 2.0, 5.0])
    swept = combined_sds([part(sizes, 0.1, at=(np.log2(sizes),)), part(2.0, np.array([0.1, 0.2, 0.4]), at=(1.0,))])
    for i, size in enumerate(sizes):
        alone = combined_sds([part(size, 0.1, at=(math.log2(size),)), part(2.0, (0.1, 0.2, 0.4)[i], at=(1.0,))])
        assert (swept[0][i], swept[1][i]) == pytest.approx(alone)


@pytest.mark.parametrize("swept", ["seconds", "sd", "at", "sd, and no place"])
def test_one_swept_figure_makes_a_sweep(swept):
    """Σᵢ Σⱼ wᵢ ρᵢⱼ wⱼ as matrices, whichever of the three it is that varies."""
    values = np.array([0.5, 1.0, 3.0])
    vary = {"seconds": values} if swept == "seconds" else {"at": (values,)} if swept == "at" else {"sd": values}
    still = () if "no place" in swept else (0.0,)
    one = {"seconds": 2.0, "sd": 0.3, "at": still, **vary}
    apart, together = combined_sds([part(**one), part(1.0, 0.2, at=still), part(9.0, 5.0, place="unknown")])
    for i, value in enumerate(values):
        seconds, sd = (value if swept == "seconds" else 2.0), (value if swept.startswith("sd") else 0.3)
        x = math.sqrt(3.0) * value if swept == "at" else 0.0
        weights, rho = np.array([seconds * sd, 0.2]), (1.0 + x) * math.exp(-x)
        assert apart[i] == pytest.approx(np.sqrt(weights @ [[1.0, rho], [rho, 1.0]] @ weights) / (seconds + 1.0))
        assert together[i] == pytest.approx(weights.sum() / (seconds + 1.0))


def test_a_long_sweep_is_made_at_seventeen_points_and_straight_between():
    """Of 161 points every tenth; the one in the middle is the mean of its neighbours, not what the law says there."""
    at = np.linspace(0.0, 4.0, 161)
    apart, together = combined_sds([part(1.0, at=(at,)), part(1.0)])
    exact = [combined_sds([part(1.0, at=(x,)), part(1.0)])[0] for x in at.tolist()]
    assert apart[::10] == pytest.approx(exact[::10])
    assert apart[5::10] == pytest.approx((apart[:-1:10] + apart[10::10]) / 2)
    assert apart[5] != pytest.approx(exact[5], rel=1e-3)
    assert together == pytest.approx([0.1] * 161)


def test_no_time_is_no_error():
    for ops in ([], [part(1.0, place="unknown")], [part(0.0)]):
        assert combined_sds(ops) == (0.0, 0.0)


def test_many_distances_at_once():
    assert materns([0.0, 0.3, 2.0]) == [matern(0.0), matern(0.3), matern(2.0)] and matern(0.0) == 1.0


def test_shares_of_the_time():
    ops = [part(4.0), part(np.array([0.5, 1.5])), part(3.0, place="outside"), part(1.0, place="unknown")]
    assert shares(ops) == pytest.approx({"inside": 0.6, "near": 0.0, "outside": 0.3, "unknown": 0.1})
    assert f"{shares(ops)['near']:.0%}" == "0%"  # and not "-0%"
    assert shares([]) == dict.fromkeys(("inside", "near", "outside", "unknown"), 0.0)


# ---- device and host together


class Judge:
    common = 0.0

    def __init__(self, **scatter):
        self.scatter = scatter


def rows(*seconds, sd=0.1, place="inside"):
    return [OpRow(None, Cost(value, 0.0, doubt=Doubt(sd, str(i), place=place))) for i, value in enumerate(seconds)]


def test_a_host_that_is_hidden_changes_nothing():
    run = simulate(Schedule("queued", [0.001] * 3), [1.0] * 3)
    found = intervals(rows(1.0, 1.0, 1.0), run, Judge(host=Scatter(0.0, 1.0)), "eager", given=False)
    assert found.host[0] < 0.003 < found.host[1]
    device = [end + 0.001 for end in found.device]
    assert found.wall == pytest.approx(device, rel=2e-3)


def test_a_device_that_waits_changes_little():
    run = simulate(Schedule("queued", [1.0] * 3), [0.001] * 3)
    found = intervals(rows(0.001, 0.001, 0.001, sd=1.0), run, Judge(host=Scatter(0.0, 0.2)), "eager", given=False)
    assert found.wall == pytest.approx(found.host, rel=2e-3)


def test_one_after_the_other_both_count_as_independent_errors_do():
    run = simulate(Schedule("synchronous", [1.0]), [1.0])
    found = intervals(rows(1.0, sd=0.05), run, Judge(host=Scatter(0.0, 0.05)), "eager", given=False)
    assert found.wall[1] - 2.0 == pytest.approx(math.hypot(found.device[1] - 1.0, found.host[1] - 1.0))


def test_a_launch_that_was_given_is_sure():
    run = simulate(Schedule("synchronous", [1.0]), [1.0])
    found = intervals(rows(1.0), run, Judge(host=Scatter(0.3, 1.0)), "eager", given=True)
    assert found.host == (1.0, 1.0)


def test_an_op_of_unknown_time_leaves_the_end_open():
    (known,), run = rows(1.0), simulate(Schedule("synchronous", [0.0, 0.0]), [1.0, 1.0])
    found = intervals([known, *rows(1.0, place="unknown")], run, Judge(), "eager", given=False)
    assert found.device == (pytest.approx(around(1.0, 0.1)[0]), math.inf) and found.wall[1] == math.inf
    assert found.wall[0] <= 1.0


@pytest.mark.parametrize(("kind", "sd"), [("eager", 0.1), ("compiled", 0.2), ("graphs", 0.2), ("training", 0.2)], ids=str)
def test_what_was_not_measured_is_judged_by_what_came_out_worst(kind, sd):
    scatter = {"eager": Scatter(0.0, 0.1), "compiled": Scatter(0.0, 0.2), HOST: Scatter(0.0, 9.0)}
    assert judged(scatter, kind).sd == sd
    assert judged({}, kind) == SURE


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("graphs", "compiled"), ("graphs fp32", "compiled"), ("compiled fp32", "compiled"), ("eager_graphs", "eager"),
        ("eager fp32", "eager fp32"), ("eager_graphs fp32", "eager fp32"), ("training", "eager fp32"),
    ],
    ids=str,
)  # fmt: skip
def test_a_replay_is_judged_by_the_same_kernels_and_a_format_by_its_mode(kind, key):
    """The worst is the one that scatters most, though another leans further to one side."""
    scatter = {
        "compiled": Scatter(0.3, 0.1),
        "eager": Scatter(0.2, 0.4),
        "eager fp32": Scatter(0.1, 0.2, 3.0),
        HOST: Scatter(1.0, 9.0, 9.0),
    }
    assert judged(scatter, kind) is scatter[key]
    sides = {"compiled": Scatter(0.3, 0.1), "eager": Scatter(0.2, 0.4)}
    assert judged(sides, "training") is sides["eager"]


def test_device_and_host_lean_as_they_did():
    """By hand: e^(bias ± 1.28 sd), and a host that is taken for the one that was measured unless told otherwise."""
    run = simulate(Schedule("synchronous", [2.0]), [1.0])
    judge = Judge(eager=Scatter(0.3, 0.0), host=Scatter(0.4, 0.2))
    found = intervals(rows(1.0), run, judge, "eager", given=False)
    assert found.device == pytest.approx((1.0, math.exp(0.3 + 0.12816)))  # it holds the time itself
    assert found.host == pytest.approx((2.0, 2.0 * math.exp(0.4 + 0.25632)))
    elsewhere = intervals(rows(1.0), run, judge, "eager", given=False, other_host=True)
    assert elsewhere.host == pytest.approx((2.0 * math.exp(-0.25632), 2.0 * math.exp(0.25632)))


def test_a_replay_waits_longer_for_its_one_launch():
    run = simulate(Schedule("replayed", start=2.0, gap=0.5, counts=[1.0]), [1.0])
    found = intervals(rows(1.0, sd=0.0), run, Judge(host=Scatter(0.0, 0.2)), "graphs", given=False)
    assert run.wall == 3.5 and found.wall == pytest.approx([3.5 + 2.0 * (math.exp(side * 0.25632) - 1.0) for side in (-1.0, 1.0)])


def test_an_op_of_unknown_kind_that_takes_no_time_opens_nothing():
    run = simulate(Schedule("synchronous", [0.0, 0.0]), [1.0, 0.0])
    found = intervals([*rows(1.0), *rows(0.0, place="unknown")], run, Judge(), "eager", given=False)
    assert found.device == pytest.approx(around(1.0, 0.1)) == found.wall


@pytest.mark.parametrize("dispatch", ["queued", "synchronous"])
def test_launches_that_are_swept_move_point_by_point(dispatch):
    launches = np.array([0.01, 1.0, 3.0])
    judge = Judge(host=Scatter(0.0, 0.2))
    swept = intervals(rows(1.0, 1.0), simulate(Schedule(dispatch, [launches, launches]), [1.0, 1.0]), judge, "eager", given=False)
    for i, launch in enumerate(launches.tolist()):
        alone = intervals(rows(1.0, 1.0), simulate(Schedule(dispatch, [launch, launch]), [1.0, 1.0]), judge, "eager", given=False)
        assert (swept.wall[0][i], swept.wall[1][i]) == pytest.approx(alone.wall)
        assert (swept.host[0][i], swept.host[1][i]) == pytest.approx(alone.host)
