"""A training step of a decoder spread over many devices, in one layout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.search import Candidate, Job, judge
from ironlaw.engine.cluster.shapes import RECOMPUTE
from ironlaw.engine.cluster.stacks import MODES
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadValue
from ironlaw.registry.boxes import box, boxes
from ironlaw.registry.decoder_shapes import decoder, decoders
from ironlaw.registry.decoders import is_place
from ironlaw.registry.machines import registered
from ironlaw.registry.stacks import stack, stacks
from ironlaw.systems.fields import among, one_of, share, switch, whole
from ironlaw.systems.question import Question, result
from ironlaw.systems.registry_names import number_format
from ironlaw.systems.training.host_memory import offloading
from ironlaw.systems.training.reserves import FILLED
from ironlaw.systems.training.shard_times import BUSY
from ironlaw.systems.training.stack_steps import Way, able, stack_compute, way_of
from ironlaw.systems.training.training_runs import spread_on

EXCHANGES = ("tensor", "context", "expert", "pipeline", "data")


@dataclass(frozen=True, repr=False)
class TrainingLayout(Question):
    model: str = one_of(
        decoders, find=lambda name: name if is_place(name) else decoder(name).name, about="a decoder of the registry or of a published run"
    )
    box: str = one_of(boxes, find=lambda name: box(name).slug, about="the kind of server the devices are in")
    devices: int = whole(about="how many devices to train on; data parallelism uses what the layout leaves")
    batch: int = whole(about="sequences per step")
    seq: int = whole(8192, about="tokens per sequence")
    tensor: int = whole(1, about="tensor parallelism")
    pipeline: int = whole(1, about="pipeline stages")
    context: int = whole(1, about="context parallelism")
    expert: int = whole(1, about="expert parallelism")
    virtual: int = whole(1, about="model chunks per pipeline stage")
    micro: int = whole(1, about="sequences per microbatch")
    recompute: str = one_of(lambda: RECOMPUTE, "none", about="what the backward pass recomputes")
    zero: int | None = whole(None, least=0, about="ZeRO stage (default: the stack's usual one)")
    replicate: int = whole(1, about="copies of what ZeRO shards (HSDP)")
    stack: str = one_of(stacks, "megatron", find=lambda name: stack(name).slug, about="what trains, with its own time and overlap")
    mode: str | None = among(MODES, None, about="eager or compiled (default: the stack's usual one)")
    async_tp: bool = switch(False, about="asynchronous tensor parallelism")
    offload: bool = switch(False, about="keep in the host's memory what the stack can")
    memory: float = share(FILLED, above=True, about="share of a device's memory to fill")
    dtype: str = number_format("number format of products", "bf16")

    @cached_property
    def chip(self) -> Hardware:
        return registered(box(self.box).device)

    @cached_property
    def way(self) -> Way:
        return way_of(self.stack, self.mode, self.dtype, self.async_tp)

    @cached_property
    def layout(self) -> Layout:
        inner = self.tensor * self.pipeline * self.context
        if self.devices % inner:
            raise BadValue(
                f"{self.devices} devices can't be split into groups of tensor × pipeline × context = {inner}; give a multiple of that",
                "devices",
            )
        return Layout(
            self.tensor, self.pipeline, self.context, self.devices // inner, self.expert, self.virtual, self.micro, self.recompute,
            zero=self.way.stack.usual_zero(self.pipeline) if self.zero is None else self.zero, replicate=self.replicate,
            offload=self.way.stack.offload if self.offload else (),
        )  # fmt: skip

    @cached_property
    def job(self) -> Job:
        shape = decoder(self.model)
        if shape.positions and self.seq > shape.positions:
            raise BadValue(f"{shape.name} takes at most {shape.positions:,} tokens; give a seq no longer than that", "seq")
        capacity, peak = self.memory * float(self.chip.usable), float(self.chip.peak(self.dtype))
        own = self.way.stack
        seen = own.hides(self.async_tp, self.way.products)
        host = offloading(own, box(self.box), self.chip, self.devices) if self.offload else None
        return Job(shape, box(self.box), self.batch, self.seq, capacity, peak, seen=seen, working=own.working, host=host)

    @cached_property
    def candidate(self) -> Candidate:
        job = self.job
        able(self.way.stack, self.layout)
        return judge(job, self.layout, lambda one: stack_compute(job.shape, one, self.seq, self.chip.slug, self.way))

    @result("time of a step", "s", "low")
    def step_s(self) -> float:
        return float(self.candidate.time.total)

    @result("longest step of four runs in five", "s", "low")
    def step_most_s(self) -> float:
        return self.step_s * spread_on(self.way.stack, self.chip.slug, decoder(self.model), self.way.products)

    @result("share of the peak that the model's FLOPs reach", "%", "high")
    def mfu(self) -> float:
        return self.candidate.speed.mfu

    @result("tokens per second", "", "high")
    def tokens_per_s(self) -> float:
        return self.candidate.speed.tokens_per_s

    @result("on the fullest device", "B", "low")
    def memory_bytes(self) -> float:
        return float(self.candidate.memory.total)

    @result("whether the fullest device holds it within `memory`", column="bool")
    def fits(self) -> bool:
        return bool(self.candidate.memory.total <= self.job.capacity)

    @result("filling and draining the pipeline", "s", "low")
    def bubble_s(self) -> float:
        return float(self.candidate.time.bubble)

    @result("exposed communication", "s", "low")
    def exchange_s(self) -> float:
        return float(sum(self.candidate.time.parts[name] for name in EXCHANGES))

    @result("replicas", column="int64")
    def data(self) -> int:
        return self.layout.data

    @result("what the time rests on: bound, transferred or calibrated", column="string")
    def basis(self) -> str:
        return self.chip.basis(BUSY)
