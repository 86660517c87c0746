"""Published training runs (registry/published/training_runs.toml) beside what their stack is predicted to take for the same step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.stacks import Stack
from ironlaw.registry.boxes import box
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.machines import hardware
from ironlaw.registry.publications import published
from ironlaw.registry.stacks import stack
from ironlaw.systems.training.stack_steps import Way, stack_step

ZERO = {"fsdp": 3, "hsdp": 3, "zero1": 1, "ddp": 0}


@dataclass(frozen=True)
class Trained:
    """Seconds of a step, as published and as predicted."""

    run: str
    stack: str
    measured: float
    predicted: float
    spread: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1.0

    @property
    def inside(self) -> bool:
        """Whether the interval holds it."""
        return self.predicted / self.spread <= self.measured <= self.predicted * self.spread


@cache
def machines_seen() -> frozenset[str]:
    """The machines that the published runs were on."""
    return frozenset(box(str(row["box"])).device for row in published("training_runs").rows)


SEEN_FORMATS = ("", "bf16", "fp8")  # of products, in the runs that the stacks were fitted to


def like(machine: str, shape: Shape, products: str = "") -> bool:
    """Whether the stacks were fitted to runs on such a machine, of such a model and format: none of them had experts or NVFP4."""
    return machine in machines_seen() and not shape.experts and products in SEEN_FORMATS


def supported(machine: str, products: str = "") -> bool:
    """Whether what large products reach in that format is known: by the law (NVIDIA's GPUs), or by a measured rate in its file."""
    device, fmt = hardware(machine), products or "bf16"
    seen = device.figures.get(f"achieved.{fmt}")
    return device.backend == "cuda" or (seen is not None and not seen.estimate)


def spread_on(own: Stack, machine: str, shape: Shape, products: str = "") -> float:
    """The factor of an interval. Where no fitted run was, errors of the machine's own law come on top, as much again; where nobody has
    published what its products reach, once more. Both are premises."""
    return own.spread ** (1 + (not like(machine, shape, products)) + (not supported(machine, products)))


def rows(sealed: bool) -> list[Mapping[str, Any]]:
    return [row for row in published("training_runs").rows if (row["sealed"] == "yes") == sealed]


def replayed(found: Iterable[Mapping[str, Any]]) -> list[Trained]:
    return [replay(row) for row in found]


def replay(row: Mapping[str, Any]) -> Trained:
    """One run: its layout on its box, by its stack."""
    at, own = box(str(row["box"])), stack(str(row["stack"]))
    shape, seq, batch = _long_enough(decoder(str(row["model"])), int(row["seq"])), int(row["seq"]), int(row["batch"])
    way = Way(own, str(row["mode"]), "" if row["products"] == "bf16" else str(row["products"]), row["async_tp"] == "yes")
    step = stack_step(shape, layout_of(row, at.devices), at, batch, seq, way)
    return Trained(str(row["run"]), own.slug, batch * seq / (float(row["rate"]) * int(row["devices"])), step.total, own.spread)


def kinds() -> list[Trained]:
    """Runs of kinds that the fitted ones have none of: experts, NVFP4, AMD."""
    return [_kind(row) for row in published("training_kinds").rows]


def _kind(row: Mapping[str, Any]) -> Trained:
    at, own = box(str(row["box"])), stack(str(row["stack"]))
    sizes = {key: int(row[key]) for key in ("tensor", "pipeline", "expert", "virtual", "micro", "zero")}
    data = int(row["devices"]) // (sizes["tensor"] * sizes["pipeline"])
    layout = Layout(**sizes, data=data, recompute=str(row["recompute"]))  # type: ignore[arg-type]
    way = Way(own, str(row["mode"]), "" if row["products"] == "bf16" else str(row["products"]))
    shape = decoder(str(row["model"]))
    step = stack_step(shape, layout, at, int(row["batch"]), int(row["seq"]), way)
    return Trained(str(row["run"]), own.slug, float(row["step"]), step.total, spread_on(own, at.device, shape, way.products))


def layout_of(row: Mapping[str, Any], per_box: int) -> Layout:
    sizes = {key: int(row[key]) for key in ("tensor", "pipeline", "context", "virtual", "micro")}
    data = int(row["devices"]) // math.prod(sizes[key] for key in ("tensor", "pipeline", "context"))
    copies = max(1, data // per_box) if row["sharding"] == "hsdp" else 1
    one = Layout(**sizes)  # type: ignore[arg-type]
    return replace(one, data=data, recompute=str(row["recompute"]), zero=ZERO[str(row["sharding"])], replicate=copies)


def _long_enough(shape: Shape, seq: int) -> Shape:
    """MPT learns as many positions as a run's sequences have."""
    return replace(shape, positions=seq) if shape.positions else shape
