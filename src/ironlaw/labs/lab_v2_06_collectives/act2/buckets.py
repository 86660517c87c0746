"""Act II's dials -> a training step whose gradients are summed up in buckets: the engine's, kept per setting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.footprint import memory
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import ALPHA, ALPHAS, LAB_02
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about
from ironlaw.systems.fields import among, figure, times
from ironlaw.systems.training.bucketed_steps import SUMS, TUNER, BucketedStep, bucketed_step

MODELS = ("llama3_2_1b", "llama3_8b", "llama3_70b")
TENSOR, MICRO, ZEROS = (1, 2, 4, 8), (1, 2, 4, 8), (0, 1)
SEQUENCES = tuple(1024 * 2**i for i in range(6))
FORMATS = {2: "BF16", 4: "FP32"}
ALGORITHMS = {
    "ring": "ring", "two_level": "two levels", "double_tree": "double tree", "rabenseifner": "Rabenseifner", TUNER: "the fastest of these",
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
    model: str = among(MODELS, "llama3_8b", "Model", dial="select", shown=lambda name: str(about(name)["name"]))
    devices: int = among([8 * 2**i for i in range(10)], ASKED, "Devices", dial="select", shown="{:,}")
    bucket: float = figure(
        BUCKET / 1e6, "Bucket", "MB", low=BUCKETS[0] / 1e6, high=BUCKETS[1] / 1e6, dial="span", log=True, means=times(1e6),
    )  # fmt: skip
    algorithm: str = among(ALGORITHMS, "ring", "Algorithm", dial="select")
    width: int = among(FORMATS, 2, "Gradient format")  # bytes of a gradient
    order: str = among(ORDERS, AS_MADE, "Order of buckets")
    tensor: int = among(TENSOR, 1, "Tensor parallelism (TP)")
    micro: int = among(MICRO, 1, "Sequences per replica")
    seq: int = among(SEQUENCES, 8192, "Tokens per sequence", dial="select", shown="{:,}")
    zero: int = among({0: "on each device", 1: "split (ZeRO-1)"}, 1, "Optimiser state")
    alpha: float = figure(
        1e6 * ALPHA, "Latency of a step, α", "µs", low=1e6 * ALPHAS[0], high=1e6 * ALPHAS[1], dial="span", log=True, means=times(1e-6)
    )
    beta: float = figure(50, "Bandwidth of a port, β", "GB/s", low=1, high=400, dial="span", log=True, means=times(1e9))

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
    return Case(at, **{"alpha": ALPHA, "beta": at.nic.per_direction, **settings})


def exposed_by_bucket(case: Case) -> list[tuple[float, float]]:
    """(bucket, seconds after the pass), for every size of the axis."""
    return [(size, replace(case, bucket=size).step.queue.exposed) for size in SIZES]


def best_bucket(case: Case) -> float:
    """The size on the axis that leaves the least exposed."""
    return min(exposed_by_bucket(case), key=lambda point: (point[1], -point[0]))[0]


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """The groups of Lab V2-02, on as many devices as the story has."""
    design = lab.ledger.design(LAB_02) or {}
    groups = {name: design.get(name) for name in ("model", "tensor", "micro", "seq", "zero")}
    return [kit.Offer(LAB_02, "groups", groups)] if groups["tensor"] else []
