"""A benchmark of one's own (`vllm bench serve`, genai-perf): like requests are simulated, and the engine's time follows what it says."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ironlaw.engine.serving.batching import poisson
from ironlaw.engine.serving.llm.closed import waits
from ironlaw.engine.serving.llm.engines import Engine
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.requests import Request, Spread
from ironlaw.engine.streams import split
from ironlaw.errors import BadValue
from ironlaw.systems.serving.deployments import Deployment

ROUNDS = 4  # of simulating and correcting
MOST = 2000  # requests that are simulated
WRITE = "give the JSON file that `vllm bench serve --save-result` or genai-perf wrote"


@dataclass(frozen=True)
class Measured:
    """Seconds; `clients` 0: nobody waited for an answer, and requests came `rate` a second, or all at once (0)."""

    clients: int
    requests: int
    prompt: float
    output: float
    ttft: float
    tpot: float
    rate: float = 0.0


def read_benchmark(place: str) -> Measured:
    path = Path(place)
    if path.exists() and not path.is_file():
        raise BadValue(f"{place} is not a file; {WRITE}", "benchmark")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadValue(f"{place} can't be read ({error.strerror}); {WRITE}", "benchmark") from None
    except (ValueError, RecursionError):
        raise BadValue(f"{place} is not JSON; {WRITE}", "benchmark") from None
    if not isinstance(data, Mapping):
        raise BadValue(f"{place} holds no table; {WRITE}", "benchmark")
    try:
        found = _of_vllm(data) if "mean_ttft_ms" in data else _of_genai_perf(data)
    except BadValue:
        raise
    except KeyError as error:
        raise BadValue(f"{place} lacks {error}; {WRITE}", "benchmark") from None
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        raise BadValue(f"{place} has something else where a run's figures belong; {WRITE}", "benchmark") from None
    numbers = (found.prompt, found.output, found.ttft, found.tpot)
    even = found.output > 1 and 0 <= found.clients <= found.requests < 10**8 and 0 <= found.rate < 1e7
    if not even or not all(math.isfinite(x) and 0 < x < 1e7 for x in numbers):
        raise BadValue(f"{place} holds figures that no run has ({found}); {WRITE}", "benchmark")
    return found


def _of_vllm(data: Mapping[str, Any]) -> Measured:
    """With clients and a rate, those who wait are what holds requests back."""
    rate, clients, count = float(data.get("request_rate") or "inf"), int(data.get("max_concurrency") or 0), int(data["completed"])
    return Measured(
        clients, count, data["total_input_tokens"] / count, data["total_output_tokens"] / count,
        float(data["mean_ttft_ms"]) / 1e3, float(data["mean_tpot_ms"]) / 1e3, rate if math.isfinite(rate) and not clients else 0.0,
    )  # fmt: skip


def _of_genai_perf(data: Mapping[str, Any]) -> Measured:
    given: Any = data["input_config"]
    given = {**given.get("perf_analyzer", {}).get("stimulus", {}), **given.get("loadgen", {}), **given}
    rate = float(given.get("request_rate") or 0.0)
    clients = given.get("concurrency") or (0 if rate else given["concurrency"])
    return Measured(
        int(clients), int(data["request_count"]["avg"]), float(data["input_sequence_length"]["avg"]),
        float(data["output_sequence_length"]["avg"]), _seconds(data["time_to_first_token"]), _seconds(data["inter_token_latency"]),
        0.0 if clients else rate,
    )  # fmt: skip


def _seconds(table: Mapping[str, Any]) -> float:
    return float(table["avg"]) * {"ms": 1e-3, "s": 1.0, "us": 1e-6, "ns": 1e-9}[str(table.get("unit", "ms"))]


def followed(engine: Engine, measured: Measured, rig: Deployment, policy: Policy, spread: float) -> tuple[Engine, float]:
    """The engine whose time makes the simulated run like the measured one; and, where that is faster than the device alone, how many times
    as long as predicted its steps take."""
    factor = 1.0
    count = min(measured.requests, MOST)
    prompts = Spread(measured.prompt, spread).dealt(split(0, 1), count)
    outputs = Spread(measured.output, spread).dealt(split(0, 2), count)
    moments = poisson(measured.rate, count, 1) if measured.rate else [0.0] * count
    requests = [Request(at, prompt, output) for at, prompt, output in zip(moments, prompts, outputs, strict=True)]
    limit = replace(policy, most=max(1, min(measured.clients or policy.most, policy.most)))
    for _ in range(ROUNDS):
        part = rig.part
        table = replace(part, start=part.start + engine.step / factor, factor=factor)
        front = None if measured.clients else engine.front
        out = replace(rig, table=table, front=front).run(requests, limit)
        spans = zip(out.requests, out.first, out.leave, strict=True)
        tpot = fmean([(leave - first) / (r.output - 1) for r, first, leave in spans if r.output > 1] or [measured.tpot])
        if measured.rate:
            ttft = fmean(first - r.arrive for r, first in zip(out.requests, out.first, strict=True))
        else:
            ttft = fmean(waits(replace(out, requests=tuple(requests)), measured.clients))
        step = engine.step + measured.tpot - tpot
        if step < 0:
            factor *= max(0.25, measured.tpot / max(tpot - engine.step, 1e-9)) if not engine.step else 1.0
        engine = replace(engine, step=max(0.0, step))
        if measured.clients:
            engine = replace(engine, first=max(0.0, measured.ttft - ttft - engine.request))
        elif measured.rate:  # the front is in it already
            engine = replace(engine, first=max(0.0, engine.first + measured.ttft - ttft))
        else:
            engine = replace(engine, request=max(0.0, engine.request + (measured.ttft - ttft) / count))
    return engine, factor
