"""Act II's plan: a model of the table, where it runs, how it is trained; and what that takes, op by op."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.machine import Plan as Running
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.engine.numerics.pareto_nd import LESS, MORE, Candidate, dominators
from ironlaw.engine.robustness import attack_cost, largest_radius
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, EPSILON, IMAGENET, SIDE, STANDARD, Model, model, models
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.systems.fields import among, figure, times, whole

SENSES = {"clean": MORE, "attacked": MORE, "seconds": LESS, "hours": LESS}
DEVICES = ("h100_sxm", "a100_80gb_sxm", "l4", "t4", "agx_orin_64gb")
MODES = {"eager": "op by op", "compiled": "compiled"}
FORMATS = {"fp32": "FP32", "fp16": "FP16"}
TRAINED_ON, TRAINED_IN, TRAINING_BATCH = "h200_sxm", "bf16", 256
WIDEST = 256  # images in one pass of noisy copies
QUEUE = "lab_13_line"
SLO = 0.020  # seconds
SHORTEST, LONGEST = 0.005, 0.100
HOUR = 3600.0


@dataclass(frozen=True)
class Goal:
    """What is asked for: percent right as it is and under attack, hours on one H200, and the least recipe."""

    clean: float
    attacked: float
    hours: float
    steps: int
    images: float  # millions


GOALS = {CIFAR: Goal(90, 65, 120, 10, 100), IMAGENET: Goal(60, 30, 20, 3, 100)}


@dataclass(frozen=True)
class Plan:
    """`steps` of attack before each training step; `images` that are trained on, in millions; `samples`: noisy copies, 0 for none."""

    model: Model
    device: str = among(DEVICES, "l4", "Device", dial="select", shown=lambda slug: hardware(slug).name)
    batch: int = whole(32, "Images per batch", most=256, dial="span", log=True, steps=[2**k for k in range(9)])
    dtype: str = among(FORMATS, "fp16", "Number format")
    mode: str = among(MODES, "eager", "Execution")
    members: int = whole(1, "Networks that vote", most=5, dial="span", shows="places")
    steps: int = whole(10, "Steps of attack in training", most=20, dial="span", shows="step")
    images: float = figure(
        100, "Training images, in millions", low=10, high=1000, dial="span", log=True, steps=[10, 20, 50, 100, 200, 500, 1000]
    )
    samples: int = whole(0, "Copies of each image", least=10, most=100_000, dial="span", log=True, shows="certificate")
    sigma: float = figure(0.25, "Noise, of a pixel's range", low=0.1, high=1.5, dial="span", step=0.05, shows="certificate")
    slo: float = figure(
        1e3 * SLO, "Limit per batch", "ms", low=1e3 * SHORTEST, high=1e3 * LONGEST, dial="span", log=True, means=times(1e-3)
    )

    @property
    def goal(self) -> Goal:
        return GOALS[self.model.data]

    @property
    def once(self) -> float:
        """Seconds of one network for one batch, without noisy copies."""
        return forward(self.model.graph, self.device, self.batch, self.dtype, self.mode)

    @property
    def seconds(self) -> float:
        """Until a batch is answered: all members, all noisy copies."""
        if not self.samples:
            return self.members * self.once
        copies = self.batch * self.samples
        whole = forward(self.model.graph, self.device, min(copies, WIDEST), self.dtype, self.mode)
        return self.members * whole * max(1.0, copies / WIDEST)

    @property
    def attack_steps(self) -> int:
        """A standard network is trained on images as they are."""
        return 0 if self.model.slug in STANDARD.values() else self.steps

    @property
    def step_seconds(self) -> float:
        """A training step on the training machine: three passes' worth, times what the attack adds."""
        return 3 * forward(self.model.graph, TRAINED_ON, TRAINING_BATCH, TRAINED_IN, "compiled") * attack_cost(self.attack_steps)

    @property
    def hours(self) -> float:
        return self.members * self.step_seconds * 1e6 * self.images / TRAINING_BATCH / HOUR

    @property
    def box(self) -> float:
        """L2 distance from an image to the corner of the box that the attack may move in: a certificate must reach it."""
        return EPSILON[self.model.data] * math.sqrt(3.0) * SIDE[self.model.data]

    @property
    def radius(self) -> float:
        """What the noisy copies certify at most."""
        return largest_radius(self.sigma, self.samples) if self.samples else 0.0

    @property
    def dominators(self) -> tuple[str, ...]:
        """Models of the table, alone and without noise, that are no worse in anything and better in something."""
        own, plain = self.model, replace(self, members=1, samples=0)
        as_good = [one for one in models(own.data) if one.graph and one.clean >= own.clean and one.attacked >= own.attacked]
        others = [Candidate(one.name, replace(plain, model=one)._figures()) for one in as_good]
        here = Candidate("own", self._figures())
        return tuple(one.name for one in dominators(here, [here, *others], SENSES))

    def _figures(self) -> dict[str, float]:
        return {"clean": self.model.clean, "attacked": self.model.attacked, "seconds": self.seconds, "hours": self.hours}


@lru_cache(maxsize=1024)
def forward(graph: str, device: str, batch: int, dtype: str, mode: str) -> float:
    """Seconds of one pass, as predicted."""
    return float(predict(_graph(graph, batch, dtype), hardware(device), Running(mode=mode)).seconds)


@lru_cache(maxsize=128)
def _graph(name: str, batch: int, dtype: str) -> Graph:
    """Kept longer than the registry keeps one: a plan is compared with others at every batch."""
    return workload(name, batch=batch, dtype=dtype)


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """The target that Lab 13 saved."""
    saved = (lab.ledger.design(QUEUE) or {}).get("target_p99_s")
    return [kit.Offer(QUEUE, "target", {"slo": 1e3 * saved})] if isinstance(saved, (int, float)) and saved > 0 else []


def plan_of(data: str, values: Mapping[str, Any]) -> Plan:
    chosen = values["model"]
    known = [one.slug for one in models(data)]
    samples = round(values["samples"]) if values["noise"] == "on" else 0
    return settings.read(Plan, values, model=model(data, chosen if chosen in known else STANDARD[data]), samples=samples)
