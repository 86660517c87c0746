"""Act I beside the learner's own machine: both testers against one real stall."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit
from ironlaw.measure.experiments import omission


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"omission": lambda run: kit.caption(lab, "act1.here", slots(run), shows(run))}


def shows(run: kit.Measured) -> bool:
    """Whether who waits for each answer missed most of the stall."""
    return p99(run, omission.OPEN) > 2 * p99(run, omission.CLOSED)


def p99(run: kit.Measured, way: str) -> float:
    row = run.row(name=way, p=0.99)
    assert row is not None  # a run without it is not shown
    return float(row["value"])


def dots(lab: kit.Lab) -> dict[tuple[float, str], tuple[float, str]]:
    """(percentile, who asked) -> seconds in the learner's own run, and its source."""
    run = lab.local_run("omission")
    rows = {(p, way): run.row(name=way, p=p) for way in (omission.CLOSED, omission.OPEN) for p in omission.PERCENTILES} if run else {}
    return {key: (float(row["value"]), run.source) for key, row in rows.items() if run and row}


def slots(run: kit.Measured) -> dict[str, object]:
    closed, users = p99(run, omission.CLOSED), p99(run, omission.OPEN)
    return {
        "stall": kit.amount(omission.STALL_S, "s"), "closed": kit.amount(closed, "s"), "open": kit.amount(users, "s"),
        "times": kit.times(users / closed), "rate": f"{omission.RATE:,.0f}",
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("omission")
    if run is None:
        return {}
    share = 100 * p99(run, omission.CLOSED) / p99(run, omission.OPEN)
    return {"test_sees_users_p99": kit.LocalFigure(share, "%", f"a stall of {omission.STALL_S} s; {run.source}")}
