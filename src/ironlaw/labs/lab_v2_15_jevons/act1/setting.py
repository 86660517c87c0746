"""Act I's settings -> price, demand and energy over what they were, at every elasticity of a band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw import kit
from ironlaw.engine import rebound
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_15_jevons.fleets import DEAREST, HIGHEST, bill_share, context_of
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.systems.fields import among, figure, hundredths

HAND, BILL = "hand", "bill"
LEAST, MOST = 1.1, 100.0  # gains
STEEPEST = 5.0  # elasticity


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand; shares from 0 to 1, `cost`: what all but electricity costs a token, over before."""

    gain: float = figure(
        label="Energy per token falls by a factor of", low=LEAST, high=MOST, dial="span", log=True, step=0.05, presets=[2, 10]
    )
    low: float = figure(0.5, "Elasticity, at least", low=0, high=STEEPEST, dial="span", step=0.05)
    high: float = figure(1, "Elasticity, at most", low=0, high=STEEPEST, dial="span", step=0.05)
    share: float = figure(0, "Electricity in the price", "%", low=0, high=100, dial="span", step=0.5, means=hundredths)
    passed: float = figure(100, "Savings passed on to the price", "%", low=0, high=100, dial="span", step=5, means=hundredths)
    cost: float = figure(
        100, "Machine time per token, relative to before", "%", low=1, high=150, dial="span", presets=[50, 100], means=hundredths
    )
    joules: float = 1.0  # before

    @property
    def price(self) -> float:
        return rebound.price(self.gain, self.share, self.passed, self.cost)

    def energy(self, elasticity: float) -> float:
        return rebound.energy(self.gain, elasticity, self.share, self.passed, self.cost)

    def demand(self, elasticity: float) -> float:
        return rebound.demand(self.price, elasticity)

    @property
    def limit(self) -> float:
        return rebound.threshold(self.gain, self.share, self.passed, self.cost)

    def at(self, **changes: float) -> Setting:
        return replace(self, **changes)


def story() -> Setting:
    """The question's own case."""
    return Setting(given("gain"), given("elasticity"), given("elasticity"), given("share") / 100)


@dataclass(frozen=True)
class Bill:
    """Where electricity's share of the price comes from: by hand, or from what a device draws and costs."""

    by: str = among({HAND: "by hand", BILL: "from the bill"}, HAND, "Set electricity's share")
    watts: float = figure(50, "Power of a device", "W", low=50, high=HIGHEST, dial="span", step=5)
    pue: float = figure(lambda: given("pue"), "The building's PUE", low=1, high=2, dial="span", step=0.05)
    cents: float = figure(lambda: given("cents"), "Price of a kWh, US cents", low=2, high=50, dial="span")
    hour: float = figure(1, "Price of a device-hour, USD", low=0.1, high=DEAREST, dial="span", log=True)

    @property
    def share(self) -> float:
        """Percent, of a bill."""
        return bill_share(self.watts, self.pue, self.cents, self.hour)


def setting_of(lab: kit.Lab, values: Mapping[str, Any]) -> Setting:
    low, high = sorted((float(values["low"]), float(values["high"])))
    bill = settings.read(Bill, values)
    share = float(values["share"]) if bill.by == HAND else bill.share
    return settings.read(Setting, values, low=low, high=high, share=share / 100, joules=context_of(lab).joules)


def finite(value: float, most: float) -> float:
    """An axis ends somewhere."""
    return min(value, most) if math.isfinite(value) else most
