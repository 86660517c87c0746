"""Act I: records, batches, noise, epochs and δ to an ε, by an accountant of one's choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.privacy.accountants import ADVANCED, BASIC, LIMIT, RDP, limit_mu, step_epsilon
from ironlaw.engine.privacy.renyi import divergence
from ironlaw.kit import settings
from ironlaw.kit.formula import line
from ironlaw.labs.lab_v2_13_privacy.act1 import figures, local_runs
from ironlaw.labs.lab_v2_13_privacy.act1.run import Run
from ironlaw.labs.lab_v2_13_privacy.runs import ACCOUNTANTS, records_of, tiny
from ironlaw.units import percent
from ironlaw.widget.figure import tabbed

CLAIMS = ("private_training_ruins_accuracy", "tutorial_epsilon")
FOLLOWS = ("records", "batch", "one_in")
MORE = ("alarms",)  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        records = records_of(lab)
        one_in = {"value": max(10**5, 10 * records)}
        return settings.dials(Run, records={"value": records}, batch={"value": records // 100}, one_in=one_in)

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    run, here = settings.read(Run, values), lab.local_run(local_runs.NAME)
    return kit.View(
        figures=[
            tabbed(figures.guesses(lab, run), "Correct guesses"), tabbed(figures.budgets(run), "Budgets"),
            tabbed(figures.attack(run), "The attack"),
            *([tabbed(figures.here(here), "Trained here")] if here else []),
        ],
        cards=cards(run),
        formula=formula(run),
        note=kit.html(notes(lab, run)),
        readouts={
            **{f"run_{name}": getattr(run, name) for name in ("records", "rate", "noise", "steps", "delta", "accountant")},
            "run_epsilon": round(run.epsilon, 6),
        },
    )  # fmt: skip


def cards(run: Run) -> list[dict[str, Any]]:
    return [
        kit.card("ε", run.epsilon, note=f"by {ACCOUNTANTS[run.accountant]}"),
        kit.card("Sampling rate", 100 * run.rate, "%", note="of the records per step"),
        kit.text_card("Steps", f"{run.steps:,.0f}"),
        kit.card("Correct guesses, at most", 100 * run.attack, "%", note=f"allowed by ε; by the noise itself {percent(run.noise_attack)}"),
    ]  # fmt: skip


def formula(run: Run) -> str:
    steps, total = f"{run.steps:,.0f}", kit.amount(run.epsilon)
    if run.accountant == BASIC:
        each = step_epsilon(run.rate, run.noise, run.delta / run.steps)
        return line("ε = <i>T</i> · ε<sub>step</sub>(<i>δ</i>/<i>T</i>) =", steps, "×", kit.amount(each), "=", total)
    if run.accountant == ADVANCED:
        return line("ε = √(2<i>T</i> ln(1/<i>δ</i>′)) · ε<sub>step</sub> + <i>T</i> ε<sub>step</sub>(e<sup>ε<sub>step</sub></sup> − 1),",
                    "at the best split of <i>δ</i>:", total)  # fmt: skip
    if run.accountant == LIMIT:
        return line("μ = <i>q</i> √(<i>T</i>(e<sup>1/<i>σ</i>²</sup> − 1)) =", kit.amount(limit_mu(run.rate, run.noise, run.steps)),
                    ", as one release with noise 1/μ: ε =", total, "(a limit, not a bound)")  # fmt: skip
    order = run.order
    one = kit.amount(divergence(run.rate, run.noise, order))
    start = line("at order <i>α</i> =", f"{order:g}", ": <i>T</i> · <i>D<sub>α</sub></i> =", steps, "×", one)
    if run.accountant == RDP:
        return start + line("ε = <i>T</i><i>D<sub>α</sub></i> + ln(1 − 1/<i>α</i>) − (ln <i>δ</i> + ln <i>α</i>)/(<i>α</i> − 1) =", total)
    return start + line("ε = <i>T</i><i>D<sub>α</sub></i> + ln(1/<i>δ</i>)/(<i>α</i> − 1) =", total)


def notes(lab: kit.Lab, run: Run) -> str:
    texts = []
    if run.accountant == LIMIT:
        texts.append(lab.fill("act1.limit", least=kit.amount(run.by(RDP))))
    if run.batch >= run.records:
        texts.append(lab.fill("act1.whole_batch"))
    if run.delta >= 1 / run.records:
        texts.append(lab.fill("act1.large_delta", delta=tiny(run.delta), records=f"{run.records:,}"))
    return "\n\n".join(texts)
