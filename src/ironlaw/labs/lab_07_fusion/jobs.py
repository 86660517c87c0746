"""One pass as launches and device time: a textbook model of equal kernels, or a graph of the registry. Engine calls only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ironlaw.backends.rows import Row
from ironlaw.claims import row
from ironlaw.engine.device.dispatch import Run, queued, synchronous, utilization
from ironlaw.engine.device.launched import Launched, Spent, as_predicted, equal_kernels
from ironlaw.engine.device.machine import CostModel, Hardware, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.kit.context import Context
from ironlaw.registry import evidence
from ironlaw.registry.textbooks import Textbook, textbook
from ironlaw.registry.workloads import about, workload

EAGER, COMPILED, GRAPH = "eager", "compiled", "graph"
SYNC, QUEUED = "synchronous", "queued"
TEXTBOOKS = ("kws", "resnet50", "gpt2_layer")
GRAPHS = {"graph:dscnn_kws": {}, "graph:resnet50": {"classes": 2}, "graph:gpt2": {"seq": 512}}  # as the evidence ran them
MODELS = (*TEXTBOOKS, *GRAPHS)
FILE = "h200_sxm/models"
CLOUD = "a100_80gb_sxm"  # whose launch the questions take


def is_graph(model: str) -> bool:
    return model in GRAPHS


def name_of(model: str) -> str:
    return f"{about(model.partition(':')[2])['name']}, real graph" if is_graph(model) else textbook(model).name


@lru_cache(maxsize=32)
def measured_run(model: str, mode: str) -> Row:
    """The evidence's row for a graph at batch 1: kernels, wall, queued wall, busy."""
    return row(FILE, workload=model.partition(":")[2], batch=1, mode={GRAPH: "graphs"}.get(mode, mode))


def source() -> str:
    return evidence.file(FILE).source


def kernels_of(model: str) -> int:
    """Launches of an eager pass: the textbook's, or as many as the evidence counted."""
    return int(measured_run(model, EAGER).value("kernels")) if is_graph(model) else textbook(model).kernels


def removed_of(model: str) -> float:
    """Share of launches that compiling takes away; for a graph, as counted."""
    if not is_graph(model):
        return textbook(model).removed
    return 1.0 - float(measured_run(model, COMPILED).value("kernels")) / float(measured_run(model, EAGER).value("kernels"))


def launch_of(context: Context) -> float:
    """What one launch costs the context's host: measured where it was, else the registry's figure."""
    calibration = queueing(context)
    return calibration.host.default if calibration else float(context.hardware.launch)


def queueing(context: Context) -> CostModel | None:
    """What measuring the context's host has taught about launching onto a device with a queue; a processor has none."""
    return context.hardware.calibration if context.hardware.dispatch == "queued" else None


def launch_source(context: Context) -> str:
    if calibration := queueing(context):
        sources = calibration.sources
        return f"measured on its host, {next((source for source in sources if 'machine' in source), sources[0])}"
    figure = context.hardware.figures.get("launch")
    return f"{figure.source}, {figure.date}" if figure else ""


class Machine:
    """A context as the key of a memory: the same machine object is the same machine."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __hash__(self) -> int:
        return id(self.context.hardware)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Machine) and other.context.hardware is self.context.hardware


@lru_cache(maxsize=64)
def prediction(model: str, machine_of: Machine, mode: str) -> Prediction:
    context = machine_of.context
    machine = context.hardware
    fmt = "fp16" if "fp16" in machine.peaks else context.format
    graph = workload(model.partition(":")[2], batch=1, dtype=fmt, **GRAPHS[model])
    return predict(graph, machine, Plan(mode=EAGER if mode == EAGER else COMPILED, launch=launch_of(context)))


@dataclass(frozen=True)
class Job:
    """A model under the dials. `kernels` are the eager pass's launches: the same work in so many pieces."""

    model: str
    context: Context
    kernels: int
    removed: float = 0.0
    speed: float = 1.0
    memory_s: float = 0.0  # textbook models only: memory time beside their kernels

    @property
    def launch(self) -> float:
        return launch_of(self.context)

    def launches(self, mode: str) -> int:
        """How many kernels are left. A textbook pass that is replayed keeps all of them."""
        fused = mode == COMPILED or (mode == GRAPH and is_graph(self.model))
        return max(1, round(self.kernels * (1.0 - self.removed))) if fused else self.kernels

    def launched(self, mode: str) -> Launched:
        count = self.launches(mode)
        if is_graph(self.model):
            return as_predicted(prediction(self.model, Machine(self.context), mode), count, self.speed)
        return equal_kernels(count, self.launch, textbook(self.model).compute_s / self.speed, self.memory_s / self.speed)

    def course(self, launched: Launched, mode: str, dispatch: str) -> Run:
        """When the host launches what, and when it runs."""
        if mode != GRAPH:
            return launched.run(is_queued=dispatch == QUEUED)
        calibration = self.context.hardware.calibration
        if calibration and is_graph(self.model):
            return launched.replayed(calibration.host.graph_start, calibration.graph_gap)
        return launched.replayed(self.launch)

    def run(self, mode: str, dispatch: str) -> Spent:
        launched = self.launched(mode)
        return launched.spent(self.course(launched, mode, dispatch))

    def utilization(self, mode: str, dispatch: str) -> float:
        """Percent. Textbook: the share of wall time that is maths. A graph: in which the device has work."""
        run = self.run(mode, dispatch)
        return 100.0 * (run.busy if is_graph(self.model) else run.compute) / run.wall


def premise(hardware: Hardware, model: Textbook, removed: float = 0.0, speed: float = 1.0, dispatch: str = SYNC) -> float:
    """Percent: a textbook model at its own count on a machine's registry launch, by the law in one line."""
    count = model.kernels * (1.0 - removed)
    return 100.0 * float(utilization(count, model.compute_s / count / speed, hardware.launch, mode=dispatch))


def pass_s(model: Textbook, launch: float, dispatch: str = SYNC) -> float:
    """Seconds of one eager pass of a textbook model."""
    run = (queued if dispatch == QUEUED else synchronous)([launch] * model.kernels, [model.kernel_s] * model.kernels)
    return float(run.wall)
