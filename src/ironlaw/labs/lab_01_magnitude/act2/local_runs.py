"""Act II beside the learner's own machine: what an op costs there, and how long the keyword spotter takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from ironlaw import kit
from ironlaw.claims import row
from ironlaw.kit.local_runs import cost, span
from ironlaw.labs.lab_01_magnitude.act2.case import EACH, Case, premise
from ironlaw.labs.lab_01_magnitude.devices import CLOUD
from ironlaw.pictures.beside import RECORDED, Measurement
from ironlaw.registry import evidence
from ironlaw.registry.machines import hardware
from ironlaw.units import significant

SPOTTER, MODELS, MACHINE = "dscnn_kws", "h200_sxm/models", "h200_sxm/machine"
RAN = (1, 32)  # batches of the spotter that both machines ran


@cache
def source_of(file: str) -> str:
    return evidence.file(file).source


def recorded_launch() -> float:
    """What launching costs the recorded H200's host: the figure that every prediction for it takes."""
    curves = hardware("h200_sxm").calibration
    assert curves is not None
    return float(curves.host.default)


def overhead_at(case: Case, launch: float) -> float:
    """*L* of a case whose every launch costs so much."""
    return replace(case, hardware=replace(case.hardware, launch=launch)).seconds["overhead"]


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {
        "tiny_ops": lambda run: lab.fill("act2.here_ops", **ops_slots(lab, run)),
        "ds_cnn": lambda run: lab.fill("act2.here_spotter", **spotter_slots(run)),
    }


def ops_slots(lab: kit.Lab, run: kit.Measured) -> dict[str, object]:
    case, each = replace(premise(CLOUD), launch=EACH), cost(run)
    return {
        "each": kit.amount(each["wall_s"], "s"), "span": span(each), "loop": kit.amount(cost(run, "nothing")["wall_s"], "s"),
        "launches": significant(case.launches, 4), "overhead": kit.amount(overhead_at(case, each["wall_s"]), "s"),
        "recorded": kit.amount(recorded_launch(), "s"), "recorded_overhead": kit.amount(overhead_at(case, recorded_launch()), "s"),
        "queue": _queue(lab, run),
    }  # fmt: skip


def _queue(lab: kit.Lab, run: kit.Measured) -> str:
    """Whether there is anything to run ahead of."""
    if run.machine.get("backend") == "cpu":
        return lab.fill("act2.here_no_queue")
    return lab.fill("act2.here_queue", waited=kit.amount(cost(run)["sync_s"], "s"))


def spotter_slots(run: kit.Measured) -> dict[str, object]:
    mine, theirs = run.row(batch=1, mode="eager"), row(MODELS, workload=SPOTTER, batch=1, mode="eager")
    assert mine is not None
    return {
        "wall": kit.amount(mine["wall_s"], "s"), "span": span(mine), "format": mine["params"]["dtype"].upper(),
        "recorded": kit.amount(theirs.value("wall_s"), "s"), "busy": kit.amount(theirs.value("busy_s"), "s"),
        "recorded_format": theirs.dtype.upper(), "source": source_of(MODELS),
    }  # fmt: skip


def bars(lab: kit.Lab, case: Case) -> list[Measurement]:
    """For the bars: the spotter's own time where it is the model, and *L* at the cost of an op here, kernel by kernel."""
    return [*_launches(lab, case), *_spotter(lab, case)]


def _launches(lab: kit.Lab, case: Case) -> list[Measurement]:
    run = lab.local_run("tiny_ops")
    if run is None or case.launch != EACH or case.launches == 1:
        return []
    return [
        Measurement("L at this host's cost", overhead_at(case, cost(run)["wall_s"]), "s", run.source),
        Measurement("L at the H200 host's", overhead_at(case, recorded_launch()), "s", source_of(MACHINE), RECORDED),
    ]


def _spotter(lab: kit.Lab, case: Case) -> list[Measurement]:
    run = lab.local_run("ds_cnn")
    mine = run.row(batch=case.batch, mode="eager") if run and case.workload == SPOTTER else None
    if run is None or mine is None:
        return []
    bars = [Measurement("T measured here", float(mine["wall_s"]), "s", run.source, span=span(mine))]
    if case.batch in RAN:
        theirs = row(MODELS, workload=SPOTTER, batch=case.batch, mode="eager")
        bars.append(Measurement("T on an H200", float(theirs.value("wall_s")), "s", source_of(MODELS), RECORDED))
    return bars


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """The arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("tiny_ops")
    if run is None:
        return {}
    ratio = float(cost(run)["wall_s"]) / premise(CLOUD).seconds["compute"]
    return {"overhead_negligible": kit.LocalFigure(ratio, "×", f"one op on this machine's host over the same arithmetic; {run.source}")}
