"""A fleet of servers for a year: the price its tokens have, the demand that follows, and the carbon of both.

Before and after are two servers. Energy and machine time of a token change together or apart; both move the price, and an elasticity says
what demand makes of it (`rebound`). What idles draws power, what was built was paid for in carbon before the start (`energy`).
Tokens per second, watts, joules, grams; dollars per hour and a kWh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.engine import energy, rebound
from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Server:
    """`power`: watts of all its devices at work; `rate`: tokens per second; `hour`: dollars for one device, electricity included."""

    devices: int
    power: float
    rate: float
    hour: float

    @property
    def joules(self) -> float:
        """Joules per token."""
        return energy.per_token(self.power, self.rate)

    @property
    def device_s(self) -> float:
        """Device-seconds per token."""
        return self.devices / float(check_positive("rate", self.rate))


@dataclass(frozen=True, slots=True)
class Carbon:
    """Grams per year."""

    busy: float
    idle: float
    embodied: float

    @property
    def total(self) -> float:
        return self.busy + self.idle + self.embodied


@dataclass(frozen=True, slots=True)
class Fleet:
    """`tokens`: asked for each second at the price of `before`; `idle_power`: watts of an idle device; `kwh`: dollars; `hourly`: g/kWh;
    `embodied`: grams a device; `pue_before`: of the building in which the price was made."""

    before: Server
    after: Server
    tokens: float
    servers: int
    hourly: tuple[float, ...]
    idle_power: float = 0.0
    pue_before: float = 1.0
    pue: float = 1.0
    kwh: float = 0.12
    pass_through: float = 1.0
    deferrable: float = 0.0
    embodied: float = 0.0
    years: float = 4.0

    def __post_init__(self) -> None:
        check_positive("tokens per second", self.tokens)
        check_positive("servers", self.servers)
        check_positive("years", self.years)
        if not self.share <= 1:
            raise BadValue(f"electricity of {self.share:.3g} times the price; give an hour that costs more than its electricity", "hour")

    @property
    def gain(self) -> float:
        """Joules per token at the meter, before over after."""
        return self.before.joules * self.pue_before / (self.after.joules * self.pue)

    @property
    def share(self) -> float:
        """Electricity's share of the price before the change."""
        watts = self.before.power / self.before.devices * self.pue_before
        return watts * energy.HOUR / energy.KWH * self.kwh / float(check_positive("hour", self.before.hour))

    @property
    def cost_change(self) -> float:
        """What all but electricity costs a token, over before."""
        return self._rest(self.after) / self._rest(self.before)

    def _rest(self, server: Server) -> float:
        """Dollars of a token's device time, the electricity of a rented hour taken out; at least a hundredth of the whole."""
        whole = server.hour / energy.HOUR * server.device_s
        return max(whole - server.joules * self.pue_before / energy.KWH * self.kwh, 0.01 * whole)

    @property
    def price(self) -> float:
        """The price, over that before."""
        return rebound.price(self.gain, self.share, self.pass_through, self.cost_change)

    def demand(self, elasticity: float) -> float:
        """Tokens per second."""
        return self.tokens * rebound.demand(self.price, elasticity)

    def energy(self, elasticity: float) -> float:
        """What the tokens take, over before."""
        return rebound.energy(self.gain, elasticity, self.share, self.pass_through, self.cost_change)

    @property
    def threshold(self) -> float:
        """The elasticity from which the tokens take more than before. Without a gain: 0 where they get cheaper all the same, else never."""
        if self.gain > 1:
            return rebound.threshold(self.gain, self.share, self.pass_through, self.cost_change)
        return 0.0 if self.price < 1 else math.inf

    def needed(self, elasticity: float) -> float:
        """Servers that would be busy all the time."""
        return self.demand(elasticity) / self.after.rate

    def utilisation(self, elasticity: float) -> float:
        """Above 1 the fleet is too small."""
        return self.needed(elasticity) / self.servers

    @property
    def peak_power(self) -> float:
        """Watts at the meter with every server at work."""
        return self.servers * self.after.power * self.pue

    def loads(self, elasticity: float) -> tuple[float, ...]:
        """Each hour's load over an even one; idle servers are the room that moved work needs."""
        return energy.shifted(self.hourly, self.deferrable, max(1.0, 1 / self.utilisation(elasticity)))

    def intensity(self, elasticity: float) -> float:
        """Grams per kWh of the moved load."""
        return energy.intensity(self.hourly, self.deferrable, max(1.0, 1 / self.utilisation(elasticity)))

    def carbon(self, elasticity: float) -> Carbon:
        """The carbon of a year, idle machines included."""
        tokens = self.demand(elasticity)
        busy = energy.of_run(energy.YEAR, tokens * self.after.joules, self.pue)
        rest = max(0.0, self.servers - self.needed(elasticity)) * self.after.devices
        idle = energy.of_run(energy.YEAR, rest * self.idle_power, self.pue) if rest * self.idle_power > 0 else 0.0
        built = self.servers * self.after.devices * self.embodied / self.years
        even = sum(self.hourly) / len(self.hourly)
        return Carbon(energy.carbon(busy, self.intensity(elasticity)), energy.carbon(idle, even), built)
