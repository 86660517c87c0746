"""What was measured, how much it covers, and how predictions compare."""

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from ironlaw.outputs.analysis_output import TraceJson


class MeasureLevel(TypedDict):
    name: str
    size: float
    bandwidth: float
    step_seen: bool


class CurvePoint(TypedDict):
    working_set: float
    bandwidth: float


class MinuteJson(TypedDict):
    timed: Annotated[int, "of the operators that tell most about models"]
    cases: Annotated[int, "how many of those there are"]
    now: Annotated[float, "how far off operators of models are on average"]
    then: Annotated[float, "the same after another minute"]


class MeasureJson(TypedDict):
    """What `ironlaw measure --json` writes"""

    slug: str
    machine: dict[str, Any]
    software: dict[str, Any]
    peaks: dict[str, float]
    emulated: Annotated[Any, "formats for which the machine has no hardware"]
    bandwidth: float
    levels: Sequence[MeasureLevel]
    curve: Annotated[Sequence[CurvePoint], "bandwidth over the working set"]
    launch: float
    floor: float
    launches: dict[str, float]
    compile_s: float | None
    notes: Sequence[str]
    noise: Annotated[dict[str, Any], "how quiet the machine was"]
    minute: Annotated[MinuteJson | None, "null where no operators were chosen"]
    rows: int
    curves: Sequence[str]
    stored: Sequence[str | None]


class MeasureHostJson(TypedDict):
    """What `ironlaw measure --host --json` writes"""

    host: Annotated[dict[str, Any], "the host's figures as they are stored"]
    noise: Annotated[dict[str, Any], "how quiet the machine was"]
    stored: str


class MeasureTraceJson(TypedDict):
    """What `ironlaw measure --trace FILE --json` writes"""

    device: Annotated[str, "as the trace names it"]
    datasheet: Annotated[str, "the machine of the registry that it is"]
    bandwidth: Annotated[float | None, "null where no stream in the trace is longer than the caches"]
    rates: Annotated[dict[str, float], "by number format"]
    launches: Annotated[dict[str, float], "by kind of operator; an upper bound"]
    stored: Sequence[str]


class MeasureExportJson(TypedDict):
    """What `ironlaw measure --export FILE --json` writes"""

    file: str
    holds: Annotated[str, "what the file holds, in words"]
    bytes: int


class MeasuredOperator(TypedDict):
    kind: str
    count: Annotated[int, "how often it occurs in the model"]
    share: Annotated[float, "of the model's predicted time"]
    predicted_s: float
    measured_s: float


class PredictedTime(TypedDict):
    seconds: float
    busy_s: Annotated[float, "the device's part"]
    interval: Annotated[Sequence[float | None], "four runs in five"]


class AnotherMinute(TypedDict):
    """The average sd of log(measured / predicted) of the model's operators, now and after as much time again"""

    now: float
    then: float


class MeasureForJson(TypedDict):
    """What `ironlaw measure --for TARGET --json` writes"""

    target: str
    before: PredictedTime
    after: PredictedTime
    operators: Annotated[Sequence[MeasuredOperator], "those that were measured"]
    found: Annotated[int, "how many different operators the model has"]
    share: Annotated[float, "of the model's predicted time that was measured"]
    failed: Annotated[dict[str, str], "kinds that can't be called alone here, and why"]
    disturbed: Annotated[int, "left out because other processes used the machine"]
    another_minute: Annotated[AnotherMinute | None, "null where all were measured"]
    interrupted: bool
    stored: str


class MeasureLoaderJson(TypedDict):
    """What `ironlaw measure --loader FILE.py:NAME --json` writes"""

    loader: str
    rate: Annotated[float, "samples per second, after the first batch"]
    batch: int
    batches: int
    first_s: Annotated[float, "until the first batch came"]


class MeasuredTerm(TypedDict):
    term: str
    predicted_s: float
    measured_s: float
    operators: int


class MeasureModelJson(TypedDict):
    """What `ironlaw measure TARGET --json` writes"""

    target: str
    device: str
    dtype: str
    parameters: int
    runs: Annotated[Sequence[dict[str, Any]], "by mode: the row of evidence, what is predicted for it and the gap; or the error"]
    reason: Annotated[str | None, "why there is no prediction"]
    stored: str | None
    left_out: Annotated[Sequence[str], "what was not stored, and why"]
    terms: NotRequired[Annotated[Sequence[MeasuredTerm], "the three terms of the eager run"]]
    operators: NotRequired[TraceJson]


class UncoveredShape(TypedDict):
    shape: str
    dtype: str
    share: float
    distance: Annotated[float | None, "distance to the nearest measured operator; null where there is none"]
    place: Annotated[str, "relative to what was measured: inside, near, outside or unknown"]


class UncoveredFamily(TypedDict):
    kind: str
    family: Annotated[str, "name of the family or the curve"]
    share: Annotated[float, "share of the device time"]
    outside: Annotated[float, "part of that share that lies outside what was measured"]
    count: Annotated[int, "number of shapes"]
    examples: Sequence[UncoveredShape]


class CoverageMachine(TypedDict):
    hardware: str
    mode: str
    batch: Annotated[int | None, "null where none was asked for"]
    shares: Annotated[dict[str, float], "shares of the device time: inside, near, outside, unknown"]
    operators: int
    unpredicted: Annotated[int, "operators without a prediction, not in the shares"]
    uncovered: Annotated[Sequence[UncoveredFamily], "families that lie outside what was measured, the heaviest first"]


class CoverageJson(TypedDict):
    """What `ironlaw coverage --json` writes"""

    target: Annotated[str, "the target as it was given, or corpus"]
    mode: Annotated[str, "as asked: several are joined by commas, and each of machines has its own"]
    machines: Sequence[CoverageMachine]


class ValidateRow(TypedDict):
    machine: str
    kind: str
    name: str
    mode: str
    predicted: Annotated[float, "seconds"]
    measured: Annotated[float, "seconds"]
    bound: Annotated[float, "seconds"]
    kernels: float
    measured_kernels: float | None
    source: str
    error: Annotated[float, "predicted / measured − 1"]
    bound_error: float


class ValidateGain(TypedDict):
    machine: str
    timed: Annotated[str, "how the two were timed: by turns, or apart"]
    change: Annotated[str, "the change to the program; `first action` is what would be offered first"]
    count: int
    mean: Annotated[float, "mean absolute error of the ratio of wall times"]
    worst: float
    bias: float
    device: Annotated[float | None, "mean absolute error of the ratio of device times"]
    inside: Annotated[int, "how many lie inside their interval"]
    right: Annotated[int, "how many have the right sign"]
    offered: Annotated[int, "how many are certain to gain or lose"]
    right_offered: int


class ValidateSummary(TypedDict):
    machine: str
    kind: str
    count: int
    mean: float
    median: float
    worst: float
    bias: float
    bound: float


class ValidateClaim(TypedDict):
    id: str
    claimed: float | None
    computed: float | None
    verdict: str
    agrees: bool


class ValidateJson(TypedDict):
    """What `ironlaw validate --json` writes"""

    changed: NotRequired[Annotated[Sequence[str], "with --history"]]
    rows: Sequence[ValidateRow]
    gains: Annotated[Sequence[ValidateGain], "what changing a program gained, predicted beside measured"]
    summary: Sequence[ValidateSummary]
    claims: Sequence[ValidateClaim]
