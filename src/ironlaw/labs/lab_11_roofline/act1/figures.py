"""Act I's pictures: the roofs with every point on them, the prediction's own case, and the gap of a measured point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.device.machine import Hardware
from ironlaw.labs.lab_11_roofline.act1 import gemm
from ironlaw.labs.lab_11_roofline.act1.gemm import Case, Run
from ironlaw.labs.lab_11_roofline.machines import MEASURED_MACHINE, named, short
from ironlaw.pictures.roofs import Dot, Roof, per_byte, roofs
from ironlaw.registry.machines import hardware
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity, in_one_unit, share

ACROSS = (0.1, 1e4)
INNER = ("l2", "l3")  # caches; "all" adds what lies nearer to the units
PARTS = {
    "roof": ("the roof", "ink"), "quantisation": ("tiles and waves", "compute"), "rate": ("clock and issue", "compute"),
    "power": ("power limit", "compute"), "floor": ("kernel floor", "overhead"), "launch": ("launch", "overhead"), "rest": ("rest", "muted"),
}  # fmt: skip
PIN_SHAPES = ("diamond", "circle", "square", "triangle")


@dataclass(frozen=True)
class Layers:
    """What the picture holds besides the point that the dials stand at."""

    beside: Hardware | None = None
    levels: str = "main"  # main | cache | all
    every_format: bool = False
    measured: tuple[Run, ...] = ()
    pins: Sequence[tuple[str, Case]] = ()
    own: Sequence[Dot] = ()  # what the learner measured on this machine
    answer: Sequence[Mark] = ()  # what the learner predicted, and what it is


def picture(case: Case, layers: Layers) -> Figure:
    all_roofs = _roofs(case, layers)
    dots = [_now(case), *_formats(case, layers), *_comparison(case, layers), *_recorded(layers), *_pins(layers), *layers.own]
    legend: list[dict[str, Any]] = []
    for replayed, label in ((False, "measured, called from Python"), (True, "measured, graph replay")):
        if any(run.replayed == replayed for run in layers.measured):
            legend.append({"colour": "overhead", "shape": "square" if replayed else "triangle", "label": f"H200: {label}"})
    if layers.own:
        legend.append({"colour": "here", "shape": "square", "label": f"this machine: {layers.own[0].source}"})
    if layers.pins:
        legend.append({"colour": "ink", "shape": "diamond", "hollow": True, "label": "pinned"})
    note = case.roof.name
    return roofs(all_roofs, dots, ACROSS, "roofs", f"{case.size} is {case.bound}", layers.answer, note, legend=legend)


def _roofs(case: Case, layers: Layers) -> list[Roof]:
    first = case.roof
    drawn = [first]
    if layers.every_format:
        drawn += [case.as_(fmt).roof for fmt in case.formats if fmt != case.fmt]
    levels = [level.name for level in case.hardware.levels if level.name != "main"]
    names = [name for name in levels if layers.levels == "all" or (layers.levels == "cache" and name in INNER)]
    drawn += [Roof(case.hardware, case.fmt, first.label, name) for name in names]
    others = [layers.beside] if layers.beside else []
    if layers.measured and MEASURED_MACHINE not in (case.hardware.slug, layers.beside.slug if layers.beside else ""):
        others.append(hardware(MEASURED_MACHINE))
    for machine in others:
        fmt = next((f for f in (case.fmt, "fp16", "bf16", "fp32") if f in machine.peaks), next(iter(machine.peaks)))
        drawn.append(Roof(machine, fmt, short(machine.slug)))
    drawn += {
        dot.roof.name: dot.roof for dot in layers.own if not dot.apart and dot.roof.name not in {roof.name for roof in drawn}
    }.values()
    present = {(roof.hardware.slug, roof.fmt) for roof in drawn}
    return drawn + list({(p.hardware.slug, p.fmt): p.roof for _, p in layers.pins if (p.hardware.slug, p.fmt) not in present}.values())


def _dot(case: Case, id: str, name: str, **options: Any) -> Dot:
    return Dot(id, name, float(case.work.flops), float(case.work.bytes), case.roof, **options)


def _now(case: Case) -> Dot:
    label = f"{case.size}: {format_quantity(float(case.at.attainable), case.unit)}"
    drag = hold("n", stops=case.stops)
    return _dot(case, "now", f"{case.roof.name}, {case.size}", label=label, size=9, drop=True, more=(("drag", drag), ("emphasis", True)))


def _formats(case: Case, layers: Layers) -> list[Dot]:
    """The same product in the machine's other formats: intensity and ridge move together."""
    if not layers.every_format:
        return []
    others = [case.as_(fmt) for fmt in case.formats if fmt != case.fmt]
    return [_dot(c, f"format-{c.fmt}", f"{c.roof.name}, {c.size}", label=c.fmt.upper(), colour="ink", size=5) for c in others]


def _comparison(case: Case, layers: Layers) -> list[Dot]:
    machine = layers.beside
    if machine is None or case.fmt not in machine.peaks:
        return []
    other = Case(machine, case.m, case.n, case.k, case.fmt)
    return [_dot(other, "beside", f"{other.roof.name}, {case.size}", label=short(machine.slug), colour="ink", size=6)]


def _recorded(layers: Layers) -> list[Dot]:
    return [
        _dot(
            run.case, f"run-{run.case.n}-{run.how}", f"H200 measured, {run.how}, {run.case.fmt.upper()}, N = {run.case.n:,}", rate=run.rate,
            seconds=run.seconds, colour="overhead", shape="square" if run.replayed else "triangle", size=5, source=gemm.source(),
        )
        for run in layers.measured
    ]  # fmt: skip


