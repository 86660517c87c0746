"""What PyTorch's profiler saw, as calls: its events on the GPU in their order, cut at the markers, and medians over a call's turns."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, median_low
from typing import Any

WARMUP, ITERATIONS = 3, 8
MARKER = "spin_kernel"
Event = tuple[str, float]  # a kernel's name and seconds


def events(torch: Any, profiler: Any) -> list[Event]:
    cuda = torch.autograd.DeviceType.CUDA
    launched = [
        (event.start_ns(), event.name(), event.duration_ns() * 1e-9)
        for event in profiler.profiler.kineto_results.events()
        if event.device_type() == cuda
    ]
    return [(name, seconds) for _, name, seconds in sorted(launched)]


def cut(events: Sequence[Event]) -> list[list[Event]]:
    """The events after each marker."""
    parts: list[list[Event]] = []
    for name, seconds in events:
        if MARKER in name:
            parts.append([])
        elif parts:
            parts[-1].append((name, seconds))
    return parts


def summary(turns: Sequence[Sequence[Event]], keep: int | None = None) -> dict[str, Any]:
    """Medians over the turns of one call. `keep`: how many kernels are listed, the longest ones."""
    names: dict[str, list[list[float]]] = {}
    for index, turn in enumerate(turns):
        for name, seconds in turn:
            names.setdefault(name, [[] for _ in turns])[index].append(seconds)
    listed: list[dict[str, Any]] = [
        {"name": name[:80], "count": round(sum(map(len, times)) / len(turns), 3), "seconds": round(median(map(sum, times)), 10)}
        for name, times in names.items()
    ]
    return {
        "kernels": median_low([len(turn) for turn in turns]),
        "busy_s": round(median(sum(seconds for _, seconds in turn) for turn in turns), 10),
        "list": sorted(listed, key=lambda kernel: -kernel["seconds"])[:keep],
    }
