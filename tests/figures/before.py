"""Every kind of prediction as figures: what a change of structure must leave as it is.

python -m tests.figures.before          compare with what is written down, to the last digit
python -m tests.figures.before --write  write it down anew: only where a change of physics is meant
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ironlaw as il
from ironlaw.registry.workloads import workload

STORED = Path(__file__).parent / "figures.json"
FIELDS = ("seconds", "data_s", "compute_s", "overhead_s", "busy_s", "kernels")
MODES = ("eager", "compiled", "graphs")
CALIBRATED = ("h200_sxm", "neoverse_n1_2core")
FEW = ("resnet50", "gpt2_layer", "dscnn_kws")
BATCHES = (1.0, 3.0, 8.0, 64.0, 1000.0)


def headline(p: Any) -> list[float]:
    """The totals of a prediction, both ends, and a sum over its ops in which each place counts otherwise."""
    rows = sum((i + 1) * float(row.seconds + 3.0 * row.data_s + 5.0 * row.compute_s + 7.0 * row.launch_s) for i, row in enumerate(p.ops))
    return [*(float(getattr(p, name)) for name in FIELDS), *map(float, p.overlap), *map(float, p.interval or ()), rows]


def named(plan: Any) -> str:
    """A plan by the fields that it had when the figures were first written down."""
    return f"Plan({', '.join(f'{name}={getattr(plan, name)!r}' for name in ('mode', 'dispatch', 'calibrated', 'launch', 'efficiency'))})"


def predictions(but: Collection[str] = ()) -> Iterator[tuple[str, list[float]]]:
    """Of every machine; the measured ones run every workload, `but` these."""
    for slug in il.machines():
        machine = il.hardware(slug)
        dtype = "fp16" if "fp16" in machine.peaks else next(iter(machine.peaks))
        for name in [each for each in il.workloads() if each not in but] if slug in CALIBRATED else FEW:
            for fmt in ("fp32", "bf16", "fp16") if slug in CALIBRATED else (dtype,):
                if fmt not in machine.peaks:
                    continue
                graph = workload(name, dtype=fmt)
                for mode in MODES:
                    p = il.predict(graph, machine, il.Plan(mode=mode, transferred=False))  # transferred times follow the H200's curves
                    yield f"{name} {fmt} {slug} {mode}", headline(p)
                if fmt == dtype:
                    for plan in (
                        il.Plan(dispatch="synchronous", transferred=False),
                        il.Plan(calibrated=False),
                        il.Plan(mode="compiled", transferred=False, launch=2e-6),
                    ):
                        yield f"{name} {fmt} {slug} {named(plan)}", headline(il.predict(graph, machine, plan))


def sweeps() -> Iterator[tuple[str, list[float]]]:
    import numpy as np

    for slug in (*CALIBRATED, "a100_80gb_sxm"):
        for name in ("resnet50", "gpt2", "llama3_2_1b", "moe_small", "unet_block", "mobilenet_v2"):
            for mode in MODES:
                p = il.predict(
                    workload(name, batch=np.array(BATCHES), dtype="fp32" if "neo" in slug else "fp16"),
                    il.hardware(slug),
                    il.Plan(mode=mode, transferred=False),
                )
                yield f"sweep {name} {slug} {mode}", [float(v) for v in p.seconds]


def curves() -> Iterator[tuple[str, list[float]]]:
    """The samples that the evidence gives, each curve's apart: what the constants are fitted to."""
    from .samples import of_machine

    for slug in CALIBRATED:
        for curve, values in of_machine(slug).items():
            yield f"samples {curve} {slug}", values


def other_graphs() -> Iterator[tuple[str, list[float]]]:
    """Weights in fewer bits, and formats that the machine has beside the usual ones."""
    from .samples import quantised

    machine = il.hardware("h200_sxm")
    for fmt in ("int8", "int4"):
        for kernel in ("", "library"):
            p = il.predict(quantised(workload("llama3_8b", phase="decode", context=128, batch=4), fmt, kernel=kernel), machine)
            yield f"quantised {fmt} {kernel.replace('library', 'torch')}", headline(p)
    for fmt in ("fp64", "tf32", "fp8", "int8"):
        if fmt in machine.peaks:
            for mode in MODES:
                yield (
                    f"format {fmt} {mode}",
                    headline(il.predict(replace(workload("bert_base", dtype=fmt)), machine, il.Plan(mode=mode))),
                )


def figures() -> dict[str, list[float]]:
    return {key: values for make in (predictions, sweeps, curves, other_graphs) for key, values in make()}


if __name__ == "__main__":
    found = figures()
    if "--write" in sys.argv:
        STORED.write_text("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
        print(len(found), "written")
    else:
        stored = json.loads(STORED.read_text())
        wrong = [k for k in stored if stored[k] != found.get(k)] + [k for k in found if k not in stored]
        print(len(stored), "compared;", len(wrong), "differ")
        for key in wrong[:20]:
            print(key, stored.get(key), found.get(key), sep="\n   ")
        sys.exit(bool(wrong))
