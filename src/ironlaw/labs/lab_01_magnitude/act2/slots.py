"""Act II's words: the truth, the distance, and the slots of every section, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.formats import intensity_unit, operation, rate_unit
from ironlaw.kit.context import pick
from ironlaw.labs.lab_01_magnitude.act1.slots import gaps
from ironlaw.labs.lab_01_magnitude.act2 import case as cases
from ironlaw.labs.lab_01_magnitude.act2 import reuse
from ironlaw.labs.lab_01_magnitude.act2.case import EACH, Case, premise
from ironlaw.labs.lab_01_magnitude.devices import CLOUD, TINY
from ironlaw.registry.workloads import about
from ironlaw.units import significant


def kernels(case: Case) -> dict[str, object]:
    run, source = cases.measured_run()
    wall, busy, kernels = run.value("wall_s"), run.value("busy_s"), run.value("kernels")
    return {
        "launches": significant(case.launches, 4),
        "overhead": kit.amount(case.seconds["overhead"], "s"),
        "kernels": significant(kernels, 4),
        "wall": kit.dress(f"{significant(1e3 * wall, 2)} ms"),
        "busy": kit.dress(f"{significant(1e3 * busy, 2)} ms"),
        "idle": kit.dress(kit.share(wall - busy, wall)),
        "each": kit.amount(wall / kernels, "s", 2),
        "source": source,
    }


def truth(lab: kit.Lab) -> str:
    return kit.inline(lab.question("act2").right.label)


def distance(lab: kit.Lab) -> str:
    """The term that was named against the largest one, as a factor; for "about equal", the largest over the smallest."""
    option, values = lab.choice("act2"), premise(CLOUD).seconds
    largest = max(values.values())
    if option is None:
        return ""
    if lab.holds("act2"):
        return f"right, and it leads the next by a factor of {_factor(_lead())}"
    if option.value in values:
        mine = values[str(option.value)]
        times = f"your term takes {kit.amount(mine, 's')} and the largest {kit.amount(largest, 's')}"
        return f"off by a factor of {_factor(largest / mine)}, because {times}"
    return f"off, because the largest is {_factor(largest / min(values.values()))} times the smallest"


def _factor(ratio: float) -> str:
    return kit.dress(significant(ratio))


def _lead() -> float:
    first, second = sorted(premise(CLOUD).seconds.values(), reverse=True)[:2]
    return float(first / second)


def reveal(lab: kit.Lab) -> dict[str, object]:
    slots, seconds = peek(lab), premise(CLOUD).seconds
    case = premise(CLOUD)
    wider = {name: replace(case, convention=name).seconds["memory"] for name in ("fused", "ops")}
    return {
        **{key: slots[key] for key in ("data", "compute", "launch", "bytes", "operations", "matmul", "rate")},
        "lead": _factor(_lead()), "memory_over_compute": _factor(seconds["memory"] / seconds["compute"]),
        "intensity": kit.amount(case.work.intensity, intensity_unit(case.dtype)),
        "ridge": kit.amount(case.hardware.ridge(case.dtype), intensity_unit(case.dtype)),
        **{f"data_{name}": kit.amount(value, "s") for name, value in wider.items()},
        "launch_each": kit.amount(replace(case, launch=EACH).seconds["overhead"], "s"), **fetched(),
    }  # fmt: skip


def fetched() -> dict[str, object]:
    """How often one image uses a weight, and how often the H100 could while it arrives."""
    case = premise(CLOUD)
    return {"reuse": _reuse(), "needed": _factor(reuse.to_pay(case.hardware, case.dtype))}


def _reuse() -> str:
    """Multiply-adds for each weight of the prediction's own model, one image."""
    case = premise(CLOUD)
    return _factor(reuse.mean(reuse.uses(case.workload, case.batch)))


def peek(lab: kit.Lab) -> dict[str, object]:
    """The prediction's own case, symbol by symbol."""
    case = premise(CLOUD)
    work, machine, seconds = case.work, case.hardware, case.seconds
    low, high = case.prediction.overlap
    return {
        "workload": about(case.workload)["name"], "device": pick(lab.contexts, CLOUD).label, "bytes": kit.amount(work.bytes, "B"),
        "operations": kit.amount(work.flops, operation(case.dtype)), "matmul": kit.amount(work.matmul_flops, operation(case.dtype)),
        "bandwidth": kit.amount(machine.bandwidth, "B/s"), "rate": kit.amount(machine.peak(case.dtype), rate_unit(case.dtype)),
        "efficiency": f"{cases.PLAN.efficiency:.1f}", "launch": kit.amount(machine.launch, "s"), "data": kit.amount(seconds["memory"], "s"),
        "compute": kit.amount(seconds["compute"], "s"), "low": kit.amount(low, "s"), "high": kit.amount(high, "s"),
    }  # fmt: skip


def reflection(lab: kit.Lab) -> dict[str, object]:
    machine = pick(lab.contexts, TINY).hardware
    case = Case(machine, dtype="int8")
    need, wide = case.footprint, replace(case, dtype="fp32").footprint
    return {
        "m7_seconds": kit.amount(case.prediction.seconds, "s", 2), "int8_required": kit.amount(need.total, "B"),
        "int8_factor": kit.times(need.total / need.usable), "m7_usable": kit.amount(need.usable, "B"),
        "m7_power": kit.amount(machine.power, "W"), "fp32_factor": kit.times(wide.total / wide.usable),
    }  # fmt: skip


def takeaways(lab: kit.Lab) -> dict[str, object]:
    slots, gap = peek(lab), gaps(lab, 3)
    return {
        "compute_gap": gap["compute_gap"], "capacity_gap": gap["capacity_gap"], "data": slots["data"], "compute": slots["compute"],
        "reuse": _reuse(),
    }  # fmt: skip
