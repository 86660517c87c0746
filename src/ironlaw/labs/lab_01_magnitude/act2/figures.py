"""Act II's pictures: the three terms, the memory needed, intensity against the batch."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.memory import Memory
from ironlaw.labs.lab_01_magnitude import models
from ironlaw.labs.lab_01_magnitude.act2.case import CONVENTIONS, Case
from ironlaw.pictures.curve_picture import Position, curve
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

FLASH = "weights, in flash"


def needs(case: Case) -> Figure:
    """What must be in memory at once, against what there is; red where it does not fit. Weights in flash are drawn, not counted."""
    memory = case.footprint
    fits = bool(memory.fits)
    flash = {FLASH: case.facts.needs.weights} if case.from_flash else {}
    parts = {**flash, "live activations": memory.activations} if flash else _parts(memory)
    counted = list(parts)[-1]
    dots = [
        mark(
            "dot", "ridge" if name in flash else "ink" if fits else "fail", x=size, y=name, id=name, label=format_quantity(size, "B"),
            name=name, emphasis=name == counted, pattern=name in flash, hover=[("exactly", exact(size, "B"))],
            tags=None if fits or name != counted else [{"text": "too much", "colour": "fail"}],
        )
        for name, size in parts.items()
    ]  # fmt: skip
    capacity = format_quantity(memory.usable, "B")  # in the unit of what is needed
    limit = mark(
        "rule", "ridge", x=memory.usable, label=f"usable {capacity}", name="usable", hover=[("exactly", exact(memory.usable, "B"))]
    )
    summary = f"needed {format_quantity(memory.total, 'B')}, available {capacity}"
    rows = (
        *((name, format_quantity(size, "B"), exact(size, "B")) for name, size in parts.items()),
        ("usable", capacity, exact(memory.usable, "B")),
    )
    return Figure(
        "fit", "It fits" if fits else "It does not fit", Axis("log", "bytes", "B"), Axis("band", names=tuple(parts)), (*dots, limit),
        f"Memory at once: {summary}.", Table(("what", "size", "exactly"), rows), note=summary,
    )  # fmt: skip


def _parts(memory: Memory) -> dict[str, Any]:
    return {"weights": memory.weights, "live activations": memory.activations, "both": memory.total}


def curves(case: Case) -> Figure:
    lines = {CONVENTIONS[c]: models.works(case.workload, case.dtype, c, case.batch) for c in CONVENTIONS}
    return curve(lines, case.hardware, case.dtype, Position(CONVENTIONS[case.convention], case.batch), drag="batch")
