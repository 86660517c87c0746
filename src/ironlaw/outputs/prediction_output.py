"""How long a model takes on machines, and what it costs there."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

Interval = Sequence[float | None] | None  # an open end is null


class RefusalJson(TypedDict):
    """A machine that was left out, and why; a part of others"""

    hardware: str
    reason: str


class PriceJson(TypedDict):
    """The price of one device for an hour; a part of others"""

    dollars_per_hour: float
    vendor: str
    source: str
    date: str


class PredictionHost(TypedDict):
    slug: Annotated[str | None, "its name in the registry, where it has one"]
    name: Annotated[str, "full name"]
    estimate: Annotated[bool, "whether its figures are an estimate"]
    launch_s: Annotated[float, "time to launch an element-wise op; any op, where --launch gave it"]
    launch_is_given: Annotated[bool, "whether --launch gave it"]
    entry_s: Annotated[float, "what entering compiled code costs"]
    graph_start_s: Annotated[float, "what starting a CUDA graph costs"]
    source: Annotated[str | None, "where the figures come from"]
    date: Annotated[str | None, "when they were taken"]
    caveats: Annotated[Sequence[str], "warnings about them"]


class OutsideShare(TypedDict):
    operator: Annotated[str, "kind of operator"]
    share: Annotated[float, "share of the device time"]


class PredictionMemory(TypedDict):
    weights: float
    kv_cache: float
    activations: Annotated[float, "activations at their peak"]
    workspace: Annotated[float, "what cuBLAS keeps for itself"]
    total: float
    segments: Annotated[float, "what PyTorch's allocator takes for it, with what lies free between tensors"]
    capacity: Annotated[float, "as the maker counts it"]
    reserved: Annotated[float, "what driver, runtime and system keep"]
    usable: Annotated[float, "what is left for the model"]


class Fp32Products(TypedDict):
    asked: str
    in_tf32: Annotated[Sequence[str], "kinds of ops computed in TF32"]


class PredictionOp(TypedDict):
    name: Annotated[str, "its place in the model"]
    kind: Annotated[str, "what it is; parts of a fused one are joined by +"]
    seconds: Annotated[float, "device time"]
    data_s: float
    compute_s: float
    floor_s: Annotated[float, "the least time of any kernel"]
    launch_s: Annotated[float, "time that the host takes to launch it"]
    kernels: float
    term: Annotated[Literal["memory", "compute", "overhead"], "the largest of its parts"]
    regime: Annotated[Literal["memory", "compute"], "its side of the ridge"]
    interval: Annotated[Interval, "range of `seconds`"]
    measured: Annotated[Literal["inside", "near", "outside", "unknown"] | None, "its place among what was measured; null where nothing was"]
    flops: float
    bytes: float


class PredictionJson(TypedDict):
    """One model on one machine in one mode; a part of predict and analyze, and what Prediction.to_dict() gives"""

    schema: Literal["ironlaw-prediction/1"]
    workload: Annotated[str, "the model's name"]
    dtype: Annotated[str, "the number format of the graph"]
    hardware: Annotated[str, "the machine's slug"]
    host: Annotated[PredictionHost, "the host that launches kernels"]
    mode: Annotated[Literal["eager", "compiled", "graphs", "eager_graphs"], "how it is run"]
    dispatch: Annotated[Literal["queued", "synchronous"], "whether the host runs ahead"]
    label: Annotated[str, "bound, transferred, calibrated or partly calibrated"]
    basis: Annotated[Literal["bound", "transferred", "calibrated"], "what the time rests on"]
    calibrated: Annotated[bool, "whether it rests on measurements of this machine"]
    seconds: Annotated[float, "wall time of one call"]
    overlap: Annotated[Sequence[float], "if data and compute overlapped fully, and if not at all; not an error bar"]
    data_s: Annotated[float, "moving data"]
    compute_s: Annotated[float, "arithmetic"]
    overhead_s: Annotated[float, "launches that no kernel covers, and the fixed cost of kernels"]
    busy_s: Annotated[float, "time in which the device has work"]
    host_s: Annotated[float, "what the host spends on launches"]
    bound: Annotated[Literal["memory", "compute", "overhead"], "the largest of the three"]
    utilization: Annotated[float, "busy_s over seconds"]
    mfu: Annotated[float, "the share of peak that the products reach"]
    kernels: Annotated[float, "how many are launched"]
    interval: Annotated[Interval, "the range of `seconds` in four runs out of five; an open end is null; null for a bound"]
    device_interval: Annotated[Interval, "the same for busy_s"]
    host_interval: Annotated[Interval, "the same for host_s"]
    measured_shares: Annotated[
        dict[str, float] | None, "the shares of the device time inside, near and outside what was measured, and unknown"
    ]
    outside: Annotated[Sequence[OutsideShare], "operators beyond what was measured"]
    flops: Annotated[float, "matrix products, convolutions and attention"]
    bytes: Annotated[float, "bytes that cross memory"]
    params: Annotated[float, "parameters"]
    memory: Annotated[PredictionMemory, "bytes"]
    fits: Annotated[bool, "whether total is at most usable"]
    energy_j: Annotated[float, "rated power over the whole time"]
    energy_is_estimate: bool
    sources: Annotated[Sequence[str], "where every figure comes from"]
    fp32: Annotated[Fp32Products, "the format in which products of FP32 tensors are computed"]
    ops: NotRequired[Annotated[Sequence[PredictionOp], "the operators, those that take most device time first"]]


class VariantJson(TypedDict):
    """The same model at one batch and storage of weights, on one machine in one mode; a part of predict and analyze"""

    batch: int | None
    weights: Annotated[str, "own, int8 or int4"]
    hardware: str
    mode: str
    seconds: Annotated[float, "wall time of one call"]
    memory: Annotated[float, "bytes"]
    fits: bool


class GroupStage(TypedDict):
    ops: Annotated[Sequence[int], "numbers of the first and the last operator"]
    bytes: float
    seconds: float
    sends_bytes: float


class MachineGroup(TypedDict):
    devices: int
    box: Annotated[str | None, "the server that holds them"]
    seconds: Annotated[float, "time of one pass"]
    transfer_s: Annotated[float, "part of it that goes to transfers between devices"]
    interval_s: Annotated[float, "time between the ends of two passes when every stage is busy"]
    stages: Sequence[GroupStage]


class TooLargeJson(TypedDict):
    """A machine whose memory is too small, and how many of them hold the model; a part of predict and analyze"""

    hardware: str
    reason: Annotated[str, "in words, with a next step"]
    group: Annotated[MachineGroup | None, "the fewest of these machines that hold it, in stages one after the other"]


class OfferJson(TypedDict):
    """One machine, mode and batch and what it costs; a part of costs"""

    hardware: str
    mode: str
    batch: int | None
    weights: str
    basis: str
    seconds: Annotated[float, "a call"]
    likely_within_s: Annotated[float | None, "the upper end of its interval"]
    meets: Annotated[bool | None, "whether it meets the latency"]
    dollars_per_million: float | None
    joules_per_million: float
    over_s: NotRequired[Annotated[float, "by how much even the quickest misses the latency; 0 if it does not"]]


class CostsJson(TypedDict):
    """What a million samples or tokens cost on each machine; a part of predict and analyze"""

    per: Annotated[str, "token, prompt token, sample or call"]
    latency_s: Annotated[float | None, "what --latency asks for"]
    basis: Annotated[str | None, "what all times rest on, where machines differ in that"]
    rows: Annotated[Sequence[OfferJson], "every machine, mode and batch that fits"]
    best: Annotated[Sequence[OfferJson], "the cheapest of each machine"]
    cheapest: Annotated[OfferJson | None, "the cheapest of all"]
    unpriced: Annotated[Sequence[str], "machines without a price"]
    prices: dict[str, PriceJson]
    energy: Annotated[str, "what the joules are"]


class PredictJson(TypedDict):
    """What `ironlaw predict --json` writes"""

    workload: Annotated[str, "the model's name"]
    dtype: Annotated[str, "number format"]
    settings: Annotated[dict[str, Any], "batch, seq, phase and what else the model was built with"]
    predictions: Annotated[Sequence[PredictionJson], "by machine and mode"]
    variants: Annotated[Sequence[VariantJson], "where several batches were asked for"]
    refused: Annotated[Sequence[RefusalJson], "machines that can't run it"]
    too_large: Annotated[Sequence[TooLargeJson], "machines whose memory is too small"]
    costs: NotRequired[Annotated[CostsJson, "with --price or --latency"]]
    chrome_trace: NotRequired[Annotated[str, "where the predicted timeline was written"]]
