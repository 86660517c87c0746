"""Act II: model, devices, buckets and algorithm to what of the sum shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_06_collectives.act2 import figures, verdict
from ironlaw.labs.lab_v2_06_collectives.act2.buckets import ALGORITHMS, Case, premise
from ironlaw.systems.training.bucketed_steps import TUNER
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("default_bucket_is_right", "bigger_buckets_are_better", "sums_hide_behind_the_pass")
MORE = ("model", "devices", "micro", "seq", "alpha", "beta")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        first = premise()
        return settings.dials(Case, alpha={"value": 1e6 * first.alpha}, beta={"value": first.beta / 1e9})

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = settings.read(Case, values, box=premise().box)
    return kit.View(
        figures=[
            tabbed(figures.steps_and_bytes(lab, case, shares()), "Latency or bytes"), tabbed(figures.over_time(case), "Over time"),
            tabbed(figures.by_bucket(case), "By bucket"),
        ],
        cards=cards(case),
        formula=formula(case),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, case),
        note=kit.html(notes(lab, case)),
        readouts=readouts(case),
    )  # fmt: skip


def shares() -> dict[str, float]:
    """The question's two shares in percent: the ring's, and the double tree's."""
    return {name: 100 * premise(algorithm=key).step.latency_share for name, key in (("ring", "ring"), ("double tree", "double_tree"))}


def cards(case: Case) -> list[dict[str, Any]]:
    step = case.step
    tone = "good" if step.exposed_share <= verdict.GOAL else "bad" if step.exposed_share > verdict.EXPOSED_MOST else "middling"
    cold = step.latency_share > verdict.LATENCY_MOST
    return [
        kit.card("Exposed", 100 * step.exposed_share, "%", tone=tone, note="of the step"),
        kit.card("Latency", 100 * step.latency_share, "%", tone="bad" if cold else "good", note="of the communication"),
        kit.card("Backward pass", step.queue.backward, "s"),
        kit.card("All-reduces", step.queue.seconds, "s", note=f"{step.queue.count:,} buckets"),
        kit.card("Step", step.step.total, "s"),
    ]


def formula(case: Case) -> str:
    """What one bucket takes, and how many of them there are."""
    step = case.step
    name = step.wires.fastest(case.data, step.queue.full) if case.algorithm == TUNER else case.algorithm
    terms = step.wires.terms(name, case.data, step.queue.full)
    one = line(
        f"one bucket, {ALGORITHMS[name]} =", kit.term("overhead", kit.amount(float(terms.latency), "s")), "+",
        kit.term("memory", kit.amount(float(terms.bandwidth), "s")),
    )  # fmt: skip
    count = fraction(kit.amount(step.queue.gradients, "B"), kit.amount(step.queue.full, "B"))
    return one + line("buckets =", count, "=", significant(step.queue.gradients / step.queue.full, 4), "→", f"{step.queue.count:,}")


def notes(lab: kit.Lab, case: Case) -> str:
    texts = [lab.fill("act2.arithmetic", machine=case.box.name)]
    if case.zero:
        texts.append(lab.fill("act2.gather"))
    if case.algorithm == TUNER:
        texts.append(lab.fill("act2.tuner", name=ALGORITHMS[case.step.wires.fastest(case.data, case.step.queue.full)]))
    return "\n\n".join(texts)


def readouts(case: Case) -> dict[str, Any]:
    step = case.step
    return {
        **settings.values(case, "model", "devices", "tensor", "data", "micro", "seq", "zero", "algorithm", "order"),
        "box": case.box.slug, "gradient_bytes": case.width, "bucket_bytes": round(case.bucket), "network_alpha_s": case.alpha,
        "network_beta_bytes_per_s": round(case.beta), "exposed_s": step.queue.exposed, "exposed_share": round(step.exposed_share, 6),
        "latency_share": round(step.latency_share, 6), "step_s": step.step.total,
        "constraint_hit": settings.broken(verdict.LIMITS, case),
    }  # fmt: skip
