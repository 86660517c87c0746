"""The keyword spotter at a batch: eager, on a device with a queue also queued, and where there are graphs also replayed as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ironlaw.measure.experiments.bench import Bench, Row

SLUG = "dscnn_kws"
QUEUED = 20  # calls before one wait


def rows(bench: Bench, batch: int) -> Iterator[Row]:
    from ironlaw.measure.models.builders import build

    device, dtype = bench.device, bench.device.default_format
    model = build(SLUG, batch=batch, dtype=dtype, device=device.kind.name, room=float("inf"))
    model.module.requires_grad_(False)
    row: Row = {"kind": "model", "workload": SLUG, "params": {"batch": batch, "dtype": dtype}}

    def call() -> Any:
        return model.module(*model.args, **model.kwargs)

    waited = bench.time(call, batch=1)
    piped = {"piped_s": float(f"{bench.time(call, batch=QUEUED).median:.6g}")} if device.queued else {}
    yield {**row, "mode": "eager", **waited.row(), **piped}
    if device.has_graphs:
        yield {**row, "mode": "graphs", **bench.time(device.record(call), batch=1).row()}
