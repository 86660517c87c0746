"""Act II's settings -> a training step with its groups on the wires: the engine's, kept per setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.links import Box
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_02_interconnect.box_of_context import BOXES
from ironlaw.registry.boxes import box
from ironlaw.registry.workloads import about
from ironlaw.systems.fields import among, figure, hundredths, whole
from ironlaw.systems.training.placed_steps import PlacedStep, placed_step

MODELS = ("llama3_2_1b", "llama3_8b", "llama3_70b")
TENSOR = (1, 2, 4, 8, 16)
MOST_BOXES = 4
STORY = "dgx_h100"  # the question's own boxes


@dataclass(frozen=True)
class Case:
    """Where the dials of Act II stand."""

    box: Box
    model: str = among(MODELS, "llama3_8b", "Model", dial="select", shown=lambda name: str(about(name)["name"]))
    boxes: int = whole(2, "Boxes", dial="span")
    nics: int = whole(8, "NICs in use per box", dial="span")
    tensor: int = among(TENSOR, 8, "Tensor parallelism (TP)")
    micro: int = among((1, 2, 4, 8), 1, "Sequences per microbatch")
    seq: int = among([1024 * 2**i for i in range(6)], 8192, "Tokens per sequence", dial="select", shown="{:,}")
    zero: int = among(range(4), 1, "ZeRO stage")
    overlap: float = figure(
        100, "Overlap of gradient all-reduce with backward pass", "%", low=0, high=100, dial="span", step=5, means=hundredths,
    )  # fmt: skip

    @property
    def devices(self) -> int:
        return self.boxes * self.box.devices

    @property
    def data(self) -> int:
        return self.devices // self.tensor

    @property
    def placed(self) -> PlacedStep:
        return placed_step(
            self.model, self.box, self.tensor, self.data, seq=self.seq, micro=self.micro, nics=self.nics if self.box.nic else None,
            zero=self.zero, overlap=self.overlap,
        )  # fmt: skip

    @property
    def choices(self) -> tuple[int, ...]:
        """Groups that divide the devices."""
        return tuple(size for size in TENSOR if self.devices % size == 0)

    @property
    def crosses(self) -> bool:
        """Whether a tensor-parallel group leaves its box."""
        return self.tensor > self.box.devices

    def with_tensor(self, size: int) -> Case:
        return replace(self, tensor=size)


def box_for(lab: kit.Lab) -> Box:
    """The context's box. This machine has no accelerators to group: there it is the question's own."""
    return box(BOXES.get(lab.current_context.slug, STORY))


def boxes_at_most(at: Box) -> int:
    return MOST_BOXES if at.nic else 1


def premise(tensor: int = 16, nics: int = 1) -> Case:
    """The question's own group: over both boxes, one NIC of each in use."""
    return Case(box(STORY), tensor=tensor, nics=nics)


def case_of(at: Box, values: Mapping[str, Any]) -> Case:
    boxes, nics = min(round(values["boxes"]), boxes_at_most(at)), min(round(values["nics"]), max(1, at.nics))
    case = settings.read(Case, values, box=at, boxes=boxes, nics=nics)
    return case if case.tensor in case.choices else case.with_tensor(case.choices[-1])
