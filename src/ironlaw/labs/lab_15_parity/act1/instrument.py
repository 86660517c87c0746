"""Act I: thresholds, base rates and a precision to hold; the rays, every rate, and what may be chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.rates import Table, odds
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_15_parity import data
from ironlaw.labs.lab_15_parity.act1 import figures, verdicts
from ironlaw.labs.lab_15_parity.act1.verdicts import FURTHEST, STEP
from ironlaw.labs.lab_15_parity.data import CUTS, MADE_UP, SPEECH, as_points, points
from ironlaw.pictures.people import people
from ironlaw.pictures.rays import Line, rays
from ironlaw.pictures.reveal import rules
from ironlaw.registry.scored_groups import CREDIT
from ironlaw.widget.figure import tabbed
from ironlaw.widget.quantities import THIN

CLAIMS = ("compas_fpr_twice", "compas_ppv_equal", "accuracy_is_fairness", "auc_equal", "impossible_always")
ONE, EACH = "one", "each"
GAPS = {"fpr": "False positives", "fnr": "Misses", "ppv": "Precision"}
SIDES = {"fpr": "false positives: the reporters", "ppv": "precision: the vendor", "fnr": "misses: asked by nobody"}


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        slug, apart = lab.current_context.slug, values.get("linked") == EACH
        credit, toy = slug == CREDIT, slug == MADE_UP
        pairs = [(name, name) for name in data.names(CREDIT)]
        cuts = [
            kit.span(
                f"cut_{name}_{side}", label, cut.low, cut.high, cut.start, step=cut.step, hidden=name != slug or (side == "b" and not apart)
            )
            for name, cut in CUTS.items()
            for side, label in (("a", "Threshold of the first group" if apart else "Threshold"), ("b", "Threshold of the second group"))
        ]
        return [
            kit.select("a", "First group", pairs, "White", hidden=not credit),
            kit.select("b", "Second group", pairs, "Black", hidden=not credit),
            kit.choice("linked", "Thresholds", [(ONE, "one for both"), (EACH, "one each")], ONE),
            *cuts,
            kit.span("base_a", "Base rate of A", 5, 95, 30, unit="%", hidden=not toy),
            kit.span("base_b", "Base rate of B", 5, 95, 10, unit="%", hidden=not toy),
            kit.span("separation", "How well the score separates", 0, FURTHEST, 2, step=STEP, hidden=not toy),
            kit.span("ppv", "Precision to hold", 5, 100, 60, unit="%"),
            kit.select("side", "Light up the people who count for", list(SIDES.items()), "fpr"),
        ]

    return dials_at


def tables(lab: kit.Lab, values: Mapping[str, Any]) -> tuple[tuple[Group, Group], tuple[Table, Table]]:
    slug, (one, other) = lab.current_context.slug, data.pair(lab, values)
    cut_a = float(values[f"cut_{slug}_a"])
    cut_b = float(values[f"cut_{slug}_b"]) if values["linked"] == EACH else cut_a
    return (one, other), (one.at(cut_a), other.at(cut_b))


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    pair, counts = tables(lab, values)
    slug, held = lab.current_context.slug, values["ppv"] / 100
    speech = SPEECH[slug]
    lines = [
        Line(_name(pair, i), group.roc, group.base, (table.fpr, table.tpr), _drag(slug, values, group, "ab"[i]))
        for i, (group, table) in enumerate(zip(pair, counts, strict=True))
    ]
    return kit.View(
        figures=[
            tabbed(figures.ratio(pair, counts, marks(lab)), "Asked"),
            tabbed(
                rays(
                    lines,
                    held,
                    f"One precision, {values['ppv']:.0f} %",
                    flagged=speech.flagged,
                    true=speech.true,
                    other=speech.other,
                    note="dotted rays: every decision of this precision",
                ),
                "Rays",
            ),
            tabbed(
                people(
                    {_name(pair, i): counts[i] for i in (0, 1)},
                    speech.kinds,
                    "A hundred people of each group",
                    rate=str(values["side"]),
                    note=f"behind each bar: {SIDES[values['side']].split(':')[0]}, as a share of those lit",
                ),
                "People",
            ),
            tabbed(figures.rates(pair, counts, speech.rates), "Every rate"),
        ],
        cards=cards(pair, counts),
        formula=formula(pair[0], counts[0]),
        banner=verdicts.banner(lab, pair, held),
        note=kit.html(
            "\n\n".join([lab.fill("act1.from", source=data.source(slug)), lab.words[f"act1.about_{slug}"], lab.fill("act1.mark")])
        ),
        readouts=readouts(slug, counts),
    )


def _name(pair: tuple[Group, Group], i: int) -> str:
    return pair[i].name if pair[0].name != pair[1].name else f"{pair[i].name}, {'first' if i == 0 else 'second'}"


def _drag(slug: str, values: Mapping[str, Any], group: Group, side: str) -> dict[str, Any] | None:
    """A point turns its threshold along the curve."""
    if side == "b" and values["linked"] == ONE:
        return None
    cut = CUTS[slug]
    steps = round((cut.high - cut.low) / cut.step)
    places = {round(100 * group.at(cut.low + cut.step * i).fpr, 4): round(cut.low + cut.step * i, 4) for i in range(steps + 1)}
    return {"dial": f"cut_{slug}_{side}", "axis": "x", "stops": [[at, value] for at, value in sorted(places.items())]}


def marks(lab: kit.Lab) -> tuple[Any, ...]:
    option = lab.choice("act1")
    return rules(float(option.value), float(lab.question("act1").answer), "×") if option else ()


def readouts(slug: str, counts: tuple[Table, Table]) -> dict[str, Any]:
    gaps = {rate: data.gap_of(*counts, rate) for rate in ("fpr", "fnr", "ppv", "selected")}
    return {"data": slug, **{f"gap_{rate}": round(gap.value, 4) if gap else None for rate, gap in gaps.items()}}


def cards(pair: tuple[Group, Group], counts: tuple[Table, Table]) -> list[dict[str, Any]]:
    shown = []
    for rate, label in GAPS.items():
        gap = data.gap_of(*counts, rate)
        sure = gap is not None and not gap.may_be_chance
        note = f"{points(gap.low)} to {points(gap.high)} points" if gap else ""
        word = "not chance" if sure else "may be chance"
        shown.append(as_points(f"{label}, gap", gap, note=note, tone="bad" if sure else "middling", word=word))
    ratio = odds(pair[0].base) / odds(pair[1].base)
    bases = f"base rates {100 * pair[0].base:.3g} and {100 * pair[1].base:.3g}{THIN}%"
    return [*shown, kit.card("Odds, first over second", ratio, "×", note=bases)]


def formula(group: Group, table: Table) -> str:
    law = line("FPR =", fraction("<i>p</i>", "1 − <i>p</i>"), "·", fraction("1 − PPV", "PPV"), "· (1 − FNR)")
    if math.isnan(table.ppv):
        return law + line("nobody is flagged: no precision, and no false positives")
    base, ppv, fnr = (f"{value:.3f}" for value in (group.base, table.ppv, table.fnr))
    filled = [fraction(base, f"1 − {base}"), "·", fraction(f"1 − {ppv}", ppv), f"· (1 − {fnr}) ="]
    return law + line("=", *filled, kit.dress(f"{100 * table.fpr:.3g} %"))
