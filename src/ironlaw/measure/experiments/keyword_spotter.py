"""The keyword spotter at a batch: eager, on a device with a queue also queued, and where there are graphs also replayed as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, model_row, rounded

SLUG = "dscnn_kws"
QUEUED = 20  # calls before one wait


def rows(bench: Bench, batch: int) -> Iterator[Draft]:
    from ironlaw.measure.models.builders import build

    device, dtype = bench.device, bench.device.default_format
    model = build(SLUG, batch=batch, dtype=dtype, device=device.kind.name, room=float("inf"))
    model.module.requires_grad_(False)
    about = {"workload": SLUG, "params": {"batch": batch, "dtype": dtype}}

    def call() -> Any:
        return model.module(*model.args, **model.kwargs)

    waited = bench.time(call, batch=1).row()
    piped = {"piped_s": rounded(bench.time(call, batch=QUEUED).median)} if device.queued else {}
    yield model_row("eager", waited | piped, **about)
    if device.has_graphs:
        yield model_row("graphs", bench.time(device.record(call), batch=1).row(), **about)
