"""Act I beside the learner's own machine: a job that is killed there, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ironlaw import kit
from ironlaw.engine.cluster.failures import goodput, optimum
from ironlaw.measure.experiments import checkpointing

NAME = "checkpointing"


@dataclass(frozen=True)
class Job:
    """What was measured: seconds, and the share of useful work at each interval, in percent."""

    save: float
    restart: float
    between: float
    kills: int
    intervals: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def law(self) -> tuple[float, ...]:
        """Percent that the model has at the same intervals."""
        return tuple(100 * float(goodput(each, self.save, self.restart, self.between).goodput) for each in self.intervals)


def job(run: kit.Measured) -> Job:
    rows = sorted(run.all(kind="figure", name=checkpointing.GOODPUT), key=lambda row: float(row["params"]["interval_s"]))
    save, restart = (float((run.row(kind="case", name=name) or {})["wall_s"]) for name in (checkpointing.SAVE, checkpointing.RESTART))
    first = rows[0]["params"]
    return Job(
        save, restart, float(first["mtbf_s"]), int(first["kills"]), tuple(float(row["params"]["interval_s"]) for row in rows),
        tuple(float(row["value"]) for row in rows),
    )  # fmt: skip


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {NAME: lambda run: lab.fill("act1.here_checkpointing", **slots(run))}


def slots(run: kit.Measured) -> dict[str, object]:
    here = job(run)
    best = max(range(len(here.values)), key=lambda i: here.values[i])
    off = sum(abs(seen - law) for seen, law in zip(here.values, here.law, strict=True)) / len(here.values)
    return {
        "save": kit.amount(here.save, "s"), "restart": kit.amount(here.restart, "s"), "between": kit.amount(here.between, "s"),
        "exact": kit.amount(optimum(here.save, here.between), "s"), "most": kit.amount(here.intervals[best], "s"),
        "value": kit.amount(here.values[best], "%"), "law": kit.amount(here.law[best], "%"), "kills": here.kills,
        "off": kit.amount(off, "points", 2),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run(NAME)
    if run is None:
        return {}
    here = job(run)
    lost = {interval: 100 - value for interval, value in zip(here.intervals, here.values, strict=True)}
    row = {float(each["params"]["factor"]): float(each["params"]["interval_s"]) for each in run.all(name=checkpointing.GOODPUT)}
    if not lost[row[1.0]]:
        return {}
    return {"the_minimum_is_sharp": kit.LocalFigure(lost[row[2.0]] / lost[row[1.0]], "×", f"restarts included; {run.source}")}
