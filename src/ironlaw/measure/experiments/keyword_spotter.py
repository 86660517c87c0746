"""The keyword spotter at a batch: eager, and on CUDA also queued and replayed as a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ironlaw.measure.experiments.trials import Bench, Row

SLUG = "dscnn_kws"


def rows(bench: Bench, batch: int) -> Iterator[Row]:
    from ironlaw.measure.models.builders import build

    library: Any = bench.library
    torch, backend = library.torch, library.backend
    dtype = "fp16" if backend == "cuda" else "fp32"
    built = build(SLUG, batch=batch, dtype=dtype, device=backend, room=float("inf"))
    built.module.requires_grad_(False)
    row: Row = {"kind": "model", "workload": SLUG, "params": {"batch": batch, "dtype": dtype}}

    def call() -> Any:
        return built.module(*built.args, **built.kwargs)

    waited = bench.time(call, batch=1)
    piped = {"piped_s": float(f"{bench.time(call, batch=20).median:.6g}")} if backend == "cuda" else {}
    yield {**row, "mode": "eager", **waited.row(), **piped}
    if backend == "cuda":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        yield {**row, "mode": "graphs", **bench.time(graph.replay, batch=1).row()}
