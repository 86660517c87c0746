"""A language model behind a promise: a point is one way to serve it under one load, simulated from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ironlaw.engine.costs import device_hours
from ironlaw.engine.serving.llm.load import Request, Spread, alike, arriving
from ironlaw.engine.serving.llm.policy import PREEMPTIONS, SCHEDULES, Policy
from ironlaw.engine.serving.llm.promise import Promise
from ironlaw.errors import BadValue, unknown
from ironlaw.registry.decoders import FAMILIES, decoder
from ironlaw.registry.loader import normal
from ironlaw.registry.machines import registered
from ironlaw.registry.traces import trace, traces
from ironlaw.registry.workloads import about, workloads
from ironlaw.study.question import Question, Result, figure, flag, one_of, whole
from ironlaw.study.questions.names import MACHINE
from ironlaw.systems.serving.deployments import STORED, USUAL, Deployment, deployment


def answer(point: Mapping[str, Any]) -> dict[str, Any]:
    rig = _deployment(
        point["model"], point["machine"], point["devices"], point["weights"] or "", point["cache"] or "", point["budget"], point["memory"]
    )
    policy = _policy(point, rig)
    requests, prompts = _requests(point), point["prompt_replicas"]
    out = rig.run_apart(requests, policy, prompts, point["replicas"], point["seed"]) if prompts else (
        rig.run(requests, policy, point["replicas"], point["seed"])
    )  # fmt: skip
    promise, total = Promise(point["ttft"], point["tbt"], point["share"]), point["devices"] * (point["replicas"] + prompts)
    return {
        "hours_per_million": device_hours(1.0, out.tokens_per_s, total), "tokens_per_s": out.tokens_per_s,
        "ttft_s": out.ttft(promise.share), "tbt_s": out.tbt(promise.share), "ttft_p50_s": out.ttft(0.5), "tbt_p50_s": out.tbt(0.5),
        "goodput_per_s": out.goodput(promise.ttft, promise.tbt), "kept": not promise.broken(out), "binds": promise.binds(out),
        "batch": out.batch, "busy": out.busy, "cache_peak": out.peak, "preempted": out.preempted, "total_devices": total,
        "basis": rig.table.basis,
    }  # fmt: skip


def _policy(point: Mapping[str, Any], rig: Deployment) -> Policy:
    guess = rig.speculation(point["speculate"], point["acceptance"]) if point["speculate"] else None
    return Policy(
        point["scheduling"], point["most"], point["budget"], point["chunked"], preemption=point["preemption"],
        sharing=point["prefix"] > 0, speculation=guess,
    )  # fmt: skip


@lru_cache(maxsize=16)  # its table of steps takes longer than the simulation
def _deployment(model: str, machine: str, devices: int, weights: str, cache: str, budget: int, memory: float) -> Deployment:
    return deployment(decoder(model), registered(machine), devices, weights=weights, cache=cache, budget=budget, memory=memory)


def _requests(point: Mapping[str, Any]) -> tuple[Request, ...]:
    requests = _drawn(point)
    return alike(requests, point["prefix"]) if point["prefix"] else requests


def _drawn(point: Mapping[str, Any]) -> tuple[Request, ...]:
    """Of a published trace, at its own rate or another; or of a law."""
    if point["trace"] is not None:
        return trace(point["trace"]).draw(point["requests"], point["seed"], point["rate"])
    if point["rate"] is None:
        raise BadValue("how many requests come a second? Give a rate, or a trace", "rate")
    spread = 1.0 if point["varied"] else 0.0
    return arriving(point["rate"], point["requests"], Spread(point["prompt"], spread), Spread(point["output"], spread), point["seed"])


def _served() -> list[str]:
    return [slug for slug in workloads() if about(slug)["family"] in FAMILIES]


def _model(name: str) -> str:
    if normal(name) not in _served():
        raise unknown("model that can be served", name, _served(), field="model")
    return normal(name)


QUESTION = Question(
    "serving",
    "what a way to serve a language model gives under a load of requests",
    2,
    (
        one_of("model", "a decoder of the registry", _served, find=_model),
        MACHINE,
        whole("devices", "devices that share a replica by tensor parallelism", 1),
        one_of("weights", "what weights are stored in (default: the machine's 16 bits)", lambda: STORED, None),
        one_of("cache", "what keys and values are stored in (default: the same)", lambda: STORED, None),
        figure("memory", "share of a device's memory to use", usual=0.9),
        whole("budget", "tokens a step, at most", 2048),
        whole("most", "sequences at once, at most", 256),
        one_of("scheduling", "when requests join a batch", lambda: SCHEDULES, "continuous"),
        flag("chunked", "prompts in pieces beside decoding", True),
        one_of("preemption", "what becomes of a request when the cache is full", lambda: PREEMPTIONS, "recompute"),
        whole("prefix", "tokens that every prompt begins with, kept once; 0: none", 0, least=0),
        whole("speculate", "tokens proposed a step, at no cost; 0: none", 0, least=0),
        figure("acceptance", "share of proposed tokens that are right", usual=0.7),
        whole("replicas", "replicas side by side; with prompt_replicas, those that decode", 1),
        whole("prompt_replicas", "replicas that only compute prompts; 0: all do both", 0, least=0),
        one_of("trace", "a published trace to draw requests from (default: a law)", traces, None, find=lambda name: trace(name).slug),
        figure("rate", "requests a second (default: the trace's)", usual=None),
        whole("prompt", "tokens of a prompt, on average; without a trace", USUAL[0]),
        whole("output", "tokens of an answer, on average; without a trace", USUAL[1]),
        flag("varied", "lengths scatter as widely as their mean; false: all alike; without a trace", True),
        whole("requests", "how many are drawn", 2000),
        figure("ttft", "promised time to first token", "s", 1.0),
        figure("tbt", "promised time between tokens", "s", 0.05),
        figure("share", "of requests that must keep it", usual=0.99),
        whole("seed", "another draw of the same load", 0, least=0),
    ),
    (
        Result("hours_per_million", "devices × hours for a million new tokens", "", "low"),
        Result("tokens_per_s", "new tokens a second while requests keep coming", "", "high"),
        Result("ttft_s", "time to first token that the promised share stays within", "s", "low"),
        Result("tbt_s", "time between tokens that the promised share stays within", "s", "low"),
        Result("goodput_per_s", "requests a second that keep the promise", "", "high"),
        Result("total_devices", "of all replicas", "", "low", "int64"),
        Result("ttft_p50_s", "median time to first token", "s", "low"),
        Result("tbt_p50_s", "median time between tokens", "s", "low"),
        Result("kept", "whether the promise is kept", column="bool"),
        Result("binds", "what breaks it", column="string"),
        Result("batch", "sequences that decode together, on average", "", "high"),
        Result("busy", "share of the time in which a step runs", "%", "low"),
        Result("cache_peak", "largest share of a cache in use", "%", "low"),
        Result("preempted", "times that a request had to make room", "", "low", "int64"),
        Result("basis", "what the time rests on: bound, transferred or calibrated", column="string"),
    ),
    answer,
    "hours_per_million",
    "kept",
)
