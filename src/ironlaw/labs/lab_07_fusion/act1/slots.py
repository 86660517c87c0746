"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_07_fusion.act1 import curve
from ironlaw.labs.lab_07_fusion.jobs import CLOUD, QUEUED, premise
from ironlaw.registry.machines import hardware
from ironlaw.registry.textbooks import textbook


def message() -> dict[str, object]:
    """The lead's own figures: they are the question, not the answer."""
    model = textbook("kws")
    launch = hardware(CLOUD).launch
    return {"kernels": f"{model.kernels:,}", "each": kit.amount(model.kernel_s, "s"), "launch": kit.amount(launch, "s")}


lock = message


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act1").answer), "%")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.points(float(option.value), float(lab.question("act1").answer)) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    machine, spotter, layer = hardware(CLOUD), textbook("kws"), textbook("gpt2_layer")
    drawn = curve.heights(lab)
    return {
        "compute": kit.amount(spotter.compute_s, "s"), "tax": kit.amount(spotter.kernels * machine.launch, "s"),
        "wall": kit.amount(spotter.compute_s + spotter.kernels * machine.launch, "s"),
        "queued": kit.amount(premise(machine, spotter, dispatch=QUEUED), "%"), "layer": kit.amount(premise(machine, layer), "%"),
        "layer_kernels": str(layer.kernels), "layer_each": kit.amount(layer.kernel_s, "s"), "launch": kit.amount(machine.launch, "s"),
        "faster": kit.amount(premise(machine, spotter, speed=2.0), "%"),
        "edge": kit.amount(premise(hardware("orin_nx_16gb"), spotter), "%"),
        "edge_launch": kit.amount(hardware("orin_nx_16gb").launch, "s"), "spotter": kit.amount(premise(machine, spotter), "%"),
        "curve": curve.gap(drawn) if drawn else lab.fill("act1.even", launch=kit.amount(machine.launch, "s")),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    machine, spotter = hardware(CLOUD), textbook("kws")
    return {
        "before": kit.amount(premise(machine, spotter), "%"), "after": kit.amount(premise(machine, spotter, speed=2.0), "%"),
        "compute": kit.amount(spotter.compute_s, "s"), "half": kit.amount(spotter.compute_s / 2, "s"),
        "tax": kit.amount(spotter.kernels * machine.launch, "s"),
    }  # fmt: skip


def peek() -> dict[str, object]:
    machine, spotter = hardware(CLOUD), textbook("kws")
    return {
        "kernels": f"{spotter.kernels:,}", "each": kit.amount(spotter.kernel_s, "s"), "launch": kit.amount(machine.launch, "s"),
        "compute": kit.amount(spotter.compute_s, "s"), "wall": kit.amount(spotter.compute_s + spotter.kernels * machine.launch, "s"),
        "sync": kit.amount(premise(machine, spotter), "%"), "queued": kit.amount(premise(machine, spotter, dispatch=QUEUED), "%"),
        "removed": kit.share(spotter.removed, 1.0), "compiled": kit.amount(premise(machine, spotter, removed=spotter.removed), "%"),
        "quarters": kit.amount(premise(machine, spotter, removed=0.75), "%"), "quarter_share": kit.share(0.75, 1.0),
    }  # fmt: skip
