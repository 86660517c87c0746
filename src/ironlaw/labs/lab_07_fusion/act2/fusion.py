"""Panel A's settings -> a chain unfused and fused, with and without a cache, and attention both ways. Engine calls only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from ironlaw.claims import attention, row
from ironlaw.engine.device.chains import chain
from ironlaw.engine.device.fusion import FusionPlan, fuse
from ironlaw.engine.device.machine import Hardware, Level, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.residency import crossover, residency
from ironlaw.engine.device.types import Graph, Op
from ironlaw.errors import IronlawError
from ironlaw.kit.context import Context
from ironlaw.labs.lab_07_fusion.jobs import launch_of

THREE = ("layer_norm", "dropout", "relu")
COURSE_BANDWIDTH = 2.0e12  # of the A100, as the course rounds it; the panel starts there
LABELS = {
    "add": "add", "mul": "mul", "relu": "ReLU", "gelu": "GELU", "sigmoid": "sigmoid", "layer_norm": "LayerNorm", "softmax": "softmax",
    "dropout": "dropout", "sum": "sum", "matmul": "matmul",
}  # fmt: skip
SIZES = ((64, 64), (128, 128), (256, 256), (512, 512), (1024, 768), (2048, 1024), (4096, 1024), (4096, 2048), (4096, 4096),
         (8192, 4096), (8192, 8192), (16384, 8192))  # fmt: skip
SEQUENCES = (256, 512, 1024, 2048, 4096, 8192, 16384)
MEASURED_HEAD = 128
PLAN = Plan(calibrated=False, dispatch="synchronous")


@dataclass(frozen=True)
class Line:
    """One row of the byte ledger: what an op or a fused kernel reads and writes."""

    name: str
    read: float
    written: float
    tensors: tuple[int, int]  # how many are read, and written


@dataclass(frozen=True)
class Case:
    """Where the dials of panel A stand."""

    kinds: tuple[str, ...]
    shape: tuple[float, float]
    machine: Hardware  # with the bandwidth and the launch that are set
    fmt: str = "fp16"
    training: bool = False

    @cached_property
    def graph(self) -> Graph:
        return chain(self.kinds, self.shape, self.fmt, self.training)

    @cached_property
    def plan(self) -> FusionPlan:
        return fuse(self.graph)

    @cached_property
    def unfused(self) -> Prediction:
        return predict(self.graph, self.machine, PLAN)

    @cached_property
    def fused(self) -> Prediction:
        return predict(self.graph, self.machine, replace(PLAN, mode="compiled"))

    @property
    def tensor_bytes(self) -> float:
        return float(self.graph.ops[0].inputs[0].bytes)

    @property
    def traffic_cut(self) -> float:
        return float(self.graph.bytes / self.plan.graph.bytes)

    @property
    def speedup(self) -> float:
        return float(self.unfused.seconds / self.fused.seconds)

    @property
    def ridge(self) -> float:
        """The ridge for what the chain does: the vector units' if it holds no matrix product."""
        return float(self.machine.ridge(self.fmt, work=self.graph.work.kind))

    @cached_property
    def cache(self) -> Level | None:
        return cache_of(self.machine)

    def cached_s(self, graph: Graph) -> float:
        """Wall time of a graph where the cache keeps what fits: launches, then the slower of bytes and arithmetic, op by op."""
        assert self.cache is not None
        moved = residency(graph, float(self.cache.size)).seconds(self.machine.bandwidth, self.cache.bandwidth)
        compute = [float(row.compute_s) for row in predict(graph, self.machine, PLAN).ops]
        return float(graph.kernels * self.machine.launch) + sum(max(float(a), b) for a, b in zip(moved, compute, strict=True))

    @property
    def cached_speedup(self) -> float:
        return self.cached_s(self.graph) / self.cached_s(self.plan.graph)

    @property
    def dram_cut(self) -> float:
        """Bytes across main memory, unfused over fused, with the cache in front."""
        assert self.cache is not None
        size = float(self.cache.size)
        return float(residency(self.graph, size).main / residency(self.plan.graph, size).main)

    @property
    def crossover_bytes(self) -> float | None:
        """The tensor's size beyond which an intermediate no longer stays in the cache; None where there is none."""
        needed = float(crossover(self.graph))
        return float(self.cache.size) * self.tensor_bytes / needed if needed and self.cache else None

    def at(self, shape: tuple[float, float]) -> Case:
        return replace(self, shape=shape)

    @property
    def sizes(self) -> list[Case]:
        """The same chain on small and large tensors, and on both sides of where the cache ends."""
        columns = self.shape[1]
        rows = [a * b / columns for a, b in SIZES]
        if self.crossover_bytes:
            limit = self.crossover_bytes / self.tensor_bytes * self.shape[0]
            rows += [limit * 0.999, limit * 1.001]
        return [self.at((count, columns)) for count in sorted(rows)]


