"""Two testers and the machine's tail: what they send and join, for real and in a blink."""

import json

import pytest

from ironlaw.kit import experiment as page
from ironlaw.kit.complete_runs import complete as _complete
from ironlaw.kit.complete_runs import is_curve
from ironlaw.kit.measured_run import Measured
from ironlaw.ledger.event_kinds import ROW
from ironlaw.measure.experiments import experiment_list, fan_out, omission
from ironlaw.measure.experiments.run_experiment import run
from ironlaw.measure.progress_lines import Cancelled


@pytest.fixture(scope="module")
def tested():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(omission, "COUNT", 60)
        patch.setattr(omission, "RATE", 1000.0)
        patch.setattr(omission, "STALL_S", 0.2)
        return run("omission", library="numpy", seconds=0.0)


@pytest.fixture(scope="module")
def joined():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fan_out, "CALLS", 300)
        patch.setattr(fan_out, "TOGETHER", 3)
        patch.setattr(fan_out, "cores", lambda: 2)
        return run("fan_out", library="numpy", seconds=0.0)


def measured(result):
    return Measured(
        result["experiment"], result["library"], tuple(result["rows"]), result["machine"], result["software"], result["noise"],
        "2026-11-16T19:00:00Z",
    )  # fmt: skip


def test_a_stall_is_one_slow_answer_to_the_polite_and_many_to_the_others(tested):
    """The stall is longer than the rest of the test: whoever is due in it waits."""
    found = measured(tested)
    p90 = {way: found.row(name=way, p=0.9)["value"] for way in (omission.CLOSED, omission.OPEN)}
    assert p90[omission.OPEN] > 0.1 > p90[omission.CLOSED]
    assert found.row(name=omission.OPEN, p=0.99)["samples"] == 60
    assert found.row(name=omission.OPEN, p=0.99)["params"] == {"p": 0.99, "rank": 60, "open_end": True}
    for row in found.rows:
        assert row["low"] <= row["value"] <= row["high"]


def test_pages_are_the_slowest_of_their_calls():
    assert fan_out.pages([3.0, 1.0, 2.0, 5.0, 4.0], 2) == [3.0, 5.0]
    assert fan_out.pages([3.0, 1.0], 1) == [3.0, 1.0]


def test_joined_calls_are_compared_with_independent_ones(joined):
    found = measured(joined)
    leaf = found.row(name=fan_out.LEAF)
    assert leaf["samples"] == 300 and is_curve(leaf["params"]["quantiles"])
    for k in fan_out.JOINED[1:]:
        page_of, independent = found.row(name=fan_out.PAGE, k=k), found.row(name=fan_out.INDEPENDENT, k=k)
        assert page_of["samples"] == 300 // k and page_of["wall_s"] >= leaf["wall_s"] and independent["wall_s"] >= leaf["wall_s"]
    assert [row["params"]["k"] for row in found.all(name=fan_out.PARALLEL)] == [2]


def test_the_leafs_curve_goes_from_the_least_to_the_largest():
    curve = fan_out.grid([float(i) for i in range(1, 4001)])
    assert curve[0] == 1.0 and curve[-1] == 4000.0 and curve[250] == pytest.approx(2000, abs=2) and len(curve) == fan_out.GRID + 1
    assert is_curve(curve)
    assert not any(is_curve(values) for values in (None, [1.0], [2.0, 1.0], [0.0, 1.0], ["a", "b"], [1.0, float("nan")]))


@pytest.mark.parametrize("name", ["omission", "fan_out"])
def test_a_run_is_a_row_that_the_ledger_takes_and_the_page_shows(name, tested, joined):
    result = {"omission": tested, "fan_out": joined}[name]
    assert result["library"].startswith("NumPy") and json.loads(json.dumps(result, allow_nan=False)) == result
    assert all(ROW.valid(row) for row in result["rows"])
    shown = measured(result)
    assert _complete(shown)
    html = page.table(shown)
    assert all(row["label"] in html for row in result["rows"]) and experiment_list.experiment(name).title in html
    half = [row for row in result["rows"] if row["name"] not in (omission.OPEN, fan_out.LEAF)]
    assert not _complete(measured({**result, "rows": half}))


@pytest.mark.parametrize("name", ["omission", "fan_out"])
def test_they_can_be_stopped(name):
    calls = iter([False, False, True, True, True])
    with pytest.raises(Cancelled):
        run(name, library="numpy", seconds=0.0, stop=lambda: next(calls, True))
