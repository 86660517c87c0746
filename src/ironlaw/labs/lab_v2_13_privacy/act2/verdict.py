"""Which limit a private classifier hits, by how much, and the least change that would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

from ironlaw import kit
from ironlaw.engine.privacy.accountants import BOUNDS, LIMIT, RDP
from ironlaw.labs.lab_v2_13_privacy.act2.plan import STOPS, Plan
from ironlaw.labs.lab_v2_13_privacy.runs import ACCOUNTANTS, tiny
from ironlaw.units import significant

DELTA, UNPROVEN, OVERSPENT, NOISE, CLIPPED, FLOOR, WORKS = "delta", "unproven", "overspent", "noise_only", "clipped", "floor", "works"
BUDGET, LEAST = 3.0, 0.90  # the story's promise, not any law's: ε at most, and the share of images that must be read right
FAINT, NEARLY_ALL, LOST = 0.1, 0.99, 0.05  # signal over noise; share of gradients clipped; accuracy lost to plain SGD
TONES = dict.fromkeys((DELTA, UNPROVEN, OVERSPENT, NOISE), "fail") | {CLIPPED: "warn", FLOOR: "warn", WORKS: "good"}
TITLES = {
    DELTA: "δ lets a record out", UNPROVEN: "Nothing is proved", OVERSPENT: "The budget is overspent",
    NOISE: "The noise drowns the gradient", CLIPPED: "Clipped too far", FLOOR: "It reads too few", WORKS: "It keeps the promise",
}  # fmt: skip


def state(plan: Plan) -> str:
    """The first limit that a design hits; WORKS where it hits none. The last three say why too few images are read right."""
    if plan.delta >= 1 / plan.records:
        return DELTA
    if plan.accountant not in BOUNDS:
        return UNPROVEN
    if plan.epsilon > BUDGET:
        return OVERSPENT
    if plan.surely >= LEAST:
        return WORKS
    if plan.ratio < FAINT:
        return NOISE
    if plan.trained.clipped > NEARLY_ALL and plan.plain.accuracy - plan.trained.accuracy > LOST:
        return CLIPPED
    return FLOOR


def banner(lab: kit.Lab, plan: Plan) -> dict[str, object]:
    name = state(plan)
    return kit.banner(TONES[name], TITLES[name], kit.html(lab.fill(f"act2.{name}", **SLOTS[name](plan))))


@lru_cache(maxsize=512)
def cures(plan: Plan) -> dict[str, Plan]:
    """Words -> the design with that one dial turned as little as does it, all else as it is; two where one does not do."""
    if plan.accountant != RDP:
        better, by = f"the accountant “{ACCOUNTANTS[RDP]}”", replace(plan, accountant=RDP)
        return {better: by} if state(by) == WORKS else {f"{better} with {words}": one for words, one in cures(by).items()}
    changed: dict[str, Plan] = {}
    for name, words in WORDS.items():
        for stop in _other_stops(plan, name):
            one = _turned(plan, name, stop)
            if state(one) == WORKS:
                changed[words(stop)] = one
                break
    return changed or _pair(plan)


def _pair(plan: Plan) -> dict[str, Plan]:
    """Two dials of the training, turned by the fewest stops together."""
    ways = [
        (i + j, first, one, second, other)
        for first, second in combinations(PAIRED, 2)
        for i, one in enumerate(_other_stops(plan, first))
        for j, other in enumerate(_other_stops(plan, second))
    ]
    for _, first, one, second, other in sorted(ways):
        both = _turned(_turned(plan, first, one), second, other)
        if state(both) == WORKS:
            return {f"{WORDS[first](one)} with {WORDS[second](other)}": both}
    return {}


def _other_stops(plan: Plan, name: str) -> list[float]:
    """Nearest first."""
    now = getattr(plan, name)
    return sorted((stop for stop in STOPS[name] if stop != now), key=lambda stop: max(stop / now, now / stop))


def _turned(plan: Plan, name: str, stop: float) -> Plan:
    return replace(plan, **{name: type(getattr(plan, name))(stop)})


WORDS: dict[str, Callable[[float], str]] = {
    "noise": lambda stop: f"a noise multiplier of {stop:g}",
    "clip": lambda stop: f"a clip norm of {stop:g}",
    "speed": lambda stop: f"a learning rate of {stop:g}",
    "epochs": lambda stop: f"{stop:g} epoch{'' if stop == 1 else 's'}",
    "rate": lambda stop: f"batches of {100 * stop:g} %",
    "runs": lambda stop: f"{stop:g} run{'' if stop == 1 else 's'} in all",
    "delta": lambda stop: f"a δ of one in {round(1 / stop):,}",
    "records": lambda stop: f"{stop:,.0f} records",
}


PAIRED = ("noise", "clip", "speed", "epochs", "rate", "records", "runs")


def _or(plan: Plan) -> str:
    words = list(cures(plan))[:4]
    if not words:
        return "more than two dials; begin with more records"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _accuracy(plan: Plan) -> dict[str, object]:
    return {"accuracy": kit.amount(100 * plan.trained.accuracy, "%"), "surely": kit.amount(100 * plan.surely, "%")}


def _delta(plan: Plan) -> dict[str, object]:
    expected = kit.amount(plan.delta * plan.records, "", 2)
    return {"delta": tiny(plan.delta), "records": f"{plan.records:,}", "expected": expected, "cures": _or(plan)}


def _unproven(plan: Plan) -> dict[str, object]:
    return {"epsilon": kit.amount(plan.epsilon), "accountant": ACCOUNTANTS[LIMIT], "cures": _or(plan)}


def _overspent(plan: Plan) -> dict[str, object]:
    return {
        "epsilon": kit.amount(plan.epsilon), "budget": kit.amount(BUDGET), "over": kit.times(plan.epsilon / BUDGET),
        "alone": kit.amount(plan.alone), "runs": f"{plan.runs:,}", "cures": _or(plan),
    }  # fmt: skip


def _noise(plan: Plan) -> dict[str, object]:
    return {
        "signal": significant(plan.signal, 2), "ground": significant(plan.ground, 2), "ratio": kit.times(plan.ground / plan.signal),
        "batch": significant(plan.batch), "accuracy": kit.amount(100 * plan.trained.accuracy, "%"), "cures": _or(plan),
    }  # fmt: skip


def _clipped(plan: Plan) -> dict[str, object]:
    return {
        "share": kit.amount(100 * plan.trained.clipped, "%"), "clip": f"{plan.clip:g}",
        "accuracy": kit.amount(100 * plan.trained.accuracy, "%"), "plain": kit.amount(100 * plan.plain.accuracy, "%"),
        "floor": kit.amount(100 * LEAST, "%"), "cures": _or(plan),
    }  # fmt: skip


def _floor(plan: Plan) -> dict[str, object]:
    return _accuracy(plan) | {
        "floor": kit.amount(100 * LEAST, "%"), "short": kit.amount(100 * (LEAST - plan.surely), "points", 2), "cures": _or(plan),
    }  # fmt: skip


def _works(plan: Plan) -> dict[str, object]:
    return _accuracy(plan) | {
        "epsilon": kit.amount(plan.epsilon), "left": kit.amount(BUDGET - plan.epsilon), "floor": kit.amount(100 * LEAST, "%"),
    }  # fmt: skip


SLOTS = {
    DELTA: _delta, UNPROVEN: _unproven, OVERSPENT: _overspent, NOISE: _noise, CLIPPED: _clipped, FLOOR: _floor, WORKS: _works,
}  # fmt: skip
