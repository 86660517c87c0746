"""Act I beside the learner's own machine: its staircase, from the cache to the disk, and a real all-reduce on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ironlaw import kit
from ironlaw.measure.experiments import staircase_trial

OTHERS = (staircase_trial.SHARED, staircase_trial.PIPE, staircase_trial.TCP)  # ways to another process
CLEARLY = 1.2


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"staircase": lambda run: kit.caption(lab, "act1.here_staircase", slots(run), shows(rates(run)))}


def shows(by: Mapping[str, float]) -> bool:
    """Whether some way to another process is clearly slower than memory."""
    return by[staircase_trial.MEMORY] > CLEARLY * min(by[way] for way in OTHERS)


def rates(run: kit.Measured) -> dict[str, float]:
    """Step -> bytes per second of its long message."""
    found = {}
    for way, (_, size) in staircase_trial.STEPS.items():
        row = run.row(kind="case", name=way, bytes=size)
        if row is not None:
            found[way] = size / float(row["wall_s"])
    return found


def steps(lab: kit.Lab) -> dict[str, float]:
    """The steps as the picture calls them; empty until they were measured."""
    run = lab.local_run("staircase")
    return {} if run is None else {f"here: {staircase_trial.STEPS[way][0]}": rate for way, rate in rates(run).items()}


def slots(run: kit.Measured) -> dict[str, object]:
    by = rates(run)
    slowest = min(OTHERS, key=lambda way: by[way])
    small = run.row(kind="case", name=staircase_trial.PIPE, bytes=staircase_trial.SMALL)
    return {
        **{way: kit.amount(rate, "B/s") for way, rate in by.items()},
        "slowest": staircase_trial.STEPS[slowest][0], "fall": kit.times(by[staircase_trial.MEMORY] / by[slowest]),
        "small": kit.amount(float(staircase_trial.SMALL), "B"),
        "start": kit.amount(float(small["wall_s"]), "s") if small else "not measured",
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("staircase")
    if run is None:
        return {}
    by = rates(run)
    return {
        "pcie_is_good_enough": kit.LocalFigure(by[staircase_trial.MEMORY] / by[staircase_trial.TCP], "×", f"memory to TCP; {run.source}")
    }
