"""What a model's run costs the host beyond its launches, from measured wall times: python scripts/fit_host.py

Prints the constants of engine/device/host.py beside what the rows say now; about a minute, and PyTorch and transformers must be installed.
Runs count in which the device is busy for less than WAITING of the wall time and as many kernels were predicted as ran. Training steps are
compared with eager runs of the same machine, so that a host's speed is in neither AUTOGRAD nor PER_TENSOR.
"""

import sys
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import mean, median

import ironlaw as il
from ironlaw.engine.device.host import AUTOGRAD, PER_TENSOR, PYTHON, python_factor
from ironlaw.systems.accuracy.held_out import WAITING

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from open_set import MACHINE, captured, rows
from opened_runs import opened_runs

NEAR = 1.25  # predicted over measured kernels, at most


@dataclass
class Run:
    source: str
    mode: str
    measured: float  # seconds
    ops: float  # seconds of launches queued back to back, without those on lists
    kernels: float  # of calls on lists
    tensors: float


def run_of(source, row, graph):
    """None where the host is not what is waited for."""
    p = il.predict(graph, il.hardware(MACHINE))
    wrong = max(p.kernels / row["kernels"], row["kernels"] / p.kernels) > NEAR
    if not row.get("piped_s") or row["busy_s"] > WAITING * row["piped_s"] or wrong:
        return None
    lists = [one for one in p.ops if one.kind == "foreach"]
    ops = sum(one.launch_s / python_factor(graph.settings, one.kind) for one in p.ops if one.kind != "foreach")
    return Run(source, row["mode"], row["piped_s"], ops, sum(one.kernels for one in lists), sum(len(one.op.inputs) for one in lists))


def measured_runs():
    memo = {}
    for name in ("zoo_eager", "zoo_training"):
        for row in rows(name):
            yield run_of("zoo", row, captured(row, memo))
    for row, graph in opened_runs():
        if row["mode"] in ("eager", "training"):
            yield run_of("opened", row, graph)


def main():
    runs = [run for run in measured_runs() if run]
    eager = [run for run in runs if run.mode == "eager"]
    scales = {name: median(run.measured / run.ops for run in eager if run.source == name) for name in ("zoo", "opened")}
    default = il.hardware(MACHINE).calibration.host.default
    steps = [run for run in runs if run.mode == "training"]

    def off(autograd, tensor):
        lists = [default * (run.kernels + tensor * run.tensors) for run in steps]
        return mean(abs(log(r.measured / scales[r.source] / (autograd * r.ops + rest))) for r, rest in zip(steps, lists, strict=True))

    best = min((off(a / 20, t / 100), a / 20, t / 100) for a in range(16, 50) for t in range(0, 50))
    print(f"PYTHON      {PYTHON:5} rows say {median(run.measured / run.ops for run in eager):.2f}, {len(eager)} runs; by set {scales}")
    print(f"AUTOGRAD    {AUTOGRAD:5} rows say {best[1]:.2f}, {len(steps)} runs")
    print(f"PER_TENSOR  {PER_TENSOR:5} rows say {best[2]:.2f}")
    print(f"training steps are off by {best[0]:.0%} then, {off(AUTOGRAD, PER_TENSOR):.0%} with the constants as they are")


if __name__ == "__main__":
    main()
