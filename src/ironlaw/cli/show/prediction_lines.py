"""What `ironlaw predict` shows: where the time goes, what the run takes, and the figures behind it."""

from __future__ import annotations

from typing import Any

from ironlaw.cli.show import draw
from ironlaw.cli.show.prediction_notes import alike, footnotes, warnings
from ironlaw.engine.device.complex_work import flops, product_flops, spoken_format
from ironlaw.engine.device.predict import OpRow, Prediction
from ironlaw.engine.device.types import Graph
from ironlaw.formats import operation
from ironlaw.report import accuracy
from ironlaw.report.model_variants import comparable, ordered
from ironlaw.units import show

SIZES = ("batch", "seq", "context", "classes")
BAR = "data █  compute ▒  overhead ░"
LIKELY = 20  # columns that an interval takes


WORDS = {"transferred": "about ", "bound": "at least ", "calibrated": ""}  # before a time in a sentence
BINDS = {"memory": "memory bandwidth", "compute": "arithmetic"}


def report(
    graph: Graph, predictions: list[Prediction], refused: list[str], ops: int, notes: bool = False, compare: bool = True, answer: str = ""
) -> None:
    """`notes`: with every column explained and all sources. `compare`: also put times that rest on different grounds on the same.
    `answer`: a sentence above the tables."""
    draw.heading(
        graph.name,
        " · ".join(
            [*sizes(graph), spoken_format(graph), show(product_flops(graph), operation(graph.dtype)), f"{show(graph.params)} parameters"]
        ),
    )
    if answer:
        draw.say(answer)
    predictions = ordered(predictions)
    room = draw.width()
    length = len(BAR) if room >= draw.WIDE + 10 else 0
    columns = ["machine", "mode", "time", *([BAR] if length else []), "data", "compute", "overhead", "bound by"]
    draw.table(columns, [_where(p, length) for p in predictions], left=("machine", "mode", "bound by", BAR))
    _takes(predictions, narrow=room < draw.WIDE + (LIKELY if any(p.interval for p in predictions) else 0))
    for p in predictions if ops else ():
        operators(p, ops)
    if compare:
        alike(predictions, graph)
    warnings(predictions)
    for reason in refused:
        draw.say(f"✗ {reason}", draw.BAD)
    footnotes(predictions, notes)


def answer(graph: Graph, predictions: list[Prediction]) -> str:
    """`At 686 µs per call, h200_sxm in graphs mode is fastest, and …`: how long, and the bottleneck. Lower bounds are not ranked."""
    able = ordered(p for p in predictions if p.fits)
    if not able:
        return "The model does not fit. What would hold it stands below the tables." if predictions else ""
    shown, basis = comparable(tuple(able), graph)
    if len(able) == 1 or "bound" in (basis, shown[0].basis):
        p, rank = able[0], ""
    else:
        at, quickest = min(enumerate(shown), key=lambda pair: float(pair[1].seconds))
        times = [show(float(other.seconds), "s") for other in shown]
        p, rank = able[at], "is as fast as any" if times.count(show(float(quickest.seconds), "s")) > 1 else "is fastest"
    time, where = f"{WORDS[p.basis]}{show(float(p.seconds), 's')}", f"{p.hardware.slug} in {p.plan.mode} mode"
    fixed = "the fixed cost of" if p.utilization > 0.5 else "launching"  # the device's own, or it waits for the host
    binds = BINDS.get(p.bound, f"{fixed} {draw.count(p.kernels)} kernel{'' if p.kernels == 1 else 's'}")
    return f"{f'At {time} per call, {where} {rank}' if rank else f'A call takes {time} on {where}'}, and {binds} is the bottleneck."


def sizes(graph: Graph) -> list[str]:
    """The settings that matter: a prefill has no cache, a decoding step no sequence."""
    settings = dict(graph.settings)
    phase = settings.pop("phase", "")
    idle = {"prefill": "context", "decode": "seq"}.get(phase, "")
    return [*([phase] if phase else []), *(f"{name} {value:,}" for name, value in settings.items() if name in SIZES and name != idle)]


