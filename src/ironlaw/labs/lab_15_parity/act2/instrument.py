"""Act II: a rule, how far it is eased, and what the board asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.parity.rules import ONE, OPPORTUNITY, RULES
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_15_parity.act2 import figures, verdicts
from ironlaw.labs.lab_15_parity.act2.policy import ALL_ALIKE, FIFTHS, WHY, WINDOWED, Policy
from ironlaw.labs.lab_15_parity.data import as_points
from ironlaw.registry.scored_groups import CREDIT
from ironlaw.systems.limits import hit
from ironlaw.widget.dials import settle
from ironlaw.widget.figure import tabbed

CLAIMS = ("fairness_costs_3_to_5", "opportunity_passes_four_fifths")
FORBIDDEN = "This rule needs a threshold for each group."
MORE = ("breakeven", "floor")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        alike = values.get("law") == ALL_ALIKE
        rule = ONE if alike else values.get("rule") or OPPORTUNITY
        barred = {name: FORBIDDEN for name in RULES if name != ONE} if alike else {}
        return settings.dials(
            Policy, rule={"value": ONE if alike else OPPORTUNITY, "disabled": barred}, window={"hidden": rule not in WINDOWED}
        )

    return dials_at


def policy_of(lab: kit.Lab, values: Mapping[str, Any]) -> Policy:
    stand, _ = settle(dials(lab)(values), values)
    return settings.read(Policy, stand)


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    policy = policy_of(lab, values)
    return kit.View(
        figures=[
            tabbed(figures.profits(policy, *asked_rules(lab)), "Profit"),
            tabbed(figures.square(policy), "Curves"),
            tabbed(figures.price(policy), "Price of a gap"),
        ],
        cards=cards(policy),
        formula=formula(policy),
        banner=settings.verdict(lab, "act2", verdicts.LIMITS, policy),
        note=notes(lab),
        readouts=readouts(policy),
    )


def asked_rules(lab: kit.Lab) -> tuple[str, str]:
    """The rules that the learner and the engine say leave least."""
    option = lab.choice("act2")
    return (figures.ASKED_RULES[option.id], figures.ASKED_RULES[lab.question("act2").right.id]) if option else ("", "")


def _gap(policy: Policy, rate: str) -> float | None:
    gap = policy.gap(rate)
    return round(gap.value, 4) if gap else None


def readouts(policy: Policy) -> dict[str, Any]:
    return {
        "rule": policy.rule,
        "thresholds": [[round(x, 4), round(y, 4)] for x, y in policy.decision.points],
        **{f"gap_{rate}": _gap(policy, rate) for rate in ("fpr", "fnr", "ppv", "selected")},
        "profit_share": round(policy.profit, 4),
        "constraint_hit": settings.broken(verdicts.LIMITS, policy) is not None,
        "justification": WHY[policy.why],
        "state": hit(verdicts.LIMITS, policy).name,
    }


def cards(policy: Policy) -> list[dict[str, Any]]:
    ratio, low = policy.selection_ratio, policy.profit < policy.keep
    names = [group.name for group in policy.groups]
    (high, lowest), (most, least) = policy.ends, policy.luckiest
    return [
        kit.card(
            "Profit kept",
            100 * policy.profit,
            "%",
            tone="bad" if low else "good",
            note=f"the board wants {100 * policy.keep:.0f}%",
            word="too little" if low else "enough",
        ),
        as_points(
            "Gap among those who would repay",
            policy.chances,
            tone="bad" if policy.is_too_far else "middling" if policy.is_unsure else "good",
            note=f"between {names[most]} and {names[least]} applicants",
            word="too far" if policy.is_too_far else "can't tell" if policy.is_unsure else "near enough",
        ),
        kit.card("Lowest acceptance over highest", ratio, "×", note=f"the four-fifths rule asks for {FIFTHS:g}"),
        as_points("Gap in repayment", policy.gap("ppv"), note=f"between {names[high]} and {names[lowest]} applicants"),
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
