"""Act I's settings -> one call, the whole, and what the sum of the limits has to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.laws import Law, Slowest, law, measured
from ironlaw.engine.serving.sums import Total, total
from ironlaw.engine.serving.tails import at_least_one
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_12_slo.act1 import local_runs
from ironlaw.labs.lab_v2_12_slo.services import ANSWER, EXPONENTIAL, LAWS, LOGNORMAL, MEASURED
from ironlaw.systems.fields import among, figure, hundredths, thousandths, whole
from ironlaw.units import significant

MOST_STEPS, MOST_CALLS = 50, 1000
COUNTS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # services of the picture; a row of more than fifty is not drawn
LEVELS = {0.5: "P50", 0.9: "P90", 0.95: "P95", 0.99: "P99", 0.999: "P99.9"}
COARSE = 256  # steps of a line's sums, where the picture needs no more


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand; seconds. `first`: P99 of a first token that comes after all services; 0 for none."""

    steps: int = whole(5, "Services in a row", most=MOST_STEPS, dial="span", log=True, steps=[n for n in COUNTS if n <= MOST_STEPS])
    calls: int = whole(1, "Parallel calls in each", most=MOST_CALLS, dial="span", log=True, steps=list(COUNTS))
    dependence: float = figure(0, "Requests slowed by one shared cause", "%", low=0, high=100, dial="span", means=hundredths)
    p: float = among(LEVELS, 0.99, "Percentile")
    law: str = among(LAWS, EXPONENTIAL, "Distribution of a call's time", dial="select")
    spread: float = figure(1, "Spread (σ of the logarithm)", low=0.1, high=3, dial="span", step=0.1)
    index: float = figure(1.5, "Tail index", low=0.6, high=4, dial="span", step=0.1)
    p99: float = figure(100, "P99 of one call", "ms", low=1, high=1000, dial="span", log=True, means=thousandths)
    first: float = figure(0, "First token, once the calls are done, P99", "s", low=0.01, high=60, dial="span", log=True)
    quantiles: tuple[float, ...] = ()
    fine: int = 0  # steps of the sums; 0 for what is enough

    @property
    def one(self) -> Law:
        """A single call."""
        return measured(self.quantiles) if self.law == MEASURED else law(self.law, self.p99, self.shape)

    @property
    def shape(self) -> float:
        """The shape of the law, if it has one."""
        return self.spread if self.law == LOGNORMAL else self.index

    @property
    def last(self) -> tuple[Law, ...]:
        """The first token, exponential through its P99."""
        return (law(EXPONENTIAL, self.first),) if self.first else ()

    @property
    def whole(self) -> Total:
        return self.at(self.dependence)

    def at(self, dependence: float, steps: int = 0) -> Total:
        """The whole, were its services so dependent."""
        step = Slowest(self.one, self.calls) if self.calls > 1 else self.one
        return total([step] * self.steps + [*self.last], dependence, steps or self.fine, [self.one] * self.steps + [*self.last])

    @property
    def count(self) -> int:
        return self.steps * self.calls + len(self.last)

    @property
    def single(self) -> float:
        """The quantile that is looked at, of one call."""
        return single(replace(self, steps=1, calls=1, dependence=0.0, first=0.0), self.p)

    @property
    def seconds(self) -> float:
        """The same of the whole."""
        return quantile(self, self.p)

    @property
    def added(self) -> float:
        """The sum of the limits that each service has for itself."""
        return self.steps * self.single + sum(each.quantile(self.p) for each in self.last)

    @property
    def over(self) -> float:
        """The share of requests beyond the sum of the limits."""
        return self.whole.tail(self.added)

    @property
    def bound(self) -> float:
        """The share in which some call is beyond its own limit, were they independent."""
        return at_least_one(1.0 - self.p, self.count)

    @property
    def missed(self) -> float:
        """The same with the dependence: where one cause slows all, they are over their limits together or not at all."""
        return self.dependence * (1.0 - self.p) + (1.0 - self.dependence) * self.bound

    @property
    def name(self) -> str:
        return f"P{significant(100 * self.p, 4)}"


@lru_cache(maxsize=512)
def quantile(setting: Setting, p: float) -> float:
    return setting.whole.quantile(p)


@lru_cache(maxsize=64)
def single(setting: Setting, p: float) -> float:
    return setting.one.quantile(p)


@lru_cache(maxsize=64)
def in_a_row(setting: Setting) -> tuple[tuple[int, float], ...]:
    """(services, share beyond the sum of their limits) of rows of single calls."""
    alone, limit = replace(setting, calls=1, first=0.0), setting.single
    return tuple((count, replace(alone, steps=count).whole.tail(count * limit)) for count in COUNTS if count <= MOST_STEPS)


def setting_of(lab: kit.Lab, values: Mapping[str, Any]) -> Setting:
    run = lab.local_run(local_runs.NAME) if values["law"] == MEASURED else None
    quantiles = local_runs.quantiles(run) if run else ()
    return settings.read(
        Setting, values, quantiles=quantiles, law=EXPONENTIAL if values["law"] == MEASURED and not quantiles else values["law"],
        first=float(values["first"]) if lab.current_context.slug == ANSWER else 0.0, fine=COARSE if values.get("moving") else 0,
    )  # fmt: skip
