"""A training step whose groups lie on a box's wires: tensor parallelism over so many devices, data parallelism over the rest.

Arithmetic is predicted op by op on the box's machine, communication by the box's own numbers; memory is the fullest device's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ironlaw.engine.cluster.footprint import Parts, memory
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.steps import StepTime, step_time
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.systems.training.shard_times import compute


@dataclass(frozen=True)
class PlacedStep:
    """One microbatch a replica. `overlap`: the share that is hidden of what the passes could hide of the gradients' sum."""

    shape: Shape
    layout: Layout
    box: Box
    seq: int
    step: StepTime  # with what is left of the sum
    sum_s: float  # of the gradients and gathered weights, hidden or not
    backward_s: float
    memory: Parts
    usable: float

    @property
    def tensor_share(self) -> float:
        """The tensor group's share of the passes alone: arithmetic and the tensor-parallel group's own communication."""
        return self.step.tensor / (self.step.tensor + self.step.compute)

    @property
    def communication(self) -> float:
        """Share of the whole step that is spent on wires."""
        return (self.step.tensor + self.step.data) / self.step.total

    @property
    def tokens_per_s(self) -> float:
        return self.layout.data * self.layout.micro * self.seq / self.step.total

    @property
    def fits(self) -> bool:
        return float(self.memory.total) <= self.usable


def placed_step(
    model: str, at: str | Box, tensor: int, data: int = 1, *, seq: int = 8192, micro: int = 1, nics: int | None = None, zero: int = 1,
    overlap: float = 1.0,
) -> PlacedStep:  # fmt: skip
    """`placed_step("llama3_8b", "dgx_h100", 8, 2, nics=1)`: devices fill boxes, and so many NICs of each are used."""
    return _placed(model, box(at) if isinstance(at, str) else at, tensor, data, seq, micro, nics, zero, overlap)


@lru_cache(maxsize=2048)
def _placed(
    model: str, at: Box, tensor: int, data: int, seq: int, micro: int, nics: int | None, zero: int, overlap: float
) -> PlacedStep:  # fmt: skip
    shape, layout = decoder(model), Layout(tensor=tensor, data=data, micro=micro, zero=zero)
    wired = at if nics is None or not at.nic else replace(at, nics=nics)
    work = compute(shape, layout, seq, at.device)
    batch = data * micro
    hidden, whole = (step_time(shape, layout, wired, batch, seq, work, overlap=hide) for hide in (True, False))
    step = replace(hidden, data=whole.data - overlap * (whole.data - hidden.data))
    parts = memory(shape, layout, seq, 1)
    return PlacedStep(shape, layout, wired, seq, step, whole.data, shape.layers * work.backward, parts, float(hardware(at.device).usable))
