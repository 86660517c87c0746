"""A training step of a decoder in a layout, on boxes of the registry: its time by part, its memory, its share of the peak.

Arithmetic is predicted op by op on the box's machine (`shard_times`), wires by the box's own numbers; nothing is typed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.search import Candidate, Job, judge, rank
from ironlaw.engine.cluster.shapes import token_flops
from ironlaw.engine.cluster.steps import Compute
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.registry.runs import Run
from ironlaw.systems.training.shard_times import compute

DTYPE = "bf16"
TENSOR, MICRO = (4, 8), (1,)  # tensor groups and sequences in a microbatch that a search tries


def training_job(
    model: str, at: str | Box, batch: int, seq: int, *, nics: int | None = None, overlap: bool = True, fused: bool = True
) -> Job:  # fmt: skip
    """`batch` sequences of `seq` tokens per step. `fused`: attention keeps no scores, also of models that were published with them in
    memory; `nics`: of each box in use; `overlap`: gradients are summed up beside the backward pass."""
    return _job(model, box(at) if isinstance(at, str) else at, batch, seq, nics, overlap, fused)


@lru_cache(maxsize=1024)
def _job(model: str, at: Box, batch: int, seq: int, nics: int | None, overlap: bool, fused: bool) -> Job:
    shape, chip = decoder(model), hardware(at.device)
    wired = at if nics is None or not at.nic else replace(at, nics=nics)
    return Job(
        replace(shape, fused_attention=fused or shape.gated), wired, batch, seq, float(chip.usable), float(chip.peak(DTYPE)), overlap
    )


def layout_step(model: str, at: str | Box, layout: Layout, batch: int, seq: int, **how: bool | int | None) -> Candidate:
    """`layout_step("gpt3_175b", "dgx_h100", Layout(tensor=8, pipeline=12, data=48), 1152, 2048)`; what does not divide is refused."""
    return _step(training_job(model, at, batch, seq, **how), layout)  # type: ignore[arg-type]


@lru_cache(maxsize=4096)
def _step(job: Job, layout: Layout) -> Candidate:
    return judge(job, layout, lambda one: compute(job.shape, one, job.seq, job.box.device, DTYPE))


def mfu_as_counted(run: Run, seconds: float) -> float:
    """Share of the peak that a published run's step has if it takes so long, its FLOPs counted as its source counts them."""
    flops = run.tokens * float(token_flops(run.shape, run.seq, causal=run.causal))
    return flops / (seconds * run.layout.devices * float(hardware(box(run.box).device).peak(DTYPE)))


def layout_ranking(
    model: str, at: str | Box, devices: int, batch: int, seq: int, tensor: tuple[int, ...] = TENSOR, micro: tuple[int, ...] = MICRO,
    sequence_parallel: bool = True, gradient_bytes: float = 4.0, **how: bool | int | None,
) -> tuple[Candidate, ...]:  # fmt: skip
    """Layouts that divide and fit, the fastest first: pipelines, pieces, context parallelism, ZeRO and recomputation as they come."""
    job = training_job(model, at, batch, seq, **how)  # type: ignore[arg-type]
    return _ranking(job, devices, tensor, micro, sequence_parallel, gradient_bytes)


@lru_cache(maxsize=64)
def _ranking(
    job: Job, devices: int, tensor: tuple[int, ...], micro: tuple[int, ...], sequence_parallel: bool, gradient_bytes: float
) -> tuple[Candidate, ...]:
    def predicted(layout: Layout) -> Compute:
        return compute(job.shape, layout, job.seq, job.box.device, DTYPE)

    fixed = {"sequence_parallel": (sequence_parallel,), "gradient_bytes": (gradient_bytes,)}
    return tuple(rank(job, devices, predicted, tensor=tensor, micro=micro, **fixed))
