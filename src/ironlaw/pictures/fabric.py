"""A fabric whose links take the colour of their load: a tree of switches, or a slice of a torus, with the cut through its middle.

A load is what the hosts' ports could send over a link, over what it carries: above 1 they wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.units import percent
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark

WIDTH, HEIGHT = 160.0, 80.0  # of the plane that switches are placed in
MOST = 16  # subtrees of a tier that have room beside each other
SLICE = 8  # chips along a side of a torus's slice
SPANS = 8.0  # of the plane, for names under the hosts
BESIDE = 2.8  # between two hosts of a leaf
HALF, FULL = 0.5, 1.0 + 1e-9
LEGEND = (
    {"colour": "muted", "shape": "line", "label": "idle"},
    {"colour": "good", "shape": "line", "label": "at most half full"},
    {"colour": "warn", "shape": "line", "label": "more than half full"},
    {"colour": "fail", "shape": "line", "label": "overloaded, so the ports wait"},
)


@dataclass(frozen=True, slots=True)
class Subtree:
    """Hosts under one switch, or one group of switches; `load` is its uplink's, `ports` that of its hosts' own ports."""

    name: str
    load: float
    hover: tuple[Row, ...] = ()
    ports: float = 0.0


def colour(load: float) -> str:
    if load <= 0:
        return "muted"
    return "good" if load <= HALF else "warn" if load <= FULL else "fail"


def drawn(subtrees: Sequence[Subtree]) -> list[int]:
    """The ones to draw: all, or as many as there is room for at equal distances, the busiest always among them."""
    count = len(subtrees)
    if count <= MOST:
        return list(range(count))
    chosen = [i * count // MOST for i in range(MOST)]
    busiest = max(range(count), key=lambda i: subtrees[i].load)
    if busiest not in chosen:
        chosen[min(range(MOST), key=lambda i: abs(chosen[i] - busiest))] = busiest
    return chosen


@dataclass(frozen=True, slots=True)
class Span:
    """Hosts side by side that belong together: from which share of all hosts to which."""

    name: str
    start: float
    end: float


def tree(
    tiers: Sequence[Sequence[Subtree]], title: str, *, top: str, text: str, cut: str = "", note: str = "", id: str = "fabric",
    spans: Sequence[Span] = (), ring: str = "",
) -> Figure:  # fmt: skip
    """`tiers`: from the leaves up, those of each under equal parts of the next; `top` is the name of what joins the last. `spans`:
    whose hosts they are, written below them. `ring`: what goes from host to host in the order of the racks;
    three hosts of a leaf stand for all."""
    if not tiers or not all(tiers):
        raise BadValue(f"{title}: a tier has no subtree; give each at least one", "tiers")
    heights = [14.0 + 52.0 * (i + 1) / (len(tiers) + 1) for i in range(len(tiers))]
    places = [_across(len(drawn(tier))) for tier in tiers]
    marks: list[Mark] = []
    for level, tier in enumerate(tiers):
        for x, i in zip(places[level], drawn(tier), strict=True):
            parent = (WIDTH / 2, 74.0)
            if level + 1 < len(tiers):
                above = drawn(tiers[level + 1])
                under = i * len(tiers[level + 1]) // len(tier)
                nearest = min(range(len(above)), key=lambda j: abs(above[j] - under))
                parent = (places[level + 1][nearest], heights[level + 1])
            marks += _link(tier[i], (x, heights[level]), parent)
            if not level:
                down = [(x, heights[0]), (x, 6.0)]
                marks.append(mark("line", colour(tier[i].ports), points=down, id=f"ports-{i}", name=f"ports of {tier[i].name}"))
                marks.append(
                    mark(
                        "point", "ink", x=x, y=6.0, shape="square", size=4 if ring else 5, id=f"hosts-{i}", name=f"hosts of {tier[i].name}"
                    )
                )
                marks += _more_hosts(tier[i], i, x, heights[0]) if ring else []
            marks.append(
                mark("point", "ink", x=x, y=heights[level], size=6, id=f"switch-{level}-{i}", name=tier[i].name, hover=tier[i].hover)
            )
    marks.append(mark("point", "ink", x=WIDTH / 2, y=74.0, size=9, id="top", name=top, label=top))
    if cut:
        marks.append(mark("rule", "muted", x=WIDTH / 2, dash=True, id="cut", name="the middle", label=cut, hover=[cut]))
    marks += [item for span in spans for item in _span(span)]
    marks += _ring(places[0], heights[0], ring) if ring else []
    left = "; ".join(f"{len(drawn(tier))} of {len(tier)} drawn" for tier in tiers if len(tier) > MOST)
    rows = tuple((one.name, percent(one.load)) for tier in tiers for one in tier)
    words = f"{text} {ring[:1].upper()}{ring[1:]} goes from host to host, and over the top once for each leaf." if ring else text
    return _figure(
        id, title, marks, words, rows, "; ".join(part for part in (note, left) if part), ring, below=SPANS if spans or ring else 0.0
    )


def _more_hosts(leaf: Subtree, i: int, x: float, height: float) -> list[Mark]:
    """The neighbours of the host in the middle, each on its own port."""
    marks = []
    for side in (-BESIDE, BESIDE):
        port = [(x, height), (x + side, 6.0)]
        marks.append(mark("line", colour(leaf.ports), points=port, id=f"ports-{i}-{side:g}", name=f"ports of {leaf.name}"))
        host: dict[str, Any] = {"x": x + side, "y": 6.0, "id": f"host-{i}-{side:g}", "name": f"hosts of {leaf.name}"}
        marks.append(mark("point", "ink", **host, shape="square", size=4))
    return marks


def _ring(leaves: Sequence[float], height: float, name: str) -> list[Mark]:
    """Through the hosts from left to right, and back below them. To the next leaf it goes over the top: in full for the first two."""
    marks = [
        mark("line", "accent", points=[(x - BESIDE, 6.0), (x, 6.0), (x + BESIDE, 6.0)], id=f"ring-{i}", name=name)
        for i, x in enumerate(leaves)
    ]
    for i, (one, other) in enumerate(pairwise(leaves)):
        short = [(one + BESIDE, 6.0), (other - BESIDE, 6.0)]
        over = [(one + BESIDE, 6.0), (one + 0.8, height), (WIDTH / 2, 73.0), (other - 0.8, height), (other - BESIDE, 6.0)]
        marks.append(mark("line", "accent", points=over if i == 0 else short, dash="3 3", id=f"hop-{i}", name=f"{name}, over the top"))
    back = [(leaves[-1] + BESIDE, 6.0), (leaves[-1] + BESIDE, -3.0), (leaves[0] - BESIDE, -3.0), (leaves[0] - BESIDE, 6.0)]
    marks.append(mark("line", "accent", points=back, dash="3 3", id="back", name=f"{name}, back to the first"))
    return marks


def _span(span: Span) -> list[Mark]:
    """A line under the hosts, and the name under the line, clear of the cut that it may begin at."""
    start, end = WIDTH * span.start + 1.0, WIDTH * span.end - 1.0
    line = mark("line", "ink", points=[(start, 1.0), (end, 1.0)], id=f"span-{span.name}", name=span.name)
    return [line, mark("label", "ink", x=start + 2.0, y=-5.0, id=f"name-{span.name}", label=span.name)]


def _across(count: int) -> list[float]:
    return [WIDTH * (i + 0.5) / count for i in range(count)]


def _link(one: Subtree, at: tuple[float, float], parent: tuple[float, float]) -> list[Mark]:
    middle = ((2 * at[0] + parent[0]) / 3, (2 * at[1] + parent[1]) / 3)
    hover: tuple[Row, ...] = (("uplink of", one.name), ("load", percent(one.load)), *one.hover)
    over = one.load > FULL
    return [
        mark("line", colour(one.load), points=[at, middle, parent], id=f"up-{one.name}", name=f"uplink of {one.name}", hover=hover,
             emphasis=over, dash=one.load <= 0)
    ]  # fmt: skip


def torus(
    sides: Sequence[int], loads: Sequence[float], title: str, *, text: str, cut: str = "", note: str = "", id: str = "fabric"
) -> Figure:
    """A slice along the two longest sides; `loads` of a link along each side. Links that wrap round end at the border."""
    first, second = sorted(range(len(sides)), key=lambda i: -sides[i])[:2]
    wide, high = (min(SLICE, sides[i]) for i in (first, second))
    xs = [WIDTH * (i + 1) / (wide + 1) for i in range(wide)]
    ys = [HEIGHT * (i + 1) / (high + 1) for i in range(high)]
    lines = [("across", loads[first], [(0.0, y), *((x, y) for x in xs), (WIDTH, y)]) for y in ys]
    lines += [("up", loads[second], [(x, 0.0), *((x, y) for y in ys), (x, HEIGHT)]) for x in xs]
    marks = [
        mark(
            "line", colour(load), points=points, id=f"{way}-{i}", name=f"links {way}", hover=[("load", percent(load))], emphasis=load > FULL
        )
        for i, (way, load, points) in enumerate(lines)
    ]
    marks += [mark("point", "ink", x=x, y=y, size=4, id=f"chip-{i}-{j}", name="chip") for i, x in enumerate(xs) for j, y in enumerate(ys)]
    marks.append(mark("label", colour(loads[first]), x=xs[0] / 2, y=ys[-1], id="label", label=percent(loads[first])))
    if cut:
        marks.append(
            mark("rule", "muted", x=(xs[wide // 2 - 1] + xs[wide // 2]) / 2, dash=True, id="cut", name="the middle", label=cut, hover=[cut])
        )
    rows = tuple((f"links along {side}", percent(load)) for side, load in zip(sides, loads, strict=True))
    size = " × ".join(map(str, sides))
    return _figure(id, title, marks, text, rows, "; ".join(part for part in (note, f"a slice of {size}") if part))


def _figure(
    id: str, title: str, marks: Sequence[Mark], text: str, rows: tuple[tuple[str, ...], ...], note: str, ring: str = "", below: float = 0.0
) -> Figure:
    return Figure(
        id, title, Axis("linear", domain=(0.0, WIDTH)), Axis("linear", domain=(-below, HEIGHT)), tuple(marks), text,
        Table(("link", "load"), rows), note, (*LEGEND, *_legend(ring)), {"plain": True, "height": 320},
    )  # fmt: skip


def _legend(ring: str) -> tuple[dict[str, object], ...]:
    if not ring:
        return ()
    return (
        {"colour": "accent", "shape": "line", "label": ring},
        {"colour": "accent", "shape": "line", "dash": True, "label": "its hop to the next leaf, over the top"},
    )
