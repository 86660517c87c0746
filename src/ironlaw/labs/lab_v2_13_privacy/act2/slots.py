"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.privacy.gaussian import mean_noise
from ironlaw.labs.lab_v2_13_privacy.act2.plan import changes, premise
from ironlaw.labs.lab_v2_13_privacy.act2.verdict import BUDGET, LEAST
from ironlaw.labs.lab_v2_13_privacy.runs import spent, tiny
from ironlaw.registry.private_runs import CLASSES, FEATURES, RECORDS, private_run
from ironlaw.units import significant

NAMES = {"batch": "larger batches", "epochs": "more epochs", "tuning": "runs to tune", "clip": "a larger clip norm"}
RUNS = 5  # of the question, to choose a learning rate
MORE = 10  # times the records, of the reflection
FIXED = 1e-5  # δ of the reflection


def message() -> dict[str, object]:
    return {"budget": kit.amount(BUDGET), "floor": kit.amount(100 * LEAST, "%")}


def lock() -> dict[str, object]:
    one = premise()
    return {
        "records": f"{one.records:,}", "rate": kit.amount(100 * one.rate, "%"), "noise": kit.amount(one.noise), "epochs": one.epochs,
        "delta": tiny(one.delta), "epsilon": kit.amount(one.epsilon),
    }  # fmt: skip


def truth(lab: kit.Lab) -> str:
    return NAMES[str(lab.question("act2").answer)]


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    if option is None or lab.correct("act2"):
        return "right" if option else ""
    return f"off, because that takes ε from {significant(premise().epsilon)} to {significant(changes(premise())[option.id])}"


def reveal() -> dict[str, object]:
    one = premise()
    after = {name: kit.amount(epsilon) for name, epsilon in changes(premise()).items()}
    return {
        **after, "before": kit.amount(one.epsilon), "rate": kit.amount(100 * one.rate, "%"), "larger": kit.amount(400 * one.rate, "%"),
        "runs": RUNS, "deviation": significant(one.noise * one.clip), "three": significant(3 * one.noise * one.clip),
        "noise": kit.amount(one.noise),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    one = premise()
    few, many = (mean_noise(one.noise, one.clip, one.rate * count, FEATURES * CLASSES) for count in (one.records, MORE * one.records))
    return {
        "few": f"{one.records:,}", "many": f"{MORE * one.records:,}", "ground": significant(few), "less": significant(many),
        "epsilon": kit.amount(spent(one.rate, one.noise, one.steps, FIXED)), 
        "small": read_right(RECORDS[0]), "large": read_right(RECORDS[-1]),
    }  # fmt: skip


def read_right(records: int) -> str:
    """With the question's rate, noise and epochs, and the clip norm and learning rate that the dials begin with."""
    one = premise()
    return kit.amount(100 * private_run(records, one.rate, one.noise, one.clip, one.speed, one.epochs).accuracy, "%")


def peek() -> dict[str, object]:
    one = premise()
    return {
        "before": kit.amount(one.epsilon), "runs": RUNS, "tuned": kit.amount(changes(one)["tuning"]), "parameters": FEATURES * CLASSES,
        "ground": significant(one.ground), "signal": significant(one.signal), "ratio": kit.amount(one.ratio),
        "batch": significant(one.batch),
        "noise": kit.amount(one.noise), "clip": kit.amount(one.clip),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {
        "before": kit.amount(premise().epsilon), "tuned": kit.amount(changes(premise())["tuning"]), "runs": RUNS,
        "small": read_right(RECORDS[0]), "large": read_right(RECORDS[-1]),
    }  # fmt: skip
