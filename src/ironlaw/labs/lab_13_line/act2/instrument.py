"""Act II: rate, policy and servers to what requests see."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.batch_outcomes import Outcome
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_13_line.act2 import figures, verdict
from ironlaw.labs.lab_13_line.act2.server import ONE, TIMEOUT, WAITING, Case
from ironlaw.registry.machines import hardware
from ironlaw.systems.limits import hit
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("gpu_utilisation_is_load", "serve_at_half")
DEVICE = "h200_sxm"  # the question's own
MORE = ("burst", "model", "mode", "line")  # dials in the fold


@lru_cache(maxsize=1)
def premise() -> Case:
    """The serving lead's own server."""
    return Case(hardware(DEVICE))


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        policy, replicas = values.get("policy") or WAITING, round(values.get("replicas") or 1)
        return settings.dials(Case, timeout={"hidden": policy != TIMEOUT}, most={"hidden": policy == ONE}, line={"hidden": replicas == 1})

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    context = lab.current_context
    case = settings.read(Case, values, hardware=context.hardware, fmt=context.format, moving=bool(values.get("moving")))
    outcome = case.outcome
    spread = figures.distribution(case, outcome)
    return kit.View(
        figures=[
            tabbed(figures.by_rate(lab, case, outcome, premise()), "P99 by rate"),
            tabbed(figures.meters(case, outcome), "Busy and loaded"),
            *([tabbed(spread, "The tail")] if spread else []),
        ],
        cards=cards(case, outcome),
        formula=formula(case),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, case),
        note=kit.html(notes(lab, case)),
        readouts=readouts(case, outcome),
    )


def cards(case: Case, outcome: Outcome) -> list[dict[str, Any]]:
    if case.load >= 1:
        times = [kit.text_card(name, "unbounded", tone="bad") for name in ("Mean", "P99")]
    else:
        tone = "good" if outcome.p99 <= case.target else "bad"
        times = [kit.card("Mean", outcome.mean, "s", digits=case.digits), kit.card("P99", outcome.p99, "s", tone=tone, digits=case.digits)]
    return [
        *times,
        kit.card("Busy", 100 * outcome.busy, "%", note="of the time", digits=case.digits),
        kit.card("Loaded", 100 * case.load, "%", note=f"of {significant(case.capacity)} per second", tone="bad" if case.load >= 1 else ""),
        kit.text_card("Batch size", significant(outcome.batch if case.load < 1 else float(case.taken), case.digits), note="on average"),
    ]


def formula(case: Case) -> str:
    symbols = fraction("λ", "<i>c</i>·<i>B</i> / <i>T</i>(<i>B</i>)")
    filled = fraction(f"{significant(case.rate)}", f"{case.replicas} × {case.taken} / {kit.amount(case.full, 's')}")
    return line("load =", symbols, "=", filled, "=", kit.amount(100 * case.load, "%"))


def notes(lab: kit.Lab, case: Case) -> str:
    about_pass = lab.fill(
        "act2.passes", alone=kit.amount(case.alone, "s"), most=case.taken, full=kit.amount(case.full, "s"), format=case.fmt.upper()
    )
    return "\n\n".join([about_pass, lab.fill("act2.mark"), *([lab.fill("act2.tokens")] if case.model.startswith("llama") else [])])


def readouts(case: Case, outcome: Outcome) -> dict[str, Any]:
    limit, stable = hit(verdict.LIMITS, case), case.load < 1
    return {
        "policy": case.policy, "most": case.most, "replicas": case.replicas, "rate": case.rate, "workload": case.model, "mode": case.mode,
        "timeout_s": case.servers.timeout, "target_p99_s": case.target,
        "p99_s": outcome.p99 if stable else None, "mean_s": outcome.mean if stable else None,
        "load": round(case.load, 6), "busy": round(outcome.busy, 6), "constraint_hit": limit.name if limit.tone == "fail" else None,
    }  # fmt: skip
