"""How long one call of a model takes on one device, and where the time goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ironlaw.engine.device.machine import MODES, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.registry.machines import registered
from ironlaw.systems.fields import one_of, whole
from ironlaw.systems.launched_workloads import workload
from ironlaw.systems.question import Question, result
from ironlaw.systems.registry_names import machine, model, number_format

SETTINGS = ("batch", "seq", "context", "phase", "dtype")


@dataclass(frozen=True, repr=False)
class Call(Question):
    model: str = model()
    machine: str = machine()
    mode: str = one_of(lambda: MODES, "eager", about="how it is launched")
    dtype: str | None = number_format("number format (default: the model's)", None)
    batch: int | None = whole(None, about="samples per call (default: the model's)")
    seq: int | None = whole(None, about="tokens per sequence (default: the model's)")
    phase: str | None = one_of(lambda: ("prefill", "decode"), None, about="of a language model")
    context: int | None = whole(None, about="tokens in the cache, in decode")

    @cached_property
    def prediction(self) -> Prediction:
        graph = workload(self.model, **{name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None})
        return predict(graph, registered(self.machine), Plan(self.mode))

    @result("time of a call", "s", "low")
    def seconds(self) -> float:
        return float(self.prediction.seconds)

    @result("lower end of the interval", "s")
    def low_s(self) -> float | None:
        return self.prediction.interval[0] if self.prediction.interval is not None else None

    @result("upper end of the interval", "s")
    def high_s(self) -> float | None:
        high = self.prediction.interval[1] if self.prediction.interval is not None else math.inf
        return high if math.isfinite(high) else None

    @result("moving bytes", "s")
    def data_s(self) -> float:
        return float(self.prediction.data_s)

    @result("arithmetic", "s")
    def compute_s(self) -> float:
        return float(self.prediction.compute_s)

    @result("launches and kernel floors", "s")
    def overhead_s(self) -> float:
        return float(self.prediction.overhead_s)

    @result("samples per second", "", "high")
    def samples_per_s(self) -> float:
        return float(self.prediction.graph.settings.get("batch", 1) / self.seconds)

    @result("memory that it needs", "B", "low")
    def memory_bytes(self) -> float:
        return float(self.prediction.memory.total)

    @result("whether the device holds it", column="bool")
    def fits(self) -> bool:
        return bool(self.prediction.fits)

    @result("what takes most of the time", column="string")
    def bound(self) -> str:
        return str(self.prediction.bound)

    @result("what the time rests on: bound, transferred or calibrated", column="string")
    def basis(self) -> str:
        return self.prediction.basis
