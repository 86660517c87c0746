"""A model on devices that share it: whether it fits, what its cache holds, what its steps take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.cluster.library import collective
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.memory import live_activations
from ironlaw.engine.serving.llm.cache import CacheShape, pool_blocks, slots
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.load import Request
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.replicas import side_by_side
from ironlaw.engine.serving.llm.steps import StepTable
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box, boxes
from ironlaw.registry.decoders import steps, weight_bytes
from ironlaw.registry.families.served import step
from ironlaw.units import show

PLAN = Plan(mode="eager_graphs")  # a step is one replayed graph, as serving engines run it
MEMORY = 0.9  # of a device's memory, for weights, activations and cache


@dataclass(frozen=True)
class Deployment:
    """One replica: `devices` of a machine that share a model by tensor parallelism. Bytes are of one device."""

    model: Decoder
    hardware: Hardware
    devices: int
    dtype: str
    weights: str
    cache: str
    weight_bytes: float
    activation_bytes: float
    cache_bytes: float
    table: StepTable
    box: Box | None = None

    def blocks(self, block: int) -> int:
        return pool_blocks(self.cache_bytes, self._shape, block)

    def slots(self, tokens: int, block: int = 16) -> int:
        """Requests of so many tokens that fit at once."""
        return slots(self.cache_bytes, self._shape, tokens, block)

    @property
    def _shape(self) -> CacheShape:
        return self.model.cache(self.cache).shard(self.devices)

    def run(self, requests: Sequence[Request], policy: Policy, replicas: int = 1, seed: int = 0) -> Outcome:
        """Blocks are swapped over the slowest link of the device, which is the way to its host."""
        link = min((one.per_direction for one in self.hardware.links), default=0.0)
        swap = self._shape.token_bytes * policy.block / link if link else 0.0
        return side_by_side(requests, self.table, self.blocks(policy.block), policy, replicas, swap=swap, seed=seed)


def arithmetic(machine: Hardware) -> str:
    """The two-byte format that a machine multiplies in; FP32 where it has none."""
    return next((fmt for fmt in ("bf16", "fp16") if fmt in machine.peaks), "fp32")


def box_of(machine: Hardware) -> Box | None:
    """The box that holds most of these devices; None where the registry has none."""
    able = [one for one in map(box, boxes()) if one.device == machine.slug]
    return max(able, key=lambda one: one.devices, default=None)


def weigh(model: Decoder, machine: Hardware, devices: int, weights: str, budget: int, memory: float) -> tuple[float, float, float]:
    """Bytes of one device for weights, activations of a step of `budget` tokens, and what is left for the cache (or missing: negative)."""
    dtype = arithmetic(machine)
    share = model.shard(devices)
    stored = weight_bytes(share, dtype, weights)
    alive = float(live_activations(step(share, chunk=budget, dtype=dtype, layers=2)))
    return stored, alive, min(memory * float(machine.capacity), float(machine.usable)) - stored - alive


def deployment(
    model: Decoder, machine: Hardware, devices: int = 1, *, weights: str = "", cache: str = "", budget: int = 2048, memory: float = MEMORY,
    overhead: float = 0.0, plan: Plan = PLAN,
) -> Deployment:  # fmt: skip
    """Refused where the weights leave no room for a cache, or no box of the registry joins so many of these devices."""
    if not 0 < memory <= 1:
        raise BadValue(f"a share of {memory!r} of the memory; give one above 0 and at most 1", "memory")
    dtype = arithmetic(machine)
    stored, alive, room = weigh(model, machine, devices, weights, budget, memory)
    if room <= 0:
        raise BadValue(
            f"{model.name} does not fit {devices} × {machine.slug}: {show(stored, 'B')} of weights and {show(alive, 'B')} of activations on"
            f" each, of {show(memory * float(machine.capacity), 'B')}; take more devices or narrower weights",
            "devices",
        )
    joint = box_of(machine) if devices > 1 else None
    if devices > 1 and (joint is None or devices > joint.devices):
        raise BadValue(f"the registry has no box with {devices} × {machine.slug}; add one to registry/box/", "devices")

    def reduce(size: float) -> float:
        assert joint is not None
        return float(collective(joint, "all_reduce", devices, size))

    table = steps(
        model,
        machine,
        plan,
        dtype=dtype,
        weights=weights,
        cache=cache,
        devices=devices,
        reduce=reduce if joint else None,
        overhead=overhead,
    )
    return Deployment(model, machine, devices, dtype, weights or dtype, cache or dtype, stored, alive, room, table, joint)
