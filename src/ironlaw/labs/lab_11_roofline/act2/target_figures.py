"""The picture of the throughput target: tokens per second over the batch, up to where memory ends."""

from __future__ import annotations

from collections.abc import Sequence

from ironlaw.labs.lab_11_roofline.act2 import target
from ironlaw.labs.lab_11_roofline.act2.layer import Case
from ironlaw.pictures.ends import up_to
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact

Points = tuple[tuple[int, float], ...]


def picture(design: Case, answer: Sequence[Mark] = ()) -> Figure:
    """The line is solid as far as the design fits and dashed beyond; the axes are the same for every design. `answer`: marks."""
    plain, own = target.setting(target.today()), target.setting(design)
    points, last = target.curve(own), target.at_most(own)
    end, changed = last.batch, own != plain
    inside, outside = _split(last, points)
    before = mark("line", "muted", points=target.curve(plain), dash="2 4", name="as served today", id="today")
    marks = [
        mark("rule", "ink", y=float(target.TARGET), label=f"target {target.TARGET:,}", name="the target", id="target",
             hover=[("target", exact(float(target.TARGET), "tokens/s"))]),
        *([before] if changed else []),
        mark("line", "accent", points=inside, name="this design, while it fits", id="fits", emphasis=True),
        mark("line", "fail", points=outside, dash="6 4", name="this design, if there were more memory", id="beyond", emphasis=True),
        mark("rule", "ridge", x=float(end), dash=True, label=f"memory full at {end:,}", name="the largest batch that fits", id="full",
             hover=[("largest batch", exact(float(end)))]),
        *answer, _now(design),
    ]  # fmt: skip
    high = up_to(1.02 * target.top())
    rows = [(f"{batch:,}", significant(rate, 4), "fits" if batch <= end else "out of memory") for batch, rate in points]
    verdict = "reaches" if target.met(design) else "misses"
    words = (
        f"{design.rate:,.0f} tokens per second at batch {design.batch:,}, which {verdict} the target of {target.TARGET:,}; "
        f"memory is full at batch {end:,}, with {last.rate:,.0f}."
    )
    legend = (
        {"colour": "accent", "shape": "line", "label": "this design, while it fits"},
        {"colour": "fail", "shape": "line", "dash": True, "label": "if there were more memory"},
        *(({"colour": "muted", "shape": "line", "dash": True, "label": "as served today"},) if changed else ()),
    )
    return Figure(
        "throughput", _finding(design), Axis("log", "batch", ticks=tuple(map(float, target.BATCHES))),
        Axis("linear", "tokens/s", "tokens/s", (0.0, high)), tuple(marks), words, Table(("batch", "tokens/s", "memory"), tuple(rows)),
        legend=legend, more={"height": 330},
    )  # fmt: skip


def _finding(design: Case) -> str:
    if not design.footprint.fits:
        return f"Batch {design.batch:,} does not fit"
    return f"{design.rate:,.0f} tokens per second, {'above' if target.met(design) else 'below'} the target"


def _split(last: Case, points: Points) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """The line up to the largest batch that fits, and on from there."""
    edge = (float(last.batch), last.rate)
    inside = [(float(batch), rate) for batch, rate in points if batch < last.batch]
    return [*inside, edge], [edge, *((float(batch), rate) for batch, rate in points if batch > last.batch)]


def _now(design: Case) -> Mark:
    fits = bool(design.footprint.fits)
    hover = [
        ("batch", exact(float(design.batch))),
        ("tokens/s", exact(design.rate)),
        ("per user", f"{significant(design.per_user)} tokens/s"),
    ]
    return mark(
        "point", "good" if target.met(design) else "accent" if fits else "fail", x=float(design.batch), y=design.rate, size=8, id="now",
        name=f"batch {design.batch:,}", label=f"{design.rate:,.0f}" if fits else "out of memory", emphasis=True, hover=hover,
        drag=hold("batch"),
    )  # fmt: skip
