"""The curve that the learner draws before it is shown: the share of wall time that is maths, by how long a kernel computes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ironlaw import kit
from ironlaw.engine.device.dispatch import utilization
from ironlaw.labs.lab_07_fusion.jobs import CLOUD, SYNC
from ironlaw.registry.machines import hardware
from ironlaw.registry.textbooks import textbook
from ironlaw.units import show, significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

LENGTHS = (3e-7, 1e-6, 4e-6, 1.5e-5, 6e-5, 2.5e-4, 1e-3)  # seconds of compute in one kernel: the points that the learner moves
NEAR = 0.05  # percentage points: the dials stand at the question's own case
BETWEEN = 4  # places of the true curve from one point to the next
STEP, START = 5, 50  # percent
CLOSE = 10  # points of percent: a drawn curve that is nowhere further off is close
X = Axis("log", "compute in one kernel", "s", (1.5e-7, 2.5e-3), ticks=(1e-6, 1e-5, 1e-4, 1e-3))
Y = Axis("linear", "share of wall time that is maths", "%", (0.0, 100.0), ticks=(0.0, 20.0, 40.0, 60.0, 80.0, 100.0))


def true(kernel_s: float) -> float:
    """Percent, at the question's premises: every kernel waits for a launch of its own."""
    return 100.0 * float(utilization(textbook("kws").kernels, kernel_s, hardware(CLOUD).launch, mode=SYNC))


def sealed(lab: kit.Lab) -> kit.Sketch:
    """What the lock asks for beside the choice."""
    ends = {"short": kit.amount(LENGTHS[0], "s"), "long": kit.amount(LENGTHS[-1], "s")}
    label = lab.fill("act1.sketch", **ends, launch=kit.amount(hardware(CLOUD).launch, "s"))
    flat = mark("line", "accent", points=[(at, START) for at in LENGTHS], id="mine")
    rows = tuple((show(at, "s"), f"{START}%") for at in LENGTHS)
    plot = Figure(
        "sketch", "Your curve", X, Y, (flat,), "Share of wall time that is maths against the compute time of one kernel: yours to draw.",
        Table(("compute in one kernel", "share"), rows), more={"height": 280},
    )  # fmt: skip
    points = tuple((at, f"Share of maths with kernels of {show(at, 's')}") for at in LENGTHS)
    return kit.Sketch(label, plot, points, 0, 100, STEP, START)


def heights(lab: kit.Lab) -> list[float] | None:
    """What was drawn. A curve of another version, with other points, is not drawn over these."""
    drawn = lab.sealed("act1", "sketch")
    return drawn if isinstance(drawn, list) and len(drawn) == len(LENGTHS) else None


def gap(drawn: Sequence[float]) -> str:
    """How far the drawn curve is from the true one, in one sentence; Markdown."""
    at, height = max(zip(LENGTHS, drawn, strict=True), key=lambda point: abs(point[1] - true(point[0])))
    off = abs(height - true(at))
    place = f"at kernels of {show(at, 's')}, where you drew {significant(height)}% and it is {significant(true(at))}%"
    if off < CLOSE:
        return f"Your curve is nowhere more than {significant(off, 2)} points off. The largest gap is {place}."
    return f"Your curve is furthest off {place}. That is {significant(off, 2)} points too {'high' if height > true(at) else 'low'}."


def picture(lab: kit.Lab, now: tuple[float, float] | None = None) -> Figure:
    """The true curve over the learner's own, the prediction at its place on it, and where the dials stand (`now`)."""
    drawn = heights(lab)
    points = _places()
    marks: list[Mark] = [mark("line", "ink", points=[(at, round(true(at), 2)) for at in points], label="it is", id="true", emphasis=True)]
    if drawn:
        marks.append(mark("line", "accent", points=list(zip(LENGTHS, drawn, strict=True)), dash="7 4", label="you drew", id="mine",
                          emphasis=True))  # fmt: skip
        marks += [_knot(at, height) for at, height in zip(LENGTHS, drawn, strict=True)]
    asked = textbook("kws").kernel_s
    elsewhere = now and (now[0] != asked or abs(now[1] - true(asked)) > NEAR or lab.choice("act1") is None)
    marks += [*_prediction(lab), *([_now(*now)] if now and elsewhere else [])]
    rows = tuple((show(at, "s"), f"{significant(true(at))}%", f"{significant(drawn[i])}%" if drawn else "") for i, at in enumerate(LENGTHS))
    ends = f"The share rises from {significant(true(LENGTHS[0]))}% at {show(LENGTHS[0], 's')} to {significant(true(LENGTHS[-1]))}% at"
    launch = hardware(CLOUD).launch
    foot = (
        gap(drawn) if drawn else f"Half of the time is maths where a kernel computes for as long as its launch takes, {show(launch, 's')}."
    )
    return Figure(
        "curve", "Short kernels wait, long ones compute", X, Y, tuple(marks), f"{ends} {show(LENGTHS[-1], 's')}. {foot}",
        Table(("compute in one kernel", "computed", "you drew"), rows), more={"height": 330, "foot": foot},
    )  # fmt: skip


def _places() -> list[float]:
    steps = [LENGTHS[0]]
    for low, high in pairwise(LENGTHS):
        steps += [float(f"{low * (high / low) ** (i / BETWEEN):.3g}") for i in range(1, BETWEEN + 1)]
    return steps


def _knot(at: float, height: float) -> Mark:
    hover = [("you drew", exact(height, "%")), ("it is", format_quantity(true(at), "%"))]
    return mark("point", "accent", x=at, y=height, size=5, hollow=True, id=f"knot-{at:g}", name=f"kernels of {show(at, 's')}", hover=hover)


def _prediction(lab: kit.Lab) -> list[Mark]:
    option = lab.choice("act1")
    if option is None:
        return []
    at, said = textbook("kws").kernel_s, float(option.value)
    hover = [("you said", exact(said, "%")), ("it is", format_quantity(true(at), "%"))]
    return [
        mark("point", "accent", x=at, y=said, shape="diamond", size=8, id="said", name="your prediction for the spotter", role="prediction",
             label=f"you said {significant(said)}%", hover=hover),
        mark("point", "ink", x=at, y=true(at), shape="diamond", size=8, id="truth", name="the spotter", role="truth",
             label=f"it is {significant(true(at))}%", hover=hover),
    ]  # fmt: skip


def _now(at: float, share: float) -> Mark:
    hover = [("compute in one kernel", exact(at, "s")), ("share", exact(share, "%"))]
    return mark("point", "compute", x=at, y=share, size=7, id="now", name="the model as set", label="as set", hover=hover, emphasis=True)
