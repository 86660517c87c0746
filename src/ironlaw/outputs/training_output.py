"""A training step: its memory, its layout over devices, the privacy it proves."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict


class MemoryRow(TypedDict):
    row: str
    at_peak_bytes: float
    most_bytes: float


class MemoryMachine(TypedDict):
    hardware: str
    usable_bytes: float
    fits: bool
    headroom_bytes: float
    static_fits: bool
    largest_batch: int | None


class MemoryVariant(TypedDict):
    batch: int
    static_bytes: float
    kept_bytes: float
    peak_bytes: float
    fits: Annotated[dict[str, bool], "whether it fits, by machine"]


class MemoryLever(TypedDict):
    lever: str
    peak_bytes: float
    frees_bytes: float


class MemoryJson(TypedDict):
    """What `ironlaw memory --json` writes"""

    target: str
    parameters: float
    batch: int
    seq: int | None
    recipe: str
    optimiser: str
    checkpoint: Annotated[int, "number of segments that are recomputed"]
    loss_chunks: int
    accumulate: int
    attention: str
    zero_stage: int
    devices: int
    offload: bool
    lora: Annotated[int, "rank of the adapters; 0: all weights are trained"]
    four_bits: Annotated[bool, "whether the frozen weights lie in NF4"]
    trained: Annotated[float, "number of parameters that are trained"]
    weight_bytes: float
    static_bytes: Annotated[float, "weights, gradients and the optimiser's state"]
    kept_bytes: Annotated[float, "activations kept for the backward pass"]
    peak_bytes: float
    peak_phase: str
    peak_op: str
    rows: Sequence[MemoryRow]
    phases: Annotated[dict[str, float], "the peak of each phase"]
    machines: Sequence[MemoryMachine]
    variants: Annotated[Sequence[MemoryVariant], "where several batches were asked for"]
    levers: Annotated[Sequence[MemoryLever], "what each change frees, most first"]


class ClusterLayout(TypedDict):
    tensor: int
    pipeline: int
    context: int
    data: int
    expert: int
    virtual: int
    micro: int
    recompute: str
    zero: int
    replicate: Annotated[int, "copies of what ZeRO shards (HSDP)"]
    offload: Annotated[Sequence[str], "what lies in the host's memory"]
    label: str
    micro_batches: int
    step_s: float
    step_range_s: Annotated[Sequence[float], "where four of five published runs would lie"]
    mfu_range: Annotated[Sequence[float], "the same for mfu"]
    parts_s: Annotated[dict[str, float], "parts of the step"]
    tokens_per_s: float
    mfu: float
    hfu: Annotated[float, "like mfu, with recomputed work"]
    memory_bytes: float
    memory_most_bytes: Annotated[float, "what an allocator may take of the device for that"]
    fits: bool
    memory: dict[str, float]


class TrafficRow(TypedDict):
    parallelism: str
    wire: Annotated[str | None, "null where the box has none"]
    inside_box: bool
    bytes: float


class ClusterJson(TypedDict):
    """What `ironlaw cluster --json` writes"""

    model: str
    parameters: float
    devices: int
    box: str
    hardware: str
    basis: str
    batch_tokens: int
    seq: int
    batch: int
    dtype: str
    stack: Annotated[str, "what trains: a slug of registry/stack"]
    mode: Annotated[str, "eager or compiled"]
    usable_bytes: Annotated[float, "of a device, less what is reserved"]
    device_bytes: Annotated[float, "what a device can hold when it is filled to the last byte"]
    reserved_bytes: Annotated[dict[str, float], "left free of a device, by what it is for"]
    layouts_that_fit: int
    layouts: Annotated[Sequence[ClusterLayout], "the fastest first"]
    command: Annotated[str, "starts the first layout in each box"]
    traffic: Annotated[Sequence[TrafficRow], "bytes sent in a step of the first layout"]
    failures: Annotated[dict[str, float], "of the whole run: mean times, checkpoints, goodput"]
    costs: Annotated[dict[str, Any], "what a million tokens cost"]
    doubling: Annotated[dict[str, Any] | None, "the first layout on twice the devices"]
    published_over_predicted: Annotated[Sequence[float], "between which four of five published runs came out, over their prediction"]
    published_on_machine: Annotated[bool, "whether any of those runs was on this machine; False with experts too: ranges are wider"]
    sources: Sequence[str]


class PrivacyAccountant(TypedDict):
    name: Annotated[str, "basic, advanced, moments, rdp or gdp"]
    epsilon: Annotated[float | None, "null where it proves nothing"]
    bound: Annotated[bool, "false for the limit of many steps, which may lie below the truth"]
    order: Annotated[float | None, "the Rényi order that proves it"]


class PrivacyAttack(TypedDict):
    advantage: Annotated[float, "upper bound: true alarms minus false ones"]
    accuracy: Annotated[float, "upper bound: share of correct guesses when half of the records were in the data"]


class EpsilonPromise(TypedDict):
    epsilon: float
    met: bool
    spent: Annotated[float, "share of the budget that is spent"]
    noise_needed: Annotated[float | None, "the least noise multiplier that meets it; null if none is proven to"]
    steps_allowed: Annotated[int, "steps that the budget allows at the designed noise"]


class PrivacyChange(TypedDict):
    change: str
    epsilon: float


class PrivacyJson(TypedDict):
    """What `ironlaw privacy --json` writes"""

    records: int
    rate: Annotated[float, "share of the records that a step draws"]
    noise: Annotated[float, "noise multiplier: deviation over clip norm"]
    steps: Annotated[int, "steps of all runs together"]
    steps_of_one_run: int
    runs: int
    delta: float
    delta_below_one_record: Annotated[bool, "whether δ is below one over the records"]
    epsilon: Annotated[float, "by the tightest bound: Rényi with the conversion of 2020"]
    accountants: Sequence[PrivacyAccountant]
    attack: PrivacyAttack
    promise: EpsilonPromise | None
    changes: Annotated[Sequence[PrivacyChange], "each change alone, all else as designed"]
