"""A model's call under torch.profiler: its events, how many kernels it runs, how long they take, and the memory it holds.

On a GPU kernels are what the device ran. On a CPU an operator that no other called stands for its kernel; the profiler's own cost,
a microsecond or so for each, is taken out in proportion: all times are scaled by the run without the profiler over the run with it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from ironlaw.measure.devices.device import KERNELS
from ironlaw.measure.devices.torch_device import TorchDevice
from ironlaw.measure.rows import rounded

CALLS = 5  # in one profile
LONG = 1.0  # seconds per call, from which one is enough
STEP = "ProfilerStep#"  # what a trace's reader takes for one run
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
KEEP = 40  # names in a row's list
VIEWS = (
    "view", "reshape", "_unsafe_view", "t", "transpose", "permute", "expand", "expand_as", "slice", "select", "unsqueeze", "squeeze",
    "split", "chunk", "unbind", "narrow", "alias", "detach", "flatten", "unflatten", "as_strided", "size", "item", "empty", "empty_strided",
)  # fmt: skip
Event = dict[str, Any]


@dataclass(frozen=True)
class Profile:
    events: list[Event]  # Chrome trace, microseconds
    runs: int
    kernels: float  # a call
    busy_s: float
    seconds: dict[str, tuple[float, float]]  # name -> count and seconds, a call
    activation_bytes: int | None
    slower: float  # times that the profiler slowed the call

    def listed(self) -> list[dict[str, Any]]:
        """The operators as evidence rows list them, the longest first."""
        longest = sorted(self.seconds.items(), key=lambda item: -item[1][1])[:KEEP]
        return [{"name": name[:120], "count": round(count, 2), "seconds": rounded(s)} for name, (count, s) in longest]


def profiled(call: Callable[[], Any], device: TorchDevice, wall_s: float) -> Profile:
    """Profile a call that takes `wall_s` without the profiler."""
    runs = 1 if wall_s > LONG else CALLS
    if device.profiles == KERNELS:
        held = device.peak_memory(call)
        events = trace(call, device, runs)
        kernels = [e for e in events if e.get("ph") == "X" and e.get("cat") in ON_DEVICE]
        return Profile(events, runs, *_summed([kernels], runs), held, 1.0)
    events = trace(call, device, runs)
    steps = [e for e in events if _is(e, "user_annotation") and str(e["name"]).startswith(STEP)]
    slower = max(1.0, median(e["dur"] for e in steps) / 1e6 / wall_s) if steps and wall_s > 0 else 1.0
    events, steps = [_scaled(e, slower) for e in events], [_scaled(e, slower) for e in steps]
    ops = outermost(events)
    by_run = [[e for e in ops if step["ts"] <= e["ts"] < step["ts"] + step["dur"]] for step in steps]
    return Profile(events, runs, *_summed(by_run, 1), _peak_in_trace(trace(call, device, 1, memory=True)), slower)


def trace(call: Callable[[], Any], device: TorchDevice, runs: int, memory: bool = False) -> list[Event]:
    """The events of some calls, each marked as a step; one call before them fills what is made at the first."""
    from torch.profiler import ProfilerActivity, profile, record_function

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # it would print that it starts and stops
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.profiles == KERNELS else [])]
    call()
    device.clock.sync()
    with profile(activities=activities, profile_memory=memory) as profiler:
        for i in range(runs):
            with record_function(f"{STEP}{i}"):
                call()
                device.clock.sync()
    handle, path = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    try:
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            events = json.load(file)["traceEvents"]
    finally:
        os.unlink(path)
    return [e for e in events if isinstance(e, dict)]


def outermost(events: list[Event]) -> list[Event]:
    """Operators that no other operator called. A compiled region counts by what it calls, not as a whole."""
    ops = sorted((e for e in events if _is(e, "cpu_op") and _operator(str(e["name"]))), key=lambda e: (e["ts"], -e["dur"]))
    outer: list[Event] = []
    ends: dict[Any, float] = {}
    for e in ops:
        thread = (e.get("pid"), e.get("tid"))
        if e["ts"] >= ends.get(thread, float("-inf")):
            outer.append(e)
            ends[thread] = e["ts"] + e["dur"]
    return outer


def _operator(name: str) -> bool:
    """`aten::relu` or `graph_0_cpp_fused_relu_0`, and not a stretch of the compiler's own."""
    return "::" in name or "fused" in name


def _is(event: Event, kind: str) -> bool:
    return event.get("ph") == "X" and event.get("cat") == kind


def _scaled(event: Event, slower: float) -> Event:
    return {**event, **{key: event[key] / slower for key in ("ts", "dur") if isinstance(event.get(key), (int, float))}}


def _summed(by_run: list[list[Event]], calls: int) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Kernels, busy seconds, and both by name, a call: the median of the runs, each of which holds so many calls."""
    names = {str(e["name"]) for run in by_run for e in run}
    seconds = {}
    for name in names:
        each = [[e["dur"] / 1e6 for e in run if e["name"] == name] for run in by_run]
        seconds[name] = (median(len(times) for times in each) / calls, median(sum(times) for times in each) / calls)
    counts = [sum(str(e["name"]).removeprefix("aten::") not in VIEWS for e in run) / calls for run in by_run]
    busy = [sum(e["dur"] for e in run) / 1e6 / calls for run in by_run]
    return (round(median(counts), 2), median(busy), seconds) if by_run else (0.0, 0.0, {})


def _peak_in_trace(events: list[Event]) -> int | None:
    """Bytes that PyTorch's allocator held at most, above what it held before the call."""
    changes = [e["args"] for e in sorted(events, key=lambda e: e.get("ts", 0)) if e.get("name") == "[memory]" and "args" in e]
    totals = [(int(a["Total Allocated"]), int(a.get("Bytes", 0))) for a in changes if a.get("Device Type") == 0 and "Total Allocated" in a]
    if not totals:
        return None
    return max(total for total, _ in totals) - (totals[0][0] - totals[0][1])
