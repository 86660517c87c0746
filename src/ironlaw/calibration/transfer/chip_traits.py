"""The figures of a machine that a transferred prediction starts from, and which of them a registry file lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ironlaw.engine.device.machine import LASTING, Hardware
from ironlaw.errors import BadValue

MULTIPROCESSORS = ("sms", "cus", "xe_cores")  # what makers call them
# a maker's name for a process -> the node whose power was judged; what is not there is taken for the newest
NODES = {"16 nm": "16nm", "12 nm": "12nm", "8 nm": "8nm", "7 nm": "7nm", "6 nm": "7nm", "4N": "4N", "4NP": "4NP"}
NEWEST = "4NP"
LIBRARIES = ("cuda", "rocm", "xpu")  # backends whose PyTorch kernels are of the families that were measured
MEMORIES = ("HBM", "GDDR", "LPDDR")  # kinds, by how a main memory's label begins
FULL_POWER = 150.0  # watts under which a card can't hold its clock when all of it works
ACHIEVED = "achieved."  # how a file's measured rates are named among its figures
ALIKE = (("fp16", "bf16", "tf32"), ("fp8", "int8"))  # formats that the same units multiply: what one reaches of its peak, the others do
MAKERS = {"cuda": "NVIDIA", "rocm": "AMD", "xpu": "Intel"}


@dataclass(frozen=True, slots=True)
class Chip:
    """Rates are the datasheet's; sizes in bytes, clock in Hz."""

    sms: float
    lanes: float  # FP32 multiply-adds that a multiprocessor starts in a clock
    clock: float
    bandwidth: float
    cache: float  # the last cache that outlasts a kernel
    power: float
    memory: str  # one of MEMORIES
    maker: str
    peaks: Mapping[str, float]
    vector: float  # FP32 outside the matrix units
    slug: str = ""
    shared: float = 0.0  # bytes that one block may use: with lanes and node, it tells generations apart
    node: str = ""  # of its process, as NODES names it
    achieved: Mapping[str, float] = field(default_factory=dict)  # share of its bandwidth, and of its peak in a format, that was measured

    @property
    def throttles(self) -> bool:
        return self.power < FULL_POWER

    def reached(self, fmt: str) -> float | None:
        """The share of its peak that large products were seen to hold; None where nobody looked, and where a card can't hold its best."""
        alike = next((formats for formats in ALIKE if fmt in formats), ())
        return None if self.throttles else next((self.achieved[name] for name in (fmt, *alike) if name in self.achieved), None)


def node(process: str) -> str:
    return next((short for name, short in reversed(NODES.items()) if name in process), NEWEST)


def multiprocessors(machine: Hardware) -> float | None:
    return next((machine.units[name] for name in MULTIPROCESSORS if name in machine.units), None)


def memory_kind(machine: Hardware) -> str | None:
    label = machine.levels[-1].label if machine.levels else ""
    return next((kind for kind in MEMORIES if label.upper().startswith(kind)), None)


def missing(machine: Hardware) -> tuple[str, ...]:
    """What its file must gain before a time can be transferred to it; empty where nothing is missing."""
    if machine.backend not in LIBRARIES:
        return (f"times of {machine.backend} kernels do not carry over from other machines; run `ironlaw measure` on it",)
    lacks = []
    if multiprocessors(machine) is None:
        lacks.append(f"[units] {MULTIPROCESSORS[0]}: how many multiprocessors it has")
    if "lanes" not in machine.units:
        lacks.append("[units] lanes: FP32 multiply-adds that a multiprocessor starts in a clock")
    if "clock" not in machine.units:
        lacks.append('[units] clock: its boost clock, such as "1410 MHz"')
    if not any(level.name in LASTING for level in machine.levels):
        lacks.append("[[level]] l2: the size and bandwidth of its last cache")
    if memory_kind(machine) is None:
        lacks.append(f"[[level]] main: a label that begins with {', '.join(MEMORIES[:-1])} or {MEMORIES[-1]}")
    if "fp32" not in machine.peaks:
        lacks.append("[peak.fp32]: its dense FP32 rate")
    return tuple(lacks)


def group(chip: Chip) -> str:
    """Machines that are judged together: by maker, and apart those that can't hold their clock."""
    return "throttling" if chip.throttles else chip.maker


def chip(machine: Hardware) -> Chip:
    """The figures of a machine that lacks none of them."""
    lacks = missing(machine)
    if lacks:
        raise BadValue(f"nothing can be transferred to {machine.slug}. What is missing: {'; '.join(lacks)}")
    caches = [level for level in machine.levels if level.name in LASTING]
    return Chip(
        sms=float(multiprocessors(machine) or 0), lanes=machine.units["lanes"], clock=machine.units["clock"],
        bandwidth=float(machine.bandwidth), cache=float(caches[-1].size), power=float(machine.power), memory=memory_kind(machine) or "",
        maker=MAKERS[machine.backend], peaks={fmt: float(rate) for fmt, rate in machine.peaks.items()},
        vector=float(machine.vector_peak("fp32")), slug=machine.slug, shared=machine.units.get("shared_per_block", 0.0),
        node=node(machine.process), achieved=shares(machine),
    )  # fmt: skip


def shares(machine: Hardware) -> dict[str, float]:
    """What a long stream and a large product were seen to reach of the datasheet's rates, where its file says so."""
    seen = {name.removeprefix(ACHIEVED): figure.value for name, figure in machine.figures.items() if name.startswith(ACHIEVED)}
    return {name: rate / float(machine.bandwidth if name == "bandwidth" else machine.peaks[name]) for name, rate in seen.items()}
