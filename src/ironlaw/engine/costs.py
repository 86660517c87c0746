"""What a given amount of work costs on devices rented by the hour, and an upper bound of the energy it takes.

    dollars = devices · price · seconds / 3600        joules ≤ devices · board power · seconds

A board draws less than its rated power where it waits for memory or for launches, so joules are an upper bound, never a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ironlaw.engine.device.types import check_positive

HOUR = 3600.0
MILLION = 1e6
ENERGY = "rated board power × time: an upper bound, not a measurement"


def device_hours(seconds: float, items: float, devices: int = 1) -> float:
    """Device-hours for a million items, where `devices` finish `items` of them in `seconds`."""
    check_positive("seconds", seconds)
    check_positive("items", items)
    return devices * seconds / items * MILLION / HOUR


def energy(seconds: float, items: float, power: float, devices: int = 1) -> float:
    """Joules for a million items at most: `power` watts a device, all the time."""
    check_positive("power", power)
    return device_hours(seconds, items, devices) * HOUR * power


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to do the work: `items` in a call of `seconds`, on `devices` at `price` dollars per hour each; None where nobody said."""

    name: str
    seconds: float
    items: float
    power: float
    price: float | None = None
    devices: int = 1

    @property
    def dollars(self) -> float | None:
        """Dollars for a million items, with all devices busy."""
        return None if self.price is None else self.price * device_hours(self.seconds, self.items, self.devices)

    @property
    def joules(self) -> float:
        """Joules for a million items, at most."""
        return energy(self.seconds, self.items, self.power, self.devices)


@dataclass(frozen=True, slots=True)
class Pick:
    """The cheapest offer that is quick enough, and by how many seconds the quickest misses the limit where none is: then that one."""

    offer: Offer
    over: float = 0.0


def cheapest(offers: Iterable[Offer], latency: float | None = None) -> Pick | None:
    """The cheapest offer whose calls take at most `latency` seconds; of equal cost the quickest. None where none has a price."""
    priced = [(dollars, offer) for offer in offers if (dollars := offer.dollars) is not None]
    if not priced:
        return None
    limit = math.inf if latency is None else float(check_positive("latency", latency))
    able = [(dollars, offer.seconds, i) for i, (dollars, offer) in enumerate(priced) if offer.seconds <= limit]
    if able:
        return Pick(priced[min(able)[2]][1])
    quickest = min((offer for _, offer in priced), key=lambda offer: offer.seconds)
    return Pick(quickest, quickest.seconds - limit)
