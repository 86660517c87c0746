"""A machine, and how a graph is run on it. All frozen: ask again with `dataclasses.replace`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from ironlaw.engine.arrays import Number, largest, minimum
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.types import bytes_per_element, check_positive
from ironlaw.errors import BadValue, UnsupportedPrecision, unknown
from ironlaw.formats import PRODUCTS_OF_PARTS, computed_in

if TYPE_CHECKING:
    from ironlaw.engine.device.compiler_rules import Rules
    from ironlaw.engine.device.cost import Cost
    from ironlaw.engine.device.types import Graph, Op
    from ironlaw.engine.device.uncertainty import Scatter

# whose kernels run, and whether a graph of them is replayed: "graphs" is of compiled code, "eager_graphs" of eager code, which is how
# serving engines decode
MODES = ("eager", "compiled", "graphs", "eager_graphs")
REPLAYED = ("graphs", "eager_graphs")
WORK = ("matrix", "vector")  # products, convolutions and attention; and all that is done element by element or along a row
# calibrated: this machine was measured; transferred: physics and constants from other machines; bound: the datasheet's peaks
BASES = ("bound", "transferred", "calibrated")
SAME_UNITS = 1.02  # rates this near are of the same units; makers round
DISPATCHES = ("queued", "synchronous")  # how a plan may ask for launches to reach the device
# queued: the host runs ahead of the device. synchronous: the processor that launches is the one that works, so it can't.
# replayed: no driver and no queue (a microcontroller), so the launch is paid once for the whole run.
SCHEDULES = (*DISPATCHES, "replayed")
# How products of FP32 tensors are asked for. default: as the machine's library runs them unless told otherwise, some of them in TF32;
# strict: all in FP32; tf32: all that can be in TF32.
FP32 = ("default", "strict", "tf32")
NARROW = "tf32"
HOST_WIRES, PCIE_5 = ("PCI Express", "NVLink-C2C"), 63e9  # what a link to the host is called; bytes per second of PCIe 5.0 x16
LASTING = ("l1", "l2", "l3", "l4")  # caches that outlast a kernel; a GPU's registers and shared memory do not


@dataclass(frozen=True, slots=True)
class Figure:
    """One sourced number, as a registry file gives it; `value` is in SI."""

    value: float
    unit: str
    source: str
    date: str
    format: str = ""
    estimate: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the memory ladder; sizes and bandwidths are totals over the chip."""

    name: str
    label: str
    size: Number
    bandwidth: Number
    source: str = ""
    date: str = ""
    estimate: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A way to other chips or to the host, one direction of it; several lanes or ports together."""

    name: str
    per_direction: float  # bytes/s
    source: str = ""
    date: str = ""
    estimate: bool = False
    why: str = ""


@dataclass(frozen=True)
class Hardware:
    """A machine. Peaks are dense; the 2:4-sparsity figures stand apart in `sparse`."""

    slug: str
    name: str
    peaks: Mapping[str, Number]
    bandwidth: Number
    capacity: Number  # bytes of main memory as its maker means them: what is sold as 80 GB holds 80 GiB
    power: Number
    launch: Number  # what one launch costs a typical host, seconds
    kind: str = "gpu"
    backend: str = ""  # a name in ironlaw.backends; one that is not there gets a bound
    context: str = "cloud"
    sparse: Mapping[str, Number] = field(default_factory=dict)
    vector: Mapping[str, Number] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()
    units: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    note: str = ""
    dispatch: str = "queued"  # how launches reach the device: one of SCHEDULES
    caveats: tuple[str, ...] = ()  # what every prediction for this machine must say beside its sources
    calibration: CostModel | None = None  # where the machine was measured
    taught: Callable[[], CostModel] | None = None  # where its figures are enough for what other machines taught; asked to predict by that
    reserved: Number = 0.0  # bytes of it that error correction, driver, runtime and operating system keep
    narrowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # a way to ask for FP32 -> the op kinds that then run in TF32
    flash: Number = 0.0  # bytes of flash from which a microcontroller reads its weights where they lie; 0: weights are in main memory
    activations: str = ""  # the level that holds activations, where main memory holds nothing but weights
    links: tuple[Link, ...] = ()
    process: str = ""  # in which the chip is made, as its maker calls it
    server: Callable[[], Host] | None = None  # who launches a captured model where the plan names nobody
    wires: Callable[[str, int, float], float | None] | None = None  # seconds of a collective: its kind, ranks, bytes; None: no such box

    def __repr__(self) -> str:
        """One line; every figure and its source are in `figures`."""
        return f"<Hardware {self.slug}: {self.name}>"

    @property
    def usable(self) -> Number:
        """Bytes that a model can use; whether something fits is judged by this."""
        return self.capacity - self.reserved

    @property
    def host_wire(self) -> float:
        """Bytes per second to the host or back, by the wire's own rate; without a figure, that of most servers' GPUs today."""
        return next((one.per_direction for one in self.links if one.name.startswith(HOST_WIRES)), PCIE_5)

    def peak(self, fmt: str, sparse: bool = False) -> Number:
        """Peak rate in FLOP/s for a number format; dense unless asked. A complex product counts as one but takes four real ones."""
        part = computed_in(fmt)
        if part != fmt:
            return self.peak(part, sparse) / PRODUCTS_OF_PARTS
        table = self.sparse if sparse else self.peaks
        if fmt not in table:
            bytes_per_element(fmt)
            raise UnsupportedPrecision(
                f"{self.slug} has no {'sparse peak for ' if sparse else ''}{fmt}; it has {', '.join(table) or 'none'}; choose one of those"
                f" or add [{'sparse' if sparse else 'peak'}.{fmt}] with its source to registry/hardware/{self.slug}.toml"
            )
        return table[fmt]

    def vector_peak(self, fmt: str) -> Number:
        """Peak rate outside the matrix units, in FLOP/s: what element-wise work, reductions, norms and softmax run at.

        A machine without [vector] figures has no matrix units, or its maker says nothing of the rest: then its peak stands for
        it. A format without a rate of its own is worked on in FP32's lanes, no faster than its products.
        """
        fmt = computed_in(fmt)
        if fmt in self.vector:
            return self.vector[fmt]
        if not self.vector and fmt in self.peaks:
            return self.peaks[fmt]
        wide = self.vector.get("fp32", self.peaks.get("fp32"))
        if wide is None:
            return self.peak(fmt)
        return minimum(wide, self.peaks[fmt]) if fmt in self.peaks else wide

    def narrows(self, kind: str, fmt: str, asked: str = "default") -> bool:
        """Whether an op of this kind on FP32 tensors does its products in TF32 here."""
        return fmt == "fp32" and NARROW in self.peaks and kind in self.narrowed.get(asked, ())

    def launcher(self, plan: Plan) -> Host:
        """The host that launches: the plan's, else the one the device was measured with, or a typical one. A processor is its own."""
        if plan.host is not None and self.dispatch == "queued":
            return plan.host
        if self.basis(plan) == "calibrated" and self.calibration is not None:
            return self.calibration.host
        return self.typical_host

    def basis(self, plan: Plan) -> str:
        """What a time under this plan rests on: one of BASES."""
        if plan.calibrated and self.calibration is not None and plan.transferred is not True:
            return "calibrated"
        return "transferred" if plan.calibrated and self.taught is not None and plan.transferred is not False else "bound"

    def model(self, plan: Plan) -> CostModel | None:
        """What an op costs under this plan; None for a bound."""
        basis = self.basis(plan)
        return self.calibration if basis == "calibrated" else self.transfer if basis == "transferred" else None

    @property
    def transfer(self) -> CostModel | None:
        """The cost model fitted to other machines."""
        return self.taught() if self.taught is not None else None

    @cached_property
    def typical_host(self) -> Host:
        name = "the device itself" if self.dispatch != "queued" else "a typical host"
        return Host({"default": self.launch}, graph_start=self.launch, name=name, estimate=self.dispatch == "queued")

    def has_matrix_units(self, fmt: str) -> bool:
        """Whether products in a format have units of their own, beside those that element-wise work runs on."""
        return fmt in self.peaks and largest(self.peaks[fmt]) > SAME_UNITS * largest(self.vector_peak(fmt))

    def rate(self, fmt: str, work: str = "matrix") -> Number:
        """The peak for a kind of work: matrix | vector."""
        if work not in WORK:
            raise unknown("kind of work", work, WORK)
        return self.peak(fmt) if work == "matrix" else self.vector_peak(fmt)

    def ridge(self, fmt: str, level: str = "main", work: str = "matrix") -> Number:
        """FLOP per byte at which the memory roof meets the compute roof: of matrix work, or of element-wise work (`work="vector"`)."""
        return self.rate(fmt, work) / self.level(level).bandwidth

    @property
    def activation_bandwidth(self) -> Number:
        """Bytes per second at which everything but weights moves: main memory's, unless activations have a memory of their own."""
        return self.level(self.activations).bandwidth if self.activations else self.bandwidth

    def level(self, name: str) -> Level:
        for level in self.levels:
            if level.name == name:
                return replace(level, size=self.flash or self.capacity, bandwidth=self.bandwidth) if name == "main" else level
        if name == "main":
            return Level("main", "main memory", self.flash or self.capacity, self.bandwidth)
        raise unknown(f"memory level of {self.slug}", name, ["main", *(lv.name for lv in self.levels)])


