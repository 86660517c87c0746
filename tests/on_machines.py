"""Kernels and samples on the two machines that were measured, in as few words as the tests need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

import ironlaw as il
from ironlaw.backends import require
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op

H200, NEOVERSE = "h200_sxm", "neoverse_n1_2core"


def lower(op: Op, compiled: bool = False, machine: str | Hardware = H200) -> tuple[Kernel, ...]:
    hardware = il.hardware(machine) if isinstance(machine, str) else machine
    return require(hardware.backend).lower(op, hardware, "compiled" if compiled else "eager")


def lower_cpu(op: Op, compiled: bool = False) -> tuple[Kernel, ...]:
    return lower(op, compiled, NEOVERSE)


def samples(rows: Iterable[Row | Mapping[str, Any]], backend: str = "cuda") -> Iterator[Sample]:
    typed = [row if isinstance(row, Row) else Row.from_json(row) for row in rows]
    return require(backend).samples(typed, il.hardware(NEOVERSE if backend == "cpu" else H200))


def by_curve(kernels: Iterable[Kernel], point: int | None = None) -> dict[str, list[float]]:
    """Curve -> launches, and their bytes, FLOPs, rows and depths together; of one point, where sizes are swept."""

    def at(value: Any) -> float:
        return float(value if point is None or not np.ndim(value) else value[point])

    sums: dict[str, list[float]] = {}
    for k in kernels:
        if count := at(k.count):
            row = sums.setdefault(k.curve, [0.0] * 5)
            for i, value in enumerate((1.0, k.data, k.flops, k.rows, k.depth)):
                row[i] += count * at(value)
    return sums
