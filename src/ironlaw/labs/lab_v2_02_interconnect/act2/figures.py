"""Act II's pictures: where the time of a sequence goes for every group that divides the devices, and what one device holds."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_02_interconnect.act2.groups import Case
from ironlaw.pictures.answers_picture import answers
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.registry.workloads import about
from ironlaw.widget.figure import Figure, mark
from ironlaw.widget.quantities import exact, format_quantity

ARITHMETIC, GROUP, SUM, UPDATE = "arithmetic", "tensor group", "gradients, not hidden", "optimiser"


def name_of(case: Case) -> str:
    boxes = f"{case.boxes} boxes" if case.boxes > 1 else "one box"
    return f"{about(case.model)['name']} on {boxes}, {case.box.name}"


def row_name(case: Case) -> str:
    return f"TP {case.tensor} × DP {case.data}"


def step(lab: kit.Lab, case: Case) -> Figure:
    """Seconds a sequence: a step over the sequences that all replicas take in it."""
    rows = {}
    for size in case.choices:
        each = case.with_tensor(size)
        taken, per = each.placed.step, each.data * each.micro
        rows[row_name(each)] = [
            Part(ARITHMETIC, taken.compute / per, "compute"), Part(GROUP, taken.tensor / per, "overhead"),
            Part(SUM, taken.data / per, "memory"), Part(UPDATE, taken.update / per, "muted", pattern=True),
        ]  # fmt: skip
    return stack(rows, "s", "Time of a sequence", chosen=row_name(case), label="a step over its sequences", note=name_of(case), id="step")


def memory(case: Case) -> Figure:
    """The fullest device for every group, and what it can hold."""
    rows = {}
    for size in case.choices:
        parts = case.with_tensor(size).placed.memory
        rows[row_name(case.with_tensor(size))] = [
            Part("weights", float(parts.weights), "compute"), Part("gradients", float(parts.gradients), "overhead"),
            Part("optimiser", float(parts.optimiser), "ridge"), Part("activations", float(parts.activations), "memory"),
        ]  # fmt: skip
    usable = case.placed.usable
    limit = mark("rule", "fail", x=usable, dash=True, label=f"holds {format_quantity(usable, 'B')}", name="holds", id="limit",
                 hover=[("usable", exact(usable, "B"))])  # fmt: skip
    return stack(rows, "B", "What one device holds", chosen=row_name(case), note=name_of(case), id="memory", extra=[limit])


def said(lab: kit.Lab, truths: dict[str, float]) -> Figure | None:
    """The two shares as the learner gave them, beside the computed ones."""
    option, estimate = lab.choice("act2"), lab.sealed("act2", "estimate")
    if option is None:
        return None
    inside, across = truths
    rows = {inside: (truths[inside], "compute", estimate), across: (truths[across], "overhead", float(option.value))}
    return answers(rows, "Share of the passes on wires", what="group")
