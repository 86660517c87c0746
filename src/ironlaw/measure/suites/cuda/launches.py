"""What a call costs the host when a GPU does the work: tiny ops queued back to back, and the same replayed as a CUDA graph.

A profiler that ran once makes every later launch more expensive, so this is measured in a process of its own:

    rows = launches(stop)        or        python -m ironlaw.measure.suites.cuda.launches > rows.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from ironlaw.measure.devices.cuda import Cuda
from ironlaw.measure.devices.device import Call, Unsupported
from ironlaw.measure.devices.kernel_times import profile, reason
from ironlaw.measure.devices.torch_cpu import TorchCpu
from ironlaw.measure.devices.torch_device import TorchDevice
from ironlaw.measure.progress_lines import Cancelled, Stop
from ironlaw.measure.rows import Draft, error_row, launch_row

CALLS, REPEATS = 200, 7  # calls in one sample, samples
TRIED = 2  # calls in one sample where there is no GPU, and the figures say nothing
LONGEST = 120.0  # seconds that the process may take


def gpu_or_processor() -> Cuda | TorchCpu:
    """The GPU; where there is none the processor, on which the sweep can be tried, and finds no kernels."""
    import torch

    return Cuda() if Cuda.present(torch) else TorchCpu()


def launches(stop: Stop | None = None) -> list[Draft]:
    """Launch rows from a fresh process; a row of kind `error` where it fails."""
    source = str(Path(__file__).parents[4])
    known = os.environ | {"PYTHONPATH": os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [sys.executable, "-m", "ironlaw.measure.suites.cuda.launches"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=known) as child:
        began = time.monotonic()
        try:
            while True:
                try:
                    out, err = child.communicate(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    if stop is not None and stop():
                        raise Cancelled("the measurement was stopped; nothing was stored") from None
                    if time.monotonic() - began > LONGEST:
                        return [error_row("launches", f"not done after {LONGEST:.0f} s")]
        finally:
            child.kill()
    if child.returncode:
        return [error_row("launches", (err.strip().splitlines() or ["no message"])[-1][:200])]
    rows: list[Draft] = json.loads(out.strip().splitlines()[-1])
    return rows


def measured(device: TorchDevice, calls: dict[str, Call], times: int = CALLS) -> list[Draft]:
    """Every call: by the host's clock, as a graph, then by the profiler, and by the clock once more."""
    rows = [clocked(device, op, call, times) for op, call in calls.items()]
    rows += waits(device, calls["add_"], times)
    profiles = profile(device, [partial(itself, call) for call in calls.values()])
    for row, call, profiled in zip(rows, calls.values(), profiles, strict=False):
        if row["kind"] == "launch" and "error" not in profiled:
            row |= {"kernels": profiled["kernels"], "busy_s": profiled["busy_s"], "wall_after_profiler_s": queued(device, call, times)}
            if not profiled["kernels"]:
                row.pop("graph_s", None)
    return rows


def itself(call: Call) -> Call:
    """Nothing to prepare."""
    return call


