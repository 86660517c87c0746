"""Act II's settings -> a layout of a run on many devices, and what the engine says about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.engine.cluster.footprint import Parts, memory
from ironlaw.engine.cluster.layouts import Layout, check
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.search import Candidate, Job
from ironlaw.errors import BadValue
from ironlaw.kit import settings
from ironlaw.registry.boxes import box
from ironlaw.registry.runs import Run, runs
from ironlaw.systems.fields import among, switch, whole
from ironlaw.systems.training.layout_steps import layout_ranking, layout_step, training_job

MODELS = {"llama3_405b": "Llama 3 405B", "llama3_70b": "Llama 3 70B", "gpt3_175b": "GPT-3 175B"}
TOKENS = 2**24  # of a step
RECOMPUTE = {"none": "nothing", "selective": "the scores", "full": "whole layers"}
FUSED, SCORES = "fused", "scores"
ATTENTION = {FUSED: "one fused kernel", SCORES: "scores in memory"}


@dataclass(frozen=True)
class Case:
    """Where the dials of Act II stand."""

    box: Box
    model: str = among(MODELS, "llama3_405b", "Model", dial="select")
    devices: int = among((1024, 2048, 4096, 8192, 16384), 16384, "Devices", dial="select", shown="{:,}")
    seq: int = among((8192, 32768, 131072), 8192, "Tokens per sequence", shown="{:,}")
    tensor: int = among((1, 2, 4, 8, 16), 8, "Tensor parallelism (TP)")
    pipeline: int = among((1, 2, 4, 8, 16, 32, 64), 4, "Pipeline stages (PP)")
    context: int = among((1, 2, 4, 8, 16), 1, "Context parallelism (CP)")
    virtual: int = among((1, 2, 4, 8), 1, "Chunks per stage")
    micro: int = among((1, 2, 4), 1, "Sequences per microbatch")
    zero: int = among(range(4), 1, "ZeRO stage")
    recompute: str = among(RECOMPUTE, "none", "Recompute", tried=("full",))
    attention: str = among(ATTENTION, FUSED, "Attention")
    sequence_parallel: bool = switch(True, "Sequence parallelism")
    gradient_bytes: int = among({4: "4, FP32", 2: "2, BF16"}, 4, "Bytes per gradient")
    overlap: bool = switch(True, "Overlap gradient all-reduce with backward pass", tried=(True,))
    nics: int = whole(8, "NICs in use per box", dial="span")

    @property
    def fused(self) -> bool:
        """Models with gated layers are only run with a fused kernel."""
        return self.model != "gpt3_175b" or self.attention == FUSED

    @property
    def batch(self) -> int:
        return TOKENS // self.seq

    @property
    def group(self) -> int:
        """Devices that hold one copy of the model and work on the same sequences."""
        return self.tensor * self.pipeline * self.context

    @property
    def layout(self) -> Layout:
        """A layout with as many replicas as there are devices for; at least one."""
        return Layout(
            self.tensor, self.pipeline, self.context, max(1, self.devices // self.group), virtual=self.virtual, micro=self.micro,
            recompute=self.recompute, sequence_parallel=self.sequence_parallel, zero=self.zero, gradient_bytes=float(self.gradient_bytes),
        )  # fmt: skip

    @property
    def job(self) -> Job:
        return training_job(self.model, self.box, self.batch, self.seq, nics=self.ports, overlap=self.overlap, fused=self.fused)

    @property
    def ports(self) -> int | None:
        return self.nics if self.box.nic else None

    @property
    def starved(self) -> bool:
        """Whether some replicas are left without a microbatch."""
        return self.layout.data * self.micro > self.batch

    @property
    def refusal(self) -> str:
        """What does not divide, in the engine's words; empty where all does."""
        if self.devices % self.group:
            return f"{self.devices:,} devices do not divide into groups of {self.group:,}"
        try:
            check(self.job.shape, self.layout, self.batch, self.seq)
        except BadValue as error:
            return str(error).partition(": ")[2] or str(error)
        return ""

    @property
    def step(self) -> Candidate | None:
        """None where the layout does not divide."""
        return None if self.refusal else layout_step(
            self.model, self.box, self.layout, self.batch, self.seq, nics=self.ports, overlap=self.overlap, fused=self.fused
        )  # fmt: skip

    @property
    def ranking(self) -> tuple[Candidate, ...]:
        """Layouts of the search on the same devices, with the same gradients, the fastest first; empty where none fits."""
        try:
            return layout_ranking(
                self.model, self.box, self.devices, self.batch, self.seq, nics=self.ports, overlap=self.overlap, fused=self.fused,
                sequence_parallel=self.sequence_parallel, gradient_bytes=float(self.gradient_bytes),
            )  # fmt: skip
        except BadValue:
            return ()

    @property
    def best(self) -> Candidate | None:
        return self.ranking[0] if self.ranking else None

    @property
    def published(self) -> Run | None:
        """The run of the same model on as many devices with as long sequences, where one was published."""
        if self.model != "llama3_405b" or self.box.device != "h100_sxm":
            return None
        return next((run for run in runs("llama3_2024") if (run.layout.devices, run.seq) == (self.devices, self.seq)), None)

    def held(self, layout: Layout) -> Parts:
        return memory(self.job.shape, layout, self.seq, max(1, self.batch // (layout.data * layout.micro)))

    def like(self, layout: Layout) -> Case:
        """The same run in another layout."""
        return replace(
            self, tensor=layout.tensor, pipeline=layout.pipeline, context=layout.context, virtual=layout.virtual, micro=layout.micro,
            recompute=layout.recompute, sequence_parallel=layout.sequence_parallel, zero=layout.zero,
            gradient_bytes=round(layout.gradient_bytes),
        )  # fmt: skip


DEEP = 16  # stages of the question's other layout


def premise() -> Case:
    """The question's own layout."""
    return Case(box("grand_teton_h100"))


def case_of(at: Box, values: Mapping[str, Any]) -> Case:
    case = settings.read(Case, values, box=at, nics=min(round(values["nics"]), max(1, at.nics)))
    return replace(case, recompute="none") if case.fused and case.recompute == "selective" else case
