"""Requests, what they wait, and the devices they need."""

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from ironlaw.outputs.prediction_output import PriceJson, RefusalJson


class QueueRate(TypedDict):
    rate: float
    load: Annotated[float, "rate / capacity"]
    busy: float
    batch: Annotated[float, "mean batch"]
    mean_s: Annotated[float | None, "mean time; null where the queue grows without end"]
    p99_s: float | None
    in_flight: float | None
    growth_per_s: float


class QueueTarget(TypedDict):
    p99_s: float
    rate: Annotated[float, "the highest rate that meets the SLO"]


class QueueJson(TypedDict):
    """What `ironlaw queue --json` writes"""

    servers: int
    batch: int
    policy: str | None
    capacity: Annotated[float, "requests per second"]
    method: Annotated[str, "the formula or simulation that was used"]
    rates: Sequence[QueueRate]
    target: NotRequired[QueueTarget]
    variants: Annotated[
        Sequence[dict[str, Any]], "the same for each machine and mode, with hardware and mode, where several were asked for"
    ]


class LatencyPromise(TypedDict):
    ttft_s: float
    tbt_s: Annotated[float | None, "limit on every gap between tokens"]
    tpot_s: Annotated[float | None, "limit on a request's mean time per token after the first"]
    share: Annotated[float, "share of requests that must meet it"]


class ChoiceSpeculation(TypedDict):
    tokens: Annotated[int, "tokens proposed per step"]
    acceptance: float
    draft: str | None
    tokens_per_step: Annotated[float, "mean number of tokens accepted per step"]


class ChoicePools(TypedDict):
    prompts: Annotated[int, "number of replicas that only prefill"]
    decoders: int
    wire: str
    move_s_per_token: float


class ChoicePolicy(TypedDict):
    scheduling: str
    prompts: Annotated[str, "pieces: chunked beside decoding; or whole"]
    preemption: Annotated[str, "what happens to the youngest request when the cache is full"]
    prefix: Annotated[int, "tokens of the prefix that all prompts share"]
    speculation: ChoiceSpeculation | None
    pools: ChoicePools | None


class EngineJson(TypedDict):
    name: str
    step_s: Annotated[float, "added to each step"]
    request_s: Annotated[float, "for which its front is busy with each request"]
    first_s: Annotated[float, "added to a first token beside both"]
    start_s: Annotated[float, "from the command to the first request, without loading weights"]
    benchmark: Annotated[str | None, "the result that these follow"]
    sources: Sequence[str]


class LayoutJson(TypedDict):
    tensor: Annotated[int, "tensor parallelism"]
    stages: Annotated[int, "pipeline parallelism"]
    groups: Annotated[int, "attention data parallelism: groups that have requests of their own"]
    whole_experts: Annotated[bool, "expert parallelism: each expert lies whole on one device"]


class CliffJson(TypedDict):
    work_devices: Annotated[int, "devices that the work alone takes"]
    limit: Annotated[str, "the part of the SLO that takes the others: ttft, tbt or tpot"]
    at_s: Annotated[float | None, "a limit at which far fewer do; null where none that was tried does it"]
    devices: Annotated[int | None, "so many with that limit"]


class SafeJson(TypedDict):
    devices: int
    replicas: int
    prompts: Annotated[int, "replicas of them that only prefill"]
    layout: LayoutJson
    budget: int
    command: Annotated[str, "as in a choice"]


class CapacityChoice(ChoicePolicy):
    hardware: str
    basis: str
    devices: int
    replicas: int
    devices_per_replica: int
    box: str | None
    layout: LayoutJson
    arithmetic: str
    weights: str
    cache: str
    weight_bytes: float
    cache_bytes: float
    cache_peak: float
    slots: int
    budget: int
    most: int
    batch: float
    busy: float
    requests: int
    steady: Annotated[bool, "whether requests come for at least five times as long as one takes, at the largest rate too"]
    preempted: int
    reused_tokens: Annotated[int, "prompt tokens that were already in the cache"]
    ttft_s: Annotated[dict[str, float], "p50 and the SLO's percentile"]
    tbt_s: dict[str, float]
    tpot_s: dict[str, float]
    step_s: Annotated[float, "of a step's kernels on one device: 32 sequences that decode beside 32 tokens of a prompt"]
    step_alike_s: Annotated[float | None, "the same with all machines estimated alike; null where all rest on the same basis"]
    tokens_per_s: float
    goodput_per_s: float
    binds: str
    command: Annotated[
        str, "starts a replica; of separate pools a line for each and one for what stands before them; empty without an engine"
    ]
    largest_rate: Annotated[float | None, "requests per second that these devices take within the SLO; null where all come at once"]
    between: Annotated[
        dict[str, Sequence[float | None]],
        "low and high of the SLO's percentiles (seconds), tokens_per_s, devices, largest_rate; null for an end beyond what was tried",
    ]
    safe: Annotated[SafeJson | None, "the fewest that meet the SLO even if steps take as long as they may; null where none was found"]
    cliff: Annotated[CliffJson | None, "where the SLO takes many times the devices that the work does"]
    device_hours_per_million_tokens: float
    dollars_per_hour: float | None
    dollars_per_million_tokens: float | None
    joules_per_million_tokens: float


