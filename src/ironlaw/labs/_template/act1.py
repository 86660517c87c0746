"""Act I, the bandwidth of two devices: its instrument, then its words. Formulas belong in the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit.context import pick
from ironlaw.pictures.ladder import ladder
from ironlaw.pictures.reveal_picture import rules

CLAIMS = ("a100_bandwidth",)


def dials(lab: kit.Lab) -> Any:
    """The dials for the values they have now: one may disable an option of another and say why."""
    devices = [(context.slug, context.label) for context in lab.contexts]
    fixed = [kit.select("a", "Device A", devices, lab.contexts[0].slug), kit.select("b", "Device B", devices, lab.contexts[-1].slug)]
    return lambda values: fixed


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    a, b = pick(lab.contexts, values["a"]), pick(lab.contexts, values["b"])
    ratio = a.hardware.bandwidth / b.hardware.bandwidth
    option = lab.choice("act1")
    base = min(context.hardware.bandwidth for context in lab.contexts)
    marks = rules(float(option.value), float(lab.question("act1").answer), "×", base=base) if option else ()
    return kit.View(
        figures=[ladder(lab.contexts, "bandwidth", lab.current_context.slug, marks)],
        cards=[kit.card("A over B", ratio, "×")],
        formula=kit.ratio(
            "BW<sub>A</sub> / BW<sub>B</sub>",
            kit.amount(a.hardware.bandwidth, "B/s"),
            kit.amount(b.hardware.bandwidth, "B/s"),
            kit.times(ratio),
        ),
        readouts={"ratio": ratio},
    )


# --- the truth, the distance, and the slots of each section


def truth(lab: kit.Lab) -> str:
    return kit.times(float(lab.question("act1").answer))


def distance(lab: kit.Lab) -> str:
    """How far off the prediction was; empty before there is one."""
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    return {"gap": truth(lab)}


def peek(lab: kit.Lab) -> dict[str, object]:
    return {"gap": truth(lab)}
