"""T = D/BW + O/R + L as bars on a log axis: three terms, the longest marked, and the total between full overlap and none."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ironlaw.engine.device.predict import Prediction
from ironlaw.pictures.theme import SYMBOLS, TERM_NAMES
from ironlaw.widget.colours import TERMS
from ironlaw.widget.figure import Axis, Figure, Row, Table, mark
from ironlaw.widget.quantities import cite, exact, format_quantity, share

TOTAL = "T total"


def row_name(term: str) -> str:
    """`D/BW memory`: the symbol and the word, so that neither colour nor formula is needed to read it."""
    return f"{SYMBOLS[term]} {TERM_NAMES[term]}"


def terms(prediction: Prediction, predicted: str | None = None, id: str = "terms", interval: bool = False) -> Figure:
    """The figure of one prediction. `predicted`: the term that the learner said would be the largest, or "equal".

    `interval` draws where four measured runs in five should fall, if that is known.
    """
    seconds = dict(zip(TERMS, map(float, (prediction.data_s, prediction.compute_s, prediction.overhead_s)), strict=True))
    bound, total = str(prediction.bound), float(prediction.seconds)
    low, high = (float(end) for end in prediction.overlap)
    sources, whole = _sources(prediction), sum(seconds.values())
    marks = []
    for term, value in seconds.items():
        name = row_name(term)
        hover: list[Row] = [("exactly", exact(value, "s")), ("of the sum", share(value, whole)), sources[term]]
        more: dict[str, Any] = {"id": term, "name": name, "emphasis": term == bound, "tags": _tags(term, bound, predicted)}
        marks.append(mark("bar", term, x=value, y=name, label=format_quantity(value, "s"), hover=hover, **more))
    span = [("overlapped", exact(low, "s")), ("in sequence", exact(high, "s")), ("predicted", exact(total, "s"))]
    runs = [float(end) for end in prediction.interval] if interval and prediction.interval else []
    runs = runs if all(map(isfinite, runs)) else []  # an open end can't be drawn
    words = _between(low, high)
    last = bool(runs) and runs[1] > high  # the words stand behind whichever ends last
    overlap: dict[str, Any] = {"x0": low, "x1": high, "y": TOTAL, "id": "overlap", "name": TOTAL, "emphasis": True}
    marks.append(mark("bar", "muted", **overlap, hover=span, label="" if last else words))
    if runs:
        ends: dict[str, Any] = {"x0": runs[0], "x1": runs[1], "y": TOTAL, "id": "interval", "thin": True, "emphasis": True}
        fall: list[Row] = [("four runs in five", f"{format_quantity(runs[0], 's')} to {format_quantity(runs[1], 's')}")]
        marks.append(mark("bar", "accent", **ends, name="measured runs", hover=fall, label=words if last else ""))
    marks.append(mark("point", "accent", x=total, y=TOTAL, id="total", shape="diamond", size=5, emphasis=True))
    title = f"{TERM_NAMES[bound].capitalize()} is the bottleneck"
    names = (*(row_name(term) for term in TERMS), TOTAL)
    return Figure(
        id, title, Axis("log", "time", "s"), Axis("band", names=names), tuple(marks), _words(seconds, bound, low, high, predicted),
        _table(seconds, bound, {"overlapped": low, "in sequence": high, "predicted": total}, runs, predicted),
        note=f"{format_quantity(seconds[bound], 's')} of {format_quantity(total, 's')}",
    )  # fmt: skip


def _tags(term: str, bound: str, predicted: str | None) -> list[dict[str, str]] | None:
    """Words after a bar's value, because colour alone is not enough."""
    binds = [{"text": "bottleneck", "colour": term}] if term == bound else []
    guess = [{"text": "◆ you said", "colour": "accent"}] if term == predicted else []
    return [*binds, *guess] or None


def _between(low: float, high: float) -> str:
    return (
        format_quantity(low, "s")
        if format_quantity(low, "s") == format_quantity(high, "s")
        else f"{format_quantity(low, 's')} to {format_quantity(high, 's')}"
    )


def _words(seconds: dict[str, float], bound: str, low: float, high: float, predicted: str | None) -> str:
    each = ", ".join(f"{TERM_NAMES[term]} {format_quantity(value, 's')}" for term, value in seconds.items())
    guess = f" You said {TERM_NAMES.get(predicted, 'about equal')}." if predicted else ""
    return f"{each}; {TERM_NAMES[bound]} is the bottleneck. In all {_between(low, high)}, overlapped to in sequence.{guess}"


def _table(seconds: dict[str, float], bound: str, totals: dict[str, float], runs: list[float], predicted: str | None) -> Table:
    whole = sum(seconds.values())
    rows = []
    for term, value in seconds.items():
        notes = [word for word, applies in (("bottleneck", term == bound), ("you said", term == predicted)) if applies]
        rows.append((row_name(term), format_quantity(value, "s"), exact(value, "s"), share(value, whole), ", ".join(notes)))
    totals |= dict(zip(("four runs in five, from", "four runs in five, to"), runs, strict=False))
    for name, value in totals.items():
        rows.append((f"T, {name}", format_quantity(value, "s"), exact(value, "s"), "", ""))
    return Table(("term", "time", "exactly", "of the sum", "note"), tuple(rows))


def _sources(prediction: Prediction) -> dict[str, str]:
    """Which figure of the machine stands behind each term."""
    if prediction.basis != "bound":
        how = "Measured" if prediction.calibrated else "Transferred"
        return dict.fromkeys(TERMS, f"{how}: {'; '.join(prediction.sources)}")
    figures = prediction.hardware.figures
    launch = "given in the plan" if prediction.plan.launch is not None else cite(figures.get("launch"))
    return {"memory": cite(figures.get("bandwidth")), "compute": cite(figures.get(f"peak.{prediction.graph.dtype}")), "overhead": launch}
