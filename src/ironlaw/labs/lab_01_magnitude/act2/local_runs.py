"""Act II beside the learner's own machine: what an op costs there, and how long the keyword spotter takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from ironlaw import kit
from ironlaw.kit.here import cost, span
from ironlaw.labs.lab_01_magnitude.act2.case import EACH, Case, premise
from ironlaw.labs.lab_01_magnitude.devices import CLOUD
from ironlaw.pictures.beside import RECORDED, Seen
from ironlaw.registry.claims import row
from ironlaw.registry.evidence import evidence
from ironlaw.units import significant

SPOTTER, MODELS, MICRO = "dscnn_kws", "h200_sxm/models", "h200_sxm/micro"
RAN = (1, 32)  # batches of the spotter that both machines ran


@cache
def source_of(file: str) -> str:
    return next(e.source for e in evidence(file.partition("/")[0]) if e.name == file)


def launch_recorded() -> float:
    """What the recorded H200's host takes to launch one add."""
    return float(row(MICRO, kind="launch", op="add")["wall_s"])


def at(case: Case, launch: float) -> float:
    """*L* of a case whose every launch costs so much."""
    return replace(case, hardware=replace(case.hardware, launch=launch)).seconds["overhead"]


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {
        "tiny_ops": lambda run: lab.fill("act2.here_ops", **ops_slots(lab, run)),
        "ds_cnn": lambda run: lab.fill("act2.here_spotter", **spotter_slots(run)),
    }


def ops_slots(lab: kit.Lab, found: kit.Measured) -> dict[str, object]:
    case, each = replace(premise(CLOUD), launch=EACH), cost(found)
    return {
        "each": kit.amount(each["wall_s"], "s"), "span": span(each), "loop": kit.amount(cost(found, "nothing")["wall_s"], "s"),
        "launches": significant(case.launches, 4), "overhead": kit.amount(at(case, each["wall_s"]), "s"),
        "recorded": kit.amount(launch_recorded(), "s"), "recorded_overhead": kit.amount(at(case, launch_recorded()), "s"),
        "queue": _queue(lab, found),
    }  # fmt: skip


def _queue(lab: kit.Lab, found: kit.Measured) -> str:
    """Whether there is anything to run ahead of."""
    if found.machine.get("backend") == "cpu":
        return lab.fill("act2.here_no_queue")
    return lab.fill("act2.here_queue", waited=kit.amount(cost(found)["sync_s"], "s"))


def spotter_slots(found: kit.Measured) -> dict[str, object]:
    mine, theirs = found.row(batch=1, mode="eager"), row(MODELS, workload=SPOTTER, batch=1, mode="eager")
    assert mine is not None
    return {
        "wall": kit.amount(mine["wall_s"], "s"), "span": span(mine), "format": mine["params"]["dtype"].upper(),
        "recorded": kit.amount(theirs["wall_s"], "s"), "busy": kit.amount(theirs["busy_s"], "s"),
        "recorded_format": theirs["params"]["dtype"].upper(), "source": source_of(MODELS),
    }  # fmt: skip


def seen(lab: kit.Lab, case: Case) -> list[Seen]:
    """For the bars: the spotter's own time where it is the model, and *L* at the cost of an op here, kernel by kernel."""
    return [*_launches(lab, case), *_spotter(lab, case)]


def _launches(lab: kit.Lab, case: Case) -> list[Seen]:
    found = lab.here("tiny_ops")
    if found is None or case.launch != EACH or case.launches == 1:
        return []
    return [
        Seen("L at this host's cost", at(case, cost(found)["wall_s"]), "s", found.source),
        Seen("L at the H200 host's", at(case, launch_recorded()), "s", source_of(MICRO), RECORDED),
    ]


def _spotter(lab: kit.Lab, case: Case) -> list[Seen]:
    found = lab.here("ds_cnn")
    mine = found.row(batch=case.batch, mode="eager") if found and case.workload == SPOTTER else None
    if found is None or mine is None:
        return []
    made = [Seen("T measured here", float(mine["wall_s"]), "s", found.source, span=span(mine))]
    if case.batch in RAN:
        theirs = row(MODELS, workload=SPOTTER, batch=case.batch, mode="eager")
        made.append(Seen("T on an H200", float(theirs["wall_s"]), "s", source_of(MODELS), RECORDED))
    return made


def claims(lab: kit.Lab, *_: Any) -> dict[str, kit.Here]:
    """The arguments are states: naming them is what runs the cell again."""
    found = lab.here("tiny_ops")
    if found is None:
        return {}
    ratio = float(cost(found)["wall_s"]) / premise(CLOUD).seconds["compute"]
    return {"overhead_negligible": kit.Here(ratio, "×", f"one op on this machine's host over the same arithmetic; {found.source}")}
