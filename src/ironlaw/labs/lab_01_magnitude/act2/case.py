"""Act II's settings -> the three terms, the memory needed, the intensity: compositions of engine calls, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from ironlaw.backends.rows import Row
from ironlaw.claims import row
from ironlaw.engine.device import memory
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.types import Work
from ironlaw.labs.lab_01_magnitude.models import BATCHES, FORMATS, WORKLOADS, Facts, facts
from ironlaw.registry import evidence
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about
from ironlaw.systems.fields import among, whole

ONE, EACH = "one", "each"  # launch modes
LAUNCH = {ONE: "one launch", EACH: "kernel by kernel"}
CONVENTIONS = {"weights": "weights and I/O only", "fused": "fused graph", "ops": "every op's tensors"}  # which bytes cross memory
# The Iron Law at the datasheet's figures, every launch counted: how a queue hides launches is Lab 07's subject.
PLAN = Plan(calibrated=False, dispatch="synchronous")


@dataclass(frozen=True)
class Case:
    """Where the dials of Act II stand."""

    hardware: Hardware
    workload: str = among(WORKLOADS, "resnet50", "Model", dial="select", shown=lambda name: str(about(name)["name"]))
    batch: int = whole(1, "Batch", most=BATCHES[-1], dial="span", log=True)
    dtype: str = among(FORMATS, "fp16", "Number format", shown=str.upper)
    convention: str = among(CONVENTIONS, "weights", "Bytes that cross memory")
    launch: str = among(LAUNCH, ONE, "Launch mode")

    @property
    def facts(self) -> Facts:
        return facts(self.workload, self.batch, self.dtype)

    @property
    def work(self) -> Work:
        return self.facts.whole[self.convention].work

    @cached_property
    def prediction(self) -> Prediction:
        """The engine's answer. Kernel by kernel it is the same work behind as many launches as the graph has."""
        graph = self.facts.whole[self.convention]
        if self.launch == EACH:
            ops = tuple(replace(op, work=replace(op.work, launches=self.facts.kernels[self.convention])) for op in graph.ops)
            graph = replace(graph, ops=ops)
        return predict(graph, self.hardware, PLAN)

    @property
    def seconds(self) -> dict[str, float]:
        """The three terms."""
        prediction = self.prediction
        return {"memory": float(prediction.data_s), "compute": float(prediction.compute_s), "overhead": float(prediction.overhead_s)}

    @property
    def launches(self) -> int:
        """How often the launch cost is paid; once on a machine without a driver."""
        return round(float(self.prediction.overhead_s / self.hardware.launch))

    @property
    def from_flash(self) -> bool:
        """A microcontroller reads its weights from flash where they lie; its SRAM holds only what a pass computes."""
        return self.hardware.kind == "mcu"

    @property
    def footprint(self) -> memory.Memory:
        needs = replace(self.facts.needs, weights=0.0) if self.from_flash else self.facts.needs
        return replace(needs, capacity=self.hardware.capacity, reserved=self.hardware.reserved)

    @property
    def bottleneck(self) -> str:
        """The binding term, or OOM: a model that there is no room for has none."""
        return str(self.prediction.bound) if self.footprint.fits else "OOM"

    @cached_property
    def largest_batch(self) -> int:
        """The most images that fit; 0 where not even one does."""
        return memory.largest_that_fits(lambda n: replace(self, batch=n).footprint.total, self.hardware.usable, BATCHES[-1])


@lru_cache(maxsize=8)
def premise(slug: str) -> Case:
    """The prediction's own settings: what a case starts from, on one machine."""
    return Case(hardware(slug))


def models_by_fit(machine: Hardware) -> tuple[list[tuple[str, str, float]], list[tuple[str, str, float]]]:
    """This lab's models at batch 1, each in the smallest format that the machine has: (fit, do not), (name, format, bytes) each."""
    inside: list[tuple[str, str, float]] = []
    outside: list[tuple[str, str, float]] = []
    for name in WORKLOADS:
        dtype = [fmt for fmt in FORMATS if fmt in machine.peaks][-1]
        needs = Case(machine, name, 1, dtype).footprint
        (inside if needs.fits else outside).append((about(name)["name"], dtype.upper(), float(needs.total)))
    return inside, outside


@lru_cache(maxsize=1)
def measured_run() -> tuple[Row, str]:
    """ResNet-50 at batch 1 in eager mode on the H200, and where that is written."""
    file = "h200_sxm/models"
    run = row(file, workload="resnet50", batch=1, mode="eager")
    return run, evidence.file(file).source
