"""Act I's settings -> price, demand and energy over what they were, at every elasticity of a band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw import kit
from ironlaw.engine import rebound
from ironlaw.labs.lab_v2_15_jevons.fleets import bill_share, context_of
from ironlaw.labs.lab_v2_15_jevons.story import given

HAND, BILL = "hand", "bill"
LEAST, MOST = 1.1, 100.0  # gains
STEEPEST = 5.0  # elasticity
LESS, DEPENDS, BACKFIRES = "less", "depends", "backfires"


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand; shares from 0 to 1, `cost`: what all but electricity costs a token, over before."""

    gain: float
    low: float
    high: float
    share: float
    passed: float = 1.0
    cost: float = 1.0
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

    @property
    def state(self) -> str:
        """Less energy at any elasticity of the band, at some, or at none."""
        if self.energy(self.high) <= 1:
            return LESS
        return DEPENDS if self.energy(self.low) <= 1 else BACKFIRES

    def at(self, **changes: float) -> Setting:
        return replace(self, **changes)


def story() -> Setting:
    """The question's own case."""
    return Setting(given("gain"), given("elasticity"), given("elasticity"), given("share") / 100)


def setting_of(lab: kit.Lab, values: Mapping[str, Any]) -> Setting:
    low, high = sorted((float(values["low"]), float(values["high"])))
    return Setting(
        float(values["gain"]), low, high, share_of(values) / 100, values["passed"] / 100, values["cost"] / 100, context_of(lab).joules
    )


def share_of(values: Mapping[str, Any]) -> float:
    """Percent."""
    if values["by"] == HAND:
        return float(values["share"])
    return bill_share(float(values["watts"]), float(values["pue"]), float(values["cents"]), float(values["hour"]))


def finite(value: float, most: float) -> float:
    """An axis ends somewhere."""
    return min(value, most) if math.isfinite(value) else most
