"""How many times as fast a changed program is: the ratio of two predictions, and where four measured ratios in five should fall.

Both predictions lean on the same curves and the same host, so much of their errors cancels. To first order the ratio's logarithm errs by

    λ Σᵢ wᵢ eᵢ − λ′ Σⱼ w′ⱼ e′ⱼ + h e_h − h′ e′_h

wᵢ is an operator's share of the device time and eᵢ its error, correlated between the two programs as within one (`device.uncertainty`): the
same operator in both cancels. λ and h say how much the wall time follows the device's time and the host's; they are found by simulating the
run with either half as slow again. A host's error is one part that both runs share and one that is each run's own.

κ for each kind of change says how many times as far off ratios came out as this says (`scripts/fit_gains.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ironlaw.engine.advice.action_names import AGAIN, AUTOCAST, CHUNKED, FLASH, FUSED, KEPT, LISTS, SCALED, SYNCS, TOGETHER
from ironlaw.engine.device.intervals import BETWEEN_HOSTS, HOST
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE, SURE, Doubt, Scatter, blend, variance

OWN = 0.15  # sd of what a run's launches take longer at one time than at another, of the host's
REPEATS = 0.04  # sd with which the same gain is measured again
# κ by kind of change, fitted to gains measured on an H200, of unseen models where there are enough (registry/outcomes/h200_sxm_gains.json)
FITTED: Mapping[str, float] = {"batch": 1.24, "compiled": 1.9, "eager_graphs": 2.14, "fp16": 1.98, "graphs": 1.0, "tf32": 1.0}
OTHER = 2.0  # of a kind of change that was not measured often enough
STEPS = (SYNCS, AUTOCAST, SCALED, LISTS, FUSED, KEPT, TOGETHER, FLASH, CHUNKED, AGAIN)
IN_STEPS = 1.0  # of changes of a training step, which nothing was fitted to: as far off as operators and launches say


@dataclass(frozen=True, slots=True)
class Gain:
    """Seconds for each item before and after. `interval`: of the ratio; None where one of the two is a bound."""

    before: float
    after: float
    interval: tuple[float, float] | None

    @property
    def ratio(self) -> float:
        """Times as fast."""
        return self.before / self.after

    @property
    def saved(self) -> float:
        """Seconds for each item; negative where it takes longer."""
        return self.before - self.after

    @property
    def sure(self) -> bool:
        """Whether "no gain" lies outside the interval."""
        return self.interval is not None and self.interval[0] > 1.0

    @property
    def slower(self) -> bool:
        return self.interval is not None and self.interval[1] < 1.0


def gain(before: Prediction, after: Prediction, items: float = 1.0, kind: str = "") -> Gain:
    """`items`: how many times as much a call of `after` does (a larger batch)."""
    a, b = float(before.seconds), float(after.seconds) / items
    if before.interval is None or after.interval is None:
        return Gain(a, b, None)
    if before.hardware.slug != after.hardware.slug:
        return Gain(a, b, _apart(before, after, items))
    reach = FOUR_IN_FIVE * math.hypot(_times(kind) * log_sd(before, after), REPEATS)
    return Gain(a, b, (a / b * math.exp(-reach), a / b * math.exp(reach) if math.isfinite(reach) else math.inf))


def _times(kind: str) -> float:
    return FITTED.get(kind, IN_STEPS if kind in STEPS else OTHER)


def _apart(before: Prediction, after: Prediction, items: float) -> tuple[float, float]:
    """The interval of a gain between two machines, whose errors are assumed independent."""
    assert before.interval is not None
    assert after.interval is not None
    ratio = items * float(before.seconds) / float(after.seconds)
    ends = []
    for mine, other in ((0, 1), (1, 0)):
        one = math.log(float(before.interval[mine]) / float(before.seconds))
        two = math.log(float(after.interval[other]) / float(after.seconds))
        ends.append(math.hypot(one, two))
    return ratio * math.exp(-ends[0]), ratio * math.exp(ends[1])


def log_sd(before: Prediction, after: Prediction) -> float:
    """The sd of the logarithm of the ratio of two wall times, on one machine, from operators and launches; inf where one is unknown."""
    model = before.hardware.model(before.plan)
    if model is None or any(not row.cost.doubt.known and row.seconds > 0 for p in (before, after) for row in p.ops if row.cost.doubt):
        return math.inf
    families: dict[str, list[tuple[float, Doubt]]] = {}
    for sign, p in ((1.0, before), (-1.0, after)):
        lean = sign * p.run.leaning[0] / float(p.busy_s)
        for seconds, doubt in p.doubts:
            families.setdefault(doubt.family, []).append((lean * float(seconds) * float(doubt.sd), doubt))
    apart = math.sqrt(max(0.0, sum(map(variance, families.values()))))
    together = math.sqrt(sum(sum(weight for weight, _ in weighed) ** 2 for weighed in families.values()))
    return math.hypot(float(blend(apart, together, model.common)), _host_sd(before, after, model.scatter))


def _host_sd(before: Prediction, after: Prediction, scatter: Mapping[str, Scatter]) -> float:
    """A launch time that the user gave is taken as exact."""
    if before.plan.launch is not None:
        return 0.0
    a, b = before.run.leaning[1], after.run.leaning[1]
    shared = scatter.get(HOST, SURE).sd
    if before.host.estimate:
        shared = math.hypot(shared, BETWEEN_HOSTS)
    return math.hypot((a - b) * shared, a * OWN, b * OWN)
