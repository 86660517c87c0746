"""Act I's pictures: every part at the same factor, the pass before and after, and the speed-up as the factor grows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ironlaw.labs.lab_12_amdahl.passes import HOST, Pass
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.lines import lines
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

FACTORS = tuple(10 ** (k / 12) for k in range(37))  # 1 to 1,000
LARGEST = FACTORS[-1]
TICKS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)  # 1×, no faster, stands a little inside
TURNS, OVERLAP = "parts take turns", "parts overlap"


def every_part(one: Pass, target: str, factor: float, overlap: bool) -> Figure:
    """How much faster the whole gets if one part does, each in its turn; the largest first."""
    gains = {name: one.speedup(name, factor, overlap) for name in one.targets()}
    ranked = sorted(gains, key=lambda name: -gains[name])
    names = {name: one.name_of(name) for name in ranked}
    bars = [
        mark(
            "point", "accent" if name == target else "ridge", size=8, x=gains[name], y=names[name], id=f"part-{name}", name=names[name],
            label=format_quantity(gains[name], "×"), emphasis=name == target,
            hover=[("the pass, faster by", exact(gains[name], "×")), ("at most", _most(one, name, overlap)),
                   ("share of the pass", f"{100 * one.share(name):.3g}%")],
        )
        for name in ranked
    ]  # fmt: skip
    rows = tuple((names[name], exact(gains[name], "×"), _most(one, name, overlap)) for name in ranked)
    words = "; ".join(f"{names[name]} {format_quantity(gains[name], '×')}" for name in ranked)
    title = f"The whole pass, if one part gets {significant(factor)}× as fast"
    far = max(2.0, up_to(1.1 * max(gains.values())))
    across = Axis("log", "speed-up of the whole pass", "×", (0.9, far), ticks=tuple(tick for tick in TICKS if tick <= far))
    return Figure(
        "every_part", title, across, Axis("band", names=tuple(names.values())), tuple(bars),
        f"{one.label}: {words}.", Table(("part", "the whole", "at most"), rows), more={"row": 30},
    )  # fmt: skip


def _most(one: Pass, name: str, overlap: bool) -> str:
    most = one.speedup(name, math.inf, overlap)
    return "no limit" if math.isinf(most) else format_quantity(most, "×")


def before_and_after(one: Pass, target: str, factor: float, overlap: bool, marks: Sequence[Mark] = ()) -> Figure:
    """The parts as measured, and as the dials have them. The longest bar is the measured one, so the axis stands still."""
    title = f"The pass still takes {format_quantity(one.seconds / one.speedup(target, factor, overlap), 's')}"
    if not overlap:
        rows = {"before": _parts(one, one.after(target, 1.0)), "after": _parts(one, one.after(target, factor))}
        return stack(
            rows, "s", title, chosen="after", label="time of one pass", note=one.label, id="pass",
            extra=marks,
        )  # fmt: skip
    before, now = one.lane_times(target, 1.0), one.lane_times(target, factor)
    rows = {lane_name(lane): [_lane(lane, before[lane])] for lane in before}
    rows |= {f"{lane_name(lane)}, after": [_lane(lane, now[lane])] for lane in now if now[lane] != before[lane]}
    return stack(
        rows, "s", title, chosen=lane_name(max(now, key=lambda lane: now[lane])), label="time of one pass", note=one.label, id="pass",
        extra=marks,
    )  # fmt: skip


def lane_name(lane: str) -> str:
    return {"host": "host, running ahead", "device": "GPU work"}.get(lane, lane)


def _lane(lane: str, seconds: float) -> Part:
    return Part(lane_name(lane), seconds, "overhead" if lane == HOST else "compute")


def _parts(one: Pass, seconds: Sequence[float]) -> list[Part]:
    return [Part(part.name, took, part.colour, part.pattern) for part, took in zip(one.parts, seconds, strict=True)]


def growing(one: Pass, target: str, factor: float, overlap: bool, local: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """S over s, in turn and overlapped, and the ceiling that the chosen way has."""
    factors = sorted({*FACTORS, factor})
    ways = {TURNS: False, OVERLAP: True} if one.overlaps else {TURNS: False}
    series = {name: [(s, one.speedup(target, s, way)) for s in factors] for name, way in ways.items()}
    most = one.speedup(target, math.inf, overlap)
    ceiling = [mark("rule", "ridge", y=most, dash=True, label=f"ceiling {format_quantity(most, '×')}", name="the ceiling", id="ceiling",
                    hover=[("however fast the part", exact(most, "×"))])] if math.isfinite(most) else []  # fmt: skip
    ends = [value for points in (*series.values(), *local.values()) for _, value in points]
    if math.isfinite(most):
        ends.append(most)
    high = 1.0 + up_to(1.05 * max(max(ends) - 1.0, 0.05))
    title = f"How much faster the pass gets as {one.name_of(target)} speeds up"
    return lines(
        series, Axis("log", "how much faster the part is", "×", (1.0, LARGEST)),
        Axis("linear", "speed-up of the whole pass", "×", (1.0, high)), title, extra=ceiling,
        now=(OVERLAP if overlap else TURNS, factor), drag=hold("factor"), note=one.label, id="growing", local=local,
    )  # fmt: skip
