"""Attainable = min(peak, BW·AI): a point on the roof. The learner says which roof is over it first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw import kit
from ironlaw.formats import intensity_unit
from ironlaw.kit.formula import line, term
from ironlaw.labs.review.review import Review
from ironlaw.pictures.roofs import Dot, Roof, per_byte, roofs
from ironlaw.registry.machines import hardware, machines
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import format_quantity

NO_GUESS, FIRST = "unsaid", "a100_80gb_sxm"
SIDES = (("memory-bound", "the memory roof"), ("compute-bound", "the compute roof"))
WORK = (("matrix", "a matrix product"), ("vector", "element-wise"))
ACROSS = (1 / 8, 4096.0)  # operations per byte


def devices() -> tuple[tuple[str, str], ...]:
    return tuple((slug, hardware(slug).name) for slug in sorted(machines(), key=lambda slug: (slug != FIRST, hardware(slug).name)))


def dials(lab: Review) -> Callable[[Any], list[Any]]:
    def dials_at(values: Any) -> list[Any]:
        machine = hardware(values.get("device") or FIRST)
        formats = sorted({fmt for slug, _ in devices() for fmt in hardware(slug).peaks})
        missing = {fmt: f"the {machine.name} has no {fmt.upper()}" for fmt in formats if fmt not in machine.peaks}
        first = "fp16" if "fp16" in machine.peaks else next(iter(machine.peaks))
        unit = intensity_unit(values.get("format") or first)
        return [
            kit.select("device", "Device", devices(), FIRST),
            kit.select("format", "Format", [(fmt, fmt.upper()) for fmt in formats], first, disabled=missing),
            kit.choice("work", "Work", WORK, "matrix"),
            kit.span("intensity", "Arithmetic intensity", ACROSS[0], ACROSS[1], 16, step=1 / 8, unit=unit, log=True),
            kit.choice("guess", "Which roof is over it?", [(NO_GUESS, "not answered yet"), *SIDES], NO_GUESS),
            kit.switch("show", "Show me"),
        ]  # fmt: skip

    return dials_at


def view(lab: Review, values: Any) -> kit.View:
    if values["guess"] == NO_GUESS or not values["show"]:
        return kit.View(banner=kit.banner("ask", "Your answer first", kit.html(lab.words["roof.first"])))
    machine = hardware(values["device"])
    roof, intensity = Roof(machine, values["format"], machine.name, work=values["work"]), float(values["intensity"])
    attainable, side = roof.attainable(intensity), roof.side(intensity)
    dot = Dot("kernel", "a kernel", intensity, 1.0, roof, label=format_quantity(attainable, roof.rate_unit), drop=True,
              more=(("drag", hold("intensity")),))  # fmt: skip
    right = side == values["guess"]
    verdict = f"{per_byte(intensity, roof.fmt)} against a ridge of {per_byte(roof.ridge, roof.fmt)}: {side}."
    return kit.View(
        figures=[roofs([roof], [dot], ACROSS, id="roof", title="Attainable rate", export=False)],
        cards=[
            kit.card("Attainable", attainable, roof.rate_unit),
            kit.card("Of the peak", 100 * attainable / roof.peak, "%"),
            kit.card("Ridge", roof.ridge, intensity_unit(roof.fmt)),
        ],
        formula=formula(roof, intensity, attainable),
        banner=kit.banner("good" if right else "warn", "Yes" if right else "The other roof", verdict),
        readouts={"side": side},
    )


def formula(roof: Roof, intensity: float, attainable: float) -> str:
    peak = term("compute", kit.amount(roof.peak, roof.rate_unit))
    slope = term("memory", f"{kit.amount(roof.bandwidth, 'B/s')} × {kit.amount(intensity, intensity_unit(roof.fmt))}")
    symbols = line("attainable = min(", term("compute", "<i>R</i>"), ",", term("memory", "<i>BW</i> · <i>AI</i>"), ")")
    return symbols + line("= min(", peak, ",", slope, ")") + line("=", kit.amount(attainable, roof.rate_unit))
