"""Act I: rows of a table and a digit classifier, as claimed and as attacked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_14_adversarial.act1 import figures
from ironlaw.labs.lab_v2_14_adversarial.act1.setting import Setting
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, FELL, STANDARD, data_of, model, models
from ironlaw.registry.adversarial_tables import FGSM
from ironlaw.units import counted, percent, significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("claims_stand", "chance_is_the_floor", "more_steps_suffice")
FOLLOWS = ()
NARROW = 5.0  # points: an attack that leaves more than the worst by so much flatters
MORE = ("confidence", "restarts")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        single = {"hidden": (values.get("attack") or FGSM) == FGSM}
        return settings.dials(Setting, steps=single, restarts=single)

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = settings.read(Setting, values, data=data_of(lab))
    fell = any(one.lost for one in models(setting.data))
    return kit.View(
        seen={"plain": model(setting.data, STANDARD[setting.data]).name, "others": lab.fill("act1.fell" if fell else "act1.stood")},
        figures=[tabbed(figures.table(lab, setting), "The table"), tabbed(figures.readers(lab, setting), "Digits under attack")],
        cards=cards(setting),
        formula=formula(setting) + figures.pictures(setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            **settings.values(setting, "reader", "attack", "epsilon"), "steps": 1 if setting.attack == FGSM else setting.steps,
            "left": round(setting.left.value, 6), "worst": round(setting.worst.value, 6),
        },
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    fell = [one for one in setting.shown if one.lost > FELL]
    shown = counted(len(setting.shown), "model")
    left, worst = 100 * setting.left.value, 100 * setting.worst.value
    return [
        kit.card("Claims that fell", len(fell), "", note=f"of {shown} shown", tone="bad" if fell else ""),
        kit.card("Unchanged digits", 100 * setting.withstood(0.0).value, "%"),
        kit.card(
            "Digits under this attack",
            left,
            "%",
            note=f"95% sure: {significant(100 * setting.left.low)} to {percent(setting.left.high)}",
        ),
        kit.card("Digits under the worst attack", worst, "%", tone="bad" if left - worst > NARROW else ""),
        kit.card("Cost of the attack", setting.passes, "passes", note="per image"),
    ]


def formula(setting: Setting) -> str:
    left = setting.left
    share = line(
        "right =", fraction(f"{left.hits:,}", f"{left.trials:,}"), "=", kit.amount(100 * left.value, "%"), "; 95% sure:",
        kit.amount(100 * left.low, "%"), "to", kit.amount(100 * left.high, "%"),
    )  # fmt: skip
    steps, starts = (1, 1) if setting.attack == FGSM else (setting.steps, setting.restarts)
    return share + line("passes = 2 <i>K</i> · starts + 1 =", f"2 × {steps} × {starts} + 1 = {setting.passes:.0f}")


def _gap(setting: Setting) -> float:
    return 100 * (setting.left.value - setting.worst.value)


def _flatters(setting: Setting) -> dict[str, object]:
    return {
        "left": kit.amount(100 * setting.left.value, "%"), "worst": kit.amount(100 * setting.worst.value, "%"),
        "gap": kit.amount(_gap(setting), "points", 2),
    }  # fmt: skip


def notes(lab: kit.Lab, setting: Setting) -> str:
    texts = [lab.fill("act1.imagenet")] if setting.data != CIFAR else []
    texts.append(lab.fill(f"act1.{setting.reader}"))
    if _gap(setting) > NARROW:
        texts.append(lab.fill("act1.flatters", **_flatters(setting)))
    return "\n\n".join(texts)
