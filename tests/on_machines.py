"""Kernels and samples on the two machines that were measured, in as few words as the tests need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
