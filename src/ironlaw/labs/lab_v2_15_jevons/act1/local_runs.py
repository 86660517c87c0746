"""Act I beside the learner's own machine: joules of a product, one row at a time and many together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ironlaw import kit
from ironlaw.measure.experiments import energy_trial
from ironlaw.registry import evidence

NAME = "energy"
ONE, MANY = energy_trial.BATCHES[0], energy_trial.BATCHES[-1]


def joules(run: kit.Measured) -> dict[int, float]:
    """Batch -> joules of a row; empty where no counter could be read."""
    rows = {int(row["params"]["batch"]): float(row["value"]) for row in run.all(kind="figure", name=energy_trial.JOULES)}
    return rows if set(rows) >= {ONE, MANY} and all(value > 0 for value in rows.values()) else {}


def seconds(run: kit.Measured) -> dict[int, float]:
    """Batch -> seconds of a row."""
    return {
        int(row["params"]["batch"]): float(row["wall_s"]) / int(row["params"]["batch"])
        for row in run.all(kind="case", name=energy_trial.TIME)
    }


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {NAME: lambda run: caption(lab, run)}


def caption(lab: kit.Lab, run: kit.Measured) -> str:
    times, spent = seconds(run), joules(run)
    faster = {"faster": kit.times(times[ONE] / times[MANY]), "rows": MANY}
    if not spent:
        why = str((run.row(kind="case", name=energy_trial.TIME) or {}).get("params", {}).get("why") or "it has none")
        return lab.fill("act1.here_no_counter", why=why, ours=kit.times(published_ratio()), **faster)
    idle = run.row(kind="figure", name=energy_trial.IDLE)
    busy = run.row(kind="figure", name=energy_trial.POWER, batch=MANY)
    slots = {
        "one": kit.amount(spent[ONE], "J"), "many": kit.amount(spent[MANY], "J"), "less": kit.times(spent[ONE] / spent[MANY]),
        "idle": kit.amount(float(idle["value"]) if idle else 0.0, "W"), "busy": kit.amount(float(busy["value"]) if busy else 0.0, "W"),
    }  # fmt: skip
    return kit.caption(lab, "act1.here_energy", {**slots, **faster}, shows(times, spent))


def shows(times: Mapping[int, float], spent: Mapping[int, float]) -> bool:
    """Whether a row among many took less time and less energy than one alone."""
    return times[MANY] < times[ONE] and spent[MANY] < spent[ONE]


def published_ratio() -> float:
    """Joules of a token one at a time over those at 64, on the H200."""
    rows = {row.params["batch"]: row.extra["joules_per_token"] for row in evidence.file("h200_sxm/decode_power").rows
            if row.params["context"] == 1024}  # fmt: skip
    return float(rows[ONE] / rows[MANY])


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Joules where they could be read, else seconds, and the figure says so. Further arguments are states: naming them is what runs the
    cell again."""
    run = lab.local_run(NAME)
    if run is None:
        return {}
    spent = joules(run)
    per_row, words = (spent, "rows of a product") if spent else (seconds(run), "seconds instead of joules, which could not be read")
    return {"a_batch_costs_as_much_each": kit.LocalFigure(MANY * per_row[MANY] / per_row[ONE], "×", f"{words}; {run.source}")}
