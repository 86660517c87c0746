"""What a context stands for: what electricity is of a price, how much less energy, and how much energy there was before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.engine import energy
from ironlaw.engine.energy import KWH, YEAR, of_run
from ironlaw.engine.rebound import elasticity_for
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.registry.machines import hardware
from ironlaw.registry.prices import price
from ironlaw.registry.publications import published
from ironlaw.systems.energy_fleets import energy_server

OWN, RENTED, TRAINING, WORLD, SAVED = "own", "rented", "training", "world", "saved"
SERVING = "lab_v2_10_kv_serving"
H100 = "h100_sxm"
LARGEST = ("h100_sxm", "llama3_70b", 1024)
DEVICES = 1000  # of the two fleets that have no size of their own
ALL = 100.0  # percent
HIGHEST, DEAREST = 1500.0, 20.0  # watts and dollars per hour that the dials reach


@dataclass(frozen=True)
class Context:
    """`watts` and `hour` of one device, `share` in percent, `joules` at the meter before; `elasticity`: where one is known."""

    gain: float
    share: float
    watts: float
    hour: float
    joules: float
    by_bill: bool = False
    elasticity: float | None = None


def bill_share(watts: float, pue: float, cents: float, hour: float) -> float:
    """Percent."""
    return ALL * energy.bill_share(watts, pue, cents / 100, hour)


def earlier(lab: kit.Lab) -> dict[str, Any]:
    """The server that Lab V2-10 saved; empty where there is none, or none whose price is known."""
    design = lab.ledger.design(SERVING) or {}
    name, count = design.get("machine"), design.get("devices")
    known = isinstance(name, str) and price(name) is not None and isinstance(count, (int, float)) and count >= 1
    return dict(design) if known else {}


def context(slug: str, lab: kit.Lab | None = None) -> Context:
    """`lab`: for the one that comes from the ledger."""
    gain, pue = given("gain"), given("pue")
    rented = energy_server(*LARGEST)
    watts, hour = rented.power / rented.devices, rented.hour
    year = of_run(DEVICES * YEAR, watts, pue)
    if slug == RENTED:
        return Context(gain, bill_share(watts, pue, given("cents"), hour), watts, hour, year, True)
    if slug == TRAINING:
        run = published("llama31_training").rows[0]
        power = float(run["power"])
        return Context(gain, bill_share(power, pue, given("cents"), hour), power, hour, of_run(1e6 * float(run["hours"]), power), True)
    if slug == WORLD:
        before, after = published("data_centres").rows
        better = float(after["services"]) / (float(after["twh"]) / float(before["twh"]))
        return Context(better, ALL, watts, hour, 1e9 * KWH * float(before["twh"]), elasticity=world_elasticity())
    if slug == SAVED and lab is not None and (design := earlier(lab)):
        machine = hardware(str(design["machine"]))
        cost = price(machine.slug)
        assert cost is not None
        power = min(HIGHEST, float(machine.power))
        share = bill_share(power, pue, given("cents"), cost.per_hour)
        return Context(gain, share, power, min(DEAREST, cost.per_hour), of_run(float(design["devices"]) * YEAR, power, pue), True)
    return Context(gain, given("share"), watts, hour, year)


def world_elasticity() -> float:
    """What would explain all growth of the world's data centres by efficiency, were energy their whole price."""
    before, after = published("data_centres").rows
    services = float(after["services"])
    return elasticity_for(services, services / (float(after["twh"]) / float(before["twh"])))


def context_of(lab: kit.Lab) -> Context:
    return context(lab.current_context.slug, lab)
