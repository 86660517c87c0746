"""How long a model takes on one device, and where the time goes: a point is what `ironlaw predict` answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw.engine.device.machine import MODES, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.registry.machines import registered
from ironlaw.registry.workloads import workload
from ironlaw.study.question import Question, Result, one_of, whole
from ironlaw.study.questions.names import MACHINE, MODEL, number_format

SETTINGS = ("batch", "seq", "context", "phase", "dtype")


def answer(point: Mapping[str, Any]) -> dict[str, Any]:
    graph = workload(point["model"], **{name: point[name] for name in SETTINGS if point[name] is not None})
    p = predict(graph, registered(point["machine"]), Plan(point["mode"]))
    low, high = p.interval if p.interval is not None else (None, None)
    seconds = float(p.seconds)
    return {
        "seconds": seconds, "low_s": low, "high_s": high if high is None or math.isfinite(high) else None, "data_s": float(p.data_s),
        "compute_s": float(p.compute_s), "overhead_s": float(p.overhead_s), "samples_per_s": graph.settings.get("batch", 1) / seconds,
        "memory_bytes": float(p.memory.total), "fits": bool(p.fits), "bound": str(p.bound), "basis": p.basis,
    }  # fmt: skip


QUESTION = Question(
    "predict",
    "how long one call of a model takes on a machine",
    1,
    (
        MODEL,
        MACHINE,
        one_of("mode", "how it is launched", lambda: MODES, "eager"),
        number_format("number format (default: the model's)", None),
        whole("batch", "samples a call (default: the model's)", None),
        whole("seq", "tokens of a sequence (default: the model's)", None),
        one_of("phase", "of a language model", lambda: ("prefill", "decode"), None),
        whole("context", "tokens in the cache, in decode", None),
    ),
    (
        Result("seconds", "time of a call", "s", "low"),
        Result("low_s", "lower end of the interval", "s"),
        Result("high_s", "upper end of the interval", "s"),
        Result("data_s", "moving bytes", "s"),
        Result("compute_s", "arithmetic", "s"),
        Result("overhead_s", "launches and kernel floors", "s"),
        Result("samples_per_s", "samples a second", "", "high"),
        Result("memory_bytes", "memory that it needs", "B", "low"),
        Result("fits", "whether the device holds it", column="bool"),
        Result("bound", "what takes most of the time", column="string"),
        Result("basis", "what the time rests on: bound, transferred or calibrated", column="string"),
    ),
    answer,
    "seconds",
    "fits",
)
