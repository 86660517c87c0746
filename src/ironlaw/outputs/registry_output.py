"""Machines, models and claims of the registry."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

Amount = float | Literal["never"]


class HardwareFigure(TypedDict):
    value: float
    unit: str
    source: str
    date: str
    format: Annotated[str, "how the source writes it"]
    estimate: bool
    why: Annotated[str, "the reason for an estimate"]


class HardwareLevel(TypedDict):
    name: str
    label: str
    size: float
    bandwidth: float
    source: str
    date: str
    estimate: bool
    why: str


class HardwareLink(TypedDict):
    name: str
    per_direction: Annotated[float, "bytes per second in one direction"]
    source: str
    date: str
    estimate: bool
    why: str


class HardwareJson(TypedDict):
    """What `ironlaw hardware NAME --json` writes"""

    slug: str
    name: str
    kind: Annotated[str, "gpu, cpu, npu …"]
    backend: Annotated[str, "cuda, cpu, mps …"]
    context: Annotated[str, "cloud, desktop, edge, mobile or tiny"]
    aliases: Sequence[str]
    note: str
    bandwidth: Annotated[float, "of main memory, B/s"]
    capacity: Annotated[float, "bytes, as the maker counts them"]
    reserved: Annotated[float, "what driver, runtime and system keep"]
    usable: Annotated[float, "what is left"]
    power: Annotated[float, "watts"]
    launch: Annotated[float, "seconds to launch an operator"]
    peaks: Annotated[dict[str, float], "matrix products, by format"]
    sparse: Annotated[dict[str, float], "the same with 2:4 sparsity"]
    vector: Annotated[dict[str, float], "element-wise work, by format"]
    ridge: Annotated[dict[str, float], "operations per byte, by format"]
    vector_ridge: Annotated[dict[str, float], "the same for element-wise work"]
    units: Annotated[dict[str, float], "multiprocessors, clocks and the like"]
    calibrated: Annotated[bool, "whether it was measured"]
    figures: Annotated[dict[str, HardwareFigure], "every figure with its source"]
    levels: Annotated[Sequence[HardwareLevel], "levels of memory"]
    links: Annotated[Sequence[HardwareLink], "links to other devices"]
    process: str


class MachinesJson(TypedDict):
    """What `ironlaw hardware --json` writes"""

    machines: Annotated[Sequence[HardwareJson], "each as ironlaw hardware NAME has it"]


class HardwareAddJson(TypedDict):
    """What `ironlaw hardware add FILE --json` writes"""

    slug: Annotated[str, "its name from now on"]
    name: str
    rows: int
    curves: Annotated[Sequence[str], "those that were fitted; none where there were too few rows"]
    stored: str


class CheckedMachine(TypedDict):
    hardware: str
    kind: Annotated[str, "what its times are: bound, transferred or calibrated"]
    missing: Annotated[Sequence[str], "figures that a transferred time would need"]


class HardwareCheckJson(TypedDict):
    """What `ironlaw hardware check --json` writes"""

    machines: Sequence[CheckedMachine]


class WorkloadKind(TypedDict):
    flops: float
    bytes: float
    kernels: int


class WorkloadOp(TypedDict):
    name: Annotated[str, "name of the first, where several are alike"]
    kind: str
    output: Sequence[float]
    flops: float
    read: float
    written: float


class AlikeOps(WorkloadOp):
    times: int


class WorkloadTotals(TypedDict):
    slug: str
    family: str
    dtype: str
    params: int
    flops: Annotated[float, "matrix products, convolutions and attention"]
    bytes: Annotated[float, "bytes that cross memory, operator by operator"]
    kernels: int
    intensity: Annotated[float, "operations per byte"]


class WorkloadVariant(WorkloadTotals):
    batch: int


class WorkloadJson(WorkloadTotals):
    """What `ironlaw workload NAME --json` writes"""

    name: str
    source: str
    date: str
    settings: Annotated[dict[str, Any], "what it was built with"]
    all_flops: Annotated[float, "with element-wise work"]
    read: float
    written: float
    weight_bytes: float
    cache_bytes: float
    kinds: Annotated[dict[str, WorkloadKind], "work by kind of operator"]
    heaviest: Annotated[Sequence[AlikeOps], "operators of one shape, most work first"]
    variants: Annotated[Sequence[WorkloadVariant], "where several batches were asked for"]
    ops: NotRequired[Annotated[Sequence[WorkloadOp], "every operator, with --ops"]]


class WorkloadsJson(TypedDict):
    """What `ironlaw workload --json` writes"""

    workloads: Annotated[Sequence[WorkloadTotals], "at each model's defaults"]


class ClaimReading(TypedDict):
    value: Amount
    agrees: bool
    premises: dict[str, Any]
    evidence: Sequence[str]


class ClaimMeasured(TypedDict):
    value: Amount
    low: Amount
    high: Amount
    unit: str
    source: str
    differs: str


class ClaimJson(TypedDict):
    """What `ironlaw claims ID --json` writes"""

    id: str
    says: str
    who: str
    source: str
    date: str
    value: Annotated[Amount, "the value as claimed"]
    upto: float | None
    unit: str
    relation: str
    tolerance: float
    expression: Annotated[str, "how it is computed"]
    verdict: Literal["holds", "refuted", "depends"]
    expected: str
    why: str
    evidence: Sequence[str]
    computed: Amount
    holds: bool
    judged_by: Literal["rows", "computed"]
    premise: str
    depends_on: Sequence[str]
    readings: Sequence[ClaimReading]
    measured: ClaimMeasured | None


class ClaimsJson(TypedDict):
    """What `ironlaw claims --json` writes"""

    claims: Annotated[Sequence[ClaimJson], "each as ironlaw claims ID has it"]


class ClaimsCheckJson(TypedDict):
    """What `ironlaw claims --check --json` writes"""

    claims: int
    readings: int
    problems: Annotated[Sequence[str], "where words, verdicts and rows disagree"]
