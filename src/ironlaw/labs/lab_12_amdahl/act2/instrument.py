"""Act II: workers, the share that stays serial, crosstalk, weeks of work, and prices; which limit the design hits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_12_amdahl.act2 import figures, local_runs, verdict
from ironlaw.labs.lab_12_amdahl.act2.job import PAIR, SHARE, Job, Story
from ironlaw.labs.lab_12_amdahl.act2.verdict import LIMITS, money
from ironlaw.pictures.reveal_picture import Distance
from ironlaw.systems.limits import hit
from ironlaw.units import show
from ironlaw.widget.figure import mark, tabbed
from ironlaw.widget.quantities import exact

CLAIMS = ("two_workers_foretell_sixteen",)
STATED = ("pair", "target", "price", "week_price")  # by the story
MORE = ("known", "job", "price", "week_price")  # dials in the fold


def story(lab: kit.Lab) -> Story:
    given = lab.sheet.premises
    return Story(*(float(str(given[name]).replace(",", "")) for name in ("hours", "runs", "worth")))


def given(lab: kit.Lab, name: str) -> float:
    return float(str(lab.sheet.premises[name]).replace(",", ""))


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        by_share = (values.get("known") or PAIR) == SHARE
        begins: dict[str, Any] = {name: {"value": given(lab, name)} for name in STATED}
        begins["pair"]["hidden"] = by_share
        return settings.dials(Job, workers={"value": round(given(lab, "cluster"))}, share={"hidden": not by_share}, **begins)

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    job = settings.read(Job, values, story=story(lab))
    measured, on = local_runs.recorded()
    return kit.View(
        figures=[
            tabbed(figures.curve(job, local_runs.points(lab), measured, on, marks(lab)), "Speed-up"),
            tabbed(figures.cost(job), "Cost"),
            tabbed(figures.efficiency(job), "Efficiency"),
        ],
        cards=cards(job),
        formula=formula(job),
        banner=verdict.banner(lab, job),
        note=notes(lab, job),
        readouts=readouts(job),
    )


def marks(lab: kit.Lab) -> tuple[Any, ...]:
    """What you said of the question's workers, and what it is, where they stand on the axis."""
    option = lab.choice("act2")
    if option is None:
        return ()
    workers, said, true = given(lab, "cluster"), float(option.value), float(lab.question("act2").answer)
    return (
        mark("point", "accent", x=workers, y=said, role="prediction", id="prediction", name="your prediction", size=8,
             label=f"you said {option.label}", hover=[("off", Distance(said, true).words)]),
        mark("point", "ink", x=workers, y=true, role="truth", id="truth", name="computed", size=6, label=f"it is {show(true, '×')}",
             hover=[("speed-up", exact(true, "×"))]),
    )  # fmt: skip


def readouts(job: Job) -> dict[str, Any]:
    return {
        "serial_share": round(job.serial, 5), "sigma": round(job.sigma, 6), "kappa": job.kappa, "workers": job.workers,
        "speedup_predicted": round(job.speedup, 3), "speedup_target": round(job.target, 3), "weeks": job.weeks,
        "constraint_hit": settings.broken(LIMITS, job) is not None, "state": hit(LIMITS, job).name,
    }  # fmt: skip


def cards(job: Job) -> list[dict[str, Any]]:
    met, wasted = job.reaches, 1 - job.efficiency
    return [
        kit.card("Speed-up", job.speedup, "×", tone="good" if met else "bad", note=f"target {job.target:.3g}×",
            word="met" if met else "short of it"),
        kit.card("Efficiency", 100 * job.efficiency, "%", tone=kit.tone("utilization", job.efficiency),
                 note=f"{100 * max(0.0, wasted):.0f}% of the bill pays for waiting"),
        kit.text_card("Cost of a result", f"{job.cost:,.0f}", "USD", tone="bad" if job.too_dear > 0 else "good",
            word="more than it is worth" if job.too_dear > 0 else "worth it", note=f"on one worker {job.alone:,.0f} USD"),
    ]  # fmt: skip


def formula(job: Job) -> str:
    n, sigma, result = f"{job.workers:,}", f"{job.sigma:.4g}", kit.times(job.speedup)
    if job.grown:
        top, bottom = "σ + (1 − σ)<i>N</i>", "1 + κ(<i>N</i> − 1)"
        filled = fraction(f"{sigma} + (1 − {sigma}) · {n}", f"1 + {job.kappa:.4g} · ({n} − 1)")
    else:
        top, bottom = "<i>N</i>", f"1 + {term('overhead', 'σ')}(<i>N</i> − 1) + κ<i>N</i>(<i>N</i> − 1)"
        filled = fraction(n, f"1 + {term('overhead', sigma)} · ({n} − 1) + {job.kappa:.4g} · {n} · ({n} − 1)")
    return line("<i>S</i> =", fraction(top, bottom), "=", filled, "=", result)


def notes(lab: kit.Lab, job: Job) -> str:
    paragraphs = [lab.fill("act2.priced", hours=f"{job.story.hours:.0f}", runs=f"{job.story.runs:.0f}", worth=money(job.story.worth))]
    if job.grown:
        paragraphs.append(lab.fill("act2.grown"))
    elif job.kappa:
        paragraphs.append(lab.fill("act2.crosstalk", share=kit.amount(100 * (job.sigma + job.kappa * job.workers), "%"),
                                   sigma=kit.amount(100 * job.sigma, "%")))  # fmt: skip
    else:
        paragraphs.append(lab.fill("act2.no_crosstalk"))
    if local_runs.recorded()[0]:
        paragraphs.append(lab.fill("act2.recorded", **local_runs.recorded_slots()))
    return kit.html("\n\n".join(paragraphs))