def clocked(device: TorchDevice, op: str, call: Call, times: int) -> Draft:
    try:
        for _ in range(times // 10):
            call()
        return launch_row(op, {"wall_s": queued(device, call, times)} | replayed(device, call, times))
    except Exception as error:
        return error_row(op, reason(error))


def queued(device: TorchDevice, call: Call, times: int) -> float:
    """Host time of one call when many are queued back to back."""
    samples = []
    for _ in range(REPEATS):
        device.clock.sync()
        start = time.perf_counter()
        for _ in range(times):
            call()
        samples.append((time.perf_counter() - start) / times)
    device.clock.sync()
    return round(median(samples), 10)


def replayed(device: TorchDevice, call: Call, times: int) -> dict[str, float]:
    """`graph_s`: GPU time of one call inside a replayed graph of many; nothing where it can't be recorded."""
    if not isinstance(device, Cuda):
        return {}
    try:
        replay = device.record(call, times)
    except Unsupported:
        return {}
    return {"graph_s": round(median(device.seconds_between(replay) / times for _ in range(REPEATS)), 10)}


def waits(device: TorchDevice, call: Call, times: int) -> list[Draft]:
    """A tiny op and its result waited for; waiting for nothing."""
    trips, idle, wait = [], [], device.clock.sync
    for _ in range(times):
        wait()
        start = time.perf_counter()
        call()
        wait()
        trips.append(time.perf_counter() - start)
        start = time.perf_counter()
        wait()
        idle.append(time.perf_counter() - start)
    named = (("sync_roundtrip", trips), ("sync_idle", idle))
    return [launch_row(op, {"wall_s": round(median(times), 10)}) for op, times in named]


def tiny(where: str) -> dict[str, Call]:
    """Ops on tensors too small to keep a GPU busy, as functions and as modules."""
    import torch
    import torch.nn.functional as F

    nn = torch.nn
    make: dict[str, Any] = {"device": where, "dtype": torch.float16}
    x, y, total, row, var = *(torch.randn(64, 64, **make) for _ in range(3)), torch.randn(64, **make), torch.ones(64, **make)
    image, kernel, depth = torch.randn(1, 64, 8, 8, **make), torch.randn(64, 64, 3, 3, **make), torch.randn(64, 1, 3, 3, **make)
    batch, heads = torch.randn(4, 32, 32, **make), torch.randn(1, 4, 32, 64, **make)
    picks, mask = torch.randint(64, (64,), device=where), x > 0
    linear, conv = nn.Linear(64, 64, **make), nn.Conv2d(64, 64, 3, padding=1, bias=False, **make)
    relu, norm, planes = nn.ReLU(), nn.LayerNorm(64, **make), nn.BatchNorm2d(64, **make).eval()
    return {
        "linear": lambda: F.linear(x, y, row), "linear_no_bias": lambda: F.linear(x, y), "matmul": lambda: x @ y,
        "bmm": lambda: torch.bmm(batch, batch), "conv2d": lambda: F.conv2d(image, kernel, None, 1, 1),
        "conv2d_depthwise": lambda: F.conv2d(image, depth, None, 1, 1, 1, 64),
        "batch_norm": lambda: F.batch_norm(image, row, var, row, row, False), "layer_norm": lambda: F.layer_norm(x, (64,), row, row),
        "rms_norm": lambda: F.rms_norm(x, (64,), row), "group_norm": lambda: F.group_norm(image, 32, row, row),
        "softmax": lambda: F.softmax(x, -1), "sdpa": lambda: F.scaled_dot_product_attention(heads, heads, heads),
        "relu": lambda: F.relu(x), "gelu": lambda: F.gelu(x), "silu": lambda: F.silu(x), "add": lambda: x + y,
        "add_": lambda: total.add_(y), "mul": lambda: x * y, "mul_scalar": lambda: x * 1.5, "pow2": lambda: x.pow(2),
        "mean": lambda: x.mean(-1), "sum": lambda: x.sum(-1), "cast": x.float, "copy": x.clone,
        "transpose_contiguous": lambda: x.t().contiguous(), "cat": lambda: torch.cat((x, y), -1),
        "embedding": lambda: F.embedding(picks, x), "pad": lambda: F.pad(image, (1, 1, 1, 1)),
        "max_pool2d": lambda: F.max_pool2d(image, 3, 2, 1), "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(image, 1),
        "masked_fill": lambda: x.masked_fill(mask, 0.0), "where": lambda: torch.where(mask, x, y),
        "dropout_train": lambda: F.dropout(x, 0.1, True), "argmax": lambda: x.argmax(-1),
        "arange": lambda: torch.arange(64, device=where), "empty": lambda: torch.empty(64, **make),
        "view_transpose": lambda: x.view(8, 8, 64).transpose(0, 1), "nn_linear": lambda: linear(x), "nn_conv2d": lambda: conv(image),
        "nn_relu": lambda: relu(x), "nn_layer_norm": lambda: norm(x), "nn_batch_norm": lambda: planes(image),
    }  # fmt: skip


def main() -> None:
    import torch

    torch.manual_seed(0)
    with torch.no_grad():
        device = gpu_or_processor()
        print(json.dumps(measured(device, tiny(device.NAME), CALLS if device.queued else TRIED)))


if __name__ == "__main__":
    main()
