"""Act II's pictures: every op of a layer under the roof, the time each takes, and the memory budget."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.predict import OpRow
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op
from ironlaw.kit.prose import capacity
from ironlaw.labs.lab_11_roofline.act2.layer import Case, part, short
from ironlaw.labs.lab_11_roofline.act2.op_names import plain
from ironlaw.labs.lab_11_roofline.machines import short as machine_name
from ironlaw.pictures.ends import doubled_to
from ironlaw.pictures.roofs import Dot, Roof, distinct, roofs, roofs_by_work
from ironlaw.pictures.theme import HELD, SHAPES
from ironlaw.units import counted
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity, in_one_unit, share

ACROSS = (0.01, 1e4)
BARS = 12  # ops with a bar of their own; the others share one
LABELS = {"projection": "projection", "norm": "norm", "softmax": "softmax", "attention": "attention"}
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
PARTS = (("weights", HELD["weights"]), ("KV cache", HELD["cache"]), ("live activations", "muted"))


def picture(case: Case) -> Figure:
    above = roofs_by_work(case.hardware, case.fmt, machine_name(case.hardware.slug))
    roof = above["matrix"]
    groups: dict[Any, list[OpRow]] = {}
    for row in case.rows:
        if row.work.flops > 0:
            groups.setdefault(row.op.key, []).append(row)
    longest = max(float(len(rows) * rows[0].seconds) for rows in groups.values())
    labelled: set[str] = set()
    dots = [
        _dot(case, rows, above[rows[0].work.kind], longest, labelled)
        for rows in sorted(groups.values(), key=lambda rows: -len(rows) * rows[0].seconds)
    ]
    silent = any(row.work.flops == 0 for row in case.rows)
    note = f"{roof.name}, {case.phase}" + ("; ops that only move bytes appear only as bars" if silent else "")
    legend = [{"colour": term, "shape": SHAPES[term], "label": f"{term}-bound"} for term in ("memory", "compute")]
    return roofs(distinct(above), dots, ACROSS, "layer", "One layer under the roof", note=note, legend=legend)


def _dot(case: Case, rows: list[OpRow], roof: Roof, longest: float, labelled: set[str]) -> Dot:
    row, seconds = rows[0], float(len(rows) * rows[0].seconds)
    term, kind = str(row.regime), part(row)
    name = plain(row.name) + (f" and {len(rows) - 1} like it" if len(rows) > 1 else "")
    label = LABELS.get(kind, "") if kind not in labelled else ""
    if not labelled and not label:  # the first one is the longest: it is the bottleneck, whatever it is
        label = plain(row.name)
    labelled.add(kind)
    more: tuple[tuple[str, Any], ...] = ()
    if kind == "projection" and row.kind == "linear":
        more = (("drag", hold("batch", stops=_stops(case, row))),)
    work = row.work
    rate = float(work.flops / row.seconds) if case.measured else None  # a bound stands on its roof
    return Dot(
        f"op-{short(rows[0].name)}", name, float(work.flops), float(work.bytes), roof, rate,
        label, term, SHAPES[term], round(3.5 + 8 * (seconds / longest) ** 0.5, 1), seconds=seconds, more=more,
    )  # fmt: skip


def _stops(case: Case, row: OpRow) -> list[tuple[float, int]]:
    """(intensity, batch): the projection over as many rows as a batch brings."""
    x, w, *_ = row.op.inputs
    stops = []
    for batch in BATCHES:
        rows = (batch, *x.shape[1:-1])
        wide, out = (Tensor(name, (*rows, size), x.dtype) for name, size in (("x", x.shape[-1]), ("y", w.shape[0])))
        projection = op("linear", "p", (wide, w), (out,), dtype=x.dtype)
        stops.append((float(projection.work.intensity), batch))
    return stops


def times(case: Case) -> Figure:
    """Time per op; the longest is the bottleneck, wherever it stands under the roof."""
    rows = sorted(case.rows, key=lambda row: -row.seconds)
    longest_rows = sorted(rows[:BARS], key=case.rows.index)
    whole, longest = case.layer_seconds, case.longest
    rest = float(sum(row.seconds for row in rows[BARS:]))
    time = in_one_unit((float(rows[0].seconds), rest), "s")
    marks, table = list[Mark](), list[tuple[str, ...]]()
    names: list[str] = []
    for row in longest_rows:
        name = _unique(plain(row.name), names)
        term, seconds = str(row.regime), float(row.seconds)
        first = row in longest
        tags = [{"text": "takes longest", "colour": term}] if first else None
        hover = [("exactly", exact(seconds, "s")), ("of the layer", share(seconds, whole)), ("bound by", term)]
        label = f"{time(seconds)}, {share(seconds, whole)}"
        marks.append(mark("bar", term, x=seconds, y=name, id=name, label=label, name=name, tags=tags, emphasis=first, hover=hover))
        table.append((name, time(seconds), share(seconds, whole), term))
    if len(rows) > BARS:
        name = counted(len(rows) - BARS, "other")
        names.append(name)
        marks.append(mark("bar", "muted", x=rest, y=name, id="others", label=f"{time(rest)}, {share(rest, whole)}", name=name))
        table.append((name, time(rest), share(rest, whole), ""))
    named = ", ".join(plain(row.name) for row in longest)
    each = format_quantity(float(longest[0].seconds), "s")
    words = f"Longest: {named}, {each}{' each' if longest[1:] else ''} of {format_quantity(whole, 's')} per layer."
    return Figure(
        "times", "Time per op", Axis("linear", "time", "s"), Axis("band", names=tuple(names)), tuple(marks), words,
        Table(("op", "time", "of the layer", "bound by"), tuple(table)), note=f"{format_quantity(whole, 's')} per layer",
    )  # fmt: skip


def _unique(name: str, names: list[str]) -> str:
    while name in names:
        name += "′"
    names.append(name)
    return name


def budget(case: Case) -> Figure:
    """Weights, KV cache and live activations end to end, against what there is."""
    need = case.footprint
    sizes = (float(need.weights), float(need.kv_cache), float(need.activations))
    size_text = in_one_unit((*sizes, float(need.usable)), "B")
    fits, at, marks, row = bool(need.fits), 0.0, list[Mark](), "needed"
    for (name, colour), size in zip(PARTS, sizes, strict=True):
        hover = [("size", size_text(size)), ("exactly", exact(size, "B")), ("of the memory", share(size, float(need.usable)))]
        marks.append(mark("bar", colour, x0=at, x1=at + size, y=row, id=name, name=name, hover=hover))
        at += size
    capacity_text = capacity(float(need.usable))
    marks.append(
        mark("rule", "ink" if fits else "fail", x=float(need.usable), label=f"{capacity_text} usable", name="memory", id="capacity")
    )
    marks.append(mark("label", "fail" if not fits else "ink", x=at, y=row, label=size_text(at), id="total"))
    entries = [*zip((name for name, _ in PARTS), sizes, strict=True), ("needed", at), ("usable", float(need.usable))]
    table = tuple((name, size_text(size), exact(size, "B")) for name, size in entries)
    words = ", ".join(f"{name} {size_text(size)}" for name, size in entries)
    legend = tuple({"colour": colour, "label": f"{name} {size_text(size)}"}
                   for (name, colour), size in zip(PARTS, sizes, strict=True))  # fmt: skip
    end = doubled_to(1.25 * float(need.usable), [1.12 * at])
    return Figure(
        "budget", "It fits" if fits else "It does not fit", Axis("linear", "bytes", "B", (0.0, end)),
        Axis("band", names=(row,)), tuple(marks), f"Memory: {words}.", Table(("what", "size", "exactly"), table),
        note=f"{size_text(at)} of {capacity_text} usable", legend=legend, more={"stacked": True, "row": 44},
    )  # fmt: skip