def _where(p: Prediction, length: int) -> list[Any]:
    shares = [("memory", p.data_s), ("compute", p.compute_s), ("overhead", p.overhead_s)]
    cells = [(show(seconds, "s"), draw.TERMS[name] if name == p.bound else "") for name, seconds in shares]
    picture = [draw.bar(shares, length)] if length else []
    seconds = accuracy.time(p, show), draw.STRONG if p.calibrated else draw.DIM
    return [p.hardware.slug, p.plan.mode, seconds, *picture, *cells, draw.term(p.bound)]


def _takes(predictions: list[Prediction], narrow: bool) -> None:
    """What a run takes. In a narrow terminal two figures share a cell, one above the other."""
    likely = ["likely"] if any(p.interval for p in predictions) else []
    rows = []
    for p in predictions:
        dash = " –\n" if narrow else " – "
        interval = [accuracy.between(p.interval, show, dash) if p.interval else "–"] if likely else []
        middle = [draw.span(*p.overlap, "s", narrow), *interval]
        total, usable = show(p.memory.total, "B"), f"of {show(p.memory.usable, 'B')}"
        memory = f"{total}{'' if p.fits else ' ✗'}\n{usable}" if narrow else f"{total} {usable}{'' if p.fits else ' ✗'}"
        end = [memory if p.fits else (memory, draw.BAD), f"≈ {show(p.energy_j, 'J')}"]
        kernels, busy = draw.count(p.kernels), draw.percent(p.utilization)
        if narrow:
            rows.append([p.hardware.slug, f"{p.plan.mode}\n{p.label}", *middle, f"{kernels}\n{busy}", *end])
        else:
            rows.append([p.hardware.slug, p.plan.mode, *middle, busy, kernels, *end, p.label])
    if narrow:
        columns = ["machine", "mode\nfigures", "overlap", *likely, "kernels\nbusy", "memory", "energy"]
    else:
        columns = ["machine", "mode", "overlap", *likely, "busy", "kernels", "memory", "energy", "figures"]
    draw.table(columns, rows, left=("machine", "mode\nfigures", "mode", "figures"), spare=("energy", "overlap"))


def operators(p: Prediction, limit: int) -> None:
    rows = heaviest(p, limit)
    draw.heading(f"{p.hardware.slug}, {p.plan.mode}", f"the {len(rows)} longest of {len(p.ops):,} operators")
    cells = []
    for r in rows:
        amounts = (draw.percent(r.seconds / p.busy_s), show(flops(r.op), operation(r.op.dtype)), show(r.work.bytes, "B"))
        margin = [_margin(r)] if p.interval else []
        cells.append((label(r), kinds(r), (show(r.seconds, "s"), draw.STRONG), *margin, *amounts, draw.term(r.regime)))
    columns = ["operator", "kind", "time", *(["±"] if p.interval else []), "share", "work", "moved", "regime"]
    draw.table(columns, cells, left=("regime",), text=("operator", "kind"), spare=("kind", "moved", "work"))


def _margin(r: OpRow) -> Any:
    """How far above the predicted time four runs out of five may lie; marked where the op lies beyond what was measured."""
    if r.interval is None or r.place == "unknown":
        return "unknown", draw.BAD
    margin = draw.percent(float(r.interval[1] / r.seconds) - 1.0) if r.seconds else "–"
    return (f"! {margin}", draw.BAD) if r.place == "outside" and r.seconds else margin


def heaviest(p: Prediction, limit: int) -> list[OpRow]:
    return sorted(p.ops, key=lambda r: -r.seconds)[:limit]


def label(r: OpRow) -> str:
    """`layer4.0.conv2…layer4.0.relu2` -> `layer4.0.conv2…relu2`: the place they share stands once."""
    first, mark, last = r.name.partition("…")
    place = first.rpartition(".")[0] + "."
    return f"{first}{mark}{last.removeprefix(place)}"


def kinds(r: OpRow) -> str:
    """What is inside a fused kernel, or the op's own kind."""
    return " + ".join(part.kind for part in r.op.attrs["parts"]) if "parts" in r.op.attrs else r.kind
