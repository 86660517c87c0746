"""Act II's dials -> a training step whose gradients are summed up in buckets: the engine's, kept per setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.footprint import memory
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import ALPHA, LAB_02
from ironlaw.registry.boxes import box, boxes
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.systems.training.bucketed_steps import SUMS, TUNER, BucketedStep, bucketed_step

MODELS = ("llama3_2_1b", "llama3_8b", "llama3_70b")
DEVICES = tuple(8 * 2**i for i in range(10))
TENSOR, MICRO, ZEROS = (1, 2, 4, 8), (1, 2, 4, 8), (0, 1)
SEQUENCES = tuple(1024 * 2**i for i in range(6))
FORMATS = {2: "BF16", 4: "FP32"}
ALGORITHMS = {
    "ring": "ring", "two_level": "two levels", "double_tree": "double tree", "rabenseifner": "Rabenseifner", TUNER: "the fastest of them",
}  # fmt: skip
AS_MADE, BY_LAYER = "as_made", "by_layer"
ORDERS = {AS_MADE: "as they are made", BY_LAYER: "first layer first"}
BUCKETS = (1e6, 1e9)  # bytes
SIZES = tuple(BUCKETS[0] * 10 ** (i / 8) for i in range(25))
STORY, ASKED, BUCKET = "dgx_h100", 512, 25e6
assert set(ALGORITHMS) == {*SUMS, TUNER}


@dataclass(frozen=True)
class Case:
    """Where the dials of Act II stand."""

    box: Box
    model: str = "llama3_8b"
    devices: int = ASKED
    tensor: int = 1
    micro: int = 1
    seq: int = 8192
    zero: int = 1
    width: int = 2  # bytes of a gradient
    bucket: float = BUCKET
    algorithm: str = "ring"
    alpha: float = ALPHA
    beta: float = 50e9
    order: str = AS_MADE

    @property
    def data(self) -> int:
        return self.devices // self.tensor

    @property
    def step(self) -> BucketedStep:
        return _step(self)

    def fits(self, zero: int | None = None) -> bool:
        """Whether training fits a device, by another stage of ZeRO if one is given; nothing is timed for it."""
        layout = Layout(tensor=self.tensor, data=self.data, micro=self.micro, zero=self.zero if zero is None else zero,
                        gradient_bytes=float(self.width))  # fmt: skip
        return float(memory(decoder(self.model), layout, self.seq, 1).total) <= float(hardware(self.box.device).usable)


@lru_cache(maxsize=4096)
def _step(case: Case) -> BucketedStep:
    return bucketed_step(
        case.model, case.devices, at=case.box, tensor=case.tensor, seq=case.seq, micro=case.micro, zero=case.zero,
        gradient_bytes=float(case.width), bucket=case.bucket, algorithm=case.algorithm, alpha=case.alpha, beta=case.beta,
        as_made=case.order == AS_MADE,
    )  # fmt: skip


def premise(**settings: Any) -> Case:
    """The question's own step."""
    at = box(STORY)
    assert at.nic is not None
    return Case(at, beta=at.nic.per_direction, **settings)


def exposed_by_bucket(case: Case) -> list[tuple[float, float]]:
    """(bucket, seconds after the pass), for every size of the axis."""
    return [(size, replace(case, bucket=size).step.queue.exposed) for size in SIZES]


def best_bucket(case: Case) -> float:
    """Of the sizes of the axis, the one of which least shows."""
    return min(exposed_by_bucket(case), key=lambda point: (point[1], -point[0]))[0]


def design_02(lab: kit.Lab) -> Mapping[str, Any] | None:
    """Lab V2-02's groups, where this act can begin with them."""
    design = lab.ledger.design(LAB_02) or {}
    usable = design.get("model") in MODELS and design.get("tensor") in TENSOR and design.get("micro") in MICRO
    return design if usable and design.get("seq") in SEQUENCES else None


def box_for(lab: kit.Lab) -> Box:
    """The box of Lab V2-02 where it has a port for each device; else the story's."""
    slug = str((design_02(lab) or {}).get("box"))
    at = box(slug) if slug in boxes() else box(STORY)
    return at if at.nic and at.nics == at.devices == box(STORY).devices else box(STORY)


def first_case(lab: kit.Lab) -> Case:
    """Where the dials begin: the groups of Lab V2-02 on as many devices as the story has, or the story."""
    at, design = box_for(lab), design_02(lab)
    assert at.nic is not None
    if design is None:
        return Case(at, beta=at.nic.per_direction)
    saved = design.get("zero")
    zero = min(1, saved) if isinstance(saved, int) else 1
    return Case(
        at, str(design["model"]), tensor=design["tensor"], micro=design["micro"], seq=design["seq"], zero=zero, beta=at.nic.per_direction
    )


def case_of(at: Box, values: Mapping[str, Any]) -> Case:
    return Case(
        at, values["model"], int(values["devices"]), int(values["tensor"]), int(values["micro"]), int(values["seq"]), int(values["zero"]),
        int(values["width"]), 1e6 * float(values["bucket"]), values["algorithm"], 1e-6 * float(values["alpha"]),
        1e9 * float(values["beta"]),
        values["order"],
    )  # fmt: skip
