"""Act I: thresholds, base rates and a precision to hold; the rays, every rate, and what may be chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.parity.curves import Group
from ironlaw.engine.parity.rates import Table, odds
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_15_parity import data
from ironlaw.labs.lab_15_parity.act1 import figures, local_runs, verdicts
from ironlaw.labs.lab_15_parity.act1.setting import EACH, RATES, SIDES, Setting
from ironlaw.labs.lab_15_parity.data import CUTS, MADE_UP, SPEECH, as_points, points
from ironlaw.pictures.people_picture import people
from ironlaw.pictures.rays import Line, rays
from ironlaw.pictures.reveal_picture import rules
from ironlaw.registry.scored_groups import COMPAS, CREDIT
from ironlaw.widget.figure import tabbed
from ironlaw.widget.hold import Hold, hold

CLAIMS = ("compas_fpr_twice", "compas_ppv_equal", "accuracy_is_fairness")
GAPS = {"fpr": "False positives", "fnr": "Misses", "ppv": "Precision"}
MORE = ("a", "b", "separation", "side")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        slug, shared = lab.current_context.slug, values.get("linked", RATES)
        credit, toy = {"hidden": slug != CREDIT}, {"hidden": slug != MADE_UP}
        cuts: dict[str, Any] = {}
        for name in CUTS:
            apart = shared == EACH
            cuts[f"cut_{name}_a"] = {
                "hidden": name != slug or shared == RATES,
                "label": "Threshold of the first group" if apart else "Threshold",
            }
            cuts[f"cut_{name}_b"] = {"hidden": name != slug or not apart}
        held = {"hidden": shared != RATES}
        return settings.dials(Setting, a=credit, b=credit, base_a=toy, base_b=toy, separation=toy, fnr=held, **cuts)

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    slug = lab.current_context.slug
    setting, speech = settings.read(Setting, values, slug=slug), SPEECH[slug]
    pair, counts = setting.pair, setting.tables
    lines = [
        Line(_name(pair, i), group.roc, group.base, (table.fpr, table.tpr), _drag(setting, group, "ab"[i]))
        for i, (group, table) in enumerate(zip(pair, counts, strict=True))
    ]
    return kit.View(
        figures=[
            tabbed(figures.ratio(pair, counts, marks(lab), local_runs.ratio(lab) if slug == COMPAS else None), "False alarms"),
            tabbed(
                rays(
                    lines,
                    setting.held,
                    f"A precision of {setting.ppv:.0f}% in both groups",
                    flagged=speech.flagged,
                    true=speech.true,
                    other=speech.other,
                    note="dotted: every decision of this precision",
                ),
                "Trade-off",
            ),
            tabbed(
                people(
                    {_name(pair, i): counts[i] for i in (0, 1)},
                    speech.kinds,
                    "A hundred people of each group",
                    rate=setting.side,
                    note=f"beside each group: {SIDES[setting.side].partition(',')[0]}, of those lit",
                ),
                "A hundred people",
            ),
        ],
        cards=cards(pair, counts),
        formula=formula(pair[0], counts[0]),
        banner=verdicts.banner(lab, setting),
        note=kit.html(
            "\n\n".join([lab.fill("act1.from", source=data.source(slug)), lab.words[f"act1.about_{slug}"], lab.fill("act1.mark")])
        ),
        readouts=readouts(slug, counts),
    )


def _name(pair: tuple[Group, Group], i: int) -> str:
    return pair[i].name if pair[0].name != pair[1].name else f"{pair[i].name}, {'first' if i == 0 else 'second'}"


def _drag(setting: Setting, group: Group, side: str) -> Hold | None:
    """A point turns its threshold along the curve; where both miss the same share, the first turns that, up and down its ray."""
    if setting.linked == RATES:
        return hold("fnr", "y", stops=[(100.0 - share, share) for share in range(95, -1, -1)]) if side == "a" else None
    if side == "b" and setting.linked != EACH:
        return None
    cut = CUTS[setting.slug]
    steps = round((cut.high - cut.low) / cut.step)
    places = {round(100 * group.at(cut.low + cut.step * i).fpr, 4): round(cut.low + cut.step * i, 4) for i in range(steps + 1)}
    return hold(f"cut_{setting.slug}_{side}", stops=sorted(places.items()))


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
        shown.append(as_points(f"Gap in {label.lower()}", gap, note=note, tone="bad" if sure else "middling", word=word))
    ratio = odds(pair[0].base) / odds(pair[1].base)
    bases = f"base rates {100 * pair[0].base:.3g} and {100 * pair[1].base:.3g}%"
    return [*shown, kit.card("Ratio of the odds", ratio, "×", note=bases)]


def formula(group: Group, table: Table) -> str:
    law = line("FPR =", fraction("<i>p</i>", "1 − <i>p</i>"), "·", fraction("1 − PPV", "PPV"), "· (1 − FNR)")
    if math.isnan(table.ppv):
        return law + line("nobody is flagged, so there is no precision and no false positive")
    base, ppv, fnr = (f"{value:.3f}" for value in (group.base, table.ppv, table.fnr))
    filled = [fraction(base, f"1 − {base}"), "·", fraction(f"1 − {ppv}", ppv), f"· (1 − {fnr}) ="]
    return law + line("=", *filled, kit.dress(f"{100 * table.fpr:.3g}%"))
