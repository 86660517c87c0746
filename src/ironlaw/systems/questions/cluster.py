"""How to spread a model's training over many devices, what a step takes, and what failures leave of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ironlaw.engine.cluster.failures import goodput, mtbf, optimum
from ironlaw.engine.cluster.footprint import STATE, WEIGHT
from ironlaw.engine.cluster.layouts import Layout, check
from ironlaw.engine.cluster.search import Candidate, Job, Predictor, judge, rank
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.stacks import MODES
from ironlaw.engine.cluster.volumes import calls
from ironlaw.engine.costs import ENERGY, Offer
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadValue, IronlawError
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.registry.prices import Price
from ironlaw.registry.runs import unit_between_failures
from ironlaw.systems.fields import among, custom, figure, share, switch, whole
from ironlaw.systems.question import Question, Table
from ironlaw.systems.questions.training_readers import KEYS, read_layout, read_stack, read_tokens
from ironlaw.systems.registry_names import known_prices, read_format, read_prices
from ironlaw.systems.training.commands import command
from ironlaw.systems.training.host_memory import host_of, offloading
from ironlaw.systems.training.reserves import FILLED, reserved_at_most, reserves
from ironlaw.systems.training.shard_times import BUSY
from ironlaw.systems.training.stack_steps import Way, able, stack_compute, way_of
from ironlaw.systems.training.training_runs import like, spread_on
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.training_output import ClusterJson, ClusterLayout, TrafficRow

USUAL_SEQ = 8192
STORAGE = 2e12 / 16384  # bytes/s per device that Llama 3's file system sustained (arXiv:2407.21783, section 3.3.1)
DAY = 86400.0
LEAST = 1e-9  # tokens per second under which nothing is learned
RESTART = 300.0  # seconds to notice, replace and start again: a premise


@dataclass(frozen=True, repr=False)
class Cluster(Question):
    """The fastest layouts of a training step that fit, what the best one sends, and what failures leave of it.

    >>> import ironlaw as il
    >>> c = il.cluster("llama3_70b", devices=1024, box="dgx_h100", batch_tokens="4M", layout="tp=8,pp=4")
    >>> c.best["label"], round(c.best["mfu"], 2)
    ('TP 8 · PP 4 · DP 32', 0.38)
    """

    schema = "ironlaw-cluster/1"
    model: str = custom(
        str,
        flag="MODEL",
        metavar="MODEL",
        about="a decoder of `ironlaw workload`, one from a published run (gpt3_175b), or a folder with a config.json",
    )
    devices: int = whole(metavar="N", about="how many devices to train on")
    box: str = custom(str, metavar="BOX", about="the kind of server they are in: dgx_h100, dgx_a100, dgx_h200, gb200_nvl72, …")
    batch_tokens: int = custom(read_tokens, metavar="N", about="tokens per step; 4M is 4 · 2²⁰")
    seq: int | None = whole(None, metavar="N", about="tokens per sequence (default: 8192, or the model's own limit)")
    dtype: str = custom(read_format, "bf16", metavar="FMT", about="number format of matrix products (default bf16)")
    layout: Mapping[str, Any] | None = custom(
        read_layout,
        None,
        metavar="K=N,…",
        about=f"evaluate this layout only ({', '.join(KEYS)}); data parallelism uses the rest",
    )
    stack: str = custom(
        read_stack, "megatron", metavar="NAME",
        about="training stack, which adds its own time: torchtitan, megatron (the default) or plain (PyTorch's own FSDP and DDP)",
    )  # fmt: skip
    mode: str | None = among(MODES, None, metavar="MODE", about="eager or compiled (default: compiled, but eager for megatron)")
    async_tp: bool = switch(False, about="asynchronous tensor parallelism: products in pieces beside their collectives (torchtitan)")
    offload: bool = switch(False, about="keep in the host's memory what the stack can: optimiser state, and with FSDP all shards")
    memory: float = share(
        FILLED, above=True, metavar="SHARE",
        about="share of a device's memory to fill (default 0.92); NCCL, workspaces and fragmentation get the rest",
    )  # fmt: skip
    top: int = whole(8, metavar="N", about="how many layouts to show (default 8)")
    mtbf: float | None = figure(
        None, unit="s", metavar="TIME", about="mean time between failures of one device (default: as in Llama 3's training run)"
    )
    restart: float = figure(RESTART, unit="s", zero=True, metavar="TIME", about="time to notice a failure and restart (default 5 min)")
    storage: float | None = figure(
        None,
        unit="B/s",
        metavar="RATE",
        about="bandwidth of the storage for checkpoints (default 122 MB/s per device, as in Llama 3's run)",
    )
    price: Mapping[str, float] | None = custom(
        read_prices, None, metavar="HW=N[,…]", about="dollars per hour for one device, such as h200=3.5 (default: the registry's prices)"
    )

    @cached_property
    def chip(self) -> Hardware:
        return hardware(box(self.box).device)

    @cached_property
    def way(self) -> Way:
        return way_of(self.stack, self.mode, self.dtype, self.async_tp)

    @cached_property
    def job(self) -> Job:
        shape, at = decoder(self.model), box(self.box)
        seq = self.seq or shape.positions or USUAL_SEQ
        if shape.positions and seq > shape.positions:
            raise BadValue(f"{shape.name} takes at most {shape.positions:,} tokens; give a `seq` no longer than that", "seq")
        if self.batch_tokens % seq:
            near = max(1, round(self.batch_tokens / seq)) * seq
            raise BadValue(
                f"{self.batch_tokens:,} tokens are not whole sequences of {seq:,}; give `batch_tokens={near}`, or another `seq`",
                "batch_tokens",
            )
        return Job(
            shape, at, self.batch_tokens // seq, seq, self.memory * float(self.chip.usable), float(self.chip.peak(self.dtype)),
            seen=self.way.stack.hides(self.async_tp, self.way.products), working=self.way.stack.working,
            host=offloading(self.way.stack, at, self.chip, self.devices) if self.offload else host_of(at, self.chip, self.devices),
        )  # fmt: skip

    @cached_property
    def answer(self) -> ClusterJson:
        job, chip = self.job, self.chip
        shape, at = job.shape, job.box

        def predictor(layout: Layout) -> Any:
            return stack_compute(shape, layout, job.seq, at.device, self.way)

        known = known_prices([chip], self.price or {})
        ranked = [_given(self, job, predictor)] if self.layout else _searched(self, job, predictor)
        best = ranked[0]
        failures, spread = _failures(self, shape, best), spread_on(self.way.stack, chip.slug, shape, self.way.products)
        return {
            "model": shape.name, "parameters": shape.parameters, "devices": self.devices, "box": at.slug,
            "hardware": chip.slug, "basis": chip.basis(BUSY), "batch_tokens": self.batch_tokens, "seq": job.seq, "batch": job.batch,
            "dtype": self.dtype,
            "stack": self.stack, "mode": self.way.mode, "usable_bytes": job.capacity,
            "reserved_bytes": reserves(float(chip.usable), self.memory), "device_bytes": float(chip.usable),
            "layouts_that_fit": len(ranked), "layouts": [_row(one, job, spread) for one in ranked[: self.top]],
            "command": command(shape, best.layout, job.batch, job.seq, self.way, at.devices // at.hosts),
            "traffic": _traffic(best, job), "failures": failures,
            "costs": _costs(self, chip, known.get(chip.slug), failures["tokens_per_day"] / DAY, spread),
            "doubling": _doubling(self, job, best, predictor),
            "published_over_predicted": (1.0 / spread, spread), "published_on_machine": like(chip.slug, shape, self.way.products),
            "sources": [*at.sources, *self.way.stack.sources],
        }  # fmt: skip

    @property
    def layouts(self) -> list[ClusterLayout]:
        """The fastest first."""
        return list(self.answer["layouts"])

    @property
    def best(self) -> ClusterLayout:
        return self.layouts[0]

    @property
    def step_s(self) -> float:
        return float(self.best["step_s"])

    def table(self) -> Table:
        rows = [
            (
                one["label"], show(one["step_s"], "s"), f"{one['mfu']:.1%}", show(one["memory_bytes"], "B"),
                "" if one["fits"] else "does not fit",
            )
            for one in self.layouts
        ]  # fmt: skip
        title = f"{self.answer['model']} on {self.devices:,} × {self.answer['hardware']}"
        return Table(title, ("layout", "step", "MFU", "memory", ""), rows)


def _searched(asked: Cluster, job: Job, compute: Predictor) -> list[Candidate]:
    """Layouts that fit; with the host's memory where that was asked for, or where nothing fits without."""
    own = asked.way.stack
    if asked.offload:
        return rank(job, asked.devices, compute, **own.choices(offload=True))
    try:
        return rank(job, asked.devices, compute, **own.choices())
    except BadValue:
        if not (own.offload and job.host):
            raise
        try:
            return rank(job, asked.devices, compute, **own.choices(offload=True))
        except BadValue:
            pass
        raise


