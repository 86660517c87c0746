"""Answers that follow from a law or a formula alone."""

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from ironlaw.outputs.prediction_output import RefusalJson


class RooflinePoint(TypedDict):
    hardware: str
    level: Annotated[str, "the level of memory"]
    bound: Annotated[bool, "always true"]
    intensity: Annotated[float, "operations per byte"]
    ridge: float
    peak: float
    attainable: Annotated[float, "operations per second"]
    regime: str
    mfu: Annotated[float, "attainable over peak"]
    seconds: Annotated[float, "lower bound of the time"]


class RooflineJson(TypedDict):
    """What `ironlaw roofline --json` writes"""

    flops: float
    bytes: float
    dtype: str
    work: Literal["matrix", "vector"]
    points: Sequence[RooflinePoint]
    refused: Sequence[RefusalJson]


class Sensitivity(TypedDict):
    compile_s: float
    eager_rate: float
    compiled_rate: float


class BreakevenJson(TypedDict):
    """What `ironlaw breakeven --json` writes"""

    pays: bool
    calls: Annotated[float | Literal["never"], "calls until compiling has paid for itself"]
    saved_per_call_s: float
    days: NotRequired[Annotated[float | Literal["never"], "days until then; only with --per-day"]]
    net_saving_s: NotRequired[Annotated[float, "time saved after that many days; only with --days"]]
    sensitivity: Annotated[Sensitivity | None, "by how many percent `calls` changes when an input grows by one percent"]
    strongest: Annotated[str | None, "the input that moves it most"]


class ScalePoint(TypedDict):
    workers: float
    speedup: float
    model: float
    karp_flatt: float | None


class ScaleRow(TypedDict):
    workers: float
    speedup: float
    efficiency: float
    extrapolated: bool
    serial_share_of_this_run: float | None


class ScaleTarget(TypedDict):
    speedup: float
    workers: float | None
    at: float
    halvings: Annotated[float | None, "how often the serial work must be halved to reach the target"]


class ScaleJson(TypedDict):
    """What `ironlaw scale --json` writes"""

    basis: Annotated[str, "given, or fitted to points"]
    sigma: Annotated[float, "serial share"]
    kappa: Annotated[float, "cost of each pair of workers"]
    sigma_interval: Sequence[float] | None
    kappa_interval: Sequence[float] | None
    worst_misfit: float | None
    ceiling: Annotated[float | None, "the speed-up that no number of workers exceeds; null if there is no ceiling"]
    best_workers: float | None
    best_speedup: float | None
    points: Annotated[Sequence[ScalePoint], "the measured points"]
    workers: Annotated[Sequence[ScaleRow], "the numbers of workers that were asked for"]
    target: NotRequired[ScaleTarget]


class Lever(TypedDict):
    input: str
    lever: Annotated[float, "d ln readout / d ln input"]
    low: Annotated[float, "the readout with the input divided by 1.1"]
    high: Annotated[float, "the readout with the input multiplied by 1.1"]


class Readout(TypedDict):
    name: str
    value: float
    levers: Annotated[Sequence[Lever], "the widest first; inputs that do nothing are left out"]


DialFix = TypedDict("DialFix", {"dial": str, "from": float, "to": float})


class LimitRow(TypedDict):
    readout: str
    kind: Annotated[str, "whether the limit is a maximum (most) or a minimum (least)"]
    limit: float
    margin: Annotated[float, "room to the limit, over the limit; below 0 it is broken"]
    fix: Annotated[DialFix | None, "the cheapest change of a single dial that breaks no limit that holds now"]
    fix_alone: Annotated[DialFix | None, "the same, ignoring the other limits"]


class LeversJson(TypedDict):
    """What `ironlaw levers --json` writes"""

    values: Annotated[dict[str, float], "every input and formula, in SI"]
    readouts: Sequence[Readout]
    limits: Sequence[LimitRow]
    met: Annotated[bool, "whether all limits hold"]
    together: Annotated[DialFix | None, "the change of a single dial with which all limits hold"]


class QuantiseModel(TypedDict):
    name: str
    parameters: float
    kept: Annotated[float, "parameters that stay in FP16"]
    fp16_bytes: float


class PrunedStorage(TypedDict):
    csr_32: float
    csr_16: float
    bitmap: float
    two_of_four: float
    csr_32_pays_from: float
    csr_16_pays_from: float


class QuantiseRow(TypedDict):
    bits: int
    levels: float
    step: float
    noise: float
    sqnr_db: float
    next_bit: Annotated[float | None, "the factor by which one bit fewer multiplies the noise"]
    stored_bits: Annotated[float, "bits per weight, with its share of the scales"]
    bytes: NotRequired[Annotated[float, "bytes of the model"]]
    pruned: NotRequired[Annotated[PrunedStorage, "as shares of the dense bytes"]]


class QuantiseJson(TypedDict):
    """What `ironlaw quantise --json` writes"""

    model: QuantiseModel | None
    group: Annotated[int | None, "weights that share a scale"]
    pruned: Annotated[float | None, "the share that is zero"]
    rows: Sequence[QuantiseRow]


class FrontierRow(TypedDict):
    name: str
    cost: float
    harm: float
    on_frontier: bool
    dominated_by: str | None


class QuantiseFrontierJson(TypedDict):
    """What `ironlaw quantise --frontier --json` writes"""

    points: int
    on_frontier: int
    rows: Sequence[FrontierRow]


class FuseTotals(TypedDict):
    kernels: int
    bytes: float


class FuseGroup(TypedDict):
    name: str
    ops: Sequence[str]
    patterns: Sequence[str]
    reason: str


class FuseVariant(TypedDict):
    batch: int
    before: dict[str, float]
    after: dict[str, float]


class FuseVerdict(TypedDict):
    producer: str
    consumer: str
    fused: bool
    pattern: str
    reason: str


class FuseJson(TypedDict):
    """What `ironlaw fuse --json` writes"""

    workload: str
    dtype: str
    before: FuseTotals
    after: FuseTotals
    groups: Annotated[Sequence[FuseGroup], "one kernel each"]
    variants: Annotated[Sequence[FuseVariant], "where several batches were asked for"]
    verdicts: NotRequired[Annotated[Sequence[FuseVerdict], "with --verbose"]]
