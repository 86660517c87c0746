"""The lab's models: what each asks of any machine, by batch, number format and byte convention."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.device import memory
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.predict import one_launch
from ironlaw.engine.device.types import Graph, Work
from ironlaw.kit import background
from ironlaw.registry.workloads import workload

WORKLOADS = ("resnet50", "mobilenet_v2", "dscnn_kws")
FORMATS = ("fp32", "fp16", "int8")
BATCHES = tuple(2**n for n in range(9))


@dataclass(frozen=True)
class Facts:
    """What a model asks of any machine at one batch and format. Small enough to keep; the graphs behind it are not kept."""

    whole: Mapping[str, Graph]  # by convention: the pass as one op, with that convention's bytes
    kernels: Mapping[str, float]  # by convention: launches of the graph that it counts
    needs: memory.Memory  # against no capacity yet


@lru_cache(maxsize=1024)
def facts(name: str, batch: int, dtype: str) -> Facts:
    graph = workload(name, batch=batch, dtype=dtype)
    fused = fuse(graph).graph
    whole = {"weights": one_launch(graph, "weights"), "fused": one_launch(fused, "ops"), "ops": one_launch(graph, "ops")}
    kernels = {"weights": float(graph.kernels), "fused": float(fused.kernels), "ops": float(graph.kernels)}
    return Facts(whole, kernels, memory.footprint(graph))


def weights(name: str, dtype: str) -> float:
    """Bytes of the parameters and buffers."""
    return float(facts(name, 1, dtype).needs.weights)


def works(name: str, dtype: str, convention: str, batch: int = 1) -> list[tuple[float, Work]]:
    """(batch, work) from one image to the dial's end, and at the batch that is set."""
    return [(float(n), facts(name, n, dtype).whole[convention].work) for n in sorted({*BATCHES, batch})]


def warm() -> None:
    """Build what the dials will ask for: the first turn is then as quick as the second."""
    background.begin(__name__, _fill)


def _fill() -> None:
    steps = sorted({*BATCHES, *(3 * n // 2 for n in BATCHES[1:-1])})  # where the slider stops
    for dtype in ("fp16", "int8", "fp32"):
        for name in WORKLOADS:
            for batch in steps:
                facts(name, batch, dtype)
                time.sleep(0.01)  # the learner's own turn comes first
