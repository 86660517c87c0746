"""Act II's settings -> what a server does with its requests: engine calls, kept per setting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from ironlaw.engine.device import memory
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.serving.batching import batch_server, full_times
from ironlaw.engine.serving.queues import md1
from ironlaw.registry.workloads import workload

SIZES = (1, 8, 32, 64, 96, 128, 256)  # batches whose time is predicted; straight lines between
MOSTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MODELS: dict[str, dict[str, Any]] = {"resnet50": {}, "bert_base": {}, "vit_l16": {}, "llama3_2_1b": {"phase": "prefill", "seq": 512}}
POLICIES = {"one": "one by one", "fixed": "full batches", "waiting": "what waits", "timeout": "what waits, or a timeout"}
ONE, FIXED, WAITING, TIMEOUT = POLICIES
RATES = (1.0, 10.0, 30.0, *(100 * 10 ** (k / 3) for k in range(10)))  # to 100,000 a second: closer where something happens
TAIL = tuple(1 - 10 ** (-k / 8) for k in range(1, 25))  # shares at which the distribution is drawn
P = 0.99
NEAR = 0.95  # of the capacity: where a curve ends
SOME, MANY = 800, 4_000  # requests behind a point of a curve, and behind the learner's own
_times: dict[tuple[int, str, str, str], tuple[Hardware, dict[int, float]]] = {}


def times_of(machine: Hardware, model: str, mode: str, fmt: str) -> dict[int, float]:
    """Batch -> seconds of a pass. The machine is kept with them: what this machine is may change while a lab is open."""
    key = (id(machine), model, mode, fmt)
    if key not in _times:
        plan = Plan(mode=mode)
        seconds = {b: float(predict(workload(model, batch=b, dtype=fmt, **MODELS[model]), machine, plan).seconds) for b in SIZES}
        _times[key] = (machine, seconds)
    return _times[key][1]


@lru_cache(maxsize=64)
def needs(model: str, fmt: str, most: int) -> memory.Memory:
    """What lies in memory at any moment grows along a straight line with the batch, so two batches give all others."""
    one, alive, more = _growth(model, fmt)
    return replace(one, activations=max(a + (most - 1) * b for a, b in zip(alive, more, strict=True)))


@lru_cache(maxsize=16)
def _growth(model: str, fmt: str) -> tuple[memory.Memory, tuple[float, ...], tuple[float, ...]]:
    one, two = (workload(model, batch=batch, dtype=fmt, **MODELS[model]) for batch in (1, 2))
    alive = tuple(map(float, memory.live_profile(one)))
    return memory.footprint(one), alive, tuple(float(b) - a for a, b in zip(alive, memory.live_profile(two), strict=True))


@dataclass(frozen=True)
class Outcome:
    """What requests see. Times are infinite where the line grows without end."""

    mean: float
    p99: float
    busy: float
    batch: float
    tail: tuple[tuple[float, float], ...] = ()  # (seconds, share of requests that take longer)


ENDLESS = Outcome(math.inf, math.inf, 1.0, math.nan)


@dataclass(frozen=True)
class Case:
    """Where the dials of Act II stand."""

    hardware: Hardware = field(compare=False, hash=False)
    rate: float = 10_000.0
    model: str = "resnet50"
    mode: str = "compiled"
    fmt: str = "fp16"
    policy: str = WAITING
    most: int = 64
    timeout: float = 0.005
    replicas: int = 1
    split: bool = False
    burst: int = 1
    target: float = 0.02
    moving: bool = field(default=False, compare=False)  # a dial is being turned

    @cached_property
    def times(self) -> dict[int, float]:
        return times_of(self.hardware, self.model, self.mode, self.fmt)

    @property
    def taken(self) -> int:
        """The most that a server takes at once."""
        return 1 if self.policy == ONE else self.most

    @property
    def alone(self) -> float:
        """T(1): what a request takes with nobody else there."""
        return self.times[1]

    @property
    def full(self) -> float:
        """T(B)."""
        return full_times(self.times, self.taken)[self.taken]

    @property
    def capacity(self) -> float:
        return self.replicas * self.taken / self.full

    @property
    def load(self) -> float:
        return self.rate / self.capacity

    @property
    def growth(self) -> float:
        """Requests a second that nobody serves."""
        return max(0.0, self.rate - self.capacity)

    @property
    def footprint(self) -> memory.Memory:
        machine = self.hardware
        return replace(needs(self.model, self.fmt, self.taken), capacity=machine.capacity, reserved=machine.reserved)

    @property
    def outcome(self) -> Outcome:
        return self.at(self.rate, MANY)

    def at(self, rate: float, n: int = SOME) -> Outcome:
        """The same servers at another rate."""
        timeout = self.timeout if self.policy == TIMEOUT else 0.0
        return _outcome(rate, tuple(self.times.items()), self.taken, self.policy, timeout, self.replicas, self.split and self.replicas > 1,
                        self.burst, n)  # fmt: skip

    @property
    def curve(self) -> tuple[tuple[float, Outcome], ...]:
        """Rate -> outcome, up to capacity."""
        last = NEAR * self.capacity
        rates = [rate for rate in RATES if rate < last]
        return tuple((rate, self.at(rate)) for rate in (*rates, *((last,) if rates and last < RATES[-1] else ())))

    def with_policy(self, policy: str) -> Case:
        return replace(self, policy=policy)

    @property
    def headroom(self) -> float:
        """The highest rate that meets the target, from the curve: its last point that does, then straight on a log scale; 0: none."""
        points = [(rate, outcome.p99) for rate, outcome in self.curve] + [(self.capacity, math.inf)]
        good = [i for i, (_, p99) in enumerate(points) if p99 <= self.target]
        if not good:
            return 0.0
        (low, before), (high, after) = points[good[-1]], points[good[-1] + 1]
        if math.isinf(after):
            return low
        share = math.log(self.target / before) / math.log(after / before) if after > before else 0.0
        return float(low * (high / low) ** min(1.0, max(0.0, share)))


@lru_cache(maxsize=8192)
def _outcome(
    rate: float, times: tuple[tuple[int, float], ...], most: int, policy: str, timeout: float, replicas: int, split: bool, burst: int,
    n: int,
) -> Outcome:  # fmt: skip
    seconds = dict(times)
    full = full_times(seconds, most)[most]
    if rate >= replicas * most / full:
        return ENDLESS
    if most == 1 and policy != TIMEOUT and burst == 1 and (split or replicas == 1):
        line = md1(rate / replicas, full)
        return Outcome(
            line.mean, line.quantile(P), rate * full / replicas, 1.0, tuple((line.quantile(p), 1 - p) for p in TAIL) if n > SOME else ()
        )
    if split and burst == 1:  # Poisson requests that are dealt at random are Poisson in each line, and all lines are alike
        return _outcome(rate / replicas, times, most, policy, timeout, 1, False, 1, n)
    working = min(replicas, 2 + math.ceil(2 * rate * full / most))  # servers that full batches keep at work, with room for chance
    enough = max(
        n,
        (_batches(n) if rate * seconds[1] > 1 else 0) * most,
        3 * most * (replicas if split else working) if policy == FIXED else 0,
        100 * replicas if split else 0,
    )
    served = batch_server(rate, seconds, most, policy=policy, timeout=timeout, replicas=replicas, split_lines=split, burst=burst, n=enough)
    tail = tuple((served.quantile(p), 1 - p) for p in TAIL) if n > SOME else ()
    return Outcome(served.mean, served.quantile(P), served.busy, served.batch, tail)


def _batches(n: int) -> int:
    """How many full batches a simulation sees at least."""
    return 30 if n > SOME else 12


def case_of(machine: Hardware, fmt: str, values: Mapping[str, Any]) -> Case:
    return Case(
        machine, values["rate"], values["model"], values["mode"], fmt, values["policy"], round(values["most"]), values["timeout"] / 1e3,
        round(values["replicas"]), values["line"] == "split", round(values["burst"]), values["target"] / 1e3,
        bool(values.get("moving")),
    )  # fmt: skip
