"""Device time of calls from PyTorch's profiler: every kernel, memset and memcpy, without what launching them costs.

A marker kernel (torch.cuda._sleep) goes before every call, so that the profiler's list can be cut where calls begin.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median, median_low
from typing import Any

from ironlaw.measure.backend import Call

WARMUP, ITERATIONS = 3, 8
MARKER = "spin_kernel"
Event = tuple[str, float]  # a kernel's name and seconds


def profiled(torch: Any, calls: Sequence[Call], warmup: int = WARMUP, iterations: int = ITERATIONS) -> list[dict[str, Any]]:
    """For each call `busy_s`, `kernels` and, where there are several, `list`; `error` where a call failed or nothing was seen."""
    owners: list[tuple[int | None, int]] = []
    errors: dict[int, str] = {}
    with _session(torch) as profiler:
        for index, call in enumerate(calls):
            try:
                for turn in range(warmup + iterations):
                    if turn in (0, warmup):
                        torch.cuda.synchronize()
                    owners.append((index, turn))
                    torch.cuda._sleep(1)
                    call()
                torch.cuda.synchronize()
            except RuntimeError as error:
                errors[index] = str(error).strip().splitlines()[0][:120]
        owners.append((None, 0))
        torch.cuda._sleep(1)
        torch.cuda.synchronize()
    parts = cut(events(torch, profiler))
    if len(parts) != len(owners):  # the profiler is not allowed here, or lost some
        return [{"error": f"the profiler saw {len(parts)} of {len(owners)} marks"} for _ in calls]
    kept: list[list[list[Event]]] = [[] for _ in calls]
    for (owner, turn), part in zip(owners, parts, strict=True):
        if owner is not None and turn >= warmup:
            kept[owner].append(part)
    return [{"error": errors[i]} if i in errors else summary(group) for i, group in enumerate(kept)]


@contextmanager
def _session(torch: Any) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that events of earlier sessions are gone is as it should be
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            yield profiler


def events(torch: Any, profiler: Any) -> list[Event]:
    cuda = torch.autograd.DeviceType.CUDA
    found = [
        (event.start_ns(), event.name(), event.duration_ns() * 1e-9)
        for event in profiler.profiler.kineto_results.events()
        if event.device_type() == cuda
    ]
    return [(name, seconds) for _, name, seconds in sorted(found)]


def cut(events: Sequence[Event]) -> list[list[Event]]:
    """The events after each marker."""
    parts: list[list[Event]] = []
    for name, seconds in events:
        if MARKER in name:
            parts.append([])
        elif parts:
            parts[-1].append((name, seconds))
    return parts


def summary(turns: Sequence[Sequence[Event]]) -> dict[str, Any]:
    """Medians over the turns of one call."""
    found: dict[str, Any] = {
        "busy_s": float(f"{median(sum(s for _, s in turn) for turn in turns):.6g}"),
        "kernels": median_low([len(turn) for turn in turns]),
    }
    if found["kernels"] > 1:
        names = dict.fromkeys(name for turn in turns for name, _ in turn)
        per = {name: [[s for other, s in turn if other == name] for turn in turns] for name in names}
        listed = [
            {"name": name[:80], "count": round(sum(map(len, times)) / len(turns), 3), "seconds": round(median(map(sum, times)), 10)}
            for name, times in per.items()
        ]
        found["list"] = sorted(listed, key=lambda kernel: -kernel["seconds"])
    return found
