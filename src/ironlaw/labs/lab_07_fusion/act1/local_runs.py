"""Act I beside the learner's own machine: what an op costs there, and how long the spotter takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ironlaw import kit
from ironlaw.kit.local_runs import cost, span
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.labs.lab_07_fusion.jobs import EAGER, SYNC, Job, premise
from ironlaw.pictures.waterfall import Part
from ironlaw.registry.machines import hardware
from ironlaw.registry.textbooks import textbook

SPOTTER = "graph:dscnn_kws"
ROWS = {"here": "eager, at your launch cost", "recorded": "eager, at the H200's cost"}
RAN = {"here": "measured here", "recorded": "measured on an H200"}


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {
        "tiny_ops": lambda run: lab.fill("act1.here_ops", **ops_slots(lab, run)),
        "ds_cnn": lambda run: lab.fill("act1.here_spotter", **spotter_slots(lab, run)),
    }


def recorded_launch() -> float:
    """What launching costs the recorded H200's host, in seconds: the same figure as for the H200 everywhere in the lab."""
    curves = hardware("h200_sxm").calibration
    assert curves is not None
    return float(curves.host.default)


def launches(lab: kit.Lab) -> dict[str, float]:
    """What an op costs: here, and on the recorded machine's host; empty where nothing was measured here."""
    run = lab.local_run("tiny_ops")
    return {"here": float(cost(run)["wall_s"]), "recorded": recorded_launch()} if run else {}


def textbook_jobs(lab: kit.Lab, job: Job) -> dict[str, Job]:
    """A textbook pass as it would be with those launches; the kernels keep their microseconds."""
    if jobs.is_graph(job.model):
        return {}
    machine = lab.current_context.hardware
    return {
        ROWS[name]: replace(job, context=replace(lab.current_context, device=replace(machine, launch=launch, calibration=None)))
        for name, launch in launches(lab).items()
    }


def walls(lab: kit.Lab, job: Job) -> dict[str, list[Part]]:
    """The spotter's measured wall time, here and on the H200: nothing was counted that would take it apart."""
    run = lab.local_run("ds_cnn") if job.model == SPOTTER else None
    mine = run.row(batch=1, mode=EAGER) if run else None
    if run is None or mine is None:
        return {}
    theirs = jobs.measured_run(SPOTTER, EAGER)
    return {
        RAN["here"]: [Part(RAN["here"], float(mine["wall_s"]), "here", source=f"{run.source}; {span(mine)}")],
        RAN["recorded"]: [Part(RAN["recorded"], float(theirs.value("wall_s")), "cloud", source=jobs.source())],
    }


def ops_slots(lab: kit.Lab, run: kit.Measured) -> dict[str, object]:
    each, spotter, cloud = cost(run), textbook("kws"), hardware(jobs.CLOUD)
    shares = {
        name: premise(replace(cloud, launch=launch), spotter, dispatch=SYNC)
        for name, launch in (("here", float(each["wall_s"])), ("recorded", recorded_launch()))
    }
    on_cpu = run.machine.get("backend") == "cpu"
    queue = lab.fill("act1.here_no_queue") if on_cpu else lab.fill("act1.here_queue", waited=kit.amount(each["sync_s"], "s"))
    return {
        "each": kit.amount(each["wall_s"], "s"), "span": span(each), "queue": queue, "kernels": f"{spotter.kernels:,}",
        "kernel": kit.amount(spotter.kernel_s, "s"), "share": kit.amount(shares["here"], "%"),
        "asked": kit.amount(premise(cloud, spotter), "%"), "recorded": kit.amount(recorded_launch(), "s"),
        "recorded_share": kit.amount(shares["recorded"], "%"),
    }  # fmt: skip


def spotter_slots(lab: kit.Lab, run: kit.Measured) -> dict[str, object]:
    mine, theirs = run.row(batch=1, mode=EAGER), jobs.measured_run(SPOTTER, EAGER)
    assert mine is not None
    quicker = mine["wall_s"] < theirs.value("wall_s")
    return {
        "wall": kit.amount(mine["wall_s"], "s"), "span": span(mine), "recorded": kit.amount(theirs.value("wall_s"), "s"),
        "busy": kit.amount(theirs.value("busy_s"), "s"), "kernels": f"{int(theirs.value('kernels'))}", "source": jobs.source(),
        "verdict": lab.words["act1.here_quicker" if quicker else "act1.here_slower"],
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("tiny_ops")
    return {"launch_5_to_20_us": kit.LocalFigure(float(cost(run)["wall_s"]), "s", f"one add; {run.source}")} if run else {}
