"""A model on devices that share it: whether it fits, what its cache holds, what its steps take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ironlaw.engine.cluster.library import collective
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.device.machine import LASTING, Hardware, Plan
from ironlaw.engine.device.memory import live_activations
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.engine.serving.llm.cache import blocks
from ironlaw.engine.serving.llm.dealt_steps import DealtSteps
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.engine.serving.llm.front import Front
from ironlaw.engine.serving.llm.journal import Patience
from ironlaw.engine.serving.llm.layout import Layout, active, sendings, share, stage, sums
from ironlaw.engine.serving.llm.outcome import Outcome
from ironlaw.engine.serving.llm.policy import Policy, Speculation
from ironlaw.engine.serving.llm.replicas import apart, first_tokens, side_by_side
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.engine.serving.llm.step_times import StepTable
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box_with
from ironlaw.registry.decoders import steps, weight_bytes
from ironlaw.registry.families.served import step
from ironlaw.registry.own_files import how
from ironlaw.units import show

PLAN = Plan(mode="eager_graphs")  # a step is one replayed graph, as serving engines run it
STORED = ("fp32", "bf16", "fp16", "fp8", "int8", "int4", "fp4")  # formats that weights and caches may have
USUAL = 1155, 211  # tokens of a prompt and of an answer where nothing is said: the mean of Azure's conversations
MEMORY = 0.9  # of a device's memory, for weights, activations and cache
TYPICAL = 32  # sequences of the step whose doubt stands for all
HANDED = 10e-6  # seconds until a batch is on its way to the next stage: a send and a receive, as NCCL starts one


ONE = Layout()


class TooSmall(BadValue):
    """A machine whose memory does not hold a model."""


@dataclass(frozen=True)
class Deployment:
    """One replica: `devices` of a machine that share a model as `layout` says. Bytes are of one device."""

    model: Decoder
    hardware: Hardware
    devices: int
    dtype: str
    weights: str
    cache: str
    weight_bytes: float
    activation_bytes: float
    cache_bytes: float
    table: StepTable | DealtSteps
    box: Box | None = None
    draft: Decoder | None = None  # a small model on every device that proposes tokens
    draft_table: StepTable | None = None
    products: str = ""  # the format of the layers' products, where it is not `dtype`
    tokens: int = 0  # of a usual sequence, where what is kept of a token depends on it (windows, states)
    layout: Layout = ONE
    front: Front | None = None  # what requests pass before they reach a replica

    @cached_property
    def token_bytes(self) -> float:
        """What one device keeps of a token, the draft's part included; where groups have requests of their own, on average over them."""
        draft = self.draft.cache(self.cache, self.tokens).token_bytes if self.draft else 0.0
        kept = stage(self.model, self.layout.stages).cache(self.cache, self.tokens).shard(self.layout.tensor).token_bytes
        return kept / self.layout.groups + draft

    @property
    def basis(self) -> str:
        return self.part.basis

    @property
    def part(self) -> StepTable:
        """The steps of one part of the replica: a stage's or a group's batch through all layers."""
        return self.table.table if isinstance(self.table, DealtSteps) else self.table

    @cached_property
    def doubt(self) -> tuple[float, float]:
        """A step's time at both ends of its interval, over what is predicted; both 1 where the datasheet's bound is all there is. Products
        with a scale for each block rest on a single published table, so they are no surer than those in 16 bits."""
        plain = replace(self, products="", weights=self.dtype)
        ends = [one._ends() for one in ((self, plain) if self.model.scaled and self.products else (self,))]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def _ends(self) -> tuple[float, float]:
        made = self.typical(PLAN)
        low, high = made.interval or (made.seconds, made.seconds)
        return float(low / made.seconds), float(min(high, 4 * made.seconds) / made.seconds)

    def typical(self, plan: Plan) -> Prediction:
        """One device's kernels of a step in which `TYPICAL` sequences decode and as many tokens of a prompt are computed."""
        context = (self.tokens or sum(USUAL)) // 2
        graph = step(
            share(self.model, self.layout), batch=TYPICAL, context=context, chunk=TYPICAL, dtype=self.dtype,
            weights="" if self.weights == self.dtype else self.weights, cache="" if self.cache == self.dtype else self.cache,
            products=self.products,
        )  # fmt: skip
        return predict(graph, self.hardware, plan)

    def slower(self, factor: float) -> Deployment:
        """The same, whose steps take so many times as long."""
        if isinstance(self.table, DealtSteps):
            return replace(self, table=replace(self.table, table=replace(self.table.table, factor=factor)))
        return replace(self, table=replace(self.table, factor=factor))

    def blocks(self, block: int) -> int:
        return max(0, int(self.cache_bytes // (self.token_bytes * block)))

    def slots(self, tokens: int, block: int = 16) -> int:
        """Requests of so many tokens that fit at once."""
        return self.blocks(block) // blocks(tokens, block)

    def speculation(self, tokens: int, acceptance: float) -> Speculation:
        return Speculation(tokens, acceptance, self.draft_table)

    def run(
        self, requests: Sequence[Request], policy: Policy, replicas: int = 1, seed: int = 0, patience: Patience | None = None
    ) -> Outcome:
        return side_by_side(
            requests, self.table, self.blocks(policy.block), policy, replicas, swap=self._swap(policy), seed=seed, front=self.front,
            patience=patience,
        )  # fmt: skip

    def first_tokens(
        self, requests: Sequence[Request], policy: Policy, prompts: int, seed: int = 0, patience: Patience | None = None
    ) -> Outcome:
        return first_tokens(requests, self.table, self.blocks(policy.block), policy, prompts, seed, self.front, patience)

    def run_apart(
        self, requests: Sequence[Request], policy: Policy, prompts: int, decoders: int, seed: int = 0, patience: Patience | None = None
    ) -> Outcome:
        """Some replicas compute prompts, others decode; a prompt's cache goes from one to the other."""
        rate, _ = self.way(prompts + decoders)
        return apart(
            requests, self.table, self.blocks(policy.block), policy, prompts=prompts, decoders=decoders, move=self.token_bytes / rate,
            seed=seed, swap=self._swap(policy), front=self.front, patience=patience,
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
        _, wire = joint.edge(0, min(self.devices, joint.devices - 1) if inside else joint.devices)
        return wire.achieved * (1.0 if inside else min(1.0, joint.nics / joint.devices)), wire.name

    def _swap(self, policy: Policy) -> float:
        """Seconds of a block over the slowest link of the device, which is the way to its host."""
        link = min((one.per_direction for one in self.hardware.links), default=0.0)
        return self.token_bytes * policy.block / link if link else 0.0


def arithmetic(machine: Hardware) -> str:
    """The two-byte format that a machine multiplies in; FP32 where it has none."""
    return next((fmt for fmt in ("bf16", "fp16") if fmt in machine.peaks), "fp32")


def box_of(machine: Hardware) -> Box | None:
    """The box that holds most of these devices, one's own before the registry's; None where there is none."""
    return box_with(machine.slug)


def weigh(
    model: Decoder, machine: Hardware, layout: Layout, weights: str, budget: int, memory: float, of_free: bool = False
) -> tuple[float, float, float]:  # fmt: skip
    """Bytes of one device for weights, activations of a step of `budget` tokens, and what is left for the cache (or missing: negative).
    `of_free`: `memory` is the share that the cache gets of what the others leave."""
    dtype = arithmetic(machine)
    mine = share(model, layout)
    stored = weight_bytes(stage(mine, layout.stages), dtype, weights or model.stored)
    alive = float(live_activations(step(mine, chunk=budget, dtype=dtype, layers=2)))
    if of_free:
        return stored, alive, memory * (float(machine.usable) - stored - alive)
    return stored, alive, min(memory * float(machine.capacity), float(machine.usable)) - stored - alive


def deployment(
    model: Decoder, machine: Hardware, devices: int = 1, *, layout: Layout | None = None, weights: str = "", cache: str = "",
    budget: int = 2048, memory: float = MEMORY, overhead: float = 0.0, plan: Plan = PLAN, draft: Decoder | None = None,
    products: str = "", coarse: bool = False, tokens: int = sum(USUAL), ungrouped: bool = False,
    of_free: bool = False,
) -> Deployment:  # fmt: skip
    """Refused where the weights leave no room for a cache, or no box of the registry joins so many of these devices.

    `layout`: how the devices share the model (default: by tensor parallelism). `coarse`: a table of steps with fewer points, for a page
    that must answer at once. `tokens` of a usual sequence.
    `ungrouped`: beside a prompt's chunk, each query head reads the cache for itself. `of_free`: as `weigh` takes it.
    """
    if not 0 < memory <= 1:
        raise BadValue(f"{memory!r} is not a valid share of the memory; give one above 0 and at most 1", "memory")
    layout = layout or Layout(devices)
    devices = layout.devices
    dtype = arithmetic(machine)
    if model.stored and not weights and not products:
        weights, products = model.stored, model.products if model.products in machine.peaks else ""
    if products:
        machine.peak(products)  # refused where there is none
        if weights not in ("", products):
            raise BadValue(f"{products} products need {products} weights, but these are in {weights}; leave `weights` out", "weights")
        weights = products
    stored, alive, room = weigh(model, machine, layout, weights, budget, memory, of_free)
    small = weight_bytes(draft, dtype, weights) if draft else 0.0
    stored, room = stored + small, room - small
    if room <= 0:
        raise TooSmall(
            f"{model.name} does not fit {devices} × {machine.slug}: {show(stored, 'B')} of weights and {show(alive, 'B')} of activations on"
            f" each, of {show(memory * float(machine.capacity), 'B')}; {_larger(machine)}",
            "devices",
        )
    joint = box_of(machine) if devices > 1 else None
    if devices > 1 and (joint is None or layout.stage_devices > joint.devices or (devices > joint.devices and not joint.nics)):
        raise BadValue(
            f"no box with {devices} × {machine.slug} is known, so nor are the wires between them; to add one: {_own_box(machine)}",
            "devices",
        )
    mine = share(model, layout)
    width = bytes_per_element(dtype)

    def reduce(size: float) -> float:
        """One token's numbers are summed up, and sent to its experts and back, as many times as a step does both."""
        assert joint is not None
        total = sums(model, layout) * float(collective(joint, "all_reduce", layout.tensor, size))
        if sendings(model, layout):
            sent = size * max(1.0, active(mine))
            total += 2.0 * sendings(model, layout) * float(collective(joint, "all_to_all", layout.stage_devices, sent))
        return total

    def steps_of(one: Decoder, adding: bool) -> StepTable:
        return steps(
            one, machine, plan, dtype=dtype, weights=weights, cache=cache, reduce=reduce if adding else None, reductions=1.0,
            overhead=overhead, products=products, coarse=coarse,
        )  # fmt: skip

    part = steps_of(mine, layout.stage_devices > 1)
    if ungrouped and not model.blocks:
        held = 2.0 * mine.head_dim * bytes_per_element(cache or dtype)
        part = replace(part, reads=mine.heads / mine.kv_heads, kept=_outlasting(machine) / held)
    table: StepTable | DealtSteps = part
    if layout.ways > 1:
        assert joint is not None
        table = DealtSteps(part, layout.ways, *_handing(joint, layout, width * model.hidden))
    proposing = steps(draft, machine, plan, dtype=dtype, weights=weights, cache=cache, products=products) if draft else None
    return Deployment(
        model, machine, devices, dtype, weights or dtype, cache or dtype, stored, alive, room, table, joint, draft, proposing, products,
        tokens, layout,
    )  # fmt: skip


def _outlasting(machine: Hardware) -> float:
    """Bytes of the largest cache that outlasts a kernel's reads."""
    return max((float(level.size) for level in machine.levels if level.name in LASTING), default=0.0)


def _larger(machine: Hardware) -> str:
    """What to do where a model does not fit."""
    if box_of(machine) is not None:
        return "take more devices, narrower weights, or a larger machine"
    return f"take narrower weights or a larger machine; no box with several of these is known, and to add one: {_own_box(machine)}"


def _own_box(machine: Hardware) -> str:
    return how("box", f"{machine.slug}_server")


def _handing(joint: Box, layout: Layout, width: float) -> tuple[float, float]:
    """Seconds of a step, and of each of its tokens, for handing a batch from stage to stage."""
    if layout.stages == 1:
        return 0.0, 0.0
    across = layout.devices > joint.devices
    _, wire = joint.edge(0, joint.devices if across else layout.stage_devices)
    start = joint.network_start if across else joint.start
    return layout.stages * max(start, HANDED), layout.stages * width / layout.tensor / wire.achieved
