"""What a request is on a context's device: one image through ResNet-50, op by op."""

from __future__ import annotations

from functools import lru_cache

from ironlaw import kit
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.kit.context import LOCAL
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload

MODEL = "resnet50"


def seconds(lab: kit.Lab) -> float:
    """On the context's device, as it is served without compiling."""
    context = lab.current_context
    if context.slug != LOCAL:
        return _seconds(context.slug)
    return float(predict(workload(MODEL, batch=1), context.hardware, Plan()).seconds)  # may be measured again while the page is open


@lru_cache(maxsize=16)
def _seconds(slug: str) -> float:
    return float(predict(workload(MODEL, batch=1), hardware(slug), Plan()).seconds)
