"""What a mixture of experts runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

EXPERTS = [  # experts, inputs, outputs
    (8, 1024, 7168), (8, 3584, 1024), (8, 4096, 28672), (8, 14336, 4096), (16, 1024, 1024), (32, 2880, 5760), (64, 2048, 2816),
    (64, 1408, 2048), (128, 2048, 1536), (128, 768, 2048),
]  # fmt: skip


def experts() -> Iterator[OpSpec]:
    """Tokens put in the order of their experts, counted, multiplied by each expert's weight in one launch, and put back."""
    for numel in (2, 16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 32768, 262144):
        yield from ((op, dict(numel=numel, dtype="int64")) for op in ("sort", "histogram", "index_put"))
    for (count, k, n), m in product(EXPERTS, (2, 16, 64, 512, 4096, 16384)):
        yield "grouped_mm", dict(m=m, experts=count, k=k, n=n, dtype="bf16")
