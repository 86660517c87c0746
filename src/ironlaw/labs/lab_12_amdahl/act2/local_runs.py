"""Act II on real workers: the learner's own, and those of a recorded machine where the evidence has them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ironlaw import kit
from ironlaw.engine.scaling.amdahl import amdahl, karp_flatt
from ironlaw.engine.scaling.usl import UslFit, fit_usl
from ironlaw.measure.experiments.workers import PROCESSES, THREADS, WAYS
from ironlaw.registry import evidence

FILE = "h200_sxm/workers"
MANY = 64.0
Points = dict[str, list[tuple[float, float]]]


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    return {"workers": lambda run: lab.fill("act2.here_workers", **slots(run))}


def speedups(run: kit.Measured, way: str) -> list[tuple[float, float]]:
    rows = list(run.all(name=way))
    alone = next(float(row["wall_s"]) for row in rows if row["params"]["workers"] == 1)
    return [(float(row["params"]["workers"]), alone / float(row["wall_s"])) for row in rows]


def points(lab: kit.Lab) -> Points:
    run = lab.local_run("workers")
    return {f"{way}, {run.source}": speedups(run, way) for way in WAYS} if run else {}


def share(run: kit.Measured, way: str) -> float:
    """The serial share that two workers stand for; at least 0, where a machine was lucky."""
    return max(0.0, min(1.0, float(karp_flatt(dict(speedups(run, way))[2.0], 2.0))))


def slots(run: kit.Measured) -> dict[str, object]:
    figures: dict[str, object] = {"many": f"{MANY:.0f}"}
    for way in (THREADS, PROCESSES):
        figures |= {f"{way}_two": kit.times(dict(speedups(run, way))[2.0]), f"{way}_share": kit.amount(100 * share(run, way), "%", 2),
                  f"{way}_many": kit.times(float(amdahl(share(run, way), MANY)))}  # fmt: skip
    n, most = max(speedups(run, PROCESSES))
    return {**figures, "most": f"{n:.0f}", "most_speedup": kit.times(most)}


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    return {}


# --- the recorded machine


@cache
def recorded() -> tuple[Points, str]:
    """Speed-ups by way, and the machine that they were measured on."""
    run = evidence.file(FILE)
    series: Points = {}
    for way in WAYS:
        rows = [row for row in run.rows if row.name == way]
        alone = next(row.value("wall_s") for row in rows if row.params["workers"] == 1)
        series[way] = [(float(row.params["workers"]), alone / row.value("wall_s")) for row in rows]
    return series, f"{run.machine['cpu']}, {run.machine['cores']} cores; {run.source}"


@cache
def fitted(way: str) -> UslFit:
    return fit_usl(recorded()[0][way])


def recorded_slots() -> dict[str, object]:
    series, on = recorded()
    figures: dict[str, object] = {"machine": on}
    for way in (THREADS, PROCESSES):
        at = dict(series[way])
        most = max(at)
        two = max(0.0, float(karp_flatt(at[2.0], 2.0)))
        fit = fitted(way)
        assert fit.sigma_interval is not None
        figures |= {
            f"{way}_two": kit.times(at[2.0]), f"{way}_said": kit.times(float(amdahl(two, most))), f"{way}_most": kit.times(at[most]),
            f"{way}_sigma": kit.amount(100 * fit.sigma, "%", 2), f"{way}_low": kit.amount(100 * fit.sigma_interval[0], "%", 2),
            f"{way}_high": kit.amount(100 * fit.sigma_interval[1], "%", 2), f"{way}_kappa": kit.dress(f"{fit.kappa:.2g}"),
        }  # fmt: skip
    return {**figures, "most": f"{max(dict(series[THREADS])):.0f}"}