def _pins(layers: Layers) -> list[Dot]:
    dots = []
    for i, (name, case) in enumerate(layers.pins):
        drag = hold("n", stops=case.stops, pin=i)
        more = (("drag", drag), ("hollow", True))
        label = f"{name}: {case.roof.name}, {case.size}"
        dots.append(_dot(case, f"pin-{i}", label, label=name, colour="ink", shape=PIN_SHAPES[i % len(PIN_SHAPES)], size=7, more=more))
    return dots


def growth(case: Case, beside: Hardware | None = None) -> Figure:
    """The share of the peak that the roof allows, against N: in proportion, then flat."""
    names = [case.roof.name]
    marks = [_share(case, "accent")]
    if beside and case.fmt in beside.peaks:
        other = Case(beside, case.m, case.n, case.k, case.fmt)
        names.append(other.roof.name)
        marks.append(_share(other, "ink", "7 4"))
    at = 100.0 * float(case.at.mfu)
    now: dict[str, Any] = {"x": case.n, "y": at, "size": 8, "emphasis": True, "drag": hold("n"), "id": "now"}
    hover = [("N", f"{case.n:,}"), ("of the peak", share(at, 100.0)), ("bound", case.bound)]
    marks.append(mark("point", "accent", **now, label=share(at, 100.0), name=f"{case.roof.name}, {case.size}", hover=hover))
    rows = tuple((f"{n:,}", share(float(case.sized(n).at.mfu), 1.0), case.sized(n).bound) for n in gemm.TABLE)
    sizes = Axis("log", "N", ticks=gemm.TICKS)
    rate = Axis("linear", "share of the peak (a bound)", "%", (0.0, 108.0))
    words = f"{' and '.join(names)}: the share of the peak grows with N, {share(at, 100.0)} at {case.size}."
    table, layout = Table(("N", "of the peak", "regime"), rows), {"height": 340}
    title = f"{case.size} can reach {share(at, 100.0)} of the peak"
    return Figure("growth", title, sizes, rate, tuple(marks), words, table, ", ".join(names), more=layout)


def _share(case: Case, colour: str, dash: str | None = None) -> Mark:
    points = [(float(n), 100.0 * float(case.sized(n).at.mfu)) for n in gemm.SMOOTH]
    return mark("line", colour, points=points, label=case.roof.label, dash=dash, id=f"share-{case.roof.name}")


def answer_marks(case: Case, claim: str | None, device: str) -> list[Mark]:
    """Where the message's product is, and where the prediction puts it: left or right of the ridge, on the ceiling, below the roof.

    `device`: the one that the dials stand at; under another one's roof the truth says whose it is.
    """
    at = case.at
    x, roof, ridge, peak = float(at.intensity), float(at.attainable), float(at.ridge), float(at.peak)
    places = {"memory": (x, roof), "tiles": (ridge * ridge / x, peak), "maximum": (ridge, peak), "bug": (x, roof / 4)}
    if claim not in places:
        return []
    px, py = places[claim]
    hover = [("your prediction", per_byte(px, case.fmt)), ("the case", per_byte(x, case.fmt))]
    place: dict[str, Any] = {"x": px, "y": py, "shape": "diamond", "size": 10, "hollow": True, "role": "prediction"}
    truth: dict[str, Any] = {"x": x, "y": roof, "size": 8, "role": "truth", "hover": [("it is", per_byte(x, case.fmt))]}
    where = "it is here" if device == case.hardware.slug else f"on {named(case.hardware.slug)} it is here"
    return [
        mark("point", "accent", **place, label="you said", name="where you said", id="said", hover=hover),
        mark("point", "ink", **truth, label=where, name="the message's product", id="truth"),
    ]


def gap(run: Run) -> Figure:
    """One measured time, from the roof's time to the clock's, as bars."""
    parts = run.gap.parts
    names = [PARTS[key][0] for key in parts]
    if run.gap.launch is None:
        names[-1] = "launch and rest"
    marks, time = list[Mark](), in_one_unit((run.seconds,), "s")
    for name, (key, seconds) in zip(names, parts.items(), strict=True):
        hover: list[Row] = [("exactly", exact(seconds, "s")), ("of the whole", share(seconds, run.seconds)), gemm.source()]
        label = f"{time(seconds)}, {share(seconds, run.seconds)}"
        marks.append(mark("bar", PARTS[key][1], x=max(seconds, 0.0), y=name, id=key, label=label, name=name, hover=hover))
    whole = f"measured {run.how}"
    marks.append(mark("bar", "accent", x=run.seconds, y=whole, id="whole", label=time(run.seconds), name=whole, emphasis=True))
    largest, most = max(zip(names, parts.values(), strict=True), key=lambda part: part[1])
    title = f"Largest part: {largest}, {time(most)} of {time(run.seconds)}"
    words = ", ".join(f"{name} {time(value)}" for name, value in zip(names, parts.values(), strict=True))
    listed = [*zip(names, parts.values(), strict=True), (whole, run.seconds)]
    rows = tuple((name, time(v), exact(v, "s"), share(v, run.seconds)) for name, v in listed)
    return Figure(
        "gap", title, Axis("linear", "time", "s"), Axis("band", names=(*names, whole)), tuple(marks),
        f"{whole} {time(run.seconds)}: {words}.", Table(("term", "time", "exactly", "of the whole"), rows),
        note=f"NVIDIA H200, {run.how}, N = {run.case.n:,}, {run.case.fmt.upper()}; {format_quantity(run.rate, run.case.unit)}"
        f" under a roof of {format_quantity(float(run.case.at.attainable), run.case.unit)}",
    )  # fmt: skip
