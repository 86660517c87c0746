"""What `ironlaw capacity` and `ironlaw cluster` find, at many points.

Their own options are the parameters, and columns are named as in their JSON. Where a result has an option's name, it is what was chosen,
not what was asked, and has a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.registry.boxes import boxes
from ironlaw.registry.engines import engines
from ironlaw.registry.traces import traces
from ironlaw.studies.study_question import Question, named
from ironlaw.systems.fields import Parameter, parameters
from ironlaw.systems.question import Result
from ironlaw.systems.questions.capacity import Capacity
from ironlaw.systems.questions.cluster import Cluster
from ironlaw.systems.questions.serving import Serving
from ironlaw.systems.questions.training_layout import TrainingLayout
from ironlaw.systems.serving.deployments import STORED

NAMES: dict[str, Callable[[], Iterable[str]]] = {  # of a list that grows: shown with the parameter
    "engine": engines, "trace": traces, "weights": lambda: STORED, "cache": lambda: STORED, "box": boxes,
}  # fmt: skip
TYPES = {"batch_tokens": "int64", "percentile": "double", "spread": "double"}  # of values that a reader of their own makes
ONE_EACH = ("columns", "price", "simulate", "benchmark", "layout", "top")  # options of one look at one machine
TIMES = {"ttft_s": "time to first token", "tbt_s": "time between tokens", "tpot_s": "a request's mean time per token after the first"}
CAPACITY = (
    Result("devices", "the fewest devices that meet the SLO", "", "low", "int64"),
    Result("replicas", "replicas of these", "", "", "int64"),
    Result("devices_per_replica", "devices that share a replica", "", "", "int64"),
    Result("tensor", "tensor parallelism", "", "", "int64"),
    Result("stages", "pipeline parallelism", "", "", "int64"),
    Result("groups", "attention data parallelism", "", "", "int64"),
    Result("whole_experts", "expert parallelism", column="bool"),
    Result("prefill_replicas", "replicas that only prefill; 0: all do both", "", "", "int64"),
    Result("best_budget", "tokens per step", "", "", "int64"),
    *(Result(name, f"{words}, at the SLO's percentile", "s", "low") for name, words in TIMES.items()),
    Result("largest_rate", "requests per second that these devices take within the SLO", "", "high"),
    Result("largest_rate_low", "its lower end", "", "high"),
    Result("largest_rate_high", "its upper end", "", "high"),
    Result("devices_high", "devices, if steps are as long as they may be; nothing where no number of devices meets the SLO", "", "low"),
    Result("tokens_per_s", "new tokens per second", "", "high"),
    Result("goodput_per_s", "requests per second that meet the SLO", "", "high"),
    Result("mean_batch", "sequences that decode together, on average", "", "high"),
    Result("busy", "share of the time in which a step runs", "%", "low"),
    Result("cache_peak", "largest share of a cache in use", "%", "low"),
    Result("dollars_per_hour", "for all devices; nothing where no price is known", "", "low"),
    Result("dollars_per_million_tokens", "for new tokens", "", "low"),
    Result("joules_per_million_tokens", "at rated power, an upper bound", "J", "low"),
    Result("binds", "what fewer devices would break", column="string"),
    Result("command", "starts a replica, or each pool, where an engine is given", column="string"),
    Result("basis", "what the time rests on: bound, transferred or calibrated", column="string"),
)
CLUSTER = (
    Result("step_s", "time of a step in the fastest layout", "s", "low"),
    Result("mfu", "share of the peak that the model's FLOPs reach", "%", "high"),
    Result("hfu", "the same, with recomputed work", "%", "high"),
    Result("tokens_per_s", "tokens per second of all devices", "", "high"),
    Result("memory_bytes", "of one device", "B", "low"),
    Result("label", "the layout in words", column="string"),
    *(
        Result(name, words, "", "", "int64")
        for name, words in (
            ("tensor", "tensor parallelism"), ("pipeline", "pipeline stages"), ("context", "context parallelism"),
            ("expert", "expert parallelism"), ("data", "data parallelism"), ("virtual", "model chunks per pipeline stage"),
            ("micro", "sequences per microbatch"), ("zero", "ZeRO stage"),
        )
    ),
    Result("recompute", "what the backward pass recomputes", column="string"),
    Result("basis", "what the time rests on: bound, transferred or calibrated", column="string"),
)  # fmt: skip


def capacity() -> Question:
    """One machine at a time: `hardware` instead of the command's `on`."""
    own = parameters(Capacity)
    model, machine = (parameters(Serving)[name] for name in ("model", "machine"))
    taken = [replace(own["model"], options=model.options), replace(machine, name=named(machine.name)), *_asked(Capacity, "model", "on")]

    def answer(point: Mapping[str, Any]) -> dict[str, Any]:
        more = {name: value for name, value in point.items() if name != "hardware"}
        asked = Capacity(on=point["hardware"], **more)
        if not asked.choices:
            raise BadValue("; ".join(one["reason"] for one in asked.answer["refused"]))
        row: Mapping[str, Any] = asked.choices[0]
        ends, pools = row["between"], row["pools"]
        low, high = ends.get("largest_rate", (None, None))
        chosen = {
            **row["layout"], "prefill_replicas": pools["prompts"] if pools else 0, "best_budget": row["budget"],
            "mean_batch": row["batch"], "largest_rate_low": low, "largest_rate_high": high, "devices_high": ends["devices"][1],
            **{name: row[name]["promised"] for name in TIMES},
        }  # fmt: skip
        return {one.name: chosen.get(one.name, row.get(one.name)) for one in CAPACITY}

    return Question(
        "capacity", "the fewest devices that serve a language model within an SLO", 1, tuple(taken), CAPACITY, answer, "devices"
    )


def cluster() -> Question:
    def answer(point: Mapping[str, Any]) -> dict[str, Any]:
        asked = Cluster(**point)
        row: Mapping[str, Any] = {**asked.best, "basis": asked.answer["basis"]}
        return {one.name: row[one.name] for one in CLUSTER}

    about = "the fastest layout of a training step over many devices"
    model = replace(parameters(Cluster)["model"], options=parameters(TrainingLayout)["model"].options)
    return Question("cluster", about, 1, (model, *_asked(Cluster, "model")), CLUSTER, answer, "step_s")


def _asked(command: type, *but: str) -> list[Parameter]:
    return [
        replace(one, column=TYPES.get(name, one.column), options=NAMES.get(name, one.options))
        for name, one in parameters(command).items()
        if name not in (*ONE_EACH, *but)
    ]
