"""Act II beside the learner's own machine: a real server that batches products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw import kit
from ironlaw.measure.experiments import batches
from ironlaw.units import significant


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"batches": lambda run: lab.fill("act2.here_batches", **batch_slots(run))}


def streams(run: kit.Measured) -> list[Any]:
    """What was seen of each stream, in the order in which they ran."""
    rows = [run.row(kind="case", name=name, load=load) for name, load, _ in batches.STREAMS]
    return [row["params"] for row in rows if row is not None]


def points(lab: kit.Lab) -> dict[str, list[tuple[float, float]]]:
    """Policy -> (rate, P99) of the learner's own server."""
    run = lab.local_run("batches")
    if run is None:
        return {}
    one, *waiting = ((float(stream["rate"]), float(stream["p99_s"])) for stream in streams(run))
    return {f"one request, {run.source}": [one], f"everyone waiting, {run.source}": waiting}


def batch_slots(run: kit.Measured) -> dict[str, object]:
    one, same, more = streams(run)
    alone, full = (run.row(kind="case", name=batches.TIME, batch=size) for size in (1, batches.MOST))
    assert alone is not None and full is not None
    return {
        "alone": kit.amount(float(alone["wall_s"]), "s"), "most": batches.MOST, "full": kit.amount(float(full["wall_s"]), "s"),
        "rate": significant(one["rate"]), "one": kit.amount(one["p99_s"], "s"), "same": kit.amount(same["p99_s"], "s"),
        "more_rate": significant(more["rate"]), "more": kit.amount(more["p99_s"], "s"), "busy": kit.amount(100 * more["busy"], "%"),
        "batch": significant(more["batch"], 2), "work": kit.amount(more["service_s"], "s"),
        "load": kit.amount(100 * more["rate"] * float(full["wall_s"]) / batches.MOST, "%"),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("batches")
    full = run.row(kind="case", name=batches.TIME, batch=batches.MOST) if run else None
    if run is None or full is None:
        return {}
    more = streams(run)[-1]
    load = 100 * more["rate"] * float(full["wall_s"]) / batches.MOST
    return {"gpu_utilisation_is_load": kit.LocalFigure(load, "%", f"loaded, while busy {100 * more['busy']:.0f}%; {run.source}")}
