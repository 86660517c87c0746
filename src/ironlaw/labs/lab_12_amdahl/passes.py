"""Passes that were measured, cut into their parts: models of the evidence by kind of kernel, and the learner's own pipeline by stage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

from ironlaw import kit
from ironlaw.backends.rows import Row
from ironlaw.engine.scaling.parts import Parted
from ironlaw.registry import evidence
from ironlaw.registry.workloads import about

GPU, CPU = "h200_sxm", "neoverse_n1_2core"
FILES = {GPU: "h200_sxm/models", CPU: "neoverse_n1_2core/models_more"}
MODELS = ("resnet50", "mobilenet_v2", "vit_b16", "bert_base", "gpt2")
HOST, DEVICE = "host", "device"
# id -> name, colour, whether hatched, and what a kernel's name holds; the first that fits counts
KINDS: dict[str, tuple[str, str, bool, tuple[str, ...]]] = {
    "attention": ("attention", "compute", True, ("sdpa", "flash", "attention")),
    "products": ("convolutions and products", "compute", False,
                 ("gemm", "nvjet", "fprop", "conv", "gemv", "splitK", "cutlass", "linear", "addmm")),
    "norms": ("norms", "memory", False, ("batch_norm", "layer_norm")),
    "copies": ("copies and layout", "memory", True,
               ("copy", "Memcpy", "Memset", "nchwToNhwc", "nhwcToNchw", "Cat", "cat", "gather", "Fill", "transpose", "reshape", "view")),
    "elementwise": ("element-wise", "ridge", False, ("elementwise", "relu", "gelu", "tanh", "add", "hardtanh")),
    "other": ("other kernels", "ridge", True, ("",)),
}  # fmt: skip
STAGES = {"inflate": ("inflate", "memory", False), "resize": ("resize", "ridge", False), "model": ("the model", "compute", False),
          "best": ("the five best", "overhead", False)}  # fmt: skip
PIPELINE = "pipeline"


@dataclass(frozen=True)
class Part:
    id: str
    name: str
    seconds: float
    colour: str
    pattern: bool = False


@dataclass(frozen=True)
class Pass:
    """Its parts take turns as measured. `lanes`: which parts run beside which where they overlap; `queued`: what the host takes then."""

    slug: str
    label: str
    parts: tuple[Part, ...]
    source: str
    lanes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    queued: float = 0.0

    @property
    def seconds(self) -> float:
        return self._parted.seconds

    @property
    def overlaps(self) -> bool:
        return len(self.lanes) > 1

    def targets(self) -> dict[str, tuple[str, ...]]:
        """What can be sped up -> its parts."""
        single: dict[str, tuple[str, ...]] = {part.id: (part.id,) for part in self.parts}
        kernels = tuple(part.id for part in self.parts if part.id in KINDS)
        return {DEVICE: kernels, **single} if kernels else single

    def name_of(self, target: str) -> str:
        return all_kernels(self) if target == DEVICE else next(part.name for part in self.parts if part.id == target)

    @cached_property
    def _parted(self) -> Parted:
        return Parted(tuple((part.id, part.seconds) for part in self.parts), self.lanes, (HOST, self.queued))

    def share(self, target: str) -> float:
        """The share of the pass as measured."""
        return self._parted.share(self.targets()[target])

    def after(self, target: str, factor: float) -> list[float]:
        return self._parted.after(self.targets()[target], factor)

    def speedup(self, target: str, factor: float, overlap: bool = False) -> float:
        return self._parted.speedup(self.targets()[target], factor, overlap)

    def lane_times(self, target: str, factor: float) -> dict[str, float]:
        return self._parted.lane_times(self.targets()[target], factor)

    def gain_of_one_percent(self, target: str, factor: float) -> float:
        return self._parted.gain_of_one_percent(self.targets()[target], factor)


def all_kernels(one: Pass) -> str:
    return "all GPU work" if one.overlaps else "all operators"


def of_context(lab: kit.Lab) -> dict[str, Pass]:
    """The passes of a context: those of its machine's evidence, and the learner's own once it was measured."""
    machine = CPU if lab.current_context.slug == CPU else GPU
    own = pipeline(lab)
    return {**measured(machine), **({PIPELINE: own} if own else {})}


@cache
def measured(machine: str) -> dict[str, Pass]:
    run = evidence.file(FILES[machine])
    rows = [row for row in run.rows if row.mode == "eager" and row.workload in MODELS and row.wall_s and row.busy_s]
    rows.sort(key=lambda row: (MODELS.index(row.workload), row.params["batch"]))
    return {slug_of(row): of_row(row, _least(row, rows), machine, run.source) for row in rows}


def slug_of(row: Row) -> str:
    return f"{row.workload}_{row.params['batch']}"


def _least(row: Row, rows: list[Row]) -> Row:
    """The same model at its smallest batch: what its launches cost the host shows best there."""
    return min((other for other in rows if other.workload == row.workload), key=lambda other: float(other.params["batch"]))


def of_row(row: Row, smallest: Row, machine: str, source: str) -> Pass:
    kernels = _kernels(row)
    host = Part(HOST, "host and launches" if machine == GPU else "the framework", row.value("wall_s") - row.value("busy_s"), "overhead")
    label = f"{about(row.workload)['name']}, batch {row.params['batch']}"
    lanes = ((HOST, (HOST,)), (DEVICE, tuple(part.id for part in kernels))) if machine == GPU else ()
    return Pass(slug_of(row), label, (host, *kernels), source, lanes, _queued(row, smallest) if lanes else 0.0)


def _queued(row: Row, smallest: Row) -> float:
    """What the host takes when it runs ahead: the queued pass if the host sets its pace, else the smallest batch's, by launches."""
    paced = row if row.value("piped_s") > 1.1 * row.value("busy_s") else smallest
    return paced.value("piped_s") * row.value("kernels") / paced.value("kernels")


def _kernels(row: Row) -> tuple[Part, ...]:
    """The kernels by kind; what the list leaves out is among the others."""
    seconds = dict.fromkeys(KINDS, 0.0)
    for kernel in row.kernel_times:
        seconds[kind_of(kernel.name)] += kernel.seconds
    seconds["other"] += max(0.0, row.value("busy_s") - sum(kernel.seconds for kernel in row.kernel_times))
    listed = sum(seconds.values())
    scale = row.value("busy_s") / listed
    return tuple(Part(kind, KINDS[kind][0], scale * took, *KINDS[kind][1:3]) for kind, took in seconds.items() if took > 0)


def kind_of(name: str) -> str:
    return next(kind for kind, (_, _, _, fragments) in KINDS.items() if any(fragment in name for fragment in fragments))


def pipeline(lab: kit.Lab) -> Pass | None:
    """The four stages as the learner's machine ran them, the model in its slowest variant."""
    run = lab.local_run("stages")
    if run is None:
        return None
    times = {name: run.row(name=name, variant="fp64") for name in STAGES}
    parts = tuple(Part(name, STAGES[name][0], float(row["wall_s"]), *STAGES[name][1:]) for name, row in times.items() if row)
    return Pass(PIPELINE, "Your pipeline, four stages", parts, run.source, tuple((part.name, (part.id,)) for part in parts))
