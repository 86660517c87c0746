"""Act I: the learner's own record, by volume and by confidence."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ironlaw import kit
from ironlaw.kit.formula import line
from ironlaw.labs.lab_v2_17_synthesis import starts, warming
from ironlaw.labs.lab_v2_17_synthesis.act1 import figures
from ironlaw.labs.lab_v2_17_synthesis.record import ALL, Record, labs_to_do, record
from ironlaw.labs.tables import scrolling_table
from ironlaw.recall.confidence import EVEN_ODDS, PROBABILITY
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("eight_predictions_tell", "sure_and_half_right", "sure_of_everything")
VOLUMES = {ALL: "both volumes", "1": "Volume 1", "2": "Volume 2"}
FOLLOWS = ()


def dials(lab: kit.Lab) -> Any:
    levels = [(0, "any"), *((level, f"{level} ({100 * share:.0f}%)") for level, share in PROBABILITY.items())]
    return lambda values: [
        kit.choice("volume", "Predictions from", list(VOLUMES.items())),
        kit.select("level", "Made with confidence", levels),
    ]


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    warming.warm(starts.shown(lab))
    own = record(lab, str(values["volume"]))
    level = int(values["level"])
    dots, themes = figures.dots(own, level), figures.themes(own)
    return kit.View(
        figures=[
            tabbed(figures.curve(lab, own, level), "Calibration"), *([tabbed(dots, "Every prediction")] if dots else []),
            *([tabbed(themes, "By lab")] if themes else []),
        ],
        cards=cards(own),
        formula=formula(own),
        note=kit.html(notes(lab, own)),
        after=listed(own, level),
        seen={"points": lab.fill("act1.some_points" if own.answered else "act1.no_points")},
        readouts={
            "predictions": len(own.answered), "sure": len(own.standing.sure), "sure_right": sum(p.correct for p in own.standing.sure),
            "brier": round(own.brier.score, 6) if own.brier else None, "beliefs_held": len(own.held),
            "worst_lab": own.themes[0].lab if own.themes else None,
        },
    )  # fmt: skip


def cards(own: Record) -> list[dict[str, Any]]:
    sure, right = own.standing.sure, sum(one.correct for one in own.standing.sure)
    score = own.brier.score if own.brier else None
    return [
        kit.text_card("Predictions", str(len(own.answered)), note=f"{own.curve.right} right"),
        kit.text_card("Sure and right", f"{right} of {len(sure)}", note="confidence 4 or 5"),
        kit.text_card("Brier score", significant(score) if score is not None else "–",
            tone="" if score is None else "good" if score < EVEN_ODDS else "bad", note=f"always fifty-fifty: {EVEN_ODDS:g}"),
        kit.text_card("Wrong beliefs still held", str(len(own.held)), note="held with confidence, not put right yet"),
    ]  # fmt: skip


def formula(own: Record) -> str:
    if own.brier is None:
        return line("Brier score = reliability − resolution + uncertainty")
    b = own.brier
    figures_of = " ".join((significant(b.reliability), "−", significant(b.resolution), "+", significant(b.uncertainty), "="))
    return line("Brier score = reliability − resolution + uncertainty =", figures_of, f"<b>{significant(b.score)}</b>")


def notes(lab: kit.Lab, own: Record) -> str:
    if not own.answered:
        return lab.fill("act1.nothing", labs=", ".join(labs_to_do(lab.ledger.events())))
    if not own.held:
        return lab.fill("act1.no_beliefs")
    says = "\n".join(f"- {one.says}" for one in own.held[:5])
    return lab.fill("act1.beliefs", count=str(len(own.held)), list=kit.Markup(kit.html(says)))


def _unbroken(name: str) -> str:
    return escape(name).replace(" ", "\u00a0").replace("-", "\u2011")


def listed(own: Record, level: int) -> str:
    """The dots once more as rows, each with a link."""
    rows = [one for one in own.answered if level in (0, one.prediction.confidence)]
    if not rows:
        return ""
    cells = [
        (
            f'<a href="{escape(one.address)}">{_unbroken(one.lab)}</a>', escape(one.text), escape(one.option),
            f"{one.prediction.confidence}", "right" if one.prediction.correct else "missed",
            "–" if one.off is None else f"{significant(abs(one.off), 2)} orders too {'high' if one.off > 0 else 'low'}",
        )
        for one in sorted(rows, key=lambda one: (one.prediction.correct, -one.prediction.confidence))
    ]  # fmt: skip
    return scrolling_table("Your predictions, the surest misses first", ("lab", "asked", "you said", "confidence", "was", "off"), cells)
