"""Act II: every decision of the system on one page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ironlaw import kit
from ironlaw.kit.formula import line
from ironlaw.labs.lab_v2_17_synthesis import starts
from ironlaw.labs.lab_v2_17_synthesis.act2 import figures, llama, measured_here, verdict
from ironlaw.labs.lab_v2_17_synthesis.act2.dialled import LABELS, design_of
from ironlaw.labs.lab_v2_17_synthesis.act2.dialled import dials as menus
from ironlaw.labs.lab_v2_17_synthesis.act2.readings import NAMES, reading
from ironlaw.systems.serving.served_cases import LONG
from ironlaw.systems.whole import Design, Report, broken, evaluate, halls
from ironlaw.units import parted, significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("hours_are_flops_over_peak", "llama_hours_follow", "a_tenth_brings_a_tenth")
FOLLOWS = tuple(LABELS)
IN_VIEW = ("pipeline", "scattered", "spares", "budget", "retries", "noise")  # enough to meet every limit from the course's design
MORE = tuple(name for name in LABELS if name not in IN_VIEW)


def dials(lab: kit.Lab) -> Any:
    return lambda values: menus(starts.shown(lab), str(values.get("near") or starts.shown(lab).near))


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    design = design_of(values)
    report = evaluate(design)
    runs_at_all = not report.refusal and math.isfinite(report.values["days"])
    return kit.View(
        figures=[
            *([tabbed(figures.levers(lab, design), "Levers")] if runs_at_all else []),
            tabbed(figures.room(report), "Limits"),
            *([tabbed(figures.waterfall(report), "Waterfall")] if runs_at_all else []),
        ],
        cards=cards(report),
        formula=formula(report),
        banner=verdict.banner(lab, design),
        note=kit.html(notes(lab, design)),
        after=llama.table() + measured_here.table(lab),
        readouts=readouts(lab, design),
    )  # fmt: skip


def cards(report: Report) -> list[dict[str, Any]]:
    hit = broken(report)
    return [
        kit.text_card("Limits broken", f"{len(hit)} of {len(NAMES)}", tone="bad" if hit else "good"),
        *(
            kit.text_card(NAMES[name], value, unit, tone="bad" if name in hit else "good")
            for name in ("days", "hours", "carbon", "availability")
            for value, unit in [parted(reading(name, report.values[name]))]
        ),
    ]


def formula(report: Report) -> str:
    names = " × ".join(one.name for one in report.factors)
    shares = " × ".join(significant(one.share) for one in report.factors)
    peak, useful = f"{significant(report.peak / 1e6)} million ×", f"= <b>{significant(report.useful / 1e6)} million</b>"
    return line("useful tokens per second = peak ×", names) + line("=", peak, shares, useful)


def notes(lab: kit.Lab, design: Design) -> str:
    texts = []
    if lab.current_context.slug == starts.HOUSE:
        texts.append(lab.fill("act2.house"))
    else:
        given, missing = starts.given(lab), starts.missing(lab)
        texts.append(lab.fill("act2.given", labs=given) if given else lab.fill("act2.nothing_given"))
        if missing:
            texts.append(lab.fill("act2.missing", labs=missing))
    hall = halls()[design.hall]
    texts.append(
        lab.fill("act2.hall", name=hall.name, grams=f"{hall.grams_per_kwh:g} g", grid=hall.grid, pue=f"{hall.pue:g}", requests=f"{LONG:,}")
    )
    return "\n\n".join(texts)


def readouts(lab: kit.Lab, design: Design) -> dict[str, Any]:
    report = evaluate(design)
    hit = broken(report)
    return {
        **asdict(design), "limits_broken": list(hit), "constraint_hit": hit[0] if hit else None,
        "days": _finite(report.values["days"]), "gpu_hours": _finite(report.values["hours"]), "carbon_g": _finite(report.values["carbon"]),
        "useful_tokens_per_s": round(report.useful, 3),
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
