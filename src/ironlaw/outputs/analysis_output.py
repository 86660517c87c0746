"""A model of the user's own: where its time goes, what to do next, what changed between two files."""

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from ironlaw.outputs.prediction_output import CostsJson, Interval, PredictionJson, RefusalJson, TooLargeJson, VariantJson


class ActionJson(TypedDict):
    """One change of a program; a part of verdict"""

    changes: Annotated[Sequence[str], "what the change does: compiled, graphs, fp16, batch …", {"minItems": 1}]
    title: str
    how: Annotated[str | None, "the line of code to write"]
    gain: Annotated[float, "how many times as fast it becomes"]
    interval: Annotated[Interval, "the range that should hold in four runs out of five; an open end is null, and so is that of a bound"]
    before_s: float
    after_s: Annotated[float, "time for the same number of items, after the change"]
    saved_s: float
    call_s: Annotated[float, "time of one call of the changed program"]
    per: Annotated[str, "what the time is for: a call, or an item where the batch changes"]
    basis: Annotated[str, "what the times rest on: bound, transferred or calibrated"]
    hardware: str
    memory: Annotated[Sequence[float], "bytes before and after"]
    build_s: Annotated[float | None, "how long compiling should take"]
    dollars_per_hour: Annotated[Sequence[float | None], "before and after, where the change is to another machine"]
    costs: Sequence[str]


class SlowerJson(ActionJson):
    """A change that makes it slower; a part of analyze"""

    reason: Annotated[str, "why it is slower"]


class VerdictJson(TypedDict):
    """Where the time goes and what to do next; a part of analyze"""

    finding: Annotated[str, "where the time goes, in one sentence"]
    hardware: str
    mode: str
    actions: Annotated[
        Sequence[ActionJson], "changes that surely help, each on top of those before it; then more devices, or another machine by itself"
    ]
    together: Annotated[float, "how many times as fast with all actions together, without changing the machine"]
    reason: Annotated[str | None, "why nothing is offered"]
    slower: Annotated[Sequence[SlowerJson], "changes that are certain to make it slower"]
    elsewhere: Annotated[Sequence[ActionJson], "every other machine that was tried"]
    unsure: Annotated[Sequence[ActionJson], "changes whose range includes no gain at all"]


class UnmatchedJson(TypedDict):
    """Operators of one name without a partner; a part of trace"""

    name: str
    count: Annotated[float, "how many times it runs in one call"]
    seconds: Annotated[float, "time of all of them together"]


class TracePair(TypedDict):
    name: str
    kind: str
    aten: Annotated[str, "the operator's name in the trace"]
    predicted_s: float
    measured_s: float
    gap_s: Annotated[float, "measured time minus predicted time"]
    why: Annotated[str, "what may explain the gap; empty where the two agree"]
    kernels: Sequence[str]


class TraceRank(TypedDict):
    """Where the time of one rank of a traced run went; a part of trace"""

    rank: int | None
    total_s: float
    computing_s: float
    communicating_s: Annotated[float, "between devices, while nothing computes"]
    other_rank_s: Annotated[float, "waiting in a collective for a rank that has not come yet; known where several traces are given"]
    data_s: Annotated[float, "idle until the input pipeline gave the next batch"]
    synchronising_s: Annotated[float, "idle because the host waited for the device and had nothing queued"]
    launching_s: Annotated[float, "idle until the host launched the next kernel"]
    hidden_s: Annotated[float, "communication behind computing"]


class TraceJson(TypedDict):
    """A profile joined with a prediction, operator by operator; a part of analyze and measure-model"""

    file: str
    device: Annotated[str, "the device's name in the trace; empty where the trace has none"]
    on_device: Annotated[bool, "whether the trace contains a device's kernels"]
    runs: Annotated[int, "how many runs of the model the trace contains"]
    warning: Annotated[str | None, "set where trace and prediction are of different devices"]
    hardware: Annotated[str, "the machine of the prediction"]
    predicted_s: Annotated[float, "predicted device time"]
    measured_s: float
    pairs: Sequence[TracePair]
    missing: Annotated[Sequence[UnmatchedJson], "predicted, not in the trace"]
    extra: Annotated[Sequence[UnmatchedJson], "in the trace, not predicted"]
    ranks: Annotated[Sequence[TraceRank], "where the time went; empty for a trace without kernels"]


class CapturedInput(TypedDict):
    name: str
    shape: Sequence[int]
    dtype: str


class StoredWeights(TypedDict):
    format: str
    bytes: float
    kept: Annotated[Sequence[str], "weights that stay as they are"]


class LargestSize(TypedDict):
    hardware: str
    what: Annotated[str, "which size grows: batch or tokens"]
    now: int
    largest: int
    model_limit: Annotated[int | None, "the longest sequence that the model allows"]


