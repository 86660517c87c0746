"""T = D/BW + O/R + L as one bar of three pieces, and as it runs: what overlaps lies over each other, to the same scale."""

from __future__ import annotations

from math import isfinite

from ironlaw.engine.device.predict import Prediction
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.theme import SYMBOLS, TERM_NAMES
from ironlaw.widget.colours import TERMS
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.quantities import cite, exact, format_quantity, share

ADDED, RUNS, FALL = "added up", "as it runs", "four runs in five"
ROOM, BARE = 1.4, 1.22  # of the longest bar, for its words: with what was said behind it, and with its time alone


def row_name(term: str) -> str:
    """`D/BW memory`: the symbol and the word, so that neither colour nor formula is needed to read it."""
    return f"{SYMBOLS[term]} {TERM_NAMES[term]}"


def terms(
    prediction: Prediction, predicted: str | None = None, true: str | None = None, id: str = "terms", interval: bool = False
) -> Figure:
    """The figure of one prediction. `predicted`: the term that the learner said would be the largest, or "equal"; `true`: the one that is.

    `interval` draws where four measured runs in five should fall, if that is known.
    """
    seconds = dict(zip(TERMS, map(float, (prediction.data_s, prediction.compute_s, prediction.overhead_s)), strict=True))
    bound, total = str(prediction.bound), float(prediction.seconds)
    low, high = (float(end) for end in prediction.overlap)
    said, answer = _said(predicted, true)
    whole = sum(seconds.values())
    marks = [*_added(seconds, _sources(prediction)), _behind(ADDED, whole, whole, said, "prediction" if said else "")]
    marks += [*_lanes(seconds, total), _behind(RUNS, total, total, answer, "truth" if answer else "")]
    runs = [float(end) for end in prediction.interval] if interval and prediction.interval else []
    runs = runs if all(map(isfinite, runs)) else []  # an open end can't be drawn
    if runs:
        marks += _fall(runs, total)
    legend = tuple(
        {"colour": term, "label": f"{row_name(term)} {format_quantity(value, 's')}" + (", the bottleneck" if term == bound else "")}
        for term, value in seconds.items()
    )
    room = max((ROOM if said or answer else BARE) * max(whole, total), *(BARE * end for end in runs), 0.0)
    ends = {"overlapped": low, "in sequence": high, "predicted": total}
    return Figure(
        id, f"{TERM_NAMES[bound].capitalize()} is the bottleneck",
        Axis("linear", "time", "s", (0.0, up_to(room))),
        Axis("band", names=(ADDED, RUNS, *([FALL] if runs else ()))), tuple(marks), _words(seconds, bound, low, high, predicted),
        _table(seconds, bound, ends, runs, predicted), f"{format_quantity(seconds[bound], 's')} of {format_quantity(total, 's')}", legend,
        {"stacked": True, "row": 60},
    )  # fmt: skip


def _said(predicted: str | None, true: str | None) -> tuple[str, str]:
    """The words behind the two bars: what was said, and what it is."""
    if predicted is None:
        return "", ""
    name = TERM_NAMES.get(predicted, "about equal")
    if predicted == true:
        return "", f"◆ you said {name}, and it is"
    return f"◆ you said {name}", f"✓ it is {TERM_NAMES[true]}" if true else ""


def _behind(row: str, at: float, value: float, words: str, role: str) -> Mark:
    colour = {"prediction": "accent", "truth": "ink"}.get(role, "ink")
    label = f"{format_quantity(value, 's')}  {words}".strip()
    return mark("label", colour, x=at, y=row, id=f"behind-{row}", label=label, role=role or None)


def _added(seconds: dict[str, float], sources: dict[str, str]) -> list[Mark]:
    """One piece after the other: the sum."""
    whole, marks, at = sum(seconds.values()), [], 0.0
    for term, value in seconds.items():
        hover: list[Row] = [("exactly", exact(value, "s")), ("of the sum", share(value, whole)), sources[term]]
        name = f"{TERM_NAMES[term]} {format_quantity(value, 's')}"
        marks.append(mark("bar", term, x0=at, x1=at + value, y=ADDED, id=term, name=name, hover=hover))
        at += value
    return marks


def _lanes(seconds: dict[str, float], total: float) -> list[Mark]:
    """A lane for each term, from the start to T: compute begins as much before the data is there as the two overlap, and overhead ends
    last."""
    data, compute, overhead = seconds.values()
    together = min(max(0.0, data + compute + overhead - total), data, compute)
    starts = dict(zip(seconds, (0.0, data - together, max(0.0, total - overhead)), strict=True))
    return [
        mark("bar", term, x0=starts[term], x1=starts[term] + value, y=RUNS, slot=[i, len(seconds)], id=f"lane-{term}",
             name=TERM_NAMES[term], hover=[("exactly", exact(value, "s")), ("begins at", format_quantity(starts[term], "s"))])
        for i, (term, value) in enumerate(seconds.items())
        if value > 0
    ]  # fmt: skip


def _fall(runs: list[float], total: float) -> list[Mark]:
    words = f"{format_quantity(runs[0], 's')} to {format_quantity(runs[1], 's')}"
    return [
        mark("bar", "accent", x0=runs[0], x1=runs[1], y=FALL, id="interval", thin=True, name="measured runs", hover=[(FALL, words)]),
        mark("point", "accent", x=total, y=FALL, id="total", shape="diamond", size=5),
        mark("label", "ink", x=runs[1], y=FALL, id="behind-runs", label=words),
    ]


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
