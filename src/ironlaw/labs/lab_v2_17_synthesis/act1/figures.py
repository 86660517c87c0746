"""Act I's pictures: the calibration curve with the learner's mark, every prediction as a dot, and the labs by how far off they were."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit, lab_names
from ironlaw.labs.lab_v2_17_synthesis.record import Answered, Record
from ironlaw.pictures.calibration_picture import calibration
from ironlaw.pictures.reveal_picture import points_off
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import percent

APART = 3.0  # percentage points between two dots of a lab at one confidence
WIDE = 20.0  # percentage points between two rules, from which on a label fits between them


def curve(lab: kit.Lab, record: Record, level: int) -> Figure:
    """The mark lies across: it is about a share of right answers. `level`: the confidence in focus, 0 for all."""
    figure = calibration([point for point in record.curve.points if level in (0, point.confidence)])
    option = lab.choice("act1")
    if option is None:
        return figure
    said, truth = 100 * float(option.value), 100 * float(lab.question("act1").answer)
    off = points_off(said, truth)
    rules = (
        mark("rule", "accent", y=said, role="prediction", distance=off if abs(said - truth) >= WIDE else None, id="prediction",
             name="your prediction", label=f"you said {significant(said)}%",
             hover=[("your prediction", f"{significant(said)}%"), ("off", off)]),
        mark("rule", "ink", y=truth, role="truth", id="truth", name="your record", label=f"it is {significant(truth)}%",
             hover=[("your record", f"{significant(truth)}%")]),
    )  # fmt: skip
    return replace(figure, marks=(*figure.marks, *rules))


def dots(record: Record, level: int) -> Figure | None:
    """Each opens the question that it stands for; `level`: the confidence in focus, 0 for all."""
    rows = [one for one in record.answered if level in (0, one.prediction.confidence)]
    if not rows:
        return None
    labs = sorted({one.prediction.lab for one in rows}, key=lab_names.order)
    seen: dict[tuple[str, int], int] = {}
    marks: list[Mark] = []
    for one in rows:
        key = (one.prediction.lab, one.prediction.confidence)
        nth = seen[key] = seen.get(key, -1) + 1
        right = one.prediction.correct
        hover = [("asked", one.text), ("you said", one.option), ("stated", percent(one.stated)), ("it was", "right" if right else "missed")]
        marks.append(
            mark(
                "point", "good" if right else "fail", x=100 * one.stated + APART * nth, y=one.lab, shape="circle" if right else "triangle",
                size=6, id=f"{one.prediction.lab}-{one.prediction.question}", name=f"{one.lab}, {one.prediction.question}", hover=hover,
                opens=one.address,
            )
        )  # fmt: skip
    names = tuple(lab_names.name(slug) or slug for slug in labs)
    cells = tuple((one.lab, one.text, percent(one.stated), "right" if one.prediction.correct else "missed", _off(one)) for one in rows)
    missed = sum(not one.prediction.correct for one in rows)
    return Figure(
        "dots", "Every prediction", Axis("linear", "stated", "%", (15.0, 108.0), ticks=(25.0, 45.0, 65.0, 80.0, 95.0)),
        Axis("band", names=names), tuple(marks), f"{len(rows)} predictions in {len(labs)} labs; {missed} were missed.",
        table=Table(("lab", "asked", "stated", "was", "off"), cells), note="click a dot to open its question",
        legend=({"colour": "good", "shape": "circle", "label": "right"}, {"colour": "fail", "shape": "triangle", "label": "missed"}),
        more={"row": 34},
    )  # fmt: skip


def themes(record: Record) -> Figure | None:
    """Stated minus right, lab by lab, the worst Brier score first."""
    if not record.themes:
        return None
    marks: list[Mark] = []
    for theme in record.themes:
        name, gap = lab_names.name(theme.lab) or theme.lab, 100 * theme.gap
        side = "too sure" if gap > 0 else "not sure enough"
        x0, x1 = sorted((0.0, gap))
        hover = [
            ("stated", percent(theme.stated)),
            ("right", f"{theme.right} of {theme.answers}"),
            ("Brier score", significant(theme.score)),
        ]
        marks.append(mark("bar", "warn" if gap > 0 else "accent", x0=x0, x1=x1, y=name, id=theme.lab, name=f"{name}, {side}", hover=hover))
        marks.append(
            mark("label", "ink", x=max(0.0, gap), y=name, id=f"{theme.lab}-count", label=f"{theme.right} of {theme.answers} right")
        )
    marks.append(mark("rule", "ink", x=0.0, id="as-sure", name="as sure as right", label="as sure as right"))
    rows = tuple(
        (lab_names.name(one.lab) or one.lab, percent(one.stated), f"{one.right} of {one.answers}", significant(one.score))
        for one in record.themes
    )
    worst = record.themes[0]
    text = (
        f"The worst Brier score is that of {lab_names.name(worst.lab)}, {significant(worst.score)}: {worst.right} of {worst.answers} right."
    )
    return Figure(
        "themes", "How far off you were, by lab",
        Axis("linear", "stated minus correct, points", "", (-100.0, 130.0), ticks=(-100.0, -50.0, 0.0, 50.0, 100.0)),
        Axis("band", names=tuple(row[0] for row in rows)), tuple(marks), text,
        table=Table(("lab", "stated", "right", "Brier score"), rows), note="",
        legend=({"colour": "warn", "label": "too sure"}, {"colour": "accent", "label": "not sure enough"}), more={"row": 34},
    )  # fmt: skip


def _off(one: Answered) -> str:
    if one.off is None:
        return "–"
    return f"{significant(abs(one.off), 2)} orders too {'high' if one.off > 0 else 'low'}"