class PhaseRow(TypedDict):
    hardware: str
    mode: str
    basis: str
    batch: int
    devices: Annotated[int, "the smallest number of devices that hold it"]
    kv_bytes: float
    weight_bytes: float
    largest_batch: int | None
    fits: bool
    ttft_s: Annotated[float | None, "time to first token"]
    ttft_interval: Interval
    prefill_bound: str | None
    prompt_tokens_per_s: float | None
    token_s: Annotated[float | None, "time per token"]
    token_interval: Interval
    decode_bound: str | None
    tokens_per_s: float | None


class PhaseOperator(TypedDict):
    name: str
    kind: str
    count: int
    seconds: float
    flops: float
    bytes: float
    regime: str


class Phases(TypedDict):
    prompt: Annotated[int | None, "tokens of the prompt"]
    context: Annotated[int | None, "tokens in the cache"]
    kv_bytes_per_token: float
    rows: Annotated[Sequence[PhaseRow], "by batch, machine and mode"]
    operators: Annotated[dict[str, Sequence[PhaseOperator]], "by phase; the same op of all layers together"]
    before: Annotated[Sequence[PredictionJson], "predictions of the phase before the last"]


class CompilingPays(TypedDict):
    hardware: str
    mode: str
    saved_per_call_s: float
    compile_s: float | None
    compile_s_is_predicted: bool
    calls: Annotated[float | Literal["never"] | None, "calls until compiling has paid for itself"]
    days: Annotated[float | Literal["never"] | None, "days until then; only with --per-day"]


class RealStepsJson(TypedDict):
    """Optimiser steps of a script that was run on this machine; a part of analyze"""

    steps: Annotated[int, "how many were timed"]
    seconds: Annotated[float, "mean time of a step"]
    device: Annotated[str, "the GPU's name, or cpu"]
    peak_bytes: Annotated[float | None, "the most memory that PyTorch held on the GPU"]


class AnalyzeJson(TypedDict):
    """What `ironlaw analyze --json` writes"""

    target: Annotated[str, "the target as it was given"]
    dtype: Annotated[str, "number format"]
    ops: Annotated[int, "how many operators were captured"]
    training: Annotated[bool, "whether it is a training step"]
    inputs: Annotated[Sequence[CapturedInput], "what the call was captured with"]
    unknown: Annotated[dict[str, int], "operators that ironlaw does not know, and how often each occurs"]
    notes: Annotated[Sequence[str], "what capturing had to assume"]
    predictions: Annotated[Sequence[PredictionJson], "by machine and mode"]
    verdict: VerdictJson
    weights: Annotated[StoredWeights | None, "where weights are stored in fewer bits"]
    variants: Annotated[Sequence[VariantJson], "where several batches or storages were asked for"]
    largest: Annotated[Sequence[LargestSize], "the largest batch and sequence that fit"]
    refused: Annotated[Sequence[RefusalJson], "machines that can't run it"]
    too_large: Annotated[Sequence[TooLargeJson], "machines whose memory is too small"]
    language: NotRequired[Annotated[Phases, "a language model's phases, where they were asked for"]]
    breakeven: Annotated[Sequence[CompilingPays], "when compiling pays"]
    trace: NotRequired[Annotated[TraceJson, "with --trace"]]
    real: NotRequired[Annotated[RealStepsJson, "with --real"]]
    html: NotRequired[Annotated[str, "where the report was written"]]
    chrome_trace: NotRequired[Annotated[str, "where the predicted timeline was written"]]
    costs: NotRequired[Annotated[CostsJson, "with --price or --latency"]]


class DiffOperator(TypedDict):
    name: str
    kind: str
    count: Annotated[int, "of that name and kind"]
    old_s: Annotated[float | None, "device time; null where only the new file has it"]
    new_s: Annotated[float | None, "device time; null where only the old file has it"]
    change_s: Annotated[float, "new minus old"]


class DiffRow(TypedDict):
    hardware: str
    mode: str
    batch: Annotated[int | None, "where several were asked for"]
    weights: Annotated[str | None, "how they are stored, where several were asked for"]
    old_s: Annotated[float, "time of a call, as `on` says"]
    new_s: float
    change: Annotated[float, "new / old − 1"]
    old_bytes: Annotated[float, "peak memory"]
    new_bytes: float
    unfit: Annotated[bool, "true if it fitted before and no longer does"]
    over: Annotated[bool, "true if this row makes the comparison fail"]
    operators: Annotated[Sequence[DiffOperator], "whose device time changed, the largest change first"]


class DiffJson(TypedDict):
    """What `ironlaw diff --json` writes"""

    compares: Annotated[str, "the schema of both files"]
    model: Annotated[str, "the model's name"]
    old: Annotated[str, "the old file"]
    new: Annotated[str, "the new file"]
    on: Annotated[str, "which time is compared: wall, of a call, or device, of its kernels"]
    max_memory_bytes: Annotated[float | None, "what a call may need before the comparison fails"]
    fail_over: Annotated[float | None, "the share by which a time may grow before the comparison fails"]
    failed: Annotated[bool, "true if a time grew by more, or something needs too much memory; the exit code is then 1"]
    rows: Annotated[Sequence[DiffRow], "by machine, mode and batch; the largest change first"]
    notes: Annotated[Sequence[str], "what else differs, and what is missing"]
