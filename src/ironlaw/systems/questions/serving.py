"""A language model with an SLO: one way to serve it under one load, simulated step by step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from ironlaw.engine.costs import device_hours
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import PREEMPTIONS, SCHEDULES, Policy
from ironlaw.engine.serving.llm.promise import Promise
from ironlaw.engine.serving.llm.requests import Request, Spread, alike, arriving
from ironlaw.errors import BadValue, unknown
from ironlaw.registry.decoders import FAMILIES, decoder, is_place
from ironlaw.registry.loader import normal
from ironlaw.registry.machines import registered
from ironlaw.registry.traces import trace, traces
from ironlaw.registry.workloads import about, workloads
from ironlaw.systems.fields import figure, one_of, same, switch, whole
from ironlaw.systems.question import Question, result
from ironlaw.systems.registry_names import machine
from ironlaw.systems.serving.deployments import MEMORY, STORED, USUAL, Deployment, deployment
from ironlaw.systems.serving.search.demand import GAP, Demand


def _served() -> list[str]:
    return [slug for slug in workloads() if about(slug)["family"] in FAMILIES]


def _model(name: str) -> str:
    if is_place(name):
        return name
    if normal(name) not in _served():
        raise unknown("model that can be served", name, _served(), field="model")
    return normal(name)


@lru_cache(maxsize=16)  # its table of steps takes longer than the simulation
def _deployment(model: str, machine: str, devices: int, weights: str, cache: str, budget: int, memory: float) -> Deployment:
    return deployment(decoder(model), registered(machine), devices, weights=weights, cache=cache, budget=budget, memory=memory)


@dataclass(frozen=True, repr=False)
class Serving(Question):
    model: str = one_of(_served, find=_model, about="a decoder of the registry, or a folder with the config.json of one")
    machine: str = machine()
    devices: int = whole(1, about="tensor parallelism, devices per replica")
    weights: str | None = one_of(lambda: STORED, None, about="number format of stored weights (default: the machine's 16-bit format)")
    cache: str | None = one_of(lambda: STORED, None, about="number format of the KV cache (default: the same)")
    memory: float = figure(MEMORY, about="share of a device's memory to use")
    budget: int = whole(2048, about="most tokens per step")
    most: int = whole(256, about="most sequences per step")
    scheduling: str = one_of(lambda: SCHEDULES, "continuous", about="when requests join a batch")
    chunked: bool = switch(True, about="chunked prefill beside decoding")
    preemption: str = one_of(lambda: PREEMPTIONS, "recompute", about="what happens to a request when the cache is full")
    prefix: int = whole(0, least=0, about="tokens of a prefix that all prompts share, cached once; 0 for none")
    speculate: int = whole(0, least=0, about="tokens proposed per step, at no cost; 0 for none")
    acceptance: float = figure(0.7, about="share of proposed tokens that are accepted")
    replicas: int = whole(1, about="number of replicas; with prompt_replicas, those that decode")
    prompt_replicas: int = whole(0, least=0, about="replicas that only prefill; 0 means all do both")
    trace: str | None = one_of(
        traces,
        None,
        find=lambda name: trace(name).slug,
        about="a published trace to draw requests from (default: generated requests)",
    )
    rate: float | None = figure(None, about="requests per second (default: the trace's)")
    prompt: int = whole(USUAL[0], about="average tokens per prompt, without a trace")
    output: int = whole(USUAL[1], about="average tokens per answer, without a trace")
    varied: bool = switch(True, about="lengths vary as widely as their mean; false makes all alike; without a trace")
    requests: int = whole(2000, about="how many requests to simulate")
    ttft: float = same(Demand, "ttft", about="SLO on the time to first token")
    tbt: float = same(Demand, "tbt", default=GAP, about="SLO on the time between tokens")
    share: float = figure(0.99, about="share of requests that must meet the SLO")
    seed: int = whole(0, least=0, about="seed of the simulated requests")

    @property
    def deployment(self) -> Deployment:
        return _deployment(self.model, self.machine, self.devices, self.weights or "", self.cache or "", self.budget, self.memory)

    @property
    def policy(self) -> Policy:
        guess = self.deployment.speculation(self.speculate, self.acceptance) if self.speculate else None
        return Policy(
            self.scheduling, self.most, self.budget, self.chunked, preemption=self.preemption, sharing=self.prefix > 0, speculation=guess
        )

    @property
    def load(self) -> tuple[Request, ...]:
        """The requests: of a published trace, at its own rate or another, or drawn from a law."""
        if self.trace is not None:
            drawn = trace(self.trace).draw(self.requests, self.seed, self.rate)
        elif self.rate is None:
            raise BadValue("how many requests arrive per second? Give a rate or a trace", "rate")
        else:
            spread = 1.0 if self.varied else 0.0
            drawn = arriving(self.rate, self.requests, Spread(self.prompt, spread), Spread(self.output, spread), self.seed)
        return alike(drawn, self.prefix) if self.prefix else drawn

    @property
    def promise(self) -> Promise:
        return Promise(self.ttft, self.tbt, self.share)

    @cached_property
    def outcome(self) -> Outcome:
        rig, policy, load = self.deployment, self.policy, self.load
        if self.prompt_replicas:
            return rig.run_apart(load, policy, self.prompt_replicas, self.replicas, self.seed)
        return rig.run(load, policy, self.replicas, self.seed)

    @result("devices × hours for a million new tokens", "", "low")
    def hours_per_million(self) -> float:
        return device_hours(1.0, self.outcome.tokens_per_s, self.total_devices)

    @result("new tokens per second while requests keep coming", "", "high")
    def tokens_per_s(self) -> float:
        return self.outcome.tokens_per_s

    @result("time to first token at the SLO's percentile", "s", "low")
    def ttft_s(self) -> float:
        return self.outcome.ttft(self.share)

    @result("time between tokens at the SLO's percentile", "s", "low")
    def tbt_s(self) -> float:
        return self.outcome.tbt(self.share)

    @result("requests per second that meet the SLO", "", "high")
    def goodput_per_s(self) -> float:
        return self.outcome.goodput(self.ttft, self.tbt)

    @result("of all replicas", "", "low", "int64")
    def total_devices(self) -> int:
        return self.devices * (self.replicas + self.prompt_replicas)

    @result("median time to first token", "s", "low")
    def ttft_p50_s(self) -> float:
        return self.outcome.ttft(0.5)

    @result("median time between tokens", "s", "low")
    def tbt_p50_s(self) -> float:
        return self.outcome.tbt(0.5)

    @result("whether the promise is kept", column="bool")
    def kept(self) -> bool:
        return not self.promise.broken(self.outcome)

    @result("what breaks it", column="string")
    def binds(self) -> str:
        return self.promise.binds(self.outcome)

    @result("sequences that decode together, on average", "", "high")
    def batch(self) -> float:
        return self.outcome.batch

    @result("share of the time in which a step runs", "%", "low")
    def busy(self) -> float:
        return self.outcome.busy

    @result("largest share of a cache in use", "%", "low")
    def cache_peak(self) -> float:
        return self.outcome.peak

    @result("times that a request had to make room", "", "low", "int64")
    def preempted(self) -> int:
        return self.outcome.preempted

    @result("what the time rests on: bound, transferred or calibrated", column="string")
    def basis(self) -> str:
        return self.deployment.basis
