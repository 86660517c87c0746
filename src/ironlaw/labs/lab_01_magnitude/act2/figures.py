"""Act II's pictures: the three terms, the memory needed, intensity against the batch."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ironlaw import kit
from ironlaw.labs.lab_01_magnitude import models
from ironlaw.labs.lab_01_magnitude.act2.case import Case, premise
from ironlaw.labs.lab_01_magnitude.devices import CLOUD
from ironlaw.pictures.curve import Chosen, curve
from ironlaw.pictures.terms import terms as term_bars
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

CONVENTIONS = {"weights": "weights and I/O only", "fused": "fused graph", "ops": "every op's tensors"}


@cache
def own_case(claim: str | None, note: str) -> Figure:
    """The prediction's own settings, with the term that was claimed."""
    return replace(
        term_bars(premise(CLOUD).prediction, claim, "asked"), title="Your prediction's own case", note=note, more={"width": "half"}
    )


def needs(case: Case, width: str) -> Figure:
    """What must be in memory at once, against what there is; red where it does not fit."""
    found = case.footprint
    fits = bool(found.fits)
    parts = {"weights": found.weights, "live activations": found.activations, "both": found.total}
    bars = [
        mark(
            "bar", "ink" if fits else "fail", x=size, y=name, id=name, label=format_quantity(size, "B"), name=name, emphasis=name == "both",
            tags=None if fits or name != "both" else [{"text": "too much", "colour": "fail"}], hover=[("exactly", exact(size, "B"))],
        )
        for name, size in parts.items()
    ]  # fmt: skip
    there = kit.capacity(found.capacity)
    limit = mark(
        "rule", "ridge", x=found.capacity, label=f"capacity {there}", name="capacity", hover=[("exactly", exact(found.capacity, "B"))]
    )
    told = f"needed {format_quantity(found.total, 'B')}, available {there}"
    rows = (
        *((name, format_quantity(size, "B"), exact(size, "B")) for name, size in parts.items()),
        ("capacity", there, exact(found.capacity, "B")),
    )
    return Figure(
        "fit", "It fits" if fits else "It does not fit", Axis("log", "bytes", "B"), Axis("band", names=tuple(parts)), (*bars, limit),
        f"Memory at once: {told}.", Table(("what", "size", "exactly"), rows), note=told, more={"width": width} if width else {},
    )  # fmt: skip


def curves(case: Case) -> Figure:
    lines = {CONVENTIONS[c]: models.works(case.workload, case.dtype, c, case.batch) for c in models.CONVENTIONS}
    return curve(lines, case.hardware, case.dtype, Chosen(CONVENTIONS[case.convention], case.batch), drag="batch")