class FrontierPoint(TypedDict):
    hardware: str
    devices_per_replica: int
    batch: float
    tbt_s: float
    tokens_per_s_each: float
    dollars_per_million_tokens: float | None


class ParetoPoint(TypedDict):
    hardware: str
    basis: str
    layout: LayoutJson
    devices_per_replica: int
    pools: Annotated[str, "together, or apart: separate devices for prefill, which are counted"]
    batch: int
    tokens_per_s_user: float
    tokens_per_s_each: Annotated[float, "new tokens per second, per device"]
    dollars_per_million_tokens: float | None


class RunSlice(TypedDict):
    from_s: float
    busy: float
    batch: float
    cache: float
    waiting: float
    prompt_tokens_per_s: float
    step_s: float


class CapacityRun(TypedDict):
    hardware: str
    slices: Sequence[RunSlice]


class AnswerJson(TypedDict):
    hardware: str
    devices: Annotated[int, "to plan with: those of `safe` where it is sure"]
    sure: Annotated[bool, "whether they meet the SLO even if steps take as long as they may"]
    by: Annotated[str, "what the machines are ranked by: dollars, devices or rate"]
    ties: Annotated[Sequence[str], "machines that may turn out as good, as far as the intervals tell"]


class CapacityJson(TypedDict):
    """What `ironlaw capacity --json` writes"""

    model: str
    load: Annotated[dict[str, Any], "what arrives"]
    fleet: Annotated[int | None, "devices that were given; the choices then stand at the largest rate that they take"]
    engine: EngineJson
    promise: LatencyPromise
    answer: Annotated[AnswerJson | None, "what to bet on; null where no machine meets the SLO"]
    choices: Annotated[Sequence[CapacityChoice], "deployments that meet the SLO"]
    refused: Sequence[RefusalJson]
    fewest: str | None
    cheapest: str | None
    unpriced: Sequence[str]
    prices: dict[str, PriceJson]
    energy: Annotated[str, "what the joules are"]
    frontier: Sequence[FrontierPoint]
    pareto: Annotated[Sequence[ParetoPoint], "for each machine, speed for a user against throughput of a device in a steady state"]
    run: NotRequired[Annotated[CapacityRun, "with --simulate"]]


class ServiceRow(TypedDict):
    name: str
    calls: int
    alone_s: Annotated[float | None, "its own quantile, with fan-out, copies and retries"]
    without_s: Annotated[float | None, "the quantile of the whole if it took no time"]
    hedge_load: Annotated[float, "copies per call"]
    attempts: Annotated[float, "mean attempts per call"]
    availability: float
    fails: float


class RetryStorm(TypedDict):
    load: float
    retries: Annotated[int, "the largest number of retries of any service"]
    budget: Annotated[float | None, "retries per request, at most; null for no limit"]
    stuck: Annotated[bool, "whether a retry storm can sustain itself"]
    harmless_retries: Annotated[float, "retries per request below which the system always recovers"]
    nested_attempts: Annotated[int, "attempts for one request if every service called the next and all failed"]


class SloJson(TypedDict):
    """What `ironlaw slo --json` writes"""

    within_s: Annotated[float, "the SLO's limit on latency, at its percentile"]
    quantile: Annotated[float, "the SLO's percentile, as a share"]
    dependence: Annotated[float, "share of requests in which all services are slow together"]
    latency_s: Annotated[float | None, "the quantile of the whole; null if that share of requests is never answered"]
    over: Annotated[float, "share of requests slower than the SLO"]
    late: Annotated[bool, "whether the SLO on latency is missed"]
    sum_of_quantiles_s: float | None
    independent_s: Annotated[float | None, "the quantile if the services were independent"]
    together_s: Annotated[float | None, "the same if they were all slow together"]
    fails: Annotated[float, "share of requests whose retries all time out"]
    services: Sequence[ServiceRow]
    availability: float
    downtime_s_per_year: float
    availability_promised: float | None
    down: Annotated[bool, "whether the SLO on availability is missed"]
    storm: RetryStorm | None
    met: Annotated[bool, "whether every SLO is met"]
