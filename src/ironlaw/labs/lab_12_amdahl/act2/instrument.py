"""Act II: workers, the share that stays serial, crosstalk, weeks of work, and prices; which limit the design hits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.scaling.amdahl import karp_flatt
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_12_amdahl.act2 import figures, local_runs
from ironlaw.labs.lab_12_amdahl.act2.job import BACKWARDS, GOOD, LIMITS, NOT_WORTH, OUT_OF_REACH, TOO_FEW, WAITING, Job, Story
from ironlaw.pictures.reveal import rules
from ironlaw.widget.figure import tabbed

CLAIMS = ("two_workers_foretell_sixteen", "gustafson_54", "r_formula_3_9", "efficiency_dial")
SHARE, PAIR = "share", "pair"
FIXED, GROWS = "fixed", "grows"
TITLES = {
    OUT_OF_REACH: "Out of reach", BACKWARDS: "Backwards", TOO_FEW: "Too few workers", NOT_WORTH: "Not worth it",
    WAITING: "Paid for waiting", GOOD: "The target is met",
}  # fmt: skip
TONES = {WAITING: "warn", GOOD: "good"}


def story(lab: kit.Lab) -> Story:
    given = lab.sheet.premises
    return Story(*(float(str(given[name]).replace(",", "")) for name in ("hours", "runs", "worth")))


def given(lab: kit.Lab, name: str) -> float:
    return float(str(lab.sheet.premises[name]).replace(",", ""))


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        by_share = (values.get("known") or PAIR) == SHARE
        return [
            kit.span("workers", "Workers", 1, figures.MOST, round(given(lab, "cluster")), log=True, whole=True),
            kit.choice("known", "What is known", [(PAIR, "two workers' speed-up"), (SHARE, "the serial share")], PAIR),
            kit.span("pair", "Speed-up on two workers", 1.4, 2, given(lab, "pair"), step=0.01, unit="×", hidden=by_share),
            kit.span("share", "Serial share", 0, 30, 10, step=0.1, unit="%", hidden=not by_share),
            kit.span("kappa", "Crosstalk κ, in thousandths", 0, 10, 0, step=0.1),
            kit.span("weeks", "Weeks of work, each halves the serial share", 0, 8, 0, whole=True),
            kit.span("target", "Target", 2, 200, given(lab, "target"), log=True, unit="×"),
            kit.choice("job", "The job", [(FIXED, "stays as it is"), (GROWS, "grows with the workers")], FIXED),
            kit.span("price", "A worker-hour, in USD", 0.1, 10, given(lab, "price"), log=True),
            kit.span("week_price", "A week of work, in USD", 1000, 50_000, given(lab, "week_price"), log=True),
        ]

    return dials_at


def job_of(lab: kit.Lab, values: Mapping[str, Any]) -> Job:
    share = float(karp_flatt(values["pair"], 2.0)) if values["known"] == PAIR else values["share"] / 100
    return Job(
        round(values["workers"]), share, values["kappa"] / 1e3, round(values["weeks"]), float(values["target"]), float(values["price"]),
        float(values["week_price"]), story(lab), values["job"] == GROWS,
    )  # fmt: skip


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    job = job_of(lab, values)
    measured, on = local_runs.recorded()
    return kit.View(
        figures=[
            tabbed(figures.gain(job, marks(lab)), "Speed-up"),
            tabbed(figures.curve(job, local_runs.points(lab), measured, on), "By workers"),
            tabbed(figures.efficiency(job), "Efficiency"),
            tabbed(figures.cost(job), "Cost"),
        ],
        cards=cards(job),
        formula=formula(job),
        banner=banner(lab, job),
        note=notes(lab, job),
        readouts=readouts(job),
    )


def marks(lab: kit.Lab) -> tuple[Any, ...]:
    option = lab.choice("act2")
    return rules(float(option.value), float(lab.question("act2").answer), "×", truth_label="as asked, it is") if option else ()


def readouts(job: Job) -> dict[str, Any]:
    return {
        "serial_share": round(job.share, 5), "sigma": round(job.sigma, 6), "kappa": job.kappa, "workers": job.workers,
        "speedup_predicted": round(job.speedup, 3), "speedup_target": round(job.target, 3), "weeks": job.weeks,
        "constraint_hit": job.state in LIMITS, "state": job.state,
    }  # fmt: skip


def money(value: float) -> kit.Markup:
    return kit.dress(f"{value:,.0f} USD")


def cards(job: Job) -> list[dict[str, Any]]:
    met, wasted = job.reaches, 1 - job.efficiency
    ceiling = kit.card("At most", job.ceiling, "×", note="with any number of workers") if math.isfinite(job.ceiling) else {
        "label": "At most", "value": "no limit", "unit": "", "note": "with enough workers"}  # fmt: skip
    return [
        {**kit.card("Speed-up", job.speedup, "×", tone="good" if met else "bad", note=f"target {job.target:.3g}×"),
         "word": "met" if met else "missed"},
        kit.card("Efficiency", 100 * job.efficiency, "%", tone=kit.tone("utilization", job.efficiency),
                 note=f"{100 * max(0.0, wasted):.0f} % of the bill waits"),
        ceiling,
        {"label": "Cost of a result", "value": f"{job.cost:,.0f}", "unit": "USD", "tone": "bad" if job.too_dear > 0 else "good",
         "word": "too much" if job.too_dear > 0 else "within its worth", "note": f"on one worker {job.alone:,.0f} USD"},
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


def banner(lab: kit.Lab, job: Job) -> dict[str, Any]:
    slots: dict[str, object] = {"speedup": kit.times(job.speedup), "target": kit.times(job.target)}
    workers = f"{job.workers:,}"
    if job.state == OUT_OF_REACH:
        text = lab.fill("act2.out_of_reach", most=_most(job), target=slots["target"], way=_way(lab, job))
    elif job.state == BACKWARDS:
        lost = 100 * (1 - job.speedup_on(job.workers + 1) / job.speedup)
        best = {"best": f"{job.best:,.0f}", "peak": kit.times(job.speedup_on(job.best))}
        text = lab.fill("act2.backwards", speedup=slots["speedup"], workers=workers, lost=kit.amount(lost, "%", 2), **best)
    elif job.state == TOO_FEW:
        weeks = _weeks(lab, job)
        text = lab.fill("act2.too_few", **slots, workers=workers, needed=f"{job.needed:,.0f}", weeks=weeks)
    elif job.state == NOT_WORTH:
        text = lab.fill("act2.not_worth", **slots, cost=money(job.cost), alone=money(job.alone), worth=money(job.story.worth),
                        over=money(job.too_dear))  # fmt: skip
    elif job.state == WAITING:
        waits = kit.amount(100 * (1 - job.efficiency), "%", 2)
        text = lab.fill("act2.waiting", **slots, waits=waits, needed=f"{job.needed:,.0f}", cost=money(job.cost), room=money(-job.too_dear))
    else:
        text = lab.fill(
            "act2.met", **slots, efficiency=kit.amount(100 * job.efficiency, "%"), cost=money(job.cost), room=money(-job.too_dear)
        )
    return kit.banner(TONES.get(job.state, "fail"), TITLES[job.state], kit.html(text))


def _most(job: Job) -> object:
    return kit.times(job.ceiling) if math.isfinite(job.ceiling) else "what the job allows"


def _way(lab: kit.Lab, job: Job) -> str:
    """What would do it: weeks at this number of workers, if any."""
    if math.isinf(job.weeks_needed):
        return lab.fill("act2.way_none", workers=f"{job.workers:,}")
    return lab.fill("act2.way_weeks", weeks=_count(job.weeks_needed), workers=f"{job.workers:,}")


def _weeks(lab: kit.Lab, job: Job) -> str:
    if math.isinf(job.weeks_needed):
        return lab.fill("act2.no_weeks")
    return lab.fill("act2.or_weeks", weeks=_count(job.weeks_needed))


def _count(weeks: float) -> str:
    return "one week" if weeks == 1 else f"{weeks:.0f} weeks"


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
