"""The break-even calculator's settings -> what compiling costs and saves. Compositions of engine.compilation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.engine.device.compilation import DAY, breakeven, devices_needed, saving
from ironlaw.kit.context import Context
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.registry.textbooks import textbook

__all__ = ["COMPILE", "DAY", "ONE_RUN", "SPANS", "STAY", "Case", "challenge", "days_of", "eager_rate"]

ONE_RUN = "run"
COMPILE, STAY = "compile", "eager"
SPANS = {ONE_RUN: "one run", "1": "1 day", "7": "1 week", "30": "30 days", "365": "1 year", "other": "other"}


@dataclass(frozen=True)
class Case:
    """Where the calculator's dials stand: compile once, save per call. Seconds, calls per second, calls per day."""

    model: str
    compile_s: float
    gain: float
    per_day: float
    days: float  # one run is a fraction of a day with one call in it
    eager_rate: float
    decision: str = COMPILE

    @property
    def compiled_rate(self) -> float:
        return self.eager_rate * (1.0 + self.gain)

    @property
    def saved_s(self) -> float:
        """Per call."""
        return 1.0 / self.eager_rate - 1.0 / self.compiled_rate

    @property
    def devices(self) -> int:
        """How many the volume takes, before anything is compiled; each compiles for itself."""
        return devices_needed(self.per_day, self.eager_rate)

    @property
    def cost_s(self) -> float:
        return self.devices * self.compile_s

    @property
    def breakeven(self) -> float:
        return float(breakeven(self.cost_s, self.eager_rate, self.compiled_rate))

    @property
    def breakeven_calls(self) -> int:
        """The call with which the cost is earned back."""
        return math.ceil(round(self.breakeven, 6))  # a whole number must not become the next one by its last bit

    @property
    def breakeven_days(self) -> float:
        return self.breakeven / self.per_day

    @property
    def served(self) -> float:
        return self.per_day * self.days

    @property
    def once(self) -> bool:
        """One run, as in a CI job."""
        return self.served == 1.0

    def net(self, days: float) -> float:
        return float(saving(days, self.compile_s, self.eager_rate, self.compiled_rate, self.per_day, self.devices))

    @property
    def pays(self) -> bool:
        return self.net(self.days) > 0

    @property
    def by_gain(self) -> float:
        """Percent of calls for one percent more of the gain, at the same eager rate; of the compile time and the rate it is one for one.

        N = t R (1 + g) / g, so that d ln N / d ln g = −1 / (1 + g).
        """
        return -1.0 / (1.0 + self.gain)


def eager_rate(model: str, context: Context) -> float:
    """Calls per second: the course's own where it has one, measured for a real graph, else from Act I's pass in this context."""
    if jobs.is_graph(model):
        return 1.0 / float(jobs.measured_run(model, jobs.EAGER).value("wall_s"))
    course_rate = textbook(model).eager_rate
    return course_rate if course_rate else 1.0 / jobs.pass_s(textbook(model), jobs.launch_of(context))


def days_of(span: str, other: float, per_day: float) -> float:
    if span == ONE_RUN:
        return 1.0 / per_day
    return other if span == "other" else float(span)


def challenge(launch: float, dispatch: str = jobs.SYNC) -> tuple[int, float]:
    """The scaling challenge under one premise: inferences and hours until compiling the keyword spotter has paid."""
    model = textbook("kws")
    assert model.compile_s and model.gain and model.per_hour
    rate = 1.0 / jobs.pass_s(model, launch, dispatch)
    calls = math.ceil(float(breakeven(model.compile_s, rate, rate * (1.0 + model.gain))))
    return calls, calls / model.per_hour
