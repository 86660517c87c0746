"""Resampling and training: figures that SciPy and the theorem give, in a blink."""

import numpy as np
import pytest
from scipy import stats

from ironlaw.engine.parity.rates import fpr_of
from ironlaw.ledger.event_kinds import ROW
from ironlaw.measure.experiments import resample, train_here
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled
from ironlaw.registry.scored_groups import groups


@pytest.fixture(scope="module")
def drawn():
    return {row["name"]: row for row in run("resample")["rows"]}


def test_two_gaps_are_no_chance_and_the_third_is_on_the_edge(drawn):
    assert (drawn["fpr_gap"]["low"], drawn["fpr_gap"]["high"]) == pytest.approx((18.2, 24.6), abs=0.4)
    assert (drawn["fnr_gap"]["low"], drawn["fnr_gap"]["high"]) == pytest.approx((-23.4, -16.1), abs=0.4)
    assert (drawn["ppv_gap"]["low"], drawn["ppv_gap"]["high"]) == pytest.approx((0.0, 7.6), abs=0.5)
    one, other = (group.at(5) for group in groups("compas"))
    pooled = (one.tp + other.tp) / (one.tp + one.fp + other.tp + other.fp)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / (one.tp + one.fp) + 1 / (other.tp + other.fp)))
    assert 2 * stats.norm.sf((one.ppv - other.ppv) / spread) == pytest.approx(0.0504, abs=5e-4)


def test_one_group_over_the_other(drawn):
    """The false positive rates differ by about 1.9 whatever is drawn; those of the flags that are right hardly."""
    one, other = (group.at(5) for group in groups("compas"))
    assert drawn["fpr_ratio"]["value"] == pytest.approx(one.fpr / other.fpr) and drawn["fpr_ratio"]["unit"] == "×"
    low, high = drawn["fpr_ratio"]["low"], drawn["fpr_ratio"]["high"]
    spread = np.sqrt((1 - one.fpr) / one.fp + (1 - other.fpr) / other.fp)  # of the logarithm, by the delta method
    assert (low, high) == pytest.approx(tuple(one.fpr / other.fpr * np.exp(z * spread) for z in (-1.96, 1.96)), rel=0.02)
    assert 0.99 < drawn["ppv_ratio"]["low"] < 1.03 < drawn["ppv_ratio"]["high"] < 1.16


def test_an_interval_is_wilsons_within_the_draws_own_noise(drawn):
    for group in groups("compas"):
        table = group.at(5)
        low, high = stats.binomtest(int(table.tp), int(table.tp + table.fp)).proportion_ci(method="wilson")
        row = drawn[f"ppv_{group.name}"]
        assert (row["low"], row["value"], row["high"]) == pytest.approx((100 * low, 100 * table.ppv, 100 * high), abs=0.4)


def test_the_identity_holds_in_every_draw():
    group = groups("compas")[0]
    found = resample.rates(np.random.default_rng(1), group, 50)
    tpr = 1 - found["fnr"]
    base = found["fpr"] * found["ppv"] / (found["fpr"] * found["ppv"] + tpr * (1 - found["ppv"]))  # the identity, solved for the base rate
    assert base == pytest.approx(np.full(50, group.base), abs=0.05)
    assert fpr_of(float(base[0]), float(found["ppv"][0]), float(found["fnr"][0])) == pytest.approx(found["fpr"][0])


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    draw, hits = np.random.default_rng(7), 0
    for _ in range(500):
        sample = draw.multinomial(400, (0.2, 0.1, 0.3, 0.4))
        redrawn = draw.multinomial(400, sample / 400, 200)
        low, high = np.quantile(redrawn[:, 0] / (redrawn[:, 0] + redrawn[:, 1]), (0.025, 0.975))
        hits += low <= 2 / 3 <= high
    assert 0.91 <= hits / 500 <= 0.97


def test_more_people_narrow_the_interval_and_move_no_ray():
    rows = run("train_here")["rows"]
    assert [(row["params"]["people"], row["params"]["group"]) for row in rows] == [
        (n, g) for n in train_here.SIZES for g in train_here.BASES
    ]
    for name in train_here.BASES:
        mine = [row for row in rows if row["params"]["group"] == name]
        widths = [row["high"] - row["low"] for row in mine]
        assert widths[0] > 2 * widths[1] > 4 * widths[2]
    last = {row["params"]["group"]: row for row in rows[-2:]}
    assert last["A"]["value"] > last["B"]["value"] + 10  # one threshold, other base rates: other precision
    assert all(ROW.valid(row) for row in rows)


@pytest.mark.parametrize("name", ["resample", "train_here"])
def test_it_can_be_stopped(name):
    with pytest.raises(Cancelled):
        run(name, stop=lambda: True)
