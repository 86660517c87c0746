"""Act II's pictures: what each rule leaves, where its decisions stand, who is accepted, and the price of a gap."""

from __future__ import annotations

from ironlaw.engine.parity.rules import NONE, ODDS, ONE, OPPORTUNITY, RULES, SELECTION, best
from ironlaw.labs.lab_15_parity.act2.policy import WINDOWED, Policy
from ironlaw.labs.lab_15_parity.data import SPEECH
from ironlaw.pictures.lines import lines
from ironlaw.pictures.rays import Line, rays
from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.registry.scored_groups import CREDIT, groups
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact

ASKED = 0.82  # the break-even of the question: the price list is for it
ASKED_RULES = {"one": ONE, "opportunity": OPPORTUNITY, "odds": ODDS, "selection": SELECTION}  # option of the question -> rule
WINDOWS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


def profits(policy: Policy, said: str = "", true: str = "") -> Figure:
    """The share of the maximum profit that each rule leaves at this break-even. `said` is predicted to leave least, `true` does."""
    top = best(policy.groups, NONE, policy.breakeven).profit
    shares = {rule: 100 * best(policy.groups, rule, policy.breakeven).profit / top for rule in RULES}
    shares[policy.rule] = 100 * policy.profit
    bars = [
        mark(
            "bar",
            "accent" if rule == policy.rule else "muted",
            x=max(0.0, share),
            y=RULES[rule],
            id=f"rule-{rule}",
            name=RULES[rule],
            label=f"{significant(share)}%",
            emphasis=rule == policy.rule,
            hover=[("of the maximum profit", exact(share, "%"))],
        )
        for rule, share in shares.items()
    ]
    words = "; ".join(f"{RULES[rule]} {significant(share)}%" for rule, share in shares.items())
    drawn = Figure(
        "profits",
        f"{RULES[policy.rule].capitalize()}: {significant(shares[policy.rule])}% of the profit",
        Axis("linear", "of the maximum profit", "%", (0.0, 115.0), ticks=(0.0, 25.0, 50.0, 75.0, 100.0)),
        Axis("band", names=tuple(RULES[rule] for rule in shares)),
        tuple(bars),
        f"{words}.",
        Table(("rule", "of the maximum profit"), tuple((RULES[rule], exact(share, "%")) for rule, share in shares.items())),
        f"the question is about a break-even of {100 * ASKED:.0f}%" if said and policy.breakeven != ASKED else "",
        more={"row": 30},
    )
    return on_rows(drawn, [RULES[said]], RULES[true]) if said else drawn


def square(policy: Policy) -> Figure:
    drawn = [Line(group.name, group.hull, group.base, point) for group, point in zip(policy.groups, policy.decision.points, strict=True)]
    speech = SPEECH[CREDIT]
    return rays(
        drawn, None, RULES[policy.rule].capitalize(), flagged=speech.flagged, true=speech.true, other=speech.other, id="square"
    )  # fmt: skip


def price_list() -> dict[str, list[tuple[float, float]]]:
    data = groups(CREDIT)
    top = best(data, NONE, ASKED).profit
    return {
        RULES[rule]: [(100 * window, 100 * best(data, rule, ASKED, window).profit / top) for window in WINDOWS]
        for rule in (OPPORTUNITY, SELECTION)
    }


def price(policy: Policy) -> Figure:
    """Profit against the gap that is left: the frontier, at the question's break-even."""
    here = f"your rule, {100 * policy.window:.0f}"
    dial = mark("rule", "accent", x=100 * policy.window, dash=True, label=here, name="the dial", id="window", drag=hold("window"))
    return lines(
        price_list(),
        Axis("linear", "difference allowed between groups, in points", "", (0.0, 40.0)),
        Axis("linear", "of the maximum profit", "%", (60.0, 102.0)),
        "The first points of gap buy back the most profit",
        extra=[dial] if policy.rule in WINDOWED else [],
        id="price",
        more={"height": 320},
    )
