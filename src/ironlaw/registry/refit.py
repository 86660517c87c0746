"""Evidence -> registry/calibration/*.json.

    python scripts/calibrate.py h200_sxm      fit again and store

A test fits again and holds the stored files to the evidence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles

from ironlaw.backends.rows import Row
from ironlaw.calibration.calibration import Calibration
from ironlaw.calibration.fit import calibrate
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.errors import BadRegistry
from ironlaw.registry.evidence import evidence
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload

ENOUGH = 8  # models before their scatter says something


def refit(slug: str) -> Calibration:
    """Fit a machine's curves to its op and launch rows (some seconds), then see how whole models scatter around them."""
    files = [file for file in evidence(slug) if any(row.kind in ("op", "launch") for row in file.rows)]
    if not files:
        raise BadRegistry(f"no op or launch rows for {slug}; put evidence into registry/evidence/{slug}/ first (see FORMAT.md there)")
    rows = [row for file in files for row in file.rows]
    described = next((file.machine for file in reversed(files) if "host" in file.machine), files[-1].machine)
    fitted = calibrate(rows, described, hardware(slug), tuple(file.source for file in files))
    return replace(
        fitted, spread=spread(slug, fitted), compile_kernel_s=compile_kernel_s(row for file in evidence(slug) for row in file.rows)
    )


def compile_kernel_s(rows: Iterable[Row]) -> float:
    """Seconds of a first compiled call for each kernel: the median over models. 0 where too few were compiled."""
    each = [row.compile_s / row.kernels for row in rows if row.kind == "model" and row.mode == "compiled" and row.compile_s and row.kernels]
    return float(f"{median(each):.3g}") if len(each) >= ENOUGH else 0.0


def spread(slug: str, fitted: Calibration) -> dict[str, tuple[float, float]]:
    """Per mode, between which multiples of the predicted device time the measured one lay, four times in five."""
    machine = replace(hardware(slug), calibration=fitted)
    ratios: dict[str, list[float]] = {}
    for row in (row for file in evidence(slug) for row in file.rows if _judges(row)):
        measured = getattr(row, fitted.library.row_time)
        if measured is None:
            continue
        predicted = predict(workload(row.workload, **row.params), machine, Plan(mode=row.mode))
        seconds = predicted.seconds if fitted.library.row_time == "wall_s" else predicted.busy_s
        ratios.setdefault(row.mode, []).append(measured / seconds)
    if "compiled" in ratios:
        ratios["graphs"] = ratios["compiled"]  # the same kernels, replayed
    tenths = {mode: quantiles(values, n=10) for mode, values in ratios.items() if len(values) >= ENOUGH}
    return {mode: (round(cuts[0], 4), round(cuts[-1], 4)) for mode, cuts in tenths.items()}


def _judges(row: Row) -> bool:
    """Whether a row is a registry model as the registry builds it."""
    return row.kind == "model" and bool(row.workload) and not row.variant and "attention" not in row.params


def write(slug: str) -> Path:
    path = folder("calibration") / f"{slug}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(refit(slug).to_json(), indent=1) + "\n")
    return path
