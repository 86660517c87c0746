"""How often a weight is used once it has arrived: again at every position of an image, once per sequence in a decoding step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.registry.workloads import workload

# one pass of each model; the context of a decoding step changes no weight's uses
PASSES: dict[str, dict[str, object]] = {
    "resnet50": {}, "mobilenet_v2": {}, "dscnn_kws": {}, "llama3_8b": {"phase": "decode", "context": 512},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """One op and its matrix of weights: how many there are, and how many multiply-adds each is for."""

    name: str
    weights: float
    uses: float


@lru_cache(maxsize=64)
def uses(model: str, batch: int) -> tuple[Use, ...]:
    """Every op of a pass that multiplies by weights, in order. Gains and biases are not multiplied over and over; they are left out."""
    found = []
    for op in workload(model, batch=batch, **PASSES[model]).ops:
        weights = sum(float(t.size) for t in op.inputs if t.role == "weight" and len(t.shape) > 1)
        if weights and op.work.matmul_flops:
            found.append(Use(op.name, weights, float(op.work.matmul_flops) / 2 / weights))
    return tuple(found)


def mean(of: Sequence[Use]) -> float:
    """Over all weights: a layer counts by how many it has."""
    return sum(use.weights * use.uses for use in of) / sum(use.weights for use in of)


def to_pay(machine: Hardware, fmt: str, level: str = "main") -> float:
    """Multiply-adds that the machine could do while one number arrives from a memory level: the ridge, counted per number."""
    return float(machine.ridge(fmt, level)) * bytes_per_element(fmt) / 2
