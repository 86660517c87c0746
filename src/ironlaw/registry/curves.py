"""registry/calibration/*.json: the curves fitted to each measured machine. Made by `write`, never edited by hand.

    python scripts/calibrate.py h200_sxm      fit again and store

A test fits again and holds the stored files to the evidence.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import quantiles

from ironlaw.engine.calibrate import Calibration
from ironlaw.engine.fit import calibrate
from ironlaw.engine.predict import predict
from ironlaw.engine.types import Plan
from ironlaw.errors import BadRegistry
from ironlaw.registry import this
from ironlaw.registry.evidence import evidence
from ironlaw.registry.loader import folder

ENOUGH = 8  # models before their scatter says something


def calibration(slug: str) -> Calibration | None:
    """The curves of a machine; None where it was not measured."""
    return this.calibration() if slug == this.SLUG else _stored(slug)


@cache
def _stored(slug: str) -> Calibration | None:
    path = folder("calibration") / f"{slug}.json"
    return Calibration.from_json(json.loads(path.read_text())) if path.exists() else None


def refit(slug: str) -> Calibration:
    """Fit a machine's curves to its op and launch rows (some seconds), then see how whole models scatter around them."""
    found = [file for file in evidence(slug) if any(row["kind"] in ("op", "launch") for row in file.rows)]
    if not found:
        raise BadRegistry(f"no op or launch rows for {slug}; put evidence into registry/evidence/{slug}/ first (see FORMAT.md there)")
    rows = [row for file in found for row in file.rows]
    fitted = calibrate(rows, found[-1].machine, tuple(file.source for file in found))
    return replace(fitted, spread=spread(slug, fitted))


def spread(slug: str, fitted: Calibration) -> dict[str, tuple[float, float]]:
    """Per mode, between which multiples of the predicted device time the measured one lay, four times in five."""
    from ironlaw.registry.machines import hardware
    from ironlaw.registry.workloads import workload

    machine = replace(hardware(slug), calibration=fitted)
    ratios: dict[str, list[float]] = {}
    for file in evidence(slug):
        for row in file.rows:
            timed = "wall_s" if machine.kind == "cpu" else "busy_s"  # on a processor a call is its work
            if row["kind"] == "model" and "workload" in row and timed in row and "variant" not in row and "attention" not in row["params"]:
                found = predict(workload(row["workload"], **row["params"]), machine, Plan(mode=row["mode"]))
                ratios.setdefault(row["mode"], []).append(row[timed] / (found.seconds if machine.kind == "cpu" else found.busy_s))
    if "compiled" in ratios:
        ratios["graphs"] = ratios["compiled"]  # the same kernels, replayed
    tenths = {mode: quantiles(values, n=10) for mode, values in ratios.items() if len(values) >= ENOUGH}
    return {mode: (round(cuts[0], 4), round(cuts[-1], 4)) for mode, cuts in tenths.items()}


def write(slug: str) -> Path:
    path = folder("calibration") / f"{slug}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(refit(slug).to_json(), indent=1) + "\n")
    return path