@dataclass(frozen=True, slots=True)
class Plan:
    """How a graph is run. mode: eager | compiled | graphs | eager_graphs; dispatch: queued | synchronous; fp32: default | strict | tf32."""

    mode: str = "eager"
    dispatch: str = "queued"
    calibrated: bool = True  # use the machine's measured curves where it has them; False asks for the datasheet's bound
    launch: Number | None = None  # seconds per launch; overrides any host's
    efficiency: Number = 1.0  # η: the share of the peak rate that is reached, uncalibrated
    fp32: str = "default"  # what products of FP32 tensors are computed in: one of FP32
    host: Host | None = None  # who launches; None: the host that the device was measured with, or a typical one
    transferred: bool | None = None  # use what other machines taught: None, where nobody measured this one; True, even there; False, never

    def __post_init__(self) -> None:
        for name, allowed in (("mode", MODES), ("dispatch", DISPATCHES), ("fp32", FP32)):
            if getattr(self, name) not in allowed:
                raise unknown(f"plan {name}", getattr(self, name), allowed, field=name)
        if largest(check_positive("plan efficiency", self.efficiency)) > 1:
            raise BadValue(f"plan efficiency is {self.efficiency!r}; it is a share of the peak rate: give at most 1")
        if self.launch is not None:
            check_positive("plan launch cost", self.launch, zero=True)

    @property
    def lowering(self) -> str:
        """Which kernels run: "eager" (the library's own for each op) or "compiled"."""
        return "eager" if self.mode in ("eager", "eager_graphs") else "compiled"

    @property
    def replayed(self) -> bool:
        """Whether the kernels are one graph, which is launched as a whole."""
        return self.mode in REPLAYED