def _given(asked: Cluster, job: Job, compute: Predictor) -> Candidate:
    """The layout that was asked for, whatever its memory; replicas take the devices that are left."""
    one = Layout(**(asked.layout or {}))
    if asked.devices % one.devices:
        raise BadValue(
            f"{asked.devices:,} devices can't be split into groups of {one.devices:,} ({one}); give a layout whose product divides them",
            "layout",
        )
    one = replace(one, data=asked.devices // one.devices)
    own = asked.way.stack
    if "zero" not in (asked.layout or {}):
        one = replace(one, zero=own.usual_zero(one.pipeline))
    if asked.offload:
        one = replace(one, offload=own.offload)
    able(own, one)
    check(job.shape, one, job.batch, job.seq)
    return judge(job, one, compute)


def _row(one: Candidate, job: Job, spread: float) -> ClusterLayout:
    layout, range_s = one.layout, (one.time.total / spread, one.time.total * spread)
    return {
        "tensor": layout.tensor, "pipeline": layout.pipeline, "context": layout.context, "data": layout.data, "expert": layout.expert,
        "virtual": layout.virtual, "micro": layout.micro, "recompute": layout.recompute, "zero": layout.zero,
        "replicate": layout.replicate, "offload": list(layout.offload), "label": str(layout), "micro_batches": one.micro_batches,
        "step_s": one.time.total, "step_range_s": range_s, "mfu_range": (one.speed.mfu / spread, one.speed.mfu * spread),
        "parts_s": one.time.parts, "tokens_per_s": one.speed.tokens_per_s, "mfu": one.speed.mfu, "hfu": one.speed.hfu,
        "memory_bytes": one.memory.total, "fits": one.memory.total <= job.capacity,
        "memory_most_bytes": reserved_at_most(float(one.memory.total), layout.pipeline, layout.context),
        "memory": {name: float(getattr(one.memory, name)) for name in ("weights", "gradients", "optimiser", "activations")},
    }  # fmt: skip


def _traffic(one: Candidate, job: Job) -> list[TrafficRow]:
    """Bytes that a device sends in a step, and over which wire."""
    made = calls(job.shape, one.layout, job.seq, one.micro_batches, job.box.devices)
    near = {kind: all(call.ranks <= call.per_box for call in group) for kind, group in made.items()}
    near["pipeline"] = one.layout.devices <= job.box.devices
    inside, outside = job.box.link or job.box.bridge, job.box.nic
    wires = {True: inside.name if inside else None, False: outside.name if outside else None}
    return [{"parallelism": kind, "wire": wires[near[kind]], "inside_box": near[kind], "bytes": sent} for kind, sent in one.traffic.items()]


def _failures(asked: Cluster, shape: Shape, one: Candidate) -> dict[str, Any]:
    """The exact interval between checkpoints, and what is left of the time."""
    unit = asked.mtbf or unit_between_failures("llama3_2024")
    state = (WEIGHT + STATE) * shape.parameters
    save = state / (asked.storage or STORAGE * asked.devices)
    between = float(mtbf(unit, asked.devices))
    interval = optimum(save, between)
    shares = goodput(interval, save, asked.restart + save, between)
    return {
        "unit_mtbf_s": unit, "mtbf_s": between, "state_bytes": state, "save_s": save, "restart_s": asked.restart + save,
        "interval_s": interval,
        "goodput": shares.goodput, "writing": shares.writing, "restart": shares.restart, "lost": shares.lost,
        "mfu": one.speed.mfu * shares.goodput, "tokens_per_day": one.speed.tokens_per_s * DAY * shares.goodput,
    }  # fmt: skip


def _costs(asked: Cluster, chip: Hardware, price: Price | None, tokens_per_s: float, spread: float) -> dict[str, Any]:
    """Cost of a million tokens of training, failures included; every device is paid for and powered all the time."""
    if tokens_per_s <= LEAST:
        raise BadValue("failures come so often that nothing is ever saved; give a longer `mtbf`, faster `storage` or fewer devices")
    offer = Offer(chip.slug, 1.0, tokens_per_s, float(chip.power), price.per_hour if price else None, asked.devices)
    return {
        "dollars_per_hour": price.per_hour * asked.devices if price else None, "dollars_per_million_tokens": offer.dollars,
        "dollars_range": (offer.dollars / spread, offer.dollars * spread) if offer.dollars is not None else None,
        "joules_per_million_tokens": offer.joules, "energy": ENERGY, "unpriced": [] if price else [chip.slug],
        "prices": {chip.slug: price.as_dict()} if price else {},
    }  # fmt: skip


def _doubling(asked: Cluster, job: Job, best: Candidate, compute: Predictor) -> dict[str, Any] | None:
    """Twice as many devices with the same batch: the best layout, or the given one with twice the replicas; None if there is none."""
    try:
        if asked.layout:
            more = judge(job, replace(best.layout, data=2 * best.layout.data), compute)
        else:
            more = rank(job, 2 * asked.devices, compute, **asked.way.stack.choices(offload=bool(best.layout.offload)))[0]
    except IronlawError:
        return None
    return {
        "devices": 2 * asked.devices, "label": str(more.layout), "step_s": more.time.total, "mfu": more.speed.mfu,
        "speedup": best.time.total / more.time.total,
    }  # fmt: skip
