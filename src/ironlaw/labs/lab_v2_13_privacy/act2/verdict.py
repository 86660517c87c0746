"""Which limit a private classifier hits, by how much, and the least change that would do."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.privacy.accountants import BOUNDS, LIMIT
from ironlaw.labs.lab_v2_13_privacy.act2.plan import Plan
from ironlaw.labs.lab_v2_13_privacy.runs import ACCOUNTANTS, tiny
from ironlaw.systems.limits import fail, good, warn
from ironlaw.units import significant

WORKS = "works"
BUDGET, LEAST = 3.0, 0.90  # the story's promise, not any law's: ε at most, and the share of images that must be read right
FAINT, NEARLY_ALL, LOST = 0.1, 0.99, 0.05  # signal over noise; share of gradients clipped; accuracy lost to plain SGD


def _reads_enough(plan: Plan) -> bool:
    return plan.surely >= LEAST


def _accuracy(plan: Plan) -> dict[str, object]:
    return {"accuracy": kit.amount(100 * plan.trained.accuracy, "%"), "surely": kit.amount(100 * plan.surely, "%")}


def _delta(plan: Plan) -> dict[str, object]:
    expected = kit.amount(plan.delta * plan.records, "", 2)
    return {
        "delta": tiny(plan.delta),
        "records": f"{plan.records:,}",
        "expected": expected,
    }


def _unproven(plan: Plan) -> dict[str, object]:
    return {"epsilon": kit.amount(plan.epsilon), "accountant": ACCOUNTANTS[LIMIT]}


def _overspent(plan: Plan) -> dict[str, object]:
    return {
        "epsilon": kit.amount(plan.epsilon), "budget": kit.amount(BUDGET), "over": kit.times(plan.epsilon / BUDGET),
        "alone": kit.amount(plan.alone), "runs": f"{plan.runs:,}",
    }  # fmt: skip


def _noise(plan: Plan) -> dict[str, object]:
    return {
        "signal": significant(plan.signal, 2), "ground": significant(plan.ground, 2), "ratio": kit.times(plan.ground / plan.signal),
        "batch": significant(plan.batch), "accuracy": kit.amount(100 * plan.trained.accuracy, "%"),
    }  # fmt: skip


def _clipped(plan: Plan) -> dict[str, object]:
    return {
        "share": kit.amount(100 * plan.trained.clipped, "%"), "clip": f"{plan.clip:g}",
        "accuracy": kit.amount(100 * plan.trained.accuracy, "%"), "plain": kit.amount(100 * plan.plain.accuracy, "%"),
        "floor": kit.amount(100 * LEAST, "%"),
    }  # fmt: skip


def _floor(plan: Plan) -> dict[str, object]:
    return _accuracy(plan) | {
        "floor": kit.amount(100 * LEAST, "%"), "short": kit.amount(100 * (LEAST - plan.surely), "points", 2),
    }  # fmt: skip


def _works(plan: Plan) -> dict[str, object]:
    return _accuracy(plan) | {
        "epsilon": kit.amount(plan.epsilon), "left": kit.amount(BUDGET - plan.epsilon), "floor": kit.amount(100 * LEAST, "%"),
    }  # fmt: skip


def _overclipped(plan: Plan) -> bool:
    return plan.trained.clipped > NEARLY_ALL and plan.plain.accuracy - plan.trained.accuracy > LOST


# the last three say why too few images are read right
LIMITS = (
    fail("delta", "δ allows a leak", lambda plan: plan.delta >= 1 / plan.records, _delta),
    fail("unproven", "Nothing is proved", lambda plan: plan.accountant not in BOUNDS, _unproven),
    fail("overspent", "The budget is overspent", lambda plan: plan.epsilon > BUDGET, _overspent),
    fail("noise_only", "The noise drowns the gradient", lambda plan: not _reads_enough(plan) and plan.ratio < FAINT, _noise),
    warn("clipped", "Clipped too far", lambda plan: not _reads_enough(plan) and _overclipped(plan), _clipped),
    warn("floor", "It misreads too many digits", lambda plan: not _reads_enough(plan), _floor),
    good(WORKS, "Private and accurate enough", _works),
)
