"""Act I's words: truth, distance and slots, for the prediction's own case and for COMPAS."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.parity.rates import fpr_of, odds, ppv_of
from ironlaw.labs.lab_15_parity import data
from ironlaw.registry.scored_groups import COMPAS, groups

A, B, PPV, FNR = 0.3, 0.1, 0.8, 0.3  # the question's own case
FPR = 0.1  # of the reflection
CUT = 5.0


def message() -> dict[str, object]:
    return {}


def lock() -> dict[str, object]:
    return {"a": kit.percent(A), "b": kit.percent(B)}


def truth(lab: kit.Lab) -> str:
    return f"{kit.times(float(lab.question('act1').answer))} as often in A"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def compas() -> dict[str, object]:
    one, other = groups(COMPAS)
    by_group = {"one": one.at(CUT), "other": other.at(CUT)}
    rates = {f"{rate}_{name}": kit.percent(getattr(table, rate)) for name, table in by_group.items() for rate in ("fpr", "fnr", "ppv")}
    return {
        **rates,
        "ratio": kit.times(odds(one.base) / odds(other.base)),
        "base_one": kit.percent(one.base),
        "base_other": kit.percent(other.base),
    }


def reveal() -> dict[str, object]:
    return {
        **compas(),
        "a": kit.percent(A),
        "b": kit.percent(B),
        "fpr_a": kit.percent(fpr_of(A, PPV, FNR)),
        "fpr_b": kit.percent(fpr_of(B, PPV, FNR)),
        "ppv": kit.percent(PPV),
        "fnr": kit.percent(FNR),
        "odds": kit.times(odds(A) / odds(B)),
        "bases": kit.times(A / B),
    }


def reflection() -> dict[str, object]:
    better = [data.made_up(A, B, separation) for separation in (1.5, 3.0)]
    gaps = [abs(pair[0].at(s / 2).ppv - pair[1].at(s / 2).ppv) for pair, s in zip(better, (1.5, 3.0), strict=True)]
    return {
        "a": kit.percent(A),
        "b": kit.percent(B),
        "fnr": kit.percent(FNR),
        "fpr": kit.percent(FPR),
        "ppv_a": kit.percent(ppv_of(A, FNR, FPR)),
        "ppv_b": kit.percent(ppv_of(B, FNR, FPR)),
        "poor": kit.dress(f"{100 * gaps[0]:.1f} points"),
        "good": kit.dress(f"{100 * gaps[1]:.1f} points"),
    }


def peek() -> dict[str, object]:
    one, _ = groups(COMPAS)
    table = one.at(CUT)
    return {
        "tp": f"{table.tp:,.0f}",
        "fp": f"{table.fp:,.0f}",
        "fn": f"{table.fn:,.0f}",
        "tn": f"{table.tn:,.0f}",
        "base": f"{one.base:.4f}",
        "ppv": f"{table.ppv:.4f}",
        "fnr": f"{table.fnr:.4f}",
        "fpr": kit.dress(f"{100 * fpr_of(one.base, table.ppv, table.fnr):.2f}%"),
        "same_a": kit.percent(ppv_of(A, FNR, 0.1)),
        "same_b": kit.percent(ppv_of(B, FNR, 0.1)),
        "fnr_held": kit.percent(FNR),
        "fpr_held": kit.percent(0.1),
    }
