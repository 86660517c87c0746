"""What `ironlaw serve` is asked, and one answer to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.load import Request
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.promise import Answer, Promise
from ironlaw.registry.prices import Price
from ironlaw.systems.serving.deployments import Deployment


@dataclass(frozen=True)
class Search:
    """`load`: the requests for so many replicas. `lengths`: proposed tokens to try, where `acceptance` is given."""

    model: Decoder
    machines: tuple[Hardware, ...]
    load: Callable[[int], tuple[Request, ...]]
    about: Mapping[str, Any]
    promise: Promise
    weights: str = ""
    cache: str = ""
    products: str = ""
    devices: int | None = None
    batch: int = 256
    budget: int | None = None
    memory: float = 0.9
    overhead: float = 0.0
    most: int = 64
    scheduling: str = "continuous"
    chunked: bool = True
    preemption: str = "recompute"
    prefix: int = 0
    lengths: tuple[int, ...] = ()
    acceptance: float = 0.0
    draft: Decoder | None = None
    apart: bool = False
    prices: Mapping[str, Price] = field(default_factory=dict)
    simulate: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Choice:
    """A way to keep the promise. `prompts`: replicas that only compute prompts; 0 where all do both."""

    deployment: Deployment
    policy: Policy
    answer: Answer
    prompts: int = 0

    @property
    def devices(self) -> int:
        return self.deployment.devices * self.answer.replicas
