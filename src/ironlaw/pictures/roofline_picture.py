"""The roofline: a machine's roofs for matrix and for element-wise work, their ridges, every operator as a point, and the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ironlaw.engine.device.predict import OpRow, Prediction
from ironlaw.engine.device.roofline import transfer
from ironlaw.formats import intensity_unit, operation, rate_unit
from ironlaw.pictures.ends import decades
from ironlaw.pictures.roofs import distinct, roof_marks, roofs_by_work
from ironlaw.pictures.theme import SHAPES, TERM_NAMES
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

TRIFLE = 1e-5  # of the peak: an op that much slower, and short, must not stretch the axis


@dataclass(frozen=True)
class Spot:
    """Ops that cost the same, as one point."""

    row: OpRow
    count: int

    @property
    def name(self) -> str:
        return self.row.name if self.count == 1 else f"{self.row.name} and {self.count - 1} like it"

    @cached_property
    def figures(self) -> dict[str, str]:
        """The figures in words, for the hover box and the table."""
        row = self.row
        return {
            "does": format_quantity(float(row.work.flops), operation(row.op.dtype)),
            "moves": format_quantity(float(row.work.bytes), "B"),
            "intensity": format_quantity(self.intensity, intensity_unit(row.op.dtype)),
            "rate": format_quantity(self.rate, rate_unit(row.op.dtype)),
            "takes": format_quantity(float(row.seconds), "s"),
            "bottleneck": TERM_NAMES[str(row.term)],
        }

    @property
    def intensity(self) -> float:
        return float(self.row.work.intensity)

    @property
    def rate(self) -> float:
        return float(self.row.work.flops / self.row.seconds)

    @property
    def seconds(self) -> float:
        return float(self.count * self.row.seconds)


def spots(prediction: Prediction) -> tuple[Spot, ...]:
    """The ops with arithmetic, equal ones together, by intensity."""
    groups: dict[object, list[OpRow]] = {}
    for row in prediction.ops:
        if row.work.flops > 0 and row.work.bytes > 0 and row.seconds > 0:
            groups.setdefault(row.op.key, []).append(row)
    return tuple(sorted((Spot(rows[0], len(rows)) for rows in groups.values()), key=lambda spot: spot.intensity))


def roofline(prediction: Prediction, id: str = "roofline", extra: Sequence[Mark] = (), beside: Prediction | None = None) -> Figure:
    """`prediction` is a single run, not a sweep. `beside`: another run of the same machine that the axes have room for too."""
    hardware, fmt = prediction.hardware, prediction.graph.dtype
    peak, ridge = float(hardware.peak(fmt)), float(hardware.ridge(fmt))
    above = roofs_by_work(hardware, fmt, hardware.name)
    others = [replace(above["matrix"], level=hardware.activations)] if hardware.activations else []
    run, ops, longest, visible = _drawn(prediction)
    runs = [(run, visible)]
    if beside is not None:
        other = _drawn(beside)
        runs.append((other[0], other[3]))
    across = [ridge, above["vector"].ridge, *(at[0] for at, _ in runs), *(spot.intensity for _, some in runs for spot in some)]
    up = [*(at[1] for at, _ in runs), *(spot.rate for _, some in runs for spot in some)]
    left, right = decades(min(across) / 1.5, max(4 * ridge, *across) * 1.5)
    marks = [
        *roof_marks([*distinct(above), *others], left, right),
        *(_point(spot, longest) for spot in visible),
        _run(prediction, run),
        *extra,
    ]
    legend: list[dict[str, Any]] = [{"colour": term, "shape": SHAPES[term], "label": f"{TERM_NAMES[term]}-bound"} for term in SHAPES]
    legend.append({"colour": "accent", "shape": "diamond", "hollow": True, "label": "the whole run"})
    x = Axis("log", "arithmetic intensity", intensity_unit(fmt), (left, right))
    y = Axis("log", "rate", rate_unit(fmt), (decades(min(up) / 1.5, peak)[0], max(peak, *up) * 8))
    note = f"{hardware.name}, {fmt.upper()}; size is time"
    return Figure(id, "Roofline", x, y, tuple(marks), _words(prediction, run), _table(prediction, ops, run), note, tuple(legend))


Drawn = tuple[tuple[float, float], tuple[Spot, ...], float, list[Spot]]


def _drawn(prediction: Prediction) -> Drawn:
    """Where the whole run stands, its ops, how long the longest takes, and those that are worth a point."""
    work, peak = prediction.graph.work, float(prediction.hardware.peak(prediction.graph.dtype))
    run = (float(work.intensity), float(work.flops / prediction.seconds))
    ops = spots(prediction)
    longest = max((spot.seconds for spot in ops), default=1.0)
    return run, ops, longest, [spot for spot in ops if spot.rate > TRIFLE * peak or spot.seconds > 1e-3 * longest]


def _point(spot: Spot, longest: float) -> Mark:
    term = str(spot.row.term)
    size = round(3.5 + 9 * (spot.seconds / longest) ** 0.5, 1)
    hover = [*spot.figures.items(), *([("together", format_quantity(spot.seconds, "s"))] if spot.count > 1 else [])]
    place: dict[str, Any] = {"x": spot.intensity, "y": spot.rate, "shape": SHAPES[term], "size": size}
    return mark("point", term, **place, id=spot.row.name, name=spot.name, hover=hover)


def _run(prediction: Prediction, run: tuple[float, float]) -> Mark:
    hardware = prediction.hardware
    peak = hardware.rate(prediction.graph.dtype, prediction.graph.work.kind)
    roof = min(float(peak), run[0] * _bandwidth(prediction))
    gap = roof / run[1]
    label = f"whole run, {significant(gap, 2)}× under the roof" if gap > 1.15 else "whole run"
    hover: list[Row] = [
        ("intensity", format_quantity(run[0], _intensity_unit(prediction))), ("rate", format_quantity(run[1], _rate_unit(prediction))),
        ("roof there", format_quantity(roof, _rate_unit(prediction))),
        ("time", exact(float(prediction.seconds), "s")), *prediction.sources,
    ]  # fmt: skip
    place: dict[str, Any] = {"x": run[0], "y": run[1], "shape": "diamond", "size": 7, "hollow": True}
    return mark("point", "accent", **place, label=label, name="the whole run", id="run", hover=hover)


def _bandwidth(prediction: Prediction) -> float:
    """Main memory's; where activations have a memory of their own, what the two give together for this run's bytes."""
    hardware, graph = prediction.hardware, prediction.graph
    if not hardware.activations:
        return float(hardware.bandwidth)
    return float(graph.bytes) / sum(float(transfer(op, hardware)) for op in graph.ops)


def _words(prediction: Prediction, run: tuple[float, float]) -> str:
    hardware, fmt = prediction.hardware, prediction.graph.dtype
    work = prediction.graph.work.kind
    peak, bandwidth, ridge = (float(hardware.rate(fmt, work)), float(hardware.bandwidth), float(hardware.ridge(fmt, work=work)))
    side = "left of" if run[0] < ridge else "right of"
    return (
        f"{prediction.graph.name} on {hardware.name}: {format_quantity(run[0], _intensity_unit(prediction))}"
        f" at {format_quantity(run[1], _rate_unit(prediction))},"
        f" {side} the ridge at {format_quantity(ridge, _intensity_unit(prediction))};"
        f" the roofs are {format_quantity(bandwidth, 'B/s')} and {format_quantity(peak, _rate_unit(prediction))}."
    )


def _rate_unit(prediction: Prediction) -> str:
    """Integers have operations, not floating-point ones."""
    return rate_unit(prediction.graph.dtype)


def _intensity_unit(prediction: Prediction) -> str:
    return intensity_unit(prediction.graph.dtype)


def _table(prediction: Prediction, ops: Sequence[Spot], run: tuple[float, float]) -> Table:
    work = prediction.graph.work
    whole = (
        "whole run", format_quantity(float(work.flops), operation(prediction.graph.dtype)), format_quantity(float(work.bytes), "B"),
        format_quantity(run[0], _intensity_unit(prediction)),
        format_quantity(run[1], _rate_unit(prediction)),
        format_quantity(float(prediction.seconds), "s"), TERM_NAMES[str(prediction.bound)],
    )  # fmt: skip
    rows = tuple((spot.name, *spot.figures.values()) for spot in ops)
    return Table(("operator", "arithmetic", "bytes", "intensity", "rate", "time each", "bottleneck"), (whole, *rows))
