"""How long requests took: a dot for each of many log bins, and percentiles with the band that their count allows."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ironlaw.engine.serving.samples import order_interval, rank
from ironlaw.errors import BadValue
from ironlaw.pictures.ends import decades
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

PERCENTILES = (0.5, 0.9, 0.99, 0.999)
BINS = 10  # in a decade
LEAST = 1e-3  # percent: the foot of the axis, under one request in a hundred thousand
OVER = 160.0  # percent: room over all of them, so that no word lies on their mark
CLOSE = 1.15  # percentiles nearer than this share a rule
COLOURS = ("accent", "ink", "ridge", "compute")
SHAPES = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile of a sample and where it lies with 95% confidence; None where the sample does not bound it."""

    p: float
    value: float
    low: float | None
    high: float | None

    @property
    def name(self) -> str:
        return f"P{significant(100 * self.p, 6)}"


def percentile(ordered: Sequence[float], p: float) -> Percentile:
    """The percentile of values in rising order, assumed independent."""
    low, high = order_interval(len(ordered), p)
    return Percentile(p, ordered[rank(len(ordered), p) - 1], ordered[low - 1] if low else None, ordered[high - 1] if high else None)


def histogram(
    series: Mapping[str, Sequence[float]], title: str, *, unit: str = "s", domain: tuple[float, float] | None = None,
    left_out: str = "", percentiles: Sequence[float] = PERCENTILES, note: str = "", id: str = "histogram", height: int = 330,
) -> Figure:  # fmt: skip
    """`series`: name -> values in rising order. The first one has rules at its percentiles, each with its band. `left_out`: what to call
    the dots of the first one where the second one has less than half of its share; they have a colour of their own."""
    if not series or not all(series.values()):
        raise BadValue(f"{title}: a series has no values; give each at least one")
    low, high = domain or _span(series)
    edges = _edges(low, high)
    shares = {name: _shares(values, edges) for name, values in series.items()}
    first, *others = series
    marks: list[Mark] = [item for group in _groups(series[first], percentiles) for item in _rule(group, unit, (low, high))]
    second = shares[others[0]] if left_out and others else None
    for i, name in reversed(list(enumerate(series))):
        marks += _dots(name, i, edges, shares[name], unit, left_out, None if i else second)
    rows = tuple(
        (f"{format_quantity(a, unit)} to {format_quantity(b, unit)}", *(f"{significant(shares[name][i])}%" for name in series))
        for i, (a, b) in enumerate(pairwise(edges))
        if any(shares[name][i] for name in series)
    )
    words = "; ".join(
        f"{name}, {len(values):,} requests: " + ", ".join(_words(percentile(values, p), unit) for p in percentiles)
        for name, values in series.items()
    )
    legend = [{"colour": COLOURS[i % 4], "shape": SHAPES[i % 4], "hollow": i > 0, "label": name} for i, name in enumerate(series)]
    if second:
        legend.append({"colour": "fail", "shape": SHAPES[0], "label": left_out})
    return Figure(
        id, title, Axis("log", "time to the answer", unit, (low, high)), Axis("log", "share of the requests", "%", (LEAST, OVER)),
        tuple(marks), f"{words}.", Table(("time", *series), rows), note, tuple(legend), {"height": height},
    )  # fmt: skip


def bands(
    series: Mapping[str, Sequence[float]], title: str, *, unit: str = "s", domain: tuple[float, float] | None = None,
    percentiles: Sequence[float] = PERCENTILES, extra: Sequence[Mark] = (), note: str = "", id: str = "bands",
) -> Figure:  # fmt: skip
    """The percentiles of several samples under each other: a point where each lies, and a bar as wide as the count leaves it open."""
    if not series or not all(series.values()):
        raise BadValue(f"{title}: a series has no values; give each at least one")
    low, high = domain or _span(series)
    points = {(p, name): percentile(values, p) for p in percentiles for name, values in series.items()}
    names = {key: f"{item.name}, {key[1]}" if len(series) > 1 else item.name for key, item in points.items()}
    marks: list[Mark] = []
    for (p, name), item in points.items():
        i = list(series).index(name)
        marks += _whisker(item, names[p, name], COLOURS[i % 4], SHAPES[i % 4], unit, (low, high))
    rows = tuple((names[key], format_quantity(item.value, unit), *_ends(item, unit)) for key, item in points.items())
    words = "; ".join(f"{names[key]}: {_band(item, unit)}" for key, item in points.items())
    legend = tuple({"colour": COLOURS[i % 4], "shape": SHAPES[i % 4], "label": name} for i, name in enumerate(series))
    return Figure(
        id, title, Axis("log", "time to the answer", unit, (low, high)), Axis("band", names=tuple(names.values())), (*marks, *extra),
        f"{words}.", Table(("percentile", "value", "at least", "at most"), rows), note, legend if len(series) > 1 else (), {"row": 40},
    )  # fmt: skip


