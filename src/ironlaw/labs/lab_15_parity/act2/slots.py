"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.parity.curves import height
from ironlaw.engine.parity.rules import NONE, OPPORTUNITY, RULES, best
from ironlaw.labs.lab_15_parity.act1 import slots as first
from ironlaw.labs.lab_15_parity.act2.figures import ASKED, ASKED_RULES
from ironlaw.registry.scored_groups import COMPAS, CREDIT, groups


def share(rule: str, window: float = 0.0) -> kit.Markup:
    data = groups(CREDIT)
    return kit.amount(100 * best(data, rule, ASKED, window).profit / best(data, NONE, ASKED).profit, "%")


def lock() -> dict[str, object]:
    return {"breakeven": kit.amount(100 * ASKED, "%")}


def truth(lab: kit.Lab) -> str:
    right = lab.question("act2").right
    return f"{kit.inline(right.label)}, which leaves {share(ASKED_RULES[right.id])}"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    if option is None:
        return ""
    right = option.id == lab.question("act2").right.id
    return "right" if right else f"off, because that rule still leaves {share(ASKED_RULES[option.id])}"


def reveal() -> dict[str, object]:
    one, other = groups(COMPAS)
    nearest = (one.at(7), other.at(5))
    accuracy = sum(table.tp + table.tn for table in nearest) / (one.total + other.total)
    top = max(sum(t.tp + t.tn for t in (one.at(i), other.at(j))) for i in range(1, 12) for j in range(1, 12)) / (one.total + other.total)
    return {
        **{rule: share(rule) for rule in RULES if rule not in (NONE, "equal_ppv")},
        "eased": share(OPPORTUNITY, 0.05),
        "ppv_one": kit.percent(nearest[0].ppv),
        "ppv_other": kit.percent(nearest[1].ppv),
        "accuracy": kit.percent(accuracy),
        "top": kit.percent(top),
    }


def reflection() -> dict[str, object]:
    data = groups(CREDIT)
    odds = best(data, "equal_odds", ASKED)
    fpr = odds.points[0][0]
    order = sorted(data, key=lambda group: height(group.hull, fpr))
    return {
        "odds": share("equal_odds"),
        "opportunity": share(OPPORTUNITY),
        "best": order[-1].name,
        "worst": order[0].name,
        "tpr": kit.percent(odds.tables[0].tpr),
    }


def peek() -> dict[str, object]:
    return {
        "breakeven": kit.amount(100 * ASKED, "%"),
        "one": share("one_threshold"),
        "opportunity": share(OPPORTUNITY),
        "odds": share("equal_odds"),
    }


def takeaways() -> dict[str, object]:
    compas = first.compas()
    return {
        "fpr_one": compas["fpr_one"],
        "fpr_other": compas["fpr_other"],
        "ppv_one": compas["ppv_one"],
        "ppv_other": compas["ppv_other"],
        "opportunity": share(OPPORTUNITY),
        "selection": share("equal_selection"),
    }
