"""Act I's settings -> the product's work and its place under a roof; and what was measured of it. Engine calls, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from ironlaw.backends.rows import Row
from ironlaw.calibration.roofline_gap import RooflineGap, gemm_gap
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.roofline import Roofline, gemm_intensity, roofline
from ironlaw.engine.device.types import Tensor, Work, bytes_per_element
from ironlaw.engine.device.work import op
from ironlaw.formats import rate_unit
from ironlaw.labs.lab_11_roofline.machines import MEASURED_MACHINE, short
from ironlaw.pictures.roofs import Roof
from ironlaw.registry import evidence
from ironlaw.registry.machines import hardware
from ironlaw.systems.fields import among, switch, whole

FORMATS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8")
SMALLEST, LARGEST, STEP = 128, 8192, 128
MEASURED_N = 512  # the product that was measured and that the claims speak of
SIZES = tuple(range(SMALLEST, LARGEST + 1, STEP))
SMOOTH = tuple(round(SMALLEST * (LARGEST / SMALLEST) ** (i / 48)) for i in range(49))
TABLE = tuple(SMALLEST * 2**i for i in range(7))
TICKS = tuple(map(float, TABLE))
PREMISE_N, PREMISE_FORMAT = 256, "fp16"  # where the dials begin: the message's product; questions.toml states the same
EVIDENCE = "h200_sxm/micro"
NONE = "none"
OVERLAYS = {NONE: "none", "python": "from Python", "graph": "graph replay", "both": "both"}


@dataclass(frozen=True)
class Case:
    """One product on one machine."""

    hardware: Hardware
    m: int = PREMISE_N
    n: int = PREMISE_N
    k: int = PREMISE_N
    fmt: str = "fp16"

    @cached_property
    def work(self) -> Work:
        a, b, c = ((self.m, self.k), (self.k, self.n), (self.m, self.n))
        return op("matmul", "gemm", (Tensor("a", a, self.fmt), Tensor("b", b, self.fmt)), (Tensor("c", c, self.fmt),)).work

    @cached_property
    def at(self) -> Roofline:
        return roofline(self.work.flops, self.work.bytes, self.hardware, self.fmt)

    @property
    def square(self) -> bool:
        return self.m == self.n == self.k

    @property
    def size(self) -> str:
        return f"N = {self.n:,}" if self.square else f"{self.m:,} × {self.n:,} × {self.k:,}"

    @property
    def unit(self) -> str:
        """The unit of the product's rate."""
        return rate_unit(self.fmt)

    @property
    def bound(self) -> str:
        return f"{self.at.regime}-bound"

    @property
    def roof(self) -> Roof:
        return Roof(self.hardware, self.fmt, short(self.hardware.slug))

    def as_(self, fmt: str) -> Case:
        return replace(self, fmt=fmt)

    def sized(self, n: int) -> Case:
        """The same with another N; a square one stays square."""
        return replace(self, m=n, n=n, k=n) if self.square else replace(self, n=n)

    @property
    def formats(self) -> tuple[str, ...]:
        return tuple(fmt for fmt in FORMATS if fmt in self.hardware.peaks)

    @property
    def crossing(self) -> float:
        """The N at which a square product in this format meets the ridge: intensity is in proportion to N."""
        return float(self.at.ridge / gemm_intensity(1, 1, 1, bytes_per_element(self.fmt)))

    @property
    def stops(self) -> list[tuple[float, int]]:
        """(intensity, N) for every place of the slider: dragging the point goes by them."""
        return [(float(self.sized(n).work.intensity), n) for n in SIZES]


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand."""

    hardware: Hardware
    n: int = whole(PREMISE_N, "N", least=SMALLEST, most=LARGEST, dial="span", log=True)
    shape: str = among({"square": "square", "apart": "any M, N, K"}, "square", "Shape")
    m: int = whole(PREMISE_N, "M", most=LARGEST, dial="span", log=True)
    k: int = whole(PREMISE_N, "K", least=SMALLEST, most=LARGEST, dial="span", log=True)
    dtype: str = among(FORMATS, "fp16", "Number format", shown=str.upper)
    levels: str = among({"main": "main only", "cache": "with caches", "all": "all"}, "main", "Memory levels")
    formats: bool = switch(False, "Roofs of all formats")
    measured: str = among(OVERLAYS, NONE, "Measured on an H200")
    here: bool = switch(True, "Measured on this machine")

    @property
    def case(self) -> Case:
        m, k = (self.n, self.n) if self.shape == "square" else (self.m, self.k)
        return Case(self.hardware, m, self.n, k, self.dtype)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that the picture shows."""
        replayed = {NONE: (), "python": (False,), "graph": (True,), "both": (False, True)}[self.measured]
        return tuple(run for run in runs(self.dtype) if run.replayed in replayed)

    @property
    def nearest(self) -> Run:
        return run(self.dtype, self.n, self.measured == "graph")


def premise(machine: Hardware) -> Case:
    return Case(machine, PREMISE_N, PREMISE_N, PREMISE_N, PREMISE_FORMAT)


@dataclass(frozen=True)
class Run:
    """One measured square product on the H200."""

    case: Case
    seconds: float
    replayed: bool  # from a graph; else called from Python
    gap: RooflineGap

    @property
    def rate(self) -> float:
        return float(self.case.work.flops) / self.seconds

    @property
    def how(self) -> str:
        return "graph replay" if self.replayed else "from Python"


@lru_cache(maxsize=16)
def runs(fmt: str) -> tuple[Run, ...]:
    """All sizes that were measured in a format, called from Python and then replayed from a graph."""
    machine = hardware(MEASURED_MACHINE)
    runs_so_far: list[Run] = []
    best = 0.0
    for row in _rows(fmt):
        n, wall, graph = row.params["n"], row.value("wall_s"), row.graph_s
        case = Case(machine, n, n, n, fmt)
        runs_so_far.append(Run(case, wall, False, gemm_gap(n, n, n, fmt, machine, wall, graph, best)))
        if graph:
            runs_so_far.append(Run(case, graph, True, gemm_gap(n, n, n, fmt, machine, graph, graph, best)))
        best = max(best, float(case.work.flops) / (graph or wall))
    return tuple(runs_so_far)


def _rows(fmt: str) -> list[Row]:
    rows = [r for r in evidence.file(EVIDENCE).rows if r.kind == "op" and r.op == "matmul"]
    square = [r for r in rows if r.dtype == fmt and r.params["m"] == r.params["n"] == r.params["k"]]
    once = {r.params["n"]: r for r in reversed(square)}  # a size that was measured twice: the sweep's own row is the first
    return [once[n] for n in sorted(once)]


@lru_cache(maxsize=1)
def source() -> str:
    return evidence.file(EVIDENCE).source


def run(fmt: str, n: int, replayed: bool) -> Run:
    """The measured run whose size is nearest, counted in factors."""
    candidates = [r for r in runs(fmt) if r.replayed == replayed]
    return min(candidates, key=lambda r: max(r.case.n / n, n / r.case.n))
