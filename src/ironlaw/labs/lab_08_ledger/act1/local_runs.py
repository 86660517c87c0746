"""Act I beside the learner's own process: bytes that were counted, and what the ledger expects of them."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit
from ironlaw.measure.experiments import memory_trial
from ironlaw.units import significant


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    return {"ledger": lambda run: lab.fill("act1.here", **slots(run))}


def slots(run: kit.Measured) -> dict[str, object]:
    rows = [row for row in run.all(kind="figure") if row["params"].get("expected")]
    worst = max(rows, key=lambda row: abs(row["value"] / row["params"]["expected"] - 1))
    kept = next(row for row in rows if row["name"] == memory_trial.KEPT)
    off = 100 * abs(worst["value"] / worst["params"]["expected"] - 1)
    return {
        "count": str(len(rows)), "kept": kit.amount(float(kept["value"]), "B"),
        "expected": kit.amount(float(kept["params"]["expected"]), "B"),
        "what": str(kept["label"]), "off": "a byte" if off == 0 else f"{significant(off, 2)} %",
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("ledger")
    if run is None:
        return {}
    static = (memory_trial.WEIGHTS, memory_trial.GRADIENTS, memory_trial.STATE)
    rows = [r for r in run.all(kind="figure") if r["name"] in static and r["params"].get("optimiser", "adamw") == "adamw"]
    expected = sum(float(r["params"]["expected"]) for r in rows)
    if not expected:
        return {}
    total = sum(float(r["value"]) for r in rows)
    return {"adam_sixteen_bytes": kit.LocalFigure(16.0 * total / expected, "B", f"static rows of a small net; {run.source}")}
