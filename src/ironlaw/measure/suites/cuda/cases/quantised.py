"""Products with weights stored in 8 or 4 bits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec


def stored_weights() -> Iterator[OpSpec]:
    for bits, (k, n), m in product((8, 4), ((4096, 4096), (4096, 14336), (14336, 4096)), (1, 8, 32, 256, 1024)):
        yield f"weight_int{bits}_mm", dict(m=m, k=k, n=n, dtype="bf16")
