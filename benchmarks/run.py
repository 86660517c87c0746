"""Speed, side by side in one run with mlsysim, the nearest neighbour on PyPI.

    make bench            or    python benchmarks/run.py [--solves 400] [--json FILE]

Each figure is the best of several repeats, so that other work on the machine disturbs it least. mlsysim's sweep is timed
over --solves points and scaled to 10,000: it calls its solver once per point either way.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ironlaw as il

POINTS = 10_000


def best(call: Callable[[], Any], repeats: int = 7, loops: int = 1) -> float:
    """Seconds per call, the best of `repeats`."""
    call()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(loops):
            call()
        found.append((time.perf_counter() - start) / loops)
    return min(found)


def import_cpu(module: str) -> float:
    """CPU seconds of `import module` in a fresh interpreter, the best of three."""
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    return min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(3))


def ours() -> dict[str, float]:
    h100, h200 = il.hardware("h100_sxm"), il.hardware("h200_sxm")
    graph = il.workload("resnet50", batch=1)
    batches = np.arange(1.0, POINTS + 1)
    flops = np.logspace(6, 12, 1_000_000)

    def sweep(hardware: il.Hardware) -> il.Prediction:
        return il.predict(il.workload("resnet50", batch=batches), hardware)

    return {
        "import, CPU s": import_cpu("ironlaw"),
        "one roofline, s": best(lambda: il.roofline(8.2e9, 5.1e7, h100, "fp16"), loops=2000),
        "one whole model, s": best(lambda: il.predict(graph, h100), loops=20),
        "one whole model, calibrated, s": best(lambda: il.predict(graph, h200), loops=20),
        f"{POINTS:,} batches of a whole model, s": best(lambda: sweep(h100)),
        f"{POINTS:,} batches, calibrated, s": best(lambda: sweep(h200)),
        "1,000,000 rooflines, s": best(lambda: il.roofline(flops, 1e8, h100, "fp16")),
    }


def theirs(solves: int) -> dict[str, float]:
    from mlsysim import Engine, Hardware, Models

    hardware, model = Hardware.Cloud.H100, Models.Vision.ResNet50
    one = best(lambda: Engine.solve(model, hardware, batch_size=1, precision="fp16"), repeats=5, loops=10)
    start = time.perf_counter()
    for batch in range(1, solves + 1):
        Engine.solve(model, hardware, batch_size=batch, precision="fp16")
    sweep = (time.perf_counter() - start) / solves * POINTS
    return {
        "import, CPU s": import_cpu("mlsysim"),
        "one roofline, s": one,
        "one whole model, s": one,
        "one whole model, calibrated, s": one,
        f"{POINTS:,} batches of a whole model, s": sweep,
        f"{POINTS:,} batches, calibrated, s": sweep,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solves", type=int, default=400)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    mine, other = ours(), theirs(args.solves)
    print(f"{'':38}{'ironlaw':>12}{'mlsysim':>12}{'ratio':>10}")
    for name, value in mine.items():
        beside = other.get(name)
        print(f"{name:38}{value:12.3g}" + (f"{beside:12.3g}{beside / value:10,.0f}" if beside else f"{'':>12}{'':>10}"))
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"ironlaw": mine, "mlsysim": other}, file, indent=1)


if __name__ == "__main__":
    main()
