"""A job over workers: what it gains, and what a result costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ironlaw.engine.scaling.amdahl import amdahl_ceiling, karp_flatt, workers_needed
from ironlaw.engine.scaling.usl import best_workers, usl, usl_grown
from ironlaw.systems.fields import among, figure, hundredths, thousandths, whole

SHARE, PAIR = "share", "pair"
FIXED, GROWS = "fixed", "grows"
MOST = 1024  # workers on the dial
EFFICIENT = 0.5  # less, and most of the bill is for waiting
MOST_WEEKS = 40
LARGEST = 2**20  # workers; beyond that nobody looks


@dataclass(frozen=True)
class Story:
    """What the message gives: a run on one worker in hours, runs a year, and what a result in time is worth more, in USD."""

    hours: float
    runs: float
    worth: float


@dataclass(frozen=True, kw_only=True)
class Job:
    """Where the dials of Act II stand. What has no default begins as the story has it."""

    story: Story
    workers: int = whole(label="Workers", most=MOST, dial="span", log=True)
    known: str = among({PAIR: "the speed-up on two", SHARE: "the serial share"}, PAIR, "What you measured")
    pair: float = figure(label="Speed-up on two workers", unit="×", low=1.4, high=2, dial="span", step=0.01)
    share: float = figure(10, "Serial share", "%", low=0, high=30, dial="span", step=0.1, means=hundredths)
    kappa: float = figure(0, "Crosstalk κ, in thousandths", low=0, high=10, dial="span", step=0.1, means=thousandths)
    weeks: int = whole(0, "Weeks of work (each halves the serial share)", least=0, most=8, dial="span")
    target: float = figure(label="Target", unit="×", low=2, high=200, dial="span", log=True)
    job: str = among({FIXED: "stays the same", GROWS: "grows with the workers"}, FIXED, "Size of the job")
    price: float = figure(label="Price of a worker-hour, in USD", low=0.1, high=10, dial="span", log=True)
    week_price: float = figure(label="Price of a week of work, in USD", low=1000, high=50_000, dial="span", log=True)

    @property
    def grown(self) -> bool:
        return self.job == GROWS

    @property
    def serial(self) -> float:
        """The serial share before any week of work."""
        return float(karp_flatt(self.pair, 2.0)) if self.known == PAIR else self.share

    @property
    def sigma(self) -> float:
        """The serial share that is left: every week halves it."""
        return float(self.serial / 2**self.weeks)

    def speedup_on(self, n: float) -> float:
        return float((usl_grown if self.grown else usl)(float(n), self.sigma, self.kappa))

    @property
    def speedup(self) -> float:
        return self.speedup_on(self.workers)

    @property
    def reaches(self) -> bool:
        """Whether the target is met, the last bit of a float aside."""
        return self.speedup >= self.target * (1 - 1e-9)

    @property
    def efficiency(self) -> float:
        return self.speedup / self.workers

    @property
    def ceiling(self) -> float:
        """With any number of workers; inf where there is none."""
        if self.grown:
            return (1.0 - self.sigma) / self.kappa if self.kappa else math.inf
        return self.speedup_on(self.best) if self.kappa else float(amdahl_ceiling(1.0 - self.sigma))

    @property
    def best(self) -> float:
        """The number of workers beyond which more are slower; inf where there is none."""
        return math.inf if self.grown else best_workers(self.sigma, self.kappa)

    @property
    def needed(self) -> float:
        """The fewest workers that reach the target; inf where none do."""
        if not self.kappa and not self.grown:
            return workers_needed(self.sigma, self.target)
        low, high = 1, int(min(self.best, LARGEST))
        if self.speedup_on(high) < self.target:
            return math.inf
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.speedup_on(middle) < self.target else (low, middle)
        return float(low)

    @property
    def weeks_needed(self) -> float:
        """Weeks after which this many workers reach the target; inf where no share is small enough."""
        return next((float(w) for w in range(MOST_WEEKS) if replace(self, weeks=w).reaches), math.inf)

    def cost_on(self, n: float) -> float:
        """What one result costs in USD: worker-hours, and its part of the weeks."""
        return self.price * n * self.story.hours / self.speedup_on(n) + self.weeks * self.week_price / self.story.runs

    @property
    def cost(self) -> float:
        return self.cost_on(self.workers)

    @property
    def alone(self) -> float:
        """What a result costs on one worker, with no week spent."""
        return self.price * self.story.hours

    @property
    def too_dear(self) -> float:
        """How much more a result costs than it is worth to have it in time; below 0 is room."""
        return self.cost - self.alone - self.story.worth


def cheapest(job: Job, most_weeks: int, most_workers: int) -> Job:
    """The design that reaches the target at the least cost, workers and weeks being free."""
    designs = [replace(job, weeks=weeks) for weeks in range(most_weeks + 1)]
    reach = [replace(each, workers=int(each.needed)) for each in designs if each.needed <= most_workers]
    return min(reach, key=lambda each: each.cost)
