"""A model on devices that share it: whether it fits, what its cache holds, what its steps take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.engine.cluster.library import collective
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.memory import live_activations
from ironlaw.engine.serving.llm.cache import blocks
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy, Speculation
from ironlaw.engine.serving.llm.replicas import apart, first_tokens, side_by_side
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.engine.serving.llm.step_times import StepTable
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box, boxes
from ironlaw.registry.decoders import steps, weight_bytes
from ironlaw.registry.families.served import step
from ironlaw.units import show

PLAN = Plan(mode="eager_graphs")  # a step is one replayed graph, as serving engines run it
STORED = ("fp32", "bf16", "fp16", "fp8", "int8", "int4", "fp4")  # formats that weights and caches may have
USUAL = 1155, 211  # tokens of a prompt and of an answer where nothing is said: the mean of Azure's conversations
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
    draft: Decoder | None = None  # a small model on every device that proposes tokens
    draft_table: StepTable | None = None
    products: str = ""  # the format of the layers' products, where it is not `dtype`
    tokens: int = 0  # of a usual sequence, where what is kept of a token depends on it (windows, states)

    @property
    def token_bytes(self) -> float:
        """What one device keeps of a token, the draft's part included."""
        draft = self.draft.cache(self.cache, self.tokens).token_bytes if self.draft else 0.0
        return self.model.cache(self.cache, self.tokens).shard(self.devices).token_bytes + draft

    def blocks(self, block: int) -> int:
        return max(0, int(self.cache_bytes // (self.token_bytes * block)))

    def slots(self, tokens: int, block: int = 16) -> int:
        """Requests of so many tokens that fit at once."""
        return self.blocks(block) // blocks(tokens, block)

    def speculation(self, tokens: int, acceptance: float) -> Speculation:
        return Speculation(tokens, acceptance, self.draft_table)

    def run(self, requests: Sequence[Request], policy: Policy, replicas: int = 1, seed: int = 0) -> Outcome:
        return side_by_side(requests, self.table, self.blocks(policy.block), policy, replicas, swap=self._swap(policy), seed=seed)

    def first_tokens(self, requests: Sequence[Request], policy: Policy, prompts: int, seed: int = 0) -> Outcome:
        return first_tokens(requests, self.table, self.blocks(policy.block), policy, prompts, seed)

    def run_apart(self, requests: Sequence[Request], policy: Policy, prompts: int, decoders: int, seed: int = 0) -> Outcome:
        """Some replicas compute prompts, others decode; a prompt's cache goes from one to the other."""
        rate, _ = self.way(prompts + decoders)
        return apart(
            requests, self.table, self.blocks(policy.block), policy, prompts=prompts, decoders=decoders, move=self.token_bytes / rate,
            seed=seed, swap=self._swap(policy),
        )  # fmt: skip

    def way(self, replicas: int) -> tuple[float, str]:
        """Bytes per second from a device of one replica to its like in another, and over which wire; a box's ports are shared."""
        joint = box_of(self.hardware)
        if joint is None:
            host = min(self.hardware.links, key=lambda one: one.per_direction, default=None)
            if host is None:
                raise BadValue(
                    f"the registry knows no link of {self.hardware.slug}, so the cache can't be sent; leave out `apart`",
                    "apart",
                )
            return float(host.per_direction), host.name
        inside = replicas * self.devices <= joint.devices
        _, wire = joint.edge(0, self.devices if inside else joint.devices)
        return wire.achieved * (1.0 if inside else min(1.0, joint.nics / joint.devices)), wire.name

    def _swap(self, policy: Policy) -> float:
        """Seconds of a block over the slowest link of the device, which is the way to its host."""
        link = min((one.per_direction for one in self.hardware.links), default=0.0)
        return self.token_bytes * policy.block / link if link else 0.0


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
    stored = weight_bytes(share, dtype, weights or model.stored)
    alive = float(live_activations(step(share, chunk=budget, dtype=dtype, layers=2)))
    return stored, alive, min(memory * float(machine.capacity), float(machine.usable)) - stored - alive


def deployment(
    model: Decoder, machine: Hardware, devices: int = 1, *, weights: str = "", cache: str = "", budget: int = 2048, memory: float = MEMORY,
    overhead: float = 0.0, plan: Plan = PLAN, draft: Decoder | None = None, products: str = "", coarse: bool = False,
    tokens: int = sum(USUAL),
) -> Deployment:  # fmt: skip
    """Refused where the weights leave no room for a cache, or no box of the registry joins so many of these devices.

    `coarse`: a table of steps with fewer points, for a page that must answer at once. `tokens` of a usual sequence.
    """
    if not 0 < memory <= 1:
        raise BadValue(f"{memory!r} is not a valid share of the memory; give one above 0 and at most 1", "memory")
    dtype = arithmetic(machine)
    if model.stored and not weights and not products:
        weights, products = model.stored, model.products if model.products in machine.peaks else ""
    if products:
        machine.peak(products)  # refused where there is none
        if weights not in ("", products):
            raise BadValue(f"{products} products need {products} weights, but these are in {weights}; leave `weights` out", "weights")
        weights = products
    stored, alive, room = weigh(model, machine, devices, weights, budget, memory)
    small = weight_bytes(draft, dtype, weights) if draft else 0.0
    stored, room = stored + small, room - small
    if room <= 0:
        raise BadValue(
            f"{model.name} does not fit {devices} × {machine.slug}: {show(stored, 'B')} of weights and {show(alive, 'B')} of activations on"
            f" each, of {show(memory * float(machine.capacity), 'B')}; take more devices, narrower"
            " weights, or a larger machine",
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
        products=products,
        coarse=coarse,
    )
    proposing = steps(draft, machine, plan, dtype=dtype, weights=weights, cache=cache, products=products) if draft else None
    return Deployment(
        model, machine, devices, dtype, weights or dtype, cache or dtype, stored, alive, room, table, joint, draft, proposing, products,
        tokens,
    )  # fmt: skip
