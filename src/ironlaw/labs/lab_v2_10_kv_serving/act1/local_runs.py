"""Act I beside the learner's own machine: a small decoder with its cache and without."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit
from ironlaw.measure.experiments import kv_decode
from ironlaw.measure.experiments.kv_decode import CACHED, CONTEXTS, LENGTHS, STEP, UNCACHED, WHOLE


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"kv_decode": lambda run: lab.fill("act1.here_kv_decode" if told_apart(run) else "act1.here_kv_noisy", **slots(run))}


def told_apart(run: kit.Measured) -> bool:
    """Whether the run shows what it is for: longer answers cost more without a cache."""
    by = {way: times(run, way) for way in kv_decode.WAYS}
    return all(by.values()) and by[UNCACHED][-1][1] / by[UNCACHED][0][1] > by[CACHED][-1][1] / by[CACHED][0][1]


def times(run: kit.Measured, way: str) -> list[tuple[float, float]]:
    """(tokens, seconds) of whole answers."""
    rows = ((n, run.row(kind="case", name=WHOLE, way=way, tokens=n)) for n in LENGTHS)
    return [(float(n), float(row["wall_s"])) for n, row in rows if row is not None]


def step_ratio(run: kit.Measured) -> float | None:
    """Without over with, of one token after the longest context."""
    rows = [run.row(kind="case", name=STEP, way=way, context=CONTEXTS[-1]) for way in (UNCACHED, CACHED)]
    return float(rows[0]["wall_s"]) / float(rows[1]["wall_s"]) if rows[0] and rows[1] else None


def slots(run: kit.Measured) -> dict[str, object]:
    by = {way: times(run, way) for way in kv_decode.WAYS}
    growth = {way: points[-1][1] / points[0][1] if points else 0.0 for way, points in by.items()}
    ratio = step_ratio(run)
    return {
        "few": LENGTHS[0], "many": LENGTHS[-1], "more": kit.times(LENGTHS[-1] / LENGTHS[0]), "with_growth": kit.times(growth[CACHED], 2),
        "without_growth": kit.times(growth[UNCACHED], 2), "with_s": kit.amount(by[CACHED][-1][1], "s") if by[CACHED] else "not measured",
        "without_s": kit.amount(by[UNCACHED][-1][1], "s") if by[UNCACHED] else "not measured", "context": f"{CONTEXTS[-1]:,}",
        "step": kit.times(ratio, 2) if ratio else "not measured",
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("kv_decode")
    ratio = step_ratio(run) if run else None
    if run is None or ratio is None:
        return {}
    return {"no_cache_costs_the_context": kit.LocalFigure(ratio, "×", f"time of a step after {CONTEXTS[-1]} tokens; {run.source}")}
