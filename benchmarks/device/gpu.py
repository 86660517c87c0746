"""The GPU that these programs measure (or, without one, the processor, to try them), and how they time and write."""

import statistics
import time
from pathlib import Path

import torch

from ironlaw.formats import FORMATS
from ironlaw.measure import evidence_file
from ironlaw.measure.rows import typed
from ironlaw.measure.software_host import software
from ironlaw.measure.suites.cuda.launches import gpu_or_processor

GPU = gpu_or_processor()
sync = GPU.clock.sync
DTYPES = {name: FORMATS[name].in_torch(torch) for name in ("fp16", "bf16", "fp32", "tf32")}


def write(path, method, rows, **about):
    """Write an evidence file of the H200. `about`: what else its machine says."""
    machine = GPU.machine() | {"hardware": "h200_sxm"} | about
    evidence_file.write(Path(path), machine=machine, software=software(), method=method, rows=typed(rows))


def clock(call):
    """Median synchronised seconds per call, and seconds per piped call."""
    sync()
    start = time.perf_counter()
    call()
    sync()
    once = time.perf_counter() - start
    groups, repeats = (5, 10) if once < 0.2 else (1, 3)
    walls, piped = [], []
    for _ in range(groups):
        for _ in range(repeats // 2):
            start = time.perf_counter()
            call()
            sync()
            walls.append(time.perf_counter() - start)
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        sync()
        piped.append((time.perf_counter() - start) / repeats)
    return round(statistics.median(walls), 9), round(statistics.median(piped), 9)
