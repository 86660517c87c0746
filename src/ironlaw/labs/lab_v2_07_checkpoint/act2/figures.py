"""Act II's pictures: where the time goes beside other plans, what is left of it by GPUs, and the learner's answer."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.labs.lab_v2_07_checkpoint.act2.plan import FEWEST, HOST, NEIGHBOUR, NONE, Plan
from ironlaw.labs.lab_v2_07_checkpoint.act2.verdict import TARGET
from ironlaw.labs.lab_v2_07_checkpoint.clusters import MOST
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.lines import lines
from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

COUNTS = tuple(FEWEST * 2 ** (k / 2) for k in range(19) if FEWEST * 2 ** (k / 2) <= 1.001 * MOST)
ON_A_ROW = {"detecting and restarting": "detecting, restarting"}  # a phone has room for no more beside what is said of the row
# option -> its row: a job that waits for the file system is saving
WASTED = {"writing": "saving", "lost": "lost work", "restart": "detecting, restarting", "storage": "saving"}
FEWEST_SPARES = 8  # hosts that even a small job keeps, where the plan has as many
LEAST = 1e-4  # a share of the time that can't be seen
OWN, BEST, FAR, NEAR_HOST, NEAR_OTHER = "as set", "at the best intervals", "far saves alone", "with host memory", "with a neighbour's too"


def parts(plan: Plan) -> list[Part]:
    shares = plan.shares
    waits = [Part("waiting for a host", 100 * plan.waiting, "ridge", pattern=True)] if plan.waiting > LEAST else []
    return [
        Part("useful work", 100 * float(shares.goodput), "compute"), Part("saving", 100 * float(shares.writing), "memory"),
        Part("lost work", 100 * max(0.0, float(shares.lost)), "fail", pattern=True),
        Part("detecting and restarting", 100 * float(shares.restart), "overhead"), *waits,
    ]  # fmt: skip


def time(lab: kit.Lab, plan: Plan) -> Figure:
    """Percent of the time, as set and for the other places at their best intervals."""
    others = {FAR: NONE, NEAR_HOST: HOST, NEAR_OTHER: NEIGHBOUR}
    rows = {OWN: parts(plan), BEST: parts(plan.at_best)}
    rows |= {name: parts(replace(plan, near=near).at_best) for name, near in others.items() if near != plan.near}
    target = mark("rule", "good", x=100 * TARGET, dash=True, label=f"goal {100 * TARGET:.0f}%", name="goal", id="goal",
                  hover=[("goal", exact(100 * TARGET, "%"))])  # fmt: skip
    estimate = lab.sealed("act2", "estimate")
    said = [] if estimate is None else [mark("rule", "accent", x=float(estimate), role="prediction", id="estimate", name="your estimate",
            label=f"you said {estimate:g}% is left", hover=[("your estimate", exact(float(estimate), "%"))])]  # fmt: skip
    title = f"Your plan does useful work {format_quantity(100 * plan.goodput, '%')} of the time"
    figure = stack(
        rows, "%", title, chosen=OWN, label="of the time", id="time", extra=[target, *said],
        note=f"{plan.gpus:,} GPUs, {format_quantity(plan.between, 's')} between failures; the others at their best intervals",
    )  # fmt: skip
    marks = tuple(each for each in figure.marks if not dict(each.more).get("id", "").endswith("-total"))  # every row is the whole
    return replace(figure, x=Axis("linear", "of the time", "%", (0.0, 100.0)), marks=marks)


def by_gpus(plan: Plan) -> Figure:
    """Percent of useful work, from 256 GPUs on: the plan as set, with intervals that follow, and without near copies. Spare hosts grow
    with the GPUs, since a large job would use up those of a small one; a small one keeps a few."""
    least = min(plan.spares, FEWEST_SPARES)
    sized = {count: replace(plan, gpus=round(count), spares=max(least, round(plan.spares * count / plan.gpus))) for count in COUNTS}
    series = {
        OWN: [(count, 100 * each.goodput) for count, each in sized.items()],
        BEST: [(count, 100 * each.at_best.goodput) for count, each in sized.items()],
    }
    if plan.near != NONE:
        series[FAR] = [(count, 100 * replace(each, near=NONE).at_best.goodput) for count, each in sized.items()]
    own = mark("point", "accent", x=float(plan.gpus), y=100 * plan.goodput, size=8, id="now", name="as set",
               label=format_quantity(100 * plan.goodput, "%"), drag=hold("gpus"),
               hover=[("GPUs", f"{plan.gpus:,}"), ("useful work", exact(100 * plan.goodput, "%"))])  # fmt: skip
    goal = mark("rule", "good", y=100 * TARGET, dash=True, label=f"goal {100 * TARGET:.0f}%", name="goal", id="goal")
    spares = f"a spare host per {plan.gpus / plan.spares:,.0f} GPUs, at least {least}" if plan.spares else "no spare hosts"
    ticks = tuple(float(FEWEST * 8**k) for k in range(4))
    return lines(
        series, Axis("log", "GPUs", "", (float(FEWEST), float(MOST)), ticks=ticks), Axis("linear", "useful work", "%", (0.0, 100.0)),
        f"{plan.gpus:,} GPUs do useful work {format_quantity(100 * plan.goodput, '%')} of the time", extra=[goal, own], id="by-gpus",
        note=f"one GPU fails every {format_quantity(plan.unit, 's')}; {spares}",
    )  # fmt: skip


def wasted(lab: kit.Lab, plan: Plan) -> Figure:
    """What takes the time that is not work: as set, and for the question's job what the learner said and what it is."""
    lost = parts(plan)[1:]
    took = {ON_A_ROW.get(part.name, part.name): part.value for part in lost}
    colours = {ON_A_ROW.get(part.name, part.name): part.colour for part in lost}
    bars = [
        mark("bar", colours[name], x=value, y=name, id=name, name=name, label=format_quantity(value, "%"),
             hover=[("of the time", exact(value, "%"))])
        for name, value in took.items()
    ]  # fmt: skip
    words = "; ".join(f"{name} {format_quantity(value, '%')}" for name, value in took.items())
    drawn = Figure(
        "wasted", f"Most is wasted on {max(lost, key=lambda part: part.value).name}",
        Axis("linear", "of the time", "%", (0.0, up_to(1.5 * max(took.values())))),
        Axis("band", names=tuple(took)), tuple(bars), f"{words}.",
        Table(("what", "of the time"), tuple((name, format_quantity(value, "%")) for name, value in took.items())),
        f"{plan.gpus:,} GPUs", more={"row": 34},
    )  # fmt: skip
    option = lab.choice("act2")
    return on_rows(drawn, [WASTED[option.id]], WASTED[lab.question("act2").right.id]) if option else drawn
