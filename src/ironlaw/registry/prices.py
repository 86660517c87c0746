"""registry/price/*.toml -> what an hour of one device costs, whose price that is, and where it was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ironlaw.errors import BadRegistry
from ironlaw.registry import own_files
from ironlaw.registry.loader import figure, folder, read, slugs

if TYPE_CHECKING:
    from ironlaw.outputs.prediction_output import PriceJson

GIVEN = "as given"  # the source of a price that the user named


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per hour for one device. `vendor`: who rents it out, on which terms."""

    per_hour: float
    vendor: str
    source: str = ""
    date: str = ""

    def as_dict(self) -> PriceJson:
        return {"dollars_per_hour": self.per_hour, "vendor": self.vendor, "source": self.source, "date": self.date}


def prices() -> tuple[str, ...]:
    """The machines that have one."""
    return slugs("price")


def price(slug: str) -> Price | None:
    """A machine's price by its slug, the user's own first; None where neither has one that could be read at its source."""
    own = own_files.own("price").get(slug)
    return load(own) if own else _registered(slug)


@cache
def _registered(slug: str) -> Price | None:
    return load(folder("price") / f"{slug}.toml") if slug in prices() else None


def load(path: Path) -> Price:
    data = read(path)
    vendor = data.get("vendor")
    if not isinstance(vendor, str) or not vendor:
        raise BadRegistry(f"{path.name} has no vendor; add `vendor = …`: who rents it out, on which terms")
    if path.stem not in slugs("hardware") and path.stem not in own_files.own("hardware"):
        raise BadRegistry(f"{path.name} is not named after a machine; use the machine's slug, as `ironlaw hardware` lists it")
    hour = figure(f"{path.name} [hour]", data.get("hour"), "USD")
    return Price(hour.value, vendor, hour.source, hour.date)


def prices_of(machines: Iterable[str], given: Mapping[str, float]) -> dict[str, Price]:
    """What is known of these machines, by slug: the user's figure before the registry's."""
    known = {slug: Price(given[slug], GIVEN) if slug in given else price(slug) for slug in machines}
    return {slug: one for slug, one in known.items() if one is not None}
