"""Act I: rows of a table and a reader of digits, as claimed and as attacked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_14_adversarial.act1 import figures
from ironlaw.labs.lab_v2_14_adversarial.act1.setting import (
    ATTACKS,
    EVERY,
    FIRST_YEAR,
    LAST_YEAR,
    READERS,
    ROWS,
    Setting,
    setting_of,
)  # fmt: skip
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, FELL, data_of
from ironlaw.registry.adversarial_tables import EPSILONS, FGSM, PLAIN, RESTARTS, STEPS
from ironlaw.units import percent, significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("chance_is_the_floor", "robustness_costs_26_points", "accurate_or_robust", "claims_stand", "more_steps_suffice")
FOLLOWS = ()
NARROW = 5.0  # points: an attack that leaves more than the worst by so much flatters


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        single = (values.get("attack") or FGSM) == FGSM
        return [
            kit.choice("rows", "Rows of the table", list(ROWS.items()), EVERY, shows="table"),
            kit.span("until", "Published until", FIRST_YEAR, LAST_YEAR, LAST_YEAR, whole=True, shows="table"),
            kit.choice("confidence", "Interval", [("90", "90 %"), ("95", "95 %"), ("99", "99 %")], "95", shows="table"),
            kit.choice("reader", "The reader of digits", list(READERS.items()), PLAIN, shows="readers"),
            kit.choice("attack", "Attacked in", list(ATTACKS.items()), FGSM, shows="readers"),
            kit.choice("steps", "Steps", [(str(n), str(n)) for n in STEPS], "20", hidden=single, shows="readers"),
            kit.choice("restarts", "Random starts", [(str(n), str(n)) for n in RESTARTS], "1", hidden=single, shows="readers"),
            kit.span("epsilon", "A pixel may change by", 0, EPSILONS[-1], 0.1, step=0.02, shows="readers"),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(data_of(lab), values)
    return kit.View(
        figures=[tabbed(figures.table(lab, setting), "The table"), tabbed(figures.readers(lab, setting), "A reader of digits")],
        cards=cards(setting),
        formula=formula(setting) + figures.pictures(setting),
        banner=banner(lab, setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            "reader": setting.reader, "attack": setting.attack, "steps": 1 if setting.attack == FGSM else setting.steps,
            "epsilon": setting.epsilon, "left": round(setting.left.value, 6), "worst": round(setting.worst.value, 6),
        },
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    fell = [one for one in setting.shown if one.lost > FELL]
    left, worst = 100 * setting.left.value, 100 * setting.worst.value
    return [
        kit.card("Claims that fell, here", len(fell), "", note=f"of {len(setting.shown)} rows shown", tone="bad" if fell else ""),
        kit.card("Reader, not attacked", 100 * setting.withstood(0.0).value, "%"),
        kit.card(
            "Reader, attacked so",
            left,
            "%",
            note=f"surely {significant(100 * setting.left.low)} to {percent(setting.left.high)}",
        ),
        kit.card("Under the worst we tried", worst, "%", tone="bad" if left - worst > NARROW else ""),
        kit.card("The attack takes", setting.passes, "passes", note="forward, an image"),
    ]


def formula(setting: Setting) -> str:
    left = setting.left
    share = line(
        "right =", fraction(f"{left.hits:,}", f"{left.trials:,}"), "=", kit.amount(100 * left.value, "%"), "; surely (95 %)",
        kit.amount(100 * left.low, "%"), "to", kit.amount(100 * left.high, "%"),
    )  # fmt: skip
    steps, starts = (1, 1) if setting.attack == FGSM else (setting.steps, setting.restarts)
    return share + line("passes = 2 <i>K</i> · starts + 1 =", f"2 × {steps} × {starts} + 1 = {setting.passes:.0f}")


def banner(lab: kit.Lab, setting: Setting) -> dict[str, object] | None:
    gap = 100 * (setting.left.value - setting.worst.value)
    if gap <= NARROW:
        return None
    words = lab.fill(
        "act1.flatters", left=kit.amount(100 * setting.left.value, "%"), worst=kit.amount(100 * setting.worst.value, "%"),
        gap=kit.amount(gap, "points", 2),
    )  # fmt: skip
    return kit.banner("warn", "This attack flatters the reader", kit.html(words))


def notes(lab: kit.Lab, setting: Setting) -> str:
    texts = [lab.fill("act1.imagenet")] if setting.data != CIFAR else []
    texts.append(lab.fill(f"act1.{setting.reader}"))
    return "\n\n".join(texts)