def cache_of(machine: Hardware) -> Level | None:
    try:
        return machine.level("l2")
    except IronlawError:
        return None


def case(context: Context, kinds: Sequence[str], shape: tuple[int, int], bandwidth: float | None, training: bool) -> Case:
    machine = context.hardware
    set_up = replace(machine, bandwidth=bandwidth or machine.bandwidth, launch=launch_of(context), calibration=None)
    return Case(tuple(kinds), shape, set_up, "fp16" if "fp16" in machine.peaks else context.format, training)


def ledger(ops: Sequence[Op], order: dict[str, str]) -> list[Line]:
    """Reads and writes, kernel by kernel; a mask that dropout leaves for the backward pass is a line of its own."""
    lines = []
    for op in ops:
        parts = [order[part.name] for part in op.attrs.get("parts", (op,))]
        name = parts[0] if len(parts) == 1 else f"{parts[0].partition(' ')[0]}–{parts[-1].partition(' ')[0]}, one kernel"
        masks = {t.name: float(size) for t, size in zip(op.outputs, op.writes, strict=True) if t.dtype == "bool"}
        written = float(sum(op.writes)) - sum(masks.values())
        lines.append(Line(name, float(sum(op.reads)), written, (len(op.inputs), len(op.outputs) - len(masks))))
        lines += [Line(f"{mask.replace('mask', '')} dropout's mask", 0.0, size, (0, 1)) for mask, size in masks.items()]
    return lines


def names(graph: Graph) -> dict[str, str]:
    """`1 layer_norm` -> `1 LayerNorm`."""
    return {op.name: f"{op.name.partition(' ')[0]} {LABELS[op.kind]}" for op in graph.ops}


@lru_cache(maxsize=64)
def flash(seq: int, head: int) -> tuple[float, float]:
    """Bytes of one attention op over `seq` tokens: naive, tiled."""
    return float(attention(seq, head, "naive").bytes), float(attention(seq, head, "flash").bytes)


def keys_and_values(seq: int, head: int) -> float:
    """Bytes of one head's keys and values over `seq` tokens: what every block of queries reads."""
    _, keys, values = attention(seq, head, batch=1, heads=1).ops[0].inputs
    return float(keys.bytes + values.bytes)


@lru_cache(maxsize=32)
def flash_times(seq: int) -> tuple[float, float] | None:
    """Measured seconds on the H200, naive and tiled; None where it was not run."""
    if seq > 8192:
        return None
    seconds = [row("h200_sxm/micro", op="attention", s=seq, impl=impl).value("wall_s") for impl in ("naive", "flash")]
    return float(seconds[0]), float(seconds[1])


@lru_cache(maxsize=1)
def measured_gains() -> tuple[tuple[float, float], ...]:
    """(tensor bytes, GPU time eager over compiled) of LayerNorm, dropout, ReLU on the H200."""
    shapes = ((64, 64), (1024, 768), (4096, 1024), (8192, 4096), (16384, 8192))

    def busy(shape: tuple[int, int], mode: str) -> float:
        return float(row("h200_sxm/micro", name="layernorm_dropout_relu", shape=list(shape), mode=mode).value("busy_s"))

    return tuple((2.0 * a * b, busy((a, b), "eager") / busy((a, b), "compiled")) for a, b in shapes)


@lru_cache(maxsize=1)
def counters() -> dict[str, dict[str, float]]:
    """DRAM bytes by hardware counters on [16384, 8192]: per kernel read, written, seconds."""
    big = {"shape": [16384, 8192]}
    modes = {"layer_norm": "eager", "dropout": "eager", "relu": "eager", "fused": "compiled"}
    rows = {name: row("h200_sxm/traffic", op=name, mode=mode, **big) for name, mode in modes.items()}
    return {
        n: {"read": float(r.value("read_bytes")), "written": float(r.value("written_bytes")), "busy": float(r.value("busy_s"))}
        for n, r in rows.items()
    }
