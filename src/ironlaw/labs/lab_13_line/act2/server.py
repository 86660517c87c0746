"""Act II's settings -> what a server does with its requests: engine calls, kept per setting."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from ironlaw.engine.device import memory
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.serving.batch_outcomes import BatchServers, Outcome
from ironlaw.engine.serving.targets import rate_on_curve
from ironlaw.labs.policies import POLICIES
from ironlaw.registry.workloads import about, workload
from ironlaw.systems.fields import among, figure, thousandths, whole

SIZES = (1, 8, 32, 64, 96, 128, 256)  # batches whose time is predicted; straight lines between
MOSTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MODELS: dict[str, dict[str, Any]] = {"resnet50": {}, "bert_base": {}, "vit_l16": {}, "llama3_2_1b": {"phase": "prefill", "seq": 512}}
ONE, FIXED, WAITING, TIMEOUT = POLICIES
LINES = {"one": "one for all GPUs", "split": "one per GPU"}
MODES = {"eager": "eager", "compiled": "compiled", "graphs": "graph replay"}
REPLICAS = 32
RATES = (1.0, 10.0, 30.0, *(100 * 10 ** (k / 3) for k in range(10)))  # to 100,000 a second: closer where something happens
TAIL = tuple(1 - 10 ** (-k / 8) for k in range(1, 25))  # shares at which the distribution is drawn
NEAR = 0.95  # of the capacity: where a curve ends
SOME, MANY = 800, 4_000  # requests behind a point of a curve, and behind the learner's own while a dial moves
LONG, BATCHES = 20_000, 400  # requests and batches behind it at rest: ten other seeds agree to two digits
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
class Case:
    """Where the dials of Act II stand."""

    hardware: Hardware = field(compare=False, hash=False)
    rate: float = figure(10_000, "Requests per second", "/s", low=1, high=100_000, dial="span", log=True, column="number")
    policy: str = among(POLICIES, WAITING, "When free, the server picks up", dial="select")
    timeout: float = figure(5, "Timeout", "ms", zero=True, low=0, high=50, dial="span", means=thousandths)
    most: int = whole(64, "Largest batch", most=MOSTS[-1], dial="span", log=True, steps=list(MOSTS))
    replicas: int = whole(1, "GPUs", most=REPLICAS, dial="span", log=True)
    line: str = among(LINES, "one", "Queues")
    burst: int = whole(1, "Requests in a burst", most=50, dial="span", log=True)
    target: float = figure(20, "P99, at most", "ms", low=2, high=500, dial="span", log=True, means=thousandths)
    model: str = among(tuple(MODELS), "resnet50", "Model", dial="select", shown=lambda name: str(about(name)["name"]))
    mode: str = among(MODES, "compiled", "Execution")
    fmt: str = "fp16"
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

    @cached_property
    def servers(self) -> BatchServers:
        held = self.timeout if self.policy == TIMEOUT else 0.0
        split = self.line == "split" and self.replicas > 1
        return BatchServers(tuple(self.times.items()), self.taken, self.policy, held, self.replicas, split_lines=split, burst=self.burst)

    @property
    def full(self) -> float:
        """T(B)."""
        return self.servers.full

    @property
    def capacity(self) -> float:
        return self.servers.capacity

    @property
    def load(self) -> float:
        return self.rate / self.capacity

    @property
    def growth(self) -> float:
        """Requests per second that nobody serves."""
        return max(0.0, self.rate - self.capacity)

    @property
    def footprint(self) -> memory.Memory:
        machine = self.hardware
        return replace(needs(self.model, self.fmt, self.taken), capacity=machine.capacity, reserved=machine.reserved)

    @property
    def outcome(self) -> Outcome:
        return self.at(self.rate, MANY if self.moving else LONG)

    @property
    def digits(self) -> int:
        """How many of an outcome's are sure."""
        return 3 if self.servers.exact else 2

    def at(self, rate: float, n: int = SOME) -> Outcome:
        """The same servers at another rate; for the learner's own point a whole distribution."""
        return self.servers.outcome(rate, n, BATCHES if n == LONG else 30, TAIL) if n > SOME else self.servers.outcome(rate, n, 12)

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
        """The highest rate that meets the target, from the curve; 0: none."""
        return rate_on_curve([(rate, outcome.p99) for rate, outcome in self.curve], self.target, self.capacity)
