"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.library import collective
from ironlaw.engine.cluster.volumes import tensor_bytes
from ironlaw.labs.lab_v2_02_interconnect.act2.groups import Case, premise
from ironlaw.labs.lab_v2_02_interconnect.act2.instrument import shares
from ironlaw.registry.workloads import about
from ironlaw.units import significant

ALL = 8  # ports of a box, of the reflection


def inside() -> Case:
    return premise(8)


def with_switch() -> float:
    """Share of the passes on wires inside one box, had the group plain all-reduces that the switch adds up."""
    near = inside().placed
    message = 2.0 * inside().seq * near.shape.hidden
    wires = 4 * near.shape.layers * float(collective(near.box, "all_reduce", near.layout.tensor, message))
    return wires / (wires + near.step.compute)


def _about(case: Case) -> dict[str, object]:
    return {
        "model": about(case.model)["name"], "seq": f"{case.seq:,}", "boxes": "two", "devices": case.devices, "near": case.box.devices,
    }  # fmt: skip


def message() -> dict[str, object]:
    about_it = _about(premise())
    return {name: about_it[name] for name in ("model", "devices", "near")}


def lock() -> dict[str, object]:
    about_it = _about(premise())
    return {name: about_it[name] for name in ("model", "devices", "near", "seq")}


def sealed(lab: kit.Lab) -> kit.Estimate:
    return kit.Estimate(lab.fill("act2.estimate", near=premise().box.devices), "%", 0, 100, 1)


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act2").answer), "%")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.points(float(option.value), float(lab.question("act2").answer)) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    near, across, wide = inside().placed, premise().placed, premise(nics=8).placed
    estimate = lab.sealed("act2", "estimate")
    shape = across.shape
    message = 2.0 * premise().seq * shape.hidden
    return {
        "inside": kit.amount(shares()["in one box"], "%"), "across": truth(lab), "wide": kit.amount(100 * wide.tensor_share, "%"),
        "estimate": f" (you said {estimate:g}%)" if estimate is not None else "", "arithmetic": kit.amount(across.step.compute, "s"),
        "before": kit.amount(near.step.compute, "s"), "tensor": kit.amount(across.step.tensor, "s"),
        "near_s": kit.amount(near.step.tensor, "s"), "sums": 4 * shape.layers,
        "message": kit.amount(message, "B"), "devices": premise().devices,
        "ports": premise().box.nics, "switch": kit.amount(100 * with_switch(), "%", 2),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    far, split = premise(nics=ALL), premise(8, ALL)
    return {
        "devices": far.devices, "near": far.box.devices, "tensor": significant(far.placed.tokens_per_s),
        "data": significant(split.placed.tokens_per_s), "left": kit.amount(split.placed.step.data, "s"),
        "sum": kit.amount(split.placed.sum_s, "s"), "group": kit.amount(far.placed.step.tensor, "s"),
        "ratio": kit.times(split.placed.tokens_per_s / far.placed.tokens_per_s, 2), "sums": 4 * far.placed.shape.layers,
    }  # fmt: skip


def peek() -> dict[str, object]:
    case = premise()
    shape = case.placed.shape
    near, far = (float(tensor_bytes(shape.layers, shape.hidden, case.seq, case.micro, size)) for size in (8, 16))
    assert case.box.nic is not None and case.box.link is not None
    return {
        "model": about(case.model)["name"], "layers": shape.layers, "hidden": f"{shape.hidden:,}", "seq": f"{case.seq:,}",
        "near": case.box.devices, "devices": case.devices, "near_bytes": kit.amount(near, "B"), "far_bytes": kit.amount(far, "B"),
        "link": kit.amount(case.box.bus, "B/s"), "port": kit.amount(case.box.nic.achieved, "B/s"),
        "near_s": kit.amount(near / case.box.bus, "s"), "far_s": kit.amount(far / case.box.nic.achieved, "s"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {"inside": kit.amount(shares()["in one box"], "%", 2), "across": kit.amount(shares()["over both"], "%", 2)}