def _span(series: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    return decades(0.9 * min(values[0] for values in series.values()), 1.1 * max(values[-1] for values in series.values()))


def _edges(low: float, high: float) -> list[float]:
    count = max(1, round(BINS * math.log10(high / low)))
    return [low * (high / low) ** (i / count) for i in range(count + 1)]


def _shares(ordered: Sequence[float], edges: Sequence[float]) -> list[float]:
    """Percent in each bin; what lies beyond the ends counts in the last ones."""
    places = [0, *(bisect_left(ordered, edge * (1 + 1e-9)) for edge in edges[1:-1]), len(ordered)]
    return [100.0 * (b - a) / len(ordered) for a, b in pairwise(places)]


def _dots(
    name: str, i: int, edges: Sequence[float], shares: Sequence[float], unit: str, left_out: str, second: Sequence[float] | None
) -> list[Mark]:
    """A dot for every bin that holds something: on a log axis a column has no true height. Where the second series has less than half of
    it, the dot says `left_out`."""
    marks = []
    for k, (a, b, share) in enumerate(zip(edges, edges[1:], shares, strict=False)):
        if share <= 0:
            continue
        lacks = second is not None and second[k] < share / 2
        hover: list[Row] = [("between", f"{format_quantity(a, unit)} and {format_quantity(b, unit)}"), ("share", f"{significant(share)}%")]
        colour, size = "fail" if lacks else COLOURS[i % 4], 6 if i else 4.5
        marks.append(
            mark("point", colour, x=math.sqrt(a * b), y=max(share, LEAST), shape=SHAPES[i % 4], size=size, hollow=i > 0, id=f"bin-{i}-{k}",
                 name=name, hover=[*hover, left_out] if lacks else hover)
        )  # fmt: skip
    return marks


def _groups(ordered: Sequence[float], percentiles: Sequence[float]) -> list[list[Percentile]]:
    """Percentiles that lie on each other stand together."""
    groups: list[list[Percentile]] = []
    for item in (percentile(ordered, p) for p in percentiles):
        if groups and item.value <= CLOSE * groups[-1][-1].value:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def _rule(group: Sequence[Percentile], unit: str, ends: tuple[float, float]) -> list[Mark]:
    at, label = group[-1], ", ".join(item.name for item in group)
    hover: list[Row] = [(item.name, _band(item, unit)) for item in group]
    low, high = at.low or ends[0], at.high or ends[1]
    marks = [mark("rule", "ridge", x=_inside(at.value, ends), dash=True, label=label, name=label, id=f"rule-{at.name}", hover=hover)]
    if high > low * 1.01:
        band = mark("area", "muted", x0=_inside(low, ends), x1=_inside(high, ends), y0=LEAST, y1=OVER, name=f"95% band of {at.name}",
                    id=f"band-{at.name}", hover=hover)  # fmt: skip
        marks.insert(0, band)
    return marks


def _whisker(item: Percentile, row: str, colour: str, shape: str, unit: str, ends: tuple[float, float]) -> list[Mark]:
    low, high = _inside(item.low or ends[0], ends), _inside(item.high or ends[1], ends)
    hover: list[Row] = [("value", exact(item.value, unit)), ("95% band", _band(item, unit))]
    bar = mark("bar", colour, x0=low, x1=max(high, low * 1.0001), y=row, thin=True, id=f"band-{row}", name=f"{row}, 95% band", hover=hover)
    point = mark(
        "point", colour, x=_inside(item.value, ends), y=row, shape=shape, size=6, id=f"at-{row}", name=row, emphasis=True, hover=hover,
        label=format_quantity(item.value, unit),
    )  # fmt: skip
    return [bar, point]


def _inside(value: float, ends: tuple[float, float]) -> float:
    return min(max(value, ends[0]), ends[1])


def _ends(item: Percentile, unit: str) -> tuple[str, str]:
    return tuple("not known" if end is None else format_quantity(end, unit) for end in (item.low, item.high))  # type: ignore[return-value]


def _band(item: Percentile, unit: str) -> str:
    low, high = _ends(item, unit)
    value = format_quantity(item.value, unit)
    if item.low is None and item.high is None:
        return f"{value}, and nothing is known about it"
    if item.high is None:
        return f"{value}, at least {low}; no upper end"
    return f"{value}, at most {high}; no lower end" if item.low is None else f"{value}, between {low} and {high}"


def _words(item: Percentile, unit: str) -> str:
    return f"{item.name} {_band(item, unit)}"
