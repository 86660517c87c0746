"""Act I on the learner's own machine: the table drawn anew, and a score trained on few people and on many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_15_parity.act1 import figures
from ironlaw.measure.experiments import resample, train_here

RATIOS = {"compas_fpr_twice": "fpr_ratio", "compas_ppv_equal": "ppv_ratio"}  # claim -> what a run has for it


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    return {
        "resample": lambda run: kit.caption(lab, "act1.here_resample", resampled(run), gaps_are_no_chance(run)),
        "train_here": lambda run: kit.caption(lab, "act1.here_trained", trained(run), gap_stays(run)),
    }


def gaps_are_no_chance(run: kit.Measured) -> bool:
    """Whether the gaps in false positives and in misses keep their sign over the whole interval."""
    rows = [run.row(name=f"{rate}_gap") for rate in ("fpr", "fnr")]
    return all(row is not None and row["low"] * row["high"] > 0 for row in rows)


def gap_stays(run: kit.Measured) -> bool:
    """Whether the interval narrowed, and the groups' own intervals still don't meet."""
    few, many = ({group: run.row(name="precision", people=people, group=group) for group in train_here.BASES}
                 for people in (train_here.SIZES[0], train_here.SIZES[-1]))  # fmt: skip
    width = [float(rows["A"]["high"]) - float(rows["A"]["low"]) for rows in (few, many) if rows["A"]]
    a, b = many["A"], many["B"]
    return a is not None and b is not None and width[-1] < width[0] and (a["low"] > b["high"] or b["low"] > a["high"])


def ratio(lab: kit.Lab) -> figures.Drawn | None:
    """False positives of the published groups, one over the other, as drawn anew here."""
    run = lab.local_run("resample")
    row = run.row(name="fpr_ratio") if run else None
    return figures.Drawn(float(row["value"]), float(row["low"]), float(row["high"]), str(run.source)) if run and row else None


def _points(row: Any, name: str) -> kit.Markup:
    return kit.dress(f"{float(row[name]):.1f} points")


def resampled(run: kit.Measured) -> dict[str, object]:
    slots: dict[str, object] = {"draws": f"{resample.DRAWS:,}"}
    for rate in resample.NAMES:
        row = run.row(name=f"{rate}_gap")
        slots |= {f"{rate}_low": _points(row, "low"), f"{rate}_high": _points(row, "high")}
    return slots


def trained(run: kit.Measured) -> dict[str, object]:
    def row(people: int, group: str) -> Any:
        return run.row(name="precision", people=people, group=group)

    few, many = train_here.SIZES[0], train_here.SIZES[-1]
    widths = {people: float(row(people, "A")["high"]) - float(row(people, "A")["low"]) for people in (few, many)}
    last = {group: kit.amount(float(row(many, group)["value"]), "%") for group in train_here.BASES}
    return {
        "few": f"{few:,}",
        "many": f"{many:,}",
        "wide": kit.dress(f"{widths[few]:.1f} points"),
        "narrow": kit.dress(f"{widths[many]:.1f} points"),
        "a": last["A"],
        "b": last["B"],
    }


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("resample")
    rows = {claim: run.row(name=name) for claim, name in RATIOS.items()} if run else {}
    return {
        claim: kit.LocalFigure(float(row["value"]), "×", f"{row['low']:.2f} to {row['high']:.2f}× in 95% of draws; {run.source}")
        for claim, row in rows.items()
        if run and row
    }
