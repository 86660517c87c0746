"""The keyword spotter as a PyTorch model, built from the registry's figures; its time at a batch, eager, queued and replayed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ironlaw.registry.workloads import about

if TYPE_CHECKING:
    from ironlaw.measure.trials import Bench, Row

SLUG = "dscnn_kws"


def module(classes: int) -> Any:
    """The model of `registry/workload/dscnn_kws.toml`: a convolution, pairs of a depthwise and a pointwise one, mean, linear."""
    from torch import nn

    said = about(SLUG)["params"]
    width = said["channels"]

    def normed(into: int, kernel: Any, **more: Any) -> list[Any]:
        return [nn.Conv2d(into, width, kernel, bias=False, **more), nn.BatchNorm2d(width), nn.ReLU()]

    layers = normed(1, tuple(said["kernel"]), stride=said["stride"], padding=tuple(said["padding"]))
    for _ in range(said["blocks"]):
        layers += [*normed(width, 3, padding=1, groups=width), *normed(width, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)).eval()


def rows(bench: Bench, batch: int) -> Iterator[Row]:
    """One row eager; on CUDA one more, replayed as a graph."""
    library: Any = bench.library
    torch, backend = library.torch, library.backend
    said = about(SLUG)
    dtype = "fp16" if backend == "cuda" else "fp32"
    kind = torch.float16 if dtype == "fp16" else torch.float32
    model = module(said["defaults"]["classes"]).to(backend, kind)
    x = torch.randn(batch, 1, said["params"]["frames"], said["params"]["features"], device=backend).to(kind)
    row: Row = {"kind": "model", "workload": SLUG, "params": {"batch": batch, "dtype": dtype}}
    waited = bench.time(lambda: model(x), batch=1)
    piped = {"piped_s": float(f"{bench.time(lambda: model(x), batch=20).median:.6g}")} if backend == "cuda" else {}
    yield {**row, "mode": "eager", **waited.row(), **piped}
    if backend == "cuda":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
        yield {**row, "mode": "graphs", **bench.time(graph.replay, batch=1).row()}
