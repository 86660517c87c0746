"""Energy and carbon of machines: joules per token, joules of a run, and how much of its carbon was spent before the start.

`costs` has joules and dollars of single predictions. Joules, watts, seconds and grams throughout; carbon as CO₂ equivalent.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue

HOUR = 3600.0
KWH = 3.6e6  # joules
YEAR = 8766.0  # hours


def per_token(power: float, tokens_per_s: float) -> float:
    """Joules per token."""
    return float(check_positive("power", power) / check_positive("tokens per second", tokens_per_s))


def of_run(device_hours: float, power: float, pue: float = 1.0) -> float:
    """Joules that a run takes from the grid; `pue` is what the building draws over what its machines do."""
    return float(check_positive("device-hours", device_hours) * HOUR * check_positive("power", power)) * _pue(pue)


def carbon(joules: float, grams_per_kwh: float) -> float:
    """Grams of CO₂."""
    return float(check_positive("energy", joules, zero=True) / KWH * check_positive("grams per kWh", grams_per_kwh, zero=True))


def bill_share(power: float, pue: float, price_per_kwh: float, price_per_hour: float) -> float:
    """The share of a device-hour's price that is its electricity; no more than all of it. Both prices in one currency."""
    kwh = float(check_positive("power", power)) * _pue(pue) * HOUR / KWH
    return float(min(1.0, kwh * check_positive("price of a kWh", price_per_kwh) / check_positive("price of an hour", price_per_hour)))


def shifted(hourly: Sequence[float], deferrable: float = 0.0, headroom: float = 2.0) -> tuple[float, ...]:
    """The load of each hour over an even one, where a deferrable share of it moves to the cleanest hours of the profile.

    `headroom`: the most that an hour can take, over its even share."""
    if not hourly or min(hourly) < 0:
        raise BadValue(f"a profile of {len(hourly)} hours; give at least one, each of 0 g/kWh or more", "hourly")
    if not 0 <= deferrable <= 1:
        raise BadValue(f"the deferrable share is {deferrable!r}; give a number from 0 to 1", "deferrable")
    if not headroom >= 1:
        raise BadValue(f"headroom is {headroom!r}; give 1 or more, because capacity must cover at least the average hour", "headroom")
    loads, left = [1 - deferrable] * len(hourly), deferrable * len(hourly)
    for grams in sorted(set(hourly)):
        alike = [hour for hour, each in enumerate(hourly) if each == grams]
        moved = min(left, (headroom - (1 - deferrable)) * len(alike))
        for hour in alike:
            loads[hour] += moved / len(alike)
        left -= moved
    return tuple(loads)


def intensity(hourly: Sequence[float], deferrable: float = 0.0, headroom: float = 2.0) -> float:
    """Grams per kWh of a load that moves as `shifted` says."""
    loads = shifted(hourly, deferrable, headroom)
    return sum(load * grams for load, grams in zip(loads, hourly, strict=True)) / len(hourly)


def embodied_share(
    embodied_grams: float, power: float, grams_per_kwh: float, years: float, utilisation: float = 1.0, pue: float = 1.0
) -> float:
    """The share of a device's carbon that was spent on making it; 1 on a grid without carbon."""
    check_positive("embodied carbon", embodied_grams)
    if not 0 < utilisation <= 1:
        raise BadValue(f"the utilisation is {utilisation!r}; give a share above 0, at most 1", "utilisation")
    used = of_run(float(check_positive("years", years)) * YEAR * utilisation, power, pue)
    return embodied_grams / (embodied_grams + carbon(used, grams_per_kwh))


def _pue(value: float) -> float:
    if not value >= 1:
        raise BadValue(f"a PUE of {value!r}; give 1 or more: a building draws at least what its machines do", "pue")
    return value
