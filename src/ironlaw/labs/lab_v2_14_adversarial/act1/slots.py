"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.numerics.shares import clopper_pearson
from ironlaw.labs.lab_v2_14_adversarial.models import CIFAR, IMAGENET, STANDARD, TESTED, Model, count, model, models
from ironlaw.registry.adversarial_tables import HARDENED, MARGIN, MASKED, PGD, PLAIN, attacked
from ironlaw.units import significant

AT = 0.1  # ε of the readers that the words speak of


def standard(data: str = CIFAR) -> Model:
    return model(data, STANDARD[data])


def message() -> dict[str, object]:
    return {"clean": kit.amount(standard().clean, "%"), "epsilon": "8/255"}


def lock() -> dict[str, object]:
    return {
        "clean": kit.amount(standard().clean, "%"),
        "epsilon": "8/255",
        "images": f"{TESTED[CIFAR]:,}",
        "network": standard().architecture,
    }


def truth(lab: kit.Lab) -> str:
    return f"{float(lab.question('act1').answer):g}%"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    if option is None:
        return ""
    off = float(option.value) - float(lab.question("act1").answer)
    return f"{significant(off)} points too high" if off else "right"


def _share(reader: str, attack: str, steps: int = 20, restarts: int = 1) -> str:
    return kit.amount(100 * attacked(reader, attack, steps, restarts, AT).value, "%")


def reveal() -> dict[str, object]:
    upper = 100 * clopper_pearson(0, TESTED[CIFAR]).high
    fell = {
        name: model(CIFAR, slug)
        for name, slug in (
            ("cluster", "Alfarra2020ClusTR"),
            ("manifold", "JinRinard2020Manifold"),
            ("bilateral", "WangZhang2019Bilateral"),
            ("ode", "Kang2021Stable"),
        )
    }
    arrows = {
        f"{name}_{which}": kit.amount(float(value or 0.0), "%") for name, one in fell.items()
        for which, value in (("said", one.reported), ("left", one.attacked))
    }  # fmt: skip
    robust = model(IMAGENET, "Salman2020Do_R50")
    return {
        "left": kit.amount(standard().attacked, "%"), "clean": kit.amount(standard().clean, "%"), "upper": kit.amount(upper, "%", 2),
        "images": f"{TESTED[CIFAR]:,}", **arrows, "fell": count(CIFAR, "fell"), "models": count(CIFAR, "models"),
        "strong": count(CIFAR, "strong"), "rows": len(models(CIFAR)), "other": kit.amount(standard(IMAGENET).clean, "%"),
        "other_left": kit.amount(standard(IMAGENET).attacked, "%"), "robust": kit.amount(robust.clean, "%"),
        "robust_left": kit.amount(robust.attacked, "%"),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    return {
        "few": _share(MASKED, PGD, 5), "many": _share(MASKED, PGD, 50, 5), "suited": _share(MASKED, MARGIN, 50, 5),
        "epsilon": f"{AT:g}", "plain": _share(PLAIN, MARGIN, 50, 5),
        "interval": kit.amount(100 * (clopper_pearson(7404, 10_000).high - clopper_pearson(7404, 10_000).low) / 2, "points", 2),
        "claimed": kit.amount(model(CIFAR, "Alfarra2020ClusTR").reported or 0.0, "%"),
        "left": kit.amount(model(CIFAR, "Alfarra2020ClusTR").attacked, "%"),
    }  # fmt: skip


def peek() -> dict[str, object]:
    seventy = clopper_pearson(7000, 10_000)
    return {
        "half": kit.amount(50 * (seventy.high - seventy.low), "points", 2),
        "zero": kit.amount(100 * clopper_pearson(0, 10_000).high, "%", 2),
        "plain": _share(PLAIN, PGD), "hardened": _share(HARDENED, PGD), "epsilon": f"{AT:g}",
        "clean": kit.amount(100 * attacked(PLAIN, PGD, 20, 1, 0.0).value, "%"),
        "clean_hardened": kit.amount(100 * attacked(HARDENED, PGD, 20, 1, 0.0).value, "%"),
    }  # fmt: skip
