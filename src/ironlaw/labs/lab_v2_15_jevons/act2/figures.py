"""Act II's pictures: the carbon of a year, the hours of a day, from which elasticity each server backfires, and the learner's answer."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.fleets import Carbon
from ironlaw.labs.lab_v2_15_jevons.act2.plan import REGIONS, SERVERS, TONNE, Plan, before, changes, premise
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.lines import lines
from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.quantities import exact, format_quantity

OPTIONS = {"batch": "larger batches", "cooling": "better cooling", "wait": "waiting for the sun", "keep": "kept twice as long"}


def parts(carbon: Carbon) -> list[Part]:
    return [
        Part("work", carbon.busy / TONNE, "compute"), Part("idle machines", carbon.idle / TONNE, "overhead"),
        Part("making them", carbon.embodied / TONNE, "memory", pattern=True),
    ]  # fmt: skip


def budget() -> Mark:
    return mark(
        "rule",
        "fail",
        x=given("budget"),
        dash=True,
        label=f"budget {format_quantity(given('budget'), 't')}",
        name="budget",
        id="budget",
        hover=[("budget", exact(given("budget"), "t"))],
    )


def carbon(plan: Plan) -> Figure:
    """The tonnes of a year, before the change and at both ends of the band."""
    rows = {"before": parts(before(plan).carbon(0.0))}
    for each in dict.fromkeys((plan.low, plan.high)):
        rows[f"at elasticity {significant(each)}"] = parts(plan.carbon(each))
    return stack(
        rows,
        "t",
        "Carbon per year",
        chosen=f"at elasticity {significant(plan.most)}",
        label="CO₂ equivalent per year",
        id="carbon",
        extra=[budget()],
        note=f"{SERVERS[plan.server][0]}; site on {REGIONS[plan.region]}; {significant(plan.requests)} requests per second at first",
    )


def hours(plan: Plan) -> Figure:
    """The grid's carbon and the fleet's load hour by hour, each in percent of its mean."""
    fleet = plan.fleet
    mean = sum(fleet.hourly) / len(fleet.hourly)
    loads = fleet.loads(plan.most)
    series = {"grid's carbon": _steps([100 * each / mean for each in fleet.hourly]), "load": _steps([100 * each for each in loads])}
    top = up_to(max(110.0, *(value for _, value in series["load"]), *(value for _, value in series["grid's carbon"])))
    grams = fleet.intensity(plan.most)
    return lines(
        series,
        Axis("linear", "hour of the day", "", (0.0, 24.0), ticks=(0.0, 6.0, 12.0, 18.0, 24.0)),
        Axis("linear", "of its mean", "%", (0.0, top)),
        "Load and grid over a day",
        id="hours",
        note=f"{format_quantity(grams, 'g/kWh')} for this load, {format_quantity(mean, 'g/kWh')} for an even one",
    )


def _steps(values: list[float]) -> list[tuple[float, float]]:
    return [point for hour, value in enumerate(values) for point in ((float(hour), value), (float(hour + 1), value))]


def four_changes(lab: kit.Lab, plan: Plan) -> Figure:
    """The fleet as set, and with each of the question's changes; at the question's own fleet the learner's and the right one are marked."""
    rows = {"as set": parts(plan.carbon(plan.most))} | {OPTIONS[key]: parts(one.carbon(one.most)) for key, one in changes(plan).items()}
    drawn = stack(
        rows, "t", "A year's carbon after each change", label="CO₂ equivalent per year", id="changes", extra=[budget()],
        note=f"at an elasticity of {significant(plan.most)}, {significant(100 * plan.passed)}% of savings passed on",
    )  # fmt: skip
    option = lab.choice("act2")
    if option is None or replace(plan, low=plan.high) != premise():
        return drawn
    return on_rows(drawn, [OPTIONS[str(option.value)]], OPTIONS[lab.question("act2").right.id])
