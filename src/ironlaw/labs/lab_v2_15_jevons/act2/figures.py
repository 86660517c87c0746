"""Act II's pictures: the carbon of a year, the hours of a day, from which elasticity each server backfires, and the learner's answer."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.fleets import Carbon
from ironlaw.labs.lab_v2_15_jevons.act2.plan import REGIONS, SERVERS, TONNE, Plan, before, changes, premise
from ironlaw.labs.lab_v2_15_jevons.story import given
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.lines import lines
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.units import percent, significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

STEEPEST = 3.0  # elasticity that the picture holds
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
    """Tonnes of a year: before, and at both ends of the band."""
    rows = {"before": parts(before(plan).carbon(0.0))}
    for each in dict.fromkeys((plan.low, plan.high)):
        rows[f"at elasticity {significant(each)}"] = parts(plan.carbon(each))
    return stack(
        rows,
        "t",
        "Carbon of a year",
        chosen=f"at elasticity {significant(plan.most)}",
        label="CO₂ equivalent a year",
        id="carbon",
        extra=[budget()],
        note=f"{SERVERS[plan.server][0]}; the site on {REGIONS[plan.region]}; {significant(plan.requests)} requests a second before",
    )


def hours(plan: Plan) -> Figure:
    """The grid's carbon and the fleet's load hour by hour, each in per cent of its mean."""
    fleet = plan.fleet
    mean = sum(fleet.hourly) / len(fleet.hourly)
    loads = fleet.loads(plan.most)
    series = {"grid's carbon": _steps([100 * each / mean for each in fleet.hourly]), "load": _steps([100 * each for each in loads])}
    top = up_to(max(200.0, *(value for _, value in series["load"]), *(value for _, value in series["grid's carbon"])))
    grams = fleet.intensity(plan.most)
    return lines(
        series,
        Axis("linear", "hour of the day", "", (0.0, 24.0), ticks=(0.0, 6.0, 12.0, 18.0, 24.0)),
        Axis("linear", "of its mean", "%", (0.0, top)),
        "A day",
        id="hours",
        note=f"{format_quantity(grams, 'g/kWh')} for the load as it moves, {format_quantity(mean, 'g/kWh')} for an even one",
    )


def _steps(values: list[float]) -> list[tuple[float, float]]:
    return [point for hour, value in enumerate(values) for point in ((float(hour), value), (float(hour + 1), value))]


def levers(plan: Plan) -> Figure:
    """For each server, the elasticity from which its tokens take more energy than before; and the ends of the band."""
    marks: list[Mark] = []
    for name, each in (("at least", plan.low), ("at most", plan.high)):
        label = "your band" if name == "at most" else ""
        marks.append(mark("rule", "ridge", x=min(each, STEEPEST), dash=True, id=f"end-{name}", name=f"your band, {name}", label=label,
                          hover=[(name, exact(each))]))  # fmt: skip
    cells = []
    for key, (name, *_) in SERVERS.items():
        fleet = replace(plan, server=key).fleet
        limit, better = fleet.threshold, fleet.gain > 1
        words = significant(limit) if better and limit < 1e3 else "never" if better else "no gain"
        cells.append((name, significant(1 / fleet.gain), significant(fleet.price), words))
        hover: list[Row] = [("energy a token, of before", cells[-1][1]), ("price, of before", cells[-1][2]), ("backfires from", words)]
        colour = "fail" if better and plan.high > limit else "good" if better else "muted"
        marks.append(mark("bar", colour, x=min(limit, STEEPEST) if better else 0.0, y=name, id=f"limit-{key}", name=name, label=words,
                          emphasis=key == plan.server, hover=hover))  # fmt: skip
    text = "; ".join(f"{name}: energy {energy} and price {cost} of before, backfires from {words}" for name, energy, cost, words in cells)
    return Figure(
        "levers",
        "From which elasticity it backfires",
        Axis("linear", "price elasticity of demand", "", (0.0, STEEPEST), ticks=(0.0, 1.0, 2.0, 3.0)),
        Axis("band", names=tuple(name for name, *_ in SERVERS.values())),
        tuple(marks),
        f"{text}.",
        table=Table(("server", "energy a token, of before", "price, of before", "backfires from"), tuple(cells)),
        note=f"{percent(plan.passed)} of savings passed on; what is beyond {significant(STEEPEST)} ends at the edge",
        legend=({"colour": "fail", "label": "backfires within your band"}, {"colour": "good", "label": "does not"}),
        more={"row": 36},
    )


def said(lab: kit.Lab) -> Figure | None:
    """The question's four changes, and which one the learner took."""
    option = lab.choice("act2")
    if option is None:
        return None
    rows = {"as it is": parts(premise().carbon(premise().high))}
    rows |= {OPTIONS[key]: parts(plan.carbon(plan.high)) for key, plan in changes().items()}
    return stack(
        rows,
        "t",
        "Your answer",
        chosen=OPTIONS[str(option.value)],
        label="CO₂ equivalent a year",
        id="said",
        extra=[budget()],
        note=f"you said: {OPTIONS[str(option.value)]}; at an elasticity of {significant(premise().high)}, all savings passed on",
    )
