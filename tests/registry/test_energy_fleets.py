"""Published power beside the engine, and the fleets made of it."""

from itertools import pairwise

import pytest

from ironlaw.engine.energy import KWH, of_run, per_token
from ironlaw.engine.rebound import elasticity_for
from ironlaw.errors import BadRegistry
from ironlaw.registry.publications import published
from ironlaw.systems.energy_fleets import daily_profile, energy_server, fleet_year, idle_power, tokens_per_second

ROWS = published("ml_energy_power").rows


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['machine']}-{row['model']}-{row['limit']:g}")
def test_joules_are_power_over_rate(row):
    assert per_token(row["power"], row["rate"]) == pytest.approx(row["energy"], rel=1e-3)


def test_the_same_runs_as_in_the_other_table():
    for row in ROWS:
        if row["machine"] == "h100_sxm":
            assert published("ml_energy").value("rate", model=row["model"], limit=row["limit"]) == row["rate"]


@pytest.mark.parametrize("model", ["llama3_8b", "llama3_70b"])
def test_joules_a_token_fall_with_the_batch(model):
    energies = [row["energy"] for row in published("ml_energy_power").where(machine="h100_sxm", model=model)]
    assert all(after < before for before, after in pairwise(energies))
    if model == "llama3_70b":
        assert energies[0] / energies[-1] == pytest.approx(10.1, abs=0.05)


def test_single_figures():
    old, new = published("data_centres").rows
    gain = new["services"] / (new["twh"] / old["twh"])
    assert gain == pytest.approx(6.15, abs=5e-3) and elasticity_for(new["services"], gain) == pytest.approx(1.03, abs=5e-3)
    (llama,) = published("llama31_training").rows
    joules = of_run(1e6 * llama["hours"], llama["power"])
    assert joules / KWH == pytest.approx(27.5e6, rel=1e-3) and 1e6 * llama["tonnes"] / (joules / KWH) == pytest.approx(414, abs=0.5)


def test_a_larger_batch_saves_more_time_than_energy():
    """From 64 to 512 sequences: joules fall by 1.89, device time by 2.36; so it backfires below an elasticity of 1."""
    fleet = fleet_year("h100_sxm", "llama3_70b", 512, tokens=1e5, servers=100, night=400)
    assert fleet.gain == pytest.approx(1.893, abs=5e-3) and 1 / fleet.price == pytest.approx(2.34, abs=0.02)
    assert fleet.threshold == pytest.approx(0.75, abs=0.01) and fleet.share == pytest.approx(0.0207, abs=5e-4)


def test_a_profile_and_a_trace():
    day = daily_profile(400, 0.5)
    assert len(day) == 24 and max(day) == 400 and min(day) == pytest.approx(200, rel=0.01) and day[0] == day[23] == 400
    assert sum(day) / 24 == pytest.approx(400 * (1 - 0.5 / 3.14159), rel=0.002) and set(daily_profile(20, 0)) == {20}
    assert tokens_per_second(5.53) == pytest.approx(5.53 * 211.1, rel=0.01) and 100 < idle_power() < 150


def test_a_server_that_nobody_measured():
    with pytest.raises(BadRegistry, match="b200 llama3_70b 256"):
        energy_server("h100_sxm", "llama3_70b", 7)
