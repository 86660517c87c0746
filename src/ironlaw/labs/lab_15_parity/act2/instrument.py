"""Act II: a rule, a break-even, and three things to keep; which of them the rule breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.parity.rules import ONE, OPPORTUNITY, RULES
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_15_parity.act2 import figures
from ironlaw.labs.lab_15_parity.act2.policy import FIFTHS, LIMITS, WINDOWED, Policy
from ironlaw.labs.lab_15_parity.act2.verdicts import banner
from ironlaw.labs.lab_15_parity.data import as_points
from ironlaw.pictures.meter import marks as percent_marks
from ironlaw.registry.scored_groups import CREDIT
from ironlaw.units import significant
from ironlaw.widget.dials import settle
from ironlaw.widget.figure import tabbed

CLAIMS = ("fairness_costs_3_to_5", "opportunity_passes_four_fifths")
BY_GROUP, ALL_ALIKE = "by_group", "alike"
FORBIDDEN = "This rule takes a threshold for each group."
WHY = {
    "able": "the able have equal chances",
    "equal": "groups get equal shares",
    "errors": "errors fall on all alike",
    "flags": "a yes means the same for all",
    "same": "same score, same answer",
    "profit": "the bank lives on it",
}


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        alike = values.get("law") == ALL_ALIKE
        rule = ONE if alike else values.get("rule") or OPPORTUNITY
        barred = {name: FORBIDDEN for name in RULES if name != ONE} if alike else {}
        return [
            kit.choice("law", "Thresholds", [(BY_GROUP, "may differ by group"), (ALL_ALIKE, "one for all, by law")], BY_GROUP),
            kit.select("rule", "Rule", list(RULES.items()), ONE if alike else OPPORTUNITY, barred),
            kit.span("breakeven", "Repayment at which a loan breaks even", 50, 95, 82, unit="%"),
            kit.span("window", "The rule's rate may differ by", 0, 40, 0, unit="points", hidden=rule not in WINDOWED),
            kit.span("within", "All three rates within", 1, 40, 20, unit="points"),
            kit.span("floor", "Accept of each group at least", 1, 50, 10, unit="%"),
            kit.span("keep", "Keep of the largest profit at least", 50, 100, 75, unit="%"),
            kit.select("why", "Because", list(WHY.items()), "able"),
        ]

    return dials_at


def policy_of(lab: kit.Lab, values: Mapping[str, Any]) -> Policy:
    stand, _ = settle(dials(lab)(values), values)
    shares = (stand[name] / 100 for name in ("breakeven", "window", "within", "floor", "keep"))
    return Policy(stand["rule"], *shares)


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    policy = policy_of(lab, values)
    return kit.View(
        figures=[
            tabbed(figures.profits(policy, marks(lab)), "Profit"),
            tabbed(figures.square(policy), "Curves"),
            tabbed(figures.people(policy), "People"),
            tabbed(figures.price(policy), "Price of a gap"),
        ],
        cards=cards(policy),
        formula=formula(policy),
        banner=banner(lab, policy),
        note=notes(lab),
        readouts=readouts(policy, str(values["why"])),
    )


def marks(lab: kit.Lab) -> tuple[Any, ...]:
    option = lab.choice("act2")
    if option is None:
        return ()
    said, true = float(option.value), float(lab.question("act2").answer)
    off = "on the mark" if abs(said - true) < 1 else f"{significant(abs(said - true))} points too {'high' if said > true else 'low'}"
    return percent_marks(said, true, off)


def _gap(policy: Policy, rate: str) -> float | None:
    gap = policy.gap(rate)
    return round(gap.value, 4) if gap else None


def readouts(policy: Policy, why: str) -> dict[str, Any]:
    return {
        "rule": policy.rule,
        "thresholds": [[round(x, 4), round(y, 4)] for x, y in policy.decision.points],
        **{f"gap_{rate}": _gap(policy, rate) for rate in ("fpr", "fnr", "ppv", "selected")},
        "profit_share": round(policy.profit, 4),
        "constraint_hit": policy.state in LIMITS,
        "justification": WHY[why],
        "state": policy.state,
    }


def cards(policy: Policy) -> list[dict[str, Any]]:
    ratio, low, high = policy.selection_ratio, policy.profit < policy.keep, policy.ends
    pair = f"{policy.groups[high[0]].name} less {policy.groups[high[1]].name}"
    return [
        {
            **kit.card("Profit kept", 100 * policy.profit, "%", tone="bad" if low else "good", note=f"at least {100 * policy.keep:.0f} %"),
            "word": "too little" if low else "enough",
        },
        {
            **kit.card(
                "Acceptance, least over most", ratio, "×", tone="good" if ratio >= FIFTHS else "bad", note=f"four fifths is {FIFTHS:g}"
            ),
            "word": "within" if ratio >= FIFTHS else "outside",
        },
        as_points("Refused though able, gap", policy.gap("fnr"), note=pair),
        as_points("Precision, gap", policy.gap("ppv"), note=pair),
    ]


def formula(policy: Policy) -> str:
    worth = f"{1 - policy.breakeven:.2f}"
    tables = policy.decision.tables
    good, bad, people = (sum(getattr(table, name) for table in tables) for name in ("tp", "fp", "people"))
    filled = fraction(f"{worth} · {good:,.0f} − {policy.breakeven:.2f} · {bad:,.0f}", f"{people:,.0f}")
    law = fraction("(1 − <i>b</i>) · repaid − <i>b</i> · defaulted", "applicants")
    return line("profit =", law, "=", filled, "=", f"{policy.decision.profit:.4f}")


def notes(lab: kit.Lab) -> str:
    paragraphs = [lab.words["act2.law"], lab.words["act2.randomised"]]
    if lab.current_context.slug != CREDIT:
        paragraphs.insert(0, lab.words["act2.always_credit"])
    return kit.html("\n\n".join(paragraphs))
