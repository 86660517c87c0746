"""A decoder on a machine behind a trace, kept for a page: what requests of the trace get from it, once a tenth of them has filled it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from ironlaw.engine.serving.llm.cache import blocks
from ironlaw.engine.serving.llm.layout import Layout
from ironlaw.engine.serving.llm.outcome import Outcome, joined
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.errors import BadValue
from ironlaw.registry.decoders import decoder
from ironlaw.registry.machines import registered
from ironlaw.registry.traces import trace
from ironlaw.systems.serving.deployments import MEMORY, Deployment, box_of, deployment, weigh

CHAT = "azure_chat_2023"
REQUESTS, LONG = 200, 2000  # of a trace: few enough to answer while a dial moves, and enough for a percentile to hold still
WARM = 0.1  # of them arrive before first tokens are counted
LEAST_BUDGET = 128


@lru_cache(maxsize=64)
def drawn(name: str = CHAT, rate: float | None = None, count: int = REQUESTS) -> tuple[Request, ...]:
    return trace(name).draw(count, 0, rate)


@dataclass(frozen=True)
class ServedCase:
    """`rate`: times the trace's own; `devices` share a replica by tensor parallelism. Without chunks, as the story's server runs."""

    model: str = "llama3_70b"
    machine: str = "h100_sxm"
    devices: int = 4
    replicas: int = 1
    trace: str = CHAT
    rate: float = 1.0
    weights: str = ""
    cache: str = ""
    memory: float = MEMORY
    policy: Policy = field(default_factory=lambda: Policy(chunked=False))
    count: int = REQUESTS

    @property
    def per_second(self) -> float:
        return self.rate * trace(self.trace).rate

    @property
    def requests(self) -> tuple[Request, ...]:
        return drawn(self.trace, self.per_second, self.count)

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt and the longest answer of the trace: no request has more, whichever are drawn."""
        law = trace(self.trace)
        return law.prompt.at(1.0) + law.output.at(1.0)

    @cached_property
    def weighed(self) -> tuple[float, float, float]:
        """Bytes of one device: weights, activations of a step, and what is left for the cache (or missing)."""
        return _weighed(self.model, self.machine, self.devices, self.weights, self.policy.budget, self.memory)

    @cached_property
    def rig(self) -> Deployment | None:
        """None where the cache has no room for the longest request."""
        stored, alive, room = self.weighed
        if room <= 0:
            return None
        ready = replace(
            _ready(self.model, self.machine, self.devices, self.weights, self.cache), weight_bytes=stored, activation_bytes=alive,
            cache_bytes=room,
        )  # fmt: skip
        longest = max(r.prompt + r.output for r in self.requests)
        return ready if ready.blocks(self.policy.block) >= blocks(longest, self.policy.block) else None

    @cached_property
    def parts(self) -> tuple[Outcome, ...]:
        """Each replica's own; requests are dealt to them in turn."""
        return _parts(self)

    @cached_property
    def outcome(self) -> Outcome:
        """The outcome of all replicas together, with first tokens after the warm-up."""
        return _outcome(self)

    @property
    def tokens_per_s(self) -> float:
        """New tokens of all replicas: those that are asked for where the server keeps up, else what the run made."""
        return self.outcome.tokens_per_s if self.falls_behind else self.per_second * trace(self.trace).output.mean

    @property
    def device_seconds(self) -> float:
        """Device time over all devices, for a million new tokens."""
        return 1e6 * self.devices * self.replicas / self.tokens_per_s

    def backlog(self, at: float) -> int:
        """Requests that had arrived and had no token yet."""
        return sum(r.arrive <= at < first for r, first in zip(self.outcome.requests, self.outcome.first, strict=True))

    @cached_property
    def falls_behind(self) -> bool:
        """More wait at the end than half-way, and the line outlives the arrivals by a tenth."""
        end = self.requests[-1].arrive
        return self.backlog(end) > self.backlog(end / 2) and max(self.outcome.first) > 1.1 * end


def served(
    model: str,
    machine: str,
    devices: int,
    rate: float = 1.0,
    *,
    replicas: int = 1,
    cache: str = "",
    chunked: bool = True,
    budget: int = 2048,
) -> Outcome:
    """What the chats' requests get, in a long run: `served("llama3_70b", "h100_sxm", 4, budget=512)`."""
    policy = Policy(chunked=chunked, budget=budget)
    return ServedCase(model, machine, devices, replicas, CHAT, rate, cache=cache, policy=policy, count=LONG).outcome


def step_predicted(model: str, machine: str, devices: int, batch: int, context: float) -> float:
    """Seconds of one decode step."""
    return _ready(model, machine, devices, "", "").table.seconds(batch, batch * context)


def most_devices(machine: str) -> int:
    """How many share a model over wires that the registry knows."""
    joint = box_of(registered(machine))
    return min(8, joint.devices) if joint else 1


@lru_cache(maxsize=256)
def _weighed(model: str, machine: str, devices: int, weights: str, budget: int, memory: float) -> tuple[float, float, float]:
    return weigh(decoder(model), registered(machine), Layout(devices), weights, budget, memory)


@lru_cache(maxsize=32)  # its table of steps takes longer than the simulation
def _ready(model: str, machine: str, devices: int, weights: str, cache: str) -> Deployment:
    return deployment(
        decoder(model), registered(machine), devices, weights=weights, cache=cache, budget=LEAST_BUDGET, memory=1.0, coarse=True
    )


@lru_cache(maxsize=64)
def _parts(case: ServedCase) -> tuple[Outcome, ...]:
    rig, count = case.rig, min(case.replicas, len(case.requests))
    if rig is None:
        raise BadValue(f"{case.model} leaves no room for a request on {case.devices} × {case.machine}; take more devices", "devices")
    return tuple(rig.run(case.requests[k::count], case.policy) for k in range(count))


@lru_cache(maxsize=32)  # a page asks for the same percentiles again and again: they are sorted once
def _outcome(case: ServedCase) -> Outcome:
    parts, warm = case.parts, round(WARM * case.count) if case.count > REQUESTS else 0  # a short run has none to spare
    if len(parts) == 1:
        return replace(parts[0], replicas=case.replicas, blocks=case.replicas * parts[0].blocks, warm=warm)
    return replace(joined(parts, [range(k, len(case.requests), len(parts)) for k in range(len(parts))]), warm=warm)