class CostModel(Protocol):
    """What measuring a machine has taught: what an op costs there (`ironlaw.calibration`)."""

    @property
    def host(self) -> Host:
        """The host that the device was measured with."""

    @property
    def backend(self) -> str: ...

    @property
    def sources(self) -> tuple[str, ...]: ...

    @property
    def graph_gap(self) -> float:
        """Seconds between kernels of a replayed graph."""

    @property
    def compile_kernel_s(self) -> float:
        """Host seconds to compile one kernel; 0 where that was not measured."""

    @property
    def rules(self) -> Rules:
        """What the compiler of this machine's library fuses."""

    def prepare(self, graph: Graph, hardware: Hardware) -> Graph:
        """The graph that the compiler's fusion starts from, after what it rewrites."""

    def arrange(self, ops: Sequence[Op]) -> tuple[Op, ...]:
        """A compiled graph's ops with the layouts that the library gives their tensors."""

    def cost(self, op: Op, hardware: Hardware, plan: Plan) -> Cost: ...

    def known(self, hardware: Hardware, plan: Plan) -> dict[Any, Cost]:
        """Costs that are known already, by the ops' keys; what is put there may be asked for again."""

    def sustain(self, costs: list[Cost]) -> list[Cost]:
        """The same costs in a graph: under steady load, where a clock falls, and each kernel among others."""

    @property
    def common(self) -> float:
        """What the errors of any two ops of a family share, however far apart they are."""

    @property
    def scatter(self) -> Mapping[str, Scatter]:
        """How models came out beside the sum of their ops: by mode, "training", and "host" for launches."""
