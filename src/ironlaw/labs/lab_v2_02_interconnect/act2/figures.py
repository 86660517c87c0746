"""Act II's pictures: where the time of a sequence goes for every group that divides the devices, and what one device holds."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_02_interconnect.act2.groups import Case
from ironlaw.pictures.reveal_picture import rules
from ironlaw.pictures.stack import stack
from ironlaw.pictures.theme import HELD
from ironlaw.pictures.waterfall import Part
from ironlaw.registry.workloads import about
from ironlaw.units import percent
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

ARITHMETIC, GROUP, SUM, UPDATE = "arithmetic", "tensor group", "exposed gradients", "optimiser"


def name_of(case: Case) -> str:
    boxes = f"{case.boxes} boxes" if case.boxes > 1 else "one box"
    return f"{about(case.model)['name']} on {boxes}, {case.box.name}"


def row_name(case: Case) -> str:
    return f"TP {case.tensor} × DP {case.data}"


def step(lab: kit.Lab, case: Case) -> Figure:
    """Seconds per sequence: a step over the sequences that all replicas take in it."""
    rows = {}
    for size in case.choices:
        each = case.with_tensor(size)
        taken, per = each.placed.step, each.data * each.micro
        rows[row_name(each)] = [
            Part(ARITHMETIC, taken.compute / per, "compute"), Part(GROUP, taken.tensor / per, "overhead"),
            Part(SUM, taken.data / per, "memory"), Part(UPDATE, taken.update / per, "muted", pattern=True),
        ]  # fmt: skip
    return stack(
        rows, "s", "Time per sequence", chosen=row_name(case), label="step divided by its sequences", note=name_of(case), id="step"
    )


def memory(case: Case) -> Figure:
    """The fullest device for every group, and what it can hold."""
    rows = {}
    for size in case.choices:
        parts = case.with_tensor(size).placed.memory
        held = ("weights", "gradients", "optimiser", "activations")
        rows[row_name(case.with_tensor(size))] = [Part(name, float(getattr(parts, name)), HELD[name]) for name in held]
    usable = case.placed.usable
    limit = mark("rule", "fail", x=usable, dash=True, label=f"holds {format_quantity(usable, 'B')}", name="holds", id="limit",
                 hover=[("usable", exact(usable, "B"))])  # fmt: skip
    return stack(rows, "B", "What one device holds", chosen=row_name(case), note=name_of(case), id="memory", extra=[limit])


def on_wires(lab: kit.Lab, case: Case, truths: dict[str, float]) -> Figure:
    """How much of the passes every group spends on wires, and on that axis what the learner said of the question's two."""
    groups = [case.with_tensor(size) for size in case.choices]
    shares = {row_name(each): each.placed.tensor_share for each in groups}
    bars = [
        mark("bar", "overhead", x=100 * share, y=name, id=name, name=name, label=percent(share), emphasis=name == row_name(case),
             hover=[("of the passes", exact(100 * share, "%"))])
        for name, share in shares.items()
    ]  # fmt: skip
    words = "; ".join(f"{name} {percent(share)}" for name, share in shares.items())
    title = f"{row_name(case)} spends {percent(case.placed.tensor_share)} of its passes on wires"
    return Figure(
        "on-wires", title, Axis("linear", "of the passes", "%", (0.0, 100.0)), Axis("band", names=tuple(shares)),
        (*bars, *_said(lab, truths)), f"{words}.",
        Table(("group", "share"), tuple((name, percent(share)) for name, share in shares.items())),
        name_of(case), more={"row": 34},
    )  # fmt: skip


def _said(lab: kit.Lab, truths: dict[str, float]) -> list[Mark]:
    option, estimate = lab.choice("act2"), lab.sealed("act2", "estimate")
    if option is None:
        return []
    inside, across = truths.values()
    marks = list(rules(float(option.value), across, "%", truth_label="over both boxes it is"))
    if estimate:
        marks.append(mark("rule", "accent", x=float(estimate), dash="2 4", id="estimate", name="your estimate for one box",
                          label=f"in one box: you said {estimate:g}%, it is {inside:.3g}%",
                          hover=[("in one box", exact(inside, "%"))]))  # fmt: skip
    return marks
